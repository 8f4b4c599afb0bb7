/* SPDX-License-Identifier: Apache-2.0
 *
 * The library's counters: read by name, and as text.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include "gpuexec.h"
#include "output.h"

#define COUNTERS(X)                                                                                \
    X(jobs_done)                                                                                   \
    X(jobs_failed)                                                                                 \
    X(elements)                                                                                    \
    X(bytes_read)                                                                                  \
    X(bytes_written)                                                                               \
    X(dispatches)                                                                                  \
    X(pool_hits)                                                                                   \
    X(pool_misses)                                                                                 \
    X(pool_bytes)                                                                                  \
    X(device_bytes_peak)                                                                           \
    X(command_hits)                                                                                \
    X(command_misses)                                                                              \
    X(tickets_done)                                                                                \
    X(validation_messages)                                                                         \
    X(decisions)                                                                                   \
    X(decisions_default)                                                                           \
    X(decisions_explored)                                                                          \
    X(open_ns)                                                                                     \
    X(compile_ns)                                                                                  \
    X(tables_ns)

/* Blocks of pooled memory by size: 4096 << i bytes; the last: or more. */
enum { COUNTER_BUCKETS = 20 };

typedef struct counters {
#define X(name) uint64_t name;
    COUNTERS(X)
#undef X
    uint64_t buckets[COUNTER_BUCKETS];
} counters;

counters counters_read(gx_ctx *ctx);

/* Prints those of a context, which may be NULL: below a table on stdout, otherwise on stderr. */
void counters_print(gx_ctx *ctx, output_format format);

/* "64K:12 1M:3": sizes of pooled memory, and how often each was used. */
void counters_buckets(const uint64_t *buckets, char *text, size_t size);

#endif
