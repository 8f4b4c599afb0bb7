const gx_op ops[] = {GX_MUL};
const gx_field fields[] = {GX_BLS12_381_FR};
const gx_calibrate_params params = {.struct_size = sizeof params,
                                    .ops = ops,
                                    .op_count = 1,
                                    .fields = fields,
                                    .field_count = 1,
                                    .max_elems = 65536,
                                    .limit_ns = 1000000000};
gx_calibrate(ctx, &params); /* a second or less, on an idle machine */
