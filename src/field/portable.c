/* SPDX-License-Identifier: Apache-2.0
 *
 * The portable tier: 64-bit C, for every CPU. The base that other tiers override, and the only tier
 * on CPUs other than x86-64. Its element functions are in portable_element.h.
 */
#include "field/ntt_scalar.h"
#include "field/portable_element.h"
#include "field/scalar.h"
#include "field/scalar_loops.h"
#include "field/sum.h"

/* ---- prime fields --------------------------------------------------------------- */

static size_t kernel_check(const struct gx_prime *prime, const struct gx_host_args *args)
{
    if (!args->check)
        return GX_NONE_BAD;
    return gx__first_bad_args(prime, args, OPERANDS_A, 0, args->n);
}

/* Suspect: its top limb is not below p's. */
TEMPLATE size_t sum(unsigned limbs, const struct gx_prime *prime, const struct gx_host_args *args)
{
    struct gx_columns columns = {{0}, {0}};
    const unsigned char *at = args->a;
    bool one = args->broadcast & GX_BROADCAST_A, suspect = false;
    for (size_t i = 0; i < (one ? 1 : args->n); i++, at += limbs * sizeof(uint64_t)) {
        for (unsigned k = 0; k < limbs; k++) {
            uint64_t limb = load_limb(at, k);
            columns.low[k] += (uint32_t)limb;
            columns.high[k] += limb >> 32;
        }
        suspect |= load_limb(at, limbs - 1) >= prime->p[limbs - 1];
    }
    if (one)
        gx__columns_times(prime, args, &columns);
    size_t bad = GX_NONE_BAD;
    if (args->check && suspect)
        bad = gx__first_bad_args(prime, args, OPERANDS_A, 0, args->n);
    if (bad == GX_NONE_BAD)
        gx__columns_reduce(prime, &columns, args->out);
    return bad;
}
KERNEL(kernel_sum, sum(limbs, prime, args))

/* ---- u32 and f32 ------------------------------------------------------------ */

typedef uint32_t unaligned_u32 __attribute__((aligned(1), may_alias));
typedef uint32_t (*word_fn)(uint32_t a, uint32_t b);

/* out is exactly an operand or disjoint, so no iteration depends on another. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed" /* sanitizer builds do not vectorise */
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

TEMPLATE void word_loop(word_fn op, const struct gx_host_args *args, bool one_a, bool one_b)
{
    const unaligned_u32 *a = args->a, *b = args->b;
    unaligned_u32 *out = args->out;
    const uint32_t a0 = *a, b0 = *b;
    const size_t n = args->n; /* as far as the compiler knows, out may alias args */
    INDEPENDENT
    for (size_t i = 0; i < n; i++)
        out[i] = op(one_a ? a0 : a[i], one_b ? b0 : b[i]);
}

/* One loop per combination, so that each can be vectorised. */
TEMPLATE size_t wordwise(word_fn op, const struct gx_host_args *args)
{
    if (args->n == 0)
        return GX_NONE_BAD;
    switch (args->broadcast & OPERANDS_AB) {
    case 0:
        word_loop(op, args, false, false);
        break;
    case GX_BROADCAST_A:
        word_loop(op, args, true, false);
        break;
    case GX_BROADCAST_B:
        word_loop(op, args, false, true);
        break;
    default:
        word_loop(op, args, true, true);
        break;
    }
    return GX_NONE_BAD;
}

TEMPLATE float f32_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* The bits of f; every NaN becomes the same quiet NaN, because CPUs differ in which one they
 * produce. Tested on the bits: an integer comparison vectorises, isnan does not. */
TEMPLATE uint32_t f32_result(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : bits;
}

#define WORD_KERNEL(name, expression)                                                              \
    TEMPLATE uint32_t name##_word(uint32_t a, uint32_t b)                                          \
    {                                                                                              \
        return expression;                                                                         \
    }                                                                                              \
    static size_t name(const struct gx_prime *prime, const struct gx_host_args *args)              \
    {                                                                                              \
        (void)prime;                                                                               \
        return wordwise(name##_word, args);                                                        \
    }

WORD_KERNEL(u32_add, a + b)
WORD_KERNEL(u32_sub, a - b)
WORD_KERNEL(u32_mul, a *b)
WORD_KERNEL(f32_add, f32_result(f32_of(a) + f32_of(b)))
WORD_KERNEL(f32_sub, f32_result(f32_of(a) - f32_of(b)))
WORD_KERNEL(f32_mul, f32_result(f32_of(a) * f32_of(b)))

/* ---- table ------------------------------------------------------------------ */

void gx__host_fill_portable(struct gx_host_table *table)
{
    static const struct {
        gx_field field;
        gx_host_fn add, sub, mul;
    } words[] = {
        {GX_U32, u32_add, u32_sub, u32_mul},
        {GX_F32, f32_add, f32_sub, f32_mul},
    };
    fill_tier(table, GX_TIER_PORTABLE, true);
    fill_kernel(table, GX_TIER_PORTABLE, GX_HOST_CHECK, kernel_check, kernel_check);
    fill_kernel(table, GX_TIER_PORTABLE, GX_HOST_SUM, kernel_sum_4, kernel_sum_6);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        table->fn[words[i].field][GX_HOST_ADD] = words[i].add;
        table->fn[words[i].field][GX_HOST_SUB] = words[i].sub;
        table->fn[words[i].field][GX_HOST_MUL] = words[i].mul;
        memset(table->tier[words[i].field], GX_TIER_PORTABLE, GX_HOST_KERNELS);
    }
}

#define ONE_FUNCTION(name, fe)                                                                     \
    void name(const struct gx_prime *prime, uint64_t *out, const uint64_t *a, const uint64_t *b)   \
    {                                                                                              \
        uint64_t r[GX_LIMBS_MAX];                                                                  \
        if (prime->limbs == 4) {                                                                   \
            fe(4, r, a, b, prime);                                                                 \
            store_limbs(4, out, r);                                                                \
        } else {                                                                                   \
            fe(6, r, a, b, prime);                                                                 \
            store_limbs(6, out, r);                                                                \
        }                                                                                          \
    }
ONE_FUNCTION(gx__mul_one, fe_mul)
ONE_FUNCTION(gx__sum_one, fe_add)
ONE_FUNCTION(gx__sub_one, fe_sub)

const struct gx_ntt_host gx__ntt_portable = NTT_SCALAR_HOST(GX_TIER_PORTABLE);
