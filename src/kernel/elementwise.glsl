/* SPDX-License-Identifier: Apache-2.0
 *
 * main() of the kernels that take element i of each operand to element i of OUT: one
 * element per invocation, straight or through shared memory. Needs compute() and
 * OPERANDS, an expression of OP, before the #include.
 *
 * Straight, an invocation touches its own 48 or 32 bytes in steps of 16, so that every
 * access of a subgroup leaves gaps that the next one fills from the cache. Staged, the
 * workgroup moves its elements as one contiguous block and exchanges them in shared
 * memory. Which is faster is the device's matter: measured, not assumed.
 */

/* Slot of quad k of element e. At 32 bytes a plain layout puts elements 4 apart into the
 * same banks; swapping the halves of every other four spreads them. At 48 bytes the
 * plain layout has no conflict. */
uint slot_of(uint e, uint k)
{
    return QUADS == 2 ? 2 * e + (k ^ (e >> 2 & 1)) : QUADS * e + k;
}

uint slot_of_quad(uint q)
{
    return QUADS == 2 ? slot_of(q >> 1, q & 1) : q;
}

shared uvec4 tile_a[STAGED * QUADS * gl_WorkGroupSize.x + 1];
shared uvec4 tile_b[STAGED * QUADS * gl_WorkGroupSize.x + 1];

/* Quads of this workgroup's block that lie inside the n elements. */
uint block_quads()
{
    uint first = first_index();
    return first < push.n ? min(push.n - first, gl_WorkGroupSize.x) * QUADS : 0;
}

#define STAGE_IN(tile, buffer, at, bit)                                                          \
    if ((push.broadcast & bit) == 0)                                                             \
        [[unroll]] for (uint k_ = 0; k_ < QUADS; k_++) {                                         \
            uint q_ = k_ * gl_WorkGroupSize.x + gl_LocalInvocationID.x;                          \
            if (q_ < block_quads())                                                              \
                tile[slot_of_quad(q_)] = buffer.quad[(at) + first_index() * QUADS + q_];         \
        }

#define FROM_TILE(x, tile)                                                                       \
    [[unroll]] for (int k_ = 0; k_ < QUADS; k_++)                                                \
        set_quad(x, k_, tile[slot_of(gl_LocalInvocationID.x, k_)])

#define TO_TILE(tile, x)                                                                         \
    [[unroll]] for (int k_ = 0; k_ < QUADS; k_++)                                                \
        tile[slot_of(gl_LocalInvocationID.x, k_)] = quad_of(x, k_)

Element operand_a(uint i)
{
    if (STAGED == 0 || (push.broadcast & GX_BROADCAST_A) != 0)
        return load_a(i);
    Element x;
    FROM_TILE(x, tile_a);
    check_element(x, i);
    return x;
}

Element operand_b(uint i)
{
    if (STAGED == 0 || (push.broadcast & GX_BROADCAST_B) != 0)
        return load_b(i);
    Element x;
    FROM_TILE(x, tile_b);
    check_element(x, i);
    return x;
}

void main()
{
    uint i = own_index();
    if (STAGED != 0) {
        STAGE_IN(tile_a, mem_a, push.at_a, GX_BROADCAST_A)
        if (OPERANDS >= 2)
            STAGE_IN(tile_b, mem_b, push.at_b, GX_BROADCAST_B)
        barrier();
    }
    if (i < push.n) {
        Element x = operand_a(i), y = zero(), z = zero();
        if (OPERANDS >= 2)
            y = operand_b(i);
        if (OPERANDS >= 3)
            z = load_c(i);
        if (OP != GX_OP_CHECK) {
            Element r = compute(x, y, z);
            if (STAGED == 0)
                STORE(mem_out, push.at_out, i, r);
            else /* its own slots: nobody else reads them before the barrier */
                TO_TILE(tile_a, r);
        }
    }
    if (STAGED != 0 && OP != GX_OP_CHECK) {
        barrier();
        [[unroll]] for (uint k = 0; k < QUADS; k++) {
            uint q = k * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
            if (q < block_quads())
                mem_out.quad[push.at_out + first_index() * QUADS + q] = tile_a[slot_of_quad(q)];
        }
    }
}
