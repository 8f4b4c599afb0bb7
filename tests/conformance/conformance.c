/* SPDX-License-Identifier: Apache-2.0
 *
 * One suite for every device and every operation that has a result for each element
 * (reductions.c has the others): each device there is, each tier of the CPU, each path to a
 * GPU's memory, in one dispatch and in many, x field x operation x size x broadcast x in place x
 * alignment x trusted, against GMP. Beyond the results: inputs and the bytes around the output stay
 * as they were. A tile of a prime number of elements is computed once by the oracle and repeated,
 * so that large batches cost little to check.
 *
 * usage: conformance [webgpu]    the WebGPU devices alone, else all others
 */
#include <fenv.h>
#include <pthread.h>
#include <stdio.h>

#include "conformance/targets.h"
#include "support/oracle.h"

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#endif

enum { TILE = 509, MARGIN = 64, OFFSET_MAX = 17, GUARD = 0x5c };

struct shape {
    gx_op op;
    gx_field field;
    size_t n;
    unsigned broadcast; /* ORACLE_* */
    int in_place;       /* the operand that is the output, or -1 */
    size_t offset;      /* bytes off a cache line */
    uint32_t flags;
};

/* Operands and result of one batch, to copy from and compare with. */
struct batch {
    unsigned char *in[3], *want;
};

static size_t largest;
static uint32_t most_threads;  /* that any job reported */
static unsigned char *slab[4]; /* a, b, c, out */
static unsigned char tile[3][TILE * 48], tile_want[TILE * 48];
static struct oracle_rng rng = {20240229};

/* ---- targets ---- */

static int is_reference(const char *device)
{
    return strcmp(device, "ref") == 0;
}

/* Elements of a batch that take reasonable time, this many of them in a dispatch. */
static size_t most_of(uint64_t elems)
{
    return elems == 1 ? 257 : elems ? 8193 : largest;
}

static void add_host(const char *device, const char *mask, uint64_t elems, uint32_t threads)
{
    int slow = is_reference(device);
    size_t most = elems ? 9 : 65;
    struct target *t = add_target(device, mask, NULL, elems, slow ? most : most_of(elems));
    t->expected = GX_PATH_DIRECT;
    t->threads = threads;
    t->slow = slow;
}

/* One dispatch of a software GPU costs as much as thousands on the CPU. */
static void add_path(const char *name, const char *path, gx_path expected, int slow, size_t steps)
{
    static const uint64_t elems[] = {0, 100, 1};
    static const size_t most[] = {20011, 257, 65}; /* the last: more than one submit */
    for (size_t e = 0; e < GXT_COUNT(elems) && e < steps; e++) {
        struct target *t =
            add_target(name, NULL, path, elems[e], slow ? most[e] : most_of(elems[e]));
        t->expected = expected;
        t->slow = slow;
    }
}

static void add_gpu(const char *name, int slow)
{
    add_path(name, "host-visible", GX_PATH_HOST_VISIBLE, slow, 3);
    add_path(name, "device-local", GX_PATH_DEVICE_LOCAL, slow, 3);
}

/* They have no memory shared by kernels and host: one path, whatever is requested. Jobs are split
 * in the same way for both. */
static void add_webgpu(void)
{
    const char *names[GXT_WEBGPU];
    size_t count = gxt_webgpu(names);
    for (size_t i = 0; i < count; i++)
        add_path(names[i], i ? NULL : "host-visible", GX_PATH_DEVICE_LOCAL, 1, i ? 1 : 2);
}

/* Emulated, every element is expensive: both paths, and one of them cut. */
static void add_cuda(void)
{
    if (!gxt_cuda_emulated()) {
        add_gpu(gxt_cuda(), 0);
        return;
    }
    add_path(gxt_cuda(), "device-local", GX_PATH_DEVICE_LOCAL, 1, 1);
    targets[target_count - 1].most = 300;
    add_path(gxt_cuda(), "host-visible", GX_PATH_HOST_VISIBLE, 1, 1);
    targets[target_count - 1].most = 9;
}

static void add_devices(void)
{
    gx_device_info infos[16] = {{.struct_size = sizeof *infos}};
    size_t count = GXT_COUNT(infos);
    gxt_vulkan();
    gx_config config = {0};
    gxt_watch(&config);
    gx_ctx *ctx = gxt_open(&config);
    assert_int_equal(gx_devices(ctx, infos, &count), GX_OK);
    assert_true(count <= GXT_COUNT(infos));
    gx_close(&ctx);
    int cpu = 0, ref = 0;
    for (size_t i = 0; i < count; i++) {
        if (!infos[i].usable || infos[i].kind == GX_DEVICE_WEBGPU)
            continue;
        if (infos[i].kind == GX_DEVICE_VULKAN || infos[i].kind == GX_DEVICE_CUDA) {
            add_gpu(infos[i].name, strstr(infos[i].description, "llvmpipe") != NULL);
            continue;
        }
        add_host(infos[i].name, NULL, 0, infos[i].threads);
        add_host(infos[i].name, NULL, 100, infos[i].threads);
        add_host(infos[i].name, NULL, 1, infos[i].threads);
        cpu |= strcmp(infos[i].name, "cpu") == 0;
        ref |= is_reference(infos[i].name);
    }
    assert_true(cpu && ref);
}

static int open_targets(void **state)
{
    (void)state;
    gxt_clear_environment();
    largest = gxt_small() ? 20011 : 150001;
    gxt_enter_machines();
    if (webgpu_alone) {
        add_webgpu();
    } else if (cuda_alone) {
        assert_non_null(gxt_cuda());
        add_cuda();
    } else {
        add_devices();
        add_gpu("sim:desktop", 1); /* its kernels are those of the CPU: little is enough */
        add_host("cpu", "portable", 0, 1);
        add_host("cpu", "adx", 0, 1);
        add_host("cpu", "avx512", 0, 1);
    }
    for (int s = 0; s < 4; s++)
        slab[s] = gxt_alloc(largest * 48 + 3 * MARGIN);
    return 0;
}

static int close_targets(void **state)
{
    (void)state;
    for (int s = 0; s < 4; s++)
        free(slab[s]);
    return 0;
}

/* ---- one job ---- */

static void tell(const struct target *t, const struct shape *s, const char *what)
{
    tell_target(t, what);
    print_error("%s %s, n %zu, broadcast %u, in place %d, offset %zu, flags %u\n",
                gx_op_get_info(s->op)->name, gx_field_get_info(s->field)->name, s->n, s->broadcast,
                s->in_place, s->offset, s->flags);
}

static unsigned char *elements_of(int which, size_t offset)
{
    uintptr_t at = (uintptr_t)slab[which];
    size_t to_line = (MARGIN - at % MARGIN) % MARGIN;
    /* different operands, different alignments */
    size_t own = offset ? (offset + 8 * (size_t)which) % 32 : 0;
    return slab[which] + to_line + MARGIN + own;
}

static size_t bytes_of(const struct shape *s, int which)
{
    int one = which < 3 && (s->broadcast >> which & 1);
    return (one ? 1 : s->n) * gxt_element(s->field);
}

static void lay(unsigned char *at, const unsigned char *content, size_t bytes)
{
    memset(at - MARGIN, GUARD, MARGIN);
    if (content)
        memcpy(at, content, bytes);
    else
        memset(at, GUARD, bytes);
    memset(at + bytes, GUARD, MARGIN);
}

static int lies_as(const unsigned char *at, const unsigned char *content, size_t bytes)
{
    unsigned char guard[MARGIN];
    memset(guard, GUARD, sizeof guard);
    return !memcmp(at - MARGIN, guard, MARGIN) && !memcmp(at, content, bytes) &&
           !memcmp(at + bytes, guard, MARGIN);
}

static void tell_difference(const struct shape *s, const unsigned char *got,
                            const unsigned char *want)
{
    size_t element = gxt_element(s->field);
    for (size_t i = 0; i < s->n; i++) {
        if (!memcmp(got + i * element, want + i * element, element))
            continue;
        print_error("element %zu (highest byte first)\n", i);
        print_element("got ", got + i * element, element);
        print_element("want", want + i * element, element);
        return;
    }
}

static gx_job lay_job(const struct shape *s, const struct batch *b)
{
    int operands = (int)gx_op_get_info(s->op)->operands;
    for (int w = 0; w < operands; w++)
        lay(elements_of(w, s->offset), b->in[w], bytes_of(s, w));
    int out = s->in_place < 0 ? 3 : s->in_place;
    if (out == 3)
        lay(elements_of(3, s->offset), NULL, bytes_of(s, 3));
    gx_job job =
        gxt_job(s->op, s->field, s->n, elements_of(0, s->offset), elements_of(1, s->offset),
                elements_of(2, s->offset), elements_of(out, s->offset));
    job.a.broadcast = (int)(s->broadcast & 1);
    job.b.broadcast = (int)(s->broadcast >> 1 & 1);
    job.c.broadcast = (int)(s->broadcast >> 2 & 1);
    job.flags = s->flags;
    return job;
}

static void check_batch(const struct target *t, const struct shape *s, const struct batch *b)
{
    int operands = (int)gx_op_get_info(s->op)->operands;
    int out = s->in_place < 0 ? 3 : s->in_place;
    const unsigned char *got = elements_of(out, s->offset);
    if (!lies_as(got, b->want, bytes_of(s, 3))) {
        tell(t, s, "wrong result, or a byte beside it was written");
        tell_difference(s, got, b->want);
        fail();
    }
    for (int w = 0; w < operands; w++) {
        if (w != out && !lies_as(elements_of(w, s->offset), b->in[w], bytes_of(s, w))) {
            tell(t, s, "an input was written");
            fail();
        }
    }
}

static void run_shape(const struct target *t, const struct shape *s, const struct batch *b)
{
    gx_job job = lay_job(s, b);
    gx_report r = {.struct_size = sizeof r};
    gx_status status = gxt_run(t->ctx, &job, t->device, &r);
    if (status != GX_OK) {
        tell(t, s, r.message);
        assert_int_equal(status, GX_OK);
    }
    check_batch(t, s, b);
    if (s->n)
        assert_int_equal(r.path, t->expected);
    if (!is_reference(t->device) && r.threads > most_threads)
        most_threads = r.threads;
}

/* ---- batches ---- */

/* n elements of the tile, starting at `from`; one if broadcast. */
static unsigned char *spread(const unsigned char *of, gx_field field, size_t n, size_t from)
{
    size_t element = gxt_element(field);
    unsigned char *all = gxt_alloc(n * element);
    for (size_t i = 0; i < n; i++)
        memcpy(all + i * element, of + (i + from) % TILE * element, element);
    return all;
}

/* The tile of operand w starts with its broadcast element, so that the oracle's tile
 * and any batch cut from it agree on it. */
static struct batch make_batch(const struct shape *s)
{
    struct batch b;
    for (int w = 0; w < 3; w++)
        b.in[w] = s->broadcast >> w & 1 ? spread(tile[w], s->field, 1, 0)
                                        : spread(tile[w], s->field, s->n, s->n);
    b.want = spread(tile_want, s->field, s->n, s->n);
    return b;
}

static void free_batch(struct batch *b)
{
    for (int w = 0; w < 3; w++)
        free(b->in[w]);
    free(b->want);
}

static void vary_flags_and_offset(const struct target *t, struct shape s, const struct batch *b)
{
    static const size_t offsets[] = {0, 1, 4, 8, OFFSET_MAX};
    size_t step = gxt_small() || t->slow || s.n > 257 ? 4 : 1;
    /* Every second combination of offset x trusted; the others at the next size or place. */
    int halved = (gxt_small() || t->slow) && !webgpu_alone;
    /* The device does not matter for the layout in host memory. */
    for (size_t k = webgpu_alone ? GXT_COUNT(offsets) - 1 : 0; k < GXT_COUNT(offsets); k += step) {
        s.offset = offsets[k];
        for (s.flags = 0; s.flags <= GX_JOB_UNCHECKED; s.flags++)
            if (!halved || (s.n + (size_t)(s.in_place + 1) + (k > 0) + s.flags) % 2)
                run_shape(t, &s, b);
    }
}

static void vary_place(const struct target *t, struct shape s, const struct batch *b)
{
    int operands = (int)gx_op_get_info(s.op)->operands;
    for (s.in_place = -1; s.in_place < operands; s.in_place++) {
        int shared = s.in_place >= 0 && (s.broadcast >> s.in_place & 1);
        if (!shared || s.n == 1)
            vary_flags_and_offset(t, s, b);
    }
}

/* Every element is a dispatch, and dispatches are expensive. */
static int one_by_one(const struct target *t)
{
    return t->slow && t->elems == 1;
}

/* Where jobs are expensive: sizes around a subgroup and around workgroups, and one of many
 * workgroups. Where jobs are cut into dispatches: one dispatch and several. */
static int is_worth(const struct target *t, size_t n)
{
    if (!t->slow || n <= 1 || n == 9 || n == 65 || n == 257)
        return 1;
    return !t->elems && (n == 7 || n == 8 || n == 64 || n == 256 || n == 1000 || n == 8193);
}

static void on_every_target(const struct shape *s)
{
    struct batch b = make_batch(s);
    for (size_t i = 0; i < target_count; i++) {
        const struct target *t = &targets[i];
        int too_long = one_by_one(t) && s->broadcast && s->n > 9;
        if (s->n <= t->most && is_worth(t, s->n) && !too_long)
            vary_place(t, *s, &b);
    }
    free_batch(&b);
}

static void every_size(struct shape s)
{
    const size_t sizes[] = {0,   1,   2,   7,    8,    9,    63,   64,   65,
                            255, 256, 257, 1000, 4096, 4097, 8191, 8192, 8193};
    for (size_t i = 0; i < GXT_COUNT(sizes); i++) {
        s.n = sizes[i];
        int several = s.broadcast & (s.broadcast - 1); /* operands are broadcast */
        if (gxt_small() ? s.n < 10 || s.n == 65 || s.n == 257 : s.n <= 1000 || !several)
            on_every_target(&s);
    }
}

/* One job for several host threads: out of place and trusted, in place and checked. */
static void large_batch(struct shape s)
{
    s.n = largest;
    struct batch b = make_batch(&s);
    for (size_t i = 0; i < target_count; i++) {
        if (s.n > targets[i].most)
            continue;
        s.in_place = -1;
        s.flags = GX_JOB_UNCHECKED;
        run_shape(&targets[i], &s, &b);
        s.in_place = 0;
        s.flags = 0;
        run_shape(&targets[i], &s, &b);
    }
    free_batch(&b);
}

static void check_operation(gx_op op, gx_field field)
{
    unsigned operands = gx_op_get_info(op)->operands;
    for (int w = 0; w < 3; w++)
        oracle_fill(field, &rng, tile[w], TILE);
    for (unsigned broadcast = 0; broadcast < 1u << operands; broadcast++) {
        struct shape s = {.op = op, .field = field, .broadcast = broadcast};
        oracle_run(op, field, TILE, tile_want, tile[0], tile[1], tile[2], broadcast);
        every_size(s);
        if (broadcast == 0 || (broadcast == ORACLE_B && !gxt_small()))
            large_batch(s);
    }
}

static void check_field(gx_field field)
{
    for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++)
        if (gxt_elementwise(gxt_ops[o], field))
            check_operation(gxt_ops[o], field);
}

#define GX_X(symbol, value, name)                                                                  \
    static void all_of_##symbol(void **state)                                                      \
    {                                                                                              \
        (void)state;                                                                               \
        check_field(symbol);                                                                       \
    }
GX__FIELD_LIST(GX_X)
#undef GX_X

/* Otherwise the suite would not have tested what it claims: the reports show it, and some threads
 * of the last large job still exist, asleep. */
static void several_threads_were_used(void **state)
{
    (void)state;
    for (size_t i = 0; i < target_count; i++) {
        if (strcmp(targets[i].device, "cpu") != 0 || targets[i].threads < 2)
            continue;
        assert_true(most_threads > 1);
        assert_true(gxt_threads() > 1);
    }
}

/* ---- edges ---- */

/* Every edge against every edge; the third operand runs through them too. */
static void edges_of(gx_op op, gx_field field, unsigned broadcast)
{
    size_t edges = oracle_edges(field), n = edges * edges, element = gxt_element(field);
    struct batch b;
    for (int w = 0; w < 3; w++)
        b.in[w] = gxt_alloc(n * element);
    b.want = gxt_alloc(n * element);
    for (size_t i = 0; i < n; i++) {
        oracle_edge(field, i % edges, b.in[0] + i * element);
        oracle_edge(field, i / edges, b.in[1] + i * element);
        oracle_edge(field, i % edges * 5 + i / edges * 3, b.in[2] + i * element);
    }
    oracle_run(op, field, n, b.want, b.in[0], b.in[1], b.in[2], broadcast);
    struct shape s = {.op = op, .field = field, .n = n, .broadcast = broadcast, .in_place = -1};
    for (size_t i = 0; i < target_count; i++)
        if (targets[i].elems != 1 && !(gxt_small() && is_reference(targets[i].device)))
            run_shape(&targets[i], &s, &b);
    free_batch(&b);
}

static void every_pair_of_edges(void **state)
{
    (void)state;
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++)
        for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++)
            if (gxt_elementwise(gxt_ops[o], gxt_fields[f]))
                edges_of(gxt_ops[o], gxt_fields[f], 0);
}

/* One edge for all, on either side. */
static void broadcast_edge(gx_op op, gx_field field, unsigned side, const void *edge)
{
    enum { SOME = 33 };
    struct batch b;
    for (int w = 0; w < 3; w++) {
        b.in[w] = gxt_alloc(SOME * gxt_element(field));
        oracle_fill(field, &rng, b.in[w], SOME);
        if (side >> w & 1)
            memcpy(b.in[w], edge, gxt_element(field));
    }
    b.want = gxt_alloc(SOME * gxt_element(field));
    oracle_run(op, field, SOME, b.want, b.in[0], b.in[1], b.in[2], side);
    struct shape s = {.op = op, .field = field, .n = SOME, .broadcast = side, .in_place = -1};
    for (size_t i = 0; i < target_count; i++)
        if (targets[i].elems == 0 && !(gxt_small() && is_reference(targets[i].device)))
            run_shape(&targets[i], &s, &b);
    free_batch(&b);
}

static void every_broadcast_edge(void **state)
{
    (void)state;
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        for (size_t e = 0; e < oracle_edges(gxt_fields[f]); e++) {
            unsigned char edge[48];
            oracle_edge(gxt_fields[f], e, edge);
            for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++)
                if (gxt_elementwise(gxt_ops[o], gxt_fields[f]))
                    for (unsigned w = 0; w < gx_op_get_info(gxt_ops[o])->operands; w++)
                        broadcast_edge(gxt_ops[o], gxt_fields[f], 1u << w, edge);
        }
    }
}

/* Only zeros to invert, one zero among others, one other among zeros. */
static void inversion_with_zeros(void **state)
{
    (void)state;
    enum { SOME = 130 };
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        size_t element = gxt_element(gxt_fields[f]);
        if (!gx_op_exists(GX_INV, gxt_fields[f]))
            continue;
        for (size_t at = 0; at <= 64; at += gxt_small() ? 13 : 1) {
            for (int kind = 0; kind < 2; kind++) {
                unsigned char in[SOME * 48] = {0}, want[SOME * 48];
                oracle_fill_random(gxt_fields[f], &rng, in, kind ? SOME : 1);
                memmove(in + at * element, in, kind ? 0 : element);
                memset(in, 0, kind || !at ? 0 : element);
                memset(in + at * element, 0, kind ? element : 0);
                oracle_run(GX_INV, gxt_fields[f], SOME, want, in, NULL, NULL, 0);
                struct batch b = {{in, in, in}, want};
                struct shape s = {.op = GX_INV, .field = gxt_fields[f], .n = SOME, .in_place = -1};
                for (size_t i = 0; i < target_count; i++)
                    if (!is_reference(targets[i].device) && !one_by_one(&targets[i]))
                        run_shape(&targets[i], &s, &b);
            }
        }
    }
}

/* ---- f32: the exact bits, whatever the caller's thread has set ---- */

struct float_case {
    gx_op op;
    uint32_t a, b, want;
};

static const struct float_case float_cases[] = {
    /* NaN is one value, whatever made it */
    {GX_ADD, 0x7f800000, 0xff800000, 0x7fc00000},
    {GX_SUB, 0x7f800000, 0x7f800000, 0x7fc00000},
    {GX_MUL, 0x7f800000, 0x00000000, 0x7fc00000},
    {GX_MUL, 0x80000000, 0xff800000, 0x7fc00000},
    {GX_ADD, 0x7fc00001, 0x3f800000, 0x7fc00000},
    {GX_ADD, 0x3f800000, 0xffc12345, 0x7fc00000},
    {GX_SUB, 0xffffffff, 0x7fc00000, 0x7fc00000},
    {GX_MUL, 0x7f800001, 0x3f800000, 0x7fc00000},
    {GX_MUL, 0xff800001, 0xffbfffff, 0x7fc00000},
    /* denormals in, out, and in between */
    {GX_ADD, 0x00000001, 0x00000001, 0x00000002},
    {GX_ADD, 0x00000001, 0x80000000, 0x00000001},
    {GX_SUB, 0x00800000, 0x00000001, 0x007fffff},
    {GX_SUB, 0x00000001, 0x00800000, 0x807fffff},
    {GX_MUL, 0x00800000, 0x3f000000, 0x00400000},
    {GX_MUL, 0x00000001, 0x3f800000, 0x00000001},
    {GX_MUL, 0x00400000, 0x40000000, 0x00800000},
    {GX_MUL, 0x00000001, 0x3f000000, 0x00000000},
    {GX_MUL, 0x00000003, 0x3f000000, 0x00000002},
    {GX_MUL, 0x80000001, 0x3f000000, 0x80000000},
    /* infinities and the way there, to nearest */
    {GX_ADD, 0x7f7fffff, 0x7f7fffff, 0x7f800000},
    {GX_MUL, 0x7f7fffff, 0xc0000000, 0xff800000},
    {GX_ADD, 0x7f7fffff, 0x72ffffff, 0x7f7fffff},
    {GX_ADD, 0x7f800000, 0x3f800000, 0x7f800000},
    {GX_MUL, 0xff800000, 0xbf800000, 0x7f800000},
    /* signed zeros */
    {GX_ADD, 0x80000000, 0x80000000, 0x80000000},
    {GX_ADD, 0x00000000, 0x80000000, 0x00000000},
    {GX_ADD, 0x3f800000, 0xbf800000, 0x00000000},
    {GX_SUB, 0x80000000, 0x00000000, 0x80000000},
    {GX_SUB, 0x00000000, 0x00000000, 0x00000000},
    {GX_MUL, 0x80000000, 0x3f800000, 0x80000000},
    {GX_MUL, 0x80000000, 0x80000000, 0x00000000},
    /* ties to even, both ways */
    {GX_ADD, 0x3f800000, 0x33800000, 0x3f800000},
    {GX_ADD, 0x3f800001, 0x33800000, 0x3f800002},
    {GX_ADD, 0xbf800000, 0xb3800001, 0xbf800001},
    {GX_SUB, 0x3f800000, 0x33000000, 0x3f800000},
    {GX_MUL, 0x3f800001, 0x3f800001, 0x3f800002},
    {GX_MUL, 0x3f7fffff, 0x3f7fffff, 0x3f7ffffe},
};

static void check_floats(const struct target *t, const struct float_case *c, size_t n)
{
    uint32_t *a = gxt_alloc(3 * n * sizeof *a), *b = a + n, *out = b + n;
    for (size_t i = 0; i < n; i++) {
        a[i] = c->a;
        b[i] = c->b;
        out[i] = 0x12345678;
    }
    gx_job job = gxt_job(c->op, GX_F32, n, a, b, NULL, out);
    assert_int_equal(gxt_run(t->ctx, &job, t->device, NULL), GX_OK);
    for (size_t i = 0; i < n; i++) {
        if (out[i] == c->want)
            continue;
        print_error("device %s, tiers %s: %s of %08x and %08x is %08x, want %08x (%zu of %zu)\n",
                    t->device, t->mask ? t->mask : "all", gx_op_get_info(c->op)->name, c->a, c->b,
                    out[i], c->want, i, n);
        fail();
    }
    free(a);
}

static void float_cases_on(const struct target *t)
{
    for (size_t i = 0; i < GXT_COUNT(float_cases); i++) {
        check_floats(t, &float_cases[i], 1);
        check_floats(t, &float_cases[i], 37);
    }
}

static void f32_exact_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < target_count; i++)
        float_cases_on(&targets[i]);
}

/* The control word that decides about rounding, denormals and traps, with the sticky
 * flags where they share it. */
#if defined(__x86_64__) || defined(__i386__)
static const uint64_t fp_modes[] = {
    0x1f80,          /* the default */
    0x1f80 | 0x8000, /* flush to zero */
    0x1f80 | 0x0040, /* denormals are zero */
    0x1f80 | 0x8040, 0x1f80 | 0x2000, 0x1f80 | 0x4000,
    0x1f80 | 0x6000, 0x1f80 | 0xe040, 0x0000, /* every exception traps */
    0x1fbf,                                   /* every flag is up */
};

static uint64_t fp_get(void)
{
    return _mm_getcsr();
}

static void fp_set(uint64_t mode)
{
    _mm_setcsr((unsigned)mode);
}
#elif defined(__aarch64__)
static const uint64_t fp_modes[] = {
    0, 1u << 24, 1u << 25, 1u << 22, 2u << 22, 3u << 22, (3u << 22) | (3u << 24)};

static uint64_t fp_get(void)
{
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}

static void fp_set(uint64_t mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}
#else
static const uint64_t fp_modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

static uint64_t fp_get(void)
{
    return (uint64_t)fegetround();
}

static void fp_set(uint64_t mode)
{
    fesetround((int)mode);
}
#endif

static void floats_in_mode(const struct target *t, const struct float_case *c, uint64_t mode,
                           size_t n)
{
    uint32_t *a = gxt_alloc(3 * n * sizeof *a), *b = a + n, *out = b + n;
    for (size_t i = 0; i < n; i++) {
        a[i] = c->a;
        b[i] = c->b;
    }
    gx_job job = gxt_job(c->op, GX_F32, n, a, b, NULL, out);
    gx_run_params opts = {.device = t->device};
    uint64_t before = fp_get();
    fp_set(mode);
    gx_status status = gx_run(t->ctx, &job, 1, &opts, NULL);
    uint64_t after = fp_get();
    fp_set(before);
    assert_int_equal(status, GX_OK);
    assert_int_equal(after, mode);
    for (size_t i = 0; i < n; i++) {
        if (out[i] == c->want)
            continue;
        print_error("mode %llx, device %s: %s of %08x and %08x is %08x, want %08x (%zu of %zu)\n",
                    (unsigned long long)mode, t->device, gx_op_get_info(c->op)->name, c->a, c->b,
                    out[i], c->want, i, n);
        fail();
    }
    free(a);
}

static void f32_in_any_floating_point_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < target_count; i++)
        for (size_t m = 0; m < GXT_COUNT(fp_modes); m++)
            for (size_t c = 0; c < GXT_COUNT(float_cases); c++)
                floats_in_mode(&targets[i], &float_cases[c], fp_modes[m], 9);
}

/* Helper threads have their own modes, inherited from their creator: a new thread has new ones.
 * cmocka's asserts do not work there. */
struct mode_run {
    const struct float_case *c;
    uint64_t mode, after;
    size_t n, wrong;
    gx_ctx *ctx;
    uint32_t *a, *b, *out;
    gx_status status;
};

static void *run_in_mode(void *argument)
{
    struct mode_run *run = argument;
    gx_job job = {.op = run->c->op, .field = GX_F32, .n = run->n};
    job.a = gx_host(run->a);
    job.b = gx_host(run->b);
    job.out = gx_host(run->out);
    uint64_t before = fp_get();
    fp_set(run->mode);
    run->status = gx_run(run->ctx, &job, 1, NULL, NULL);
    run->after = fp_get();
    fp_set(before);
    for (size_t i = 0; i < run->n; i++)
        run->wrong += run->out[i] != run->c->want;
    return NULL;
}

static void fresh_thread_in_mode(gx_ctx *ctx, const struct float_case *c, uint64_t mode, size_t n)
{
    struct mode_run run = {.c = c, .mode = mode, .n = n, .ctx = ctx};
    pthread_t thread;
    run.a = gxt_alloc(3 * n * sizeof *run.a);
    run.b = run.a + n;
    run.out = run.b + n;
    for (size_t i = 0; i < n; i++) {
        run.a[i] = c->a;
        run.b[i] = c->b;
    }
    assert_int_equal(pthread_create(&thread, NULL, run_in_mode, &run), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    free(run.a);
    assert_int_equal(run.status, GX_OK);
    assert_int_equal(run.after, mode);
    assert_int_equal(run.wrong, 0);
}

static void f32_in_any_mode_on_several_threads(void **state)
{
    (void)state;
    static const size_t picked[] = {9, 13, 32}; /* denormals in and out, a tie */
    size_t n = gxt_small() ? 100000 : 1000000;
    gx_ctx *ctx = gxt_open(NULL);
    for (size_t m = 0; m < GXT_COUNT(fp_modes); m++)
        for (size_t c = 0; c < GXT_COUNT(picked); c++)
            fresh_thread_in_mode(ctx, &float_cases[picked[c]], fp_modes[m], n);
    gx_close(&ctx);
}

/* The other fields do not change it either. */
static void no_job_changes_the_callers_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < target_count; i++) {
        for (size_t m = 0; m < GXT_COUNT(fp_modes); m++) {
            unsigned char x[9 * 48] = {0}, out[9 * 48];
            gx_job job = gxt_job(GX_INV, GX_BLS12_381_FQ, 9, x, NULL, NULL, out);
            gx_run_params opts = {.device = targets[i].device};
            uint64_t before = fp_get();
            fp_set(fp_modes[m]);
            gx_status status = gx_run(targets[i].ctx, &job, 1, &opts, NULL);
            uint64_t after = fp_get();
            fp_set(before);
            assert_int_equal(status, GX_OK);
            assert_int_equal(after, fp_modes[m]);
        }
    }
}

int main(int argc, char **argv)
{
    choose_targets(argc, argv);
    const struct CMUnitTest tests[] = {
#define GX_X(symbol, value, name) cmocka_unit_test(all_of_##symbol),
        GX__FIELD_LIST(GX_X)
#undef GX_X
            cmocka_unit_test(several_threads_were_used),
        cmocka_unit_test(every_pair_of_edges),
        cmocka_unit_test(every_broadcast_edge),
        cmocka_unit_test(inversion_with_zeros),
        cmocka_unit_test(f32_exact_bits),
        cmocka_unit_test(f32_in_any_floating_point_mode),
        cmocka_unit_test(f32_in_any_mode_on_several_threads),
        cmocka_unit_test(no_job_changes_the_callers_mode),
        cmocka_unit_test(no_driver_complained),
    };
    return cmocka_run_group_tests_name("conformance", tests, open_targets, close_targets);
}
