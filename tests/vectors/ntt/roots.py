#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints roots.txt: README.md. The sum as written in gpuexec.h, with roots that are not our default."""
import hashlib

MODULI = {
    "bls12-381-fr": 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001,
    "bn254-fr": 0x30644E72E131A029B85045B68181585D2833E84879B9709143E1F593F0000001,
}
# ICICLE and halo2curves: (field, name, log2 of the order, root); all in plain integers, as published.
ROOTS = [
    ("bls12-381-fr", "root", 32,
     0x0212D79E5B416B6F0FD56DC8D168D6C0C4024FF270B3E0941B788F500B912F1F),
    ("bn254-fr", "root", 28,
     0x03DDB9F5166D18B798865EA93DD31F743215CF6DD39329C8D34F1ED960C37C9C),
]
SIZES = (0, 1, 2, 3, 4, 5, 6, 8, 10)
WHOLE = 4
MASK = 2**64 - 1


def words(seed):
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = seed
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
        yield z ^ (z >> 31)


def elements(seed, n):
    """In Montgomery form."""
    stream = words(seed)
    for _ in range(n):
        w = [next(stream) for _ in range(4)]
        yield w[0] | w[1] << 64 | w[2] << 128 | w[3] >> 3 << 192


def transform(a, p, root, inverse):
    n = len(a)
    if inverse:
        root = pow(root, -1, p)
    power = [1] * n
    for i in range(1, n):
        power[i] = power[i - 1] * root % p
    scale = pow(n, -1, p) if inverse else 1
    return [scale * sum(a[i] * power[i * k % n] for i in range(n)) % p for k in range(n)]


def show(log2, values):
    data = b"".join(v.to_bytes(32, "little") for v in values)
    return "=" + data.hex() if log2 <= WHOLE else hashlib.sha256(data).hexdigest()


for field, name, order, root in ROOTS:
    p = MODULI[field]
    assert pow(root, 2**order, p) == 1 and pow(root, 2 ** (order - 1), p) == p - 1
    for log2 in SIZES:
        a = list(elements(log2, 1 << log2))
        omega = pow(root, 1 << (order - log2), p)
        for inverse in (False, True):
            # It is linear: the factor of Montgomery form goes through.
            print(field, "inverse" if inverse else "forward", name, "nn", log2, 0,
                  show(log2, transform(a, p, omega, inverse)))
