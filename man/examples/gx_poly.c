/* The value at b of the polynomial with the coefficients a, and the quotient by X - b. */
uint64_t value[4] = {0};
const gx_job jobs[] = {
    gx_poly(GX_EVALUATE, GX_BLS12_381_FR, n, NULL, gx_host(a), gx_host(b), gx_host(value)),
    gx_poly(GX_DIVIDE_LINEAR, GX_BLS12_381_FR, n, NULL, gx_host(a), gx_host(b), gx_host(out)),
};
gx_run(ctx, jobs, 2, NULL, NULL);
