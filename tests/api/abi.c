/* SPDX-License-Identifier: Apache-2.0
 *
 * Structs of other versions at the API boundary: those of older callers, which are shorter, and of
 * newer ones, which are longer, for every call that takes or fills one. Version 0.1 has no
 * predecessors, so short structs are tested on the internal functions, with a layout that has
 * grown.
 */
#include <stdio.h>

#include "base/abi.h"
#include "support/harness.h"

#define GUARD 0x5a
#define TAIL  64 /* additional bytes of a newer version */

static gx_ctx *ctx;

static int open_context(void **state)
{
    (void)state;
    gxt_clear_environment();
    ctx = gxt_open(&(gx_config){.device = "cpu"});
    return 0;
}

static int close_context(void **state)
{
    (void)state;
    gx_close(&ctx);
    return 0;
}

/* ---- the rules, on a struct that has grown ---- */

struct grown {
    size_t struct_size;
    uint64_t first, second, third; /* the third came later */
};
static const struct gx_layout layout = {"gx_grown", offsetof(struct grown, third),
                                        sizeof(struct grown)};

static void inputs_of_every_size(void **state)
{
    (void)state;
    struct grown own;
    struct gx_error error = {""};
    uint64_t memory[32] = {0, 1, 2, 3};
    const size_t sizes[] = {0, 24, 32, 40, 200};
    for (size_t i = 0; i < GXT_COUNT(sizes); i++) {
        memory[0] = sizes[i];
        memset(&own, GUARD, sizeof own);
        assert_int_equal(gx__take_in(&layout, &own, memory, &error), GX_OK);
        assert_int_equal(own.struct_size, sizeof own);
        assert_int_equal(own.first, 1);
        assert_int_equal(own.second, 2);
        assert_int_equal(own.third, sizes[i] > 24 ? 3 : 0);
    }
    assert_int_equal(gx__take_in(&layout, &own, NULL, &error), GX_OK);
    assert_int_equal(own.first | own.second | own.third, 0);
    memory[0] = 48;
    ((char *)memory)[47] = 1;
    assert_int_equal(gx__take_in(&layout, &own, memory, &error), GX_ERR_INVALID);
    assert_non_null(strstr(error.text, "gx_grown: byte 47"));
    assert_non_null(strstr(error.text, "newer gpuexec.h"));
    memory[0] = 47; /* it ends before that */
    assert_int_equal(gx__take_in(&layout, &own, memory, &error), GX_OK);
}

static void sizes_that_cannot_be(void **state)
{
    (void)state;
    struct grown own, caller = {0};
    const size_t wrong[] = {1, 8, 23, 65537, SIZE_MAX};
    size_t size;
    for (size_t i = 0; i < GXT_COUNT(wrong); i++) {
        struct gx_error error = {""};
        caller.struct_size = wrong[i];
        assert_int_equal(gx__take_in(&layout, &own, &caller, &error), GX_ERR_INVALID);
        assert_non_null(strstr(error.text, "gx_grown.struct_size"));
        error.text[0] = 0;
        assert_int_equal(gx__check_out(&layout, &caller, 1, &size, &error), GX_ERR_INVALID);
        assert_non_null(strstr(error.text, "gx_grown.struct_size"));
    }
}

static void outputs_of_every_size(void **state)
{
    (void)state;
    const struct grown own = {0, 1, 2, 3};
    const size_t sizes[] = {0, 24, 32, 40};
    struct gx_error error = {""};
    for (size_t i = 0; i < GXT_COUNT(sizes); i++) {
        uint64_t memory[8], want[8];
        size_t size;
        memset(memory, GUARD, sizeof memory);
        memory[0] = sizes[i];
        memcpy(want, memory, sizeof want);
        assert_int_equal(gx__check_out(&layout, memory, 1, &size, &error), GX_OK);
        assert_int_equal(size, sizes[i] ? sizes[i] : 24);
        gx__give_out(&layout, memory, size, sizeof(size_t), &own);
        for (size_t k = 1; k < size / 8; k++)
            want[k] = k < 4 ? k : 0; /* zeros where it is longer */
        assert_memory_equal(memory, want, sizeof want);
    }
}

static void arrays_have_to_say_their_size(void **state)
{
    (void)state;
    struct grown caller = {0};
    struct gx_error error = {""};
    size_t size;
    assert_int_equal(gx__check_out(&layout, &caller, 1, &size, &error), GX_OK);
    assert_int_equal(gx__check_out(&layout, &caller, 2, &size, &error), GX_ERR_INVALID);
    assert_non_null(strstr(error.text, "sizeof(gx_grown)"));
}

/* Meaning of struct_size 0 in bytes: the first release, on a machine with 64-bit pointers. These
 * numbers must never change. */
static void first_sizes_stay(void **state)
{
    (void)state;
    if (sizeof(void *) != 8)
        return;
    assert_int_equal(gx__config_layout.first, 168);
    assert_int_equal(gx__run_params_layout.first, 32);
    assert_int_equal(gx__calibrate_params_layout.first, 72);
    assert_int_equal(gx__report_layout.first, 352);
    assert_int_equal(gx__candidate_layout.first, 96);
    assert_int_equal(gx__estimate_layout.first, 160);
    assert_int_equal(gx__device_info_layout.first, 208);
    assert_int_equal(gx__device_statistics_layout.first, 128);
    assert_int_equal(sizeof(gx_operand), 32);
    assert_int_equal(sizeof(gx_job), 160);
    assert_int_equal(sizeof(gx_allocator), 24);
}

/* ---- every input ---- */

typedef gx_status (*input_fn)(const void *input);

static gx_status take_config(const void *config)
{
    gx_ctx *other = NULL;
    gx_status s = gx_open(config, &other);
    assert_int_equal(other != NULL, s == GX_OK);
    gx_close(&other);
    return s;
}

static uint32_t one = 1, two = 2, sum;
static gx_job small_job(void)
{
    return gxt_job(GX_ADD, GX_U32, 1, &one, &two, NULL, &sum);
}

static gx_status take_run_opts(const void *opts)
{
    gx_job job = small_job();
    return gx_run(ctx, &job, 1, opts, NULL);
}

static gx_status take_submit_opts(const void *opts)
{
    gx_ticket *ticket = NULL;
    gx_job job = small_job();
    gx_status s = gx_submit(ctx, &job, 1, opts, &ticket);
    gx_ticket_destroy(&ticket);
    return s;
}

static gx_status take_estimate_opts(const void *opts)
{
    gx_estimate_info info = {0};
    gx_job job = small_job();
    return gx_estimate(ctx, &job, 1, opts, &info);
}

static int end_at_once(void *user, double done, const char *device, const char *what)
{
    (void)user, (void)done, (void)device, (void)what;
    return 1;
}

static gx_status take_calibration(const void *settings)
{
    gx_status s = gx_calibrate(ctx, settings);
    return s == GX_ERR_CANCELLED || s == GX_ERR_FILE ? GX_OK : s;
}

static void inputs_of_newer_callers(void **state)
{
    (void)state;
    const gx_calibrate_params settings = {.progress = end_at_once, .max_elems = 64};
    const gx_config config = {.cache_dir = "none"};
    const gx_run_params opts = {0};
    const struct {
        input_fn take;
        const void *input;
        size_t size;
        const struct gx_layout *layout;
        const char *name;
    } inputs[] = {{take_config, &config, sizeof config, &gx__config_layout, "gx_config"},
                  {take_run_opts, &opts, sizeof opts, &gx__run_params_layout, "gx_run_params"},
                  {take_submit_opts, &opts, sizeof opts, &gx__run_params_layout, "gx_run_params"},
                  {take_estimate_opts, &opts, sizeof opts, &gx__run_params_layout, "gx_run_params"},
                  {take_calibration, &settings, sizeof settings, &gx__calibrate_params_layout,
                   "gx_calibrate_params"}};
    for (size_t i = 0; i < GXT_COUNT(inputs); i++) {
        _Alignas(16) char memory[512 + TAIL] = {0};
        size_t size = inputs[i].size + TAIL;
        memcpy(memory, inputs[i].input, inputs[i].size);
        assert_int_equal(inputs[i].take(memory), GX_OK); /* 0: the first release */
        memcpy(memory, &size, sizeof size);
        assert_int_equal(inputs[i].take(memory), GX_OK);
        memory[size] = 1; /* no longer its own */
        assert_int_equal(inputs[i].take(memory), GX_OK);
        memory[inputs[i].size] = 1;
        assert_int_equal(inputs[i].take(memory), GX_ERR_INVALID);
        assert_non_null(strstr(gx_last_message(), inputs[i].name));
        assert_non_null(strstr(gx_last_message(), "newer gpuexec.h"));
        memory[inputs[i].size] = 0;
        const size_t wrong[] = {1, inputs[i].layout->first - 1, 65537};
        for (size_t k = 0; k < GXT_COUNT(wrong); k++) {
            memcpy(memory, &wrong[k], sizeof wrong[k]);
            assert_int_equal(inputs[i].take(memory), GX_ERR_INVALID);
            assert_non_null(strstr(gx_last_message(), "struct_size"));
        }
    }
}

static void settings_beyond_the_callers_config(void **state)
{
    (void)state;
    struct {
        gx_config config;
        char newer[TAIL];
    } c = {.config = {.struct_size = sizeof c}};
    char err[128];
    assert_int_equal(gx_config_set(&c.config, "cache-dir", "none", err, sizeof err), GX_OK);
    c.config.struct_size = 5;
    assert_int_equal(gx_config_set(&c.config, "cache-dir", "none", err, sizeof err),
                     GX_ERR_INVALID);
    assert_non_null(strstr(err, "struct_size"));
    assert_string_equal(gx_last_message(), err);
}

/* ---- every output ---- */

typedef gx_status (*output_fn)(void *output, size_t room);

static gx_status fill_devices(void *infos, size_t room)
{
    return gx_devices(ctx, infos, &room);
}

static gx_status fill_device_stats(void *stats, size_t room)
{
    return gx_device_stats(ctx, stats, &room);
}

static gx_status fill_estimate(void *info, size_t room)
{
    (void)room;
    gx_job job = small_job();
    return gx_estimate(ctx, &job, 1, NULL, info);
}

static gx_status fill_reports(void *reports, size_t room)
{
    const gx_job jobs[2] = {small_job(), small_job()};
    return gx_run(ctx, jobs, room, NULL, reports);
}

static gx_status fill_reports_later(void *reports, size_t room)
{
    const gx_job jobs[2] = {small_job(), small_job()};
    gx_ticket *ticket = NULL;
    assert_int_equal(gx_submit(ctx, jobs, room, NULL, &ticket), GX_OK);
    gx_status s = gx_wait(ticket, UINT64_MAX, reports);
    gx_ticket_destroy(&ticket);
    return s;
}

/* One or two structs of a size: bytes from `keep` on are written, known ones not all with their old
 * contents, unknown ones with zeros, and nothing behind them. */
static void fill_and_check(output_fn fill, size_t size, size_t known, size_t keep, size_t room)
{
    _Alignas(16) char memory[2 * (512 + TAIL) + TAIL];
    memset(memory, GUARD, sizeof memory);
    for (size_t i = 0; i < room; i++)
        memset(memory + i * size, 0, keep);
    memcpy(memory, &size, sizeof size);
    char before[sizeof memory];
    memcpy(before, memory, sizeof memory);
    assert_int_equal(fill(memory, room), GX_OK);
    for (size_t i = 0; i < room; i++) {
        const char *one = memory + i * size;
        assert_memory_equal(one, before + i * size, keep);
        assert_memory_not_equal(one + keep, before + i * size + keep, known - keep);
        for (size_t k = known; k < size; k++)
            assert_int_equal(one[k], 0);
    }
    assert_memory_equal(memory + room * size, before + room * size, sizeof memory - room * size);
}

static void outputs_of_newer_callers(void **state)
{
    (void)state;
    static const struct {
        output_fn fill;
        size_t size, keep;
        bool array;
    } outputs[] = {
        {fill_devices, sizeof(gx_device_info), sizeof(size_t), true},
        {fill_device_stats, sizeof(gx_device_statistics), sizeof(size_t), false},
        {fill_estimate, sizeof(gx_estimate_info), offsetof(gx_estimate_info, candidates), false},
        {fill_reports, sizeof(gx_report), offsetof(gx_report, candidates), true},
        {fill_reports_later, sizeof(gx_report), offsetof(gx_report, candidates), true}};
    assert_int_equal(take_run_opts(NULL), GX_OK); /* the device has statistics then */
    for (size_t i = 0; i < GXT_COUNT(outputs); i++)
        for (size_t room = 1; room <= 1u + outputs[i].array; room++) {
            size_t known = outputs[i].size;
            fill_and_check(outputs[i].fill, known, known, outputs[i].keep, room);
            fill_and_check(outputs[i].fill, known + TAIL, known, outputs[i].keep, room);
        }
}

static void outputs_of_no_size(void **state)
{
    (void)state;
    static const struct {
        output_fn fill;
        bool array;
    } outputs[] = {{fill_devices, true}, {fill_device_stats, true}, {fill_reports_later, true}};
    for (size_t i = 0; i < GXT_COUNT(outputs); i++) {
        _Alignas(16) char memory[2048] = {0};
        const size_t wrong[] = {1, 96 - 1, 65537, SIZE_MAX};
        assert_int_equal(outputs[i].fill(memory, 1), GX_OK); /* 0: the first release */
        memset(memory, 0, sizeof memory);
        if (outputs[i].array) {
            assert_int_equal(outputs[i].fill(memory, 2), GX_ERR_INVALID);
            assert_non_null(strstr(gx_last_message(), "in an array"));
        }
        for (size_t k = 0; k < GXT_COUNT(wrong); k++) {
            memcpy(memory, &wrong[k], sizeof wrong[k]);
            assert_int_equal(outputs[i].fill(memory, 1), GX_ERR_INVALID);
            assert_non_null(strstr(gx_last_message(), "struct_size"));
        }
    }
}

/* ---- candidates ---- */

static void candidates_are_asked_for(void **state)
{
    (void)state;
    gx_ctx *routed = gxt_open(&(gx_config){.policy = GX_POLICY_CPU, .cache_dir = "none"});
    struct {
        gx_candidate known;
        char newer[TAIL];
    } room[2];
    const gx_job jobs[2] = {small_job(), small_job()};
    for (uint32_t n = 0; n <= 2; n++) {
        memset(room, GUARD, sizeof room);
        room->known.struct_size = sizeof *room;
        gx_report r[2] = {{.struct_size = sizeof *r},
                          {.candidate = &room->known, .candidate_room = n}};
        assert_int_equal(gx_run(routed, jobs, 2, NULL, r), GX_OK);
        assert_int_equal(r[0].candidates, 1);
        assert_int_equal(r[1].candidates, 1); /* with and without room */
        assert_ptr_equal(r[1].candidate, &room->known);
        assert_int_equal(r[1].candidate_room, n);
        assert_int_equal(room->known.struct_size, sizeof *room);
        assert_int_equal(room->newer[0], n ? 0 : GUARD);
        assert_int_equal(room[1].known.device[0], GUARD); /* there was no second one */
        if (n)
            assert_string_equal(room->known.device, "cpu");
    }
    gx_estimate_info info = {
        .struct_size = sizeof info, .candidate = &room->known, .candidate_room = 1};
    room->known.device[0] = 0;
    assert_int_equal(gx_estimate(routed, jobs, 2, NULL, &info), GX_OK);
    assert_int_equal(info.candidates, 1);
    assert_string_equal(room->known.device, "cpu");
    gx_close(&routed);
}

static void candidates_without_memory_or_size(void **state)
{
    (void)state;
    gx_candidate room[2] = {{0}};
    const gx_job job = small_job();
    gx_report r = {.candidate_room = 1};
    assert_int_equal(gx_run(ctx, &job, 1, NULL, &r), GX_ERR_INVALID);
    assert_non_null(strstr(gx_last_message(), "candidate is NULL"));
    r = (gx_report){.candidate = room, .candidate_room = 2};
    assert_int_equal(gx_run(ctx, &job, 1, NULL, &r), GX_ERR_INVALID);
    assert_non_null(strstr(gx_last_message(), "gx_candidate.struct_size"));
    gx_estimate_info info = {.candidate = room, .candidate_room = 2};
    assert_int_equal(gx_estimate(ctx, &job, 1, NULL, &info), GX_ERR_INVALID);
    assert_non_null(strstr(gx_last_message(), "gx_candidate.struct_size"));
}

/* ---- reserved members, and operands ---- */

static void reserved_members_must_be_zero(void **state)
{
    (void)state;
    gx_job job = small_job();
    gx_run_params opts = {.reserved = 1};
    assert_int_equal(gx_run(ctx, &job, 1, &opts, NULL), GX_ERR_INVALID);
    assert_non_null(strstr(gx_last_message(), "reserved"));
    job.reserved = 1;
    assert_int_equal(gx_run(ctx, &job, 1, NULL, NULL), GX_ERR_INVALID);
    assert_non_null(strstr(gx_last_message(), "reserved"));
    job.reserved = 0;
    job.b.reserved = 1;
    assert_int_equal(gx_run(ctx, &job, 1, NULL, NULL), GX_ERR_INVALID);
    assert_non_null(strstr(gx_last_message(), "operand b: reserved"));
}

static void expect_operand(gx_operand o, const void *host, const gx_buf *buf, size_t offset,
                           uint32_t broadcast)
{
    assert_ptr_equal(o.host, host);
    assert_ptr_equal(o.buf, buf);
    assert_int_equal(o.offset, offset);
    assert_int_equal(o.broadcast, broadcast);
    assert_int_equal(o.reserved, 0);
}

static void operands_and_buffers(void **state)
{
    (void)state;
    gx_buf *buf = NULL;
    assert_int_equal(gx_buf_create(ctx, "cpu", 123, 0, &buf), GX_OK);
    assert_int_equal(gx_buf_size(buf), 123);
    assert_string_equal(gx_buf_device(buf), "cpu");
    assert_int_equal(gx_buf_size(NULL), 0);
    assert_string_equal(gx_buf_device(NULL), "");
    expect_operand(gx_host(&one), &one, NULL, 0, 0);
    expect_operand(gx_host_broadcast(&one), &one, NULL, 0, 1);
    expect_operand(gx_dev(buf, 16), NULL, buf, 16, 0);
    expect_operand(gx_dev_broadcast(buf, 32), NULL, buf, 32, 1);
    gx_job job = {.op = GX_ADD, .field = GX_U32, .n = 3};
    uint32_t in[3] = {1, 2, 3}, out[3];
    assert_int_equal(gx_buf_write(buf, 16, &two, sizeof two), GX_OK);
    job.a = gx_host(in);
    job.b = gx_dev_broadcast(buf, 16);
    job.out = gx_host(out);
    assert_int_equal(gx_run(ctx, &job, 1, NULL, NULL), GX_OK);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(out[i], in[i] + 2);
    gx_buf_destroy(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_of_every_size),
        cmocka_unit_test(sizes_that_cannot_be),
        cmocka_unit_test(outputs_of_every_size),
        cmocka_unit_test(arrays_have_to_say_their_size),
        cmocka_unit_test(first_sizes_stay),
        cmocka_unit_test(inputs_of_newer_callers),
        cmocka_unit_test(settings_beyond_the_callers_config),
        cmocka_unit_test(outputs_of_newer_callers),
        cmocka_unit_test(outputs_of_no_size),
        cmocka_unit_test(candidates_are_asked_for),
        cmocka_unit_test(candidates_without_memory_or_size),
        cmocka_unit_test(reserved_members_must_be_zero),
        cmocka_unit_test(operands_and_buffers),
    };
    return cmocka_run_group_tests_name("abi", tests, open_context, close_context);
}
