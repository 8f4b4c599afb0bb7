/* SPDX-License-Identifier: Apache-2.0
 *
 * Points in bytes (oracle.h), and points that are wrong.
 */
#include <stdlib.h>
#include <string.h>

#include "random/oracle.h"

enum { COMPRESSED = 0x80, INFINITE = 0x40, LARGER = 0x20 };

static void put_big_endian(unsigned char *out, size_t bytes, const mpz_t x)
{
    size_t used = (mpz_sizeinbase(x, 2) + 7) / 8, written;
    memset(out, 0, bytes);
    if (mpz_sgn(x))
        mpz_export(out + bytes - used, &written, 1, 1, 1, 0, x);
}

/* The larger of y and -y; of two coordinates, c1 counts before c0. */
static int is_larger(const struct rnd_fq2 *y, const struct rnd_prime *f)
{
    mpz_t doubled;
    mpz_init(doubled);
    mpz_mul_ui(doubled, mpz_sgn(y->c1) ? y->c1 : y->c0, 2);
    int larger = mpz_cmp(doubled, f->p) > 0;
    mpz_clear(doubled);
    return larger;
}

static unsigned char *put_zcash(unsigned char *out, unsigned degree, const struct rnd_prime *f,
                                const struct rnd_fq2 *x)
{
    if (degree == 2) {
        put_big_endian(out, f->bytes, x->c1);
        out += f->bytes;
    }
    put_big_endian(out, f->bytes, x->c0);
    return out + f->bytes;
}

static unsigned char *put_eip(unsigned char *out, unsigned degree, const struct rnd_fq2 *x)
{
    put_big_endian(out, 64, x->c0);
    if (degree == 2)
        put_big_endian(out + 64, 64, x->c1);
    return out + 64 * (size_t)degree;
}

static unsigned char *put_limbs(unsigned char *out, unsigned degree, const struct rnd_prime *f,
                                const struct rnd_fq2 *x, int mont)
{
    for (unsigned i = 0; i < degree; i++, out += f->bytes)
        if (mont)
            rnd_put_mont(out, f, i ? x->c1 : x->c0);
        else
            rnd_put(out, f->bytes, i ? x->c1 : x->c0);
    return out;
}

/* Coordinates x * z^2, y * z^3 and z, of a z in the base field. */
static void put_jacobian(unsigned char *out, unsigned degree, const struct rnd_prime *f,
                         const struct rnd_point *point, uint64_t z)
{
    struct rnd_fq2 c[3];
    mpz_t power;
    mpz_init(power);
    for (unsigned i = 0; i < 3; i++) {
        mpz_inits(c[i].c0, c[i].c1, NULL);
        const struct rnd_fq2 *from = i == 0 ? &point->x : &point->y;
        mpz_ui_pow_ui(power, z, i == 0 ? 2 : i == 1 ? 3 : 1);
        if (point->infinity || i == 2) {
            mpz_set(c[i].c0, power);
        } else {
            mpz_mul(c[i].c0, from->c0, power);
            mpz_mul(c[i].c1, from->c1, power);
        }
        if (point->infinity && i == 2)
            mpz_set_ui(c[i].c0, 0);
        mpz_mod(c[i].c0, c[i].c0, f->p);
        mpz_mod(c[i].c1, c[i].c1, f->p);
        out = put_limbs(out, degree, f, &c[i], 1);
        mpz_clears(c[i].c0, c[i].c1, NULL);
    }
    mpz_clear(power);
}

void rnd_encode(uint64_t curve, uint64_t form, const struct rnd_point *point, uint64_t z,
                unsigned char *out)
{
    const struct rnd_prime *f = rnd_base_field(curve);
    unsigned degree = rnd_degree(curve);
    unsigned char *start = out;
    if (form == GX_POINT_JACOBIAN_MONT) {
        put_jacobian(out, degree, f, point, z ? z : 1);
        return;
    }
    memset(out, 0, rnd_point_bytes(curve, form));
    if (point->infinity) {
        if (form == GX_POINT_COMPRESSED)
            *out = COMPRESSED | INFINITE;
        else if (form == GX_POINT_UNCOMPRESSED)
            *out = INFINITE;
        return;
    }
    switch (form) {
    case GX_POINT_XY_MONT:
    case GX_POINT_XY_PLAIN:
        out = put_limbs(out, degree, f, &point->x, form == GX_POINT_XY_MONT);
        put_limbs(out, degree, f, &point->y, form == GX_POINT_XY_MONT);
        break;
    case GX_POINT_EIP2537:
        put_eip(put_eip(out, degree, &point->x), degree, &point->y);
        break;
    case GX_POINT_UNCOMPRESSED:
        put_zcash(put_zcash(out, degree, f, &point->x), degree, f, &point->y);
        break;
    case GX_POINT_COMPRESSED:
        put_zcash(out, degree, f, &point->x);
        *start |= (unsigned char)(COMPRESSED | (is_larger(&point->y, f) ? LARGER : 0));
        break;
    default:
        abort();
    }
}

/* ---- wrong points ---- */

/* Replaces c0 of x by the modulus. */
static void spoil_range(const struct rnd_points_spec *spec, unsigned char *at)
{
    const struct rnd_prime *f = rnd_base_field(spec->curve);
    size_t behind = rnd_degree(spec->curve) == 2 ? f->bytes : 0;
    unsigned char flags = *at & (COMPRESSED | LARGER);
    switch (spec->form) {
    case GX_POINT_EIP2537:
        put_big_endian(at, 64, f->p);
        break;
    case GX_POINT_COMPRESSED:
        put_big_endian(at + behind, f->bytes, f->p);
        *at = (unsigned char)((*at & 0x1f) | flags | COMPRESSED);
        break;
    case GX_POINT_UNCOMPRESSED:
        put_big_endian(at + behind, f->bytes, f->p);
        *at &= 0x1f;
        break;
    default:
        rnd_put(at, f->bytes, f->p);
    }
}

static void spoil_encoding(const struct rnd_points_spec *spec, unsigned char *at)
{
    if (spec->form == GX_POINT_COMPRESSED)
        *at &= (unsigned char)~COMPRESSED;
    else if (spec->form == GX_POINT_UNCOMPRESSED)
        *at |= COMPRESSED;
    else
        at[7] = 1; /* EIP-2537: one of those that must be 0 */
}

/* Another y; the point cannot be infinity then. */
static void spoil_curve(const struct rnd_points_spec *spec, const struct rnd_points *points,
                        size_t i, unsigned char *at)
{
    struct rnd_point *point = &points->point[i];
    const struct rnd_prime *f = rnd_base_field(spec->curve);
    if (point->infinity) { /* (0, 1) is on none of the curves */
        point->infinity = 0;
        mpz_set_ui(point->x.c0, 0);
        mpz_set_ui(point->x.c1, 0);
        mpz_set_ui(point->y.c0, 0);
        mpz_set_ui(point->y.c1, 0);
    }
    mpz_add_ui(point->y.c0, point->y.c0, 1);
    mpz_mod(point->y.c0, point->y.c0, f->p);
    rnd_encode(spec->curve, spec->form, point, 3, at);
}

static void spoil(const struct rnd_points_spec *spec, const struct rnd_points *points,
                  unsigned char *at)
{
    if (spec->bad == BAD_OFF_CURVE)
        spoil_curve(spec, points, spec->bad_index, at);
    else if (spec->bad == BAD_NOT_CANONICAL)
        spoil_range(spec, at);
    else if (spec->bad == BAD_ENCODING)
        spoil_encoding(spec, at);
}

unsigned char *rnd_encode_all(const struct rnd_points_spec *spec, const struct rnd_points *points,
                              size_t *stride, size_t *flag_offset)
{
    size_t bytes = rnd_point_bytes(spec->curve, spec->form);
    uint64_t state = spec->seed;
    *flag_offset = spec->flag ? bytes + spec->gap / 2 : 0;
    *stride = bytes + spec->gap + spec->flag;
    unsigned char *all = malloc(*stride * spec->count + 1);
    if (!all)
        abort();
    memset(all, 0xee, *stride * spec->count);
    for (size_t i = 0; i < spec->count; i++) {
        unsigned char *at = all + *stride * i;
        rnd_encode(spec->curve, spec->form, &points->point[i], rnd_below(&state, 1 << 20), at);
        if (spec->bad && i == spec->bad_index)
            spoil(spec, points, at);
        if (*flag_offset)
            at[*flag_offset] = (unsigned char)points->point[i].infinity;
    }
    return all;
}

struct rnd_rejection rnd_points_reject(const struct rnd_points_spec *spec,
                                       const struct rnd_points *points)
{
    for (size_t i = 0; i < spec->count; i++) {
        if (spec->bad && i == spec->bad_index)
            return (struct rnd_rejection){
                spec->bad == BAD_NOT_CANONICAL ? GX_ERR_NOT_CANONICAL : GX_ERR_INVALID, i, 0};
        if (spec->check == GX_CHECK_SUBGROUP && points->outside[i])
            return (struct rnd_rejection){GX_ERR_INVALID, i, 0};
    }
    return (struct rnd_rejection){GX_OK, UINT64_MAX, 0};
}
