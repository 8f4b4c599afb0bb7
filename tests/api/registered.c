/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that the caller registers, on all devices: paths, modes, pieces, batches, buffers,
 * broadcasts, in place, parameters, grids, no elements; routing and splits; tickets and
 * unregistering; names.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "api/counters.h"
#include "api/registered_kernels.h"

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

static void run_on(gx_ctx *ctx, struct registered_case *c, const gx_run_params *opts)
{
    gx_job job = registered_case_job(c);
    if (gx_run(ctx, &job, 1, opts, NULL) != GX_OK)
        fail_msg("%s on %s: %s", registered_descs[c->kernel].name, opts->device, gx_last_message());
    registered_case_check(c);
}

/* ---- everything that other jobs can do ---- */

static void every_kernel_on_every_device(void **state)
{
    static const size_t sizes[] = {6, 66, 96, 600, 3000};
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){.stream_chunk_elems = 1000});
    for (int k = 0; k < REGISTERED_KERNELS; k++) {
        gx_op op = registered_register(ctx, (enum registered_kernel)k);
        for (size_t i = 0; i < GXT_COUNT(sizes) * device_count; i++) {
            struct registered_case c;
            registered_case_make(&c, (enum registered_kernel)k, op, sizes[i / device_count], 0,
                                 i + 1);
            for (int way = 0; way < 12; way++) {
                const gx_run_params opts = {.device = devices[i % device_count],
                                            .path = (gx_path)(way % 3),
                                            .mode = (gx_mode)(way / 3)};
                run_on(ctx, &c, &opts);
            }
            registered_case_free(&c);
        }
    }
    close_watched(ctx);
}

static void broadcasts(void **state)
{
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){.dispatch_elems = 100});
    gx_op op = registered_register(ctx, MULADD);
    for (uint32_t bits = 0; bits < 8; bits++)
        for (size_t d = 0; d < device_count; d++) {
            struct registered_case c;
            registered_case_make(&c, MULADD, op, 333, bits, bits + 1);
            run_on(ctx, &c, &(gx_run_params){.device = devices[d]});
            registered_case_free(&c);
        }
    close_watched(ctx);
}

static void in_place(void **state)
{
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){.stream_chunk_elems = 300});
    gx_op op = registered_register(ctx, MULADD);
    for (size_t i = 0; i < 3 * device_count; i++) {
        struct registered_case c;
        registered_case_make(&c, MULADD, op, 1000, 0, i + 1);
        gx_job job = registered_case_job(&c);
        job.out.host = c.in[i % 3];
        gx_run_params opts = {.device = devices[i / 3]};
        assert_int_equal(gx_run(ctx, &job, 1, &opts, NULL), GX_OK);
        assert_memory_equal(c.in[i % 3], c.want, c.words_out * 4);
        registered_case_free(&c);
    }
    close_watched(ctx);
}

/* Operands anywhere in buffers, at multiples of 4 bytes, and results too. */
static void buffers(void **state)
{
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){.dispatch_elems = 100});
    for (int k = 0; k < REGISTERED_KERNELS; k++) {
        gx_op op = registered_register(ctx, (enum registered_kernel)k);
        for (size_t d = 0; d < device_count; d++) {
            struct registered_case c;
            gx_buf *buf[4] = {NULL};
            registered_case_make(&c, (enum registered_kernel)k, op, 606, 0, d + 1);
            gx_job job = registered_case_job(&c);
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
                registered_case_check(&c);
            }
            for (int i = 0; i < 4; i++)
                gx_buf_destroy(&buf[i]);
            registered_case_free(&c);
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
    gx_op ops[REGISTERED_KERNELS];
    for (int k = 0; k < REGISTERED_KERNELS; k++)
        ops[k] = registered_register(ctx, (enum registered_kernel)k);
    struct registered_case c[REGISTERED_KERNELS];
    for (int k = 0; k < REGISTERED_KERNELS; k++)
        registered_case_make(&c[k], (enum registered_kernel)k, ops[k], N, 0, (uint64_t)k + 9);
    uint32_t *sums = gxt_alloc(N * 4), *twice = gxt_alloc(N * 4);
    for (size_t i = 0; i < 4 * device_count; i++) {
        gx_job jobs[JOBS];
        for (int k = 0; k < REGISTERED_KERNELS; k++)
            jobs[k] = registered_case_job(&c[k]);
        jobs[4] = gxt_job(GX_ADD, GX_U32, N, c[MULADD].out, c[TRANSPOSE].in[0], NULL, sums);
        jobs[5] = jobs[4];
        jobs[5].a = jobs[5].b = gx_host(sums);
        jobs[5].out = gx_host(twice);
        gx_run_params opts = {.device = devices[i / 4], .mode = (gx_mode)(i % 4)};
        gx_report reports[JOBS];
        gxt_reports(reports, JOBS);
        assert_int_equal(gx_run(ctx, jobs, JOBS, &opts, reports), GX_OK);
        for (size_t j = 0; j < N; j++)
            assert_int_equal(twice[j], 2 * (c[MULADD].want[j] + c[TRANSPOSE].in[0][j]));
        for (int k = 0; k < REGISTERED_KERNELS; k++) {
            assert_string_equal(reports[k].device, devices[i / 4]);
            registered_case_check(&c[k]);
        }
    }
    for (int k = 0; k < REGISTERED_KERNELS; k++)
        registered_case_free(&c[k]);
    free(sums);
    free(twice);
    close_watched(ctx);
}

static void parameters_of_each_job(void **state)
{
    enum { JOBS = 5 };
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){0});
    gx_op op = registered_register(ctx, SCALE);
    for (size_t i = 0; i < 2 * device_count; i++) {
        struct registered_case c[JOBS];
        gx_job jobs[JOBS];
        gx_run_params opts = {.device = devices[i / 2]};
        for (size_t k = 0; k < JOBS; k++) {
            registered_case_make(&c[k], SCALE, op, 100, 0, 10 * i + k);
            jobs[k] = registered_case_job(&c[k]);
        }
        assert_int_equal(gx_run(ctx, jobs, JOBS, &opts, NULL), GX_OK);
        for (size_t k = 0; k < JOBS; k++) {
            registered_case_check(&c[k]);
            registered_case_free(&c[k]);
        }
    }
    close_watched(ctx);
}

static void registered_memory(void **state)
{
    enum { N = 40960 }; /* whole pages */
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){.stream_chunk_elems = 10000});
    gx_op op = registered_register(ctx, MULADD);
    for (size_t d = 0; d < device_count; d++) {
        struct registered_case c;
        char *memory = gx__os_alloc((size_t)2 << 20); /* whole pages */
        assert_non_null(memory);
        registered_case_make(&c, MULADD, op, N, 0, d + 1);
        gx_job job = registered_case_job(&c);
        for (size_t i = 0; i < 3; i++)
            memcpy(memory + i * N * 4, c.in[i], (size_t)N * 4);
        job.a.host = memory;
        job.b.host = memory + (size_t)N * 4;
        job.c.host = memory + (size_t)N * 8;
        job.out.host = memory + (size_t)N * 12;
        assert_int_equal(gx_host_register(ctx, memory, (size_t)N * 16), GX_OK);
        gx_run_params opts = {.device = devices[d], .path = GX_PATH_DEVICE_LOCAL};
        assert_int_equal(gx_run(ctx, &job, 1, &opts, NULL), GX_OK);
        assert_memory_equal(job.out.host, c.want, (size_t)N * 4);
        assert_int_equal(gx_host_unregister(ctx, memory), GX_OK);
        gx__os_free(memory);
        registered_case_free(&c);
    }
    close_watched(ctx);
}

/* More workgroups than a dispatch can have on a software driver: several dispatches. */
static void many_workgroups(void **state)
{
    enum { N = 200000 };
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){0});
    gx_kernel_params desc = registered_descs[MULADD];
    gx_op op;
    desc.group_elems = 1; /* a workgroup computes more, which does no harm */
    assert_int_equal(gx_op_register(ctx, &desc, &op), GX_OK);
    for (size_t d = 1; d < device_count; d++) {
        struct registered_case c;
        gx_report r = {.struct_size = sizeof r};
        gx_run_params opts = {.device = devices[d], .mode = GX_MODE_SEQUENTIAL};
        registered_case_make(&c, MULADD, op, N, 0, d);
        gx_job job = registered_case_job(&c);
        assert_int_equal(gx_run(ctx, &job, 1, &opts, &r), GX_OK);
        assert_true(r.dispatches >= 4 || getenv("GX_TEST_VULKAN")); /* other drivers allow more */
        registered_case_check(&c);
        registered_case_free(&c);
    }
    close_watched(ctx);
}

/* ---- the C function ---- */

struct calls {
    atomic_uint all, unaligned;
};

static void note_call(void *user, const gx_kernel_call *k)
{
    struct calls *calls = user;
    atomic_fetch_add(&calls->all, 1);
    atomic_fetch_add(&calls->unaligned, (uintptr_t)k->params % 16 != 0);
    registered_descs[SCALE].fn(registered_descs[SCALE].user, k);
}

/* For jobs, and to verify them: any struct that shaders have too can be read there. */
static void parameters_are_aligned(void **state)
{
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){.sample_every = 1, .dispatch_elems = 100});
    gx_kernel_params desc = registered_descs[SCALE];
    struct calls calls = {0};
    gx_op op;
    desc.fn = note_call;
    desc.user = &calls;
    assert_int_equal(gx_op_register(ctx, &desc, &op), GX_OK);
    for (size_t d = 0; d < device_count; d++) {
        struct registered_case c;
        registered_case_make(&c, SCALE, op, 1000, 0, d + 1);
        run_on(ctx, &c, &(gx_run_params){.device = devices[d]});
        registered_case_free(&c);
    }
    assert_true(calls.all >= device_count);
    assert_int_equal(calls.unaligned, 0);
    close_watched(ctx);
}

/* ---- no elements ---- */

static void must_not_run(void *user, const gx_kernel_call *k)
{
    (void)k;
    atomic_fetch_add((atomic_uint *)user, 1);
}

/* Without elements nothing runs, is verified or is written, in host memory and in buffers. */
static void no_elements(void **state)
{
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){.sample_every = 1});
    for (int k = 0; k < REGISTERED_KERNELS; k++) {
        gx_kernel_params desc = registered_descs[k];
        atomic_uint calls = 0;
        gx_op op;
        desc.fn = must_not_run;
        desc.user = &calls;
        assert_int_equal(gx_op_register(ctx, &desc, &op), GX_OK);
        for (size_t i = 0; i < 2 * device_count; i++) {
            const gx_run_params opts = {.device = devices[i / 2]};
            struct registered_case c;
            gx_buf *buf = NULL;
            uint64_t out[8] = {1, 2, 3, 4, 5, 6, 7, 8}, before[8];
            registered_case_make(&c, (enum registered_kernel)k, op, 0, 0, 1);
            gx_job job = registered_case_job(&c);
            memcpy(before, out, sizeof out);
            job.out = gx_host(out);
            if (i % 2) {
                assert_int_equal(gx_buf_create(ctx, opts.device, sizeof out, 0, &buf), GX_OK);
                assert_int_equal(gx_buf_write(buf, 0, out, sizeof out), GX_OK);
                job.out = gx_dev(buf, 0);
            }
            assert_int_equal(gx_run(ctx, &job, 1, &opts, NULL), GX_OK);
            if (buf)
                assert_int_equal(gx_buf_read(buf, 0, out, sizeof out), GX_OK);
            assert_memory_equal(out, before, sizeof out);
            gx_buf_destroy(&buf);
            registered_case_free(&c);
        }
        assert_int_equal(calls, 0);
    }
    close_watched(ctx);
}

/* ---- routing ---- */

static void run_routed(gx_ctx *ctx, struct registered_case *c, gx_policy policy, gx_report *r)
{
    gx_run_params opts = {.policy = policy};
    gx_job job = registered_case_job(c);
    *r = gxt_report();
    if (gx_run(ctx, &job, 1, &opts, r) != GX_OK)
        fail_msg("%s", gx_last_message());
    registered_case_check(c);
}

/* With two devices to choose from, jobs are split, whole ones never: to try the second one, and on
 * two simulated machines of the same speed always. */
static void split_over(const char *list, int least)
{
    enum { N = 300000 };
    gx_ctx *ctx = open_watched((gx_config){.device = list});
    int split = 0;
    for (int k = 0; k < REGISTERED_KERNELS; k++) {
        struct registered_case c;
        gx_report r;
        registered_case_make(&c, (enum registered_kernel)k,
                             registered_register(ctx, (enum registered_kernel)k), N, 0, 3);
        for (int i = 0; i < 12; i++) {
            run_routed(ctx, &c, GX_POLICY_THROUGHPUT, &r);
            assert_int_equal(r.candidates, 2);
            int shares = (r.candidate[0].elements > 0) + (r.candidate[1].elements > 0);
            assert_true(k < COUNT || shares == 1);
            split += shares - 1;
            assert_int_equal(r.candidate[0].elements + r.candidate[1].elements, N);
        }
        registered_case_free(&c);
    }
    assert_true(split >= least);
    close_watched(ctx);
}

static void splits(void **state)
{
    (void)state;
    char list[100];
    if (device_count > 1) {
        snprintf(list, sizeof list, "cpu,%s", devices[1]);
        split_over(list, 1);
    }
    gxt_enter_machines();
    split_over("sim:desktop,sim:desktop#2", 10);
}

/* Only devices with a kernel are chosen. */
static void devices_without_a_kernel(void **state)
{
    (void)state;
    if (device_count < 3)
        skip();
    char list[150];
    snprintf(list, sizeof list, "cpu,%s,%s", devices[1], devices[2]);
    gx_ctx *ctx = open_watched((gx_config){.device = list});
    for (uint32_t has = 1; has < 8; has++) {
        gx_kernel_params desc = registered_descs[MULADD];
        struct registered_case c;
        gx_report r;
        gx_op op;
        desc.fn = has & 1 ? desc.fn : NULL;
        desc.spirv = has & 2 ? desc.spirv : NULL;
        desc.wgsl = has & 4 ? desc.wgsl : NULL;
        assert_int_equal(gx_op_register(ctx, &desc, &op), GX_OK);
        registered_case_make(&c, MULADD, op, 100000, 0, has);
        for (int i = 0; i < 4; i++) {
            run_routed(ctx, &c, GX_POLICY_AUTO, &r);
            for (uint32_t k = 0; k < r.candidates; k++)
                for (size_t d = 0; d < 3; d++)
                    assert_true(has >> d & 1 || strcmp(r.candidate[k].device, devices[d]) != 0);
        }
        for (size_t d = 0; d < 3; d++) {
            gx_job job = registered_case_job(&c);
            gx_run_params opts = {.device = devices[d]};
            gx_status s = gx_run(ctx, &job, 1, &opts, NULL);
            assert_int_equal(s, has >> d & 1 ? GX_OK : GX_ERR_UNSUPPORTED);
            if (s != GX_OK)
                assert_non_null(strstr(gx_last_message(), "m31-mul-add"));
        }
        registered_case_free(&c);
        assert_int_equal(gx_op_unregister(ctx, op), GX_OK);
    }
    close_watched(ctx);
}

/* Buffers on a device without a kernel: read, computed elsewhere, and written back. */
static void buffers_where_it_cannot_run(void **state)
{
    (void)state;
    if (device_count < 2)
        skip();
    char list[100];
    snprintf(list, sizeof list, "cpu,%s", devices[1]);
    gx_ctx *ctx = open_watched((gx_config){.device = list});
    gx_kernel_params desc = registered_descs[MULADD];
    struct registered_case c;
    gx_buf *buf = NULL;
    gx_op op;
    desc.spirv = NULL;
    assert_int_equal(gx_op_register(ctx, &desc, &op), GX_OK);
    registered_case_make(&c, MULADD, op, 500, 0, 4);
    assert_int_equal(gx_buf_create(ctx, devices[1], 4000, 0, &buf), GX_OK);
    assert_int_equal(gx_buf_write(buf, 0, c.in[0], 2000), GX_OK);
    gx_job job = registered_case_job(&c);
    job.a = gx_dev(buf, 0);
    job.out = gx_dev(buf, 2000);
    for (int ticket = 0; ticket < 2; ticket++) {
        gx_ticket *t = NULL;
        gx_report r = {.struct_size = sizeof r};
        if (ticket) {
            assert_int_equal(gx_submit(ctx, &job, 1, NULL, &t), GX_OK);
            assert_int_equal(gx_wait(t, UINT64_MAX, &r), GX_OK);
            gx_ticket_destroy(&t);
        } else {
            assert_int_equal(gx_run(ctx, &job, 1, NULL, &r), GX_OK);
        }
        assert_string_equal(r.device, "cpu");
        assert_int_equal(gx_buf_read(buf, 2000, c.out, 2000), GX_OK);
        registered_case_check(&c);
    }
    gx_buf_destroy(&buf);
    registered_case_free(&c);
    close_watched(ctx);
}

static void estimates(void **state)
{
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){0});
    struct registered_case c;
    registered_case_make(&c, SCALE, registered_register(ctx, SCALE), 1000, 0, 4);
    gx_job job = registered_case_job(&c);
    for (size_t d = 0; d < device_count; d++) {
        gx_estimate_info info = {.struct_size = sizeof info};
        gx_run_params opts = {.device = devices[d], .path = GX_PATH_DEVICE_LOCAL};
        assert_int_equal(gx_estimate(ctx, &job, 1, &opts, &info), GX_OK);
        assert_int_equal(info.dispatches, 1);
        if (d)
            assert_true(info.bytes_up >= 8000 && info.bytes_down >= 12000);
    }
    registered_case_free(&c);
    close_watched(ctx);
}

/* ---- tickets and the end of an operation ---- */

static void tickets(void **state)
{
    enum { TICKETS = 12 };
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){.stream_chunk_elems = 1000});
    gx_op ops[REGISTERED_KERNELS];
    for (int k = 0; k < REGISTERED_KERNELS; k++)
        ops[k] = registered_register(ctx, (enum registered_kernel)k);
    for (size_t d = 0; d <= device_count; d++) {
        struct registered_case c[TICKETS];
        gx_ticket *t[TICKETS];
        gx_run_params opts = {.device = d < device_count ? devices[d] : NULL};
        for (size_t i = 0; i < TICKETS; i++) {
            enum registered_kernel k = (enum registered_kernel)(i % REGISTERED_KERNELS);
            registered_case_make(&c[i], k, ops[k], 6 * (i * 50 + 1), 0, i + 1);
            gx_job job = registered_case_job(&c[i]);
            assert_int_equal(gx_submit(ctx, &job, 1, &opts, &t[i]), GX_OK);
            memset(&c[i].params, 0xff, sizeof c[i].params); /* the ticket has a copy */
            memset(&c[i].scale, 0xff, sizeof c[i].scale);
            c[i].width = UINT32_MAX;
        }
        for (size_t i = 0; i < TICKETS; i++) {
            assert_int_equal(gx_wait(t[i], UINT64_MAX, NULL), GX_OK);
            registered_case_check(&c[i]);
            gx_ticket_destroy(&t[i]);
            registered_case_free(&c[i]);
        }
    }
    for (int k = 0; k < REGISTERED_KERNELS; k++) /* no job keeps one */
        assert_int_equal(gx_op_unregister(ctx, ops[k]), GX_OK);
    close_watched(ctx);
}

/* A function that waits until the test lets it go on. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int inside, open, ended;
};

static void wait_at_gate(void *user, const gx_kernel_call *k)
{
    struct gate *gate = user;
    pthread_mutex_lock(&gate->lock);
    gate->inside = 1;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->open)
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->ended = 1;
    pthread_mutex_unlock(&gate->lock);
    memset(k->out, 0, k->n * 4);
}

struct open_gate {
    struct gate *gate;
    gx_ctx *ctx;
    const gx_job *job;
};

/* Jobs are refused from when the unregistering has begun; then the gate opens. */
static void *refused_then_open(void *user)
{
    struct open_gate *g = user;
    gx_ticket *t = NULL;
    while (gx_submit(g->ctx, g->job, 1, NULL, &t) == GX_OK)
        gx_cancel(t), gx_ticket_destroy(&t);
    pthread_mutex_lock(&g->gate->lock);
    g->gate->open = 1;
    pthread_cond_broadcast(&g->gate->changed);
    pthread_mutex_unlock(&g->gate->lock);
    return NULL;
}

static void unregistering_waits(void **state)
{
    (void)state;
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};
    gx_kernel_params desc = {.struct_size = sizeof desc,
                             .name = "gate",
                             .operands = 1,
                             .a_bytes = 4,
                             .out_bytes = 4,
                             .fn = wait_at_gate,
                             .user = &gate};
    uint32_t a[4] = {1}, out[4];
    gx_ctx *ctx = gxt_open(&(gx_config){.device = "cpu"});
    gx_ticket *t = NULL;
    pthread_t thread;
    gx_op op;
    assert_int_equal(gx_op_register(ctx, &desc, &op), GX_OK);
    gx_job job = {.op = op, .n = 4, .a = gx_host(a), .out = gx_host(out)};
    struct open_gate opener = {&gate, ctx, &job};
    assert_int_equal(gx_submit(ctx, &job, 1, NULL, &t), GX_OK);
    pthread_mutex_lock(&gate.lock);
    while (!gate.inside)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    assert_int_equal(pthread_create(&thread, NULL, refused_then_open, &opener), 0);
    assert_int_equal(gx_op_unregister(ctx, op), GX_OK);
    assert_int_equal(gate.ended, 1);
    pthread_join(thread, NULL);
    assert_int_equal(gx_wait(t, UINT64_MAX, NULL), GX_OK);
    gx_ticket_destroy(&t);
    assert_int_equal(gx_op_unregister(ctx, op), GX_ERR_INVALID);
    gx_close(&ctx);
}

/* Each context has its own; values are never used again; closing unregisters. */
static void contexts_and_values(void **state)
{
    (void)state;
    gx_ctx *ctx = gxt_open(NULL), *other = gxt_open(NULL);
    gx_op op = registered_register(ctx, MULADD), same_name = registered_register(other, MULADD),
          last = 0;
    struct registered_case c;
    assert_int_not_equal(op, same_name);
    assert_string_equal(gx_op_get_info(op)->name, "m31-mul-add");
    assert_int_equal(gx_op_get_info(op)->operands, 3);
    assert_int_equal(gx_op_exists(op, 0), 1);
    assert_int_equal(gx_op_exists(op, GX_U32), 0);
    assert_int_equal(gx_op_by_name("m31-mul-add"), 0);
    registered_case_make(&c, MULADD, op, 10, 0, 1);
    gx_job job = registered_case_job(&c);
    assert_int_equal(gx_operand_bytes(&job, 'b'), 40);
    assert_int_equal(gxt_run(other, &job, "cpu", NULL), GX_ERR_INVALID);
    assert_int_equal(gxt_run(ctx, &job, "cpu", NULL), GX_OK);
    assert_int_equal(gx_op_unregister(other, op), GX_ERR_INVALID);
    assert_int_equal(gx_op_unregister(ctx, op), GX_OK);
    assert_int_equal(gxt_run(ctx, &job, "cpu", NULL), GX_ERR_INVALID);
    assert_int_equal(gx_operand_bytes(&job, 'b'), 0);
    assert_null(gx_op_get_info(op));
    for (int i = 0; i < 200; i++) {
        gx_op next = registered_register(ctx, MULADD);
        assert_int_not_equal(next, op);
        assert_int_not_equal(next, last);
        last = next;
        assert_int_equal(gx_op_unregister(ctx, next), GX_OK);
    }
    gx_close(&other);
    assert_null(gx_op_get_info(same_name));
    registered_case_free(&c);
    gx_close(&ctx);
}

/* Devices drop the kernel of an operation whose place they need for another. */
static void places_are_used_again(void **state)
{
    (void)state;
    gx_ctx *ctx = open_watched((gx_config){0});
    for (size_t i = 0; i < 70; i++) {
        enum registered_kernel k = (enum registered_kernel)(i % REGISTERED_KERNELS);
        gx_op op = registered_register(ctx, k);
        struct registered_case c;
        registered_case_make(&c, k, op, 60, 0, i + 1);
        for (size_t d = 0; d < device_count; d++)
            run_on(ctx, &c, &(gx_run_params){.device = devices[d]});
        registered_case_free(&c);
        assert_int_equal(gx_op_unregister(ctx, op), GX_OK);
    }
    struct gx_statistics stats = {0};
    gx__stats(ctx, &stats);
    assert_int_equal(stats.jobs_done, 70 * device_count);
    assert_int_equal(stats.elements, 70 * 60 * device_count);
    close_watched(ctx);
}

static void no_more_places(void **state)
{
    (void)state;
    gx_ctx *ctx = gxt_open(NULL);
    gx_op op;
    for (int i = 0; i <= 64; i++) {
        gx_kernel_params desc = registered_descs[COUNT];
        char name[20];
        snprintf(name, sizeof name, "op-%d", i);
        desc.name = name;
        assert_int_equal(gx_op_register(ctx, &desc, &op), i < 64 ? GX_OK : GX_ERR_OUT_OF_MEMORY);
    }
    assert_int_equal(op, 0);
    assert_non_null(strstr(gx_last_message(), "64"));
    gx_close(&ctx);
}

/* ---- names ---- */

static void trace_metrics_and_model(void **state)
{
    (void)state;
    char folder[] = "/tmp/gx-own-XXXXXX", trace[40], text[1 << 16];
    assert_non_null(mkdtemp(folder));
    snprintf(trace, sizeof trace, "%s/trace", folder);
    gx_ctx *ctx = gxt_open(&(gx_config){.device = "cpu", .trace = trace, .cache_dir = "none"});
    gx_op op = registered_register(ctx, MULADD);
    struct gx_model_row rows[64] = {{.n = 0}};
    size_t size = sizeof text, count = GXT_COUNT(rows), found = 0;
    struct registered_case c;
    registered_case_make(&c, MULADD, op, 20000, 0, 1);
    for (int i = 0; i < 5; i++)
        run_on(ctx, &c, &(gx_run_params){.device = "cpu"});
    assert_int_equal(gx_metrics_prometheus(ctx, text, &size), GX_OK);
    assert_non_null(strstr(text, "gpuexec_job_elements_total{device=\"cpu\",op=\"m31-mul-add\","
                                 "field=\"\"} 100000\n"));
    assert_int_equal(gx__model(ctx, rows, &count), GX_OK);
    for (size_t i = 0; i < count && i < GXT_COUNT(rows); i++)
        found += rows[i].op == op && !rows[i].field && rows[i].samples;
    assert_true(found > 0);
    assert_int_equal(gx_op_unregister(ctx, op), GX_OK);
    size = sizeof text;
    assert_int_equal(gx_metrics_prometheus(ctx, text, &size), GX_OK);
    assert_null(strstr(text, "m31-mul-add"));
    gx_close(&ctx);
    FILE *file = fopen(trace, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_non_null(strstr(text, "\"op\":\"m31-mul-add\""));
    registered_case_free(&c);
    unlink(trace);
    rmdir(folder);
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
        cmocka_unit_test(many_workgroups),
        cmocka_unit_test(parameters_are_aligned),
        cmocka_unit_test(no_elements),
        cmocka_unit_test(splits),
        cmocka_unit_test(devices_without_a_kernel),
        cmocka_unit_test(buffers_where_it_cannot_run),
        cmocka_unit_test(estimates),
        cmocka_unit_test(tickets),
        cmocka_unit_test(unregistering_waits),
        cmocka_unit_test(contexts_and_values),
        cmocka_unit_test(places_are_used_again),
        cmocka_unit_test(no_more_places),
        cmocka_unit_test(trace_metrics_and_model),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
