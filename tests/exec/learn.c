/* SPDX-License-Identifier: Apache-2.0
 *
 * What is learned of modes: which batches teach, what tells them apart, what the plan makes of
 * it, and that calls of one kind end up in the fastest mode at a bounded cost. No device is
 * opened: plans are real, what they take is made up.
 */
#include "exec/modes.h"
#include "facts.h"
#include "support/harness.h"

enum { JOBS_MAX = 64, NS = 1000000 };

static struct gx_modes modes;
static char *const memory = (char *)((uintptr_t)1 << 40); /* never read */
static gx_buf *const buffer = (gx_buf *)(void *)((uintptr_t)1 << 39);
static gx_job jobs[JOBS_MAX];

static int open_table(void **state)
{
    (void)state;
    gx__modes_init(&modes);
    return 0;
}

static int close_table(void **state)
{
    (void)state;
    gx__modes_close(&modes);
    return 0;
}

static void make_jobs(size_t count, size_t n, gx_op op)
{
    for (size_t i = 0; i < count; i++) { /* far apart */
        char *at = memory + ((uintptr_t)i << 34);
        jobs[i] = gxt_job(op, GX_BLS12_381_FQ, n, at, at, NULL, at + ((uintptr_t)1 << 33));
    }
}

/* ---- shapes ---- */

static bool all_registered(void *user, const void *host, size_t bytes)
{
    (void)user;
    (void)host;
    return bytes > 0;
}

/* What any of the batches below is told apart by. */
static void shapes_differ(void **state)
{
    (void)state;
    static const size_t counts[] = {2, 3, 4, 8, 16}, sizes[] = {16384, 65536, 262144, 1048576};
    struct gx_asked asked = {0};
    uint64_t seen[64];
    size_t used = 0;
    for (size_t c = 0; c < GXT_COUNT(counts); c++)
        for (size_t s = 0; s < GXT_COUNT(sizes); s++) {
            make_jobs(counts[c], sizes[s], GX_ADD);
            seen[used++] = gx__shape_of(jobs, counts[c], &asked);
        }
    make_jobs(4, 16384, GX_ADD);
    uint64_t same = gx__shape_of(jobs, 4, &asked);
    seen[used++] = gx__shape_of(jobs, 4, &(struct gx_asked){.path = GX_PATH_DEVICE_LOCAL});
    seen[used++] = gx__shape_of(jobs, 4, &(struct gx_asked){.sets = 3});
    seen[used++] = gx__shape_of(jobs, 4, &(struct gx_asked){.chunk_elems = 4096});
    seen[used++] = gx__shape_of(jobs, 4, &(struct gx_asked){.registered = all_registered});
    jobs[3].out = gx_dev(buffer, 0);
    seen[used++] = gx__shape_of(jobs, 4, &asked);
    make_jobs(4, 16384, GX_MUL);
    seen[used++] = gx__shape_of(jobs, 4, &asked);
    make_jobs(4, 16384, GX_INV);
    seen[used++] = gx__shape_of(jobs, 4, &asked);
    for (size_t i = 0; i < used; i++) {
        assert_true(seen[i] != 0);
        for (size_t k = 0; k < i; k++)
            assert_true(seen[i] != seen[k]);
    }
    make_jobs(5, 13000, GX_SUB); /* nearly the same: between 4 and 6 jobs, as many bytes */
    assert_true(gx__shape_of(jobs, 5, &asked) == same);
    assert_int_equal(gx__shape_of(jobs, 5, &(struct gx_asked){.stream = true}), 0);
}

/* ---- the table ---- */

/* A plan as far as the table looks at it. */
static struct gx_plan some_plan(const struct gx_asked *asked, enum gx_way way)
{
    struct gx_plan plan = {.asked = asked, .way = way};
    for (int w = GX_WAY_SEQUENTIAL; w < GX_WAYS; w++)
        if (!asked->mode || asked->mode == (gx_mode)w ||
            (asked->mode == GX_MODE_PIPELINED && w == GX_WAY_APART))
            plan.estimate[w] = NS;
    return plan;
}

static void run_way(uint64_t shape, gx_mode asked_mode, enum gx_way way, uint64_t ns, bool whole)
{
    struct gx_asked asked = {.mode = asked_mode};
    struct gx_plan plan = some_plan(&asked, way);
    struct gx_lesson lesson;
    gx__modes_start(&modes, shape, &plan, 500, &lesson);
    gx__modes_end(&modes, &lesson, 500 + ns, whole);
}

static double factor(uint64_t shape, enum gx_way way)
{
    struct gx_known known;
    gx__modes_known(&modes, shape, GX_MODE_AUTO, &known);
    return known.factor[way];
}

static bool is(double value, double want)
{
    return value > want - 1e-4 && value < want + 1e-4;
}

static void the_median_counts(void **state)
{
    (void)state;
    run_way(1, GX_MODE_SINGLE_SUBMIT, GX_WAY_SINGLE_SUBMIT, 90 * NS, true); /* cold */
    run_way(1, GX_MODE_SINGLE_SUBMIT, GX_WAY_SINGLE_SUBMIT, 2 * NS, true);
    run_way(1, GX_MODE_SINGLE_SUBMIT, GX_WAY_SINGLE_SUBMIT, 3 * NS, true);
    assert_true(is(factor(1, GX_WAY_SINGLE_SUBMIT), 0)); /* too few */
    run_way(1, GX_MODE_SINGLE_SUBMIT, GX_WAY_SINGLE_SUBMIT, 80 * NS, true);
    assert_true(is(factor(1, GX_WAY_SINGLE_SUBMIT), 3)); /* of 2, 3, 80 */
    assert_true(is(factor(1, GX_WAY_SEQUENTIAL), 0));
    assert_true(is(factor(3, GX_WAY_SINGLE_SUBMIT), 0)); /* another shape */
    for (unsigned i = 0; i < GX_MODE_SAMPLES / 2; i++)
        run_way(1, GX_MODE_AUTO, GX_WAY_SINGLE_SUBMIT, NS / 2, true);
    assert_true(is(factor(1, GX_WAY_SINGLE_SUBMIT), 0.5)); /* most of them by now */
    for (unsigned i = 0; i < GX_MODE_SAMPLES; i++)
        run_way(1, GX_MODE_AUTO, GX_WAY_SINGLE_SUBMIT, 7 * NS, true);
    assert_true(is(factor(1, GX_WAY_SINGLE_SUBMIT), 7));
}

/* After another way, memory and commands are cold; whatever fails says nothing. */
static void some_do_not_count(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        run_way(1, GX_MODE_SEQUENTIAL, GX_WAY_SEQUENTIAL, NS, true);
        run_way(1, GX_MODE_PIPELINED, GX_WAY_APART, NS, true);
    }
    assert_true(is(factor(1, GX_WAY_SEQUENTIAL), 0));
    assert_true(is(factor(1, GX_WAY_APART), 0));
    for (int i = 0; i < 20; i++)
        run_way(1, GX_MODE_SEQUENTIAL, GX_WAY_SEQUENTIAL, NS, false);
    assert_true(is(factor(1, GX_WAY_SEQUENTIAL), 0));
    for (int i = 0; i < 20; i++) { /* other shapes between do not matter */
        run_way(1, GX_MODE_SEQUENTIAL, GX_WAY_SEQUENTIAL, NS, true);
        run_way(3, GX_MODE_PIPELINED, GX_WAY_APART, NS, true);
    }
    assert_true(is(factor(1, GX_WAY_SEQUENTIAL), 1));
    assert_true(is(factor(3, GX_WAY_APART), 1));
}

static void only_who_is_alone_teaches(void **state)
{
    (void)state;
    struct gx_asked asked = {.mode = GX_MODE_SEQUENTIAL};
    struct gx_plan plan = some_plan(&asked, GX_WAY_SEQUENTIAL);
    struct gx_lesson first, second;
    for (int i = 0; i < 10; i++) { /* one within the other, and a stream's beside */
        gx__modes_start(&modes, 1, &plan, 0, &first);
        gx__modes_start(&modes, i % 2 ? 1 : 0, &plan, 0, &second);
        gx__modes_end(&modes, &second, NS, true);
        gx__modes_end(&modes, &first, 2 * NS, true);
    }
    assert_true(is(factor(1, GX_WAY_SEQUENTIAL), 0));
    for (int i = 0; i < 3; i++)
        run_way(1, GX_MODE_SEQUENTIAL, GX_WAY_SEQUENTIAL, NS, true);
    assert_true(is(factor(1, GX_WAY_SEQUENTIAL), 1));
}

/* What was chosen, by what was asked for; gx_estimate asks and changes nothing. */
static void what_is_settled_is_remembered(void **state)
{
    (void)state;
    struct gx_known known;
    run_way(1, GX_MODE_AUTO, GX_WAY_SINGLE_SUBMIT, NS, true);
    run_way(1, GX_MODE_PIPELINED, GX_WAY_APART, NS, true);
    run_way(1, GX_MODE_SEQUENTIAL, GX_WAY_SEQUENTIAL, NS, true);
    for (int i = 0; i < 2; i++) {
        gx__modes_known(&modes, 1, GX_MODE_AUTO, &known);
        assert_int_equal(known.settled, GX_WAY_SINGLE_SUBMIT);
        gx__modes_known(&modes, 1, GX_MODE_PIPELINED, &known);
        assert_int_equal(known.settled, GX_WAY_APART);
        gx__modes_known(&modes, 3, GX_MODE_AUTO, &known);
        assert_int_equal(known.settled, GX_WAY_NONE);
    }
}

static uint32_t due(uint64_t shape)
{
    struct gx_known known;
    gx__modes_known(&modes, shape, GX_MODE_AUTO, &known);
    return known.due;
}

static void a_trial_is_due_until_it_is_over(void **state)
{
    (void)state;
    const uint32_t one = 1u << GX_WAY_SINGLE_SUBMIT, apart = 1u << GX_WAY_APART;
    struct gx_asked asked = {0};
    struct gx_plan plan = some_plan(&asked, GX_WAY_SINGLE_SUBMIT);
    struct gx_lesson lesson;
    for (int i = 0; i < 16; i++) {
        assert_int_equal(due(1), 0);
        run_way(1, GX_MODE_AUTO, GX_WAY_PIPELINED, NS, true);
    }
    for (int i = 0; i < 2; i++) /* one that counts is not enough */
        run_way(1, GX_MODE_SINGLE_SUBMIT, GX_WAY_SINGLE_SUBMIT, NS, true);
    assert_int_equal(due(1) & (one | apart), one | apart);
    plan.trial = true;
    for (int i = 0; i < 2; i++) {
        gx__modes_start(&modes, 1, &plan, 0, &lesson);
        gx__modes_end(&modes, &lesson, NS, true);
        assert_int_equal(due(1), one);
        run_way(1, GX_MODE_SEQUENTIAL, GX_WAY_SEQUENTIAL, NS, true); /* no matter */
        assert_int_equal(due(1), one);
    }
    run_way(1, GX_MODE_AUTO, GX_WAY_PIPELINED, NS, true); /* it was not worth it after all */
    assert_int_equal(due(1) & (one | apart), apart);
}

/* It could not start: as if it had been run, so that the next call does what is known to work. */
static void a_trial_without_memory_is_put_off(void **state)
{
    (void)state;
    const uint32_t one = 1u << GX_WAY_SINGLE_SUBMIT;
    struct gx_asked asked = {0};
    struct gx_plan plan = some_plan(&asked, GX_WAY_SINGLE_SUBMIT);
    plan.trial = true;
    for (int i = 0; i < 16; i++)
        run_way(1, GX_MODE_AUTO, GX_WAY_PIPELINED, NS, true);
    assert_int_equal(due(1) & one, one);
    gx__modes_give_up(&modes, 1, &plan);
    assert_int_equal(due(1) & one, 0);
    for (int i = 0; i < 64 * 3 * 4; i++)
        run_way(1, GX_MODE_AUTO, GX_WAY_PIPELINED, NS, true);
    assert_int_equal(due(1) & one, one);
    gx__modes_give_up(&modes, 2, &plan); /* of a shape that was forgotten meanwhile */
}

static void the_oldest_shape_makes_room(void **state)
{
    (void)state;
    for (uint64_t shape = 1; shape <= GX_SHAPES; shape++)
        for (int i = 0; i < 4; i++)
            run_way(shape, GX_MODE_SEQUENTIAL, GX_WAY_SEQUENTIAL, shape * NS, true);
    run_way(1, GX_MODE_SEQUENTIAL, GX_WAY_SEQUENTIAL, NS, true);
    run_way(GX_SHAPES + 1, GX_MODE_SEQUENTIAL, GX_WAY_SEQUENTIAL, NS, true);
    for (uint64_t shape = 1; shape <= GX_SHAPES; shape++)
        assert_true(is(factor(shape, GX_WAY_SEQUENTIAL), shape == 2 ? 0 : (double)shape));
}

/* ---- what the plan makes of it ---- */

static struct gx_device_facts gpu(void)
{
    struct gx_device_facts facts = gpu_facts(7);
    facts.copy_both = 58;
    return facts;
}

/* Four jobs whose estimates are near each other: 450, 329, 294 and 309 us, about. */
static struct gx_plan plan_four(struct gx_asked *asked)
{
    static struct gx_device_facts facts;
    struct gx_plan plan;
    facts = gpu();
    asked->copy_threads = 12;
    asked->learning = true;
    make_jobs(4, 16384, GX_ADD);
    assert_int_equal(gx__plan_batch(jobs, 4, &facts, asked, &plan), GX_OK);
    return plan;
}

#define SEQ      GX_WAY_SEQUENTIAL
#define ONE      GX_WAY_SINGLE_SUBMIT
#define PIPE     GX_WAY_PIPELINED
#define APART    GX_WAY_APART
#define DUE(way) (1u << (way))

struct known_case {
    gx_mode asked;
    struct gx_known known;
    enum gx_way want;
    bool trial;
};

static void what_is_known_decides(void **state)
{
    (void)state;
    static const struct known_case cases[] = {
        {0, {{0}, 0, 0}, PIPE, false},
        {0, {{[PIPE] = 1.0}, 0, 0}, PIPE, false},
        /* all that is not known is taken to be as wrong, so nothing changes */
        {0, {{[PIPE] = 1.5}, 0, 0}, PIPE, false},
        {0, {{[PIPE] = 1.5, [ONE] = 1.0}, 0, 0}, APART, false}, /* and may be better */
        {0, {{[PIPE] = 1.5, [ONE] = 1.0, [APART] = 1.1}, 0, 0}, ONE, false},
        {0, {{[PIPE] = 1.2, [ONE] = 1.0, [SEQ] = 0.6, [APART] = 1.0}, 0, 0}, SEQ, false},
        {0, {{[PIPE] = 1.2, [ONE] = 1.2, [SEQ] = 1.2, [APART] = 1.0}, 0, 0}, APART, false},
        /* settled: a little is not enough, more is */
        {0, {{[PIPE] = 1.0, [ONE] = 0.88, [APART] = 1}, ONE, 0}, ONE, false},
        {0, {{[PIPE] = 1.0, [ONE] = 0.96, [APART] = 1}, ONE, 0}, PIPE, false},
        {0, {{[PIPE] = 1.0, [ONE] = 0.88, [APART] = 1}, PIPE, 0}, PIPE, false},
        /* trials: what is near, not what is known to be far, nor what is best anyway */
        {0, {{[PIPE] = 1.0}, PIPE, DUE(ONE)}, ONE, true},
        {0, {{[PIPE] = 1.0, [ONE] = 1.1}, PIPE, DUE(ONE)}, ONE, true},
        {0, {{[PIPE] = 1.0, [ONE] = 1.2}, PIPE, DUE(ONE)}, PIPE, false},
        {0, {{[PIPE] = 1.0}, PIPE, DUE(SEQ)}, PIPE, false},
        {0, {{[PIPE] = 1.0}, PIPE, DUE(PIPE)}, PIPE, false},
        /* where the estimate is off, others may be as estimated */
        {0, {{[PIPE] = 1.5}, PIPE, DUE(SEQ)}, SEQ, true},
        {0, {{[PIPE] = 1.5, [SEQ] = 1.5}, PIPE, DUE(SEQ)}, PIPE, false},
        {0, {{[PIPE] = 1.0, [SEQ] = 0.7, [ONE] = 1, [APART] = 1}, PIPE, DUE(SEQ)}, SEQ, true},
        /* what is asked for is done, in either of its ways */
        {GX_MODE_SEQUENTIAL, {{[PIPE] = 1.0, [SEQ] = 9}, 0, DUE(ONE)}, SEQ, false},
        {GX_MODE_SINGLE_SUBMIT, {{[ONE] = 9}, 0, DUE(PIPE)}, ONE, false},
        {GX_MODE_PIPELINED, {{0}, 0, DUE(ONE)}, PIPE, false},
        {GX_MODE_PIPELINED, {{[PIPE] = 1.2, [APART] = 1.0}, SEQ, 0}, APART, false},
        {GX_MODE_PIPELINED, {{[PIPE] = 1.0}, PIPE, DUE(APART)}, APART, true},
    };
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        struct gx_asked asked = {.mode = cases[i].asked, .known = &cases[i].known};
        struct gx_plan plan = plan_four(&asked);
        if (plan.way != cases[i].want || plan.trial != cases[i].trial)
            fail_msg("case %zu: way %d, of %.0f %.0f %.0f %.0f ns", i, (int)plan.way,
                     plan.predicted[SEQ], plan.predicted[ONE], plan.predicted[PIPE],
                     plan.predicted[APART]);
        assert_int_equal(plan.mode, plan.way == APART ? (int)PIPE : (int)plan.way);
        assert_true(plan.estimate[plan.way] > 0);
    }
}

/* A pipeline is the same one, asked for or chosen. */
static void auto_and_asked_for_are_one_plan(void **state)
{
    (void)state;
    struct gx_device_facts facts = gpu();
    for (size_t count = 1; count <= 16; count++)
        for (size_t n = 4096; n <= 1 << 20; n *= 2) {
            struct gx_asked any = {.copy_threads = 12, .learning = true}, asked = any;
            struct gx_plan chosen, forced;
            make_jobs(count, n, GX_ADD);
            assert_int_equal(gx__plan_batch(jobs, count, &facts, &any, &chosen), GX_OK);
            asked.mode = chosen.mode;
            assert_int_equal(gx__plan_batch(jobs, count, &facts, &asked, &forced), GX_OK);
            assert_int_equal(chosen.way, forced.way);
            assert_int_equal(chosen.path, forced.path);
            assert_int_equal(chosen.sets, forced.sets);
            assert_int_equal(chosen.apart, forced.apart);
            assert_int_equal(chosen.chunk, forced.chunk);
            assert_int_equal(chosen.groups, forced.groups);
        }
}

/* ---- in the long run ---- */

struct history {
    unsigned ran[GX_WAYS], changes;
    enum gx_way last;
};

/* Calls of one shape that take what the estimate says times `truth`, give or take some. */
static void live(struct history *h, unsigned calls, const double *truth, double noise)
{
    static uint64_t seed = 3;
    for (unsigned i = 0; i < calls; i++) {
        struct gx_known known;
        struct gx_asked asked = {.known = &known};
        struct gx_lesson lesson;
        gx__modes_known(&modes, 5, asked.mode, &known);
        struct gx_plan plan = plan_four(&asked);
        double off = 1 + noise * ((double)(gxt_next(&seed) % 2001) / 1000 - 1);
        gx__modes_start(&modes, 5, &plan, 0, &lesson);
        gx__modes_end(&modes, &lesson, (uint64_t)(plan.estimate[plan.way] * truth[plan.way] * off),
                      true);
        h->ran[plan.way]++;
        h->changes += plan.way != h->last;
        h->last = plan.way;
    }
}

static void the_fastest_is_found(void **state)
{
    (void)state;
    static const struct {
        double truth[GX_WAYS];
        enum gx_way best;
    } cases[] = {
        /* in us: 450, 329, 294 and 309, about */
        {{0, 1, 1, 1, 1}, PIPE},        {{0, 2, 0.8, 1.1, 1}, ONE}, {{0, 2, 1, 1.4, 0.9}, APART},
        {{0, 0.7, 1.3, 1.4, 1.3}, SEQ}, {{0, 5, 5, 5, 4}, APART}, /* all is slower than thought */
    };
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        struct history h = {0};
        gx__modes_init(&modes);
        live(&h, 16, cases[i].truth, 0.01);
        assert_int_equal(h.ran[PIPE], 16); /* nothing is tried for what does not come often */
        live(&h, 24, cases[i].truth, 0.01);
        memset(&h, 0, sizeof h);
        live(&h, 3840, cases[i].truth, 0.01);
        if (h.ran[cases[i].best] < 3840 - 3840 / 64)
            fail_msg("case %zu: %u %u %u %u", i, h.ran[SEQ], h.ran[ONE], h.ran[PIPE], h.ran[APART]);
    }
}

/* Two that are as fast within what the machine's moods do: no going to and fro. */
static void what_is_settled_stays(void **state)
{
    (void)state;
    const double truth[GX_WAYS] = {0, 1, 0.9, 1, 1.2};
    struct history h = {0};
    live(&h, 100, truth, 0.1);
    h.changes = 0;
    live(&h, 3840, truth, 0.1);
    assert_true(h.changes <= 2 * 3840 / 64); /* into a trial and out again */
}

/* What is known to lose by much is not tried again for long. */
static void what_loses_is_left_alone(void **state)
{
    (void)state;
    const double truth[GX_WAYS] = {0, 2, 2, 1, 2};
    struct history h = {0};
    live(&h, 100, truth, 0.01);
    assert_true(h.ran[ONE] > 0 && h.ran[APART] > 0);
    memset(&h, 0, sizeof h);
    live(&h, 2000, truth, 0.01);
    assert_int_equal(h.ran[PIPE], 2000);
    live(&h, 6000, truth, 0.01); /* but the machine may have been busy then */
    assert_true(h.ran[PIPE] >= 7980 && h.ran[PIPE] < 8000);
}

/* A machine that has become another one is noticed. */
static void what_changes_is_noticed(void **state)
{
    (void)state;
    const double before[GX_WAYS] = {0, 2, 1, 1, 1.2}, after[GX_WAYS] = {0, 2, 1, 1.35, 1.35};
    const double later[GX_WAYS] = {0, 2, 1, 0.8, 1.2};
    struct history h = {0};
    live(&h, 200, before, 0.01);
    assert_int_equal(h.last, PIPE);
    live(&h, 40, after, 0.01);
    assert_int_equal(h.last, ONE);
    live(&h, 900, later, 0.01); /* by a trial, once in a while */
    memset(&h, 0, sizeof h);
    live(&h, 64, later, 0.01);
    assert_true(h.ran[PIPE] >= 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_differ),
        cmocka_unit_test_setup_teardown(the_median_counts, open_table, close_table),
        cmocka_unit_test_setup_teardown(some_do_not_count, open_table, close_table),
        cmocka_unit_test_setup_teardown(only_who_is_alone_teaches, open_table, close_table),
        cmocka_unit_test_setup_teardown(what_is_settled_is_remembered, open_table, close_table),
        cmocka_unit_test_setup_teardown(a_trial_is_due_until_it_is_over, open_table, close_table),
        cmocka_unit_test_setup_teardown(a_trial_without_memory_is_put_off, open_table, close_table),
        cmocka_unit_test_setup_teardown(the_oldest_shape_makes_room, open_table, close_table),
        cmocka_unit_test(what_is_known_decides),
        cmocka_unit_test(auto_and_asked_for_are_one_plan),
        cmocka_unit_test(the_fastest_is_found),
        cmocka_unit_test_setup_teardown(what_is_settled_stays, open_table, close_table),
        cmocka_unit_test_setup_teardown(what_loses_is_left_alone, open_table, close_table),
        cmocka_unit_test_setup_teardown(what_changes_is_noticed, open_table, close_table),
    };
    return cmocka_run_group_tests_name("learn", tests, NULL, NULL);
}
