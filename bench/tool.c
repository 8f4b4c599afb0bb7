/* SPDX-License-Identifier: Apache-2.0
 *
 * Options and device of the programs in this folder (tool.h).
 */
#include "tool.h"

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

/* False where it was wrong, or only a question. */
static bool parse(int argc, char **argv, int *rc)
{
    char message[ARGS_ERROR_SIZE] = "";
    const char *wrong = message;
    args_result parsed = args_parse(&tool.args, 1, &config, argc - 1, argv + 1, message);
    *rc = EXIT_SUCCESS;
    if (parsed == ARGS_HELP || parsed == ARGS_LONG_HELP) {
        printf("usage: %s %s\n", tool.name, tool.usage);
        args_print_help(stdout, &tool.args);
        args_print_settings(stdout);
        return false;
    }
    if (parsed == ARGS_OK)
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
    gx__crew_end(&instance);
}

bool tool_open(int argc, char **argv, int *rc)
{
    char message[ARGS_ERROR_SIZE] = "";
    config.log = say;
    if (!parse(argc, argv, rc))
        return false;
    gx_status s = gx__config_complete(&instance.config, &config, message, sizeof message);
    if (s == GX_OK && !instance.config.device)
        instance.config.device = config.device = "vulkan";
    if (s == GX_OK)
        s = gx__device_open(&instance, instance.config.device, &device, message, sizeof message);
    if (s == GX_OK)
        return true;
    fprintf(stderr, "%s: %s\n", tool.name, message);
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
