/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing an engine.
 */
#include "exec/engine.h"

gx_status gx__engine_open(struct gx_engine *engine, struct gx_instance *instance,
                          const char *device_name, char *message, size_t message_size)
{
    *engine = (struct gx_engine){.instance = instance};
    gx_status s = gx__device_open(instance, device_name, &engine->device, message, message_size);
    if (s == GX_OK)
        gx__pool_init(&engine->pool, &engine->device, &instance->counters);
    return s;
}

void gx__engine_close(struct gx_engine *engine)
{
    gx__pool_close(&engine->pool);
    gx__device_close(&engine->device);
}
