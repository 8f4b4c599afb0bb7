/* SPDX-License-Identifier: Apache-2.0
 *
 * A device that fails at each of its calls in turn while jobs and buffers use it, on both paths, on
 * the CPU and on lavapipe: the right status each time, results as computed by GMP, the context and
 * the device stay usable, buffers of a lost device say so and can be destroyed. At the end nothing
 * is left, according to our allocator and the validation layer.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "api/counters.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/oracle.h"

enum { N = 70, ELEMENT = 32, BYTES = N * ELEMENT, AT_MAX = 500, PER_CONTEXT = 24 };

static const gx_field field = GX_BN254_FR;

static const char *devices[2] = {"cpu"};
static size_t device_count = 1;
static unsigned char in[2][BYTES], product[BYTES], quotient[BYTES], sum[BYTES];
static struct gxt_heap heap;

static int prepare(void **state)
{
    (void)state;
    struct oracle_rng rng = {9};
    gxt_clear_environment();
    devices[1] = gxt_gpu();
    device_count = devices[1] ? 2 : 1;
    oracle_fill(field, &rng, in[0], N);
    oracle_fill(field, &rng, in[1], N);
    oracle_run(GX_MUL, field, N, product, in[0], in[1], NULL, 0);
    oracle_run(GX_DIV, field, N, quotient, in[0], in[1], NULL, 0);
    oracle_run(GX_ADD, field, N, sum, in[0], in[1], NULL, 0);
    return 0;
}

/* One element per dispatch, so that jobs consist of two submits. */
static gx_ctx *open_watched(void)
{
    gxt_heap_start(&heap);
    gx_config config = {.dispatch_elems = 1, .allocator = gxt_heap_allocator(&heap)};
    gxt_watch(&config);
    return gxt_open(&config);
}

static void close_watched(gx_ctx *ctx)
{
    struct gx_statistics stats = {0};
    gx__stats(ctx, &stats);
    assert_int_equal(stats.validation_messages, 0);
    gx_close(&ctx);
    assert_int_equal(gxt_complaints(), 0); /* of what is left too */
    gxt_heap_end(&heap);
}

/* ---- the scene: what a program does with a device ---- */

struct scene {
    gx_ctx *ctx;
    const char *device;
    gx_buf *in, *out;
    bool mappable; /* out */
    unsigned wrong_bits;
};

static void compare(struct scene *s, const unsigned char *got, const unsigned char *want)
{
    for (size_t i = 0; i < BYTES; i++)
        s->wrong_bits += (unsigned)__builtin_popcount(got[i] ^ want[i]);
}

static gx_status run_on(struct scene *s, const gx_job *job, gx_path path)
{
    gx_run_params opts = {.device = s->device, .path = path};
    gx_report r = {.struct_size = sizeof r};
    gx_status status = gx_run(s->ctx, job, 1, &opts, &r);
    assert_int_equal(r.status, status);
    assert_int_equal(r.message[0] != 0, status != GX_OK);
    return status;
}

static gx_status host_visible(struct scene *s)
{
    unsigned char out[BYTES];
    gx_job job = gxt_job(GX_MUL, field, N, in[0], in[1], NULL, out);
    gx_status status = run_on(s, &job, GX_PATH_HOST_VISIBLE);
    if (status == GX_OK)
        compare(s, out, product);
    return status;
}

static gx_status device_local_in_place(struct scene *s)
{
    unsigned char out[BYTES];
    memcpy(out, in[0], BYTES);
    gx_job job = gxt_job(GX_DIV, field, N, out, in[1], NULL, out);
    gx_status status = run_on(s, &job, GX_PATH_DEVICE_LOCAL);
    if (status == GX_OK)
        compare(s, out, quotient);
    return status;
}

static gx_status create_in(struct scene *s)
{
    return gx_buf_create(s->ctx, s->device, sizeof in, 0, &s->in);
}

static gx_status create_out(struct scene *s)
{
    s->mappable = gxt_shares_memory(s->device);
    return gx_buf_create(s->ctx, s->device, BYTES, s->mappable ? GX_BUF_MAPPABLE : 0, &s->out);
}

static gx_status write_in(struct scene *s)
{
    return gx_buf_write(s->in, 0, in, sizeof in);
}

static gx_status write_out(struct scene *s)
{
    return gx_buf_write(s->out, 0, in[0], BYTES);
}

static gx_status resident(struct scene *s)
{
    gx_job job = {.op = GX_MUL, .field = field, .n = N};
    job.a = gx_dev(s->in, 0);
    job.b = gx_dev(s->in, BYTES);
    job.out = gx_dev(s->out, 0);
    return run_on(s, &job, GX_PATH_AUTO);
}

static gx_status read_out(struct scene *s)
{
    unsigned char got[BYTES];
    gx_status status = gx_buf_read(s->out, 0, got, BYTES);
    if (status == GX_OK)
        compare(s, got, product);
    return status;
}

static gx_status read_in(struct scene *s)
{
    unsigned char got[sizeof in];
    gx_status status = gx_buf_read(s->in, 0, got, sizeof got);
    if (status == GX_OK)
        assert_memory_equal(got, in, sizeof in);
    return status;
}

static gx_status map_out(struct scene *s)
{
    void *got;
    if (!s->mappable)
        return read_out(s);
    gx_status status = gx_buf_map(s->out, &got);
    if (status != GX_OK)
        return status;
    compare(s, got, product);
    gx_buf_unmap(s->out);
    return GX_OK;
}

/* One operand in a buffer, one in host memory, the result in host memory. */
static gx_status mixed(struct scene *s)
{
    unsigned char out[BYTES];
    gx_job job = gxt_job(GX_ADD, field, N, in[0], in[1], NULL, out);
    job.a = gx_dev(s->in, 0);
    gx_status status = run_on(s, &job, GX_PATH_DEVICE_LOCAL);
    if (status == GX_OK)
        compare(s, out, sum);
    return status;
}

static gx_status (*const actions[])(struct scene *) = {
    host_visible, device_local_in_place,
    create_in,    create_out,
    write_in,     write_out,
    resident,     read_out,
    read_in,      map_out,
    mixed,
};
enum { ACTIONS = GXT_COUNT(actions) };

static void end_scene(struct scene *s)
{
    gx_buf_destroy(&s->in);
    gx_buf_destroy(&s->out);
}

/* A job of few calls. */
static gx_status probe(gx_ctx *ctx, const char *device)
{
    uint32_t x[5] = {1, 2, 3, 4, 5}, out[5] = {0};
    gx_job job = gxt_job(GX_MUL, GX_U32, 5, x, x, NULL, out);
    gx_status status = gxt_run(ctx, &job, device, NULL);
    for (uint32_t i = 0; i < 5 && status == GX_OK; i++)
        assert_int_equal(out[i], x[i] * x[i]);
    return status;
}

/* ---- sweeping ---- */

struct mode {
    const char *what;
    gx_status status;
};

/* The scenario on a device that fails at call number `at`. False if it never got there. */
typedef bool (*scene_fn)(gx_ctx *ctx, const char *device, const struct mode *mode, unsigned at);

/* Number of calls at which it failed. A lack of memory may be overcome by freeing idle memory: it
 * ends when no failure was seen for a while. */
static unsigned sweep(const char *inner, const struct mode *mode, scene_fn scene)
{
    unsigned at = 1, step = gxt_small() ? 3 : 1, count = 0, quiet = 0;
    unsigned enough = strcmp(mode->what, "oom") == 0 ? 12 : 1;
    while (quiet < enough) {
        gx_ctx *ctx = open_watched(); /* which may have this many devices and no more */
        for (unsigned i = 0; i < PER_CONTEXT && quiet < enough; i++, at += step) {
            char device[48];
            snprintf(device, sizeof device, "fault:%s@%u:%s", mode->what, at, inner);
            bool broke = scene(ctx, device, mode, at);
            count += broke;
            quiet = broke ? 0 : quiet + 1;
            assert_int_equal(probe(ctx, "cpu"), GX_OK);
        }
        close_watched(ctx);
        assert_true(at < AT_MAX);
    }
    return count;
}

static void sweep_all(const struct mode *mode, scene_fn scene)
{
    for (size_t d = 0; d < device_count; d++) {
        unsigned calls = sweep(devices[d], mode, scene);
        print_message("%s on %s: at %u calls in turn\n", mode->what, devices[d], calls);
        assert_true(calls >= (gxt_small() ? 3 : 8));
    }
}

/* ---- once ---- */

static bool scene_breaks_once(gx_ctx *ctx, const char *device, const struct mode *mode, unsigned at)
{
    (void)at;
    struct scene s = {.ctx = ctx, .device = device};
    unsigned failures = 0;
    for (size_t i = 0; i < ACTIONS; i++) {
        gx_status status = actions[i](&s);
        if (status == GX_OK)
            continue;
        assert_int_equal(status, mode->status);
        failures++;
        assert_int_equal(actions[i](&s), GX_OK);
    }
    assert_int_equal(s.wrong_bits, 0);
    assert_true(failures <= 1);
    end_scene(&s);
    return failures;
}

static void a_call_fails(void **state)
{
    (void)state;
    sweep_all(&(struct mode){"fail", GX_ERR_DEVICE}, scene_breaks_once);
}

static void memory_runs_out(void **state)
{
    (void)state;
    sweep_all(&(struct mode){"oom", GX_ERR_OUT_OF_DEVICE_MEMORY}, scene_breaks_once);
}

/* ---- for good ---- */

static void expect_lost(struct scene *s)
{
    void *memory;
    if (s->in) {
        assert_int_equal(read_in(s), GX_ERR_DEVICE_LOST);
        assert_int_equal(write_in(s), GX_ERR_DEVICE_LOST);
        assert_int_equal(mixed(s), GX_ERR_DEVICE_LOST);
    }
    if (s->out) {
        if (s->mappable)
            assert_int_equal(gx_buf_map(s->out, &memory), GX_ERR_DEVICE_LOST);
        assert_int_equal(resident(s), GX_ERR_DEVICE_LOST);
        s->device = NULL; /* even if only the buffers tell */
        assert_int_equal(resident(s), GX_ERR_DEVICE_LOST);
    }
}

/* Number of calls that the probe takes on a newly opened device; 0: not known yet. */
static unsigned probe_calls;

/* A reopened device counts from 1 again, and is lost again if the probe takes as many calls. */
static void expect_reopened(gx_ctx *ctx, const char *device, const struct mode *mode, unsigned at)
{
    gx_status status = probe(ctx, device);
    if (!probe_calls && status == GX_OK)
        probe_calls = at - 1;
    assert_int_equal(status, probe_calls && at > probe_calls ? GX_OK : mode->status);
}

static bool scene_until_lost(gx_ctx *ctx, const char *device, const struct mode *mode, unsigned at)
{
    struct scene s = {.ctx = ctx, .device = device};
    gx_status status = GX_OK;
    if (at == 1)
        probe_calls = 0;
    for (size_t i = 0; i < ACTIONS && status == GX_OK; i++)
        status = actions[i](&s);
    assert_int_equal(s.wrong_bits, 0);
    if (status != GX_OK) {
        assert_int_equal(status, mode->status);
        expect_lost(&s);
        expect_reopened(ctx, device, mode, at); /* even while buffers keep the old one */
        expect_lost(&s);
    }
    end_scene(&s);
    return status != GX_OK;
}

static void the_device_is_lost(void **state)
{
    (void)state;
    sweep_all(&(struct mode){"lose", GX_ERR_DEVICE_LOST}, scene_until_lost);
    assert_true(probe_calls > 0);
}

static void the_device_hangs(void **state)
{
    (void)state;
    sweep_all(&(struct mode){"hang", GX_ERR_TIMEOUT}, scene_until_lost);
    assert_true(probe_calls > 0);
}

/* ---- unnoticed ---- */

static bool scene_with_a_wrong_bit(gx_ctx *ctx, const char *device, const struct mode *mode,
                                   unsigned at)
{
    (void)mode;
    (void)at;
    struct scene s = {.ctx = ctx, .device = device};
    unsigned readers = 0, wrong = 0;
    for (size_t i = 0; i < ACTIONS; i++) {
        s.wrong_bits = 0;
        assert_int_equal(actions[i](&s), GX_OK);
        assert_true(s.wrong_bits <= 1);
        readers += s.wrong_bits && (actions[i] == read_out || actions[i] == map_out);
        wrong += s.wrong_bits;
    }
    assert_true(wrong <= 1 || (wrong == 2 && readers == 2)); /* one result, looked at twice */
    end_scene(&s);
    return wrong;
}

static void a_result_is_corrupted(void **state)
{
    (void)state;
    sweep_all(&(struct mode){"corrupt", GX_OK}, scene_with_a_wrong_bit);
}

/* ---- again and again ---- */

/* Lost engines are closed once their buffers are gone: nothing accumulates. */
static void lost_many_times(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = open_watched();
        size_t live = 0;
        char device[48];
        snprintf(device, sizeof device, "fault:lose@2:%s", devices[d]);
        for (int i = 0; i < (gxt_small() ? 10 : 100); i++) {
            struct scene s = {.ctx = ctx, .device = device};
            assert_int_equal(create_in(&s), GX_OK);
            assert_int_equal(host_visible(&s), GX_ERR_DEVICE_LOST);
            assert_int_equal(create_out(&s), GX_OK); /* on the next one */
            assert_int_equal(read_in(&s), GX_ERR_DEVICE_LOST);
            assert_int_equal(write_out(&s), GX_ERR_DEVICE_LOST);
            end_scene(&s);
            if (i == 1)
                live = heap.count;
            assert_true(i < 2 || heap.count == live);
        }
        close_watched(ctx);
    }
}

/* A buffer of the old device and one of the new belong to two devices of one name. */
static void old_and_new(void **state)
{
    (void)state;
    gx_ctx *ctx = open_watched();
    struct scene old = {.ctx = ctx, .device = "fault:lose@5:cpu"}, new = old;
    assert_int_equal(create_in(&old), GX_OK);
    while (write_in(&old) == GX_OK)
        ;
    assert_int_equal(create_out(&new), GX_OK);
    new.in = old.in;
    assert_int_equal(resident(&new), GX_ERR_DEVICE_LOST);
    new.device = NULL;
    assert_int_equal(resident(&new), GX_ERR_DEVICE_LOST);
    /* Also where nothing is read of the old one. */
    gx_job none = gxt_job(GX_SUM, field, 0, NULL, NULL, NULL, NULL);
    none.a = gx_dev(old.in, 0);
    none.out = gx_dev(new.out, 0);
    assert_int_equal(gxt_run(ctx, &none, NULL, NULL), GX_ERR_DEVICE_LOST);
    new.in = NULL;
    end_scene(&new);
    end_scene(&old);
    close_watched(ctx);
}

/* ---- from many threads ---- */

enum { THREADS = 4 };

struct worker {
    gx_ctx *ctx;
    const char *device;
    unsigned right, lost;
};

/* Whatever happens in other threads meanwhile: a result is right, or the device was lost. */
static void *work(void *arg)
{
    struct worker *w = arg;
    for (int i = 0; i < (gxt_small() ? 50 : 400); i++) {
        uint32_t x[5] = {1, 2, 3, 4, (uint32_t)i}, out[5] = {0};
        gx_job job = gxt_job(GX_MUL, GX_U32, 5, x, x, NULL, out);
        gx_buf *buf = NULL;
        uint32_t flags = gxt_shares_memory(w->device) ? GX_BUF_MAPPABLE : 0;
        gx_status s = gx_buf_create(w->ctx, w->device, sizeof x, flags, &buf);
        if (s == GX_OK)
            s = gx_buf_write(buf, 0, x, sizeof x);
        if (s == GX_OK) {
            job.a = job.b = gx_dev(buf, 0);
            s = gxt_run(w->ctx, &job, i % 2 ? w->device : NULL, NULL);
        }
        gx_buf_destroy(&buf);
        w->right += s == GX_OK && out[4] == x[4] * x[4] && out[1] == 4;
        w->lost += s == GX_ERR_DEVICE_LOST;
    }
    return NULL;
}

static void lost_under_many_threads(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = open_watched();
        char device[48];
        pthread_t threads[THREADS];
        struct worker w[THREADS];
        unsigned right = 0, lost = 0, all = THREADS * (gxt_small() ? 50 : 400);
        snprintf(device, sizeof device, "fault:lose@150:%s", devices[d]);
        for (int i = 0; i < THREADS; i++) {
            w[i] = (struct worker){.ctx = ctx, .device = device};
            assert_int_equal(pthread_create(&threads[i], NULL, work, &w[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            right += w[i].right;
            lost += w[i].lost;
        }
        assert_int_equal(right + lost, all);
        assert_true(lost > 0 && right > all / 2);
        assert_int_equal(probe(ctx, "cpu"), GX_OK);
        close_watched(ctx);
    }
}

int main(int argc, char **argv)
{
    gxt_choose_gpu(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_fails),          cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(the_device_is_lost),    cmocka_unit_test(the_device_hangs),
        cmocka_unit_test(a_result_is_corrupted), cmocka_unit_test(lost_many_times),
        cmocka_unit_test(old_and_new),           cmocka_unit_test(lost_under_many_threads),
    };
    return cmocka_run_group_tests_name("recover", tests, prepare, NULL);
}
