/* SPDX-License-Identifier: Apache-2.0
 *
 * This machine's own streaming limit: how fast memory can be read twice and written
 * once, the traffic of a two-operand operation that costs no arithmetic.
 */
#ifndef STREAM_H
#define STREAM_H

/* GB/s (10^9 bytes read and written) with this many threads: of plain stores and of
 * non-temporal stores with prefetch, the faster; of several passes, the median, as
 * for the operations it is compared with. 0 where memory ran out. Takes about half a
 * second the first time for a number of threads, and remembers it. */
double stream_limit(unsigned threads);

#endif
