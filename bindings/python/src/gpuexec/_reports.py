# SPDX-License-Identifier: Apache-2.0
"""What the library says about jobs and devices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from ._errors import Status
from ._lib import ffi, lib, text

T = TypeVar("T")
_REPORTS = ffi.typeof("gx_report[]")
_REPORT_SIZE = ffi.sizeof("gx_report")
_new = ffi.new


class _Member(Generic[T]):
    """A member of a struct of the library, read when asked for."""

    def __init__(self, read: Callable[[Any], T], doc: str) -> None:
        self._read = read
        self.__doc__ = doc

    @overload
    def __get__(self, instance: None, owner: type) -> _Member[T]: ...
    @overload
    def __get__(self, instance: Any, owner: type) -> T: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else self._read(instance._c)


def _count(name: str, doc: str) -> _Member[int]:
    return _Member(lambda c: int(getattr(c, name)), doc)


@dataclass(frozen=True)
class Candidate:
    """A device that was considered for a job. Times in ns; 0: unknown, or no share."""

    device: str
    predicted_ns: int
    share_ns: int
    actual_ns: int
    elements: int
    status: int


def _candidates(c: Any) -> tuple[Candidate, ...]:
    found = (c.candidate[i] for i in range(min(c.candidates, c.candidate_room)))
    return tuple(
        Candidate(text(x.device), x.predicted_ns, x.share_ns, x.actual_ns, x.elements, x.status)
        for x in found
    )


class Report:
    """Where a job ran, why, and how long each step took (gx_report). Times are in ns."""

    __slots__ = ("_c", "_keep")

    def __init__(self, c: Any, keep: Any) -> None:
        self._c = c
        self._keep = keep  # the array that it is part of

    status = _Member(lambda c: Status(c.status), "Of this job.")
    device = _Member(lambda c: text(c.device), "Where it ran.")
    reason = _Member(lambda c: text(lib.gx_reason_name(c.reason)), "Why there.")
    path = _Member(lambda c: text(lib.gx_path_name(c.path)), "How operands got there.")
    mode = _Member(lambda c: text(lib.gx_mode_name(c.mode)), "How the call was scheduled.")
    message = _Member(lambda c: text(c.message), "What went wrong, also before a fallback.")
    candidates = _Member(_candidates, "Devices considered, if candidates were asked for.")
    threads = _count("threads", "Host threads used.")
    dispatches = _count("dispatches", "Kernel launches.")
    groups = _count("groups", "Groups of work it was part of.")
    submits = _count("submits", "Of the groups that begin with it.")
    command_hits = _count("command_hits", "Submits that reused recorded commands.")
    sampled = _count("sampled", "Elements recomputed and compared.")
    queued_ns = _count("queued_ns", "In the queue, of a ticket.")
    total_ns = _count("total_ns", "Inside the library.")
    host_in_ns = _count("host_in_ns", "Copying operands to staging memory.")
    device_ns = _count("device_ns", "Recording, submitting and waiting for the device.")
    host_out_ns = _count("host_out_ns", "Copying the result from staging memory.")
    upload_ns = _count("upload_ns", "By the device's clock.")
    compute_ns = _count("compute_ns", "By the device's clock.")
    download_ns = _count("download_ns", "By the device's clock.")

    def __repr__(self) -> str:
        return f"<Report {self.status.name} {self.device} {self.reason} {self.total_ns} ns>"


class Estimate:
    """What Context.run would do with jobs (gx_estimate_info), without doing it."""

    __slots__ = ("_c",)

    def __init__(self, c: Any) -> None:
        self._c = c

    device = _Member(lambda c: text(c.device), "Of the first job.")
    reason = _Member(lambda c: text(lib.gx_reason_name(c.reason)), "Why there.")
    path = _Member(lambda c: text(lib.gx_path_name(c.path)), "Of the first job.")
    mode = _Member(lambda c: text(lib.gx_mode_name(c.mode)), "Of the first job.")
    groups = _count("groups", "Groups of work.")
    submits = _count("submits", "Submits.")
    dispatches = _count("dispatches", "Kernel launches.")
    bytes_up = _count("bytes_up", "Copied to the device.")
    bytes_down = _count("bytes_down", "Copied from it.")
    bytes_staged = _count("bytes_staged", "Copied by the host, in and out.")
    memory_bytes = _count("memory_bytes", "Peak device memory.")
    predicted_ns = _count("predicted_ns", "Of the whole call; 0: unknown.")

    def __repr__(self) -> str:
        return f"<Estimate {self.device} {self.reason} {self.predicted_ns} ns>"


@dataclass(frozen=True)
class Device:
    """A device of this machine. If it is not usable, the description says why."""

    name: str
    description: str
    kind: str
    threads: int
    memory_bytes: int
    automatic: bool
    usable: bool


def new_reports(count: int) -> Any:
    """Structs for so many jobs."""
    reports = _new(_REPORTS, count)
    if count:
        reports[0].struct_size = _REPORT_SIZE  # of all of them
    return reports
