/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the parts of suite engine: the device, operands, rows, and alternating timing of
 * several variants of the same work.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include <math.h>

#include "check.h"
#include "measure.h"
#include "stats.h"
#include "suite.h"

/* X(name): the parts, in order. */
#define ENGINE_PART_LIST(X)                                                                        \
    X(batch) X(buckets) X(small) X(tickets) X(repeat) X(paths) X(copy) X(stream)

enum { ENGINE_JOBS_MAX = 64, ENGINE_TICKETS = 8 /* jobs of part tickets */ };

struct engine_part;
struct engine_row;

/* Takes a row instead of the table; false ends the run. */
typedef bool (*engine_taker)(void *taker, const char *part, const struct engine_row *row);

typedef struct engine {
    const common_opts *common;
    const suite_opts *opts;
    gx_ctx *ctx;
    const char *device; /* as given */
    bool gpu, software; /* a GPU; otherwise the CPU or a software device */
    gx_field field;
    gx_op op;
    unsigned operands;
    size_t element_bytes;
    unsigned char *operand[3], *result;
    size_t room; /* elements of each */
    number_list jobs, sizes;
    uint64_t stream_elements;
    part_tables tables;
    engine_taker take; /* NULL: rows go to the tables */
    void *taker;
    const struct engine_part *part;
    double ns_per_element; /* of the last cell of this part; 0: unknown */
} engine;

typedef struct engine_part {
    const char *name;
    const char *title; /* above its table */
    uint64_t columns;  /* of a table, as bits */
    int (*run)(engine *e);
    uint64_t (*steps)(const engine *e);
} engine_part;

extern const engine_part engine_batch, engine_buckets, engine_small, engine_tickets, engine_repeat,
    engine_paths, engine_copy, engine_stream;

/* Runs the suite's parts on the devices of common->config and hands over the rows. */
int engine_rows(const common_opts *common, const suite_opts *opts, engine_taker take, void *taker);

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
/* Columns of every part. */
#define ENGINE_ALWAYS                                                                              \
    (ENGINE_BIT(ENGINE_DEVICE) | ENGINE_BIT(ENGINE_SAMPLES) | ENGINE_BIT(ENGINE_MEDIAN) |          \
     ENGINE_BIT(ENGINE_P90) | ENGINE_BIT(ENGINE_MIN) | ENGINE_BIT(ENGINE_MAX))

/* Times and derived values; NULL, 0, NAN: absent. */
typedef struct engine_row {
    const char *what, *mode, *chosen, *buckets;
    uint64_t jobs, elements;
    size_t samples;
    stats ns;
    double speedup, of_best, pool, commands, in, out;
    double skipped_ms; /* not 0: not measured, because a call would take this long */
} engine_row;

#define ENGINE_NO_RATES                                                                            \
    .speedup = NAN, .of_best = NAN, .pool = NAN, .commands = NAN, .in = NAN, .out = NAN

bool engine_show(engine *e, const engine_row *row);

/* By the time of the last cell, whether a call of this many elements would take longer than
 * opts->skip_ms; then the row says so. */
bool engine_skips(const engine *e, uint64_t elements, engine_row *row);
void engine_learn(engine *e, double ns, uint64_t elements);

/* A job on elements first .. first + n of the operands. */
gx_job engine_job(const engine *e, size_t first, size_t n);

/* Jobs one after the other over the operands; returns their total number of elements. */
size_t engine_jobs(const engine *e, const uint64_t *sizes, size_t count, gx_job *jobs);

/* One variant of running some jobs. */
typedef struct contender {
    const gx_job *jobs;
    size_t count;
    gx_mode mode;
    gx_path path;
    bool one_by_one; /* one call per job */
    size_t tickets;  /* not 0: one ticket per job, at most so many of them unfinished */
    gx_mode chosen;  /* out: what the last call used */
    gx_path chosen_path;
    size_t samples; /* out */
    stats ns;       /* out: of all jobs */
} contender;

/* One call, one per job, or tickets. Returns an exit code. */
int engine_call(engine *e, gx_ctx *ctx, contender *c);

/* Runs the jobs once and compares a sample of every result with the reference. */
int engine_verify(engine *e, gx_ctx *ctx, contender *c);

/* Verifies each variant, then times them alternately, each after an uncounted call of its own, so
 * that neither drift nor order favours one: `samples` times, or fewer, but at least 3, if that
 * exceeds budget_s. The user's number of samples overrides both. */
int engine_measure(engine *e, contender *contenders, size_t count, size_t samples, double budget_s);

/* Whether that is enough, by the same rule. */
bool engine_enough(const engine *e, size_t taken, size_t samples, double budget_s, uint64_t start);

#endif
