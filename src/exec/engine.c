/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing an engine, and how long work may take.
 */
#include "exec/engine.h"

/* Far above what the slowest device takes that works at all, with other work before it in
 * the queue: who waits longer waits for nothing. Drivers that notice a hang themselves do
 * so within seconds. */
#define WAIT_NS         60000000000u
#define WAIT_ELEMENT_NS 50000u

gx_status gx__engine_open(struct gx_engine *engine, struct gx_instance *instance,
                          const char *device_name, char *message, size_t message_size)
{
    engine->instance = instance;
    atomic_store(&engine->lost, false);
    gx_status s = gx__device_open(instance, device_name, &engine->device, message, message_size);
    if (s == GX_OK)
        gx__pool_init(&engine->pool, &engine->device, &instance->counters);
    return s;
}

void gx__engine_close(struct gx_engine *engine)
{
    if (!engine->device.ops)
        return;
    gx__pool_close(&engine->pool);
    gx__device_close(&engine->device);
}

gx_status gx__engine_wait(struct gx_engine *engine, struct gx_point point, uint64_t elements)
{
    uint64_t limit = WAIT_NS + elements * WAIT_ELEMENT_NS;
    return engine->device.ops->wait(&engine->device, point, limit);
}
