/* Transforms of 1024 elements are values at the powers of this. */
uint64_t root[4];
gx_domain_root(domain, 10, root);
const gx_job points_of_them = {
    .op = GX_POWERS, .field = GX_BLS12_381_FR, .n = 1024, .a = gx_host(root), .out = gx_host(out)};
gx_run(ctx, &points_of_them, 1, NULL, NULL);
