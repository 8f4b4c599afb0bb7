/* SPDX-License-Identifier: Apache-2.0
 *
 * Specific to the CUDA device, on a substitute for the driver (support/fake_cuda.c): what is said
 * if something is missing, names, the calls of the contract, registered operations, cache files.
 */
#include "device/cuda_run.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define THREAD_ROUNDS 500u

static char folder[] = "/tmp/gx-cuda-XXXXXX";

/* ---- what is missing ---- */

static void expect_missing(const char *text)
{
    gx_device_info info = {0};
    gx_status s = gx__device_find(&instance, "cuda:0", &info, &error);
    assert_int_equal(s, GX_ERR_NO_DEVICE);
    if (!strstr(error.text, text))
        fail_msg("'%s' does not say '%s'", error.text, text);
    size_t count = 1;
    assert_int_equal(gx__cuda_ops.enumerate(&gx__cuda_ops, &instance, &info, &count), GX_OK);
    assert_int_equal(count, 1);
    assert_int_equal(info.kind, GX_DEVICE_CUDA);
    assert_false(info.usable || info.automatic);
    assert_string_equal(info.description, error.text);
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
    assert_int_equal(gx__device_find(&instance, "cuda", &info, &error), GX_ERR_NO_DEVICE);
    assert_non_null(strstr(error.text, "has compute capability 6.1, needs 7.0"));
    gx__device_stop(&instance);
    static const size_t no_count = 0;
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
        gx_status s = gx__device_find(&other, "cuda", &info, &error);
        _exit(s == GX_ERR_NO_DEVICE && strstr(error.text, "fork()") ? 0 : 1);
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
    gx_status s = gx__device_find(&instance, name, &info, &error);
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
    assert_non_null(strstr(error.text, "there is no device 'cuda:2' here, only"));
    assert_non_null(strstr(error.text, "cuda:0"));
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
    assert_int_equal(gx__device_find(&instance, "cuda", &info, &error), GX_OK);
    assert_false(info.automatic);
    assert_false(gx__cuda_reaches(&instance, f1));
    gx__device_stop(&instance);

    struct gx_ptx *all = calloc(gx__shader_count, sizeof *all);
    assert_non_null(all);
    for (size_t i = 0; i < gx__shader_count; i++)
        all[i] = (struct gx_ptx){
            .family = gx__shaders[i].family, .field = gx__shaders[i].field, .text = "fake"};
    gx__cu_kernels = (struct cu_kernels){all, &gx__shader_count};
    assert_int_equal(gx__device_find(&instance, "cuda", &info, &error), GX_OK);
    assert_true(info.automatic);
    assert_true(gx__cuda_reaches(&instance, NULL) && gx__cuda_reaches(&instance, f1));
    assert_false(gx__cuda_reaches(&instance, other));
    assert_int_equal(gx__device_find(&instance, "gpu", &info, &error), GX_OK);
    assert_true(info.automatic && info.kind != GX_DEVICE_CPU);
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
    assert_true(device.facts.copy_both > 0); /* there are queues for both directions */
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

/* ---- commands ---- */

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

/* Launches of kernels that wait for those before them, where the GPU and the driver can do that. */
static void early_launches(void **state)
{
    (void)state;
    set_up();
    assert_int_equal(run_all(), GX_OK);
    assert_int_equal(fake->early, 2);
    set_up();
    fake->capability = 89;
    assert_int_equal(run_all(), GX_OK);
    assert_true(fake->launches > 2);
    assert_int_equal(fake->early, 0);
    set_up();
    void *library = dlopen(GXT_OLD_CUDA, RTLD_NOW);
    struct fake_cuda *old = library ? dlsym(library, FAKE_CUDA_SYMBOL) : NULL;
    assert_non_null(old);
    assert_int_equal(old->capability, 90);
    instance.config.cuda_library = GXT_OLD_CUDA;
    assert_int_equal(run_all(), GX_OK);
    assert_true(old->launches > 2);
    assert_int_equal(old->contexts, 0);
    dlclose(library);
}

static void recycled(void **state)
{
    (void)state;
    set_up();
    fake->no_counters = true;
    open_it();
    struct gx_cmd *first, *second;
    struct gx_fence done, last = {0};
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
    struct gx_fence done, last;
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
    struct gx_fence done;
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
            clock->reached = false;
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
    struct gx_fence last = {0};
    uint32_t seed = *(uint32_t *)user, failed = 0;
    for (uint32_t i = 0; i < THREAD_ROUNDS; i++) {
        struct gx_cmd *cmd;
        if (ops->mem_alloc(&device, GX_MEM_UPLOAD, 64, &up) != GX_OK ||
            ops->mem_alloc(&device, GX_MEM_READBACK, 64, &down) != GX_OK ||
            ops->begin(&device, (enum gx_queue)(i % 3), &cmd) != GX_OK)
            return user; /* the test has failed: never mind the rest */
        *(uint32_t *)up.host = seed + i;
        ops->copy(cmd, &(struct gx_region){.from = {&up, 0}, .to = {&down, 0}, .size = 64}, 1);
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
        struct gx_fence done;
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

/* ---- kernels ---- */

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
    const struct gx_kernel_desc desc = {.name = name,
                                        .operands = 1,
                                        .a_bytes = 4,
                                        .out_bytes = 4,
                                        .params_bytes = 4,
                                        .group_elems = 32,
                                        .wgsl = "none",
                                        .ptx = ptx,
                                        .ptx_block = {block}};
    gx_op op;
    gx_status s = gx__registered_op_add(&instance, &desc, &op, &error);
    if (s != GX_OK)
        fail_msg("%s", error.text);
    return op;
}

static void end_op(gx_op op)
{
    assert_true(gx__registered_op_end(&instance, op));
    gx__registered_op_free(op);
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
    struct gx_fence done;
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
    assert_int_equal(fake->links, 2); /* copies and sums */
    assert_int_equal(run_all(), GX_OK);
    assert_int_equal(fake->links, 2);
    damage_files();
    assert_int_equal(run_all(), GX_OK);
    assert_int_equal(fake->links, 4);
    remove_files();
    expect_nothing_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registered),     cmocka_unit_test(missing),
        cmocka_unit_test(names),          cmocka_unit_test(automatic),
        cmocka_unit_test(memory),         cmocka_unit_test(runs),
        cmocka_unit_test(early_launches), cmocka_unit_test(recycled),
        cmocka_unit_test(waits),          cmocka_unit_test(clocks),
        cmocka_unit_test(timeouts),       cmocka_unit_test(threads),
        cmocka_unit_test(cached),         cmocka_unit_test(after_fork),
        cmocka_unit_test(no_such_kernel)};
    return cmocka_run_group_tests(tests, prepare, NULL);
}
