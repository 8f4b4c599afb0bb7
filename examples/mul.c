/* SPDX-License-Identifier: Apache-2.0
 *
 * Multiplies two vectors in the base field of BLS12-381 and checks a product.
 *
 *   cc -std=c11 mul.c $(pkg-config --cflags --libs gpuexec) -o mul
 *   LD_LIBRARY_PATH=$(pkg-config --variable=libdir gpuexec) ./mul
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuexec.h>

#define N     100000
#define LIMBS 6

/* The integers 1, 2, 3, ...; GX_TO_MONT makes field elements of them. */
static void count_up(uint64_t *x, uint64_t first)
{
    memset(x, 0, sizeof(uint64_t[N][LIMBS]));
    for (size_t i = 0; i < N; i++)
        x[i * LIMBS] = first + i;
}

int main(void)
{
    uint64_t *a = malloc(sizeof(uint64_t[N][LIMBS]));
    uint64_t *b = malloc(sizeof(uint64_t[N][LIMBS]));
    gx_ctx *ctx = NULL;
    gx_report report[4] = {{.struct_size = sizeof *report}};
    int failed = 1;

    if (!a || !b)
        goto end;
    if (gx_open(NULL, &ctx) != GX_OK) {
        fprintf(stderr, "mul: %s\n", gx_last_message());
        goto end;
    }
    count_up(a, 1);
    count_up(b, 1000);

    /* One call, four jobs in order, all in place: a = a * b, and back to integers. */
    const gx_field fq = GX_BLS12_381_FQ;
    gx_job jobs[4] = {
        {.op = GX_TO_MONT, .field = fq, .n = N, .a = gx_host(a), .out = gx_host(a)},
        {.op = GX_TO_MONT, .field = fq, .n = N, .a = gx_host(b), .out = gx_host(b)},
        {.op = GX_MUL, .field = fq, .n = N, .a = gx_host(a), .b = gx_host(b), .out = gx_host(a)},
        {.op = GX_FROM_MONT, .field = fq, .n = N, .a = gx_host(a), .out = gx_host(a)},
    };
    if (gx_run(ctx, jobs, 4, NULL, report) != GX_OK) {
        fprintf(stderr, "mul: %s\n", gx_last_message());
        goto end;
    }
    printf("%d products on %s in %.3f ms\n", N, report[2].device, (double)report[2].total_ns / 1e6);

    /* Products this small never reach the modulus, so they are those of the integers. */
    for (uint64_t i = 0; i < N; i++)
        if (a[i * LIMBS] != (1 + i) * (1000 + i)) {
            fprintf(stderr, "mul: product %llu is wrong\n", (unsigned long long)i);
            goto end;
        }
    printf("all as expected: %d * %d = %llu\n", N, N + 999, (unsigned long long)a[(N - 1) * LIMBS]);
    failed = 0;

end:
    gx_close(&ctx);
    free(a);
    free(b);
    return failed;
}
