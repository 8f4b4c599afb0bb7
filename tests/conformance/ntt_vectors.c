/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole transforms as arkworks and gnark-crypto compute them, and with the roots of ICICLE and
 * halo2curves, on every device: vectors/ntt/README.md says what the lines mean.
 *
 * usage: ntt-vectors [webgpu]    the WebGPU devices alone, else all others
 */
#include <stdio.h>

#include "conformance/ntt_targets.h"

enum { SHIFT_SEED = 99, LINE_BYTES = 4096, DIGEST = 32, SLOW_LOG2 = 14, FAST_LOG2 = 22 };

struct vector {
    struct ntt_shape s;
    char name[24], way[16], coset[16], order[8];
    char result[LINE_BYTES]; /* "=" and all bytes, or their digest, in hexadecimal */
};

static unsigned lines; /* done */
static unsigned char *out;

static int open_all(void **state)
{
    (void)state;
    gxt_clear_environment();
    gxt_enter_machines();
    uint32_t most = gxt_small() ? SLOW_LOG2 : FAST_LOG2;
    ntt_open_targets((size_t)1 << most);
    out = gxt_alloc(NTT_ELEMENT << most);
    return 0;
}

static int free_out(void **state)
{
    (void)state;
    free(out);
    return 0;
}

/* ---- SHA-256 (FIPS 180-4) ---- */

static uint32_t rotated(uint32_t x, unsigned by)
{
    return x >> by | x << (32 - by);
}

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void digest_block(uint32_t h[8], const unsigned char *block)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) +
               (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
    }
    memcpy(v, h, sizeof v);
    for (unsigned i = 0; i < 64; i++) {
        /* Instead of moving on by one each time, v begins one earlier. */
        uint32_t a = v[(0 - i) % 8], b = v[(1 - i) % 8], c = v[(2 - i) % 8], e = v[(4 - i) % 8];
        uint32_t one = v[(7 - i) % 8] + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
                       ((e & v[(5 - i) % 8]) ^ (~e & v[(6 - i) % 8])) + constants[i] + w[i];
        uint32_t two =
            (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        v[(3 - i) % 8] += one;
        v[(7 - i) % 8] = one + two;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

static void digest(const unsigned char *data, size_t bytes, unsigned char out[DIGEST])
{
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char last[128] = {0};
    size_t rest = bytes % 64, blocks = rest < 56 ? 1 : 2;
    for (size_t i = 0; i + 64 <= bytes; i += 64)
        digest_block(h, data + i);
    memcpy(last, data + bytes - rest, rest);
    last[rest] = 0x80;
    for (size_t i = 0; i < 8; i++)
        last[64 * blocks - 1 - i] = (unsigned char)((uint64_t)bytes * 8 >> 8 * i);
    for (size_t i = 0; i < blocks; i++)
        digest_block(h, last + 64 * i);
    for (size_t i = 0; i < DIGEST; i++)
        out[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
}

static void to_hex(const unsigned char *data, size_t bytes, char *text)
{
    for (size_t i = 0; i < bytes; i++)
        sprintf(text + 2 * i, "%02x", data[i]);
}

static void digests_are_right(void **state)
{
    (void)state;
    unsigned char out[DIGEST];
    char text[2 * DIGEST + 1];
    digest((const unsigned char *)"abc", 3, out);
    to_hex(out, DIGEST, text);
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest((const unsigned char *)"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
           out);
    to_hex(out, DIGEST, text);
    assert_string_equal(text, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

/* ---- lines ---- */

static void make_input(uint64_t seed, size_t n, unsigned char *out)
{
    struct oracle_rng rng = {seed};
    for (size_t i = 0; i < n; i++) {
        uint64_t words[4];
        for (int w = 0; w < 4; w++)
            words[w] = oracle_random(&rng);
        words[3] >>= 3;
        memcpy(out + i * NTT_ELEMENT, words, NTT_ELEMENT);
    }
}

static void parse(const char *line, struct vector *v)
{
    *v = (struct vector){.s = {.batch = 1}};
    assert_int_equal(sscanf(line, "%23s %15s %15s %7s %u %u %4095s", v->name, v->way, v->coset,
                            v->order, &v->s.log2_n, &v->s.log2_pad, v->result),
                     7);
    v->s.field = gx_field_by_name(v->name);
    assert_true(v->s.field);
    v->s.flags = (strcmp(v->way, "inverse") == 0 ? GX_NTT_INVERSE : 0) |
                 (v->order[0] == 'r' ? GX_NTT_REVERSED_IN : 0) |
                 (v->order[1] == 'r' ? GX_NTT_REVERSED_OUT : 0);
    if (strcmp(v->coset, "coset") == 0 || strcmp(v->coset, "other") == 0)
        v->s.flags |= GX_NTT_COSET;
}

/* The domain of the line, if it is none of the defaults. */
static gx_domain *special_domain(const struct target *t, const struct vector *v)
{
    unsigned char root[NTT_ELEMENT], shift[NTT_ELEMENT];
    gx_domain_params desc = {.struct_size = sizeof desc, .field = v->s.field};
    gx_domain *domain = NULL;
    desc.log2_size = oracle_two_adicity(v->s.field);
    if (strcmp(v->coset, "other") == 0) {
        make_input(SHIFT_SEED, 1, shift);
        desc.shift = shift;
    } else if (strcmp(v->coset, "root") == 0) {
        oracle_from_hex(v->s.field,
                        v->s.field == GX_BLS12_381_FR
                            ? "0212d79e5b416b6f0fd56dc8d168d6c0c4024ff270b3e0941b788f500b912f1f"
                            : "03ddb9f5166d18b798865ea93dd31f743215cf6dd39329c8d34f1ed960c37c9c",
                        root);
        desc.root = root;
    } else {
        return NULL;
    }
    assert_int_equal(gx_domain_create(t->ctx, &desc, &domain), GX_OK);
    return domain;
}

static void check_result(const struct target *t, const struct vector *v, const unsigned char *got)
{
    size_t bytes = NTT_ELEMENT << v->s.log2_n;
    unsigned char sum[DIGEST];
    char text[LINE_BYTES] = "=";
    if (v->result[0] == '=') {
        to_hex(got, bytes, text + 1);
    } else {
        digest(got, bytes, sum);
        to_hex(sum, DIGEST, text);
    }
    if (strcmp(text, v->result) == 0)
        return;
    ntt_tell(t, &v->s, "another result than theirs");
    print_error("  line %s %s %s %s\n  got  %s\n  want %s\n", v->name, v->way, v->coset, v->order,
                text, v->result);
    fail();
}

static void run_line(const struct target *t, struct vector *v, unsigned turn)
{
    gx_domain *special = special_domain(t, v);
    v->s.in_place = !v->s.log2_pad && turn % 2;
    if (!special) {
        check_result(t, v, ntt_run(t, &v->s));
        return;
    }
    gx_ntt_params params = {.struct_size = sizeof params,
                            .domain = special,
                            .log2_n = v->s.log2_n,
                            .log2_pad = v->s.log2_pad,
                            .flags = v->s.flags};
    gx_job job = gxt_job(GX_NTT, v->s.field, (size_t)1 << v->s.log2_n, ntt_data, NULL, NULL, out);
    job.params = &params;
    assert_int_equal(gxt_run(t->ctx, &job, t->device, NULL), GX_OK);
    check_result(t, v, out);
    gx_domain_destroy(&special);
}

/* Slow devices take every other line. */
static int left_out(const struct target *t, const struct vector *v, size_t turn)
{
    uint32_t log2_n = v->s.log2_n;
    return ntt_too_large(t, &v->s) ||
           (t->slow && (log2_n > SLOW_LOG2 || (target_count > 1 && turn % 2))) ||
           (t->slow && strcmp(t->device, "ref") == 0 && log2_n > 6);
}

static void run_file(const char *file)
{
    char path[4096], line[LINE_BYTES + 100];
    static struct vector v;
    snprintf(path, sizeof path, "%s/%s", GXT_VECTORS, file);
    FILE *f = fopen(path, "r");
    if (!f)
        fail_msg("cannot read %s", path);
    for (size_t turn = 0; fgets(line, sizeof line, f); turn++) {
        parse(line, &v);
        int made = 0;
        for (size_t i = 0; i < target_count; i++) {
            if (left_out(&targets[i], &v, turn + i))
                continue;
            if (!made)
                make_input(v.s.log2_n, (size_t)1 << (v.s.log2_n - v.s.log2_pad), ntt_data);
            made = 1;
            run_line(&targets[i], &v, lines + (unsigned)i);
        }
        lines += (unsigned)made;
    }
    fclose(f);
}

static void of_arkworks(void **state)
{
    (void)state;
    run_file("arkworks.txt");
    assert_true(lines > 150);
}

static void of_gnark(void **state)
{
    (void)state;
    unsigned before = lines;
    run_file("gnark.txt");
    assert_true(lines > before + 150);
}

static void with_other_roots(void **state)
{
    (void)state;
    unsigned before = lines;
    run_file("roots.txt");
    assert_int_equal(lines, before + 36);
}

/* The default root of a domain is the published one; so are those of smaller transforms. */
static void roots_are_the_published_ones(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        struct ntt_shape s = {.field = ntt_fields[f], .domain = WIDE_DOMAIN};
        assert_int_equal(gx_field_get_info(s.field)->two_adicity, oracle_two_adicity(s.field));
        for (uint32_t log2_n = 0; log2_n <= oracle_two_adicity(s.field); log2_n++) {
            unsigned char got[NTT_ELEMENT], want[NTT_ELEMENT];
            oracle_root(s.field, log2_n, want);
            assert_int_equal(gx_domain_root(ntt_domain(&targets[0], &s), log2_n, got), GX_OK);
            assert_memory_equal(got, want, NTT_ELEMENT);
        }
    }
}

int main(int argc, char **argv)
{
    choose_targets(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_right), cmocka_unit_test(roots_are_the_published_ones),
        cmocka_unit_test(of_arkworks),       cmocka_unit_test(of_gnark),
        cmocka_unit_test(with_other_roots),  cmocka_unit_test(ntt_close_targets),
    };
    return cmocka_run_group_tests_name("ntt-vectors", tests, open_all, free_out);
}
