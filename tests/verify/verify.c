/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparing results: what is right passes, for every operation and field, and any wrong bit
 * is found where all are looked at; what the oracle computes is what is right. Probes and the
 * self-test on devices that work, and on one that does not. Internal: it links the static
 * library.
 */
#include <fenv.h>
#include <stdio.h>

#include "base/log.h"
#include "base/options.h"
#include "route/health.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/oracle.h"
#include "support/task.h"

enum { N = 150 }; /* more than two blocks, and not whole ones */

static uint64_t memory[4][N * 6];

/* A job over edges and random elements, with the oracle's results in memory[0]. */
static gx_job known_job(struct oracle_rng *rng, gx_op op, gx_field field, unsigned broadcast)
{
    gx_job job = gxt_job(op, field, N, memory[1], memory[2], memory[3], memory[0]);
    for (int i = 1; i < 4; i++)
        oracle_fill(field, rng, memory[i], N);
    oracle_edge(field, 0, (char *)memory[1] + 7 * gxt_element(field)); /* 0: inv, div */
    oracle_edge(field, 0, (char *)memory[2] + 9 * gxt_element(field));
    job.a.broadcast = broadcast & ORACLE_A ? 1 : 0;
    job.b.broadcast = job.b.host && broadcast & ORACLE_B ? 1 : 0;
    job.c.broadcast = job.c.host && broadcast & ORACLE_C ? 1 : 0;
    oracle_run(op, field, N, memory[0], memory[1], memory[2], memory[3], broadcast);
    return job;
}

static void every_wrong_bit_is_found(void **state)
{
    (void)state;
    struct oracle_rng rng = {5};
    struct gx_sampler sampler = {.seed = 6};
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++)
        for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++)
            for (unsigned broadcast = 0; broadcast < 8; broadcast++) {
                gx_field field = gxt_fields[f];
                uint64_t wrong;
                if (!gx_op_exists(gxt_ops[o], field))
                    continue;
                if (broadcast >> gx_op_get_info(gxt_ops[o])->operands)
                    continue;
                gx_job job = known_job(&rng, gxt_ops[o], field, broadcast);
                if (!gx__results_right(&sampler, gxt_task(&job), memory[0], N, &wrong))
                    fail_msg("%s of %s, broadcast %u: element %u", gx_op_get_info(gxt_ops[o])->name,
                             gx_field_get_info(field)->name, broadcast, (unsigned)wrong);
                for (uint64_t i = 0; i < gxt_results(job.op, N); i++) {
                    uint64_t bit = gxt_next(&rng.state) % (8 * gxt_element(field));
                    unsigned char *at = (unsigned char *)memory[0] + i * gxt_element(field);
                    at[bit / 8] ^= (unsigned char)(1u << bit % 8);
                    wrong = UINT64_MAX;
                    assert_false(gx__results_right(&sampler, gxt_task(&job), memory[0], N, &wrong));
                    assert_int_equal(wrong, i);
                    at[bit / 8] ^= (unsigned char)(1u << bit % 8);
                }
            }
}

/* A sample is spread over all of the job, differs from one to the next, and is as large as
 * it was asked to be. */
static void samples_are_spread(void **state)
{
    (void)state;
    struct oracle_rng rng = {8};
    struct gx_sampler sampler = {.seed = 9};
    uint64_t found[N] = {0};
    gx_job job = known_job(&rng, GX_MUL, GX_BN254_FR, 0);
    for (uint64_t i = 0; i < N; i++) {
        memory[0][4 * i] ^= 1;
        for (int round = 0; round < 300; round++) {
            uint64_t wrong;
            found[i] += !gx__results_right(&sampler, gxt_task(&job), memory[0], 16, &wrong);
        }
        memory[0][4 * i] ^= 1;
        assert_in_range(found[i], 6, 70); /* 32 of 300 */
    }
    uint64_t wrong;
    memset(memory[0], 0, sizeof memory[0]);
    assert_true(gx__results_right(&sampler, gxt_task(&job), memory[0], 0, &wrong));
}

/* Large samples are runs of neighbours, in parts; these too are everywhere, and nothing is
 * left out where all are looked at. */
static void large_samples(void **state)
{
    (void)state;
    enum { MANY = 3000, RUNS = 40, ROUNDS = 200 };
    static uint64_t a[MANY * 4], r[MANY * 4];
    struct oracle_rng rng = {8};
    struct gx_sampler sampler = {.seed = 9};
    oracle_fill(GX_BN254_FR, &rng, a, MANY);
    oracle_run(GX_INV, GX_BN254_FR, MANY, r, a, NULL, NULL, 0);
    gx_job job = gxt_job(GX_INV, GX_BN254_FR, MANY, a, NULL, NULL, r);
    uint64_t wrong, neighbours = 0;
    for (uint64_t count = 60; count <= MANY; count += count < 600 ? 7 : 97)
        assert_true(gx__results_right(&sampler, gxt_task(&job), r, count, &wrong));
    const uint64_t step = gxt_small() ? 370 : 37;
    for (uint64_t i = 0; i < MANY; i += step) {
        unsigned found = 0, both = 0;
        r[4 * i] ^= 1;
        assert_false(gx__results_right(&sampler, gxt_task(&job), r, MANY, &wrong));
        assert_int_equal(wrong, i);
        for (int round = 0; round < ROUNDS; round++)
            found += !gx__results_right(&sampler, gxt_task(&job), r, 16 * RUNS, &wrong);
        if (found < 5 || found > 90) /* 43 of 200, fewer at the ends of a stretch */
            assert_true(found > 0 &&
                        (i % (MANY / RUNS) < 16 || i % (MANY / RUNS) >= MANY / RUNS - 16));
        uint64_t j = i + 1 < MANY ? i + 1 : i - 1;
        r[4 * j] ^= 1;
        for (int round = 0; round < ROUNDS; round++)
            both += !gx__results_right(&sampler, gxt_task(&job), r, 16 * RUNS, &wrong);
        neighbours += both > found + found / 2; /* one by one it would be twice as many */
        r[4 * i] ^= 1;
        r[4 * j] ^= 1;
    }
    assert_true(neighbours <= MANY / step / 4);
}

/* A quotient is told by a product: one that is a multiple of p off is not below p, and a
 * multiple of 0 says nothing. */
static void quotients_are_exact(void **state)
{
    (void)state;
    static const gx_op quotients[] = {GX_INV, GX_DIV};
    struct oracle_rng rng = {5};
    struct gx_sampler sampler = {.seed = 6};
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        const gx_field_info *field = gx_field_get_info(gxt_fields[f]);
        for (size_t o = 0; o < GXT_COUNT(quotients) && field->modulus; o++) {
            gx_job job = known_job(&rng, quotients[o], gxt_fields[f], 0);
            uint64_t wrong, *zero = memory[0] + (o ? 9 : 7) * field->limbs, carry = 0;
            zero[0] = 1; /* 1 / 0 */
            assert_false(gx__results_right(&sampler, gxt_task(&job), memory[0], N, &wrong));
            assert_int_equal(wrong, o ? 9 : 7);
            memcpy(zero, field->modulus, field->element_bytes);
            assert_false(gx__results_right(&sampler, gxt_task(&job), memory[0], N, &wrong));
            memset(zero, 0, field->element_bytes);
            for (size_t k = 0; k < field->limbs; k++) { /* the same, modulo p */
                uint64_t *limb = &memory[0][40 * field->limbs + k], before = *limb;
                *limb += field->modulus[k] + carry;
                carry = carry ? *limb <= before : *limb < before;
            }
            assert_false(gx__results_right(&sampler, gxt_task(&job), memory[0], N, &wrong));
            assert_int_equal(wrong, 40);
        }
    }
}

static uint64_t size_of(struct gx_sampler *sampler, size_t n, uint64_t every, bool trusted)
{
    gx_job job = {.op = GX_MUL, .field = GX_BLS12_381_FR, .n = n};
    return gx__sample_size(sampler, gxt_task(&job), every, trusted);
}

static void sizes_of_samples(void **state)
{
    (void)state;
    struct gx_sampler s = {0};
    assert_int_equal(size_of(&s, 10, 1, true), 10);
    assert_int_equal(size_of(&s, 5000000, 1000, true), 5000);
    uint64_t sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += size_of(&s, 64, 1000, true);
    assert_int_equal(sum, 64);
    assert_int_equal(size_of(&s, 64, 1000, false), GX_SAMPLE_MIN);
    assert_int_equal(size_of(&s, 2, 1000, false), 2);
    assert_int_equal(size_of(&s, 0, 1000, false), 0);
    assert_int_equal(size_of(&s, 50000, 1000, false), 50);
    assert_int_equal(gx__sample_most(1000000, 0), UINT64_MAX); /* not known what one costs */
    assert_int_equal(gx__sample_most(1000000, 100000), GX_SAMPLE_FREE + 100);
    assert_int_equal(gx__sample_most(0, 100000), GX_SAMPLE_FREE);
    assert_true(gx__sample_most(UINT64_MAX, 1) > UINT64_MAX / 4);
}

/* What the caller does to the rounding of floats changes nothing. */
static void rounding_is_not_the_callers(void **state)
{
    (void)state;
    struct oracle_rng rng = {3};
    struct gx_sampler sampler = {.seed = 1};
    uint64_t wrong;
    gx_job job = known_job(&rng, GX_MUL, GX_F32, 0);
    fesetround(FE_UPWARD);
    bool right = gx__results_right(&sampler, gxt_task(&job), memory[0], N, &wrong);
    int rounding = fegetround();
    fesetround(FE_TONEAREST);
    assert_true(right);
    assert_int_equal(rounding, FE_UPWARD);
}

static void broken_promises_excuse_any_result(void **state)
{
    (void)state;
    struct oracle_rng rng = {4};
    struct gx_sampler sampler = {.seed = 1};
    uint64_t wrong;
    gx_job job = known_job(&rng, GX_ADD, GX_BN254_FR, 0);
    memory[0][4 * 20] ^= 1;
    job.flags = GX_JOB_UNCHECKED;
    assert_false(gx__results_right(&sampler, gxt_task(&job), memory[0], N, &wrong));
    oracle_bad(GX_BN254_FR, 0, &memory[2][4 * 140]); /* some other element */
    assert_true(gx__results_right(&sampler, gxt_task(&job), memory[0], N, &wrong));
    job.flags = 0; /* the device should have refused it */
    assert_false(gx__results_right(&sampler, gxt_task(&job), memory[0], N, &wrong));
}

static void refusals_are_looked_at(void **state)
{
    (void)state;
    struct oracle_rng rng = {4};
    gx_job job = known_job(&rng, GX_ADD, GX_BN254_FR, ORACLE_A);
    assert_false(gx__refusal_right(gxt_task(&job), 20, 'b'));
    oracle_bad(GX_BN254_FR, 0, &memory[2][4 * 20]);
    assert_true(gx__refusal_right(gxt_task(&job), 20, 'b'));
    assert_false(gx__refusal_right(gxt_task(&job), 21, 'b'));
    assert_false(gx__refusal_right(gxt_task(&job), N, 'b'));
    assert_false(gx__refusal_right(gxt_task(&job), 20, 'a'));
    assert_false(gx__refusal_right(gxt_task(&job), 20, 'c')); /* of which there is none */
    assert_false(gx__refusal_right(gxt_task(&job), 20, 0));
    oracle_bad(GX_BN254_FR, 0, memory[1]); /* one that stands for all */
    assert_true(gx__refusal_right(gxt_task(&job), 20, 'a'));
    job = known_job(&rng, GX_ADD, GX_U32, 0);
    assert_false(gx__refusal_right(gxt_task(&job), 20, 'a'));
}

/* ---- engines ---- */

static struct gx_engine engine;
static struct gx_instance instance;
static struct gx_registered_memory hosts;

static void open_engine(const char *name, const gx_allocator *allocator)
{
    struct gx_error error = {""};
    gx_config config = {.cache_dir = "none", .allocator = *allocator};
    memset(&engine, 0, sizeof engine);
    memset(&instance, 0, sizeof instance);
    assert_int_equal(gx__config_complete(&instance.config, &config, &error), GX_OK);
    gx__registered_memory_init(&hosts);
    instance.registered = &hosts;
    if (gx__engine_open(&engine, &instance, name, &error) != GX_OK)
        fail_msg("%s: %s", name, error.text);
}

static void close_engine(void)
{
    gx__engine_close(&engine);
    gx__registered_memory_close(&hosts);
    gx__device_stop(&instance);
    gx__threads_end(&instance);
}

static uint32_t all_curves(void)
{
    uint32_t curves = 0;
    for (gx_curve c = 1; gx_curve_get_info(c); c++)
        curves |= 1u << c;
    return curves;
}

static void devices_that_work_pass(void **state)
{
    (void)state;
    static const gx_allocator none;
    const char *const names[] = {"cpu", "sim:desktop", "ref", gxt_vulkan()};
    for (size_t i = 0; i < GXT_COUNT(names); i++) {
        struct gx_sampler sampler = {.seed = i};
        struct gx_error error = {""};
        if (!names[i])
            continue;
        open_engine(names[i], &none);
        atomic_store(&instance.curves, i ? 1u << GX_BN254_G1 : all_curves());
        if (gx__self_test(&engine, &error) != GX_OK)
            fail_msg("%s: %s", names[i], error.text);
        for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
            const struct gx_task like = {.op = GX_SUB, .field = gxt_fields[f]};
            if (gx__probe_like(&engine, &sampler, &like, &error) != GX_OK)
                fail_msg("%s: %s", names[i], error.text);
        }
        close_engine();
    }
}

/* A wrong bit in any result of the self-test is found; not in what comes of the jobs that are
 * refused, which nobody looks at, nor after all of them. */
static void devices_that_lie_do_not(void **state)
{
    (void)state;
    static const gx_allocator none;
    for (int at = 1; at <= 14; at++) {
        bool unseen = at == 4 || at >= 13;
        char name[40];
        struct gx_error error = {""};
        snprintf(name, sizeof name, "fault:corrupt@%d:cpu", at);
        open_engine(name, &none);
        atomic_store(&instance.curves, all_curves());
        assert_int_equal(gx__self_test(&engine, &error), unseen ? GX_OK : GX_ERR_DEVICE);
        assert_int_equal(unseen, !error.text[0]);
        close_engine();
    }
}

/* One like that of a job, whatever its size. */
static void transforms_are_probed(void **state)
{
    (void)state;
    static const gx_allocator none;
    struct gx_sampler sampler = {.seed = 3};
    for (uint32_t log2_n = 0; log2_n <= 12; log2_n += 4)
        for (int at = 1; at <= 2; at++) {
            char name[40];
            struct gx_error error = {""};
            struct gx_domain domain;
            snprintf(name, sizeof name, "fault:corrupt@%d:cpu", at);
            open_engine(name, &none);
            assert_int_equal(gx__domain_set(&domain, engine.instance, gx__prime(GX_BN254_FR), 12,
                                            NULL, NULL, &error),
                             GX_OK);
            const gx_ntt_params params = {.struct_size = sizeof params,
                                          .domain = &domain,
                                          .log2_n = log2_n,
                                          .flags = GX_NTT_INVERSE | GX_NTT_COLUMNS};
            const gx_job like = {
                .op = GX_NTT, .field = GX_BN254_FR, .n = (size_t)3 << log2_n, .params = &params};
            assert_int_equal(gx__probe_like(&engine, &sampler, gxt_task(&like), &error),
                             at == 1 ? GX_ERR_DEVICE : GX_OK);
            close_engine();
        }
}

static void failures_are_passed_on(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        gx_status status;
    } cases[] = {{"fault:lose@9:cpu", GX_ERR_DEVICE_LOST}, {"fault:fail@9:cpu", GX_ERR_DEVICE}};
    static const gx_allocator none;
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        struct gx_error error = {""};
        open_engine(cases[i].name, &none);
        assert_int_equal(gx__self_test(&engine, &error), cases[i].status);
        assert_true(error.text[0]);
        close_engine();
    }
}

static void without_memory_nothing_is_said_of_the_device(void **state)
{
    (void)state;
    struct gxt_heap heap;
    gxt_heap_start(&heap);
    gx_allocator allocator = gxt_heap_allocator(&heap);
    open_engine("cpu", &allocator);
    atomic_store(&instance.curves, 1u << GX_BN254_G2);
    for (uint64_t at = 1; at <= 40; at++) {
        struct gx_error error = {""};
        gxt_heap_fail(&heap, at, 0);
        gx_status s = gx__self_test(&engine, &error);
        gxt_heap_heal(&heap);
        assert_true(s == GX_OK || s == GX_ERR_OUT_OF_MEMORY);
        assert_true(at > 1 || s == GX_ERR_OUT_OF_MEMORY);
        assert_int_equal(s == GX_OK, !error.text[0]);
    }
    close_engine();
    gxt_heap_end(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_wrong_bit_is_found),
        cmocka_unit_test(samples_are_spread),
        cmocka_unit_test(large_samples),
        cmocka_unit_test(quotients_are_exact),
        cmocka_unit_test(sizes_of_samples),
        cmocka_unit_test(rounding_is_not_the_callers),
        cmocka_unit_test(broken_promises_excuse_any_result),
        cmocka_unit_test(refusals_are_looked_at),
        cmocka_unit_test(devices_that_work_pass),
        cmocka_unit_test(devices_that_lie_do_not),
        cmocka_unit_test(transforms_are_probed),
        cmocka_unit_test(failures_are_passed_on),
        cmocka_unit_test(without_memory_nothing_is_said_of_the_device),
    };
    gxt_clear_environment();
    gxt_enter_machines();
    return cmocka_run_group_tests_name("trust", tests, NULL, NULL);
}
