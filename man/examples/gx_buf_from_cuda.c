/* Memory that cudaMalloc or cuMemAlloc returned, after what a stream is doing with it. */
gx_buf *buf;
if (gx_buf_from_cuda(ctx, "cuda:0", address, n * 32, &buf) != GX_OK)
    return 1;
gx_buf_cuda_wait(buf, stream);
job.a = job.b = job.out = gx_dev(buf, 0);
gx_run(ctx, &job, 1, NULL, NULL); /* done with the memory when it returns */
gx_buf_destroy(&buf);
