/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks of jobs, for tests of the layers below the API. Included by one file of a program.
 */
#ifndef GX_TESTS_TASK_H
#define GX_TESTS_TASK_H

#include <assert.h>
#include <stdatomic.h>

#include "api/resolve.h"

/* Those of so many jobs, unchecked; any thread. They are valid until about GXT_TASKS others were
 * asked for. */
#define GXT_TASKS 4096u
static inline const struct gx_task *gxt_tasks(const gx_job *jobs, size_t count)
{
    static struct gx_task all[GXT_TASKS];
    static _Atomic size_t used;
    size_t at;
    assert(count <= GXT_TASKS);
    do
        at = atomic_fetch_add(&used, count) % GXT_TASKS;
    while (at + count > GXT_TASKS);
    struct gx_task *tasks = all + at;
    for (size_t i = 0; i < count; i++)
        gx__resolve_sizes(&jobs[i], &tasks[i]);
    return tasks;
}

static inline const struct gx_task *gxt_task(const gx_job *job)
{
    return gxt_tasks(job, 1);
}

#endif
