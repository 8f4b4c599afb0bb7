/* SPDX-License-Identifier: Apache-2.0
 *
 * The decision for a round: from the predicted time of each candidate and a policy to one candidate
 * or a split. Nothing is measured or allocated here, and the only state is the budget for
 * exploring, so the decision can be tested with tables of times.
 */
#ifndef GX_ROUTE_DECIDE_H
#define GX_ROUTE_DECIDE_H

#include <stdatomic.h>

#include "route/model.h"

/* No GPU returns a result faster than this. */
#define GX_SMALL_NS 10000.0
/* If the time on the CPU is not known, fewer elements than this count as less than GX_SMALL_NS. */
#define GX_SMALL_ELEMS 512u
/* Looking for devices and opening one takes longer than this, */
#define GX_SEARCH_NS 100000000u
/* and where no GPU seems to be, the work must be worth looking all the same: a driver may make its
 * files only when it is used. */
#define GX_SEARCH_IN_VAIN_NS 1000000000u
/* Shorter rounds are not explored: there is too little to gain. */
#define GX_EXPLORE_MIN_NS 50000.0

/* Where predictions come from: gx__model_predict and gx__model_next_ns, except in tests. */
struct gx_predictor {
    bool (*predict)(const struct gx_model *model, const struct gx_kind *kind, double n,
                    struct gx_prediction *prediction);
    double (*next_ns)(const struct gx_model *model);
};

/* The elements of a round that are of one kind. */
struct gx_part {
    struct gx_kind kind;
    double elements;
};

struct gx_candidate_cost {
    const struct gx_model *model;
    bool cpu;            /* the others are GPUs */
    uint32_t chip;       /* those with the same number are one GPU, which works for one of them at a
                            time; 0: not known */
    uint64_t waiting_ns; /* predicted time of the work in progress there */
    double extra_ns;     /* cost of the whole round beyond the model: copies of in-place results */
    double contention;   /* slowdown of a share in a split; 0: not known, counts as 1 */
    /* The residency to predict with, by the residency of the part; 0: the same. */
    gx_residency as[GX_DEVICE_MEMORY + 1];
};

/* The budget for exploring. Zero-initialised; any thread. */
struct gx_exploring {
    _Atomic uint64_t routed_ns; /* time of all rounds */
    _Atomic uint64_t cost_ns;   /* time that exploring took beyond the best prediction */
    atomic_bool under_way;      /* one at a time, so that threads cannot overdraw together */
};

struct gx_question {
    const struct gx_predictor *predictor;
    gx_policy policy; /* CPU and GPU only filter the candidates, and count as AUTO here */
    const struct gx_part *parts;
    size_t part_count;
    size_t jobs;
    uint64_t elements;
    double work;   /* gx__task_work of all jobs */
    uint64_t unit; /* elements; cuts are at multiples of it: a transform; 0 or 1: anywhere */
    bool whole;    /* must not be cut */
    const struct gx_candidate_cost *candidates; /* 1 to GX_CANDIDATES_MAX */
    size_t count;
    struct gx_exploring *exploring; /* NULL: do not explore */
};

struct gx_portion {
    size_t candidate;
    double fraction; /* of the round; the fractions of all portions add up to 1 */
    double ns;       /* predicted, without waiting; 0: not known */
};

struct gx_decision {
    gx_reason reason;             /* ONLY, FASTEST, SPLIT, DEFAULT or EXPLORED */
    double ns[GX_CANDIDATES_MAX]; /* whole round by candidate, without waiting; 0: not known */
    double best_ns; /* the least of these and of the split, with waiting; 0: not known */
    bool held_back; /* without contention it would have been a split */
    size_t portions;
    struct gx_portion portion[GX_CANDIDATES_MAX]; /* in the order of the candidates */
};

/* If the reason is GX_REASON_EXPLORED, gx__explored must follow. Any thread; takes no lock. */
void gx__decide(const struct gx_question *question, struct gx_decision *decision);

/* Predicts a fraction of the round on one candidate, without contention or waiting; false: not
 * known. */
bool gx__predict_round(const struct gx_question *question,
                       const struct gx_candidate_cost *candidate, double fraction, double *ns);

/* Whether so few elements finish on "cpu", whose model this is, before any GPU could answer. */
bool gx__is_small(const struct gx_predictor *predictor, const struct gx_model *model,
                  const struct gx_kind *kind, uint64_t elements);

/* A round, explored or not, took ns. */
void gx__routed(struct gx_exploring *exploring, uint64_t ns);
/* An explored round has ended, successfully or not, after ns; the best known candidate would have
 * taken best_ns. Called in addition to gx__routed. */
void gx__explored(struct gx_exploring *exploring, uint64_t ns, double best_ns);

#endif
