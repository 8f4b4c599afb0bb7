#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""picture.py [RESULTS]: prints doc/peers.svg, the picture of the README: sums of points and transforms
beside other libraries, from files of bench/results. The test tree-documents compares it with what is there."""
import csv
import re
import sys
from pathlib import Path

RESULTS = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "results")
WIDTH, LEFT, RIGHT, BAR = 720, 172, 136, 15
SIZES = {1 << power: f"2^{power}" for power in range(33)}


def of_csv(path, op, sizes, threads):
    """Rows of run.py: (label, peer, ms, lowest, highest, times as long as gpuexec)."""
    with open(RESULTS / path, encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    for size in sizes:
        for row in rows:
            if row["op"] == op and int(row["n"]) == size and int(row["threads"]) == threads:
                ms = [float(row[key]) * size / 1e6 for key in ("ns", "ns_min", "ns_max")]
                yield (SIZES[size], row["peer"], *ms, float(row["ratio"]))


def of_text(path, line, peers, number):
    """A line of a package's benchmark: median and range of each library, in ms."""
    text = (RESULTS / path).read_text(encoding="utf-8")
    found = re.search(rf"^[| ]*{re.escape(line)}.*$", text, flags=re.M)
    times = [[float(x) for x in group] for group in re.findall(number, found[0])]
    ours = times[peers.index("gpuexec")][0]
    return [("2^16", peer, *ms, ms[0] / ours) for peer, ms in zip(peers, times)]


def panels():
    h200 = "2026-11-17-h200-cuda/peers/peers.csv"
    sizes = (1 << 16, 1 << 20, 1 << 24)
    yield "Sums of points of BLS12-381 G1 (MSM), one NVIDIA H200", 5, list(of_csv(h200, "msm", sizes, 0))
    yield "Transforms of BLS12-381 Fr (NTT), one NVIDIA H200", 5, list(of_csv(h200, "ntt-nn", sizes, 0))
    packages = "2026-11-18-epyc-2-cores-bindings"
    with_go = of_text(f"{packages}/go.txt", "MSM of 2^16 in G1", ["gpuexec", "gnark-crypto"],
                      r"([\d.]+) \(([\d.]+) to ([\d.]+)\)")
    with_rust = of_text(f"{packages}/rust.txt", "MSM 2^16, BLS12-381 G1", ["arkworks", "gpuexec"],
                        r"([\d.]+) \(([\d.]+) \.\. ([\d.]+)\)")
    yield "Sums of points of BLS12-381 G1 (MSM), one thread of an AMD EPYC (Zen 4)", 17, with_go + [
        row for row in with_rust if row[1] == "arkworks"]
    yield "Transforms of BLS12-381 Fr (NTT), 16 threads of an Intel Xeon", 17, sorted(
        of_csv("2026-11-16-h200-ntt/peers-cpu.csv", "ntt-nn", [1 << 20], 16), key=lambda row: row[2])


def digits(ms):
    return f"{ms:.3g}" if ms < 100 else f"{ms:.0f}"


def draw():
    parts, y = [], 42
    for title, most, rows in panels():
        scale = (WIDTH - LEFT - RIGHT) / most
        parts.append(f'<text class="title" x="0" y="{y}">{title}</text>')
        y += 12
        label = None
        for size, peer, ms, low, high, ratio in rows:
            if size != label:
                y += 4 if label else 0
                parts.append(f'<text class="size" x="0" y="{y + 12}">{size}</text>')
                label = size
            own = peer == "gpuexec"
            width, middle = ratio * scale, y + BAR / 2 - 1
            parts.append(f'<text class="{"own" if own else "peer"}" x="{LEFT - 8}" y="{y + 12}" '
                         f'text-anchor="end">{peer}</text>')
            parts.append(f'<rect class="{"own" if own else "peer"}" x="{LEFT}" y="{y}" '
                         f'width="{width:.1f}" height="{BAR - 2}" rx="2"/>')
            ends = [LEFT + width * at / ms for at in (low, high)]
            parts.append(f'<path class="range" d="M{ends[0]:.1f} {middle}H{ends[1]:.1f}"/>')
            times = "" if own else f", {ratio:.1f}x" if ratio >= 2 else f", {ratio:.2f}x"
            parts.append(f'<text class="time" x="{max(LEFT + width, ends[1]) + 6:.1f}" '
                         f'y="{y + 12}">{digits(ms)} ms{times}</text>')
            y += BAR
        y += 26
    return parts, y - 8


def main():
    parts, height = draw()
    print(f'''<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" \
viewBox="0 0 {WIDTH} {height}" role="img" font-family="system-ui, sans-serif" font-size="13">
<title>gpuexec beside other libraries: sums of points and transforms</title>
<style>
text {{ fill: #1f2328 }} .title {{ font-weight: 600 }} .size, .time, .note {{ fill: #57606a }}
rect.own {{ fill: #0969da }} rect.peer {{ fill: #b6bec8 }} .range {{ stroke: #1f2328; stroke-width: 1.5 }}
text.own {{ font-weight: 600 }} text.peer {{ fill: #57606a }}
@media (prefers-color-scheme: dark) {{
text {{ fill: #e6edf3 }} .size, .time, .note, text.peer {{ fill: #9ea7b3 }}
rect.own {{ fill: #4493f8 }} rect.peer {{ fill: #4d5663 }} .range {{ stroke: #e6edf3 }}
}}
</style>
<text class="note" x="0" y="12">Time, shorter is better: median, lowest to highest (line), as a multiple of \
gpuexec's in the same run.</text>
''' + "\n".join(parts) + "\n</svg>")


main()
