/* SPDX-License-Identifier: Apache-2.0
 *
 * gx_estimate as lines of text.
 */
#include "explain.h"

#include <inttypes.h>

static const char *const reasons[] = {[GX_REASON_NONE] = "",
                                      [GX_REASON_ASKED] = "asked for",
                                      [GX_REASON_ONLY] = "the only automatic one",
                                      [GX_REASON_RESIDENT] = "its buffers are there",
                                      [GX_REASON_SMALL] = "too little for a GPU",
                                      [GX_REASON_FASTEST] = "the fastest",
                                      [GX_REASON_SPLIT] = "with others",
                                      [GX_REASON_DEFAULT] = "nothing is measured yet",
                                      [GX_REASON_EXPLORED] = "to find out what it takes",
                                      [GX_REASON_FALLBACK] = "another one failed"};

static void print_times(const gx_estimate_info *info)
{
    for (gx_mode m = GX_MODE_SEQUENTIAL; m <= GX_MODE_PIPELINED; m++)
        if (info->mode_ns[m])
            printf("predicted    %.1f us %s%s\n", (double)info->mode_ns[m] / 1e3, gx_mode_name(m),
                   m == info->mode ? ", chosen" : "");
}

int explain_job(gx_ctx *ctx, const gx_job *job)
{
    gx_estimate_info info;
    gx_status s = gx_estimate(ctx, job, 1, NULL, &info);
    if (s != GX_OK) {
        gx_report report = {.status = s};
        return cli_job_failed(&report);
    }
    printf("device       %s (%s)\n", info.device, reasons[info.reason]);
    printf("elements     %zu, in pieces of %" PRIu64 " at most\n", job->n, info.chunk_elems);
    printf("path         %s\n", info.path ? gx_path_name(info.path) : "none");
    printf("mode         %s, %u in flight\n", gx_mode_name(info.mode), info.sets);
    printf("work         %" PRIu64 " group%s, %" PRIu64 " submit%s, %" PRIu64 " dispatch%s\n",
           info.groups, plural(info.groups), info.submits, plural(info.submits), info.dispatches,
           info.dispatches == 1 ? "" : "es");
    printf("copied       %" PRIu64 " bytes by the host, %" PRIu64 " up, %" PRIu64 " down\n",
           info.bytes_staged, info.bytes_up, info.bytes_down);
    printf("memory       %" PRIu64 " bytes of the device\n", info.memory_bytes);
    print_times(&info);
    return EXIT_DONE;
}
