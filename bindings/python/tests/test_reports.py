# SPDX-License-Identifier: Apache-2.0
"""Devices, buffers, reports and counters."""

import os
import pickle
from pathlib import Path

import pytest

import gpuexec as gx

Fr = gx.BLS12_381_FR


def test_devices(cpu: gx.Context) -> None:
    devices = {d.name: d for d in cpu.devices()}
    assert devices["cpu"].usable
    assert devices["cpu"].automatic
    assert devices["cpu"].threads >= 1
    assert devices["ref"].kind == "reference"


def test_wheel_has_wgpu_native() -> None:
    prefix, place = Path(os.environ["GPUEXEC_PREFIX"]), "gpuexec/libwgpu_native.so"
    if not list(prefix.glob(f"lib*/**/{place}")):
        pytest.skip("it is not installed with the library")
    assert (Path(gx.__file__).parent / place).exists()
    with gx.Context(cache_dir="none") as ctx:
        found = [d for d in ctx.devices() if d.kind == "webgpu"]
    # Or there is no driver below it, which it says itself.
    assert found
    assert all(d.usable or "adapter" in d.description for d in found)


def test_report(ctx: gx.Context) -> None:
    (report,) = ctx.run(gx.Job("mul", Fr, Fr.random(1000), Fr.random(1000)), device="cpu")
    assert report.status is gx.Status.OK
    assert (report.device, report.reason) == ("cpu", "asked")
    assert report.total_ns > 0
    assert report.candidates == ()
    assert "cpu" in repr(report)
    assert ctx.run() == []


def test_candidates() -> None:
    with gx.Context(cache_dir="none") as ctx:
        (report,) = ctx.run(gx.Job("mul", Fr, Fr.random(9), 2), candidates=True)
        if report.reason != "only":
            assert report.device in [c.device for c in report.candidates]


def test_estimate(cpu: gx.Context) -> None:
    job = gx.Job("mul", Fr, Fr.random(1000), 2)
    before = job.out.copy()
    plan = cpu.estimate(job, device="cpu")
    assert plan.device == "cpu"
    assert (job.out == before).all()


def test_counters(cpu: gx.Context) -> None:
    cpu.mul(Fr, [1, 2, 3], 4)
    stats = cpu.stats()
    assert stats["jobs_done"] == 1
    assert stats["elements"] == 3
    assert stats["pool_blocks_4096"] >= 0
    assert "# TYPE gpuexec_" in cpu.metrics()


def test_buffer(ctx: gx.Context) -> None:
    a = Fr.random(8)
    with ctx.buffer(8 * 32) as buffer:
        assert buffer.nbytes == 256
        buffer.write(a)
        assert (buffer.read(Fr) == a).all()
        buffer.write(a[:2], 6 * 32)
        assert (buffer.read(Fr, 6 * 32) == a[:2]).all()
        out = bytearray(32)
        buffer.read_into(out, 32)
        assert Fr.decode(out) == Fr.decode(a[1])
        half = ctx.mul(Fr, buffer[:128], buffer[128:])
        assert (half == ctx.mul(Fr, a[:4], [*Fr.decode(a[4:6]), *Fr.decode(a[:2])])).all()
        with pytest.raises(gx.InvalidError):
            buffer.write(a, 1)
        with pytest.raises(gx.InvalidError):
            buffer.read_into(out, -1)
        with pytest.raises(gx.InvalidError):
            buffer[::2]
        with pytest.raises(gx.InvalidError, match="bytes are not elements"):
            ctx.mul(Fr, buffer[:33], 2)


def test_values_pickle() -> None:
    for x in (*gx.FIELDS, *gx.CURVES):
        assert pickle.loads(pickle.dumps(x)) is x
        assert eval(repr(x), {"gpuexec": gx}) is x
