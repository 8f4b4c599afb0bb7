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

/* A transform that is alone in its job and did not fit by itself does not fit with staging either.
 */
static bool is_in_vain(const struct gx_task *job, way_fn way, size_t before, gx_status s)
{
    return way == run_plain && before && gx__out_of_memory(s) && job->unit == job->n;
}

/* Whether the next way may be tried after this one. */
static bool may_go_on(const struct gx_composition *c, way_fn way, gx_status s)
{
    bool refused = s == GX_ERR_UNSUPPORTED && way == gx__compose_upload;
    return (gx__out_of_memory(s) || refused) && gx__composition_repeatable(c);
}

/* ---- running ---- */

static void end_job(const struct gx_composition *c, struct gx_batch *batch, size_t i, gx_status s,
                    struct gx_times time)
{
    if (s == GX_OK) {
        gx__batch_job_done(c->engine, batch, i, time);
    } else if (s == GX_ERR_NOT_CANONICAL) {
        gx__batch_fail_element(batch, i, c->outcome->bad_index, c->outcome->bad_operand);
    } else {
        gx__batch_fail_device(c->engine, batch, i, s);
        if (c->error.text[0])
            batch->error = c->error;
    }
}

/* One job of a batch that has begun. plain: the job itself may be tried; it has not been. */
static void run_job(struct gx_engine *engine, struct gx_pipe *pipe, struct gx_batch *batch,
                    size_t i, bool plain)
{
    const struct gx_task *job = &batch->jobs[i];
    const uint64_t start = gx__engine_now(engine);
    struct gx_outcome *r = gx__batch_report(batch, i);
    struct gx_composition c = {.engine = engine, .outcome = r};
    struct gx_float_env caller;
    way_fn way[WAYS];
    size_t count = ways_of(engine, job, way);
    gx_status s = GX_ERR_OUT_OF_DEVICE_MEMORY;
    gx__float_env_default(&caller);
    for (size_t k = 0; k < count; k++) {
        if (is_in_vain(job, way[k], k, s) || (way[k] == run_plain && !plain))
            continue;
        c = (struct gx_composition){.engine = engine,
                                    .pipe = pipe,
                                    .job = job,
                                    .caller = batch,
                                    .outcome = r,
                                    .path = batch->path,
                                    .mode = batch->mode,
                                    .lacking = -1};
        gx__outcome_clear(r, r->reason);
        s = way[k](&c);
        if (way[k] != run_plain)
            r->total_ns = gx__engine_now(engine) - start;
        if (s == GX_OK && batch->plan)
            gx__plan_add(batch->plan, &c.plan, 1);
        if (!may_go_on(&c, way[k], s))
            break;
    }
    gx__float_env_restore(&caller);
    end_job(&c, batch, i, s, (struct gx_times){start, gx__engine_now(engine)});
}

/* Whether some job must be composed. Otherwise the engine may still leave a transform to us. */
static bool begin(struct gx_engine *engine, struct gx_batch *batch)
{
    bool composed = false;
    way_fn way[WAYS];
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->jobs[i].op < GX_NTT)
            continue;
        batch->attempt |= batch->jobs[i].op == GX_NTT;
        ways_of(engine, &batch->jobs[i], way);
        composed |= !batch->jobs[i].empty && way[0] != run_plain;
    }
    return composed;
}

void gx__compose_feed(struct gx_engine *engine, struct gx_pipe *pipe, struct gx_batch *batch)
{
    struct gx_pipe *own = NULL;
    bool composed = begin(engine, batch), left = true;
    if (engine->device.ops->run) { /* which leaves only a job for which it lacks memory */
        while (gx__direct_run(engine, batch) == GX_PENDING)
            run_job(engine, NULL, batch, batch->next++, false);
        return;
    }
    gx_status s = pipe ? GX_OK : gx__pipe_open(engine, &own);
    pipe = own ? own : pipe;
    if (composed || s != GX_OK)
        gx__batch_begin(engine, batch);
    if (s != GX_OK)
        gx__batch_fail_device(engine, batch, 0, s);
    else if (composed || !gx__pipe_feed(pipe, batch))
        gx__pipe_drain(pipe);
    else
        left = false;
    for (size_t i = 0; left && i < batch->count && gx__batch_goes_on(batch, i); i++)
        if (!batch->jobs[i].empty)
            run_job(engine, pipe, batch, i, true);
    if (left)
        gx__batch_end(engine, batch);
    while (own && gx__pipe_step(own, true))
        ;
    gx__pipe_close(own);
}
