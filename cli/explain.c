/* SPDX-License-Identifier: Apache-2.0
 *
 * gx_estimate as text and as JSON.
 */
#include "explain.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "run_report.h"

static void print_times(const gx_estimate_info *info)
{
    for (gx_mode m = GX_MODE_SEQUENTIAL; m <= GX_MODE_PIPELINED; m++)
        if (info->mode_ns[m])
            printf("predicted    %.1f us %s%s\n", (double)info->mode_ns[m] / 1e3, gx_mode_name(m),
                   m == info->mode ? ", chosen" : "");
}

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

static void print_text(const gx_job *job, const gx_estimate_info *info)
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
    print_times(info);
}

static int print_json(const gx_job *job, const gx_estimate_info *info)
{
    json_t *modes = json_object();
    for (gx_mode m = GX_MODE_SEQUENTIAL; m <= GX_MODE_PIPELINED; m++)
        if (info->mode_ns[m])
            json_object_set_new(modes, gx_mode_name(m), json_integer((json_int_t)info->mode_ns[m]));
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
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "command", "run", "version", gx_version(),
        "device", info->device, "reason", gx_reason_name(info->reason), "path",
        gx_path_name(info->path), "mode", gx_mode_name(info->mode), "mode_ns", modes, "candidates",
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
        return print_json(job, &info);
    print_text(job, &info);
    return EXIT_DONE;
}
