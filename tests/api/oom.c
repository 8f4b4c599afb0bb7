/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory runs out at every allocation in turn: the Kth one fails, for K = 1, 2, ... until a whole
 * scenario needs fewer. Each time: no crash, the right status, inputs intact, nothing leaked or
 * freed twice, and the same context works once there is memory again. Finally: once warm, gx_run
 * does not allocate.
 */
#include <stdio.h>

#include "api/counters.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/oracle.h"

enum { N = 150, GUARD = 0x5c, K_MAX = 5000 };

static const gx_field field = GX_BLS12_381_FQ;
static const size_t bytes = N * 48;

struct step {
    gx_op op;
    int in_place;
    const char *device;
};

static const struct step steps[] = {
    {GX_ADD, 0, "cpu"},
    {GX_INV, 0, "cpu"},
    {GX_INV, 1, "cpu"},
    {GX_DIV, 0, "cpu"},
    {GX_DIV, 1, "cpu"},
    {GX_ADD, 0, "fault:fail@1000000:cpu"},
    {GX_INV, 1, "fault:fail@1000000:cpu"},
    {GX_DIV, 0, "fault:fail@1000000:cpu"},
    {GX_MUL_ADD, 1, "ref"},
    {GX_SUM, 0, "cpu"},
    {GX_DOT, 0, "fault:fail@1000000:cpu"},
    {GX_DOT, 0, "ref"},
};

static unsigned char a[N * 48], b[N * 48], c[N * 48], want[GXT_COUNT(steps)][N * 48];

static int prepare(void **state)
{
    (void)state;
    struct oracle_rng rng = {5};
    gxt_clear_environment();
    oracle_fill(field, &rng, a, N);
    oracle_fill(field, &rng, b, N);
    oracle_fill(field, &rng, c, N);
    memset(want, GUARD, sizeof want); /* behind the result of a sum */
    for (size_t i = 0; i < GXT_COUNT(steps); i++)
        oracle_run(steps[i].op, field, N, want[i], a, b, c, 0);
    return 0;
}

/* ---- the scenario ---- */

struct memory { /* the operands, and their copies to compare with */
    unsigned char a[N * 48], b[N * 48], c[N * 48], out[N * 48];
};

static struct memory fresh(void)
{
    struct memory m;
    memcpy(m.a, a, bytes);
    memcpy(m.b, b, bytes);
    memcpy(m.c, c, bytes);
    memset(m.out, GUARD, bytes);
    return m;
}

static gx_status run_step(gx_ctx *ctx, size_t i)
{
    struct memory m = fresh();
    unsigned char *out = steps[i].in_place ? m.a : m.out;
    gx_job job = gxt_job(steps[i].op, field, N, m.a, m.b, m.c, out);
    gx_report r = {.struct_size = sizeof r};
    gx_status status = gxt_run(ctx, &job, steps[i].device, &r);
    assert_int_equal(r.status, status);
    assert_int_equal(r.message[0] != 0, status != GX_OK);
    if (!steps[i].in_place)
        assert_memory_equal(m.a, a, bytes);
    assert_memory_equal(m.b, b, bytes);
    assert_memory_equal(m.c, c, bytes);
    if (status == GX_OK)
        assert_memory_equal(out, want[i], bytes);
    return status;
}

/* A call that may fail for lack of memory, and works once there is some. */
static void step_with_failures(gx_ctx *ctx, struct gxt_heap *heap, size_t i)
{
    uint64_t failed = heap->failed;
    gx_status status = run_step(ctx, i);
    assert_true(status == GX_OK || status == GX_ERR_OUT_OF_MEMORY);
    if (status == GX_OK)
        return;
    assert_true(heap->failed > failed);
    uint64_t from = heap->fail_from;
    gxt_heap_heal(heap);
    assert_int_equal(run_step(ctx, i), GX_OK);
    heap->fail_from = from;
}

static void list_devices(gx_ctx *ctx)
{
    gx_device_info infos[8] = {{.struct_size = sizeof *infos}};
    size_t count = GXT_COUNT(infos);
    gx_status status = gx_devices(ctx, infos, &count);
    assert_true(status == GX_OK || status == GX_ERR_OUT_OF_MEMORY);
    if (status == GX_OK)
        assert_true(count >= 2);
}

/* The scenario with allocations from..to failing. 1 if there were not that many. */
static int scenario(uint64_t at, uint64_t more)
{
    struct gxt_heap heap;
    gxt_heap_start(&heap);
    gxt_heap_fail(&heap, at, more);
    gx_config config = {.device = "cpu",
                        .cpumask = "portable,adx,avx512",
                        .dispatch_elems = 10, /* fifteen dispatches */
                        .allocator = gxt_heap_allocator(&heap)};
    gx_ctx *ctx = (gx_ctx *)&heap;
    gx_status status = gx_open(&config, &ctx);
    if (status != GX_OK) {
        assert_int_equal(status, GX_ERR_OUT_OF_MEMORY);
        assert_true(heap.failed > 0);
        assert_null(ctx);
        assert_int_equal(heap.count, 0); /* nothing is kept */
    } else {
        struct gx_statistics stats = {0};
        list_devices(ctx);
        for (size_t i = 0; i < GXT_COUNT(steps); i++)
            step_with_failures(ctx, &heap, i);
        gx__stats(ctx, &stats);
        assert_int_equal(stats.jobs_done, GXT_COUNT(steps));
        gx_close(&ctx);
    }
    int whole = heap.failed == 0;
    gxt_heap_end(&heap);
    return whole;
}

static void sweep(uint64_t more)
{
    uint64_t k = 1;
    while (!scenario(k, more)) {
        k++;
        assert_true(k < K_MAX);
    }
    print_message("%llu allocations failed in turn\n", (unsigned long long)(k - 1));
    assert_true(k > 8);
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    sweep(0);
}

static void from_every_allocation_on_all_fail(void **state)
{
    (void)state;
    sweep(UINT64_MAX);
}

/* Each step alone on a new context: what it allocates is its own. */
static void every_allocation_of_every_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < GXT_COUNT(steps); i++) {
        int whole = 0;
        for (uint64_t k = 1; !whole; k++) {
            struct gxt_heap heap;
            gxt_heap_start(&heap);
            gx_config config = {.dispatch_elems = 10, .allocator = gxt_heap_allocator(&heap)};
            gx_ctx *ctx = gxt_open(&config);
            gxt_heap_fail(&heap, k, 0);
            step_with_failures(ctx, &heap, i);
            whole = heap.failed == 0;
            assert_true(k > 1 || !whole); /* opening a device always needs memory */
            gx_close(&ctx);
            gxt_heap_end(&heap);
        }
    }
}

/* A job on each path and a buffer, on a GPU. */
static gx_status gpu_scenario(gx_ctx *ctx, const char *device)
{
    struct memory m = fresh();
    gx_buf *buf = NULL;
    gx_status s = GX_OK;
    for (int path = GX_PATH_HOST_VISIBLE; path <= GX_PATH_DEVICE_LOCAL && s == GX_OK; path++) {
        gx_job job = gxt_job(steps[0].op, field, N, m.a, m.b, m.c, m.out);
        gx_run_params opts = {.device = device, .path = (gx_path)path};
        s = gx_run(ctx, &job, 1, &opts, NULL);
        if (s == GX_OK)
            assert_memory_equal(m.out, want[0], bytes);
    }
    if (s == GX_OK)
        s = gx_buf_create(ctx, device, bytes, 0, &buf);
    if (s == GX_OK)
        s = gx_buf_write(buf, 0, a, bytes);
    if (s == GX_OK)
        s = gx_buf_read(buf, 0, m.out, bytes);
    if (s == GX_OK)
        assert_memory_equal(m.out, a, bytes);
    gx_buf_destroy(&buf);
    return s;
}

/* Some failures are survived silently: a cache file not read, a speed not measured. */
static void every_allocation_on_a_gpu(void **state)
{
    (void)state;
    const char *device = gxt_gpu();
    unsigned refused = 0;
    if (!device)
        skip();
    for (uint64_t k = 1, failed = 1; failed; k += gxt_small() ? 3 : 1) {
        struct gxt_heap heap;
        gxt_heap_start(&heap);
        gx_config config = {.dispatch_elems = 10, .allocator = gxt_heap_allocator(&heap)};
        gxt_watch(&config);
        gx_ctx *ctx = gxt_open(&config);
        gxt_heap_fail(&heap, k, 0);
        gx_status s = gpu_scenario(ctx, device);
        assert_true(s == GX_OK || s == GX_ERR_OUT_OF_MEMORY);
        failed = heap.failed;
        assert_true(failed || s == GX_OK);
        refused += s != GX_OK;
        gxt_heap_heal(&heap);
        assert_int_equal(gpu_scenario(ctx, device), GX_OK);
        gx_close(&ctx);
        gxt_heap_end(&heap);
        assert_int_equal(gxt_complaints(), 0);
        assert_true(k < K_MAX);
    }
    assert_true(refused > (gxt_small() ? 2 : 8));
}

/* ---- once warm, nothing ---- */

static void steady_state_allocates_nothing(void **state)
{
    (void)state;
    struct gxt_heap heap;
    gxt_heap_start(&heap);
    gx_config config = {.dispatch_elems = 10, .allocator = gxt_heap_allocator(&heap)};
    gx_ctx *ctx = gxt_open(&config);
    for (size_t i = 0; i < GXT_COUNT(steps); i++)
        assert_int_equal(run_step(ctx, i), GX_OK);
    uint64_t warm = gxt_heap_calls(&heap);
    for (size_t i = 0; i < (gxt_small() ? 90 : 1800); i++) {
        const struct step *s = &steps[i % GXT_COUNT(steps)];
        if (strncmp(s->device, "fault:", 6) == 0) /* made to test with, not to be fast */
            continue;
        assert_int_equal(run_step(ctx, i % GXT_COUNT(steps)), GX_OK);
        if (gxt_heap_calls(&heap) != warm) {
            print_error("%s on %s, in place %d, allocates\n", gx_op_get_info(s->op)->name,
                        s->device, s->in_place);
            fail();
        }
    }
    gx_close(&ctx);
    gxt_heap_end(&heap);
}

/* The same for calls with several jobs, also larger and rejected ones. On one device, because
 * "auto" looks for others once its calls have taken long enough, which on a busy machine they may.
 */
static void steady_state_of_other_calls(void **state)
{
    (void)state;
    enum { MANY = 30000 };
    struct gxt_heap heap;
    gxt_heap_start(&heap);
    gx_config config = {.allocator = gxt_heap_allocator(&heap)};
    gx_ctx *ctx = gxt_open(&config);
    unsigned char *in = gxt_alloc((size_t)MANY * 32), *out = gxt_alloc((size_t)MANY * 32);
    const gx_run_params opts = {.device = "cpu"};
    uint64_t seed = 3, warm = 0;
    gxt_fill(&seed, GX_BN254_FR, in, MANY);
    const gx_job jobs[] = {gxt_job(GX_MUL, GX_BN254_FR, MANY, in, in, NULL, out),
                           gxt_job(GX_INV, GX_BN254_FR, MANY, out, NULL, NULL, out),
                           gxt_job(GX_SUB, GX_BN254_FR, 10, in, out, NULL, out)};
    for (int round = 0; round < 20; round++) {
        assert_int_equal(gx_run(ctx, jobs, GXT_COUNT(jobs), &opts, NULL), GX_OK);
        gx_job bad = jobs[2];
        bad.flags = 8;
        assert_int_equal(gx_run(ctx, &bad, 1, &opts, NULL), GX_ERR_INVALID);
        if (round == 0)
            warm = gxt_heap_calls(&heap);
    }
    assert_int_equal(gxt_heap_calls(&heap), warm);
    free(in);
    free(out);
    gx_close(&ctx);
    gxt_heap_end(&heap);
}

/* On a GPU on each path, and with buffers: what drivers allocate does not count. */
static void steady_state_on_a_gpu(void **state)
{
    (void)state;
    const char *device = gxt_gpu();
    if (!device)
        skip();
    struct gxt_heap heap;
    gxt_heap_start(&heap);
    gx_config config = {.dispatch_elems = 10, .allocator = gxt_heap_allocator(&heap)};
    gxt_watch(&config);
    gx_ctx *ctx = gxt_open(&config);
    struct memory m = fresh();
    gx_buf *buf = NULL;
    assert_int_equal(gx_buf_create(ctx, device, bytes, 0, &buf), GX_OK);
    gx_job jobs[] = {gxt_job(GX_MUL, field, N, m.a, m.b, NULL, m.out),
                     gxt_job(GX_DIV, field, N, m.out, m.b, NULL, m.out),
                     gxt_job(GX_ADD, field, N, m.out, m.c, NULL, NULL)};
    jobs[2].out = gx_dev(buf, 0);
    uint64_t warm = 0;
    for (int round = 0; round < 20; round++) {
        gx_run_params opts = {.device = device,
                              .path = round % 2 ? GX_PATH_HOST_VISIBLE : GX_PATH_DEVICE_LOCAL};
        assert_int_equal(gx_buf_write(buf, 0, a, bytes), GX_OK);
        assert_int_equal(gx_run(ctx, jobs, GXT_COUNT(jobs), &opts, NULL), GX_OK);
        assert_int_equal(gx_buf_read(buf, 0, m.out, bytes), GX_OK);
        oracle_run(GX_ADD, field, N, m.b, a, c, NULL, 0); /* a * b / b, and b is never 0 */
        assert_memory_equal(m.out, m.b, bytes);
        memcpy(m.b, b, bytes);
        if (round == 1)
            warm = gxt_heap_calls(&heap);
        assert_true(round < 2 || gxt_heap_calls(&heap) == warm);
    }
    gx_buf_destroy(&buf);
    gx_close(&ctx);
    assert_int_equal(gxt_complaints(), 0);
    gxt_heap_end(&heap);
}

int main(int argc, char **argv)
{
    gxt_choose_gpu(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_fails_once),
        cmocka_unit_test(from_every_allocation_on_all_fail),
        cmocka_unit_test(every_allocation_of_every_step),
        cmocka_unit_test(every_allocation_on_a_gpu),
        cmocka_unit_test(steady_state_allocates_nothing),
        cmocka_unit_test(steady_state_of_other_calls),
        cmocka_unit_test(steady_state_on_a_gpu),
    };
    return cmocka_run_group_tests_name("oom", tests, prepare, NULL);
}
