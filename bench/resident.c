/* SPDX-License-Identifier: Apache-2.0
 *
 * bench-resident: speed of a device's kernels on data in its memory, relative to the hardware
 * limits, by the device's clock. The limits ("roofs") are measured in the same run: a copy kernel
 * for memory, and a kernel of nothing but 32 x 32 + 64 multiply-adds for arithmetic. Works on the
 * device contract, below exec/, so that only the kernel is measured. Every row is verified before
 * it is timed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "field/sum.h"
#include "kernel/interface.h"
#include "output.h"
#include "stats.h"
#include "tool.h"

#define SAMPLE_NS  4e6  /* dispatches are repeated until a sample is this long */
#define WARM_UP_NS 50e6 /* clocks rise under load */

enum {
    SAMPLES_MAX = 1000,
    CALLS_MAX = 4096,
    PER_LOAD = 64,
    DISTINCT = 65536, /* random elements, repeated to fill the memory */
    PIECE = 64,       /* elements compared at the beginning, in the middle, at the end */
    QUAD = 16         /* bytes of an element of the roofs */
};

static struct {
    uint32_t fields;
    uint64_t n, samples;
    int format;
} opts = {.fields = 1u << GX_BLS12_381_FQ | 1u << GX_BLS12_381_FR, .n = 16u << 20, .samples = 21};

static const option_row options[] = {
    OPTION_FIELDS(&opts.fields, "prime fields of these, or all (the two BLS12-381 fields)"),
    {.letter = 'n',
     .arg = "N",
     .kind = OPT_NUMBER,
     .value = &opts.n,
     .min = 1,
     .max = 64u << 20, /* no binding larger than 4 GiB */
     .help = "elements of a dispatch (16M: no cache holds them)"},
    OPTION_SAMPLES(&opts.samples, SAMPLES_MAX, "samples per row (21)"),
    OPTIONS_FORMATS(&opts.format),
};

static const column columns[] = {
    {.key = "device", .kind = COL_TEXT, .flags = COL_MACHINE_ONLY},
    {.key = "driver", .kind = COL_TEXT, .flags = COL_MACHINE_ONLY},
    COLUMN(TEXT, "field", "field", 12),
    COLUMN(TEXT, "op", "op", 12),
    COLUMN(COUNT, "per_load", "per load", 8),
    COLUMN(COUNT, "n", "n", 9),
    COLUMN(REAL, "median_ns", "median us", 9, .decimals = 1, .scale = 1e-3),
    COLUMN(REAL, "min_ns", "min us", 9, .decimals = 1, .scale = 1e-3),
    COLUMN(REAL, "elements_per_s", "G/s", 8, .decimals = 3, .scale = 1e-9),
    COLUMN(REAL, "gb_per_s", "GB/s", 7, .decimals = 1),
    COLUMN(COUNT, "multiply_adds", "mads", 5),
    COLUMN(REAL, "of_copy", "copy%", 6, .decimals = 1, .scale = 100),
    COLUMN(REAL, "of_roof", "roof%", 6, .decimals = 1, .scale = 100),
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static struct gx_host_table reference;
static struct gx_mem mem_a, mem_b, mem_out, mem_bad, mem_scratch, upload, readback;
static unsigned char *host_a, *host_b; /* the first `distinct` elements of mem_a, mem_b */
static unsigned char *host_terms;      /* their products */
static size_t distinct;
static output *table;
static double copy_roof, arithmetic_roof; /* bytes and multiply-adds a second; 0: unknown */

/* One row: what is dispatched, and what it is compared with. */
struct subject {
    const char *field, *op;
    struct gx_dispatch dispatch;
    unsigned per_load;
    size_t bytes;           /* read and written, per element */
    uint64_t multiply_adds; /* per element and operation; 0: not bound by them */
};

/* ---- commands ---- */

/* Runs the dispatch `calls` times, one after the other, and times it by the device's clock. */
static gx_status time_dispatch(const struct gx_dispatch *d, unsigned calls, double *ns)
{
    struct gx_cmd *cmd;
    uint64_t stamps[2] = {0};
    gx_status s = device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd);
    if (s != GX_OK)
        return s;
    device.ops->stamp(cmd, 0);
    for (unsigned i = 0; i < calls; i++) {
        device.ops->dispatch(cmd, d);
        device.ops->barrier(cmd, GX_BARRIER_KERNEL_TO_KERNEL);
    }
    device.ops->stamp(cmd, 1);
    s = tool_finish(cmd);
    if (s == GX_OK)
        s = device.ops->stamps(cmd, stamps, 2);
    device.ops->recycle(cmd);
    *ns = (double)(stamps[1] - stamps[0]);
    return s;
}

static gx_status measure(const struct gx_dispatch *d, stats *per_dispatch)
{
    double samples[SAMPLES_MAX], ns = 0, spent = 0;
    unsigned calls = 1;
    gx_status s = time_dispatch(d, calls, &ns);
    while (s == GX_OK && ((ns < SAMPLE_NS && calls < CALLS_MAX) || spent < WARM_UP_NS)) {
        calls = ns < SAMPLE_NS && calls < CALLS_MAX ? 2 * calls : calls;
        s = time_dispatch(d, calls, &ns);
        spent += ns;
    }
    for (size_t i = 0; i < opts.samples && s == GX_OK; i++) {
        s = time_dispatch(d, calls, &ns);
        samples[i] = ns / calls;
    }
    if (s == GX_OK)
        *per_dispatch = stats_of(samples, opts.samples);
    return s;
}

/* ---- memory ---- */

static gx_status alloc(enum gx_mem_kind kind, size_t bytes, struct gx_mem *mem)
{
    bool offered = device.facts.mem_kinds & GX_MEM_BIT(kind);
    return device.ops->mem_alloc(&device, offered ? kind : GX_MEM_SHARED, bytes, mem);
}

static gx_status alloc_all(void)
{
    size_t bytes = (size_t)opts.n * ELEMENT_BYTES_MAX;
    distinct = opts.n < DISTINCT ? (size_t)opts.n : DISTINCT;
    host_a = data_alloc(distinct * ELEMENT_BYTES_MAX);
    host_b = data_alloc(distinct * ELEMENT_BYTES_MAX);
    host_terms = data_alloc(distinct * ELEMENT_BYTES_MAX);
    if (!host_a || !host_b || !host_terms)
        return GX_ERR_OUT_OF_MEMORY;
    struct gx_mem *const large[] = {&mem_a, &mem_b, &mem_out};
    gx_status s = alloc(GX_MEM_UPLOAD, distinct * ELEMENT_BYTES_MAX, &upload);
    if (s == GX_OK)
        s = alloc(GX_MEM_READBACK, (size_t)PIECE * ELEMENT_BYTES_MAX, &readback);
    if (s == GX_OK)
        s = alloc(GX_MEM_DEVICE, GX_BIND_ALIGN, &mem_bad);
    for (size_t i = 0; i < 3 && s == GX_OK; i++)
        s = alloc(GX_MEM_DEVICE, bytes, large[i]);
    return s;
}

static void release_all(void)
{
    struct gx_mem *const all[] = {&mem_a,       &mem_b,  &mem_out, &mem_bad,
                                  &mem_scratch, &upload, &readback};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tool_free(all[i]);
    data_free(host_a);
    data_free(host_b);
    data_free(host_terms);
}

/* Fills mem with the distinct elements, repeated. */
static gx_status fill_one(struct gx_mem *mem, const unsigned char *elements, size_t element)
{
    size_t block = distinct * element, total = (size_t)opts.n * element, count = 0;
    struct gx_region *regions = calloc(total / block + 1, sizeof *regions);
    void *host;
    if (!regions)
        return GX_ERR_OUT_OF_MEMORY;
    for (size_t at = 0; at < total; at += block)
        regions[count++] = (struct gx_region){
            .from = {&upload, 0}, .to = {mem, at}, .size = total - at < block ? total - at : block};
    gx_status s = device.ops->map(&device, &upload, &host);
    if (s == GX_OK) {
        memcpy(host, elements, block);
        device.ops->unmap(&device, &upload);
        s = tool_copy(regions, count);
    }
    free(regions);
    return s;
}

static gx_status fill(gx_field field)
{
    size_t element = gx__element_bytes(field);
    data_random(field, host_a, distinct, 1);
    data_random(field, host_b, distinct, 2);
    gx_status s = fill_one(&mem_a, host_a, element);
    return s == GX_OK ? fill_one(&mem_b, host_b, element) : s;
}

/* ---- what the results should be ---- */

static void expect_roof(unsigned char *out, const unsigned char *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t seed[4];
        uint64_t sum[GX_K_ROOF_CHAINS], all = 0;
        memcpy(seed, a + i * QUAD, sizeof seed);
        for (uint32_t k = 0; k < GX_K_ROOF_CHAINS; k++)
            sum[k] = seed[0] + k;
        for (int step = 0; step < GX_K_ROOF_STEPS * GX_K_ROOF_ROUNDS; step++) {
            int64_t factor = (int64_t)(sum[step % GX_K_ROOF_STEPS] & GX_K_ROOF_MASK);
            for (int k = 0; k < GX_K_ROOF_CHAINS; k++)
                sum[k] += (uint64_t)(factor * (int64_t)GX_K_ROOF_FACTOR((uint32_t)k));
        }
        for (int k = 0; k < GX_K_ROOF_CHAINS; k++)
            all ^= sum[k];
        memcpy(out + i * QUAD, &all, sizeof all);
        memcpy(out + i * QUAD + 8, &seed[2], 8);
    }
}

static void expect_field(const struct subject *s, unsigned char *out, const unsigned char *a,
                         const unsigned char *b, size_t n)
{
    static _Alignas(64) unsigned char scratch[PIECE * GX_INV_SCRATCH_PER_ELEMENT];
    gx_op op = s->dispatch.kernel.key.op;
    gx_field field = s->dispatch.kernel.key.field;
    enum gx_host_kernel host = op == GX_ADD   ? GX_HOST_ADD
                               : op == GX_MUL ? GX_HOST_MUL
                               : op == GX_SQR ? GX_HOST_SQR
                                              : GX_HOST_INV;
    struct gx_host_args args = {.out = out, .a = a, .b = b, .n = n, .scratch = scratch};
    for (unsigned i = 0; i < s->per_load; i++, args.a = out)
        reference.fn[field][host](gx__prime(field), &args);
}

/* The memory repeats after `distinct` elements: that many times their sum, plus the sum of the
 * rest. */
static void expect_reduction(const struct subject *s, unsigned char *out)
{
    const struct gx_kernel_key *key = &s->dispatch.kernel.key;
    const struct gx_prime *prime = gx__prime(key->field);
    size_t rest = (size_t)s->dispatch.n % distinct;
    unsigned char sum[ELEMENT_BYTES_MAX];
    const void *terms = host_a;
    struct gx_host_args times = {
        .out = out, .a = sum, .n = (size_t)s->dispatch.n / distinct, .broadcast = GX_BROADCAST_A};
    if (key->op == GX_DOT) {
        reference.fn[key->field][GX_HOST_MUL](
            prime,
            &(struct gx_host_args){.out = host_terms, .a = host_a, .b = host_b, .n = distinct});
        terms = host_terms;
    }
    gx_host_fn add_up = reference.fn[key->field][GX_HOST_SUM];
    add_up(prime, &(struct gx_host_args){.out = sum, .a = terms, .n = distinct});
    add_up(prime, &times);
    add_up(prime, &(struct gx_host_args){.out = sum, .a = terms, .n = rest});
    gx__add_one(prime, out, sum);
}

/* A few elements starting at `first`. */
static gx_status verify_piece(const struct subject *s, size_t element, size_t first, size_t n,
                              bool *differs)
{
    unsigned char got[PIECE * ELEMENT_BYTES_MAX], want[PIECE * ELEMENT_BYTES_MAX];
    gx_op op = s->dispatch.kernel.key.op;
    gx_status status =
        tool_read((struct gx_binding){&mem_out, first * element}, n * element, &readback, got);
    for (size_t i = 0; i < n && status == GX_OK; i++) {
        size_t at = first + i;
        /* the memory repeats after `distinct` elements of the field that filled it */
        size_t period = distinct * (element == QUAD ? ELEMENT_BYTES_MAX : element);
        const unsigned char *a = host_a + at * element % period;
        const unsigned char *b = host_b + at * element % period;
        if (op == GX_OP_COPY)
            memcpy(want + i * element, a, element);
        else if (op == GX_OP_ROOF)
            expect_roof(want + i * element, a, 1);
        else
            expect_field(s, want + i * element, a, b, 1);
    }
    *differs |= status == GX_OK && memcmp(got, want, n * element) != 0;
    return status;
}

static gx_status verify(const struct subject *s, bool *differs)
{
    size_t n = (size_t)s->dispatch.n, piece = n < PIECE ? n : PIECE;
    gx_field field = s->dispatch.kernel.key.field;
    size_t element = field ? gx__element_bytes(field) : QUAD;
    const size_t starts[] = {0, (n - piece) / 2, n - piece};
    double ns;
    gx_status status = time_dispatch(&s->dispatch, 1, &ns);
    if (gx__op_shape(s->dispatch.kernel.key.op) == GX_SHAPE_REDUCTION) {
        unsigned char got[ELEMENT_BYTES_MAX], want[ELEMENT_BYTES_MAX];
        expect_reduction(s, want);
        status = status == GX_OK
                     ? tool_read((struct gx_binding){&mem_out, 0}, element, &readback, got)
                     : status;
        *differs |= status == GX_OK && memcmp(got, want, element) != 0;
        return status;
    }
    for (size_t i = 0; i < 3 && status == GX_OK; i++)
        status = verify_piece(s, element, starts[i], piece, differs);
    return status;
}

/* ---- rows ---- */

/* Operations per second that the lower of the two limits allows; 0: unknown. */
static double lower_roof(const struct subject *s)
{
    double memory = s->bytes ? copy_roof * s->per_load / (double)s->bytes : 0;
    if (!s->multiply_adds)
        return s->dispatch.kernel.key.op == GX_INV ? 0 : memory;
    double arithmetic = arithmetic_roof / (double)s->multiply_adds;
    return memory < arithmetic ? memory : arithmetic;
}

static bool show(const struct subject *s, const stats *ns)
{
    double seconds = ns->median / 1e9, n = (double)s->dispatch.n;
    double rate = n * s->per_load / seconds, bytes = n * (double)s->bytes / seconds;
    double roof = lower_roof(s);
    const cell cells[COLUMNS] = {
        CELL_TEXT(device.info.name),
        CELL_TEXT(device.info.description),
        CELL_TEXT(s->field),
        CELL_TEXT(s->op),
        CELL_COUNT(s->per_load),
        CELL_COUNT(s->dispatch.n),
        CELL_REAL(ns->median),
        CELL_REAL(ns->min),
        CELL_REAL(rate),
        CELL_REAL(bytes / 1e9),
        s->multiply_adds ? CELL_COUNT(s->multiply_adds) : CELL_MISSING,
        CELL_REAL(bytes / copy_roof),
        roof > 0 ? CELL_REAL(rate / roof) : CELL_MISSING,
    };
    return output_row(table, cells);
}

static gx_status get_scratch(struct gx_dispatch *d)
{
    size_t bytes = device.ops->scratch(&device, &d->kernel, d->n);
    if (!bytes)
        return GX_OK;
    tool_free(&mem_scratch);
    d->bind[GX_BIND_SCRATCH].mem = &mem_scratch;
    return alloc(GX_MEM_DEVICE, bytes, &mem_scratch);
}

/* Builds the kernel, verifies it and measures it. */
static int try_subject(struct subject *s, const struct gx_kernel_key *key, stats *ns)
{
    struct gx_dispatch *d = &s->dispatch;
    bool differs = false;
    char name[64];
    snprintf(name, sizeof name, "%s %s, %u per load", s->field, s->op, s->per_load);
    gx_status status = device.ops->kernel(&device, key, &d->kernel);
    if (status == GX_OK && d->n > device.facts.dispatch_elems)
        status = GX_ERR_INVALID;
    if (status != GX_OK)
        return failed(name, status);
    d->bind[GX_BIND_OUT].mem = &mem_out;
    d->bind[GX_BIND_A].mem = &mem_a;
    d->bind[GX_BIND_B].mem = gx__op_operands(key->op) > 1 ? &mem_b : NULL;
    if (key->check) /* no element is bad, so the slot keeps its value */
        d->bind[GX_BIND_BAD].mem = &mem_bad;
    status = get_scratch(d);
    if (status == GX_OK)
        status = verify(s, &differs);
    if (status == GX_OK && !differs)
        status = measure(d, ns);
    if (status != GX_OK)
        return failed(name, status);
    if (!differs)
        return EXIT_SUCCESS;
    fprintf(stderr, "bench-resident: %s: differs from the reference\n", name);
    return EXIT_DIFFERS;
}

static int bench_copy(void)
{
    struct subject s = {.field = "-", .op = "copy", .per_load = 1, .bytes = (size_t)2 * QUAD};
    struct gx_kernel_key key = {.op = GX_OP_COPY};
    stats ns;
    s.dispatch.n = opts.n * ELEMENT_BYTES_MAX / QUAD;
    int rc = try_subject(&s, &key, &ns);
    if (rc != EXIT_SUCCESS)
        return rc;
    copy_roof = (double)s.dispatch.n * (double)s.bytes / ns.median * 1e9;
    return show(&s, &ns) ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* A row in multiply-adds, not in elements; none if the device lacks 64-bit integers. */
static int bench_multiply_add(void)
{
    struct subject s = {.field = "-", .op = "multiply-add", .per_load = 1, .multiply_adds = 1};
    struct gx_kernel_key key = {.op = GX_OP_ROOF};
    struct gx_kernel kernel;
    stats ns;
    s.dispatch.n = opts.n;
    if (device.ops->kernel(&device, &key, &kernel) == GX_ERR_UNSUPPORTED)
        return EXIT_SUCCESS;
    int rc = try_subject(&s, &key, &ns);
    if (rc != EXIT_SUCCESS)
        return rc;
    s.per_load = GX_K_ROOF_EACH;
    s.bytes = (size_t)2 * QUAD;
    arithmetic_roof = (double)opts.n * GX_K_ROOF_EACH / ns.median * 1e9;
    return show(&s, &ns) ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Multiply-adds counted per operation with 32-bit limbs, whatever the kernel does: L^2 for the
 * product (a square: L (L + 1) / 2), L^2 + L for the reduction. 12 limbs: 300 and 234; 8: 136 and
 * 108. */
static uint64_t multiply_adds(gx_field field, gx_op op)
{
    uint64_t limbs = (uint64_t)gx__prime(field)->limbs * 2;
    uint64_t product = op == GX_SQR ? limbs * (limbs + 1) / 2 : limbs * limbs;
    bool multiplies = op == GX_MUL || op == GX_SQR || op == GX_DOT;
    return multiplies ? product + limbs * limbs + limbs : 0;
}

static int bench_op(gx_field field, gx_op op, unsigned per_load)
{
    const gx_op_info *info = gx_op_get_info(op);
    struct subject s = {.field = gx_field_get_info(field)->name,
                        .op = info->name,
                        .per_load = per_load,
                        .bytes = (info->operands + !info->reduces) * gx__element_bytes(field),
                        .multiply_adds = multiply_adds(field, op)};
    struct gx_kernel_key key = {
        .op = op, .field = field, .check = true, .repeat = per_load > 1 ? per_load : 0};
    stats ns;
    s.dispatch.n = opts.n;
    int rc = try_subject(&s, &key, &ns);
    if (rc != EXIT_SUCCESS)
        return rc;
    return show(&s, &ns) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int bench_field(gx_field field)
{
    static const struct {
        gx_op op;
        unsigned per_load;
    } rows[] = {{GX_ADD, 1}, {GX_SUM, 1}, {GX_MUL, 1},        {GX_DOT, 1},
                {GX_SQR, 1}, {GX_INV, 1}, {GX_MUL, PER_LOAD}, {GX_SQR, PER_LOAD}};
    gx_status s = fill(field);
    if (s != GX_OK)
        return failed("filling the memory", s);
    int rc = EXIT_SUCCESS;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && rc == EXIT_SUCCESS; i++)
        rc = bench_op(field, rows[i].op, rows[i].per_load);
    return rc;
}

static void explain(void)
{
    printf("%s: %s\n", device.info.name, device.info.description);
    puts("G/s: operations a second, of the roof multiply-adds. copy%: of the GB/s of the copy\n"
         "kernel. roof%: of the lower of what the copy kernel and the multiply-add kernel allow,\n"
         "with this many multiply-adds (mads) counted per operation, those of 32-bit limbs:\n"
         "mul 300 and sqr 234 with 12 limbs (BLS12-381 Fq), 136 and 108 with 8 (the others).\n");
}

static int bench_all(void)
{
    gx_status s = alloc_all();
    if (s != GX_OK)
        return failed("memory; try a smaller -n", s);
    s = fill(GX_BLS12_381_FQ); /* the widest: all of the memory */
    if (s != GX_OK)
        return failed("filling the memory", s);
    if (opts.format == OUT_TABLE)
        explain();
    table = output_open((output_format)opts.format, "bench-resident", columns, COLUMNS);
    int rc = table ? bench_copy() : failed("output", GX_ERR_OUT_OF_MEMORY);
    if (rc == EXIT_SUCCESS)
        rc = bench_multiply_add();
    for (int f = 1; f < GX_FIELD_END && rc == EXIT_SUCCESS; f++)
        if (opts.fields >> f & 1 && gx__prime((gx_field)f))
            rc = bench_field((gx_field)f);
    return output_close(table) && rc == EXIT_SUCCESS ? EXIT_SUCCESS : rc ? rc : EXIT_FAILURE;
}

static int bench_device(void)
{
    if (!device.facts.timestamps) {
        fprintf(stderr, "bench-resident: %s has no clock of its own\n", device.info.name);
        return EXIT_NO_DEVICE;
    }
    int rc = bench_all();
    release_all();
    return rc;
}

const struct tool tool = {
    .name = "bench-resident",
    .usage = "[--device D] [--field F] [-n N] [--samples K] [--csv | --json]",
    .options = OPTION_TABLE(options),
};

int main(int argc, char **argv)
{
    int rc;
    gx__host_reference(&reference);
    if (!tool_open(argc, argv, &rc))
        return rc;
    rc = bench_device();
    tool_close();
    return tool_end(rc);
}
