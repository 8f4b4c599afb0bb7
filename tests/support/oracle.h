/* SPDX-License-Identifier: Apache-2.0
 *
 * Expected results by independent means: every public operation on GMP, and elements worth testing.
 * Takes the moduli from the published hexadecimal strings, and nothing from the library but the
 * constants of gpuexec.h. Any thread. Elements have any alignment.
 */
#ifndef GX_TESTS_ORACLE_H
#define GX_TESTS_ORACLE_H

#include <stddef.h>
#include <stdint.h>

#include <gmp.h>

#include "gpuexec.h"

/* ---- fields -------------------------------------------------------------------- */

size_t oracle_element_bytes(gx_field field);    /* 48, 32 or 4 */
const char *oracle_modulus_hex(gx_field field); /* NULL for u32 and f32 */

/* z = the modulus; z is initialised by the caller. Prime fields only. */
void oracle_modulus(mpz_t z, gx_field field);

/* z = the integer in `limbs` 64-bit limbs, and back: z < 2^(64 * limbs). */
void oracle_import(mpz_t z, const void *limbs64, size_t limbs);
void oracle_export(void *limbs64, size_t limbs, const mpz_t z);

/* ---- operations ---------------------------------------------------------------- */

/* Bits of `broadcast` below: that operand is one element. */
#define ORACLE_A 1u
#define ORACLE_B 2u
#define ORACLE_C 4u

/* out[i] = op(a[i], b[i], c[i]) for i < n. Operands that the operation lacks are not read. out is
 * identical to an operand or disjoint. Aborts if the operation does not exist. */
void oracle_run(gx_op op, gx_field field, size_t n, void *out, const void *a, const void *b,
                const void *c, unsigned broadcast);

/* Whether op reduces n elements to one. */
int oracle_reduces(gx_op op);

/* Is the element below the modulus? Always, for u32 and f32. */
int oracle_is_canonical(gx_field field, const void *element);

/* ---- elements ------------------------------------------------------------------ */

struct oracle_rng {
    uint64_t state; /* any value is a seed */
};

uint64_t oracle_random(struct oracle_rng *rng);

/* The `which`th element of the list of edges, which is endless: it repeats after
 * oracle_edges(field). The first one is 0. */
size_t oracle_edges(gx_field field);
void oracle_edge(gx_field field, size_t which, void *out);

/* The same for elements not below the modulus. Prime fields only. */
size_t oracle_bads(gx_field field);
void oracle_bad(gx_field field, size_t which, void *out);

/* n elements below the modulus: random ones, every fourth or so an edge. */
void oracle_fill(gx_field field, struct oracle_rng *rng, void *out, size_t n);

/* n random elements and no edges: for benchmarks, and where 0 must not occur. */
void oracle_fill_random(gx_field field, struct oracle_rng *rng, void *out, size_t n);

#endif
