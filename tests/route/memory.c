/* SPDX-License-Identifier: Apache-2.0
 *
 * The router and memory: each allocation fails in turn while calls are chosen for, shared out
 * and repaired, and while devices are calibrated; and once warm there is none.
 */
#include <stdio.h>

#include "api/context.h"
#include "support/harness.h"
#include "support/heap.h"

enum { N = 150000, JOBS = 20, EACH = 600, K_MAX = 4000 };

static uint32_t a[N], b[N], out[N];

static int prepare(void **state)
{
    (void)state;
    gxt_clear_environment();
    for (uint32_t i = 0; i < N; i++) {
        a[i] = i * 2654435761u;
        b[i] = i ^ 0x5bd1e995u;
    }
    return 0;
}

static void expect_sum(const uint32_t *got, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(got[i], a[i] + b[i]);
}

/* One large job, one in place, and more small ones than rounds are found for without memory. */
static gx_status scenario(gx_ctx *ctx)
{
    gx_job jobs[JOBS];
    gx_job large = gxt_job(GX_ADD, GX_U32, N, a, b, NULL, out);
    gx_status s = gx_run(ctx, &large, 1, NULL, NULL);
    if (s != GX_OK)
        return s;
    expect_sum(out, N);
    memcpy(out, a, sizeof out);
    large.a = large.out;
    s = gx_run(ctx, &large, 1, NULL, NULL);
    if (s != GX_OK) { /* whoever failed, the operands are as they were */
        assert_memory_equal(out, a, sizeof out);
        return s;
    }
    expect_sum(out, N);
    for (size_t i = 0; i < JOBS; i++)
        jobs[i] = gxt_job(GX_ADD, GX_U32, EACH, a + i * EACH, b + i * EACH, NULL, out + i * EACH);
    s = gx_run(ctx, jobs, JOBS, NULL, NULL);
    if (s == GX_OK)
        expect_sum(out, (size_t)JOBS * EACH);
    return s;
}

static gx_ctx *open_counted(struct gxt_heap *heap, const char *devices, gx_policy policy)
{
    gxt_heap_start(heap);
    gx_config config = {.device = devices,
                        .policy = policy,
                        .cache_dir = "none",
                        .allocator = gxt_heap_allocator(heap)};
    return gxt_open(&config);
}

static void every_allocation(void **state)
{
    (void)state;
    unsigned refused = 0;
    for (uint64_t k = 1, failed = 1; failed; k++) {
        struct gxt_heap heap;
        gx_ctx *ctx = open_counted(&heap, "cpu,fault:fail@999999999:cpu,fault:oom@40:cpu",
                                   GX_POLICY_THROUGHPUT);
        gxt_heap_fail(&heap, k, 0);
        gx_status s = GX_OK;
        for (int i = 0; i < 4 && s == GX_OK; i++)
            s = scenario(ctx);
        assert_true(s == GX_OK || s == GX_ERR_OUT_OF_MEMORY);
        failed = heap.failed;
        assert_true(failed || s == GX_OK);
        refused += s != GX_OK;
        gxt_heap_heal(&heap);
        assert_int_equal(scenario(ctx), GX_OK);
        gx_close(&ctx);
        gxt_heap_end(&heap);
        assert_true(k < K_MAX);
    }
    assert_true(refused > 4);
}

static gx_status calibrate(gx_ctx *ctx)
{
    static const gx_op ops[] = {GX_ADD, GX_MUL};
    static const gx_field fields[] = {GX_U32};
    gx_calibrate_params settings = {.ops = ops,
                                    .op_count = GXT_COUNT(ops),
                                    .fields = fields,
                                    .field_count = GXT_COUNT(fields),
                                    .max_elems = 256,
                                    .limit_ns = 1};
    return gx_calibrate(ctx, &settings);
}

static size_t known(gx_ctx *ctx)
{
    size_t count = 0;
    assert_int_equal(gx__model(ctx, NULL, &count), GX_OK);
    return count;
}

static void every_allocation_of_a_calibration(void **state)
{
    (void)state;
    unsigned refused = 0;
    for (uint64_t k = 1, failed = 1; failed; k++) {
        struct gxt_heap heap;
        gx_ctx *ctx = open_counted(&heap, "cpu,fault:fail@999999999:cpu", GX_POLICY_AUTO);
        gxt_heap_fail(&heap, k, 0);
        gx_status s = calibrate(ctx); /* GX_ERR_FILE: measured, but no memory to save it */
        assert_true(s == GX_OK || s == GX_ERR_OUT_OF_MEMORY || s == GX_ERR_FILE);
        failed = heap.failed;
        assert_true(failed || s == GX_OK);
        refused += s != GX_OK;
        gxt_heap_heal(&heap);
        assert_int_equal(calibrate(ctx), GX_OK);
        assert_true(known(ctx) > 0);
        gx_close(&ctx);
        gxt_heap_end(&heap);
        assert_true(k < K_MAX);
    }
    assert_true(refused > 1);
}

/* Of the reference no times are kept: alone it is an error, beside others it is left out. */
static void the_reference_is_not_calibrated(void **state)
{
    (void)state;
    struct gxt_heap heap;
    gx_ctx *ctx = open_counted(&heap, "ref", GX_POLICY_AUTO);
    assert_int_equal(calibrate(ctx), GX_ERR_NO_DEVICE);
    assert_int_equal(known(ctx), 0);
    gx_close(&ctx);
    gxt_heap_end(&heap);
    ctx = open_counted(&heap, "ref,cpu", GX_POLICY_AUTO);
    assert_int_equal(calibrate(ctx), GX_OK);
    assert_true(known(ctx) > 0);
    gx_close(&ctx);
    gxt_heap_end(&heap);
}

/* A device that is chosen, and results that go home by way of the router's memory. There comes a
 * time, when all modes have been tried. */
static void steady_state_allocates_nothing(void **state)
{
    (void)state;
    const char *device = gxt_vulkan();
    char list[64];
    struct gxt_heap heap;
    if (!device)
        skip();
    snprintf(list, sizeof list, "cpu,%s", device);
    gx_ctx *ctx = open_counted(&heap, list, GX_POLICY_GPU);
    uint64_t calls = 0;
    for (int round = 0; round < 20 && gxt_heap_calls(&heap) != calls; round++) {
        calls = gxt_heap_calls(&heap);
        for (int i = 0; i < 8; i++)
            assert_int_equal(scenario(ctx), GX_OK);
    }
    assert_int_equal(gxt_heap_calls(&heap), calls);
    gx_close(&ctx);
    gxt_heap_end(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation),
        cmocka_unit_test(every_allocation_of_a_calibration),
        cmocka_unit_test(the_reference_is_not_calibrated),
        cmocka_unit_test(steady_state_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
