/* SPDX-License-Identifier: Apache-2.0
 *
 * This machine's streaming limit: the speed of two reads and one write, the memory traffic of a
 * two-operand operation without any arithmetic.
 */
#ifndef STREAM_H
#define STREAM_H

#include <stdint.h>

/* GB/s (10^9 bytes read and written) with this many threads: the faster of plain stores and
 * non-temporal stores with prefetch, each as the median of `samples` passes, or of 11 if samples is
 * 0 or more than that. 0 if memory ran out. Takes about half a second the first time for each
 * number of threads, then remembers the result. */
double stream_limit(unsigned threads, uint64_t samples);

#endif
