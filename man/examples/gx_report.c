/* Which devices were considered, and what they were predicted to take. */
gx_candidate candidates[GX_CANDIDATES_MAX] = {{.struct_size = sizeof *candidates}};
gx_report report = {
    .struct_size = sizeof report, .candidate = candidates, .candidate_room = GX_CANDIDATES_MAX};
if (gx_run(ctx, &job, 1, NULL, &report) == GX_OK)
    for (uint32_t i = 0; i < report.candidates && i < GX_CANDIDATES_MAX; i++)
        printf("%s: %llu ns predicted, %llu elements\n", candidates[i].device,
               (unsigned long long)candidates[i].predicted_ns,
               (unsigned long long)candidates[i].elements);
