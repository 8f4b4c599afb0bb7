/* SPDX-License-Identifier: Apache-2.0
 *
 * See compose.h. A batch goes to the engine whole. If one of its jobs must be composed, or the
 * engine has no memory for a transform among them, its jobs run one after the other, each in the
 * first of its ways for which there is memory.
 */
#include "compose/compose.h"

#include "base/float_env.h"
#include "base/log.h"
#include "compose/composition.h"
#include "exec/batch.h"

/* ---- the ways of a job ---- */

#define WAYS 3

typedef gx_status (*way_fn)(struct gx_composition *c);

static gx_status run_plain(struct gx_composition *c)
{
    gx_status s = gx__composition_tasks(c, c->job, 1, 1);
    c->wrote = c->outcome->groups;
    return s;
}

/* In the order in which they are tried. */
static size_t ways_of(const struct gx_engine *engine, const struct gx_task *job, way_fn way[WAYS])
{
    const bool commands = !engine->device.ops->run, six_step = gx__six_step_possible(job);
    const bool too_long = commands && six_step && job->unit > engine->device.facts.dispatch_elems;
    size_t count = 0;
    if (job->op == GX_MSM && commands) {
        way[count++] = gx__compose_msm;
        return count;
    }
    if (commands && !too_long && gx__upload_wanted(engine, job))
        way[count++] = gx__compose_upload;
    if (!too_long)
        way[count++] = run_plain;
    if (six_step)
        way[count++] = gx__compose_six_step;
    return count;
}

static bool is_composed(const struct gx_engine *engine, const struct gx_task *job)
{
    way_fn way[WAYS];
    ways_of(engine, job, way);
    return !job->empty && way[0] != run_plain;
}

/* A transform that is alone in its job and did not fit by itself does not fit with staging either.
 */
static bool is_in_vain(const struct gx_task *job, way_fn way, size_t before, gx_status s)
{
    return way == run_plain && before && gx__out_of_memory(s) && job->unit == job->n;
}

/* plain: the job itself may be tried; it has not been. */
static gx_status compose(struct gx_engine *engine, const struct gx_batch *batch, size_t i,
                         bool plain, struct gx_outcome *r, struct gx_error *error)
{
    const struct gx_task *job = &batch->jobs[i];
    const uint64_t start = gx__engine_now(engine);
    const gx_reason reason = r->reason;
    way_fn way[WAYS];
    size_t count = ways_of(engine, job, way);
    gx_status s = GX_ERR_OUT_OF_DEVICE_MEMORY;
    for (size_t k = 0; k < count; k++) {
        if (is_in_vain(job, way[k], k, s) || (way[k] == run_plain && !plain))
            continue;
        struct gx_composition c = {.engine = engine,
                                   .job = job,
                                   .caller = batch,
                                   .outcome = r,
                                   .path = batch->path,
                                   .mode = batch->mode,
                                   .lacking = -1};
        gx__outcome_clear(r, reason);
        s = way[k](&c);
        *error = c.error;
        if (way[k] != run_plain)
            r->total_ns = gx__engine_now(engine) - start;
        if (s == GX_OK && batch->plan)
            gx__plan_add(batch->plan, &c.plan, 1);
        if (!gx__out_of_memory(s) && (s != GX_ERR_UNSUPPORTED || way[k] != gx__compose_upload))
            break;
        if (!gx__composition_repeatable(&c))
            break;
    }
    return s;
}

/* ---- running ---- */

/* One job of a batch that has begun. */
static void run_job(struct gx_engine *engine, struct gx_batch *batch, size_t i, bool plain)
{
    const uint64_t start = gx__engine_now(engine);
    struct gx_outcome *r = gx__batch_report(batch, i);
    struct gx_float_env caller;
    struct gx_error error = {""};
    gx__float_env_default(&caller);
    gx_status s = compose(engine, batch, i, plain, r, &error);
    gx__float_env_restore(&caller);
    if (s == GX_OK) {
        gx__batch_job_done(engine, batch, i, (struct gx_times){start, gx__engine_now(engine)});
    } else if (s == GX_ERR_NOT_CANONICAL) {
        gx__batch_fail_element(batch, i, r->bad_index, r->bad_operand);
    } else {
        gx__batch_fail_device(engine, batch, i, s);
        if (error.text[0])
            batch->error = error;
    }
}

/* Whether some job must be composed. Otherwise the engine may still leave a transform to us. */
static bool begin(struct gx_engine *engine, struct gx_batch *batch)
{
    bool composed = false;
    for (size_t i = 0; i < batch->count; i++) {
        batch->attempt |= batch->jobs[i].op == GX_NTT;
        composed |= batch->jobs[i].op >= GX_NTT && is_composed(engine, &batch->jobs[i]);
    }
    return composed;
}

/* The engine has left the batch, which has begun, to us: from the first job on, or only the job
 * batch->next, for which it lacks memory. */
static void go_on(struct gx_engine *engine, struct gx_batch *batch)
{
    if (engine->device.ops->run) {
        do
            run_job(engine, batch, batch->next++, false);
        while (gx__direct_run(engine, batch) == GX_PENDING);
        return;
    }
    for (size_t i = 0; i < batch->count && gx__batch_goes_on(batch, i); i++)
        if (!batch->jobs[i].empty)
            run_job(engine, batch, i, true);
    gx__batch_end(engine, batch);
}

void gx__compose_feed(struct gx_engine *engine, struct gx_pipe *pipe, struct gx_batch *batch)
{
    bool left = true;
    if (begin(engine, batch))
        gx__batch_begin(engine, batch);
    else if (pipe)
        left = !gx__pipe_feed(pipe, batch);
    else
        left = gx__engine_run(engine, batch) == GX_PENDING;
    if (left && pipe)
        gx__pipe_drain(pipe);
    if (left)
        go_on(engine, batch);
}
