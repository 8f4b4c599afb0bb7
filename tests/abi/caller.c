/* SPDX-License-Identifier: Apache-2.0
 *
 * A program built with the headers of release 0.1, which are kept here and do not change, linked to
 * the current shared library: it opens, lists, plans, runs, submits and waits, and checks the
 * results. Its structs lie between guards.
 */
#include <stdio.h>
#include <string.h>

#include "0.1/gpuexec.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("FAIL  line %d: %s; %s\n", __LINE__, #condition, gx_last_message());            \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

enum { N = 100, GUARD = 0x5a };

static uint32_t a[N], b[N], sum[N];

/* A struct, and a guard behind it that must not change. */
#define GUARDED(type, count)                                                                       \
    struct {                                                                                       \
        type of[count];                                                                            \
        unsigned char guard[64];                                                                   \
    }
#define PREPARE(x)                                                                                 \
    (memset(&(x), 0, sizeof(x)), (x).of[0].struct_size = sizeof *(x).of,                           \
     memset((x).guard, GUARD, sizeof(x).guard))

static int intact(const unsigned char *guard)
{
    for (int i = 0; i < 64; i++)
        if (guard[i] != GUARD)
            return 0;
    return 1;
}

static int list(gx_ctx *ctx)
{
    GUARDED(gx_device_info, 8) infos;
    GUARDED(gx_device_statistics, 8) stats;
    size_t count = 8;
    uint64_t value;
    PREPARE(infos);
    CHECK(gx_devices(ctx, infos.of, &count) == GX_OK && count >= 2 && intact(infos.guard));
    CHECK(!strcmp(infos.of[0].name, "cpu") && infos.of[0].kind == GX_DEVICE_CPU);
    CHECK(!strcmp(infos.of[1].name, "ref") && infos.of[1].usable == 1);
    PREPARE(stats);
    count = 8;
    CHECK(gx_device_stats(ctx, stats.of, &count) == GX_OK && count && intact(stats.guard));
    CHECK(gx_counter(ctx, "jobs_done", &value) == GX_OK && value == 4);
    CHECK(gx_counter(ctx, "jobs_failed", &value) == GX_OK && value == 1);
    return 0;
}

static int run(gx_ctx *ctx, gx_job *jobs)
{
    GUARDED(gx_report, 2) reports;
    GUARDED(gx_candidate, 1) candidates;
    GUARDED(gx_estimate_info, 1) info;
    gx_run_params opts = {.struct_size = sizeof opts, .policy = GX_POLICY_CPU};
    PREPARE(info);
    CHECK(gx_estimate(ctx, jobs, 2, &opts, info.of) == GX_OK && intact(info.guard));
    CHECK(!strcmp(info.of[0].device, "cpu") && info.of[0].dispatches == 2);
    PREPARE(reports);
    PREPARE(candidates);
    reports.of[1].candidate = candidates.of;
    reports.of[1].candidate_room = 1;
    CHECK(gx_run(ctx, jobs, 2, &opts, reports.of) == GX_OK);
    CHECK(intact(reports.guard) && intact(candidates.guard));
    CHECK(reports.of[0].struct_size == sizeof *reports.of && reports.of[0].status == GX_OK);
    CHECK(reports.of[1].candidates == 1 && !strcmp(candidates.of[0].device, "cpu"));
    CHECK(!strcmp(reports.of[1].device, "cpu") && candidates.of[0].elements == N);
    for (uint32_t i = 0; i < N; i++)
        CHECK(sum[i] == (a[i] + b[i]) * a[i]);
    return 0;
}

static int submit(gx_ctx *ctx, const gx_job *jobs)
{
    GUARDED(gx_report, 2) reports;
    gx_ticket *ticket = NULL;
    memset(sum, 0, sizeof sum);
    PREPARE(reports);
    CHECK(gx_submit(ctx, jobs, 2, NULL, &ticket) == GX_OK);
    CHECK(gx_wait(ticket, UINT64_MAX, reports.of) == GX_OK && intact(reports.guard));
    CHECK(reports.of[1].status == GX_OK && gx_poll(ticket) == GX_OK);
    gx_ticket_destroy(&ticket);
    for (uint32_t i = 0; i < N; i++)
        CHECK(sum[i] == (a[i] + b[i]) * a[i]);
    return 0;
}

static int fail(gx_ctx *ctx, gx_job job)
{
    gx_report report = {.struct_size = sizeof report};
    job.out = gx_host(NULL);
    CHECK(gx_run(ctx, &job, 1, NULL, &report) == GX_ERR_INVALID);
    CHECK(report.status == GX_ERR_INVALID && strstr(report.message, "out is NULL"));
    CHECK(strstr(gx_last_message(), report.message));
    return 0;
}

int main(void)
{
    gx_ctx *ctx = NULL;
    gx_config config = {.struct_size = sizeof config, .cache_dir = "none", .device = "cpu"};
    config.ignore_environment = 1;
    CHECK(gx_open(&config, &ctx) == GX_OK);
    for (uint32_t i = 0; i < N; i++) {
        a[i] = i;
        b[i] = 7 * i + 1;
    }
    gx_job jobs[2] = {{.op = GX_ADD, .field = GX_U32, .n = N}, {.op = GX_MUL, .field = GX_U32}};
    jobs[1].n = N;
    jobs[0].a = gx_host(a);
    jobs[0].b = gx_host(b);
    jobs[0].out = jobs[1].out = jobs[1].a = gx_host(sum);
    jobs[1].b = gx_host(a);
    if (run(ctx, jobs) || submit(ctx, jobs) || fail(ctx, jobs[0]) || list(ctx))
        return 1;
    gx_close(&ctx);
    printf("ok    a program of 0.1 with library %s\n", gx_version());
    return 0;
}
