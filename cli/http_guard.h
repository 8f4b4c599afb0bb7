/* SPDX-License-Identifier: Apache-2.0
 *
 * Who holds a connection of gpuexec serve, and for how long. Strangers that are slow on purpose
 * must not keep out those that are answered: a connection has a limited time for each of its
 * steps, and where there are too many, the one that has waited longest for its first answer goes.
 */
#ifndef HTTP_GUARD_H
#define HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    GUARD_STEP_SECONDS = 15, /* for a whole request, and again for taking its answer */
    GUARD_PER_NETWORK = 64,  /* connections of one network that were not answered yet */
    GUARD_SPARE = 64         /* connections that were told to end may be there for a moment */
};

typedef struct guest {
    int fd;            /* -1: not in use */
    bool known;        /* was answered */
    bool ending;       /* was told to end */
    bool local;        /* from this machine: any number may come, as from a proxy */
    uint64_t network;  /* the address, for IPv6 its first 64 bits */
    uint64_t since_ns; /* when its step began */
} guest;

typedef struct http_guard {
    guest *guests; /* most + GUARD_SPARE */
    size_t most;
} http_guard;

/* For `most` connections at once. False where memory ran out. */
bool guard_open(http_guard *guard, size_t most);
void guard_close(http_guard *guard);

/* A connection from that address is there. The guest is valid until guard_leave; NULL where there
 * is no room. Connections that have to make room are shut down. */
guest *guard_arrive(http_guard *guard, int fd, const struct sockaddr *address, uint64_t now);
void guard_leave(guest *g);

/* Shuts down those whose step takes too long. */
void guard_expire(http_guard *guard, uint64_t now);

#endif
