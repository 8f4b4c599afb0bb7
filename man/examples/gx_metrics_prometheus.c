size_t size = 0;
char *metrics = NULL;
for (size_t room = 0; gx_metrics_prometheus(ctx, metrics, &size) == GX_OK && size > room;) {
    room = size; /* it may have grown between two calls */
    metrics = realloc(metrics, room);
}
printf("%s", metrics ? metrics : "");
free(metrics);
