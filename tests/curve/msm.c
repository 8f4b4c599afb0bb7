/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplication and multiples of a point in every tier: against sums of multiples by
 * doubling and adding, which the test `curve` checks against GMP; and, for many points, against one
 * multiple of the generator, the points being known multiples of it.
 *
 * usage: msm-kernels [--bench]    prints the time of one thread by curve, tier and size instead
 */
#include <stdio.h>
#include <time.h>

#include "base/os.h"
#include "curve/coord.h"
#include "curve/multiples.h"
#include "support/harness.h"
#include "support/oracle_curve.h"

enum { WORDS = 2 * GX_COORD_LIMBS, SMALL = 70, CANARY = 0xa5, ROOM = 64 };

static uint64_t seed = 25;

/* ---- calls -------------------------------------------------------------------------- */

/* The chunks of a phase, last to first or in another order, by several workers in turn. */
static size_t chunk_at(size_t i, size_t chunks, uint32_t workers)
{
    return workers == 2 ? chunks - 1 - i : i;
}

static void *scratch_of(size_t bytes)
{
    void *memory = NULL;
    memory = gx__os_alloc(bytes + ROOM);
    assert_non_null(memory);
    memset(memory, CANARY, bytes + ROOM);
    return memory;
}

static void assert_room(const void *memory, size_t bytes)
{
    for (size_t i = 0; i < ROOM; i++)
        assert_int_equal(((const uint8_t *)memory)[bytes + i], CANARY);
}

static void run_msm(const struct gx_msm_host *host, struct gx_msm_call *call, uint64_t *xy)
{
    struct gx_xyzz result;
    const size_t bytes = gx__msm_scratch(host, call);
    call->result = &result;
    call->scratch = scratch_of(bytes);
    for (size_t p = 0, phases = gx__msm_phases(host, call); p < phases; p++)
        for (size_t i = 0, chunks = gx__msm_chunks(host, call, p); i < chunks; i++)
            gx__msm_chunk(host, call, p, chunk_at(i, chunks, call->workers),
                          (uint32_t)(i % call->workers));
    assert_room(call->scratch, bytes);
    gx__os_free(call->scratch);
    gx__xyzz_to_affine(call->curve, &result, xy);
}

static void run_multiples(const struct gx_msm_host *host, struct gx_multiples_call *call)
{
    const size_t bytes = gx__multiples_scratch(host, call);
    call->scratch = scratch_of(bytes);
    for (size_t p = 0, phases = gx__multiples_phases(host, call); p < phases; p++)
        for (size_t i = 0, chunks = gx__multiples_chunks(host, call, p); i < chunks; i++)
            gx__multiples_chunk(host, call, p, chunk_at(i, chunks, call->workers),
                                (uint32_t)(i % call->workers));
    assert_room(call->scratch, bytes);
    gx__os_free(call->scratch);
}

/* Calls f for each tier that this CPU has. */
static void each_tier(const struct gx_curve_row *curve,
                      void (*f)(const struct gx_curve_row *, const struct gx_msm_host *))
{
    for (unsigned t = 0; t < GX_TIERS; t++) {
        const struct gx_msm_host *host = gx__msm_host(1u << t);
        if (gx__msm_tier(host) == (enum gx_tier)t)
            f(curve, host);
    }
}

/* The smaller effort takes a third of the cases for each curve in each tier, all of them for one
 * curve in three tiers. */
static bool left_out(const struct gx_curve_row *curve, const struct gx_msm_host *host, size_t i)
{
    return gxt_small() && (i + curve->curve + gx__msm_tier(host)) % 3;
}

static void everywhere(void (*f)(const struct gx_curve_row *, const struct gx_msm_host *))
{
    for (gx_curve c = 1; c < GX_CURVE_END; c++)
        each_tier(gx__curve(c), f);
}

/* ---- points and scalars ---------------------------------------------------------------- */

struct input {
    size_t n;
    uint64_t points[SMALL * WORDS]; /* packed by the curve's size */
    uint64_t scalars[SMALL * GX_SCALAR_LIMBS];
};

static size_t words_of(const struct gx_curve_row *curve)
{
    return (size_t)2 * curve->limbs;
}

static uint64_t *point(const struct gx_curve_row *curve, struct input *in, size_t i)
{
    return in->points + i * words_of(curve);
}

static void set_infinity(const struct gx_curve_row *curve, struct input *in, size_t i)
{
    memset(point(curve, in, i), 0, words_of(curve) * sizeof(uint64_t));
}

/* Random multiples of the generator. */
static void fill(const struct gx_curve_row *curve, struct input *in, size_t n)
{
    struct gx_xyzz p;
    in->n = n;
    gx__xyzz_set_affine(curve, &p, curve->generator);
    for (size_t i = 0; i < n; i++) {
        uint64_t factor = gxt_next(&seed);
        gx__xyzz_mul(curve, &p, &p, &factor, 64);
        gx__xyzz_to_affine(curve, &p, point(curve, in, i));
    }
    gxt_bytes(&seed, in->scalars, sizeof in->scalars);
}

static void mask_bits(uint64_t *to, const uint64_t *from, uint32_t bits)
{
    for (uint32_t i = 0; i < GX_SCALAR_LIMBS; i++) {
        uint32_t left = bits > 64 * i ? bits - 64 * i : 0;
        to[i] = left >= 64 ? from[i] : left ? from[i] & (((uint64_t)1 << left) - 1) : 0;
    }
}

static void expected(const struct gx_curve_row *curve, struct input *in, uint32_t bits,
                     uint64_t *xy)
{
    struct gx_xyzz sum, p;
    gx__xyzz_set_infinity(&sum);
    for (size_t i = 0; i < in->n; i++) {
        uint64_t scalar[GX_SCALAR_LIMBS];
        mask_bits(scalar, in->scalars + i * GX_SCALAR_LIMBS, bits);
        gx__xyzz_set_affine(curve, &p, point(curve, in, i));
        gx__xyzz_mul(curve, &p, &p, scalar, bits);
        gx__xyzz_add(curve, &sum, &p);
    }
    gx__xyzz_to_affine(curve, &sum, xy);
}

static void check_as(const struct gx_curve_row *curve, const struct gx_msm_host *host,
                     struct input *in, uint32_t bits, uint32_t window, uint32_t workers,
                     const uint64_t *want)
{
    uint64_t got[WORDS];
    struct gx_msm_call call = {.curve = curve,
                               .points = in->points,
                               .scalars = in->scalars,
                               .count = in->n,
                               .bits = bits,
                               .workers = workers,
                               .window = window};
    run_msm(host, &call, got);
    assert_memory_equal(got, want, words_of(curve) * sizeof *got);
}

static void check(const struct gx_curve_row *curve, const struct gx_msm_host *host,
                  struct input *in, uint32_t bits)
{
    static const uint32_t windows[] = {0, 2, 8, 5, 13};
    uint64_t want[WORDS];
    expected(curve, in, bits, want);
    for (size_t i = 0; i < (gxt_small() ? 3 : GXT_COUNT(windows)); i++)
        check_as(curve, host, in, bits, windows[i], 1, want);
}

/* ---- tests ------------------------------------------------------------------------------- */

static void windows_of(const struct gx_curve_row *curve, const struct gx_msm_host *host)
{
    struct input in;
    uint64_t want[WORDS];
    fill(curve, &in, 37);
    expected(curve, &in, GX_SCALAR_BITS, want);
    for (uint32_t window = 0; window <= GX_WINDOW_MAX; window++)
        if (!left_out(curve, host, window))
            check_as(curve, host, &in, GX_SCALAR_BITS, window, 1, want);
    for (uint32_t workers = 1; workers <= 7; workers += workers == 2 ? 5 : 1)
        check_as(curve, host, &in, GX_SCALAR_BITS, 6, workers, want);
}

static void windows(void **state)
{
    (void)state;
    everywhere(windows_of);
}

static void counts_of(const struct gx_curve_row *curve, const struct gx_msm_host *host)
{
    struct input in;
    for (size_t n = 0; n <= SMALL; n += gxt_small() && n > 9 ? 13 : 1) {
        uint64_t want[WORDS];
        fill(curve, &in, n);
        expected(curve, &in, 40, want);
        check_as(curve, host, &in, 40, (uint32_t)n % 9, 1, want);
    }
}

static void counts(void **state)
{
    (void)state;
    everywhere(counts_of);
}

static void bits_of(const struct gx_curve_row *curve, const struct gx_msm_host *host)
{
    struct input in;
    fill(curve, &in, 11);
    static const uint32_t bits[] = {1, 2, 3, 7, 8, 31, 63, 64, 65, 127, 128, 192, 254, 255, 256};
    for (size_t i = 0; i < GXT_COUNT(bits); i++)
        if (!left_out(curve, host, i))
            check(curve, host, &in, bits[i]);
}

static void bits(void **state)
{
    (void)state;
    everywhere(bits_of);
}

/* 0, 1, 2^k - 1, 2^k, the order of the group less one and more, 2^256 - 1. */
static void edge_scalar(const struct gx_curve_row *curve, uint64_t *scalar, size_t i)
{
    memset(scalar, 0, GX_SCALAR_LIMBS * sizeof *scalar);
    if (i < 3) {
        memcpy(scalar, curve->scalar->p, GX_SCALAR_LIMBS * sizeof *scalar);
        scalar[0] += i - 1;
    } else if (i == 3) {
        memset(scalar, 0xff, GX_SCALAR_LIMBS * sizeof *scalar);
    } else if (i > 5) {
        uint32_t k = (uint32_t)(i * 4 + i % 3) % GX_SCALAR_BITS;
        uint64_t ones[GX_SCALAR_LIMBS] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
        if (i % 2)
            mask_bits(scalar, ones, k);
        else
            scalar[k / 64] = (uint64_t)1 << k % 64;
    } else {
        scalar[0] = i - 4;
    }
}

static void edges_of(const struct gx_curve_row *curve, const struct gx_msm_host *host)
{
    struct input in, one;
    fill(curve, &in, SMALL);
    for (size_t i = 0; i < SMALL; i++) {
        edge_scalar(curve, in.scalars + i * GX_SCALAR_LIMBS, i);
        uint64_t want[WORDS];
        if (i > 5 && left_out(curve, host, i))
            continue;
        one = in;
        one.n = 1;
        memcpy(one.scalars, in.scalars + i * GX_SCALAR_LIMBS, GX_SCALAR_LIMBS * sizeof(uint64_t));
        expected(curve, &one, GX_SCALAR_BITS, want);
        check_as(curve, host, &one, GX_SCALAR_BITS, (uint32_t)(i % 13), 1, want);
    }
    check(curve, host, &in, GX_SCALAR_BITS);
}

static void edges(void **state)
{
    (void)state;
    everywhere(edges_of);
}

static void infinity_of(const struct gx_curve_row *curve, const struct gx_msm_host *host)
{
    struct input in, some;
    uint64_t want[WORDS];
    fill(curve, &in, 19);
    for (size_t i = 0; i < in.n; i++) {
        if (left_out(curve, host, i))
            continue;
        some = in;
        set_infinity(curve, &some, i);
        expected(curve, &some, 24, want);
        check_as(curve, host, &some, 24, 1 + (uint32_t)i % 5, 1, want);
        set_infinity(curve, &some, (i + 1) % in.n);
        expected(curve, &some, 24, want);
        check_as(curve, host, &some, 24, 1 + (uint32_t)i % 5, 1, want);
    }
    for (size_t i = 0; i < in.n; i++)
        set_infinity(curve, &in, i);
    check(curve, host, &in, GX_SCALAR_BITS);
}

static void infinity(void **state)
{
    (void)state;
    everywhere(infinity_of);
}

/* Point i is point `of`, or its opposite. */
static void repeat(const struct gx_curve_row *curve, struct input *in, size_t i, size_t of,
                   bool negative)
{
    struct gx_xyzz p;
    gx__xyzz_set_affine(curve, &p, point(curve, in, of));
    if (negative)
        gx__xyzz_neg(curve, &p);
    gx__xyzz_to_affine(curve, &p, point(curve, in, i));
}

static void same_scalars(struct input *in)
{
    for (size_t i = 1; i < in->n; i++)
        memcpy(in->scalars + i * GX_SCALAR_LIMBS, in->scalars, GX_SCALAR_LIMBS * sizeof(uint64_t));
}

/* How many points are equal, and which are opposite: every mixture in one bucket. */
static void repeated_of(const struct gx_curve_row *curve, const struct gx_msm_host *host)
{
    struct input in;
    for (uint32_t kind = 0; kind < 12; kind += gxt_small() ? 3 : 1) {
        if (left_out(curve, host, kind / 3))
            continue;
        fill(curve, &in, SMALL - kind);
        size_t distinct = 1 + kind % 4;
        for (size_t i = distinct; i < in.n; i++) {
            bool negative = kind < 4 ? false : kind < 8 ? i / distinct % 2 : gxt_next(&seed) % 2;
            repeat(curve, &in, i, i % distinct, negative);
        }
        check(curve, host, &in, 32);
        same_scalars(&in);
        check(curve, host, &in, 32);
    }
}

static void repeated(void **state)
{
    (void)state;
    everywhere(repeated_of);
}

/* (0, 2) or (0, -2) on y^2 = x^3 + 4, outside the subgroup: of order 3. */
static void set_order_3(const struct gx_curve_row *curve, struct input *in, size_t i, bool negative)
{
    uint64_t *y = point(curve, in, i) + curve->limbs;
    set_infinity(curve, in, i);
    gx__coord_add(curve, y, curve->base->one, curve->base->one);
    if (negative)
        gx__coord_neg(curve, y, y);
}

static void outside_of(const struct gx_curve_row *curve, const struct gx_msm_host *host)
{
    struct input in;
    if (curve->curve != GX_BLS12_381_G1)
        return;
    fill(curve, &in, 40);
    for (size_t i = 0; i < in.n; i += 1 + i % 3) {
        set_order_3(curve, &in, i, i % 2);
        assert_true(oracle_point_on_curve(curve->curve, point(curve, &in, i)));
    }
    check(curve, host, &in, 20);
    same_scalars(&in);
    check(curve, host, &in, 20);
    for (size_t i = 0; i < in.n; i++)
        set_order_3(curve, &in, i, false);
    check(curve, host, &in, GX_SCALAR_BITS);
}

static void outside_the_subgroup(void **state)
{
    (void)state;
    everywhere(outside_of);
}

/* ---- tables -----------------------------------------------------------------------------------
 */

static void fill_table(const struct gx_msm_host *host, struct gx_msm_table *table,
                       const uint64_t *points)
{
    const size_t bytes = gx__msm_table_bytes(host, table);
    const size_t scratch_bytes = gx__msm_table_scratch(host, table);
    void *scratch = scratch_of(scratch_bytes);
    table->memory = scratch_of(bytes);
    for (size_t i = gx__msm_table_chunks(table); i-- > 0;)
        gx__msm_table_chunk(host, table, points, i, scratch);
    assert_room(table->memory, bytes);
    assert_room(scratch, scratch_bytes);
    gx__os_free(scratch);
}

/* A part of the points of a table. */
static void check_range(const struct gx_curve_row *curve, const struct gx_msm_host *host,
                        struct input *in, const struct gx_msm_table *table, size_t first,
                        uint32_t bits)
{
    struct input part = {.n = in->n - first};
    uint64_t want[WORDS], got[WORDS];
    memcpy(part.points, point(curve, in, first), part.n * words_of(curve) * sizeof *part.points);
    memcpy(part.scalars, in->scalars, sizeof part.scalars);
    struct gx_msm_call call = {.curve = curve,
                               .points = part.points,
                               .scalars = part.scalars,
                               .count = part.n,
                               .bits = bits,
                               .workers = 1 + (uint32_t)first % 3,
                               .table = table,
                               .first = first};
    expected(curve, &part, bits, want);
    run_msm(host, &call, got);
    assert_memory_equal(got, want, words_of(curve) * sizeof *got);
}

static void tables_of(const struct gx_curve_row *curve, const struct gx_msm_host *host)
{
    struct gx_msm_table table;
    struct input in;
    fill(curve, &in, 23);
    set_infinity(curve, &in, 4);
    for (size_t i = 12; i < 15; i++)
        repeat(curve, &in, i, 11, i % 2);
    if (curve->curve == GX_BLS12_381_G1)
        set_order_3(curve, &in, 7, false);
    for (size_t i = 0; i < 10; i++)
        edge_scalar(curve, in.scalars + (i + 8) * GX_SCALAR_LIMBS, i);
    assert_true(gx__msm_table_plan(host, curve, in.n, UINT32_MAX, &table));
    const size_t most = gx__msm_table_bytes(host, &table), one = most / table.parts;
    assert_int_equal(table.rows, 1);
    assert_false(gx__msm_table_plan(host, curve, in.n, one - 1, &table));
    for (size_t parts = 1, i = 0; parts < most / one; parts = 2 * parts + 1, i++) {
        if (left_out(curve, host, i))
            continue;
        assert_true(gx__msm_table_plan(host, curve, in.n, parts * one, &table));
        assert_true(table.parts <= parts);
        fill_table(host, &table, in.points);
        check_range(curve, host, &in, &table, 0, GX_SCALAR_BITS);
        check_range(curve, host, &in, &table, parts % in.n, 77);
        check_range(curve, host, &in, &table, in.n, GX_SCALAR_BITS);
        gx__os_free(table.memory);
    }
}

static void tables(void **state)
{
    (void)state;
    everywhere(tables_of);
}

/* ---- many points ---------------------------------------------------------------------------- */

struct many {
    size_t n;
    uint64_t *factors, *points, *scalars;
};

static struct many many_points(const struct gx_curve_row *curve, const struct gx_msm_host *host,
                               size_t n)
{
    const size_t bytes = n * GX_SCALAR_LIMBS * sizeof(uint64_t);
    struct many m = {.n = n, .factors = gxt_alloc(bytes), .scalars = gxt_alloc(bytes)};
    m.points = gxt_alloc(n * words_of(curve) * sizeof *m.points);
    gxt_bytes(&seed, m.factors, bytes);
    gxt_bytes(&seed, m.scalars, bytes);
    struct gx_multiples_call call = {.curve = curve,
                                     .base = curve->generator,
                                     .scalars = m.factors,
                                     .count = n,
                                     .bits = GX_SCALAR_BITS,
                                     .workers = 1,
                                     .out = m.points};
    run_multiples(host, &call);
    return m;
}

static void free_many(struct many *m)
{
    free(m->factors);
    free(m->points);
    free(m->scalars);
}

/* (sum of scalar * factor) * generator. */
static void expected_many(const struct gx_curve_row *curve, const struct many *m, uint64_t *xy)
{
    uint64_t total[2 * GX_SCALAR_LIMBS + 1] = {0};
    struct gx_xyzz p;
    mpz_t sum, s, t;
    mpz_inits(sum, s, t, NULL);
    for (size_t i = 0; i < m->n; i++) {
        oracle_import(s, m->scalars + i * GX_SCALAR_LIMBS, GX_SCALAR_LIMBS);
        oracle_import(t, m->factors + i * GX_SCALAR_LIMBS, GX_SCALAR_LIMBS);
        mpz_addmul(sum, s, t);
    }
    oracle_export(total, GXT_COUNT(total), sum);
    gx__xyzz_set_affine(curve, &p, curve->generator);
    gx__xyzz_mul(curve, &p, &p, total, 64 * GXT_COUNT(total));
    gx__xyzz_to_affine(curve, &p, xy);
    mpz_clears(sum, s, t, NULL);
}

static void check_many(const struct gx_curve_row *curve, const struct gx_msm_host *host,
                       const struct many *m, uint32_t workers)
{
    uint64_t got[WORDS], want[WORDS];
    struct gx_msm_call call = {.curve = curve,
                               .points = m->points,
                               .scalars = m->scalars,
                               .count = m->n,
                               .bits = GX_SCALAR_BITS,
                               .workers = workers};
    expected_many(curve, m, want);
    run_msm(host, &call, got);
    assert_memory_equal(got, want, words_of(curve) * sizeof *got);
}

/* Uniform, one value for all, 0 and 1, 90 % small. */
static void skew(struct many *m, uint32_t kind)
{
    for (size_t i = 0; i < m->n && kind; i++) {
        uint64_t *s = m->scalars + i * GX_SCALAR_LIMBS;
        if (kind == 1)
            memcpy(s, m->scalars, GX_SCALAR_LIMBS * sizeof *s);
        else if (kind == 2 || i % 10)
            mask_bits(s, s, kind == 2 ? 1 : 8);
    }
}

static void many_of(const struct gx_curve_row *curve, const struct gx_msm_host *host)
{
    bool quick = gx__msm_tier(host) != GX_TIER_PORTABLE && !gxt_small();
    size_t n = quick ? 16411 : curve->degree == 1 && !gxt_small() ? 4099 : 257;
    static const uint32_t workers[] = {1, 2, 7, 3};
    struct many m = many_points(curve, host, n);
    for (uint32_t kind = 0; kind < GXT_COUNT(workers); kind++) {
        skew(&m, kind);
        check_many(curve, host, &m, workers[kind]);
    }
    free_many(&m);
}

static void many(void **state)
{
    (void)state;
    everywhere(many_of);
}

/* ---- multiples ------------------------------------------------------------------------------ */

static void multiples_of(const struct gx_curve_row *curve, const struct gx_msm_host *host)
{
    struct input in;
    uint64_t out[SMALL * WORDS], want[WORDS];
    for (uint32_t window = 0; window <= 9; window++) {
        size_t n = window < 2 ? SMALL : window;
        const uint32_t bits = window % 3 == 1 ? GX_SCALAR_BITS - 17 * window : GX_SCALAR_BITS;
        fill(curve, &in, 1);
        if (window == 5)
            set_infinity(curve, &in, 0);
        if (window == 6 && curve->curve == GX_BLS12_381_G1)
            set_order_3(curve, &in, 0, false);
        for (size_t i = 0; i < n && window != 3; i++)
            edge_scalar(curve, in.scalars + i * GX_SCALAR_LIMBS, i + window * 5);
        struct gx_multiples_call call = {.curve = curve,
                                         .base = in.points,
                                         .scalars = in.scalars,
                                         .count = n,
                                         .bits = bits,
                                         .workers = 1 + window % 2,
                                         .window = window,
                                         .out = out};
        run_multiples(host, &call);
        for (size_t i = 0; i < n; i++) {
            if (i > 5 && left_out(curve, host, i))
                continue;
            struct gx_xyzz p;
            gx__xyzz_set_affine(curve, &p, in.points);
            gx__xyzz_mul(curve, &p, &p, in.scalars + i * GX_SCALAR_LIMBS, bits);
            gx__xyzz_to_affine(curve, &p, want);
            assert_memory_equal(out + i * words_of(curve), want, words_of(curve) * sizeof *want);
        }
    }
}

static void multiples(void **state)
{
    (void)state;
    everywhere(multiples_of);
}

/* ---- times ----------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void bench(const struct gx_curve_row *curve, const struct gx_msm_host *host)
{
    static const uint32_t sizes[GX_TIERS] = {14, 16, 18};
    const uint32_t largest = sizes[gx__msm_tier(host)];
    double start = now();
    struct many m = many_points(curve, host, (size_t)1 << largest);
    printf("%-14s %-8s multiples 2^%u %.0f ms; msm", curve->info.name,
           gx_tier_name(gx__msm_tier(host)), largest, now() - start);
    for (uint32_t log2 = 10; log2 <= largest; log2 += 2) {
        uint64_t xy[WORDS];
        struct gx_msm_call call = {.curve = curve,
                                   .points = m.points,
                                   .scalars = m.scalars,
                                   .count = (size_t)1 << log2,
                                   .bits = GX_SCALAR_BITS,
                                   .workers = 1};
        double best = 1e30;
        for (int i = 0; i < 3; i++) {
            start = now();
            run_msm(host, &call, xy);
            best = now() - start < best ? now() - start : best;
        }
        printf(" 2^%u %.2f", log2, best);
    }
    printf(" ms\n");
    free_many(&m);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--bench")) {
        everywhere(bench);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows),   cmocka_unit_test(counts),
        cmocka_unit_test(bits),      cmocka_unit_test(edges),
        cmocka_unit_test(infinity),  cmocka_unit_test(repeated),
        cmocka_unit_test(many),      cmocka_unit_test(outside_the_subgroup),
        cmocka_unit_test(multiples), cmocka_unit_test(tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
