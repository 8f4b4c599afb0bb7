/* SPDX-License-Identifier: Apache-2.0
 *
 * The router runs the jobs of a call: on the device that is named or has their buffers, or else on
 * the devices it chooses. If a chosen device fails, another one takes over.
 */
#ifndef GX_ROUTE_ROUTE_H
#define GX_ROUTE_ROUTE_H

#include "base/error.h"
#include "compose/compose.h"
#include "route/decide.h"
#include "route/slots.h"

struct gx_workspace;
struct gx_helper;

/* More are freed when they become idle. */
#define GX_IDLE_WORKSPACES 32

struct gx_router {
    struct gx_device_slots slots;
    gx_policy policy; /* default for calls that have none */
    bool named;       /* the configuration names a single device */
    bool host_listed; /* "cpu" is a candidate */
    struct gx_device_slot *_Atomic host;
    _Atomic uint64_t unsearched_ns; /* time of calls that "cpu" did rather than look for devices */
    _Atomic uint64_t search_ns;     /* the most that may be; 0: not known yet */
    struct gx_exploring exploring;
    struct gx_workspace *_Atomic idle_workspace[GX_IDLE_WORKSPACES];

    pthread_mutex_t lock; /* protects the following */
    atomic_bool listed;   /* the candidates are complete, and constant from then on */
    size_t candidates;
    struct gx_device_slot *candidate[GX_CANDIDATES_MAX];
    size_t chips; /* numbers given out, from 1 */
    struct gx_chip chip[GX_CANDIDATES_MAX];
    struct gx_helper *helpers; /* threads that run shards: all, */
    struct gx_helper *idle;    /* and the idle ones */
    size_t helper_count;
};

void gx__router_init(struct gx_router *router, struct gx_instance *instance, gx_policy policy);
/* No job may be running. */
void gx__router_close(struct gx_router *router);

/* Whether the router chooses the devices of a call. Sets *policy to the default if it is 0. */
bool gx__is_routed(const struct gx_router *router, const char *device, gx_policy *policy);

/* gx_route_fn: any thread; blocks. */
gx_status gx__router_run(void *router, struct gx_call *call);

/* The same for a call that leaves no choice: its device is named by the call or the
 * configuration. */
gx_status gx__run_named(struct gx_router *router, struct gx_call *call);

/* Marks and counts the jobs of the call from `first` on as not run, because `job` failed before it
 * began: the call's message says why. */
void gx__fail_before(struct gx_router *router, struct gx_call *call, size_t first, size_t job,
                     gx_status status);

/* Sets the engines of a ticket if there is no choice: a device is named, or each job has all its
 * buffers on one device. Other tickets are routed when they start. On failure call->failed and
 * call->error.text are set. */
gx_status gx__route_ticket(struct gx_router *router, struct gx_call *call, bool routed,
                           struct gx_ticket *ticket);

/* Lists the candidates. The first call looks for devices, and may block. On failure there are none,
 * and message says why. Any thread. */
gx_status gx__router_candidates(struct gx_router *router, struct gx_error *error);

/* False if the engine has no kernel for one of the jobs: message says which. Other failures will
 * show when it runs them. */
bool gx__have_kernels(struct gx_engine *engine, const struct gx_task *jobs, size_t count,
                      struct gx_error *error);

/* The engine of a candidate that has kernels for the jobs, with the caller as a user; or else, if
 * it cannot be used or has no kernel, that of another name of its GPU. As gx__health_enter;
 * GX_ERR_UNSUPPORTED: for lack of a kernel. */
gx_status gx__router_enter(struct gx_router *router, struct gx_device_slot *candidate,
                           const struct gx_task *jobs, size_t count, bool insist,
                           struct gx_engine **engine, struct gx_error *error);
/* The message if the policy requires a GPU and none is usable. */
void gx__router_no_gpu(struct gx_error *error);

/* The engine for a buffer whose device is not named. On success the caller is a user of it. */
gx_status gx__router_buffer_engine(struct gx_router *router, struct gx_engine **engine,
                                   struct gx_error *error);

/* How the router would run the jobs of a call from `first` on, for gx_estimate. */
struct gx_proposal {
    size_t count; /* jobs that are decided together */
    gx_reason reason;
    uint64_t predicted_ns;        /* 0: not known */
    struct gx_engine *engine;     /* the one with the largest share, acquired */
    struct gx_batch batch;        /* its batch */
    struct gx_workspace *ws;      /* holds the batch */
    struct gx_outcome considered; /* candidates of the first job, with predictions */
};
/* On success gx__router_unpropose must follow. */
gx_status gx__router_propose(struct gx_router *router, struct gx_call *call, size_t first,
                             bool routed, struct gx_proposal *proposal);
void gx__router_unpropose(struct gx_proposal *proposal);

/* Runs a batch on an engine without verifying its results, and learns from its time. Returns the
 * time in ns; 0: not timed. */
uint64_t gx__run_on_engine(struct gx_engine *engine, struct gx_batch *batch);
/* gx_run_on_fn, for an engine that is `checked`: like it, but verifies results in host memory as
 * gx_config.sample_every says, and with sample_every 1 also those in buffers. A wrong result is
 * GX_ERR_DEVICE and quarantines the device. Sets the status and reports of the batch, and counts
 * its jobs. */
void gx__run_verified(void *router, struct gx_engine *engine, struct gx_batch *batch);

/* Drops what is known about a registered operation that has no more users. Its jobs still count in
 * gx_counter. */
void gx__router_forget(struct gx_router *router, gx_op op);

/* gx_calibrate, on all usable candidates (calibrate.h). On failure message says why. */
struct gx_calibration;
gx_status gx__router_calibrate(struct gx_router *router, const struct gx_calibration *settings,
                               struct gx_error *error);

#endif
