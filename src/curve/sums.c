/* SPDX-License-Identifier: Apache-2.0
 *
 * See sums.h. A level pairs the neighbours in each list and leaves one term for each pair, and the
 * last term of a list of odd length as it is. Pairs of given points have new sums as results, later
 * ones the place of their first term, which then is a sum.
 */
#include "curve/sums.h"

/* 64-byte steps. */
static size_t lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* The layout of the memory: sizes in order. */
enum { SCRATCH, SUMS, TERMS, NAMES, LENGTHS, PAIRS, PARTS };

static void part_bytes(size_t bytes[PARTS], const struct gx_msm_host *host,
                       const struct gx_curve_row *curve, size_t capacity)
{
    bytes[SCRATCH] = lines(host->adds_scratch(curve));
    bytes[SUMS] = lines(capacity / 2 * host->point_bytes(curve));
    bytes[TERMS] = bytes[NAMES] = bytes[LENGTHS] = lines(capacity * sizeof(uint32_t));
    bytes[PAIRS] = lines(GX_MSM_BATCH * sizeof(struct gx_msm_pair));
}

size_t gx__sums_bytes(const struct gx_msm_host *host, const struct gx_curve_row *curve,
                      size_t capacity)
{
    size_t bytes[PARTS], all = 0;
    part_bytes(bytes, host, curve, capacity);
    for (int i = 0; i < PARTS; i++)
        all += bytes[i];
    return all;
}

void gx__sums_open(struct gx_sums *s, const struct gx_msm_host *host,
                   const struct gx_curve_row *curve, size_t capacity, void *memory)
{
    size_t bytes[PARTS];
    void *part[PARTS];
    uint8_t *at = memory;
    part_bytes(bytes, host, curve, capacity);
    for (int i = 0; i < PARTS; at += bytes[i], i++)
        part[i] = at;
    *s = (struct gx_sums){.host = host,
                          .curve = curve,
                          .capacity = (uint32_t)capacity,
                          .name = part[NAMES],
                          .length = part[LENGTHS],
                          .terms = part[TERMS],
                          .pairs = part[PAIRS],
                          .sums = part[SUMS],
                          .scratch = part[SCRATCH]};
}

/* The terms from `next` to `end` follow. */
static void add_pairs(struct gx_sums *s, uint32_t *count, const uint32_t *next, const uint32_t *end)
{
    struct gx_msm_adds adds = {.curve = s->curve,
                               .points = s->points,
                               .sums = s->sums,
                               .pairs = s->pairs,
                               .count = *count,
                               .next = next,
                               .next_count = (uint32_t)(end - next),
                               .scratch = s->scratch};
    if (*count)
        s->host->add(&adds);
    *count = 0;
}

/* One level; returns whether there is another. */
static bool add_level(struct gx_sums *s, uint32_t *sums)
{
    const uint32_t *from = s->terms, *end = s->terms;
    uint32_t *to = s->terms;
    uint32_t count = 0;
    bool more = false;
    for (uint32_t i = 0; i < s->lists; i++)
        end += s->length[i];
    for (uint32_t i = 0; i < s->lists; i++) {
        uint32_t length = s->length[i];
        for (uint32_t k = 0; k + 1 < length; k += 2, from += 2) {
            uint32_t out = from[0] & GX_TERM_SUM ? from[0] & GX_TERM_INDEX : (*sums)++;
            s->pairs[count] = (struct gx_msm_pair){from[0], from[1], out};
            *to++ = out | GX_TERM_SUM;
            if (++count == GX_MSM_BATCH)
                add_pairs(s, &count, from + 2, end);
        }
        if (length % 2)
            *to++ = *from++;
        s->length[i] = (length + 1) / 2;
        more |= length > 2;
    }
    add_pairs(s, &count, end, end);
    return more;
}

void gx__sums_add(struct gx_sums *s)
{
    uint32_t sums = 0;
    while (add_level(s, &sums)) {
    }
}

void gx__sums_get(const struct gx_sums *s, uint32_t i, void *point)
{
    uint32_t term = s->terms[i];
    const uint8_t *base = term & GX_TERM_SUM ? s->sums : s->points;
    const uint8_t *from = base + (term & GX_TERM_INDEX) * s->host->point_bytes(s->curve);
    s->host->copy(s->curve, point, from, term & GX_TERM_NEGATIVE);
}
