/* SPDX-License-Identifier: Apache-2.0
 *
 * prefix-sum, prefix-product, divide-linear, evaluate, powers and cosets, all of which go through
 * runs of elements, one in each invocation: op/passes_poly.c says which pass does what. B is the
 * point, or the base of powers; C has what runs begin with. Built with INT64 = 1 (mul64.glsl) or 0
 * (mul32.glsl).
 */
#version 450
#include "prime.glsl"
#if INT64
#include "mul64.glsl"
#else
#include "mul32.glsl"
#endif

#define RUN       (push.stage[0] & 0xff)
#define SQUARINGS (push.stage[0] >> GX_K_SCAN_SQUARINGS & 0xff)
#define HAS(flag) ((push.stage[0] & (flag)) != 0)
/* Of evaluate in bit-reversed order: runs, whose elements are so far apart; 0: they are neighbours.
 * Of cosets: elements of a copy. */
#define STRIDE push.stage[1]

/* OP is known when the kernel is compiled. */
const bool HAS_POINT = OP == GX_POWERS || OP == GX_EVALUATE || OP == GX_DIVIDE_LINEAR;
const bool MULTIPLIES = OP != GX_PREFIX_SUM;
const bool ADDS = OP == GX_PREFIX_SUM || OP == GX_EVALUATE || OP == GX_DIVIDE_LINEAR;

/* Where step j of run t, which has `length`, finds its element. */
uint source(uint t, uint j, uint length)
{
    uint i = t * RUN + j, last = length - 1 - j;
    if (OP == GX_COSETS)
        return i % STRIDE;
    if (OP == GX_EVALUATE && STRIDE == 0)
        return t * RUN + last;
    if (OP == GX_EVALUATE) /* the bits of a number below RUN, reversed */
        return t + STRIDE * (bitfieldReverse(last) >> 31 - findMSB(RUN) >> 1);
    return OP == GX_DIVIDE_LINEAR && HAS(GX_K_SCAN_CALLER) ? push.n - 1 - i : i;
}

Limbs point(uint t)
{
    Element z = load_b(0);
    if (HAS(GX_K_SCAN_OPERAND) && t == 0)
        check_element(z, 0);
    for (uint i = 0; i < SQUARINGS; i++)
        z = canonical(multiply(factor(z), cofactor(z)));
    return cofactor(z);
}

Element nothing()
{
    if (OP == GX_PREFIX_PRODUCT || OP == GX_POWERS)
        return Element(ONE);
    return zero();
}

/* Before and after element i. */
void store(uint i, Element before, Element after)
{
    bool ends = HAS(GX_K_SCAN_CALLER) && OP != GX_POWERS;
    [[unroll]] for (int k = 0; k < WORDS; k++)
        after.word[k] = ends ? after.word[k] : before.word[k];
    if (OP != GX_DIVIDE_LINEAR || !HAS(GX_K_SCAN_CALLER)) {
        STORE(mem_out, push.at_out, i, after);
    } else if (i + 1 < push.n) { /* the last one is the remainder */
        STORE(mem_out, push.at_out, push.n - 2 - i, after);
    }
}

void main()
{
    uint t = own_index(), first = t * RUN;
    if (first >= push.n)
        return;
    uint length = min(RUN, push.n - first);
    Limbs y = cofactor(zero());
    Element sum = nothing();
    if (HAS(GX_K_SCAN_CARRY))
        sum = load_c(t);
    if (HAS_POINT)
        y = point(t);
    for (uint j = 0; j < length; j++) {
        Element x = zero();
        if (OP != GX_POWERS) {
            uint i = source(t, j, length);
            x = load_a(i);
            if (HAS(GX_K_SCAN_OPERAND))
                check_element(x, i);
        }
        if (OP == GX_COSETS)
            sum = load_c((first + j) / STRIDE);
        if (OP == GX_COSETS || OP == GX_PREFIX_PRODUCT)
            y = cofactor(x);
        Element before = sum;
        if (MULTIPLIES)
            sum = canonical(multiply(factor(sum), y));
        if (ADDS)
            sum = add(sum, x);
        if (HAS(GX_K_SCAN_DOWN))
            store(first + j, before, sum);
    }
    if (!HAS(GX_K_SCAN_DOWN)) {
        STORE(mem_out, push.at_out, t, sum);
    } else if (OP == GX_DIVIDE_LINEAR && HAS(GX_K_SCAN_CALLER) && t == 0) {
        Element none = zero();
        STORE(mem_out, push.at_out, push.n - 1, none);
    }
}
