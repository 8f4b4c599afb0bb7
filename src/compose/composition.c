/* SPDX-License-Identifier: Apache-2.0
 *
 * See composition.h.
 */
#include "compose/composition.h"

#include "compose/compose.h"

/* ---- temporaries ---- */

static gx_status get(struct gx_composition *c, struct gx_temporary *t)
{
    struct gx_engine *engine = c->engine;
    gx_status s = GX_OK;
    if (c->caller->plan) {
        t->at =
            t->device ? gx__at_buffer((gx_buf *)GX_PLANNED, 0) : gx__at_host((void *)GX_PLANNED);
    } else if (!t->device) {
        t->at.host =
            gx__array_get(&engine->arrays, &engine->instance->config.allocator, 1, t->bytes);
        s = t->at.host ? GX_OK : GX_ERR_OUT_OF_MEMORY;
    } else if (t->kept) {
        s = gx__temporary_get(engine, t->bytes, &t->memory);
        t->at.buf = s == GX_OK ? t->memory->buf : NULL;
    } else {
        s = gx__buf_create(engine, t->bytes, 0, &t->at.buf);
    }
    return s;
}

static void put(struct gx_composition *c, struct gx_temporary *t)
{
    struct gx_engine *engine = c->engine;
    const bool real = !c->caller->plan;
    if (real && t->kept)
        gx__table_put(engine, t->memory);
    else if (real && t->device)
        gx__buf_destroy(&t->at.buf);
    else if (real)
        gx__array_put(&engine->arrays, &engine->instance->config.allocator, t->at.host);
    *t = (struct gx_temporary){0};
}

/* ---- one step ---- */

gx_status gx__composition_tasks(struct gx_composition *c, const struct gx_task *tasks, size_t count,
                                uint64_t times)
{
    struct gx_plan plan = {.count = 0};
    struct gx_batch batch = {.jobs = tasks,
                             .count = count,
                             .reports = c->outcome,
                             .one_report = true,
                             .path = c->path,
                             .mode = c->mode,
                             .plan = c->caller->plan ? &plan : NULL,
                             .uncounted = true,
                             .held = c->held,
                             .untimed = c->caller->untimed || !c->caller->reports};
    if (c->nested)
        gx__compose_feed(c->engine, c->pipe, &batch);
    else
        gx__pipe_feed(c->pipe, &batch);
    if (c->pipe) /* to its end; and what follows may need the memory */
        gx__pipe_drain(c->pipe);
    c->error = batch.error;
    if (batch.plan && batch.status == GX_OK)
        gx__plan_add(&c->plan, &plan, times);
    return batch.status;
}

/* Of a step that is planned, the first time stands for all. */
static gx_status do_step(struct gx_composition *c, const struct gx_part_step *step)
{
    gx_status s = GX_OK;
    c->time = 0;
    if (c->caller->plan)
        return step->tasks && step->times
                   ? gx__composition_tasks(c, c->tasks, step->tasks(c, c->tasks),
                                           step->times * c->rounds)
                   : GX_OK;
    for (; c->time < step->times && s == GX_OK; c->time++) {
        const uint32_t groups = c->outcome->groups;
        if (step->before)
            step->before(c);
        if (step->tasks)
            s = gx__composition_tasks(c, c->tasks, step->tasks(c, c->tasks), 1);
        c->wrote |= step->writes && c->outcome->groups != groups;
        if (s == GX_OK && step->after)
            s = step->after(c);
    }
    return s;
}

/* ---- all steps ---- */

/* Lowers the job, and gets the memory for that. */
static gx_status begin(struct gx_composition *c, gx_status (*lower)(struct gx_composition *c))
{
    size_t most = 1;
    c->steps = 0;
    c->rounds = 1;
    c->plan = (struct gx_plan){.count = 0};
    c->tasks = &c->task;
    c->lacking = -1;
    gx_status s = lower(c);
    for (size_t i = 0; i < c->steps; i++)
        most = c->step[i].together > most ? c->step[i].together : most;
    if (s == GX_OK && most > 1)
        c->tasks = gx__array_get(&c->engine->arrays, &c->engine->instance->config.allocator, most,
                                 sizeof *c->tasks);
    if (!c->tasks)
        s = GX_ERR_OUT_OF_MEMORY;
    for (int i = 0; i < GX_COMPOSITION_TEMPORARIES && s == GX_OK; i++) {
        s = c->temporary[i].bytes ? get(c, &c->temporary[i]) : GX_OK;
        c->lacking = s == GX_OK ? -1 : i;
    }
    return s;
}

static void end(struct gx_composition *c)
{
    for (int i = 0; i < GX_COMPOSITION_TEMPORARIES; i++)
        put(c, &c->temporary[i]);
    if (c->tasks != &c->task)
        gx__array_put(&c->engine->arrays, &c->engine->instance->config.allocator, c->tasks);
}

bool gx__composition_repeatable(const struct gx_composition *c)
{
    return !c->wrote || !gx__task_in_place(c->job);
}

gx_status gx__composition_run(struct gx_composition *c,
                              gx_status (*lower)(struct gx_composition *c),
                              bool (*less)(struct gx_composition *c))
{
    for (;;) {
        gx_status s = begin(c, lower);
        size_t rounds = c->caller->plan ? 1 : c->rounds;
        for (c->round = 0; c->round < rounds && s == GX_OK; c->round++)
            for (size_t i = 0; i < c->steps && s == GX_OK; i++)
                s = do_step(c, &c->step[i]);
        end(c);
        if (!gx__out_of_memory(s) || !gx__composition_repeatable(c) || !less || !less(c))
            return s;
        gx__outcome_clear(c->outcome, c->outcome->reason);
    }
}
