gx_status s = gx_run(ctx, &job, 1, NULL, NULL);
if (s != GX_OK) /* gx_last_message says more, such as which job it was */
    fprintf(stderr, "%s: %s\n", gx_status_name(s), gx_status_message(s));
