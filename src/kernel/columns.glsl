/* SPDX-License-Identifier: Apache-2.0
 *
 * main() of a sum that reads as a copy does, neighbouring invocations neighbouring 16 bytes, and
 * never puts an element together: a workgroup takes blocks of QUADS * WORKGROUP quads, so that row
 * j of a block gives invocation t the same quad of some element each time. It adds that quad's
 * words up, carries apart. Only the totals of the workgroup are reduced.
 *
 * Bounds: at most 2^29 elements are added, so a carry count fits 32 bits, and the total is below
 * 2^29 * p.
 */
struct Columns {
    uvec4 low, high;
};

Columns add_columns(Columns x, Columns y)
{
    uvec4 carry;
    x.low = uaddCarry(x.low, y.low, carry);
    x.high += y.high + carry;
    return x;
}

shared uvec4 lane_high[WORKGROUP];

/* The sum over the workgroup, in invocation 0, as `join`. */
Columns join_columns(Columns x)
{
    for (uint size = WORKGROUP; size > 1;) {
        uint half_size = (size + 1) / 2;
        if (LOCAL >= half_size && LOCAL < size) {
            lane[LOCAL - half_size] = x.low;
            lane_high[LOCAL - half_size] = x.high;
        }
        barrier();
        if (LOCAL < size - half_size)
            x = add_columns(x, Columns(lane[LOCAL], lane_high[LOCAL]));
        barrier();
        size = half_size;
    }
    return x;
}

/* The value of all columns modulo p: the words below R, and the rest, which counts R. */
Element element_of(Columns column[QUADS])
{
    Element x;
    uint carry = 0; /* from one column to the next: a count of up to 2^30 */
    [[unroll]] for (int k = 0; k < QUADS; k++)
        [[unroll]] for (int w = 0; w < 4; w++) {
            uint over;
            x.word[4 * k + w] = uaddCarry(column[k].low[w], carry, over);
            carry = column[k].high[w] + over;
        }
    return add(reduce_fully(x), times_one(carry));
}

void check_top(uvec4 quad, uint at)
{
    if (CHECK != 0 && quad.w >= MODULUS[WORDS - 1]) {
        uint i = at / QUADS;
        check_element(load_a(i), i);
    }
}

void main()
{
    const uint block = QUADS * WORKGROUP;
    bool one = (push.broadcast & GX_BROADCAST_A) != 0;
    uint group = group_index();
    if (group >= GROUPS)
        return;
    Columns row[QUADS];
    uint which[QUADS]; /* of an element's quads is in this row */
    [[unroll]] for (int j = 0; j < QUADS; j++) {
        row[j] = Columns(uvec4(0), uvec4(0));
        which[j] = (j * WORKGROUP + LOCAL) % QUADS;
    }
    for (uint first = group * block; first < push.n * QUADS; first += GROUPS * block) {
        uvec4 quad[QUADS];
        [[unroll]] for (int j = 0; j < QUADS; j++) {
            uint q = first + j * WORKGROUP + LOCAL;
            quad[j] = q < push.n * QUADS ? mem_a.quad[push.at_a + (one ? which[j] : q)] : uvec4(0);
        }
        [[unroll]] for (int j = 0; j < QUADS; j++) {
            uint q = first + j * WORKGROUP + LOCAL;
            row[j] = add_columns(row[j], Columns(quad[j], uvec4(0)));
            if (which[j] == QUADS - 1)
                check_top(quad[j], q);
        }
    }
    Columns column[QUADS];
    [[unroll]] for (int k = 0; k < QUADS; k++) {
        Columns own = Columns(uvec4(0), uvec4(0));
        [[unroll]] for (int j = 0; j < QUADS; j++)
            if (which[j] == k)
                own = add_columns(own, row[j]);
        column[k] = join_columns(own);
    }
    Element sum = zero();
    if (LOCAL == 0)
        sum = element_of(column);
    put_partial(group, sum);
}
