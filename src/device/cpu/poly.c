/* SPDX-License-Identifier: Apache-2.0
 *
 * See poly.h. On several threads a scan has three phases: the total of each part, the carries
 * between the parts, and the parts themselves.
 */
#include "device/cpu/kernels.h"

#include <stdatomic.h>
#include <string.h>

#include "base/threads.h"
#include "field/poly.h"
#include "field/sum.h"

/* More parts than threads, so that a delayed thread does not hold up the others for long. */
#define PARTS_PER_THREAD 4u
#define LINE             64u /* bytes; what threads write is that far apart */

struct spread {
    struct gx_poly poly;
    struct gx_poly_scan scan; /* evaluate: its point */
    uint64_t part;            /* elements; evaluate: rows */
    size_t parts;
    size_t each;   /* bytes of scratch of a worker, */
    char *scratch; /* after the totals, one of a part */
    _Atomic size_t bad;
};

static bool is_scan(gx_op op)
{
    return op == GX_PREFIX_SUM || op == GX_PREFIX_PRODUCT || op == GX_DIVIDE_LINEAR;
}

static size_t parts_of(uint32_t threads)
{
    return threads > 1 ? (size_t)threads * PARTS_PER_THREAD : 1;
}

static size_t worker_scratch(const struct gx_kernel_key *key, uint64_t n)
{
    size_t elements = is_scan(key->op)         ? gx__poly_scan_scratch(n)
                      : key->op == GX_EVALUATE ? GX_POLY_WIDTH
                                               : 0;
    return (elements * gx__element_bytes(key->field) + LINE - 1) / LINE * LINE;
}

size_t gx__cpu_poly_scratch(const struct gx_kernel_key *key, uint64_t n, uint32_t threads)
{
    size_t each = worker_scratch(key, n);
    return each ? parts_of(threads) * LINE + threads * each : 0;
}

/* ---- parts ---- */

static void *scratch_of(const struct spread *spread, uint32_t worker)
{
    return spread->scratch + spread->parts * LINE + worker * spread->each;
}

static uint64_t *total_of(const struct spread *spread, size_t part)
{
    return (uint64_t *)(void *)(spread->scratch + part * LINE);
}

static void found_bad(struct spread *spread, size_t bad)
{
    size_t known = atomic_load(&spread->bad);
    while (bad < known && !atomic_compare_exchange_weak(&spread->bad, &known, bad))
        ;
}

/* Elements, or rows, from .. to of a part. */
struct range {
    uint64_t from, to;
};

static struct range range_of(const struct spread *spread, size_t part, uint64_t all)
{
    uint64_t from = part * spread->part;
    return (struct range){from, all - from < spread->part ? all : from + spread->part};
}

static void run_part(void *user, size_t part, uint32_t worker)
{
    struct spread *spread = user;
    const struct gx_poly *poly = &spread->poly;
    struct range range = range_of(spread, part, poly->n);
    (void)worker;
    if (poly->op == GX_POWERS || poly->op == GX_COSETS)
        gx__poly_powers(poly, range.from, range.to);
    else
        found_bad(spread, gx__poly_permute(poly, range.from, range.to));
}

static void run_rows(void *user, size_t part, uint32_t worker)
{
    struct spread *spread = user;
    struct range range = range_of(spread, part, spread->scan.point.rows);
    found_bad(spread, gx__poly_rows(&spread->poly, &spread->scan.point, spread->poly.a, range.from,
                                    range.to, scratch_of(spread, worker), total_of(spread, part)));
}

static void run_total(void *user, size_t part, uint32_t worker)
{
    struct spread *spread = user;
    struct range range = range_of(spread, part, spread->poly.n);
    found_bad(spread, gx__poly_total(&spread->poly, &spread->scan, range.from, range.to,
                                     scratch_of(spread, worker), total_of(spread, part)));
}

/* The total of the part is now what it begins with. */
static void run_scan(void *user, size_t part, uint32_t worker)
{
    struct spread *spread = user;
    struct range range = range_of(spread, part, spread->poly.n);
    found_bad(spread,
              gx__poly_scan(&spread->poly, &spread->scan, range.from, range.to, spread->parts == 1,
                            total_of(spread, part), scratch_of(spread, worker)));
}

/* ---- whole operations ---- */

static void split(struct spread *spread, uint64_t all, uint64_t unit, uint32_t threads)
{
    uint64_t parts = parts_of(threads), part = (all + parts - 1) / parts;
    spread->part = (part + unit - 1) / unit * unit;
    spread->parts = (size_t)((all + spread->part - 1) / spread->part);
}

static void spread_run(struct gx_device *device, struct spread *spread, uint32_t threads,
                       gx_threads_fn fn)
{
    if (spread->parts == 1)
        fn(spread, 0, 0);
    else
        gx__threads_run(device->instance, GX_THREADS_COMPUTE, threads, spread->parts, fn, spread);
}

static void evaluate(struct gx_device *device, struct spread *spread, uint32_t threads)
{
    const struct gx_poly *poly = &spread->poly;
    gx__poly_point(poly, poly->n, poly->reversed, poly->b, &spread->scan.point);
    split(spread, spread->scan.point.rows, 1, threads);
    spread_run(device, spread, threads, run_rows);
    for (size_t i = 1; i < spread->parts; i++)
        gx__add_one(poly->prime, total_of(spread, 0), total_of(spread, i));
    memcpy(poly->out, total_of(spread, 0), gx__poly_bytes(poly));
}

/* Replaces each total by what comes before it. */
static void carry_parts(struct spread *spread)
{
    uint64_t carry[GX_LIMBS_MAX], next[GX_LIMBS_MAX];
    gx__poly_carry_start(&spread->poly, carry);
    for (size_t i = 0; i < spread->parts; i++) {
        memcpy(next, carry, sizeof next);
        if (i + 1 < spread->parts)
            gx__poly_carry(&spread->poly, next, total_of(spread, i), spread->part);
        memcpy(total_of(spread, i), carry, sizeof carry);
        memcpy(carry, next, sizeof carry);
    }
}

static void scan(struct gx_device *device, struct spread *spread, uint32_t threads)
{
    split(spread, spread->poly.n, GX_POLY_BLOCK, threads);
    gx__poly_scan_begin(&spread->poly, spread->parts > 1 ? spread->part : 0, &spread->scan);
    if (spread->parts > 1)
        spread_run(device, spread, threads, run_total);
    carry_parts(spread);
    if (atomic_load(&spread->bad) == GX_NONE_BAD)
        spread_run(device, spread, threads, run_scan);
}

/* Not inlined: its tables would enlarge the stack frame of every call. */
__attribute__((noinline)) static size_t run(struct gx_device *device, const struct gx_poly *poly,
                                            const struct gx_host_call *call)
{
    struct spread spread = {.poly = *poly,
                            .each = worker_scratch(&call->kernel.key, call->n),
                            .scratch = call->scratch};
    atomic_init(&spread.bad, gx__poly_check_one(poly));
    if (atomic_load(&spread.bad) == 0)
        return 0;
    if (poly->op == GX_EVALUATE) {
        evaluate(device, &spread, call->threads);
    } else if (is_scan(poly->op)) {
        scan(device, &spread, call->threads);
    } else {
        split(&spread, poly->n, GX_POLY_TILE, call->threads);
        spread_run(device, &spread, call->threads, run_part);
    }
    return atomic_load(&spread.bad);
}

gx_status gx__cpu_poly_run(struct gx_device *device, const gx_host_fn *fn,
                           struct gx_host_call *call)
{
    const struct gx_kernel_key *key = &call->kernel.key;
    const struct gx_poly poly = {.op = key->op,
                                 .prime = gx__prime(key->field),
                                 .fn = fn,
                                 .n = call->n,
                                 .count = gx__param64(key->param + GX_PARAM_COUNT),
                                 .reversed = key->param[GX_PARAM_POLY_FLAGS] & GX_POLY_REVERSED,
                                 .check = key->check,
                                 .out = call->operand[GX_OUT],
                                 .a = call->operand[GX_A],
                                 .b = call->operand[GX_B]};
    if (device->info.kind == GX_DEVICE_REFERENCE) {
        call->threads = 1;
        call->bad = gx__poly_reference(&poly);
        return GX_OK;
    }
    call->bad = run(device, &poly, call);
    return GX_OK;
}
