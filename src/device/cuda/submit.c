/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues, submits and fences. A queue is a stream. Its Nth submit ends by writing N to a
 * counter in host memory, which the host polls without asking the driver. Other streams wait for
 * events, because the driver must know about those dependencies to order its work; one is recorded
 * when the first of them asks, so that a small job alone is one launch and one write. Drivers that
 * cannot write counters have an event for each fence.
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

#define COUNTER_BYTES GX_CACHE_LINE /* one line for each counter */

_Atomic uint64_t gx__cu_patience_ns = CU_PATIENCE_NS;

/* ---- fences ---- */

/* That of an old fence may be in use for a later one of the queue, which implies it. */
static CUevent event_of(const struct cu_device *device, const struct cu_queue *queue,
                        uint64_t value)
{
    return queue->done[device->counts ? 0 : value % CU_RING];
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
        gx__gpu_note_reached(&queue->reached, value);
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
        gx__gpu_note_reached(&queue->reached, now);
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
    bool idle = !atomic_load(&device->hung) && !gx__cu_stuck(device->listed->base.uuid);
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

gx_status gx__cu_wait(struct gx_gpu *gpu, enum gx_queue queue, uint64_t value, uint64_t timeout_ns)
{
    struct cu_device *device = cu_of_gpu(gpu);
    return wait_value(device, &device->queue[queue], value, timeout_ns);
}

gx_status gx__cu_look(struct gx_gpu *gpu, enum gx_queue queue, uint64_t value, bool *done)
{
    struct cu_device *device = cu_of_gpu(gpu);
    return look(device, &device->queue[queue], value, done);
}

/* ---- submit: between enter and leave ---- */

/* The latest fences of other queues that are not known to be reached; 0: none. */
static void merge_waits(struct cu_device *device, enum gx_queue own, const struct gx_fence *waits,
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

/* Records events after these fences, if there are none yet. Another thread that moves an event to a
 * later fence, before we wait for it, does no harm. Without the lock of the own queue: two queues
 * may wait for each other's fences. */
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

static gx_status copy_rows(struct cu_device *device, CUstream stream, const struct cu_op *op)
{
    const CUmemcpy2D copy = {.from_type = CU_MEMORYTYPE_UNIFIED,
                             .from = op->copy.from,
                             .from_pitch = op->copy.from_row,
                             .to_type = CU_MEMORYTYPE_UNIFIED,
                             .to = op->copy.to,
                             .to_pitch = op->copy.to_row,
                             .width = op->copy.bytes,
                             .height = op->copy.rows};
    return gx__cu_status(device, device->fn->Memcpy2DAsync(&copy, stream), "cuMemcpy2DAsync");
}

static gx_status copy(struct cu_device *device, CUstream stream, const struct cu_op *op)
{
    gx_status s = GX_OK;
    size_t rows = op->copy.rows;
    if (rows > 1 && op->copy.from_row <= CU_PITCH_MAX && op->copy.to_row <= CU_PITCH_MAX)
        return copy_rows(device, stream, op);
    for (size_t row = 0; row < rows && s == GX_OK; row++)
        s = gx__cu_status(device,
                          device->fn->MemcpyAsync(op->copy.to + row * op->copy.to_row,
                                                  op->copy.from + row * op->copy.from_row,
                                                  op->copy.bytes, stream),
                          "cuMemcpyAsync");
    return s;
}

static gx_status replay(struct cu_device *device, const struct cu_cmd *cmd, struct cu_op *op)
{
    CUstream stream = device->queue[cmd->gpu.queue].stream;
    switch (op->kind) {
    case CU_COPY:
        return copy(device, stream, op);
    case CU_LAUNCH:
        return launch(device, stream, op);
    case CU_STAMP:
        return gx__cu_status(device, device->fn->EventRecord(cmd->stamps[op->stamp], stream),
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
    struct cu_queue *queue = &device->queue[cmd->gpu.queue];
    uint64_t value = queue->submitted + 1;
    gx_status s = await(device, cmd->gpu.queue, latest);
    struct cu_op *ops = cmd->ops.list;
    for (size_t i = 0; i < cmd->ops.count && s == GX_OK; i++)
        s = replay(device, cmd, &ops[i]);
    if (s == GX_OK)
        s = end_point(device, queue, value);
    queue->submitted = value; /* never used again, because it may have been written */
    if (s == GX_OK) {
        cmd->gpu.fence = value;
        return GX_OK;
    }
    /* What was begun uses memory that the caller frees next, so it has to end here. */
    if (gx__cu_drain(device, queue->stream) != GX_OK)
        return lose(device);
    gx__gpu_note_reached(&queue->reached, value);
    return s;
}

gx_status gx__cu_submit(struct gx_gpu *gpu, struct gx_gpu_cmd *base, const struct gx_fence *waits,
                        size_t count)
{
    struct cu_cmd *cmd = (struct cu_cmd *)base;
    struct cu_device *device = cu_of_gpu(gpu);
    struct cu_queue *queue = &device->queue[base->queue];
    uint64_t latest[CU_QUEUES] = {0};
    gx_status s = gx__cu_enter(device);
    if (s != GX_OK)
        return s;
    merge_waits(device, base->queue, waits, count, latest);
    s = mark(device, latest);
    if (s == GX_OK)
        s = gx__cu_clock_start(device, cmd);
    if (s == GX_OK) {
        pthread_mutex_lock(&queue->lock);
        s = enqueue(device, cmd, latest);
        pthread_mutex_unlock(&queue->lock);
    }
    gx__cu_leave(device);
    return s;
}

void gx__cu_cmd_end(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd)
{
    struct cu_device *device = cu_of_gpu(gpu);
    if (!cmd->fence || gx__gpu_alive(gpu) != GX_OK)
        return;
    if (wait_value(device, &device->queue[cmd->queue], cmd->fence, gx__cu_patience_ns) ==
        GX_ERR_TIMEOUT)
        gx__cu_abandon(device);
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
