#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Sums of products of points of G2 of BLS12-381, by py_ecc, as a file of EIP-2537's.
import json
import random
import sys

from py_ecc.optimized_bls12_381 import G2, Z2, add, curve_order, is_inf, multiply, neg, normalize

random.seed(2537)

points = [multiply(G2, random.randrange(1, curve_order)) for _ in range(16)]


def encoded(point):
    if is_inf(point):
        return "00" * 256
    return "".join(f"{int(c):0128x}" for v in normalize(point) for c in v.coeffs)


def case(name, pairs):
    total = Z2
    for point, scalar in pairs:
        total = add(total, multiply(point, scalar))
    return {
        "Input": "".join(encoded(point) + f"{scalar:064x}" for point, scalar in pairs),
        "Expected": encoded(total),
        "Name": name,
    }


def uniform(n):
    return [(points[i % 16], random.randrange(curve_order)) for i in range(n)]


p, q = points[:2]
few = uniform(5)
edges = (0, 1, 2, curve_order - 1, curve_order, curve_order + 1, 2**255, 2**256 - 1)
cases = [case(f"sum_of_{n}", uniform(n)) for n in (1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 64, 128)]
cases += [case(f"scalar_{i}", [(p, scalar), (q, 1)]) for i, scalar in enumerate(edges)]
cases += [case(f"infinity_at_{i}", few[:i] + [(Z2, 5)] + few[i:]) for i in range(6)]
cases += [
    case("all_infinity", [(Z2, scalar) for _, scalar in few]),
    case("all_zero", [(point, 0) for point, _ in few]),
    case("equal_points", [(p, scalar) for _, scalar in few]),
    case("equal_pairs", few[:1] * 5),
    case("equal_scalars", [(point, few[0][1]) for point, _ in few]),
    case("opposite_points", [(p, 3), (neg(p), 3)] + few),
    case("opposite_scalars", [(q, 7), (q, curve_order - 7)]),
    case("nothing_left", few + [(neg(point), scalar) for point, scalar in few]),
    case("more_than_order", [(point, scalar + curve_order) for point, scalar in few]),
]
json.dump(cases, sys.stdout, indent=1)
print()
