/* SPDX-License-Identifier: Apache-2.0
 *
 * See groth16.h. Many proofs are one equation, with a coefficient s_i for each:
 *     product of e(s_i A_i, B_i) = e(alpha, beta)^S e(sum of s_i L_i, gamma) e(sum of s_i C_i,
 * delta) where S is the sum of the s_i. So each proof costs a Miller loop, and all of them the rest
 * once. One proof is the same with s = 1.
 */
#include "pairing/groth16.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "curve/coord.h"
#include "curve/form.h"
#include "curve/msm.h"
#include "curve/point.h"
#include "field/scalar.h"

/* For multiples of ic: enough for all that pay with up to some 250 public inputs. */
#define TABLE_BYTES ((uint64_t)1 << 20)

#define COEFFICIENT_LIMBS (GX_COEFFICIENT_BYTES / sizeof(uint64_t))
#define COEFFICIENT_BITS  (8 * GX_COEFFICIENT_BYTES)

struct gx_groth16_key {
    gx_allocator allocator;
    const struct gx_pairing *e;
    const struct gx_curve_row *g1, *g2;
    const struct gx_msm_host *host;
    size_t inputs;
    uint64_t *ic;
    struct gx_msm_table multiples; /* of ic; without memory if they would be too large */
    struct gx_fq12 alpha_beta;
    struct gx_lines gamma, delta; /* of the opposite points */
};

/* ---- points ------------------------------------------------------------------------------ */

static gx_status read_p(const struct gx_groth16_key *key, gx_point_form form, const void *in,
                        uint64_t *xy, const char *name, struct gx_error *error)
{
    const char *why;
    gx_status s = gx__point_decode(key->g1, form, in, NULL, xy, &why);
    if (!s)
        s = gx__pairing_check_p(key->e, xy, &why);
    return s ? gx__refuse(error, s, "%s: %s", name, why) : GX_OK;
}

/* A point of the curve: Miller loops find out whether it is in the subgroup. */
static gx_status read_q(const struct gx_groth16_key *key, gx_point_form form, const void *in,
                        uint64_t *xy, const char *name, struct gx_error *error)
{
    const char *why;
    gx_status s = gx__point_decode(key->g2, form, in, NULL, xy, &why);
    if (!s)
        s = gx__point_check(key->g2, GX_CHECK_CURVE, xy, &why);
    return s ? gx__refuse(error, s, "%s: %s", name, why) : GX_OK;
}

static gx_status not_in_subgroup(struct gx_error *error, const char *name)
{
    return gx__refuse(error, GX_ERR_INVALID, "%s: it is not in the subgroup", name);
}

static gx_status out_of_memory(struct gx_error *error)
{
    return gx__refuse(error, GX_ERR_OUT_OF_MEMORY, "out of memory");
}

/* xy = the sum of scalars[i] * points[i], on this thread; table: of the points, or NULL. */
static gx_status add_products(const struct gx_groth16_key *key, const uint64_t *points,
                              const uint64_t *scalars, size_t count, uint32_t bits,
                              const struct gx_msm_table *table, uint64_t *xy)
{
    struct gx_xyzz sum;
    struct gx_msm_call call = {.curve = key->g1,
                               .points = points,
                               .scalars = scalars,
                               .count = count,
                               .bits = bits,
                               .workers = 1,
                               .result = &sum,
                               .table = table};
    call.scratch = gx__alloc(&key->allocator, gx__msm_scratch(key->host, &call));
    if (!call.scratch)
        return GX_ERR_OUT_OF_MEMORY;
    for (size_t phase = 0; phase < gx__msm_phases(key->host, &call); phase++)
        for (size_t chunk = 0; chunk < gx__msm_chunks(key->host, &call, phase); chunk++)
            gx__msm_chunk(key->host, &call, phase, chunk, 0);
    gx__free(&key->allocator, call.scratch);
    gx__xyzz_to_affine(key->g1, &sum, xy);
    return GX_OK;
}

/* ---- keys -------------------------------------------------------------------------------- */

static gx_status prepare_opposite(struct gx_groth16_key *key, gx_point_form form, const void *in,
                                  const char *name, struct gx_lines *lines, struct gx_error *error)
{
    uint64_t q[2 * GX_COORD_LIMBS];
    gx_status s = read_q(key, form, in, q, name, error);
    if (s)
        return s;
    gx__coord_neg(key->g2, q + key->g2->limbs, q + key->g2->limbs);
    return gx__lines_prepare(key->e, lines, q) ? GX_OK : not_in_subgroup(error, name);
}

static gx_status set_alpha_beta(struct gx_groth16_key *key, gx_point_form form,
                                const struct gx_groth16_points *points, struct gx_error *error)
{
    uint64_t p[2 * GX_COORD_LIMBS], q[2 * GX_COORD_LIMBS];
    const struct gx_pair pair = {p, q, NULL};
    gx_status s = read_p(key, form, points->alpha, p, "alpha", error);
    if (!s)
        s = read_q(key, form, points->beta, q, "beta", error);
    if (s)
        return s;
    if (gx__miller_loop(key->e, &key->alpha_beta, &pair, 1) != GX_ALL_GOOD)
        return not_in_subgroup(error, "beta");
    gx__final_power(key->e, &key->alpha_beta, &key->alpha_beta);
    return GX_OK;
}

static gx_status make_multiples(struct gx_groth16_key *key, struct gx_error *error)
{
    struct gx_msm_table *table = &key->multiples;
    if (!gx__msm_table_plan(key->host, key->g1, key->inputs + 1, TABLE_BYTES, table))
        return GX_OK;
    table->memory = gx__alloc(&key->allocator, gx__msm_table_bytes(key->host, table));
    void *scratch = gx__alloc(&key->allocator, gx__msm_table_scratch(key->host, table));
    bool got = table->memory && scratch;
    if (got)
        for (size_t i = 0; i < gx__msm_table_chunks(table); i++)
            gx__msm_table_chunk(key->host, table, key->ic, i, scratch);
    gx__free(&key->allocator, scratch);
    return got ? GX_OK : out_of_memory(error);
}

static gx_status set_ic(struct gx_groth16_key *key, gx_point_form form, const char *ic,
                        struct gx_error *error)
{
    const size_t words = (size_t)2 * key->g1->limbs, bytes = gx_point_bytes(key->g1->curve, form);
    if (key->inputs >= GX_MSM_PIECE)
        return gx__refuse(error, GX_ERR_INVALID, "%zu public inputs are too many", key->inputs);
    key->ic = gx__alloc(&key->allocator, (key->inputs + 1) * words * sizeof *key->ic);
    if (!key->ic)
        return out_of_memory(error);
    for (size_t i = 0; i <= key->inputs; i++) {
        char name[32];
        snprintf(name, sizeof name, "ic[%zu]", i);
        gx_status s = read_p(key, form, ic + i * bytes, key->ic + i * words, name, error);
        if (s)
            return s;
    }
    return make_multiples(key, error);
}

static gx_status fill(struct gx_groth16_key *key, gx_point_form form,
                      const struct gx_groth16_points *points, struct gx_error *error)
{
    gx_status s = set_alpha_beta(key, form, points, error);
    if (!s)
        s = prepare_opposite(key, form, points->gamma, "gamma", &key->gamma, error);
    if (!s)
        s = prepare_opposite(key, form, points->delta, "delta", &key->delta, error);
    return s ? s : set_ic(key, form, points->ic, error);
}

gx_status gx__groth16_key_create(const gx_allocator *allocator, gx_curve curve, unsigned mask,
                                 gx_point_form form, const struct gx_groth16_points *points,
                                 struct gx_groth16_key **out, struct gx_error *error)
{
    const struct gx_pairing *e = gx__pairing(curve, mask);
    *out = NULL;
    if (!e || !gx_point_bytes(curve, form))
        return gx__refuse(error, GX_ERR_INVALID, "no such curve, or it has not this form");
    struct gx_groth16_key *key = gx__alloc(allocator, sizeof *key);
    if (!key)
        return out_of_memory(error);
    *key = (struct gx_groth16_key){.allocator = *allocator,
                                   .e = e,
                                   .g1 = gx__pairing_g1(e),
                                   .g2 = gx__pairing_g2(e),
                                   .host = gx__msm_host(mask),
                                   .inputs = points->inputs};
    gx_status s = fill(key, form, points, error);
    if (s)
        gx__groth16_key_destroy(&key);
    *out = key;
    return s;
}

void gx__groth16_key_destroy(struct gx_groth16_key **key)
{
    struct gx_groth16_key *k = *key;
    *key = NULL;
    if (!k)
        return;
    const gx_allocator allocator = k->allocator;
    gx__free(&allocator, k->multiples.memory);
    gx__free(&allocator, k->ic);
    gx__free(&allocator, k);
}

size_t gx__groth16_key_inputs(const struct gx_groth16_key *key)
{
    return key->inputs;
}

/* ---- proofs ------------------------------------------------------------------------------ */

struct check {
    const struct gx_groth16_key *key;
    gx_point_form form;
    const struct gx_groth16_proof *proofs;
    const char *inputs;
    size_t n;
    const char *given; /* coefficients; NULL: one proof, 1 */
    struct gx_error *error;

    uint64_t *coefficients;               /* n, of GX_SCALAR_LIMBS limbs */
    uint64_t *factors;                    /* of ic; the first one is the sum of the coefficients */
    uint64_t *a, *b, *c;                  /* points */
    struct gx_pair *pairs;                /* n, and two of the key */
    uint64_t sums[2][2 * GX_COORD_LIMBS]; /* of L and of C */
};

static uint64_t *limbs_of(const struct check *c, size_t limbs)
{
    return gx__alloc(&c->key->allocator, limbs * sizeof(uint64_t));
}

static gx_status begin(struct check *c)
{
    const struct gx_groth16_key *key = c->key;
    c->coefficients = limbs_of(c, c->n * GX_SCALAR_LIMBS);
    c->factors = limbs_of(c, (key->inputs + 1) * GX_SCALAR_LIMBS);
    c->a = limbs_of(c, c->n * 2 * key->g1->limbs);
    c->b = limbs_of(c, c->n * 2 * key->g2->limbs);
    c->c = limbs_of(c, c->n * 2 * key->g1->limbs);
    c->pairs = gx__alloc(&key->allocator, (c->n + 2) * sizeof *c->pairs);
    return c->coefficients && c->factors && c->a && c->b && c->c && c->pairs
               ? GX_OK
               : out_of_memory(c->error);
}

static void end(struct check *c)
{
    const gx_allocator *allocator = &c->key->allocator;
    gx__free(allocator, c->coefficients);
    gx__free(allocator, c->factors);
    gx__free(allocator, c->a);
    gx__free(allocator, c->b);
    gx__free(allocator, c->c);
    gx__free(allocator, c->pairs);
}

static gx_status take_coefficients(struct check *c)
{
    for (size_t i = 0; i < c->n; i++) {
        uint64_t *s = c->coefficients + i * GX_SCALAR_LIMBS;
        s[0] = 1;
        if (c->given)
            memcpy(s, c->given + i * GX_COEFFICIENT_BYTES, GX_COEFFICIENT_BYTES);
        if (!(s[0] | s[1]))
            return gx__refuse(c->error, GX_ERR_INVALID, "coefficient %zu is 0", i);
    }
    return GX_OK;
}

/* factors += coefficient * (1, inputs) */
static gx_status take_inputs(struct check *c, size_t i)
{
    const struct gx_prime *order = c->key->g1->scalar;
    const size_t bytes = GX_SCALAR_LIMBS * sizeof(uint64_t), count = c->key->inputs;
    const uint64_t *s = c->coefficients + i * GX_SCALAR_LIMBS;
    uint64_t montgomery[GX_LIMBS_MAX], product[GX_LIMBS_MAX];
    gx__sum_one(order, c->factors, c->factors, s);
    gx__mul_one(order, montgomery, s, order->r2);
    for (size_t k = 0; k < count; k++) {
        uint64_t *factor = c->factors + (k + 1) * GX_SCALAR_LIMBS;
        memcpy(product, c->inputs + (i * count + k) * bytes, bytes);
        if (gx__first_bad(order, product, 1, false) != GX_NONE_BAD)
            return gx__refuse(c->error, GX_ERR_NOT_CANONICAL,
                              "proof %zu: public input %zu is not below the order", i, k);
        gx__mul_one(order, product, product, montgomery);
        gx__sum_one(order, factor, factor, product);
    }
    return GX_OK;
}

static void scale(const struct check *c, uint64_t *xy, const uint64_t *coefficient)
{
    struct gx_xyzz t;
    gx__pairing_multiply(c->key->e, &t, xy, coefficient, COEFFICIENT_BITS);
    gx__xyzz_to_affine(c->key->g1, &t, xy);
}

static gx_status take_points(struct check *c, size_t i)
{
    const struct gx_groth16_key *key = c->key;
    const struct gx_groth16_proof *proof = &c->proofs[i];
    uint64_t *a = c->a + i * 2 * key->g1->limbs, *b = c->b + i * 2 * key->g2->limbs;
    uint64_t *third = c->c + i * 2 * key->g1->limbs;
    struct gx_error why = {""};
    gx_status s = read_p(key, c->form, proof->a, a, "a", &why);
    if (!s)
        s = read_q(key, c->form, proof->b, b, "b", &why);
    if (!s)
        s = read_p(key, c->form, proof->c, third, "c", &why);
    if (s)
        return gx__refuse(c->error, s, "proof %zu: %s", i, why.text);
    if (c->given)
        scale(c, a, c->coefficients + i * GX_SCALAR_LIMBS);
    c->pairs[i] = (struct gx_pair){a, b, NULL};
    return GX_OK;
}

static gx_status add_up(struct check *c)
{
    const struct gx_groth16_key *key = c->key;
    const struct gx_msm_table *multiples = key->multiples.memory ? &key->multiples : NULL;
    gx_status s = add_products(key, key->ic, c->factors, key->inputs + 1, 64 * GX_SCALAR_LIMBS,
                               multiples, c->sums[0]);
    if (!c->given)
        memcpy(c->sums[1], c->c, key->g1->info.affine_bytes);
    else if (!s)
        s = add_products(key, c->c, c->coefficients, c->n, COEFFICIENT_BITS, NULL, c->sums[1]);
    c->pairs[c->n] = (struct gx_pair){c->sums[0], NULL, &key->gamma};
    c->pairs[c->n + 1] = (struct gx_pair){c->sums[1], NULL, &key->delta};
    return s ? out_of_memory(c->error) : GX_OK;
}

static uint32_t bit_length(const uint64_t *limbs, uint32_t count)
{
    while (count && !limbs[count - 1])
        count--;
    return count ? 64 * count - (uint32_t)__builtin_clzll(limbs[count - 1]) : 0;
}

static gx_status compare(struct check *c, bool *valid)
{
    const struct gx_pairing *e = c->key->e;
    struct gx_fq12 left, right;
    size_t bad = gx__miller_loop(e, &left, c->pairs, c->n + 2);
    if (bad != GX_ALL_GOOD)
        return gx__refuse(c->error, GX_ERR_INVALID, "proof %zu: b: it is not in the subgroup", bad);
    gx__final_power(e, &left, &left);
    gx__pairing_power(e, &right, &c->key->alpha_beta, c->factors,
                      bit_length(c->factors, GX_SCALAR_LIMBS));
    *valid = gx__fq12_equal(e, &left, &right);
    return GX_OK;
}

static gx_status run(struct check *c, bool *valid)
{
    *valid = false;
    gx_status s = begin(c);
    if (!s)
        s = take_coefficients(c);
    for (size_t i = 0; i < c->n && !s; i++) {
        s = take_inputs(c, i);
        if (!s)
            s = take_points(c, i);
    }
    if (!s)
        s = add_up(c);
    if (!s)
        s = compare(c, valid);
    end(c);
    return s;
}

gx_status gx__groth16_verify(const struct gx_groth16_key *key, gx_point_form form,
                             const struct gx_groth16_proof *proof, const void *inputs, bool *valid,
                             struct gx_error *error)
{
    return run(
        &(struct check){
            .key = key, .form = form, .proofs = proof, .inputs = inputs, .n = 1, .error = error},
        valid);
}

gx_status gx__groth16_verify_all(const struct gx_groth16_key *key, gx_point_form form,
                                 const struct gx_groth16_proof *proofs, const void *inputs,
                                 size_t n, const void *coefficients, bool *valid,
                                 struct gx_error *error)
{
    if (!coefficients)
        return gx__refuse(error, GX_ERR_INVALID, "no coefficients");
    if (n > GX_MSM_PIECE)
        return gx__refuse(error, GX_ERR_INVALID, "%zu proofs are too many at once", n);
    return run(&(struct check){.key = key,
                               .form = form,
                               .proofs = proofs,
                               .inputs = inputs,
                               .n = n,
                               .given = coefficients,
                               .error = error},
               valid);
}
