/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the ticket tests: operands and their results, and a context whose workers can be
 * stopped. No test relies on time passing: a gate stops the worker when it logs that an element is
 * not below the modulus.
 */
#ifndef GX_TESTS_API_TICKETS_H
#define GX_TESTS_API_TICKETS_H

#include <pthread.h>

#include "api/counters.h"
#include "support/harness.h"
#include "support/heap.h"

enum { N = 40, GUARD = 0x5c };

#define BYTES ((size_t)N * 32)

extern const gx_field field;
extern const char *vulkan; /* NULL: there is none */
extern unsigned char in[3][N * 32], sum[N * 32], product[N * 32], bad[N * 32];

/* Fills the above; the setup of the group of tests. */
int prepare(void **state);

/* The devices to test, as far as available. */
size_t devices(const char *names[3]);

/* ---- the gate ---- */

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int closed;  /* threads that arrive wait */
    int arrived; /* so far */
    int passes;  /* how many may pass */
    char last[256];
};

/* The log of a context, with its gate. */
void at_gate(void *user, gx_log_level level, const char *message);
void open_gate(struct gate *gate, int passes);
void await_arrival(struct gate *gate, int arrived);

/* A context whose workers can be stopped, on a checked heap. */
struct rig {
    gx_ctx *ctx;
    struct gate gate;
    struct gxt_heap heap;
    unsigned char spoilt[N * 32];
};

void open_rig(struct rig *rig, uint64_t queue_jobs);
void close_rig(struct rig *rig);

/* ---- jobs ---- */

gx_job add_job(void *out);
gx_ticket *submit(gx_ctx *ctx, const gx_job *jobs, size_t count, const char *device);

/* A ticket that stops the device's worker just before it is done; the caller opens the gate and
 * frees it. */
gx_ticket *stop_worker(struct rig *rig, const char *device);
void finish_stop(struct rig *rig, gx_ticket **ticket);
struct gx_statistics stats_of(gx_ctx *ctx);

#endif
