#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Multiples of points of every curve, by py_ecc: README.md says what the lines mean.
import random

from py_ecc import optimized_bls12_381 as bls
from py_ecc import optimized_bn128 as bn
from py_ecc.bls.point_compression import compress_G1, compress_G2

random.seed(18)


def product(a, b, q):
    return ((a[0] * b[0] - a[1] * b[1]) % q, (a[0] * b[1] + a[1] * b[0]) % q)


def root(a, q):
    """Of a number modulo q, or None."""
    r = pow(a, (q + 1) // 4, q)
    return r if r * r % q == a % q else None


def pair_root(a, q):
    """Of a0 + a1 u, a1 not 0, or None."""
    s = root(a[0] * a[0] + a[1] * a[1], q)
    for sign in (1, -1):
        if s is not None:
            x = root((a[0] + sign * s) * pow(2, -1, q), q)
            if x:
                return (x, a[1] * pow(2 * x, -1, q) % q)
    return None


def numbers(element):
    return [int(c) for c in element.coeffs] if hasattr(element, "coeffs") else [int(element)]


def on_curve(module, degree, x):
    """The point with the first x from this one on that has a y."""
    q = module.field_modulus
    while True:
        if degree == 1:
            y = root(x**3 + int(module.b), q)
            if y is not None:
                return (module.FQ(x), module.FQ(y), module.FQ(1))
        else:
            b = numbers(module.b2)
            at = (x, 1)
            cube = product(at, product(at, at, q), q)
            y = pair_root(((cube[0] + b[0]) % q, (cube[1] + b[1]) % q), q)
            if y:
                return (module.FQ2(at), module.FQ2(y), module.FQ2.one())
        x += 1


def text(point, module, size):
    if module.is_inf(point):
        return "- -"
    x, y = module.normalize(point)
    return " ".join(",".join(f"{c:0{size}x}" for c in numbers(v)) for v in (x, y))


def compressed(name, point):
    if name == "bls12-381-g1":
        return f"{compress_G1(point):096x}"
    if name == "bls12-381-g2":
        return "".join(f"{part:096x}" for part in compress_G2(point))
    return "-"


for name, module, degree, size in (
    ("bls12-381-g1", bls, 1, 96),
    ("bls12-381-g2", bls, 2, 96),
    ("bn254-g1", bn, 1, 64),
    ("bn254-g2", bn, 2, 64),
):
    r = module.curve_order
    bases = [("in", module.G1 if degree == 1 else module.G2)]
    bases.append(("in", module.multiply(bases[0][1], random.randrange(r))))
    if name != "bn254-g1":
        bases += [("out", on_curve(module, degree, x)) for x in (0, random.randrange(r))]
        small = module.multiply(bases[-1][1], r)
        bases += [("out", small), ("out", module.add(small, bases[0][1]))]
    for where, base in bases:
        assert module.is_inf(module.multiply(base, r)) == (where == "in")
        for scalar in (0, 1, 2, 3, r - 1, r, r + 1, random.randrange(r), 2**256 - 1):
            result = module.multiply(base, scalar)
            print(name, where, text(base, module, size), f"{scalar:064x}", text(result, module, size),
                  compressed(name, result))
