/* SPDX-License-Identifier: Apache-2.0
 *
 * A fictitious machine described in a text file, from which the sim device derives its timing.
 * doc/sim.md describes the format.
 */
#ifndef GX_DEVICE_TEST_MACHINE_H
#define GX_DEVICE_TEST_MACHINE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/instance.h"

/* X(symbol, key in the file, unit, default, least) */
#define GX_MACHINE_LIST(X)                                                                         \
    X(QUEUES, "queues", COUNT, 1, 1)                                                               \
    X(MEMORY, "memory", COUNT, (uint64_t)4 << 30, 1)                                               \
    X(DISPATCH_ELEMS, "dispatch_elems", COUNT, (uint64_t)1 << 26, 1)                               \
    X(IMPORT_ALIGN, "import_align", COUNT, 0, 0)                                                   \
    X(CHIP, "chip", COUNT, 0, 0)                                                                   \
    X(HOST_THREADS, "host_threads", COUNT, 1, 1)                                                   \
    X(RECORD, "record_us", TIME, 0, 0)                                                             \
    X(SUBMIT, "submit_us", TIME, 0, 0)                                                             \
    X(START, "start_us", TIME, 10000, 0)                                                           \
    X(LAUNCH, "launch_us", TIME, 1000, 0)                                                          \
    X(COPY, "copy_us", TIME, 0, 0)                                                                 \
    X(UPLOAD, "upload_gb_s", RATE, 10000, 1)                                                       \
    X(DOWNLOAD, "download_gb_s", RATE, 10000, 1)                                                   \
    X(BOTH, "both_gb_s", RATE, 0, 1)                                                               \
    X(SHARED, "shared_gb_s", RATE, 10000, 1)                                                       \
    X(KERNEL, "kernel_gb_s", RATE, 100000, 1)                                                      \
    X(MUL, "mul_g_s", RATE, 10000, 1)                                                              \
    X(MUL4, "mul4_g_s", RATE, 0, 1)                                                                \
    X(HOST_IN, "host_in_gb_s", RATE, 5000, 1)                                                      \
    X(HOST_OUT, "host_out_gb_s", RATE, 5000, 1)

enum gx_machine_key {
#define X(symbol, key, unit, standard, least) GX_MACHINE_##symbol,
    GX_MACHINE_LIST(X)
#undef X
        GX_MACHINE_KEYS
};

/* Integers, so that simulated time is exact: bytes and counts as they are, times in ns, rates in
 * thousandths of the key's unit, which is bytes or elements per us. */
struct gx_machine_values {
    uint64_t of[GX_MACHINE_KEYS];
};

#define GX_MACHINE_CHANGES 32

struct gx_machine {
    char name[96];
    struct gx_machine_values start;
    size_t changes;
    struct {
        uint64_t at; /* ns; ascending */
        enum gx_machine_key key;
        uint64_t value;
    } change[GX_MACHINE_CHANGES];
};

/* file: its name in messages. On failure message gives the line and what is expected. */
gx_status gx__machine_parse(struct gx_machine *machine, const char *text, size_t size,
                            const char *file, struct gx_error *error);
gx_status gx__machine_read(struct gx_machine *machine, const char *path, struct gx_error *error);

/* The values in effect at a time. */
struct gx_machine_values gx__machine_at(const struct gx_machine *machine, uint64_t ns);

#endif
