# SPDX-License-Identifier: Apache-2.0
"""Points and multi-scalar multiplication, beside arkworks (BLS12-381) and py_ecc (BN254)."""

import functools
import itertools
import random
from typing import Any, Literal

import numpy as np
import py_arkworks_bls12381 as ark
import pytest
from py_ecc import bn128
from support import MODULI

import gpuexec as gx

G1, G2 = gx.BLS12_381_G1, gx.BLS12_381_G2


def scalars(curve: gx.Curve, n: int, seed: int = 1) -> list[int]:
    rng = random.Random(f"{curve.name} {n} {seed}")
    order = curve.scalar_field.modulus
    return [0, 1, order - 1][:n] + [rng.randrange(order) for _ in range(n - 3)]


def ark_scalar(x: int) -> Any:
    return ark.Scalar.from_le_bytes(x.to_bytes(32, "little"))


@pytest.mark.parametrize(("curve", "point"), [(G1, ark.G1Point), (G2, ark.G2Point)])
def test_bls12_381(cpu: gx.Context, curve: gx.Curve, point: Any) -> None:
    logs, factors = scalars(curve, 40, 2), scalars(curve, 40)
    theirs = [point() * ark_scalar(x) for x in logs]
    compressed = b"".join(bytes(p.to_compressed_bytes()) for p in theirs)
    assert cpu.multiply(curve, logs, form="compressed").tobytes() == compressed
    expected = point.multiexp_unchecked(theirs, [ark_scalar(x) for x in factors])
    with cpu.points(curve, compressed, form="compressed", check="subgroup") as points:
        assert len(points) == 40
        assert points.read(form="compressed").tobytes() == compressed
        result = cpu.msm(points, factors, form="compressed")
        assert result.tobytes() == bytes(expected.to_compressed_bytes())
        # Elements of the scalar field: in Montgomery form, unless told otherwise.
        field = curve.scalar_field
        same = cpu.msm(points, field.encode(factors), form="compressed")
        assert np.array_equal(same, result)
        plain = field.encode(factors, plain=True)
        same = cpu.msm(points, plain, scalar_form="plain", form="compressed")
        assert np.array_equal(same, result)
        part = point.multiexp_unchecked(theirs[8:24], [ark_scalar(x) for x in factors[:16]])
        result = cpu.msm(points, factors[:16], first=8, form="compressed")
        assert result.tobytes() == bytes(part.to_compressed_bytes())


@pytest.mark.parametrize("curve", [gx.BN254_G1, gx.BN254_G2], ids=lambda c: c.name)
def test_bn254(cpu: gx.Context, curve: gx.Curve) -> None:
    """py_ecc's own points in, results compared with its own."""
    generator = bn128.G1 if curve is gx.BN254_G1 else bn128.G2
    logs, factors = [3, 5, 7, 0], [2, 0, 2**200 + 1, 9]
    theirs = [bn128.multiply(generator, x) for x in logs]
    order = curve.scalar_field.modulus
    expected = bn128.multiply(generator, sum(map(lambda x, y: x * y, logs, factors)) % order)
    with cpu.points(curve, theirs, check="subgroup") as points:
        result = cpu.msm(points, factors)
        assert np.array_equal(result, curve.encode([expected])[0])
        assert curve.decode(points.read(3)) == [None]
    assert np.array_equal(
        cpu.multiply(curve, logs, theirs[0])[1], curve.encode([bn128.multiply(generator, 15)])[0]
    )


def test_batch_and_forms(ctx: gx.Context) -> None:
    logs = [1, 2, 3, 4]
    vectors = np.stack(
        [G1.scalar_field.encode([1, 1, 1, 1]), G1.scalar_field.encode([1, -1, 2, 0])]
    )
    with ctx.points(G1, ctx.multiply(G1, logs)) as points:
        both = ctx.msm(points, vectors)
        assert both.shape == (2, 2, 6)
        assert G1.decode(both) == G1.decode(ctx.multiply(G1, [10, 5]))
        assert ctx.msm(points, vectors, form="jacobian-mont").shape == (2, 3, 6)
        assert ctx.msm(points, vectors, form="eip2537").shape == (2, 128)
        assert G1.decode(ctx.msm(points, [1, 0, 0, 0], form="xy-mont")) == [G1.generator]
        assert G1.decode(ctx.msm(points, [])) == [None]
        order = G1.scalar_field.modulus
        assert G1.decode(ctx.msm(points, [4, 0, 0, order - 1])) == [None]
        low = ctx.msm(points, [0x10001, 1, 1, 1], scalar_bits=16)
        assert G1.decode(low) == G1.decode(ctx.multiply(G1, [10]))
        out = bytearray(48)
        assert ctx.msm(points, [1, 0, 0, 0], form="compressed", out=out) is out
        assert out == ctx.multiply(G1, [1], form="compressed").tobytes()


Point = tuple[int, int] | None


def add(p: Point, q: Point) -> Point:
    """The sum of two points of BLS12-381 G1, by the textbook."""
    modulus = MODULI["bls12-381-fq"]
    if p is None or q is None:
        return q if p is None else p
    (x, y), (u, v) = p, q
    if x == u and (y + v) % modulus == 0:
        return None
    over, under = (3 * x * x, 2 * y) if p == q else (v - y, u - x)
    slope = over * pow(under, -1, modulus) % modulus
    w = (slope * slope - x - u) % modulus
    return w, (slope * (x - w) - y) % modulus


def multiple(scalar: int, p: Point) -> Point:
    total: Point = None
    while scalar:
        if scalar & 1:
            total = add(total, p)
        p, scalar = add(p, p), scalar >> 1
    return total


def outside_the_subgroup(count: int) -> list[Point]:
    """The points of BLS12-381 G1 with the smallest x that are not multiples of the generator."""
    modulus, order = MODULI["bls12-381-fq"], MODULI["bls12-381-fr"]
    found: list[Point] = []
    for x in itertools.count(1):
        y = pow(x**3 + 4, (modulus + 1) // 4, modulus)
        if (y * y - x**3 - 4) % modulus == 0 and multiple(order, (x, y)) is not None:
            found.append((x, y))
        if len(found) == count:
            break
    return found


def test_outside_the_subgroup(ctx: gx.Context) -> None:
    """Integers are scalars as they are: modulo the order of the subgroup they are others."""
    order = MODULI["bls12-381-fr"]
    theirs = outside_the_subgroup(3)
    with ctx.points(G1, theirs) as points:
        for factors in (
            [order, 0, 0],
            [0, order + 5, order - 1],
            [2**256 - 1, 2**255, 2 * order + 3],
        ):
            expected = functools.reduce(add, map(multiple, factors, theirs))
            assert G1.decode(ctx.msm(points, factors)) == [expected]
            assert G1.decode(ctx.msm(points, factors, scalar_form="plain")) == [expected]
            as_objects = np.array(factors, dtype=object)
            assert G1.decode(ctx.msm(points, as_objects)) == [expected]
            (report,) = ctx.run(job := gx.Job.msm(points, factors))
            assert report.status == 0 and G1.decode(job.out) == [expected]
            for point in theirs:
                multiples = [multiple(x, point) for x in factors]
                assert G1.decode(ctx.multiply(G1, factors, point)) == multiples


@pytest.mark.parametrize("bad", [-1, -(2**300), 2**256, 2**256 + 1, 10**5000], ids=int.bit_length)
@pytest.mark.parametrize("place", [0, 2])
def test_scalars_out_of_range(cpu: gx.Context, bad: int, place: int) -> None:
    factors = [1, 2**256 - 1, 3]
    factors[place] = bad
    match = rf"scalar {place} is .*: scalars are integers from 0 to 2\^256 - 1"
    form: Literal["plain"] | None
    with cpu.points(G1, cpu.multiply(G1, [1, 2, 3])) as points:
        for form in (None, "plain"):
            for call in (
                lambda form=form: cpu.msm(points, factors, scalar_form=form),
                lambda form=form: gx.Job.msm(points, factors, scalar_form=form),
                lambda form=form: cpu.multiply(G1, factors, scalar_form=form),
            ):
                with pytest.raises(ValueError, match=match) as caught:
                    call()
                assert isinstance(caught.value, gx.InvalidError) and caught.value.index == place
        with pytest.raises(gx.InvalidError, match="scalar_form 'other'"):
            cpu.msm(points, [1, 2, 3], scalar_form="other")  # type: ignore[arg-type]


def test_points_in_a_buffer(cpu: gx.Context) -> None:
    with (
        cpu.buffer(cpu.multiply(G1, [1, 2, 3])) as buffer,
        cpu.points(G1, buffer) as points,
        cpu.points(G1, buffer[96:]) as fewer,
    ):
        assert G1.decode(cpu.msm(points, [1, 1, 1])) == G1.decode(cpu.multiply(G1, [6]))
        assert G1.decode(cpu.msm(fewer, [1, 1])) == G1.decode(cpu.multiply(G1, [5]))


def test_bad_points(cpu: gx.Context) -> None:
    good = cpu.multiply(G1, [1, 2, 3])
    bad = good.copy()
    bad[1, 0, 0] ^= np.uint64(1)
    with pytest.raises(gx.InvalidError) as caught:
        cpu.points(G1, bad)
    assert caught.value.index == 1
    bad[2] = np.uint64(2**64 - 1)
    with pytest.raises(gx.NotCanonicalError) as limit:
        cpu.points(G1, bad[2:])
    assert limit.value.index == 0
    with pytest.raises(gx.InvalidError, match="288 bytes are not points"):
        cpu.points(G1, good, form="eip2537")
    with pytest.raises(gx.InvalidError, match="form"):
        cpu.points(G1, good, form="xyz")  # type: ignore[arg-type]
    with cpu.points(G1, good) as points:
        with pytest.raises(gx.InvalidError):
            cpu.msm(points, [1, 2, 3, 4])
        with pytest.raises(gx.InvalidError, match="vectors of 2"):
            cpu.msm(points, [1, 2, 3], count=2)
        with pytest.raises(gx.InvalidError, match="of 3"):
            points.read(1, 3)
        with pytest.raises(gx.InvalidError, match="out has 48 bytes"):
            cpu.msm(points, [1, 2, 3], out=bytearray(48))
    with pytest.raises(gx.InvalidError, match="no form"):
        cpu.multiply(gx.BN254_G1, [1], form="compressed")
