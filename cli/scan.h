/* SPDX-License-Identifier: Apache-2.0
 *
 * The measuring behind `gpuexec scan`, of which `demo` uses parts.
 */
#ifndef CLI_SCAN_H
#define CLI_SCAN_H

#include "cli.h"
#include "measure.h"
#include "report/merge.h"

typedef struct scan_opts {
    uint32_t fields, ops;
    number_list sizes;
    uint64_t samples, warmup, seed;
    uint64_t budget_ms; /* per cell: takes fewer samples, but at least 3, beyond this */
    uint64_t skip_ms;   /* skip cells whose single call would take longer; 0: skip none */
    int resident;       /* measure operands in device memory too */
    const char *file; /* new or empty file for the rows, written as they are measured; NULL: none */
    int resume;       /* continue the file */
    bool print;       /* print rows to stdout as they are measured */
    merge_filter filter; /* of what is shown; all is measured */
} scan_opts;

/* Measures and stores the rows in *result, in one section, even if it is interrupted (*interrupted)
 * or fails; free it with scan_free. Returns an exit code. */
int scan_measure(const common_opts *common, const scan_opts *opts, scan_file *result,
                 bool *interrupted);

/* Cells of one device, with operands in one place: transforms only have sizes that are powers of
 * two. */
uint64_t scan_cells(const scan_opts *opts);

/* For scans that are measured elsewhere: everything but the options and the number of cells, a row
 * that has no result yet, and the numbers of a row. */
void scan_describe(scan_section *to, const target_list *devices);
void scan_add_device(scan_section *to, const char *name, const char *description);
scan_row scan_new_row(const char *device, gx_op op, gx_field field, const char *place, size_t n);
void scan_fill(scan_row *row, const measurement *m);

/* Keeps a GPU busy for so long before it is measured: one that has been idle lowers its clock.
 * Failures are ignored: they occur again where they are reported. */
void scan_wake(gx_ctx *ctx, const char *device, const gx_job *job, uint64_t ns);

/* Prints winners, crossovers and gaps to stdout (compare.c): nothing if there are none, or as CSV,
 * which is the file. */
int scan_show(const scan_file *result, const merge_filter *filter, output_format format);

/* Options for a merge_filter; a usage error unless --between has two names. */
#define OPTIONS_FILTER(f)                                                                          \
    OPTION_TEXT("only", "NAME[,NAME...]", &(f)->only, "show only these devices or files"),         \
        OPTION_TEXT("between", "A,B", &(f)->between,                                               \
                    "show only A and B, devices or files, and where one overtakes the other")
bool filter_is_usable(const merge_filter *filter);

/* Writes the page of a scan (compare.c); returns an exit code. */
int report_page(scan_file *scan, const char *to);

#endif
