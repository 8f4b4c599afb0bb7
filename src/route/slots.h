/* SPDX-License-Identifier: Apache-2.0
 *
 * The devices that a context has used or may choose, and the engines that are open.
 */
#ifndef GX_ROUTE_SLOTS_H
#define GX_ROUTE_SLOTS_H

#include "exec/engine.h"
#include "field/field.h"
#include "op/op.h"
#include "route/model.h"

#define GX_DEVICE_SLOTS_MAX 32
/* The one device that is always there. */
#define GX_HOST_DEVICE "cpu"

/* What is known of how well a device works; see health.h. */
struct gx_condition {
    _Atomic gx_health state;
    atomic_bool testing;       /* one thread is at its self-test */
    _Atomic uint64_t retry_at; /* ns of its clock, while it rests or is quarantined */
    _Atomic uint64_t rest_ns;  /* how long, the next time */
    _Atomic uint32_t good;     /* jobs in a row that were done and not found wrong */
};

#define GX_RESIDENCY_END (GX_DEVICE_MEMORY + 1)
#define GX_PATH_END      (GX_PATH_DEVICE_LOCAL + 1) /* of those that can be asked for */

/* The first runs of a kind build kernels and memory, and are not learned from. */
#define GX_FIRST_RUNS 2u

/* What a share takes while others do the rest, in thousandths of what it takes alone: the
 * median of the last few. */
#define GX_CONTENTION_SAMPLES 5u
struct gx_contention {
    _Atomic uint32_t factor;                      /* 0: not known */
    _Atomic uint32_t runs;                        /* seen so far */
    _Atomic uint32_t count;                       /* of those that are kept, */
    _Atomic uint32_t last[GX_CONTENTION_SAMPLES]; /* the latest one first */
    _Atomic uint32_t missed; /* decisions in a row that it spoke against a split in */
};

/* What is remembered of jobs of one kind beside the model, which only knows times. */
struct gx_kind_stats {
    _Atomic uint32_t runs;           /* timed so far */
    struct gx_contention contention; /* by the memory that the round is in, for "cpu" too */
    /* Of "cpu": elements that are done sooner than any GPU answers, and by far sooner than by any
     * that there is, as long as nothing else is under way there; small 0: not known. */
    _Atomic uint32_t small, cpu_only;
};

/* A device, and its engine now; NULL: to be opened. */
struct gx_device_slot {
    char name[sizeof((gx_device_info *)0)->name];
    gx_device_info info; /* as it was found; kind 0: it wraps another, and opening it says */
    bool host;           /* it is GX_HOST_DEVICE */
    struct gx_engine *_Atomic engine;
    struct gx_model *_Atomic model; /* from the first opening on; NULL: none, or no memory */
    struct gx_condition condition;
    struct gx_work work;
    _Atomic uint64_t waiting_ns, failures, mismatches, readmissions;
    _Atomic uint32_t active;      /* calls under way */
    _Atomic uint64_t sample_ps;   /* what comparing an element takes; 0: not known */
    _Atomic uint64_t unproven;    /* elements computed into buffers since the last probe, */
    _Atomic uint64_t unproven_ns; /* what they took, */
    _Atomic uint64_t probe_ns;    /* and what that probe took */
    struct gx_kind_stats kind_stats[GX_OP_END][GX_FIELD_END][GX_RESIDENCY_END][GX_PATH_END];
};

static inline struct gx_kind_stats *gx__kind_stats(struct gx_device_slot *slot,
                                                   const struct gx_kind *kind)
{
    return &slot->kind_stats[kind->op][kind->field][kind->residency][kind->path];
}

struct gx_device_slots {
    struct gx_instance *instance;
    pthread_mutex_t lock; /* opening and retiring engines */
    _Atomic size_t count;
    struct gx_device_slot
        *slot[GX_DEVICE_SLOTS_MAX]; /* only ever appended to; names are constant */
    struct gx_engine *retired;      /* engines of no slot: lost, or not opened */
};

void gx__slots_init(struct gx_device_slots *slots, struct gx_instance *instance);
/* No job may be under way. */
void gx__slots_close(struct gx_device_slots *slots);

/* The slot of that very name; NULL: there is none yet. Any thread; takes no lock. */
struct gx_device_slot *gx__slot_find(struct gx_device_slots *slots, const char *name);

/* The slot of the device that `name` means, not opened; made where there is none. On failure
 * message says what to do. Any thread; blocks while a driver is asked. */
gx_status gx__slot_get(struct gx_device_slots *slots, const char *name,
                       struct gx_device_slot **slot, char *message, size_t message_size);

/* Its engine, with the caller as a user until gx__engine_release; NULL where there is none
 * that works. Any thread; takes no lock. */
struct gx_engine *gx__slot_enter(struct gx_device_slot *slot);

/* The same for the device that `name` means, opened if it is not yet, or if it was lost. On
 * failure message says what to do. Any thread; blocks while a device is opened. */
gx_status gx__slot_open(struct gx_device_slots *slots, const char *name, struct gx_engine **engine,
                        char *message, size_t message_size);

/* The model of the device that this engine is of, opened if there was no memory for it before;
 * NULL: there still is none, or it is the reference, of which none is kept. Any thread. */
struct gx_model *gx__slot_model(struct gx_device_slots *slots, const struct gx_engine *engine);

#endif
