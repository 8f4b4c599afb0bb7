/* SPDX-License-Identifier: Apache-2.0
 *
 * sum, and the joining of partial results of any reduction: invocation t adds the elements t, t +
 * T, t + 2T, ..., EACH of them at a time, so that as many loads are in flight. Memory-bound on any
 * GPU.
 */
#version 450
#include "prime.glsl"
#include "reduce.glsl"

void main()
{
    uint threads = GROUPS * WORKGROUP;
    Element sum = zero();
    if (group_index() >= GROUPS)
        return;
    for (uint first = own_index(); first < push.n; first += EACH * threads) {
        Element x[EACH];
        [[unroll]] for (uint e = 0; e < EACH; e++)
            if (first + e * threads < push.n)
                x[e] = load_a(first + e * threads);
        [[unroll]] for (uint e = 0; e < EACH; e++) {
            uint i = first + e * threads;
            if (i < push.n) {
                check_element(x[e], i);
                sum = add(sum, x[e]);
            }
        }
    }
    put_partial(group_index(), join(sum));
}
