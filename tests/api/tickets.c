/* SPDX-License-Identifier: Apache-2.0
 *
 * See tickets.h.
 */
#include "api/tickets.h"

#include <stdio.h>

#include "support/oracle.h"

const gx_field field = GX_BN254_FR;
const char *vulkan;
unsigned char in[3][N * 32], sum[N * 32], product[N * 32], bad[N * 32];

int prepare(void **state)
{
    (void)state;
    struct oracle_rng rng = {8};
    gxt_clear_environment();
    vulkan = gxt_vulkan();
    for (int i = 0; i < 3; i++)
        oracle_fill(field, &rng, in[i], N);
    oracle_run(GX_ADD, field, N, sum, in[0], in[1], NULL, 0);
    oracle_run(GX_MUL, field, N, product, in[0], in[1], NULL, 0);
    memcpy(bad, in[0], BYTES);
    gxt_put_modulus(field, bad + 3 * 32);
    return 0;
}

size_t devices(const char *names[3])
{
    names[0] = "cpu";
    names[1] = "ref";
    names[2] = vulkan;
    return vulkan ? 3 : 2;
}

/* ---- the gate ---- */

void at_gate(void *user, gx_log_level level, const char *message)
{
    struct gate *gate = user;
    pthread_mutex_lock(&gate->lock);
    if (level == GX_LOG_ERROR)
        snprintf(gate->last, sizeof gate->last, "%s", message);
    if (gate->closed && strstr(message, "not below the modulus")) {
        int number = gate->arrived++;
        pthread_cond_broadcast(&gate->changed);
        while (gate->passes <= number)
            pthread_cond_wait(&gate->changed, &gate->lock);
    }
    pthread_mutex_unlock(&gate->lock);
}

void open_gate(struct gate *gate, int passes)
{
    pthread_mutex_lock(&gate->lock);
    gate->passes = passes;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

void await_arrival(struct gate *gate, int arrived)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->arrived < arrived)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

void open_rig(struct rig *rig, uint64_t queue_jobs)
{
    *rig = (struct rig){0};
    pthread_mutex_init(&rig->gate.lock, NULL);
    pthread_cond_init(&rig->gate.changed, NULL);
    rig->gate.closed = 1;
    gxt_heap_start(&rig->heap);
    gx_config config = {.log = at_gate,
                        .log_user = &rig->gate,
                        .queue_jobs = queue_jobs,
                        .allocator = gxt_heap_allocator(&rig->heap)};
    rig->ctx = gxt_open(&config);
}

void close_rig(struct rig *rig)
{
    if (rig->ctx) {
        struct gx_statistics s = {0};
        gx__stats(rig->ctx, &s);
        assert_int_equal(s.jobs_waiting, 0);
        assert_int_equal(s.tickets_done, s.tickets_submitted);
        gx_close(&rig->ctx);
    }
    gxt_heap_end(&rig->heap);
    pthread_cond_destroy(&rig->gate.changed);
    pthread_mutex_destroy(&rig->gate.lock);
}

/* ---- jobs ---- */

gx_job add_job(void *out)
{
    return gxt_job(GX_ADD, field, N, in[0], in[1], NULL, out);
}

gx_ticket *submit(gx_ctx *ctx, const gx_job *jobs, size_t count, const char *device)
{
    gx_ticket *ticket = NULL;
    gx_run_params opts = {.device = device};
    assert_int_equal(gx_submit(ctx, jobs, count, &opts, &ticket), GX_OK);
    assert_non_null(ticket);
    return ticket;
}

gx_ticket *stop_worker(struct rig *rig, const char *device)
{
    int before = rig->gate.arrived;
    gx_job job = gxt_job(GX_NEG, field, N, bad, NULL, NULL, rig->spoilt);
    gx_ticket *ticket = submit(rig->ctx, &job, 1, device);
    await_arrival(&rig->gate, before + 1);
    return ticket;
}

void finish_stop(struct rig *rig, gx_ticket **ticket)
{
    open_gate(&rig->gate, rig->gate.arrived);
    assert_int_equal(gx_wait(*ticket, UINT64_MAX, NULL), GX_ERR_NOT_CANONICAL);
    gx_ticket_destroy(ticket);
    assert_null(*ticket);
}

struct gx_statistics stats_of(gx_ctx *ctx)
{
    struct gx_statistics s = {0};
    gx__stats(ctx, &s);
    return s;
}
