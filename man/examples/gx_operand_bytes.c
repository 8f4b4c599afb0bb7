const gx_job sum = {.op = GX_SUM, .field = GX_BLS12_381_FR, .n = 1000};
printf("%zu bytes in, %zu out\n", gx_operand_bytes(&sum, 'a'),
       gx_operand_bytes(&sum, 'o')); /* 32000 and 32 */
