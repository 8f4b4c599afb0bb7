/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms of any size from blocks of at most 2^12 rows and 8 lanes, which the tiers compute: how
 * a transform is cut into steps, the addresses and factors of each block, and the tables.
 *
 * n = N_1 N_2 ... N_d. Write the index of an input as digits i_1 .. i_d, i_1 the highest, and that
 * of an output as m = m_1 + N_1 (m_2 + N_2 (m_3 + ...)). Step s replaces digit i_s by m_s: for all
 * values of the other digits, a transform of N_s elements over i_s, and then, with c the number in
 * the digits below s, a product with w^(c m_s), w the root of order N_s ... N_d. The first step
 * reads the input, the last writes the output, and between them the elements are in scratch, in the
 * order of the digits. Eight values of c, or in the last step of m_1, are the lanes of a block.
 */
#include "field/ntt_block.h"

#include <string.h>

#include "gpuexec.h"

/* ---- tables ----------------------------------------------------------------- */

const struct gx_ntt_host *gx__ntt_host(unsigned mask)
{
#if defined(__x86_64__)
    unsigned tiers = gx__host_tiers() & mask;
    if (tiers & 1u << GX_TIER_AVX512)
        return &gx__ntt_avx512;
    if (tiers & 1u << GX_TIER_ADX)
        return &gx__ntt_adx;
#else
    (void)mask;
#endif
    return &gx__ntt_portable;
}

enum gx_tier gx__ntt_tier(const struct gx_ntt_host *host)
{
    return host->tier;
}

/* A block of 2^k rows has 2^(k - 1) of them in its last level. */
static size_t twiddle_count(uint32_t log2_size)
{
    uint32_t levels = log2_size < GX_NTT_LOG2_ROWS ? log2_size : GX_NTT_LOG2_ROWS;
    return levels ? (size_t)1 << (levels - 1) : 1;
}

size_t gx__ntt_table_bytes(const struct gx_ntt_host *host, uint32_t log2_size)
{
    return GX_NTT_TABLE_HEAD + twiddle_count(log2_size) * host->twiddle_bytes;
}

static void copy_one(uint64_t *to, const uint64_t *from)
{
    memcpy(to, from, GX_NTT_ELEMENT);
}

/* to[j] is a root of order 2^j: those below `from`. */
static void square_down(const struct gx_prime *prime, uint64_t (*to)[GX_NTT_LIMBS], uint32_t from)
{
    for (uint32_t j = from; j-- > 0;)
        gx__mul_one(prime, to[j], to[j + 1], to[j + 1]);
}

static void square_up(const struct gx_prime *prime, uint64_t (*to)[GX_NTT_LIMBS])
{
    for (uint32_t j = 1; j < GX_NTT_LOG2; j++)
        gx__mul_one(prime, to[j], to[j - 1], to[j - 1]);
}

void gx__ntt_table_fill(const struct gx_ntt_host *host, const struct gx_prime *prime,
                        uint32_t log2_size, const uint64_t root[GX_NTT_LIMBS],
                        const uint64_t shift[GX_NTT_LIMBS], void *table)
{
    struct gx_ntt_table *t = table;
    uint64_t half[GX_NTT_LIMBS];
    memset(t, 0, sizeof *t);
    copy_one(t->root[log2_size], root);
    gx__invert_one(prime, t->inverse_root[log2_size], root);
    square_down(prime, t->root, log2_size);
    square_down(prime, t->inverse_root, log2_size);
    copy_one(t->shift[0], shift);
    gx__invert_one(prime, t->inverse_shift[0], shift);
    square_up(prime, t->shift);
    square_up(prime, t->inverse_shift);
    gx__int_one(prime, half, 2);
    gx__invert_one(prime, half, half);
    copy_one(t->inverse_size[0], prime->one);
    for (uint32_t j = 1; j <= GX_NTT_LOG2; j++)
        gx__mul_one(prime, t->inverse_size[j], t->inverse_size[j - 1], half);
    host->fill(prime, t, (uint8_t *)table + GX_NTT_TABLE_HEAD, twiddle_count(log2_size));
}

/* ---- the plan ------------------------------------------------------------------ */

/* Elements that are worth a chunk, and those that keep all workers busy between two phases. */
#define CHUNK_ELEMENTS 1024u
#define PHASE_ELEMENTS ((size_t)1 << 20)
/* Transforms up to this size are left to one worker each if there are this many for each: their
 * scratch stays in its caches. */
#define WHOLE_LOG2        16u
#define WHOLE_PER_WORKER  8u
#define ACROSS_PER_WORKER 2u
/* Units of columns that one worker takes in a row: together they read 4 KiB of each row, a page,
 * which is found once for all of them. */
#define COLUMN_UNITS 16u
/* Blocks that are done abreast, where rows are far apart: each row is then a page to find, of
 * memory read and of memory written, for all of them once. Their scratch stays in the L2 cache. */
#define ABREAST       4u
#define ABREAST_BYTES ((size_t)768 << 10)
/* Elements of a result that is written past the caches. */
#define STREAM_ELEMENTS ((size_t)1 << 18)

struct plan {
    uint32_t steps;
    uint32_t log2_rows[GX_NTT_LOG2]; /* of each step */
    bool across;                     /* the lanes are transforms, not parts of one */
    bool whole;                      /* a single phase; a chunk does all steps */
    size_t units;                    /* transforms, or if `across` groups of 8 */
    size_t group;                    /* units that go through the steps together */
    size_t unit_bytes;               /* of scratch between steps */
    size_t worker_bytes;             /* of scratch per worker */
    uint32_t abreast;                /* units that a worker takes at a time */
    size_t chunk_blocks, chunk_units;
};

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static size_t lanes_of(const struct plan *p)
{
    return p->across ? GX_NTT_LANES : 1;
}

/* Transforms in the lanes need no products between steps, and are the only way if parts of one
 * cannot fill them; but there must be enough of them for all workers. Columns are neighbours in
 * memory. */
static bool lanes_across(const struct gx_ntt_call *call, uint32_t log2_step)
{
    if (call->log2_n < 6)
        return true;
    if (call->batch < GX_NTT_LANES)
        return false;
    if (call->flags & GX_NTT_COLUMNS)
        return true;
    size_t blocks = call->batch / GX_NTT_LANES;
    bool enough = call->workers == 1 || blocks / ACROSS_PER_WORKER >= call->workers;
    return call->log2_n <= log2_step && enough;
}

static void plan_steps(struct plan *p, uint32_t log2_n, uint32_t log2_step)
{
    uint32_t least_steps = p->across || log2_n < 2 ? 1 : 2;
    p->steps = (log2_n + log2_step - 1) / log2_step;
    p->steps = p->steps < least_steps ? least_steps : p->steps;
    for (uint32_t s = 0, left = log2_n; s < p->steps; s++) {
        p->log2_rows[s] = (left + p->steps - s - 1) / (p->steps - s);
        left -= p->log2_rows[s];
    }
}

static uint32_t units_abreast(const struct gx_ntt_host *host, const struct gx_ntt_call *call,
                              const struct plan *p, size_t block_bytes)
{
    const size_t full = call->batch / GX_NTT_LANES,
                 most = full < p->chunk_units ? full : p->chunk_units;
    uint32_t units = ABREAST;
    const size_t stride = call->stride_in < call->stride_out ? call->stride_in : call->stride_out;
    if (!host->abreast || !(call->flags & GX_NTT_COLUMNS) || p->steps > 1 ||
        stride * GX_NTT_ELEMENT < GX_NTT_FAR)
        return 1;
    while (units > 1 && (units > most || units * block_bytes > ABREAST_BYTES))
        units--;
    return units;
}

static struct plan make_plan(const struct gx_ntt_host *host, const struct gx_ntt_call *call)
{
    struct plan p = {0};
    uint32_t log2_step = call->log2_step ? call->log2_step : host->log2_step;
    size_t n = (size_t)1 << call->log2_n;
    p.across = lanes_across(call, log2_step);
    plan_steps(&p, call->log2_n, log2_step);
    p.units = (call->batch + lanes_of(&p) - 1) / lanes_of(&p);
    size_t unit = n * lanes_of(&p);
    p.unit_bytes = p.steps > 1 ? unit * GX_NTT_ELEMENT : 0;
    p.whole = p.steps == 1 ||
              (unit <= (size_t)1 << WHOLE_LOG2 && p.units / WHOLE_PER_WORKER >= call->workers);
    p.group = unit < PHASE_ELEMENTS ? PHASE_ELEMENTS / unit : 1;
    if (p.group > p.units)
        p.group = p.units;
    size_t rows = (size_t)1 << (p.log2_rows[0] < 3 ? 3 : p.log2_rows[0]);
    size_t block = rows * GX_NTT_LANES;
    p.chunk_blocks = block < CHUNK_ELEMENTS ? CHUNK_ELEMENTS / block : 1;
    p.chunk_units = unit < CHUNK_ELEMENTS ? CHUNK_ELEMENTS / unit : 1;
    size_t share = p.units / WHOLE_PER_WORKER / call->workers;
    if (call->flags & GX_NTT_COLUMNS && p.chunk_units < COLUMN_UNITS && p.chunk_units < share)
        p.chunk_units = share < COLUMN_UNITS ? share : COLUMN_UNITS;
    p.abreast = units_abreast(host, call, &p, rows * host->scratch_bytes);
    p.worker_bytes = (p.abreast * rows * host->scratch_bytes + 63) / 64 * 64;
    return p;
}

size_t gx__ntt_scratch(const struct gx_ntt_host *host, const struct gx_ntt_call *call)
{
    struct plan p = make_plan(host, call);
    size_t units = p.whole ? call->workers : p.group;
    return p.unit_bytes * units + p.worker_bytes * call->workers;
}

size_t gx__ntt_phases(const struct gx_ntt_host *host, const struct gx_ntt_call *call)
{
    struct plan p = make_plan(host, call);
    if (!p.group) /* there are no transforms */
        return 0;
    return p.whole ? 1 : (p.units + p.group - 1) / p.group * p.steps;
}

/* ---- blocks ------------------------------------------------------------------------ */

/* One block of one step. */
struct place {
    size_t unit;      /* its number */
    uint8_t *between; /* its scratch */
    uint32_t step;
    size_t block; /* in the step */
    /* levels of the steps before this one, of this one, of those after */
    uint32_t before, here, after;
};

static struct place place_of(const struct plan *p, uint32_t step)
{
    struct place at = {.step = step, .here = p->log2_rows[step]};
    for (uint32_t s = 0; s < step; s++)
        at.before += p->log2_rows[s];
    for (uint32_t s = step + 1; s < p->steps; s++)
        at.after += p->log2_rows[s];
    return at;
}

/* Lanes that a step can fill with parts of one transform: 2^this. */
static uint32_t log2_lanes(const struct plan *p, const struct place *at)
{
    if (p->across || p->steps == 1)
        return 0;
    return least(3, at->step + 1 < p->steps ? at->after : p->log2_rows[0]);
}

static size_t step_blocks(const struct plan *p, uint32_t step)
{
    struct place at = place_of(p, step);
    return (size_t)1 << (at.before + at.after - log2_lanes(p, &at));
}

/* The number of the other digits of lane l: first those before this step, in the order of scratch,
 * then those after. In the last step m_1, the highest, counts lanes. */
static size_t lane_digits(const struct plan *p, const struct place *at, uint32_t lane)
{
    uint32_t lanes = log2_lanes(p, at);
    if (at->step + 1 < p->steps || p->across || p->steps == 1)
        return (at->block << lanes) + (p->across ? 0 : lane);
    uint32_t low = at->before - p->log2_rows[0]; /* bits of m_2 .. */
    size_t others = at->block & (((size_t)1 << low) - 1);
    return (((at->block >> low) << lanes) + lane) << low | others;
}

/* The digits m_1 .. in the order of scratch, to m_1 + N_1 (m_2 + ...). */
static size_t output_index(const struct plan *p, const struct place *at, size_t digits)
{
    size_t m = 0;
    uint32_t below = at->before, done = 0;
    for (uint32_t s = 0; s < at->step; s++) {
        below -= p->log2_rows[s];
        size_t digit = digits >> below & (((size_t)1 << p->log2_rows[s]) - 1);
        m += digit << done;
        done += p->log2_rows[s];
    }
    return m;
}

/* Between elements of a transform, and its first one, in bytes, in and out. */
static size_t step_of(const struct gx_ntt_call *call, size_t stride)
{
    return GX_NTT_ELEMENT * (call->flags & GX_NTT_COLUMNS ? stride : 1);
}

static size_t origin(const struct gx_ntt_call *call, size_t transform, uint32_t log2_n)
{
    size_t elements = call->flags & GX_NTT_COLUMNS ? transform : transform << log2_n;
    return elements * GX_NTT_ELEMENT;
}

static const uint64_t zero_element[GX_NTT_LIMBS];

/* Input r * 2^after + c, at its place or the reversed one; beyond the padding 0. */
static void set_input(const struct gx_ntt_call *call, const struct place *at,
                      struct gx_ntt_block *k, uint32_t lane, size_t transform, size_t c)
{
    uint32_t log2_in = call->log2_n - call->log2_pad;
    const uint8_t *in = (const uint8_t *)call->in + origin(call, transform, log2_in);
    size_t step = step_of(call, call->stride_in);
    uint32_t log2_columns = least(at->after, log2_in);
    k->log2_rows_in = log2_in - log2_columns;
    k->in_reversed = call->flags & GX_NTT_REVERSED_IN;
    k->in_row = step << (k->in_reversed ? 0 : at->after);
    size_t position = k->in_reversed ? gx__bit_reverse(c, log2_columns) << k->log2_rows_in : c;
    if (c >> log2_columns)
        k->in[lane] = (const uint8_t *)zero_element;
    else
        k->in[lane] = in + position * step;
}

static void set_output(const struct gx_ntt_call *call, const struct place *at,
                       struct gx_ntt_block *k, uint32_t lane, size_t transform, size_t m)
{
    size_t step = step_of(call, call->stride_out);
    k->out_reversed = call->flags & GX_NTT_REVERSED_OUT;
    k->out_row = step << (k->out_reversed ? 0 : at->before);
    size_t position = k->out_reversed ? gx__bit_reverse(m, at->before) << at->here : m;
    k->out[lane] = (uint8_t *)call->out + origin(call, transform, call->log2_n) + position * step;
}

static void set_lane(const struct gx_ntt_call *call, const struct plan *p, const struct place *at,
                     struct gx_ntt_block *k, uint32_t lane)
{
    size_t digits = lane_digits(p, at, lane), c = digits & (((size_t)1 << at->after) - 1);
    size_t transform = at->unit * lanes_of(p) + (p->across ? lane : 0);
    size_t index = (digits >> at->after << at->here << at->after) + c;
    size_t between = index * lanes_of(p) + (p->across ? lane : 0);
    size_t row = lanes_of(p) * GX_NTT_ELEMENT << at->after;
    if (at->step == 0) {
        set_input(call, at, k, lane, transform, c);
    } else {
        k->log2_rows_in = at->here;
        k->in_row = row;
        k->in[lane] = at->between + between * GX_NTT_ELEMENT;
    }
    if (k->last) {
        set_output(call, at, k, lane, transform, output_index(p, at, digits));
    } else {
        k->out_row = row;
        k->out[lane] = at->between + between * GX_NTT_ELEMENT;
    }
}

/* ---- factors ------------------------------------------------------------------------ */

/* *x *= the element whose powers of two are at power, +step, ..., to the c. */
static void times_power(const struct gx_prime *prime, uint64_t *x, const uint64_t *power,
                        ptrdiff_t step, size_t c)
{
    for (; c; c >>= 1, power += step * GX_NTT_LIMBS)
        if (c & 1)
            gx__mul_one(prime, x, x, power);
}

static void set_factors(const struct gx_ntt_call *call, const struct plan *p,
                        const struct place *at, struct gx_ntt_block *k)
{
    const struct gx_ntt_table *t = call->table;
    const struct gx_prime *prime = call->prime;
    bool coset = call->flags & GX_NTT_COSET, forward = !k->inverse;
    k->in_scaled = at->step == 0 && coset && forward;
    copy_one(k->in_ratio, t->shift[at->after]);
    if (k->last && !(k->inverse && (coset || p->steps == 1)))
        return;
    k->scale = k->last || p->across ? GX_NTT_SCALE_ROWS : GX_NTT_SCALE_LANES;

    size_t c = lane_digits(p, at, 0) & (((size_t)1 << at->after) - 1);
    uint32_t order = at->here + at->after;
    const uint64_t *root = forward ? t->root[order] : t->inverse_root[order];
    copy_one(k->first[0], prime->one);
    copy_one(k->ratio[0], prime->one);
    if (!k->last)
        times_power(prime, k->ratio[0], root, -1, c);
    if (k->inverse && coset)
        times_power(prime, k->ratio[0], t->inverse_shift[at->before], 1, 1);
    if (k->inverse && at->step == 0)
        gx__mul_one(prime, k->first[0], k->first[0], t->inverse_size[call->log2_n]);
    if (k->in_scaled)
        times_power(prime, k->first[0], t->shift[0], 1, c);
    for (uint32_t l = 1; l < k->lanes && k->scale == GX_NTT_SCALE_LANES; l++) {
        gx__mul_one(prime, k->ratio[l], k->ratio[l - 1], root);
        if (k->in_scaled)
            gx__mul_one(prime, k->first[l], k->first[l - 1], t->shift[0]);
        else
            copy_one(k->first[l], k->first[0]);
    }
}

/* ---- running --------------------------------------------------------------------------- */

static void run_block(const struct gx_ntt_host *host, const struct gx_ntt_call *call,
                      const struct plan *p, const struct place *at, uint32_t abreast, void *scratch)
{
    struct gx_ntt_block k;
    size_t transforms = call->batch - at->unit * lanes_of(p);
    k.prime = call->prime;
    k.twiddles = (const uint8_t *)call->table + GX_NTT_TABLE_HEAD;
    k.scratch = scratch;
    k.abreast = abreast;
    k.log2_rows = at->here;
    k.lanes = p->across ? (uint32_t)(transforms < GX_NTT_LANES ? transforms : GX_NTT_LANES)
                        : 1u << log2_lanes(p, at);
    k.inverse = call->flags & GX_NTT_INVERSE;
    k.last = at->step + 1 == p->steps;
    k.stream = k.last && call->batch >= STREAM_ELEMENTS >> call->log2_n;
    k.in_reversed = k.out_reversed = false;
    k.scale = GX_NTT_SCALE_NONE;
    for (uint32_t l = 0; l < k.lanes; l++)
        set_lane(call, p, at, &k, l);
    set_factors(call, p, at, &k);
    host->block(&k);
}

/* Scratch: units between steps first, then the blocks of the workers. */
static void *worker_scratch(const struct gx_ntt_call *call, const struct plan *p, uint32_t worker)
{
    size_t units = p->whole ? call->workers : p->group;
    return (uint8_t *)call->scratch + p->unit_bytes * units + p->worker_bytes * worker;
}

static void run_whole(const struct gx_ntt_host *host, const struct gx_ntt_call *call,
                      const struct plan *p, size_t chunk, uint32_t worker)
{
    size_t from = chunk * p->chunk_units, left = p->units - from;
    size_t to = from + (left < p->chunk_units ? left : p->chunk_units);
    const size_t full = call->batch / lanes_of(p);
    for (size_t unit = from; unit < to;) {
        size_t abreast = to - unit < p->abreast ? to - unit : p->abreast;
        abreast = full < unit + abreast ? full - unit : abreast;
        abreast = abreast ? abreast : 1; /* the last, of fewer columns */
        for (uint32_t s = 0; s < p->steps; s++) {
            struct place at = place_of(p, s);
            at.unit = unit;
            at.between = (uint8_t *)call->scratch + p->unit_bytes * worker;
            for (size_t blocks = step_blocks(p, s); at.block < blocks; at.block++)
                run_block(host, call, p, &at, (uint32_t)abreast, worker_scratch(call, p, worker));
        }
        unit += abreast;
    }
}

/* Units of the group of a phase. */
static size_t phase_units(const struct plan *p, size_t phase)
{
    size_t left = p->units - phase / p->steps * p->group;
    return left < p->group ? left : p->group;
}

size_t gx__ntt_chunks(const struct gx_ntt_host *host, const struct gx_ntt_call *call, size_t phase)
{
    struct plan p = make_plan(host, call);
    if (p.whole)
        return (p.units + p.chunk_units - 1) / p.chunk_units;
    size_t blocks = phase_units(&p, phase) * step_blocks(&p, (uint32_t)(phase % p.steps));
    return (blocks + p.chunk_blocks - 1) / p.chunk_blocks;
}

void gx__ntt_chunk(const struct gx_ntt_host *host, const struct gx_ntt_call *call, size_t phase,
                   size_t chunk, uint32_t worker)
{
    struct plan p = make_plan(host, call);
    if (p.whole) {
        run_whole(host, call, &p, chunk, worker);
        return;
    }
    struct place at = place_of(&p, (uint32_t)(phase % p.steps));
    size_t per_unit = step_blocks(&p, at.step), blocks = phase_units(&p, phase) * per_unit;
    size_t from = chunk * p.chunk_blocks, left = blocks - from;
    size_t to = from + (left < p.chunk_blocks ? left : p.chunk_blocks);
    for (size_t block = from; block < to; block++) {
        size_t unit = block / per_unit;
        at.unit = phase / p.steps * p.group + unit;
        at.between = (uint8_t *)call->scratch + p.unit_bytes * unit;
        at.block = block % per_unit;
        run_block(host, call, &p, &at, 1, worker_scratch(call, &p, worker));
    }
}
