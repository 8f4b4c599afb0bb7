/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the reductions (gpu/passes.c): adds the partial sums of a workgroup and stores the
 * result in element `group` of OUT. If ACCUMULATE is set there is one workgroup, and it adds the
 * previous contents of OUT, which is also bound as C.
 */
#define GROUPS STAGE(0)
#define ACCUMULATE STAGE(1)
#define LOCAL LOCAL_INDEX
#define WORKGROUP GROUP_SIZE

SHARED Quad lane[WORKGROUP * QUADS]; /* the kth quad of invocation t at k * WORKGROUP + t */

/* times * R mod p, by doubling: R is the element 1. */
FUNCTION Element times_one(u32 times)
{
    Element r = zero();
    for (int bit = HIGHEST_BIT_OF_ANY(times); bit >= 0; bit--) {
        r = add(r, r);
        if ((times >> bit & 1) != 0)
            r = add(r, ELEMENT(ONE));
    }
    return r;
}

/* Any x below R: p has few multiples below it. */
FUNCTION Element reduce_fully(Element x)
{
    u32 below;
    for (Element less = minus_modulus(x, below); below == 0; less = minus_modulus(x, below))
        x = less;
    return x;
}

/* The sum over the workgroup, in invocation 0. Every invocation of the workgroup calls it. */
FUNCTION Element join(Element x)
{
    for (u32 size = WORKGROUP; size > 1;) {
        u32 half_size = (size + 1) / 2;
        if (LOCAL >= half_size && LOCAL < size)
            UNROLL for (int k = 0; k < QUADS; k++)
                lane[k * WORKGROUP + LOCAL - half_size] = quad_of(x, k);
        BARRIER();
        if (LOCAL < size - half_size) {
            Element y;
            UNROLL for (int k = 0; k < QUADS; k++)
                set_quad(y, k, lane[k * WORKGROUP + LOCAL]);
            x = add(x, y);
        }
        BARRIER();
        size = half_size;
    }
    return x;
}

/* x is valid in invocation 0. */
FUNCTION void put_partial(u32 group, Element x)
{
    if (LOCAL == 0) {
        if (ACCUMULATE != 0)
            x = add(x, load_c(0));
        STORE(mem_out, AT_OUT, group, x);
    }
}

FUNCTION u32 group_index()
{
    return first_index() / WORKGROUP;
}
