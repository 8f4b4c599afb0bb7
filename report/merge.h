/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans side by side: which device has which cell, the winner at each size, and the crossovers. All
 * output about scans, text or page, is produced from this.
 */
#ifndef REPORT_MERGE_H
#define REPORT_MERGE_H

#include "report/cross.h"
#include "report/scan.h"

/* Which series to look at, by comma-separated names; NULL: all. A name is that of a series, of a
 * device ("vulkan:0", or "vulkan" for all of them) or, unless the file has such a device, the label
 * of a file, in any case. */
typedef struct merge_filter {
    const char *only;
    const char *between; /* "A,B": only these, and only the crossovers of one of A and one of B */
} merge_filter;

enum {
    MERGE_NAME_MAX = 160, /* of a series */
    MERGE_PAIRS_MAX = 32  /* with more series, only the baseline's pairs are looked at */
};

/* Measurements of one operation on one device. */
typedef struct merge_series {
    char name[MERGE_NAME_MAX]; /* the device, and its file if several have that device */
    const scan_section *section;
    const char *device;
    const scan_row **cells; /* by size; NULL: no such row */
    int same; /* the first series that is the same CPU: threshold scans time it for each backend */
} merge_series;

typedef struct merge_winner {
    int series;   /* -1: fewer than two were measured at this size */
    int second;   /* the fastest that is not the same CPU */
    double ratio; /* time of the second relative to the winner */
    int clear;    /* 1: their intervals do not overlap; 0: they do; -1: unknown */
    bool tie;     /* both take the same time (CROSS_TIE): neither has won */
} merge_winner;

/* The size from which `fast` beats `slow`. Both directions of a pair are listed, one after the
 * other. */
typedef struct merge_cross {
    int slow, fast;
    crossover even, clear; /* CROSS_EVEN, CROSS_CLEAR */
} merge_cross;

/* One operation on one field, with operands in one place: one chart. */
typedef struct merge_group {
    const char *field, *op, *place;
    double *sizes;
    size_t nsizes;
    merge_series *series;
    size_t nseries;
    int base;              /* the baseline series: the CPU, or the first */
    merge_winner *winners; /* by size */
    merge_cross *crosses;
    size_t ncrosses;
} merge_group;

typedef struct merge_panel {
    char label[280];
    const scan_section **sections;
    size_t nsections;
    merge_group *groups;
    size_t ngroups;
} merge_panel;

typedef struct merge {
    merge_panel *panels;
    size_t npanels;
    char **notes; /* missing data and inconsistencies */
    size_t nnotes;
} merge;

/* One panel for all, or one per machine (operating system and CPU). The files are borrowed until
 * merge_free. False if memory ran out, if a group has more than CROSS_PAIRS_MAX sizes, or if the
 * filter (NULL: none) names a series that does not exist; err (SCAN_ERROR_SIZE) says which. Free it
 * in either case. */
bool merge_make(const scan_file *files, size_t nfiles, bool by_machine, const merge_filter *filter,
                merge *m, char *err);
void merge_free(merge *m);

/* Whether every name in the filter is one of these series, and --between leaves a pair; otherwise
 * err says what is wrong and which names there are. */
bool merge_filter_fits(const merge_filter *filter, const merge_series *series, size_t n, char *err);

/* Whether the filter leaves the series, and whether its crossovers with the other one are wanted:
 * with --between, of one of A and one of B. */
bool merge_is_kept(const merge_filter *filter, const merge_series *series);
bool merge_is_between(const merge_filter *filter, const merge_series *x, const merge_series *y);

/* Whether the cell has numbers. */
bool merge_has(const merge_series *series, size_t size);

#endif
