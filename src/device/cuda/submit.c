/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues, submits and points in time. A queue is a stream. Its Nth submit ends by writing N to a
 * counter in host memory, which the host polls without asking the driver. Other streams wait for
 * events, because the driver must know about those dependencies to order its work; one is recorded
 * when the first of them asks, so that a small job alone is one launch and one write. Drivers that
 * cannot write counters have an event for each point.
 */
#include "device/cuda/cuda.h"

#include <sched.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

/* Waking from a sleep takes a tenth of the time of many batches, which are done within this time
 * (see the Vulkan device). */
#define SPIN_NS 1000000u
/* A small job is done within this time; afterwards the thread yields, and asks the driver about
 * errors. */
#define SPIN_ALONE_NS 100000u
/* Polls of the counter per look at the clock. */
#define SPIN_LOOKS 8u
/* A longer wait sleeps between polls for a fraction of the time it has already waited. */
#define PAUSE_PART   16u
#define PAUSE_MAX_NS 1000000u

#define IDLE_COMMANDS 32
#define COUNTER_BYTES GX_CACHE_LINE /* one line for each counter */

_Atomic uint64_t gx__cu_patience_ns = CU_PATIENCE_NS;

/* ---- points ---- */

/* That of an old point may be in use for a later one of the queue, which implies it. */
static CUevent event_of(const struct cu_device *device, const struct cu_queue *queue,
                        uint64_t value)
{
    return queue->done[device->counts ? 0 : value % CU_RING];
}

static void note_reached(struct cu_queue *queue, uint64_t value)
{
    uint64_t known = atomic_load_explicit(&queue->reached, memory_order_relaxed);
    while (known < value &&
           !atomic_compare_exchange_weak_explicit(&queue->reached, &known, value,
                                                  memory_order_acq_rel, memory_order_relaxed))
        ;
}

static gx_status ask_event(struct cu_device *device, struct cu_queue *queue, uint64_t value,
                           bool *done)
{
    gx_status s = gx__cu_enter(device);
    if (s != GX_OK)
        return s;
    CUresult r = device->fn->EventQuery(event_of(device, queue, value));
    gx__cu_leave(device);
    *done = r == CUDA_SUCCESS;
    if (*done)
        note_reached(queue, value);
    return r == CUDA_ERROR_NOT_READY ? GX_OK : gx__cu_status(device, r, "cuEventQuery");
}

static gx_status look(struct cu_device *device, struct cu_queue *queue, uint64_t value, bool *done)
{
    *done = atomic_load_explicit(&queue->reached, memory_order_acquire) >= value;
    if (*done)
        return GX_OK;
    if (!device->counts)
        return ask_event(device, queue, value, done);
    uint64_t now = __atomic_load_n(queue->counter, __ATOMIC_ACQUIRE);
    *done = now >= value;
    if (*done)
        note_reached(queue, now);
    return GX_OK;
}

/* The counter of a stream that failed does not change. */
static gx_status ask_errors(struct cu_device *device, struct cu_queue *queue)
{
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s == GX_OK)
        s = gx__cu_enter(device);
    if (s != GX_OK)
        return s;
    CUresult r = device->fn->StreamQuery(queue->stream);
    gx__cu_leave(device);
    return r == CUDA_ERROR_NOT_READY ? GX_OK : gx__cu_status(device, r, "cuStreamQuery");
}

static void pause_after(uint64_t waited)
{
    uint64_t pause = waited / PAUSE_PART;
    if (waited < SPIN_NS)
        sched_yield();
    else
        nanosleep(
            &(struct timespec){.tv_nsec = (long)(pause < PAUSE_MAX_NS ? pause : PAUSE_MAX_NS)},
            NULL);
}

/* Any error on a stream is one of the whole context: whatever it says, the work is lost. */
static gx_status lose(struct cu_device *device)
{
    atomic_store(&device->gpu.lost, true);
    return GX_ERR_DEVICE_LOST;
}

static gx_status wait_value(struct cu_device *device, struct cu_queue *queue, uint64_t value,
                            uint64_t timeout_ns)
{
    uint64_t start = gx__now_ns(), asked = 0;
    for (uint32_t looks = 1;; looks++) {
        bool done;
        gx_status s = look(device, queue, value, &done);
        if (s != GX_OK)
            return lose(device);
        if (done)
            return GX_OK;
        uint64_t waited = looks % SPIN_LOOKS ? 0 : gx__now_ns() - start;
        if (waited >= timeout_ns)
            return GX_ERR_TIMEOUT;
        if (waited >= SPIN_ALONE_NS && waited - asked >= SPIN_ALONE_NS) {
            if (ask_errors(device, queue) != GX_OK)
                return lose(device);
            asked = waited;
        }
        if (waited >= SPIN_ALONE_NS)
            pause_after(waited);
        else
            gx__pause();
    }
}

gx_status gx__cu_drain(struct cu_device *device, CUstream stream)
{
    uint64_t start = gx__now_ns();
    for (;;) {
        CUresult r = device->fn->StreamQuery(stream);
        uint64_t waited = gx__now_ns() - start;
        if (r != CUDA_ERROR_NOT_READY)
            return gx__cu_status(device, r, "cuStreamQuery");
        if (waited >= gx__cu_patience_ns) {
            gx__cu_abandon(device);
            return GX_ERR_DEVICE_LOST;
        }
        pause_after(waited);
    }
}

static bool is_idle(struct cu_device *device)
{
    bool idle = !atomic_load(&device->hung) && !gx__cu_stuck(&device->listed->uuid);
    for (int q = 0; q < CU_QUEUES && idle && gx__gpu_alive(&device->gpu) == GX_OK; q++) {
        struct cu_queue *queue = &device->queue[q];
        pthread_mutex_lock(&queue->lock);
        uint64_t last = queue->submitted;
        pthread_mutex_unlock(&queue->lock);
        idle = wait_value(device, queue, last, gx__cu_patience_ns) != GX_ERR_TIMEOUT;
        if (!idle)
            gx__log(device->gpu.base->instance, GX_LOG_WARNING,
                    "%s: work takes very long: what it may use is not freed",
                    device->gpu.base->info.name);
    }
    return idle && !atomic_load(&device->hung);
}

bool gx__cu_enter_idle(struct cu_device *device)
{
    return is_idle(device) && gx__cu_enter(device) == GX_OK;
}

gx_status gx__cu_wait(struct gx_device *base, struct gx_point point, uint64_t timeout_ns)
{
    struct cu_device *device = cu_of(base);
    gx_status s = gx__gpu_alive(&device->gpu);
    return s == GX_OK ? wait_value(device, &device->queue[point.queue], point.value, timeout_ns)
                      : s;
}

/* On a lost device every point counts as reached: pollers continue and get the error from wait. */
bool gx__cu_reached(struct gx_device *base, struct gx_point point)
{
    struct cu_device *device = cu_of(base);
    bool done;
    return gx__gpu_alive(&device->gpu) != GX_OK ||
           look(device, &device->queue[point.queue], point.value, &done) != GX_OK || done;
}

/* ---- submit: between enter and leave ---- */

/* The latest points of other queues that are not known to be reached; 0: none. */
static void merge_waits(struct cu_device *device, enum gx_queue own, const struct gx_point *waits,
                        size_t count, uint64_t latest[CU_QUEUES])
{
    for (size_t i = 0; i < count; i++) {
        enum gx_queue q = waits[i].queue;
        bool done =
            q == own || waits[i].value <= latest[q] ||
            atomic_load_explicit(&device->queue[q].reached, memory_order_acquire) >= waits[i].value;
        if (!done && device->counts)
            look(device, &device->queue[q], waits[i].value, &done);
        if (!done)
            latest[q] = waits[i].value;
    }
}

/* Records events after these points, if there are none yet. Another thread that moves an event to a
 * later point, before we wait for it, does no harm. Without the lock of the own queue: two queues
 * may wait for each other's points. */
static gx_status mark(struct cu_device *device, const uint64_t latest[CU_QUEUES])
{
    gx_status s = GX_OK;
    for (enum gx_queue q = 0; q < CU_QUEUES && s == GX_OK && device->counts; q++) {
        struct cu_queue *queue = &device->queue[q];
        if (!latest[q])
            continue;
        pthread_mutex_lock(&queue->lock);
        if (queue->marked < latest[q]) {
            s = gx__cu_status(device, device->fn->EventRecord(queue->done[0], queue->stream),
                              "cuEventRecord");
            queue->marked = s == GX_OK ? queue->submitted : queue->marked;
        }
        pthread_mutex_unlock(&queue->lock);
    }
    return s;
}

/* From here on under the queue's lock. */
static gx_status await(struct cu_device *device, enum gx_queue own,
                       const uint64_t latest[CU_QUEUES])
{
    gx_status s = GX_OK;
    for (enum gx_queue q = 0; q < CU_QUEUES && s == GX_OK; q++)
        if (latest[q])
            s = gx__cu_status(
                device,
                device->fn->StreamWaitEvent(device->queue[own].stream,
                                            event_of(device, &device->queue[q], latest[q]), 0),
                "cuStreamWaitEvent");
    return s;
}

/* A kernel that awaits the launches before it may begin before they end. Whatever follows it waits
 * for all of them, because all of its threads do. */
static gx_status launch(struct cu_device *device, CUstream stream, struct cu_op *op)
{
    void *params[] = {&op->launch.args};
    if (!op->launch.awaits)
        return gx__cu_status(device,
                             device->fn->LaunchKernel(op->launch.function, op->launch.x,
                                                      op->launch.y, op->launch.z,
                                                      op->launch.block[0], op->launch.block[1],
                                                      op->launch.block[2], 0, stream, params, NULL),
                             "cuLaunchKernel");
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               .value = {.programmaticStreamSerializationAllowed = 1}};
    const CUlaunchConfig config = {.gridDimX = op->launch.x,
                                   .gridDimY = op->launch.y,
                                   .gridDimZ = op->launch.z,
                                   .blockDimX = op->launch.block[0],
                                   .blockDimY = op->launch.block[1],
                                   .blockDimZ = op->launch.block[2],
                                   .hStream = stream,
                                   .attrs = &early,
                                   .numAttrs = 1};
    return gx__cu_status(device,
                         device->fn->LaunchKernelEx(&config, op->launch.function, params, NULL),
                         "cuLaunchKernelEx");
}

static gx_status replay(struct cu_device *device, const struct cu_cmd *cmd, struct cu_op *op)
{
    CUstream stream = device->queue[cmd->queue].stream;
    switch (op->kind) {
    case CU_COPY:
        return gx__cu_status(
            device, device->fn->MemcpyAsync(op->copy.to, op->copy.from, op->copy.bytes, stream),
            "cuMemcpyAsync");
    case CU_LAUNCH:
        return launch(device, stream, op);
    case CU_STAMP:
        return gx__cu_status(device, device->fn->EventRecord(cmd->stamps[op->slot], stream),
                             "cuEventRecord");
    }
    return GX_OK;
}

static gx_status end_point(struct cu_device *device, struct cu_queue *queue, uint64_t value)
{
    if (device->counts)
        return gx__cu_status(device,
                             device->fn->StreamWriteValue64(queue->stream, queue->counter_at, value,
                                                            CU_STREAM_WRITE_VALUE_DEFAULT),
                             "cuStreamWriteValue64");
    return gx__cu_status(device,
                         device->fn->EventRecord(event_of(device, queue, value), queue->stream),
                         "cuEventRecord");
}

static gx_status enqueue(struct cu_device *device, struct cu_cmd *cmd,
                         const uint64_t latest[CU_QUEUES])
{
    struct cu_queue *queue = &device->queue[cmd->queue];
    uint64_t value = queue->submitted + 1;
    gx_status s = await(device, cmd->queue, latest);
    for (size_t i = 0; i < cmd->count && s == GX_OK; i++)
        s = replay(device, cmd, &cmd->ops[i]);
    if (s == GX_OK)
        s = end_point(device, queue, value);
    queue->submitted = value; /* never used again, because it may have been written */
    if (s == GX_OK) {
        cmd->point = value;
        return GX_OK;
    }
    /* What was begun uses memory that the caller frees next, so it has to end here. */
    if (gx__cu_drain(device, queue->stream) != GX_OK)
        return lose(device);
    note_reached(queue, value);
    return s;
}

gx_status gx__cu_submit(struct gx_cmd *base, const struct gx_point *waits, size_t count,
                        struct gx_point *done)
{
    struct cu_cmd *cmd = (struct cu_cmd *)base;
    struct cu_device *device = cu_cmd_device(cmd);
    struct cu_queue *queue = &device->queue[cmd->queue];
    uint64_t latest[CU_QUEUES] = {0};
    gx_status s = gx__gpu_alive(&device->gpu);
    if (s == GX_OK)
        s = cmd->failed;
    if (s == GX_OK)
        s = gx__cu_enter(device);
    if (s != GX_OK)
        return s;
    merge_waits(device, cmd->queue, waits, count, latest);
    s = mark(device, latest);
    if (s == GX_OK)
        s = gx__cu_clock_start(device, cmd);
    if (s == GX_OK) {
        pthread_mutex_lock(&queue->lock);
        s = enqueue(device, cmd, latest);
        pthread_mutex_unlock(&queue->lock);
    }
    gx__cu_leave(device);
    if (s == GX_OK)
        *done = (struct gx_point){cmd->queue, cmd->point};
    return s;
}

/* ---- give back ---- */

/* After a failed wait a caller may recycle a command that still runs. The memory it uses is freed
 * next, so it has to end here. On a lost device it has. */
static void finish(struct cu_device *device, struct cu_cmd *cmd)
{
    if (!cmd->point || gx__gpu_alive(&device->gpu) != GX_OK)
        return;
    if (wait_value(device, &device->queue[cmd->queue], cmd->point, gx__cu_patience_ns) ==
        GX_ERR_TIMEOUT)
        gx__cu_abandon(device);
}

void gx__cu_recycle(struct gx_cmd *base)
{
    struct cu_cmd *cmd = (struct cu_cmd *)base;
    struct cu_device *device = cu_cmd_device(cmd);
    finish(device, cmd);
    bool keep = gx__gpu_alive(&device->gpu) == GX_OK;
    size_t count = 0;
    pthread_mutex_lock(&device->idle_lock);
    for (const struct cu_cmd *c = device->idle[cmd->queue]; c && keep; c = c->next_idle)
        keep = ++count < IDLE_COMMANDS;
    if (keep) {
        cmd->next_idle = device->idle[cmd->queue];
        device->idle[cmd->queue] = cmd;
    }
    pthread_mutex_unlock(&device->idle_lock);
    if (!keep)
        gx__cu_cmd_free(device, cmd);
}

/* ---- open and close ---- */

static gx_status open_queue(struct cu_device *device, enum gx_queue q)
{
    struct cu_queue *queue = &device->queue[q];
    struct gx_binding at = {&device->counters, (size_t)q * COUNTER_BYTES};
    uint64_t *counter = (uint64_t *)((char *)device->counters.host + at.offset);
    *counter = 0;
    queue->counter = counter;
    queue->counter_at = cu_address(&at);
    CUresult r = device->fn->StreamCreate(&queue->stream, CU_STREAM_NON_BLOCKING);
    if (r != CUDA_SUCCESS)
        queue->stream = NULL;
    gx_status s = gx__cu_status(device, r, "cuStreamCreate");
    for (int i = 0; i < (device->counts ? 1 : CU_RING) && s == GX_OK; i++) {
        r = device->fn->EventCreate(&queue->done[i], CU_EVENT_DISABLE_TIMING);
        if (r != CUDA_SUCCESS)
            queue->done[i] = NULL;
        s = gx__cu_status(device, r, "cuEventCreate");
    }
    return s;
}

gx_status gx__cu_queues_open(struct cu_device *device)
{
    gx_status s = gx__cu_mem_alloc(device->gpu.base, GX_MEM_READBACK,
                                   (size_t)CU_QUEUES * COUNTER_BYTES, &device->counters);
    if (s == GX_OK)
        s = gx__cu_enter(device);
    if (s != GX_OK)
        return s;
    s = gx__cu_clock_open(device);
    for (enum gx_queue q = 0; q < CU_QUEUES && s == GX_OK; q++)
        s = open_queue(device, q);
    gx__cu_leave(device);
    return s;
}

static void close_queue(struct cu_device *device, struct cu_queue *queue)
{
    for (int i = 0; i < CU_RING; i++)
        if (queue->done[i])
            device->fn->EventDestroy(queue->done[i]);
    if (queue->stream)
        device->fn->StreamDestroy(queue->stream);
}

void gx__cu_queues_close(struct cu_device *device)
{
    if (!gx__cu_enter_idle(device))
        return;
    for (int q = 0; q < CU_QUEUES; q++)
        close_queue(device, &device->queue[q]);
    gx__cu_clock_close(device);
    gx__cu_leave(device);
    if (device->counters.handle)
        gx__cu_mem_free(device->gpu.base, &device->counters);
}
