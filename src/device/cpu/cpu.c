/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPU as a device: it works on host memory in place, on the calling thread and, for large
 * calls, on the thread pool. Also the device "ref", the same with the reference kernels in its
 * table.
 */
#include "device/device.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/float_env.h"
#include "base/options.h"
#include "base/os.h"
#include "device/cpu/kernels.h"
#include "field/sum.h"

/* Cost of checking an element, in the unit of gx_op_row.ns. */
#define CHECK_NS 2u
/* Products that are summed together: they fit in the L1 or L2 cache, and reducing their sum adds
 * little per product. */
#define SUM_BLOCK   512u
#define SUM_SCRATCH 64u
/* Elements that a worker takes at a time: a few hundred KiB, so that stores touch few pages and a
 * delayed worker does not hold up the others for long. If that left threads without work, as few as
 * are worth waking one for; for inverses, a batch. */
#define CHUNK_ELEMENTS     8192u
#define CHUNK_ELEMENTS_MIN 512u
#define CHUNKS_PER_THREAD  2u
/* Assumed minimum cost of an element of a registered operation, and its bytes. */
#define OWN_NS           5u
#define OWN_BYTES_PER_NS 8u
/* Data beyond this would evict everything else from the caches. */
#define STREAM_DEFAULT_BYTES ((size_t)16 << 20)
#define STREAM_MAX_BYTES     ((size_t)64 << 20)

struct cpu_kernel {
    const struct gx_prime *prime; /* NULL for u32 and f32 */
    gx_host_fn fn;                /* for a reduction: the terms; NULL: the operand itself */
    gx_host_fn sum;               /* for a reduction, otherwise NULL */
    enum gx_host_kernel host;
    uint32_t ns;       /* rough cost of one element, for choosing the number of threads */
    uint32_t operands; /* public ones: a, b, c */
    size_t element_bytes;
    bool floats;
};

struct cpu {
    struct gx_cpu_ntt ntt;
    struct gx_cpu_msm msm;
    struct gx_host_table table;
    struct cpu_kernel kernels[GX_FIELD_END][GX_OP_INDICES];
    uint32_t threads;
    size_t stream_bytes;
};

/* ---- enumerate ---- */

static const char *const device_names[] = {"cpu", "ref"};

static uint32_t thread_count(const struct gx_instance *instance)
{
    uint32_t cores = gx__cores(), asked = instance->config.threads;
    return asked && asked < cores ? asked : cores;
}

static unsigned tier_bits(const struct gx_instance *instance)
{
    unsigned bits;
    gx__parse_tiers(instance->config.cpumask, &bits); /* valid since gx_open */
    return bits & gx__host_tiers();
}

static void describe(const struct gx_instance *instance, gx_device_info *info)
{
    char model[64], tiers[64] = "";
    unsigned bits = tier_bits(instance);
    for (int t = 0; t < GX_TIERS; t++)
        if (bits >> t & 1)
            snprintf(tiers + strlen(tiers), sizeof tiers - strlen(tiers), " %s", gx_tier_name(t));
    gx__os_cpu(model, sizeof model);
    snprintf(info->description, sizeof info->description, "%s,%s", model, tiers);
}

static gx_status cpu_enumerate(const struct gx_device_ops *ops, struct gx_instance *instance,
                               gx_device_info *infos, size_t *count)
{
    (void)ops;
    size_t room = infos ? *count : 0;
    for (size_t i = 0; i < 2 && i < room; i++) {
        bool reference = i == 1;
        infos[i] = (gx_device_info){.kind = reference ? GX_DEVICE_REFERENCE : GX_DEVICE_CPU,
                                    .threads = thread_count(instance),
                                    .automatic = !reference,
                                    .usable = 1};
        snprintf(infos[i].name, sizeof infos[i].name, "%s", device_names[i]);
        infos[i].memory_bytes = gx__os_memory();
        if (reference)
            snprintf(infos[i].description, sizeof infos[i].description,
                     "slow reference that all other devices are checked against");
        else
            describe(instance, &infos[i]);
    }
    *count = 2;
    return GX_OK;
}

/* ---- open and close ---- */

static void fill_kernel(struct cpu *cpu, const struct gx_host_table *table, gx_field field,
                        gx_op op)
{
    const struct gx_op_row *row = op == GX_OP_CHECK ? NULL : &gx__op_rows[op];
    const gx_host_fn *fn = table->fn[field];
    /* transforms and sums have other kernels; the one here checks their input */
    enum gx_host_kernel host = row && op != GX_NTT && op != GX_MSM ? row->host : GX_HOST_CHECK;
    struct cpu_kernel *k = &cpu->kernels[field][gx__op_index(op)];
    *k = (struct cpu_kernel){.prime = gx__prime(field),
                             .fn = fn[host],
                             .host = host,
                             .ns = !gx__prime(field)       ? 1
                                   : host == GX_HOST_CHECK ? CHECK_NS
                                                           : row->ns,
                             .operands = gx__op_operands(op),
                             .element_bytes = gx__element_bytes(field),
                             .floats = field == GX_F32};
    if (gx__op_shape(op) == GX_SHAPE_REDUCTION)
        k->sum = fn[GX_HOST_SUM];
    if (host == GX_HOST_SUM)
        k->fn = NULL;
}

static void fill_kernels(struct cpu *cpu, const struct gx_host_table *table)
{
    for (gx_field field = 1; field < GX_FIELD_END; field++) {
        for (gx_op op = 1; op < GX_OP_END; op++)
            if (gx_op_exists(op, field) &&
                (gx__op_rows[op].host < GX_HOST_KERNELS || op == GX_NTT || op == GX_MSM))
                fill_kernel(cpu, table, field, op);
        fill_kernel(cpu, table, field, GX_OP_CHECK);
    }
}

static size_t stream_threshold(void)
{
    size_t l3 = gx__os_l3();
    if (!l3)
        return STREAM_DEFAULT_BYTES;
    return l3 / 2 < STREAM_MAX_BYTES ? l3 / 2 : STREAM_MAX_BYTES;
}

static gx_status cpu_open(struct gx_device *device)
{
    struct cpu *cpu = gx__alloc(&device->instance->config.allocator, sizeof *cpu);
    if (!cpu)
        return GX_ERR_OUT_OF_MEMORY;
    device->impl = cpu;
    cpu->threads = device->info.threads;
    cpu->stream_bytes = stream_threshold();

    bool reference = device->info.kind == GX_DEVICE_REFERENCE;
    if (reference)
        gx__host_reference(&cpu->table);
    else
        gx__host_table(&cpu->table, tier_bits(device->instance));
    fill_kernels(cpu, &cpu->table);
    gx__cpu_ntt_open(&cpu->ntt, tier_bits(device->instance), reference ? &cpu->table : NULL,
                     cpu->threads);
    gx__cpu_msm_open(&cpu->msm, tier_bits(device->instance), reference, cpu->threads);

    uint64_t limit = device->instance->config.dispatch_elems;
    const uint64_t most = (uint64_t)1 << 31; /* a sim device around it has 32-bit indices */
    device->facts =
        (struct gx_device_facts){.mem_kinds = GX_MEM_BIT(GX_MEM_SHARED),
                                 .queues = GX_QUEUE_BIT(GX_QUEUE_COMPUTE),
                                 .dispatch_elems = limit && limit < most ? limit : most};
    return GX_OK;
}

static void cpu_close(struct gx_device *device)
{
    gx__free(&device->instance->config.allocator, device->impl);
    device->impl = NULL;
}

/* ---- memory ---- */

static gx_status cpu_mem_alloc(struct gx_device *device, enum gx_mem_kind kind, size_t bytes,
                               struct gx_mem *mem)
{
    if (kind != GX_MEM_SHARED)
        return GX_ERR_UNSUPPORTED;
    void *host = gx__alloc(&device->instance->config.allocator, bytes);
    if (!host)
        return GX_ERR_OUT_OF_MEMORY;
    *mem = (struct gx_mem){.kind = kind, .size = bytes, .host = host};
    return GX_OK;
}

static void cpu_mem_free(struct gx_device *device, struct gx_mem *mem)
{
    gx__free(&device->instance->config.allocator, mem->host);
    *mem = (struct gx_mem){0};
}

static gx_status cpu_map(struct gx_device *device, struct gx_mem *mem, void **host)
{
    (void)device;
    *host = mem->host;
    return GX_OK;
}

static void cpu_unmap(struct gx_device *device, struct gx_mem *mem)
{
    (void)device;
    (void)mem;
}

/* ---- kernels ---- */

static gx_status cpu_kernel(struct gx_device *device, const struct gx_kernel_key *key,
                            struct gx_kernel *kernel)
{
    struct cpu *cpu = device->impl;
    const struct gx_registered_op *registered = gx__registered_op(key->op);
    size_t index = gx__op_index(key->op);
    if (registered) {
        *kernel = (struct gx_kernel){.key = *key, .impl = registered};
        return registered->desc.fn ? GX_OK : GX_ERR_UNSUPPORTED;
    }
    if (index >= GX_OP_INDICES || key->field >= GX_FIELD_END || key->repeat)
        return GX_ERR_UNSUPPORTED;
    const struct cpu_kernel *k = &cpu->kernels[key->field][index];
    if (!k->fn && !k->sum &&
        !((gx__cpu_is_poly(key->op) || key->op == GX_OP_MSM_SUMS) && gx__prime(key->field)))
        return GX_ERR_UNSUPPORTED;
    *kernel = (struct gx_kernel){.key = *key, .impl = k};
    return GX_OK;
}

static bool needs_scratch(const struct cpu_kernel *k)
{
    return k->host == GX_HOST_INV || k->host == GX_HOST_DIV;
}

static size_t chunk_elements(const struct cpu *cpu, const struct cpu_kernel *k, uint64_t n)
{
    uint64_t worth = needs_scratch(k) ? GX_INV_BATCH : GX_WORKER_MIN_NS / k->ns;
    uint64_t chunk = n / (CHUNKS_PER_THREAD * cpu->threads);
    chunk = chunk > worth ? chunk : worth;
    chunk = (chunk + CHUNK_ELEMENTS_MIN - 1) / CHUNK_ELEMENTS_MIN * CHUNK_ELEMENTS_MIN;
    return chunk < CHUNK_ELEMENTS ? (size_t)chunk : CHUNK_ELEMENTS;
}

/* Threads that n elements are worth. */
static uint32_t workers_for(const struct cpu *cpu, const struct cpu_kernel *k, uint64_t n)
{
    uint64_t useful = n * k->ns / GX_WORKER_MIN_NS;
    if (useful < 2) /* most calls, and the smallest ones */
        return 1;
    uint64_t chunks = n / chunk_elements(cpu, k, n);
    useful = useful < chunks ? useful : chunks;
    return useful < 1 ? 1 : useful < cpu->threads ? (uint32_t)useful : cpu->threads;
}

/* Scratch of one worker, in whole cache lines: its partial result, or what gx_host_args needs. */
static size_t worker_scratch(const struct cpu_kernel *k, uint64_t n)
{
    if (k->sum)
        return SUM_SCRATCH;
    uint64_t batch = n < GX_INV_BATCH ? (n + 15) / 16 * 16 : GX_INV_BATCH;
    return (size_t)batch * GX_INV_SCRATCH_PER_ELEMENT;
}

static size_t cpu_table(struct gx_device *device, const struct gx_kernel *kernel, void *table)
{
    const struct cpu *cpu = device->impl;
    return kernel->key.op == GX_MSM ? gx__cpu_msm_table(&cpu->msm, device->instance, kernel, table)
                                    : gx__cpu_ntt_table(&cpu->ntt, kernel, table);
}

/* The number of threads that pays off for an operation without a host kernel of its own. */
static uint32_t workers_for_row(const struct cpu *cpu, gx_op op, uint64_t n)
{
    const struct cpu_kernel cost = {.ns = gx__op_rows[op].ns};
    return workers_for(cpu, &cost, n);
}

static size_t cpu_scratch(struct gx_device *device, const struct gx_kernel *kernel, uint64_t n)
{
    const struct cpu_kernel *k = kernel->impl;
    gx_op op = kernel->key.op;
    if (op == GX_NTT)
        return gx__cpu_ntt_scratch(&((struct cpu *)device->impl)->ntt, kernel, n);
    if (op == GX_MSM)
        return gx__cpu_msm_scratch(&((struct cpu *)device->impl)->msm, kernel, n);
    if (gx__cpu_is_poly(op))
        return gx__cpu_poly_scratch(&kernel->key, n, workers_for_row(device->impl, op, n));
    if (gx__is_registered_op(kernel->key.op) || (!k->sum && !needs_scratch(k)))
        return 0;
    uint32_t workers = workers_for(device->impl, k, n);
    return k->sum && workers == 1 ? 0 : workers * worker_scratch(k, n);
}

/* ---- running ---- */

/* The calling thread may flush denormals or use another rounding mode, which threads that it starts
 * inherit; results must not depend on it. */
static size_t call_in_default_fenv(const struct cpu_kernel *k, const struct gx_host_args *args)
{
    struct gx_float_env caller;
    gx__float_env_default(&caller);
    size_t bad = k->fn(k->prime, args);
    gx__float_env_restore(&caller);
    return bad;
}

/* Elements from .. from + n of args; the index of a bad one counts from the start. */
static size_t run_part(const struct cpu_kernel *k, const struct gx_host_args *args, size_t from,
                       size_t n, size_t worker)
{
    struct gx_host_args part = gx__host_args_from(args, k->element_bytes, from, n);
    part.out = part.out ? (char *)part.out + from * k->element_bytes : NULL;
    if (part.scratch)
        part.scratch = (char *)part.scratch + worker * worker_scratch(k, args->n);
    size_t bad = k->floats ? call_in_default_fenv(k, &part) : k->fn(k->prime, &part);
    return bad == GX_NONE_BAD ? bad : from + bad;
}

/* ---- reductions ---- */

/* *sum = the sum of elements from .. from + n of args; otherwise as run_part. */
static size_t sum_part(const struct cpu_kernel *k, const struct gx_host_args *args, size_t from,
                       size_t n, uint64_t *sum)
{
    if (!k->fn && n) {
        struct gx_host_args part = gx__host_args_from(args, k->element_bytes, from, n);
        part.out = sum;
        size_t bad = k->sum(k->prime, &part);
        return bad == GX_NONE_BAD ? bad : from + bad;
    }
    uint64_t terms[SUM_BLOCK * GX_LIMBS_MAX], block[GX_LIMBS_MAX];
    memset(sum, 0, k->element_bytes);
    for (size_t at = from, end = from + n; at < end; at += SUM_BLOCK) {
        size_t count = end - at < SUM_BLOCK ? end - at : SUM_BLOCK;
        struct gx_host_args part = gx__host_args_from(args, k->element_bytes, at, count);
        part.out = terms;
        part.stream = false;
        size_t bad = k->fn(k->prime, &part);
        if (bad != GX_NONE_BAD)
            return at + bad;
        k->sum(k->prime, &(struct gx_host_args){.out = block, .a = terms, .n = count});
        gx__add_one(k->prime, sum, block);
    }
    return GX_NONE_BAD;
}

static void *worker_sum(const struct gx_host_args *args, size_t worker)
{
    return (char *)args->scratch + worker * SUM_SCRATCH;
}

struct spread {
    const struct cpu_kernel *kernel;
    const struct gx_host_args *args;
    size_t chunk; /* elements */
    _Atomic size_t bad;
};

static void run_chunk(void *user, size_t chunk, uint32_t worker)
{
    struct spread *spread = user;
    size_t from = chunk * spread->chunk, left = spread->args->n - from;
    size_t known = atomic_load_explicit(&spread->bad, memory_order_relaxed);
    if (from > known) /* an earlier one was already found */
        return;
    size_t n = left < spread->chunk ? left : spread->chunk;
    const struct cpu_kernel *k = spread->kernel;
    size_t bad;
    if (k->sum) {
        uint64_t sum[GX_LIMBS_MAX];
        bad = sum_part(k, spread->args, from, n, sum);
        if (bad == GX_NONE_BAD)
            gx__add_one(k->prime, worker_sum(spread->args, worker), sum);
    } else {
        bad = run_part(k, spread->args, from, n, worker);
    }
    while (bad < known && !atomic_compare_exchange_weak(&spread->bad, &known, bad))
        ;
}

static size_t run_spread(struct gx_device *device, const struct cpu_kernel *k,
                         const struct gx_host_args *args, uint32_t workers)
{
    struct spread spread = {.kernel = k,
                            .args = args,
                            .chunk = chunk_elements(device->impl, k, args->n),
                            .bad = GX_NONE_BAD};
    size_t chunks = (args->n + spread.chunk - 1) / spread.chunk;
    gx__threads_run(device->instance, GX_THREADS_COMPUTE, workers, chunks, run_chunk, &spread);
    return atomic_load(&spread.bad);
}

/* Not inlined: its terms would enlarge the stack frame of every call. */
__attribute__((noinline)) static size_t run_reduction(struct gx_device *device,
                                                      const struct gx_host_call *call,
                                                      const struct gx_host_args *args)
{
    const struct cpu_kernel *k = call->kernel.impl;
    uint64_t sum[GX_LIMBS_MAX] = {0};
    size_t bad;
    if (call->threads > 1) {
        memset(args->scratch, 0, call->threads * (size_t)SUM_SCRATCH);
        bad = run_spread(device, k, args, call->threads);
        for (uint32_t w = 0; w < call->threads; w++)
            gx__add_one(k->prime, sum, worker_sum(args, w));
    } else {
        bad = sum_part(k, args, 0, args->n, sum);
    }
    if (bad == GX_NONE_BAD && call->kernel.key.accumulate)
        gx__add_one(k->prime, args->out, sum);
    else if (bad == GX_NONE_BAD)
        memcpy(args->out, sum, k->element_bytes);
    return bad;
}

/* ---- registered operations ---- */

/* A guess of what an element costs, for choosing threads: nothing is known about the function. */
static struct cpu_kernel registered_cost(const struct gx_registered_op *registered)
{
    uint32_t bytes = 0;
    for (int i = 0; i < GX_OPERANDS; i++)
        bytes += (uint32_t)gx__op_element(registered->op, 0, i);
    return (struct cpu_kernel){.ns = OWN_NS + bytes / OWN_BYTES_PER_NS};
}

struct registered_spread {
    const struct gx_host_call *call;
    size_t chunk; /* elements */
};

static void run_registered_chunk(void *user, size_t chunk, uint32_t worker)
{
    const struct registered_spread *spread = user;
    size_t from = chunk * spread->chunk, left = (size_t)spread->call->n - from;
    (void)worker;
    gx__registered_op_run(spread->call->kernel.impl, spread->call->operand,
                          spread->call->kernel.key.broadcast, spread->call->kernel.key.param, from,
                          left < spread->chunk ? left : spread->chunk);
}

static gx_status run_registered(struct gx_device *device, struct gx_host_call *call)
{
    const struct gx_registered_op *registered = call->kernel.impl;
    const struct cpu_kernel cost = registered_cost(registered);
    struct registered_spread spread = {call, (size_t)call->n};
    call->threads =
        registered->desc.flags & GX_OP_WHOLE ? 1 : workers_for(device->impl, &cost, call->n);
    call->bad = GX_NONE_BAD;
    if (call->threads > 1)
        spread.chunk = chunk_elements(device->impl, &cost, call->n);
    size_t chunks = ((size_t)call->n + spread.chunk - 1) / spread.chunk;
    gx__threads_run(device->instance, GX_THREADS_COMPUTE, call->threads, chunks,
                    run_registered_chunk, &spread);
    return GX_OK;
}

static size_t check(struct gx_device *device, const struct cpu_kernel *k, const void *elements,
                    size_t n)
{
    const struct gx_host_args args = {.a = elements, .n = n, .check = true};
    uint32_t workers = workers_for(device->impl, k, n);
    return workers > 1 ? run_spread(device, k, &args, workers) : k->fn(k->prime, &args);
}

/* The elements of a: contiguous, or some columns of each row. */
static size_t check_transforms(struct gx_device *device, const struct gx_host_call *call)
{
    const struct cpu_kernel *k = call->kernel.impl;
    const uint32_t *param = call->kernel.key.param;
    size_t n = (size_t)call->n >> param[GX_PARAM_LOG2_PAD];
    size_t columns = (size_t)call->n >> param[GX_PARAM_LOG2_N], bad = GX_NONE_BAD;
    size_t stride = (size_t)gx__param64(param + GX_PARAM_STRIDE_A);
    if (!(param[GX_PARAM_NTT_FLAGS] & GX_NTT_COLUMNS) || stride == columns)
        return check(device, k, call->operand[GX_A], n);
    for (size_t row = 0, rows = n / columns; row < rows && bad == GX_NONE_BAD; row++) {
        size_t at = row * stride;
        bad = check(device, k, (char *)call->operand[GX_A] + at * k->element_bytes, columns);
        bad = bad == GX_NONE_BAD ? bad : at + bad;
    }
    return bad;
}

/* Checks the input in a pass of its own: transforms read it in an order that suits them. */
static gx_status run_ntt(struct gx_device *device, struct gx_host_call *call)
{
    const struct cpu *cpu = device->impl;
    call->bad = GX_NONE_BAD;
    call->threads =
        workers_for(cpu, call->kernel.impl, call->n >> call->kernel.key.param[GX_PARAM_LOG2_PAD]);
    if (call->kernel.key.check)
        call->bad = check_transforms(device, call);
    if (call->bad == GX_NONE_BAD)
        gx__cpu_ntt_run(&cpu->ntt, device->instance, call);
    return GX_OK;
}

static gx_status run_msm(struct gx_device *device, struct gx_host_call *call)
{
    const struct cpu *cpu = device->impl;
    const struct cpu_kernel *k = call->kernel.impl;
    const struct gx_host_args args = {
        .a = call->operand[GX_A], .n = (size_t)call->n, .check = true};
    call->bad = GX_NONE_BAD;
    call->threads = workers_for(cpu, k, args.n);
    if (call->kernel.key.check && call->kernel.key.param[GX_PARAM_SCALARS] == GX_SCALAR_MONT)
        call->bad = call->threads > 1 ? run_spread(device, k, &args, call->threads)
                                      : k->fn(k->prime, &args);
    if (call->bad == GX_NONE_BAD)
        gx__cpu_msm_run(&cpu->msm, device->instance, call);
    return GX_OK;
}

static gx_status cpu_run(struct gx_device *device, struct gx_host_call *call)
{
    const struct cpu *cpu = device->impl;
    const struct cpu_kernel *k = call->kernel.impl;
    gx_op op = call->kernel.key.op;
    if (gx__is_registered_op(op))
        return run_registered(device, call);
    if (op == GX_NTT)
        return run_ntt(device, call);
    if (op == GX_MSM)
        return run_msm(device, call);
    if (op == GX_OP_MSM_SUMS) {
        gx__cpu_msm_sums(call);
        return GX_OK;
    }
    if (gx__cpu_is_poly(op)) {
        call->threads = workers_for_row(cpu, op, call->n);
        return gx__cpu_poly_run(device, cpu->table.fn[call->kernel.key.field], call);
    }
    struct gx_host_args args = {.out = call->operand[GX_OUT],
                                .a = call->operand[GX_A],
                                .b = call->operand[GX_B],
                                .c = call->operand[GX_C],
                                .n = (size_t)call->n,
                                .broadcast = call->kernel.key.broadcast,
                                .check = call->kernel.key.check,
                                .scratch = call->scratch};
    gx__host_lower(call->kernel.key.op, k->prime, &args);
    args.stream = args.n * k->element_bytes * (k->operands + 1) > cpu->stream_bytes;
    call->threads = workers_for(cpu, k, call->n);
    call->bad = k->sum              ? run_reduction(device, call, &args)
                : call->threads > 1 ? run_spread(device, k, &args, call->threads)
                : k->floats         ? call_in_default_fenv(k, &args)
                                    : k->fn(k->prime, &args);
    return GX_OK;
}

const struct gx_device_ops gx__cpu_ops = {
    .name = "cpu",
    .enumerate = cpu_enumerate,
    .open = cpu_open,
    .close = cpu_close,
    .mem_alloc = cpu_mem_alloc,
    .mem_free = cpu_mem_free,
    .map = cpu_map,
    .unmap = cpu_unmap,
    .kernel = cpu_kernel,
    .scratch = cpu_scratch,
    .table = cpu_table,
    .run = cpu_run,
};
