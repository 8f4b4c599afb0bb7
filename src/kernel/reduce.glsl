/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the reductions (op/passes.c): adds the partial sums of a workgroup and stores the
 * result in element `group` of OUT. If ACCUMULATE is set there is one workgroup, and it adds the
 * previous contents of OUT, which is also bound as C.
 */
#define GROUPS push.stage[0]
#define ACCUMULATE push.stage[1]
#define LOCAL gl_LocalInvocationID.x
#define WORKGROUP gl_WorkGroupSize.x

shared uvec4 lane[WORKGROUP * QUADS]; /* the kth quad of invocation t at k * WORKGROUP + t */

/* times * R mod p, by doubling: R is the element 1. */
Element times_one(uint times)
{
    Element r = zero();
    for (int bit = findMSB(times); bit >= 0; bit--) {
        r = add(r, r);
        if ((times >> bit & 1) != 0)
            r = add(r, Element(ONE));
    }
    return r;
}

/* Any x below R: p has few multiples below it. */
Element reduce_fully(Element x)
{
    uint below;
    for (Element less = minus_modulus(x, below); below == 0; less = minus_modulus(x, below))
        x = less;
    return x;
}

/* The sum over the workgroup, in invocation 0. Every invocation of the workgroup calls it. */
Element join(Element x)
{
    for (uint size = WORKGROUP; size > 1;) {
        uint half_size = (size + 1) / 2;
        if (LOCAL >= half_size && LOCAL < size)
            [[unroll]] for (int k = 0; k < QUADS; k++)
                lane[k * WORKGROUP + LOCAL - half_size] = quad_of(x, k);
        barrier();
        if (LOCAL < size - half_size) {
            Element y;
            [[unroll]] for (int k = 0; k < QUADS; k++)
                set_quad(y, k, lane[k * WORKGROUP + LOCAL]);
            x = add(x, y);
        }
        barrier();
        size = half_size;
    }
    return x;
}

/* x is valid in invocation 0. */
void put_partial(uint group, Element x)
{
    if (LOCAL == 0) {
        if (ACCUMULATE != 0)
            x = add(x, load_c(0));
        STORE(mem_out, push.at_out, group, x);
    }
}

uint group_index()
{
    return first_index() / WORKGROUP;
}
