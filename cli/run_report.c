/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports of a run as text and as JSON (run_report.h). JSON is written report by report, so that
 * memory use does not grow with the file.
 */
#include "run_report.h"

#include <inttypes.h>
#include <string.h>

#include "clock.h"
#include "progress.h"

const char *reason_text(gx_reason reason)
{
    static const char *const texts[] = {[GX_REASON_NONE] = "it did not run",
                                        [GX_REASON_ASKED] = "requested",
                                        [GX_REASON_ONLY] = "the only one available",
                                        [GX_REASON_RESIDENT] = "its buffers are there",
                                        [GX_REASON_SMALL] = "too small for a GPU",
                                        [GX_REASON_FASTEST] = "predicted to be fastest",
                                        [GX_REASON_SPLIT] = "split",
                                        [GX_REASON_DEFAULT] = "nothing measured yet",
                                        [GX_REASON_EXPLORED] = "to measure it",
                                        [GX_REASON_FALLBACK] = "another device failed"};
    return reason < sizeof texts / sizeof *texts ? texts[reason] : gx_reason_name(reason);
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

/* The numbers of a report, or of a sum of reports. */
static json_t *json_numbers(const gx_report *r)
{
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"dispatches", r->dispatches},   {"groups", r->groups},
                   {"submits", r->submits},         {"command_hits", r->command_hits},
                   {"sampled", r->sampled},         {"queued_ns", r->queued_ns},
                   {"total_ns", r->total_ns},       {"host_in_ns", r->host_in_ns},
                   {"device_ns", r->device_ns},     {"host_out_ns", r->host_out_ns},
                   {"upload_ns", r->upload_ns},     {"compute_ns", r->compute_ns},
                   {"download_ns", r->download_ns}, {"record_ns", r->record_ns},
                   {"submit_ns", r->submit_ns}};
    json_t *json = json_object();
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(json, numbers[i].name, json_integer((json_int_t)numbers[i].value));
    return json;
}

json_t *candidates_json(const gx_candidate *list, uint32_t count, uint32_t room)
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
    json_t *numbers = json_numbers(r);
    json_object_update(json, numbers);
    json_decref(numbers);
    return json;
}

static json_t *json_total(const run_report *r, const gx_statistics *s, double seconds, int rc)
{
    json_t *devices = json_array();
    for (size_t i = 0; i < r->share_count; i++)
        json_array_append_new(devices, json_pack("{s:s, s:I}", "device", r->shares[i].device,
                                                 "elements", (json_int_t)r->shares[i].elements));
    json_t *json = json_pack(
        "{s:i, s:I, s:I, s:I, s:f, s:o, s:I, s:I, s:I}", "exit_code", rc, "chunks",
        (json_int_t)r->chunks, "elements", (json_int_t)r->elements, "bytes", (json_int_t)r->bytes,
        "seconds", seconds, "devices", devices, "pool_hits", (json_int_t)s->pool_hits,
        "pool_misses", (json_int_t)s->pool_misses, "command_misses", (json_int_t)s->command_misses);
    json_t *numbers = json_numbers(&r->sum);
    json_object_update(json, numbers);
    json_decref(numbers);
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

static void print_devices(const run_report *r)
{
    if (r->share_count < 2) {
        fprintf(stderr, "device       %s (%s)\n", r->sum.device, reason_text(r->sum.reason));
        return;
    }
    for (size_t i = 0; i < r->share_count; i++)
        fprintf(stderr, "%-12s %s, %" PRIu64 " element%s (%.1f %%)\n", i ? "" : "devices",
                r->shares[i].device, r->shares[i].elements, plural(r->shares[i].elements),
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

static void print_text(const run_report *r, const gx_statistics *s, uint64_t ns)
{
    const gx_report *sum = &r->sum;
    progress_hide();
    fflush(stdout);
    print_devices(r);
    fprintf(stderr, "elements     %" PRIu64 " in %" PRIu64 " chunk%s, %" PRIu64 " bytes\n",
            r->elements, r->chunks, plural(r->chunks), r->bytes);
    fprintf(stderr, "time         %s including files; %s in the library", time_text(ns),
            time_text(sum->total_ns));
    if (sum->total_ns)
        fprintf(stderr, ", %.3g GB/s", (double)r->bytes / (double)sum->total_ns);
    fputc('\n', stderr);
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
    fprintf(stderr, "checked      %u element%s\n", sum->sampled, plural(sum->sampled));
}

/* ---- both ---- */

void run_report_begin(run_report *r, const gx_job *job)
{
    r->start_ns = now_ns();
    if (r->json)
        printf("{\"command\": \"%s\", \"version\": \"%s\", \"op\": \"%s\", \"field\": \"%s\",\n"
               "\"reports\": [",
               r->command, gx_version(), gx_op_get_info(job->op)->name,
               gx_field_get_info(job->field)->name);
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
    sum->dispatches += r->dispatches;
    sum->groups += r->groups;
    sum->submits += r->submits;
    sum->command_hits += r->command_hits;
    sum->sampled += r->sampled;
    sum->total_ns += r->total_ns;
    sum->host_in_ns += r->host_in_ns;
    sum->device_ns += r->device_ns;
    sum->host_out_ns += r->host_out_ns;
    sum->upload_ns += r->upload_ns;
    sum->compute_ns += r->compute_ns;
    sum->download_ns += r->download_ns;
    sum->record_ns += r->record_ns;
    sum->submit_ns += r->submit_ns;
}

void run_report_add(run_report *r, const gx_job *job, uint64_t bytes, const gx_report *report)
{
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
    r->bytes += bytes;
    add_numbers(&r->sum, report);
}

void run_report_end(run_report *r, gx_ctx *ctx, int rc)
{
    gx_statistics s = {.struct_size = sizeof s};
    uint64_t ns = now_ns() - r->start_ns;
    gx_stats(ctx, &s);
    if (r->json) {
        fputs("],\n\"total\": ", stdout);
        put_json(json_total(r, &s, (double)ns / 1e9, rc));
        fputs("}\n", stdout);
    }
    if (r->stats)
        print_text(r, &s, ns);
}
