const gx_config config = {.struct_size = sizeof config,
                          .device = "cpu,vulkan:0", /* to choose from */
                          .policy = GX_POLICY_THROUGHPUT,
                          .threads = 4};
gx_ctx *mine;
if (gx_open(&config, &mine) != GX_OK) {
    fprintf(stderr, "%s\n", gx_last_message());
    return 1;
}
/* ... */
gx_close(&mine);
