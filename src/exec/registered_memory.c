/* SPDX-License-Identifier: Apache-2.0
 *
 * One lock for the ranges and all imports: both change rarely, and a look-up is short.
 */
#include "exec/registered_memory.h"

#include <string.h>

#include "base/log.h"
#include "exec/record.h"

void gx__registered_memory_init(struct gx_registered_memory *registered)
{
    pthread_mutex_init(&registered->lock, NULL);
}

void gx__registered_memory_close(struct gx_registered_memory *registered)
{
    pthread_mutex_destroy(&registered->lock);
}

/* ---- ranges ---- */

static bool holds(const struct gx_registered_memory *registered, size_t i, const char *at,
                  size_t bytes)
{
    const char *start = registered->range[i].start;
    return start && at >= start && (size_t)(at - start) <= registered->range[i].bytes &&
           bytes <= registered->range[i].bytes - (size_t)(at - start);
}

bool gx__host_registered(struct gx_registered_memory *registered, const void *memory, size_t bytes)
{
    bool found = false;
    if (!atomic_load_explicit(&registered->count, memory_order_acquire))
        return false;
    pthread_mutex_lock(&registered->lock);
    for (size_t i = 0; i < GX_HOSTS_MAX && !found; i++)
        found = holds(registered, i, memory, bytes);
    pthread_mutex_unlock(&registered->lock);
    return found;
}

static gx_status add_range(struct gx_registered_memory *registered, char *memory, size_t bytes,
                           const char **why)
{
    size_t free = GX_HOSTS_MAX;
    uintptr_t first = (uintptr_t)memory, end = first + bytes;
    for (size_t i = GX_HOSTS_MAX; i-- > 0;) {
        uintptr_t start = (uintptr_t)registered->range[i].start;
        if (!start)
            free = i;
        else if (start < end && first < start + registered->range[i].bytes) {
            *why = "part of it is registered already: unregister that first";
            return GX_ERR_INVALID;
        }
    }
    if (free == GX_HOSTS_MAX) {
        *why = "too many ranges are registered: register fewer, larger ones";
        return GX_ERR_INVALID;
    }
    registered->range[free].start = memory;
    registered->range[free].bytes = bytes;
    atomic_fetch_add(&registered->count, 1);
    return GX_OK;
}

gx_status gx__host_register(struct gx_registered_memory *registered, void *memory, size_t bytes,
                            const char **why)
{
    if (!memory || !bytes || bytes > PTRDIFF_MAX || (uintptr_t)memory > UINTPTR_MAX - bytes) {
        *why = "no memory is like that: it must begin somewhere, not be empty, and end";
        return GX_ERR_INVALID;
    }
    pthread_mutex_lock(&registered->lock);
    gx_status s = add_range(registered, memory, bytes, why);
    pthread_mutex_unlock(&registered->lock);
    return s;
}

static void drop_import(struct gx_imports *imports, size_t i)
{
    struct gx_mem *mem = &imports->mem[i];
    if (mem->size) {
        gx__records_forget(imports->records, mem);
        imports->device->ops->mem_free(imports->device, mem);
    }
    *mem = (struct gx_mem){0};
    imports->tried[i] = false;
}

gx_status gx__host_unregister(struct gx_registered_memory *registered, const void *memory)
{
    gx_status s = GX_ERR_INVALID;
    pthread_mutex_lock(&registered->lock);
    for (size_t i = 0; i < GX_HOSTS_MAX && memory; i++) {
        if (registered->range[i].start != memory)
            continue;
        for (struct gx_imports *e = registered->imports; e; e = e->next)
            drop_import(e, i);
        registered->range[i].start = NULL;
        atomic_fetch_sub(&registered->count, 1);
        s = GX_OK;
    }
    pthread_mutex_unlock(&registered->lock);
    return s;
}

/* ---- imports ---- */

void gx__imports_open(struct gx_imports *imports, struct gx_device *device,
                      struct gx_records *records)
{
    struct gx_registered_memory *registered = device->instance->registered;
    *imports = (struct gx_imports){.device = device, .records = records};
    pthread_mutex_lock(&registered->lock);
    imports->next = registered->imports;
    registered->imports = imports;
    pthread_mutex_unlock(&registered->lock);
}

void gx__imports_close(struct gx_imports *imports)
{
    struct gx_registered_memory *registered = imports->device->instance->registered;
    pthread_mutex_lock(&registered->lock);
    for (size_t i = 0; i < GX_HOSTS_MAX; i++)
        drop_import(imports, i);
    struct gx_imports **at = &registered->imports;
    while (*at != imports)
        at = &(*at)->next;
    *at = imports->next;
    pthread_mutex_unlock(&registered->lock);
}

/* Imports whole pages; other data in them is not touched. */
static void try_import(struct gx_imports *imports, const char *start, size_t bytes, size_t i)
{
    struct gx_device *device = imports->device;
    size_t align = device->facts.import_align;
    uintptr_t first = (uintptr_t)start / align * align;
    size_t whole = ((uintptr_t)start - first + bytes + align - 1) / align * align;
    imports->tried[i] = true;
    gx_status s = whole <= UINTPTR_MAX - first
                      ? device->ops->mem_import(device, (void *)first, whole, &imports->mem[i])
                      : GX_ERR_INVALID;
    if (s == GX_OK)
        return;
    imports->mem[i] = (struct gx_mem){0};
    gx__log(device->instance, GX_LOG_INFO, "%s: registered memory of %zu bytes is staged: %s",
            device->info.name, bytes, gx_status_message(s));
}

bool gx__import_find(struct gx_imports *imports, const void *memory, size_t bytes,
                     struct gx_binding *binding)
{
    struct gx_registered_memory *registered = imports->device->instance->registered;
    const char *at = memory;
    bool found = false;
    if (!atomic_load_explicit(&registered->count, memory_order_acquire) ||
        !imports->device->facts.import_align || !imports->device->ops->mem_import)
        return false;
    pthread_mutex_lock(&registered->lock);
    for (size_t i = 0; i < GX_HOSTS_MAX && !found; i++) {
        const char *start = registered->range[i].start;
        if (!holds(registered, i, at, bytes))
            continue;
        if (!imports->tried[i])
            try_import(imports, start, registered->range[i].bytes, i);
        found = imports->mem[i].size != 0;
        uintptr_t base = (uintptr_t)start - (uintptr_t)start % imports->device->facts.import_align;
        *binding = (struct gx_binding){&imports->mem[i], (size_t)((uintptr_t)at - base)};
    }
    pthread_mutex_unlock(&registered->lock);
    return found;
}
