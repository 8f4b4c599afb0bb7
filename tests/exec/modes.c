/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine as a whole: whatever the mode, the path and the device, a batch leaves the
 * bits that its jobs leave one by one on the reference device. Batches are random: sizes
 * from 0 up, operations, operands in host memory (registered or not) and in buffers, in
 * place, and overlapping the operands of other jobs in every way; some have elements that
 * are not below the modulus. Then budgets, faults at every call, cancelling, and threads.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "compose/compose.h"
#include "api/counters.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/task.h"

enum { FIELDS = 2, JOBS_MAX = 12, SHIFT_MAX = 16, LARGE = 30000 };

static const char *devices[2] = {"cpu"};
static size_t device_count = 1;
static gx_ctx *reference; /* for "ref" */

/* ---- worlds: memory that the jobs of a batch work on ---- */

/* For each of two fields: host memory, of which a part may be registered, and a buffer.
 * In the reference both are host memory. */
struct place {
    gx_field field;
    size_t elements, element; /* of each; bytes of one */
    size_t shift;             /* of the host memory from good alignment */
    unsigned char *host, *shadow;
    gx_buf *buf;
};

struct world {
    struct place place[FIELDS];
};

static size_t bytes_of(const struct place *p)
{
    return p->elements * p->element;
}

static unsigned char *host_start(const struct place *p)
{
    return p->host + p->shift;
}

static void make_place(struct place *p, gx_field field, size_t elements, size_t shift)
{
    *p = (struct place){.field = field, .elements = elements, .element = gxt_element(field)};
    p->shift = shift;
    p->host = gxt_alloc(bytes_of(p) + SHIFT_MAX);
    p->shadow = gxt_alloc(bytes_of(p));
}

static void free_world(struct world *w)
{
    for (int f = 0; f < FIELDS; f++) {
        free(w->place[f].host);
        free(w->place[f].shadow);
    }
}

static void copy_world(struct world *to, const struct world *from)
{
    for (int f = 0; f < FIELDS; f++) {
        memcpy(host_start(&to->place[f]), host_start(&from->place[f]), bytes_of(&to->place[f]));
        memcpy(to->place[f].shadow, from->place[f].shadow, bytes_of(&to->place[f]));
    }
}

/* ---- batches ---- */

/* An operand: elements from `first` on, of host memory or of the buffer. */
struct spot {
    bool used, in_buffer, broadcast;
    size_t first;
};

struct task {
    int place;
    gx_op op;
    size_t n;
    uint32_t flags;
    struct spot at[4]; /* a, b, c, out */
};

struct batch {
    size_t count;
    struct task tasks[JOBS_MAX];
};

static gx_operand operand(const struct place *p, const struct spot *s, bool in_reference)
{
    size_t at = s->first * p->element;
    gx_operand o = gx_host(host_start(p) + at);
    if (s->in_buffer)
        o = in_reference ? gx_host(p->shadow + at) : gx_dev(p->buf, at);
    o.broadcast = s->broadcast;
    return s->used ? o : (gx_operand){0};
}

static gx_job job_of(const struct world *w, const struct task *t, bool in_reference)
{
    const struct place *p = &w->place[t->place];
    gx_job job = {.op = t->op, .field = p->field, .n = t->n, .flags = t->flags};
    job.a = operand(p, &t->at[0], in_reference);
    job.b = operand(p, &t->at[1], in_reference);
    job.c = operand(p, &t->at[2], in_reference);
    job.out = operand(p, &t->at[3], in_reference);
    return job;
}

static size_t below(uint64_t *seed, size_t n)
{
    return n ? (size_t)(gxt_next(seed) % n) : 0;
}

static size_t random_size(uint64_t *seed, size_t most)
{
    switch (below(seed, 6)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return 1 + below(seed, most);
    default:
        return 1 + below(seed, most < 60 ? most : 60);
    }
}

static bool meets(const struct spot *x, size_t nx, const struct spot *y, size_t ny)
{
    return x->in_buffer == y->in_buffer && x->first < y->first + ny && y->first < x->first + nx;
}

/* Where the result goes: on an operand, or apart from all of them, as a sum must. */
static void place_result(uint64_t *seed, struct task *t, size_t elements, unsigned operands)
{
    struct spot *out = &t->at[3];
    const bool reduces = gx_op_get_info(t->op)->reduces;
    for (;;) {
        unsigned on = (unsigned)below(seed, operands);
        bool fits = true;
        *out = (struct spot){true, below(seed, 2), false, below(seed, elements - t->n)};
        if (below(seed, 3) == 0 && !t->at[on].broadcast && !reduces)
            *out = t->at[on];
        for (unsigned k = 0; k < operands; k++) {
            const struct spot *in = &t->at[k];
            bool same = !reduces && !in->broadcast && in->in_buffer == out->in_buffer &&
                        in->first == out->first;
            fits &= same || !meets(in, in->broadcast ? 1 : t->n, out, gxt_results(t->op, t->n));
        }
        if (fits)
            return;
    }
}

static void random_task(uint64_t *seed, const struct world *w, struct task *t, size_t most,
                        bool trusted)
{
    static const gx_op ops[] = {GX_ADD, GX_MUL, GX_INV, GX_MUL_ADD, GX_SUB, GX_SUM, GX_DOT};
    *t = (struct task){.place = (int)below(seed, FIELDS)};
    const struct place *p = &w->place[t->place];
    do
        t->op = ops[below(seed, GXT_COUNT(ops))];
    while (!gx_op_exists(t->op, p->field));
    t->n = random_size(seed, most);
    t->flags = trusted && below(seed, 3) == 0 ? GX_JOB_UNCHECKED : 0;
    unsigned operands = gx_op_get_info(t->op)->operands;
    for (unsigned k = 0; k < operands; k++)
        t->at[k] = (struct spot){true, below(seed, 2), k && below(seed, 5) == 0,
                                 below(seed, p->elements - t->n)};
    place_result(seed, t, p->elements, operands);
}

static void random_batch(uint64_t *seed, const struct world *w, struct batch *b, size_t most,
                         bool trusted)
{
    b->count = 1 + below(seed, JOBS_MAX);
    for (size_t i = 0; i < b->count; i++)
        random_task(seed, w, &b->tasks[i], most, trusted);
}

static void fill_world(uint64_t *seed, struct world *w, size_t bad)
{
    for (int f = 0; f < FIELDS; f++) {
        struct place *p = &w->place[f];
        gxt_fill(seed, p->field, host_start(p), p->elements);
        gxt_fill(seed, p->field, p->shadow, p->elements);
    }
    for (size_t i = 0; i < bad; i++) {
        struct place *p = &w->place[0];
        unsigned char *memory = below(seed, 2) ? host_start(p) : p->shadow;
        gxt_put_modulus(p->field, memory + below(seed, p->elements) * p->element);
    }
}

/* ---- what is right ---- */

/* Job by job on the reference device, up to the first that fails: returns which, or count. */
static size_t run_reference(struct world *w, const struct batch *b, gx_report *failure)
{
    for (size_t i = 0; i < b->count; i++) {
        gx_job job = job_of(w, &b->tasks[i], true);
        gx_status s = gxt_run(reference, &job, "ref", failure);
        if (s == GX_ERR_NOT_CANONICAL)
            return i;
        assert_int_equal(s, GX_OK);
    }
    return b->count;
}

struct rig {
    gx_ctx *ctx;
    const char *device;
    bool registered; /* the host memory is */
    struct world world;
};

/* What a failed batch may have written: the result of the job that failed unless it was
 * refused in place, and in registered memory and buffers those of the jobs after it. */
static void mask(const struct rig *rig, struct world *want, const struct batch *b, size_t failed,
                 gx_status status)
{
    for (size_t i = failed; i < b->count; i++) {
        const struct task *t = &b->tasks[i];
        const struct spot *out = &t->at[3];
        struct place *to = &want->place[t->place];
        const struct place *got = &rig->world.place[t->place];
        bool in_place = false;
        for (int k = 0; k < 3; k++)
            in_place |= t->at[k].used && t->at[k].in_buffer == out->in_buffer &&
                        t->at[k].first == out->first && !t->at[k].broadcast;
        if (i == failed && in_place && status == GX_ERR_NOT_CANONICAL && !out->in_buffer)
            continue;
        if (i > failed && !out->in_buffer && (!rig->registered || in_place))
            continue;
        size_t at = out->first * to->element, bytes = gxt_results(t->op, t->n) * to->element;
        if (out->in_buffer)
            memcpy(to->shadow + at, got->shadow + at, bytes);
        else
            memcpy(host_start(to) + at, host_start(got) + at, bytes);
    }
}

static void put_buffers(struct rig *rig)
{
    for (int f = 0; f < FIELDS; f++) {
        struct place *p = &rig->world.place[f];
        assert_int_equal(gx_buf_write(p->buf, 0, p->shadow, bytes_of(p)), GX_OK);
    }
}

static void get_buffers(struct rig *rig)
{
    for (int f = 0; f < FIELDS; f++) {
        struct place *p = &rig->world.place[f];
        assert_int_equal(gx_buf_read(p->buf, 0, p->shadow, bytes_of(p)), GX_OK);
    }
}

static void expect_world(const struct rig *rig, const struct world *want, const char *what)
{
    for (int f = 0; f < FIELDS; f++) {
        const struct place *got = &rig->world.place[f], *right = &want->place[f];
        for (size_t i = 0; i < got->elements; i++) {
            size_t at = i * got->element;
            if (memcmp(host_start(got) + at, host_start(right) + at, got->element))
                fail_msg("%s: host element %zu of field %d", what, i, f);
            if (memcmp(got->shadow + at, right->shadow + at, got->element))
                fail_msg("%s: buffer element %zu of field %d", what, i, f);
        }
    }
}

static void expect_reports(const struct rig *rig, const struct batch *b, const gx_report *r,
                           size_t failed, const gx_report *failure, gx_mode mode, gx_path path)
{
    for (size_t i = 0; i < b->count; i++) {
        assert_int_equal(r[i].status, i < failed    ? GX_OK
                                      : i == failed ? failure->status
                                                    : GX_ERR_NOT_RUN);
        if (i > failed)
            continue;
        assert_string_equal(r[i].device, rig->device);
        if (i < failed && b->tasks[i].n && strcmp(rig->device, "cpu") != 0) {
            assert_true(!mode || r[i].mode == mode);
            gx_path expected = gxt_shares_memory(rig->device) ? path : GX_PATH_DEVICE_LOCAL;
            assert_true(!path || r[i].path == GX_PATH_DIRECT || r[i].path == expected);
            assert_true(r[i].groups >= 1 && r[i].dispatches >= 1);
        }
    }
    if (failed < b->count && failure->status == GX_ERR_NOT_CANONICAL) {
        assert_int_equal(r[failed].bad_index, failure->bad_index);
        assert_true(!r[failed].bad_operand || r[failed].bad_operand == failure->bad_operand);
    }
}

static size_t jobs_of(const struct rig *rig, const struct batch *b, gx_job *jobs)
{
    for (size_t i = 0; i < b->count; i++)
        jobs[i] = job_of(&rig->world, &b->tasks[i], false);
    return b->count;
}

/* The batch in one mode, from the state `before`, which must become `after`. */
static void run_mode(struct rig *rig, const struct batch *b, const struct world *before,
                     const struct world *after, size_t failed, const gx_report *failure,
                     gx_mode mode, gx_path path, struct world *scratch)
{
    gx_job jobs[JOBS_MAX];
    gx_report r[JOBS_MAX] = {{.struct_size = sizeof *r}};
    char what[100];
    snprintf(what, sizeof what, "%s, mode %d, path %d, registered %d", rig->device, (int)mode,
             (int)path, (int)rig->registered);
    copy_world(&rig->world, before);
    put_buffers(rig);
    gx_run_params opts = {.device = rig->device, .mode = mode, .path = path};
    gx_status s = gx_run(rig->ctx, jobs, jobs_of(rig, b, jobs), &opts, r);
    if (s != (failed < b->count ? failure->status : GX_OK))
        fail_msg("%s: %s", what, gx_status_name(s));
    expect_reports(rig, b, r, failed, failure, mode, path);
    get_buffers(rig);
    copy_world(scratch, after);
    if (failed < b->count)
        mask(rig, scratch, b, failed, s);
    expect_world(rig, scratch, what);
}

static void make_world(struct world *w, const gx_field *fields, size_t elements, size_t shift)
{
    for (int f = 0; f < FIELDS; f++)
        make_place(&w->place[f], fields[f], elements, shift);
}

static void open_rig(struct rig *rig, gx_ctx *ctx, const char *device, const gx_field *fields,
                     size_t elements, size_t shift, bool registered)
{
    *rig = (struct rig){.ctx = ctx, .device = device, .registered = registered};
    make_world(&rig->world, fields, elements, shift);
    for (int f = 0; f < FIELDS; f++) {
        struct place *p = &rig->world.place[f];
        assert_int_equal(gx_buf_create(ctx, device, bytes_of(p), 0, &p->buf), GX_OK);
        if (registered)
            assert_int_equal(gx_host_register(ctx, host_start(p), bytes_of(p)), GX_OK);
    }
}

static void close_rig(struct rig *rig)
{
    for (int f = 0; f < FIELDS; f++) {
        gx_buf_destroy(&rig->world.place[f].buf);
        if (rig->registered)
            assert_int_equal(gx_host_unregister(rig->ctx, host_start(&rig->world.place[f])), GX_OK);
    }
    free_world(&rig->world);
}

/* A host device has one way to run anything. */
static int most_mode(const char *device)
{
    return strcmp(device, "cpu") != 0 ? GX_MODE_PIPELINED : GX_MODE_AUTO;
}

struct shape {
    gx_field fields[FIELDS];
    size_t elements, most;
    uint64_t dispatch_elems, chunk;
    int batches;
};

static void modes_agree_on(const struct shape *k, const char *device, bool registered,
                           uint64_t seed)
{
    struct gxt_heap heap;
    gxt_heap_start(&heap);
    gx_config config = {.dispatch_elems = k->dispatch_elems,
                        .stream_chunk_elems = k->chunk,
                        .threads = 3,
                        .allocator = gxt_heap_allocator(&heap)};
    gxt_watch(&config);
    gx_ctx *ctx = gxt_open(&config);
    struct rig rig;
    struct world before, after, scratch;
    size_t shift = registered ? 4 : 0;
    open_rig(&rig, ctx, device, k->fields, k->elements, shift, registered);
    make_world(&before, k->fields, k->elements, shift);
    make_world(&after, k->fields, k->elements, shift);
    make_world(&scratch, k->fields, k->elements, shift);
    int batches = gxt_small() ? 1 + k->batches / 8 : k->batches, refused = 0;
    for (int i = 0; i < batches; i++) {
        struct batch b;
        gx_report failure = {.struct_size = sizeof failure};
        size_t bad = below(&seed, 3) ? 0 : 1 + below(&seed, 4);
        fill_world(&seed, &before, bad);
        random_batch(&seed, &before, &b, k->most, !bad);
        copy_world(&after, &before);
        size_t failed = run_reference(&after, &b, &failure);
        refused += failed < b.count;
        for (int mode = GX_MODE_AUTO; mode <= most_mode(device); mode++)
            for (int path = GX_PATH_AUTO; path <= (mode ? GX_PATH_DEVICE_LOCAL : 0); path++)
                run_mode(&rig, &b, &before, &after, failed, &failure, (gx_mode)mode, (gx_path)path,
                         &scratch);
    }
    assert_true(refused > 0 || batches < 20); /* some are */
    free_world(&before);
    free_world(&after);
    free_world(&scratch);
    close_rig(&rig);
    gx_close(&ctx);
    gxt_heap_end(&heap);
    assert_int_equal(gxt_complaints(), 0);
}

static void all_modes_give_the_same_bits(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {{GX_BN254_FR, GX_U32}, 400, 300, 0, 0, 60},
        {{GX_BLS12_381_FQ, GX_BN254_FR}, 300, 200, 16, 37, 40},
        {{GX_BN254_FR, GX_U32}, 100, 60, 3, 11, 30},
        {{GX_BN254_FR, GX_U32}, LARGE + 5000, LARGE, 0, 9000, 6}, /* copies by threads */
    };
    for (size_t i = 0; i < GXT_COUNT(shapes); i++)
        for (size_t d = 0; d < device_count; d++)
            for (int registered = 0; registered < 2; registered++)
                modes_agree_on(&shapes[i], devices[d], registered, 77 + 1000 * i);
}

/* ---- budgets ---- */

static void budgets_are_kept(void **state)
{
    (void)state;
    enum { N = 200000, BUDGET = 4 << 20 };
    if (device_count < 2)
        skip();
    gx_config config = {.device = devices[1], .device_memory = BUDGET};
    gxt_watch(&config);
    gx_ctx *ctx = gxt_open(&config);
    size_t bytes = (size_t)N * 4;
    uint32_t *x = gxt_alloc(bytes), *y = gxt_alloc(bytes), *z = gxt_alloc(4 * bytes);
    for (uint32_t i = 0; i < N; i++) {
        x[i] = i * 7919;
        y[i] = i ^ 12345;
    }
    gx_buf *buf = NULL, *none = NULL;
    assert_int_equal(gx_buf_create(ctx, NULL, BUDGET / 4, 0, &buf), GX_OK);
    assert_int_equal(gx_buf_create(ctx, NULL, BUDGET, 0, &none), GX_ERR_OUT_OF_DEVICE_MEMORY);
    for (int mode = GX_MODE_AUTO; mode <= GX_MODE_PIPELINED; mode++) {
        for (int path = GX_PATH_HOST_VISIBLE; path <= GX_PATH_DEVICE_LOCAL; path++) {
            gx_job jobs[4];
            for (int j = 0; j < 4; j++)
                jobs[j] = gxt_job(GX_MUL, GX_U32, N, x, y, NULL, z + (size_t)j * N);
            memset(z, 0, 4 * bytes);
            gx_run_params opts = {.mode = (gx_mode)mode, .path = (gx_path)path};
            assert_int_equal(gx_run(ctx, jobs, 4, &opts, NULL), GX_OK);
            for (size_t i = 0; i < 4 * (size_t)N; i++)
                assert_int_equal(z[i], x[i % N] * y[i % N]);
        }
    }
    assert_int_equal(gx_buf_write(buf, 0, x, bytes), GX_OK); /* staged within it too */
    struct gx_statistics stats = {0};
    gx__stats(ctx, &stats);
    assert_true(stats.device_bytes_peak <= BUDGET && stats.device_bytes_peak > BUDGET / 4);
    assert_int_equal(stats.device_bytes, stats.pool_bytes + BUDGET / 4);
    gx_buf_destroy(&buf);

    /* buffers that leave no room for even one element */
    assert_int_equal(gx_buf_create(ctx, NULL, BUDGET - 4096, 0, &buf), GX_OK);
    gx_job job = gxt_job(GX_MUL, GX_U32, N, x, y, NULL, z);
    gx_report r = {.struct_size = sizeof r};
    assert_int_equal(gx_run(ctx, &job, 1, &(gx_run_params){.path = GX_PATH_DEVICE_LOCAL}, &r),
                     GX_ERR_OUT_OF_DEVICE_MEMORY);
    assert_non_null(strstr(r.message, "buffers hold"));
    if (gxt_shares_memory(devices[1]))
        assert_int_equal(gx_run(ctx, &job, 1, &(gx_run_params){.path = GX_PATH_HOST_VISIBLE}, &r),
                         GX_OK);
    gx_buf_destroy(&buf);
    gx__stats(ctx, &stats);
    assert_true(stats.device_bytes_peak <= BUDGET);
    free(x);
    free(y);
    free(z);
    gx_close(&ctx);
    assert_int_equal(gxt_complaints(), 0);
}

/* ---- copies ---- */

static void copies_by_threads(void **state)
{
    (void)state;
    const size_t sizes[] = {1, GX_COPY_SLICE, GX_COPY_SLICE + 1, 5 * GX_COPY_SLICE + 777, 3000};
    enum { REGIONS = GXT_COUNT(sizes) };
    for (uint32_t threads = 1; threads <= 4; threads++) {
        struct gx_instance instance = {.config.threads = threads};
        struct gx_copier copier;
        struct gx_host_region regions[REGIONS];
        uint64_t seed = threads;
        gx__copier_init(&copier, &instance, threads, false);
        for (size_t i = 0; i < REGIONS; i++) {
            unsigned char *from = gxt_alloc(sizes[i]), *to = gxt_alloc(sizes[i] + 1);
            gxt_bytes(&seed, from, sizes[i]);
            memset(to, 0x5c, sizes[i] + 1);
            regions[i] = (struct gx_host_region){.to = to, .from = from, .size = sizes[i]};
        }
        gx__copy(&copier, regions, REGIONS);
        gx__copy(&copier, regions, 0);
        gx__copier_close(&copier);
        gx__threads_end(&instance);
        for (size_t i = 0; i < REGIONS; i++) {
            assert_memory_equal(regions[i].to, regions[i].from, sizes[i]);
            assert_int_equal(((unsigned char *)regions[i].to)[sizes[i]], 0x5c);
            free(regions[i].to);
            free((void *)(uintptr_t)regions[i].from);
        }
    }
}

static _Atomic int looks;

static bool not_before(struct gx_device *device, struct gx_fence point)
{
    (void)device;
    return atomic_fetch_add(&looks, 1) >= (int)point.value;
}

/* Its bytes stay as they are, whether the device is done at once, meanwhile or later. */
static void dropped_from_caches(void **state)
{
    (void)state;
    enum { SLICES = GX_COPY_DROP_BYTES / GX_COPY_SLICE + 1, THREADS = 3 };
    const size_t bytes = GX_COPY_DROP_BYTES + 777;
    const struct gx_device_ops ops = {.reached = not_before};
    struct gx_device device = {.ops = &ops};
    struct gx_instance instance = {.config.threads = THREADS};
    struct gx_copier copier;
    uint64_t seed = 7;
    unsigned char *memory = gxt_alloc(bytes), *before = gxt_alloc(bytes);
    gxt_bytes(&seed, memory, bytes);
    memcpy(before, memory, bytes);
    gx__copier_init(&copier, &instance, THREADS, true);
    for (uint64_t done_at = 0; done_at <= SLICES; done_at += 3) {
        const struct gx_fence until = {GX_QUEUE_DOWNLOAD, done_at};
        looks = 0;
        gx__copier_drop(&copier, &device, until, memory, bytes);
        assert_int_equal(looks, copier.drops ? SLICES : 0);
        gx__copier_drop(&copier, &device, until, memory, GX_COPY_DROP_BYTES - 1);
        assert_int_equal(looks, copier.drops ? SLICES : 0);
        assert_memory_equal(memory, before, bytes);
    }
    gx__copier_close(&copier);
    gx__threads_end(&instance);
    free(memory);
    free(before);
}

/* ---- a long run ---- */

static void memory_stays_flat(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        struct gxt_heap heap;
        gxt_heap_start(&heap);
        gx_config config = {.device = devices[d], .allocator = gxt_heap_allocator(&heap)};
        gx_ctx *ctx = gxt_open(&config);
        uint32_t x[4096], out[8][4096];
        uint64_t seed = 5;
        gxt_bytes(&seed, x, sizeof x);
        size_t live = 0;
        struct gx_statistics early = {0}, late = {0};
        int batches = gxt_small() ? 1000 : 10000;
        for (int i = 0; i < batches; i++) {
            gx_job jobs[8];
            size_t count = 1 + below(&seed, 8);
            for (size_t j = 0; j < count; j++)
                jobs[j] = gxt_job(GX_ADD, GX_U32, below(&seed, 4096), x, x, NULL, out[j]);
            gx_run_params opts = {.mode = (gx_mode)below(&seed, 4),
                                  .path = (gx_path)below(&seed, 3)};
            assert_int_equal(gx_run(ctx, jobs, count, &opts, NULL), GX_OK);
            if (i == batches / 5) {
                live = heap.count;
                gx__stats(ctx, &early);
            }
        }
        gx__stats(ctx, &late);
        assert_true(heap.count <= live + 64); /* one per batch would be a hundred times that */
        assert_true(late.device_bytes <= 2 * early.device_bytes);
        if (d) { /* and nearly everything was there before */
            assert_true(late.pool_hits > 93 * (late.pool_hits + late.pool_misses) / 100);
            uint64_t gets = 0;
            for (size_t i = 0; i < GX_BUCKETS; i++)
                gets += late.buckets[i];
            assert_int_equal(gets, late.pool_hits + late.pool_misses);
        }
        gx_close(&ctx);
        gxt_heap_end(&heap);
    }
}

/* The same call again finds its memory and its commands ready. */
static void a_repeated_job_records_nothing(void **state)
{
    (void)state;
    if (device_count < 2)
        skip();
    gx_config config = {.device = devices[1]};
    gxt_watch(&config);
    gx_ctx *ctx = gxt_open(&config);
    uint32_t x[64] = {1, 2, 3}, out[64];
    gx_job job = gxt_job(GX_ADD, GX_U32, 64, x, x, NULL, out);
    gx_report r = {.struct_size = sizeof r};
    uint64_t record_ns = 0, submit_ns = 0;
    for (int i = 0; i < 20; i++) {
        x[0] = (uint32_t)i;
        assert_int_equal(gx_run(ctx, &job, 1, NULL, &r), GX_OK);
        assert_int_equal(out[0], 2 * i);
        assert_int_equal(r.command_hits, i ? r.submits : 0);
        assert_true(r.record_ns > 0 && r.submit_ns > 0);
        assert_true(r.record_ns + r.submit_ns <= r.device_ns && r.device_ns <= r.total_ns);
        record_ns += r.record_ns;
        submit_ns += r.submit_ns;
    }
    struct gx_statistics stats = {0};
    gx__stats(ctx, &stats);
    assert_int_equal(stats.command_misses, 1);
    assert_int_equal(stats.command_hits, 19);
    assert_int_equal(stats.record_ns, record_ns);
    assert_int_equal(stats.submit_ns, submit_ns);
    assert_int_equal(stats.pool_misses, gxt_shares_memory(devices[1]) ? 1 : 3);
    gx_close(&ctx);
    assert_int_equal(gxt_complaints(), 0);
}

/* ---- registered memory ---- */

static void registered_memory_is_not_staged(void **state)
{
    (void)state;
    enum { N = 5000 };
    if (device_count < 2 || !gxt_shares_memory(devices[1]))
        skip();
    gx_config config = {.device = devices[1]};
    gxt_watch(&config);
    gx_ctx *ctx = gxt_open(&config);
    size_t bytes = (size_t)N * 4;
    char *memory = gxt_alloc(4 * bytes);
    uint32_t *x = (uint32_t *)(void *)memory, *out = (uint32_t *)(void *)(memory + 2 * bytes);
    for (uint32_t i = 0; i < N; i++)
        x[i] = i;
    gx_job job = gxt_job(GX_ADD, GX_U32, N, x, x, NULL, out);
    gx_run_params opts = {.path = GX_PATH_DEVICE_LOCAL};
    gx_report r = {.struct_size = sizeof r};
    assert_int_equal(gx_host_register(ctx, memory, 0), GX_ERR_INVALID);
    assert_int_equal(gx_host_register(ctx, NULL, 10), GX_ERR_INVALID);
    assert_int_equal(gx_host_register(NULL, memory, 10), GX_ERR_INVALID);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(gx_host_register(ctx, memory, 4 * bytes), GX_OK);
        assert_int_equal(gx_host_register(ctx, memory + bytes, 8), GX_ERR_INVALID);
        assert_int_equal(gx_run(ctx, &job, 1, &opts, &r), GX_OK);
        assert_int_equal(r.host_in_ns + r.host_out_ns, 0);
        assert_int_equal(gx_host_unregister(ctx, memory + 1), GX_ERR_INVALID);
        assert_int_equal(gx_host_unregister(ctx, memory), GX_OK);
        assert_int_equal(gx_host_unregister(ctx, memory), GX_ERR_INVALID);
        for (uint32_t i = 0; i < N; i++)
            assert_int_equal(out[i], 2 * i);
        memset(out, 0, bytes);
        assert_int_equal(gx_run(ctx, &job, 1, &opts, &r), GX_OK);
        assert_true(r.host_in_ns > 0 && r.host_out_ns > 0);
        assert_int_equal(out[N - 1], 2 * (N - 1));
    }
    assert_int_equal(gx_host_register(ctx, memory, 4 * bytes), GX_OK); /* until the end */
    assert_int_equal(gx_run(ctx, &job, 1, &opts, &r), GX_OK);
    gx_close(&ctx);
    free(memory);
    assert_int_equal(gxt_complaints(), 0);
}

/* ---- jobs that meet in host memory ---- */

/* The later of two jobs that write the same memory has the last word, also where several
 * threads copy results out. */
static void the_last_word_stays(void **state)
{
    (void)state;
    enum { N = 98304, ROUNDS = 40 };
    gx_config config = {.threads = 4};
    gxt_watch(&config);
    gx_ctx *ctx = gxt_open(&config);
    uint32_t *x = gxt_alloc((size_t)N * 4), *zero = gxt_alloc((size_t)N * 4);
    uint32_t *out = gxt_alloc((size_t)N * 4);
    for (uint32_t i = 0; i < N; i++)
        x[i] = i + 1;
    memset(zero, 0, (size_t)N * 4);
    gx_job jobs[] = {gxt_job(GX_ADD, GX_U32, N, x, x, NULL, out),
                     gxt_job(GX_ADD, GX_U32, N, x, zero, NULL, out)};
    gx_job small = gxt_job(GX_ADD, GX_U32, 1, x, x, NULL, zero); /* nobody watches it */
    for (size_t d = 0; d < device_count; d++)
        for (int mode = GX_MODE_AUTO; mode <= most_mode(devices[d]); mode++)
            for (int round = 0; round < ROUNDS; round++) {
                gx_run_params opts = {.device = devices[d], .mode = (gx_mode)mode};
                assert_int_equal(gx_run(ctx, jobs, 2, &opts, NULL), GX_OK);
                assert_memory_equal(out, x, (size_t)N * 4);
                assert_int_equal(gx_run(ctx, &small, 1, &opts, NULL), GX_OK);
                assert_int_equal(zero[0], 2);
                zero[0] = 0;
            }
    gx_close(&ctx);
    free(x);
    free(zero);
    free(out);
    assert_int_equal(gxt_complaints(), 0);
}

/* A refused job leaves its inputs, though a later one of the same submit was to replace them. */
static void refused_jobs_leave_registered_inputs(void **state)
{
    (void)state;
    enum { N = 100, BAD = 5, BYTES = N * 48 };
    if (device_count < 2)
        skip();
    gx_config config = {.device = devices[1]};
    gxt_watch(&config);
    gx_ctx *ctx = gxt_open(&config);
    unsigned char *memory = gxt_alloc((size_t)3 * BYTES), before[BYTES];
    unsigned char *input = memory, *other = memory + BYTES, *out = memory + (size_t)2 * BYTES;
    uint64_t seed = 4;
    gxt_fill(&seed, GX_BLS12_381_FQ, input, N);
    gxt_fill(&seed, GX_BLS12_381_FQ, other, N);
    gxt_put_modulus(GX_BLS12_381_FQ, input + (size_t)BAD * 48);
    memcpy(before, input, sizeof before);
    assert_int_equal(gx_host_register(ctx, memory, (size_t)3 * BYTES), GX_OK);
    gx_job jobs[] = {gxt_job(GX_NEG, GX_BLS12_381_FQ, N, input, NULL, NULL, out),
                     gxt_job(GX_NEG, GX_BLS12_381_FQ, N, other, NULL, NULL, input)};
    for (int mode = GX_MODE_AUTO; mode <= GX_MODE_PIPELINED; mode++) {
        gx_run_params opts = {.mode = (gx_mode)mode, .path = GX_PATH_DEVICE_LOCAL};
        gx_report r[2] = {{.struct_size = sizeof *r}};
        assert_int_equal(gx_run(ctx, jobs, 2, &opts, r), GX_ERR_NOT_CANONICAL);
        assert_int_equal(r[0].bad_index, BAD);
        assert_int_equal(r[0].bad_operand, 'a');
        assert_memory_equal(input, before, sizeof before);
    }
    gx_close(&ctx);
    free(memory);
    assert_int_equal(gxt_complaints(), 0);
}

/* One element that stands for all one of them, in place: refused, it stays. */
static void refused_broadcast_in_place_stays(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        gx_config config = {.device = devices[d]};
        gxt_watch(&config);
        gx_ctx *ctx = gxt_open(&config);
        unsigned char bad[48], now[48];
        gx_buf *buf = NULL;
        gxt_put_modulus(GX_BLS12_381_FQ, bad);
        assert_int_equal(gx_buf_create(ctx, NULL, sizeof bad, 0, &buf), GX_OK);
        assert_int_equal(gx_buf_write(buf, 0, bad, sizeof bad), GX_OK);
        gx_job job = {.op = GX_NEG, .field = GX_BLS12_381_FQ, .n = 1};
        job.a = job.out = gx_dev(buf, 0);
        job.a.broadcast = 1;
        assert_int_equal(gx_run(ctx, &job, 1, NULL, NULL), GX_ERR_NOT_CANONICAL);
        assert_int_equal(gx_buf_read(buf, 0, now, sizeof now), GX_OK);
        assert_memory_equal(now, bad, sizeof bad);
        gx_buf_destroy(&buf);
        gx_close(&ctx);
    }
}

/* ---- faults ---- */

enum { FAULT_N = 50 };

/* Jobs over host memory, registered memory and buffers, one of them checked before. */
static gx_status run_faulty(gx_ctx *ctx, const char *device, gx_mode mode, gx_path path,
                            bool *opened)
{
    unsigned char in[2][FAULT_N * 32], out[4][FAULT_N * 32], want[4][FAULT_N * 32];
    uint64_t seed = 3;
    gx_buf *buf = NULL;
    gx_report r[4] = {{.struct_size = sizeof *r}};
    gxt_fill(&seed, GX_BN254_FR, in[0], FAULT_N);
    gxt_fill(&seed, GX_BN254_FR, in[1], FAULT_N);
    memset(out, 0x5c, sizeof out);
    memset(want, 0x5c, sizeof want);
    gx_job jobs[4] = {gxt_job(GX_MUL, GX_BN254_FR, FAULT_N, in[0], in[1], NULL, out[0]),
                      gxt_job(GX_INV, GX_BN254_FR, FAULT_N, out[0], NULL, NULL, out[1]),
                      gxt_job(GX_ADD, GX_BN254_FR, FAULT_N, in[1], in[1], NULL, out[2]),
                      gxt_job(GX_SUB, GX_BN254_FR, FAULT_N, in[0], in[0], NULL, out[3])};
    for (int i = 0; i < 4; i++) {
        gx_job right = jobs[i];
        right.out = gx_host(want[i]);
        right.a = i == 1 ? gx_host(want[0]) : right.a;
        assert_int_equal(gxt_run(reference, &right, "ref", NULL), GX_OK);
    }
    gx_status s = gx_buf_create(ctx, device, sizeof in[0], 0, &buf);
    if (s == GX_OK)
        s = gx_buf_write(buf, 0, in[1], sizeof in[1]);
    *opened = s == GX_OK;
    if (s != GX_OK) {
        gx_buf_destroy(&buf);
        return s;
    }
    jobs[2].a = jobs[2].b = jobs[2].out = gx_dev(buf, 0); /* in place */
    assert_int_equal(gx_host_register(ctx, out[3], sizeof out[3]), GX_OK);
    gx_run_params opts = {.device = device, .mode = mode, .path = path};
    s = gx_run(ctx, jobs, 4, &opts, r);
    bool ok = true;
    for (int i = 0; i < 4; i++) {
        ok = ok && r[i].status == GX_OK;
        assert_int_equal(r[i].status == GX_ERR_NOT_RUN, !ok && r[i].status != s);
        if (!ok && r[i].status == s)
            assert_non_null(strstr(r[i].message, device));
        if (ok && i != 2)
            assert_memory_equal(out[i], want[i], sizeof out[i]);
        if (r[i].status == GX_ERR_NOT_RUN && i < 2) /* no result of it came out */
            for (size_t k = 0; k < sizeof out[i]; k++)
                assert_int_equal(out[i][k], 0x5c);
    }
    assert_int_equal(ok, s == GX_OK);
    unsigned char sum[FAULT_N * 32];
    if (ok && gx_buf_read(buf, 0, sum, sizeof sum) == GX_OK)
        assert_memory_equal(sum, want[2], sizeof sum);
    assert_int_equal(gx_host_unregister(ctx, out[3]), GX_OK);
    gx_buf_destroy(&buf);
    return s;
}

static void sweep(const char *what, gx_status expected, const char *inner, gx_mode mode,
                  gx_path path)
{
    unsigned failures = 0, passed = 0, at = 1;
    unsigned stride = gxt_small() && strcmp(inner, "cpu") != 0 ? 7 : 1;
    for (; passed < 12 / stride + 2; at += stride) { /* past the last call */
        struct gxt_heap heap;
        char device[48];
        bool opened;
        gxt_heap_start(&heap);
        gx_config config = {
            .allocator = gxt_heap_allocator(&heap), .dispatch_elems = 20, .stream_chunk_elems = 30};
        gx_ctx *ctx = gxt_open(&config);
        snprintf(device, sizeof device, "fault:%s@%u:%s", what, at, inner);
        gx_status s = run_faulty(ctx, device, mode, path, &opened);
        if (s != GX_OK)
            assert_int_equal(s, expected);
        if (s != GX_OK && strcmp(what, "lose") != 0) /* it was that once */
            assert_int_equal(run_faulty(ctx, device, mode, path, &opened), GX_OK);
        failures += s != GX_OK;
        passed = s == GX_OK ? passed + 1 : 0;
        gx_close(&ctx);
        gxt_heap_end(&heap);
        assert_true(at < 2000);
    }
    assert_true(failures >= (stride > 1 ? 1 : 5));
}

static void every_device_call_fails_in_every_mode(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        gx_status status;
    } kinds[] = {{"fail", GX_ERR_DEVICE},
                 {"oom", GX_ERR_OUT_OF_DEVICE_MEMORY},
                 {"lose", GX_ERR_DEVICE_LOST}};
    for (size_t d = 0; d < device_count; d++)
        for (size_t k = 0; k < GXT_COUNT(kinds); k++)
            for (int mode = GX_MODE_SEQUENTIAL; mode <= (d ? GX_MODE_PIPELINED : 1); mode++)
                for (int path = GX_PATH_HOST_VISIBLE; path <= (d ? GX_PATH_DEVICE_LOCAL : 1);
                     path++)
                    sweep(kinds[k].what, kinds[k].status, devices[d], (gx_mode)mode, (gx_path)path);
}

/* ---- pipes from inside: overlapping batches, cancelling ---- */

enum { PIPE_JOBS = 6, PIPE_N = 2000 };

struct fed {
    struct gx_batch batch;
    gx_job jobs[PIPE_JOBS];
    struct gx_outcome reports[PIPE_JOBS];
    uint32_t x[PIPE_N], out[PIPE_JOBS][PIPE_N];
    _Atomic int done;
};

static void count_done(struct gx_batch *batch)
{
    atomic_fetch_add(&((struct fed *)(void *)batch)->done, 1);
}

static void prepare_fed(struct fed *f, uint32_t salt, gx_mode mode)
{
    *f = (struct fed){0};
    for (uint32_t i = 0; i < PIPE_N; i++)
        f->x[i] = i * salt;
    for (int j = 0; j < PIPE_JOBS; j++)
        f->jobs[j] =
            gxt_job(GX_ADD, GX_U32, PIPE_N, f->x, j ? f->out[j - 1] : f->x, NULL, f->out[j]);
    f->batch = (struct gx_batch){.jobs = gxt_tasks(f->jobs, PIPE_JOBS),
                                 .count = PIPE_JOBS,
                                 .reports = f->reports,
                                 .mode = mode,
                                 .done = count_done};
}

static void expect_fed(const struct fed *f, size_t count)
{
    for (size_t j = 0; j < count; j++)
        for (uint32_t i = 0; i < PIPE_N; i++)
            assert_int_equal(f->out[j][i], f->x[i] * (j + 2));
}

static void open_engine(struct gx_engine *engine, struct gx_instance *instance,
                        struct gx_registered_memory *registered, const char *device)
{
    struct gx_error error;
    *instance = (struct gx_instance){.registered = registered};
    gx__registered_memory_init(registered);
    instance->config.stream_chunk_elems = 300;
    assert_int_equal(gx__engine_open(engine, instance, device, &error), GX_OK);
}

static void close_engine(struct gx_engine *engine, struct gx_instance *instance,
                         struct gx_registered_memory *registered)
{
    gx__engine_close(engine);
    gx__registered_memory_close(registered);
    gx__device_stop(instance);
    gx__threads_end(instance);
}

static void batches_overlap_in_a_pipe(void **state)
{
    (void)state;
    enum { BATCHES = 5 };
    for (size_t d = 1; d < device_count; d++) {
        static struct gx_engine engine;
        static struct gx_instance instance;
        static struct gx_registered_memory registered;
        static struct fed fed[BATCHES];
        struct gx_pipe *pipe;
        open_engine(&engine, &instance, &registered, devices[d]);
        assert_int_equal(gx__pipe_open(&engine, &pipe), GX_OK);
        for (uint32_t i = 0; i < BATCHES; i++) {
            prepare_fed(&fed[i], i + 3, (gx_mode)(i % 4));
            gx__pipe_feed(pipe, &fed[i].batch);
        }
        while (gx__pipe_step(pipe, true))
            ;
        for (uint32_t i = 0; i < BATCHES; i++) {
            assert_int_equal(fed[i].done, 1);
            assert_int_equal(fed[i].batch.status, GX_OK);
            expect_fed(&fed[i], PIPE_JOBS);
        }
        gx__pipe_close(pipe);
        assert_int_equal(engine.pool.reserved, 0);
        close_engine(&engine, &instance, &registered);
    }
}

static void *cancel_soon(void *user)
{
    for (volatile int i = 0; i < 30000; i++)
        ;
    atomic_store((atomic_bool *)user, true);
    return NULL;
}

/* Jobs before the one it caught are done and right; that one and the rest are cancelled. */
static void cancelling(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        static struct gx_engine engine;
        static struct gx_instance instance;
        static struct gx_registered_memory registered;
        static struct fed fed;
        open_engine(&engine, &instance, &registered, devices[d]);
        for (int round = 0; round < 40; round++) {
            atomic_bool cancel = round == 0;
            pthread_t thread;
            prepare_fed(&fed, 5, (gx_mode)(round % 4));
            fed.batch.cancel = &cancel;
            assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &cancel), 0);
            gx_status s = gx__compose_run(&engine, &fed.batch);
            pthread_join(thread, NULL);
            assert_int_equal(fed.done, 1);
            size_t ok = 0;
            while (ok < PIPE_JOBS && fed.reports[ok].status == GX_OK)
                ok++;
            assert_int_equal(s, ok < PIPE_JOBS ? GX_ERR_CANCELLED : GX_OK);
            for (size_t i = ok; i < PIPE_JOBS; i++)
                assert_int_equal(fed.reports[i].status, GX_ERR_CANCELLED);
            assert_true(round || ok == 0);
            expect_fed(&fed, ok);
        }
        close_engine(&engine, &instance, &registered);
    }
}

/* ---- threads ---- */

struct worker {
    gx_ctx *ctx;
    const char *device;
    unsigned number;
};

static void *work(void *user)
{
    struct worker *w = user;
    enum { N = 3000, JOBS = 5 };
    static _Thread_local uint32_t x[N], out[JOBS][N];
    uint64_t seed = w->number + 1;
    for (int round = 0; round < (gxt_small() ? 30 : 150); round++) {
        gx_job jobs[JOBS];
        uint32_t salt = (uint32_t)gxt_next(&seed);
        size_t n = 1 + below(&seed, N);
        for (uint32_t i = 0; i < N; i++)
            x[i] = i * salt;
        for (int j = 0; j < JOBS; j++) /* a chain through host memory */
            jobs[j] = gxt_job(GX_ADD, GX_U32, n, x, j ? out[j - 1] : x, NULL, out[j]);
        gx_run_params opts = {.device = w->device,
                              .mode = (gx_mode)(w->number % 4),
                              .path = (gx_path)below(&seed, 3)};
        assert_int_equal(gx_run(w->ctx, jobs, JOBS, &opts, NULL), GX_OK);
        for (int j = 0; j < JOBS; j++)
            for (uint32_t i = 0; i < n; i++)
                if (out[j][i] != x[i] * (uint32_t)(j + 2))
                    return w; /* wrong */
    }
    return NULL;
}

/* Many threads, all modes, one context, and together more memory than there is. */
static void threads_in_all_modes(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    for (size_t d = 0; d < device_count; d++) {
        gx_config config = {.stream_chunk_elems = 700, .device_memory = 96 << 10};
        gxt_watch(&config);
        gx_ctx *ctx = gxt_open(&config);
        pthread_t threads[THREADS];
        struct worker workers[THREADS];
        for (unsigned i = 0; i < THREADS; i++) {
            workers[i] = (struct worker){ctx, devices[d], i};
            assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            void *wrong;
            pthread_join(threads[i], &wrong);
            assert_null(wrong);
        }
        struct gx_statistics stats = {0};
        gx__stats(ctx, &stats);
        assert_true(stats.device_bytes_peak <= 96 << 10);
        gx_close(&ctx);
        assert_int_equal(gxt_complaints(), 0);
    }
}

static int prepare(void **state)
{
    (void)state;
    gxt_clear_environment();
    const char *gpu = gxt_gpu();
    if (gpu)
        devices[device_count++] = gpu;
    reference = gxt_open(NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    gx_close(&reference);
    return 0;
}

int main(int argc, char **argv)
{
    gxt_choose_gpu(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_modes_give_the_same_bits),
        cmocka_unit_test(budgets_are_kept),
        cmocka_unit_test(copies_by_threads),
        cmocka_unit_test(dropped_from_caches),
        cmocka_unit_test(memory_stays_flat),
        cmocka_unit_test(a_repeated_job_records_nothing),
        cmocka_unit_test(registered_memory_is_not_staged),
        cmocka_unit_test(the_last_word_stays),
        cmocka_unit_test(refused_jobs_leave_registered_inputs),
        cmocka_unit_test(refused_broadcast_in_place_stays),
        cmocka_unit_test(every_device_call_fails_in_every_mode),
        cmocka_unit_test(batches_overlap_in_a_pipe),
        cmocka_unit_test(cancelling),
        cmocka_unit_test(threads_in_all_modes),
    };
    return cmocka_run_group_tests_name("modes", tests, prepare, end);
}
