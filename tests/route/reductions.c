/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums and dot products that the router gives to several devices at once: the results of the parts
 * make the result, whatever the shares are; the first bad element is the first of all; a device
 * that fails, is lost, hangs or lies in the middle of it changes nothing but the report. Right is
 * what GMP says.
 */
#include <stdio.h>

#include "api/counters.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/oracle.h"

enum { N = 4096, ELEMENT = 32, BYTES = N * ELEMENT, GUARD = 0x5c, AT_MAX = 400 };

/* So slow that this many products are worth sharing. */
#define ONE   "sim:gpu-of-three-slow#1"
#define TWO   "sim:gpu-of-three-slow#2"
#define THREE "sim:gpu-of-three-slow#3"

static const gx_field field = GX_BN254_FR;
static const gx_op reductions[] = {GX_SUM, GX_DOT};
static struct oracle_rng rng = {1618};
static struct gxt_heap heap;
static unsigned char in[2][BYTES], product[BYTES], scaled[BYTES];
static unsigned char want[2][4][ELEMENT]; /* by operation, by what is broadcast */

static int set_up(void **state)
{
    (void)state;
    gxt_clear_environment();
    gxt_enter_machines();
    oracle_fill(field, &rng, in[0], N);
    oracle_fill(field, &rng, in[1], N);
    for (size_t o = 0; o < 2; o++)
        for (unsigned b = 0; b < 4; b++)
            oracle_run(reductions[o], field, N, want[o][b], in[0], in[1], NULL, b);
    oracle_run(GX_MUL, field, N, product, in[0], in[1], NULL, 0);
    oracle_run(GX_MUL, field, N, scaled, product, want[1][0], NULL, ORACLE_B);
    return 0;
}

static gx_ctx *open_list(const char *devices, gx_policy policy, uint64_t sample_every)
{
    gxt_heap_start(&heap);
    gx_config config = {.device = devices,
                        .policy = policy,
                        .sample_every = sample_every,
                        .threads = 1,
                        .cache_dir = "none",
                        .allocator = gxt_heap_allocator(&heap)};
    gxt_watch(&config);
    return gxt_open(&config);
}

static void close_list(gx_ctx *ctx)
{
    gx_close(&ctx);
    gxt_heap_end(&heap);
    assert_int_equal(gxt_complaints(), 0);
}

static void calibrate(gx_ctx *ctx, size_t most)
{
    const gx_op ops[] = {GX_SUM, GX_DOT, GX_MUL};
    gx_calibrate_params settings = {.ops = ops,
                                    .op_count = GXT_COUNT(ops),
                                    .fields = &field,
                                    .field_count = 1,
                                    .max_elems = most,
                                    .limit_ns = 3000000000};
    assert_int_equal(gx_calibrate(ctx, &settings), GX_OK);
}

/* ---- calls ---- */

static gx_job reduction(size_t o, unsigned broadcast, unsigned char *out)
{
    gx_job job = gxt_job(reductions[o], field, N, in[0], in[1], NULL, out);
    job.a.broadcast = broadcast & ORACLE_A ? 1 : 0;
    job.b.broadcast = broadcast & ORACLE_B ? 1 : 0;
    return job;
}

/* What a call came to, beside a right result. */
struct seen {
    unsigned shares, fallbacks; /* the most devices that had some; calls */
    uint64_t sampled;
};

static void note(const gx_report *r, struct seen *seen)
{
    uint64_t elements = 0;
    unsigned shares = 0;
    for (size_t i = 0; i < r->candidates; i++) {
        elements += r->candidate[i].elements;
        shares += r->candidate[i].elements > 0;
    }
    if (r->candidates)
        assert_int_equal(elements, N);
    if (r->reason == GX_REASON_SPLIT)
        assert_true(shares > 1);
    seen->shares = shares > seen->shares ? shares : seen->shares;
    seen->fallbacks += r->reason == GX_REASON_FALLBACK;
    seen->sampled += r->sampled;
}

static void run_once(gx_ctx *ctx, size_t o, unsigned broadcast, struct seen *seen)
{
    unsigned char out[3 * ELEMENT];
    gx_report r = gxt_report();
    memset(out, GUARD, sizeof out);
    gx_job job = reduction(o, broadcast, out + ELEMENT);
    gx_status s = gxt_run(ctx, &job, NULL, &r);
    if (s != GX_OK)
        fail_msg("%s, broadcast %u: %s: %s", gx_op_get_info(job.op)->name, broadcast,
                 gx_status_name(s), r.message);
    if (memcmp(out + ELEMENT, want[o][broadcast], ELEMENT) != 0)
        fail_msg("%s, broadcast %u: wrong result; %s %s", gx_op_get_info(job.op)->name, broadcast,
                 gx_reason_name(r.reason), r.message);
    assert_int_equal(out[ELEMENT - 1], GUARD);
    assert_int_equal(out[2 * ELEMENT], GUARD);
    note(&r, seen);
}

/* x = a * b; d = sum(x); x = x * d, and d again as dot(a, b): in one call. */
static void run_chain(gx_ctx *ctx, struct seen *seen)
{
    static unsigned char x[BYTES];
    unsigned char d[2][ELEMENT];
    gx_report r[4];
    gxt_reports(r, 4);
    memset(x, GUARD, sizeof x);
    memset(d, GUARD, sizeof d);
    gx_job jobs[4] = {gxt_job(GX_MUL, field, N, in[0], in[1], NULL, x),
                      gxt_job(GX_SUM, field, N, x, NULL, NULL, d[0]),
                      gxt_job(GX_MUL, field, N, x, d[0], NULL, x),
                      gxt_job(GX_DOT, field, N, in[0], in[1], NULL, d[1])};
    jobs[2].b.broadcast = 1;
    gx_status s = gx_run(ctx, jobs, 4, NULL, r);
    if (s != GX_OK)
        fail_msg("%s: %s", gx_status_name(s), r[0].message);
    assert_memory_equal(d[0], want[1][0], ELEMENT);
    assert_memory_equal(d[1], want[1][0], ELEMENT);
    assert_memory_equal(x, scaled, BYTES);
    for (int i = 0; i < 4; i++)
        note(&r[i], seen);
}

static struct seen run_all(gx_ctx *ctx, unsigned rounds)
{
    struct seen seen = {0};
    for (unsigned i = 0; i < rounds; i++) {
        for (unsigned b = 0; b < 4; b++) {
            run_once(ctx, b % 2, 0, &seen);
            run_once(ctx, 1, b, &seen);
        }
        run_once(ctx, 0, ORACLE_A, &seen);
        run_chain(ctx, &seen);
    }
    return seen;
}

/* ---- shares ---- */

static void shares(void **state)
{
    (void)state;
    static const char *const lists[] = {
        ONE "," TWO,
        ONE "," TWO "," THREE,
        "cpu," ONE "," TWO,
        ("sim:gpu-of-three-fast,sim:gpu-of-three-middle," ONE),
    };
    for (size_t l = 0; l < GXT_COUNT(lists); l++) {
        for (int calibrated = 0; calibrated < 2; calibrated++) {
            gx_ctx *ctx = open_list(lists[l], GX_POLICY_THROUGHPUT, 0);
            if (calibrated)
                calibrate(ctx, N);
            struct seen seen = run_all(ctx, gxt_small() ? 2 : 5);
            print_message("%s: up to %u devices at once\n", lists[l], seen.shares);
            if (calibrated && l < 2) /* where it pays by far */
                assert_true(seen.shares > 1);
            assert_int_equal(seen.fallbacks, 0);
            close_list(ctx);
        }
    }
}

/* Dot products alone are shared, not only the products of a chain: the report of one says so. */
static void a_share_each(void **state)
{
    (void)state;
    gx_ctx *ctx = open_list(ONE "," TWO, GX_POLICY_THROUGHPUT, 0);
    struct seen dots = {0};
    calibrate(ctx, N);
    for (int i = 0; i < 8; i++)
        run_once(ctx, 1, 0, &dots);
    assert_true(dots.shares > 1);
    struct gx_statistics stats = {0};
    gx__stats(ctx, &stats);
    assert_true(stats.decisions_split > 0);
    assert_int_equal(stats.bytes_written % ELEMENT, 0);
    close_list(ctx);
}

/* Whatever is chosen on this machine. */
static void real_devices(void **state)
{
    (void)state;
    const char *names[GXT_WEBGPU];
    char list[120];
    if (!gxt_vulkan())
        skip();
    snprintf(list, sizeof list, "cpu,%s%s", gxt_vulkan(),
             gxt_webgpu(names) ? ",webgpu:vulkan:0,webgpu:gl:0" : "");
    gx_ctx *ctx = open_list(list, GX_POLICY_THROUGHPUT, 1);
    run_all(ctx, 1);
    calibrate(ctx, 2048);
    struct seen seen = run_all(ctx, 2);
    print_message("%s: up to %u devices at once\n", list, seen.shares);
    close_list(ctx);
    ctx = open_list(gxt_vulkan(), GX_POLICY_GPU, 1);
    run_all(ctx, 1);
    close_list(ctx);
}

/* The operands are in buffers of two devices, and the result is to be in one of them. */
static void buffers_of_several_devices(void **state)
{
    (void)state;
    gx_ctx *ctx = open_list("cpu," ONE "," TWO, GX_POLICY_THROUGHPUT, 0);
    gx_buf *a = NULL, *b = NULL;
    unsigned char out[ELEMENT];
    calibrate(ctx, N);
    assert_int_equal(gx_buf_create(ctx, ONE, BYTES + 64, 0, &a), GX_OK);
    assert_int_equal(gx_buf_create(ctx, TWO, BYTES, 0, &b), GX_OK);
    assert_int_equal(gx_buf_write(a, 0, in[0], BYTES), GX_OK);
    assert_int_equal(gx_buf_write(b, 0, in[1], BYTES), GX_OK);
    for (int i = 0; i < 6; i++) {
        gx_report r = gxt_report();
        memset(out, GUARD, sizeof out);
        assert_int_equal(gx_buf_write(a, BYTES, out, sizeof out), GX_OK);
        gx_job job = {.op = GX_DOT, .field = field, .n = N, .a = gx_dev(a, 0)};
        job.b = i % 3 == 2 ? gx_host(in[1]) : gx_dev(b, 0);
        job.out = i % 2 ? gx_dev(a, BYTES) : gx_host(out);
        gx_status s = gxt_run(ctx, &job, NULL, &r);
        if (s != GX_OK)
            fail_msg("%s: %s", gx_status_name(s), r.message);
        if (i % 2)
            assert_int_equal(gx_buf_read(a, BYTES, out, sizeof out), GX_OK);
        assert_memory_equal(out, want[1][0], ELEMENT);
    }
    gx_buf_destroy(&a);
    gx_buf_destroy(&b);
    close_list(ctx);
}

/* ---- elements not below the modulus ---- */

static void the_first_bad_of_all_shares(void **state)
{
    (void)state;
    static unsigned char spoilt[2][BYTES];
    static const size_t ats[] = {0, 1, N / 2 - 1, N / 2, N / 2 + 1, N - 1, 1000, 3000};
    gx_ctx *ctx = open_list(ONE "," TWO, GX_POLICY_THROUGHPUT, 0);
    calibrate(ctx, N);
    for (size_t i = 0; i < GXT_COUNT(ats); i++) {
        for (size_t o = 0; o < 2; o++) {
            unsigned char out[ELEMENT];
            gx_report r = gxt_report();
            memcpy(spoilt, in, sizeof in);
            oracle_bad(field, i, spoilt[o] + ats[i] * ELEMENT);
            if (ats[i] + 5 < N) /* and one that another device may find sooner */
                oracle_bad(field, i, spoilt[0] + (size_t)(N - 2) * ELEMENT);
            gx_job job = gxt_job(reductions[o], field, N, spoilt[0], spoilt[1], NULL, out);
            assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_ERR_NOT_CANONICAL);
            assert_int_equal(r.bad_index, ats[i]);
            assert_int_equal(r.bad_operand, o ? 'b' : 'a');
        }
    }
    run_all(ctx, 1);
    close_list(ctx);
}

/* ---- one of them fails ---- */

static unsigned next(unsigned at)
{
    unsigned all = gxt_small() ? 6 : 30;
    return at < all ? at + 1 : at + at / (gxt_small() ? 1 : 5);
}

static void sweep(const char *what, const char *devices, gx_policy policy)
{
    unsigned failed = 0, split = 0;
    int lies = !strcmp(what, "corrupt");
    for (unsigned at = 1; at < AT_MAX; at = next(at)) {
        char device[48], list[200];
        struct gx_statistics stats = {0};
        snprintf(device, sizeof device, "fault:%s@%u:%s", what, at, ONE);
        snprintf(list, sizeof list, devices, device);
        gx_ctx *ctx = open_list(list, policy, lies ? 1 : 0);
        struct seen seen = run_all(ctx, 3);
        gx__stats(ctx, &stats);
        assert_int_equal(stats.jobs_failed, 0);
        if (lies)
            assert_int_equal(stats.mismatches > 0, stats.fallbacks > 0);
        else
            assert_int_equal(stats.mismatches, 0);
        failed += stats.fallbacks > 0;
        split += seen.shares > 1;
        close_list(ctx);
    }
    print_message("%s, %s: %u ended with a fallback, %u with a split\n", what,
                  gx_policy_name(policy), failed, split);
    if (strcmp(what, "oom") != 0)
        assert_true(failed >= (gxt_small() ? 3 : 10));
    assert_true(split > 0); /* or it was not tested */
}

static void one_fails(void **state)
{
    (void)state;
    static const char *const whats[] = {"fail", "oom", "lose", "hang", "corrupt"};
    for (size_t i = 0; i < GXT_COUNT(whats); i++) {
        sweep(whats[i], TWO ",%s", GX_POLICY_THROUGHPUT);
        if (!gxt_small())
            sweep(whats[i], "%s," TWO ",cpu," THREE, GX_POLICY_GPU);
    }
}

/* Alone and named, a device that lies is not found out by who looks at nothing, and is by who
 * looks at everything. */
static void lies_are_found(void **state)
{
    (void)state;
    unsigned found = 0;
    for (unsigned at = 1; at < 30; at++) {
        char list[120];
        snprintf(list, sizeof list, "fault:corrupt@%u:%s,%s", at, ONE, TWO);
        gx_ctx *ctx = open_list(list, GX_POLICY_GPU, 1);
        struct seen seen = {0};
        for (unsigned i = 0; i < 4; i++)
            run_once(ctx, i % 2, 0, &seen);
        struct gx_statistics stats = {0};
        gx__stats(ctx, &stats);
        found += stats.mismatches > 0;
        assert_true(stats.sampled > 0);
        close_list(ctx);
    }
    assert_true(found > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares),
        cmocka_unit_test(a_share_each),
        cmocka_unit_test(real_devices),
        cmocka_unit_test(buffers_of_several_devices),
        cmocka_unit_test(the_first_bad_of_all_shares),
        cmocka_unit_test(one_fails),
        cmocka_unit_test(lies_are_found),
    };
    return cmocka_run_group_tests_name("route-reductions", tests, set_up, NULL);
}
