/* 1, 2 and 3 times the generator. */
const uint64_t numbers[3][4] = {{1}, {2}, {3}};
unsigned char multiples[3][48];
const gx_multiply_params params = {.struct_size = sizeof params,
                                   .curve = GX_BLS12_381_G1,
                                   .scalars = numbers,
                                   .form = GX_POINT_COMPRESSED,
                                   .count = 3,
                                   .out = multiples};
gx_points_multiply(ctx, &params);
