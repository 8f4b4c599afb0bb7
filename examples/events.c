/* SPDX-License-Identifier: Apache-2.0
 *
 * Tickets in an event loop: each wakes poll() through an eventfd when it is done. Linux.
 *
 *   cc -std=c11 events.c $(pkg-config --cflags --libs gpuexec) -o events
 *   LD_LIBRARY_PATH=$(pkg-config --variable=libdir gpuexec) ./events
 */
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <gpuexec.h>

enum { N = 1000, TICKETS = 4 };

/* Called by a thread of the library: wake the loop, and return. */
static void wake(void *user, gx_ticket *ticket)
{
    const uint64_t one = 1;
    (void)ticket;
    if (write(*(const int *)user, &one, sizeof one) != sizeof one)
        perror("events: write");
}

/* Frees those that are done, and returns how many these are; -1: one failed. */
static int collect(gx_ticket **tickets)
{
    int done = 0;
    for (int i = 0; i < TICKETS; i++) {
        gx_report report = {.struct_size = sizeof report};
        if (!tickets[i] || gx_poll(tickets[i]) == GX_PENDING)
            continue;
        if (gx_wait(tickets[i], 0, &report) != GX_OK) {
            fprintf(stderr, "events: %s\n", report.message);
            return -1;
        }
        gx_ticket_destroy(&tickets[i]);
        done++;
    }
    return done;
}

int main(void)
{
    static uint32_t x[N], sum[TICKETS][N];
    gx_ctx *ctx = NULL;
    gx_ticket *tickets[TICKETS] = {NULL};
    int event = eventfd(0, EFD_CLOEXEC), failed = 1, done = 0;
    uint64_t events = 0, count;

    for (uint32_t i = 0; i < N; i++)
        x[i] = i;
    if (event < 0 || gx_open(NULL, &ctx) != GX_OK)
        goto end;
    for (int i = 0; i < TICKETS; i++) {
        gx_job job = {.op = GX_ADD, .field = GX_U32, .n = N, .a = gx_host(x), .b = gx_host(x)};
        job.out = gx_host(sum[i]);
        if (gx_submit(ctx, &job, 1, NULL, &tickets[i]) != GX_OK ||
            gx_notify(tickets[i], wake, &event) != GX_OK)
            goto end;
    }

    while (done < TICKETS) { /* sockets, timers and so on would be polled here too */
        struct pollfd ready = {.fd = event, .events = POLLIN};
        if (poll(&ready, 1, -1) < 0 || read(event, &count, sizeof count) != sizeof count)
            goto end;
        events += count;
        int more = collect(tickets);
        if (more < 0)
            goto end;
        done += more;
    }
    while (events < TICKETS && read(event, &count, sizeof count) == sizeof count)
        events += count; /* of one that was seen to be done just before its event */
    if (sum[TICKETS - 1][N - 1] != 2 * (N - 1))
        goto end;
    printf("%d tickets, %d events, all as expected\n", done, (int)events);
    failed = 0;

end:
    if (failed)
        fprintf(stderr, "events: failed; %s\n", gx_last_message());
    for (int i = 0; i < TICKETS; i++)
        gx_ticket_destroy(&tickets[i]);
    gx_close(&ctx);
    if (event >= 0)
        close(event);
    return failed;
}
