# SPDX-License-Identifier: Apache-2.0
"""gpuexec beside what Python programs use today, in turns, and the overhead of a call over C.

bench.py [--threads N] [--turns N] [--msm LOG2] [--ntt LOG2] [--prefix PREFIX]

Needs py_arkworks_bls12381, and a C compiler for the overhead. The peers have one thread: the wheel
of py_arkworks_bls12381 is built without more. So gpuexec runs with one thread too, and beside that
with as many as there are. Python has no compiled transform of these fields; the peer there is numpy
on arrays of integers. Every result is compared.
"""

import argparse
import importlib.metadata
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("--turns", type=int, default=7)
parser.add_argument("--msm", type=int, default=16)
parser.add_argument("--ntt", type=int, default=20)
parser.add_argument("--prefix", default=os.environ.get("GPUEXEC_PREFIX"))
args = parser.parse_args()

import numpy as np  # noqa: E402
import py_arkworks_bls12381 as ark  # noqa: E402
from cffi import FFI  # noqa: E402

import gpuexec as gx  # noqa: E402
from gpuexec._lib import ffi, lib  # noqa: E402

Fr, G1 = gx.BLS12_381_FR, gx.BLS12_381_G1

LOOP = """
#include <stdint.h>
#include <time.h>
#include <gpuexec.h>

typedef gx_status (*run_fn)(gx_ctx *, const gx_job *, size_t, const gx_run_params *, gx_report *);

/* ns for `count` calls */
uint64_t loop(run_fn run, gx_ctx *ctx, const gx_job *job, uint64_t count)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (uint64_t i = 0; i < count; i++) {
        gx_report report = {.struct_size = sizeof report};
        if (run(ctx, job, 1, NULL, &report) != GX_OK)
            return 0;
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (to.tv_sec - from.tv_sec) * 1000000000ull + to.tv_nsec - from.tv_nsec;
}
"""


def turns(count: int, **calls: Callable[[], float]) -> dict[str, list[float]]:
    """What each call measures, one after the other, so many times; the first turn warms up."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(count + 1):
        for name, call in calls.items():
            value = call()
            if turn:
                times[name].append(value)
    return times


def table(
    times: dict[str, list[float]], labels: dict[str, str], compare: Callable[[float, float], str]
) -> None:
    """Median and range of each, and how it compares with the first."""
    base = statistics.median(next(iter(times.values())))
    for i, (name, x) in enumerate(times.items()):
        middle = statistics.median(x)
        line = f"  {labels[name]:30} {middle:10.2f}   {min(x):.2f} to {max(x):.2f}"
        print(line + (f"   {compare(base, middle)}" if i else ""))


def timed(call: Callable[[], Any], check: Callable[[Any], None]) -> Callable[[], float]:
    """ms, and the result is right."""

    def measure() -> float:
        start = time.perf_counter()
        result = call()
        elapsed = time.perf_counter() - start
        check(result)
        return elapsed * 1e3

    return measure


def overhead(ctx: gx.Context) -> None:
    """n = 1 add on cpu: the same job by a loop in C, in this process, and through the package."""
    a, b, out = Fr.random(1), Fr.random(1), Fr.random(1)
    job = gx.Job("add", Fr, a, b, out=out)
    count = 20_000
    with tempfile.TemporaryDirectory() as folder:
        source, shared = Path(folder, "loop.c"), Path(folder, "loop.so")
        source.write_text(LOOP)
        command = ["cc", "-O2", "-shared", "-fPIC", f"-I{args.prefix}/include", str(source)]
        subprocess.run([*command, "-o", str(shared)], check=True)
        ours = FFI()
        ours.cdef("uint64_t loop(void *run, void *ctx, const void *job, uint64_t count);")
        helper = ours.dlopen(str(shared))

    def pointer(x: Any) -> Any:
        return ours.cast("void *", int(ffi.cast("uintptr_t", x)))

    run = pointer(ffi.addressof(lib, "gx_run"))

    def in_c() -> float:
        return int(helper.loop(run, pointer(ctx._ptr), pointer(job._c), count)) / count / 1e3

    def python(call: Callable[[], Any]) -> Callable[[], float]:
        def measure() -> float:
            start = time.perf_counter_ns()
            for _ in range(count):
                call()
            return (time.perf_counter_ns() - start) / count / 1e3

        return measure

    times = turns(
        args.turns,
        c=in_c,
        add=python(lambda: ctx.add(Fr, a, b, out=out)),
        new=python(lambda: ctx.add(Fr, a, b)),
        run=python(lambda: ctx.run(job)),
    )
    print("\nOne call, add of one element of BLS12-381 Fr on cpu, us (median, range), and over C:")
    labels = {
        "c": "gx_run in a C loop",
        "add": "ctx.add(Fr, a, b, out=out)",
        "new": "ctx.add(Fr, a, b)",
        "run": "ctx.run(job), job kept",
    }
    table(times, labels, lambda base, x: f"+{x - base:.2f}")


def msm(one: gx.Context, ctx: gx.Context) -> None:
    """Beside arkworks."""
    n = 1 << args.msm
    rng = random.Random(1)
    logs = [rng.randrange(1, Fr.modulus) for _ in range(n)]
    integers = [rng.randrange(Fr.modulus) for _ in range(n)]
    compressed = ctx.multiply(G1, logs, form="compressed")
    few, points = (x.points(G1, compressed, form="compressed") for x in (one, ctx))
    scalars = Fr.encode(integers)
    theirs = [ark.G1Point.from_compressed_bytes_unchecked(x.tobytes()) for x in compressed]
    factors = [ark.Scalar(x) for x in integers]
    total = sum(map(lambda x, y: x * y, logs, integers)) % Fr.modulus
    expected = ctx.multiply(G1, [total], form="compressed").tobytes()

    def same(x: Any) -> None:
        assert x.tobytes() == expected

    def same_ark(x: Any) -> None:
        assert bytes(x.to_compressed_bytes()) == expected

    times = turns(
        args.turns,
        ark=timed(lambda: ark.G1Point.multiexp_unchecked(theirs, factors), same_ark),
        one=timed(lambda: one.msm(few, scalars, form="compressed"), same),
        integers=timed(lambda: one.msm(few, integers, form="compressed"), same),
        all=timed(lambda: ctx.msm(points, scalars, form="compressed"), same),
    )
    print(f"\nMSM, BLS12-381 G1, 2^{args.msm}, cpu, ms (median, range):")
    labels = {
        "ark": "py_arkworks_bls12381, 1 thread",
        "one": "gpuexec, 1 thread, array",
        "integers": "gpuexec, 1 thread, integers",
        "all": f"gpuexec, {args.threads} threads, array",
    }
    table(times, labels, lambda base, x: f"{base / x:.1f}x")


def numpy_ntt(x: Any, w: int, p: int) -> Any:
    """Decimation in frequency on an array of integers, then natural order."""
    n = len(x)
    roots = np.empty(max(n // 2, 1), dtype=object)
    power = 1
    for i in range(len(roots)):
        roots[i] = power
        power = power * w % p
    half = n // 2
    while half:
        blocks = x.reshape(-1, 2, half)
        low, high = blocks[:, 0], blocks[:, 1]
        twiddles = roots[:: n // 2 // half]
        x = np.stack([(low + high) % p, (low - high) * twiddles % p], axis=1).reshape(-1)
        half //= 2
    bits = n.bit_length() - 1
    order = np.zeros(n, dtype=np.int64)
    for bit in range(bits):
        order |= (np.arange(n) >> bit & 1) << (bits - 1 - bit)
    return x[order]


def ntt(one: gx.Context, ctx: gx.Context) -> None:
    """Beside numpy."""
    n = 1 << args.ntt
    a = Fr.random(n, seed=1)
    integers = np.array(Fr.decode(a), dtype=object)
    few, domain = (x.domain(Fr, args.ntt) for x in (one, ctx))
    w = domain.root()
    values = np.empty_like(a)
    expected = ctx.ntt(domain, a)

    def same(x: Any) -> None:
        assert np.array_equal(x, expected)

    def same_integers(x: Any) -> None:
        assert np.array_equal(Fr.encode(x), expected)

    times = turns(
        args.turns,
        numpy=timed(lambda: numpy_ntt(integers, w, Fr.modulus), same_integers),
        one=timed(lambda: one.ntt(few, a, out=values), same),
        integers=timed(lambda: one.ntt(few, integers), same),
        all=timed(lambda: ctx.ntt(domain, a, out=values), same),
    )
    print(f"\nNTT, BLS12-381 Fr, 2^{args.ntt}, cpu, ms (median, range):")
    labels = {
        "numpy": "numpy, 1 thread, integers",
        "one": "gpuexec, 1 thread, array",
        "integers": "gpuexec, 1 thread, integers",
        "all": f"gpuexec, {args.threads} threads, array",
    }
    table(times, labels, lambda base, x: f"{base / x:.1f}x")


print("$ bindings/python/bench.py", *sys.argv[1:])
names = ("numpy", "cffi", "py_arkworks_bls12381")
versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
print(f"gpuexec {gx.__version__}, Python {platform.python_version()}, {versions}")
with (
    gx.Context("cpu", threads=1, cache_dir="none") as single,
    gx.Context("cpu", threads=args.threads, cache_dir="none") as context,
):
    print(f"{context.devices()[0].description}; {args.turns} turns")
    overhead(context)
    msm(single, context)
    ntt(single, context)
