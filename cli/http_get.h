/* SPDX-License-Identifier: Apache-2.0
 *
 * One GET of one small text over plain HTTP, with a time limit: all that gpuexec top needs.
 */
#ifndef HTTP_GET_H
#define HTTP_GET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_GET_MAX = 1 << 20 };

/* Cuts "http://HOST[:PORT][/...][?token=T]" into its parts; HOST alone will do too. */
typedef struct http_place {
    char host[256], port[8], token[256];
} http_place;
bool http_place_parse(const char *url, http_place *place, char *err, size_t err_size);

/* The body of an answer with status 200, terminated, to be freed; NULL, with why in err,
 * otherwise. Takes no longer than timeout_ns, but for looking up the name. */
char *http_get(const http_place *place, const char *path, uint64_t timeout_ns, char *err,
               size_t err_size);

#endif
