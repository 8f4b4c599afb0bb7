/* 32 squarings in a row, in the memory of a device that the library chooses. */
gx_buf *buf;
if (gx_buf_create(ctx, NULL, n * 32, 0, &buf) != GX_OK || gx_buf_write(buf, 0, a, n * 32) != GX_OK)
    return 1;
gx_job jobs[32];
for (int i = 0; i < 32; i++)
    jobs[i] = (gx_job){
        .op = GX_SQR, .field = GX_BLS12_381_FR, .n = n, .a = gx_dev(buf, 0), .out = gx_dev(buf, 0)};
if (gx_run(ctx, jobs, 32, NULL, NULL) == GX_OK)
    gx_buf_read(buf, 0, out, n * 32);
gx_buf_destroy(&buf);
