/* SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP side of gpuexec serve: who may ask, and how an answer gets out. What is answered is
 * the caller's. On threads of its own.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

typedef struct http_answer {
    unsigned status;  /* 200 */
    const char *type; /* static */
    const void *body; /* read until the function is called again, by the same thread */
    size_t bytes;
} http_answer;

/* What there is at a path, a word after "/"; status 404 where nothing is. One call at a time. */
typedef void (*http_answer_fn)(void *user, const char *path, http_answer *answer);

typedef struct http_opts {
    const struct sockaddr *address;
    const char *token; /* that every request must bring; NULL: none, and then only names of this
                          machine are taken as its name, so that no page from elsewhere gets in */
    http_answer_fn answer;
    void *user;
} http_opts;

typedef struct http_server http_server;

/* Whether this program was built with what it takes. */
bool http_server_exists(void);

/* False, with why in err, where it cannot be started. The options are copied, the strings in
 * them borrowed until http_server_stop. */
bool http_server_start(const http_opts *opts, http_server **out, char *err, size_t err_size);
unsigned http_server_port(const http_server *server);

/* Ends all connections; NULL is fine. */
void http_server_stop(http_server **server);

#endif
