/* Memory that is used again and again: devices copy it without staging. */
if (gx_host_register(ctx, a, n * 32) == GX_OK) {
    for (int i = 0; i < 10; i++)
        gx_run(ctx, &job, 1, NULL, NULL);
    gx_host_unregister(ctx, a);
}
