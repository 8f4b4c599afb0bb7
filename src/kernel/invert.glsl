/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the passes of inv and div (gpu/passes.c). The elements to invert are in slot A, for div
 * the numerators are in slot C.
 */
#include "product.glsl"

BUFFER(READ_WRITE, Scratch, GX_K_SCRATCH, Quad, quad, mem_scratch);

/* Invocations, and the position in SCRATCH of the products before elements THREADS .. n. */
#define THREADS STAGE(0)
#define AT_PREFIX STAGE(1)

/* Of an operand, checked. */
FUNCTION Element checked_a(u32 i)
{
    Element x = load_a(i);
    check_element(x, i);
    return x;
}

FUNCTION Element checked_c(u32 i)
{
    Element x = load_c(i);
    check_element(x, i);
    return x;
}

/* x, or 1 if x is 0. */
FUNCTION Element not_zero(Element x)
{
    bool none = is_zero(x);
    UNROLL for (int i = 0; i < WORDS; i++)
        x.word[i] = none ? ONE[i] : x.word[i];
    return x;
}

FUNCTION Element zero_where(bool none, Element x)
{
    UNROLL for (int i = 0; i < WORDS; i++)
        x.word[i] = none ? 0 : x.word[i];
    return x;
}
