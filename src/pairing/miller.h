/* SPDX-License-Identifier: Apache-2.0
 *
 * Miller loops: a template like tower.h. All pairs share the squarings. Points of G2 walk in
 * homogeneous coordinates, x = X / Z and y = Y / Z, with the formulas of Costello, Lange and
 * Naehrig, "Faster pairing computations on curves with high-degree twists".
 */
#ifndef GX_PAIRING_MILLER_H
#define GX_PAIRING_MILLER_H

#include "pairing/tower.h"

/* A line, up to factors that the final exponentiation makes 1: at (x, y) of G1 it is
 * y a + x b w + c w^3 for a D-twist, c + x b w^2 + y a w^3 for an M-twist. */
struct line {
    struct fq2 a, b, c;
};

struct walk {
    const uint64_t *px, *py;                        /* P */
    const uint64_t (*prepared)[3 * GX_COORD_LIMBS]; /* the lines of Q; or NULL, and then: */
    struct fq2 qx, qy;                              /* Q */
    struct fq2 x, y, z;                             /* where it has got to */
};

/* ---- lines ---------------------------------------------------------------------------- */

/* The tangent, and twice the point: its coordinates are 4 times those of the paper, so that nothing
 * is halved. */
static void tangent(struct line *l, struct walk *t, const struct gx_pairing_row *f)
{
    const struct gx_prime *p = f->base;
    struct fq2 xy, y2, z2, e, e3, h, u;
    mul2(&xy, &t->x, &t->y, p);
    sqr2(&y2, &t->y, p);
    sqr2(&z2, &t->z, p);
    add2(&u, &z2, &z2, p);
    add2(&u, &u, &z2, p);
    mul2(&e, &u, (const struct fq2 *)f->g2->b, p);
    add2(&e3, &e, &e, p);
    add2(&e3, &e3, &e, p);
    add2(&u, &t->y, &t->z, p);
    sqr2(&h, &u, p);
    sub2(&h, &h, &y2, p);
    sub2(&h, &h, &z2, p); /* 2 y z */
    neg2(&l->a, &h, p);
    sqr2(&u, &t->x, p);
    add2(&l->b, &u, &u, p);
    add2(&l->b, &l->b, &u, p);
    sub2(&l->c, &e, &y2, p);

    sub2(&u, &y2, &e3, p);
    mul2(&t->x, &u, &xy, p);
    add2(&t->x, &t->x, &t->x, p);
    add2(&u, &y2, &e3, p);
    sqr2(&t->y, &u, p);
    add2(&u, &e, &e, p);
    sqr2(&u, &u, p);
    add2(&e, &u, &u, p);
    add2(&u, &u, &e, p); /* 12 e^2 */
    sub2(&t->y, &t->y, &u, p);
    mul2(&t->z, &y2, &h, p);
    add2(&t->z, &t->z, &t->z, p);
    add2(&t->z, &t->z, &t->z, p);
}

/* The line through the point and (qx, qy), and their sum. */
static void chord(struct line *l, struct walk *t, const struct fq2 *qx, const struct fq2 *qy,
                  const struct gx_pairing_row *f)
{
    const struct gx_prime *p = f->base;
    struct fq2 theta, lambda, square, cube, u, g;
    mul2(&u, &t->z, qy, p);
    sub2(&theta, &t->y, &u, p);
    mul2(&u, &t->z, qx, p);
    sub2(&lambda, &t->x, &u, p);
    l->a = lambda;
    neg2(&l->b, &theta, p);
    mul2(&l->c, &theta, qx, p);
    mul2(&u, &lambda, qy, p);
    sub2(&l->c, &l->c, &u, p);

    sqr2(&square, &lambda, p);
    mul2(&cube, &square, &lambda, p);
    mul2(&g, &square, &t->x, p);
    sqr2(&u, &theta, p);
    mul2(&u, &u, &t->z, p);
    add2(&u, &u, &cube, p);
    sub2(&u, &u, &g, p);
    sub2(&u, &u, &g, p);
    mul2(&t->x, &lambda, &u, p);
    sub2(&g, &g, &u, p);
    mul2(&g, &g, &theta, p);
    mul2(&u, &t->y, &cube, p);
    sub2(&t->y, &g, &u, p);
    mul2(&t->z, &t->z, &cube, p);
}

/* The untwisted Frobenius map of a point of G2, (x, y) to (x_factor x', y_factor y'): see
 * curve.c. */
static void map_point(struct fq2 *x, struct fq2 *y, const struct gx_pairing_row *f)
{
    const struct gx_endomorphism *e = &f->g2->endomorphism;
    conjugate2(x, x, f->base);
    conjugate2(y, y, f->base);
    mul2(x, x, (const struct fq2 *)e->x_factor, f->base);
    mul2(y, y, (const struct fq2 *)e->y_factor, f->base);
}

/* ---- the walk of one point ---------------------------------------------------------------- */

static void walk_start(struct walk *t, const uint64_t *q, const struct gx_pairing_row *f)
{
    memcpy(&t->qx, q, sizeof t->qx);
    memcpy(&t->qy, q + f->g2->limbs, sizeof t->qy);
    t->x = t->qx;
    t->y = t->qy;
    t->z = (struct fq2){0};
    memcpy(t->z.c[0], f->base->one, sizeof t->z.c[0]);
}

static void walk_on(struct line *l, struct walk *t, enum gx_line_kind kind,
                    const struct gx_pairing_row *f)
{
    struct fq2 x = t->qx, y = t->qy;
    if (kind == GX_LINE_DOUBLE) {
        tangent(l, t, f);
        return;
    }
    if (kind == GX_LINE_ADD_MAPPED)
        map_point(&x, &y, f);
    if (kind == GX_LINE_SUBTRACT_MAPPED_TWICE) {
        map_point(&x, &y, f);
        map_point(&x, &y, f);
    }
    if (kind == GX_LINE_SUBTRACT || kind == GX_LINE_SUBTRACT_MAPPED_TWICE)
        neg2(&y, &y, f->base);
    chord(l, t, &x, &y, f);
}

static bool equal2(const struct fq2 *a, const struct fq2 *b)
{
    return !memcmp(a, b, sizeof *a);
}

/* After the last line, whether Q is in the subgroup, where m is the map: BLS12 has got to |x| Q,
 * which is to be m(Q) (curve.c); BN to (6x + 2) Q + m(Q) - m(m(Q)), which is to be -m(m(m(Q))).
 * pairing.c says why that is enough. Formulas that met a special case, as they can for points
 * outside alone, have left z = 0. */
static bool walk_ends_right(const struct walk *t, const struct gx_pairing_row *f)
{
    static const struct fq2 zero;
    struct fq2 x = t->qx, y = t->qy;
    for (int i = 0; i < (f->bn ? 3 : 1); i++)
        map_point(&x, &y, f);
    if (f->bn)
        neg2(&y, &y, f->base);
    mul2(&x, &x, &t->z, f->base);
    mul2(&y, &y, &t->z, f->base);
    return !equal2(&t->z, &zero) && equal2(&x, &t->x) && equal2(&y, &t->y);
}

static bool prepare(const struct gx_pairing_row *f, struct gx_lines *lines, const uint64_t *q)
{
    struct walk t;
    walk_start(&t, q, f);
    for (uint32_t i = 0; i < f->lines; i++)
        walk_on((struct line *)lines->line[i], &t, f->line[i], f);
    return walk_ends_right(&t, f);
}

/* ---- the loop ------------------------------------------------------------------------------ */

/* r *= the line at the point: see struct line. */
static void mul_line(struct fq12 *r, const struct line *l, const struct walk *t,
                     const struct gx_pairing_row *f)
{
    struct fq2 a, b, sum;
    struct fq6 low, high, both;
    scale2(&a, &l->a, t->py, f->base);
    scale2(&b, &l->b, t->px, f->base);
    add2(&sum, &a, &b, f->base);
    add6(&both, &r->c[0], &r->c[1], f);
    if (f->bn) {
        scale6(&low, &r->c[0], &a, f);
        mul6_sparse(&high, &r->c[1], &b, &l->c, f);
        mul6_sparse(&both, &both, &sum, &l->c, f);
    } else {
        mul6_sparse(&low, &r->c[0], &l->c, &b, f);
        scale6(&high, &r->c[1], &a, f);
        mul_v(&high, &high, f);
        mul6_sparse(&both, &both, &l->c, &sum, f);
    }
    sub6(&both, &both, &low, f);
    sub6(&r->c[1], &both, &high, f);
    mul_v(&high, &high, f);
    add6(&r->c[0], &low, &high, f);
}

static size_t miller(const struct gx_pairing_row *f, struct gx_fq12 *out,
                     const struct gx_pair *pairs, size_t n)
{
    struct walk walks[GX_MILLER_PAIRS];
    struct line own;
    struct fq12 *r = (struct fq12 *)out;
    for (size_t i = 0; i < n; i++) {
        walks[i] = (struct walk){.px = pairs[i].p,
                                 .py = pairs[i].p + LIMBS,
                                 .prepared = pairs[i].lines ? pairs[i].lines->line : NULL};
        if (!walks[i].prepared)
            walk_start(&walks[i], pairs[i].q, f);
    }
    set_one12(r, f);
    for (uint32_t k = 0; k < f->lines; k++) {
        if (k > 0 && f->line[k] == GX_LINE_DOUBLE)
            sqr12(r, r, f);
        for (size_t i = 0; i < n; i++) {
            const struct line *l = &own;
            if (walks[i].prepared)
                l = (const struct line *)walks[i].prepared[k];
            else
                walk_on(&own, &walks[i], f->line[k], f);
            mul_line(r, l, &walks[i], f);
        }
    }
    if (!f->bn)
        conjugate12(r, r, f);
    for (size_t i = 0; i < n; i++)
        if (!walks[i].prepared && !walk_ends_right(&walks[i], f))
            return i;
    return n;
}

#endif
