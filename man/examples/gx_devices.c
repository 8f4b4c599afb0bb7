gx_device_info devices[16] = {{.struct_size = sizeof *devices}};
size_t count = 16;
if (gx_devices(ctx, devices, &count) == GX_OK)
    for (size_t i = 0; i < count && i < 16; i++)
        printf("%s%s: %s\n", devices[i].name, devices[i].usable ? "" : " (not usable)",
               devices[i].description);
