/* out[i] = a[i] * b[i] + c, where c is one element. */
const gx_job axpy = {.op = GX_MUL_ADD,
                     .field = GX_BLS12_381_FR,
                     .n = n,
                     .a = gx_host(a),
                     .b = gx_host(b),
                     .c = gx_host_broadcast(c),
                     .out = gx_host(out)};
gx_run(ctx, &axpy, 1, NULL, NULL);
