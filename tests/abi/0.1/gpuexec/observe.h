/* SPDX-License-Identifier: Apache-2.0
 *
 * What the library would do, has measured and has done: estimates, the model of this machine,
 * statistics, traces.
 */
#ifndef GPUEXEC_OBSERVE_H
#define GPUEXEC_OBSERVE_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- estimates ------------------------------------------------------------ */

/* Output, except for the candidate array: what gx_run would do with the jobs. */
typedef struct gx_estimate_info {
    size_t struct_size;      /* sizeof(gx_estimate_info) */
    gx_candidate *candidate; /* as in gx_report, with predictions only */
    uint32_t candidate_room;
    uint32_t candidates; /* this and device, reason, path, mode, sets and chunk_elems are those of
                            the first job */
    char device[48];
    gx_reason reason;
    gx_path path;
    gx_mode mode;
    uint32_t sets;        /* groups in flight concurrently */
    uint64_t chunk_elems; /* maximum elements per piece */
    uint64_t groups, submits, dispatches;
    uint64_t bytes_up, bytes_down; /* copied by the device */
    uint64_t bytes_staged;         /* copied by the host, in and out */
    uint64_t memory_bytes;         /* peak device memory */
    uint64_t predicted_ns;         /* for the whole call, as planned; 0: unknown */
} gx_estimate_info;

/* Plans the jobs without running them: opens devices, but computes, copies and allocates nothing
 * for the jobs. Same rules as for gx_run. Any thread. */
GX_API gx_status gx_estimate(gx_ctx *ctx, const gx_job *jobs, size_t njobs,
                             const gx_run_params *params, gx_estimate_info *info);

/* ---- performance model ---------------------------------------------------- */

/* All that the context has measured or loaded from the cache directory, as JSON: an array of
 * objects, each one point of the router's model, with the device, the kind of job, its size n, the
 * time ns and what is known about that. For people and their tools: later versions may say
 * something else. text and *size as for gx_metrics_prometheus. Any thread; blocks and allocates. */
GX_API gx_status gx_model_json(gx_ctx *ctx, char *text, size_t *size);

/* Input. */
typedef struct gx_calibrate_params {
    size_t struct_size; /* sizeof(gx_calibrate_params) */
    const gx_op *ops;   /* operations to measure: those without parameters, GX_NTT and GX_MSM */
    size_t op_count;    /* 0: add, mul, inv, ntt and msm; others are predicted from the nearest of
                           these */
    const gx_field *fields;
    size_t field_count; /* 0: all prime fields */
    uint64_t max_elems; /* largest size measured; 0: 16M */
    uint64_t limit_ns;  /* wall-clock limit for the whole calibration; 0: 20 s */
    /* Called after each step; a nonzero return stops the calibration. May be NULL. */
    int (*progress)(void *user, double done, const char *device, const char *what);
    void *user;
} gx_calibrate_params;

/* Measures all devices that may be chosen, replaces their part of the model, and saves it in
 * the cache directory. params may be NULL. Run it on an idle machine. Any thread; blocks.
 * Returns GX_ERR_CANCELLED if `progress` stopped it; measurements made so far are kept. Returns
 * GX_ERR_FILE if the result cannot be saved; it still applies to this context. */
GX_API gx_status gx_calibrate(gx_ctx *ctx, const gx_calibrate_params *params);

/* ---- counters and statistics ------------------------------------------------ */

/* Static data owned by the library; may grow at the end. */
typedef struct gx_counter_info {
    const char *name; /* "jobs_done" */
    const char *help; /* "jobs that were done" */
    uint32_t gauge;   /* 1: a present state; 0: counted since the context was opened */
    uint32_t reserved;
} gx_counter_info;

/* The counters of this version, by index from 0; NULL past the last. What a later version counts
 * may differ. Any thread. */
GX_API const gx_counter_info *gx_counter_get_info(uint32_t index);

/* Reads the counter of this name; GX_ERR_INVALID if there is none. Each value is exact, but several
 * are not read as one atomic snapshot. Any thread; does not block. */
GX_API gx_status gx_counter(gx_ctx *ctx, const char *name, uint64_t *value);

/* Whether a device may be chosen. */
typedef uint32_t gx_health;
enum {
    GX_HEALTH_UNUSED = 0, /* not opened yet */
    GX_HEALTH_GOOD = 1,
    GX_HEALTH_RESTING = 2,    /* failed; will be retried later */
    GX_HEALTH_QUARANTINED = 3 /* gave a wrong result; retried much later */
};

/* As the names of core.h: "quarantined". Any thread. */
GX_API const char *gx_health_name(gx_health health);

/* Output. One device of this context. */
typedef struct gx_device_statistics {
    size_t struct_size; /* sizeof(gx_device_statistics) */
    char device[48];
    gx_health health;
    uint32_t reserved;
    uint64_t retry_ns; /* time until the self-test that may readmit it; 0: none is due */
    uint64_t jobs;     /* jobs or shares of jobs done */
    uint64_t elements;
    uint64_t busy_ns;    /* total time of those jobs */
    uint64_t waiting_ns; /* predicted time of the work in progress */
    uint64_t failures, mismatches, readmissions;
} gx_device_statistics;

/* Covers all devices that were opened or may be chosen. *count as for gx_devices. Any thread. */
GX_API gx_status gx_device_stats(gx_ctx *ctx, gx_device_statistics *stats, size_t *count);

/* The counters and these statistics in the Prometheus text format, with the names listed in
 * doc/metrics.md, for programs that serve scrapes themselves. *size is the capacity of text on
 * entry and the size needed, including the NUL, on return. If the capacity is too small, text is
 * set to an empty string rather than truncated. text may be NULL to query the size, which may grow
 * before the next call. Any thread; blocks and allocates as gx_device_stats does. */
GX_API gx_status gx_metrics_prometheus(gx_ctx *ctx, char *text, size_t *size);

/* ---- trace --------------------------------------------------------------- */

/* Starts writing every stage of every job to a file in the Chrome trace format, which
 * https://ui.perfetto.dev and chrome://tracing can open: one process per device, one track per
 * stage, host and device on a common time axis. An existing trace file is replaced. Returns
 * GX_ERR_INVALID if the context is already writing a trace or another context is writing to that
 * file; GX_ERR_FILE if the file cannot be created, or exists and is not a trace, in which case it
 * is left alone. Any thread. */
GX_API gx_status gx_trace_start(gx_ctx *ctx, const char *path);

/* Stops the trace. Returns GX_ERR_FILE if the file is incomplete. Does nothing without a trace.
 * gx_close stops it too. If the process exits without either, viewers can still open the file.
 * Any thread. */
GX_API gx_status gx_trace_stop(gx_ctx *ctx);

#ifdef __cplusplus
}
#endif

#endif
