/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec devices: lists the devices.
 */
#include "cli.h"

static const column columns[] = {
    COLUMN(TEXT, "name", "name", 15),
    COLUMN(TEXT, "kind", "kind", 9),
    COLUMN(COUNT, "threads", "threads", 7),
    COLUMN(BOOL, "automatic", "automatic", 9),
    COLUMN(TEXT, "description", "description", 40),
    {.key = "memory_bytes", .kind = COL_COUNT, .flags = COL_MACHINE_ONLY},
    {.key = "usable", .kind = COL_BOOL, .flags = COL_MACHINE_ONLY},
};

enum { COLUMNS = sizeof columns / sizeof *columns };

static bool show(output *out, output_format format, const gx_device_info *d)
{
    /* in a table, 0 threads would look like a fault */
    bool threads = d->threads || format != OUT_TABLE;
    cell cells[COLUMNS] = {
        CELL_TEXT(d->name),
        CELL_TEXT(gx_device_kind_name(d->kind)),
        threads ? CELL_COUNT(d->threads) : CELL_MISSING,
        CELL_COUNT(d->automatic != 0),
        CELL_TEXT(d->description),
        d->memory_bytes ? CELL_COUNT(d->memory_bytes) : CELL_MISSING,
        CELL_COUNT(d->usable != 0),
    };
    return output_row(out, cells);
}

static int run_devices(const common_opts *common)
{
    gx_ctx *ctx = NULL;
    device_list list = {0};
    common_opts all = *common;
    all.config.device = "cpu"; /* whether one that is named is there, is for the list to show */
    int rc = cli_open(&all, &ctx);
    if (rc == EXIT_DONE)
        rc = device_list_get(ctx, &list);
    if (rc == EXIT_DONE) {
        output_format format = (output_format)common->format;
        output *out = output_open(format, "devices", columns, COLUMNS);
        bool ok = out != NULL;
        for (size_t i = 0; ok && i < list.count; i++)
            ok = show(out, format, &list.infos[i]);
        if (!output_close(out) || !ok)
            rc = EXIT_FAILED;
    }
    device_list_free(&list);
    return cli_close(&ctx, rc);
}

const command cmd_devices = {
    .name = "devices",
    .summary = "list the devices",
    .about =
        "Lists every device: its name for --device, a description, the maximum number of host\n"
        "threads it uses, and whether jobs that name no device may run on it. The reference\n"
        "device is slow and exact; all others are checked against it. If a device cannot be\n"
        "used, its description says why and what to do.",
    .examples = "  gpuexec devices\n"
                "  gpuexec devices --json | jq -r '.rows[].name'\n",
    .formats = true,
    .run = run_devices,
};
