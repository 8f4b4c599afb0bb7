/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplication, before the points: digits of scalars, and entries (key, value) of
 * each window sorted by key. The key of an entry is its digit's absolute value, the value is the
 * number of its point in B, times 2, plus 1 if the digit is negative. In the words of prelude.glsl and
 * msm_memory.glsl.
 *
 * One round of the sort is for some bits of the key, lowest first, so it must keep the order of
 * equal ones. A workgroup takes a tile of GX_K_MSM_ROUNDS entries per invocation. COUNT counts the
 * entries of each tile by those bits, SCAN turns the counts of a window and bin into positions,
 * SCATTER moves the entries there.
 */
#define WINDOW_BITS (STAGE(0) & 255u)
#define WINDOWS     (STAGE(0) >> GX_K_MSM_WINDOWS & 255u)
#define FIRST       (STAGE(0) >> GX_K_MSM_FIRST & 255u)
#define STRIDE      (STAGE(0) >> GX_K_MSM_STRIDE)
#define SCALAR_BITS (STAGE(1) & 0xffffu)
#define ROWS        (STAGE(1) >> GX_K_MSM_ROWS & 255u)
#define PARTS       (STAGE(1) >> GX_K_MSM_PARTS)
#define KEY_BITS    STAGE(1)
#define KEY_SHIFT   STAGE(2)
#define BINS        (1u << GX_K_MSM_RADIX_BITS)
#define TILE        (GX_K_MSM_ROUNDS * GROUP_SIZE)
#define LOADS       8u /* of entries, under way at once */
#define CHUNKS      (GROUP_SIZE / 32u) /* of a workgroup's entries, one bit each of a word */

/* ---- digits ---- */

/* Bits from .. from + count of scalar i, count < 32, of which those at `end` and above are 0. */
FUNCTION u32 scalar_bits(u32 i, u32 from, u32 count, u32 end)
{
    if (from >= end)
        return 0u;
    count = min(count, end - from);
    u32 at = 8u * i + from / 32u, offset = from % 32u;
    u32 bits = load_word_a(at) >> offset;
    if (offset + count > 32u)
        bits |= load_word_a(at + 1u) << 32u - offset;
    return bits & (1u << count) - 1u;
}

/* Entries of windows FIRST .. FIRST + WINDOWS. From the lowest digit on, because what is above half
 * of its range is carried to the next. Digits ROWS apart are in the same window: those of a scalar
 * are neighbours there, like the multiples of its point in B. */
FUNCTION void digits()
{
    u32 i = GROUP_INDEX * GROUP_SIZE + LOCAL_INDEX, half_range = 1u << WINDOW_BITS - 1u;
    if (i < WINDOWS * half_range) /* empty buckets: infinity */
        LOOP for (u32 k = 0u; k < STAGE(2); k++)
            store_scratch(4u * STAGE(2) * i + 2u * STAGE(2) + k, QUAD(0u, 0u, 0u, 0u));
    if (i >= ELEMENTS)
        return;
    u32 carry = 0u, w = 0u, part = 0u, end = (PARTS - 1u) * ROWS + FIRST + WINDOWS;
    LOOP for (u32 k = 0u; k < end; k++) {
        u32 digit = scalar_bits(i, k * WINDOW_BITS, WINDOW_BITS, SCALAR_BITS) + carry;
        carry = digit > half_range ? 1u : 0u;
        if (w >= FIRST && w < FIRST + WINDOWS)
            store_pair_out(((w - FIRST) * ELEMENTS + i) * PARTS + part,
                           PAIR(carry != 0u ? 2u * half_range - digit : digit,
                                (i * PARTS + part) * STRIDE << 1 | carry));
        w++;
        if (w == ROWS) {
            w = 0u;
            part++;
        }
    }
}

/* ---- sorting ---- */

/* Entry i of window w. */
FUNCTION Pair entry(u32 w, u32 i) { return load_pair_a(w * ELEMENTS + i); }

FUNCTION u32 bin_of(u32 key) { return key >> KEY_SHIFT & (1u << KEY_BITS) - 1u; }

FUNCTION u32 tiles() { return (ELEMENTS + TILE - 1u) / TILE; }

/* Where the count of a window's bin and tile is, and of all its tiles. */
FUNCTION u32 count_at(u32 w, u32 bin, u32 tile) { return ((w << KEY_BITS) + bin) * tiles() + tile; }
FUNCTION u32 total_at(u32 w, u32 bin)
{
    return (WINDOWS << KEY_BITS) * tiles() + (w << KEY_BITS) + bin;
}

FUNCTION void count()
{
    u32 w = GROUP_INDEX / tiles(), tile = GROUP_INDEX % tiles(), bins = 1u << KEY_BITS;
    if (w >= WINDOWS)
        return;
    for (u32 bin = LOCAL_INDEX; bin < bins; bin += GROUP_SIZE)
        shared_bins[bin] = 0u;
    BARRIER();
    u32 end = min(ELEMENTS, (tile + 1u) * TILE);
    LOOP for (u32 i = tile * TILE + LOCAL_INDEX; i < end; i += LOADS * GROUP_SIZE) {
        u32 key[LOADS];
        UNROLL for (u32 k = 0u; k < LOADS; k++)
            if (i + k * GROUP_SIZE < end)
                key[k] = entry(w, i + k * GROUP_SIZE).x;
        UNROLL for (u32 k = 0u; k < LOADS; k++)
            if (i + k * GROUP_SIZE < end)
                ATOMIC_ADD(shared_bins[bin_of(key[k])], 1u);
    }
    BARRIER();
    for (u32 bin = LOCAL_INDEX; bin < bins; bin += GROUP_SIZE)
        store_word_out(count_at(w, bin, tile), shared_bins[bin]);
}

/* The sum of x of the invocations before this one; *all: of the workgroup. */
FUNCTION u32 sum_before(u32 x, INOUT(u32) all)
{
    u32 sum = x;
    BARRIER();
    shared_sums[LOCAL_INDEX] = sum;
    BARRIER();
    for (u32 apart = 1u; apart < GROUP_SIZE; apart *= 2u) {
        u32 other = LOCAL_INDEX >= apart ? shared_sums[LOCAL_INDEX - apart] : 0u;
        BARRIER();
        sum += other;
        shared_sums[LOCAL_INDEX] = sum;
        BARRIER();
    }
    all = shared_sums[GROUP_SIZE - 1u];
    return sum - x;
}

/* The counts of a window and bin become positions in the bin. Every invocation takes a run of
 * tiles. */
FUNCTION void scan()
{
    u32 w = GROUP_INDEX >> KEY_BITS, bin = GROUP_INDEX & (1u << KEY_BITS) - 1u;
    if (w >= WINDOWS)
        return;
    u32 run = (tiles() + GROUP_SIZE - 1u) / GROUP_SIZE, first = LOCAL_INDEX * run, sum = 0u, all;
    u32 end = min(first + run, tiles());
    for (u32 tile = first; tile < end; tile++)
        sum += load_word_out(count_at(w, bin, tile));
    sum = sum_before(sum, all);
    for (u32 tile = first; tile < end; tile++) {
        u32 at = count_at(w, bin, tile), own = load_word_out(at);
        store_word_out(at, sum);
        sum += own;
    }
    if (LOCAL_INDEX == 0u)
        store_word_out(total_at(w, bin), all);
}

/* Where the entries of each bin that are in this tile go: shared_bins. */
FUNCTION void place_bins(u32 w, u32 tile)
{
    u32 bins = 1u << KEY_BITS, run = (bins + GROUP_SIZE - 1u) / GROUP_SIZE, sum = 0u, all;
    u32 first = LOCAL_INDEX * run, end = min(first + run, bins);
    for (u32 bin = first; bin < end; bin++)
        sum += load_word_b(total_at(w, bin));
    sum = sum_before(sum, all);
    for (u32 bin = first; bin < end; bin++) {
        shared_bins[bin] = sum + load_word_b(count_at(w, bin, tile));
        sum += load_word_b(total_at(w, bin));
    }
}

#ifdef BALLOT
/* The invocations of a warp that have an entry of the same bin as this one; one bit each. The
 * instruction that finds them at once is slower. */
FUNCTION u32 alike(bool some, u32 bin)
{
    u32 those = BALLOT(some);
    UNROLL for (u32 k = 0u; k < GX_K_MSM_RADIX_BITS; k++) {
        bool one = (bin >> k & 1u) != 0u;
        u32 ones = BALLOT(one);
        those &= one ? ones : ~ones;
    }
    return those;
}

/* 32 invocations that run together (a warp) have consecutive entries, all of which they load first.
 * They are counted, so that each warp knows where its own of each bin begin; then the invocations
 * that have entries of the same bin find each other. The tile is sorted in shared memory, so that
 * neighbours write to neighbouring places: each of them on its own would be five times as slow. */
FUNCTION void scatter()
{
    u32 w = GROUP_INDEX / tiles(), tile = GROUP_INDEX % tiles(), bins = 1u << KEY_BITS;
    if (w >= WINDOWS)
        return;
    u32 chunk = LOCAL_INDEX / 32u * bins, bit = LOCAL_INDEX % 32u;
    u32 first = tile * TILE + LOCAL_INDEX / 32u * (32u * GX_K_MSM_ROUNDS) + bit;
    for (u32 k = LOCAL_INDEX; k < CHUNKS * bins; k += GROUP_SIZE)
        shared_masks[k] = 0u;
    place_bins(w, tile);
    BARRIER();
    LOOP for (u32 r = 0u; r < GX_K_MSM_ROUNDS; r += LOADS) {
        u32 key[LOADS];
        UNROLL for (u32 k = 0u; k < LOADS; k++)
            if (first + 32u * (r + k) < ELEMENTS)
                key[k] = entry(w, first + 32u * (r + k)).x;
        UNROLL for (u32 k = 0u; k < LOADS; k++)
            if (first + 32u * (r + k) < ELEMENTS)
                ATOMIC_ADD(shared_masks[chunk + bin_of(key[k])], 1u);
    }
    BARRIER();
    u32 run = (bins + GROUP_SIZE - 1u) / GROUP_SIZE, next = 0u, all;
    u32 first_bin = LOCAL_INDEX * run, end_bin = min(first_bin + run, bins);
    for (u32 bin = first_bin; bin < end_bin; bin++)
        for (u32 c = 0u; c < CHUNKS; c++)
            next += shared_masks[c * bins + bin];
    next = sum_before(next, all);
    for (u32 bin = first_bin; bin < end_bin; bin++) {
        shared_bins[bin] -= next; /* what is added to a place in the tile */
        for (u32 c = 0u; c < CHUNKS; c++) {
            u32 entries = shared_masks[c * bins + bin];
            shared_masks[c * bins + bin] = next;
            next += entries;
        }
    }
    BARRIER();
    LOOP for (u32 r = 0u; r < GX_K_MSM_ROUNDS; r += LOADS) {
        Pair own[LOADS];
        UNROLL for (u32 k = 0u; k < LOADS; k++)
            if (first + 32u * (r + k) < ELEMENTS)
                own[k] = entry(w, first + 32u * (r + k));
        UNROLL for (u32 k = 0u; k < LOADS; k++) {
            bool some = first + 32u * (r + k) < ELEMENTS;
            u32 bin = some ? bin_of(own[k].x) : 0u, those = alike(some, bin);
            u32 before = COUNT_BITS(those & (1u << bit) - 1u), at = 0u;
            if (some)
                at = shared_masks[chunk + bin];
            WARP_BARRIER();
            if (some && before == 0u)
                shared_masks[chunk + bin] = at + COUNT_BITS(those);
            WARP_BARRIER();
            if (some)
                shared_entries[at + before] = own[k];
        }
    }
    BARRIER();
    for (u32 k = LOCAL_INDEX; k < all; k += GROUP_SIZE) {
        Pair sorted = shared_entries[k];
        store_pair_out(w * ELEMENTS + shared_bins[bin_of(sorted.x)] + k, sorted);
    }
}
#else
/* The workgroup's entries, GROUP_SIZE at a time: a word for each bin and chunk has a bit for each
 * entry of the bin, so that those before an entry can be counted. */
FUNCTION void scatter()
{
    u32 w = GROUP_INDEX / tiles(), tile = GROUP_INDEX % tiles(), bins = 1u << KEY_BITS;
    if (w >= WINDOWS)
        return;
    u32 chunk = LOCAL_INDEX / 32u, bit = LOCAL_INDEX % 32u;
    place_bins(w, tile);
    LOOP for (u32 r = 0u; r < GX_K_MSM_ROUNDS; r++) {
        u32 i = tile * TILE + r * GROUP_SIZE + LOCAL_INDEX, at = 0u, rank = 0u;
        Pair own = PAIR(0u, 0u);
        for (u32 k = LOCAL_INDEX; k < CHUNKS * bins; k += GROUP_SIZE)
            shared_masks[k] = 0u;
        BARRIER();
        if (i < ELEMENTS) {
            own = entry(w, i);
            at = chunk * bins + bin_of(own.x);
            ATOMIC_OR(shared_masks[at], 1u << bit);
        }
        BARRIER();
        if (i < ELEMENTS)
            rank = COUNT_BITS(shared_masks[at] & (1u << bit) - 1u);
        BARRIER();
        for (u32 bin = LOCAL_INDEX; bin < bins; bin += GROUP_SIZE) {
            u32 next = shared_bins[bin];
            for (u32 c = 0u; c < CHUNKS; c++) {
                u32 entries = COUNT_BITS(shared_masks[c * bins + bin]);
                shared_masks[c * bins + bin] = next;
                next += entries;
            }
            shared_bins[bin] = next;
        }
        BARRIER();
        if (i < ELEMENTS)
            store_pair_out(w * ELEMENTS + shared_masks[at] + rank, own);
        BARRIER();
    }
}
#endif
