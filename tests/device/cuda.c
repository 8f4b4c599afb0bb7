/* SPDX-License-Identifier: Apache-2.0
 *
 * Specific to the CUDA device, on a substitute for the driver (support/fake_cuda.c): what is said
 * if something is missing, names, the calls of the contract, cache files, and every call of the
 * driver failing in turn.
 */
#include "support/harness.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/context.h"
#include "base/clock.h"
#include "device/cuda/cuda.h"
#include "support/fake_cuda.h"
#include "support/heap.h"

#define PAGE          4096u
#define WORDS         1000u
#define THREAD_ROUNDS 500u

static struct gx_instance instance;
static struct gx_device device;
static struct fake_cuda *fake;
static char message[160], folder[] = "/tmp/gx-cuda-XXXXXX";

/* The driver as a caller knows it. */
static struct cu_fn fn;

static void load_driver(void *library)
{
#define X(name, symbol, arguments) *(void **)&fn.name = dlsym(library, #symbol);
    CU_FUNCTIONS(X)
#undef X
}

/* ---- the table of kernels ---- */

#define TEXT(what) "fake " what " op GX_PTX_OP check GX_PTX_CHECK XGX_PTX_OP GX_PTX_REPEAT\n"

static const struct gx_ptx few[] = {
    {GX_SHADER_COPY, 0, 1, 64, "plain", TEXT("copy"), sizeof TEXT("copy") - 1},
    {GX_SHADER_WORDS, GX_U32, 1, 32, "plain", TEXT("words"), sizeof TEXT("words") - 1},
    {GX_SHADER_WORDS, GX_F32, 1, 32, "plain", "broken", 6}};
static const size_t few_count = GXT_COUNT(few), no_count = 0;

static void set_up(void)
{
    *fake = (struct fake_cuda){.version = 12040, .devices = 2, .capability = 90};
    gx__cu_kernels = (struct cu_kernels){few, &few_count};
    instance = (struct gx_instance){.config = {.cuda_library = GXT_FAKE_CUDA, .cache_dir = "none"}};
}

static void expect_nothing_left(void)
{
    assert_int_equal(fake->contexts, 0);
    assert_int_equal(fake->current, 0);
    assert_int_equal(fake->left, 0);
    for (int i = 0; i < FAKE_KINDS; i++)
        assert_int_equal(fake->live[i], 0);
}

static void open_it(void)
{
    gx_status s = gx__device_open(&instance, "cuda", &device, message, sizeof message);
    if (s != GX_OK)
        fail_msg("%s", message);
}

static void close_it(void)
{
    gx__device_close(&device);
    gx__device_stop(&instance);
    expect_nothing_left();
}

/* ---- what is missing ---- */

static void expect_missing(const char *text)
{
    gx_device_info info = {0};
    gx_status s = gx__device_find(&instance, "cuda:0", &info, message, sizeof message);
    assert_int_equal(s, GX_ERR_NO_DEVICE);
    if (!strstr(message, text))
        fail_msg("'%s' does not say '%s'", message, text);
    size_t count = 1;
    assert_int_equal(gx__cu_enumerate(&instance, &info, &count), GX_OK);
    assert_int_equal(count, 1);
    assert_int_equal(info.kind, GX_DEVICE_CUDA);
    assert_false(info.usable || info.automatic);
    assert_string_equal(info.description, message);
    assert_false(gx__cuda_reaches(&instance, NULL));
    gx__device_stop(&instance);
}

static void missing(void **state)
{
    (void)state;
    set_up();
    instance.config.cuda_library = "/nonexistent/libcuda.so";
    expect_missing("cannot load /nonexistent/libcuda.so: correct GPUEXEC_CUDA_LIBRARY");
    void *real = dlopen("libcuda.so.1", RTLD_LAZY);
    if (real)
        dlclose(real);
    else {
        instance.config.cuda_library = NULL;
        expect_missing("libcuda.so.1 is missing: install NVIDIA's driver");
    }
    instance.config.cuda_library = GXT_LACKING_CUDA;
    expect_missing("has no cuLaunchKernel: install a newer");
    instance.config.cuda_library = GXT_FAKE_CUDA;
    fake->version = 10020;
    expect_missing("has CUDA 10.2, needs 11.0");
    fake->version = 12040;
    fake->devices = 0;
    expect_missing("no CUDA device found");
    fake->devices = 1;
    fake->init = CUDA_ERROR_NO_DEVICE;
    expect_missing("no CUDA device found");
    fake->init = CUDA_ERROR_NOT_INITIALIZED;
    expect_missing("cuInit returned 3");
    fake->init = CUDA_SUCCESS;
    fake->capability = 61;
    gx_device_info info;
    assert_int_equal(gx__device_find(&instance, "cuda", &info, message, sizeof message),
                     GX_ERR_NO_DEVICE);
    assert_non_null(strstr(message, "has compute capability 6.1, needs 7.0"));
    gx__device_stop(&instance);
    gx__cu_kernels.count = &no_count;
    expect_missing("this build has no kernels for it");
}

/* The driver does not survive it. */
static void after_fork(void **state)
{
    (void)state;
    set_up();
    open_it();
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        struct gx_instance other = {.config = {.cuda_library = GXT_FAKE_CUDA}};
        gx_device_info info;
        gx_status s = gx__device_find(&other, "cuda", &info, message, sizeof message);
        _exit(s == GX_ERR_NO_DEVICE && strstr(message, "fork()") ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
    close_it();
}

/* ---- names ---- */

static void expect_name(const char *name, const char *expected)
{
    gx_device_info info;
    gx_status s = gx__device_find(&instance, name, &info, message, sizeof message);
    assert_int_equal(s, expected ? GX_OK : GX_ERR_NO_DEVICE);
    if (expected)
        assert_string_equal(info.name, expected);
}

static void names(void **state)
{
    (void)state;
    set_up();
    expect_name("cuda", "cuda:0");
    expect_name("cuda:1", "cuda:1");
    expect_name("cuda:b100", "cuda:1");
    expect_name("cuda:Imaginary", "cuda:0");
    expect_name("cuda:uuid=f1f1-F1", "cuda:1");
    expect_name("cuda:uuid=f2", NULL);
    expect_name("cuda:2", NULL);
    assert_non_null(strstr(message, "no CUDA device matches"));
    gx__device_stop(&instance);
}

/* Only if there is a kernel for everything that Vulkan has. */
static void automatic(void **state)
{
    (void)state;
    const uint8_t f1[16] = {0xf1, 0xf1, 0xf1, 0xf1, 0xf1, 0xf1, 0xf1, 0xf1,
                            0xf1, 0xf1, 0xf1, 0xf1, 0xf1, 0xf1, 0xf1, 0xf1},
                  other[16] = {1};
    gx_device_info info;
    set_up();
    assert_int_equal(gx__device_find(&instance, "cuda", &info, message, sizeof message), GX_OK);
    assert_false(info.automatic);
    assert_false(gx__cuda_reaches(&instance, f1));
    gx__device_stop(&instance);

    struct gx_ptx *all = calloc(gx__shader_count, sizeof *all);
    assert_non_null(all);
    for (size_t i = 0; i < gx__shader_count; i++)
        all[i] = (struct gx_ptx){
            .family = gx__shaders[i].family, .field = gx__shaders[i].field, .text = "fake"};
    gx__cu_kernels = (struct cu_kernels){all, &gx__shader_count};
    assert_int_equal(gx__device_find(&instance, "cuda", &info, message, sizeof message), GX_OK);
    assert_true(info.automatic);
    assert_true(gx__cuda_reaches(&instance, NULL) && gx__cuda_reaches(&instance, f1));
    assert_false(gx__cuda_reaches(&instance, other));
    gx__device_stop(&instance);
    free(all);
}

/* ---- memory ---- */

static void memory(void **state)
{
    (void)state;
    set_up();
    open_it();
    const struct gx_device_ops *ops = device.ops;
    struct gx_mem mem, again;
    void *host;
    for (enum gx_mem_kind kind = 0; kind < GX_MEM_KINDS; kind++) {
        assert_int_equal(ops->mem_alloc(&device, kind, (size_t)1 << 50, &mem),
                         GX_ERR_OUT_OF_DEVICE_MEMORY);
        assert_int_equal(ops->mem_alloc(&device, kind, 100, &mem), GX_OK);
        assert_int_equal(ops->map(&device, &mem, &host),
                         kind == GX_MEM_DEVICE ? GX_ERR_UNSUPPORTED : GX_OK);
        if (kind != GX_MEM_DEVICE)
            ops->unmap(&device, &mem);
        ops->mem_free(&device, &mem);
        assert_null(mem.handle);
    }
    assert_int_equal(device.facts.import_align, (size_t)sysconf(_SC_PAGESIZE));
    size_t page = device.facts.import_align;
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(ops->mem_import(&device, pages + 16, page, &mem), GX_ERR_UNSUPPORTED);
    assert_int_equal(ops->mem_import(&device, pages, page, &mem), GX_OK);
    assert_true(mem.imported && mem.host == pages && mem.kind == GX_MEM_SHARED);
    assert_int_equal(ops->mem_import(&device, pages, page, &again), GX_ERR_UNSUPPORTED);
    ops->mem_free(&device, &mem);
    munmap(pages, 2 * page);
    close_it();
}

/* ---- a run over everything ---- */

struct run {
    struct gx_mem up, in, other, out, down, imported;
    struct gx_cmd *cmd[3];
    char *pages;
    struct gx_kernel kernel;
};

static gx_status alloc_all(struct run *run)
{
    const struct gx_device_ops *ops = device.ops;
    gx_status s = ops->mem_alloc(&device, GX_MEM_UPLOAD, 4 * WORDS, &run->up);
    if (s == GX_OK)
        s = ops->mem_alloc(&device, GX_MEM_DEVICE, 4 * WORDS, &run->in);
    if (s == GX_OK)
        s = ops->mem_alloc(&device, GX_MEM_DEVICE, 4 * WORDS, &run->out);
    if (s == GX_OK)
        s = ops->mem_alloc(&device, GX_MEM_READBACK, 4 * WORDS, &run->down);
    if (s != GX_OK)
        return s;
    s = ops->mem_import(&device, run->pages, device.facts.import_align, &run->imported);
    if (s != GX_OK && s != GX_ERR_UNSUPPORTED) /* as its callers do */
        return s;
    s = ops->mem_wrap(&device, ops->mem_address(&device, &run->in), 4 * WORDS, &run->other, message,
                      sizeof message);
    return s == GX_ERR_INVALID ? GX_OK : s;
}

/* Uploads on one queue, adds on the next, downloads on the third. */
static gx_status record(struct run *run)
{
    const struct gx_device_ops *ops = device.ops;
    struct gx_dispatch d = {.kernel = run->kernel, .n = WORDS - 4};
    d.bind[GX_BIND_A] = (struct gx_binding){&run->in, 16};
    d.bind[GX_BIND_B] = (struct gx_binding){&run->in, 16};
    d.bind[GX_BIND_OUT] = (struct gx_binding){&run->out, 0};
    gx_status s = GX_OK;
    for (enum gx_queue q = 0; q < 3 && s == GX_OK; q++)
        s = ops->begin(&device, q, &run->cmd[q]);
    if (s != GX_OK)
        return s;
    ops->copy(run->cmd[GX_QUEUE_UPLOAD],
              &(struct gx_region){{&run->up, 0}, {&run->in, 0}, 4 * WORDS}, 1);
    ops->stamp(run->cmd[GX_QUEUE_COMPUTE], 0);
    ops->dispatch(run->cmd[GX_QUEUE_COMPUTE], &d);
    ops->barrier(run->cmd[GX_QUEUE_COMPUTE], GX_BARRIER_KERNEL_TO_COPY);
    ops->stamp(run->cmd[GX_QUEUE_COMPUTE], 1);
    ops->copy(run->cmd[GX_QUEUE_DOWNLOAD],
              &(struct gx_region){{&run->out, 0}, {&run->down, 0}, 4 * (WORDS - 4)}, 1);
    return GX_OK;
}

static gx_status submit_all(struct run *run)
{
    const struct gx_device_ops *ops = device.ops;
    struct gx_point up, sum, down;
    uint64_t ns[2], before = gx__now_ns();
    gx_status s = ops->submit(run->cmd[GX_QUEUE_UPLOAD], NULL, 0, &up);
    if (s == GX_OK)
        s = ops->submit(run->cmd[GX_QUEUE_COMPUTE], &up, 1, &sum);
    if (s == GX_OK)
        s = ops->submit(run->cmd[GX_QUEUE_DOWNLOAD], (struct gx_point[]){up, sum}, 2, &down);
    if (s == GX_OK)
        s = ops->wait(&device, down, GX_WAIT_FOREVER);
    if (s == GX_OK)
        s = ops->stamps(run->cmd[GX_QUEUE_COMPUTE], ns, 2);
    if (s == GX_OK) {
        assert_true(ops->reached(&device, up) && ops->reached(&device, sum));
        assert_true(before <= ns[0] && ns[0] <= ns[1] && ns[1] <= gx__now_ns());
    }
    return s;
}

static void check_words(struct run *run, uint32_t from)
{
    const uint32_t *down = run->down.host;
    for (uint32_t i = 0; i < WORDS - 4; i++)
        assert_int_equal(down[i], 2 * (from + i + 4));
}

static void fill(struct run *run, uint32_t from)
{
    uint32_t *up = run->up.host;
    for (uint32_t i = 0; i < WORDS; i++)
        up[i] = from + i;
}

static void end_run(struct run *run)
{
    struct gx_mem *const mems[] = {&run->other, &run->up,   &run->in,
                                   &run->out,   &run->down, &run->imported};
    for (int q = 0; q < 3; q++)
        if (run->cmd[q])
            device.ops->recycle(run->cmd[q]);
    for (size_t i = 0; i < GXT_COUNT(mems); i++)
        if (mems[i]->handle)
            device.ops->mem_free(&device, mems[i]);
}

/* Once with this device, which is open; what is recorded is submitted twice. */
static gx_status use_device(struct run *run)
{
    struct gx_kernel_key key = {.op = GX_ADD, .field = GX_U32};
    gx_status s = alloc_all(run);
    if (s == GX_OK)
        s = device.ops->kernel(&device, &key, &run->kernel);
    if (s == GX_OK)
        s = record(run);
    for (uint32_t i = 0; i < 2 && s == GX_OK; i++) {
        fill(run, 1000 * i);
        s = submit_all(run);
        if (s == GX_OK)
            check_words(run, 1000 * i);
    }
    end_run(run);
    return s;
}

static gx_status run_all(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct run run = {
        .pages = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
    gx_status s = gx__device_open(&instance, "cuda", &device, message, sizeof message);
    if (s == GX_OK) {
        s = use_device(&run);
        gx__device_close(&device);
    }
    gx__device_stop(&instance);
    munmap(run.pages, page);
    return s;
}

static void runs(void **state)
{
    (void)state;
    set_up();
    assert_int_equal(run_all(), GX_OK);
    assert_true(fake->launches > 2);
    expect_nothing_left();
    fake->no_counters = true; /* the host asks about events */
    assert_int_equal(run_all(), GX_OK);
    expect_nothing_left();
}

static void recycled(void **state)
{
    (void)state;
    set_up();
    fake->no_counters = true;
    open_it();
    struct gx_cmd *first, *second;
    struct gx_point done, last = {0};
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_UPLOAD, &first), GX_OK);
    for (int i = 0; i < 3 * CU_RING; i++) { /* more points than events */
        assert_int_equal(device.ops->submit(first, &last, i > 0, &done), GX_OK);
        assert_true(done.queue == GX_QUEUE_UPLOAD && done.value > last.value);
        last = done;
    }
    assert_int_equal(device.ops->wait(&device, last, 0), GX_OK);
    device.ops->recycle(first);
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_UPLOAD, &second), GX_OK);
    assert_ptr_equal(first, second);
    uint64_t ns;
    assert_int_equal(device.ops->stamps(second, &ns, 1), GX_ERR_INVALID);
    device.ops->recycle(second);
    close_it();
}

/* An event is recorded for the first command of another queue that waits, and not if there is
 * nothing to wait for. */
static void waits(void **state)
{
    (void)state;
    static const unsigned calls[] = {5, 4, 3}; /* push, record, wait, write, pop */
    struct gx_cmd *up, *sum[3];
    struct gx_point done, last;
    set_up();
    open_it();
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_UPLOAD, &up), GX_OK);
    fake->hold = true;
    assert_int_equal(device.ops->submit(up, NULL, 0, &done), GX_OK);
    for (int i = 0; i < 3; i++) {
        enum gx_queue queue = i == 1 ? GX_QUEUE_DOWNLOAD : GX_QUEUE_COMPUTE;
        assert_int_equal(device.ops->begin(&device, queue, &sum[i]), GX_OK);
        if (i == 2) { /* reached in the meantime */
            fake->hold = false;
            assert_int_equal(device.ops->submit(up, NULL, 0, &last), GX_OK);
        }
        unsigned before = fake->every;
        assert_int_equal(device.ops->submit(sum[i], &done, 1, &last), GX_OK);
        assert_int_equal(fake->every - before, calls[i]);
    }
    fake->hold = false;
    for (enum gx_queue q = 0; q < 3; q++) {
        struct gx_cmd *cmd;
        assert_int_equal(device.ops->begin(&device, q, &cmd), GX_OK);
        assert_int_equal(device.ops->submit(cmd, NULL, 0, &last), GX_OK);
        assert_int_equal(device.ops->wait(&device, last, GX_WAIT_FOREVER), GX_OK);
        device.ops->recycle(cmd);
    }
    device.ops->recycle(up);
    for (int i = 0; i < 3; i++)
        device.ops->recycle(sum[i]);
    close_it();
}

/* The stream of the clock may be behind that of the command, and its event may be newer. */
static void clocks(void **state)
{
    (void)state;
    struct gx_cmd *cmd;
    struct gx_point done;
    uint64_t ns[2];
    set_up();
    open_it();
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    device.ops->stamp(cmd, 0);
    device.ops->stamp(cmd, 1);
    for (int i = 0; i < 2; i++) {
        uint64_t before = gx__now_ns();
        assert_int_equal(device.ops->submit(cmd, NULL, 0, &done), GX_OK);
        assert_int_equal(device.ops->wait(&device, done, GX_WAIT_FOREVER), GX_OK);
        struct cu_clock *clock = &cu_of(&device)->clock;
        if (i) {
            assert_int_equal(fn.EventRecord(clock->event, clock->stream), CUDA_SUCCESS);
            clock->ns = gx__now_ns();
        } else {
            fake->fail_at = fake->calls + 1;
            fake->fail_with = CUDA_ERROR_NOT_READY;
        }
        assert_int_equal(device.ops->stamps(cmd, ns, 2), GX_OK);
        assert_true(before <= ns[0] && ns[0] <= ns[1] && ns[1] <= gx__now_ns());
    }
    device.ops->recycle(cmd);
    close_it();
}

/* Copies its own memory on one queue after the other, each after the one before. */
static void *copy_around(void *user)
{
    const struct gx_device_ops *ops = device.ops;
    struct gx_mem up, down;
    struct gx_point last = {0};
    uint32_t seed = *(uint32_t *)user, failed = 0;
    for (uint32_t i = 0; i < THREAD_ROUNDS; i++) {
        struct gx_cmd *cmd;
        if (ops->mem_alloc(&device, GX_MEM_UPLOAD, 64, &up) != GX_OK ||
            ops->mem_alloc(&device, GX_MEM_READBACK, 64, &down) != GX_OK ||
            ops->begin(&device, (enum gx_queue)(i % 3), &cmd) != GX_OK)
            return user; /* the test has failed: never mind the rest */
        *(uint32_t *)up.host = seed + i;
        ops->copy(cmd, &(struct gx_region){{&up, 0}, {&down, 0}, 64}, 1);
        failed |= ops->submit(cmd, &last, i > 0, &last) != GX_OK;
        failed |= ops->wait(&device, last, GX_WAIT_FOREVER) != GX_OK;
        failed |= *(uint32_t *)down.host != seed + i;
        ops->recycle(cmd);
        ops->mem_free(&device, &up);
        ops->mem_free(&device, &down);
    }
    return failed ? user : NULL;
}

static void threads(void **state)
{
    (void)state;
    pthread_t thread[4];
    uint32_t seed[GXT_COUNT(thread)];
    set_up();
    open_it();
    for (uint32_t i = 0; i < GXT_COUNT(thread); i++) {
        seed[i] = i << 16;
        assert_int_equal(pthread_create(&thread[i], NULL, copy_around, &seed[i]), 0);
    }
    for (size_t i = 0; i < GXT_COUNT(thread); i++) {
        void *failed;
        assert_int_equal(pthread_join(thread[i], &failed), 0);
        assert_null(failed);
    }
    close_it();
}

static void timeouts(void **state)
{
    (void)state;
    for (int counters = 0; counters < 2; counters++) {
        set_up();
        fake->no_counters = !counters;
        open_it();
        struct gx_cmd *cmd;
        struct gx_point done;
        assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
        fake->hold = true;
        assert_int_equal(device.ops->submit(cmd, NULL, 0, &done), GX_OK);
        assert_false(device.ops->reached(&device, done));
        assert_int_equal(device.ops->wait(&device, done, 0), GX_ERR_TIMEOUT);
        assert_int_equal(device.ops->wait(&device, done, 3000000), GX_ERR_TIMEOUT);
        fake->hold = false;
        assert_int_equal(device.ops->submit(cmd, NULL, 0, &done), GX_OK);
        assert_int_equal(device.ops->wait(&device, done, GX_WAIT_FOREVER), GX_OK);
        device.ops->recycle(cmd);
        close_it();
    }
}

/* ---- what a small job costs ---- */

#define SMALL_RUNS 20u
#define SMALL      64u

/* The least and the most calls of the driver in one of several jobs. */
static unsigned calls_of_job(gx_ctx *ctx, gx_report *report, unsigned *most)
{
    uint32_t a[SMALL] = {0}, b[SMALL] = {0}, out[SMALL];
    const gx_job job = {.op = GX_ADD,
                        .field = GX_U32,
                        .n = SMALL,
                        .a = gx_host(a),
                        .b = gx_host(b),
                        .out = gx_host(out)};
    const gx_run_opts opts = {.struct_size = sizeof opts, .device = "cuda:0"};
    unsigned least = UINT32_MAX;
    *most = 0;
    for (uint32_t i = 0; i < SMALL_RUNS; i++) {
        for (uint32_t k = 0; k < SMALL; k++) {
            a[k] = 7 * k;
            b[k] = i;
        }
        unsigned before = fake->every;
        assert_int_equal(gx_run(ctx, &job, 1, &opts, report), GX_OK);
        unsigned calls = fake->every - before;
        if (i) { /* the first one opens the device, or records */
            least = calls < least ? calls : least;
            *most = calls > *most ? calls : *most;
        }
        for (uint32_t k = 0; k < SMALL; k++)
            assert_int_equal(out[k], 7 * k + i);
    }
    return least;
}

/* Each call takes one or two of the microseconds that a small job takes in all. */
static void small_jobs(void **state)
{
    (void)state;
    gx_config config = {.struct_size = sizeof config,
                        .cache_dir = "none",
                        .cuda_library = GXT_FAKE_CUDA,
                        .ignore_environment = 1};
    gx_report report = {.struct_size = sizeof report};
    gx_ctx *ctx;
    unsigned most;
    set_up();
    assert_int_equal(gx_open(&config, &ctx), GX_OK);
    /* the context is pushed, a launch, the counter, the context is popped */
    assert_int_equal(calls_of_job(ctx, NULL, &most), 4);
    assert_int_equal(most, 4);
    /* two stamps, and asking about them between another push and pop; one in a tenth of a second
       sets the clock */
    assert_int_equal(calls_of_job(ctx, &report, &most), 10);
    assert_in_range(most, 10, 11);
    assert_int_equal(report.path, GX_PATH_HOST_VISIBLE);
    assert_int_equal(report.submits, 1);
    gx_close(&ctx);
    expect_nothing_left();
}

/* ---- memory of the caller ---- */

static CUdeviceptr caller_alloc(CUcontext context, size_t bytes)
{
    CUdeviceptr memory;
    assert_int_equal(fn.CtxPushCurrent(context), CUDA_SUCCESS);
    assert_int_equal(fn.MemAlloc(&memory, bytes), CUDA_SUCCESS);
    assert_int_equal(fn.CtxPopCurrent(&context), CUDA_SUCCESS);
    return memory;
}

static void expect_refused(gx_ctx *ctx, const char *name, uint64_t address, size_t bytes,
                           gx_status status, const char *text)
{
    gx_buf *buf = (gx_buf *)&buf;
    assert_int_equal(gx_buf_from_cuda(ctx, name, address, bytes, &buf), status);
    assert_null(buf);
    if (!strstr(gx_last_message(), text))
        fail_msg("'%s' does not say '%s'", gx_last_message(), text);
}

static void refuse_all(gx_ctx *ctx, CUdeviceptr memory, CUcontext primary)
{
    struct fake_cuda *other = fake + 1; /* a context that nobody retained, and one of no device */
    CUdeviceptr foreign = caller_alloc((CUcontext)other, 64),
                far = caller_alloc((CUcontext)((char *)primary + 1), 64);
    uint32_t word;
    void *pinned;
    expect_refused(ctx, "cpu", memory, 64, GX_ERR_UNSUPPORTED, "on 'cpu': not a CUDA device");
    expect_refused(ctx, "cuda:7", memory, 64, GX_ERR_NO_DEVICE, "no CUDA device matches");
    expect_refused(ctx, NULL, memory, 64, GX_ERR_INVALID, "name the device");
    expect_refused(NULL, "cuda:0", memory, 64, GX_ERR_INVALID, "ctx is NULL");
    expect_refused(ctx, "cuda:0", memory, 0, GX_ERR_INVALID, "no bytes");
    expect_refused(ctx, "cuda:0", memory + 4, 64, GX_ERR_INVALID, "multiple of 16");
    expect_refused(ctx, "cuda:0", 0, 64, GX_ERR_INVALID, "no address of CUDA memory");
    expect_refused(ctx, "cuda:0", (uintptr_t)&word / 16 * 16, 64, GX_ERR_INVALID, "no address");
    expect_refused(ctx, "cuda:0", memory + 16, 4 * WORDS, GX_ERR_INVALID, "past the end");
    expect_refused(ctx, "cuda:0", memory, SIZE_MAX, GX_ERR_INVALID, "past the end");
    expect_refused(ctx, "cuda:0", foreign, 64, GX_ERR_INVALID, "primary context");
    expect_refused(ctx, "cuda:0", far, 64, GX_ERR_INVALID, "another device");
    assert_int_equal(fn.MemHostAlloc(&pinned, 64, 0), CUDA_SUCCESS);
    expect_refused(ctx, "cuda:0", (uintptr_t)pinned, 64, GX_ERR_INVALID, "gx_host_register");
    fn.MemFreeHost(pinned);
    for (unsigned call = 1; call <= 4; call++) {
        fake->fail_at = fake->calls + call;
        fake->fail_with = CUDA_ERROR_NOT_SUPPORTED;
        expect_refused(ctx, "cuda:0", memory, 64, GX_ERR_UNSUPPORTED, "on 'cuda:0'");
    }
    fn.MemFree(foreign);
    fn.MemFree(far);
    assert_int_equal(gx_buf_from_cuda(ctx, "cuda:0", memory, 64, NULL), GX_ERR_INVALID);
}

static uint64_t held_by(gx_ctx *ctx)
{
    gx_statistics stats = {.struct_size = sizeof stats};
    assert_int_equal(gx_stats(ctx, &stats), GX_OK);
    return stats.device_bytes;
}

/* Adds the caller's words to themselves, twice, in place: through the buffer, and through one at an
 * offset. */
static void add_in_place(gx_ctx *ctx, CUdeviceptr memory)
{
    uint32_t *words = (uint32_t *)(uintptr_t)memory, some[4];
    gx_buf *all, *rest;
    uint64_t held = held_by(ctx);
    assert_int_equal(gx_buf_from_cuda(ctx, "cuda:0", memory, 4 * WORDS, &all), GX_OK);
    assert_int_equal(gx_buf_from_cuda(ctx, "cuda", memory + 16, 4 * WORDS - 16, &rest), GX_OK);
    assert_int_equal(gx_buf_cuda_address(all), memory);
    assert_int_equal(gx_buf_cuda_address(rest), memory + 16);
    assert_int_equal(gx_buf_size(rest), 4 * WORDS - 16);
    assert_string_equal(gx_buf_device(rest), "cuda:0");
    assert_int_equal(held_by(ctx), held);
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = i;
    gx_operand whole = gx_dev(all, 0), part = gx_dev(rest, 0);
    const gx_job jobs[] = {
        {.op = GX_ADD, .field = GX_U32, .n = WORDS, .a = whole, .b = whole, .out = whole},
        {.op = GX_ADD, .field = GX_U32, .n = WORDS - 4, .a = part, .b = part, .out = part}};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(gx_run(ctx, &jobs[i], 1, NULL, NULL), GX_OK);
    for (uint32_t i = 0; i < WORDS; i++)
        assert_int_equal(words[i], i < 4 ? 2 * i : 4 * i);
    assert_int_equal(gx_buf_read(rest, 16, some, sizeof some), GX_OK);
    assert_int_equal(some[3], 4 * 11);
    assert_int_equal(gx_buf_write(all, 0, some, sizeof some), GX_OK);
    assert_int_equal(words[3], 4 * 11);
    gx_buf_destroy(&all);
    gx_buf_destroy(&rest);
    words[5] = 1; /* still there */
}

static void give_out(gx_ctx *ctx)
{
    gx_buf *buf;
    for (uint32_t flags = 0; flags <= GX_BUF_MAPPABLE; flags++) {
        assert_int_equal(gx_buf_create(ctx, "cuda:0", 64, flags, &buf), GX_OK);
        uint32_t *words = (uint32_t *)(uintptr_t)gx_buf_cuda_address(buf), word;
        words[3] = 77;
        assert_int_equal(gx_buf_read(buf, 12, &word, sizeof word), GX_OK);
        assert_int_equal(word, 77);
        gx_buf_destroy(&buf);
    }
    assert_int_equal(gx_buf_create(ctx, "cpu", 64, 0, &buf), GX_OK);
    assert_int_equal(gx_buf_cuda_address(buf), 0);
    gx_buf_destroy(&buf);
    assert_int_equal(gx_buf_cuda_address(NULL), 0);
}

static void interop(void **state)
{
    (void)state;
    gx_config config = {.struct_size = sizeof config,
                        .cache_dir = "none",
                        .cuda_library = GXT_FAKE_CUDA,
                        .ignore_environment = 1};
    gx_ctx *ctx;
    gx_buf *buf;
    CUcontext primary;
    set_up();
    assert_int_equal(fn.DevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    CUdeviceptr memory = caller_alloc(primary, 4 * WORDS);
    assert_int_equal(gx_open(&config, &ctx), GX_OK);
    add_in_place(ctx, memory);
    refuse_all(ctx, memory, primary);
    give_out(ctx);
    assert_int_equal(gx_buf_from_cuda(ctx, "fault:fail@1000000:cuda:0", memory, 64, &buf), GX_OK);
    assert_int_equal(gx_buf_cuda_address(buf), memory);
    gx_buf_destroy(&buf);
    gx_close(&ctx);
    assert_int_equal(fake->live[FAKE_DEVICE_MEMORY], 1);
    fn.MemFree(memory);

    config.device = "cuda:0"; /* if the driver ends the memory first, as with a lost device */
    memory = caller_alloc(primary, 64);
    assert_int_equal(gx_open(&config, &ctx), GX_OK);
    assert_int_equal(gx_buf_from_cuda(ctx, NULL, memory, 64, &buf), GX_OK);
    fn.MemFree(memory);
    gx_buf_destroy(&buf);
    gx_close(&ctx);
    fn.DevicePrimaryCtxRelease(0);
    expect_nothing_left();
}

/* ---- failures ---- */

/* A stream that fails says so only if it is asked. */
static void lost(void **state)
{
    (void)state;
    set_up();
    open_it();
    struct gx_cmd *cmd;
    struct gx_point done;
    struct gx_mem mem;
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_DEVICE, 16, &mem), GX_OK);
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    fake->hold = true;
    assert_int_equal(device.ops->submit(cmd, NULL, 0, &done), GX_OK);
    fake->fail_at = fake->calls + 1;
    fake->fail_with = CUDA_ERROR_LAUNCH_FAILED;
    assert_int_equal(device.ops->wait(&device, done, GX_WAIT_FOREVER), GX_ERR_DEVICE_LOST);
    assert_true(device.ops->reached(&device, done));
    assert_int_equal(device.ops->submit(cmd, NULL, 0, &done), GX_ERR_DEVICE_LOST);
    device.ops->recycle(cmd);
    device.ops->mem_free(&device, &mem);
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_DEVICE, 16, &mem), GX_ERR_DEVICE_LOST);
    close_it();
    fake->hold = false;
    assert_int_equal(run_all(), GX_OK); /* the context is a new one */
    expect_nothing_left();
}

static bool expected(CUresult with, gx_status s)
{
    if (s == GX_OK || s == GX_ERR_NO_DEVICE) /* it was not needed, or while listing */
        return true;
    if (s == GX_ERR_DEVICE_LOST &&
        fake->no_counters) /* any answer about work but that it is done */
        return true;
    switch (with) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        return s == GX_ERR_OUT_OF_DEVICE_MEMORY;
    case CUDA_ERROR_NOT_SUPPORTED:
        return s == GX_ERR_UNSUPPORTED;
    case CUDA_ERROR_LAUNCH_FAILED:
        return s == GX_ERR_DEVICE_LOST;
    default:
        return s == GX_ERR_DEVICE;
    }
}

static void each_call_fails(void **state)
{
    (void)state;
    static const CUresult with[] = {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_VALUE,
                                    CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_LAUNCH_FAILED};
    for (size_t i = 0; i <= GXT_COUNT(with); i++)
        for (unsigned n = 1, failed = 0;; n++) {
            set_up();
            fake->no_counters = i == GXT_COUNT(with);
            fake->fail_at = n;
            fake->fail_with = with[i % GXT_COUNT(with)];
            gx_status s = run_all();
            if (!expected(fake->fail_with, s))
                fail_msg("call %u failing with %d: %s", n, fake->fail_with, gx_status_name(s));
            failed += s != GX_OK;
            expect_nothing_left();
            if (fake->calls < n) {
                assert_int_equal(s, GX_OK);
                assert_true(failed > 40);
                break;
            }
        }
}

static void each_allocation_fails(void **state)
{
    (void)state;
    for (uint64_t n = 1, last = 0; !last; n++) {
        struct gxt_heap heap;
        gxt_heap_start(&heap);
        set_up();
        instance.config.allocator = gxt_heap_allocator(&heap);
        gxt_heap_fail(&heap, n, 0);
        gx_status s = run_all();
        last = gxt_heap_calls(&heap) < n;
        gxt_heap_end(&heap);
        expect_nothing_left();
        assert_true(s == GX_OK || (s == GX_ERR_OUT_OF_MEMORY && !last));
        assert_true(!last || n > 8);
    }
}

static void no_such_kernel(void **state)
{
    (void)state;
    set_up();
    open_it();
    struct gx_kernel kernel;
    struct gx_kernel_key key = {.op = GX_ADD, .field = GX_F32};
    assert_int_equal(device.ops->kernel(&device, &key, &kernel), GX_ERR_DEVICE); /* broken */
    key = (struct gx_kernel_key){.op = GX_MUL, .field = GX_BN254_FR};
    assert_int_equal(device.ops->kernel(&device, &key, &kernel), GX_ERR_UNSUPPORTED);
    close_it();
}

/* ---- registered operations ---- */

static gx_op register_op(const char *name, const char *ptx, uint32_t block)
{
    const gx_op_desc desc = {.struct_size = sizeof desc,
                             .name = name,
                             .operands = 1,
                             .a_bytes = 4,
                             .out_bytes = 4,
                             .params_bytes = 4,
                             .group_elems = 32,
                             .wgsl = "none",
                             .ptx = ptx,
                             .ptx_block = {block}};
    gx_op op;
    gx_status s = gx__own_register(&instance, &desc, &op, message, sizeof message);
    if (s != GX_OK)
        fail_msg("%s", message);
    return op;
}

static void end_op(gx_op op)
{
    assert_true(gx__own_end(&instance, op));
    gx__own_free(op);
}

/* The device says why it does not run it; NULL: there is nothing to add. */
static void expect_refusal(const char *ptx, uint32_t block, const char *text)
{
    gx_op op = register_op("refused", ptx, block);
    struct gx_kernel kernel;
    struct gx_kernel_key key = {.op = op};
    assert_int_equal(device.ops->kernel(&device, &key, &kernel), GX_ERR_UNSUPPORTED);
    const char *why = device.ops->refusal(&device, op);
    if (text && (!why || !strstr(why, text)))
        fail_msg("'%s' does not say '%s'", why ? why : "", text);
    if (!text)
        assert_null(why);
    end_op(op);
}

static void run_own(gx_op op)
{
    struct gx_kernel_key key = {.op = op, .param = {3}};
    struct gx_dispatch d = {.n = WORDS - 1};
    struct gx_mem in, out;
    struct gx_cmd *cmd;
    struct gx_point done;
    assert_int_equal(device.ops->kernel(&device, &key, &d.kernel), GX_OK);
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_SHARED, 4 * WORDS, &in), GX_OK);
    assert_int_equal(device.ops->mem_alloc(&device, GX_MEM_SHARED, 4 * WORDS, &out), GX_OK);
    for (uint32_t i = 0; i < WORDS; i++)
        ((uint32_t *)in.host)[i] = i;
    d.bind[GX_BIND_A] = (struct gx_binding){&in, 4};
    d.bind[GX_BIND_OUT] = (struct gx_binding){&out, 0};
    assert_int_equal(device.ops->begin(&device, GX_QUEUE_COMPUTE, &cmd), GX_OK);
    device.ops->dispatch(cmd, &d);
    assert_int_equal(device.ops->submit(cmd, NULL, 0, &done), GX_OK);
    assert_int_equal(device.ops->wait(&device, done, GX_WAIT_FOREVER), GX_OK);
    for (uint32_t i = 0; i < WORDS - 1; i++)
        assert_int_equal(((uint32_t *)out.host)[i], 3 * (i + 1));
    device.ops->recycle(cmd);
    device.ops->mem_free(&device, &in);
    device.ops->mem_free(&device, &out);
}

static void registered(void **state)
{
    (void)state;
    set_up();
    open_it();
    gx_op op = register_op("own", "fake own", 32);
    run_own(op);
    end_op(op);
    expect_refusal("broken", 32, "cannot compile it, or it has no entry point 'kernel': line 1:");
    expect_refusal("fake own", 2048, "its blocks are 2048 x 1 x 1");
    expect_refusal(NULL, 32, NULL);
    close_it();
}

/* ---- one GPU, several devices ---- */

/* Adds 1. */
static void add_one(void *user, const gx_kernel_call *call)
{
    (void)user;
    for (size_t i = 0; i < call->n; i++) {
        uint32_t word;
        memcpy(&word, (const char *)call->a + i * call->a_step, sizeof word);
        word++;
        memcpy((char *)call->out + 4 * i, &word, sizeof word);
    }
}

static void expect_added(gx_ctx *ctx, gx_op op, const char *device_name)
{
    uint32_t a[SMALL], out[SMALL];
    gx_report report = {.struct_size = sizeof report};
    const gx_run_opts opts = {.struct_size = sizeof opts, .policy = GX_POLICY_GPU};
    for (uint32_t i = 0; i < SMALL; i++)
        a[i] = i;
    const gx_job job = {.op = op, .n = SMALL, .a = gx_host(a), .out = gx_host(out)};
    gx_status s = gx_run(ctx, &job, 1, &opts, &report);
    assert_int_equal(s, device_name ? GX_OK : GX_ERR_UNSUPPORTED);
    if (device_name)
        assert_string_equal(report.device, device_name);
    for (uint32_t i = 0; i < SMALL && device_name; i++)
        assert_int_equal(out[i], i + 1);
}

/* An operation without PTX runs on another device that is the same GPU. No machine that runs this
 * test has one, so a simulated one is put in its place. */
static void standby(void **state)
{
    (void)state;
    static const char other[] = "sim:gpu-of-two-names";
    gx_config config = {.struct_size = sizeof config,
                        .device = "cuda:0,cuda:1",
                        .cache_dir = "none",
                        .cuda_library = GXT_FAKE_CUDA,
                        .sample_every = UINT32_MAX,
                        .ignore_environment = 1};
    const gx_op_desc desc = {.struct_size = sizeof desc,
                             .name = "add-one",
                             .operands = 1,
                             .a_bytes = 4,
                             .out_bytes = 4,
                             .group_elems = 32,
                             .fn = add_one};
    gx_ctx *ctx;
    gx_op op;
    set_up();
    gxt_enter_machines();
    assert_int_equal(gx_open(&config, &ctx), GX_OK);
    assert_int_equal(gx_op_register(ctx, &desc, &op), GX_OK);
    expect_added(ctx, op, NULL);
    assert_int_equal(ctx->router.candidates, 2);
    assert_int_equal(ctx->router.candidate[0]->chip, 1);
    assert_int_equal(ctx->router.candidate[1]->chip, 2);
    assert_int_equal(ctx->router.standbys, 0);
    struct gx_standby *twin = &ctx->router.standby[ctx->router.standbys++];
    strcpy(twin->name, other);
    twin->chip = 3; /* another GPU */
    expect_added(ctx, op, NULL);
    assert_null(twin->slot);
    twin->chip = 2;
    expect_added(ctx, op, other);
    expect_added(ctx, op, other);
    assert_int_equal(twin->slot->chip, 2);
    gx_close(&ctx);
    expect_nothing_left();
}

static void chips(void **state)
{
    (void)state;
    struct gx_chip first, second, same = {.name = "Imaginary B100"}, none;
    set_up();
    gxt_enter_machines();
    assert_true(gx__device_chip(&instance, "cuda:0", &first));
    assert_true(gx__device_chip(&instance, "fault:fail@7:cuda:1", &second));
    assert_true(first.has_uuid && second.has_uuid && first.uuid[0] == 0xf0);
    assert_false(gx__same_chip(&first, &second));
    assert_true(gx__same_chip(&first, &first));
    assert_true(gx__same_chip(&second, &same) && !gx__same_chip(&first, &same));
    memcpy(same.uuid, first.uuid, sizeof same.uuid); /* counts if there is one */
    same.has_uuid = true;
    assert_true(gx__same_chip(&first, &same) && !gx__same_chip(&second, &same));
    assert_true(gx__device_chip(&instance, "sim:gpu-of-two-names#1", &first));
    assert_true(gx__device_chip(&instance, "sim:gpu-of-two-names#2", &second));
    assert_true(gx__same_chip(&first, &second));
    assert_false(gx__device_chip(&instance, "sim:gpu-of-four#2", &none));
    assert_false(gx__device_chip(&instance, "cpu", &none));
    assert_false(gx__device_chip(&instance, "cuda:7", &none));
    assert_false(gx__device_chip(&instance, "fault:", &none));
    gx__device_stop(&instance);
}

/* ---- cache files ---- */

static void damage_files(void)
{
    DIR *files = opendir(folder);
    assert_non_null(files);
    for (const struct dirent *e; (e = readdir(files));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        FILE *file = strstr(e->d_name, ".cubin") ? fopen(path, "r+") : NULL;
        if (!file)
            continue;
        fseek(file, -8, SEEK_END);
        fputc('#', file);
        fclose(file);
    }
    closedir(files);
}

static void remove_files(void)
{
    DIR *files = opendir(folder);
    for (const struct dirent *e; files && (e = readdir(files));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (files)
        closedir(files);
    rmdir(folder);
}

static void cached(void **state)
{
    (void)state;
    set_up();
    assert_non_null(mkdtemp(folder));
    instance.config.cache_dir = folder;
    assert_int_equal(run_all(), GX_OK);
    assert_int_equal(fake->links, 2); /* the copies of the measurement, and the sums */
    assert_int_equal(run_all(), GX_OK);
    assert_int_equal(fake->links, 2);
    damage_files();
    assert_int_equal(run_all(), GX_OK);
    assert_int_equal(fake->links, 3); /* the measurement has a file of its own */
    remove_files();
    expect_nothing_left();
}

int main(void)
{
    void *library = dlopen(GXT_FAKE_CUDA, RTLD_NOW);
    fake = library ? dlsym(library, FAKE_CUDA_SYMBOL) : NULL;
    if (!fake) {
        print_error("%s\n", dlerror());
        return 1;
    }
    load_driver(library);
    const struct CMUnitTest tests[] = {cmocka_unit_test(registered),
                                       cmocka_unit_test(missing),
                                       cmocka_unit_test(names),
                                       cmocka_unit_test(automatic),
                                       cmocka_unit_test(memory),
                                       cmocka_unit_test(runs),
                                       cmocka_unit_test(recycled),
                                       cmocka_unit_test(waits),
                                       cmocka_unit_test(clocks),
                                       cmocka_unit_test(timeouts),
                                       cmocka_unit_test(threads),
                                       cmocka_unit_test(small_jobs),
                                       cmocka_unit_test(interop),
                                       cmocka_unit_test(standby),
                                       cmocka_unit_test(chips),
                                       cmocka_unit_test(lost),
                                       cmocka_unit_test(cached),
                                       cmocka_unit_test(after_fork),
                                       cmocka_unit_test(no_such_kernel),
                                       cmocka_unit_test(each_call_fails),
                                       cmocka_unit_test(each_allocation_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
