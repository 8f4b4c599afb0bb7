/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing an engine, and how long work may take.
 */
#include "exec/engine.h"

/* Far more than the slowest working device needs, even with other work queued before. Drivers that
 * detect hangs do so within seconds. */
#define WAIT_NS         60000000000u
#define WAIT_ELEMENT_NS 50000u

/* Threads for host copies: as many as jobs may use; 1 if the device simulates them. */
static uint32_t copy_threads(const struct gx_engine *engine)
{
    uint32_t asked = engine->instance->config.threads;
    if (engine->device.ops->run || engine->device.ops->host_copy)
        return 1;
    return asked ? asked : gx__cores();
}

static size_t memory_limit(const struct gx_engine *engine)
{
    uint64_t asked = engine->instance->config.device_memory;
    uint64_t own = engine->device.facts.memory;
    uint64_t limit = asked && (!own || asked < own) ? asked : own;
    return limit < SIZE_MAX ? (size_t)limit : SIZE_MAX;
}

gx_status gx__engine_open(struct gx_engine *engine, struct gx_instance *instance,
                          const char *device_name, struct gx_error *error)
{
    engine->instance = instance;
    atomic_store(&engine->lost, false);
    gx_status s = gx__device_open(instance, device_name, &engine->device, error);
    if (s != GX_OK)
        return s;
    gx__records_init(&engine->records, &engine->device, &instance->counters);
    gx__pool_init(&engine->pool, &engine->device, memory_limit(engine), &engine->records);
    gx__imports_open(&engine->imports, &engine->device, &engine->records);
    gx__copier_init(&engine->copier, instance, copy_threads(engine),
                    engine->device.facts.drop_lines);
    gx__plan_cache_init(&engine->plans);
    gx__tables_init(&engine->tables);
    gx__arrays_init(&engine->arrays);
    pthread_mutex_init(&engine->pipes_lock, NULL);
    gx__worker_init(&engine->worker);
    return GX_OK;
}

void gx__engine_close(struct gx_engine *engine)
{
    if (!engine->device.ops)
        return;
    gx__worker_close(engine);
    gx__copier_close(&engine->copier);
    gx__pipes_free(engine);
    gx__arrays_close(&engine->arrays, &engine->instance->config.allocator);
    gx__imports_close(&engine->imports);
    gx__tables_close(engine);
    gx__pool_close(&engine->pool);
    gx__records_close(&engine->records); /* after the memory, which commands refer to */
    pthread_mutex_destroy(&engine->pipes_lock);
    gx__plan_cache_close(&engine->plans);
    gx__device_close(&engine->device);
}

gx_status gx__engine_wait(struct gx_engine *engine, struct gx_fence fence, uint64_t elements)
{
    uint64_t limit = WAIT_NS + elements * WAIT_ELEMENT_NS;
    return engine->device.ops->wait(&engine->device, fence, limit);
}
