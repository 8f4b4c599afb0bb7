/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/peers: gpuexec itself, as a program uses it: through gpuexec.h, its checks on. The
 * argument is the device. "cpu" works on host memory; any other device on buffers in its own
 * memory, several jobs to a call. Sums are of points that the device keeps.
 */
#define PEER_START start
static void start(int argc, char **argv);

#include "adaptor.h"

#include <gpuexec.h>

enum { JOBS = 64, SCALAR_BITS = 255 };

static const char *device = "cpu";
static int resident;
static gx_ctx *ctx;
static gx_buf *buffers[3]; /* a, b, out; where resident */
static gx_job jobs[JOBS];  /* all the same */
static gx_domain *domain;  /* of transforms */
static gx_ntt_params ntt;
static gx_points *points; /* of sums */
static gx_msm_params msm;

static void start(int argc, char **argv)
{
    if (argc > 1)
        device = argv[1];
    resident = strcmp(device, "cpu") != 0;
}

static const char *peer_open(unsigned threads)
{
    const gx_config config = {
        .struct_size = sizeof config, .device = device, .threads = resident ? 0 : threads};
    gx_domain_destroy(&domain);
    gx_points_destroy(&points);
    gx_close(&ctx);
    return gx_open(&config, &ctx) == GX_OK ? NULL : gx_last_message();
}

static const char *upload(void)
{
    const unsigned char *const from[] = {loaded.a, loaded.b, loaded.out};
    const size_t bytes[] = {loaded.bytes_a, loaded.bytes_b, loaded.bytes_out};
    for (int i = 0; i < 3; i++) {
        gx_buf_destroy(&buffers[i]);
        if (gx_buf_create(ctx, device, bytes[i], 0, &buffers[i]) != GX_OK ||
            gx_buf_write(buffers[i], 0, from[i], bytes[i]) != GX_OK)
            return gx_last_message();
    }
    return NULL;
}

static const char *peer_load(void)
{
    const char *wrong = ctx || !resident ? NULL : peer_open(0);
    gx_points_destroy(&points);
    return wrong || !resident || gx_curve_by_name(loaded.kind) ? wrong : upload();
}

/* "ntt-nr": its order, of the input and of the output. */
static const char *choose_transform(const char *order)
{
    gx_domain_params desc = {.struct_size = sizeof desc, .field = gx_field_by_name(loaded.kind)};
    while (loaded.n >> desc.log2_size > 1)
        desc.log2_size++;
    gx_domain_destroy(&domain);
    if (gx_domain_create(ctx, &desc, &domain) != GX_OK)
        return gx_last_message();
    ntt = (gx_ntt_params){.struct_size = sizeof ntt, .domain = domain, .log2_n = desc.log2_size};
    ntt.flags |= order[0] == 'r' ? GX_NTT_REVERSED_IN : 0;
    ntt.flags |= order[1] == 'r' ? GX_NTT_REVERSED_OUT : 0;
    return NULL;
}

/* The device keeps the points; scalars and result are in host memory. */
static const char *choose_sum(unsigned threads)
{
    const gx_points_params desc = {.struct_size = sizeof desc,
                                   .curve = gx_curve_by_name(loaded.kind),
                                   .form = GX_POINT_XY_MONT,
                                   .points = loaded.b,
                                   .count = loaded.n};
    const char *wrong = resident ? NULL : peer_open(threads);
    if (wrong)
        return wrong;
    gx_points_destroy(&points);
    if (gx_points_create(ctx, &desc, &points, NULL) != GX_OK)
        return gx_last_message();
    msm = (gx_msm_params){.struct_size = sizeof msm,
                          .points = points,
                          .count = loaded.n,
                          .scalar_bits = SCALAR_BITS,
                          .result_form = GX_POINT_XY_MONT};
    jobs[0] = gx_msm(&msm, 1, gx_host(loaded.a), gx_host(loaded.out));
    return NULL;
}

static const char *peer_choose(const char *op, unsigned threads)
{
    if (gx_curve_by_name(loaded.kind))
        return strcmp(op, "msm") ? "gpuexec does not have it" : choose_sum(threads);
    const char *order = strncmp(op, "ntt-", 4) ? NULL : op + 4;
    gx_job job = {.field = gx_field_by_name(loaded.kind), .n = loaded.n};
    job.op = order ? GX_NTT : gx_op_by_name(op);
    if (!gx_op_exists(job.op, job.field))
        return "gpuexec does not have it";
    if (order)
        job.params = &ntt;
    job.a = resident ? gx_dev(buffers[0], 0) : gx_host(loaded.a);
    if (gx_op_get_info(job.op)->operands > 1)
        job.b = resident ? gx_dev(buffers[1], 0) : gx_host(loaded.b);
    job.out = resident ? gx_dev(buffers[2], 0) : gx_host(loaded.out);
    for (int i = 0; i < JOBS; i++)
        jobs[i] = job;
    const char *wrong = resident ? NULL : peer_open(threads);
    return wrong || !order ? wrong : choose_transform(order);
}

static const char *peer_repeat(unsigned long times)
{
    const unsigned long most = resident && !points ? JOBS : 1;
    for (unsigned long left = times; left;) {
        unsigned long count = left < most ? left : most;
        if (gx_run(ctx, jobs, count, NULL, NULL) != GX_OK)
            return gx_last_message();
        left -= count;
    }
    return NULL;
}

static const char *peer_results(void)
{
    if (resident && !points && gx_buf_read(buffers[2], 0, loaded.out, loaded.bytes_out) != GX_OK)
        return gx_last_message();
    return NULL;
}
