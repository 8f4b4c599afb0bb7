/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums and dot products through the engine: streamed in pieces of every size and mode, within a
 * budget of memory, over operands in buffers, in registered and in plain host memory, in batches
 * where jobs need their results, as tickets, cancelled, and with the device failing at every call.
 * Right is what GMP says.
 *
 * usage: exec-reductions [DEVICE]    a GPU to test, else the Vulkan device, beside "cpu"
 */
#include <stdbool.h>
#include <stdio.h>

#include "api/counters.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/oracle.h"

enum { N = 200, ELEMENT_MAX = 48, GUARD = 0x5c, PAGE = 4096 };

static const gx_op reductions[] = {GX_SUM, GX_DOT};
static const char *devices[3] = {"cpu", "sim:desktop"};
static size_t device_count = 2;
static struct oracle_rng rng = {271828};
static struct gxt_heap heap;

static int find_devices(void **state)
{
    (void)state;
    gxt_clear_environment();
    gxt_enter_machines();
    devices[device_count] = gxt_gpu();
    device_count += devices[device_count] != NULL;
    return 0;
}

static gx_ctx *open_with(gx_config config)
{
    gxt_heap_start(&heap);
    config.allocator = gxt_heap_allocator(&heap);
    config.threads = 2;
    gxt_watch(&config);
    return gxt_open(&config);
}

static void close_ctx(gx_ctx *ctx)
{
    gx_close(&ctx);
    gxt_heap_end(&heap);
    assert_int_equal(gxt_complaints(), 0);
}

static void expect_ok(gx_status s, const gx_report *r, const char *what)
{
    if (s != GX_OK)
        fail_msg("%s: %s: %s", what, gx_status_name(s), r->message);
}

/* ---- streams ---- */

struct stream {
    const char *device;
    uint64_t chunk, dispatch;
    gx_mode mode;
    gx_path path;
};

static void describe(char *text, size_t size, const struct stream *k, const gx_job *job)
{
    snprintf(text, size, "%s, chunk %u, dispatch %u, %s, %s: %s of %zu, broadcast %d%d", k->device,
             (unsigned)k->chunk, (unsigned)k->dispatch, gx_mode_name(k->mode),
             gx_path_name(k->path), gx_op_get_info(job->op)->name, job->n, job->a.broadcast,
             job->b.broadcast);
}

static void streamed(gx_ctx *ctx, const struct stream *k, gx_op op, gx_field field, size_t n)
{
    static unsigned char in[2][N * ELEMENT_MAX], want[ELEMENT_MAX], out[3 * ELEMENT_MAX];
    const size_t element = gxt_element(field);
    const gx_run_params opts = {.device = k->device, .mode = k->mode, .path = k->path};
    for (unsigned b = 0; b < 1u << gx_op_get_info(op)->operands; b++) {
        char what[160];
        gx_report r = gxt_report();
        oracle_fill(field, &rng, in[0], n);
        oracle_fill(field, &rng, in[1], n);
        gx_job job = gxt_job(op, field, n, in[0], in[1], NULL, out + ELEMENT_MAX);
        job.a.broadcast = b & ORACLE_A ? 1 : 0;
        job.b.broadcast = b & ORACLE_B ? 1 : 0;
        describe(what, sizeof what, k, &job);
        memset(out, GUARD, sizeof out);
        oracle_run(op, field, n, want, in[0], in[1], NULL, b);
        expect_ok(gx_run(ctx, &job, 1, &opts, &r), &r, what);
        if (memcmp(out + ELEMENT_MAX, want, element) != 0)
            fail_msg("%s: wrong result", what);
        assert_int_equal(out[ELEMENT_MAX - 1], GUARD);
        assert_int_equal(out[ELEMENT_MAX + element], GUARD);
    }
}

/* One bad element at every seam of the stream, and a later one. */
static void streamed_bad(gx_ctx *ctx, const struct stream *k, gx_op op, gx_field field, size_t n)
{
    static unsigned char in[2][N * ELEMENT_MAX], out[ELEMENT_MAX];
    const size_t c = (size_t)k->chunk, at[] = {0, c - 1, c, c + 1, 2 * c, n - 1, n / 2};
    const gx_run_params opts = {.device = k->device, .mode = k->mode, .path = k->path};
    for (size_t i = 0; i < GXT_COUNT(at); i++) {
        unsigned w = (unsigned)(oracle_random(&rng) % gx_op_get_info(op)->operands);
        char what[160];
        gx_report r = gxt_report();
        if (at[i] >= n)
            continue;
        oracle_fill(field, &rng, in[0], n);
        oracle_fill(field, &rng, in[1], n);
        oracle_bad(field, i, in[w] + at[i] * gxt_element(field));
        for (size_t later = at[i] + 1 + i; later < n; later += 1 + n / 3)
            oracle_bad(field, later, in[0] + later * gxt_element(field));
        gx_job job = gxt_job(op, field, n, in[0], in[1], NULL, out);
        describe(what, sizeof what, k, &job);
        gx_status s = gx_run(ctx, &job, 1, &opts, &r);
        if (s != GX_ERR_NOT_CANONICAL || r.bad_index != at[i] ||
            r.bad_operand != (unsigned)('a' + w))
            fail_msg("%s: %s, element %u of %c, want %zu of %c", what, gx_status_name(s),
                     (unsigned)r.bad_index, r.bad_operand ? r.bad_operand : '?', at[i],
                     (char)('a' + w));
    }
}

static void streams(void **state)
{
    (void)state;
    static const struct {
        uint64_t chunk, dispatch;
    } cuts[] = {{1, 0}, {5, 0}, {37, 0}, {37, 10}, {64, 64}, {100, 7}};
    static const gx_field fields[] = {GX_BLS12_381_FQ, GX_BN254_FR};
    for (size_t d = 0; d < device_count; d++) {
        for (size_t c = 0; c < GXT_COUNT(cuts); c++) {
            gx_ctx *ctx = open_with((gx_config){.stream_chunk_elems = cuts[c].chunk,
                                                .dispatch_elems = cuts[c].dispatch});
            struct stream k = {devices[d], cuts[c].chunk, cuts[c].dispatch, 0, 0};
            for (k.mode = GX_MODE_AUTO; k.mode <= GX_MODE_PIPELINED; k.mode++)
                for (k.path = GX_PATH_HOST_VISIBLE; k.path <= GX_PATH_DEVICE_LOCAL; k.path++)
                    for (size_t i = 0; i < 4; i++) {
                        const size_t sizes[] = {1, (size_t)k.chunk + 1, 3 * (size_t)k.chunk, N};
                        size_t n = sizes[i] < N ? sizes[i] : N;
                        gx_field field = fields[(i + c) % 2];
                        if (gxt_small() && (i + k.mode + k.path) % 3)
                            continue;
                        if (cuts[c].chunk == 1 && n > 70) /* a submit for each */
                            n = 70;
                        streamed(ctx, &k, reductions[(i + k.mode) % 2], field, n);
                        streamed_bad(ctx, &k, reductions[(i + k.path) % 2], field, n);
                    }
            close_ctx(ctx);
        }
    }
}

static void budgets(void **state)
{
    (void)state;
    enum { MANY = 70000, BUDGET = 4 << 20 };
    const gx_field field = GX_BN254_FR;
    size_t bytes = (size_t)MANY * 32;
    unsigned char *in = gxt_alloc(2 * bytes), want[2][32];
    oracle_fill(field, &rng, in, MANY);
    oracle_fill(field, &rng, in + bytes, MANY);
    for (size_t o = 0; o < GXT_COUNT(reductions); o++)
        oracle_run(reductions[o], field, MANY, want[o], in, in + bytes, NULL, 0);
    for (size_t d = 1; d < device_count; d++) {
        gx_ctx *ctx = open_with((gx_config){.device = devices[d], .device_memory = BUDGET});
        for (gx_mode mode = GX_MODE_AUTO; mode <= GX_MODE_PIPELINED; mode++) {
            unsigned char out[2][32];
            gx_job jobs[2];
            gx_report r[2];
            gxt_reports(r, 2);
            gx_run_params opts = {.mode = mode, .path = GX_PATH_DEVICE_LOCAL};
            for (size_t o = 0; o < 2; o++)
                jobs[o] = gxt_job(reductions[o], field, MANY, in, in + bytes, NULL, out[o]);
            memset(out, GUARD, sizeof out);
            expect_ok(gx_run(ctx, jobs, 2, &opts, r), &r[0], devices[d]);
            assert_memory_equal(out, want, sizeof want);
        }
        struct gx_statistics stats = {0};
        gx__stats(ctx, &stats);
        assert_true(stats.device_bytes_peak <= BUDGET);
        close_ctx(ctx);
    }
    free(in);
}

/* ---- residency ---- */

/* Where an operand is. */
enum where { PLAIN, REGISTERED, BUFFER, WHERES };

static gx_operand put(gx_ctx *ctx, const char *device, enum where where, unsigned char *host,
                      size_t bytes, size_t offset, gx_buf **buf)
{
    *buf = NULL;
    if (where == REGISTERED)
        assert_int_equal(gx_host_register(ctx, host, bytes), GX_OK);
    if (where != BUFFER)
        return gx_host(host);
    assert_int_equal(gx_buf_create(ctx, device, bytes + offset + 64, 0, buf), GX_OK);
    unsigned char *around = gxt_alloc(bytes + offset + 64);
    memset(around, GUARD, bytes + offset + 64);
    memcpy(around + offset, host, bytes);
    assert_int_equal(gx_buf_write(*buf, 0, around, bytes + offset + 64), GX_OK);
    free(around);
    return gx_dev(*buf, offset);
}

/* What lies there now comes into host memory; nothing around it was written. */
static void take(gx_ctx *ctx, enum where where, unsigned char *host, size_t bytes, size_t offset,
                 gx_buf **buf)
{
    if (where == REGISTERED)
        assert_int_equal(gx_host_unregister(ctx, host), GX_OK);
    if (where != BUFFER)
        return;
    unsigned char *around = gxt_alloc(bytes + offset + 64);
    assert_int_equal(gx_buf_read(*buf, 0, around, bytes + offset + 64), GX_OK);
    for (size_t i = 0; i < bytes + offset + 64; i++)
        if (i < offset || i >= offset + bytes)
            assert_int_equal(around[i], GUARD);
    memcpy(host, around + offset, bytes);
    free(around);
    gx_buf_destroy(buf);
}

struct resident {
    gx_op op;
    gx_field field;
    size_t n;
    unsigned broadcast;
    enum where where[3]; /* a, b, out */
    gx_path path;
};

static void run_resident(gx_ctx *ctx, const char *device, const struct resident *k)
{
    static unsigned char *host[3];
    static const size_t offsets[] = {0, 16, 48, 256, 272};
    size_t element = gxt_element(k->field), bytes[3], offset[3];
    unsigned char want[ELEMENT_MAX], before[2][N * ELEMENT_MAX];
    gx_buf *buf[3] = {0};
    unsigned operands = gx_op_get_info(k->op)->operands;
    gx_job job = {.op = k->op, .field = k->field, .n = k->n};
    gx_operand *const places[] = {&job.a, &job.b, &job.out};
    for (unsigned w = 0; w < 3; w++) {
        bool one = w == 2 || k->broadcast >> w & 1;
        bytes[w] = (one ? 1 : k->n) * element;
        offset[w] = offsets[oracle_random(&rng) % GXT_COUNT(offsets)];
        if (!host[w])
            assert_non_null(host[w] = aligned_alloc(PAGE, (size_t)4 * PAGE));
        if (w < 2) {
            oracle_fill(k->field, &rng, host[w], one ? 1 : k->n);
            memcpy(before[w], host[w], bytes[w]);
        } else {
            memset(host[w], GUARD, element + 1);
        }
        if (w == 1 && operands < 2)
            continue;
        *places[w] = put(ctx, device, k->where[w], host[w], bytes[w], offset[w], &buf[w]);
        places[w]->broadcast = w < 2 && one;
    }
    oracle_run(k->op, k->field, k->n, want, host[0], host[1], NULL, k->broadcast);
    gx_report r = gxt_report();
    gx_run_params opts = {.device = device, .path = k->path};
    gx_status s = gx_run(ctx, &job, 1, &opts, &r);
    char what[160];
    snprintf(what, sizeof what, "%s: %s of %zu, broadcast %u, a %d, b %d, out %d, %s", device,
             gx_op_get_info(k->op)->name, k->n, k->broadcast, (int)k->where[0], (int)k->where[1],
             (int)k->where[2], gx_path_name(k->path));
    expect_ok(s, &r, what);
    for (unsigned w = 0; w < 3; w++)
        if (w != 1 || operands > 1)
            take(ctx, k->where[w], host[w], bytes[w], offset[w], &buf[w]);
    if (memcmp(host[2], want, element) != 0)
        fail_msg("%s: wrong result", what);
    assert_int_equal(host[2][element], GUARD);
    for (unsigned w = 0; w < operands; w++)
        assert_memory_equal(host[w], before[w], bytes[w]);
}

static void every_residency(void **state)
{
    (void)state;
    static const gx_field fields[] = {GX_BLS12_381_FQ, GX_BLS12_381_FR, GX_BN254_FQ, GX_BN254_FR};
    static const size_t sizes[] = {1, 2, 33, N};
    for (size_t d = 0; d < device_count; d++) {
        size_t turn = 0;
        gx_ctx *ctx = open_with((gx_config){.stream_chunk_elems = 64});
        for (size_t o = 0; o < GXT_COUNT(reductions); o++)
            for (unsigned mix = 0; mix < WHERES * WHERES * WHERES; mix++)
                for (unsigned b = 0; b < (o ? 4 : 2); b++, turn++) {
                    struct resident k = {
                        reductions[o],
                        fields[turn % 4],
                        sizes[turn / 4 % 4],
                        b,
                        {mix % WHERES, mix / WHERES % WHERES, mix / WHERES / WHERES},
                        GX_PATH_HOST_VISIBLE + turn % 2};
                    if (o || k.where[1] == PLAIN)
                        run_resident(ctx, devices[d], &k);
                }
        close_ctx(ctx);
    }
}

/* ---- batches ---- */

/* x0 = sum(a); c = a * x0; x1 = dot(c, b); b = b - x1; x2 = sum(b); x3 = sum(x0 .. x2);
 * x0 = dot(a, c); a = a + x3: each needs what was written before, and writes over what was read. */
enum { CHAIN = 8, ARRAYS = 4 }; /* a, b, c, x */

static void chain(const gx_operand *at, size_t n, gx_field field, size_t element, gx_job *jobs)
{
    gx_operand x[4];
    for (size_t i = 0; i < 4; i++) {
        x[i] = at[3];
        if (x[i].buf)
            x[i].offset += i * element;
        else
            x[i].host = (unsigned char *)x[i].host + i * element;
    }
    const struct {
        gx_op op;
        gx_operand a, b, out;
        int broadcast; /* b is */
    } steps[CHAIN] = {
        {GX_SUM, at[0], {0}, x[0], 0},   {GX_MUL, at[0], x[0], at[2], 1},
        {GX_DOT, at[2], at[1], x[1], 0}, {GX_SUB, at[1], x[1], at[1], 1},
        {GX_SUM, at[1], {0}, x[2], 0},   {GX_SUM, x[0], {0}, x[3], 0},
        {GX_DOT, at[0], at[2], x[0], 0}, {GX_ADD, at[0], x[3], at[0], 1},
    };
    for (size_t i = 0; i < CHAIN; i++) {
        jobs[i] = (gx_job){.op = steps[i].op, .field = field, .n = i == 5 ? 3 : n};
        jobs[i].a = steps[i].a;
        jobs[i].b = steps[i].b;
        jobs[i].b.broadcast = steps[i].broadcast;
        jobs[i].out = steps[i].out;
    }
}

/* The same by the oracle, job by job over host memory. */
static void chain_by_oracle(unsigned char *const *host, size_t n, gx_field field)
{
    gx_job jobs[CHAIN];
    gx_operand at[ARRAYS];
    for (int i = 0; i < ARRAYS; i++)
        at[i] = gx_host(host[i]);
    chain(at, n, field, gxt_element(field), jobs);
    for (size_t i = 0; i < CHAIN; i++)
        oracle_run(jobs[i].op, field, jobs[i].n, jobs[i].out.host, jobs[i].a.host, jobs[i].b.host,
                   NULL, jobs[i].b.broadcast ? ORACLE_B : 0);
}

static void run_chain(gx_ctx *ctx, const struct stream *k, const enum where *where, gx_field field,
                      size_t n)
{
    size_t element = gxt_element(field), bytes[ARRAYS];
    unsigned char *host[ARRAYS], *want[ARRAYS];
    gx_operand at[ARRAYS];
    gx_buf *buf[ARRAYS];
    gx_job jobs[CHAIN];
    gx_report r[CHAIN];
    gxt_reports(r, CHAIN);
    for (int i = 0; i < ARRAYS; i++) {
        bytes[i] = (i == 3 ? 4 : n) * element;
        assert_non_null(host[i] = aligned_alloc(PAGE, (size_t)4 * PAGE));
        want[i] = gxt_alloc(bytes[i]);
        memset(host[i], GUARD, bytes[i]);
        if (i < 2)
            oracle_fill(field, &rng, host[i], n);
        memcpy(want[i], host[i], bytes[i]);
        at[i] = put(ctx, k->device, where[i], host[i], bytes[i], 16, &buf[i]);
    }
    chain_by_oracle(want, n, field);
    chain(at, n, field, element, jobs);
    gx_run_params opts = {.device = k->device, .mode = k->mode, .path = k->path};
    char what[160];
    snprintf(what, sizeof what, "%s, chunk %u, %s, %s, places %d%d%d%d, n %zu", k->device,
             (unsigned)k->chunk, gx_mode_name(k->mode), gx_path_name(k->path), (int)where[0],
             (int)where[1], (int)where[2], (int)where[3], n);
    expect_ok(gx_run(ctx, jobs, CHAIN, &opts, r), &r[0], what);
    for (int i = 0; i < ARRAYS; i++) {
        take(ctx, where[i], host[i], bytes[i], 16, &buf[i]);
        if (memcmp(host[i], want[i], bytes[i]) != 0)
            fail_msg("%s: %c is wrong", what, "abcx"[i]);
        free(host[i]);
        free(want[i]);
    }
}

static void chains(void **state)
{
    (void)state;
    static const uint64_t chunks[] = {0, 16};
    static const enum where wheres[][ARRAYS] = {
        {PLAIN, PLAIN, PLAIN, PLAIN},       {BUFFER, BUFFER, BUFFER, BUFFER},
        {PLAIN, PLAIN, PLAIN, BUFFER},      {BUFFER, BUFFER, BUFFER, PLAIN},
        {REGISTERED, PLAIN, BUFFER, PLAIN}, {REGISTERED, REGISTERED, REGISTERED, REGISTERED},
        {PLAIN, BUFFER, PLAIN, REGISTERED}};
    for (size_t d = 0; d < device_count; d++) {
        for (size_t c = 0; c < GXT_COUNT(chunks); c++) {
            gx_ctx *ctx = open_with(
                (gx_config){.stream_chunk_elems = chunks[c], .dispatch_elems = c ? 9 : 0});
            struct stream k = {devices[d], chunks[c], 0, 0, 0};
            for (k.mode = GX_MODE_AUTO; k.mode <= GX_MODE_PIPELINED; k.mode++)
                for (k.path = GX_PATH_HOST_VISIBLE; k.path <= GX_PATH_DEVICE_LOCAL; k.path++)
                    for (size_t w = 0; w < GXT_COUNT(wheres); w++) {
                        if (gxt_small() && (w + k.mode + k.path) % 3)
                            continue;
                        run_chain(ctx, &k, wheres[w], w % 2 ? GX_BLS12_381_FQ : GX_BN254_FQ,
                                  w % 3 ? 77 : N / 2);
                        run_chain(ctx, &k, wheres[w], GX_BLS12_381_FR, 1);
                    }
            close_ctx(ctx);
        }
    }
}

/* The job with a bad element is told, those before it are done, those after it are not. */
static void a_batch_that_fails(void **state)
{
    (void)state;
    const gx_field field = GX_BN254_FR;
    static unsigned char in[N * 32], spoilt[N * 32];
    unsigned char want[32], out[4][32], untouched[32];
    oracle_fill(field, &rng, in, N);
    oracle_run(GX_SUM, field, N, want, in, NULL, NULL, 0);
    memcpy(spoilt, in, sizeof in);
    oracle_bad(field, 1, spoilt + (size_t)150 * 32);
    memset(untouched, GUARD, sizeof untouched);
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = open_with((gx_config){.stream_chunk_elems = 60});
        for (gx_mode mode = GX_MODE_AUTO; mode <= GX_MODE_PIPELINED; mode++) {
            gx_job jobs[4];
            gx_report r[4];
            gxt_reports(r, 4);
            memset(out, GUARD, sizeof out);
            for (int i = 0; i < 4; i++)
                jobs[i] = gxt_job(i % 2 ? GX_SUM : GX_DOT, field, N, i == 2 ? spoilt : in,
                                  i == 2 ? spoilt : in, NULL, out[i]);
            gx_run_params opts = {.device = devices[d], .mode = mode};
            assert_int_equal(gx_run(ctx, jobs, 4, &opts, r), GX_ERR_NOT_CANONICAL);
            assert_int_equal(r[0].status, GX_OK);
            assert_int_equal(r[1].status, GX_OK);
            assert_int_equal(r[2].status, GX_ERR_NOT_CANONICAL);
            assert_int_equal(r[2].bad_index, 150);
            assert_int_equal(r[3].status, GX_ERR_NOT_RUN);
            assert_memory_equal(out[1], want, 32);
            assert_memory_equal(out[3], untouched, 32);
        }
        close_ctx(ctx);
    }
}

/* ---- tickets ---- */

enum { TICKETS = 24 };

static void submitted(gx_ctx *ctx, const char *device, int cancel)
{
    const gx_field field = GX_BLS12_381_FR;
    static unsigned char in[2][N * 32];
    unsigned char out[TICKETS][2][32], want[TICKETS][2][32], untouched[32];
    gx_ticket *tickets[TICKETS];
    gx_run_params opts = {.device = device};
    oracle_fill(field, &rng, in[0], N);
    oracle_fill(field, &rng, in[1], N);
    memset(out, GUARD, sizeof out);
    memset(untouched, GUARD, sizeof untouched);
    for (size_t i = 0; i < TICKETS; i++) {
        size_t n = 1 + i * 7 % N;
        oracle_run(GX_DOT, field, n, want[i][0], in[0], in[1], NULL, 0);
        oracle_run(GX_DOT, field, n, want[i][1], in[0], want[i][0], NULL, ORACLE_B);
        gx_job jobs[2] = {gxt_job(GX_DOT, field, n, in[0], in[1], NULL, out[i][0]),
                          gxt_job(GX_DOT, field, n, in[0], out[i][0], NULL, out[i][1])};
        jobs[1].b.broadcast = 1;
        assert_int_equal(gx_submit(ctx, jobs, 2, &opts, &tickets[i]), GX_OK);
        if (cancel && i % 2)
            gx_cancel(tickets[i]);
    }
    if (cancel > 1)
        gx_cancel_all(ctx);
    for (size_t i = 0; i < TICKETS; i++) {
        gx_report r[2];
        gxt_reports(r, 2);
        gx_status s = gx_wait(tickets[i], UINT64_MAX, r);
        assert_true(s == GX_OK || (cancel && s == GX_ERR_CANCELLED));
        for (int k = 0; k < 2; k++) {
            if (r[k].status == GX_OK)
                assert_memory_equal(out[i][k], want[i][k], 32);
            else
                assert_memory_equal(out[i][k], untouched, 32);
        }
        gx_ticket_destroy(&tickets[i]);
    }
}

static void tickets(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = open_with((gx_config){.stream_chunk_elems = 50});
        for (int round = 0; round < 6; round++)
            submitted(ctx, devices[d], round % 3);
        close_ctx(ctx);
    }
}

/* ---- estimates ---- */

static void estimates(void **state)
{
    (void)state;
    enum { MANY = 10000 };
    unsigned char *in = gxt_alloc((size_t)MANY * 32), out[32];
    oracle_fill_random(GX_BN254_FR, &rng, in, MANY);
    for (size_t d = 1; d < device_count; d++) {
        gx_ctx *ctx = open_with((gx_config){0});
        gx_job job = gxt_job(GX_SUM, GX_BN254_FR, MANY, in, NULL, NULL, out);
        gx_run_params opts = {.device = devices[d], .path = GX_PATH_DEVICE_LOCAL};
        gx_estimate_info e = {.struct_size = sizeof e};
        gx_report r = gxt_report();
        memset(out, GUARD, sizeof out);
        assert_int_equal(gx_estimate(ctx, &job, 1, &opts, &e), GX_OK);
        assert_int_equal(out[0], GUARD);
        assert_true(e.bytes_up >= (size_t)MANY * 32 && e.bytes_up < (size_t)MANY * 33);
        assert_true(e.bytes_down < (size_t)PAGE); /* one element, and what was bad */
        expect_ok(gx_run(ctx, &job, 1, &opts, &r), &r, devices[d]);
        assert_int_equal(r.dispatches, e.dispatches);
        close_ctx(ctx);
    }
    free(in);
}

/* ---- statistics ---- */

static void statistics(void **state)
{
    (void)state;
    unsigned char in[9 * 32], out[32];
    oracle_fill(GX_BN254_FR, &rng, in, 9);
    for (size_t d = 0; d < device_count; d++) {
        struct gx_statistics stats = {0};
        gx_ctx *ctx = open_with((gx_config){.sample_every = UINT64_MAX});
        gx_job job = gxt_job(GX_DOT, GX_BN254_FR, 9, in, in, NULL, out);
        job.b.broadcast = 1;
        assert_int_equal(gxt_run(ctx, &job, devices[d], NULL), GX_OK);
        gx__stats(ctx, &stats);
        assert_int_equal(stats.jobs_done, 1);
        assert_int_equal(stats.elements, 9);
        assert_int_equal(stats.bytes_read, 10 * 32);
        assert_int_equal(stats.bytes_written, 32);
        close_ctx(ctx);
    }
}

/* ---- failures ---- */

/* Right results or an error, and nothing but right results after it. */
static void fails_at(const char *what, unsigned at, const char *device, unsigned *failed)
{
    const gx_field field = GX_BLS12_381_FQ;
    static unsigned char in[2][N * 48];
    unsigned char out[3][48], want[3][48];
    char name[48];
    snprintf(name, sizeof name, "fault:%s@%u:%s", what, at, device);
    gx_ctx *ctx = open_with((gx_config){.device = name, .stream_chunk_elems = 90});
    oracle_fill(field, &rng, in[0], N);
    oracle_fill(field, &rng, in[1], N);
    oracle_run(GX_SUM, field, N, want[0], in[0], NULL, NULL, 0);
    oracle_run(GX_DOT, field, N, want[1], in[0], want[0], NULL, ORACLE_B);
    oracle_run(GX_DOT, field, N, want[2], in[0], in[1], NULL, 0);
    gx_job jobs[3] = {gxt_job(GX_SUM, field, N, in[0], NULL, NULL, out[0]),
                      gxt_job(GX_DOT, field, N, in[0], out[0], NULL, out[1]),
                      gxt_job(GX_DOT, field, N, in[0], in[1], NULL, out[2])};
    jobs[1].b.broadcast = 1;
    unsigned errors = 0;
    for (int round = 0; round < 3; round++) {
        gx_report r[3];
        gxt_reports(r, 3);
        memset(out, GUARD, sizeof out);
        gx_status s = gx_run(ctx, jobs, 3, NULL, r);
        if (errors && strcmp(what, "lose") != 0) /* a new one is lost at its Nth call too */
            expect_ok(s, &r[0], name);
        errors += s != GX_OK;
        for (int i = 0; i < 3; i++)
            if (r[i].status == GX_OK && memcmp(out[i], want[i], 48) != 0)
                fail_msg("%s: job %d has a wrong result", name, i);
    }
    *failed += errors;
    close_ctx(ctx);
}

static void every_call_fails(void **state)
{
    (void)state;
    static const char *const whats[] = {"fail", "lose", "oom"};
    for (size_t d = 0; d < device_count; d++)
        for (size_t w = 0; w < GXT_COUNT(whats); w++) {
            unsigned failed = 0;
            for (unsigned at = 1; at < 40; at += gxt_small() || d == 2 ? 3 : 1)
                fails_at(whats[w], at, devices[d], &failed);
            assert_true(failed > 0 || !strcmp(whats[w], "oom"));
        }
}

int main(int argc, char **argv)
{
    gxt_choose_gpu(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams),
        cmocka_unit_test(budgets),
        cmocka_unit_test(every_residency),
        cmocka_unit_test(chains),
        cmocka_unit_test(a_batch_that_fails),
        cmocka_unit_test(tickets),
        cmocka_unit_test(estimates),
        cmocka_unit_test(statistics),
        cmocka_unit_test(every_call_fails),
    };
    return cmocka_run_group_tests_name("exec-reductions", tests, find_devices, NULL);
}
