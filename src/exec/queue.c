/* SPDX-License-Identifier: Apache-2.0
 *
 * Tickets and the threads that serve them. One lock guards the whole queue of a context: it is
 * taken a few times per ticket, and never held while waiting for a device. The tickets of a worker
 * are served in the order in which they were submitted. Tickets are kept for reuse, by powers of
 * two of their size, so that nothing is allocated once warm.
 */
#include "exec/queue.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/float_env.h"
#include "base/log.h"
#include "base/os.h"
#include "exec/engine.h"

/* Groups in flight: one is copied in, one computes, one is copied out. */
#define OVERLAP_SETS 3u

enum { CLASSES = 48 }; /* size classes of tickets: powers of two */

struct gx_ticket {
    struct gx_batch batch; /* the segment that is queued or running; must be the first member */
    struct gx_backlog *queue;
    struct gx_ticket *all_next, **all_at; /* list of pending tickets */
    struct gx_ticket *next, **at; /* list of waiting tickets of a worker; of spare tickets: next */
    struct gx_worker *queued;     /* the worker for which it waits; NULL: none */
    pthread_cond_t changed;
    _Atomic gx_status status;
    atomic_bool cancel;
    bool freed;
    uint32_t waiters; /* threads in gx__ticket_wait or gx__ticket_wait_any, and calls of: */
    gx_done_fn done;  /* called when the ticket is done; may be NULL */
    void *done_user;
    struct gx_ticket *told_next; /* list of tickets whose function must be called */
    uint32_t size;               /* size class */
    struct gx_call call;         /* with the jobs and reports of the ticket */
    size_t first;                /* earlier jobs are done and their engines released */
    struct gx_task *jobs;
    struct gx_engine **engines; /* of each job; a segment is a run of the same; NULL: whoever
                                   the routers choose */
    struct gx_outcome reports[];
};

struct gx_backlog {
    gx_allocator allocator;
    struct gx_instance *instance; /* NULL after gx__queue_close */
    uint64_t limit;
    pthread_mutex_t lock;
    pthread_cond_t room, idle, any; /* any: a ticket is done, if a thread waits for any */
    uint64_t next_turn, serving;    /* waiting for room: first come, first served */
    uint64_t jobs;                  /* of pending tickets */
    struct gx_ticket *pending;
    struct gx_ticket *told; /* see tell */
    uint32_t any_waiters;
    size_t tickets; /* that callers have */
    bool closed;
    struct gx_ticket *spare[CLASSES];
    uint64_t spare_jobs; /* their capacity */

    gx_route_fn route;
    gx_run_on_fn there;
    void *user; /* for both */
    gx_feed_fn feed;
    struct gx_worker routers; /* waiting tickets and stop flag; its threads: */
    pthread_t router_thread[GX_ROUTER_THREADS];
    uint32_t routers_idle;
};

/* ---- the queue ---- */

struct gx_backlog *gx__queue_open(struct gx_instance *instance, gx_route_fn route,
                                  gx_run_on_fn there, void *user, gx_feed_fn feed)
{
    const gx_config *config = &instance->config;
    struct gx_backlog *queue = gx__alloc(&config->allocator, sizeof *queue);
    if (!queue)
        return NULL;
    queue->allocator = config->allocator;
    queue->instance = instance;
    queue->limit = config->queue_jobs ? config->queue_jobs : GX_QUEUE_JOBS;
    pthread_mutex_init(&queue->lock, NULL);
    gx__os_cond_init(&queue->room);
    gx__os_cond_init(&queue->idle);
    gx__os_cond_init(&queue->any);
    queue->route = route;
    queue->there = there;
    queue->user = user;
    queue->feed = feed;
    gx__worker_init(&queue->routers);
    return queue;
}

static void free_queue(struct gx_backlog *queue)
{
    gx_allocator allocator = queue->allocator;
    pthread_cond_destroy(&queue->routers.work);
    pthread_cond_destroy(&queue->any);
    pthread_cond_destroy(&queue->idle);
    pthread_cond_destroy(&queue->room);
    pthread_mutex_destroy(&queue->lock);
    gx__free(&allocator, queue);
}

void gx__queue_drain(struct gx_backlog *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->pending)
        pthread_cond_wait(&queue->idle, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
}

/* ---- memory of tickets ---- */

static void free_ticket(struct gx_backlog *queue, struct gx_ticket *t)
{
    pthread_cond_destroy(&t->changed);
    gx__free(&queue->allocator, t);
}

static struct gx_ticket *new_ticket(struct gx_backlog *queue, uint32_t size)
{
    const size_t each =
        sizeof(struct gx_outcome) + sizeof(struct gx_task) + sizeof(struct gx_engine *);
    size_t room = (size_t)1 << size;
    if (room > SIZE_MAX / 2 / each)
        return NULL;
    struct gx_ticket *t = gx__alloc(&queue->allocator, sizeof *t + room * each);
    if (!t)
        return NULL;
    t->queue = queue;
    t->size = size;
    t->jobs = (struct gx_task *)(t->reports + room);
    t->engines = (struct gx_engine **)(t->jobs + room);
    gx__os_cond_init(&t->changed);
    return t;
}

struct gx_ticket *gx__ticket_get(struct gx_backlog *queue, const struct gx_task *jobs, size_t count)
{
    uint32_t size = 0;
    while (size < CLASSES && (size_t)1 << size < count)
        size++;
    if (size == CLASSES)
        return NULL;
    pthread_mutex_lock(&queue->lock);
    struct gx_ticket *t = queue->spare[size];
    if (t) {
        queue->spare[size] = t->next;
        queue->spare_jobs -= (uint64_t)1 << size;
    }
    queue->tickets++;
    pthread_mutex_unlock(&queue->lock);
    if (!t)
        t = new_ticket(queue, size);
    if (!t) {
        pthread_mutex_lock(&queue->lock);
        queue->tickets--;
        pthread_mutex_unlock(&queue->lock);
        return NULL;
    }
    t->next = NULL;
    t->call = (struct gx_call){
        .jobs = t->jobs, .count = count, .reports = t->reports, .cancel = &t->cancel};
    t->first = 0;
    t->freed = false;
    t->done = NULL;
    atomic_store_explicit(&t->status, GX_PENDING, memory_order_relaxed);
    atomic_store_explicit(&t->cancel, false, memory_order_relaxed);
    memset(t->engines, 0, count * sizeof *t->engines);
    memset(t->reports, 0, count * sizeof *t->reports);
    if (count)
        memcpy(t->jobs, jobs, count * sizeof *jobs);
    return t;
}

/* Keeps about as many as a full queue has; under the lock, which it releases. */
static void put_ticket(struct gx_backlog *queue, struct gx_ticket *t)
{
    uint64_t room = (uint64_t)1 << t->size;
    uint64_t most = queue->limit > GX_QUEUE_JOBS ? queue->limit : GX_QUEUE_JOBS;
    bool keep = !queue->closed && queue->spare_jobs + room <= 2 * most;
    if (keep) {
        t->next = queue->spare[t->size];
        queue->spare[t->size] = t;
        queue->spare_jobs += room;
    } else { /* under the lock: afterwards another thread may free the queue */
        free_ticket(queue, t);
    }
    bool last = !--queue->tickets && queue->closed;
    pthread_mutex_unlock(&queue->lock);
    if (last)
        free_queue(queue);
}

/* No ticket is pending. */
static void end_routers(struct gx_backlog *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->routers.stop = true;
    pthread_cond_broadcast(&queue->routers.work);
    pthread_mutex_unlock(&queue->lock);
    for (uint32_t i = 0; i < queue->routers.started; i++)
        pthread_join(queue->router_thread[i], NULL);
}

void gx__queue_close(struct gx_backlog *queue)
{
    end_routers(queue);
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    queue->instance = NULL;
    for (size_t i = 0; i < CLASSES; i++)
        for (struct gx_ticket *t = queue->spare[i], *next; t; t = next) {
            next = t->next;
            free_ticket(queue, t);
        }
    bool last = !queue->tickets;
    pthread_mutex_unlock(&queue->lock);
    if (last)
        free_queue(queue);
}

/* ---- segments ---- */

static size_t segment(const struct gx_ticket *t, size_t first)
{
    size_t end = first;
    while (end < t->call.count && t->engines[end] == t->engines[first])
        end++;
    return end - first;
}

/* Releases the engines of the routed jobs from `first` on. */
static void release_from(struct gx_ticket *t, size_t first)
{
    for (size_t n; first < t->call.count && t->engines[first]; first += n) {
        n = segment(t, first);
        gx__engine_release(t->engines[first]);
    }
}

void gx__ticket_route(struct gx_ticket *t, size_t i, struct gx_engine *engine, gx_reason reason)
{
    t->engines[i] = engine;
    t->reports[i].reason = reason;
    if (i && t->engines[i - 1] == engine) /* once per segment is enough */
        gx__engine_release(engine);
}

void gx__ticket_drop(struct gx_ticket *t)
{
    release_from(t, 0);
    pthread_mutex_lock(&t->queue->lock);
    put_ticket(t->queue, t);
}

/* ---- waiting tickets; all under the lock ---- */

/* Whether jobs for the engine (NULL: not chosen yet) go directly to its workers. */
static bool has_worker(const struct gx_engine *engine)
{
    return engine && !engine->checked;
}

static void enqueue(struct gx_ticket *t)
{
    struct gx_engine *engine = t->engines[t->first];
    struct gx_worker *w = has_worker(engine) ? &engine->worker : &t->queue->routers;
    t->queued = w;
    t->next = NULL;
    t->at = w->waiting_end;
    *t->at = t;
    w->waiting_end = &t->next;
    pthread_cond_signal(&w->work);
}

static void dequeue(struct gx_ticket *t)
{
    *t->at = t->next;
    if (t->next)
        t->next->at = t->at;
    else
        t->queued->waiting_end = t->at;
    t->queued = NULL;
}

/* ---- the end of a ticket ---- */

/* The jobs from t->first on will not run; under the lock. */
static void finish(struct gx_ticket *t, gx_status status)
{
    struct gx_backlog *queue = t->queue;
    struct gx_counters *c = &queue->instance->counters;
    release_from(t, t->first);
    gx__count(&c->jobs_failed, t->call.count - t->first);
    for (size_t i = t->first; i < t->call.count; i++)
        gx__outcome_not_run(&t->reports[i],
                            status == GX_ERR_CANCELLED ? GX_ERR_CANCELLED : GX_ERR_NOT_RUN);
    gx__tasks_leave(t->jobs, t->call.count);
    *t->all_at = t->all_next;
    if (t->all_next)
        t->all_next->all_at = t->all_at;
    queue->jobs -= t->call.count;
    gx__count(&c->jobs_waiting, (uint64_t)0 - t->call.count);
    gx__count(&c->tickets_done, 1);
    gx__count(&c->tickets_cancelled, status == GX_ERR_CANCELLED);
    pthread_cond_broadcast(&queue->room);
    if (!queue->pending)
        pthread_cond_broadcast(&queue->idle);
    atomic_store_explicit(&t->status, status, memory_order_release);
    pthread_cond_broadcast(&t->changed);
    if (queue->any_waiters)
        pthread_cond_broadcast(&queue->any);
    if (t->done) { /* the ticket stays until the function has returned */
        t->waiters++;
        t->told_next = queue->told;
        queue->told = t;
    }
}

/* A thread no longer uses the ticket; under the lock. */
static void let_go(struct gx_ticket *t)
{
    if (!--t->waiters && t->freed)
        pthread_cond_broadcast(&t->changed);
}

/* Calls the functions of finished tickets; under the lock, which it releases during the calls. Must
 * be the last thing after finishing tickets. */
static void wake_notified(struct gx_backlog *queue)
{
    for (struct gx_ticket *t = queue->told; t; t = queue->told) {
        queue->told = t->told_next;
        pthread_mutex_unlock(&queue->lock);
        t->done(t->done_user, t);
        pthread_mutex_lock(&queue->lock);
        let_go(t);
    }
}

/* Continues with the next segment, or finishes; under the lock. */
static void go_on(struct gx_ticket *t, gx_status status)
{
    if (status == GX_OK && t->first < t->call.count && !atomic_load(&t->cancel))
        enqueue(t);
    else
        finish(t, status == GX_OK && t->first < t->call.count ? GX_ERR_CANCELLED : status);
}

static void count_work(struct gx_work *work, const struct gx_batch *batch)
{
    for (size_t i = 0; work && i < batch->count; i++) {
        if (batch->reports[i].status != GX_OK)
            continue;
        gx__count(&work->jobs, 1);
        gx__count(&work->elements, batch->jobs[i].n);
        gx__count(&work->busy_ns, batch->reports[i].total_ns);
    }
}

static void log_failure(const struct gx_ticket *t, const struct gx_batch *batch)
{
    if (batch->status != GX_OK && batch->status != GX_ERR_CANCELLED)
        gx__log(t->queue->instance, GX_LOG_ERROR, "job %zu: %s", t->first + batch->failed,
                batch->error.text);
}

/* Under the lock; after that the ticket may be gone. */
static void end_segment(struct gx_ticket *t)
{
    struct gx_engine *engine = t->engines[t->first];
    t->first += t->batch.count;
    go_on(t, t->batch.status);
    /* Last: without users the engine may be closed, which waits for this thread. */
    gx__engine_release(engine);
}

/* gx_batch.done */
static void segment_done(struct gx_batch *batch)
{
    struct gx_ticket *t = (struct gx_ticket *)batch;
    struct gx_backlog *queue = t->queue;
    log_failure(t, batch);
    count_work(t->engines[t->first]->work, batch);
    pthread_mutex_lock(&queue->lock);
    end_segment(t);
    wake_notified(queue);
    pthread_mutex_unlock(&queue->lock);
}

/* The next jobs that have the same engine. */
static void set_batch(struct gx_ticket *t)
{
    t->call.queued_ns = gx__now_ns() - t->call.submit_ns;
    gx__batch_set(&t->batch, &t->call, t->jobs + t->first, t->first, segment(t, t->first));
}

/* ---- workers ---- */

/* These release the lock while they work. */

static void feed(struct gx_engine *engine, struct gx_worker *w, struct gx_backlog *queue)
{
    struct gx_ticket *t = w->waiting;
    dequeue(t);
    bool stream = w->waiting || w->full;
    w->feeding = true;
    w->holds = w->pipe;
    if (w->full && !w->finishing) /* the other thread finishes groups at the same time */
        pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&queue->lock);
    set_batch(t);
    t->batch.sets = OVERLAP_SETS;
    t->batch.stream = stream;
    t->batch.done = segment_done;
    if (w->pipe && (gx__pool_waited_for(&engine->pool) || /* by a call that must not starve */
                    gx__tables_wanted(&engine->tables)))
        gx__pipe_drain(w->pipe);
    queue->feed(engine, w->pipe, &t->batch);
    pthread_mutex_lock(&queue->lock);
    w->feeding = false;
    w->full = w->pipe;
    w->fed++;
}

static void finish_group(struct gx_worker *w, struct gx_backlog *queue)
{
    uint64_t fed = w->fed;
    w->finishing = true;
    pthread_mutex_unlock(&queue->lock);
    bool some = gx__pipe_step(w->pipe, true);
    pthread_mutex_lock(&queue->lock);
    w->finishing = false;
    if (!some && w->fed == fed)
        w->full = false;
}

/* An idle pipe holds no memory. */
static void give_back(struct gx_worker *w, struct gx_backlog *queue)
{
    w->feeding = true;
    pthread_mutex_unlock(&queue->lock);
    gx__pipe_drain(w->pipe);
    pthread_mutex_lock(&queue->lock);
    w->feeding = w->holds = false;
}

/* A free thread feeds a waiting ticket, or else finishes a group in flight. So a single ticket is
 * served by one thread; with more, the second thread feeds while the first waits for the device. */
static void *work(void *user)
{
    struct gx_engine *engine = user;
    struct gx_worker *w = &engine->worker;
    struct gx_backlog *queue = engine->instance->queue;
    struct gx_float_env inherited;
    gx__float_env_default(&inherited);
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        bool busy = w->feeding || w->finishing;
        if (w->waiting && !w->feeding)
            feed(engine, w, queue);
        else if (w->full && !w->finishing)
            finish_group(w, queue);
        else if (w->holds && !busy)
            give_back(w, queue);
        else if (w->stop && !busy)
            break;
        else
            pthread_cond_wait(&w->work, &queue->lock);
    }
    pthread_cond_signal(&w->work); /* so that the other thread can end too */
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

void gx__worker_init(struct gx_worker *w)
{
    *w = (struct gx_worker){.waiting_end = &w->waiting};
    pthread_cond_init(&w->work, NULL);
}

/* A device that works on host memory computes while it is fed, without a pipe. A device that
 * simulates host copies also simulates what overlaps. */
static uint32_t threads_of(const struct gx_engine *engine)
{
    return engine->device.ops->run || engine->device.ops->host_copy ? 1 : GX_WORKER_THREADS;
}

/* Under the lock. One thread is enough if a second cannot be started. */
static gx_status start_worker(struct gx_engine *engine)
{
    struct gx_worker *w = &engine->worker;
    if (w->started)
        return GX_OK;
    if (!w->pipe && !engine->device.ops->run) {
        gx_status s = gx__pipe_open(engine, &w->pipe);
        if (s != GX_OK)
            return s;
    }
    while (w->started < threads_of(engine) &&
           gx__thread_start(&w->thread[w->started], work, engine))
        w->started++;
    return w->started ? GX_OK : GX_ERR_OUT_OF_MEMORY;
}

void gx__worker_close(struct gx_engine *engine)
{
    struct gx_worker *w = &engine->worker;
    struct gx_backlog *queue = engine->instance->queue;
    if (w->started) {
        pthread_mutex_lock(&queue->lock);
        w->stop = true;
        pthread_cond_broadcast(&w->work);
        pthread_mutex_unlock(&queue->lock);
    }
    for (uint32_t i = 0; i < w->started; i++)
        pthread_join(w->thread[i], NULL);
    gx__pipe_close(w->pipe);
    pthread_cond_destroy(&w->work);
}

/* ---- the routers ---- */

/* Under the lock, which these release while they work. */

static void serve_there(struct gx_backlog *queue, struct gx_ticket *t)
{
    pthread_mutex_unlock(&queue->lock);
    set_batch(t);
    queue->there(queue->user, t->engines[t->first], &t->batch);
    log_failure(t, &t->batch);
    pthread_mutex_lock(&queue->lock);
    end_segment(t);
}

static void serve(struct gx_backlog *queue)
{
    struct gx_ticket *t = queue->routers.waiting;
    dequeue(t);
    if (t->engines[t->first]) {
        serve_there(queue, t);
        return;
    }
    pthread_mutex_unlock(&queue->lock);
    t->call.queued_ns = gx__now_ns() - t->call.submit_ns;
    gx_status s = queue->route(queue->user, &t->call);
    if (s != GX_OK && s != GX_ERR_CANCELLED)
        gx__log(queue->instance, GX_LOG_ERROR, "job %zu: %s", t->call.failed, t->call.error.text);
    pthread_mutex_lock(&queue->lock);
    t->first = t->call.count;
    go_on(t, s);
}

static void *router_work(void *user)
{
    struct gx_backlog *queue = user;
    struct gx_worker *routers = &queue->routers;
    struct gx_float_env inherited;
    gx__float_env_default(&inherited);
    pthread_mutex_lock(&queue->lock);
    while (routers->waiting || !routers->stop) {
        if (routers->waiting) {
            serve(queue);
            wake_notified(queue);
            continue;
        }
        queue->routers_idle++;
        pthread_cond_wait(&routers->work, &queue->lock);
        queue->routers_idle--;
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

/* Under the lock. Starts another thread if all are busy; the existing ones suffice if that fails.
 */
static gx_status start_router(struct gx_backlog *queue)
{
    struct gx_worker *routers = &queue->routers;
    if ((!queue->routers_idle || routers->waiting) && routers->started < GX_ROUTER_THREADS &&
        gx__thread_start(&queue->router_thread[routers->started], router_work, queue))
        routers->started++;
    return routers->started ? GX_OK : GX_ERR_OUT_OF_MEMORY;
}

/* ---- submitting ---- */

/* First come, first served. A ticket larger than the queue waits until the queue is empty. */
static void wait_for_room(struct gx_backlog *queue, size_t jobs)
{
    uint64_t turn = queue->next_turn++;
    while (queue->serving != turn ||
           (queue->jobs && (jobs > queue->limit || queue->jobs > queue->limit - jobs)))
        pthread_cond_wait(&queue->room, &queue->lock);
    queue->serving++;
    queue->jobs += jobs;
    pthread_cond_broadcast(&queue->room); /* the next in line may fit too */
}

gx_status gx__ticket_submit(struct gx_ticket *t, const struct gx_call *call)
{
    struct gx_backlog *queue = t->queue;
    struct gx_counters *c = &queue->instance->counters;
    gx_status s = GX_OK;
    t->call.path = call->path;
    t->call.mode = call->mode;
    t->call.policy = call->policy;
    t->call.submit_ns = gx__now_ns();
    pthread_mutex_lock(&queue->lock);
    for (size_t i = 0; i < t->call.count && s == GX_OK; i += segment(t, i))
        s = has_worker(t->engines[i]) ? start_worker(t->engines[i]) : start_router(queue);
    if (s == GX_OK) {
        wait_for_room(queue, t->call.count);
        gx__count(&c->tickets_submitted, 1);
        gx__count(&c->jobs_waiting, t->call.count);
        t->all_next = queue->pending;
        t->all_at = &queue->pending;
        if (t->all_next)
            t->all_next->all_at = &t->all_next;
        queue->pending = t;
        go_on(t, GX_OK);
    }
    pthread_mutex_unlock(&queue->lock);
    return s;
}

/* ---- what the caller does with it ---- */

gx_status gx__ticket_poll(const struct gx_ticket *t)
{
    return atomic_load_explicit(&t->status, memory_order_acquire);
}

/* UINT64_MAX: never. */
static uint64_t deadline(uint64_t timeout_ns)
{
    uint64_t now = gx__now_ns();
    return timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
}

size_t gx__ticket_count(const struct gx_ticket *t)
{
    return t->call.count;
}

void gx__ticket_message(const struct gx_ticket *t, struct gx_error *error)
{
    gx_status s = gx__ticket_poll(t);
    size_t i = 0;
    while (i < t->call.count && t->reports[i].status != s)
        i++;
    gx__explain(error, "job %zu: %s", i,
                i < t->call.count ? t->reports[i].error.text : gx_status_message(s));
}

gx_status gx__ticket_wait(struct gx_ticket *t, uint64_t timeout_ns, gx_outcome_fn give, void *user)
{
    struct gx_backlog *queue = t->queue;
    uint64_t end = deadline(timeout_ns);
    int late = timeout_ns == 0;
    pthread_mutex_lock(&queue->lock);
    t->waiters++;
    while (!late && t->status == GX_PENDING)
        late = !gx__os_cond_wait(&t->changed, &queue->lock, end);
    gx_status s = t->status;
    if (s != GX_PENDING && give) {
        pthread_mutex_unlock(&queue->lock);
        for (size_t i = 0; i < t->call.count; i++)
            give(user, i, &t->reports[i]);
        pthread_mutex_lock(&queue->lock);
    }
    let_go(t);
    pthread_mutex_unlock(&queue->lock);
    return s;
}

/* The first that is done; `count` if none is. */
static size_t first_done(struct gx_ticket *const *tickets, size_t count)
{
    size_t i = 0;
    while (i < count && (!tickets[i] || gx__ticket_poll(tickets[i]) == GX_PENDING))
        i++;
    return i;
}

gx_status gx__ticket_wait_any(struct gx_backlog *queue, struct gx_ticket *const *tickets,
                              size_t count, uint64_t timeout_ns, size_t *index)
{
    uint64_t end = deadline(timeout_ns);
    int late = timeout_ns == 0;
    pthread_mutex_lock(&queue->lock);
    for (size_t i = 0; i < count; i++)
        if (tickets[i])
            tickets[i]->waiters++;
    queue->any_waiters++;
    while ((*index = first_done(tickets, count)) == count && !late)
        late = !gx__os_cond_wait(&queue->any, &queue->lock, end);
    queue->any_waiters--;
    gx_status s = *index < count ? gx__ticket_poll(tickets[*index]) : GX_PENDING;
    for (size_t i = 0; i < count; i++)
        if (tickets[i])
            let_go(tickets[i]);
    pthread_mutex_unlock(&queue->lock);
    return s;
}

struct gx_backlog *gx__ticket_queue(const struct gx_ticket *t)
{
    return t->queue;
}

bool gx__ticket_notify(struct gx_ticket *t, gx_done_fn done, void *user)
{
    struct gx_backlog *queue = t->queue;
    pthread_mutex_lock(&queue->lock);
    bool first = !t->done;
    if (first) {
        t->done = done;
        t->done_user = user;
    }
    if (first && t->status != GX_PENDING) {
        t->waiters++;
        pthread_mutex_unlock(&queue->lock);
        done(user, t);
        pthread_mutex_lock(&queue->lock);
        let_go(t);
    }
    pthread_mutex_unlock(&queue->lock);
    return first;
}

/* Under the lock. A running ticket checks the flag before each job. */
static void cancel(struct gx_ticket *t)
{
    atomic_store(&t->cancel, true);
    if (!t->queued)
        return;
    dequeue(t);
    finish(t, GX_ERR_CANCELLED);
}

void gx__ticket_cancel(struct gx_ticket *t)
{
    struct gx_backlog *queue = t->queue;
    pthread_mutex_lock(&queue->lock);
    cancel(t);
    wake_notified(queue);
    pthread_mutex_unlock(&queue->lock);
}

void gx__queue_cancel(struct gx_backlog *queue)
{
    pthread_mutex_lock(&queue->lock);
    for (struct gx_ticket *t = queue->pending, *next; t; t = next) {
        next = t->all_next;
        cancel(t);
    }
    wake_notified(queue);
    pthread_mutex_unlock(&queue->lock);
}

void gx__ticket_free(struct gx_ticket *t)
{
    struct gx_backlog *queue = t->queue;
    pthread_mutex_lock(&queue->lock);
    t->freed = true;
    while (t->status == GX_PENDING || t->waiters)
        pthread_cond_wait(&t->changed, &queue->lock);
    put_ticket(queue, t);
}
