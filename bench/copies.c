/* SPDX-License-Identifier: Apache-2.0
 *
 * bench-copies: bandwidth of the bus between host and device with nothing else in the way: host
 * memory copied by the device itself, in each direction alone and both at once, by copy commands on
 * each queue and by a kernel. Works on the device contract, below exec/. Then a stream of field
 * elements through the public API over the same memory, relative to copying its bytes alone in the
 * same run.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "data.h"
#include "output.h"
#include "stats.h"
#include "tool.h"

enum {
    SAMPLES_MAX = 1000,
    FLIGHT_MAX = 16, /* commands in flight, per lane */
    LANES_MAX = 2,
    QUAD = 16, /* bytes of an element of the copy kernel */
    PERIOD = 65537,
    PIECE = 4096 /* bytes compared at a time */
};
#define MIB      ((uint64_t)1 << 20)
#define RING_MAX ((size_t)256 << 20) /* device memory that a lane cycles through */
#define ROW_MAX  ((size_t)1 << 30)   /* bytes of a row, except for those like the stream */
#define FIELD    GX_BLS12_381_FQ

static struct {
    uint64_t bytes, samples, flight;
    number_list chunks;
    const char *only;
    int format;
} opts = {.samples = 5, .flight = 4, .chunks = {4, {MIB, 4 * MIB, 16 * MIB, 64 * MIB}}};

static const option_row options[] = {
    OPTION_NUMBER(
        "bytes", "BYTES", &opts.bytes, 1u << 20, (uint64_t)1 << 36,
        "operands of the stream (4G; 32M where the device is software); half as much again is "
        "the result. Rows of copies alone: up to 1G"),
    OPTION_NUMBERS("chunk", "BYTES[,BYTES...]", &opts.chunks, 65536, RING_MAX,
                   "bytes of one command (1M,4M,16M,64M)"),
    OPTION_NUMBER("flight", "K", &opts.flight, 1, FLIGHT_MAX,
                  "commands under way per direction (4)"),
    OPTION_CHOICE(
        "only", "WHAT", "in out both", &opts.only,
        "rows of that alone, and no stream, so that two programs at once can be seen from each"),
    OPTION_SAMPLES(&opts.samples, SAMPLES_MAX, "samples per row (5)"),
    OPTIONS_FORMATS(&opts.format),
};

static const column columns[] = {
    {.key = "device", .kind = COL_TEXT, .flags = COL_MACHINE_ONLY},
    {.key = "driver", .kind = COL_TEXT, .flags = COL_MACHINE_ONLY},
    COLUMN(TEXT, "what", "what", 8),
    COLUMN(TEXT, "memory", "memory", 12),
    COLUMN(TEXT, "in_by", "in by", 21),
    COLUMN(TEXT, "out_by", "out by", 21),
    COLUMN(COUNT, "chunk_bytes", "chunk", 9),
    {.key = "in_bytes", .kind = COL_COUNT, .flags = COL_MACHINE_ONLY},
    {.key = "out_bytes", .kind = COL_COUNT, .flags = COL_MACHINE_ONLY},
    COLUMN(REAL, "median_us", "median us", 10),
    COLUMN(REAL, "min_us", "min us", 10),
    COLUMN(REAL, "in_gb_per_s", "in GB/s", 7, .decimals = 1),
    COLUMN(REAL, "out_gb_per_s", "out GB/s", 8, .decimals = 1),
    COLUMN(REAL, "gb_per_s", "GB/s", 6, .decimals = 1),
    COLUMN(REAL, "of_copy", "copy%", 6, .decimals = 1, .scale = 100),
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static struct gx_kernel copy_kernel; /* impl NULL: the device has none */
static output *table;
static unsigned char *host[3]; /* a, b and out, `half` bytes each */
static size_t half, ring;
static struct gx_mem imported[3];  /* the same, as the device sees it */
static struct gx_mem allocated[2]; /* UPLOAD and READBACK memory of a row's size */
static struct gx_mem ring_in, ring_out;
static double stream_copy_ns; /* the best row with the stream's bytes */

/* ---- lanes: one direction, or half of it ---- */

enum method { COPY, KERNEL };

struct lane {
    bool out;
    enum method method;
    enum gx_queue queue;
    const struct gx_mem *outer[2]; /* host memory: the second follows the first */
    size_t outer_first;            /* bytes of the first */
    size_t from, bytes;            /* part of it */
    size_t chunk;
    size_t ring_at, ring_bytes; /* its part of the ring on the device */
    gx_status status;
};

/* The range of host memory at byte `at`; it never crosses from one block to the other, because
 * their sizes are multiples of every chunk. */
static struct gx_binding outer_at(const struct lane *lane, size_t at)
{
    bool second = at >= lane->outer_first;
    return (struct gx_binding){lane->outer[second], at - (second ? lane->outer_first : 0)};
}

static gx_status start_chunk(const struct lane *lane, size_t at, size_t bytes, struct gx_cmd **cmd,
                             struct gx_fence *done)
{
    struct gx_binding outer = outer_at(lane, at);
    struct gx_binding inner = {lane->out ? &ring_out : &ring_in,
                               lane->ring_at + at % lane->ring_bytes};
    gx_status s = device.ops->begin(&device, lane->queue, cmd);
    if (s != GX_OK)
        return s;
    if (lane->method == COPY) {
        struct gx_region region = {
            .from = lane->out ? inner : outer, .to = lane->out ? outer : inner, .size = bytes};
        device.ops->copy(*cmd, &region, 1);
    } else {
        struct gx_dispatch d = {.kernel = copy_kernel, .n = bytes / QUAD};
        d.bind[GX_BIND_A] = lane->out ? inner : outer;
        d.bind[GX_BIND_OUT] = lane->out ? outer : inner;
        device.ops->dispatch(*cmd, &d);
    }
    if (lane->out)
        device.ops->barrier(*cmd, GX_BARRIER_TO_HOST);
    s = device.ops->submit(*cmd, NULL, 0, done);
    if (s != GX_OK)
        device.ops->recycle(*cmd);
    return s;
}

/* Chunk after chunk, with `flight` of them in flight. */
static void *run_lane(void *argument)
{
    struct lane *lane = argument;
    struct gx_cmd *cmds[FLIGHT_MAX];
    struct gx_fence points[FLIGHT_MAX];
    size_t flight = opts.flight ? opts.flight : 1;
    size_t started = 0, ended = 0, at = lane->from, end = lane->from + lane->bytes;
    gx_status s = GX_OK;
    while (ended < started || (at < end && s == GX_OK)) {
        if (at < end && s == GX_OK && started - ended < flight) {
            size_t slot = started % flight;
            size_t bytes = end - at < lane->chunk ? end - at : lane->chunk;
            s = start_chunk(lane, at, bytes, &cmds[slot], &points[slot]);
            started += s == GX_OK;
            at += bytes;
            continue;
        }
        gx_status waited = device.ops->wait(&device, points[ended % flight], GX_WAIT_FOREVER);
        s = s == GX_OK ? waited : s;
        device.ops->recycle(cmds[ended++ % flight]);
    }
    lane->status = s;
    return NULL;
}

/* All lanes at once, each on its own thread. */
static gx_status run_lanes(struct lane *lanes, size_t count)
{
    pthread_t threads[2 * LANES_MAX];
    size_t started = 0;
    for (size_t i = 1; i < count; i++, started++)
        if (pthread_create(&threads[i], NULL, run_lane, &lanes[i]))
            break;
    run_lane(&lanes[0]);
    for (size_t i = 1; i <= started; i++)
        pthread_join(threads[i], NULL);
    gx_status s = started + 1 < count ? GX_ERR_OUT_OF_MEMORY : GX_OK;
    for (size_t i = 0; i <= started; i++)
        s = s == GX_OK ? lanes[i].status : s;
    return s;
}

/* ---- are the bytes there? ---- */

/* The host's view of host memory of a lane. */
static gx_status look(const struct lane *lane, size_t at, void **view, struct gx_mem **mapped)
{
    struct gx_binding b = outer_at(lane, at);
    *mapped = (struct gx_mem *)b.mem;
    gx_status s = device.ops->map(&device, *mapped, view);
    if (s == GX_OK)
        *view = (char *)*view + b.offset;
    return s;
}

/* Clears what verify compares, so that old data cannot pass. */
static gx_status poison(const struct lane *lane)
{
    size_t end = lane->from + lane->bytes;
    for (size_t at = lane->from; at < end; at += lane->chunk) {
        struct gx_mem *mapped;
        void *view;
        gx_status s = look(lane, at, &view, &mapped);
        if (s != GX_OK)
            return s;
        memset(view, 0xa5, end - at < PIECE ? end - at : PIECE);
        device.ops->unmap(&device, mapped);
    }
    return GX_OK;
}

/* Compares the beginnings of the chunks that went through the ring last with the expected data. */
static gx_status verify(const struct lane *lane, struct gx_mem *readback, bool *differs)
{
    size_t end = lane->from + lane->bytes;
    for (size_t at = lane->bytes > lane->ring_bytes ? end - lane->ring_bytes : lane->from; at < end;
         at += lane->chunk) {
        size_t n = end - at < PIECE ? end - at : PIECE;
        struct gx_binding inner = {lane->out ? &ring_out : &ring_in,
                                   lane->ring_at + at % lane->ring_bytes};
        struct gx_mem *mapped;
        unsigned char got[PIECE];
        void *view;
        gx_status s = tool_read(inner, n, readback, got);
        if (s == GX_OK)
            s = look(lane, at, &view, &mapped);
        if (s != GX_OK)
            return s;
        *differs |= memcmp(got, view, n) != 0;
        device.ops->unmap(&device, mapped);
    }
    return GX_OK;
}

/* ---- rows ---- */

/* How a direction is copied: by copies or a kernel, on one queue or split over two. */
struct way {
    enum method method;
    enum gx_queue queue, second;
    bool split;
};

static const struct way no_way;

static void way_text(const struct way *way, char *text, size_t size)
{
    static const char *const queues[] = {"compute", "upload", "download"};
    snprintf(text, size, "%s %s%s%s", way->method == COPY ? "copy" : "kernel", queues[way->queue],
             way->split ? "+" : "", way->split ? queues[way->second] : "");
}

struct row {
    const char *what, *memory;
    const struct way *in, *out; /* NULL: not in this direction */
    size_t chunk, in_bytes, out_bytes;
    const struct gx_mem *outer_in[2], *outer_out;
    size_t in_first;
};

static bool show(const char *what, const char *memory, const char *in_by, const char *out_by,
                 size_t chunk, size_t in, size_t out, const stats *ns, double of_copy)
{
    const cell cells[COLUMNS] = {
        CELL_TEXT(device.info.name),
        CELL_TEXT(device.info.description),
        CELL_TEXT(what),
        CELL_TEXT(memory),
        in_by ? CELL_TEXT(in_by) : CELL_MISSING,
        out_by ? CELL_TEXT(out_by) : CELL_MISSING,
        chunk ? CELL_COUNT(chunk) : CELL_MISSING,
        CELL_COUNT(in),
        CELL_COUNT(out),
        CELL_REAL(ns->median / 1e3),
        CELL_REAL(ns->min / 1e3),
        in ? CELL_REAL((double)in / ns->median) : CELL_MISSING,
        out ? CELL_REAL((double)out / ns->median) : CELL_MISSING,
        CELL_REAL((double)(in + out) / ns->median),
        of_copy > 0 ? CELL_REAL(of_copy) : CELL_MISSING,
    };
    return output_row(table, cells);
}

/* The lanes of one direction. */
static size_t add_lanes(struct lane *lanes, size_t count, const struct way *way,
                        const struct row *r, bool out)
{
    struct lane lane = {.out = out,
                        .method = way->method,
                        .queue = way->queue,
                        .outer = {out ? r->outer_out : r->outer_in[0], r->outer_in[1]},
                        .outer_first = out ? SIZE_MAX : r->in_first,
                        .bytes = out ? r->out_bytes : r->in_bytes,
                        .chunk = r->chunk,
                        .ring_bytes = way->split ? ring / 2 : ring};
    lanes[count++] = lane;
    if (!way->split)
        return count;
    size_t first = lane.bytes / 2 / r->chunk * r->chunk;
    lanes[count - 1].bytes = first;
    lane.from = first;
    lane.bytes -= first;
    lane.queue = way->second;
    lane.ring_at = lane.ring_bytes;
    lanes[count++] = lane;
    return count;
}

static gx_status measure(struct lane *lanes, size_t count, bool *differs, stats *ns)
{
    double samples[SAMPLES_MAX];
    struct gx_mem readback = {0};
    gx_status s = device.ops->mem_alloc(&device, GX_MEM_READBACK, PIECE, &readback);
    for (size_t i = 0; i < count && s == GX_OK; i++)
        if (lanes[i].out)
            s = poison(&lanes[i]);
    if (s == GX_OK)
        s = run_lanes(lanes, count);
    for (size_t i = 0; i < count && s == GX_OK; i++)
        s = verify(&lanes[i], &readback, differs);
    for (size_t i = 0; i < opts.samples && s == GX_OK && !*differs; i++) {
        uint64_t start = now_ns();
        s = run_lanes(lanes, count);
        samples[i] = (double)(now_ns() - start);
    }
    tool_free(&readback);
    if (s == GX_OK && !*differs)
        *ns = stats_of(samples, opts.samples);
    return s;
}

/* Skips a row that needs two queues if there is only one, or a kernel if there is none. */
static bool offered(const struct way *way)
{
    uint32_t needs = GX_QUEUE_BIT(way->queue) | (way->split ? GX_QUEUE_BIT(way->second) : 0);
    return (device.facts.queues & needs) == needs && (way->method == COPY || copy_kernel.impl);
}

static int bench_row(const struct row *r, bool like_stream)
{
    struct lane lanes[2 * LANES_MAX];
    char in_by[48], out_by[48];
    bool differs = false;
    size_t count = 0;
    stats ns;
    if ((r->in && !offered(r->in)) || (r->out && !offered(r->out)))
        return EXIT_SUCCESS;
    way_text(r->in ? r->in : &no_way, in_by, sizeof in_by);
    way_text(r->out ? r->out : &no_way, out_by, sizeof out_by);
    if (r->in)
        count = add_lanes(lanes, count, r->in, r, false);
    if (r->out)
        count = add_lanes(lanes, count, r->out, r, true);
    gx_status s = measure(lanes, count, &differs, &ns);
    if (s != GX_OK)
        return failed(r->what, s);
    if (differs) {
        fprintf(stderr, "bench-copies: %s, %s, %s: the bytes did not arrive\n", r->what,
                r->in ? in_by : "-", r->out ? out_by : "-");
        return EXIT_DIFFERS;
    }
    if (like_stream && (stream_copy_ns <= 0 || ns.median < stream_copy_ns))
        stream_copy_ns = ns.median;
    return show(r->what, r->memory, r->in ? in_by : NULL, r->out ? out_by : NULL, r->chunk,
                r->in ? r->in_bytes : 0, r->out ? r->out_bytes : 0, &ns, 0)
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}

#define C GX_QUEUE_COMPUTE
#define U GX_QUEUE_UPLOAD
#define D GX_QUEUE_DOWNLOAD
#define NOT                                                                                        \
    {                                                                                              \
        .queue = GX_QUEUE_HOST_IN                                                                  \
    }

static const struct pair {
    const char *what;
    struct way in, out;
} pairs[] = {
    {"in", {COPY, U, C, false}, NOT},
    {"in", {COPY, D, C, false}, NOT},
    {"in", {COPY, C, C, false}, NOT},
    {"in", {COPY, U, D, true}, NOT},
    {"in", {KERNEL, C, C, false}, NOT},
    {"out", NOT, {COPY, D, C, false}},
    {"out", NOT, {COPY, U, C, false}},
    {"out", NOT, {COPY, C, C, false}},
    {"out", NOT, {COPY, U, D, true}},
    {"out", NOT, {KERNEL, C, C, false}},
    {"both", {COPY, U, C, false}, {COPY, D, C, false}},
    {"both", {COPY, D, C, false}, {COPY, U, C, false}},
    {"both", {COPY, U, C, false}, {COPY, U, C, false}},
    {"both", {COPY, C, C, false}, {COPY, C, C, false}},
    {"both", {COPY, U, C, false}, {COPY, C, C, false}},
    {"both", {COPY, C, C, false}, {COPY, D, C, false}},
    {"both", {KERNEL, C, C, false}, {COPY, D, C, false}},
    {"both", {COPY, U, C, false}, {KERNEL, C, C, false}},
    {"both", {KERNEL, C, C, false}, {KERNEL, C, C, false}},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static const struct way *way_or_none(const struct way *way)
{
    return way->queue == GX_QUEUE_HOST_IN ? NULL : way;
}

/* Twice as much in as out, like an operation with two operands. */
static int bench_like_stream(const struct pair *p, size_t chunk)
{
    struct row r = {.what = "2 in 1",
                    .memory = "imported",
                    .in = &p->in,
                    .out = &p->out,
                    .chunk = chunk,
                    .in_bytes = 2 * half,
                    .out_bytes = half,
                    .outer_in = {&imported[0], &imported[1]},
                    .outer_out = &imported[2],
                    .in_first = half};
    return bench_row(&r, true);
}

static int bench_pair(const struct pair *p, bool from_imported, size_t chunk)
{
    size_t row_bytes = half < ROW_MAX ? half : ROW_MAX;
    struct row r = {.what = p->what,
                    .memory = from_imported ? "imported" : "allocated",
                    .in = way_or_none(&p->in),
                    .out = way_or_none(&p->out),
                    .chunk = chunk,
                    .in_bytes = row_bytes,
                    .out_bytes = row_bytes,
                    .outer_in = {from_imported ? &imported[0] : &allocated[0]},
                    .outer_out = from_imported ? &imported[2] : &allocated[1],
                    .in_first = SIZE_MAX};
    if (opts.only && strcmp(opts.only, p->what) != 0)
        return EXIT_SUCCESS;
    bool kernel = (r.in && r.in->method == KERNEL) || (r.out && r.out->method == KERNEL);
    if (kernel && !from_imported) /* that memory is for copies */
        return EXIT_SUCCESS;
    int rc = bench_row(&r, false);
    if (rc == EXIT_SUCCESS && from_imported && r.in && r.out)
        rc = bench_like_stream(p, chunk);
    return rc;
}

static int bench_chunks(bool from_imported)
{
    int rc = EXIT_SUCCESS;
    for (size_t i = 0; i < PAIRS; i++)
        for (size_t c = 0; c < opts.chunks.count && rc == EXIT_SUCCESS; c++)
            if (opts.chunks.values[c] <= ring / 2)
                rc = bench_pair(&pairs[i], from_imported, (size_t)opts.chunks.values[c]);
    return rc;
}

/* ---- memory ---- */

static void release_all(void)
{
    for (size_t i = 0; i < 3; i++)
        tool_free(&imported[i]);
    tool_free(&allocated[0]);
    tool_free(&allocated[1]);
    tool_free(&ring_in);
    tool_free(&ring_out);
}

static bool make_host(void)
{
    size_t element = gx_field_get_info(FIELD)->element_bytes, whole = half / element;
    size_t block = whole < PERIOD ? whole : PERIOD;
    for (size_t i = 0; i < 3; i++) {
        host[i] = data_alloc(half < 2 * MIB ? 2 * MIB : half); /* page-aligned */
        if (!host[i])
            return false;
        memset(host[i], 0, half);
    }
    for (size_t i = 0; i < 2; i++) {
        data_random(FIELD, host[i], block, i + 1);
        for (size_t at = block; at < whole; at += block)
            memcpy(host[i] + at * element, host[i],
                   (whole - at < block ? whole - at : block) * element);
    }
    return true;
}

/* The rings start with the contents of the first operand, so that they do not yield zeros. */
static gx_status make_memory(void)
{
    size_t row_bytes = half < ROW_MAX ? half : ROW_MAX;
    bool imports = device.ops->mem_import && device.facts.import_align;
    gx_status s = imports ? GX_OK : GX_ERR_UNSUPPORTED;
    for (size_t i = 0; i < 3 && s == GX_OK; i++)
        s = device.ops->mem_import(&device, host[i], half, &imported[i]);
    if (s != GX_OK) /* imported[2] tells */
        fprintf(stderr, "bench-copies: no rows of imported memory: %s\n", gx_status_message(s));
    s = device.ops->mem_alloc(&device, GX_MEM_UPLOAD, row_bytes, &allocated[0]);
    if (s == GX_OK)
        s = device.ops->mem_alloc(&device, GX_MEM_READBACK, row_bytes, &allocated[1]);
    if (s == GX_OK)
        s = device.ops->mem_alloc(&device, GX_MEM_DEVICE, ring, &ring_in);
    if (s == GX_OK)
        s = device.ops->mem_alloc(&device, GX_MEM_DEVICE, ring, &ring_out);
    void *view;
    if (s == GX_OK)
        s = device.ops->map(&device, &allocated[0], &view);
    if (s != GX_OK)
        return s;
    memcpy(view, host[0], row_bytes);
    device.ops->unmap(&device, &allocated[0]);
    return tool_copy(
        &(struct gx_region){.from = {&allocated[0], 0}, .to = {&ring_out, 0}, .size = ring}, 1);
}

/* ---- the stream ---- */

static int bench_stream(gx_ctx *ctx, bool registered)
{
    double samples[SAMPLES_MAX];
    size_t element = gx_field_get_info(FIELD)->element_bytes;
    gx_job job = {.op = GX_ADD, .field = FIELD, .n = half / element};
    gx_run_params on = {.device = device.info.name};
    gx_status s = GX_OK;
    job.a = gx_host(host[0]);
    job.b = gx_host(host[1]);
    job.out = gx_host(host[2]);
    for (size_t i = 0; i < 3 && registered && s == GX_OK; i++)
        s = gx_host_register(ctx, host[i], half);
    for (size_t i = 0; i <= opts.samples && s == GX_OK; i++) {
        uint64_t start = now_ns();
        s = gx_run(ctx, &job, 1, &on, NULL);
        samples[i ? i - 1 : 0] = (double)(now_ns() - start); /* the first one warms up */
    }
    for (size_t i = 0; i < 3 && registered; i++)
        gx_host_unregister(ctx, host[i]);
    if (s != GX_OK)
        return failed("stream", s);
    stats ns = stats_of(samples, opts.samples);
    return show("stream", registered ? "registered" : "unregistered", NULL, NULL, 0,
                2 * job.n * element, job.n * element, &ns, stream_copy_ns / ns.median)
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}

/* ---- all ---- */

static void explain(void)
{
    printf("%s: %s\n", device.info.name, device.info.description);
    printf("Chunks of copies between host memory and the device, %u under way in each direction.\n",
           (unsigned)opts.flight);
    puts("memory: the program's own, imported, or allocated by the device. 2 in 1: twice as much "
         "in\n"
         "as out, the bytes of the stream below. copy%: what the best of those rows took, of what\n"
         "the stream took.\n");
}

static int bench_device(void)
{
    struct gx_kernel_key key = {.op = GX_OP_COPY};
    if (device.ops->kernel(&device, &key, &copy_kernel) != GX_OK)
        copy_kernel.impl = NULL;
    uint64_t bytes = opts.bytes              ? opts.bytes
                     : device.info.automatic ? (uint64_t)4096 * MIB
                                             : 32 * MIB;
    half = 1 << 19; /* a power of two, so that every chunk and the ring divide it */
    while (half * 2 <= bytes / 2)
        half *= 2;
    ring = half < RING_MAX ? half : RING_MAX;
    if (!make_host())
        return failed("host memory; try a smaller --bytes", GX_ERR_OUT_OF_MEMORY);
    gx_status s = make_memory();
    if (s != GX_OK)
        return failed("memory; try a smaller --bytes", s);
    if (opts.format == OUT_TABLE)
        explain();
    table = output_open((output_format)opts.format, "bench-copies", columns, COLUMNS);
    if (!table)
        return failed("output", GX_ERR_OUT_OF_MEMORY);
    int rc = bench_chunks(false);
    if (rc == EXIT_SUCCESS && imported[2].size)
        rc = bench_chunks(true);
    return rc;
}

static int bench_streams(void)
{
    gx_ctx *ctx = NULL;
    gx_status s = gx_open(&config, &ctx);
    if (s != GX_OK)
        return failed("gx_open", s);
    int rc = bench_stream(ctx, false);
    if (rc == EXIT_SUCCESS)
        rc = bench_stream(ctx, true);
    gx_close(&ctx);
    return rc;
}

/* Chunks divide host memory and rings evenly only if they are powers of two. */
static const char *check_chunks(void)
{
    for (size_t i = 0; i < opts.chunks.count; i++)
        if (opts.chunks.values[i] & (opts.chunks.values[i] - 1))
            return "--chunk takes powers of two";
    return NULL;
}

const struct tool tool = {
    .name = "bench-copies",
    .usage = "[--device D] [--bytes B] [--chunk B[,B...]] [--flight K]\n"
             "                    [--only WHAT] [--samples K] [--csv | --json]",
    .options = OPTION_TABLE(options),
    .check = check_chunks,
};

int main(int argc, char **argv)
{
    int rc;
    if (!tool_open(argc, argv, &rc))
        return rc;
    rc = bench_device();
    release_all();
    tool_close();
    if (rc == EXIT_SUCCESS && !opts.only)
        rc = bench_streams();
    if (!output_close(table) && rc == EXIT_SUCCESS)
        rc = EXIT_FAILURE;
    for (size_t i = 0; i < 3; i++)
        data_free(host[i]);
    return tool_end(rc);
}
