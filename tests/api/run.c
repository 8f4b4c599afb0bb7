/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything gx_run promises besides correct results: what it rejects and with which message, that
 * a call with an invalid job runs nothing, overlap rules, elements not below the modulus, reports,
 * statistics.
 */
#include <stdio.h>

#include "api/counters.h"
#include "support/harness.h"
#include "support/oracle.h"

#define GUARD 0x5c

enum { N = 16, ROOM = N * 48 };

/* Three operands and an output, valid for any field, and copies of them. */
struct data {
    unsigned char a[ROOM], b[ROOM], c[ROOM], out[ROOM];
};

static gx_ctx *ctx;
static uint64_t seed = 1;

static int open_context(void **state)
{
    (void)state;
    gxt_clear_environment();
    ctx = gxt_open(NULL);
    return 0;
}

static int close_context(void **state)
{
    (void)state;
    gx_close(&ctx);
    return 0;
}

static void fill(struct data *d, gx_field field)
{
    gxt_fill(&seed, field, d->a, N);
    gxt_fill(&seed, field, d->b, N);
    gxt_fill(&seed, field, d->c, N);
    memset(d->out, GUARD, sizeof d->out);
}

static gx_job job_over(struct data *d, gx_op op, gx_field field, size_t n)
{
    return gxt_job(op, field, n, d->a, d->b, d->c, d->out);
}

static void expect(const gx_job *job, gx_status status, const char *named)
{
    gx_report r;
    gxt_spoil(&r, 1, GUARD);
    assert_int_equal(gx_run(ctx, job, 1, NULL, &r), status);
    assert_int_equal(r.status, status);
    assert_non_null(memchr(r.message, 0, sizeof r.message));
    assert_non_null(memchr(r.device, 0, sizeof r.device));
    if (status == GX_OK) {
        assert_string_equal(r.message, "");
        return;
    }
    assert_int_equal(r.reason, GX_REASON_NONE);
    assert_string_not_equal(r.message, "");
    if (named && !strstr(r.message, named)) {
        print_error("\"%s\" does not name \"%s\"\n", r.message, named);
        fail();
    }
    assert_int_equal(gx_run(ctx, job, 1, NULL, NULL), status);
}

/* ---- what is refused ---- */

static void unknown_operations_and_fields(void **state)
{
    (void)state;
    struct data d, before;
    fill(&d, GX_BN254_FR);
    before = d;
    const int none[] = {0, -1, GX_OP_END, 64, 1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < GXT_COUNT(none); i++) {
        gx_job job = job_over(&d, GX_ADD, GX_BN254_FR, 4);
        job.op = (gx_op)none[i];
        expect(&job, GX_ERR_INVALID, "op");
        job = job_over(&d, GX_ADD, GX_BN254_FR, 4);
        job.field = (gx_field)none[i];
        expect(&job, GX_ERR_INVALID, "field");
    }
    assert_memory_equal(&d, &before, sizeof d);
}

static void operations_that_do_not_exist(void **state)
{
    (void)state;
    struct data d, before;
    fill(&d, GX_U32);
    before = d;
    for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++) {
        for (int f = GX_U32; f <= GX_F32; f++) {
            gx_job job = job_over(&d, gxt_ops[o], (gx_field)f, 4);
            if (gx_op_exists(gxt_ops[o], (gx_field)f))
                continue;
            expect(&job, GX_ERR_UNSUPPORTED, gx_op_get_info(gxt_ops[o])->name);
            expect(&job, GX_ERR_UNSUPPORTED, gx_field_get_info((gx_field)f)->name);
        }
    }
    assert_memory_equal(&d, &before, sizeof d);
}

static gx_operand *operand(gx_job *job, int which)
{
    gx_operand *all[] = {&job->a, &job->b, &job->c, &job->out};
    return all[which];
}

static const char *const operand_names[] = {"a", "b", "c", "out"};

/* The name as a separate word, so that "a" is not found in "operand". */
static int names(const char *message, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = message; (at = strstr(at, name)) != NULL; at++) {
        int before = at == message || !strchr("abcdefghijklmnopqrstuvwxyz", at[-1]);
        int after = !at[length] || !strchr("abcdefghijklmnopqrstuvwxyz", at[length]);
        if (before && after)
            return 1;
    }
    return 0;
}

static void expect_names(const gx_job *job, gx_status status, const char *name)
{
    gx_report r = {.struct_size = sizeof r};
    assert_int_equal(gx_run(ctx, job, 1, NULL, &r), status);
    assert_int_equal(r.status, status);
    if (!names(r.message, name)) {
        print_error("\"%s\" does not name operand \"%s\"\n", r.message, name);
        fail();
    }
}

static void missing_and_superfluous_operands(void **state)
{
    (void)state;
    struct data d, before;
    fill(&d, GX_BLS12_381_FR);
    before = d;
    for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++) {
        int operands = (int)gx_op_get_info(gxt_ops[o])->operands;
        for (int w = 0; w < 4; w++) {
            gx_job job = job_over(&d, gxt_ops[o], GX_BLS12_381_FR, 4);
            operand(&job, w)->host = w < operands || w == 3 ? NULL : d.c;
            expect_names(&job, GX_ERR_INVALID, operand_names[w]);
            if (w >= operands && w < 3) { /* {0} also means: no broadcast */
                job = job_over(&d, gxt_ops[o], GX_BLS12_381_FR, 4);
                operand(&job, w)->broadcast = 1;
                expect_names(&job, GX_ERR_INVALID, operand_names[w]);
            }
        }
    }
    gx_job job = job_over(&d, GX_ADD, GX_BLS12_381_FR, 4);
    job.out.broadcast = 1;
    expect_names(&job, GX_ERR_INVALID, "out");
    assert_memory_equal(&d, &before, sizeof d);
}

static void missing_broadcast_elements(void **state)
{
    (void)state;
    struct data d;
    fill(&d, GX_BLS12_381_FR);
    for (int w = 0; w < 3; w++) {
        gx_job job = job_over(&d, GX_MUL_ADD, GX_BLS12_381_FR, 4);
        *operand(&job, w) = gx_host_broadcast(NULL);
        expect_names(&job, GX_ERR_INVALID, operand_names[w]);
    }
}

static void offsets_are_for_buffers(void **state)
{
    (void)state;
    struct data d, before;
    fill(&d, GX_BLS12_381_FR);
    before = d;
    for (int w = 0; w < 4; w++) {
        gx_job job = job_over(&d, GX_MUL_ADD, GX_BLS12_381_FR, 4);
        operand(&job, w)->offset = 16;
        expect_names(&job, GX_ERR_INVALID, operand_names[w]);
    }
    assert_memory_equal(&d, &before, sizeof d);
}

static void unknown_flags_and_params(void **state)
{
    (void)state;
    struct data d;
    fill(&d, GX_U32);
    gx_job job = job_over(&d, GX_ADD, GX_U32, 4);
    for (unsigned bit = 1; bit < 32; bit++) {
        job.flags = 1u << bit;
        expect(&job, GX_ERR_INVALID, "flags");
        job.flags |= GX_JOB_UNCHECKED;
        expect(&job, GX_ERR_INVALID, "flags");
    }
    job.flags = 0;
    job.params = &d;
    expect(&job, GX_ERR_INVALID, "params");
}

/* Large but countable sizes reach from one operand into the next. */
static void expect_too_large(const gx_job *job)
{
    gx_report r = {.struct_size = sizeof r};
    gx_status status = gx_run(ctx, job, 1, NULL, &r);
    if (job->n <= SIZE_MAX / 2 / gxt_element(job->field))
        assert_true(status == GX_ERR_INVALID || status == GX_ERR_OVERLAP);
    else
        assert_int_equal(status, GX_ERR_INVALID);
    assert_int_equal(r.status, status);
    assert_true(r.message[0]);
}

static void sizes_beyond_memory(void **state)
{
    (void)state;
    struct data d, before;
    fill(&d, GX_BLS12_381_FQ);
    before = d;
    const size_t huge[] = {SIZE_MAX,
                           SIZE_MAX - 1,
                           SIZE_MAX / 2,
                           SIZE_MAX / 48,
                           SIZE_MAX / 48 + 1,
                           SIZE_MAX / 48 + 2,
                           SIZE_MAX / 32 + 1,
                           SIZE_MAX / 4,
                           SIZE_MAX / 4 + 2,
                           (size_t)1 << 62,
                           (size_t)1 << 60,
                           ((size_t)1 << 63) + 1,
                           ((size_t)1 << 60) + 1};
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        for (size_t i = 0; i < GXT_COUNT(huge); i++) {
            gx_job job = job_over(&d, GX_ADD, gxt_fields[f], huge[i]);
            expect_too_large(&job);
            job.a = gx_host_broadcast(d.a);
            job.flags = GX_JOB_UNCHECKED;
            expect_too_large(&job);
        }
    }
    assert_memory_equal(&d, &before, sizeof d);
}

static void null_arguments(void **state)
{
    (void)state;
    struct data d;
    fill(&d, GX_U32);
    gx_job job = job_over(&d, GX_ADD, GX_U32, 4);
    assert_int_equal(gx_run(ctx, NULL, 1, NULL, NULL), GX_ERR_INVALID);
    assert_int_equal(gx_run(NULL, &job, 1, NULL, NULL), GX_ERR_INVALID);
    assert_int_equal(gx_run(ctx, NULL, 0, NULL, NULL), GX_OK);
    assert_int_equal(gx_run(ctx, &job, 0, NULL, NULL), GX_OK);
    assert_int_equal(d.out[0], GUARD);
    assert_int_equal(gx_run(ctx, &job, 1, NULL, NULL), GX_OK);
    assert_int_not_equal(memcmp(d.out, d.a, 16), 0);
}

static void options_of_another_size(void **state)
{
    (void)state;
    struct data d;
    fill(&d, GX_U32);
    gx_job job = job_over(&d, GX_ADD, GX_U32, 4);
    const size_t wrong[] = {1, 8, sizeof(gx_run_params) - 1, 65537, SIZE_MAX};
    for (size_t i = 0; i < GXT_COUNT(wrong); i++) {
        gx_run_params opts = {.struct_size = wrong[i]};
        gx_report r = {.struct_size = sizeof r};
        assert_int_equal(gx_run(ctx, &job, 1, &opts, NULL), GX_ERR_INVALID);
        assert_int_equal(gx_run(ctx, &job, 1, &opts, &r), GX_ERR_INVALID);
        assert_int_equal(r.status, GX_ERR_INVALID);
        assert_non_null(strstr(r.message, "struct_size"));
    }
    assert_int_equal(d.out[0], GUARD);
    gx_run_params opts = {.struct_size = sizeof opts};
    assert_int_equal(gx_run(ctx, &job, 1, &opts, NULL), GX_OK);
}

static void unknown_devices(void **state)
{
    (void)state;
    struct data d;
    fill(&d, GX_U32);
    char longest[300];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    const char *unknown[] = {"nope", "", "CPU", "cpu ", "cpu:0", "re", "reff", longest};
    for (size_t i = 0; i < GXT_COUNT(unknown); i++) {
        gx_job jobs[2] = {job_over(&d, GX_ADD, GX_U32, 4), job_over(&d, GX_ADD, GX_U32, 4)};
        gx_run_params opts = {.device = unknown[i]};
        gx_report r[2] = {{.struct_size = sizeof *r}};
        assert_int_equal(gx_run(ctx, jobs, 2, &opts, r), GX_ERR_NO_DEVICE);
        assert_int_equal(r[0].status, GX_ERR_NO_DEVICE);
        assert_int_equal(r[1].status, GX_ERR_NOT_RUN);
        assert_int_equal(r[0].reason, GX_REASON_NONE);
        assert_true(r[0].message[0]);
        assert_non_null(memchr(r[0].message, 0, sizeof r[0].message));
        if (strlen(unknown[i]) < 20)
            assert_non_null(strstr(r[0].message, unknown[i]));
        assert_int_equal(gx_run(ctx, jobs, 2, &opts, NULL), GX_ERR_NO_DEVICE);
    }
    assert_int_equal(d.out[0], GUARD);
}

/* ---- several jobs in a call ---- */

static void a_bad_job_stops_all_before_any_runs(void **state)
{
    (void)state;
    enum { JOBS = 5 };
    for (size_t bad = 0; bad < JOBS; bad++) {
        struct data d[JOBS], before[JOBS];
        gx_job jobs[JOBS];
        gx_report r[JOBS];
        for (size_t i = 0; i < JOBS; i++) {
            fill(&d[i], GX_BN254_FQ);
            jobs[i] = job_over(&d[i], GX_MUL, GX_BN254_FQ, N);
        }
        jobs[bad].b.host = NULL;
        if (bad + 1 < JOBS) /* the first one is reported */
            jobs[JOBS - 1].op = (gx_op)0;
        memcpy(before, d, sizeof d);
        gxt_spoil(r, JOBS, GUARD);
        assert_int_equal(gx_run(ctx, jobs, JOBS, NULL, r), GX_ERR_INVALID);
        for (size_t i = 0; i < JOBS; i++) {
            assert_int_equal(r[i].status, i == bad ? GX_ERR_INVALID : GX_ERR_NOT_RUN);
            assert_int_equal(r[i].reason, GX_REASON_NONE);
            assert_int_equal(r[i].dispatches, 0);
        }
        assert_true(names(r[bad].message, "b"));
        assert_memory_equal(d, before, sizeof d);
    }
}

static void the_first_failure_stops_the_rest(void **state)
{
    (void)state;
    enum { JOBS = 5 };
    for (size_t bad = 0; bad < JOBS; bad++) {
        struct data d[JOBS];
        gx_job jobs[JOBS];
        gx_report r[JOBS] = {{.struct_size = sizeof *r}};
        for (size_t i = 0; i < JOBS; i++) {
            fill(&d[i], GX_BN254_FQ);
            jobs[i] = job_over(&d[i], GX_MUL, GX_BN254_FQ, N);
        }
        gxt_put_modulus(GX_BN254_FQ, d[bad].b + (size_t)3 * 32);
        assert_int_equal(gx_run(ctx, jobs, JOBS, NULL, r), GX_ERR_NOT_CANONICAL);
        for (size_t i = 0; i < JOBS; i++) {
            unsigned char want[N * 32];
            memset(want, GUARD, sizeof want);
            if (i < bad)
                oracle_run(GX_MUL, GX_BN254_FQ, N, want, d[i].a, d[i].b, NULL, 0);
            if (i != bad)
                assert_memory_equal(d[i].out, want, sizeof want);
            assert_int_equal(r[i].status, i < bad    ? GX_OK
                                          : i == bad ? GX_ERR_NOT_CANONICAL
                                                     : GX_ERR_NOT_RUN);
            if (i <= bad)
                assert_int_equal(r[i].message[0] != 0, i == bad);
        }
        assert_int_equal(r[bad].bad_index, 3);
        assert_int_equal(r[bad].bad_operand, 'b');
    }
}

static void jobs_may_be_chained(void **state)
{
    (void)state;
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        if (!gx_field_get_info(gxt_fields[f])->limbs)
            continue; /* every u32 and f32 is canonical */
        gx_field field = gxt_fields[f];
        struct data d;
        unsigned char x[ROOM], y[ROOM], want[ROOM];
        size_t bytes = N * gxt_element(field);
        fill(&d, field);
        /* x = a * b; y = x + c; x = y / x; out = x * x (in place before the last) */
        const gx_job jobs[] = {gxt_job(GX_MUL, field, N, d.a, d.b, NULL, x),
                               gxt_job(GX_ADD, field, N, x, d.c, NULL, y),
                               gxt_job(GX_DIV, field, N, y, x, NULL, x),
                               gxt_job(GX_SQR, field, N, x, NULL, NULL, d.out)};
        gx_report r[GXT_COUNT(jobs)];
        gxt_reports(r, GXT_COUNT(r));
        assert_int_equal(gx_run(ctx, jobs, GXT_COUNT(jobs), NULL, r), GX_OK);
        for (size_t i = 0; i < GXT_COUNT(jobs); i++)
            assert_int_equal(r[i].status, GX_OK);
        unsigned char wx[ROOM], wy[ROOM];
        oracle_run(GX_MUL, field, N, wx, d.a, d.b, NULL, 0);
        oracle_run(GX_ADD, field, N, wy, wx, d.c, NULL, 0);
        oracle_run(GX_DIV, field, N, wx, wy, wx, NULL, 0);
        oracle_run(GX_SQR, field, N, want, wx, NULL, NULL, 0);
        assert_memory_equal(x, wx, bytes);
        assert_memory_equal(y, wy, bytes);
        assert_memory_equal(d.out, want, bytes);
    }
}

static void many_jobs_in_one_call(void **state)
{
    (void)state;
    enum { JOBS = 300 };
    static uint32_t x[JOBS + 1];
    gx_job *jobs = gxt_alloc(JOBS * sizeof *jobs);
    gx_report *r = gxt_alloc(JOBS * sizeof *r);
    gxt_reports(r, JOBS);
    x[0] = 7;
    for (size_t i = 0; i < JOBS; i++) /* x[i + 1] = x[i] + x[i] + ... by chaining */
        jobs[i] = gxt_job(GX_ADD, GX_U32, 1, &x[i], &x[0], NULL, &x[i + 1]);
    assert_int_equal(gx_run(ctx, jobs, JOBS, NULL, r), GX_OK);
    for (size_t i = 0; i < JOBS; i++) {
        assert_int_equal(x[i + 1], 7 * (i + 2));
        assert_int_equal(r[i].status, GX_OK);
    }
    free(jobs);
    free(r);
}

/* ---- overlap ---- */

static int overlap(size_t a, size_t a_bytes, size_t b, size_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/* The header's rules about out and one operand. */
static int may_lie_so(size_t out, size_t in, size_t n, size_t element, int broadcast)
{
    size_t in_bytes = broadcast ? element : n * element;
    if (out == in && (!broadcast || n == 1))
        return 1;
    return !overlap(out, n * element, in, in_bytes);
}

static void try_overlap(gx_op op, gx_field field, size_t n, int which, int broadcast)
{
    size_t element = gxt_element(field), bytes = n * element, middle = bytes + 8;
    size_t room = 3 * bytes + 16;
    unsigned char *arena = gxt_alloc(room), *before = gxt_alloc(room), *want = gxt_alloc(bytes);
    struct data d;
    for (size_t at = 0; at + bytes <= room; at++) {
        fill(&d, field);
        memset(arena, 0, room); /* every element below every modulus */
        gxt_fill(&seed, field, arena + middle, n);
        gx_job job = job_over(&d, op, field, n);
        *operand(&job, which) = gx_host(arena + at);
        operand(&job, which)->broadcast = broadcast;
        job.out = gx_host(arena + middle);
        job.flags = GX_JOB_UNCHECKED;
        memcpy(before, arena, room);
        const unsigned char *in[3] = {d.a, d.b, d.c};
        in[which] = before + at;
        int fine = may_lie_so(middle, at, n, element, broadcast);
        gx_report r = {.struct_size = sizeof r};
        assert_int_equal(gx_run(ctx, &job, 1, NULL, &r), fine ? GX_OK : GX_ERR_OVERLAP);
        if (!fine) {
            assert_true(names(r.message, operand_names[which]));
        } else {
            oracle_run(op, field, n, want, in[0], in[1], in[2], broadcast ? 1u << which : 0);
            memcpy(before + middle, want, bytes);
        }
        assert_memory_equal(arena, before, room);
    }
    free(arena);
    free(before);
    free(want);
}

static void overlap_of_the_output(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 5};
    for (size_t s = 0; s < GXT_COUNT(sizes); s++) {
        for (int broadcast = 0; broadcast < 2; broadcast++) {
            for (int which = 0; which < 3; which++)
                try_overlap(GX_MUL_ADD, GX_BN254_FR, sizes[s], which, broadcast);
            for (int which = 0; which < 2; which++) {
                try_overlap(GX_ADD, GX_U32, sizes[s], which, broadcast);
                try_overlap(GX_DIV, GX_BN254_FQ, sizes[s], which, broadcast);
            }
            try_overlap(GX_INV, GX_BLS12_381_FR, sizes[s], 0, broadcast);
        }
    }
}

static void inputs_may_overlap_each_other(void **state)
{
    (void)state;
    enum { SPAN = 5 };
    uint32_t in[3 * SPAN], out[SPAN], want[SPAN];
    unsigned char *bytes = (unsigned char *)in;
    gxt_bytes(&seed, in, sizeof in);
    for (size_t a = 0; a <= sizeof in - sizeof out; a += 3) {
        for (size_t b = 0; b <= sizeof in - sizeof out; b++) {
            gx_job job = gxt_job(GX_SUB, GX_U32, SPAN, bytes + a, bytes + b, NULL, out);
            expect(&job, GX_OK, NULL);
            oracle_run(GX_SUB, GX_U32, SPAN, want, bytes + a, bytes + b, NULL, 0);
            assert_memory_equal(out, want, sizeof out);
        }
    }
}

static void all_operands_may_be_the_output(void **state)
{
    (void)state;
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++) {
            gx_field field = gxt_fields[f];
            if (!gxt_elementwise(gxt_ops[o], field))
                continue;
            unsigned char x[ROOM], want[ROOM];
            size_t bytes = N * gxt_element(field);
            gxt_fill(&seed, field, x, N);
            oracle_run(gxt_ops[o], field, N, want, x, x, x, 0);
            gx_job job = gxt_job(gxt_ops[o], field, N, x, x, x, x);
            expect(&job, GX_OK, NULL);
            assert_memory_equal(x, want, bytes);
        }
    }
}

static void nothing_overlaps_where_n_is_zero(void **state)
{
    (void)state;
    struct data d, before;
    fill(&d, GX_U32);
    before = d;
    for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++) {
        if (gx_op_get_info(gxt_ops[o])->reduces)
            continue; /* they have a result: conformance/reductions.c */
        gx_job job = gxt_job(gxt_ops[o], GX_BN254_FQ, 0, d.a, d.a + 1, d.a + 2, d.a + 3);
        expect(&job, GX_OK, NULL);
        job = gxt_job(gxt_ops[o], GX_BN254_FQ, 0, NULL, NULL, NULL, NULL);
        expect(&job, GX_OK, NULL);
    }
    assert_memory_equal(&d, &before, sizeof d);
}

/* ---- elements not below the modulus ---- */

struct bad_case {
    gx_op op;
    gx_field field;
    const char *device;
    size_t n;
};

static void expect_bad(gx_ctx *on, const gx_job *job, const char *device, size_t index, char which)
{
    gx_report r;
    gxt_spoil(&r, 1, GUARD);
    assert_int_equal(gxt_run(on, job, device, &r), GX_ERR_NOT_CANONICAL);
    assert_int_equal(r.status, GX_ERR_NOT_CANONICAL);
    assert_int_equal(r.bad_index, index);
    assert_int_equal(r.bad_operand, which);
    assert_true(names(r.message, (char[]){which, 0}));
    char number[24];
    snprintf(number, sizeof number, "%zu", index);
    assert_non_null(strstr(r.message, number));
}

/* Operands of one job in newly allocated memory; `in` points to the first of the three. */
static unsigned char *three_operands(gx_field field, size_t n)
{
    unsigned char *in = gxt_alloc(3 * n * gxt_element(field));
    gxt_fill(&seed, field, in, 3 * n);
    return in;
}

/* A bad element at `index` of operand `which`, and a later one in every operand. */
static void try_bad(gx_ctx *on, struct bad_case c, size_t which, size_t index, size_t spoil)
{
    size_t element = gxt_element(c.field), bytes = c.n * element;
    unsigned char *in = three_operands(c.field, c.n), *out = gxt_alloc(bytes);
    unsigned char *before = gxt_alloc(3 * bytes);
    size_t operands = gx_op_get_info(c.op)->operands;
    oracle_bad(c.field, spoil, in + which * bytes + index * element);
    for (size_t later = index + 1; later < c.n; later += 1 + c.n / 3)
        for (size_t w = 0; w < operands; w++)
            oracle_bad(c.field, spoil + w, in + w * bytes + later * element);
    memcpy(before, in, 3 * bytes);
    gx_job job = gxt_job(c.op, c.field, c.n, in, in + bytes, in + 2 * bytes, out);
    expect_bad(on, &job, c.device, index, (char)('a' + which));
    for (size_t w = 0; w < operands && !gx_op_get_info(c.op)->reduces; w++) { /* in place on each */
        job.out = gx_host(in + w * bytes);
        expect_bad(on, &job, c.device, index, (char)('a' + which));
        assert_memory_equal(in, before, 3 * bytes);
    }
    job.out = gx_host(out);
    job.flags = GX_JOB_UNCHECKED;
    assert_int_equal(gxt_run(on, &job, c.device, NULL), GX_OK);
    assert_memory_equal(in, before, 3 * bytes);
    free(in);
    free(out);
    free(before);
}

static void try_every_operand(gx_ctx *on, struct bad_case c)
{
    size_t positions[] = {0, c.n / 2, c.n - 1};
    for (size_t w = 0; w < gx_op_get_info(c.op)->operands; w++)
        for (size_t p = 0; p < GXT_COUNT(positions); p++)
            try_bad(on, c, w, positions[p], 3 * w + p);
}

static void first_bad_element(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 9, 64, 131};
    gx_config config = {.dispatch_elems = 50};
    gx_ctx *pieces = gxt_open(&config);
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        if (!gx_field_get_info(gxt_fields[f])->limbs)
            continue; /* every u32 and f32 is canonical */
        for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++) {
            for (size_t s = 0; s < GXT_COUNT(sizes); s++) {
                struct bad_case c = {gxt_ops[o], gxt_fields[f], "cpu", sizes[s]};
                try_every_operand(ctx, c);
                try_every_operand(pieces, c);
            }
            try_every_operand(ctx, (struct bad_case){gxt_ops[o], gxt_fields[f], "ref", 9});
        }
    }
    gx_close(&pieces);
}

static void first_bad_element_of_many(void **state)
{
    (void)state;
    size_t n = gxt_small() ? 20000 : 100000; /* several host threads */
    const gx_op ops[] = {GX_ADD, GX_MUL_ADD, GX_DIV};
    for (size_t o = 0; o < GXT_COUNT(ops); o++)
        for (size_t f = 0; f < 2; f++)
            try_every_operand(ctx, (struct bad_case){ops[o], gxt_fields[f], "cpu", n});
}

/* At the same index, a is checked before b and b before c. */
static void the_first_operand_is_told(void **state)
{
    (void)state;
    struct data d;
    for (unsigned set = 1; set < 8; set++) {
        fill(&d, GX_BLS12_381_FQ);
        unsigned char *in[3] = {d.a, d.b, d.c};
        for (int w = 0; w < 3; w++)
            if (set >> w & 1)
                gxt_put_modulus(GX_BLS12_381_FQ, in[w] + (size_t)5 * 48);
        gx_job job = job_over(&d, GX_MUL_ADD, GX_BLS12_381_FQ, N);
        expect_bad(ctx, &job, "cpu", 5, (char)('a' + __builtin_ctz(set)));
        expect_bad(ctx, &job, "ref", 5, (char)('a' + __builtin_ctz(set)));
    }
}

static void every_bad_value_is_found(void **state)
{
    (void)state;
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        if (!gx_field_get_info(gxt_fields[f])->limbs)
            continue; /* every u32 and f32 is canonical */
        for (size_t v = 0; v < oracle_bads(gxt_fields[f]); v++) {
            struct data d;
            fill(&d, gxt_fields[f]);
            oracle_bad(gxt_fields[f], v, d.a + 7 * gxt_element(gxt_fields[f]));
            for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++) {
                gx_job job = job_over(&d, gxt_ops[o], gxt_fields[f], N);
                expect_bad(ctx, &job, NULL, 7, 'a');
            }
        }
    }
}

static void bad_broadcast_elements(void **state)
{
    (void)state;
    for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++) {
        for (unsigned w = 0; w < gx_op_get_info(gxt_ops[o])->operands; w++) {
            struct data d;
            fill(&d, GX_BN254_FR);
            gx_job job = job_over(&d, gxt_ops[o], GX_BN254_FR, N);
            operand(&job, (int)w)->broadcast = 1;
            gxt_put_modulus(GX_BN254_FR, operand(&job, (int)w)->host);
            expect_bad(ctx, &job, "cpu", 0, (char)('a' + w));
            expect_bad(ctx, &job, "ref", 0, (char)('a' + w));
            /* only the one element is checked */
            fill(&d, GX_BN254_FR);
            gxt_put_modulus(GX_BN254_FR, (char *)operand(&job, (int)w)->host + 32);
            expect(&job, GX_OK, NULL);
        }
    }
}

/* ---- reports ---- */

static void report_of_a_success(void **state)
{
    (void)state;
    struct data d;
    fill(&d, GX_U32);
    gx_job job = job_over(&d, GX_ADD, GX_U32, N);
    gx_report r;
    gxt_spoil(&r, 1, GUARD);
    assert_int_equal(gx_run(ctx, &job, 1, NULL, &r), GX_OK);
    assert_int_equal(r.status, GX_OK);
    assert_true(r.reason == GX_REASON_SMALL ||
                r.reason == GX_REASON_ONLY); /* no GPU was looked for */
    assert_string_equal(r.device, "cpu");
    assert_int_equal(r.candidates, 1);
    assert_string_equal(r.candidate[0].device, "cpu");
    assert_int_equal(r.candidate[0].elements, N);
    assert_int_equal(r.threads, 1);
    assert_int_equal(r.dispatches, 1);
    assert_true(r.compute_ns <= r.total_ns);
    assert_string_equal(r.message, "");
    assert_int_equal(gxt_run(ctx, &job, "cpu", &r), GX_OK);
    assert_int_equal(r.reason, GX_REASON_ASKED);
    assert_int_equal(gxt_run(ctx, &job, "ref", &r), GX_OK);
    assert_string_equal(r.device, "ref");
    assert_int_equal(r.reason, GX_REASON_ASKED);
    assert_int_equal(gxt_run(ctx, &job, "fault:fail@1000:ref", &r), GX_OK);
    assert_string_equal(r.device, "fault:fail@1000:ref");
}

static void small_jobs_stay_on_one_thread(void **state)
{
    (void)state;
    unsigned char in[3 * 64 * 48], out[64 * 48];
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++) {
            if (!gx_op_exists(gxt_ops[o], gxt_fields[f]))
                continue;
            size_t bytes = 64 * gxt_element(gxt_fields[f]);
            gxt_fill(&seed, gxt_fields[f], in, (size_t)3 * 64);
            gx_job job =
                gxt_job(gxt_ops[o], gxt_fields[f], 64, in, in + bytes, in + 2 * bytes, out);
            gx_report r = {.struct_size = sizeof r};
            assert_int_equal(gx_run(ctx, &job, 1, NULL, &r), GX_OK);
            assert_int_equal(r.threads, 1);
            assert_true(r.dispatches >= 1);
            assert_true(r.compute_ns <= r.total_ns);
        }
    }
}

static void a_job_of_nothing_is_reported(void **state)
{
    (void)state;
    gx_job job = gxt_job(GX_INV, GX_BN254_FQ, 0, NULL, NULL, NULL, NULL);
    gx_report r;
    gxt_spoil(&r, 1, GUARD);
    assert_int_equal(gx_run(ctx, &job, 1, NULL, &r), GX_OK);
    assert_int_equal(r.status, GX_OK);
    assert_int_equal(r.dispatches, 0);
    assert_string_equal(r.message, "");
    assert_string_equal(r.device, "cpu");
    assert_true(r.compute_ns <= r.total_ns);
}

static void dispatches_are_counted(void **state)
{
    (void)state;
    gx_config config = {.dispatch_elems = 4, .device = "cpu"};
    gx_ctx *pieces = gxt_open(&config);
    for (size_t n = 1; n <= N; n++) {
        struct data d;
        fill(&d, GX_BN254_FQ);
        gx_job job = job_over(&d, GX_MUL, GX_BN254_FQ, n);
        gx_report r = {.struct_size = sizeof r};
        assert_int_equal(gx_run(pieces, &job, 1, NULL, &r), GX_OK);
        assert_int_equal(r.dispatches, (n + 3) / 4);
        assert_int_equal(r.reason, GX_REASON_ASKED);
    }
    gx_close(&pieces);
}

static void no_report_is_written_beyond_the_jobs(void **state)
{
    (void)state;
    struct data d;
    fill(&d, GX_U32);
    gx_job jobs[2] = {job_over(&d, GX_ADD, GX_U32, 4), job_over(&d, GX_MUL, GX_U32, 4)};
    gx_report r[3], guard[3];
    gxt_spoil(r, GXT_COUNT(r), GUARD);
    memcpy(guard, r, sizeof r);
    assert_int_equal(gx_run(ctx, jobs, 0, NULL, r), GX_OK);
    assert_memory_equal(r, guard, sizeof guard);
    assert_int_equal(gx_run(ctx, jobs, 1, NULL, r), GX_OK);
    assert_memory_equal(&r[1], &guard[1], 2 * sizeof *guard);
    jobs[1].flags = 8;
    assert_int_equal(gx_run(ctx, jobs, 2, NULL, r), GX_ERR_INVALID);
    assert_memory_equal(&r[2], &guard[2], sizeof *guard);
}

/* ---- statistics ---- */

static struct gx_statistics plus(struct gx_statistics s, const gx_job *job, const gx_report *report)
{
    size_t element = gxt_element(job->field);
    const gx_operand in[3] = {job->a, job->b, job->c};
    for (int w = 0; w < 3; w++)
        s.bytes_read += !in[w].host ? 0 : (in[w].broadcast && job->n ? 1 : job->n) * element;
    s.jobs_done++;
    s.elements += job->n;
    s.bytes_written += gxt_results(job->op, job->n) * element;
    s.dispatches += report->dispatches;
    s.compute_ns += report->compute_ns;
    return s;
}

static uint64_t counter(gx_ctx *on, const char *name)
{
    uint64_t value = GUARD;
    assert_int_equal(gx_counter(on, name, &value), GX_OK);
    return value;
}

static void expect_stats(gx_ctx *on, const struct gx_statistics *want)
{
    assert_int_equal(counter(on, "jobs_done"), want->jobs_done);
    assert_int_equal(counter(on, "jobs_failed"), want->jobs_failed);
    assert_int_equal(counter(on, "elements"), want->elements);
    assert_int_equal(counter(on, "bytes_read"), want->bytes_read);
    assert_int_equal(counter(on, "bytes_written"), want->bytes_written);
    assert_int_equal(counter(on, "dispatches"), want->dispatches);
    assert_int_equal(counter(on, "compute_ns"), want->compute_ns);
    for (uint32_t i = 0; gx_counter_get_info(i); i++) {
        const gx_counter_info *info = gx_counter_get_info(i);
        assert_true(info->help[0] && info->gauge <= 1);
        counter(on, info->name);
    }
}

static void statistics_of_successes(void **state)
{
    (void)state;
    gx_config config = {.dispatch_elems = 5};
    gx_ctx *own = gxt_open(&config);
    struct gx_statistics want = {0};
    expect_stats(own, &want);
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++) {
            if (!gx_op_exists(gxt_ops[o], gxt_fields[f]))
                continue;
            struct data d;
            fill(&d, gxt_fields[f]);
            gx_job job = job_over(&d, gxt_ops[o], gxt_fields[f], o + f < N ? o + f : N);
            gx_report r = {.struct_size = sizeof r};
            assert_int_equal(gxt_run(own, &job, "cpu", &r), GX_OK);
            want = plus(want, &job, &r);
            job.a.broadcast = 1;
            assert_int_equal(gxt_run(own, &job, "ref", &r), GX_OK);
            want = plus(want, &job, &r);
            expect_stats(own, &want);
        }
    }
    gx_close(&own);
}

static void statistics_of_failures(void **state)
{
    (void)state;
    gx_ctx *own = gxt_open(NULL);
    struct data d;
    struct gx_statistics want = {0};
    gx_report r[3] = {{.struct_size = sizeof *r}};
    fill(&d, GX_BN254_FR);
    gxt_put_modulus(GX_BN254_FR, d.b);
    gx_job jobs[3] = {job_over(&d, GX_SQR, GX_BN254_FR, N), job_over(&d, GX_ADD, GX_BN254_FR, N),
                      job_over(&d, GX_NEG, GX_BN254_FR, N)};
    assert_int_equal(gx_run(own, jobs, 3, NULL, r), GX_ERR_NOT_CANONICAL);
    want = plus(want, &jobs[0], &r[0]); /* done, then one failed, one not run */
    want.jobs_failed = 2;
    expect_stats(own, &want);
    jobs[2].flags = 4; /* rejected before any ran */
    assert_int_equal(gx_run(own, jobs, 3, NULL, r), GX_ERR_INVALID);
    want.jobs_failed += 3;
    expect_stats(own, &want);
    assert_int_equal(gxt_run(own, &jobs[0], "nope", NULL), GX_ERR_NO_DEVICE);
    want.jobs_failed += 1;
    expect_stats(own, &want);
    assert_int_equal(gx_run(own, NULL, 0, NULL, NULL), GX_OK);
    expect_stats(own, &want);
    gx_close(&own);
}

/* The first inversion needs scratch memory; the next one reuses it. */
static void scratch_is_kept(void **state)
{
    (void)state;
    gx_ctx *own = gxt_open(NULL);
    struct gx_statistics first = {0}, second = {0};
    struct data d;
    fill(&d, GX_BLS12_381_FQ);
    gx_job job = job_over(&d, GX_INV, GX_BLS12_381_FQ, N);
    assert_int_equal(gx_run(own, &job, 1, NULL, NULL), GX_OK);
    gx__stats(own, &first);
    assert_true(first.pool_misses >= 1);
    for (int i = 0; i < 10; i++)
        assert_int_equal(gx_run(own, &job, 1, NULL, NULL), GX_OK);
    gx__stats(own, &second);
    assert_int_equal(second.pool_misses, first.pool_misses);
    assert_true(second.pool_hits >= first.pool_hits + 10);
    gx_close(&own);
}

/* The sum of no elements has no operand to point into; even an offset of 0 would be undefined,
 * which clang's sanitizer finds (CMakePresets.json, tsan). */
static void empty_sum(void **state)
{
    gx_ctx *ctx = gxt_open(&(gx_config){.struct_size = sizeof(gx_config), .device = "cpu"});
    uint64_t sum[4] = {1}, zero[4] = {0};
    gx_job job = {.op = GX_SUM, .field = GX_BLS12_381_FR, .out = gx_host(sum)};
    (void)state;
    assert_int_equal(gx_run(ctx, &job, 1, NULL, NULL), GX_OK);
    assert_memory_equal(sum, zero, sizeof sum);
    gx_close(&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_operations_and_fields),
        cmocka_unit_test(operations_that_do_not_exist),
        cmocka_unit_test(missing_and_superfluous_operands),
        cmocka_unit_test(missing_broadcast_elements),
        cmocka_unit_test(offsets_are_for_buffers),
        cmocka_unit_test(unknown_flags_and_params),
        cmocka_unit_test(sizes_beyond_memory),
        cmocka_unit_test(null_arguments),
        cmocka_unit_test(options_of_another_size),
        cmocka_unit_test(unknown_devices),
        cmocka_unit_test(a_bad_job_stops_all_before_any_runs),
        cmocka_unit_test(the_first_failure_stops_the_rest),
        cmocka_unit_test(jobs_may_be_chained),
        cmocka_unit_test(many_jobs_in_one_call),
        cmocka_unit_test(overlap_of_the_output),
        cmocka_unit_test(inputs_may_overlap_each_other),
        cmocka_unit_test(all_operands_may_be_the_output),
        cmocka_unit_test(nothing_overlaps_where_n_is_zero),
        cmocka_unit_test(first_bad_element),
        cmocka_unit_test(first_bad_element_of_many),
        cmocka_unit_test(the_first_operand_is_told),
        cmocka_unit_test(every_bad_value_is_found),
        cmocka_unit_test(bad_broadcast_elements),
        cmocka_unit_test(report_of_a_success),
        cmocka_unit_test(small_jobs_stay_on_one_thread),
        cmocka_unit_test(a_job_of_nothing_is_reported),
        cmocka_unit_test(dispatches_are_counted),
        cmocka_unit_test(no_report_is_written_beyond_the_jobs),
        cmocka_unit_test(statistics_of_successes),
        cmocka_unit_test(statistics_of_failures),
        cmocka_unit_test(scratch_is_kept),
        cmocka_unit_test(empty_sum),
    };
    return cmocka_run_group_tests_name("run", tests, open_context, close_context);
}
