/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest job, as a program in C would run it. */
#include <gpuexec.h>
#include <time.h>

uint64_t overhead_run(gx_ctx *ctx, size_t calls);
uint64_t overhead_submit(gx_ctx *ctx, size_t calls);

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Nanoseconds of so many calls; 0: one failed. */
uint64_t overhead_run(gx_ctx *ctx, size_t calls)
{
    uint32_t a = 1, b = 2, out = 0;
    uint64_t start = now();
    for (size_t i = 0; i < calls; i++) {
        gx_job job = {.op = GX_ADD, .field = GX_U32, .n = 1};
        job.a = gx_host(&a);
        job.b = gx_host(&b);
        job.out = gx_host(&out);
        gx_run_params opts = {.struct_size = sizeof opts, .device = "cpu"};
        gx_report report = {.struct_size = sizeof report};
        if (gx_run(ctx, &job, 1, &opts, &report) != GX_OK)
            return 0;
    }
    return now() - start;
}

uint64_t overhead_submit(gx_ctx *ctx, size_t calls)
{
    uint32_t a = 1, b = 2, out = 0;
    uint64_t start = now();
    for (size_t i = 0; i < calls; i++) {
        gx_job job = {.op = GX_ADD, .field = GX_U32, .n = 1};
        job.a = gx_host(&a);
        job.b = gx_host(&b);
        job.out = gx_host(&out);
        gx_run_params opts = {.struct_size = sizeof opts, .device = "cpu"};
        gx_report report = {.struct_size = sizeof report};
        gx_ticket *ticket;
        if (gx_submit(ctx, &job, 1, &opts, &ticket) != GX_OK)
            return 0;
        gx_status status = gx_wait(ticket, UINT64_MAX, &report);
        gx_ticket_destroy(&ticket);
        if (status != GX_OK)
            return 0;
    }
    return now() - start;
}
