/* SPDX-License-Identifier: Apache-2.0
 *
 * Differential fuzzing of the kernels: bytes choose a job, with element values as they
 * come (so often not below the modulus), and every tier of the CPU must do with it
 * exactly what the reference does: the same status, the same first bad element, and on
 * success the same bytes.
 *
 * Input: op, field, n, broadcast bits, place, flags (one byte each), then the elements
 * of a, b and c, repeated when they run out. Flags: 1 trusted, 2 the highest byte is
 * kept small enough to be canonical, 4 each element is an edge that its first byte
 * chooses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "gpuexec.h"
#include "op/op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_MAX = 27, HEADER = 6, ELEMENT_MAX = 48, ROOM = N_MAX * ELEMENT_MAX, TIERS = 5 };

/* Place: where the output lies. */
enum { APART, ON_A, ON_B, ON_C, ON_ALL, SHIFTED, PLACES };

struct tier {
    const char *mask, *device;
    uint64_t dispatch_elems;
    gx_ctx *ctx;
};

static struct tier tiers[TIERS] = {{.device = "ref"},
                                   {.device = "cpu"},
                                   {.device = "cpu", .mask = "portable"},
                                   {.device = "cpu", .mask = "adx"},
                                   {.device = "cpu", .mask = "avx512", .dispatch_elems = 13}};

struct input {
    gx_job job; /* without operands */
    unsigned broadcast, place;
    uint8_t elements[3][ROOM];
};

/* One run: memory of its own, and what came out. */
struct run {
    uint8_t memory[4][ROOM + 8];
    gx_status status;
    gx_report report;
};

static void open_tiers(void)
{
    for (int i = 0; i < TIERS; i++) {
        gx_config config = {.cpumask = tiers[i].mask, .dispatch_elems = tiers[i].dispatch_elems};
        if (!tiers[i].ctx && gx_open(&config, &tiers[i].ctx) != GX_OK)
            abort();
    }
}

/* ---- from bytes to a job ---- */

/* One past the end is possible for both, so that unknown values are tried too. */
static void decode_header(const uint8_t *data, struct input *in)
{
    in->job.op = (gx_op)(data[0] % (GX_OP_END + 1));
    in->job.field = (gx_field)(data[1] % (GX_FIELD_END + 1));
    in->job.n = data[2] % (N_MAX + 1);
    in->broadcast = data[3] % 8;
    in->place = data[4] % PLACES;
    in->job.flags = data[5] & 1 ? GX_JOB_UNCHECKED : 0;
}

/* 0, 1, p - 2, p - 1, p, p + 1, all ones, or left as it is: p is odd and its lowest
 * limb far from overflow. */
static void make_edge(const gx_field_info *info, uint8_t *element)
{
    unsigned which = element[0] % 8;
    if (which == 7)
        return;
    memset(element, which == 6 ? 0xff : 0, info->element_bytes);
    if (which == 6)
        return;
    uint64_t low = which;
    if (which >= 2) {
        memcpy(element, info->modulus, info->element_bytes);
        low = info->modulus[0] + which - 4;
    }
    memcpy(element, &low, sizeof low);
}

static void shape_elements(unsigned flags, struct input *in)
{
    const gx_field_info *info = gx_field_get_info(in->job.field);
    if (!info || !info->limbs)
        return;
    for (int w = 0; w < 3; w++) {
        for (size_t i = 0; i < N_MAX; i++) {
            uint8_t *element = in->elements[w] + i * info->element_bytes;
            if (flags & 2)
                element[info->element_bytes - 1] &= 0x0f;
            if (flags & 4)
                make_edge(info, element);
        }
    }
}

static void decode_elements(const uint8_t *data, size_t size, struct input *in)
{
    size_t at = 0;
    for (int w = 0; w < 3; w++)
        for (size_t i = 0; i < ROOM; i++)
            in->elements[w][i] = size ? data[at++ % size] : 0;
}

/* Trusted elements that are not below the modulus may give any result. */
static int is_canonical(const gx_field_info *info, const uint8_t *element)
{
    for (uint32_t i = info->limbs; i-- > 0;) {
        uint64_t limb;
        memcpy(&limb, element + 8 * (size_t)i, sizeof limb);
        if (limb != info->modulus[i])
            return limb < info->modulus[i];
    }
    return info->limbs == 0;
}

static int all_canonical(const struct input *in)
{
    const gx_field_info *info = gx_field_get_info(in->job.field);
    const gx_op_info *op = gx_op_get_info(in->job.op);
    for (uint32_t w = 0; info && op && w < op->operands; w++)
        for (size_t i = 0; i < in->job.n; i++)
            if (!is_canonical(info, in->elements[w] + i * info->element_bytes))
                return 0;
    return 1;
}

static void lay_operands(const struct input *in, struct run *run, gx_job *job)
{
    const gx_op_info *op = gx_op_get_info(job->op);
    gx_operand *operands[3] = {&job->a, &job->b, &job->c};
    for (uint32_t w = 0; w < 3; w++) {
        memcpy(run->memory[w], in->elements[w], ROOM);
        if (op && w >= op->operands)
            continue;
        *operands[w] = gx_host(run->memory[in->place == ON_ALL ? 0 : w]);
        operands[w]->broadcast = (int)(in->broadcast >> w & 1);
    }
    int own = in->place == APART || in->place > ON_ALL;
    size_t out = own ? 3 : in->place == ON_ALL ? 0 : in->place - ON_A;
    job->out = gx_host(run->memory[out] + (in->place == SHIFTED ? 5 : 0));
}

static void run_tier(const struct input *in, struct tier *tier, struct run *run)
{
    gx_job job = in->job;
    gx_run_params opts = {.device = tier->device};
    memset(run, 0x5c, sizeof *run);
    lay_operands(in, run, &job);
    run->status = gx_run(tier->ctx, &job, 1, &opts, &run->report);
}

/* ---- comparing ---- */

static void differ(const struct input *in, const struct tier *tier, const char *what)
{
    fprintf(stderr, "%s: op %d, field %d, n %zu, broadcast %u, place %u, flags %u, tiers %s\n",
            what, in->job.op, in->job.field, in->job.n, in->broadcast, in->place, in->job.flags,
            tier->mask ? tier->mask : "all");
    abort();
}

static void compare(const struct input *in, const struct tier *tier, const struct run *want,
                    const struct run *got)
{
    if (got->status != want->status || got->report.status != want->report.status)
        differ(in, tier, "another status");
    if (got->status == GX_ERR_NOT_CANONICAL &&
        (got->report.bad_index != want->report.bad_index ||
         got->report.bad_operand != want->report.bad_operand))
        differ(in, tier, "another bad element");
    /* on failure, an output that is not an operand is unspecified */
    const gx_op_info *op = gx_op_get_info(in->job.op);
    size_t compared = got->status == GX_OK || !op ? 4 : op->operands;
    if (memcmp(got->memory, want->memory, sizeof got->memory[0] * compared) != 0)
        differ(in, tier, "other bytes");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct input in;
    static struct run want, got;
    if (size < HEADER)
        return 0;
    open_tiers();
    memset(&in, 0, sizeof in);
    decode_header(data, &in);
    decode_elements(data + HEADER, size - HEADER, &in);
    shape_elements(data[5], &in);
    if (in.job.flags && !all_canonical(&in))
        in.job.flags = 0;
    run_tier(&in, &tiers[0], &want);
    for (int i = 1; i < TIERS; i++) {
        run_tier(&in, &tiers[i], &got);
        compare(&in, &tiers[i], &want, &got);
    }
    return 0;
}
