/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference kernels: schoolbook algorithms, one element at a time, using nothing but the
 * modulus. Kept separate and never optimised, so that they share neither code nor derived constants
 * with the tiers they are compared with. Slow on purpose.
 */
#include "field/host.h"

#include <math.h>
#include <string.h>

struct element {
    uint64_t limb[GX_LIMBS_MAX];
};

/* ---- whole numbers of prime->limbs limbs -------------------------------------- */

/* a >= b? */
static bool at_least(const struct gx_prime *prime, const uint64_t *a, const uint64_t *b)
{
    for (uint32_t i = prime->limbs; i-- > 0;)
        if (a[i] != b[i])
            return a[i] > b[i];
    return true;
}

static bool is_zero(const struct gx_prime *prime, const uint64_t *a)
{
    for (uint32_t i = 0; i < prime->limbs; i++)
        if (a[i] != 0)
            return false;
    return true;
}

/* a += b; the sum fits. */
static void add_to(const struct gx_prime *prime, uint64_t *a, const uint64_t *b)
{
    uint64_t carry = 0;
    for (uint32_t i = 0; i < prime->limbs; i++) {
        uint64_t sum = a[i] + carry;
        carry = sum < carry;
        sum += b[i];
        carry += sum < b[i];
        a[i] = sum;
    }
}

/* a -= b; b <= a. */
static void subtract_from(const struct gx_prime *prime, uint64_t *a, const uint64_t *b)
{
    uint64_t borrow = 0;
    for (uint32_t i = 0; i < prime->limbs; i++) {
        uint64_t less = b[i] + borrow;
        borrow = less < borrow; /* then less is 0 */
        borrow += a[i] < less;
        a[i] -= less;
    }
}

static void halve(const struct gx_prime *prime, uint64_t *a)
{
    for (uint32_t i = 0; i < prime->limbs; i++) {
        uint64_t above = i + 1 < prime->limbs ? a[i + 1] : 0;
        a[i] = a[i] >> 1 | above << 63;
    }
}

/* ---- modulo p: operands and results below p ------------------------------------ */

/* The sum is below 2p, which fits: the top bit of p is clear. */
static struct element add_mod(const struct gx_prime *prime, struct element a, struct element b)
{
    add_to(prime, a.limb, b.limb);
    if (at_least(prime, a.limb, prime->p))
        subtract_from(prime, a.limb, prime->p);
    return a;
}

static struct element sub_mod(const struct gx_prime *prime, struct element a, struct element b)
{
    if (!at_least(prime, a.limb, b.limb))
        add_to(prime, a.limb, prime->p);
    subtract_from(prime, a.limb, b.limb);
    return a;
}

/* a / 2: p is odd, so one of a and a + p is even. */
static struct element half_mod(const struct gx_prime *prime, struct element a)
{
    if (a.limb[0] & 1)
        add_to(prime, a.limb, prime->p);
    halve(prime, a.limb);
    return a;
}

/* a * b / R: the sum of b * 2^i over the bits i of a, halved once for each bit of R. */
static struct element mul_mod(const struct gx_prime *prime, struct element a, struct element b)
{
    struct element t = {{0}};
    for (uint32_t i = 0; i < 64 * prime->limbs; i++) {
        if (a.limb[i / 64] >> i % 64 & 1)
            t = add_mod(prime, t, b);
        t = half_mod(prime, t);
    }
    return t;
}

/* 1 / a as plain integers, by the binary extended Euclidean algorithm; 0 if a is 0. Invariants: u =
 * x * a and v = y * a modulo p; v is odd. Ends with v = gcd(a, p) = 1. Also terminates for an a not
 * below p, which unchecked input can contain. */
static struct element plain_inverse(const struct gx_prime *prime, struct element a)
{
    struct element u = a, v = {{0}}, x = {{1}}, y = {{0}};
    memcpy(v.limb, prime->p, sizeof v.limb);
    while (!is_zero(prime, u.limb)) {
        while (!(u.limb[0] & 1)) {
            halve(prime, u.limb);
            x = half_mod(prime, x);
        }
        if (!at_least(prime, u.limb, v.limb)) {
            struct element swap = u;
            u = v, v = swap;
            swap = x, x = y, y = swap;
        }
        subtract_from(prime, u.limb, v.limb);
        x = sub_mod(prime, x, y);
    }
    return y;
}

/* In Montgomery form a stands for a/R, whose inverse R/a is stored as R * R/a: double the plain
 * inverse once for each bit of R^2. */
static struct element inv_mod(const struct gx_prime *prime, struct element a)
{
    struct element r = plain_inverse(prime, a);
    for (uint32_t i = 0; i < 2 * 64 * prime->limbs; i++)
        r = add_mod(prime, r, r);
    return r;
}

/* ---- kernels -------------------------------------------------------------------- */

static struct element compute(const struct gx_prime *prime, enum gx_host_kernel kernel,
                              const struct element *x)
{
    switch (kernel) {
    case GX_HOST_ADD:
        return add_mod(prime, x[0], x[1]);
    case GX_HOST_SUB:
        return sub_mod(prime, x[0], x[1]);
    case GX_HOST_MUL:
        return mul_mod(prime, x[0], x[1]);
    case GX_HOST_SQR:
        return mul_mod(prime, x[0], x[0]);
    case GX_HOST_INV:
        return inv_mod(prime, x[0]);
    case GX_HOST_DIV:
        return mul_mod(prime, x[0], inv_mod(prime, x[1]));
    case GX_HOST_MUL_ADD:
        return add_mod(prime, mul_mod(prime, x[0], x[1]), x[2]);
    default: /* GX_HOST_CHECK has no result */
        return x[0];
    }
}

static size_t run(const struct gx_prime *prime, const struct gx_host_args *args,
                  enum gx_host_kernel kernel, unsigned operands)
{
    const unsigned char *base[3] = {args->a, args->b, args->c};
    size_t bytes = prime->limbs * sizeof(uint64_t);
    for (size_t i = 0; i < args->n; i++) {
        struct element x[3] = {{{0}}};
        for (unsigned k = 0; k < operands; k++) {
            bool broadcast = args->broadcast & 1u << k;
            memcpy(x[k].limb, base[k] + (broadcast ? 0 : i * bytes), bytes);
            if (args->check && at_least(prime, x[k].limb, prime->p))
                return i;
        }
        struct element r = compute(prime, kernel, x);
        if (kernel != GX_HOST_CHECK)
            memcpy((unsigned char *)args->out + i * bytes, r.limb, bytes);
    }
    return GX_NONE_BAD;
}

static size_t reference_sum(const struct gx_prime *prime, const struct gx_host_args *args)
{
    struct element sum = {{0}};
    size_t bytes = prime->limbs * sizeof(uint64_t);
    for (size_t i = 0; i < args->n; i++) {
        struct element x = {{0}};
        size_t skip = args->broadcast & GX_BROADCAST_A ? 0 : i * bytes;
        memcpy(x.limb, (const unsigned char *)args->a + skip, bytes);
        if (args->check && at_least(prime, x.limb, prime->p))
            return i;
        sum = add_mod(prime, sum, x);
    }
    memcpy(args->out, sum.limb, bytes);
    return GX_NONE_BAD;
}

/* X(kernel, function, operands) */
#define PRIME_KERNELS(X)                                                                           \
    X(GX_HOST_ADD, reference_add, 2)                                                               \
    X(GX_HOST_SUB, reference_sub, 2)                                                               \
    X(GX_HOST_MUL, reference_mul, 2)                                                               \
    X(GX_HOST_SQR, reference_sqr, 1)                                                               \
    X(GX_HOST_INV, reference_inv, 1)                                                               \
    X(GX_HOST_DIV, reference_div, 2)                                                               \
    X(GX_HOST_MUL_ADD, reference_mul_add, 3)                                                       \
    X(GX_HOST_CHECK, reference_check, 1)

#define DEFINE(kernel, function, operands)                                                         \
    static size_t function(const struct gx_prime *prime, const struct gx_host_args *args)          \
    {                                                                                              \
        return run(prime, args, kernel, operands);                                                 \
    }
PRIME_KERNELS(DEFINE)

/* ---- u32 and f32 ---------------------------------------------------------------- */

static uint32_t u32_word(enum gx_host_kernel kernel, uint32_t a, uint32_t b)
{
    return kernel == GX_HOST_ADD ? a + b : kernel == GX_HOST_SUB ? a - b : a * b;
}

static uint32_t f32_word(enum gx_host_kernel kernel, uint32_t a, uint32_t b)
{
    float x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    float r = kernel == GX_HOST_ADD ? x + y : kernel == GX_HOST_SUB ? x - y : x * y;
    uint32_t bits = 0x7fc00000; /* the canonical NaN */
    if (!isnan(r))
        memcpy(&bits, &r, sizeof bits);
    return bits;
}

static size_t run_words(const struct gx_host_args *args, enum gx_host_kernel kernel,
                        uint32_t (*word)(enum gx_host_kernel, uint32_t, uint32_t))
{
    const unsigned char *pa = args->a, *pb = args->b;
    for (size_t i = 0; i < args->n; i++) {
        uint32_t a, b;
        memcpy(&a, pa + (args->broadcast & GX_BROADCAST_A ? 0 : 4 * i), 4);
        memcpy(&b, pb + (args->broadcast & GX_BROADCAST_B ? 0 : 4 * i), 4);
        uint32_t r = word(kernel, a, b);
        memcpy((unsigned char *)args->out + 4 * i, &r, 4);
    }
    return GX_NONE_BAD;
}

/* X(field, kernel, function, word) */
#define WORD_KERNELS(X)                                                                            \
    X(GX_U32, GX_HOST_ADD, reference_u32_add, u32_word)                                            \
    X(GX_U32, GX_HOST_SUB, reference_u32_sub, u32_word)                                            \
    X(GX_U32, GX_HOST_MUL, reference_u32_mul, u32_word)                                            \
    X(GX_F32, GX_HOST_ADD, reference_f32_add, f32_word)                                            \
    X(GX_F32, GX_HOST_SUB, reference_f32_sub, f32_word)                                            \
    X(GX_F32, GX_HOST_MUL, reference_f32_mul, f32_word)

#define DEFINE_WORDS(field, kernel, function, word)                                                \
    static size_t function(const struct gx_prime *prime, const struct gx_host_args *args)          \
    {                                                                                              \
        (void)prime;                                                                               \
        return run_words(args, kernel, word);                                                      \
    }
WORD_KERNELS(DEFINE_WORDS)

/* ---- table ---------------------------------------------------------------------- */

void gx__host_reference(struct gx_host_table *table)
{
    _Static_assert(GX_TIER_PORTABLE == 0, "tier[] is cleared to it");
    memset(table, 0, sizeof *table);
    for (unsigned field = 1; field < GX_FIELD_END; field++) {
        if (!gx__prime((gx_field)field))
            continue;
#define SET(kernel, function, operands) table->fn[field][kernel] = function;
        PRIME_KERNELS(SET)
#undef SET
        table->fn[field][GX_HOST_SUM] = reference_sum;
    }
#define SET_WORDS(field, kernel, function, word) table->fn[field][kernel] = function;
    WORD_KERNELS(SET_WORDS)
#undef SET_WORDS
}
