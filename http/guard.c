/* SPDX-License-Identifier: Apache-2.0
 *
 * Enforces the connection limits (guard.h). An evicted connection has its socket shut down in
 * both directions; the server notices and closes it.
 */
#include "http/guard.h"

#include <stdlib.h>
#include <string.h>

bool guard_open(http_guard *guard, size_t most)
{
    *guard =
        (http_guard){.guests = calloc(most + GUARD_SPARE, sizeof *guard->guests), .most = most};
    for (size_t i = 0; guard->guests && i < most + GUARD_SPARE; i++)
        guard->guests[i].fd = -1;
    return guard->guests != NULL;
}

void guard_close(http_guard *guard)
{
    free(guard->guests);
    *guard = (http_guard){0};
}

static void tell_to_end(guest *g)
{
    shutdown(g->fd, SHUT_RDWR);
    g->ending = true;
}

static void set_address(guest *g, const struct sockaddr *address)
{
    if (address->sa_family == AF_INET6) {
        const struct in6_addr *a = &((const struct sockaddr_in6 *)address)->sin6_addr;
        g->local = IN6_IS_ADDR_LOOPBACK(a);
        memcpy(&g->network, a, sizeof g->network);
    } else if (address->sa_family == AF_INET) {
        uint32_t a = ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr);
        g->local = a >> 24 == 127;
        g->network = a;
    }
}

/* Whether a should be evicted before b: unanswered connections first, then the one that has spent
 * longest in its current step. */
static bool goes_before(const guest *a, const guest *b)
{
    return !b || (a->known != b->known ? !a->known : a->since_ns < b->since_ns);
}

/* Makes room for a new connection, within the limit of its network and the total. */
static void make_room(http_guard *guard, const guest *newest)
{
    size_t all = 0, alike = 0;
    guest *first = NULL, *first_alike = NULL;
    for (size_t i = 0; i < guard->most + GUARD_SPARE; i++) {
        guest *g = &guard->guests[i];
        if (g->fd < 0 || g->ending || g == newest)
            continue;
        all++;
        if (goes_before(g, first))
            first = g;
        if (newest->local || g->known || g->network != newest->network)
            continue;
        alike++;
        if (goes_before(g, first_alike))
            first_alike = g;
    }
    if (alike >= GUARD_PER_NETWORK)
        tell_to_end(first_alike);
    else if (all >= guard->most)
        tell_to_end(first);
}

guest *guard_arrive(http_guard *guard, int fd, const struct sockaddr *address, uint64_t now)
{
    for (size_t i = 0; i < guard->most + GUARD_SPARE; i++) {
        guest *g = &guard->guests[i];
        if (g->fd >= 0)
            continue;
        *g = (guest){.fd = fd, .since_ns = now};
        set_address(g, address);
        make_room(guard, g);
        return g;
    }
    return NULL;
}

void guard_leave(guest *g)
{
    g->fd = -1;
}

void guard_expire(http_guard *guard, uint64_t now)
{
    for (size_t i = 0; i < guard->most + GUARD_SPARE; i++) {
        guest *g = &guard->guests[i];
        if (g->fd >= 0 && !g->ending && now - g->since_ns > GUARD_STEP_SECONDS * 1000000000ull)
            tell_to_end(g);
    }
}
