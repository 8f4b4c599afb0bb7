/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that the caller registers, on all devices: paths, modes, pieces, batches, buffers,
 * broadcasts, in place, tickets, splits, parameters, grids; sampling, failing devices, failing
 * allocations; and what cannot be registered or run, with its message.
 */
#include <pthread.h>
#include <stdio.h>

#include "api/own_kernels.h"
#include "support/heap.h"
#include "support/oracle.h"

enum { DEVICES_MAX = 4 };

static const char *devices[DEVICES_MAX] = {"cpu"};
static size_t device_count = 1;

static int prepare(void **state)
{
    const char *webgpu[GXT_WEBGPU];
    (void)state;
    gxt_clear_environment();
    if (gxt_vulkan())
        devices[device_count++] = gxt_vulkan();
    size_t count = gxt_webgpu(webgpu);
    for (size_t i = 0; i < count; i++)
        devices[device_count++] = webgpu[i];
    return 0;
}

static gx_ctx *open_watched(gx_config config)
{
    gxt_watch(&config);
    return gxt_open(&config);
}

static void close_watched(gx_ctx *ctx)
{
    gx_close(&ctx);
    assert_int_equal(gxt_complaints(), 0);
}

static void run_on(gx_ctx *ctx, struct own_case *c, const gx_run_opts *opts)
{
    gx_job job = own_case_job(c);
    if (gx_run(ctx, &job, 1, opts, NULL) != GX_OK)
        fail_msg("%s on %s: %s", own_descs[c->kernel].name, opts->device, gx_last_message());
    own_case_check(c);
}

/* ---- everything that other jobs can do ---- */

static void every_kernel_on_every_device(void **state)
{
    static const size_t sizes[] = {6, 66, 96, 600, 3000};
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){.stream_chunk_elems = 1000});
    for (int k = 0; k < OWN_KERNELS; k++) {
        gx_op op = own_register(ctx, (enum own_kernel)k);
        for (size_t i = 0; i < GXT_COUNT(sizes) * device_count; i++) {
            struct own_case c;
            own_case_make(&c, (enum own_kernel)k, op, sizes[i / device_count], 0, i + 1);
            for (int way = 0; way < 12; way++) {
                const gx_run_opts opts = {.device = devices[i % device_count],
                                          .path = (gx_path)(way % 3),
                                          .mode = (gx_mode)(way / 3)};
                run_on(ctx, &c, &opts);
            }
            own_case_free(&c);
        }
    }
    close_watched(ctx);
}

static void broadcasts(void **state)
{
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){.dispatch_elems = 100});
    gx_op op = own_register(ctx, MULADD);
    for (uint32_t bits = 0; bits < 8; bits++)
        for (size_t d = 0; d < device_count; d++) {
            struct own_case c;
            own_case_make(&c, MULADD, op, 333, bits, bits + 1);
            run_on(ctx, &c, &(gx_run_opts){.device = devices[d]});
            own_case_free(&c);
        }
    close_watched(ctx);
}

static void in_place(void **state)
{
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){.stream_chunk_elems = 300});
    gx_op op = own_register(ctx, MULADD);
    for (size_t i = 0; i < 3 * device_count; i++) {
        struct own_case c;
        own_case_make(&c, MULADD, op, 1000, 0, i + 1);
        gx_job job = own_case_job(&c);
        job.out.host = c.in[i % 3];
        gx_run_opts opts = {.device = devices[i / 3]};
        assert_int_equal(gx_run(ctx, &job, 1, &opts, NULL), GX_OK);
        assert_memory_equal(c.in[i % 3], c.want, c.words_out * 4);
        own_case_free(&c);
    }
    close_watched(ctx);
}

/* Operands anywhere in buffers, at multiples of 4 bytes, and results too. */
static void buffers(void **state)
{
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){.dispatch_elems = 100});
    for (int k = 0; k < OWN_KERNELS; k++) {
        gx_op op = own_register(ctx, (enum own_kernel)k);
        for (size_t d = 0; d < device_count; d++) {
            struct own_case c;
            gx_buf *buf[4] = {NULL};
            own_case_make(&c, (enum own_kernel)k, op, 606, 0, d + 1);
            gx_job job = own_case_job(&c);
            gx_operand *const operands[] = {&job.a, &job.b, &job.c, &job.out};
            for (uint32_t i = 0; i < 4; i++) {
                size_t at = 4 + 12 * i, bytes = gx_operand_bytes(&job, "abco"[i]);
                if (!bytes)
                    continue;
                assert_int_equal(gx_buf_create(ctx, devices[d], at + bytes, 0, &buf[i]), GX_OK);
                if (i < 3)
                    assert_int_equal(gx_buf_write(buf[i], at, c.in[i], bytes), GX_OK);
                *operands[i] = gx_dev(buf[i], at);
            }
            for (int again = 0; again < 2; again++) {
                gx_report r = {.struct_size = sizeof r};
                if (gx_run(ctx, &job, 1, NULL, &r) != GX_OK)
                    fail_msg("%s", gx_last_message());
                assert_string_equal(r.device, devices[d]);
                assert_int_equal(r.path, GX_PATH_DIRECT);
                assert_int_equal(gx_buf_read(buf[3], 4 + 36, c.out, c.words_out * 4), GX_OK);
                own_case_check(&c);
            }
            for (int i = 0; i < 4; i++)
                gx_buf_destroy(&buf[i]);
            own_case_free(&c);
        }
    }
    close_watched(ctx);
}

/* Jobs of the library and of the caller in one call, each in every mode; a later one needs an
 * earlier one. */
static void batches(void **state)
{
    enum { N = 900, JOBS = 6 };
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){.stream_chunk_elems = 256});
    gx_op ops[OWN_KERNELS];
    for (int k = 0; k < OWN_KERNELS; k++)
        ops[k] = own_register(ctx, (enum own_kernel)k);
    struct own_case c[OWN_KERNELS];
    for (int k = 0; k < OWN_KERNELS; k++)
        own_case_make(&c[k], (enum own_kernel)k, ops[k], N, 0, (uint64_t)k + 9);
    uint32_t *sums = gxt_alloc(N * 4), *twice = gxt_alloc(N * 4);
    for (size_t i = 0; i < 4 * device_count; i++) {
        gx_job jobs[JOBS];
        for (int k = 0; k < OWN_KERNELS; k++)
            jobs[k] = own_case_job(&c[k]);
        jobs[4] = gxt_job(GX_ADD, GX_U32, N, c[MULADD].out, c[TRANSPOSE].in[0], NULL, sums);
        jobs[5] = jobs[4];
        jobs[5].a = jobs[5].b = gx_host(sums);
        jobs[5].out = gx_host(twice);
        gx_run_opts opts = {.device = devices[i / 4], .mode = (gx_mode)(i % 4)};
        gx_report reports[JOBS];
        gxt_reports(reports, JOBS);
        assert_int_equal(gx_run(ctx, jobs, JOBS, &opts, reports), GX_OK);
        for (size_t j = 0; j < N; j++)
            assert_int_equal(twice[j], 2 * (c[MULADD].want[j] + c[TRANSPOSE].in[0][j]));
        for (int k = 0; k < OWN_KERNELS; k++) {
            assert_string_equal(reports[k].device, devices[i / 4]);
            own_case_check(&c[k]);
        }
    }
    for (int k = 0; k < OWN_KERNELS; k++)
        own_case_free(&c[k]);
    free(sums);
    free(twice);
    close_watched(ctx);
}

static void parameters_of_each_job(void **state)
{
    enum { JOBS = 5 };
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){0});
    gx_op op = own_register(ctx, SCALE);
    for (size_t i = 0; i < 2 * device_count; i++) {
        struct own_case c[JOBS];
        gx_job jobs[JOBS];
        gx_run_opts opts = {.device = devices[i / 2]};
        for (size_t k = 0; k < JOBS; k++) {
            own_case_make(&c[k], SCALE, op, 100, 0, 10 * i + k);
            jobs[k] = own_case_job(&c[k]);
        }
        assert_int_equal(gx_run(ctx, jobs, JOBS, &opts, NULL), GX_OK);
        for (size_t k = 0; k < JOBS; k++) {
            own_case_check(&c[k]);
            own_case_free(&c[k]);
        }
    }
    close_watched(ctx);
}

static void registered_memory(void **state)
{
    enum { N = 40000 };
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){.stream_chunk_elems = 10000});
    gx_op op = own_register(ctx, MULADD);
    for (size_t d = 0; d < device_count; d++) {
        struct own_case c;
        char *memory = aligned_alloc(4096, (size_t)N * 16);
        assert_non_null(memory);
        own_case_make(&c, MULADD, op, N, 0, d + 1);
        gx_job job = own_case_job(&c);
        for (size_t i = 0; i < 3; i++)
            memcpy(memory + i * N * 4, c.in[i], (size_t)N * 4);
        job.a.host = memory;
        job.b.host = memory + (size_t)N * 4;
        job.c.host = memory + (size_t)N * 8;
        job.out.host = memory + (size_t)N * 12;
        assert_int_equal(gx_host_register(ctx, memory, (size_t)N * 16), GX_OK);
        gx_run_opts opts = {.device = devices[d], .path = GX_PATH_DEVICE_LOCAL};
        assert_int_equal(gx_run(ctx, &job, 1, &opts, NULL), GX_OK);
        assert_memory_equal(job.out.host, c.want, (size_t)N * 4);
        assert_int_equal(gx_host_unregister(ctx, memory), GX_OK);
        free(memory);
        own_case_free(&c);
    }
    close_watched(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_on_every_device),
        cmocka_unit_test(broadcasts),
        cmocka_unit_test(in_place),
        cmocka_unit_test(buffers),
        cmocka_unit_test(batches),
        cmocka_unit_test(parameters_of_each_job),
        cmocka_unit_test(registered_memory),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
