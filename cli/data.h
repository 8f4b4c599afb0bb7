/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements to work on: the same seed gives the same bytes on every machine, and
 * every element is below its modulus.
 */
#ifndef DATA_H
#define DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpuexec.h"

/* The widest element there is. */
enum { ELEMENT_BYTES_MAX = 48 };

/* Memory for large arrays, in huge pages where there are any, so that every
 * measurement of this program sees the same kind of memory. NULL where there is none. */
void *data_alloc(size_t bytes);

/* n random elements. u32: all values; f32: finite ones of ordinary size. */
void data_random(gx_field field, void *out, size_t n, uint64_t seed);

/* Up to half of the n elements are the field's edges (0, 1, p - 1, ...), laid out so
 * that operand 0, 1 and 2 of the same seed together hold every pair of them where n
 * allows; the rest is random. */
void data_mixed(gx_field field, void *out, size_t n, uint64_t seed, unsigned operand);

/* The operands of a field's operations, random, and room for the result. */
typedef struct data_arrays {
    unsigned char *operand[3], *result;
} data_arrays;

/* For jobs of up to n elements of the operations in `ops` (one bit per gx_op) that the field
 * has. False where memory ran out; free it in any case. */
bool data_arrays_make(data_arrays *d, gx_field field, uint32_t ops, size_t n, uint64_t seed);
void data_arrays_free(data_arrays *d);

/* A job over the first n elements, in host memory. */
gx_job data_arrays_job(const data_arrays *d, gx_field field, gx_op op, size_t n);

/* Bytes that the job reads and writes. */
size_t data_job_bytes(const gx_job *job);

#endif
