/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the programs in this folder: options, messages, and the single device that each of them
 * uses, below exec/.
 */
#ifndef BENCH_TOOL_H
#define BENCH_TOOL_H

#include <stdio.h>
#include <stdlib.h>

#include "options.h"
#include "device/device.h"

enum { EXIT_USAGE = 2, EXIT_NO_DEVICE = 3, EXIT_DIFFERS = 4 };

struct tool {
    const char *name;  /* "bench-copies" */
    const char *usage; /* what follows the name */
    option_table options;
    const char *(*check)(void); /* returns what is wrong with the options, or NULL; may be NULL */
};

extern const struct tool tool; /* of the program itself */
extern gx_config config;       /* as the options say */
extern struct gx_device device;

/* Parses the options and opens the named device, or "vulkan". False if there is nothing more to do;
 * *rc is then the exit code. */
bool tool_open(int argc, char **argv, int *rc);

/* Closes the device; device.info stays. */
void tool_close(void);

/* rc, or a failure if the only problem was reported by the validation layer. */
int tool_end(int rc);

/* Submits the command and waits for it; the caller recycles it. */
gx_status tool_finish(struct gx_cmd *cmd);
/* Copies one region after the other. */
gx_status tool_copy(const struct gx_region *regions, size_t count);
/* Copies device memory to `to`, through `readback`. */
gx_status tool_read(struct gx_binding from, size_t bytes, struct gx_mem *readback, void *to);
/* Frees it if it was allocated. */
void tool_free(struct gx_mem *mem);

/* Prints what failed; returns EXIT_FAILURE. */
static inline int failed(const char *what, gx_status s)
{
    fprintf(stderr, "%s: %s: %s\n", tool.name, what, gx_status_message(s));
    return EXIT_FAILURE;
}

#endif
