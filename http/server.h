/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP side of gpuexec serve: access control and delivery of replies, on its own threads. The
 * caller provides the contents.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "http/sockets.h"

typedef struct http_answer {
    unsigned status;  /* 200 */
    const char *type; /* static */
    const void *body; /* valid until the function is called again by the same thread */
    size_t bytes;
} http_answer;

/* Provides the contents for a path, a word after "/"; status 404 if there is none. One call at a
 * time. */
typedef void (*http_answer_fn)(void *user, const char *path, http_answer *answer);

typedef struct http_opts {
    const struct sockaddr *address;
    const char *token; /* required in every request; NULL: none, and then only names of this machine
                          are accepted as Host, to keep foreign pages out */
    http_answer_fn answer;
    void *user;
} http_opts;

typedef struct http_server http_server;

/* Whether this program was built with HTTP support. */
bool http_server_exists(void);

/* False, with the reason in err, if the server cannot be started. Copies the options; strings in
 * them are borrowed until http_server_stop. */
bool http_server_start(const http_opts *opts, http_server **out, char *err, size_t err_size);
unsigned http_server_port(const http_server *server);

/* Closes all connections; may be NULL. */
void http_server_stop(http_server **server);

#endif
