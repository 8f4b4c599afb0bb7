# SPDX-License-Identifier: Apache-2.0
"""What C allows and this package does not."""

import gc
import mmap
import os
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest
from conftest import Gate

import gpuexec as gx

Fr = gx.BLS12_381_FR


# ---- use after free


def test_use_after_close(cpu: gx.Context) -> None:
    domain, buffer = cpu.domain(Fr, 3), cpu.buffer(64)
    points = cpu.points(gx.BLS12_381_G1, [gx.BLS12_381_G1.generator])
    jobs = [
        gx.Job("neg", Fr, buffer),
        gx.Job.ntt(domain, Fr.random(8)),
        gx.Job.msm(points, [1]),
    ]
    for thing in (domain, buffer, points):
        thing.close()
        thing.close()
        assert thing.closed
    for job in jobs:
        with pytest.raises(gx.ClosedError):
            cpu.run(job)
        with pytest.raises(gx.ClosedError):
            cpu.submit(job)
    uses: list[Any] = [
        lambda: buffer.write(bytes(64)),
        lambda: buffer.read(Fr),
        lambda: gx.Job("neg", Fr, buffer),
        lambda: gx.Job.ntt(domain, Fr.random(8)),
        lambda: gx.Job.msm(points, [1]),
        lambda: domain.root(),
        lambda: points.read(),
    ]
    for use in uses:
        with pytest.raises(gx.ClosedError):
            use()


def test_use_after_context(cpu: gx.Context) -> None:
    domain, buffer = cpu.domain(Fr, 3), cpu.buffer(64)
    a = Fr.random(2)
    cpu.add(Fr, a, a)
    ticket = cpu.submit(gx.Job("add", Fr, [1], [2]))
    cpu.close()
    assert domain.closed
    assert buffer.closed
    assert Fr.decode(ticket.result()) == [3]
    uses: list[Any] = [
        lambda: cpu.add(Fr, [1], [2]),
        lambda: cpu.add(Fr, a, a),
        lambda: cpu.submit(gx.Job("neg", Fr, [1])),
        lambda: cpu.devices(),
        lambda: cpu.buffer(8),
        lambda: cpu.domain(Fr, 3),
        lambda: cpu.stats(),
        lambda: cpu.cancel_all(),
        lambda: cpu.multiply(gx.BN254_G1, [1]),
        lambda: cpu.points(gx.BN254_G1, []),
        lambda: buffer.read(Fr),
    ]
    for use in uses:
        with pytest.raises(gx.ClosedError):
            use()
    cpu.close()


def test_close_waits_for_tickets(gate: Gate) -> None:
    a = Fr.random(4)
    buffer = gate.context.buffer(a, device="ref")
    gate.shut()
    ticket = gate.submit(gx.Job("neg", Fr, buffer))
    gate.open_soon()
    buffer.close()
    assert ticket.done()
    assert Fr.decode(ticket.result()) == [-x % Fr.modulus for x in Fr.decode(a)]


def test_close_during_a_call_of_another_thread(gate: Gate) -> None:
    """Refused, not a crash: the call goes on."""
    thread = threading.Thread(target=gate.shut, args=(False,))
    thread.start()
    gate.wait_until_inside()
    with pytest.raises(gx.InUseError):
        gate.context.close()
    gate.open()
    thread.join()
    assert Fr.decode(gate.context.add(Fr, [1], [2])) == [3]


def test_children_outlive_the_name_of_their_context() -> None:
    buffer = gx.Context("cpu", cache_dir="none").buffer(b"x" * 32)
    gc.collect()
    out = bytearray(32)
    buffer.read_into(out)
    assert out == b"x" * 32


# ---- memory freed or moved while a ticket runs


def test_array_collected_while_a_ticket_runs(gate: Gate) -> None:
    a, out = Fr.random(4096, seed=3), bytearray(4096 * 32)
    expected = gate.context.compute("neg", Fr, a).tobytes()
    alive = weakref.ref(a)
    gate.shut()
    ticket = gate.submit(gx.Job("neg", Fr, a, out=out))
    del a
    gc.collect()
    assert alive() is not None
    gate.open()
    ticket.wait()
    assert out == expected
    del ticket
    gc.collect()
    assert alive() is None


def test_ticket_collected_while_it_runs(gate: Gate) -> None:
    a, out = Fr.random(4096, seed=3), bytearray(4096 * 32)
    expected = gate.context.compute("neg", Fr, a).tobytes()
    alive = weakref.ref(a)
    gate.shut()
    ticket = gate.submit(gx.Job("neg", Fr, a, out=out))
    gone = weakref.ref(ticket)
    del a, ticket
    gc.collect()
    assert alive() is not None
    gate.open_soon()
    gate.context.close()
    assert out == expected
    gc.collect()
    assert alive() is None
    assert gone() is None


def test_finished_tickets_are_let_go(cpu: gx.Context) -> None:
    alive = []
    for _ in range(50):
        a = Fr.random(2)
        alive.append(weakref.ref(a))
        cpu.submit(gx.Job("neg", Fr, a))
        del a
    while cpu.stats()["tickets_done"] != 50:
        time.sleep(0.001)
    cpu.submit(gx.Job("neg", Fr, [1])).wait()
    gc.collect()
    assert not any(x() is not None for x in alive)


def test_resize_while_a_ticket_runs(gate: Gate) -> None:
    owner = Fr.random(8)
    part = owner[2:6]
    array = bytearray(4 * 32)
    mapped = mmap.mmap(-1, 4 * 32)
    gate.shut()
    tickets = [
        gate.submit(gx.Job("neg", Fr, part, out=array)),
        gate.submit(gx.Job("neg", Fr, memoryview(mapped))),
    ]
    for refcheck in (True, False):
        with pytest.raises(ValueError, match="resize"):
            owner.resize((1 << 20, 4), refcheck=refcheck)
    with pytest.raises(BufferError):
        array.extend(b"more")
    with pytest.raises(BufferError):
        mapped.close()
    gate.open()
    for ticket in tickets:
        ticket.wait()
    assert Fr.decode(array) == [-x % Fr.modulus for x in Fr.decode(owner[2:6])]
    del tickets, ticket
    array.extend(b"more")
    mapped.close()


# ---- two writers


def test_conflicts_with_a_ticket(gate: Gate) -> None:
    cpu = gate.context
    a, b, out = Fr.random(8), Fr.random(8), Fr.random(8)
    buffer = cpu.buffer(8 * 32, device="ref")
    gate.shut()
    first = gate.submit(gx.Job("neg", Fr, a, out=out))
    second = gate.submit(gx.Job("neg", Fr, a, out=buffer))
    refused: list[Any] = [
        lambda: cpu.compute("neg", Fr, a, out=out),
        lambda: cpu.compute("neg", Fr, a[5:], out=out[5:]),
        lambda: cpu.mul(Fr, out[:1], 2),
        lambda: cpu.compute("neg", Fr, out),
        lambda: cpu.compute("neg", Fr, out, out=a),
        lambda: cpu.submit(gx.Job("neg", Fr, out[7:])),
        lambda: cpu.mul(Fr, [1] * 8, 2, out=a),  # it is being read
        lambda: cpu.mul(Fr, b, b, out=out),
        lambda: cpu.mul(Fr, b, b, out=a),
        lambda: cpu.mul(Fr, out, b),
        lambda: cpu.mul(Fr, b[3:], out[3:]),
        lambda: buffer.write(bytes(256)),
        lambda: buffer.read(Fr),
        lambda: buffer.read_into(bytearray(1), 255),
        lambda: cpu.submit(gx.Job("neg", Fr, a, out=buffer), device="ref"),
    ]
    for use in refused:
        with pytest.raises(gx.InUseError):
            use()
    cpu.compute("neg", Fr, a)  # two readers are fine
    cpu.mul(Fr, a, a)
    gate.open()
    first.wait()
    second.wait()
    for use in refused:
        result = use()
        if isinstance(result, gx.Ticket):
            result.wait()


def test_conflicts_with_a_call(gate: Gate) -> None:
    """That of another thread, on arrays, which has not returned."""
    cpu = gate.context
    a, b, out = Fr.random(4), Fr.random(4), Fr.random(4)
    a[2] = 2**64 - 1
    expected = cpu.add(Fr, b, b)
    failed: list[gx.NotCanonicalError] = []

    def work() -> None:
        try:
            cpu.add(Fr, b, a, out=out, device="ref")
        except gx.NotCanonicalError as e:
            failed.append(e)

    gate.arm()
    thread = threading.Thread(target=work)
    thread.start()
    gate.wait_until_inside()
    refused: list[Any] = [
        lambda: cpu.add(Fr, b, b, out=out),
        lambda: cpu.add(Fr, b[3:], b[3:], out=out[3:]),
        lambda: cpu.add(Fr, b[3:], b[3:], out=a[:1]),
        lambda: cpu.sum(Fr, out),
        lambda: cpu.submit(gx.Job("neg", Fr, out)),
    ]
    for use in refused:
        with pytest.raises(gx.InUseError):
            use()
    for array in (a, b, out):
        with pytest.raises(ValueError, match="resize"):
            array.resize((1 << 20, 4), refcheck=False)
    assert np.array_equal(cpu.add(Fr, b, b), expected)
    gate.open()
    thread.join()
    assert [(e.operand, e.index) for e in failed] == [("b", 2)]
    assert np.array_equal(cpu.add(Fr, b, b, out=out), expected)


def test_calls_let_go_of_arrays(cpu: gx.Context) -> None:
    alive = []
    for bad in (False, True, False):
        a, b = Fr.random(2), Fr.random(2)
        if bad:
            b[1] = 2**64 - 1
            with pytest.raises(gx.NotCanonicalError):
                cpu.add(Fr, a, b)
        else:
            alive.append(weakref.ref(cpu.add(Fr, a, b)))
        alive += [weakref.ref(a), weakref.ref(b)]
        del a, b
    assert not any(x() is not None for x in alive)


def test_finished_tickets_do_not_conflict(cpu: gx.Context) -> None:
    """Even if nobody has waited for them."""
    out = Fr.random(2)
    for _ in range(20):
        cpu.submit(gx.Job("neg", Fr, [1, 2], out=out))
        while cpu.stats()["jobs_waiting"]:
            pass
    cpu.compute("neg", Fr, [1, 2], out=out)


def test_two_threads_write_one_buffer(cpu: gx.Context) -> None:
    """Each call is refused or done as a whole."""
    n = 1 << 14
    inputs = [Fr.random(n, seed=i) for i in range(2)]
    expected = [cpu.mul(Fr, a, a) for a in inputs]
    out = np.empty_like(inputs[0])
    buffer = cpu.buffer(n * 32)
    counts = {"done": 0, "refused": 0}
    barrier = threading.Barrier(2)
    wrong: list[object] = []

    def work(i: int) -> None:
        barrier.wait()
        for target in (out, buffer):
            for _ in range(100):
                try:
                    cpu.mul(Fr, inputs[i], inputs[i], out=target)
                    counts["done"] += 1
                except gx.InUseError:
                    counts["refused"] += 1
                except BaseException as e:
                    wrong.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sum(counts.values()) == 400
    assert counts["done"] >= 2
    for found in (out, buffer.read(Fr)):
        assert any(np.array_equal(found, x) for x in expected)


# ---- wrong lengths and types


def test_wrong_lengths(cpu: gx.Context) -> None:
    a = Fr.random(8)
    buffer = cpu.buffer(8 * 32)
    wrong: list[Any] = [
        lambda: cpu.mul(Fr, a, a[:7]),
        lambda: cpu.mul(Fr, a, a[:1]),  # one row is not one element for all
        lambda: cpu.mul(Fr, a, a.tobytes()[:-32]),
        lambda: cpu.mul(Fr, a, b"x" * 31),
        lambda: cpu.mul(Fr, a, a, out=np.empty((7, 4), np.uint64)),
        lambda: cpu.mul(Fr, a, a, out=np.empty((9, 4), np.uint64)),
        lambda: cpu.mul(Fr, a, buffer[: 7 * 32]),
        lambda: cpu.mul(Fr, a, a, out=buffer[: 7 * 32]),
        lambda: cpu.sum(Fr, a, out=np.empty((2, 4), np.uint64)),
        lambda: cpu.compute("evaluate", Fr, a, a),
        lambda: cpu.compute("gather", Fr, a, [0], count=9),
        lambda: cpu.compute("interleave", Fr, a, count=3),
        lambda: cpu.compute("powers", Fr, 3),
        lambda: cpu.compute("mul", Fr, a),
        lambda: cpu.compute("neg", Fr, a, a),
    ]
    for use in wrong:
        with pytest.raises(gx.InvalidError):
            use()


def test_wrong_types(cpu: Any) -> None:  # the types say so, too
    a = Fr.random(8)
    fixed = a.copy()
    fixed.flags.writeable = False
    wrong: list[Any] = [
        lambda: cpu.mul(Fr, a.astype(np.int64), a),
        lambda: cpu.mul(Fr, a.astype(">u8"), a),
        lambda: cpu.mul(Fr, a.astype(np.float64), a),
        lambda: cpu.mul(Fr, gx.BLS12_381_FQ.random(8), a),
        lambda: cpu.mul(Fr, a[::2], a[:4]),
        lambda: cpu.mul(Fr, np.asfortranarray(a), a),
        lambda: cpu.mul(Fr, a, a, out=fixed),
        lambda: cpu.mul(Fr, a[::2], a[::2]),
        lambda: cpu.mul(Fr, a[:4], a[:4], out=a[::2]),
        lambda: cpu.mul(Fr, a, a, out=a.view(np.int64)),
        lambda: cpu.mul(Fr, a[:, :3], a[:, :3]),
        lambda: cpu.mul(Fr, np.uint64(1), np.uint64(1), out=a[0, 0, ...]),
        lambda: cpu.mul(Fr, a, a, out=a.tobytes()),
        lambda: cpu.mul(Fr, a, a, out=[0] * 8),
        lambda: cpu.mul(Fr, a, "12345678"),
        lambda: cpu.mul(Fr, a, None),
        lambda: cpu.mul(Fr, a, object()),
        lambda: cpu.buffer(a[::2]),
        lambda: cpu.buffer("12345678"),
        lambda: cpu.buffer(np.int64(-1)),
    ]
    for use in wrong:
        with pytest.raises(gx.InvalidError):
            use()
    assert cpu.buffer(np.int64(64)).nbytes == 64  # a size, though it also is memory of 8 bytes
    cpu.mul(Fr, fixed, fixed)


# ---- callbacks


def test_exception_in_the_log_function(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: seen.append(args.exc_value))
    lines: list[tuple[str, str]] = []

    def log(level: str, message: str) -> None:
        lines.append((level, message))
        raise RuntimeError("no")

    with gx.Context("cpu", cache_dir="none", log=log) as ctx:
        with pytest.raises(gx.NotCanonicalError):
            ctx.compute("neg", Fr, b"\xff" * 32)
        ticket = ctx.submit(gx.Job("neg", Fr, b"\xff" * 32))
        with pytest.raises(gx.NotCanonicalError):
            ticket.wait()
    assert lines
    assert lines[0][0] in ("error", "warning", "info")
    assert [type(e) for e in seen] == [RuntimeError] * len(lines)


def test_log_function_uses_the_context() -> None:
    refused: list[gx.InvalidError] = []
    keep: list[Any] = []
    a = Fr.random(2)

    def log(level: str, message: str) -> None:
        keep.clear()  # the last reference to a buffer: it is freed after the callback
        for use in (
            lambda: ctx.mul(Fr, [1], [2]),
            lambda: ctx.mul(Fr, a, a),
            ctx.close,
            ctx.devices,
        ):
            try:
                use()
            except gx.InvalidError as e:
                refused.append(e)

    with gx.Context("cpu", cache_dir="none", log=log) as ctx:
        keep.append(ctx.buffer(64))
        with pytest.raises(gx.NotCanonicalError):
            ctx.compute("neg", Fr, b"\xff" * 32)
        assert len(refused) >= 4
        assert len(refused) % 4 == 0
        assert Fr.decode(ctx.mul(Fr, [1], [2])) == [2]


# ---- the interpreter


def test_gil_is_released(cpu: gx.Context) -> None:
    """This thread runs in the middle of another one's call."""
    job = gx.Job("inv", gx.BLS12_381_FQ, gx.BLS12_381_FQ.random(2048, seed=1))
    times: list[float] = []
    done = threading.Event()

    def work() -> None:
        times.append(time.monotonic())
        cpu.run(job, device="ref")
        times.append(time.monotonic())
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    ticks = []
    while not done.is_set():
        ticks.append(time.monotonic())
    thread.join()
    start, end = times
    quarter = (end - start) / 4
    assert any(start + quarter < tick < end - quarter for tick in ticks)


def run_python(code: str) -> str:
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": os.path.dirname(__file__)},
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def test_exit_with_work_in_flight() -> None:
    run_python(
        "import gpuexec as gx\nfrom support import slow\n"
        "ctx = gx.Context('cpu', cache_dir='none', log=print)\n"
        "tickets = [slow(ctx, 100) for _ in range(3)]\n"
    )


def test_fork() -> None:
    out = run_python(
        "import gpuexec as gx, os\nfrom support import slow\n"
        "ctx = gx.Context('cpu', cache_dir='none')\n"
        "buffer = ctx.buffer(64)\n"
        "done = ctx.submit(gx.Job('add', gx.BN254_FR, [1], [2])); done.wait()\n"
        "ticket = slow(ctx)\n"
        "pid = os.fork()\n"
        "if not pid:\n"
        "    for use in (ctx.devices, lambda: buffer.write(b'x'), ticket.wait):\n"
        "        try: use()\n"
        "        except gx.Error as e: print('refused')\n"
        "    with gx.Context('cpu', cache_dir='none') as own:\n"
        "        print(gx.BN254_FR.decode(own.mul(gx.BN254_FR, [2], [3])), flush=True)\n"
        "else:\n"
        "    assert os.waitpid(pid, 0)[1] == 0\n"
        "    ticket.wait()\n"
    )
    assert out.splitlines() == ["refused"] * 3 + ["[6]"]
