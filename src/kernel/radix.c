/* SPDX-License-Identifier: Apache-2.0
 *
 * The limbs of products with 64-bit integers, and the proof that no column overflows: every bound
 * is computed from the field's row in field/field.c.
 */
#include "kernel/radix.h"

#include <string.h>

typedef unsigned __int128 u128;

#define WIDE 20 /* words of 32 bits: the largest number here has 12 + 2 */

struct number {
    uint32_t word[WIDE];
};

static struct gx_radix radix_of(const struct gx_prime *prime)
{
    struct gx_radix radix = {.bits = prime->limbs > 4 ? 30 : 29};
    radix.limbs = (64 * prime->limbs + radix.bits - 1) / radix.bits;
    radix.shift = radix.bits * radix.limbs - 64 * prime->limbs;
    return radix;
}

/* ---- numbers ---- */

static struct number from_limbs(const uint64_t *limb, uint32_t limbs)
{
    struct number x = {{0}};
    for (uint32_t i = 0; i < limbs; i++) {
        x.word[2 * i] = (uint32_t)limb[i];
        x.word[2 * i + 1] = (uint32_t)(limb[i] >> 32);
    }
    return x;
}

/* x * y + z; the caller ensures that it fits. */
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

/* `count` bits (at most 32) starting at bit `from`. */
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

static uint32_t limb_of(const struct number *x, const struct gx_radix *radix, uint32_t k)
{
    return k < radix->limbs ? bits_of(x, radix->bits * k, radix->bits) : 0;
}

static int fits(const struct number *x, const struct gx_radix *radix)
{
    struct number above = shift_right(*x, radix->bits * radix->limbs);
    struct number zero = {{0}};
    return memcmp(&above, &zero, sizeof zero) == 0;
}

/* ---- bounds ---- */

/* Maximum of limb k of any number up to x: full below x's highest limb. */
static uint64_t limb_bound(const struct number *x, const struct gx_radix *radix, uint32_t k)
{
    for (uint32_t above = k + 1; above < radix->limbs; above++)
        if (limb_of(x, radix, above))
            return ((uint64_t)1 << radix->bits) - 1;
    return limb_of(x, radix, k);
}

/* Column k of a product of numbers up to x and up to y. */
static u128 product_bound(const struct number *x, const struct number *y,
                          const struct gx_radix *radix, uint32_t k)
{
    u128 sum = 0;
    for (uint32_t i = 0; i < radix->limbs && i <= k; i++)
        if (k - i < radix->limbs)
            sum += (u128)limb_bound(x, radix, i) * limb_bound(y, radix, k - i);
    return sum;
}

/* What the reduction adds to column k: a limb of `fold`, one column up, for every step but the last
 * two, which use p. */
static u128 reduction_bound(const struct number *fold, const struct number *p,
                            const struct gx_radix *radix, uint32_t k)
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
 * column below carries into it, a 64-bit number shifted right, and with what is left of a product
 * before it (two_products in mul64.glsl). */
static u128 column_bound(const struct number *fold, const struct number *p,
                         const struct gx_radix *radix)
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
        column += ((u128)1 << (64 - radix->bits)) + ((u128)1 << radix->bits);
        most = column > most ? column : most;
    }
    return most;
}

/* How many candidates for the fold are tried: far more than a modulus that fills its limbs has, and
 * few enough for one that does not. */
#define FOLDS_MAX 4096

/* (N + 1) / 2^bits for that multiple N = -1 mod 2^bits of p whose limbs add the least
 * to the columns. Any such N does: the next one is 2^bits * p higher, and adds p here. */
static struct number choose_fold(const struct gx_prime *prime, const struct number *p,
                                 const struct gx_radix *radix)
{
    struct number one = {{1}};
    uint32_t k = (uint32_t)(prime->ninv64 & (((uint64_t)1 << radix->bits) - 1));
    struct number fold = shift_right(mul_add(*p, k, one), radix->bits), best = fold;
    u128 least = column_bound(&best, p, radix);
    for (uint32_t i = 0; i < FOLDS_MAX && fits(&fold, radix); i++, fold = mul_add(*p, 1, fold)) {
        u128 bound = column_bound(&fold, p, radix);
        if (bound < least) {
            best = fold;
            least = bound;
        }
    }
    return best;
}

/* x y / R stays small enough for results below 2p (mul64.glsl) where p < 0.46 R; every other
 * bound is column_bound's. */
bool gx__radix_small(const struct gx_prime *prime)
{
    return prime->p[prime->limbs - 1] >> 32 < (uint64_t)(0.46 * 4294967296.0);
}

bool gx__radix(const struct gx_prime *prime, struct gx_radix *radix)
{
    *radix = radix_of(prime);
    struct number p = from_limbs(prime->p, prime->limbs);
    struct number fold = choose_fold(prime, &p, radix);
    for (uint32_t k = 0; k < radix->limbs; k++) {
        radix->modulus[k] = limb_of(&p, radix, k);
        radix->fold[k] = limb_of(&fold, radix, k);
    }
    return gx__radix_small(prime) && !(column_bound(&fold, &p, radix) >> 64);
}
