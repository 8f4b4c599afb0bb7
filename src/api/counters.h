/* SPDX-License-Identifier: Apache-2.0
 *
 * The counters of a context: one list has the names that gx_counter knows and what they count.
 * Their values are in struct gx_counters, but for two that the devices' statistics add up to.
 */
#ifndef GX_API_COUNTERS_H
#define GX_API_COUNTERS_H

#include "api/context.h"

/* X(member of struct gx_counters, gauge, help), SUM(name, help) */
#define GX__COUNTER_LIST(SUM, X)                                                                   \
    SUM(jobs_done, "jobs that were done")                                                          \
    X(jobs_failed, 0, "jobs that failed, those not run and cancelled included")                    \
    SUM(elements, "elements of the jobs that were done")                                           \
    X(bytes_read, 0, "bytes of their operands")                                                    \
    X(bytes_written, 0, "bytes of their results")                                                  \
    X(compute_ns, 0, "time spent computing them")                                                  \
    X(dispatches, 0, "kernel launches")                                                            \
    X(pool_hits, 0, "blocks of staging and scratch memory that were reused")                       \
    X(pool_misses, 0, "blocks of staging and scratch memory that were allocated")                  \
    X(pool_bytes, 1, "memory that the pools hold, idle or in use")                                 \
    X(device_bytes, 1, "memory that is held on devices: pools and buffers")                        \
    X(device_bytes_peak, 1, "the most memory ever held on one device")                             \
    X(command_hits, 0, "submits that reused recorded commands")                                    \
    X(command_misses, 0, "submits that recorded new commands")                                     \
    X(tickets_submitted, 0, "tickets submitted")                                                   \
    X(tickets_done, 0, "tickets that are done, with whatever status")                              \
    X(tickets_cancelled, 0, "tickets with at least one cancelled job")                             \
    X(jobs_waiting, 1, "jobs in tickets that are not done")                                        \
    X(validation_messages, 0, "messages of the validation layer; should stay 0")                   \
    X(decisions, 0, "calls, or parts of calls, placed by the router")                              \
    X(decisions_default, 0, "decisions before anything was measured")                              \
    X(decisions_split, 0, "decisions for several devices")                                         \
    X(decisions_explored, 0, "decisions in order to measure a device")                             \
    X(decisions_predicted, 0, "decisions between devices with at least one prediction")            \
    X(routed_ns, 0, "time of the work of predicted decisions")                                     \
    X(routed_best_ns, 0,                                                                           \
      "the least time predicted for it: routed_ns / routed_best_ns - 1 estimates the regret, "     \
      "errors of prediction included")                                                             \
    X(sampled, 0, "elements of results recomputed and compared")                                   \
    X(mismatches, 0, "jobs in which one differed")                                                 \
    X(fallbacks, 0, "shares completed by another device than planned")                             \
    X(record_ns, 0, "time spent recording commands, or finding recorded ones")                     \
    X(submit_ns, 0, "time spent in submit calls")                                                  \
    X(open_ns, 0, "time spent looking for devices and opening them")                               \
    X(compile_ns, 0, "time spent compiling kernels for open devices, or loading them")             \
    X(tables_ns, 0, "time spent making tables on devices: roots of unity, points")

/* X(member of gx_counters.buckets, bytes) */
#define GX__BUCKET_LIST(X)                                                                         \
    X(0, 4096)                                                                                     \
    X(1, 8192)                                                                                     \
    X(2, 16384)                                                                                    \
    X(3, 32768)                                                                                    \
    X(4, 65536)                                                                                    \
    X(5, 131072)                                                                                   \
    X(6, 262144)                                                                                   \
    X(7, 524288)                                                                                   \
    X(8, 1048576)                                                                                  \
    X(9, 2097152)                                                                                  \
    X(10, 4194304)                                                                                 \
    X(11, 8388608)                                                                                 \
    X(12, 16777216)                                                                                \
    X(13, 33554432)                                                                                \
    X(14, 67108864)                                                                                \
    X(15, 134217728)                                                                               \
    X(16, 268435456)                                                                               \
    X(17, 536870912)                                                                               \
    X(18, 1073741824)                                                                              \
    X(19, 2147483648)

/* All of them at about the same time. */
struct gx_statistics {
#define GX__ONE_COUNTER(name, ...) uint64_t name;
    GX__COUNTER_LIST(GX__ONE_COUNTER, GX__ONE_COUNTER)
#undef GX__ONE_COUNTER
    uint64_t buckets[GX_BUCKETS];
};

void gx__stats(gx_ctx *ctx, struct gx_statistics *stats);

#endif
