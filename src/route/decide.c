/* SPDX-License-Identifier: Apache-2.0
 *
 * Most decisions are about one job and two candidates: two predictions and a comparison. Only long
 * rounds are considered for a split. Then the times of each candidate are read into a few knots,
 * and the fractions with which all finish at the same time are found without asking the models
 * again.
 */
#include "route/decide.h"

#include <math.h>

/* Shorter rounds are not split. */
#define SPLIT_MIN_NS 100000.0
/* Overhead of a split: waking another thread, and waiting for the last one. */
#define SPLIT_NS 50000.0
/* A split must be predicted to gain this much, because predictions are uncertain. */
#define SPLIT_MARGIN 1.02
/* Smaller shares are given to the other candidates. */
#define SHARE_MIN (1.0 / 64)

/* The budget for exploring: this part of the time of all rounds, plus a start. */
#define EXPLORE_PART  0.05
#define EXPLORE_START 20000000.0
/* Large rounds (by gx_question.work) are explored with a share, while the best candidate does the
 * rest. The share is large enough to predict the whole from, and costs nothing unless the device is
 * three times slower. */
#define EXPLORE_SHARE 0.25
#define EXPLORE_WORK  65536.0

#define KNOTS 9

/* The time of fractions of a round on one candidate, including waiting: non-decreasing, and linear
 * between knots at 0, powers of two, and 1. */
struct curve {
    double fraction[KNOTS], ns[KNOTS];
};

/* ---- predictions ---- */

static bool predict_part(const struct gx_question *q, const struct gx_candidate_cost *candidate,
                         size_t part, double n, struct gx_prediction *p)
{
    struct gx_kind kind = q->parts[part].kind;
    if (candidate->as[kind.residency])
        kind.residency = candidate->as[kind.residency];
    return q->predictor->predict(candidate->model, &kind, n, p);
}

/* For several kinds, the launch cost counts once: the largest of theirs. */
static bool predict_parts(const struct gx_question *q, const struct gx_candidate_cost *candidate,
                          double fraction, double *ns)
{
    struct gx_prediction none = {0}, all;
    double start = 0;
    *ns = 0;
    for (size_t k = 0; k < q->part_count; k++) {
        if ((q->part_count > 1 && !predict_part(q, candidate, k, 0, &none)) ||
            !predict_part(q, candidate, k, fraction * q->parts[k].elements, &all))
            return false;
        start = fmax(start, none.ns);
        *ns += fmax(0, all.ns - none.ns);
    }
    *ns += start;
    return true;
}

bool gx__predict_round(const struct gx_question *q, const struct gx_candidate_cost *candidate,
                       double fraction, double *ns)
{
    if (!predict_parts(q, candidate, fraction, ns))
        return false;
    double more = fraction * (double)q->jobs - 1;
    *ns += fraction * candidate->extra_ns;
    if (more > 0)
        *ns += more * q->predictor->next_ns(candidate->model);
    return true;
}

bool gx__is_small(const struct gx_predictor *predictor, const struct gx_model *model,
                  const struct gx_kind *kind, uint64_t elements)
{
    struct gx_prediction p;
    if (predictor->predict(model, kind, (double)elements, &p))
        return p.ns < GX_SMALL_NS;
    return elements < GX_SMALL_ELEMS;
}

/* ---- one candidate ---- */

static void choose(struct gx_decision *d, gx_reason reason, size_t candidate)
{
    d->reason = reason;
    d->portions = 1;
    d->portion[0] =
        (struct gx_portion){.candidate = candidate, .fraction = 1, .ns = d->ns[candidate]};
}

/* Predicts all candidates. by[]: the time with waiting; infinite if not known. Returns the best, or
 * q->count if none is known. */
static size_t judge(const struct gx_question *q, struct gx_decision *d, double *by)
{
    size_t best = q->count;
    for (size_t i = 0; i < q->count; i++) {
        double ns;
        d->ns[i] = 0;
        by[i] = INFINITY;
        if (!gx__predict_round(q, &q->candidates[i], 1, &ns))
            continue;
        d->ns[i] = fmax(ns, 1); /* 0 means not known */
        by[i] = ns + (double)q->candidates[i].waiting_ns;
        if (best == q->count || by[i] < by[best])
            best = i;
    }
    d->best_ns = best < q->count ? by[best] : 0;
    return best;
}

/* If nothing is known: a GPU for large rounds, the least loaded one of several. */
static size_t default_candidate(const struct gx_question *q)
{
    bool gpu = q->work >= GX_DEFAULT_GPU_ELEMS;
    size_t found = 0;
    for (size_t i = 1; i < q->count; i++) {
        const struct gx_candidate_cost *r = &q->candidates[i], *f = &q->candidates[found];
        if (r->cpu == f->cpu ? r->waiting_ns < f->waiting_ns : r->cpu != gpu)
            found = i;
    }
    return found;
}

/* ---- a split ---- */

/* The knots are at the points of the model (for a round of one kind), so nothing is lost. A
 * fraction that cannot be predicted counts as no faster than the next larger one. */
static void read_curve(const struct gx_question *q, const struct gx_candidate_cost *candidate,
                       double whole_ns, double contention, struct curve *c)
{
    double most = 1, waiting = (double)candidate->waiting_ns;
    int exponent;
    for (size_t k = 0; k < q->part_count; k++)
        most = fmax(most, q->parts[k].elements);
    double f = 0.5 / frexp(most, &exponent); /* (largest power of two <= most) / most */
    f = f < 1 ? f : 0.5;
    c->fraction[KNOTS - 1] = 1;
    c->ns[KNOTS - 1] = whole_ns * contention + waiting;
    for (size_t k = KNOTS - 1; k-- > 0; f /= 2) {
        double ns;
        c->fraction[k] = k ? f : 0;
        c->ns[k] = c->ns[k + 1];
        if (gx__predict_round(q, candidate, c->fraction[k], &ns))
            c->ns[k] = fmin(c->ns[k], ns * contention + waiting);
    }
}

/* The largest fraction that takes at most ns. */
static double done_by(const struct curve *c, double ns)
{
    size_t k = KNOTS - 1;
    if (c->ns[k] <= ns)
        return c->fraction[k];
    while (k > 0 && c->ns[k - 1] > ns)
        k--;
    if (!k)
        return 0;
    double along = (ns - c->ns[k - 1]) / (c->ns[k] - c->ns[k - 1]);
    return c->fraction[k - 1] + along * (c->fraction[k] - c->fraction[k - 1]);
}

static double time_of(const struct curve *c, double fraction)
{
    size_t k = KNOTS - 1;
    while (k > 1 && c->fraction[k - 1] > fraction)
        k--;
    double along = (fraction - c->fraction[k - 1]) / (c->fraction[k] - c->fraction[k - 1]);
    return c->ns[k - 1] + along * (c->ns[k] - c->ns[k - 1]);
}

static double done_together(const struct curve *curves, const bool *in, size_t count, double ns,
                            double *fractions)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        fractions[i] = in[i] ? done_by(&curves[i], ns) : 0;
        sum += fractions[i];
    }
    return sum;
}

/* Finds the fractions with which all candidates in `in` finish at the same time, by bisection. */
static void solve(const struct curve *curves, const bool *in, size_t count, double *fractions)
{
    double least = 0, most = INFINITY;
    for (size_t i = 0; i < count; i++)
        if (in[i])
            most = fmin(most, curves[i].ns[KNOTS - 1]);
    for (int step = 0; step < 30; step++) {
        double ns = (least + most) / 2;
        if (done_together(curves, in, count, ns, fractions) < 1)
            least = ns;
        else
            most = ns;
    }
    double sum = done_together(curves, in, count, most, fractions); /* >= 1 */
    for (size_t i = 0; i < count; i++)
        fractions[i] /= sum;
}

/* Removes candidates with too small a share; true if there were any. */
static bool drop_small(bool *in, const double *fractions, size_t count)
{
    bool dropped = false;
    for (size_t i = 0; i < count; i++)
        if (in[i] && fractions[i] < SHARE_MIN) {
            in[i] = false;
            dropped = true;
        }
    return dropped;
}

/* The smallest fraction that a portion can have. */
static double smallest(const struct gx_question *q)
{
    return q->unit > 1 && q->elements ? (double)q->unit / (double)q->elements : 0;
}

/* The one that is done first with one more step. */
static size_t next_step(const struct curve *curves, const bool *in, size_t count,
                        const double *fractions, double step)
{
    size_t best = count;
    double best_ns = INFINITY;
    for (size_t i = 0; i < count; i++) {
        double ns = in[i] ? time_of(&curves[i], fmin(1, fractions[i] + step)) : INFINITY;
        if (ns < best_ns || (in[i] && best == count)) {
            best = i;
            best_ns = ns;
        }
    }
    return best;
}

/* Makes the fractions multiples of one that is large enough to matter: down first, then up for
 * those that are done first. */
static void use_steps(const struct gx_question *q, const struct curve *curves, bool *in,
                      double *fractions)
{
    double step = smallest(q), left = 1;
    if (step < SHARE_MIN / 2)
        return;
    for (size_t i = 0; i < q->count; i++) {
        fractions[i] = floor(fractions[i] / step + 1e-6) * step;
        left -= fractions[i];
    }
    while (left > step / 2) {
        size_t i = next_step(curves, in, q->count, fractions, step);
        fractions[i] += step;
        left -= step;
    }
    size_t most = 0;
    for (size_t i = 0; i < q->count; i++) {
        in[i] = fractions[i] > 0;
        most = fractions[i] > fractions[most] ? i : most;
    }
    fractions[most] += left; /* where other jobs are in the round, or of rounding */
}

static bool are_one(const struct gx_question *q, size_t i, size_t k)
{
    return q->candidates[i].chip && q->candidates[i].chip == q->candidates[k].chip;
}

/* Whether the candidate may have a share: of several that are one GPU, the fastest. */
static bool stands_for_chip(const struct gx_question *q, const struct gx_decision *d, size_t i)
{
    for (size_t k = 0; k < q->count; k++)
        if (k != i && are_one(q, i, k) && d->ns[k] > 0 &&
            (d->ns[k] < d->ns[i] || (d->ns[k] == d->ns[i] && k < i)))
            return false;
    return d->ns[i] > 0;
}

/* Decides for a split and returns true, if a split is faster than the best candidate. contended:
 * predict with contention. */
static bool split(const struct gx_question *q, bool contended, struct gx_decision *d)
{
    struct curve curves[GX_CANDIDATES_MAX] = {0};
    bool in[GX_CANDIDATES_MAX];
    double fractions[GX_CANDIDATES_MAX], ns = 0;
    size_t portions = 0;
    for (size_t i = 0; i < q->count; i++) {
        double factor =
            contended && q->candidates[i].contention > 0 ? q->candidates[i].contention : 1;
        in[i] = stands_for_chip(q, d, i);
        if (in[i])
            read_curve(q, &q->candidates[i], d->ns[i], factor, &curves[i]);
    }
    do
        solve(curves, in, q->count, fractions);
    while (drop_small(in, fractions, q->count));
    use_steps(q, curves, in, fractions);
    for (size_t i = 0; i < q->count; i++) {
        portions += in[i];
        ns = in[i] ? fmax(ns, time_of(&curves[i], fractions[i])) : ns;
    }
    if (portions < 2)
        return false;
    if ((q->policy == GX_POLICY_THROUGHPUT ? ns : (ns + SPLIT_NS) * SPLIT_MARGIN) >= d->best_ns)
        return false;
    d->reason = GX_REASON_SPLIT;
    d->best_ns = fmin(d->best_ns, ns);
    d->portions = 0;
    for (size_t i = 0; i < q->count; i++)
        if (in[i])
            d->portion[d->portions++] = (struct gx_portion){
                .candidate = i,
                .fraction = fractions[i],
                .ns = time_of(&curves[i], fractions[i]) - (double)q->candidates[i].waiting_ns};
    return true;
}

static bool is_contended(const struct gx_question *q)
{
    for (size_t i = 0; i < q->count; i++)
        if (q->candidates[i].contention > 1)
            return true;
    return false;
}

/* ---- exploring ---- */

void gx__routed(struct gx_exploring *e, uint64_t ns)
{
    atomic_fetch_add_explicit(&e->routed_ns, ns, memory_order_relaxed);
}

void gx__explored(struct gx_exploring *e, uint64_t ns, double best_ns)
{
    if ((double)ns > best_ns)
        atomic_fetch_add_explicit(&e->cost_ns, (uint64_t)((double)ns - best_ns),
                                  memory_order_relaxed);
    atomic_store(&e->under_way, false);
}

static bool affordable(struct gx_exploring *e)
{
    double routed = (double)atomic_load_explicit(&e->routed_ns, memory_order_relaxed);
    double spent = (double)atomic_load_explicit(&e->cost_ns, memory_order_relaxed);
    return spent < EXPLORE_PART * routed + EXPLORE_START;
}

/* A candidate whose time is not known; q->count if there is none. */
static size_t unknown_candidate(const struct gx_question *q, const double *by)
{
    size_t i = 0;
    while (i < q->count && !isinf(by[i]))
        i++;
    return i;
}

static bool explore(const struct gx_question *q, struct gx_decision *d, const double *by,
                    size_t best)
{
    if (!q->exploring || by[best] <= GX_EXPLORE_MIN_NS)
        return false;
    size_t i = unknown_candidate(q, by);
    if (i == q->count || !affordable(q->exploring) ||
        atomic_exchange(&q->exploring->under_way, true))
        return false;
    choose(d, GX_REASON_EXPLORED, i);
    if (q->whole || are_one(q, i, best) || by[best] <= SPLIT_MIN_NS || q->work < EXPLORE_WORK ||
        smallest(q) > EXPLORE_SHARE)
        return true;
    double ns = 0;
    gx__predict_round(q, &q->candidates[best], 1 - EXPLORE_SHARE, &ns);
    d->portions = 2;
    d->portion[i > best] = (struct gx_portion){.candidate = i, .fraction = EXPLORE_SHARE};
    d->portion[i < best] =
        (struct gx_portion){.candidate = best, .fraction = 1 - EXPLORE_SHARE, .ns = ns};
    return true;
}

/* ---- the decision ---- */

void gx__decide(const struct gx_question *q, struct gx_decision *d)
{
    double by[GX_CANDIDATES_MAX];
    size_t best = judge(q, d, by);
    d->held_back = false;
    if (q->count == 1) {
        choose(d, GX_REASON_ONLY, 0);
    } else if (best == q->count) {
        choose(d, GX_REASON_DEFAULT, default_candidate(q));
    } else if (!explore(q, d, by, best)) {
        choose(d, GX_REASON_FASTEST, best);
        bool may_split = !q->whole && by[best] > SPLIT_MIN_NS;
        if (may_split && !split(q, true, d) && is_contended(q)) {
            struct gx_decision without = *d;
            d->held_back = split(q, false, &without);
        }
    }
}
