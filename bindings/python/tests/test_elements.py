# SPDX-License-Identifier: Apache-2.0
"""Operations on elements, beside Python's integers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import MODULI, PRIME_FIELDS, integers

import gpuexec as gx

Fr = gx.BLS12_381_FR


@pytest.mark.parametrize("field", PRIME_FIELDS, ids=lambda f: f.name)
def test_encoding(field: gx.Field) -> None:
    p = MODULI[field.name]
    assert field.modulus == p
    x = integers(field, 9)
    a = field.encode(x)
    assert a.shape == (9, field.limbs)
    assert a.dtype == np.uint64
    assert field.decode(a) == x
    montgomery = [v * 2 ** (64 * field.limbs) % p for v in x]
    assert a.tobytes() == b"".join(v.to_bytes(field.element_bytes, "little") for v in montgomery)
    assert field.decode(field.encode([-1, p, p + 5])) == [p - 1, 0, 5]
    assert field.encode(7).shape == (field.limbs,)
    assert field.decode(field.encode(x, plain=True), plain=True) == x
    assert field.decode(a.tobytes()) == x


def test_names(cpu: gx.Context) -> None:
    """Fields and curves may be given by name."""
    x = integers(Fr, 4)
    assert Fr.decode(cpu.mul("bls12-381-fr", x, 3)) == [3 * v % Fr.modulus for v in x]
    a = Fr.encode(x)
    assert Fr.decode(cpu.add("bls12-381-fr", a, a)) == [2 * v % Fr.modulus for v in x]
    assert Fr.decode(cpu.compute("neg", "bls12-381-fr", a))[1] == Fr.modulus - 1
    assert cpu.domain("bn254-fr", 2).field is gx.BN254_FR
    assert cpu.buffer(a).read("bls12-381-fr").tobytes() == a.tobytes()
    points = cpu.points("bn254-g1", cpu.multiply("bn254-g1", [1, 2]))
    assert points.curve is gx.BN254_G1
    for wrong in ("bls12_381_fr", "bn254-g1", None, 2):
        with pytest.raises(gx.InvalidError, match="there are bls12-381-fq, bls12-381-fr"):
            cpu.mul(wrong, a, a)  # type: ignore[arg-type]
    with pytest.raises(gx.InvalidError, match="there are bls12-381-g1, bls12-381-g2"):
        cpu.points("bn254-fr", [])


OPS: dict[str, tuple[int, Callable[..., int]]] = {
    "add": (2, lambda p, a, b: a + b),
    "sub": (2, lambda p, a, b: a - b),
    "mul": (2, lambda p, a, b: a * b),
    "div": (2, lambda p, a, b: a * pow(b, p - 2, p)),
    "neg": (1, lambda p, a: -a),
    "sqr": (1, lambda p, a: a * a),
    "inv": (1, lambda p, a: pow(a, p - 2, p)),
    "mul-add": (3, lambda p, a, b, c: a * b + c),
    "to-mont": (1, lambda p, a: a),  # of integers: what encode does
}


@pytest.mark.parametrize("field", PRIME_FIELDS, ids=lambda f: f.name)
@pytest.mark.parametrize("op", OPS)
def test_elementwise(cpu: gx.Context, field: gx.Field, op: str) -> None:
    count, formula = OPS[op]
    p = MODULI[field.name]
    x = [integers(field, 37, seed) for seed in range(count)]
    expected = [formula(p, *values) % p for values in zip(*x, strict=True)]
    operands = [field.encode(v, plain=op == "to-mont") for v in x]
    result = cpu.compute(op, field, *operands)
    assert result.shape == (37, field.limbs)
    assert field.decode(result) == expected
    assert field.decode(cpu.compute(op, field, *x)) == expected  # lists of integers
    in_place = operands[0].copy()
    assert cpu.compute(op, field, in_place, *operands[1:], out=in_place) is in_place
    assert field.decode(in_place) == expected


def test_named_methods(cpu: gx.Context) -> None:
    p = Fr.modulus
    assert Fr.decode(cpu.add(Fr, [1, 2], [3, 4])) == [4, 6]
    assert Fr.decode(cpu.sub(Fr, [1, 2], [3, 4])) == [p - 2, p - 2]
    assert Fr.decode(cpu.mul(Fr, [1, 2], [3, 4])) == [3, 8]
    assert Fr.decode(cpu.div(Fr, [6, 8], [3, 4])) == [2, 2]
    assert Fr.decode(cpu.inv(Fr, [2, 0])) == [(p + 1) // 2, 0]
    assert Fr.decode(cpu.sum(Fr, [1, 2, 3])) == [6]
    assert Fr.decode(cpu.dot(Fr, [1, 2, 3], [4, 5, 6])) == [32]


def test_kinds_of_operands(ctx: gx.Context) -> None:
    x, y = integers(Fr, 8), integers(Fr, 8, 2)
    a, b = Fr.encode(x), Fr.encode(y)
    expected = [v * w % Fr.modulus for v, w in zip(x, y, strict=True)]
    for left in (a, a.tobytes(), bytearray(a.tobytes()), memoryview(a.data), a.view(np.uint8), x):
        assert Fr.decode(ctx.mul(Fr, left, b)) == expected
    assert Fr.decode(ctx.mul(Fr, np.array(x, dtype=object), b)) == expected
    assert Fr.decode(ctx.mul(Fr, a.reshape(2, 4, 4), b)) == expected
    assert ctx.mul(Fr, a.reshape(2, 4, 4), b).shape == (2, 4, 4)
    thrice = [v * 3 % Fr.modulus for v in x]
    assert Fr.decode(ctx.mul(Fr, a, 3)) == thrice
    assert Fr.decode(ctx.mul(Fr, 3, a)) == thrice
    assert Fr.decode(ctx.mul(Fr, a, Fr.encode(3))) == thrice
    assert Fr.decode(ctx.mul(Fr, 3, 4)) == [12]
    out = bytearray(8 * 32)
    assert ctx.mul(Fr, a, b, out=out) is out
    assert Fr.decode(out) == expected


def test_no_copies(cpu: gx.Context) -> None:
    """The job points at the arrays' own memory."""
    a, b, out = Fr.random(4), Fr.random(4), Fr.random(4)
    job = gx.Job("mul", Fr, a, b, out=out)
    addresses = [start for start, _, _ in job._ranges]
    assert addresses == [x.__array_interface__["data"][0] for x in (a, b, out)]
    assert cpu.mul(Fr, a, b, out=out) is out


def test_words(ctx: gx.Context) -> None:
    a = np.array([1, 2**32 - 1, 7], np.uint32)
    assert ctx.add(gx.U32, a, 1).tolist() == [2, 0, 8]
    assert ctx.mul(gx.U32, a, a).tolist() == [1, 1, 49]
    f = np.array([0.5, 1.25], np.float32)
    assert ctx.mul(gx.F32, f, [2.0, 4.0]).tolist() == [1.0, 5.0]


def test_empty(cpu: gx.Context) -> None:
    assert cpu.add(Fr, np.empty((0, 4), np.uint64), np.empty((0, 4), np.uint64)).shape == (0, 4)
    assert Fr.decode(cpu.sum(Fr, [])) == [0]
    assert cpu.mul(Fr, [], 3).shape == (0, 4)


def test_polynomials(ctx: gx.Context) -> None:
    p = Fr.modulus
    x = integers(Fr, 16)

    def compute(op: str, *operands: Any, **more: Any) -> list[int]:
        return Fr.decode(ctx.compute(op, Fr, *operands, **more))

    assert compute("powers", 3, n=5) == [1, 3, 9, 27, 81]
    assert compute("cosets", 3, 5, n=6, count=3) == [1, 3, 9, 5, 15, 45]
    assert compute("prefix-sum", x) == [sum(x[: i + 1]) % p for i in range(16)]
    assert compute("prefix_product", [2, 3, 5]) == [2, 6, 30]
    value = sum(c * pow(11, i, p) for i, c in enumerate(x)) % p
    assert compute("evaluate", x, 11) == [value]
    quotient = compute("divide-linear", x, 11)
    product = [0, *quotient[:-1]]
    product = [(v - 11 * w) % p for v, w in zip(product, quotient, strict=True)]
    product[0] = (product[0] + value) % p
    assert product == x
    assert compute("bit-reverse", [0, 1, 2, 3]) == [0, 2, 1, 3]
    assert compute("rotate", [0, 1, 2, 3], count=1) == [1, 2, 3, 0]
    assert compute("interleave", [0, 1, 2, 3], count=2) == [0, 2, 1, 3]
    assert compute("gather", x, [3, 0, 15], count=16) == [x[3], x[0], x[15]]


def test_not_canonical(ctx: gx.Context) -> None:
    a, b = Fr.random(9), Fr.random(9)
    b[5] = np.uint64(2**64 - 1)
    with pytest.raises(gx.NotCanonicalError) as caught:
        ctx.mul(Fr, a, b)
    assert (caught.value.index, caught.value.operand, caught.value.job) == (5, "b", 0)
    assert caught.value.status is gx.Status.NOT_CANONICAL
    assert isinstance(caught.value, ValueError)
    with pytest.raises(gx.NotCanonicalError) as caught:
        ctx.run(gx.Job("neg", Fr, a), gx.Job("neg", Fr, b))
    assert (caught.value.index, caught.value.operand, caught.value.job) == (5, "a", 1)
    with pytest.raises(gx.InvalidError) as invalid:
        ctx.compute("gather", Fr, a, [0, 9], count=9)
    assert (invalid.value.index, invalid.value.operand) == (1, "b")


def test_missing_device() -> None:
    for names in ("vulkan:99", "cpu,vulkan:99"):
        with pytest.raises(gx.Error) as caught:
            gx.Context(names)
        assert caught.value.status is gx.Status.NO_DEVICE
    with pytest.raises(gx.Error, match="'nosuch' here, only cpu, ref"):
        gx.Context("nosuch")


def test_numbers_as_text() -> None:
    with gx.Context(threads="2^0", device_memory="64K", cache_dir="none") as ctx:
        assert [d.threads for d in ctx.devices() if d.name == "cpu"] == [1]
    with pytest.raises(gx.InvalidError, match="device-memory: '64Q'"):
        gx.Context(device_memory="64Q")


def test_errors_of_the_library(cpu: gx.Context) -> None:
    a = Fr.random(4)
    with pytest.raises(gx.Error, match="vulkan:99") as caught:
        cpu.compute("neg", Fr, a, device="vulkan:99")
    assert caught.value.status in (gx.Status.NO_DEVICE, gx.Status.UNSUPPORTED)
    both = Fr.random(5)
    with pytest.raises(gx.InvalidError) as overlap:
        cpu.compute("neg", Fr, both[:4], out=both[1:])
    assert overlap.value.status is gx.Status.OVERLAP
    with pytest.raises(gx.InvalidError, match="policy"):
        gx.Context(policy="fastest")  # type: ignore[arg-type]
