/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms of rows and of columns beside each other: the same number of elements in transforms of
 * 2^1 to 2^10, from host memory, registered memory and buffers. Calls of the two take turns, so
 * that a busy machine slows both; medians are printed.
 *
 * usage: bench-columns [DEVICE [LOG2_ELEMENTS [SAMPLES [cores]]]]    cpu, 24, 5
 *
 * cores: the time of all cores counts, as it does on the CPU, not the time that passes; for drivers
 * that are software.
 */
#include <gpuexec.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ELEMENT = 32, MOST_LOG2 = 10, ORDERS = 2, SAMPLES_MAX = 99 };

static gx_ctx *ctx;
static gx_domain *domain;
static const char *device;
static bool cores;
static unsigned samples;

static void need(gx_status s, const char *what)
{
    if (s == GX_OK)
        return;
    fprintf(stderr, "bench-columns: %s: %s\n", what, gx_last_message());
    exit(1);
}

/* Seconds. */
static double now(void)
{
    struct timespec t;
    clock_gettime(cores ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double call(gx_operand a, gx_operand out, uint32_t log2_n, size_t n, uint32_t flags)
{
    const gx_ntt_params params = {
        .struct_size = sizeof params, .domain = domain, .log2_n = log2_n, .flags = flags};
    const gx_job job = gx_ntt(&params, n >> log2_n, a, out);
    const gx_run_params opts = {.struct_size = sizeof opts, .device = device};
    double start = now();
    need(gx_run(ctx, &job, 1, &opts, NULL), "gx_run");
    return now() - start;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times)
{
    qsort(times, samples, sizeof *times, by_value);
    return times[samples / 2];
}

static void compare(const char *memory, gx_operand a, gx_operand out, size_t n)
{
    for (uint32_t log2_n = 1; log2_n <= MOST_LOG2; log2_n++) {
        double times[ORDERS][SAMPLES_MAX + 1] = {{0}};
        for (unsigned s = 0; s <= samples; s++) /* the first is not counted */
            for (unsigned columns = 0; columns < ORDERS; columns++)
                times[columns][s] = call(a, out, log2_n, n, columns ? GX_NTT_COLUMNS : 0);
        double rows = median(times[0] + 1), columns = median(times[1] + 1);
        printf("%-12s %-10s 2^%-3u %10.1f %10.1f %8.2f\n", device, memory, log2_n,
               (double)n / rows / 1e6, (double)n / columns / 1e6, columns / rows);
        fflush(stdout);
    }
}

static void in_buffers(size_t n, const void *elements)
{
    gx_buf *a, *out;
    need(gx_buf_create(ctx, device, n * ELEMENT, 0, &a), "gx_buf_create");
    need(gx_buf_create(ctx, device, n * ELEMENT, 0, &out), "gx_buf_create");
    need(gx_buf_write(a, 0, elements, n * ELEMENT), "gx_buf_write");
    compare("buffers", gx_dev(a, 0), gx_dev(out, 0), n);
    gx_buf_destroy(&a);
    gx_buf_destroy(&out);
}

int main(int argc, char **argv)
{
    device = argc > 1 ? argv[1] : "cpu";
    size_t n = (size_t)1 << (argc > 2 ? atoi(argv[2]) : 24);
    samples = argc > 3 ? (unsigned)atoi(argv[3]) : 5;
    samples = samples < 1 ? 1 : samples > SAMPLES_MAX ? SAMPLES_MAX : samples;
    cores = argc > 4 || !strcmp(device, "cpu");
    const gx_domain_params desc = {
        .struct_size = sizeof desc, .field = GX_BLS12_381_FR, .log2_size = MOST_LOG2};
    unsigned char *a = malloc(n * ELEMENT), *out = malloc(n * ELEMENT);
    if (!a || !out) {
        fprintf(stderr, "bench-columns: no memory\n");
        free(a);
        free(out);
        return 1;
    }
    for (size_t i = 0; i < n * ELEMENT; i++) /* any elements below the modulus */
        a[i] = i % ELEMENT == ELEMENT - 1 ? 0x11 : (unsigned char)(i * 2654435761u >> 13);
    memset(out, 0, n * ELEMENT);
    need(gx_open(NULL, &ctx), "gx_open");
    need(gx_domain_create(ctx, &desc, &domain), "gx_domain_create");
    printf("%-12s %-10s %-5s %10s %10s %8s\n", "device", "memory", "size", "rows M/s", "cols M/s",
           "ratio");
    compare("host", gx_host(a), gx_host(out), n);
    if (strcmp(device, "cpu")) {
        need(gx_host_register(ctx, a, n * ELEMENT), "gx_host_register");
        need(gx_host_register(ctx, out, n * ELEMENT), "gx_host_register");
        compare("registered", gx_host(a), gx_host(out), n);
        need(gx_host_unregister(ctx, a), "gx_host_unregister");
        need(gx_host_unregister(ctx, out), "gx_host_unregister");
        in_buffers(n, a);
    }
    gx_domain_destroy(&domain);
    gx_close(&ctx);
    free(a);
    free(out);
    return 0;
}
