/* SPDX-License-Identifier: Apache-2.0
 *
 * A single GET of a small text over plain HTTP, with a timeout: all that gpuexec top needs.
 */
#ifndef HTTP_GET_H
#define HTTP_GET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_GET_MAX = 1 << 20 };

/* Splits "http://HOST[:PORT][/...][?token=T]" into its parts; HOST alone is accepted too. */
typedef struct http_place {
    char host[256], port[8], token[256];
} http_place;
bool http_place_parse(const char *url, http_place *place, char *err, size_t err_size);

/* The body of a reply with status 200, NUL-terminated, to be freed by the caller; otherwise NULL,
 * with the reason in err. Takes no longer than timeout_ns, except for name resolution. */
char *http_get(const http_place *place, const char *path, uint64_t timeout_ns, char *err,
               size_t err_size);

#endif
