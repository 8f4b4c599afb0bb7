/* SPDX-License-Identifier: Apache-2.0
 *
 * GX_NTT by its results alone, on every device and every tier of the CPU: against the sums on GMP
 * for small sizes, single outputs by Horner's rule for large ones; forward and inverse, cosets, all
 * orders, padding, rows and columns, in place, default and other roots. And by laws that need no
 * expected values.
 *
 * usage: ntt [webgpu]    the WebGPU devices alone, else all others
 */
#include "conformance/ntt_targets.h"

enum { ALL_FLAGS = 32, BATCH_MOST = 1 << 12 };

static struct oracle_rng rng = {4711};
static uint32_t largest; /* log2 of it */
static unsigned char *want;

static int open_all(void **state)
{
    (void)state;
    gxt_clear_environment();
    gxt_enter_machines();
    largest = gxt_small() ? 16 : 21; /* three passes on a GPU */
    ntt_open_targets((size_t)1 << largest);
    want = gxt_alloc(NTT_ELEMENT << largest);
    return 0;
}

static int free_want(void **state)
{
    (void)state;
    free(want);
    return 0;
}

static void fill(const struct ntt_shape *s)
{
    struct oracle_ntt o = ntt_oracle(s);
    size_t n = oracle_ntt_in(&o), edges = n < 4096 ? n : 4096;
    gxt_fill(&rng.state, s->field, ntt_data, n); /* which is faster */
    oracle_fill(s->field, &rng, ntt_data + (n - edges) * NTT_ELEMENT, edges);
}

/* ---- the oracle ---- */

static void oracles_agree(void **state)
{
    (void)state;
    for (uint32_t log2_n = 0; log2_n <= 7; log2_n++)
        for (uint32_t flags = 0; flags < ALL_FLAGS; flags++) {
            struct ntt_shape s = {.field = ntt_fields[flags / 2 % 2],
                                  .log2_n = log2_n,
                                  .log2_pad = flags % 3 && log2_n > 2 ? flags % 3 : 0,
                                  .flags = flags,
                                  .batch = 1,
                                  .domain = flags % NTT_DOMAINS};
            struct oracle_ntt o = ntt_oracle(&s);
            size_t n = oracle_ntt_out(&o), bytes = n * NTT_ELEMENT;
            unsigned char *again = want + bytes, one[NTT_ELEMENT];
            fill(&s);
            oracle_ntt(&o, want, ntt_data);
            oracle_ntt_by_halves(&o, again, ntt_data);
            assert_memory_equal(want, again, bytes);
            for (size_t i = 0; i < n; i += 1 + n / 5) {
                oracle_ntt_at(&o, i, one, ntt_data);
                assert_memory_equal(one, want + i * NTT_ELEMENT, NTT_ELEMENT);
            }
        }
}

/* ---- small sizes: every output ---- */

/* Slow devices take every seventh of the shapes, in turn: all of them over the sizes. */
static int left_out(const struct target *t, unsigned turn)
{
    return t->slow && turn % 7 != 0;
}

static void on_every_target(struct ntt_shape *s, unsigned turn)
{
    struct oracle_ntt o = ntt_oracle(s);
    int known = 0;
    for (size_t i = 0; i < target_count; i++) {
        if (ntt_too_large(&targets[i], s) || left_out(&targets[i], turn + (unsigned)i))
            continue;
        if (!known) {
            fill(s);
            oracle_ntt(&o, want, ntt_data);
        }
        known = 1;
        s->in_place = !s->log2_pad && (turn + i) % 3 == 0;
        s->job_flags = (turn / 3 + i) % 2 ? GX_JOB_UNCHECKED : 0;
        ntt_expect(&targets[i], s, ntt_run(&targets[i], s), want);
    }
}

static void pads_and_batches(struct ntt_shape s)
{
    static const size_t batches[] = {1, 2, 5, 33};
    static unsigned turn;
    const uint32_t pads[] = {0, s.log2_n ? 1 : 0, s.log2_n};
    for (size_t b = 0; b < GXT_COUNT(batches); b++)
        for (size_t p = 0; p < GXT_COUNT(pads); p++) {
            if ((p && !pads[p]) || (b && (s.flags + s.log2_n + p) % 4 != b))
                continue;
            if (batches[b] << s.log2_n > BATCH_MOST)
                continue;
            /* The sums of large ones take most of the time: all flags, with a third of the rest. */
            if (s.log2_n > 8 && (s.flags + s.field + p) % 3)
                continue;
            s.batch = batches[b];
            s.log2_pad = pads[p];
            s.domain = turn % NTT_DOMAINS;
            if (s.domain == TEN_DOMAIN && s.log2_n > TEN_LOG2)
                s.domain = WIDE_DOMAIN;
            if (!gxt_small())
                on_every_target(&s, turn);
            else if (turn % 5 == 0)
                on_every_target(&s, turn / 5);
            turn++;
        }
}

static void every_shape(void **state)
{
    (void)state;
    for (uint32_t log2_n = 0; log2_n <= 11; log2_n++)
        for (uint32_t flags = 0; flags < ALL_FLAGS; flags++)
            for (int f = 0; f < 2; f++)
                pads_and_batches(
                    (struct ntt_shape){.field = ntt_fields[f], .log2_n = log2_n, .flags = flags});
}

/* Every output of a few larger ones, where passes and blocks of memory begin to matter. */
static void some_larger_shapes(void **state)
{
    (void)state;
    for (uint32_t log2_n = 12; log2_n <= (gxt_small() ? 13u : 16u); log2_n++)
        for (uint32_t i = 0; i < 4; i++) {
            struct ntt_shape s = {.field = ntt_fields[(log2_n + i) % 2],
                                  .log2_n = log2_n,
                                  .log2_pad = i == 2 ? log2_n / 2 : 0,
                                  .flags = (log2_n * 11 + i * 5) % ALL_FLAGS,
                                  .batch = i == 3 && log2_n < 15 ? 3 : 1,
                                  .domain = i % 2 ? OWN_DOMAIN : WIDE_DOMAIN};
            on_every_target(&s, 0);
        }
}

/* ---- large sizes: some outputs ---- */

/* rest: not on slow devices above NTT_SLOW_LOG2. */
static void some_outputs(const struct ntt_shape *s, size_t count, int rest)
{
    struct oracle_ntt o = ntt_oracle(s);
    size_t n = oracle_ntt_out(&o), at[4] = {n - 1};
    unsigned char one[4][NTT_ELEMENT];
    int known = 0;
    for (size_t i = 0; i < target_count; i++) {
        if (ntt_too_large(&targets[i], s) || (rest && targets[i].slow && s->log2_n > NTT_SLOW_LOG2))
            continue;
        if (!known)
            fill(s);
        const unsigned char *got = ntt_run(&targets[i], s);
        for (size_t k = 0; k < count; k++) {
            if (!known) {
                at[k] = k ? (size_t)(oracle_random(&rng) % n) : at[k];
                oracle_ntt_at(&o, at[k], one[k], ntt_data);
            }
            ntt_expect_element(&targets[i], s, at[k], got + at[k] * NTT_ELEMENT, one[k]);
        }
        known = 1;
    }
}

static void outputs_of_large_ones(void **state)
{
    (void)state;
    for (uint32_t log2_n = 11; log2_n <= largest; log2_n++)
        for (uint32_t i = 0; i < 4; i++) {
            struct ntt_shape s = {.field = ntt_fields[(log2_n + i) % 2],
                                  .log2_n = log2_n,
                                  .flags = (log2_n * 7 + i * 13) % 16,
                                  .batch = 1,
                                  .in_place = i / 2 == 0,
                                  .job_flags = i % 2 ? GX_JOB_UNCHECKED : 0};
            if (log2_n >= 20 && i > (log2_n == largest))
                continue;
            if (gxt_small() && log2_n > 13 && i != log2_n % 4)
                continue;
            some_outputs(&s, log2_n > 18 ? 2 : 4, i > 0);
        }
}

/* Many transforms at once: more than there are threads, and groups of lanes that are not full. */
static void outputs_of_large_batches(void **state)
{
    (void)state;
    static const size_t batches[] = {257, 64, 31};
    for (uint32_t log2_n = 1; log2_n <= 11; log2_n += 2)
        for (size_t b = 0; b < GXT_COUNT(batches); b++) {
            struct ntt_shape s = {.field = ntt_fields[b % 2],
                                  .log2_n = log2_n,
                                  .flags = (log2_n * 3 + (uint32_t)b * 16) % ALL_FLAGS,
                                  .batch = batches[b]};
            if (s.batch << log2_n <= (size_t)1 << largest)
                some_outputs(&s, 4, 0);
        }
}

/* ---- laws ---- */

/* Everything but one input is 0: the outputs are its multiples by powers of the root. */
static void delta_gives_powers_of_the_root(void **state)
{
    (void)state;
    for (size_t i = 0; i < target_count; i++)
        for (int f = 0; f < 2; f++) {
            struct ntt_shape s = {.field = ntt_fields[f], .log2_n = f ? 9 : 12, .batch = 1};
            size_t n = (size_t)1 << s.log2_n;
            unsigned char root[NTT_ELEMENT], power[NTT_ELEMENT];
            if (ntt_too_large(&targets[i], &s))
                continue;
            oracle_root(s.field, s.log2_n, root);
            memset(ntt_data, 0, n * NTT_ELEMENT);
            oracle_small(s.field, 1, ntt_data + NTT_ELEMENT);
            const unsigned char *got = ntt_run(&targets[i], &s);
            oracle_small(s.field, 1, power);
            for (size_t k = 0; k < n; k++) {
                ntt_expect_element(&targets[i], &s, k, got + k * NTT_ELEMENT, power);
                oracle_run(GX_MUL, s.field, 1, power, power, root, NULL, 0);
            }
        }
}

/* Largest size that a target is asked for here. */
static uint32_t law_log2(const struct target *t)
{
    uint32_t log2_n = gxt_small() ? 10 : 14;
    while ((size_t)1 << log2_n > t->most)
        log2_n--;
    return log2_n;
}

/* T(x + c * y) = T(x) + c * T(y) */
static void linear(const struct target *t, struct ntt_shape s)
{
    size_t n = (size_t)1 << s.log2_n, bytes = n * NTT_ELEMENT;
    unsigned char *x = gxt_alloc(bytes), *y = gxt_alloc(bytes), *sum = gxt_alloc(bytes);
    unsigned char c[NTT_ELEMENT];
    oracle_fill(s.field, &rng, x, n);
    oracle_fill(s.field, &rng, y, n);
    oracle_fill_random(s.field, &rng, c, 1);
    oracle_run(GX_MUL_ADD, s.field, n, sum, y, c, x, ORACLE_B);
    memcpy(ntt_data, x, bytes);
    memcpy(x, ntt_run(t, &s), bytes);
    memcpy(ntt_data, y, bytes);
    memcpy(y, ntt_run(t, &s), bytes);
    oracle_run(GX_MUL_ADD, s.field, n, want, y, c, x, ORACLE_B);
    memcpy(ntt_data, sum, bytes);
    ntt_expect(t, &s, ntt_run(t, &s), want);
    free(x);
    free(y);
    free(sum);
}

static void transforms_are_linear(void **state)
{
    (void)state;
    for (size_t i = 0; i < target_count; i++)
        for (uint32_t flags = 0; flags < 4; flags++)
            linear(&targets[i], (struct ntt_shape){.field = ntt_fields[flags / 2],
                                                   .log2_n = law_log2(&targets[i]) - 1,
                                                   .flags = flags,
                                                   .batch = 1});
}

/* out[i] = in[i with its bits reversed] */
static void reverse(unsigned char *out, const unsigned char *in, uint32_t bits)
{
    for (size_t i = 0; i < (size_t)1 << bits; i++)
        memcpy(out + i * NTT_ELEMENT, in + oracle_reverse(i, bits) * NTT_ELEMENT, NTT_ELEMENT);
}

/* All four orders are the same transform of the same input. */
static void orders_are_one_transform(void **state)
{
    (void)state;
    for (size_t i = 0; i < target_count; i++) {
        for (uint32_t base = 0; base < 4; base++) {
            struct ntt_shape s = {.field = ntt_fields[base % 2],
                                  .log2_n = law_log2(&targets[i]),
                                  .flags = base,
                                  .batch = 1};
            size_t bytes = NTT_ELEMENT << s.log2_n;
            unsigned char *in = gxt_alloc(bytes), *natural = gxt_alloc(bytes);
            fill(&s);
            memcpy(in, ntt_data, bytes);
            memcpy(natural, ntt_run(&targets[i], &s), bytes);
            for (int order = 1; order < 4; order++) {
                s.flags = base | (order & 1 ? GX_NTT_REVERSED_IN : 0) |
                          (order & 2 ? GX_NTT_REVERSED_OUT : 0);
                memcpy(ntt_data, in, bytes);
                if (order & 1)
                    reverse(ntt_data, in, s.log2_n);
                memcpy(want, natural, bytes);
                if (order & 2)
                    reverse(want, natural, s.log2_n);
                ntt_expect(&targets[i], &s, ntt_run(&targets[i], &s), want);
            }
            free(in);
            free(natural);
        }
    }
}

/* The input moved on by one: output k is multiplied by root^k. */
static void moving_the_input_multiplies_by_roots(void **state)
{
    (void)state;
    for (size_t i = 0; i < target_count; i++) {
        struct ntt_shape s = {
            .field = ntt_fields[i % 2], .log2_n = law_log2(&targets[i]), .batch = 1};
        size_t n = (size_t)1 << s.log2_n, bytes = n * NTT_ELEMENT;
        unsigned char root[NTT_ELEMENT], power[NTT_ELEMENT];
        fill(&s);
        memcpy(want, ntt_run(&targets[i], &s), bytes);
        oracle_root(s.field, s.log2_n, root);
        oracle_small(s.field, 1, power);
        for (size_t k = 0; k < n; k++) {
            unsigned char *at = want + k * NTT_ELEMENT;
            oracle_run(GX_MUL, s.field, 1, at, at, power, NULL, 0);
            oracle_run(GX_MUL, s.field, 1, power, power, root, NULL, 0);
        }
        memcpy(power, ntt_data + bytes - NTT_ELEMENT, NTT_ELEMENT);
        memmove(ntt_data + NTT_ELEMENT, ntt_data, bytes - NTT_ELEMENT);
        memcpy(ntt_data, power, NTT_ELEMENT);
        ntt_expect(&targets[i], &s, ntt_run(&targets[i], &s), want);
    }
}

static void padding_is_zeros(void **state)
{
    (void)state;
    for (size_t i = 0; i < target_count; i++)
        for (uint32_t pad = 1; pad <= 4; pad++) {
            struct ntt_shape s = {.field = ntt_fields[pad % 2],
                                  .log2_n = law_log2(&targets[i]),
                                  .flags = pad % 4,
                                  .batch = 1};
            size_t bytes = NTT_ELEMENT << s.log2_n;
            fill(&s);
            memset(ntt_data + (bytes >> pad), 0, bytes - (bytes >> pad));
            memcpy(want, ntt_run(&targets[i], &s), bytes);
            s.log2_pad = pad;
            memset(ntt_data + (bytes >> pad), 0x77, bytes - (bytes >> pad)); /* not read */
            ntt_expect(&targets[i], &s, ntt_run(&targets[i], &s), want);
        }
}

/* Not enough alone, because it says nothing about the root. */
static void there_and_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < target_count; i++)
        for (uint32_t flags = 0; flags < ALL_FLAGS; flags += 2) {
            struct ntt_shape s = {.field = ntt_fields[flags / 2 % 2],
                                  .log2_n = law_log2(&targets[i]) - 3,
                                  .flags = flags,
                                  .batch = 3,
                                  .domain = flags / 4 % 2 ? OWN_DOMAIN : WIDE_DOMAIN};
            size_t bytes = s.batch * NTT_ELEMENT << s.log2_n;
            fill(&s);
            memcpy(want, ntt_data, bytes);
            memcpy(ntt_data, ntt_run(&targets[i], &s), bytes);
            s.flags = GX_NTT_INVERSE | (flags & (GX_NTT_COSET | GX_NTT_COLUMNS));
            s.flags |= flags & GX_NTT_REVERSED_OUT ? GX_NTT_REVERSED_IN : 0;
            s.flags |= flags & GX_NTT_REVERSED_IN ? GX_NTT_REVERSED_OUT : 0;
            s.in_place = 1;
            ntt_expect(&targets[i], &s, ntt_run(&targets[i], &s), want);
        }
}

int main(int argc, char **argv)
{
    choose_targets(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oracles_agree),
        cmocka_unit_test(every_shape),
        cmocka_unit_test(some_larger_shapes),
        cmocka_unit_test(outputs_of_large_ones),
        cmocka_unit_test(outputs_of_large_batches),
        cmocka_unit_test(delta_gives_powers_of_the_root),
        cmocka_unit_test(transforms_are_linear),
        cmocka_unit_test(orders_are_one_transform),
        cmocka_unit_test(moving_the_input_multiplies_by_roots),
        cmocka_unit_test(padding_is_zeros),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(ntt_close_targets),
    };
    return cmocka_run_group_tests_name("ntt", tests, open_all, free_want);
}
