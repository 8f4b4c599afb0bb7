/* SPDX-License-Identifier: Apache-2.0
 *
 * Build-time program: prints the GLSL include of one field to standard output, every
 * number of it computed from the field's row in field/field.c, so that no constant is
 * written a second time. It also proves the bounds that mul64.glsl relies on: where a
 * column could overflow, the build stops here.
 *
 * usage: constants FIELD      (a name as in GX_FIELD_LIST)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"

typedef unsigned __int128 u128;

#define WIDE 20 /* words of 32 bits: the largest number here has 12 + 2 */

struct number {
    uint32_t word[WIDE];
};

/* The limbs in which mul64.glsl multiplies: the fewest whose columns of 64-bit sums
 * need no clean-up half-way (prove_bounds). */
struct radix {
    uint32_t bits, limbs, shift; /* shift: 2^(bits * limbs) / R, as a power of two */
};

static struct radix radix_of(const struct gx_prime *prime)
{
    struct radix radix = {.bits = prime->limbs > 4 ? 30 : 29};
    radix.limbs = (64 * prime->limbs + radix.bits - 1) / radix.bits;
    radix.shift = radix.bits * radix.limbs - 64 * prime->limbs;
    return radix;
}

/* ---- numbers ------------------------------------------------------------------ */

static struct number from_limbs(const uint64_t *limb, uint32_t limbs)
{
    struct number x = {{0}};
    for (uint32_t i = 0; i < limbs; i++) {
        x.word[2 * i] = (uint32_t)limb[i];
        x.word[2 * i + 1] = (uint32_t)(limb[i] >> 32);
    }
    return x;
}

/* x * y + z; the caller knows that it fits. */
static struct number mul_add(struct number x, uint32_t y, struct number z)
{
    uint64_t carry = 0;
    for (uint32_t i = 0; i < WIDE; i++) {
        carry += (uint64_t)x.word[i] * y + z.word[i];
        z.word[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return z;
}

static struct number shift_left(struct number x, uint32_t bits) /* bits < 32 */
{
    return mul_add(x, 1u << bits, (struct number){{0}});
}

/* `count` bits (at most 32) from bit `from` on. */
static uint32_t bits_of(const struct number *x, uint32_t from, uint32_t count)
{
    uint32_t word = from / 32, shift = from % 32;
    uint64_t pair = word < WIDE ? x->word[word] : 0;
    pair |= word + 1 < WIDE ? (uint64_t)x->word[word + 1] << 32 : 0;
    return (uint32_t)(pair >> shift & (((uint64_t)1 << count) - 1));
}

static struct number shift_right(struct number x, uint32_t bits)
{
    struct number r = {{0}};
    for (uint32_t i = 0; i < WIDE; i++)
        r.word[i] = bits_of(&x, bits + 32 * i, 32);
    return r;
}

static uint32_t limb_of(const struct number *x, const struct radix *radix, uint32_t k)
{
    return k < radix->limbs ? bits_of(x, radix->bits * k, radix->bits) : 0;
}

static int fits(const struct number *x, const struct radix *radix)
{
    struct number above = shift_right(*x, radix->bits * radix->limbs);
    struct number zero = {{0}};
    return memcmp(&above, &zero, sizeof zero) == 0;
}

/* ---- bounds -------------------------------------------------------------------- */

/* The most that limb k of any number up to x may be: full below x's highest limb. */
static uint64_t limb_bound(const struct number *x, const struct radix *radix, uint32_t k)
{
    for (uint32_t above = k + 1; above < radix->limbs; above++)
        if (limb_of(x, radix, above))
            return ((uint64_t)1 << radix->bits) - 1;
    return limb_of(x, radix, k);
}

/* Column k of a product of numbers up to x and up to y. */
static u128 product_bound(const struct number *x, const struct number *y, const struct radix *radix,
                          uint32_t k)
{
    u128 sum = 0;
    for (uint32_t i = 0; i < radix->limbs && i <= k; i++)
        if (k - i < radix->limbs)
            sum += (u128)limb_bound(x, radix, i) * limb_bound(y, radix, k - i);
    return sum;
}

/* What the reduction adds to column k: a limb of `fold`, one column up, for every step
 * but the last two, which use p. */
static u128 reduction_bound(const struct number *fold, const struct number *p,
                            const struct radix *radix, uint32_t k)
{
    u128 mask = ((u128)1 << radix->bits) - 1, sum = 0;
    for (uint32_t i = 0; i < radix->limbs && i <= k; i++) {
        if (i + 2 < radix->limbs)
            sum += i < k ? mask * limb_of(fold, radix, k - 1 - i) : 0;
        else
            sum += mask * limb_of(p, radix, k - i);
    }
    return sum;
}

/* The largest column over mul (x < 2p times y < p, shifted) and sqr, with what the
 * column below carries into it: a 64-bit number shifted right. */
static u128 column_bound(const struct number *fold, const struct number *p,
                         const struct radix *radix)
{
    struct number zero = {{0}};
    struct number twice = mul_add(*p, 2, zero), shifted = shift_left(*p, radix->shift);
    struct number root = shift_left(*p, radix->shift / 2);
    u128 most = 0;
    for (uint32_t k = 0; k < 2 * radix->limbs; k++) {
        u128 product = product_bound(&twice, &shifted, radix, k);
        u128 square = product_bound(&root, &root, radix, k) << radix->shift % 2;
        u128 column = product > square ? product : square;
        column += reduction_bound(fold, p, radix, k) + ((u128)1 << (64 - radix->bits));
        most = column > most ? column : most;
    }
    return most;
}

/* (N + 1) / 2^bits for that multiple N = -1 mod 2^bits of p whose limbs add the least
 * to the columns. Any such N does: the next one is 2^bits * p higher, and adds p here. */
static struct number choose_fold(const struct gx_prime *prime, const struct number *p,
                                 const struct radix *radix)
{
    struct number one = {{1}};
    uint32_t k = (uint32_t)(prime->ninv64 & (((uint64_t)1 << radix->bits) - 1));
    struct number fold = shift_right(mul_add(*p, k, one), radix->bits), best = fold;
    while (fits(&fold, radix)) {
        if (column_bound(&fold, p, radix) < column_bound(&best, p, radix))
            best = fold;
        fold = mul_add(*p, 1, fold);
    }
    if (column_bound(&best, p, radix) >> 64) {
        fprintf(stderr, "constants: columns of radix 2^%u overflow 64 bits\n", radix->bits);
        exit(1);
    }
    return best;
}

/* ---- printing ------------------------------------------------------------------ */

static void print_array(const char *name, const uint32_t *value, uint32_t count)
{
    printf("const uint %s[%u] = uint[%u](", name, count, count);
    for (uint32_t i = 0; i < count; i++)
        printf("%s0x%08xu", i ? ", " : "", value[i]);
    printf(");\n");
}

static void print_limbs(const char *name, const struct number *x, const struct radix *radix)
{
    uint32_t limb[WIDE];
    for (uint32_t k = 0; k < radix->limbs; k++)
        limb[k] = limb_of(x, radix, k);
    print_array(name, limb, radix->limbs);
}

static void print_words(const char *name, const uint64_t *limb, uint32_t limbs)
{
    struct number x = from_limbs(limb, limbs);
    print_array(name, x.word, 2 * limbs);
}

/* x y / R stays small enough for results below 2p (mul64.glsl) where p < 0.46 R; every other
 * bound is column_bound's. */
static void prove_small(const struct gx_prime *prime)
{
    if (prime->p[prime->limbs - 1] >> 32 >= (uint64_t)(0.46 * 4294967296.0)) {
        fprintf(stderr, "constants: p is too close to R / 2 for lazy reduction\n");
        exit(1);
    }
}

static void print_prime(const struct gx_prime *prime)
{
    prove_small(prime);
    struct radix radix = radix_of(prime);
    struct number p = from_limbs(prime->p, prime->limbs);
    struct number fold = choose_fold(prime, &p, &radix);
    uint64_t mask = ((uint64_t)1 << radix.bits) - 1;
    uint64_t minus_two[GX_LIMBS_MAX];
    memcpy(minus_two, prime->p, sizeof minus_two);
    minus_two[0] -= 2; /* no borrow: p is odd and its low limb is not 1 */

    /* p = 1 - 2^32 + 2^(2 bits) * ...: its two low limbs cost no multiplication. */
    int sparse = limb_of(&p, &radix, 0) == 1 &&
                 limb_of(&p, &radix, 1) == mask + 1 - ((uint64_t)1 << (32 - radix.bits));

    printf("#define WORDS %u\n", 2 * prime->limbs);
    print_words("MODULUS", prime->p, prime->limbs);
    print_words("ONE", prime->one, prime->limbs);
    print_words("R2", prime->r2, prime->limbs);
    print_words("MODULUS_MINUS_2", minus_two, prime->limbs);
    printf("#define NEG_INVERSE 0x%08xu\n", (uint32_t)prime->ninv64);
    printf("#define LIMBS %u\n#define LIMB_BITS %u\n", radix.limbs, radix.bits);
    printf("#define LIMB_MASK 0x%08xu\n#define SHIFT %u\n", (uint32_t)mask, radix.shift);
    printf("#define LIMB_NEG_INVERSE 0x%08xu\n", (uint32_t)(prime->ninv64 & mask));
    printf("#define SPARSE_LOW_LIMBS %d\n", sparse);
    print_limbs("MODULUS_LIMBS", &p, &radix);
    print_limbs("FOLD", &fold, &radix);
}

int main(int argc, char **argv)
{
    gx_field field = 0;
#define GX_X(symbol, value, name)                                                                  \
    if (argc == 2 && !strcmp(argv[1], name))                                                       \
        field = symbol;
    GX_FIELD_LIST(GX_X)
#undef GX_X
    if (!field) {
        fprintf(stderr, "usage: constants FIELD\n");
        return 2;
    }

    printf("/* Generated by constants.c for %s. */\n", argv[1]);
#define GX_X(symbol, value, name, operands, vector, result)                                        \
    printf("#define %s %du\n", #symbol, value);
    GX_OP_LIST(GX_X)
#undef GX_X
    printf("#define GX_OP_CHECK %du\n", (int)GX_OP_CHECK);
    printf("#define GX_BROADCAST_A %uu\n#define GX_BROADCAST_B %uu\n#define GX_BROADCAST_C %uu\n",
           GX_BROADCAST_A, GX_BROADCAST_B, GX_BROADCAST_C);
    if (gx__prime(field))
        print_prime(gx__prime(field));
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
