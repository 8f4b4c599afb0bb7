/* SPDX-License-Identifier: Apache-2.0
 *
 * As elementwise.glsl, for kernels bound by memory on GPUs that want neighbouring invocations
 * to touch neighbouring 16 bytes (quads). A subgroup of S invocations moves its S elements as
 * QUADS rows of S quads and deals the quads out by shuffles: in step k every invocation hands
 * out the one quad it holds that is the k-th of its element.
 *
 * It needs the quads of an invocation, one in each row, to be of different k. With three
 * quads to an element they are by themselves, as S is no multiple of 3; with two, the second
 * row is taken with neighbours exchanged.
 */
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

#define LANE gl_SubgroupInvocationID
#define LANES gl_SubgroupSize /* a power of two */

#if QUADS == 3
/* The quad, counted within the subgroup's block, that this invocation holds in row r. */
uint quad_in(uint r)
{
    return r * LANES + LANE;
}

/* The row in which this invocation holds a quad that is the k-th of its element. */
uint row_of(uint k)
{
    uint steps = (k + 3 - LANE % 3) % 3;
    return LANES % 3 == 1 ? steps : (3 - steps) % 3;
}

/* The invocation that holds quad q. */
uint holder_of(uint q)
{
    return q & (LANES - 1);
}
#elif QUADS == 2
uint quad_in(uint r)
{
    return r * LANES + (LANE ^ r);
}

uint row_of(uint k)
{
    return LANE & 1 ^ k;
}

uint holder_of(uint q)
{
    return q & (LANES - 1) ^ (q >= LANES ? 1 : 0);
}
#endif

uvec4 from_lane(uvec4 q, uint lane)
{
    return uvec4(subgroupShuffle(q.x, lane), subgroupShuffle(q.y, lane), subgroupShuffle(q.z, lane),
                 subgroupShuffle(q.w, lane));
}

/* From rows to elements, one per invocation. */
Element gather(uvec4 row[QUADS])
{
    Element x;
    [[unroll]] for (int k = 0; k < QUADS; k++) {
        uint r = row_of(k);
        uvec4 mine = row[0];
        [[unroll]] for (int j = 1; j < QUADS; j++)
            mine = r == j ? row[j] : mine;
        set_quad(x, k, from_lane(mine, holder_of(QUADS * LANE + k)));
    }
    return x;
}

/* The reverse. */
void scatter(Element x, out uvec4 row[QUADS])
{
    [[unroll]] for (int k = 0; k < QUADS; k++) {
        uint r = row_of(k);
        uvec4 got = from_lane(quad_of(x, k), quad_in(r) / QUADS);
        [[unroll]] for (int j = 0; j < QUADS; j++)
            row[j] = r == j ? got : row[j];
    }
}

/* The rows of the block that begins at element `first`; nothing beyond the n elements. */
#define LOAD_ROWS(row, buffer, at, first)                                                        \
    [[unroll]] for (int r_ = 0; r_ < QUADS; r_++) {                                              \
        uint q_ = (first) * QUADS + quad_in(r_);                                                 \
        row[r_] = q_ < push.n * QUADS ? buffer.quad[(at) + q_] : uvec4(0);                       \
    }

void shuffled(uint first)
{
    uvec4 row_a[QUADS], row_b[QUADS], row[QUADS];
    bool one_a = (push.broadcast & GX_BROADCAST_A) != 0;
    bool one_b = (push.broadcast & GX_BROADCAST_B) != 0;
    uint i = first + LANE;
    if (!one_a)
        LOAD_ROWS(row_a, mem_a, push.at_a, first)
    if (OPERANDS >= 2 && !one_b)
        LOAD_ROWS(row_b, mem_b, push.at_b, first)

    Element x, y = zero();
    if (one_a)
        x = load_a(0);
    else
        x = gather(row_a);
    if (OPERANDS >= 2 && one_b)
        y = load_b(0);
    else if (OPERANDS >= 2)
        y = gather(row_b);
    if (i < push.n) {
        check_element(x, i);
        if (OPERANDS >= 2)
            check_element(y, i);
    }
    if (OP == GX_OP_CHECK)
        return;
    scatter(compute(x, y, zero()), row);
    [[unroll]] for (int r = 0; r < QUADS; r++) {
        uint q = first * QUADS + quad_in(r);
        if (q < push.n * QUADS)
            mem_out.quad[push.at_out + q] = row[r];
    }
}

/* Subgroups are not guaranteed to be full; if they are not, each invocation works alone. */
void main()
{
    uint i = own_index();
    if (gl_NumSubgroups * LANES == gl_WorkGroupSize.x) {
        shuffled(first_index() + gl_SubgroupID * LANES);
    } else if (i < push.n) {
        Element x = load_a(i), y = zero();
        if (OPERANDS >= 2)
            y = load_b(i);
        check_element(x, i);
        if (OPERANDS >= 2)
            check_element(y, i);
        if (OP != GX_OP_CHECK) {
            Element r = compute(x, y, zero());
            STORE(mem_out, push.at_out, i, r);
        }
    }
}
