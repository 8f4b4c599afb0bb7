# SPDX-License-Identifier: Apache-2.0
"""Points and multi-scalar multiplication, beside arkworks (BLS12-381) and py_ecc (BN254)."""

import random
from typing import Any

import numpy as np
import py_arkworks_bls12381 as ark
import pytest
from py_ecc import bn128

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
        assert G1.decode(ctx.msm(points, [4, 0, 0, -1])) == [None]
        low = ctx.msm(points, [0x10001, 1, 1, 1], scalar_bits=16)
        assert G1.decode(low) == G1.decode(ctx.multiply(G1, [10]))
        out = bytearray(48)
        assert ctx.msm(points, [1, 0, 0, 0], form="compressed", out=out) is out
        assert out == ctx.multiply(G1, [1], form="compressed").tobytes()


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
