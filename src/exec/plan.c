/* SPDX-License-Identifier: Apache-2.0
 *
 * The choice of path, the cutting into rounds and dispatches, the layout of staging
 * memory. No device is touched, so all of it can be tested on tables.
 */
#include "exec/plan.h"

/* Parts of staging memory start at multiples of this: the largest alignment Vulkan
 * allows a device to ask for storage buffers, and of non-coherent mapped ranges. */
#define PART_ALIGN 256u

/* Without measured speeds: the size from which on copying to device memory pays. */
#define DEVICE_LOCAL_ELEMS ((uint64_t)1 << 20)

/* What the two copies and their barriers cost on top of their bytes. */
#define COPIES_NS 8000.0

const gx_operand *gx__operand(const gx_job *job, int which)
{
    switch (which) {
    case GX_OUT:
        return &job->out;
    case GX_A:
        return &job->a;
    case GX_B:
        return &job->b;
    default:
        return &job->c;
    }
}

static bool same_place(const gx_operand *a, const gx_operand *b)
{
    return a->host == b->host && a->buf == b->buf && a->offset == b->offset;
}

/* Time in ns for bytes at GB/s; 0 GB/s is not known. */
static double transfer(double bytes, float speed)
{
    return speed > 0 ? bytes / speed : 0;
}

static gx_path choose_path(const struct gx_device_facts *facts, double in, double out, uint64_t n)
{
    const uint32_t staged =
        GX_MEM_BIT(GX_MEM_DEVICE) | GX_MEM_BIT(GX_MEM_UPLOAD) | GX_MEM_BIT(GX_MEM_READBACK);
    const struct gx_mem_speed *shared = &facts->speed[GX_MEM_SHARED];
    const struct gx_mem_speed *up = &facts->speed[GX_MEM_UPLOAD];
    const struct gx_mem_speed *down = &facts->speed[GX_MEM_READBACK];
    if ((facts->mem_kinds & staged) != staged)
        return GX_PATH_HOST_VISIBLE;
    if (!(facts->mem_kinds & GX_MEM_BIT(GX_MEM_SHARED)))
        return GX_PATH_DEVICE_LOCAL;
    if (!shared->host_write || !up->host_write)
        return n < DEVICE_LOCAL_ELEMS ? GX_PATH_HOST_VISIBLE : GX_PATH_DEVICE_LOCAL;
    double host_visible = transfer(in, shared->host_write) + transfer(in, shared->kernel_read) +
                          transfer(out, shared->kernel_write) + transfer(out, shared->host_read);
    double device_local = COPIES_NS + transfer(in, up->host_write) + transfer(in, up->copy_in) +
                          transfer(out, down->copy_out) + transfer(out, down->host_read);
    return host_visible <= device_local ? GX_PATH_HOST_VISIBLE : GX_PATH_DEVICE_LOCAL;
}

static size_t align_up(size_t bytes)
{
    return (bytes + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
}

/* Inputs first, then the output: the inputs of a round are one piece of memory. */
static void lay_out(const gx_job *job, size_t element_bytes, struct gx_plan *plan)
{
    size_t at = 0;
    for (int k = 0; k < GX_OPERANDS; k++) {
        int i = (k + 1) % GX_OPERANDS; /* a, b, c, out */
        if (!plan->staged[i])
            continue;
        plan->offset[i] = at;
        plan->bytes[i] = (size_t)(gx__operand(job, i)->broadcast ? 1 : plan->round) * element_bytes;
        at += align_up(plan->bytes[i]);
        if (i != GX_OUT)
            plan->in_bytes = at;
    }
    plan->all_bytes = at;
}

void gx__plan(const gx_job *job, const struct gx_device_facts *facts, gx_path path,
              struct gx_plan *plan)
{
    size_t element_bytes = gx__element_bytes(job->field);
    int last = (int)gx_op_get_info(job->op)->operands;
    bool staged = false, replaces = false;
    double in = 0, out = 0;
    *plan = (struct gx_plan){.path = GX_PATH_DIRECT};
    for (int i = GX_OUT; i <= last; i++) {
        const gx_operand *o = gx__operand(job, i);
        plan->used[i] = true;
        plan->staged[i] = o->host && !facts->import;
        staged |= plan->staged[i];
        replaces |= i != GX_OUT && !plan->staged[i] && same_place(o, &job->out);
        if (plan->staged[i])
            *(i == GX_OUT ? &out : &in) +=
                (double)(o->broadcast ? 1 : job->n) * (double)element_bytes;
    }
    plan->check = !(job->flags & GX_JOB_TRUSTED) && gx__prime(job->field);
    plan->check_first = plan->check && replaces;
    plan->step = job->n < facts->dispatch_elems ? job->n : facts->dispatch_elems;
    plan->round = plan->step * GX_DISPATCHES_PER_SUBMIT;
    if (staged) {
        gx_path best = choose_path(facts, in, out, job->n);
        plan->path = path == GX_PATH_AUTO ? best : path;
        if (plan->round > GX_ROUND_ELEMS)
            plan->round = plan->step > GX_ROUND_ELEMS ? GX_ROUND_ELEMS : plan->step;
        if (plan->step > plan->round)
            plan->step = plan->round;
    }
    if (plan->round > job->n)
        plan->round = job->n;
    lay_out(job, element_bytes, plan);
}
