/* SPDX-License-Identifier: Apache-2.0
 *
 * A device that wraps another one and injects faults, to test that nothing is lost:
 *   fault:fail@N:DEVICE     the Nth call fails, once
 *   fault:oom@N:DEVICE      the Nth call that needs memory runs out of it, once
 *   fault:lose@N:DEVICE     the device is lost at the Nth call and stays lost
 *   fault:hang@N:DEVICE     the Nth wait times out, once; a wait without a timeout does not hang
 *   fault:corrupt@N:DEVICE  the Nth submit that writes results flips one bit of them
 *   fault:zero@N:GPU        from the Nth such submit on, the results of its last dispatch are
 *                           0, which for sums of points are points of the curve
 * Calls that can fail are counted, from 1 since the device was opened, including reopening after a
 * loss.
 */
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "op/msm.h"

enum mode { FAIL, OOM, LOSE, HANG, CORRUPT, ZERO, MODES };
static const char *const mode_names[MODES] = {"fail", "oom", "lose", "hang", "corrupt", "zero"};

struct fault {
    struct gx_device inner;
    struct gx_device_ops ops;
    enum mode mode;
    uint64_t at;
    _Atomic uint64_t calls;
    atomic_bool lost;
};

struct fault_cmd {
    struct gx_cmd base;
    struct gx_cmd *inner;
    struct gx_binding result; /* of the last dispatch that writes results */
    struct gx_binding out;    /* the same, or their last copy */
    size_t out_bytes;
};

/* By its functions: impl is the inner device's, for those that are not replaced. */
static struct fault *fault_of(const struct gx_device *device)
{
    return (struct fault *)((char *)device->ops - offsetof(struct fault, ops));
}

/* Every call that can fail asks here first. */
static gx_status call(struct gx_device *device, bool needs_memory)
{
    struct fault *f = fault_of(device);
    if (atomic_load(&f->lost))
        return GX_ERR_DEVICE_LOST;
    if (f->mode >= HANG || (f->mode == OOM && !needs_memory))
        return GX_OK;
    if (atomic_fetch_add(&f->calls, 1) + 1 != f->at)
        return GX_OK;
    if (f->mode == LOSE)
        atomic_store(&f->lost, true);
    return f->mode == LOSE  ? GX_ERR_DEVICE_LOST
           : f->mode == OOM ? GX_ERR_OUT_OF_DEVICE_MEMORY
                            : GX_ERR_DEVICE;
}

static void fault_close(struct gx_device *device)
{
    struct fault *f = fault_of(device);
    gx__device_close(&f->inner);
    gx__free(&device->instance->config.allocator, f);
}

static gx_status fault_mem_alloc(struct gx_device *device, enum gx_mem_kind kind, size_t bytes,
                                 struct gx_mem *mem)
{
    struct gx_device *inner = &fault_of(device)->inner;
    gx_status s = call(device, true);
    return s == GX_OK ? inner->ops->mem_alloc(inner, kind, bytes, mem) : s;
}

static gx_status fault_mem_import(struct gx_device *device, void *host, size_t bytes,
                                  struct gx_mem *mem)
{
    struct gx_device *inner = &fault_of(device)->inner;
    gx_status s = call(device, true);
    return s == GX_OK ? inner->ops->mem_import(inner, host, bytes, mem) : s;
}

static gx_status fault_mem_wrap(struct gx_device *device, uint64_t address, size_t bytes,
                                struct gx_mem *mem, struct gx_error *error)
{
    struct gx_device *inner = &fault_of(device)->inner;
    gx_status s = call(device, false);
    return s == GX_OK ? inner->ops->mem_wrap(inner, address, bytes, mem, error) : s;
}

static gx_status fault_await(struct gx_device *device, void *stream, void *event,
                             struct gx_error *error)
{
    struct gx_device *inner = &fault_of(device)->inner;
    gx_status s = call(device, false);
    return s == GX_OK ? inner->ops->await(inner, stream, event, error) : s;
}

static gx_status fault_map(struct gx_device *device, struct gx_mem *mem, void **host)
{
    struct gx_device *inner = &fault_of(device)->inner;
    gx_status s = call(device, false);
    return s == GX_OK ? inner->ops->map(inner, mem, host) : s;
}

static gx_status fault_kernel(struct gx_device *device, const struct gx_kernel_key *key,
                              struct gx_kernel *kernel)
{
    struct gx_device *inner = &fault_of(device)->inner;
    gx_status s = call(device, true);
    return s == GX_OK ? inner->ops->kernel(inner, key, kernel) : s;
}

/* A submit and the wait for it. */
static gx_status fault_run(struct gx_device *device, struct gx_host_call *c)
{
    struct fault *f = fault_of(device);
    unsigned char *out = c->operand[GX_OUT];
    gx_status s = call(device, true);
    if (s == GX_OK)
        s = f->inner.ops->run(&f->inner, c);
    bool counts = f->mode == HANG || (f->mode == CORRUPT && out);
    if (s != GX_OK || !counts || atomic_fetch_add(&f->calls, 1) + 1 != f->at)
        return s;
    if (f->mode == CORRUPT)
        out[0] ^= 1;
    return f->mode == HANG ? GX_ERR_TIMEOUT : GX_OK;
}

static gx_status fault_begin(struct gx_device *device, enum gx_queue queue, struct gx_cmd **out)
{
    struct gx_device *inner = &fault_of(device)->inner;
    gx_status s = call(device, true);
    if (s != GX_OK)
        return s;
    struct fault_cmd *cmd = gx__alloc(&device->instance->config.allocator, sizeof *cmd);
    if (!cmd)
        return GX_ERR_OUT_OF_MEMORY;
    cmd->base.device = device;
    s = inner->ops->begin(inner, queue, &cmd->inner);
    if (s != GX_OK)
        gx__free(&device->instance->config.allocator, cmd);
    else
        *out = &cmd->base;
    return s;
}

static void fault_recycle(struct gx_cmd *base)
{
    struct fault_cmd *cmd = (struct fault_cmd *)base;
    cmd->inner->device->ops->recycle(cmd->inner);
    gx__free(&base->device->instance->config.allocator, cmd);
}

/* If results are copied on, the copy is what counts. */
static void follow(struct fault_cmd *cmd, const struct gx_region *copy)
{
    if (cmd->out.mem != copy->from.mem || cmd->out.offset < copy->from.offset ||
        cmd->out.offset - copy->from.offset >= copy->size) /* of the first row */
        return;
    size_t skipped = cmd->out.offset - copy->from.offset, copied = copy->size - skipped;
    cmd->out = (struct gx_binding){copy->to.mem, copy->to.offset + skipped};
    cmd->out_bytes = copied < cmd->out_bytes ? copied : cmd->out_bytes;
}

static size_t result_bytes(const struct gx_dispatch *d)
{
    const struct gx_kernel_key *key = &d->kernel.key;
    if (key->op != GX_OP_MSM_SUMS)
        return (gx__op_one_result(key->op) ? 1 : d->n) *
               gx__op_element(key->op, key->field, GX_OUT);
    const struct gx_msm_sums sums = gx__sums_of_key(key->param);
    return gx__sums_element(&sums, d->n, GX_OUT);
}

static void fault_copy(struct gx_cmd *base, const struct gx_region *regions, size_t count)
{
    struct fault_cmd *cmd = (struct fault_cmd *)base;
    for (size_t i = 0; i < count; i++)
        follow(cmd, &regions[i]);
    cmd->inner->device->ops->copy(cmd->inner, regions, count);
}

static void fault_dispatch(struct gx_cmd *base, const struct gx_dispatch *dispatch)
{
    struct fault_cmd *cmd = (struct fault_cmd *)base;
    if (dispatch->bind[GX_BIND_OUT].mem) {
        cmd->result = cmd->out = dispatch->bind[GX_BIND_OUT];
        cmd->out_bytes = result_bytes(dispatch);
    }
    cmd->inner->device->ops->dispatch(cmd->inner, dispatch);
}

static void fault_barrier(struct gx_cmd *base, enum gx_barrier barrier)
{
    struct fault_cmd *cmd = (struct fault_cmd *)base;
    cmd->inner->device->ops->barrier(cmd->inner, barrier);
}

static void fault_stamp(struct gx_cmd *base, uint32_t index)
{
    struct fault_cmd *cmd = (struct fault_cmd *)base;
    cmd->inner->device->ops->stamp(cmd->inner, index);
}

static gx_status fault_stamps(struct gx_cmd *base, uint64_t *ns, uint32_t count)
{
    struct fault_cmd *cmd = (struct fault_cmd *)base;
    gx_status s = call(base->device, false);
    return s == GX_OK ? cmd->inner->device->ops->stamps(cmd->inner, ns, count) : s;
}

static gx_status alloc_bytes(struct gx_device *inner, enum gx_mem_kind kind, size_t bytes,
                             struct gx_mem *mem)
{
    bool offered = inner->facts.mem_kinds & GX_MEM_BIT(kind);
    return inner->ops->mem_alloc(inner, offered ? kind : GX_MEM_SHARED, bytes, mem);
}

/* Copies after a fence, and waits for the copy. */
static gx_status copy_bytes(struct gx_device *inner, struct gx_binding from, struct gx_binding to,
                            size_t bytes, struct gx_fence after)
{
    struct gx_region region = {.from = from, .to = to, .size = bytes};
    struct gx_cmd *cmd;
    struct gx_fence done;
    gx_status s = inner->ops->begin(inner, GX_QUEUE_COMPUTE, &cmd);
    if (s != GX_OK)
        return s;
    inner->ops->copy(cmd, &region, 1);
    inner->ops->barrier(cmd, GX_BARRIER_TO_HOST);
    s = inner->ops->submit(cmd, &after, 1, &done);
    if (s == GX_OK)
        s = inner->ops->wait(inner, done, GX_WAIT_FOREVER);
    inner->ops->recycle(cmd);
    return s;
}

/* Both use their own memory, because the host may not see the result. */
static gx_status get_word(struct gx_device *inner, struct gx_binding from, struct gx_fence done,
                          uint32_t *word)
{
    struct gx_mem mem;
    void *host;
    gx_status s = alloc_bytes(inner, GX_MEM_READBACK, sizeof *word, &mem);
    if (s != GX_OK)
        return s;
    s = copy_bytes(inner, from, (struct gx_binding){&mem, 0}, sizeof *word, done);
    if (s == GX_OK)
        s = inner->ops->map(inner, &mem, &host);
    if (s == GX_OK) {
        memcpy(word, host, sizeof *word);
        inner->ops->unmap(inner, &mem);
    }
    inner->ops->mem_free(inner, &mem);
    return s;
}

/* A word, or zeros. */
static gx_status put(struct gx_device *inner, struct gx_binding to, struct gx_fence done,
                     uint32_t word, size_t bytes)
{
    struct gx_mem mem;
    void *host;
    gx_status s = alloc_bytes(inner, GX_MEM_UPLOAD, bytes, &mem);
    if (s != GX_OK)
        return s;
    s = inner->ops->map(inner, &mem, &host);
    if (s == GX_OK) {
        memset(host, 0, bytes);
        memcpy(host, &word, sizeof word);
        inner->ops->unmap(inner, &mem);
        s = copy_bytes(inner, (struct gx_binding){&mem, 0}, to, bytes, done);
    }
    inner->ops->mem_free(inner, &mem);
    return s;
}

/* Flips the lowest bit of the first result once the inner device is done with it. It is read where
 * the kernel wrote it: not every device can copy from memory that is a copy destination. */
static gx_status corrupt(struct gx_device *inner, const struct fault_cmd *cmd, struct gx_fence done)
{
    uint32_t word;
    gx_status s = get_word(inner, cmd->result, done, &word);
    return s == GX_OK ? put(inner, cmd->out, done, word ^ 1, sizeof word) : s;
}

static gx_status fault_submit(struct gx_cmd *base, const struct gx_fence *waits, size_t count,
                              struct gx_fence *done)
{
    struct fault_cmd *cmd = (struct fault_cmd *)base;
    struct fault *f = fault_of(base->device);
    gx_status s = call(base->device, false);
    if (s == GX_OK)
        s = f->inner.ops->submit(cmd->inner, waits, count, done);
    if (s != GX_OK || f->mode < CORRUPT || !cmd->out.mem)
        return s;
    uint64_t calls = atomic_fetch_add(&f->calls, 1) + 1;
    if (f->mode == ZERO && calls >= f->at)
        s = put(&f->inner, cmd->out, *done, 0, cmd->out_bytes);
    else if (calls == f->at)
        s = corrupt(&f->inner, cmd, *done);
    return s;
}

static gx_status fault_wait(struct gx_device *device, struct gx_fence fence, uint64_t timeout_ns)
{
    struct fault *f = fault_of(device);
    gx_status s = call(device, false);
    bool hang = f->mode == HANG && timeout_ns != GX_WAIT_FOREVER &&
                atomic_fetch_add(&f->calls, 1) + 1 == f->at;
    if (s ==
        GX_OK) /* the work that seems to hang must be finished, because its memory is freed next */
        s = f->inner.ops->wait(&f->inner, fence, hang ? GX_WAIT_FOREVER : timeout_ns);
    return s == GX_OK && hang ? GX_ERR_TIMEOUT : s;
}

static gx_status fault_host_copy(struct gx_device *device, enum gx_queue queue,
                                 const struct gx_host_region *regions, size_t count,
                                 const struct gx_fence *waits, size_t wait_count,
                                 struct gx_fence *done, struct gx_times *time)
{
    struct gx_device *inner = &fault_of(device)->inner;
    gx_status s = call(device, false);
    return s == GX_OK
               ? inner->ops->host_copy(inner, queue, regions, count, waits, wait_count, done, time)
               : s;
}

/* The inner device's functions, but for those that count or follow a command. The optional ones are
 * present if the inner device has them. */
static struct gx_device_ops ops_around(const struct gx_device_ops *inner)
{
    struct gx_device_ops ops = *inner;
    ops.name = "fault";
    ops.close = fault_close;
    ops.mem_alloc = fault_mem_alloc;
    ops.mem_import = fault_mem_import;
    ops.mem_wrap = inner->mem_wrap ? fault_mem_wrap : NULL;
    ops.await = inner->await ? fault_await : NULL;
    ops.map = fault_map;
    ops.kernel = fault_kernel;
    ops.run = inner->run ? fault_run : NULL;
    ops.begin = fault_begin;
    ops.copy = fault_copy;
    ops.dispatch = fault_dispatch;
    ops.barrier = fault_barrier;
    ops.stamp = fault_stamp;
    ops.stamps = fault_stamps;
    ops.submit = fault_submit;
    ops.recycle = fault_recycle;
    ops.wait = fault_wait;
    ops.host_copy = inner->host_copy ? fault_host_copy : NULL;
    return ops;
}

/* Parses "WHAT@N:" at *text and advances it. */
static bool parse(const char **text, enum mode *mode, uint64_t *at)
{
    for (*mode = 0; *mode < MODES; ++*mode) {
        size_t length = strlen(mode_names[*mode]);
        if (strncmp(*text, mode_names[*mode], length) || (*text)[length] != '@')
            continue;
        const char *digits = *text + length + 1;
        size_t count = strspn(digits, "0123456789");
        if (!count || count > 18 || digits[count] != ':')
            return false;
        *at = strtoull(digits, NULL, 10);
        *text = digits + count + 1;
        return *at > 0;
    }
    return false;
}

gx_status gx__fault_open(struct gx_device *device, const char *name, struct gx_error *error)
{
    const gx_allocator *allocator = &device->instance->config.allocator;
    const char *rest = name + strlen(GX_FAULT_PREFIX);
    enum mode mode;
    uint64_t at;
    if (!parse(&rest, &mode, &at) || strlen(name) >= sizeof device->info.name)
        return gx__refuse(
            error, GX_ERR_NO_DEVICE,
            "'%.48s' is not fault:WHAT@N:DEVICE with WHAT one of fail, oom, lose, hang, corrupt, "
            "N >= 1, and at most %zu characters",
            name, sizeof device->info.name - 1);
    struct fault *f = gx__alloc(allocator, sizeof *f);
    if (!f)
        return gx__refuse(error, GX_ERR_OUT_OF_MEMORY, "no memory to open '%s'", name);
    f->mode = mode;
    f->at = at;
    gx_status s = gx__device_open(device->instance, rest, &f->inner, error);
    if (s != GX_OK) {
        gx__free(allocator, f);
        return s;
    }
    f->ops = ops_around(f->inner.ops);
    device->ops = &f->ops;
    device->impl = f->inner.impl;
    device->info = f->inner.info;
    device->facts = f->inner.facts;
#ifdef GX_GUARDS
    device->guards = &f->inner;
#endif
    device->info.automatic = 0;
    snprintf(device->info.name, sizeof device->info.name, "%s", name);
    return GX_OK;
}
