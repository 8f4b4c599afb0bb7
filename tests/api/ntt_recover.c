/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms and operations on polynomials when something breaks: each allocation fails in turn,
 * each call of the device fails, runs out of memory, loses the device or hangs, on the CPU and on a
 * GPU. Each time the right status, inputs intact, nothing leaked, and the same domain works on the
 * device afterwards, whose tables were lost with it. Where another device may take over: no error,
 * right results, also when a device lies.
 *
 * usage: ntt-recover [GPU]
 */
#include <stdbool.h>
#include <stdio.h>

#include "api/counters.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/oracle_ntt.h"
#include "support/oracle_poly.h"

enum { ELEMENT = 32, MOST = 256, BYTES = MOST * ELEMENT, AT_MAX = 3000, K_MAX = 5000 };
enum { PER_CONTEXT = 24, LOG2 = 8, LARGE_JOBS = 3 };

static const gx_field field = GX_BLS12_381_FR;

struct step {
    gx_op op;
    struct oracle_ntt t;  /* GX_NTT */
    struct oracle_poly p; /* others */
    int in_place, resident;
    int everywhere; /* few on a GPU, where every context takes long to open */
};

static const struct step steps[] = {
    {.op = GX_NTT, .t = {.log2_n = 6, .batch = 3}, .everywhere = 1},
    {.op = GX_NTT,
     .t = {.log2_n = 7, .batch = 1, .flags = GX_NTT_INVERSE | GX_NTT_COSET | GX_NTT_REVERSED_IN},
     .in_place = 1},
    {.op = GX_NTT, .t = {.log2_n = 5, .log2_pad = 2, .batch = 7, .flags = GX_NTT_COLUMNS}},
    {.op = GX_NTT, .t = {.log2_n = LOG2, .batch = 1}, .resident = 1, .everywhere = 1},
    {.op = GX_NTT, .t = {.log2_n = 4, .batch = 5}, .resident = 1, .in_place = 1},
    {.op = GX_PREFIX_PRODUCT, .p = {.n = 70}},
    {.op = GX_PREFIX_SUM, .p = {.n = 70}, .resident = 1},
    {.op = GX_COSETS, .p = {.n = 66, .count = 33}},
    {.op = GX_EVALUATE, .p = {.n = 64, .flags = GX_POLY_REVERSED}, .everywhere = 1},
    {.op = GX_DIVIDE_LINEAR, .p = {.n = 70}},
    {.op = GX_GATHER, .p = {.n = 40, .count = 50}},
    {.op = GX_INTERLEAVE, .p = {.n = 60, .count = 4}, .resident = 1},
};
enum { STEPS = GXT_COUNT(steps) };

static const char *devices[2] = {"cpu"};
static size_t device_count = 1;
static unsigned char a[BYTES], b[STEPS][BYTES], want[STEPS][BYTES];
static struct gxt_heap heap;

static size_t out_bytes(size_t i)
{
    if (steps[i].op == GX_NTT)
        return oracle_ntt_out(&steps[i].t) * ELEMENT;
    return (steps[i].op == GX_EVALUATE ? 1 : steps[i].p.n) * ELEMENT;
}

static int prepare(void **state)
{
    (void)state;
    struct oracle_rng rng = {8};
    gxt_clear_environment();
    gxt_enter_machines();
    devices[1] = gxt_gpu();
    device_count = devices[1] ? 2 : 1;
    oracle_fill_random(field, &rng, a, MOST);
    for (size_t i = 0; i < STEPS; i++) {
        struct oracle_ntt t = steps[i].t;
        struct oracle_poly p = steps[i].p;
        t.field = p.field = field;
        p.op = steps[i].op;
        oracle_fill_random(field, &rng, b[i], 1);
        for (uint32_t k = 0; p.op == GX_GATHER && k < p.n; k++) {
            uint32_t index = k * 7 % (uint32_t)p.count;
            memcpy(b[i] + k * sizeof index, &index, sizeof index);
        }
        if (p.op == GX_NTT)
            oracle_ntt(&t, want[i], a);
        else
            oracle_poly(&p, want[i], a, b[i]);
    }
    return 0;
}

/* ---- one step ---- */

static gx_domain *make_domain(gx_ctx *ctx)
{
    gx_domain_params desc = {.struct_size = sizeof desc, .field = field, .log2_size = LOG2};
    gx_domain *domain = NULL;
    assert_int_equal(gx_domain_create(ctx, &desc, &domain), GX_OK);
    return domain;
}

static gx_status run_job(gx_ctx *ctx, const gx_job *job, const char *device, gx_report *r)
{
    *r = gxt_report();
    gx_status s = gxt_run(ctx, job, device, r);
    assert_int_equal(r->status, s);
    if (s != GX_OK)
        assert_true(r->message[0]);
    return s;
}

/* In host memory; device NULL: chosen. got: the result. */
static gx_status host_step(gx_ctx *ctx, const char *device, size_t i, const gx_job *like,
                           unsigned char *got, gx_report *r)
{
    unsigned char in[BYTES], second[BYTES];
    gx_job job = *like;
    memcpy(in, a, BYTES);
    memcpy(second, b[i], BYTES);
    job.a = gx_host(steps[i].in_place ? got : in);
    if (job.b.host)
        job.b = gx_host(second);
    job.out = gx_host(got);
    if (steps[i].in_place)
        memcpy(got, a, BYTES);
    gx_status s = run_job(ctx, &job, device, r);
    assert_memory_equal(in, a, BYTES);
    assert_memory_equal(second, b[i], BYTES);
    return s;
}

static gx_status buffer_step(gx_ctx *ctx, const char *device, size_t i, const gx_job *like,
                             unsigned char *got, gx_report *r)
{
    gx_job job = *like;
    gx_buf *buf = NULL;
    gx_status s = gx_buf_create(ctx, device, 2 * BYTES, 0, &buf);
    if (s == GX_OK)
        s = gx_buf_write(buf, 0, a, BYTES);
    if (s == GX_OK) {
        job.a = gx_dev(buf, 0);
        job.out = gx_dev(buf, steps[i].in_place ? 0 : BYTES);
        s = run_job(ctx, &job, device, r);
    }
    if (s == GX_OK)
        s = gx_buf_read(buf, steps[i].in_place ? 0 : BYTES, got, out_bytes(i));
    gx_buf_destroy(&buf);
    return s;
}

static gx_status run_step(gx_ctx *ctx, const gx_domain *domain, const char *device, size_t i,
                          unsigned char *got)
{
    const struct step *s = &steps[i];
    gx_report r;
    gx_ntt_params ntt = {.struct_size = sizeof ntt,
                         .domain = domain,
                         .log2_n = s->t.log2_n,
                         .log2_pad = s->t.log2_pad,
                         .flags = s->t.flags};
    gx_poly_params poly = {.struct_size = sizeof poly, .count = s->p.count, .flags = s->p.flags};
    size_t n = s->op == GX_NTT ? oracle_ntt_out(&s->t) : s->p.n;
    gx_job job = gxt_job(s->op, field, n, a, b[i], NULL, got);
    job.params = s->op == GX_NTT ? (const void *)&ntt : &poly;
    return (s->resident && device ? buffer_step : host_step)(ctx, device, i, &job, got, &r);
}

static void expect_right(gx_ctx *ctx, const gx_domain *domain, const char *device, size_t i)
{
    unsigned char got[BYTES];
    gx_status s = run_step(ctx, domain, device, i, got);
    if (s != GX_OK || memcmp(got, want[i], out_bytes(i)) != 0)
        fail_msg("step %zu on %s: %s, %s", i, device ? device : "chosen", gx_status_name(s),
                 s == GX_OK ? "wrong result" : gx_last_message());
}

/* ---- allocations ---- */

static gx_status scenario(gx_ctx *ctx, const char *device)
{
    gx_domain_params desc = {.struct_size = sizeof desc, .field = field, .log2_size = LOG2};
    gx_domain *domain = NULL;
    gx_status s = gx_domain_create(ctx, &desc, &domain);
    for (size_t i = 0; i < STEPS && s == GX_OK; i++) {
        unsigned char got[BYTES];
        if (!steps[i].everywhere && strcmp(device, "cpu") != 0)
            continue;
        s = run_step(ctx, domain, device, i, got);
        if (s == GX_OK)
            assert_memory_equal(got, want[i], out_bytes(i));
    }
    gx_domain_destroy(&domain);
    return s;
}

/* Opening has tests of its own. */
static void open_device(gx_ctx *ctx, const char *device)
{
    uint32_t x[2] = {1, 2}, out[2];
    gx_job job = gxt_job(GX_ADD, GX_U32, 2, x, x, NULL, out);
    assert_int_equal(gxt_run(ctx, &job, device, NULL), GX_OK);
}

static void every_allocation_fails_in_turn(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        unsigned refused = 0;
        /* A GPU takes long to open, and most allocations are not its own. */
        unsigned step = !d ? 1 : gxt_small() ? 5 : 2;
        for (uint64_t k = 1, failed = 1; failed; k += step) {
            gxt_heap_start(&heap);
            gx_config config = {.allocator = gxt_heap_allocator(&heap)};
            gx_ctx *ctx = gxt_open(&config);
            open_device(ctx, devices[d]);
            gxt_heap_fail(&heap, k, 0);
            gx_status s = scenario(ctx, devices[d]);
            assert_true(s == GX_OK || s == GX_ERR_OUT_OF_MEMORY);
            failed = heap.failed;
            assert_true(failed || s == GX_OK);
            refused += s != GX_OK;
            gxt_heap_heal(&heap);
            assert_int_equal(scenario(ctx, devices[d]), GX_OK);
            gx_close(&ctx);
            gxt_heap_end(&heap);
            assert_true(k < K_MAX);
        }
        print_message("%s: %u allocations were missed\n", devices[d], refused);
        assert_true(refused > (gxt_small() ? 1 : 2));
    }
}

/* The second round allocates nothing on the host, nor on the device. */
static void steady_state_allocates_nothing(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        gxt_heap_start(&heap);
        gx_config config = {.allocator = gxt_heap_allocator(&heap)};
        gxt_watch(&config);
        gx_ctx *ctx = gxt_open(&config);
        gx_domain *domain = make_domain(ctx);
        uint64_t calls = 0;
        for (int round = 0; round < 4; round++) {
            for (size_t i = 0; i < STEPS; i++)
                if (!steps[i].resident) /* which make buffers */
                    expect_right(ctx, domain, devices[d], i);
            if (round == 1)
                calls = gxt_heap_calls(&heap);
        }
        assert_int_equal(gxt_heap_calls(&heap), calls);
        gx_domain_destroy(&domain);
        gx_close(&ctx);
        gxt_heap_end(&heap);
        assert_int_equal(gxt_complaints(), 0);
    }
}

/* ---- a named device ---- */

struct mode {
    const char *what;
    gx_status status;
    bool for_good;     /* it is lost, and is opened again, with nothing in its memory */
    unsigned least[2]; /* calls at which it shows, on the CPU and on a GPU; a lack of memory is
                          mostly overcome */
    unsigned gpu_step; /* from one call to the next on a GPU, where every attempt opens it; few
                          calls need memory */
};

/* All steps on a device that breaks at call number `at`. False if it never got there. */
static bool breaks(gx_ctx *ctx, const char *device, const struct mode *mode, bool few)
{
    gx_domain *domain = make_domain(ctx);
    unsigned failures = 0;
    for (size_t i = 0; i < STEPS; i++) {
        unsigned char got[BYTES];
        if (few && !steps[i].everywhere)
            continue;
        gx_status s = run_step(ctx, domain, device, i, got);
        if (s == GX_OK) {
            assert_memory_equal(got, want[i], out_bytes(i));
            continue;
        }
        assert_int_equal(s, mode->status);
        failures++;
        expect_right(ctx, domain, "cpu", i);
        if (!mode->for_good)
            expect_right(ctx, domain, device, i);
    }
    assert_true(failures <= 1 || mode->for_good);
    gx_domain_destroy(&domain);
    return failures;
}

static gx_ctx *open_watched(void)
{
    gxt_heap_start(&heap);
    gx_config config = {.allocator = gxt_heap_allocator(&heap)};
    gxt_watch(&config);
    return gxt_open(&config);
}

static void close_watched(gx_ctx *ctx)
{
    struct gx_statistics stats = {0};
    gx__stats(ctx, &stats);
    assert_int_equal(stats.validation_messages, 0);
    gx_close(&ctx);
    assert_int_equal(gxt_complaints(), 0);
    gxt_heap_end(&heap);
}

static unsigned sweep(const char *inner, const struct mode *mode)
{
    enum { ENOUGH = 12 }; /* quiet ones: some failures are overcome */
    bool slow = strcmp(inner, "cpu") != 0;
    unsigned at = 1, count = 0, quiet = 0;
    unsigned step = slow ? mode->gpu_step * (gxt_small() ? 2 : 1) : gxt_small() ? 5 : 1;
    while (quiet < ENOUGH) {
        gx_ctx *ctx = open_watched();
        for (unsigned i = 0; i < PER_CONTEXT && quiet < ENOUGH; i++, at += step) {
            char device[64];
            snprintf(device, sizeof device, "fault:%s@%u:%s", mode->what, at, inner);
            bool broke = breaks(ctx, device, mode, slow);
            count += broke;
            quiet = broke ? 0 : quiet + step;
        }
        close_watched(ctx);
        assert_true(at < AT_MAX);
    }
    return count;
}

static void every_call_breaks_in_turn(void **state)
{
    (void)state;
    static const struct mode modes[] = {{"fail", GX_ERR_DEVICE, false, {8, 4}, 4},
                                        {"oom", GX_ERR_OUT_OF_DEVICE_MEMORY, false, {0, 1}, 1},
                                        {"lose", GX_ERR_DEVICE_LOST, true, {8, 4}, 4},
                                        {"hang", GX_ERR_TIMEOUT, true, {2, 1}, 4}};
    for (size_t d = 0; d < device_count; d++)
        for (size_t m = 0; m < GXT_COUNT(modes); m++) {
            unsigned calls = sweep(devices[d], &modes[m]);
            print_message("%s on %s: at %u calls in turn\n", modes[m].what, devices[d], calls);
            assert_true(calls >= modes[m].least[d] / (gxt_small() ? 4 : 1));
        }
}

/* A lost device comes back without the tables that it had. */
static void tables_are_made_again(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = open_watched();
        gx_domain *domain = make_domain(ctx);
        unsigned lost = 0, rounds = d ? 8 : 20; /* a GPU takes long to open again */
        char device[64];
        snprintf(device, sizeof device, "fault:lose@40:%s", devices[d]);
        for (unsigned round = 0; round < rounds; round++) {
            unsigned char got[BYTES];
            gx_status s = run_step(ctx, domain, device, round % 2, got);
            assert_true(s == GX_OK || s == GX_ERR_DEVICE_LOST);
            lost += s != GX_OK;
            if (s == GX_OK)
                assert_memory_equal(got, want[round % 2], out_bytes(round % 2));
        }
        assert_true(lost >= 1 && lost < rounds - 1);
        gx_domain_destroy(&domain);
        close_watched(ctx);
    }
}

/* ---- devices that others stand in for ---- */

#define ONE "cpu"
#define TWO "fault:fail@999999999:cpu" /* "cpu" itself is believed */

/* The caller sees right results, whatever breaks. */
static unsigned taken_over(const char *what, unsigned at, uint64_t sample_every)
{
    char list[120];
    struct gx_statistics stats = {0};
    gxt_heap_start(&heap);
    gx_config config = {.device = list,
                        .policy = at % 2 ? GX_POLICY_THROUGHPUT : GX_POLICY_GPU,
                        .sample_every = sample_every,
                        .threads = 1,
                        .cache_dir = "none",
                        .allocator = gxt_heap_allocator(&heap)};
    snprintf(list, sizeof list, "fault:%s@%u:" ONE "," TWO, what, at);
    gx_ctx *ctx = gxt_open(&config);
    gx_domain *domain = make_domain(ctx);
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < STEPS; i++)
            expect_right(ctx, domain, NULL, i);
    gx__stats(ctx, &stats);
    if (strcmp(what, "corrupt") == 0)
        assert_int_equal(stats.mismatches > 0, stats.fallbacks > 0);
    gx_domain_destroy(&domain);
    gx_close(&ctx);
    gxt_heap_end(&heap);
    return stats.fallbacks > 0;
}

static void others_take_over(void **state)
{
    (void)state;
    static const char *const whats[] = {"fail", "oom", "lose", "hang", "corrupt"};
    for (size_t w = 0; w < GXT_COUNT(whats); w++) {
        unsigned fallbacks = 0;
        /* with little effort, until it is seen: where depends on who does what */
        for (unsigned at = 1; at < 200 && !(gxt_small() && fallbacks); at += gxt_small() ? 11 : 3)
            fallbacks += taken_over(whats[w], at, 1);
        print_message("%s: taken over %u times\n", whats[w], fallbacks);
        assert_true(fallbacks >= 1 || strcmp(whats[w], "oom") == 0); /* it waits for memory */
    }
}

static gx_ctx *open_liar(const char *inner, unsigned at)
{
    char list[120];
    gx_config config = {.device = list, .cache_dir = "none"};
    /* a list, in which there is no choice */
    snprintf(list, sizeof list, "fault:corrupt@%u:%s,fault:corrupt@%u:%s", at, inner, at, inner);
    return gxt_open(&config);
}

static bool close_caught(gx_ctx *ctx)
{
    struct gx_statistics stats = {0};
    gx__stats(ctx, &stats);
    gx_close(&ctx);
    return stats.mismatches > 0;
}

/* By default all small transforms of a new device are checked. What is wrong may be a result, or
 * the table of roots. */
static bool small_ones_are_caught(const char *inner, unsigned at)
{
    gx_ctx *ctx = open_liar(inner, at);
    gx_domain *domain = make_domain(ctx);
    for (int round = 0; round < 40; round++)
        expect_right(ctx, domain, NULL, round % 3); /* transforms */
    gx_domain_destroy(&domain);
    return close_caught(ctx);
}

/* Of large ones those of the first jobs, here in several passes. */
static bool a_large_one_is_caught(const char *inner, unsigned at)
{
    enum { LARGE = 17 };
    const size_t n = (size_t)1 << LARGE;
    gx_ctx *ctx = open_liar(inner, at);
    gx_domain *domain = NULL;
    gx_domain_params desc = {.struct_size = sizeof desc, .field = field, .log2_size = LARGE};
    gx_ntt_params params = {.struct_size = sizeof params, .log2_n = LARGE};
    uint64_t seed = at, *in = gxt_alloc(n * ELEMENT), *right = gxt_alloc(n * ELEMENT),
             *got = gxt_alloc(n * ELEMENT);
    assert_int_equal(gx_domain_create(ctx, &desc, &domain), GX_OK);
    params.domain = domain;
    gxt_fill(&seed, field, in, n);
    gx_job job = gxt_job(GX_NTT, field, n, in, NULL, NULL, right);
    job.params = &params;
    assert_int_equal(gxt_run(ctx, &job, "cpu", NULL), GX_OK);
    job.out = gx_host(got);
    for (int i = 0; i < LARGE_JOBS; i++) {
        assert_int_equal(gxt_run(ctx, &job, NULL, NULL), GX_OK);
        assert_memory_equal(got, right, n * ELEMENT);
    }
    gx_domain_destroy(&domain);
    free(in);
    free(right);
    free(got);
    return close_caught(ctx);
}

static void wrong_transforms_are_caught(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        unsigned caught = 0, tried = 0;
        const unsigned step = (d ? 4 : 1) * (gxt_small() ? 5 : 1);
        for (unsigned at = 1; at < 40; at += step, tried++)
            caught += small_ones_are_caught(devices[d], at);
        for (unsigned at = 1; at <= LARGE_JOBS; at += gxt_small() ? 2 : 1, tried++)
            caught += a_large_one_is_caught(devices[d], at);
        print_message("%s: caught %u of %u\n", devices[d], caught, tried);
        assert_int_equal(caught, tried);
    }
}

int main(int argc, char **argv)
{
    gxt_choose_gpu(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_fails_in_turn),
        cmocka_unit_test(steady_state_allocates_nothing),
        cmocka_unit_test(every_call_breaks_in_turn),
        cmocka_unit_test(tables_are_made_again),
        cmocka_unit_test(others_take_over),
        cmocka_unit_test(wrong_transforms_are_caught),
    };
    return cmocka_run_group_tests_name("ntt-recover", tests, prepare, NULL);
}
