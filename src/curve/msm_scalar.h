/* SPDX-License-Identifier: Apache-2.0
 *
 * Additions of affine points of the scalar tiers, one at a time, with one inversion for a batch: a
 * template over the limbs L of an element and the degree D of the coordinates, by the element
 * functions of the tier (field/element.h), which the file that includes this one chooses. Stored
 * points are x, y, packed, below p; infinity has the top bit of (the first element of) x set.
 *
 * An addition is 5 products and a square: the inverse of the denominator costs three. A quick
 * version takes all pairs for points with different x. Whether they are shows in the product of all
 * denominators and in the marks of infinity, before anything is written; a careful version, which
 * looks at each pair, does the batch if not.
 */
#ifndef GX_CURVE_MSM_SCALAR_H
#define GX_CURVE_MSM_SCALAR_H

#include "curve/coord.h"
#include "curve/msm_tier.h"
#include "field/element.h"

#define NOINLINE static __attribute__((noinline))

#define WORDS(L, D) (2 * (size_t)(L) * (D)) /* of a point */
#define INFINITE    ((uint64_t)1 << 63)
#define CHAINS      2  /* of products: none waits for the one just before it */
#define AHEAD       8u /* pairs between prefetching points and reading them */

struct msm {
    const struct gx_curve_row *curve;
    const struct gx_prime *prime;
    uint64_t p_2[GX_LIMBS_MAX];     /* 2p */
    uint64_t sign[2][GX_LIMBS_MAX]; /* 0, p + 1 */
};

/* ---- coordinates -------------------------------------------------------------------
 *
 * "Loose" numbers are from 0 to 2p, those in memory below p. Products of loose numbers are loose,
 * if 5p < R: below p + 4 p p / R < 2p, and those of the extension below p + 8 p p / R < 3p, less p.
 * The test `curve` checks the bound. */

/* For t < 2p, or t < 4p and `twice`: r < p. For t < 3p, not `twice`: r < 2p. */
TEMPLATE void reduce(const unsigned L, uint64_t *r, const uint64_t *t, bool twice,
                     const struct msm *f)
{
    uint64_t less[GX_LIMBS_MAX];
    load_limbs(L, less, t);
    if (twice)
        fe_reduce(L, less, less, f->p_2);
    fe_reduce(L, r, less, f->prime->p);
}

/* r = a - b, loose, for a, b < p. */
TEMPLATE void subtract(const unsigned L, const unsigned D, uint64_t *r, const uint64_t *a,
                       const uint64_t *b, const struct msm *f)
{
    for (unsigned k = 0; k < D * L; k += L) {
        uint64_t t[GX_LIMBS_MAX];
        fe_add_raw(L, t, a + k, f->prime->p);
        fe_sub_raw(L, r + k, t, b + k);
    }
}

/* (a0 b0 - a1 b1) + (a0 b1 + a1 b0) u, where -a1 is taken as 2p - a1. */
TEMPLATE void mul_extension(const unsigned L, uint64_t *r, const uint64_t *a, const uint64_t *b,
                            const struct msm *f)
{
    uint64_t v[3 * GX_LIMBS_MAX], real[GX_LIMBS_MAX], imaginary[GX_LIMBS_MAX]; /* v: a1, a0, -a1 */
    load_limbs(L, v, a + L);
    load_limbs(L, v + L, a);
    fe_sub_raw(L, v + 2 * L, f->p_2, a + L);
    fe_mul_two_raw(L, real, v + L, b, f->prime);
    fe_mul_two_raw(L, imaginary, v, b, f->prime);
    reduce(L, r, real, false, f);
    reduce(L, r + L, imaginary, false, f);
}

/* Functions of their own: inlining gains little, and makes for much code. */
#define DEFINE_MUL(L)                                                                              \
    NOINLINE void mul_##L##_1(uint64_t *r, const uint64_t *a, const uint64_t *b,                   \
                              const struct msm *f)                                                 \
    {                                                                                              \
        fe_mul_raw(L, r, a, b, f->prime);                                                          \
    }                                                                                              \
    NOINLINE void mul_##L##_2(uint64_t *r, const uint64_t *a, const uint64_t *b,                   \
                              const struct msm *f)                                                 \
    {                                                                                              \
        mul_extension(L, r, a, b, f);                                                              \
    }
DEFINE_MUL(4)
DEFINE_MUL(6)

/* Loose. */
TEMPLATE void mul(const unsigned L, const unsigned D, uint64_t *r, const uint64_t *a,
                  const uint64_t *b, const struct msm *f)
{
    if (L == 6)
        (D == 1 ? mul_6_1 : mul_6_2)(r, a, b, f);
    else
        (D == 1 ? mul_4_1 : mul_4_2)(r, a, b, f);
}

/* (a0 + a1)(a0 - a1) + 2 a0 a1 u, loose. For D = 2, a is reduced. */
TEMPLATE void sqr(const unsigned L, const unsigned D, uint64_t *r, uint64_t *a, const struct msm *f)
{
    uint64_t sum[GX_LIMBS_MAX], difference[GX_LIMBS_MAX], twice[GX_LIMBS_MAX];
    if (D == 1) {
        mul(L, 1, r, a, a, f);
        return;
    }
    reduce(L, a, a, true, f);
    reduce(L, a + L, a + L, true, f);
    fe_add_raw(L, sum, a, a + L);
    fe_add_raw(L, twice, a, a);
    subtract(L, 1, difference, a, a + L, f);
    mul(L, 1, r + L, twice, a + L, f);
    mul(L, 1, r, sum, difference, f);
}

/* Of elements and points. */
TEMPLATE void copy(const size_t n, uint64_t *to, const uint64_t *from)
{
    for (size_t j = 0; j < n; j++)
        to[j] = from[j];
}

TEMPLATE bool is_zero(const unsigned n, const uint64_t *a)
{
    uint64_t any = 0;
    for (unsigned j = 0; j < n; j++)
        any |= a[j];
    return !any;
}

TEMPLATE bool equal(const unsigned n, const uint64_t *a, const uint64_t *b)
{
    uint64_t any = 0;
    for (unsigned j = 0; j < n; j++)
        any |= a[j] ^ b[j];
    return !any;
}

TEMPLATE void set_one(const unsigned L, const unsigned D, uint64_t *r, const struct msm *f)
{
    for (unsigned j = 0; j < D * L; j++)
        r[j] = j < L ? f->prime->one[j] : 0;
}

/* ---- points ---------------------------------------------------------------------------- */

TEMPLATE uint64_t *find(const unsigned L, const unsigned D, const struct gx_msm_adds *adds,
                        uint32_t term)
{
    uintptr_t base = (uintptr_t)(term & GX_TERM_SUM ? adds->sums : adds->points);
    return (uint64_t *)base + (term & GX_TERM_INDEX) * WORDS(L, D);
}

struct pair {
    const uint64_t *a, *b;
    uint64_t *out;
    bool negative_a, negative_b;
};

TEMPLATE struct pair pair_at(const unsigned L, const unsigned D, const struct gx_msm_adds *adds,
                             uint32_t i)
{
    const struct gx_msm_pair *p = &adds->pairs[i];
    return (struct pair){find(L, D, adds, p->a), find(L, D, adds, p->b),
                         find(L, D, adds, p->out | GX_TERM_SUM), p->a & GX_TERM_NEGATIVE,
                         p->b & GX_TERM_NEGATIVE};
}

/* i may be below 0 or above the last. */
TEMPLATE void prefetch(const unsigned L, const unsigned D, const struct gx_msm_adds *adds,
                       uint32_t i)
{
    if (i >= adds->count)
        return;
    const char *a = (const char *)find(L, D, adds, adds->pairs[i].a);
    const char *b = (const char *)find(L, D, adds, adds->pairs[i].b);
    for (size_t at = 0; at < WORDS(L, D) * sizeof(uint64_t); at += 64) {
        __builtin_prefetch(a + at);
        __builtin_prefetch(b + at);
    }
}

/* y or -y, from 0 to p, without a branch: the complement of y, and p + 1, is p - y. */
TEMPLATE void take_y(const unsigned L, const unsigned D, uint64_t *r, const uint64_t *y,
                     bool negative, const struct msm *f)
{
    const uint64_t mask = 0 - (uint64_t)negative;
    for (unsigned k = 0; k < D * L; k += L) {
        uint64_t t[GX_LIMBS_MAX];
        for (unsigned j = 0; j < L; j++)
            t[j] = y[k + j] ^ mask;
        fe_add_raw(L, r + k, t, f->sign[negative]);
    }
}

/* -y1, from 0 to p, and the numerator y2 - y1, loose. */
TEMPLATE void heights(const unsigned L, const unsigned D, uint64_t *minus_y1, uint64_t *numerator,
                      const struct pair *p, const struct msm *f)
{
    uint64_t y2[GX_COORD_LIMBS];
    take_y(L, D, minus_y1, p->a + D * L, !p->negative_a, f);
    take_y(L, D, y2, p->b + D * L, p->negative_b, f);
    for (unsigned k = 0; k < D * L; k += L)
        fe_add_raw(L, numerator + k, y2 + k, minus_y1 + k);
}

/* From the square of the slope l to x3 = l^2 - x1 - x2, and d = x1 - x3, loose. */
TEMPLATE void finish_x(const unsigned L, const unsigned D, uint64_t *x3, uint64_t *d,
                       const uint64_t *square, const struct pair *p, const struct msm *f)
{
    for (unsigned k = 0; k < D * L; k += L) {
        uint64_t t[GX_LIMBS_MAX];
        fe_add_raw(L, t, square + k, f->p_2);
        fe_sub_raw(L, t, t, p->a + k);
        fe_sub_raw(L, t, t, p->b + k);
        reduce(L, x3 + k, t, true, f);
    }
    subtract(L, D, d, p->a, x3, f);
}

/* The sum, from x3 and y3 + y1 = l (x1 - x3), loose. */
TEMPLATE void put(const unsigned L, const unsigned D, uint64_t *out, const uint64_t *x3,
                  const uint64_t *product, const uint64_t *minus_y1, const struct msm *f)
{
    copy(D * L, out, x3);
    for (unsigned k = 0; k < D * L; k += L) {
        uint64_t t[GX_LIMBS_MAX];
        fe_add_raw(L, t, product + k, minus_y1 + k);
        reduce(L, out + D * L + k, t, true, f);
    }
}

/* ---- the inverses of a batch -------------------------------------------------------------
 *
 * Pair i is in chain i % CHAINS. What is kept of it: the product of the denominators before it in
 * its chain, where the second pass puts the inverse of that, and its denominator. */

TEMPLATE uint64_t *before_at(const unsigned L, const unsigned D, const struct gx_msm_adds *adds,
                             uint32_t i)
{
    return (uint64_t *)adds->scratch + i * 2 * (size_t)D * L;
}

TEMPLATE uint64_t *denominator_at(const unsigned L, const unsigned D,
                                  const struct gx_msm_adds *adds, uint32_t i)
{
    return before_at(L, D, adds, i) + (size_t)D * L;
}

TEMPLATE void begin_chains(const unsigned L, const unsigned D, const struct gx_msm_adds *adds,
                           const struct msm *f)
{
    for (uint32_t c = 0; c < CHAINS; c++)
        set_one(L, D, before_at(L, D, adds, c), f);
}

TEMPLATE void extend_chain(const unsigned L, const unsigned D, const struct gx_msm_adds *adds,
                           uint32_t i, const struct msm *f)
{
    mul(L, D, before_at(L, D, adds, i + CHAINS), before_at(L, D, adds, i),
        denominator_at(L, D, adds, i), f);
}

/* From the products of the chains to their inverses; false: one is 0. */
TEMPLATE bool invert_chains(const unsigned L, const unsigned D, const struct gx_msm_adds *adds,
                            const struct msm *f)
{
    uint64_t *first = before_at(L, D, adds, adds->count);
    uint64_t *second = before_at(L, D, adds, adds->count + 1);
    uint64_t all[GX_COORD_LIMBS], inverse[GX_COORD_LIMBS];
    _Static_assert(CHAINS == 2, "written out for two");
    mul(L, D, all, first, second, f);
    for (unsigned k = 0; k < D * L; k += L)
        reduce(L, all + k, all + k, false, f);
    if (is_zero(D * L, all))
        return false;
    gx__coord_invert(f->curve, inverse, all);
    mul(L, D, all, inverse, second, f);
    mul(L, D, second, inverse, first, f);
    copy(D * L, first, all);
    return true;
}

/* t = the inverse of denominator i. */
TEMPLATE void take_inverse(const unsigned L, const unsigned D, uint64_t *t,
                           const struct gx_msm_adds *adds, uint32_t i, const struct msm *f)
{
    mul(L, D, t, before_at(L, D, adds, i + CHAINS), before_at(L, D, adds, i), f);
}

/* After take_inverse: what the pair before it in the chain needs. */
TEMPLATE void shorten_chain(const unsigned L, const unsigned D, const struct gx_msm_adds *adds,
                            uint32_t i, const struct msm *f)
{
    mul(L, D, before_at(L, D, adds, i), before_at(L, D, adds, i + CHAINS),
        denominator_at(L, D, adds, i), f);
}

/* ---- pairs with different x --------------------------------------------------------------- */

/* False: there is infinity in the batch. */
TEMPLATE bool pass_up(const unsigned L, const unsigned D, const struct gx_msm_adds *adds,
                      const struct msm *f)
{
    uint64_t marks = 0;
    for (uint32_t i = 0; i < AHEAD; i++)
        prefetch(L, D, adds, i);
    for (uint32_t i = 0; i < adds->count; i++) {
        const struct pair p = pair_at(L, D, adds, i);
        prefetch(L, D, adds, i + AHEAD);
        marks |= p.a[L - 1] | p.b[L - 1];
        subtract(L, D, denominator_at(L, D, adds, i), p.b, p.a, f);
        extend_chain(L, D, adds, i, f);
    }
    return !(marks & INFINITE);
}

/* The inverse of a denominator is taken beside the pair before it: no product waits for the one
 * just before it. */
TEMPLATE void pass_down(const unsigned L, const unsigned D, const struct gx_msm_adds *adds,
                        const struct msm *f)
{
    uint64_t t[GX_COORD_LIMBS];
    take_inverse(L, D, t, adds, adds->count - 1, f);
    for (uint32_t i = adds->count - 1;; i--) {
        const struct pair p = pair_at(L, D, adds, i);
        uint64_t minus_y1[GX_COORD_LIMBS], numerator[GX_COORD_LIMBS], l[GX_COORD_LIMBS];
        uint64_t square[GX_COORD_LIMBS], x3[GX_COORD_LIMBS], d[GX_COORD_LIMBS];
        prefetch(L, D, adds, i - AHEAD);
        heights(L, D, minus_y1, numerator, &p, f);
        mul(L, D, l, numerator, t, f);
        shorten_chain(L, D, adds, i, f);
        sqr(L, D, square, l, f);
        if (i > 0)
            take_inverse(L, D, t, adds, i - 1, f);
        finish_x(L, D, x3, d, square, &p, f);
        mul(L, D, l, l, d, f);
        put(L, D, p.out, x3, l, minus_y1, f);
        if (i == 0)
            return;
    }
}

/* ---- pairs with infinity, equal and opposite points ---------------------------------------- */

enum sum { CHORD, TANGENT, FIRST_POINT, SECOND_POINT, NOTHING }; /* the line, or what the sum is */

TEMPLATE bool is_infinite(const unsigned L, const uint64_t *point)
{
    return point[L - 1] & INFINITE;
}

TEMPLATE void set_infinite(const unsigned L, const unsigned D, uint64_t *point)
{
    for (unsigned j = 0; j < WORDS(L, D); j++)
        point[j] = j == L - 1 ? INFINITE : 0;
}

/* Below p; r may be y. */
TEMPLATE void negate(const unsigned L, const unsigned D, uint64_t *r, const uint64_t *y,
                     const struct msm *f)
{
    for (unsigned k = 0; k < D * L; k += L)
        fe_sub(L, r + k, f->sign[0], y + k, f->prime);
}

TEMPLATE enum sum look(const unsigned L, const unsigned D, const struct pair *p,
                       const struct msm *f)
{
    const uint64_t *y1 = p->a + D * L, *y2 = p->b + D * L;
    uint64_t minus_y1[GX_COORD_LIMBS];
    if (is_infinite(L, p->a))
        return SECOND_POINT;
    if (is_infinite(L, p->b))
        return FIRST_POINT;
    if (!equal(D * L, p->a, p->b))
        return CHORD;
    negate(L, D, minus_y1, y1, f);
    bool same = equal(D * L, p->negative_a == p->negative_b ? y1 : minus_y1, y2);
    return same && !is_zero(D * L, y1) ? TANGENT : NOTHING;
}

TEMPLATE void careful_up(const unsigned L, const unsigned D, const struct gx_msm_adds *adds,
                         const struct msm *f)
{
    for (uint32_t i = 0; i < adds->count; i++) {
        const struct pair p = pair_at(L, D, adds, i);
        const enum sum sum = look(L, D, &p, f);
        uint64_t *d = denominator_at(L, D, adds, i), y1[GX_COORD_LIMBS];
        if (sum == CHORD) {
            subtract(L, D, d, p.b, p.a, f);
        } else if (sum == TANGENT) {
            take_y(L, D, y1, p.a + D * L, p.negative_a, f);
            for (unsigned k = 0; k < D * L; k += L)
                fe_add_raw(L, d + k, y1 + k, y1 + k);
        } else {
            set_one(L, D, d, f);
        }
        extend_chain(L, D, adds, i, f);
    }
}

/* 3 x^2, loose. */
TEMPLATE void tangent_numerator(const unsigned L, const unsigned D, uint64_t *r, const uint64_t *x,
                                const struct msm *f)
{
    uint64_t base[GX_COORD_LIMBS], square[GX_COORD_LIMBS];
    copy(D * L, base, x);
    sqr(L, D, square, base, f);
    for (unsigned k = 0; k < D * L; k += L) {
        uint64_t twice[GX_LIMBS_MAX];
        reduce(L, square + k, square + k, false, f);
        fe_add_raw(L, twice, square + k, square + k);
        reduce(L, twice, twice, false, f);
        fe_add_raw(L, r + k, twice, square + k);
    }
}

TEMPLATE void careful_down(const unsigned L, const unsigned D, const struct gx_msm_adds *adds,
                           const struct msm *f)
{
    for (uint32_t i = adds->count; i-- > 0;) {
        const struct pair p = pair_at(L, D, adds, i);
        const enum sum sum = look(L, D, &p, f);
        uint64_t minus_y1[GX_COORD_LIMBS], numerator[GX_COORD_LIMBS], l[GX_COORD_LIMBS];
        uint64_t t[GX_COORD_LIMBS], square[GX_COORD_LIMBS], x3[GX_COORD_LIMBS], d[GX_COORD_LIMBS];
        take_inverse(L, D, t, adds, i, f);
        shorten_chain(L, D, adds, i, f);
        if (sum == CHORD || sum == TANGENT) {
            heights(L, D, minus_y1, numerator, &p, f);
            if (sum == TANGENT)
                tangent_numerator(L, D, numerator, p.a, f);
            mul(L, D, l, numerator, t, f);
            sqr(L, D, square, l, f);
            finish_x(L, D, x3, d, square, &p, f);
            mul(L, D, l, l, d, f);
            put(L, D, p.out, x3, l, minus_y1, f);
        } else if (sum == NOTHING) {
            set_infinite(L, D, p.out);
        } else {
            uint64_t xy[2 * GX_COORD_LIMBS];
            copy(WORDS(L, D), xy, sum == FIRST_POINT ? p.a : p.b);
            if (sum == FIRST_POINT ? p.negative_a : p.negative_b)
                negate(L, D, xy + D * L, xy + D * L, f);
            copy(WORDS(L, D), p.out, xy);
        }
    }
}

/* ---- the tier ------------------------------------------------------------------------------ */

static void msm_init(struct msm *f, const struct gx_curve_row *curve)
{
    const struct gx_prime *prime = curve->base;
    uint64_t carry_2 = 0, carry_1 = 1;
    *f = (struct msm){.curve = curve, .prime = prime};
    for (uint32_t j = 0; j < prime->limbs; j++) {
        f->p_2[j] = prime->p[j] << 1 | carry_2;
        carry_2 = prime->p[j] >> 63;
        f->sign[1][j] = prime->p[j] + carry_1;
        carry_1 = f->sign[1][j] < carry_1;
    }
}

#define DEFINE_ADD(L, D)                                                                           \
    NOINLINE void add_careful_##L##_##D(const struct gx_msm_adds *adds, const struct msm *f)       \
    {                                                                                              \
        begin_chains(L, D, adds, f);                                                               \
        careful_up(L, D, adds, f);                                                                 \
        invert_chains(L, D, adds, f);                                                              \
        careful_down(L, D, adds, f);                                                               \
    }                                                                                              \
    NOINLINE void add_##L##_##D(const struct gx_msm_adds *adds, const struct msm *f)               \
    {                                                                                              \
        begin_chains(L, D, adds, f);                                                               \
        if (pass_up(L, D, adds, f) && invert_chains(L, D, adds, f))                                \
            pass_down(L, D, adds, f);                                                              \
        else                                                                                       \
            add_careful_##L##_##D(adds, f);                                                        \
    }
DEFINE_ADD(6, 1)
DEFINE_ADD(6, 2)
DEFINE_ADD(4, 1)
DEFINE_ADD(4, 2)

static void msm_add(const struct gx_msm_adds *adds)
{
    struct msm f;
    msm_init(&f, adds->curve);
    if (adds->curve->base->limbs == 6)
        (adds->curve->degree == 1 ? add_6_1 : add_6_2)(adds, &f);
    else
        (adds->curve->degree == 1 ? add_4_1 : add_4_2)(adds, &f);
}

static size_t msm_point_bytes(const struct gx_curve_row *curve)
{
    return 2 * curve->limbs * sizeof(uint64_t);
}

static size_t msm_adds_scratch(const struct gx_curve_row *curve)
{
    return (GX_MSM_BATCH + CHAINS) * 2 * curve->limbs * sizeof(uint64_t);
}

static void msm_load(const struct gx_curve_row *curve, void *points, const uint64_t *xy, size_t n)
{
    const size_t words = 2 * (size_t)curve->limbs;
    memcpy(points, xy, n * words * sizeof *xy);
    for (size_t i = 0; i < n; i++)
        if (gx__affine_is_infinity(curve, xy + i * words))
            ((uint64_t *)points)[i * words + curve->base->limbs - 1] = INFINITE;
}

static void msm_store(const struct gx_curve_row *curve, uint64_t *xy, const void *points, size_t n)
{
    const size_t words = 2 * (size_t)curve->limbs;
    memcpy(xy, points, n * words * sizeof *xy);
    for (size_t i = 0; i < n; i++)
        xy[i * words + curve->base->limbs - 1] &= ~INFINITE;
}

static void msm_copy(const struct gx_curve_row *curve, void *to, const void *from, bool opposite)
{
    uint64_t *y = (uint64_t *)to + curve->limbs;
    memcpy(to, from, msm_point_bytes(curve));
    if (opposite)
        gx__coord_neg(curve, y, y);
}

#define MSM_SCALAR_HOST(which)                                                                     \
    {                                                                                              \
        .tier = (which), .point_bytes = msm_point_bytes, .adds_scratch = msm_adds_scratch,         \
        .add = msm_add, .load = msm_load, .store = msm_store, .copy = msm_copy                     \
    }

#endif
