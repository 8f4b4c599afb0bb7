/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms of every tier against sums of powers by GMP, with the roots that other libraries
 * publish: all flags, paddings, orders and batches, sizes on both sides of every way of cutting
 * them into steps, in place and not, at any alignment, chunks in any order.
 */
#include <stdio.h>

#include "base/os.h"
#include "field/ntt_block.h"
#include "support/harness.h"
#include "support/oracle.h"

#define BYTES (GX_NTT_LIMBS * sizeof(uint64_t))
#define ALL_FLAGS                                                                                  \
    (GX_NTT_INVERSE | GX_NTT_COSET | GX_NTT_REVERSED_IN | GX_NTT_REVERSED_OUT | GX_NTT_COLUMNS)
#define MATH_FLAGS (GX_NTT_INVERSE | GX_NTT_COSET)
#define CANARY     0xa5
#define ROOM       64 /* bytes around the memory of a call that must not change */

/* ---- the oracle ------------------------------------------------------------------ */

static const struct {
    gx_field field;
    uint32_t two_adicity;
    const char *root; /* of order 2^two_adicity: arkworks, gnark-crypto and sppark */
} domains[] = {
    {GX_BLS12_381_FR, 32, "16a2a19edfe81f20d09b681922c813b4b63683508c2280b93829971f439f0d2b"},
    {GX_BN254_FR, 28, "2a3c09f0a58a7e8500e0a7eb8ef62abc402d111e41112ed49bd61b6e725b19f0"},
};

/* Plain integers. */
struct oracle {
    gx_field field;
    mpz_t p, root, shift;
    uint32_t log2_size; /* order of root */
};

static void oracle_open(struct oracle *o, size_t which, uint32_t log2_size)
{
    o->field = domains[which].field;
    o->log2_size = log2_size;
    mpz_inits(o->p, o->root, o->shift, NULL);
    oracle_modulus(o->p, o->field);
    assert_int_equal(mpz_set_str(o->root, domains[which].root, 16), 0);
    for (uint32_t j = log2_size; j < domains[which].two_adicity; j++) {
        mpz_mul(o->root, o->root, o->root);
        mpz_mod(o->root, o->root, o->p);
    }
    mpz_set_ui(o->shift, 0xfedcba987654321);
    mpz_mul(o->shift, o->shift, o->shift);
}

static void oracle_close(struct oracle *o)
{
    mpz_clears(o->p, o->root, o->shift, NULL);
}

/* Montgomery form. */
static void put_element(const struct oracle *o, uint64_t *to, const mpz_t plain)
{
    mpz_t z;
    mpz_init(z);
    mpz_mul_2exp(z, plain, 64 * GX_NTT_LIMBS);
    mpz_mod(z, z, o->p);
    oracle_export(to, GX_NTT_LIMBS, z);
    mpz_clear(z);
}

/* z = root of order 2^log2_n to the +-index, times the shift of a forward coset: the point that
 * output `index` is the value of the input at. */
static void set_point(const struct oracle *o, uint32_t log2_n, unsigned flags, uint64_t index,
                      mpz_t z)
{
    mpz_set_ui(z, index);
    mpz_mul_2exp(z, z, o->log2_size - log2_n);
    if (flags & GX_NTT_INVERSE)
        mpz_neg(z, z);
    mpz_powm(z, o->root, z, o->p);
    if ((flags & MATH_FLAGS) == GX_NTT_COSET)
        mpz_mul(z, z, o->shift);
}

/* Output `index` of one transform; `in` has 2^log2_in elements in natural order. Being linear in
 * them, it is in the same form. */
static void expected_one(const struct oracle *o, uint32_t log2_n, uint32_t log2_in, unsigned flags,
                         const uint64_t *in, uint64_t index, uint64_t *out)
{
    mpz_t z, sum, x;
    mpz_inits(z, sum, x, NULL);
    set_point(o, log2_n, flags, index, z);
    for (size_t i = (size_t)1 << log2_in; i-- > 0;) {
        oracle_import(x, in + GX_NTT_LIMBS * i, GX_NTT_LIMBS);
        mpz_mul(sum, sum, z);
        mpz_add(sum, sum, x);
        mpz_mod(sum, sum, o->p);
    }
    if (flags & GX_NTT_INVERSE) {
        mpz_set_ui(x, 1);
        mpz_mul_2exp(x, x, log2_n);
        if (flags & GX_NTT_COSET) {
            mpz_powm_ui(z, o->shift, index, o->p);
            mpz_mul(x, x, z);
        }
        assert_true(mpz_invert(x, x, o->p));
        mpz_mul(sum, sum, x);
        mpz_mod(sum, sum, o->p);
    }
    oracle_export(out, GX_NTT_LIMBS, sum);
    mpz_clears(z, sum, x, NULL);
}

/* ---- memory that must not be written past its ends --------------------------------- */

struct guarded {
    uint8_t *memory, *at;
    size_t bytes;
};

static struct guarded guarded(size_t bytes, size_t misalign)
{
    struct guarded g = {.bytes = bytes};
    size_t whole = (bytes + misalign + 2 * ROOM + 63) / 64 * 64;
    g.memory = gx__os_alloc(whole);
    assert_non_null(g.memory);
    memset(g.memory, CANARY, whole);
    g.at = g.memory + ROOM + misalign;
    return g;
}

static void guarded_free(struct guarded *g)
{
    for (const uint8_t *b = g->memory; b < g->at; b++)
        assert_int_equal(*b, CANARY);
    for (size_t i = 0; i < ROOM; i++)
        assert_int_equal(g->at[g->bytes + i], CANARY);
    gx__os_free(g->memory);
}

/* ---- calls -------------------------------------------------------------------------- */

struct setup {
    const struct gx_ntt_host *host;
    const struct oracle *oracle;
    struct guarded table;
};

static struct setup setup_open(const struct gx_ntt_host *host, const struct oracle *o)
{
    struct setup s = {.host = host, .oracle = o};
    uint64_t root[GX_NTT_LIMBS], shift[GX_NTT_LIMBS];
    s.table = guarded(gx__ntt_table_bytes(host, o->log2_size), 0);
    put_element(o, root, o->root);
    put_element(o, shift, o->shift);
    gx__ntt_table_fill(host, gx__prime(o->field), o->log2_size, root, shift, s.table.at);
    return s;
}

static void run_phases(const struct gx_ntt_host *host, const struct gx_ntt_call *call)
{
    size_t phases = gx__ntt_phases(host, call);
    for (size_t phase = 0; phase < phases; phase++)
        for (size_t chunk = gx__ntt_chunks(host, call, phase); chunk-- > 0;)
            gx__ntt_chunk(host, call, phase, chunk, (uint32_t)(chunk % call->workers));
}

static size_t place(const struct gx_ntt_call *call, uint32_t log2_n, bool reversed, size_t stride,
                    size_t transform, size_t i)
{
    if (reversed)
        i = gx__bit_reverse(i, log2_n);
    return call->flags & GX_NTT_COLUMNS ? i * stride + transform : (transform << log2_n) + i;
}

/* Copies transforms, one after the other in natural order, to the layout of the call, or back. */
static void lay_out(const struct gx_ntt_call *call, uint32_t log2_n, bool reversed, size_t stride,
                    uint8_t *memory, uint64_t *natural, bool back)
{
    for (size_t t = 0; t < call->batch; t++)
        for (size_t i = 0; i < (size_t)1 << log2_n; i++) {
            uint8_t *there = memory + place(call, log2_n, reversed, stride, t, i) * BYTES;
            uint64_t *here = natural + GX_NTT_LIMBS * ((t << log2_n) + i);
            memcpy(back ? (void *)here : there, back ? there : (void *)here, BYTES);
        }
}

/* Nothing was written beside the columns. */
static void expect_gaps(const struct gx_ntt_call *call, const struct guarded *out)
{
    size_t row = call->stride_out * BYTES;
    for (size_t i = 0; i < out->bytes && call->flags & GX_NTT_COLUMNS; i++)
        if (i % row >= call->batch * BYTES)
            assert_int_equal(out->at[i], CANARY);
}

/* Runs a call whose shape is given, on inputs in natural order, to outputs in natural order. */
static void transform(const struct setup *s, struct gx_ntt_call call, bool in_place, uint64_t *in,
                      uint64_t *out)
{
    uint32_t log2_in = call.log2_n - call.log2_pad;
    call.prime = gx__prime(s->oracle->field);
    call.table = s->table.at;
    call.stride_in = call.batch + (call.flags & GX_NTT_COLUMNS ? 2 : 0); /* part of a matrix */
    call.stride_out = call.batch + (call.flags & GX_NTT_COLUMNS ? in_place ? 2 : 1 : 0);
    struct guarded scratch = guarded(gx__ntt_scratch(s->host, &call), 0);
    struct guarded from = guarded((call.stride_in << log2_in) * BYTES, 1);
    struct guarded to = guarded((call.stride_out << call.log2_n) * BYTES, 3);
    lay_out(&call, log2_in, call.flags & GX_NTT_REVERSED_IN, call.stride_in, from.at, in, false);
    call.in = from.at;
    call.out = in_place ? from.at : to.at;
    call.scratch = scratch.at;
    run_phases(s->host, &call);
    lay_out(&call, call.log2_n, call.flags & GX_NTT_REVERSED_OUT, call.stride_out, call.out, out,
            true);
    expect_gaps(&call, in_place ? &from : &to);
    if (!in_place) { /* the input is as it was */
        uint64_t *again = gxt_alloc((call.batch << log2_in) * BYTES);
        lay_out(&call, log2_in, call.flags & GX_NTT_REVERSED_IN, call.stride_in, from.at, again,
                true);
        assert_memory_equal(again, in, (call.batch << log2_in) * BYTES);
        free(again);
    }
    guarded_free(&scratch);
    guarded_free(&from);
    guarded_free(&to);
}

static void describe_failure(const struct setup *s, const struct gx_ntt_call *call, size_t at)
{
    print_error("%s, tier %s: log2_n %u, pad %u, flags %u, batch %zu, steps of %u, %u workers: "
                "element %zu differs\n",
                gx_field_get_info(s->oracle->field)->name, gx_tier_name(gx__ntt_tier(s->host)),
                call->log2_n, call->log2_pad, call->flags, call->batch, call->log2_step,
                call->workers, at);
}

static void check(const struct setup *s, const struct gx_ntt_call *call, bool in_place,
                  uint64_t *in, const uint64_t *expected)
{
    size_t bytes = (call->batch << call->log2_n) * BYTES;
    uint64_t *out = gxt_alloc(bytes);
    transform(s, *call, in_place, in, out);
    for (size_t i = 0; i < bytes / BYTES; i++)
        if (memcmp(out + GX_NTT_LIMBS * i, expected + GX_NTT_LIMBS * i, BYTES)) {
            describe_failure(s, call, i);
            fail();
        }
    free(out);
}

/* ---- small sizes: everything ------------------------------------------------------- */

#define BATCH 11 /* more than the lanes of a vector, and not a multiple */

static const size_t batches[] = {1, 3, 8, BATCH};
static const uint32_t steps[] = {0, 2, 3};
static const uint32_t workers[] = {1, 3};

/* All layouts of the same transforms. */
static void check_layouts(const struct setup *s, uint32_t log2_n, uint32_t pad, unsigned math,
                          uint64_t *in, const uint64_t *expected)
{
    for (unsigned flags = 0; flags <= ALL_FLAGS; flags++) {
        if (flags & MATH_FLAGS)
            continue;
        for (size_t b = 0; b < GXT_COUNT(batches); b++)
            for (size_t k = 0; k < GXT_COUNT(steps); k++) {
                struct gx_ntt_call call = {.log2_n = log2_n,
                                           .log2_pad = pad,
                                           .flags = flags | math,
                                           .workers = workers[(b + k + flags) % 2],
                                           .log2_step = steps[k],
                                           .batch = batches[b]};
                check(s, &call, false, in, expected);
                if (pad == 0)
                    check(s, &call, true, in, expected);
            }
    }
}

static void check_small(const struct setup *tiers, size_t count, uint32_t log2_n, uint32_t pad,
                        unsigned math)
{
    const struct oracle *o = tiers->oracle;
    struct oracle_rng rng = {log2_n + 64 * pad + 4096 * math};
    uint32_t log2_in = log2_n - pad;
    uint64_t *in = gxt_alloc((BATCH * BYTES) << log2_in);
    uint64_t *expected = gxt_alloc((BATCH * BYTES) << log2_n);
    oracle_fill(o->field, &rng, in, (size_t)BATCH << log2_in);
    for (size_t t = 0; t < BATCH; t++)
        for (size_t i = 0; i < (size_t)1 << log2_n; i++)
            expected_one(o, log2_n, log2_in, math, in + GX_NTT_LIMBS * (t << log2_in), i,
                         expected + GX_NTT_LIMBS * ((t << log2_n) + i));
    for (size_t k = 0; k < count; k++)
        check_layouts(&tiers[k], log2_n, pad, math, in, expected);
    free(in);
    free(expected);
}

/* One setup for each tier of this CPU, portable first. */
static size_t open_tiers(struct setup *setups, const struct oracle *o)
{
    size_t count = 0;
    for (unsigned tier = 0; tier < GX_TIERS; tier++) {
        const struct gx_ntt_host *host = gx__ntt_host(1u << tier);
        if (gx__ntt_tier(host) == (enum gx_tier)tier)
            setups[count++] = setup_open(host, o);
    }
    return count;
}

static void close_tiers(struct setup *setups, size_t count)
{
    for (size_t k = 0; k < count; k++)
        guarded_free(&setups[k].table);
}

static void small_sizes(void **state)
{
    (void)state;
    for (size_t f = 0; f < GXT_COUNT(domains); f++)
        for (uint32_t log2_n = 0; log2_n <= (gxt_small() ? 4u : 7u); log2_n++) {
            struct oracle o;
            struct setup tiers[GX_TIERS];
            oracle_open(&o, f, log2_n + log2_n % 3); /* the domain may be larger */
            size_t count = open_tiers(tiers, &o);
            for (unsigned math = 0; math <= MATH_FLAGS; math++)
                for (uint32_t pad = 0; pad <= log2_n; pad += pad < 2 ? 1 : log2_n > 2 ? 2 : 1)
                    check_small(tiers, count, log2_n, pad, math);
            close_tiers(tiers, count);
            oracle_close(&o);
        }
}

/* ---- larger sizes: some outputs, by Horner's rule ------------------------------------- */

struct shape {
    uint32_t log2_n, log2_pad, flags, workers, log2_step;
    size_t batch;
    bool in_place;
};

static void check_outputs(const struct setup *s, const struct shape *shape)
{
    const struct oracle *o = s->oracle;
    struct gx_ntt_call call = {.log2_n = shape->log2_n,
                               .log2_pad = shape->log2_pad,
                               .flags = shape->flags,
                               .workers = shape->workers,
                               .log2_step = shape->log2_step,
                               .batch = shape->batch};
    uint32_t log2_in = shape->log2_n - shape->log2_pad;
    struct oracle_rng rng = {shape->log2_n + 64 * shape->flags};
    uint64_t *in = gxt_alloc((shape->batch * BYTES) << log2_in);
    uint64_t *out = gxt_alloc((shape->batch * BYTES) << shape->log2_n);
    oracle_fill(o->field, &rng, in, shape->batch << log2_in);
    transform(s, call, shape->in_place, in, out);
    size_t mask = ((size_t)1 << shape->log2_n) - 1;
    size_t indices[] = {1, oracle_random(&rng) & mask, oracle_random(&rng) & mask, mask};
    for (size_t k = 0; k < GXT_COUNT(indices); k++) {
        size_t t = oracle_random(&rng) % shape->batch;
        uint64_t expected[GX_NTT_LIMBS];
        expected_one(o, shape->log2_n, log2_in, shape->flags, in + GX_NTT_LIMBS * (t << log2_in),
                     indices[k], expected);
        if (memcmp(out + GX_NTT_LIMBS * ((t << shape->log2_n) + indices[k]), expected, BYTES)) {
            describe_failure(s, &call, (t << shape->log2_n) + indices[k]);
            fail();
        }
    }
    free(in);
    free(out);
}

static void larger_sizes(void **state)
{
    static const struct shape shapes[] = {
        {8, 0, GX_NTT_REVERSED_OUT, 1, 0, 40, true}, /* transforms in the lanes */
        {10, 0, GX_NTT_COSET, 2, 0, 17, false},
        {9, 0, GX_NTT_INVERSE | GX_NTT_COLUMNS, 2, 0, 8, true},
        /* columns, several blocks of them at a time, and what is left */
        {3, 0, GX_NTT_COLUMNS | GX_NTT_INVERSE | GX_NTT_REVERSED_IN, 3, 0, 131, true},
        {7, 2, GX_NTT_COLUMNS | GX_NTT_COSET, 1, 0, 309, false},
        {9, 0, GX_NTT_COLUMNS | GX_NTT_INVERSE | GX_NTT_COSET | GX_NTT_REVERSED_OUT, 2, 0, 80,
         true},
        {10, 0, GX_NTT_COLUMNS | GX_NTT_COSET | GX_NTT_REVERSED_IN, 1, 0, 139, false},
        {10, 0, 0, 1, 0, 1, true},
        {11, 1, GX_NTT_COSET | GX_NTT_REVERSED_IN, 3, 0, 1, false},
        {12, 0, GX_NTT_INVERSE | GX_NTT_COSET, 1, 12, 9, false}, /* a block of 2^12 rows */
        {12, 0, GX_NTT_INVERSE | GX_NTT_COSET | GX_NTT_REVERSED_OUT, 4, 0, 1, true},
        {13, 0, GX_NTT_COSET, 2, 0, 5, true}, /* whole transforms */
        {13, 0, GX_NTT_COLUMNS, 2, 0, 9, true},
        {14, 3, GX_NTT_COSET, 5, 5, 2, false}, /* three steps */
        {15, 0, GX_NTT_INVERSE | GX_NTT_COSET | GX_NTT_REVERSED_IN, 1, 4, 1, true},
        {16, 0, GX_NTT_REVERSED_IN | GX_NTT_REVERSED_OUT, 3, 0, 1, true},
        {17, 0, GX_NTT_INVERSE, 16, 0, 1, true},
        {18, 0, GX_NTT_COSET | GX_NTT_REVERSED_OUT, 2, 0, 1, false},
        {18, 0, GX_NTT_INVERSE | GX_NTT_COSET, 1, 6, 2, true},
    };
    (void)state;
    for (size_t f = 0; f < GXT_COUNT(domains); f++) {
        struct oracle o;
        struct setup tiers[GX_TIERS];
        oracle_open(&o, f, 20);
        size_t count = open_tiers(tiers, &o);
        for (size_t k = 0; k < GXT_COUNT(shapes); k++)
            for (size_t t = 0; t < count; t++)
                if (!gxt_small() || shapes[k].log2_n <= 12)
                    check_outputs(&tiers[t], &shapes[k]);
        close_tiers(tiers, count);
        oracle_close(&o);
    }
}

/* Inputs that make every carry as large as it gets. */
static void extreme_inputs(void **state)
{
    (void)state;
    for (size_t f = 0; f < GXT_COUNT(domains); f++) {
        struct oracle o;
        struct setup tiers[GX_TIERS];
        const uint32_t log2_n = 12;
        oracle_open(&o, f, log2_n);
        size_t count = open_tiers(tiers, &o), n = (size_t)1 << log2_n;
        uint64_t *in = gxt_alloc(n * BYTES), *sum = gxt_alloc(n * BYTES);
        mpz_t z;
        mpz_init(z);
        mpz_sub_ui(z, o.p, 1);
        for (size_t i = 0; i < n; i++)
            oracle_export(in + GX_NTT_LIMBS * i, GX_NTT_LIMBS, z);
        mpz_mul_2exp(z, z, log2_n); /* the sum of all is output 0; the others are 0 */
        mpz_mod(z, z, o.p);
        memset(sum, 0, n * BYTES);
        oracle_export(sum, GX_NTT_LIMBS, z);
        struct gx_ntt_call call = {.log2_n = log2_n, .workers = 1, .batch = 1};
        for (size_t t = 0; t < count; t++) {
            call.log2_step = 0;
            check(&tiers[t], &call, false, in, sum);
            call.log2_step = 12;
            check(&tiers[t], &call, false, in, sum);
        }
        mpz_clear(z);
        free(in);
        free(sum);
        close_tiers(tiers, count);
        oracle_close(&o);
    }
}

/* Between steps elements need not be below p, only below 2p with AVX-512. Lane l has 0 and 2p - 1
 * where bit l of the index decides, so that some difference becomes as negative as it can. */
static void check_loose(const struct setup *s, uint32_t log2_rows)
{
    const struct oracle *o = s->oracle;
    size_t rows = (size_t)1 << log2_rows;
    struct guarded scratch = guarded((rows < 8 ? 8 : rows) * s->host->scratch_bytes, 0);
    uint64_t *in = gxt_alloc(GX_NTT_LANES * rows * BYTES), *out = gxt_alloc(rows * 8 * BYTES);
    struct gx_ntt_block k = {.prime = gx__prime(o->field),
                             .twiddles = s->table.at + GX_NTT_TABLE_HEAD,
                             .scratch = scratch.at,
                             .log2_rows = log2_rows,
                             .log2_rows_in = log2_rows,
                             .lanes = GX_NTT_LANES,
                             .abreast = 1,
                             .in_row = BYTES,
                             .out_row = BYTES,
                             .last = true};
    mpz_t large;
    mpz_init(large);
    mpz_mul_2exp(large, o->p, 1);
    mpz_sub_ui(large, large, 1);
    memset(in, 0, GX_NTT_LANES * rows * BYTES);
    for (size_t l = 0; l < GX_NTT_LANES; l++) {
        k.in[l] = (uint8_t *)(in + l * rows * GX_NTT_LIMBS);
        k.out[l] = (uint8_t *)(out + l * rows * GX_NTT_LIMBS);
        for (size_t i = 0; i < rows; i++)
            if (i >> (log2_rows - 1 - l % log2_rows) & 1)
                oracle_export(in + (l * rows + i) * GX_NTT_LIMBS, GX_NTT_LIMBS, large);
    }
    s->host->block(&k);
    for (size_t l = 0; l < GX_NTT_LANES; l++)
        for (size_t i = 0; i < rows; i += i < 8 ? 1 : rows / 8) {
            uint64_t expected[GX_NTT_LIMBS];
            expected_one(o, log2_rows, log2_rows, 0, in + l * rows * GX_NTT_LIMBS, i, expected);
            assert_memory_equal(out + (l * rows + i) * GX_NTT_LIMBS, expected, BYTES);
        }
    mpz_clear(large);
    free(in);
    free(out);
    guarded_free(&scratch);
}

static void loose_inputs(void **state)
{
    const struct gx_ntt_host *host = gx__ntt_host(1u << GX_TIER_AVX512);
    (void)state;
    if (gx__ntt_tier(host) != GX_TIER_AVX512)
        skip();
    for (size_t f = 0; f < GXT_COUNT(domains); f++) {
        struct oracle o;
        oracle_open(&o, f, GX_NTT_LOG2_ROWS);
        struct setup s = setup_open(host, &o);
        for (uint32_t log2_rows = 1; log2_rows <= (gxt_small() ? 6 : GX_NTT_LOG2_ROWS); log2_rows++)
            check_loose(&s, log2_rows);
        guarded_free(&s.table);
        oracle_close(&o);
    }
}

static void no_transforms(void **state)
{
    (void)state;
    struct gx_ntt_call call = {.log2_n = 3, .workers = 2};
    assert_int_equal(gx__ntt_phases(gx__ntt_host(1), &call), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_sizes),    cmocka_unit_test(larger_sizes),
        cmocka_unit_test(extreme_inputs), cmocka_unit_test(loose_inputs),
        cmocka_unit_test(no_transforms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
