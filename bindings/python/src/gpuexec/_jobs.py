# SPDX-License-Identifier: Apache-2.0
"""Jobs: arrays, buffers and integers, checked and made into a gx_job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsInt, TypeAlias
from weakref import ref

import numpy as np

from ._claims import Claims, Handle
from ._errors import ClosedError, InvalidError
from ._lib import ffi, lib
from ._reports import new_reports
from ._values import (
    OPS,
    POINT_FORMS,
    SCALAR_FORMS,
    U32,
    Array,
    Field,
    FieldLike,
    PointForm,
    ScalarForm,
    field_of,
    plain_scalars,
    value,
)

if TYPE_CHECKING:
    from ._objects import Buffer, BufferView, Domain, Points

    Bytes: TypeAlias = bytes | bytearray | memoryview
    # An array or bytes, a device buffer, integers, or one integer for all elements.
    Operand: TypeAlias = Array | Bytes | Buffer | BufferView | Sequence[Any] | SupportsInt
    Output: TypeAlias = Array | bytearray | memoryview | Buffer | BufferView

_from_buffer, _cast, _new = ffi.from_buffer, ffi.cast, ffi.new
_CHARS, _UINTPTR = ffi.typeof("char[]"), ffi.typeof("uintptr_t")
_JOB = ffi.typeof("gx_job *")
_U8 = np.dtype(np.uint8)
_ndarray, _empty = np.ndarray, np.empty
_operand_bytes = lib.gx_operand_bytes
# How operands are bound, by their number.
_ORDER = ((), (b"a", b"o"), (b"a", b"b", b"o"), (b"a", b"b", b"c", b"o"))

_NTT_FLAGS = {
    "inverse": lib.GX_NTT_INVERSE,
    "coset": lib.GX_NTT_COSET,
    "reversed_in": lib.GX_NTT_REVERSED_IN,
    "reversed_out": lib.GX_NTT_REVERSED_OUT,
    "columns": lib.GX_NTT_COLUMNS,
}
# Without operands of n elements: n is that of out, or is given.
_GENERATORS = frozenset((OPS["powers"].id, OPS["cosets"].id))
_TO_MONT = OPS["to-mont"].id


def memory(x: Any, write: bool, keep: list[Any]) -> tuple[Any, int, int]:
    """The memory of an array or of bytes, borrowed: pointer, address and length.

    The pointer exports the object's buffer, so what a bytearray or a mapped file holds cannot be
    resized or unmapped. numpy does not count exports; but it refuses to resize an array that has a
    weak reference, even without refcheck, so the array that owns the memory gets one.
    """
    try:
        pointer = _from_buffer(_CHARS, x, write)
    except (TypeError, ValueError, BufferError) as e:
        raise _refused(e, write) from None
    if isinstance(x, _ndarray):
        keep.append((pointer, ref(owner(x))))
    else:
        keep.append(pointer)
    return pointer, int(_cast(_UINTPTR, pointer)), len(pointer)


def owner(x: Any) -> Any:
    """The array that owns the memory, as far as numpy knows."""
    while isinstance(x.base, _ndarray):
        x = x.base
    return x


def _refused(e: Exception, write: bool) -> InvalidError:
    must = "out must be writable and contiguous" if write else "operands must be contiguous"
    return InvalidError(f"{e}: {must}, see numpy.ascontiguousarray")


class Job:
    """One operation on arrays: out[i] = op(a[i], b[i], c[i]).

    Operands are arrays of shape (..., limbs), bytes, device buffers, integers, or one integer or
    element of shape (limbs,) for all. `out` is where the result goes; without it a new array is
    made. A job may run any number of times; it keeps its arrays alive and unresized as long as it
    lives, and `out` is the result after each run.
    """

    __slots__ = ("_c", "_keep", "_ranges", "_pins", "out")

    out: Any

    def __init__(
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
    ) -> None:
        """Makes a job for any operation without a domain or points (those: Job.ntt, Job.msm).

        n: number of elements, where no operand tells (powers, cosets). count, bit_reversed: as
        gx_poly_params says for the operation. unchecked: do not check that inputs are below p.
        """
        field = field_of(field)
        info = OPS.get(op)
        if info is None:
            raise InvalidError(f"no operation {op!r}: there are {', '.join(sorted(OPS))}")
        job = self._begin(info.id, field, unchecked)
        elements, shape = n, None
        given = 3 if c is not None else 2 if b is not None else 1
        if given != info.operands or a is None or (given == 3 and b is None):
            raise InvalidError(f"{info.name} takes {info.operands} operands")
        plain = info.id == _TO_MONT
        operands = (
            (job.a,) if given == 1 else (job.a, job.b) if given == 2 else (job.a, job.b, job.c)
        )
        first, elementwise = 0, info.elementwise
        for operand, x in zip(operands, (a, b, c), strict=False):
            if info.indexed and len(self._ranges) == 1:  # b: as many as there are results
                size, shape = self._bind(operand, x, U32, False, plain)
                elements = size // 4
                continue
            size, lead = self._bind(operand, x, field, False, plain)
            if size != first:
                first, elementwise = size, elementwise and not first
            if lead is None:
                operand.broadcast = 1
            elif elements is None:
                elements, shape = size // field.element_bytes, lead
        if count is not None or bit_reversed:
            params = _new("gx_poly_params *")
            params.struct_size = ffi.sizeof(params[0])
            params.count = count or 0
            params.flags = lib.GX_POLY_REVERSED if bit_reversed else 0
            self._keep.append(params)
            job.params = params
        if out is not None:
            size, lead = self._bind(job.out, out, field, True, False)
            if elements is None:
                elements = 1 if info.one_result else size // field.element_bytes
        elif elements is None and info.id in _GENERATORS:
            raise InvalidError(f"{info.name} needs n or out")
        job.n = 1 if elements is None else elements
        if out is None:
            if info.one_result or elements is None:
                lead = ()
            elif shape is not None:
                lead = shape
            else:
                lead = (elements,)
            out = _empty(lead + (field.limbs,) if field.limbs else lead, field.dtype)
            size, lead = self._bind(job.out, out, field, True, False)
        self.out = out
        # If all have the size that n says, there is nothing to ask.
        if not elementwise or size != first or size != (elements or 1) * field.element_bytes:
            self._check(info.operands)

    @classmethod
    def ntt(
        cls,
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
    ) -> Job:
        """Number-theoretic transforms of a: see Context.ntt."""
        self = cls.__new__(cls)
        field = domain.field
        job = self._begin(lib.GX_NTT, field, unchecked)
        size, lead = self._bind(job.a, a, field, False, False)
        shape = (1,) if lead is None else lead
        elements = size // field.element_bytes
        if log2_n is None:
            length = elements
            if len(shape) > 1:
                length = shape[0] if columns else shape[-1]
            log2_n = max(length - 1, 0).bit_length() + pad
            if length << pad != 1 << log2_n:
                raise InvalidError(f"a transform of {length} elements: not a power of two")
        params = _new("gx_ntt_params *")
        params.struct_size = ffi.sizeof(params[0])
        params.domain = domain._ptr
        params.log2_n, params.log2_pad = log2_n, pad
        for given, name in (
            (inverse, "inverse"),
            (coset, "coset"),
            (reversed_in, "reversed_in"),
            (reversed_out, "reversed_out"),
            (columns, "columns"),
        ):
            if given:
                params.flags |= _NTT_FLAGS[name]
        job.params = params
        job.n = elements << pad
        self._keep.append(params)
        self._pins += (domain,)
        if out is None:
            long = 0 if columns else len(shape) - 1
            shape = tuple(x << pad if i == long else x for i, x in enumerate(shape))
            out = _empty((*shape, field.limbs), field.dtype)
        self._bind(job.out, out, field, True, False)
        self.out = out
        self._check(1)
        return self

    @classmethod
    def msm(
        cls,
        points: Points,
        scalars: Operand,
        *,
        out: Output | None = None,
        first: int = 0,
        count: int | None = None,
        scalar_form: ScalarForm | None = None,
        scalar_bits: int = 0,
        form: PointForm = "xy-mont",
        unchecked: bool = False,
    ) -> Job:
        """Multi-scalar multiplications: see Context.msm."""
        self = cls.__new__(cls)
        field = points.curve.scalar_field
        job = self._begin(lib.GX_MSM, field, unchecked)
        scalars, scalar_form = with_form(scalars, scalar_form)
        size, lead = self._bind(job.a, scalars, field, False, scalar_form == "plain")
        shape = (1,) if lead is None else lead
        elements = size // field.element_bytes
        if count is None:
            count = shape[-1] if len(shape) > 1 else elements
        if count and elements % count:
            raise InvalidError(f"{elements} scalars are not vectors of {count}")
        results = shape[:-1] if not count or shape[-1] == count else (elements // count,)
        params = _new("gx_msm_params *")
        params.struct_size = ffi.sizeof(params[0])
        params.points = points._ptr
        params.first, params.count = first, count
        params.scalar_form = value(SCALAR_FORMS, scalar_form, "scalar_form")
        params.scalar_bits = scalar_bits
        params.result_form = value(POINT_FORMS, form, "form")
        job.params = params
        job.n = elements
        self._keep.append(params)
        self._pins += (points,)
        if out is None:
            point, dtype = points.curve.shape(form)
            out = _empty(results + point, dtype)
        self._point(job.out, out)
        self.out = out
        self._check(1)
        return self

    def _begin(self, op: int, field: Field, unchecked: bool) -> Any:
        self._c = job = _new(_JOB)
        self._keep: list[Any] = []
        self._ranges: list[tuple[int, int, bool]] = []
        self._pins: tuple[Handle, ...] = ()
        job.op = op
        job.field = field.id
        if unchecked:
            job.flags = lib.GX_JOB_UNCHECKED
        return job

    def _bind(
        self, operand: Any, x: Any, field: Field, write: bool, plain: bool
    ) -> tuple[int, tuple[int, ...] | None]:
        """Points an operand at x. Returns its bytes and, of an array, its shape without limbs; None
        for a single element, which may stand for all."""
        size = field.element_bytes
        if isinstance(x, _ndarray):
            shape, dtype, limbs = x.shape, x.dtype, field.limbs
            if dtype is field.dtype or dtype == field.dtype:
                if not limbs:
                    lead: tuple[int, ...] = shape
                elif shape and shape[-1] == limbs:
                    lead = shape[:-1]
                else:
                    raise InvalidError(f"{field.name} has {limbs} limbs, the array is {shape}")
            elif dtype == _U8 and shape and shape[-1] == size:
                lead = shape[:-1]
            elif dtype.kind == "O" and not write:
                return self._bind(operand, field.encode(x, plain=plain), field, False, plain)
            else:
                raise InvalidError(f"{field.name} is {field.dtype}, the array is {dtype} {shape}")
            # As memory() does, for the smallest overhead.
            try:
                operand.host = pointer = _from_buffer(_CHARS, x, write)
            except (TypeError, ValueError, BufferError) as e:
                raise _refused(e, write) from None
            self._keep.append((pointer, ref(owner(x))))
            start, length = int(_cast(_UINTPTR, pointer)), len(pointer)
            self._ranges.append((start, start + length, write))
            return length, lead if lead or write else None
        if isinstance(x, (bytes, bytearray, memoryview)):
            pointer, start, length = memory(x, write, self._keep)
            if length % size:
                raise InvalidError(f"{length} bytes are not elements of {field.name}, {size} each")
            operand.host = pointer
            self._ranges.append((start, start + length, write))
            return length, (length // size,)
        device = getattr(x, "_device_range", None)
        if device is not None:
            length = self._device(operand, device(), write)
            if length % size:
                raise InvalidError(f"{length} bytes are not elements of {field.name}, {size} each")
            return length, (length // size,)
        if write:
            raise InvalidError(
                f"out is {type(x).__name__}: must be an array, a bytearray or a buffer"
            )
        try:
            encoded = field.encode(x, plain=plain)
        except (TypeError, ValueError):
            raise InvalidError(f"{type(x).__name__} is neither elements nor integers") from None
        return self._bind(operand, encoded, field, False, plain)

    def _device(self, operand: Any, view: tuple[Buffer, int, int], write: bool) -> int:
        buffer, offset, length = view
        if buffer._closed:
            raise ClosedError(f"{buffer!r} cannot be used any more")
        operand.buf = buffer._ptr
        operand.offset = offset
        start = buffer._base + offset
        self._ranges.append((start, start + length, write))
        self._pins += (buffer,)
        return length

    def _point(self, operand: Any, x: Any) -> None:
        """Points an operand at memory for points, whose size _check compares."""
        device = getattr(x, "_device_range", None)
        if device is not None:
            self._device(operand, device(), True)
            return
        pointer, start, length = memory(x, True, self._keep)
        operand.host = pointer
        self._ranges.append((start, start + length, True))

    def _check(self, operands: int) -> None:
        """Compares the sizes with those that the library will use: it does not see them."""
        job = self._c
        claims = None
        if self._pins:  # it looks at them
            claims = Claims()
            claims._claim([], self._pins, None)
        try:
            for (start, end, _), name in zip(self._ranges, _ORDER[operands], strict=True):
                wanted = _operand_bytes(job, name)
                if end - start != wanted and (wanted or job.n):
                    where = "out" if name == b"o" else name.decode()
                    raise InvalidError(f"{where} has {end - start} bytes, the job needs {wanted}")
        finally:
            if claims is not None:
                claims._release()


def is_memory(x: Any) -> bool:
    """Elements or points in memory, not integers."""
    if isinstance(x, _ndarray):
        return bool(x.dtype.kind != "O")
    return isinstance(x, (bytes, bytearray, memoryview)) or hasattr(x, "_device_range")


def with_form(scalars: Any, form: ScalarForm | None) -> tuple[Any, ScalarForm]:
    """Scalars and their form: that of integers is plain, and that of elements Montgomery form."""
    if form in (None, "plain") and not is_memory(scalars):
        return plain_scalars(scalars), "plain"
    return scalars, form or "mont"


class Call(Claims):
    """What a call with two arrays of elements and a third for the result passes to the library.

    It is kept for the next such call, on any thread; `memory` is exported during a call only.
    """

    __slots__ = ("job", "a", "b", "out", "reports", "memory")

    def __init__(self, op: int, field: int) -> None:
        super().__init__()
        self.job = job = _new(_JOB)
        job.op, job.field = op, field
        self.a, self.b, self.out = job.a, job.b, job.out
        self.reports = new_reports(1)
        self.memory: tuple[Any, Any, Any] | None = None

    def _spans(self) -> Sequence[tuple[int, int, bool]]:
        assert self.memory is not None
        found = []
        for i, pointer in enumerate(self.memory):
            start = int(_cast(_UINTPTR, pointer))
            found.append((start, start + len(pointer), i == 2))
        return found
