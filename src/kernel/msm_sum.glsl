/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplication: sums of sums. In the words of prelude.glsl and msm_memory.glsl.
 */

#if CALLED_PRODUCTS
#define ADDITION FUNCTION /* its products are called */
#else
#define ADDITION CALLED_FUNCTION
#endif

/* Any points; `same`: they are known to be equal. */
ADDITION Point add_any(Point a, Point b, bool same)
{
    if (point_is_infinity(b))
        return a;
    if (point_is_infinity(a))
        return b;
    return add_points(a, b, same);
}

/* ---- joining slices ----
 *
 * A tree over the nodes of a window (msm_add.glsl). Two neighbours become one node, in place of the
 * left one: where the last run of the left and the first run of the right one have the same key,
 * their sum is one run, which is a bucket unless it is also the first or the last run of the new
 * node. A workgroup joins 2 * GROUP_SIZE nodes, which are 2^JOIN_SHIFT apart. After the last pass
 * one is left, whose runs are buckets.
 */
#define JOIN_SHIFT  (STAGE(2) & 255u)
#define JOIN_GROUPS (STAGE(2) >> GX_K_MSM_WINDOWS & 255u) /* windows */
#define JOIN_BITS   (STAGE(2) >> GX_K_MSM_BITS & 255u)

FUNCTION void keep_bucket(u32 w, u32 key, u32 at)
{
    if (key != 0u && key != NONE)
        copy_point(0u, (w << JOIN_BITS - 1u) + key - 1u, STAGE(0), at);
}

/* Records: x, y are key and place of the first run, z, w those of the last one, z is NONE if it is
 * the same. */
FUNCTION void join_nodes(u32 w, u32 left, u32 right)
{
    Quad a = load_scratch(STAGE(1) + left), b = load_scratch(STAGE(1) + right);
    bool one_a = a.z == NONE, one_b = b.z == NONE;
    u32 key = one_a ? a.x : a.z, at = one_a ? a.y : a.w;
    if (key == b.x) {
        store_point(STAGE(0), at,
                    add_any(load_point(STAGE(0), at), load_point(STAGE(0), b.y), false));
        if (!one_a && !one_b)
            keep_bucket(w, key, at);
    } else {
        if (!one_a)
            keep_bucket(w, key, at);
        if (!one_b)
            keep_bucket(w, b.x, b.y);
        else {
            a.z = b.x;
            a.w = b.y;
        }
    }
    if (!one_b) {
        a.z = b.z;
        a.w = b.w;
    }
    store_scratch(STAGE(1) + left, a);
}

FUNCTION void join()
{
    u32 nodes = (ELEMENTS + (1u << JOIN_SHIFT) - 1u) >> JOIN_SHIFT;
    u32 groups = (nodes + 2u * GROUP_SIZE - 1u) / (2u * GROUP_SIZE), w = GROUP_INDEX / groups;
    u32 first = (GROUP_INDEX - w * groups) * 2u * GROUP_SIZE;
    if (w >= JOIN_GROUPS)
        return;
    LOOP for (u32 apart = 1u; apart < 2u * GROUP_SIZE; apart *= 2u) {
        u32 left = 2u * apart * LOCAL_INDEX, right = first + left + apart;
        if (left < 2u * GROUP_SIZE && right < nodes)
            join_nodes(w, w * ELEMENTS + (first + left << JOIN_SHIFT),
                       w * ELEMENTS + (right << JOIN_SHIFT));
        SCRATCH_BARRIER();
    }
    if ((STAGE(2) & GX_K_MSM_LAST) != 0u && LOCAL_INDEX == 0u) {
        Quad all = load_scratch(STAGE(1) + w * ELEMENTS);
        keep_bucket(w, all.x, all.y);
        keep_bucket(w, all.z, all.w);
    }
}

/* ---- the sum of buckets, weighted ----
 *
 * The bucket of key k has index i = k - 1 of `rows` and `columns` bits: i = r * 2^columns + q. The
 * sum of (i + 1) B[i] is that of r * R[r], times 2^columns, and of (q + 1) * Q[q], where R and Q
 * are the sums of rows and columns. GRID makes these; PLANE, for each bit of r and q, the sum of
 * those R or Q whose bit is set, and last the sum of all Q; TOTAL adds these up, that of bit k times
 * 2^k. 2^SUM_SHIFT invocations make one sum of A.
 */
#define SUM_BITS    (STAGE(0) & 255u)
#define SUM_WINDOWS (STAGE(0) >> GX_K_MSM_WINDOWS & 255u)
#define SUM_SHIFT   (STAGE(0) >> GX_K_MSM_BITS & 255u)
#define SUM_KIND    (STAGE(0) & GX_K_MSM_KIND)

#define ROW_BITS    (SUM_BITS / 2u)
#define COLUMN_BITS (SUM_BITS - 1u - ROW_BITS)

/* Sums of a window, and elements of sum j, at most and exactly. */
FUNCTION u32 sums()
{
    return SUM_KIND == GX_K_MSM_GRID    ? (1u << ROW_BITS) + (1u << COLUMN_BITS)
           : SUM_KIND == GX_K_MSM_PLANE ? SUM_BITS
                                        : 1u;
}

FUNCTION u32 elements_most()
{
    return SUM_KIND == GX_K_MSM_GRID    ? 1u << ROW_BITS
           : SUM_KIND == GX_K_MSM_PLANE ? max(1u << ROW_BITS - 1u, 1u << COLUMN_BITS)
                                        : SUM_BITS;
}

FUNCTION u32 elements_of(u32 j)
{
    if (SUM_KIND == GX_K_MSM_GRID)
        return j < 1u << ROW_BITS ? 1u << COLUMN_BITS : 1u << ROW_BITS;
    if (SUM_KIND == GX_K_MSM_PLANE)
        return j < COLUMN_BITS      ? 1u << COLUMN_BITS - 1u
               : j < SUM_BITS - 1u ? 1u << ROW_BITS - 1u
                                    : 1u << COLUMN_BITS;
    return SUM_BITS;
}

/* i with a bit that is 1 inserted. */
FUNCTION u32 with_bit(u32 i, u32 bit)
{
    return i >> bit << bit + 1u | 1u << bit | i & (1u << bit) - 1u;
}

/* Element i of sum j, in the window's part of A. */
FUNCTION u32 element_of(u32 j, u32 i)
{
    u32 rows = 1u << ROW_BITS;
    if (SUM_KIND == GX_K_MSM_GRID)
        return j < rows ? j << COLUMN_BITS | i : i << COLUMN_BITS | j - rows;
    if (SUM_KIND == GX_K_MSM_PLANE)
        return j < COLUMN_BITS      ? rows + with_bit(i, j)
               : j < SUM_BITS - 1u ? with_bit(i, j - COLUMN_BITS)
                                    : rows + i;
    return i;
}

FUNCTION u32 window_elements()
{
    return SUM_KIND == GX_K_MSM_GRID       ? 1u << SUM_BITS - 1u
           : SUM_KIND == GX_K_MSM_PLANE    ? (1u << ROW_BITS) + (1u << COLUMN_BITS)
           : SUM_KIND == GX_K_MSM_TOTAL    ? SUM_BITS
           : (STAGE(0) & GX_K_MSM_AFFINE) != 0u ? 1u
                                           : STAGE(2);
}

/* From invocations whose number in the sum is from half on, to those below. */
FUNCTION Point from_upper_half(Point p, u32 lane, u32 half_lanes)
{
    u32 slot = (LOCAL_INDEX - lane) / 2u + lane % half_lanes;
    bool upper = lane >= half_lanes && lane < 2u * half_lanes;
    BARRIER();
    UNROLL for (int k = 0; k < COORD_WORDS; k++)
        if (upper) {
            exchanged[k * (GROUP_SIZE / 2u) + slot] = coord_word(p.x, k);
            exchanged[(COORD_WORDS + k) * (GROUP_SIZE / 2u) + slot] = coord_word(p.y, k);
            exchanged[(2 * COORD_WORDS + k) * (GROUP_SIZE / 2u) + slot] = coord_word(p.zz, k);
            exchanged[(3 * COORD_WORDS + k) * (GROUP_SIZE / 2u) + slot] = coord_word(p.zzz, k);
        }
    BARRIER();
    if (lane >= half_lanes)
        return infinity();
    UNROLL for (int k = 0; k < COORD_WORDS; k++) {
        set_coord_word(p.x, k, exchanged[k * (GROUP_SIZE / 2u) + slot]);
        set_coord_word(p.y, k, exchanged[(COORD_WORDS + k) * (GROUP_SIZE / 2u) + slot]);
        set_coord_word(p.zz, k, exchanged[(2 * COORD_WORDS + k) * (GROUP_SIZE / 2u) + slot]);
        set_coord_word(p.zzz, k, exchanged[(3 * COORD_WORDS + k) * (GROUP_SIZE / 2u) + slot]);
    }
    return p;
}

/* Point i of A, or affine point i. */
FUNCTION Point load_any_a(u32 i)
{
    if ((STAGE(0) & GX_K_MSM_AFFINE) == 0u)
        return load_point_a(i);
    Affine p = load_affine_a(i);
    if (affine_is_infinity(p))
        return infinity();
    return point_of(p);
}

/* In steps of one addition each, so that the kernel contains only one: adding elements, doubling
 * for TOTAL, and then adding up the invocations of a sum. For MULTIPLE the sum is one point, which
 * is doubled STAGE(1) times; points are STAGE(2) apart. */
FUNCTION void add_up()
{
    u32 lanes = 1u << SUM_SHIFT, lane = LOCAL_INDEX & lanes - 1u;
    u32 sum = GROUP_INDEX * GROUP_SIZE + LOCAL_INDEX >> SUM_SHIFT, w = sum / sums();
    bool total = SUM_KIND == GX_K_MSM_TOTAL, multiple = SUM_KIND == GX_K_MSM_MULTIPLE;
    u32 windows = multiple ? ELEMENTS : SUM_WINDOWS;
    u32 j = sum - w * sums(), elements = w < windows ? elements_of(j) : 0u;
    u32 loads = (elements_most() + lanes - 1u) >> SUM_SHIFT;
    u32 doublings = loads + (total ? SUM_BITS - 2u : multiple ? STAGE(1) : 0u);
    u32 own_doublings = multiple                        ? STAGE(1)
                        : total && lane < SUM_BITS - 1u ? lane
                                                        : 0u;
    Point p = infinity();
    LOOP for (u32 step = 0u; step < doublings + SUM_SHIFT; step++) {
        Point other = infinity();
        if (step < loads) {
            u32 i = step * lanes + lane;
            if (i < elements)
                other = load_any_a(w * window_elements() + element_of(j, i));
        } else if (step < doublings) {
            if (step - loads < own_doublings)
                other = p;
        } else {
            other = from_upper_half(p, lane, lanes >> step - doublings + 1u);
        }
        p = add_any(p, other, step >= loads && step < doublings);
    }
    if (lane == 0u && w < windows)
        store_point_out(multiple ? sum * STAGE(2) : sum, p);
}
