/* SPDX-License-Identifier: Apache-2.0
 *
 * Device slots: one for each device that a context has used or may choose, with its engine, its
 * model, its health and its statistics.
 */
#ifndef GX_ROUTE_SLOTS_H
#define GX_ROUTE_SLOTS_H

#include "base/error.h"
#include "exec/engine.h"
#include "field/field.h"
#include "op/op.h"
#include "route/model.h"

#define GX_DEVICE_SLOTS_MAX 32
/* The device that always exists. */
#define GX_HOST_DEVICE "cpu"

/* The health of a device; see health.h. */
struct gx_condition {
    _Atomic gx_health state;
    atomic_bool testing;       /* a thread runs its self-test */
    atomic_bool unfit;         /* the last attempt to open or test it failed */
    atomic_bool lacked_memory; /* it rests only because memory ran out */
    _Atomic uint64_t retry_at; /* end of the rest or quarantine, in ns */
    _Atomic uint64_t rest_ns;  /* length of the next one; 0: the shortest */
    _Atomic uint32_t good;     /* consecutive jobs done without a mismatch */
};

/* The first runs of a kind compile kernels and allocate memory: their times are not learned. */
#define GX_FIRST_RUNS 2u

/* How much slower a shard is while other shards of the same round run: the median of the last few
 * measurements, in thousandths of the time it takes alone. */
#define GX_CONTENTION_SAMPLES 5u
struct gx_contention {
    _Atomic uint32_t factor;                      /* 0: not known */
    _Atomic uint32_t runs;                        /* measurements so far */
    _Atomic uint32_t count;                       /* valid entries in `last` */
    _Atomic uint32_t last[GX_CONTENTION_SAMPLES]; /* newest first */
    _Atomic uint32_t missed;                      /* splits that contention prevented, in a row */
};

/* What the router knows about jobs of one kind on a device, beyond the times in the model. Zeros:
 * nothing. */
struct gx_kind_stats {
    _Atomic uint32_t runs;           /* timed runs */
    struct gx_contention contention; /* by the residency of the round, also on "cpu" */
    /* On "cpu" only. Jobs of up to so many elements finish before any GPU could answer, so they
     * always run there. 0: not known. */
    _Atomic uint32_t small;
};

struct gx_device_slot {
    char name[sizeof((gx_device_info *)0)->name];
    gx_device_info info; /* from enumeration; kind 0: a wrapper, known only when open */
    bool host;           /* it is GX_HOST_DEVICE */
    /* Set by the router for candidates: a number that is the same for those that are one GPU (0:
     * not known), and the next name of this GPU, for what this one has no kernel for, and while it
     * cannot be opened. */
    _Atomic uint32_t chip;
    struct gx_device_slot *other;
    struct gx_engine *_Atomic engine; /* NULL: not open */
    struct gx_model *_Atomic model;   /* NULL: not opened yet, no memory, or none is kept */
    struct gx_condition condition;
    struct gx_work work;
    _Atomic uint64_t waiting_ns; /* predicted time of the work in progress */
    _Atomic uint64_t failures, mismatches, readmissions;
    _Atomic uint32_t active;       /* timed batches in progress */
    _Atomic uint64_t sample_ps;    /* time to verify one element; 0: not known */
    _Atomic uint64_t again_ps;     /* the same for GX_SAMPLES_JOBS, ... */
    _Atomic uint32_t again_jobs;   /* ... and jobs that were computed again */
    _Atomic uint64_t unprobed;     /* elements computed into buffers since the last probe */
    _Atomic uint64_t unprobed_ns;  /* time they took */
    _Atomic uint64_t probe_ns;     /* time the last probe took */
    struct gx_kind_map kind_stats; /* struct gx_kind_stats */
};

/* NULL: nothing is known. Any thread; takes no lock. */
static inline struct gx_kind_stats *gx__kind_stats(const struct gx_device_slot *slot,
                                                   const struct gx_kind *kind)
{
    return gx__kind_find(&slot->kind_stats, kind);
}

/* The same, to note something; NULL: no memory for it. */
static inline struct gx_kind_stats *gx__kind_stats_get(struct gx_device_slot *slot,
                                                       const struct gx_kind *kind)
{
    return gx__kind_get(&slot->kind_stats, kind);
}

struct gx_device_slots {
    struct gx_instance *instance;
    pthread_mutex_t lock; /* for opening and retiring engines */
    _Atomic size_t count;
    struct gx_device_slot *slot[GX_DEVICE_SLOTS_MAX]; /* append-only; names are constant */
    struct gx_engine *retired; /* engines in no slot: lost, or failed to open */
};

void gx__slots_init(struct gx_device_slots *slots, struct gx_instance *instance);
/* No job may be running. */
void gx__slots_close(struct gx_device_slots *slots);

/* The slot of the device that `name` means, made if there is none; does not open the device. On
 * failure message says what to do. Any thread; may block in a driver. */
gx_status gx__slot_get(struct gx_device_slots *slots, const char *name,
                       struct gx_device_slot **slot, struct gx_error *error);

/* The open engine of a slot, with the caller as a user until gx__engine_release; NULL: not open, or
 * lost. Any thread; takes no lock. */
struct gx_engine *gx__slot_enter(struct gx_device_slot *slot);

/* The same for the device that `name` means, opened if needed. On failure message says what to do.
 * Any thread; blocks while a device is opened. */
gx_status gx__slot_open(struct gx_device_slots *slots, const char *name, struct gx_engine **engine,
                        struct gx_error *error);

/* Frees the tables that devices have made for a domain, which ends. Any thread. */
void gx__slots_drop_tables(struct gx_device_slots *slots, uint64_t domain);

/* The model of the engine's device; opened now if memory was short before. NULL: out of memory, or
 * the reference, which has no model. Any thread. */
struct gx_model *gx__slot_model(struct gx_device_slots *slots, const struct gx_engine *engine);

#endif
