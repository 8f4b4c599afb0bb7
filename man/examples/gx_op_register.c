/* on_the_cpu is a gx_kernel_fn; words, the same as SPIR-V. */
const gx_kernel_params params = {.struct_size = sizeof params,
                                 .name = "m31-mul-add",
                                 .operands = 3,
                                 .a_bytes = 4,
                                 .b_bytes = 4,
                                 .c_bytes = 4,
                                 .out_bytes = 4,
                                 .group_elems = 64,
                                 .fn = on_the_cpu,
                                 .spirv = words,
                                 .spirv_bytes = sizeof words};
gx_op op;
if (gx_op_register(ctx, &params, &op) != GX_OK)
    return 1;
const gx_job mine = gx_call(op, n, NULL, gx_host(a), gx_host(b), gx_host(c), gx_host(out));
gx_run(ctx, &mine, 1, NULL, NULL);
gx_op_unregister(ctx, op);
