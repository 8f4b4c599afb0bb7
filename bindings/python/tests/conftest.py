# SPDX-License-Identifier: Apache-2.0
"""Contexts. Most tests run on the CPU; one of each kind also on a Vulkan device if there is one."""

import threading
from collections.abc import Iterator

import pytest

import gpuexec as gx


def _devices() -> list[str]:
    with gx.Context(cache_dir="none") as context:
        return [d.name for d in context.devices() if d.name in ("cpu", "vulkan:0") and d.usable]


@pytest.fixture(scope="session", params=_devices())
def ctx(request: pytest.FixtureRequest) -> Iterator[gx.Context]:
    """A context on each device."""
    with gx.Context(request.param, cache_dir="none") as context:
        yield context


@pytest.fixture
def cpu() -> Iterator[gx.Context]:
    """A fresh context on the CPU, which a test may close."""
    with gx.Context("cpu", cache_dir="none") as context:
        yield context


class Gate:
    """Holds up the thread that runs tickets of device "ref": its log function waits.

    What is submitted there is pending until the gate opens.
    """

    def __init__(self) -> None:
        self.context = gx.Context("cpu", cache_dir="none", log=self._log)
        self._armed, self._submitter = False, 0
        self._reached, self._open = threading.Event(), threading.Event()

    def _log(self, _level: str, _message: str) -> None:
        # Opening the device is logged too, by the thread that submits.
        if self._armed and threading.get_ident() != self._submitter:
            self._armed = False
            self._reached.set()
            self._open.wait()

    def arm(self, submitter: int = 0) -> None:
        """What is logged next waits, but not on that thread."""
        self._submitter = submitter
        self._armed = True

    def shut(self, submit: bool = True) -> None:
        """A job that fails is logged; it is submitted, or run on this thread."""
        self.arm(threading.get_ident() if submit else 0)
        job = gx.Job("neg", gx.BN254_FR, b"\xff" * 32)
        if submit:
            self.context.submit(job, device="ref")
            self._reached.wait()
        else:
            with pytest.raises(gx.NotCanonicalError):
                self.context.run(job, device="ref")

    def submit(self, *jobs: gx.Job) -> gx.Ticket:
        """To a device that is held up."""
        ticket = self.context.submit(*jobs, device="ref")
        assert not ticket.done()
        return ticket

    def wait_until_inside(self) -> None:
        self._reached.wait()

    def open(self) -> None:
        self._open.set()

    def open_soon(self) -> None:
        threading.Timer(0.05, self.open).start()


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    with gate.context:
        yield gate
        gate.open()
