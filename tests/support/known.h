/* SPDX-License-Identifier: Apache-2.0
 *
 * Points t[i] * G with known t[i], so that the multi-scalar multiplication of any number of them is
 * one multiple of G, which GMP computes.
 */
#ifndef GX_TESTS_KNOWN_H
#define GX_TESTS_KNOWN_H

#include "support/oracle_curve.h"

enum { KNOWN_SCALAR = 32 };

struct known {
    gx_curve curve;
    size_t count, bytes;   /* of a point */
    unsigned char *t;      /* KNOWN_SCALAR bytes each */
    unsigned char *points; /* GX_POINT_XY_MONT */
};

/* Room for `count` points, all of them infinity; known_close frees it. */
void known_open(struct known *k, gx_curve curve, size_t count);
void known_close(struct known *k);

/* t[i] = value, which may be negative; or anything below 2^256. */
void known_set(struct known *k, size_t i, int64_t value);
void known_set_random(struct known *k, size_t i, struct oracle_rng *rng);

/* Makes the points once all t are set, with gxt_multiply; some are compared with GMP. */
void known_make(struct known *k, gx_ctx *ctx);
/* A handle of all of them. */
gx_points *known_points(const struct known *k, gx_ctx *ctx);

/* xy = the sum of scalars[i] * points[first + i], i < count, of whose scalars only the lowest
 * `bits` bits count. */
void known_sum(const struct known *k, size_t first, size_t count, const void *scalars,
               uint32_t bits, void *xy);

/* A scalar: the lowest 256 bits of 2^power + add. */
void known_power(unsigned char *scalar, uint32_t power, int add);
/* The order of the curve's subgroup + add. */
void known_order(gx_curve curve, unsigned char *scalar, int add);
void known_random(struct oracle_rng *rng, void *scalars, size_t count);

/* n is batch * p->count. */
gx_job known_job(gx_curve curve, const gx_msm_params *p, size_t batch, const void *scalars,
                 void *out);

#endif
