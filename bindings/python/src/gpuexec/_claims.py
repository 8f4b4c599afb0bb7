# SPDX-License-Identifier: Apache-2.0
"""Who uses what at the moment, so that misuse which C allows is refused here.

Each running call and each unfinished ticket holds claims: ranges of memory that it reads or writes,
and handles (contexts, buffers, domains, points) that must stay open. A range that another one
writes is refused. A handle is not closed while it is pinned: tickets are waited for, calls of other
threads are an error. Host memory has its address; a device buffer has a range of its own above
2^64.
"""

from __future__ import annotations

import itertools
import os
import weakref
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock, get_ident
from typing import Any

from ._errors import ClosedError, InUseError, InvalidError

# Re-entrant: objects that are collected while it is held may come back here.
_lock = RLock()
_serial = itertools.count()
# (first, last + 1, serial, is written, owner), sorted; serials differ, so owners are not compared.
_ranges: list[tuple[int, int, int, bool, Claims]] = []
# Most calls are alone: the only one that claims memory is not in the list until a second one comes.
_alone: Claims | None = None
_longest = 0  # at least the length of every range in the list
_unfinished: set[Claims] = set()  # tickets
_handles: weakref.WeakSet[Handle] = weakref.WeakSet()
_bases = itertools.count(1)
forks = 0  # a ticket that is older than the last one is not freed


# Threads inside a callback of the library, which must neither use a context nor wait. The garbage
# collector may run there too: what it finds is freed later.
_inside: set[int] = set()
_deferred: deque[tuple[Any, Any]] = deque()


@contextmanager
def in_callback() -> Iterator[None]:
    """Marks this thread."""
    me = get_ident()
    _inside.add(me)
    try:
        yield
    finally:
        _inside.discard(me)


def free(function: Any, pointer: Any) -> None:
    """Calls function(pointer), now or later."""
    if _inside and get_ident() in _inside:
        _deferred.append((function, pointer))
    else:
        function(pointer)


def check_thread() -> None:
    """Refuses callbacks; frees what they had to leave."""
    if _inside and get_ident() in _inside:
        raise InvalidError("a log function must not use a context")
    while _deferred:
        function, pointer = _deferred.popleft()
        function(pointer)


@contextmanager
def using(*handles: Handle) -> Iterator[None]:
    """Keeps them open during a short call."""
    check_thread()
    claims = Claims()
    try:
        claims._claim([], handles, None)
        yield
    finally:
        claims._release()


class Claims:
    """What one call or ticket uses. Keeps it alive, too."""

    __slots__ = ("_held", "_keep", "_pinned", "_wanted", "__weakref__")

    def __init__(self) -> None:
        self._held: list[tuple[int, int, int, bool, Claims]] | None = None

    def _spans(self) -> Sequence[tuple[int, int, bool]]:
        """The ranges: first, last + 1, and whether it is written. Asked for only beside others."""
        return self._wanted

    def _is_done(self) -> bool:
        """Of a ticket: it has finished, so its claims can be released. Does not block."""
        return False

    def _finish(self) -> None:
        """Of a ticket: waits and releases its claims."""

    def _claim(
        self, wanted: Sequence[tuple[int, int, bool]], pins: tuple[Handle, ...], keep: Any
    ) -> None:
        """All of it or, with an exception, nothing."""
        global _alone
        with _lock:
            for handle in pins:
                if handle._closed:
                    raise ClosedError(f"{handle!r} cannot be used any more")
            self._held = []
            self._keep, self._pinned, self._wanted = keep, pins, wanted
            if _alone is None and not _ranges:
                _alone = self
            else:
                self._insert_beside_others()
            for handle in pins:
                handle._pins += 1

    def _insert_beside_others(self) -> None:
        global _alone
        garbage: list[Any] = []  # outlives the loop: what it frees may run anything
        if _alone is not None:
            other, _alone = _alone, None
            other._insert()
        wanted = self._spans()
        while (conflict := _conflict(wanted)) is not None:
            if not conflict._is_done():
                self._held = None
                raise InUseError(
                    "another call or ticket writes this memory, or reads it where this one writes: "
                    "wait for it first"
                )
            garbage.append(conflict._release())
        self._insert()

    def _insert(self) -> None:
        global _longest
        held = self._held = []
        for lo, hi, write in self._spans():
            entry = (lo, hi, next(_serial), write, self)
            insort(_ranges, entry)
            held.append(entry)
            if hi - lo > _longest:
                _longest = hi - lo

    def _release(self) -> Any:
        """Gives up all claims; does nothing the second time. Returns what it kept alive."""
        global _alone, _longest
        with _lock:
            held, self._held = self._held, None
            if held is None:
                return None
            if _alone is self:
                _alone = None
            else:
                for entry in held:
                    del _ranges[bisect_left(_ranges, entry)]
                if not _ranges:
                    _longest = 0
            for handle in self._pinned:
                handle._pins -= 1
            if _unfinished:
                _unfinished.discard(self)
            garbage = (self._keep, self._pinned)
            self._keep, self._pinned = None, ()
            return garbage


def _conflict(wanted: Sequence[tuple[int, int, bool]]) -> Claims | None:
    for lo, hi, write in wanted:
        i = bisect_left(_ranges, (lo - _longest,))
        while i < len(_ranges) and _ranges[i][0] < hi:
            _, end, _, is_written, owner = _ranges[i]
            if end > lo and lo < hi and (write or is_written):
                return owner
            i += 1
    return None


def submitted(ticket: Claims) -> None:
    """Keeps the ticket, and what it uses, until it has finished, whether or not the caller does."""
    with _lock:
        _unfinished.add(ticket)


def reap() -> None:
    """Releases what finished tickets hold that nobody has waited for."""
    if _unfinished:
        with _lock:
            done = [ticket for ticket in _unfinished if ticket._is_done()]
            garbage = [ticket._release() for ticket in done]
        del garbage


class Handle:
    """An object of the library that is closed once, and not while it is in use."""

    __slots__ = ("_ptr", "_pins", "_closed", "_base", "__weakref__")

    def __init__(self, ptr: Any) -> None:
        self._ptr = ptr
        self._pins = 0
        self._closed = False
        self._base = next(_bases) << 64
        with _lock:
            _handles.add(self)

    @property
    def closed(self) -> bool:
        """Whether close has been called."""
        return self._closed

    def close(self) -> None:
        """Frees it, after the tickets that use it have finished; the second time does nothing.

        Raises InUseError if a call on another thread is using it.
        """
        while True:
            with _lock:
                if self._closed:
                    return
                if not self._pins:
                    self._closed = True
                    break
                ticket = next((t for t in _unfinished if self in t._pinned), None)
                if ticket is None:
                    raise InUseError(f"{self!r} is in use by another thread")
            ticket._finish()
        self._destroy()

    def _destroy(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        # Nothing pins it: claims hold a reference.
        if not getattr(self, "_closed", True):
            self._closed = True
            self._destroy()


def _after_fork() -> None:
    """A context does not survive fork(): nothing of the library may be called for it."""
    global _alone, _longest, forks
    forks += 1
    _alone = None
    for handle in list(_handles):
        handle._closed = True
    for ticket in list(_unfinished):
        ticket._held = None
    _unfinished.clear()
    _deferred.clear()
    _inside.clear()
    _ranges.clear()
    _longest = 0
    _lock.release()


os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork)
