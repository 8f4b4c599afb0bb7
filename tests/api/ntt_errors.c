/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms and operations on polynomials that are refused: domains that cannot be, jobs that are
 * invalid, and elements that are not below the modulus, on every device. Each time the right
 * status, a message that says what is wrong, the index of the first bad element, and nothing
 * written.
 */
#include <stdio.h>

#include "support/harness.h"
#include "support/oracle_ntt.h"

enum { LOG2 = 4, N = 1 << LOG2, ELEMENT = 32, BYTES = N * ELEMENT, GUARD = 0x5c, DEVICES_MAX = 8 };

static const gx_field field = GX_BLS12_381_FR;

static const char *devices[DEVICES_MAX];
static size_t device_count;
static gx_ctx *ctx, *other_ctx;
static gx_domain *domain, *small_domain, *other_field, *other_context;

static gx_domain *make_domain(gx_ctx *in, gx_field of, uint32_t log2_size)
{
    gx_domain_params desc = {.struct_size = sizeof desc, .field = of, .log2_size = log2_size};
    gx_domain *made = NULL;
    assert_int_equal(gx_domain_create(in, &desc, &made), GX_OK);
    return made;
}

static int prepare(void **state)
{
    (void)state;
    gxt_clear_environment();
    devices[device_count++] = "cpu";
    devices[device_count++] = "ref";
    if (gxt_vulkan())
        devices[device_count++] = gxt_vulkan();
    device_count += gxt_webgpu(devices + device_count);
    ctx = gxt_open(NULL);
    other_ctx = gxt_open(NULL);
    domain = make_domain(ctx, field, 12);
    small_domain = make_domain(ctx, field, LOG2 - 1);
    other_field = make_domain(ctx, GX_BN254_FR, 12);
    other_context = make_domain(other_ctx, field, 12);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    gx_domain_destroy(&domain);
    gx_domain_destroy(&small_domain);
    gx_domain_destroy(&other_field);
    gx_domain_destroy(&other_context);
    gx_close(&ctx);
    gx_close(&other_ctx);
    return 0;
}

/* ---- domains ---- */

static void refused(const gx_domain_params *desc, gx_status status, const char *text)
{
    gx_domain *made = (gx_domain *)&made;
    gx_status s = gx_domain_create(ctx, desc, &made);
    if (s != status || made || !strstr(gx_last_message(), text))
        fail_msg("%s instead of %s, '%s' does not say '%s'", gx_status_name(s),
                 gx_status_name(status), gx_last_message(), text);
}

static void domains_that_cannot_be(void **state)
{
    (void)state;
    unsigned char e[ELEMENT], zero[ELEMENT] = {0};
    struct {
        gx_domain_params desc;
        uint64_t more;
    } future = {{.struct_size = sizeof future, .field = field, .log2_size = 4}, 1};
#define DOMAIN(status, text, ...)                                                                  \
    do {                                                                                           \
        gx_domain_params d = {.struct_size = sizeof d, .field = field, .log2_size = 10};           \
        __VA_ARGS__;                                                                               \
        refused(&d, status, text);                                                                 \
    } while (0)
    DOMAIN(GX_ERR_UNSUPPORTED, "bls12-381-fq", d.field = GX_BLS12_381_FQ);
    DOMAIN(GX_ERR_UNSUPPORTED, "bn254-fq", d.field = GX_BN254_FQ);
    DOMAIN(GX_ERR_UNSUPPORTED, "u32", d.field = GX_U32);
    DOMAIN(GX_ERR_INVALID, "field", d.field = 0);
    DOMAIN(GX_ERR_INVALID, "field", d.field = 99);
    DOMAIN(GX_ERR_INVALID, "32", d.log2_size = 33);
    DOMAIN(GX_ERR_INVALID, "28", d.field = GX_BN254_FR; d.log2_size = 29);
    DOMAIN(GX_ERR_INVALID, "32", d.log2_size = UINT32_MAX);
    DOMAIN(GX_ERR_INVALID, "root", oracle_root(field, 9, e); d.root = e);
    DOMAIN(GX_ERR_INVALID, "root", oracle_root(field, 11, e); d.root = e);
    DOMAIN(GX_ERR_INVALID, "root", oracle_root(field, 0, e); d.root = e);
    DOMAIN(GX_ERR_INVALID, "root", oracle_small(field, 7, e); d.root = e);
    DOMAIN(GX_ERR_INVALID, "root", d.root = zero);
    DOMAIN(GX_ERR_INVALID, "root", d.root = zero; d.log2_size = 0);
    DOMAIN(GX_ERR_NOT_CANONICAL, "root", gxt_put_modulus(field, e); d.root = e);
    DOMAIN(GX_ERR_INVALID, "shift", d.shift = zero);
    DOMAIN(GX_ERR_NOT_CANONICAL, "shift", gxt_put_modulus(field, e); d.shift = e);
    DOMAIN(GX_ERR_INVALID, "matches no version", d.struct_size = 9);
    refused(&future.desc, GX_ERR_INVALID, "");
    refused(NULL, GX_ERR_INVALID, "NULL");
    gx_domain_params desc = {.struct_size = sizeof desc, .field = field};
    gx_domain *made = (gx_domain *)&made;
    assert_int_equal(gx_domain_create(NULL, &desc, &made), GX_ERR_INVALID);
    assert_null(made);
    assert_int_equal(gx_domain_create(ctx, &desc, NULL), GX_ERR_INVALID);
    gx_domain_destroy(NULL);
    gx_domain_destroy(&made);
}

static void roots_of_domains(void **state)
{
    (void)state;
    unsigned char got[ELEMENT], want[ELEMENT];
    memset(got, GUARD, ELEMENT);
    memset(want, GUARD, ELEMENT);
    assert_int_equal(gx_domain_root(domain, 13, got), GX_ERR_INVALID);
    assert_true(gx_last_message()[0]);
    assert_int_equal(gx_domain_root(NULL, 1, got), GX_ERR_INVALID);
    assert_int_equal(gx_domain_root(domain, 1, NULL), GX_ERR_INVALID);
    assert_memory_equal(got, want, ELEMENT);
    for (uint32_t log2_n = 0; log2_n <= 12; log2_n++) {
        oracle_root(field, log2_n, want);
        assert_int_equal(gx_domain_root(domain, log2_n, got), GX_OK);
        assert_memory_equal(got, want, ELEMENT);
    }
}

/* A struct of a newer program, whose new members are not used. */
static void a_larger_description(void **state)
{
    (void)state;
    struct {
        gx_domain_params desc;
        uint64_t more[3];
    } future = {{.struct_size = sizeof future, .field = field, .log2_size = 4}, {0}};
    gx_domain *made = NULL;
    assert_int_equal(gx_domain_create(ctx, &future.desc, &made), GX_OK);
    gx_domain_destroy(&made);
    future.desc.struct_size = 0;
    assert_int_equal(gx_domain_create(ctx, &future.desc, &made), GX_OK);
    gx_domain_destroy(&made);
    assert_null(made);
}

/* ---- invalid jobs ---- */

static unsigned char in[3 * BYTES], second[BYTES], out[3 * BYTES];

/* Every way to give a job refuses it alike. */
static void refused_job(const gx_job *job, gx_status status, const char *text, int line)
{
    static unsigned char before[sizeof in];
    memset(out, GUARD, sizeof out);
    memcpy(before, in, sizeof in);
    gx_report r = gxt_report();
    gx_estimate_info info = {.struct_size = sizeof info};
    gx_ticket *ticket = (gx_ticket *)&info;
    gx_status s = gx_run(ctx, job, 1, NULL, &r);
    if (s != status || r.status != s || !strstr(r.message, text) || !r.message[0] ||
        !gx_last_message()[0])
        fail_msg("line %d: %s instead of %s, '%s' does not say '%s'", line, gx_status_name(s),
                 gx_status_name(status), r.message, text);
    assert_int_equal(gx_submit(ctx, job, 1, NULL, &ticket), status);
    assert_null(ticket);
    assert_int_equal(gx_estimate(ctx, job, 1, NULL, &info), status);
    assert_memory_equal(in, before, sizeof in);
    for (size_t i = 0; i < sizeof out; i++)
        if (out[i] != GUARD)
            fail_msg("line %d: byte %zu of out was written", line, i);
}

static void invalid_transforms(void **state)
{
    (void)state;
#define NTT(status, text, ...)                                                                     \
    do {                                                                                           \
        gx_ntt_params p = {.struct_size = sizeof p, .domain = domain, .log2_n = LOG2};             \
        gx_job job = gxt_job(GX_NTT, field, N, in, NULL, NULL, out);                               \
        job.params = &p;                                                                           \
        __VA_ARGS__;                                                                               \
        refused_job(&job, status, text, __LINE__);                                                 \
    } while (0)
    NTT(GX_ERR_INVALID, "15", job.n = 15);
    NTT(GX_ERR_INVALID, "17", job.n = 17);
    NTT(GX_ERR_INVALID, "24", job.n = 24);
    NTT(GX_ERR_INVALID, "1", job.n = 1);
    NTT(GX_ERR_INVALID, "", p.domain = small_domain);
    NTT(GX_ERR_INVALID, "", p.log2_n = 13; job.n = (size_t)1 << 13);
    NTT(GX_ERR_INVALID, "", p.log2_n = 64);
    NTT(GX_ERR_INVALID, "", p.log2_n = UINT32_MAX);
    NTT(GX_ERR_INVALID, "pad", p.log2_pad = LOG2 + 1);
    NTT(GX_ERR_INVALID, "pad", p.log2_pad = UINT32_MAX);
    NTT(GX_ERR_INVALID, "domain", p.domain = NULL);
    NTT(GX_ERR_INVALID, "context", p.domain = other_context);
    NTT(GX_ERR_INVALID, "bn254-fr", p.domain = other_field);
    NTT(GX_ERR_INVALID, "bn254-fr", job.field = GX_BN254_FR);
    NTT(GX_ERR_UNSUPPORTED, "one of bls12-381-fr, bn254-fr", job.field = GX_BLS12_381_FQ);
    NTT(GX_ERR_UNSUPPORTED, "", job.field = GX_U32);
    NTT(GX_ERR_INVALID, "params", job.params = NULL);
    NTT(GX_ERR_INVALID, "flags", p.flags = 32);
    NTT(GX_ERR_INVALID, "flags", p.flags = 0x80000000u);
    NTT(GX_ERR_INVALID, "reserved", p.reserved = 1);
    NTT(GX_ERR_INVALID, "matches no version", p.struct_size = 5);
    NTT(GX_ERR_INVALID, "operand b", job.b = gx_host(second));
    NTT(GX_ERR_INVALID, "broadcast", job.a.broadcast = 1);
    NTT(GX_ERR_INVALID, "flags", job.flags = 8);
    NTT(GX_ERR_INVALID, "", job.a.host = NULL);
    NTT(GX_ERR_INVALID, "", job.out.host = NULL);
    NTT(GX_ERR_INVALID, "", job.n = SIZE_MAX / 16 * 16);
}

static void overlapping_transforms(void **state)
{
    (void)state;
    NTT(GX_ERR_OVERLAP, "", job.a.host = out + ELEMENT);
    NTT(GX_ERR_OVERLAP, "", job.a.host = out + BYTES - 1);
    NTT(GX_ERR_OVERLAP, "", job.a.host = out; job.out.host = out + BYTES - ELEMENT);
    NTT(GX_ERR_OVERLAP, "", job.a.host = out; p.log2_pad = 1);
    NTT(GX_ERR_OVERLAP, "", job.a.host = out + BYTES / 2; p.log2_pad = 1);
    NTT(GX_ERR_OVERLAP, "", job.a.host = out; p.log2_pad = LOG2);
}

/* A struct of a newer program, and of a program that leaves the size to the library. */
static void other_sizes_of_parameters(void **state)
{
    (void)state;
    struct {
        gx_ntt_params p;
        uint64_t more;
    } future = {{.struct_size = sizeof future, .domain = domain, .log2_n = LOG2}, 1};
    gx_job job = gxt_job(GX_NTT, field, N, in, NULL, NULL, out);
    job.params = &future;
    refused_job(&job, GX_ERR_INVALID, "", __LINE__);
    future.more = 0;
    assert_int_equal(gxt_run(ctx, &job, "cpu", NULL), GX_OK);
    future.p.struct_size = 0;
    assert_int_equal(gxt_run(ctx, &job, "cpu", NULL), GX_OK);
}

/* One bad job among good ones: none runs. */
static void a_bad_job_stops_all(void **state)
{
    (void)state;
    gx_ntt_params good = {.struct_size = sizeof good, .domain = domain, .log2_n = LOG2};
    gx_ntt_params bad = good;
    bad.domain = other_context;
    gx_job jobs[3];
    gx_report r[3];
    memset(out, GUARD, sizeof out);
    for (size_t i = 0; i < 3; i++) {
        jobs[i] = gxt_job(GX_NTT, field, N, in, NULL, NULL, out + i * BYTES);
        jobs[i].params = i == 1 ? &bad : &good;
    }
    gxt_reports(r, 3);
    assert_int_equal(gx_run(ctx, jobs, 3, NULL, r), GX_ERR_INVALID);
    assert_int_equal(r[0].status, GX_ERR_NOT_RUN);
    assert_int_equal(r[1].status, GX_ERR_INVALID);
    assert_int_equal(r[2].status, GX_ERR_NOT_RUN);
    for (size_t i = 0; i < sizeof out; i++)
        assert_int_equal(out[i], GUARD);
}

/* ---- invalid operations on polynomials ---- */

static int takes_count(gx_op op)
{
    return op == GX_COSETS || op >= GX_GATHER;
}

static void invalid_polynomials(void **state)
{
    (void)state;
#define POLY(what, status, text, ...)                                                              \
    do {                                                                                           \
        gx_poly_params p = {.struct_size = sizeof p, .count = takes_count(what) ? 4 : 0};          \
        gx_job job = gxt_job(what, field, N, in, second, NULL, out);                               \
        job.params = &p;                                                                           \
        __VA_ARGS__;                                                                               \
        refused_job(&job, status, text, __LINE__);                                                 \
    } while (0)
    static const gx_op plain[] = {GX_PREFIX_SUM, GX_PREFIX_PRODUCT, GX_POWERS, GX_DIVIDE_LINEAR,
                                  GX_BIT_REVERSE};
    static const gx_op with_count[] = {GX_COSETS, GX_GATHER, GX_ROTATE, GX_INTERLEAVE,
                                       GX_DEINTERLEAVE};
    static const gx_op parts[] = {GX_COSETS, GX_INTERLEAVE, GX_DEINTERLEAVE};
    for (size_t i = 0; i < GXT_COUNT(plain); i++) {
        POLY(plain[i], GX_ERR_INVALID, "takes none", p.count = 1);
        POLY(plain[i], GX_ERR_INVALID, "flags", p.flags = GX_POLY_REVERSED);
    }
    for (size_t i = 0; i < GXT_COUNT(with_count); i++) {
        if (with_count[i] != GX_ROTATE) /* by 0 */
            POLY(with_count[i], GX_ERR_INVALID, "params", job.params = NULL);
        POLY(with_count[i], GX_ERR_INVALID, "flags", p.flags = 2);
        POLY(with_count[i], GX_ERR_INVALID, "flags", p.flags = GX_POLY_REVERSED);
        POLY(with_count[i], GX_ERR_INVALID, "reserved", p.reserved = 1);
        POLY(with_count[i], GX_ERR_INVALID, "matches no version", p.struct_size = 3);
    }
    for (size_t i = 0; i < GXT_COUNT(parts); i++) {
        POLY(parts[i], GX_ERR_INVALID, "count", p.count = 0);
        POLY(parts[i], GX_ERR_INVALID, "count", p.count = 3);
        POLY(parts[i], GX_ERR_INVALID, "count", p.count = 32);
        POLY(parts[i], GX_ERR_INVALID, "count", p.count = UINT64_MAX);
    }
    POLY(GX_BIT_REVERSE, GX_ERR_INVALID, "power of two", job.n = 15);
    POLY(GX_BIT_REVERSE, GX_ERR_INVALID, "power of two", job.n = 24);
    POLY(GX_EVALUATE, GX_ERR_INVALID, "power of two", job.n = 15; p.flags = GX_POLY_REVERSED);
    POLY(GX_EVALUATE, GX_ERR_INVALID, "n is 0", job.n = 0);
    POLY(GX_EVALUATE, GX_ERR_INVALID, "flags", p.flags = 2);
    POLY(GX_EVALUATE, GX_ERR_INVALID, "reserved", p.reserved = 1);
    POLY(GX_GATHER, GX_ERR_INVALID, "count", p.count = 0);
    for (gx_op op = GX_PREFIX_SUM; op <= GX_DEINTERLEAVE; op++) {
        POLY(op, GX_ERR_UNSUPPORTED, "one of bls12-381-fq, bls12-381-fr, bn254-fq, bn254-fr",
             job.field = GX_U32);
        POLY(op, GX_ERR_INVALID, "operand c", job.c = gx_host(second));
        POLY(op, GX_ERR_INVALID, "flags", job.flags = 8);
    }
}

static void overlapping_polynomials(void **state)
{
    (void)state;
    for (gx_op op = GX_PREFIX_SUM; op <= GX_DEINTERLEAVE; op++) {
        POLY(op, GX_ERR_OVERLAP, "", job.a.host = out);
        if (op != GX_POWERS && op != GX_COSETS && op != GX_EVALUATE)
            POLY(op, GX_ERR_OVERLAP, "", job.a.host = out + BYTES - ELEMENT);
        if (gx_op_get_info(op)->operands > 1)
            POLY(op, GX_ERR_OVERLAP, "", job.b.host = out);
    }
    POLY(GX_POWERS, GX_ERR_OVERLAP, "", job.a.host = out + BYTES - ELEMENT);
}

/* ---- elements ---- */

/* The job is refused on each device for element `index` of `operand`; operands stay as they are. */
static void refused_element(const gx_job *job, char operand, uint64_t index)
{
    static unsigned char before[sizeof in], second_before[BYTES];
    memcpy(before, in, sizeof in);
    memcpy(second_before, second, BYTES);
    for (size_t d = 0; d < device_count; d++) {
        gx_report r = gxt_report();
        gx_status s = gxt_run(ctx, job, devices[d], &r);
        if (s != GX_ERR_NOT_CANONICAL || r.bad_index != index ||
            r.bad_operand != (uint32_t)operand || !r.message[0])
            fail_msg("%s on %s: %s, element %llu of %c instead of %llu of %c, '%s'",
                     gx_op_get_info(job->op)->name, devices[d], gx_status_name(s),
                     (unsigned long long)r.bad_index, (int)r.bad_operand, (unsigned long long)index,
                     operand, r.message);
        assert_memory_equal(in, before, sizeof in);
        assert_memory_equal(second, second_before, BYTES);
    }
}

static void fill_operands(void)
{
    struct oracle_rng rng = {77};
    oracle_fill(field, &rng, in, 3 * (size_t)N);
    oracle_fill(field, &rng, second, N);
}

static void bad_elements_of_transforms(void **state)
{
    (void)state;
    static const size_t at[] = {0, 1, 7, N - 1, N, 3 * N - 1};
    for (size_t i = 0; i < GXT_COUNT(at); i++)
        for (uint32_t flags = 0; flags < 32; flags += 5) {
            gx_ntt_params p = {
                .struct_size = sizeof p, .domain = domain, .log2_n = LOG2, .flags = flags};
            gx_job job =
                gxt_job(GX_NTT, field, 3 * (size_t)N, in, NULL, NULL, (flags + i) % 2 ? in : out);
            job.params = &p;
            fill_operands();
            oracle_bad(field, i, in + at[i] * ELEMENT);
            if (at[i] < 2 * (size_t)N) /* and a later one */
                oracle_bad(field, i + 1, in + (at[i] + N) * ELEMENT);
            refused_element(&job, 'a', at[i]);
        }
}

/* What padding leaves out is not read. */
static void bad_elements_of_padded_transforms(void **state)
{
    (void)state;
    gx_ntt_params p = {.struct_size = sizeof p, .domain = domain, .log2_n = LOG2, .log2_pad = 2};
    gx_job job = gxt_job(GX_NTT, field, 3 * (size_t)N, in, NULL, NULL, out);
    job.params = &p;
    fill_operands();
    oracle_bad(field, 0, in + 12 * ELEMENT);
    for (size_t d = 0; d < device_count; d++)
        assert_int_equal(gxt_run(ctx, &job, devices[d], NULL), GX_OK);
    oracle_bad(field, 0, in + 11 * ELEMENT);
    refused_element(&job, 'a', 11);
}

static int one_element(gx_op op, char operand)
{
    if (operand == 'a')
        return op == GX_POWERS || op == GX_COSETS;
    return op != GX_GATHER;
}

static void bad_elements_of_polynomials(void **state)
{
    (void)state;
    for (gx_op op = GX_PREFIX_SUM; op <= GX_DEINTERLEAVE; op++)
        for (int which = 0; which < 2; which++) {
            const char operand = which ? 'b' : 'a';
            gx_poly_params p = {.struct_size = sizeof p, .count = takes_count(op) ? 4 : 0};
            gx_job job = gxt_job(op, field, N, in, second, NULL, out);
            size_t at = one_element(op, operand) ? 0 : 3;
            if (operand == 'b' && (gx_op_get_info(op)->operands < 2 || op == GX_GATHER))
                continue;
            job.params = &p;
            fill_operands();
            if (op == GX_GATHER)
                memset(second, 0, BYTES); /* indices */
            oracle_bad(field, op, (operand == 'a' ? in : second) + at * ELEMENT);
            refused_element(&job, operand, at);
        }
}

static void indices_out_of_range(void **state)
{
    (void)state;
    static const uint32_t bad[] = {4, 5, UINT32_MAX};
    for (size_t i = 0; i < GXT_COUNT(bad); i++)
        for (size_t d = 0; d < device_count; d++) {
            gx_poly_params p = {.struct_size = sizeof p, .count = 4};
            gx_job job = gxt_job(GX_GATHER, field, N, in, second, NULL, out);
            uint32_t index[N] = {0, 1, 2, 3};
            size_t at = 4 + i * 3;
            gx_report r = gxt_report();
            job.params = &p;
            fill_operands();
            index[at] = bad[i];
            index[N - 1] = 7;
            memcpy(second, index, sizeof index);
            gx_status s = gxt_run(ctx, &job, devices[d], &r);
            if (s != GX_ERR_INVALID || r.bad_index != at || r.bad_operand != 'b' || !r.message[0])
                fail_msg("%s: %s, index %llu of '%c', '%s'", devices[d], gx_status_name(s),
                         (unsigned long long)r.bad_index, (int)r.bad_operand, r.message);
            job.flags = GX_JOB_UNCHECKED; /* no result, but no harm either */
            s = gxt_run(ctx, &job, devices[d], NULL);
            assert_true(s == GX_OK || s == GX_ERR_INVALID);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(domains_that_cannot_be),
        cmocka_unit_test(roots_of_domains),
        cmocka_unit_test(a_larger_description),
        cmocka_unit_test(invalid_transforms),
        cmocka_unit_test(overlapping_transforms),
        cmocka_unit_test(other_sizes_of_parameters),
        cmocka_unit_test(a_bad_job_stops_all),
        cmocka_unit_test(invalid_polynomials),
        cmocka_unit_test(overlapping_polynomials),
        cmocka_unit_test(bad_elements_of_transforms),
        cmocka_unit_test(bad_elements_of_padded_transforms),
        cmocka_unit_test(bad_elements_of_polynomials),
        cmocka_unit_test(indices_out_of_range),
    };
    return cmocka_run_group_tests_name("ntt-errors", tests, prepare, finish);
}
