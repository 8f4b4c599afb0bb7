/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts and devices: what every command goes through between its options and the library.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

int cli_no_memory(void)
{
    cli_error("out of memory; try fewer elements (-n, --sizes, --chunk)");
    return EXIT_FAILED;
}

static int exit_code(gx_status status)
{
    return status == GX_OK ? EXIT_DONE : status == GX_ERR_NO_DEVICE ? EXIT_NO_DEVICE : EXIT_FAILED;
}

static int failed(gx_status status, const char *message)
{
    cli_error("%s", message);
    return exit_code(status);
}

/* Of the operations, the first one says it for all. */
int cli_no_operation(uint32_t fields, uint32_t ops)
{
    char names[OPTIONS_ERROR_SIZE] = "";
    gx_field field = 1;
    gx_op op = 1;
    while (gx_field_get_info(field + 1) && !(fields >> field & 1))
        field++;
    while (gx_op_get_info(op + 1) && !(ops >> op & 1))
        op++;
    cli_add_names(names, sizeof names, ", ", UINT32_MAX, 1u << op, false);
    return cli_usage("%s does not exist for %s: choose --field from %s", gx_op_get_info(op)->name,
                     gx_field_get_info(field)->name, names);
}

gx_field cli_field_of(gx_op op)
{
    return gx_op_exists(op, GX_BLS12_381_FQ) ? GX_BLS12_381_FQ : GX_BLS12_381_FR;
}

bool cli_wants(uint32_t fields, uint32_t ops, gx_field field, gx_op op)
{
    bool in = fields ? fields >> field & 1 : field == cli_field_of(op);
    return in && ops >> op & 1 && gx_op_exists(op, field);
}

uint64_t cli_count_in(uint32_t fields, uint32_t ops, gx_field field)
{
    uint64_t n = 0;
    for (gx_op o = 1; gx_op_get_info(o); o++)
        n += cli_wants(fields, ops, field, o);
    return n;
}

uint64_t cli_count_wanted(uint32_t fields, uint32_t ops)
{
    uint64_t n = 0;
    for (gx_field f = 1; gx_field_get_info(f); f++)
        n += cli_count_in(fields, ops, f);
    return n;
}

void cli_append(char *text, size_t size, const char *format, ...)
{
    va_list ap;
    size_t used = strlen(text);
    va_start(ap, format);
    vsnprintf(text + used, size - used, format, ap);
    va_end(ap);
}

void cli_add_names(char *text, size_t size, const char *separator, uint32_t fields, uint32_t ops,
                   bool of_ops)
{
    const char *before = "";
    for (uint32_t i = 1; of_ops ? gx_op_get_info(i) != NULL : gx_field_get_info(i) != NULL; i++) {
        bool any = false;
        for (uint32_t k = 1; k < 32; k++)
            any |= of_ops ? cli_wants(fields, ops, k, i) : cli_wants(fields, ops, i, k);
        if (any)
            cli_append(text, size, "%s%s", before,
                       of_ops ? gx_op_get_info(i)->name : gx_field_get_info(i)->name);
        before = any ? separator : before;
    }
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

char *cli_text(gx_ctx *ctx, gx_status (*write)(gx_ctx *, char *, size_t *), gx_status *s)
{
    size_t room = 0, size = 0;
    char *text = NULL;
    *s = write(ctx, NULL, &size);
    while (*s == GX_OK && size > room) {
        free(text);
        room = size + 4096;
        text = malloc(size = room);
        *s = text ? write(ctx, text, &size) : GX_ERR_OUT_OF_MEMORY;
    }
    if (*s == GX_OK)
        return text;
    free(text);
    return NULL;
}

int cli_write_failed(const file_writer *w)
{
    if (!w->closed_pipe)
        cli_error("%s", w->err);
    return EXIT_FAILED;
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
    uint64_t messages = 0;
    if (*ctx)
        gx_counter(*ctx, "validation_messages", &messages);
    gx_close(ctx);
    if (!messages)
        return rc;
    cli_error(
        "the validation layer reported %llu error%s in gpuexec: please report the messages above",
        (unsigned long long)messages, plural(messages));
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

const gx_device_info *device_list_find(const device_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->infos[i].name, name))
            return &list->infos[i];
    return NULL;
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

static void add_target(target_list *targets, const char *name)
{
    int width = (int)strlen(name);
    targets->names[targets->count++] = name;
    if (width > targets->width)
        targets->width = width;
}

static bool has_target(const target_list *targets, const char *name)
{
    for (size_t i = 0; i < targets->count; i++)
        if (!strcmp(targets->names[i], name))
            return true;
    return false;
}

/* "cpu,vulkan:0"; gx_open has found each. */
static int add_named(target_list *targets)
{
    for (char *name = targets->named, *comma; name; name = comma) {
        comma = strchr(name, ',');
        if (comma)
            *comma++ = 0;
        if (!*name)
            return cli_usage("--device: empty name");
        if (has_target(targets, name))
            return cli_usage("--device: '%s' is listed twice", name);
        add_target(targets, name);
    }
    return EXIT_DONE;
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
    targets->names =
        calloc(targets->all.count + (named ? strlen(named) : 0) + 1, sizeof *targets->names);
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
        return add_named(targets);
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
    const gx_device_info *info = device_list_find(&targets->all, name);
    return info && info->kind == GX_DEVICE_CPU;
}
