/* SPDX-License-Identifier: Apache-2.0
 *
 * How a job will run on a device, decided before anything is touched: a pure function
 * of the job, the facts of the device and what the caller asked for.
 */
#ifndef GX_EXEC_PLAN_H
#define GX_EXEC_PLAN_H

#include "device/device.h"

/* Operands of a job, in the order of enum gx_bind. */
enum { GX_OUT, GX_A, GX_B, GX_C, GX_OPERANDS };

/* Dispatches of one submit, each with its own slot for a bad index. */
#define GX_DISPATCHES_PER_SUBMIT 64u

/* Elements of a staged round where nothing limits it further. */
#define GX_ROUND_ELEMS ((uint64_t)1 << 22)

struct gx_plan {
    gx_path path;
    bool used[GX_OPERANDS];
    bool staged[GX_OPERANDS];   /* goes through staging memory; else used where it is */
    size_t offset[GX_OPERANDS]; /* where its part of a round lies in staging memory */
    size_t bytes[GX_OPERANDS];  /* size of that part */
    size_t in_bytes, all_bytes; /* staging memory: inputs alone; with the output */
    uint64_t step;              /* elements of one dispatch */
    uint64_t round;             /* elements of one submit */
    bool check;                 /* look for elements not below the modulus ... */
    bool check_first;           /* ... in a pass before, as the output replaces an operand */
};

const gx_operand *gx__operand(const gx_job *job, int which);

/* path: as asked for, GX_PATH_AUTO where not. The job is valid and n is not 0. */
void gx__plan(const gx_job *job, const struct gx_device_facts *facts, gx_path path,
              struct gx_plan *plan);

#endif
