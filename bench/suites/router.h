/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the parts of suite router: the candidate devices, operands, alternating timing of
 * several variants of the same work, and rows.
 */
#ifndef ROUTER_H
#define ROUTER_H

#include "jobs.h"
#include "measure.h"
#include "suite.h"

/* All candidates, then the router's choice, which is always last. */
enum {
    ROUTER_LOG2_MAX = 30,
    ROUTER_WAYS_MAX = GX_CANDIDATES_MAX + 1,
    ROUTER_SERIES = 6,
    ROUTER_CURVES = 2
};

/* What is measured at every size: an operation; of msm, by points of the field's first or second
 * curve: 1 or 2, otherwise 0. */
typedef struct router_series {
    gx_op op;
    unsigned curve;
} router_series;

extern const router_series router_all[ROUTER_SERIES];

enum {
    ROUTER_PART,
    ROUTER_WHAT,
    ROUTER_WHERE,
    ROUTER_FIELD,
    ROUTER_OP,
    ROUTER_CURVE,
    ROUTER_ELEMENTS,
    ROUTER_DEVICE,
    ROUTER_SAMPLES,
    ROUTER_MEDIAN,
    ROUTER_P90,
    ROUTER_MIN,
    ROUTER_MAX,
    ROUTER_PREDICTED,
    ROUTER_OFF,
    ROUTER_BEST,
    ROUTER_BEST_US,
    ROUTER_CHOSEN,
    ROUTER_REASON,
    ROUTER_REGRET,
    ROUTER_TIMES,
    ROUTER_VALUE,
    ROUTER_COLUMNS
};
#define ROUTER_BIT(column) ((uint64_t)1 << (column))

typedef struct router_part {
    const char *name;
    const char *title; /* above its table */
    uint64_t columns;  /* of a table, as bits */
} router_part;

/* One or more jobs on one of the devices, or as the router decides. */
typedef struct router_way {
    const char *name;
    gx_run_params opts;
    const gx_job *jobs;
    size_t count;
    gx_buf *moved; /* not NULL: the operands are first read from this buffer, in the order of a
                      job, and the result is written back behind them */
    bool warm; /* called for a while before each sample: a device that was idle during the others'
                  turns lowers its clocks */
    size_t calls; /* of one sample */
    size_t samples;
    bool far_behind; /* it gets few of these */
    stats ns;        /* of one call */
} router_way;

/* The results of one operation at one size. */
typedef struct router_cell {
    size_t where; /* 0: host memory, 1: registered, 2 and up: buffers of candidate where - 2 */
    gx_field field;
    router_series series;
    uint64_t n;
    size_t ways;
    double ns[ROUTER_WAYS_MAX];  /* medians; 0: not tried */
    double off[ROUTER_WAYS_MAX]; /* prediction / measurement - 1; NAN: no prediction */
    uint32_t used;               /* chosen by auto, one bit per candidate */
    double regret;
} router_cell;

typedef struct router {
    const common_opts *common;
    const suite_opts *opts;
    gx_ctx *ctx;
    char names[GX_CANDIDATES_MAX][sizeof((gx_report *)0)->device];
    size_t candidates, cpu; /* index of cpu among the candidates; `candidates` if it is not one */
    number_list sizes;
    gx_field field; /* of the arrays' contents */
    size_t element_bytes, room;
    unsigned char *operand[2], *result;
    gx_domain *domain;                      /* of the field, if it has one */
    gx_points *points[ROUTER_CURVES];       /* of its curves, if it has some and msm is wanted */
    job_params params[ROUTER_LOG2_MAX + 1]; /* of transforms, by log2 of their size, and of msm */
    router_cell *cells;
    size_t cell_count;
    uint64_t decided, unknown; /* decisions since calibration; of these, without measurements */
    part_tables tables;
    const router_part *part;
} router;

/* Prints the cells that are present; NULL, 0, NAN: absent. */
typedef struct router_row {
    const char *what, *where, *device, *best, *chosen, *reason;
    gx_field field;
    gx_op op;
    gx_curve curve;
    uint64_t elements;
    const router_way *way;
    double predicted, off, best_ns, regret, times, value;
} router_row;

#define ROUTER_NO_RATES .predicted = NAN, .off = NAN, .regret = NAN, .times = NAN, .value = NAN

/* Begins the table of a part (one table for all parts in machine formats). */
int router_begin(router *r, const router_part *part);
bool router_show(router *r, const router_row *row);

/* Fills the arrays with `room` elements of the field, and makes its domain and points. Returns an
 * exit code. */
int router_fill(router *r, gx_field field);
/* Whether the operation was asked for and exists for the field. */
bool router_wants(const router *r, gx_op op, gx_field field);
gx_curve router_curve(gx_field field, const router_series *series); /* 0: none */
/* Registers all of them, or undoes that. Returns an exit code. */
int router_register(router *r, bool on);
gx_job router_job(router *r, const router_series *series, size_t n);

/* One call; reports (one per job) may be NULL. Returns an exit code. */
int router_call(router *r, const router_way *way, gx_report *reports);
/* Times all variants alternately, forwards and backwards, so that drift favours none, each sample
 * after an uncounted call of the same variant: `samples` times, or as often as budget_s allows; up
 * to four times either if the ratio of the last variant to the best of the others is not known to 5
 * % by then. The user's number of samples overrides all of that. */
int router_time(router *r, router_way *ways, size_t count, size_t samples, double budget_s);

/* "cpu+vulkan:0": the devices that had a share; with shares: "cpu 71%+vulkan:0 29%". */
void router_chosen(const gx_report *report, bool shares, char *text, size_t size);

/* Prints why a call failed, from the reports if there are any; returns an exit code. */
int router_failed(gx_status status, const gx_report *reports, size_t count);

/* The table and its evaluation: router_cells.c. */
int router_table(router *r, const gx_field *fields, size_t count);
int router_crossovers(router *r);
int router_summary(router *r);

/* The rows apart from the table: router_rows.c. */
int router_rows(router *r);
uint64_t router_rows_steps(const router *r);

#endif
