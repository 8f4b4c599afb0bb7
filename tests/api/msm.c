/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplications on every device. The points are P[i] = t[i] * G with known t[i], so
 * that every result must be a multiple of G that GMP computes: (sum of s[i] * t[i]) * G.
 */
#include <stdio.h>

#include "op/points.h"
#include "api/counters.h"
#include "support/harness.h"
#include "support/oracle_curve.h"

enum { SCALAR = 32, POINTS = 40, MOST = 2500, RESULT_MAX = 288, GUARD = 0x5c, DEVICES_MAX = 8 };
enum { CURVES = 4, FORMS = 6, MINUS_ONE = 2 };

static const char *devices[DEVICES_MAX];
static size_t device_count;
static gx_ctx *ctx;
static gx_points *points[CURVES + 1]; /* POINTS different ones, MOST in all */
static struct oracle_rng rng = {77};
static unsigned char scalars[MOST * SCALAR], got[8 * RESULT_MAX], want[8 * RESULT_MAX];
static mpz_t multiple[POINTS];

/* ---- points and expected results ---- */

static gx_points *create_points(gx_ctx *in, gx_curve curve, const void *memory,
                                gx_point_check check)
{
    const gx_points_params desc = {.struct_size = sizeof desc,
                                   .curve = curve,
                                   .form = GX_POINT_XY_MONT,
                                   .points = memory,
                                   .count = MOST,
                                   .check = check};
    gx_points *made = NULL;
    assert_int_equal(gx_points_create(in, &desc, &made, NULL), GX_OK);
    return made;
}

/* Made when they are first needed. */
static gx_points *points_of(gx_curve curve)
{
    size_t bytes = oracle_affine_bytes(curve);
    if (points[curve])
        return points[curve];
    unsigned char *memory = gxt_alloc(MOST * bytes);
    for (size_t i = 0; i < MOST; i++) {
        unsigned char *at = memory + i * bytes;
        if (i == MINUS_ONE)
            oracle_point_neg(curve, at, gx_curve_get_info(curve)->generator);
        else if (i < POINTS)
            oracle_point_mul(curve, at, gx_curve_get_info(curve)->generator, multiple[i]);
        else
            memcpy(at, memory + i % POINTS * bytes, bytes);
    }
    points[curve] = create_points(ctx, curve, memory, GX_CHECK_CURVE);
    free(memory);
    return points[curve];
}

/* The same in another context, where they are not checked once more. */
static gx_points *make_points(gx_ctx *in, gx_curve curve)
{
    unsigned char *memory = gxt_alloc(MOST * oracle_affine_bytes(curve));
    assert_int_equal(gx_points_read(points_of(curve), 0, MOST, GX_POINT_XY_MONT, memory), GX_OK);
    gx_points *made = create_points(in, curve, memory, GX_CHECK_NONE);
    free(memory);
    return made;
}

static int prepare(void **state)
{
    (void)state;
    gxt_clear_environment();
    gxt_enter_machines();
    devices[device_count++] = "cpu"; /* which some tests use in any case */
    if (!gxt_one_gpu()) {
        devices[device_count++] = "ref";
        devices[device_count++] = "sim:desktop";
    }
    device_count += gxt_gpus(devices + device_count);
    gx_config config = {0};
    gxt_watch(&config);
    ctx = gxt_open(&config);
    for (size_t i = 0; i < POINTS; i++) /* infinity, G, -G, equal ones, others */
        mpz_init_set_si(multiple[i], i == 0 ? 0 : i == 1 ? 1 : i == MINUS_ONE ? -1 : (long)(i / 2));
    for (size_t i = 8; i < POINTS; i++)
        mpz_ui_pow_ui(multiple[i], 3 + i / 2, 60);
    for (size_t i = 0; i < sizeof scalars; i += 8) {
        uint64_t word = oracle_random(&rng);
        memcpy(scalars + i, &word, sizeof word);
    }
    memset(scalars + 5 * SCALAR, 0, SCALAR);
    memset(scalars + 6 * SCALAR, 0xff, SCALAR);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    for (gx_curve c = 1; c <= CURVES; c++)
        gx_points_destroy(&points[c]);
    gx_close(&ctx);
    for (size_t i = 0; i < POINTS; i++)
        mpz_clear(multiple[i]);
    return 0;
}

static void scalar_of(gx_curve curve, const gx_msm_params *p, const unsigned char *at, mpz_t s)
{
    mpz_t r;
    oracle_import(s, at, SCALAR / 8);
    if (p->scalar_form == GX_SCALAR_PLAIN && p->scalar_bits)
        mpz_fdiv_r_2exp(s, s, p->scalar_bits);
    if (p->scalar_form == GX_SCALAR_PLAIN)
        return;
    mpz_init(r); /* 2^256, of which s is a multiple */
    mpz_t modulus;
    mpz_init(modulus);
    oracle_modulus(modulus, oracle_scalar_field(curve));
    mpz_setbit(r, 256);
    mpz_invert(r, r, modulus);
    mpz_mul(s, s, r);
    mpz_mod(s, s, modulus);
    mpz_clear(modulus);
    mpz_clear(r);
}

/* The result as affine coordinates. */
static void expect_affine(gx_curve curve, const gx_msm_params *p, const unsigned char *from,
                          void *out)
{
    mpz_t sum, s;
    mpz_inits(sum, s, NULL);
    for (size_t i = 0; i < p->count; i++) {
        scalar_of(curve, p, from + i * SCALAR, s);
        mpz_addmul(sum, s, multiple[(p->first + i) % POINTS]);
    }
    mpz_t modulus;
    mpz_init(modulus);
    oracle_modulus(modulus, oracle_scalar_field(curve));
    mpz_mod(sum, sum, modulus);
    oracle_point_mul(curve, out, gx_curve_get_info(curve)->generator, sum);
    mpz_clears(sum, s, modulus, NULL);
}

/* Sets `want`, in the form of the results. */
static void expect(gx_curve curve, const gx_msm_params *p, size_t batch)
{
    unsigned char affine[8 * ORACLE_POINT_BYTES];
    gx_points *results = NULL;
    gx_points_params desc = {.struct_size = sizeof desc,
                             .curve = curve,
                             .form = GX_POINT_XY_MONT,
                             .points = affine,
                             .count = batch};
    for (size_t i = 0; i < batch; i++)
        expect_affine(curve, p, scalars + i * p->count * SCALAR,
                      affine + i * oracle_affine_bytes(curve));
    assert_int_equal(gx_points_create(ctx, &desc, &results, NULL), GX_OK);
    memset(want, GUARD, sizeof want);
    assert_int_equal(gx_points_read(results, 0, batch, p->result_form, want), GX_OK);
    gx_points_destroy(&results);
}

static gx_msm_params params_of(gx_curve curve, size_t first, size_t count)
{
    return (gx_msm_params){.struct_size = sizeof(gx_msm_params),
                           .points = points_of(curve),
                           .first = first,
                           .count = count,
                           .result_form = GX_POINT_XY_MONT};
}

static gx_job job_of(gx_curve curve, const gx_msm_params *p, size_t batch)
{
    gx_job job = {.op = GX_MSM,
                  .field = oracle_scalar_field(curve),
                  .n = batch * p->count,
                  .a = gx_host(scalars),
                  .out = gx_host(got),
                  .params = p};
    return job;
}

static void expect_bytes(const char *device, const char *what)
{
    if (memcmp(got, want, sizeof got))
        fail_msg("%s on %s: wrong, or too much written", what, device);
}

/* Few curves stand for all, because software GPUs take half a minute to compile kernels: msm-traps
 * and msm-gpu-kernels test those of others. */
static bool is_compiled(gx_curve curve, const char *device)
{
    bool vulkan = strncmp(device, "vulkan", 6) == 0, webgpu = strncmp(device, "webgpu", 6) == 0;
    bool emulated = strncmp(device, "cuda", 4) == 0 && gxt_cuda_emulated();
    return (!vulkan && !webgpu && !emulated) || curve == GX_BN254_G1 ||
           (vulkan && curve == GX_BLS12_381_G1 && !gxt_small());
}

/* False: the device has no kernel for it. */
static bool run_on(const gx_job *job, const char *device)
{
    const gx_msm_params *p = job->params;
    if (p->points && !is_compiled(p->points->curve->curve, device))
        return false;
    memset(got, GUARD, sizeof got);
    gx_status s = gxt_run(ctx, job, device, NULL);
    if (s != GX_OK && s != GX_ERR_UNSUPPORTED)
        fail_msg("%s: %s", device, gx_last_message());
    return s == GX_OK;
}

static void check(gx_curve curve, const gx_msm_params *p, size_t batch, const char *what)
{
    gx_job job = job_of(curve, p, batch);
    expect(curve, p, batch);
    for (size_t d = 0; d < device_count; d++)
        if (run_on(&job, devices[d]))
            expect_bytes(devices[d], what);
}

/* ---- results ---- */

static void curves_and_counts(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, 3, POINTS, 2 * POINTS + 5};
    for (gx_curve c = 1; c <= CURVES; c++)
        for (size_t i = 0; i < GXT_COUNT(counts); i++) {
            gx_msm_params p = params_of(c, i % 3, counts[i]);
            check(c, &p, 1, gx_curve_get_info(c)->name);
        }
}

static void forms_give_one_answer(void **state)
{
    (void)state;
    for (gx_curve c = 1; c <= CURVES; c++)
        for (gx_point_form form = 1; form <= FORMS; form++)
            for (gx_scalar_form of = 0; of < 2 && gx_point_bytes(c, form); of++) {
                gx_msm_params p = params_of(c, 3, 4);
                p.result_form = form;
                p.scalar_form = of;
                for (size_t i = 0; i < 4; i++) /* below the modulus */
                    scalars[i * SCALAR + 31] &= 0x1f;
                check(c, &p, 1, gx_point_form_name(form));
            }
}

static void batches_and_bits(void **state)
{
    (void)state;
    static const uint32_t bits[] = {1, 7, 64, 65, 255, 256};
    gx_msm_params p = params_of(GX_BLS12_381_G1, 5, 7);
    check(GX_BLS12_381_G1, &p, 3, "a batch");
    p = params_of(GX_BN254_G2, 9, 3);
    check(GX_BN254_G2, &p, 8, "a batch");
    for (size_t i = 0; i < GXT_COUNT(bits); i++) {
        p = params_of(GX_BN254_G1, 0, 20);
        p.scalar_bits = bits[i];
        check(GX_BN254_G1, &p, 1, "some bits");
    }
}

/* ---- multiples of one point: sums of one point each ---- */

static void multiples(void **state)
{
    (void)state;
    static const uint32_t bits[] = {1, 70, 255};
    for (gx_curve c = 1; c <= CURVES; c++)
        for (gx_point_form form = 1; form <= FORMS; form++)
            for (gx_scalar_form of = 0; of < 2 && gx_point_bytes(c, form); of++) {
                if (gxt_small() && (c + form + of) % 2)
                    continue;
                gx_msm_params p = params_of(c, form == 1 ? 0 : 8 + form, 1); /* 0: infinity */
                p.result_form = form;
                p.scalar_form = of;
                for (size_t i = 0; i < 8; i++) /* below the modulus */
                    scalars[i * SCALAR + 31] &= 0x1f;
                check(c, &p, 8, gx_point_form_name(form));
            }
    for (size_t i = 0; i < GXT_COUNT(bits); i++) {
        gx_msm_params p = params_of(GX_BN254_G1, 11, 1);
        p.scalar_bits = bits[i];
        check(GX_BN254_G1, &p, 7, "some bits");
    }
}

/* More than one block of them; and whatever is known of devices, a GPU is not chosen unless the
 * caller wants one. */
static void many_multiples(void **state)
{
    (void)state;
    enum { MANY = (1 << 16) + 9, EACH = 64 };
    gx_config config = {.device = "cpu,sim:desktop", .cache_dir = "none"};
    gx_ctx *own = gxt_open(&config);
    gx_points *some = make_points(own, GX_BN254_G1);
    gx_msm_params p = params_of(GX_BN254_G1, 12, 1);
    unsigned char *many = gxt_alloc((size_t)MANY * SCALAR), *out = gxt_alloc((size_t)MANY * EACH);
    gx_report report = gxt_report();
    for (size_t i = 0; i < MANY; i++)
        memcpy(many + i * SCALAR, scalars + i % 999 * SCALAR, SCALAR);
    p.points = some;
    gx_job job = gx_msm(&p, MANY, gx_host(many), gx_host(out));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gx_run(own, &job, 1, NULL, &report), GX_OK);
        assert_string_equal(report.device, "cpu");
    }
    for (size_t i = 0; i < MANY; i += MANY / 7) {
        expect_affine(GX_BN254_G1, &p, many + i * SCALAR, want);
        assert_memory_equal(out + i * EACH, want, EACH);
    }
    const gx_run_params gpu = {.policy = GX_POLICY_GPU};
    job = job_of(GX_BN254_G1, &p, 5);
    expect(GX_BN254_G1, &p, 5);
    memset(got, GUARD, sizeof got);
    assert_int_equal(gx_run(own, &job, 1, &gpu, &report), GX_OK);
    assert_string_equal(report.device, "sim:desktop");
    expect_bytes("sim:desktop", "multiples");
    gx_points_destroy(&some);
    gx_close(&own);
    free(many);
    free(out);
}

/* Without memory for a table of multiples they are computed one by one. */
static void multiples_in_little_memory(void **state)
{
    (void)state;
    gx_msm_params p = params_of(GX_BLS12_381_G1, 13, 1);
    expect(GX_BLS12_381_G1, &p, 8);
    gx_config config = {.device = "cpu", .device_memory = 1 << 20, .cache_dir = "none"};
    gx_ctx *own = gxt_open(&config);
    gx_points *some = make_points(own, GX_BLS12_381_G1);
    gx_job job = job_of(GX_BLS12_381_G1, &p, 8);
    p.points = some;
    memset(got, GUARD, sizeof got);
    assert_int_equal(gxt_run(own, &job, NULL, NULL), GX_OK);
    expect_bytes("cpu", "little memory");
    gx_points_destroy(&some);
    gx_close(&own);
}

static void nothing_to_add(void **state)
{
    (void)state;
    gx_msm_params p = params_of(GX_BLS12_381_G1, 4, 0);
    p.result_form = GX_POINT_COMPRESSED;
    check(GX_BLS12_381_G1, &p, 1, "no points");
    p = params_of(GX_BLS12_381_G1, MOST, 0);
    check(GX_BLS12_381_G1, &p, 1, "no points");
    p = params_of(GX_BLS12_381_G1, 4, 5);
    check(GX_BLS12_381_G1, &p, 0, "no results");
}

/* ---- memory ---- */

static void in_buffers(void **state)
{
    (void)state;
    gx_msm_params p = params_of(GX_BN254_G1, 2, 21);
    for (int form = 0; form < 2; form++) {
        p.scalar_form = (gx_scalar_form)form;
        for (size_t i = 0; i < 42; i++)
            scalars[i * SCALAR + 31] &= 0x1f;
        expect(GX_BN254_G1, &p, 2);
        for (size_t d = 0; d < device_count; d++) {
            gx_buf *buf = NULL;
            gx_job job = job_of(GX_BN254_G1, &p, 2);
            if (!run_on(&job, devices[d]))
                continue;
            memset(got, GUARD, sizeof got);
            assert_int_equal(gx_buf_create(ctx, devices[d], 42 * SCALAR + 48 + 144, 0, &buf),
                             GX_OK);
            assert_int_equal(gx_buf_write(buf, 48, scalars, 42 * SCALAR), GX_OK);
            job.a = gx_dev(buf, 48);
            job.out = gx_dev(buf, 48 + 42 * SCALAR);
            assert_int_equal(gxt_run(ctx, &job, devices[d], NULL), GX_OK);
            assert_int_equal(gx_buf_read(buf, 48 + 42 * SCALAR, got, 128), GX_OK);
            expect_bytes(devices[d], "buffers");
            assert_int_equal(gxt_run(ctx, &job, NULL, NULL), GX_OK);
            gx_buf_destroy(&buf);
        }
    }
}

/* The points do not fit the device, and travel in pieces. */
static void more_than_fits(void **state)
{
    (void)state;
    gx_msm_params p = params_of(GX_BN254_G1, 0, MOST);
    gx_config config = {.device = "sim:desktop", .device_memory = 100000, .cache_dir = "none"};
    gx_ctx *own = gxt_open(&config);
    gx_points *few = make_points(own, GX_BN254_G1);
    expect(GX_BN254_G1, &p, 1);
    p.points = few;
    for (uint32_t bits = 0; bits < 2; bits++) {
        gx_job job = job_of(GX_BN254_G1, &p, 1);
        struct gx_statistics stats = {0};
        memset(got, GUARD, sizeof got);
        assert_int_equal(gxt_run(own, &job, NULL, NULL), GX_OK);
        expect_bytes("sim:desktop", "in pieces");
        gx__stats(own, &stats);
        assert_true(stats.device_bytes_peak <= 100000);
        assert_true(stats.dispatches > 2);
    }
    gx_points_destroy(&few);
    gx_close(&own);
}

/* Tables of multiples, of different sizes, change no result. */
static void with_tables(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 300000, 3000000, 1u << 30};
    size_t each = oracle_affine_bytes(GX_BLS12_381_G1);
    unsigned char *memory = gxt_alloc(MOST * each);
    gx_points_read(points_of(GX_BLS12_381_G1), 0, MOST, GX_POINT_XY_MONT, memory);
    for (size_t i = 0; i < GXT_COUNT(sizes); i++) {
        gx_points_params desc = {.struct_size = sizeof desc,
                                 .curve = GX_BLS12_381_G1,
                                 .form = GX_POINT_XY_MONT,
                                 .points = memory,
                                 .count = MOST,
                                 .table_bytes = sizes[i]};
        gx_points *some = NULL;
        struct gx_statistics stats = {0};
        gx__stats(ctx, &stats);
        uint64_t before = stats.device_bytes;
        assert_int_equal(gx_points_create(ctx, &desc, &some, NULL), GX_OK);
        for (size_t count = 3; count <= MOST - 7; count += MOST - 10) {
            gx_msm_params p = params_of(GX_BLS12_381_G1, 7, count);
            expect(GX_BLS12_381_G1, &p, 1);
            p.points = some;
            gx_job job = job_of(GX_BLS12_381_G1, &p, 1);
            assert_true(run_on(&job, "cpu"));
            expect_bytes("cpu", "tables");
        }
        gx__stats(ctx, &stats);
        assert_true(i < 2 || stats.device_bytes >= before + MOST * each);
        assert_true(i == 3 || stats.device_bytes < before + sizes[i] + (8u << 20));
        gx_points_destroy(&some);
        gx__stats(ctx, &stats);
        assert_true(stats.device_bytes <= before + (8u << 20)); /* scratch may be more */
    }
    free(memory);
}

/* ---- tickets ---- */

static void tickets(void **state)
{
    (void)state;
    gx_ticket *ticket[4];
    gx_msm_params p = params_of(GX_BN254_G1, 1, 30);
    expect(GX_BN254_G1, &p, 1);
    for (size_t d = 0; d < device_count; d++) {
        gx_run_params opts = {.struct_size = sizeof opts, .device = devices[d]};
        gx_job job = job_of(GX_BN254_G1, &p, 1);
        if (!run_on(&job, devices[d]))
            continue;
        memset(got, GUARD, sizeof got);
        for (size_t i = 0; i < GXT_COUNT(ticket); i++) {
            gx_msm_params own = p; /* the ticket has a copy */
            job = job_of(GX_BN254_G1, &own, 1);
            job.out = gx_host(got + i * 64);
            assert_int_equal(gx_submit(ctx, &job, 1, &opts, &ticket[i]), GX_OK);
            memset(&own, GUARD, sizeof own);
            if (i == 3)
                gx_cancel(ticket[i]);
        }
        for (size_t i = 0; i < GXT_COUNT(ticket); i++) {
            gx_status s = gx_wait(ticket[i], UINT64_MAX, NULL);
            assert_true(s == GX_OK || (i == 3 && s == GX_ERR_CANCELLED));
            if (s == GX_OK)
                assert_memory_equal(got + i * 64, want, 64);
            else
                assert_int_equal(got[i * 64], GUARD);
            gx_ticket_destroy(&ticket[i]);
        }
    }
}

/* ---- the router ---- */

/* The CPU twice, with equal times: a split pays off. */
static gx_ctx *open_two_alike(void)
{
    static const gx_op op = GX_MSM;
    static const gx_field field = GX_BLS12_381_FR;
    const gx_config config = {.device = "fault:fail@999999999:cpu,fault:fail@99999999:cpu",
                              .sample_every = 1,
                              .cache_dir = "none"};
    const gx_calibrate_params settings = {.struct_size = sizeof settings,
                                          .ops = &op,
                                          .op_count = 1,
                                          .fields = &field,
                                          .field_count = 1,
                                          .max_elems = 1024,
                                          .limit_ns = 1000000000};
    gx_ctx *own = gxt_open(&config);
    assert_int_equal(gx_calibrate(own, &settings), GX_OK);
    return own;
}

/* Whichever devices share a job, their parts add up. */
static void chosen_and_shared(void **state)
{
    (void)state;
    static const gx_policy policies[] = {GX_POLICY_THROUGHPUT, GX_POLICY_AUTO};
    gx_ctx *own = open_two_alike();
    gx_points *some = make_points(own, GX_BLS12_381_G1);
    size_t shared = 0;
    for (size_t i = 0; i < 6; i++) {
        size_t batch = i % 2 ? 1 : 8;
        gx_msm_params p = params_of(GX_BLS12_381_G1, i, 2400 / batch);
        p.result_form = i % 4 == 1 ? GX_POINT_COMPRESSED : GX_POINT_JACOBIAN_MONT;
        expect(GX_BLS12_381_G1, &p, batch);
        p.points = some;
        for (size_t k = 0; k < GXT_COUNT(policies); k++) {
            const gx_run_params opts = {.policy = policies[k]};
            gx_job job = job_of(GX_BLS12_381_G1, &p, batch);
            gx_report r = gxt_report();
            memset(got, GUARD, sizeof got);
            assert_int_equal(gx_run(own, &job, 1, &opts, &r), GX_OK);
            assert_string_equal(r.message, "");
            expect_bytes(gx_policy_name(policies[k]), "chosen");
            shared += r.reason == GX_REASON_SPLIT;
        }
    }
    gx_points_destroy(&some);
    gx_close(&own);
    assert_true(shared > 0);
}

/* A device that gives wrong points is found. */
static void wrong_results(void **state)
{
    (void)state;
    for (unsigned at = 1; at < 4; at++) {
        char list[64];
        snprintf(list, sizeof list, "fault:corrupt@%u:sim:desktop", at);
        gx_config config = {.device = list, .sample_every = 1, .cache_dir = "none"};
        gx_ctx *own = gxt_open(&config);
        gx_points *some = make_points(own, GX_BN254_G1);
        struct gx_statistics stats = {0};
        gx_msm_params p = params_of(GX_BN254_G1, 0, POINTS);
        expect(GX_BN254_G1, &p, 1);
        p.points = some;
        for (int i = 0; i < 3; i++) {
            gx_job job = job_of(GX_BN254_G1, &p, 1);
            gx_status s = gxt_run(own, &job, NULL, NULL);
            if (s == GX_OK)
                assert_memory_equal(got, want, 64);
        }
        gx__stats(own, &stats);
        assert_true(stats.mismatches > 0 || at > 2);
        gx_points_destroy(&some);
        gx_close(&own);
    }
}

/* So is one that gives points of the curve that are not the sum: small sums of a new device at
 * once, larger ones after a few. */
static void wrong_points(void **state)
{
    (void)state;
    const size_t counts[] = {POINTS, gxt_small() ? 300 : MOST};
    enum { JOBS = 200 };
    for (size_t k = 0; k < GXT_COUNT(counts); k++) {
        gx_config config = {
            .device = "fault:zero@1:sim:desktop", .sample_every = 8, .cache_dir = "none"};
        gx_ctx *own = gxt_open(&config);
        gx_points *some = make_points(own, GX_BN254_G1);
        struct gx_statistics stats = {0};
        gx_msm_params p = params_of(GX_BN254_G1, 0, counts[k]);
        static const unsigned char infinity[64];
        int jobs = 0;
        expect(GX_BN254_G1, &p, 1);
        p.points = some;
        while (!stats.mismatches && ++jobs < JOBS) {
            gx_job job = job_of(GX_BN254_G1, &p, 1);
            gx_status s = gxt_run(own, &job, NULL, NULL);
            gx__stats(own, &stats);
            if (s == GX_OK) /* found out, it is not used; or not found out yet */
                assert_memory_equal(got, stats.mismatches ? want : infinity, 64);
        }
        assert_true(stats.mismatches > 0);
        assert_true(jobs == 1 || counts[k] > POINTS);
        gx_points_destroy(&some);
        gx_close(&own);
    }
}

/* Scalars that are copied to the device before its kernels run, unless there is no room, and calls
 * that break then. */
static void many_scalars(void **state)
{
    (void)state;
    enum { MANY = (4 << 20) / SCALAR + 77, ROOM = 3 << 20, CALLS = 60 };
    static const char *const faults[] = {"lose", "fail", "oom"};
    const gx_curve curve = GX_BN254_G1;
    const size_t bytes = oracle_affine_bytes(curve);
    unsigned char *memory = gxt_alloc(MANY * bytes), *many = gxt_alloc((size_t)2 * MANY * SCALAR);
    mpz_t sum;
    mpz_init(sum);
    assert_int_equal(gx_points_read(points_of(curve), 0, POINTS, GX_POINT_XY_MONT, memory), GX_OK);
    for (size_t i = 0; i < MANY; i++) {
        if (i >= POINTS)
            memcpy(memory + i * bytes, memory + i % POINTS * bytes, bytes);
        memset(many + i * SCALAR, 0xff, SCALAR); /* above the bits that count */
        many[i * SCALAR] = (unsigned char)oracle_random(&rng);
        mpz_addmul_ui(sum, multiple[i % POINTS], many[i * SCALAR] & 3);
    }
    memset(want, GUARD, sizeof want);
    oracle_point_mul(curve, want, gx_curve_get_info(curve)->generator, sum);
    mpz_clear(sum);
    const gx_points_params desc = {.struct_size = sizeof desc,
                                   .curve = curve,
                                   .form = GX_POINT_XY_MONT,
                                   .points = memory,
                                   .count = MANY,
                                   .check = GX_CHECK_NONE};
    gx_points *some = NULL;
    gx_msm_params p = {
        .struct_size = sizeof p, .count = MANY, .scalar_bits = 2, .result_form = GX_POINT_XY_MONT};
    gx_job job = job_of(curve, &p, 1);
    job.a = gx_host(many);
    assert_int_equal(gx_points_create(ctx, &desc, &some, NULL), GX_OK);
    p.points = some;
    for (size_t d = 0; d < device_count; d++)
        if (strcmp(devices[d], "ref") && run_on(&job, devices[d]))
            expect_bytes(devices[d], "many scalars");
    const unsigned step = gxt_small() ? 3 : 1;
    unsigned broke = 0;
    for (unsigned i = 0; i < GXT_COUNT(faults) * CALLS; i += step) {
        char device[64];
        snprintf(device, sizeof device, "fault:%s@%u:sim:desktop", faults[i / CALLS],
                 i % CALLS + 1);
        memset(got, GUARD, sizeof got);
        gx_status s = gxt_run(ctx, &job, device, NULL);
        broke += s != GX_OK;
        if (s == GX_OK)
            expect_bytes(device, "many scalars");
    }
    assert_true(broke > CALLS / step);
    memcpy(many + (size_t)MANY * SCALAR, many, (size_t)MANY * SCALAR); /* for two results */
    memcpy(want + bytes, want, bytes);
    job.n *= 2;
    for (size_t d = 0; d < device_count; d++)
        if (strcmp(devices[d], "ref") && run_on(&job, devices[d]))
            expect_bytes(devices[d], "many scalars, twice");
    memset(want + bytes, GUARD, bytes);
    job.n /= 2;
    gx_points_destroy(&some);

    const gx_config config = {.device = "sim:desktop", .device_memory = ROOM, .cache_dir = "none"};
    gx_ctx *own = gxt_open(&config);
    assert_int_equal(gx_points_create(own, &desc, &some, NULL), GX_OK);
    p.points = some;
    memset(got, GUARD, sizeof got);
    assert_int_equal(gxt_run(own, &job, NULL, NULL), GX_OK);
    expect_bytes("sim:desktop", "many scalars, little room");
    gx_points_destroy(&some);
    gx_close(&own);
    free(memory);
    free(many);
}

static void estimates(void **state)
{
    (void)state;
    gx_msm_params p = params_of(GX_BLS12_381_G2, 0, 100);
    p.result_form = GX_POINT_EIP2537;
    gx_job job = job_of(GX_BLS12_381_G2, &p, 2);
    assert_int_equal(gx_operand_bytes(&job, 'a'), 200 * SCALAR);
    assert_int_equal(gx_operand_bytes(&job, 'o'), 2 * 256);
    p.count = SIZE_MAX; /* sizes are asked for before anything is checked */
    assert_int_equal(gx_operand_bytes(&job, 'a'), 200 * SCALAR);
    p.count = 100;
    for (size_t d = 0; d < device_count; d++) {
        gx_run_params opts = {.struct_size = sizeof opts, .device = devices[d]};
        gx_estimate_info info = {.struct_size = sizeof info};
        gx_status s = gx_estimate(ctx, &job, 1, &opts, &info);
        assert_true(s == GX_OK || s == GX_ERR_UNSUPPORTED);
        if (s == GX_OK)
            assert_true(info.dispatches >= 1);
    }
    if (gxt_one_gpu())
        return;
    /* additions, not bytes, take the time: 20 us would be enough for these */
    const gx_run_params sim = {.struct_size = sizeof sim, .device = "sim:desktop"};
    gx_estimate_info info = {.struct_size = sizeof info};
    p = params_of(GX_BLS12_381_G1, 0, MOST);
    job = job_of(GX_BLS12_381_G1, &p, 1);
    assert_int_equal(gx_estimate(ctx, &job, 1, &sim, &info), GX_OK);
    print_message("%u points: %u us predicted\n", MOST, (unsigned)(info.predicted_ns / 1000));
    assert_true(info.predicted_ns > 100000);
}

/* As many batches of sums as will run, not one. */
static void estimates_of_many(void **state)
{
    (void)state;
    enum { RESULTS = 128, RESULT = 64 };
    static unsigned char out[RESULTS * RESULT];
    gx_msm_params p = params_of(GX_BN254_G1, 0, 4);
    gx_job job = job_of(GX_BN254_G1, &p, RESULTS);
    const gx_run_params opts = {.struct_size = sizeof opts, .device = "sim:desktop"};
    gx_estimate_info info = {.struct_size = sizeof info};
    gx_report r = {.struct_size = sizeof r};
    job.out = gx_host(out);
    if (gxt_one_gpu())
        return;
    assert_int_equal(gx_operand_bytes(&job, 'o'), sizeof out);
    assert_int_equal(gx_estimate(ctx, &job, 1, &opts, &info), GX_OK);
    assert_int_equal(gx_run(ctx, &job, 1, &opts, &r), GX_OK);
    assert_int_equal(info.dispatches, r.dispatches);
    assert_true(r.dispatches >= RESULTS);
}

/* ---- refusals ---- */

static void refuse(const gx_job *job, gx_status status, const char *why)
{
    memset(got, GUARD, sizeof got);
    memset(want, GUARD, sizeof want);
    if (gxt_run(ctx, job, "cpu", NULL) != status || !strstr(gx_last_message(), why))
        fail_msg("%s: '%s'", why, gx_last_message());
    assert_memory_equal(got, want, sizeof got);
}

static void invalid_jobs(void **state)
{
    (void)state;
    gx_ctx *other = gxt_open(NULL);
    gx_points *others = make_points(other, GX_BN254_G1);
    const gx_msm_params good = params_of(GX_BN254_G1, 0, 4);
    gx_msm_params p = good;
    gx_job job = job_of(GX_BN254_G1, &p, 2);
    p.points = NULL;
    refuse(&job, GX_ERR_INVALID, "points is NULL");
    p.points = others;
    refuse(&job, GX_ERR_INVALID, "another context");
    p = good;
    p.first = MOST - 3;
    refuse(&job, GX_ERR_INVALID, "there are");
    p = good;
    p.result_form = 0;
    refuse(&job, GX_ERR_INVALID, "result_form is 0");
    p.result_form = GX_POINT_COMPRESSED;
    refuse(&job, GX_ERR_INVALID, "no such form");
    p = good;
    p.scalar_form = 2;
    refuse(&job, GX_ERR_INVALID, "scalar_form");
    p = good;
    p.scalar_bits = 257;
    refuse(&job, GX_ERR_INVALID, "scalar_bits");
    p = good;
    p.scalar_bits = 10;
    p.scalar_form = GX_SCALAR_MONT;
    refuse(&job, GX_ERR_INVALID, "plain scalars");
    p = good;
    p.reserved = 1;
    refuse(&job, GX_ERR_INVALID, "reserved");
    p = good;
    job.n = 7;
    refuse(&job, GX_ERR_INVALID, "not a multiple");
    job = job_of(GX_BN254_G1, &p, 2);
    job.field = GX_BLS12_381_FR;
    refuse(&job, GX_ERR_INVALID, "the scalars of bn254-g1");
    job.field = GX_BN254_FQ;
    refuse(&job, GX_ERR_UNSUPPORTED, "does not exist");
    job = job_of(GX_BN254_G1, &p, 2);
    job.a.broadcast = 1;
    refuse(&job, GX_ERR_INVALID, "broadcast");
    job = job_of(GX_BN254_G1, &p, 2);
    job.params = NULL;
    refuse(&job, GX_ERR_INVALID, "gx_msm_params");
    job = job_of(GX_BN254_G1, &p, 2);
    job.out = gx_host(scalars + 100);
    refuse(&job, GX_ERR_OVERLAP, "overlaps");
    job = job_of(GX_BN254_G1, &p, 2);
    job.b = gx_host(scalars);
    refuse(&job, GX_ERR_INVALID, "takes no operand b");
    gx_points_destroy(&others);
    gx_close(&other);
}

static void scalars_not_below_the_modulus(void **state)
{
    (void)state;
    unsigned char kept[SCALAR];
    gx_msm_params p = params_of(GX_BN254_G1, 0, 10);
    p.scalar_form = GX_SCALAR_MONT;
    for (size_t i = 0; i < 20; i++)
        scalars[i * SCALAR + 31] &= 0x1f;
    memcpy(kept, scalars + 13 * SCALAR, SCALAR);
    gxt_put_modulus(GX_BN254_FR, scalars + 13 * SCALAR);
    gx_job job = job_of(GX_BN254_G1, &p, 2);
    memset(want, GUARD, sizeof want);
    for (size_t d = 0; d < device_count; d++) {
        gx_report r = gxt_report();
        memset(got, GUARD, sizeof got);
        gx_status s = gxt_run(ctx, &job, devices[d], &r);
        assert_int_equal(s, GX_ERR_NOT_CANONICAL);
        assert_int_equal(r.bad_index, 13);
        assert_int_equal(r.bad_operand, 'a');
        expect_bytes(devices[d], "refused");
    }
    p.scalar_form = GX_SCALAR_PLAIN;
    check(GX_BN254_G1, &p, 2, "plain scalars above the order");
    memcpy(scalars + 13 * SCALAR, kept, SCALAR);
}

int main(int argc, char **argv)
{
    gxt_choose_gpu(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_and_counts),
        cmocka_unit_test(batches_and_bits),
        cmocka_unit_test(nothing_to_add),
        cmocka_unit_test(in_buffers),
        cmocka_unit_test(more_than_fits),
        cmocka_unit_test(with_tables),
        cmocka_unit_test(tickets),
        cmocka_unit_test(chosen_and_shared),
        cmocka_unit_test(wrong_results),
        cmocka_unit_test(wrong_points),
        cmocka_unit_test(many_scalars),
        cmocka_unit_test(estimates),
        cmocka_unit_test(estimates_of_many),
        cmocka_unit_test(invalid_jobs),
        cmocka_unit_test(scalars_not_below_the_modulus),
        cmocka_unit_test(many_multiples),
        cmocka_unit_test(multiples_in_little_memory),
        cmocka_unit_test(multiples),
        cmocka_unit_test(forms_give_one_answer),
    };
    return cmocka_run_group_tests_name("msm", tests, prepare, finish);
}
