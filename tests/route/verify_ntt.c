/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparing transforms: what is right passes, and a single wrong output is always found; so is a
 * wrong input, and what else goes wrong in many outputs. A device that computes a wrong transform
 * is taken out of use, and the caller gets the right one. What is right, the reference device says,
 * by the sum that a transform is defined as. Internal: it links the static library.
 */
#include <stdio.h>

#include "op/domain.h"
#include "op/params.h"
#include "op/verify_ntt.h"
#include "route/probe.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/oracle.h"

enum { LOG2 = 6, BATCH = 3, N = BATCH << LOG2, LARGE = 14 };

static const gx_field field = GX_BLS12_381_FR;
static uint64_t a[N * 4], out[N * 4];
static gx_ctx *ctx;
static gx_domain *domain;

static gx_domain *make_domain(gx_ctx *in, uint32_t log2)
{
    gx_domain *made;
    gx_domain_desc desc = {.struct_size = sizeof desc, .field = field, .log2_size = log2};
    assert_int_equal(gx_domain_create(in, &desc, &made), GX_OK);
    return made;
}

static int set_up(void **state)
{
    (void)state;
    gxt_clear_environment();
    gx_config config = {.device = "ref"};
    ctx = gxt_open(&config);
    domain = make_domain(ctx, LARGE);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gx_domain_destroy(&domain);
    gx_close(&ctx);
    return 0;
}

static gx_job transforms(const gx_ntt_params *params, size_t batch)
{
    gx_job job = gxt_job(GX_NTT, field, batch << params->log2_n, a, NULL, NULL, out);
    job.params = params;
    return job;
}

/* With right results. */
static gx_job known_job(const gx_ntt_params *params, size_t batch, struct oracle_rng *rng)
{
    gx_job job = transforms(params, batch);
    oracle_fill(field, rng, a, job.n >> params->log2_pad);
    assert_int_equal(gx_run(ctx, &job, 1, NULL, NULL), GX_OK);
    return job;
}

static bool right(const gx_job *job, bool exact, uint64_t seed, uint64_t *wrong)
{
    struct gx_sampler sampler = {.seed = seed, .exact = exact};
    *wrong = UINT64_MAX;
    return gx__results_right(&sampler, job, out, job->n, wrong);
}

static gx_ntt_params params_of(uint32_t log2_n, uint32_t log2_pad, uint32_t flags)
{
    return (gx_ntt_params){.struct_size = sizeof(gx_ntt_params),
                           .domain = domain,
                           .log2_n = log2_n,
                           .log2_pad = log2_pad,
                           .flags = flags};
}

/* Every position, in every kind of transform, looked at and computed again. */
static void every_wrong_output_is_found(void **state)
{
    (void)state;
    struct oracle_rng rng = {3};
    uint64_t wrong, seed = 4;
    for (uint32_t flags = 0; flags < 32; flags++)
        for (uint32_t log2_n = 0; log2_n <= LOG2; log2_n += log2_n < 2 ? 1 : 2)
            for (uint32_t pad = 0; pad <= log2_n && pad < 3; pad++) {
                gx_ntt_params params = params_of(log2_n, pad, flags);
                gx_job job = known_job(&params, BATCH, &rng);
                for (int exact = 0; exact < 2; exact++)
                    if (!right(&job, exact, gxt_next(&seed), &wrong))
                        fail_msg("flags %u, 2^%u, pad %u: %u is right", flags, log2_n, pad,
                                 (unsigned)wrong);
                for (uint64_t i = 0; i < job.n; i++) {
                    uint64_t bit = gxt_next(&seed) % 250, *limb = &out[4 * i + bit / 64];
                    *limb ^= (uint64_t)1 << bit % 64;
                    bool found = !right(&job, false, gxt_next(&seed), &wrong);
                    if (!found || wrong >= job.n)
                        fail_msg("flags %u, 2^%u, pad %u: %u", flags, log2_n, pad, (unsigned)i);
                    assert_false(right(&job, true, 0, &wrong));
                    assert_int_equal(wrong, i);
                    *limb ^= (uint64_t)1 << bit % 64;
                }
            }
}

/* As if the device had read one input wrong: all outputs are, and they may add up. */
static void every_wrong_input_is_found(void **state)
{
    (void)state;
    struct oracle_rng rng = {5};
    uint64_t wrong, seed = 6;
    for (uint32_t flags = 0; flags < 32; flags++)
        for (uint32_t pad = 0; pad < 2; pad++) {
            gx_ntt_params params = params_of(LOG2, pad, flags);
            gx_job job = known_job(&params, BATCH, &rng);
            for (uint64_t i = 0; i < job.n >> pad; i++) {
                a[4 * i] ^= 2;
                assert_false(right(&job, false, gxt_next(&seed), &wrong));
                a[4 * i] ^= 2;
            }
        }
}

/* Two that make up for each other are found when one of them is computed again. */
static void two_wrong_outputs_are_found_at_times(void **state)
{
    (void)state;
    enum { ROUNDS = 600 };
    struct oracle_rng rng = {7};
    uint64_t wrong, seed = 8;
    unsigned found = 0;
    gx_ntt_params params = params_of(4, 0, 0);
    gx_job job = known_job(&params, 1, &rng);
    uint64_t *x = &out[4 * 5], *y = &out[4 * 11];
    assert_true(x[0] != UINT64_MAX && y[0] != 0);
    ++*x;
    --*y;
    for (int i = 0; i < ROUNDS; i++)
        found += !right(&job, false, gxt_next(&seed), &wrong);
    assert_in_range(found, ROUNDS / 16, ROUNDS / 5); /* an eighth */
    assert_false(right(&job, true, 0, &wrong));
    assert_int_equal(wrong, 5);
}

/* The same modulo p, but not below it. */
static void outputs_are_canonical(void **state)
{
    (void)state;
    struct oracle_rng rng = {9};
    gx_ntt_params params = params_of(LOG2, 0, GX_NTT_REVERSED_OUT);
    gx_job job = known_job(&params, BATCH, &rng);
    const uint64_t *p = gx_field_get_info(field)->modulus;
    uint64_t wrong, *x = &out[4 * 100];
    unsigned __int128 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry += (unsigned __int128)x[i] + p[i];
        x[i] = (uint64_t)carry;
        carry >>= 64;
    }
    assert_false(right(&job, false, 1, &wrong));
    assert_int_equal(wrong, 100);
    assert_false(right(&job, true, 1, &wrong));
}

static void inputs_that_are_not_canonical(void **state)
{
    (void)state;
    struct oracle_rng rng = {11};
    for (uint32_t pad = 0; pad < 3; pad++)
        for (int exact = 0; exact < 2; exact++) {
            gx_ntt_params params = params_of(LOG2, pad, 0);
            gx_job job = known_job(&params, BATCH, &rng);
            uint64_t last = (job.n >> pad) - 1, wrong;
            oracle_edge(field, 0, &a[4 * last]); /* 0, like p */
            assert_int_equal(gx_run(ctx, &job, 1, NULL, NULL), GX_OK);
            gxt_put_modulus(field, &a[4 * last]);
            assert_false(right(&job, exact, 2, &wrong)); /* it had to be refused */
            assert_true(gx__refusal_right(&job, last, 'a'));
            assert_false(gx__refusal_right(&job, last - 1, 'a'));
            assert_false(gx__refusal_right(&job, last + 1, 'a'));
            job.flags = GX_JOB_TRUSTED;
            out[0] ^= 1;
            assert_true(right(&job, exact, 2, &wrong)); /* whatever it is */
        }
}

static void sizes_of_samples(void **state)
{
    (void)state;
    struct gx_sampler sampler = {.seed = 1};
    gx_ntt_params params = params_of(10, 0, 0);
    gx_job job = transforms(&params, 1000);
    uint64_t sum = 0;
    assert_int_equal(gx__sample_size(&sampler, &job, 1, true), job.n);
    assert_true(sampler.exact);
    for (int i = 0; i < 1000; i++) {
        uint64_t count = gx__sample_size(&sampler, &job, 700, true);
        assert_true(!sampler.exact && count % 1024 == 0);
        sum += count;
    }
    assert_in_range(sum / 1024, 1300, 1560); /* 1429 */
    assert_int_equal(gx__sample_size(&sampler, &job, 1000, false), job.n);
    assert_false(sampler.exact);
    job.n = 1024; /* a small job of a new device */
    assert_int_equal(gx__sample_size(&sampler, &job, 1000, false), 1024);
    assert_true(sampler.exact);
    params.log2_n = 22;
    job.n = (size_t)100 << 22; /* a large one */
    assert_int_equal(gx__sample_size(&sampler, &job, 1000, false), 1 << 22);
    job.n = 0;
    assert_int_equal(gx__sample_size(&sampler, &job, 1, false), 0);
}

/* By all threads, large ones and many small ones. */
static void large_transforms(void **state)
{
    (void)state;
    uint64_t wrong, seed = 13;
    size_t n = (size_t)4 << LARGE;
    uint64_t *in = gxt_alloc(n * 32), *results = gxt_alloc(n * 32);
    gxt_fill(&seed, field, in, n);
    for (uint32_t flags = 0; flags < 32; flags += 5)
        for (uint32_t log2_n = 4; log2_n <= LARGE; log2_n += 10) {
            gx_ntt_params params = params_of(log2_n, 1, flags);
            gx_job job = gxt_job(GX_NTT, field, n, in, NULL, NULL, results);
            job.params = &params;
            assert_int_equal(gxt_run(ctx, &job, "cpu", NULL), GX_OK);
            for (int exact = 0; exact < 2; exact++) {
                struct gx_sampler sampler = {
                    .seed = gxt_next(&seed), .instance = domain->instance, .exact = exact};
                assert_true(gx__results_right(&sampler, &job, results, n, &wrong));
                for (size_t i = 0; i < n; i += n / 3) {
                    results[4 * i + 3] ^= 1;
                    assert_false(gx__results_right(&sampler, &job, results, n, &wrong));
                    assert_true(!exact || wrong == i);
                    results[4 * i + 3] ^= 1;
                }
            }
        }
    free(in);
    free(results);
}

/* Where there is no memory to compute all again, all are looked at. */
static void without_memory(void **state)
{
    (void)state;
    struct oracle_rng rng = {15};
    uint64_t wrong;
    struct gxt_heap heap;
    gxt_heap_start(&heap);
    gx_config config = {.device = "cpu", .allocator = gxt_heap_allocator(&heap)};
    gx_ctx *small = gxt_open(&config);
    gx_ntt_params params = params_of(LOG2, 0, 0);
    gx_job job = known_job(&params, BATCH, &rng);
    gx_domain *own = make_domain(small, LOG2);
    params.domain = own;
    for (uint64_t k = 1, failed = 1; failed; k++) {
        gxt_heap_fail(&heap, k, 0);
        assert_true(right(&job, true, k, &wrong));
        failed = heap.failed;
        gxt_heap_fail(&heap, k, 0);
        out[4 * 7] ^= 1;
        assert_false(right(&job, true, k, &wrong));
        out[4 * 7] ^= 1;
        gxt_heap_heal(&heap);
    }
    gx_domain_destroy(&own);
    gx_close(&small);
    gxt_heap_end(&heap);
}

/* ---- on devices ---- */

static gx_device_statistics device_of(gx_ctx *in, const char *device)
{
    gx_device_statistics all[8] = {{.struct_size = sizeof *all}};
    size_t count = GXT_COUNT(all);
    assert_int_equal(gx_device_stats(in, all, &count), GX_OK);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(all[i].device, device))
            return all[i];
    fail_msg("no device %s", device);
    return all[0];
}

/* The router chooses it because nothing is known and there is much to do, is told a lie, and asks
 * another one. */
static void a_wrong_transform_is_computed_elsewhere(void **state)
{
    (void)state;
    static const char device[] = "fault:corrupt@1:cpu";
    enum { M = 1 << 17 };
    uint64_t seed = 17;
    uint64_t *in = gxt_alloc((size_t)M * 32), *want = gxt_alloc((size_t)M * 32),
             *got = gxt_alloc((size_t)M * 32);
    gxt_fill(&seed, field, in, M);
    for (uint32_t log2_n = 8; log2_n <= 17; log2_n += 9)
        for (uint64_t every = 0; every < 2; every++) {
            gx_config config = {.device = "fault:corrupt@1:cpu,cpu", .sample_every = every};
            gx_ctx *here = gxt_open(&config);
            gx_domain *own = make_domain(here, 17);
            gx_ntt_params params = {.struct_size = sizeof params,
                                    .domain = own,
                                    .log2_n = log2_n,
                                    .flags = GX_NTT_INVERSE | GX_NTT_COSET};
            gx_job job = gxt_job(GX_NTT, field, M, in, NULL, NULL, want);
            job.params = &params;
            assert_int_equal(gxt_run(here, &job, "cpu", NULL), GX_OK);
            job.out = gx_host(got);
            gx_report r = gxt_report();

            assert_int_equal(gx_run(here, &job, 1, NULL, &r), GX_OK);
            assert_int_equal(r.reason, GX_REASON_FALLBACK);
            assert_string_equal(r.device, "cpu");
            assert_memory_equal(got, want, (size_t)M * 32);
            assert_int_equal(device_of(here, device).health, GX_HEALTH_QUARANTINED);
            assert_int_equal(device_of(here, device).mismatches, 1);
            gx_domain_destroy(&own);
            gx_close(&here);
        }
    free(in);
    free(want);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_wrong_output_is_found),
        cmocka_unit_test(every_wrong_input_is_found),
        cmocka_unit_test(two_wrong_outputs_are_found_at_times),
        cmocka_unit_test(outputs_are_canonical),
        cmocka_unit_test(inputs_that_are_not_canonical),
        cmocka_unit_test(sizes_of_samples),
        cmocka_unit_test(large_transforms),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(a_wrong_transform_is_computed_elsewhere),
    };
    return cmocka_run_group_tests_name("verify-ntt", tests, set_up, tear_down);
}
