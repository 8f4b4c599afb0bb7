/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/peers: blst. It has functions for one element, which are called in a loop here, and no
 * batch inverse, which is made of them here: Montgomery's trick over blocks that stay in cache. Its
 * sums of points have one thread: with several, each adds up a part of the points.
 */
#include "adaptor.h"

#include <blst.h>
#include <omp.h>

enum { BLOCK = 4096, SCALAR_BITS = 255, SCALAR_BYTES = 32 };

/* Elements [from, to). */
typedef void (*range_fn)(size_t from, size_t to);

#define ELEMENTWISE(name, type, function)                                                          \
    static void name(size_t from, size_t to)                                                       \
    {                                                                                              \
        const type *a = (const type *)loaded.a, *b = (const type *)loaded.b;                       \
        type *out = (type *)loaded.out;                                                            \
        for (size_t i = from; i < to; i++)                                                         \
            function(out + i, a + i, b + i);                                                       \
    }

ELEMENTWISE(fq_add, blst_fp, blst_fp_add)
ELEMENTWISE(fq_mul, blst_fp, blst_fp_mul)
ELEMENTWISE(fr_add, blst_fr, blst_fr_add)
ELEMENTWISE(fr_mul, blst_fr, blst_fr_mul)

/* No operand is 0. */
static void invert_block(blst_fp *out, const blst_fp *a, size_t n)
{
    blst_fp rest = a[0];
    for (size_t i = 1; i < n; i++) { /* out[i]: the product of all before a[i] */
        out[i] = rest;
        blst_fp_mul(&rest, &rest, a + i);
    }
    blst_fp_inverse(&rest, &rest);
    for (size_t i = n; i-- > 1;) {
        blst_fp_mul(out + i, out + i, &rest);
        blst_fp_mul(&rest, &rest, a + i);
    }
    out[0] = rest;
}

static void fq_inv(size_t from, size_t to)
{
    const blst_fp *a = (const blst_fp *)loaded.a;
    blst_fp *out = (blst_fp *)loaded.out;
    for (size_t i = from; i < to; i += BLOCK)
        invert_block(out + i, a + i, to - i < BLOCK ? to - i : BLOCK);
}

static struct {
    blst_p1 sum;
    limb_t *scratch;
} * parts; /* of a sum of points, by thread */

static void g1_sum(size_t from, size_t to)
{
    const blst_p1_affine *points[] = {(const blst_p1_affine *)loaded.b + from, NULL};
    const byte *scalars[] = {loaded.a + from * SCALAR_BYTES, NULL};
    int me = omp_get_thread_num();                   /* 0 outside of a team */
    memset(&parts[me].sum, 0, sizeof parts[me].sum); /* infinity */
    if (to > from)
        blst_p1s_mult_pippenger(&parts[me].sum, points, to - from, scalars, SCALAR_BITS,
                                parts[me].scratch);
}

static const struct {
    const char *kind, *op;
    range_fn run;
} operations[] = {
    {"bls12-381-fq", "add", fq_add}, {"bls12-381-fq", "mul", fq_mul},
    {"bls12-381-fq", "inv", fq_inv}, {"bls12-381-fr", "add", fr_add},
    {"bls12-381-fr", "mul", fr_mul}, {"bls12-381-g1", "msm", g1_sum},
};

static range_fn chosen;
static unsigned team;

static const char *make_parts(void)
{
    static unsigned made;
    for (unsigned i = 0; i < made; i++)
        free(parts[i].scratch);
    free(parts);
    parts = calloc(team, sizeof *parts);
    made = parts ? team : 0;
    for (unsigned i = 0; i < made; i++)
        if (!(parts[i].scratch =
                  malloc(blst_p1s_mult_pippenger_scratch_sizeof(loaded.n / team + 1))))
            return "no memory";
    return parts ? NULL : "no memory";
}

static void join_parts(void)
{
    blst_p1 sum = parts[0].sum;
    for (unsigned i = 1; i < team; i++)
        blst_p1_add_or_double(&sum, &sum, &parts[i].sum);
    blst_p1_to_affine((blst_p1_affine *)loaded.out, &sum);
}

static const char *peer_load(void)
{
    return NULL;
}

static const char *peer_choose(const char *op, unsigned threads)
{
    team = threads;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (!strcmp(operations[i].kind, loaded.kind) && !strcmp(operations[i].op, op)) {
            chosen = operations[i].run;
            return chosen == g1_sum ? make_parts() : NULL;
        }
    return "blst does not have it";
}

static void run(void)
{
    if (team == 1) {
        chosen(0, loaded.n);
        return;
    }
#pragma omp parallel num_threads(team)
    {
        size_t me = (size_t)omp_get_thread_num(), all = (size_t)omp_get_num_threads();
        chosen(loaded.n * me / all, loaded.n * (me + 1) / all);
    }
}

static const char *peer_repeat(unsigned long times)
{
    for (unsigned long k = 0; k < times; k++) {
        run();
        if (chosen == g1_sum)
            join_parts();
    }
    return NULL;
}

static const char *peer_results(void)
{
    return NULL;
}
