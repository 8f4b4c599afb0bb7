#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""arithmetic.py BUILD CC: runs the PTX of one-pass kernels, translated to C (ptx_to_c.py), on edges and
on random elements, and compares with Python's integers: sums, products, squares, dot products, inverses,
transforms, and sums of points, which have products that share a reduction. BUILD is the build folder.
"""
import ctypes
import itertools
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Not from src/field, on purpose: as text, like tests/support/oracle.c.
MODULI = {
    "bls12-381-fq": 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab,
    "bls12-381-fr": 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001,
    "bn254-fq": 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47,
    "bn254-fr": 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001,
}
CURVES = {"bls12-381-fq": 4, "bn254-fq": 3}  # y^2 = x^3 + b
GENERATORS = {"bls12-381-fr": 7, "bn254-fr": 5}  # of all elements but 0
MUL = {name: "carry-x2" if name == "bls12-381-fq" else "carry" for name in MODULI}  # cmake/ptx.cmake
OUT, A, B, C, SCRATCH, BAD = range(6)
NONE = 0xffffffff
WORKGROUP = 128


class Emulated(ctypes.Structure):
    _fields_ = [("function", ctypes.c_void_p), ("barriers", ctypes.c_int)]


def library(build, compiler, files, folder):
    """The translated kernels, as a shared library."""
    # A name of its own, since one that was loaded before would be found by its name.
    source, shared = (os.path.join(folder, files[0] + suffix) for suffix in (".c", ".so"))
    with open(source, "w", encoding="ascii") as f:
        subprocess.run([sys.executable, os.path.join(HERE, "ptx_to_c.py"), "test"] +
                       [os.path.join(build, "ptx", name + ".ptx") for name in files], stdout=f, check=True)
    include = ["-I" + os.path.join(ROOT, d) for d in ("tests", "src", "include")]
    subprocess.run([compiler, "-O0", "-w", "-D_GNU_SOURCE", "-shared", "-fPIC"] + include +
                   [source, os.path.join(HERE, "emulate.c"), os.path.join(build, "ptx", "ptx.c"), "-o", shared],
                   check=True)
    loaded = ctypes.CDLL(shared)
    os.unlink(shared)
    return loaded, dict(zip(files, (Emulated * len(files)).in_dll(loaded, "test_emulated")))


class Field:
    def __init__(self, name):
        self.name, self.p = name, MODULI[name]
        self.bytes = 48 if self.p >> 256 else 32
        self.r = 1 << 8 * self.bytes
        self.back = pow(self.r, -1, self.p)

    def buffer(self, elements):
        data = b"".join(x.to_bytes(self.bytes, "little") for x in elements)
        return ctypes.create_string_buffer(data, len(data))

    def elements(self, data):
        return [int.from_bytes(data.raw[i:i + self.bytes], "little") for i in range(0, len(data.raw), self.bytes)]

    def some(self):
        return random.choice([0, 1, self.p - 1, self.r % self.p] + [random.randrange(self.p)] * 8)

    def inverse(self, x):
        return pow(x, -1, self.p) * self.r * self.r % self.p if x else 0


class Rig:
    def __init__(self, field, loaded, kernels):
        self.field, self.loaded, self.kernels = field, loaded, kernels
        self.bad = ctypes.c_uint32(NONE)

    def launch(self, kernel, op, binds, push, groups, check=1, repeat=1):
        binds = {BAD: self.bad, **binds}
        args = (ctypes.c_uint8 * 92)()
        for slot, memory in binds.items():
            args[8 * slot:8 * slot + 8] = list(ctypes.addressof(memory).to_bytes(8, "little"))
        for i, word in enumerate(push):
            args[56 + 4 * i:60 + 4 * i] = list(word.to_bytes(4, "little"))
        self.loaded.gx__emulate(self.kernels["%s-%s" % (kernel[0], self.field.name) + "-" + kernel[1]], args, groups,
                                1, WORKGROUP, op, check, repeat)

    def run(self, kernel, op, operands, n, stage=(), results=None, broadcast=0, groups=0, **more):
        out = self.field.buffer([0] * (n if results is None else results))
        binds = {OUT: out, **{A + i: self.field.buffer(x) for i, x in enumerate(operands)}}
        self.launch(kernel, op, binds, [n, 0, 0, 0, 0, broadcast, *stage], groups or (n + WORKGROUP - 1) // WORKGROUP,
                    **more)
        return self.field.elements(out)


def expect(what, got, wanted):
    if got != wanted:
        i = next((i for i, (x, y) in enumerate(zip(got, wanted)) if x != y), -1)
        sys.exit("%s: element %d is %#x, not %#x" % (what, i, got[i], wanted[i]))


def operands(field, n):
    edges = [0, 1, 2, field.p - 1, field.p - 2, field.r % field.p, (field.p + 1) // 2]
    edges += [1 << 32, 1 << 128, field.p - (1 << 96)]  # low words that are 0
    pairs = [(x, y) for x in edges for y in edges]
    pairs += [(field.some(), field.some()) for _ in range(n - len(pairs))]
    return [x for x, _ in pairs], [y for _, y in pairs], [field.some() for _ in range(n)]


def elementwise(rig, n):
    f, linear, mul = rig.field, ("linear", "plain"), ("mul", MUL[rig.field.name])
    p, back = f.p, f.back
    a, b, c = operands(f, n)
    expect("add", rig.run(linear, 1, [a, b], n), [(x + y) % p for x, y in zip(a, b)])
    expect("sub", rig.run(linear, 2, [a, b], n), [(x - y) % p for x, y in zip(a, b)])
    expect("neg", rig.run(linear, 4, [a], n), [-x % p for x in a])
    expect("broadcast", rig.run(linear, 1, [a, b[9:]], n, broadcast=2), [(x + b[9]) % p for x in a])
    expect("mul", rig.run(mul, 3, [a, b], n), [x * y * back % p for x, y in zip(a, b)])
    expect("sqr", rig.run(mul, 5, [a], n), [x * x * back % p for x in a])
    expect("mul-add", rig.run(mul, 8, [a, b, c], n), [(x * y * back + z) % p for x, y, z in zip(a, b, c)])
    expect("mul-add, broadcast", rig.run(mul, 8, [a[9:], b, c[9:]], n, broadcast=5),
           [(a[9] * y * back + c[9]) % p for y in b])
    expect("to-mont", rig.run(mul, 9, [a], n), [x * f.r % p for x in a])
    expect("from-mont", rig.run(mul, 10, [a], n), [x * back % p for x in a])
    expect("repeated", rig.run(mul, 3, [a, b], n, repeat=3), [x * (y * back) ** 3 % p for x, y in zip(a, b)])
    assert rig.bad.value == NONE
    bad = a[:]
    bad[77], bad[200], bad[50] = p, f.r - 1, p - 1
    rig.run(mul, 3, [a, bad], n)
    assert rig.bad.value == 77, rig.bad.value
    rig.bad.value = NONE


def reductions(rig, n):
    f = rig.field
    a, b, _ = operands(f, n)
    for groups in 1, 2:
        sums = rig.run(("sum", "plain"), 11, [a], n, stage=[groups], results=groups, groups=groups)
        expect("sum", [sum(sums) % f.p], [sum(a) % f.p])
        dots = rig.run(("dot", "carry"), 12, [a, b], n, stage=[groups], results=groups, groups=groups)
        expect("dot", [sum(dots) % f.p], [sum(x * y for x, y in zip(a, b)) * f.back % f.p])
        assert max(sums + dots) < f.p


def inverses(rig, n, threads):
    f = rig.field
    a, _, c = operands(f, n)
    for op in 6, 7:
        wanted = [f.inverse(x) if op == 6 else f.inverse(x) * z * f.back % f.p for x, z in zip(a, c)]
        expect("inverses", rig.run(("invert_top", "carry"), op, [a, a, c], n), wanted)
        scratch, out = f.buffer([0] * n), f.buffer([0] * n)
        products, inverted, operand = f.buffer([0] * threads), f.buffer([0] * threads), f.buffer(a)
        push = [n, 0, 0, 0, 0, 0, threads]
        rig.launch(("invert_up", "carry"), op, {OUT: products, A: operand, SCRATCH: scratch}, push, 1)
        rig.launch(("invert_top", "carry"), 6, {OUT: inverted, A: products}, [threads], 1, check=0)
        rig.launch(("invert_down", "carry"), op,
                   {OUT: out, A: operand, B: inverted, C: f.buffer(c), SCRATCH: scratch}, push, 1)
        expect("inverses in three passes", f.elements(out), wanted)


# ---- transforms ----


def evaluate(p, a, root):
    """At the powers of root, whose order is len(a)."""
    if len(a) == 1:
        return a
    even, odd = evaluate(p, a[::2], root * root % p), evaluate(p, a[1::2], root * root % p)
    out, w = [0] * len(a), 1
    for i, (x, y) in enumerate(zip(even, odd)):
        out[i], out[i + len(even)] = (x + w * y) % p, (x - w * y) % p
        w = w * root % p
    return out


def reverse(a):
    bits = len(a).bit_length() - 1
    return [a[int(format(i, "0%db" % bits)[::-1], 2)] for i in range(len(a))] if bits else a


def transforms(rig, generator, kernel, each):
    """Of one pass and of two, from the root of the tree to its leaves (13, of a coset 69) and back (70,
    71). Operands may be shorter, followed by zeros."""
    f, p = rig.field, rig.field.p
    odd = (p - 1) // (p - 1 & 1 - p)
    roots = [pow(generator, odd, p)]  # of all orders, the last one is 1
    while roots[-1] != 1:
        roots.append(roots[-1] * roots[-1] % p)
    roots.reverse()
    table, shift = [f.r % p], random.randrange(1, p)
    for j in range(10):
        table += [w * roots[j + 2] % p for w in table]
    at_shift = len(table)
    table += [pow(shift, i, p) * f.r % p for i in range(4096)] + [f.r % p]
    table = f.buffer(table)
    one = 8 if each == 2 else 9  # the most levels of a pass
    for m, pad, levels in ((2, 0, [2]), (3, 0, [3]), (one, 0, [one]), (one, 2, [one]), (11, 0, [3, 8]), (11, 1, [5, 6])):
        n = 1 << m
        a = operands(f, max(n, 120))[0][-(n >> pad):]
        for inverse, op in itertools.product((0, 1), (13, 69, 70, 71)):
            back, coset = op >= 70, op in (69, 71)
            given = [x * pow(shift, i, p) if coset and not inverse else x for i, x in enumerate(a)]
            wanted = evaluate(p, given + [0] * (n - len(a)), roots[m])
            if inverse:
                wanted = [wanted[-i % n] * pow(n, -1, p) * pow(shift, i * coset, p) % p for i in range(n)]
            memory, parts, first = f.buffer(reverse(a) if back else a), [], 0
            for count in levels:
                parts.append((first, count))
                first += count
            for i, (first, count) in enumerate(parts[::-1] if back else parts):
                begins, ends = i == 0, i == len(parts) - 1
                # The operation of a pass that multiplies by powers of the shift.
                own = op if not coset or (ends if inverse else begins) else 70 if back else 13
                flags = inverse | begins << 5 | ends << 6
                out = f.buffer([0] * n)
                rig.launch(kernel, own, {OUT: out, A: memory, B: table},
                           [n, 0, 0, 0, 0, 0, m | first << 5 | count << 10 | pad << 15 | flags << 20, at_shift],
                           (n + each * WORKGROUP - 1) // (each * WORKGROUP))
                memory = out
            expect("transform %d of 2^%d" % (op, m), f.elements(memory), wanted)
    assert rig.bad.value == NONE
    a = f.buffer([0] * 200 + [p, f.r - 1] + [0] * 54)
    rig.launch(kernel, 13, {OUT: f.buffer([0] * 256), A: a, B: table},
               [256, 0, 0, 0, 0, 0, 8 | 8 << 10 | 96 << 20], 1)
    assert rig.bad.value == 200, rig.bad.value
    rig.bad.value = NONE


# ---- sums of points ----


def add_points(p, one, other):
    """Affine, None is infinity."""
    if one is None or other is None:
        return other if one is None else one
    (x, y), (u, v) = one, other
    if x == u and (y + v) % p == 0:
        return None
    slope = 3 * x * x * pow(2 * y, -1, p) if one == other else (v - y) * pow(u - x, -1, p)
    r = (slope * slope - x - u) % p
    return r, (slope * (x - r) - y) % p


def points_of(f, b, count):
    """p is 3 modulo 4, so that roots are powers."""
    points, x = [], 1
    while len(points) < count:
        y = pow(x ** 3 + b, (f.p + 1) // 4, f.p)
        if y * y % f.p == (x ** 3 + b) % f.p:
            points.append((x, y))
        x += 1
    return points


def times(p, x, y):
    """Of the quadratic extension by i: pairs."""
    return (x[0] * y[0] - x[1] * y[1]) % p, (x[0] * y[1] + x[1] * y[0]) % p


class Curve:
    """Points of a curve over the prime field, (x, y); in memory they are (u^2 x, u^3 y), with
    coordinates of the given degree, in Montgomery form."""

    def __init__(self, field, degree):
        p = field.p
        self.field, self.degree = field, degree
        self.u = (random.randrange(1, p), random.randrange(p) if degree == 2 else 0)
        self.point_bytes = 4 * degree * field.bytes

    def coordinates(self, point):
        p, square = self.field.p, times(self.field.p, self.u, self.u)
        x, y = point or (0, 0)
        return times(p, square, (x, 0)), times(p, times(p, square, self.u), (y, 0))

    def buffer(self, coordinates):
        f = self.field
        return f.buffer([c * f.r % f.p for x in coordinates for c in x[:self.degree]])

    def over(self, point):
        """The four coordinates of a point, with a denominator."""
        p = self.field.p
        z = (random.randrange(1, p), random.randrange(p) if self.degree == 2 else 0)
        zz = times(p, z, z)
        zzz = times(p, zz, z)
        x, y = self.coordinates(point)
        return [times(p, x, zz), times(p, y, zzz), zz, zzz] if point else [(5, 0), (7, 0), (0, 0), (9, 0)]

    def expect(self, what, memory, index, wanted):
        f, d, p = self.field, self.degree, self.field.p
        at = index * self.point_bytes
        words = f.elements(ctypes.create_string_buffer(memory.raw[at:at + self.point_bytes], self.point_bytes))
        assert max(words) < p, what
        words = [x * f.back % p for x in words]
        x, y, zz, zzz = [tuple(words[d * i:d * i + d] + [0] * (2 - d)) for i in range(4)]
        if wanted is None:
            assert zz == (0, 0), "%s is not infinity" % what
            return
        u, v = self.coordinates(wanted)
        assert zz != (0, 0) and times(p, times(p, zz, zz), zz) == times(p, zzz, zzz), what
        assert x == times(p, u, zz) and y == times(p, v, zzz), what


def total(p, points):
    r = None
    for point in points:
        r = add_points(p, r, point)
    return r


def buckets(rig, b, degree):
    """One slice of entries: runs of one key, in which points are equal, opposite, and infinity."""
    f, keys, entries = rig.field, 12, []
    curve, points = Curve(f, degree), points_of(f, b, 24) + [None]
    for key in range(keys):
        first = random.randrange(24)
        values = [2 * random.randrange(25) + random.randrange(2) for _ in range(3)]
        values += [[2 * first, 2 * first], [2 * first, 2 * first + 1], [2 * 24], []][key % 4]
        entries += [(key, v) for v in random.sample(values, len(values))]
    words = b"".join(x.to_bytes(4, "little") for e in entries for x in e)
    a = ctypes.create_string_buffer(words, len(words))
    table = curve.buffer([c for point in points for c in curve.coordinates(point)])
    quads = curve.point_bytes // 16
    scratch = ctypes.create_string_buffer(16 * (quads * (keys + 3) + 8))
    at_ends, at_records = quads * (keys + 1), quads * (keys + 3)
    window = 5
    rig.launch(("msm_add" if degree == 1 else "msm_add_2", "carry"), 76, {A: a, B: table, SCRATCH: scratch},
               [len(entries), 0, 0, 0, 0, 0, at_ends, at_records, len(entries) | 1 << 8 | window << 16], 1)
    for key in range(1, keys):
        wanted = total(f.p, [(points[v >> 1][0], (-1) ** (v & 1) * points[v >> 1][1] % f.p)
                             for k, v in entries if k == key and points[v >> 1]])
        # The first run and the last may go on in other slices: they are apart.
        curve.expect("bucket %d" % key, scratch, key - 1 if key < keys - 1 else keys + 2, wanted)


def sums(rig, b, degree):
    """Of rows and columns of buckets, by two invocations each; and points that are doubled."""
    f, kernel = rig.field, ("msm_sum" if degree == 1 else "msm_sum_2", "carry")
    curve, points = Curve(f, degree), points_of(f, b, 8)
    some = [random.choice(points + [None]) for _ in range(16)]
    some[4:8] = [points[0]] * 4
    some[8], some[9] = points[1], (points[1][0], f.p - points[1][1])
    out = ctypes.create_string_buffer(8 * curve.point_bytes)
    grid = curve.buffer([c for point in some for c in curve.over(point)])
    rig.launch(kernel, 78, {OUT: out, A: grid}, [0, 0, 0, 0, 0, 0, 5 | 1 << 8 | 1 << 16, 0, 0], 1)
    for j in range(4):
        curve.expect("row %d" % j, out, j, total(f.p, some[4 * j:4 * j + 4]))
        curve.expect("column %d" % j, out, 4 + j, total(f.p, some[j::4]))
    affine = curve.buffer([c for point in points for c in curve.coordinates(point)])
    rig.launch(kernel, 78, {OUT: out, A: affine}, [8, 0, 0, 0, 0, 0, 1 | 0x7000000, 3, 1], 1)
    for j, point in enumerate(points):
        curve.expect("multiple %d" % j, out, j, total(f.p, [point] * 8))


def main():
    build, compiler = sys.argv[1:]
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        for name in MODULI:
            files = [k % name for k in ("linear-%s-plain", "mul-%s-" + MUL[name], "sum-%s-plain", "dot-%s-carry",
                                        "invert_up-%s-carry", "invert_top-%s-carry", "invert_down-%s-carry")]
            if name in CURVES:
                files += [k % name for k in ("msm_add-%s-carry", "msm_add_2-%s-carry", "msm_sum-%s-carry",
                                             "msm_sum_2-%s-carry")]
            if name in GENERATORS:
                files += [k % name for k in ("ntt-%s-carry-x4", "ntt_small-%s-carry-x2")]
            rig = Rig(Field(name), *library(build, compiler, files, folder))
            elementwise(rig, 1000)
            reductions(rig, 500)
            inverses(rig, 120, 40)
            if name in CURVES:
                for degree in 1, 2:
                    buckets(rig, CURVES[name], degree)
                    sums(rig, CURVES[name], degree)
            if name in GENERATORS:
                transforms(rig, GENERATORS[name], ("ntt", "carry-x4"), 4)
                transforms(rig, GENERATORS[name], ("ntt_small", "carry-x2"), 2)
            print("%s: as expected" % name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
