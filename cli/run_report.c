/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports of a run, and its plan, as text and as JSON (run_report.h). JSON is written report by
 * report, so that memory use does not grow with the file.
 */
#include "run_report.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "clock.h"
#include "counters.h"
#include "progress.h"

/* "predicted to be fastest" */
static const char *reason_text(gx_reason reason)
{
    static const char *const texts[] = {[GX_REASON_NONE] = "it did not run",
                                        [GX_REASON_ASKED] = "requested",
                                        [GX_REASON_ONLY] = "the only one available",
                                        [GX_REASON_RESIDENT] = "its buffers are there",
                                        [GX_REASON_SMALL] = "too small to look for a GPU",
                                        [GX_REASON_FASTEST] = "predicted to be fastest",
                                        [GX_REASON_SPLIT] = "split",
                                        [GX_REASON_DEFAULT] = "nothing measured yet",
                                        [GX_REASON_EXPLORED] = "to measure it",
                                        [GX_REASON_FALLBACK] = "another device failed"};
    return reason < sizeof texts / sizeof *texts ? texts[reason] : gx_reason_name(reason);
}

/* ---- time ---- */

static const struct {
    const char *key, *name;
} phases[RUN_PHASES] = {
    [RUN_START] = {"starting", "starting"},      [RUN_READ] = {"reading", "reading"},
    [RUN_OPEN] = {"opening", "opening devices"}, [RUN_COMPILE] = {"compiling", "compiling kernels"},
    [RUN_TABLES] = {"tables", "making tables"},  [RUN_COMPUTE] = {"computing", "computing"},
    [RUN_WRITE] = {"writing", "writing"},        [RUN_CLOSE] = {"closing", "closing"}};

static uint64_t whole_ns(const run_report *r)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < RUN_PHASES; i++)
        ns += r->ns[i];
    return ns;
}

/* ---- JSON ---- */

/* If memory ran out, writes an empty object, so that the output stays valid JSON. */
static void put_json(json_t *value)
{
    progress_hide();
    if (!value || json_dumpf(value, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)))
        fputs("{}", stdout);
    json_decref(value);
}

/* clang-format off */
/* X(member): the numbers of a report that a sum of reports has too. */
#define NUMBERS(X)                                                                                 \
    X(dispatches) X(groups) X(submits) X(command_hits) X(sampled) X(queued_ns) X(total_ns)         \
    X(host_in_ns) X(device_ns) X(host_out_ns) X(upload_ns) X(compute_ns) X(download_ns)            \
    X(record_ns) X(submit_ns)
/* clang-format on */

static void set_numbers(json_t *json, const gx_report *r)
{
#define SET(member) json_object_set_new(json, #member, json_integer((json_int_t)r->member));
    NUMBERS(SET)
#undef SET
}

/* As far as there was room for them. */
static json_t *candidates_json(const gx_candidate *list, uint32_t count, uint32_t room)
{
    json_t *json = json_array();
    for (uint32_t i = 0; i < count && i < room; i++) {
        const gx_candidate *c = &list[i];
        json_array_append_new(
            json, json_pack("{s:s, s:I, s:I, s:I, s:I, s:s}", "device", c->device, "predicted_ns",
                            (json_int_t)c->predicted_ns, "share_ns", (json_int_t)c->share_ns,
                            "actual_ns", (json_int_t)c->actual_ns, "elements",
                            (json_int_t)c->elements, "status", gx_status_name(c->status)));
    }
    return json;
}

static json_t *json_report(const gx_job *job, const gx_report *r)
{
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:o}", "status",
                             gx_status_name(r->status), "message", r->message, "device", r->device,
                             "reason", gx_reason_name(r->reason), "path", gx_path_name(r->path),
                             "mode", gx_mode_name(r->mode), "elements", (json_int_t)job->n,
                             "threads", (json_int_t)r->threads, "candidates",
                             candidates_json(r->candidate, r->candidates, r->candidate_room));
    set_numbers(json, r);
    return json;
}

static json_t *json_total(const run_report *r, int rc)
{
    const counters *s = &r->after;
    json_t *devices = json_array();
    for (size_t i = 0; i < r->share_count; i++)
        json_array_append_new(devices, json_pack("{s:s, s:I}", "device", r->shares[i].device,
                                                 "elements", (json_int_t)r->shares[i].elements));
    json_t *spent = json_object();
    for (size_t i = 0; i < RUN_PHASES; i++)
        json_object_set_new(spent, phases[i].key, json_integer((json_int_t)r->ns[i]));
    json_t *json =
        json_pack("{s:i, s:I, s:I, s:I, s:f, s:o, s:o, s:I, s:I, s:I}", "exit_code", rc, "chunks",
                  (json_int_t)r->chunks, "elements", (json_int_t)r->elements, "bytes",
                  (json_int_t)r->bytes, "seconds", (double)whole_ns(r) / 1e9, "spent_ns", spent,
                  "devices", devices, "pool_hits", (json_int_t)s->pool_hits, "pool_misses",
                  (json_int_t)s->pool_misses, "command_misses", (json_int_t)s->command_misses);
    set_numbers(json, &r->sum);
    return json;
}

/* ---- text ---- */

/* "12.3 us"; a static buffer, valid for the next seven calls. */
static const char *time_text(uint64_t ns)
{
    static char texts[8][32];
    static unsigned next;
    char *text = texts[next++ % 8];
    const char *unit = ns < 1000000 ? "us" : ns < 1000000000 ? "ms" : "s";
    double scale = ns < 1000000 ? 1e3 : ns < 1000000000 ? 1e6 : 1e9;
    snprintf(text, sizeof texts[0], "%.1f %s", (double)ns / scale, unit);
    return text;
}

/* Values that differ between chunks are shown for the last one. */
static const char *of_last(const run_report *r)
{
    return r->chunks > 1 ? ", in the last chunk" : "";
}

static const char *unit_of(const run_report *r, uint64_t count)
{
    if (r->op == GX_MSM)
        return count == 1 ? "point" : "points";
    return count == 1 ? "element" : "elements";
}

static void print_devices(const run_report *r)
{
    if (r->share_count < 2) {
        fprintf(stderr, "device       %s (%s)\n", r->sum.device, reason_text(r->sum.reason));
        return;
    }
    for (size_t i = 0; i < r->share_count; i++)
        fprintf(stderr, "%-12s %s, %" PRIu64 " %s (%.1f %%)\n", i ? "" : "devices",
                r->shares[i].device, r->shares[i].elements, unit_of(r, r->shares[i].elements),
                100 * (double)r->shares[i].elements / (double)r->elements);
    fprintf(stderr, "chosen       %s%s\n", reason_text(r->sum.reason), of_last(r));
}

static void print_stages(const gx_report *r)
{
    const struct {
        const char *name;
        uint64_t ns;
    } stages[] = {{"copied in", r->host_in_ns},  {"recorded", r->record_ns},
                  {"submitted", r->submit_ns},   {"uploaded", r->upload_ns},
                  {"computed", r->compute_ns},   {"downloaded", r->download_ns},
                  {"copied out", r->host_out_ns}};
    fprintf(stderr, "stages       ");
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        fprintf(stderr, "%s%s %s", i ? ", " : "", stages[i].name,
                stages[i].ns ? time_text(stages[i].ns) : "-");
    fputc('\n', stderr);
}

static void print_phases(const run_report *r)
{
    const uint64_t all = whole_ns(r);
    fprintf(stderr, "time         %s\n", time_text(all));
    for (size_t i = 0; i < RUN_PHASES; i++)
        if (r->ns[i])
            fprintf(stderr, "  %-20s%10s %5.1f %%\n", phases[i].name, time_text(r->ns[i]),
                    100 * (double)r->ns[i] / (double)all);
}

static void print_rate(const run_report *r)
{
    double seconds = (double)r->ns[RUN_COMPUTE] / 1e9;
    if (seconds <= 0 || !r->elements)
        return;
    double rate = (double)(r->butterflies ? r->butterflies : r->elements) / seconds;
    fprintf(stderr, "speed        %.3g M %s/s", rate / 1e6,
            r->butterflies ? "butterflies" : unit_of(r, 0));
    if (r->op != GX_MSM)
        fprintf(stderr, ", %.3g GB/s", (double)r->bytes / seconds / 1e9);
    fputc('\n', stderr);
}

static void print_text(const run_report *r)
{
    const counters *s = &r->after;
    const gx_report *sum = &r->sum;
    progress_hide();
    fflush(stdout);
    print_devices(r);
    fprintf(stderr, "%-12s %" PRIu64 " in %" PRIu64 " chunk%s, %" PRIu64 " bytes\n", unit_of(r, 0),
            r->elements, r->chunks, plural(r->chunks), r->bytes);
    print_phases(r);
    print_rate(r);
    print_stages(sum);
    fprintf(stderr, "mode         %s, path %s%s; %u host thread%s\n", gx_mode_name(sum->mode),
            gx_path_name(sum->path), of_last(r), sum->threads, plural(sum->threads));
    fprintf(stderr, "work         %u group%s, %u submit%s, %u dispatch%s\n", sum->groups,
            plural(sum->groups), sum->submits, plural(sum->submits), sum->dispatches,
            sum->dispatches == 1 ? "" : "es");
    fprintf(stderr,
            "reused       %" PRIu64 " of %" PRIu64 " memory blocks, %" PRIu64 " of %" PRIu64
            " commands\n",
            s->pool_hits, s->pool_hits + s->pool_misses, s->command_hits,
            s->command_hits + s->command_misses);
    fprintf(stderr, "checked      %u %s\n", sum->sampled, unit_of(r, sum->sampled));
}

/* ---- both ---- */

/* The time that this process has computed, on all cores. */
static uint64_t computed_ns(void)
{
    clock_t ticks = clock();
    return ticks > 0 ? (uint64_t)((double)ticks * (1e9 / CLOCKS_PER_SEC)) : 0;
}

void run_report_phase(run_report *r, run_phase phase)
{
    uint64_t now = now_ns();
    r->ns[r->phase] += r->phase_start ? now - r->phase_start : computed_ns();
    r->phase_start = now;
    r->phase = phase;
}

void run_report_begin(run_report *r, gx_ctx *ctx, gx_op op, gx_field field)
{
    r->op = op;
    r->before = counters_read(ctx);
    if (r->json)
        printf("{\"command\": \"%s\", \"version\": \"%s\", \"op\": \"%s\", \"field\": \"%s\",\n"
               "\"reports\": [",
               r->command, gx_version(), gx_op_get_info(op)->name, gx_field_get_info(field)->name);
}

static void add_share(run_report *r, const char *device, uint64_t elements)
{
    size_t i = 0;
    while (i < r->share_count && strcmp(r->shares[i].device, device) != 0)
        i++;
    if (i == GX_CANDIDATES_MAX)
        return;
    if (i == r->share_count)
        snprintf(r->shares[r->share_count++].device, sizeof r->shares[i].device, "%s", device);
    r->shares[i].elements += elements;
}

static void add_numbers(gx_report *sum, const gx_report *r)
{
    memcpy(sum->device, r->device, sizeof sum->device);
    sum->reason = r->reason;
    sum->path = r->path;
    sum->mode = r->mode;
    sum->threads = r->threads > sum->threads ? r->threads : sum->threads;
#define ADD(member) sum->member += r->member;
    NUMBERS(ADD)
#undef ADD
}

static void add_job(run_report *r, const gx_job *job, const gx_report *report)
{
    const gx_operand *in[3] = {&job->a, &job->b, &job->c};
    if (r->json) {
        fputs(r->chunks ? ",\n  " : "\n  ", stdout);
        put_json(json_report(job, report));
    }
    r->chunks++;
    if (report->status != GX_OK)
        return;
    bool shared = false;
    for (size_t i = 0; i < report->candidates && i < report->candidate_room; i++)
        if (report->candidate[i].elements) {
            add_share(r, report->candidate[i].device, report->candidate[i].elements);
            shared = true;
        }
    if (!shared)
        add_share(r, report->device, job->n);
    r->elements += job->n;
    r->bytes += gx_operand_bytes(job, 'o');
    for (int k = 0; k < 3; k++)
        r->bytes += in[k]->broadcast ? 0 : gx_operand_bytes(job, (char)('a' + k));
    if (job->op == GX_NTT)
        r->butterflies += job->n / 2 * ((const gx_ntt_params *)job->params)->log2_n;
    add_numbers(&r->sum, report);
}

gx_status run_report_run(run_report *r, gx_ctx *ctx, const gx_job *jobs, size_t count, size_t main,
                         gx_report *reports)
{
    gx_candidate room[GX_CANDIDATES_MAX] = {{.struct_size = sizeof *room}};
    reports[main].candidate = room;
    reports[main].candidate_room = GX_CANDIDATES_MAX;
    run_report_phase(r, RUN_COMPUTE);
    gx_status s = gx_run(ctx, jobs, count, NULL, reports);
    run_report_phase(r, RUN_WRITE);
    add_job(r, &jobs[main], &reports[main]);
    return s;
}

/* The library says how much of its time was not computing. */
static void move_time(run_report *r, run_phase to, uint64_t ns)
{
    ns = ns < r->ns[RUN_COMPUTE] ? ns : r->ns[RUN_COMPUTE];
    r->ns[RUN_COMPUTE] -= ns;
    r->ns[to] += ns;
}

void run_report_end(run_report *r, gx_ctx *ctx)
{
    r->after = counters_read(ctx);
    run_report_phase(r, RUN_CLOSE);
    move_time(r, RUN_OPEN, r->after.open_ns - r->before.open_ns);
    move_time(r, RUN_COMPILE, r->after.compile_ns - r->before.compile_ns);
    move_time(r, RUN_TABLES, r->after.tables_ns - r->before.tables_ns);
}

void run_report_print(run_report *r, int rc)
{
    if (!r->op)
        return;
    run_report_phase(r, RUN_CLOSE);
    if (r->json) {
        fputs("],\n\"total\": ", stdout);
        put_json(json_total(r, rc));
        fputs("}\n", stdout);
    }
    if (r->stats)
        print_text(r);
}

/* ---- the plan ---- */

/* The candidate devices; a job for a named device has none. */
static void print_candidates(const gx_estimate_info *info)
{
    for (uint32_t i = 0; i < info->candidates && i < info->candidate_room; i++) {
        const gx_candidate *c = &info->candidate[i];
        bool shares = info->reason == GX_REASON_SPLIT && c->share_ns;
        printf("candidate    %s: ", c->device);
        if (c->predicted_ns)
            printf("%.1f us predicted", (double)c->predicted_ns / 1e3);
        else
            printf("no prediction");
        if (shares)
            printf(", %.1f us for its share", (double)c->share_ns / 1e3);
        puts(shares || !strcmp(c->device, info->device) ? ", chosen" : "");
    }
}

static void print_plan(const gx_job *job, const gx_estimate_info *info)
{
    printf("device       %s (%s)\n", info->device, reason_text(info->reason));
    print_candidates(info);
    printf("elements     %zu, in pieces of at most %" PRIu64 "\n", job->n, info->chunk_elems);
    printf("path         %s\n", info->path ? gx_path_name(info->path) : "none");
    printf("mode         %s, %u in flight\n", gx_mode_name(info->mode), info->sets);
    printf("work         %" PRIu64 " group%s, %" PRIu64 " submit%s, %" PRIu64 " dispatch%s\n",
           info->groups, plural(info->groups), info->submits, plural(info->submits),
           info->dispatches, info->dispatches == 1 ? "" : "es");
    printf("copied       %" PRIu64 " bytes by the host, %" PRIu64 " up, %" PRIu64 " down\n",
           info->bytes_staged, info->bytes_up, info->bytes_down);
    printf("memory       %" PRIu64 " bytes on the device\n", info->memory_bytes);
    if (info->predicted_ns)
        printf("predicted    %.1f us\n", (double)info->predicted_ns / 1e3);
}

static int print_plan_json(const gx_job *job, const gx_estimate_info *info)
{
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"elements", job->n},
                   {"chunk_elements", info->chunk_elems},
                   {"sets", info->sets},
                   {"groups", info->groups},
                   {"submits", info->submits},
                   {"dispatches", info->dispatches},
                   {"bytes_staged", info->bytes_staged},
                   {"bytes_up", info->bytes_up},
                   {"bytes_down", info->bytes_down},
                   {"memory_bytes", info->memory_bytes},
                   {"predicted_ns", info->predicted_ns}};
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "command", "run", "version", gx_version(),
                  "device", info->device, "reason", gx_reason_name(info->reason), "path",
                  gx_path_name(info->path), "mode", gx_mode_name(info->mode), "candidates",
                  candidates_json(info->candidate, info->candidates, info->candidate_room));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(json, numbers[i].name, json_integer((json_int_t)numbers[i].value));
    bool ok = json && !json_dumpf(json, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(json);
    if (!output_flush())
        return EXIT_FAILED;
    return ok ? EXIT_DONE : cli_no_memory();
}

int explain_job(gx_ctx *ctx, const gx_job *job, bool json)
{
    gx_candidate room[GX_CANDIDATES_MAX] = {{.struct_size = sizeof *room}};
    gx_estimate_info info = {
        .struct_size = sizeof info, .candidate = room, .candidate_room = GX_CANDIDATES_MAX};
    gx_status s = gx_estimate(ctx, job, 1, NULL, &info);
    if (s != GX_OK)
        return cli_call_failed(s);
    if (json)
        return print_plan_json(job, &info);
    print_plan(job, &info);
    return EXIT_DONE;
}
