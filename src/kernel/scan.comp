/* SPDX-License-Identifier: Apache-2.0
 *
 * prefix-sum, prefix-product, divide-linear, evaluate, powers and cosets, all of which go through
 * runs of elements, one in each invocation: gpu/passes_poly.c says which pass does what. B is the
 * point, or the base of powers; C has what runs begin with. Built with INT64 = 1 (mul64.glsl) or 0
 * (mul32.glsl).
 */
#include "product.glsl"

#define RUN       (STAGE(0) & 0xff)
#define SQUARINGS (STAGE(0) >> GX_K_SCAN_SQUARINGS & 0xff)
#define HAS(flag) ((STAGE(0) & (flag)) != 0)
/* Of evaluate in bit-reversed order: runs, whose elements are so far apart; 0: they are neighbours.
 * Of cosets: elements of a copy. */
#define STRIDE STAGE(1)

/* OP is known when the kernel is compiled. */
#define HAS_POINT  (OP == GX_POWERS || OP == GX_EVALUATE || OP == GX_DIVIDE_LINEAR)
#define MULTIPLIES (OP != GX_PREFIX_SUM)
#define ADDS       (OP == GX_PREFIX_SUM || OP == GX_EVALUATE || OP == GX_DIVIDE_LINEAR)

/* Where step j of run t, which has `length`, finds its element. */
FUNCTION u32 source(u32 t, u32 j, u32 length)
{
    u32 i = t * RUN + j, last = length - 1 - j;
    if (OP == GX_COSETS)
        return i % STRIDE;
    if (OP == GX_EVALUATE && STRIDE == 0)
        return t * RUN + last;
    if (OP == GX_EVALUATE) /* the bits of a number below RUN, reversed */
        return t + STRIDE * (REVERSE_BITS(last) >> 31 - HIGHEST_BIT_OF_ANY(RUN) >> 1);
    return OP == GX_DIVIDE_LINEAR && HAS(GX_K_SCAN_CALLER) ? ELEMENTS - 1 - i : i;
}

FUNCTION Limbs point(u32 t)
{
    Element z = load_b(0);
    if (HAS(GX_K_SCAN_OPERAND) && t == 0)
        check_element(z, 0);
    for (u32 i = 0; i < SQUARINGS; i++)
        z = canonical(multiply(factor(z), cofactor(z)));
    return cofactor(z);
}

FUNCTION Element nothing()
{
    if (OP == GX_PREFIX_PRODUCT || OP == GX_POWERS)
        return ELEMENT(ONE);
    return zero();
}

/* Before and after element i. */
FUNCTION void store(u32 i, Element before, Element after)
{
    bool ends = HAS(GX_K_SCAN_CALLER) && OP != GX_POWERS;
    UNROLL for (int k = 0; k < WORDS; k++)
        after.word[k] = ends ? after.word[k] : before.word[k];
    if (OP != GX_DIVIDE_LINEAR || !HAS(GX_K_SCAN_CALLER)) {
        STORE(mem_out, AT_OUT, i, after);
    } else if (i + 1 < ELEMENTS) { /* the last one is the remainder */
        STORE(mem_out, AT_OUT, ELEMENTS - 2 - i, after);
    }
}

KERNEL
{
    u32 t = own_index(), first = t * RUN;
    if (first >= ELEMENTS)
        return;
    u32 length = min(RUN, ELEMENTS - first);
    Limbs y = cofactor(zero());
    Element sum = nothing();
    if (HAS(GX_K_SCAN_CARRY))
        sum = load_c(t);
    if (HAS_POINT)
        y = point(t);
    for (u32 j = 0; j < length; j++) {
        Element x = zero();
        if (OP != GX_POWERS) {
            u32 i = source(t, j, length);
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
        STORE(mem_out, AT_OUT, t, sum);
    } else if (OP == GX_DIVIDE_LINEAR && HAS(GX_K_SCAN_CALLER) && t == 0) {
        Element none = zero();
        STORE(mem_out, AT_OUT, ELEMENTS - 1, none);
    }
}
