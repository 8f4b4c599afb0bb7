/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces server.c if libmicrohttpd was not found at build time.
 */
#include <stdio.h>

#include "http/server.h"

bool http_server_exists(void)
{
    return false;
}

bool http_server_start(const http_opts *opts, http_server **out, char *err, size_t err_size)
{
    (void)opts;
    *out = NULL;
    snprintf(err, err_size, "built without libmicrohttpd");
    return false;
}

unsigned http_server_port(const http_server *server)
{
    (void)server;
    return 0;
}

void http_server_stop(http_server **server)
{
    *server = NULL;
}
