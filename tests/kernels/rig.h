/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the kernel tests: the tables under test, and one call of one kernel with every operand
 * in memory fenced by unreadable pages, compared with the oracle.
 */
#ifndef GX_TESTS_KERNELS_RIG_H
#define GX_TESTS_KERNELS_RIG_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "field/host.h"

/* ---- what is tested ------------------------------------------------------------- */

/* One table: the reference, or portable overwritten by one tier. */
struct subject {
    const char *name;
    bool available; /* this CPU has the tier */
    bool slow;      /* the reference: fewer and smaller cases */
    enum gx_tier tier;
    struct gx_host_table table;
};

#define SUBJECTS (GX_TIERS + 1) /* the tiers in order, then the reference */

struct kernel_info {
    const char *name;
    gx_op op; /* the public operation it must agree with; 0 for GX_HOST_CHECK */
    unsigned operands;
};

extern const struct kernel_info rig_kernels[GX_HOST_KERNELS];
extern const struct subject *rig_subject(unsigned which);

/* The subject's own kernel, or NULL if it has none and portable's is used. */
gx_host_fn rig_kernel(const struct subject *subject, gx_field field, enum gx_host_kernel kernel);

/* ---- one call ------------------------------------------------------------------- */

enum place {
    PLACE_END,  /* every array ends where an unreadable page begins */
    PLACE_BEGIN /* every array begins `skew` bytes after an unreadable page */
};

#define RIG_N_MAX (3 * GX_INV_BATCH + 5)

/* All zero but for the first four members is a plain call. */
struct trial {
    const struct subject *subject;
    gx_field field;
    enum gx_host_kernel kernel;
    size_t n;           /* at most RIG_N_MAX */
    unsigned broadcast; /* GX_BROADCAST_* */
    unsigned same;      /* operands, as GX_BROADCAST_* bits, that are out's memory */
    bool unchecked, stream;
    enum place place;
    size_t skew[4]; /* a, b, c, out: 0 to 63 */
};

/* Places and fills the operands. One trial is loaded at a time. */
void rig_load(const struct trial *trial);

/* Element i of operand k (0: a) of the loaded trial, to be overwritten. */
void *rig_element(unsigned k, size_t i);

/* Calls the kernel. Fails the test if it wrote to an input or outside out. */
size_t rig_call(void);

/* Fails the test unless out is what the oracle says. After rig_call. */
void rig_compare(void);

/* rig_load, rig_call, which must find nothing bad, rig_compare. */
void rig_run(const struct trial *trial);

#endif
