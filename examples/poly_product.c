/* SPDX-License-Identifier: Apache-2.0
 *
 * Multiplies two polynomials over the scalar field of BLS12-381 by transforms, in device memory
 * from the first operation to the last, and checks every coefficient. doc/ntt.md explains.
 *
 *   cc -std=c11 poly_product.c $(pkg-config --cflags --libs gpuexec) -o poly_product
 *   LD_LIBRARY_PATH=$(pkg-config --variable=libdir gpuexec) ./poly_product
 */
#include <stdio.h>
#include <stdlib.h>

#include <gpuexec.h>

enum { LOG2_N = 12, N = 1 << LOG2_N, TERMS = N / 2, LIMBS = 4, JOBS = 7 };

/* Coefficients that are small integers: so are those of the product, of at most 2^11 * 2^40. */
static uint64_t a[TERMS][LIMBS], b[TERMS][LIMBS], product[N][LIMBS];

static void make(uint64_t (*x)[LIMBS], uint64_t seed)
{
    for (size_t i = 0; i < TERMS; i++)
        x[i][0] = (seed = seed * 6364136223846793005u + 1442695040888963407u) >> 44;
}

/* The number of the first wrong coefficient; N: none. */
static size_t first_wrong(void)
{
    for (size_t k = 0; k < N; k++) {
        uint64_t sum = 0;
        for (size_t i = k < TERMS ? 0 : k - TERMS + 1; i < TERMS && i <= k; i++)
            sum += a[i][0] * b[k - i][0];
        if (product[k][0] != sum || product[k][1] || product[k][2] || product[k][3])
            return k;
    }
    return N;
}

/* A new buffer on the device (NULL: any), with its contents, if there are any. */
static int upload(gx_ctx *ctx, const char *device, const void *from, size_t bytes, gx_buf **buf)
{
    return gx_buf_create(ctx, device, bytes, 0, buf) == GX_OK &&
           (!from || gx_buf_write(*buf, 0, from, bytes) == GX_OK);
}

/* The product in `values`, which has room for the values of a at N points; `others` for those of
 * b. */
static gx_status multiply(gx_ctx *ctx, const gx_domain *domain, gx_operand in_a, gx_operand in_b,
                          gx_operand values, gx_operand others, gx_report *reports)
{
    const gx_field fr = GX_BLS12_381_FR;
    /* Half of the coefficients are zeros that need not be there. The order of the values does not
     * matter to a product of values: bit-reversed, nothing has to be permuted. */
    const gx_ntt_params forward = {.struct_size = sizeof forward,
                                   .domain = domain,
                                   .log2_n = LOG2_N,
                                   .log2_pad = 1,
                                   .flags = GX_NTT_REVERSED_OUT};
    const gx_ntt_params inverse = {.struct_size = sizeof inverse,
                                   .domain = domain,
                                   .log2_n = LOG2_N,
                                   .flags = GX_NTT_INVERSE | GX_NTT_REVERSED_IN};
    const gx_job jobs[JOBS] = {
        {.op = GX_TO_MONT, .field = fr, .n = TERMS, .a = in_a, .out = in_a},
        {.op = GX_TO_MONT, .field = fr, .n = TERMS, .a = in_b, .out = in_b},
        gx_ntt(&forward, 1, in_a, values),
        gx_ntt(&forward, 1, in_b, others),
        {.op = GX_MUL, .field = fr, .n = N, .a = values, .b = others, .out = values},
        gx_ntt(&inverse, 1, values, values),
        {.op = GX_FROM_MONT, .field = fr, .n = N, .a = values, .out = values},
    };
    return gx_run(ctx, jobs, JOBS, NULL, reports);
}

int main(void)
{
    const gx_domain_params desc = {
        .struct_size = sizeof desc, .field = GX_BLS12_381_FR, .log2_size = LOG2_N};
    gx_report reports[JOBS] = {{.struct_size = sizeof *reports}};
    gx_ctx *ctx = NULL;
    gx_domain *domain = NULL;
    gx_buf *in_a = NULL, *in_b = NULL, *values = NULL, *others = NULL;
    size_t wrong = N;
    int failed = 1;

    make(a, 1);
    make(b, 2);
    if (gx_open(NULL, &ctx) != GX_OK || gx_domain_create(ctx, &desc, &domain) != GX_OK ||
        !upload(ctx, NULL, a, sizeof a, &in_a) ||
        !upload(ctx, gx_buf_device(in_a), b, sizeof b, &in_b) ||
        !upload(ctx, gx_buf_device(in_a), NULL, sizeof product, &values) ||
        !upload(ctx, gx_buf_device(in_a), NULL, sizeof product, &others) ||
        multiply(ctx, domain, gx_dev(in_a, 0), gx_dev(in_b, 0), gx_dev(values, 0),
                 gx_dev(others, 0), reports) != GX_OK ||
        gx_buf_read(values, 0, product, sizeof product) != GX_OK) {
        fprintf(stderr, "poly_product: %s\n", gx_last_message());
        goto end;
    }
    wrong = first_wrong();
    if (wrong < N) {
        fprintf(stderr, "poly_product: coefficient %zu is wrong\n", wrong);
        goto end;
    }
    printf("%d x %d coefficients on %s, all %d as expected\n", TERMS, TERMS, reports[2].device, N);
    failed = 0;

end:
    gx_buf_destroy(&in_a);
    gx_buf_destroy(&in_b);
    gx_buf_destroy(&values);
    gx_buf_destroy(&others);
    gx_domain_destroy(&domain);
    gx_close(&ctx);
    return failed;
}
