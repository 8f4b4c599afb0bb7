/* SPDX-License-Identifier: Apache-2.0
 *
 * inv, div: the backward pass of invert_up.comp. Element t of B is now the inverse of the product
 * of the elements t, t + THREADS, ... of A. From the last of them to the first: multiplied by the
 * product before it, it is the element's inverse; multiplied by the element, it is what the next
 * one needs.
 */
#include "invert.glsl"

KERNEL
{
    u32 t = own_index();
    if (t >= THREADS)
        return;
    Element inverse;
    LOAD(inverse, mem_b, AT_B, t);
    Limbs rest = factor(inverse);
    u32 count = (ELEMENTS - t + THREADS - 1) / THREADS;
#if PREFETCH /* in CUDA: what an element needs is loaded while the products of the one after are computed */
    u32 i = t + (count - 1) * THREADS;
    Element next, next_before = ELEMENT(ONE);
    LOAD(next, mem_a, AT_A, operand_index(GX_BROADCAST_A, i)); /* checked in the forward pass */
    if (count > 1)
        LOAD(next_before, mem_scratch, AT_PREFIX, i - THREADS);
    LOOP for (u32 k = count; k-- > 0; i -= THREADS) {
        Element x = next, before = next_before;
        if (k > 0) {
            LOAD(next, mem_a, AT_A, operand_index(GX_BROADCAST_A, i - THREADS));
            next_before = ELEMENT(ONE);
        }
        if (k > 1)
            LOAD(next_before, mem_scratch, AT_PREFIX, i - 2 * THREADS);
        Limbs own = multiply(rest, cofactor(before));
        if (OP == GX_DIV)
            own = multiply(own, cofactor(checked_c(i)));
        rest = multiply(rest, cofactor(not_zero(x)));
        Element r = zero_where(is_zero(x), canonical(own));
        STORE(mem_out, AT_OUT, i, r);
    }
#else
    for (u32 k = count; k-- > 0;) {
        u32 i = t + k * THREADS;
        Element x, before = ELEMENT(ONE);
        LOAD(x, mem_a, AT_A, operand_index(GX_BROADCAST_A, i)); /* checked in the forward pass */
        if (k > 0)
            LOAD(before, mem_scratch, AT_PREFIX, i - THREADS);
        Limbs own = multiply(rest, cofactor(before));
        if (OP == GX_DIV)
            own = multiply(own, cofactor(checked_c(i)));
        rest = multiply(rest, cofactor(not_zero(x)));
        Element r = zero_where(is_zero(x), canonical(own));
        STORE(mem_out, AT_OUT, i, r);
    }
#endif
}
