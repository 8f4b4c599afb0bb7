/* SPDX-License-Identifier: Apache-2.0
 *
 * Splits jobs into pieces, lays out groups, stays within the available memory, and chooses path and
 * mode by what cost.c predicts. No device is used, so all of it can be tested on tables.
 */
#include "exec/plan.h"

#include <string.h>

/* Alignment of the parts of staging memory: the largest that Vulkan lets a device require for
 * storage buffers, and for non-coherent mapped ranges. */
#define PART_ALIGN 256u

/* Without measured speeds: from this size, copying to device memory pays. */
#define DEVICE_LOCAL_ELEMS ((uint64_t)1 << 20)

/* In a pipeline, smaller jobs share a group, because a submit costs more than they do. Groups are
 * up to so many times larger if that pays. */
#define PIPE_GROUP_ELEMS 16384u
#define PIPE_GROUP_TIMES 4u
/* Most elements of a piece of registered columns that is made larger for the sake of its rows. */
#define WIDE_ELEMS ((uint64_t)GX_CHUNK_ELEMS * 2)
/* A group of a single submit has at most this many chunks, to bound staging memory. */
#define SINGLE_GROUP_CHUNKS 2u
/* Limit for any group: without staging, the only concern is that a submit should not occupy a
 * device for long. */
#define GROUP_ELEMS_MAX ((uint64_t)GX_CHUNK_ELEMS * 256)

/* A pipeline, and more sets and queues in it, are chosen only if predicted to be this much faster:
 * the prediction may be off, and threads that wait for each other suffer first on a busy machine.
 */
#define PIPE_GAIN 0.95
#define SETS_GAIN 0.97
/* The size of pieces is a multiple of this if the chunk allows. */
#define PIECE_ALIGN 256u
/* From this many groups, the downloads of a pipeline get their own queue. */
#define MANY_GROUPS 8u
/* If no size of pieces is requested, a pipeline may use smaller ones, which fill it sooner; at
 * least this. */
#define PIPE_PIECE_MIN ((uint64_t)65536)

#define SMALLEST_BUCKET 4096u

size_t gx__bucket(size_t bytes)
{
    size_t size = SMALLEST_BUCKET;
    if (!bytes)
        return 0;
    while (size < bytes && size <= SIZE_MAX / 2)
        size *= 2;
    return size < bytes ? bytes : size;
}

static size_t align_up(size_t bytes)
{
    return (bytes + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- one job ---- */

static enum gx_operand_access access_of(const struct gx_plan *plan, const struct gx_piece *p, int i)
{
    const struct gx_place *o = &p->job->operand[i];
    if (i > p->job->operands || !gx__operand_bytes(p->job, i))
        return GX_OPERAND_NONE;
    if (o->buf)
        return GX_OPERAND_DIRECT;
    bool registered = plan->asked->resolved && plan->asked->resolved[p->index].registered >> i & 1;
    return registered && plan->path == GX_PATH_DEVICE_LOCAL &&
                   !(gx__piece_reduces(p) && i == GX_OUT) /* the host joins partial results */
               ? GX_OPERAND_REGISTERED
               : GX_OPERAND_STAGED;
}

/* The operand needs memory of the group in proportion to the piece. */
static bool takes_room(const struct gx_piece *p, int i)
{
    return p->access[i] > GX_OPERAND_DIRECT && !(p->job->one >> i & 1);
}

/* Elements of each piece, at most `most`. Pieces have equal sizes: a small last one would cost a
 * round trip and carry next to nothing. */
static uint64_t equal_piece(uint64_t n, uint64_t most, uint64_t unit)
{
    uint64_t pieces = (n + most - 1) / most, each = (n + pieces - 1) / pieces;
    uint64_t align = unit > 1 ? unit : PIECE_ALIGN;
    return least(most, (each + align - 1) / align * align);
}

/* The columns of a piece, unless memory is short: copies of narrower rows are slow. */
static uint64_t columns_of(const struct gx_plan *plan, const struct gx_piece *p)
{
    uint64_t wide = plan->facts->row_bytes / p->job->element[GX_A];
    bool registered =
        p->access[GX_OUT] == GX_OPERAND_REGISTERED || p->access[GX_A] == GX_OPERAND_REGISTERED;
    return registered && wide > GX_PIECE_COLUMNS && wide * p->unit <= WIDE_ELEMS ? wide
                                                                                 : GX_PIECE_COLUMNS;
}

/* Most elements of a piece that needs memory of its group: whole units. */
static uint64_t chunk_of(const struct gx_plan *plan, const struct gx_piece *p, uint64_t unit)
{
    uint64_t chunk = plan->chunk;
    if (p->unit && chunk >= PIPE_PIECE_MIN && chunk < columns_of(plan, p) * unit)
        chunk = columns_of(plan, p) * unit;
    chunk = least(p->n, chunk) / unit * unit;
    return chunk ? chunk : unit;
}

/* Kernels take whole matrices, so where the piece is not all columns of the job, those of buffers
 * are copied too; and the host copies rows that are too narrow for the device. */
static void copy_columns(const struct gx_plan *plan, struct gx_piece *p)
{
    for (int i = GX_OUT; i <= GX_A; i++) {
        bool narrow = p->n / p->unit * p->job->element[i] < plan->facts->row_bytes;
        if (p->access[i] == GX_OPERAND_DIRECT)
            p->access[i] = GX_OPERAND_COPIED;
        else if (p->access[i] == GX_OPERAND_REGISTERED && narrow)
            p->access[i] = GX_OPERAND_STAGED;
    }
}

/* Elements of the pieces. direct: none of it needs memory of the group. */
static void cut(const struct gx_plan *plan, struct gx_piece *p, bool direct)
{
    const struct gx_task *job = p->job;
    uint64_t most = gx__dispatch_most(plan->facts, job), unit = job->unit;
    p->n = least(job->n, p->unit ? most : most * GX_GROUP_DISPATCHES);
    uint64_t chunk = unit < job->n ? chunk_of(plan, p, unit) : job->n;
    if (p->unit && p->n < job->n)
        direct = false;
    if (!direct && unit < job->n && job->n > chunk)
        p->n = equal_piece(job->n, chunk, unit);
    if (p->unit && p->n < job->n)
        copy_columns(plan, p);
    p->step = p->n ? least(p->n, most) : 1;
}

/* The first piece of a job, as large as possible. *before: its operands are checked in a separate
 * pass first, because the job cannot be undone: a kernel overwrites them, or the first piece is
 * copied out before the last one is checked. */
static void first_piece(const struct gx_plan *plan, size_t index, struct gx_piece *p, bool *before)
{
    const struct gx_task *job = &plan->jobs[index];
    bool direct = true;
    p->job = job;
    p->index = index;
    bool replaces = gx__task_in_place(job);
    p->first = 0;
    for (int i = 0; i < GX_OPERANDS; i++) {
        p->access[i] = access_of(plan, p, i);
        direct &= !takes_room(p, i);
    }
    /* Downloads do not wait for the check of earlier pieces; host copies do. */
    if (replaces && p->access[GX_OUT] == GX_OPERAND_REGISTERED)
        p->access[GX_OUT] = GX_OPERAND_STAGED;
    p->unit = gx__operand_matrix(job, GX_OUT).stride ? job->unit : 0;
    cut(plan, p, direct);
    p->check = job->check;
    *before = p->check && replaces && (p->access[GX_OUT] == GX_OPERAND_DIRECT || p->n < job->n);
    p->check = p->check && !*before;
}

/* ---- host memory that pieces share ---- */

static void find_ranges(struct gx_piece *p)
{
    for (int i = 0; i < GX_OPERANDS; i++) {
        const struct gx_place *o = &p->job->operand[i];
        p->from[i] = p->to[i] = 0;
        if (p->access[i] < GX_OPERAND_STAGED || o->buf)
            continue;
        p->from[i] = (uintptr_t)o->host + gx__piece_offset(p, i);
        p->to[i] = p->from[i] + gx__piece_span(p, i);
    }
}

static bool overlap(const struct gx_piece *x, int i, const struct gx_piece *y, int k)
{
    return x->from[i] < y->to[k] && y->from[k] < x->to[i];
}

/* Staged inputs are read before anything of the group is written. Groups are written in order, the
 * pieces of a group in any order: several threads copy, and the device downloads. A download
 * happens before it is known whether an earlier piece is refused, which must keep its inputs. */
bool gx__plan_conflict(const struct gx_piece *earlier, const struct gx_piece *later,
                       bool same_group)
{
    bool downloads = later->access[GX_OUT] == GX_OPERAND_REGISTERED;
    if (later->unit && earlier->job == later->job) /* other columns of the same matrix */
        return false;
    for (int i = GX_A; i < GX_OPERANDS; i++) {
        if (overlap(earlier, GX_OUT, later, i))
            return true;
        if (downloads && overlap(earlier, i, later, GX_OUT))
            return true;
    }
    /* pieces of a reduction share out, to which the host adds them in order */
    return (downloads || same_group) && earlier->job != later->job &&
           overlap(earlier, GX_OUT, later, GX_OUT);
}

bool gx__group_waits(const struct gx_group *group, const struct gx_group *earlier)
{
    for (size_t e = 0; e < earlier->count; e++)
        for (size_t k = 0; k < group->count; k++)
            if (gx__plan_conflict(&earlier->pieces[e], &group->pieces[k], false))
                return true;
    return false;
}

/* ---- groups ---- */

static uint64_t staged(const struct gx_piece *p)
{
    for (int i = 0; i < GX_OPERANDS; i++)
        if (takes_room(p, i))
            return p->n;
    return 0;
}

static bool joins(const struct gx_plan *plan, const struct gx_group *group,
                  const struct gx_piece *p)
{
    if (plan->mode == GX_MODE_SEQUENTIAL || group->staged + staged(p) > plan->group_elems ||
        group->elements + p->n > GROUP_ELEMS_MAX || (p->check && plan->group_elems == 1) ||
        group->dispatches + gx__piece_dispatches(p) > GX_GROUP_DISPATCHES)
        return false;
    /* most pieces are far away, and need not be compared with each */
    bool near = p->access[GX_OUT] == GX_OPERAND_REGISTERED;
    for (int i = 0; i < GX_OPERANDS; i++)
        near |= p->from[i] < group->writes_to && group->writes_from < p->to[i];
    for (size_t k = 0; k < group->count && near; k++)
        if (gx__plan_conflict(&group->pieces[k], p, true))
            return false;
    return true;
}

/* Appends the piece. Until lay_out, offsets are relative to their zone, and the zones are counted
 * in `in` (registered inputs), `bad_words` (staged inputs), `end` (staged outputs) and `bytes`
 * (registered outputs). */
static void add(struct gx_group *group, struct gx_piece *p)
{
    for (int i = 0; i < GX_OPERANDS; i++) {
        bool staged = p->access[i] == GX_OPERAND_STAGED;
        size_t *zone = i != GX_OUT ? staged ? &group->bad_words : &group->in
                       : staged    ? &group->end
                                   : &group->bytes;
        if (p->access[i] < GX_OPERAND_STAGED)
            continue;
        p->offset[i] = *zone;
        *zone += align_up(gx__piece_bytes(p, i));
    }
    if (p->to[GX_OUT]) {
        group->writes_from =
            p->from[GX_OUT] < group->writes_from ? p->from[GX_OUT] : group->writes_from;
        group->writes_to = p->to[GX_OUT] > group->writes_to ? p->to[GX_OUT] : group->writes_to;
    }
    p->bad_word = (uint32_t)(group->out / GX_BIND_ALIGN);
    if (p->check)
        group->out += gx__piece_dispatches(p) * (size_t)GX_BIND_ALIGN;
    group->dispatches += gx__piece_dispatches(p);
    group->elements += p->n;
    group->staged += staged(p);
    group->count++;
}

static void lay_out(struct gx_group *group)
{
    size_t in = group->in, bad_words = in + group->bad_words, out = bad_words + group->out,
           end = out + group->end;
    for (size_t k = 0; k < group->count; k++) {
        struct gx_piece *p = &group->pieces[k];
        for (int i = 0; i < GX_OPERANDS; i++) {
            bool staged = p->access[i] == GX_OPERAND_STAGED;
            p->offset[i] += i != GX_OUT ? staged ? in : 0 : staged ? out : end;
        }
    }
    group->bad_words = bad_words;
    group->out = out;
    group->end = end;
    group->bytes += end;
}

static void clear(struct gx_group *group)
{
    group->count = group->elements = group->staged = group->dispatches = 0;
    group->in = group->bad_words = group->out = group->end = group->bytes = 0;
    group->writes_from = UINTPTR_MAX;
    group->writes_to = 0;
    group->drain = false;
}

/* Skips jobs that have nothing to do; false: there are no more. */
static bool more(const struct gx_plan *plan, struct gx_cursor *cursor)
{
    while (cursor->job < plan->count && plan->jobs[cursor->job].empty)
        cursor->job++;
    return cursor->job < plan->count;
}

bool gx__plan_next(const struct gx_plan *plan, struct gx_cursor *cursor, struct gx_group *group)
{
    if (!more(plan, cursor))
        return false;
    clear(group);
    while (group->count < GX_GROUP_DISPATCHES && more(plan, cursor)) {
        struct gx_piece *p = &group->pieces[group->count];
        bool before;
        first_piece(plan, cursor->job, p, &before);
        p->first = cursor->first;
        p->n = least(p->n, p->job->n - p->first);
        p->last = p->first + p->n == p->job->n;
        find_ranges(p);
        before = before && !p->first;
        if (group->count && (before || !joins(plan, group, p)))
            break;
        group->drain |= before;
        add(group, p);
        cursor->first = p->last ? 0 : cursor->first + p->n;
        cursor->job += p->last;
    }
    lay_out(group);
    return true;
}

void gx__plan_check(const struct gx_plan *plan, const struct gx_task *job, int operand,
                    struct gx_task *check, struct gx_plan *pass)
{
    *check = (struct gx_task){.op = GX_OP_CHECK,
                              .field = job->field,
                              .n = gx__operand_is_one(job, operand) ? 1 : job->n,
                              .a = job->operand[operand]};
    gx__task_complete(check);
    check->element[GX_OUT] = 0; /* it has no result */
    *pass = *plan;
    pass->jobs = check;
    pass->count = 1;
}

/* Copies get separate commands only in a pipeline, and only on separate queues: a download without
 * its own queue goes with the kernels, or it would delay the uploads behind it. */
uint32_t gx__group_queues(const struct gx_group *group, uint32_t copy_queues)
{
    uint32_t own = GX_QUEUE_BIT(GX_QUEUE_COMPUTE);
    if (group->out)
        own |= copy_queues & GX_QUEUE_BIT(GX_QUEUE_UPLOAD);
    if (group->bytes > group->bad_words)
        own |= copy_queues & GX_QUEUE_BIT(GX_QUEUE_DOWNLOAD);
    return own;
}

/* ---- memory ---- */

static void raise_to(size_t *most, size_t bytes)
{
    *most = *most < bytes ? bytes : *most;
}

static void count_group(struct gx_plan *plan, const struct gx_group *g)
{
    if (plan->path == GX_PATH_DEVICE_LOCAL) {
        raise_to(&plan->set.up, g->out - g->in);
        raise_to(&plan->set.down, g->end - g->bad_words);
        plan->bytes_up += g->out;
        plan->bytes_down += g->bytes - g->bad_words;
    }
    raise_to(&plan->set.device, g->bytes);
    plan->bytes_staged += (g->bad_words - g->in) + (g->end - g->out);
    for (size_t k = 0; k < g->count && g->bytes > g->out - g->bad_words; k++)
        plan->piece = g->pieces[k].n > plan->piece ? g->pieces[k].n : plan->piece;
    plan->groups++;
    plan->submits += (uint64_t)__builtin_popcount(gx__group_queues(g, plan->copy_queues));
    plan->dispatches += g->dispatches;
}

/* Memory for the checking pass of an in-place job. */
static void count_check(struct gx_plan *plan, const struct gx_piece *p)
{
    uint64_t most = least(p->job->n, plan->facts->dispatch_elems * GX_GROUP_DISPATCHES);
    uint64_t step = least(most, plan->facts->dispatch_elems);
    size_t bad_words = step ? (size_t)((most + step - 1) / step) * GX_BIND_ALIGN : 0;
    if (plan->path == GX_PATH_DEVICE_LOCAL) {
        raise_to(&plan->set.up, bad_words);
        raise_to(&plan->set.down, bad_words);
    }
    raise_to(&plan->set.device, bad_words);
}

/* Scratch of the dispatches of a piece. Those between the first and the last of a job are like the
 * first. */
static void count_scratch(struct gx_plan *plan, const struct gx_piece *p)
{
    struct gx_device *device = plan->asked->device;
    if (device && (!p->first || p->last))
        raise_to(
            &plan->set.scratch,
            gx__dispatch_scratch(device, &plan->asked->resolved[p->index].kernel, p->n, p->step));
}

/* Sizes and totals of the plan with its current choices. */
static void measure(struct gx_plan *plan)
{
    struct gx_cursor cursor = {0};
    struct gx_group group;
    plan->set = (struct gx_set_bytes){0};
    plan->groups = plan->submits = plan->dispatches = plan->piece = 0;
    plan->bytes_up = plan->bytes_down = plan->bytes_staged = 0;
    while (gx__plan_next(plan, &cursor, &group)) {
        count_group(plan, &group);
        if (group.drain)
            count_check(plan, &group.pieces[0]);
        for (size_t k = 0; k < group.count; k++)
            count_scratch(plan, &group.pieces[k]);
    }
    struct gx_set_bytes *set = &plan->set;
    size_t *results = plan->path == GX_PATH_DEVICE_LOCAL ? &set->down : &set->device;
    if (*results)
        raise_to(results, GX_LOOK_ELEMS * GX_LIMBS_MAX * sizeof(uint64_t));
    if (plan->groups && plan->sets > plan->groups && plan->sets > plan->asked->sets)
        plan->sets = plan->groups > plan->asked->sets ? (uint32_t)plan->groups : plan->asked->sets;
    plan->memory = plan->sets * (gx__bucket(set->up) + gx__bucket(set->device) +
                                 gx__bucket(set->down) + gx__bucket(set->scratch));
}

static void set_chunk(struct gx_plan *plan, uint64_t chunk)
{
    plan->chunk = chunk;
    plan->group_elems = plan->mode == GX_MODE_SINGLE_SUBMIT
                            ? chunk * SINGLE_GROUP_CHUNKS
                            : least(chunk, plan->group_times * PIPE_GROUP_ELEMS);
}

static uint64_t largest(const struct gx_task *jobs, size_t count)
{
    uint64_t most = 1;
    for (size_t i = 0; i < count; i++)
        most = jobs[i].n > most ? jobs[i].n : most;
    return most;
}

/* First fewer sets, down to two; then smaller pieces; finally one set. */
static gx_status fit(struct gx_plan *plan)
{
    measure(plan);
    if (!plan->asked->memory || plan->memory <= plan->asked->memory)
        return GX_OK;
    uint64_t most = largest(plan->jobs, plan->count);
    if (plan->chunk > most)
        set_chunk(plan, most);
    while (plan->memory > plan->asked->memory) {
        if (plan->sets > 2)
            plan->sets--;
        else if (plan->chunk > 1 || plan->group_elems > 1)
            set_chunk(plan, plan->chunk > 1 ? plan->chunk / 2 : 1);
        else if (plan->sets > 1)
            plan->sets = 1;
        else
            return GX_ERR_OUT_OF_DEVICE_MEMORY;
        if (plan->chunk == 1)
            plan->group_elems = 1;
        measure(plan);
    }
    return GX_OK;
}

/* ---- choosing ---- */

/* Columns of buffers that one dispatch does not take are copied. */
static bool needs_staging(const struct gx_plan *plan, const struct gx_task *job)
{
    if (job->n > gx__dispatch_most(plan->facts, job) && gx__operand_matrix(job, GX_OUT).stride)
        return true;
    for (int i = 0; i <= job->operands && !job->empty; i++)
        if (job->operand[i].host)
            return true;
    return false;
}

/* For so little data two copies cost more than they save. Working that out would take a tenth of
 * the time of the job. */
#define SMALL_BYTES 65536u
static bool is_small(const struct gx_plan *plan)
{
    const struct gx_task *job = &plan->jobs[0];
    return plan->count == 1 && gx__operand_bytes(job, GX_A) <= SMALL_BYTES;
}

/* The paths to compare, the cheaper to set up first; one if there is no choice. */
static size_t paths(const struct gx_plan *plan, gx_path tried[2])
{
    const struct gx_device_facts *facts = plan->facts;
    const uint32_t staged =
        GX_MEM_BIT(GX_MEM_DEVICE) | GX_MEM_BIT(GX_MEM_UPLOAD) | GX_MEM_BIT(GX_MEM_READBACK);
    bool any = false;
    for (size_t i = 0; i < plan->count && !any; i++)
        any = needs_staging(plan, &plan->jobs[i]);
    tried[0] = GX_PATH_HOST_VISIBLE;
    tried[1] = GX_PATH_DEVICE_LOCAL;
    if (!(facts->mem_kinds & GX_MEM_BIT(GX_MEM_SHARED))) /* even if only bad words are needed */
        tried[0] = GX_PATH_DEVICE_LOCAL;
    else if (!any)
        tried[0] = GX_PATH_DIRECT;
    else if (plan->asked->path != GX_PATH_AUTO)
        tried[0] = plan->asked->path;
    else if ((facts->mem_kinds & staged) != staged)
        tried[0] = GX_PATH_HOST_VISIBLE;
    else if (facts->speed[GX_MEM_SHARED].host_write > 0 &&
             facts->speed[GX_MEM_UPLOAD].host_write > 0)
        return is_small(plan) ? 1 : 2;
    else if (largest(plan->jobs, plan->count) >= DEVICE_LOCAL_ELEMS)
        tried[0] = GX_PATH_DEVICE_LOCAL;
    return 1;
}

static uint64_t full_chunk(const struct gx_plan *plan)
{
    return plan->asked->chunk_elems ? plan->asked->chunk_elems : GX_CHUNK_ELEMS;
}

struct choice {
    gx_path path;
    gx_mode mode;
    uint32_t sets, copy_queues, group_times;
    uint64_t chunk;
    double cost;
};

static void try_plan(struct gx_plan *plan, const struct choice *choice)
{
    plan->path = choice->path;
    plan->mode = choice->mode;
    plan->sets = choice->sets;
    plan->copy_queues = choice->copy_queues;
    plan->group_times = choice->group_times;
    set_chunk(plan, choice->chunk);
}

/* Whether all modes would run the batch in the same way. */
static bool has_one_way(const struct gx_plan *plan)
{
    uint64_t chunk = plan->asked->chunk_elems ? plan->asked->chunk_elems : PIPE_PIECE_MIN;
    uint64_t most = least(chunk, plan->facts->dispatch_elems * GX_GROUP_DISPATCHES);
    return plan->count <= 1 && !plan->asked->stream && (!plan->count || plan->jobs[0].n <= most);
}

/* best: for each mode. */
static void consider(struct choice choice, const struct gx_variant *variant, struct choice *best)
{
    double gain = choice.mode == GX_MODE_PIPELINED ? SETS_GAIN : 1;
    choice.sets = variant->sets;
    choice.copy_queues = variant->copy_queues;
    choice.cost = variant->ns;
    if (!best[choice.mode].sets || choice.cost < best[choice.mode].cost * gain)
        best[choice.mode] = choice;
}

static void consider_one(struct gx_plan *plan, struct choice choice, struct choice *best)
{
    struct gx_variant variant = {.sets = 1};
    try_plan(plan, &choice);
    gx__plan_costs(plan, &variant, 1);
    consider(choice, &variant, best);
}

/* A pipeline has copies and kernels on one queue, or uploads on their own queue, or downloads as
 * well. Each further queue overlaps more work, needs more sets, and costs a submit and a wait. For
 * few groups a download queue does not pay (measured on an H200). Returns the number of groups
 * simulated. */
static uint64_t consider_queues(struct gx_plan *plan, struct choice choice, struct choice *best)
{
    const uint32_t up = GX_QUEUE_BIT(GX_QUEUE_UPLOAD), down = GX_QUEUE_BIT(GX_QUEUE_DOWNLOAD);
    uint32_t own = choice.path == GX_PATH_DEVICE_LOCAL ? plan->facts->queues & (up | down) : 0;
    struct gx_variant variants[GX_VARIANTS_MAX] = {
        {.sets = 2}, {.sets = 3}, {.sets = 3, .copy_queues = up}, {.sets = 4, .copy_queues = own}};
    try_plan(plan, &choice);
    uint64_t groups = gx__plan_costs(plan, variants, own & up ? GX_VARIANTS_MAX : 2);
    consider(choice, &variants[0], best);
    if (groups > 2)
        consider(choice, &variants[1], best);
    if (groups > 1 && own & up)
        consider(choice, &variants[own & down && groups >= MANY_GROUPS ? 3 : 2], best);
    return groups;
}

/* Whether some neighbouring jobs would share a group of so many elements. */
static bool some_fit(const struct gx_plan *plan, uint64_t elements)
{
    for (size_t i = 0; i + 1 < plan->count; i++)
        if (plan->jobs[i].n + plan->jobs[i + 1].n <= elements)
            return true;
    return false;
}

static void consider_pipes(struct gx_plan *plan, gx_path path, struct choice *best)
{
    struct choice choice = {
        .path = path, .mode = GX_MODE_PIPELINED, .group_times = 1, .chunk = full_chunk(plan)};
    uint64_t most = largest(plan->jobs, plan->count);
    uint64_t groups = consider_queues(plan, choice, best);
    while (groups > 2 && choice.group_times < PIPE_GROUP_TIMES) {
        choice.group_times *= 2;
        if (some_fit(plan, (uint64_t)choice.group_times * PIPE_GROUP_ELEMS))
            groups = consider_queues(plan, choice, best);
    }
    choice.group_times = 1;
    while (!plan->asked->chunk_elems && choice.chunk / 2 >= PIPE_PIECE_MIN) {
        choice.chunk /= 2;
        if (choice.chunk < most)
            consider_queues(plan, choice, best);
    }
}

/* Compares all modes, or evaluates the requested one, on each path. */
static void choose_mode(struct gx_plan *plan, gx_mode asked, const gx_path *tried, size_t count)
{
    struct choice best[GX_MODE_PIPELINED + 1] = {0};
    for (gx_mode mode = GX_MODE_SEQUENTIAL; mode <= GX_MODE_PIPELINED; mode++) {
        struct choice one = {.mode = mode, .sets = 1, .group_times = 1, .chunk = full_chunk(plan)};
        if (asked && mode != asked)
            continue;
        for (size_t p = 0; p < count; p++) {
            one.path = tried[p];
            if (mode != GX_MODE_PIPELINED)
                consider_one(plan, one, best);
            else
                consider_pipes(plan, tried[p], best);
        }
        plan->predicted[mode] = best[mode].cost;
    }
    if (!asked) {
        asked = best[GX_MODE_SINGLE_SUBMIT].cost < best[GX_MODE_SEQUENTIAL].cost
                    ? GX_MODE_SINGLE_SUBMIT
                    : GX_MODE_SEQUENTIAL;
        if (best[GX_MODE_PIPELINED].cost < best[asked].cost * PIPE_GAIN)
            asked = GX_MODE_PIPELINED;
    }
    try_plan(plan, &best[asked]);
}

static void choose(struct gx_plan *plan)
{
    struct choice one = {.sets = 1, .group_times = 1, .chunk = full_chunk(plan)};
    gx_path tried[2];
    size_t count = paths(plan, tried);
    gx_mode asked = plan->asked->mode;
    bool alone = has_one_way(plan);
    if (asked == GX_MODE_AUTO && alone)
        asked = GX_MODE_SEQUENTIAL;
    if (count == 1 && alone) {
        one.path = tried[0];
        one.mode = asked;
        one.sets = asked == GX_MODE_PIPELINED ? 2 : 1;
        try_plan(plan, &one);
        return;
    }
    choose_mode(plan, asked, tried, count);
}

gx_status gx__plan_batch(const struct gx_task *jobs, size_t count,
                         const struct gx_device_facts *facts, const struct gx_plan_request *asked,
                         struct gx_plan *plan)
{
    *plan = (struct gx_plan){.jobs = jobs, .count = count, .facts = facts, .asked = asked};
    choose(plan);
    if (plan->sets < asked->sets)
        plan->sets = asked->sets;
    return fit(plan);
}

void gx__plan_add(struct gx_plan *all, const struct gx_plan *one, uint64_t times)
{
    struct gx_plan before = *all;
    if (!all->groups)
        *all = *one;
    all->groups = before.groups + one->groups * times;
    all->submits = before.submits + one->submits * times;
    all->dispatches = before.dispatches + one->dispatches * times;
    all->bytes_up = before.bytes_up + one->bytes_up * times;
    all->bytes_down = before.bytes_down + one->bytes_down * times;
    all->bytes_staged = before.bytes_staged + one->bytes_staged * times;
    all->memory = before.memory > one->memory ? before.memory : one->memory;
    for (gx_mode m = GX_MODE_SEQUENTIAL; m <= GX_MODE_PIPELINED; m++) {
        double ns = one->predicted[m] > 0 ? one->predicted[m] : one->predicted[one->mode];
        all->predicted[m] = before.predicted[m] + ns * (double)times;
    }
}
