uint64_t done;
if (gx_counter(ctx, "jobs_done", &done) == GX_OK)
    printf("%llu jobs\n", (unsigned long long)done);
