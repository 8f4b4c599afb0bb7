/* SPDX-License-Identifier: Apache-2.0
 *
 * A list of commands, each busy or idle. Lookups compare whole records, which usually differ in
 * their first kernel or copy.
 */
#include "exec/record.h"

#include <string.h>

#include "base/alloc.h"

struct gx_step *gx__record_add(struct gx_record *record, enum gx_step_kind kind)
{
    struct gx_step *step = &record->steps[record->count++];
    memset(step, 0, sizeof *step);
    step->kind = kind;
    return step;
}

void gx__records_init(struct gx_records *records, struct gx_device *device,
                      struct gx_counters *counters)
{
    *records = (struct gx_records){.device = device, .counters = counters};
    pthread_mutex_init(&records->lock, NULL);
}

static const gx_allocator *allocator(const struct gx_records *records)
{
    return &records->device->instance->config.allocator;
}

static void drop_command(struct gx_records *records, struct gx_ready *ready)
{
    if (ready->cmd)
        records->device->ops->recycle(ready->cmd);
    ready->cmd = NULL;
    ready->record.count = 0;
}

void gx__records_close(struct gx_records *records)
{
    for (struct gx_ready *r = records->all, *next; r; r = next) {
        next = r->next;
        drop_command(records, r);
        gx__free(allocator(records), r->record.steps);
        gx__free(allocator(records), r);
    }
    pthread_mutex_destroy(&records->lock);
}

/* ---- comparing ---- */

static bool equal(const struct gx_record *x, const struct gx_record *y)
{
    return x->queue == y->queue && x->count == y->count &&
           !memcmp(x->steps, y->steps, x->count * sizeof *x->steps);
}

static bool names(const struct gx_step *step, const struct gx_mem *mem)
{
    if (step->kind == GX_STEP_COPY)
        return step->region.from.mem == mem || step->region.to.mem == mem;
    for (int i = 0; i < GX_BINDINGS && step->kind == GX_STEP_DISPATCH; i++)
        if (step->dispatch.bind[i].mem == mem)
            return true;
    return false;
}

/* ---- recording ---- */

static void replay(const struct gx_record *record, struct gx_cmd *cmd)
{
    const struct gx_device_ops *ops = cmd->device->ops;
    for (size_t i = 0; i < record->count; i++) {
        const struct gx_step *step = &record->steps[i];
        switch (step->kind) {
        case GX_STEP_COPY:
            ops->copy(cmd, &step->region, 1);
            break;
        case GX_STEP_DISPATCH:
            ops->dispatch(cmd, &step->dispatch);
            break;
        case GX_STEP_BARRIER:
            ops->barrier(cmd, step->barrier);
            break;
        case GX_STEP_STAMP:
            ops->stamp(cmd, step->stamp);
            break;
        }
    }
}

static gx_status record_anew(struct gx_records *records, const struct gx_record *record,
                             struct gx_ready *ready)
{
    struct gx_device *device = records->device;
    struct gx_record *own = &ready->record;
    if (own->room < record->count) {
        gx__free(allocator(records), own->steps);
        own->steps = gx__alloc(allocator(records), record->room * sizeof *own->steps);
        own->room = own->steps ? record->room : 0;
    }
    if (!own->steps)
        return GX_ERR_OUT_OF_MEMORY;
    gx_status s = device->ops->begin(device, record->queue, &ready->cmd);
    if (s != GX_OK) {
        ready->cmd = NULL;
        return s;
    }
    memcpy(own->steps, record->steps, record->count * sizeof *record->steps);
    own->count = record->count;
    own->queue = record->queue;
    replay(record, ready->cmd);
    return GX_OK;
}

/* ---- the list ---- */

/* Under the lock: the one that holds the record (*hit), a new one, or the least recently used;
 * NULL: no memory. */
static struct gx_ready *pick(struct gx_records *records, const struct gx_record *record, bool *hit)
{
    struct gx_ready *oldest = NULL, *r;
    for (r = records->all; r; r = r->next) {
        *hit = !r->busy && r->cmd && equal(&r->record, record);
        if (*hit)
            return r;
        if (!r->busy && (!oldest || r->used < oldest->used))
            oldest = r;
    }
    if (records->count >= GX_READY_KEPT && oldest)
        return oldest;
    r = gx__alloc(allocator(records), sizeof *r);
    if (!r)
        return oldest;
    r->next = records->all;
    records->all = r;
    records->count++;
    return r;
}

gx_status gx__ready_get(struct gx_records *records, const struct gx_record *record,
                        struct gx_ready **out, bool *hit)
{
    struct gx_cmd *evicted = NULL;
    *hit = false;
    pthread_mutex_lock(&records->lock);
    struct gx_ready *r = pick(records, record, hit);
    if (r && !*hit) {
        evicted = r->cmd;
        r->cmd = NULL;
        r->record.count = 0;
    }
    if (r) {
        r->busy = true;
        r->used = ++records->lookups;
    }
    pthread_mutex_unlock(&records->lock);
    if (evicted)
        records->device->ops->recycle(evicted);
    gx__count(*hit ? &records->counters->command_hits : &records->counters->command_misses, 1);
    gx_status s = !r ? GX_ERR_OUT_OF_MEMORY : *hit ? GX_OK : record_anew(records, record, r);
    if (s != GX_OK)
        gx__ready_put(records, r, false);
    else
        *out = r;
    return s;
}

void gx__ready_put(struct gx_records *records, struct gx_ready *ready, bool keep)
{
    if (!ready)
        return;
    if (!keep || !records->device->facts.resubmit)
        drop_command(records, ready);
    pthread_mutex_lock(&records->lock);
    ready->busy = false;
    pthread_mutex_unlock(&records->lock);
}

void gx__records_forget(struct gx_records *records, const struct gx_mem *mem)
{
    pthread_mutex_lock(&records->lock);
    for (struct gx_ready *r = records->all; r; r = r->next) {
        bool named = false; /* the memory of a busy one is in use, so it is not freed */
        for (size_t i = 0; !r->busy && i < r->record.count; i++)
            named |= names(&r->record.steps[i], mem);
        if (named)
            drop_command(records, r);
    }
    pthread_mutex_unlock(&records->lock);
}
