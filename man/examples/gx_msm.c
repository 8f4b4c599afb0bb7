/* Two sums over the same points: the scalars of the second follow those of the first. */
unsigned char sums[2][48] = {{0}};
const gx_msm_params params = {.struct_size = sizeof params,
                              .points = points,
                              .count = n / 2,
                              .scalar_form = GX_SCALAR_MONT,
                              .result_form = GX_POINT_COMPRESSED};
const gx_job two = gx_msm(&params, 2, gx_host(scalars), gx_host(sums));
gx_run(ctx, &two, 1, NULL, NULL);
