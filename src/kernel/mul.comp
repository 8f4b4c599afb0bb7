/* SPDX-License-Identifier: Apache-2.0
 *
 * mul, sqr, mul-add, to-mont and from-mont. Built with INT64 = 1 (mul64.glsl, KARATSUBA
 * says how deep) or 0 (mul32.glsl).
 */
#include "product.glsl"

#define OPERANDS (OP == GX_MUL ? 2 : OP == GX_MUL_ADD ? 3 : 1)

/* The factor of a: the module contains one product, whatever OP is. */
FUNCTION Element second_factor(Element b)
{
    Element plain_one = zero();
    plain_one.word[0] = 1;
    if (OP == GX_TO_MONT)
        return ELEMENT(R2);
    if (OP == GX_FROM_MONT)
        return plain_one;
    return b;
}

FUNCTION Element compute(Element a, Element b, Element c)
{
    if (OP == GX_SQR) {
        LOOP for (u32 i = 0; i < REPEAT; i++)
            a = canonical(square(a));
        return a;
    }
    b = second_factor(b);
    Limbs r = factor(a), y = cofactor(b);
    LOOP for (u32 i = 0; i < REPEAT; i++)
        r = multiply(r, y);
    a = canonical(r);
    if (OP == GX_MUL_ADD)
        a = add(a, c);
    return a;
}

#include "elementwise.glsl"
