/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors, contexts and devices: what every command goes through between its options and the
 * library.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "progress.h"

const char *cli_program = "gpuexec";

void cli_error(const char *format, ...)
{
    va_list ap;
    progress_hide();
    fflush(stdout);
    fputs("gpuexec: ", stderr);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    fflush(stderr);
}

int cli_usage(const command *cmd, const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    cli_error("%s", text);
    fprintf(stderr, "try 'gpuexec %s --help'\n", cmd->name);
    return EXIT_USAGE;
}

int cli_no_memory(void)
{
    cli_error("out of memory; try fewer elements (-n, --sizes, --chunk)");
    return EXIT_FAILED;
}

static int exit_code(gx_status status)
{
    return status == GX_OK ? EXIT_DONE : status == GX_ERR_NO_DEVICE ? EXIT_NO_DEVICE : EXIT_FAILED;
}

/* Extracts the quoted name from the library's "there is no device 'vulkn:0': ..."; empty for any
 * other message. */
static void missing_device(const char *message, char *name, size_t size)
{
    static const char begin[] = "there is no device '";
    name[0] = 0;
    if (!strncmp(message, begin, sizeof begin - 1)) {
        message += sizeof begin - 1;
        snprintf(name, size, "%.*s", (int)strcspn(message, "'"), message);
    }
}

/* Adds the names of all devices. Uses a new context, because the failed one may be in use. */
static void suggest_devices(suggestion *s)
{
    gx_ctx *ctx = NULL;
    device_list list = {0};
    if (gx_open(&(gx_config){.trace = "", .cache_dir = "none"}, &ctx) == GX_OK &&
        device_list_get(ctx, &list) == EXIT_DONE)
        for (size_t i = 0; i < list.count; i++)
            suggestion_try(s, list.infos[i].name);
    device_list_free(&list);
    gx_close(&ctx);
}

static int failed(gx_status status, const char *message)
{
    char name[64] = "";
    suggestion s = {.word = name};
    if (status == GX_ERR_NO_DEVICE)
        missing_device(message, name, sizeof name);
    if (*name)
        suggest_devices(&s);
    if (s.best[0])
        cli_error("there is no device '%s'; did you mean '%s'?", name, s.best);
    else
        cli_error("%s", message);
    return exit_code(status);
}

int cli_no_operation(const command *cmd, uint32_t fields)
{
    char ops[ARGS_ERROR_SIZE] = "";
    gx_field field = 1;
    while (gx_field_get_info(field + 1) && !(fields >> field & 1))
        field++;
    for (int o = 1; gx_op_get_info((gx_op)o); o++)
        if (gx_op_exists((gx_op)o, field)) {
            size_t used = strlen(ops);
            snprintf(ops + used, sizeof ops - used, " %s", gx_op_get_info((gx_op)o)->name);
        }
    return cli_usage(cmd, "operation not supported by this field: %s has%s",
                     gx_field_get_info(field)->name, ops);
}

int cli_op_width(uint32_t ops, int least)
{
    int width = least;
    for (gx_op o = 1; gx_op_get_info(o); o++)
        if (ops >> o & 1 && (int)strlen(gx_op_get_info(o)->name) > width)
            width = (int)strlen(gx_op_get_info(o)->name);
    return width;
}

int cli_job_failed(const gx_report *report)
{
    return failed(report->status,
                  report->message[0] ? report->message : gx_status_message(report->status));
}

/* Its address marks a context that logs all messages. */
static char verbose_log;

/* Why a call without reports failed; only the log says so. Errors of jobs are printed from their
 * reports. */
static char last_error[256];

static void log_message(void *user, gx_log_level level, const char *message)
{
    if (level == GX_LOG_ERROR)
        snprintf(last_error, sizeof last_error, "%s", message);
    if (level != GX_LOG_WARNING && user != &verbose_log)
        return;
    const char *kind = level == GX_LOG_ERROR     ? "error"
                       : level == GX_LOG_WARNING ? "warning"
                                                 : "info";
    cli_error("%s: %s", kind, message);
}

int cli_call_failed(gx_status status)
{
    return failed(status, last_error[0] ? last_error : gx_status_message(status));
}

int cli_open(const common_opts *common, gx_ctx **ctx)
{
    gx_config config = common->config;
    config.log = log_message;
    config.log_user = common->verbose ? &verbose_log : NULL;
    last_error[0] = 0;
    gx_status s = gx_open(&config, ctx);
    return s == GX_OK ? EXIT_DONE : cli_call_failed(s);
}

int cli_close(gx_ctx **ctx, int rc)
{
    gx_statistics stats = {.struct_size = sizeof stats};
    if (*ctx)
        gx_stats(*ctx, &stats);
    gx_close(ctx);
    if (!stats.validation_messages)
        return rc;
    cli_error(
        "the validation layer reported %llu error%s in gpuexec: please report the messages above",
        (unsigned long long)stats.validation_messages, plural(stats.validation_messages));
    return rc == EXIT_DONE ? EXIT_FAILED : rc;
}

int device_list_get(gx_ctx *ctx, device_list *list)
{
    *list = (device_list){0};
    size_t room = 0;
    gx_status s = gx_devices(ctx, NULL, &room);
    if (s == GX_OK && room) {
        list->infos = calloc(room, sizeof *list->infos);
        if (!list->infos)
            return cli_no_memory();
        list->infos->struct_size = sizeof *list->infos;
        list->count = room;
        s = gx_devices(ctx, list->infos, &list->count);
        if (list->count > room)
            list->count = room;
    }
    if (s != GX_OK)
        cli_error("cannot list the devices: %s", gx_status_message(s));
    return exit_code(s);
}

void device_list_free(device_list *list)
{
    free(list->infos);
    *list = (device_list){0};
}

const char *cli_named_device(const common_opts *common)
{
    if (common->config.device)
        return common->config.device;
    const gx_option *o;
    for (uint32_t i = 0; (o = gx_option_get(i)) != NULL; i++) {
        const char *value = strcmp(o->name, "device") ? NULL : gx__os_env(o->env);
        if (value && *value)
            return value;
    }
    return NULL;
}

int cli_find_device(gx_ctx *ctx, const char *name)
{
    const gx_job nothing = {.op = GX_ADD, .field = GX_U32};
    const gx_run_opts opts = {.device = name};
    gx_estimate_info info = {.struct_size = sizeof info};
    gx_report report = {.struct_size = sizeof report};
    if (gx_estimate(ctx, &nothing, 1, &opts, &info) == GX_ERR_NO_DEVICE &&
        gx_run(ctx, &nothing, 1, &opts, &report) == GX_ERR_NO_DEVICE) /* which sets the message */
        return cli_job_failed(&report);
    return EXIT_DONE;
}

static void add_target(target_list *targets, const char *name)
{
    int width = (int)strlen(name);
    targets->names[targets->count++] = name;
    if (width > targets->width)
        targets->width = width;
}

static size_t count_names(const char *list)
{
    size_t count = list != NULL;
    while (list && (list = strchr(list, ',')) != NULL) {
        list++;
        count++;
    }
    return count;
}

/* Whether the name occurs among those before it, which are stored one after the other. */
static bool is_again(const char *first, const char *name)
{
    for (; first < name; first += strlen(first) + 1)
        if (!strcmp(first, name))
            return true;
    return false;
}

/* "cpu,vulkan:0", each checked. */
static int add_named(gx_ctx *ctx, target_list *targets)
{
    int rc = EXIT_DONE;
    for (char *name = targets->named, *comma; name && rc == EXIT_DONE; name = comma) {
        comma = strchr(name, ',');
        if (comma)
            *comma++ = 0;
        if (!*name) {
            cli_error("--device: empty name");
            return EXIT_USAGE;
        }
        if (is_again(targets->named, name)) {
            cli_error("--device: '%s' is listed twice", name);
            return EXIT_USAGE;
        }
        rc = cli_find_device(ctx, name);
        add_target(targets, name);
    }
    return rc;
}

static bool is_of_kind(const gx_device_info *info, target_kind kind)
{
    if (kind == TARGETS_AUTOMATIC)
        return info->automatic;
    return info->usable && info->kind != GX_DEVICE_REFERENCE && info->kind != GX_DEVICE_SIM;
}

int target_list_get(gx_ctx *ctx, const common_opts *common, target_kind kind, target_list *targets)
{
    const char *named = cli_named_device(common);
    *targets = (target_list){.threads = 1, .width = 6};
    int rc = device_list_get(ctx, &targets->all);
    if (rc != EXIT_DONE)
        return rc;
    targets->named = named ? strdup(named) : NULL;
    targets->names = calloc(targets->all.count + count_names(named) + 1, sizeof *targets->names);
    if (!targets->names || (named && !targets->named))
        return cli_no_memory();
    for (size_t i = 0; i < targets->all.count; i++) {
        const gx_device_info *info = &targets->all.infos[i];
        if (!named && is_of_kind(info, kind))
            add_target(targets, info->name);
        if (info->automatic && info->threads > targets->threads)
            targets->threads = info->threads;
    }
    if (named)
        return add_named(ctx, targets);
    if (targets->count)
        return EXIT_DONE;
    cli_error("no usable device; 'gpuexec devices' lists all devices");
    return EXIT_NO_DEVICE;
}

void target_list_free(target_list *targets)
{
    free(targets->names);
    free(targets->named);
    device_list_free(&targets->all);
    *targets = (target_list){0};
}

bool target_is_cpu(const target_list *targets, const char *name)
{
    for (size_t i = 0; i < targets->all.count; i++)
        if (!strcmp(targets->all.infos[i].name, name))
            return targets->all.infos[i].kind == GX_DEVICE_CPU;
    return false;
}
