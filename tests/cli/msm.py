#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# An oracle for `gpuexec msm` in integers of Python, by double and add: reads points as x, y (plain),
# writes the results in a form.
#
# usage: msm.py CURVE POINTS SCALARS FORM
import sys

BLS, BN = (int(s, 16) for s in (
    "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab",
    "30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47"))
CURVES = {"bls12-381-g1": (BLS, 48, 1), "bls12-381-g2": (BLS, 48, 2), "bn254-g1": (BN, 32, 1),
          "bn254-g2": (BN, 32, 2)}

curve, points_file, scalars_file, form = sys.argv[1:]
p, size, degree = CURVES[curve]


# Coordinates are pairs: the second number is 0 in G1.
def mul(a, b):
    return ((a[0] * b[0] - a[1] * b[1]) % p, (a[0] * b[1] + a[1] * b[0]) % p)


def sub(a, b):
    return ((a[0] - b[0]) % p, (a[1] - b[1]) % p)


def inverse(a):
    norm = pow(a[0] * a[0] + a[1] * a[1], -1, p)
    return (a[0] * norm % p, -a[1] * norm % p)


def add(P, Q):
    if P is None or Q is None:
        return P or Q
    if P[0] == Q[0]:
        if P[1] != Q[1] or P[1] == (0, 0):
            return None
        slope = mul(mul((3, 0), mul(P[0], P[0])), inverse(mul((2, 0), P[1])))
    else:
        slope = mul(sub(Q[1], P[1]), inverse(sub(Q[0], P[0])))
    x = sub(sub(mul(slope, slope), P[0]), Q[0])
    return (x, sub(mul(slope, sub(P[0], x)), P[1]))


def times(k, P):
    result = None
    while k:
        if k & 1:
            result = add(result, P)
        P = add(P, P)
        k >>= 1
    return result


def read(data):
    numbers = [int.from_bytes(data[i:i + size], "little") for i in range(0, len(data), size)]
    if degree == 1:
        numbers = [n for x in numbers for n in (x, 0)]
    pairs = list(zip(numbers[::2], numbers[1::2]))
    return [None if P == ((0, 0), (0, 0)) else P for P in zip(pairs[::2], pairs[1::2])]


def parts(coordinate, high_first=False):
    return list(coordinate[:degree])[::-1 if high_first else 1]


def little(coordinates, factor):
    return b"".join((n * factor % p).to_bytes(size, "little") for c in coordinates for n in parts(c))


def zcash(P, compressed):
    words = P[:1] if compressed else P
    data = bytearray(b"".join(n.to_bytes(size, "big") for c in words for n in parts(c, True)))
    y = P[1][1] or P[1][0]
    data[0] |= 0x80 | (0x20 if y > p // 2 else 0) if compressed else 0
    return bytes(data)


def write(P):
    r, zero, one = 1 << 8 * size, (0, 0), (1, 0)
    infinity = P is None
    if form == "jacobian-mont":
        return little((one, one, zero) if infinity else (*P, one), r)
    P = P or (zero, zero)
    if form in ("xy-mont", "xy-plain"):
        return little(P, r if form == "xy-mont" else 1)
    if form == "eip2537":
        return b"".join(n.to_bytes(64, "big") for c in P for n in parts(c))
    compressed = int(form.split("-")[1]) == size * degree
    if infinity:
        return bytes([0xc0 if compressed else 0x40]) + bytes(size * degree * (1 if compressed else 2) - 1)
    return zcash(P, compressed)


points = read(open(points_file, "rb").read())
data = open(scalars_file, "rb").read()
scalars = [int.from_bytes(data[i:i + 32], "little") for i in range(0, len(data), 32)]
for first in range(0, max(len(scalars), 1), max(len(points), 1)):
    total = None
    for k, P in zip(scalars[first:], points):
        total = add(total, times(k, P))
    sys.stdout.buffer.write(write(total))
