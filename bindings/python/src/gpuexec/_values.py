# SPDX-License-Identifier: Apache-2.0
"""Fields, curves, and the names of everything else, as the library lists them."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ._errors import InvalidError
from ._lib import ffi, lib, names, text

Array = npt.NDArray[Any]
PointForm = Literal["xy-mont", "xy-plain", "compressed", "uncompressed", "eip2537", "jacobian-mont"]
PointCheck = Literal["curve", "subgroup", "none"]
ScalarForm = Literal["plain", "mont"]
Path = Literal["auto", "host-visible", "device-local"]
Mode = Literal["auto", "sequential", "single-submit", "pipelined"]
Policy = Literal["auto", "cpu", "gpu", "throughput"]
# (x, y); of G2 each is (c0, c1). Infinity is None.
Coordinate = int | tuple[int, int]
Affine = tuple[Coordinate, Coordinate] | None

POINT_FORMS = names(lib.gx_point_form_name)
POINT_CHECKS = names(lib.gx_point_check_name, 0)
SCALAR_FORMS = names(lib.gx_scalar_form_name, 0)
PATHS = names(lib.gx_path_name, 0)
MODES = names(lib.gx_mode_name, 0)
POLICIES = names(lib.gx_policy_name, 0)


def value(table: dict[str, int], name: str, what: str) -> int:
    """The value of a name."""
    try:
        return table[name]
    except (KeyError, TypeError):
        raise InvalidError(f"{what} {name!r}: must be one of {', '.join(table)}") from None


def _integers(values: Any) -> list[int]:
    values = list(values)
    try:
        return [index(x) for x in values]
    except TypeError:
        if any(isinstance(x, (float, str, bytes)) or not hasattr(x, "__int__") for x in values):
            raise InvalidError("elements are integers here, and not all of these are") from None
        return [int(x) for x in values]


def plain_scalars(integers: Any) -> Array:
    """An array of shape (n, 4) from integers below 2^256, as they are; (4,) from one integer.

    They are not taken modulo the order of a curve's subgroup: a point may be outside it.
    """
    if getattr(integers, "shape", None) == () or not isinstance(integers, Iterable):
        return plain_scalars([integers]).reshape(-1)
    values = _integers(integers)
    try:
        raw = b"".join([x.to_bytes(32, "little") for x in values])
    except OverflowError:
        i = next(i for i, x in enumerate(values) if not 0 <= x < 1 << 256)
        size = "negative" if values[i] < 0 else f"an integer of {values[i].bit_length()} bits"
        raise InvalidError(
            f"scalar {i} is {size}: scalars are integers from 0 to 2^256 - 1; if the points are in "
            "the subgroup, take it modulo scalar_field.modulus of the curve",
            index=i,
        ) from None
    return np.frombuffer(bytearray(raw), np.uint64).reshape(-1, 4)


class Field:
    """A field: BLS12_381_FQ, BLS12_381_FR, BN254_FQ, BN254_FR, or the words U32 and F32.

    An element is `limbs` 64-bit limbs, lowest first, in Montgomery form (x * 2^(64 * limbs) mod p):
    a row of an array of uint64. An element of U32 or F32 is a uint32 or float32.
    """

    __slots__ = (
        "id",
        "name",
        "element_bytes",
        "limbs",
        "modulus",
        "two_adicity",
        "dtype",
        "_calls",
        "_r",
        "_rinv",
    )

    id: int
    name: str
    element_bytes: int
    limbs: int
    modulus: int
    two_adicity: int
    dtype: np.dtype[Any]

    def __init__(self, name: str) -> None:
        self.id = lib.gx_field_by_name(name.encode())
        info = lib.gx_field_get_info(self.id)
        self.name = name
        self.element_bytes = info.element_bytes
        self.limbs = info.limbs
        self.two_adicity = info.two_adicity
        self.modulus = sum(info.modulus[i] << (64 * i) for i in range(self.limbs))
        self.dtype = np.dtype(
            np.uint64 if self.limbs else np.float32 if name == "f32" else np.uint32
        )
        # Of operations on two arrays, what was used before and can be again.
        self._calls: dict[str, list[Any]] = {op: [] for op in ("add", "sub", "mul", "div")}
        if self.limbs:
            self._r = pow(2, 64 * self.limbs, self.modulus)
            self._rinv = pow(self._r, -1, self.modulus)

    def __repr__(self) -> str:
        return f"gpuexec.{self.name.upper().replace('-', '_')}"

    def __reduce__(self) -> str:
        return self.name.upper().replace("-", "_")

    def encode(self, integers: Any, *, plain: bool = False) -> Array:
        """An array of shape (n, limbs) from integers, taken modulo p; (limbs,) from one integer.

        Integers are what operator.index takes, or has __int__ and is no float or text (py_ecc's
        elements, arkworks' scalars). plain: as they are, not in Montgomery form.
        """
        if not self.limbs:
            return np.array(integers, self.dtype, order="C")
        if getattr(integers, "shape", None) == () or not isinstance(integers, Iterable):
            return self.encode([integers], plain=plain).reshape(-1)
        size, p, r = self.element_bytes, self.modulus, 1 if plain else self._r
        raw = b"".join([(x * r % p).to_bytes(size, "little") for x in _integers(integers)])
        return np.frombuffer(bytearray(raw), np.uint64).reshape(-1, self.limbs)

    def decode(self, elements: Any, *, plain: bool = False) -> list[int]:
        """Integers below p from an array of elements or from bytes."""
        if not self.limbs:
            return list(np.asarray(elements, self.dtype).ravel().tolist())
        raw = elements.tobytes() if isinstance(elements, np.ndarray) else bytes(elements)
        size, p, r = self.element_bytes, self.modulus, 1 if plain else self._rinv
        if len(raw) % size:
            raise InvalidError(f"{len(raw)} bytes are not elements of {self.name}")
        load = int.from_bytes
        return [load(raw[i : i + size], "little") * r % p for i in range(0, len(raw), size)]

    def random(self, n: int, seed: int | None = None) -> Array:
        """n elements, of uniform random bits below the modulus's top bit. Not for secrets."""
        if not self.limbs:
            return np.random.default_rng(seed).integers(0, 1 << 23, n).astype(self.dtype)
        a = np.random.default_rng(seed).integers(0, 1 << 64, (n, self.limbs), np.uint64)
        a[:, -1] &= np.uint64((1 << (self.modulus.bit_length() - 1) % 64) - 1)
        return a


BLS12_381_FQ = Field("bls12-381-fq")
BLS12_381_FR = Field("bls12-381-fr")
BN254_FQ = Field("bn254-fq")
BN254_FR = Field("bn254-fr")
U32 = Field("u32")
F32 = Field("f32")
FIELDS: tuple[Field, ...] = (BLS12_381_FQ, BLS12_381_FR, BN254_FQ, BN254_FR, U32, F32)
# A field, or its name: "bls12-381-fr".
FieldLike = Field | str


def field_of(field: FieldLike) -> Field:
    """The field of that name, or itself."""
    if isinstance(field, Field):
        return field
    for found in FIELDS:
        if found.name == field:
            return found
    raise InvalidError(f"no field {field!r}: there are {', '.join(x.name for x in FIELDS)}")


class Curve:
    """A group of points: BLS12_381_G1, BLS12_381_G2, BN254_G1 or BN254_G2."""

    __slots__ = ("id", "name", "base_field", "scalar_field", "degree", "generator")

    id: int
    name: str
    base_field: Field
    scalar_field: Field
    degree: int
    generator: Affine

    def __init__(self, name: str) -> None:
        self.id = lib.gx_curve_by_name(name.encode())
        info = lib.gx_curve_get_info(self.id)
        self.name = name
        self.base_field = FIELDS[info.base_field - 1]
        self.scalar_field = FIELDS[info.scalar_field - 1]
        self.degree = info.degree
        self.generator = self.decode(bytes(ffi.buffer(info.generator, info.affine_bytes)))[0]

    def __repr__(self) -> str:
        return f"gpuexec.{self.name.upper().replace('-', '_')}"

    def __reduce__(self) -> str:
        return self.name.upper().replace("-", "_")

    def point_bytes(self, form: PointForm = "xy-mont") -> int:
        """Bytes of one point; 0 if the curve has no such form."""
        return int(lib.gx_point_bytes(self.id, value(POINT_FORMS, form, "form")))

    def shape(self, form: PointForm = "xy-mont") -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and type of one point as an array: coordinates of limbs, or bytes."""
        size = self.point_bytes(form)
        if not size:
            raise InvalidError(f"{self.name} has no form {form!r}")
        if form in ("xy-mont", "xy-plain", "jacobian-mont"):
            return (size // self.base_field.element_bytes, self.base_field.limbs), np.dtype(
                np.uint64
            )
        return (size,), np.dtype(np.uint8)

    def encode(self, points: Iterable[Any]) -> Array:
        """Points in form xy-mont from pairs (x, y); of G2, x and y are pairs. Infinity is None.

        Coordinates are integers as for Field.encode, or, of G2, have `coeffs` (py_ecc).
        """
        flat: list[Any] = []
        for point in points:
            if point is None:
                flat += [0] * (2 * self.degree)
                continue
            x, y = point
            for coordinate in (x, y):
                parts = (
                    getattr(coordinate, "coeffs", coordinate) if self.degree > 1 else (coordinate,)
                )
                if len(parts) != self.degree:
                    raise InvalidError(f"a coordinate of {self.name} has {self.degree} parts")
                flat += parts
        return self.base_field.encode(flat).reshape(-1, 2 * self.degree, self.base_field.limbs)

    def decode(self, points: Any) -> list[Affine]:
        """Pairs of integers from points in form xy-mont; None for infinity."""
        flat = self.base_field.decode(points)
        if len(flat) % (2 * self.degree):
            raise InvalidError(f"{len(flat)} coordinates are not points of {self.name}")
        found: list[Affine] = []
        for i in range(0, len(flat), 2 * self.degree):
            parts = flat[i : i + 2 * self.degree]
            if not any(parts):
                found.append(None)
            elif self.degree == 1:
                found.append((parts[0], parts[1]))
            else:
                found.append(((parts[0], parts[1]), (parts[2], parts[3])))
        return found


BLS12_381_G1 = Curve("bls12-381-g1")
BLS12_381_G2 = Curve("bls12-381-g2")
BN254_G1 = Curve("bn254-g1")
BN254_G2 = Curve("bn254-g2")
CURVES: tuple[Curve, ...] = (BLS12_381_G1, BLS12_381_G2, BN254_G1, BN254_G2)
# A curve, or its name: "bls12-381-g1".
CurveLike = Curve | str


def curve_of(curve: CurveLike) -> Curve:
    """The curve of that name, or itself."""
    if isinstance(curve, Curve):
        return curve
    for found in CURVES:
        if found.name == curve:
            return found
    raise InvalidError(f"no curve {curve!r}: there are {', '.join(x.name for x in CURVES)}")


class Op:
    """An operation, by its name in the library: "mul-add" or "mul_add"."""

    __slots__ = ("id", "name", "operands", "one_result", "elementwise", "indexed")

    def __init__(self, number: int, info: Any) -> None:
        self.id = number
        self.name = text(info.name)
        self.operands = int(info.operands)
        self.one_result = bool(info.reduces) or self.name == "evaluate"
        # Every operand, and out, has n elements.
        self.indexed = self.name == "gather"
        self.elementwise = number <= lib.GX_FROM_MONT


def _ops() -> dict[str, Op]:
    found: dict[str, Op] = {}
    number = 1
    while (info := lib.gx_op_get_info(number)) != ffi.NULL:
        op = Op(number, info)
        found[op.name] = found[op.name.replace("-", "_")] = op
        number += 1
    return found


OPS = _ops()
