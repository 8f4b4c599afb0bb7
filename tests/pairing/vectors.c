/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairings as their definition and arkworks give them, and products of pairings as EIP-2537 and
 * EIP-197 judge them, in every tier: vectors/pairing/README.md.
 */
#include <jansson.h>
#include <stdio.h>

#include "curve/form.h"
#include "field/scalar.h"
#include "pairing/pairing.h"
#include "support/harness.h"

enum { LINE_BYTES = 8192, BYTES_MAX = 4096, PAIRS_MAX = 16, ELEMENT_MAX = 64 };

static const unsigned masks[] = {1u << GX_TIER_PORTABLE, 1u << GX_TIER_ADX};

struct points {
    uint64_t p[PAIRS_MAX][2 * GX_COORD_LIMBS], q[PAIRS_MAX][2 * GX_COORD_LIMBS];
};

/* Hexadecimal digits up to something else; returns their number of bytes. */
static size_t from_hex(const char *text, unsigned char *out)
{
    size_t n = 0;
    for (unsigned byte; n < BYTES_MAX && sscanf(text + 2 * n, "%2x", &byte) == 1; n++)
        out[n] = (unsigned char)byte;
    return n;
}

static void reverse(unsigned char *out, const unsigned char *in, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = in[bytes - 1 - i];
}

/* ---- values ---- */

/* "n,n,..." to elements in Montgomery form. */
static void read_elements(const struct gx_prime *prime, const char *text, uint64_t *out, size_t n)
{
    const size_t bytes = prime->limbs * sizeof *out;
    for (size_t i = 0; i < n; i++, text += 2 * bytes + 1, out += prime->limbs) {
        unsigned char big_endian[BYTES_MAX];
        assert_int_equal(from_hex(text, big_endian), bytes);
        reverse((unsigned char *)out, big_endian, bytes);
        gx__mul_one(prime, out, out, prime->r2);
    }
}

/* From the coefficients of 1, w, ... w^5. */
static void read_value(const struct gx_prime *prime, const char *text, struct gx_fq12 *value)
{
    static const size_t place[6] = {0, 3, 1, 4, 2, 5};
    uint64_t in_order[12 * GX_LIMBS_MAX];
    const size_t pair = 2 * prime->limbs;
    read_elements(prime, text, in_order, 12);
    for (size_t i = 0; i < 6; i++)
        memcpy(value->c + place[i] * pair, in_order + i * pair, pair * sizeof *in_order);
}

static void check_value(const struct gx_pairing *e, const uint64_t *p, const uint64_t *q,
                        const struct gx_fq12 *want)
{
    struct gx_fq12 got;
    struct gx_lines lines;
    struct gx_pair pair = {p, q, NULL};
    assert_int_equal(gx__miller_loop(e, &got, &pair, 1), GX_ALL_GOOD);
    gx__final_power(e, &got, &got);
    assert_true(gx__fq12_equal(e, &got, want));
    assert_true(gx__lines_prepare(e, &lines, q));
    pair = (struct gx_pair){p, NULL, &lines};
    assert_int_equal(gx__miller_loop(e, &got, &pair, 1), GX_ALL_GOOD);
    gx__final_power(e, &got, &got);
    assert_true(gx__fq12_equal(e, &got, want));
}

static gx_curve check_line(const char *line)
{
    static char name[32], p_text[512], q_text[1024], value_text[2048];
    uint64_t p[2 * GX_COORD_LIMBS], q[2 * GX_COORD_LIMBS];
    struct gx_fq12 want;
    assert_int_equal(sscanf(line, "%31s %511s %1023s %2047s", name, p_text, q_text, value_text), 4);
    gx_curve curve = strcmp(name, "bn254") ? GX_BLS12_381_G1 : GX_BN254_G1;
    const struct gx_prime *prime = gx__curve(curve)->base;
    read_elements(prime, p_text, p, 2);
    read_elements(prime, q_text, q, 4);
    read_value(prime, value_text, &want);
    for (size_t i = 0; i < GXT_COUNT(masks); i++)
        check_value(gx__pairing(curve, masks[i]), p, q, &want);
    return curve;
}

static void check_values(const char *path, unsigned each)
{
    char line[LINE_BYTES];
    unsigned lines[GX_CURVE_END] = {0};
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        lines[check_line(line)]++;
    fclose(f);
    assert_int_equal(lines[GX_BLS12_381_G1], each);
    assert_int_equal(lines[GX_BN254_G1], each);
}

static void definition(void **state)
{
    (void)state;
    check_values(GXT_VECTORS "/pairings.txt", 8);
}

static void arkworks(void **state)
{
    (void)state;
    check_values(GXT_VECTORS "/arkworks.txt", 12);
}

/* ---- products ---- */

/* 1 or 0: whether the product is 1; or the error and *why. */
static int judge(gx_curve curve, unsigned mask, const struct points *points, size_t n,
                 const char **why)
{
    struct gx_pair pairs[PAIRS_MAX];
    bool is_one = false;
    size_t bad;
    for (size_t i = 0; i < n; i++)
        pairs[i] = (struct gx_pair){points->p[i], points->q[i], NULL};
    gx_status s = gx__pairing_check(gx__pairing(curve, mask), pairs, n, &is_one, &bad, why);
    return s ? (int)s : is_one;
}

typedef gx_status (*decode_fn)(const unsigned char *in, struct points *points, size_t i,
                               const char **why);

/* The same, from the input of a precompiled contract. */
static int judge_bytes(gx_curve curve, unsigned mask, const unsigned char *in, size_t n,
                       decode_fn decode, size_t pair_bytes, const char **why)
{
    static struct points points;
    for (size_t i = 0; i < n; i++) {
        gx_status s = decode(in + i * pair_bytes, &points, i, why);
        if (s)
            return s;
    }
    return judge(curve, mask, &points, n, why);
}

/* ---- EIP-2537 ---- */

enum { EIP_2537_PAIR = 384, EIP_2537_P = 128 };

static gx_status decode_2537(const unsigned char *in, struct points *points, size_t i,
                             const char **why)
{
    gx_status s =
        gx__point_decode(gx__curve(GX_BLS12_381_G1), GX_POINT_EIP2537, in, NULL, points->p[i], why);
    return s ? s
             : gx__point_decode(gx__curve(GX_BLS12_381_G2), GX_POINT_EIP2537, in + EIP_2537_P, NULL,
                                points->q[i], why);
}

static const char *our_words(const char *theirs)
{
    static const char *const words[][2] = {
        {"invalid point: not on curve", "it is not on the curve"},
        {"invalid fp.Element encoding", "a coordinate is not below the modulus"},
        {"invalid field element top bytes", "a coordinate has padding bytes that are not 0"},
        {"g1 point is not in the correct subgroup", "it is not in the subgroup"},
        {"g2 point is not in the correct subgroup", "it is not in the subgroup"},
    };
    for (size_t i = 0; i < GXT_COUNT(words); i++)
        if (!strcmp(words[i][0], theirs))
            return words[i][1];
    fail_msg("an error without a name of ours: %s", theirs);
    return NULL;
}

/* Returns 1 if it was run: the contract itself refuses some lengths. */
static size_t check_case(const json_t *one, unsigned mask)
{
    unsigned char in[BYTES_MAX], want[BYTES_MAX];
    const char *why = "", *error = json_string_value(json_object_get(one, "ExpectedError"));
    size_t length = from_hex(json_string_value(json_object_get(one, "Input")), in);
    if (length == 0 || length % EIP_2537_PAIR) {
        assert_string_equal(error, "invalid input length");
        return 0;
    }
    int result = judge_bytes(GX_BLS12_381_G1, mask, in, length / EIP_2537_PAIR, decode_2537,
                             EIP_2537_PAIR, &why);
    if (error) {
        assert_true(result < 0);
        assert_string_equal(why, our_words(error));
    } else {
        size_t bytes = from_hex(json_string_value(json_object_get(one, "Expected")), want);
        assert_int_equal(result, want[bytes - 1]);
    }
    return 1;
}

static void check_file(const char *name, size_t cases)
{
    char path[LINE_BYTES];
    json_error_t error;
    snprintf(path, sizeof path, "%s/%s_bls.json", GXT_VECTORS, name);
    json_t *all = json_load_file(path, 0, &error);
    assert_non_null(all);
    for (size_t m = 0; m < GXT_COUNT(masks); m++) {
        size_t ran = 0;
        for (size_t i = 0; i < json_array_size(all); i++)
            ran += check_case(json_array_get(all, i), masks[m]);
        assert_int_equal(ran, cases);
    }
    json_decref(all);
}

static void eip_2537(void **state)
{
    (void)state;
    check_file("pairing_check", 15);
    check_file("fail-pairing_check", 22);
}

/* ---- EIP-197 ---- */

enum { EIP_197_COORDINATE = 32, EIP_197_PAIR = 192 };

/* Big-endian, c1 before c0: all bytes of a coordinate are in reverse order. */
static gx_status decode_197(const unsigned char *in, struct points *points, size_t i,
                            const char **why)
{
    const size_t size = EIP_197_COORDINATE;
    unsigned char p[2 * ELEMENT_MAX], q[4 * ELEMENT_MAX];
    reverse(p, in, size);
    reverse(p + size, in + size, size);
    reverse(q, in + 2 * size, 2 * size);
    reverse(q + 2 * size, in + 4 * size, 2 * size);
    gx_status s =
        gx__point_decode(gx__curve(GX_BN254_G1), GX_POINT_XY_PLAIN, p, NULL, points->p[i], why);
    return s ? s
             : gx__point_decode(gx__curve(GX_BN254_G2), GX_POINT_XY_PLAIN, q, NULL, points->q[i],
                                why);
}

/* "input,result,gas,notes", where there are notes if the input is refused. */
static void check_row(char *line, unsigned mask)
{
    static unsigned char in[BYTES_MAX];
    const char *why = "";
    char *result = strchr(line, ',') + 1, *gas = strchr(result, ',') + 1;
    const char *notes = strchr(gas, ',') + 1;
    size_t length = from_hex(line, in);
    assert_int_equal(length % EIP_197_PAIR, 0);
    int got =
        judge_bytes(GX_BN254_G1, mask, in, length / EIP_197_PAIR, decode_197, EIP_197_PAIR, &why);
    if (*notes > ' ')
        assert_string_equal(why, "it is not on the curve");
    else
        assert_int_equal(got, gas[-2] - '0');
}

static void eip_197(void **state)
{
    (void)state;
    char line[LINE_BYTES];
    size_t rows = 0;
    FILE *f = fopen(GXT_VECTORS "/eip196_pairing.csv", "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f)); /* the heading */
    for (; fgets(line, sizeof line, f); rows++)
        for (size_t m = 0; m < GXT_COUNT(masks); m++)
            check_row(line, masks[m]);
    fclose(f);
    assert_int_equal(rows, 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definition),
        cmocka_unit_test(arkworks),
        cmocka_unit_test(eip_2537),
        cmocka_unit_test(eip_197),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
