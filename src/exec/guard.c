/* SPDX-License-Identifier: Apache-2.0
 *
 * See guard.h. Memory that the host can reach is written and read there. Of other memory the
 * device copies the guard, through memory that is allocated for it: slow, but on any device, and it
 * uses nothing that could itself be overrun. If that fails, the memory is not guarded this time:
 * the work itself will report what is wrong with the device.
 *
 * AddressSanitizer is told as well, about all bytes up to the end of the allocation, and so finds
 * what reads or jumps past the guard too, where it happens. It sees what our own code does, and not
 * what kernels of a GPU do.
 */
#include "exec/guard.h"

#ifdef GX_GUARDS

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/asan.h"

#define PATTERN 0xd5
/* A guard takes what there is, up to this, so that some is left if more memory is used later. */
#define GUARD_MOST 16384u
/* What must be left of it. */
#define GUARD_LEAST (GX_GUARD_BYTES - GX_COPY_ALIGN_MAX)
/* A copy of so few bytes takes no longer on a device that works. */
#define WAIT_NS 10000000000u

/* Copies may extend to the next multiple of the device's alignment. */
static size_t guard_at(size_t bytes)
{
    return (bytes + GX_COPY_ALIGN_MAX - 1) / GX_COPY_ALIGN_MAX * GX_COPY_ALIGN_MAX;
}

static size_t guard_end(const struct gx_mem *mem, size_t at)
{
    size_t left = mem->size - at;
    return at + (left < GUARD_MOST ? left / GX_COPY_ALIGN_MAX * GX_COPY_ALIGN_MAX : GUARD_MOST);
}

/* ---- access ---- */

/* Bytes from .. to of memory. */
struct range {
    struct gx_mem *mem;
    size_t from, to;
};

/* What is done with them: fills them, or looks for another byte. */
typedef void (*reach_fn)(uint8_t *bytes, size_t count, size_t *bad);

static void fill(uint8_t *bytes, size_t count, size_t *bad)
{
    (void)bad;
    memset(bytes, PATTERN, count);
}

static void search(uint8_t *bytes, size_t count, size_t *bad)
{
    for (*bad = 0; *bad < count && bytes[*bad] == PATTERN; ++*bad)
        ;
}

static bool by_host(struct gx_device *device, struct range r, reach_fn fn, size_t *bad)
{
    void *host;
    if (!device->ops->map || device->ops->map(device, r.mem, &host) != GX_OK)
        return false;
    fn((uint8_t *)host + r.from, r.to - r.from, bad);
    device->ops->unmap(device, r.mem);
    return true;
}

static bool copy(struct gx_device *device, struct range from, struct range to)
{
    const struct gx_region region = {
        .from = {from.mem, from.from}, .to = {to.mem, to.from}, .size = from.to - from.from};
    struct gx_fence done;
    struct gx_cmd *cmd;
    if (device->ops->begin(device, GX_QUEUE_COMPUTE, &cmd) != GX_OK)
        return false;
    device->ops->barrier(cmd, GX_BARRIER_KERNEL_TO_COPY);
    device->ops->copy(cmd, &region, 1);
    device->ops->barrier(cmd, GX_BARRIER_TO_HOST);
    bool copied = device->ops->submit(cmd, NULL, 0, &done) == GX_OK &&
                  device->ops->wait(device, done, WAIT_NS) == GX_OK;
    device->ops->recycle(cmd);
    return copied;
}

static bool by_device(struct gx_device *device, struct range r, reach_fn fn, size_t *bad)
{
    const bool read = fn == search;
    struct gx_mem staging;
    struct range staged = {&staging, 0, r.to - r.from};
    if (!device->ops->begin ||
        device->ops->mem_alloc(device, read ? GX_MEM_READBACK : GX_MEM_UPLOAD, staged.to,
                               &staging) != GX_OK)
        return false;
    bool done = read ? copy(device, r, staged) && by_host(device, staged, fn, bad)
                     : by_host(device, staged, fn, bad) && copy(device, staged, r);
    device->ops->mem_free(device, &staging);
    return done;
}

/* Without a permanent address the host reads what it may write, but does not write what it may
 * read, and does not see device memory. */
static bool reach(struct gx_device *device, struct range r, reach_fn fn, size_t *bad)
{
    enum gx_mem_kind kind = r.mem->kind;
    device = device->guards ? device->guards : device;
    bool mappable = r.mem->host || kind == GX_MEM_UPLOAD || kind == GX_MEM_SHARED ||
                    (kind == GX_MEM_READBACK && fn == search);
    return mappable ? by_host(device, r, fn, bad) : by_device(device, r, fn, bad);
}

/* ---- guards ---- */

static void say_last_use(const struct gx_mem *mem)
{
    const gx_op_info *op = gx_op_get_info(mem->used_op);
    const gx_field_info *field = gx_field_get_info(mem->used_field);
    if (mem->used_op)
        fprintf(stderr, "gpuexec: last used by %s (operation %u) of %llu elements of %s\n",
                op ? op->name : "part of a job", (unsigned)mem->used_op,
                (unsigned long long)mem->used_n, field ? field->name : "any field");
}

static void fail(const struct gx_device *device, const struct gx_mem *mem, size_t at)
{
    static const char *const kinds[GX_MEM_KINDS] = {"device", "upload", "readback", "shared"};
    fprintf(stderr,
            "gpuexec: device '%s': work wrote past the end of %s memory: %zu bytes were asked for, "
            "and byte %zu was changed\n",
            device->info.name, kinds[mem->kind], mem->asked, at);
    say_last_use(mem);
    abort();
}

/* Of memory with a permanent address, everything behind the first bytes. */
static void forbid_rest(const struct gx_mem *mem, size_t from)
{
    if (mem->host)
        gx__forbid((char *)mem->host + from, mem->size - from);
}

static void permit_rest(const struct gx_mem *mem, size_t from)
{
    if (mem->host)
        gx__permit((char *)mem->host + from, mem->size - from);
}

void gx__guard_set(struct gx_device *device, struct gx_mem *mem, size_t bytes)
{
    size_t at = guard_at(bytes), bad;
    mem->used_op = 0;
    mem->guard = guard_end(mem, at);
    mem->asked = reach(device, (struct range){mem, at, mem->guard}, fill, &bad) ? bytes : 0;
    if (mem->asked)
        forbid_rest(mem, at);
}

bool gx__guard_grow(struct gx_mem *mem, size_t bytes)
{
    if (!mem || !mem->asked || bytes <= mem->asked)
        return true;
    if (guard_at(bytes) + GUARD_LEAST > mem->guard)
        return false;
    permit_rest(mem, guard_at(mem->asked));
    mem->asked = bytes;
    forbid_rest(mem, guard_at(bytes));
    return true;
}

void gx__guard_check(struct gx_device *device, struct gx_mem *mem)
{
    const struct range guard = {mem, guard_at(mem->asked), mem->guard};
    size_t bad;
    if (!mem->asked)
        return;
    permit_rest(mem, guard.from);
    if (reach(device, guard, search, &bad) && bad < guard.to - guard.from)
        fail(device, mem, guard.from + bad);
    mem->asked = 0;
}

#endif
