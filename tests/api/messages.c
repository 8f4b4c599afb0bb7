/* SPDX-License-Identifier: Apache-2.0
 *
 * gx_last_message: every call that can fail gives a reason, on the calling thread; and all public
 * functions accept NULL.
 */
#include <pthread.h>
#include <stdio.h>

#include "support/harness.h"

static gx_ctx *ctx;

static int open_context(void **state)
{
    (void)state;
    gxt_clear_environment();
    ctx = gxt_open(&(gx_config){.device = "cpu", .cache_dir = "none"});
    return 0;
}

static int close_context(void **state)
{
    (void)state;
    gx_close(&ctx);
    return 0;
}

/* The call failed with `status`, and its message contains the words. */
static void expect(gx_status got, gx_status status, const char *words)
{
    assert_int_equal(got, status);
    if (!strstr(gx_last_message(), words))
        fail_msg("'%s' is not in '%s'", words, gx_last_message());
    assert_null(strchr(gx_last_message(), '\n'));
}

static void on_done(void *user, gx_ticket *ticket)
{
    (void)user, (void)ticket;
}

static void null_is_refused(void **state)
{
    (void)state;
    gx_ctx *other;
    gx_buf *buf;
    gx_ticket *ticket;
    uint64_t value = 1;
    gx_config config = {0};
    gx_job job = {0};
    size_t size = 0;
    char text[8];
    expect(gx_open(NULL, NULL), GX_ERR_INVALID, "ctx is NULL");
    expect(gx_config_set(NULL, "device", "cpu", text, sizeof text), GX_ERR_INVALID, "NULL");
    expect(gx_config_set(&config, NULL, "cpu", NULL, 0), GX_ERR_INVALID, "NULL");
    expect(gx_config_set(&config, "device", NULL, NULL, 100), GX_ERR_INVALID, "NULL");
    expect(gx_devices(NULL, NULL, &size), GX_ERR_INVALID, "gx_devices: ctx");
    expect(gx_devices(ctx, NULL, NULL), GX_ERR_INVALID, "gx_devices: ctx and count");
    expect(gx_model_json(NULL, NULL, &size), GX_ERR_INVALID, "gx_model_json");
    expect(gx_model_json(ctx, NULL, NULL), GX_ERR_INVALID, "gx_model_json");
    expect(gx_device_stats(NULL, NULL, &size), GX_ERR_INVALID, "gx_device_stats");
    expect(gx_device_stats(ctx, NULL, NULL), GX_ERR_INVALID, "gx_device_stats");
    expect(gx_counter(NULL, "elements", &value), GX_ERR_INVALID, "gx_counter: ctx");
    expect(gx_counter(ctx, NULL, &value), GX_ERR_INVALID, "gx_counter: ctx, name");
    expect(gx_counter(ctx, "elements", NULL), GX_ERR_INVALID, "gx_counter: ctx, name and value");
    expect(gx_counter(ctx, "nosuch", &value), GX_ERR_INVALID, "no counter 'nosuch'");
    expect(gx_metrics_prometheus(NULL, NULL, &size), GX_ERR_INVALID, "gx_metrics_prometheus");
    expect(gx_metrics_prometheus(ctx, NULL, NULL), GX_ERR_INVALID, "gx_metrics_prometheus");
    expect(gx_trace_start(NULL, "x"), GX_ERR_INVALID, "gx_trace_start");
    expect(gx_trace_start(ctx, NULL), GX_ERR_INVALID, "gx_trace_start");
    expect(gx_trace_stop(NULL), GX_ERR_INVALID, "gx_trace_stop");
    expect(gx_buf_create(NULL, NULL, 1, 0, &buf), GX_ERR_INVALID, "gx_buf_create: ctx");
    expect(gx_buf_create(ctx, NULL, 1, 0, NULL), GX_ERR_INVALID, "gx_buf_create: buf");
    expect(gx_buf_write(NULL, 0, text, 1), GX_ERR_INVALID, "gx_buf_write");
    expect(gx_buf_read(NULL, 0, text, 1), GX_ERR_INVALID, "gx_buf_read");
    expect(gx_buf_map(NULL, (void **)&other), GX_ERR_INVALID, "gx_buf_map");
    expect(gx_run(NULL, &job, 1, NULL, NULL), GX_ERR_INVALID, "gx_run: ctx");
    expect(gx_run(ctx, NULL, 1, NULL, NULL), GX_ERR_INVALID, "gx_run: jobs");
    expect(gx_estimate(NULL, &job, 1, NULL, NULL), GX_ERR_INVALID, "gx_estimate: ctx");
    expect(gx_estimate(ctx, &job, 0, NULL, NULL), GX_ERR_INVALID, "gx_estimate: info");
    expect(gx_submit(NULL, &job, 1, NULL, &ticket), GX_ERR_INVALID, "gx_submit: ctx");
    expect(gx_submit(ctx, NULL, 1, NULL, &ticket), GX_ERR_INVALID, "gx_submit: jobs");
    expect(gx_submit(ctx, &job, 1, NULL, NULL), GX_ERR_INVALID, "gx_submit: ticket");
    expect(gx_poll(NULL), GX_ERR_INVALID, "gx_poll");
    expect(gx_wait(NULL, 0, NULL), GX_ERR_INVALID, "gx_wait");
    expect(gx_wait_any(NULL, 1, 0, &size), GX_ERR_INVALID, "gx_wait_any");
    expect(gx_wait_any(&ticket, 0, 0, NULL), GX_ERR_INVALID, "gx_wait_any");
    expect(gx_notify(NULL, on_done, NULL), GX_ERR_INVALID, "gx_notify");
    expect(gx_host_register(NULL, text, 1), GX_ERR_INVALID, "gx_host_register");
    expect(gx_host_unregister(NULL, text), GX_ERR_INVALID, "gx_host_unregister");
    expect(gx_calibrate(NULL, NULL), GX_ERR_INVALID, "gx_calibrate");
    gx_buf_unmap(NULL);
    gx_buf_destroy(NULL);
    gx_cancel(NULL);
    gx_cancel_all(NULL);
    gx_ticket_destroy(NULL);
    gx_close(NULL);
}

static void calls_say_why_they_failed(void **state)
{
    (void)state;
    gx_ctx *other = NULL;
    gx_buf *buf = NULL;
    gx_ticket *ticket = NULL;
    char text[64], err[64];
    void *memory;
    gx_job job = {.op = GX_ADD, .field = 77};
    expect(gx_open(&(gx_config){.mode = 7}, &other), GX_ERR_INVALID, "mode 7");
    expect(gx_config_set(&(gx_config){0}, "threads", "no", err, sizeof err), GX_ERR_INVALID, "no");
    assert_non_null(strstr(err, "threads"));
    expect(gx_config_set(&(gx_config){0}, "treads", "1", NULL, 9), GX_ERR_INVALID, "treads");
    expect(gx_buf_create(ctx, "no-such", 1, 0, &buf), GX_ERR_NO_DEVICE, "no-such");
    expect(gx_buf_create(ctx, "cpu", 1, 8, &buf), GX_ERR_INVALID, "flags 0x8");
    expect(gx_run(ctx, &job, 1, NULL, NULL), GX_ERR_INVALID, "job 0: field is 77");
    expect(gx_submit(ctx, &job, 1, NULL, &ticket), GX_ERR_INVALID, "job 0: field is 77");
    expect(gx_estimate(ctx, &job, 1, NULL, &(gx_estimate_info){0}), GX_ERR_INVALID, "field is 77");
    expect(gx_host_register(ctx, NULL, 9), GX_ERR_INVALID, "registering 9 bytes");
    assert_int_equal(gx_host_register(ctx, text, sizeof text), GX_OK);
    expect(gx_host_register(ctx, text + 8, 8), GX_ERR_INVALID, "registered already");
    expect(gx_host_unregister(ctx, text + 8), GX_ERR_INVALID, "no registered range");
    assert_int_equal(gx_host_unregister(ctx, text), GX_OK);
    expect(gx_trace_start(ctx, "/nonexistent/folder/trace"), GX_ERR_FILE, "/nonexistent/folder");

    assert_int_equal(gx_buf_create(ctx, "cpu", 64, GX_BUF_MAPPABLE, &buf), GX_OK);
    expect(gx_buf_write(buf, 60, text, 8), GX_ERR_INVALID, "past its end");
    expect(gx_buf_read(buf, 0, NULL, 8), GX_ERR_INVALID, "NULL");
    assert_int_equal(gx_buf_map(buf, &memory), GX_OK);
    expect(gx_buf_read(buf, 0, text, 8), GX_ERR_INVALID, "unmap");
    gx_buf_destroy(&buf);
}

static void calibration_looks_at_what_it_is_given(void **state)
{
    (void)state;
    const gx_op ops[] = {GX_ADD, 99}, nothing[] = {0}, with_params[] = {GX_COSETS};
    const gx_field fields[] = {(gx_field)-4};
    expect(gx_calibrate(ctx, &(gx_calibrate_params){.op_count = 2}), GX_ERR_INVALID, "ops is NULL");
    expect(gx_calibrate(ctx, &(gx_calibrate_params){.field_count = 2}), GX_ERR_INVALID,
           "fields is NULL");
    expect(gx_calibrate(ctx, &(gx_calibrate_params){.ops = ops, .op_count = 2}), GX_ERR_INVALID,
           "ops[1] is 99");
    expect(gx_calibrate(ctx, &(gx_calibrate_params){.ops = nothing, .op_count = 1}), GX_ERR_INVALID,
           "ops[0] is 0");
    expect(gx_calibrate(ctx, &(gx_calibrate_params){.ops = with_params, .op_count = 1}),
           GX_ERR_INVALID, "parameters");
    expect(gx_calibrate(ctx, &(gx_calibrate_params){.fields = fields, .field_count = 1}),
           GX_ERR_INVALID, "fields[0] is 4294967292");
}

/* The fate of submitted jobs is reported to whoever asks. */
static void tickets_say_why_they_failed(void **state)
{
    (void)state;
    unsigned char bad[32], out[32];
    gxt_put_modulus(GX_BN254_FQ, bad);
    const gx_job job = gxt_job(GX_NEG, GX_BN254_FQ, 1, bad, NULL, NULL, out);
    gx_ticket *ticket;
    uint64_t value;
    assert_int_equal(gx_submit(ctx, &job, 1, NULL, &ticket), GX_OK);
    expect(gx_wait(ticket, UINT64_MAX, NULL), GX_ERR_NOT_CANONICAL,
           "job 0: element 0 of operand a");
    gx_counter(ctx, "elements", &value);
    expect(gx_poll(ticket), GX_ERR_NOT_CANONICAL, "job 0: element 0 of operand a");
    gx_ticket_destroy(&ticket);
}

static void *fail_elsewhere(void *user)
{
    (void)user;
    const char *before = gx_last_message();
    assert_string_equal(before, "");
    expect(gx_open(&(gx_config){.cpumask = "elsewhere"}, &(gx_ctx *){NULL}), GX_ERR_INVALID,
           "elsewhere");
    return NULL;
}

static void threads_have_their_own(void **state)
{
    (void)state;
    pthread_t thread;
    uint64_t value;
    expect(gx_open(&(gx_config){.cpumask = "here\n"}, &(gx_ctx *){NULL}), GX_ERR_INVALID, "here?");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(gx_counter(ctx, "elements", &value), GX_OK);
    assert_non_null(strstr(gx_last_message(), "here?")); /* successful calls do not change it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_refused),
        cmocka_unit_test(calls_say_why_they_failed),
        cmocka_unit_test(calibration_looks_at_what_it_is_given),
        cmocka_unit_test(tickets_say_why_they_failed),
        cmocka_unit_test(threads_have_their_own),
    };
    return cmocka_run_group_tests_name("messages", tests, open_context, close_context);
}
