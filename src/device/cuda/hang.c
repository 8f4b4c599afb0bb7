/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that never ends. The driver cannot take it back, and most calls that free something wait for
 * it. So a device whose work does not end is abandoned: from then on it calls nothing of the
 * driver, and all that it has there is left. What is needed to ask about that work stays in a list
 * of the process, which outlives the device and its context (gx_ctx). While the work runs, its GPU
 * is not opened again, because it has a single primary context, the one that hangs. When the work
 * has ended, or an error has ended the CUDA context, the reference to that is released. What was
 * left is freed with it, as soon as nobody else in the process uses it.
 */
#include "device/cuda/cuda.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

/* Not the caller's allocator, which may end before the work does. */
static const gx_allocator process_allocator;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cu_hold *holds; /* of abandoned devices; under the lock */
static atomic_bool any;       /* whether there are some */

bool gx__cu_hold_open(struct cu_device *device)
{
    device->hold = gx__alloc(&process_allocator, sizeof *device->hold);
    if (!device->hold)
        return false;
    device->hold->fn = *device->fn;
    device->hold->handle = device->listed->handle;
    memcpy(device->hold->uuid, device->listed->base.uuid, sizeof device->hold->uuid);
    return true;
}

/* ---- under the lock ---- */

/* Any answer but this one means that the work has ended. */
static bool is_busy(const struct cu_hold *hold)
{
    bool busy = false;
    CUcontext context = hold->context;
    if (hold->fn.CtxPushCurrent(context) != CUDA_SUCCESS)
        return false;
    for (int i = 0; i < CU_STREAMS && !busy; i++)
        busy = hold->stream[i] && hold->fn.StreamQuery(hold->stream[i]) == CUDA_ERROR_NOT_READY;
    hold->fn.CtxPopCurrent(&context);
    return busy;
}

static bool is_of(const struct cu_hold *hold, const uint8_t uuid[16])
{
    return !memcmp(hold->uuid, uuid, sizeof hold->uuid);
}

/* Releases the references to the context whose devices are closed: others may still look at their
 * counters, which are memory of the context. */
static void release_all(const uint8_t uuid[16])
{
    for (struct cu_hold **at = &holds, *hold; (hold = *at);) {
        if (!is_of(hold, uuid) || !hold->closed) {
            at = &hold->next;
            continue;
        }
        *at = hold->next;
        hold->fn.DevicePrimaryCtxRelease(hold->handle);
        gx__free(&process_allocator, hold);
    }
    atomic_store(&any, holds != NULL);
}

/* ---- abandoning, and coming back ---- */

void gx__cu_abandon(struct cu_device *device)
{
    struct cu_hold *hold = device->hold;
    pthread_mutex_lock(&lock);
    bool known = atomic_load(&device->hung);
    if (!known) {
        hold->context = device->context;
        for (int q = 0; q < CU_QUEUES; q++)
            hold->stream[q] = device->queue[q].stream;
        hold->stream[CU_QUEUES] = device->clock.stream;
        hold->next = holds;
        holds = hold;
        atomic_store(&any, true);
        atomic_store(&device->hung, true); /* first: who sees that it is lost frees memory */
        atomic_store(&device->gpu.lost, true);
    }
    pthread_mutex_unlock(&lock);
    if (!known)
        gx__log(device->gpu.base->instance, GX_LOG_ERROR,
                "%s: work does not end and is given up; its memory is not freed, and the GPU is "
                "not opened again in this process, until it ends: if it never does, start the "
                "process again",
                device->gpu.base->info.name);
}

bool gx__cu_stuck(const uint8_t uuid[16])
{
    bool stuck = false;
    if (!atomic_load(&any))
        return false;
    pthread_mutex_lock(&lock);
    for (const struct cu_hold *hold = holds; hold && !stuck; hold = hold->next)
        stuck = is_of(hold, uuid) && is_busy(hold);
    if (!stuck)
        release_all(uuid);
    pthread_mutex_unlock(&lock);
    return stuck;
}

void gx__cu_hold_close(struct cu_device *device)
{
    if (!atomic_load(&device->hung)) {
        gx__free(&process_allocator, device->hold);
        return;
    }
    pthread_mutex_lock(&lock);
    device->hold->closed = true;
    pthread_mutex_unlock(&lock);
    gx__cu_stuck(device->listed->base.uuid); /* it may have ended meanwhile */
}
