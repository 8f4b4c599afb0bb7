/* SPDX-License-Identifier: Apache-2.0
 *
 * sum, and the joining of partial results of any reduction: invocation t adds the elements t, t +
 * T, t + 2T, ..., EACH of them at a time, so that as many loads are in flight. Memory-bound on any
 * GPU.
 */
#include "prime.glsl"
#include "reduce.glsl"

KERNEL
{
    u32 threads = GROUPS * WORKGROUP;
    Element sum = zero();
    if (group_index() >= GROUPS)
        return;
    for (u32 first = own_index(); first < ELEMENTS; first += EACH * threads) {
        Element x[EACH];
        UNROLL for (u32 e = 0; e < EACH; e++)
            if (first + e * threads < ELEMENTS)
                x[e] = load_a(first + e * threads);
        UNROLL for (u32 e = 0; e < EACH; e++) {
            u32 i = first + e * threads;
            if (i < ELEMENTS) {
                check_element(x[e], i);
                sum = add(sum, x[e]);
            }
        }
    }
    put_partial(group_index(), join(sum));
}
