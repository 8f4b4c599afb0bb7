/* SPDX-License-Identifier: Apache-2.0
 *
 * Powers in the cyclotomic subgroup of Fq12, of order q^4 - q^2 + 1, and the final exponentiation
 * of pairings: a template like tower.h.
 */
#ifndef GX_PAIRING_POWER_H
#define GX_PAIRING_POWER_H

#include "pairing/tower.h"

/* (a + b y)^2 = low + high y, with y^2 = xi */
static void square_pair(struct fq2 *low, struct fq2 *high, const struct fq2 *a, const struct fq2 *b,
                        const struct gx_pairing_row *f)
{
    const struct gx_prime *p = f->base;
    struct fq2 a2, b2, sum;
    sqr2(&a2, a, p);
    sqr2(&b2, b, p);
    add2(&sum, a, b, p);
    sqr2(&sum, &sum, p);
    sub2(&sum, &sum, &a2, p);
    sub2(high, &sum, &b2, p);
    mul_xi(&b2, &b2, f);
    add2(low, &a2, &b2, p);
}

/* r = 3 t - 2 r */
static void three_less_two(struct fq2 *r, const struct fq2 *t, const struct gx_prime *p)
{
    sub2(r, t, r, p);
    add2(r, r, r, p);
    add2(r, r, t, p);
}

/* r = 3 t + 2 r */
static void three_and_two(struct fq2 *r, const struct fq2 *t, const struct gx_prime *p)
{
    add2(r, t, r, p);
    add2(r, r, r, p);
    add2(r, r, t, p);
}

/* Granger and Scott, "Faster squaring in the cyclotomic subgroup of sixth degree extensions". */
static void cyclotomic_square(struct fq12 *r, const struct fq12 *a, const struct gx_pairing_row *f)
{
    const struct gx_prime *p = f->base;
    struct fq2 low[3], high[3];
    const struct fq6 *x = &a->c[0], *y = &a->c[1];
    square_pair(&low[0], &high[0], &x->c[0], &y->c[1], f);
    square_pair(&low[1], &high[1], &y->c[0], &x->c[2], f);
    square_pair(&low[2], &high[2], &x->c[1], &y->c[2], f);
    mul_xi(&high[2], &high[2], f);
    *r = *a;
    for (int i = 0; i < 3; i++)
        three_less_two(&r->c[0].c[i], &low[i], p);
    three_and_two(&r->c[1].c[0], &high[2], p);
    three_and_two(&r->c[1].c[1], &high[0], p);
    three_and_two(&r->c[1].c[2], &high[1], p);
}

/* r = a^x for the parameter of the curve; r is not a. */
static void power_x(struct fq12 *r, const struct fq12 *a, const struct gx_pairing_row *f)
{
    const struct gx_signed_digits *x = &f->power;
    struct fq12 inverse;
    conjugate12(&inverse, a, f);
    *r = *a;
    for (uint32_t i = x->count - 1; i-- > 0;) {
        cyclotomic_square(r, r, f);
        if (x->digit[i])
            mul12(r, r, x->digit[i] > 0 ? a : &inverse, f);
    }
    if (!f->bn)
        conjugate12(r, r, f);
}

/* a^((q^6 - 1)(q^2 + 1)) */
static void easy_part(struct fq12 *r, const struct fq12 *a, const struct gx_pairing_row *f)
{
    struct fq12 t;
    invert12(&t, a, f);
    conjugate12(r, a, f);
    mul12(r, r, &t, f);
    frobenius(&t, r, f);
    frobenius(&t, &t, f);
    mul12(r, r, &t, f);
}

/* r = a^(x - 1) */
static void power_x_less_one(struct fq12 *r, const struct fq12 *a, const struct gx_pairing_row *f)
{
    struct fq12 inverse;
    power_x(r, a, f);
    conjugate12(&inverse, a, f);
    mul12(r, r, &inverse, f);
}

/* a^(3 (q^4 - q^2 + 1) / order) = a^((x - 1)^2 (x + q)(x^2 + q^2 - 1) + 3): Hayashida, Hayasaka and
 * Teruya, "Efficient final exponentiation via cyclotomic structure for pairings over families of
 * elliptic curves". */
static void hard_part_bls12(struct fq12 *r, const struct gx_pairing_row *f)
{
    struct fq12 t, u, cube;
    cyclotomic_square(&cube, r, f);
    mul12(&cube, &cube, r, f);
    power_x_less_one(&t, r, f);
    power_x_less_one(&u, &t, f);
    power_x(&t, &u, f);
    frobenius(&u, &u, f);
    mul12(&t, &t, &u, f); /* (x - 1)^2 (x + q) */
    power_x(r, &t, f);
    power_x(&u, r, f);
    frobenius(r, &t, f);
    frobenius(r, r, f);
    mul12(r, r, &u, f);
    conjugate12(&t, &t, f);
    mul12(r, r, &t, f);
    mul12(r, r, &cube, f);
}

/* a^(2x (6x^2 + 3x + 1) (q^4 - q^2 + 1) / order), as
 * 12x^3 + 12x^2 + 6x + 1 + (12x^3 + 6x^2 + 4x) q + (12x^3 + 6x^2 + 6x) q^2
 *     + (12x^3 + 6x^2 + 4x - 1) q^3:
 * Fuentes-Castaneda, Knapp and Rodriguez-Henriquez, "Faster hashing to G2". */
static void hard_part_bn(struct fq12 *r, const struct gx_pairing_row *f)
{
    struct fq12 two, six, squared, t, u;
    power_x(&t, r, f);
    cyclotomic_square(&two, &t, f);
    cyclotomic_square(&t, &two, f);
    mul12(&six, &t, &two, f); /* 6x */
    power_x(&squared, &six, f);
    cyclotomic_square(&t, &squared, f);
    power_x(&u, &t, f); /* 12x^3 */
    mul12(&u, &u, &squared, f);
    mul12(&u, &u, &six, f); /* 12x^3 + 6x^2 + 6x */
    conjugate12(&two, &two, f);
    mul12(&t, &u, &two, f); /* 12x^3 + 6x^2 + 4x */
    mul12(&squared, &squared, &u, f);
    conjugate12(&two, r, f);
    mul12(r, r, &squared, f);
    mul12(&two, &two, &t, f);
    frobenius(&two, &two, f);
    mul12(&u, &u, &two, f);
    frobenius(&u, &u, f);
    mul12(&t, &t, &u, f);
    frobenius(&t, &t, f);
    mul12(r, r, &t, f);
}

#endif
