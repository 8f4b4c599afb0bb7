#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# peers.py RUN ADAPTOR: bench/peers/run.py with gpuexec's own adaptor and peers that are this
# adaptor in disguise: an honest one, one that is wrong in one bit, one that dies. Nothing is
# downloaded, and no time is judged.
import csv
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

RUN, ADAPTOR = map(os.path.abspath, sys.argv[1:3])
QUICK = ["--no-build", "--turns", "2", "--ms", "1"]
SMALL, LARGE = 64, 70000  # the larger one repeats its operands, and is spread over threads
MSM = 100
NTT = 64, 8192  # of the larger one only some outputs are computed; the rest is compared

HONEST = f"#!/bin/sh\nexec '{ADAPTOR}' \"${{1:-cpu}}\"\n"
ON_BUFFERS = f"#!/bin/sh\nexec '{ADAPTOR}' ref\n"
DIES = "#!/bin/sh\nread line\necho ok\nread line\n"
WRONG = f"""#!/usr/bin/python3
import subprocess, sys
pipe = subprocess.PIPE
peer = subprocess.Popen(['{ADAPTOR}'], stdin=pipe, stdout=pipe, text=True, bufsize=1)
for line in sys.stdin:
    peer.stdin.write(line)
    answer = peer.stdout.readline()
    if line.startswith("op"):
        with open(line.split()[3], "r+b") as results:
            results.seek(-1, 2)
            last = results.read(1)[0]
            results.seek(-1, 2)
            results.write(bytes([last ^ 1]))
    print(answer, end="", flush=True)
"""

failures = 0


def expect(what, condition, seen=""):
    global failures
    if not condition:
        failures += 1
        print(f"FAILED: {what}: {seen}")


def run(peers, *options):
    """The exit code, standard output, standard error, the rows, the marks of the chart."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "bin"))
        for name, script in peers.items():
            path = os.path.join(folder, "bin", name)
            with open(path, "w") as file:
                file.write(script)
            os.chmod(path, 0o755)
        out = os.path.join(folder, "out")
        done = subprocess.run([sys.executable, RUN, folder, *QUICK, "-o", out, *options],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        rows, marks = [], 0
        if os.path.exists(os.path.join(out, "peers.csv")):
            with open(os.path.join(out, "peers.csv"), newline="") as file:
                rows = list(csv.DictReader(l for l in file if not l.startswith("#")))
            chart = xml.etree.ElementTree.parse(os.path.join(out, "peers.svg"))
            marks = len(chart.findall(".//{http://www.w3.org/2000/svg}g"))
            with open(os.path.join(out, "peers.md")) as file:
                expect("peers.md is what is printed", file.read() == done.stdout)
        return done.returncode, done.stdout, done.stderr, rows, marks


def test_cpu():
    code, text, said, rows, marks = run(
        {"gpuexec": HONEST, "blst": HONEST, "arkworks": WRONG, "gnark": DIES}, "--where", "cpu",
        "--threads", "2", "--sizes", f"{SMALL},{LARGE}", "--ntt-sizes", "64,8192",
        "--msm-sizes", str(MSM))
    expect("a wrong result is exit code 4", code == 4, said)
    got = {(r["peer"], r["field"], r["op"], r["n"], r["threads"]) for r in rows}
    cases = [("bls12-381-fq", "add"), ("bls12-381-fq", "mul"), ("bls12-381-fq", "inv"),
             ("bls12-381-fr", "add"), ("bls12-381-fr", "mul"), ("bn254-fr", "mul")]
    sizes = [(str(SMALL), "1"), (str(LARGE), "1"), (str(LARGE), "2")]
    transforms = {("bls12-381-fr", op, str(n), "1") for op in ("ntt-nn", "ntt-nr") for n in NTT}
    sums = {("bls12-381-g1", "msm", str(MSM), "1")}
    want = {(*c, *s) for c in cases for s in sizes} | transforms | sums
    expect("who is right has all rows, the others none",
           got == {(p, *w) for p in ("gpuexec", "blst") for w in want}, got)
    for row in rows:
        expect("lowest, median, highest",
               0 < float(row["ns_min"]) <= float(row["ns"]) <= float(row["ns_max"]), row)
        expect("of a ratio too",
               0 < float(row["ratio_min"]) <= float(row["ratio"]) <= float(row["ratio_max"]), row)
        expect("the turns asked for", row["turns"] == "2", row)
    for n in (SMALL, LARGE):
        wrong = f"arkworks: bls12-381-fq mul, {n} elements, 1 thread: element {n - 1} differs"
        expect("the wrong element is named", wrong in said, said)
    for n in NTT:
        wrong = f"arkworks: bls12-381-fr ntt-nn, {n} elements, 1 thread: element {n - 1} differs"
        expect("of a transform too", wrong in said, said)
    wrong = f"arkworks: bls12-381-g1 msm, {MSM} elements, 1 thread: element 0 differs"
    expect("of a sum of points too", wrong in said, said)
    expect("the dead one is named, once", said.count("gnark-crypto: ended") == 1, said)
    expect("a line per row in the table", text.count("\n| b") == len(rows) // 2, text)
    expect("a mark per row, and one per peer in the legend", marks == len(rows) + 4, marks)


def test_buffers():
    """The way of a GPU, on the reference device."""
    code, text, said, rows, _ = run({"gpuexec": HONEST, "sppark": ON_BUFFERS}, "--where", "gpu",
                                    "--device", "ref", "--gpu-size", "1000", "--ntt-sizes", "16",
                                    "--ops", "add,mul,ntt-nn,ntt-nr,ntt-rn")
    expect("exit code 0", code == 0, said)
    expect("eight operations of two peers", len(rows) == 16, rows)
    expect("two tables", "G elements per second" in text and "In ms:" in text, text)


def test_nothing():
    for peers in ({}, {"gpuexec": HONEST}):
        code, text, said, rows, _ = run(peers, "--sizes", str(SMALL))
        expect("nothing to compare is exit code 1", code == 1 and not rows and not text, said)
        expect("the missing are named", "blst: left out: not built" in said, said)
    code, _, said, _, _ = run({}, "--ops", "sqrt")
    expect("no such operation is exit code 2", code == 2 and "'sqrt' is none of" in said, said)


test_cpu()
test_buffers()
test_nothing()
print("peers:", f"{failures} FAILED" if failures else "ok")
sys.exit(1 if failures else 0)
