/* SPDX-License-Identifier: Apache-2.0
 *
 * A call puts its work into a free task, marks it as open for helpers, and takes parts until none
 * are left. A helper joins by taking a seat in the same word that counts the helpers inside; so it
 * only reads what cannot change meanwhile, and tasks are reused without a lock. Seats are not
 * returned: a helper leaves when no parts are left, and then no one needs to join. There is no
 * deadlock, even if parts make nested calls: a thread only waits for threads inside its own task,
 * and those can only wait for tasks that began later.
 */
#include "base/threads.h"

#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/instance.h"
#include "base/os.h"

/* How long a thread looks for work, or for others to finish, before it sleeps: waking it costs
 * about as much. */
#define LINGER_NS 100000u
enum {
    TURNS_PER_LOOK = 16,
    TURNS_PER_YIELD = 128
}; /* between looks at the clock; some microseconds */

enum { AT_REST, STARTING, UP }; /* gx_threads.state */

/* One helper in this many may be left out in favour of other threads. */
#define LENT_PART 4u

/* Layout of gx_threads_task.seats: helpers inside, whether the caller sleeps, seats left. */
#define IN_ONE     ((uint64_t)1)
#define IN_MASK    ((uint64_t)0x7fffffff)
#define ASLEEP     ((uint64_t)1 << 31)
#define SEAT_ONE   ((uint64_t)1 << 32)
#define SEATS_NONE ((uint64_t)0xffffffff)

/* ---- waiting ---- */

bool gx__linger(struct gx_linger *linger)
{
    gx__pause();
    uint32_t turn = ++linger->turns;
    if (turn % TURNS_PER_LOOK)
        return true;
    if (turn % TURNS_PER_YIELD == 0)
        sched_yield();
    uint64_t now = gx__now_ns();
    if (!linger->until)
        linger->until = now + LINGER_NS;
    return now < linger->until;
}

void gx__linger_for(const _Atomic uint64_t *number, uint64_t seen, pthread_mutex_t *lock)
{
    struct gx_linger linger = {0};
    pthread_mutex_unlock(lock);
    while (atomic_load(number) == seen && gx__linger(&linger))
        ;
    pthread_mutex_lock(lock);
}

/* ---- helping ---- */

/* Called by a helper inside the task, or by its caller: so the bit belongs to this task, not to a
 * later one. */
static void want_no_more(struct gx_threads *threads, const struct gx_threads_task *task)
{
    uint32_t bit = gx__threads_bit(threads, task);
    if (atomic_load(&threads->wanted[task->kind]) & bit)
        atomic_fetch_and(&threads->wanted[task->kind], ~bit);
}

/* The worker number, or 0 if no seat is left. */
static uint32_t join(struct gx_threads *threads, struct gx_threads_task *task)
{
    uint64_t seats = atomic_load(&task->seats);
    do {
        if (seats <= SEATS_NONE)
            return 0;
    } while (!atomic_compare_exchange_weak(&task->seats, &seats, seats - SEAT_ONE + IN_ONE));
    uint32_t left = (uint32_t)(seats / SEAT_ONE);
    if (left == 1)
        want_no_more(threads, task);
    return task->workers - left;
}

static void leave(struct gx_threads_task *task)
{
    uint64_t before = atomic_fetch_sub(&task->seats, IN_ONE);
    if ((before & IN_MASK) == 1 && before & ASLEEP)
        gx__os_wake(&task->over, 1); /* the task stays valid even after the call has returned */
}

/* Finds a task of this kind that wants helpers and takes a seat; NULL if there is none. */
static struct gx_threads_task *find(struct gx_threads *threads, enum gx_threads_kind kind,
                                    uint32_t *worker)
{
    uint32_t wanted = atomic_load(&threads->wanted[kind]);
    for (; wanted; wanted &= wanted - 1) {
        struct gx_threads_task *task = &threads->task[__builtin_ctz(wanted)];
        *worker = join(threads, task);
        if (*worker)
            return task;
    }
    return NULL;
}

static void help_copying(struct gx_threads *threads, struct gx_threads_task *task, uint32_t worker)
{
    for (size_t part; (part = atomic_fetch_add(&task->next, 1)) < task->parts;)
        task->fn(task->arg, part, worker);
    want_no_more(threads, task);
    leave(task);
}

/* Helps with copies between two parts, keeping its seat. */
static void help_computing(struct gx_threads *threads, struct gx_threads_task *task,
                           uint32_t worker)
{
    for (size_t part; (part = atomic_fetch_add(&task->next, 1)) < task->parts;) {
        uint32_t other_worker;
        task->fn(task->arg, part, worker);
        if (atomic_load(&task->next) >= task->parts)
            break;
        struct gx_threads_task *other = find(threads, GX_THREADS_COPY, &other_worker);
        if (other)
            help_copying(threads, other, other_worker);
    }
    want_no_more(threads, task);
    leave(task);
}

/* ---- the threads ---- */

static bool anything(struct gx_threads *threads)
{
    return atomic_load(&threads->wanted[GX_THREADS_COPY]) ||
           atomic_load(&threads->wanted[GX_THREADS_COMPUTE]) || atomic_load(&threads->stop);
}

static struct gx_threads_task *find_any(struct gx_threads *threads, uint32_t *worker)
{
    struct gx_threads_task *task = find(threads, GX_THREADS_COPY, worker);
    return task ? task : find(threads, GX_THREADS_COMPUTE, worker);
}

/* Takes a seat in some task; NULL if it is time to sleep or to exit. */
static struct gx_threads_task *look_out(struct gx_threads *threads, uint32_t *worker)
{
    struct gx_linger linger = {0};
    struct gx_threads_task *task = find_any(threads, worker);
    if (task || !atomic_load(&threads->spins))
        return task;
    atomic_fetch_add(&threads->looking, 1);
    while (!task && !atomic_load(&threads->stop) && gx__linger(&linger))
        task = find_any(threads, worker);
    atomic_fetch_sub(&threads->looking, 1);
    return task;
}

/* A caller marks its task and then checks for sleepers; a thread announces that it sleeps and then
 * checks the marks: at least one of them sees the other. */
static void sleep_until_wanted(struct gx_threads *threads)
{
    uint32_t seen = atomic_load(&threads->bell);
    atomic_fetch_add(&threads->asleep, 1);
    if (!anything(threads))
        gx__os_wait(&threads->bell, seen);
    atomic_fetch_sub(&threads->asleep, 1);
}

static void *serve(void *user)
{
    struct gx_threads *threads = user;
    while (!atomic_load(&threads->stop)) {
        uint32_t worker;
        struct gx_threads_task *task = look_out(threads, &worker);
        if (!task)
            sleep_until_wanted(threads);
        else if (task->kind == GX_THREADS_COPY)
            help_copying(threads, task, worker);
        else
            help_computing(threads, task, worker);
    }
    return NULL;
}

/* One caller starts the threads; others meanwhile continue with those that exist. If a thread
 * cannot be started, there are fewer. */
static void start(struct gx_threads *threads, uint32_t asked)
{
    uint32_t at_rest = AT_REST, cores = gx__cores(), wanted = (asked ? asked : cores) - 1;
    if (!atomic_compare_exchange_strong(&threads->state, &at_rest, STARTING))
        return;
    wanted = wanted < GX_THREADS_HELPERS ? wanted : GX_THREADS_HELPERS;
    atomic_store(&threads->spins, wanted < cores);
    while (atomic_load(&threads->started) < wanted &&
           gx__thread_start(&threads->thread[atomic_load(&threads->started)], serve, threads))
        atomic_fetch_add(&threads->started, 1);
    atomic_store(&threads->state, UP);
}

void gx__threads_end(struct gx_instance *instance)
{
    struct gx_threads *threads = &instance->threads;
    if (atomic_load(&threads->state) == AT_REST)
        return;
    atomic_store(&threads->stop, true);
    gx__os_wake(&threads->bell, GX_THREADS_HELPERS);
    for (uint32_t i = 0; i < atomic_load(&threads->started); i++)
        pthread_join(threads->thread[i], NULL);
    memset(threads, 0, sizeof *threads);
}

/* ---- calling ---- */

/* A free task, or NULL. */
static struct gx_threads_task *claim(struct gx_threads *threads)
{
    uint32_t used = atomic_load(&threads->used), lowest;
    do {
        lowest = ~used & (used + 1);
        if (!lowest)
            return NULL;
    } while (!atomic_compare_exchange_weak(&threads->used, &used, used | lowest));
    return &threads->task[__builtin_ctz(lowest)];
}

static void post(struct gx_threads *threads, struct gx_threads_task *task, uint32_t helpers)
{
    atomic_store(&task->next, 0);
    atomic_store(&task->seats, helpers * SEAT_ONE);
    atomic_fetch_or(&threads->wanted[task->kind], gx__threads_bit(threads, task));
    uint32_t looking = atomic_load(&threads->looking);
    if (atomic_load(&threads->asleep) && helpers > looking)
        gx__os_wake(&threads->bell, helpers - looking);
}

/* Waits until no helper is inside the task. */
static void see_others_off(struct gx_threads *threads, struct gx_threads_task *task)
{
    struct gx_linger linger = {0};
    bool spins = atomic_load(&threads->spins);
    atomic_fetch_and(&task->seats, SEATS_NONE);
    while (atomic_load(&task->seats) & IN_MASK && spins)
        spins = gx__linger(&linger);
    for (;;) {
        uint32_t seen = atomic_load(&task->over);
        if (!(atomic_fetch_or(&task->seats, ASLEEP) & IN_MASK))
            break;
        gx__os_wait(&task->over, seen);
    }
}

void gx__threads_lend(struct gx_instance *instance, bool begin)
{
    atomic_fetch_add(&instance->threads.lent, begin ? 1 : (uint32_t)-1);
}

/* Helpers for so many parts, besides the caller. */
static uint32_t helpers_for(struct gx_instance *instance, uint32_t workers, size_t parts)
{
    if (!instance || workers < 2 || parts < 2)
        return 0;
    struct gx_threads *threads = &instance->threads;
    if (atomic_load(&threads->state) == AT_REST)
        start(threads, instance->config.threads);
    uint32_t started = atomic_load(&threads->started), lent = atomic_load(&threads->lent);
    uint32_t helpers = started - (lent < started / LENT_PART ? lent : started / LENT_PART);
    helpers = helpers < workers - 1 ? helpers : workers - 1;
    return helpers < parts - 1 ? helpers : (uint32_t)(parts - 1);
}

void gx__threads_run(struct gx_instance *instance, enum gx_threads_kind kind, uint32_t workers,
                     size_t parts, gx_threads_fn fn, void *arg)
{
    uint32_t helpers = helpers_for(instance, workers, parts);
    struct gx_threads *threads = helpers ? &instance->threads : NULL;
    struct gx_threads_task *task = helpers ? claim(threads) : NULL;
    if (!task) {
        for (size_t part = 0; part < parts; part++)
            fn(arg, part, 0);
        return;
    }
    task->fn = fn;
    task->arg = arg;
    task->parts = parts;
    task->workers = helpers + 1;
    task->kind = kind;
    post(threads, task, helpers);
    for (size_t part; (part = atomic_fetch_add(&task->next, 1)) < parts;)
        fn(arg, part, 0);
    want_no_more(threads, task);
    see_others_off(threads, task);
    atomic_fetch_and(&threads->used, ~gx__threads_bit(threads, task));
}

void gx__threads_spread(struct gx_instance *instance, size_t parts, gx_threads_fn fn, void *arg)
{
    gx__threads_run(instance, GX_THREADS_COMPUTE, UINT32_MAX, parts, fn, arg);
}
