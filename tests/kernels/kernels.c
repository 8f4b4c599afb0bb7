/* SPDX-License-Identifier: Apache-2.0
 *
 * Every tier of this CPU, and the reference, compared with the GMP oracle: each group of cases
 * below is a separate test for each of them. With --bench the same program measures them instead
 * (bench.c).
 */
#include "kernels/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/bench.h"
#include "support/oracle.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- going through fields and kernels --------------------------------------------- */

typedef void (*case_fn)(struct trial t);

/* Calls fn with a trial for every kernel that the subject provides. */
static void for_each_kernel(void **state, case_fn fn)
{
    const struct subject *s = *state;
    if (!s->available)
        skip();
    for (unsigned field = 1; field < GX_FIELD_END; field++)
        for (unsigned kernel = 0; kernel < GX_HOST_KERNELS; kernel++)
            if (rig_kernel(s, (gx_field)field, (enum gx_host_kernel)kernel))
                fn((struct trial){.subject = s,
                                  .field = (gx_field)field,
                                  .kernel = (enum gx_host_kernel)kernel,
                                  .n = 0});
}

static bool is_prime_field(const struct trial *t)
{
    return gx__prime(t->field) != NULL;
}

static unsigned operands_of(const struct trial *t)
{
    return rig_kernels[t->kernel].operands;
}

static bool divides(const struct trial *t)
{
    return t->kernel == GX_HOST_INV || t->kernel == GX_HOST_DIV;
}

/* ---- sizes -------------------------------------------------------------------------- */

static void both_places(struct trial t)
{
    for (int stream = 0; stream < 2; stream++) {
        t.stream = stream;
        t.place = PLACE_END;
        rig_run(&t);
        t.place = PLACE_BEGIN;
        rig_run(&t);
    }
}

static void sizes_case(struct trial t)
{
    static const size_t larger[] = {
        127, 128, 129, 1000, GX_INV_BATCH, GX_INV_BATCH - 1, RIG_N_MAX, GX_INV_BATCH + 1};
    for (t.n = 0; t.n <= 70; t.n += t.subject->slow ? 7 : 1)
        both_places(t);
    for (size_t i = 0; i < (t.subject->slow ? 1 : COUNT(larger)); i++) {
        t.n = larger[i];
        both_places(t);
    }
}

static void test_sizes(void **state)
{
    for_each_kernel(state, sizes_case);
}

/* ---- alignment ------------------------------------------------------------------------ */

static void alignment_case(struct trial t)
{
    static const size_t sizes[] = {3, 9, 33};
    t.place = PLACE_BEGIN;
    for (size_t i = 0; i < (t.subject->slow ? 1 : COUNT(sizes)); i++) {
        t.n = sizes[i];
        for (size_t s = 0; s < 64; s++) {
            t.stream = s & 1;
            memcpy(t.skew, (size_t[]){s, s, s, s}, sizeof t.skew);
            rig_run(&t);
            t.stream = !t.stream;
            memcpy(t.skew, (size_t[]){s, (7 * s + 1) % 64, (5 * s + 3) % 64, (3 * s + 2) % 64},
                   sizeof t.skew);
            rig_run(&t);
        }
    }
}

static void test_alignment(void **state)
{
    for_each_kernel(state, alignment_case);
}

/* ---- in place and broadcast ------------------------------------------------------------ */

static void in_place_case(struct trial t)
{
    static const size_t sizes[] = {1, 2, 7, 8, 9, 16, 17, 40, 129};
    if (t.kernel == GX_HOST_SUM) /* its out is not an operand */
        return;
    for (t.same = 0; t.same < 1u << operands_of(&t); t.same++)
        for (size_t i = 0; i < (t.subject->slow ? 5 : COUNT(sizes)); i++) {
            t.n = sizes[i];
            both_places(t);
        }
    if (!divides(&t) || t.subject->slow)
        return;
    for (t.same = 0; t.same < 1u << operands_of(&t); t.same++) {
        t.n = GX_INV_BATCH + 9;
        t.place = PLACE_END;
        rig_run(&t);
    }
}

static void test_in_place(void **state)
{
    for_each_kernel(state, in_place_case);
}

/* Every combination of broadcast operands with every combination of the others in place; a
 * broadcast element inside out is allowed if n is 1. */
static void broadcast_case(struct trial t)
{
    static const size_t sizes[] = {0, 1, 2, 7, 8, 9, 17, 40};
    unsigned all = 1u << operands_of(&t);
    for (t.broadcast = 0; t.broadcast < all; t.broadcast++)
        for (t.same = 0; t.same < all; t.same++)
            for (size_t i = 0; i < (t.subject->slow ? 4 : COUNT(sizes)); i++) {
                t.n = sizes[i];
                t.unchecked = i & 1;
                bool apart = t.kernel != GX_HOST_SUM || !t.same;
                if (apart && (!(t.broadcast & t.same) || t.n == 1))
                    both_places(t);
            }
}

static void test_broadcast(void **state)
{
    for_each_kernel(state, broadcast_case);
}

/* ---- edges of the value range ------------------------------------------------------------ */

/* Every edge with every edge, in the first two operands. */
static void edges_case(struct trial t)
{
    size_t edges = oracle_edges(t.field);
    t.n = edges;
    for (size_t shift = 0; shift < edges; shift += t.subject->slow ? 5 : 1) {
        rig_load(&t);
        for (unsigned k = 0; k < operands_of(&t); k++)
            for (size_t i = 0; i < edges; i++)
                oracle_edge(t.field, i + k * shift, rig_element(k, i));
        assert_int_equal(rig_call(), GX_NONE_BAD);
        rig_compare();
    }
}

static void test_edges(void **state)
{
    for_each_kernel(state, edges_case);
}

/* ---- zeros in divisions ------------------------------------------------------------------- */

static void zeros_at(struct trial t, size_t from, size_t to)
{
    unsigned divisor = operands_of(&t) - 1;
    size_t bytes = oracle_element_bytes(t.field);
    rig_load(&t);
    for (size_t i = from; i < to; i++)
        memset(rig_element(divisor, i), 0, bytes);
    assert_int_equal(rig_call(), GX_NONE_BAD);
    rig_compare();
}

static void zeros_case(struct trial t)
{
    if (!divides(&t))
        return;
    for (t.n = 1; t.n <= 20; t.n += t.subject->slow ? 6 : 1) {
        for (t.same = 0; t.same < 1u << operands_of(&t); t.same++)
            for (size_t i = 0; i < t.n; i++)
                zeros_at(t, i, i + 1);
        t.same = 0;
        zeros_at(t, 0, t.n);
    }
    if (t.subject->slow)
        return;
    t.n = GX_INV_BATCH + 3;
    zeros_at(t, 0, t.n);
    zeros_at(t, 0, GX_INV_BATCH); /* a batch of nothing else */
    zeros_at(t, GX_INV_BATCH - 1, GX_INV_BATCH + 1);
}

static void test_zeros(void **state)
{
    for_each_kernel(state, zeros_case);
}

/* ---- elements not below p -------------------------------------------------------------------- */

/* One bad element at `i` of operand k; `more` gives every operand further ones behind. */
static void one_bad(const struct trial *t, unsigned k, size_t i, size_t which, bool more)
{
    rig_load(t);
    oracle_bad(t->field, which, rig_element(k, i));
    for (unsigned other = 0; more && other < operands_of(t); other++)
        for (size_t j = i + 1; j < t->n; j += 1 + which % 3)
            if (!(t->broadcast >> other & 1))
                oracle_bad(t->field, which + j, rig_element(other, j));
    size_t found = rig_call();
    if (found != (t->unchecked ? GX_NONE_BAD : i))
        fail_msg("%s %s %s n=%zu same=%u broadcast=%u: bad element %zu of operand %u, found %zu",
                 t->subject->name, gx_field_get_info(t->field)->name, rig_kernels[t->kernel].name,
                 t->n, t->same, t->broadcast, i, k, found);
}

static void bad_positions_case(struct trial t)
{
    static const size_t sizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100};
    size_t which = 0;
    if (!is_prime_field(&t))
        return;
    for (size_t s = 0; s < (t.subject->slow ? 6 : COUNT(sizes)); s++) {
        t.n = sizes[s];
        for (unsigned k = 0; k < operands_of(&t); k++)
            for (size_t i = 0; i < t.n; i++, which++) {
                t.place = which & 1 ? PLACE_BEGIN : PLACE_END;
                t.stream = which >> 1 & 1;
                t.same = t.kernel == GX_HOST_SUM ? 0 : (unsigned)which % (1u << operands_of(&t));
                one_bad(&t, k, i, which, false);
                one_bad(&t, k, i, which, true);
            }
    }
}

static void test_bad_positions(void **state)
{
    for_each_kernel(state, bad_positions_case);
}

/* Every kind of bad element; for batched inversions, on both sides of the boundary. */
static void bad_kinds_case(struct trial t)
{
    if (!is_prime_field(&t))
        return;
    t.n = 11;
    for (size_t which = 0; which < oracle_bads(t.field); which++)
        for (unsigned k = 0; k < operands_of(&t); k++) {
            one_bad(&t, k, which % t.n, which, false);
            t.broadcast = 1u << k;
            one_bad(&t, k, 0, which, which & 1);
            t.n = 0;
            rig_load(&t);
            oracle_bad(t.field, which, rig_element(k, 0));
            assert_int_equal(rig_call(), GX_NONE_BAD);
            t.n = 11;
            t.broadcast = 0;
        }
    if (!divides(&t) || t.subject->slow)
        return;
    t.n = 2 * GX_INV_BATCH + 9;
    static const size_t seams[] = {0, GX_INV_BATCH - 1, GX_INV_BATCH, GX_INV_BATCH + 1};
    for (size_t i = 0; i < COUNT(seams); i++)
        for (t.same = 0; t.same < 1u << operands_of(&t); t.same++)
            one_bad(&t, t.same == 1 ? 0 : operands_of(&t) - 1, seams[i], i, true);
    t.same = 0;
    one_bad(&t, 0, t.n - 1, 0, false);
}

static void test_bad_kinds(void **state)
{
    for_each_kernel(state, bad_kinds_case);
}

/* Elements whose top limbs are p's, so that a test of those alone is not enough. */
static void false_alarms_case(struct trial t)
{
    if (!is_prime_field(&t))
        return;
    const struct gx_prime *prime = gx__prime(t.field);
    uint64_t e[GX_LIMBS_MAX];
    for (t.n = 1; t.n <= 40; t.n += 13) {
        rig_load(&t);
        for (unsigned k = 0; k < operands_of(&t); k++)
            for (size_t i = 0; i < t.n; i++) {
                memcpy(e, prime->p, sizeof e);
                size_t limb = i % (prime->limbs - 1);
                while (e[limb] == 0) /* the top limb is not 0 */
                    limb++;
                e[limb]--;
                memset(e, (int)(i & 1) * 0xff, limb * sizeof *e);
                memcpy(rig_element(k, i), e, prime->limbs * sizeof *e);
            }
        assert_int_equal(rig_call(), GX_NONE_BAD);
        rig_compare();
    }
}

static void test_false_alarms(void **state)
{
    for_each_kernel(state, false_alarms_case);
}

/* Without the check any result is allowed, but nothing is reported and no other memory is
 * touched. */
static void unchecked_case(struct trial t)
{
    static const size_t sizes[] = {1, 5, 8, 17, 40};
    if (!is_prime_field(&t) || t.kernel == GX_HOST_CHECK)
        return;
    t.unchecked = true;
    for (size_t s = 0; s < (t.subject->slow ? 2 : COUNT(sizes)); s++)
        for (size_t which = 0; which < oracle_bads(t.field); which++) {
            t.n = sizes[s];
            t.place = which & 1 ? PLACE_BEGIN : PLACE_END;
            rig_load(&t);
            for (unsigned k = 0; k < operands_of(&t); k++)
                for (size_t i = 0; i < t.n; i++)
                    oracle_bad(t.field, which + i * k, rig_element(k, i));
            assert_int_equal(rig_call(), GX_NONE_BAD);
        }
}

static void test_unchecked(void **state)
{
    for_each_kernel(state, unchecked_case);
}

/* ---- host.c and invert.c ------------------------------------------------------------------------
 */

static void test_table(void **state)
{
    (void)state;
    struct gx_host_table none, all, portable = {0};
    unsigned tiers = gx__host_tiers();
    assert_true(tiers & 1u << GX_TIER_PORTABLE);
    assert_int_equal(tiers >> GX_TIERS, 0);
    gx__host_table(&none, 0);
    gx__host_table(&all, ~0u);
    gx__host_fill_portable(&portable);
    assert_memory_equal(&none, &portable, sizeof none);
    for (unsigned field = 1; field < GX_FIELD_END; field++)
        for (unsigned k = 0; k < GX_HOST_KERNELS; k++) {
            bool exists = gx__prime((gx_field)field) || k <= GX_HOST_MUL;
            assert_int_equal(none.fn[field][k] != NULL, exists);
            assert_int_equal(all.fn[field][k] != NULL, exists);
            assert_int_equal(rig_subject(GX_TIERS)->table.fn[field][k] != NULL, exists);
            assert_true(tiers >> all.tier[field][k] & 1);
        }
    /* a tier without a kernel would pass every test below */
    for (unsigned which = 0; which < GX_TIERS; which++)
        if (rig_subject(which)->available)
            assert_non_null(rig_kernel(rig_subject(which), GX_BLS12_381_FQ, GX_HOST_MUL));
}

static void test_first_bad(void **state)
{
    (void)state;
    enum { N = 12 };
    const struct gx_prime *prime = gx__prime(GX_BN254_FR);
    uint64_t a[N][4] = {{0}}, b[N][4] = {{0}};
    struct gx_host_args args = {.a = a, .b = b, .n = N, .check = true};
    oracle_bad(prime->field, 0, a[7]);
    oracle_bad(prime->field, 1, b[5]);
    assert_int_equal(gx__first_bad(prime, a, N, false), 7);
    assert_int_equal(gx__first_bad(prime, a, 7, false), GX_NONE_BAD);
    assert_int_equal(gx__first_bad(prime, a[7], N, true), 0);
    assert_int_equal(gx__first_bad(prime, a[7], 0, true), GX_NONE_BAD);
    assert_int_equal(gx__first_bad_args(prime, &args, 1, 0, N), 7);
    assert_int_equal(gx__first_bad_args(prime, &args, 2, 0, N), 5);
    assert_int_equal(gx__first_bad_args(prime, &args, 3, 0, N), 5);
    assert_int_equal(gx__first_bad_args(prime, &args, 3, 6, N), 7);
    assert_int_equal(gx__first_bad_args(prime, &args, 3, 8, N), GX_NONE_BAD);
    assert_int_equal(gx__first_bad_args(prime, &args, 3, 0, 5), GX_NONE_BAD);
    args.b = b[5];
    args.broadcast = GX_BROADCAST_B;
    assert_int_equal(gx__first_bad_args(prime, &args, 3, 4, N), 4);
    assert_int_equal(gx__first_bad_args(prime, &args, 3, 4, 4), GX_NONE_BAD);
}

static void test_invert_one(void **state)
{
    (void)state;
    for (unsigned field = 1; field < GX_FIELD_END; field++) {
        const struct gx_prime *prime = gx__prime((gx_field)field);
        struct oracle_rng rng = {field};
        for (size_t i = 1; prime && i < 2000; i++) {
            uint64_t in[GX_LIMBS_MAX], out[GX_LIMBS_MAX], expected[GX_LIMBS_MAX];
            if (i < oracle_edges((gx_field)field))
                oracle_edge((gx_field)field, i, in);
            else
                oracle_fill_random((gx_field)field, &rng, in, 1);
            oracle_run(GX_INV, (gx_field)field, 1, expected, in, NULL, NULL, 0);
            gx__invert_one(prime, out, in);
            assert_memory_equal(out, expected, prime->limbs * sizeof *out);
            gx__invert_one(prime, in, in);
            assert_memory_equal(in, expected, prime->limbs * sizeof *out);
        }
    }
}

/* ---- main
 * ------------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    CMUnitTestFunction fn;
} groups[] = {
    {"sizes", test_sizes},
    {"alignment", test_alignment},
    {"in place", test_in_place},
    {"broadcast", test_broadcast},
    {"edges", test_edges},
    {"zeros", test_zeros},
    {"bad positions", test_bad_positions},
    {"bad kinds", test_bad_kinds},
    {"false alarms", test_false_alarms},
    {"unchecked", test_unchecked},
};

static int run_all(void)
{
    enum { COMMON = 3, TESTS = COMMON + SUBJECTS * COUNT(groups) };
    static char names[TESTS][48];
    struct CMUnitTest tests[TESTS] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_first_bad),
        cmocka_unit_test(test_invert_one),
    };
    for (size_t i = COMMON; i < TESTS; i++) {
        const struct subject *s = rig_subject((unsigned)((i - COMMON) / COUNT(groups)));
        size_t group = (i - COMMON) % COUNT(groups);
        snprintf(names[i], sizeof names[i], "%s: %s%s", s->name, groups[group].name,
                 s->available ? "" : " (this CPU lacks the tier)");
        tests[i].name = names[i];
        tests[i].test_func = groups[group].fn;
        tests[i].initial_state = (void *)(uintptr_t)s;
    }
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--bench") == 0)
        return bench(argc - 2, argv + 2);
    if (argc > 1) {
        fprintf(stderr, "usage: kernels [--bench [--csv] [FILTER]]\n");
        return 2;
    }
    return run_all();
}
