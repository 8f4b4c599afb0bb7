/* A setting by its name, as in an option or a file of settings. */
gx_config config = {.struct_size = sizeof config};
char why[160];
if (gx_config_set(&config, "device-memory", "256M", why, sizeof why) != GX_OK)
    fprintf(stderr, "%s\n", why);
