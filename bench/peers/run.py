#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures gpuexec and its peers in turns, on the same operands.

Builds what fetch.sh brought to DIR (build.sh) and runs one adaptor per peer; adaptor.h has the
protocol. Every result is compared, bit by bit, with integers of Python before anything is
timed; of large transforms some outputs are, and all with those of the first peer. In each turn
every peer runs for some milliseconds, in an order that alternates. Figures are medians over the
turns, with the lowest and the highest; ratios are taken turn by turn.
"""
import argparse
import csv
import datetime
import itertools
import math
import os
import platform
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DISTINCT = 65536  # random elements, repeated to fill larger arrays
PAUSE_S = 0.005  # between peers: threads that spin for more work go to sleep,
SPIN = "20000"  # those of GNU OpenMP after so many rounds, a millisecond at most
ANSWER_S = 120  # an adaptor that takes longer has hung
OWN = "gpuexec"  # what the ratios refer to


class Field:
    """R is 2 to the bits of an element; elements are x * R mod p, lowest byte first. root has order
    2^adicity."""

    def __init__(self, name, size, modulus, adicity=0, root=0):
        self.name, self.size, self.p = name, size, modulus
        self.adicity, self.root = adicity, root
        self.r = 1 << 8 * size
        self.r_inverse = pow(self.r, -1, modulus)

    def encode(self, elements):
        return b"".join(x.to_bytes(self.size, "little") for x in elements)


FIELDS = {
    f.name: f
    for f in (
        Field("bls12-381-fq", 48, int(
            "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf"
            "6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab", 16)),
        Field("bls12-381-fr", 32,
              0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001, 32,
              0x16A2A19EDFE81F20D09B681922C813B4B63683508C2280B93829971F439F0D2B),
        Field("bn254-fr", 32,
              0x30644E72E131A029B85045B68181585D2833E84879B9709143E1F593F0000001),
    )
}


class Curve:
    """y^2 = x^3 + b over a field, points as pairs of plain integers, None being infinity."""

    def __init__(self, name, field, scalars, generator):
        self.name, self.field, self.scalars, self.generator = name, field, scalars, generator
        self.size = 2 * field.size

    def add(self, first, second):
        if first is None or second is None:
            return first or second
        (x, y), (u, v), p = first, second, self.field.p
        if x == u and (y != v or not y):
            return None
        slope = (3 * x * x * pow(2 * y, -1, p) if x == u else (v - y) * pow(u - x, -1, p)) % p
        w = (slope * slope - x - u) % p
        return w, (slope * (x - w) - y) % p

    def multiply(self, k, point):
        result = None
        for bit in f"{k:b}":
            result = self.add(result, result)
            if bit == "1":
                result = self.add(result, point)
        return result

    def add_to_all(self, points, other):
        """Sums with one point that is none of them nor the opposite of one, with one inversion."""
        (u, v), p, products = other, self.field.p, [1]
        for x, _ in points:
            products.append(products[-1] * (u - x) % p)
        rest, sums = pow(products.pop(), -1, p), []
        for x, y in reversed(points):
            slope = (v - y) * rest * products.pop() % p
            rest = rest * (u - x) % p
            w = (slope * slope - x - u) % p
            sums.append((w, (slope * (x - w) - y) % p))
        return sums[::-1]

    def encode(self, points):
        f = self.field
        return f.encode(c * f.r % f.p for point in points for c in point or (0, 0))


G1 = Curve("bls12-381-g1", FIELDS["bls12-381-fq"], FIELDS["bls12-381-fr"], (
    int("17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905"
        "a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb", 16),
    int("08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af6"
        "00db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1", 16)))
KINDS = {**FIELDS, G1.name: G1}


class Elementwise:
    """An operation on each pair of elements, as stored: its formula, and how many results the time
    of one element is divided by."""

    truth = "the integers of Python"

    def __init__(self, formula, per_element=1):
        self.formula, self.per_element, self.expected = formula, per_element, {}

    def sizes(self, where, args):
        return args.sizes if where == "cpu" else [args.gpu_size]

    def operands(self, session, field, n):
        return session.operands(field, lambda: Operands(session.folder, field))

    def load(self, field, n):
        """The sizes that the adaptor is told: of one a, of one b, of all results."""
        return field.size, field.size, field.size * n

    def first_difference(self, field, operands, n, file):
        """The index of the first wrong element, or None. Operands repeat, and so do results."""
        if field not in self.expected:
            self.expected[field] = field.encode(self.formula(field, a, b) for a, b in operands.pairs)
        want, size = self.expected[field], field.size * n
        for at in range(0, size, len(want)):
            part = want[:size - at]
            got = file.read(len(part))
            if got != part:
                return (at + len(os.path.commonprefix([got, part]))) // field.size
        return None


def evaluate(field, x, point, is_reversed):
    """The polynomial with coefficients x, in natural or in bit-reversed order, there."""
    while len(x) > 1:
        half = len(x) // 2
        c = pow(point, half, field.p)
        pairs = zip(x[::2], x[1::2]) if is_reversed else zip(x[:half], x[half:])
        x = [(low + high * c) % field.p for low, high in pairs]
    return x[0]


def reverse(i, bits):
    return int(f"{i:0{bits}b}"[::-1], 2) if bits else 0


class Transform:
    """A forward transform over the default domain, in the orders of its two letters. As the
    operation is linear, Montgomery form does not matter."""

    per_element = 1
    truth = "the integers of Python, or from the first peer"
    SIZES = {"cpu": [1 << 20], "gpu": [1 << 16, 1 << 20, 1 << 24]}
    WHOLE = 1024  # up to this size all outputs are computed, otherwise FEW
    FEW = 2

    def __init__(self, order):
        self.reversed_in, self.reversed_out = (letter == "r" for letter in order)

    def sizes(self, where, args):
        return args.ntt_sizes or self.SIZES[where]

    def operands(self, session, field, n):
        return session.operands((field, n), lambda: Distinct(session.folder, field, n))

    def load(self, field, n):
        return field.size, field.size, field.size * n

    def expected(self, field, operands, n):
        """Some outputs, or all: by their place."""
        bits, known = n.bit_length() - 1, operands.known.get(self.reversed_in)
        if known is None:  # by their number, whatever the order of the outputs
            x, known = operands.elements(), {}
            root = pow(field.root, 1 << field.adicity - bits, field.p)
            source = random.Random(n)
            for k in range(n) if n <= self.WHOLE else source.sample(range(n), self.FEW):
                known[k] = evaluate(field, x, pow(root, k, field.p), self.reversed_in)
            operands.known[self.reversed_in] = known
        return {reverse(k, bits) if self.reversed_out else k: x for k, x in known.items()}

    def first_difference(self, field, operands, n, file):
        for place, value in self.expected(field, operands, n).items():
            file.seek(place * field.size)
            if file.read(field.size) != field.encode([value]):
                return place
        file.seek(0)
        first = operands.results.setdefault(self, file.name + f".{len(operands.results)}")
        if not os.path.exists(first):
            os.link(file.name, first)
        with open(first, "rb") as other:
            for at in range(0, n * field.size, 1 << 24):
                want, got = other.read(1 << 24), file.read(1 << 24)
                if want != got:
                    return (at + len(os.path.commonprefix([got, want]))) // field.size
        return None


class Sum:
    """A multi-scalar multiplication: a are plain scalars, b affine points in Montgomery form, which
    repeat where there are many; the result is one affine point."""

    per_element = 1
    truth = "the integers of Python"
    SIZES = {"cpu": [1 << 12, 1 << 16], "gpu": [1 << k for k in (10, 14, 16, 20, 22, 24)]}
    SCALAR_BYTES = 32

    def sizes(self, where, args):
        return args.msm_sizes or self.SIZES[where]

    def operands(self, session, curve, n):
        return session.operands((curve, n), lambda: Points(session.folder, curve, n))

    def load(self, curve, n):
        return self.SCALAR_BYTES, curve.size, curve.size

    def first_difference(self, curve, operands, n, file):
        if operands.known is None:
            operands.known = curve.encode([operands.sum()])
        return None if file.read() == operands.known else 0


# mul64 is a * b^64 with one load: arithmetic without memory.
OPS = {
    "add": Elementwise(lambda f, a, b: (a + b) % f.p),
    "mul": Elementwise(lambda f, a, b: a * b * f.r_inverse % f.p),
    "inv": Elementwise(lambda f, a, b: pow(a, -1, f.p) * f.r * f.r % f.p),
    "mul64": Elementwise(lambda f, a, b: a * pow(b * f.r_inverse, 64, f.p) % f.p, 64),
    "ntt-nn": Transform("nn"),
    "ntt-nr": Transform("nr"),
    "ntt-rn": Transform("rn"),
    "msm": Sum(),
}

# What is measured: where, field, operation.
CASES = [
    ("cpu", "bls12-381-fq", "add"),
    ("cpu", "bls12-381-fq", "mul"),
    ("cpu", "bls12-381-fq", "inv"),
    ("cpu", "bls12-381-fr", "add"),
    ("cpu", "bls12-381-fr", "mul"),
    ("cpu", "bls12-381-fr", "ntt-nn"),
    ("cpu", "bls12-381-fr", "ntt-nr"),
    ("cpu", "bn254-fr", "mul"),
    ("cpu", G1.name, "msm"),
    ("gpu", "bls12-381-fq", "add"),
    ("gpu", "bls12-381-fq", "mul"),
    ("gpu", "bls12-381-fq", "mul64"),
    ("gpu", "bls12-381-fr", "add"),
    ("gpu", "bls12-381-fr", "mul"),
    ("gpu", "bls12-381-fr", "mul64"),
    ("gpu", "bls12-381-fr", "ntt-nn"),
    ("gpu", "bls12-381-fr", "ntt-nr"),
    ("gpu", "bls12-381-fr", "ntt-rn"),
    ("gpu", "bn254-fr", "mul"),
    ("gpu", G1.name, "msm"),
]

# Columns and marks: name, program in DIR/bin, where it runs, colour, shape in the chart.
PEERS = [
    ("gpuexec", "gpuexec", "cpu", "#111111", "bar"),
    ("blst", "blst", "cpu", "#d95f02", "circle"),
    ("arkworks", "arkworks", "cpu", "#5b50b8", "square"),
    ("gnark-crypto", "gnark", "cpu", "#12876a", "triangle"),
    ("gpuexec", "gpuexec", "gpu", "#111111", "bar"),
    ("sppark", "sppark", "gpu", "#c2185b", "diamond"),
]

UNITS = {  # of the tables, from nanoseconds per element, and the number of elements
    "cpu": ("ns per element", lambda ns, n: ns),
    "gpu": ("G elements per second", lambda ns, n: 1 / ns),
}
MS = "ms", lambda ns, n: ns * n / 1e6


class Gone(Exception):
    """The adaptor has died or hung."""


class Adaptor:
    def __init__(self, name, command, env):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1, env=env)

    def ask(self, line):
        """The words of the answer."""
        timer = threading.Timer(ANSWER_S, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(line + "\n")
            answer = self.process.stdout.readline()
        except OSError:
            answer = ""
        finally:
            timer.cancel()
        if not answer:
            raise Gone(f"{self.name}: ended, or took more than {ANSWER_S} s, at: {line}")
        return answer.split()

    def close(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Resident:
    """gpuexec's 64 products per load, by bench-resident: a process per turn, its own operands,
    which it checks itself, and the GPU's clock."""

    name = OWN

    def __init__(self, program, device, env):
        self.command = [program, "--device", device, "--samples", "5", "--csv"]
        self.env = env

    def ask(self, line):
        words = line.split()
        if words[0] == "load":
            self.field, self.n = words[1], words[2]
            return ["ok"]
        if words[0] == "op":
            return ["ok", "checked"] if words[1] == "mul64" else ["no", "only", "for", "mul64"]
        done = subprocess.run(self.command + ["--field", self.field, "-n", self.n], env=self.env,
                              stdout=subprocess.PIPE, text=True, timeout=ANSWER_S)
        for row in csv.DictReader(l for l in done.stdout.splitlines() if not l.startswith("#")):
            if (row["field"], row["op"], row["per_load"]) == (self.field, "mul", "64"):
                return ["ok", "1", row["median_ns"]]
        return ["failed", "bench-resident", "exit", str(done.returncode)]

    def close(self):
        pass


def say(text):
    print("peers: " + text, file=sys.stderr, flush=True)


class Operands:
    """Pairs of random elements of a field, none of them 0, and the files that hold them."""

    def __init__(self, folder, field):
        source = random.Random(field.name)
        self.pairs = [(source.randrange(1, field.p), source.randrange(1, field.p))
                      for _ in range(DISTINCT)]
        self.paths = [os.path.join(folder, f"{field.name}.{name}") for name in "ab"]
        for path, elements in zip(self.paths, zip(*self.pairs)):
            with open(path, "wb") as file:
                file.write(field.encode(elements))


class Distinct:
    """n different elements of a field, for both operands, and the outputs of their transforms."""

    def __init__(self, folder, field, n, top=15):
        """top: the bits of the highest byte; the default is below half of any modulus here."""
        self.field, self.known, self.results = field, {}, {}
        self.path = os.path.join(folder, f"{field.name}.{n}")
        self.paths = [self.path, self.path]
        source, piece = random.Random(n), 1 << 24
        data = bytearray()
        for at in range(0, n * field.size, piece):  # all at once are too many for randbytes
            data += source.randbytes(min(piece, n * field.size - at))
        highest = slice(field.size - 1, None, field.size)
        data[highest] = data[highest].translate(bytes(byte & top for byte in range(256)))
        with open(self.path, "wb") as file:
            file.write(data)

    def elements(self):
        with open(self.path, "rb") as file:
            data, size = file.read(), self.field.size
        return [int.from_bytes(data[i:i + size], "little") for i in range(0, len(data), size)]

    def close(self):
        for path in [self.path, *self.results.values()]:
            if os.path.exists(path):
                os.unlink(path)


class Points:
    """n scalars, and up to DISTINCT different points: multiples t + i * d of the generator."""

    def __init__(self, folder, curve, n):
        self.curve, self.n, self.known = curve, n, None
        self.scalars = Distinct(folder, curve.scalars, n, 63)
        self.paths = [self.scalars.path, os.path.join(folder, f"{curve.name}.{n}")]
        source = random.Random(curve.name)
        self.t, self.d = (source.randrange(1, curve.scalars.p) for _ in range(2))
        first, step = (curve.multiply(k, curve.generator) for k in (self.t, self.d))
        points = [first]
        while len(points) < min(n, DISTINCT):
            points += curve.add_to_all(points, step)
            step = curve.add(step, step)
        self.count = min(n, DISTINCT)
        with open(self.paths[1], "wb") as file:
            file.write(curve.encode(points[:self.count]))

    def sum(self):
        total, size = 0, self.curve.scalars.size
        with open(self.paths[0], "rb") as file:
            for i in range(self.n):
                scalar = int.from_bytes(file.read(size), "little")
                total += scalar * (self.t + i % self.count * self.d)
        return self.curve.multiply(total % self.curve.scalars.p, self.curve.generator)

    def close(self):
        self.scalars.close()
        os.unlink(self.paths[1])


class Session:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.made = {}
        self.rows, self.notes, self.gone, self.differs = [], [], set(), False
        self.env = dict(os.environ, XDG_CACHE_HOME=folder, GOMP_SPINCOUNT=SPIN)
        self.env["LD_LIBRARY_PATH"] = os.pathsep.join(
            filter(None, [os.path.join(args.dir, "bin"), os.environ.get("LD_LIBRARY_PATH")]))

    def operands(self, key, make):
        """Those of a field are kept; those of one size give way to the next."""
        if key not in self.made:
            for old in [k for k in self.made if isinstance(k, tuple)]:
                self.made.pop(old).close()
            self.made[key] = make()
        return self.made[key]

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)
            say(text)

    def start(self, where):
        adaptors = []
        for name, program, place, _, _ in PEERS:
            path = os.path.join(self.args.dir, "bin", program)
            if place != where or (name != OWN and self.args.peers and name not in self.args.peers):
                continue
            if not os.access(path, os.X_OK):
                self.note(f"{name}: left out: not built")
                continue
            device = [] if name != OWN else ["cpu" if where == "cpu" else self.args.device]
            adaptors.append(Adaptor(name, [path, *device], self.env))
        resident = os.path.join(self.args.dir, "bin", "bench-resident")
        if where == "gpu" and os.access(resident, os.X_OK):
            adaptors.append(Resident(resident, self.args.device, self.env))
        return adaptors

    def ask(self, adaptor, line, what):
        """The answer's further words; None where there is none, with a note of what failed."""
        if adaptor in self.gone:
            return None
        try:
            answer = adaptor.ask(line)
        except (Gone, OSError, subprocess.SubprocessError) as gone:
            self.gone.add(adaptor)
            self.note(str(gone))
            return None
        if answer[0] == "ok":
            return answer[1:]
        if answer[0] != "no":
            self.note(f"{adaptor.name}: {what}: {' '.join(answer)}")
        return None

    def ready(self, adaptor, field, op, n, threads):
        """Whether it has the operation and gives the right results."""
        what = f"{field.name} {op}, {count(n)} elements, {on(threads)}"
        path = os.path.join(self.folder, "out")
        answer = self.ask(adaptor, f"op {op} {threads} {path}", what)
        if answer is None or answer == ["checked"]:
            return answer is not None
        with open(path, "rb") as file:
            operands = OPS[op].operands(self, field, n)
            wrong = OPS[op].first_difference(field, operands, n, file)
        os.unlink(path)
        if wrong is None:
            return True
        self.differs = True
        self.note(f"{adaptor.name}: {what}: element {wrong} differs from {OPS[op].truth}")
        return False

    def turns(self, adaptors, n):
        """By adaptor, nanoseconds per element in each turn; the first turn warms up."""
        samples = {a: [] for a in adaptors}
        for turn in range(self.args.turns + 1):
            for adaptor in adaptors if turn % 2 else adaptors[::-1]:
                if adaptor not in samples:
                    continue
                time.sleep(PAUSE_S)
                answer = self.ask(adaptor, f"time {self.args.ms}", "timing")
                if answer is None:
                    del samples[adaptor]
                elif turn:
                    samples[adaptor].append(float(answer[1]) / float(answer[0]) / n)
        return samples

    def measure(self, adaptors, where, field, op, n, threads):
        ready = [a for a in adaptors if self.ready(a, field, op, n, threads)]
        if all(a.name == OWN for a in ready):
            return  # no peer has it
        per = OPS[op].per_element
        samples = {a.name: [ns / per for ns in of] for a, of in self.turns(ready, n).items()}
        for name, of in samples.items():
            ratios = [theirs / ours for theirs, ours in zip(of, samples.get(OWN, []))]
            self.rows.append({
                "where": where, "peer": name, "field": field.name, "op": op, "n": n,
                "threads": threads, "turns": len(of), "ns": statistics.median(of),
                "ns_min": min(of), "ns_max": max(of),
                "ratio": statistics.median(ratios) if ratios else "",
                "ratio_min": min(ratios, default=""), "ratio_max": max(ratios, default="")})
        shown = ", ".join(f"{name} {digits(statistics.median(of))}" for name, of in samples.items())
        say(f"{field.name} {op}, {count(n)} elements, {on(threads)}, in ns: {shown}")

    def group(self, adaptors, where, field, n, ops, counts):
        for sizes, of in itertools.groupby(ops, key=lambda op: OPS[op].load(field, n)):
            of = list(of)
            words = ["load", field.name, n, *sizes, *OPS[of[0]].operands(self, field, n).paths]
            line = " ".join(map(str, words))
            loaded = [a for a in adaptors if self.ask(a, line, f"loading {n} elements") is not None]
            for op, threads in itertools.product(of, counts):
                self.measure(loaded, where, field, op, n, threads)

    def run(self, where):
        """All cases of the CPU, or of the GPU."""
        cases = [c for c in CASES if c[0] == where and c[2] in self.args.ops]
        adaptors = self.start(where)
        try:
            if where == "gpu" and not any(a.name != OWN for a in adaptors):
                return
            for name, of in itertools.groupby(cases, key=lambda case: case[1]):
                ops = [case[2] for case in of]
                for sizes, alike in itertools.groupby(
                        ops, key=lambda op: OPS[op].sizes(where, self.args)):
                    alike = list(alike)
                    for n in sizes:
                        self.group(adaptors, where, KINDS[name], n, alike, self.threads(where, n))
        finally:
            for adaptor in adaptors:
                adaptor.close()

    def threads(self, where, n):
        """A small array spread over threads would measure the adaptors: no peer does it itself."""
        if where == "gpu":
            return [0]
        return [1] if n < DISTINCT or self.args.threads == 1 else [1, self.args.threads]


# ---- output ----


def digits(x):
    """Three significant digits."""
    return f"{x:.{max(0, 2 - math.floor(math.log10(x)))}f}" if x > 0 else "0"


def count(n):
    """4M rather than 4194304."""
    for unit, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if n >= 16 * 1024 and n % unit == 0:
            return f"{n // unit}{letter}"
    return str(n)


def on(threads):
    return f"{threads} thread{'s'[:threads > 1]}" if threads else "GPU"


def machine(args):
    """What the figures are of, in lines."""
    lines = [" ".join(map(shlex.quote, sys.argv)),
             datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")]
    try:
        with open("/proc/cpuinfo") as file:
            model = next(l.split(":")[1].strip() for l in file if l.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.machine()
    threads = len(os.sched_getaffinity(0))
    lines.append(f"{model}, {threads} threads, {platform.system()} {platform.release()}")
    try:
        smi = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        lines += subprocess.run(smi, stdout=subprocess.PIPE, text=True).stdout.split("\n")[:1]
    except OSError:
        pass
    for name, program in dict((p[0], p[1]) for p in PEERS).items():
        try:
            with open(os.path.join(args.dir, "bin", program + ".version")) as file:
                lines.append(f"{name} {file.read().strip()}")
        except OSError:
            pass
    return [l for l in lines if l]


def write_csv(path, rows, lines):
    with open(path, "w", newline="") as file:
        file.writelines(f"# {l}\n" for l in lines)
        table = csv.DictWriter(file, rows[0].keys())
        table.writeheader()
        for row in rows:
            table.writerow({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()})


def by_case(rows, where):
    """Rows of one place: (field, op, n, threads) and what each peer did, by threads, then size."""
    cases = {}
    for row in rows:
        if row["where"] == where:
            key = row["field"], row["op"], row["n"], row["threads"]
            cases.setdefault(key, {})[row["peer"]] = row
    return sorted(cases.items(), key=lambda case: (case[0][3], case[0][2]))


def names(where):
    return [name for name, _, place, _, _ in PEERS if place == where]


def cell(row, unit):
    if row is None:
        return "-"
    values = sorted(unit(row[key], row["n"]) for key in ("ns_min", "ns_max"))
    text = f"{digits(unit(row['ns'], row['n']))} ({digits(values[0])} to {digits(values[1])})"
    if row["peer"] != OWN and row["ratio"]:
        text += f", **{digits(row['ratio'])}x**"
    return text


def is_whole(row):
    return isinstance(OPS[row["op"]], (Transform, Sum))


def tables(rows, where):
    return (table([r for r in rows if not is_whole(r)], where, *UNITS[where]) +
            table([r for r in rows if is_whole(r)], where, *MS))


def table(rows, where, unit, convert):
    cases = by_case(rows, where)
    if not cases:
        return []
    peers = [p for p in names(where) if any(p in of for _, of in cases)]
    head = ["field, operation", "elements"] + (["threads"] if where == "cpu" else []) + peers
    lines = [f"In {unit}: median (lowest to highest) over {rows[0]['turns']} turns; then, of a "
             "peer, its time as a multiple of gpuexec's.", "",
             "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for (field, op, n, threads), of in cases:
        cells = [f"{field} {op}", count(n)] + ([str(threads)] if where == "cpu" else [])
        cells += [cell(of.get(peer), convert) for peer in peers]
        lines.append("| " + " | ".join(cells) + " |")
    return lines + [""]


SHAPES = {
    "circle": '<circle cx="{x:.1f}" cy="{y:.1f}" r="5"/>',
    "square": '<rect x="{l:.1f}" y="{t:.1f}" width="9" height="9"/>',
    "triangle": '<path d="M{x:.1f} {t:.1f}l5.5 9.5h-11z"/>',
    "diamond": '<path d="M{x:.1f} {y:.1f}m0 -6.5l6.5 6.5l-6.5 6.5l-6.5 -6.5z"/>',
    "bar": '<rect x="{b:.1f}" y="{t:.1f}" width="3" height="9"/>',
}


class Chart:
    """Dots on a logarithmic axis: how long each peer takes, gpuexec being 1."""

    LEFT, WIDTH, ROW, TOP = 190, 780, 34, 96

    def __init__(self, rows):
        spread = [r[k] for r in rows for k in ("ratio_min", "ratio_max") if r[k]] + [0.8, 2]
        self.low, self.high = math.log2(min(spread)) - 0.1, math.log2(max(spread)) + 0.15
        self.parts, self.y = [], self.TOP

    def x(self, ratio):
        right = self.WIDTH - 20 - self.LEFT
        return self.LEFT + right * (math.log2(ratio) - self.low) / (self.high - self.low)

    def text(self, x, y, words, extra=""):
        words = words.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {extra}>{words}</text>')

    def mark(self, x, y, colour, shape):
        at = SHAPES[shape].format(x=x, y=y, l=x - 4.5, t=y - 4.5, b=x - 1.5)
        self.parts.append(f'<g fill="{colour}">{at}</g>')

    def legend(self, used):
        x = self.LEFT
        shown = {name: (colour, shape) for name, _, where, colour, shape in PEERS if where in used}
        for name, (colour, shape) in shown.items():
            self.mark(x, 60, colour, shape)
            self.text(x + 10, 64, name)
            x += 30 + 7.2 * len(name)

    def panel(self, title, cases, where):
        self.text(12, self.y + 14, title, 'font-weight="bold"')
        self.y += 24
        for (field, op, _, _), of in cases:
            middle = self.y + self.ROW / 2
            self.text(self.LEFT - 12, middle + 4, f"{field} {op}", 'text-anchor="end"')
            self.parts.append(
                f'<path d="M{self.LEFT} {middle}H{self.WIDTH - 20}" stroke="#e4e4e4"/>')
            here = [p for p in PEERS if p[2] == where and p[0] in of and of[p[0]]["ratio"]]
            for i, (name, _, _, colour, shape) in enumerate(here):
                row, y = of[name], middle + 7 * (i - len(here) / 2) if i else middle
                ends = self.x(row["ratio_min"]), self.x(row["ratio_max"])
                self.parts.append(f'<path d="M{ends[0]:.1f} {y:.1f}H{ends[1]:.1f}" '
                                  f'stroke="{colour}" stroke-width="2"/>')
                self.mark(self.x(row["ratio"]), y, colour, shape)
            self.y += self.ROW
        self.y += 10

    def axis(self):
        for power in range(math.ceil(self.low), math.floor(self.high) + 1):
            x, label = self.x(2.0 ** power), f"1/{2 ** -power}" if power < 0 else str(2 ** power)
            colour = "#888" if power == 0 else "#ddd"
            self.parts.insert(0, f'<path d="M{x:.1f} {self.TOP - 8}V{self.y}" stroke="{colour}"/>')
            for y in (self.TOP - 14, self.y + 16):
                self.text(x, y, label, 'text-anchor="middle" fill="#555"')

    def finish(self, subtitle):
        self.axis()
        self.text(12, 22, "Time per element, as a multiple of gpuexec's", 'font-size="16"')
        self.text(12, 40, subtitle, 'fill="#555"')
        height = self.y + 28
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.WIDTH}" height="{height}" '
                f'viewBox="0 0 {self.WIDTH} {height}" font-family="sans-serif" font-size="12">\n'
                f'<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(self.parts) +
                "\n</svg>\n")


def chart(rows):
    drawing, used = Chart(rows), []
    for where in UNITS:
        for (threads, n), of in itertools.groupby(by_case(rows, where),
                                                  key=lambda case: (case[0][3], case[0][2])):
            used.append(where)
            drawing.panel(f"{count(n)} elements, {on(threads)}", list(of), where)
    drawing.legend(used)
    return drawing.finish("Right of 1: slower than gpuexec. Mark: median; line: lowest to highest "
                          f"of {rows[0]['turns']} turns.")


def write_all(args, session):
    lines = machine(args)
    text = [f"    {l}" for l in lines] + [""]
    for where in UNITS:
        text += tables(session.rows, where)
    text += [f"- {n}" for n in session.notes]
    print("\n".join(text))
    if not args.output:
        return
    os.makedirs(args.output, exist_ok=True)
    write_csv(os.path.join(args.output, "peers.csv"), session.rows, lines)
    with open(os.path.join(args.output, "peers.md"), "w") as file:
        file.write("\n".join(text) + "\n")
    if any(r["ratio"] for r in session.rows):
        with open(os.path.join(args.output, "peers.svg"), "w") as file:
            file.write(chart(session.rows))


# ---- the command line ----


def number(text):
    factor = {"K": 1 << 10, "M": 1 << 20}.get(text[-1:].upper(), 1)
    value = int(text[:-1] if factor > 1 else text) * factor
    if value < 1:
        raise ValueError(text)
    return value


def numbers(text):
    return sorted(map(number, text.split(",")))


def listed(of):
    def parse(text):
        for word in text.split(","):
            if word not in of:
                raise argparse.ArgumentTypeError(f"'{word}' is none of: {', '.join(of)}")
        return text.split(",")
    return parse


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("dir", metavar="DIR", help="where fetch.sh put the peers")
    p.add_argument("-o", "--output", metavar="FOLDER", help="write peers.csv, peers.md, peers.svg")
    p.add_argument("--turns", type=number, default=7, metavar="N", help="(7)")
    p.add_argument("--ms", type=number, default=50, metavar="N",
                   help="each peer's time in a turn, or one repetition where that is longer (50)")
    p.add_argument("--sizes", type=numbers, default="4096,4M", metavar="N,...",
                   help="elements on the CPU (4096,4M)")
    p.add_argument("--gpu-size", type=number, default="16M", metavar="N",
                   help="elements on the GPU (16M)")
    p.add_argument("--ntt-sizes", type=numbers, metavar="N,...",
                   help="elements of a transform (1M on the CPU; 64K,1M,16M on the GPU)")
    p.add_argument("--msm-sizes", type=numbers, metavar="N,...",
                   help="points of a sum (4096,64K on the CPU; 1024,16K,64K,1M,4M,16M on the GPU)")
    p.add_argument("--threads", type=number, default=len(os.sched_getaffinity(0)), metavar="N",
                   help="beside one thread, for the larger sizes (all)")
    p.add_argument("--peers", type=listed([p[0] for p in PEERS]), metavar="NAME,...",
                   help="only these beside gpuexec")
    p.add_argument("--ops", type=listed(OPS), default=list(OPS), metavar="OP,...",
                   help="only these of " + ", ".join(OPS))
    p.add_argument("--where", choices=UNITS, action="append", help="only there (both)")
    p.add_argument("--device", default="vulkan", help="gpuexec's GPU (vulkan)")
    p.add_argument("--no-build", action="store_true", help="DIR/bin is as it should be")
    args = p.parse_args()
    args.dir = os.path.abspath(args.dir)
    return args


def main():
    args = arguments()
    if not args.no_build:
        subprocess.run([os.path.join(HERE, "build.sh"), args.dir], check=True, stdout=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        session = Session(args, folder)
        for where in args.where or UNITS:
            session.run(where)
    if not session.rows:
        say("nothing could be measured")
        return 1
    write_all(args, session)
    return 4 if session.differs else 0


if __name__ == "__main__":
    sys.exit(main())
