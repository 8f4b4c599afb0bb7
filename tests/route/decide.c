/* SPDX-License-Identifier: Apache-2.0
 *
 * Decisions on made-up curves: who is chosen, how a round is split compared with a search over
 * all splits, what waiting does, and what exploring may cost. No device is opened. Internal:
 * it links the static library.
 */
#include <math.h>
#include <time.h>

#include "route/decide.h"
#include "support/harness.h"

/* A line for all kinds; inv is `inv` times slower beyond the launch. */
struct gx_model {
    double launch, ns_each; /* launch < 0: nothing is known */
    double next, inv, slow;
    double from, to;   /* elements that something is known of; 0: all */
    gx_residency only; /* 0: any */
};

static bool line(const struct gx_model *m, const struct gx_kind *kind, double n,
                 struct gx_prediction *p)
{
    *p = (struct gx_prediction){0};
    if (m->launch < 0 || n < m->from || (m->to > 0 && n > m->to) ||
        (m->only && kind->residency != m->only))
        return false;
    p->ns = m->launch + n * m->ns_each * (kind->op == GX_INV && m->inv > 0 ? m->inv : 1);
    p->slow_ns = p->ns * (m->slow > 0 ? m->slow : 1);
    return true;
}

static double next_ns(const struct gx_model *m)
{
    return m->next;
}

static const struct gx_predictor lines = {line, next_ns};

#define LINE(launch_ns, ns)                                                                        \
    {                                                                                              \
        .launch = (launch_ns), .ns_each = (ns)                                                     \
    }
#define UNKNOWN LINE(-1, 0)

/* A question about one job of n products in host memory, the first candidate being the CPU. */
struct table {
    struct gx_part part;
    struct gx_candidate_cost candidates[GX_CANDIDATES_MAX];
    struct gx_question q;
};

static struct gx_question *ask(struct table *t, const struct gx_model *models, size_t count,
                               double n)
{
    *t = (struct table){0};
    t->part = (struct gx_part){{GX_MUL, GX_BN254_FR, GX_HOST_MEMORY, GX_PATH_AUTO, 0}, n};
    for (size_t i = 0; i < count; i++)
        t->candidates[i] = (struct gx_candidate_cost){.model = &models[i], .cpu = !i};
    t->q = (struct gx_question){.predictor = &lines,
                                .parts = &t->part,
                                .part_count = 1,
                                .jobs = 1,
                                .elements = (uint64_t)n,
                                .work = n,
                                .candidates = t->candidates,
                                .count = count};
    return &t->q;
}

static struct gx_decision decide(const struct gx_question *q)
{
    struct gx_decision d;
    memset(&d, 0x5c, sizeof d); /* all that counts is set */
    gx__decide(q, &d);
    double sum = 0;
    assert_in_range(d.portions, 1, q->count);
    for (size_t k = 0; k < d.portions; k++) {
        assert_true(!k || d.portion[k].candidate > d.portion[k - 1].candidate);
        assert_true(d.portion[k].fraction > 0);
        sum += d.portion[k].fraction;
    }
    assert_true(fabs(sum - 1) < 1e-9);
    return d;
}

static void goes_to(const struct gx_question *q, gx_reason reason, size_t candidate)
{
    struct gx_decision d = decide(q);
    assert_int_equal(d.reason, reason);
    assert_int_equal(d.portions, 1);
    assert_int_equal(d.portion[0].candidate, candidate);
    assert_true(d.portion[0].ns == d.ns[candidate]);
}

static double portion_of(const struct gx_decision *d, size_t candidate)
{
    for (size_t k = 0; k < d->portions; k++)
        if (d->portion[k].candidate == candidate)
            return d->portion[k].fraction;
    return 0;
}

/* When the last portion is done, waiting included, by the curves themselves. */
static double done_at(const struct gx_question *q, const struct gx_decision *d)
{
    double last = 0;
    for (size_t k = 0; k < d->portions; k++) {
        double ns;
        const struct gx_candidate_cost *r = &q->candidates[d->portion[k].candidate];
        assert_true(gx__predict_round(q, r, d->portion[k].fraction, &ns));
        assert_true(fabs(ns - d->portion[k].ns) <= 1e-6 * ns);
        last = fmax(last, ns + (double)r->waiting_ns);
    }
    return last;
}

/* ---- one of them ---- */

static void the_fastest_is_chosen(void **state)
{
    (void)state;
    struct table t;
    static const struct gx_model m[] = {{.launch = 500, .ns_each = 10},
                                        {.launch = 15000, .ns_each = 1}};
    goes_to(ask(&t, m, 2, 100), GX_REASON_FASTEST, 0);
    goes_to(ask(&t, m, 2, 1600), GX_REASON_FASTEST, 0);
    goes_to(ask(&t, m, 2, 1700), GX_REASON_FASTEST, 1);
    struct gx_decision d = decide(ask(&t, m, 2, 1700));
    assert_true(d.ns[0] == 17500 && d.ns[1] == 16700 && d.best_ns == 16700);
}

static void waiting_counts(void **state)
{
    (void)state;
    struct table t;
    static const struct gx_model m[] = {{.launch = 500, .ns_each = 10},
                                        {.launch = 15000, .ns_each = 1}};
    struct gx_question *q = ask(&t, m, 2, 5000);
    goes_to(q, GX_REASON_FASTEST, 1);
    t.candidates[1].waiting_ns = 31000; /* 20000 + 31000 against 50500 */
    goes_to(q, GX_REASON_FASTEST, 0);
    assert_true(decide(q).ns[1] == 20000);
    t.candidates[0].waiting_ns = 1000;
    goes_to(q, GX_REASON_FASTEST, 1);
}

static void the_only_one_is_chosen(void **state)
{
    (void)state;
    struct table t;
    static const struct gx_model known = {.launch = 500, .ns_each = 10}, unknown = UNKNOWN;
    goes_to(ask(&t, &known, 1, 1e7), GX_REASON_ONLY, 0);
    goes_to(ask(&t, &unknown, 1, 1e7), GX_REASON_ONLY, 0);
}

static void where_nothing_is_known_size_decides(void **state)
{
    (void)state;
    struct table t;
    static const struct gx_model m[] = {UNKNOWN, UNKNOWN, UNKNOWN};
    struct gx_exploring e = {0};
    for (size_t count = 2; count <= 3; count++) {
        goes_to(ask(&t, m, count, GX_DEFAULT_GPU_ELEMS - 1), GX_REASON_DEFAULT, 0);
        struct gx_question *q = ask(&t, m, count, GX_DEFAULT_GPU_ELEMS);
        q->exploring = &e; /* not without anything to compare with */
        goes_to(q, GX_REASON_DEFAULT, 1);
    }
    t.candidates[1].waiting_ns = 1;
    goes_to(&t.q, GX_REASON_DEFAULT, 2);
    t.candidates[0].cpu = false; /* GPUs alone */
    t.candidates[0].waiting_ns = 2;
    t.q.work = 1;
    goes_to(&t.q, GX_REASON_DEFAULT, 2);
}

static void what_is_small(void **state)
{
    (void)state;
    static const struct gx_model known = {.launch = 500, .ns_each = 10}, unknown = UNKNOWN;
    struct gx_kind kind = {GX_ADD, GX_U32, GX_HOST_MEMORY, GX_PATH_AUTO, 0};
    assert_true(gx__is_small(&lines, &known, &kind, 949));
    assert_false(gx__is_small(&lines, &known, &kind, 950));
    assert_true(gx__is_small(&lines, &unknown, &kind, GX_SMALL_ELEMS - 1));
    assert_false(gx__is_small(&lines, &unknown, &kind, GX_SMALL_ELEMS));
}

/* ---- rounds ---- */

static void parts_add_up_and_begin_once(void **state)
{
    (void)state;
    struct table t;
    static const struct gx_model m = {.launch = 1000, .ns_each = 2, .next = 70, .inv = 10};
    struct gx_part parts[] = {{{GX_MUL, GX_BN254_FR, GX_HOST_MEMORY, GX_PATH_AUTO, 0}, 100},
                              {{GX_INV, GX_BN254_FR, GX_HOST_MEMORY, GX_PATH_AUTO, 0}, 10}};
    double ns;
    struct gx_question *q = ask(&t, &m, 1, 110);
    q->parts = parts;
    q->part_count = 2;
    q->jobs = 5;
    assert_true(gx__predict_round(q, t.candidates, 1, &ns));
    assert_true(ns == 1000 + 200 + 200 + 4 * 70);
    assert_true(gx__predict_round(q, t.candidates, 0.5, &ns));
    assert_true(ns == 1000 + 100 + 100 + 1.5 * 70);
    assert_true(gx__predict_round(q, t.candidates, 0.1, &ns)); /* less than a job: no further one */
    assert_true(ns == 1000 + 20 + 20);
}

static void residency_is_each_ones_own(void **state)
{
    (void)state;
    struct table t;
    static const struct gx_model m = {.launch = 1000, .ns_each = 2, .only = GX_HOST_MEMORY};
    double ns;
    struct gx_question *q = ask(&t, &m, 1, 110);
    t.part.kind.residency = GX_DEVICE_MEMORY;
    assert_false(gx__predict_round(q, t.candidates, 1, &ns));
    t.candidates[0].as[GX_DEVICE_MEMORY] = GX_HOST_MEMORY;
    assert_true(gx__predict_round(q, t.candidates, 1, &ns));
}

/* ---- splitting ---- */

/* The best time of any split into steps of 1/many, of the candidates from `from` on that do
 * `left` of it together. */
static double search(const struct gx_question *q, size_t from, unsigned left, unsigned many)
{
    double best = INFINITY;
    for (unsigned take = from + 1 == q->count ? left : 0; take <= left; take++) {
        double ns = 0;
        if (take && !gx__predict_round(q, &q->candidates[from], (double)take / many, &ns))
            continue;
        double mine = take ? ns + (double)q->candidates[from].waiting_ns : 0;
        double rest = take < left ? search(q, from + 1, left - take, many) : 0;
        best = fmin(best, fmax(mine, rest));
    }
    return best;
}

struct split_case {
    const char *what;
    size_t count;
    struct gx_model m[4];
    double n;
    uint64_t waiting[4];
    size_t portions;
};

static const struct split_case splits[] = {
    {"4 equal", 4, {LINE(20e3, 1), LINE(20e3, 1), LINE(20e3, 1), LINE(20e3, 1)}, 16e6, {0}, 4},
    {"CPU and a GPU", 2, {LINE(500, 5), LINE(15e3, 1)}, 16e6, {0}, 2},
    {"3 unlike", 3, {LINE(30e3, 1), LINE(60e3, 3), LINE(20e3, 9)}, 4e6, {0}, 3},
    {"not worth its launch", 2, {LINE(500, 1), LINE(500e3, 1)}, 400e3, {0}, 1},
    {"too slow to help", 2, {LINE(500, 1), LINE(500, 100)}, 16e6, {0}, 1},
    {"one not worth its launch", 3, {LINE(500, 2), LINE(15e3, 1), LINE(900e3, 1)}, 1e6, {0}, 2},
    {"too little to split", 2, {LINE(500, 1), LINE(500, 1)}, 99e3, {0}, 1},
    {"not worth another thread", 2, {LINE(500, 1), LINE(500, 1)}, 103e3, {0}, 1},
    {"just enough", 2, {LINE(500, 1), LINE(500, 1)}, 115e3, {0}, 2},
    {"one is busy", 2, {LINE(500, 1), LINE(500, 1)}, 1e6, {0, 500000}, 2},
    {"one is too busy", 2, {LINE(500, 1), LINE(500, 1)}, 1e6, {0, 990000}, 1},
    {"all are busy",
     3,
     {LINE(500, 1), LINE(500, 2), LINE(500, 3)},
     1e6,
     {300000, 200000, 100000},
     3},
};

static void splits_are_as_good_as_any(void **state)
{
    (void)state;
    for (size_t i = 0; i < GXT_COUNT(splits); i++) {
        const struct split_case *k = &splits[i];
        struct table t;
        struct gx_question *q = ask(&t, k->m, k->count, k->n);
        for (size_t r = 0; r < k->count; r++)
            t.candidates[r].waiting_ns = k->waiting[r];
        struct gx_decision d = decide(q);
        double best = search(q, 0, 64, 64), got = done_at(q, &d);
        if (d.portions != k->portions)
            fail_msg("%s: %zu portions", k->what, d.portions);
        assert_int_equal(d.reason, k->portions > 1 ? GX_REASON_SPLIT : GX_REASON_FASTEST);
        /* 50 us and 2 % are what a split has to gain, and steps of 1/64 are worse than none */
        if (d.best_ns > 100e3 && got > (k->portions > 1 ? best * 1.0001 : (best + 50e3) * 1.021))
            fail_msg("%s: %f, while %f is possible", k->what, got, best);
        q->whole = true;
        assert_int_equal(decide(q).portions, 1);
    }
}

/* A few transforms are split between two of them, or not at all, as well as any such split. */
static void transforms_are_split_between_two(void **state)
{
    (void)state;
    size_t split = 0, alone = 0;
    for (size_t i = 0; i < GXT_COUNT(splits); i++)
        for (unsigned many = 2; many <= 24; many++) {
            const struct split_case *k = &splits[i];
            struct table t;
            struct gx_question *q = ask(&t, k->m, k->count, k->n * many);
            q->unit = (uint64_t)k->n;
            struct gx_decision d = decide(q);
            double best = search(q, 0, many, many), got = done_at(q, &d);
            for (size_t p = 0; p < d.portions; p++) {
                double steps = d.portion[p].fraction * many;
                assert_true(fabs(steps - round(steps)) < 1e-6 && steps > 0.5);
            }
            if (d.best_ns > 100e3 && got > (best + 50e3) * 1.03)
                fail_msg("%s, %u: %f, while %f is possible", k->what, many, got, best);
            split += d.portions > 1;
            alone += d.portions == 1;
        }
    assert_true(split > 50 && alone > 20);
}

/* A quarter of the round is tried where a quarter can be cut off, else all of it. */
static void transforms_are_tried_whole(void **state)
{
    (void)state;
    struct table t;
    static const struct gx_model m[] = {LINE(500, 1), UNKNOWN};
    for (unsigned many = 2; many <= 8; many++) {
        struct gx_exploring e = {0};
        struct gx_question *q = ask(&t, m, 2, (double)many * 1e6);
        q->exploring = &e;
        q->unit = 1000000;
        struct gx_decision d = decide(q);
        assert_int_equal(d.reason, GX_REASON_EXPLORED);
        assert_int_equal(d.portions, many < 4 ? 1 : 2);
    }
}

static void equal_devices_get_equal_shares(void **state)
{
    (void)state;
    struct table t;
    struct gx_decision d = decide(ask(&t, splits[0].m, 4, splits[0].n));
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(portion_of(&d, i) - 0.25) < 0.0025);
    assert_true(done_at(&t.q, &d) <= d.ns[0] / 3.5);
}

static void all_are_done_together(void **state)
{
    (void)state;
    struct table t;
    struct gx_decision d = decide(ask(&t, splits[2].m, 3, splits[2].n));
    double last = done_at(&t.q, &d);
    for (size_t k = 0; k < d.portions; k++)
        assert_true(d.portion[k].ns > 0.999 * last);
}

static void throughput_splits_for_less(void **state)
{
    (void)state;
    struct table t;
    static const struct gx_model m[] = {LINE(500, 1), LINE(500, 30)};
    struct gx_question *q = ask(&t, m, 2, 1e6);
    goes_to(q, GX_REASON_FASTEST, 0);
    q->policy = GX_POLICY_THROUGHPUT;
    assert_int_equal(decide(q).reason, GX_REASON_SPLIT);
}

/* Copies count for all of it, being held up only beside others. */
static void extra_and_beside_count(void **state)
{
    (void)state;
    struct table t;
    static const struct gx_model m[] = {LINE(500, 1), LINE(500, 1), LINE(500, 2.4)};
    struct gx_question *q = ask(&t, m + 1, 2, 1e6);
    t.candidates[0].contention = 1.2; /* 2 of 3, where the other is half as fast */
    struct gx_decision most = decide(q);
    assert_true(fabs(portion_of(&most, 0) - 2.0 / 3) < 0.001);
    q = ask(&t, m, 2, 1e6);
    t.candidates[0].contention = 3; /* 3 of 4 to the other */
    struct gx_decision d = decide(q);
    assert_true(fabs(portion_of(&d, 1) - 0.75) < 0.001);
    assert_true(fabs(d.portion[0].ns - d.portion[1].ns) < 0.001 * d.ns[0]);
    assert_true(d.ns[0] == 1000500);
    t.candidates[0].contention = 0;
    t.candidates[0].extra_ns = 2e6;
    d = decide(q);
    assert_true(fabs(portion_of(&d, 1) - 0.75) < 0.001);
    assert_true(d.ns[0] == 3000500);
    q->whole = true;
    goes_to(q, GX_REASON_FASTEST, 1);
}

/* A server's CPU and its GPU, which reads registered memory over its bus: worth a split, unless
 * both are known to be much slower then; that this was all that spoke against it is told. */
static void a_split_that_is_held_back_is_told(void **state)
{
    (void)state;
    struct table t;
    static const struct gx_model m[] = {LINE(1000, 1.06), LINE(34000, 2.66)};
    struct gx_question *q = ask(&t, m, 2, 16 << 20);
    struct gx_decision d = decide(q);
    assert_int_equal(d.reason, GX_REASON_SPLIT);
    assert_true(done_at(q, &d) * 1.3 < d.ns[0]);
    assert_false(d.held_back);
    t.candidates[0].contention = t.candidates[1].contention = 1.3;
    d = decide(q);
    assert_int_equal(d.reason, GX_REASON_SPLIT);
    assert_false(d.held_back);
    t.candidates[0].contention = t.candidates[1].contention = 1.6;
    goes_to(q, GX_REASON_FASTEST, 0);
    assert_true(decide(q).held_back);
    q = ask(&t, m, 2, 1 << 16); /* too little */
    t.candidates[0].contention = t.candidates[1].contention = 1.6;
    assert_false(decide(q).held_back);
}

/* Several kinds in one round: knots are not where each of them has its points. */
static void waves_of_several_kinds_are_split(void **state)
{
    (void)state;
    struct table t;
    static const struct gx_model m[] = {{.launch = 500, .ns_each = 2, .next = 100, .inv = 12},
                                        {.launch = 9e3, .ns_each = 1, .next = 300, .inv = 5}};
    struct gx_part parts[] = {{{GX_MUL, GX_BN254_FR, GX_HOST_MEMORY, GX_PATH_AUTO, 0}, 300000},
                              {{GX_INV, GX_BN254_FR, GX_HOST_MEMORY, GX_PATH_AUTO, 0}, 77777}};
    struct gx_question *q = ask(&t, m, 2, 377777);
    q->parts = parts;
    q->part_count = 2;
    q->jobs = 100;
    struct gx_decision d = decide(q);
    double last = 0, best = search(q, 0, 1024, 1024);
    assert_int_equal(d.portions, 2);
    for (size_t k = 0; k < 2; k++) {
        double ns;
        assert_true(gx__predict_round(q, &q->candidates[k], d.portion[k].fraction, &ns));
        last = fmax(last, ns);
    }
    assert_true(last <= best * 1.01);
}

/* A device of which only large sizes are known may still take part, as if small ones were as
 * slow as the smallest known. */
static void what_is_known_in_part_is_used(void **state)
{
    (void)state;
    struct table t;
    static const struct gx_model m[] = {LINE(500, 1), {.launch = 500, .ns_each = 1, .from = 300e3}};
    struct gx_decision d = decide(ask(&t, m, 2, 1e6));
    assert_int_equal(d.reason, GX_REASON_SPLIT);
    assert_true(fabs(portion_of(&d, 1) - 0.5) < 0.06);
    static const struct gx_model slow[] = {LINE(500, 1),
                                           {.launch = 500, .ns_each = 4, .from = 300e3}};
    goes_to(ask(&t, slow, 2, 1e6), GX_REASON_FASTEST, 0);
}

/* ---- exploring ---- */

static void an_unknown_one_is_tried(void **state)
{
    (void)state;
    struct table t;
    static const struct gx_model m[] = {LINE(500, 10), UNKNOWN};
    struct gx_exploring e = {0};
    struct gx_question *q = ask(&t, m, 2, 4000); /* not for so little */
    q->exploring = &e;
    goes_to(q, GX_REASON_FASTEST, 0);
    q = ask(&t, m, 2, 6000);
    q->exploring = &e;
    goes_to(q, GX_REASON_EXPLORED, 1);
    goes_to(q, GX_REASON_FASTEST, 0); /* one at a time */
    gx__explored(&e, 0, 60500);
    q = ask(&t, m, 2, 1e6); /* beside the one that is known */
    q->exploring = &e;
    struct gx_decision d = decide(q);
    assert_int_equal(d.reason, GX_REASON_EXPLORED);
    assert_int_equal(d.portions, 2);
    assert_true(portion_of(&d, 0) > 0.7 && portion_of(&d, 1) > 0.2);
    assert_true(d.portion[0].ns > 0 && d.portion[1].ns == 0);
    gx__explored(&e, 0, 1);
    q->whole = true;
    goes_to(q, GX_REASON_EXPLORED, 1);
}

/* One that stays unknown and is ten times slower: whatever comes, the budget holds. */
static void exploring_stays_within_its_budget(void **state)
{
    (void)state;
    static const struct gx_model m[] = {LINE(500, 10), UNKNOWN};
    struct gx_exploring e = {0};
    uint64_t seed = 7, routed = 0, cost = 0, worst = 0, explored = 0;
    for (int call = 0; call < 20000; call++) {
        struct table t;
        double n = (double)(1 + gxt_next(&seed) % 60000), best = 500 + 10 * n;
        struct gx_question *q = ask(&t, m, 2, n);
        q->exploring = &e;
        struct gx_decision d = decide(q);
        uint64_t ns = (uint64_t)best;
        if (d.reason == GX_REASON_EXPLORED) {
            explored++;
            ns = (uint64_t)(10 * best);
            cost += ns - (uint64_t)best;
            worst = ns > worst ? ns : worst;
            gx__explored(&e, ns, best);
        }
        routed += ns;
        gx__routed(&e, ns);
        assert_true((double)cost <= 0.05 * (double)routed + 20e6 + (double)worst);
    }
    assert_true(explored > 10);
    assert_true((double)cost > 0.02 * (double)routed); /* and is used */
}

/* For the reader of the log; no time is asserted. */
static void what_a_decision_takes(void **state)
{
    (void)state;
    static const double sizes[] = {64, 16e6};
    for (size_t i = 0; i < GXT_COUNT(sizes); i++) {
        enum { ROUNDS = 20000 };
        struct table t;
        struct timespec from, to;
        struct gx_decision d;
        struct gx_question *q = ask(&t, splits[1].m, 2, sizes[i]);
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (int r = 0; r < ROUNDS; r++)
            gx__decide(q, &d);
        clock_gettime(CLOCK_MONOTONIC, &to);
        double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
        print_message("%.0f elements, 2 candidates, %zu portions: %.0f ns\n", sizes[i], d.portions,
                      ns / ROUNDS);
    }
}

/* Candidates that are one GPU are alternatives: neither splits nor explores with both. */
static void one_gpu(void **state)
{
    (void)state;
    const struct gx_model models[] = {LINE(1000, 30), LINE(20000, 12), LINE(30000, 10)};
    struct table t;
    struct gx_question *q = ask(&t, models, 3, 1 << 20);
    struct gx_decision d = decide(q);
    assert_int_equal(d.reason, GX_REASON_SPLIT);
    assert_int_equal(d.portions, 3);
    t.candidates[1].chip = t.candidates[2].chip = 1;
    d = decide(q);
    assert_int_equal(d.reason, GX_REASON_SPLIT);
    assert_int_equal(d.portions, 2);
    assert_true(portion_of(&d, 0) > 0 && portion_of(&d, 2) > portion_of(&d, 0));
    q->policy = GX_POLICY_THROUGHPUT;
    d = decide(q);
    assert_true(!(portion_of(&d, 1) > 0));
    t.candidates[1].chip = 2;
    assert_int_equal(decide(q).portions, 3);

    const struct gx_model equal[] = {LINE(1000, 10), LINE(1000, 10)};
    q = ask(&t, equal, 2, 1 << 20);
    assert_int_equal(decide(q).portions, 2);
    t.candidates[0].chip = t.candidates[1].chip = 3;
    goes_to(q, GX_REASON_FASTEST, 0);

    const struct gx_model unknown[] = {LINE(1000, 10), UNKNOWN};
    struct gx_exploring exploring = {0};
    q = ask(&t, unknown, 2, 1 << 20);
    q->exploring = &exploring;
    d = decide(q);
    assert_int_equal(d.reason, GX_REASON_EXPLORED);
    assert_int_equal(d.portions, 2);
    gx__explored(&exploring, 0, 0);
    t.candidates[0].chip = t.candidates[1].chip = 1;
    d = decide(q);
    assert_int_equal(d.reason, GX_REASON_EXPLORED);
    assert_int_equal(d.portions, 1);
    assert_int_equal(d.portion[0].candidate, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_gpu),
        cmocka_unit_test(the_fastest_is_chosen),
        cmocka_unit_test(waiting_counts),
        cmocka_unit_test(the_only_one_is_chosen),
        cmocka_unit_test(where_nothing_is_known_size_decides),
        cmocka_unit_test(what_is_small),
        cmocka_unit_test(parts_add_up_and_begin_once),
        cmocka_unit_test(residency_is_each_ones_own),
        cmocka_unit_test(splits_are_as_good_as_any),
        cmocka_unit_test(transforms_are_split_between_two),
        cmocka_unit_test(transforms_are_tried_whole),
        cmocka_unit_test(equal_devices_get_equal_shares),
        cmocka_unit_test(all_are_done_together),
        cmocka_unit_test(throughput_splits_for_less),
        cmocka_unit_test(extra_and_beside_count),
        cmocka_unit_test(a_split_that_is_held_back_is_told),
        cmocka_unit_test(waves_of_several_kinds_are_split),
        cmocka_unit_test(what_is_known_in_part_is_used),
        cmocka_unit_test(an_unknown_one_is_tried),
        cmocka_unit_test(exploring_stays_within_its_budget),
        cmocka_unit_test(what_a_decision_takes),
    };
    return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
