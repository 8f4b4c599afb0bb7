/* SPDX-License-Identifier: Apache-2.0
 *
 * The verdict on a call: the statuses it may have, by the tables of doc/threading.md, and what its
 * memory must hold then. Jobs that report success are done again by the oracle on the expected
 * bytes, in order; what a failure leaves unspecified is marked unknown.
 */
#include <stdlib.h>
#include <string.h>

#include "random/run.h"

enum { OUT = RND_OPERANDS - 1, NEVER = 100000 };

/* ---- devices and limits ---- */

/* A fault that comes after so many calls does not come. */
int rnd_is_faulty(const char *device)
{
    for (const char *at = strstr(device, "fault:"); at; at = strstr(at + 1, "fault:")) {
        const char *number = strchr(at, '@');
        if (number && strtoul(number + 1, NULL, 10) < NEVER)
            return 1;
    }
    return 0;
}

static uint64_t policy_of(const struct rnd_open *open, const struct rnd_call *call)
{
    return call->policy ? call->policy : open->spec->policy;
}

static int has_buffers(const struct rnd_call *call)
{
    for (unsigned j = 0; j < call->njobs; j++) {
        if (call->job[j].op == GX_MSM && call->job[j].points.buffer)
            return 1;
        for (unsigned i = 0; i < RND_OPERANDS; i++)
            if (call->job[j].operand[i].memory == MEM_BUFFER ||
                call->job[j].operand[i].memory == MEM_MAPPABLE)
                return 1;
    }
    return 0;
}

/* A device that hangs may still write to registered memory, so that no other takes over. */
static int may_still_write(const struct rnd_open *open, const struct rnd_call *call)
{
    for (unsigned j = 0; j < call->njobs && strstr(open->spec->device, "hang"); j++)
        for (unsigned i = 0; i < RND_OPERANDS; i++)
            if (call->job[j].operand[i].memory == MEM_REGISTERED)
                return 1;
    return 0;
}

/* The budget is less than any job needs that is cut as far as it can be. */
static int may_lack_memory(const struct rnd_open *open)
{
    uint64_t budget = open->spec->device_memory;
    return budget && budget < rnd_enough_memory(open->spec);
}

/* A device that fails, and no other may take over. */
static int device_may_fail(const struct rnd_open *open, const struct rnd_call *call)
{
    if (call->device[0] || open->ndevices == 1)
        return rnd_is_faulty(call->device[0] ? call->device : open->spec->device);
    return rnd_is_faulty(open->spec->device) &&
           (policy_of(open, call) == GX_POLICY_GPU || has_buffers(call) || may_lack_memory(open));
}

/* Without a list, GPUs that are software are not chosen. */
static int has_no_gpu(const struct rnd_open *open)
{
    for (size_t i = 0; i < open->ndevices; i++)
        if (strcmp(open->device[i], "cpu") != 0)
            return 0;
    return 1;
}

/* The policy of the context decides where buffers are. */
static int asks_for_gpu(const struct rnd_open *open, const struct rnd_call *call)
{
    return policy_of(open, call) == GX_POLICY_GPU ||
           (has_buffers(call) && open->spec->policy == GX_POLICY_GPU);
}

static int may_be_cancelled(const struct rnd_open *open, const struct rnd_call *call)
{
    if (call->how != HOW_TICKET)
        return 0;
    for (unsigned i = 0; i < open->spec->ncalls; i++)
        if (open->spec->call[i].how == HOW_TICKET && open->spec->call[i].cancel == CANCEL_ALL)
            return 1;
    return call->cancel != CANCEL_NEVER;
}

int rnd_may_return(const struct rnd_open *open, const struct rnd_call *call, gx_status status)
{
    switch (status) {
    case GX_OK:
        return 1;
    case GX_ERR_OUT_OF_DEVICE_MEMORY:
        return device_may_fail(open, call) || may_lack_memory(open);
    case GX_ERR_DEVICE_LOST:
    case GX_ERR_DEVICE:
        return device_may_fail(open, call);
    case GX_ERR_TIMEOUT:
        return device_may_fail(open, call) || may_still_write(open, call);
    case GX_ERR_OUT_OF_MEMORY:
        return open->spec->fail_alloc != 0;
    case GX_ERR_CANCELLED:
        return may_be_cancelled(open, call);
    case GX_ERR_NO_DEVICE:
        if (open->spec->fail_alloc) /* there was no memory to open it */
            return 1;
        return !call->device[0] &&
               (rnd_is_faulty(open->spec->device) ? asks_for_gpu(open, call) || has_buffers(call)
                                                  : asks_for_gpu(open, call) && has_no_gpu(open));
    default:
        return 0;
    }
}

/* ---- bytes ---- */

struct rnd_area *rnd_live_area(struct rnd_live *live, unsigned job, unsigned operand,
                               size_t *offset)
{
    struct rnd_place place = rnd_place(live->call, job, operand);
    *offset = place.offset;
    for (unsigned i = 0; i < live->nareas; i++)
        if (live->area[i].job == place.job && live->area[i].operand == place.operand)
            return &live->area[i];
    abort();
}

static int is_known(struct rnd_live *live, unsigned j, unsigned i)
{
    size_t offset;
    struct rnd_area *area = rnd_live_area(live, j, i, &offset);
    return !memchr(area->unknown + area->head + offset, 1, rnd_bytes(&live->call->job[j], i));
}

static int inputs_are_known(struct rnd_live *live, unsigned j)
{
    for (unsigned i = 0; i < rnd_operand_count(&live->call->job[j]); i++)
        if (!is_known(live, j, i))
            return 0;
    return 1;
}

static void mark_output(struct rnd_live *live, unsigned j, int unknown)
{
    size_t offset;
    struct rnd_area *area = rnd_live_area(live, j, OUT, &offset);
    memset(area->unknown + area->head + offset, unknown, rnd_bytes(&live->call->job[j], OUT));
}

static int is_in_place(struct rnd_live *live, unsigned j)
{
    size_t offset, out_offset;
    const struct rnd_area *out = rnd_live_area(live, j, OUT, &out_offset);
    for (unsigned i = 0; i < rnd_operand_count(&live->call->job[j]); i++)
        if (rnd_live_area(live, j, i, &offset) == out && offset == out_offset)
            return 1;
    return 0;
}

static void get_inputs(struct rnd_live *live, unsigned j, unsigned char *in[3])
{
    for (unsigned i = 0; i < 3; i++) {
        size_t offset;
        in[i] = NULL;
        if (i < rnd_operand_count(&live->call->job[j])) {
            struct rnd_area *area = rnd_live_area(live, j, i, &offset);
            in[i] = area->expected + area->head + offset;
        }
    }
}

/* ---- one job ---- */

static struct rnd_rejection reject(struct rnd_live *live, unsigned j, int trusted)
{
    struct rnd_job job = live->call->job[j];
    unsigned char *in[3];
    job.trusted = trusted ? job.trusted : 0;
    get_inputs(live, j, in);
    return rnd_oracle_reject(&job, in);
}

/* It was done: the oracle does the same. */
static void expect_result(struct rnd_live *live, unsigned j)
{
    const struct rnd_job *job = &live->call->job[j];
    size_t offset, bytes = rnd_bytes(job, OUT);
    struct rnd_area *area = rnd_live_area(live, j, OUT, &offset);
    unsigned char *in[3], *out = malloc(bytes + 1);
    if (!out)
        abort();
    get_inputs(live, j, in);
    if (job->op == GX_NTT)
        rnd_oracle_ntt(job, in[0], out);
    else if (job->op == GX_MSM)
        rnd_oracle_msm(job, live->points[j], in[0], out);
    else
        rnd_oracle_elements(job, in, out);
    memcpy(area->expected + area->head + offset, out, bytes);
    mark_output(live, j, 0);
    free(out);
}

static void judge_done(struct rnd_live *live, unsigned j)
{
    struct rnd_rejection wanted;
    if (!inputs_are_known(live, j)) {
        mark_output(live, j, 1);
        return;
    }
    wanted = reject(live, j, 1);
    if (wanted.status != GX_OK)
        rnd_fail(FAIL_STATUS, "job %u succeeded with element %llu not acceptable", j,
                 (unsigned long long)wanted.index);
    if (reject(live, j, 0).status != GX_OK)
        mark_output(live, j, 1);
    else
        expect_result(live, j);
}

static void judge_rejected(struct rnd_live *live, unsigned j, gx_status status)
{
    const gx_report *report = live->has_reports ? &live->report[j] : NULL;
    if (!inputs_are_known(live, j))
        return;
    struct rnd_rejection wanted = reject(live, j, 1);
    if (wanted.status != status)
        rnd_fail(FAIL_STATUS, "job %u: %s, expected %s: %s", j, gx_status_name(status),
                 gx_status_name(wanted.status), report ? report->message : gx_last_message());
    if (!report)
        return;
    if (report->bad_index != wanted.index)
        rnd_fail(FAIL_INDEX, "job %u: element %llu is bad, expected %llu", j,
                 (unsigned long long)report->bad_index, (unsigned long long)wanted.index);
    if (report->bad_operand ? report->bad_operand < 'a' || report->bad_operand > 'c' ||
                                  !(wanted.operands >> (report->bad_operand - 'a') & 1)
                            : live->call->njobs < 2)
        rnd_fail(FAIL_INDEX, "job %u: operand %u is bad, expected one of bits %u", j,
                 report->bad_operand, wanted.operands);
}

/* An earlier job was done and then found wrong: this one may have been done, too. What the call
   returns is how the device failed that was to do it again, if there was one. */
static int was_wrong(const struct rnd_live *live)
{
    return live->status != GX_OK &&
           (rnd_names_liar(live->open->spec->device) || rnd_names_liar(live->call->device));
}

static void judge_job(struct rnd_live *live, unsigned j, gx_status status)
{
    switch (status) {
    case GX_OK:
        judge_done(live, j);
        return;
    case GX_ERR_NOT_CANONICAL:
    case GX_ERR_INVALID:
        judge_rejected(live, j, status);
        if (!is_in_place(live, j))
            mark_output(live, j, 1);
        return;
    case GX_ERR_NOT_RUN:
    case GX_ERR_CANCELLED: {
        size_t offset;
        const struct rnd_area *out = rnd_live_area(live, j, OUT, &offset);
        if ((out->buf || out->registered || was_wrong(live)) && !is_in_place(live, j))
            mark_output(live, j, 1);
        return;
    }
    default:
        mark_output(live, j, 1);
    }
}

/* ---- the call ---- */

/* The status of the call is that of the first job that failed. */
static void check_statuses(struct rnd_live *live)
{
    const struct rnd_call *call = live->call;
    gx_status first = GX_OK;
    for (unsigned j = 0; j < call->njobs; j++) {
        gx_status status = live->report[j].status;
        if (first == GX_OK && status != GX_ERR_NOT_RUN)
            first = status;
        if (status != GX_ERR_NOT_RUN && status != GX_ERR_NOT_CANONICAL &&
            status != GX_ERR_INVALID && !rnd_may_return(live->open, call, status))
            rnd_fail(FAIL_STATUS, "job %u: %s: %s", j, gx_status_name(status),
                     live->report[j].message);
        if (status == GX_ERR_NOT_RUN && live->status == GX_OK)
            rnd_fail(FAIL_STATUS, "job %u was not run, and the call succeeded", j);
    }
    if (first != live->status && !(may_be_cancelled(live->open, call) && first != GX_OK))
        rnd_fail(FAIL_STATUS, "the call returned %s, its jobs %s: %s", gx_status_name(live->status),
                 gx_status_name(first), gx_last_message());
}

/* Without reports: which job failed is what the oracle says. From a job on that reads what nobody
   knows, such as the result of an unchecked job that was given a bad element, any may have been
   refused. */
static void judge_blindly(struct rnd_live *live)
{
    const struct rnd_call *call = live->call;
    int failed = 0;
    for (unsigned j = 0; j < call->njobs; j++) {
        gx_status wanted = GX_OK;
        if (!failed && !inputs_are_known(live, j))
            failed = 1;
        if (!failed)
            wanted = reject(live, j, 1).status;
        if (!failed && wanted != GX_OK && live->has_status && live->status != wanted &&
            !rnd_may_return(live->open, call, live->status))
            rnd_fail(FAIL_STATUS, "the call returned %s, expected %s: %s",
                     gx_status_name(live->status), gx_status_name(wanted), gx_last_message());
        if (!failed && wanted == GX_OK)
            judge_job(live, j, GX_OK);
        else
            mark_output(live, j, 1);
        failed |= wanted != GX_OK;
    }
    if (!failed && live->has_status && live->status != GX_OK)
        rnd_fail(FAIL_STATUS, "the call returned %s: %s", gx_status_name(live->status),
                 gx_last_message());
}

/* Something other than its inputs stopped it, or may have: nothing is known of its results. */
static int is_uncertain(struct rnd_live *live)
{
    static const gx_status all[] = {
        GX_ERR_OUT_OF_DEVICE_MEMORY, GX_ERR_DEVICE_LOST, GX_ERR_DEVICE,   GX_ERR_TIMEOUT,
        GX_ERR_OUT_OF_MEMORY,        GX_ERR_CANCELLED,   GX_ERR_NO_DEVICE};
    if (live->has_status)
        return live->status != GX_OK && rnd_may_return(live->open, live->call, live->status);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (rnd_may_return(live->open, live->call, all[i]))
            return 1;
    return 0;
}

void rnd_judge(struct rnd_live *live)
{
    const struct rnd_call *call = live->call;
    if (live->has_reports) {
        check_statuses(live);
        for (unsigned j = 0; j < call->njobs; j++)
            judge_job(live, j, live->report[j].status);
    } else if (is_uncertain(live)) {
        for (unsigned j = 0; j < call->njobs; j++)
            mark_output(live, j, 1);
    } else {
        judge_blindly(live);
    }
    for (unsigned i = 0; i < live->nareas; i++)
        rnd_area_compare(&live->area[i], live->open, call);
}
