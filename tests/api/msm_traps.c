/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplications that random tests do not meet: infinity, equal and opposite points
 * anywhere, scalars at the edges of digits and of the order, skewed scalars, every number of
 * points, ranges, batches, forms, buffers, and points that do not fit into the memory budget; on
 * every device. Points outside the subgroup are in msm-vectors.
 *
 * usage: msm-traps [webgpu]    the WebGPU devices alone, else all others
 */
#include <stdio.h>

#include "api/counters.h"
#include "conformance/msm_targets.h"

enum { COUNTS = 1025, FEW_COUNTS = 513, GUARD = 0x5c };

static struct oracle_rng rng = {1803};

static int open_all(void **state)
{
    (void)state;
    msm_open_targets(
        &(struct msm_curves){.over_vulkan = MSM_CURVE(GX_BLS12_381_G1) | MSM_CURVE(GX_BN254_G1),
                             .over_gl = MSM_CURVE(GX_BLS12_381_G1) | MSM_CURVE(GX_BN254_G2),
                             .emulated = MSM_CURVE(GX_BN254_G1)});
    return 0;
}

static gx_msm_params params_of(size_t first, size_t count)
{
    return (gx_msm_params){.struct_size = sizeof(gx_msm_params),
                           .first = first,
                           .count = count,
                           .result_form = GX_POINT_XY_MONT};
}

/* Random ones, and among them infinity, equal and opposite points. */
static void mixed(struct known *k, gx_curve curve, size_t count)
{
    known_open(k, curve, count);
    for (size_t i = 0; i < count; i++) {
        unsigned char *t = k->t + i * KNOWN_SCALAR;
        if (i % 17 == 5)
            known_set(k, i, 0);
        else if (i % 11 == 3)
            memcpy(t, t - KNOWN_SCALAR, KNOWN_SCALAR);
        else if (i % 13 == 6)
            known_set(k, i, i % 2 ? 9 : -9);
        else
            known_set_random(k, i, &rng);
    }
    known_make(k, msm_any());
}

/* Random ones, and among them those at the edges. */
static unsigned char *some_scalars(gx_curve curve, size_t count)
{
    unsigned char *scalars = gxt_alloc(count * KNOWN_SCALAR);
    known_random(&rng, scalars, count);
    for (size_t i = 0; i < count; i++) {
        unsigned char *s = scalars + i * KNOWN_SCALAR;
        if (i % 7 == 2)
            known_order(curve, s, (int)(i % 3) - 1);
        else if (i % 7 == 5)
            known_power(s, (uint32_t)(i * 29 % 257), -(int)(i % 2));
    }
    return scalars;
}

/* ---- how many ---- */

/* The sums of the first 0, 1, ... `most` products. */
static unsigned char *prefix_sums(const struct known *k, const unsigned char *scalars, size_t most)
{
    unsigned char *sums = gxt_alloc((most + 1) * KNOWN_SCALAR),
                  *want = gxt_alloc((most + 1) * k->bytes);
    mpz_t sum, s, t, r;
    mpz_inits(sum, s, t, r, NULL);
    oracle_modulus(r, oracle_scalar_field(k->curve));
    for (size_t i = 0; i <= most; i++) {
        oracle_export(sums + i * KNOWN_SCALAR, KNOWN_SCALAR / 8, sum);
        if (i == most)
            break;
        oracle_import(s, scalars + i * KNOWN_SCALAR, KNOWN_SCALAR / 8);
        oracle_import(t, k->t + i * KNOWN_SCALAR, KNOWN_SCALAR / 8);
        mpz_addmul(sum, s, t);
        mpz_mod(sum, sum, r);
    }
    mpz_clears(sum, s, t, r, NULL);
    struct known multiples = {
        .curve = k->curve, .count = most + 1, .bytes = k->bytes, .t = sums, .points = want};
    known_make(&multiples, msm_any());
    free(sums);
    return want;
}

static int usual(gx_curve curve)
{
    return curve == GX_BLS12_381_G1;
}

/* Slow devices, and curves like another, take fewer of them: primes, and those around powers of
 * two. */
static int takes(const struct target *t, gx_curve curve, size_t n)
{
    static const size_t few[] = {0,   1,   2,   3,   5,   31,  32,  33,  64,   97,
                                 127, 128, 129, 251, 256, 509, 513, 769, 1021, 1025};
    if (n > t->most)
        return 0;
    if (t == targets && usual(curve) && !gxt_small() && !webgpu_alone)
        return n < 300 || n % 4 == 1;
    for (size_t i = 0; i < GXT_COUNT(few); i++)
        if (few[i] == n)
            return !t->slow || (usual(curve) && !gxt_small()) || n < 4 || n == 97 ||
                   n == FEW_COUNTS;
    return !t->slow && usual(curve) && n % 61 == 0;
}

static void every_count(void **state)
{
    (void)state;
    for (gx_curve c = 1; c <= MSM_CURVES; c++) {
        struct known k;
        const size_t most = usual(c) ? COUNTS : FEW_COUNTS;
        mixed(&k, c, most);
        unsigned char *scalars = some_scalars(c, most), *want = prefix_sums(&k, scalars, most);
        for (size_t i = 0; i < target_count; i++) {
            if (!msm_has(&targets[i], c))
                continue;
            gx_points *points = known_points(&k, targets[i].ctx);
            for (size_t n = 0; n <= most; n++) {
                gx_msm_params p = params_of(0, n);
                p.points = points;
                if (takes(&targets[i], c, n))
                    msm_check(&targets[i], c, &p, 1, scalars, want + n * k.bytes, "count");
            }
            gx_points_destroy(&points);
        }
        free(scalars);
        free(want);
        known_close(&k);
    }
}

/* ---- points ---- */

/* One of 2n - 1 points is infinite; every range of n of them has it elsewhere. */
static void infinity_everywhere(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 33, 300};
    for (size_t z = 0; z < GXT_COUNT(sizes); z++) {
        struct known k;
        size_t n = sizes[z];
        known_open(&k, z % 2 ? GX_BLS12_381_G1 : GX_BN254_G1, 2 * n - 1);
        for (size_t i = 0; i < k.count; i++)
            if (i != n - 1)
                known_set_random(&k, i, &rng);
        known_make(&k, msm_any());
        unsigned char *scalars = some_scalars(k.curve, n);
        for (size_t first = 0; first<n; first += n> 33 ? n / 3 : 1) {
            gx_msm_params p = params_of(first, n);
            unsigned char *want = msm_want(&k, &p, 1, scalars);
            for (size_t i = 0; i < target_count; i++)
                if (n <= targets[i].most && msm_has(&targets[i], k.curve) &&
                    (!targets[i].slow || n > 33 || first % 16 == 0))
                    msm_check_known(&targets[i], &k, &p, 1, scalars, want, "one is infinite");
            free(want);
        }
        free(scalars);
        known_close(&k);
    }
}

/* What the points of a pattern are multiples of. */
static const struct pattern {
    const char *name;
    int64_t t[4]; /* repeated */
} patterns[] = {
    {"all infinite", {0, 0, 0, 0}},   {"all equal", {7, 7, 7, 7}},   {"pairs", {1, -1, 1, -1}},
    {"two and two", {3, 3, -3, -3}},  {"two to one", {5, 5, -5, 5}}, {"doubles", {1, 2, 4, 8}},
    {"half infinite", {0, 6, 0, -6}}, {"sums", {1, 2, -3, 0}},
};

enum scalar_kind { ONES, ONE_VALUE, MINUS, PAIRS, POWERS, SCALAR_KINDS };

static void put_kind(gx_curve curve, enum scalar_kind kind, unsigned char *scalars, size_t n)
{
    static const unsigned char value[KNOWN_SCALAR] = {0xf7, 0x80, 0x7f, 0xff, 0, 1,    2,
                                                      3,    4,    5,    6,    7, 0x88, 0x80};
    for (size_t i = 0; i < n; i++) {
        unsigned char *s = scalars + i * KNOWN_SCALAR;
        memset(s, 0, KNOWN_SCALAR);
        if (kind == ONE_VALUE)
            memcpy(s, value, KNOWN_SCALAR);
        else if (kind == MINUS)
            known_order(curve, s, -1);
        else if (kind == PAIRS && i % 2)
            known_order(curve, s, -5);
        else if (kind == POWERS)
            known_power(s, (uint32_t)(i / 2 % 250), 0);
        else
            s[0] = kind == PAIRS ? 5 : 1;
    }
}

/* In sums of these, points meet themselves and their opposites. */
static void points_meet(void **state)
{
    (void)state;
    static const size_t sizes[] = {2, 3, 4, 100, 700};
    unsigned char *scalars = gxt_alloc(700 * KNOWN_SCALAR * SCALAR_KINDS);
    for (size_t a = 0; a < GXT_COUNT(patterns); a++)
        for (size_t z = 0; z < GXT_COUNT(sizes); z++) {
            struct known k;
            size_t n = sizes[z];
            known_open(&k, (gx_curve)(1 + (a + z) % MSM_CURVES), n);
            for (size_t i = 0; i < n; i++)
                known_set(&k, i, patterns[a].t[i % 4]);
            known_make(&k, msm_any());
            for (int kind = 0; kind < SCALAR_KINDS; kind++)
                put_kind(k.curve, (enum scalar_kind)kind, scalars + kind * n * KNOWN_SCALAR, n);
            gx_msm_params p = params_of(0, n);
            unsigned char *want = msm_want(&k, &p, SCALAR_KINDS, scalars);
            for (size_t i = 0; i < target_count; i++)
                if (n <= targets[i].most && msm_has(&targets[i], k.curve) &&
                    (!targets[i].slow || n == 4 || (usual(k.curve) && n < 700)))
                    msm_check_known(&targets[i], &k, &p, SCALAR_KINDS, scalars, want,
                                    patterns[a].name);
            free(want);
            known_close(&k);
        }
    free(scalars);
}

/* ---- scalars ---- */

/* Every 2^k - 1, 2^k and 2^k + 1 up to 2^256 - 1, and those around the order. */
static size_t edges(gx_curve curve, unsigned char *scalars)
{
    size_t n = 0;
    for (uint32_t k = 0; k <= 256; k++)
        for (int add = -1; add <= (k < 256); add++)
            known_power(scalars + n++ * KNOWN_SCALAR, k, add);
    for (int add = -2; add <= 2; add++)
        known_order(curve, scalars + n++ * KNOWN_SCALAR, add);
    return n;
}

static void last_carries(void **state)
{
    (void)state;
    enum { EDGES_MAX = 800 };
    static unsigned char scalars[EDGES_MAX * KNOWN_SCALAR];
    for (gx_curve c = 1; c <= MSM_CURVES; c++) {
        struct known k, one;
        size_t n = edges(c, scalars);
        assert_true(n > 770 && n < EDGES_MAX);
        mixed(&k, c, n);
        known_open(&one, c, n); /* the same as points */
        memcpy(one.t, scalars, n * KNOWN_SCALAR);
        known_make(&one, msm_any());
        gx_msm_params p = params_of(0, n);
        unsigned char *want = msm_want(&k, &p, 1, scalars);
        for (size_t i = 0; i < target_count; i++) {
            if (targets[i].most < n || !msm_has(&targets[i], c))
                continue;
            p = params_of(0, n);
            msm_check_known(&targets[i], &k, &p, 1, scalars, want, "edges");
            if (targets[i].slow || (gxt_small() && !usual(c) && c != GX_BN254_G2))
                continue;
            gx_points_params desc = {.struct_size = sizeof desc,
                                     .curve = c,
                                     .form = GX_POINT_XY_MONT,
                                     .points = gx_curve_get_info(c)->generator,
                                     .count = 1};
            gx_points *generator = NULL;
            assert_int_equal(gx_points_create(targets[i].ctx, &desc, &generator, NULL), GX_OK);
            p = params_of(0, 1);
            p.points = generator;
            msm_check(&targets[i], c, &p, n, scalars, one.points, "one edge");
            gx_points_destroy(&generator);
        }
        free(want);
        known_close(&k);
        known_close(&one);
    }
}

/* The size of digits depends on the number of points: the carries of each. */
static void carries_of_every_size(void **state)
{
    (void)state;
    enum { EDGES = 6 };
    const size_t most = gxt_small() ? 1024 : 4096;
    struct known k;
    mixed(&k, GX_BLS12_381_G1, most);
    unsigned char *scalars = gxt_alloc(EDGES * most * KNOWN_SCALAR);
    for (size_t n = 1; n <= most; n *= 2) {
        for (size_t i = 0; i < EDGES * n; i++) {
            unsigned char *s = scalars + i * KNOWN_SCALAR;
            memset(s, i / n == 0 ? 0xff : i / n == 1 ? 0x80 : 0x7f, KNOWN_SCALAR);
            if (i / n >= 3)
                known_order(k.curve, s, (int)(i / n) - 4);
        }
        gx_msm_params p = params_of(most - n, n);
        unsigned char *want = msm_want(&k, &p, EDGES, scalars);
        for (size_t i = 0; i < target_count; i++) {
            const struct target *t = &targets[i];
            if (n <= t->most && (!t->slow || n == 1 || n == 64 || n == 1024))
                msm_check_known(t, &k, &p, t->slow ? EDGES / 2 : EDGES, scalars, want, "carries");
        }
        free(want);
    }
    free(scalars);
    known_close(&k);
}

/* Higher bits are ignored. */
static void bits_of_scalars(void **state)
{
    (void)state;
    static const uint32_t bits[] = {1,  2,  3,   7,   8,   13,  16,  31,  32,  33, 63,
                                    64, 65, 127, 128, 129, 200, 253, 254, 255, 256};
    enum { N = 60 };
    struct known k;
    mixed(&k, GX_BLS12_381_G1, N);
    unsigned char *scalars = some_scalars(k.curve, (size_t)2 * N);
    memset(scalars + (size_t)N * KNOWN_SCALAR, 0xff, (size_t)N * KNOWN_SCALAR);
    for (size_t b = 0; b < GXT_COUNT(bits); b++) {
        gx_msm_params p = params_of(0, N);
        p.scalar_bits = bits[b];
        unsigned char *want = msm_want(&k, &p, 2, scalars);
        for (size_t i = 0; i < target_count; i++)
            if (!targets[i].slow || b % 3 == 0)
                msm_check_known(&targets[i], &k, &p, 2, scalars, want, "bits");
        free(want);
    }
    free(scalars);
    known_close(&k);
}

/* ---- larger ones ---- */

enum skew { UNIFORM, ALL_ONE, ZERO_ONE, SAME, SMALL, SKEWS };

static void put_skew(enum skew skew, unsigned char *scalars, size_t n)
{
    known_random(&rng, scalars, n);
    for (size_t i = 0; i < n && skew != UNIFORM; i++) {
        unsigned char *s = scalars + i * KNOWN_SCALAR;
        if (skew == SAME)
            memcpy(s, scalars, KNOWN_SCALAR);
        else if (skew != SMALL || i % 10)
            memset(s + 1, 0, KNOWN_SCALAR - 1);
        if (skew == ALL_ONE || skew == ZERO_ONE)
            s[0] = skew == ALL_ONE ? 1 : s[0] & 1;
    }
}

static void skewed(void **state)
{
    (void)state;
    static const struct {
        gx_curve curve;
        size_t log2_n;
        int slow; /* on these too */
    } cases[] = {{GX_BLS12_381_G1, 16, 0}, {GX_BLS12_381_G1, 12, 1}, {GX_BN254_G1, 14, 0},
                 {GX_BN254_G1, 11, 1},     {GX_BLS12_381_G2, 12, 0}, {GX_BN254_G2, 9, 1}};
    for (size_t a = 0; a < GXT_COUNT(cases); a++) {
        struct known k;
        size_t n = (size_t)1 << (cases[a].log2_n - (gxt_small() ? 3 : 0));
        mixed(&k, cases[a].curve, n);
        unsigned char *scalars = gxt_alloc(n * KNOWN_SCALAR);
        for (int skew = 0; skew < SKEWS; skew++) {
            put_skew((enum skew)skew, scalars, n);
            gx_msm_params p = params_of(0, n);
            unsigned char *want = msm_want(&k, &p, 1, scalars);
            for (size_t i = 0; i < target_count; i++)
                if (n <= targets[i].most && (cases[a].slow || !targets[i].slow) &&
                    msm_has(&targets[i], k.curve))
                    msm_check_known(&targets[i], &k, &p, 1, scalars, want, "skewed");
            free(want);
        }
        free(scalars);
        known_close(&k);
    }
}

/* ---- forms ---- */

static gx_points *points_in(gx_ctx *ctx, const struct known *k, gx_point_form form)
{
    size_t each = gx_point_bytes(k->curve, form);
    unsigned char *encoded = gxt_alloc(k->count * each);
    gx_points_params desc = {.struct_size = sizeof desc,
                             .curve = k->curve,
                             .form = form,
                             .points = encoded,
                             .count = k->count,
                             .check = GX_CHECK_SUBGROUP};
    gx_points *made = NULL;
    for (size_t i = 0; i < k->count; i++)
        oracle_point_encode(k->curve, form, encoded + i * each, k->points + i * k->bytes);
    if (gx_points_create(ctx, &desc, &made, NULL) != GX_OK)
        fail_msg("%s: %s", gx_point_form_name(form), gx_last_message());
    free(encoded);
    return made;
}

/* The scalars in both forms, points and results in all that the curve has: one answer. */
static void one_answer(const struct target *t, const struct known *k, const unsigned char *scalars)
{
    unsigned char want[ORACLE_POINT_BYTES], *mont = gxt_alloc(k->count * KNOWN_SCALAR);
    gx_field field = oracle_scalar_field(k->curve);
    oracle_run(GX_TO_MONT, field, k->count, mont, scalars, NULL, NULL, 0);
    known_sum(k, 0, k->count, scalars, 256, want);
    for (gx_point_form form = 1; form <= GX_POINT_JACOBIAN_MONT; form++) {
        if (!gx_point_bytes(k->curve, form) || (form > 1 && t->slow))
            continue; /* points are read on the host */
        gx_points *points = points_in(t->ctx, k, form);
        for (gx_point_form result = 1; result <= GX_POINT_JACOBIAN_MONT; result++) {
            gx_msm_params p = params_of(0, k->count);
            p.points = points;
            p.result_form = result;
            p.scalar_form = (form + result) % 2 ? GX_SCALAR_MONT : GX_SCALAR_PLAIN;
            if (gx_point_bytes(k->curve, result))
                msm_check(t, k->curve, &p, 1, p.scalar_form == GX_SCALAR_MONT ? mont : scalars,
                          want, gx_point_form_name(form));
        }
        gx_points_destroy(&points);
    }
    free(mont);
}

static void all_forms_one_answer(void **state)
{
    (void)state;
    enum { N = 21 };
    for (gx_curve c = 1; c <= MSM_CURVES; c++) {
        struct known k;
        unsigned char scalars[N * KNOWN_SCALAR];
        mixed(&k, c, N);
        oracle_fill(oracle_scalar_field(c), &rng, scalars, N);
        for (size_t i = 0; i < target_count; i++)
            if (msm_has(&targets[i], c) && targets[i].most > N)
                one_answer(&targets[i], &k, scalars);
        known_close(&k);
    }
}

/* An infinite result, in every form. */
static void infinite_results(void **state)
{
    (void)state;
    static const unsigned char zero[ORACLE_POINT_BYTES], scalars[2 * KNOWN_SCALAR] = {3, [32] = 3};
    for (gx_curve c = 1; c <= MSM_CURVES; c++) {
        struct known k;
        known_open(&k, c, 2);
        known_set(&k, 0, 77);
        known_set(&k, 1, -77);
        known_make(&k, msm_any());
        for (size_t i = 0; i < target_count; i++) {
            if (!msm_has(&targets[i], c))
                continue;
            gx_points *points = known_points(&k, targets[i].ctx);
            for (gx_point_form form = 1; form <= GX_POINT_JACOBIAN_MONT; form++)
                for (size_t n = 0; n <= 2 && gx_point_bytes(c, form); n += 2) {
                    gx_msm_params p = params_of(n ? 0 : 1, n);
                    p.points = points;
                    p.result_form = form;
                    msm_check(&targets[i], c, &p, 1, scalars, zero, "infinity");
                }
            gx_points_destroy(&points);
        }
        known_close(&k);
    }
}

/* Plain coordinates are not on the curve as Montgomery ones, nor the other way round. */
static void forms_are_not_guessed(void **state)
{
    (void)state;
    enum { N = 5 };
    for (gx_curve c = 1; c <= MSM_CURVES; c++) {
        struct known k;
        unsigned char plain[N * ORACLE_POINT_BYTES];
        known_open(&k, c, N);
        for (size_t i = 0; i < N; i++)
            known_set(&k, i, (int64_t)i * 5); /* the first is infinity */
        known_make(&k, msm_any());
        for (size_t i = 0; i < N; i++)
            oracle_point_encode(c, GX_POINT_XY_PLAIN, plain + i * k.bytes, k.points + i * k.bytes);
        for (int mont = 0; mont < 2; mont++) {
            gx_points_params desc = {.struct_size = sizeof desc,
                                     .curve = c,
                                     .form = mont ? GX_POINT_XY_MONT : GX_POINT_XY_PLAIN,
                                     .points = mont ? plain : k.points,
                                     .count = N};
            gx_points *made = NULL;
            uint64_t bad = 0;
            assert_int_equal(gx_points_create(msm_any(), &desc, &made, &bad), GX_ERR_INVALID);
            assert_null(made);
            assert_int_equal(bad, 1);
            assert_non_null(strstr(gx_last_message(), "not on the curve"));
        }
        known_close(&k);
    }
}

/* ---- parts ---- */

static void ranges_and_batches(void **state)
{
    (void)state;
    enum { N = 9, BATCHES = 7 };
    struct known k;
    mixed(&k, GX_BLS12_381_G1, N);
    unsigned char *scalars = some_scalars(k.curve, (size_t)N * BATCHES);
    for (size_t first = 0; first < N; first++)
        for (size_t count = 1; first + count <= N; count++) {
            gx_msm_params p = params_of(first, count);
            size_t batch = 1 + (first + count) % BATCHES;
            unsigned char *want = msm_want(&k, &p, batch, scalars);
            for (size_t i = 0; i < target_count; i++)
                if (!targets[i].slow || (first * 4 + count) % 18 == 0)
                    msm_check_known(&targets[i], &k, &p, batch, scalars, want, "range");
            free(want);
        }
    free(scalars);
    known_close(&k);
}

static void refuse(const struct target *t, const gx_job *job, gx_status want)
{
    gx_report r = gxt_report();
    gx_status s = gxt_run(t->ctx, job, t->device, &r);
    if (s != want || !r.message[0])
        fail_msg("%s: %s instead of %s: %s", t->device, gx_status_name(s), gx_status_name(want),
                 r.message);
}

/* Ranges beyond the end, results over scalars: refused, and nothing is written. */
static void refused(void **state)
{
    (void)state;
    enum { N = 4, ROOM = 1024 };
    struct known k;
    mixed(&k, GX_BLS12_381_G1, N);
    for (size_t i = 0; i < target_count; i++) {
        unsigned char memory[ROOM], kept[ROOM];
        gx_points *points = known_points(&k, targets[i].ctx);
        known_random(&rng, memory, ROOM / KNOWN_SCALAR);
        memcpy(kept, memory, ROOM);
        static const struct {
            size_t first, count;
        } beyond[] = {{N + 1, 0}, {N, 1}, {0, N + 1}, {1, N}, {SIZE_MAX, 1}, {SIZE_MAX - 1, 4}};
        for (size_t b = 0; b < GXT_COUNT(beyond); b++) {
            gx_msm_params p = params_of(beyond[b].first, beyond[b].count);
            p.points = points;
            gx_job job = known_job(k.curve, &p, 1, memory, memory + 512);
            refuse(&targets[i], &job, GX_ERR_INVALID);
        }
        gx_msm_params p = params_of(0, N);
        p.points = points;
        for (size_t at = 0; at <= N * KNOWN_SCALAR + 95; at += 37) {
            gx_job job = known_job(k.curve, &p, 1, memory + 96, memory + at);
            if (at + 96 > 96 && at < 96 + N * KNOWN_SCALAR)
                refuse(&targets[i], &job, GX_ERR_OVERLAP);
        }
        assert_memory_equal(memory, kept, ROOM);
        gx_points_destroy(&points);
    }
    known_close(&k);
}

/* Scalars, results or both in a buffer of the device. */
static void in_buffers(void **state)
{
    (void)state;
    enum { N = 40, BATCH = 3, OUT = N * BATCH * KNOWN_SCALAR + 64, BYTES = OUT + BATCH * 144 + 16 };
    struct known k;
    mixed(&k, GX_BLS12_381_G1, N);
    unsigned char *scalars = some_scalars(k.curve, (size_t)N * BATCH), want[BATCH * 144],
                  xy[ORACLE_POINT_BYTES];
    for (size_t b = 0; b < BATCH; b++) {
        known_sum(&k, 0, N, scalars + b * N * KNOWN_SCALAR, 256, xy);
        oracle_point_encode(k.curve, GX_POINT_JACOBIAN_MONT, want + b * 144, xy);
    }
    for (size_t i = 0; i < target_count; i++)
        for (int where = 1; where < 4; where++) {
            const struct target *t = &targets[i];
            unsigned char got[BATCH * 144 + 16];
            gx_points *points = known_points(&k, t->ctx);
            gx_buf *buf = NULL;
            gx_msm_params p = params_of(0, N);
            p.points = points;
            p.result_form = GX_POINT_JACOBIAN_MONT;
            memset(got, GUARD, sizeof got);
            assert_int_equal(gx_buf_create(t->ctx, t->device, BYTES, 0, &buf), GX_OK);
            assert_int_equal(gx_buf_write(buf, 32, scalars, (size_t)N * BATCH * KNOWN_SCALAR),
                             GX_OK);
            assert_int_equal(gx_buf_write(buf, OUT, got, sizeof got), GX_OK);
            gx_job job = known_job(k.curve, &p, BATCH, scalars, got);
            if (where & 1)
                job.a = gx_dev(buf, 32);
            if (where & 2)
                job.out = gx_dev(buf, OUT);
            if (gxt_run(t->ctx, &job, t->device, NULL) != GX_OK)
                fail_msg("%s, %d: %s", t->device, where, gx_last_message());
            if (where & 2)
                assert_int_equal(gx_buf_read(buf, OUT, got, sizeof got), GX_OK);
            assert_memory_equal(got, want, sizeof want);
            for (size_t g = sizeof want; g < sizeof got; g++)
                assert_int_equal(got[g], GUARD);
            job.a = gx_dev(buf, 32);
            job.out = gx_dev(buf, 48);
            refuse(t, &job, GX_ERR_OVERLAP);
            gx_buf_destroy(&buf);
            gx_points_destroy(&points);
        }
    free(scalars);
    known_close(&k);
}

/* ---- memory ---- */

/* The same as msm_check_known, on a device that may use little memory. */
static void check_within(size_t budget, const struct target *target, const struct known *k,
                         const gx_msm_params *p, size_t batch, const void *scalars,
                         const void *want)
{
    struct target t = *target;
    gx_config config = {.device_memory = budget, .cpumask = t.mask};
    struct gx_statistics stats = {0};
    if (!gxt_small())
        gxt_watch(&config);
    t.ctx = gxt_open(&config);
    msm_check_known(&t, k, p, batch, scalars, want, "budget");
    gx__stats(t.ctx, &stats);
    if (stats.device_bytes_peak > budget)
        fail_msg("%s: %llu bytes of %zu", t.device, (unsigned long long)stats.device_bytes_peak,
                 budget);
    assert_int_equal(stats.validation_messages, 0);
    gx_close(&t.ctx);
}

static int is_reference(const struct target *t)
{
    return strcmp(t->device, "ref") == 0;
}

/* Every context of these compiles its kernels. */
static int is_gpu(const struct target *t)
{
    return t->slow && !is_reference(t) && strncmp(t->device, "sim:", 4) != 0;
}

/* The points alone are larger. Scalars of 64 bits, because of the time. */
static void larger_than_the_budget(void **state)
{
    (void)state;
    static const size_t budgets[] = {1 << 20, 3 << 19, 2 << 20};
    const size_t n = gxt_small() ? 11500 : 22000, last = gxt_small() ? 1 : GXT_COUNT(budgets);
    struct known k;
    mixed(&k, GX_BLS12_381_G1, n);
    unsigned char *scalars = some_scalars(k.curve, n);
    gx_msm_params p = params_of(0, n);
    p.scalar_bits = 64;
    unsigned char *want = msm_want(&k, &p, 1, scalars);
    for (size_t i = 0; i < target_count; i++)
        for (size_t m = 0; m < last; m++) {
            assert_true(n * k.bytes > budgets[m]);
            if (!is_reference(&targets[i]) && (!m || !targets[i].slow))
                check_within(budgets[m], &targets[i], &k, &p, 1, scalars, want);
        }
    free(want);
    free(scalars);
    known_close(&k);
}

/* Batches, of scalars that have to be converted, and large points. */
static void batches_within_the_budget(void **state)
{
    (void)state;
    static const gx_curve curves[] = {GX_BLS12_381_G1, GX_BLS12_381_G2};
    static const size_t counts[] = {700, 300};
    enum { BATCH = 24 };
    for (size_t c = 0; c < GXT_COUNT(curves); c++) {
        struct known k;
        mixed(&k, curves[c], counts[c]);
        size_t all = k.count * BATCH;
        gx_field field = oracle_scalar_field(k.curve);
        unsigned char *plain = gxt_alloc(all * KNOWN_SCALAR), *mont = gxt_alloc(all * KNOWN_SCALAR);
        oracle_fill_random(field, &rng, plain, all);
        oracle_run(GX_TO_MONT, field, all, mont, plain, NULL, NULL, 0);
        gx_msm_params p = params_of(0, k.count);
        unsigned char *want = msm_want(&k, &p, BATCH, plain);
        p.scalar_form = GX_SCALAR_MONT;
        for (size_t i = 0; i < target_count; i++) {
            size_t batch = targets[i].slow ? 2 : c && gxt_small() ? BATCH / 4 : BATCH;
            if (!is_reference(&targets[i]) && (!c || !is_gpu(&targets[i])))
                check_within((c + 1) << 20, &targets[i], &k, &p, batch, mont, want);
        }
        free(want);
        free(plain);
        free(mont);
        known_close(&k);
    }
}

/* What a device can address is made small: larger sums are cut, by points and by results. The CPU
 * has no such limit. */
static void cut_into_pieces(void **state)
{
    (void)state;
    static const uint64_t limits[] = {64, 7, 1};
    enum { N = 130, FIRST = 3, BATCH = 2 };
    struct known k;
    mixed(&k, GX_BN254_G1, FIRST + N + 1);
    unsigned char *scalars = some_scalars(k.curve, (size_t)N * BATCH);
    gx_msm_params p = params_of(FIRST, N);
    p.scalar_bits = 40;
    unsigned char *want = msm_want(&k, &p, BATCH, scalars);
    for (size_t i = 0; i < target_count; i++)
        for (size_t m = 0; m < (is_gpu(&targets[i]) ? 1 : GXT_COUNT(limits)); m++) {
            struct target t = targets[i];
            gx_config config = {.dispatch_elems = limits[m], .cpumask = t.mask};
            struct gx_statistics stats = {0};
            t.elems = limits[m];
            t.ctx = gxt_open(&config);
            msm_check_known(&t, &k, &p, BATCH, scalars, want, "pieces");
            gx__stats(t.ctx, &stats);
            uint64_t least = BATCH * ((N + limits[m] - 1) / limits[m]);
            if (t.slow && !is_reference(&t) && stats.dispatches < least)
                fail_msg("%s: %llu dispatches of at most %llu points", t.device,
                         (unsigned long long)stats.dispatches, (unsigned long long)limits[m]);
            gx_close(&t.ctx);
        }
    free(want);
    free(scalars);
    known_close(&k);
}

static gx_points *points_with_tables(gx_ctx *ctx, const struct known *k, uint64_t bytes)
{
    gx_points_params desc = {.struct_size = sizeof desc,
                             .curve = k->curve,
                             .form = GX_POINT_XY_MONT,
                             .points = k->points,
                             .count = k->count,
                             .table_bytes = bytes};
    gx_points *points = NULL;
    assert_int_equal(gx_points_create(ctx, &desc, &points, NULL), GX_OK);
    return points;
}

static const struct table_job {
    size_t first, count, batch;
    uint32_t bits;
} table_jobs[] = {
    {0, 500, 1, 0}, {3, 495, 2, 0}, {120, 130, 3, 200}, {490, 9, 2, 0}, {0, 500, 1, 64}};
enum { TABLE_POINTS = 500, TABLE_BATCH = 3 };

/* Jobs with one table, which the first of them makes; few of them on slow devices. */
static void run_with_table(const struct target *t, const struct known *k, uint64_t room, bool few,
                           const unsigned char *scalars)
{
    gx_points *points = points_with_tables(t->ctx, k, room);
    for (size_t j = 0; j < (few ? 3 : GXT_COUNT(table_jobs)); j++) {
        gx_msm_params p = params_of(table_jobs[j].first, table_jobs[j].count);
        p.points = points;
        p.scalar_bits = table_jobs[j].bits;
        unsigned char *want = msm_want(k, &p, table_jobs[j].batch, scalars);
        msm_check(t, k->curve, &p, table_jobs[j].batch, scalars, want, "tables");
        free(want);
    }
    gx_points_destroy(&points);
}

/* With multiples of the points, if there is room for them: the same results, for all of the points,
 * most, and few, and for scalars of few bits. */
static void with_tables(void **state)
{
    (void)state;
    static const uint64_t rooms[] = {1, 100000, 300000, 64 << 20};
    static const gx_curve curves[] = {GX_BLS12_381_G1, GX_BN254_G2};
    const size_t last = GXT_COUNT(rooms) - 1;
    for (size_t c = 0; c < GXT_COUNT(curves); c++) {
        struct known k;
        mixed(&k, curves[c], TABLE_POINTS);
        unsigned char *scalars = some_scalars(k.curve, (size_t)TABLE_BATCH * TABLE_POINTS);
        for (size_t i = 0; i < target_count; i++) {
            const struct target *t = &targets[i];
            if (is_reference(t) || !msm_has(t, k.curve) || (c && is_gpu(t) && webgpu_alone))
                continue;
            for (size_t m = !c ? 0 : t->slow || gxt_small() ? last : 2; m <= last; m++)
                if (m != 1 || !gxt_small())
                    run_with_table(t, &k, rooms[m], t->slow && m < last, scalars);
        }
        free(scalars);
        known_close(&k);
    }
}

/* Bytes of the tables that two jobs leave. */
static uint64_t tables_within(uint64_t budget, const struct target *target, const struct known *k,
                              uint64_t table_bytes, const void *scalars, const void *want)
{
    struct target t = *target;
    gx_config config = {.device_memory = budget, .cpumask = t.mask};
    struct gx_statistics stats = {0};
    if (!gxt_small())
        gxt_watch(&config);
    t.ctx = gxt_open(&config);
    gx_points *points = points_with_tables(t.ctx, k, table_bytes);
    gx_msm_params p = params_of(0, k->count);
    p.points = points;
    for (int round = 0; round < 2; round++)
        msm_check(&t, k->curve, &p, 1, scalars, want, "tables and budgets");
    gx__stats(t.ctx, &stats);
    uint64_t held = stats.device_bytes;
    gx_points_destroy(&points);
    gx__stats(t.ctx, &stats);
    assert_true(stats.device_bytes_peak <= budget);
    assert_int_equal(stats.validation_messages, 0);
    gx_close(&t.ctx);
    return held - stats.device_bytes;
}

/* Tables are there if memory allows, and take no more than that. */
static void tables_within_the_budget(void **state)
{
    (void)state;
    static const uint64_t budgets[] = {1 << 20, 2 << 20, 5 << 20};
    enum { N = 1000, TABLE = 2 << 20, AMPLE = 64 << 20 };
    struct known k;
    mixed(&k, GX_BLS12_381_G1, N);
    unsigned char *scalars = some_scalars(k.curve, N);
    gx_msm_params p = params_of(0, N);
    unsigned char *want = msm_want(&k, &p, 1, scalars);
    for (size_t i = 0; i < target_count; i++) {
        const struct target *t = &targets[i];
        const size_t few = webgpu_alone ? 0 : is_gpu(t) || gxt_small() ? 1 : GXT_COUNT(budgets);
        for (size_t m = 0; m < few && t->most >= N; m++)
            tables_within(budgets[m], t, &k, TABLE, scalars, want);
        uint64_t bytes = t->most >= N ? tables_within(AMPLE, t, &k, TABLE, scalars, want) : TABLE;
        assert_true(bytes > TABLE / 2 && bytes < 5 * TABLE / 4); /* and scratch for making it */
    }
    free(want);
    free(scalars);
    known_close(&k);
}

int main(int argc, char **argv)
{
    choose_targets(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_count),
        cmocka_unit_test(infinity_everywhere),
        cmocka_unit_test(points_meet),
        cmocka_unit_test(last_carries),
        cmocka_unit_test(carries_of_every_size),
        cmocka_unit_test(bits_of_scalars),
        cmocka_unit_test(skewed),
        cmocka_unit_test(all_forms_one_answer),
        cmocka_unit_test(infinite_results),
        cmocka_unit_test(forms_are_not_guessed),
        cmocka_unit_test(ranges_and_batches),
        cmocka_unit_test(refused),
        cmocka_unit_test(in_buffers),
        cmocka_unit_test(larger_than_the_budget),
        cmocka_unit_test(batches_within_the_budget),
        cmocka_unit_test(cut_into_pieces),
        cmocka_unit_test(with_tables),
        cmocka_unit_test(tables_within_the_budget),
        cmocka_unit_test(msm_close_targets),
    };
    return cmocka_run_group_tests_name("msm-traps", tests, open_all, NULL);
}
