/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace file: it is JSON whatever goes in and however it ends, no lane has two spans at once,
 * memory stays bounded, write errors are reported, and no file but a trace is replaced.
 * tests/exec/trace.c tests what the engine writes.
 */
#include "base/trace.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "support/harness.h"
#include "support/heap.h"

static struct gxt_heap heap;
static struct gx_instance instance;
static char path[32];
static struct gx_error error;

/* ---- shorthands ---- */

static void start(void)
{
    gxt_heap_start(&heap);
    memset(&instance, 0, sizeof instance);
    instance.config.allocator = gxt_heap_allocator(&heap);
    gx__trace_init(&instance);
    strcpy(path, "/tmp/gx-trace-XXXXXX");
    close(mkstemp(path));
    unlink(path);
    assert_int_equal(gx__trace_start(&instance, path, &error), GX_OK);
}

static void end(void)
{
    gx__trace_end(&instance);
    gxt_heap_end(&heap);
    unlink(path);
}

static json_t *load(void)
{
    json_error_t error;
    json_t *events = json_load_file(path, 0, &error);
    if (!events)
        fail_msg("line %d: %s", error.line, error.text);
    assert_true(json_is_array(events));
    return events;
}

static const char *text_of(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));
    return text ? text : "";
}

static double number_of(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

static size_t count_of(const json_t *events, const char *phase)
{
    size_t i, count = 0;
    json_t *event;
    json_array_foreach(events, i, event) count += strcmp(text_of(event, "ph"), phase) == 0;
    return count;
}

static void span(const char *device, enum gx_stage stage, uint64_t job, uint64_t from, uint64_t to)
{
    gx__trace_span(&instance, &(struct gx_span){.device = device,
                                                .stage = stage,
                                                .job = job,
                                                .op = GX_MUL,
                                                .field = GX_BN254_FR,
                                                .elements = 7,
                                                .bytes = 224,
                                                .start_ns = from,
                                                .end_ns = to});
}

/* ---- what is in it ---- */

static void one_span(void **state)
{
    (void)state;
    start();
    span("cpu", GX_STAGE_COMPUTE, 3, 1234567, 1240000);
    assert_int_equal(gx__trace_stop(&instance, &error), GX_OK);
    json_t *events = load(), *event, *found = NULL, *args;
    size_t i, names = 0;
    json_array_foreach(events, i, event)
    {
        const char *name = text_of(json_object_get(event, "args"), "name");
        if (!strcmp(text_of(event, "ph"), "X"))
            found = event;
        names += !strcmp(text_of(event, "name"), "process_name") && !strcmp(name, "cpu");
        names += !strcmp(text_of(event, "name"), "thread_name") && !strcmp(name, "compute");
    }
    assert_int_equal(names, 2);
    assert_non_null(found);
    assert_string_equal(text_of(found, "name"), "compute 3");
    assert_string_equal(text_of(found, "cat"), "compute");
    assert_true(number_of(found, "ts") == 1234.567);
    assert_true(number_of(found, "dur") == 5.433);
    args = json_object_get(found, "args");
    assert_true(number_of(args, "job") == 3);
    assert_true(number_of(args, "jobs") == 1);
    assert_true(number_of(args, "elements") == 7);
    assert_true(number_of(args, "bytes") == 224);
    assert_string_equal(text_of(args, "op"), "mul");
    assert_string_equal(text_of(args, "field"), "bn254-fr");
    json_decref(events);
    end();
}

static void names_that_would_break_it(void **state)
{
    (void)state;
    start();
    span("sim:a\"b\\c\n\xff", GX_STAGE_JOB, 1, 5, 4); /* and it ends before it begins */
    assert_int_equal(gx__trace_stop(&instance, &error), GX_OK);
    json_t *events = load(), *event;
    size_t i;
    json_array_foreach(events, i, event)
    {
        if (!strcmp(text_of(event, "name"), "process_name"))
            assert_string_equal(text_of(json_object_get(event, "args"), "name"), "sim:a?b?c??");
        if (!strcmp(text_of(event, "ph"), "X"))
            assert_true(number_of(event, "dur") == 0);
    }
    json_decref(events);
    end();
}

/* Viewers cannot show two spans of a lane that overlap in part. */
static void lanes(void **state)
{
    (void)state;
    start();
    for (uint64_t i = 0; i < 100; i++) /* three at a time, in each of two stages */
        for (int s = 0; s < 2; s++)
            span("a", s ? GX_STAGE_JOB : GX_STAGE_UPLOAD, i, 1000 * i, 1000 * i + 3000);
    span("b", GX_STAGE_UPLOAD, 7, 0, 0);
    assert_int_equal(gx__trace_stop(&instance, &error), GX_OK);
    json_t *events = load(), *event;
    double busy[3][100] = {{0}};
    unsigned used = 0;
    size_t i;
    json_array_foreach(events, i, event)
    {
        if (strcmp(text_of(event, "ph"), "X") != 0)
            continue;
        double *until = &busy[(int)number_of(event, "pid")][(int)number_of(event, "tid")];
        used += *until == 0;
        assert_true(*until <= number_of(event, "ts"));
        *until = number_of(event, "ts") + number_of(event, "dur");
    }
    assert_int_equal(used, 3 + 3 + 1);
    json_decref(events);
    end();
}

/* ---- how long, how it ends ---- */

static void *many_spans(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < 10000; i++)
        span("cpu", (enum gx_stage)(i % GX_STAGES), i, i, i + 1);
    return NULL;
}

static void many_from_many_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    start();
    uint64_t calls = gxt_heap_calls(&heap);
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, many_spans, NULL), 0);
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    assert_int_equal(gxt_heap_calls(&heap), calls); /* one buffer, however many */
    assert_int_equal(gx__trace_stop(&instance, &error), GX_OK);
    json_t *events = load();
    assert_int_equal(count_of(events, "X"), THREADS * 10000);
    json_decref(events);
    end();
}

/* What is on disk when the process dies: complete events, and no closing bracket. */
static void killed_half_way(void **state)
{
    (void)state;
    start();
    for (uint64_t i = 0; i < 1000; i++)
        span("cpu", GX_STAGE_COMPUTE, i, i, i + 1);
    FILE *f = fopen(path, "a+");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    assert_true(ftell(f) > 100000); /* most of it */
    assert_true(fputs("]", f) >= 0);
    assert_int_equal(fclose(f), 0);
    json_t *events = load();
    assert_true(count_of(events, "X") > 500);
    json_decref(events);
    end();
}

static void start_and_stop(void **state)
{
    (void)state;
    start();
    assert_true(gx__tracing(&instance));
    assert_int_equal(gx__trace_start(&instance, path, &error), GX_ERR_INVALID);
    struct gx_instance other = {.config.allocator = instance.config.allocator};
    gx__trace_init(&other);
    assert_int_equal(gx__trace_start(&other, path, &error), GX_ERR_INVALID);
    gx__trace_end(&other);
    assert_int_equal(gx__trace_stop(&instance, &error), GX_OK);
    assert_false(gx__tracing(&instance));
    assert_int_equal(gx__trace_stop(&instance, &error), GX_OK);
    span("cpu", GX_STAGE_JOB, 1, 2, 3); /* goes nowhere */
    assert_int_equal(gx__trace_start(&instance, "/nowhere/t", &error), GX_ERR_FILE);
    assert_string_equal(error.text, "trace '/nowhere/t': No such file or directory");
    gxt_heap_fail(&heap, 1, 0);
    assert_int_equal(gx__trace_start(&instance, path, &error), GX_ERR_OUT_OF_MEMORY);
    gxt_heap_heal(&heap);
    assert_int_equal(gx__trace_start(&instance, path, &error), GX_OK);
    assert_int_equal(gx__trace_jobs(&instance, 3), 1);
    assert_int_equal(gx__trace_jobs(&instance, 1), 4);
    end(); /* stops it */
}

/* ---- where it goes ---- */

/* Files may not grow beyond that. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void disk_full(void **state)
{
    (void)state;
    start();
    assert_int_equal(gx__trace_stop(&instance, &error), GX_OK);
    assert_int_equal(gx__trace_start(&instance, path, &error), GX_OK);
    limit_files(4096);
    many_spans(NULL);
    assert_int_equal(gx__trace_stop(&instance, &error), GX_ERR_FILE);
    assert_string_equal(error.text, "the trace is incomplete: File too large");
    /* It is still a trace, and can be replaced; if there is no space at all, it stays. */
    assert_int_equal(gx__trace_start(&instance, path, &error), GX_OK);
    assert_int_equal(gx__trace_stop(&instance, &error), GX_OK);
    json_decref(load());
    limit_files(0);
    assert_int_equal(gx__trace_start(&instance, path, &error), GX_ERR_FILE);
    json_decref(load());
    unlink(path);
    assert_int_equal(gx__trace_start(&instance, path, &error), GX_ERR_FILE);
    assert_int_equal(access(path, F_OK), -1); /* nor is an empty file left */
    limit_files(RLIM_INFINITY);
    end();
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void expect_file(const char *name, const char *text)
{
    char got[64] = "";
    FILE *f = fopen(name, "r");
    assert_non_null(f);
    got[fread(got, 1, sizeof got - 1, f)] = 0;
    fclose(f);
    assert_string_equal(got, text);
}

/* Neither gx_trace_start nor gx_open starts a trace there, and the file is intact. */
static void expect_refused(const char *name, const char *why)
{
    gx_ctx *ctx;
    gx_config config = {.trace = name, .cache_dir = "none"};
    struct stat before, after;
    assert_int_equal(lstat(name, &before), 0);
    assert_int_equal(gx__trace_start(&instance, name, &error), GX_ERR_FILE);
    if (!strstr(error.text, why))
        fail_msg("'%s' says '%s'", name, error.text);
    assert_int_equal(gx_open(&config, &ctx), GX_ERR_FILE);
    assert_int_equal(lstat(name, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(before.st_mode, after.st_mode);
    assert_int_equal(before.st_size, after.st_size);
}

static void only_over_a_trace(void **state)
{
    (void)state;
    start();
    span("cpu", GX_STAGE_JOB, 1, 2, 3);
    assert_int_equal(gx__trace_stop(&instance, &error), GX_OK);
    assert_int_equal(gx__trace_start(&instance, path, &error), GX_OK);
    assert_int_equal(gx__trace_stop(&instance, &error), GX_OK);
    json_t *events = load();
    assert_int_equal(json_array_size(events), 1); /* nothing of the one before */
    json_decref(events);
    const char *const others[] = {"", "[", "[{\"ph\":\"M\",\"name\":\"other\"}]", "elements\n"};
    for (size_t i = 0; i < GXT_COUNT(others); i++) {
        write_file(path, others[i]);
        expect_refused(path, "is not a gpuexec trace");
        expect_file(path, others[i]);
    }
    end();
}

/* A pipe would block whoever opens or fills it, and kill the writer when its reader exits; a device
 * may do anything; a link leads elsewhere. */
static void only_regular_files(void **state)
{
    (void)state;
    static const char why[] = "is not a regular file";
    char other[40];
    start();
    assert_int_equal(gx__trace_stop(&instance, &error), GX_OK);
    snprintf(other, sizeof other, "%s.other", path);
    assert_int_equal(symlink(path, other), 0); /* to a trace */
    expect_refused(other, why);
    assert_int_equal(unlink(path), 0); /* to nothing */
    expect_refused(other, why);
    assert_int_equal(access(path, F_OK), -1);
    write_file(path, "elements\n");
    expect_refused(other, why);
    expect_file(path, "elements\n");
    assert_int_equal(unlink(other), 0);
    assert_int_equal(mkfifo(other, 0600), 0);
    expect_refused(other, why); /* without a reader, */
    int reader = open(other, O_RDONLY | O_NONBLOCK);
    expect_refused(other, why); /* and with one */
    close(reader);
    unlink(other);
    assert_int_equal(mkdir(other, 0700), 0);
    expect_refused(other, why);
    assert_int_equal(rmdir(other), 0);
    expect_refused("/dev/null", why);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_span),
        cmocka_unit_test(names_that_would_break_it),
        cmocka_unit_test(lanes),
        cmocka_unit_test(many_from_many_threads),
        cmocka_unit_test(killed_half_way),
        cmocka_unit_test(start_and_stop),
        cmocka_unit_test(disk_full),
        cmocka_unit_test(only_over_a_trace),
        cmocka_unit_test(only_regular_files),
    };
    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
