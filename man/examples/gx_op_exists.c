if (gx_op_exists(GX_INV, GX_U32))
    puts("words have inverses");
else
    puts("only prime fields have inverses"); /* this one */
