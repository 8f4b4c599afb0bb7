/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trace of real work says: every job is there with its stages, inside its own
 * span and in their order, host and device on one axis; exactly on a sim machine, in
 * order on every other device. And on a sim machine the overlap is in it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <jansson.h>

#include "support/harness.h"

enum { JOBS = 4, N = 20000, ELEMENT = 32, STAGES = 9, SPANS_MAX = 4096 };

static const char *const stages[STAGES] = {"job",      "host-in", "upload", "compute", "download",
                                           "host-out", "record",  "submit", "queued"};
enum { RECORD = 6, SUBMIT, QUEUED };

struct span {
    int stage;
    uint64_t first, count; /* jobs */
    int64_t start, end;    /* ns */
};

static struct span spans[SPANS_MAX];
static size_t span_count;

/* ---- reading ---- */

static int64_t ns_of(const json_t *event, const char *key)
{
    return (int64_t)(json_number_value(json_object_get(event, key)) * 1000 + 0.5);
}

static void read_span(const json_t *event)
{
    const json_t *args = json_object_get(event, "args");
    const char *cat = json_string_value(json_object_get(event, "cat"));
    struct span *s = &spans[span_count++];
    assert_true(span_count < SPANS_MAX);
    for (s->stage = 0; s->stage < STAGES && strcmp(stages[s->stage], cat); s->stage++)
        ;
    assert_true(s->stage < STAGES);
    s->first = (uint64_t)json_integer_value(json_object_get(args, "job"));
    s->count = (uint64_t)json_integer_value(json_object_get(args, "jobs"));
    assert_true(s->first >= 1 && s->count >= 1);
    assert_true(json_integer_value(json_object_get(args, "elements")) > 0);
    if (s->stage != RECORD && s->stage != SUBMIT)
        assert_true(json_integer_value(json_object_get(args, "bytes")) > 0);
    assert_string_equal(json_string_value(json_object_get(args, "op")), "mul");
    assert_string_equal(json_string_value(json_object_get(args, "field")), "bn254-fr");
    s->start = ns_of(event, "ts");
    s->end = s->start + ns_of(event, "dur");
}

static void read_trace(const char *path, const char *device)
{
    json_error_t error;
    json_t *events = json_load_file(path, 0, &error), *event;
    size_t i;
    bool named = false;
    if (!events)
        fail_msg("line %d: %s", error.line, error.text);
    span_count = 0;
    json_array_foreach(events, i, event)
    {
        const char *name = json_string_value(json_object_get(event, "name"));
        const json_t *args = json_object_get(event, "args");
        if (!strcmp(json_string_value(json_object_get(event, "ph")), "X"))
            read_span(event);
        else if (!strcmp(name, "process_name"))
            named |= !strcmp(json_string_value(json_object_get(args, "name")), device);
    }
    assert_true(named);
    json_decref(events);
}

/* ---- running ---- */

/* tickets: by gx_submit, not gx_run. */
static void trace(const char *device, const char *path_name, const char *mode, bool tickets)
{
    char path[] = "/tmp/gx-trace-XXXXXX";
    static unsigned char a[N * ELEMENT], b[N * ELEMENT], out[JOBS][N * ELEMENT];
    gx_job jobs[JOBS];
    uint64_t random = 3;
    close(mkstemp(path));
    unlink(path); /* it has to be a new file */
    gx_config config = {.trace = path};
    if (path_name)
        assert_int_equal(gx_config_set(&config, "path", path_name, NULL, 0), GX_OK);
    if (mode)
        assert_int_equal(gx_config_set(&config, "mode", mode, NULL, 0), GX_OK);
    gxt_watch(&config);
    gx_ctx *ctx = gxt_open(&config);
    gxt_fill(&random, GX_BN254_FR, a, N);
    gxt_fill(&random, GX_BN254_FR, b, N);
    for (int i = 0; i < JOBS; i++)
        jobs[i] = gxt_job(GX_MUL, GX_BN254_FR, N, a, b, NULL, out[i]);
    gx_run_params opts = {.device = device};
    gx_report reports[JOBS] = {{.struct_size = sizeof *reports}};
    for (int round = 0; round < 2; round++) {
        gx_ticket *ticket = NULL;
        if (!tickets) {
            assert_int_equal(gx_run(ctx, jobs, JOBS, &opts, reports), GX_OK);
            continue;
        }
        assert_int_equal(gx_submit(ctx, jobs, JOBS, &opts, &ticket), GX_OK);
        assert_int_equal(gx_wait(ticket, UINT64_MAX, reports), GX_OK);
        gx_ticket_destroy(&ticket);
    }
    assert_int_equal(gx_trace_stop(ctx), GX_OK);
    gx_close(&ctx);
    read_trace(path, reports[0].device);
    unlink(path);
}

/* ---- what it says ---- */

static const struct span *job_span(uint64_t job)
{
    const struct span *found = NULL;
    for (size_t i = 0; i < span_count; i++) {
        if (spans[i].stage || spans[i].first != job)
            continue;
        assert_null(found); /* once */
        found = &spans[i];
    }
    assert_non_null(found);
    return found;
}

/* Each stage of a job after the one before, all within the job. `wanted`: bits of stages. */
static void check_job(uint64_t job, unsigned wanted)
{
    const struct span *whole = job_span(job);
    unsigned seen = 1;
    int64_t last = whole->start;
    assert_true(whole->start < whole->end);
    for (int stage = 1; stage < RECORD; stage++) {
        for (size_t i = 0; i < span_count; i++) {
            const struct span *s = &spans[i];
            if (s->stage != stage || job < s->first || job >= s->first + s->count)
                continue;
            seen |= 1u << stage;
            assert_true(last <= s->start);
            assert_true(s->start <= s->end);
            last = s->end;
        }
    }
    assert_true(last <= whole->end);
    assert_int_equal(seen, wanted);
}

enum { ALL = 63, NO_COPIES = 63 & ~(1 << 2 | 1 << 4), BARE = 1 | 1 << 3 };

/* Every command of a job is submitted as soon as it is recorded, within the job. */
static void check_commands(uint64_t job, bool has_commands)
{
    const struct span *whole = job_span(job), *recorded = NULL;
    bool submitted = false;
    for (size_t i = 0; i < span_count; i++) {
        const struct span *s = &spans[i];
        if (job < s->first || job >= s->first + s->count)
            continue;
        if (s->stage != RECORD && s->stage != SUBMIT)
            continue;
        assert_true(whole->start <= s->start && s->start <= s->end && s->end <= whole->end);
        assert_int_equal(s->stage == SUBMIT, recorded != NULL);
        assert_true(!recorded || recorded->end == s->start);
        recorded = recorded ? NULL : s;
        submitted = true;
    }
    assert_null(recorded);
    assert_int_equal(submitted, has_commands);
}

static void check(const char *device, const char *path, const char *mode, unsigned wanted)
{
    trace(device, path, mode, false);
    for (uint64_t job = 1; job <= 2 * JOBS; job++)
        check_job(job, wanted);
    for (uint64_t job = 1; job <= 2 * JOBS; job++)
        check_commands(job, wanted != BARE);
}

static void on_every_device(void **state)
{
    (void)state;
    static const char *const modes[] = {"sequential", "single-submit", "pipelined"};
    const char *devices[] = {"sim:server-h200", "sim:laptop-integrated", gxt_vulkan()};
    check("cpu", NULL, NULL, BARE);
    for (size_t d = 0; d < GXT_COUNT(devices) && devices[d]; d++) {
        for (size_t m = 0; m < GXT_COUNT(modes); m++) {
            check(devices[d], "device-local", modes[m], ALL);
            check(devices[d], "host-visible", modes[m], NO_COPIES);
        }
    }
    assert_int_equal(gxt_complaints(), 0);
}

/* Pairs of spans of different jobs and stages that are under way at the same time. */
static size_t overlaps(void)
{
    size_t count = 0;
    for (size_t i = 0; i < span_count; i++)
        for (size_t k = 0; k < i; k++)
            count += spans[i].stage && spans[k].stage && spans[i].stage < RECORD &&
                     spans[k].stage < RECORD && spans[i].stage != spans[k].stage &&
                     spans[i].start < spans[k].end && spans[k].start < spans[i].end;
    return count;
}

static void overlap_is_seen(void **state)
{
    (void)state;
    trace("sim:server-h200", "device-local", "sequential", false);
    assert_int_equal(overlaps(), 0);
    trace("sim:server-h200", "device-local", "pipelined", false);
    assert_true(overlaps() >= 2 * JOBS);
}

/* A ticket's jobs wait before they begin; those of a call do not. */
static void waiting_is_seen(void **state)
{
    (void)state;
    unsigned queued = 0;
    trace("cpu", NULL, NULL, true);
    for (size_t i = 0; i < span_count; i++) {
        if (spans[i].stage != QUEUED)
            continue;
        assert_int_equal(spans[i].count, JOBS);
        assert_true(spans[i].start <= spans[i].end);
        assert_true(spans[i].end <= job_span(spans[i].first)->start);
        queued++;
    }
    assert_int_equal(queued, 2);
    trace("cpu", NULL, NULL, false);
    for (size_t i = 0; i < span_count; i++)
        assert_int_not_equal(spans[i].stage, QUEUED);
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
        cmocka_unit_test(on_every_device),
        cmocka_unit_test(overlap_is_seen),
        cmocka_unit_test(waiting_is_seen),
    };
    return cmocka_run_group_tests_name("trace", tests, enter, NULL);
}
