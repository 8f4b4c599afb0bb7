/* SPDX-License-Identifier: Apache-2.0
 *
 * Points and multi-scalar multiplications when something breaks: each allocation fails in turn,
 * each call of the device fails, runs out of memory, loses the device or hangs, on the CPU and on a
 * GPU; tickets are cancelled. Each time the right status, inputs intact, nothing written beside the
 * results, nothing leaked, and the same points work on the device afterwards. Where another device
 * may take over: no error, right results, also when a device lies.
 *
 * usage: msm-recover [GPU]
 */
#include <stdbool.h>
#include <stdio.h>

#include "api/counters.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/known.h"

enum { TABLE = 20000 };
enum { POINTS = 24, BATCH_MAX = 2, GUARD = 0x5c, AT_MAX = 3000, K_MAX = 5000, PER_CONTEXT = 24 };
enum { IN = POINTS * BATCH_MAX * KNOWN_SCALAR, OUT = BATCH_MAX * ORACLE_FORM_BYTES, MARGIN = 32 };
enum { LARGE = 3000, BITS = 40 };

struct step {
    size_t batch;
    gx_scalar_form scalar_form;
    gx_point_form result_form;
    int resident;
};

static const struct step steps[] = {
    {1, GX_SCALAR_PLAIN, GX_POINT_XY_MONT, 0},
    {2, GX_SCALAR_MONT, GX_POINT_XY_PLAIN, 0},
    {1, GX_SCALAR_PLAIN, GX_POINT_JACOBIAN_MONT, 1},
    {2, GX_SCALAR_MONT, GX_POINT_XY_MONT, 1},
};
enum { STEPS = GXT_COUNT(steps) };

static const gx_curve curve = GX_BN254_G1; /* whose kernels a software GPU has soonest */
static const char *devices[2] = {"cpu"};
static size_t device_count = 1;
static struct known known;
static unsigned char scalars[2][IN], want[STEPS][OUT]; /* by gx_scalar_form */
static struct gxt_heap heap;

static size_t out_bytes(size_t i)
{
    return steps[i].batch * gx_point_bytes(curve, steps[i].result_form);
}

static int prepare(void **state)
{
    (void)state;
    struct oracle_rng rng = {9};
    gxt_clear_environment();
    gxt_enter_machines();
    devices[1] = gxt_gpu();
    device_count = devices[1] ? 2 : 1;
    gx_ctx *ctx = gxt_open(NULL);
    known_open(&known, curve, POINTS);
    for (size_t i = 1; i < POINTS; i++)
        known_set_random(&known, i, &rng);
    known_make(&known, ctx);
    gx_close(&ctx);
    gx_field field = oracle_scalar_field(curve);
    oracle_fill_random(field, &rng, scalars[GX_SCALAR_PLAIN], IN / KNOWN_SCALAR);
    oracle_run(GX_TO_MONT, field, IN / KNOWN_SCALAR, scalars[GX_SCALAR_MONT],
               scalars[GX_SCALAR_PLAIN], NULL, NULL, 0);
    for (size_t i = 0; i < STEPS; i++)
        for (size_t b = 0; b < steps[i].batch; b++) {
            unsigned char xy[ORACLE_POINT_BYTES];
            known_sum(&known, 0, POINTS, scalars[GX_SCALAR_PLAIN] + b * POINTS * KNOWN_SCALAR,
                      steps[i].scalar_form == GX_SCALAR_PLAIN ? BITS : 256, xy);
            oracle_point_encode(curve, steps[i].result_form,
                                want[i] + b * gx_point_bytes(curve, steps[i].result_form), xy);
        }
    return 0;
}

static int finish(void **state)
{
    (void)state;
    known_close(&known);
    return 0;
}

/* ---- one step ---- */

static gx_msm_params params_of(const gx_points *points, size_t i)
{
    return (gx_msm_params){.struct_size = sizeof(gx_msm_params),
                           .points = points,
                           .count = POINTS,
                           .scalar_form = steps[i].scalar_form,
                           .scalar_bits = steps[i].scalar_form == GX_SCALAR_PLAIN ? BITS : 0,
                           .result_form = steps[i].result_form};
}

static gx_status run_job(gx_ctx *ctx, const gx_job *job, const char *device)
{
    gx_report r = gxt_report();
    gx_status s = gxt_run(ctx, job, device, &r);
    assert_int_equal(r.status, s);
    if (s != GX_OK)
        assert_true(r.message[0]);
    return s;
}

/* In host memory; device NULL: chosen. got: the result. */
static gx_status host_step(gx_ctx *ctx, const gx_points *points, const char *device, size_t i,
                           unsigned char *got)
{
    unsigned char in[IN], out[OUT + 2 * MARGIN];
    gx_msm_params p = params_of(points, i);
    memcpy(in, scalars[steps[i].scalar_form], IN);
    memset(out, GUARD, sizeof out);
    gx_job job = known_job(curve, &p, steps[i].batch, in, out + MARGIN);
    gx_status s = run_job(ctx, &job, device);
    assert_memory_equal(in, scalars[steps[i].scalar_form], IN);
    for (size_t k = 0; k < MARGIN; k++) {
        assert_int_equal(out[k], GUARD);
        assert_int_equal(out[MARGIN + out_bytes(i) + k], GUARD);
    }
    memcpy(got, out + MARGIN, out_bytes(i));
    return s;
}

static gx_status buffer_step(gx_ctx *ctx, const gx_points *points, const char *device, size_t i,
                             unsigned char *got)
{
    gx_buf *buf = NULL;
    gx_msm_params p = params_of(points, i);
    gx_status s = gx_buf_create(ctx, device, IN + OUT, 0, &buf);
    if (s == GX_OK)
        s = gx_buf_write(buf, 0, scalars[steps[i].scalar_form], IN);
    if (s == GX_OK) {
        gx_job job = known_job(curve, &p, steps[i].batch, NULL, NULL);
        job.a = gx_dev(buf, 0);
        job.out = gx_dev(buf, IN);
        s = run_job(ctx, &job, device);
    }
    if (s == GX_OK)
        s = gx_buf_read(buf, IN, got, out_bytes(i));
    gx_buf_destroy(&buf);
    return s;
}

static gx_status run_step(gx_ctx *ctx, const gx_points *points, const char *device, size_t i,
                          unsigned char *got)
{
    bool resident = steps[i].resident && device;
    return (resident ? buffer_step : host_step)(ctx, points, device, i, got);
}

static void expect_right(gx_ctx *ctx, const gx_points *points, const char *device, size_t i)
{
    unsigned char got[OUT];
    gx_status s = run_step(ctx, points, device, i, got);
    if (s != GX_OK || memcmp(got, want[i], out_bytes(i)) != 0)
        fail_msg("step %zu on %s: %s, %s", i, device ? device : "chosen", gx_status_name(s),
                 s == GX_OK ? "wrong result" : gx_last_message());
}

/* ---- allocations ---- */

/* Points from host memory, or from a buffer, where every call may fail. */
static gx_status make_points(gx_ctx *ctx, const char *device, bool from_buffer, gx_points **points)
{
    gx_buf *buf = NULL;
    size_t bytes = POINTS * known.bytes;
    gx_points_params desc = {.struct_size = sizeof desc,
                             .curve = curve,
                             .form = GX_POINT_XY_MONT,
                             .points = known.points,
                             .count = POINTS,
                             .check = GX_CHECK_SUBGROUP,
                             .table_bytes = from_buffer ? 0 : TABLE};
    gx_status s = GX_OK;
    *points = NULL;
    if (from_buffer) {
        s = gx_buf_create(ctx, device, bytes, 0, &buf);
        if (s == GX_OK)
            s = gx_buf_write(buf, 0, known.points, bytes);
        desc.points = NULL;
        desc.buf = buf;
    }
    if (s == GX_OK) {
        uint64_t bad = 5;
        s = gx_points_create(ctx, &desc, points, &bad);
        assert_int_equal(bad, UINT64_MAX); /* no point is bad */
        assert_int_equal(*points == NULL, s != GX_OK);
    }
    gx_buf_destroy(&buf);
    return s;
}

static gx_status multiply(gx_ctx *ctx)
{
    unsigned char out[POINTS * ORACLE_POINT_BYTES];
    gx_status s = gxt_multiply(ctx, curve, NULL, known.t, POINTS, out);
    if (s == GX_OK)
        assert_memory_equal(out, known.points, POINTS * known.bytes);
    return s;
}

/* Steps, on a GPU few: every context takes long to open there. */
static size_t next_step(const char *device, size_t i)
{
    return i + (strcmp(device, "cpu") ? STEPS - 1 : 1);
}

static gx_status scenario(gx_ctx *ctx, const char *device)
{
    gx_points *points = NULL, *others = NULL;
    gx_status s = make_points(ctx, device, false, &points);
    for (size_t i = 0; i < STEPS && s == GX_OK; i = next_step(device, i)) {
        unsigned char got[OUT];
        s = run_step(ctx, points, device, i, got);
        if (s == GX_OK)
            assert_memory_equal(got, want[i], out_bytes(i));
    }
    if (s == GX_OK)
        s = make_points(ctx, device, true, &others);
    if (s == GX_OK)
        s = multiply(ctx);
    gx_points_destroy(&points);
    gx_points_destroy(&others);
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
        uint64_t step = !d ? 1 : gxt_small() ? 31 : 11;
        for (uint64_t k = 1, failed = 1; failed; k += step) {
            gxt_heap_start(&heap);
            gx_config config = {.allocator = gxt_heap_allocator(&heap)};
            gx_ctx *ctx = gxt_open(&config);
            open_device(ctx, devices[d]);
            gxt_heap_fail(&heap, k, 0);
            gx_status s = scenario(ctx, devices[d]);
            if (s != GX_OK && s != GX_ERR_OUT_OF_MEMORY)
                fail_msg("allocation %u on %s: %s: %s", (unsigned)k, devices[d], gx_status_name(s),
                         gx_last_message());
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
        assert_true(refused > (d ? 0 : 4));
    }
}

/* The second round allocates nothing on the host. */
static void steady_state_allocates_nothing(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        gxt_heap_start(&heap);
        gx_config config = {.allocator = gxt_heap_allocator(&heap)};
        gxt_watch(&config);
        gx_ctx *ctx = gxt_open(&config);
        gx_points *points = known_points(&known, ctx);
        uint64_t calls = 0;
        for (int round = 0; round < 4; round++) {
            for (size_t i = 0; i < STEPS; i++)
                if (!steps[i].resident) /* which make buffers */
                    expect_right(ctx, points, devices[d], i);
            if (round == 1)
                calls = gxt_heap_calls(&heap);
        }
        if (gxt_heap_calls(&heap) != calls)
            fail_msg("%s: %llu more allocations", devices[d],
                     (unsigned long long)(gxt_heap_calls(&heap) - calls));
        gx_points_destroy(&points);
        gx_close(&ctx);
        gxt_heap_end(&heap);
        assert_int_equal(gxt_complaints(), 0);
    }
}

/* ---- a named device ---- */

struct mode {
    const char *what;
    gx_status status;
    bool for_good; /* it is lost, and is opened again, with nothing in its memory */
    bool within;   /* only some of the calls show it: those at which others break are tried */
    unsigned gpu_step[2]; /* on a GPU, where each takes long, not every call; [1]: small effort */
    unsigned least[2]; /* calls at which it shows, on the CPU and on a GPU; there a lack of memory
                          is overcome */
};

/* Steps on a device that breaks at some call. False if it never got there, or it does not show. */
static bool breaks(gx_ctx *ctx, const char *inner, const struct mode *mode, unsigned at)
{
    char device[64];
    gx_points *points;
    unsigned failures = 0;
    if (strcmp(inner, "cpu") == 0) /* a table that cannot be made would not show */
        points = known_points(&known, ctx);
    else
        assert_int_equal(make_points(ctx, inner, false, &points), GX_OK);
    snprintf(device, sizeof device, "fault:%s@%u:%s", mode->what, at, inner);
    for (size_t i = 0; i < STEPS; i = next_step(inner, i)) {
        unsigned char got[OUT];
        gx_status s = run_step(ctx, points, device, i, got);
        if (s == GX_OK) {
            assert_memory_equal(got, want[i], out_bytes(i));
            continue;
        }
        if (s != mode->status)
            fail_msg("step %zu on %s: %s: %s", i, device, gx_status_name(s), gx_last_message());
        failures++;
        expect_right(ctx, points, "cpu", i);
        if (!mode->for_good)
            expect_right(ctx, points, device, i);
    }
    assert_true(failures <= 1 || mode->for_good);
    gx_points_destroy(&points);
    return failures;
}

static gx_ctx *open_watched(void)
{
    gxt_heap_start(&heap);
    gx_config config = {.allocator = gxt_heap_allocator(&heap)};
    if (!gxt_small()) /* the same commands: watched in one leg, because it takes long */
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

/* Breaks every step-th call up to `most`, or until a call shows nothing, which is then after the
 * last. Returns the number of those that show it. */
static unsigned sweep(const char *inner, const struct mode *mode, unsigned step, unsigned most)
{
    unsigned at = 1, count = 0;
    bool broke = true;
    while (most ? at <= most : broke) {
        gx_ctx *ctx = open_watched();
        for (unsigned i = 0; i < PER_CONTEXT && (most ? at <= most : broke); i++, at += step) {
            broke = breaks(ctx, inner, mode, at);
            count += broke;
        }
        close_watched(ctx);
        assert_true(at < AT_MAX);
    }
    return count;
}

static void every_call_breaks_in_turn(void **state)
{
    (void)state;
    static const struct mode modes[] = {
        {"hang", GX_ERR_TIMEOUT, true, false, {2, 4}, {4, 2}},
        {"lose", GX_ERR_DEVICE_LOST, true, false, {5, 13}, {16, 20}},
        {"fail", GX_ERR_DEVICE, false, true, {5, 13}, {8, 10}},
        {"oom", GX_ERR_OUT_OF_DEVICE_MEMORY, false, true, {9, 39}, {4, 0}},
    };
    for (size_t d = 0; d < device_count; d++)
        for (unsigned m = 0, calls = 0; m < GXT_COUNT(modes); m++) {
            unsigned step = d ? modes[m].gpu_step[gxt_small()] : 1;
            unsigned shown = sweep(devices[d], &modes[m], step, modes[m].within ? calls : 0);
            print_message("%s on %s: shown by %u calls\n", modes[m].what, devices[d], shown);
            assert_true(shown * step >= modes[m].least[d]);
            if (!modes[m].within)
                calls = shown * step;
        }
}

/* A lost device comes back without the points that it had. */
static void points_are_copied_again(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = open_watched();
        gx_points *points = known_points(&known, ctx);
        unsigned lost = 0, rounds = d ? 5 : 14;
        char device[64];
        snprintf(device, sizeof device, "fault:lose@40:%s", devices[d]);
        for (unsigned round = 0; round < rounds; round++) {
            unsigned char got[OUT];
            gx_status s = run_step(ctx, points, device, round % 2, got);
            assert_true(s == GX_OK || s == GX_ERR_DEVICE_LOST);
            lost += s != GX_OK;
            if (s == GX_OK)
                assert_memory_equal(got, want[round % 2], out_bytes(round % 2));
        }
        assert_true(lost >= 1 && lost < rounds - 1);
        gx_points_destroy(&points);
        close_watched(ctx);
    }
}

/* ---- tickets ---- */

/* Several jobs in each of several tickets, the later ones cancelled at once: what was done is
 * right, what was not is not written. */
static void cancel_on(const char *device, unsigned round)
{
    enum { TICKETS = 4, JOBS = 3 };
    static unsigned char out[TICKETS][JOBS][OUT];
    gx_ticket *tickets[TICKETS];
    gx_ctx *ctx = open_watched();
    gx_points *points = known_points(&known, ctx);
    gx_run_params opts = {.struct_size = sizeof opts, .device = device};
    memset(out, GUARD, sizeof out);
    for (size_t t = 0; t < TICKETS; t++) {
        gx_job jobs[JOBS];
        gx_msm_params p[JOBS];
        for (size_t j = 0; j < JOBS; j++) {
            p[j] = params_of(points, j % 2);
            jobs[j] = known_job(curve, &p[j], steps[j % 2].batch, scalars[steps[j % 2].scalar_form],
                                out[t][j]);
        }
        assert_int_equal(gx_submit(ctx, jobs, JOBS, &opts, &tickets[t]), GX_OK);
        if (t % 3 == round % 3)
            gx_cancel(tickets[t]);
    }
    if (round % 2)
        gx_cancel_all(ctx);
    for (size_t t = 0; t < TICKETS; t++) {
        gx_report r[JOBS];
        gxt_reports(r, JOBS);
        gx_status s = gx_wait(tickets[t], UINT64_MAX, r);
        assert_true(s == GX_OK || s == GX_ERR_CANCELLED);
        for (size_t j = 0; j < JOBS; j++) {
            assert_true(r[j].status == GX_OK ||
                        (s == GX_ERR_CANCELLED && r[j].status == GX_ERR_CANCELLED));
            if (r[j].status == GX_OK)
                assert_memory_equal(out[t][j], want[j % 2], out_bytes(j % 2));
            for (size_t k = r[j].status == GX_OK ? out_bytes(j % 2) : 0; k < OUT; k++)
                assert_int_equal(out[t][j][k], GUARD);
        }
        gx_ticket_destroy(&tickets[t]);
    }
    gx_points_destroy(&points);
    close_watched(ctx);
}

static void cancelled(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 4; round++) {
        for (size_t d = 0; d < device_count; d++)
            if (!d || round < (gxt_small() ? 1 : 2))
                cancel_on(devices[d], round);
        cancel_on(NULL, round);
    }
}

/* ---- devices that others stand in for ---- */

#define TWO "fault:fail@999999999:cpu" /* "cpu" itself is believed */

/* The caller sees right results, whatever breaks. */
static unsigned taken_over(const char *what, unsigned at, const char *inner)
{
    char list[120];
    struct gx_statistics stats = {0};
    gxt_heap_start(&heap);
    gx_config config = {.device = list,
                        .policy = at % 2 ? GX_POLICY_THROUGHPUT : GX_POLICY_GPU,
                        .sample_every = 1,
                        .threads = 1,
                        .cache_dir = "none",
                        .allocator = gxt_heap_allocator(&heap)};
    snprintf(list, sizeof list, "fault:%s@%u:%s," TWO, what, at, inner);
    gx_ctx *ctx = gxt_open(&config);
    gx_points *points = known_points(&known, ctx);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < STEPS; i++)
            expect_right(ctx, points, NULL, i);
    gx__stats(ctx, &stats);
    if (strcmp(what, "corrupt") == 0)
        assert_int_equal(stats.mismatches > 0, stats.fallbacks > 0);
    gx_points_destroy(&points);
    gx_close(&ctx);
    gxt_heap_end(&heap);
    return stats.fallbacks > 0;
}

/* The first jobs go to either device, to measure it: the calls tried here are made. */
static void others_take_over(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        unsigned most, gpu_at; /* 0: as on the CPU */
        bool always;           /* else some calls need no other device */
    } cases[] = {{"fail", 16, 15, false},
                 {"oom", 16, 0, false},
                 {"lose", 16, 22, true},
                 {"hang", 5, 0, true},
                 {"corrupt", 5, 1, true}};
    for (size_t c = 0; c < GXT_COUNT(cases); c++) {
        unsigned fallbacks = 0, tried = 0;
        for (unsigned at = 1; at <= cases[c].most; at += gxt_small() ? 5 : 3, tried++)
            fallbacks += taken_over(cases[c].what, at, "cpu");
        print_message("%s: taken over %u times of %u\n", cases[c].what, fallbacks, tried);
        assert_true(cases[c].always ? fallbacks == tried : fallbacks >= 1);
        if (device_count > 1 && cases[c].gpu_at)
            assert_true(taken_over(cases[c].what, cases[c].gpu_at, devices[1]));
    }
}

/* A device with a flipped bit in one result, and nothing asked of the library: found in time. */
static bool is_caught(const char *inner, unsigned at, const struct known *k, size_t jobs)
{
    char list[120];
    unsigned char xy[ORACLE_POINT_BYTES], got[ORACLE_POINT_BYTES];
    gx_config config = {.device = list, .cache_dir = "none"};
    struct gx_statistics stats = {0};
    struct oracle_rng rng = {at};
    unsigned char *random = gxt_alloc(k->count * KNOWN_SCALAR);
    /* a list, in which there is no choice */
    snprintf(list, sizeof list, "fault:corrupt@%u:%s,fault:corrupt@%u:%s", at, inner, at, inner);
    gx_ctx *ctx = gxt_open(&config);
    gx_points *points = known_points(k, ctx);
    known_random(&rng, random, k->count);
    known_sum(k, 0, k->count, random, 256, xy);
    gx_msm_params p = {.struct_size = sizeof p,
                       .points = points,
                       .count = k->count,
                       .result_form = GX_POINT_XY_MONT};
    gx_job job = known_job(k->curve, &p, 1, random, got);
    for (size_t i = 0; i < jobs && !stats.mismatches; i++) {
        assert_int_equal(gxt_run(ctx, &job, NULL, NULL), GX_OK);
        assert_memory_equal(got, xy, k->bytes);
        gx__stats(ctx, &stats);
    }
    gx_points_destroy(&points);
    gx_close(&ctx);
    free(random);
    return stats.mismatches > 0;
}

static void wrong_results_are_caught(void **state)
{
    (void)state;
    struct oracle_rng rng = {4};
    struct known large;
    gx_ctx *ctx = gxt_open(NULL);
    known_open(&large, GX_BLS12_381_G1, gxt_small() ? LARGE / 5 : LARGE);
    for (size_t i = 0; i < large.count; i++)
        known_set_random(&large, i, &rng);
    known_make(&large, ctx);
    gx_close(&ctx);
    for (size_t d = 0; d < device_count; d++) {
        unsigned caught = 0, tried = 0;
        for (unsigned at = 1; at < (d ? 2 : 20); at += 3, tried++)
            caught += is_caught(devices[d], at, &known, 40);
        for (unsigned at = 1; at <= (!d ? 3 : !gxt_small()); at++, tried++)
            caught += is_caught(devices[d], at, &large, 6);
        print_message("%s: caught %u of %u\n", devices[d], caught, tried);
        assert_int_equal(caught, tried);
    }
    known_close(&large);
}

int main(int argc, char **argv)
{
    gxt_choose_gpu(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_fails_in_turn),
        cmocka_unit_test(steady_state_allocates_nothing),
        cmocka_unit_test(every_call_breaks_in_turn),
        cmocka_unit_test(points_are_copied_again),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(others_take_over),
        cmocka_unit_test(wrong_results_are_caught),
    };
    return cmocka_run_group_tests_name("msm-recover", tests, prepare, finish);
}
