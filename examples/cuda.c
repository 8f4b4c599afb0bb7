/* SPDX-License-Identifier: Apache-2.0
 *
 * Multiplies numbers that a program of yours has in its own CUDA memory, in place. Here the program
 * uses CUDA's driver, which it loads itself, so that nothing of CUDA is needed to build it; with
 * the CUDA runtime it is the same, with cudaMalloc and cudaMemcpy.
 *
 *   cc -std=c11 cuda.c $(pkg-config --cflags --libs gpuexec) -ldl -o cuda
 *   LD_LIBRARY_PATH=$(pkg-config --variable=libdir gpuexec) ./cuda
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <gpuexec.h>

enum { N = 100000, LIMBS = 4 };

/* Of the driver: see its documentation. */
typedef unsigned long long device_pointer;
static int (*init)(unsigned flags);
static int (*get_device)(int *device, int ordinal);
static int (*get_uuid)(unsigned char uuid[16], int device);
static int (*retain)(void **context, int device);
static int (*release)(int device);
static int (*set_current)(void *context);
static int (*allocate)(device_pointer *memory, size_t bytes);
static int (*release_memory)(device_pointer memory);
static int (*upload)(device_pointer to, const void *from, size_t bytes);
static int (*download)(void *to, device_pointer from, size_t bytes);

static uint64_t a[N][LIMBS], b[N][LIMBS], out[N][LIMBS];

static int load_driver(void)
{
    static const struct {
        const char *name;
        void *function;
    } all[] = {{"cuInit", &init},
               {"cuDeviceGet", &get_device},
               {"cuDeviceGetUuid", &get_uuid},
               {"cuDevicePrimaryCtxRetain", &retain},
               {"cuDevicePrimaryCtxRelease_v2", &release},
               {"cuCtxSetCurrent", &set_current},
               {"cuMemAlloc_v2", &allocate},
               {"cuMemFree_v2", &release_memory},
               {"cuMemcpyHtoD_v2", &upload},
               {"cuMemcpyDtoH_v2", &download}};
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; library && i < sizeof all / sizeof *all; i++) {
        void *found = dlsym(library, all[i].name);
        if (!found)
            return 0;
        memcpy(all[i].function, &found, sizeof found);
    }
    return library != NULL;
}

/* gpuexec's name of the device: numbers may differ, UUIDs do not. */
static void name_device(int device, char *name, size_t size)
{
    unsigned char uuid[16] = {0};
    size_t length = (size_t)snprintf(name, size, "cuda:uuid=");
    get_uuid(uuid, device);
    for (size_t i = 0; i < sizeof uuid; i++)
        length += (size_t)snprintf(name + length, size - length, "%02x", uuid[i]);
}

/* a = a * b, as plain numbers, where a is. All that was begun on the memory is done: copies from
 * and to memory like ours wait. */
static gx_status multiply(gx_ctx *ctx, const char *device, device_pointer memory, gx_report *report)
{
    gx_buf *buf = NULL;
    gx_status s = gx_buf_from_cuda(ctx, device, memory, sizeof a, &buf);
    gx_operand here = gx_dev(buf, 0), factors = gx_host(b);
    const gx_job jobs[] = {
        {.op = GX_TO_MONT, .field = GX_BN254_FR, .n = N, .a = here, .out = here},
        {.op = GX_MUL, .field = GX_BN254_FR, .n = N, .a = here, .b = factors, .out = here}};
    if (s == GX_OK)
        s = gx_run(ctx, jobs, 2, NULL, report);
    gx_buf_destroy(&buf); /* the memory stays */
    return s;
}

static size_t first_wrong(void)
{
    for (size_t i = 0; i < N; i++)
        if (out[i][0] != a[i][0] * b[i][0] || out[i][1] || out[i][2] || out[i][3])
            return i;
    return N;
}

int main(void)
{
    gx_report reports[2] = {{.struct_size = sizeof *reports}};
    gx_ctx *ctx = NULL;
    device_pointer memory = 0;
    void *context = NULL;
    char name[48];
    int device = 0, failed = 1;

    if (!load_driver() || init(0) || get_device(&device, 0) || retain(&context, device)) {
        printf("there is no CUDA device here: nothing to do\n");
        return 0;
    }
    for (size_t i = 0; i < N; i++) {
        a[i][0] = i;
        b[i][0] = i + 999;
    }
    name_device(device, name, sizeof name);
    if (set_current(context) || allocate(&memory, sizeof a) || upload(memory, a, sizeof a)) {
        fprintf(stderr, "cuda: the driver refuses memory\n");
        goto end;
    }
    if (gx_open(NULL, &ctx) != GX_OK || multiply(ctx, name, memory, reports) != GX_OK) {
        fprintf(stderr, "cuda: %s\n", gx_last_message());
        goto end;
    }
    if (download(out, memory, sizeof out) || first_wrong() < N) {
        fprintf(stderr, "cuda: product %zu is wrong\n", first_wrong());
        goto end;
    }
    printf("%d products in place on %s, all as expected\n", N, reports[1].device);
    failed = 0;

end:
    gx_close(&ctx);
    if (memory)
        release_memory(memory);
    release(device);
    return failed;
}
