/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec compare, platforms and report: existing scans side by side. They read the same files and
 * produce text with one panel, text with one panel per machine, and a page.
 */
#include <string.h>

#include "cli.h"
#include "report/json.h"
#include "report/page.h"
#include "report/table.h"
#include "report/text.h"
#include "scan.h"

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
        for (size_t k = 0; k < f->count; k++) {
            scan_section *s = &f->sections[k];
            s->named = label[0] != 0;
            if (s->named)
                snprintf(s->label, sizeof s->label, "%s", label);
            scan_seeds_use_label(s);
        }
    }
    return EXIT_DONE;
}

/* ---- what they become ---- */

typedef struct result_kind {
    const char *command, *title; /* no title: as plain text */
    bool by_machine, page, quiet;
} result_kind;

static bool put_result(FILE *out, const merge *m, const result_kind *kind, output_format format)
{
    if (format == OUT_CSV) {
        table_put(out, m, filter.between != NULL);
        return true;
    }
    if (format == OUT_TABLE && !kind->page)
        return text_put(out, m, kind->title ? TEXT_MARKDOWN : TEXT_PLAIN, kind->title);
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
    else
        cli_write_failed(&w);
    writer_close(&w);
    return rc;
}

bool filter_is_usable(const merge_filter *f)
{
    const char *comma = f->between ? strchr(f->between, ',') : NULL;
    if (!f->between || (comma && comma != f->between && comma[1] && !strchr(comma + 1, ',')))
        return true;
    cli_usage("--between '%s': give two names, A,B", f->between);
    return false;
}

static int put_files(const scan_file *files, size_t count, const result_kind *kind,
                     const merge_filter *f, output_format format)
{
    merge m;
    char err[SCAN_ERROR_SIZE];
    int rc = EXIT_FAILED;
    if (merge_make(files, count, kind->by_machine, f, &m, err))
        rc = write_result(&m, kind, format);
    else
        cli_error("%s", err);
    bool noted = rc == EXIT_DONE && (kind->page || format == OUT_CSV) && !kind->quiet;
    for (size_t i = 0; noted && i < m.nnotes; i++)
        fprintf(stderr, "note: %s\n", m.notes[i]);
    merge_free(&m);
    return rc;
}

int scan_show(const scan_file *result, const merge_filter *f, output_format format)
{
    static const result_kind kind = {.command = "scan"};
    if (!result->count || !result->sections[0].count || format == OUT_CSV)
        return EXIT_DONE;
    return put_files(result, 1, &kind, f, format);
}

int report_page(scan_file *scan, const char *to)
{
    static const result_kind kind = {.command = "report", .page = true, .quiet = true};
    path = to;
    scan_hide_folders(scan, 1);
    return put_files(scan, 1, &kind, NULL, OUT_TABLE);
}

static int run_kind(const common_opts *common, const result_kind *kind)
{
    static inputs in;
    if (!words.count)
        return cli_usage("no scans given");
    if (!filter_is_usable(&filter))
        return EXIT_USAGE;
    int rc = load(&in);
    if (kind->page)
        scan_hide_folders(in.files, in.count);
    if (rc == EXIT_DONE)
        rc = put_files(in.files, in.count, kind, &filter, (output_format)common->format);
    for (size_t i = 0; i < in.count; i++)
        scan_free(&in.files[i]);
    return rc;
}

/* ---- the commands ---- */

#define FILES                                                                                      \
    OPTION_WORDS("FILE...", &words, "scan files (doc/csv.md); NAME=FILE sets a display name")

static const option_row text_options[] = {
    FILES,
    OPTION_FILE('o', &path, "output file, instead of standard output"),
    OPTIONS_FILTER(&filter),
};

static const option_row page_options[] = {
    FILES,
    OPTION_FILE('o', &path, "output page"),
    OPTION_FLAG("together", &together, "one panel for all machines, not one panel each"),
    OPTIONS_FILTER(&filter),
};

static int run_compare(const common_opts *common)
{
    static const result_kind kind = {.command = "compare", .title = "Comparison of devices"};
    return run_kind(common, &kind);
}

static int run_platforms(const common_opts *common)
{
    static const result_kind kind = {
        .command = "platforms", .title = "Comparison of platforms", .by_machine = true};
    return run_kind(common, &kind);
}

static int run_report(const common_opts *common)
{
    const result_kind kind = {.command = "report", .by_machine = !together, .page = true};
    if (words.count && !path)
        return cli_usage("no output page given: add -o page.html");
    int rc = run_kind(common, &kind);
    if (rc == EXIT_DONE)
        fprintf(stderr, "%s: open it in a browser; works offline%s\n", path,
                page_has_charts() ? ""
                                  : ". It has tables but no charts: "
                                    "this gpuexec was built without Chart.js (libjs-chart.js)");
    return rc;
}

const command cmd_compare = {
    .name = "compare",
    .summary = "compare devices across scans",
    .synopsis = "FILE...",
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
    .options = OPTION_TABLE(text_options),
    .formats = true,
    .run = run_compare,
};

const command cmd_platforms = {
    .name = "platforms",
    .summary = "compare machines across scans",
    .synopsis = "FILE...",
    .about = "Like 'gpuexec compare', with one section per machine: files with the same CPU and\n"
             "operating system are grouped.",
    .examples = "  gpuexec platforms linux.csv windows.csv -o platforms.md\n",
    .options = OPTION_TABLE(text_options),
    .formats = true,
    .run = run_platforms,
};

const command cmd_report = {
    .name = "report",
    .summary = "draw scans as an HTML page",
    .synopsis = "FILE... -o page.html",
    .about =
        "Writes one self-contained HTML file that works offline: time, throughput and speedup\n"
        "by size, crossovers, a breakdown of the time, pool hit rates, and a table under every\n"
        "chart. Devices, operations, scales and colours can be switched. One panel per machine,\n"
        "or a single one with --together.",
    .examples = "  gpuexec scan -o scan.csv && gpuexec report scan.csv -o page.html\n"
                "  gpuexec report server=a.csv laptop=b.csv -o page.html --together\n"
                "  gpuexec report scan.csv -o gpus.html --only vulkan,webgpu\n",
    .options = OPTION_TABLE(page_options),
    .run = run_report,
};
