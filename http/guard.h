/* SPDX-License-Identifier: Apache-2.0
 *
 * Connection limits of gpuexec serve. Clients that are slow on purpose must not lock out others:
 * each step of a connection has a time limit, and if there are too many connections, the one that
 * has waited longest for its first reply is evicted.
 */
#ifndef HTTP_GUARD_H
#define HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/sockets.h"

enum {
    GUARD_STEP_SECONDS = 15, /* for a whole request, and again for receiving the reply */
    GUARD_PER_NETWORK = 64,  /* unanswered connections per network */
    GUARD_SPARE = 64         /* evicted connections may linger for a moment */
};

typedef struct guest {
    int fd;              /* -1: not in use */
    bool known;          /* has been answered */
    bool ending;         /* has been evicted */
    bool local;          /* from this machine: no limit, it may be a proxy */
    uint64_t network;    /* the address; for IPv6 its first 64 bits */
    uint64_t since_ns;   /* start of its current step */
    const char *url_end; /* of its current request */
    bool crowded;        /* there are too many arguments in it */
} guest;

typedef struct http_guard {
    guest *guests; /* most + GUARD_SPARE */
    size_t most;
} http_guard;

/* For up to `most` connections. False if memory ran out. */
bool guard_open(http_guard *guard, size_t most);
void guard_close(http_guard *guard);

/* Registers a connection from that address. The guest is valid until guard_leave; NULL if there is
 * no room. Shuts down connections that have to make room. */
guest *guard_arrive(http_guard *guard, int fd, const struct sockaddr *address, uint64_t now);
void guard_leave(guest *g);

/* Shuts down connections whose current step takes too long. */
void guard_expire(http_guard *guard, uint64_t now);

#endif
