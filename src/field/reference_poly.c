/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference of the operations on polynomials: their definitions as loops, one element at a
 * time. Kept separate from poly.c, like reference.c from the tiers.
 */
#include <string.h>

#include "field/poly.h"

static const char *at(const struct gx_poly *poly, const void *elements, uint64_t i)
{
    return (const char *)elements + i * gx__poly_bytes(poly);
}

static void put(const struct gx_poly *poly, uint64_t i, const void *value)
{
    memcpy((char *)poly->out + i * gx__poly_bytes(poly), value, gx__poly_bytes(poly));
}

/* x = x (kernel) y */
static void apply(const struct gx_poly *poly, enum gx_host_kernel kernel, void *x, const void *y)
{
    poly->fn[kernel](poly->prime, &(struct gx_host_args){.out = x, .a = x, .b = y, .n = 1});
}

/* 1 in Montgomery form is R: 1, doubled once for each bit. */
static void set_one(const struct gx_poly *poly, uint64_t *x)
{
    memset(x, 0, GX_LIMBS_MAX * sizeof *x);
    x[0] = 1;
    for (uint32_t i = 0; i < 64 * poly->prime->limbs; i++)
        apply(poly, GX_HOST_ADD, x, x);
}

static uint64_t reversed(uint64_t i, uint64_t n)
{
    uint64_t r = 0;
    for (uint64_t bit = 1; bit < n; bit *= 2) {
        r = 2 * r + i % 2;
        i /= 2;
    }
    return r;
}

static void scan(const struct gx_poly *poly, enum gx_host_kernel kernel, uint64_t *x)
{
    for (uint64_t i = 0; i < poly->n; i++) {
        apply(poly, kernel, x, at(poly, poly->a, i));
        put(poly, i, x);
    }
}

static void powers(const struct gx_poly *poly)
{
    uint64_t copies = poly->op == GX_COSETS ? poly->n / poly->count : 1, each = poly->n / copies;
    uint64_t first[GX_LIMBS_MAX], x[GX_LIMBS_MAX];
    set_one(poly, first);
    for (uint64_t copy = 0; copy < copies; copy++) {
        memcpy(x, first, sizeof x);
        for (uint64_t i = 0; i < each; i++) {
            put(poly, copy * each + i, x);
            apply(poly, GX_HOST_MUL, x, poly->a);
        }
        if (poly->op == GX_COSETS)
            apply(poly, GX_HOST_MUL, first, poly->b);
    }
}

/* Horner's rule; divide-linear keeps what there is before each step. */
static void horner(const struct gx_poly *poly)
{
    uint64_t x[GX_LIMBS_MAX] = {0};
    for (uint64_t i = poly->n; i-- > 0;) {
        if (poly->op == GX_DIVIDE_LINEAR)
            put(poly, i, x);
        apply(poly, GX_HOST_MUL, x, poly->b);
        apply(poly, GX_HOST_ADD, x, at(poly, poly->a, poly->reversed ? reversed(i, poly->n) : i));
    }
    if (poly->op == GX_EVALUATE)
        put(poly, 0, x);
}

static void permute(const struct gx_poly *poly)
{
    uint64_t n = poly->n, count = poly->count;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t index = 0;
        if (poly->op == GX_GATHER)
            memcpy(&index, (const char *)poly->b + i * sizeof index, sizeof index);
        switch (poly->op) {
        case GX_BIT_REVERSE:
            put(poly, i, at(poly, poly->a, reversed(i, n)));
            break;
        case GX_GATHER: /* out of range only in a trusted job */
            put(poly, i, at(poly, poly->a, index < count ? index : 0));
            break;
        case GX_ROTATE:
            put(poly, i, at(poly, poly->a, (i + count % n) % n));
            break;
        case GX_INTERLEAVE: /* element i / count of part i % count */
            put(poly, i, at(poly, poly->a, i % count * (n / count) + i / count));
            break;
        default: /* the inverse */
            put(poly, i % count * (n / count) + i / count, at(poly, poly->a, i));
            break;
        }
    }
}

static size_t first_bad(const struct gx_poly *poly)
{
    const char *indices = poly->op == GX_GATHER ? poly->b : NULL;
    bool one_b = poly->b && !indices;
    size_t bad = gx__first_bad(poly->prime, poly->a, (size_t)gx__poly_a(poly), false);
    if (one_b && gx__first_bad(poly->prime, poly->b, 1, false) == 0)
        bad = 0;
    for (uint64_t i = 0; indices && i < poly->n && i < bad; i++) {
        uint32_t index;
        memcpy(&index, indices + i * sizeof index, sizeof index);
        if (index >= poly->count)
            bad = (size_t)i;
    }
    return bad;
}

size_t gx__poly_reference(const struct gx_poly *poly)
{
    uint64_t zero[GX_LIMBS_MAX] = {0}, one[GX_LIMBS_MAX];
    size_t bad = poly->check ? first_bad(poly) : GX_NONE_BAD;
    set_one(poly, one);
    if (bad != GX_NONE_BAD)
        return bad;
    switch (poly->op) {
    case GX_PREFIX_SUM:
        scan(poly, GX_HOST_ADD, zero);
        break;
    case GX_PREFIX_PRODUCT:
        scan(poly, GX_HOST_MUL, one);
        break;
    case GX_POWERS:
    case GX_COSETS:
        powers(poly);
        break;
    case GX_EVALUATE:
    case GX_DIVIDE_LINEAR:
        horner(poly);
        break;
    default:
        permute(poly);
        break;
    }
    return GX_NONE_BAD;
}
