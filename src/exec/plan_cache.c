/* SPDX-License-Identifier: Apache-2.0
 *
 * The last plans of an engine. The key of a batch has everything that its plan depends on, as words
 * that are compared exactly. If jobs share host memory, their grouping also depends on addresses,
 * so such batches are planned each time.
 */
#include <string.h>

#include "exec/plan.h"
#include "op/overlap.h"

void gx__plan_cache_init(struct gx_plan_cache *plans)
{
    memset(plans, 0, sizeof *plans);
    pthread_mutex_init(&plans->lock, NULL);
}

void gx__plan_cache_close(struct gx_plan_cache *plans)
{
    pthread_mutex_destroy(&plans->lock);
}

/* ---- keys ---- */

static uint64_t job_word(const struct gx_task *job, uint32_t registered)
{
    uint64_t word = (uint64_t)job->op << 16 | (uint64_t)job->field << 8 | registered << 4;
    word |= (job->trusted ? 2u : 0) | gx__task_in_place(job);
    for (int i = 0; i < GX_OPERANDS; i++) {
        const struct gx_place *o = &job->operand[i];
        word = word << 3 | (o->buf ? 4u : 0) | (o->host ? 2u : 0) | (job->broadcast >> i & 1);
    }
    return word;
}

/* False if the plan cannot be kept. */
static bool make_key(const struct gx_task *jobs, size_t count, const struct gx_plan_request *asked,
                     struct gx_plan_key *key)
{
    uint64_t *word = key->word;
    struct gx_extent room[GX_EXTENTS * GX_PLAN_JOBS];
    if (count > GX_PLAN_JOBS || !gx__jobs_apart(jobs, count, false, room))
        return false;
    *word++ = count;
    *word++ = (uint64_t)asked->path << 24 | (uint64_t)asked->mode << 16 |
              (uint64_t)asked->sets << 8 | asked->stream;
    *word++ = asked->chunk_elems;
    *word++ = asked->memory;
    for (size_t i = 0; i < count; i++) {
        *word++ = jobs[i].n;
        *word++ = job_word(&jobs[i], asked->resolved ? asked->resolved[i].registered : 0);
        *word++ = gx__task_word(&jobs[i]);
    }
    key->words = (size_t)(word - key->word);
    return true;
}

/* ---- the table ---- */

static bool find(struct gx_plan_cache *plans, const struct gx_plan_key *key, struct gx_plan *plan)
{
    bool found = false;
    pthread_mutex_lock(&plans->lock);
    for (size_t i = 0; i < GX_PLANS_KEPT && !found; i++) {
        const struct gx_plan_key *kept = &plans->kept[i].key;
        found = kept->words == key->words &&
                !memcmp(kept->word, key->word, key->words * sizeof *key->word);
        if (found) {
            plans->kept[i].used = ++plans->looked_up;
            *plan = plans->kept[i].plan;
        }
    }
    pthread_mutex_unlock(&plans->lock);
    return found;
}

/* Replaces the least recently used one. */
static void keep(struct gx_plan_cache *plans, const struct gx_plan_key *key,
                 const struct gx_plan *plan)
{
    size_t oldest = 0;
    pthread_mutex_lock(&plans->lock);
    for (size_t i = 1; i < GX_PLANS_KEPT; i++)
        if (plans->kept[i].used < plans->kept[oldest].used)
            oldest = i;
    plans->kept[oldest].used = ++plans->looked_up;
    plans->kept[oldest].key = *key;
    plans->kept[oldest].plan = *plan;
    pthread_mutex_unlock(&plans->lock);
}

gx_status gx__plan_cache_get(struct gx_plan_cache *plans, const struct gx_task *jobs, size_t count,
                             const struct gx_device_facts *facts,
                             const struct gx_plan_request *asked, struct gx_plan *plan)
{
    struct gx_plan_key key;
    bool has_key = make_key(jobs, count, asked, &key);
    if (has_key && find(plans, &key, plan)) {
        plan->jobs = jobs;
        plan->asked = asked;
        return GX_OK;
    }
    gx_status s = gx__plan_batch(jobs, count, facts, asked, plan);
    if (has_key && s == GX_OK)
        keep(plans, &key, plan);
    return s;
}
