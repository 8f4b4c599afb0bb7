/* SPDX-License-Identifier: Apache-2.0
 *
 * Fq2, Fq6 and Fq12 of the pairings, one element at a time: Fq2 = Fq[u] / (u^2 + 1), Fq6 = Fq2[v] /
 * (v^3 - xi), Fq12 = Fq6[w] / (w^2 - v), xi = 1 + u or 9 + u. A template over LIMBS, which the file
 * that includes this one defines, by the element functions of its tier (field/element.h).
 *
 * Coefficients are in Montgomery form, below p, but where a "loose" one is allowed, from 0 to 2p. r
 * may be an operand.
 */
#ifndef GX_PAIRING_TOWER_H
#define GX_PAIRING_TOWER_H

#include "curve/coord.h"
#include "field/element.h"
#include "pairing/tier.h"

#define NOINLINE static __attribute__((noinline))

struct fq2 {
    uint64_t c[2][LIMBS];
};

struct fq6 {
    struct fq2 c[3];
};

struct fq12 {
    struct fq6 c[2];
};

/* ---- Fq2 ------------------------------------------------------------------------------ */

static inline void add2(struct fq2 *r, const struct fq2 *a, const struct fq2 *b,
                        const struct gx_prime *p)
{
    fe_add(LIMBS, r->c[0], a->c[0], b->c[0], p);
    fe_add(LIMBS, r->c[1], a->c[1], b->c[1], p);
}

/* Loose. */
static inline void add2_loose(struct fq2 *r, const struct fq2 *a, const struct fq2 *b)
{
    fe_add_raw(LIMBS, r->c[0], a->c[0], b->c[0]);
    fe_add_raw(LIMBS, r->c[1], a->c[1], b->c[1]);
}

static inline void sub2(struct fq2 *r, const struct fq2 *a, const struct fq2 *b,
                        const struct gx_prime *p)
{
    fe_sub(LIMBS, r->c[0], a->c[0], b->c[0], p);
    fe_sub(LIMBS, r->c[1], a->c[1], b->c[1], p);
}

static inline void neg2(struct fq2 *r, const struct fq2 *a, const struct gx_prime *p)
{
    static const struct fq2 zero;
    sub2(r, &zero, a, p);
}

static inline void conjugate2(struct fq2 *r, const struct fq2 *a, const struct gx_prime *p)
{
    static const uint64_t zero[LIMBS];
    *r = *a;
    fe_sub(LIMBS, r->c[1], zero, a->c[1], p);
}

/* (a0 b0 - a1 b1) + (a0 b1 + a1 b0) u; b may be loose. The sums of two products are below p + 4 p p
 * / R < 2p, as 4p < R. */
NOINLINE void mul2(struct fq2 *r, const struct fq2 *a, const struct fq2 *b,
                   const struct gx_prime *p)
{
    uint64_t v[3 * LIMBS], real[LIMBS], imaginary[LIMBS]; /* v: a1, a0, p - a1 */
    load_limbs(LIMBS, v, a->c[1]);
    load_limbs(LIMBS, v + LIMBS, a->c[0]);
    fe_sub_raw(LIMBS, v + 2 * LIMBS, p->p, a->c[1]);
    fe_mul_two_raw(LIMBS, real, v + LIMBS, b->c[0], p);
    fe_mul_two_raw(LIMBS, imaginary, v, b->c[0], p);
    fe_reduce(LIMBS, r->c[0], real, p->p);
    fe_reduce(LIMBS, r->c[1], imaginary, p->p);
}

/* (a0 + a1)(a0 - a1) + 2 a0 a1 u, of loose factors: below p + 4 p p / R. */
NOINLINE void sqr2(struct fq2 *r, const struct fq2 *a, const struct gx_prime *p)
{
    uint64_t sum[LIMBS], difference[LIMBS], twice[LIMBS];
    fe_add_raw(LIMBS, sum, a->c[0], a->c[1]);
    fe_add_raw(LIMBS, twice, a->c[0], a->c[0]);
    fe_add_raw(LIMBS, difference, a->c[0], p->p);
    fe_sub_raw(LIMBS, difference, difference, a->c[1]);
    fe_mul(LIMBS, r->c[1], twice, a->c[1], p);
    fe_mul(LIMBS, r->c[0], sum, difference, p);
}

/* a times an element of Fq */
static inline void scale2(struct fq2 *r, const struct fq2 *a, const uint64_t *s,
                          const struct gx_prime *p)
{
    fe_mul(LIMBS, r->c[0], a->c[0], s, p);
    fe_mul(LIMBS, r->c[1], a->c[1], s, p);
}

static inline void mul_xi(struct fq2 *r, const struct fq2 *a, const struct gx_pairing_row *f)
{
    struct fq2 t = *a;
    if (f->bn) { /* 9 a */
        for (int i = 0; i < 3; i++)
            add2(&t, &t, &t, f->base);
        add2(&t, &t, a, f->base);
    }
    const struct fq2 in = *a;
    fe_sub(LIMBS, r->c[0], t.c[0], in.c[1], f->base);
    fe_add(LIMBS, r->c[1], t.c[1], in.c[0], f->base);
}

/* ---- Fq6 ------------------------------------------------------------------------------ */

static inline void add6(struct fq6 *r, const struct fq6 *a, const struct fq6 *b,
                        const struct gx_pairing_row *f)
{
    for (int i = 0; i < 3; i++)
        add2(&r->c[i], &a->c[i], &b->c[i], f->base);
}

static inline void sub6(struct fq6 *r, const struct fq6 *a, const struct fq6 *b,
                        const struct gx_pairing_row *f)
{
    for (int i = 0; i < 3; i++)
        sub2(&r->c[i], &a->c[i], &b->c[i], f->base);
}

static inline void neg6(struct fq6 *r, const struct fq6 *a, const struct gx_pairing_row *f)
{
    for (int i = 0; i < 3; i++)
        neg2(&r->c[i], &a->c[i], f->base);
}

static inline void mul_v(struct fq6 *r, const struct fq6 *a, const struct gx_pairing_row *f)
{
    struct fq6 t = {{a->c[2], a->c[0], a->c[1]}};
    mul_xi(&t.c[0], &t.c[0], f);
    *r = t;
}

/* r = (a1 + a2)(b1 + b2) - p1 - p2, where p1 = a1 b1 and p2 = a2 b2: a1 b2 + a2 b1. */
static inline void cross(struct fq2 *r, const struct fq2 *a1, const struct fq2 *a2,
                         const struct fq2 *b1, const struct fq2 *b2, const struct fq2 *p1,
                         const struct fq2 *p2, const struct gx_prime *p)
{
    struct fq2 a, b;
    add2(&a, a1, a2, p);
    add2_loose(&b, b1, b2);
    mul2(&a, &a, &b, p);
    sub2(&a, &a, p1, p);
    sub2(r, &a, p2, p);
}

static void mul6(struct fq6 *r, const struct fq6 *a, const struct fq6 *b,
                 const struct gx_pairing_row *f)
{
    const struct gx_prime *p = f->base;
    struct fq2 low, middle, high, t01, t02, t12;
    mul2(&low, &a->c[0], &b->c[0], p);
    mul2(&middle, &a->c[1], &b->c[1], p);
    mul2(&high, &a->c[2], &b->c[2], p);
    cross(&t01, &a->c[0], &a->c[1], &b->c[0], &b->c[1], &low, &middle, p);
    cross(&t02, &a->c[0], &a->c[2], &b->c[0], &b->c[2], &low, &high, p);
    cross(&t12, &a->c[1], &a->c[2], &b->c[1], &b->c[2], &middle, &high, p);
    mul_xi(&t12, &t12, f);
    mul_xi(&high, &high, f);
    add2(&r->c[0], &low, &t12, p);
    add2(&r->c[1], &t01, &high, p);
    add2(&r->c[2], &t02, &middle, p);
}

/* a (b0 + b1 v) */
static void mul6_sparse(struct fq6 *r, const struct fq6 *a, const struct fq2 *b0,
                        const struct fq2 *b1, const struct gx_pairing_row *f)
{
    const struct gx_prime *p = f->base;
    struct fq2 low, middle, t01, t02, t12;
    mul2(&low, &a->c[0], b0, p);
    mul2(&middle, &a->c[1], b1, p);
    cross(&t01, &a->c[0], &a->c[1], b0, b1, &low, &middle, p);
    mul2(&t02, &a->c[2], b0, p);
    mul2(&t12, &a->c[2], b1, p);
    mul_xi(&t12, &t12, f);
    add2(&r->c[0], &low, &t12, p);
    r->c[1] = t01;
    add2(&r->c[2], &t02, &middle, p);
}

static void scale6(struct fq6 *r, const struct fq6 *a, const struct fq2 *b,
                   const struct gx_pairing_row *f)
{
    for (int i = 0; i < 3; i++)
        mul2(&r->c[i], &a->c[i], b, f->base);
}

/* With n = a0 A + xi (a2 B + a1 C): A = a0^2 - xi a1 a2, B = xi a2^2 - a0 a1, C = a1^2 - a0 a2, the
 * inverse is (A + B v + C v^2) / n. */
static void invert6(struct fq6 *r, const struct fq6 *a, const struct gx_pairing_row *f)
{
    const struct gx_prime *p = f->base;
    struct fq6 t;
    struct fq2 product, norm;
    mul2(&product, &a->c[1], &a->c[2], p);
    mul_xi(&product, &product, f);
    sqr2(&t.c[0], &a->c[0], p);
    sub2(&t.c[0], &t.c[0], &product, p);
    mul2(&product, &a->c[0], &a->c[1], p);
    sqr2(&t.c[1], &a->c[2], p);
    mul_xi(&t.c[1], &t.c[1], f);
    sub2(&t.c[1], &t.c[1], &product, p);
    mul2(&product, &a->c[0], &a->c[2], p);
    sqr2(&t.c[2], &a->c[1], p);
    sub2(&t.c[2], &t.c[2], &product, p);
    mul2(&norm, &a->c[2], &t.c[1], p);
    mul2(&product, &a->c[1], &t.c[2], p);
    add2(&norm, &norm, &product, p);
    mul_xi(&norm, &norm, f);
    mul2(&product, &a->c[0], &t.c[0], p);
    add2(&norm, &norm, &product, p);
    gx__coord_invert(f->g2, norm.c[0], norm.c[0]);
    scale6(r, &t, &norm, f);
}

/* ---- Fq12 ----------------------------------------------------------------------------- */

static void set_one12(struct fq12 *r, const struct gx_pairing_row *f)
{
    *r = (struct fq12){0};
    memcpy(r->c[0].c[0].c[0], f->base->one, LIMBS * sizeof(uint64_t));
}

/* (a0 + a1)(b0 + b1) - a0 b0 - a1 b1 */
static void mul12(struct fq12 *r, const struct fq12 *a, const struct fq12 *b,
                  const struct gx_pairing_row *f)
{
    struct fq6 low, high, sum_a, sum_b;
    add6(&sum_a, &a->c[0], &a->c[1], f);
    add6(&sum_b, &b->c[0], &b->c[1], f);
    mul6(&low, &a->c[0], &b->c[0], f);
    mul6(&high, &a->c[1], &b->c[1], f);
    mul6(&sum_a, &sum_a, &sum_b, f);
    sub6(&sum_a, &sum_a, &low, f);
    sub6(&r->c[1], &sum_a, &high, f);
    mul_v(&high, &high, f);
    add6(&r->c[0], &low, &high, f);
}

/* (a0 + a1)(a0 + v a1) - (1 + v) a0 a1 + 2 a0 a1 w */
static void sqr12(struct fq12 *r, const struct fq12 *a, const struct gx_pairing_row *f)
{
    struct fq6 product, sum, other;
    mul6(&product, &a->c[0], &a->c[1], f);
    add6(&sum, &a->c[0], &a->c[1], f);
    mul_v(&other, &a->c[1], f);
    add6(&other, &other, &a->c[0], f);
    mul6(&sum, &sum, &other, f);
    mul_v(&other, &product, f);
    sub6(&sum, &sum, &product, f);
    sub6(&r->c[0], &sum, &other, f);
    add6(&r->c[1], &product, &product, f);
}

/* a^(q^6): in the cyclotomic subgroup, the inverse. */
static void conjugate12(struct fq12 *r, const struct fq12 *a, const struct gx_pairing_row *f)
{
    r->c[0] = a->c[0];
    neg6(&r->c[1], &a->c[1], f);
}

/* (a0 - a1 w) / (a0^2 - v a1^2) */
static void invert12(struct fq12 *r, const struct fq12 *a, const struct gx_pairing_row *f)
{
    struct fq6 norm, square;
    mul6(&norm, &a->c[0], &a->c[0], f);
    mul6(&square, &a->c[1], &a->c[1], f);
    mul_v(&square, &square, f);
    sub6(&norm, &norm, &square, f);
    invert6(&norm, &norm, f);
    mul6(&r->c[0], &a->c[0], &norm, f);
    mul6(&r->c[1], &a->c[1], &norm, f);
    neg6(&r->c[1], &r->c[1], f);
}

/* a^q: the coefficient of w^i is conjugated and multiplied by xi^(i (q - 1) / 6). */
static void frobenius(struct fq12 *r, const struct fq12 *a, const struct gx_pairing_row *f)
{
    for (int i = 0; i < 6; i++) {
        struct fq2 *to = &r->c[i % 2].c[i / 2];
        conjugate2(to, &a->c[i % 2].c[i / 2], f->base);
        mul2(to, to, (const struct fq2 *)f->frobenius[i], f->base);
    }
}

#endif
