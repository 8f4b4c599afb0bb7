# SPDX-License-Identifier: Apache-2.0
"""What contexts make: buffers, domains and points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._claims import Claims, Handle, check_thread, free, using
from ._errors import InvalidError, check
from ._jobs import memory
from ._lib import ffi, lib, text
from ._values import POINT_FORMS, Array, Curve, Field, FieldLike, PointForm, field_of

if TYPE_CHECKING:
    from ._context import Context

_NULL = ffi.NULL
_new = ffi.new


class Child(Handle):
    """Something that a context made, and that is destroyed before it."""

    __slots__ = ("context",)

    context: Context

    def __init__(self, context: Context, ptr: Any) -> None:
        super().__init__(ptr)
        self.context = context
        context._children.add(self)

    def _destroy(self) -> None:
        pointer = _new(f"{ffi.typeof(self._ptr).cname}*", self._ptr)
        self._ptr = _NULL
        free(self._free(), pointer)

    def _free(self) -> Any:
        raise NotImplementedError


class Buffer(Child):
    """Memory on a device: an operand of jobs. A slice of it, in bytes, is one too.

    Copies and jobs that would touch bytes that another one writes are refused (InUseError).
    """

    __slots__ = ("nbytes", "device")

    nbytes: int
    device: str

    def __init__(self, context: Context, ptr: Any) -> None:
        super().__init__(context, ptr)
        self.nbytes = int(lib.gx_buf_size(ptr))
        self.device = text(lib.gx_buf_device(ptr))

    def _free(self) -> Any:
        return lib.gx_buf_destroy

    def __repr__(self) -> str:
        return f"<{'closed ' if self._closed else ''}Buffer {self.nbytes} bytes on {self.device}>"

    def __getitem__(self, part: slice) -> BufferView:
        start, stop, step = part.indices(self.nbytes)
        if step != 1:
            raise InvalidError("a part of a buffer is contiguous")
        return BufferView(self, start, max(stop - start, 0))

    def _device_range(self) -> tuple[Buffer, int, int]:
        return self, 0, self.nbytes

    def write(self, data: Any, offset: int = 0) -> None:
        """Copies an array or bytes into the buffer, from byte `offset` on."""
        self._copy(data, offset, False)

    def read_into(self, out: Any, offset: int = 0) -> None:
        """Fills an array or bytearray from the buffer, from byte `offset` on."""
        self._copy(out, offset, True)

    def read(self, field: FieldLike, offset: int = 0, count: int | None = None) -> Array:
        """A new array with `count` elements, or all, from byte `offset` on."""
        field = field_of(field)
        if count is None:
            count = max(self.nbytes - offset, 0) // field.element_bytes
        out = np.empty((count, field.limbs) if field.limbs else count, field.dtype)
        self._copy(out, offset, True)
        return out

    def _copy(self, data: Any, offset: int, to_host: bool) -> None:
        check_thread()
        keep: list[Any] = []
        pointer, start, length = memory(data, to_host, keep)
        if offset < 0 or offset + length > self.nbytes:
            raise InvalidError(f"bytes {offset} to {offset + length} of a {self!r}")
        here = self._base + offset
        wanted = [(start, start + length, to_host), (here, here + length, not to_host)]
        claims = Claims()
        try:
            claims._claim(wanted, (self.context, self), keep)
            function = lib.gx_buf_read if to_host else lib.gx_buf_write
            check(function(self._ptr, offset, pointer, length))
        finally:
            claims._release()


class BufferView:
    """Part of a buffer, as an operand: buffer[start:stop], in bytes."""

    __slots__ = ("buffer", "offset", "nbytes")

    def __init__(self, buffer: Buffer, offset: int, nbytes: int) -> None:
        self.buffer, self.offset, self.nbytes = buffer, offset, nbytes

    def _device_range(self) -> tuple[Buffer, int, int]:
        return self.buffer, self.offset, self.nbytes


class Domain(Child):
    """What transforms are over: a subgroup of 2^log2_size elements, and a coset of it."""

    __slots__ = ("field", "log2_size")

    def __init__(self, context: Context, ptr: Any, field: Field, log2_size: int) -> None:
        super().__init__(context, ptr)
        self.field, self.log2_size = field, log2_size

    def _free(self) -> Any:
        return lib.gx_domain_destroy

    def __repr__(self) -> str:
        return f"<{'closed ' if self._closed else ''}Domain {self.field.name} 2^{self.log2_size}>"

    def root(self, log2_n: int | None = None) -> int:
        """The root of unity of order 2^log2_n, as an integer."""
        element = _new("char[]", self.field.element_bytes)
        with using(self.context, self):
            order = self.log2_size if log2_n is None else log2_n
            check(lib.gx_domain_root(self._ptr, order, element))
        return self.field.decode(ffi.buffer(element))[0]


class Points(Child):
    """Points of one curve, checked and copied, that jobs use repeatedly. len() counts them."""

    __slots__ = ("curve", "_count")

    def __init__(self, context: Context, ptr: Any, curve: Curve) -> None:
        super().__init__(context, ptr)
        self.curve = curve
        self._count = int(lib.gx_points_count(ptr))

    def _free(self) -> Any:
        return lib.gx_points_destroy

    def __repr__(self) -> str:
        return f"<{'closed ' if self._closed else ''}Points {self._count} of {self.curve.name}>"

    def __len__(self) -> int:
        return self._count

    def read(self, first: int = 0, count: int | None = None, form: PointForm = "xy-mont") -> Array:
        """A new array with `count` points, or all, in the form asked for."""
        shape, dtype = self.curve.shape(form)
        count = self._count - first if count is None else count
        if first < 0 or count < 0 or first + count > self._count:
            raise InvalidError(f"points {first} to {first + count} of {self._count}")
        out = np.empty((count, *shape), dtype)
        with using(self.context, self):
            pointer = ffi.from_buffer(out)
            check(lib.gx_points_read(self._ptr, first, count, POINT_FORMS[form], pointer))
        return out
