#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The transforms of standard input, by the definition, with the options of gpuexec ntt."""
import argparse
import sys

# modulus, 2-adicity, default shift, default root of unity of order 2^(2-adicity)
FIELDS = {
    "bls12-381-fr": (0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001, 32, 7,
                     0x16A2A19EDFE81F20D09B681922C813B4B63683508C2280B93829971F439F0D2B),
    "bn254-fr": (0x30644E72E131A029B85045B68181585D2833E84879B9709143E1F593F0000001, 28, 5,
                 0x2A3C09F0A58A7E8500E0A7EB8EF62ABC402D111E41112ED49BD61B6E725B19F0),
}
BYTES = 32
R = 1 << 8 * BYTES


def reverse(i, bits):
    return int(f"{i:0{bits}b}"[::-1], 2) if bits else 0


def transform(x, args, p, root, shift):
    """One transform of 2^(log2 - pad) elements, in the orders of the options."""
    few, many = args.log2 - args.pad, args.log2
    n = 1 << many
    if args.order[0] == "r":
        x = [x[reverse(i, few)] for i in range(1 << few)]
    if args.inverse:
        unit, back = pow(root, -1, p), pow(shift, -1, p)
        out = [sum(v * pow(unit, i * k, p) for i, v in enumerate(x)) for k in range(n)]
        out = [v * pow(n, -1, p) * pow(back, i, p) % p for i, v in enumerate(out)]
    else:
        x = [v * pow(shift, i, p) % p for i, v in enumerate(x)]
        out = [sum(v * pow(root, i * k, p) for i, v in enumerate(x)) % p for k in range(n)]
    if args.order[1] == "r":
        out = [out[reverse(i, many)] for i in range(n)]
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--field", choices=FIELDS)
    parser.add_argument("--log2", type=int)
    parser.add_argument("--pad", type=int, default=0)
    parser.add_argument("--order", default="nn")
    parser.add_argument("--coset")
    parser.add_argument("--root", type=lambda text: int(text, 0))
    for flag in ("inverse", "columns", "plain"):
        parser.add_argument("--" + flag, action="store_true")
    args = parser.parse_args()
    p, adicity, shift, root = FIELDS[args.field]
    root = args.root or pow(root, 1 << adicity - args.log2, p)
    shift = 1 if not args.coset else shift if args.coset == "default" else int(args.coset, 0)
    data, size = sys.stdin.buffer.read(), 1 << args.log2 - args.pad
    scale = 1 if args.plain else pow(R, -1, p)
    x = [int.from_bytes(data[i:i + BYTES], "little") * scale % p
         for i in range(0, len(data), BYTES)]
    batch = len(x) // size
    parts = [x[t::batch] if args.columns else x[t * size:(t + 1) * size] for t in range(batch)]
    done = [transform(part, args, p, root, shift) for part in parts]
    flat = [v for row in (zip(*done) if args.columns else done) for v in row]
    for v in flat:
        sys.stdout.buffer.write((v * pow(scale, -1, p) % p).to_bytes(BYTES, "little"))


main()
