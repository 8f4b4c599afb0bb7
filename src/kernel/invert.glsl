/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the passes of inv and div (op/passes.c). The elements to invert are in slot A, for div
 * the numerators are in slot C.
 */
#include "prime.glsl"
#if INT64
#include "mul64.glsl"
#else
#include "mul32.glsl"
#endif

layout(std430, binding = GX_K_SCRATCH) buffer Scratch { uvec4 quad[]; } mem_scratch;

/* Invocations, and the position in SCRATCH of the products before elements THREADS .. n. */
#define THREADS push.stage[0]
#define AT_PREFIX push.stage[1]

/* Of an operand, checked. */
Element checked_a(uint i)
{
    Element x = load_a(i);
    check_element(x, i);
    return x;
}

Element checked_c(uint i)
{
    Element x = load_c(i);
    check_element(x, i);
    return x;
}

/* x, or 1 if x is 0. */
Element not_zero(Element x)
{
    bool none = is_zero(x);
    [[unroll]] for (int i = 0; i < WORDS; i++)
        x.word[i] = none ? ONE[i] : x.word[i];
    return x;
}

Element zero_where(bool none, Element x)
{
    [[unroll]] for (int i = 0; i < WORDS; i++)
        x.word[i] = none ? 0 : x.word[i];
    return x;
}
