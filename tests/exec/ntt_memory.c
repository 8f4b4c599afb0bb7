/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms under memory budgets that they do not fit into, on every GPU: the same bits, whatever
 * the order, coset, padding or batch, from host memory and back, and never more than the budget.
 * Also domains whose tables no longer fit beside each other.
 */
#include <stdio.h>

#include "api/counters.h"
#include "support/harness.h"
#include "support/oracle_ntt.h"

enum { ELEMENT = 32, LARGEST = 15, DEVICES_MAX = 8 };

static const char *devices[DEVICES_MAX];
static size_t device_count;
static struct oracle_rng rng = {606};
static unsigned char *in, *got, *want;

static int prepare(void **state)
{
    (void)state;
    gxt_clear_environment();
    gxt_enter_machines();
    devices[device_count++] = "sim:desktop";
    if (gxt_vulkan())
        devices[device_count++] = gxt_vulkan();
    device_count += gxt_webgpu(devices + device_count);
    in = gxt_alloc(ELEMENT << (LARGEST + 1));
    got = gxt_alloc(ELEMENT << (LARGEST + 1));
    want = gxt_alloc(ELEMENT << (LARGEST + 1));
    return 0;
}

static int finish(void **state)
{
    (void)state;
    free(in);
    free(got);
    free(want);
    return 0;
}

static gx_ctx *open_with(uint64_t budget)
{
    gx_config config = {.device_memory = budget};
    gxt_watch(&config);
    return gxt_open(&config);
}

static void close_within(gx_ctx *ctx, uint64_t budget)
{
    struct gx_statistics stats = {0};
    gx__stats(ctx, &stats);
    assert_true(stats.device_bytes_peak <= budget);
    assert_int_equal(stats.validation_messages, 0);
    gx_close(&ctx);
    assert_int_equal(gxt_complaints(), 0);
}

static gx_domain *make_domain(gx_ctx *ctx, gx_field field, uint32_t log2_size)
{
    gx_domain_params desc = {.struct_size = sizeof desc, .field = field, .log2_size = log2_size};
    gx_domain *domain = NULL;
    assert_int_equal(gx_domain_create(ctx, &desc, &domain), GX_OK);
    return domain;
}

/* The expected values are in want. */
static void run_shape(gx_ctx *ctx, const gx_domain *domain, const char *device,
                      const struct oracle_ntt *t, int in_place)
{
    size_t bytes = oracle_ntt_out(t) * ELEMENT;
    gx_ntt_params params = {.struct_size = sizeof params,
                            .domain = domain,
                            .log2_n = t->log2_n,
                            .log2_pad = t->log2_pad,
                            .flags = t->flags};
    gx_job job = gxt_job(GX_NTT, t->field, oracle_ntt_out(t), in_place ? got : in, NULL, NULL, got);
    gx_report r = gxt_report();
    job.params = &params;
    memset(got, 0x5c, bytes);
    if (in_place)
        memcpy(got, in, bytes);
    gx_status s = gxt_run(ctx, &job, device, &r);
    if (s != GX_OK)
        fail_msg("%s: 2^%u padded by 2^%u, batch %zu, flags %u: %s", device, t->log2_n, t->log2_pad,
                 t->batch, t->flags, r.message);
    for (size_t i = 0; i < bytes; i++)
        if (got[i] != want[i])
            fail_msg("%s: 2^%u padded by 2^%u, batch %zu, flags %u: element %zu is wrong", device,
                     t->log2_n, t->log2_pad, t->batch, t->flags, i / ELEMENT);
}

/* A transform with one field, order, coset and padding after the other: `i` chooses. */
static void one_of_many(gx_ctx *ctx, const char *device, struct oracle_ntt t, uint32_t i)
{
    gx_domain *domain = make_domain(ctx, t.field, i % 2 ? 20 : t.log2_n);
    oracle_fill(t.field, &rng, in, oracle_ntt_in(&t));
    oracle_ntt_by_halves(&t, want, in);
    run_shape(ctx, domain, device, &t, !t.log2_pad && i % 2);
    gx_domain_destroy(&domain);
}

/* 2^13 elements are 256 KiB, 2^15 are 1 MiB. */
static void larger_than_the_budget(void **state)
{
    (void)state;
    static const uint64_t budgets[] = {300 << 10, 400 << 10, 520 << 10};
    for (size_t d = 0; d < device_count; d++)
        for (uint32_t b = 0; b < GXT_COUNT(budgets); b++) {
            gx_ctx *ctx = open_with(budgets[b]);
            for (uint32_t i = b; i < (gxt_small() ? 3u : 15u); i += GXT_COUNT(budgets))
                one_of_many(ctx, devices[d],
                            (struct oracle_ntt){.field = i % 2 ? GX_BN254_FR : GX_BLS12_381_FR,
                                                .log2_n = 13 + i / 2 % 3,
                                                .log2_pad = i % 5 == 4 ? 3 : 0,
                                                .flags = i * 5 % 32,
                                                .batch = i % 4 == 3 && i / 2 % 3 < 2 ? 2 : 1},
                            i);
            close_within(ctx, budgets[b]);
        }
}

/* Batches that fit only in parts. */
static void batches_larger_than_the_budget(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = open_with(300 << 10);
        for (uint32_t i = 0; i < 8; i += gxt_small() ? 5 : 1)
            one_of_many(ctx, devices[d],
                        (struct oracle_ntt){.field = GX_BN254_FR,
                                            .log2_n = 6 + i % 3,
                                            .log2_pad = i == 5 ? 1 : 0,
                                            .flags = (i * 7 + 16 * (i % 2)) % 32,
                                            .batch = 100},
                        i);
        close_within(ctx, 300 << 10);
    }
}

/* Tables of domains that are not in use make room for others. */
static void tables_make_room(void **state)
{
    (void)state;
    enum { DOMAINS = 8, BUDGET = 512 << 10 };
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = open_with(BUDGET);
        gx_domain *domains[DOMAINS];
        for (uint32_t i = 0; i < DOMAINS; i++)
            domains[i] = make_domain(ctx, i % 2 ? GX_BN254_FR : GX_BLS12_381_FR, 9 + i / 2);
        for (uint32_t i = 0; i < 2 * DOMAINS; i++) {
            struct oracle_ntt t = {.field = i % 2 ? GX_BN254_FR : GX_BLS12_381_FR,
                                   .log2_n = 9 + i % DOMAINS / 2,
                                   .flags = i % 4,
                                   .batch = 1};
            oracle_fill(t.field, &rng, in, oracle_ntt_in(&t));
            oracle_ntt_by_halves(&t, want, in);
            run_shape(ctx, domains[i % DOMAINS], devices[d], &t, 0);
        }
        for (uint32_t i = 0; i < DOMAINS; i++)
            gx_domain_destroy(&domains[i]);
        close_within(ctx, BUDGET);
    }
}

/* A buffer takes most of the budget; its transform has to do with what is left, or says so. */
static void little_is_left_beside_buffers(void **state)
{
    (void)state;
    struct oracle_ntt t = {.field = GX_BN254_FR, .log2_n = 12, .batch = 1};
    size_t bytes = oracle_ntt_out(&t) * ELEMENT;
    oracle_fill(t.field, &rng, in, oracle_ntt_in(&t));
    oracle_ntt(&t, want, in);
    for (size_t d = 0; d < device_count; d++)
        for (uint64_t budget = bytes + 4096; budget <= 16 * bytes; budget *= 2) {
            gx_ctx *ctx = open_with(budget);
            gx_domain *domain = make_domain(ctx, t.field, t.log2_n);
            gx_ntt_params params = {.struct_size = sizeof params, .domain = domain, .log2_n = 12};
            gx_job job = {.op = GX_NTT, .field = t.field, .n = oracle_ntt_out(&t)};
            gx_buf *buf = NULL;
            gx_report r = gxt_report();
            job.params = &params;
            assert_int_equal(gx_buf_create(ctx, devices[d], bytes, 0, &buf), GX_OK);
            assert_int_equal(gx_buf_write(buf, 0, in, bytes), GX_OK);
            job.a = job.out = gx_dev(buf, 0);
            gx_status s = gxt_run(ctx, &job, devices[d], &r);
            assert_true(s == GX_OK || s == GX_ERR_OUT_OF_DEVICE_MEMORY);
            assert_true(s == GX_OK || r.message[0]);
            assert_true(s == GX_OK || budget < 8 * bytes);
            assert_int_equal(gx_buf_read(buf, 0, got, bytes), GX_OK);
            if (s == GX_OK)
                assert_memory_equal(got, want, bytes);
            gx_buf_destroy(&buf);
            gx_domain_destroy(&domain);
            close_within(ctx, budget);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(larger_than_the_budget),
        cmocka_unit_test(batches_larger_than_the_budget),
        cmocka_unit_test(tables_make_room),
        cmocka_unit_test(little_is_left_beside_buffers),
    };
    return cmocka_run_group_tests_name("ntt-memory", tests, prepare, finish);
}
