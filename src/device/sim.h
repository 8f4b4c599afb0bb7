/* SPDX-License-Identifier: Apache-2.0
 *
 * The virtual clock of a sim device: when each piece of work begins and ends on a machine
 * that a file describes. Integer nanoseconds, no state but this struct, nothing measured:
 * the same calls in the same order give the same times.
 */
#ifndef GX_DEVICE_SIM_H
#define GX_DEVICE_SIM_H

#include "device/device.h"
#include "device/machine.h"

/* One thing of a command, in order. */
struct gx_sim_work {
    enum { GX_SIM_STAMP, GX_SIM_COPY, GX_SIM_KERNEL } kind;
    uint32_t slot;                         /* STAMP */
    uint64_t local_bytes, shared_bytes;    /* KERNEL, and a COPY that crosses no link: traffic */
    uint64_t upload_bytes, download_bytes; /* COPY: over the link */
    uint64_t products[2];                  /* KERNEL: of 6 limbs, of 4 limbs */
};

#define GX_SIM_QUEUES (GX_QUEUE_HOST_OUT + 1)

/* Copies that one direction of the link is taken by; more wait for the oldest to end. */
#define GX_SIM_SPANS 128

struct gx_sim_link {
    size_t count;
    struct {
        uint64_t start, end;
    } span[GX_SIM_SPANS]; /* neither empty nor overlapping; by start */
};

struct gx_sim_clock {
    struct gx_machine machine;
    uint64_t now;
    uint64_t free[GX_SIM_QUEUES]; /* when the last work of each queue ends */
    struct gx_sim_link link[2];   /* up, down */
};

/* When the work of one command begins, and when it ends, which also is the value of its
 * point; the stamps in it go to `stamps`. */
struct gx_times gx__sim_submit(struct gx_sim_clock *clock, enum gx_queue queue,
                               const struct gx_point *waits, size_t wait_count,
                               const struct gx_sim_work *work, size_t work_count, uint64_t *stamps);

/* The same for copying by host threads. */
struct gx_times gx__sim_host_copy(struct gx_sim_clock *clock, enum gx_queue queue,
                                  const struct gx_point *waits, size_t wait_count, uint64_t bytes);

/* Moves to the point, or by timeout_ns and false. */
bool gx__sim_wait(struct gx_sim_clock *clock, uint64_t point, uint64_t timeout_ns);

/* ---- sim_access.c ---- */

struct gx_sim_range {
    uintptr_t from, to;
    bool write;
};

/* More at once are not looked at. */
#define GX_SIM_ACCESSES 4096

struct gx_sim_accesses {
    size_t count;
    struct gx_sim_access {
        struct gx_sim_range range;
        enum gx_queue queue;
        uint64_t start, end;
    } access[GX_SIM_ACCESSES];
};

/* Work that uses these ranges from start to end. False and a message where other work does
 * at the same time, and one of them writes. */
bool gx__sim_use(struct gx_sim_accesses *log, enum gx_queue queue, uint64_t now, uint64_t start,
                 uint64_t end, const struct gx_sim_range *ranges, size_t count, char *message,
                 size_t message_size);

#endif
