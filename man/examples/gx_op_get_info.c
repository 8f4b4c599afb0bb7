for (gx_op op = 1; gx_op_get_info(op); op++)
    printf("%s: %s\n", gx_op_get_info(op)->name, gx_op_get_info(op)->result);
