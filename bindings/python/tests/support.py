# SPDX-License-Identifier: Apache-2.0
"""Oracles in plain integers, and work that takes a while."""

import random
from collections.abc import Sequence

import gpuexec as gx

SCALAR_FIELDS = [gx.BLS12_381_FR, gx.BN254_FR]
PRIME_FIELDS = [gx.BLS12_381_FQ, gx.BLS12_381_FR, gx.BN254_FQ, gx.BN254_FR]
# From doc/encoding.md, not from the library.
MODULI = {
    "bls12-381-fq": 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB,  # noqa: E501
    "bls12-381-fr": 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001,
    "bn254-fq": 0x30644E72E131A029B85045B68181585D97816A916871CA8D3C208C16D87CFD47,
    "bn254-fr": 0x30644E72E131A029B85045B68181585D2833E84879B9709143E1F593F0000001,
}
# Order of two, generator of the multiplicative group.
TWO_ADIC = {"bls12-381-fr": (32, 7), "bn254-fr": (28, 5)}


def integers(field: gx.Field, n: int, seed: int = 1) -> list[int]:
    """Random ones, after some that are special."""
    p = MODULI[field.name]
    rng = random.Random(f"{field.name} {n} {seed}")
    return [0, 1, p - 1, p - 2][:n] + [rng.randrange(p) for _ in range(n - 4)]


def root(field: gx.Field, log2_n: int) -> int:
    p = MODULI[field.name]
    _, generator = TWO_ADIC[field.name]
    return pow(generator, (p - 1) >> log2_n, p)


def dft(field: gx.Field, x: Sequence[int], w: int, shift: int = 1) -> list[int]:
    """X[k] = sum of x[i] * shift^i * w^(i * k), as it is defined."""
    p = MODULI[field.name]
    return [
        sum(c * pow(shift, i, p) * pow(w, i * k, p) for i, c in enumerate(x)) % p
        for k in range(len(x))
    ]


def bit_reversed(x: Sequence[int]) -> list[int]:
    bits = len(x).bit_length() - 1
    return [x[int(f"{i:0{bits}b}"[::-1], 2) if bits else 0] for i in range(len(x))]


def slow(ctx: gx.Context, jobs: int = 16) -> gx.Ticket:
    """Work for the slow reference device."""
    field = gx.BLS12_381_FQ
    a = field.random(256, seed=7)
    return ctx.submit(*[gx.Job("inv", field, a) for _ in range(jobs)], device="ref")
