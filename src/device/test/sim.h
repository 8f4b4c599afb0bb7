/* SPDX-License-Identifier: Apache-2.0
 *
 * The virtual clock of a sim device: when each piece of work begins and ends on the machine
 * described in a file. Integer nanoseconds, no state outside this struct, nothing measured: the
 * same calls in the same order give the same times.
 */
#ifndef GX_DEVICE_TEST_SIM_H
#define GX_DEVICE_TEST_SIM_H

#include "base/error.h"
#include "device/device.h"
#include "device/test/machine.h"

/* One item of a command, in order. */
struct gx_sim_work {
    enum { GX_SIM_STAMP, GX_SIM_COPY, GX_SIM_KERNEL } kind;
    uint32_t stamp;                     /* STAMP */
    uint64_t local_bytes, shared_bytes; /* KERNEL, and a COPY that does not cross a link: traffic */
    uint64_t upload_bytes, download_bytes; /* COPY: over the link */
    uint64_t products[2];                  /* KERNEL: of 6 limbs, of 4 limbs */
};

#define GX_SIM_QUEUES (GX_QUEUE_HOST_OUT + 1)

/* Maximum number of recorded copies per link direction; further ones wait for the oldest to end. */
#define GX_SIM_SPANS 128

struct gx_sim_link {
    size_t count;
    struct {
        uint64_t start, end;
    } span[GX_SIM_SPANS]; /* neither empty nor overlapping; sorted by start */
};

struct gx_sim_clock {
    struct gx_machine machine;
    uint64_t now;
    uint64_t free[GX_SIM_QUEUES]; /* end of the last work on each queue */
    struct gx_sim_link link[2];   /* up, down */
};

/* The host records a command. */
void gx__sim_record(struct gx_sim_clock *clock);

/* Start and end of one command's work; the end is also the value of its fence. Its stamps go to
 * `stamps`. */
struct gx_times gx__sim_submit(struct gx_sim_clock *clock, enum gx_queue queue,
                               const struct gx_fence *waits, size_t wait_count,
                               const struct gx_sim_work *work, size_t work_count, uint64_t *stamps);

/* The same for copies by host threads. */
struct gx_times gx__sim_host_copy(struct gx_sim_clock *clock, enum gx_queue queue,
                                  const struct gx_fence *waits, size_t wait_count, uint64_t bytes);

/* Advances to the fence and returns true, or by timeout_ns and returns false. */
bool gx__sim_wait(struct gx_sim_clock *clock, uint64_t fence, uint64_t timeout_ns);

/* ---- sim_access.c ---- */

struct gx_sim_range {
    uintptr_t from, to;
    bool write;
    size_t row, stride; /* only rows of so many bytes, this far apart; 0: all of it */
};

/* More concurrent accesses are not checked. */
#define GX_SIM_ACCESSES 4096

struct gx_sim_accesses {
    size_t count;
    struct gx_sim_access {
        struct gx_sim_range range;
        enum gx_queue queue;
        uint64_t start, end;
    } access[GX_SIM_ACCESSES];
};

/* Records work that uses these ranges from start to end. False, with a message, if other work uses
 * them at the same time and one of the two writes. */
bool gx__sim_use(struct gx_sim_accesses *log, enum gx_queue queue, uint64_t now, uint64_t start,
                 uint64_t end, const struct gx_sim_range *ranges, size_t count,
                 struct gx_error *error);

#endif
