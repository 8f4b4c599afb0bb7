/* SPDX-License-Identifier: Apache-2.0
 *
 * The sim device: parsing of its files, messages about wrong ones, and its virtual clock, compared
 * with times computed by hand.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/options.h"
#include "device/test/sim.h"
#include "support/harness.h"

static struct gx_instance instance;
static struct gx_device device;

/* ---- files ---- */

static gx_status parse(const char *text, struct gx_machine *machine, struct gx_error *error)
{
    return gx__machine_parse(machine, text, strlen(text), "f", error);
}

static void expect_wrong(const char *text, const char *want)
{
    struct gx_machine machine;
    struct gx_error error = {""};
    assert_int_equal(parse(text, &machine, &error), GX_ERR_INVALID);
    assert_string_equal(error.text, want);
}

static void wrong_files(void **state)
{
    (void)state;
    expect_wrong("queues 3\nspeed 3\n", "f:2: unknown key 'speed'; doc/sim.md lists them");
    expect_wrong("queues 2", "f:1: queues: '2' is neither 1 nor 3");
    expect_wrong("\n\nmemory", "f:3: memory has no value");
    expect_wrong("memory 3 4", "f:1: memory takes exactly one value");
    expect_wrong("memory 3T", "f:1: memory: '3T' is not a whole number (suffix K, M or G allowed)");
    expect_wrong("memory -3", "f:1: memory: '-3' is not a whole number (suffix K, M or G allowed)");
    expect_wrong("memory 1.5",
                 "f:1: memory: '1.5' is not a whole number (suffix K, M or G allowed)");
    expect_wrong("memory 9999999999999999999999", "f:1: memory: '9999999999999999999999' is not a "
                                                  "whole number (suffix K, M or G allowed)");
    expect_wrong("memory 0", "f:1: memory: must not be 0");
    expect_wrong("import_align 48", "f:1: import_align: '48' is not a power of two");
    expect_wrong("kernel_gb_s 1.2345",
                 "f:1: kernel_gb_s: '1.2345' is not a number with at most three decimals");
    expect_wrong("kernel_gb_s 1.",
                 "f:1: kernel_gb_s: '1.' is not a number with at most three decimals");
    expect_wrong("kernel_gb_s 0.0004", "f:1: kernel_gb_s: '0.0004' is not a number with at most "
                                       "three decimals");
    expect_wrong("kernel_gb_s 0.000", "f:1: kernel_gb_s: must not be 0");
    expect_wrong("launch_us 1\nlaunch_us 2", "f:2: launch_us is set twice");
    expect_wrong("at 2 mul_g_s 1",
                 "f:1: expected: at TIME KEY VALUE, with a TIME like 2.5s, 300ms or 10us");
    expect_wrong("at 2s", "f:1: expected: at TIME KEY VALUE, with a TIME like 2.5s, 300ms or 10us");
    expect_wrong("at 2s memory 1G", "f:1: memory cannot change: only times and rates can");
    expect_wrong("at 2s mul_g_s 1\nat 1.999s mul_g_s 2",
                 "f:2: changes must be in chronological order");
    struct gx_machine machine;
    struct gx_error error;
    assert_int_equal(gx__machine_parse(&machine, "a\0b", 3, "f", &error), GX_ERR_INVALID);
    assert_string_equal(error.text, "f:1: not a text file");
    assert_int_equal(gx__machine_read(&machine, "/nowhere/x", &error), GX_ERR_INVALID);
    assert_string_equal(error.text, "/nowhere/x: No such file or directory");
}

static void right_files(void **state)
{
    (void)state;
    struct gx_machine m;
    struct gx_error error;
    assert_int_equal(parse("", &m, &error), GX_OK);
    assert_int_equal(m.start.of[GX_MACHINE_QUEUES], 1);
    assert_int_equal(m.start.of[GX_MACHINE_BOTH], 20000);
    assert_int_equal(m.start.of[GX_MACHINE_MUL4], 20000);
    const char *text = "# a machine\r\n name  One of two words # not this\n"
                       "\tqueues 3\nmemory 2M\nlaunch_us 0.25\nupload_gb_s 49\nmul_g_s 1.5\n"
                       "at 1.5s upload_gb_s 7\nat 1500ms mul_g_s 0.125\nat 2000001us launch_us 9";
    assert_int_equal(parse(text, &m, &error), GX_OK);
    assert_string_equal(m.name, "One of two words");
    assert_int_equal(m.start.of[GX_MACHINE_QUEUES], 3);
    assert_int_equal(m.start.of[GX_MACHINE_MEMORY], 2 << 20);
    assert_int_equal(m.start.of[GX_MACHINE_LAUNCH], 250);
    assert_int_equal(m.start.of[GX_MACHINE_UPLOAD], 49000);
    assert_int_equal(m.start.of[GX_MACHINE_BOTH], 59000);
    assert_int_equal(m.start.of[GX_MACHINE_MUL4], 3000);
    struct gx_machine_values before = gx__machine_at(&m, 1499999999);
    struct gx_machine_values after = gx__machine_at(&m, 1500000000);
    assert_memory_equal(&before, &m.start, sizeof before);
    assert_int_equal(after.of[GX_MACHINE_UPLOAD], 7000);
    assert_int_equal(after.of[GX_MACHINE_MUL], 125);
    assert_int_equal(after.of[GX_MACHINE_LAUNCH], 250);
    assert_int_equal(gx__machine_at(&m, UINT64_MAX).of[GX_MACHINE_LAUNCH], 9000);
}

/* ---- the clock ---- */

/* 1 GB/s is 1 byte per ns, so that bytes are ns. */
static struct gx_sim_clock clock_of(const char *text)
{
    struct gx_sim_clock clock = {0};
    struct gx_error error = {""};
    if (parse(text, &clock.machine, &error) != GX_OK)
        fail_msg("%s", error.text);
    return clock;
}

static uint64_t submit(struct gx_sim_clock *clock, enum gx_queue queue, uint64_t after,
                       struct gx_sim_work work)
{
    struct gx_fence wait = {.value = after};
    return gx__sim_submit(clock, queue, &wait, 1, &work, 1, NULL).end_ns;
}

static uint64_t up(struct gx_sim_clock *clock, uint64_t after, uint64_t bytes)
{
    return submit(clock, GX_QUEUE_UPLOAD, after,
                  (struct gx_sim_work){.kind = GX_SIM_COPY, .upload_bytes = bytes});
}

static uint64_t down(struct gx_sim_clock *clock, uint64_t after, uint64_t bytes)
{
    return submit(clock, GX_QUEUE_DOWNLOAD, after,
                  (struct gx_sim_work){.kind = GX_SIM_COPY, .download_bytes = bytes});
}

static uint64_t host_copy(struct gx_sim_clock *clock, enum gx_queue queue, uint64_t after,
                          uint64_t bytes)
{
    struct gx_fence wait = {.value = after};
    return gx__sim_host_copy(clock, queue, &wait, 1, bytes).end_ns;
}

static void queues_and_waits(void **state)
{
    (void)state;
    struct gx_sim_clock c = clock_of("start_us 0.1\nsubmit_us 0.02\nlaunch_us 0.003\n"
                                     "upload_gb_s 1\ndownload_gb_s 1\nkernel_gb_s 1\n"
                                     "shared_gb_s 0.5\nmul_g_s 0.5\nmul4_g_s 1");
    assert_int_equal(up(&c, 0, 1000), 20 + 100 + 1000);
    assert_int_equal(c.now, 20); /* a submit takes the host's time and no more */
    struct gx_sim_work kernel = {.kind = GX_SIM_KERNEL, .local_bytes = 50, .shared_bytes = 10};
    assert_int_equal(submit(&c, GX_QUEUE_COMPUTE, 1120, kernel), 1120 + 100 + 3 + 50 + 20);
    kernel.products[0] = 40; /* 80 ns: more than the traffic; it was ready long ago */
    assert_int_equal(submit(&c, GX_QUEUE_COMPUTE, 0, kernel), 1293 + 3 + 80);
    kernel.products[1] = 7;
    assert_int_equal(submit(&c, GX_QUEUE_COMPUTE, 0, kernel), 1376 + 3 + 87);
    assert_int_equal(down(&c, 0, 5), 5 * 20 + 100 + 5); /* its queue is idle */
    assert_false(gx__sim_wait(&c, 1120, 1000));
    assert_int_equal(c.now, 1100);
    assert_true(gx__sim_wait(&c, 1120, 20));
    assert_true(gx__sim_wait(&c, 7, 0));
    assert_int_equal(c.now, 1120);
    gx__sim_record(&c); /* free, unless the file says otherwise */
    assert_int_equal(c.now, 1120);
    c = clock_of("record_us 0.04\nat 0.05us record_us 1");
    gx__sim_record(&c);
    gx__sim_record(&c);
    gx__sim_record(&c);
    assert_int_equal(c.now, 40 + 40 + 1000);
}

static void nothing_still_takes_a_moment(void **state)
{
    (void)state;
    struct gx_sim_clock c = clock_of("start_us 0");
    assert_int_equal(up(&c, 0, 0), 1); /* or two points would be one */
    assert_int_equal(up(&c, 0, 0), 2);
}

/* 3 and 4 bytes per ns alone, 5 together. */
static const char link_text[] = "start_us 0\nupload_gb_s 3\ndownload_gb_s 4\nboth_gb_s 5";

static void both_directions(void **state)
{
    (void)state;
    struct gx_sim_clock c = clock_of(link_text);
    assert_int_equal(up(&c, 0, 3000), 1000);
    assert_int_equal(down(&c, 0, 1000), 500);         /* at 5 - 3 */
    assert_int_equal(down(&c, 0, 1000 + 400), 1100);  /* 500 ns at 2, then 100 at 4 */
    assert_int_equal(up(&c, 0, 100 + 30), 1100 + 10); /* 100 ns at 5 - 4, then 3 */
    assert_int_equal(down(&c, 2000, 400), 2100);      /* alone again */
}

/* An earlier booking that begins later is in the way, and is not moved. */
static void a_copy_that_begins_later(void **state)
{
    (void)state;
    struct gx_sim_clock c = clock_of(link_text);
    assert_int_equal(down(&c, 100, 400), 200);
    assert_int_equal(up(&c, 0, 300 + 100 + 30), 100 + 100 + 10);
    c = clock_of(link_text);
    assert_int_equal(down(&c, 100, 400), 200);
    struct gx_sim_work other = {.kind = GX_SIM_COPY, .download_bytes = 800};
    assert_int_equal(submit(&c, GX_QUEUE_COMPUTE, 0, other), 300); /* in two pieces around it */
}

static void no_room_for_both(void **state)
{
    (void)state;
    struct gx_sim_clock c = clock_of("start_us 0\nupload_gb_s 3\ndownload_gb_s 4\nboth_gb_s 3");
    assert_int_equal(up(&c, 0, 3000), 1000);
    assert_int_equal(down(&c, 0, 400), 1100);
}

static void more_copies_than_are_noted(void **state)
{
    (void)state;
    struct gx_sim_clock c = clock_of(link_text);
    for (uint64_t i = 1; i <= 3 * GX_SIM_SPANS; i++)
        assert_int_equal(down(&c, 10 * i, 4), 10 * i + 1);
    assert_true(up(&c, 0, 3000) >= 1000);
    assert_true(gx__sim_wait(&c, 1000000, GX_WAIT_FOREVER));
    assert_int_equal(up(&c, 0, 3), 1000001);
    assert_int_equal(c.link[1].count, 0);
}

static void rates_that_change(void **state)
{
    (void)state;
    struct gx_sim_clock c = clock_of("start_us 0\nupload_gb_s 4\nboth_gb_s 100\n"
                                     "at 1us upload_gb_s 1\nat 3us submit_us 0.5");
    assert_int_equal(up(&c, 999, 4000), 1999); /* the values at its start apply to all of it */
    assert_int_equal(up(&c, 0, 1000), 2999);
    assert_true(gx__sim_wait(&c, 3000, 1000000));
    assert_int_equal(up(&c, 0, 1), 3501);
}

static void host_copies(void **state)
{
    (void)state;
    struct gx_sim_clock c = clock_of("host_in_gb_s 1\nhost_out_gb_s 2\nhost_threads 3");
    const uint64_t slice = 256 << 10;
    assert_int_equal(host_copy(&c, GX_QUEUE_HOST_IN, 50, 100), 150);
    assert_int_equal(host_copy(&c, GX_QUEUE_HOST_IN, 0, 17 * slice / 10), 150 + slice);
    assert_int_equal(host_copy(&c, GX_QUEUE_HOST_OUT, 0, 12 * slice), (5 * slice) / 2);
    assert_int_equal(c.now, 0);
}

/* ---- the device ---- */

static void open_device(const char *name)
{
    struct gx_error error = {""};
    memset(&instance, 0, sizeof instance);
    assert_int_equal(gx__config_complete(&instance.config, NULL, &error), GX_OK);
    if (gx__device_open(&instance, name, &device, &error) != GX_OK)
        fail_msg("%s", error.text);
}

static void write_file(char *path, const char *text)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void memory_is_what_the_file_says(void **state)
{
    (void)state;
    char path[] = "/tmp/gx-sim-XXXXXX", name[40];
    write_file(path, "memory 1M\nimport_align 64\n");
    snprintf(name, sizeof name, "sim:%s", path);
    open_device(name);
    struct gx_mem half, rest, more, host;
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_DEVICE, 600000, &half), GX_OK);
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_DEVICE, 448577, &more),
                     GX_ERR_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_DEVICE, 448576, &rest), GX_OK);
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_UPLOAD, 10, &host), GX_OK);
    device.ops->mem_free(&device, &host);
    device.ops->mem_free(&device, &half);
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_DEVICE, 600000, &more), GX_OK);
    device.ops->mem_free(&device, &more);
    device.ops->mem_free(&device, &rest);
    _Alignas(64) char memory[192];
    assert_int_equal(device.ops->mem_import(&device, memory + 1, 64, &host), GX_ERR_UNSUPPORTED);
    assert_int_equal(device.ops->mem_import(&device, memory, 65, &host), GX_ERR_UNSUPPORTED);
    assert_int_equal(device.ops->mem_import(&device, memory + 64, 128, &host), GX_OK);
    device.ops->mem_free(&device, &host);
    gx__device_close(&device);
    gx__threads_end(&instance);
    unlink(path);
}

/* Work that overlaps other work on the same memory, with one of them writing, is rejected. */
static void missing_waits(void **state)
{
    (void)state;
    char path[] = "/tmp/gx-sim-XXXXXX", name[40];
    write_file(path, "queues 3\nstart_us 0\n");
    snprintf(name, sizeof name, "sim:%s", path);
    open_device(name);
    unlink(path);
    struct gx_mem up_mem, local;
    struct gx_cmd *copy, *back;
    struct gx_fence done, last, host;
    struct gx_times time;
    char data[64] = {0};
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_UPLOAD, 64, &up_mem), GX_OK);
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_DEVICE, 64, &local), GX_OK);
    struct gx_region there = {.from = {&up_mem, 0}, .to = {&local, 0}, .size = 64},
                     here = {.from = {&local, 0}, .to = {&up_mem, 0}, .size = 64};
    struct gx_host_region in = {.to = up_mem.host, .from = data, .size = 64},
                          out = {.to = data, .from = up_mem.host, .size = 64};
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_UPLOAD, &copy), GX_OK);
    device.ops->copy(copy, &there, 1);
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_DOWNLOAD, &back), GX_OK);
    device.ops->copy(back, &here, 1);
    assert_int_equal(device.ops->submit(copy, NULL, 0, &done), GX_OK);
    assert_int_equal(device.ops->submit(back, NULL, 0, &last), GX_ERR_DEVICE);
    assert_int_equal(
        device.ops->host_copy(&device, GX_QUEUE_HOST_IN, &in, 1, NULL, 0, &host, &time),
        GX_ERR_DEVICE);
    assert_int_equal(
        device.ops->host_copy(&device, GX_QUEUE_HOST_OUT, &out, 1, NULL, 0, &host, &time),
        GX_OK); /* both only read it */
    struct gx_fence waits[] = {done, host};
    assert_int_equal(device.ops->submit(back, waits, 2, &last), GX_OK);
    assert_int_equal(device.ops->wait(&device, last, GX_WAIT_FOREVER), GX_OK);
    assert_int_equal(device.ops->submit(copy, NULL, 0, &done), GX_OK); /* all is past */
    device.ops->recycle(copy);
    device.ops->recycle(back);
    device.ops->mem_free(&device, &up_mem);
    device.ops->mem_free(&device, &local);
    gx__device_close(&device);
    gx__threads_end(&instance);
}

/* Listed if it is the configured device, and nowhere else; several of one file. */
static void names(void **state)
{
    (void)state;
    gx_device_info infos[8] = {{.struct_size = sizeof *infos}}, one = {.struct_size = sizeof one};
    size_t plain = GXT_COUNT(infos), more = GXT_COUNT(infos);
    gx_ctx *ctx = gxt_open(NULL);
    assert_int_equal(gx_devices(ctx, infos, &plain), GX_OK);
    for (size_t i = 0; i < plain; i++)
        assert_int_not_equal(infos[i].kind, GX_DEVICE_SIM);
    uint32_t x[4] = {1, 2, 3, 4}, out[4];
    gx_job job = gxt_job(GX_ADD, GX_U32, 4, x, x, NULL, out);
    gx_report report = {.struct_size = sizeof report};
    const char *asked[] = {"sim:desktop", "sim:desktop#1", "sim:desktop#22"};
    for (size_t i = 0; i < GXT_COUNT(asked); i++) {
        assert_int_equal(gxt_run(ctx, &job, asked[i], &report), GX_OK);
        assert_string_equal(report.device, asked[i]);
        assert_int_equal(out[3], 8);
    }
    assert_int_equal(gxt_run(ctx, &job, "sim:desktop#", &report), GX_ERR_NO_DEVICE);
    assert_int_equal(gxt_run(ctx, &job, "sim:", &report), GX_ERR_NO_DEVICE);
    assert_int_equal(gxt_run(ctx, &job, "sim", &report), GX_ERR_NO_DEVICE);
    gx_close(&ctx);
    ctx = gxt_open(&(gx_config){.device = "sim:desktop"});
    assert_int_equal(gx_devices(ctx, infos, &more), GX_OK);
    assert_int_equal(more, plain + 1);
    one = infos[more - 1];
    assert_string_equal(one.name, "sim:desktop");
    assert_int_equal(one.kind, GX_DEVICE_SIM);
    assert_false(one.automatic);
    assert_true(one.usable);
    assert_int_equal(one.memory_bytes, (uint64_t)12 << 30);
    gx_close(&ctx);
    assert_int_equal(gx_open(&(gx_config){.device = "sim:nowhere"}, &ctx), GX_ERR_NO_DEVICE);
    assert_string_equal(gx_last_message(), "nowhere: No such file or directory");
}

static int enter(void **state)
{
    (void)state;
    gxt_clear_environment();
    gxt_enter_machines();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_files),
        cmocka_unit_test(right_files),
        cmocka_unit_test(queues_and_waits),
        cmocka_unit_test(nothing_still_takes_a_moment),
        cmocka_unit_test(both_directions),
        cmocka_unit_test(a_copy_that_begins_later),
        cmocka_unit_test(no_room_for_both),
        cmocka_unit_test(more_copies_than_are_noted),
        cmocka_unit_test(rates_that_change),
        cmocka_unit_test(host_copies),
        cmocka_unit_test(memory_is_what_the_file_says),
        cmocka_unit_test(missing_waits),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests_name("sim", tests, enter, NULL);
}
