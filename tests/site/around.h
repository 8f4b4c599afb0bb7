/* SPDX-License-Identifier: Apache-2.0
 *
 * What the pieces of C in the documents take for granted: code.py compiles each as the body of a
 * function after this.
 */
#include <gpuexec.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOG2_N = 12, N = 1 << LOG2_N };

static gx_ctx *ctx;
static gx_domain *domain;
static gx_points *points;
static gx_job job;
static size_t n = N;
static uint64_t a[N][4], b[N][4], c[N][4], out[N][4];
static uint64_t (*scalars)[4] = a;
static uint64_t coefficients[1 << 20][4], values[1 << 20][4];
static uint64_t result[3][6], bases[N][2][6];
static uint64_t address;
static void *stream;
static const char text[] = "@compute @workgroup_size(64) fn main() {}";
static const uint32_t words[] = {
#include "kernel.spv.h"
};

static void on_the_cpu(void *user, const gx_kernel_call *call)
{
    (void)user;
    memset(call->out, 0, call->n * 4);
}

static void on_done(void *user, gx_ticket *ticket)
{
    (void)ticket;
    if (write(((int *)user)[1], "", 1) != 1)
        abort();
}

/* Multiples of the generator, which is destroyed. */
static int make_bases(gx_points *generator)
{
    const gx_msm_params each = {.struct_size = sizeof each,
                                .points = generator,
                                .count = 1,
                                .result_form = GX_POINT_XY_MONT};
    const gx_job multiply = gx_msm(&each, N, gx_host(a), gx_host(bases));
    gx_status s = gx_run(ctx, &multiply, 1, NULL, NULL);
    gx_points_destroy(&generator);
    return s == GX_OK;
}

/* Small integers as elements; multiples of the generator as points; everything that a piece may
 * use. */
static int set_up(void)
{
    const gx_domain_params size = {
        .struct_size = sizeof size, .field = GX_BLS12_381_FR, .log2_size = LOG2_N};
    const gx_points_params one = {.struct_size = sizeof one,
                                  .curve = GX_BLS12_381_G1,
                                  .form = GX_POINT_XY_MONT,
                                  .points = gx_curve_get_info(GX_BLS12_381_G1)->generator,
                                  .count = 1};
    gx_points *generator = NULL;
    const gx_points_params read = {.struct_size = sizeof read,
                                   .curve = GX_BLS12_381_G1,
                                   .form = GX_POINT_XY_MONT,
                                   .points = bases,
                                   .count = N};
    for (size_t i = 0; i < N; i++)
        a[i][0] = b[i][0] = c[i][0] = i + 1;
    job = (gx_job){.op = GX_MUL,
                   .field = GX_BLS12_381_FR,
                   .n = N,
                   .a = gx_host(a),
                   .b = gx_host(b),
                   .out = gx_host(out)};
    return gx_open(NULL, &ctx) == GX_OK && gx_domain_create(ctx, &size, &domain) == GX_OK &&
           gx_points_create(ctx, &one, &generator, NULL) == GX_OK && make_bases(generator) &&
           gx_points_create(ctx, &read, &points, NULL) == GX_OK;
}

static void tear_down(void)
{
    gx_points_destroy(&points);
    gx_domain_destroy(&domain);
    gx_close(&ctx);
}
