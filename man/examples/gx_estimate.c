gx_estimate_info info = {.struct_size = sizeof info};
if (gx_estimate(ctx, &job, 1, NULL, &info) == GX_OK)
    printf("on %s, %llu us, %llu bytes to the device\n", info.device,
           (unsigned long long)info.predicted_ns / 1000, (unsigned long long)info.bytes_up);
