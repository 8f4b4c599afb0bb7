if (gx_run(ctx, &job, 1, NULL, NULL) != GX_OK)
    fprintf(stderr, "%s\n", gx_last_message());
