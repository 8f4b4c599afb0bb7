/* SPDX-License-Identifier: Apache-2.0
 *
 * Many threads on one context: mixed operations, fields, sizes and devices, some of them opened for
 * the first time by several threads at once, with failing jobs among them. Every result is checked
 * and the statistics must add up exactly. cmocka's asserts do not work outside the main thread, so
 * the threads count errors.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "api/counters.h"
#include "api/cases.h"
#include "support/heap.h"

enum { THREADS = 8, LARGE = 20000 /* enough for several host threads */, GUARD = 0x5c };

static const char *const devices[] = {"cpu", "ref", "fault:fail@1000000:cpu",
                                      "fault:fail@1000000:ref"};

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    gx_ctx *ctx;
    int number, rounds;
    int wrong;                 /* number of errors */
    struct gx_statistics want; /* this thread's part */
};

static int prepare(void **state)
{
    (void)state;
    gxt_clear_environment();
    return make_cases(77, gxt_small() ? LARGE / 4 : LARGE, 5);
}

/* ---- one thread ---- */

static void count(struct worker *w, const struct job_case *c, const gx_report *r)
{
    size_t bytes = c->n * gxt_element(c->field);
    w->want.jobs_done++;
    w->want.elements += c->n;
    w->want.bytes_read += gx_op_get_info(c->op)->operands * bytes;
    w->want.bytes_written += gxt_results(c->op, c->n) * gxt_element(c->field);
    w->want.dispatches += r->dispatches;
    w->want.compute_ns += r->compute_ns;
}

static void run_good(struct worker *w, const struct job_case *c, const char *device,
                     unsigned char *out, int in_place)
{
    size_t bytes = gxt_results(c->op, c->n) * gxt_element(c->field);
    in_place &= !gx_op_get_info(c->op)->reduces;
    memset(out, GUARD, bytes);
    if (in_place)
        memcpy(out, c->in[0], bytes);
    gx_job job = {.op = c->op, .field = c->field, .n = c->n, .out = gx_host(out)};
    job.a = gx_host(in_place ? out : c->in[0]);
    if (gx_op_get_info(c->op)->operands > 1)
        job.b = gx_host(c->in[1]);
    if (gx_op_get_info(c->op)->operands > 2)
        job.c = gx_host(c->in[2]);
    gx_run_params opts = {.device = device};
    gx_report r = {.struct_size = sizeof r};
    gx_status status = gx_run(w->ctx, &job, 1, &opts, &r);
    if (c->bad) {
        w->wrong +=
            status != GX_ERR_NOT_CANONICAL || r.bad_index != c->n / 2 || r.bad_operand != 'a';
        w->want.jobs_failed++;
        return;
    }
    w->wrong += status != GX_OK || r.status != GX_OK || strcmp(r.device, device) != 0 ||
                memcmp(out, c->want, bytes) != 0;
    count(w, c, &r);
}

/* A call of two jobs on a device that does not exist: one fails, one is not run. */
static void run_nowhere(struct worker *w)
{
    uint32_t x[2] = {1, 2}, out[2] = {3, 4};
    gx_job job = {.op = GX_ADD, .field = GX_U32, .n = 2};
    job.a = job.b = gx_host(x);
    job.out = gx_host(out);
    const gx_job jobs[2] = {job, job};
    gx_report r[2] = {{.struct_size = sizeof *r}};
    gx_run_params opts = {.device = "nowhere"};
    w->wrong += gx_run(w->ctx, jobs, 2, &opts, r) != GX_ERR_NO_DEVICE ||
                r[0].status != GX_ERR_NO_DEVICE || r[1].status != GX_ERR_NOT_RUN || out[0] != 3;
    w->want.jobs_failed += 2;
}

static void look_around(struct worker *w)
{
    struct gx_statistics s = {0};
    gx__stats(w->ctx, &s);
    gx_device_info infos[4] = {{.struct_size = sizeof *infos}};
    size_t room = GXT_COUNT(infos);
    w->wrong += s.jobs_done < w->want.jobs_done || s.jobs_failed < w->want.jobs_failed ||
                gx_devices(w->ctx, infos, &room) != GX_OK || room < 2;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    uint64_t seed = 1000 + (uint64_t)w->number;
    unsigned char *out = malloc((size_t)LARGE * 48);
    w->wrong += !out;
    pthread_barrier_wait(w->start);
    for (int i = 0; out && i < w->rounds; i++) {
        uint64_t random = gxt_next(&seed);
        const struct job_case *c = &cases[random % CASES];
        size_t d = random >> 32 & 3;
        if (c->n > 500 && d) /* the reference takes long */
            d = 2;
        if (random >> 40 & 15)
            run_good(w, c, devices[i < 4 ? (size_t)i : d], out, random >> 50 & 1);
        else
            run_nowhere(w);
        if (i % 16 == 0)
            look_around(w);
    }
    free(out);
    return NULL;
}

/* ---- all of them ---- */

static void expect_sum(gx_ctx *ctx, const struct worker *workers)
{
    struct gx_statistics got = {0}, want = {0};
    for (int i = 0; i < THREADS; i++) {
        want.jobs_done += workers[i].want.jobs_done;
        want.jobs_failed += workers[i].want.jobs_failed;
        want.elements += workers[i].want.elements;
        want.bytes_read += workers[i].want.bytes_read;
        want.bytes_written += workers[i].want.bytes_written;
        want.dispatches += workers[i].want.dispatches;
        want.compute_ns += workers[i].want.compute_ns;
    }
    gx__stats(ctx, &got);
    assert_int_equal(got.jobs_done, want.jobs_done);
    assert_int_equal(got.jobs_failed, want.jobs_failed);
    assert_int_equal(got.elements, want.elements);
    assert_int_equal(got.bytes_read, want.bytes_read);
    assert_int_equal(got.bytes_written, want.bytes_written);
    assert_int_equal(got.dispatches, want.dispatches);
    assert_int_equal(got.compute_ns, want.compute_ns);
}

static void run_threads(gx_ctx *ctx, int rounds)
{
    struct worker workers[THREADS];
    pthread_barrier_t start;
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.start = &start, .ctx = ctx, .number = i, .rounds = rounds};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    int wrong = 0;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        wrong += workers[i].wrong;
    }
    pthread_barrier_destroy(&start);
    assert_int_equal(wrong, 0);
    expect_sum(ctx, workers);
}

static void one_context_many_threads(void **state)
{
    (void)state;
    gx_ctx *ctx = gxt_open(NULL);
    run_threads(ctx, gxt_small() ? 40 : 300);
    gx_close(&ctx);
}

static void in_small_dispatches(void **state)
{
    (void)state;
    struct gxt_heap heap;
    gxt_heap_start(&heap);
    gx_config config = {.dispatch_elems = 50, .allocator = gxt_heap_allocator(&heap)};
    gx_ctx *ctx = gxt_open(&config);
    run_threads(ctx, gxt_small() ? 20 : 200);
    gx_close(&ctx);
    gxt_heap_end(&heap);
}

/* Opening a device is where threads first meet: repeatedly, on new contexts. */
static void first_use_at_once(void **state)
{
    (void)state;
    int times = gxt_small() ? 5 : 60;
    for (int i = 0; i < times; i++) {
        gx_ctx *ctx = gxt_open(NULL);
        run_threads(ctx, 4);
        gx_close(&ctx);
    }
}

/* If all come at once, the device is still opened once: its first call fails once. */
static void *first_call(void *argument)
{
    struct worker *w = argument;
    uint32_t x[2] = {1, 2}, out[2] = {0};
    gx_job job = {.op = GX_ADD, .field = GX_U32, .n = 2};
    job.a = job.b = gx_host(x);
    job.out = gx_host(out);
    gx_run_params opts = {.device = "fault:fail@1:cpu"};
    pthread_barrier_wait(w->start);
    gx_status status = gx_run(w->ctx, &job, 1, &opts, NULL);
    w->want.jobs_failed = status == GX_ERR_DEVICE;
    w->wrong = status != GX_OK && status != GX_ERR_DEVICE;
    return NULL;
}

static void one_device_for_all(void **state)
{
    (void)state;
    for (int i = 0; i < (gxt_small() ? 50 : 500); i++) {
        gx_ctx *ctx = gxt_open(NULL);
        struct worker workers[THREADS];
        pthread_barrier_t start;
        uint64_t failed = 0;
        assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
        for (int t = 0; t < THREADS; t++) {
            workers[t] = (struct worker){.start = &start, .ctx = ctx, .number = t};
            assert_int_equal(pthread_create(&workers[t].thread, NULL, first_call, &workers[t]), 0);
        }
        for (int t = 0; t < THREADS; t++) {
            assert_int_equal(pthread_join(workers[t].thread, NULL), 0);
            assert_int_equal(workers[t].wrong, 0);
            failed += workers[t].want.jobs_failed;
        }
        pthread_barrier_destroy(&start);
        gx_close(&ctx);
        assert_int_equal(failed, 1);
    }
}

/* Only the smallest jobs, so that threads contend for the counters. */
static void *hammer(void *argument)
{
    struct worker *w = argument;
    uint32_t x = (uint32_t)w->number, out = 0;
    gx_job job = {.op = GX_ADD, .field = GX_U32, .n = 1};
    job.a = job.b = gx_host(&x);
    job.out = gx_host(&out);
    pthread_barrier_wait(w->start);
    for (int i = 0; i < w->rounds; i++)
        w->wrong += gx_run(w->ctx, &job, 1, NULL, NULL) != GX_OK || out != 2 * x;
    return NULL;
}

static void counters_lose_nothing(void **state)
{
    (void)state;
    int rounds = gxt_small() ? 5000 : 50000;
    gx_ctx *ctx = gxt_open(NULL);
    struct worker workers[THREADS];
    pthread_barrier_t start;
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.start = &start, .ctx = ctx, .number = i, .rounds = rounds};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, hammer, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].wrong, 0);
    }
    pthread_barrier_destroy(&start);
    struct gx_statistics s = {0};
    gx__stats(ctx, &s);
    uint64_t jobs = (uint64_t)rounds * THREADS;
    assert_int_equal(s.jobs_done, jobs);
    assert_int_equal(s.elements, jobs);
    assert_int_equal(s.bytes_read, 8 * jobs);
    assert_int_equal(s.bytes_written, 4 * jobs);
    assert_int_equal(s.dispatches, jobs);
    gx_close(&ctx);
}

/* Contexts share nothing. */
static void *own_context(void *argument)
{
    _Atomic int *wrong = argument;
    for (int i = 0; i < (gxt_small() ? 5 : 20); i++) {
        gx_ctx *ctx = NULL;
        gx_config config = {.dispatch_elems = 7};
        if (gx_open(&config, &ctx) != GX_OK) {
            atomic_fetch_add(wrong, 1);
            continue;
        }
        pthread_barrier_t none;
        pthread_barrier_init(&none, NULL, 1);
        struct worker w = {.start = &none, .ctx = ctx, .number = i, .rounds = 4};
        work(&w);
        struct gx_statistics s = {0};
        gx__stats(ctx, &s);
        if (w.wrong || s.jobs_done != w.want.jobs_done || s.jobs_failed != w.want.jobs_failed)
            atomic_fetch_add(wrong, 1);
        pthread_barrier_destroy(&none);
        gx_close(&ctx);
    }
    return NULL;
}

static void a_context_for_each_thread(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    _Atomic int wrong = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, own_context, &wrong), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_context_many_threads), cmocka_unit_test(in_small_dispatches),
        cmocka_unit_test(first_use_at_once),        cmocka_unit_test(one_device_for_all),
        cmocka_unit_test(counters_lose_nothing),    cmocka_unit_test(a_context_for_each_thread),
    };
    return cmocka_run_group_tests_name("threads", tests, prepare, free_cases);
}
