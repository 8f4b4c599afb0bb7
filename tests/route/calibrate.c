/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibration of machines that files describe, whose time is exact: what the models predict
 * afterwards is compared with what jobs then take.
 */
#include <math.h>
#include <stdio.h>

#include "base/options.h"
#include "compose/compose.h"
#include "exec/buffer.h"
#include "exec/pipe.h"
#include "op/traits.h"
#include "route/calibrate.h"
#include "route/slots.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/task.h"

#define DEVICES 2

static struct gx_instance instance;
static struct gx_registered_memory hosts;
static struct gx_engine *engine;
static struct gx_calibrated devices[DEVICES];
static struct gx_device_slot slots[DEVICES];

static void open_instance(gx_allocator allocator)
{
    struct gx_error error = {""};
    gx_config config = {.cache_dir = "none", .allocator = allocator};
    memset(&instance, 0, sizeof instance);
    memset(&hosts, 0, sizeof hosts);
    assert_int_equal(gx__config_complete(&instance.config, &config, &error), GX_OK);
    gx__registered_memory_init(&hosts);
    instance.registered = &hosts;
}

static gx_status open_device(size_t i, const char *name)
{
    struct gx_error error = {""};
    gx_status s = gx__engine_open(&engine[i], &instance, name, &error);
    if (s != GX_OK)
        return s;
    engine[i].slot = &slots[i];
    devices[i].engine = &engine[i];
    devices[i].model = gx__model_open(&instance, name, engine[i].device.info.description);
    return devices[i].model ? GX_OK : GX_ERR_OUT_OF_MEMORY;
}

static void open_devices(const char *first, const char *second)
{
    open_instance((gx_allocator){0});
    assert_int_equal(open_device(0, first), GX_OK);
    assert_int_equal(open_device(1, second), GX_OK);
}

static void close_devices(void)
{
    for (size_t i = 0; i < DEVICES; i++) {
        gx__model_close(devices[i].model);
        gx__engine_close(&engine[i]);
        devices[i] = (struct gx_calibrated){0};
    }
    gx__registered_memory_close(&hosts);
    gx__threads_end(&instance);
    memset(engine, 0, DEVICES * sizeof *engine);
}

static const gx_op two_ops[] = {GX_ADD, GX_MUL};
static const gx_field one_field[] = {GX_BLS12_381_FQ};
static const struct gx_calibration small = {.ops = two_ops,
                                            .op_count = 2,
                                            .fields = one_field,
                                            .field_count = 1,
                                            .max_elems = 4096,
                                            .limit_ns = 600000000000u};

/* Where times are compared. */
static size_t most_measured(void)
{
    return gxt_small() ? 16384 : 65536;
}

/* What a job takes that has been run before. */
static double takes(struct gx_engine *on, const gx_job *job)
{
    uint64_t start = 0;
    for (int i = 0; i < 3; i++) {
        struct gx_batch batch = {.jobs = gxt_task(job), .count = 1};
        start = gx__engine_now(on);
        assert_int_equal(gx__compose_run(on, &batch), GX_OK);
    }
    return (double)(gx__engine_now(on) - start);
}

static double error_at(size_t i, const struct gx_kind *kind, gx_job job, size_t n)
{
    struct gx_prediction p;
    job.n = n;
    if (!gx__model_predict(devices[i].model, kind, (double)n, &p))
        fail_msg("%zu elements: not known", n);
    return fabs(p.ns / takes(devices[i].engine, &job) - 1);
}

/* On its points it is right; between them it is on average, for what these machines take is
 * no line there: another thread copies from 5461 elements on, another path becomes the better
 * one. */
static void compare(size_t i, const struct gx_kind *kind, gx_job job)
{
    double sum = 0, worst = 0;
    int count = 0;
    for (size_t n = 64; n <= most_measured(); n *= 4)
        assert_true(error_at(i, kind, job, n) < 0.001);
    for (size_t n = 64; n <= most_measured(); n += n * 37 / 100, count++) {
        double error = error_at(i, kind, job, n);
        sum += error;
        worst = error > worst ? error : worst;
    }
    if (sum / count > 0.03 || worst > 0.2)
        fail_msg("%s, op %d, residency %d: off by %.1f %%, at worst %.1f %%",
                 devices[i].engine->device.info.name, kind->op, kind->residency, 100 * sum / count,
                 100 * worst);
}

static void compare_host(size_t i, gx_residency residency, char *memory, size_t bytes)
{
    for (size_t o = 0; o < 2; o++) {
        struct gx_kind kind = {two_ops[o], one_field[0], residency, GX_PATH_AUTO, 0};
        compare(i, &kind,
                gxt_job(kind.op, kind.field, 0, memory, memory + bytes, NULL, memory + 2 * bytes));
    }
}

static void compare_resident(size_t i, char *memory, size_t bytes)
{
    gx_buf *buf[3];
    for (int k = 0; k < 3; k++) {
        assert_int_equal(gx__buf_create(devices[i].engine, bytes, 0, &buf[k]), GX_OK);
        assert_int_equal(gx_buf_write(buf[k], 0, memory, bytes), GX_OK);
    }
    for (size_t o = 0; o < 2; o++) {
        struct gx_kind kind = {two_ops[o], one_field[0], GX_DEVICE_MEMORY, GX_PATH_AUTO, 0};
        compare(i, &kind,
                (gx_job){.op = kind.op,
                         .field = kind.field,
                         .a = gx_dev(buf[0], 0),
                         .b = gx_dev(buf[1], 0),
                         .out = gx_dev(buf[2], 0)});
    }
    for (int k = 0; k < 3; k++)
        gx_buf_destroy(&buf[k]);
}

static void two_machines(void **state)
{
    (void)state;
    const size_t bytes = 2 * most_measured() * gxt_element(one_field[0]);
    char *raw = gxt_alloc(3 * bytes + 4096), *memory = raw + (-(uintptr_t)raw % 4096);
    memset(memory, 0, 3 * bytes);
    const char *why;
    struct gx_calibration settings = small;
    settings.max_elems = most_measured();
    open_devices("sim:desktop", "sim:laptop-integrated");
    assert_int_equal(gx__calibrate(&instance, devices, DEVICES, &settings), GX_OK);
    for (size_t i = 0; i < DEVICES; i++) {
        assert_int_equal(devices[i].status, GX_OK);
        compare_host(i, GX_HOST_MEMORY, memory, bytes);
        compare_resident(i, memory, bytes);
    }
    assert_int_equal(gx__host_register(&hosts, memory, 3 * bytes, &why), GX_OK);
    for (size_t i = 0; i < DEVICES; i++)
        compare_host(i, GX_REGISTERED_MEMORY, memory, bytes);
    assert_int_equal(gx__host_unregister(&hosts, memory), GX_OK);
    close_devices();
    free(raw);
}

/* Of several jobs in one call: what the router adds for each but the first. */
static void jobs_in_one_call(void **state)
{
    (void)state;
    static char memory[16 * 64 * 48];
    open_devices("sim:desktop", "cpu");
    gx_job jobs[16];
    assert_int_equal(gx__calibrate(&instance, devices, 1, &small), GX_OK);
    double next = gx__model_next_ns(devices[0].model);
    assert_true(next > 0);
    const struct gx_kind kind = {GX_ADD, GX_BLS12_381_FQ, GX_HOST_MEMORY, GX_PATH_AUTO, 0};
    struct gx_prediction p;
    assert_true(gx__model_predict(devices[0].model, &kind, 16 * 64, &p));
    for (int i = 0; i < 16; i++)
        jobs[i] = gxt_job(GX_ADD, GX_BLS12_381_FQ, 64, memory, memory, NULL, memory);
    for (int i = 0; i < 16; i++)
        jobs[i].out.host = memory + (size_t)i * 64 * 48;
    for (int i = 0; i < 16; i++)
        jobs[i].a.host = jobs[i].b.host = jobs[i].out.host;
    uint64_t start = 0;
    for (int i = 0; i < 3; i++) {
        struct gx_batch batch = {.jobs = gxt_tasks(jobs, 16), .count = 16};
        start = gx__engine_now(&engine[0]);
        assert_int_equal(gx__compose_run(&engine[0], &batch), GX_OK);
    }
    double took = (double)(gx__engine_now(&engine[0]) - start), want = p.ns + 15 * next;
    if (fabs(want - took) > 0.05 * took)
        fail_msg("predicted %g, took %g", want, took);
    close_devices();
}

/* ---- settings ---- */

struct progress {
    int calls, end_at;
    double done;
    char device[48];
};

static int note(void *user, double done, const char *device, const char *what)
{
    struct progress *p = user;
    assert_true(done >= p->done && done <= 1);
    assert_true(strstr(what, "bls12-381-fq") == what);
    p->done = done;
    snprintf(p->device, sizeof p->device, "%s", device);
    return ++p->calls == p->end_at;
}

static size_t rows_of(size_t i)
{
    size_t count = 0;
    gx__model_rows(devices[i].model, NULL, 0, &count);
    return count;
}

static void progress_and_cancel(void **state)
{
    (void)state;
    struct progress p = {.end_at = 0};
    struct gx_calibration settings = small;
    settings.max_elems = 1024;
    settings.progress = note;
    settings.user = &p;
    open_devices("sim:desktop", "cpu");
    assert_int_equal(gx__calibrate(&instance, devices, DEVICES, &settings), GX_OK);
    /* Three sizes; two operations in three kinds of memory, and in one on the CPU. */
    assert_int_equal(p.calls, 3 * (2 * 3 + 2));
    assert_true(p.done > 0.999);
    assert_true(rows_of(0) >= 3 * 6);
    assert_true(rows_of(1) >= 3 * 2);
    size_t before = rows_of(0);
    close_devices();
    open_devices("sim:desktop", "cpu");
    p = (struct progress){.end_at = 3};
    assert_int_equal(gx__calibrate(&instance, devices, DEVICES, &settings), GX_ERR_CANCELLED);
    assert_int_equal(p.calls, 3);
    assert_true(rows_of(0) > 0 && rows_of(0) < before);
    close_devices();
}

/* However little time there is, three sizes of everything. */
static void no_time(void **state)
{
    (void)state;
    struct gx_calibration settings = small;
    settings.limit_ns = 1;
    settings.max_elems = 0;
    open_devices("sim:desktop", "cpu");
    assert_int_equal(gx__calibrate(&instance, devices, DEVICES, &settings), GX_OK);
    assert_true(rows_of(0) >= 3 * 6 && rows_of(0) < 4 * 6);
    struct gx_prediction p;
    const struct gx_kind kind = {GX_ADD, GX_BLS12_381_FQ, GX_HOST_MEMORY, GX_PATH_AUTO, 0};
    assert_true(gx__model_predict(devices[1].model, &kind, 65536, &p));
    close_devices();
}

/* What was known of a kind is gone, of other kinds it is not. */
static void replaces(void **state)
{
    (void)state;
    const struct gx_kind measured = {GX_ADD, GX_BLS12_381_FQ, GX_HOST_MEMORY, GX_PATH_AUTO, 0},
                         other = {GX_ADD, GX_BN254_FR, GX_HOST_MEMORY, GX_PATH_AUTO, 0};
    struct gx_prediction p;
    open_devices("sim:desktop", "cpu");
    gx__model_learn(devices[0].model, &measured, 16 << 20, 77777);
    gx__model_learn(devices[0].model, &other, 64, 77777);
    assert_int_equal(gx__calibrate(&instance, devices, 1, &small), GX_OK);
    assert_true(gx__model_predict(devices[0].model, &measured, 1 << 18, &p));
    assert_true(p.ns > 1e6);
    assert_false(gx__model_predict(devices[0].model, &measured, 4 << 20, &p));
    assert_true(gx__model_predict(devices[0].model, &other, 64, &p));
    assert_true(p.ns == 77777);
    close_devices();
}

/* Sizes that fit, of the fields that have transforms; others are predicted from the nearest. */
static void transforms_too(void **state)
{
    (void)state;
    static const gx_op ntt[] = {GX_NTT};
    static const gx_field fields[] = {GX_BLS12_381_FQ, GX_BN254_FR};
    struct gx_kind kind = {GX_NTT, GX_BN254_FR, GX_HOST_MEMORY, GX_PATH_AUTO, 0};
    struct gx_prediction one, many;
    struct gx_model_row rows[16];
    size_t count = 0;
    struct gx_calibration settings = small;
    settings.ops = ntt;
    settings.op_count = 1;
    settings.fields = fields;
    settings.field_count = 2;
    settings.max_elems = 1 << 14;
    open_devices("cpu", "sim:desktop");
    assert_int_equal(gx__calibrate(&instance, devices, 1, &settings), GX_OK);
    gx__model_rows(devices[0].model, rows, GXT_COUNT(rows), &count);
    assert_int_equal(count, 3); /* 2^10, 4 of these, and 2^14 */
    for (size_t i = 0; i < count; i++)
        assert_true(rows[i].op == GX_NTT && rows[i].field == GX_BN254_FR && rows[i].permutes);
    assert_true(rows[0].log2_n == 10 && rows[0].n == 1 << 10 && rows[1].n == 1 << 12);
    assert_true(rows[2].log2_n == 14 && rows[2].n == 1 << 14);
    for (uint32_t log2_n = 7; log2_n <= 17; log2_n++) {
        kind.size_class = gx__ntt_class(log2_n, log2_n % 2);
        uint64_t n = (uint64_t)1 << log2_n;
        assert_true(gx__model_predict(devices[0].model, &kind, (double)n, &one));
        assert_true(gx__model_predict(devices[0].model, &kind, 8 * (double)n, &many));
        assert_true(one.ns > 0 && many.ns > one.ns);
    }
    assert_null(devices[0].engine->tables.all);
    close_devices();
}

static const gx_field words[] = {GX_U32, GX_F32};

static void words_too(void **state)
{
    (void)state;
    struct gx_calibration settings = small;
    settings.fields = words;
    settings.field_count = 2;
    settings.ops = NULL;
    settings.op_count = 0; /* inv does not exist for them */
    settings.max_elems = 1024;
    open_devices("sim:desktop", "cpu");
    assert_int_equal(gx__calibrate(&instance, devices, DEVICES, &settings), GX_OK);
    assert_true(rows_of(0) >= 3 * 2 * 2 * 3);
    close_devices();
}

/* ---- devices that fail ---- */

static void wrong_results(void **state)
{
    (void)state;
    open_devices("fault:corrupt@2:sim:desktop", "sim:desktop#1");
    assert_int_equal(gx__calibrate(&instance, devices, DEVICES, &small), GX_OK);
    assert_int_equal(devices[0].status, GX_ERR_DEVICE);
    assert_true(devices[0].wrong);
    assert_int_equal(devices[1].status, GX_OK);
    assert_false(devices[1].wrong);
    assert_int_equal(rows_of(0), 0);
    assert_true(rows_of(1) > 0);
    close_devices();
}

static void lost_on_the_way(void **state)
{
    (void)state;
    open_devices("fault:lose@60:sim:desktop", "sim:desktop#1");
    assert_int_equal(gx__calibrate(&instance, devices, DEVICES, &small), GX_OK);
    assert_int_equal(devices[0].status, GX_ERR_DEVICE_LOST);
    assert_int_equal(devices[1].status, GX_OK);
    assert_true(rows_of(1) > rows_of(0));
    close_devices();
}

static void no_memory(void **state)
{
    (void)state;
    struct gxt_heap heap;
    struct gx_calibration settings = small;
    settings.max_elems = 256;
    uint64_t step = gxt_small() ? 11 : 1;
    for (uint64_t at = 1;; at += step) {
        gxt_heap_start(&heap);
        open_instance(gxt_heap_allocator(&heap));
        assert_int_equal(open_device(0, "sim:desktop"), GX_OK);
        gxt_heap_fail(&heap, at, at % 2 ? 0 : 3);
        gx_status s = gx__calibrate(&instance, devices, 1, &settings);
        bool failed = heap.failed > 0;
        /* to measure, or to save what was measured */
        assert_true(s == GX_OK || s == GX_ERR_OUT_OF_MEMORY || s == GX_ERR_FILE);
        gxt_heap_heal(&heap);
        if (!failed)
            assert_int_equal(s, GX_OK);
        assert_int_equal(gx__calibrate(&instance, devices, 1, &settings), GX_OK);
        assert_true(rows_of(0) >= 2 * 6);
        close_devices();
        gxt_heap_end(&heap);
        if (!failed)
            break;
    }
}

static int enter(void **state)
{
    (void)state;
    gxt_clear_environment();
    gxt_enter_machines();
    engine = calloc(DEVICES, sizeof *engine);
    return engine ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    free(engine);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_machines),
        cmocka_unit_test(jobs_in_one_call),
        cmocka_unit_test(progress_and_cancel),
        cmocka_unit_test(no_time),
        cmocka_unit_test(replaces),
        cmocka_unit_test(transforms_too),
        cmocka_unit_test(words_too),
        cmocka_unit_test(wrong_results),
        cmocka_unit_test(lost_on_the_way),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("calibrate", tests, enter, leave);
}
