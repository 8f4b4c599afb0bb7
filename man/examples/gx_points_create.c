const gx_points_params params = {.struct_size = sizeof params,
                                 .curve = GX_BLS12_381_G1,
                                 .form = GX_POINT_XY_MONT,
                                 .points = bases,
                                 .count = n,
                                 .check = GX_CHECK_SUBGROUP};
gx_points *checked;
uint64_t bad;
if (gx_points_create(ctx, &params, &checked, &bad) != GX_OK) {
    fprintf(stderr, "point %llu: %s\n", (unsigned long long)bad, gx_last_message());
    return 1;
}
gx_points_destroy(&checked); /* after the last job that uses them */
