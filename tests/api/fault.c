/* SPDX-License-Identifier: Apache-2.0
 *
 * The fault device: every device call in turn fails, runs out of memory, loses the device or hangs,
 * until a whole scenario passes untouched. Each time: the right status and a message that names the
 * device, inputs intact, nothing leaked, and the context stays usable, with the device reopened.
 * Also corrupted results, each of which must differ in exactly one bit.
 */
#include <stdio.h>

#include "support/harness.h"
#include "support/heap.h"
#include "support/oracle.h"

enum { N = 70, ELEMENT = 32, BYTES = N * ELEMENT, N_MAX = 20000, GUARD = 0x5c };

/* Pages, which a device can import. */
enum { PAGE = 4096, MEMORY = 2 * PAGE };

static const gx_field field = GX_BN254_FR;

struct step {
    gx_op op;
    int in_place; /* the operand that is the output, or -1 */
    uint32_t flags;
};

static const struct step steps[] = {{GX_ADD, -1, 0},
                                    {GX_MUL, 0, 0},
                                    {GX_DIV, 1, 0},
                                    {GX_INV, -1, GX_JOB_UNCHECKED},
                                    {GX_MUL_ADD, 2, 0},
                                    {GX_INV, 0, 0},
                                    {GX_NEG, 0, GX_JOB_UNCHECKED},
                                    {GX_TO_MONT, -1, 0},
                                    {GX_SUM, -1, 0},
                                    {GX_DOT, -1, 0}};

enum { STEPS = GXT_COUNT(steps) };

static unsigned char in[3][BYTES], want[STEPS][BYTES];

static int prepare(void **state)
{
    (void)state;
    struct oracle_rng rng = {6};
    gxt_clear_environment();
    gxt_enter_machines();
    for (int w = 0; w < 3; w++)
        oracle_fill(field, &rng, in[w], N);
    memset(want, GUARD, sizeof want); /* behind the result of a sum */
    for (size_t i = 0; i < STEPS; i++)
        oracle_run(steps[i].op, field, N, want[i], in[0], in[1], in[2], 0);
    return 0;
}

/* ---- one step ---- */

struct result {
    unsigned char in[3][BYTES], out[BYTES];
    const unsigned char *got;
    gx_report report;
};

static gx_status run_step(gx_ctx *ctx, const char *device, size_t i, struct result *r)
{
    memcpy(r->in, in, sizeof in);
    memset(r->out, GUARD, sizeof r->out);
    unsigned char *out = steps[i].in_place < 0 ? r->out : r->in[steps[i].in_place];
    gx_job job = gxt_job(steps[i].op, field, N, r->in[0], r->in[1], r->in[2], out);
    job.flags = steps[i].flags;
    r->got = out;
    r->report = gxt_report();
    gx_status status = gxt_run(ctx, &job, device, &r->report);
    assert_int_equal(r->report.status, status);
    for (int w = 0; w < 3; w++)
        if (w != steps[i].in_place)
            assert_memory_equal(r->in[w], in[w], BYTES);
    if (status != GX_OK) {
        assert_non_null(strstr(r->report.message, device));
        assert_string_equal(r->report.device, device);
    } else {
        assert_string_equal(r->report.message, "");
    }
    return status;
}

static void expect_right(gx_ctx *ctx, const char *device, size_t i)
{
    struct result r;
    assert_int_equal(run_step(ctx, device, i, &r), GX_OK);
    assert_memory_equal(r.got, want[i], BYTES);
}

static gx_ctx *open_counted(struct gxt_heap *heap, uint64_t dispatch_elems)
{
    gxt_heap_start(heap);
    gx_config config = {.dispatch_elems = dispatch_elems, .allocator = gxt_heap_allocator(heap)};
    return gxt_open(&config);
}

static void close_counted(gx_ctx *ctx, struct gxt_heap *heap)
{
    gx_close(&ctx);
    gxt_heap_end(heap);
}

/* ---- fail and oom: once ---- */

/* Which step failed, or STEPS. */
static size_t steps_with_one_failure(gx_ctx *ctx, const char *device, gx_status expected)
{
    size_t failed = STEPS;
    for (size_t i = 0; i < STEPS; i++) {
        struct result r;
        gx_status status = run_step(ctx, device, i, &r);
        if (status == GX_OK) {
            assert_memory_equal(r.got, want[i], BYTES);
            continue;
        }
        assert_int_equal(status, expected);
        assert_int_equal(failed, STEPS); /* once */
        failed = i;
        expect_right(ctx, "cpu", i);
        expect_right(ctx, device, i);
    }
    return failed;
}

static void sweep_one_failure(const char *what, gx_status expected, uint64_t dispatch_elems,
                              const char *inner)
{
    size_t last = 0, seen = 0;
    for (unsigned at = 1;; at++) {
        struct gxt_heap heap;
        gx_ctx *ctx = open_counted(&heap, dispatch_elems);
        char device[48];
        snprintf(device, sizeof device, "fault:%s@%u:%s", what, at, inner);
        size_t failed = steps_with_one_failure(ctx, device, expected);
        close_counted(ctx, &heap);
        if (failed == STEPS)
            break;
        assert_true(failed >= last); /* a later call, a later step */
        seen += at == 1 || failed != last;
        last = failed;
        assert_true(at < N_MAX);
    }
    assert_true(seen >= 1);
    if (strcmp(what, "fail") == 0)
        assert_int_equal(seen, STEPS); /* every step has calls that can fail */
}

static void every_call_fails_in_turn(void **state)
{
    (void)state;
    sweep_one_failure("fail", GX_ERR_DEVICE, 0, "cpu");
    sweep_one_failure("fail", GX_ERR_DEVICE, 9, "cpu");
    sweep_one_failure("fail", GX_ERR_DEVICE, gxt_small() ? 40 : 1, "cpu");
    sweep_one_failure("fail", GX_ERR_DEVICE, 50, "ref");
}

static void memory_runs_out_in_turn(void **state)
{
    (void)state;
    sweep_one_failure("oom", GX_ERR_OUT_OF_DEVICE_MEMORY, 0, "cpu");
    sweep_one_failure("oom", GX_ERR_OUT_OF_DEVICE_MEMORY, 9, "cpu");
    sweep_one_failure("oom", GX_ERR_OUT_OF_DEVICE_MEMORY, gxt_small() ? 40 : 1, "cpu");
}

/* ---- lose: for good ---- */

/* How often the device was lost on the way; it is reopened each time, and counts from 1 again. */
static int losses_in_steps(gx_ctx *ctx, const char *device, gx_status expected)
{
    int losses = 0;
    for (size_t i = 0; i < STEPS; i++) {
        struct result r;
        gx_status status = run_step(ctx, device, i, &r);
        assert_int_equal(status, status != GX_OK ? expected : GX_OK);
        losses += status != GX_OK;
        if (status == GX_OK)
            assert_memory_equal(r.got, want[i], BYTES);
        expect_right(ctx, "cpu", i);
    }
    return losses;
}

static void sweep_loss(const char *what, gx_status expected, uint64_t dispatch_elems)
{
    unsigned at = 1, recovered = 0;
    for (int losses = STEPS; losses; at++) {
        struct gxt_heap heap;
        gx_ctx *ctx = open_counted(&heap, dispatch_elems);
        char device[48];
        snprintf(device, sizeof device, "fault:%s@%u:cpu", what, at);
        losses = losses_in_steps(ctx, device, expected);
        recovered += losses > 0 && losses < STEPS;
        close_counted(ctx, &heap);
        if (at == 1)
            assert_int_equal(losses, STEPS); /* each time at the first call */
        assert_true(at < N_MAX);
    }
    assert_true(recovered > STEPS / 2);
}

static void the_device_is_lost_in_turn(void **state)
{
    (void)state;
    sweep_loss("lose", GX_ERR_DEVICE_LOST, 0);
    sweep_loss("lose", GX_ERR_DEVICE_LOST, 9);
    sweep_loss("lose", GX_ERR_DEVICE_LOST, gxt_small() ? 40 : 1);
}

static void the_device_hangs_in_turn(void **state)
{
    (void)state;
    sweep_loss("hang", GX_ERR_TIMEOUT, 0);
    sweep_loss("hang", GX_ERR_TIMEOUT, gxt_small() ? 40 : 1);
}

/* Lost engines are freed as soon as no one uses them: the amount allocated stays the same. */
static void lost_a_hundred_times(void **state)
{
    (void)state;
    static const char device[] = "fault:lose@1:cpu";
    struct gxt_heap heap;
    struct result r;
    gx_ctx *ctx = open_counted(&heap, 0);
    assert_int_equal(run_step(ctx, device, 0, &r), GX_ERR_DEVICE_LOST);
    size_t live = heap.count;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(run_step(ctx, device, 0, &r), GX_ERR_DEVICE_LOST);
        assert_int_equal(heap.count, live);
    }
    expect_right(ctx, "cpu", 0);
    close_counted(ctx, &heap);
}

static void a_lost_device_stops_the_call(void **state)
{
    (void)state;
    uint32_t x[8] = {1, 2, 3}, out[3][8] = {{0}};
    gx_ctx *ctx = gxt_open(NULL);
    gx_job jobs[3];
    for (int i = 0; i < 3; i++)
        jobs[i] = gxt_job(GX_ADD, GX_U32, 8, x, x, NULL, out[i]);
    gx_run_params opts = {.device = "fault:lose@1:cpu"};
    gx_report r[3] = {{.struct_size = sizeof *r}};
    for (int again = 0; again < 3; again++) {
        assert_int_equal(gx_run(ctx, jobs, 3, &opts, r), GX_ERR_DEVICE_LOST);
        assert_int_equal(r[0].status, GX_ERR_DEVICE_LOST);
        assert_int_equal(r[1].status, GX_ERR_NOT_RUN);
        assert_int_equal(r[2].status, GX_ERR_NOT_RUN);
    }
    gx_close(&ctx);
}

/* ---- corrupt: one bit ---- */

static size_t bits_off(const unsigned char *got, const unsigned char *right)
{
    size_t bits = 0;
    for (size_t i = 0; i < BYTES; i++)
        bits += (size_t)__builtin_popcount(got[i] ^ right[i]);
    return bits;
}

/* The step whose result has a wrong bit, or STEPS. */
static size_t corrupted_step(gx_ctx *ctx, const char *device)
{
    size_t corrupted = STEPS;
    for (size_t i = 0; i < STEPS; i++) {
        struct result r;
        assert_int_equal(run_step(ctx, device, i, &r), GX_OK);
        size_t bits = bits_off(r.got, want[i]);
        assert_true(bits <= 1 || gx_op_get_info(steps[i].op)->reduces); /* of a part: it carries */
        if (bits) {
            assert_int_equal(corrupted, STEPS);
            corrupted = i;
        }
    }
    return corrupted;
}

static void sweep_corruption(uint64_t dispatch_elems)
{
    size_t last = 0;
    for (unsigned at = 1; at < N_MAX; at++) {
        struct gxt_heap heap;
        gx_ctx *ctx = open_counted(&heap, dispatch_elems);
        char device[48];
        snprintf(device, sizeof device, "fault:corrupt@%u:cpu", at);
        size_t step = corrupted_step(ctx, device);
        close_counted(ctx, &heap);
        if (at == 1)
            assert_int_equal(step, 0);
        if (step == STEPS) {
            assert_int_equal(last, STEPS - 1); /* every step had its turn */
            return;
        }
        assert_true(step == last || step == last + 1);
        last = step;
    }
    fail_msg("never passes untouched");
}

static void every_result_is_corrupted_in_turn(void **state)
{
    (void)state;
    sweep_corruption(0);
    sweep_corruption(9);
    sweep_corruption(40);
}

/* The result is 0, and what lies around it in the same memory is as it was. */
static void expect_zeros(gx_ctx *ctx, const gx_run_params *params, gx_op op, gx_buf *buf,
                         unsigned char *host)
{
    unsigned char expected[MEMORY];
    gx_job job = gxt_job(op, field, N, in[0], op == GX_ADD ? in[1] : NULL, NULL, host + ELEMENT);
    memset(expected, GUARD, sizeof expected);
    memcpy(host, expected, sizeof expected);
    if (buf) {
        job.out = gx_dev(buf, ELEMENT);
        assert_int_equal(gx_buf_write(buf, 0, host, sizeof expected), GX_OK);
    }
    memset(expected + ELEMENT, 0, op == GX_SUM ? ELEMENT : BYTES);
    assert_int_equal(gx_run(ctx, &job, 1, params, NULL), GX_OK);
    if (buf)
        assert_int_equal(gx_buf_read(buf, 0, host, sizeof expected), GX_OK);
    assert_memory_equal(host, expected, sizeof expected);
}

static void zeros_end_with_the_result(void **state)
{
    (void)state;
    static const char device[] = "fault:zero@1:sim:desktop";
    static const gx_op ops[] = {GX_ADD, GX_SUM};
    static _Alignas(PAGE) unsigned char registered[MEMORY];
    unsigned char plain[MEMORY];
    gx_ctx *ctx = gxt_open(NULL);
    gx_buf *buf = NULL;
    assert_int_equal(gx_buf_create(ctx, device, MEMORY, 0, &buf), GX_OK);
    assert_int_equal(gx_host_register(ctx, registered, sizeof registered), GX_OK);
    for (size_t i = 0; i < 2 * GXT_COUNT(ops); i++) {
        const gx_run_params params = {.device = device,
                                      .path = i % 2 ? GX_PATH_HOST_VISIBLE : GX_PATH_DEVICE_LOCAL,
                                      .mode = GX_MODE_SEQUENTIAL};
        expect_zeros(ctx, &params, ops[i / 2], buf, plain);
        expect_zeros(ctx, &params, ops[i / 2], NULL, plain);
        expect_zeros(ctx, &params, ops[i / 2], NULL, registered);
    }
    gx_buf_destroy(&buf);
    gx_close(&ctx);
}

/* ---- one within the other ---- */

static void faults_nest(void **state)
{
    (void)state;
    static const char device[] = "fault:fail@3:fault:oom@5:cpu";
    int failures = 0, ooms = 0;
    struct gxt_heap heap;
    gx_ctx *ctx = open_counted(&heap, 9);
    for (int round = 0; round < 10; round++) {
        for (size_t i = 0; i < STEPS; i++) {
            struct result r;
            gx_status status = run_step(ctx, device, i, &r);
            failures += status == GX_ERR_DEVICE;
            ooms += status == GX_ERR_OUT_OF_DEVICE_MEMORY;
            if (status == GX_OK)
                assert_memory_equal(r.got, want[i], BYTES);
            else
                assert_true(status == GX_ERR_DEVICE || status == GX_ERR_OUT_OF_DEVICE_MEMORY);
        }
    }
    close_counted(ctx, &heap);
    assert_int_equal(failures, 1);
    assert_int_equal(ooms, 1);
}

static void nested_loss(void **state)
{
    (void)state;
    gx_ctx *ctx = gxt_open(NULL);
    struct result r;
    static const char device[] = "fault:corrupt@1:fault:lose@1:ref";
    assert_int_equal(run_step(ctx, device, 0, &r), GX_ERR_DEVICE_LOST);
    assert_int_equal(run_step(ctx, device, 1, &r), GX_ERR_DEVICE_LOST);
    expect_right(ctx, "ref", 0);
    gx_close(&ctx);
}

/* ---- names ---- */

static void malformed_names(void **state)
{
    (void)state;
    char longest[200] = "fault:fail@1000:";
    while (strlen(longest) + 17 < sizeof longest)
        strcat(longest, "fault:fail@1000:");
    strcat(longest, "cpu");
    const char *names[] = {"fault",
                           "fault:",
                           "fault:x@1:cpu",
                           "fault:fail@0:cpu",
                           "fault:fail@:cpu",
                           "fault:fail@1:nope",
                           "fault:fail@1:",
                           "fault:fail@1",
                           "fault:fail:cpu",
                           "fault:@1:cpu",
                           "fault:FAIL@1:cpu",
                           "fault:fail@-1:cpu",
                           "fault:fail@+1:cpu",
                           "fault:fail@ 1:cpu",
                           "fault:fail@1x:cpu",
                           "fault:fail@99999999999999999999:cpu",
                           "fault:fail@1:cpu:",
                           "fault:fail@1:fault:",
                           "fault:fail@1:fault:oom@0:cpu",
                           "faul:fail@1:cpu",
                           " fault:fail@1:cpu",
                           longest};
    struct gxt_heap heap;
    gx_ctx *ctx = open_counted(&heap, 0);
    for (size_t i = 0; i < GXT_COUNT(names); i++) {
        uint32_t x[2] = {1, 2}, out[2] = {7, 7};
        gx_job job = gxt_job(GX_ADD, GX_U32, 2, x, x, NULL, out);
        gx_report r = {.struct_size = sizeof r};
        gx_status status = gxt_run(ctx, &job, names[i], &r);
        if (status != GX_ERR_NO_DEVICE || !r.message[0]) {
            print_error("\"%s\": %s, \"%s\"\n", names[i], gx_status_name(status), r.message);
            fail();
        }
        assert_int_equal(out[0], 7);
    }
    close_counted(ctx, &heap);
}

/* Devices that could not be opened leave room for those that can. */
static void many_bad_names_do_no_harm(void **state)
{
    (void)state;
    struct gxt_heap heap;
    gx_ctx *ctx = open_counted(&heap, 0);
    for (int i = 0; i < 200; i++) {
        struct result r;
        char name[48];
        snprintf(name, sizeof name, "fault:fail@%d:none", i + 1);
        memcpy(r.in, in, sizeof in);
        gx_job job = gxt_job(GX_ADD, field, N, in[0], in[1], NULL, r.out);
        assert_int_equal(gxt_run(ctx, &job, name, NULL), GX_ERR_NO_DEVICE);
    }
    expect_right(ctx, "cpu", 0);
    expect_right(ctx, "fault:fail@1000:cpu", 0);
    close_counted(ctx, &heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_fails_in_turn),
        cmocka_unit_test(memory_runs_out_in_turn),
        cmocka_unit_test(the_device_is_lost_in_turn),
        cmocka_unit_test(the_device_hangs_in_turn),
        cmocka_unit_test(lost_a_hundred_times),
        cmocka_unit_test(a_lost_device_stops_the_call),
        cmocka_unit_test(every_result_is_corrupted_in_turn),
        cmocka_unit_test(zeros_end_with_the_result),
        cmocka_unit_test(faults_nest),
        cmocka_unit_test(nested_loss),
        cmocka_unit_test(malformed_names),
        cmocka_unit_test(many_bad_names_do_no_harm),
    };
    return cmocka_run_group_tests_name("fault", tests, prepare, NULL);
}
