/* SPDX-License-Identifier: Apache-2.0
 *
 * Options and device of the programs in this folder (tool.h).
 */
#include "tool.h"

#include <string.h>

#include "base/options.h"

gx_config config;
struct gx_device device;

static struct gx_instance instance;

static void say(void *user, gx_log_level level, const char *message)
{
    (void)user;
    if (level != GX_LOG_INFO)
        fprintf(stderr, "%s: %s\n", tool.name, message);
}

/* False if it was wrong, or only a query. */
static bool parse(int argc, char **argv, int *rc)
{
    char message[OPTIONS_ERROR_SIZE] = "";
    const char *wrong = message;
    option_list list = {0};
    options_add(&list, &tool.options);
    options_add_settings(&list);
    options_result parsed = options_parse(&list, &config, argc, argv, message);
    *rc = EXIT_SUCCESS;
    if (parsed == OPTIONS_HELP || parsed == OPTIONS_LONG_HELP) {
        printf("usage: %s %s\n", tool.name, tool.usage);
        options_print(stdout, &list);
        return false;
    }
    if (parsed == OPTIONS_OK)
        wrong = tool.check ? tool.check() : NULL;
    if (!wrong)
        return true;
    fprintf(stderr, "%s: %s\n", tool.name, wrong);
    *rc = EXIT_USAGE;
    return false;
}

static void stop(void)
{
    gx__device_stop(&instance);
    gx__threads_end(&instance);
}

bool tool_open(int argc, char **argv, int *rc)
{
    struct gx_error error = {""};
    config.log = say;
    if (!parse(argc, argv, rc))
        return false;
    gx_status s = gx__config_complete(&instance.config, &config, &error);
    if (s == GX_OK && !instance.config.device)
        instance.config.device = config.device = "vulkan";
    if (s == GX_OK)
        s = gx__device_open(&instance, instance.config.device, &device, &error);
    if (s == GX_OK)
        return true;
    fprintf(stderr, "%s: %s\n", tool.name, error.text);
    stop();
    *rc = s == GX_ERR_NO_DEVICE ? EXIT_NO_DEVICE : EXIT_FAILURE;
    return false;
}

void tool_close(void)
{
    gx_device_info info = device.info;
    gx__device_close(&device);
    stop();
    device.info = info;
}

int tool_end(int rc)
{
    return rc == EXIT_SUCCESS && instance.counters.validation_messages ? EXIT_FAILURE : rc;
}

gx_status tool_finish(struct gx_cmd *cmd)
{
    struct gx_fence done;
    gx_status s = device.ops->submit(cmd, NULL, 0, &done);
    return s == GX_OK ? device.ops->wait(&device, done, GX_WAIT_FOREVER) : s;
}

gx_status tool_copy(const struct gx_region *regions, size_t count)
{
    struct gx_cmd *cmd;
    gx_status s = device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd);
    if (s != GX_OK)
        return s;
    device.ops->copy(cmd, regions, count);
    device.ops->barrier(cmd, GX_BARRIER_TO_HOST);
    s = tool_finish(cmd);
    device.ops->recycle(cmd);
    return s;
}

gx_status tool_read(struct gx_binding from, size_t bytes, struct gx_mem *readback, void *to)
{
    void *view;
    gx_status s =
        tool_copy(&(struct gx_region){.from = from, .to = {readback, 0}, .size = bytes}, 1);
    if (s == GX_OK)
        s = device.ops->map(&device, readback, &view);
    if (s != GX_OK)
        return s;
    memcpy(to, view, bytes);
    device.ops->unmap(&device, readback);
    return GX_OK;
}

void tool_free(struct gx_mem *mem)
{
    if (mem->size)
        device.ops->mem_free(&device, mem);
    *mem = (struct gx_mem){0};
}
