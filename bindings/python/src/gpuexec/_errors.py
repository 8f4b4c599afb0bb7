# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class for the library's errors, with subclasses where Python has a word too."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ._lib import lib, text


class Status(IntEnum):
    """What a call returned: the values of gx_status."""

    OK = 0
    PENDING = 1
    INVALID = -1
    OVERLAP = -2
    NOT_CANONICAL = -3
    UNSUPPORTED = -4
    NO_DEVICE = -5
    OUT_OF_MEMORY = -6
    OUT_OF_DEVICE_MEMORY = -7
    DEVICE_LOST = -8
    DEVICE = -9
    NOT_RUN = -10
    TIMEOUT = -11
    CANCELLED = -12
    FILE = -13


# A newer library may have more.
_NAMED: dict[int, int] = {int(status): status for status in Status}


class Error(Exception):
    """A call failed.

    status: why, as a Status. job: position of the job that failed, or None. index and operand: the
    first bad element, where there is one: its place, and 'a', 'b' or 'c' (for points: '').
    """

    status: int
    job: int | None
    index: int | None
    operand: str

    def __init__(
        self,
        message: str,
        status: int = Status.INVALID,
        job: int | None = None,
        index: int | None = None,
        operand: str = "",
    ) -> None:
        super().__init__(message)
        self.status = _NAMED.get(status, status)
        self.job = job
        self.index = index
        self.operand = operand


class InvalidError(Error, ValueError):
    """An argument is invalid: its type, length, form, or overlap with another one."""


class NotCanonicalError(Error, ValueError):
    """An element is not below the modulus: see index and operand."""


class NoMemoryError(Error, MemoryError):
    """Host or device memory ran out."""


class CancelledError(Error):
    """The ticket was cancelled before this job ran."""


class InUseError(Error):
    """Another call or ticket is using this memory or object; wait for it first."""


class ClosedError(Error, ValueError):
    """The context or object is closed."""


_CLASSES: dict[int, type[Error]] = {
    Status.INVALID: InvalidError,
    Status.OVERLAP: InvalidError,
    Status.NOT_CANONICAL: NotCanonicalError,
    Status.OUT_OF_MEMORY: NoMemoryError,
    Status.OUT_OF_DEVICE_MEMORY: NoMemoryError,
    Status.CANCELLED: CancelledError,
}


def error(
    status: int,
    message: str = "",
    job: int | None = None,
    index: int | None = None,
    operand: str = "",
) -> Error:
    """The exception for a status; without a message, that of the last failure on this thread."""
    message = message or text(lib.gx_last_message()) or text(lib.gx_status_message(status))
    return _CLASSES.get(status, Error)(message, status, job, index, operand)


def check(status: int) -> None:
    """Raises if the call failed."""
    if status < 0:
        raise error(status)


def job_error(status: int, reports: Any, count: int) -> Error:
    """The exception for jobs: that of the first one whose own status it is."""
    for i in range(count):
        report = reports[i]
        if report.status == status:
            operand = chr(report.bad_operand) if report.bad_operand else ""
            index = int(report.bad_index) if operand else None
            return error(status, text(report.message), i, index, operand)
    return error(status)
