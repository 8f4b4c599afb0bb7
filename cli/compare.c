/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec compare, platforms and report: existing scans side by side. They read the same files and
 * produce text with one panel, text with one panel per machine, and a page.
 */
#include <string.h>

#include "cli.h"
#include "report/csv.h"
#include "report/json.h"
#include "report/page.h"
#include "report/text.h"
#include "scan.h"
#include "writer.h"

static word_list words;
static const char *path; /* of the result; NULL: stdout */
static int together;
static merge_filter filter;

/* ---- the files ---- */

typedef struct inputs {
    scan_file files[WORD_LIST_MAX];
    size_t count;
} inputs;

/* "NAME=FILE" names the scan; a file whose own name contains "=" is taken literally. */
static const char *split_label(const char *word, char *label, size_t size)
{
    const char *equals = strchr(word, '=');
    FILE *whole = equals ? gx__os_fopen(word) : NULL;
    label[0] = 0;
    if (whole)
        fclose(whole);
    if (!equals || whole || equals == word)
        return word;
    snprintf(label, size, "%.*s", (int)(equals - word), word);
    return equals + 1;
}

/* Whether the output is one of the input scans, by whatever name. */
static bool would_be_lost(const char *file)
{
    struct gx_os_stat in, out;
    if (!path || !gx__os_stat(file, true, &in) || !gx__os_stat(path, true, &out) ||
        out.kind != GX_OS_FILE || !gx__os_same(&in, &out))
        return false;
    cli_error("-o %s would overwrite an input scan: choose another file", path);
    return true;
}

static int load(inputs *in)
{
    char err[SCAN_ERROR_SIZE];
    for (size_t i = 0; i < words.count; i++) {
        char label[sizeof((scan_section *)0)->label];
        const char *file = split_label(words.words[i], label, sizeof label);
        if (would_be_lost(file))
            return EXIT_FAILED;
        scan_file *f = &in->files[in->count++];
        if (!scan_load(file, 0, f, err)) {
            cli_error("%s", err);
            return EXIT_FAILED;
        }
        scan_clean(label);
        for (size_t k = 0; k < f->count && label[0]; k++)
            snprintf(f->sections[k].label, sizeof f->sections[k].label, "%s", label);
    }
    return EXIT_DONE;
}

/* ---- what they become ---- */

static const char csv_head[] = "panel,field,op,place,elements,series,state,median_us,p90_us,"
                               "winner,winner_clear,second_over_winner\n";

/* One row for every possible cell. */
static void csv_group(FILE *out, const merge_panel *p, const merge_group *g)
{
    for (size_t size = 0; size < g->nsizes; size++)
        for (size_t i = 0; i < g->nseries; i++) {
            const merge_winner *w = &g->winners[size];
            const scan_row *r = g->series[i].cells[size];
            bool won = w->series == (int)i;
            const char *const texts[] = {p->label, g->field, g->op, g->place};
            for (size_t k = 0; k < 4; k++)
                csv_put_text(out, texts[k], k == 0);
            fprintf(out, ",%.0f", g->sizes[size]);
            csv_put_text(out, g->series[i].name, false);
            csv_put(out, r ? r->state : "missing", false);
            fprintf(out, merge_has(&g->series[i], size) ? ",%.9g" : ",", r ? r->median_us : 0);
            bool p90 = merge_has(&g->series[i], size) && r->p90_us > 0;
            fprintf(out, p90 ? ",%.9g" : ",", p90 ? r->p90_us : 0);
            fprintf(out, ",%s,%s",
                    w->series < 0 ? ""
                    : won         ? "true"
                                  : "false",
                    !won || w->clear < 0 ? ""
                    : w->clear           ? "true"
                                         : "false");
            fprintf(out, won ? ",%.9g\n" : ",\n", won ? w->ratio : 0);
        }
}

static const char csv_cross_head[] =
    "panel,field,op,place,slower,faster,below,kind,at,after,before,early,late,crossings,changes\n";

static void csv_size(FILE *out, bool known, double size)
{
    fprintf(out, known ? ",%.0f" : ",", known ? size : 0);
}

/* One row: where `fast` takes less than so much of the time of `slow`. */
static void csv_cross(FILE *out, const merge_panel *p, const merge_group *g, const merge_cross *x,
                      double below)
{
    static const char *const kinds[] = {"never", "always", "from"};
    const crossover *c = below == CROSS_EVEN ? &x->even : &x->clear;
    const char *const texts[] = {
        p->label, g->field, g->op, g->place, g->series[x->slow].name, g->series[x->fast].name};
    bool from = c->found.kind == CROSS_FROM;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        csv_put_text(out, texts[i], i == 0);
    fprintf(out, ",%g,%s,%.0f", below, kinds[c->found.kind], c->found.at);
    csv_size(out, from, c->found.after);
    csv_size(out, from, c->found.before);
    csv_size(out, c->interval, c->early.at);
    csv_size(out, c->interval, c->late.at);
    fprintf(out, ",%zu,", c->crossings);
    for (size_t i = 0; i < c->nchanges; i++)
        fprintf(out, "%s%.0f", i ? " " : "", c->changes[i]);
    putc('\n', out);
}

static void csv_crosses(FILE *out, const merge_panel *p, const merge_group *g)
{
    for (size_t i = 0; i < g->ncrosses; i++)
        if (text_is_told(g, &g->crosses[i])) {
            csv_cross(out, p, g, &g->crosses[i], CROSS_EVEN);
            csv_cross(out, p, g, &g->crosses[i], CROSS_CLEAR);
        }
}

/* The cells; with --between, the crossovers. */
static bool put_csv(FILE *out, const merge *m)
{
    fputs(filter.between ? csv_cross_head : csv_head, out);
    for (size_t i = 0; i < m->npanels; i++)
        for (size_t k = 0; k < m->panels[i].ngroups; k++)
            (filter.between ? csv_crosses : csv_group)(out, &m->panels[i], &m->panels[i].groups[k]);
    return true;
}

typedef struct result_kind {
    const char *command, *title;
    bool by_machine, page;
} result_kind;

static bool put_result(FILE *out, const merge *m, const result_kind *kind, output_format format)
{
    if (format == OUT_CSV)
        return put_csv(out, m);
    if (format == OUT_TABLE && !kind->page)
        return text_put(out, m, TEXT_MARKDOWN, kind->title);
    json_t *data = json_of_merge(m, kind->command, gx_version());
    bool ok = data != NULL;
    if (ok && kind->page)
        ok = page_put(out, data);
    else if (ok) {
        ok = !json_dumpf(data, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
        putc('\n', out);
    }
    json_decref(data);
    return ok;
}

static int write_result(const merge *m, const result_kind *kind, output_format format)
{
    file_writer w;
    FILE *out = writer_open(&w, path ? path : "-") ? writer_stream(&w) : NULL;
    bool whole = out && put_result(out, m, kind, format);
    bool kept = out && writer_flush(&w);
    int rc = EXIT_FAILED;
    if (w.fd >= 0 && !whole && (kept || !out))
        rc = cli_no_memory();
    else if (kept && writer_commit(&w))
        rc = EXIT_DONE;
    else if (!w.closed_pipe)
        cli_error("%s", w.err);
    writer_close(&w);
    return rc;
}

bool filter_is_usable(const merge_filter *f, const command *cmd)
{
    const char *comma = f->between ? strchr(f->between, ',') : NULL;
    if (!f->between || (comma && comma != f->between && comma[1] && !strchr(comma + 1, ',')))
        return true;
    cli_usage(cmd, "--between '%s': give two names, A,B", f->between);
    return false;
}

static int run_kind(const common_opts *common, const result_kind *kind)
{
    static inputs in;
    merge m = {0};
    char err[SCAN_ERROR_SIZE];
    int rc = load(&in);
    if (kind->page)
        scan_hide_folders(in.files, in.count);
    if (rc == EXIT_DONE && !merge_make(in.files, in.count, kind->by_machine, &filter, &m, err)) {
        cli_error("%s", err);
        rc = EXIT_FAILED;
    }
    if (rc == EXIT_DONE)
        rc = write_result(&m, kind, (output_format)common->format);
    for (size_t i = 0; rc == EXIT_DONE && (kind->page || common->format == OUT_CSV) && i < m.nnotes;
         i++)
        fprintf(stderr, "note: %s\n", m.notes[i]);
    merge_free(&m);
    for (size_t i = 0; i < in.count; i++)
        scan_free(&in.files[i]);
    return rc;
}

/* ---- the commands ---- */

#define FILES                                                                                      \
    {                                                                                              \
        .arg = "FILE...", .kind = ARG_WORDS, .value = &words,                                      \
        .help = "scan files (doc/csv.md); NAME=FILE sets a display name"                           \
    }

static const arg_spec text_specs[] = {
    FILES,
    ARG_ROW_FILE('o', &path, "output file, instead of standard output"),
    ARG_ROWS_FILTER(&filter),
};

static const arg_spec page_specs[] = {
    FILES,
    ARG_ROW_FILE('o', &path, "output page"),
    ARG_ROW_FLAG("together", &together, "one panel for all machines, not one panel each"),
    ARG_ROWS_FILTER(&filter),
};

static int check_args(const command *cmd)
{
    if (!words.count)
        return cli_usage(cmd, "no scans given");
    return filter_is_usable(&filter, cmd) ? EXIT_DONE : EXIT_USAGE;
}

static int run_compare(const common_opts *common)
{
    static const result_kind kind = {.command = "compare", .title = "Comparison of devices"};
    int rc = check_args(&cmd_compare);
    return rc == EXIT_DONE ? run_kind(common, &kind) : rc;
}

static int run_platforms(const common_opts *common)
{
    static const result_kind kind = {
        .command = "platforms", .title = "Comparison of platforms", .by_machine = true};
    int rc = check_args(&cmd_platforms);
    return rc == EXIT_DONE ? run_kind(common, &kind) : rc;
}

static int run_report(const common_opts *common)
{
    result_kind kind = {.command = "report", .by_machine = !together, .page = true};
    int rc = check_args(&cmd_report);
    if (rc != EXIT_DONE)
        return rc;
    if (!path)
        return cli_usage(&cmd_report, "no output page given: add -o page.html");
    rc = run_kind(common, &kind);
    if (rc == EXIT_DONE)
        fprintf(stderr, "%s: open it in a browser; works offline%s\n", path,
                page_has_charts() ? ""
                                  : ". It has tables but no charts: "
                                    "this gpuexec was built without Chart.js (libjs-chart.js)");
    return rc;
}

int report_page(scan_file *scan, const char *to)
{
    static const result_kind kind = {.command = "report", .page = true};
    merge m;
    char err[SCAN_ERROR_SIZE];
    path = to;
    scan_hide_folders(scan, 1);
    int rc = EXIT_FAILED;
    if (merge_make(scan, 1, false, NULL, &m, err))
        rc = write_result(&m, &kind, OUT_TABLE);
    else
        cli_error("%s", err);
    merge_free(&m);
    return rc;
}

const command cmd_compare = {
    .name = "compare",
    .summary = "compare devices across scans",
    .synopsis = "FILE... [-o FILE] [--only NAMES] [--between A,B] [--csv | --json]",
    .about =
        "Merges files written by 'gpuexec scan' on one or more machines and reports the winner at\n"
        "each size, its margin, and the crossovers of each pair, as Markdown. If several files\n"
        "contain the same device, file names tell them apart. A file may contain several\n"
        "concatenated scans. Threshold scans of the SuperVM prototype are accepted too.\n"
        "\n"
        "--only and --between take devices (vulkan:0; vulkan for all of them), names of scans, or\n"
        "a device of a scan as in the tables ('cpu [old]'). With --between, --csv lists the\n"
        "crossovers, otherwise the times.\n"
        "\n"
        "Missing data is shown as missing. A file that does not match doc/csv.md exactly is\n"
        "rejected, with the line number.",
    .examples = "  gpuexec compare cpu.csv gpu.csv\n"
                "  gpuexec compare before=old.csv after=new.csv -o change.md\n"
                "  gpuexec compare gles.csv dx12.csv --between gles,dx12\n",
    .args = {text_specs, sizeof text_specs / sizeof *text_specs},
    .formats = true,
    .run = run_compare,
};

const command cmd_platforms = {
    .name = "platforms",
    .summary = "compare machines across scans",
    .synopsis = "FILE... [-o FILE] [--only NAMES] [--between A,B] [--csv | --json]",
    .about = "Like 'gpuexec compare', with one section per machine: files with the same CPU and\n"
             "operating system are grouped.",
    .examples = "  gpuexec platforms linux.csv windows.csv -o platforms.md\n",
    .args = {text_specs, sizeof text_specs / sizeof *text_specs},
    .formats = true,
    .run = run_platforms,
};

const command cmd_report = {
    .name = "report",
    .summary = "draw scans as an HTML page",
    .synopsis = "FILE... -o page.html [--together] [--only NAMES] [--between A,B]",
    .about =
        "Writes one self-contained HTML file that works offline: time, throughput and speedup\n"
        "by size, crossovers, a breakdown of the time, pool hit rates, and a table under every\n"
        "chart. Devices, operations, scales and colours can be switched. One panel per machine,\n"
        "or a single one with --together.",
    .examples = "  gpuexec scan -o scan.csv && gpuexec report scan.csv -o page.html\n"
                "  gpuexec report server=a.csv laptop=b.csv -o page.html --together\n"
                "  gpuexec report scan.csv -o gpus.html --only vulkan,webgpu\n",
    .args = {page_specs, sizeof page_specs / sizeof *page_specs},
    .run = run_report,
};
