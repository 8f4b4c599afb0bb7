/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparing transforms: what is right passes, and whatever is wrong is found, be it one output or
 * many that add up. A device that computes a wrong transform
 * is taken out of use, and the caller gets the right one. What is right, the reference device says,
 * by the sum that a transform is defined as. Internal: it links the static library.
 */
#include <stdio.h>

#include "field/host.h"
#include "field/scalar.h"
#include "op/domain.h"
#include "verify/parts.h"
#include "route/health.h"
#include "support/harness.h"
#include "support/oracle.h"
#include "support/task.h"

enum { LOG2 = 6, BATCH = 3, N = BATCH << LOG2, LARGE = 14 };

static const gx_field field = GX_BLS12_381_FR;
static uint64_t a[N * 4], out[N * 4];
static gx_ctx *ctx;
static gx_domain *domain;

static gx_domain *make_domain(gx_ctx *in, uint32_t log2)
{
    gx_domain *made;
    gx_domain_params desc = {.struct_size = sizeof desc, .field = field, .log2_size = log2};
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

static bool right(const gx_job *job, uint64_t seed, uint64_t *wrong)
{
    struct gx_sampler sampler = {.seed = seed};
    *wrong = UINT64_MAX;
    return gx__results_right(&sampler, gxt_task(job), out, job->n, wrong);
}

static gx_ntt_params params_of(uint32_t log2_n, uint32_t log2_pad, uint32_t flags)
{
    return (gx_ntt_params){.struct_size = sizeof(gx_ntt_params),
                           .domain = domain,
                           .log2_n = log2_n,
                           .log2_pad = log2_pad,
                           .flags = flags};
}

static bool is_below(const uint64_t *x)
{
    return gx__first_bad(gx__prime(field), x, 1, false) == GX_NONE_BAD;
}

/* What is said to be wrong if element i is: itself, or the first of its transform. */
static uint64_t blamed(const gx_job *job, const uint64_t *results, uint64_t i)
{
    const struct gx_task *task = gxt_task(job);
    if (!is_below(&results[4 * i]))
        return i;
    return task->ntt.flags & GX_NTT_COLUMNS ? i % gx__ntt_batch(task)
                                            : i >> task->ntt.log2_n << task->ntt.log2_n;
}

/* Every position, in every kind of transform. */
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
                if (!right(&job, gxt_next(&seed), &wrong))
                    fail_msg("flags %u, 2^%u, pad %u: %u is right", flags, log2_n, pad,
                             (unsigned)wrong);
                for (uint64_t i = 0; i < job.n; i++) {
                    uint64_t bit = gxt_next(&seed) % 250, *limb = &out[4 * i + bit / 64];
                    *limb ^= (uint64_t)1 << bit % 64;
                    bool found = !right(&job, gxt_next(&seed), &wrong);
                    if (!found || wrong != blamed(&job, out, i))
                        fail_msg("flags %u, 2^%u, pad %u: %u", flags, log2_n, pad, (unsigned)i);
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
                assert_false(right(&job, gxt_next(&seed), &wrong));
                a[4 * i] ^= 2;
            }
        }
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
    assert_false(right(&job, 1, &wrong));
    assert_int_equal(wrong, 100);
}

static void inputs_that_are_not_canonical(void **state)
{
    (void)state;
    struct oracle_rng rng = {11};
    for (uint32_t flags = 0; flags < 32; flags += 7)
        for (uint32_t pad = 0; pad < 3; pad++) {
            gx_ntt_params params = params_of(LOG2, pad, flags);
            gx_job job = known_job(&params, BATCH, &rng);
            uint64_t last = (job.n >> pad) - 1, wrong;
            oracle_edge(field, 0, &a[4 * last]); /* 0, like p */
            assert_int_equal(gx_run(ctx, &job, 1, NULL, NULL), GX_OK);
            gxt_put_modulus(field, &a[4 * last]);
            assert_false(right(&job, 2, &wrong)); /* it had to be refused */
            assert_true(gx__refusal_right(gxt_task(&job), last, 'a'));
            assert_false(gx__refusal_right(gxt_task(&job), last - 1, 'a'));
            assert_false(gx__refusal_right(gxt_task(&job), last + 1, 'a'));
            job.flags = GX_JOB_UNCHECKED;
            out[0] ^= 1;
            assert_true(right(&job, 2, &wrong)); /* whatever it is */
        }
}

static void sizes_of_samples(void **state)
{
    (void)state;
    struct gx_sampler sampler = {.seed = 1};
    gx_ntt_params params = params_of(10, 0, 0);
    gx_job job = transforms(&params, 1000);
    uint64_t sum = 0;
    assert_int_equal(gx__sample_size(&sampler, gxt_task(&job), 1, true), job.n);
    for (int i = 0; i < 1000; i++) {
        uint64_t count = gx__sample_size(&sampler, gxt_task(&job), 700, true);
        assert_true(count % 1024 == 0);
        sum += count;
    }
    assert_in_range(sum / 1024, 1300, 1560); /* 1429 */
    assert_int_equal(gx__sample_size(&sampler, gxt_task(&job), 1000, false), job.n);
    params.log2_n = 22;
    job.n = (size_t)100 << 22; /* a large one */
    assert_int_equal(gx__sample_size(&sampler, gxt_task(&job), 1000, false), 1 << 22);
    assert_int_equal(gx__sample_size(&sampler, gxt_task(&job), 1, false), job.n);
    job.n = 0;
    assert_int_equal(gx__sample_size(&sampler, gxt_task(&job), 1, false), 0);
}

/* ---- large ones, of the cpu ---- */

/* Two transforms in memory of their own. */
struct pair {
    gx_ntt_params params;
    gx_job job;
    uint64_t *in, *results;
};

static struct pair pair_start(uint64_t *seed)
{
    enum { MOST = 2 << LARGE };
    struct pair pair = {.in = gxt_alloc((size_t)MOST * 32),
                        .results = gxt_alloc((size_t)MOST * 32)};
    gxt_fill(seed, field, pair.in, MOST);
    return pair;
}

static void pair_end(struct pair *pair)
{
    free(pair->in);
    free(pair->results);
}

static void pair_set(struct pair *pair, uint32_t log2_n, uint32_t pad, uint32_t flags)
{
    pair->params = params_of(log2_n, pad, flags);
    pair->job = gxt_job(GX_NTT, field, (size_t)2 << log2_n, pair->in, NULL, NULL, pair->results);
    pair->job.params = &pair->params;
    assert_int_equal(gxt_run(ctx, &pair->job, "cpu", NULL), GX_OK);
}

/* Alone and with threads. */
static bool pair_right(const struct pair *pair, uint64_t seed, uint64_t *wrong)
{
    struct gx_sampler sampler = {.seed = seed};
    bool alone =
        gx__results_right(&sampler, gxt_task(&pair->job), pair->results, pair->job.n, wrong);
    sampler.instance = domain->instance;
    uint64_t again = 0;
    assert_int_equal(
        gx__results_right(&sampler, gxt_task(&pair->job), pair->results, pair->job.n, &again),
        alone);
    assert_int_equal(*wrong, again);
    return alone;
}

static void expect_found(const struct pair *pair, uint64_t *seed, uint64_t at)
{
    uint64_t wrong;
    if (pair_right(pair, gxt_next(seed), &wrong) || wrong != blamed(&pair->job, pair->results, at))
        fail_msg("flags %u, 2^%u, pad %u: %u", pair->params.flags, pair->params.log2_n,
                 pair->params.log2_pad, (unsigned)at);
}

/* One wrong output: the first, the last, in the middle, anywhere. */
static void try_outputs(struct pair *pair, uint64_t *seed)
{
    uint64_t wrong, n = pair->job.n, at[] = {0, n - 1, n / 2, gxt_next(seed) % n};
    if (!pair_right(pair, gxt_next(seed), &wrong))
        fail_msg("flags %u, 2^%u, pad %u is right", pair->params.flags, pair->params.log2_n,
                 pair->params.log2_pad);
    for (size_t i = 0; i < GXT_COUNT(at); i++) {
        pair->results[4 * at[i] + 2] ^= 1;
        expect_found(pair, seed, at[i]);
        pair->results[4 * at[i] + 2] ^= 1;
    }
}

static void large_transforms(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {7, 8, 9, 11};
    uint64_t seed = 13;
    struct pair pair = pair_start(&seed);
    for (uint32_t flags = 0; flags < 32; flags++)
        for (size_t i = 0; i < GXT_COUNT(sizes); i++)
            for (uint32_t pad = 0; pad <= sizes[i]; pad += pad < 3 ? 1 + pad : sizes[i] - 3) {
                pair_set(&pair, sizes[i], pad, flags);
                try_outputs(&pair, &seed);
            }
    for (uint32_t flags = 0; flags < 32; flags += 5)
        for (uint32_t log2_n = 12; log2_n <= LARGE; log2_n++) {
            pair_set(&pair, log2_n, flags % 3, flags);
            try_outputs(&pair, &seed);
        }
    pair_end(&pair);
}

static void swap(uint64_t *x, uint64_t *y)
{
    for (int i = 0; i < 4; i++) {
        uint64_t t = x[i];
        x[i] = y[i];
        y[i] = t;
    }
}

/* What keeps the sum of the outputs: two that change places, and differences that cancel. */
static void try_equal_sums(struct pair *pair, uint64_t *seed)
{
    const bool columns = pair->params.flags & GX_NTT_COLUMNS;
    size_t step = columns ? 8 : 4, n = (size_t)1 << pair->params.log2_n;
    uint64_t *x = pair->results;
    for (size_t far = 1; far < n; far = 2 * far + far / 2) {
        swap(x, x + far * step);
        expect_found(pair, seed, 0);
        swap(x, x + far * step);
    }
    for (size_t i = 0; i < n; i += 2) {
        ++x[i * step];
        --x[(i + 1) * step];
    }
    expect_found(pair, seed, 0);
}

static void outputs_with_the_right_sum(void **state)
{
    (void)state;
    uint64_t seed = 19;
    struct pair pair = pair_start(&seed);
    for (uint32_t flags = 0; flags < 32; flags++)
        for (uint32_t log2_n = 2; log2_n <= 10; log2_n += 4) {
            pair_set(&pair, log2_n, flags % 2, flags);
            try_equal_sums(&pair, &seed);
        }
    pair_end(&pair);
}

/* Every second output is that of other inputs, as if an entry of a table was wrong. */
static void outputs_of_other_inputs(void **state)
{
    (void)state;
    uint64_t seed = 21;
    struct pair pair = pair_start(&seed), other = pair_start(&seed);
    for (uint32_t flags = 0; flags < 32; flags++)
        for (uint32_t log2_n = 2; log2_n <= 10; log2_n += 4) {
            pair_set(&pair, log2_n, 0, flags);
            memcpy(other.in, pair.in, pair.job.n * 32);
            other.in[4 * (pair.job.n - 1)] ^= 1; /* not the first of a transform */
            pair_set(&other, log2_n, 0, flags);
            for (size_t i = pair.job.n - 1; i > 3; i -= 2)
                swap(&pair.results[4 * i], &other.results[4 * i]);
            expect_found(&pair, &seed, pair.job.n - 1);
        }
    pair_end(&pair);
    pair_end(&other);
}

/* Another root of the same order: the outputs change places. */
static void a_wrong_root_is_found(void **state)
{
    (void)state;
    uint64_t seed = 23, cube[GX_LIMBS_MAX], square[GX_LIMBS_MAX];
    const struct gx_prime *prime = gx__prime(field);
    struct pair pair = pair_start(&seed);
    gx__mul_one(prime, square, domain->root, domain->root);
    gx__mul_one(prime, cube, square, domain->root);
    gx_domain_params desc = {
        .struct_size = sizeof desc, .field = field, .log2_size = LARGE, .root = cube};
    gx_domain *right_domain = domain, *other;
    assert_int_equal(gx_domain_create(ctx, &desc, &other), GX_OK);
    for (uint32_t flags = 0; flags < 32; flags++)
        for (uint32_t log2_n = 2; log2_n <= 10; log2_n += 4) {
            domain = other;
            pair_set(&pair, log2_n, 0, flags);
            pair.params.domain = domain = right_domain;
            expect_found(&pair, &seed, 0);
        }
    gx_domain_destroy(&other);
    pair_end(&pair);
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
        cmocka_unit_test(outputs_are_canonical),
        cmocka_unit_test(inputs_that_are_not_canonical),
        cmocka_unit_test(sizes_of_samples),
        cmocka_unit_test(large_transforms),
        cmocka_unit_test(outputs_with_the_right_sum),
        cmocka_unit_test(outputs_of_other_inputs),
        cmocka_unit_test(a_wrong_root_is_found),
        cmocka_unit_test(a_wrong_transform_is_computed_elsewhere),
    };
    return cmocka_run_group_tests_name("verify-ntt", tests, set_up, tear_down);
}
