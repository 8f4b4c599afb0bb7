gx_ticket *tickets[2] = {NULL};
gx_job jobs[2] = {job, job};
size_t first, pending = 2;
jobs[1].out = gx_host(c);
for (int i = 0; i < 2; i++)
    if (gx_submit(ctx, &jobs[i], 1, NULL, &tickets[i]) != GX_OK)
        pending--;
while (pending && gx_wait_any(tickets, 2, UINT64_MAX, &first) == GX_OK) {
    printf("ticket %zu is done\n", first);
    gx_ticket_destroy(&tickets[first]); /* NULL now, and skipped */
    pending--;
}
