/* SPDX-License-Identifier: Apache-2.0
 *
 * Deterministic random and edge elements (data.h). The few lines of big-number arithmetic are the
 * program's own, because it uses nothing but the public headers.
 */
#include "data.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/os.h"

enum { LIMBS_MAX = ELEMENT_BYTES_MAX / 8, EDGES_MAX = 16 };

void *data_alloc(size_t bytes)
{
    return gx__os_alloc(bytes);
}

void data_free(void *memory)
{
    gx__os_free(memory);
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

bool data_below(const uint64_t *x, const uint64_t *p, unsigned limbs)
{
    for (unsigned i = limbs; i-- > 0;)
        if (x[i] != p[i])
            return x[i] < p[i];
    return false;
}

static void random_field_element(const gx_field_info *f, unsigned char *out, uint64_t *state)
{
    uint64_t x[LIMBS_MAX];
    uint64_t top = UINT64_MAX >> __builtin_clzll(f->modulus[f->limbs - 1]);
    do {
        for (unsigned i = 0; i < f->limbs; i++)
            x[i] = next_random(state);
        x[f->limbs - 1] &= top;
    } while (!data_below(x, f->modulus, f->limbs));
    memcpy(out, x, f->element_bytes);
}

static void random_word(gx_field field, unsigned char *out, uint64_t *state)
{
    uint64_t r = next_random(state);
    uint32_t word = (uint32_t)r;
    if (field == GX_F32) /* exponents from 2^-31 to 2^32 */
        word = (word & 0x807fffffu) | (uint32_t)(96 + (r >> 32) % 64) << 23;
    memcpy(out, &word, sizeof word);
}

void data_random(gx_field field, void *out, size_t n, uint64_t seed)
{
    const gx_field_info *f = gx_field_get_info(field);
    uint64_t state = seed;
    unsigned char *p = out;
    for (size_t i = 0; i < n; i++, p += f->element_bytes)
        if (f->limbs)
            random_field_element(f, p, &state);
        else
            random_word(field, p, &state);
}

/* ---- edges -------------------------------------------------------------------- */

typedef uint64_t number[LIMBS_MAX];

/* out = x - y */
static void subtract(const gx_field_info *f, number out, const uint64_t *x, const uint64_t *y)
{
    uint64_t borrow = 0;
    for (unsigned i = 0; i < f->limbs; i++) {
        uint64_t d = x[i] - y[i], e = d - borrow;
        borrow = (x[i] < y[i]) | (d < borrow);
        out[i] = e;
    }
}

/* x = x / 2 */
static void halve(const gx_field_info *f, number x)
{
    for (unsigned i = 0; i < f->limbs; i++)
        x[i] = x[i] >> 1 | (i + 1 < f->limbs ? x[i + 1] << 63 : 0);
}

/* 2^(64 limbs) mod p: one, in Montgomery form. x < p, so 2x overflows at most once and
 * subtracting p once brings it back. */
static void montgomery_one(const gx_field_info *f, number x)
{
    memset(x, 0, sizeof(number));
    x[0] = 1;
    for (unsigned k = 0; k < 64 * f->limbs; k++) {
        uint64_t carry = x[f->limbs - 1] >> 63;
        for (unsigned i = f->limbs; i-- > 0;)
            x[i] = x[i] << 1 | (i ? x[i - 1] >> 63 : 0);
        if (carry || !data_below(x, f->modulus, f->limbs))
            subtract(f, x, x, f->modulus);
    }
}

static size_t field_edges(const gx_field_info *f, unsigned char *out)
{
    static const number one = {1}, two = {2};
    number edges[EDGES_MAX] = {{0}, {1}, {2}, {UINT64_MAX}};
    size_t n = 4, bytes = f->element_bytes;
    unsigned top = f->limbs - 1;

    subtract(f, edges[n++], f->modulus, one);
    subtract(f, edges[n++], f->modulus, two);
    subtract(f, edges[n], f->modulus, one);
    halve(f, edges[n++]); /* (p - 1) / 2 */
    subtract(f, edges[n], f->modulus, edges[n - 1]);
    n++; /* (p + 1) / 2 */
    montgomery_one(f, edges[n++]);
    subtract(f, edges[n], f->modulus, edges[n - 1]);
    n++;                 /* minus one, in Montgomery form */
    edges[n++][top] = 1; /* one high limb */
    for (unsigned i = 0; i < top; i++)
        edges[n][i] = UINT64_MAX; /* the longest run of ones below p */
    edges[n++][top] = f->modulus[top] - 1;

    for (size_t i = 0; i < n; i++)
        memcpy(out + i * bytes, edges[i], bytes);
    return n;
}

static size_t word_edges(gx_field field, unsigned char *out)
{
    static const uint32_t words[] = {0, 1, 2, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff};
    static const float floats[] = {0.0f,     -0.0f,     1.0f,     -1.0f,           FLT_MIN,
                                   FLT_MAX,  -FLT_MAX,  1.0f / 3, FLT_EPSILON / 2, FLT_TRUE_MIN,
                                   INFINITY, -INFINITY, NAN};
    if (field == GX_F32) {
        memcpy(out, floats, sizeof floats);
        return sizeof floats / sizeof *floats;
    }
    memcpy(out, words, sizeof words);
    return sizeof words / sizeof *words;
}

void data_mixed(gx_field field, void *out, size_t n, uint64_t seed, unsigned operand)
{
    const gx_field_info *f = gx_field_get_info(field);
    unsigned char edges[EDGES_MAX * ELEMENT_BYTES_MAX], *p = out;
    size_t bytes = f->element_bytes;
    size_t count = f->limbs ? field_edges(f, edges) : word_edges(field, edges);
    size_t fixed = n / 2 < count * count ? n / 2 : count * count;

    data_random(field, out, n, seed * 4 + operand);
    for (size_t i = 0; i < fixed; i++) {
        size_t pick = operand == 0 ? i % count : operand == 1 ? i / count : i * 7 / count;
        memcpy(p + i * bytes, edges + pick % count * bytes, bytes);
    }
}

size_t data_job_bytes(const gx_job *job)
{
    size_t bytes = 0;
    for (const char *name = "oabc"; *name; name++)
        bytes += gx_operand_bytes(job, *name);
    return bytes;
}
