/* SPDX-License-Identifier: Apache-2.0
 *
 * gx_metrics_prometheus: every value equals that of the counters and of gx_device_stats, the text
 * follows the format, and doc/metrics.md lists the same names.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "api/counters.h"
#include "support/harness.h"

enum { ELEMENTS = 1000, LINE_MAX_BYTES = 512 };

/* ---- a context that has done something ---- */

/* A device whose name needs every escape, where file names may contain such characters. */
#if defined(_WIN32)
#define ODD_FILE  "a b{c"
#define ODD_LABEL "device=\"sim:a b{c\""
#else
#define ODD_FILE  "a\"b\\c\nd"
#define ODD_LABEL "device=\"sim:a\\\"b\\\\c\\nd\""
#endif
#define ODD_DEVICE "sim:" ODD_FILE

static char folder[] = "/tmp/gx-metrics-XXXXXX";

static void copy_machine(const char *to)
{
    char bytes[1 << 16];
    FILE *in = fopen("desktop", "rb");
    assert_non_null(in);
    size_t count = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    FILE *out = fopen(to, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, count, out), count);
    assert_int_equal(fclose(out), 0);
}

static int set_up(void **state)
{
    (void)state;
    char path[sizeof folder + sizeof ODD_FILE];
    gxt_clear_environment();
    gxt_enter_machines();
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/%s", folder, ODD_FILE);
    copy_machine(path);
    assert_int_equal(chdir(folder), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(ODD_FILE);
    assert_int_equal(chdir("/"), 0); /* Windows keeps the folder that a process is in */
    return rmdir(folder);
}

static void run_ticket(gx_ctx *ctx, const gx_job *job, const char *device)
{
    gx_ticket *ticket;
    gx_run_params opts = {.device = device};
    assert_int_equal(gx_submit(ctx, job, 1, &opts, &ticket), GX_OK);
    assert_int_equal(gx_wait(ticket, UINT64_MAX, NULL), GX_OK);
    gx_ticket_destroy(&ticket);
}

/* Four calls and two tickets; those that name it on the odd device. */
static gx_ctx *used_context(void)
{
    static uint64_t a[ELEMENTS][6], b[ELEMENTS][6], out[ELEMENTS][6];
    uint64_t seed = 3;
    gx_config config = {.device = "cpu," ODD_DEVICE, .cache_dir = "none"};
    gx_ctx *ctx = gxt_open(&config);
    gxt_fill(&seed, GX_BLS12_381_FQ, a, ELEMENTS);
    gxt_fill(&seed, GX_BLS12_381_FQ, b, ELEMENTS);
    gx_job job = gxt_job(GX_MUL, GX_BLS12_381_FQ, ELEMENTS, a, b, NULL, out);
    for (int i = 0; i < 3; i++)
        assert_int_equal(gxt_run(ctx, &job, NULL, NULL), GX_OK);
    assert_int_equal(gxt_run(ctx, &job, ODD_DEVICE, NULL), GX_OK);
    run_ticket(ctx, &job, NULL);
    run_ticket(ctx, &job, ODD_DEVICE);
    job.n = 0;
    job.op = GX_INV; /* with an operand b that the operation does not have */
    assert_int_equal(gxt_run(ctx, &job, NULL, NULL), GX_ERR_INVALID);
    return ctx;
}

static char *metrics_of(gx_ctx *ctx)
{
    size_t size = 0;
    assert_int_equal(gx_metrics_prometheus(ctx, NULL, &size), GX_OK);
    char *text = gxt_alloc(size);
    size_t room = size;
    assert_int_equal(gx_metrics_prometheus(ctx, text, &room), GX_OK);
    assert_int_equal(room, size);
    assert_int_equal(strlen(text) + 1, size);
    return text;
}

/* ---- numbers ---- */

/* The text after "\nSERIES ". */
static const char *value_of(const char *text, const char *series)
{
    size_t length = strlen(series);
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, series, length) && line[length] == ' ')
            return line + length + 1;
    }
    fail_msg("no %s", series);
    return NULL;
}

static void check(const char *text, const char *series, uint64_t want)
{
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64 "\n", want);
    if (strncmp(value_of(text, series), digits, length) != 0)
        fail_msg("%s is %.20s and not %s", series, value_of(text, series), digits);
}

static void check_seconds(const char *text, const char *series, uint64_t ns)
{
    const char *value = value_of(text, series);
    char *dot;
    uint64_t whole = strtoull(value, &dot, 10);
    assert_int_equal(*dot, '.');
    assert_int_equal(strcspn(dot + 1, "\n"), 9);
    assert_int_equal(whole * 1000000000u + strtoull(dot + 1, NULL, 10), ns);
}

static void every_number_of_the_context(void **state)
{
    (void)state;
    struct gx_statistics s = {0};
    gx_ctx *ctx = used_context();
    char *text = metrics_of(ctx), series[80];
    gx__stats(ctx, &s);
    assert_int_equal(s.jobs_done, 6);
    assert_int_equal(s.elements, 6 * ELEMENTS);
    assert_int_equal(s.jobs_failed, 1);
    check(text, "gpuexec_build_info{version=\"0.1.0\"}", 1);
    check(text, "gpuexec_jobs_total{result=\"done\"}", s.jobs_done);
    check(text, "gpuexec_jobs_total{result=\"failed\"}", s.jobs_failed);
    check(text, "gpuexec_elements_total", s.elements);
    check(text, "gpuexec_read_bytes_total", s.bytes_read);
    check(text, "gpuexec_written_bytes_total", s.bytes_written);
    check_seconds(text, "gpuexec_compute_seconds_total", s.compute_ns);
    check(text, "gpuexec_dispatches_total", s.dispatches);
    check(text, "gpuexec_pool_requests_total{result=\"hit\"}", s.pool_hits);
    check(text, "gpuexec_pool_requests_total{result=\"miss\"}", s.pool_misses);
    for (unsigned i = 0; i < GX_BUCKETS; i++) {
        snprintf(series, sizeof series, "gpuexec_pool_blocks_total{bytes=\"%llu\"}", 4096ull << i);
        check(text, i + 1 < GX_BUCKETS ? series : "gpuexec_pool_blocks_total{bytes=\"+Inf\"}",
              s.buckets[i]);
    }
    check(text, "gpuexec_pool_bytes", s.pool_bytes);
    check(text, "gpuexec_device_memory_bytes", s.device_bytes);
    check(text, "gpuexec_device_memory_peak_bytes", s.device_bytes_peak);
    check(text, "gpuexec_command_requests_total{result=\"hit\"}", s.command_hits);
    check(text, "gpuexec_command_requests_total{result=\"miss\"}", s.command_misses);
    check_seconds(text, "gpuexec_record_seconds_total", s.record_ns);
    check_seconds(text, "gpuexec_submit_seconds_total", s.submit_ns);
    check_seconds(text, "gpuexec_open_seconds_total", s.open_ns);
    check_seconds(text, "gpuexec_compile_seconds_total", s.compile_ns);
    check_seconds(text, "gpuexec_tables_seconds_total", s.tables_ns);
    check(text, "gpuexec_tickets_submitted_total", s.tickets_submitted);
    check(text, "gpuexec_tickets_done_total", s.tickets_done);
    check(text, "gpuexec_tickets_cancelled_total", s.tickets_cancelled);
    check(text, "gpuexec_jobs_waiting", s.jobs_waiting);
    check(text, "gpuexec_validation_messages_total", s.validation_messages);
    check(text, "gpuexec_decisions_total", s.decisions);
    check(text, "gpuexec_decisions_default_total", s.decisions_default);
    check(text, "gpuexec_decisions_split_total", s.decisions_split);
    check(text, "gpuexec_decisions_explored_total", s.decisions_explored);
    check(text, "gpuexec_decisions_predicted_total", s.decisions_predicted);
    check_seconds(text, "gpuexec_routed_seconds_total", s.routed_ns);
    check_seconds(text, "gpuexec_routed_best_seconds_total", s.routed_best_ns);
    check(text, "gpuexec_sampled_elements_total", s.sampled);
    check(text, "gpuexec_mismatches_total", s.mismatches);
    check(text, "gpuexec_fallbacks_total", s.fallbacks);
    free(text);
    gx_close(&ctx);
}

static void check_device(const char *text, const char *label, const gx_device_statistics *d)
{
    static const char *const states[] = {"unused", "good", "resting", "quarantined"};
    char series[160];
#define SERIES(name) (snprintf(series, sizeof series, "gpuexec_device_" name "{%s}", label), series)
    for (unsigned i = 0; i < GXT_COUNT(states); i++) {
        snprintf(series, sizeof series, "gpuexec_device_health{%s,state=\"%s\"}", label, states[i]);
        check(text, series, (unsigned)d->health == i);
    }
    check_seconds(text, SERIES("retry_seconds"), d->retry_ns);
    check(text, SERIES("jobs_total"), d->jobs);
    check(text, SERIES("elements_total"), d->elements);
    check_seconds(text, SERIES("busy_seconds_total"), d->busy_ns);
    check_seconds(text, SERIES("waiting_seconds"), d->waiting_ns);
    check(text, SERIES("failures_total"), d->failures);
    check(text, SERIES("mismatches_total"), d->mismatches);
    check(text, SERIES("readmissions_total"), d->readmissions);
#undef SERIES
}

static void every_number_of_the_devices(void **state)
{
    (void)state;
    gx_device_statistics devices[4] = {{.struct_size = sizeof *devices}};
    size_t count = GXT_COUNT(devices), odd = 0;
    gx_ctx *ctx = used_context();
    char *text = metrics_of(ctx);
    assert_int_equal(gx_device_stats(ctx, devices, &count), GX_OK);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++) {
        bool is_odd = !strcmp(devices[i].device, ODD_DEVICE);
        odd += is_odd;
        check_device(text, is_odd ? ODD_LABEL : "device=\"cpu\"", &devices[i]);
        assert_true(!is_odd || devices[i].jobs);
    }
    assert_int_equal(odd, 1);
    free(text);
    gx_close(&ctx);
}

static void what_the_devices_are(void **state)
{
    (void)state;
    gx_device_info infos[16] = {{.struct_size = sizeof *infos}};
    size_t count = GXT_COUNT(infos);
    char series[400];
    gx_ctx *ctx = used_context();
    char *text = metrics_of(ctx);
    assert_int_equal(gx_devices(ctx, infos, &count), GX_OK);
    assert_string_equal(infos[0].name, "cpu");
    snprintf(series, sizeof series,
             "gpuexec_device_info{device=\"cpu\",kind=\"cpu\",description=\"%s\"}",
             infos[0].description);
    check(text, series, 1);
    snprintf(series, sizeof series, "\ngpuexec_device_info{%s,kind=\"sim\",description=\"",
             ODD_LABEL);
    assert_non_null(strstr(text, series));
    free(text);
    gx_close(&ctx);
}

/* ---- histograms ---- */

/* Buckets never decrease, the last one is the count; returns it, and the sum. */
static uint64_t check_histogram(const char *text, const char *name, const char *labels,
                                uint64_t *sum_ns)
{
    static const char *const bounds[] = {
        "0.000001", "0.000002", "0.000005", "0.00001", "0.00002", "0.00005", "0.0001", "0.0002",
        "0.0005",   "0.001",    "0.002",    "0.005",   "0.01",    "0.02",    "0.05",   "0.1",
        "0.2",      "0.5",      "1",        "2",       "5",       "10",      "+Inf"};
    char series[320], *dot;
    uint64_t before = 0, nonempty = 0;
    for (size_t i = 0; i < GXT_COUNT(bounds); i++) {
        snprintf(series, sizeof series, "%s_bucket{%s,le=\"%s\"}", name, labels, bounds[i]);
        uint64_t value = strtoull(value_of(text, series), NULL, 10);
        assert_true(value >= before);
        nonempty += value > before && i;
        before = value;
    }
    snprintf(series, sizeof series, "%s_count{%s}", name, labels);
    check(text, series, before);
    snprintf(series, sizeof series, "%s_sum{%s}", name, labels);
    *sum_ns = strtoull(value_of(text, series), &dot, 10) * 1000000000u;
    *sum_ns += strtoull(dot + 1, NULL, 10);
    assert_true(*sum_ns && (nonempty || *sum_ns <= before * 1000));
    return before;
}

static size_t occurrences(const char *text, const char *what)
{
    size_t count = 0;
    for (; (text = strstr(text, what)); text++)
        count++;
    return count;
}

/* Every job is in one histogram: that of its device, operation and field. */
static void every_job_is_in_a_histogram(void **state)
{
    (void)state;
    const char *jobs[] = {"device=\"cpu\",op=\"mul\",field=\"bls12-381-fq\"",
                          ODD_LABEL ",op=\"mul\",field=\"bls12-381-fq\""};
    uint64_t done = 0, waited = 0, sum_ns;
    char series[160];
    gx_ctx *ctx = used_context();
    char *text = metrics_of(ctx);
    for (size_t i = 0; i < GXT_COUNT(jobs); i++) {
        uint64_t count = check_histogram(text, "gpuexec_job_duration_seconds", jobs[i], &sum_ns);
        snprintf(series, sizeof series, "gpuexec_job_elements_total{%s}", jobs[i]);
        check(text, series, count * ELEMENTS);
        assert_true(i == 0 || count >= 2);
        done += count;
    }
    assert_int_equal(done, 6);
    for (size_t i = 0; i < GXT_COUNT(jobs); i++)
        if (strstr(text,
                   (snprintf(series, sizeof series, "gpuexec_job_wait_seconds_count{%s}", jobs[i]),
                    series)))
            waited += check_histogram(text, "gpuexec_job_wait_seconds", jobs[i], &sum_ns);
    assert_int_equal(waited, 2);
    assert_int_equal(occurrences(text, "\ngpuexec_job_duration_seconds_count{"), 2);
    free(text);
    gx_close(&ctx);
}

/* The sum equals that of the reports, with and without a router, whether or not reports are
 * requested; on a device with simulated time, to the nanosecond. */
static void the_sum_is_what_reports_say(void **state)
{
    (void)state;
    static uint64_t a[ELEMENTS][6], out[ELEMENTS][6];
    const char *labels = ODD_LABEL ",op=\"neg\",field=\"bls12-381-fq\"";
    uint64_t seed = 4, total_ns = 0, queued_ns = 0, sum_ns, again_ns;
    gx_config config = {.device = ODD_DEVICE, .cache_dir = "none"};
    gx_ctx *ctx = gxt_open(&config);
    gx_ticket *ticket;
    gx_report report = {.struct_size = sizeof report};
    gxt_fill(&seed, GX_BLS12_381_FQ, a, ELEMENTS);
    gx_job job = gxt_job(GX_NEG, GX_BLS12_381_FQ, ELEMENTS, a, NULL, NULL, out);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(gx_run(ctx, &job, 1, NULL, &report), GX_OK);
        total_ns += report.total_ns;
    }
    assert_int_equal(gx_submit(ctx, &job, 1, NULL, &ticket), GX_OK);
    assert_int_equal(gx_wait(ticket, UINT64_MAX, &report), GX_OK);
    gx_ticket_destroy(&ticket);
    total_ns += report.total_ns;
    queued_ns = report.queued_ns;
    char *text = metrics_of(ctx);
    assert_int_equal(check_histogram(text, "gpuexec_job_duration_seconds", labels, &sum_ns), 4);
    assert_int_equal(sum_ns, total_ns);
    assert_int_equal(check_histogram(text, "gpuexec_job_wait_seconds", labels, &sum_ns), 1);
    assert_int_equal(sum_ns, queued_ns);
    free(text);

    assert_int_equal(gx_run(ctx, &job, 1, NULL, NULL), GX_OK);
    text = metrics_of(ctx);
    assert_int_equal(check_histogram(text, "gpuexec_job_duration_seconds", labels, &again_ns), 5);
    assert_true(again_ns > total_ns && again_ns < 2 * total_ns); /* no report, the same time */
    free(text);
    gx_close(&ctx);
}

/* ---- the calling rules ---- */

static void a_small_room_gets_nothing(void **state)
{
    (void)state;
    gx_ctx *ctx = used_context();
    char *text = metrics_of(ctx);
    size_t whole = strlen(text) + 1;
    for (size_t room = 1; room < whole; room += room < whole - 2 ? (whole - 2 - room + 5) / 6 : 1) {
        char *less = gxt_alloc(room + 1);
        memset(less, 'x', room + 1);
        size_t size = room;
        assert_int_equal(gx_metrics_prometheus(ctx, less, &size), GX_OK);
        assert_int_equal(size, whole);
        assert_int_equal(less[0], 0);
        assert_int_equal(less[room], 'x');
        free(less);
    }
    size_t none = 0;
    assert_int_equal(gx_metrics_prometheus(ctx, text, &none), GX_OK);
    assert_int_equal(none, whole);
    assert_int_equal(text[0], '#');
    free(text);
    gx_close(&ctx);
}

static void null_is_refused(void **state)
{
    (void)state;
    size_t size = 0;
    gx_ctx *ctx = gxt_open(NULL);
    assert_int_equal(gx_metrics_prometheus(NULL, NULL, &size), GX_ERR_INVALID);
    assert_int_equal(gx_metrics_prometheus(ctx, NULL, NULL), GX_ERR_INVALID);
    gx_close(&ctx);
}

/* ---- the document ---- */

/* The labels of a sample, as in the document: `device`, `state`. */
static void label_names(const char *sample, size_t name_length, char *names, size_t size)
{
    const char *p = sample + name_length;
    size_t used = 0;
    names[0] = 0;
    for (bool quoted = false; *p != '\n' && (quoted || *p != ' '); p++) {
        if (*p == '"' && p[-1] != '\\')
            quoted = !quoted;
        if (quoted || (*p != '{' && *p != ','))
            continue;
        size_t length = strcspn(p + 1, "=");
        used += (size_t)snprintf(names + used, size - used, "%s`%.*s`", used ? ", " : "",
                                 (int)length, p + 1);
    }
}

/* The row of the document for the metric whose HELP line begins here. */
static const char *document_row(const char *help_line, char *row, size_t size)
{
    char name[96], help[256], type[16], names[64], series[128];
    assert_int_equal(sscanf(help_line, "# HELP %95s %255[^\n]", name, help), 2);
    const char *type_line = strchr(help_line, '\n') + 1;
    assert_int_equal(sscanf(type_line, "# TYPE %*s %15s", type), 1);
    assert_int_equal(!strcmp(type, "counter"), !strcmp(name + strlen(name) - 6, "_total"));
    const char *sample = strchr(type_line, '\n') + 1;
    snprintf(series, sizeof series, "%s%s", name, strcmp(type, "histogram") ? "" : "_bucket");
    assert_memory_equal(sample, series, strlen(series));
    label_names(sample, strlen(series), names, sizeof names);
    snprintf(row, size, "| `%s` | %s | %s%s%s |\n", name, type, names, *names ? " | " : "| ", help);
    return sample;
}

static void the_document_has_every_metric(void **state)
{
    (void)state;
    static char document[1 << 16];
    FILE *in = fopen(GXT_METRICS_DOCUMENT, "rb");
    assert_non_null(in);
    document[fread(document, 1, sizeof document - 1, in)] = 0;
    fclose(in);

    gx_ctx *ctx = used_context();
    char *text = metrics_of(ctx), row[LINE_MAX_BYTES];
    int metrics = 0, rows = 0;
    for (const char *p = text; (p = strstr(p, "# HELP ")); metrics++) {
        p = document_row(p, row, sizeof row);
        if (!strstr(document, row))
            fail_msg("doc/metrics.md has no line %s", row);
    }
    for (const char *p = document; (p = strstr(p, "\n| `gpuexec_")); p++)
        rows++;
    assert_int_equal(rows, metrics);
    free(text);
    gx_close(&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_of_the_context),
        cmocka_unit_test(every_number_of_the_devices),
        cmocka_unit_test(what_the_devices_are),
        cmocka_unit_test(every_job_is_in_a_histogram),
        cmocka_unit_test(the_sum_is_what_reports_say),
        cmocka_unit_test(a_small_room_gets_nothing),
        cmocka_unit_test(null_is_refused),
        cmocka_unit_test(the_document_has_every_metric),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
