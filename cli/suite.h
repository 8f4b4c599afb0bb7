/* SPDX-License-Identifier: Apache-2.0
 *
 * The suites of `gpuexec bench`: what each measures is in its own file, the options and
 * the list of them in bench.c.
 */
#ifndef SUITE_H
#define SUITE_H

#include "cli.h"

/* 0 or empty: the suite's own default. */
typedef struct bench_opts {
    uint32_t fields, ops;
    number_list sizes;
    uint64_t samples, seed;
} bench_opts;

typedef struct suite {
    const char *name;
    bool chooses; /* heeds --field and --op */
    int (*run)(const common_opts *common, const bench_opts *opts);
} suite;

extern const suite suite_ops, suite_persistence;

#endif
