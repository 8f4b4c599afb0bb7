# SPDX-License-Identifier: Apache-2.0
"""Contexts."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast
from weakref import ref

import numpy as np

from . import _claims
from ._claims import Claims, Handle, _deferred, _inside, check_thread, free, in_callback, using
from ._errors import Error, InvalidError, check, error, job_error
from ._jobs import Call, Job, is_memory, memory, owner
from ._lib import ffi, lib, text
from ._objects import Buffer, BufferView, Child, Domain, Points
from ._reports import Device, Estimate, Report, new_reports
from ._tickets import FOREVER, Ticket
from ._values import (
    MODES,
    OPS,
    PATHS,
    POINT_CHECKS,
    POINT_FORMS,
    POLICIES,
    Array,
    CurveLike,
    Field,
    FieldLike,
    Mode,
    Path,
    PointCheck,
    PointForm,
    Policy,
    ScalarForm,
    curve_of,
    field_of,
    value,
)

if TYPE_CHECKING:
    from ._jobs import Operand, Output

LogFunction = Callable[[str, str], object]
Number = int | str

_NULL = ffi.NULL
_new = ffi.new
_run = lib.gx_run
_from_buffer = ffi.from_buffer
_CHARS = ffi.typeof("char[]")
_ndarray, _empty = np.ndarray, np.empty


class Context(Handle):
    """Devices, their memory and threads, open between calls. Any thread may use it; close it, or
    use it in a with statement.

    device: for jobs that name none, or several, comma-separated, to choose from. threads: most host
    threads per job. log: called as log(level, message) from any thread, with level "error",
    "warning" or "info"; it must not use the context, and what it raises goes to sys.unraisablehook.
    The other arguments are those of gx_config, where 0 and None mean the default. Numbers may be
    text as on the command line, such as "64K" or "2^20".
    """

    __slots__ = ("_children", "_log", "_opts")

    def __init__(
        self,
        device: str | None = None,
        *,
        policy: Policy | None = None,
        threads: Number = 0,
        log: LogFunction | None = None,
        sample_every: Number = 0,
        cpumask: str | None = None,
        validate: bool = False,
        dispatch_elems: Number = 0,
        path: Path | None = None,
        mode: Mode | None = None,
        stream_chunk_elems: Number = 0,
        device_memory: Number = 0,
        queue_jobs: Number = 0,
        trace: str | None = None,
        webgpu_backends: str | None = None,
        wgpu_library: str | None = None,
        cuda_library: str | None = None,
        cache_dir: str | None = None,
        ignore_environment: bool = False,
    ) -> None:
        self._closed = True
        self._children: weakref.WeakSet[Child] = weakref.WeakSet()
        self._opts: dict[Any, Any] = {}
        self._log: Any = None
        config = _new("gx_config *")
        config.struct_size = ffi.sizeof(config[0])
        keep = []
        for name, string in (
            ("device", device),
            ("cpumask", cpumask),
            ("trace", trace),
            ("webgpu_backends", webgpu_backends),
            ("wgpu_library", wgpu_library),
            ("cuda_library", cuda_library),
            ("cache_dir", cache_dir),
        ):
            if string is not None:
                keep.append(_new("char[]", string.encode()))
                setattr(config, name, keep[-1])
        for name, table, choice in (
            ("policy", POLICIES, policy),
            ("path", PATHS, path),
            ("mode", MODES, mode),
        ):
            if choice is not None:
                setattr(config, name, value(table, choice, name))
        for name, number in (
            ("threads", threads),
            ("sample_every", sample_every),
            ("dispatch_elems", dispatch_elems),
            ("stream_chunk_elems", stream_chunk_elems),
            ("device_memory", device_memory),
            ("queue_jobs", queue_jobs),
        ):
            if isinstance(number, str):
                option = name.replace("_", "-").encode()
                check(lib.gx_config_set(config, option, number.encode(), _NULL, 0))
            else:
                setattr(config, name, int(number))
        config.validate, config.ignore_environment = bool(validate), bool(ignore_environment)
        if log is not None:
            self._log = config.log = _log_callback(log)
        ptr = _new("gx_ctx **")
        check(lib.gx_open(config, ptr))
        super().__init__(ptr[0])
        _contexts.add(self)

    def __repr__(self) -> str:
        return f"<{'closed ' if self._closed else ''}Context>"

    def __enter__(self) -> Context:
        return self

    def __exit__(self, kind: object = None, *exception: object) -> None:
        if kind is not None and not self._closed:
            self.cancel_all()
        self.close()

    def close(self) -> None:
        """Waits for submitted work, closes what the context made, and closes it.

        Raises InUseError if a call on another thread is using it. The second time does nothing.
        """
        check_thread()
        super().close()

    def _destroy(self) -> None:
        for child in list(self._children):
            child.close()
        ptr = _new("gx_ctx **", self._ptr)
        self._ptr = _NULL
        free(lib.gx_close, ptr)

    # ---- running jobs

    def run(
        self,
        *jobs: Job,
        device: str | None = None,
        policy: Policy = "auto",
        path: Path = "auto",
        mode: Mode = "auto",
        candidates: bool = False,
    ) -> list[Report]:
        """Runs jobs as if one after the other; returns a report for each when all are done.

        The outputs are the jobs' `out`. device: one device; without it, one is chosen. candidates:
        have reports list the devices that were considered.
        """
        count = len(jobs)
        reports = new_reports(count)
        if candidates:
            room = _new("gx_candidate[]", count * lib.GX_CANDIDATES_MAX)
            for i in range(count):
                reports[i].candidate = room + i * lib.GX_CANDIDATES_MAX
                reports[i].candidate_room = lib.GX_CANDIDATES_MAX
            for candidate in room:
                candidate.struct_size = ffi.sizeof("gx_candidate")
            keep: Any = (reports, room)
        else:
            keep = reports
        check_thread()
        opts = self._options(device, policy, path, mode)
        cjobs, ranges, pins = _joined(self, jobs)
        claims = Claims()
        try:
            claims._claim(ranges, pins, jobs)
            status = int(_run(self._ptr, cjobs, count, opts, reports))
        finally:
            claims._release()
        if status < 0:
            raise job_error(status, reports, count)
        return [Report(reports[i], keep) for i in range(count)]

    def submit(
        self,
        *jobs: Job,
        device: str | None = None,
        policy: Policy = "auto",
        path: Path = "auto",
        mode: Mode = "auto",
    ) -> Ticket:
        """As run, but returns a ticket at once; threads of the library do the work.

        Until it has finished, its outputs must not be used, and memory that it writes is refused to
        other calls. Blocks while the queue is full.
        """
        check_thread()
        _claims.reap()
        opts = self._options(device, policy, path, mode)
        cjobs, ranges, pins = _joined(self, jobs)
        ticket = Ticket(jobs)
        try:
            ticket._claim(ranges, pins, jobs)
            check(lib.gx_submit(self._ptr, cjobs, len(jobs), opts, ticket._ptr))
            _claims.submitted(ticket)
        except BaseException:
            if ticket._ptr[0]:  # Ctrl-C: the library has the jobs
                _claims.submitted(ticket)
            else:
                ticket._release()
            raise
        return ticket

    def estimate(
        self,
        *jobs: Job,
        device: str | None = None,
        policy: Policy = "auto",
        path: Path = "auto",
        mode: Mode = "auto",
    ) -> Estimate:
        """Plans jobs without running them."""
        opts = self._options(device, policy, path, mode)
        cjobs, _, pins = _joined(self, jobs)
        info = _new("gx_estimate_info *")
        info.struct_size = ffi.sizeof(info[0])
        with using(self, *pins):
            check(lib.gx_estimate(self._ptr, cjobs, len(jobs), opts, info))
        return Estimate(info)

    def cancel_all(self) -> None:
        """Cancels all tickets that are pending now. Does not block."""
        with using(self):
            lib.gx_cancel_all(self._ptr)

    def _options(self, device: str | None, policy: str, path: str, mode: str) -> Any:
        if device is None and policy == path == mode == "auto":
            return _NULL
        key = (device, policy, path, mode)
        found = self._opts.get(key)
        if found is None:
            opts = _new("gx_run_params *")
            opts.struct_size = ffi.sizeof(opts[0])
            opts.policy = value(POLICIES, policy, "policy")
            opts.path = value(PATHS, path, "path")
            opts.mode = value(MODES, mode, "mode")
            name = _NULL if device is None else _new("char[]", device.encode())
            opts.device = name
            found = self._opts[key] = (opts, name)
        return found[0]

    # ---- one operation at a time

    def compute(
        self,
        op: str,
        field: FieldLike,
        a: Operand | None = None,
        b: Operand | None = None,
        c: Operand | None = None,
        *,
        out: Output | None = None,
        n: int | None = None,
        count: int | None = None,
        bit_reversed: bool = False,
        unchecked: bool = False,
        device: str | None = None,
    ) -> Any:
        """Runs one operation (see Job) and returns its output: `out`, or a new array."""
        job = Job(
            op,
            field,
            a,
            b,
            c,
            out=out,
            n=n,
            count=count,
            bit_reversed=bit_reversed,
            unchecked=unchecked,
        )
        return self._one(job, device)

    def _one(self, job: Job, device: str | None) -> Any:
        # What run does, for the smallest overhead.
        check_thread()
        opts = _NULL if device is None else self._options(device, "auto", "auto", "auto")
        reports = new_reports(1)
        claims = Claims()
        try:
            claims._claim(job._ranges, (self, *job._pins), job)
            status = _run(self._ptr, job._c, 1, opts, reports)
        finally:
            claims._release()
        if status < 0:
            raise job_error(status, reports, 1)
        return job.out

    def _two(
        self,
        op: str,
        field: FieldLike,
        a: Operand,
        b: Operand,
        out: Output | None,
        device: str | None,
    ) -> Any:
        """Runs an operation on two operands. What Job checks, for arrays of one shape without a
        detour; Job takes the rest, and refuses what is wrong."""
        if type(field) is not Field:
            field = field_of(field)
        dtype, limbs = field.dtype, field.limbs
        if (
            type(a) is not _ndarray
            or type(b) is not _ndarray
            or a.dtype is not dtype
            or b.dtype is not dtype
            or (shape := a.shape) != b.shape
            or (limbs and (not shape or shape[-1] != limbs))
        ):
            return self._one(Job(op, field, a, b, out=out), device)
        # As memory() in _jobs.py.
        refs: Any = ref(a if a.base is None else owner(a)), ref(b if b.base is None else owner(b))
        if out is None:
            result = _empty(shape, dtype)
        elif type(out) is _ndarray and out.dtype is dtype and out.shape == shape:
            result = out
            refs = refs, ref(out if out.base is None else owner(out))
        else:
            return self._one(Job(op, field, a, b, out=out), device)
        try:
            memory = (
                _from_buffer(_CHARS, a),
                _from_buffer(_CHARS, b),
                _from_buffer(_CHARS, result, True),
            )
        except (TypeError, ValueError, BufferError):
            return self._one(Job(op, field, a, b, out=out), device)
        if _inside or _deferred:
            check_thread()
        opts = _NULL if device is None else self._options(device, "auto", "auto", "auto")
        kept = field._calls[op]
        try:
            call = kept.pop()
        except IndexError:
            call = Call(OPS[op].id, field.id)
        call.memory = memory
        call.a.host, call.b.host, call.out.host = memory
        call.job.n = len(memory[2]) // field.element_bytes
        try:
            call._claim((), (self,), None)
            status = _run(self._ptr, call.job, 1, opts, call.reports)
        finally:
            call._release()
        call.memory = None
        if status < 0:
            raise job_error(status, call.reports, 1)
        kept.append(call)
        return result

    def add(
        self,
        field: FieldLike,
        a: Operand,
        b: Operand,
        *,
        out: Output | None = None,
        device: str | None = None,
    ) -> Any:
        """a + b."""
        return self._two("add", field, a, b, out, device)

    def sub(
        self,
        field: FieldLike,
        a: Operand,
        b: Operand,
        *,
        out: Output | None = None,
        device: str | None = None,
    ) -> Any:
        """a - b."""
        return self._two("sub", field, a, b, out, device)

    def mul(
        self,
        field: FieldLike,
        a: Operand,
        b: Operand,
        *,
        out: Output | None = None,
        device: str | None = None,
    ) -> Any:
        """a * b."""
        return self._two("mul", field, a, b, out, device)

    def div(
        self,
        field: FieldLike,
        a: Operand,
        b: Operand,
        *,
        out: Output | None = None,
        device: str | None = None,
    ) -> Any:
        """a / b; 0 where b is 0."""
        return self._two("div", field, a, b, out, device)

    def inv(
        self, field: FieldLike, a: Operand, *, out: Output | None = None, device: str | None = None
    ) -> Any:
        """1 / a; 0 where a is 0."""
        return self._one(Job("inv", field, a, out=out), device)

    def sum(
        self, field: FieldLike, a: Operand, *, out: Output | None = None, device: str | None = None
    ) -> Any:
        """a[0] + a[1] + ...: one element, of shape (limbs,)."""
        return self._one(Job("sum", field, a, out=out), device)

    def dot(
        self,
        field: FieldLike,
        a: Operand,
        b: Operand,
        *,
        out: Output | None = None,
        device: str | None = None,
    ) -> Any:
        """a[0] * b[0] + a[1] * b[1] + ...: one element, of shape (limbs,)."""
        return self._one(Job("dot", field, a, b, out=out), device)

    def ntt(
        self,
        domain: Domain,
        a: Operand,
        *,
        out: Output | None = None,
        inverse: bool = False,
        coset: bool = False,
        reversed_in: bool = False,
        reversed_out: bool = False,
        columns: bool = False,
        pad: int = 0,
        log2_n: int | None = None,
        unchecked: bool = False,
        device: str | None = None,
    ) -> Any:
        """Number-theoretic transforms: coefficients to values, or back with `inverse`.

        a of shape (n, limbs) is one transform; of shape (batch, n, limbs), one for each row; with
        columns and shape (n, batch, limbs), one for each column. Of buffers and bytes, log2_n says
        how long a transform is, if there are several. coset: over the coset of the domain's shift.
        reversed_in, reversed_out: in bit-reversed order. pad: the output has 2^pad times as many
        elements; missing coefficients are 0.
        """
        job = Job.ntt(
            domain,
            a,
            out=out,
            inverse=inverse,
            coset=coset,
            reversed_in=reversed_in,
            reversed_out=reversed_out,
            columns=columns,
            pad=pad,
            log2_n=log2_n,
            unchecked=unchecked,
        )
        return self._one(job, device)

    def msm(
        self,
        points: Points,
        scalars: Operand,
        *,
        out: Output | None = None,
        first: int = 0,
        count: int | None = None,
        scalar_form: ScalarForm | None = None,
        scalar_bits: int = 0,
        form: PointForm = "xy-mont",
        device: str | None = None,
    ) -> Any:
        """The sum of scalars[i] * points[first + i]: one point, as an array (Curve.decode).

        scalars are integers from 0 to 2^256 - 1, or elements of the scalar field as arrays, bytes
        or buffers; these are in Montgomery form unless scalar_form is "plain". Shape (batch, count,
        4), or a count, gives one point for each row or for each count scalars. scalar_bits: bits
        from this one on are ignored, which is faster.
        """
        job = Job.msm(
            points,
            scalars,
            out=out,
            first=first,
            count=count,
            scalar_form=scalar_form,
            scalar_bits=scalar_bits,
            form=form,
        )
        return self._one(job, device)

    # ---- things that the context makes

    def buffer(self, source: Any, device: str | None = None) -> Buffer:
        """A buffer on a device: of so many bytes, or with the contents of an array or bytes."""
        given = not isinstance(source, (int, np.integer))
        size = memory(source, False, [])[2] if given else int(source)
        if size < 0:
            raise InvalidError("a buffer cannot have less than 0 bytes")
        ptr = _new("gx_buf **")
        name = _NULL if device is None else device.encode()
        with using(self):
            check(lib.gx_buf_create(self._ptr, name, size, 0, ptr))
            buffer = Buffer(self, ptr[0])
        if given:
            buffer.write(source)
        return buffer

    def domain(
        self, field: FieldLike, log2_size: int, *, root: int | None = None, shift: int | None = None
    ) -> Domain:
        """A domain for transforms of up to 2^log2_size elements of BLS12_381_FR or BN254_FR.

        root, of that order, and the shift of cosets are integers; without them, those of arkworks
        and gnark-crypto.
        """
        field = field_of(field)
        desc = _new("gx_domain_params *")
        desc.struct_size = ffi.sizeof(desc[0])
        desc.field, desc.log2_size = field.id, log2_size
        keep = []
        for name, integer in (("root", root), ("shift", shift)):
            if integer is not None:
                keep.append(ffi.from_buffer(field.encode(integer)))
                setattr(desc, name, keep[-1])
        ptr = _new("gx_domain **")
        with using(self):
            check(lib.gx_domain_create(self._ptr, desc, ptr))
            return Domain(self, ptr[0], field, log2_size)

    def points(
        self,
        curve: CurveLike,
        points: Any,
        *,
        form: PointForm = "xy-mont",
        check: PointCheck = "curve",
        table_bytes: int = 0,
    ) -> Points:
        """Reads, checks and copies points: arrays or bytes in any form, pairs of integers (see
        Curve.encode), or a buffer.

        check: "curve", "subgroup" or "none". table_bytes: memory on each device for multiples of
        the points, which make jobs faster. If a point is bad, the exception's index says which.
        """
        curve = curve_of(curve)
        desc = _new("gx_points_params *")
        desc.struct_size = ffi.sizeof(desc[0])
        desc.curve = curve.id
        desc.form = value(POINT_FORMS, form, "form")
        desc.check = value(POINT_CHECKS, check, "check")
        desc.table_bytes = table_bytes
        keep: list[Any] = []
        pins: list[Handle] = [self]
        if isinstance(points, (Buffer, BufferView)):
            buffer, offset, length = points._device_range()
            start = buffer._base + offset
            desc.buf, desc.offset = buffer._ptr, offset
            pins.append(buffer)
        else:
            if not is_memory(points):
                points = curve.encode(points)
                desc.form = POINT_FORMS[form := "xy-mont"]
            desc.points, start, length = memory(points, False, keep)
        size = curve.point_bytes(form)
        if not size or length % size:
            raise InvalidError(f"{length} bytes are not points of {curve.name} in form {form}")
        desc.count = length // size
        ptr = _new("gx_points **")
        bad = _new("uint64_t *", FOREVER)
        claims = Claims()
        check_thread()
        try:
            claims._claim([(start, start + length, False)], tuple(pins), keep)
            status = lib.gx_points_create(self._ptr, desc, ptr, bad)
            if status < 0:
                raise error(status, index=None if bad[0] == FOREVER else int(bad[0]))
            return Points(self, ptr[0], curve)
        finally:
            claims._release()

    def multiply(
        self,
        curve: CurveLike,
        scalars: Any,
        base: Any = None,
        *,
        scalar_form: ScalarForm | None = None,
        form: PointForm = "xy-mont",
    ) -> Array:
        """Multiples of one point: scalars[i] * base, as an array of points. As msm with count=1 on
        the CPU, which computes them together.

        base is a pair of integers, or a point in form xy-mont; without it, the generator. scalars
        as for msm.
        """
        curve = curve_of(curve)
        if base is None:
            base = curve.generator
        base = base if is_memory(base) else curve.encode([base])
        with self.points(curve, base) as one:
            if len(one) != 1:
                raise InvalidError(f"base has {len(one)} points, not one")
            job = Job.msm(one, scalars, count=1, scalar_form=scalar_form, form=form)
            self.run(job, device="cpu")
        shape, _ = curve.shape(form)
        return cast(Array, job.out).reshape(-1, *shape)

    # ---- what the context knows

    def devices(self) -> list[Device]:
        """The devices of this machine."""
        found = self._list(lib.gx_devices, "gx_device_info")
        return [
            Device(
                text(x.name),
                text(x.description),
                text(lib.gx_device_kind_name(x.kind)),
                x.threads,
                x.memory_bytes,
                bool(x.automatic),
                bool(x.usable),
            )
            for x in found
        ]

    def _list(self, function: Any, struct: str) -> Iterable[Any]:
        count = _new("size_t *")
        with using(self):
            while True:
                check(function(self._ptr, _NULL, count))
                room = count[0]
                rows = _new(f"{struct}[]", max(room, 1))
                for row in rows:
                    row.struct_size = ffi.sizeof(struct)
                check(function(self._ptr, rows, count))
                if count[0] <= room:
                    return [rows[i] for i in range(count[0])]

    def stats(self) -> dict[str, int]:
        """The counters of gx_counter, by name."""
        value = _new("uint64_t *")
        found, index = {}, 0
        with using(self):
            while info := lib.gx_counter_get_info(index):
                check(lib.gx_counter(self._ptr, info.name, value))
                found[text(info.name)] = value[0]
                index += 1
        return found

    def metrics(self) -> str:
        """Counters of the context and of its devices, in the Prometheus text format."""
        size = _new("size_t *")
        with using(self):
            check(lib.gx_metrics_prometheus(self._ptr, _NULL, size))
            while True:
                room = size[0] + 1024
                size[0] = room
                chars = _new("char[]", room)
                check(lib.gx_metrics_prometheus(self._ptr, chars, size))
                if size[0] <= room:
                    return text(chars)

    def calibrate(self, seconds: float = 0) -> None:
        """Measures the devices that may be chosen, for at most so many seconds, and saves it."""
        settings = _new("gx_calibrate_params *")
        settings.struct_size = ffi.sizeof(settings[0])
        settings.limit_ns = int(seconds * 1e9)
        with using(self):
            check(lib.gx_calibrate(self._ptr, settings))


def _log_callback(log: LogFunction) -> Any:
    levels = {i: text(lib.gx_log_level_name(i)) for i in range(1, 4)}

    def call(_user: Any, level: int, message: Any) -> None:
        with in_callback():
            log(levels.get(level, "unknown"), text(message))

    # Exceptions end here: cffi passes them to sys.unraisablehook.
    return ffi.callback("gx_log_fn", call)


def _joined(
    context: Context, jobs: tuple[Job, ...]
) -> tuple[Any, list[tuple[int, int, bool]], tuple[Handle, ...]]:
    """Jobs as one array, with all that they use."""
    if len(jobs) == 1:
        job = jobs[0]
        return job._c, job._ranges, (context, *job._pins)
    array = _new("gx_job[]", max(len(jobs), 1))
    ranges: list[tuple[int, int, bool]] = []
    pins: list[Handle] = [context]
    for i, job in enumerate(jobs):
        array[i] = job._c[0]
        ranges += job._ranges
        pins += job._pins
    return array, ranges, tuple(pins)


_contexts: weakref.WeakSet[Context] = weakref.WeakSet()


def _at_exit() -> None:
    """Library threads must not write to arrays, or log, while the interpreter ends."""
    for context in list(_contexts):
        if not context._closed:
            try:
                context.cancel_all()
                context.close()
            except Error:
                pass  # a daemon thread is inside a call


atexit.register(_at_exit)
