/* SPDX-License-Identifier: Apache-2.0
 *
 * Test elements: the same seed gives the same bytes on every machine, and every element is below
 * its modulus.
 */
#ifndef DATA_H
#define DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpuexec.h"

/* The largest size of an element, and of a point of any curve in any form. */
enum { ELEMENT_BYTES_MAX = 48, POINT_BYTES_MAX = 288 };

/* Memory for large arrays, in huge pages if available, so that all measurements use the same kind
 * of memory. NULL on failure. */
void *data_alloc(size_t bytes);
void data_free(void *memory);

/* x < y, numbers of so many limbs. */
bool data_below(const uint64_t *x, const uint64_t *y, unsigned limbs);

/* n random elements. u32: all values; f32: finite values of moderate size. */
void data_random(gx_field field, void *out, size_t n, uint64_t seed);

/* Up to half of the n elements are edge values of the field (0, 1, p - 1, ...), arranged so that
 * operands 0, 1 and 2 of the same seed contain every pair of them if n allows; the rest is random.
 */
void data_mixed(gx_field field, void *out, size_t n, uint64_t seed, unsigned operand);

/* Bytes that the job reads and writes. */
size_t data_job_bytes(const gx_job *job);

#endif
