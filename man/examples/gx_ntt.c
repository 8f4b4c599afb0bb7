/* Four transforms of 1024 elements on a coset, one after the other in memory, in place. */
const gx_ntt_params params = {
    .struct_size = sizeof params, .domain = domain, .log2_n = 10, .flags = GX_NTT_COSET};
const gx_job four = gx_ntt(&params, 4, gx_host(a), gx_host(a));
gx_run(ctx, &four, 1, NULL, NULL);
