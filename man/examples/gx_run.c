/* On the CPU whatever is predicted; and what it took. */
const gx_run_params params = {.struct_size = sizeof params, .policy = GX_POLICY_CPU};
gx_report report = {.struct_size = sizeof report};
if (gx_run(ctx, &job, 1, &params, &report) == GX_OK)
    printf("%.1f us on %s, because: %s\n", (double)report.total_ns / 1e3, report.device,
           gx_reason_name(report.reason));
