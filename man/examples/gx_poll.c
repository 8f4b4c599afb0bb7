gx_ticket *ticket;
if (gx_submit(ctx, &job, 1, NULL, &ticket) != GX_OK)
    return 1;
gx_status s;
while ((s = gx_poll(ticket)) == GX_PENDING)
    c[0][0]++; /* ... a little of something else ... */
printf("%s\n", gx_status_name(s));
gx_ticket_destroy(&ticket);
