/* SPDX-License-Identifier: Apache-2.0
 *
 * Time stamps. Events only tell the time between two of them, so one of the device happens at a
 * time that the host knows, and stamps are told relative to it. It is recorded anew from time to
 * time, because the two clocks drift apart, and not for each command, which took microseconds.
 */
#include "device/cuda/cuda.h"

#include "base/clock.h"

/* In that time the clocks drift apart by a few microseconds at most, and the driver's answer, a
 * float, is good to 10 ns. */
#define AGE_NS 100000000u

/* ---- the device's clock ---- */

gx_status gx__cu_clock_open(struct cu_device *device)
{
    struct cu_clock *clock = &device->clock;
    CUresult r = device->fn->StreamCreate(&clock->stream, CU_STREAM_NON_BLOCKING);
    if (r != CUDA_SUCCESS) {
        clock->stream = NULL;
        return gx__cu_status(device, r, "cuStreamCreate");
    }
    r = device->fn->EventCreate(&clock->event, CU_EVENT_DEFAULT);
    if (r != CUDA_SUCCESS)
        clock->event = NULL;
    return gx__cu_status(device, r, "cuEventCreate");
}

void gx__cu_clock_close(struct cu_device *device)
{
    if (device->clock.event)
        device->fn->EventDestroy(device->clock.event);
    if (device->clock.stream)
        device->fn->StreamDestroy(device->clock.stream);
}

gx_status gx__cu_clock_start(struct cu_device *device, struct cu_cmd *cmd)
{
    struct cu_clock *clock = &device->clock;
    gx_status s = GX_OK;
    if (!cmd->gpu.stamped)
        return GX_OK;
    pthread_mutex_lock(&clock->lock);
    cmd->gpu.submitted_ns = gx__now_ns();
    if (!clock->ns || cmd->gpu.submitted_ns - clock->ns > AGE_NS) {
        s = gx__cu_status(device, device->fn->EventRecord(clock->event, clock->stream),
                          "cuEventRecord");
        clock->ns = s == GX_OK ? gx__now_ns() : 0;
        clock->reached = false;
    }
    pthread_mutex_unlock(&clock->lock);
    return s;
}

/* Nanoseconds after the clock's event, negative if before; under the lock. */
static gx_status ask(struct cu_device *device, CUevent stamp, int64_t *after)
{
    float ms = 0;
    CUresult r = device->fn->EventElapsedTime(&ms, device->clock.event, stamp);
    *after = (int64_t)((double)ms * 1e6);
    return gx__cu_status(device, r, "cuEventElapsedTime");
}

static gx_status ask_all(struct cu_device *device, const struct cu_cmd *cmd, int64_t *at,
                         uint32_t count)
{
    struct cu_clock *clock = &device->clock;
    pthread_mutex_lock(&clock->lock);
    /* The command may have been faster than the clock's stream. */
    gx_status s = clock->reached ? GX_OK : gx__cu_drain(device, clock->stream);
    clock->reached = s == GX_OK;
    for (uint32_t i = 0; i < count && s == GX_OK; i++) {
        int64_t after = 0;
        s = ask(device, cmd->stamps[i], &after);
        at[i] = (int64_t)clock->ns + after;
    }
    pthread_mutex_unlock(&clock->lock);
    return s == GX_ERR_TIMEOUT ? GX_ERR_DEVICE : s;
}

/* ---- stamps ---- */

void gx__cu_stamps_free(struct cu_device *device, struct cu_cmd *cmd)
{
    for (int i = 0; i < GX_STAMPS; i++) {
        if (cmd->stamps[i])
            device->fn->EventDestroy(cmd->stamps[i]);
        cmd->stamps[i] = NULL;
    }
}

static gx_status create_events(struct cu_device *device, struct cu_cmd *cmd)
{
    gx_status s = cmd->stamps[0] ? GX_OK : gx__cu_enter(device);
    if (s != GX_OK || cmd->stamps[0])
        return s;
    CUresult r = CUDA_SUCCESS;
    for (int i = 0; i < GX_STAMPS && r == CUDA_SUCCESS; i++) {
        r = device->fn->EventCreate(&cmd->stamps[i], CU_EVENT_DEFAULT);
        if (r != CUDA_SUCCESS)
            cmd->stamps[i] = NULL;
    }
    if (r != CUDA_SUCCESS)
        gx__cu_stamps_free(device, cmd);
    gx__cu_leave(device);
    return gx__cu_status(device, r, "cuEventCreate");
}

void gx__cu_stamp(struct gx_gpu *gpu, struct gx_gpu_cmd *base, uint32_t index)
{
    struct cu_cmd *cmd = (struct cu_cmd *)base;
    base->failed = create_events(cu_of_gpu(gpu), cmd);
    struct cu_op *op = gx__cu_next_op(cmd, CU_STAMP);
    if (op)
        op->stamp = index;
}

/* Moves them together, so that they are between the submit and now and what is between them stays
 * as long as it was. */
static void place(const int64_t *at, uint32_t count, int64_t from, int64_t to, uint64_t *ns)
{
    int64_t move = at[count - 1] > to ? to - at[count - 1] : 0, least = from;
    if (at[0] + move < from)
        move = from - at[0];
    for (uint32_t i = 0; i < count; i++) {
        int64_t t = at[i] + move;
        least = t < least ? least : t < to ? t : to;
        ns[i] = (uint64_t)least;
    }
}

gx_status gx__cu_stamps(struct gx_gpu *gpu, struct gx_gpu_cmd *cmd, uint64_t *ns, uint32_t count)
{
    struct cu_device *device = cu_of_gpu(gpu);
    int64_t at[GX_STAMPS];
    gx_status s = gx__gpu_alive(gpu);
    if (s == GX_OK)
        s = gx__cu_enter(device);
    if (s != GX_OK)
        return s;
    s = ask_all(device, (struct cu_cmd *)cmd, at, count);
    gx__cu_leave(device);
    if (s == GX_OK && count)
        place(at, count, (int64_t)cmd->submitted_ns, (int64_t)gx__now_ns(), ns);
    return s;
}
