/* SPDX-License-Identifier: Apache-2.0
 *
 * Scratch: what an engine gets for a job suffices for each of its dispatches, however it is cut.
 * The devices here compute nothing. They need as much as a CPU tier, a GPU or the reference would,
 * or what no device would, and watch what they are given; the GPUs of this machine are among them.
 * Transforms of the sizes that once overflowed are also computed.
 */

#include "base/options.h"
#include "base/trace.h"
#include "compose/compose.h"
#include "device/cpu/kernels.h"
#include "device/gpu/gpu.h"
#include "op/domain.h"
#include "op/msm.h"
#include "support/harness.h"
#include "support/task.h"

/* Elements of the largest job where it has no memory, and where its operands are copied. */
#define ELEMENTS ((size_t)1 << 26)
#define COPIED   ((size_t)1 << 15)
/* Bytes for either, and for the transforms that are computed. */
#define ARENA ((size_t)1 << 25)
/* The largest transform; points; and dispatches of a job. */
enum { LOG2_MAX = 24, POINTS = 6000, DISPATCHES = 1024 };

static struct gx_instance instance;
static struct gx_registered_memory hosts;
static struct gx_engine engine;
static uint64_t rng = 311;
static char *in, *out;

/* ---- what a kernel needs ---- */

/* Of the CPU or the reference. */
static struct gx_cpu_ntt ntt;
static struct gx_cpu_msm msm;
/* Of a GPU. */
static struct gx_pass_facts facts;

typedef size_t (*need_fn)(const struct gx_kernel *kernel, uint64_t n);
static need_fn need;
static const struct gx_device_ops *real; /* of the device that is watched */

static size_t need_of_gpu(const struct gx_kernel *kernel, uint64_t n)
{
    static struct gx_passes passes;
    gx__passes(&kernel->key, n, &facts, &passes);
    return (size_t)passes.scratch_quads * 16;
}

/* Of the device that is watched. */
static size_t need_of_device(const struct gx_kernel *kernel, uint64_t n)
{
    return real->scratch(&engine.device, kernel, n);
}

static size_t need_of_cpu(const struct gx_kernel *kernel, uint64_t n)
{
    if (kernel->key.op == GX_NTT)
        return gx__cpu_ntt_scratch(&ntt, kernel, n);
    if (kernel->key.op == GX_MSM)
        return gx__cpu_msm_scratch(&msm, kernel, n);
    return need_of_device(kernel, n);
}

/* A size of the pool, which its rounding does not hide. */
static size_t need_of_any(const struct gx_kernel *kernel, uint64_t n)
{
    uint64_t seed = n * 64 + kernel->key.op;
    return kernel->key.op == GX_OP_CHECK ? 0 : (size_t)4096 << gxt_next(&seed) % 6;
}

/* ---- the device ---- */

static size_t asked;   /* the most that the engine was told since its job began ... */
static size_t largest; /* ... and that one of its dispatches needed */
static size_t runs;    /* dispatches that needed some */

static size_t watch_scratch(struct gx_device *device, const struct gx_kernel *kernel, uint64_t n)
{
    size_t bytes = need(kernel, n);
    (void)device;
    asked = bytes > asked ? bytes : asked;
    return bytes;
}

static void check_need(const struct gx_kernel *kernel, uint64_t n, bool has)
{
    size_t bytes = need(kernel, n);
    if (bytes && (!has || bytes > asked))
        fail_msg("op %u, field %u, %llu elements: %zu bytes needed, %zu asked for", kernel->key.op,
                 kernel->key.field, (unsigned long long)n, bytes, asked);
    largest = bytes > largest ? bytes : largest;
    runs += bytes > 0;
}

static gx_status watch_run(struct gx_device *device, struct gx_host_call *call)
{
    (void)device;
    check_need(&call->kernel, call->n, call->scratch);
    call->bad = GX_NONE_BAD;
    call->threads = 1;
    return GX_OK;
}

static void watch_dispatch(struct gx_cmd *cmd, const struct gx_dispatch *d)
{
    const struct gx_mem *scratch = d->bind[GX_BIND_SCRATCH].mem;
    (void)cmd;
    check_need(&d->kernel, d->n, scratch && scratch->size >= need(&d->kernel, d->n));
}

/* Without the work of filling it. */
static size_t watch_table(struct gx_device *device, const struct gx_kernel *kernel, void *table)
{
    (void)table;
    return kernel->key.op == GX_MSM ? gx__cpu_msm_table(&msm, device->instance, kernel, NULL)
                                    : gx__cpu_ntt_table(&ntt, kernel, NULL);
}

/* On a device that works on host memory nobody touches scratch or tables, so there are none: they
 * would be gigabytes. */
static gx_status watch_alloc(struct gx_device *device, enum gx_mem_kind kind, size_t bytes,
                             struct gx_mem *mem)
{
    (void)device;
    *mem = (struct gx_mem){.kind = kind, .size = bytes, .host = in};
    return GX_OK;
}

static void watch_free(struct gx_device *device, struct gx_mem *mem)
{
    (void)device;
    (void)mem;
}

static gx_status watch_map(struct gx_device *device, struct gx_mem *mem, void **host)
{
    (void)device;
    (void)mem;
    (void)host;
    return GX_ERR_UNSUPPORTED;
}

static void open_watched(const char *name)
{
    static struct gx_device_ops watched;
    struct gx_error error = {""};
    memset(&instance, 0, sizeof instance);
    assert_int_equal(
        gx__config_complete(&instance.config, &(gx_config){.cache_dir = "none"}, &error), GX_OK);
    gx__trace_init(&instance);
    gx__registered_memory_init(&hosts);
    instance.registered = &hosts;
    if (gx__engine_open(&engine, &instance, name, &error) != GX_OK)
        fail_msg("%s", error.text);
    real = engine.device.ops;
    watched = *real;
    watched.scratch = watch_scratch;
    watched.table = real->table ? watch_table : NULL;
    watched.run = real->run ? watch_run : NULL;
    watched.dispatch = real->dispatch ? watch_dispatch : NULL;
    if (real->run) {
        watched.mem_alloc = watch_alloc;
        watched.mem_free = watch_free;
        watched.map = watch_map;
    }
    engine.device.ops = &watched;
}

static void close_watched(void)
{
    gx__engine_close(&engine);
    gx__registered_memory_close(&hosts);
    gx__device_stop(&instance);
    gx__threads_end(&instance);
    gx__trace_end(&instance);
}

/* ---- jobs ---- */

struct params {
    struct gx_domain domain;
    struct gx_points points;
    union {
        gx_ntt_params ntt;
        gx_poly_params poly;
        gx_msm_params msm;
    };
};

/* 1 .. most, all sizes about as often. */
static uint64_t any_size(uint64_t most)
{
    uint64_t size = gxt_next(&rng) >> (gxt_next(&rng) % 64);
    return 1 + (size ? size - 1 : 0) % most;
}

static void make_ntt(gx_job *job, struct params *p, size_t most)
{
    const uint32_t log2_most = (uint32_t)__builtin_ctzll(most);
    const uint32_t log2_n =
        (uint32_t)(gxt_next(&rng) % ((log2_most < LOG2_MAX ? log2_most : LOG2_MAX) + 1));
    struct gx_error error;
    assert_int_equal(
        gx__domain_set(&p->domain, &instance, gx__prime(job->field), log2_n, NULL, NULL, &error),
        GX_OK);
    p->ntt = (gx_ntt_params){.struct_size = sizeof p->ntt,
                             .domain = &p->domain,
                             .log2_n = log2_n,
                             .log2_pad = (uint32_t)(gxt_next(&rng) % (log2_n + 1)),
                             .flags = (uint32_t)(gxt_next(&rng) % 32)};
    job->n = (size_t)any_size((most >> log2_n) + 1) << log2_n;
}

static void make_msm(gx_job *job, struct params *p)
{
    gx_curve curve = 0;
    while (!gx__curve(curve) || gx__curve(curve)->info.scalar_field != job->field)
        curve = (gx_curve)(gxt_next(&rng) % GX_CURVE_END);
    p->points = (struct gx_points){.instance = &instance,
                                   .id = gx__table_id(),
                                   .curve = gx__curve(curve),
                                   .count = (size_t)any_size(POINTS),
                                   .table_bytes = any_size((uint64_t)1 << 22),
                                   .xy = (uint64_t *)(void *)in};
    p->msm = (gx_msm_params){.struct_size = sizeof p->msm,
                             .points = &p->points,
                             .count = any_size(p->points.count),
                             .scalar_form = GX_SCALAR_PLAIN,
                             .scalar_bits = (uint32_t)(gxt_next(&rng) % 257),
                             .result_form = GX_POINT_XY_MONT};
    job->n = p->msm.count * any_size(4);
}

static void make_poly(gx_job *job, struct params *p)
{
    const bool reversed = job->op == GX_EVALUATE && gxt_next(&rng) % 2;
    p->poly =
        (gx_poly_params){.struct_size = sizeof p->poly, .flags = reversed ? GX_POLY_REVERSED : 0};
    if (reversed || job->op == GX_BIT_REVERSE)
        while (job->n & (job->n - 1))
            job->n &= job->n - 1;
    if (job->op == GX_COSETS || job->op == GX_INTERLEAVE || job->op == GX_DEINTERLEAVE) {
        p->poly.count = any_size(job->n);
        job->n -= job->n % p->poly.count;
    }
    if (job->op == GX_GATHER)
        p->poly.count = any_size(job->n);
}

static gx_job any_job(struct params *p, size_t most)
{
    gx_job job = {.flags = gxt_next(&rng) % 2 ? GX_JOB_UNCHECKED : 0};
    const bool in_place = gxt_next(&rng) % 4 == 0;
    do {
        job.op = 1 + (gx_op)(gxt_next(&rng) % (GX_OP_END - 1));
        job.op = gxt_next(&rng) % 4 ? job.op : GX_NTT;
        job.field = 1 + (gx_field)(gxt_next(&rng) % (GX_FIELD_END - 1));
    } while (!gx_op_exists(job.op, job.field));
    job.n = (size_t)any_size(most);
    if (gx__op_has_params(job.op)) {
        job.params = &p->ntt;
        if (job.op == GX_NTT)
            make_ntt(&job, p, most);
        else if (job.op == GX_MSM)
            make_msm(&job, p);
        else
            make_poly(&job, p);
    }
    gx_operand *operand[] = {&job.a, &job.b, &job.c};
    for (unsigned i = 0; i < gx__op_operands(job.op); i++)
        *operand[i] = gx_host(in);
    if (!gx__op_has_params(job.op) && gx__op_operands(job.op) > 1)
        job.b.broadcast = gxt_next(&rng) % 4 == 0;
    job.out = gx_host(in_place && !gx__op_has_params(job.op) ? in : out);
    return job;
}

/* ---- cutting them ---- */

static void try_one(size_t most)
{
    static struct params p;
    gx_job job = any_job(&p, most);
    struct gx_batch batch = {.jobs = gxt_task(&job),
                             .count = 1,
                             .path = (gx_path)(gxt_next(&rng) % 3),
                             .mode = (gx_mode)(gxt_next(&rng) % 4)};
    struct gx_plan plan = {.count = 0};
    uint64_t whole = job.op == GX_NTT ? gxt_task(&job)->unit : 1; /* smaller ones are other jobs */
    engine.device.facts.dispatch_elems = whole - 1 + job.n / DISPATCHES + any_size(2 * job.n);
    instance.config.stream_chunk_elems = gxt_next(&rng) % 2 ? any_size(2 * job.n) : 0;
    asked = largest = 0;
    gx_status s = gx__compose_run(&engine, &batch);
    if (s != GX_OK)
        fail_msg("op %u, field %u, n %zu: %s", job.op, job.field, job.n, batch.error.text);
    if (job.out.host == in && !real->run)
        memset(in, 0, job.n * 48);
    if (job.op == GX_MSM) /* which takes what there is */
        return;
    batch.plan = &plan;
    assert_int_equal(gx__compose_run(&engine, &batch), GX_OK);
    if (plan.memory < largest)
        fail_msg("op %u, field %u, n %zu: %zu bytes planned, %zu needed", job.op, job.field, job.n,
                 plan.memory, largest);
}

static void try_many(size_t count, size_t most)
{
    runs = 0;
    for (size_t i = 0; i < count; i++)
        try_one(most);
    assert_true(runs > count / 8);
}

static void cpu_has_enough(void **state)
{
    static const uint32_t threads[] = {1, 2, 3, 7, 16, 64};
    (void)state;
    open_watched("cpu");
    need = need_of_cpu;
    for (unsigned tier = 0; tier < GX_TIERS; tier++) {
        unsigned bits = (2u << tier) - 1;
        if (!(gx__host_tiers() >> tier & 1))
            continue;
        for (size_t t = 0; t < GXT_COUNT(threads); t++) {
            gx__cpu_ntt_open(&ntt, bits, NULL, threads[t]);
            gx__cpu_msm_open(&msm, bits, false, threads[t]);
            try_many(gxt_small() ? 300 : 1500, ELEMENTS);
        }
    }
    close_watched();
}

static void reference_has_enough(void **state)
{
    struct gx_host_table table;
    (void)state;
    gx__host_reference(&table);
    gx__cpu_ntt_open(&ntt, 0, &table, 1);
    gx__cpu_msm_open(&msm, 0, true, 1);
    open_watched("ref");
    need = need_of_cpu;
    try_many(gxt_small() ? 300 : 1500, ELEMENTS);
    close_watched();
}

static void gpu_has_enough(void **state)
{
    static const struct gx_pass_facts kinds[] = {
        {.each = 1, .workgroup = 64, .direct = GX_INVERSE_DIRECT_INT32, .inverse = 600},
        {.each = 4, .workgroup = 128, .direct = GX_INVERSE_DIRECT_INT64, .inverse = 40},
        {.each = 4, .small = 2, .workgroup = 256, .direct = GX_INVERSE_DIRECT_INT64, .inverse = 40},
        {.each = 8, .small = 2, .workgroup = 64, .direct = 2, .inverse = 40},
    };
    (void)state;
    gx__cpu_ntt_open(&ntt, ~0u, NULL, 1);
    gx__cpu_msm_open(&msm, ~0u, false, 1);
    open_watched("sim:desktop");
    need = need_of_gpu;
    for (size_t i = 0; i < GXT_COUNT(kinds); i++) {
        facts = kinds[i];
        try_many(gxt_small() ? 100 : 500, COPIED);
    }
    close_watched();
}

/* No order in what they need. */
static void any_device_has_enough(void **state)
{
    static const char *const names[] = {"cpu", "sim:desktop"};
    (void)state;
    gx__cpu_ntt_open(&ntt, ~0u, NULL, 1);
    gx__cpu_msm_open(&msm, ~0u, false, 1);
    for (size_t i = 0; i < GXT_COUNT(names); i++) {
        open_watched(names[i]);
        need = need_of_any;
        try_many(gxt_small() ? 200 : 1000, COPIED);
        close_watched();
    }
}

/* ---- the GPUs of this machine ---- */

/* Their kernels are not compiled: only what they are built with counts. */
static const struct gx_gpu_ops *real_gpu;

static gx_status no_compile(struct gx_gpu *gpu, const struct gx_pipeline_key *key, void **pipeline)
{
    (void)gpu;
    (void)key;
    *pipeline = &engine;
    return GX_OK;
}

static void no_drop(struct gx_gpu *gpu, void *pipeline)
{
    if (pipeline != &engine)
        real_gpu->drop(gpu, pipeline);
}

static struct gx_choice no_tune(struct gx_gpu *gpu, gx_field field, enum gx_shader_family family)
{
    (void)field;
    return gx__gpu_guess(gpu, family);
}

static void present_gpus_have_enough(void **state)
{
    static struct gx_gpu_ops ops;
    const char *gpus[GXT_GPUS];
    size_t count = gxt_gpus(gpus);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        open_watched(gpus[i]);
        struct gx_gpu *gpu = engine.device.impl;
        real_gpu = gpu->ops;
        ops = *real_gpu;
        ops.compile = no_compile;
        ops.drop = no_drop;
        ops.tune = no_tune;
        gpu->ops = &ops;
        need = need_of_device;
        try_many(gxt_small() ? 50 : 200, COPIED);
        close_watched();
    }
}

/* ---- transforms that overflowed ---- */

static void transform(const char *tiers, uint32_t threads, uint32_t log2_n, size_t batch,
                      uint64_t dispatch)
{
    const size_t n = batch << log2_n;
    const gx_domain_params desc = {
        .struct_size = sizeof desc, .field = GX_BLS12_381_FR, .log2_size = log2_n};
    for (int i = 0; i < 2; i++) {
        gx_ctx *ctx = gxt_open(&(gx_config){.struct_size = sizeof(gx_config),
                                            .device = "cpu",
                                            .cpumask = tiers,
                                            .threads = threads,
                                            .dispatch_elems = i ? dispatch : 0,
                                            .cache_dir = "none"});
        gx_ntt_params params = {.struct_size = sizeof params, .log2_n = log2_n};
        gx_domain *domain;
        gx_job job = gxt_job(GX_NTT, GX_BLS12_381_FR, n, in, NULL, NULL, out + (i ? n * 32 : 0));
        assert_int_equal(gx_domain_create(ctx, &desc, &domain), GX_OK);
        params.domain = domain;
        job.params = &params;
        assert_int_equal(gx_run(ctx, &job, 1, NULL, NULL), GX_OK);
        gx_domain_destroy(&domain);
        gx_close(&ctx);
    }
    assert_memory_equal(out, out + n * 32, n * 32);
}

/* A short last piece goes along each transform where the others go across eight, or through all of
 * them at once where the others go through one after the other. */
static void short_last_pieces(void **state)
{
    static const char *const tiers[] = {"portable", "portable,adx", "portable,adx,avx512"};
    (void)state;
    gxt_fill(&rng, GX_BLS12_381_FR, in, (size_t)31 << 13);
    for (size_t i = 0; i < GXT_COUNT(tiers); i++) {
        transform(tiers[i], 0, 7, 74, 3043);
        transform(tiers[i], 1, 13, 15, 8u << 13);
        transform(tiers[i], 2, 13, 31, 16u << 13);
    }
}

static int prepare(void **state)
{
    (void)state;
    gxt_clear_environment();
    gxt_enter_machines();
    in = gxt_alloc(ARENA);
    out = gxt_alloc(ARENA);
    memset(in, 0, ARENA);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    free(in);
    free(out);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_has_enough),           cmocka_unit_test(reference_has_enough),
        cmocka_unit_test(gpu_has_enough),           cmocka_unit_test(any_device_has_enough),
        cmocka_unit_test(present_gpus_have_enough), cmocka_unit_test(short_last_pieces),
    };
    const struct CMUnitTest of_gpu[] = {cmocka_unit_test(present_gpus_have_enough)};
    gxt_choose_gpu(argc, argv);
    return gxt_one_gpu() ? cmocka_run_group_tests(of_gpu, prepare, finish)
                         : cmocka_run_group_tests(tests, prepare, finish);
}
