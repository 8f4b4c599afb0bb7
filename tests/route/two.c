/* SPDX-License-Identifier: Apache-2.0
 *
 * The router over two Vulkan devices (support/drivers.h), the WebGPU devices and the CPU: the same
 * bits however the work is shared, from many threads, and with one of the devices failing in every
 * way. The validation layer watches.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "support/drivers.h"
#include "api/counters.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/oracle.h"

/* More than GX_DEFAULT_GPU_ELEMS, which a GPU gets before anything is known. */
enum { N = 110000, FQ_N = 4096, ELEMENT = 48, THREADS = 8 };

static uint32_t a[N], b[N], sum[N], product[N];
static unsigned char fq[2][FQ_N * ELEMENT], quotient[FQ_N * ELEMENT];
static struct gxt_heap heap;
static bool webgpu; /* there are the two devices of it */

static int set_up(void **state)
{
    (void)state;
    uint64_t seed = 5;
    struct oracle_rng rng = {22};
    const char *names[GXT_WEBGPU];
    gxt_clear_environment();
    if (gxt_two_drivers())
        return -1;
    webgpu = gxt_webgpu(names) > 0;
    gxt_bytes(&seed, a, sizeof a);
    gxt_bytes(&seed, b, sizeof b);
    for (size_t i = 0; i < N; i++) {
        sum[i] = a[i] + b[i];
        product[i] = a[i] * b[i];
    }
    oracle_fill(GX_BLS12_381_FQ, &rng, fq[0], FQ_N);
    oracle_fill(GX_BLS12_381_FQ, &rng, fq[1], FQ_N);
    oracle_run(GX_DIV, GX_BLS12_381_FQ, FQ_N, quotient, fq[0], fq[1], NULL, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return gxt_two_drivers_end();
}

static gx_ctx *open_watched(const char *devices, uint64_t sample_every)
{
    gxt_heap_start(&heap);
    gx_config config = {
        .device = devices, .sample_every = sample_every, .allocator = gxt_heap_allocator(&heap)};
    gxt_watch(&config);
    return gxt_open(&config);
}

static void close_watched(gx_ctx *ctx)
{
    gx_close(&ctx);
    assert_int_equal(gxt_complaints(), 0);
    gxt_heap_end(&heap);
}

/* ---- the same bits ---- */

/* Returns how many devices had a share. */
static unsigned run_once(gx_ctx *ctx, gx_policy policy, int which)
{
    static uint32_t out[N];
    static unsigned char fq_out[FQ_N * ELEMENT];
    gx_run_params opts = {.policy = policy};
    gx_report r = gxt_report();
    gx_job job = gxt_job(which ? GX_MUL : GX_ADD, GX_U32, N, a, b, NULL, out);
    if (which == 2)
        job = gxt_job(GX_DIV, GX_BLS12_381_FQ, FQ_N, fq[0], fq[1], NULL, fq_out);
    memset(out, 0x5c, sizeof out);
    memset(fq_out, 0x5c, sizeof fq_out);
    gx_status s = gx_run(ctx, &job, 1, &opts, &r);
    if (s != GX_OK)
        fail_msg("%s: %s", gx_status_name(s), r.message);
    if (which == 2)
        assert_memory_equal(fq_out, quotient, sizeof quotient);
    else
        assert_memory_equal(out, which ? product : sum, sizeof out);
    unsigned shares = 0;
    for (size_t i = 0; i < r.candidates; i++)
        shares += r.candidate[i].elements > 0;
    return shares;
}

static void same_bits(void **state)
{
    (void)state;
    static const char *const lists[] = {
        "cpu,vulkan:0,vulkan:1",
        "vulkan:1,vulkan:0",
        "cpu,vulkan:0,vulkan:1,webgpu:vulkan:0,webgpu:gl:0",
    };
    const gx_op ops[] = {GX_ADD, GX_MUL, GX_DIV};
    const gx_field fields[] = {GX_U32, GX_BLS12_381_FQ};
    for (size_t l = 0; l < GXT_COUNT(lists) - (webgpu ? 0 : 1); l++) {
        unsigned shares = 0;
        gx_ctx *ctx = open_watched(lists[l], 0);
        gx_calibrate_params quick = {.ops = ops,
                                     .op_count = GXT_COUNT(ops),
                                     .fields = fields,
                                     .field_count = GXT_COUNT(fields),
                                     .max_elems = 4096,
                                     .limit_ns = 2000000000};
        for (int calibrated = 0; calibrated < 2; calibrated++) {
            if (calibrated)
                assert_int_equal(gx_calibrate(ctx, &quick), GX_OK);
            for (gx_policy policy = GX_POLICY_AUTO; policy <= GX_POLICY_THROUGHPUT; policy++) {
                for (int i = 0; i < (gxt_small() ? 3 : 9); i++) {
                    unsigned now = run_once(ctx, policy, i % 3);
                    shares = now > shares ? now : shares;
                }
            }
        }
        print_message("%s: up to %u devices at once\n", lists[l], shares);
        close_watched(ctx);
    }
}

/* ---- one of them fails ---- */

struct worker {
    gx_ctx *ctx;
    unsigned seed, rounds, right;
    uint32_t out[N];
};

static void *work(void *arg)
{
    struct worker *w = arg;
    for (unsigned i = 0; i < w->rounds; i++) {
        int in_place = (int)(w->seed + i) % 3 == 0;
        memcpy(w->out, a, sizeof a);
        gx_job job =
            gxt_job(i % 2 ? GX_MUL : GX_ADD, GX_U32, N, in_place ? w->out : a, b, NULL, w->out);
        /* left alone, they may all go to "cpu", where nothing fails */
        gx_run_params opts = {.policy = i % 2 ? GX_POLICY_AUTO : GX_POLICY_GPU};
        gx_ticket *ticket = NULL;
        gx_status s;
        if ((w->seed + i) % 2) {
            s = gx_run(w->ctx, &job, 1, &opts, NULL);
        } else {
            s = gx_submit(w->ctx, &job, 1, &opts, &ticket);
            if (s == GX_OK)
                s = gx_wait(ticket, UINT64_MAX, NULL);
            gx_ticket_destroy(&ticket);
        }
        if (s != GX_OK)
            print_error("%s\n", gx_status_name(s));
        w->right += s == GX_OK && !memcmp(w->out, i % 2 ? product : sum, sizeof w->out);
    }
    return NULL;
}

static void run_threads(gx_ctx *ctx, unsigned count, unsigned rounds)
{
    static struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < count; i++) {
        workers[i].ctx = ctx;
        workers[i].seed = i;
        workers[i].rounds = rounds;
        workers[i].right = 0;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].right, rounds);
    }
}

static void one_fails(void **state)
{
    (void)state;
    static const char *const whats[] = {"fail", "oom", "lose", "hang", "corrupt"};
    static const unsigned ats[] = {1, 2, 4, 7, 11, 18};
    for (size_t w = 0; w < GXT_COUNT(whats); w++) {
        unsigned fallbacks = 0;
        for (size_t i = 0; i < GXT_COUNT(ats); i += gxt_small() ? 2 : 1) {
            char list[80];
            struct gx_statistics s = {0};
            snprintf(list, sizeof list, "fault:%s@%u:%s,vulkan:1,cpu", whats[w], ats[i],
                     webgpu && i == 2 ? "webgpu:vulkan:0" : "vulkan:0");
            gx_ctx *ctx = open_watched(list, 1);
            print_message("%s\n", list);
            run_threads(ctx, 1, 4);
            run_threads(ctx, THREADS, 2);
            gx__stats(ctx, &s);
            fallbacks += s.fallbacks > 0;
            assert_int_equal(s.jobs_failed, 0);
            assert_int_equal(s.mismatches > 0, s.fallbacks > 0 && !strcmp(whats[w], "corrupt"));
            close_watched(ctx);
        }
        if (strcmp(whats[w], "oom") != 0)
            assert_true(fallbacks > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits),
        cmocka_unit_test(one_fails),
    };
    return cmocka_run_group_tests_name("route-two", tests, set_up, tear_down);
}
