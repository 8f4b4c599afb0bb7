# SPDX-License-Identifier: Apache-2.0
"""A commitment to a polynomial, with py_ecc's points and Python's integers.

Needs py_ecc.
"""

from py_ecc import bn128

import gpuexec as gx

with gx.Context() as ctx:
    powers = [bn128.multiply(bn128.G1, 3**i) for i in range(4)]  # of a secret, 3
    with ctx.points(gx.BN254_G1, powers) as points:
        commitment = gx.BN254_G1.decode(ctx.msm(points, [5, 0, 2, 1]))[0]
    value = 5 + 2 * 3**2 + 3**3
    expected = bn128.multiply(bn128.G1, value)
    assert commitment == (int(expected[0]), int(expected[1]))
    print(f"the commitment to 5 + 2 X^2 + X^3 is {value} G = {commitment}")
