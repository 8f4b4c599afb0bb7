/* SPDX-License-Identifier: Apache-2.0
 *
 * inv, div: invocation t multiplies the elements t, t + THREADS, ... of A into element t
 * of OUT. The product before element i >= THREADS goes to element i - THREADS of the
 * prefixes in SCRATCH.
 */
#include "invert.glsl"

KERNEL
{
    u32 t = own_index();
    if (t >= THREADS)
        return;
    Limbs all = factor(not_zero(checked_a(t))); /* THREADS <= n */
#if PREFETCH /* in CUDA: an element is loaded while the product with the one before is computed */
    u32 i = t + THREADS;
    Element next = zero();
    if (i < ELEMENTS)
        next = load_a(i);
    LOOP for (; i < ELEMENTS; i += THREADS) {
        Element x = next, before = canonical(all);
        if (i + THREADS < ELEMENTS)
            next = load_a(i + THREADS);
        check_element(x, i);
        STORE(mem_scratch, AT_PREFIX, i - THREADS, before);
        all = multiply(all, cofactor(not_zero(x)));
    }
#else
    for (u32 i = t + THREADS; i < ELEMENTS; i += THREADS) {
        Element before = canonical(all);
        STORE(mem_scratch, AT_PREFIX, i - THREADS, before);
        all = multiply(all, cofactor(not_zero(checked_a(i))));
    }
#endif
    Element product = canonical(all);
    STORE(mem_out, AT_OUT, t, product);
}
