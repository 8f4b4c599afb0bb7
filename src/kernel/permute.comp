/* SPDX-License-Identifier: Apache-2.0
 *
 * bit-reverse, gather, rotate, interleave and deinterleave: element i of OUT in invocation i. The
 * indices of gather, in B, begin at any word, so offsets are in words here.
 */
#version 450
#include "prime.glsl"

layout(std430, binding = GX_K_B) readonly buffer Indices { uint word[]; } mem_indices;

#define COUNT push.stage[0] /* of gx_poly_params; rotate: below n */
#define PART push.stage[1] /* n / COUNT; bit-reverse: 32 - log2 n */

uint source(uint i)
{
    if (OP == GX_BIT_REVERSE)
        return PART < 32 ? bitfieldReverse(i) >> PART : 0;
    if (OP == GX_ROTATE)
        return i < push.n - COUNT ? i + COUNT : i - (push.n - COUNT);
    if (OP == GX_INTERLEAVE)
        return i % COUNT * PART + i / COUNT;
    return i % PART * COUNT + i / PART;
}

/* An index out of range is bad like an element that is not below the modulus. */
uint gather(uint i)
{
    uint index = mem_indices.word[push.at_b + i];
    if (index < COUNT)
        return index;
    if (CHECK != 0)
        atomicMin(mem_bad.index, i);
    return 0;
}

Element load(uint i)
{
    Element x;
    LOAD(x, mem_a, push.at_a / 4, i);
    return x;
}

/* All of A is checked, whatever is gathered. */
void main()
{
    uint i = own_index();
    if (OP == GX_GATHER && CHECK != 0 && i < COUNT)
        check_element(load(i), i);
    if (i >= push.n)
        return;
    uint from = OP == GX_GATHER ? gather(i) : source(i);
    Element x = load(from);
    if (OP != GX_GATHER)
        check_element(x, from);
    STORE(mem_out, push.at_out / 4, i, x);
}
