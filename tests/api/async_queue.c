/* SPDX-License-Identifier: Apache-2.0
 *
 * The ticket queue: its bound, the order of tickets, failing devices, closing with work in
 * flight, and memory.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "api/tickets.h"

/* ---- the bound ---- */

struct submitter {
    pthread_t thread;
    gx_ctx *ctx;
    const gx_job *jobs;
    size_t count; /* of jobs in a ticket */
    gx_ticket *ticket;
    gx_status status;
    atomic_int id, returned;
};

static void *submit_one(void *user)
{
    struct submitter *s = user;
    gx_run_params opts = {.device = "cpu"};
    atomic_store(&s->id, gettid());
    s->status = gx_submit(s->ctx, s->jobs, s->count, &opts, &s->ticket);
    atomic_store(&s->returned, 1);
    return NULL;
}

static void start_submitter(struct submitter *s)
{
    assert_int_equal(pthread_create(&s->thread, NULL, submit_one, s), 0);
}

/* Waits until the submitter waits for room, or does not have to. */
static void await_submitter(struct submitter *s)
{
    while (!atomic_load(&s->returned) &&
           !(atomic_load(&s->id) && gxt_is_asleep(atomic_load(&s->id))))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void end_submitter(struct submitter *s)
{
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    assert_int_equal(s->status, GX_OK);
    assert_int_equal(gx_wait(s->ticket, UINT64_MAX, NULL), GX_OK);
    gx_ticket_destroy(&s->ticket);
}

static void full_queue(void **state)
{
    (void)state;
    struct rig rig;
    static unsigned char out[8][N * 32];
    gx_job jobs[8];
    open_rig(&rig, 2);
    for (int i = 0; i < 8; i++)
        jobs[i] = add_job(out[i]);
    gx_ticket *stop = stop_worker(&rig, "cpu");
    gx_ticket *second = submit(rig.ctx, &jobs[0], 1, "cpu"); /* there is room for it */
    struct submitter third = {.ctx = rig.ctx, .jobs = &jobs[1], .count = 1};
    struct submitter large = {.ctx = rig.ctx, .jobs = &jobs[2], .count = 5};
    start_submitter(&third);
    await_submitter(&third);
    start_submitter(&large);
    await_submitter(&large);
    assert_int_equal(atomic_load(&third.returned), 0);
    assert_int_equal(atomic_load(&large.returned), 0);
    assert_int_equal(stats_of(rig.ctx).jobs_waiting, 2);
    assert_int_equal(stats_of(rig.ctx).tickets_submitted, 2);
    gx_cancel(second); /* makes room */
    assert_int_equal(pthread_join(third.thread, NULL), 0);
    assert_int_equal(third.status, GX_OK);
    assert_int_equal(gx_poll(third.ticket), GX_PENDING);
    assert_int_equal(atomic_load(&large.returned), 0);
    finish_stop(&rig, &stop);
    end_submitter(&large);
    assert_int_equal(gx_wait(third.ticket, UINT64_MAX, NULL), GX_OK);
    gx_ticket_destroy(&third.ticket);
    gx_ticket_destroy(&second);
    for (int i = 1; i < 7; i++)
        assert_memory_equal(out[i], sum, BYTES);
    close_rig(&rig);
}

/* There is room for the small one, but the large one came first. */
static void first_come_first_served(void **state)
{
    (void)state;
    struct rig rig;
    static unsigned char out[6][N * 32];
    gx_job jobs[6];
    open_rig(&rig, 3);
    for (int i = 0; i < 6; i++)
        jobs[i] = add_job(out[i]);
    gx_ticket *stop = stop_worker(&rig, "cpu");
    struct submitter large = {.ctx = rig.ctx, .jobs = &jobs[1], .count = 5};
    struct submitter small = {.ctx = rig.ctx, .jobs = &jobs[0], .count = 1};
    start_submitter(&large);
    await_submitter(&large);
    start_submitter(&small);
    await_submitter(&small);
    int returned = atomic_load(&small.returned), first = atomic_load(&large.returned);
    finish_stop(&rig, &stop);
    end_submitter(&large);
    end_submitter(&small);
    assert_int_equal(first, 0);
    assert_int_equal(returned, 0);
    close_rig(&rig);
}

/* A queue of one, and far more tickets than one: from one thread, which waits for none of them. */
static void more_than_fits(void **state)
{
    (void)state;
    enum { TICKETS = 200 };
    const char *names[3];
    size_t count = devices(names);
    for (size_t d = 0; d < count; d++) {
        struct rig rig;
        static unsigned char out[TICKETS][2][N * 32];
        gx_ticket *ticket[TICKETS];
        open_rig(&rig, 1);
        for (int i = 0; i < TICKETS; i++) {
            const gx_job jobs[2] = {add_job(out[i][0]), add_job(out[i][1])};
            ticket[i] = submit(rig.ctx, jobs, 1 + (size_t)i % 2, names[d]);
            assert_true(stats_of(rig.ctx).jobs_waiting <= 2);
        }
        for (int i = 0; i < TICKETS; i++) {
            assert_int_equal(gx_wait(ticket[i], UINT64_MAX, NULL), GX_OK);
            assert_memory_equal(out[i][i % 2], sum, BYTES);
            gx_ticket_destroy(&ticket[i]);
        }
        close_rig(&rig);
    }
}

static void bound_as_setting(void **state)
{
    (void)state;
    gx_config config = {0};
    char err[160];
    assert_int_equal(gx_config_set(&config, "queue-jobs", "7", err, sizeof err), GX_OK);
    assert_int_equal(config.queue_jobs, 7);
    assert_int_equal(gx_config_set(&config, "queue-jobs", "-7", err, sizeof err), GX_ERR_INVALID);
    gx_ctx *ctx;
    setenv("GPUEXEC_QUEUE_JOBS", "many", 1);
    assert_int_equal(gx_open(NULL, &ctx), GX_ERR_INVALID);
    setenv("GPUEXEC_QUEUE_JOBS", "1", 1); /* means the same as in full_queue */
    struct rig rig;
    unsigned char out[N * 32];
    open_rig(&rig, 0);
    unsetenv("GPUEXEC_QUEUE_JOBS");
    gx_ticket *stop = stop_worker(&rig, "cpu");
    gx_job job = add_job(out);
    struct submitter second = {.ctx = rig.ctx, .jobs = &job, .count = 1};
    start_submitter(&second);
    await_submitter(&second);
    assert_int_equal(atomic_load(&second.returned), 0);
    finish_stop(&rig, &stop);
    end_submitter(&second);
    close_rig(&rig);
}

/* ---- order ---- */

/* Tickets of several threads are served in the order in which they were submitted: the one of
 * another thread after those before it, of which the last stops the worker, and before those after
 * it, of which the first does. */
static void served_in_order(void **state)
{
    (void)state;
    enum { TICKETS = 1000, BEFORE = 900 };
    struct rig rig;
    static unsigned char out[TICKETS][N * 32];
    static gx_ticket *ticket[TICKETS];
    unsigned char other[N * 32];
    open_rig(&rig, 0);
    gx_ticket *stop = stop_worker(&rig, "cpu");
    gx_job job = add_job(other);
    struct submitter between = {.ctx = rig.ctx, .jobs = &job, .count = 1};
    for (int i = 0; i < TICKETS; i++) {
        gx_job own = add_job(out[i]);
        if (i == BEFORE - 1 || i == BEFORE)
            own.a = gx_host(bad);
        if (i == BEFORE) {
            start_submitter(&between);
            assert_int_equal(pthread_join(between.thread, NULL), 0);
        }
        ticket[i] = submit(rig.ctx, &own, 1, "cpu");
    }
    open_gate(&rig.gate, 1);
    await_arrival(&rig.gate, 2);
    assert_int_equal(gx_poll(ticket[BEFORE - 2]), GX_OK);
    assert_int_equal(gx_poll(between.ticket), GX_PENDING);
    open_gate(&rig.gate, 2);
    await_arrival(&rig.gate, 3);
    assert_int_equal(gx_poll(between.ticket), GX_OK);
    assert_memory_equal(other, sum, BYTES);
    assert_int_equal(gx_poll(ticket[BEFORE + 1]), GX_PENDING);
    open_gate(&rig.gate, 3);
    for (int i = 0; i < TICKETS; i++) {
        assert_int_equal(gx_wait(ticket[i], UINT64_MAX, NULL),
                         i == BEFORE - 1 || i == BEFORE ? GX_ERR_NOT_CANONICAL : GX_OK);
        gx_ticket_destroy(&ticket[i]);
    }
    gx_ticket_destroy(&between.ticket);
    gx_ticket_destroy(&stop);
    close_rig(&rig);
}

struct call {
    pthread_t thread;
    gx_ctx *ctx;
    gx_job job;
    gx_status status;
    atomic_int returned;
};

static void *run_one(void *user)
{
    struct call *call = user;
    gx_run_params opts = {.device = vulkan};
    call->status = gx_run(call->ctx, &call->job, 1, &opts, NULL);
    atomic_store(&call->returned, 1);
    return NULL;
}

/* A call that needs all the memory waits for tickets in flight, but not for all those in the queue:
 * it has returned when the last of them stops the worker. */
static void calls_do_not_starve(void **state)
{
    (void)state;
    enum { LARGE = 20000, TICKETS = 300 };
    struct rig rig;
    static unsigned char out[TICKETS][N * 32];
    static gx_ticket *ticket[TICKETS];
    if (!vulkan)
        skip();
    open_rig(&rig, 0);
    gx_close(&rig.ctx);
    gx_config config = {.device_memory = 1 << 20, .log = at_gate, .log_user = &rig.gate};
    config.allocator = gxt_heap_allocator(&rig.heap);
    rig.ctx = gxt_open(&config);
    unsigned char *x = gxt_alloc((size_t)LARGE * 32);
    memset(x, 0, (size_t)LARGE * 32);
    struct call call = {.ctx = rig.ctx, .job = gxt_job(GX_ADD, field, LARGE, x, x, NULL, x)};
    gx_ticket *stop = stop_worker(&rig, vulkan);
    assert_int_equal(pthread_create(&call.thread, NULL, run_one, &call), 0);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    for (int i = 0; i < TICKETS; i++) {
        gx_job job = add_job(out[i]);
        if (i == TICKETS - 1)
            job.a = gx_host(bad);
        ticket[i] = submit(rig.ctx, &job, 1, vulkan);
    }
    assert_int_equal(atomic_load(&call.returned), 0); /* the worker's pipe has the memory */
    open_gate(&rig.gate, 1);
    await_arrival(&rig.gate, 2);
    for (int i = 0; i < 10000 && !atomic_load(&call.returned); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    int returned = atomic_load(&call.returned);
    open_gate(&rig.gate, 2);
    assert_int_equal(pthread_join(call.thread, NULL), 0);
    assert_int_equal(call.status, GX_OK);
    assert_int_equal(returned, 1);
    for (int i = 0; i < TICKETS; i++)
        gx_ticket_destroy(&ticket[i]);
    gx_ticket_destroy(&stop);
    assert_int_equal(gxt_run(rig.ctx, &call.job, vulkan, NULL), GX_OK); /* everything is returned */
    free(x);
    close_rig(&rig);
}

/* ---- devices that break ---- */

enum { BREAK_TICKETS = 6, BREAK_JOBS = 3 };

/* Whether no ticket hit the fault. */
static int break_at(const char *what, unsigned at, const char *device)
{
    struct rig rig;
    char name[64];
    static unsigned char out[BREAK_TICKETS][BREAK_JOBS][N * 32];
    gx_ticket *ticket[BREAK_TICKETS] = {0};
    int whole = 1;
    snprintf(name, sizeof name, "fault:%s@%u:%s", what, at, device);
    open_rig(&rig, 0);
    memset(out, GUARD, sizeof out);
    gx_run_params opts = {.device = name, .mode = (gx_mode)(at % 4)};
    for (int i = 0; i < BREAK_TICKETS; i++) {
        gx_job jobs[BREAK_JOBS];
        for (int k = 0; k < BREAK_JOBS; k++)
            jobs[k] = add_job(out[i][k]);
        gx_status s = gx_submit(rig.ctx, jobs, BREAK_JOBS, &opts, &ticket[i]);
        assert_int_equal(s == GX_OK, ticket[i] != NULL);
        whole &= s == GX_OK;
    }
    for (int i = 0; i < BREAK_TICKETS; i++) {
        gx_report r[BREAK_JOBS] = {{.struct_size = sizeof *r}};
        if (!ticket[i])
            continue;
        gx_status s = gx_wait(ticket[i], UINT64_MAX, r), first = GX_OK;
        whole &= s == GX_OK;
        assert_true(s != GX_PENDING && s != GX_ERR_CANCELLED && s != GX_ERR_NOT_RUN);
        for (int k = 0; k < BREAK_JOBS; k++) {
            assert_int_equal(r[k].status, first != GX_OK     ? GX_ERR_NOT_RUN
                                          : r[k].status == s ? s
                                                             : GX_OK);
            if (r[k].status == GX_OK)
                assert_memory_equal(out[i][k], sum, BYTES);
            else if (first == GX_OK)
                first = r[k].status;
        }
        assert_int_equal(first, s);
        gx_ticket_destroy(&ticket[i]);
    }
    gx_job job = add_job(out[0][0]); /* the context stays usable */
    ticket[0] = submit(rig.ctx, &job, 1, "cpu");
    assert_int_equal(gx_wait(ticket[0], UINT64_MAX, NULL), GX_OK);
    gx_ticket_destroy(&ticket[0]);
    close_rig(&rig);
    return whole;
}

static void broken_devices(void **state)
{
    (void)state;
    static const char *const whats[] = {"lose", "fail", "oom"};
    const char *on[] = {"cpu", vulkan};
    for (size_t d = 0; d < GXT_COUNT(on); d++) {
        for (size_t w = 0; w < GXT_COUNT(whats) && on[d]; w++) {
            unsigned step = (gxt_small() ? 5 : 1) * (d ? 3 : 1), at = 1;
            while (!break_at(whats[w], at, on[d]) && at < 2000)
                at += step;
            assert_true(at > 1); /* it was hit at least once */
            assert_true(at < 2000);
        }
    }
}

/* A device that is lost again and again: each time its old engine is released, by completed tickets
 * and rejected calls, so that memory stays constant. */
static void lost_devices_are_let_go(void **state)
{
    (void)state;
    enum { ROUNDS = 60 };
    struct rig rig;
    unsigned char out[2][N * 32];
    size_t live = 0;
    int lost = 0;
    gx_buf *buf;
    gx_run_params opts = {.device = "fault:lose@9:cpu"};
    open_rig(&rig, 0);
    assert_int_equal(gx_buf_create(rig.ctx, "ref", BYTES, 0, &buf), GX_OK);
    for (int i = 0; i < ROUNDS; i++) {
        gx_job jobs[2] = {add_job(out[0]), add_job(out[1])};
        gx_ticket *ticket = NULL;
        if (gx_submit(rig.ctx, jobs, 2, &opts, &ticket) == GX_OK)
            lost += gx_wait(ticket, UINT64_MAX, NULL) == GX_ERR_DEVICE_LOST;
        gx_ticket_destroy(&ticket);
        jobs[1].a = gx_dev(buf, 0);
        assert_int_not_equal(gx_submit(rig.ctx, jobs, 2, &opts, &ticket), GX_OK);
        if (i == ROUNDS / 2)
            live = rig.heap.count;
    }
    assert_true(lost > 10);
    assert_in_range(rig.heap.count, 0, live + 8);
    gx_buf_destroy(&buf);
    close_rig(&rig);
}

/* ---- closing ---- */

static void close_in_flight(void **state)
{
    (void)state;
    enum { TICKETS = 30 };
    const char *names[3];
    size_t count = devices(names);
    for (size_t d = 0; d < count; d++) {
        struct rig rig;
        static unsigned char out[TICKETS][N * 32];
        gx_ticket *ticket[TICKETS];
        open_rig(&rig, 0);
        for (int i = 0; i < TICKETS; i++) {
            gx_job job = add_job(out[i]);
            ticket[i] = submit(rig.ctx, &job, 1, names[d]);
        }
        gx_close(&rig.ctx);
        for (int i = 0; i < TICKETS; i++) {
            gx_report r = {.struct_size = sizeof r};
            assert_int_equal(gx_poll(ticket[i]), GX_OK);
            gx_cancel(ticket[i]);
            assert_int_equal(gx_wait(ticket[i], UINT64_MAX, &r), GX_OK);
            assert_string_equal(r.device, names[d]);
            assert_memory_equal(out[i], sum, BYTES);
            gx_ticket_destroy(&ticket[i]);
        }
        close_rig(&rig);
    }
}

static void *open_later(void *user)
{
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    open_gate(user, 1);
    return NULL;
}

static void close_after_cancelling(void **state)
{
    (void)state;
    enum { TICKETS = 30 };
    struct rig rig;
    static unsigned char out[TICKETS][N * 32];
    gx_ticket *ticket[TICKETS];
    pthread_t thread;
    open_rig(&rig, 0);
    memset(out, GUARD, sizeof out);
    gx_ticket *stop = stop_worker(&rig, "cpu");
    for (int i = 0; i < TICKETS; i++) {
        gx_job job = add_job(out[i]);
        ticket[i] = submit(rig.ctx, &job, 1, "cpu");
    }
    gx_cancel_all(rig.ctx);
    assert_int_equal(gx_poll(stop), GX_PENDING);
    assert_int_equal(pthread_create(&thread, NULL, open_later, &rig.gate), 0);
    gx_close(&rig.ctx); /* waits for the one under way */
    assert_int_equal(gx_poll(stop), GX_ERR_NOT_CANONICAL);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (int i = 0; i < TICKETS; i++) {
        assert_int_equal(gx_poll(ticket[i]), GX_ERR_CANCELLED);
        assert_int_equal(out[i][0], GUARD);
        gx_ticket_destroy(&ticket[i]);
    }
    gx_ticket_destroy(&stop);
    close_rig(&rig);
}

/* ---- memory ---- */

/* Tickets of up to three jobs, this many at a time. */
static void rounds_of(struct rig *rig, const char *device, int rounds, int at_once)
{
    static unsigned char out[8][3][N * 32];
    gx_ticket *ticket[8];
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < at_once; i++) {
            const gx_job jobs[3] = {add_job(out[i][0]), add_job(out[i][1]), add_job(out[i][2])};
            ticket[i] = submit(rig->ctx, jobs, 1 + (size_t)i % 3, device);
        }
        for (int i = 0; i < at_once; i++) {
            assert_int_equal(gx_wait(ticket[i], UINT64_MAX, NULL), GX_OK);
            gx_ticket_destroy(&ticket[i]);
        }
    }
}

/* It happens eventually, although on Vulkan the reusable commands depend on what was in flight at
 * once. */
static void nothing_allocated_once_warm(void **state)
{
    (void)state;
    const char *names[3];
    size_t count = devices(names);
    for (size_t d = 0; d < count; d++) {
        struct rig rig;
        open_rig(&rig, 0);
        uint64_t calls = UINT64_MAX;
        for (int i = 0; i < 50 && gxt_heap_calls(&rig.heap) != calls; i++) {
            calls = gxt_heap_calls(&rig.heap);
            rounds_of(&rig, names[d], 20, d < 2 ? 8 : 1);
        }
        assert_int_equal(gxt_heap_calls(&rig.heap), calls);
        close_rig(&rig);
    }
}

static void *free_one(void *ticket)
{
    gx_ticket *t = ticket;
    gx_ticket_destroy(&t);
    return NULL;
}

/* The last ticket of a closed context frees the queue, whichever it is. */
static void freed_together_after_close(void **state)
{
    (void)state;
    enum { TICKETS = 4 };
    for (int round = 0; round < (gxt_small() ? 50 : 500); round++) {
        gx_ctx *ctx = gxt_open(NULL);
        uint32_t x = 3, out[TICKETS];
        gx_ticket *tickets[TICKETS] = {NULL};
        pthread_t threads[TICKETS];
        for (int i = 0; i < TICKETS; i++) {
            gx_job job = gxt_job(GX_ADD, GX_U32, 1, &x, &x, NULL, &out[i]);
            assert_int_equal(gx_submit(ctx, &job, 1, NULL, &tickets[i]), GX_OK);
        }
        gx_close(&ctx);
        for (int i = 0; i < TICKETS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, free_one, tickets[i]), 0);
        for (int i = 0; i < TICKETS; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(out[i], 6);
        }
    }
}

/* Every allocation fails in turn: the call or the job reports it, or works without; and the next
 * one works. */
static void out_of_memory(void **state)
{
    (void)state;
    int whole = 0;
    for (uint64_t at = 1; !whole; at++) {
        struct rig rig;
        unsigned char out[2][N * 32];
        open_rig(&rig, 0);
        gxt_heap_fail(&rig.heap, at, 0);
        const gx_job jobs[2] = {add_job(out[0]),
                                gxt_job(GX_INV, field, N, in[0], NULL, NULL, out[1])};
        gx_ticket *ticket = NULL;
        gx_status s = gx_submit(rig.ctx, jobs, 2, NULL, &ticket);
        assert_int_equal(s == GX_OK, ticket != NULL);
        if (s == GX_OK)
            s = gx_wait(ticket, UINT64_MAX, NULL);
        assert_true(s == GX_OK || s == GX_ERR_OUT_OF_MEMORY);
        whole = rig.heap.failed == 0;
        gx_ticket_destroy(&ticket);
        gxt_heap_heal(&rig.heap);
        ticket = submit(rig.ctx, jobs, 2, NULL);
        assert_int_equal(gx_wait(ticket, UINT64_MAX, NULL), GX_OK);
        assert_memory_equal(out[0], sum, BYTES);
        gx_ticket_destroy(&ticket);
        close_rig(&rig);
        assert_true(at < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_queue),
        cmocka_unit_test(first_come_first_served),
        cmocka_unit_test(more_than_fits),
        cmocka_unit_test(bound_as_setting),
        cmocka_unit_test(served_in_order),
        cmocka_unit_test(calls_do_not_starve),
        cmocka_unit_test(broken_devices),
        cmocka_unit_test(lost_devices_are_let_go),
        cmocka_unit_test(close_in_flight),
        cmocka_unit_test(close_after_cancelling),
        cmocka_unit_test(nothing_allocated_once_warm),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(freed_together_after_close),
    };
    return cmocka_run_group_tests_name("async-queue", tests, prepare, NULL);
}
