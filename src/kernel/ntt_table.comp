/* SPDX-License-Identifier: Apache-2.0
 *
 * The twiddles of a domain, from their factors: device/gpu/ntt_table.h.
 */
#include "product.glsl"

KERNEL
{
    u32 i = own_index();
    if (i >= ELEMENTS)
        return;
    Element low = load_a(i & (1u << GX_K_NTT_LOW_BITS) - 1), high = load_b(i >> GX_K_NTT_LOW_BITS);
    Element r = canonical(multiply(factor(low), cofactor(high)));
    STORE(mem_out, AT_OUT, i, r);
}
