/* SPDX-License-Identifier: Apache-2.0
 *
 * Suite engine: one large job from host memory to host memory, and copies to and from buffers
 * through the public API. bench-copies measures the bus itself.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "progress.h"
#include "engine.h"

enum { STREAM_SAMPLES = 5, COPY_SAMPLES = 5 };
#define STREAM_BUDGET_S 10.0
#define COPY_BUDGET_S   2.0
#define COPY_BLOCK      ((size_t)256 << 20)
#define COPY_TOTAL      ((size_t)1 << 30)

/* Registers the operands and the result, or unregisters them. */
static int set_registered(engine *e, bool registered)
{
    gx_status s = GX_OK;
    for (unsigned k = 0; k <= e->operands; k++) {
        void *memory = k < e->operands ? e->operand[k] : e->result;
        gx_status one = registered ? gx_host_register(e->ctx, memory, e->room * e->element_bytes)
                                   : gx_host_unregister(e->ctx, memory);
        s = s == GX_OK ? one : s;
    }
    if (s == GX_OK)
        return EXIT_DONE;
    cli_error("cannot %s host memory: %s", registered ? "register" : "unregister",
              gx_status_message(s));
    return EXIT_FAILED;
}

static const char *const kinds[] = {"unregistered", "registered"};

/* ---- stream ---- */

static int stream_row(engine *e, const char *what)
{
    gx_job job = engine_job(e, 0, (size_t)e->stream_elements);
    contender c = {.jobs = &job, .count = 1};
    int rc = engine_measure(e, &c, 1, STREAM_SAMPLES, STREAM_BUDGET_S);
    progress_add(1);
    if (rc != EXIT_DONE)
        return rc;
    size_t out = gx_operand_bytes(&job, 'o');
    engine_row row = {.what = what,
                      .mode = gx_mode_name(c.mode),
                      .chosen = gx_mode_name(c.chosen),
                      .jobs = 1,
                      .elements = e->stream_elements,
                      .samples = c.samples,
                      .ns = c.ns,
                      ENGINE_NO_RATES};
    row.in = (double)(data_job_bytes(&job) - out) / c.ns.median;
    row.out = (double)out / c.ns.median;
    return engine_show(e, &row) ? EXIT_DONE : EXIT_FAILED;
}

static int run_stream(engine *e)
{
    int rc = stream_row(e, kinds[0]);
    if (rc == EXIT_DONE)
        rc = set_registered(e, true);
    if (rc != EXIT_DONE)
        return rc;
    rc = stream_row(e, kinds[1]);
    int end = set_registered(e, false);
    return rc == EXIT_DONE ? end : rc;
}

static uint64_t stream_steps(const engine *e)
{
    (void)e;
    return 2;
}

const engine_part engine_stream = {
    .name = "stream",
    .title = "one large job, host to host (GB/s of operands in, results out)",
    .columns = ENGINE_ALWAYS | ENGINE_BIT(ENGINE_WHAT) | ENGINE_BIT(ENGINE_ELEMENTS) |
               ENGINE_BIT(ENGINE_CHOSEN) | ENGINE_BIT(ENGINE_IN) | ENGINE_BIT(ENGINE_OUT),
    .run = run_stream,
    .steps = stream_steps,
};

/* ---- copy: into and out of buffers ---- */

/* One direction: `total` bytes between a buffer and host memory, block by block. */
typedef struct copy_loop {
    gx_buf *buf;
    unsigned char *host;
    size_t block, total;
    bool read;
    gx_status status;
} copy_loop;

static void *copy_all(void *argument)
{
    copy_loop *c = argument;
    c->status = GX_OK;
    for (size_t at = 0; at < c->total && c->status == GX_OK; at += c->block) {
        size_t bytes = c->total - at < c->block ? c->total - at : c->block;
        c->status = c->read ? gx_buf_read(c->buf, 0, c->host + at, bytes)
                            : gx_buf_write(c->buf, 0, c->host + at, bytes);
    }
    return NULL;
}

/* Directions as bits: 1 in, 2 out; both run concurrently on two threads. */
static gx_status copy_once(copy_loop *in, copy_loop *out, unsigned directions)
{
    pthread_t other;
    if (directions != 3) {
        copy_loop *only = directions == 1 ? in : out;
        copy_all(only);
        return only->status;
    }
    if (pthread_create(&other, NULL, copy_all, out))
        return GX_ERR_OUT_OF_MEMORY;
    copy_all(in);
    pthread_join(other, NULL);
    return in->status != GX_OK ? in->status : out->status;
}

static int copy_failed(gx_status s)
{
    cli_error("copying to or from a buffer: %s", gx_status_message(s));
    return EXIT_FAILED;
}

static int copy_row(engine *e, copy_loop *in, copy_loop *out, unsigned directions, bool registered)
{
    static const char *const names[] = {"", "write", "read", "write and read"};
    static double ns[SAMPLES_MAX];
    char what[64];
    snprintf(what, sizeof what, "%s, %s", names[directions], kinds[registered]);
    engine_row row = {.what = what, ENGINE_NO_RATES};
    gx_status s = copy_once(in, out, directions);
    for (uint64_t begin = now_ns();
         s == GX_OK && !engine_enough(e, row.samples, COPY_SAMPLES, COPY_BUDGET_S, begin);
         row.samples++) {
        uint64_t start = now_ns();
        s = copy_once(in, out, directions);
        ns[row.samples] = (double)(now_ns() - start);
    }
    progress_add(1);
    if (s != GX_OK)
        return copy_failed(s);
    row.ns = stats_of(ns, row.samples);
    row.elements = in->total / e->element_bytes;
    if (directions & 1)
        row.in = (double)in->total / row.ns.median;
    if (directions & 2)
        row.out = (double)out->total / row.ns.median;
    return engine_show(e, &row) ? EXIT_DONE : EXIT_FAILED;
}

/* Reads back what was written. */
static int copy_verify(engine *e, copy_loop *in, copy_loop *out)
{
    memset(e->result, 0xa5, in->block);
    gx_status s = gx_buf_write(in->buf, 0, in->host, in->block);
    if (s == GX_OK)
        s = gx_buf_read(in->buf, 0, out->host, in->block);
    if (s == GX_OK) /* the buffers must hold data before they are read */
        s = gx_buf_write(out->buf, 0, in->host, out->block);
    if (s != GX_OK)
        return copy_failed(s);
    if (!memcmp(in->host, out->host, in->block))
        return EXIT_DONE;
    cli_error("%s: a buffer does not hold the data written to it", e->device);
    return EXIT_DIFFERS;
}

static int copy_rows(engine *e, copy_loop *in, copy_loop *out)
{
    int rc = copy_verify(e, in, out);
    for (unsigned registered = 0; registered < 2 && rc == EXIT_DONE; registered++) {
        if (registered)
            rc = set_registered(e, true);
        if (rc != EXIT_DONE)
            return rc;
        for (unsigned directions = 1; directions <= 3 && rc == EXIT_DONE; directions++)
            rc = copy_row(e, in, out, directions, registered);
        if (registered && set_registered(e, false) != EXIT_DONE && rc == EXIT_DONE)
            rc = EXIT_FAILED;
    }
    return rc;
}

static int run_copy(engine *e)
{
    size_t total = (size_t)e->stream_elements * e->element_bytes;
    copy_loop in = {.total = total < COPY_TOTAL ? total : COPY_TOTAL, .host = e->operand[0]};
    in.block = in.total < COPY_BLOCK ? in.total : COPY_BLOCK;
    copy_loop out = in;
    out.host = e->result;
    out.read = true;
    gx_status s = gx_buf_create(e->ctx, e->device, in.block, 0, &in.buf);
    if (s == GX_OK)
        s = gx_buf_create(e->ctx, e->device, in.block, 0, &out.buf);
    int rc = s == GX_OK ? copy_rows(e, &in, &out) : copy_failed(s);
    gx_buf_destroy(&in.buf);
    gx_buf_destroy(&out.buf);
    return rc;
}

static uint64_t copy_steps(const engine *e)
{
    (void)e;
    return 6;
}

const engine_part engine_copy = {
    .name = "copy",
    .title = "copies to and from device buffers, large blocks",
    .columns =
        ENGINE_ALWAYS | ENGINE_BIT(ENGINE_WHAT) | ENGINE_BIT(ENGINE_IN) | ENGINE_BIT(ENGINE_OUT),
    .run = run_copy,
    .steps = copy_steps,
};
