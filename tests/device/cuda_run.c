/* SPDX-License-Identifier: Apache-2.0
 *
 * See cuda_run.h.
 */
#include "device/cuda_run.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"

struct gx_instance instance;
struct gx_device device;
struct fake_cuda *fake;
struct cu_fn fn;
struct gx_error error;
struct cu_kernels all_kernels;

int prepare(void **state)
{
    (void)state;
    void *library = dlopen(GXT_FAKE_CUDA, RTLD_NOW);
    fake = library ? dlsym(library, FAKE_CUDA_SYMBOL) : NULL;
    if (!fake) {
        print_error("%s\n", dlerror());
        return 1;
    }
#define X(name, symbol, arguments) *(void **)&fn.name = dlsym(library, #symbol);
    CU_FUNCTIONS(X)
#undef X
    all_kernels = gx__cu_kernels;
    return 0;
}

/* ---- the table of kernels ---- */

#define TEXT(what) "fake " what " op GX_PTX_OP check GX_PTX_CHECK XGX_PTX_OP GX_PTX_REPEAT\n"

static const struct gx_ptx few[] = {
    {GX_SHADER_COPY, 0, 1, 64, "plain", TEXT("copy"), sizeof TEXT("copy") - 1},
    {GX_SHADER_WORDS, GX_U32, 1, 32, "plain", TEXT("words GX_PTX_AWAIT"),
     sizeof TEXT("words GX_PTX_AWAIT") - 1},
    {GX_SHADER_WORDS, GX_F32, 1, 32, "plain", "broken", 6}};
static const size_t few_count = GXT_COUNT(few);

void set_up(void)
{
    *fake = (struct fake_cuda){.version = 12040, .devices = 2, .capability = 90};
    gx__cu_kernels = (struct cu_kernels){few, &few_count};
    atomic_store(&gx__cu_patience_ns, CU_PATIENCE_NS);
    instance = (struct gx_instance){.config = {.cuda_library = GXT_FAKE_CUDA, .cache_dir = "none"}};
}

void expect_nothing_left(void)
{
    assert_int_equal(fake->contexts, 0);
    assert_int_equal(fake->current, 0);
    assert_int_equal(fake->endless, 0);
    assert_int_equal(fake->left, 0);
    for (int i = 0; i < FAKE_KINDS; i++)
        assert_int_equal(fake->live[i], 0);
}

void open_it(void)
{
    gx_status s = gx__device_open(&instance, "cuda", &device, &error);
    if (s != GX_OK)
        fail_msg("%s", error.text);
}

void close_it(void)
{
    gx__device_close(&device);
    gx__device_stop(&instance);
    expect_nothing_left();
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
    s = ops->mem_wrap(&device, ops->mem_address(&device, &run->in), 4 * WORDS, &run->other, &error);
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
              &(struct gx_region){.from = {&run->up, 0}, .to = {&run->in, 0}, .size = 4 * WORDS},
              1);
    ops->stamp(run->cmd[GX_QUEUE_COMPUTE], 0);
    ops->dispatch(run->cmd[GX_QUEUE_COMPUTE], &d);
    ops->barrier(run->cmd[GX_QUEUE_COMPUTE], GX_BARRIER_KERNEL_TO_COPY);
    ops->stamp(run->cmd[GX_QUEUE_COMPUTE], 1);
    ops->copy(
        run->cmd[GX_QUEUE_DOWNLOAD],
        &(struct gx_region){.from = {&run->out, 0}, .to = {&run->down, 0}, .size = 4 * (WORDS - 4)},
        1);
    return GX_OK;
}

static gx_status submit_all(struct run *run)
{
    const struct gx_device_ops *ops = device.ops;
    struct gx_fence up, sum, down;
    uint64_t ns[2], before = gx__now_ns();
    gx_status s = ops->submit(run->cmd[GX_QUEUE_UPLOAD], NULL, 0, &up);
    if (s == GX_OK)
        s = ops->submit(run->cmd[GX_QUEUE_COMPUTE], &up, 1, &sum);
    if (s == GX_OK)
        s = ops->submit(run->cmd[GX_QUEUE_DOWNLOAD], (struct gx_fence[]){up, sum}, 2, &down);
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

gx_status run_all(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct run run = {
        .pages = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
    gx_status s = gx__device_open(&instance, "cuda", &device, &error);
    if (s == GX_OK) {
        s = use_device(&run);
        gx__device_close(&device);
    }
    gx__device_stop(&instance);
    munmap(run.pages, page);
    return s;
}
