/* SPDX-License-Identifier: Apache-2.0
 *
 * OUT = A, 16 bytes per invocation; n counts these. The bandwidth limit in benchmarks, and faster
 * than the copy command of some drivers.
 */
#include "common.glsl"

BUFFER(writeonly, Out, GX_K_OUT, Quad, quad, mem_out);
BUFFER(readonly, A, GX_K_A, Quad, quad, mem_a);

KERNEL
{
    u32 i = own_index();
    if (i < ELEMENTS)
        mem_out.quad[AT_OUT + i] = mem_a.quad[AT_A + i];
}
