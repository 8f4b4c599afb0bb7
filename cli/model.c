/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec model: prints the router's model of this machine.
 */
#include "model.h"

#include <string.h>

#include "model_rows.h"

static struct {
    int points;
} opts;

static const option_row options[] = {
    OPTION_FLAG("points", &opts.points,
                "print every measured size, instead of one line per kind of job"),
};

/* ---- columns ---- */

/* Tables for people say in three words what a kind of job is, so that no two lines are the same.
 * The first and the last columns are those of both tables. */
/* clang-format off */
#define PEOPLE(heading, width) COLUMN(TEXT, NULL, heading, width, .flags = COL_TABLE_ONLY)
#define MACHINE(k, name) COLUMN(k, name, NULL, 0, .flags = COL_MACHINE_ONLY)
#define FIRST_COLUMNS                                                                              \
    COLUMN(TEXT, "device", "device", 6), PEOPLE("field, curve", 12), PEOPLE("job", 9),             \
    PEOPLE("memory", 10), MACHINE(TEXT, "field"), MACHINE(TEXT, "op"), MACHINE(TEXT, "memory"),    \
    MACHINE(TEXT, "path")
#define LAST_COLUMNS                                                                               \
    COLUMN(TEXT, NULL, "age", 7, .flags = COL_TABLE_ONLY | COL_WIDE),                              \
    MACHINE(COUNT, "age_s"), MACHINE(COUNT, "log2_n"),                                             \
    MACHINE(TEXT, "order"), MACHINE(TEXT, "curve"), MACHINE(COUNT, "scalar_bits")
/* clang-format on */

static column curve_columns[] = {
    FIRST_COLUMNS,
    COLUMN(REAL, "launch_us", "launch us", 9, .decimals = 2),
    COLUMN(REAL, "g_per_s", "M/s", 9, .decimals = 3, .scale = 1000),
    COLUMN(COUNT, "points", "points", 6, .flags = COL_WIDE),
    COLUMN(COUNT, "from_elements", "from", 8, .flags = COL_WIDE),
    COLUMN(COUNT, "to_elements", "to", 9, .flags = COL_WIDE),
    LAST_COLUMNS,
};

static column point_columns[] = {
    FIRST_COLUMNS,
    COLUMN(COUNT, "elements", "elements", 9),
    COLUMN(REAL, "us", "us", 11, .decimals = 2),
    COLUMN(REAL, "slow_us", "slow us", 11, .decimals = 2, .flags = COL_WIDE),
    COLUMN(COUNT, "samples", "samples", 7, .flags = COL_WIDE),
    LAST_COLUMNS,
};

enum {
    CURVE_COLUMNS = sizeof curve_columns / sizeof *curve_columns,
    POINT_COLUMNS = sizeof point_columns / sizeof *point_columns,
    OWN = 8, /* the first column that only one table has */
    LAST = 6
};

typedef struct table {
    const model_rows *list;
    bool points;
    column *columns;
    size_t count; /* of them */
    output *out;
} table;

/* "mul", "ntt 2^12 nn rr", "msm 256 bits"; "msm 2^10 256 bits" of several sums. */
static const char *job_text(const model_row *row, char *text, size_t size)
{
    snprintf(text, size, "%s", gx_op_get_info(row->op)->name);
    if (row->log2_n != UINT32_MAX)
        cli_append(text, size, " 2^%u", row->log2_n);
    if (row->order)
        cli_append(text, size, " %s", row->order);
    if (gx_curve_get_info(row->curve))
        cli_append(text, size, " %u bits", row->scalar_bits);
    return text;
}

/* Where the operands are, and how they are reached if that was asked for. */
static const char *place_text(const model_row *row, char *text, size_t size)
{
    bool any = !strcmp(row->path, gx_path_name(GX_PATH_AUTO));
    snprintf(text, size, "%s%s%s", row->memory, any ? "" : " ", any ? "" : row->path);
    return text;
}

static void widen(column *c, const char *text)
{
    if ((int)strlen(text) > c->width)
        c->width = (int)strlen(text);
}

static void fit_columns(table *t)
{
    char text[64];
    for (size_t i = 0; i < t->list->count; i++) {
        const model_row *row = &t->list->row[i];
        widen(&t->columns[0], row->device);
        widen(&t->columns[2], job_text(row, text, sizeof text));
        widen(&t->columns[3], place_text(row, text, sizeof text));
    }
}

static const char *age_text(char *text, size_t size, uint32_t seconds)
{
    const struct {
        const char *unit;
        uint32_t seconds, below;
    } units[] = {{"s", 1, 60}, {"min", 60, 3600}, {"h", 3600, 2 * 86400}, {"d", 86400, UINT32_MAX}};
    size_t i = 0;
    while (i < 3 && seconds >= units[i].below)
        i++;
    snprintf(text, size, "%u %s", seconds / units[i].seconds, units[i].unit);
    return text;
}

/* `own`: the cells of the columns that only this table has. */
static bool show_row(const table *t, const model_row *row, uint32_t age_s, const cell *own)
{
    char age[32], job[64], place[64];
    const gx_curve_info *curve = gx_curve_get_info(row->curve);
    const char *field = gx_field_get_info(row->field)->name;
    cell cells[CURVE_COLUMNS] = {
        CELL_TEXT(row->device),
        CELL_TEXT(curve ? curve->name : field),
        CELL_TEXT(job_text(row, job, sizeof job)),
        CELL_TEXT(place_text(row, place, sizeof place)),
        CELL_TEXT(field),
        CELL_TEXT(gx_op_get_info(row->op)->name),
        CELL_TEXT(row->memory),
        CELL_TEXT(row->path),
    };
    const cell last[LAST] = {
        CELL_TEXT(age_text(age, sizeof age, age_s)),
        CELL_COUNT(age_s),
        row->log2_n == UINT32_MAX ? CELL_MISSING : CELL_COUNT(row->log2_n),
        row->order ? CELL_TEXT(row->order) : CELL_MISSING,
        curve ? CELL_TEXT(curve->name) : CELL_MISSING,
        curve ? CELL_COUNT(row->scalar_bits) : CELL_MISSING,
    };
    memcpy(cells + OWN, own, (t->count - OWN - LAST) * sizeof *own);
    memcpy(cells + t->count - LAST, last, sizeof last);
    return output_row(t->out, cells);
}

/* ---- curves ---- */

static bool same_curve(const model_row *x, const model_row *y)
{
    return !strcmp(x->device, y->device) && x->op == y->op && x->field == y->field &&
           !strcmp(x->memory, y->memory) && !strcmp(x->path, y->path) && x->log2_n == y->log2_n &&
           x->order == y->order && x->curve == y->curve && x->scalar_bits == y->scalar_bits;
}

/* The launch: the intercept of the line through the first two points. */
static cell launch_of(const model_row *rows, size_t count)
{
    if (count < 2)
        return CELL_MISSING;
    double slope = ((double)rows[1].ns - (double)rows[0].ns) / (double)(rows[1].n - rows[0].n);
    double launch = (double)rows[0].ns - slope * (double)rows[0].n;
    launch = launch < 0 ? 0 : launch > (double)rows[0].ns ? (double)rows[0].ns : launch;
    return CELL_REAL(launch / 1e3);
}

/* Slope through the last two points. */
static cell rate_of(const model_row *rows, size_t count)
{
    const model_row *last = &rows[count - 1];
    uint64_t n = count < 2 ? last->n : last->n - last[-1].n;
    double ns = count < 2 ? (double)last->ns : (double)last->ns - (double)last[-1].ns;
    return ns > 0 ? CELL_REAL((double)n / ns) : CELL_MISSING;
}

static bool show_curve(const table *t, const model_row *rows, size_t count)
{
    uint32_t youngest = rows[0].age_s;
    for (size_t i = 1; i < count; i++)
        youngest = rows[i].age_s < youngest ? rows[i].age_s : youngest;
    const cell own[] = {launch_of(rows, count), rate_of(rows, count), CELL_COUNT(count),
                        CELL_COUNT(rows[0].n), CELL_COUNT(rows[count - 1].n)};
    return show_row(t, rows, youngest, own);
}

static bool show_point(const table *t, const model_row *row)
{
    const cell own[] = {CELL_COUNT(row->n), CELL_REAL((double)row->ns / 1e3),
                        CELL_REAL((double)row->slow_ns / 1e3), CELL_COUNT(row->samples)};
    return show_row(t, row, row->age_s, own);
}

/* The rows of a curve are adjacent and sorted by size. Counts the curves. */
static bool show_rows(const table *t, size_t *curves)
{
    bool ok = true;
    const model_rows *list = t->list;
    for (size_t first = 0, next; first < list->count; first = next, ++*curves) {
        for (next = first; next < list->count; next++) {
            if (!same_curve(&list->row[first], &list->row[next]))
                break;
            if (t->points)
                ok = ok && show_point(t, &list->row[next]);
        }
        if (!t->points)
            ok = ok && show_curve(t, &list->row[first], next - first);
    }
    return ok;
}

/* ---- the command ---- */

int model_show(gx_ctx *ctx, output_format format, const char *command, bool points, size_t *curves)
{
    model_rows list;
    table t = {.list = &list,
               .points = points,
               .columns = points ? point_columns : curve_columns,
               .count = points ? POINT_COLUMNS : CURVE_COLUMNS};
    int rc = model_read(ctx, &list);
    *curves = 0;
    /* No table is printed for people if it would be empty; machine formats always get one. */
    if (rc == EXIT_DONE && (list.count || format != OUT_TABLE)) {
        fit_columns(&t);
        t.out = output_open(format, command, t.columns, t.count);
        bool ok = t.out && show_rows(&t, curves);
        if (!output_close(t.out) || !ok)
            rc = EXIT_FAILED;
    }
    model_free(&list);
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
    .about =
        "Prints the predicted cost of jobs on the devices that may be chosen, or on the named\n"
        "ones, one line for each kind of job: the launch cost, the throughput of large jobs (M/s:\n"
        "millions of elements per second, of points for msm), the number of sizes measured, and\n"
        "the age of the latest measurement. The model is filled by 'gpuexec calibrate' and "
        "refined\n"
        "by every call. It is kept in the cache directory, separately for every machine, device,\n"
        "driver and version. Measurements expire after 30 days. Narrow terminals show fewer\n"
        "columns.\n"
        "\n"
        "Transforms of each size are a kind: 'ntt 2^12 nn rr' keeps the order of its elements,\n"
        "'nr rn' is from natural (n) to bit-reversed (r) order or back. Sums of points are a kind\n"
        "for each curve and number of bits of the scalars.",
    .examples = "  gpuexec model\n"
                "  gpuexec model --points --csv >points.csv\n",
    .options = OPTION_TABLE(options),
    .formats = true,
    .run = run_model,
};
