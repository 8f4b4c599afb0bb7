/* SPDX-License-Identifier: Apache-2.0
 *
 * Who does a round of jobs: what each candidate would take, and a policy, become a choice or
 * shares. Nothing is measured, allocated or remembered here but what exploring costs, so that
 * all of it can be tested on tables.
 */
#ifndef GX_ROUTE_DECIDE_H
#define GX_ROUTE_DECIDE_H

#include <stdatomic.h>

#include "route/model.h"

/* No GPU answers faster than this. */
#define GX_SMALL_NS 10000.0
/* Where the CPU's time is not known: fewer elements than this take less. */
#define GX_SMALL_ELEMS 512u
/* What the CPU does in less, and so many times as fast as any GPU, is not worth deciding. */
#define GX_FAR_AHEAD_NS     20000.0
#define GX_FAR_AHEAD_FACTOR 1.5
/* Exploring: only where it can matter. */
#define GX_EXPLORE_MIN_NS 50000.0

/* Where predictions come from: gx__model_predict and gx__model_next_ns, but in tests. */
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
    uint64_t waiting_ns; /* predicted, of what is under way there */
    double extra_ns;     /* beyond what the model says, for all of it: copies before and after */
    double contention;   /* in a split a share takes this times what it takes alone; 0: 1 */
    /* What the residency of a part is for this one; 0: what the part says. */
    gx_residency as[GX_DEVICE_MEMORY + 1];
};

/* What was spent on exploring, of what. Zero at first; any thread. */
struct gx_exploring {
    _Atomic uint64_t routed_ns; /* what all routed calls took */
    _Atomic uint64_t cost_ns;   /* what exploring took beyond the best prediction */
    atomic_bool under_way;      /* one at a time, or all would overdraw together */
};

struct gx_question {
    const struct gx_predictor *predictor;
    gx_policy policy; /* CPU and GPU: the candidates are chosen already, and this is as AUTO */
    const struct gx_part *parts;
    size_t part_count;
    size_t jobs;
    uint64_t elements;
    bool whole;                                 /* it cannot be cut */
    const struct gx_candidate_cost *candidates; /* 1 to GX_CANDIDATES_MAX */
    size_t count;
    struct gx_exploring *exploring; /* NULL: nothing is tried out */
};

struct gx_portion {
    size_t candidate;
    double fraction; /* of the elements; those of all portions are 1 together */
    double ns;       /* predicted for it, without waiting; 0: not known */
};

struct gx_decision {
    gx_reason reason;             /* ONLY, FASTEST, SPLIT, DEFAULT or EXPLORED */
    double ns[GX_CANDIDATES_MAX]; /* all of it, by candidate, without waiting; 0: not known */
    double best_ns;               /* the least, with waiting; 0: not known */
    bool held_back;               /* it would be a split if nobody was slower beside others */
    size_t portions;
    struct gx_portion portion[GX_CANDIDATES_MAX]; /* in the order of the candidates */
};

/* Where the reason is GX_REASON_EXPLORED, gx__explored has to follow. Any thread; no lock. */
void gx__decide(const struct gx_question *question, struct gx_decision *decision);

/* What the fraction of the round takes on a candidate alone, without waiting; false: not known. */
bool gx__predict_round(const struct gx_question *question,
                       const struct gx_candidate_cost *candidate, double fraction,
                       struct gx_prediction *prediction);

/* Whether so little is asked that no GPU can be faster; the model is that of "cpu". */
bool gx__is_small(const struct gx_predictor *predictor, const struct gx_model *model,
                  const struct gx_kind *kind, uint64_t elements);

/* Whether so little is asked that the CPU is faster than any of the GPUs by far, and that it would
 * be no use to measure these. */
bool gx__is_cpu_far_ahead(const struct gx_predictor *predictor, const struct gx_model *cpu,
                          const struct gx_model *const *gpus, size_t gpu_count,
                          const struct gx_kind *kind, uint64_t elements);

/* A routed call, explored or not, took so long. */
void gx__routed(struct gx_exploring *exploring, uint64_t ns);
/* One that was explored is over, however it ended: it took so long, and the best known would
 * have taken best_ns. Beside gx__routed. */
void gx__explored(struct gx_exploring *exploring, uint64_t ns, double best_ns);

#endif
