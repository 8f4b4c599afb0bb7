/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzing of encoded points. Bytes become a point in one of the forms, behind some that are right.
 * If the library takes it, it is a point of the curve, and of the subgroup if that was asked; it is
 * written back to the same bytes, unless the form has several for a point; and another form of it
 * is what the oracle writes, and is read as the same point. Of all forms but the compressed one the
 * oracle says whether to take it.
 *
 * Input: curve, form, options, further choices (one byte each), and the bytes of the point.
 * Options: 1 a byte 0 behind the coordinates says that it is not infinity, 2 more room behind it,
 * 4 the following byte chooses a point that is right, and pairs of a place and a change of its
 * encoding follow; from 8 on: the check. Choices: points before it, the other form, and whether the
 * oracle multiplies by the order of the subgroup, which takes longer than everything else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/oracle_curve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER = 4, CURVES = 4, BEFORE_MAX = 2, ROOM = 16, FORMS = GX_POINT_JACOBIAN_MONT };
enum { FLAGGED = 1, ROOMY = 2, MADE = 4, CHECK = 8 };
/* Of the choices: this one is as rare as it is slow. */
enum { OTHER_FORM = BEFORE_MAX + 1, MULTIPLIED = 253 };
/* Points that are right: multiples of the generator from 0 on. */
enum { MADE_POINTS = 32 };

struct input {
    gx_curve curve;
    gx_point_form form;
    unsigned options;
    gx_point_check check;
    gx_point_form other_form;
    int multiplied; /* the oracle says whether it is in the subgroup */
    size_t before, bytes, stride;
    unsigned char point[ORACLE_FORM_BYTES];
};

enum verdict { REFUSE, TAKE, UNKNOWN };

static gx_ctx *ctx;

static void broken(const struct input *in, const char *what)
{
    fprintf(stderr, "%s: %s, %s, check %u, options %u, %zu before it\n", what,
            gx_curve_get_info(in->curve)->name, gx_point_form_name(in->form), in->check,
            in->options, in->before);
    abort();
}

/* ---- from bytes to a point ---- */

static unsigned char made[CURVES + 1][MADE_POINTS][ORACLE_POINT_BYTES];

static void make_points(void)
{
    for (gx_curve c = 1; c <= CURVES; c++)
        for (size_t i = 1; i < MADE_POINTS; i++)
            oracle_point_add(c, made[c][i], made[c][i - 1], gx_curve_get_info(c)->generator);
}

static void make_point(const uint8_t *data, size_t size, struct input *in)
{
    if (!(in->options & MADE) || !size) {
        memcpy(in->point, data, size < in->bytes ? size : in->bytes);
        return;
    }
    oracle_point_encode(in->curve, in->form, in->point, made[in->curve][data[0] % MADE_POINTS]);
    for (size_t i = 1; i + 1 < size; i += 2)
        in->point[data[i] % in->bytes] ^= data[i + 1];
}

/* False if the curve has no such form. */
static int read_input(const uint8_t *data, size_t size, struct input *in)
{
    *in = (struct input){.curve = data[0] % CURVES + 1u,
                         .form = data[1] % FORMS + 1u,
                         .options = data[2] % CHECK,
                         .check = data[2] / CHECK % (GX_CHECK_NONE + 1u),
                         .before = data[3] % (BEFORE_MAX + 1u),
                         .other_form = data[3] / OTHER_FORM % FORMS + 1u,
                         .multiplied = data[3] >= MULTIPLIED};
    in->bytes = gx_point_bytes(in->curve, in->form);
    if (!in->bytes)
        return 0;
    if (in->form != GX_POINT_XY_MONT && in->form != GX_POINT_XY_PLAIN)
        in->options &= ~(unsigned)FLAGGED;
    in->stride = in->bytes + (in->options & (FLAGGED | ROOMY) ? ROOM : 0);
    make_point(data + HEADER, size - HEADER, in);
    return 1;
}

/* ---- what the oracle says ---- */

/* Element i of the form as it is written, highest byte first; in zcash's forms c1 precedes c0, and
 * flags are above the first. */
static void get_element(const struct input *in, size_t i, mpz_t z)
{
    const size_t bytes = oracle_element_bytes(oracle_base_field(in->curve)), eip = 64;
    const size_t degree = oracle_degree(in->curve);
    if (in->form == GX_POINT_EIP2537)
        mpz_import(z, eip, 1, 1, 0, 0, in->point + i * eip);
    else if (in->form == GX_POINT_UNCOMPRESSED)
        mpz_import(z, bytes, 1, 1, 0, 0, in->point + (i ^ (degree - 1)) * bytes);
    else
        mpz_import(z, bytes, -1, 1, 0, 0, in->point + i * bytes);
}

/* The coordinates, in Montgomery form. False: one is not below the modulus. */
static int get_coordinates(const struct input *in, size_t count, unsigned char *out)
{
    const gx_field field = oracle_base_field(in->curve);
    const size_t bytes = oracle_element_bytes(field), degree = oracle_degree(in->curve);
    const int plain = in->form != GX_POINT_XY_MONT && in->form != GX_POINT_JACOBIAN_MONT;
    struct oracle_pair z;
    mpz_t q;
    int below = 1;
    mpz_init(q);
    oracle_modulus(q, field);
    oracle_pair_init(&z);
    for (size_t i = 0; i < count && below; i++) {
        unsigned char *to = out + i * degree * bytes;
        for (size_t k = 0; k < degree; k++) {
            get_element(in, i * degree + k, z.c[k]);
            below = below && mpz_cmp(z.c[k], q) < 0;
            if (below && !plain)
                oracle_export(to + k * bytes, bytes / 8, z.c[k]);
        }
        if (below && plain)
            oracle_pair_write(in->curve, to, &z);
    }
    oracle_pair_clear(&z);
    mpz_clear(q);
    return below;
}

static int is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return 0;
    return 1;
}

/* x / z^2, y / z^3; z is not 0. */
static void divide(gx_curve curve, const unsigned char *xyz, unsigned char *xy)
{
    const size_t each = oracle_affine_bytes(curve) / 2;
    struct oracle_pair x, y, z, factor;
    struct oracle_pair *const all[] = {&x, &y, &z, &factor};
    for (size_t i = 0; i < 4; i++)
        oracle_pair_init(all[i]);
    for (size_t i = 0; i < 3; i++)
        oracle_pair_read(curve, all[i], xyz + i * each);
    oracle_pair_invert(curve, &z, &z);
    oracle_pair_mul(curve, &factor, &z, &z);
    oracle_pair_mul(curve, &x, &x, &factor);
    oracle_pair_mul(curve, &factor, &factor, &z);
    oracle_pair_mul(curve, &y, &y, &factor);
    oracle_pair_write(curve, xy, &x);
    oracle_pair_write(curve, xy + each, &y);
    for (size_t i = 0; i < 4; i++)
        oracle_pair_clear(all[i]);
}

/* Whether it is a point, and which. */
static enum verdict judge_jacobian(const struct input *in, unsigned char *xy)
{
    const size_t each = oracle_affine_bytes(in->curve) / 2;
    unsigned char xyz[ORACLE_FORM_BYTES];
    memset(xy, 0, 2 * each);
    if (!get_coordinates(in, 3, xyz))
        return REFUSE;
    if (is_zero(xyz + 2 * each, each))
        return TAKE;
    if (is_zero(xyz, 2 * each))
        return REFUSE;
    divide(in->curve, xyz, xy);
    return TAKE;
}

static enum verdict judge(const struct input *in, unsigned char *xy)
{
    const size_t bytes = oracle_affine_bytes(in->curve);
    const unsigned flags = in->point[0] & 0xe0;
    enum verdict v = TAKE;
    if (in->form == GX_POINT_COMPRESSED)
        return UNKNOWN;
    if (in->form == GX_POINT_UNCOMPRESSED && flags) {
        memset(xy, 0, bytes);
        return in->point[0] == 0x40 && is_zero(in->point + 1, in->bytes - 1) ? TAKE : REFUSE;
    }
    if (in->form == GX_POINT_JACOBIAN_MONT)
        v = judge_jacobian(in, xy);
    else if (!get_coordinates(in, 2, xy))
        v = REFUSE;
    if (v == TAKE && (in->form == GX_POINT_UNCOMPRESSED || in->options & FLAGGED) &&
        is_zero(xy, bytes)) /* infinity without its flag */
        v = REFUSE;
    return v == TAKE && in->check != GX_CHECK_NONE && !oracle_point_on_curve(in->curve, xy) ? REFUSE
                                                                                            : v;
}

static int in_subgroup(gx_curve curve, const unsigned char *xy)
{
    unsigned char product[ORACLE_POINT_BYTES];
    mpz_t r;
    mpz_init(r);
    oracle_modulus(r, oracle_scalar_field(curve));
    oracle_point_mul(curve, product, xy, r);
    mpz_clear(r);
    return is_zero(product, oracle_affine_bytes(curve));
}

/* ---- what the library says ---- */

static gx_status take(const struct input *in, gx_points **points, uint64_t *bad)
{
    static unsigned char memory[(BEFORE_MAX + 1) * (ORACLE_FORM_BYTES + ROOM)];
    const gx_points_params desc = {.struct_size = sizeof desc,
                                   .curve = in->curve,
                                   .form = in->form,
                                   .check = in->check,
                                   .points = memory,
                                   .count = in->before + 1,
                                   .stride = in->stride,
                                   .flag_offset = in->options & FLAGGED ? in->bytes : 0};
    memset(memory, 0, sizeof memory);
    for (size_t i = 0; i < in->before; i++)
        oracle_point_encode(in->curve, in->form, memory + i * in->stride, made[in->curve][1]);
    memcpy(memory + in->before * in->stride, in->point, in->bytes);
    return gx_points_create(ctx, &desc, points, bad);
}

static void read_as(const struct input *in, const gx_points *points, gx_point_form form,
                    unsigned char *out)
{
    if (gx_points_read(points, in->before, 1, form, out) != GX_OK)
        broken(in, "it cannot be read");
}

/* In another form it is the same point. */
static void check_form(const struct input *in, const gx_points *points, const unsigned char *xy)
{
    struct input other = {.curve = in->curve,
                          .form = in->other_form,
                          .check = in->check,
                          .bytes = gx_point_bytes(in->curve, in->other_form)};
    unsigned char want[ORACLE_FORM_BYTES], again[ORACLE_POINT_BYTES];
    gx_points *copy = NULL;
    if (!other.bytes)
        return;
    other.stride = other.bytes;
    read_as(in, points, other.form, other.point);
    oracle_point_encode(in->curve, other.form, want, xy);
    if (memcmp(other.point, want, other.bytes) != 0)
        broken(in, "another form has other bytes");
    if (take(&other, &copy, NULL) != GX_OK)
        broken(&other, "refused");
    read_as(&other, copy, GX_POINT_XY_MONT, again);
    if (memcmp(again, xy, oracle_affine_bytes(in->curve)) != 0)
        broken(&other, "read as another point");
    gx_points_destroy(&copy);
}

static void check_taken(const struct input *in, const gx_points *points, enum verdict verdict,
                        const unsigned char *want)
{
    unsigned char xy[ORACLE_POINT_BYTES], same[ORACLE_FORM_BYTES];
    read_as(in, points, GX_POINT_XY_MONT, xy);
    if (verdict == TAKE && memcmp(xy, want, oracle_affine_bytes(in->curve)) != 0)
        broken(in, "another point");
    read_as(in, points, in->form, same);
    if (in->form != GX_POINT_JACOBIAN_MONT && memcmp(same, in->point, in->bytes) != 0)
        broken(in, "written back to other bytes");
    int on_curve = oracle_point_on_curve(in->curve, xy);
    if (in->check != GX_CHECK_NONE && !on_curve)
        broken(in, "not on the curve");
    if (in->check == GX_CHECK_SUBGROUP && in->multiplied && !in_subgroup(in->curve, xy))
        broken(in, "not in the subgroup");
    if (on_curve)
        check_form(in, points, xy);
}

static void check_refused(const struct input *in, const gx_points *points, gx_status s,
                          uint64_t bad, enum verdict verdict, const unsigned char *want)
{
    if (points || bad != in->before || !gx_last_message()[0])
        broken(in, "refused, but not as it should be");
    if (s != GX_ERR_INVALID && s != GX_ERR_NOT_CANONICAL)
        broken(in, gx_last_message());
    if (verdict == TAKE &&
        (in->check != GX_CHECK_SUBGROUP || (in->multiplied && in_subgroup(in->curve, want))))
        broken(in, "refused without a reason");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in;
    unsigned char want[ORACLE_POINT_BYTES];
    gx_points *points = NULL;
    uint64_t bad = 0;
    if (!ctx) {
        make_points();
        if (gx_open(&(gx_config){.device = "cpu", .threads = 1}, &ctx) != GX_OK)
            abort();
    }
    if (size < HEADER || !read_input(data, size, &in))
        return 0;
    enum verdict verdict = judge(&in, want);
    gx_status s = take(&in, &points, &bad);
    if (s == GX_OK && verdict == REFUSE)
        broken(&in, "taken");
    if (s == GX_OK)
        check_taken(&in, points, verdict, want);
    else
        check_refused(&in, points, s, bad, verdict, want);
    gx_points_destroy(&points);
    return 0;
}
