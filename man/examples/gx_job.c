/* Plain integers to field elements, in place; their inverses; and the sum of these. */
uint64_t sum[4] = {0};
const gx_job jobs[] = {
    {.op = GX_TO_MONT, .field = GX_BLS12_381_FR, .n = n, .a = gx_host(a), .out = gx_host(a)},
    {.op = GX_INV, .field = GX_BLS12_381_FR, .n = n, .a = gx_host(a), .out = gx_host(out)},
    {.op = GX_SUM, .field = GX_BLS12_381_FR, .n = n, .a = gx_host(out), .out = gx_host(sum)},
};
gx_run(ctx, jobs, 3, NULL, NULL);
