gx_ticket *ticket;
if (gx_submit(ctx, &job, 1, NULL, &ticket) != GX_OK)
    return 1;
if (gx_wait(ticket, 5000000000, NULL) == GX_PENDING)
    gx_cancel(ticket); /* after five seconds, unless it runs already */
gx_ticket_destroy(&ticket);
