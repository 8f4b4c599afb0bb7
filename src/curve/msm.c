/* SPDX-License-Identifier: Apache-2.0
 *
 * Pippenger's algorithm, of nothing but sums of lists of affine points (sums.h). A scalar is a
 * number of W signed digits of c bits, d_w in -2^(c-1) .. 2^(c-1); bucket (w, l) is the sum of the
 * points whose digit d_w is l, and of the opposite points where it is -l. The result is the sum of
 * 2^(c w) l B(w, l) over all buckets. With l = h 2^k + j, that is
 *   sum of 2^(c w) (j L(w, j) + 2^k h H(w, h)), where L(w, j) is the sum of B(w, l) over h, and
 *   H(w, h) that over j ("values"); and, by the bits of j and h,
 *   sum of 2^t S(t) over the bits t of a scalar, where S(t) is the sum of the values that have the
 *   bit.
 * The terms of all buckets are one long array, sorted, and cut into units of the same length: how
 * scalars are distributed makes no difference. Buckets that are cut are joined afterwards.
 */
#include "curve/msm.h"

#include <string.h>

#include "curve/digits.h"
#include "curve/sums.h"

#define UNIT_MOST    8192u /* terms: their sums stay in the L2 cache */
#define UNIT_LEAST   1024u
#define UNITS        4u    /* per worker */
#define LOAD_POINTS  1024u /* in a chunk */
#define NO_BUCKET    UINT32_MAX
#define BITS_AT_ONCE 32u /* converted */

const struct gx_msm_host *gx__msm_host(unsigned mask)
{
#if defined(__x86_64__)
    const unsigned tiers = gx__host_tiers() & mask;
    if (tiers & 1u << GX_TIER_AVX512)
        return &gx__msm_avx512;
    if (tiers & 1u << GX_TIER_ADX)
        return &gx__msm_adx;
#else
    (void)mask;
#endif
    return &gx__msm_portable;
}

enum gx_tier gx__msm_tier(const struct gx_msm_host *host)
{
    return host->tier;
}

/* ---- the plan ------------------------------------------------------------------------ */

enum phase { LOAD, SORT, ADD_BUCKETS, JOIN, ADD_VALUES, ADD_BITS, FINISH, PHASES };

/* Parts of the scratch. */
enum part {
    POINTS,  /* of the piece */
    DIGITS,  /* uint16_t, window after window, part after part: with the bias of the window */
    TERMS,   /* uint32_t, window after window, by bucket */
    STARTS,  /* uint32_t: the first term of each bucket, digit 0 being the last of a window */
    BUCKETS, /* points; those of empty buckets are not set */
    CUT,     /* points: parts of buckets, two for each unit */
    CUT_OF,  /* uint32_t: their bucket */
    VALUES,  /* points */
    HAS_VALUE,
    BITS, /* points */
    HAS_BIT,
    WORKERS,
    PARTS
};

struct plan {
    uint32_t c, windows;
    uint32_t parts;       /* of the table; 1 without */
    uint32_t buckets;     /* 2^(c-1) in a window */
    size_t window_places; /* of buckets in memory */
    size_t digits;        /* from those of a part to the next; an odd number of lines */
    uint32_t k;           /* bits of the low part of a digit */
    uint32_t lows, highs; /* values of the low part, and of the high part: 0 .. */
    size_t n;             /* points of the largest piece */
    size_t loaded;        /* of those, without a table */
    size_t units, unit;   /* and terms in one */
    uint32_t lists;       /* of values and of bits in a chunk */
    size_t capacity;      /* terms of a worker */
    size_t point;         /* bytes */
    size_t cursors;       /* bytes of a worker for sorting */
    size_t worker;        /* bytes */
    size_t offset[PARTS + 1];
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* In hundredths of an addition: each point once for each digit, and sorting; two more for each
 * bucket, less the one that its first point saves; what is done for a bucket, empty or not. */
static uint64_t cost_of(uint64_t n, uint32_t bits, uint32_t c, uint32_t rows)
{
    uint64_t digits = gx__digit_count(bits, c), buckets = (uint64_t)1 << (c - 1);
    uint64_t terms = n * digits / rows;
    uint64_t used = terms * buckets / (terms + buckets / 2 + 1);
    return digits * 105 * n + rows * (115 * used + 6 * buckets);
}

static uint32_t best_window(uint64_t n, uint32_t bits)
{
    uint32_t best = 1;
    for (uint32_t c = 2; c <= GX_WINDOW_MAX; c++)
        if (cost_of(n, bits, c, gx__digit_count(bits, c)) <
            cost_of(n, bits, best, gx__digit_count(bits, best)))
            best = c;
    return best;
}

static size_t values_of(const struct plan *p)
{
    return (size_t)p->lows + p->highs;
}

static void place_parts(struct plan *p, uint32_t workers)
{
    const size_t terms = p->n * p->parts * p->windows, word = sizeof(uint32_t);
    const size_t bytes[PARTS] = {
        [POINTS] = p->loaded * p->point,
        [DIGITS] = p->windows * p->parts * p->digits * sizeof(uint16_t),
        [TERMS] = terms * word,
        [STARTS] = ((size_t)p->windows * (p->buckets + 1) + 1) * word,
        [BUCKETS] = p->windows * p->window_places * p->point,
        [CUT] = 2 * p->units * p->point,
        [CUT_OF] = 2 * p->units * word,
        [VALUES] = p->windows * values_of(p) * p->point,
        [HAS_VALUE] = p->windows * values_of(p),
        [BITS] = (size_t)p->windows * p->c * p->point,
        [HAS_BIT] = (size_t)p->windows * p->c,
        [WORKERS] = workers * p->worker,
    };
    p->offset[0] = 0;
    for (int i = 0; i < PARTS; i++)
        p->offset[i + 1] = p->offset[i] + (bytes[i] + 63) / 64 * 64;
}

static struct plan make_plan(const struct gx_msm_host *host, const struct gx_msm_call *call)
{
    struct plan p = {.n = least(call->count, GX_MSM_PIECE),
                     .point = host->point_bytes(call->curve)};
    p.c = call->window ? call->window : best_window(p.n, call->bits);
    p.windows = gx__digit_count(call->bits, p.c);
    p.parts = 1;
    p.loaded = p.n;
    if (call->table) {
        p.c = call->table->c;
        p.windows = call->table->rows;
        p.parts = call->table->parts;
        p.loaded = 0;
    }
    p.buckets = 1u << (p.c - 1);
    p.k = p.c / 2;
    p.lows = 1u << p.k;
    p.highs = (p.buckets >> p.k) + 1;
    p.window_places = (size_t)p.highs * (p.lows + 1);
    p.digits = ((p.n + 31) / 32 | 1) * 32;
    size_t terms = p.n * p.parts * p.windows, share = terms / UNITS / call->workers;
    share = call->workers == 1 ? terms : share;
    p.unit = most(least(share, UNIT_MOST), UNIT_LEAST);
    p.units = (terms + p.unit - 1) / p.unit;
    size_t longest = most(p.lows, p.highs);
    p.lists = (uint32_t)most(p.unit / longest, 1);
    p.capacity = most(most(p.unit, p.lists * longest), 2 * p.units);
    p.cursors = ((p.buckets + 1) * sizeof(uint32_t) + 63) / 64 * 64;
    p.worker = p.cursors + gx__sums_bytes(host, call->curve, p.capacity);
    place_parts(&p, call->workers);
    return p;
}

size_t gx__msm_scratch(const struct gx_msm_host *host, const struct gx_msm_call *call)
{
    return make_plan(host, call).offset[PARTS];
}

size_t gx__msm_phases(const struct gx_msm_host *host, const struct gx_msm_call *call)
{
    (void)host;
    return PHASES * most((call->count + GX_MSM_PIECE - 1) / GX_MSM_PIECE, 1);
}

static size_t ratio_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

size_t gx__msm_chunks(const struct gx_msm_host *host, const struct gx_msm_call *call, size_t phase)
{
    struct plan p = make_plan(host, call);
    size_t piece = least(call->count - phase / PHASES * GX_MSM_PIECE, GX_MSM_PIECE);
    if (call->count == 0)
        return phase == FINISH;
    switch ((enum phase)(phase % PHASES)) {
    case LOAD:
        return ratio_up(piece, LOAD_POINTS);
    case SORT:
        return p.windows;
    case ADD_BUCKETS:
        return ratio_up(piece * p.parts * p.windows, p.unit);
    case ADD_VALUES:
        return ratio_up(p.windows * values_of(&p), p.lists);
    case ADD_BITS:
        return ratio_up((size_t)p.windows * p.c, p.lists);
    default:
        return 1;
    }
}

/* One chunk at work. */
struct work {
    const struct gx_msm_host *host;
    const struct gx_msm_call *call;
    struct plan p;
    size_t first, n; /* of the points: the piece */
    size_t terms;    /* of a window */
    uint32_t worker;
};

static void *part(const struct work *w, enum part part)
{
    return (uint8_t *)w->call->scratch + w->p.offset[part];
}

static void *point_at(const struct work *w, enum part which, size_t i)
{
    return (uint8_t *)part(w, which) + i * w->p.point;
}

static void *worker_memory(const struct work *w)
{
    return (uint8_t *)part(w, WORKERS) + w->worker * w->p.worker;
}

static void open_sums(const struct work *w, struct gx_sums *s, enum part points)
{
    uint8_t *memory = worker_memory(w);
    gx__sums_open(s, w->host, w->call->curve, w->p.capacity, memory + w->p.cursors);
    s->points = part(w, points);
}

/* ---- digits ---------------------------------------------------------------------------- */

/* Of all digits in a window as they are in DIGITS. Where the parts of a table meet in one, the
 * highest digit is in the same window as others. */
static uint32_t bias_of(const struct plan *p, uint32_t window)
{
    return window + 1 < p->windows || p->parts > 1 ? p->buckets : 0;
}

/* The digits of point i of the piece. */
static void put_digits(const struct work *w, const struct gx_digits *d, const gx_biased s,
                       bool infinite, size_t i)
{
    const struct plan *p = &w->p;
    uint16_t *digits = (uint16_t *)part(w, DIGITS) + i;
    uint32_t digit = 0;
    for (uint32_t k = 0; k < p->parts; k++, digits += p->digits)
        for (uint32_t v = 0; v < p->windows; v++, digit++) {
            bool zero = infinite || digit >= d->count;
            uint32_t value = zero ? 0 : gx__digit(d, s, digit) - gx__digit_bias(d, digit);
            digits[v * p->parts * p->digits] = (uint16_t)(value + bias_of(p, v));
        }
}

static void load_chunk(const struct work *w, size_t chunk)
{
    const struct gx_curve_row *curve = w->call->curve;
    const size_t from = chunk * LOAD_POINTS, to = least(from + LOAD_POINTS, w->n);
    const size_t words = 2 * (size_t)curve->limbs;
    const uint64_t *xy = w->call->points + (w->first + from) * words;
    struct gx_digits d;
    gx_biased s;
    gx__digits_init(&d, w->call->bits, w->p.c);
    if (!w->call->table)
        w->host->load(curve, point_at(w, POINTS, from), xy, to - from);
    for (size_t i = from; i < to; i++, xy += words) {
        gx__digits_bias(&d, s, w->call->scalars + (w->first + i) * GX_SCALAR_LIMBS);
        put_digits(w, &d, s, gx__affine_is_infinity(curve, xy), i);
    }
}

/* The bucket of a digit, from 0, and `buckets` for digit 0. */
static uint32_t bucket_of(uint32_t digit, uint32_t bias, uint32_t buckets)
{
    uint32_t l = digit < bias ? bias - digit : digit - bias;
    return (uint32_t)least(l - 1, buckets);
}

static void sort_chunk(const struct work *w, size_t window)
{
    const struct plan *p = &w->p;
    const uint16_t *digits = (const uint16_t *)part(w, DIGITS) + window * p->parts * p->digits;
    const uint32_t bias = bias_of(p, (uint32_t)window), buckets = p->buckets;
    uint32_t *cursor = worker_memory(w), *terms = part(w, TERMS);
    uint32_t *starts = (uint32_t *)part(w, STARTS) + window * (p->buckets + 1);
    memset(cursor, 0, (buckets + 1) * sizeof *cursor);
    for (uint32_t k = 0; k < p->parts; k++)
        for (size_t i = 0, n = w->n; i < n; i++)
            cursor[bucket_of(digits[k * p->digits + i], bias, buckets)]++;
    uint32_t at = (uint32_t)(window * w->terms);
    for (uint32_t b = 0; b <= buckets; b++) {
        uint32_t count = cursor[b];
        starts[b] = cursor[b] = at;
        at += count;
    }
    if (window + 1 == p->windows) /* else the next window writes it: it begins there */
        starts[buckets + 1] = at;
    size_t row = w->call->table ? w->call->table->count : 0;
    uint32_t point = w->call->table ? (uint32_t)(w->call->first + w->first) : 0;
    for (uint32_t k = 0; k < p->parts; k++, digits += p->digits, point += (uint32_t)row)
        for (uint32_t i = 0, n = (uint32_t)w->n; i < n; i++) {
            uint32_t sign = digits[i] < bias ? GX_TERM_NEGATIVE : 0;
            terms[cursor[bucket_of(digits[i], bias, buckets)]++] = (point + i) | sign;
        }
}

/* ---- buckets ----------------------------------------------------------------------------- */

/* The last bucket, of all windows, that begins at a term or before. */
static size_t bucket_at(const uint32_t *starts, size_t buckets, uint32_t term)
{
    size_t low = 0, high = buckets; /* starts[low] <= term < starts[high] */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (starts[middle] <= term)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The terms of a unit, a list for each bucket; those of digit 0 are moved out. */
static void list_unit(const struct work *w, struct gx_sums *s, uint32_t from, uint32_t to)
{
    const struct plan *p = &w->p;
    const uint32_t *starts = part(w, STARTS);
    uint32_t *terms = (uint32_t *)part(w, TERMS);
    size_t bucket = bucket_at(starts, (size_t)p->windows * (p->buckets + 1), from);
    uint32_t end = 0;
    s->terms = terms + from;
    for (uint32_t at = from; at < to; bucket++) {
        uint32_t next = (uint32_t)least(starts[bucket + 1], to), start = end;
        if (bucket % (p->buckets + 1) != p->buckets) {
            memmove(s->terms + end, terms + at, (next - at) * sizeof *terms);
            end += next - at;
            gx__sums_end(s, (uint32_t)bucket, start, end);
        }
        at = next;
    }
}

/* Where the sum of bucket l of a window is. Rows of the same high part are an odd number of points
 * long: steps of a power of two would use a small part of the caches. */
static size_t place_of(const struct plan *p, size_t window, uint32_t l)
{
    return window * p->window_places + (size_t)(l >> p->k) * (p->lows + 1) + (l & (p->lows - 1));
}

static void *bucket_place(const struct work *w, uint32_t bucket)
{
    const uint32_t all = w->p.buckets + 1;
    return point_at(w, BUCKETS, place_of(&w->p, bucket / all, bucket % all + 1));
}

/* A whole bucket goes to its place; what has a part in another unit to CUT: first the one that
 * began before this unit. */
static void buckets_chunk(const struct work *w, size_t unit)
{
    const struct plan *p = &w->p;
    const uint32_t *starts = part(w, STARTS);
    const uint32_t from = (uint32_t)(unit * p->unit);
    const uint32_t to = (uint32_t)least(from + p->unit, w->terms * p->windows);
    uint32_t *cut_of = (uint32_t *)part(w, CUT_OF) + 2 * unit;
    struct gx_sums s;
    open_sums(w, &s, POINTS);
    if (w->call->table)
        s.points = w->call->table->memory;
    list_unit(w, &s, from, to);
    gx__sums_add(&s);
    cut_of[0] = cut_of[1] = NO_BUCKET;
    for (uint32_t i = 0; i < s.lists; i++) {
        uint32_t bucket = s.name[i];
        uint32_t which = starts[bucket] < from ? 0 : 1;
        if (starts[bucket] >= from && starts[bucket + 1] <= to) {
            gx__sums_get(&s, i, bucket_place(w, bucket));
        } else {
            cut_of[which] = bucket;
            gx__sums_get(&s, i, point_at(w, CUT, 2 * unit + which));
        }
    }
}

static void join_chunk(const struct work *w)
{
    const uint32_t *cut_of = part(w, CUT_OF);
    const uint32_t cuts = 2 * (uint32_t)ratio_up(w->terms * w->p.windows, w->p.unit);
    struct gx_sums s;
    uint32_t end = 0, start = 0, bucket = NO_BUCKET;
    open_sums(w, &s, CUT);
    for (uint32_t i = 0; i < cuts; i++) {
        if (cut_of[i] == NO_BUCKET)
            continue;
        if (cut_of[i] != bucket) {
            gx__sums_end(&s, bucket, start, end);
            start = end;
        }
        bucket = cut_of[i];
        s.terms[end++] = i;
    }
    gx__sums_end(&s, bucket, start, end);
    gx__sums_add(&s);
    for (uint32_t i = 0; i < s.lists; i++)
        gx__sums_get(&s, i, bucket_place(w, s.name[i]));
}

/* ---- values and bits ------------------------------------------------------------------------ */

/* In a window, values are numbered: those of the low part, then those of the high part. Puts the
 * buckets of one, in the order of l. */
static uint32_t put_value(const struct work *w, struct gx_sums *s, uint32_t end, uint32_t name)
{
    const struct plan *p = &w->p;
    const uint32_t window = name / (uint32_t)values_of(p), value = name % (uint32_t)values_of(p);
    const uint32_t *starts = (const uint32_t *)part(w, STARTS) + window * (p->buckets + 1);
    const bool low = value < p->lows;
    uint32_t l = low ? value : (value - p->lows) << p->k, step = low ? p->lows : 1;
    uint32_t stop = low ? p->buckets : (uint32_t)least(l + p->lows - 1, p->buckets);
    if (l == 0)
        return end; /* value 0 */
    for (; l <= stop; l += step)
        if (starts[l] > starts[l - 1])
            s->terms[end++] = (uint32_t)place_of(p, window, l);
    return end;
}

/* The values that have a bit. */
static uint32_t put_bit(const struct work *w, struct gx_sums *s, uint32_t end, uint32_t name)
{
    const struct plan *p = &w->p;
    const uint32_t window = name / p->c, bit = name % p->c;
    const bool low = bit < p->k;
    const uint32_t first = window * (uint32_t)values_of(p) + (low ? 0 : p->lows);
    const uint32_t count = low ? p->lows : p->highs, mask = 1u << (low ? bit : bit - p->k);
    const uint8_t *has = (const uint8_t *)part(w, HAS_VALUE) + first;
    for (uint32_t v = mask; v < count; v++)
        if (v & mask && has[v])
            s->terms[end++] = first + v;
    return end;
}

static void lists_chunk(const struct work *w, enum part from, enum part to, size_t chunk,
                        size_t names)
{
    const uint32_t first = (uint32_t)chunk * w->p.lists;
    const uint32_t last = (uint32_t)least(first + w->p.lists, names);
    uint8_t *has = part(w, to == VALUES ? HAS_VALUE : HAS_BIT);
    struct gx_sums s;
    uint32_t end = 0;
    open_sums(w, &s, from);
    for (uint32_t name = first; name < last; name++) {
        uint32_t start = end;
        end = to == VALUES ? put_value(w, &s, end, name) : put_bit(w, &s, end, name);
        gx__sums_end(&s, name, start, end);
        has[name] = end > start;
    }
    gx__sums_add(&s);
    for (uint32_t i = 0; i < s.lists; i++)
        gx__sums_get(&s, i, point_at(w, to, s.name[i]));
}

static void finish_chunk(const struct work *w)
{
    const struct gx_curve_row *curve = w->call->curve;
    const uint8_t *has = part(w, HAS_BIT);
    struct gx_xyzz sum;
    uint64_t xy[BITS_AT_ONCE * 2 * GX_COORD_LIMBS];
    gx__xyzz_set_infinity(&sum);
    for (size_t t = w->n ? (size_t)w->p.windows * w->p.c : 0; t-- > 0;) {
        const size_t i = t % BITS_AT_ONCE;
        gx__xyzz_double(curve, &sum);
        if (i == BITS_AT_ONCE - 1 || t + 1 == (size_t)w->p.windows * w->p.c)
            w->host->store(curve, xy, point_at(w, BITS, t - i), i + 1);
        if (has[t])
            gx__xyzz_add_affine(curve, &sum, xy + i * 2 * curve->limbs);
    }
    if (w->first == 0)
        gx__xyzz_set_infinity(w->call->result);
    gx__xyzz_add(curve, w->call->result, &sum);
}

void gx__msm_chunk(const struct gx_msm_host *host, const struct gx_msm_call *call, size_t phase,
                   size_t chunk, uint32_t worker)
{
    struct work w = {.host = host, .call = call, .p = make_plan(host, call), .worker = worker};
    w.first = phase / PHASES * GX_MSM_PIECE;
    w.n = least(call->count - w.first, GX_MSM_PIECE);
    w.terms = w.n * w.p.parts;
    switch ((enum phase)(phase % PHASES)) {
    case LOAD:
        load_chunk(&w, chunk);
        break;
    case SORT:
        sort_chunk(&w, chunk);
        break;
    case ADD_BUCKETS:
        buckets_chunk(&w, chunk);
        break;
    case JOIN:
        join_chunk(&w);
        break;
    case ADD_VALUES:
        lists_chunk(&w, BUCKETS, VALUES, chunk, w.p.windows * values_of(&w.p));
        break;
    case ADD_BITS:
        lists_chunk(&w, VALUES, BITS, chunk, (size_t)w.p.windows * w.p.c);
        break;
    default:
        finish_chunk(&w);
        break;
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

#define TABLE_WINDOW_MAX 15u /* digits with a bias must fit into 16 bits, the highest too */

static size_t table_bytes(const struct gx_msm_host *host, const struct gx_curve_row *curve,
                          size_t count, uint32_t parts)
{
    return count * parts * host->point_bytes(curve);
}

bool gx__msm_table_plan(const struct gx_msm_host *host, const struct gx_curve_row *curve,
                        size_t count, uint64_t bytes, struct gx_msm_table *table)
{
    uint64_t best = UINT64_MAX, part = table_bytes(host, curve, count, 1);
    uint64_t parts = part ? bytes / part : 1;
    *table = (struct gx_msm_table){.curve = curve, .count = count};
    if (count)
        parts = least(parts, GX_TERM_INDEX / count);
    for (uint32_t c = 2; c <= TABLE_WINDOW_MAX && parts; c++) {
        uint32_t digits = gx__digit_count(GX_SCALAR_BITS, c);
        uint32_t rows = (uint32_t)ratio_up(digits, least(parts, digits));
        uint64_t cost = cost_of(count, GX_SCALAR_BITS, c, rows);
        if (cost >= best)
            continue;
        best = cost;
        table->c = c;
        table->rows = rows;
        table->parts = (uint32_t)ratio_up(digits, rows);
    }
    return parts > 0;
}

size_t gx__msm_table_bytes(const struct gx_msm_host *host, const struct gx_msm_table *table)
{
    return table_bytes(host, table->curve, table->count, table->parts);
}

size_t gx__msm_table_scratch(const struct gx_msm_host *host, const struct gx_msm_table *table)
{
    return gx__sums_bytes(host, table->curve, 0);
}

size_t gx__msm_table_chunks(const struct gx_msm_table *table)
{
    return ratio_up(table->count, GX_MSM_BATCH);
}

void gx__msm_table_chunk(const struct gx_msm_host *host, const struct gx_msm_table *table,
                         const uint64_t *points, size_t chunk, void *scratch)
{
    const struct gx_curve_row *curve = table->curve;
    const size_t bytes = host->point_bytes(curve), first = chunk * GX_MSM_BATCH;
    const uint32_t n = (uint32_t)least(table->count - first, GX_MSM_BATCH);
    uint8_t *row = (uint8_t *)table->memory + first * bytes;
    struct gx_sums s;
    gx__sums_open(&s, host, curve, 0, scratch);
    for (uint32_t i = 0; i < n; i++)
        s.pairs[i] = (struct gx_msm_pair){i | GX_TERM_SUM, i | GX_TERM_SUM, i};
    host->load(curve, row, points + first * 2 * curve->limbs, n);
    for (uint32_t k = 1; k < table->parts; k++) {
        uint8_t *next = row + table->count * bytes;
        memcpy(next, row, n * bytes);
        struct gx_msm_adds doubles = {
            .curve = curve, .sums = next, .pairs = s.pairs, .count = n, .scratch = s.scratch};
        for (uint32_t bit = 0; bit < table->c * table->rows; bit++)
            host->add(&doubles);
        row = next;
    }
}
