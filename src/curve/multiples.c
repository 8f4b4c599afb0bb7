/* SPDX-License-Identifier: Apache-2.0
 *
 * See multiples.h. With digits of c bits, the table has v 2^(c w) B for each digit w and all v from
 * 1 to 2^(c-1); it grows from the powers 2^t B by v + 2^j for all v < 2^j.
 */
#include "curve/multiples.h"

#include <string.h>

#include "curve/digits.h"
#include "curve/sums.h"

#define WINDOW_MOST 14u   /* of larger tables, reading is slow */
#define TERMS       8192u /* of a chunk */

enum phase { POWERS, TABLE, MULTIPLY, PHASES };

enum part { POWER, ENTRIES, WORKERS, PARTS };

struct plan {
    struct gx_digits digits;
    size_t entries; /* of a digit */
    size_t scalars; /* of a chunk */
    size_t point;   /* bytes */
    size_t results; /* bytes of a worker */
    size_t worker;  /* bytes */
    size_t offset[PARTS + 1];
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Additions. */
static uint64_t cost_of(uint64_t count, uint32_t bits, uint32_t c)
{
    return gx__digit_count(bits, c) * (count + ((uint64_t)1 << (c - 1)));
}

static uint32_t best_window(uint64_t count, uint32_t bits)
{
    uint32_t best = 1;
    for (uint32_t c = 2; c <= WINDOW_MOST; c++)
        if (cost_of(count, bits, c) < cost_of(count, bits, best))
            best = c;
    return best;
}

static struct plan make_plan(const struct gx_msm_host *host, const struct gx_multiples_call *call)
{
    struct plan p = {.point = host->point_bytes(call->curve)};
    gx__digits_init(&p.digits, call->bits,
                    call->window ? call->window : best_window(call->count, call->bits));
    p.entries = (size_t)1 << (p.digits.c - 1);
    p.scalars = TERMS / p.digits.count;
    p.results = lines(p.scalars * p.point);
    p.worker = p.results + gx__sums_bytes(host, call->curve, TERMS);
    const size_t bytes[PARTS] = {
        [POWER] = (size_t)p.digits.count * p.digits.c * p.point,
        [ENTRIES] = p.digits.count * p.entries * p.point,
        [WORKERS] = call->workers * p.worker,
    };
    for (int i = 0; i < PARTS; i++)
        p.offset[i + 1] = p.offset[i] + lines(bytes[i]);
    return p;
}

size_t gx__multiples_scratch(const struct gx_msm_host *host, const struct gx_multiples_call *call)
{
    return make_plan(host, call).offset[PARTS];
}

size_t gx__multiples_phases(const struct gx_msm_host *host, const struct gx_multiples_call *call)
{
    (void)host;
    return call->count ? PHASES : 0;
}

size_t gx__multiples_chunks(const struct gx_msm_host *host, const struct gx_multiples_call *call,
                            size_t phase)
{
    struct plan p = make_plan(host, call);
    return phase == POWERS  ? 1
           : phase == TABLE ? p.digits.count
                            : (call->count + p.scalars - 1) / p.scalars;
}

/* One chunk at work. */
struct work {
    const struct gx_msm_host *host;
    const struct gx_multiples_call *call;
    struct plan p;
    uint32_t worker;
};

static uint8_t *part(const struct work *w, enum part part)
{
    return (uint8_t *)w->call->scratch + w->p.offset[part];
}

static void powers_chunk(const struct work *w)
{
    enum { MANY = 16 };
    const struct gx_curve_row *curve = w->call->curve;
    const uint32_t powers = w->p.digits.count * w->p.digits.c;
    struct gx_xyzz p[MANY], next;
    uint64_t xy[MANY * 2 * GX_COORD_LIMBS];
    gx__xyzz_set_affine(curve, &next, w->call->base);
    for (uint32_t t = 0, n; t < powers; t += n) {
        for (n = 0; n < MANY && t + n < powers; n++) {
            p[n] = next;
            gx__xyzz_double(curve, &next);
        }
        gx__xyzz_batch_to_affine(curve, p, n, xy);
        w->host->load(curve, part(w, POWER) + t * w->p.point, xy, n);
    }
}

/* Entries 2^j + 1 .. 2^(j+1) - 1 of a digit, which begin with entry 1. */
static void grow_table(const struct work *w, struct gx_msm_adds *adds, struct gx_msm_pair *pairs,
                       uint32_t j)
{
    const uint32_t power = 1u << j;
    for (uint32_t v = 1; v < power; v += adds->count) {
        adds->count = (uint32_t)least(power - v, GX_MSM_BATCH);
        for (uint32_t i = 0; i < adds->count; i++)
            pairs[i] = (struct gx_msm_pair){(v + i - 1) | GX_TERM_SUM, (power - 1) | GX_TERM_SUM,
                                            power + v + i - 1};
        w->host->add(adds);
    }
}

static void table_chunk(const struct work *w, uint32_t digit)
{
    const struct plan *p = &w->p;
    const struct gx_curve_row *curve = w->call->curve;
    const uint8_t *powers = part(w, POWER) + (size_t)digit * p->digits.c * p->point;
    uint8_t *entries = part(w, ENTRIES) + digit * p->entries * p->point;
    struct gx_sums s;
    gx__sums_open(&s, w->host, curve, TERMS, part(w, WORKERS) + w->worker * p->worker + p->results);
    struct gx_msm_adds adds = {
        .curve = curve, .sums = entries, .pairs = s.pairs, .scratch = s.scratch};
    for (uint32_t j = 0; j < p->digits.c; j++) {
        w->host->copy(curve, entries + (((size_t)1 << j) - 1) * p->point, powers + j * p->point,
                      false);
        if (j + 1 < p->digits.c)
            grow_table(w, &adds, s.pairs, j);
    }
}

/* The terms of one scalar. */
static uint32_t put_scalar(const struct work *w, struct gx_sums *s, uint32_t end,
                           const uint64_t *scalar)
{
    const struct gx_digits *d = &w->p.digits;
    gx_biased biased;
    gx__digits_bias(d, biased, scalar);
    for (uint32_t v = 0; v < d->count; v++) {
        uint32_t digit = gx__digit(d, biased, v), bias = gx__digit_bias(d, v);
        uint32_t l = digit < bias ? bias - digit : digit - bias;
        if (l)
            s->terms[end++] =
                (uint32_t)(v * w->p.entries + l - 1) | (digit < bias ? GX_TERM_NEGATIVE : 0);
    }
    return end;
}

static void multiply_chunk(const struct work *w, size_t chunk)
{
    const struct plan *p = &w->p;
    const struct gx_curve_row *curve = w->call->curve;
    const size_t first = chunk * p->scalars, n = least(p->scalars, w->call->count - first);
    const size_t words = 2 * (size_t)curve->limbs;
    uint8_t *results = part(w, WORKERS) + w->worker * p->worker;
    struct gx_sums s;
    gx__sums_open(&s, w->host, curve, TERMS, results + p->results);
    s.points = part(w, ENTRIES);
    uint32_t end = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t start = end;
        end = put_scalar(w, &s, end, w->call->scalars + (first + i) * GX_SCALAR_LIMBS);
        gx__sums_end(&s, i, start, end);
    }
    gx__sums_add(&s);
    memset(w->call->out + first * words, 0, n * words * sizeof *w->call->out);
    for (uint32_t i = 0; i < s.lists; i++)
        gx__sums_get(&s, i, results + i * p->point);
    if (s.lists == n) {
        w->host->store(curve, w->call->out + first * words, results, n);
        return;
    }
    for (uint32_t i = 0; i < s.lists; i++)
        w->host->store(curve, w->call->out + (first + s.name[i]) * words, results + i * p->point,
                       1);
}

void gx__multiples_chunk(const struct gx_msm_host *host, const struct gx_multiples_call *call,
                         size_t phase, size_t chunk, uint32_t worker)
{
    struct work w = {.host = host, .call = call, .p = make_plan(host, call), .worker = worker};
    if (phase == POWERS)
        powers_chunk(&w);
    else if (phase == TABLE)
        table_chunk(&w, (uint32_t)chunk);
    else
        multiply_chunk(&w, chunk);
}
