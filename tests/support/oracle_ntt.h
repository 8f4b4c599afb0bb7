/* SPDX-License-Identifier: Apache-2.0
 *
 * Expected transforms, on GMP: the sums as gpuexec.h writes them, with the roots of unity as
 * published. Like oracle.h, takes only constants from the library. Any thread. Elements are in
 * Montgomery form and have any alignment.
 */
#ifndef GX_TESTS_ORACLE_NTT_H
#define GX_TESTS_ORACLE_NTT_H

#include "support/oracle.h"

/* What gx_ntt_params and gx_domain_params describe together. */
struct oracle_ntt {
    gx_field field;
    uint32_t log2_n, log2_pad, flags; /* GX_NTT_* */
    size_t batch;
    const void *root; /* of order 2^log2_root; NULL: the default, whatever log2_root is */
    uint32_t log2_root;
    const void *shift; /* NULL: the default */
};

/* Elements of a, and of out. */
size_t oracle_ntt_in(const struct oracle_ntt *t);
size_t oracle_ntt_out(const struct oracle_ntt *t);

/* All outputs: the sum of each for up to 2^ORACLE_NAIVE elements in one transform, otherwise by
 * halves, which oracle_ntt_by_halves does for any size. out does not overlap a. */
enum { ORACLE_NAIVE = 10 };
void oracle_ntt(const struct oracle_ntt *t, void *out, const void *a);
void oracle_ntt_by_halves(const struct oracle_ntt *t, void *out, const void *a);

/* The element at this place of out alone, by Horner's rule. */
void oracle_ntt_at(const struct oracle_ntt *t, size_t place, void *element, const void *a);

/* The default root of order 2^log2_n. */
uint32_t oracle_two_adicity(gx_field field);
void oracle_root(gx_field field, uint32_t log2_n, void *element);
/* element^exponent, and the Montgomery form of a small number. */
void oracle_power(gx_field field, const void *element, uint64_t exponent, void *out);
void oracle_small(gx_field field, uint64_t number, void *element);
/* A plain number in hexadecimal, to Montgomery form. */
void oracle_from_hex(gx_field field, const char *hex, void *element);

/* i with the lowest `bits` bits reversed. */
size_t oracle_reverse(size_t i, uint32_t bits);

#endif
