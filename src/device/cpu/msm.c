/* SPDX-License-Identifier: Apache-2.0
 *
 * See msm.h.
 */
#include "device/cpu/kernels.h"

#include <string.h>

#include "base/alloc.h"
#include "base/threads.h"
#include "op/msm.h"

/* Sums of at most so many points are computed by one thread each, if there are enough of them. */
#define ACROSS_POINTS 4096u

/* Where memory is short and a piece is small, each thread has so many points of it: every thread
 * has memory of its own. */
#define WORKER_POINTS 256u

/* So many multiples of one point take less time together, with a table, than each by itself. */
#define MULTIPLES_MIN 3u

/* A table of multiples pays off for calls with at least one part in so many of the points. */
#define TABLE_PART 4u

/* While a table is made, what the threads need beside it is at most one part in so many of it, but
 * for one thread: it stays allocated. */
#define TABLE_SCRATCH_PART 8u

/* A call, as its key describes it. */
struct msm {
    const struct gx_cpu_msm *cpu;
    struct gx_msm_table table;
    struct gx_msm_call one; /* of one result */
    size_t piece;           /* points of it at a time */
    gx_scalar_form scalar_form;
    gx_point_form result_form;
    size_t results, bytes; /* of each */
    uint32_t workers;      /* results at the same time */
    size_t scratch;        /* of each worker: plain scalars, then that of the tier */
    bool multiples;        /* of one point: all results together */
    const struct gx_host_call *call;
};

static size_t whole_lines(size_t bytes)
{
    return (bytes + GX_CACHE_LINE - 1) / GX_CACHE_LINE * GX_CACHE_LINE;
}

static size_t scalar_bytes(const struct msm *m)
{
    return whole_lines(m->piece * GX_SCALAR_BYTES);
}

static const struct gx_points *points_of(const struct gx_kernel *kernel)
{
    return (const struct gx_points *)(uintptr_t)gx__param64(kernel->key.param + GX_PARAM_POINTS);
}

static bool plan_table(const struct gx_cpu_msm *cpu, const struct gx_points *points,
                       struct gx_msm_table *table)
{
    return cpu->host && points->count && points->table_bytes &&
           gx__msm_table_plan(cpu->host, points->curve, points->count, points->table_bytes, table);
}

static uint32_t workers_for(const struct gx_cpu_msm *cpu, size_t count, bool memory_is_short)
{
    uint64_t useful = (uint64_t)count * gx__op_rows[GX_MSM].ns / GX_WORKER_MIN_NS;
    if (memory_is_short && useful > count / WORKER_POINTS)
        useful = count / WORKER_POINTS;
    return useful < 1 ? 1 : useful < cpu->threads ? (uint32_t)useful : cpu->threads;
}

/* Pieces of about the same size, as few as may be. */
static size_t piece_of(size_t count, size_t limit)
{
    size_t most = limit && limit < GX_MSM_PIECE ? limit : GX_MSM_PIECE;
    size_t pieces = (count + most - 1) / most;
    return pieces ? (count + pieces - 1) / pieces : 0;
}

/* That of a tier, for any piece: fewer points may need more, because of their windows. */
static size_t tier_scratch(const struct msm *m)
{
    struct gx_msm_call call = m->one;
    call.count = m->piece;
    size_t bytes = gx__msm_scratch(m->cpu->host, &call);
    call.count = m->piece ? m->one.count % m->piece : 0;
    size_t last = gx__msm_scratch(m->cpu->host, &call);
    return whole_lines(last > bytes ? last : bytes);
}

/* Of one point, without a result at its end yet. */
static struct gx_point_multiples multiples_of(const struct msm *m)
{
    return (struct gx_point_multiples){.host = m->cpu->host,
                                       .curve = m->one.curve,
                                       .base = m->one.points,
                                       .scalar_form = m->scalar_form,
                                       .form = m->result_form,
                                       .count = m->results,
                                       .bits = m->one.bits,
                                       .workers = m->cpu->threads};
}

static struct msm msm_of(const struct gx_cpu_msm *cpu, const struct gx_kernel *kernel, uint64_t n)
{
    const uint32_t *param = kernel->key.param;
    const struct gx_points *points = points_of(kernel);
    size_t first = (size_t)gx__param64(param + GX_PARAM_MSM_FIRST);
    struct msm m = {
        .cpu = cpu,
        .one = {.curve = points->curve,
                .points = gx__points_at(points, first),
                .count = (size_t)gx__param64(param + GX_PARAM_MSM_COUNT),
                .bits = param[GX_PARAM_BITS],
                .first = first},
        .scalar_form = param[GX_PARAM_SCALARS],
        .result_form = param[GX_PARAM_RESULTS],
    };
    m.results = m.one.count ? (size_t)n / m.one.count : 1;
    m.bytes = gx_point_bytes(m.one.curve->curve, m.result_form);
    m.piece = piece_of(m.one.count, param[GX_PARAM_MSM_PIECE]);
    bool across = cpu->host && m.results >= cpu->threads && m.one.count <= ACROSS_POINTS &&
                  !param[GX_PARAM_MSM_PIECE];
    m.workers = across ? cpu->threads : 1;
    m.one.workers = across || !cpu->host ? 1 : workers_for(cpu, m.piece, param[GX_PARAM_MSM_PIECE]);
    m.scratch = scalar_bytes(&m);
    m.multiples =
        cpu->host && m.one.count == 1 && m.results >= MULTIPLES_MIN && !param[GX_PARAM_MSM_PIECE];
    if (param[GX_PARAM_TABLE] && plan_table(cpu, points, &m.table))
        m.one.table = &m.table;
    if (cpu->host)
        m.scratch += tier_scratch(&m);
    m.one.table = NULL; /* the caller has a copy of m */
    return m;
}

void gx__cpu_msm_open(struct gx_cpu_msm *msm, unsigned tiers, bool reference, uint32_t threads)
{
    *msm = (struct gx_cpu_msm){reference ? NULL : gx__msm_host(tiers), threads};
}

size_t gx__cpu_msm_scratch(const struct gx_cpu_msm *msm, const struct gx_kernel *kernel, uint64_t n)
{
    const struct msm m = msm_of(msm, kernel, n);
    const struct gx_point_multiples multiples = multiples_of(&m);
    return m.multiples ? gx__point_multiples_scratch(&multiples) : m.workers * m.scratch;
}

/* ---- tables ---- */

struct filling {
    const struct gx_cpu_msm *cpu;
    struct gx_msm_table table;
    const uint64_t *points;
    char *scratch; /* of each worker, behind the table */
    size_t scratch_each;
};

static void fill_chunk(void *user, size_t chunk, uint32_t worker)
{
    const struct filling *f = user;
    gx__msm_table_chunk(f->cpu->host, &f->table, f->points, chunk,
                        f->scratch + worker * f->scratch_each);
}

size_t gx__cpu_msm_table(const struct gx_cpu_msm *msm, struct gx_instance *instance,
                         const struct gx_kernel *kernel, void *table)
{
    const struct gx_points *points = points_of(kernel);
    struct filling f = {.cpu = msm, .points = points->xy};
    if (gx__param64(kernel->key.param + GX_PARAM_MSM_COUNT) < points->count / TABLE_PART ||
        !plan_table(msm, points, &f.table))
        return 0;
    size_t bytes = whole_lines(gx__msm_table_bytes(msm->host, &f.table));
    f.scratch_each = whole_lines(gx__msm_table_scratch(msm->host, &f.table));
    f.table.memory = table;
    f.scratch = table ? (char *)table + bytes : NULL;
    size_t room = bytes / TABLE_SCRATCH_PART / f.scratch_each;
    uint32_t workers = room < 1 ? 1 : room < msm->threads ? (uint32_t)room : msm->threads;
    if (table)
        gx__threads_run(instance, GX_THREADS_COMPUTE, workers, gx__msm_table_chunks(&f.table),
                        fill_chunk, &f);
    return bytes + workers * f.scratch_each;
}

/* ---- running ---- */

static void run_reference(const struct gx_msm_call *call)
{
    struct gx_xyzz p;
    gx__xyzz_set_infinity(call->result);
    for (size_t i = 0; i < call->count; i++) {
        gx__xyzz_set_affine(call->curve, &p, call->points + i * 2 * call->curve->limbs);
        gx__xyzz_mul(call->curve, &p, &p, call->scalars + i * GX_SCALAR_LIMBS, call->bits);
        gx__xyzz_add(call->curve, call->result, &p);
    }
}

/* Points from `from` on, as many as there are in a piece; scalars: those of the result. */
static void run_piece(const struct msm *m, struct gx_instance *instance, const char *scalars,
                      size_t from, char *scratch, struct gx_xyzz *sum)
{
    struct gx_msm_call call = m->one;
    uint64_t *plain = (uint64_t *)(void *)scratch;
    call.count = call.count - from < m->piece ? call.count - from : m->piece;
    call.first += from;
    call.points += from * 2 * call.curve->limbs;
    gx__scalars_plain(call.curve->scalar, m->scalar_form, scalars + from * GX_SCALAR_BYTES,
                      call.count, plain);
    call.scalars = plain;
    call.scratch = scratch + scalar_bytes(m);
    call.result = sum;
    if (m->cpu->host)
        gx__msm_run_phases(instance, m->cpu->host, &call);
    else
        run_reference(&call);
}

static void run_one(const struct msm *m, struct gx_instance *instance, size_t i, uint32_t worker)
{
    const struct gx_curve_row *curve = m->one.curve;
    const size_t count = m->one.count;
    struct gx_xyzz sum, part;
    gx__xyzz_set_infinity(&sum);
    for (size_t from = 0; from < count; from += m->piece) {
        run_piece(m, instance, (const char *)m->call->operand[GX_A] + i * count * GX_SCALAR_BYTES,
                  from, (char *)m->call->scratch + worker * m->scratch, &part);
        gx__xyzz_add(curve, &sum, &part);
    }
    gx__msm_write(curve, m->result_form, &sum, (char *)m->call->operand[GX_OUT] + i * m->bytes);
}

static void run_multiples(const struct msm *m, struct gx_instance *instance,
                          struct gx_host_call *call)
{
    struct gx_point_multiples multiples = multiples_of(m);
    multiples.scalars = call->operand[GX_A];
    multiples.out = call->operand[GX_OUT];
    call->threads = multiples.workers;
    gx__point_multiples(instance, &multiples, call->scratch);
}

static void run_across(void *user, size_t i, uint32_t worker)
{
    run_one(user, NULL, i, worker);
}

void gx__cpu_msm_run(const struct gx_cpu_msm *msm, struct gx_instance *instance,
                     struct gx_host_call *call)
{
    struct msm m = msm_of(msm, &call->kernel, call->n);
    if (m.multiples) {
        run_multiples(&m, instance, call);
        return;
    }
    m.call = call;
    m.table.memory = (void *)(uintptr_t)call->table;
    if (call->kernel.key.param[GX_PARAM_TABLE] && call->table)
        m.one.table = &m.table;
    call->threads = m.workers > m.one.workers ? m.workers : m.one.workers;
    if (m.workers > 1)
        gx__threads_run(instance, GX_THREADS_COMPUTE, m.workers, m.results, run_across, &m);
    for (size_t i = 0; i < m.results && m.workers == 1; i++)
        run_one(&m, instance, i, 0);
}

/* ---- sums ---- */

/* The digit of a window, from -2^(window - 1) to 2^(window - 1), and the carry to the next. */
static int64_t next_digit(const uint64_t *scalar, uint32_t bits, uint32_t at, uint32_t window,
                          uint32_t *carry)
{
    int64_t digit = *carry;
    for (uint32_t i = 0; i < window && at + i < bits; i++)
        digit += (int64_t)(scalar[(at + i) / 64] >> ((at + i) % 64) & 1) << i;
    *carry = digit > (int64_t)1 << (window - 1);
    return *carry ? digit - ((int64_t)1 << window) : digit;
}

static void add_digit(const struct gx_curve_row *curve, struct gx_xyzz *sum, const uint64_t *xy,
                      int64_t digit)
{
    const uint64_t size = (uint64_t)(digit < 0 ? -digit : digit);
    struct gx_xyzz p;
    gx__xyzz_set_affine(curve, &p, xy);
    gx__xyzz_mul(curve, &p, &p, &size, 64 - (uint32_t)__builtin_clzll(size));
    if (digit < 0)
        gx__xyzz_neg(curve, &p);
    gx__xyzz_add(curve, sum, &p);
}

static void store(const struct gx_curve_row *curve, const struct gx_xyzz *p, uint64_t *words)
{
    size_t limbs = curve->limbs, bytes = limbs * sizeof *words;
    memcpy(words, p->x, bytes);
    memcpy(words + limbs, p->y, bytes);
    memcpy(words + 2 * limbs, p->zz, bytes);
    memcpy(words + 3 * limbs, p->zzz, bytes);
}

/* Multiples of points, each the double, so many times, of that before it. */
static void double_points(struct gx_host_call *call, const struct gx_curve_row *curve)
{
    const uint32_t *param = call->kernel.key.param;
    uint64_t *out = call->operand[GX_OUT];
    for (uint64_t i = 0; i < call->n; i++) {
        uint64_t xy[2 * GX_COORD_LIMBS];
        struct gx_xyzz p;
        memcpy(xy, (const char *)call->operand[GX_A] + i * curve->info.affine_bytes,
               curve->info.affine_bytes);
        gx__xyzz_set_affine(curve, &p, xy);
        for (uint32_t k = 0; k < param[GX_PARAM_MSM_PARTS]; k++, out += 4 * curve->limbs) {
            for (uint32_t d = 0; d < param[GX_PARAM_MSM_DOUBLINGS]; d++)
                gx__xyzz_double(curve, &p);
            store(curve, &p, out);
        }
    }
}

/* Of one scalar and its point, whose multiples follow it. */
static void add_digits(const uint32_t *param, const uint64_t *scalar, const char *points,
                       struct gx_xyzz *sum)
{
    const struct gx_curve_row *curve = gx__curve(param[GX_PARAM_CURVE]);
    const uint32_t bits = param[GX_PARAM_BITS], window = param[GX_PARAM_WINDOW];
    const uint32_t rows = param[GX_PARAM_MSM_ROWS], digits = gx__digit_count(bits, window);
    uint32_t carry = 0;
    for (uint32_t d = 0; d < digits; d++) {
        uint64_t xy[2 * GX_COORD_LIMBS];
        int64_t digit = next_digit(scalar, bits, d * window, window, &carry);
        memcpy(xy, points + (rows ? d / rows : 0) * curve->info.affine_bytes,
               curve->info.affine_bytes);
        if (digit)
            add_digit(curve, &sum[rows ? d % rows : d], xy, digit);
    }
}

void gx__cpu_msm_sums(struct gx_host_call *call)
{
    enum { WINDOWS_MAX = GX_SCALAR_BITS + 1 };
    const uint32_t *param = call->kernel.key.param;
    const struct gx_curve_row *curve = gx__curve(param[GX_PARAM_CURVE]);
    call->threads = 1;
    call->bad = GX_NONE_BAD;
    if (param[GX_PARAM_MSM_DOUBLINGS]) { /* which have no windows */
        double_points(call, curve);
        return;
    }
    const uint32_t rows = param[GX_PARAM_MSM_ROWS], parts = param[GX_PARAM_MSM_PARTS];
    const size_t point_bytes = (size_t)curve->info.affine_bytes * (parts ? parts : 1);
    uint32_t windows = rows ? rows : gx__digit_count(param[GX_PARAM_BITS], param[GX_PARAM_WINDOW]);
    struct gx_xyzz sum[WINDOWS_MAX];
    for (uint32_t w = 0; w < windows; w++)
        gx__xyzz_set_infinity(&sum[w]);
    for (uint64_t i = 0; i < call->n; i++) {
        uint64_t scalar[GX_SCALAR_LIMBS];
        memcpy(scalar, (const char *)call->operand[GX_A] + i * GX_SCALAR_BYTES, sizeof scalar);
        add_digits(param, scalar, (const char *)call->operand[GX_B] + i * point_bytes, sum);
    }
    for (uint32_t w = 0; w < windows; w++)
        store(curve, &sum[w], (uint64_t *)call->operand[GX_OUT] + (size_t)w * 4 * curve->limbs);
}
