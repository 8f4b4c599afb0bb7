# SPDX-License-Identifier: Apache-2.0
"""Submitted work: waiting, cancelling, event loops."""

import asyncio
import signal
import threading

import pytest
from conftest import Gate
from support import slow

import gpuexec as gx

Fr = gx.BLS12_381_FR


def test_result(ctx: gx.Context) -> None:
    ticket = ctx.submit(gx.Job("add", Fr, [1, 2], [3, 4]))
    assert Fr.decode(ticket.result()) == [4, 6]
    assert ticket.done()
    (report,) = ticket.wait(0)
    assert report.status is gx.Status.OK
    both = ctx.submit(gx.Job("add", Fr, [1], [3]), gx.Job("mul", Fr, [2], [3]))
    assert [Fr.decode(x) for x in both.result()] == [[4], [6]]


def test_failure(ctx: gx.Context) -> None:
    bad = Fr.random(3)
    bad[2] = 2**64 - 1
    ticket = ctx.submit(gx.Job("neg", Fr, Fr.random(2)), gx.Job("neg", Fr, bad))
    for _ in range(2):
        with pytest.raises(gx.NotCanonicalError) as caught:
            ticket.wait()
        assert (caught.value.job, caught.value.index) == (1, 2)


def test_timeout_and_cancel(gate: Gate) -> None:
    gate.shut()
    first, second = (gate.submit(gx.Job("neg", Fr, [1])) for _ in range(2))
    with pytest.raises(TimeoutError):
        second.wait(0.001)
    with pytest.raises(TimeoutError):
        gx.wait_any([first, second], 0.001)
    second.cancel()
    with pytest.raises(gx.CancelledError):
        second.wait()
    gate.open()
    assert Fr.decode(first.result()) == [Fr.modulus - 1]


def test_wait_any(gate: Gate) -> None:
    gate.shut()
    first = gate.submit(gx.Job("neg", Fr, [1]))
    quick = gate.context.submit(gx.Job("neg", Fr, [1]))
    assert gx.wait_any([first, quick]) is quick
    gate.open()
    assert gx.wait_any([first]) is first
    with pytest.raises(gx.InvalidError):
        gx.wait_any([])


def test_await(cpu: gx.Context) -> None:
    async def main() -> None:
        tickets = [cpu.submit(gx.Job("mul", Fr, Fr.random(1 << 12), 2)) for _ in range(8)]

        async def wait(ticket: gx.Ticket) -> object:
            return await ticket

        twice = await asyncio.gather(*map(wait, tickets + tickets))
        assert all(x is t.jobs[0].out for x, t in zip(twice, tickets + tickets, strict=True))
        bad = cpu.submit(gx.Job("neg", Fr, b"\xff" * 32))
        with pytest.raises(gx.NotCanonicalError):
            await bad

    asyncio.run(main())


def test_await_in_two_loops(gate: Gate) -> None:
    """One of which has given up, and is closed when the ticket is done."""
    gate.shut()
    ticket = gate.submit(gx.Job("add", Fr, [1], [2]))

    async def give_up() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.ensure_future(wait()), 0.01)

    async def wait() -> object:
        return await ticket

    async def stay() -> object:
        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0)  # it waits from here on
        gate.open_soon()
        return await asyncio.wait_for(task, 60)

    asyncio.run(give_up())
    assert Fr.decode(asyncio.run(stay())) == [3]


def test_several_threads_wait(cpu: gx.Context) -> None:
    ticket = slow(cpu)
    seen: list[int] = []
    threads = [threading.Thread(target=lambda: seen.append(len(ticket.wait()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [16] * 4


def test_signals_interrupt_wait(gate: Gate) -> None:
    def ring(*_: object) -> None:
        raise KeyboardInterrupt

    gate.shut()
    ticket = gate.submit(gx.Job("neg", Fr, [1]))
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            ticket.wait()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not ticket.done()


def test_interrupted_submit(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C just after the library has got the jobs: they keep what they use."""

    def interrupt(_status: int) -> None:
        raise KeyboardInterrupt

    gate.shut()
    a, out = Fr.encode([1]), Fr.encode([0])
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt) as caught:
        patch.setattr("gpuexec._context.check", interrupt)
        gate.submit(gx.Job("neg", Fr, a, out=out))
    with pytest.raises(gx.InUseError):
        gate.context.run(gx.Job("add", Fr, a, a, out=out))
    del caught  # and with it the frame that has the ticket
    gate.open_soon()
    gate.context.close()  # waits for them
    assert Fr.decode(out) == [Fr.modulus - 1]


def test_exit_cancels_on_exception(gate: Gate) -> None:
    with pytest.raises(RuntimeError), gate.context:
        gate.shut()
        ticket = gate.submit(gx.Job("neg", Fr, [1]))
        gate.open_soon()
        raise RuntimeError
    with pytest.raises(gx.CancelledError):
        ticket.wait()
