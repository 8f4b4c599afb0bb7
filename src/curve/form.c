/* SPDX-License-Identifier: Apache-2.0
 *
 * See form.h.
 */
#include "curve/form.h"

#include <string.h>

#include "curve/coord.h"
#include "field/host.h"
#include "field/scalar.h"

/* zcash: in the first byte, above x, which is less than 2^381. */
enum { COMPRESSED = 0x80, INFINITE = 0x40, LARGER_Y = 0x20, FLAGS = 0xe0 };

#define FORM_BYTES_MAX (4 * GX_EIP2537_ELEMENT)

#define OFF_CURVE "it is not on the curve"

static gx_status fail(const char **why, gx_status status, const char *text)
{
    *why = text;
    return status;
}

static gx_status not_canonical(const char **why)
{
    return fail(why, GX_ERR_NOT_CANONICAL, "a coordinate is not below the modulus");
}

static bool canonical(const struct gx_curve_row *curve, const uint64_t *coordinates, size_t count)
{
    return gx__first_bad(curve->base, coordinates, count * curve->degree, false) == GX_NONE_BAD;
}

static void to_montgomery(const struct gx_curve_row *curve, uint64_t *coordinate)
{
    const struct gx_prime *q = curve->base;
    for (uint32_t i = 0; i < curve->limbs; i += q->limbs)
        gx__mul_one(q, coordinate + i, coordinate + i, q->r2);
}

static void to_plain(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *coordinate)
{
    static const uint64_t one[GX_LIMBS_MAX] = {1};
    const struct gx_prime *q = curve->base;
    for (uint32_t i = 0; i < curve->limbs; i += q->limbs)
        gx__mul_one(q, out + i, coordinate + i, one);
}

/* y > -y as plain integers; in the extension c1 decides unless it is 0. */
static bool is_larger(const struct gx_curve_row *curve, const uint64_t *y)
{
    uint64_t plain[GX_COORD_LIMBS], opposite[GX_COORD_LIMBS];
    to_plain(curve, plain, y);
    gx__coord_neg(curve, opposite, plain);
    for (uint32_t i = curve->limbs; i-- > 0;)
        if (plain[i] != opposite[i])
            return plain[i] > opposite[i];
    return false;
}

/* x^3 + b */
static void right_side(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *x)
{
    uint64_t cube[GX_COORD_LIMBS];
    gx__coord_sqr(curve, cube, x);
    gx__coord_mul(curve, cube, cube, x);
    gx__coord_add(curve, out, cube, curve->b);
}

/* ---- limbs, lowest first ---- */

static gx_status decode_xy(const struct gx_curve_row *curve, const void *in, bool plain,
                           uint64_t *xy, const char **why)
{
    memcpy(xy, in, curve->info.affine_bytes);
    if (!canonical(curve, xy, 2))
        return not_canonical(why);
    if (plain) {
        to_montgomery(curve, xy);
        to_montgomery(curve, xy + curve->limbs);
    }
    return GX_OK;
}

static gx_status decode_jacobian(const struct gx_curve_row *curve, const void *in, uint64_t *xy,
                                 const char **why)
{
    uint64_t xyz[3 * GX_COORD_LIMBS], factor[GX_COORD_LIMBS];
    const uint32_t n = curve->limbs;
    uint64_t *z = xyz + (size_t)2 * n;
    memcpy(xyz, in, 3 * n * sizeof *xyz);
    if (!canonical(curve, xyz, 3))
        return not_canonical(why);
    memset(xy, 0, curve->info.affine_bytes);
    if (gx__coord_is_zero(curve, z))
        return GX_OK;
    gx__coord_invert(curve, z, z);
    gx__coord_sqr(curve, factor, z);
    gx__coord_mul(curve, xy, xyz, factor);
    gx__coord_mul(curve, factor, factor, z);
    gx__coord_mul(curve, xy + n, xyz + n, factor);
    return gx__affine_is_infinity(curve, xy) ? fail(why, GX_ERR_INVALID, OFF_CURVE) : GX_OK;
}

static void encode_jacobian(const struct gx_curve_row *curve, const uint64_t *xy, void *out)
{
    uint64_t xyz[3 * GX_COORD_LIMBS] = {0};
    const uint32_t n = curve->limbs;
    if (gx__affine_is_infinity(curve, xy)) {
        gx__coord_set_one(curve, xyz);
        gx__coord_set_one(curve, xyz + n);
    } else {
        memcpy(xyz, xy, curve->info.affine_bytes);
        gx__coord_set_one(curve, xyz + (size_t)2 * n);
    }
    memcpy(out, xyz, 3 * n * sizeof *xyz);
}

/* ---- bytes, highest first ---- */

/* Where element i (0: c0, 1: c1) of a coordinate begins: zcash puts c1 first. */
static size_t place(const struct gx_curve_row *curve, gx_point_form form, uint32_t i)
{
    const size_t bytes = curve->base->limbs * sizeof(uint64_t);
    if (form == GX_POINT_EIP2537)
        return (size_t)(i + 1) * GX_EIP2537_ELEMENT - bytes;
    return (curve->degree - 1 - i) * bytes;
}

/* Bytes of a coordinate. */
static size_t coordinate_bytes(const struct gx_curve_row *curve, gx_point_form form)
{
    return form == GX_POINT_EIP2537 ? (size_t)curve->degree * GX_EIP2537_ELEMENT
                                    : curve->limbs * sizeof(uint64_t);
}

/* To Montgomery form; false if not below the modulus. */
static bool read_coordinate(const struct gx_curve_row *curve, gx_point_form form,
                            const unsigned char *in, uint64_t *coordinate)
{
    const uint32_t limbs = curve->base->limbs;
    for (uint32_t i = 0; i < curve->degree; i++)
        for (uint32_t k = 0; k < limbs; k++) {
            uint64_t limb;
            memcpy(&limb, in + place(curve, form, i) + (limbs - 1 - k) * sizeof limb, sizeof limb);
            coordinate[i * limbs + k] = __builtin_bswap64(limb);
        }
    if (!canonical(curve, coordinate, 1))
        return false;
    to_montgomery(curve, coordinate);
    return true;
}

static void write_coordinate(const struct gx_curve_row *curve, gx_point_form form,
                             const uint64_t *coordinate, unsigned char *out)
{
    const uint32_t limbs = curve->base->limbs;
    uint64_t plain[GX_COORD_LIMBS] = {0};
    to_plain(curve, plain, coordinate);
    for (uint32_t i = 0; i < curve->degree; i++)
        for (uint32_t k = 0; k < limbs; k++) {
            uint64_t limb = __builtin_bswap64(plain[i * limbs + k]);
            memcpy(out + place(curve, form, i) + (limbs - 1 - k) * sizeof limb, &limb, sizeof limb);
        }
}

static bool all_zero(const unsigned char *bytes, size_t count)
{
    unsigned char any = 0;
    for (size_t i = 0; i < count; i++)
        any |= bytes[i];
    return !any;
}

static gx_status decode_eip2537(const struct gx_curve_row *curve, const unsigned char *in,
                                uint64_t *xy, const char **why)
{
    const size_t padding = GX_EIP2537_ELEMENT - curve->base->limbs * sizeof(uint64_t);
    for (uint32_t i = 0; i < 2 * curve->degree; i++)
        if (!all_zero(in + (size_t)i * GX_EIP2537_ELEMENT, padding))
            return fail(why, GX_ERR_INVALID, "a coordinate has padding bytes that are not 0");
    if (!read_coordinate(curve, GX_POINT_EIP2537, in, xy) ||
        !read_coordinate(curve, GX_POINT_EIP2537, in + coordinate_bytes(curve, GX_POINT_EIP2537),
                         xy + curve->limbs))
        return not_canonical(why);
    return GX_OK;
}

/* x is known: y is the root that the flag says. */
static gx_status find_y(const struct gx_curve_row *curve, bool larger, uint64_t *xy,
                        const char **why)
{
    uint64_t *y = xy + curve->limbs;
    right_side(curve, y, xy);
    if (!gx__coord_sqrt(curve, y, y))
        return fail(why, GX_ERR_INVALID, "no point of the curve has this x");
    if (is_larger(curve, y) != larger)
        gx__coord_neg(curve, y, y);
    return GX_OK;
}

static gx_status decode_zcash(const struct gx_curve_row *curve, gx_point_form form,
                              const unsigned char *in, uint64_t *xy, const char **why)
{
    const size_t size = gx_point_bytes(curve->curve, form);
    const bool compressed = form == GX_POINT_COMPRESSED;
    const unsigned flags = in[0] & FLAGS;
    unsigned char bytes[FORM_BYTES_MAX];
    memcpy(bytes, in, size);
    bytes[0] &= (unsigned char)~FLAGS;
    if (!(flags & COMPRESSED) == compressed)
        return fail(why, GX_ERR_INVALID,
                    compressed ? "the flag of compressed points is missing"
                               : "the flag of compressed points is set");
    if (flags & INFINITE) {
        memset(xy, 0, curve->info.affine_bytes);
        return !(flags & LARGER_Y) && all_zero(bytes, size)
                   ? GX_OK
                   : fail(why, GX_ERR_INVALID, "infinity has other bits set");
    }
    if (!read_coordinate(curve, form, bytes, xy))
        return not_canonical(why);
    if (compressed)
        return find_y(curve, flags & LARGER_Y, xy, why);
    if (flags & LARGER_Y)
        return fail(why, GX_ERR_INVALID, "the flag of the larger y is set beside y");
    if (!read_coordinate(curve, form, bytes + coordinate_bytes(curve, form), xy + curve->limbs))
        return not_canonical(why);
    if (gx__affine_is_infinity(curve, xy))
        return fail(why, GX_ERR_INVALID, "the flag of infinity is missing");
    return GX_OK;
}

static void encode_bytes(const struct gx_curve_row *curve, gx_point_form form, const uint64_t *xy,
                         unsigned char *out)
{
    const bool infinity = gx__affine_is_infinity(curve, xy);
    const uint64_t *y = xy + curve->limbs;
    memset(out, 0, gx_point_bytes(curve->curve, form));
    write_coordinate(curve, form, xy, out);
    if (form != GX_POINT_COMPRESSED)
        write_coordinate(curve, form, y, out + coordinate_bytes(curve, form));
    else
        out[0] |= COMPRESSED | (is_larger(curve, y) ? LARGER_Y : 0);
    if (infinity && form != GX_POINT_EIP2537)
        out[0] |= INFINITE;
}

/* ---- all forms ---- */

/* The caller's flag says what is infinity: zeros without it are not. */
static gx_status decode_flagged(const struct gx_curve_row *curve, const void *in, bool plain,
                                bool infinity, uint64_t *xy, const char **why)
{
    memset(xy, 0, curve->info.affine_bytes);
    gx_status s = infinity ? GX_OK : decode_xy(curve, in, plain, xy, why);
    return s == GX_OK && !infinity && gx__affine_is_infinity(curve, xy)
               ? fail(why, GX_ERR_INVALID, OFF_CURVE)
               : s;
}

gx_status gx__point_decode(const struct gx_curve_row *curve, gx_point_form form, const void *in,
                           const bool *infinity, uint64_t *xy, const char **why)
{
    if (infinity)
        return decode_flagged(curve, in, form == GX_POINT_XY_PLAIN, *infinity, xy, why);
    switch (form) {
    case GX_POINT_XY_MONT:
    case GX_POINT_XY_PLAIN:
        return decode_xy(curve, in, form == GX_POINT_XY_PLAIN, xy, why);
    case GX_POINT_JACOBIAN_MONT:
        return decode_jacobian(curve, in, xy, why);
    case GX_POINT_EIP2537:
        return decode_eip2537(curve, in, xy, why);
    default:
        return decode_zcash(curve, form, in, xy, why);
    }
}

void gx__point_encode(const struct gx_curve_row *curve, gx_point_form form, const uint64_t *xy,
                      void *out)
{
    uint64_t plain[2 * GX_COORD_LIMBS];
    switch (form) {
    case GX_POINT_XY_MONT:
        memcpy(out, xy, curve->info.affine_bytes);
        break;
    case GX_POINT_XY_PLAIN:
        to_plain(curve, plain, xy);
        to_plain(curve, plain + curve->limbs, xy + curve->limbs);
        memcpy(out, plain, curve->info.affine_bytes);
        break;
    case GX_POINT_JACOBIAN_MONT:
        encode_jacobian(curve, xy, out);
        break;
    default:
        encode_bytes(curve, form, xy, out);
        break;
    }
}

/* ---- checks ---- */

static bool on_curve(const struct gx_curve_row *curve, const uint64_t *xy)
{
    uint64_t left[GX_COORD_LIMBS], right[GX_COORD_LIMBS];
    gx__coord_sqr(curve, left, xy + curve->limbs);
    right_side(curve, right, xy);
    return gx__coord_equal(curve, left, right);
}

/* out = factor * conjugate of a */
static void map_coordinate(const struct gx_curve_row *curve, uint64_t *out, const uint64_t *factor,
                           const uint64_t *a)
{
    static const uint64_t zero[GX_LIMBS_MAX];
    const uint32_t n = curve->base->limbs;
    memcpy(out, a, curve->limbs * sizeof *out);
    if (curve->degree == 2)
        gx__sub_one(curve->base, out + n, zero, out + n);
    gx__coord_mul(curve, out, out, factor);
}

/* The multiple in XYZZ is compared with (x, y) as (x ZZ, y ZZZ). */
bool gx__point_is_image(const struct gx_curve_row *curve, const uint64_t *xy,
                        const struct gx_xyzz *p)
{
    const struct gx_endomorphism *e = &curve->endomorphism;
    uint64_t x[GX_COORD_LIMBS], y[GX_COORD_LIMBS];
    map_coordinate(curve, x, e->x_factor, xy);
    map_coordinate(curve, y, e->y_factor, xy + curve->limbs);
    gx__coord_mul(curve, x, x, p->zz);
    gx__coord_mul(curve, y, y, p->zzz);
    return !gx__xyzz_is_infinity(curve, p) && gx__coord_equal(curve, x, p->x) &&
           gx__coord_equal(curve, y, p->y);
}

/* For points of the curve, not infinity: see struct gx_endomorphism. */
static bool in_subgroup(const struct gx_curve_row *curve, const uint64_t *xy)
{
    const struct gx_endomorphism *e = &curve->endomorphism;
    struct gx_xyzz p;
    if (!e->bits)
        return true;
    gx__xyzz_set_affine(curve, &p, xy);
    gx__xyzz_mul(curve, &p, &p, e->multiple, e->bits);
    return gx__point_is_image(curve, xy, &p);
}

gx_status gx__point_check(const struct gx_curve_row *curve, gx_point_check check,
                          const uint64_t *xy, const char **why)
{
    if (check == GX_CHECK_NONE || gx__affine_is_infinity(curve, xy))
        return GX_OK;
    if (!on_curve(curve, xy))
        return fail(why, GX_ERR_INVALID, OFF_CURVE);
    if (check == GX_CHECK_SUBGROUP && !in_subgroup(curve, xy))
        return fail(why, GX_ERR_INVALID, "it is not in the subgroup");
    return GX_OK;
}
