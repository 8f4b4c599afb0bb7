/* SPDX-License-Identifier: Apache-2.0
 *
 * What jobs must compute, from the definitions of doc/encoding.md with GMP's integers, and nothing
 * of the library: moduli, roots and the equations of the curves stand here again.
 */
#ifndef GX_TESTS_RANDOM_ORACLE_H
#define GX_TESTS_RANDOM_ORACLE_H

#include <gmp.h>

#include "random/program.h"

/* Once, before any thread needs it. */
void rnd_oracle_init(void);

/* ---- elements (oracle_field.c) ---- */

/* A prime field, or NULL for u32 and f32. */
struct rnd_prime {
    size_t bytes;
    mpz_t p, r, r_inverse;
};
const struct rnd_prime *rnd_prime(uint64_t field);

/* Integers in memory, lowest byte first; in Montgomery form. */
void rnd_get(mpz_t x, const void *memory, size_t bytes);
void rnd_put(void *memory, size_t bytes, const mpz_t x);
void rnd_get_mont(mpz_t x, const struct rnd_prime *f, const void *memory);
void rnd_put_mont(void *memory, const struct rnd_prime *f, const mpz_t x);

mpz_t *rnd_integers(size_t n);
void rnd_integers_free(mpz_t *x, size_t n);

/* All operations but transforms and sums of points. in[i] is the memory of operand i. */
void rnd_oracle_elements(const struct rnd_job *job, unsigned char *const in[3], unsigned char *out);

/* The first input that a job must reject: status, index, and by bit which operands it is in. */
struct rnd_rejection {
    gx_status status;
    uint64_t index;
    unsigned operands;
};
struct rnd_rejection rnd_oracle_reject(const struct rnd_job *job, unsigned char *const in[3]);

/* ---- transforms (oracle_ntt.c) ---- */

/* Root (of order 2^(log2_n + domain)) and shift of the domain of a job. */
void rnd_oracle_domain(const struct rnd_job *job, mpz_t root, mpz_t shift);
void rnd_oracle_ntt(const struct rnd_job *job, const unsigned char *a, unsigned char *out);

/* ---- points (oracle_curve.c) ---- */

/* c0 + c1 * u, u^2 = -1; c1 is 0 where the coordinates are in the base field. */
struct rnd_fq2 {
    mpz_t c0, c1;
};
struct rnd_point {
    int infinity;
    struct rnd_fq2 x, y;
};

/* Points that sums are known of: times[i] * G, or one of a few points outside the subgroup. */
enum { RND_OUTSIDE = 3 };
struct rnd_points {
    uint64_t curve;
    size_t count;
    struct rnd_point *point;
    mpz_t *times;
    int *outside; /* 0: in the subgroup; k: outside point k - 1; -k: the opposite */
};
void rnd_points_make(const struct rnd_points_spec *spec, struct rnd_points *points);
void rnd_points_free(struct rnd_points *points);

void rnd_oracle_msm(const struct rnd_job *job, const struct rnd_points *points,
                    const unsigned char *scalars, unsigned char *out);

const struct rnd_prime *rnd_base_field(uint64_t curve);
unsigned rnd_degree(uint64_t curve);
uint64_t rnd_scalar_field(uint64_t curve);

/* ---- forms of points (oracle_forms.c) ---- */

/* z: of a Jacobian point, 0: 1. */
void rnd_encode(uint64_t curve, uint64_t form, const struct rnd_point *point, uint64_t z,
                unsigned char *out);
/* As gx_points_params wants them: malloc'd; the stride and where the flag is. */
unsigned char *rnd_encode_all(const struct rnd_points_spec *spec, const struct rnd_points *points,
                              size_t *stride, size_t *flag_offset);
/* What gx_points_create must return. */
struct rnd_rejection rnd_points_reject(const struct rnd_points_spec *spec,
                                       const struct rnd_points *points);

#endif
