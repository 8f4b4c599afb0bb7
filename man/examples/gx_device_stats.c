gx_device_statistics stats[8] = {{.struct_size = sizeof *stats}};
size_t count = 8;
if (gx_device_stats(ctx, stats, &count) == GX_OK)
    for (size_t i = 0; i < count && i < 8; i++)
        printf("%s: %s, %llu jobs\n", stats[i].device, gx_health_name(stats[i].health),
               (unsigned long long)stats[i].jobs);
