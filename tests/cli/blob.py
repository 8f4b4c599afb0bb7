#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/blob.c with a setup whose secret is known: the commitment to a polynomial p must be
p(secret) times the generator, by msm.py, and what c-kzg-4844 2.1 gave for the same two files.

usage: blob.py GPUEXEC BLOB"""
import os
import subprocess
import sys
import tempfile

R = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
BITS, SECRET = 12, 0x123456789ABCDEF0FEDCBA9876543210DEADBEEF
N = 1 << BITS
ROOT = pow(7, (R - 1) // N, R)
COEFFICIENTS = {0: 3, 1: R - 5, 77: 1 << 200, N - 1: 11}
GENERATOR = bytes.fromhex(
    "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb")
COMMITMENT = (
    "90644ca9fd25dd4f3de5cf2f1ea92ab6322468185e421786ce7d27ae6e5edc65ac575fa827f324dcb84b7ee80a13eabc")
GPUEXEC, BLOB = (os.path.abspath(path) for path in sys.argv[1:])
ORACLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "msm.py")


def value(x):
    return sum(c * pow(x, i, R) for i, c in COEFFICIENTS.items()) % R


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def scalars(numbers):
    return b"".join(n.to_bytes(32, "little") for n in numbers)


def generator(*form):
    return ["msm", "--curve", "bls12-381-g1", "--points", "g.bin", "--point-form", "zcash-48", *form]


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout, done.stderr.decode()


def lagrange():
    """The values at the secret of the polynomials that are 1 at one power of the root."""
    top = (pow(SECRET, N, R) - 1) * pow(N, -1, R)
    powers = [pow(ROOT, i, R) for i in range(N)]
    return [top * x * pow(SECRET - x, -1, R) % R for x in powers]


def make_setup():
    write("g.bin", GENERATOR)
    write("lagrange.bin", scalars(lagrange()))
    code, lines, said = run(GPUEXEC, *generator("--scalars", "lagrange.bin"))
    assert code == 0, said
    write("setup.txt", b"4096\n65\n" + lines)


def make_blob():
    places = [int(f"{i:0{BITS}b}"[::-1], 2) for i in range(N)]
    write("blob.bin", b"".join(value(pow(ROOT, i, R)).to_bytes(32, "big") for i in places))


def expected():
    write("one.bin", scalars([1]))
    run(GPUEXEC, *generator("--scalars", "one.bin", "--result-form", "xy-plain", "-o", "xy.bin"))
    write("value.bin", scalars([value(SECRET)]))
    return run(sys.executable, ORACLE, "bls12-381-g1", "xy.bin", "value.bin", "zcash-48")[1].hex()


def recipe():
    """The files that the example says how to make, by its own commands."""
    with open(os.path.join(os.path.dirname(ORACLE), "../../examples/blob.c"), encoding="utf-8") as file:
        comment = file.read().split("*/")[0]
    commands = [line[5:] for line in comment.split("For a try")[1].splitlines() if line.startswith(" *   ")]
    assert len(commands) == 4 and commands[-1].startswith("./blob "), commands
    commands[-1] = BLOB + commands[-1][len("./blob"):]
    path = os.path.dirname(GPUEXEC) + os.pathsep + os.environ["PATH"]
    done = subprocess.run(["bash", "-ec", "\n".join(commands)], capture_output=True, check=False,
                          env=os.environ | {"PATH": path})
    assert done.returncode == 0 and len(bytes.fromhex(done.stdout.decode())) == 48, done


def refused(what, setup, blob):
    code, out, said = run(BLOB, setup, blob)
    assert code == 1 and not out and what in said, (what, code, said)


def main():
    recipe()
    make_setup()
    make_blob()
    code, out, said = run(BLOB, "setup.txt", "blob.bin")
    assert code == 0, said
    assert out.decode().strip() == expected() == COMMITMENT, (out, expected())
    with open("blob.bin", "rb") as file:
        blob = file.read()
    with open("setup.txt", "rb") as file:
        setup = file.read()
    write("bad.bin", blob[:64] + R.to_bytes(32, "big") + blob[96:])
    refused("element 2 ", "setup.txt", "bad.bin")
    write("bad.bin", blob[:-1])
    refused("131072", "setup.txt", "bad.bin")
    write("bad.txt", setup[:-4])
    refused("not a setup", "bad.txt", "blob.bin")
    lines = setup.split(b"\n")
    lines[7] = b"80" + b"0" * 93 + b"4"
    write("bad.txt", b"\n".join(lines))
    refused("point 5", "bad.txt", "blob.bin")
    print("as expected")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        main()
