/* SPDX-License-Identifier: Apache-2.0
 *
 * How much device memory is enough for the calls of a context, whatever the library does with it.
 * Jobs are cut into units, so a budget needs to hold one unit of the largest job, not the job: a
 * refusal above that is a failure. doc/ntt.md and doc/msm.md say what is not cut.
 */
#include "random/run.h"

/* Times a unit is held: staging memory, the operand, scratch as large as both, blocks of twice the
 * size, because they are powers of two. */
enum { COPIES = 8 };
/* The smallest blocks of all sets in flight, and the bad words of 64 dispatches. */
#define LEAST ((uint64_t)128 << 10)
/* Roots that a GPU's passes over transforms of any size take, 8196 elements, and their block. */
#define ROOTS ((uint64_t)257 << 10)
/* Enough for any sum of points in G1; twice as much in G2. */
#define SUM_OF_POINTS ((uint64_t)1 << 20)

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Operands of one unit of the job: of one transform with its roots, one element, or all of it. */
static uint64_t unit_bytes(const struct rnd_job *job)
{
    uint64_t bytes = 0;
    if (job->op == GX_NTT)
        return 3 * rnd_element_bytes(job, RND_OPERANDS - 1) << job->log2_n;
    for (unsigned i = 0; i < RND_OPERANDS; i++)
        bytes += job->op < GX_NTT || job->op == RND_REGISTERED ? rnd_element_bytes(job, i)
                                                               : rnd_bytes(job, i);
    return bytes;
}

static uint64_t job_bytes(const struct rnd_job *job)
{
    if (job->op == GX_MSM)
        return SUM_OF_POINTS << (job->points.curve % 2 == 0);
    return COPIES * unit_bytes(job) + (job->op == GX_NTT ? ROOTS : 0);
}

/* Buffers count until they are destroyed. What shares the memory of another may make it longer. */
static uint64_t buffer_bytes(const struct rnd_job *job)
{
    enum { AROUND = 256 };
    const struct rnd_points_spec *points = &job->points;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < RND_OPERANDS; i++)
        if (job->operand[i].memory >= MEM_BUFFER)
            bytes += job->operand[i].offset + rnd_bytes(job, i) + AROUND;
    if (job->op == GX_MSM && points->buffer)
        bytes += points->count * (rnd_point_bytes(points->curve, points->form) + points->gap + 8) +
                 points->offset + AROUND;
    return bytes;
}

uint64_t rnd_enough_memory(const struct rnd_context *context)
{
    uint64_t buffers = 0, most = 0;
    for (unsigned i = 0; i < context->ncalls; i++)
        for (unsigned j = 0; j < context->call[i].njobs; j++) {
            buffers += buffer_bytes(&context->call[i].job[j]);
            most = larger(most, job_bytes(&context->call[i].job[j]));
        }
    return LEAST + buffers + most;
}
