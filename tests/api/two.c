/* SPDX-License-Identifier: Apache-2.0
 *
 * Two devices at once (support/drivers.h). Each is named, used from several threads at once, and
 * keeps its buffers to itself.
 */
#include <pthread.h>

#include "support/drivers.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/oracle.h"

enum { N = 100, ELEMENT = 48, BYTES = N * ELEMENT, THREADS = 4 };

static const gx_field field = GX_BLS12_381_FQ;
static unsigned char in[2][BYTES], want[BYTES];
static struct gxt_heap heap;

static int set_up(void **state)
{
    (void)state;
    gxt_clear_environment();
    if (gxt_two_drivers())
        return -1;
    struct oracle_rng rng = {21};
    oracle_fill(field, &rng, in[0], N);
    oracle_fill(field, &rng, in[1], N);
    oracle_run(GX_DIV, field, N, want, in[0], in[1], NULL, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return gxt_two_drivers_end();
}

static gx_ctx *open_watched(void)
{
    gxt_heap_start(&heap);
    gx_config config = {.allocator = gxt_heap_allocator(&heap)};
    gxt_watch(&config);
    return gxt_open(&config);
}

static void close_watched(gx_ctx *ctx)
{
    gx_close(&ctx);
    assert_int_equal(gxt_complaints(), 0);
    gxt_heap_end(&heap);
}

/* ---- names ---- */

static void expect_name(gx_ctx *ctx, const char *asked, const char *got)
{
    uint32_t x[3] = {1, 2, 3}, out[3] = {0};
    gx_job job = gxt_job(GX_MUL, GX_U32, 3, x, x, NULL, out);
    gx_report r = {.struct_size = sizeof r};
    gx_status s = gxt_run(ctx, &job, asked, &r);
    assert_int_equal(s, got ? GX_OK : GX_ERR_NO_DEVICE);
    assert_string_equal(r.device, got ? got : "");
    assert_int_equal(out[2], got ? 9 : 0);
}

/* The first digit of the UUID that both share, found by trying all. */
static char uuid_digit(gx_ctx *ctx)
{
    char found = 0;
    for (const char *digit = "0123456789abcdef"; *digit; digit++) {
        char name[] = "vulkan:uuid=?";
        name[sizeof name - 2] = *digit;
        gx_buf *buf = NULL;
        if (gx_buf_create(ctx, name, 4, 0, &buf) == GX_OK)
            found = *digit;
        gx_buf_destroy(&buf);
    }
    return found;
}

static void both_are_listed_and_named(void **state)
{
    (void)state;
    gx_ctx *ctx = open_watched();
    gx_device_info infos[8] = {{.struct_size = sizeof *infos}};
    size_t count = GXT_COUNT(infos);
    assert_int_equal(gx_devices(ctx, infos, &count), GX_OK);
    assert_true(count > 4 && count <= GXT_COUNT(infos));
    assert_int_not_equal(infos[4].kind, GX_DEVICE_VULKAN); /* these two, no more */
    assert_string_equal(infos[2].name, "vulkan:0");
    assert_string_equal(infos[3].name, "vulkan:1");
    assert_true(infos[2].usable && infos[3].usable);
    expect_name(ctx, "vulkan:1", "vulkan:1");
    expect_name(ctx, "vulkan:0", "vulkan:0");
    expect_name(ctx, "vulkan", "vulkan:0"); /* the first, if both match */
    expect_name(ctx, "vulkan:LLVMpipe", "vulkan:0");
    char uuid[] = "vulkan:uuid=?";
    uuid[sizeof uuid - 2] = uuid_digit(ctx);
    expect_name(ctx, uuid, "vulkan:0");
    expect_name(ctx, "vulkan:2", NULL);
    expect_name(ctx, "vulkan:geforce", NULL);
    expect_name(ctx, "vulkan:uuid=", NULL);
    expect_name(ctx, "vulkan:uuid=00112233445566778899", NULL);
    close_watched(ctx);
}

/* ---- at once ---- */

struct worker {
    gx_ctx *ctx;
    const char *device;
    gx_buf *buf;
    unsigned right;
};

static unsigned rounds(void)
{
    return gxt_small() ? 5 : 40;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    for (unsigned i = 0; i < rounds(); i++) {
        unsigned char out[BYTES] = {0};
        gx_report r = {.struct_size = sizeof r};
        gx_job job = gxt_job(GX_DIV, field, N, in[0], in[1], NULL, out);
        gx_run_params opts = {.device = w->device,
                              .path = i % 2 ? GX_PATH_HOST_VISIBLE : GX_PATH_DEVICE_LOCAL};
        gx_status s = gx_buf_write(w->buf, 0, in, sizeof in);
        if (i % 3 == 0) {
            job.a = gx_dev(w->buf, 0);
            job.b = gx_dev(w->buf, BYTES);
        }
        if (s == GX_OK)
            s = gx_run(w->ctx, &job, 1, &opts, &r);
        w->right += s == GX_OK && !memcmp(out, want, BYTES) && !strcmp(r.device, w->device);
    }
    return NULL;
}

static void both_work_at_once(void **state)
{
    (void)state;
    gx_ctx *ctx = open_watched();
    pthread_t threads[THREADS];
    struct worker w[THREADS];
    for (int i = 0; i < THREADS; i++) {
        w[i] = (struct worker){.ctx = ctx, .device = i % 2 ? "vulkan:1" : "vulkan:0"};
        assert_int_equal(gx_buf_create(ctx, w[i].device, sizeof in, 0, &w[i].buf), GX_OK);
        assert_int_equal(pthread_create(&threads[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(w[i].right, rounds());
    }
    for (int i = 0; i < THREADS; i++) /* not beside jobs, see recover.c */
        gx_buf_destroy(&w[i].buf);
    close_watched(ctx);
}

/* The Vulkan loader's list of devices, shared by all contexts, changes whenever a device is opened
 * or closed, and is searched for every object name. */
static void *come_and_go(void *arg)
{
    struct worker *w = arg;
    for (unsigned i = 0; i < rounds(); i++) {
        uint32_t x[3] = {1, 2, 3}, out[3] = {0};
        gx_config config = {.cache_dir = "none"};
        gx_ctx *ctx = NULL;
        gx_job job = gxt_job(GX_MUL, GX_U32, 3, x, x, NULL, out);
        gxt_watch(&config);
        if (gx_open(&config, &ctx) == GX_OK && gxt_run(ctx, &job, w->device, NULL) == GX_OK)
            w->right += out[2] == 9;
        gx_close(&ctx);
    }
    return NULL;
}

static void contexts_come_and_go(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    struct worker w[THREADS];
    for (int i = 0; i < THREADS; i++) {
        w[i] = (struct worker){.device = i % 2 ? "vulkan:1" : "vulkan:0"};
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(w[i].right, rounds());
    }
    assert_int_equal(gxt_complaints(), 0);
}

static void buffers_stay_apart(void **state)
{
    (void)state;
    gx_ctx *ctx = open_watched();
    gx_buf *buf[2] = {0};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gx_buf_create(ctx, i ? "vulkan:1" : "vulkan:0", BYTES, 0, &buf[i]), GX_OK);
        assert_int_equal(gx_buf_write(buf[i], 0, in[i], BYTES), GX_OK);
    }
    unsigned char out[BYTES];
    gx_job job = gxt_job(GX_DIV, field, N, in[0], in[1], NULL, out);
    gx_report r = {.struct_size = sizeof r};
    job.a = gx_dev(buf[0], 0);
    assert_int_equal(gxt_run(ctx, &job, "vulkan:0", &r), GX_OK);
    assert_string_equal(r.device, "vulkan:0");
    assert_memory_equal(out, want, BYTES);
    assert_int_equal(gxt_run(ctx, &job, "vulkan:1", &r), GX_ERR_INVALID);
    job.b = gx_dev(buf[1], 0);
    assert_int_equal(gxt_run(ctx, &job, "vulkan:1", &r), GX_ERR_INVALID);
    assert_non_null(strstr(r.message, "vulkan:0"));
    assert_non_null(strstr(r.message, "vulkan:1"));
    memset(out, 0, BYTES);
    assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_OK); /* from both, in host memory */
    assert_memory_equal(out, want, BYTES);
    job.a = gx_host(in[0]);
    assert_int_equal(gxt_run(ctx, &job, "vulkan:1", &r), GX_OK);
    assert_string_equal(r.device, "vulkan:1");
    assert_memory_equal(out, want, BYTES);
    gx_buf_destroy(&buf[0]);
    gx_buf_destroy(&buf[1]);
    close_watched(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_are_listed_and_named),
        cmocka_unit_test(both_work_at_once),
        cmocka_unit_test(contexts_come_and_go),
        cmocka_unit_test(buffers_stay_apart),
    };
    return cmocka_run_group_tests_name("two", tests, set_up, tear_down);
}
