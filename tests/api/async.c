/* SPDX-License-Identifier: Apache-2.0
 *
 * Single tickets: every edge case of the calls, waiting, order inside a ticket, several devices in
 * one ticket, cancelling. async_queue.c tests the queue.
 */
#include <stdatomic.h>
#include <time.h>

#include "api/counters.h"
#include "api/tickets.h"
#include "support/oracle.h"

/* ---- edges ---- */

static void nothing_is_refused(void **state)
{
    (void)state;
    gx_ctx *ctx = gxt_open(NULL);
    unsigned char out[N * 32];
    gx_job job = add_job(out);
    gx_ticket *ticket = (gx_ticket *)&job;
    assert_int_equal(gx_submit(NULL, &job, 1, NULL, &ticket), GX_ERR_INVALID);
    assert_null(ticket);
    ticket = (gx_ticket *)&job;
    assert_int_equal(gx_submit(ctx, NULL, 1, NULL, &ticket), GX_ERR_INVALID);
    assert_null(ticket);
    assert_int_equal(gx_submit(ctx, &job, 1, NULL, NULL), GX_ERR_INVALID);
    assert_int_equal(gx_poll(NULL), GX_ERR_INVALID);
    assert_int_equal(gx_wait(NULL, 0, NULL), GX_ERR_INVALID);
    gx_cancel(NULL);
    gx_cancel_all(NULL);
    gx_cancel_all(ctx);
    gx_ticket_destroy(NULL);
    gx_ticket_destroy(&ticket);
    assert_int_equal(stats_of(ctx).tickets_submitted, 0);
    gx_close(&ctx);
}

static void no_jobs(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig, 0);
    gx_ticket *ticket = NULL;
    gx_report report = {.threads = 77};
    assert_int_equal(gx_submit(rig.ctx, NULL, 0, NULL, &ticket), GX_OK);
    assert_int_equal(gx_poll(ticket), GX_OK);
    assert_int_equal(gx_wait(ticket, UINT64_MAX, &report), GX_OK);
    assert_int_equal(report.threads, 77);
    gx_cancel(ticket);
    assert_int_equal(gx_poll(ticket), GX_OK);
    gx_ticket_destroy(&ticket);
    assert_int_equal(stats_of(rig.ctx).tickets_done, 1);
    assert_int_equal(stats_of(rig.ctx).tickets_cancelled, 0);
    close_rig(&rig);
}

/* Jobs of no elements have no group in any pipe. */
static void no_elements(void **state)
{
    (void)state;
    const char *names[3];
    size_t count = devices(names);
    for (size_t d = 0; d < count; d++) {
        gx_ctx *ctx = gxt_open(NULL);
        const gx_job job = {.op = GX_ADD, .field = field}, jobs[2] = {job, job};
        gx_report reports[2] = {{.struct_size = sizeof *reports}};
        gx_ticket *ticket = submit(ctx, jobs, 2, names[d]);
        assert_int_equal(gx_wait(ticket, UINT64_MAX, reports), GX_OK);
        assert_int_equal(reports[1].status, GX_OK);
        assert_string_equal(reports[1].device, names[d]);
        gx_ticket_destroy(&ticket);
        gx_close(&ctx);
    }
}

static void invalid_is_refused_at_once(void **state)
{
    (void)state;
    struct rig rig;
    unsigned char out[2][N * 32];
    open_rig(&rig, 0);
    gx_job jobs[2] = {add_job(out[0]), add_job(out[1])};
    memset(out, GUARD, sizeof out);
    jobs[1].op = (gx_op)99;
    gx_ticket *ticket = (gx_ticket *)jobs;
    assert_int_equal(gx_submit(rig.ctx, jobs, 2, NULL, &ticket), GX_ERR_INVALID);
    assert_null(ticket);
    assert_string_equal(rig.gate.last, "job 1: op is 99, which is not an operation");
    jobs[1] = add_job(out[1]);
    gx_run_params opts = {.mode = (gx_mode)9};
    assert_int_equal(gx_submit(rig.ctx, jobs, 2, &opts, &ticket), GX_ERR_INVALID);
    opts = (gx_run_params){.device = "nowhere"};
    assert_int_equal(gx_submit(rig.ctx, jobs, 2, &opts, &ticket), GX_ERR_NO_DEVICE);
    assert_null(ticket);
    assert_non_null(strstr(rig.gate.last, "nowhere"));
    assert_int_equal(out[0][0], GUARD); /* nothing ran */
    assert_int_equal(stats_of(rig.ctx).tickets_submitted, 0);
    assert_int_equal(stats_of(rig.ctx).jobs_failed, 6);
    close_rig(&rig);
}

/* The second job cannot be routed: the first must not run either, and its engine must not be
 * kept. */
static void refused_halfway(void **state)
{
    (void)state;
    struct rig rig;
    unsigned char out[2][N * 32];
    open_rig(&rig, 0);
    gx_buf *buf;
    assert_int_equal(gx_buf_create(rig.ctx, "ref", BYTES, 0, &buf), GX_OK);
    gx_job jobs[2] = {add_job(out[0]), add_job(out[1])};
    memset(out, GUARD, sizeof out);
    jobs[1].a = gx_dev(buf, 0);
    gx_run_params opts = {.device = "cpu"};
    gx_ticket *ticket;
    assert_int_equal(gx_submit(rig.ctx, jobs, 2, &opts, &ticket), GX_ERR_INVALID);
    assert_null(ticket);
    assert_int_equal(out[0][0], GUARD);
    gx_buf_destroy(&buf);
    close_rig(&rig);
}

static void one_ticket(void **state)
{
    (void)state;
    const char *names[3];
    size_t count = devices(names);
    for (size_t d = 0; d < count; d++) {
        gx_ctx *ctx = gxt_open(NULL);
        unsigned char out[2][N * 32];
        gx_report reports[2] = {{.struct_size = sizeof *reports}},
                  again[2] = {{.struct_size = sizeof *again}};
        gx_job jobs[2] = {add_job(out[0]), gxt_job(GX_MUL, field, N, in[0], in[1], NULL, out[1])};
        memset(out, GUARD, sizeof out);
        gx_ticket *ticket = submit(ctx, jobs, 2, names[d]);
        assert_int_equal(gx_wait(ticket, UINT64_MAX, reports), GX_OK);
        assert_memory_equal(out[0], sum, BYTES);
        assert_memory_equal(out[1], product, BYTES);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(reports[i].status, GX_OK);
            assert_int_equal(reports[i].reason, GX_REASON_ASKED);
            assert_string_equal(reports[i].device, names[d]);
            assert_int_equal(reports[i].dispatches, 1);
            assert_true(reports[i].queued_ns > 0);
        }
        assert_int_equal(gx_poll(ticket), GX_OK); /* any number of times */
        assert_int_equal(gx_wait(ticket, 0, again), GX_OK);
        assert_memory_equal(reports, again, sizeof again);
        assert_int_equal(gx_wait(ticket, 1, NULL), GX_OK);
        gx_cancel(ticket);
        assert_int_equal(gx_poll(ticket), GX_OK);
        gx_ticket_destroy(&ticket);
        assert_null(ticket);
        struct gx_statistics s = stats_of(ctx);
        assert_int_equal(s.jobs_done, 2);
        assert_int_equal(s.tickets_submitted, 1);
        assert_int_equal(s.tickets_done, 1);
        gx_close(&ctx);
    }
}

static void failure_inside(void **state)
{
    (void)state;
    const char *names[3];
    size_t count = devices(names);
    for (size_t d = 0; d < count; d++) {
        struct rig rig;
        unsigned char out[3][N * 32];
        gx_report r[3] = {{.struct_size = sizeof *r}};
        open_rig(&rig, 0);
        rig.gate.closed = 0;
        gx_job jobs[3] = {add_job(out[0]), add_job(out[1]), add_job(out[2])};
        jobs[1].b = gx_host(bad);
        memset(out, GUARD, sizeof out);
        gx_ticket *ticket = submit(rig.ctx, jobs, 3, names[d]);
        assert_int_equal(gx_wait(ticket, UINT64_MAX, r), GX_ERR_NOT_CANONICAL);
        assert_int_equal(gx_poll(ticket), GX_ERR_NOT_CANONICAL);
        assert_int_equal(r[0].status, GX_OK);
        assert_int_equal(r[1].status, GX_ERR_NOT_CANONICAL);
        assert_int_equal(r[1].bad_index, 3);
        assert_int_equal(r[1].bad_operand, 'b');
        assert_int_equal(r[2].status, GX_ERR_NOT_RUN);
        assert_memory_equal(out[0], sum, BYTES);
        assert_int_equal(out[2][0], GUARD);
        assert_int_equal(strncmp(rig.gate.last, "job 1: element 3 of operand b", 29), 0);
        gx_ticket_destroy(&ticket);
        close_rig(&rig);
    }
}

/* ---- waiting ---- */

static void pending(void **state)
{
    (void)state;
    struct rig rig;
    unsigned char out[N * 32];
    open_rig(&rig, 0);
    gx_ticket *stop = stop_worker(&rig, "cpu");
    gx_job job = add_job(out);
    gx_ticket *ticket = submit(rig.ctx, &job, 1, "cpu");
    gx_report report = {.threads = 77};
    memset(&job, 0xff, sizeof job); /* it has its own */
    assert_int_equal(gx_poll(ticket), GX_PENDING);
    assert_int_equal(gx_wait(ticket, 0, &report), GX_PENDING);
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    assert_int_equal(gx_wait(ticket, 3000000, &report), GX_PENDING);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec >=
                3000000);
    assert_int_equal(report.threads, 77); /* not written */
    struct gx_statistics s = stats_of(rig.ctx);
    assert_int_equal(s.tickets_submitted, 2);
    assert_int_equal(s.tickets_done, 0);
    assert_int_equal(s.jobs_waiting, 2);
    finish_stop(&rig, &stop);
    assert_int_equal(gx_wait(ticket, UINT64_MAX - 1, &report), GX_OK); /* no overflow */
    assert_true(report.queued_ns >= 3000000);
    assert_memory_equal(out, sum, BYTES);
    gx_ticket_destroy(&ticket);
    close_rig(&rig);
}

static void *wait_for_it(void *user)
{
    gx_report report = {.struct_size = sizeof report};
    gx_status s = gx_wait(user, UINT64_MAX, &report);
    return (void *)(uintptr_t)(s == GX_OK && report.status == GX_OK);
}

struct freeing {
    gx_ticket *ticket;
    atomic_int returned;
};

static void *free_it(void *user)
{
    struct freeing *f = user;
    gx_ticket_destroy(&f->ticket);
    atomic_store(&f->returned, 1);
    return NULL;
}

static void many_wait_for_one(void **state)
{
    (void)state;
    struct rig rig;
    unsigned char out[N * 32];
    pthread_t threads[4];
    open_rig(&rig, 0);
    gx_ticket *stop = stop_worker(&rig, "cpu");
    gx_job job = add_job(out);
    gx_ticket *ticket = submit(rig.ctx, &job, 1, "cpu");
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_it, ticket), 0);
    finish_stop(&rig, &stop);
    for (int i = 0; i < 4; i++) {
        void *right;
        assert_int_equal(pthread_join(threads[i], &right), 0);
        assert_non_null(right);
    }
    gx_ticket_destroy(&ticket);
    close_rig(&rig);
}

/* Freed while it is pending: gx_ticket_destroy returns when it is done, and not before. */
static void free_while_pending(void **state)
{
    (void)state;
    struct rig rig;
    unsigned char out[N * 32];
    pthread_t thread;
    open_rig(&rig, 0);
    gx_ticket *stop = stop_worker(&rig, "cpu");
    gx_job job = add_job(out);
    gx_ticket *ticket = submit(rig.ctx, &job, 1, "cpu");
    struct freeing f = {.ticket = ticket};
    assert_int_equal(pthread_create(&thread, NULL, free_it, &f), 0);
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); /* it may try */
    assert_int_equal(atomic_load(&f.returned), 0);
    assert_int_equal(stats_of(rig.ctx).tickets_done, 0);
    finish_stop(&rig, &stop);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_null(f.ticket);
    assert_memory_equal(out, sum, BYTES);
    close_rig(&rig);
}

/* ---- order ---- */

/* x = x + b repeatedly, in place and from one place to the next. */
static void order_inside(void **state)
{
    (void)state;
    enum { JOBS = 50 };
    const char *names[3];
    size_t count = devices(names);
    for (size_t d = 0; d < count; d++) {
        gx_ctx *ctx = gxt_open(NULL);
        static unsigned char x[JOBS][N * 32];
        unsigned char want[N * 32];
        gx_job jobs[JOBS];
        memset(x, 0, sizeof x);
        memcpy(want, in[0], BYTES);
        for (int i = 0; i < JOBS; i++) {
            void *from = i ? x[(i - 1) / 2] : in[0];
            jobs[i] = gxt_job(i % 3 ? GX_ADD : GX_MUL, field, N, from, in[1], NULL, x[i / 2]);
            oracle_run(jobs[i].op, field, N, want, want, in[1], NULL, 0);
        }
        gx_ticket *ticket = submit(ctx, jobs, JOBS, names[d]);
        assert_int_equal(gx_wait(ticket, UINT64_MAX, NULL), GX_OK);
        assert_memory_equal(x[(JOBS - 1) / 2], want, BYTES);
        gx_ticket_destroy(&ticket);
        gx_close(&ctx);
    }
}

static uint64_t commands(gx_ctx *ctx)
{
    struct gx_statistics s = stats_of(ctx);
    return s.command_hits + s.command_misses;
}

static void await_commands(gx_ctx *ctx, uint64_t count)
{
    for (int i = 0; i < 10000 && commands(ctx) < count; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(commands(ctx), count);
}

/* While one ticket is held at its end, the next ones are already submitted to the device: as many
 * as there are sets besides its own. */
static void next_ones_are_prepared_meanwhile(void **state)
{
    (void)state;
    enum { TICKETS = 3 };
    struct rig rig;
    unsigned char out[TICKETS][N * 32];
    gx_ticket *ticket[TICKETS];
    if (!vulkan)
        skip();
    open_rig(&rig, 0);
    gx_ticket *stop = stop_worker(&rig, vulkan);
    uint64_t before = commands(rig.ctx);
    for (int i = 0; i < TICKETS; i++) {
        gx_job job = add_job(out[i]);
        ticket[i] = submit(rig.ctx, &job, 1, vulkan);
    }
    await_commands(rig.ctx, before + 2);
    for (int i = 0; i < TICKETS; i++)
        assert_int_equal(gx_poll(ticket[i]), GX_PENDING);
    finish_stop(&rig, &stop);
    for (int i = 0; i < TICKETS; i++) {
        assert_int_equal(gx_wait(ticket[i], UINT64_MAX, NULL), GX_OK);
        assert_memory_equal(out[i], sum, BYTES);
        gx_ticket_destroy(&ticket[i]);
    }
    close_rig(&rig);
}

/* ---- several devices in a ticket ---- */

struct residents {
    const char *names[3];
    size_t count;
    gx_buf *b[3]; /* in[1] on each device */
};

static void open_residents(struct residents *r, gx_ctx *ctx)
{
    r->count = devices(r->names);
    for (size_t d = 0; d < r->count; d++) {
        assert_int_equal(gx_buf_create(ctx, r->names[d], BYTES, 0, &r->b[d]), GX_OK);
        assert_int_equal(gx_buf_write(r->b[d], 0, in[1], BYTES), GX_OK);
    }
}

static void close_residents(struct residents *r)
{
    for (size_t d = 0; d < r->count; d++)
        gx_buf_destroy(&r->b[d]);
}

/* to = from + in[1], on a device */
static gx_job resident_job(struct residents *r, size_t d, const void *from, void *to)
{
    gx_job job = gxt_job(GX_ADD, field, N, from, NULL, NULL, to);
    job.b = gx_dev(r->b[d], 0);
    return job;
}

static void from_device_to_device(void **state)
{
    (void)state;
    enum { JOBS = 12 };
    struct rig rig;
    struct residents r;
    unsigned char x[JOBS][N * 32], want[N * 32];
    gx_job jobs[JOBS];
    gx_report reports[JOBS] = {{.struct_size = sizeof *reports}};
    open_rig(&rig, 0);
    open_residents(&r, rig.ctx);
    memcpy(want, in[0], BYTES);
    for (size_t i = 0; i < JOBS; i++) {
        jobs[i] = resident_job(&r, i / 2 % r.count, i ? x[i - 1] : in[0], x[i]);
        oracle_run(GX_ADD, field, N, want, want, in[1], NULL, 0);
    }
    gx_ticket *ticket = submit(rig.ctx, jobs, JOBS, NULL);
    assert_int_equal(gx_wait(ticket, UINT64_MAX, reports), GX_OK);
    assert_memory_equal(x[JOBS - 1], want, BYTES);
    for (size_t i = 0; i < JOBS; i++) {
        assert_int_equal(reports[i].status, GX_OK);
        assert_int_equal(reports[i].reason, GX_REASON_RESIDENT);
        assert_string_equal(reports[i].device, r.names[i / 2 % r.count]);
    }
    gx_ticket_destroy(&ticket);
    close_residents(&r);
    close_rig(&rig);
}

/* A failure in one segment: later segments are not run. */
static void failure_on_the_way(void **state)
{
    (void)state;
    struct rig rig;
    struct residents r;
    unsigned char x[3][N * 32];
    gx_report reports[3] = {{.struct_size = sizeof *reports}};
    open_rig(&rig, 0);
    rig.gate.closed = 0;
    open_residents(&r, rig.ctx);
    memset(x, GUARD, sizeof x);
    const gx_job jobs[3] = {resident_job(&r, 0, in[0], x[0]), resident_job(&r, 1, bad, x[1]),
                            resident_job(&r, 0, in[0], x[2])};
    gx_ticket *ticket = submit(rig.ctx, jobs, 3, NULL);
    assert_int_equal(gx_wait(ticket, UINT64_MAX, reports), GX_ERR_NOT_CANONICAL);
    assert_int_equal(reports[0].status, GX_OK);
    assert_int_equal(reports[1].status, GX_ERR_NOT_CANONICAL);
    assert_int_equal(reports[2].status, GX_ERR_NOT_RUN);
    assert_int_equal(x[2][0], GUARD);
    assert_int_equal(strncmp(rig.gate.last, "job 1: ", 7), 0);
    assert_int_equal(stats_of(rig.ctx).jobs_failed, 2);
    gx_ticket_destroy(&ticket);
    close_residents(&r);
    close_rig(&rig);
}

/* ---- cancelling ---- */

static void cancel_one_of_three(void **state)
{
    (void)state;
    struct rig rig;
    unsigned char out[4][N * 32];
    gx_ticket *ticket[4];
    gx_report report = {.struct_size = sizeof report};
    open_rig(&rig, 0);
    memset(out, GUARD, sizeof out);
    gx_ticket *stop = stop_worker(&rig, "cpu");
    for (int victim = 0; victim < 3; victim++) { /* first, middle, last */
        for (int i = 0; i < 3; i++) {
            gx_job job = add_job(out[i]);
            memset(out[i], GUARD, BYTES);
            ticket[i] = submit(rig.ctx, &job, 1, "cpu");
        }
        gx_cancel(ticket[victim]);
        assert_int_equal(gx_poll(ticket[victim]), GX_ERR_CANCELLED); /* the worker is stopped */
        gx_cancel(ticket[victim]);
        gx_job later = add_job(out[3]);
        ticket[3] = submit(rig.ctx, &later, 1, "cpu");
        finish_stop(&rig, &stop);
        for (int i = 0; i < 4; i++) {
            gx_status want = i == victim ? GX_ERR_CANCELLED : GX_OK;
            assert_int_equal(gx_wait(ticket[i], UINT64_MAX, &report), want);
            assert_int_equal(report.status, want);
            if (i == victim)
                assert_int_equal(out[i][0], GUARD);
            else
                assert_memory_equal(out[i], sum, BYTES);
            if (i == victim)
                assert_string_equal(report.message, gx_status_message(GX_ERR_CANCELLED));
            gx_ticket_destroy(&ticket[i]);
        }
        assert_int_equal(stats_of(rig.ctx).tickets_cancelled, victim + 1);
        stop = victim < 2 ? stop_worker(&rig, "cpu") : NULL;
    }
    close_rig(&rig);
}

/* Running on one device, not begun on the other, whose worker is stopped. */
static void cancel_between_devices(void **state)
{
    (void)state;
    struct rig rig;
    struct residents r;
    unsigned char x[2][N * 32];
    gx_report reports[2] = {{.struct_size = sizeof *reports}};
    open_rig(&rig, 0);
    open_residents(&r, rig.ctx);
    memset(x, GUARD, sizeof x);
    gx_ticket *stop = stop_worker(&rig, "ref");
    const gx_job jobs[2] = {resident_job(&r, 0, in[0], x[0]), resident_job(&r, 1, x[0], x[1])};
    gx_ticket *ticket = submit(rig.ctx, jobs, 2, NULL);
    while (stats_of(rig.ctx).jobs_done == 0)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    gx_cancel(ticket); /* its end may still be to come, but not that of job 1 */
    assert_int_equal(gx_wait(ticket, UINT64_MAX, reports), GX_ERR_CANCELLED);
    assert_int_equal(reports[0].status, GX_OK);
    assert_int_equal(reports[1].status, GX_ERR_CANCELLED);
    assert_memory_equal(x[0], sum, BYTES);
    assert_int_equal(x[1][0], GUARD);
    gx_ticket_destroy(&ticket);
    finish_stop(&rig, &stop);
    close_residents(&r);
    close_rig(&rig);
}

/* With one of three sets held, two jobs are running and are completed; the others are not begun. */
static void cancel_while_it_runs(void **state)
{
    (void)state;
    enum { JOBS = 6 };
    struct rig rig;
    unsigned char out[JOBS][N * 32];
    gx_job jobs[JOBS];
    gx_report reports[JOBS] = {{.struct_size = sizeof *reports}};
    if (!vulkan)
        skip();
    open_rig(&rig, 0);
    memset(out, GUARD, sizeof out);
    gx_ticket *stop = stop_worker(&rig, vulkan), *ticket;
    uint64_t before = commands(rig.ctx);
    for (int i = 0; i < JOBS; i++)
        jobs[i] = add_job(out[i]);
    gx_run_params opts = {.device = vulkan, .mode = GX_MODE_SEQUENTIAL};
    assert_int_equal(gx_submit(rig.ctx, jobs, JOBS, &opts, &ticket), GX_OK);
    await_commands(rig.ctx, before + 2);
    gx_cancel(ticket);
    assert_int_equal(gx_poll(ticket), GX_PENDING);
    finish_stop(&rig, &stop);
    assert_int_equal(gx_wait(ticket, UINT64_MAX, reports), GX_ERR_CANCELLED);
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(reports[i].status, i < 2 ? GX_OK : GX_ERR_CANCELLED);
        if (i < 2)
            assert_memory_equal(out[i], sum, BYTES);
        else
            assert_int_equal(out[i][0], GUARD);
    }
    gx_ticket_destroy(&ticket);
    close_rig(&rig);
}

/* The same with the rest on another device. */
static void cancel_before_the_next_device(void **state)
{
    (void)state;
    struct rig rig;
    struct residents r;
    unsigned char x[2][N * 32];
    gx_report reports[2] = {{.struct_size = sizeof *reports}};
    if (!vulkan)
        skip();
    open_rig(&rig, 0);
    open_residents(&r, rig.ctx);
    memset(x, GUARD, sizeof x);
    gx_ticket *stop = stop_worker(&rig, vulkan);
    uint64_t before = commands(rig.ctx);
    const gx_job jobs[2] = {resident_job(&r, 2, in[0], x[0]), resident_job(&r, 0, x[0], x[1])};
    gx_ticket *ticket = submit(rig.ctx, jobs, 2, NULL);
    await_commands(rig.ctx, before + 1);
    gx_cancel(ticket);
    finish_stop(&rig, &stop);
    assert_int_equal(gx_wait(ticket, UINT64_MAX, reports), GX_ERR_CANCELLED);
    assert_int_equal(reports[0].status, GX_OK);
    assert_int_equal(reports[1].status, GX_ERR_CANCELLED);
    assert_memory_equal(x[0], sum, BYTES);
    assert_int_equal(x[1][0], GUARD);
    gx_ticket_destroy(&ticket);
    close_residents(&r);
    close_rig(&rig);
}

static void cancel_all(void **state)
{
    (void)state;
    enum { TICKETS = 20 };
    struct rig rig;
    static unsigned char out[TICKETS][N * 32];
    gx_ticket *ticket[TICKETS];
    open_rig(&rig, 0);
    memset(out, GUARD, sizeof out);
    gx_ticket *stop = stop_worker(&rig, "cpu");
    for (int i = 0; i < TICKETS; i++) {
        gx_job job = add_job(out[i]);
        ticket[i] = submit(rig.ctx, &job, 1, "cpu");
    }
    gx_cancel_all(rig.ctx);
    assert_int_equal(stats_of(rig.ctx).tickets_cancelled, TICKETS);
    assert_int_equal(stats_of(rig.ctx).jobs_waiting, 1);
    finish_stop(&rig, &stop); /* was running, and has its own status */
    for (int i = 0; i < TICKETS; i++) {
        assert_int_equal(gx_poll(ticket[i]), GX_ERR_CANCELLED);
        assert_int_equal(out[i][0], GUARD);
        gx_ticket_destroy(&ticket[i]);
    }
    gx_job job = add_job(out[0]); /* later tickets are not affected */
    ticket[0] = submit(rig.ctx, &job, 1, "cpu");
    assert_int_equal(gx_wait(ticket[0], UINT64_MAX, NULL), GX_OK);
    gx_ticket_destroy(&ticket[0]);
    close_rig(&rig);
}

/* ---- who did them ---- */

static gx_device_statistics done_by(gx_ctx *ctx, const char *device)
{
    gx_device_statistics all[8] = {{.struct_size = sizeof *all}};
    size_t count = GXT_COUNT(all);
    assert_int_equal(gx_device_stats(ctx, all, &count), GX_OK);
    for (size_t i = 0; i < count && i < GXT_COUNT(all); i++)
        if (!strcmp(all[i].device, device))
            return all[i];
    return (gx_device_statistics){0};
}

/* Each ticket once, whether its device was named or chosen. */
static void devices_count_tickets(void **state)
{
    (void)state;
    const char *names[3];
    size_t count = devices(names);
    for (size_t d = 0; d < count; d++) {
        struct rig rig;
        static unsigned char out[3][N * 32];
        open_rig(&rig, 0);
        for (uint64_t round = 1; round <= 3; round++) {
            const gx_job jobs[3] = {add_job(out[0]), add_job(out[1]), add_job(out[2])};
            gx_ticket *ticket = submit(rig.ctx, jobs, 3, names[d]);
            assert_int_equal(gx_wait(ticket, UINT64_MAX, NULL), GX_OK);
            gx_ticket_destroy(&ticket);
            gx_device_statistics done = done_by(rig.ctx, names[d]);
            assert_int_equal(done.jobs, 3 * round);
            assert_int_equal(done.elements, 3 * round * N);
            assert_true(done.busy_ns > 0);
        }
        close_rig(&rig);
    }
    struct rig rig;
    static unsigned char out[N * 32];
    open_rig(&rig, 0);
    const gx_job job = add_job(out);
    gx_ticket *ticket = submit(rig.ctx, &job, 1, NULL);
    assert_int_equal(gx_wait(ticket, UINT64_MAX, NULL), GX_OK);
    gx_ticket_destroy(&ticket);
    assert_int_equal(done_by(rig.ctx, "cpu").jobs, 1);
    close_rig(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_count_tickets),
        cmocka_unit_test(nothing_is_refused),
        cmocka_unit_test(no_jobs),
        cmocka_unit_test(no_elements),
        cmocka_unit_test(invalid_is_refused_at_once),
        cmocka_unit_test(refused_halfway),
        cmocka_unit_test(one_ticket),
        cmocka_unit_test(failure_inside),
        cmocka_unit_test(pending),
        cmocka_unit_test(many_wait_for_one),
        cmocka_unit_test(free_while_pending),
        cmocka_unit_test(order_inside),
        cmocka_unit_test(next_ones_are_prepared_meanwhile),
        cmocka_unit_test(from_device_to_device),
        cmocka_unit_test(failure_on_the_way),
        cmocka_unit_test(cancel_one_of_three),
        cmocka_unit_test(cancel_between_devices),
        cmocka_unit_test(cancel_while_it_runs),
        cmocka_unit_test(cancel_before_the_next_device),
        cmocka_unit_test(cancel_all),
    };
    return cmocka_run_group_tests_name("async", tests, prepare, NULL);
}
