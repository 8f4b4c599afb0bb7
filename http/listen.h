/* SPDX-License-Identifier: Apache-2.0
 *
 * The address and port that a server listens on.
 */
#ifndef HTTP_LISTEN_H
#define HTTP_LISTEN_H

#include "http/sockets.h"

typedef struct http_endpoint {
    struct sockaddr_storage address;
    char host[INET6_ADDRSTRLEN + 2]; /* as in a URL */
    bool loopback;                   /* only this machine can reach it */
} http_endpoint;

/* "127.0.0.1:80", "[::1]:80", "localhost:80". */
bool http_listen_parse(const char *text, http_endpoint *e);

#endif
