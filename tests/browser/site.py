#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# site.py ROOT SITE OUT: pages of SITE (site/make.sh) in a real Chromium, on a phone and on a desktop, light
# and dark: nothing is wider than the window, every text stands out from what is behind it; and the
# list of versions of a site of several. Screenshots stay in OUT.
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import Browser, expect, finish, need_tools

PAGES = ["index", "doc/guide/first-product", "doc/performance", "doc/encoding", "api/running-jobs",
         "commands/bench", "bindings/python/reference", "examples/mul.c"]
WIDTHS = {"phone": (375, 812), "desktop": (1280, 900)}
THEMES = ("light", "dark")
CONTRAST = 4.5  # of WCAG's level AA; of large text 3

# Colours do not fade over.
AT_ONCE = """
document.head.append(Object.assign(document.createElement("style"), {textContent: "* { transition: none !important }"}));
"""
# Texts, with their contrast, that stand out too little; each colour once.
FAINT = """
const parts = text => text.match(/[\\d.]+/g).map(Number);
const linear = x => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
const over = (top, below) => top.slice(0, 3).map((x, i) => x * (top[3] ?? 1) + below[i] * (1 - (top[3] ?? 1)));
const behind = e => !e ? [255, 255, 255] : (c => (c[3] ?? 1) === 1 ? c : over(c, behind(e.parentElement)))(
    parts(getComputedStyle(e).backgroundColor));
const found = new Map();
for (const e of document.querySelectorAll("body *")) {
    const style = getComputedStyle(e), box = e.getBoundingClientRect();
    const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join(" ").trim();
    if (!text || !box.width || !box.height || style.visibility === "hidden" || style.opacity === "0" || e.closest("svg, script, style"))
        continue;
    const back = behind(e), [a, b] = [light(over(parts(style.color), back)), light(back)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), size = parseFloat(style.fontSize);
    if (ratio < (size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : arguments[0]))
        found.set(style.color + back, `${text.slice(0, 30)}: ${ratio.toFixed(2)} ${style.color} on ${back}`);
}
return [...found.values()];
"""
# What reaches beyond the right edge and cannot be scrolled to within something else. innerWidth is no
# measure: a phone makes it as large as the page.
WIDE = """
const room = arguments[0], inside = e => e && e !== document.body &&
    (["auto", "scroll", "hidden"].includes(getComputedStyle(e).overflowX) || inside(e.parentElement));
if (document.documentElement.scrollWidth <= room)
    return [];
return [`${document.documentElement.scrollWidth} of ${room}`, ...[...document.querySelectorAll("body *")]
    .filter(e => e.getBoundingClientRect().right > room + 0.5 && !inside(e))
    .slice(0, 3).map(e => `${e.tagName}.${e.className}: ${e.textContent.trim().slice(0, 40)}`)];
"""


def look_at(browser, site, name, out):
    for device, (width, height) in WIDTHS.items():
        browser.size(width, height, device == "phone")
        browser.open(f"{site}/{name}.html")
        expect(f"{name}, {device}: it is there", browser.js("return document.title").endswith("gpuexec"), True)
        browser.js(AT_ONCE)
        for theme in THEMES:
            browser.js("document.body.dataset.theme = arguments[0]", theme)
            what = f"{name}, {device}, {theme}"
            expect(f"{what}: fits", browser.js(WIDE, width), [])
            expect(f"{what}: can be read", browser.js(FAINT, CONTRAST), [])
            browser.window(f"{out}/{name.replace('/', '-')}-{device}-{theme}.png")


def look_at_versions(browser, root, site):
    """A page of the site's version, beside an older one and a later one."""
    with tempfile.TemporaryDirectory() as folder:
        for name in (site.name, "0.0.9", "10.0.0"):
            Path(folder, name).mkdir()
            Path(folder, name, "genindex.html").touch()
        page = Path(folder, site.name, "doc/encoding.html")
        page.parent.mkdir()
        shutil.copy(site / "doc/encoding.html", page)
        for _ in range(2):  # the second time there is a link
            subprocess.run([f"{root}/site/versions.sh", folder], check=True)
        expect("the latest version", os.readlink(f"{folder}/latest"), "10.0.0")
        browser.open(str(page))
        expect("the versions", browser.js("return document.querySelector('.versions').textContent"),
               f"Version {site.name} \u00b7 10.0.0 \u00b7 0.0.9")
        expect("where they are", browser.js("return [...document.querySelectorAll('.versions a')].map(a => a.href)"),
               [f"file://{folder}/{name}/index.html" for name in ("10.0.0", "0.0.9")])


def main():
    root, site, out = (os.path.realpath(arg) for arg in sys.argv[1:])
    need_tools()
    os.makedirs(out, exist_ok=True)
    newest = os.path.realpath(f"{site}/latest")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        browser = Browser(scratch)
        try:
            for name in PAGES:
                look_at(browser, newest, name, out)
            look_at_versions(browser, root, Path(newest))
        finally:
            browser.close()
    finish(out)


main()
