/* SPDX-License-Identifier: Apache-2.0
 *
 * See verify/parts.h. Elements are computed one by one with the portable product; an evaluation by
 * the portable kernels.
 */
#include "verify/parts.h"

#include <string.h>

#include "base/threads.h"
#include "field/poly.h"
#include "field/scalar.h"
#include "field/sum.h"

/* Coefficients that one thread evaluates at a time. */
#define PART_ELEMS 16384u
#define PARTS_MAX  256u

static struct gx_poly poly_of(const struct gx_task *job)
{
    return (struct gx_poly){.op = job->op,
                            .prime = gx__prime(job->field),
                            .n = job->n,
                            .count = job->poly.count,
                            .reversed = job->poly.flags & GX_POLY_REVERSED,
                            .check = !job->trusted,
                            .a = job->a.host,
                            .b = job->operands > 1 ? job->b.host : NULL};
}

bool gx__poly_bad(const struct gx_task *job)
{
    struct gx_poly poly = poly_of(job);
    bool one_b = poly.b && job->op != GX_GATHER;
    if (gx__first_bad(poly.prime, poly.a, (size_t)gx__poly_a(&poly), false) != GX_NONE_BAD ||
        (one_b && gx__first_bad(poly.prime, poly.b, 1, false) != GX_NONE_BAD))
        return true;
    for (uint64_t i = 0; i < poly.n && job->op == GX_GATHER; i++)
        if (gx__poly_source(&poly, i) >= poly.count)
            return true;
    return false;
}

/* ---- elements ---- */

struct checker {
    struct gx_poly poly;
    const char *results;
    size_t bytes;
};

static void load(const struct checker *c, const void *elements, uint64_t i, uint64_t *x)
{
    if (elements) /* always, as the job is valid */
        memcpy(x, (const char *)elements + (size_t)i * c->bytes, c->bytes);
}

/* Loads an element of an operand. False if the device should have refused it. */
static bool take(const struct checker *c, const void *elements, uint64_t i, uint64_t *x)
{
    load(c, elements, i, x);
    return !c->poly.check || gx__first_bad(c->poly.prime, x, 1, false) == GX_NONE_BAD;
}

/* x = out[i] of a scan, from the result before it. */
static bool scan_element(const struct checker *c, uint64_t i, uint64_t *x)
{
    const struct gx_poly *poly = &c->poly;
    const struct gx_prime *prime = poly->prime;
    uint64_t before[GX_LIMBS_MAX], b[GX_LIMBS_MAX];
    bool divide = poly->op == GX_DIVIDE_LINEAR;
    if (divide && i == poly->n - 1) {
        memset(x, 0, c->bytes);
        return take(c, poly->a, 0, before); /* which nothing else depends on */
    }
    if (!take(c, poly->a, divide ? i + 1 : i, x) || (divide && !take(c, poly->b, 0, b)))
        return false;
    if (!divide && !i)
        return true;
    load(c, c->results, divide ? i + 1 : i - 1, before);
    if (gx__first_bad(prime, before, 1, false) != GX_NONE_BAD)
        return false;
    if (poly->op == GX_PREFIX_PRODUCT) {
        gx__mul_one(prime, x, x, before);
        return true;
    }
    if (divide)
        gx__mul_one(prime, before, before, b);
    gx__add_one(prime, x, before);
    return true;
}

/* x = out[i] of powers or cosets; known: out[i - 1] is right. */
static bool power_element(const struct checker *c, uint64_t i, bool known, uint64_t *x)
{
    const struct gx_poly *poly = &c->poly;
    uint64_t each = poly->op == GX_COSETS ? poly->count : poly->n;
    uint64_t a[GX_LIMBS_MAX], b[GX_LIMBS_MAX];
    if (!take(c, poly->a, 0, a) || (poly->op == GX_COSETS && !take(c, poly->b, 0, b)))
        return false;
    if (known && i % each) {
        load(c, c->results, i - 1, x);
        gx__mul_one(poly->prime, x, x, a);
        return true;
    }
    gx__pow_one(poly->prime, x, a, i % each);
    if (poly->op == GX_COSETS) {
        gx__pow_one(poly->prime, b, b, i / each);
        gx__mul_one(poly->prime, x, x, b);
    }
    return true;
}

static bool expected(const struct checker *c, uint64_t i, bool known, uint64_t *x)
{
    uint64_t source;
    switch (c->poly.op) {
    case GX_PREFIX_SUM:
    case GX_PREFIX_PRODUCT:
    case GX_DIVIDE_LINEAR:
        return scan_element(c, i, x);
    case GX_POWERS:
    case GX_COSETS:
        return power_element(c, i, known, x);
    default:
        source = gx__poly_source(&c->poly, i);
        return source < c->poly.count || c->poly.op != GX_GATHER ? take(c, c->poly.a, source, x)
                                                                 : false;
    }
}

uint64_t gx__poly_wrong(const struct gx_task *job, const void *results, uint64_t first, uint64_t n)
{
    const struct checker c = {poly_of(job), results, gx__element_bytes(job->field)};
    for (uint64_t i = first; i < first + n; i++) {
        uint64_t x[GX_LIMBS_MAX];
        if (!expected(&c, i, i > first, x) ||
            memcmp(x, (const char *)results + (size_t)i * c.bytes, c.bytes))
            return i;
    }
    return first + n;
}

/* ---- evaluation ---- */

struct evaluation {
    struct gx_poly poly;
    struct gx_host_table table;
    struct gx_poly_point point;
    uint64_t each; /* rows of a part */
    uint64_t sum[PARTS_MAX][GX_LIMBS_MAX];
    bool bad[PARTS_MAX];
};

static void evaluate_part(void *user, size_t part, uint32_t worker)
{
    struct evaluation *e = user;
    uint64_t scratch[GX_POLY_WIDTH * GX_LIMBS_MAX], from = part * e->each;
    uint64_t to = e->point.rows - from < e->each ? e->point.rows : from + e->each;
    (void)worker;
    e->bad[part] = gx__poly_rows(&e->poly, &e->point, e->poly.a, from, to, scratch, e->sum[part]) !=
                   GX_NONE_BAD;
}

bool gx__evaluate_right(const struct gx_task *job, const void *result, struct gx_instance *instance)
{
    struct evaluation e = {.poly = poly_of(job)};
    gx__host_fill_portable(&e.table);
    e.poly.fn = e.table.fn[job->field];
    if (gx__poly_check_one(&e.poly) != GX_NONE_BAD)
        return false;
    gx__poly_point(&e.poly, job->n, e.poly.reversed, e.poly.b, &e.point);
    uint64_t least = PART_ELEMS / e.point.width;
    e.each = (e.point.rows + PARTS_MAX - 1) / PARTS_MAX;
    e.each = e.each < least ? least : e.each;
    size_t parts = (size_t)((e.point.rows + e.each - 1) / e.each);
    gx__threads_spread(instance, parts, evaluate_part, &e);
    for (size_t i = 0; i < parts; i++) {
        if (e.bad[i])
            return false;
        if (i)
            gx__add_one(e.poly.prime, e.sum[0], e.sum[i]);
    }
    return !memcmp(e.sum[0], result, gx__element_bytes(job->field)) ||
           (job->trusted && gx__poly_bad(job));
}
