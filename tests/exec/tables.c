/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of transforms as users of memory: a domain that ends takes its own with it, tables are
 * in nobody's way, neither those that are idle nor those of other threads, and any number of
 * domains may be in a call. Results are those of the reference device.
 */
#include <pthread.h>
#include <time.h>

#include "api/counters.h"
#include "support/harness.h"

enum { ELEMENT = 32, THREADS = 4, DOMAINS = 9 };

/* Of the GPU: for one table. */
#define GPU_MEMORY 400000u

static gx_ctx *reference, *gpu; /* one of each, because kernels take long to compile */
static uint64_t state = 23;

static gx_ctx *open_with(const char *device, uint64_t memory)
{
    return gxt_open(&(gx_config){.struct_size = sizeof(gx_config),
                                 .device = device,
                                 .device_memory = memory,
                                 .cache_dir = "none"});
}

/* A transform in two contexts. */
struct transform {
    gx_domain *domain[2];
    gx_ntt_params params[2];
    gx_job job[2];
    void *out[2];
};

static void make(struct transform *t, gx_ctx *ctx, uint32_t log2_n, uint32_t flags)
{
    gx_ctx *contexts[2] = {ctx, reference};
    const gx_domain_params desc = {
        .struct_size = sizeof desc, .field = GX_BN254_FR, .log2_size = log2_n};
    size_t n = (size_t)1 << log2_n;
    void *in = gxt_alloc(n * ELEMENT);
    gxt_fill(&state, GX_BN254_FR, in, n);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gx_domain_create(contexts[i], &desc, &t->domain[i]), GX_OK);
        t->out[i] = gxt_alloc(n * ELEMENT);
        t->params[i] = (gx_ntt_params){.struct_size = sizeof(gx_ntt_params),
                                       .domain = t->domain[i],
                                       .log2_n = log2_n,
                                       .flags = flags};
        t->job[i] = (gx_job){.op = GX_NTT,
                             .field = GX_BN254_FR,
                             .n = n,
                             .a = gx_host(in),
                             .out = gx_host(t->out[i]),
                             .params = &t->params[i]};
    }
    assert_int_equal(gx_run(reference, &t->job[1], 1, NULL, NULL), GX_OK);
}

static void is_right(const struct transform *t)
{
    assert_memory_equal(t->out[0], t->out[1], t->job[0].n * ELEMENT);
}

static void free_transform(struct transform *t)
{
    for (int i = 0; i < 2; i++) {
        gx_domain_destroy(&t->domain[i]);
        free(t->out[i]);
    }
    free(t->job[0].a.host);
}

/* Device memory outside the pools. */
static uint64_t kept(gx_ctx *ctx)
{
    struct gx_statistics stats = {0};
    gx__stats(ctx, &stats);
    return stats.device_bytes - stats.pool_bytes;
}

/* The threads of the library may have it for a moment after a ticket is done. */
static void becomes_free(gx_ctx *ctx)
{
    for (int i = 0; kept(ctx) && i < 10000; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(kept(ctx), 0);
}

/* ---- domains that end ---- */

static void end_while_others_run(gx_ctx *ctx)
{
    enum { JOBS = 64 };
    struct transform first, other;
    gx_job jobs[JOBS];
    gx_ticket *ticket[2];
    make(&first, ctx, 3, 0);
    make(&other, ctx, 8, 0);
    for (int i = 0; i < JOBS; i++)
        jobs[i] = other.job[0];
    assert_int_equal(gx_submit(ctx, &first.job[0], 1, NULL, &ticket[0]), GX_OK);
    assert_int_equal(gx_submit(ctx, jobs, JOBS, NULL, &ticket[1]), GX_OK);
    assert_int_equal(gx_wait(ticket[0], UINT64_MAX, NULL), GX_OK);
    is_right(&first);
    free_transform(&first);
    assert_int_equal(gx_wait(ticket[1], UINT64_MAX, NULL), GX_OK);
    is_right(&other);
    free_transform(&other);
    becomes_free(ctx);
    gx_ticket_destroy(&ticket[0]);
    gx_ticket_destroy(&ticket[1]);
}

static void domains_take_their_tables_with_them(void **unused)
{
    gx_ctx *cpu = open_with("cpu", 0);
    (void)unused;
    end_while_others_run(cpu);
    end_while_others_run(gpu);
    gx_close(&cpu);
}

/* ---- little memory ---- */

/* A scan fits alone, but not beside a table. */
static void idle_tables_make_room(void **unused)
{
    enum { N = 60, MEMORY = 270000 };
    gx_ctx *ctx = open_with("cpu", MEMORY);
    struct transform t;
    char in[N * ELEMENT], out[N * ELEMENT], right[N * ELEMENT];
    (void)unused;
    gxt_fill(&state, GX_BN254_FR, in, N);
    gx_job scan = gxt_job(GX_PREFIX_SUM, GX_BN254_FR, N, in, NULL, NULL, right);
    assert_int_equal(gx_run(reference, &scan, 1, NULL, NULL), GX_OK);
    scan.out = gx_host(out);
    make(&t, ctx, 7, GX_NTT_COSET);
    gx_job jobs[] = {t.job[0], scan, t.job[0]};
    assert_int_equal(gx_run(ctx, jobs, GXT_COUNT(jobs), NULL, NULL), GX_OK);
    is_right(&t);
    assert_memory_equal(out, right, sizeof out);
    gx_buf *buf;
    assert_int_equal(gx_buf_create(ctx, "cpu", MEMORY, 0, &buf), GX_OK);
    gx_buf_destroy(&buf);
    free_transform(&t);
    gx_close(&ctx);
}

static void many_domains_in_a_call(void **unused)
{
    (void)unused;
    for (uint32_t log2_n = 0; log2_n <= 3; log2_n++) {
        struct transform t[DOMAINS];
        gx_job jobs[DOMAINS];
        for (int i = 0; i < DOMAINS; i++) {
            make(&t[i], gpu, log2_n, 0);
            jobs[i] = t[i].job[0];
        }
        assert_int_equal(gx_run(gpu, jobs, DOMAINS, NULL, NULL), GX_OK);
        for (int i = 0; i < DOMAINS; i++) {
            is_right(&t[i]);
            free_transform(&t[i]);
        }
    }
    becomes_free(gpu);
}

/* ---- threads ---- */

struct thread {
    gx_ctx *ctx;
    struct transform transform;
    bool submits;
    gx_status status;
    pthread_t id;
};

static void *transform_often(void *user)
{
    struct thread *t = user;
    for (int i = 0; i < 40 && t->status == GX_OK; i++) {
        gx_ticket *ticket;
        if (!t->submits) {
            t->status = gx_run(t->ctx, &t->transform.job[0], 1, NULL, NULL);
            continue;
        }
        t->status = gx_submit(t->ctx, &t->transform.job[0], 1, NULL, &ticket);
        if (t->status == GX_OK)
            t->status = gx_wait(ticket, UINT64_MAX, NULL);
        gx_ticket_destroy(&ticket);
    }
    return NULL;
}

/* There is memory for one of them at a time. */
static void run_threads(gx_ctx *ctx, uint32_t log2_n)
{
    struct thread threads[THREADS] = {{0}};
    for (int i = 0; i < THREADS; i++) {
        threads[i].ctx = ctx;
        threads[i].submits = i % 2;
        make(&threads[i].transform, ctx, log2_n, GX_NTT_COSET);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i].id, NULL, transform_often, &threads[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i].id, NULL);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(threads[i].status, GX_OK);
        is_right(&threads[i].transform);
        free_transform(&threads[i].transform);
    }
    becomes_free(ctx);
}

static void threads_wait_for_each_other(void **unused)
{
    gx_ctx *cpu = open_with("cpu", 22000);
    (void)unused;
    run_threads(cpu, 6);
    run_threads(gpu, 6);
    gx_close(&cpu);
}

static int prepare(void **unused)
{
    (void)unused;
    gxt_clear_environment();
    reference = open_with("ref", 0);
    gpu = open_with(gxt_gpu(), GPU_MEMORY);
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    gx_close(&gpu);
    gx_close(&reference);
    return 0;
}

int main(int argc, char **argv)
{
    gxt_choose_gpu(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(domains_take_their_tables_with_them),
        cmocka_unit_test(idle_tables_make_room),
        cmocka_unit_test(many_domains_in_a_call),
        cmocka_unit_test(threads_wait_for_each_other),
    };
    return cmocka_run_group_tests_name("tables", tests, prepare, end);
}
