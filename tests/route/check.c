/* SPDX-License-Identifier: Apache-2.0
 *
 * sample_every 1 is certainty: on every route (named, chosen, shared out, submitted), in every
 * mode, in host memory and in buffers, one wrong bit at any submit of a device is an error of
 * the caller's, or is got over, and never a result. What the results should be, GMP says. What
 * holds where the caller has not asked for it is here too.
 */
#include <stdio.h>

#include "exec/buffer.h"
#include "api/counters.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/oracle.h"

enum { JOBS = 5, N = 200, BYTES = N * 32, AT_MAX = 400 };

static const gx_field field = GX_BN254_FR;
static const gx_op ops[JOBS] = {GX_MUL, GX_INV, GX_ADD, GX_MUL_ADD, GX_DIV};

static unsigned char a[BYTES], b[BYTES], c[BYTES], want[JOBS][BYTES], chained[BYTES];
static const char *inner[2] = {"cpu"};
static size_t inner_count = 1;

static int prepare(void **state)
{
    (void)state;
    struct oracle_rng rng = {9};
    gxt_clear_environment();
    oracle_fill(field, &rng, a, N);
    oracle_fill(field, &rng, b, N);
    oracle_fill(field, &rng, c, N);
    for (size_t i = 0; i < JOBS; i++)
        oracle_run(ops[i], field, N, want[i], a, b, c, 0);
    memcpy(chained, a, BYTES);
    for (size_t i = 0; i < JOBS; i++)
        oracle_run(ops[i], field, N, chained, chained, b, c, 0);
    if (gxt_gpu())
        inner[inner_count++] = gxt_gpu();
    return 0;
}

static gx_ctx *open_on(const char *device, gx_policy policy, uint64_t every, struct gxt_heap *heap)
{
    gx_config config = {
        .device = device, .policy = policy, .sample_every = every, .stream_chunk_elems = 128};
    if (heap)
        config.allocator = gxt_heap_allocator(heap);
    return gxt_open(&config);
}

static struct gx_statistics stats_of(gx_ctx *ctx)
{
    struct gx_statistics s = {0};
    gx__stats(ctx, &s);
    return s;
}

/* ---- ways to have jobs done ---- */

/* Of five jobs; what may differ between them. */
struct way {
    const char *name;
    gx_mode mode;
    int buffers;  /* operands and results are in buffers of the device */
    int in_place; /* each job replaces what the one before made */
    int ticket;
    int routed; /* the device is chosen, though there is no other */
};

static const struct way ways[] = {
    {"named", GX_MODE_AUTO, 0, 0, 0, 0},
    {"sequential", GX_MODE_SEQUENTIAL, 0, 0, 0, 0},
    {"single submit", GX_MODE_SINGLE_SUBMIT, 0, 0, 0, 0},
    {"pipelined", GX_MODE_PIPELINED, 0, 0, 0, 0},
    {"in place", GX_MODE_AUTO, 0, 1, 0, 0},
    {"in place, single submit", GX_MODE_SINGLE_SUBMIT, 0, 1, 0, 0},
    {"ticket", GX_MODE_AUTO, 0, 0, 1, 0},
    {"ticket in place", GX_MODE_AUTO, 0, 1, 1, 0},
    {"buffers", GX_MODE_AUTO, 1, 0, 0, 0},
    {"buffers in place", GX_MODE_AUTO, 1, 1, 0, 0},
    {"buffers, single submit", GX_MODE_SINGLE_SUBMIT, 1, 0, 0, 0},
    {"ticket of buffers", GX_MODE_AUTO, 1, 1, 1, 0},
    {"routed", GX_MODE_AUTO, 0, 0, 0, 1},
    {"routed in place", GX_MODE_AUTO, 0, 1, 0, 1},
    {"routed ticket", GX_MODE_AUTO, 0, 0, 1, 1},
    {"routed buffers", GX_MODE_AUTO, 1, 0, 0, 1},
    {"routed buffers in place", GX_MODE_AUTO, 1, 1, 0, 1},
    {"routed ticket of buffers", GX_MODE_AUTO, 1, 1, 1, 1},
};

static gx_policy policy_of(const struct way *way)
{
    return way->routed ? GX_POLICY_GPU : GX_POLICY_AUTO;
}

/* Where they are done. */
struct memory {
    unsigned char in[3][BYTES], out[JOBS][BYTES];
    gx_buf *buf[3 + JOBS];
};

static void fill(struct memory *m)
{
    memcpy(m->in[0], a, BYTES);
    memcpy(m->in[1], b, BYTES);
    memcpy(m->in[2], c, BYTES);
    memset(m->out, 0x5c, sizeof m->out);
}

static gx_status make_buffers(gx_ctx *ctx, const char *device, struct memory *m)
{
    gx_status s = GX_OK;
    for (size_t i = 0; i < GXT_COUNT(m->buf) && s == GX_OK; i++)
        s = gx_buf_create(ctx, device, BYTES, 0, &m->buf[i]);
    for (size_t i = 0; i < 3 && s == GX_OK; i++)
        s = gx_buf_write(m->buf[i], 0, m->in[i], BYTES);
    return s;
}

static gx_operand operand(const struct way *way, struct memory *m, size_t i)
{
    if (way->buffers)
        return gx_dev(m->buf[i], 0);
    return gx_host(i < 3 ? m->in[i] : m->out[i - 3]);
}

static void make_jobs(const struct way *way, struct memory *m, gx_job *jobs)
{
    for (size_t i = 0; i < JOBS; i++) {
        jobs[i] = gxt_job(ops[i], field, N, a, b, c, m->out);
        jobs[i].a = operand(way, m, 0);
        if (gx_op_get_info(ops[i])->operands > 1)
            jobs[i].b = operand(way, m, 1);
        if (gx_op_get_info(ops[i])->operands > 2)
            jobs[i].c = operand(way, m, 2);
        jobs[i].out = operand(way, m, way->in_place ? 0 : 3 + i);
    }
}

static gx_status run(gx_ctx *ctx, const struct way *way, const char *device, const gx_job *jobs,
                     gx_report *reports)
{
    gx_run_params opts = {.mode = way->mode, .device = way->routed ? NULL : device};
    gx_ticket *ticket;
    if (!way->ticket)
        return gx_run(ctx, jobs, JOBS, &opts, reports);
    gx_status s = gx_submit(ctx, jobs, JOBS, &opts, &ticket);
    if (s != GX_OK)
        return s;
    s = gx_wait(ticket, UINT64_MAX, reports);
    gx_ticket_destroy(&ticket);
    return s;
}

/* Jobs that say they are done have the right result. */
static void expect_right(const struct way *way, struct memory *m, const gx_report *reports)
{
    for (size_t i = 0; i < JOBS; i++) {
        if (reports[i].status != GX_OK || (way->in_place && i + 1 < JOBS))
            continue;
        size_t at = way->in_place ? 0 : 3 + i;
        unsigned char *got = way->in_place ? m->in[0] : m->out[i];
        if (way->buffers && gx_buf_read(m->buf[at], 0, got, BYTES) != GX_OK)
            continue; /* lost with the device, which says so */
        if (memcmp(got, way->in_place ? chained : want[i], BYTES))
            fail_msg("%s: job %zu is done and wrong", way->name, i);
    }
}

/* Returns what it came to. */
static gx_status go(gx_ctx *ctx, const struct way *way, const char *device, gx_report *reports)
{
    struct memory m = {0};
    gx_job jobs[JOBS];
    fill(&m);
    for (size_t i = 0; i < JOBS; i++)
        reports[i] = (gx_report){.struct_size = sizeof *reports, .status = GX_ERR_NOT_RUN};
    gx_status s = way->buffers ? make_buffers(ctx, device, &m) : GX_OK;
    if (s == GX_OK) {
        make_jobs(way, &m, jobs);
        s = run(ctx, way, device, jobs, reports);
        expect_right(way, &m, reports);
    }
    for (size_t i = 0; i < GXT_COUNT(m.buf); i++)
        gx_buf_destroy(&m.buf[i]);
    return s;
}

/* ---- every submit lies in turn ---- */

static gx_device_statistics device_of(gx_ctx *ctx, const char *name)
{
    gx_device_statistics all[8] = {{.struct_size = sizeof *all}};
    size_t count = GXT_COUNT(all);
    assert_int_equal(gx_device_stats(ctx, all, &count), GX_OK);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(all[i].device, name))
            return all[i];
    fail_msg("%s is not among the devices", name);
    return all[0];
}

static void expect_caught(gx_ctx *ctx, const char *device, gx_status s, const gx_report *reports)
{
    size_t failed = 0;
    assert_int_equal(device_of(ctx, device).health, GX_HEALTH_QUARANTINED);
    assert_int_equal(s, GX_ERR_DEVICE);
    while (reports[failed].status != GX_ERR_DEVICE)
        assert_true(++failed < JOBS);
    assert_non_null(strstr(reports[failed].message, "a wrong result at element"));
    assert_non_null(strstr(reports[failed].message, device));
}

static void sweep(const struct way *way, const char *on)
{
    unsigned caught = 0;
    for (unsigned at = 1;; at++) {
        char device[48];
        gx_report reports[JOBS] = {{.struct_size = sizeof *reports}};
        snprintf(device, sizeof device, "fault:corrupt@%u:%s", at, on);
        gx_ctx *ctx = open_on(device, policy_of(way), 1, NULL);
        gx_status s = go(ctx, way, device, reports);
        uint64_t lies = stats_of(ctx).mismatches;
        if (lies)
            expect_caught(ctx, device, s, reports);
        else
            assert_int_equal(s, GX_OK);
        gx_close(&ctx);
        caught += lies != 0;
        if (!lies) /* there are fewer submits than that */
            break;
        assert_true(at < AT_MAX);
    }
    if (!caught)
        fail_msg("%s on %s: nothing was caught", way->name, on);
}

static void every_lie_is_caught(void **state)
{
    (void)state;
    for (size_t d = 0; d < inner_count; d++)
        for (size_t i = 0; i < GXT_COUNT(ways); i += d && gxt_small() ? 2 : 1)
            sweep(&ways[i], inner[d]);
}

/* The copy of a result to its buffer is verified too. */
static struct gx_device_ops honest;
static struct gx_mem *lied_about;

static void unmap_and_lie(struct gx_device *device, struct gx_mem *mem)
{
    if (mem == lied_about)
        *(char *)mem->host ^= 1;
    honest.unmap(device, mem);
}

static void a_lie_of_a_copy_is_caught(void **state)
{
    (void)state;
    static const char device[] = "fault:fail@999999:cpu";
    const struct way *way = &ways[8];
    struct memory m = {0};
    gx_job jobs[JOBS];
    gx_report r = {.struct_size = sizeof r};
    gx_ctx *ctx = open_on(device, GX_POLICY_AUTO, 1, NULL);
    fill(&m);
    assert_true(way->buffers);
    assert_int_equal(make_buffers(ctx, device, &m), GX_OK);
    make_jobs(way, &m, jobs);
    /* The functions of a wrapper are its own, in memory that can be written. */
    struct gx_device_ops *ops = (struct gx_device_ops *)m.buf[3]->engine->device.ops;
    honest = *ops;
    lied_about = &m.buf[3]->mem;
    ops->unmap = unmap_and_lie;
    assert_int_equal(gx_run(ctx, jobs, 1, NULL, &r), GX_ERR_DEVICE);
    *ops = honest;
    assert_non_null(strstr(r.message, "a wrong result in a buffer"));
    assert_int_equal(device_of(ctx, device).health, GX_HEALTH_QUARANTINED);
    assert_int_equal(stats_of(ctx).jobs_failed, 1);
    for (size_t i = 0; i < GXT_COUNT(m.buf); i++)
        gx_buf_destroy(&m.buf[i]);
    gx_close(&ctx);
}

/* ---- a device that is right ---- */

static void all_is_compared(void **state)
{
    (void)state;
    for (size_t d = 0; d < inner_count; d++)
        for (size_t i = 0; i < GXT_COUNT(ways); i++) {
            char device[48];
            gx_report reports[JOBS] = {{.struct_size = sizeof *reports}};
            snprintf(device, sizeof device, "fault:fail@999999:%s", inner[d]);
            gx_ctx *ctx = open_on(device, policy_of(&ways[i]), 1, NULL);
            assert_int_equal(go(ctx, &ways[i], device, reports), GX_OK);
            for (size_t k = 0; k < JOBS; k++) {
                assert_int_equal(reports[k].sampled, N);
                assert_int_equal(reports[k].reason == GX_REASON_ASKED, !ways[i].routed);
                assert_string_equal(reports[k].device, device);
            }
            struct gx_statistics s = stats_of(ctx);
            assert_int_equal(s.sampled, JOBS * N);
            assert_int_equal(s.jobs_done, JOBS);
            assert_int_equal(s.jobs_failed, 0);
            assert_int_equal(s.mismatches, 0);
            assert_int_equal(device_of(ctx, device).jobs, JOBS);
            gx_close(&ctx);
        }
}

/* One in so many, from call to call. */
static void some_are_compared(void **state)
{
    (void)state;
    enum { CALLS = 400 };
    gx_ctx *ctx = open_on("fault:fail@999999:cpu", GX_POLICY_AUTO, 50, NULL);
    for (int i = 0; i < CALLS; i++) {
        gx_report reports[JOBS] = {{.struct_size = sizeof *reports}};
        assert_int_equal(go(ctx, &ways[0], "fault:fail@999999:cpu", reports), GX_OK);
    }
    uint64_t sampled = stats_of(ctx).sampled, mean = (uint64_t)CALLS * JOBS * N / 50;
    assert_true(sampled > mean - mean / 10 && sampled < mean + mean / 10);
    gx_close(&ctx);
}

/* Where it is left to us, devices that are named are not looked at. */
static void not_unless_asked(void **state)
{
    (void)state;
    unsigned char out[BYTES];
    gx_report r = {.struct_size = sizeof r};
    gx_job job = gxt_job(GX_MUL, field, N, a, b, NULL, out);
    gx_ctx *ctx = open_on("fault:corrupt@1:cpu", GX_POLICY_AUTO, 0, NULL);
    assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_OK);
    assert_int_equal(r.sampled, 0);
    assert_memory_not_equal(out, want[0], BYTES);
    gx_close(&ctx);
}

/* ---- what is refused ---- */

/* A bad element is found where it is, in place and not, and operands stay as they were. */
static void refusals_are_as_ever(void **state)
{
    (void)state;
    enum { BAD = 77 };
    for (size_t d = 0; d < inner_count; d++)
        for (int in_place = 0; in_place < 2; in_place++) {
            unsigned char in[BYTES], before[BYTES], out[2][BYTES];
            char device[48];
            gx_report r[3] = {{.struct_size = sizeof *r}};
            snprintf(device, sizeof device, "fault:fail@999999:%s", inner[d]);
            gx_ctx *ctx = open_on(device, GX_POLICY_AUTO, 1, NULL);
            memcpy(in, b, BYTES);
            gxt_put_modulus(field, in + (size_t)BAD * 32);
            memcpy(before, in, BYTES);
            memset(out, 0x5c, sizeof out);
            gx_job jobs[] = {gxt_job(GX_MUL, field, N, a, b, NULL, out[0]),
                             gxt_job(GX_MUL, field, N, a, in, NULL, in_place ? in : out[1]),
                             gxt_job(GX_MUL, field, N, a, in, NULL, out[1])};
            assert_int_equal(gx_run(ctx, jobs, 3, NULL, r), GX_ERR_NOT_CANONICAL);
            assert_int_equal(r[0].status, GX_OK);
            assert_memory_equal(out[0], want[0], BYTES);
            assert_int_equal(r[1].status, GX_ERR_NOT_CANONICAL);
            assert_int_equal(r[1].bad_index, BAD);
            assert_int_equal(r[1].bad_operand, 'b');
            assert_memory_equal(in, before, BYTES);
            assert_int_equal(r[2].status, GX_ERR_NOT_RUN);
            assert_int_equal(stats_of(ctx).mismatches, 0);
            assert_int_equal(stats_of(ctx).jobs_failed, 2);
            jobs[1].flags = GX_JOB_UNCHECKED; /* its result means nothing, which is no lie */
            assert_int_equal(gx_run(ctx, &jobs[1], 1, NULL, r), GX_OK);
            assert_int_equal(stats_of(ctx).mismatches, 0);
            gx_close(&ctx);
        }
}

/* ---- memory ---- */

static void every_allocation(void **state)
{
    (void)state;
    static const char device[] = "fault:fail@999999:cpu";
    for (size_t i = 0; i < GXT_COUNT(ways) && !ways[i].routed; i++)
        for (uint64_t k = 1, failed = 1; failed; k++) {
            struct gxt_heap heap;
            gx_report reports[JOBS] = {{.struct_size = sizeof *reports}};
            gxt_heap_start(&heap);
            gx_ctx *ctx = open_on(device, GX_POLICY_AUTO, 1, &heap);
            gxt_heap_fail(&heap, k, 0);
            gx_status s = go(ctx, &ways[i], device, reports);
            failed = heap.failed;
            assert_true(s == GX_OK || (failed && s == GX_ERR_OUT_OF_MEMORY));
            gxt_heap_heal(&heap);
            assert_int_equal(go(ctx, &ways[i], device, reports), GX_OK);
            gx_close(&ctx);
            gxt_heap_end(&heap);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_lie_is_caught), cmocka_unit_test(a_lie_of_a_copy_is_caught),
        cmocka_unit_test(all_is_compared),     cmocka_unit_test(some_are_compared),
        cmocka_unit_test(not_unless_asked),    cmocka_unit_test(refusals_are_as_ever),
        cmocka_unit_test(every_allocation),
    };
    gxt_choose_gpu(argc, argv);
    return cmocka_run_group_tests_name("check", tests, prepare, NULL);
}
