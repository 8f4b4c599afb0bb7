/* SPDX-License-Identifier: Apache-2.0
 *
 * GX_SUM and GX_DOT by their results alone, on every device there is: each tier of the CPU, each
 * path to a GPU's memory, in one dispatch and in many, x field x size x broadcast x alignment x
 * trusted, against GMP; what is refused; which bad element is told. Beyond the results: inputs and
 * the bytes around the output stay as they were. Streams, buffers and batches of them are in
 * exec/reductions.c, several devices together in route/reductions.c.
 *
 * usage: reductions [webgpu]    the WebGPU devices alone, else all others
 */
#include "conformance/targets.h"
#include "support/oracle.h"

enum { MARGIN = 64, GUARD = 0x5c, ELEMENT_MAX = 48, SLOW_MOST = 20011 };

struct shape {
    gx_op op;
    gx_field field;
    size_t n;
    unsigned broadcast; /* ORACLE_* */
    uint32_t flags;
};

static size_t largest;
static struct oracle_rng rng = {31337};
static unsigned char *data[2];                        /* the operands as they are to be and stay */
static unsigned char *room[2];                        /* and where they lie for the job */
static unsigned char place[3 * MARGIN + ELEMENT_MAX]; /* of the result, with what is around it */

/* ---- targets ---- */

static void add_slow(const char *device, const char *path, uint64_t elems, size_t most)
{
    add_target(device, NULL, path, elems, most)->slow = 1;
}

static void add_gpu(const char *device)
{
    static const char *const paths[] = {"host-visible", "device-local"};
    for (size_t p = 0; p < GXT_COUNT(paths); p++) {
        add_slow(device, paths[p], 0, SLOW_MOST);
        add_slow(device, paths[p], 100, 1000);
        add_slow(device, paths[p], 7, 64);
        add_slow(device, paths[p], 1, 9);
    }
}

static void add_cuda(void)
{
    if (!gxt_cuda_emulated()) {
        add_gpu(gxt_cuda());
        return;
    }
    add_slow(gxt_cuda(), "device-local", 0, 4097);
    add_slow(gxt_cuda(), "host-visible", 100, 257);
}

static void add_webgpu(void)
{
    const char *names[GXT_WEBGPU];
    size_t count = gxt_webgpu(names);
    for (size_t i = 0; i < count; i++) {
        add_slow(names[i], NULL, 0, SLOW_MOST);
        add_slow(names[i], NULL, i ? 7 : 100, i ? 33 : 257);
    }
}

static void add_cpu(void)
{
    for (uint32_t i = 0; gx_tier_name(i); i++)
        add_target("cpu", gx_tier_name(i), NULL, 0, largest);
    add_target("cpu", NULL, NULL, 0, largest);
    add_target("cpu", NULL, NULL, 100, 20000);
    add_target("cpu", NULL, NULL, 7, 1000);
    add_target("cpu", NULL, NULL, 1, 257);
    add_slow("ref", NULL, 0, 1000);
    add_slow("ref", NULL, 7, 33);
}

static int open_targets(void **state)
{
    (void)state;
    gxt_clear_environment();
    gxt_enter_machines();
    largest = gxt_small() ? 20011 : 100003;
    if (webgpu_alone) {
        add_webgpu();
    } else if (cuda_alone) {
        assert_non_null(gxt_cuda());
        add_cuda();
    } else {
        add_cpu();
        if (gxt_vulkan())
            add_gpu(gxt_vulkan());
        if (gxt_cuda())
            add_cuda();
        add_slow("sim:desktop", "device-local", 0, SLOW_MOST);
        add_slow("sim:desktop", "host-visible", 100, 1000);
        add_slow("sim:laptop-integrated", NULL, 0, SLOW_MOST);
        add_slow("sim:server-h200", NULL, 7, 257);
    }
    for (int w = 0; w < 2; w++) {
        data[w] = gxt_alloc(largest * ELEMENT_MAX);
        room[w] = gxt_alloc(largest * ELEMENT_MAX + MARGIN);
    }
    return 0;
}

static int free_data(void **state)
{
    (void)state;
    for (int w = 0; w < 2; w++) {
        free(data[w]);
        free(room[w]);
    }
    return 0;
}

/* ---- one job ---- */

static void tell(const struct target *t, const struct shape *s, const char *what)
{
    tell_target(t, what);
    print_error("%s %s, n %zu, broadcast %u, flags %u\n", gx_op_get_info(s->op)->name,
                gx_field_get_info(s->field)->name, s->n, s->broadcast, s->flags);
}

static size_t operand_bytes(const struct shape *s, unsigned w)
{
    return (s->broadcast >> w & 1 ? 1 : s->n) * gxt_element(s->field);
}

/* Operands and result at odd addresses that change from size to size. */
static gx_job lay_job(const struct shape *s)
{
    size_t at[2] = {s->n % 17, (s->n * 5 + 3) % 23};
    for (unsigned w = 0; w < 2; w++)
        memcpy(room[w] + at[w], data[w], operand_bytes(s, w));
    memset(place, GUARD, sizeof place);
    gx_job job = gxt_job(s->op, s->field, s->n, room[0] + at[0], room[1] + at[1], NULL,
                         place + MARGIN + s->n % 19);
    job.a.broadcast = s->broadcast & ORACLE_A ? 1 : 0;
    job.b.broadcast = s->broadcast & ORACLE_B ? 1 : 0;
    job.flags = s->flags;
    return job;
}

static void check_operands(const struct target *t, const struct shape *s, const gx_job *job)
{
    const gx_operand *const in[] = {&job->a, &job->b};
    for (unsigned w = 0; w < gx_op_get_info(s->op)->operands; w++) {
        if (!memcmp(in[w]->host, data[w], operand_bytes(s, w)))
            continue;
        tell(t, s, "an input was written");
        fail();
    }
}

/* Nothing around the result is written, whatever the outcome of the job. */
static void check_surroundings(const struct target *t, const struct shape *s, const gx_job *job)
{
    const unsigned char *out = job->out.host;
    for (size_t i = 0; i < sizeof place; i++) {
        if ((place + i >= out && place + i < out + gxt_element(s->field)) || place[i] == GUARD)
            continue;
        tell(t, s, "a byte beside the result was written");
        fail();
    }
}

static void run_shape(const struct target *t, const struct shape *s, const void *want)
{
    gx_job job = lay_job(s);
    gx_report r = gxt_report();
    gx_status status = gxt_run(t->ctx, &job, t->device, &r);
    if (status != GX_OK) {
        tell(t, s, r.message);
        assert_int_equal(status, GX_OK);
    }
    if (memcmp(job.out.host, want, gxt_element(s->field)) != 0) {
        tell(t, s, "wrong result");
        print_element("got ", job.out.host, gxt_element(s->field));
        print_element("want", want, gxt_element(s->field));
        fail();
    }
    check_surroundings(t, s, &job);
    check_operands(t, s, &job);
    assert_string_equal(r.device, t->device);
    if (s->n && t->elems)
        assert_true(r.dispatches >= (s->n + t->elems - 1) / t->elems);
}

static int takes_too_long(const struct target *t, const struct shape *s)
{
    static const size_t few[] = {1,  2,  3,   7,   8,   9,   31,   32,   33,   63,
                                 64, 65, 255, 256, 257, 509, 1024, 4096, 4097, SLOW_MOST};
    if (s->n > t->most)
        return 1;
    if (!t->slow)
        return 0;
    for (size_t i = 0; i < GXT_COUNT(few); i++)
        if (few[i] == s->n)
            return (s->broadcast || gxt_small()) && i % 3 != 1;
    return 1;
}

static void on_every_target(const struct shape *s)
{
    unsigned char want[ELEMENT_MAX];
    oracle_run(s->op, s->field, s->n, want, data[0], data[1], NULL, s->broadcast);
    for (size_t i = 0; i < target_count; i++) {
        struct shape turn = *s;
        turn.flags = (s->n + i) % 3 ? 0 : GX_JOB_UNCHECKED;
        if (!takes_too_long(&targets[i], s))
            run_shape(&targets[i], &turn, want);
    }
}

/* ---- what is right ---- */

/* z times R, the factor of Montgomery form, below p. */
static void put_times_r(gx_field field, unsigned char *out, const mpz_t z)
{
    const gx_field_info *info = gx_field_get_info(field);
    mpz_t p, t;
    mpz_inits(p, t, NULL);
    oracle_modulus(p, field);
    mpz_mul_2exp(t, z, 64 * (mp_bitcnt_t)info->limbs);
    mpz_mod(t, t, p);
    oracle_export(out, info->limbs, t);
    mpz_clears(p, t, NULL);
}

/* 0 + 1 + ... and 0 * 0 + 1 * 1 + ... up to n - 1 have formulas that need no oracle. */
static void closed_form(gx_field field, size_t n, unsigned char *sum, unsigned char *dot)
{
    mpz_t z;
    mpz_init(z);
    for (size_t i = 0; i < n; i++) {
        mpz_set_ui(z, i);
        put_times_r(field, data[0] + i * gxt_element(field), z);
    }
    mpz_set_ui(z, n);
    mpz_mul_ui(z, z, n - 1);
    mpz_divexact_ui(z, z, 2);
    put_times_r(field, sum, z);
    mpz_mul_ui(z, z, 2 * n - 1);
    mpz_divexact_ui(z, z, 3);
    put_times_r(field, dot, z);
    mpz_clear(z);
}

static void sums_that_have_a_formula(void **state)
{
    (void)state;
    static const gx_op ops[] = {GX_SUM, GX_DOT};
    static const size_t sizes[] = {1, 2, 3, 10, 257, 4097};
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        if (!gx_op_exists(GX_SUM, gxt_fields[f]))
            continue;
        size_t element = gxt_element(gxt_fields[f]);
        for (size_t i = 0; i < GXT_COUNT(sizes); i++) {
            unsigned char want[2][ELEMENT_MAX], got[ELEMENT_MAX];
            closed_form(gxt_fields[f], sizes[i], want[0], want[1]);
            memcpy(data[1], data[0], sizes[i] * element);
            for (size_t o = 0; o < GXT_COUNT(ops); o++) {
                oracle_run(ops[o], gxt_fields[f], sizes[i], got, data[0], data[1], NULL, 0);
                assert_memory_equal(got, want[o], element);
                struct shape s = {.op = ops[o], .field = gxt_fields[f], .n = sizes[i]};
                for (size_t t = 0; t < target_count; t++)
                    if (!takes_too_long(&targets[t], &s))
                        run_shape(&targets[t], &s, want[o]);
            }
        }
    }
}

/* ---- what there is ---- */

static void what_is_told_of_them(void **state)
{
    (void)state;
    assert_int_equal(gx_op_by_name("sum"), GX_SUM);
    assert_int_equal(gx_op_by_name("dot"), GX_DOT);
    assert_int_equal(gx_op_get_info(GX_SUM)->operands, 1);
    assert_int_equal(gx_op_get_info(GX_DOT)->operands, 2);
    for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++) {
        int reduces = oracle_reduces(gxt_ops[o]);
        assert_int_equal(gx_op_get_info(gxt_ops[o])->reduces, reduces);
        for (size_t f = 0; reduces && f < GXT_COUNT(gxt_fields); f++)
            assert_int_equal(gx_op_exists(gxt_ops[o], gxt_fields[f]),
                             gx_field_get_info(gxt_fields[f])->modulus != NULL);
    }
}

static void bytes_of_operands(void **state)
{
    (void)state;
    for (size_t n = 0; n < 5; n++) {
        gx_job job = gxt_job(GX_DOT, GX_BLS12_381_FQ, n, data[0], data[1], NULL, place);
        assert_int_equal(gx_operand_bytes(&job, 'o'), 48);
        assert_int_equal(gx_operand_bytes(&job, 'a'), 48 * n);
        assert_int_equal(gx_operand_bytes(&job, 'b'), 48 * n);
        assert_int_equal(gx_operand_bytes(&job, 'c'), 0);
        job = gxt_job(GX_SUM, GX_BN254_FQ, n, data[0], NULL, NULL, place);
        assert_int_equal(gx_operand_bytes(&job, 'o'), 32);
        assert_int_equal(gx_operand_bytes(&job, 'a'), 32 * n);
        assert_int_equal(gx_operand_bytes(&job, 'b'), 0);
        job.a.broadcast = 1;
        if (n)
            assert_int_equal(gx_operand_bytes(&job, 'a'), 32);
        job.op = GX_NEG;
        job.a.broadcast = 0;
        assert_int_equal(gx_operand_bytes(&job, 'o'), 32 * n);
    }
}

/* ---- every size ---- */

static void sizes_of(gx_op op, gx_field field, unsigned broadcast)
{
    static const size_t more[] = {97,    127,   128,   129,   255,   256,   257,   509,   511,
                                  512,   513,   1000,  1023,  1024,  1025,  2047,  2048,  2049,
                                  4095,  4096,  4097,  8191,  8192,  8193,  9973,  16384, 20000,
                                  20011, 32769, 65535, 65536, 65537, 99991, 100003};
    struct shape s = {.op = op, .field = field, .broadcast = broadcast};
    for (s.n = 1; s.n <= 70; s.n++) /* 0: sums_of_nothing */
        if (!gxt_small() || s.n < 10 || s.n % 8 < 2)
            on_every_target(&s);
    for (size_t i = 0; i < GXT_COUNT(more); i++) {
        s.n = more[i];
        if (s.n <= largest && (!gxt_small() || i % 3 == 2) && (!broadcast || i % 4 == 0))
            on_every_target(&s);
    }
}

static void all_sizes(gx_field field)
{
    oracle_fill(field, &rng, data[0], largest);
    oracle_fill(field, &rng, data[1], largest);
    for (size_t o = 0; o < GXT_REDUCTIONS; o++)
        for (unsigned b = 0; b < 1u << gx_op_get_info(gxt_reductions[o])->operands; b++)
            sizes_of(gxt_reductions[o], field, b);
}

static void every_size(void **state)
{
    (void)state;
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++)
        if (gx_op_exists(GX_SUM, gxt_fields[f]))
            all_sizes(gxt_fields[f]);
}

/* ---- values ---- */

/* The largest elements: every possible carry, at every depth. */
static void sums_that_wrap_again_and_again(void **state)
{
    (void)state;
    static const size_t sizes[] = {2, 3, 9, 64, 65, 257, 4097, SLOW_MOST, 65537};
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        const gx_field_info *info = gx_field_get_info(gxt_fields[f]);
        if (!info->modulus)
            continue;
        unsigned char last[ELEMENT_MAX];
        memcpy(last, info->modulus, info->element_bytes);
        last[0]--; /* p is odd */
        for (size_t i = 0; i < largest; i++)
            for (int w = 0; w < 2; w++)
                memcpy(data[w] + i * info->element_bytes, last, info->element_bytes);
        for (size_t i = 0; i < GXT_COUNT(sizes) && sizes[i] <= largest; i++)
            for (size_t o = 0; o < GXT_REDUCTIONS; o++)
                on_every_target(&(struct shape){gxt_reductions[o], gxt_fields[f], sizes[i], 0, 0});
    }
}

/* Every edge against every edge in one job, and one edge alone again and again. */
static void edges(void **state)
{
    (void)state;
    enum { SOME = 65 };
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        size_t count = oracle_edges(gxt_fields[f]), element = gxt_element(gxt_fields[f]);
        if (!gx_op_exists(GX_SUM, gxt_fields[f]))
            continue;
        struct shape s = {.field = gxt_fields[f], .n = count * count};
        for (size_t i = 0; i < s.n; i++) {
            oracle_edge(s.field, i % count, data[0] + i * element);
            oracle_edge(s.field, i / count, data[1] + i * element);
        }
        for (size_t o = 0; o < GXT_REDUCTIONS; o++) {
            unsigned char want[ELEMENT_MAX];
            s.op = gxt_reductions[o];
            oracle_run(s.op, s.field, s.n, want, data[0], data[1], NULL, 0);
            for (size_t i = 0; i < target_count; i++)
                if (s.n <= targets[i].most)
                    run_shape(&targets[i], &s, want);
        }
        s.n = SOME;
        for (size_t e = 0; e < count; e += gxt_small() ? 3 : 1) {
            for (size_t i = 0; i < SOME; i++)
                for (size_t w = 0; w < 2; w++)
                    oracle_edge(s.field, e + w * i, data[w] + i * element);
            for (size_t o = 0; o < GXT_REDUCTIONS; o++) {
                s.op = gxt_reductions[o];
                on_every_target(&s);
            }
        }
    }
}

/* ---- nothing ---- */

static void sums_of_nothing(void **state)
{
    (void)state;
    const unsigned char zero[ELEMENT_MAX] = {0};
    for (size_t i = 0; i < target_count; i++) {
        for (size_t o = 0; o < GXT_REDUCTIONS; o++) {
            struct shape s = {.op = gxt_reductions[o], .field = GX_BLS12_381_FQ};
            for (s.broadcast = 0; s.broadcast < 1u << gx_op_get_info(s.op)->operands; s.broadcast++)
                run_shape(&targets[i], &s, zero);
            /* no element, no memory */
            gx_job job = gxt_job(s.op, s.field, 0, NULL, NULL, NULL, place);
            memset(place, GUARD, sizeof place);
            assert_int_equal(gxt_run(targets[i].ctx, &job, targets[i].device, NULL), GX_OK);
            assert_memory_equal(place, zero, 48);
            assert_int_equal(place[48], GUARD);
            job.out = gx_host(NULL); /* but there is a result */
            assert_int_equal(gxt_run(targets[i].ctx, &job, targets[i].device, NULL),
                             GX_ERR_INVALID);
        }
    }
}

/* ---- what is refused ---- */

static void expect_overlap(const gx_job *job, gx_status status)
{
    gx_report r = gxt_report();
    for (size_t i = 0; i < target_count; i++) {
        if (targets[i].elems)
            continue;
        gx_status got = gxt_run(targets[i].ctx, job, targets[i].device, &r);
        if (got != status)
            fail_msg("%s, %s of %zu: %s, want %s: %s", targets[i].device,
                     gx_op_get_info(job->op)->name, job->n, gx_status_name(got),
                     gx_status_name(status), r.message);
        assert_int_equal(r.status, status);
    }
}

static void results_on_operands(void **state)
{
    (void)state;
    enum { SOME = 5, ELEMENT = 32 };
    const gx_field field = GX_BN254_FR;
    oracle_fill(field, &rng, data[0], SOME + 2);
    oracle_fill(field, &rng, data[1], SOME + 2);
    for (size_t n = 1; n <= SOME; n += SOME - 1) {
        for (size_t o = 0; o < GXT_REDUCTIONS; o++) {
            for (unsigned w = 0; w < gx_op_get_info(gxt_reductions[o])->operands; w++) {
                for (int broadcast = 0; broadcast < 2; broadcast++) {
                    memcpy(room[0], data[0], (size_t)(SOME + 2) * ELEMENT);
                    size_t end = (broadcast ? 1 : n) * ELEMENT;
                    unsigned char *at = room[0] + ELEMENT;
                    gx_job job = gxt_job(gxt_reductions[o], field, n, w ? data[1] : at,
                                         w ? at : data[1], NULL, at);
                    gx_operand *in = w ? &job.b : &job.a;
                    in->broadcast = broadcast;
                    expect_overlap(&job, GX_ERR_OVERLAP); /* exactly the first element */
                    for (size_t off = 1; off < end; off += 7) {
                        job.out = gx_host(at + off);
                        expect_overlap(&job, GX_ERR_OVERLAP);
                    }
                    job.out = gx_host(at + end - 1);
                    expect_overlap(&job, GX_ERR_OVERLAP);
                    job.out = gx_host(at - ELEMENT + 1);
                    expect_overlap(&job, GX_ERR_OVERLAP);
                    assert_memory_equal(room[0], data[0], (size_t)(SOME + 2) * ELEMENT);
                    job.out = gx_host(at + end); /* right behind and right before */
                    expect_overlap(&job, GX_OK);
                    job.out = gx_host(at - ELEMENT);
                    expect_overlap(&job, GX_OK);
                }
            }
        }
    }
}

/* Without elements there is nothing to overlap. */
static void nothing_overlaps_where_n_is_zero(void **state)
{
    (void)state;
    for (size_t o = 0; o < GXT_REDUCTIONS; o++) {
        gx_job job =
            gxt_job(gxt_reductions[o], GX_BN254_FR, 0, room[0] + 8, room[0] + 3, NULL, room[0]);
        expect_overlap(&job, GX_OK);
    }
}

/* ---- elements not below the modulus ---- */

static void expect_bad(const struct target *t, const struct shape *s, size_t index, char which)
{
    gx_job job = lay_job(s);
    gx_report r = gxt_report();
    gx_status status = gxt_run(t->ctx, &job, t->device, &r);
    if (status != GX_ERR_NOT_CANONICAL || r.bad_index != index ||
        r.bad_operand != (unsigned char)which) {
        tell(t, s, "another bad element, or none");
        print_error("%s: %llu of '%c', want %zu of '%c'\n", gx_status_name(status),
                    (unsigned long long)r.bad_index, r.bad_operand ? r.bad_operand : '?', index,
                    which);
        fail();
    }
    assert_int_equal(r.status, GX_ERR_NOT_CANONICAL);
    assert_true(r.message[0]);
    check_surroundings(t, s, &job);
    check_operands(t, s, &job);
    job = lay_job(s);
    job.flags = GX_JOB_UNCHECKED; /* any result is allowed, but no error */
    assert_int_equal(gxt_run(t->ctx, &job, t->device, NULL), GX_OK);
    check_surroundings(t, s, &job);
    check_operands(t, s, &job);
}

/* One at `index`, and later ones in every operand. */
static void bad_at(const struct target *t, const struct shape *s, unsigned w, size_t index)
{
    size_t element = gxt_element(s->field), operands = gx_op_get_info(s->op)->operands;
    oracle_fill(s->field, &rng, data[0], s->n);
    oracle_fill(s->field, &rng, data[1], s->n);
    size_t later = index + 1 + oracle_random(&rng) % (s->n / 2 + 1);
    for (size_t k = 0; later < s->n && k < operands; k++)
        if (!(s->broadcast >> k & 1))
            oracle_bad(s->field, later + k, data[k] + later * element);
    oracle_bad(s->field, index, data[w] + (s->broadcast >> w & 1 ? 0 : index) * element);
    expect_bad(t, s, s->broadcast >> w & 1 ? 0 : index, (char)('a' + w));
}

static void bad_positions(const struct target *t, const struct shape *s)
{
    size_t seam = t->elems && t->elems < s->n ? (size_t)t->elems : s->n / 2;
    const size_t at[] = {0, s->n - 1, seam, seam ? seam - 1 : 0, oracle_random(&rng) % s->n};
    for (unsigned w = 0; w < gx_op_get_info(s->op)->operands; w++)
        for (size_t i = 0; i < (s->broadcast >> w & 1 ? 1 : GXT_COUNT(at)); i++)
            bad_at(t, s, w, at[i]);
}

static void bad_elements(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 9, 64, 257, 1000};
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        if (!gx_op_exists(GX_SUM, gxt_fields[f]))
            continue;
        for (size_t i = 0; i < target_count; i++) {
            const struct target *t = &targets[i];
            for (size_t k = 0; k < GXT_COUNT(sizes) && sizes[k] <= t->most; k++)
                for (size_t o = 0; o < GXT_REDUCTIONS; o++)
                    for (unsigned b = 0; b < 1u << gx_op_get_info(gxt_reductions[o])->operands; b++)
                        if (!t->slow || (k + f + o + b) % (gxt_small() ? 6 : 3) == 0)
                            bad_positions(t, &(struct shape){.op = gxt_reductions[o],
                                                             .field = gxt_fields[f],
                                                             .n = sizes[k],
                                                             .broadcast = b});
        }
    }
}

/* Checked by more than one host thread. */
static void bad_elements_of_many(void **state)
{
    (void)state;
    for (size_t i = 0; i < target_count; i++) {
        const struct target *t = &targets[i];
        if (t->most < SLOW_MOST || t->elems)
            continue;
        for (size_t o = 0; o < GXT_REDUCTIONS; o++)
            bad_positions(t, &(struct shape){.op = gxt_reductions[o],
                                             .field = gxt_fields[i % 4],
                                             .n = t->slow ? 4097 : largest});
    }
}

/* At the same index a is checked before b. */
static void the_first_operand_is_told(void **state)
{
    (void)state;
    struct shape s = {.op = GX_DOT, .field = GX_BLS12_381_FR, .n = 9};
    for (size_t i = 0; i < target_count; i++) {
        for (int w = 0; w < 2; w++) {
            oracle_fill(s.field, &rng, data[w], s.n);
            oracle_bad(s.field, i, data[w] + (size_t)7 * 32);
        }
        expect_bad(&targets[i], &s, 7, 'a');
    }
}

static void every_bad_value_is_found(void **state)
{
    (void)state;
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        if (!gx_op_exists(GX_SUM, gxt_fields[f]))
            continue;
        for (size_t v = 0; v < oracle_bads(gxt_fields[f]); v += gxt_small() ? 3 : 1) {
            for (size_t o = 0; o < GXT_REDUCTIONS; o++) {
                struct shape s = {.op = gxt_reductions[o], .field = gxt_fields[f], .n = 9};
                oracle_fill(s.field, &rng, data[0], s.n);
                oracle_fill(s.field, &rng, data[1], s.n);
                unsigned last = gx_op_get_info(s.op)->operands - 1;
                oracle_bad(s.field, v, data[last] + 5 * gxt_element(s.field));
                for (size_t i = 0; i < target_count; i++)
                    if (!targets[i].elems)
                        expect_bad(&targets[i], &s, 5, (char)('a' + last));
            }
        }
    }
}

int main(int argc, char **argv)
{
    choose_targets(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_of_them),
        cmocka_unit_test(bytes_of_operands),
        cmocka_unit_test(sums_that_have_a_formula),
        cmocka_unit_test(every_size),
        cmocka_unit_test(sums_that_wrap_again_and_again),
        cmocka_unit_test(edges),
        cmocka_unit_test(sums_of_nothing),
        cmocka_unit_test(results_on_operands),
        cmocka_unit_test(nothing_overlaps_where_n_is_zero),
        cmocka_unit_test(bad_elements),
        cmocka_unit_test(bad_elements_of_many),
        cmocka_unit_test(the_first_operand_is_told),
        cmocka_unit_test(every_bad_value_is_found),
        cmocka_unit_test(no_driver_complained),
    };
    return cmocka_run_group_tests_name("reductions", tests, open_targets, free_data);
}
