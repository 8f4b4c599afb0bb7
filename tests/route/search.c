/* SPDX-License-Identifier: Apache-2.0
 *
 * When devices are looked for: not before "cpu" had as much to do as that takes, unless a call or
 * its caller asks for them. And short calls with much work are learned from.
 */
#include "api/context.h"
#include "base/os.h"
#include "op/op.h"
#include "support/harness.h"

/* Elements whose inverses take 40 % of the time of a search, going by the table of operations:
 * nothing is known, and the first two calls of a kind are not learned from. */
static size_t some(void)
{
    return (size_t)(0.4 * GX_SEARCH_NS / gx__op_rows[GX_INV].ns);
}

static bool has_searched(const gx_ctx *ctx)
{
    const struct gx_instance *instance = &ctx->instance;
    bool asked = instance->vulkan || instance->cuda || instance->webgpu;
    assert_int_equal(asked, ctx->router.listed);
    return asked;
}

/* As on a machine that has a GPU. */
static gx_ctx *open_with(uint32_t threads)
{
    gx_ctx *ctx = gxt_open(&(gx_config){.cache_dir = "none", .threads = threads});
    assert_false(has_searched(ctx));
    ctx->router.search_ns = GX_SEARCH_NS;
    return ctx;
}

static gx_ctx *open_alone(void)
{
    return open_with(1);
}

static int clear(void **state)
{
    (void)state;
    gxt_clear_environment();
    return 0;
}

static gx_reason invert(gx_ctx *ctx, size_t n, gx_policy policy)
{
    unsigned char *x = calloc(n, 32);
    gx_report report = gxt_report();
    assert_non_null(x);
    gx_job job = gxt_job(GX_INV, GX_BN254_FR, n, x, NULL, NULL, x);
    gx_run(ctx, &job, 1, &(gx_run_params){.policy = policy}, &report);
    free(x);
    return report.reason;
}

/* 0.4, 0.8, and then it would be 1.2. */
static void after_as_much_work(void **state)
{
    (void)state;
    gx_ctx *ctx = open_alone();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(invert(ctx, some(), GX_POLICY_AUTO), GX_REASON_SMALL);
        assert_false(has_searched(ctx));
    }
    invert(ctx, some(), GX_POLICY_AUTO);
    assert_true(has_searched(ctx));
    gx_close(&ctx);
}

/* What is below the CPU-only limit does not count. */
static void small_calls_never(void **state)
{
    (void)state;
    gx_ctx *ctx = open_alone();
    for (int i = 0; i < 1000; i++)
        assert_int_equal(invert(ctx, 16, GX_POLICY_AUTO), GX_REASON_SMALL);
    assert_int_equal(ctx->router.unsearched_ns, 0);
    assert_false(has_searched(ctx));
    gx_close(&ctx);
}

/* Planning tells where the call would run, and reads no operand. */
static gx_reason plan(gx_ctx *ctx, size_t n)
{
    unsigned char x[32] = {0};
    gx_estimate_info info = {.struct_size = sizeof info};
    gx_job job = gxt_job(GX_INV, GX_BN254_FR, n, x, NULL, NULL, x);
    assert_int_equal(gx_estimate(ctx, &job, 1, NULL, &info), GX_OK);
    return info.reason;
}

static void long_calls_at_once(void **state)
{
    (void)state;
    gx_ctx *ctx = open_alone();
    assert_int_equal(plan(ctx, some()), GX_REASON_SMALL);
    assert_false(has_searched(ctx));
    assert_int_not_equal(plan(ctx, 3 * some()), GX_REASON_SMALL);
    assert_true(has_searched(ctx));
    gx_close(&ctx);
}

/* Work that threads share takes less time. */
static void later_with_more_threads(void **state)
{
    (void)state;
    if (gx__cores() < 2)
        skip();
    gx_ctx *ctx = open_with(2);
    assert_int_equal(plan(ctx, 3 * some()), GX_REASON_SMALL);
    assert_int_equal(plan(ctx, some()), GX_REASON_SMALL);
    assert_false(has_searched(ctx));
    plan(ctx, 3 * some());
    assert_true(has_searched(ctx));
    gx_close(&ctx);
}

/* Where drivers have made no files, not before it costs little. */
static void later_without_a_gpu(void **state)
{
    (void)state;
    gx_ctx *ctx = open_alone();
    ctx->router.search_ns = 0;
    plan(ctx, some());
    assert_int_equal(ctx->router.search_ns,
                     gx__os_may_have_gpu() ? GX_SEARCH_NS : GX_SEARCH_IN_VAIN_NS);
    ctx->router.search_ns = GX_SEARCH_IN_VAIN_NS;
    assert_int_equal(plan(ctx, 20 * some()), GX_REASON_SMALL);
    assert_false(has_searched(ctx));
    plan(ctx, 20 * some());
    assert_true(has_searched(ctx));
    gx_close(&ctx);
}

static bool has_gpu(gx_ctx *ctx)
{
    gx_device_info infos[32] = {{.struct_size = sizeof *infos}};
    size_t count = sizeof infos / sizeof *infos;
    bool found = false;
    assert_int_equal(gx_devices(ctx, infos, &count), GX_OK);
    for (size_t i = 0; i < count; i++)
        found |= infos[i].automatic && infos[i].kind != GX_DEVICE_CPU;
    return found;
}

static void if_they_are_asked_for(void **state)
{
    (void)state;
    gx_ctx *ctx = open_alone();
    invert(ctx, 16, GX_POLICY_GPU);
    assert_true(has_searched(ctx));
    gx_close(&ctx);
    ctx = open_alone();
    invert(ctx, some(), GX_POLICY_CPU);
    assert_false(has_searched(ctx));
    assert_true(!has_gpu(ctx) || gx__os_may_have_gpu());
    assert_true(has_searched(ctx));
    gx_close(&ctx);
}

/* Of few elements, but milliseconds. */
static void sums_of_points_are_learned(void **state)
{
    (void)state;
    enum { POINTS = 1024 };
    unsigned char *xy = calloc(POINTS, 96), *scalars = calloc(POINTS, 32), sum[96];
    gx_candidate candidate[GX_CANDIDATES_MAX] = {{.struct_size = sizeof *candidate}};
    gx_points *points = NULL;
    gx_ctx *ctx = open_alone();
    assert_true(xy && scalars);
    uint64_t seed = 1;
    gxt_fill(&seed, GX_BLS12_381_FR, scalars, POINTS);
    const gx_points_params desc = {.struct_size = sizeof desc,
                                   .curve = GX_BLS12_381_G1,
                                   .form = GX_POINT_XY_MONT,
                                   .points = xy,
                                   .count = POINTS};
    assert_int_equal(gxt_multiply(ctx, GX_BLS12_381_G1, NULL, scalars, POINTS, xy), GX_OK);
    assert_int_equal(gx_points_create(ctx, &desc, &points, NULL), GX_OK);
    const gx_msm_params params = {.struct_size = sizeof params,
                                  .points = points,
                                  .count = POINTS,
                                  .result_form = GX_POINT_XY_MONT};
    const gx_job job = gx_msm(&params, 1, gx_host(scalars), gx_host(sum));
    for (int i = 0; i < 4; i++) {
        gx_report report = gxt_report();
        report.candidate = candidate;
        report.candidate_room = GX_CANDIDATES_MAX;
        assert_int_equal(gx_run(ctx, &job, 1, NULL, &report), GX_OK);
        assert_string_equal(candidate[0].device, "cpu");
    }
    assert_true(candidate[0].predicted_ns > 0);
    gx_points_destroy(&points);
    gx_close(&ctx);
    free(xy);
    free(scalars);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(after_as_much_work, clear),
        cmocka_unit_test_setup(small_calls_never, clear),
        cmocka_unit_test_setup(long_calls_at_once, clear),
        cmocka_unit_test_setup(later_with_more_threads, clear),
        cmocka_unit_test_setup(later_without_a_gpu, clear),
        cmocka_unit_test_setup(if_they_are_asked_for, clear),
        cmocka_unit_test_setup(sums_of_points_are_learned, clear),
    };
    return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
