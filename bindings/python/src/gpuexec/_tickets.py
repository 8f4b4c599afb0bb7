# SPDX-License-Identifier: Apache-2.0
"""Submitted work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any

from . import _claims
from ._claims import Claims, free, in_callback
from ._errors import Error, Status, check, job_error
from ._jobs import Job
from ._lib import ffi, lib
from ._reports import Report, new_reports

_new = ffi.new
FOREVER = 2**64 - 1
_SLICE = 100_000_000  # ns between looks for Ctrl-C


class Ticket(Claims):
    """Submitted jobs. Await it, or call wait or result.

    Arrays, buffers, domains and points of the jobs are kept until it has finished, even if the
    ticket itself is dropped.
    """

    __slots__ = ("jobs", "_ptr", "_status", "_reports", "_forks", "_waiters", "_handle")

    jobs: tuple[Job, ...]

    def __init__(self, jobs: tuple[Job, ...]) -> None:
        super().__init__()
        self.jobs = jobs
        self._ptr = _new("gx_ticket **")
        self._status = int(Status.PENDING)
        self._reports: Any = None
        self._forks = _claims.forks
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._handle: Any = None

    def __repr__(self) -> str:
        return f"<Ticket {len(self.jobs)} jobs, {'done' if self.done() else 'pending'}>"

    def _is_done(self) -> bool:
        return bool(lib.gx_poll(self._ptr[0]) != Status.PENDING)

    def _wait(self, timeout_ns: int) -> bool:
        """Whether it has finished by then. Releases what it holds, and reads its reports, once."""
        if self._forks != _claims.forks:
            raise Error("this ticket was submitted before fork()", Status.CANCELLED)
        if self._status != Status.PENDING:
            return True
        reports = new_reports(len(self.jobs))
        end = time.monotonic_ns() + timeout_ns
        left = timeout_ns
        while True:
            status = lib.gx_wait(self._ptr[0], min(left, _SLICE), reports)
            if status != Status.PENDING:
                break
            left = end - time.monotonic_ns()
            if left <= 0:
                return False
        self._release()
        self._reports = reports
        self._status = status
        return True

    def _finish(self) -> None:
        self._wait(FOREVER)

    def done(self) -> bool:
        """Whether it has finished. Does not block."""
        return self._wait(0)

    def wait(self, timeout: float | None = None) -> list[Report]:
        """Waits, at most `timeout` seconds (TimeoutError), and returns a report for each job.

        Raises what Context.run would have raised.
        """
        if not self._wait(FOREVER if timeout is None else max(int(timeout * 1e9), 0)):
            raise TimeoutError("the ticket has not finished")
        if self._status < 0:
            raise job_error(self._status, self._reports, len(self.jobs))
        return [Report(self._reports[i], self._reports) for i in range(len(self.jobs))]

    def result(self, timeout: float | None = None) -> Any:
        """Waits, and returns the output of the job, or a list of those of several."""
        self.wait(timeout)
        return self.jobs[0].out if len(self.jobs) == 1 else [job.out for job in self.jobs]

    def cancel(self) -> None:
        """Drops jobs that have not started; the others are completed. Does not block."""
        if self._forks == _claims.forks:
            lib.gx_cancel(self._ptr[0])

    def __await__(self) -> Generator[Any, None, Any]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        if not self.done():
            self._waiters.append((loop, future))
            if self._handle is None:
                # Of the list: the callback must not have the last reference to the ticket.
                self._handle = ffi.new_handle(self._waiters)
                check(lib.gx_notify(self._ptr[0], _wake, self._handle))
            if not self.done():  # in between, it may have: then nobody else wakes us
                yield from future
        return self.result()

    def __enter__(self) -> Ticket:
        return self

    def __exit__(self, *exception: object) -> None:
        self._finish()

    def __del__(self) -> None:
        # It has finished or was never submitted: until then it is kept.
        if self._ptr[0] and self._forks == _claims.forks:
            free(lib.gx_ticket_destroy, self._ptr)


@ffi.callback("gx_done_fn")  # type: ignore[untyped-decorator]
def _wake(user: Any, _ticket: Any) -> None:
    """On a library thread: tells the event loops."""
    with in_callback():
        for loop, future in tuple(ffi.from_handle(user)):
            with suppress(RuntimeError):  # that loop is closed; others wait too
                loop.call_soon_threadsafe(_set, future)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def wait_any(tickets: Sequence[Ticket], timeout: float | None = None) -> Ticket:
    """Waits for the first of several tickets of one context, and returns it. TimeoutError if none
    has finished after `timeout` seconds."""
    for ticket in tickets:
        if ticket.done():
            return ticket
    pointers = _new("gx_ticket *[]", [ticket._ptr[0] for ticket in tickets])
    index = _new("size_t *", len(tickets))
    left = FOREVER if timeout is None else max(int(timeout * 1e9), 0)
    end = time.monotonic_ns() + left
    while True:
        status = lib.gx_wait_any(pointers, len(tickets), min(left, _SLICE), index)
        if index[0] < len(tickets):
            first = tickets[int(index[0])]
            first._finish()
            return first
        check(status)
        left = end - time.monotonic_ns()
        if left <= 0:
            raise TimeoutError("no ticket has finished")
