/* SPDX-License-Identifier: Apache-2.0
 *
 * What the suites of operations share: the devices, tiers, paths and ways to cut a job that each
 * operation is tried on.
 */
#ifndef GX_TESTS_CONFORMANCE_TARGETS_H
#define GX_TESTS_CONFORMANCE_TARGETS_H

#include "support/harness.h"

enum { TARGETS_MAX = 64 };

struct target {
    gx_ctx *ctx;
    char device[48];
    const char *mask, *path;
    uint64_t elems; /* of one dispatch */
    size_t most;    /* elements of a job that take reasonable time */
    uint32_t threads;
    gx_path expected;
    int slow; /* every job costs much: fewer of them */
};

extern struct target targets[TARGETS_MAX];
extern size_t target_count;
/* The program was asked for these devices alone; else for all but WebGPU's. */
extern int webgpu_alone, cuda_alone;
/* By its argument: "webgpu", "cuda" or none. */
void choose_targets(int argc, char **argv);

struct target *add_target(const char *device, const char *mask, const char *path, uint64_t elems,
                          size_t most);

/* The last test, because closing is checked too. */
void no_driver_complained(void **state);

/* What went wrong where; the line goes on with the job. */
void tell_target(const struct target *t, const char *what);
/* An element, highest byte first. */
void print_element(const char *what, const unsigned char *element, size_t bytes);

#endif
