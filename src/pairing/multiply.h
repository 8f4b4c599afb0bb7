/* SPDX-License-Identifier: Apache-2.0
 *
 * Multiples of points of G1, in XYZZ as in curve/point.c, with the same formulas: a template over
 * LIMBS.
 */
#ifndef GX_PAIRING_MULTIPLY_H
#define GX_PAIRING_MULTIPLY_H

#include "pairing/tower.h"

/* Infinity: zz is 0. */
struct point {
    uint64_t x[LIMBS], y[LIMBS], zz[LIMBS], zzz[LIMBS];
};

NOINLINE void mul1(uint64_t *r, const uint64_t *a, const uint64_t *b, const struct gx_prime *p)
{
    fe_mul(LIMBS, r, a, b, p);
}

static bool is_zero1(const uint64_t *a)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < LIMBS; i++)
        any |= a[i];
    return !any;
}

static void double_point(struct point *t, const struct gx_prime *p)
{
    uint64_t u[LIMBS], v[LIMBS], w[LIMBS], s[LIMBS], m[LIMBS];
    fe_add(LIMBS, u, t->y, t->y, p);
    mul1(v, u, u, p);
    mul1(w, u, v, p);
    mul1(s, t->x, v, p);
    mul1(u, t->x, t->x, p);
    fe_add(LIMBS, m, u, u, p);
    fe_add(LIMBS, m, m, u, p);
    mul1(t->x, m, m, p);
    fe_sub(LIMBS, t->x, t->x, s, p);
    fe_sub(LIMBS, t->x, t->x, s, p);
    fe_sub(LIMBS, s, s, t->x, p);
    mul1(s, s, m, p);
    mul1(t->y, t->y, w, p);
    fe_sub(LIMBS, t->y, s, t->y, p);
    mul1(t->zz, t->zz, v, p);
    mul1(t->zzz, t->zzz, w, p);
}

static void set_point(struct point *t, const uint64_t *xy, const struct gx_prime *p)
{
    memcpy(t->x, xy, sizeof t->x);
    memcpy(t->y, xy + LIMBS, sizeof t->y);
    memcpy(t->zz, p->one, sizeof t->zz);
    memcpy(t->zzz, p->one, sizeof t->zzz);
}

static void add_point(struct point *t, const uint64_t *xy, const struct gx_prime *p)
{
    uint64_t dx[LIMBS], dy[LIMBS], square[LIMBS], cube[LIMBS], q[LIMBS];
    if (is_zero1(t->zz)) {
        set_point(t, xy, p);
        return;
    }
    mul1(dx, xy, t->zz, p);
    mul1(dy, xy + LIMBS, t->zzz, p);
    fe_sub(LIMBS, dx, dx, t->x, p);
    fe_sub(LIMBS, dy, dy, t->y, p);
    if (is_zero1(dx) && is_zero1(dy)) {
        double_point(t, p);
        return;
    }
    mul1(square, dx, dx, p); /* 0 for opposite points, which makes infinity */
    mul1(cube, square, dx, p);
    mul1(q, t->x, square, p);
    mul1(t->x, dy, dy, p);
    fe_sub(LIMBS, t->x, t->x, cube, p);
    fe_sub(LIMBS, t->x, t->x, q, p);
    fe_sub(LIMBS, t->x, t->x, q, p);
    fe_sub(LIMBS, q, q, t->x, p);
    mul1(q, q, dy, p);
    mul1(t->y, t->y, cube, p);
    fe_sub(LIMBS, t->y, q, t->y, p);
    mul1(t->zz, t->zz, square, p);
    mul1(t->zzz, t->zzz, cube, p);
}

static void multiply(const struct gx_pairing_row *f, struct gx_xyzz *out, const uint64_t *xy,
                     const uint64_t *scalar, uint32_t bits)
{
    struct point t;
    memset(&t, 0, sizeof t);
    for (uint32_t i = bits; i-- > 0;) {
        if (!is_zero1(t.zz))
            double_point(&t, f->base);
        if (scalar[i / 64] >> i % 64 & 1)
            add_point(&t, xy, f->base);
    }
    memcpy(out->x, t.x, sizeof t.x);
    memcpy(out->y, t.y, sizeof t.y);
    memcpy(out->zz, t.zz, sizeof t.zz);
    memcpy(out->zzz, t.zzz, sizeof t.zzz);
}

#endif
