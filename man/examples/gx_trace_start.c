/* Open the file at ui.perfetto.dev. */
if (gx_trace_start(ctx, "trace.json") == GX_OK) {
    gx_run(ctx, &job, 1, NULL, NULL);
    gx_trace_stop(ctx);
}
