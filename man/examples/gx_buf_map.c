gx_buf *buf;
void *memory;
if (gx_buf_create(ctx, "cpu", n * 32, GX_BUF_MAPPABLE, &buf) != GX_OK)
    return 1;
if (gx_buf_map(buf, &memory) == GX_OK) {
    memset(memory, 0, n * 32);
    gx_buf_unmap(buf); /* before a job uses it */
}
gx_buf_destroy(&buf);
