const gx_domain_params size = {
    .struct_size = sizeof size, .field = GX_BLS12_381_FR, .log2_size = 20};
gx_domain *up_to_2_20;
if (gx_domain_create(ctx, &size, &up_to_2_20) == GX_OK)
    gx_domain_destroy(&up_to_2_20); /* after the last job that uses it */
