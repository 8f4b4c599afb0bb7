printf("%zu\n", gx_point_bytes(GX_BLS12_381_G1, GX_POINT_COMPRESSED)); /* 48 */
