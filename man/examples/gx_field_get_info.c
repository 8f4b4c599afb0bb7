for (gx_field f = 1; gx_field_get_info(f); f++)
    printf("%s: %u bytes, transforms of up to 2^%u\n", gx_field_get_info(f)->name,
           gx_field_get_info(f)->element_bytes, gx_field_get_info(f)->two_adicity);
