/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of the scalar tiers: strides, broadcast, the canonicity check and batch inversion, as
 * templates over a constant limb count. Each scalar tier (portable.c, adx.c) includes it beside its
 * element functions (element.h).
 */
#ifndef GX_FIELD_SCALAR_LOOPS_H
#define GX_FIELD_SCALAR_LOOPS_H

#include "field/element.h"
#include "field/host.h"

#define OPERANDS_A   GX_BROADCAST_A
#define OPERANDS_AB  (GX_BROADCAST_A | GX_BROADCAST_B)
#define OPERANDS_ABC (GX_BROADCAST_A | GX_BROADCAST_B | GX_BROADCAST_C)

/* Source of an operand: `step` is 0 if it is broadcast. */
struct reader {
    const unsigned char *at;
    size_t step;
};

TEMPLATE struct reader reader(const struct gx_host_args *args, const void *operand, unsigned bit,
                              size_t bytes)
{
    return (struct reader){operand, args->broadcast & bit ? 0 : bytes};
}

/* The quick test: an element whose top limb is below p's is below p. `limit` is p's top limb, or
 * the maximum if nothing is checked; confirm() rejects false alarms. */
TEMPLATE uint64_t check_limit(unsigned limbs, const struct gx_prime *prime,
                              const struct gx_host_args *args)
{
    return args->check ? prime->p[limbs - 1] : UINT64_MAX;
}

/* The exact test, for an element that made the quick one fire. */
static __attribute__((noinline, cold)) bool
confirm(const struct gx_prime *prime, const struct gx_host_args *args, unsigned operands, size_t i)
{
    return args->check && gx__first_bad_args(prime, args, operands, i, i + 1) == i;
}

/* ---- one result per element ------------------------------------------------ */

TEMPLATE void apply(unsigned limbs, enum gx_host_kernel kernel, uint64_t *r, const void *a,
                    const void *b, const void *c, const struct gx_prime *prime)
{
    switch (kernel) {
    case GX_HOST_ADD:
        fe_add(limbs, r, a, b, prime);
        break;
    case GX_HOST_SUB:
        fe_sub(limbs, r, a, b, prime);
        break;
    case GX_HOST_SQR:
        fe_sqr(limbs, r, a, prime);
        break;
    case GX_HOST_MUL_ADD:
        fe_mul(limbs, r, a, b, prime);
        fe_add(limbs, r, r, c, prime);
        break;
    default:
        fe_mul(limbs, r, a, b, prime);
        break;
    }
}

/* Every element is checked before its result is written, so the index is right in place too. */
TEMPLATE size_t elementwise(unsigned limbs, enum gx_host_kernel kernel, unsigned operands,
                            const struct gx_prime *prime, const struct gx_host_args *args)
{
    const size_t bytes = limbs * sizeof(uint64_t);
    const uint64_t limit = check_limit(limbs, prime, args);
    struct reader a = reader(args, args->a, GX_BROADCAST_A, bytes);
    struct reader b = reader(args, args->b, GX_BROADCAST_B, bytes);
    struct reader c = reader(args, args->c, GX_BROADCAST_C, bytes);
    unsigned char *out = args->out;
    const size_t n = args->n;
    for (size_t i = 0; i < n; i++) {
        bool suspect = load_limb(a.at, limbs - 1) >= limit;
        if (operands & GX_BROADCAST_B)
            suspect |= load_limb(b.at, limbs - 1) >= limit;
        if (operands & GX_BROADCAST_C)
            suspect |= load_limb(c.at, limbs - 1) >= limit;
        if (__builtin_expect(suspect, 0) && confirm(prime, args, operands, i))
            return i;
        uint64_t r[GX_LIMBS_MAX];
        apply(limbs, kernel, r, a.at, b.at, c.at, prime);
        store_limbs(limbs, out, r);
        out += bytes;
        a.at += a.step;
        if (operands & GX_BROADCAST_B)
            b.at += b.step;
        if (operands & GX_BROADCAST_C)
            c.at += c.step;
    }
    return GX_NONE_BAD;
}

/* ---- batch inversion (Montgomery's trick) ---------------------------------- */

/* Products run in this many interleaved chains, so that a multiplication need not wait for the
 * previous one. */
#define CHAINS 2

/* Part of one call: `count` elements starting at `start`, at most GX_INV_BATCH. */
struct batch {
    struct reader divisor;  /* at element `start` */
    struct reader dividend; /* DIV only */
    size_t start, count;
};

TEMPLATE bool is_zero(unsigned limbs, const unsigned char *element)
{
    uint64_t any = 0;
    for (unsigned k = 0; k < limbs; k++)
        any |= load_limb(element, k);
    return any == 0;
}

/* Forward: scratch[i] = product of the divisors before i in i's chain, chain[] = product of all of
 * them; zeros are skipped. Also checks all operands before any result of the batch is written.
 * Returns the first bad index or GX_NONE_BAD. */
TEMPLATE size_t batch_forward(unsigned limbs, bool divide, const struct gx_prime *prime,
                              const struct gx_host_args *args, const struct batch *batch,
                              uint64_t chain[CHAINS][GX_LIMBS_MAX])
{
    const size_t bytes = limbs * sizeof(uint64_t);
    const uint64_t limit = check_limit(limbs, prime, args);
    const unsigned char *b = batch->divisor.at, *a = batch->dividend.at;
    unsigned char *scratch = args->scratch;
    for (size_t i = 0; i < batch->count; i++) {
        bool suspect = load_limb(b, limbs - 1) >= limit;
        if (divide)
            suspect |= load_limb(a, limbs - 1) >= limit;
        if (__builtin_expect(suspect, 0) &&
            confirm(prime, args, divide ? OPERANDS_AB : OPERANDS_A, batch->start + i))
            return batch->start + i;
        uint64_t *product = chain[i % CHAINS];
        store_limbs(limbs, scratch, product);
        if (!is_zero(limbs, b))
            fe_mul(limbs, product, product, b, prime);
        scratch += bytes;
        b += bytes;
        if (divide)
            a += batch->dividend.step;
    }
    return GX_NONE_BAD;
}

/* chain[k] = 1 / chain[k], with a single inversion; none is 0. */
TEMPLATE void invert_chains(unsigned limbs, const struct gx_prime *prime,
                            uint64_t chain[CHAINS][GX_LIMBS_MAX])
{
    uint64_t inverse[GX_LIMBS_MAX], other[GX_LIMBS_MAX];
    _Static_assert(CHAINS == 2, "written out for two");
    fe_mul(limbs, inverse, chain[0], chain[1], prime);
    gx__invert_one(prime, inverse, inverse);
    fe_mul(limbs, other, inverse, chain[0], prime);
    fe_mul(limbs, chain[0], inverse, chain[1], prime);
    memcpy(chain[1], other, sizeof other);
}

/* Backward: chain[] holds the inverse of the product up to and including i, which times scratch[i]
 * is 1 / divisor[i]. Element i is read before result i is written. */
TEMPLATE void batch_backward(unsigned limbs, bool divide, const struct gx_prime *prime,
                             const struct gx_host_args *args, const struct batch *batch,
                             uint64_t chain[CHAINS][GX_LIMBS_MAX])
{
    const size_t bytes = limbs * sizeof(uint64_t);
    const unsigned char *scratch = args->scratch;
    unsigned char *out = (unsigned char *)args->out + batch->start * bytes;
    for (size_t i = batch->count; i-- > 0;) {
        const unsigned char *b = batch->divisor.at + i * bytes;
        uint64_t *inverse = chain[i % CHAINS];
        uint64_t r[GX_LIMBS_MAX] = {0};
        if (!is_zero(limbs, b)) {
            fe_mul(limbs, r, inverse, scratch + i * bytes, prime);
            fe_mul(limbs, inverse, inverse, b, prime);
            if (divide)
                fe_mul(limbs, r, r, batch->dividend.at + i * batch->dividend.step, prime);
        }
        store_limbs(limbs, out + i * bytes, r);
    }
}

/* A broadcast divisor is inverted once and becomes a factor: a * (1/b), 1 * (1/a). */
TEMPLATE size_t divide_by_one(unsigned limbs, bool divide, const struct gx_prime *prime,
                              const struct gx_host_args *args)
{
    const size_t bytes = limbs * sizeof(uint64_t);
    const void *divisor = divide ? args->b : args->a;
    uint64_t inverse[GX_LIMBS_MAX] = {0};
    if (args->n == 0)
        return GX_NONE_BAD;
    if (args->check && gx__first_bad(prime, divisor, 1, true) == 0)
        return 0;
    if (!is_zero(limbs, divisor)) {
        memcpy(inverse, divisor, bytes);
        gx__invert_one(prime, inverse, inverse);
    }
    struct gx_host_args product = *args;
    if (!divide)
        product.a = prime->one;
    product.b = inverse;
    product.broadcast |= GX_BROADCAST_B;
    return elementwise(limbs, GX_HOST_MUL, OPERANDS_AB, prime, &product);
}

TEMPLATE size_t batch_divide(unsigned limbs, bool divide, const struct gx_prime *prime,
                             const struct gx_host_args *args)
{
    const size_t bytes = limbs * sizeof(uint64_t);
    const unsigned divisor_bit = divide ? GX_BROADCAST_B : GX_BROADCAST_A;
    if (args->broadcast & divisor_bit)
        return divide_by_one(limbs, divide, prime, args);

    struct batch batch = {
        .divisor = reader(args, divide ? args->b : args->a, divisor_bit, bytes),
        .dividend = reader(args, args->a, GX_BROADCAST_A, bytes),
    };
    while (batch.start < args->n) {
        size_t left = args->n - batch.start;
        batch.count = left < GX_INV_BATCH ? left : GX_INV_BATCH;
        uint64_t chain[CHAINS][GX_LIMBS_MAX];
        for (unsigned k = 0; k < CHAINS; k++)
            memcpy(chain[k], prime->one, bytes);
        size_t bad = batch_forward(limbs, divide, prime, args, &batch, chain);
        if (bad != GX_NONE_BAD)
            return bad;
        invert_chains(limbs, prime, chain);
        batch_backward(limbs, divide, prime, args, &batch, chain);
        batch.divisor.at += batch.count * batch.divisor.step;
        batch.dividend.at += batch.count * batch.dividend.step;
        batch.start += batch.count;
    }
    return GX_NONE_BAD;
}

/* ---- the kernels of one tier ----------------------------------------------- */

#define KERNEL(name, body)                                                                         \
    static size_t name##_4(const struct gx_prime *prime, const struct gx_host_args *args)          \
    {                                                                                              \
        const unsigned limbs = 4;                                                                  \
        return body;                                                                               \
    }                                                                                              \
    static size_t name##_6(const struct gx_prime *prime, const struct gx_host_args *args)          \
    {                                                                                              \
        const unsigned limbs = 6;                                                                  \
        return body;                                                                               \
    }

KERNEL(kernel_add, elementwise(limbs, GX_HOST_ADD, OPERANDS_AB, prime, args))
KERNEL(kernel_sub, elementwise(limbs, GX_HOST_SUB, OPERANDS_AB, prime, args))
KERNEL(kernel_mul, elementwise(limbs, GX_HOST_MUL, OPERANDS_AB, prime, args))
KERNEL(kernel_sqr, elementwise(limbs, GX_HOST_SQR, OPERANDS_A, prime, args))
KERNEL(kernel_mul_add, elementwise(limbs, GX_HOST_MUL_ADD, OPERANDS_ABC, prime, args))
KERNEL(kernel_inv, batch_divide(limbs, false, prime, args))
KERNEL(kernel_div, batch_divide(limbs, true, prime, args))

static void fill_kernel(struct gx_host_table *table, enum gx_tier tier, enum gx_host_kernel kernel,
                        gx_host_fn four, gx_host_fn six)
{
    for (unsigned field = 1; field < GX_FIELD_END; field++) {
        const struct gx_prime *prime = gx__prime((gx_field)field);
        if (!prime)
            continue;
        table->fn[field][kernel] = prime->limbs == 6 ? six : four;
        table->tier[field][kernel] = (uint8_t)tier;
    }
}

/* add_sub: false if the tier is no better than portable there. */
static void fill_tier(struct gx_host_table *table, enum gx_tier tier, bool add_sub)
{
    if (add_sub) {
        fill_kernel(table, tier, GX_HOST_ADD, kernel_add_4, kernel_add_6);
        fill_kernel(table, tier, GX_HOST_SUB, kernel_sub_4, kernel_sub_6);
    }
    fill_kernel(table, tier, GX_HOST_MUL, kernel_mul_4, kernel_mul_6);
    fill_kernel(table, tier, GX_HOST_SQR, kernel_sqr_4, kernel_sqr_6);
    fill_kernel(table, tier, GX_HOST_MUL_ADD, kernel_mul_add_4, kernel_mul_add_6);
    fill_kernel(table, tier, GX_HOST_INV, kernel_inv_4, kernel_inv_6);
    fill_kernel(table, tier, GX_HOST_DIV, kernel_div_4, kernel_div_6);
}

#endif
