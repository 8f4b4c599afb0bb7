/* SPDX-License-Identifier: Apache-2.0
 *
 * See pairing.h: the parameters of each pair of curves, the choice of a tier, and what is the same
 * in all of them.
 */
#include "pairing/pairing.h"

#include <string.h>

#include "curve/coord.h"
#include "curve/form.h"
#include "curve/point.h"
#include "pairing/tier.h"

/* Why the end of a Miller loop decides membership in G2 of BN254: the map m satisfies m^2 - tm + q
 * = 0 on the whole curve, and the loop asks for m^3 - m^2 + m + 6x + 2 = 0. The resultant of the
 * two polynomials, of which the order of such a point is a divisor, is a multiple of r that has no
 * factor in common with the cofactor 2q - r. */
static struct gx_pairing_row rows[] = {
    {.curve = GX_BLS12_381_G1, .x = 0xd201000000010000},
    {.curve = GX_BN254_G1, .bn = true, .x = 0x44e992b44a6909f1},
};
enum { ROWS = sizeof rows / sizeof *rows };

struct gx_pairing {
    const struct gx_pairing_row *row;
    const struct gx_pairing_tier *tier;
};

static struct gx_pairing pairings[ROWS][GX_TIERS];

/* ---- when the library is loaded --------------------------------------------------------- */

/* No two digits beside each other, but for the highest, which may be 1, 1: one doubling less than
 * -1, 0, 1. */
static void set_digits(struct gx_signed_digits *d, unsigned __int128 value)
{
    d->count = 0;
    for (; value; value >>= 1) {
        int8_t digit = value & 1 ? (int8_t)(2 - (int)(value & 3)) : 0;
        if (value == 3)
            digit = 1;
        d->digit[d->count++] = digit;
        if (digit < 0)
            value++;
    }
}

static void set_lines(struct gx_pairing_row *row)
{
    struct gx_signed_digits loop = row->power;
    if (row->bn)
        set_digits(&loop, (unsigned __int128)6 * row->x + 2);
    for (uint32_t i = loop.count - 1; i-- > 0;) {
        row->line[row->lines++] = GX_LINE_DOUBLE;
        if (loop.digit[i])
            row->line[row->lines++] = loop.digit[i] > 0 ? GX_LINE_ADD : GX_LINE_SUBTRACT;
    }
    if (row->bn) {
        row->line[row->lines++] = GX_LINE_ADD_MAPPED;
        row->line[row->lines++] = GX_LINE_SUBTRACT_MAPPED_TWICE;
    }
}

/* The factors of the endomorphism of G2 are xi^((q-1)/3) and xi^((q-1)/2), or for BLS12 the inverse
 * of the first and minus that of the second: the quotient is xi^((q-1)/6). */
static void set_frobenius(struct gx_pairing_row *row)
{
    const struct gx_endomorphism *e = &row->g2->endomorphism;
    uint64_t *root = row->frobenius[1];
    gx__coord_invert(row->g2, root, row->bn ? e->x_factor : e->y_factor);
    gx__coord_mul(row->g2, root, root, row->bn ? e->y_factor : e->x_factor);
    if (!row->bn)
        gx__coord_neg(row->g2, root, root);
    gx__coord_set_one(row->g2, row->frobenius[0]);
    for (int i = 2; i < 6; i++)
        gx__coord_mul(row->g2, row->frobenius[i], row->frobenius[i - 1], root);
}

static void derive(struct gx_pairing_row *row)
{
    row->g1 = gx__curve(row->curve);
    row->g2 = gx__curve(row->curve + 1);
    row->base = row->g1->base;
    set_digits(&row->power, row->x);
    set_lines(row);
    set_frobenius(row);
}

static const struct gx_pairing_tier *implementation(enum gx_tier tier, uint32_t limbs)
{
#if defined(__x86_64__)
    if (tier == GX_TIER_ADX)
        return limbs == 4 ? &gx__pairing_adx_4 : &gx__pairing_adx_6;
#endif
    (void)tier;
    return limbs == 4 ? &gx__pairing_portable_4 : &gx__pairing_portable_6;
}

/* After the curves. */
__attribute__((constructor(103))) static void derive_all(void)
{
    for (size_t i = 0; i < ROWS; i++) {
        derive(&rows[i]);
        for (enum gx_tier t = 0; t < GX_TIERS; t++)
            pairings[i][t] = (struct gx_pairing){&rows[i], implementation(t, rows[i].base->limbs)};
    }
}

/* ---- which ------------------------------------------------------------------------------- */

const struct gx_pairing *gx__pairing(gx_curve curve, unsigned mask)
{
    const bool adx = mask & gx__host_tiers() & 1u << GX_TIER_ADX;
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].curve == curve || rows[i].curve + 1 == curve)
            return &pairings[i][adx ? GX_TIER_ADX : GX_TIER_PORTABLE];
    return NULL;
}

const struct gx_curve_row *gx__pairing_g1(const struct gx_pairing *e)
{
    return e->row->g1;
}

const struct gx_curve_row *gx__pairing_g2(const struct gx_pairing *e)
{
    return e->row->g2;
}

enum gx_tier gx__pairing_tier_of(const struct gx_pairing *e)
{
    return e->tier->tier;
}

/* ---- pairings ---------------------------------------------------------------------------- */

bool gx__lines_prepare(const struct gx_pairing *e, struct gx_lines *lines, const uint64_t *q)
{
    lines->infinity = gx__affine_is_infinity(e->row->g2, q);
    return lines->infinity || e->tier->prepare(e->row, lines, q);
}

static bool has_infinity(const struct gx_pairing_row *row, const struct gx_pair *pair)
{
    bool q = pair->lines ? pair->lines->infinity : gx__affine_is_infinity(row->g2, pair->q);
    return q || gx__affine_is_infinity(row->g1, pair->p);
}

/* For a pair with infinity, which the loop leaves out. */
static bool q_is_good(const struct gx_pairing_row *row, const struct gx_pair *pair)
{
    const char *why;
    return pair->lines || gx__point_check(row->g2, GX_CHECK_SUBGROUP, pair->q, &why) == GX_OK;
}

size_t gx__miller_loop(const struct gx_pairing *e, struct gx_fq12 *r, const struct gx_pair *pairs,
                       size_t n)
{
    gx__fq12_set_one(e, r);
    for (size_t i = 0; i < n;) {
        struct gx_pair some[GX_MILLER_PAIRS];
        size_t origin[GX_MILLER_PAIRS], count = 0;
        struct gx_fq12 part;
        for (; i < n && count < GX_MILLER_PAIRS; i++) {
            if (!has_infinity(e->row, &pairs[i])) {
                origin[count] = i;
                some[count++] = pairs[i];
            } else if (!q_is_good(e->row, &pairs[i])) {
                return i;
            }
        }
        size_t good = e->tier->miller(e->row, &part, some, count);
        if (good < count)
            return origin[good];
        gx__fq12_mul(e, r, r, &part);
    }
    return GX_ALL_GOOD;
}

void gx__final_power(const struct gx_pairing *e, struct gx_fq12 *r, const struct gx_fq12 *a)
{
    e->tier->final(e->row, r, a);
}

void gx__fq12_mul(const struct gx_pairing *e, struct gx_fq12 *r, const struct gx_fq12 *a,
                  const struct gx_fq12 *b)
{
    e->tier->mul(e->row, r, a, b);
}

bool gx__fq12_equal(const struct gx_pairing *e, const struct gx_fq12 *a, const struct gx_fq12 *b)
{
    return !memcmp(a->c, b->c, 12 * e->row->base->limbs * sizeof *a->c);
}

void gx__fq12_set_one(const struct gx_pairing *e, struct gx_fq12 *r)
{
    memset(r, 0, sizeof *r);
    memcpy(r->c, e->row->base->one, e->row->base->limbs * sizeof *r->c);
}

void gx__pairing_power(const struct gx_pairing *e, struct gx_fq12 *r, const struct gx_fq12 *a,
                       const uint64_t *scalar, uint32_t bits)
{
    e->tier->power(e->row, r, a, scalar, bits);
}

void gx__pairing_multiply(const struct gx_pairing *e, struct gx_xyzz *out, const uint64_t *xy,
                          const uint64_t *scalar, uint32_t bits)
{
    gx__xyzz_set_infinity(out);
    if (!gx__affine_is_infinity(e->row->g1, xy))
        e->tier->multiply(e->row, out, xy, scalar, bits);
}

static gx_status not_in_subgroup(const char **why)
{
    *why = "it is not in the subgroup";
    return GX_ERR_INVALID;
}

gx_status gx__pairing_check_p(const struct gx_pairing *e, const uint64_t *xy, const char **why)
{
    const struct gx_curve_row *g1 = e->row->g1;
    const struct gx_endomorphism *map = &g1->endomorphism;
    struct gx_xyzz multiple;
    gx_status s = gx__point_check(g1, GX_CHECK_CURVE, xy, why);
    if (s || !map->bits || gx__affine_is_infinity(g1, xy))
        return s;
    gx__pairing_multiply(e, &multiple, xy, map->multiple, map->bits);
    return gx__point_is_image(g1, xy, &multiple) ? GX_OK : not_in_subgroup(why);
}

/* All but whether q is in the subgroup. */
static gx_status check_pair(const struct gx_pairing *e, const struct gx_pair *pair,
                            const char **why)
{
    gx_status s = gx__pairing_check_p(e, pair->p, why);
    if (!s && !pair->lines)
        s = gx__point_check(e->row->g2, GX_CHECK_CURVE, pair->q, why);
    return s;
}

gx_status gx__pairing_check(const struct gx_pairing *e, const struct gx_pair *pairs, size_t n,
                            bool *is_one, size_t *bad, const char **why)
{
    struct gx_fq12 product, one;
    *is_one = false;
    for (*bad = 0; *bad < n; ++*bad) {
        gx_status s = check_pair(e, &pairs[*bad], why);
        if (s)
            return s;
    }
    *bad = gx__miller_loop(e, &product, pairs, n);
    if (*bad != GX_ALL_GOOD)
        return not_in_subgroup(why);
    gx__final_power(e, &product, &product);
    gx__fq12_set_one(e, &one);
    *is_one = gx__fq12_equal(e, &product, &one);
    return GX_OK;
}
