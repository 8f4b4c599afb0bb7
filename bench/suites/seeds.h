/* SPDX-License-Identifier: Apache-2.0
 *
 * Suite seeds: the figures of the documents that this project started from ("the seeds") beside
 * those of this machine. seeds.c has devices, rows and verdicts, seeds_figures.c the
 * seeds' figures; seeds_parts.c measures with the other suites, seeds_scans.c with a
 * scan.
 */
#ifndef SEEDS_H
#define SEEDS_H

#include "base/os.h"
#include "report/cross.h"
#include "stats.h"
#include "suite.h"

/* X(name): the parts, in order. */
#define SEEDS_PART_LIST(X)                                                                         \
    X(persistence) X(paths) X(batch) X(small) X(buckets) X(repeat) X(scan) X(goals)

/* ---- their figures (seeds_figures.c) ---- */

typedef struct seeds_figure {
    const char *part, *what;
    uint64_t jobs, elements; /* 0: not of one number of jobs, or one size */
    double value;            /* of a range, the end that is easier to reach */
    const char *source;      /* the document */
} seeds_figure;

/* NULL: they have no such figure. */
const seeds_figure *seeds_find(const char *part, const char *what, uint64_t jobs,
                               uint64_t elements);

/* Their CPU's time for one Fq addition, from 64K of them on one thread. Not in the five documents,
 * but in another of their repository. */
#define SEEDS_CPU_SOURCE "M14.4-PROGRESS.md"
#define SEEDS_CPU_ADD_NS (48.529e6 / 65536)

/* ---- devices ---- */

enum { SEEDS_TARGETS_MAX = 16 };

/* X(backend): those of the seeds, and Vulkan. */
#define SEEDS_BACKEND_LIST(X) X(vulkan) X(gl) X(dx12)
#define SEEDS_BACKEND(name)   SEEDS_##name,
enum { SEEDS_BACKEND_LIST(SEEDS_BACKEND) SEEDS_BACKENDS };

typedef struct seeds_device {
    char name[48], description[160];
} seeds_device;

typedef struct seeds_devices {
    seeds_device cpu, main;           /* main: the GPU, or the CPU if there is none */
    seeds_device web[SEEDS_BACKENDS]; /* without a name: none, and the description says why */
    bool gpu;                         /* main is not the CPU */
} seeds_devices;

/* ---- rows ---- */

/* The first and the last are better if lower. */
typedef enum seeds_unit { SEEDS_US, SEEDS_TIMES, SEEDS_PERCENT, SEEDS_ELEMENTS } seeds_unit;

enum { SEEDS_TEXT = 240 };

typedef struct seeds_row {
    const char *what, *device, *field;
    uint64_t jobs, elements;
    seeds_unit unit;
    double ours; /* NAN: not measured; INFINITY: a crossing that was not found */
    size_t samples;
    stats ns;              /* of the call, if there are samples */
    bool neither;          /* neither more nor less is better */
    char note[SEEDS_TEXT]; /* always shown */
    char why[SEEDS_TEXT];  /* shown if the row is not met */
} seeds_row;

typedef enum seeds_verdict {
    SEEDS_MET,
    SEEDS_NOT_MET,
    SEEDS_NO_GOAL,
    SEEDS_NOT_MEASURED
} seeds_verdict;
enum { SEEDS_VERDICTS = SEEDS_NOT_MEASURED + 1 };

typedef struct seeds {
    const common_opts *common;
    const suite_opts *opts;
    seeds_devices devices;
    part_tables tables;
    const struct seeds_part *part;
    uint64_t verdicts[SEEDS_VERDICTS];
    bool failed; /* cells, whose rows say why */
} seeds;

/* False if it cannot be printed; the second returns an exit code. */
bool seeds_show(seeds *s, const seeds_row *row);
int seeds_row_rc(seeds *s, const seeds_row *row);

/* A row for all those of a device that are not measured, with the reason. */
int seeds_none(seeds *s, const char *device, const char *why);

void seeds_put(char to[SEEDS_TEXT], const char *format, ...) GX_PRINTF(2, 3);
#define SEEDS_NOTE(row, ...) seeds_put((row)->note, __VA_ARGS__)
#define SEEDS_WHY(row, ...)  seeds_put((row)->why, __VA_ARGS__)

/* The size from which b is faster than a, as a row without its names. */
seeds_row seeds_crossing(const cross_pair *pairs, size_t count, const char *b, const char *a);

/* Their figure for a row of this part; NAN: none. */
double seeds_theirs(const seeds *s, const char *what, uint64_t jobs, uint64_t elements);

/* The sizes of a part that -n asks for. */
number_list seeds_sizes(const seeds *s, const number_list *all);

/* Why a time is not met: where it was measured, and on Fq elements if theirs were f32. */
void seeds_why_device(seeds_row *row, const seeds_device *device, bool larger);

/* "webgpu:gl" */
const char *seeds_backend(size_t backend);

/* A cell is skipped if a single call would take longer, unless -n asks for its size: then 0. */
enum { SEEDS_SKIP_MS = 1000 };
uint64_t seeds_skip_ms(const seeds *s);

/* ---- parts (seeds_parts.c, seeds_scans.c) ---- */

typedef struct seeds_part {
    const char *name, *title;
    bool (*wanted)(const seeds *s); /* has rows of the sizes asked for */
    int (*run)(seeds *s);
    bool with_jobs; /* shows the column */
} seeds_part;

#define SEEDS_PART_DECLARE(name) extern const seeds_part seeds_##name;
SEEDS_PART_LIST(SEEDS_PART_DECLARE)

#endif
