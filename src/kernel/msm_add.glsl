/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplication: the sums of buckets. A holds the sorted entries of each window, B the
 * points. An invocation adds a slice of consecutive entries. A run of one key that is in a slice as
 * a whole is a bucket; the first and the last run of a slice may go on in others, and are left to
 * join() in msm_sum.glsl: the slice is a node, whose record says for its first and last run the key
 * and where the sum is. SCRATCH holds buckets, from its start, and the sums of such runs and the
 * records at stages 0 and 1.
 */
#define SLICE       (STAGE(2) & 255u)
#define WINDOWS     (STAGE(2) >> GX_K_MSM_WINDOWS & 255u)
#define WINDOW_BITS (STAGE(2) >> GX_K_MSM_BITS & 255u)

FUNCTION void add_slice()
{
    u32 t = GROUP_INDEX * GROUP_SIZE + LOCAL_INDEX, slices = (ELEMENTS + SLICE - 1u) / SLICE;
    u32 w = t / slices, first = (t - w * slices) * SLICE, end = min(first + SLICE, ELEMENTS);
    if (w >= WINDOWS)
        return;
    Pair own = load_pair_a(w * ELEMENTS + first);
    Quad record = QUAD(own.x, 2u * t, NONE, 2u * t + 1u);
    bool head = true;
    Point sum = infinity();
    LOOP for (u32 i = first; i < end; i++) {
        Pair next = PAIR(NONE, 0u);
        if (i + 1u < end)
            next = load_pair_a(w * ELEMENTS + i + 1u);
        if (own.x != 0u) {
            Affine p = load_affine_b(own.y >> 1);
            if (!affine_is_infinity(p)) {
                if ((own.y & 1u) != 0u)
                    p = affine_neg(p);
                if (point_is_infinity(sum))
                    sum = point_of(p);
                else
                    sum = add_affine(sum, p);
            }
        }
        if (next.x != own.x) {
            bool tail = next.x == NONE && !head;
            record.z = tail ? own.x : NONE;
            if (head || tail)
                store_point(STAGE(0), 2u * t + (tail ? 1u : 0u), sum);
            else /* not key 0, which comes first */
                store_point(0u, (w << WINDOW_BITS - 1u) + own.x - 1u, sum);
            head = false;
            sum = infinity();
        }
        own = next;
    }
    store_scratch(STAGE(1) + t, record);
}
