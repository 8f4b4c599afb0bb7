/* SPDX-License-Identifier: Apache-2.0
 *
 * As elementwise.glsl, for kernels bound by memory on GPUs that want neighbouring invocations
 * to touch neighbouring 16 bytes (quads). A subgroup of S invocations moves its S elements as
 * QUADS rows of S quads and deals the quads out by shuffles: in step k every invocation hands
 * out the one quad it holds that is the k-th of its element.
 *
 * It needs the quads of an invocation, one in each row, to be of different k. With three
 * quads to an element they are by themselves, as S is no multiple of 3; with two, the second
 * row is taken with neighbours exchanged. In CUDA, with STAGED = 1, the quads are dealt out by shared
 * memory (staged.cuh).
 */
#ifndef __CUDA__
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

#define LANE gl_SubgroupInvocationID
#define LANES gl_SubgroupSize /* a power of two */
#define SUBGROUP gl_SubgroupID
#define FULL_SUBGROUPS (gl_NumSubgroups * LANES == gl_WorkGroupSize.x)
#define SHUFFLE(x, lane) subgroupShuffle(x, lane)
#endif

#if STAGED
#include "staged.cuh"
#else

#if QUADS == 3
/* The quad, counted within the subgroup's block, that this invocation holds in row r. */
FUNCTION u32 quad_in(u32 r)
{
    return r * LANES + LANE;
}

/* The row in which this invocation holds a quad that is the k-th of its element. */
FUNCTION u32 row_of(u32 k)
{
    u32 steps = (k + 3 - LANE % 3) % 3;
    return LANES % 3 == 1 ? steps : (3 - steps) % 3;
}

/* The invocation that holds quad q. */
FUNCTION u32 holder_of(u32 q)
{
    return q & (LANES - 1);
}
#elif QUADS == 2
FUNCTION u32 quad_in(u32 r)
{
    return r * LANES + (LANE ^ r);
}

FUNCTION u32 row_of(u32 k)
{
    return LANE & 1 ^ k;
}

FUNCTION u32 holder_of(u32 q)
{
    return q & (LANES - 1) ^ (q >= LANES ? 1 : 0);
}
#endif

FUNCTION Quad from_lane(Quad q, u32 lane)
{
    return QUAD(SHUFFLE(q.x, lane), SHUFFLE(q.y, lane), SHUFFLE(q.z, lane), SHUFFLE(q.w, lane));
}

/* From rows to elements, one per invocation. */
FUNCTION Element gather(Quad row[QUADS])
{
    Element x;
    UNROLL for (int k = 0; k < QUADS; k++) {
        u32 r = row_of(k);
        Quad mine = row[0];
        UNROLL for (int j = 1; j < QUADS; j++)
            mine = r == j ? row[j] : mine;
        set_quad(x, k, from_lane(mine, holder_of(QUADS * LANE + k)));
    }
    return x;
}

/* The reverse. */
FUNCTION void scatter(Element x, OUT_ARRAY(Quad) row[QUADS])
{
    UNROLL for (int k = 0; k < QUADS; k++) {
        u32 r = row_of(k);
        Quad got = from_lane(quad_of(x, k), quad_in(r) / QUADS);
        UNROLL for (int j = 0; j < QUADS; j++)
            row[j] = r == j ? got : row[j];
    }
}

#endif

/* Quad q, of row r, of a binding whose element 0 lies at quad `at`. */
#if STAGED /* one address for all rows */
#define QUAD_AT(buffer, at, q, r) (&buffer.quad[(at) + (q) - (r) * LANES])[(r) * LANES]
#else
#define QUAD_AT(buffer, at, q, r) buffer.quad[(at) + q]
#endif

/* The rows of the block that begins at element `first`; nothing beyond the n elements. */
#define LOAD_ROWS(row, buffer, at, first)                                                          \
    UNROLL for (int r_ = 0; r_ < QUADS; r_++) {                                                    \
        u32 q_ = (first) * QUADS + quad_in(r_);                                                    \
        row[r_] = q_ < ELEMENTS * QUADS ? QUAD_AT(buffer, at, q_, r_) : QUAD(0, 0, 0, 0);          \
    }

FUNCTION void shuffled(u32 first)
{
    Quad row_a[QUADS], row_b[QUADS], row[QUADS];
    bool one_a = (BROADCAST & GX_BROADCAST_A) != 0;
    bool one_b = (BROADCAST & GX_BROADCAST_B) != 0;
    u32 i = first + LANE;
    if (!one_a)
        LOAD_ROWS(row_a, mem_a, AT_A, first)
    if (OPERANDS >= 2 && !one_b)
        LOAD_ROWS(row_b, mem_b, AT_B, first)

    Element x, y = zero();
    if (one_a)
        x = load_a(0);
    else
        x = gather(row_a);
    if (OPERANDS >= 2 && one_b)
        y = load_b(0);
    else if (OPERANDS >= 2)
        y = gather(row_b);
    if (i < ELEMENTS) {
        check_element(x, i);
        if (OPERANDS >= 2)
            check_element(y, i);
    }
    if (OP == GX_OP_CHECK)
        return;
    scatter(compute(x, y, zero()), row);
    UNROLL for (int r = 0; r < QUADS; r++) {
        u32 q = first * QUADS + quad_in(r);
        if (q < ELEMENTS * QUADS)
            QUAD_AT(mem_out, AT_OUT, q, r) = row[r];
    }
}

/* Subgroups are not guaranteed to be full; if they are not, each invocation works alone. */
KERNEL
{
    u32 i = own_index();
    if (FULL_SUBGROUPS) {
        shuffled(first_index() + SUBGROUP * LANES);
    } else if (i < ELEMENTS) {
        Element x = load_a(i), y = zero();
        if (OPERANDS >= 2)
            y = load_b(i);
        check_element(x, i);
        if (OPERANDS >= 2)
            check_element(y, i);
        if (OP != GX_OP_CHECK) {
            Element r = compute(x, y, zero());
            STORE(mem_out, AT_OUT, i, r);
        }
    }
}
