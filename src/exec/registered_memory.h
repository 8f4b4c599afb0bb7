/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory that the caller registered, and its imports by each engine: made when a job first
 * uses the memory, and not tried again if that failed.
 */
#ifndef GX_EXEC_REGISTERED_MEMORY_H
#define GX_EXEC_REGISTERED_MEMORY_H

#include <pthread.h>

#include "device/device.h"

#define GX_HOSTS_MAX 64

struct gx_records;

/* Of one engine; indices as in gx_registered_memory.range. */
struct gx_imports {
    struct gx_imports *next;
    struct gx_device *device;
    struct gx_records *records;
    bool tried[GX_HOSTS_MAX];
    struct gx_mem mem[GX_HOSTS_MAX]; /* size 0: not imported */
};

/* Of a context. */
struct gx_registered_memory {
    pthread_mutex_t lock;
    _Atomic size_t count;
    struct {
        char *start; /* NULL: free */
        size_t bytes;
    } range[GX_HOSTS_MAX];
    struct gx_imports *imports; /* of all engines */
};

void gx__registered_memory_init(struct gx_registered_memory *registered);
void gx__registered_memory_close(struct gx_registered_memory *registered);

/* GX_ERR_INVALID for a range that overlaps another, that cannot exist (more than PTRDIFF_MAX bytes,
 * or past the end of the address space), or that is one too many; *why says which. */
gx_status gx__host_register(struct gx_registered_memory *registered, void *memory, size_t bytes,
                            const char **why);
/* GX_ERR_INVALID if no range begins there. */
gx_status gx__host_unregister(struct gx_registered_memory *registered, const void *memory);

/* Whether all of these bytes are registered. */
bool gx__host_registered(struct gx_registered_memory *registered, const void *memory, size_t bytes);

void gx__imports_open(struct gx_imports *imports, struct gx_device *device,
                      struct gx_records *records);
void gx__imports_close(struct gx_imports *imports);

/* The imported memory that holds all of these bytes, and where; false: none does, or the
 * device cannot use it. */
bool gx__import_find(struct gx_imports *imports, const void *memory, size_t bytes,
                     struct gx_binding *binding);

#endif
