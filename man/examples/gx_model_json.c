size_t size = 0;
char *text = NULL;
for (size_t room = 0; gx_model_json(ctx, text, &size) == GX_OK && size > room;) {
    room = size; /* it may have grown between two calls */
    text = realloc(text, room);
}
puts(text ? text : "");
free(text);
