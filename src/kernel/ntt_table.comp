/* SPDX-License-Identifier: Apache-2.0
 *
 * The twiddles of a domain, from their factors: op/ntt_table.h.
 */
#version 450
#include "prime.glsl"
#if INT64
#include "mul64.glsl"
#else
#include "mul32.glsl"
#endif

void main()
{
    uint i = own_index();
    if (i >= push.n)
        return;
    Element low = load_a(i & (1u << GX_K_NTT_LOW_BITS) - 1), high = load_b(i >> GX_K_NTT_LOW_BITS);
    Element r = canonical(multiply(factor(low), cofactor(high)));
    STORE(mem_out, push.at_out, i, r);
}
