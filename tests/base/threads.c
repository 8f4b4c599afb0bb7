/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread pool: every part exactly once, unique worker numbers, many callers, nested calls,
 * copies before computing, threads that cannot be started, and stopping it in every state.
 */
#include "base/threads.h"

#include <errno.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/instance.h"
#include "support/harness.h"

enum { THREADS = 4, PARTS_MAX = 5000 };

static struct gx_instance instance;

/* ---- threads that cannot be had ---- */

static atomic_uint allowed = 1000; /* threads that may still be created */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg)
{
    if (!allowed)
        return EAGAIN;
    allowed--;
    return __real_pthread_create(thread, attr, run, arg);
}

/* ---- work ---- */

struct work {
    uint32_t workers;
    unsigned long spin;                /* how long a part takes */
    _Atomic unsigned count[PARTS_MAX]; /* per part */
    atomic_bool busy[THREADS + 1];     /* worker numbers in use */
    unsigned sum[THREADS + 1];         /* written without atomics: a number belongs to one thread */
    _Atomic unsigned most, now, mistakes; /* threads at it */
};

static void one_part(void *user, size_t part, uint32_t worker)
{
    struct work *w = user;
    if (worker >= w->workers || atomic_exchange(&w->busy[worker], true)) {
        atomic_fetch_add(&w->mistakes, 1);
        return;
    }
    unsigned now = atomic_fetch_add(&w->now, 1) + 1, most = atomic_load(&w->most);
    while (most < now && !atomic_compare_exchange_weak(&w->most, &most, now))
        ;
    for (volatile unsigned long i = 0; i < w->spin; i++)
        ;
    w->sum[worker]++;
    atomic_fetch_add(&w->count[part], 1);
    atomic_fetch_sub(&w->now, 1);
    atomic_store(&w->busy[worker], false);
}

static struct work *new_work(uint32_t workers, unsigned long spin)
{
    struct work *w = gxt_alloc(sizeof *w);
    memset(w, 0, sizeof *w);
    w->workers = workers;
    w->spin = spin;
    return w;
}

/* Number of parts not done exactly once, or done by the wrong worker; no assertion, because other
 * threads call it too. */
static unsigned wrong(const struct work *w, size_t parts)
{
    unsigned bad = w->mistakes + (w->most > w->workers), sum = 0;
    for (size_t i = 0; i < PARTS_MAX; i++)
        bad += w->count[i] != (i < parts);
    for (size_t i = 0; i < GXT_COUNT(w->sum); i++)
        sum += w->sum[i];
    return bad + (sum != parts);
}

static unsigned run_and_check(enum gx_threads_kind kind, uint32_t workers, size_t parts,
                              unsigned long spin)
{
    struct work *w = new_work(workers ? workers : 1, spin);
    gx__threads_run(&instance, kind, workers, parts, one_part, w);
    unsigned bad = wrong(w, parts);
    free(w);
    return bad;
}

static int start(void **state)
{
    (void)state;
    memset(&instance, 0, sizeof instance);
    instance.config.threads = THREADS;
    return 0;
}

static int end(void **state)
{
    (void)state;
    gx__threads_end(&instance);
    allowed = 1000;
    return 0;
}

/* ---- one caller ---- */

static void every_part_once(void **state)
{
    (void)state;
    const size_t parts[] = {0, 1, 2, 3, 7, 64, PARTS_MAX};
    for (uint32_t workers = 0; workers <= THREADS + 1; workers++)
        for (size_t i = 0; i < GXT_COUNT(parts); i++)
            for (int kind = 0; kind < GX_THREADS_KINDS; kind++)
                for (unsigned long spin = 0; spin <= 300; spin += 300)
                    assert_int_equal(
                        run_and_check((enum gx_threads_kind)kind, workers, parts[i], spin), 0);
}

static void alone_it_starts_nothing(void **state)
{
    (void)state;
    allowed = 0;
    assert_int_equal(run_and_check(GX_THREADS_COMPUTE, 1, 100, 0), 0);
    assert_int_equal(run_and_check(GX_THREADS_COPY, 4, 1, 0), 0);
    assert_int_equal(instance.threads.state, 0);
    assert_int_equal(instance.threads.used, 0);
}

struct meeting {
    uint32_t wanted;
    _Atomic uint32_t here;
};

/* Ends only when this many threads take part. */
static void wait_for_all(void *user, size_t part, uint32_t worker)
{
    struct meeting *m = user;
    (void)part;
    (void)worker;
    atomic_fetch_add(&m->here, 1);
    while (atomic_load(&m->here) < m->wanted)
        sched_yield();
}

static void all_threads_help(void **state)
{
    (void)state;
    for (uint32_t wanted = 2; wanted <= THREADS; wanted++)
        for (int kind = 0; kind < GX_THREADS_KINDS; kind++) {
            struct meeting m = {.wanted = wanted};
            gx__threads_run(&instance, (enum gx_threads_kind)kind, wanted, wanted, wait_for_all,
                            &m);
            assert_int_equal(m.here, wanted);
        }
    assert_int_equal(instance.threads.started, THREADS - 1);
}

static void await_sleep(void)
{
    while (atomic_load(&instance.threads.asleep) < THREADS - 1)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void sleepers_are_woken(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        struct meeting m = {.wanted = THREADS};
        gx__threads_run(&instance, GX_THREADS_COMPUTE, THREADS, THREADS, wait_for_all, &m);
        await_sleep();
    }
}

struct guests {
    uint32_t wanted;
    _Atomic uint32_t here, last; /* last: the highest number of a worker */
};

/* Ends when this many take part, and any others have had time to arrive. */
static void wait_for_some(void *user, size_t part, uint32_t worker)
{
    struct guests *g = user;
    (void)part;
    uint32_t last = atomic_load(&g->last);
    while (last < worker && !atomic_compare_exchange_weak(&g->last, &last, worker))
        ;
    atomic_fetch_add(&g->here, 1);
    for (int ms = 0; ms < 20000 && atomic_load(&g->here) < g->wanted; ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

/* One helper less for each lent core, at most a quarter of them. */
static void lent_cores_are_left_out(void **state)
{
    (void)state;
    enum { MANY = 9 };
    const struct {
        int lend;
        uint32_t workers;
    } steps[] = {{0, MANY},      {1, MANY - 1},  {1, MANY - 2}, {1, MANY - 2},
                 {-1, MANY - 2}, {-1, MANY - 1}, {-1, MANY}};
    instance.config.threads = MANY;
    for (size_t i = 0; i < GXT_COUNT(steps); i++) {
        struct guests g = {.wanted = steps[i].workers};
        if (steps[i].lend)
            gx__threads_lend(&instance, steps[i].lend > 0);
        gx__threads_run(&instance, GX_THREADS_COMPUTE, MANY, MANY, wait_for_some, &g);
        assert_int_equal(g.here, MANY);
        assert_int_equal(g.last, steps[i].workers - 1);
    }
}

/* ---- several ---- */

struct caller {
    pthread_t thread;
    uint64_t seed;
    unsigned bad;
};

static void *call_often(void *user)
{
    struct caller *c = user;
    int rounds = gxt_small() ? 100 : 1000;
    for (int i = 0; i < rounds; i++) {
        uint64_t r = gxt_next(&c->seed);
        enum gx_threads_kind kind = r & 1 ? GX_THREADS_COPY : GX_THREADS_COMPUTE;
        c->bad += run_and_check(kind, (uint32_t)(r >> 1) % (THREADS + 1), (r >> 8) % 50,
                                (r >> 16) % 1000);
    }
    return NULL;
}

static void many_callers(void **state)
{
    (void)state;
    static struct caller callers[GX_THREADS_TASKS + 8]; /* more than there are slots */
    for (size_t i = 0; i < GXT_COUNT(callers); i++) {
        callers[i] = (struct caller){.seed = i + 1};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
    }
    for (size_t i = 0; i < GXT_COUNT(callers); i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].bad, 0);
    }
    assert_int_equal(instance.threads.used, 0);
    for (int kind = 0; kind < GX_THREADS_KINDS; kind++)
        assert_int_equal(instance.threads.wanted[kind], 0);
}

static void call_again(void *user, size_t part, uint32_t worker)
{
    _Atomic unsigned *bad = user;
    (void)worker;
    enum gx_threads_kind kind = part & 1 ? GX_THREADS_COPY : GX_THREADS_COMPUTE;
    atomic_fetch_add(bad, run_and_check(kind, THREADS, 20, 200));
}

static void parts_call_again(void **state)
{
    (void)state;
    _Atomic unsigned bad = 0;
    for (int kind = 0; kind < GX_THREADS_KINDS; kind++)
        gx__threads_run(&instance, (enum gx_threads_kind)kind, THREADS, 200, call_again, &bad);
    assert_int_equal(bad, 0);
}

/* ---- copies come first ---- */

struct order {
    pthread_t copier;
    _Atomic uint32_t computing; /* threads that have begun */
    atomic_bool begun[THREADS], copied, late;
    struct meeting meeting;
};

static void *copy_now(void *user)
{
    struct order *o = user;
    while (atomic_load(&o->computing) < THREADS)
        sched_yield();
    gx__threads_run(&instance, GX_THREADS_COPY, THREADS, THREADS, wait_for_all, &o->meeting);
    atomic_store(&o->copied, true);
    return NULL;
}

/* All take part until the copy wants helpers. Then the caller is held until it is done, and a
 * helper that takes another part before it has helped with the copy is an error. */
static void compute_until_copied(void *user, size_t part, uint32_t worker)
{
    struct order *o = user;
    (void)part;
    if (atomic_exchange(&o->begun[worker], true)) {
        if (atomic_load(&o->meeting.here) < THREADS)
            atomic_store(&o->late, true);
        return;
    }
    atomic_fetch_add(&o->computing, 1);
    while (!atomic_load(&o->copied) &&
           !(worker && atomic_load(&instance.threads.wanted[GX_THREADS_COPY])))
        sched_yield();
}

static void helpers_see_to_copies(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct order o = {.meeting.wanted = THREADS};
        assert_int_equal(pthread_create(&o.copier, NULL, copy_now, &o), 0);
        gx__threads_run(&instance, GX_THREADS_COMPUTE, THREADS, 1000, compute_until_copied, &o);
        pthread_join(o.copier, NULL);
        assert_false(o.late);
    }
}

/* ---- its beginning and end ---- */

static void threads_that_cannot_be_had(void **state)
{
    for (unsigned n = 0; n < THREADS; n++) {
        allowed = n;
        assert_int_equal(run_and_check(GX_THREADS_COMPUTE, THREADS, 500, 100), 0);
        assert_int_equal(run_and_check(GX_THREADS_COPY, THREADS, 500, 100), 0);
        assert_int_equal(instance.threads.started, n);
        end(state);
        start(state);
    }
}

static void it_ends_in_every_state(void **state)
{
    gx__threads_end(&instance); /* never needed */
    gx__threads_end(&instance);
    for (int i = 0; i < 100; i++) {
        start(state);
        run_and_check(GX_THREADS_COMPUTE, THREADS, 8, 100);
        if (i % 3 == 1) /* just about to sleep, or asleep */
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        while (i % 10 == 5 && atomic_load(&instance.threads.asleep) < THREADS - 1)
            sched_yield();
        gx__threads_end(&instance);
        assert_int_equal(instance.threads.started, 0);
    }
    assert_int_equal(run_and_check(GX_THREADS_COMPUTE, THREADS, 100, 100), 0); /* started again */
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NO_THREADS_AFTER_FORK
#endif
#endif

/* A new pool in the child of a process that has one. */
static void a_child_has_its_own(void **state)
{
#ifdef NO_THREADS_AFTER_FORK
    (void)state;
    skip(); /* not supported by ThreadSanitizer */
#else
    assert_int_equal(run_and_check(GX_THREADS_COMPUTE, THREADS, 100, 100), 0);
    await_sleep(); /* a starting thread may hold a lock of AddressSanitizer, in the child forever */
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        start(state);
        unsigned bad = run_and_check(GX_THREADS_COMPUTE, THREADS, 100, 100);
        bad += instance.threads.started != THREADS - 1;
        gx__threads_end(&instance);
        _exit(bad != 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
#endif
}

static void cores_are_counted(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(gx__cores(), CPU_COUNT(&before));
    int cpu = 0;
    while (!CPU_ISSET(cpu, &before))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(gx__cores(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_part_once, start, end),
        cmocka_unit_test_setup_teardown(alone_it_starts_nothing, start, end),
        cmocka_unit_test_setup_teardown(all_threads_help, start, end),
        cmocka_unit_test_setup_teardown(sleepers_are_woken, start, end),
        cmocka_unit_test_setup_teardown(lent_cores_are_left_out, start, end),
        cmocka_unit_test_setup_teardown(many_callers, start, end),
        cmocka_unit_test_setup_teardown(parts_call_again, start, end),
        cmocka_unit_test_setup_teardown(helpers_see_to_copies, start, end),
        cmocka_unit_test_setup_teardown(threads_that_cannot_be_had, start, end),
        cmocka_unit_test_setup_teardown(it_ends_in_every_state, start, end),
        cmocka_unit_test_setup_teardown(a_child_has_its_own, start, end),
        cmocka_unit_test(cores_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
