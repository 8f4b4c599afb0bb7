/* SPDX-License-Identifier: Apache-2.0
 *
 * See tables.h. A device that works on host memory fills its own kind of roots. The others have the
 * layout of device/gpu/ntt_table.h: the host computes a few thousand factors, and the device
 * multiplies them out, one product for each entry.
 */
#include "exec/tables.h"

#include <string.h>

#include "base/alloc.h"
#include "exec/buffer.h"
#include "exec/plan.h"
#include "field/ntt.h"
#include "field/scalar.h"
#include "device/gpu/ntt_table.h"

#define ELEMENT_LIMBS GX_NTT_LIMBS
#define ELEMENT_BYTES (ELEMENT_LIMBS * sizeof(uint64_t))

void gx__tables_init(struct gx_tables *tables)
{
    *tables = (struct gx_tables){0};
    pthread_mutex_init(&tables->lock, NULL);
    pthread_cond_init(&tables->changed, NULL);
    pthread_mutex_init(&tables->turn, NULL);
}

/* A buffer keeps its engine open; one that the engine itself owns must not. */
static gx_status create_buffer(struct gx_engine *engine, size_t bytes, gx_buf **buf)
{
    gx_status s = gx__buf_create(engine, bytes, 0, buf);
    if (s == GX_OK)
        gx__engine_release(engine);
    return s;
}

static void destroy_buffer(struct gx_engine *engine, gx_buf **buf)
{
    if (*buf)
        gx__engine_acquire(engine);
    gx__buf_destroy(buf);
}

/* ---- filling: devices with commands ---- */

/* The parts of the table that the host computes, one after the other, in elements. */
struct seeds {
    uint64_t low, high; /* entries of W: the first ones, and every GX_NTT_LOW-th */
    uint64_t rest;      /* everything after W */
    uint64_t *low_at, *high_at, *rest_at;
};

static void shift_powers(const struct gx_domain *d, uint32_t log2, const uint64_t *shift,
                         uint64_t *at)
{
    uint64_t step[GX_LIMBS_MAX];
    gx__powers_of(d->prime, shift, GX_NTT_LOW, at);
    gx__pow_one(d->prime, step, shift, GX_NTT_LOW);
    gx__powers_of(d->prime, step, gx__ntt_powers(log2) - GX_NTT_LOW,
                  at + GX_NTT_LOW * ELEMENT_LIMBS);
}

static void compute_seeds(const struct gx_domain *d, uint32_t log2, struct seeds *s)
{
    uint64_t shift = gx__ntt_shift_at(log2), half[GX_LIMBS_MAX];
    gx__domain_twiddles(d, 0, s->low, s->low_at);
    gx__domain_twiddles(d, GX_K_NTT_LOW_BITS, s->high, s->high_at);
    shift_powers(d, log2, d->shift, s->rest_at);
    shift_powers(d, log2, d->inverse_shift,
                 s->rest_at + (gx__ntt_inverse_shift_at(log2) - shift) * ELEMENT_LIMBS);
    gx__int_one(d->prime, half, 2);
    gx__invert_one(d->prime, half, half);
    gx__powers_of(d->prime, half, log2 + 1,
                  s->rest_at + (gx__ntt_halves_at(log2) - shift) * ELEMENT_LIMBS);
}

/* Multiplies the factors out: W of the table. */
static gx_status dispatch_table(struct gx_engine *engine, gx_field field, const gx_buf *seeds,
                                const struct seeds *s, uint64_t n, gx_buf *table)
{
    struct gx_device *device = &engine->device;
    const struct gx_kernel_key key = {.op = GX_OP_NTT_TABLE, .field = field};
    struct gx_dispatch d = {.n = n};
    struct gx_cmd *cmd;
    struct gx_fence done;
    d.bind[GX_BIND_OUT].mem = &table->mem;
    d.bind[GX_BIND_A].mem = &seeds->mem;
    d.bind[GX_BIND_B] = (struct gx_binding){&seeds->mem, (size_t)s->low * ELEMENT_BYTES};
    gx_status status = device->ops->kernel(device, &key, &d.kernel);
    if (status == GX_OK)
        status = device->ops->begin(device, GX_QUEUE_COMPUTE, &cmd);
    if (status != GX_OK)
        return status;
    device->ops->barrier(cmd, GX_BARRIER_COPY_TO_KERNEL);
    device->ops->dispatch(cmd, &d);
    device->ops->barrier(cmd, GX_BARRIER_KERNEL_TO_KERNEL);
    status = device->ops->submit(cmd, NULL, 0, &done);
    if (status == GX_OK)
        status = gx__engine_wait(engine, done, n);
    device->ops->recycle(cmd);
    return status;
}

static gx_status expand(struct gx_engine *engine, gx_field field, const struct seeds *s, uint64_t n,
                        gx_buf *table)
{
    gx_buf *seeds = NULL;
    size_t bytes = (size_t)(s->low + s->high) * ELEMENT_BYTES;
    gx_status status = create_buffer(engine, bytes, &seeds);
    if (status == GX_OK)
        status = gx__buf_write(seeds, 0, s->low_at, bytes);
    if (status == GX_OK)
        status = dispatch_table(engine, field, seeds, s, n, table);
    destroy_buffer(engine, &seeds);
    return status;
}

static gx_status fill_by_commands(struct gx_engine *engine, const struct gx_domain *d,
                                  uint32_t log2, gx_buf *table)
{
    uint64_t n = gx__ntt_twiddles(log2), shift = gx__ntt_shift_at(log2);
    struct seeds s = {.low = n < GX_NTT_LOW ? n : GX_NTT_LOW,
                      .high = gx__ntt_high(n),
                      .rest = gx__ntt_table_elements(log2) - shift};
    const gx_allocator *allocator = &engine->instance->config.allocator;
    uint64_t *all = gx__alloc(allocator, (size_t)(s.low + s.high + s.rest) * ELEMENT_BYTES);
    if (!all)
        return GX_ERR_OUT_OF_MEMORY;
    s.low_at = all;
    s.high_at = s.low_at + s.low * ELEMENT_LIMBS;
    s.rest_at = s.high_at + s.high * ELEMENT_LIMBS;
    compute_seeds(d, log2, &s);
    gx_status status = gx__buf_write(table, (size_t)shift * ELEMENT_BYTES, s.rest_at,
                                     (size_t)s.rest * ELEMENT_BYTES);
    if (status == GX_OK)
        status = n > s.low ? expand(engine, d->prime->field, &s, n, table)
                           : gx__buf_write(table, 0, s.low_at, (size_t)n * ELEMENT_BYTES);
    gx__free(allocator, all);
    return status;
}

/* ---- making and dropping; under the lock ---- */

static void drop(struct gx_engine *engine, struct gx_table **at)
{
    struct gx_table *table = *at;
    *at = table->next;
    destroy_buffer(engine, &table->buf);
    gx__free(&engine->instance->config.allocator, table);
}

/* Of that owner; 0: of all. */
static bool drop_idle(struct gx_engine *engine, uint64_t owner)
{
    bool any = false;
    for (struct gx_table **at = &engine->tables.all; *at;) {
        if ((*at)->users || (owner && (*at)->owner != owner)) {
            at = &(*at)->next;
            continue;
        }
        drop(engine, at);
        any = true;
    }
    return any;
}

static void let_go(struct gx_tables *tables)
{
    tables->holders--;
    tables->let_go++;
    pthread_cond_broadcast(&tables->changed);
}

/* What a table is made from: points, or the domain of a kernel; nothing for GX_TABLE_TEMPORARY. */
struct recipe {
    uint64_t owner;
    uint32_t log2;
    const struct gx_points *points;
    struct gx_multiples multiples; /* of the points */
    const struct gx_domain *domain;
    const struct gx_kernel *kernel;
};

static size_t bytes_of(struct gx_device *device, const struct recipe *r)
{
    if (r->points)
        return r->points->count * r->points->curve->info.affine_bytes * r->multiples.parts;
    if (r->owner == GX_TABLE_TEMPORARY)
        return (size_t)1 << r->log2;
    return device->ops->table ? device->ops->table(device, r->kernel, NULL)
                              : (size_t)gx__ntt_table_elements(r->log2) * ELEMENT_BYTES;
}

static gx_status fill(struct gx_engine *engine, const struct recipe *r, size_t bytes, gx_buf *buf)
{
    struct gx_device *device = &engine->device;
    if (r->points && r->multiples.parts > 1) /* by the caller */
        return GX_OK;
    if (r->points)
        return gx__buf_write(buf, 0, r->points->xy, bytes);
    if (r->owner == GX_TABLE_TEMPORARY)
        return GX_OK;
    if (device->ops->table)
        device->ops->table(device, r->kernel, buf->mem.host);
    else if (r->domain)
        return fill_by_commands(engine, r->domain, r->log2, buf);
    return GX_OK;
}

static gx_status make(struct gx_engine *engine, const struct recipe *r, struct gx_table *table)
{
    size_t bytes = bytes_of(&engine->device, r);
    gx_status s = create_buffer(engine, bytes, &table->buf);
    if (s == GX_ERR_OUT_OF_DEVICE_MEMORY && drop_idle(engine, 0))
        s = create_buffer(engine, bytes, &table->buf);
    if (s != GX_OK)
        return s;
    s = fill(engine, r, bytes, table->buf);
    if (s != GX_OK)
        destroy_buffer(engine, &table->buf);
    return gx__engine_status(engine, s);
}

bool gx__table_serves(const struct gx_table *table, struct gx_kernel *kernel)
{
    uint32_t *param = kernel->key.param;
    bool serves = table->owner == gx__param64(param + GX_PARAM_DOMAIN_ID) &&
                  table->log2 >= param[GX_PARAM_LOG2_N];
    if (serves)
        param[GX_PARAM_LOG2_TABLE] = table->log2;
    return serves;
}

static struct gx_table *find(struct gx_tables *tables, uint64_t owner, uint32_t log2)
{
    for (struct gx_table *t = tables->all; t; t = t->next)
        if (t->owner == owner && t->log2 >= log2 && !(owner == GX_TABLE_TEMPORARY && t->users))
            return t;
    return NULL;
}

static struct gx_table *use(struct gx_tables *tables, struct gx_table *table)
{
    if (!table)
        return NULL;
    table->users++;
    tables->holders++;
    return table;
}

/* ---- for jobs ---- */

struct gx_table *gx__table_find(struct gx_engine *engine, struct gx_kernel *kernel)
{
    struct gx_tables *tables = &engine->tables;
    const uint32_t *param = kernel->key.param;
    if (pthread_mutex_trylock(&tables->lock) != 0)
        return NULL;
    struct gx_table *table =
        use(tables, find(tables, gx__param64(param + GX_PARAM_DOMAIN_ID), param[GX_PARAM_LOG2_N]));
    pthread_mutex_unlock(&tables->lock);
    if (table)
        kernel->key.param[GX_PARAM_LOG2_TABLE] = table->log2;
    return table;
}

static gx_status get(struct gx_engine *engine, const struct recipe *r, struct gx_table **out)
{
    struct gx_tables *tables = &engine->tables;
    const gx_allocator *allocator = &engine->instance->config.allocator;
    gx_status s = GX_OK;
    pthread_mutex_lock(&tables->lock);
    struct gx_table *table = find(tables, r->owner, r->log2);
    for (; table && table->making; table = find(tables, r->owner, r->log2))
        pthread_cond_wait(&tables->changed, &tables->lock);
    if (!table) {
        drop_idle(engine, r->owner); /* smaller ones */
        table = gx__alloc(allocator, sizeof *table);
        s = table ? GX_OK : GX_ERR_OUT_OF_MEMORY;
        if (table) {
            *table = (struct gx_table){.owner = r->owner,
                                       .log2 = r->log2,
                                       .multiples = r->multiples,
                                       .making = r->multiples.parts > 1};
            uint64_t start = gx__once_begin();
            s = make(engine, r, table);
            gx__once_end(start, &engine->instance->counters.tables_ns);
        }
        if (s == GX_OK) {
            table->next = tables->all;
            tables->all = table;
        } else {
            gx__free(allocator, table);
            table = NULL;
        }
    }
    *out = use(tables, table);
    pthread_mutex_unlock(&tables->lock);
    return s;
}

gx_status gx__table_get(struct gx_engine *engine, struct gx_kernel *kernel, struct gx_table **table)
{
    uint32_t *param = kernel->key.param;
    const struct gx_domain *domain =
        (const struct gx_domain *)(uintptr_t)gx__param64(param + GX_PARAM_DOMAIN);
    const struct recipe r = {
        .owner = domain->id, .log2 = param[GX_PARAM_LOG2_N], .domain = domain, .kernel = kernel};
    gx_status s = get(engine, &r, table);
    if (s == GX_OK)
        param[GX_PARAM_LOG2_TABLE] = (*table)->log2;
    return s;
}

gx_status gx__table_of_points(struct gx_engine *engine, const struct gx_points *points,
                              const struct gx_multiples *multiples, struct gx_table **table)
{
    return get(engine,
               &(struct recipe){.owner = points->id, .points = points, .multiples = *multiples},
               table);
}

void gx__table_made(struct gx_engine *engine, struct gx_table **table, gx_status status)
{
    struct gx_tables *tables = &engine->tables;
    gx__engine_status(engine, status);
    pthread_mutex_lock(&tables->lock);
    (*table)->making = false;
    if (status != GX_OK) {
        struct gx_table **at = &tables->all;
        while (*at != *table)
            at = &(*at)->next;
        drop(engine, at);
        let_go(tables);
        *table = NULL;
    }
    pthread_cond_broadcast(&tables->changed);
    pthread_mutex_unlock(&tables->lock);
}

gx_status gx__table_of_multiples(struct gx_engine *engine, const struct gx_points *points,
                                 const struct gx_kernel *kernel, struct gx_table **table)
{
    return get(engine, &(struct recipe){.owner = points->id, .kernel = kernel}, table);
}

gx_status gx__temporary_get(struct gx_engine *engine, size_t bytes, struct gx_table **table)
{
    uint32_t log2 = (uint32_t)__builtin_ctzll(gx__bucket(bytes));
    return get(engine, &(struct recipe){.owner = GX_TABLE_TEMPORARY, .log2 = log2}, table);
}

void gx__table_put(struct gx_engine *engine, struct gx_table *table)
{
    if (!table)
        return;
    pthread_mutex_lock(&engine->tables.lock);
    table->users--;
    if (table->ended)
        drop_idle(engine, table->owner);
    let_go(&engine->tables);
    pthread_mutex_unlock(&engine->tables.lock);
}

/* ---- memory ---- */

bool gx__tables_drop_idle(struct gx_engine *engine)
{
    if (pthread_mutex_trylock(&engine->tables.lock) != 0)
        return false;
    bool any = drop_idle(engine, 0);
    pthread_mutex_unlock(&engine->tables.lock);
    return any;
}

void gx__tables_drop(struct gx_engine *engine, uint64_t owner)
{
    pthread_mutex_lock(&engine->tables.lock);
    drop_idle(engine, owner);
    for (struct gx_table *t = engine->tables.all; t; t = t->next)
        t->ended |= t->owner == owner;
    pthread_mutex_unlock(&engine->tables.lock);
}

static void begin_turn(struct gx_engine *engine)
{
    atomic_fetch_add(&engine->tables.wanted, 1);
    pthread_mutex_lock(&engine->tables.turn);
}

static void end_turn(struct gx_engine *engine)
{
    pthread_mutex_unlock(&engine->tables.turn);
    atomic_fetch_sub(&engine->tables.wanted, 1);
}

void gx__tables_hold(struct gx_engine *engine)
{
    struct gx_tables *tables = &engine->tables;
    bool wanted = gx__tables_wanted(tables);
    if (wanted)
        begin_turn(engine);
    pthread_mutex_lock(&tables->lock);
    tables->holders++;
    pthread_mutex_unlock(&tables->lock);
    if (wanted)
        end_turn(engine);
}

void gx__tables_let_go(struct gx_engine *engine)
{
    pthread_mutex_lock(&engine->tables.lock);
    let_go(&engine->tables);
    pthread_mutex_unlock(&engine->tables.lock);
}

/* Waits until those that hold memory now let go, and drops what nobody uses. False: there was
 * nothing of either. *last: nobody held any, so that there will not be more memory than now. */
static bool make_room(struct gx_engine *engine, bool *last)
{
    struct gx_tables *tables = &engine->tables;
    pthread_mutex_lock(&tables->lock);
    uint64_t holders = tables->holders, until = tables->let_go + holders;
    while (tables->holders && tables->let_go < until)
        pthread_cond_wait(&tables->changed, &tables->lock);
    bool any = drop_idle(engine, 0) || holders;
    *last = !holders;
    pthread_mutex_unlock(&tables->lock);
    return any;
}

bool gx__turn_next(struct gx_turn *turn)
{
    if (!turn->has)
        begin_turn(turn->engine);
    turn->has = true;
    bool may = !turn->tried || (!turn->last && make_room(turn->engine, &turn->last));
    turn->tried = true;
    return may;
}

void gx__turn_end(const struct gx_turn *turn)
{
    end_turn(turn->engine);
}

void gx__tables_close(struct gx_engine *engine)
{
    while (engine->tables.all)
        drop(engine, &engine->tables.all);
    pthread_cond_destroy(&engine->tables.changed);
    pthread_mutex_destroy(&engine->tables.turn);
    pthread_mutex_destroy(&engine->tables.lock);
}
