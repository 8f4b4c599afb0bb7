/* SPDX-License-Identifier: Apache-2.0
 *
 * See task.h.
 */
#include "op/task.h"

#include <string.h>

#include "field/sum.h"
#include "op/domain.h"
#include "op/msm.h"

/* ---- what follows from a task ---- */

static size_t msm_element(const struct gx_task *task, int which)
{
    const struct gx_points *points = task->msm.points;
    if (which == GX_A)
        return GX_SCALAR_BYTES;
    return which == GX_OUT && points ? gx_point_bytes(points->curve->curve, task->msm.result_form)
                                     : 0;
}

static void set_elements(struct gx_task *task)
{
    for (int i = 0; i < GX_OPERANDS; i++)
        task->element[i] = task->op == GX_MSM           ? msm_element(task, i)
                           : task->op == GX_OP_MSM_SUMS ? gx__sums_element(&task->sums, task->n, i)
                                                        : gx__op_element(task->op, task->field, i);
}

static void set_work(struct gx_task *task)
{
    task->passes = 1;
    task->products = gx__op_products(task->op);
    if (task->op == GX_NTT) {
        task->products = (task->ntt.log2_n + 1) / 2; /* half a product in each level */
        task->passes = (task->ntt.log2_n + GX_NTT_LEVELS_MAX - 1) / GX_NTT_LEVELS_MAX;
        task->passes += !task->passes;
    } else if (task->op == GX_MSM) {
        task->products = gx__msm_products(&task->msm);
        task->passes = gx__msm_passes(&task->msm);
    } else if (task->op == GX_OP_MSM_SUMS) {
        task->products = gx__sums_products(&task->sums);
    }
}

/* Of a single sum of points, any element. */
static uint64_t unit_of(const struct gx_task *task)
{
    size_t count = task->msm.count;
    switch (task->shape) {
    case GX_SHAPE_WHOLE:
        return task->n;
    case GX_SHAPE_TRANSFORM:
        return (uint64_t)1 << (task->ntt.log2_n & 63);
    case GX_SHAPE_MSM:
        return count && count < task->n ? count : 1;
    default:
        return 1;
    }
}

void gx__task_complete(struct gx_task *task)
{
    const struct gx_op_facts *facts = gx__facts_of(task->op);
    task->check = !task->trusted && gx__prime(task->field);
    task->shape = facts->shape;
    task->operands = facts->operands;
    task->one = (uint8_t)(facts->one | task->broadcast | (facts->one_result ? 1u << GX_OUT : 0));
    task->resized = facts->resized;
    task->empty = !task->n && task->shape != GX_SHAPE_REDUCTION &&
                  (task->shape != GX_SHAPE_MSM || task->msm.count); /* a sum of no points is one */
    task->for_host = task->op == GX_MSM && task->msm.count == 1 && task->n > 1;
    task->unit = unit_of(task);
    task->scattered = task->op == GX_NTT;
    task->table = task->op == GX_NTT   ? GX_TABLE_OF_ROOTS
                  : task->op == GX_MSM ? GX_TABLE_OF_MULTIPLES
                                       : GX_NO_TABLE;
    set_elements(task);
    set_work(task);
}

bool gx__task_inner(const struct gx_task *task, struct gx_task *inner)
{
    if (task->op != GX_MSM)
        return false;
    const struct gx_curve_row *curve = task->msm.points->curve;
    *inner = (struct gx_task){.op = GX_OP_MSM_SUMS,
                              .field = curve->info.base_field,
                              .sums = {.curve = curve->curve,
                                       .bits = task->msm.bits,
                                       .window = gx__msm_window(1, task->msm.bits, 1)}};
    return true;
}

/* ---- parts ---- */

bool gx__task_is_joined(const struct gx_task *task)
{
    return task->shape == GX_SHAPE_REDUCTION ||
           (task->shape == GX_SHAPE_MSM && gx__msm_batch(task) <= 1);
}

static void advance(struct gx_place *place, size_t bytes)
{
    if (place->buf)
        place->offset += bytes;
    else if (place->host)
        place->host = (char *)place->host + bytes;
}

void gx__task_part(const struct gx_task *task, uint64_t first, uint64_t n, struct gx_task *part)
{
    *part = *task;
    if (n == task->n) /* most are whole */
        return;
    for (int i = 0; i < GX_OPERANDS; i++)
        advance(&part->operand[i], gx__operand_offset(task, i, first));
    part->n = (size_t)n;
    if (task->shape == GX_SHAPE_MSM && gx__task_is_joined(task)) {
        part->msm.first += (size_t)first;
        part->msm.count = part->n;
        part->msm.result_form = GX_POINT_XY_MONT;
    }
    gx__task_complete(part);
}

/* ---- operands ---- */

bool gx__task_in_place(const struct gx_task *task)
{
    const struct gx_place *out = &task->out;
    bool same = false;
    for (int i = GX_A; task->n && i <= task->operands && !same; i++) {
        const struct gx_place *o = &task->operand[i];
        same = o->host == out->host && o->buf == out->buf && o->offset == out->offset;
    }
    return same;
}

bool gx__element_bad(const struct gx_task *task, int which, const void *element)
{
    uint32_t index;
    if (task->op == GX_MSM && task->msm.scalar_form == GX_SCALAR_PLAIN)
        return false;
    if (task->op != GX_GATHER || which != GX_B)
        return gx__first_bad(gx__prime(task->field), element, 1, false) != GX_NONE_BAD;
    memcpy(&index, element, sizeof index);
    return index >= gx__resized(task, task->n);
}

/* ---- results of parts ---- */

void gx__task_join(const struct gx_task *task, void *result, const void *part)
{
    if (task->op == GX_MSM)
        gx__msm_join(&task->msm, result, part);
    else
        gx__add_one(gx__prime(task->field), result, part);
}

void gx__task_begin(const struct gx_task *task, void *result, const void *part)
{
    if (task->op == GX_MSM)
        gx__msm_begin(&task->msm, result, part);
    else
        memcpy(result, part, task->element[GX_OUT]);
}

/* ---- kernels ---- */

static void ntt_key(const struct gx_task *task, uint32_t *param)
{
    const struct gx_ntt_args *ntt = &task->ntt;
    param[GX_PARAM_LOG2_N] = ntt->log2_n;
    param[GX_PARAM_LOG2_PAD] = ntt->log2_pad;
    param[GX_PARAM_NTT_FLAGS] = ntt->flags;
    param[GX_PARAM_LOG2_TABLE] = ntt->log2_n;
    gx__put64(param + GX_PARAM_DOMAIN, (uintptr_t)ntt->domain);
    gx__put64(param + GX_PARAM_DOMAIN_ID, ntt->domain ? ntt->domain->id : 0);
    gx__put64(param + GX_PARAM_STRIDE_A, gx__operand_matrix(task, GX_A).stride);
    gx__put64(param + GX_PARAM_STRIDE_OUT, gx__operand_matrix(task, GX_OUT).stride);
}

void gx__task_key(const struct gx_task *task, uint32_t param[GX_PARAMS])
{
    memset(param, 0, GX_PARAMS * sizeof *param);
    if (task->op == GX_NTT) {
        ntt_key(task, param);
    } else if (task->op == GX_MSM) {
        gx__msm_key(&task->msm, param);
    } else if (task->op == GX_OP_MSM_SUMS) {
        gx__sums_key(&task->sums, param);
    } else if (gx__is_registered_op(task->op)) {
        memcpy(param, task->registered.data, sizeof task->registered.data);
        memcpy(param + GX_PARAM_GROUPS, task->registered.groups, sizeof task->registered.groups);
    } else if (gx__op_has_params(task->op)) {
        gx__put64(param + GX_PARAM_COUNT, task->poly.count);
        param[GX_PARAM_POLY_FLAGS] = task->poly.flags;
    }
}

uint64_t gx__task_word(const struct gx_task *task)
{
    const struct gx_msm_sums *sums = &task->sums;
    const struct gx_ntt_args *ntt = &task->ntt;
    if (!gx__op_has_params(task->op) || gx__is_registered_op(task->op))
        return 0;
    if (task->op == GX_MSM)
        return task->msm.count;
    if (task->op == GX_OP_MSM_SUMS) {
        uint32_t low = sums->curve | sums->bits << 8 | sums->doublings << 17;
        uint32_t high = sums->window | sums->group << 8 | sums->parts << 16 | sums->rows << 24;
        return low | (uint64_t)high << 32;
    }
    if (task->op != GX_NTT) /* only evaluate has flags, and it has no count */
        return task->poly.count | task->poly.flags;
    return ntt->log2_n | ntt->log2_pad << 8 | ntt->flags << 16;
}

/* ---- registered operations ---- */

void gx__tasks_leave(const struct gx_task *tasks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (gx__is_registered_op(tasks[i].op))
            gx__registered_op_leave(tasks[i].op);
}
