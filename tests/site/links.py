#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""links.py SITE: every link of every page of SITE leads to a file of it and to a place in that, and none
to another host but those of FOREIGN; and no markup is left in a text. Pages of cargo doc are only checked
as targets. First runs on a site with known mistakes."""
import re
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What documents speak of, and what the theme says of itself.
FOREIGN = {"semver.org", "ui.perfetto.dev", "github.com", "pradyunsg.me", "www.sphinx-doc.org"}
MARKUP = re.compile(r"``|:(?:c|py|doc):|\]\(|\*\*")
CODE = {"pre", "code", "script", "style", "title"}


class Page(HTMLParser):
    """The links of a page, and the places in it that links can lead to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.places, self.left, self.code = [], set(), [], 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_data(self, data):
        if not self.code and MARKUP.search(data):
            self.left.append(data.strip())

    def handle_endtag(self, tag):
        self.code -= tag in CODE

    def handle_starttag(self, tag, attrs):
        self.code += tag in CODE
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.places.add(value)
            elif name in ("href", "src") and value is not None:
                self.links.append(value)


def wrong_links(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    for path, page in sorted(pages.items()):
        if path.relative_to(site).parts[0] == "rust":
            continue
        for text in page.left:
            yield f"{path.relative_to(site)}: markup, {text}"
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if parts.hostname not in FOREIGN and parts.scheme not in ("data", "mailto"):
                    yield f"{path.relative_to(site)}: leads away, {link}"
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not to.is_file():
                yield f"{path.relative_to(site)}: no file {link}"
            elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].places:
                yield f"{path.relative_to(site)}: no place {link}"


def prove_it_fails():
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder).resolve()
        (site / "a.html").write_text('<p id=here><a href="b.html#there">x</a><a href="#here">x</a>', encoding="utf-8")
        (site / "b.html").write_text('<a href="c.html">x</a><a href="a.html#there">x</a><h1 id="there">x</h1>'
                                     '<img src="http://example.com/x"><p>a ``b`` <code>``</code>', encoding="utf-8")
        found = list(wrong_links(site))
        if len(found) != 4 or any(not line.startswith("b.html") for line in found):
            sys.exit(f"FAIL  of 4 mistakes made on purpose, this was found: {found}")


def main():
    prove_it_fails()
    site = Path(sys.argv[1]).resolve()
    wrong = sorted(set(wrong_links(site)))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    if wrong:
        sys.exit(f"FAIL  {len(wrong)} mistakes")
    print("ok    links")


main()
