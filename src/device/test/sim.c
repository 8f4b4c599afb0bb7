/* SPDX-License-Identifier: Apache-2.0
 *
 * "sim:FILE": a fictitious device. Results are real, because a CPU device inside computes them on
 * submit; time is simulated by a virtual clock that says when the work would have begun and ended
 * on the machine described in FILE. So overlap and the quality of decisions can be tested to the
 * nanosecond anywhere. The value of a fence is the virtual time at which it is reached.
 * "sim:FILE#2" is another machine of the same kind.
 */
#include "device/test/sim.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/options.h"
#include "device/gpu/passes.h"
#include "op/msm.h"

#define PREFIX "sim:"

struct sim {
    struct gx_device inner;
    pthread_mutex_t lock; /* these three: */
    struct gx_sim_clock clock;
    struct gx_sim_accesses accesses;
    uint64_t memory_used;
};

struct sim_step {
    bool is_copy;
    union {
        struct gx_dispatch dispatch;
        struct gx_region region;
    };
};

struct sim_cmd {
    struct gx_cmd base;
    enum gx_queue queue;
    gx_status failed; /* memory ran out while recording */
    size_t steps, steps_room, works, works_room, ranges, ranges_room;
    struct sim_step *step;      /* what the inner device does, */
    struct gx_sim_work *work;   /* how long that takes, */
    struct gx_sim_range *range; /* and what it uses */
    uint64_t stamps[GX_STAMPS];
    uint32_t stamped; /* a bit for each stamp */
};

static struct sim *sim_of(const struct gx_device *device)
{
    return device->impl;
}

/* ---- finding ---- */

/* Converts "sim:FILE" or "sim:FILE#N" to FILE. */
static void file_of(const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s", name + strlen(PREFIX));
    char *hash = strrchr(path, '#');
    if (hash && hash[1] && !hash[1 + strspn(hash + 1, "0123456789")])
        *hash = 0;
}

static gx_status read_machine(const char *name, struct gx_machine *machine, struct gx_error *error)
{
    char path[sizeof((gx_device_info *)0)->name];
    if (strncmp(name, PREFIX, strlen(PREFIX)) || !name[strlen(PREFIX)] ||
        strlen(name) >= sizeof path)
        return gx__refuse(error, GX_ERR_NO_DEVICE,
                          "'%.48s' is not sim:FILE or sim:FILE#N with at most %zu characters", name,
                          sizeof path - 1);
    file_of(name, path, sizeof path);
    return gx__machine_read(machine, path, error) == GX_OK ? GX_OK : GX_ERR_NO_DEVICE;
}

static void describe(const char *name, const struct gx_machine *machine, gx_device_info *info)
{
    *info = (gx_device_info){
        .kind = GX_DEVICE_SIM, .memory_bytes = machine->start.of[GX_MACHINE_MEMORY], .usable = 1};
    snprintf(info->name, sizeof info->name, "%s", name);
    snprintf(info->description, sizeof info->description, "%s, simulated time", machine->name);
}

static gx_status sim_find(const struct gx_device_ops *ops, struct gx_instance *instance,
                          const char *name, gx_device_info *info, struct gx_error *error)
{
    (void)ops;
    (void)instance;
    struct gx_machine machine;
    gx_status s = read_machine(name, &machine, error);
    if (s == GX_OK)
        describe(name, &machine, info);
    return s;
}

/* Machines with the same number are names of one GPU. */
static bool sim_chip(const struct gx_device_ops *ops, struct gx_instance *instance,
                     const char *name, struct gx_chip *chip)
{
    (void)ops;
    (void)instance;
    struct gx_machine machine;
    struct gx_error error;
    if (read_machine(name, &machine, &error) != GX_OK || !machine.start.of[GX_MACHINE_CHIP])
        return false;
    *chip = (struct gx_chip){0};
    snprintf(chip->name, sizeof chip->name, "chip %llu",
             (unsigned long long)machine.start.of[GX_MACHINE_CHIP]);
    return true;
}

/* The name is no longer than those of devices. */
static void list_one(const char *name, gx_device_info *info)
{
    struct gx_machine machine;
    struct gx_error error;
    if (read_machine(name, &machine, &error) == GX_OK) {
        describe(name, &machine, info);
        return;
    }
    *info = (gx_device_info){.kind = GX_DEVICE_SIM};
    memcpy(info->name, name, strlen(name) + 1);
    gx__error_give(&error, info->description, sizeof info->description);
}

/* Lists only configured ones: any file could be one. */
static gx_status sim_enumerate(const struct gx_device_ops *ops, struct gx_instance *instance,
                               gx_device_info *infos, size_t *count)
{
    (void)ops;
    const char *list = instance->config.device ? instance->config.device : "";
    size_t room = infos ? *count : 0;
    char name[GX_LISTED_NAME];
    *count = 0;
    while (gx__next_name(&list, name)) {
        if (strncmp(name, PREFIX, strlen(PREFIX)) || strlen(name) >= sizeof infos->name)
            continue;
        if (*count < room)
            list_one(name, &infos[*count]);
        ++*count;
    }
    return GX_OK;
}

/* ---- open and close ---- */

static float gb_s(uint64_t rate)
{
    return (float)rate / 1000;
}

/* The file provides what a Vulkan device measures. */
static void set_speeds(const struct gx_machine_values *v, struct gx_mem_speed *speed)
{
    const uint64_t *of = v->of;
    for (int kind = 0; kind < GX_MEM_KINDS; kind++) {
        uint64_t kernel = of[kind == GX_MEM_DEVICE ? GX_MACHINE_KERNEL : GX_MACHINE_SHARED];
        speed[kind] = (struct gx_mem_speed){.host_write = gb_s(of[GX_MACHINE_HOST_IN]),
                                            .host_read = gb_s(of[GX_MACHINE_HOST_OUT]),
                                            .copy_in = gb_s(of[GX_MACHINE_UPLOAD]),
                                            .copy_out = gb_s(of[GX_MACHINE_DOWNLOAD]),
                                            .kernel_read = gb_s(kernel),
                                            .kernel_write = gb_s(kernel)};
    }
    speed[GX_MEM_DEVICE].host_write = speed[GX_MEM_DEVICE].host_read = 0;
}

static void set_facts(struct gx_device *device)
{
    const struct gx_machine_values *v = &sim_of(device)->clock.machine.start;
    uint64_t limit = device->instance->config.dispatch_elems,
             most = v->of[GX_MACHINE_DISPATCH_ELEMS];
    uint64_t inner = sim_of(device)->inner.facts.dispatch_elems;
    limit = limit && limit < inner ? limit : inner;
    device->facts = (struct gx_device_facts){
        .mem_kinds = GX_MEM_BIT(GX_MEM_DEVICE) | GX_MEM_BIT(GX_MEM_UPLOAD) |
                     GX_MEM_BIT(GX_MEM_READBACK) | GX_MEM_BIT(GX_MEM_SHARED),
        .queues = GX_QUEUE_BIT(GX_QUEUE_COMPUTE),
        .dispatch_elems = limit < most ? limit : most,
        .import_align = (size_t)v->of[GX_MACHINE_IMPORT_ALIGN],
        .resubmit = true,
        .timestamps = true,
        .submit_ns = (uint32_t)(v->of[GX_MACHINE_SUBMIT] + v->of[GX_MACHINE_START]),
        .copy_both = gb_s(v->of[GX_MACHINE_BOTH]),
        .mul_rate = gb_s(v->of[GX_MACHINE_MUL]),
        .copy_threads = (uint32_t)v->of[GX_MACHINE_HOST_THREADS],
        .memory = v->of[GX_MACHINE_MEMORY]};
    if (v->of[GX_MACHINE_QUEUES] > 1)
        device->facts.queues |= GX_QUEUE_BIT(GX_QUEUE_UPLOAD) | GX_QUEUE_BIT(GX_QUEUE_DOWNLOAD);
    set_speeds(v, device->facts.speed);
}

static gx_status sim_open(struct gx_device *device)
{
    struct gx_error error;
    struct sim *sim = gx__alloc(&device->instance->config.allocator, sizeof *sim);
    if (!sim)
        return GX_ERR_OUT_OF_MEMORY;
    device->impl = sim;
    pthread_mutex_init(&sim->lock, NULL);
    gx_status s = read_machine(device->info.name, &sim->clock.machine, &error);
    if (s == GX_OK)
        s = gx__device_open(device->instance, "cpu", &sim->inner, &error);
    if (s == GX_OK)
        set_facts(device);
    return s;
}

static void sim_close(struct gx_device *device)
{
    struct sim *sim = sim_of(device);
    if (!sim)
        return;
    gx__device_close(&sim->inner);
    pthread_mutex_destroy(&sim->lock);
    gx__free(&device->instance->config.allocator, sim);
    device->impl = NULL;
}

/* ---- memory ---- */

static bool reserve(struct sim *sim, enum gx_mem_kind kind, size_t bytes)
{
    if (kind != GX_MEM_DEVICE)
        return true;
    pthread_mutex_lock(&sim->lock);
    bool fits = bytes <= sim->clock.machine.start.of[GX_MACHINE_MEMORY] - sim->memory_used;
    sim->memory_used += fits ? bytes : 0;
    pthread_mutex_unlock(&sim->lock);
    return fits;
}

static void unreserve(struct sim *sim, enum gx_mem_kind kind, size_t bytes)
{
    pthread_mutex_lock(&sim->lock);
    sim->memory_used -= kind == GX_MEM_DEVICE ? bytes : 0;
    pthread_mutex_unlock(&sim->lock);
}

static gx_status sim_mem_alloc(struct gx_device *device, enum gx_mem_kind kind, size_t bytes,
                               struct gx_mem *mem)
{
    struct sim *sim = sim_of(device);
    if (!reserve(sim, kind, bytes))
        return GX_ERR_OUT_OF_DEVICE_MEMORY;
    gx_status s = sim->inner.ops->mem_alloc(&sim->inner, GX_MEM_SHARED, bytes, mem);
    if (s == GX_OK)
        mem->kind = kind;
    else
        unreserve(sim, kind, bytes);
    return s;
}

static gx_status sim_mem_import(struct gx_device *device, void *host, size_t bytes,
                                struct gx_mem *mem)
{
    size_t align = device->facts.import_align;
    if (!align || (uintptr_t)host % align || bytes % align)
        return GX_ERR_UNSUPPORTED;
    *mem = (struct gx_mem){.kind = GX_MEM_SHARED, .size = bytes, .imported = true, .host = host};
    return GX_OK;
}

static void sim_mem_free(struct gx_device *device, struct gx_mem *mem)
{
    struct sim *sim = sim_of(device);
    unreserve(sim, mem->kind, mem->size);
    if (mem->imported)
        *mem = (struct gx_mem){0};
    else
        sim->inner.ops->mem_free(&sim->inner, mem);
}

static gx_status sim_map(struct gx_device *device, struct gx_mem *mem, void **host)
{
    struct gx_device *inner = &sim_of(device)->inner;
    return inner->ops->map(inner, mem, host);
}

static void sim_unmap(struct gx_device *device, struct gx_mem *mem)
{
    struct gx_device *inner = &sim_of(device)->inner;
    inner->ops->unmap(inner, mem);
}

/* ---- kernels ---- */

static gx_status sim_kernel(struct gx_device *device, const struct gx_kernel_key *key,
                            struct gx_kernel *kernel)
{
    struct gx_device *inner = &sim_of(device)->inner;
    return inner->ops->kernel(inner, key, kernel);
}

static size_t sim_scratch(struct gx_device *device, const struct gx_kernel *kernel, uint64_t n)
{
    struct gx_device *inner = &sim_of(device)->inner;
    return inner->ops->scratch(inner, kernel, n);
}

/* Tables have the layout of the inner device; filling one takes no simulated time. */
static size_t sim_table(struct gx_device *device, const struct gx_kernel *kernel, void *table)
{
    struct gx_device *inner = &sim_of(device)->inner;
    return inner->ops->table(inner, kernel, table);
}

/* ---- recording ---- */

static gx_status sim_begin(struct gx_device *device, enum gx_queue queue, struct gx_cmd **out)
{
    struct sim_cmd *cmd = gx__alloc(&device->instance->config.allocator, sizeof *cmd);
    if (!cmd)
        return GX_ERR_OUT_OF_MEMORY;
    struct sim *sim = sim_of(device);
    pthread_mutex_lock(&sim->lock);
    gx__sim_record(&sim->clock);
    pthread_mutex_unlock(&sim->lock);
    cmd->base.device = device;
    cmd->queue = device->facts.queues & GX_QUEUE_BIT(queue) ? queue : GX_QUEUE_COMPUTE;
    *out = &cmd->base;
    return GX_OK;
}

static void sim_recycle(struct gx_cmd *base)
{
    struct sim_cmd *cmd = (struct sim_cmd *)base;
    const gx_allocator *allocator = &base->device->instance->config.allocator;
    gx__free(allocator, cmd->step);
    gx__free(allocator, cmd->work);
    gx__free(allocator, cmd->range);
    gx__free(allocator, cmd);
}

/* The items, possibly moved, with room for one more; NULL with the failure recorded. */
static void *grow(struct sim_cmd *cmd, void *items, size_t count, size_t *room, size_t size)
{
    const gx_allocator *allocator = &cmd->base.device->instance->config.allocator;
    if (cmd->failed != GX_OK)
        return NULL;
    if (count < *room)
        return items;
    size_t wanted = *room ? 2 * *room : 8;
    void *more = gx__alloc(allocator, wanted * size);
    if (!more) {
        cmd->failed = GX_ERR_OUT_OF_MEMORY;
        return NULL;
    }
    if (count)
        memcpy(more, items, count * size);
    gx__free(allocator, items);
    *room = wanted;
    return more;
}

static void add_step(struct sim_cmd *cmd, const struct sim_step *step)
{
    void *items = grow(cmd, cmd->step, cmd->steps, &cmd->steps_room, sizeof *step);
    if (!items)
        return;
    cmd->step = items;
    cmd->step[cmd->steps++] = *step;
}

static void add_work(struct sim_cmd *cmd, const struct gx_sim_work *work)
{
    void *items = grow(cmd, cmd->work, cmd->works, &cmd->works_room, sizeof *work);
    if (!items)
        return;
    cmd->work = items;
    cmd->work[cmd->works++] = *work;
}

static struct gx_sim_range rows_at(const void *memory, size_t bytes, size_t rows, size_t stride,
                                   bool write)
{
    uintptr_t from = (uintptr_t)memory;
    if (rows < 2)
        return (struct gx_sim_range){.from = from, .to = from + bytes, .write = write};
    return (struct gx_sim_range){from, from + (rows - 1) * stride + bytes, write, bytes, stride};
}

static void add_rows(struct sim_cmd *cmd, const struct gx_binding *binding, size_t bytes,
                     size_t rows, size_t stride, bool write)
{
    void *items = grow(cmd, cmd->range, cmd->ranges, &cmd->ranges_room, sizeof *cmd->range);
    if (!items)
        return;
    cmd->range = items;
    cmd->range[cmd->ranges++] =
        rows_at((char *)binding->mem->host + binding->offset, bytes, rows, stride, write);
}

static void add_range(struct sim_cmd *cmd, const struct gx_binding *binding, size_t bytes,
                      bool write)
{
    add_rows(cmd, binding, bytes, 1, 0, write);
}

static void sim_copy(struct gx_cmd *base, const struct gx_region *regions, size_t count)
{
    struct sim_cmd *cmd = (struct sim_cmd *)base;
    struct gx_sim_work work = {.kind = GX_SIM_COPY};
    for (size_t i = 0; i < count; i++) {
        bool from = regions[i].from.mem->kind == GX_MEM_DEVICE;
        bool to = regions[i].to.mem->kind == GX_MEM_DEVICE;
        add_step(cmd, &(struct sim_step){.is_copy = true, .region = regions[i]});
        uint64_t *bytes = from && to ? &work.local_bytes
                          : to       ? &work.upload_bytes
                          : from     ? &work.download_bytes
                                     : &work.shared_bytes;
        const struct gx_region *r = &regions[i];
        uint64_t all = (uint64_t)r->size * gx__rows(r->rows);
        *bytes += from == to ? 2 * all : all; /* read and written */
        add_rows(cmd, &r->from, r->size, r->rows, r->from_row, false);
        add_rows(cmd, &r->to, r->size, r->rows, r->to_row, true);
    }
    add_work(cmd, &work);
}

/* Properties of a simulated GPU: it inverts individually, at the cost of Montgomery's trick, so
 * that inversion time is proportional to n. */
static const struct gx_pass_facts pass_facts = {
    .each = 1, .workgroup = 256, .direct = UINT32_MAX, .inverse = 4};
static const struct gx_pass_facts ntt_facts = {.each = 8, .workgroup = 128};

/* Memory traffic of a pass, by kind of memory. */
static void add_traffic(const struct gx_dispatch *d, const struct gx_pass_bind *bind,
                        struct gx_sim_work *work)
{
    const struct gx_mem *mem = d->bind[bind->from].mem;
    const struct gx_kernel_key *key = &d->kernel.key;
    int which = bind->from <= GX_BIND_C ? (int)bind->from : GX_BIND_OUT;
    uint64_t bytes = bind->touched * gx__op_element(key->op, key->field, which);
    if (mem) /* scratch belongs to the inner device, but counts as this one's memory for timing */
        *(mem->kind == GX_MEM_DEVICE ? &work->local_bytes : &work->shared_bytes) += bytes;
    else if (bind->from == GX_BIND_SCRATCH)
        work->local_bytes += bytes;
}

static void add_pass(struct sim_cmd *cmd, const struct gx_dispatch *d, const struct gx_pass *pass)
{
    const struct gx_prime *prime = gx__prime(d->kernel.key.field);
    struct gx_sim_work work = {.kind = GX_SIM_KERNEL};
    add_traffic(d, &pass->out, &work);
    add_traffic(d, &pass->a, &work);
    add_traffic(d, &pass->b, &work);
    add_traffic(d, &pass->c, &work);
    add_traffic(d, &(struct gx_pass_bind){GX_BIND_SCRATCH, 0, pass->scratch}, &work);
    if (prime)
        work.products[prime->limbs < 6] = pass->products;
    add_work(cmd, &work);
}

/* The elements of a binding. */
static uint64_t elements_of(const struct gx_kernel_key *key, int i, uint64_t n)
{
    static const uint32_t broadcast[] = {
        [GX_BIND_A] = GX_BROADCAST_A, [GX_BIND_B] = GX_BROADCAST_B, [GX_BIND_C] = GX_BROADCAST_C};
    const struct gx_op_facts *facts = gx__facts_of(key->op);
    if (i == GX_BIND_OUT)
        return facts->one_result ? 1 : n;
    if (key->broadcast & broadcast[i] || facts->one >> i & 1)
        return 1;
    if (!(facts->resized >> i & 1))
        return n;
    return key->op == GX_NTT ? n >> key->param[GX_PARAM_LOG2_PAD]
                             : gx__param64(key->param + GX_PARAM_COUNT);
}

static size_t bytes_of(const struct gx_kernel_key *key, int i, uint64_t n)
{
    if (key->op != GX_OP_MSM_SUMS)
        return (size_t)elements_of(key, i, n) * gx__op_element(key->op, key->field, i);
    const struct gx_msm_sums sums = gx__sums_of_key(key->param);
    return (size_t)elements_of(key, i, n) * gx__sums_element(&sums, n, i);
}

/* Traffic of the dispatch as a whole: its passes never run concurrently. */
static void add_ranges(struct sim_cmd *cmd, const struct gx_dispatch *d)
{
    const struct gx_kernel_key *key = &d->kernel.key;
    for (int i = GX_BIND_OUT; i <= GX_BIND_C; i++)
        if (d->bind[i].mem)
            add_range(cmd, &d->bind[i], bytes_of(key, i, d->n), i == GX_BIND_OUT);
    if (d->bind[GX_BIND_SCRATCH].mem)
        add_range(cmd, &d->bind[GX_BIND_SCRATCH], sim_scratch(cmd->base.device, &d->kernel, d->n),
                  true);
    if (d->bind[GX_BIND_BAD].mem)
        add_range(cmd, &d->bind[GX_BIND_BAD], sizeof(uint32_t), true);
}

static void sim_dispatch(struct gx_cmd *base, const struct gx_dispatch *d)
{
    struct sim_cmd *cmd = (struct sim_cmd *)base;
    struct gx_passes passes;
    add_step(cmd, &(struct sim_step){.dispatch = *d});
    add_ranges(cmd, d);
    gx__passes(&d->kernel.key, d->n, d->kernel.key.op == GX_NTT ? &ntt_facts : &pass_facts,
               &passes);
    for (uint32_t i = 0; i < passes.count; i++)
        add_pass(cmd, d, &passes.pass[i]);
}

static void sim_barrier(struct gx_cmd *base, enum gx_barrier barrier)
{
    (void)base; /* work on a queue is sequential */
    (void)barrier;
}

static void sim_stamp(struct gx_cmd *base, uint32_t index)
{
    struct sim_cmd *cmd = (struct sim_cmd *)base;
    add_work(cmd, &(struct gx_sim_work){.kind = GX_SIM_STAMP, .stamp = index});
    cmd->stamped |= 1u << index;
}

static gx_status sim_stamps(struct gx_cmd *base, uint64_t *ns, uint32_t count)
{
    struct sim_cmd *cmd = (struct sim_cmd *)base;
    if (count > GX_STAMPS || ~cmd->stamped & ((1u << count) - 1))
        return GX_ERR_INVALID;
    memcpy(ns, cmd->stamps, count * sizeof *ns);
    return GX_OK;
}

/* ---- time ---- */

/* Under the lock. */
static gx_status use(struct gx_device *device, enum gx_queue queue, struct gx_times time,
                     const struct gx_sim_range *ranges, size_t count)
{
    struct sim *sim = sim_of(device);
    struct gx_error error;
    if (gx__sim_use(&sim->accesses, queue, sim->clock.now, time.start_ns, time.end_ns, ranges,
                    count, &error))
        return GX_OK;
    gx__log(device->instance, GX_LOG_ERROR, "%s: %s", device->info.name, error.text);
    return GX_ERR_DEVICE;
}

static void *bound(const struct gx_binding *binding)
{
    return binding->mem ? (char *)binding->mem->host + binding->offset : NULL;
}

static gx_status run_dispatch(struct gx_device *inner, const struct gx_dispatch *d)
{
    struct gx_host_call call = {
        .kernel = d->kernel, .scratch = bound(&d->bind[GX_BIND_SCRATCH]), .n = d->n};
    uint32_t *bad = bound(&d->bind[GX_BIND_BAD]);
    for (int i = 0; i < GX_OPERANDS; i++)
        call.operand[i] = bound(&d->bind[i]);
    call.table = bound(&d->bind[GX_BIND_TABLE]);
    gx_status s = inner->ops->run(inner, &call);
    if (s == GX_OK && d->kernel.key.check && call.bad < *bad)
        *bad = (uint32_t)call.bad;
    return s;
}

static void copy_rows(const struct gx_host_region *r)
{
    for (size_t row = 0; row < gx__rows(r->rows); row++)
        memcpy((char *)r->to + row * r->to_row, (const char *)r->from + row * r->from_row, r->size);
}

/* All at once: what it waits for was done when that was submitted. */
static gx_status run_steps(struct gx_device *inner, const struct sim_cmd *cmd)
{
    gx_status s = cmd->failed;
    for (size_t i = 0; i < cmd->steps && s == GX_OK; i++) {
        const struct gx_region *r = &cmd->step[i].region;
        if (cmd->step[i].is_copy)
            copy_rows(&(struct gx_host_region){.to = bound(&r->to),
                                               .from = bound(&r->from),
                                               .size = r->size,
                                               .rows = r->rows,
                                               .to_row = r->to_row,
                                               .from_row = r->from_row});
        else
            s = run_dispatch(inner, &cmd->step[i].dispatch);
    }
    return s;
}

static gx_status sim_submit(struct gx_cmd *base, const struct gx_fence *waits, size_t count,
                            struct gx_fence *done)
{
    struct sim_cmd *cmd = (struct sim_cmd *)base;
    struct sim *sim = sim_of(base->device);
    gx_status s = run_steps(&sim->inner, cmd);
    if (s != GX_OK)
        return s;
    pthread_mutex_lock(&sim->lock);
    struct gx_times time =
        gx__sim_submit(&sim->clock, cmd->queue, waits, count, cmd->work, cmd->works, cmd->stamps);
    s = use(base->device, cmd->queue, time, cmd->range, cmd->ranges);
    pthread_mutex_unlock(&sim->lock);
    if (s == GX_OK)
        *done = (struct gx_fence){cmd->queue, time.end_ns};
    return s;
}

static gx_status sim_wait(struct gx_device *device, struct gx_fence fence, uint64_t timeout_ns)
{
    struct sim *sim = sim_of(device);
    pthread_mutex_lock(&sim->lock);
    bool in_time = gx__sim_wait(&sim->clock, fence.value, timeout_ns);
    pthread_mutex_unlock(&sim->lock);
    return in_time ? GX_OK : GX_ERR_TIMEOUT;
}

static uint64_t sim_now(struct gx_device *device)
{
    struct sim *sim = sim_of(device);
    pthread_mutex_lock(&sim->lock);
    uint64_t now = sim->clock.now;
    pthread_mutex_unlock(&sim->lock);
    return now;
}

/* The copies are made at once: what they wait for was done on submit. */
static gx_status sim_host_copy(struct gx_device *device, enum gx_queue queue,
                               const struct gx_host_region *regions, size_t count,
                               const struct gx_fence *waits, size_t wait_count,
                               struct gx_fence *done, struct gx_times *time)
{
    struct sim *sim = sim_of(device);
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        copy_rows(&regions[i]);
        bytes += regions[i].size * gx__rows(regions[i].rows);
    }
    pthread_mutex_lock(&sim->lock);
    *time = gx__sim_host_copy(&sim->clock, queue, waits, wait_count, bytes);
    gx_status s = GX_OK;
    for (size_t i = 0; i < count && s == GX_OK; i++) {
        const struct gx_host_region *r = &regions[i];
        const struct gx_sim_range ranges[] = {
            rows_at(r->to, r->size, r->rows, r->to_row, true),
            rows_at(r->from, r->size, r->rows, r->from_row, false)};
        s = use(device, queue, *time, ranges, 2);
    }
    pthread_mutex_unlock(&sim->lock);
    *done = (struct gx_fence){queue, time->end_ns};
    return s;
}

static bool sim_reached(struct gx_device *device, struct gx_fence fence)
{
    return fence.value <= sim_now(device);
}

const struct gx_device_ops gx__sim_ops = {
    .name = "sim",
    .enumerate = sim_enumerate,
    .find = sim_find,
    .chip = sim_chip,
    .open = sim_open,
    .close = sim_close,
    .mem_alloc = sim_mem_alloc,
    .mem_import = sim_mem_import,
    .mem_free = sim_mem_free,
    .map = sim_map,
    .unmap = sim_unmap,
    .kernel = sim_kernel,
    .scratch = sim_scratch,
    .table = sim_table,
    .begin = sim_begin,
    .copy = sim_copy,
    .dispatch = sim_dispatch,
    .barrier = sim_barrier,
    .stamp = sim_stamp,
    .stamps = sim_stamps,
    .submit = sim_submit,
    .recycle = sim_recycle,
    .wait = sim_wait,
    .reached = sim_reached,
    .now = sim_now,
    .host_copy = sim_host_copy,
};
