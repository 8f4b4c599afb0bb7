/* SPDX-License-Identifier: Apache-2.0
 *
 * The measuring behind `gpuexec scan`, also used for a short scan by `demo`.
 */
#ifndef CLI_SCAN_H
#define CLI_SCAN_H

#include "cli.h"
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
    bool replace;     /* an existing file is replaced once the scan is complete */
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

/* Whether a file is a scan of the same cells and samples, on any devices. */
bool scan_is_like(const char *path, const scan_opts *opts);

/* Prints winners, crossovers and gaps to stdout. */
int scan_show(const scan_file *result, const merge_filter *filter);

/* Options for a merge_filter; a usage error unless --between has two names. */
#define ARG_ROWS_FILTER(f)                                                                         \
    {.name = "only",                                                                               \
     .arg = "NAME[,NAME...]",                                                                      \
     .kind = ARG_TEXT,                                                                             \
     .value = &(f)->only,                                                                          \
     .help = "show only these devices or files"},                                                  \
    {                                                                                              \
        .name = "between", .arg = "A,B", .kind = ARG_TEXT, .value = &(f)->between,                 \
        .help = "show only A and B, devices or files, and where one overtakes the other"           \
    }
bool filter_is_usable(const merge_filter *filter, const command *cmd);

/* Writes the page of a scan (compare.c); returns an exit code. */
int report_page(scan_file *scan, const char *to);

#endif
