/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs of mixed operations, fields and sizes that threads share and only read: operands and the
 * oracle's result.
 */
#ifndef GX_TESTS_API_CASES_H
#define GX_TESTS_API_CASES_H

#include "support/harness.h"

enum { CASES = 24 };

struct job_case {
    gx_op op;
    gx_field field;
    size_t n;
    int bad; /* the element at index n / 2 of a is not below the modulus */
    unsigned char *in[3], *want;
};

extern struct job_case cases[CASES];

/* Fills them. Some have `large` elements, some of `every` are bad. -1 where none is bad. */
int make_cases(uint64_t seed, size_t large, size_t every);
/* What the group of tests ends with. */
int free_cases(void **state);

#endif
