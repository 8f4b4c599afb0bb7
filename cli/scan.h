/* SPDX-License-Identifier: Apache-2.0
 *
 * The measuring behind `gpuexec scan`, which `demo` does a little of as well.
 */
#ifndef CLI_SCAN_H
#define CLI_SCAN_H

#include "cli.h"
#include "report/scan.h"

typedef struct scan_opts {
    uint32_t fields, ops;
    number_list sizes;
    uint64_t samples, warmup, seed;
    uint64_t budget_ms; /* of a cell: fewer samples, but at least 3, past this */
    uint64_t skip_ms;   /* cells whose single call would take longer are skipped; 0: none */
    int resident;       /* operands in the device's memory too */
    const char *file;   /* new or empty, that gets the rows as they come; NULL: none */
    int resume;         /* go on with the file */
    bool replace;       /* the file may be there, and is replaced by a whole scan at the end */
    bool print;         /* rows on stdout as they come */
} scan_opts;

/* Measures and keeps the rows in *result, one section, also where it was interrupted (then
 * *interrupted) or failed; free it with scan_free. Returns an exit code. */
int scan_measure(const common_opts *common, const scan_opts *opts, scan_file *result,
                 bool *interrupted);

/* Whether a file is a scan of the same cells and samples, on whatever devices. */
bool scan_is_like(const char *path, const scan_opts *opts);

/* The winner tables, the crossovers and the gaps, on stdout. */
int scan_show(const scan_file *result);

/* The page of a scan (compare.c); returns an exit code. */
int report_page(scan_file *scan, const char *to);

#endif
