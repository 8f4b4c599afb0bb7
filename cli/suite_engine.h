/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of suite engine share: the device, operands for all of them, rows, and
 * timing of several ways to do the same work in turns.
 */
#ifndef SUITE_ENGINE_H
#define SUITE_ENGINE_H

#include "check.h"
#include "measure.h"
#include "stats.h"
#include "suite.h"

enum { ENGINE_JOBS_MAX = 64 };

struct engine_part;

typedef struct engine {
    const common_opts *common;
    const bench_opts *opts;
    gx_ctx *ctx;
    const char *device; /* as it was named */
    bool gpu, software; /* a GPU; else the CPU or a device that software is behind */
    gx_field field;
    gx_op op;
    unsigned operands;
    size_t element_bytes;
    unsigned char *operand[3], *result;
    size_t room; /* elements of each */
    number_list jobs, sizes;
    uint64_t stream_elements;
    output *out; /* of the part, in a table; of all parts, for machines */
    const struct engine_part *part;
    uint64_t steps;
} engine;

typedef struct engine_part {
    const char *name;
    const char *title; /* above its table */
    uint64_t columns;  /* of a table, as bits */
    int (*run)(engine *e);
    uint64_t (*steps)(const engine *e);
} engine_part;

extern const engine_part engine_batch, engine_buckets, engine_small, engine_repeat, engine_copy,
    engine_stream;

enum {
    ENGINE_DEVICE,
    ENGINE_PART,
    ENGINE_WHAT,
    ENGINE_MODE,
    ENGINE_JOBS,
    ENGINE_ELEMENTS,
    ENGINE_SAMPLES,
    ENGINE_MEDIAN,
    ENGINE_P90,
    ENGINE_MIN,
    ENGINE_MAX,
    ENGINE_PER_JOB,
    ENGINE_SPEEDUP,
    ENGINE_CHOSEN,
    ENGINE_OF_BEST,
    ENGINE_POOL,
    ENGINE_COMMANDS,
    ENGINE_BUCKETS,
    ENGINE_IN,
    ENGINE_OUT,
    ENGINE_COLUMNS
};
#define ENGINE_BIT(column) ((uint64_t)1 << (column))
/* What every part shows. */
#define ENGINE_ALWAYS                                                                              \
    (ENGINE_BIT(ENGINE_DEVICE) | ENGINE_BIT(ENGINE_SAMPLES) | ENGINE_BIT(ENGINE_MEDIAN) |          \
     ENGINE_BIT(ENGINE_P90) | ENGINE_BIT(ENGINE_MIN) | ENGINE_BIT(ENGINE_MAX))

/* Times and what follows from them; NULL, 0: not there. */
typedef struct engine_row {
    const char *what, *mode, *chosen, *buckets;
    uint64_t jobs, elements;
    size_t samples;
    stats ns;
    double speedup, of_best, pool, commands, in, out; /* rates: below 0 is not there */
} engine_row;

#define ENGINE_NO_RATES                                                                            \
    .speedup = -1, .of_best = -1, .pool = -1, .commands = -1, .in = -1, .out = -1

bool engine_show(engine *e, const engine_row *row);

/* The next row, or group of rows, is done. */
void engine_step(engine *e);

/* A job on elements first .. first + n of the operands. */
gx_job engine_job(const engine *e, size_t first, size_t n);

/* Jobs one behind the other over the operands; returns how many elements they have. */
size_t engine_jobs(const engine *e, const uint64_t *sizes, size_t count, gx_job *jobs);

/* One way to do some jobs. */
typedef struct contender {
    const gx_job *jobs;
    size_t count;
    gx_mode mode;
    bool one_by_one; /* a call for each job */
    gx_mode chosen;  /* out: what the last call was done with */
    size_t samples;  /* out */
    stats ns;        /* out: of all the jobs */
} contender;

/* One call, or one for each job. Returns an exit code. */
int engine_call(engine *e, gx_ctx *ctx, contender *c);

/* Does the jobs once and compares a sample of every result with the reference. */
int engine_verify(engine *e, gx_ctx *ctx, contender *c);

/* Verifies each, then times all in turns, each behind a call of its own, so that neither drift
 * nor the one before favours one: `samples` times, or fewer, but at least 3, where that takes
 * longer than budget_s; the user's own number of samples goes before both. */
int engine_measure(engine *e, contender *contenders, size_t count, size_t samples, double budget_s);

/* Whether that is enough, by the same rule. */
bool engine_enough(const engine *e, size_t taken, size_t samples, double budget_s, uint64_t start);

#endif
