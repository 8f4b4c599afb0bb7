/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds against the plainest way to find them, byte by byte; shares: that they cover all
 * exactly once, where they are cut, and the jobs they are made of. No device is opened, and
 * no operand is read. Internal: it links the static library.
 */
#include <math.h>

#include "op/overlap.h"
#include "route/partition.h"
#include "support/harness.h"
#include "support/task.h"

enum { MEMORY = 4096 };
static char memory[3][MEMORY]; /* host memory, and what stands for two buffers */

static gx_operand operand(int space, size_t at)
{
    return space ? gx_dev((gx_buf *)(void *)memory[space], at) : gx_host(memory[0] + at);
}

/* ---- conflicts, byte by byte ---- */

static void mark(unsigned char (*touched)[MEMORY], const gx_job *job, const gx_operand *o,
                 unsigned char as)
{
    size_t results = gxt_results(job->op, job->n);
    size_t n = o == &job->out ? results : o->broadcast && job->n ? 1 : job->n;
    size_t bytes = n * gxt_element(job->field);
    int space = !o->buf ? 0 : (char *)o->buf == memory[1] ? 1 : 2;
    size_t at = space ? o->offset : (size_t)((char *)o->host - memory[0]);
    for (size_t i = 0; i < bytes; i++)
        touched[space][at + i] |= as;
}

/* 1: read, 2: written */
static void mark_job(unsigned char (*touched)[MEMORY], const gx_job *job)
{
    uint32_t operands = gx_op_get_info(job->op)->operands;
    mark(touched, job, &job->out, 2);
    mark(touched, job, &job->a, 1);
    if (operands > 1)
        mark(touched, job, &job->b, 1);
    if (operands > 2)
        mark(touched, job, &job->c, 1);
}

/* In the first so many spaces. */
static bool conflict_within(const gx_job *x, const gx_job *y, int spaces)
{
    static unsigned char first[3][MEMORY], second[3][MEMORY];
    memset(first, 0, sizeof first);
    memset(second, 0, sizeof second);
    mark_job(first, x);
    mark_job(second, y);
    for (int space = 0; space < spaces; space++)
        for (size_t i = 0; i < MEMORY; i++)
            if (first[space][i] && second[space][i] && (first[space][i] | second[space][i]) & 2)
                return true;
    return false;
}

static bool naive_conflict(const gx_job *x, const gx_job *y)
{
    return conflict_within(x, y, 3);
}

static gx_operand random_operand(uint64_t *seed, const gx_job *job, size_t step, size_t range)
{
    size_t bytes = gxt_element(job->field), room = range - (job->n ? job->n : 1) * bytes;
    return operand((int)(gxt_next(seed) % 3), gxt_next(seed) % (room / step + 1) * step);
}

/* A job as gx_run would accept it: out is an operand, or apart from all. */
static gx_job random_job(uint64_t *seed, size_t range)
{
    static const gx_op ops[] = {GX_ADD, GX_MUL_ADD, GX_NEG, GX_SUM, GX_DOT};
    gx_job job = {
        .op = ops[gxt_next(seed) % GXT_COUNT(ops)], .field = GX_BN254_FR, .n = gxt_next(seed) % 3};
    if (range == MEMORY && gxt_next(seed) % 8 == 0)
        job.n = 12; /* others lie within it */
    size_t step = gxt_next(seed) % 2 ? 32 : 16;
    uint32_t operands = gx_op_get_info(job.op)->operands;
    gx_operand *inputs[] = {&job.a, &job.b, &job.c};
    unsigned char touched[3][MEMORY];
    bool apart = false;
    for (uint32_t i = 0; i < operands; i++) {
        *inputs[i] = random_operand(seed, &job, step, range);
        inputs[i]->broadcast = gxt_next(seed) % 4 == 0;
    }
    if (gxt_next(seed) % 3 == 0 && !gx_op_get_info(job.op)->reduces) { /* in place */
        job.a.broadcast = 0;
        job.out = job.a;
        for (uint32_t i = 1; i < operands; i++)
            *inputs[i] = job.a;
        return job;
    }
    while (!apart) {
        job.out = random_operand(seed, &job, step, range);
        memset(touched, 0, sizeof touched);
        for (uint32_t i = 0; i < operands; i++)
            mark(touched, &job, inputs[i], 1);
        mark(touched, &job, &job.out, 2);
        apart = true;
        for (size_t i = 0; i < sizeof touched; i++)
            apart &= ((unsigned char *)touched)[i] != 3;
    }
    return job;
}

static void waves_are_what_bytes_say(void **state)
{
    (void)state;
    uint64_t seed = 1, waves_seen = 0, one_seen = 0;
    for (int round = 0; round < (gxt_small() ? 150 : 1000); round++) {
        gx_job jobs[40];
        struct gx_extent room[GX_EXTENTS * GXT_COUNT(jobs)];
        size_t count = 1 + gxt_next(&seed) % (round % 2 ? 4 : GXT_COUNT(jobs));
        size_t range = round % 4 ? MEMORY : 512;
        bool any = false, any_host = false;
        for (size_t i = 0; i < count; i++)
            jobs[i] = random_job(&seed, range);
        const struct gx_task *tasks = gxt_tasks(jobs, count);
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < i; k++) {
                bool conflict = naive_conflict(&jobs[k], &jobs[i]);
                assert_int_equal(gx__jobs_conflict(&tasks[k], &tasks[i]), conflict);
                any |= conflict;
                any_host |= conflict_within(&jobs[k], &jobs[i], 1);
            }
        struct gx_rounds rounds = {tasks, count, gx__jobs_apart(tasks, count, true, room)};
        assert_int_equal(rounds.one, !any);
        assert_int_equal(gx__jobs_apart(tasks, count, false, room), !any_host);
        one_seen += rounds.one && count > 2;
        for (size_t first = 0, n; first < count; first += n, waves_seen++) {
            n = gx__rounds_next(&rounds, first);
            assert_in_range(n, 1, count - first);
            for (size_t i = first; i <= first + n && i < count; i++) {
                bool conflict = false;
                for (size_t k = first; k < i; k++)
                    conflict |= naive_conflict(&jobs[k], &jobs[i]);
                assert_int_equal(conflict, i == first + n); /* none inside, one at the end */
            }
        }
    }
    assert_true(waves_seen > 300 && one_seen > 20);
}

/* Many jobs, each of its own memory or all sharing an operand, in any order. */
static void large_calls_are_one_wave_or_short_ones(void **state)
{
    (void)state;
    enum { JOBS = 3000 };
    static gx_job jobs[JOBS];
    static struct gx_extent room[GX_EXTENTS * JOBS];
    char *base = gxt_alloc((size_t)JOBS * 64);
    for (size_t i = 0; i < JOBS; i++) {
        size_t k = i * 1237 % JOBS; /* a permutation */
        jobs[i] = (gx_job){.op = GX_ADD, .field = GX_BN254_FR, .n = 1, .a = gx_host(base + k * 64)};
        jobs[i].b = gx_host_broadcast(base);
        jobs[i].out = gx_host(base + k * 64 + 32);
    }
    const struct gx_task *tasks = gxt_tasks(jobs, JOBS);
    struct gx_rounds rounds = {tasks, JOBS, gx__jobs_apart(tasks, JOBS, true, room)};
    assert_true(rounds.one);
    assert_int_equal(gx__rounds_next(&rounds, 0), JOBS);
    jobs[JOBS - 1].out = gx_host(base); /* which all others read */
    rounds.jobs = gxt_tasks(jobs, JOBS);
    rounds.one = gx__jobs_apart(rounds.jobs, JOBS, true, room);
    assert_false(rounds.one);
    assert_int_equal(gx__rounds_next(&rounds, 0), GX_ROUND_JOBS);
    assert_int_equal(gx__rounds_next(&rounds, JOBS - 10), 9);
    assert_int_equal(gx__rounds_next(&rounds, JOBS - 1), 1);
    free(base);
}

static void nothing_is_a_round(void **state)
{
    (void)state;
    assert_true(gx__jobs_apart(NULL, 0, true, NULL));
}

/* ---- shares ---- */

static char far[5000 * 48 + 64]; /* only its address counts */

static gx_job line_job(size_t n, bool in_place, uint32_t flags)
{
    gx_job job = gxt_job(GX_ADD, GX_BN254_FR, n, far, far, NULL, in_place ? far : far + 64);
    job.flags = flags;
    return job;
}

/* Covers everything exactly once, in order, cut where it may be. */
static void check_shares(const gx_job *jobs, size_t njobs, const struct gx_share *shares,
                         size_t count)
{
    const struct gx_task *tasks = gxt_tasks(jobs, njobs);
    size_t job = 0;
    uint64_t element = 0;
    for (size_t k = 0; k < count; k++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < shares[k].jobs; i++) {
            struct gx_range r = gx__share_range(tasks, &shares[k], i);
            assert_int_equal(r.job, job);
            assert_int_equal(r.first, element);
            assert_true(r.n <= jobs[job].n - element);
            assert_true(!r.first || r.n); /* what is cut is not empty */
            sum += r.n;
            element += r.n;
            if (element == jobs[job].n) {
                job++;
                element = 0;
                continue;
            }
            assert_int_equal(i + 1, shares[k].jobs);
            bool large = jobs[job].n >= 200000;
            assert_int_equal(element % (large ? GX_CUT_ELEMS : GX_CUT_MIN_ELEMS), 0);
            assert_false(gx__job_is_whole(&tasks[job]));
        }
        assert_int_equal(sum, shares[k].elements);
    }
    assert_int_equal(job, njobs);
    assert_int_equal(element, 0);
}

static void what_is_replaced_and_looked_at_is_whole(void **state)
{
    (void)state;
    gx_job job = line_job(10, true, 0);
    assert_true(gx__job_is_whole(gxt_task(&job)));
    job.flags = GX_JOB_UNCHECKED;
    assert_false(gx__job_is_whole(gxt_task(&job)));
    job = line_job(10, false, 0);
    assert_false(gx__job_is_whole(gxt_task(&job)));
    job = line_job(10, true, 0);
    job.field = GX_F32; /* of which no element is bad */
    assert_false(gx__job_is_whole(gxt_task(&job)));
}

static void shares_cover_everything_once(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int round = 0; round < 20000; round++) {
        gx_job jobs[12];
        double fractions[GX_CANDIDATES_MAX], sum = 0;
        struct gx_share shares[GX_CANDIDATES_MAX];
        size_t njobs = 1 + gxt_next(&seed) % GXT_COUNT(jobs);
        size_t count = 1 + gxt_next(&seed) % GX_CANDIDATES_MAX;
        uint64_t all = 0, slack = 0, end = 0;
        for (size_t i = 0; i < njobs; i++) {
            size_t n = gxt_next(&seed) % ((size_t)1 << gxt_next(&seed) % 20);
            jobs[i] = line_job(n, gxt_next(&seed) % 3 == 0, gxt_next(&seed) % 2);
            all += n;
            uint64_t off =
                gx__job_is_whole(gxt_task(&jobs[i])) ? n / 2 : n / 200 + GX_CUT_MIN_ELEMS / 2;
            slack = off > slack ? off : slack;
        }
        for (size_t k = 0; k < count; k++)
            sum += fractions[k] = gxt_next(&seed) % 4 ? (double)(gxt_next(&seed) % 1000) : 0;
        for (size_t k = 0; k < count; k++)
            fractions[k] = sum > 0 ? fractions[k] / sum : 1.0 / (double)count;
        memset(shares, 0x5c, sizeof shares);
        gx__round_cut(gxt_tasks(jobs, njobs), njobs, fractions, count, shares);
        check_shares(jobs, njobs, shares, count);
        /* each cut is as near as it may be */
        double wanted = 0;
        for (size_t k = 0; k < count; k++) {
            wanted += fractions[k] * (double)all;
            end += shares[k].elements;
            assert_true(fabs((double)end - wanted) <= (double)slack + 2);
        }
    }
}

static gx_job transforms(const gx_ntt_params *params, size_t count, bool in_place)
{
    gx_job job = line_job(count << params->log2_n, in_place, 0);
    job.op = GX_NTT;
    job.b = (gx_operand){0};
    job.params = params;
    return job;
}

/* Several are cut between two of them. */
static void transforms_are_whole(void **state)
{
    (void)state;
    uint64_t seed = 5;
    struct gx_share shares[3];
    for (uint32_t log2_n = 0; log2_n <= 14; log2_n++) {
        const gx_ntt_params rows = {.struct_size = sizeof rows, .log2_n = log2_n},
                            columns = {.struct_size = sizeof columns,
                                       .log2_n = log2_n,
                                       .flags = GX_NTT_COLUMNS};
        gx_job one = transforms(&rows, 1, false), table = transforms(&columns, 10, false);
        gx_job replaced = transforms(&rows, 10, true);
        assert_true(gx__job_is_whole(gxt_task(&one)));
        assert_false(gx__job_is_whole(gxt_task(&table)));
        assert_true(gx__job_is_whole(gxt_task(&replaced)));
        replaced.flags = GX_JOB_UNCHECKED;
        assert_false(gx__job_is_whole(gxt_task(&replaced)));
        for (int round = 0; round < 100; round++) {
            size_t count = 1 + gxt_next(&seed) % 1000;
            double first = (double)(gxt_next(&seed) % 101) / 100, second = (1 - first) / 3;
            const double fractions[] = {first, second, 1 - first - second};
            gx_job job = transforms(round % 2 ? &columns : &rows, count, false);
            gx__round_cut(gxt_task(&job), 1, fractions, 3, shares);
            uint64_t sum = 0, step = (uint64_t)1 << log2_n;
            for (int k = 0; k < 3; k++) {
                assert_int_equal(shares[k].elements % step, 0);
                sum += shares[k].elements;
            }
            assert_int_equal(sum, job.n);
            step = step > GX_CUT_MIN_ELEMS ? step : GX_CUT_MIN_ELEMS;
            double off = (double)shares[0].elements - first * (double)job.n;
            assert_true(fabs(off) <= (double)step / 2 + (double)job.n / 200 + 2);
        }
    }
}

/* A product in every other level: 2^16 takes eight, and a move. */
static void larger_transforms_are_more_work(void **state)
{
    (void)state;
    const gx_ntt_params large = {.struct_size = sizeof large, .log2_n = 16};
    gx_job jobs[] = {line_job(1 << 20, false, 0), transforms(&large, 16, false)};
    jobs[0].op = GX_MUL; /* one product and a move: 2 of 11 */
    struct gx_share shares[2];
    const double parts[] = {2.0 / 11, 9.0 / 11};
    gx__round_cut(gxt_tasks(jobs, 2), 2, parts, 2, shares);
    assert_int_equal(shares[0].elements, 1 << 20);
}

static void work_counts_and_not_elements(void **state)
{
    (void)state;
    gx_job jobs[] = {line_job(100000, false, 0), line_job(100000, false, 0)};
    struct gx_share shares[2];
    const double halves[] = {0.5, 0.5};
    gx__round_cut(gxt_tasks(jobs, 2), 2, halves, 2, shares);
    assert_int_equal(shares[0].elements, 100000);
    jobs[0].op = GX_INV; /* which takes five times as long, they say */
    jobs[0].b = (gx_operand){0};
    gx__round_cut(gxt_tasks(jobs, 2), 2, halves, 2, shares);
    check_shares(jobs, 2, shares, 2);
    assert_true(shares[0].elements > 50000 && shares[0].elements < 70000);
}

/* ---- the jobs of a share ---- */

static void sub_jobs_are_the_same_elements(void **state)
{
    (void)state;
    gx_job job = {.op = GX_MUL_ADD, .field = GX_BLS12_381_FQ, .n = 5000, .flags = GX_JOB_UNCHECKED};
    job.a = operand(1, 160);
    job.b = gx_host_broadcast(far);
    job.c = gx_host(far);
    job.out = operand(2, 0);
    struct gx_task sub;
    gx__task_part(gxt_task(&job), 2048, 100, &sub);
    assert_true(sub.a.buf == job.a.buf && sub.a.offset == 160 + 2048 * 48 && !sub.a.host);
    assert_true(sub.b.host == far && sub.broadcast == 1u << GX_B);
    assert_true(sub.c.host == far + 2048 * 48 && !sub.c.buf && !sub.c.offset);
    assert_true(sub.out.buf == job.out.buf && sub.out.offset == 2048 * 48);
    assert_true(sub.n == 100 && sub.trusted && sub.op == GX_MUL_ADD);
    gx_job neg = gxt_job(GX_NEG, GX_U32, 5000, far, NULL, NULL, far);
    gx__task_part(gxt_task(&neg), 1024, 1, &sub);
    assert_true(!sub.b.host && !sub.c.host && sub.a.host == far + 4096);
}

/* Of padded transforms, a has fewer elements than out. */
static void sub_jobs_of_padded_transforms(void **state)
{
    (void)state;
    const gx_ntt_params padded = {.struct_size = sizeof padded, .log2_n = 6, .log2_pad = 2};
    gx_job job = transforms(&padded, 8, false);
    job.out = operand(1, 64);
    struct gx_task sub;
    gx__task_part(gxt_task(&job), 128, 64, &sub);
    assert_true(sub.n == 64 && sub.ntt.log2_n == 6 && sub.ntt.log2_pad == 2);
    assert_true(sub.a.host == far + 128 / 4 * 32 && sub.out.offset == 64 + 128 * 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waves_are_what_bytes_say),
        cmocka_unit_test(large_calls_are_one_wave_or_short_ones),
        cmocka_unit_test(nothing_is_a_round),
        cmocka_unit_test(what_is_replaced_and_looked_at_is_whole),
        cmocka_unit_test(shares_cover_everything_once),
        cmocka_unit_test(transforms_are_whole),
        cmocka_unit_test(larger_transforms_are_more_work),
        cmocka_unit_test(work_counts_and_not_elements),
        cmocka_unit_test(sub_jobs_are_the_same_elements),
        cmocka_unit_test(sub_jobs_of_padded_transforms),
    };
    return cmocka_run_group_tests_name("rounds", tests, NULL, NULL);
}
