# SPDX-License-Identifier: Apache-2.0
"""Transforms, beside the definition in plain integers."""

import numpy as np
import pytest
from support import MODULI, SCALAR_FIELDS, bit_reversed, dft, integers, root

import gpuexec as gx

SHIFT = {"bls12-381-fr": 7, "bn254-fr": 5}


@pytest.mark.parametrize("field", SCALAR_FIELDS, ids=lambda f: f.name)
@pytest.mark.parametrize("log2_n", [0, 1, 5])
def test_orders_and_cosets(cpu: gx.Context, field: gx.Field, log2_n: int) -> None:
    x = integers(field, 1 << log2_n)
    a = field.encode(x)
    with cpu.domain(field, 6) as domain:
        assert domain.root(log2_n) == root(field, log2_n)
        for shift in (1, SHIFT[field.name]):
            expected = dft(field, x, root(field, log2_n), shift)
            coset = shift != 1
            values = cpu.ntt(domain, a, coset=coset)
            assert field.decode(values) == expected
            assert field.decode(cpu.ntt(domain, values, inverse=True, coset=coset)) == x
            reversed_values = cpu.ntt(domain, a, reversed_out=True, coset=coset)
            assert field.decode(reversed_values) == bit_reversed(expected)
            back = cpu.ntt(domain, reversed_values, inverse=True, reversed_in=True, coset=coset)
            assert field.decode(back) == x


@pytest.mark.parametrize("field", SCALAR_FIELDS, ids=lambda f: f.name)
def test_batches(cpu: gx.Context, field: gx.Field) -> None:
    rows = [integers(field, 8, seed) for seed in range(3)]
    expected = [dft(field, row, root(field, 3)) for row in rows]
    a = np.stack([field.encode(row) for row in rows])
    flat = [v for row in expected for v in row]
    with cpu.domain(field, 3) as domain:
        values = cpu.ntt(domain, a)
        assert values.shape == (3, 8, 4)
        assert field.decode(values) == flat
        assert field.decode(cpu.ntt(domain, a.tobytes(), log2_n=3)) == flat
        columns = np.ascontiguousarray(a.transpose(1, 0, 2))
        across = cpu.ntt(domain, columns, columns=True)
        assert across.shape == (8, 3, 4)
        assert np.array_equal(across.transpose(1, 0, 2), values)
        in_place = a.copy()
        assert cpu.ntt(domain, in_place, out=in_place) is in_place
        assert np.array_equal(in_place, values)


@pytest.mark.parametrize("field", SCALAR_FIELDS, ids=lambda f: f.name)
def test_padding(cpu: gx.Context, field: gx.Field) -> None:
    x = integers(field, 4)
    expected = dft(field, x + [0] * 12, root(field, 4))
    with cpu.domain(field, 4) as domain:
        values = cpu.ntt(domain, field.encode(x), pad=2)
        assert values.shape == (16, 4)
        assert field.decode(values) == expected
        assert field.decode(cpu.ntt(domain, x, pad=2)) == expected


def test_own_root_and_shift(cpu: gx.Context) -> None:
    field = gx.BN254_FR
    p = MODULI[field.name]
    w = pow(7, (p - 1) >> 3, p)  # that of halo2curves
    x = integers(field, 8)
    with cpu.domain(field, 3, root=w, shift=9) as domain:
        assert domain.root() == w
        assert field.decode(cpu.ntt(domain, x, coset=True)) == dft(field, x, w, 9)


def test_buffers(ctx: gx.Context) -> None:
    """The product of two polynomials, without leaving the device."""
    field = gx.BLS12_381_FR
    x, y = integers(field, 4), integers(field, 4, 2)
    product = [0] * 8
    for i, v in enumerate(x):
        for j, w in enumerate(y):
            product[i + j] = (product[i + j] + v * w) % field.modulus
    with (
        ctx.domain(field, 3) as domain,
        ctx.buffer(field.encode(x)) as a,
        ctx.buffer(field.encode(y)) as b,
        ctx.buffer(8 * 32) as u,
        ctx.buffer(8 * 32) as v,
    ):
        ctx.run(
            gx.Job.ntt(domain, a, out=u, pad=1, reversed_out=True),
            gx.Job.ntt(domain, b, out=v, pad=1, reversed_out=True),
            gx.Job("mul", field, u, v, out=u),
            gx.Job.ntt(domain, u, out=u, inverse=True, reversed_in=True),
        )
        assert field.decode(u.read(field)) == product


def test_refused(cpu: gx.Context) -> None:
    field = gx.BLS12_381_FR
    with cpu.domain(field, 4) as domain:
        with pytest.raises(gx.InvalidError, match="power of two"):
            cpu.ntt(domain, field.random(6))
        with pytest.raises(gx.InvalidError):
            cpu.ntt(domain, field.random(32))  # larger than the domain
        with pytest.raises(gx.InvalidError, match="out has 256 bytes"):
            cpu.ntt(domain, field.random(16), out=field.random(8))
        with pytest.raises(gx.InvalidError, match="limbs"):
            cpu.ntt(domain, gx.BLS12_381_FQ.random(16))
    with pytest.raises(gx.Error):
        cpu.domain(field, 33)
    with pytest.raises(gx.Error):
        cpu.domain(gx.BLS12_381_FQ, 3)
