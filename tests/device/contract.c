/* SPDX-License-Identifier: Apache-2.0
 *
 * The device contract of src/device/device.h itself, below exec/: memory, copies, kernels,
 * commands, points, failures, for every device available on any machine. Internal: it links the
 * static library. Written so that a device without shared memory passes too: data goes in and out
 * by copies if necessary.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "device/device.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/oracle.h"

enum { N = 100, GUARD = 0x5c };

enum { DEVICES_MAX = 6 + GXT_GPUS };

static const char *device_names[DEVICES_MAX] = {"cpu",
                                                "ref",
                                                "fault:fail@1000000:cpu",
                                                "sim:server-h200",
                                                "sim:laptop-integrated",
                                                "fault:fail@1000000:sim:desktop"};
static size_t device_count = 6;

static struct gxt_heap heap;
static struct gx_instance instance;
static struct gx_device device;
static struct oracle_rng rng = {11};

/* ---- opening ---- */

static void open_device(const char *name, uint64_t dispatch_elems)
{
    struct gx_error error = {""};
    gxt_heap_start(&heap);
    memset(&instance, 0, sizeof instance);
    gx_config config = {.dispatch_elems = dispatch_elems, .allocator = gxt_heap_allocator(&heap)};
    gxt_watch(&config);
    assert_int_equal(gx__config_complete(&instance.config, &config, &error), GX_OK);
    assert_int_equal(gx__device_open(&instance, name, &device, &error), GX_OK);
}

static void close_device(void)
{
    gx__device_close(&device);
    gx__device_stop(&instance);
    gx__threads_end(&instance);
    gxt_heap_end(&heap);
    assert_int_equal(instance.counters.validation_messages, 0);
    assert_int_equal(gxt_complaints(), 0);
}

/* A test of cmocka's that does one thing on every device, or on every one that has commands. */
struct everywhere {
    void (*test)(void);
    bool commands;
};

static void run_everywhere(void **state)
{
    const struct everywhere *e = *state;
    gxt_clear_environment();
    for (size_t i = 0; i < device_count; i++) {
        open_device(device_names[i], 0);
        if (!e->commands || !device.ops->run)
            e->test();
        close_device();
    }
}

#define ON_DEVICES(t, commands)                                                                    \
    {                                                                                              \
        .name = #t, .test_func = run_everywhere, .initial_state = &(struct everywhere)             \
        {                                                                                          \
            t, commands                                                                            \
        }                                                                                          \
    }
#define EVERYWHERE(t)    ON_DEVICES(t, false)
#define WITH_COMMANDS(t) ON_DEVICES(t, true)

/* ---- shorthands ---- */

static bool offers(enum gx_mem_kind kind)
{
    return (device.facts.mem_kinds & GX_MEM_BIT(kind)) != 0;
}

static enum gx_mem_kind or_shared(enum gx_mem_kind kind)
{
    return offers(kind) ? kind : GX_MEM_SHARED;
}

static struct gx_mem alloc_mem(enum gx_mem_kind kind, size_t bytes)
{
    struct gx_mem mem;
    memset(&mem, 0, sizeof mem);
    assert_int_equal(device.ops->mem_alloc(&device, kind, bytes, &mem), GX_OK);
    assert_int_equal(mem.kind, kind);
    assert_true(mem.size >= bytes);
    assert_false(mem.imported);
    return mem;
}

static void free_mem(struct gx_mem *mem)
{
    device.ops->mem_free(&device, mem);
}

static void write_mapped(struct gx_mem *mem, const void *data, size_t bytes)
{
    void *host = NULL;
    assert_int_equal(device.ops->map(&device, mem, &host), GX_OK);
    assert_non_null(host);
    memcpy(host, data, bytes);
    device.ops->unmap(&device, mem);
}

static void read_mapped(struct gx_mem *mem, void *data, size_t bytes)
{
    void *host = NULL;
    assert_int_equal(device.ops->map(&device, mem, &host), GX_OK);
    assert_non_null(host);
    memcpy(data, host, bytes);
    device.ops->unmap(&device, mem);
}

static struct gx_cmd *begin(void)
{
    struct gx_cmd *cmd = NULL;
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    assert_non_null(cmd);
    assert_ptr_equal(cmd->device, &device);
    return cmd;
}

static struct gx_fence submit_and_wait(struct gx_cmd *cmd)
{
    struct gx_fence point = {0};
    assert_int_equal(device.ops->submit(cmd, NULL, 0, &point), GX_OK);
    assert_int_equal(device.ops->wait(&device, point, GX_WAIT_FOREVER), GX_OK);
    assert_true(device.ops->reached(&device, point));
    return point;
}

static void end(struct gx_cmd *cmd)
{
    device.ops->barrier(cmd, GX_BARRIER_TO_HOST);
    submit_and_wait(cmd);
    device.ops->recycle(cmd);
}

static void *bound(const struct gx_binding *binding)
{
    return binding->mem ? (char *)binding->mem->host + binding->offset : NULL;
}

/* A dispatch as a call on a device that has no commands; what a kernel does to a slot is done
 * here. */
static struct gx_host_call run_host(const struct gx_dispatch *d)
{
    struct gx_host_call call = {
        .kernel = d->kernel, .scratch = bound(&d->bind[GX_BIND_SCRATCH]), .n = d->n};
    uint32_t *slot = bound(&d->bind[GX_BIND_BAD]);
    for (int i = 0; i < GX_OPERANDS; i++)
        call.operand[i] = bound(&d->bind[i]);
    assert_int_equal(device.ops->run(&device, &call), GX_OK);
    if (slot && call.bad < *slot)
        *slot = (uint32_t)call.bad;
    return call;
}

static void run(const struct gx_dispatch *d)
{
    if (device.ops->run) {
        run_host(d);
        return;
    }
    struct gx_cmd *cmd = begin();
    device.ops->dispatch(cmd, d);
    end(cmd);
}

static struct gx_binding at(const struct gx_mem *mem, size_t offset)
{
    return (struct gx_binding){.mem = mem, .offset = offset};
}

static void copy_all(const struct gx_mem *from, const struct gx_mem *to, size_t bytes)
{
    struct gx_cmd *cmd = begin();
    struct gx_region region = {.from = at(from, 0), .to = at(to, 0), .size = bytes};
    device.ops->copy(cmd, &region, 1);
    end(cmd);
}

/* Memory for kernels with `bytes` of data in it. */
static struct gx_mem put(const void *data, size_t bytes)
{
    struct gx_mem mem = alloc_mem(or_shared(GX_MEM_DEVICE), bytes);
    if (mem.kind == GX_MEM_SHARED) {
        write_mapped(&mem, data, bytes);
        return mem;
    }
    struct gx_mem up = alloc_mem(or_shared(GX_MEM_UPLOAD), bytes);
    write_mapped(&up, data, bytes);
    copy_all(&up, &mem, bytes);
    free_mem(&up);
    return mem;
}

static void get(struct gx_mem *mem, void *data, size_t bytes)
{
    if (mem->kind == GX_MEM_SHARED) {
        read_mapped(mem, data, bytes);
        return;
    }
    struct gx_mem down = alloc_mem(or_shared(GX_MEM_READBACK), bytes);
    copy_all(mem, &down, bytes);
    read_mapped(&down, data, bytes);
    free_mem(&down);
}

static struct gx_kernel kernel_for(gx_op op, gx_field field, unsigned broadcast, bool check)
{
    struct gx_kernel_key key = {.op = op, .field = field, .broadcast = broadcast, .check = check};
    struct gx_kernel kernel = {0};
    assert_int_equal(device.ops->kernel(&device, &key, &kernel), GX_OK);
    assert_int_equal(kernel.key.op, op);
    assert_int_equal(kernel.key.field, field);
    return kernel;
}

/* ---- the registry and the facts ---- */

static void facts_are_plausible(void)
{
    const struct gx_device_facts *f = &device.facts;
    assert_true(f->mem_kinds != 0);
    assert_true(offers(GX_MEM_SHARED) || offers(GX_MEM_UPLOAD));
    assert_true(f->queues & GX_QUEUE_BIT(GX_QUEUE_COMPUTE));
    assert_true(f->dispatch_elems >= 1 && f->dispatch_elems <= UINT32_MAX);
    assert_true(!f->import_align || device.ops->mem_import);
    assert_true(device.ops->run || device.ops->submit);
    assert_true(!f->timestamps || device.ops->stamp);
}

static void facts(void **state)
{
    (void)state;
    for (size_t i = 0; i < device_count; i++) {
        open_device(device_names[i], 123);
        assert_string_equal(device.info.name, device_names[i]);
        assert_int_equal(device.facts.dispatch_elems, 123);
        facts_are_plausible();
        close_device();
    }
}

static void unknown_devices(void **state)
{
    (void)state;
    const char *names[] = {"", "nope", "fault:", "fault:fail@1:nope"};
    gxt_heap_start(&heap);
    memset(&instance, 0, sizeof instance);
    instance.config.allocator = gxt_heap_allocator(&heap);
    for (size_t i = 0; i < GXT_COUNT(names); i++) {
        struct gx_error error = {""};
        assert_int_equal(gx__device_open(&instance, names[i], &device, &error), GX_ERR_NO_DEVICE);
        assert_true(error.text[0]);
    }
    gx__device_stop(&instance); /* lists of devices, for the message */
    gxt_heap_end(&heap);        /* nothing is open */
}

/* ---- memory ---- */

static void memory_of_each_kind(void)
{
    const size_t sizes[] = {1, 63, 64, 4096, 100001};
    for (int kind = GX_MEM_DEVICE; kind <= GX_MEM_SHARED; kind++) {
        if (!offers((enum gx_mem_kind)kind))
            continue;
        for (size_t s = 0; s < GXT_COUNT(sizes); s++) {
            struct gx_mem mem = alloc_mem((enum gx_mem_kind)kind, sizes[s]);
            unsigned char *data = gxt_alloc(sizes[s]), *back = gxt_alloc(sizes[s]);
            memset(data, (int)(s + 1), sizes[s]);
            if (kind == GX_MEM_UPLOAD || kind == GX_MEM_SHARED) {
                write_mapped(&mem, data, sizes[s]);
                read_mapped(&mem, back, sizes[s]);
                assert_memory_equal(data, back, sizes[s]);
            }
            free_mem(&mem);
            free(data);
            free(back);
        }
    }
}

static void too_much_memory(void)
{
    for (int kind = GX_MEM_DEVICE; kind <= GX_MEM_SHARED; kind++) {
        struct gx_mem mem, before;
        if (!offers((enum gx_mem_kind)kind))
            continue;
        memset(&mem, GUARD, sizeof mem);
        before = mem;
        const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2};
        for (size_t s = 0; s < GXT_COUNT(sizes); s++) {
            gx_status status =
                device.ops->mem_alloc(&device, (enum gx_mem_kind)kind, sizes[s], &mem);
            assert_true(status == GX_ERR_OUT_OF_MEMORY || status == GX_ERR_OUT_OF_DEVICE_MEMORY);
            assert_memory_equal(&mem, &before, sizeof mem); /* changed nothing */
        }
    }
}

/* A device that works on host memory does so wherever that begins. */
static void any_alignment(void)
{
    enum { SOME = 9 };
    if (!device.ops->run)
        return;
    for (size_t offset = 0; offset < 20; offset++) {
        unsigned char host[SOME * 32 + 64], in[SOME * 32], want[SOME * 32];
        memset(host, GUARD, sizeof host);
        oracle_fill(GX_BN254_FQ, &rng, in, SOME);
        memcpy(host + offset, in, sizeof in);
        struct gx_mem mem = {.kind = GX_MEM_SHARED, .size = sizeof in, .host = host + offset};
        struct gx_dispatch d = {.kernel = kernel_for(GX_SQR, GX_BN254_FQ, 0, false), .n = SOME};
        d.bind[GX_BIND_OUT] = d.bind[GX_BIND_A] = at(&mem, 0);
        run_host(&d);
        oracle_run(GX_SQR, GX_BN254_FQ, SOME, want, in, NULL, NULL, 0);
        assert_memory_equal(host + offset, want, sizeof want);
        for (size_t i = 0; i < sizeof host; i++)
            if (i < offset || i >= offset + sizeof want)
                assert_int_equal(host[i], GUARD);
    }
}

static void copy_regions(void)
{
    unsigned char data[256], back[256], want[256];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)i;
    memset(want, GUARD, sizeof want);
    struct gx_mem from = put(data, sizeof data), to = put(want, sizeof want);
    const struct gx_region regions[] = {{.from = at(&from, 0), .to = at(&to, 128), .size = 64},
                                        {.from = at(&from, 192), .to = at(&to, 0), .size = 64},
                                        {.from = at(&from, 64), .to = at(&to, 192), .size = 32}};
    memcpy(want + 128, data, 64);
    memcpy(want, data + 192, 64);
    memcpy(want + 192, data + 64, 32);
    struct gx_cmd *cmd = begin();
    device.ops->copy(cmd, regions, GXT_COUNT(regions));
    device.ops->copy(cmd, NULL, 0);
    end(cmd);
    get(&to, back, sizeof back);
    assert_memory_equal(back, want, sizeof want);
    get(&from, back, sizeof back);
    assert_memory_equal(back, data, sizeof data);
    free_mem(&from);
    free_mem(&to);
}

/* ---- kernels ---- */

/* One dispatch of any operation with everything it needs; new memory each time. */
static void dispatch_matches_oracle(gx_op op, gx_field field, unsigned broadcast)
{
    size_t bytes = N * gxt_element(field);
    unsigned char in[3][N * 48], got[N * 48], want[N * 48];
    struct gx_mem mem[3], out, scratch = {0};
    struct gx_dispatch d = {.kernel = kernel_for(op, field, broadcast, false), .n = N};
    for (int w = 0; w < 3; w++) {
        oracle_fill(field, &rng, in[w], N);
        mem[w] = put(in[w], bytes);
        if (w < (int)gx_op_get_info(op)->operands)
            d.bind[GX_BIND_A + w] = at(&mem[w], 0);
    }
    memset(got, GUARD, sizeof got);
    memset(want, GUARD, sizeof want); /* behind the result of a sum */
    out = put(got, bytes);
    d.bind[GX_BIND_OUT] = at(&out, 0);
    size_t need = device.ops->scratch(&device, &d.kernel, N);
    if (need) {
        scratch = alloc_mem(or_shared(GX_MEM_DEVICE), need);
        d.bind[GX_BIND_SCRATCH] = at(&scratch, 0);
    }
    run(&d);
    get(&out, got, bytes);
    oracle_run(op, field, N, want, in[0], in[1], in[2], broadcast);
    assert_memory_equal(got, want, bytes);
    for (int w = 0; w < 3; w++)
        free_mem(&mem[w]);
    free_mem(&out);
    if (need)
        free_mem(&scratch);
}

static void every_kernel_works(void)
{
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++)
        for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++)
            if (gx_op_exists(gxt_ops[o], gxt_fields[f]))
                for (unsigned b = 0; b < 1u << gx_op_get_info(gxt_ops[o])->operands; b++)
                    dispatch_matches_oracle(gxt_ops[o], gxt_fields[f], b);
}

/* ---- reductions ---- */

/* A dispatch of a reduction, without its memory. */
static struct gx_dispatch part(gx_op op, gx_field field, bool accumulate, uint64_t n)
{
    struct gx_kernel_key key = {.op = op, .field = field, .accumulate = accumulate, .check = true};
    struct gx_dispatch d = {.n = n};
    assert_int_equal(device.ops->kernel(&device, &key, &d.kernel), GX_OK);
    assert_int_equal(d.kernel.key.accumulate, accumulate);
    return d;
}

/* Contents of OUT after parts of `each` elements, the first of which may or may not add to what is
 * there; all in one command. */
static void add_up(gx_op op, gx_field field, size_t n, size_t each, bool to_what_is_there)
{
    const size_t element = gxt_element(field), step = 768; /* aligned for any device and element */
    unsigned char in[2][N * 48], there[48], got[2 * 48], want[48];
    uint32_t bad = UINT32_MAX;
    const size_t parts = n ? (n + each - 1) / each : 1;
    struct gx_mem mem[2] = {{0}}, out, slot = put(&bad, sizeof bad), scratch = {0};
    size_t need = 0;
    for (size_t w = 0; w < 2; w++) {
        unsigned char spread[N * 768];
        oracle_fill(field, &rng, in[w], N);
        memset(spread, GUARD, sizeof spread);
        for (size_t i = 0; i < n; i++)
            memcpy(spread + i / each * step + i % each * element, in[w] + i * element, element);
        mem[w] = put(spread, parts * step);
    }
    oracle_fill(field, &rng, there, 1);
    memset(got, GUARD, sizeof got);
    memcpy(got, there, element);
    out = put(got, sizeof got);
    for (int later = 0; later < 2; later++) {
        struct gx_dispatch d = part(op, field, later, each);
        size_t now = device.ops->scratch(&device, &d.kernel, each);
        need = now > need ? now : need;
    }
    if (need)
        scratch = alloc_mem(or_shared(GX_MEM_DEVICE), need);
    struct gx_cmd *cmd = device.ops->run ? NULL : begin();
    for (size_t i = 0; i < parts; i++) {
        size_t count = n - i * each < each ? n - i * each : each;
        struct gx_dispatch d = part(op, field, i || to_what_is_there, count);
        d.bind[GX_BIND_OUT] = at(&out, 0);
        d.bind[GX_BIND_A] = at(&mem[0], i * step);
        if (gx_op_get_info(op)->operands > 1)
            d.bind[GX_BIND_B] = at(&mem[1], i * step);
        d.bind[GX_BIND_BAD] = at(&slot, 0);
        if (need)
            d.bind[GX_BIND_SCRATCH] = at(&scratch, 0);
        if (!cmd)
            run_host(&d);
        if (cmd && i)
            device.ops->barrier(cmd, GX_BARRIER_KERNEL_TO_KERNEL);
        if (cmd)
            device.ops->dispatch(cmd, &d);
    }
    if (cmd)
        end(cmd);
    get(&out, got, sizeof got);
    oracle_run(op, field, n, want, in[0], in[1], NULL, 0);
    if (to_what_is_there)
        oracle_run(GX_ADD, field, 1, want, want, there, NULL, 0);
    if (memcmp(got, want, element) != 0)
        fail_msg("%s: %s of %s, %zu elements by %zu, added %d: wrong result", device.info.name,
                 gx_op_get_info(op)->name, gx_field_get_info(field)->name, n, each,
                 (int)to_what_is_there);
    for (size_t i = element; i < sizeof got; i++)
        assert_int_equal(got[i], GUARD);
    get(&slot, &bad, sizeof bad);
    assert_int_equal(bad, UINT32_MAX);
    free_mem(&mem[0]);
    free_mem(&mem[1]);
    free_mem(&out);
    free_mem(&slot);
    if (need)
        free_mem(&scratch);
}

static void reductions_add_up(void)
{
    static const struct {
        size_t n, each;
    } cuts[] = {{1, 1}, {5, 5}, {9, 4}, {16, 8}, {33, 16}, {7, 1}};
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++)
        for (size_t o = 0; o < GXT_REDUCTIONS; o++)
            for (size_t i = 0; i < GXT_COUNT(cuts); i++)
                if (gx_op_exists(gxt_reductions[o], gxt_fields[f]))
                    add_up(gxt_reductions[o], gxt_fields[f], cuts[i].n, cuts[i].each, (f + i) % 2);
}

/* 0, or what was there. */
static void reductions_of_nothing(void)
{
    for (size_t o = 0; o < GXT_REDUCTIONS; o++)
        for (int there = 0; there < 2; there++)
            add_up(gxt_reductions[o], GX_BLS12_381_FQ, 0, 1, there);
}

static void kernels_that_do_not_exist(void)
{
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
        for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++) {
            struct gx_kernel_key key = {.op = gxt_ops[o], .field = gxt_fields[f]};
            struct gx_kernel kernel, before;
            if (gx_op_exists(key.op, key.field))
                continue;
            memset(&kernel, GUARD, sizeof kernel);
            before = kernel;
            gx_status status = device.ops->kernel(&device, &key, &kernel);
            if (status != GX_ERR_UNSUPPORTED)
                print_error("%s: %s for %s\n", device.info.name, gx_op_get_info(key.op)->name,
                            gx_field_get_info(key.field)->name);
            assert_int_equal(status, GX_ERR_UNSUPPORTED);
            assert_memory_equal(&kernel, &before, sizeof kernel);
        }
    }
}

/* The kernels for benchmarks, if the device has them: a GPU does, but neither WGSL nor PTX has the
 * arithmetic roof. */
static bool benchmark_kernel(const struct gx_kernel_key *key, struct gx_kernel *kernel)
{
    gx_status status = device.ops->kernel(&device, key, kernel);
    bool some = device.info.kind == GX_DEVICE_WEBGPU || device.info.kind == GX_DEVICE_CUDA;
    bool has = device.info.kind == GX_DEVICE_VULKAN || (some && key->op != GX_OP_ROOF);
    assert_int_equal(status, has ? GX_OK : GX_ERR_UNSUPPORTED);
    return status == GX_OK;
}

static void repeated_kernel(void)
{
    gx_field field = GX_BLS12_381_FR;
    struct gx_kernel_key key = {.op = GX_MUL, .field = field, .repeat = 3};
    unsigned char in[2][N * 32], got[N * 32] = {0}, want[N * 32];
    struct gx_dispatch d = {.n = N};
    if (!benchmark_kernel(&key, &d.kernel))
        return;
    /* the ordinary one is another, before and after */
    assert_ptr_not_equal(kernel_for(GX_MUL, field, 0, false).impl, d.kernel.impl);
    oracle_fill(field, &rng, in[0], N);
    oracle_fill(field, &rng, in[1], N);
    struct gx_mem a = put(in[0], sizeof in[0]), b = put(in[1], sizeof in[1]);
    struct gx_mem out = put(got, sizeof got);
    d.bind[GX_BIND_A] = at(&a, 0);
    d.bind[GX_BIND_B] = at(&b, 0);
    d.bind[GX_BIND_OUT] = at(&out, 0);
    run(&d);
    get(&out, got, sizeof got);
    memcpy(want, in[0], sizeof want);
    for (uint32_t i = 0; i < key.repeat; i++)
        oracle_run(GX_MUL, field, N, want, want, in[1], NULL, 0);
    assert_memory_equal(got, want, sizeof want);
    free_mem(&a);
    free_mem(&b);
    free_mem(&out);
}

static void copy_kernel(void)
{
    struct gx_kernel_key key = {.op = GX_OP_COPY}, roof = {.op = GX_OP_ROOF};
    struct gx_kernel_key wrong[] = {{.op = GX_OP_COPY, .field = GX_U32},
                                    {.op = GX_ADD, .field = GX_U32, .repeat = 2}};
    unsigned char in[N * 16], got[N * 16] = {0};
    struct gx_dispatch d = {.n = N};
    for (size_t i = 0; i < GXT_COUNT(wrong); i++)
        assert_int_equal(device.ops->kernel(&device, &wrong[i], &d.kernel), GX_ERR_UNSUPPORTED);
    if (!benchmark_kernel(&roof, &d.kernel) || !benchmark_kernel(&key, &d.kernel))
        return;
    gxt_bytes(&rng.state, in, sizeof in);
    struct gx_mem from = put(in, sizeof in), to = put(got, sizeof got);
    d.bind[GX_BIND_A] = at(&from, 0);
    d.bind[GX_BIND_OUT] = at(&to, 0);
    run(&d);
    get(&to, got, sizeof got);
    assert_memory_equal(got, in, sizeof in);
    free_mem(&from);
    free_mem(&to);
}

/* How many threads took part: one where waking another would not pay. */
static void threads_of_a_call(void)
{
    enum { FEW = 64, MANY = 1000000 };
    if (!device.ops->run)
        return;
    struct gx_dispatch d = {.kernel = kernel_for(GX_ADD, GX_BLS12_381_FQ, 0, true), .n = FEW};
    struct gx_mem mem = alloc_mem(GX_MEM_SHARED, (size_t)MANY * 48);
    memset(mem.host, 0, (size_t)MANY * 48);
    d.bind[GX_BIND_OUT] = d.bind[GX_BIND_A] = d.bind[GX_BIND_B] = at(&mem, 0);
    assert_int_equal(run_host(&d).threads, 1);
    d.n = MANY;
    assert_int_equal(run_host(&d).threads, device.info.threads);
    free_mem(&mem);
}

/* ---- commands ---- */

/* x = a * b; out = x + c, in one command: the second depends on the first. */
static struct gx_cmd *record_chain(const struct gx_mem *mem, gx_field field)
{
    struct gx_dispatch mul = {.kernel = kernel_for(GX_MUL, field, 0, false), .n = N};
    struct gx_dispatch add = {.kernel = kernel_for(GX_ADD, field, 0, false), .n = N};
    mul.bind[GX_BIND_A] = at(&mem[0], 0);
    mul.bind[GX_BIND_B] = at(&mem[1], 0);
    mul.bind[GX_BIND_OUT] = add.bind[GX_BIND_A] = at(&mem[3], 0);
    add.bind[GX_BIND_B] = at(&mem[2], 0);
    add.bind[GX_BIND_OUT] = at(&mem[4], 0);
    struct gx_cmd *cmd = begin();
    device.ops->dispatch(cmd, &mul);
    device.ops->barrier(cmd, GX_BARRIER_KERNEL_TO_KERNEL);
    device.ops->dispatch(cmd, &add);
    device.ops->barrier(cmd, GX_BARRIER_TO_HOST);
    return cmd;
}

static void check_chain(struct gx_mem *mem, gx_field field, unsigned char in[3][N * 48])
{
    unsigned char got[N * 48], want[N * 48];
    size_t bytes = N * gxt_element(field);
    oracle_run(GX_MUL, field, N, want, in[0], in[1], NULL, 0);
    oracle_run(GX_ADD, field, N, want, want, in[2], NULL, 0);
    get(&mem[4], got, bytes);
    assert_memory_equal(got, want, bytes);
}

static void chain_and_resubmit(void)
{
    gx_field field = GX_BLS12_381_FQ;
    unsigned char in[3][N * 48], junk[N * 48];
    struct gx_mem mem[5];
    memset(junk, 0, sizeof junk);
    for (int w = 0; w < 3; w++) {
        oracle_fill(field, &rng, in[w], N);
        mem[w] = put(in[w], sizeof in[w]);
    }
    mem[3] = put(junk, sizeof junk);
    mem[4] = put(junk, sizeof junk);
    struct gx_cmd *cmd = record_chain(mem, field);
    struct gx_fence before = submit_and_wait(cmd);
    check_chain(mem, field, in);
    for (int again = 0; device.facts.resubmit && again < 3; again++) {
        if (mem[0].kind == GX_MEM_SHARED) { /* new data, old command */
            oracle_fill(field, &rng, in[0], N);
            write_mapped(&mem[0], in[0], sizeof in[0]);
        }
        struct gx_fence now = submit_and_wait(cmd);
        assert_int_equal(now.queue, before.queue);
        assert_true(now.value > before.value);
        before = now;
        check_chain(mem, field, in);
    }
    device.ops->recycle(cmd);
    for (int i = 0; i < 5; i++)
        free_mem(&mem[i]);
}

/* A copy in, a kernel, a copy out, in one command. */
static void copy_kernel_copy(void)
{
    uint32_t in[64], got[64], want[64];
    gxt_bytes(&rng.state, in, sizeof in);
    memset(got, 0, sizeof got);
    struct gx_mem from = put(in, sizeof in), work = put(got, sizeof got);
    struct gx_mem to = put(got, sizeof got);
    struct gx_dispatch d = {.kernel = kernel_for(GX_MUL, GX_U32, 0, false), .n = 64};
    d.bind[GX_BIND_OUT] = d.bind[GX_BIND_A] = d.bind[GX_BIND_B] = at(&work, 0);
    struct gx_region up = {.from = at(&from, 0), .to = at(&work, 0), .size = sizeof in};
    struct gx_region down = {.from = at(&work, 0), .to = at(&to, 0), .size = sizeof in};
    struct gx_cmd *cmd = begin();
    device.ops->copy(cmd, &up, 1);
    device.ops->barrier(cmd, GX_BARRIER_COPY_TO_KERNEL);
    device.ops->dispatch(cmd, &d);
    device.ops->barrier(cmd, GX_BARRIER_KERNEL_TO_COPY);
    device.ops->copy(cmd, &down, 1);
    end(cmd);
    get(&to, got, sizeof got);
    oracle_run(GX_MUL, GX_U32, 64, want, in, in, NULL, 0);
    assert_memory_equal(got, want, sizeof want);
    free_mem(&from);
    free_mem(&work);
    free_mem(&to);
}

/* Each on its own range, and nothing next to it. */
static void hundred_dispatches(void)
{
    enum { PIECES = 100, PIECE = 8, SPAN = 64 }; /* elements; SPAN: aligned for any device */
    static uint32_t in[PIECES * SPAN], got[PIECES * SPAN], want[PIECES * SPAN];
    gxt_bytes(&rng.state, in, sizeof in);
    memset(want, GUARD, sizeof want);
    struct gx_mem a = put(in, sizeof in), out = put(want, sizeof want);
    struct gx_cmd *cmd = begin();
    for (size_t i = 0; i < PIECES; i++) {
        struct gx_dispatch d = {.kernel = kernel_for(GX_ADD, GX_U32, 0, false), .n = PIECE};
        size_t offset = i * SPAN * sizeof(uint32_t);
        d.bind[GX_BIND_A] = d.bind[GX_BIND_B] = at(&a, offset);
        d.bind[GX_BIND_OUT] = at(&out, offset);
        device.ops->dispatch(cmd, &d);
        for (size_t k = 0; k < PIECE; k++)
            want[i * SPAN + k] = 2 * in[i * SPAN + k];
    }
    end(cmd);
    get(&out, got, sizeof got);
    assert_memory_equal(got, want, sizeof want);
    free_mem(&a);
    free_mem(&out);
}

static void points_in_order(void)
{
    struct gx_fence points[20];
    struct gx_cmd *cmds[20];
    for (size_t i = 0; i < GXT_COUNT(points); i++) {
        cmds[i] = begin();
        assert_int_equal(device.ops->submit(cmds[i], i ? points : NULL, i, &points[i]), GX_OK);
        assert_int_equal(points[i].queue, GX_QUEUE_COMPUTE);
        if (i)
            assert_true(points[i].value > points[i - 1].value);
    }
    struct gx_fence last = points[GXT_COUNT(points) - 1];
    assert_int_equal(device.ops->wait(&device, last, GX_WAIT_FOREVER), GX_OK);
    for (size_t i = 0; i < GXT_COUNT(points); i++) { /* the last means all before */
        assert_true(device.ops->reached(&device, points[i]));
        assert_int_equal(device.ops->wait(&device, points[i], 0), GX_OK);
        device.ops->recycle(cmds[i]);
    }
}

/* Device time is on the host's axis: between the submit and the end of the wait. */
static uint64_t now(void)
{
    return device.ops->now ? device.ops->now(&device) : gx__now_ns();
}

static void stamps_between_submit_and_wait(void)
{
    if (!device.facts.timestamps)
        return;
    static uint32_t x[4096];
    struct gx_mem mem = put(x, sizeof x);
    struct gx_dispatch d = {.kernel = kernel_for(GX_ADD, GX_U32, 0, false), .n = GXT_COUNT(x)};
    d.bind[GX_BIND_OUT] = d.bind[GX_BIND_A] = d.bind[GX_BIND_B] = at(&mem, 0);
    struct gx_cmd *cmd = begin();
    device.ops->stamp(cmd, 0);
    device.ops->dispatch(cmd, &d);
    device.ops->stamp(cmd, 1);
    for (int again = 0; again < 3; again++) {
        uint64_t ns[2] = {0}, before = now();
        submit_and_wait(cmd);
        assert_int_equal(device.ops->stamps(cmd, ns, 2), GX_OK);
        assert_true(before <= ns[0]);
        assert_true(ns[0] <= ns[1]);
        assert_true(ns[1] <= now());
        usleep(again ? 110000 : 0); /* long enough to be calibrated again */
    }
    assert_int_equal(device.ops->stamps(cmd, (uint64_t[3]){0}, 3), GX_ERR_INVALID);
    device.ops->recycle(cmd);
    free_mem(&mem);
}

static void commands_given_back(void)
{
    struct gx_cmd *cmds[40];
    for (int round = 0; round < 3; round++) { /* more at once than may be kept */
        for (size_t i = 0; i < GXT_COUNT(cmds); i++)
            cmds[i] = begin();
        for (size_t i = 0; i < GXT_COUNT(cmds); i++)
            device.ops->recycle(cmds[i]); /* never submitted */
    }
    /* one that comes back is empty: what was recorded before is gone */
    uint32_t x[4] = {1, 2, 3, 4}, got[4];
    struct gx_mem mem = put(x, sizeof x);
    struct gx_dispatch d = {.kernel = kernel_for(GX_ADD, GX_U32, 0, false), .n = 4};
    d.bind[GX_BIND_OUT] = d.bind[GX_BIND_A] = d.bind[GX_BIND_B] = at(&mem, 0);
    struct gx_cmd *cmd = begin();
    device.ops->dispatch(cmd, &d);
    device.ops->recycle(cmd);
    for (size_t i = 0; i < GXT_COUNT(cmds); i++)
        end(begin());
    get(&mem, got, sizeof got);
    assert_memory_equal(got, x, sizeof x);
    free_mem(&mem);
}

/* ---- BAD ---- */

/* Contents of the slot after a dispatch over elements of which `bads` are not below the modulus. */
static uint32_t slot_after(gx_op op, uint32_t before, const size_t *bads, size_t count, int which)
{
    gx_field field = GX_BLS12_381_FR;
    unsigned char in[3][N * 48], out[N * 48];
    struct gx_mem mem[5], scratch = {0};
    struct gx_dispatch d = {.kernel = kernel_for(op, field, 0, true), .n = N};
    unsigned operands = op == GX_OP_CHECK ? 1 : gx_op_get_info(op)->operands;
    memset(out, GUARD, sizeof out);
    for (unsigned w = 0; w < 3; w++) {
        oracle_fill(field, &rng, in[w], N);
        for (size_t i = 0; w == (unsigned)which && i < count; i++)
            oracle_bad(field, i, in[w] + bads[i] * 32);
        mem[w] = put(in[w], (size_t)N * 32);
        if (w < operands)
            d.bind[GX_BIND_A + w] = at(&mem[w], 0);
    }
    mem[3] = put(out, (size_t)N * 32);
    mem[4] = put(&before, sizeof before);
    if (op != GX_OP_CHECK)
        d.bind[GX_BIND_OUT] = at(&mem[3], 0);
    d.bind[GX_BIND_BAD] = at(&mem[4], 0);
    size_t need = device.ops->scratch(&device, &d.kernel, N);
    struct gx_kernel unchecked = kernel_for(op == GX_OP_CHECK ? GX_ADD : op, field, 0, false);
    assert_int_equal(device.ops->scratch(&device, &unchecked, N), need);
    if (need) {
        scratch = alloc_mem(or_shared(GX_MEM_DEVICE), need);
        d.bind[GX_BIND_SCRATCH] = at(&scratch, 0);
    }
    run(&d);
    uint32_t after;
    get(&mem[4], &after, sizeof after);
    for (int i = 0; i < 5; i++)
        free_mem(&mem[i]);
    if (need)
        free_mem(&scratch);
    return after;
}

static void slot_is_lowered(void)
{
    static const size_t bads[] = {9, 10, 50, 99};
    for (size_t o = 0; o <= GXT_COUNT(gxt_ops); o++) {
        gx_op op = o < GXT_COUNT(gxt_ops) ? gxt_ops[o] : GX_OP_CHECK;
        int operands = op == GX_OP_CHECK ? 1 : (int)gx_op_get_info(op)->operands;
        assert_int_equal(slot_after(op, UINT32_MAX, bads, 0, 0), UINT32_MAX);
        assert_int_equal(slot_after(op, 33, bads, 0, 0), 33);
        for (int w = 0; w < operands; w++) {
            assert_int_equal(slot_after(op, UINT32_MAX, bads, 4, w), 9);
            assert_int_equal(slot_after(op, 20, bads, 4, w), 9);
            assert_int_equal(slot_after(op, 9, bads, 4, w), 9);
            assert_int_equal(slot_after(op, 5, bads, 4, w), 5); /* never raised */
            assert_int_equal(slot_after(op, 0, bads, 4, w), 0);
            assert_int_equal(slot_after(op, UINT32_MAX, bads + 3, 1, w), 99);
        }
    }
}

/* ---- failures ---- */

/* Adds a to itself, as exec/ would. Any call may fail; everything is given back. */
static gx_status try_submit(const struct gx_dispatch *d)
{
    struct gx_cmd *cmd = NULL;
    struct gx_fence point = {0};
    gx_status s = device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd);
    if (s != GX_OK)
        return s;
    device.ops->dispatch(cmd, d);
    s = device.ops->submit(cmd, NULL, 0, &point);
    if (s == GX_OK)
        s = device.ops->wait(&device, point, GX_WAIT_FOREVER);
    device.ops->recycle(cmd);
    return s;
}

static gx_status try_copy(struct gx_mem *mem, void *to, const void *from, size_t bytes)
{
    void *host;
    gx_status s = device.ops->map(&device, mem, &host);
    if (s != GX_OK)
        return s;
    memcpy(to ? to : host, to ? host : from, bytes);
    device.ops->unmap(&device, mem);
    return GX_OK;
}

static gx_status try_once(uint32_t *data, size_t n)
{
    struct gx_mem mem = {0};
    struct gx_dispatch d = {.n = n};
    struct gx_kernel_key key = {.op = GX_ADD, .field = GX_U32};
    gx_status s = device.ops->mem_alloc(&device, GX_MEM_SHARED, n * sizeof *data, &mem);
    if (s != GX_OK)
        return s;
    s = try_copy(&mem, NULL, data, n * sizeof *data);
    if (s == GX_OK)
        s = device.ops->kernel(&device, &key, &d.kernel);
    d.bind[GX_BIND_OUT] = d.bind[GX_BIND_A] = d.bind[GX_BIND_B] = at(&mem, 0);
    struct gx_host_call call = {.kernel = d.kernel, .n = n};
    call.operand[GX_OUT] = call.operand[GX_A] = call.operand[GX_B] = mem.host;
    if (s == GX_OK)
        s = device.ops->run ? device.ops->run(&device, &call) : try_submit(&d);
    if (s == GX_OK)
        s = try_copy(&mem, data, NULL, n * sizeof *data);
    device.ops->mem_free(&device, &mem);
    return s;
}

/* A failed call has changed nothing, a failed submit is recycled, the next one works. */
static void failures(void **state)
{
    (void)state;
    static const struct {
        const char *inner;
        unsigned calls;
    } cases[] = {{"cpu", 5}, {"sim:server-h200", 7}};
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        for (unsigned call = 1; call <= cases[i].calls + 1; call++) {
            char name[48];
            uint32_t data[4] = {1, 2, 3, 4};
            const uint32_t once[4] = {2, 4, 6, 8}, untouched[4] = {1, 2, 3, 4};
            snprintf(name, sizeof name, "fault:fail@%u:%s", call, cases[i].inner);
            open_device(name, 0);
            gx_status s = try_once(data, 4);
            assert_int_equal(s, call <= cases[i].calls ? GX_ERR_DEVICE : GX_OK);
            if (s != GX_OK) {
                assert_memory_equal(data, untouched, sizeof data);
                assert_int_equal(try_once(data, 4), GX_OK);
            }
            assert_memory_equal(data, once, sizeof data);
            close_device();
        }
    }
}

/* Recording cannot report that memory ran out: submit does. */
static void recording_without_memory(void **state)
{
    (void)state;
    enum { MANY = 300 };
    open_device("sim:server-h200", 0);
    struct gx_mem mem = alloc_mem(GX_MEM_SHARED, (size_t)MANY * 16);
    struct gx_dispatch d = {.kernel = kernel_for(GX_ADD, GX_U32, 0, false), .n = 1};
    struct gx_cmd *cmd = begin();
    gxt_heap_fail(&heap, 1, UINT64_MAX);
    for (size_t i = 0; i < MANY; i++) {
        d.bind[GX_BIND_OUT] = d.bind[GX_BIND_A] = d.bind[GX_BIND_B] = at(&mem, 16 * i);
        device.ops->dispatch(cmd, &d);
    }
    struct gx_fence point;
    assert_int_equal(device.ops->submit(cmd, NULL, 0, &point), GX_ERR_OUT_OF_MEMORY);
    gxt_heap_heal(&heap);
    device.ops->recycle(cmd);
    end(begin());
    free_mem(&mem);
    close_device();
}

/* Two instances of the same device are independent. */
static void two_devices(void **state)
{
    (void)state;
    struct gx_device other;
    struct gx_error error;
    for (size_t i = 0; i < device_count; i++) {
        open_device(device_names[i], 0);
        assert_int_equal(gx__device_open(&instance, device_names[i], &other, &error), GX_OK);
        dispatch_matches_oracle(GX_ADD, GX_U32, 0);
        gx__device_close(&other);
        dispatch_matches_oracle(GX_MUL, GX_U32, 0);
        close_device();
    }
}

static int find_devices(void **state)
{
    (void)state;
    gxt_clear_environment();
    gxt_enter_machines();
    if (gxt_one_gpu())
        device_count = 0;
    device_count += gxt_gpus(device_names + device_count);
    return 0;
}

int main(int argc, char **argv)
{
    gxt_choose_gpu(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts),
        cmocka_unit_test(unknown_devices),
        EVERYWHERE(memory_of_each_kind),
        EVERYWHERE(too_much_memory),
        EVERYWHERE(any_alignment),
        WITH_COMMANDS(copy_regions),
        EVERYWHERE(every_kernel_works),
        EVERYWHERE(reductions_add_up),
        EVERYWHERE(reductions_of_nothing),
        EVERYWHERE(kernels_that_do_not_exist),
        EVERYWHERE(repeated_kernel),
        EVERYWHERE(copy_kernel),
        EVERYWHERE(threads_of_a_call),
        WITH_COMMANDS(chain_and_resubmit),
        WITH_COMMANDS(copy_kernel_copy),
        WITH_COMMANDS(hundred_dispatches),
        WITH_COMMANDS(points_in_order),
        WITH_COMMANDS(stamps_between_submit_and_wait),
        WITH_COMMANDS(commands_given_back),
        EVERYWHERE(slot_is_lowered),
        cmocka_unit_test(failures),
        cmocka_unit_test(recording_without_memory),
        cmocka_unit_test(two_devices),
    };
    return cmocka_run_group_tests_name("contract", tests, find_devices, NULL);
}
