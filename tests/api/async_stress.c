/* SPDX-License-Identifier: Apache-2.0
 *
 * Eight threads submit, poll, wait, cancel their own tickets and each other's, and also run jobs,
 * for a while: GX_TEST_SECONDS of each kind, by default one or two. Every job reported as done is
 * compared with the oracle, every other one must have a reason, and at the end the statistics must
 * add up. cmocka's asserts do not work outside the main thread, so the threads count errors.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "api/counters.h"
#include "api/cases.h"
#include "support/heap.h"

enum { THREADS = 8, WINDOW = 5, JOBS = 6, LARGE = 6000, GUARD = 0x5c };

static const char *vulkan;

static int prepare(void **state)
{
    (void)state;
    gxt_clear_environment();
    vulkan = gxt_vulkan();
    return make_cases(99, LARGE, 11);
}

/* ---- a kind of stress ---- */

struct stress {
    gx_ctx *ctx;
    const char *device[2]; /* taken in turn */
    int runs;              /* every so many calls use gx_run; 0: none */
    int cancel_all;        /* 1: tickets may be cancelled by gx_cancel_all */
    gx_status may;         /* another status that the device may return; GX_OK: none */
    double seconds;
    pthread_barrier_t start;
    pthread_mutex_t lock;             /* of the board: */
    gx_ticket *board[THREADS];        /* one ticket of each thread, for others to use */
    atomic_uint done, cancelled, cut; /* tickets; cut: done in part */
};

struct slot {
    gx_ticket *ticket;
    size_t count;
    const struct job_case *cases[JOBS];
    unsigned char *out[JOBS];
};

struct worker {
    pthread_t thread;
    struct stress *stress;
    int number;
    uint64_t seed;
    unsigned wrong;
    uint64_t jobs_done, jobs_failed;
    struct slot slots[WINDOW];
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fill_slot(struct worker *w, struct slot *slot, gx_job *jobs)
{
    slot->count = 1 + gxt_next(&w->seed) % JOBS;
    for (size_t i = 0; i < slot->count; i++) {
        const struct job_case *c = &cases[gxt_next(&w->seed) % CASES];
        uint32_t operands = gx_op_get_info(c->op)->operands;
        slot->cases[i] = c;
        memset(slot->out[i], GUARD, gxt_results(c->op, c->n) * gxt_element(c->field));
        jobs[i] = (gx_job){.op = c->op, .field = c->field, .n = c->n};
        jobs[i].a = gx_host(c->in[0]);
        jobs[i].out = gx_host(slot->out[i]);
        if (operands > 1)
            jobs[i].b = gx_host(c->in[1]);
        if (operands > 2)
            jobs[i].c = gx_host(c->in[2]);
    }
}

static int untouched(const unsigned char *out, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (out[i] != GUARD)
            return 0;
    return 1;
}

/* Completed jobs first; then the failed one, and those not run; or all the rest cancelled. */
static void check(struct worker *w, const struct slot *slot, gx_status status, const gx_report *r)
{
    gx_status first = GX_OK;
    for (size_t i = 0; i < slot->count; i++) {
        const struct job_case *c = slot->cases[i];
        size_t bytes = gxt_results(c->op, c->n) * gxt_element(c->field);
        gx_status s = r[i].status;
        if (s == GX_OK) {
            w->wrong += first != GX_OK || c->bad || memcmp(slot->out[i], c->want, bytes) != 0;
            w->jobs_done++;
            continue;
        }
        w->jobs_failed++;
        if (first == GX_OK) {
            first = s;
            w->wrong += s == GX_ERR_NOT_CANONICAL ? !c->bad || r[i].bad_index != c->n / 2
                                                  : s != GX_ERR_CANCELLED && s != w->stress->may;
        } else {
            w->wrong += s != (first == GX_ERR_CANCELLED ? first : GX_ERR_NOT_RUN);
        }
        if (s == GX_ERR_CANCELLED || s == GX_ERR_NOT_RUN)
            w->wrong += !untouched(slot->out[i], bytes);
    }
    w->wrong += first != status;
}

static void post(struct worker *w, gx_ticket *ticket)
{
    struct stress *s = w->stress;
    pthread_mutex_lock(&s->lock);
    s->board[w->number] = ticket;
    pthread_mutex_unlock(&s->lock);
}

static void meddle(struct worker *w)
{
    struct stress *s = w->stress;
    pthread_mutex_lock(&s->lock);
    gx_ticket *other = s->board[gxt_next(&w->seed) % THREADS];
    uint64_t random = gxt_next(&w->seed);
    if (other && random % 2)
        gx_cancel(other);
    else if (other)
        w->wrong += gx_wait(other, random % 3, NULL) == GX_ERR_INVALID;
    pthread_mutex_unlock(&s->lock);
}

static void end_slot(struct worker *w, struct slot *slot)
{
    gx_report r[JOBS] = {{.struct_size = sizeof *r}};
    gx_status s = GX_PENDING;
    uint64_t random = gxt_next(&w->seed);
    while (random % 4 == 0 && gx_poll(slot->ticket) == GX_PENDING)
        ;
    while (s == GX_PENDING)
        s = gx_wait(slot->ticket, random % 2 ? UINT64_MAX : 10000, r);
    w->wrong += gx_poll(slot->ticket) != s;
    check(w, slot, s, r);
    atomic_fetch_add(&w->stress->done, s == GX_OK);
    atomic_fetch_add(&w->stress->cancelled, s == GX_ERR_CANCELLED);
    atomic_fetch_add(&w->stress->cut, s == GX_ERR_CANCELLED && r[0].status == GX_OK);
    post(w, NULL);
    gx_ticket_destroy(&slot->ticket);
}

static void begin_slot(struct worker *w, struct slot *slot)
{
    struct stress *s = w->stress;
    gx_job jobs[JOBS];
    gx_report r[JOBS] = {{.struct_size = sizeof *r}};
    uint64_t random = gxt_next(&w->seed);
    gx_run_params opts = {.device = s->device[random % 2], .mode = (gx_mode)(random / 2 % 4)};
    fill_slot(w, slot, jobs);
    if (s->runs && random / 16 % (unsigned)s->runs == 0) {
        check(w, slot, gx_run(s->ctx, jobs, slot->count, &opts, r), r);
        return;
    }
    gx_status status = gx_submit(s->ctx, jobs, slot->count, &opts, &slot->ticket);
    if (status != GX_OK) { /* a lost device cannot always be opened */
        w->wrong += status != s->may || slot->ticket;
        w->jobs_failed += slot->count;
        return;
    }
    memset(jobs, 0xee, sizeof jobs);
    if (random >> 20 & 1)
        post(w, slot->ticket);
    if ((random >> 24 & 7) == 0)
        gx_cancel(slot->ticket);
}

static void *work(void *user)
{
    struct worker *w = user;
    struct stress *s = w->stress;
    pthread_barrier_wait(&s->start);
    double until = now() + s->seconds;
    while (now() < until) {
        struct slot *slot = &w->slots[gxt_next(&w->seed) % WINDOW];
        if (slot->ticket)
            end_slot(w, slot);
        begin_slot(w, slot);
        uint64_t random = gxt_next(&w->seed);
        if (random % 4 == 0)
            meddle(w);
        if (s->cancel_all && random % 64 == 1)
            gx_cancel_all(s->ctx);
    }
    for (size_t i = 0; i < WINDOW; i++)
        if (w->slots[i].ticket)
            end_slot(w, &w->slots[i]);
    return NULL;
}

static double seconds(void)
{
    const char *asked = getenv("GX_TEST_SECONDS");
    return asked ? atof(asked) : gxt_small() ? 1 : 2;
}

static void run_stress(struct stress *s, gx_config *config)
{
    struct gxt_heap heap;
    struct worker *workers = gxt_alloc(THREADS * sizeof *workers);
    gxt_heap_start(&heap);
    config->allocator = gxt_heap_allocator(&heap);
    s->ctx = gxt_open(config);
    s->seconds = seconds();
    pthread_mutex_init(&s->lock, NULL);
    assert_int_equal(pthread_barrier_init(&s->start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        struct worker *w = &workers[i];
        *w = (struct worker){.stress = s, .number = i, .seed = 4000 + (uint64_t)i};
        for (int k = 0; k < WINDOW * JOBS; k++)
            w->slots[k / JOBS].out[k % JOBS] = gxt_alloc((size_t)LARGE * 48);
        assert_int_equal(pthread_create(&w->thread, NULL, work, w), 0);
    }
    unsigned wrong = 0;
    uint64_t jobs_done = 0, jobs_failed = 0;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        wrong += workers[i].wrong;
        jobs_done += workers[i].jobs_done;
        jobs_failed += workers[i].jobs_failed;
        for (int k = 0; k < WINDOW * JOBS; k++)
            free(workers[i].slots[k / JOBS].out[k % JOBS]);
    }
    free(workers);
    struct gx_statistics stats = {0};
    gx__stats(s->ctx, &stats);
    print_message("%u tickets done, %u cancelled (%u of them in part), %llu jobs done\n", s->done,
                  s->cancelled, s->cut, (unsigned long long)jobs_done);
    assert_int_equal(wrong, 0);
    assert_int_equal(stats.jobs_done, jobs_done);
    assert_int_equal(stats.jobs_failed, jobs_failed);
    assert_int_equal(stats.jobs_waiting, 0);
    assert_int_equal(stats.tickets_done, stats.tickets_submitted);
    assert_int_equal(stats.tickets_cancelled, s->cancelled);
    assert_true(s->done > 0);
    assert_true(s->cancelled > 0);
    pthread_barrier_destroy(&s->start);
    pthread_mutex_destroy(&s->lock);
    gx_close(&s->ctx);
    gxt_heap_end(&heap);
}

/* ---- the kinds ---- */

static void on_cpu(void **state)
{
    (void)state;
    struct stress s = {.device = {"cpu", "cpu"}};
    run_stress(&s, &(gx_config){.queue_jobs = 20});
}

static void on_vulkan(void **state)
{
    (void)state;
    struct stress s = {.device = {vulkan, vulkan}};
    if (!vulkan)
        skip();
    run_stress(&s, &(gx_config){0});
}

/* With so little memory that calls and tickets have to wait for each other. */
static void mixed_with_calls(void **state)
{
    (void)state;
    struct stress s = {.device = {"cpu", vulkan ? vulkan : "cpu"}, .runs = 3, .cancel_all = 1};
    run_stress(&s, &(gx_config){.queue_jobs = 30, .device_memory = 3 << 20});
}

/* The device is lost every now and then, and reopened. */
static void on_devices_that_are_lost(void **state)
{
    (void)state;
    struct stress s = {.device = {"fault:lose@400:cpu", "cpu"}, .runs = 5};
    char name[64];
    if (vulkan) {
        snprintf(name, sizeof name, "fault:lose@2000:%s", vulkan);
        s.device[1] = name;
    }
    s.may = GX_ERR_DEVICE_LOST;
    run_stress(&s, &(gx_config){0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_cpu),
        cmocka_unit_test(on_vulkan),
        cmocka_unit_test(mixed_with_calls),
        cmocka_unit_test(on_devices_that_are_lost),
    };
    return cmocka_run_group_tests_name("async-stress", tests, prepare, free_cases);
}
