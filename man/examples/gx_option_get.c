for (uint32_t i = 0; gx_option_get(i); i++)
    printf("--%s: %s\n", gx_option_get(i)->name, gx_option_get(i)->help);
