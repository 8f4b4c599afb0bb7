/* SPDX-License-Identifier: Apache-2.0
 *
 * What the router decides for transforms, on machines that do not exist (tests/machines): how much
 * slower its choice is than the best one, that batches are split between transforms, and that
 * results are those of the CPU alone, with padding, in place and in buffers of several devices.
 */
#include <math.h>
#include <stdio.h>

#include "support/harness.h"

enum { MOST = 1 << 17, BYTES = 32, DEVICES = 2 };

static const gx_field field = GX_BN254_FR;
static const gx_op ntt[] = {GX_NTT};
static unsigned char *in, *out, *want;
static gx_ctx *two; /* two devices alike, calibrated once for all cases but the first */
static gx_domain *domain_of_two;

static gx_ctx *open_calibrated(const char *devices, gx_domain **domain)
{
    gx_config config = {.device = devices, .threads = 1, .cache_dir = "none"};
    gx_ctx *ctx = gxt_open(&config);
    gx_calibrate_params settings = {.ops = ntt,
                                    .op_count = 1,
                                    .fields = &field,
                                    .field_count = 1,
                                    .max_elems = MOST,
                                    .limit_ns = 600000000000u};
    gx_domain_params desc = {.struct_size = sizeof desc, .field = field, .log2_size = 17};
    assert_int_equal(gx_calibrate(ctx, &settings), GX_OK);
    assert_int_equal(gx_domain_create(ctx, &desc, domain), GX_OK);
    return ctx;
}

#define TWO "sim:gpu-of-four#1,sim:gpu-of-four#2"

static int set_up(void **state)
{
    (void)state;
    uint64_t seed = 7;
    gxt_clear_environment();
    setenv("VK_DRIVER_FILES", "/nonexistent", 1);
    setenv("VK_ICD_FILENAMES", "/nonexistent", 1);
    gxt_enter_machines();
    in = gxt_alloc((size_t)MOST * BYTES);
    out = gxt_alloc((size_t)MOST * BYTES);
    want = gxt_alloc((size_t)MOST * BYTES);
    gxt_fill(&seed, field, in, MOST);
    two = open_calibrated(TWO, &domain_of_two);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gx_domain_destroy(&domain_of_two);
    gx_close(&two);
    free(in);
    free(out);
    free(want);
    return 0;
}

static gx_job transforms(const gx_ntt_params *params, size_t batch)
{
    gx_job job = gxt_job(GX_NTT, field, batch << params->log2_n, in, NULL, NULL, out);
    job.params = params;
    return job;
}

static void expect_result(gx_ctx *ctx, const gx_job *job)
{
    gx_job again = *job;
    again.out = gx_host(want);
    assert_int_equal(gxt_run(ctx, &again, "cpu", NULL), GX_OK);
    assert_memory_equal(out, want, job->n * BYTES);
}

/* ---- regret ---- */

struct scene {
    const char *name, *device[DEVICES];
};

static const struct scene scenes[] = {
    {"laptop", {"sim:cpu-2-cores", "sim:laptop-integrated"}},
    {"desktop", {"sim:cpu-8-cores", "sim:desktop"}},
    {"server", {"sim:cpu-16-cores", "sim:server-h200"}},
    {"two equal", {"sim:gpu-of-four#1", "sim:gpu-of-four#2"}},
    {"two unlike", {"sim:gpu-of-three-fast", "sim:gpu-of-three-slow"}},
    {"slow GPU", {"sim:cpu-16-cores", "sim:gpu-slower-than-cpu"}},
};

static uint64_t alone(gx_ctx *ctx, const gx_job *job, const char *device)
{
    gx_report r = gxt_report();
    for (int i = 0; i < 2; i++)
        assert_int_equal(gxt_run(ctx, job, device, &r), GX_OK);
    return r.total_ns;
}

static double regret_of(gx_ctx *ctx, const struct scene *scene, const gx_job *job, unsigned *splits)
{
    gx_report r = gxt_report();
    for (int i = 0; i < 2; i++)
        assert_int_equal(gxt_run(ctx, job, NULL, &r), GX_OK);
    assert_true(r.reason == GX_REASON_FASTEST || r.reason == GX_REASON_SPLIT);
    expect_result(ctx, job);
    *splits += r.reason == GX_REASON_SPLIT;
    uint64_t best = UINT64_MAX;
    for (size_t i = 0; i < DEVICES; i++) {
        uint64_t ns = alone(ctx, job, scene->device[i]);
        best = ns < best ? ns : best;
    }
    double regret = (double)r.total_ns / (double)best - 1;
    return regret;
}

static void regret_is_small(void **state)
{
    (void)state;
    static const size_t batches[] = {1, 2, 5, 16, 64};
    unsigned split = 0;
    const size_t count = gxt_small() ? 1 : GXT_COUNT(scenes); /* the first splits most */
    for (size_t s = 0; s < count; s++) {
        gx_domain *domain;
        char list[100];
        double sum = 0, worst = 0;
        unsigned cells = 0, splits = 0;
        snprintf(list, sizeof list, "%s,%s", scenes[s].device[0], scenes[s].device[1]);
        gx_ctx *ctx = open_calibrated(list, &domain);
        for (uint32_t log2_n = 8; log2_n <= 17; log2_n += gxt_small() ? 3 : 1)
            for (size_t b = 0; b < GXT_COUNT(batches) && batches[b] << log2_n <= MOST; b++) {
                gx_ntt_params params = {.struct_size = sizeof params,
                                        .domain = domain,
                                        .log2_n = log2_n,
                                        .flags = log2_n % 2 ? GX_NTT_REVERSED_OUT : 0};
                gx_job job = transforms(&params, batches[b]);
                double regret = regret_of(ctx, &scenes[s], &job, &splits);
                sum += regret > 0 ? regret : 0;
                worst = regret > worst ? regret : worst;
                cells++;
            }
        print_message("%s: regret %.1f %% (mean), %.1f %% (worst), %u of %u split\n",
                      scenes[s].name, 100 * sum / cells, 100 * worst, splits, cells);
        assert_true(sum / cells <= 0.02 && worst <= 0.4);
        split += splits;
        gx_domain_destroy(&domain);
        gx_close(&ctx);
    }
    assert_true(split > (gxt_small() ? 2 : 20));
}

/* ---- batches over two devices ---- */

static gx_status run_shared(const gx_job *job, gx_report *r)
{
    const gx_run_params opts = {.policy = GX_POLICY_THROUGHPUT};
    return gx_run(two, job, 1, &opts, r);
}

static void check_shares(const gx_report *r, const gx_job *job, size_t one)
{
    uint64_t sum = 0;
    assert_int_equal(r->reason, GX_REASON_SPLIT);
    assert_int_equal(r->candidates, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(r->candidate[i].elements > 0);
        assert_int_equal(r->candidate[i].elements % one, 0);
        sum += r->candidate[i].elements;
    }
    assert_int_equal(sum, job->n);
}

/* Of every kind: a padded, in place what is said to be canonical. */
static void batches_are_split(void **state)
{
    (void)state;
    enum { LOG2 = 12, BATCH = 21 };
    for (uint32_t flags = 0; flags < 2 * GX_NTT_COLUMNS; flags += 3)
        for (uint32_t pad = 0; pad < 3; pad++) {
            gx_ntt_params params = {.struct_size = sizeof params,
                                    .domain = domain_of_two,
                                    .log2_n = LOG2,
                                    .log2_pad = pad,
                                    .flags = flags};
            gx_job job = transforms(&params, BATCH);
            gx_report r = gxt_report();
            assert_int_equal(run_shared(&job, &r), GX_OK);
            check_shares(&r, &job, 1 << LOG2);
            expect_result(two, &job);
            if (pad)
                continue;
            memcpy(out, in, job.n * BYTES);
            job.a = job.out;
            job.flags = GX_JOB_UNCHECKED;
            assert_int_equal(run_shared(&job, &r), GX_OK);
            check_shares(&r, &job, 1 << LOG2);
            assert_memory_equal(out, want, job.n * BYTES);
        }
}

/* A single transform, and in place what is checked: one device does it all. */
static void others_are_whole(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        gx_ntt_params params = {.struct_size = sizeof params,
                                .domain = domain_of_two,
                                .log2_n = i < 2 ? 16 : 12,
                                .flags = i % 2 ? GX_NTT_COLUMNS : 0};
        gx_job job = transforms(&params, i < 2 ? 1 : 20), again = job;
        gx_report r = gxt_report();
        again.out = gx_host(want);
        assert_int_equal(gxt_run(two, &again, "cpu", NULL), GX_OK);
        memcpy(out, in, job.n * BYTES);
        if (i >= 2)
            job.a = job.out;
        assert_int_equal(run_shared(&job, &r), GX_OK);
        assert_int_equal(r.reason, GX_REASON_FASTEST);
        assert_memory_equal(out, want, job.n * BYTES);
    }
}

/* Its index is that in a, which is shorter than the result. */
static void a_bad_element_is_found_where_it_is(void **state)
{
    (void)state;
    enum { LOG2 = 12, BATCH = 20, PAD = 2, BAD = (BATCH - 1) << (LOG2 - PAD) };
    gx_ntt_params params = {
        .struct_size = sizeof params, .domain = domain_of_two, .log2_n = LOG2, .log2_pad = PAD};
    gx_job job = transforms(&params, BATCH);
    unsigned char before[BYTES];
    gx_report r = gxt_report();
    memcpy(before, in + (size_t)BAD * BYTES, BYTES);
    gxt_put_modulus(field, in + (size_t)BAD * BYTES);
    assert_int_equal(run_shared(&job, &r), GX_ERR_NOT_CANONICAL);
    assert_int_equal(r.bad_index, BAD);
    assert_int_equal(r.bad_operand, 'a');
    memcpy(in + (size_t)BAD * BYTES, before, BYTES);
}

/* In columns, an earlier one may be in a later share. */
static void a_bad_element_of_columns(void **state)
{
    (void)state;
    enum { LOG2 = 12, BATCH = 20, PAD = 2 };
    static const size_t bad[] = {2 * BATCH - 1, 3 * BATCH, (BATCH << (LOG2 - PAD)) - 1};
    gx_ntt_params params = {.struct_size = sizeof params,
                            .domain = domain_of_two,
                            .log2_n = LOG2,
                            .log2_pad = PAD,
                            .flags = GX_NTT_COLUMNS};
    gx_job job = transforms(&params, BATCH);
    for (size_t i = GXT_COUNT(bad); i-- > 0;) {
        gx_report r = gxt_report();
        gxt_put_modulus(field, in + bad[i] * BYTES);
        assert_int_equal(run_shared(&job, &r), GX_ERR_NOT_CANONICAL);
        assert_int_equal(r.bad_index, bad[i]);
        assert_int_equal(r.bad_operand, 'a');
    }
    for (size_t i = 0; i < GXT_COUNT(bad); i++)
        memcpy(in + bad[i] * BYTES, in, BYTES);
}

/* a in a buffer of one device, the result in one of the other. */
static void buffers_of_several_devices(void **state)
{
    (void)state;
    enum { LOG2 = 10, BATCH = 3 };
    gx_buf *a, *b;
    for (uint32_t pad = 0; pad < 3; pad++) {
        gx_ntt_params params = {
            .struct_size = sizeof params, .domain = domain_of_two, .log2_n = LOG2, .log2_pad = pad};
        gx_job job = transforms(&params, BATCH), there = job;
        size_t bytes = job.n * BYTES;
        assert_int_equal(gx_buf_create(two, "sim:gpu-of-four#1", bytes >> pad, 0, &a), GX_OK);
        assert_int_equal(gx_buf_create(two, "sim:gpu-of-four#2", bytes, 0, &b), GX_OK);
        assert_int_equal(gx_buf_write(a, 0, in, bytes >> pad), GX_OK);
        there.a = gx_dev(a, 0);
        there.out = gx_dev(b, 0);
        assert_int_equal(gxt_run(two, &there, NULL, NULL), GX_OK);
        assert_int_equal(gx_buf_read(b, 0, out, bytes), GX_OK);
        expect_result(two, &job);
        gx_buf_destroy(&a);
        gx_buf_destroy(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regret_is_small),
        cmocka_unit_test(batches_are_split),
        cmocka_unit_test(others_are_whole),
        cmocka_unit_test(a_bad_element_is_found_where_it_is),
        cmocka_unit_test(a_bad_element_of_columns),
        cmocka_unit_test(buffers_of_several_devices),
    };
    return cmocka_run_group_tests_name("route-ntt", tests, set_up, tear_down);
}
