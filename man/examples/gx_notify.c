/* on_done, with a pointer to two descriptors: write(((int *)user)[1], "", 1); */
struct pollfd done = {.events = POLLIN};
int ends[2];
gx_ticket *ticket;
if (pipe(ends) != 0 || gx_submit(ctx, &job, 1, NULL, &ticket) != GX_OK)
    return 1;
done.fd = ends[0];
if (gx_notify(ticket, on_done, ends) == GX_OK)
    poll(&done, 1, -1);     /* with the other descriptors of the program */
gx_ticket_destroy(&ticket); /* waits for on_done: close the pipe after it */
close(ends[0]);
close(ends[1]);
