#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# page.py PROGRAM DATA OUT: makes pages from the scans in DATA with PROGRAM, opens them in a real
# Chromium through its driver (WebDriver, plain HTTP), and checks them: as many points as there are
# values, every switch works, no error, no network request. Screenshots stay in OUT.
import base64
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import urllib.request

from browser import PATIENCE, Browser, expect, expect_soon, finish, need_tools, requests_of

SERVER_CELLS = 7  # sizes of server.csv

# For each chart: number of points in each dataset that is not a band, or bars.
POINTS = """
return Object.values(Chart.instances).map(c => [c.canvas.dataset.chart, c.data.datasets
    .map((d, i) => [d.label, !!d.band, c.getDatasetMeta(i).data.filter(p => !p.skip && !isNaN(p.y)).length])
    .filter(d => !d[1]).map(d => d[2])]);
"""
CLICK = "document.querySelector(arguments[0]).click()"
CHOOSE = """
const s = document.querySelector('#group');
s.value = arguments[0]; s.dispatchEvent(new Event('change'));
"""


def quiet(browser, what, opened):
    expect(f"{what}: nothing on the console",
           [e["message"] for e in browser.logs("browser") if e["level"] in ("SEVERE", "WARNING")], [])
    foreign, own = requests_of(browser)
    expect(f"{what}: no request to anywhere", foreign, [])
    expect(f"{what}: one file is all there is", own, opened)


def look_at_one(browser, page, out):
    """A scan of one machine: cpu and vulkan:0, two operations, two places, a failed cell."""
    browser.size(1280, 900)
    browser.open(page)
    n = SERVER_CELLS
    look_at_winners(browser)
    browser.js(CHOOSE, "bls12-381-fq add host")
    expect("charts and points", browser.js(POINTS),
           [["time", [n, n]], ["rate", [n, n]], ["speedup", [n, n]], ["stages", [n] * 6], ["hits", [n, n]]])
    expect("light at first", browser.js("return document.documentElement.dataset.theme"), "light")
    expect("the table", browser.js(
        "return [...document.querySelector('#panels table').rows].slice(0, 2).map(r => r.innerText.split('\\t'))"),
        [["size", "cpu", "P90", "vulkan:0", "P90", "winner", "second / winner"],
         ["1K", "1.910 us", "1.994 us", "22.97 us", "23.98 us", "cpu", "12.03 times"]])
    browser.picture(f"{out}/light.png")

    browser.js(CHOOSE, "bls12-381-fq mul host")
    expect("another operation, with a gap", browser.js(POINTS)[0], ["time", [n, n - 1]])
    expect("the gap is in the table", browser.js(
        "return document.querySelector('#panels table').rows[7].cells[3].textContent"),
        "failed: out of device memory: a chunk, of 64 MiB, too many")
    expect("the crossover is said", browser.js(
        "return document.querySelector('.findings').textContent.startsWith('vulkan:0 is faster than cpu from about 161000')"),
        True)
    expect("logarithmic", browser.js("return Object.values(Chart.instances)[0].scales.x.type"), "logarithmic")
    browser.picture(f"{out}/gap.png")
    browser.js(CLICK, "[name=axes][value=linear]")
    expect("linear", browser.js("return Object.values(Chart.instances).slice(0, 2).map(c => c.scales.x.type + c.scales.y.type)"),
           ["linearlinear"] * 2)
    browser.picture(f"{out}/linear.png")
    browser.js(CLICK, "[name=axes][value=log]")

    bands = "return Object.values(Chart.instances)[0].data.datasets.filter(d => d.band).length"
    expect("bands", browser.js(bands), 2)
    browser.js(CLICK, "#bands")
    expect("no bands", browser.js(bands), 0)
    browser.js(CLICK, "#bands")

    browser.js(CLICK, "#devices input[value='vulkan:0']")
    expect("one device off", [c[1] for c in browser.js(POINTS)][:3], [[n], [n], [n]])
    browser.js(CLICK, "#devices input[value='cpu']")
    expect("all off is said", browser.js("return document.querySelector('#panels p.missing').textContent"),
           "No device is selected.")
    browser.js(CLICK, "#devices input[value='cpu']")
    browser.js(CLICK, "#devices input[value='vulkan:0']")

    browser.js(CHOOSE, "bls12-381-fq mul resident")
    browser.js("const s = document.querySelector('[data-pick=stages]'); s.value = 'cpu'; s.dispatchEvent(new Event('change'))")
    expect("stages of the other device", browser.js(
        "return document.querySelector('canvas[data-chart=stages]').getAttribute('aria-label').includes('cpu')"), True)

    # by keyboard: the tooltip follows the arrows, and is said
    browser.js("document.querySelector('canvas[data-chart=time]').focus()")
    browser.press("\ue014", "\ue014")  # right arrow
    expect("arrow keys", browser.js("return Object.values(Chart.instances)[0].tooltip.title"), ["4K elements"])
    expect("and what they say", browser.js(
        "return document.querySelector('figure .spoken').textContent.startsWith('4K elements; cpu: ')"), True)
    browser.js("document.querySelector('#group').focus()")
    browser.press("\ue004", " ")  # tab to the first device, space
    expect("a device by keyboard", browser.js("return document.querySelector('#devices input').checked"), False)
    browser.press(" ")

    browser.js(CLICK, "[name=theme][value=dark]")
    expect("dark", browser.js("return getComputedStyle(document.body).backgroundColor"), "rgb(20, 23, 28)")
    browser.picture(f"{out}/dark.png")
    browser.js(CLICK, "[name=theme][value=system]")
    browser.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    expect_soon("dark by the system", lambda: browser.js("return document.documentElement.dataset.theme"), "dark")
    browser.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])

    look_at_phone(browser, out)
    pdf = browser.call("POST", browser.base + "/print", {})
    with open(f"{out}/print.pdf", "wb") as file:
        file.write(base64.b64decode(pdf))
    expect("tables are closed again after printing",
           browser.js("return [...document.querySelectorAll('details')].filter(d => d.open).length"), 1)
    quiet(browser, "one machine", 1)


# Rows of the matrix: the head, and in each cell who is fastest and by how much, or nothing.
MATRIX = """
return [...document.querySelectorAll('.matrix tr')].map(r => [...r.cells].map(c => c.innerText.trim().replace(/\\s+/g, ' ')));
"""
PRESSED = "return [...document.querySelectorAll('.matrix [aria-pressed=true]')].map(b => b.dataset.key)"


def winners_of(op, place):
    """What a row of the matrix says, from the file itself."""
    with open(f"{sys.argv[2]}/server.csv", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    cells = []
    for size in sorted({int(r["elements"]) for r in rows}):
        times = {r["device"]: float(r["median_us"]) for r in rows if r["state"] == "ok"
                 and (r["op"], r["place"], int(r["elements"])) == (op, place, size)}
        (best, us), *others = sorted(times.items(), key=lambda t: t[1])
        ratio = others[0][1] / us if others else 0
        digits = 0 if ratio >= 9.95 else 1 if ratio >= 1.995 else 2
        cells.append(f"{best.split(':')[0]} {ratio:.{digits}f}\u00d7" if others else "\u2013")
    return cells


def look_at_winners(browser):
    """The page opens with the fastest device at each size, and a chart where that changes."""
    expect("the GPU is in the headline", browser.js("return [document.querySelector('h1').textContent, document.title]"),
           ["Test server CPU and Test GPU: the fastest device at each size"] * 2)
    expect("and in the legend", browser.js("return [...document.querySelectorAll('figure .legend')][0].innerText.split('\\n')"),
           ["cpu, Test server CPU", "vulkan:0, Test GPU"])
    rows = browser.js(MATRIX)
    expect("sizes across", rows[0], ["bls12-381-fq", "1K", "4K", "16K", "64K", "256K", "1M", "4M"])
    expect("operations down", [r[0] for r in rows[1:]],
           ["add host memory", "mul host memory", "add device memory", "mul device memory"])
    expect("the figures", rows[2][1:], winners_of("mul", "host"))
    expect("it opens where the size decides", set(browser.js(PRESSED)), {"bls12-381-fq add resident"})
    expect("said in words, too", browser.js("return document.querySelectorAll('.matrix button')[12].getAttribute('aria-label')")
           .startswith("mul, bls12-381-fq, operands in host memory, 1M elements: vulkan:0 is fastest, 1.1"), True)
    expect("the matrix is before the charts", browser.js(
        "return document.querySelector('.matrix').getBoundingClientRect().bottom < document.querySelector('canvas').getBoundingClientRect().top"),
        True)
    browser.js("document.querySelectorAll('.matrix button')[0].click()")
    expect("a cell chooses the chart", [browser.js("return document.querySelector('#group').value"), *set(browser.js(PRESSED)),
                                        browser.js("return document.querySelector('#panels .sub + .findings + .charts .sub').textContent")],
           ["bls12-381-fq add host", "bls12-381-fq add host", "add, bls12-381-fq, operands in host memory"])
    expect("and the size in it", browser.js("return Object.values(Chart.instances)[0].tooltip.title"), ["1K elements"])
    expect("no path of this machine", browser.js("return document.documentElement.outerHTML.includes(arguments[0])",
                                                 os.path.realpath(sys.argv[2])), False)


# Scans of two backends of the prototype, under its own names; the CPU takes the same time in both.
GLES_DX12 = {
    "windows_gles_20251112_154752": "size,device,duration_ms\n20000,Cpu,1\n20000,Gpu,17\n"
                                    "100000,Cpu,2\n100000,Gpu,4\n250000,Cpu,5\n250000,Gpu,4\n",
    "windows_dx12_20251112_154810": "size,device,duration_ms\n20000,Cpu,1\n20000,Gpu,17\n"
                                    "100000,Cpu,2\n100000,Gpu,2\n250000,Cpu,5\n250000,Gpu,3\n",
}


def look_at_two_scans(browser, program, out):
    """Backend against backend: no CPU against itself, and the same page in either order."""
    files = []
    for name, text in GLES_DX12.items():
        files.append(f"{out}/{name}.csv")
        with open(files[-1], "w") as file:
            file.write(text)
    for order in (files, files[::-1]):
        page = os.path.realpath(f"{out}/two-scans.html")
        subprocess.run([program, "report", *order, "-o", page, "--together"], check=True)
        browser.open(page)
        cell = "return [...document.querySelectorAll('.matrix tr')][1].innerText.trim().replace(/\\s+/g, ' ')"
        expect("the CPU, a tie, a backend", browser.js(cell),
               "unstated host memory cpu (dx12) 17\u00d7 tie 1.00\u00d7 dx12 1.33\u00d7")
        expect("said in words", browser.js("return document.querySelectorAll('.matrix button')[1].getAttribute('aria-label')"),
               "unstated, unstated, operands in host memory, 100000 elements: cpu (dx12) and dx12 take the same time")
        browser.js("""for (const box of document.querySelectorAll('#devices input'))
            if (box.value.startsWith('cpu')) box.click()""")
        expect("without the CPU", browser.js(cell), "unstated host memory tie 1.00\u00d7 dx12 2.0\u00d7 dx12 1.33\u00d7")
        quiet(browser, "two scans", 1)


def look_at_phone(browser, out):
    """A small screen: the matrix the other way round, nothing cut off."""
    browser.size(375, 812, mobile=True)
    browser.js(CHOOSE, "bls12-381-fq mul host")
    expect_soon("nothing is wider than a phone", lambda: browser.js("return document.documentElement.scrollWidth"), 375)
    rows = browser.js(MATRIX)
    expect("operations across", rows[0], ["size", "add host memory", "mul host memory", "add device memory", "mul device memory"])
    expect("sizes down", [r[0] for r in rows[1:]], ["1K", "4K", "16K", "64K", "256K", "1M", "4M"])
    expect("the same figures", [r[2] for r in rows[1:]], winners_of("mul", "host"))
    expect("neither the matrix nor the table is cut off", browser.js(
        "return [...document.querySelectorAll('#winners .scroll, figure.main details[open] .scroll')].map(e => e.scrollWidth - e.clientWidth)"),
        [0, 0])
    browser.picture(f"{out}/phone.png")


def look_at_several(browser, page, out):
    """A panel for each machine, one of them without the operation; texts that try to be markup."""
    browser.size(1600, 1000)
    browser.open(page)
    expect("panels", browser.js("return document.querySelectorAll('.panel h2').length"), 4)
    browser.js(CHOOSE, "bls12-381-fq mul host")
    points = browser.js(POINTS)
    expect("points of the first two", [c[1] for c in points if c[0] == "time"], [[7, 6], [5, 5]])
    expect("the others are missing", browser.js("return document.querySelectorAll('#panels p.missing').length"), 2)
    for kind in ("time", "rate", "speedup"):
        axes = browser.js("""return Object.values(Chart.instances).filter(c => c.canvas.dataset.chart === arguments[0])
            .map(c => [c.scales.x.min, c.scales.x.max, c.scales.y.min, c.scales.y.max, c.chartArea.left])""", kind)
        expect(f"{kind}: the same axes side by side", [len(axes), axes[0]], [2, axes[1]])
    expect("matrices of all", browser.js("return document.querySelectorAll('.matrix').length") >= 4, True)
    browser.picture(f"{out}/platforms.png")
    browser.js(CHOOSE, "unstated unstated host")
    expect("columns of the seeds", [c for c in browser.js(POINTS) if c[0] == "time"], [["time", [7, 7]]])
    browser.picture(f"{out}/seeds.png")
    expect("no text became markup", browser.js("return [typeof window.broken, document.querySelectorAll('main b, dd b').length]"),
           ["undefined", 0])
    expect("notes", browser.js("return document.querySelectorAll('#notes li').length > 3"), True)
    quiet(browser, "several machines", 1)


def look_at_little(browser, page, points, out):
    """One figure, or none: no error, and what is missing is said."""
    browser.size(1000, 800)
    browser.open(page)
    name = os.path.basename(page)
    expect(f"{name}: points", browser.js(POINTS)[0], ["time", points])
    for axes in ("linear", "log"):
        browser.js(CLICK, f"[name=axes][value={axes}]")
    browser.picture(f"{out}/{name}.png")
    quiet(browser, name, 1)


# Times of these are fixed + per_element * size: which is the fastest changes twice, the other crossovers do not matter.
BACKENDS = {"cpu": (1, 0.002), "gles": (60, 0.0012), "vulkan": (40, 0.0013), "dx12": (200, 0.0004), "metal": (120, 0.0006)}
SIZES = (1000, 4000, 16000, 64000, 256000, 1000000)
LINES = """return Object.values(Chart.instances).filter(c => c.canvas.dataset.chart === 'time')[0]
    .options.plugins.crossovers.list.map(c => [c.fastName, c.slowName, c.even.at])"""


def crossing(slow, fast):
    """Where two of BACKENDS cross, by halving the distance on logarithmic axes."""
    def log_time(name, i):
        return math.log(BACKENDS[name][0] + BACKENDS[name][1] * SIZES[i])

    def behind(t, i):
        return (1 - t) * (log_time(fast, i) - log_time(slow, i)) + t * (log_time(fast, i + 1) - log_time(slow, i + 1))

    i = next(i for i in range(len(SIZES) - 1) if behind(0, i) > 0 >= behind(1, i))
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if behind(middle, i) > 0 else (low, middle)
    return SIZES[i] * (SIZES[i + 1] / SIZES[i]) ** low


def look_at_backends(browser, page, out):
    """Many crossovers: those of the fastest are drawn; devices that are taken out no longer count."""
    browser.size(1280, 900)
    browser.open(page)
    shown = browser.js(LINES)
    expect("the fastest changes", [c[:2] for c in shown], [["vulkan", "cpu"], ["metal", "vulkan"], ["dx12", "metal"]])
    expect("where", [abs(c[2] / crossing(c[1], c[0]) - 1) < 1e-6 for c in shown], [True] * 3)
    expect("the others can be read", browser.js("return document.querySelector('.findings + details summary').textContent"),
           "The other 7 pairs")
    browser.js(CLICK, "#devices input[value=cpu]")
    expect("without the CPU", [c[:2] for c in browser.js(LINES)], [["metal", "vulkan"], ["dx12", "metal"]])
    expect("nor does it win", [cell.split()[0] for cell in browser.js(MATRIX)[1][1:]], ["vulkan"] * 4 + ["metal", "dx12"])
    for name in ("vulkan", "metal"):
        browser.js(CLICK, f"#devices input[value={name}]")
    shown = browser.js(LINES)
    expect("two of them", [[c[0], c[1], abs(c[2] / crossing("gles", "dx12") - 1) < 1e-6] for c in shown], [["dx12", "gles", True]])
    browser.picture(f"{out}/backends.png")
    quiet(browser, "backends", 1)


AXES = """return Object.fromEntries(Object.values(Chart.instances).slice(0, 2).map(c => [c.canvas.dataset.chart,
    [c.scales.x.options.title.text, c.scales.y.options.title.text]]))"""
RATES = """return Object.values(Chart.instances)[1].data.datasets.filter(d => d.label === arguments[0])[0].data.map(p => p.y)"""


def look_at_transforms(browser, program, data, out):
    """A scan and what suites printed, as parts of one: transforms and sums come first, in their own units."""
    page = os.path.realpath(f"{out}/transforms.html")
    subprocess.run([program, "report", *(f"all={data}/{name}.csv" for name in ("server", "msm", "ntt")), "-o", page], check=True)
    browser.size(1280, 900)
    browser.open(page)
    expect("one panel", browser.js("return document.querySelectorAll('.panel').length"), 1)
    heads = browser.js("return [...document.querySelectorAll('.matrix thead th:first-child')].map(h => h.textContent)")
    expect("transforms and sums first, their variants last", heads,
           ["bls12-381-fr", "bls12-381-g1", "bls12-381-fq", "bls12-381-fr", "bls12-381-g1"])
    expect("the variants are folded away and explained", browser.js(
        "const d = document.querySelector('#winners details'); return [d.open, d.querySelector('.sub').textContent.split(';')[0]]"),
        [False, "nr: output in bit-reversed order"])
    expect("it opens on a transform", browser.js("return document.querySelector('#group').value"), "bls12-381-fr ntt host")
    expect("axes", browser.js(AXES), {"time": ["elements per transform", "time of one call"],
                                      "rate": ["elements per transform", "butterflies per second"]})
    with open(f"{data}/ntt.csv", newline="") as file:
        rows = [r for r in csv.DictReader(line for line in file if not line.startswith("#"))
                if (r["order"], r["batch"]) == ("nn", "1")][-2:]
    expect("butterflies per second", [round(r * float(row["ns_per_butterfly"]) / 1e9, 6) for r, row in
                                      zip(browser.js(RATES, "cpu"), rows)], [1, 1])
    expect("and the time of one", browser.js("return document.querySelectorAll('.whole td:nth-child(4)')[1].textContent"),
           f"{float(rows[0]['ns_per_butterfly']):.4g} ns"[:5] + " ns")
    browser.picture(f"{out}/transforms.png")
    browser.js(CHOOSE, "bls12-381-g1 msm host")
    expect("axes of a sum", browser.js(AXES), {"time": ["points per sum", "time of one call"],
                                               "rate": ["points per sum", "points per second"]})
    expect("where its operands are", browser.js("return document.querySelector('.panel h2').textContent"),
           "msm, bls12-381-g1, scalars in host memory")
    browser.js("document.querySelector('canvas[data-chart=time]').focus()")
    browser.press("\ue014")
    expect("points in the tooltip", browser.js("return Object.values(Chart.instances)[0].tooltip.title"), ["1K points"])
    browser.size(375, 812, mobile=True)
    expect("it fits a phone", browser.js("return document.documentElement.scrollWidth"), 375)
    quiet(browser, "transforms", 1)


def look_at_ties(browser, program, out):
    """Times that differ by half a per cent are equal: nobody wins, in the matrix, the legend and the sentences."""
    with open(f"{out}/ties.csv", "w") as file:
        file.write("Size,cpu_us,gles_us,dx12_us\n1000,100,100.4,300\n4000,200,100,100.6\n16000,300,200,199.2\n")
    page = os.path.realpath(f"{out}/ties.html")
    subprocess.run([program, "report", f"{out}/ties.csv", "-o", page], check=True)
    browser.size(1280, 900)
    browser.open(page)
    wins = ["tie 1.00\u00d7", "gles 1.01\u00d7", "tie 1.00\u00d7"]
    expect("ties in the matrix", browser.js(MATRIX)[1][1:], wins)
    expect("and in the legend", [t.strip() for t in browser.js(
        "return [...document.querySelectorAll('#winners .legend li')].map(l => l.textContent)")],
        ["cpu, fastest in 0 of 3, 2 ties", "gles, fastest in 1 of 3, 2 ties", "dx12, fastest in 0 of 3, 2 ties"])
    expect("the last one is said", browser.js("return [...document.querySelectorAll('.findings li')].map(l => l.textContent)")[-1],
           "dx12 and gles take the same time at 16000, the largest size measured on both.")
    browser.js(CLICK, "#devices input[value=dx12]")
    expect("without one of them", browser.js(MATRIX)[1][1:], [wins[0], "gles 2.0\u00d7", "gles 1.50\u00d7"])
    quiet(browser, "ties", 1)


def look_at_chartless(browser, page, out):
    """The same page from a gpuexec that was built without Chart.js."""
    text = open(page).read()
    begin = text.rindex("<script>", 0, text.index("Chart.js v3"))
    end = text.index("</script>", begin)
    chartless = os.path.realpath(f"{out}/chartless.html")
    with open(chartless, "w") as file:
        file.write(text[:begin] + "<script>" + text[end:])
    browser.size(1200, 800)
    browser.open(chartless)
    expect("without Chart.js it says so", browser.js("return [getComputedStyle(document.querySelector('#chartless')).display !== 'none', "
                                                     "document.querySelectorAll('canvas').length]"), [True, 0])
    expect("it has the winners and open tables", browser.js(
        "return [document.querySelectorAll('.matrix').length > 0, document.querySelectorAll('#panels figure').length > 2,"
        " [...document.querySelectorAll('#panels figure > details:not(.whole)')].every(d => d.open)]"), [True, True, True])
    browser.js("document.querySelector('.matrix button').click()")
    expect("a cell still chooses the tables", browser.js("return document.querySelectorAll('#panels table').length > 2"), True)
    quiet(browser, "without Chart.js", 1)
    browser.picture(f"{out}/chartless.png")


FIGURES = """
const rows = id => [...document.querySelectorAll(`#${id} tbody tr, #${id} tfoot tr`)].map(r => [...r.cells].map(c => c.innerText.trim()));
return [[...document.querySelectorAll('#tiles b')].map(b => b.textContent), rows('operations'), rows('devices'),
    [...document.querySelectorAll('#operations svg')].map(g => g.querySelectorAll('rect').length)];
"""


def number(text):
    """Of "12.4 k"."""
    value, *unit = text.split()
    return float(value) * {"": 1, "k": 1e3, "M": 1e6}["".join(unit)]


def agree(browser):
    """Whether the tiles, the row of all operations and the only device show the same rates."""
    tiles, operations, devices, _ = browser.js(FIGURES)
    return tiles[:2][::-1] == operations[2][2:4] == devices[0][4:6]


def look_at_live(browser, program, out):
    """The page of gpuexec serve, opened some time after it was started."""
    server = subprocess.Popen([program, "serve", "--listen", "127.0.0.1:0", "--device", "cpu", "--op", "mul,inv", "--sizes", "1K",
                               "--rate", "50", "--cache-dir", "none"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = server.stdout.readline().strip()
        expect("serve runs", url.startswith("http://"), True)
        deadline = time.time() + PATIENCE
        while time.time() < deadline:
            with urllib.request.urlopen(url + "history.json", timeout=PATIENCE) as answer:
                if len(json.load(answer)["samples"]) >= 6:
                    break
            time.sleep(0.5)
        browser.size(1280, 900)
        browser.call("POST", browser.base + "/url", {"url": url})
        points = "const p = document.querySelector('polyline'); return p ? p.getAttribute('points').split(' ').length : 0"
        while not browser.js(points) and time.time() < deadline:
            time.sleep(0.1)
        expect("the past is there at once", browser.js(points) >= 5, True)
        expect("tiles in words", browser.js("return [...document.querySelectorAll('#tiles span')].map(s => s.textContent)")[2::4],
               ["jobs waiting", "time lost by the choice of device: there is only one"])
        expect("no message", browser.js("return document.querySelector('#message').textContent"), "")
        expect("it says whose the load is", browser.js("return document.querySelector('#load').textContent").split(" Results")[0],
               "Synthetic load. This gpuexec makes the work that it shows: 50 jobs per second of mul, inv over bls12-381-fq, of 1K elements.")
        while time.time() < deadline and browser.js("return document.querySelector('#tiles b').textContent") == "-":
            time.sleep(0.1)
        _, operations, _, bars = browser.js(FIGURES)
        expect("operations", [row[0] for row in operations], ["mul", "inv", "all"])
        expect("they have times", all(" us" in t or " ms" in t for row in operations[:2] for t in row[4:6]), True)
        expect("and columns, one for each bucket", bars, [23, 23])
        # A job that ends while the server looks is in some of its figures only: not so a second later.
        expect_soon("tiles and tables agree", lambda: agree(browser), True)
        sums = [sum(number(row[k]) for row in operations[:2]) / number(operations[2][k]) for k in (2, 3)]
        expect("rows sum up", [abs(x - 1) < 0.02 for x in sums], [True, True])
        browser.js(CLICK, "#range [value='86400']")
        expect("of a day no more is shown than there was", browser.js("return document.querySelector('#charts svg').textContent.includes('-2 min')"), True)
        browser.picture(f"{out}/live.png")
        browser.size(375, 812, mobile=True)
        expect("the live page fits a phone", browser.js("return document.documentElement.scrollWidth"), 375)
        expect("devices are cards", browser.js("return getComputedStyle(document.querySelector('#devices td:nth-child(2)'), '::before').content"),
               '"State"')
        browser.picture(f"{out}/live-phone.png")
    finally:
        server.terminate()
        server.wait(PATIENCE)
        server.stdout.close()


HOSTILE = """# gpuexec-scan: 1
# library: 0.1.0
# date: 2026-01-01T00:00:00Z
# os: </script><script>window.broken = 1</script>
# cpu: <b>bold</b> & "quoted"
# options: <!-- -->
# device: cpu = <img src=x onerror="window.broken = 1">
# unit: us
# cells: 1
"""


def main():
    program, data, out = sys.argv[1:]
    need_tools()
    os.makedirs(out, exist_ok=True)
    one, several = os.path.realpath(f"{out}/one.html"), os.path.realpath(f"{out}/several.html")
    with open(f"{data}/server.csv") as file:
        lines = file.read().splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("device,"))
    with open(f"{out}/hostile.csv", "w") as file:
        file.write(HOSTILE + lines[head] + "\n" + lines[head + 1] + "\n")
    with open(f"{out}/failed.csv", "w") as file:
        file.write(HOSTILE + lines[head] + "\n" + [line for line in lines if ",failed," in line][0] + "\n")
    little = {"hostile": [1], "failed": [0]}
    for name in little:
        subprocess.run([program, "report", f"{out}/{name}.csv", "-o", f"{out}/{name}.html"], check=True)
    with open(f"{out}/backends.csv", "w") as file:
        file.write("Size," + ",".join(f"{name}_us" for name in BACKENDS) + "\n")
        for n in SIZES:
            file.write(f"{n}," + ",".join(f"{fixed + each * n:.9g}" for fixed, each in BACKENDS.values()) + "\n")
    subprocess.run([program, "report", f"{out}/backends.csv", "-o", f"{out}/backends.html"], check=True)
    subprocess.run([program, "report", f"{data}/server.csv", "-o", one], check=True)
    subprocess.run([program, "report", f"{data}/server.csv", f"{data}/laptop.csv", f"{data}/seeds.csv",
                    f"{out}/hostile.csv", "-o", several], check=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        browser = Browser(scratch)
        try:
            look_at_one(browser, one, out)
            look_at_several(browser, several, out)
            look_at_two_scans(browser, program, out)
            look_at_backends(browser, os.path.realpath(f"{out}/backends.html"), out)
            look_at_transforms(browser, program, data, out)
            look_at_ties(browser, program, out)
            look_at_chartless(browser, one, out)
            for name, points in little.items():
                look_at_little(browser, os.path.realpath(f"{out}/{name}.html"), points, out)
            look_at_live(browser, program, out)
        finally:
            browser.close()
    finish(out)


main()
