/* SPDX-License-Identifier: Apache-2.0
 *
 * The synthetic workload (workload.h). Uses tickets instead of calls, so that a slow device shows
 * as a queue rather than as a blocked thread.
 */
#include "workload.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/os.h"
#include "clock.h"
#include "jobs.h"
#include "report/text.h"

enum { SLOTS = 4, KINDS_MAX = 2048, FIELDS_MAX = 32, PAUSE_MS = 200 };

/* One job of the cycle. */
typedef struct kind {
    gx_op op;
    gx_field field;
    size_t n;
    job_params params;
    gx_job job; /* without its output */
} kind;

struct workload {
    gx_ctx *ctx;
    workload_opts opts;
    kind kinds[KINDS_MAX];
    size_t kind_count;
    char what[1024]; /* there is to do */
    job_arrays in[FIELDS_MAX];
    void *out[SLOTS];
    gx_ticket *tickets[SLOTS];
    pthread_t thread;

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wake;
    bool stopping;
    uint64_t submitted, failed;
    char last_error[sizeof((gx_report *)0)->message];
};

/* ---- what there is to do ---- */

/* Sizes change fastest, so that small and large jobs alternate. */
static void list_kinds(workload *w)
{
    for (gx_field f = 1; f < FIELDS_MAX && gx_field_get_info(f); f++)
        for (gx_op o = 1; gx_op_get_info(o); o++)
            for (size_t i = 0; i < w->opts.sizes.count; i++)
                if (cli_wants(w->opts.fields, w->opts.ops, f, o) && w->kind_count < KINDS_MAX)
                    w->kinds[w->kind_count++] =
                        (kind){.op = o, .field = f, .n = (size_t)w->opts.sizes.values[i]};
}

/* "20 jobs per second of add, mul over bls12-381-fq, of 1K, 16K elements" */
static void describe(workload *w)
{
    const workload_opts *o = &w->opts;
    snprintf(w->what, sizeof w->what, "%" PRIu64 " jobs per second of ", o->rate);
    cli_add_names(w->what, sizeof w->what, ", ", o->fields, o->ops, true);
    cli_append(w->what, sizeof w->what, " over ");
    cli_add_names(w->what, sizeof w->what, ", ", o->fields, o->ops, false);
    for (size_t i = 0; i < o->sizes.count; i++) {
        char size[32];
        text_size(size, sizeof size, (double)o->sizes.values[i]);
        cli_append(w->what, sizeof w->what, "%s%s", i ? ", " : ", of ", size);
    }
    cli_append(w->what, sizeof w->what, " elements");
}

static bool make_data(workload *w)
{
    size_t n = (size_t)number_list_max(&w->opts.sizes);
    for (size_t k = 0; k < w->kind_count; k++) {
        gx_field field = w->kinds[k].field;
        if (!w->in[field].result &&
            !job_arrays_make(&w->in[field], w->ctx, field, w->opts.ops, n, 1))
            return false;
        w->kinds[k].job =
            job_make(&w->in[field], w->kinds[k].op, w->kinds[k].n, &w->kinds[k].params);
    }
    for (size_t i = 0; i < SLOTS; i++)
        if (!(w->out[i] = data_alloc(n * ELEMENT_BYTES_MAX + POINT_BYTES_MAX)))
            return false;
    return true;
}

/* ---- doing it ---- */

/* Sleeps until then; false if it is time to stop. */
static bool sleep_until(workload *w, uint64_t ns)
{
    pthread_mutex_lock(&w->lock);
    while (!w->stopping && gx__os_cond_wait(&w->wake, &w->lock, ns))
        ;
    bool go_on = !w->stopping;
    pthread_mutex_unlock(&w->lock);
    return go_on;
}

static void note_failure(workload *w, const char *message)
{
    pthread_mutex_lock(&w->lock);
    w->failed++;
    snprintf(w->last_error, sizeof w->last_error, "%s", message);
    pthread_mutex_unlock(&w->lock);
}

/* Frees the slot; false if its job failed. */
static bool finish(workload *w, size_t slot)
{
    gx_report report = {.struct_size = sizeof report};
    if (!w->tickets[slot])
        return true;
    gx_status s = gx_wait(w->tickets[slot], UINT64_MAX, &report);
    gx_ticket_destroy(&w->tickets[slot]);
    if (s != GX_OK)
        note_failure(w, report.message[0] ? report.message : gx_status_message(s));
    return s == GX_OK;
}

static bool submit(workload *w, size_t slot, const kind *k)
{
    gx_job job = k->job;
    job.out = gx_host(w->out[slot]);
    gx_status s = gx_submit(w->ctx, &job, 1, NULL, &w->tickets[slot]);
    if (s != GX_OK)
        note_failure(w, gx_status_message(s));
    pthread_mutex_lock(&w->lock);
    w->submitted++;
    pthread_mutex_unlock(&w->lock);
    return s == GX_OK;
}

static void *work(void *user)
{
    workload *w = user;
    uint64_t step = 1000000000u / w->opts.rate, next = now_ns();
    for (uint64_t i = 0; (!w->opts.jobs || i < w->opts.jobs) && sleep_until(w, next); i++) {
        size_t slot = i % SLOTS;
        bool fine = finish(w, slot) && submit(w, slot, &w->kinds[i % w->kind_count]);
        /* Missed jobs are not made up for, and failures are not retried at once. */
        uint64_t now = now_ns();
        next = next + step > now ? next + step : now;
        if (!fine)
            next = now + PAUSE_MS * 1000000u;
    }
    for (size_t i = 0; i < SLOTS; i++)
        finish(w, i);
    return NULL;
}

/* ---- the outside ---- */

static void destroy(workload *w)
{
    for (size_t f = 0; f < FIELDS_MAX; f++)
        job_arrays_free(&w->in[f]);
    for (size_t i = 0; i < SLOTS; i++)
        data_free(w->out[i]);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

int workload_start(gx_ctx *ctx, const workload_opts *opts, workload **out)
{
    *out = NULL;
    int rc = EXIT_DONE;
    workload *w = calloc(1, sizeof *w);
    if (!w)
        return cli_no_memory();
    w->ctx = ctx;
    w->opts = *opts;
    gx__os_cond_init(&w->wake);
    pthread_mutex_init(&w->lock, NULL);
    list_kinds(w);
    describe(w);
    if (!w->kind_count)
        rc = cli_no_operation(w->opts.fields, w->opts.ops);
    else if (!make_data(w))
        rc = cli_no_memory();
    else if (pthread_create(&w->thread, NULL, work, w)) {
        cli_error("cannot start a thread");
        rc = EXIT_FAILED;
    }
    if (rc == EXIT_DONE)
        *out = w;
    else
        destroy(w);
    return rc;
}

void workload_stop(workload **w)
{
    if (!*w)
        return;
    pthread_mutex_lock(&(*w)->lock);
    (*w)->stopping = true;
    pthread_cond_signal(&(*w)->wake);
    pthread_mutex_unlock(&(*w)->lock);
    pthread_join((*w)->thread, NULL);
    destroy(*w);
    *w = NULL;
}

json_t *workload_json(workload *w)
{
    if (!w)
        return json_pack("{s:b}", "running", 0);
    pthread_mutex_lock(&w->lock);
    json_t *json = json_pack("{s:b, s:s, s:I, s:I, s:s}", "running", 1, "what", w->what,
                             "submitted", (json_int_t)w->submitted, "failed", (json_int_t)w->failed,
                             "last_error", w->last_error);
    pthread_mutex_unlock(&w->lock);
    return json;
}
