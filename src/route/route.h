/* SPDX-License-Identifier: Apache-2.0
 *
 * The router: who does the jobs of a call that name no device, one or several together, and
 * what happens when one of these fails.
 */
#ifndef GX_ROUTE_ROUTE_H
#define GX_ROUTE_ROUTE_H

#include "route/decide.h"
#include "route/slots.h"

struct gx_workspace;
struct gx_helper;

struct gx_router {
    struct gx_device_slots slots;
    gx_policy policy; /* where a call asks for none */
    bool named;       /* one device is configured, and it is not for us to choose */
    bool host_listed; /* "cpu" is one to choose */
    struct gx_device_slot *_Atomic host;
    struct gx_exploring exploring;
    struct gx_workspace *_Atomic warm; /* the workspace that was used last, where it is idle */

    pthread_mutex_t lock; /* the rest: */
    atomic_bool listed;   /* these two are complete, and constant */
    size_t candidates;
    struct gx_device_slot *candidate[GX_CANDIDATES_MAX];
    struct gx_workspace *workspaces; /* other idle ones */
    struct gx_helper *helpers;       /* all, */
    struct gx_helper *idle;          /* and those with nothing to do */
    size_t helper_count;
};

void gx__router_init(struct gx_router *router, struct gx_instance *instance, gx_policy policy);
/* No job may be under way. */
void gx__router_close(struct gx_router *router);

/* Whether devices are chosen for the jobs of a call, and how. */
bool gx__is_routed(const struct gx_router *router, const char *device, gx_policy *policy);

/* gx_route_fn: any thread; blocks. */
gx_status gx__router_run(void *router, struct gx_call *call);

/* The same for a call whose device is named by it or by the configuration. */
gx_status gx__run_named(struct gx_router *router, struct gx_call *call);

/* The engines of a ticket for the jobs of the call, where there is nothing to choose: all are
 * named, or each job has buffers, and all of them on one device; else it is routed when its turn
 * comes. On failure the call says which job's device cannot be used, and why. */
gx_status gx__route_ticket(struct gx_router *router, struct gx_call *call, bool routed,
                           struct gx_ticket *ticket);

/* Those to choose from, which are found by the first who asks. On failure message says why.
 * Any thread; blocks then. */
gx_status gx__router_candidates(struct gx_router *router, struct gx_device_slot *const **candidates,
                                size_t *count, char *message, size_t message_size);

/* What to say where only a GPU will do and none of them is one that works. */
void gx__router_no_gpu(char *message, size_t message_size);

/* The engine for a buffer of no named device, with the caller as a user. */
gx_status gx__router_buffer_engine(struct gx_router *router, struct gx_engine **engine,
                                   char *message, size_t message_size);

/* What would become of the jobs of a call from `first` on. */
struct gx_proposal {
    size_t count; /* of the jobs that are decided together */
    gx_reason reason;
    uint64_t predicted_ns;        /* 0: not known */
    struct gx_engine *engine;     /* that has most of them, acquired ... */
    struct gx_batch batch;        /* ... and what it would get */
    struct gx_workspace *ws;      /* that this is written on */
    struct gx_outcome considered; /* who was, for the first of the jobs, and what was predicted */
};
/* On success gx__router_unpropose has to follow. */
gx_status gx__router_propose(struct gx_router *router, struct gx_call *call, size_t first,
                             bool routed, struct gx_proposal *proposal);
void gx__router_unpropose(struct gx_router *router, struct gx_proposal *proposal);

/* gx_run_on_fn. A batch on an engine that was named, or has the buffers of its jobs: runs it,
 * learns from what it took, and compares its results where the caller has asked for that. */
void gx__router_run_on_engine(void *router, struct gx_engine *engine, struct gx_batch *batch);

/* gx_calibrate, over all that may be chosen and work. On failure message says why. */
gx_status gx__router_calibrate(struct gx_router *router, const gx_calibration *settings,
                               char *message, size_t message_size);

#endif
