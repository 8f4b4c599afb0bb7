/* SPDX-License-Identifier: Apache-2.0
 *
 * inv, div: the backward pass of invert_up.comp. Element t of B is now the inverse of the product
 * of the elements t, t + THREADS, ... of A. From the last of them to the first: multiplied by the
 * product before it, it is the element's inverse; multiplied by the element, it is what the next
 * one needs.
 */
#version 450
#include "invert.glsl"

void main()
{
    uint t = own_index();
    if (t >= THREADS)
        return;
    Element inverse;
    LOAD(inverse, mem_b, push.at_b, t);
    Limbs rest = factor(inverse);
    uint count = (push.n - t + THREADS - 1) / THREADS;
    for (uint k = count; k-- > 0;) {
        uint i = t + k * THREADS;
        Element x, before = Element(ONE);
        LOAD(x, mem_a, push.at_a, operand_index(GX_BROADCAST_A, i)); /* checked in the forward pass */
        if (k > 0)
            LOAD(before, mem_scratch, AT_PREFIX, i - THREADS);
        Limbs own = multiply(rest, cofactor(before));
        if (OP == GX_DIV)
            own = multiply(own, cofactor(checked_c(i)));
        rest = multiply(rest, cofactor(not_zero(x)));
        Element r = zero_where(is_zero(x), canonical(own));
        STORE(mem_out, push.at_out, i, r);
    }
}
