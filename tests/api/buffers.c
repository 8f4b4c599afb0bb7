/* SPDX-License-Identifier: Apache-2.0
 *
 * Device buffers: creating, copying, mapping, and jobs on them, on the CPU and on lavapipe, under
 * the validation layer. Results are compared with GMP.
 */
#include <fenv.h>
#include <stdbool.h>

#include "api/counters.h"
#include "base/float_env.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/oracle.h"

enum { N = 300, GUARD = 0x5c };

static const char *devices[2] = {"cpu"};
static size_t device_count = 1;
static struct oracle_rng rng = {5};
static struct gxt_heap heap;

/* ---- shorthands ---- */

static gx_ctx *open_watched(void)
{
    gx_config config = {.allocator = gxt_heap_allocator(&heap)};
    gxt_watch(&config);
    return gxt_open(&config);
}

/* Each test gets its own context, in which nothing may be left behind. */
struct everywhere {
    void (*test)(gx_ctx *ctx, const char *device);
};

static void on_every_device(void **state)
{
    const struct everywhere *e = *state;
    for (size_t i = 0; i < device_count; i++) {
        gxt_heap_start(&heap);
        gx_ctx *ctx = open_watched();
        e->test(ctx, devices[i]);
        gx_close(&ctx);
        gxt_heap_end(&heap);
        assert_int_equal(gxt_complaints(), 0);
    }
}

#define EVERYWHERE(t)                                                                              \
    {                                                                                              \
        .name = #t, .test_func = on_every_device, .initial_state = &(struct everywhere)            \
        {                                                                                          \
            t                                                                                      \
        }                                                                                          \
    }

static gx_buf *create(gx_ctx *ctx, const char *device, size_t bytes, uint32_t flags)
{
    gx_buf *buf = NULL;
    assert_int_equal(gx_buf_create(ctx, device, bytes, flags, &buf), GX_OK);
    assert_non_null(buf);
    return buf;
}

static gx_buf *filled(gx_ctx *ctx, const char *device, const void *data, size_t bytes)
{
    gx_buf *buf = create(ctx, device, bytes, 0);
    assert_int_equal(gx_buf_write(buf, 0, data, bytes), GX_OK);
    return buf;
}

static void expect(gx_buf *buf, size_t offset, const void *want, size_t bytes)
{
    unsigned char *got = gxt_alloc(bytes);
    memset(got, GUARD, bytes);
    assert_int_equal(gx_buf_read(buf, offset, got, bytes), GX_OK);
    assert_memory_equal(got, want, bytes);
    free(got);
}

static gx_status run(gx_ctx *ctx, const gx_job *job, gx_report *r)
{
    return gx_run(ctx, job, 1, NULL, r);
}

/* ---- life ---- */

static void write_and_read(gx_ctx *ctx, const char *device)
{
    const size_t sizes[] = {1, 3, 64, 4096, 100001, ((size_t)8 << 20) + 12345};
    for (size_t i = 0; i < GXT_COUNT(sizes); i++) {
        uint32_t most = gxt_shares_memory(device) ? GX_BUF_MAPPABLE : 0;
        for (uint32_t flags = 0; flags <= most; flags++) {
            unsigned char *data = gxt_alloc(sizes[i]);
            gx_buf *buf = create(ctx, device, sizes[i], flags);
            gxt_bytes(&rng.state, data, sizes[i]);
            assert_int_equal(gx_buf_write(buf, 0, data, sizes[i]), GX_OK);
            expect(buf, 0, data, sizes[i]);
            size_t part = sizes[i] / 3, from = sizes[i] / 2; /* any byte to any byte */
            gxt_bytes(&rng.state, data + from, part);
            assert_int_equal(gx_buf_write(buf, from, data + from, part), GX_OK);
            expect(buf, 0, data, sizes[i]);
            expect(buf, from, data + from, part);
            gx_buf_destroy(&buf);
            assert_null(buf);
            free(data);
        }
    }
}

/* The device itself copies registered memory if it can: any byte to any byte, and no byte next to
 * them. */
static void registered(gx_ctx *ctx, const char *device)
{
    enum { SIZE = 4000000 };
    unsigned char *memory = gxt_alloc(SIZE), *want = gxt_alloc(SIZE);
    gx_buf *buf = create(ctx, device, SIZE, 0);
    gxt_bytes(&rng.state, memory, SIZE);
    memcpy(want, memory, SIZE);
    assert_int_equal(gx_host_register(ctx, memory, SIZE), GX_OK);
    assert_int_equal(gx_buf_write(buf, 0, memory, SIZE), GX_OK);
    memset(memory, GUARD, SIZE);
    assert_int_equal(gx_buf_read(buf, 0, memory, SIZE), GX_OK);
    assert_memory_equal(memory, want, SIZE);
    const size_t starts[] = {0, 1, 4, 64, 1001}, lengths[] = {1, 3, 4, 64, 3000001};
    for (size_t i = 0; i < GXT_COUNT(starts); i++)
        for (size_t k = 0; k < GXT_COUNT(lengths); k++) {
            size_t to = starts[k] + 7 * i, n = lengths[k];
            memset(memory, GUARD, SIZE);
            memset(want + to, GUARD, n);
            assert_int_equal(gx_buf_write(buf, to, memory + starts[i], n), GX_OK);
            assert_int_equal(gx_buf_read(buf, to, memory + 100 + i, n + 5), GX_OK);
            assert_memory_equal(memory + 100 + i, want + to, n + 5);
            assert_int_equal(memory[99 + i], GUARD);
            assert_int_equal(memory[100 + i + n + 5], GUARD);
        }
    expect(buf, 0, want, SIZE);
    assert_int_equal(gx_host_unregister(ctx, memory), GX_OK);
    gx_buf_destroy(&buf);
    free(memory);
    free(want);
}

/* Impossible ranges next to a valid one: integer overflow must neither cause nor hide an
 * overlap. */
static void registers_only_memory(void **state)
{
    (void)state;
    static unsigned char memory[4096];
    const struct {
        uintptr_t at;
        size_t bytes;
    } ranges[] = {{4096, SIZE_MAX - 8192},
                  {4096, SIZE_MAX},
                  {(uintptr_t)memory, SIZE_MAX - (uintptr_t)memory},
                  {(uintptr_t)memory + 1, SIZE_MAX},
                  {4096, (size_t)PTRDIFF_MAX + 1},
                  {UINTPTR_MAX, 2},
                  {UINTPTR_MAX - 4095, 4096},
                  {4096, 0},
                  {0, 4096}};
    gxt_heap_start(&heap);
    gx_ctx *ctx = open_watched();
    for (int with = 0; with < 2; with++) {
        for (size_t i = 0; i < GXT_COUNT(ranges); i++)
            assert_int_equal(gx_host_register(ctx, (void *)ranges[i].at, ranges[i].bytes),
                             GX_ERR_INVALID);
        assert_int_equal(gx_host_register(ctx, memory, sizeof memory),
                         with ? GX_ERR_INVALID : GX_OK);
    }
    assert_int_equal(gx_host_unregister(ctx, memory), GX_OK);
    gx_close(&ctx);
    gxt_heap_end(&heap);
}

/* Whichever path a call takes, and whichever operand it is. */
static void of_another_context(gx_ctx *ctx, const char *device)
{
    static const char *const names[] = {"out", "operand a", "operand b", "operand c"};
    unsigned char data[48] = {1};
    gx_ctx *other = open_watched();
    gx_buf *ours = filled(ctx, device, data, sizeof data);
    gx_buf *theirs = filled(other, device, data, sizeof data);
    const gx_run_params named = {.device = device}, routed = {.policy = GX_POLICY_THROUGHPUT};
    const gx_run_params *const ways[] = {NULL, &named, &routed};
    for (size_t way = 0; way < GXT_COUNT(ways); way++)
        for (size_t i = 0; i < GXT_COUNT(names); i++) {
            gx_ticket *ticket = NULL;
            gx_estimate_info info = {.struct_size = sizeof info};
            gx_report r = {.struct_size = sizeof r};
            gx_job job = {.op = GX_MUL_ADD, .field = GX_BLS12_381_FQ, .n = 1};
            gx_operand *const operands[] = {&job.out, &job.a, &job.b, &job.c};
            for (size_t k = 0; k < GXT_COUNT(operands); k++)
                *operands[k] = gx_dev(k == i ? theirs : ours, 0);
            assert_int_equal(gx_run(ctx, &job, 1, ways[way], &r), GX_ERR_INVALID);
            for (size_t k = 0; k < GXT_COUNT(operands); k++)
                *operands[k] = k == i ? gx_dev(theirs, 0) : gx_host(data);
            assert_int_equal(gx_run(ctx, &job, 1, ways[way], &r), GX_ERR_INVALID);
            assert_non_null(strstr(r.message, names[i]));
            assert_non_null(strstr(r.message, "of another context"));
            assert_int_equal(gx_submit(ctx, &job, 1, ways[way], &ticket), GX_ERR_INVALID);
            assert_int_equal(gx_estimate(ctx, &job, 1, ways[way], &info), GX_ERR_INVALID);
        }
    expect(theirs, 0, data, sizeof data);
    gx_buf_destroy(&ours);
    gx_buf_destroy(&theirs);
    gx_close(&other);
}

static void bad_arguments(gx_ctx *ctx, const char *device)
{
    unsigned char data[64] = {0};
    gx_buf *buf = filled(ctx, device, data, sizeof data);
    const size_t wrong[][2] = {{0, 65}, {1, 64}, {64, 1}, {65, 0}, {SIZE_MAX, 1}, {8, SIZE_MAX}};
    for (size_t i = 0; i < GXT_COUNT(wrong); i++) {
        assert_int_equal(gx_buf_write(buf, wrong[i][0], data, wrong[i][1]), GX_ERR_INVALID);
        assert_int_equal(gx_buf_read(buf, wrong[i][0], data, wrong[i][1]), GX_ERR_INVALID);
    }
    assert_int_equal(gx_buf_write(buf, 64, NULL, 0), GX_OK);
    assert_int_equal(gx_buf_read(buf, 0, NULL, 0), GX_OK);
    assert_int_equal(gx_buf_write(buf, 0, NULL, 1), GX_ERR_INVALID);
    assert_int_equal(gx_buf_read(buf, 0, NULL, 1), GX_ERR_INVALID);
    assert_int_equal(gx_buf_write(NULL, 0, data, 1), GX_ERR_INVALID);
    assert_int_equal(gx_buf_read(NULL, 0, data, 1), GX_ERR_INVALID);
    gx_buf_destroy(&buf);
    gx_buf_destroy(&buf);
    gx_buf_destroy(NULL);

    buf = create(ctx, device, 0, 0); /* of no bytes */
    assert_int_equal(gx_buf_read(buf, 0, data, 0), GX_OK);
    assert_int_equal(gx_buf_read(buf, 0, data, 1), GX_ERR_INVALID);
    gx_buf_destroy(&buf);

    gx_buf *none = (gx_buf *)data;
    assert_int_equal(gx_buf_create(ctx, device, 1, 2, &none), GX_ERR_INVALID);
    assert_null(none);
    none = (gx_buf *)data;
    assert_int_equal(gx_buf_create(ctx, "nope", 1, 0, &none), GX_ERR_NO_DEVICE);
    assert_null(none);
    assert_int_equal(gx_buf_create(NULL, device, 1, 0, &none), GX_ERR_INVALID);
    assert_int_equal(gx_buf_create(ctx, device, 1, 0, NULL), GX_ERR_INVALID);
    gx_status s = gx_buf_create(ctx, device, SIZE_MAX / 2, 0, &none);
    assert_true(s == GX_ERR_OUT_OF_MEMORY || s == GX_ERR_OUT_OF_DEVICE_MEMORY);
    assert_null(none);
}

static void mapping(gx_ctx *ctx, const char *device)
{
    uint32_t x[16], want[16], *memory = NULL, *again = NULL;
    gx_buf *buf = NULL;
    if (!gxt_shares_memory(device)) {
        assert_int_equal(gx_buf_create(ctx, device, sizeof x, GX_BUF_MAPPABLE, &buf),
                         GX_ERR_UNSUPPORTED);
        return;
    }
    buf = create(ctx, device, sizeof x, GX_BUF_MAPPABLE);
    assert_int_equal(gx_buf_map(buf, (void **)&memory), GX_OK);
    for (uint32_t i = 0; i < 16; i++) {
        memory[i] = x[i] = i + 1;
        want[i] = x[i] * x[i];
    }
    /* no one else may use it while it is mapped */
    gx_job job = {.op = GX_MUL, .field = GX_U32, .n = 16};
    job.a = job.b = job.out = gx_dev(buf, 0);
    gx_report r = {.struct_size = sizeof r};
    assert_int_equal(run(ctx, &job, &r), GX_ERR_INVALID);
    assert_non_null(strstr(r.message, "mapped"));
    assert_int_equal(gx_buf_map(buf, (void **)&again), GX_ERR_INVALID);
    assert_int_equal(gx_buf_write(buf, 0, x, 4), GX_ERR_INVALID);
    assert_int_equal(gx_buf_read(buf, 0, x, 4), GX_ERR_INVALID);
    gx_buf_unmap(buf);
    gx_buf_unmap(buf);
    expect(buf, 0, x, sizeof x);
    assert_int_equal(run(ctx, &job, &r), GX_OK);
    assert_int_equal(gx_buf_map(buf, (void **)&memory), GX_OK);
    assert_memory_equal(memory, want, sizeof want);
    gx_buf_destroy(&buf); /* mapped as it is */

    assert_int_equal(gx_buf_map(NULL, (void **)&memory), GX_ERR_INVALID);
    gx_buf_unmap(NULL);
}

/* Memory that is not host memory anyway must be requested as mappable. */
static void not_mappable(void **state)
{
    (void)state;
    if (device_count < 2)
        skip();
    gxt_heap_start(&heap);
    gx_ctx *ctx = open_watched();
    gx_buf *buf = create(ctx, devices[1], 64, 0);
    void *memory = NULL;
    assert_int_equal(gx_buf_map(buf, &memory), GX_ERR_INVALID);
    gx_buf_destroy(&buf);
    gx_close(&ctx);
    gxt_heap_end(&heap);
}

/* ---- jobs ---- */

/* Each operand in a buffer or in host memory, in every combination, on every path. */
static void mixed_job(gx_ctx *ctx, const char *device, gx_op op, gx_field field, unsigned in_buffer,
                      gx_path path)
{
    size_t bytes = N * gxt_element(field);
    unsigned char in[4][N * 48], want[N * 48];
    unsigned operands = gx_op_get_info(op)->operands;
    gx_job job = {.op = op, .field = field, .n = N};
    gx_operand *const places[] = {&job.a, &job.b, &job.c, &job.out};
    gx_buf *buf[4] = {0};
    memset(in[3], GUARD, sizeof in[3]);
    for (unsigned w = 0; w < 4; w++) {
        if (w < 3)
            oracle_fill(field, &rng, in[w], N);
        if (w < 3 && w >= operands)
            continue;
        *places[w] = gx_host(in[w]);
        if (in_buffer >> w & 1) {
            buf[w] = create(ctx, device, bytes + 32, 0);
            assert_int_equal(gx_buf_write(buf[w], 16, in[w], bytes), GX_OK);
            *places[w] = gx_dev(buf[w], 16);
        }
    }
    oracle_run(op, field, N, want, in[0], in[1], in[2], 0);
    gx_report r = {.struct_size = sizeof r};
    gx_run_params opts = {.device = in_buffer ? NULL : device, .path = path};
    assert_int_equal(gx_run(ctx, &job, 1, &opts, &r), GX_OK);
    /* Buffers of "cpu" are plain memory: a GPU that is chosen by itself may be faster. */
    int moved = !strcmp(device, "cpu") && in_buffer && r.reason != GX_REASON_RESIDENT &&
                strncmp(devices[device_count - 1], "cuda", 4) == 0;
    if (!moved) {
        assert_string_equal(r.device, device);
        assert_int_equal(r.reason, in_buffer ? GX_REASON_RESIDENT : GX_REASON_ASKED);
    }
    if (buf[3])
        expect(buf[3], 16, want, bytes);
    else
        assert_memory_equal(in[3], want, bytes);
    for (unsigned w = 0; w < operands; w++)
        if (buf[w])
            expect(buf[w], 16, in[w], bytes); /* inputs stay */
    unsigned all = ((1u << operands) - 1) | 8;
    bool direct = (in_buffer & all) == all || strcmp(device, "cpu") == 0;
    gx_path expected = gxt_shares_memory(device) ? path : GX_PATH_DEVICE_LOCAL;
    if (!moved)
        assert_int_equal(r.path, direct ? GX_PATH_DIRECT : expected);
    for (unsigned w = 0; w < 4; w++)
        gx_buf_destroy(&buf[w]);
}

static void operands_mix(gx_ctx *ctx, const char *device)
{
    static const struct {
        gx_op op;
        gx_field field;
    } jobs[] = {{GX_ADD, GX_BLS12_381_FQ}, {GX_MUL_ADD, GX_BN254_FR}, {GX_DIV, GX_BLS12_381_FR},
                {GX_MUL, GX_U32},          {GX_INV, GX_BN254_FQ},     {GX_SUB, GX_F32}};
    for (size_t i = 0; i < GXT_COUNT(jobs); i++) {
        unsigned inputs = (1u << gx_op_get_info(jobs[i].op)->operands) - 1;
        for (unsigned mix = 0; mix < 16; mix++)
            if (!(mix & ~(inputs | 8)))
                for (int path = GX_PATH_HOST_VISIBLE; path <= GX_PATH_DEVICE_LOCAL; path++)
                    mixed_job(ctx, device, jobs[i].op, jobs[i].field, mix, (gx_path)path);
    }
}

/* x = a * b; x = x + a; y = x * x, in one call, over one buffer: a, b, x, y. */
static void chains(gx_ctx *ctx, const char *device)
{
    enum { PART = N * 32 };
    gx_field field = GX_BLS12_381_FR;
    unsigned char in[2][PART], want[PART];
    gx_report r[3] = {{.struct_size = sizeof *r}};
    oracle_fill(field, &rng, in[0], N);
    oracle_fill(field, &rng, in[1], N);
    gx_buf *buf = create(ctx, device, 4 * (size_t)PART, 0);
    assert_int_equal(gx_buf_write(buf, 0, in, sizeof in), GX_OK);
    gx_job jobs[3] = {{.op = GX_MUL}, {.op = GX_ADD}, {.op = GX_SQR}};
    for (size_t i = 0; i < 3; i++) {
        jobs[i].field = field;
        jobs[i].n = N;
    }
    gx_operand a = gx_dev(buf, 0), b = gx_dev(buf, PART), x = gx_dev(buf, 2 * (size_t)PART);
    jobs[0].a = jobs[1].b = a;
    jobs[0].b = b;
    jobs[0].out = jobs[1].a = jobs[1].out = jobs[2].a = x;
    jobs[2].out = gx_dev(buf, 3 * (size_t)PART);
    gx_run_params here = {.device = device}; /* a GPU may be faster for work on buffers of "cpu" */
    assert_int_equal(gx_run(ctx, jobs, 3, &here, r), GX_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(r[i].path, GX_PATH_DIRECT);
        assert_int_equal(r[i].host_in_ns + r[i].host_out_ns, 0);
        if (gxt_shares_memory(device)) /* else slots are copied */
            assert_int_equal(r[i].upload_ns + r[i].download_ns, 0);
    }
    oracle_run(GX_MUL, field, N, want, in[0], in[1], NULL, 0);
    oracle_run(GX_ADD, field, N, want, want, in[0], NULL, 0);
    expect(buf, 2 * (size_t)PART, want, PART);
    oracle_run(GX_SQR, field, N, want, want, NULL, NULL, 0);
    expect(buf, 3 * (size_t)PART, want, PART);
    expect(buf, 0, in, sizeof in);
    gx_buf_destroy(&buf);
}

/* Jobs on one part of a buffer, and writes to another: neither affects the other. */
static void written_beside_jobs(gx_ctx *ctx, const char *device)
{
    enum { PART = N * 32, ROUNDS = 100 };
    gx_field field = GX_BLS12_381_FR;
    unsigned char in[2][PART], want[PART], other[PART];
    oracle_fill(field, &rng, in[0], N);
    oracle_fill(field, &rng, in[1], N);
    gx_buf *buf = create(ctx, device, 4 * (size_t)PART, 0);
    assert_int_equal(gx_buf_write(buf, 0, in[1], PART), GX_OK);
    assert_int_equal(gx_buf_write(buf, PART, in[0], PART), GX_OK);
    gx_job job = {.op = GX_MUL,
                  .field = field,
                  .n = N,
                  .out = gx_dev(buf, PART),
                  .a = gx_dev(buf, PART),
                  .b = gx_dev(buf, 0)};
    memcpy(want, in[0], PART);
    for (int round = 0; round < ROUNDS; round++) {
        gx_ticket *ticket = NULL;
        size_t at = 2 * (size_t)PART + (size_t)(round % 5), bytes = PART - (size_t)(round % 7);
        gxt_bytes(&rng.state, other, sizeof other);
        assert_int_equal(gx_submit(ctx, &job, 1, NULL, &ticket), GX_OK);
        assert_int_equal(gx_buf_write(buf, at, other, bytes), GX_OK);
        oracle_run(GX_MUL, field, N, want, want, in[1], NULL, 0);
        assert_int_equal(gx_wait(ticket, UINT64_MAX, NULL), GX_OK);
        expect(buf, at, other, bytes);
        gx_ticket_destroy(&ticket);
    }
    expect(buf, PART, want, PART);
    expect(buf, 0, in[1], PART);
    gx_buf_destroy(&buf);
}

/* Every allowed offset; neighbouring bytes must not change. */
static void offsets(gx_ctx *ctx, const char *device)
{
    enum { SOME = 7 };
    static const gx_field fields[] = {GX_U32, GX_BN254_FR, GX_BLS12_381_FQ};
    for (size_t f = 0; f < GXT_COUNT(fields); f++) {
        size_t align = fields[f] == GX_U32 ? 4 : 16, bytes = SOME * gxt_element(fields[f]);
        for (size_t offset = 0; offset <= 80; offset += align) {
            unsigned char in[SOME * 48], want[SOME * 48 + 160];
            memset(want, GUARD, sizeof want);
            oracle_fill(fields[f], &rng, in, SOME);
            gx_buf *from = create(ctx, device, offset + bytes, 0);
            gx_buf *to = filled(ctx, device, want, sizeof want);
            assert_int_equal(gx_buf_write(from, offset, in, bytes), GX_OK);
            gx_job job = {.op = GX_ADD, .field = fields[f], .n = SOME};
            job.a = job.b = gx_dev(from, offset);
            job.out = gx_dev(to, 80 - offset);
            assert_int_equal(run(ctx, &job, NULL), GX_OK);
            oracle_run(GX_ADD, fields[f], SOME, want + 80 - offset, in, in, NULL, 0);
            expect(to, 0, want, sizeof want);
            gx_buf_destroy(&from);
            gx_buf_destroy(&to);
        }
    }
}

static void broadcast(gx_ctx *ctx, const char *device)
{
    gx_field field = GX_BN254_FQ;
    unsigned char in[N * 32], one[32], want[N * 32];
    oracle_fill(field, &rng, in, N);
    oracle_fill_random(field, &rng, one, 1);
    gx_buf *a = filled(ctx, device, in, sizeof in), *b = filled(ctx, device, one, sizeof one);
    gx_job job = {.op = GX_MUL, .field = field, .n = N};
    job.a = job.out = gx_dev(a, 0);
    job.b = gx_dev(b, 0);
    job.b.broadcast = 1;
    oracle_run(GX_MUL, field, N, want, in, one, NULL, ORACLE_B);
    struct gx_statistics before, after;
    gx__stats(ctx, &before);
    assert_int_equal(run(ctx, &job, NULL), GX_OK);
    gx__stats(ctx, &after);
    assert_int_equal(after.jobs_done, before.jobs_done + 1); /* not the passes that check */
    expect(a, 0, want, sizeof want);
    gx_buf_destroy(&a);
    gx_buf_destroy(&b);
}

/* ---- what is refused ---- */

struct refusal {
    gx_field field;
    size_t n, a, out; /* offsets, in a buffer of 1024 bytes */
    gx_status want;
};

static void overlap_and_alignment(gx_ctx *ctx, const char *device)
{
    static const struct refusal cases[] = {
        {GX_U32, 16, 0, 0, GX_OK},
        {GX_U32, 16, 0, 64, GX_OK},
        {GX_U32, 16, 960, 0, GX_OK},
        {GX_U32, 16, 4, 512, GX_OK},
        {GX_U32, 16, 0, 60, GX_ERR_OVERLAP},
        {GX_U32, 16, 60, 0, GX_ERR_OVERLAP},
        {GX_U32, 16, 2, 512, GX_ERR_INVALID}, /* alignment */
        {GX_U32, 16, 0, 513, GX_ERR_INVALID},
        {GX_BN254_FR, 2, 16, 512, GX_OK},
        {GX_BN254_FR, 2, 8, 512, GX_ERR_INVALID},
        {GX_BN254_FR, 2, 0, 520, GX_ERR_INVALID},
        {GX_BN254_FR, 2, 0, 32, GX_ERR_OVERLAP},
        {GX_U32, 16, 964, 0, GX_ERR_INVALID}, /* the end */
        {GX_U32, 16, 0, 964, GX_ERR_INVALID},
        {GX_U32, 16, 1028, 0, GX_ERR_INVALID},
        {GX_U32, 16, SIZE_MAX - 3, 0, GX_ERR_INVALID},
        {GX_U32, 257, 0, 0, GX_ERR_INVALID},
        {GX_U32, 0, 0, 0, GX_OK},
    };
    unsigned char zero[1024] = {0};
    gx_buf *buf = filled(ctx, device, zero, sizeof zero);
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        gx_job job = {.op = GX_ADD, .field = cases[i].field, .n = cases[i].n};
        gx_report r = {.struct_size = sizeof r};
        job.a = job.b = gx_dev(buf, cases[i].a);
        job.out = gx_dev(buf, cases[i].out);
        gx_status s = run(ctx, &job, &r);
        if (s != cases[i].want)
            fail_msg("case %zu: %s", i, gx_status_name(s));
        assert_int_equal(!r.message[0], s == GX_OK);
    }
    gx_job both = {.op = GX_ADD, .field = GX_U32, .n = 4};
    both.a = both.b = both.out = gx_dev(buf, 0);
    both.a.host = zero;
    assert_int_equal(run(ctx, &both, NULL), GX_ERR_INVALID);
    gx_buf_destroy(&buf);
}

/* Reports the first one, by index and operand; a rejected job leaves its buffer intact. */
static void bad_elements(gx_ctx *ctx, const char *device)
{
    gx_field field = GX_BLS12_381_FQ;
    unsigned char in[2][N * 48];
    for (int in_place = 0; in_place < 2; in_place++) {
        for (int w = 0; w < 2; w++) {
            oracle_fill(field, &rng, in[0], N);
            oracle_fill(field, &rng, in[1], N);
            oracle_bad(field, 0, in[w] + (size_t)48 * 123);
            oracle_bad(field, 1, in[w] + (size_t)48 * 200);
            gx_buf *a = filled(ctx, device, in[0], sizeof in[0]);
            gx_buf *b = filled(ctx, device, in[1], sizeof in[1]);
            gx_buf *out = create(ctx, device, sizeof in[0], 0);
            gx_job job = {.op = GX_MUL, .field = field, .n = N};
            job.a = gx_dev(a, 0);
            job.b = gx_dev(b, 0);
            job.out = in_place ? job.a : gx_dev(out, 0);
            gx_report r = {.struct_size = sizeof r};
            assert_int_equal(run(ctx, &job, &r), GX_ERR_NOT_CANONICAL);
            assert_int_equal(r.bad_index, 123);
            assert_int_equal(r.bad_operand, 'a' + w);
            expect(a, 0, in[0], sizeof in[0]);
            expect(b, 0, in[1], sizeof in[1]);
            gx_buf_destroy(&a);
            gx_buf_destroy(&b);
            gx_buf_destroy(&out);
        }
    }
}

static void wrong_device(void **state)
{
    (void)state;
    const char *other = device_count > 1 ? devices[1] : "ref";
    uint32_t x[4] = {1, 2, 3, 4};
    gxt_heap_start(&heap);
    gx_ctx *ctx = open_watched();
    gx_buf *here = filled(ctx, "cpu", x, sizeof x), *there = filled(ctx, other, x, sizeof x);
    gx_job job = {.op = GX_ADD, .field = GX_U32, .n = 4};
    gx_report r = {.struct_size = sizeof r};
    job.a = job.out = gx_dev(here, 0);
    job.b = gx_host(x);
    assert_int_equal(gxt_run(ctx, &job, other, &r), GX_ERR_INVALID);
    assert_non_null(strstr(r.message, "cpu"));
    assert_int_equal(gxt_run(ctx, &job, "nope", NULL), GX_ERR_NO_DEVICE);
    expect(here, 0, x, sizeof x);
    job.b = gx_dev(there, 0);
    assert_int_equal(gxt_run(ctx, &job, other, &r), GX_ERR_INVALID);
    assert_non_null(strstr(r.message, other));
    assert_int_equal(run(ctx, &job, &r),
                     GX_OK); /* buffers of "cpu" are plain memory for any device */
    assert_true(!strcmp(r.device, other) || r.reason == GX_REASON_FASTEST); /* if it was moved */
    expect(here, 0, (uint32_t[]){2, 4, 6, 8}, sizeof x);
    job.b = gx_host(x);
    assert_int_equal(gxt_run(ctx, &job, "cpu", &r), GX_OK); /* the right one may be named */
    assert_int_equal(r.reason, GX_REASON_ASKED);
    gx_buf_destroy(&here);
    gx_buf_destroy(&there);
    gx_close(&ctx);
    gxt_heap_end(&heap);
}

/* ---- the caller's floating-point mode ---- */

/* An allocator that records the floating-point mode inside the library. */
static unsigned nearest_inside;

static void *alloc_watching(void *user, size_t bytes)
{
    (void)user;
    nearest_inside += fegetround() == FE_TONEAREST;
    return malloc(bytes);
}

static void free_watching(void *user, void *memory)
{
    (void)user;
    nearest_inside += fegetround() == FE_TONEAREST;
    free(memory);
}

/* A device that needs no memory of the host for its own shows nothing. */
static void expect_mode(unsigned inside)
{
    int cuda = strncmp(devices[1], "cuda", 4) == 0;
    assert_int_equal(fegetround(), FE_UPWARD);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
    assert_true(inside ? nearest_inside > 0 || cuda : nearest_inside == 0);
    nearest_inside = 0;
}

/* The driver sees the default mode, and the caller's own is restored. */
static void floating_point_mode(void **state)
{
    (void)state;
    if (device_count < 2 || !gxt_shares_memory(devices[1]))
        skip();
    gx_config config = {.allocator = {alloc_watching, free_watching, NULL}};
    gx_ctx *ctx = gxt_open(&config);
    gx_buf *open = create(ctx, devices[1], 64, 0), *buf = NULL;
    void *memory = NULL;
    uint32_t x = 1;
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
    nearest_inside = 0;
    gx_status s = gx_buf_create(ctx, devices[1], 64, GX_BUF_MAPPABLE, &buf);
    expect_mode(1);
    assert_int_equal(s, GX_OK);
    assert_int_equal(gx_buf_write(buf, 0, &x, sizeof x), GX_OK);
    assert_int_equal(gx_buf_map(buf, &memory), GX_OK);
    gx_buf_unmap(buf);
    expect_mode(0);
    gx_buf_destroy(&buf);
    expect_mode(1);
    fesetround(FE_TONEAREST);
    gx_buf_destroy(&open);
    gx_close(&ctx);
}

/* Floating-point flags of both units are restored, both in the default mode, which is not set
 * again, and in another. */
static void floating_point_flags(void **state)
{
    (void)state;
    const int modes[] = {FE_TONEAREST, FE_DOWNWARD};
    const int raised[] = {0, FE_DIVBYZERO, FE_OVERFLOW, FE_DIVBYZERO | FE_OVERFLOW};
    for (size_t i = 0; i < GXT_COUNT(modes) * GXT_COUNT(raised); i++) {
        struct gx_float_env caller;
        fesetround(modes[i / GXT_COUNT(raised)]);
        feclearexcept(FE_ALL_EXCEPT);
        feraiseexcept(FE_INEXACT);
        gx__float_env_default(&caller);
        int inside = fegetround();
        feraiseexcept(raised[i % GXT_COUNT(raised)]);
        gx__float_env_restore(&caller);
        int mode = fegetround(), flags = fetestexcept(FE_ALL_EXCEPT);
        fesetround(FE_TONEAREST);
        assert_int_equal(inside, FE_TONEAREST);
        assert_int_equal(mode, modes[i / GXT_COUNT(raised)]);
        assert_int_equal(flags, FE_INEXACT);
    }
}

static int find_devices(void **state)
{
    (void)state;
    gxt_clear_environment();
    devices[1] = gxt_gpu();
    device_count = devices[1] ? 2 : 1;
    return 0;
}

int main(int argc, char **argv)
{
    gxt_choose_gpu(argc, argv);
    const struct CMUnitTest tests[] = {
        EVERYWHERE(write_and_read),
        EVERYWHERE(registered),
        cmocka_unit_test(registers_only_memory),
        EVERYWHERE(of_another_context),
        EVERYWHERE(bad_arguments),
        EVERYWHERE(mapping),
        cmocka_unit_test(not_mappable),
        EVERYWHERE(operands_mix),
        EVERYWHERE(chains),
        EVERYWHERE(written_beside_jobs),
        EVERYWHERE(offsets),
        EVERYWHERE(broadcast),
        EVERYWHERE(bad_elements),
        EVERYWHERE(overlap_and_alignment),
        cmocka_unit_test(wrong_device),
        cmocka_unit_test(floating_point_mode),
        cmocka_unit_test(floating_point_flags),
    };
    return cmocka_run_group_tests_name("buffers", tests, find_devices, NULL);
}
