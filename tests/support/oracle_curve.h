/* SPDX-License-Identifier: Apache-2.0
 *
 * Curves on GMP: affine points, the addition of the textbook, coordinates as pairs c0 + c1 * u with
 * c1 = 0 for G1. Takes nothing from the library but the constants of gpuexec.h. Any thread.
 */
#ifndef GX_TESTS_ORACLE_CURVE_H
#define GX_TESTS_ORACLE_CURVE_H

#include "support/oracle.h"

#define ORACLE_POINT_BYTES 192 /* at most */
#define ORACLE_FORM_BYTES  288 /* in any form */

gx_field oracle_base_field(gx_curve curve);
gx_field oracle_scalar_field(gx_curve curve);
uint32_t oracle_degree(gx_curve curve);
size_t oracle_affine_bytes(gx_curve curve);

/* z = c0 + c1 * u. */
struct oracle_pair {
    mpz_t c[2];
};
void oracle_pair_init(struct oracle_pair *z);
void oracle_pair_clear(struct oracle_pair *z);

/* Coordinates in memory: degree * element_bytes bytes, Montgomery form. */
void oracle_pair_read(gx_curve curve, struct oracle_pair *z, const void *coordinate);
void oracle_pair_write(gx_curve curve, void *coordinate, const struct oracle_pair *z);
void oracle_pair_mul(gx_curve curve, struct oracle_pair *out, const struct oracle_pair *a,
                     const struct oracle_pair *b);
/* 0 if a is 0, else 1. */
int oracle_pair_invert(gx_curve curve, struct oracle_pair *out, const struct oracle_pair *a);

/* Points are x, y in memory, Montgomery form; infinity is (0, 0). Any alignment; out may be an
 * operand. */
int oracle_point_on_curve(gx_curve curve, const void *point);
void oracle_point_add(gx_curve curve, void *out, const void *a, const void *b);
void oracle_point_neg(gx_curve curve, void *out, const void *a);
void oracle_point_mul(gx_curve curve, void *out, const void *a, const mpz_t scalar);

/* The point in a form that the curve has. */
void oracle_point_encode(gx_curve curve, gx_point_form form, void *out, const void *point);
/* `bytes` bytes, highest first. */
void oracle_big_endian(void *out, size_t bytes, const mpz_t z);

#endif
