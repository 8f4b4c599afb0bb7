/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of modes.h. Trials: a shape that keeps coming has each way tried a few times in a
 * row, of which the first does not count, as it finds memory and commands cold; and again once in
 * a long while, for machines change. Which ways are worth it is the plan's business.
 */
#include "exec/modes.h"

#include <string.h>

/* Batches of a shape before the first trial: what comes now and then is not worth one. */
#define FIRST_TURN 16u
/* Calls of a trial. */
#define TRIAL_CALLS (GX_MODE_ENOUGH + 1)
/* From one trial of a way to the next: one call in 64 at most tries one of the three ways that
 * are not chosen. */
#define LATER_TURNS (64u * 3u * TRIAL_CALLS)
/* What was measured so long ago counts no more, or a way that was measured while the machine was
 * busy with something else would be out for ever. */
#define FADE_TURNS (8u * LATER_TURNS)

void gx__modes_init(struct gx_modes *modes)
{
    memset(modes, 0, sizeof *modes);
    pthread_mutex_init(&modes->lock, NULL);
}

void gx__modes_close(struct gx_modes *modes)
{
    pthread_mutex_destroy(&modes->lock);
}

/* ---- shapes ---- */

/* Twice the logarithm, rounded down: 2, 3, 4, 6, 8, 12, ... each begin a step. */
static uint64_t step_of(uint64_t n)
{
    if (n < 2)
        return n;
    unsigned bits = 63u - (unsigned)__builtin_clzll(n);
    return 2 * bits + (n >> (bits - 1) & 1);
}

enum { STAGED = 1, REGISTERED = 2, RESIDENT = 4 };

/* Bytes that the job reads and writes, and where they are. */
static uint64_t look_at(const gx_job *job, const struct gx_asked *asked, unsigned *where)
{
    uint64_t bytes = 0;
    for (int i = 0; i <= (int)gx__op_operands(job->op); i++) {
        const gx_operand *o = gx__operand(job, i);
        size_t size = gx__operand_bytes(job, i);
        bool registered =
            !o->buf && asked->registered && asked->registered(asked->user, o->host, size);
        bytes += size;
        *where |= o->buf ? RESIDENT : registered ? REGISTERED : STAGED;
    }
    return bytes;
}

uint64_t gx__shape_of(const gx_job *jobs, size_t count, const struct gx_asked *asked)
{
    uint64_t bytes = 0;
    unsigned where = 0, products = 0;
    if (asked->stream) /* nobody can tell what one batch of a stream takes */
        return 0;
    for (size_t i = 0; i < count; i++) {
        unsigned each = jobs[i].n ? gx__op_products(jobs[i].op) : 0;
        products = each > products ? each : products;
        bytes += jobs[i].n ? look_at(&jobs[i], asked, &where) : 0;
    }
    uint64_t key = step_of(bytes);
    key = key << 8 | step_of(count);
    key = key << 8 | step_of(asked->chunk_elems);
    key = key << 8 | asked->sets;
    key = key << 4 | products;
    key = key << 4 | where;
    key = key << 4 | asked->path;
    return key << 1 | 1;
}

/* Under the lock; NULL: it is not there. */
static struct gx_shape *find(struct gx_modes *modes, uint64_t key)
{
    for (size_t i = 0; i < GX_SHAPES && key; i++)
        if (modes->shape[i].key == key)
            return &modes->shape[i];
    return NULL;
}

static struct gx_shape *find_or_make(struct gx_modes *modes, uint64_t key)
{
    struct gx_shape *shape = find(modes, key);
    if (shape)
        return shape;
    shape = &modes->shape[0];
    for (size_t i = 1; i < GX_SHAPES; i++)
        if (modes->shape[i].used < shape->used)
            shape = &modes->shape[i];
    *shape = (struct gx_shape){.key = key};
    return shape;
}

/* ---- what is known ---- */

static bool is_due(const struct gx_shape *shape, enum gx_way way)
{
    const struct gx_seen *seen = &shape->way[way];
    if (shape->left)
        return shape->trial == way;
    if (shape->turns < FIRST_TURN)
        return false;
    return (!seen->median && !seen->turn) || shape->turns - seen->turn >= LATER_TURNS;
}

void gx__modes_known(struct gx_modes *modes, uint64_t key, gx_mode asked, struct gx_known *known)
{
    *known = (struct gx_known){0};
    pthread_mutex_lock(&modes->lock);
    const struct gx_shape *shape = find(modes, key);
    for (enum gx_way w = GX_WAY_SEQUENTIAL; shape && w < GX_WAYS; w++) {
        const struct gx_seen *seen = &shape->way[w];
        if (shape->turns - seen->turn < FADE_TURNS)
            known->factor[w] = seen->median / (double)GX_RATIO_ONE;
        known->due |= is_due(shape, w) ? 1u << w : 0;
    }
    known->settled = shape ? shape->settled[asked] : GX_WAY_NONE;
    pthread_mutex_unlock(&modes->lock);
}

/* ---- a batch ---- */

static void take_turn(struct gx_shape *shape, const struct gx_plan *plan)
{
    shape->turns++;
    if (!plan->trial) {
        shape->settled[plan->asked->mode] = plan->way;
        if (plan->estimate[shape->trial] > 0) /* found not to be worth it */
            shape->left = 0;
        return;
    }
    struct gx_seen *seen = &shape->way[plan->way];
    if (!shape->left || shape->trial != plan->way) {
        shape->trial = plan->way;
        shape->left = TRIAL_CALLS;
        seen->next = seen->count = 0; /* what is old counts until there is enough that is new */
    }
    shape->left--;
    seen->turn = shape->turns;
}

void gx__modes_start(struct gx_modes *modes, uint64_t key, const struct gx_plan *plan,
                     uint64_t now_ns, struct gx_lesson *lesson)
{
    pthread_mutex_lock(&modes->lock);
    *lesson = (struct gx_lesson){.open = true,
                                 .way = plan->way,
                                 .shape = key,
                                 .number = ++modes->started,
                                 .estimate_ns = (uint64_t)plan->estimate[plan->way],
                                 .start_ns = now_ns};
    bool alone = !modes->running++;
    if (key) {
        struct gx_shape *shape = find_or_make(modes, key);
        shape->used = modes->started;
        take_turn(shape, plan);
        lesson->counts = alone && shape->last == plan->way && lesson->estimate_ns;
        shape->last = plan->way;
    }
    pthread_mutex_unlock(&modes->lock);
}

void gx__modes_give_up(struct gx_modes *modes, uint64_t key, const struct gx_plan *plan)
{
    pthread_mutex_lock(&modes->lock);
    struct gx_shape *shape = find(modes, key);
    if (shape) {
        shape->way[plan->way].turn = ++shape->turns;
        shape->left = 0;
    }
    pthread_mutex_unlock(&modes->lock);
}

static uint32_t median_of(const uint32_t *values, uint32_t count)
{
    uint32_t sorted[GX_MODE_SAMPLES];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        for (; at && sorted[at - 1] > values[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = values[i];
    }
    return sorted[count / 2];
}

static void add(struct gx_seen *seen, uint64_t ns, uint64_t estimate_ns)
{
    unsigned __int128 ratio = (unsigned __int128)ns * GX_RATIO_ONE / estimate_ns;
    seen->ratio[seen->next] = ratio < UINT32_MAX ? ratio ? (uint32_t)ratio : 1 : UINT32_MAX;
    seen->next = (seen->next + 1) % GX_MODE_SAMPLES;
    seen->count += seen->count < GX_MODE_SAMPLES;
    if (seen->count >= GX_MODE_ENOUGH)
        seen->median = median_of(seen->ratio, seen->count);
}

void gx__modes_end(struct gx_modes *modes, struct gx_lesson *lesson, uint64_t now_ns, bool whole)
{
    lesson->open = false;
    pthread_mutex_lock(&modes->lock);
    modes->running--;
    struct gx_shape *shape = find(modes, lesson->shape);
    if (shape && whole && lesson->counts && modes->started == lesson->number) {
        struct gx_seen *seen = &shape->way[lesson->way];
        add(seen, now_ns - lesson->start_ns, lesson->estimate_ns);
        if (seen->median) /* else a trial is still wanted */
            seen->turn = shape->turns;
    }
    pthread_mutex_unlock(&modes->lock);
}
