/* SPDX-License-Identifier: Apache-2.0
 *
 * What shuffled.glsl does by shuffles, in CUDA by shared memory, of which every warp has its own part:
 * an instruction for a quad, in place of four, and none to select it. Eight invocations, whose
 * accesses are one at a time, are in different banks: consecutive quads are, and every third one; of
 * every second one, the later half has its neighbours' places.
 */
SHARED Quad staged[GROUP_SIZE * QUADS];

/* Where this invocation has its quad of row 0, others following LANES apart, and the k-th quad of its
 * element. */
FUNCTION Quad *row_slot()
{
    return &staged[(LOCAL_INDEX - LANE) * QUADS + (QUADS == 2 ? LANE ^ (LANE >> 3 & 1u) : LANE)];
}
FUNCTION Quad *own_slot(u32 k)
{
    return &staged[LOCAL_INDEX * QUADS] + (QUADS == 2 ? k ^ (LANE >> 2 & 1u) : k);
}

/* As in shuffled.glsl. */
FUNCTION u32 quad_in(u32 r) { return r * LANES + LANE; }

FUNCTION Element gather(Quad row[QUADS])
{
    Element x;
    WARP_BARRIER(); /* what was there has been read */
    UNROLL for (int r = 0; r < QUADS; r++)
        row_slot()[r * LANES] = row[r];
    WARP_BARRIER();
    UNROLL for (int k = 0; k < QUADS; k++)
        set_quad(x, k, *own_slot(k));
    return x;
}

FUNCTION void scatter(Element x, OUT_ARRAY(Quad) row[QUADS])
{
    WARP_BARRIER();
    UNROLL for (int k = 0; k < QUADS; k++)
        *own_slot(k) = quad_of(x, k);
    WARP_BARRIER();
    UNROLL for (int r = 0; r < QUADS; r++)
        row[r] = row_slot()[r * LANES];
}
