/* SPDX-License-Identifier: Apache-2.0
 *
 * See oracle_curve.h.
 */
#include "support/oracle_curve.h"

#include <string.h>

struct point {
    struct oracle_pair x, y;
    int infinity;
};

static int is_bls(gx_curve curve)
{
    return curve == GX_BLS12_381_G1 || curve == GX_BLS12_381_G2;
}

gx_field oracle_base_field(gx_curve curve)
{
    return is_bls(curve) ? GX_BLS12_381_FQ : GX_BN254_FQ;
}

gx_field oracle_scalar_field(gx_curve curve)
{
    return is_bls(curve) ? GX_BLS12_381_FR : GX_BN254_FR;
}

uint32_t oracle_degree(gx_curve curve)
{
    return curve == GX_BLS12_381_G1 || curve == GX_BN254_G1 ? 1 : 2;
}

static size_t coordinate_bytes(gx_curve curve)
{
    return oracle_degree(curve) * oracle_element_bytes(oracle_base_field(curve));
}

size_t oracle_affine_bytes(gx_curve curve)
{
    return 2 * coordinate_bytes(curve);
}

/* ---- pairs ---- */

void oracle_pair_init(struct oracle_pair *z)
{
    mpz_inits(z->c[0], z->c[1], NULL);
}

void oracle_pair_clear(struct oracle_pair *z)
{
    mpz_clears(z->c[0], z->c[1], NULL);
}

/* direction 1: from Montgomery form; -1: to it */
static void convert(gx_curve curve, mpz_t z, int direction)
{
    mpz_t p, r;
    mpz_inits(p, r, NULL);
    oracle_modulus(p, oracle_base_field(curve));
    mpz_setbit(r, 8 * oracle_element_bytes(oracle_base_field(curve)));
    if (direction > 0)
        mpz_invert(r, r, p);
    mpz_mul(z, z, r);
    mpz_mod(z, z, p);
    mpz_clears(p, r, NULL);
}

void oracle_pair_read(gx_curve curve, struct oracle_pair *z, const void *coordinate)
{
    size_t bytes = oracle_element_bytes(oracle_base_field(curve));
    mpz_set_ui(z->c[1], 0);
    for (uint32_t i = 0; i < oracle_degree(curve); i++) {
        oracle_import(z->c[i], (const char *)coordinate + i * bytes, bytes / 8);
        convert(curve, z->c[i], 1);
    }
}

void oracle_pair_write(gx_curve curve, void *coordinate, const struct oracle_pair *z)
{
    size_t bytes = oracle_element_bytes(oracle_base_field(curve));
    mpz_t t;
    mpz_init(t);
    for (uint32_t i = 0; i < oracle_degree(curve); i++) {
        mpz_set(t, z->c[i]);
        convert(curve, t, -1);
        oracle_export((char *)coordinate + i * bytes, bytes / 8, t);
    }
    mpz_clear(t);
}

static void reduce(gx_curve curve, struct oracle_pair *z)
{
    mpz_t p;
    mpz_init(p);
    oracle_modulus(p, oracle_base_field(curve));
    mpz_mod(z->c[0], z->c[0], p);
    mpz_mod(z->c[1], z->c[1], p);
    mpz_clear(p);
}

void oracle_pair_mul(gx_curve curve, struct oracle_pair *out, const struct oracle_pair *a,
                     const struct oracle_pair *b)
{
    struct oracle_pair r;
    oracle_pair_init(&r);
    mpz_mul(r.c[0], a->c[0], b->c[0]);
    mpz_submul(r.c[0], a->c[1], b->c[1]);
    mpz_mul(r.c[1], a->c[0], b->c[1]);
    mpz_addmul(r.c[1], a->c[1], b->c[0]);
    reduce(curve, &r);
    mpz_swap(out->c[0], r.c[0]);
    mpz_swap(out->c[1], r.c[1]);
    oracle_pair_clear(&r);
}

int oracle_pair_invert(gx_curve curve, struct oracle_pair *out, const struct oracle_pair *a)
{
    mpz_t p, norm;
    mpz_inits(p, norm, NULL);
    oracle_modulus(p, oracle_base_field(curve));
    mpz_mul(norm, a->c[0], a->c[0]);
    mpz_addmul(norm, a->c[1], a->c[1]);
    int exists = mpz_invert(norm, norm, p) != 0;
    mpz_mul(out->c[0], a->c[0], norm);
    mpz_mul(out->c[1], a->c[1], norm);
    mpz_neg(out->c[1], out->c[1]);
    reduce(curve, out);
    mpz_clears(p, norm, NULL);
    return exists;
}

static void pair_sub(gx_curve curve, struct oracle_pair *out, const struct oracle_pair *a,
                     const struct oracle_pair *b)
{
    mpz_sub(out->c[0], a->c[0], b->c[0]);
    mpz_sub(out->c[1], a->c[1], b->c[1]);
    reduce(curve, out);
}

static void pair_set(struct oracle_pair *out, const struct oracle_pair *a)
{
    mpz_set(out->c[0], a->c[0]);
    mpz_set(out->c[1], a->c[1]);
}

static int pair_equal(const struct oracle_pair *a, const struct oracle_pair *b)
{
    return !mpz_cmp(a->c[0], b->c[0]) && !mpz_cmp(a->c[1], b->c[1]);
}

static void pair_times(gx_curve curve, struct oracle_pair *z, unsigned factor)
{
    mpz_mul_ui(z->c[0], z->c[0], factor);
    mpz_mul_ui(z->c[1], z->c[1], factor);
    reduce(curve, z);
}

/* ---- points ---- */

static void init(struct point *p)
{
    oracle_pair_init(&p->x);
    oracle_pair_init(&p->y);
    p->infinity = 1;
}

static void clear(struct point *p)
{
    oracle_pair_clear(&p->x);
    oracle_pair_clear(&p->y);
}

static void read_point(gx_curve curve, struct point *p, const void *in)
{
    static const unsigned char zeros[ORACLE_POINT_BYTES];
    oracle_pair_read(curve, &p->x, in);
    oracle_pair_read(curve, &p->y, (const char *)in + coordinate_bytes(curve));
    p->infinity = !memcmp(in, zeros, oracle_affine_bytes(curve));
}

static void write_point(gx_curve curve, void *out, const struct point *p)
{
    memset(out, 0, oracle_affine_bytes(curve));
    if (p->infinity)
        return;
    oracle_pair_write(curve, out, &p->x);
    oracle_pair_write(curve, (char *)out + coordinate_bytes(curve), &p->y);
}

/* p += q, with the slope of the tangent or of the chord. */
static void add(gx_curve curve, struct point *p, const struct point *q)
{
    struct oracle_pair slope, t;
    if (q->infinity)
        return;
    if (p->infinity) {
        pair_set(&p->x, &q->x);
        pair_set(&p->y, &q->y);
        p->infinity = 0;
        return;
    }
    oracle_pair_init(&slope);
    oracle_pair_init(&t);
    if (pair_equal(&p->x, &q->x) && pair_equal(&p->y, &q->y)) {
        oracle_pair_mul(curve, &slope, &p->x, &p->x);
        pair_times(curve, &slope, 3);
        pair_set(&t, &p->y);
        pair_times(curve, &t, 2);
    } else {
        pair_sub(curve, &slope, &q->y, &p->y);
        pair_sub(curve, &t, &q->x, &p->x);
    }
    p->infinity = !oracle_pair_invert(curve, &t, &t);
    oracle_pair_mul(curve, &slope, &slope, &t);
    oracle_pair_mul(curve, &t, &slope, &slope);
    pair_sub(curve, &t, &t, &p->x);
    pair_sub(curve, &t, &t, &q->x); /* the new x */
    pair_sub(curve, &p->x, &p->x, &t);
    oracle_pair_mul(curve, &slope, &slope, &p->x);
    pair_sub(curve, &p->y, &slope, &p->y);
    pair_set(&p->x, &t);
    oracle_pair_clear(&slope);
    oracle_pair_clear(&t);
}

/* 4, 4 (1 + u), 3, 3 / (9 + u) */
static void put_b(gx_curve curve, struct oracle_pair *b)
{
    mpz_set_ui(b->c[0], is_bls(curve) ? 4 : 3);
    mpz_set_ui(b->c[1], curve == GX_BLS12_381_G2 ? 4 : 0);
    if (curve != GX_BN254_G2)
        return;
    mpz_set_ui(b->c[0], 9);
    mpz_set_ui(b->c[1], 1);
    oracle_pair_invert(curve, b, b);
    pair_times(curve, b, 3);
}

int oracle_point_on_curve(gx_curve curve, const void *point)
{
    struct point p;
    struct oracle_pair t, b;
    init(&p);
    oracle_pair_init(&t);
    oracle_pair_init(&b);
    read_point(curve, &p, point);
    put_b(curve, &b);
    oracle_pair_mul(curve, &t, &p.x, &p.x);
    oracle_pair_mul(curve, &t, &t, &p.x);
    oracle_pair_mul(curve, &p.y, &p.y, &p.y);
    pair_sub(curve, &p.y, &p.y, &t);
    int on = p.infinity || pair_equal(&p.y, &b);
    clear(&p);
    oracle_pair_clear(&t);
    oracle_pair_clear(&b);
    return on;
}

void oracle_point_add(gx_curve curve, void *out, const void *a, const void *b)
{
    struct point p, q;
    init(&p);
    init(&q);
    read_point(curve, &p, a);
    read_point(curve, &q, b);
    add(curve, &p, &q);
    write_point(curve, out, &p);
    clear(&p);
    clear(&q);
}

void oracle_point_neg(gx_curve curve, void *out, const void *a)
{
    struct point p;
    struct oracle_pair zero;
    init(&p);
    oracle_pair_init(&zero);
    read_point(curve, &p, a);
    pair_sub(curve, &p.y, &zero, &p.y);
    write_point(curve, out, &p);
    clear(&p);
    oracle_pair_clear(&zero);
}

void oracle_point_mul(gx_curve curve, void *out, const void *a, const mpz_t scalar)
{
    struct point sum, p;
    init(&sum);
    init(&p);
    read_point(curve, &p, a);
    for (size_t i = mpz_sizeinbase(scalar, 2); i-- > 0;) {
        struct point twice;
        init(&twice);
        add(curve, &twice, &sum);
        add(curve, &sum, &twice);
        clear(&twice);
        if (mpz_tstbit(scalar, i))
            add(curve, &sum, &p);
    }
    write_point(curve, out, &sum);
    clear(&sum);
    clear(&p);
}

/* ---- forms ---- */

void oracle_big_endian(void *out, size_t bytes, const mpz_t z)
{
    unsigned char *to = out;
    mpz_t t, byte;
    mpz_init_set(t, z);
    mpz_init(byte);
    for (size_t i = bytes; i-- > 0; mpz_fdiv_q_2exp(t, t, 8))
        to[i] = (unsigned char)mpz_fdiv_r_ui(byte, t, 256);
    mpz_clears(t, byte, NULL);
}

static int larger(gx_curve curve, const struct oracle_pair *y)
{
    mpz_t p, twice;
    mpz_inits(p, twice, NULL);
    oracle_modulus(p, oracle_base_field(curve));
    mpz_mul_ui(twice, y->c[mpz_sgn(y->c[1]) != 0], 2);
    int is = mpz_cmp(twice, p) > 0;
    mpz_clears(p, twice, NULL);
    return is;
}

/* x, or x and y; c1 first. */
static void put_zcash(gx_curve curve, const struct point *p, int compressed, unsigned char *out)
{
    const uint32_t degree = oracle_degree(curve);
    for (uint32_t i = 0; i < degree; i++) {
        oracle_big_endian(out + (size_t)48 * i, 48, p->x.c[degree - 1 - i]);
        if (!compressed)
            oracle_big_endian(out + (size_t)48 * (degree + i), 48, p->y.c[degree - 1 - i]);
    }
    if (compressed)
        out[0] |= 0x80 | (!p->infinity && larger(curve, &p->y) ? 0x20 : 0);
    if (p->infinity)
        out[0] |= 0x40;
}

static void put_eip(gx_curve curve, const struct point *p, unsigned char *out)
{
    const uint32_t degree = oracle_degree(curve);
    for (uint32_t i = 0; i < degree; i++) {
        oracle_big_endian(out + (size_t)64 * i, 64, p->x.c[i]);
        oracle_big_endian(out + (size_t)64 * (degree + i), 64, p->y.c[i]);
    }
}

/* Plain, lowest limb first. */
static void put_limbs(gx_curve curve, const struct point *p, unsigned char *out)
{
    const uint32_t degree = oracle_degree(curve);
    const size_t bytes = oracle_element_bytes(oracle_base_field(curve));
    for (uint32_t i = 0; i < degree; i++) {
        oracle_export(out + i * bytes, bytes / 8, p->x.c[i]);
        oracle_export(out + (degree + i) * bytes, bytes / 8, p->y.c[i]);
    }
}

/* With Z = 1; infinity: (1, 1, 0). */
static void put_jacobian(gx_curve curve, const struct point *p, unsigned char *out)
{
    const size_t half = coordinate_bytes(curve);
    struct oracle_pair one;
    oracle_pair_init(&one);
    oracle_pair_write(curve, out + 2 * half, &one); /* 0 so far */
    mpz_set_ui(one.c[0], 1);
    if (p->infinity) {
        oracle_pair_write(curve, out, &one);
        oracle_pair_write(curve, out + half, &one);
    } else {
        write_point(curve, out, p);
        oracle_pair_write(curve, out + 2 * half, &one);
    }
    oracle_pair_clear(&one);
}

void oracle_point_encode(gx_curve curve, gx_point_form form, void *out, const void *point)
{
    struct point p;
    init(&p);
    read_point(curve, &p, point);
    switch (form) {
    case GX_POINT_XY_MONT:
        write_point(curve, out, &p);
        break;
    case GX_POINT_XY_PLAIN:
        put_limbs(curve, &p, out);
        break;
    case GX_POINT_EIP2537:
        put_eip(curve, &p, out);
        break;
    case GX_POINT_JACOBIAN_MONT:
        put_jacobian(curve, &p, out);
        break;
    default:
        put_zcash(curve, &p, form == GX_POINT_COMPRESSED, out);
        break;
    }
    clear(&p);
}
