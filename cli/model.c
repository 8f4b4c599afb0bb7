/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec model: prints the router's model of this machine.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

static struct {
    int points;
} opts;

static const arg_spec specs[] = {
    ARG_ROW_FLAG("points", &opts.points,
                 "print every measured size, instead of one line per kind of job"),
};

typedef struct row_list {
    gx_model_row *rows;
    size_t count;
} row_list;

/* ---- both tables ---- */

static const char *age_text(char *text, size_t size, uint32_t seconds)
{
    if (seconds < 60)
        snprintf(text, size, "%u s", seconds);
    else if (seconds < 3600)
        snprintf(text, size, "%u min", seconds / 60);
    else if (seconds < 2 * 86400)
        snprintf(text, size, "%u h", seconds / 3600);
    else
        snprintf(text, size, "%u d", seconds / 86400);
    return text;
}

/* The widest device name, at least 8. */
static int device_width(const row_list *list)
{
    int width = 8;
    for (size_t i = 0; i < list->count; i++)
        if ((int)strlen(list->rows[i].device) > width)
            width = (int)strlen(list->rows[i].device);
    return width;
}

/* Transforms have a size and an order: with n natural and r bit-reversed, of a and out. Several
 * sums of points have a size too, and all of them a curve and the bits of the scalars. */
static cell log2_of(const gx_model_row *row)
{
    bool sized = row->op == GX_NTT || (row->op == GX_MSM && row->log2_n);
    return sized ? CELL_COUNT(row->log2_n) : CELL_MISSING;
}

static cell order_of(const gx_model_row *row)
{
    return row->op == GX_NTT ? CELL_TEXT(row->permutes ? "nn rr" : "nr rn") : CELL_MISSING;
}

static cell curve_of(const gx_model_row *row)
{
    const gx_curve_info *info = row->op == GX_MSM ? gx_curve_get_info(row->curve) : NULL;
    return info ? CELL_TEXT(info->name) : CELL_MISSING;
}

static cell bits_of(const gx_model_row *row)
{
    return row->op == GX_MSM ? CELL_COUNT(row->scalar_bits) : CELL_MISSING;
}

static int op_width(const row_list *list)
{
    uint32_t ops = 0;
    for (size_t i = 0; i < list->count; i++)
        ops |= list->rows[i].op < 32 ? 1u << list->rows[i].op : 0;
    return cli_op_width(ops, 9);
}

/* ---- curves ---- */

enum {
    C_DEVICE,
    C_FIELD,
    C_OP,
    C_MEMORY,
    C_PATH,
    C_LAUNCH,
    C_RATE,
    C_POINTS,
    C_MIN,
    C_MAX,
    C_AGE,
    C_AGE_S,
    C_LOG2,
    C_ORDER,
    C_CURVE,
    C_BITS,
    CURVE_COLUMNS
};

static column curve_columns[CURVE_COLUMNS] = {
    [C_DEVICE] = {.key = "device", .title = "device", .kind = COL_TEXT},
    [C_FIELD] = COLUMN(TEXT, "field", "field", 12),
    [C_OP] = COLUMN(TEXT, "op", "op", 9),
    [C_MEMORY] = COLUMN(TEXT, "memory", "memory", 10),
    [C_PATH] = COLUMN(TEXT, "path", "path", 12, .flags = COL_WIDE),
    [C_LAUNCH] = COLUMN(REAL, "launch_us", "launch us", 9, .decimals = 2),
    [C_RATE] = COLUMN(REAL, "g_per_s", "M/s", 11, .decimals = 3, .scale = 1000),
    [C_POINTS] = COLUMN(COUNT, "points", "points", 6, .flags = COL_WIDE),
    [C_MIN] = COLUMN(COUNT, "from_elements", "from", 8, .flags = COL_WIDE),
    [C_MAX] = COLUMN(COUNT, "to_elements", "to", 9, .flags = COL_WIDE),
    [C_AGE] = {.title = "age", .kind = COL_TEXT, .width = 7, .flags = COL_TABLE_ONLY},
    [C_AGE_S] = {.key = "age_s", .kind = COL_COUNT, .flags = COL_MACHINE_ONLY},
    [C_LOG2] = COLUMN(COUNT, "log2_n", "log2", 4, .flags = COL_WIDE),
    [C_ORDER] = COLUMN(TEXT, "order", "order", 5, .flags = COL_WIDE),
    [C_CURVE] = COLUMN(TEXT, "curve", "curve", 12, .flags = COL_WIDE),
    [C_BITS] = COLUMN(COUNT, "scalar_bits", "bits", 4, .flags = COL_WIDE),
};

static bool same_curve(const gx_model_row *x, const gx_model_row *y)
{
    return !strcmp(x->device, y->device) && x->op == y->op && x->field == y->field &&
           x->residency == y->residency && x->path == y->path && x->log2_n == y->log2_n &&
           x->permutes == y->permutes && x->curve == y->curve && x->scalar_bits == y->scalar_bits;
}

/* Intercept of the line through the first two points. */
static cell launch_of(const gx_model_row *rows, size_t count)
{
    if (count < 2)
        return CELL_MISSING;
    double slope = ((double)rows[1].ns - (double)rows[0].ns) / (double)(rows[1].n - rows[0].n);
    double launch = (double)rows[0].ns - slope * (double)rows[0].n;
    launch = launch < 0 ? 0 : launch > (double)rows[0].ns ? (double)rows[0].ns : launch;
    return CELL_REAL(launch / 1e3);
}

/* Slope through the last two points. */
static cell rate_of(const gx_model_row *rows, size_t count)
{
    const gx_model_row *last = &rows[count - 1];
    uint64_t n = count < 2 ? last->n : last->n - last[-1].n;
    double ns = count < 2 ? (double)last->ns : (double)last->ns - (double)last[-1].ns;
    return ns > 0 ? CELL_REAL((double)n / ns) : CELL_MISSING;
}

static bool show_curve(output *out, const gx_model_row *rows, size_t count)
{
    char age[32];
    uint32_t youngest = rows[0].age_s;
    for (size_t i = 1; i < count; i++)
        youngest = rows[i].age_s < youngest ? rows[i].age_s : youngest;
    cell cells[CURVE_COLUMNS] = {
        [C_DEVICE] = CELL_TEXT(rows->device),
        [C_FIELD] = CELL_TEXT(gx_field_get_info(rows->field)->name),
        [C_OP] = CELL_TEXT(gx_op_get_info(rows->op)->name),
        [C_MEMORY] = CELL_TEXT(gx_residency_name(rows->residency)),
        [C_PATH] = CELL_TEXT(gx_path_name(rows->path)),
        [C_LAUNCH] = launch_of(rows, count),
        [C_RATE] = rate_of(rows, count),
        [C_POINTS] = CELL_COUNT(count),
        [C_MIN] = CELL_COUNT(rows[0].n),
        [C_MAX] = CELL_COUNT(rows[count - 1].n),
        [C_AGE] = CELL_TEXT(age_text(age, sizeof age, youngest)),
        [C_AGE_S] = CELL_COUNT(youngest),
        [C_LOG2] = log2_of(rows),
        [C_ORDER] = order_of(rows),
        [C_CURVE] = curve_of(rows),
        [C_BITS] = bits_of(rows),
    };
    return output_row(out, cells);
}

/* The rows of a curve are adjacent and sorted by size. */
static bool show_curves(output *out, const row_list *list)
{
    bool ok = true;
    for (size_t first = 0, next; ok && first < list->count; first = next) {
        for (next = first + 1; next < list->count; next++)
            if (!same_curve(&list->rows[first], &list->rows[next]))
                break;
        ok = show_curve(out, &list->rows[first], next - first);
    }
    return ok;
}

/* ---- points ---- */

enum {
    P_DEVICE,
    P_FIELD,
    P_OP,
    P_MEMORY,
    P_PATH,
    P_N,
    P_US,
    P_SLOW,
    P_SAMPLES,
    P_AGE,
    P_AGE_S,
    P_LOG2,
    P_ORDER,
    P_CURVE,
    P_BITS,
    POINT_COLUMNS
};

static column point_columns[POINT_COLUMNS] = {
    [P_DEVICE] = {.key = "device", .title = "device", .kind = COL_TEXT},
    [P_FIELD] = COLUMN(TEXT, "field", "field", 12),
    [P_OP] = COLUMN(TEXT, "op", "op", 9),
    [P_MEMORY] = COLUMN(TEXT, "memory", "memory", 10),
    [P_PATH] = COLUMN(TEXT, "path", "path", 12, .flags = COL_WIDE),
    [P_N] = COLUMN(COUNT, "elements", "elements", 9),
    [P_US] = COLUMN(REAL, "us", "us", 11, .decimals = 2),
    [P_SLOW] = COLUMN(REAL, "slow_us", "slow us", 11, .decimals = 2, .flags = COL_WIDE),
    [P_SAMPLES] = COLUMN(COUNT, "samples", "samples", 7, .flags = COL_WIDE),
    [P_AGE] = {.title = "age", .kind = COL_TEXT, .width = 7, .flags = COL_TABLE_ONLY},
    [P_AGE_S] = {.key = "age_s", .kind = COL_COUNT, .flags = COL_MACHINE_ONLY},
    [P_LOG2] = COLUMN(COUNT, "log2_n", "log2", 4, .flags = COL_WIDE),
    [P_ORDER] = COLUMN(TEXT, "order", "order", 5, .flags = COL_WIDE),
    [P_CURVE] = COLUMN(TEXT, "curve", "curve", 12, .flags = COL_WIDE),
    [P_BITS] = COLUMN(COUNT, "scalar_bits", "bits", 4, .flags = COL_WIDE),
};

static bool show_points(output *out, const row_list *list)
{
    bool ok = true;
    for (size_t i = 0; ok && i < list->count; i++) {
        const gx_model_row *r = &list->rows[i];
        char age[32];
        cell cells[POINT_COLUMNS] = {
            [P_DEVICE] = CELL_TEXT(r->device),
            [P_FIELD] = CELL_TEXT(gx_field_get_info(r->field)->name),
            [P_OP] = CELL_TEXT(gx_op_get_info(r->op)->name),
            [P_MEMORY] = CELL_TEXT(gx_residency_name(r->residency)),
            [P_PATH] = CELL_TEXT(gx_path_name(r->path)),
            [P_N] = CELL_COUNT(r->n),
            [P_US] = CELL_REAL((double)r->ns / 1e3),
            [P_SLOW] = CELL_REAL((double)r->slow_ns / 1e3),
            [P_SAMPLES] = CELL_COUNT(r->samples),
            [P_AGE] = CELL_TEXT(age_text(age, sizeof age, r->age_s)),
            [P_AGE_S] = CELL_COUNT(r->age_s),
            [P_LOG2] = log2_of(r),
            [P_ORDER] = order_of(r),
            [P_CURVE] = curve_of(r),
            [P_BITS] = bits_of(r),
        };
        ok = output_row(out, cells);
    }
    return ok;
}

/* ---- the command ---- */

static int get_rows(gx_ctx *ctx, row_list *list)
{
    size_t room = 0;
    gx_status s = gx_model(ctx, NULL, &room);
    if (s == GX_OK && room) {
        list->rows = calloc(room, sizeof *list->rows);
        if (!list->rows)
            return cli_no_memory();
        list->rows->struct_size = sizeof *list->rows;
        list->count = room;
        s = gx_model(ctx, list->rows, &list->count);
        list->count = list->count < room ? list->count : room;
    }
    return s == GX_OK ? EXIT_DONE : cli_call_failed(s);
}

int model_show(gx_ctx *ctx, output_format format, const char *command, bool points, size_t *curves)
{
    row_list list = {0};
    int rc = get_rows(ctx, &list);
    *curves = 0;
    for (size_t i = 0; i < list.count; i++)
        *curves += !i || !same_curve(&list.rows[i - 1], &list.rows[i]);
    curve_columns[C_DEVICE].width = point_columns[P_DEVICE].width = device_width(&list);
    curve_columns[C_OP].width = point_columns[P_OP].width = op_width(&list);
    /* No table is printed for people if it would be empty; machine formats always get one. */
    if (rc == EXIT_DONE && (list.count || format != OUT_TABLE)) {
        output *out = points ? output_open(format, command, point_columns, POINT_COLUMNS)
                             : output_open(format, command, curve_columns, CURVE_COLUMNS);
        bool ok = out && (points ? show_points(out, &list) : show_curves(out, &list));
        if (!output_close(out) || !ok)
            rc = EXIT_FAILED;
    }
    free(list.rows);
    return rc;
}

static int run_model(const common_opts *common)
{
    gx_ctx *ctx = NULL;
    size_t curves = 0;
    int rc = cli_open(common, &ctx);
    if (rc == EXIT_DONE)
        rc = model_show(ctx, (output_format)common->format, "model", opts.points != 0, &curves);
    if (rc == EXIT_DONE && !curves) {
        fflush(stdout);
        fputs("nothing measured yet: run 'gpuexec calibrate'\n", stderr);
    }
    return cli_close(&ctx, rc);
}

const command cmd_model = {
    .name = "model",
    .summary = "print the performance model of this machine",
    .synopsis = "[--device D[,D...]] [--points] [--csv | --json]",
    .about =
        "Prints the predicted cost of jobs on the devices that may be chosen, or on the named\n"
        "ones: the launch cost, the throughput of large jobs (M/s: millions of elements per\n"
        "second), the number of sizes measured, and the age of the latest measurement. The model\n"
        "is filled by 'gpuexec calibrate' and refined by every call. It is kept in the cache\n"
        "directory, separately for every machine, device, driver and version. Measurements expire\n"
        "after 30 days. Narrow terminals show fewer columns.",
    .examples = "  gpuexec model\n"
                "  gpuexec model --points --csv >points.csv\n",
    .args = {specs, sizeof specs / sizeof *specs},
    .formats = true,
    .run = run_model,
};
