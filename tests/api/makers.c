/* SPDX-License-Identifier: Apache-2.0
 *
 * The makers of jobs: the jobs are those that a caller would write out, and what cannot be is
 * refused when it runs, with a message that says what is wrong.
 */
#include "support/harness.h"
#include "support/oracle.h"

enum { LOG2 = 3, BATCH = 2, N = BATCH << LOG2, ELEMENT = 32 };

static gx_ctx *ctx;
static unsigned char in[N * ELEMENT], out[N * ELEMENT], wanted[N * ELEMENT];
static const gx_operand none;

static int prepare(void **state)
{
    (void)state;
    gxt_clear_environment();
    ctx = gxt_open(NULL);
    for (size_t i = 0; i < N; i++)
        in[i * ELEMENT] = (unsigned char)(i + 1);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    gx_close(&ctx);
    return 0;
}

static void assert_same(const gx_job *job, const gx_job *expected)
{
    assert_memory_equal(job, expected, sizeof *job);
}

static void run(const gx_job *job)
{
    assert_int_equal(gx_run(ctx, job, 1, NULL, NULL), GX_OK);
}

static void refused(gx_job job, const char *text)
{
    assert_int_equal(gx_run(ctx, &job, 1, NULL, NULL), GX_ERR_INVALID);
    if (!strstr(gx_last_message(), text))
        fail_msg("'%s' does not say '%s'", gx_last_message(), text);
}

static void transforms(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++) {
        gx_domain_params of = {.struct_size = sizeof of,
                               .field = f ? GX_BN254_FR : GX_BLS12_381_FR,
                               .log2_size = LOG2};
        gx_domain *domain = NULL;
        assert_int_equal(gx_domain_create(ctx, &of, &domain), GX_OK);
        const gx_ntt_params params = {
            .struct_size = sizeof params, .domain = domain, .log2_n = LOG2};
        gx_job job = gx_ntt(&params, BATCH, gx_host(in), gx_host(out));
        assert_same(&job, &(gx_job){.op = GX_NTT,
                                    .field = of.field,
                                    .n = N,
                                    .a = gx_host(in),
                                    .out = gx_host(out),
                                    .params = &params});
        run(&job);
        const gx_ntt_params back = {
            .struct_size = sizeof back, .domain = domain, .log2_n = LOG2, .flags = GX_NTT_INVERSE};
        job = gx_ntt(&back, BATCH, gx_host(out), gx_host(out));
        run(&job);
        assert_memory_equal(out, in, sizeof in);
        gx_domain_destroy(&domain);
    }
    const gx_ntt_params homeless = {.struct_size = sizeof homeless, .log2_n = LOG2},
                        vast = {.struct_size = sizeof vast, .log2_n = 63},
                        beyond = {.struct_size = sizeof beyond, .log2_n = 64};
    refused(gx_ntt(NULL, 1, gx_host(in), gx_host(out)), "params");
    refused(gx_ntt(&homeless, 1, gx_host(in), gx_host(out)), "domain");
    refused(gx_ntt(&vast, 4, gx_host(in), gx_host(out)), "more than memory can hold");
    refused(gx_ntt(&beyond, 0, gx_host(in), gx_host(out)), "more than memory can hold");
}

static void polynomials(void **state)
{
    (void)state;
    const gx_poly_params by = {.struct_size = sizeof by, .count = 5};
    gx_job job = gx_poly(GX_ROTATE, GX_BN254_FQ, N, &by, gx_host(in), none, gx_host(out));
    assert_same(&job, &(gx_job){.op = GX_ROTATE,
                                .field = GX_BN254_FQ,
                                .n = N,
                                .a = gx_host(in),
                                .out = gx_host(out),
                                .params = &by});
    run(&job);
    assert_memory_equal(out, in + 5 * ELEMENT, (N - 5) * ELEMENT);
    assert_memory_equal(out + (N - 5) * ELEMENT, in, 5 * ELEMENT);

    /* in plain integers, of which the constant one is the value at 0 */
    job = gx_poly(GX_EVALUATE, GX_BN254_FQ, N, NULL, gx_host(in), gx_host(wanted), gx_host(out));
    run(&job);
    assert_memory_equal(out, in, ELEMENT);
    refused(gx_poly(GX_ADD, GX_BN254_FQ, N, &by, gx_host(in), gx_host(in), gx_host(out)), "params");
}

static void sums(void **state)
{
    (void)state;
    for (gx_curve curve = GX_BLS12_381_G1; curve <= GX_BN254_G2; curve++) {
        const gx_curve_info *info = gx_curve_get_info(curve);
        const unsigned char two[ELEMENT * 2] = {1, [ELEMENT] = 1};
        unsigned char got[2 * 288], expected[288];
        const gx_points_params of = {.struct_size = sizeof of,
                                     .curve = curve,
                                     .form = GX_POINT_XY_MONT,
                                     .points = info->generator,
                                     .count = 1};
        gx_points *points = NULL;
        assert_int_equal(gx_points_create(ctx, &of, &points, NULL), GX_OK);
        gx_msm_params params = {.struct_size = sizeof params,
                                .points = points,
                                .count = 1,
                                .result_form = GX_POINT_XY_MONT};
        gx_job job = gx_msm(&params, 2, gx_host(two), gx_host(got));
        assert_same(&job, &(gx_job){.op = GX_MSM,
                                    .field = info->scalar_field,
                                    .n = 2,
                                    .a = gx_host(two),
                                    .out = gx_host(got),
                                    .params = &params});
        run(&job);
        assert_memory_equal(got, info->generator, info->affine_bytes);
        assert_memory_equal(got + info->affine_bytes, info->generator, info->affine_bytes);

        params.count = 0; /* one result, whatever the batch */
        memset(expected, 0, sizeof expected);
        job = gx_msm(&params, 1, none, gx_host(got));
        run(&job);
        assert_memory_equal(got, expected, info->affine_bytes);
        params.count = 1;
        refused(gx_msm(&params, SIZE_MAX, gx_host(two), gx_host(got)), "more than memory can hold");
        gx_points_destroy(&points);
    }
    const gx_msm_params pointless = {.struct_size = sizeof pointless, .count = 1};
    refused(gx_msm(NULL, 1, gx_host(in), gx_host(out)), "params");
    refused(gx_msm(&pointless, 1, gx_host(in), gx_host(out)), "points");
}

static void add_param(void *user, const gx_kernel_call *call)
{
    (void)user;
    for (size_t i = 0; i < call->n; i++)
        ((uint32_t *)call->out)[i] =
            ((const uint32_t *)call->a)[i] + *(const uint32_t *)call->params;
}

static void registered(void **state)
{
    (void)state;
    const gx_kernel_params of = {.struct_size = sizeof of,
                                 .name = "add-param",
                                 .operands = 1,
                                 .a_bytes = 4,
                                 .out_bytes = 4,
                                 .params_bytes = 4,
                                 .group_elems = 64,
                                 .fn = add_param};
    uint32_t a[3] = {1, 2, 3}, sum[3] = {0};
    const uint32_t by = 10;
    const gx_op_params params = {.struct_size = sizeof params, .data = &by};
    gx_op op = 0;
    assert_int_equal(gx_op_register(ctx, &of, &op), GX_OK);
    gx_job job = gx_call(op, 3, &params, gx_host(a), none, none, gx_host(sum));
    assert_same(
        &job, &(gx_job){.op = op, .n = 3, .a = gx_host(a), .out = gx_host(sum), .params = &params});
    run(&job);
    assert_int_equal(sum[0], 11);
    assert_int_equal(sum[2], 13);
    assert_int_equal(gx_op_unregister(ctx, op), GX_OK);
    refused(job, "not registered");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms),
        cmocka_unit_test(polynomials),
        cmocka_unit_test(sums),
        cmocka_unit_test(registered),
    };
    return cmocka_run_group_tests(tests, prepare, finish);
}
