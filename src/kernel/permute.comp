/* SPDX-License-Identifier: Apache-2.0
 *
 * bit-reverse, gather, rotate, interleave and deinterleave: element i of OUT in invocation i. The
 * indices of gather, in B, begin at any word, so offsets are in words here.
 */
#include "prime.glsl"

BUFFER(readonly, Indices, GX_K_B, u32, word, mem_indices);

#define COUNT STAGE(0) /* of gx_poly_params; rotate: below n */
#define PART STAGE(1) /* n / COUNT; bit-reverse: 32 - log2 n */

FUNCTION u32 source(u32 i)
{
    if (OP == GX_BIT_REVERSE)
        return PART < 32 ? REVERSE_BITS(i) >> PART : 0;
    if (OP == GX_ROTATE)
        return i < ELEMENTS - COUNT ? i + COUNT : i - (ELEMENTS - COUNT);
    if (OP == GX_INTERLEAVE)
        return i % COUNT * PART + i / COUNT;
    return i % PART * COUNT + i / PART;
}

/* An index out of range is bad like an element that is not below the modulus. */
FUNCTION u32 gather(u32 i)
{
    u32 index = mem_indices.word[AT_B + i];
    if (index < COUNT)
        return index;
    if (CHECK != 0)
        ATOMIC_MIN(mem_bad.index, i);
    return 0;
}

FUNCTION Element load(u32 i)
{
    Element x;
    LOAD(x, mem_a, AT_A / 4, i);
    return x;
}

/* All of A is checked, whatever is gathered. */
KERNEL
{
    u32 i = own_index();
    if (OP == GX_GATHER && CHECK != 0 && i < COUNT)
        check_element(load(i), i);
    if (i >= ELEMENTS)
        return;
    u32 from = OP == GX_GATHER ? gather(i) : source(i);
    Element x = load(from);
    if (OP != GX_GATHER)
        check_element(x, from);
    STORE(mem_out, AT_OUT / 4, i, x);
}
