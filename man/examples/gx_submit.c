gx_ticket *ticket;
if (gx_submit(ctx, &job, 1, NULL, &ticket) != GX_OK)
    return 1;
/* ... something else; a, b and out are the library's until the ticket is done ... */
if (gx_wait(ticket, UINT64_MAX, NULL) != GX_OK)
    fprintf(stderr, "%s\n", gx_last_message());
gx_ticket_destroy(&ticket);
