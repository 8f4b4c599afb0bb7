/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan on tables and on random batches: which path and mode, how jobs are cut into
 * pieces and groups, where operands lie in staging memory, what may not share a group,
 * when inputs are checked in a pass of their own, and that no budget is exceeded. No
 * device is opened: the facts are made up. Internal: it links the static library.
 */
#include "exec/plan.h"
#include "facts.h"
#include "support/harness.h"
#include "support/task.h"

enum {
    STAGED = GX_MEM_BIT(GX_MEM_DEVICE) | GX_MEM_BIT(GX_MEM_UPLOAD) | GX_MEM_BIT(GX_MEM_READBACK)
};
enum { SHARED = GX_MEM_BIT(GX_MEM_SHARED), ALL = STAGED | SHARED };
enum {
    ONE_QUEUE = GX_QUEUE_BIT(GX_QUEUE_COMPUTE),
    TWO_QUEUES = ONE_QUEUE | GX_QUEUE_BIT(GX_QUEUE_UPLOAD),
    THREE_QUEUES = TWO_QUEUES | GX_QUEUE_BIT(GX_QUEUE_DOWNLOAD)
};

/* Never read: a plan only compares addresses. */
static char memory[1 << 16];
static char *const a = memory, *const b = memory + 8192, *const c = memory + 16384,
                   *const out = memory + 24576;
static gx_buf *const buffer = (gx_buf *)(void *)memory;
static gx_buf *const other = (gx_buf *)(void *)(memory + 64);

static struct gx_plan plan_all(const gx_job *jobs, size_t count,
                               const struct gx_device_facts *facts,
                               const struct gx_plan_request *asked)
{
    struct gx_plan plan;
    memset(&plan, 0x5c, sizeof plan); /* all of it is set */
    assert_int_equal(gx__plan_batch(gxt_tasks(jobs, count), count, facts, asked, &plan), GX_OK);
    return plan;
}

/* The plan of one job, and its first group. */
static struct gx_group group;
static struct gx_plan plan_of(const gx_job *job, const struct gx_device_facts *facts, gx_path path)
{
    static struct gx_plan_request asked;
    struct gx_cursor cursor = {0};
    asked = (struct gx_plan_request){.path = path};
    struct gx_plan plan = plan_all(job, 1, facts, &asked);
    memset(&group, 0x5c, sizeof group);
    assert_true(gx__plan_next(&plan, &cursor, &group));
    return plan;
}

static struct gx_device_facts facts_of(uint32_t kinds, uint64_t dispatch_elems)
{
    return (struct gx_device_facts){
        .mem_kinds = kinds, .dispatch_elems = dispatch_elems, .queues = ONE_QUEUE};
}

/* ---- path ---- */

static void buffers_alone_are_used_where_they_are(void **state)
{
    (void)state;
    struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
    gx_job job = {.op = GX_ADD, .field = GX_U32, .n = 5};
    job.a = gx_dev(buffer, 0);
    job.b = gx_dev(buffer, 64);
    job.out = gx_dev(buffer, 128);
    for (int path = GX_PATH_AUTO; path <= GX_PATH_DEVICE_LOCAL; path++) {
        struct gx_plan plan = plan_of(&job, &facts, (gx_path)path);
        assert_int_equal(plan.path, GX_PATH_DIRECT);
        assert_int_equal(plan.memory, 0);
    }
}

/* They need no staging memory, so that no size of a chunk cuts them apart; only that a submit
 * ends some time does. */
static void buffers_alone_share_a_submit(void **state)
{
    (void)state;
    enum { CHAIN = 32, N = 4 << 20 };
    struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
    struct gx_plan_request asked = {0};
    gx_job jobs[CHAIN + 1];
    for (size_t i = 0; i <= CHAIN; i++) { /* there and back between two places */
        jobs[i] = (gx_job){.op = GX_MUL, .field = GX_BLS12_381_FQ, .n = N};
        jobs[i].a = gx_dev(i % 2 ? other : buffer, 0);
        jobs[i].b = gx_dev(buffer, (size_t)N * 48);
        jobs[i].out = gx_dev(i % 2 ? buffer : other, 0);
    }
    struct gx_plan plan = plan_all(jobs, CHAIN, &facts, &asked);
    assert_int_equal(plan.mode, GX_MODE_SINGLE_SUBMIT);
    assert_int_equal(plan.groups, 1);
    assert_int_equal(plan.dispatches, CHAIN);
    plan = plan_all(jobs, CHAIN + 1, &facts, &asked);
    assert_int_equal(plan.groups, 2);
    /* one that needs staging is bound by the chunk as ever */
    asked.mode = GX_MODE_SINGLE_SUBMIT;
    asked.chunk_elems = 100;
    for (size_t i = 0; i < 4; i++) {
        jobs[i].n = 100;
        jobs[i].b = gx_host(b);
    }
    plan = plan_all(jobs, 4, &facts, &asked);
    assert_int_equal(plan.groups, 2);
    /* and where memory is short, not even the bad words of the checks have to fit at once */
    for (size_t i = 0; i < CHAIN; i++) {
        jobs[i].n = 100;
        jobs[i].b = gx_dev(buffer, (size_t)N * 48);
    }
    asked = (struct gx_plan_request){.memory = 4096};
    plan = plan_all(jobs, CHAIN, &facts, &asked);
    assert_true(plan.memory <= 4096);
}

static void what_is_asked_for_is_done(void **state)
{
    (void)state;
    struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
    const size_t sizes[] = {1, 1000, (size_t)1 << 24};
    for (size_t i = 0; i < GXT_COUNT(sizes); i++) {
        gx_job job = gxt_job(GX_ADD, GX_BN254_FR, sizes[i], a, b, NULL, out);
        assert_int_equal(plan_of(&job, &facts, GX_PATH_HOST_VISIBLE).path, GX_PATH_HOST_VISIBLE);
        assert_int_equal(plan_of(&job, &facts, GX_PATH_DEVICE_LOCAL).path, GX_PATH_DEVICE_LOCAL);
    }
}

struct speed_case {
    size_t n;
    float shared_write, shared_read, shared_kernel; /* GB/s */
    float up, copy, down;
    gx_path want;
};

static void the_faster_path_is_chosen(void **state)
{
    (void)state;
    static const struct speed_case cases[] = {
        /* a software device: all memory is the same, copies are in vain */
        {1000, 10, 10, 10, 10, 10, 10, GX_PATH_HOST_VISIBLE},
        {10000000, 10, 10, 10, 10, 10, 10, GX_PATH_HOST_VISIBLE},
        /* kernels reach mapped memory over a slow bus: copies pay, but not for few */
        {64, 10, 10, 5, 10, 50, 10, GX_PATH_HOST_VISIBLE},
        {1000000, 10, 10, 5, 10, 50, 10, GX_PATH_DEVICE_LOCAL},
        /* mapped memory that the host reads slowly, such as a GPU's own */
        {64, 10, 0.5f, 100, 10, 50, 10, GX_PATH_HOST_VISIBLE},
        {100000, 10, 0.05f, 100, 10, 50, 10, GX_PATH_DEVICE_LOCAL},
        /* not measured: by size */
        {1000, 0, 0, 0, 0, 0, 0, GX_PATH_HOST_VISIBLE},
        {((size_t)1 << 20) - 1, 0, 0, 0, 0, 0, 0, GX_PATH_HOST_VISIBLE},
        {(size_t)1 << 20, 0, 0, 0, 0, 0, 0, GX_PATH_DEVICE_LOCAL},
    };
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        const struct speed_case *k = &cases[i];
        struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
        facts.speed[GX_MEM_SHARED] = (struct gx_mem_speed){.host_write = k->shared_write,
                                                           .host_read = k->shared_read,
                                                           .kernel_read = k->shared_kernel,
                                                           .kernel_write = k->shared_kernel};
        facts.speed[GX_MEM_UPLOAD] = (struct gx_mem_speed){.host_write = k->up, .copy_in = k->copy};
        facts.speed[GX_MEM_READBACK] =
            (struct gx_mem_speed){.host_read = k->down, .copy_out = k->copy};
        gx_job job = gxt_job(GX_ADD, GX_BN254_FR, k->n, a, b, NULL, out);
        if (plan_of(&job, &facts, GX_PATH_AUTO).path != k->want)
            fail_msg("case %zu", i);
    }
}

/* Over a bus, a transform costs more than what reads the same bytes in order; where host memory is
 * as fast as the device's own, it does not. */
static void transforms_avoid_a_bus(void **state)
{
    (void)state;
    struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
    const struct gx_mem_speed pinned = {.host_write = 12,
                                        .host_read = 12,
                                        .copy_in = 50,
                                        .copy_out = 50,
                                        .kernel_read = 50,
                                        .kernel_write = 50};
    gx_ntt_params params = {.struct_size = sizeof params, .log2_n = 14};
    gx_job ntt = gxt_job(GX_NTT, GX_BLS12_381_FR, (size_t)1 << 14, a, NULL, NULL, out);
    gx_job neg = gxt_job(GX_NEG, GX_BLS12_381_FR, (size_t)1 << 14, a, NULL, NULL, out);
    ntt.params = &params;
    for (int kind = GX_MEM_UPLOAD; kind < GX_MEM_KINDS; kind++)
        facts.speed[kind] = pinned;
    facts.speed[GX_MEM_DEVICE] = (struct gx_mem_speed){.kernel_read = 4000, .kernel_write = 4000};
    assert_int_equal(plan_of(&ntt, &facts, GX_PATH_AUTO).path, GX_PATH_DEVICE_LOCAL);
    assert_int_equal(plan_of(&neg, &facts, GX_PATH_AUTO).path, GX_PATH_HOST_VISIBLE);
    facts.speed[GX_MEM_DEVICE] = pinned;
    assert_int_equal(plan_of(&ntt, &facts, GX_PATH_AUTO).path, GX_PATH_HOST_VISIBLE);
}

static void the_only_possible_path_is_chosen(void **state)
{
    (void)state;
    const size_t sizes[] = {1, (size_t)1 << 24};
    for (size_t i = 0; i < GXT_COUNT(sizes); i++) {
        gx_job job = gxt_job(GX_ADD, GX_U32, sizes[i], a, b, NULL, out);
        struct gx_device_facts shared = facts_of(SHARED, UINT32_MAX);
        struct gx_device_facts staged = facts_of(STAGED, UINT32_MAX);
        assert_int_equal(plan_of(&job, &shared, GX_PATH_AUTO).path, GX_PATH_HOST_VISIBLE);
        assert_int_equal(plan_of(&job, &staged, GX_PATH_AUTO).path, GX_PATH_DEVICE_LOCAL);
    }
}

/* ---- pieces ---- */

struct piece_case {
    size_t n;
    uint64_t dispatch_elems, chunk, step, piece;
    uint64_t groups;
    bool staged;
};

static void pieces_and_steps(void **state)
{
    (void)state;
    enum { MANY = GX_GROUP_DISPATCHES };
    static const struct piece_case cases[] = {
        {1, UINT32_MAX, 0, 1, 1, 1, true},
        {1000, UINT32_MAX, 0, 1000, 1000, 1, true},
        {1000, 1000, 0, 1000, 1000, 1, true},
        {1000, 999, 0, 999, 1000, 1, true},
        {1000, 1, 0, 1, MANY, 16, true},
        {1000, 100, 0, 100, 1000, 1, true},
        {100 * MANY, 100, 0, 100, 100 * MANY, 1, true},
        {100 * MANY + 1, 100, 0, 100, 3328, 2, true}, /* two alike, in multiples of 256 */
        {1000, UINT32_MAX, 300, 256, 256, 4, true},
        {1000, 70, 300, 70, 256, 4, true},
        {1000, UINT32_MAX, 200, 200, 200, 5, true}, /* but not more than the chunk */
        {133541, UINT32_MAX, 65536, 44544, 44544, 3, true},
        {1000, UINT32_MAX, 1, 1, 1, 1000, true},
        {GX_CHUNK_ELEMS, UINT32_MAX, 0, GX_CHUNK_ELEMS, GX_CHUNK_ELEMS, 1, true},
        {GX_CHUNK_ELEMS + 1, UINT32_MAX, 0, GX_CHUNK_ELEMS / 2 + 256, GX_CHUNK_ELEMS / 2 + 256, 2,
         true},
        /* what is used where it is needs no staging memory, and no chunks */
        {GX_CHUNK_ELEMS * 9, UINT32_MAX, 0, GX_CHUNK_ELEMS * 9, GX_CHUNK_ELEMS * 9, 1, false},
        {GX_CHUNK_ELEMS * 9, GX_CHUNK_ELEMS, 0, GX_CHUNK_ELEMS, GX_CHUNK_ELEMS * 9, 1, false},
        {1000, 1, 0, 1, MANY, 16, false},
    };
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        const struct piece_case *k = &cases[i];
        struct gx_device_facts facts = facts_of(ALL, k->dispatch_elems);
        struct gx_plan_request asked = {.mode = GX_MODE_SEQUENTIAL, .chunk_elems = k->chunk};
        struct gx_cursor cursor = {0};
        gx_job job = gxt_job(GX_ADD, GX_U32, k->n, a, b, NULL, out);
        if (!k->staged)
            job.a = job.b = job.out = gx_dev(buffer, 0);
        struct gx_plan plan = plan_all(&job, 1, &facts, &asked);
        assert_true(gx__plan_next(&plan, &cursor, &group));
        if (group.pieces[0].step != k->step || group.pieces[0].n != k->piece ||
            plan.groups != k->groups)
            fail_msg("case %zu: %llu per dispatch, %llu per piece, %llu groups", i,
                     (unsigned long long)group.pieces[0].step,
                     (unsigned long long)group.pieces[0].n, (unsigned long long)plan.groups);
    }
}

/* ---- layout ---- */

/* As if all host memory was registered, or none. */
static const struct gx_resolved *resolve(const gx_job *jobs, size_t count, bool registered)
{
    static struct gx_resolved resolved[20];
    assert_true(count <= GXT_COUNT(resolved));
    for (size_t i = 0; i < count; i++)
        resolved[i] = (struct gx_resolved){.kernel.key.op = jobs[i].op,
                                           .registered = registered ? (1u << GX_OPERANDS) - 1 : 0};
    return resolved;
}

static void inputs_then_bad_words_then_outputs(void **state)
{
    (void)state;
    struct gx_device_facts facts = facts_of(ALL, 6); /* two dispatches: two bad words */
    gx_job job = gxt_job(GX_MUL_ADD, GX_BLS12_381_FQ, 11, a, b, c, out); /* 528 bytes: 768 */
    struct gx_plan plan = plan_of(&job, &facts, GX_PATH_DEVICE_LOCAL);
    const struct gx_piece *p = &group.pieces[0];
    assert_int_equal(p->offset[GX_A], 0);
    assert_int_equal(p->offset[GX_B], 768);
    assert_int_equal(p->offset[GX_C], 1536);
    assert_int_equal(group.in, 0);
    assert_int_equal(group.bad_words, 2304);
    assert_int_equal(group.out, 2304 + 512);
    assert_int_equal(p->offset[GX_OUT], group.out);
    assert_int_equal(group.end, group.out + 768);
    assert_int_equal(group.bytes, group.end);
    assert_int_equal(plan.bytes_up, group.out);
    assert_int_equal(plan.bytes_down, 512 + 768);
    assert_int_equal(plan.bytes_staged, 4 * 768);
    assert_int_equal(plan.set.up, group.out);
    assert_int_equal(plan.set.device, group.bytes);
    assert_int_equal(plan.set.down, GX_LOOK_ELEMS * 48);
    assert_int_equal(plan.memory, 3 * 4096);

    job.b.broadcast = 1;
    plan_of(&job, &facts, GX_PATH_DEVICE_LOCAL);
    assert_int_equal(p->offset[GX_C], 1024);
    assert_int_equal(group.bad_words, 1792);

    plan = plan_of(&job, &facts, GX_PATH_HOST_VISIBLE); /* all in one */
    assert_int_equal(plan.set.up + plan.set.down, 0);
    assert_int_equal(plan.memory, 4096);
    assert_int_equal(plan.bytes_up + plan.bytes_down, 0);
}

static void registered_operands_lie_outside(void **state)
{
    (void)state;
    struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
    struct gx_cursor cursor = {0};
    gx_job job = gxt_job(GX_ADD, GX_BN254_FR, 8, a, b, NULL, out);
    struct gx_plan_request asked = {.path = GX_PATH_DEVICE_LOCAL,
                                    .resolved = resolve(&job, 1, true)};
    struct gx_plan plan = plan_all(&job, 1, &facts, &asked);
    assert_true(gx__plan_next(&plan, &cursor, &group));
    assert_int_equal(group.in, 512);             /* a, b */
    assert_int_equal(group.out - group.in, 256); /* the bad word alone is staged */
    assert_int_equal(group.end, group.out);
    assert_int_equal(group.bytes, group.end + 256);
    assert_int_equal(plan.bytes_staged, 0);
    assert_int_equal(plan.bytes_up, 512 + 256);
    assert_int_equal(plan.bytes_down, 256 + 256);
    /* in place the result is staged: a download would not wait for the verdict */
    job.out = job.a;
    cursor = (struct gx_cursor){0};
    plan = plan_all(&job, 1, &facts, &asked);
    assert_true(gx__plan_next(&plan, &cursor, &group));
    assert_int_equal(group.pieces[0].access[GX_A], GX_OPERAND_REGISTERED);
    assert_int_equal(group.pieces[0].access[GX_OUT], GX_OPERAND_STAGED);
}

/* Columns of registered memory: in pieces whose rows the device copies well, or else through
 * staging memory. */
static void narrow_rows_are_staged(void **state)
{
    (void)state;
    static const struct {
        uint32_t log2_n;
        size_t row_bytes;
        enum gx_operand_access want;
    } cases[] = {
        {10, 0, GX_OPERAND_REGISTERED},       /* any width will do */
        {10, 1 << 15, GX_OPERAND_REGISTERED}, /* larger pieces have rows of that width */
        {12, 1 << 15, GX_OPERAND_STAGED},     /* they would be too large */
        {1, 1 << 19, GX_OPERAND_REGISTERED},  /* wide anyway */
        {10, 1 << 19, GX_OPERAND_STAGED},
    };
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
        struct gx_cursor cursor = {0};
        const gx_ntt_params params = {
            .struct_size = sizeof params, .log2_n = cases[i].log2_n, .flags = GX_NTT_COLUMNS};
        gx_job job = gxt_job(GX_NTT, GX_BN254_FR, (size_t)1 << 24, a, NULL, NULL, out);
        struct gx_plan_request asked = {.path = GX_PATH_DEVICE_LOCAL,
                                        .mode = GX_MODE_PIPELINED,
                                        .resolved = resolve(&job, 1, true)};
        job.params = &params;
        facts.row_bytes = cases[i].row_bytes;
        struct gx_plan plan = plan_all(&job, 1, &facts, &asked);
        assert_true(gx__plan_next(&plan, &cursor, &group));
        const struct gx_piece *p = &group.pieces[0];
        assert_true(p->n < job.n);
        assert_int_equal(p->access[GX_A], cases[i].want);
        assert_int_equal(p->access[GX_OUT], cases[i].want);
        if (cases[i].want == GX_OPERAND_REGISTERED)
            assert_true(gx__piece_rows(p, GX_A).bytes >= cases[i].row_bytes);
    }
}

static void only_host_operands_are_staged(void **state)
{
    (void)state;
    struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
    gx_job job = gxt_job(GX_ADD, GX_U32, 100, a, b, NULL, out);
    job.a = gx_dev(buffer, 16);
    plan_of(&job, &facts, GX_PATH_DEVICE_LOCAL);
    assert_int_equal(group.pieces[0].access[GX_A], GX_OPERAND_DIRECT);
    assert_int_equal(group.pieces[0].access[GX_B], GX_OPERAND_STAGED);
    assert_int_equal(group.bad_words, 512);
    assert_int_equal(group.bytes, 1024);
    job.out = gx_dev(buffer, 512);
    struct gx_plan plan = plan_of(&job, &facts, GX_PATH_HOST_VISIBLE);
    assert_int_equal(group.bytes, 512);
    assert_int_equal(plan.path, GX_PATH_HOST_VISIBLE);
}

/* ---- hazards ---- */

struct hazard_case {
    size_t a1, out1, a2, out2; /* where in memory; 32 elements of u32 each */
    bool registered;
    size_t groups; /* in a single submit */
    bool wait;     /* in different groups */
};

static void what_one_writes_another_may_not_read(void **state)
{
    (void)state;
    static const struct hazard_case cases[] = {
        {0, 1000, 2000, 3000, false, 1, false}, /* apart */
        {0, 1000, 1000, 3000, false, 2, true},  /* read after write */
        {0, 1000, 1124, 3000, false, 2, true},  /* by four bytes */
        {0, 1000, 1128, 3000, false, 1, false},
        {0, 1000, 2000, 0, false, 1, false},    /* write after read: it was read before */
        {0, 1000, 2000, 1000, false, 2, false}, /* write after write: groups have an order */
        {0, 1000, 2000, 3000, true, 1, false},
        {0, 1000, 1000, 3000, true, 2, true},
        {0, 1000, 2000, 0, true, 2, true},    /* the first may be refused and keeps its input */
        {0, 1000, 2000, 1000, true, 2, true}, /* downloads have no order */
    };
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        const struct hazard_case *k = &cases[i];
        struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
        struct gx_plan_request asked = {.path = GX_PATH_DEVICE_LOCAL,
                                        .mode = GX_MODE_SINGLE_SUBMIT};
        gx_job jobs[2] = {gxt_job(GX_ADD, GX_U32, 32, memory + k->a1, b, NULL, memory + k->out1),
                          gxt_job(GX_ADD, GX_U32, 32, memory + k->a2, b, NULL, memory + k->out2)};
        asked.resolved = resolve(jobs, 2, k->registered);
        struct gx_plan plan = plan_all(jobs, 2, &facts, &asked);
        if (plan.groups != k->groups)
            fail_msg("case %zu: %llu groups", i, (unsigned long long)plan.groups);
        asked.mode = GX_MODE_SEQUENTIAL;
        plan = plan_all(jobs, 2, &facts, &asked);
        struct gx_cursor cursor = {0};
        struct gx_group second;
        assert_true(gx__plan_next(&plan, &cursor, &group));
        assert_true(gx__plan_next(&plan, &cursor, &second));
        if (gx__plan_conflict(&group.pieces[0], &second.pieces[0], false) != k->wait)
            fail_msg("case %zu: wait", i);
    }
}

/* ---- any batch ---- */

static size_t scratch_bytes; /* of one element of an inversion */
static size_t some_scratch(struct gx_device *device, const struct gx_kernel *kernel, uint64_t n)
{
    (void)device;
    return kernel->key.op == GX_INV ? scratch_bytes * (size_t)n : 0;
}
static const struct gx_device_ops some_ops = {.scratch = some_scratch};
static struct gx_device some_device = {.ops = &some_ops};

static struct gx_plan_request random_request(uint64_t *seed, const gx_job *jobs, size_t count)
{
    struct gx_plan_request asked = {.path = (gx_path)(gxt_next(seed) % 3),
                                    .mode = (gx_mode)(gxt_next(seed) % 4),
                                    .chunk_elems = gxt_next(seed) % 2 ? gxt_next(seed) % 500 : 0,
                                    .resolved = resolve(jobs, count, gxt_next(seed) % 2),
                                    .sets = (uint32_t)(gxt_next(seed) % 4),
                                    .device = &some_device};
    asked.stream = asked.sets > 1 && gxt_next(seed) % 2;
    if (gxt_next(seed) % 2)
        asked.memory = 8192 << gxt_next(seed) % 8;
    scratch_bytes = gxt_next(seed) % 64;
    return asked;
}

static gx_operand random_place(uint64_t *seed)
{
    size_t at = (size_t)(gxt_next(seed) % (sizeof memory / 64)) * 64;
    return gxt_next(seed) % 3 ? gx_host(memory + at) : gx_dev(buffer, at);
}

static size_t random_batch(uint64_t *seed, gx_job *jobs, size_t most)
{
    size_t count = 1 + (size_t)(gxt_next(seed) % most);
    for (size_t i = 0; i < count; i++) {
        static const gx_op ops[] = {GX_ADD, GX_INV, GX_MUL_ADD};
        unsigned op = (unsigned)(gxt_next(seed) % 3);
        size_t n = (size_t)(gxt_next(seed) % (gxt_next(seed) % 5 ? 40 : 3000));
        jobs[i] = (gx_job){.op = ops[op], .field = GX_BN254_FR, .n = n};
        jobs[i].a = random_place(seed);
        if (op != 1)
            jobs[i].b = random_place(seed);
        if (op == 2)
            jobs[i].c = random_place(seed);
        jobs[i].out = gxt_next(seed) % 3 ? random_place(seed) : jobs[i].a;
        jobs[i].b.broadcast = op != 1 && gxt_next(seed) % 4 == 0;
    }
    return count;
}

/* Parts of a group lie within its zones, apart from each other. */
static void check_layout(const struct gx_group *g)
{
    size_t used = 0;
    assert_true(g->in <= g->bad_words && g->bad_words <= g->out && g->out <= g->end &&
                g->end <= g->bytes);
    for (size_t k = 0; k < g->count; k++) {
        const struct gx_piece *p = &g->pieces[k];
        for (int i = 0; i < GX_OPERANDS; i++) {
            if (p->access[i] < GX_OPERAND_STAGED)
                continue;
            bool staged = p->access[i] == GX_OPERAND_STAGED;
            size_t bytes = (p->job->broadcast >> i & 1 ? 1 : (size_t)p->n) * 32;
            size_t from = i != GX_OUT ? staged ? g->in : 0 : staged ? g->out : g->end;
            size_t to = i != GX_OUT ? staged ? g->bad_words : g->in : staged ? g->end : g->bytes;
            assert_true(p->offset[i] >= from && p->offset[i] + bytes <= to);
            used += (bytes + 255) / 256 * 256;
        }
    }
    assert_int_equal(used, g->bytes - (g->out - g->bad_words)); /* no gaps, so no overlap */
}

static void check_bad_words(const struct gx_group *g)
{
    uint32_t next = 0;
    for (size_t k = 0; k < g->count; k++) {
        const struct gx_piece *p = &g->pieces[k];
        if (!p->check)
            continue;
        assert_int_equal(p->bad_word, next);
        next += (uint32_t)((p->n + p->step - 1) / p->step);
    }
    assert_int_equal(g->out - g->bad_words, next * (size_t)GX_BIND_ALIGN);
}

static void check_plan(const struct gx_plan *plan, const struct gx_device_facts *facts)
{
    struct gx_cursor cursor = {0};
    size_t job = 0, groups = 0;
    uint64_t first = 0;
    while (gx__plan_next(plan, &cursor, &group)) {
        groups++;
        uint32_t dispatches = 0;
        for (size_t k = 0; k < group.count; k++) {
            const struct gx_piece *p = &group.pieces[k];
            while (first == plan->jobs[job].n) {
                job++;
                first = 0;
            }
            assert_int_equal(p->index, job); /* everything, once, in order */
            assert_int_equal(p->first, first);
            assert_true(p->n >= 1 && p->step >= 1 && p->step <= facts->dispatch_elems);
            first += p->n;
            assert_int_equal(p->last, first == plan->jobs[job].n);
            dispatches += (uint32_t)((p->n + p->step - 1) / p->step);
            for (size_t e = 0; e < k; e++)
                assert_false(gx__plan_conflict(&group.pieces[e], p, true));
        }
        assert_int_equal(group.dispatches, dispatches);
        assert_true(dispatches <= GX_GROUP_DISPATCHES);
        assert_true(plan->mode != GX_MODE_SEQUENTIAL || group.count == 1);
        check_layout(&group);
        check_bad_words(&group);
        assert_true(group.bytes <= plan->set.device);
        if (plan->path == GX_PATH_DEVICE_LOCAL)
            assert_true(group.out - group.in <= plan->set.up &&
                        group.end - group.bad_words <= plan->set.down);
    }
    while (job < plan->count && first == plan->jobs[job].n) {
        job++;
        first = 0;
    }
    assert_int_equal(job, plan->count);
    assert_int_equal(groups, plan->groups);
    assert_true(plan->sets >= 1 && plan->sets <= GX_SETS_MAX);
}

static void any_batch_is_covered_within_its_budget(void **state)
{
    (void)state;
    uint64_t seed = 11;
    size_t refused = 0, cut = 0;
    for (int round = 0; round < (gxt_small() ? 500 : 5000); round++) {
        gx_job jobs[20];
        size_t count = random_batch(&seed, jobs, GXT_COUNT(jobs));
        struct gx_device_facts facts = facts_of(ALL, 1 + gxt_next(&seed) % 2000);
        facts.queues = gxt_next(&seed) % 2 ? THREE_QUEUES : ONE_QUEUE;
        struct gx_plan_request asked = random_request(&seed, jobs, count);
        struct gx_plan plan;
        gx_status s = gx__plan_batch(gxt_tasks(jobs, count), count, &facts, &asked, &plan);
        if (s != GX_OK) { /* only where less than one set of the smallest pieces is allowed */
            assert_int_equal(s, GX_ERR_OUT_OF_DEVICE_MEMORY);
            assert_true(asked.memory && asked.memory < 4 * 65536);
            refused++;
            continue;
        }
        size_t set = gx__bucket(plan.set.up) + gx__bucket(plan.set.device) +
                     gx__bucket(plan.set.down) + gx__bucket(plan.set.scratch);
        assert_int_equal(plan.memory, plan.sets * set);
        assert_true(!asked.memory || plan.memory <= asked.memory);
        assert_true(!asked.mode || plan.mode == asked.mode);
        assert_true(asked.memory || plan.sets >= asked.sets);
        cut +=
            asked.memory && plan.chunk < (asked.chunk_elems ? asked.chunk_elems : GX_CHUNK_ELEMS);
        check_plan(&plan, &facts);
    }
    assert_true(refused > 0 && cut > 0); /* both happen */
}

/* ---- plans that are kept ---- */

/* Each host operand in memory of its own, in place stays in place: no job meets another. */
static void move_apart(gx_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *at = (char *)(((uintptr_t)i + 1) << 34);
        gx_operand *operands[] = {&jobs[i].out, &jobs[i].a, &jobs[i].b, &jobs[i].c};
        void *before = jobs[i].out.host;
        for (size_t k = 0; k < GXT_COUNT(operands); k++)
            if (operands[k]->host)
                operands[k]->host = operands[k]->host == before ? at : at + (k << 30);
    }
}

/* As the API asks for: out is an operand, or apart from it. */
static bool is_valid(const struct gx_task *job)
{
    for (int i = GX_A; i <= job->operands; i++) {
        const struct gx_place *o = &job->operand[i];
        uintptr_t from = (uintptr_t)o->host, other_from = (uintptr_t)job->out.host;
        if (o->host && job->out.host && (from != other_from || job->broadcast >> i & 1) &&
            from < other_from + gx__operand_bytes(job, GX_OUT) &&
            other_from < from + gx__operand_bytes(job, i))
            return false;
    }
    return true;
}

static void expect_same(const struct gx_plan *x, const struct gx_plan *y)
{
    struct gx_plan same = *x;
    same.jobs = y->jobs;
    same.asked = y->asked;
    assert_memory_equal(&same, y, sizeof same);
}

/* Whatever was planned before, a plan is the one that planning would give. */
static void a_plan_that_was_kept_is_the_same(void **state)
{
    (void)state;
    static struct gx_plan_cache plans;
    uint64_t seed = 13;
    struct gx_device_facts facts = gpu_facts(THREE_QUEUES);
    gx__plan_cache_init(&plans);
    for (int round = 0; round < (gxt_small() ? 200 : 2000); round++) {
        gx_job jobs[20], moved[20];
        size_t count = random_batch(&seed, jobs, 1 + gxt_next(&seed) % GXT_COUNT(jobs));
        struct gx_plan_request asked = random_request(&seed, jobs, count);
        scratch_bytes = 32; /* what a device needs does not change */
        for (size_t i = 0; i < count; i++)
            if (!is_valid(gxt_task(&jobs[i])))
                jobs[i].n = 0;
        memcpy(moved, jobs, sizeof jobs);
        move_apart(moved, count);
        for (int again = 0; again < 4; again++) {
            const struct gx_task *now = gxt_tasks(again % 2 ? jobs : moved, count);
            struct gx_plan got, want;
            memset(&got, 0, sizeof got);
            memset(&want, 0, sizeof want);
            gx_status s = gx__plan_batch(now, count, &facts, &asked, &want);
            assert_int_equal(gx__plan_cache_get(&plans, now, count, &facts, &asked, &got), s);
            if (s != GX_OK)
                continue;
            expect_same(&got, &want);
            check_plan(&got, &facts);
        }
    }
    gx__plan_cache_close(&plans);
}

/* Planned once, also elsewhere; anew where jobs share memory, or anything differs. */
static void batches_of_one_shape_are_planned_once(void **state)
{
    (void)state;
    enum { JOBS = 20 };
    static struct gx_plan_cache plans;
    struct gx_device_facts facts = gpu_facts(THREE_QUEUES);
    struct gx_plan_request asked = {0}, other_path = {.path = GX_PATH_DEVICE_LOCAL};
    struct gx_plan plan;
    gx_job jobs[JOBS];
    gx__plan_cache_init(&plans);
    for (size_t i = 0; i < JOBS; i++)
        jobs[i] = gxt_job(GX_ADD, GX_BN254_FR, 100, a, b, NULL, out);
    assert_int_equal(gx__plan_cache_get(&plans, gxt_tasks(jobs, JOBS), JOBS, &facts, &asked, &plan),
                     GX_OK);
    assert_int_equal(plans.looked_up, 0); /* one result for all */
    move_apart(jobs, JOBS);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            gx__plan_cache_get(&plans, gxt_tasks(jobs, JOBS), JOBS, &facts, &asked, &plan), GX_OK);
        assert_int_equal(plans.looked_up, i + 1);
        assert_int_equal(plans.kept[1].used, 0);
    }
    for (size_t i = 0; i < JOBS; i++) /* elsewhere */
        jobs[i].a.host = (char *)jobs[i].a.host + 64;
    assert_int_equal(gx__plan_cache_get(&plans, gxt_tasks(jobs, JOBS), JOBS, &facts, &asked, &plan),
                     GX_OK);
    assert_int_equal(plans.kept[1].used, 0);
    assert_int_equal(
        gx__plan_cache_get(&plans, gxt_tasks(jobs, JOBS), JOBS, &facts, &other_path, &plan), GX_OK);
    assert_int_equal(plan.path, GX_PATH_DEVICE_LOCAL);
    assert_true(plans.kept[1].used && !plans.kept[2].used);
    jobs[JOBS - 1].n++;
    assert_int_equal(gx__plan_cache_get(&plans, gxt_tasks(jobs, JOBS), JOBS, &facts, &asked, &plan),
                     GX_OK);
    assert_true(plans.kept[2].used);
    uint64_t before = plans.looked_up;
    jobs[3].b = jobs[7].out; /* reads what another one writes */
    assert_int_equal(gx__plan_cache_get(&plans, gxt_tasks(jobs, JOBS), JOBS, &facts, &asked, &plan),
                     GX_OK);
    assert_int_equal(plans.looked_up, before);
    gx__plan_cache_close(&plans);
}

/* Whatever a kernel depends on is part of the shape. */
static void parameters_are_part_of_the_shape(void **state)
{
    (void)state;
    static struct gx_plan_cache plans;
    struct gx_device_facts facts = gpu_facts(THREE_QUEUES);
    struct gx_plan_request asked = {0};
    struct gx_plan plan;
    gx_poly_params params[] = {{.struct_size = sizeof(gx_poly_params)},
                               {.struct_size = sizeof(gx_poly_params), .flags = GX_POLY_REVERSED}};
    gx__plan_cache_init(&plans);
    for (size_t i = 0; i < GXT_COUNT(params); i++) {
        gx_job job = gxt_job(GX_EVALUATE, GX_BN254_FR, 64, a, b, NULL, out);
        job.params = &params[i];
        assert_int_equal(gx__plan_cache_get(&plans, gxt_task(&job), 1, &facts, &asked, &plan),
                         GX_OK);
        assert_int_equal(plans.looked_up, i + 1);
        assert_true(plans.kept[i].used);
    }
    gx__plan_cache_close(&plans);
}

static void one_element_at_a_time_if_need_be(void **state)
{
    (void)state;
    struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
    gx_job job = gxt_job(GX_ADD, GX_BLS12_381_FQ, 1000, a, b, NULL, out);
    struct gx_plan plan;
    struct gx_plan_request asked = {.path = GX_PATH_DEVICE_LOCAL, .memory = 3 * 4096};
    for (int mode = GX_MODE_AUTO; mode <= GX_MODE_PIPELINED; mode++) {
        asked.mode = (gx_mode)mode;
        asked.memory = 3 * 4096;
        assert_int_equal(gx__plan_batch(gxt_task(&job), 1, &facts, &asked, &plan), GX_OK);
        assert_true(plan.memory <= asked.memory);
        asked.memory--;
        assert_int_equal(gx__plan_batch(gxt_task(&job), 1, &facts, &asked, &plan),
                         GX_ERR_OUT_OF_DEVICE_MEMORY);
    }
}

/* ---- the mode ---- */

struct mode_case {
    size_t jobs, n;
    uint32_t queues;
    gx_mode want;
};

static void the_cheapest_mode_is_chosen(void **state)
{
    (void)state;
    static const struct mode_case cases[] = {
        {1, 64, THREE_QUEUES, GX_MODE_SEQUENTIAL}, /* nothing to choose */
        {1, GX_CHUNK_ELEMS / 8, THREE_QUEUES, GX_MODE_SEQUENTIAL},
        {1, GX_CHUNK_ELEMS / 4, THREE_QUEUES, GX_MODE_PIPELINED}, /* in smaller pieces */
        {1, GX_CHUNK_ELEMS, THREE_QUEUES, GX_MODE_PIPELINED},
        {64, 64, THREE_QUEUES, GX_MODE_SINGLE_SUBMIT}, /* submits are all there is */
        {64, 64, ONE_QUEUE, GX_MODE_SINGLE_SUBMIT},
        {4, 262144, THREE_QUEUES, GX_MODE_PIPELINED}, /* copies are */
        {16, 1 << 20, THREE_QUEUES, GX_MODE_PIPELINED},
        {16, 262144, ONE_QUEUE, GX_MODE_PIPELINED}, /* those of the host still overlap */
        {1, GX_CHUNK_ELEMS * 16, THREE_QUEUES, GX_MODE_PIPELINED}, /* a stream */
    };
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        const struct mode_case *k = &cases[i];
        struct gx_device_facts facts = gpu_facts(k->queues);
        struct gx_plan_request asked = {.copy_threads = 1};
        gx_job jobs[64];
        for (size_t j = 0; j < k->jobs; j++) /* far apart; never read */
            jobs[j] = gxt_job(GX_ADD, GX_BLS12_381_FQ, k->n, a + (j << 34), a + (j << 34), NULL,
                              a + (j << 34) + (1ull << 33));
        struct gx_plan plan = plan_all(jobs, k->jobs, &facts, &asked);
        if (plan.mode != k->want)
            fail_msg("case %zu: %d, of %.0f %.0f %.0f ns", i, plan.mode, plan.predicted[1],
                     plan.predicted[2], plan.predicted[3]);
        double best = plan.predicted[plan.mode];
        for (int m = GX_MODE_SEQUENTIAL; m <= GX_MODE_PIPELINED && best > 0; m++)
            assert_true(!plan.predicted[m] || best * 0.96 <= plan.predicted[m]);
    }
}

/* With nothing to gain, one after the other. */
static void a_tie_is_sequential(void **state)
{
    (void)state;
    struct gx_device_facts facts = gpu_facts(THREE_QUEUES);
    struct gx_plan_request asked = {.copy_threads = 1};
    gx_job chain[3]; /* each reads what the one before wrote */
    for (size_t j = 0; j < 3; j++)
        chain[j] = gxt_job(GX_ADD, GX_BLS12_381_FQ, 1000, a + (j << 20), a + (j << 20), NULL,
                           a + ((j + 1) << 20));
    struct gx_plan plan = plan_all(chain, 3, &facts, &asked);
    assert_int_equal(plan.groups, 3);
    assert_int_equal(plan.mode, GX_MODE_SEQUENTIAL);
}

/* Commands: one each, unless copies have queues of their own and groups overlap. */
/* A batch among others overlaps with them, even if it is one job that has nothing to
 * overlap with in itself. */
static void batches_in_a_stream_overlap(void **state)
{
    (void)state;
    struct gx_device_facts facts = gpu_facts(THREE_QUEUES);
    gx_job job = gxt_job(GX_ADD, GX_BN254_FR, 262144, a, b, NULL, out);
    struct gx_plan_request asked = {.sets = 3};
    struct gx_plan plan = plan_all(&job, 1, &facts, &asked);
    assert_int_equal(plan.mode, GX_MODE_SEQUENTIAL); /* the first: nothing else is there */
    assert_int_equal(plan.sets, 3);
    asked.stream = true;
    plan = plan_all(&job, 1, &facts, &asked);
    assert_int_equal(plan.mode, GX_MODE_SEQUENTIAL); /* all wait for the host's copies */
    facts.speed[GX_MEM_UPLOAD].host_write = facts.speed[GX_MEM_READBACK].host_read = 200;
    plan = plan_all(&job, 1, &facts, &asked);
    assert_int_equal(plan.mode, GX_MODE_PIPELINED); /* both directions of the bus at once */
    assert_true(plan.sets >= 3);
    assert_true(plan.predicted[GX_MODE_PIPELINED] < plan.predicted[GX_MODE_SEQUENTIAL]);
    job.a = gx_host(out); /* in place is in nobody's way but its own */
    plan = plan_all(&job, 1, &facts, &asked);
    assert_int_equal(plan.mode, GX_MODE_PIPELINED);
    asked.mode = GX_MODE_SEQUENTIAL; /* as asked, but not one ticket after the other */
    plan = plan_all(&job, 1, &facts, &asked);
    assert_int_equal(plan.mode, GX_MODE_SEQUENTIAL);
    assert_int_equal(plan.sets, 3);
    asked.memory = plan.memory - 1;
    assert_int_equal(plan_all(&job, 1, &facts, &asked).sets, 2);
    asked = (struct gx_plan_request){.sets = 3, .stream = true};
    job = gxt_job(GX_ADD, GX_BN254_FR, 64, a, b, NULL, out);
    plan = plan_all(&job, 1, &facts, &asked);
    assert_int_equal(plan.submits, 1); /* commands cost more than 64 elements */
}

static void copies_get_commands_of_their_own_in_a_pipeline(void **state)
{
    (void)state;
    enum { CHUNK = 1 << 20, LARGE = 16 * CHUNK };
    char *const far[] = {(char *)((uintptr_t)a + ((uintptr_t)1 << 33)),
                         (char *)((uintptr_t)a + ((uintptr_t)1 << 34))};
    static const struct {
        gx_mode mode;
        gx_path path;
        uint32_t queues;
        size_t n;
        uint32_t want;
    } cases[] = {
        {GX_MODE_PIPELINED, GX_PATH_DEVICE_LOCAL, THREE_QUEUES, LARGE, THREE_QUEUES},
        /* the end of a few takes longer than what is gained by a third */
        {GX_MODE_PIPELINED, GX_PATH_DEVICE_LOCAL, THREE_QUEUES, 4 * CHUNK, TWO_QUEUES},
        {GX_MODE_PIPELINED, GX_PATH_DEVICE_LOCAL, THREE_QUEUES, CHUNK, ONE_QUEUE},
        {GX_MODE_PIPELINED, GX_PATH_DEVICE_LOCAL, THREE_QUEUES, 100, ONE_QUEUE},
        {GX_MODE_PIPELINED, GX_PATH_DEVICE_LOCAL, ONE_QUEUE, LARGE, ONE_QUEUE},
        {GX_MODE_PIPELINED, GX_PATH_HOST_VISIBLE, THREE_QUEUES, LARGE, ONE_QUEUE},
        {GX_MODE_SEQUENTIAL, GX_PATH_DEVICE_LOCAL, THREE_QUEUES, LARGE, ONE_QUEUE},
        {GX_MODE_SINGLE_SUBMIT, GX_PATH_DEVICE_LOCAL, THREE_QUEUES, LARGE, ONE_QUEUE},
    };
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        struct gx_device_facts facts = gpu_facts(cases[i].queues);
        struct gx_plan_request asked = {
            .path = cases[i].path, .mode = cases[i].mode, .chunk_elems = CHUNK, .copy_threads = 8};
        gx_job job = gxt_job(GX_ADD, GX_U32, cases[i].n, a, far[0], NULL, far[1]);
        struct gx_cursor cursor = {0};
        struct gx_plan plan = plan_all(&job, 1, &facts, &asked);
        assert_true(gx__plan_next(&plan, &cursor, &group));
        assert_int_equal(gx__group_queues(&group, plan.copy_queues), cases[i].want);
    }
}

/* ---- checking ---- */

struct check_case {
    gx_field field;
    uint32_t flags;
    gx_operand a, b, out;
    bool check, first;
};

/* Only where a kernel would overwrite, in place, what it finds bad: a staged operand is
 * a copy. */
static void when_inputs_are_checked_before(void **state)
{
    (void)state;
    const struct check_case cases[] = {
        {GX_U32, 0, gx_dev(buffer, 0), gx_host(b), gx_dev(buffer, 0), false, false},
        {GX_BN254_FR, GX_JOB_UNCHECKED, gx_dev(buffer, 0), gx_host(b), gx_dev(buffer, 0), false,
         false},
        {GX_BN254_FR, 0, gx_host(a), gx_host(b), gx_host(out), true, false},
        {GX_BN254_FR, 0, gx_host(a), gx_host(b), gx_host(a), true, false},
        {GX_BN254_FR, 0, gx_dev(buffer, 0), gx_host(b), gx_dev(buffer, 0), true, true},
        {GX_BN254_FR, 0, gx_host(a), gx_dev(buffer, 32), gx_dev(buffer, 32), true, true},
        {GX_BN254_FR, 0, gx_dev(buffer, 0), gx_host(b), gx_dev(buffer, 64), true, false},
        {GX_BN254_FR, 0, gx_dev(buffer, 0), gx_host(b), gx_dev(other, 0), true, false},
        {GX_BN254_FR, 0, gx_dev(buffer, 0), gx_host(b), gx_host(b), true, false},
    };
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        const struct check_case *k = &cases[i];
        struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
        gx_job job = {.op = GX_ADD, .field = k->field, .n = 2, .flags = k->flags};
        job.a = k->a;
        job.b = k->b;
        job.out = k->out;
        plan_of(&job, &facts, GX_PATH_AUTO);
        if (group.drain != k->first || group.pieces[0].check != (k->check && !k->first))
            fail_msg("case %zu", i);
    }
}

/* A large job in place is out in part before its end is looked at. */
static void large_jobs_in_place_are_checked_before(void **state)
{
    (void)state;
    struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
    struct gx_plan_request asked = {.mode = GX_MODE_SINGLE_SUBMIT, .chunk_elems = 100};
    for (size_t n = 100; n <= 101; n++) {
        gx_job jobs[2] = {gxt_job(GX_ADD, GX_BN254_FR, 10, c, c, NULL, out),
                          gxt_job(GX_ADD, GX_BN254_FR, n, a, b, NULL, a)};
        struct gx_plan plan = plan_all(jobs, 2, &facts, &asked);
        struct gx_cursor cursor = {0};
        assert_true(gx__plan_next(&plan, &cursor, &group));
        assert_false(group.drain);
        assert_int_equal(group.count, n == 100 ? 2 : 1); /* such a job begins a group */
        if (n == 100)
            continue;
        assert_true(gx__plan_next(&plan, &cursor, &group));
        assert_true(group.drain);
        assert_int_equal(group.count, 2);
        assert_false(group.pieces[0].check || group.pieces[1].check);
    }
}

/* The pass before: every element of the operand, in groups of as many bad words as there are. */
static void the_pass_before_covers_all(void **state)
{
    (void)state;
    struct gx_device_facts facts = facts_of(ALL, 10);
    gx_job job = {.op = GX_ADD, .field = GX_BN254_FR, .n = 1000};
    job.a = job.out = gx_dev(buffer, 0);
    job.b = gx_dev(other, 0);
    job.b.broadcast = 1;
    struct gx_plan plan = plan_of(&job, &facts, GX_PATH_AUTO);
    assert_true(group.drain);
    const struct gx_task *task = group.pieces[0].job;
    struct gx_task check;
    struct gx_plan pass;
    struct gx_cursor cursor = {0};
    const uint64_t want[] = {640, 360};
    gx__plan_check(&plan, task, GX_A, &check, &pass);
    for (size_t i = 0; i < GXT_COUNT(want); i++) {
        assert_true(gx__plan_next(&pass, &cursor, &group));
        assert_int_equal(group.count, 1);
        assert_int_equal(group.pieces[0].n, want[i]);
        assert_true(group.pieces[0].check);
        assert_int_equal(group.bytes, want[i] / 10 * GX_BIND_ALIGN);
        assert_true(group.bytes <= plan.set.device);
    }
    assert_false(gx__plan_next(&pass, &cursor, &group));
    cursor = (struct gx_cursor){0};
    gx__plan_check(&plan, task, GX_B, &check, &pass);
    assert_true(gx__plan_next(&pass, &cursor, &group));
    assert_int_equal(group.pieces[0].n, 1);
    assert_false(gx__plan_next(&pass, &cursor, &group));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_alone_are_used_where_they_are),
        cmocka_unit_test(buffers_alone_share_a_submit),
        cmocka_unit_test(what_is_asked_for_is_done),
        cmocka_unit_test(the_faster_path_is_chosen),
        cmocka_unit_test(transforms_avoid_a_bus),
        cmocka_unit_test(the_only_possible_path_is_chosen),
        cmocka_unit_test(pieces_and_steps),
        cmocka_unit_test(inputs_then_bad_words_then_outputs),
        cmocka_unit_test(registered_operands_lie_outside),
        cmocka_unit_test(narrow_rows_are_staged),
        cmocka_unit_test(only_host_operands_are_staged),
        cmocka_unit_test(what_one_writes_another_may_not_read),
        cmocka_unit_test(any_batch_is_covered_within_its_budget),
        cmocka_unit_test(a_plan_that_was_kept_is_the_same),
        cmocka_unit_test(batches_of_one_shape_are_planned_once),
        cmocka_unit_test(parameters_are_part_of_the_shape),
        cmocka_unit_test(one_element_at_a_time_if_need_be),
        cmocka_unit_test(the_cheapest_mode_is_chosen),
        cmocka_unit_test(a_tie_is_sequential),
        cmocka_unit_test(batches_in_a_stream_overlap),
        cmocka_unit_test(copies_get_commands_of_their_own_in_a_pipeline),
        cmocka_unit_test(when_inputs_are_checked_before),
        cmocka_unit_test(large_jobs_in_place_are_checked_before),
        cmocka_unit_test(the_pass_before_covers_all),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
