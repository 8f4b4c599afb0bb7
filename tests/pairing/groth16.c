/* SPDX-License-Identifier: Apache-2.0
 *
 * Proofs that snarkjs made, and made ones of every kind: from the discrete logarithms of all
 * points, C is what makes the equation hold. Each is accepted, alone and among others, and refused
 * after any change.
 */
#include <gmp.h>
#include <jansson.h>
#include <stdio.h>

#include "curve/form.h"
#include "curve/msm.h"
#include "curve/point.h"
#include "pairing/groth16.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/oracle_curve.h"

enum { PROOFS_MAX = 40, INPUTS_MAX = 20, SCALAR = 32, LIMBS = 4, POINT = 4 * 48 };

static const unsigned masks[] = {1u << GX_TIER_PORTABLE, 1u << GX_TIER_ADX, ~0u};
static const gx_curve curves[] = {GX_BLS12_381_G1, GX_BN254_G1};

static uint64_t seed = 16;
static const gx_allocator standard;

/* A key and proofs, points as GX_POINT_XY_PLAIN. */
struct statement {
    gx_curve curve;
    size_t inputs, n;
    unsigned char alpha[POINT], beta[POINT], gamma[POINT], delta[POINT];
    unsigned char *ic; /* packed */
    unsigned char a[PROOFS_MAX][POINT], b[PROOFS_MAX][POINT], c[PROOFS_MAX][POINT];
    unsigned char *input; /* packed, those of each proof */
    struct gx_groth16_proof proofs[PROOFS_MAX];
    unsigned char coefficients[PROOFS_MAX][GX_COEFFICIENT_BYTES];
};

static void open_statement(struct statement *s, gx_curve curve, size_t inputs, size_t n)
{
    memset(s, 0, sizeof *s);
    s->curve = curve;
    s->inputs = inputs;
    s->n = n;
    s->ic = gxt_alloc((inputs + 1) * POINT);
    s->input = gxt_alloc((inputs * n + 1) * SCALAR);
    gxt_bytes(&seed, s->coefficients, sizeof s->coefficients);
    for (size_t i = 0; i < n; i++)
        s->proofs[i] = (struct gx_groth16_proof){s->a[i], s->b[i], s->c[i]};
}

static void close_statement(struct statement *s)
{
    free(s->ic);
    free(s->input);
}

/* ---- what is said of them ---- */

static struct gx_groth16_key *make_key(const struct statement *s, unsigned mask)
{
    const struct gx_groth16_points points = {s->alpha, s->beta, s->gamma,
                                             s->delta, s->ic,   s->inputs};
    struct gx_groth16_key *key;
    struct gx_error error;
    assert_int_equal(
        gx__groth16_key_create(&standard, s->curve, mask, GX_POINT_XY_PLAIN, &points, &key, &error),
        GX_OK);
    assert_int_equal(gx__groth16_key_inputs(key), s->inputs);
    return key;
}

static gx_status verify_one(const struct gx_groth16_key *key, const struct statement *s, size_t i,
                            bool *valid, struct gx_error *error)
{
    return gx__groth16_verify(key, GX_POINT_XY_PLAIN, &s->proofs[i],
                              s->inputs ? s->input + i * s->inputs * SCALAR : NULL, valid, error);
}

static gx_status verify_all(const struct gx_groth16_key *key, const struct statement *s,
                            bool *valid, struct gx_error *error)
{
    return gx__groth16_verify_all(key, GX_POINT_XY_PLAIN, s->proofs, s->input, s->n,
                                  s->coefficients, valid, error);
}

/* All are valid but the one with this number; none has the number n. */
static void assert_verdicts(const struct gx_groth16_key *key, const struct statement *s,
                            size_t wrong)
{
    struct gx_error error;
    for (size_t i = 0; i < s->n; i++) {
        bool valid = i == wrong;
        assert_int_equal(verify_one(key, s, i, &valid, &error), GX_OK);
        assert_int_equal(valid, i != wrong);
    }
    bool valid = wrong < s->n;
    assert_int_equal(verify_all(key, s, &valid, &error), GX_OK);
    assert_int_equal(valid, wrong == s->n);
}

/* Among n proofs one cannot be checked. */
static void assert_refused(const struct gx_groth16_key *key, const struct statement *s,
                           gx_status status, const char *message)
{
    struct gx_error error;
    bool valid = true;
    assert_int_equal(verify_all(key, s, &valid, &error), status);
    assert_string_equal(error.text, message);
    assert_false(valid);
}

/* ---- proofs of snarkjs ---- */

static void write_number(unsigned char *out, size_t bytes, const json_t *decimal)
{
    mpz_t z;
    mpz_init(z);
    assert_int_equal(mpz_set_str(z, json_string_value(decimal), 10), 0);
    oracle_export(out, bytes / sizeof(uint64_t), z);
    mpz_clear(z);
}

/* [x, y, 1] or [[x0, x1], [y0, y1], [1, 0]] */
static void write_point(gx_curve curve, unsigned char *out, const json_t *point)
{
    const size_t bytes = gx__curve(curve)->base->limbs * sizeof(uint64_t);
    for (size_t i = 0; i < 2; i++) {
        const json_t *coordinate = json_array_get(point, i);
        if (json_is_string(coordinate))
            write_number(out + i * bytes, bytes, coordinate);
        for (size_t k = 0; k < json_array_size(coordinate); k++)
            write_number(out + (2 * i + k) * bytes, bytes, json_array_get(coordinate, k));
    }
}

static void load(struct statement *s, const char *path, gx_curve curve)
{
    json_error_t error;
    json_t *all = json_load_file(path, 0, &error);
    const json_t *key = json_object_get(all, "key"), *ic = json_object_get(key, "IC");
    const json_t *proofs = json_object_get(all, "proofs");
    const size_t bytes = 2 * gx__curve(curve)->base->limbs * sizeof(uint64_t);
    assert_non_null(all);
    open_statement(s, curve, json_array_size(ic) - 1, json_array_size(proofs));
    write_point(curve, s->alpha, json_object_get(key, "vk_alpha_1"));
    write_point(curve, s->beta, json_object_get(key, "vk_beta_2"));
    write_point(curve, s->gamma, json_object_get(key, "vk_gamma_2"));
    write_point(curve, s->delta, json_object_get(key, "vk_delta_2"));
    for (size_t i = 0; i <= s->inputs; i++)
        write_point(curve, s->ic + i * bytes, json_array_get(ic, i));
    for (size_t i = 0; i < s->n; i++) {
        const json_t *one = json_array_get(proofs, i), *proof = json_object_get(one, "proof");
        write_point(curve, s->a[i], json_object_get(proof, "pi_a"));
        write_point(curve, s->b[i], json_object_get(proof, "pi_b"));
        write_point(curve, s->c[i], json_object_get(proof, "pi_c"));
        for (size_t k = 0; k < s->inputs; k++)
            write_number(s->input + (i * s->inputs + k) * SCALAR, SCALAR,
                         json_array_get(json_object_get(one, "public"), k));
    }
    json_decref(all);
}

static void check_snarkjs(const char *path, gx_curve curve)
{
    static struct statement s;
    load(&s, path, curve);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.inputs, 2);
    for (size_t m = 0; m < GXT_COUNT(masks); m++) {
        struct gx_groth16_key *key = make_key(&s, masks[m]);
        assert_verdicts(key, &s, s.n);
        for (size_t i = 0; i < s.n * s.inputs; i++) {
            s.input[i * SCALAR] ^= 1;
            assert_verdicts(key, &s, i / s.inputs);
            s.input[i * SCALAR] ^= 1;
        }
        s.proofs[1].c = s.c[0];
        assert_verdicts(key, &s, 1);
        s.proofs[1].c = s.c[1];
        gx__groth16_key_destroy(&key);
        assert_null(key);
    }
    close_statement(&s);
}

static void snarkjs(void **state)
{
    (void)state;
    check_snarkjs(GXT_VECTORS "/bn128.json", GX_BN254_G1);
    check_snarkjs(GXT_VECTORS "/bls12381.json", GX_BLS12_381_G1);
}

/* ---- made proofs ---- */

/* Discrete logarithms. */
struct logs {
    mpz_t order, alpha, beta, gamma, delta, a, b, c, l, t;
    mpz_t ic[INPUTS_MAX + 1];
};

static void logs_init(struct logs *k, gx_curve curve)
{
    mpz_inits(k->order, k->alpha, k->beta, k->gamma, k->delta, k->a, k->b, k->c, k->l, k->t, NULL);
    for (size_t i = 0; i <= INPUTS_MAX; i++)
        mpz_init(k->ic[i]);
    oracle_modulus(k->order, oracle_scalar_field(curve));
}

static void logs_clear(struct logs *k)
{
    mpz_clears(k->order, k->alpha, k->beta, k->gamma, k->delta, k->a, k->b, k->c, k->l, k->t, NULL);
    for (size_t i = 0; i <= INPUTS_MAX; i++)
        mpz_clear(k->ic[i]);
}

static void draw(struct logs *k, mpz_t out)
{
    uint64_t limbs[LIMBS];
    gxt_bytes(&seed, limbs, sizeof limbs);
    oracle_import(out, limbs, LIMBS);
    mpz_mod(out, out, k->order);
}

static void put_multiple(gx_curve curve, unsigned char *out, const mpz_t scalar)
{
    const struct gx_curve_row *row = gx__curve(curve);
    uint64_t limbs[LIMBS], xy[2 * GX_COORD_LIMBS];
    struct gx_xyzz p;
    oracle_export(limbs, LIMBS, scalar);
    gx__xyzz_set_affine(row, &p, row->generator);
    gx__xyzz_mul(row, &p, &p, limbs, 64 * LIMBS);
    gx__xyzz_to_affine(row, &p, xy);
    gx__point_encode(row, GX_POINT_XY_PLAIN, xy, out);
}

/* The points whose logarithm is made 0. */
enum zero { NOTHING, ALPHA, BETA, GAMMA, DELTA, IC, A, B, C, ZEROS };

static void make_key_points(struct statement *s, struct logs *k, enum zero zero)
{
    const size_t bytes = gx__curve(s->curve)->info.affine_bytes;
    mpz_ptr all[] = {[ALPHA] = k->alpha, [BETA] = k->beta, [GAMMA] = k->gamma, [DELTA] = k->delta};
    for (enum zero z = ALPHA; z <= DELTA; z++) {
        draw(k, all[z]);
        if (z == zero)
            mpz_set_ui(all[z], 0);
    }
    put_multiple(s->curve, s->alpha, k->alpha);
    put_multiple(s->curve + 1, s->beta, k->beta);
    put_multiple(s->curve + 1, s->gamma, k->gamma);
    put_multiple(s->curve + 1, s->delta, k->delta);
    for (size_t i = 0; i <= s->inputs; i++) {
        draw(k, k->ic[i]);
        if (zero == IC)
            mpz_set_ui(k->ic[i], 0);
        put_multiple(s->curve, s->ic + i * bytes, k->ic[i]);
    }
}

/* l = the right side without C: alpha beta + L gamma. */
static void set_right_side(struct statement *s, struct logs *k, size_t which)
{
    mpz_set(k->l, k->ic[0]);
    for (size_t i = 0; i < s->inputs; i++) {
        draw(k, k->t);
        oracle_export(s->input + (which * s->inputs + i) * SCALAR, LIMBS, k->t);
        mpz_addmul(k->l, k->t, k->ic[i + 1]);
    }
    mpz_mul(k->l, k->l, k->gamma);
    mpz_addmul(k->l, k->alpha, k->beta);
    mpz_mod(k->l, k->l, k->order);
}

static void make_proof(struct statement *s, struct logs *k, size_t which, enum zero zero)
{
    set_right_side(s, k, which);
    draw(k, k->a);
    draw(k, k->b);
    draw(k, k->c);
    if (zero == A)
        mpz_set_ui(k->a, 0);
    if (zero == B)
        mpz_set_ui(k->b, 0);
    if (zero == C || zero == DELTA) { /* a is what is left to choose */
        mpz_set_ui(k->c, zero == DELTA);
        mpz_invert(k->t, k->b, k->order);
        mpz_mul(k->a, k->l, k->t);
    } else {
        mpz_mul(k->c, k->a, k->b);
        mpz_sub(k->c, k->c, k->l);
        mpz_invert(k->t, k->delta, k->order);
        mpz_mul(k->c, k->c, k->t);
    }
    mpz_mod(k->a, k->a, k->order);
    mpz_mod(k->c, k->c, k->order);
    put_multiple(s->curve, s->a[which], k->a);
    put_multiple(s->curve + 1, s->b[which], k->b);
    put_multiple(s->curve, s->c[which], k->c);
}

static void make_statement(struct statement *s, gx_curve curve, size_t inputs, size_t n,
                           enum zero zero)
{
    struct logs k;
    open_statement(s, curve, inputs, n);
    logs_init(&k, curve);
    make_key_points(s, &k, zero);
    for (size_t i = 0; i < n; i++)
        make_proof(s, &k, i, zero);
    logs_clear(&k);
}

static void made(void **state)
{
    (void)state;
    static const struct {
        size_t inputs, n;
    } sizes[] = {{0, 1}, {1, 2}, {INPUTS_MAX, 3}, {3, 0}, {2, 17}, {1, PROOFS_MAX}};
    static struct statement s;
    for (size_t c = 0; c < GXT_COUNT(curves); c++)
        for (size_t i = 0; i < GXT_COUNT(sizes); i++) {
            make_statement(&s, curves[c], sizes[i].inputs, sizes[i].n, NOTHING);
            struct gx_groth16_key *key = make_key(&s, ~0u);
            assert_verdicts(key, &s, s.n);
            for (size_t w = 0; w + 1 < s.n; w += 5) {
                s.proofs[w].a = s.a[w + 1];
                assert_verdicts(key, &s, w);
                s.proofs[w].a = s.a[w];
            }
            gx__groth16_key_destroy(&key);
            close_statement(&s);
        }
}

/* Infinity in each place is a point like any other. */
static void with_infinity(void **state)
{
    (void)state;
    static struct statement s;
    for (size_t c = 0; c < GXT_COUNT(curves); c++)
        for (enum zero zero = ALPHA; zero < ZEROS; zero++) {
            make_statement(&s, curves[c], 2, 3, zero);
            struct gx_groth16_key *key = make_key(&s, ~0u);
            assert_verdicts(key, &s, s.n);
            if (zero != DELTA) { /* where any C is right */
                s.proofs[1].c = s.a[0];
                assert_verdicts(key, &s, 1);
            }
            gx__groth16_key_destroy(&key);
            close_statement(&s);
        }
}

/* More than have multiples of their points. */
static void many_inputs(void **state)
{
    (void)state;
    enum { INPUTS = 1 << 15, MANY = 7 };
    static struct statement s, few;
    const size_t bytes = gx__curve(GX_BN254_G1)->info.affine_bytes;
    make_statement(&few, GX_BN254_G1, 1, 1, NOTHING);
    open_statement(&s, GX_BN254_G1, INPUTS, 1);
    unsigned char *ic = s.ic, *input = s.input;
    s = few;
    s.ic = ic;
    s.input = input;
    s.inputs = INPUTS;
    s.proofs[0] = (struct gx_groth16_proof){s.a[0], s.b[0], s.c[0]};
    memcpy(s.ic, few.ic, bytes);
    for (size_t i = 0; i < INPUTS; i++)
        memcpy(s.ic + (i + 1) * bytes, few.ic + bytes, bytes);
    memset(s.input, 0, INPUTS * SCALAR);
    memcpy(s.input + (INPUTS - 1) * SCALAR, few.input, SCALAR);
    struct gx_groth16_key *key = make_key(&s, ~0u);
    assert_verdicts(key, &s, 1);
    s.input[MANY * SCALAR] = 1;
    assert_verdicts(key, &s, 0);
    gx__groth16_key_destroy(&key);
    close_statement(&s);
    close_statement(&few);
}

/* ---- what is refused ---- */

/* Each point of a proof in turn is bad in this way. */
static void spoil_points(struct statement *s, const struct gx_groth16_key *key,
                         const unsigned char *g1, const unsigned char *g2, gx_status status,
                         const char *why)
{
    const struct gx_groth16_proof good = s->proofs[1];
    const struct {
        const char *name;
        const void **place;
        const unsigned char *bad;
    } each[] = {{"a", &s->proofs[1].a, g1}, {"b", &s->proofs[1].b, g2}, {"c", &s->proofs[1].c, g1}};
    for (size_t i = 0; i < GXT_COUNT(each); i++) {
        char message[GX_MESSAGE_BYTES];
        if (!each[i].bad)
            continue;
        *each[i].place = each[i].bad;
        snprintf(message, sizeof message, "proof 1: %s: %s", each[i].name, why);
        assert_refused(key, s, status, message);
        s->proofs[1] = good;
    }
}

static void spoil_key(const struct statement *s, const unsigned char *g1, const unsigned char *g2,
                      gx_status status, const char *why)
{
    static const char *const names[] = {"alpha", "beta", "gamma", "delta", "ic[0]"};
    const void *const bad[] = {g1, g2, g2, g2, g1};
    for (size_t i = 0; i < GXT_COUNT(names); i++) {
        struct gx_groth16_points points = {s->alpha, s->beta, s->gamma, s->delta, s->ic, 0};
        const void **const places[] = {&points.alpha, &points.beta, &points.gamma, &points.delta,
                                       &points.ic};
        struct gx_groth16_key *key;
        struct gx_error error;
        char message[GX_MESSAGE_BYTES];
        if (!bad[i])
            continue;
        *places[i] = bad[i];
        snprintf(message, sizeof message, "%s: %s", names[i], why);
        assert_int_equal(gx__groth16_key_create(&standard, s->curve, ~0u, GX_POINT_XY_PLAIN,
                                                &points, &key, &error),
                         status);
        assert_string_equal(error.text, message);
        assert_null(key);
    }
}

static void spoil(struct statement *s, const struct gx_groth16_key *key, const unsigned char *g1,
                  const unsigned char *g2, gx_status status, const char *why)
{
    spoil_points(s, key, g1, g2, status, why);
    spoil_key(s, g1, g2, status, why);
}

static void put_any_point(gx_curve curve, unsigned char *out)
{
    uint64_t xy[2 * GX_COORD_LIMBS];
    gxt_any_point(&seed, curve, xy);
    gx__point_encode(gx__curve(curve), GX_POINT_XY_PLAIN, xy, out);
}

static void bad_points(void **state)
{
    (void)state;
    static struct statement s;
    for (size_t c = 0; c < GXT_COUNT(curves); c++) {
        unsigned char g1[POINT], g2[POINT];
        make_statement(&s, curves[c], 1, 3, NOTHING);
        struct gx_groth16_key *key = make_key(&s, ~0u);
        memcpy(g1, s.a[0], POINT);
        memcpy(g2, s.b[0], POINT);
        g1[0] ^= 1;
        g2[0] ^= 1;
        spoil(&s, key, g1, g2, GX_ERR_INVALID, "it is not on the curve");
        gxt_put_modulus(oracle_base_field(curves[c]), g1);
        gxt_put_modulus(oracle_base_field(curves[c]), g2);
        spoil(&s, key, g1, g2, GX_ERR_NOT_CANONICAL, "a coordinate is not below the modulus");
        put_any_point(curves[c], g1);
        put_any_point(curves[c] + 1, g2);
        spoil(&s, key, curves[c] == GX_BN254_G1 ? NULL : g1, g2, GX_ERR_INVALID,
              "it is not in the subgroup");
        gx__groth16_key_destroy(&key);
        close_statement(&s);
    }
}

static void bad_scalars(void **state)
{
    (void)state;
    static struct statement s;
    struct gx_error error;
    bool valid;
    make_statement(&s, GX_BN254_G1, 2, 3, NOTHING);
    struct gx_groth16_key *key = make_key(&s, ~0u);
    gxt_put_modulus(GX_BN254_FR, s.input + 3 * SCALAR);
    assert_refused(key, &s, GX_ERR_NOT_CANONICAL, "proof 1: public input 1 is not below the order");
    memset(s.coefficients[2], 0, GX_COEFFICIENT_BYTES);
    assert_refused(key, &s, GX_ERR_INVALID, "coefficient 2 is 0");
    assert_int_equal(gx__groth16_verify_all(key, GX_POINT_XY_PLAIN, s.proofs, s.input, s.n, NULL,
                                            &valid, &error),
                     GX_ERR_INVALID);
    assert_string_equal(error.text, "no coefficients");
    assert_int_equal(gx__groth16_verify_all(key, GX_POINT_XY_PLAIN, s.proofs, s.input,
                                            GX_MSM_PIECE + 1, s.coefficients, &valid, &error),
                     GX_ERR_INVALID);
    gx__groth16_key_destroy(&key);
    close_statement(&s);
}

static void bad_choices(void **state)
{
    (void)state;
    const struct gx_groth16_points points = {0};
    struct gx_groth16_key *key;
    struct gx_error error;
    assert_int_equal(gx__groth16_key_create(&standard, GX_CURVE_END, ~0u, GX_POINT_XY_PLAIN,
                                            &points, &key, &error),
                     GX_ERR_INVALID);
    assert_int_equal(gx__groth16_key_create(&standard, GX_BN254_G1, ~0u, GX_POINT_COMPRESSED,
                                            &points, &key, &error),
                     GX_ERR_INVALID);
    gx__groth16_key_destroy(&key);
}

/* Each allocation fails in turn. */
static void out_of_memory(void **state)
{
    (void)state;
    static struct statement s;
    struct gxt_heap heap;
    gxt_heap_start(&heap);
    const gx_allocator allocator = gxt_heap_allocator(&heap);
    make_statement(&s, GX_BN254_G1, 1, 3, NOTHING);
    const struct gx_groth16_points points = {s.alpha, s.beta, s.gamma, s.delta, s.ic, s.inputs};
    struct gx_groth16_key *key = NULL;
    struct gx_error error;
    bool valid;
    gx_status status = GX_ERR_OUT_OF_MEMORY;
    for (uint64_t at = 1; status; at++) {
        gxt_heap_fail(&heap, at, 0);
        status = gx__groth16_key_create(&allocator, s.curve, ~0u, GX_POINT_XY_PLAIN, &points, &key,
                                        &error);
        assert_true(status ? status == GX_ERR_OUT_OF_MEMORY && !key : key != NULL);
        assert_in_range(at, 1, 20);
    }
    status = GX_ERR_OUT_OF_MEMORY;
    for (uint64_t at = 1; status; at++) {
        gxt_heap_fail(&heap, at, 0);
        status = verify_all(key, &s, &valid, &error);
        assert_true(status ? status == GX_ERR_OUT_OF_MEMORY : valid);
        assert_in_range(at, 1, 20);
    }
    gxt_heap_heal(&heap);
    gx__groth16_key_destroy(&key);
    close_statement(&s);
    gxt_heap_end(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snarkjs),       cmocka_unit_test(made),
        cmocka_unit_test(with_infinity), cmocka_unit_test(many_inputs),
        cmocka_unit_test(bad_points),    cmocka_unit_test(bad_scalars),
        cmocka_unit_test(bad_choices),   cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
