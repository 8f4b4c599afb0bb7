/* SPDX-License-Identifier: Apache-2.0
 *
 * Elliptic curves, their points, and multi-scalar multiplication.
 */
#ifndef GPUEXEC_MSM_H
#define GPUEXEC_MSM_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- curves ------------------------------------------------------------- */

/* y^2 = x^3 + b. Values are consecutive from 1. */
typedef uint32_t gx_curve;
enum { GX_BLS12_381_G1 = 1, GX_BLS12_381_G2 = 2, GX_BN254_G1 = 3, GX_BN254_G2 = 4 };

/* Static data owned by the library; may grow at the end. */
typedef struct gx_curve_info {
    const char *name;      /* "bls12-381-g1" */
    gx_field base_field;   /* of the coordinates */
    gx_field scalar_field; /* its modulus is the order of the subgroup */
    uint32_t degree; /* 1: coordinates are in base_field; 2: c0, c1 for c0 + c1 * u, u^2 = -1 */
    uint32_t affine_bytes; /* x, y: 96, 192, 64 or 128 */
    const void *generator; /* of the subgroup: GX_POINT_XY_MONT */
} gx_curve_info;

/* As for fields: NULL or 0 if there is none. Any thread. */
GX_API const gx_curve_info *gx_curve_get_info(gx_curve curve);
GX_API gx_curve gx_curve_by_name(const char *name);

/* How points are written. Always named: 0 is no form. */
typedef uint32_t gx_point_form;
enum {
    GX_POINT_XY_MONT = 1,      /* x, y in Montgomery form, lowest limb first; infinity: (0, 0).
                                  blst, gnark-crypto, arkworks from 0.6 */
    GX_POINT_XY_PLAIN = 2,     /* the same as plain integers: ICICLE */
    GX_POINT_COMPRESSED = 3,   /* zcash: big-endian x with flags in its first byte, 48 bytes (G2:
                                  96, c1 before c0); BLS12-381 only */
    GX_POINT_UNCOMPRESSED = 4, /* zcash: big-endian x, y with flags, 96 bytes (G2: 192, c1 before
                                  c0); BLS12-381 only */
    GX_POINT_EIP2537 = 5,      /* big-endian x, y, 64 bytes for each element, 128 bytes (G2: 256, c0
                                  before c1); BLS12-381 only */
    GX_POINT_JACOBIAN_MONT = 6 /* X, Y, Z in Montgomery form for (X / Z^2, Y / Z^3); infinity: Z is
                                  0, written as (1, 1, 0) */
};

/* What is checked when points are read, besides that their encoding is valid and that coordinates
 * are below the modulus. */
typedef uint32_t gx_point_check;
enum {
    GX_CHECK_CURVE = 0,    /* they are on the curve */
    GX_CHECK_SUBGROUP = 1, /* and in the subgroup of the generator */
    GX_CHECK_NONE = 2
};

/* Bytes of one point; 0 if the curve has no such form. Any thread. */
GX_API size_t gx_point_bytes(gx_curve curve, gx_point_form form);

/* "xy-mont", "xy-plain", "compressed", "uncompressed", "eip2537", "jacobian-mont"; "curve",
 * "subgroup", "none"; "unknown". Any thread. */
GX_API const char *gx_point_form_name(gx_point_form form);
GX_API const char *gx_point_check_name(gx_point_check check);

/* ---- points and multi-scalar multiplication ---------------------------------- */

/* Points of one curve that jobs use repeatedly. Devices copy them when they first need them, and
 * keep them while there is memory. */
typedef struct gx_points gx_points;

/* Input. */
typedef struct gx_points_params {
    size_t struct_size; /* sizeof(gx_points_params) */
    gx_curve curve;
    gx_point_form form;
    const void *points; /* in host memory, any alignment; or: */
    gx_buf *buf;        /* buffer that holds them, */
    size_t offset;      /* starting at this byte */
    size_t count;       /* 0 is allowed */
    size_t stride;      /* bytes from one point to the next; 0: gx_point_bytes */
    size_t flag_offset; /* XY forms: the byte at this offset from the start of each point, beyond
                           its coordinates, is not 0 if it is infinity, and zeros are not infinity
                           then (arkworks up to 0.5); 0: there is none */
    gx_point_check check;
    uint32_t reserved;
    uint64_t table_bytes; /* most memory on each device for the points and multiples of them, which
                             make jobs faster; a GPU takes at most half of its memory; 0: none */
} gx_points_params;

/* Reads, checks and copies the points. On success the caller owns *points and destroys them before
 * gx_close; on failure it is NULL, and *bad_index (may be NULL) is the index of the first bad point
 * or UINT64_MAX: GX_ERR_NOT_CANONICAL if a coordinate is not below the modulus; GX_ERR_INVALID if
 * the encoding is malformed, or the point is not on the curve or not in the subgroup. Any thread;
 * blocks. */
GX_API gx_status gx_points_create(gx_ctx *ctx, const gx_points_params *params, gx_points **points,
                                  uint64_t *bad_index);

/* Destroys the points and clears the caller's pointer; NULL and a pointer to NULL are allowed. No
 * job that uses them may be in progress. Any thread. */
GX_API void gx_points_destroy(gx_points **points);

/* How many there are; 0 for NULL. Any thread. */
GX_API size_t gx_points_count(const gx_points *points);

/* Writes points first .. first + count in any form that the curve has, one after the other. Any
 * thread; blocks. */
GX_API gx_status gx_points_read(const gx_points *points, size_t first, size_t count,
                                gx_point_form form, void *out);

/* How the 32 bytes of a scalar are to be understood. */
typedef uint32_t gx_scalar_form;
enum {
    GX_SCALAR_PLAIN = 0, /* integers below 2^256, lowest byte first, also above the order */
    GX_SCALAR_MONT = 1   /* elements of the scalar field, in Montgomery form */
};

/* "plain", "mont"; "unknown". Any thread. */
GX_API const char *gx_scalar_form_name(gx_scalar_form form);

/* gx_job.params of GX_MSM. job.field is the scalar field of the curve, a has job.n = batch * count
 * scalars, and result i of `batch` is that of scalars i * count .. (i + 1) * count with the same
 * points. If count is 0 there is one result, infinity; if it is 1 the results are multiples of one
 * point, which "cpu" computes together. out must not overlap a. The bytes of a result depend on
 * nothing but the point: coordinates are canonical, Z is 1. Input. */
typedef struct gx_msm_params {
    size_t struct_size;      /* sizeof(gx_msm_params) */
    const gx_points *points; /* of the job's context */
    size_t first, count;     /* those used */
    gx_scalar_form scalar_form;
    uint32_t scalar_bits; /* GX_SCALAR_PLAIN: bits from this one on are ignored; fewer are faster;
                             0: 256 */
    gx_point_form result_form; /* 0 is refused */
    uint32_t reserved;
} gx_msm_params;

/* Makes the job of `batch` sums: its field, that of the curve's scalars, and n. Otherwise as
 * gx_ntt: params is borrowed until the job has run, or was submitted. Any thread. */
GX_API gx_job gx_msm(const gx_msm_params *params, size_t batch, gx_operand scalars, gx_operand out);

#ifdef __cplusplus
}
#endif

#endif
