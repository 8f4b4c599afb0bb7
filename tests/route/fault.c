/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices that fail, run out of memory, are lost, hang or lie, at every call in turn, while
 * the router may choose others: the caller sees right results and a report, no error;
 * nothing is lost in place, nothing leaks, the device rests or is quarantined and comes back
 * only after its self-test. And where nobody is left, the error says what was not written.
 */
#include <pthread.h>
#include <stdio.h>

#include "route/health.h"
#include "api/counters.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/oracle.h"

enum { N = 2048, ELEMENT = 32, BYTES = N * ELEMENT, AT_MAX = 2000, THREADS = 8, GUARD = 0x5c };
/* A sweep ends after so many calls in a row whose failure changes nothing: that of a wait for what
 * is there already is not noticed. */
#define UNSEEN_MAX 8u

static const gx_field field = GX_BN254_FR;

/* So slow that 2048 products are worth sharing. */
#define ONE   "sim:gpu-of-three-slow#1"
#define TWO   "sim:gpu-of-three-slow#2"
#define THREE "sim:gpu-of-three-slow#3"

struct step {
    gx_op op;
    int in_place; /* the operand that is the output, or -1 */
    uint32_t flags;
};

/* Operations whose reference is quick: every element may be compared. */
static const struct step steps[] = {{GX_MUL, -1, 0},
                                    {GX_MUL, 0, 0},
                                    {GX_SQR, 0, GX_JOB_UNCHECKED},
                                    {GX_MUL_ADD, 2, 0},
                                    {GX_ADD, 1, 0}};
enum { STEPS = GXT_COUNT(steps), ROUNDS = 6 };

static unsigned char in[3][BYTES], want[STEPS][BYTES], want_chain[BYTES];
static struct gxt_heap heap;

static int set_up(void **state)
{
    (void)state;
    struct oracle_rng rng = {17};
    gxt_clear_environment();
    gxt_enter_machines();
    for (int w = 0; w < 3; w++)
        oracle_fill(field, &rng, in[w], N);
    for (size_t i = 0; i < STEPS; i++)
        oracle_run(steps[i].op, field, N, want[i], in[0], in[1], in[2], 0);
    oracle_run(GX_MUL, field, N, want_chain, in[0], in[1], NULL, 0);
    oracle_run(GX_SQR, field, N, want_chain, want_chain, NULL, NULL, 0);
    oracle_run(GX_ADD, field, N, want_chain, want_chain, in[2], NULL, 0);
    return 0;
}

/* ---- contexts ---- */

static gx_ctx *open_counted(const char *devices, gx_policy policy, uint64_t sample_every)
{
    gxt_heap_start(&heap);
    gx_config config = {.device = devices,
                        .policy = policy,
                        .sample_every = sample_every,
                        .threads = 1,
                        .cache_dir = "none",
                        .allocator = gxt_heap_allocator(&heap)};
    return gxt_open(&config);
}

static void close_counted(gx_ctx *ctx)
{
    gx_close(&ctx);
    gxt_heap_end(&heap);
}

static gx_device_statistics device_stats(gx_ctx *ctx, const char *device)
{
    gx_device_statistics all[GX_CANDIDATES_MAX + 1] = {{.struct_size = sizeof *all}};
    size_t count = GXT_COUNT(all);
    assert_int_equal(gx_device_stats(ctx, all, &count), GX_OK);
    for (size_t i = 0; i < count && i < GXT_COUNT(all); i++)
        if (!strcmp(all[i].device, device))
            return all[i];
    fail_msg("%s is not among the %zu devices of gx_device_stats", device, count);
    return all[0];
}

static struct gx_statistics stats_of(gx_ctx *ctx)
{
    struct gx_statistics s = {0};
    gx__stats(ctx, &s);
    return s;
}

/* What is waited for, without waiting. */
static void let_pass(uint64_t ns)
{
    gx__health_skip_ns += ns;
}

/* ---- calls ---- */

struct room {
    unsigned char in[3][BYTES], out[BYTES];
};

/* What a call came to, beside a right result. */
struct seen {
    unsigned fallbacks, splits;
};

static void note(const gx_report *r, size_t n, struct seen *seen)
{
    uint64_t elements = 0;
    int blamed = 0;
    for (size_t i = 0; i < r->candidates; i++) {
        elements += r->candidate[i].elements;
        blamed |= r->candidate[i].status != GX_OK;
    }
    if (r->candidates)
        assert_int_equal(elements, n);
    if (r->reason == GX_REASON_FALLBACK) {
        assert_true(blamed);
        assert_true(r->message[0]);
    } else {
        assert_false(blamed);
        assert_string_equal(r->message, "");
    }
    seen->fallbacks += r->reason == GX_REASON_FALLBACK;
    seen->splits += r->reason == GX_REASON_SPLIT;
}

static void run_step(gx_ctx *ctx, size_t i, struct room *room, struct seen *seen)
{
    const struct step *s = &steps[i];
    gx_report r = gxt_report();
    memcpy(room->in, in, sizeof in);
    memset(room->out, GUARD, BYTES);
    unsigned char *out = s->in_place < 0 ? room->out : room->in[s->in_place];
    gx_job job = gxt_job(s->op, field, N, room->in[0], room->in[1], room->in[2], out);
    job.flags = s->flags;
    gx_status status = gxt_run(ctx, &job, NULL, &r);
    if (status != GX_OK)
        fail_msg("%s: %s", gx_status_name(status), r.message);
    assert_memory_equal(out, want[i], BYTES);
    for (int w = 0; w < 3; w++)
        if (w != s->in_place)
            assert_memory_equal(room->in[w], in[w], BYTES);
    note(&r, N, seen);
}

/* Three jobs in one call, each on what the one before wrote. */
static void run_chain(gx_ctx *ctx, struct room *room, struct seen *seen)
{
    gx_report r[3];
    gxt_reports(r, 3);
    memcpy(room->in, in, sizeof in);
    memset(room->out, GUARD, BYTES);
    gx_job jobs[3] = {gxt_job(GX_MUL, field, N, room->in[0], room->in[1], NULL, room->out),
                      gxt_job(GX_SQR, field, N, room->out, NULL, NULL, room->out),
                      gxt_job(GX_ADD, field, N, room->out, room->in[2], NULL, room->in[2])};
    assert_int_equal(gx_run(ctx, jobs, 3, NULL, r), GX_OK);
    assert_memory_equal(room->in[2], want_chain, BYTES);
    for (size_t i = 0; i < 3; i++)
        note(&r[i], N, seen);
}

static struct seen run_all(gx_ctx *ctx, unsigned rounds)
{
    static struct room room;
    struct seen seen = {0};
    for (unsigned round = 0; round < rounds; round++) {
        for (size_t i = 0; i < STEPS; i++)
            run_step(ctx, i, &room, &seen);
        run_chain(ctx, &room, &seen);
    }
    return seen;
}

/* ---- at every call in turn ---- */

/* Every call early on, where opening and the first of everything are; fewer of those that are
 * the same again. */
static unsigned next(unsigned at)
{
    unsigned all = gxt_small() ? 20 : 50;
    return at < all ? at + 1 : at + at / (gxt_small() ? 3 : 10);
}

static void check_health(gx_ctx *ctx, const char *device, const char *what, struct seen seen)
{
    gx_device_statistics d = device_stats(ctx, device);
    int lies = !strcmp(what, "corrupt");
    if (!seen.fallbacks) {
        assert_int_equal(d.mismatches, 0);
        return;
    }
    assert_true(stats_of(ctx).fallbacks >= 1);
    assert_true(lies ? d.mismatches >= 1 : d.failures >= 1);
    assert_int_equal(stats_of(ctx).mismatches >= 1, lies);
    if (lies)
        assert_int_equal(d.health, GX_HEALTH_QUARANTINED);
    if (d.health == GX_HEALTH_RESTING)
        assert_true(d.retry_ns <= 60000000000u);
    if (d.health == GX_HEALTH_QUARANTINED)
        assert_true(lies && d.retry_ns > 1000000000u && d.retry_ns <= 60000000000u);
}

/* One element in how many is compared: all, where one is wrong. */
static uint64_t looked_at(const char *what)
{
    return strcmp(what, "corrupt") ? 0 : 1;
}

/* devices: a list in which %s is the name of the device that breaks. */
static void sweep(const char *what, const char *devices, const char *inner, gx_policy policy)
{
    unsigned failed = 0, splits = 0, unseen = 0;
    for (unsigned at = 1; at < AT_MAX && unseen < UNSEEN_MAX; at = next(at)) {
        char device[48], list[200];
        snprintf(device, sizeof device, "fault:%s@%u:%s", what, at, inner);
        snprintf(list, sizeof list, devices, device);
        gx_ctx *ctx = open_counted(list, policy, looked_at(what));
        struct seen seen = run_all(ctx, ROUNDS);
        check_health(ctx, device, what, seen);
        uint64_t failures = device_stats(ctx, device).failures;
        uint64_t mismatches = device_stats(ctx, device).mismatches;
        close_counted(ctx);
        splits += seen.splits > 0;
        failed += seen.fallbacks > 0;
        unseen = seen.fallbacks || failures || mismatches ? 0 : unseen + 1;
        if (!strcmp(what, "oom"))
            unseen = 0;
        if (at > 300 && !strcmp(what, "oom")) /* the engine finds memory elsewhere by itself */
            break;
    }
    print_message("%s, %s: %u ended with a fallback, %u with a split\n", what,
                  gx_policy_name(policy), failed, splits);
    if (strcmp(what, "oom") != 0)
        assert_true(failed >= 10);
    assert_true(splits > 0); /* or it was not tested */
}

static const char *const whats[] = {"fail", "oom", "lose", "hang", "corrupt"};

static void every_call_of_shares(void **state)
{
    (void)state;
    for (size_t i = 0; i < GXT_COUNT(whats); i++)
        sweep(whats[i], TWO ",%s", ONE, GX_POLICY_THROUGHPUT);
}

static void every_call_with_a_third_device(void **state)
{
    (void)state;
    for (size_t i = 0; i < GXT_COUNT(whats); i += gxt_small() ? 4 : 1)
        sweep(whats[i], "%s," TWO ",cpu," THREE, ONE, GX_POLICY_GPU);
}

/* ---- small calls ---- */

static void small_calls(void **state)
{
    (void)state;
    for (size_t w = 0; w < GXT_COUNT(whats); w++) {
        for (unsigned at = 1; at < 40; at++) {
            char list[120];
            snprintf(list, sizeof list, "fault:%s@%u:%s,%s", whats[w], at, ONE, TWO);
            gx_ctx *ctx = open_counted(list, GX_POLICY_GPU, looked_at(whats[w]));
            for (size_t n = 1; n < 70; n += 17) {
                unsigned char a[70 * ELEMENT];
                memcpy(a, in[0], n * ELEMENT);
                gx_job job = gxt_job(GX_MUL, field, n, a, in[1], NULL, a);
                assert_int_equal(gxt_run(ctx, &job, NULL, NULL), GX_OK);
                assert_memory_equal(a, want[0], n * ELEMENT);
            }
            close_counted(ctx);
        }
    }
}

/* Calibration meets the failure. */
static void calibrating(void **state)
{
    (void)state;
    static const unsigned ats[] = {1, 2, 9, 40, 150};
    const gx_op ops[] = {GX_ADD, GX_MUL};
    for (size_t w = 0; w < GXT_COUNT(whats); w++) {
        for (size_t i = 0; i < GXT_COUNT(ats); i++) {
            char list[120];
            gx_calibrate_params settings = {
                .ops = ops, .op_count = 2, .fields = &field, .field_count = 1, .max_elems = 1024};
            snprintf(list, sizeof list, "fault:%s@%u:%s,%s", whats[w], ats[i], ONE, TWO);
            gx_ctx *ctx = open_counted(list, GX_POLICY_AUTO, looked_at(whats[w]));
            gx_calibrate(ctx, &settings);
            run_all(ctx, 1);
            assert_int_equal(device_stats(ctx, TWO).failures, 0);
            close_counted(ctx);
        }
    }
}

/* ---- many threads ---- */

struct worker {
    gx_ctx *ctx;
    unsigned rounds, seed, right;
    struct room room;
};

static int right_result(const struct worker *w, size_t i)
{
    int in_place = steps[i].in_place;
    return !memcmp(in_place < 0 ? w->room.out : w->room.in[in_place], want[i], BYTES);
}

static gx_status call_or_submit(gx_ctx *ctx, const gx_job *job, int submit)
{
    gx_ticket *ticket;
    if (!submit)
        return gx_run(ctx, job, 1, NULL, NULL);
    gx_status s = gx_submit(ctx, job, 1, NULL, &ticket);
    if (s != GX_OK)
        return s;
    s = gx_wait(ticket, UINT64_MAX, NULL);
    gx_ticket_destroy(&ticket);
    return s;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    for (unsigned i = 0; i < w->rounds; i++) {
        const size_t which = (w->seed + i) % STEPS;
        const struct step *s = &steps[which];
        struct room *room = &w->room;
        memcpy(room->in, in, sizeof in);
        memset(room->out, GUARD, BYTES);
        gx_job job = gxt_job(s->op, field, N, room->in[0], room->in[1], room->in[2],
                             s->in_place < 0 ? room->out : room->in[s->in_place]);
        job.flags = s->flags;
        w->right += call_or_submit(w->ctx, &job, (w->seed + i / STEPS) % 2) == GX_OK &&
                    right_result(w, which);
    }
    return NULL;
}

static void run_threads(gx_ctx *ctx, unsigned rounds)
{
    static struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.ctx = ctx, .rounds = rounds, .seed = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(workers[i].right, rounds);
}

static void eight_threads(void **state)
{
    (void)state;
    static const unsigned ats[] = {3, 17, 60, 200, 333};
    const unsigned rounds = gxt_small() ? 10 : 20;
    for (size_t w = 0; w < GXT_COUNT(whats); w++) {
        for (size_t i = 0; i < GXT_COUNT(ats); i++) {
            char list[200];
            const char *other = whats[(w + 1 + i) % GXT_COUNT(whats)];
            snprintf(list, sizeof list, "fault:%s@%u:%s,fault:%s@%u:%s,%s%s", whats[w], ats[i], ONE,
                     other, 2 * ats[i], TWO, THREE, i % 2 ? ",cpu" : "");
            gx_ctx *ctx = open_counted(list, i % 2 ? GX_POLICY_THROUGHPUT : GX_POLICY_GPU, 1);
            run_threads(ctx, rounds);
            assert_int_equal(stats_of(ctx).jobs_waiting, 0);
            struct gx_statistics s = stats_of(ctx);
            assert_int_equal(s.jobs_done, (uint64_t)THREADS * rounds);
            assert_int_equal(s.jobs_failed, 0);
            assert_int_equal(s.tickets_done, s.tickets_submitted);
            close_counted(ctx);
        }
    }
}

/* ---- resting, quarantine, coming back ---- */

/* Runs until the device has failed; returns how many calls that took. */
static void run_until_failure(gx_ctx *ctx, const char *device)
{
    static struct room room;
    struct seen seen = {0};
    for (int i = 0; i < 400; i++) {
        run_step(ctx, 0, &room, &seen);
        if (seen.fallbacks) {
            assert_true(device_stats(ctx, device).failures + device_stats(ctx, device).mismatches);
            return;
        }
    }
    fail_msg("%s never failed", device);
}

static uint64_t elements_of(gx_ctx *ctx, const char *device)
{
    return device_stats(ctx, device).elements;
}

static void it_rests_and_comes_back(void **state)
{
    (void)state;
    /* not the last call of a job: the wait for results that are there, which may fail */
    static const char device[] = "fault:fail@401:" ONE;
    struct room room;
    struct seen seen = {0};
    gx_ctx *ctx = open_counted("fault:fail@401:" ONE "," TWO, GX_POLICY_THROUGHPUT, 0);
    run_until_failure(ctx, device);
    gx_device_statistics d = device_stats(ctx, device);
    assert_int_equal(d.health, GX_HEALTH_RESTING);
    assert_int_equal(d.failures, 1);
    assert_int_equal(d.mismatches, 0);
    assert_true(d.retry_ns > 0 && d.retry_ns <= 100000000);
    uint64_t before = elements_of(ctx, device);
    run_step(ctx, 0, &room, &seen); /* in far less than 100 ms */
    if (device_stats(ctx, device).health == GX_HEALTH_RESTING)
        assert_int_equal(elements_of(ctx, device), before);
    let_pass(d.retry_ns);
    for (int i = 0; i < 4; i++)
        run_step(ctx, i, &room, &seen);
    d = device_stats(ctx, device);
    assert_int_equal(d.health, GX_HEALTH_GOOD);
    assert_int_equal(d.readmissions, 1);
    assert_int_equal(d.failures, 1);
    assert_int_equal(d.retry_ns, 0);
    for (int i = 0; i < 4; i++)
        run_step(ctx, 0, &room, &seen);
    assert_true(elements_of(ctx, device) > before); /* and works again */
    assert_int_equal(seen.fallbacks, 0);
    close_counted(ctx);
}

/* The self-test does not pass either: twice the time, and so on. */
static void it_does_not_come_back_broken(void **state)
{
    (void)state;
    static const char device[] = "fault:lose@20:" ONE;
    struct room room;
    struct seen seen = {0};
    gx_ctx *ctx = open_counted("fault:lose@20:" ONE "," TWO, GX_POLICY_THROUGHPUT, 0);
    run_until_failure(ctx, device);
    uint64_t elements = elements_of(ctx, device);
    for (unsigned again = 1; again <= 3; again++) {
        gx_device_statistics d = device_stats(ctx, device);
        assert_int_equal(d.health, GX_HEALTH_RESTING);
        assert_int_equal(d.readmissions, 0);
        assert_int_equal(d.failures, again);
        assert_true(d.retry_ns <= 50000000u << again);
        assert_true(d.retry_ns > 25000000u << again); /* a call takes less than the rest */
        let_pass(d.retry_ns);
        run_step(ctx, 0, &room, &seen);
    }
    assert_int_equal(elements_of(ctx, device), elements);
    assert_int_equal(seen.fallbacks, 0);            /* it had no share to lose */
    assert_int_equal(stats_of(ctx).jobs_failed, 0); /* self-tests are no jobs of the caller's */
    close_counted(ctx);
}

static void a_liar_is_quarantined(void **state)
{
    (void)state;
    static const char device[] = "fault:corrupt@5:" ONE;
    gx_ctx *ctx = open_counted("fault:corrupt@5:" ONE "," TWO, GX_POLICY_THROUGHPUT, 1);
    run_until_failure(ctx, device);
    gx_device_statistics d = device_stats(ctx, device);
    assert_int_equal(d.health, GX_HEALTH_QUARANTINED);
    assert_int_equal(d.mismatches, 1);
    assert_true(d.retry_ns > 50000000000u && d.retry_ns <= 60000000000u);
    struct gx_statistics s = stats_of(ctx);
    assert_int_equal(s.mismatches, 1);
    assert_true(s.sampled >= N);
    uint64_t elements = elements_of(ctx, device);
    struct seen seen = run_all(ctx, 2);
    assert_int_equal(seen.fallbacks, 0);
    assert_int_equal(elements_of(ctx, device), elements);
    let_pass(d.retry_ns); /* it lies in its self-test too, which has more than 5 results */
    run_all(ctx, 1);
    d = device_stats(ctx, device);
    assert_int_equal(d.health, GX_HEALTH_QUARANTINED);
    assert_int_equal(d.readmissions, 0);
    assert_true(d.retry_ns > 60000000000u && d.retry_ns <= 120000000000u);
    close_counted(ctx);
}

/* One that lied once, and passes its self-test, is given another chance, much later. */
static void a_liar_comes_back(void **state)
{
    (void)state;
    static const char device[] = "fault:corrupt@60:" ONE;
    gx_ctx *ctx = open_counted("fault:corrupt@60:" ONE "," TWO, GX_POLICY_THROUGHPUT, 1);
    run_until_failure(ctx, device);
    let_pass(59000000000);
    uint64_t elements = elements_of(ctx, device);
    run_all(ctx, 1);
    assert_int_equal(device_stats(ctx, device).health, GX_HEALTH_QUARANTINED);
    assert_int_equal(elements_of(ctx, device), elements);
    let_pass(1000000000);
    run_all(ctx, 1);
    gx_device_statistics d = device_stats(ctx, device);
    assert_int_equal(d.health, GX_HEALTH_GOOD);
    assert_int_equal(d.readmissions, 1);
    assert_int_equal(d.mismatches, 1);
    assert_true(d.elements > elements);
    close_counted(ctx);
}

/* The tenth result of its self-test is a sum of points, if the context has points. */
static void a_liar_about_sums_does_not_come_back(void **state)
{
    (void)state;
    static const char device[] = "fault:corrupt@10:" ONE;
    for (unsigned made = 0; made < 2; made++) {
        gx_ctx *ctx = open_counted("fault:corrupt@10:" ONE "," TWO, GX_POLICY_THROUGHPUT, 1);
        const gx_points_params desc = {
            .struct_size = sizeof desc, .curve = GX_BN254_G1, .form = GX_POINT_XY_MONT, .count = 0};
        gx_points *points = NULL;
        if (made)
            assert_int_equal(gx_points_create(ctx, &desc, &points, NULL), GX_OK);
        run_until_failure(ctx, device);
        assert_int_equal(device_stats(ctx, device).mismatches, 1);
        let_pass(device_stats(ctx, device).retry_ns);
        run_all(ctx, 1);
        assert_int_equal(device_stats(ctx, device).readmissions, !made);
        gx_points_destroy(&points);
        close_counted(ctx);
    }
}

/* Few elements are looked at, but some of every job while the device is not trusted yet. */
static void samples_are_taken(void **state)
{
    (void)state;
    struct room room;
    gx_report r = gxt_report();
    gx_ctx *ctx = open_counted(ONE "," TWO, GX_POLICY_AUTO, 0);
    memcpy(room.in, in, sizeof in);
    gx_job job = gxt_job(GX_MUL, field, N, room.in[0], room.in[1], NULL, room.out);
    assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_OK);
    assert_true(r.sampled >= 4 && r.sampled < N / 10);
    uint64_t sampled = r.sampled;
    for (int i = 0; i < 300; i++) {
        assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_OK);
        sampled += r.sampled;
    }
    assert_int_equal(stats_of(ctx).sampled, sampled);
    assert_true(r.sampled <= 1 + N / 500); /* by now it is trusted */
    assert_true(sampled >= 300 * N / 1000);
    assert_int_equal(gxt_run(ctx, &job, ONE, &r), GX_OK);
    assert_int_equal(r.sampled, 0); /* who was named is believed */
    assert_int_equal(gxt_run(ctx, &job, "cpu", &r), GX_OK);
    assert_int_equal(r.sampled, 0);
    close_counted(ctx);
}

/* ---- nobody is left ---- */

static void nobody_is_left(void **state)
{
    (void)state;
    unsigned errors = 0, fine = 0;
    for (unsigned at = 1; at < 80; at += gxt_small() ? 7 : 1) {
        char list[120];
        struct room room;
        gx_report r[2];
        gxt_reports(r, 2);
        snprintf(list, sizeof list, "fault:lose@%u:%s,cpu,fault:lose@%u:%s", at, ONE, at + 1, TWO);
        gx_ctx *ctx = open_counted(list, GX_POLICY_GPU, 1);
        memcpy(room.in, in, sizeof in);
        gx_job jobs[2] = {
            gxt_job(GX_MUL, field, N, room.in[0], room.in[1], NULL, room.out),
            gxt_job(GX_MUL_ADD, field, N, room.in[0], room.in[1], room.in[2], room.in[2])};
        gx_status s = gx_run(ctx, jobs, 2, NULL, r);
        if (s == GX_OK) {
            assert_memory_equal(room.out, want[0], BYTES);
            assert_memory_equal(room.in[2], want[3], BYTES);
            fine++;
        } else {
            assert_int_equal(s, GX_ERR_DEVICE_LOST);
            size_t first = r[0].status == GX_OK;
            assert_int_equal(r[first].status, s);
            assert_non_null(strstr(r[first].message, "not written"));
            if (first)
                assert_memory_equal(room.out, want[0], BYTES);
            else
                assert_int_equal(r[1].status, GX_ERR_NOT_RUN);
            assert_memory_equal(room.in[2], in[2], BYTES); /* in place, and nothing lost */
            errors++;
        }
        gx_run_params opts = {.policy = GX_POLICY_CPU};
        memcpy(room.in, in, sizeof in);
        assert_int_equal(gx_run(ctx, jobs, 2, &opts, NULL), GX_OK);
        assert_memory_equal(room.in[2], want[3], BYTES);
        close_counted(ctx);
    }
    assert_true(errors > 0 && fine > 0);
}

/* With policy auto the CPU is always left. */
static void the_cpu_is_left(void **state)
{
    (void)state;
    struct seen seen = {0};
    gx_ctx *ctx =
        open_counted("fault:lose@1:" ONE ",fault:fail@1:" TWO ",cpu", GX_POLICY_THROUGHPUT, 1);
    seen = run_all(ctx, 1);
    enum { LARGE = GX_DEFAULT_GPU_ELEMS };
    uint32_t *x = gxt_alloc(LARGE * sizeof *x), *y = gxt_alloc(LARGE * sizeof *y);
    uint64_t rng = 3;
    gxt_bytes(&rng, x, LARGE * sizeof *x);
    gx_job job = gxt_job(GX_MUL, GX_U32, LARGE, x, x, NULL, y);
    gx_report r = gxt_report();
    assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_OK);
    note(&r, LARGE, &seen);
    for (size_t i = 0; i < LARGE; i++)
        assert_true(y[i] == x[i] * x[i]);
    assert_string_equal(r.device, "cpu");
    free(x);
    free(y);
    close_counted(ctx);
}

/* One name is no list: the error is the caller's, as ever. */
static void a_named_device_is_not_replaced(void **state)
{
    (void)state;
    struct room room;
    gx_report r = gxt_report();
    gx_ctx *ctx = open_counted("fault:lose@1:" ONE, GX_POLICY_AUTO, 0);
    gx_job job = gxt_job(GX_MUL, field, N, in[0], in[1], NULL, room.out);
    assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_ERR_DEVICE_LOST);
    assert_int_equal(r.reason, GX_REASON_ASKED);
    assert_int_equal(gxt_run(ctx, &job, "fault:fail@1:" TWO, &r), GX_ERR_DEVICE);
    assert_int_equal(r.candidates, 0);
    close_counted(ctx);
}

/* ---- data in buffers ---- */

static gx_status run_resident(gx_ctx *ctx, gx_buf *buf, gx_report *r)
{
    gx_job jobs[4];
    for (size_t i = 0; i < GXT_COUNT(jobs); i++) {
        jobs[i] = (gx_job){.op = GX_MUL, .field = field, .n = N};
        jobs[i].a = gx_dev(buf, i % 2 ? 2 * BYTES : 0);
        jobs[i].b = gx_dev(buf, BYTES);
        jobs[i].out = gx_dev(buf, i % 2 ? 0 : 2 * BYTES);
    }
    return gx_run(ctx, jobs, GXT_COUNT(jobs), NULL, r);
}

/* Results that stay there are not seen, but a sample of what the device does is: one whose
 * every result is wrong is found out; one that is lost says so. */
static void resident_data(void **state)
{
    (void)state;
    unsigned found = 0, lost = 0;
    for (unsigned at = 1; at < (gxt_small() ? 16 : 40); at++) {
        for (int lies = 0; lies < 2; lies++) {
            char device[48], list[120];
            gx_buf *buf = NULL;
            gx_report r[4];
            gxt_reports(r, 4);
            snprintf(device, sizeof device, "fault:%s@%u:%s", lies ? "corrupt" : "lose", at, ONE);
            snprintf(list, sizeof list, "%s,%s", device, TWO);
            gx_ctx *ctx = open_counted(list, GX_POLICY_AUTO, 1);
            gx_status s = gx_buf_create(ctx, device, 3 * (size_t)BYTES, 0, &buf);
            if (s == GX_OK)
                s = gx_buf_write(buf, 0, in[0], BYTES);
            if (s == GX_OK)
                s = gx_buf_write(buf, BYTES, in[1], BYTES);
            for (int i = 0; s == GX_OK && i < 3; i++)
                s = run_resident(ctx, buf, r);
            gx_device_statistics d = device_stats(ctx, device);
            if (lies && s != GX_OK) {
                assert_int_equal(s, GX_ERR_DEVICE);
                assert_int_equal(d.health, GX_HEALTH_QUARANTINED);
                assert_true(d.mismatches > 0);
                found++;
            } else if (s != GX_OK) {
                assert_int_equal(s, GX_ERR_DEVICE_LOST);
                lost++;
            }
            gx_buf_destroy(&buf);
            run_all(ctx, 1); /* what is in host memory is done in any case */
            close_counted(ctx);
        }
    }
    assert_true(found > 0 && lost > 0);
}

/* A job with buffers on two devices is done by a third: whatever that one does, the result is
 * in its buffer; and where one of the two is at fault, all others are as they were. */
static void moved_data(void **state)
{
    (void)state;
    static const char *const modes[] = {"lose", "fail", "oom", "hang", "corrupt"};
    unsigned fallbacks = 0, errors = 0;
    for (size_t mode = 0; mode < GXT_COUNT(modes); mode++) {
        for (unsigned at = 1; at < (gxt_small() ? 12 : 40); at++) {
            for (int home = 0; home < 2; home++) {
                char device[48], list[120];
                unsigned char result[BYTES];
                gx_buf *a = NULL, *b = NULL;
                gx_report r = gxt_report();
                snprintf(device, sizeof device, "fault:%s@%u:%s", modes[mode], at, ONE);
                snprintf(list, sizeof list, "%s," TWO, home ? THREE : device);
                gx_ctx *ctx = open_counted(list, GX_POLICY_AUTO, 1);
                gx_status s = gx_buf_create(ctx, home ? device : TWO, 2 * (size_t)BYTES, 0, &a);
                if (s == GX_OK)
                    s = gx_buf_write(a, 0, in[0], BYTES);
                assert_int_equal(gx_buf_create(ctx, THREE, BYTES, 0, &b), GX_OK);
                assert_int_equal(gx_buf_write(b, 0, in[1], BYTES), GX_OK);
                if (s == GX_OK) {
                    gx_job job = {.op = GX_MUL, .field = field, .n = N, .a = gx_dev(a, 0)};
                    job.b = job.out = gx_dev(b, 0);
                    s = gxt_run(ctx, &job, NULL, &r);
                    fallbacks += s == GX_OK && r.reason == GX_REASON_FALLBACK;
                }
                assert_true(home || s == GX_OK);
                errors += s != GX_OK;
                assert_int_equal(gx_buf_read(b, 0, result, BYTES), GX_OK);
                if (strcmp(modes[mode], "corrupt") || !home) /* what it held may be wrong */
                    assert_memory_equal(result, s == GX_OK ? want[0] : in[1], BYTES);
                gx_buf_destroy(&a);
                gx_buf_destroy(&b);
                close_counted(ctx);
            }
        }
    }
    assert_true(fallbacks > 0 && errors > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_of_shares),
        cmocka_unit_test(every_call_with_a_third_device),
        cmocka_unit_test(small_calls),
        cmocka_unit_test(calibrating),
        cmocka_unit_test(eight_threads),
        cmocka_unit_test(it_rests_and_comes_back),
        cmocka_unit_test(it_does_not_come_back_broken),
        cmocka_unit_test(a_liar_is_quarantined),
        cmocka_unit_test(a_liar_comes_back),
        cmocka_unit_test(a_liar_about_sums_does_not_come_back),
        cmocka_unit_test(samples_are_taken),
        cmocka_unit_test(nobody_is_left),
        cmocka_unit_test(the_cpu_is_left),
        cmocka_unit_test(a_named_device_is_not_replaced),
        cmocka_unit_test(resident_data),
        cmocka_unit_test(moved_data),
    };
    return cmocka_run_group_tests_name("route-fault", tests, set_up, NULL);
}
