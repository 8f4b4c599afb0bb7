/* SPDX-License-Identifier: Apache-2.0
 *
 * http_server.h with libmicrohttpd: one thread with epoll, so that a thousand connections
 * cost memory and no threads.
 */
#include "http_server.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

enum {
    CONNECTIONS = 1200,
    SILENT_SECONDS = 15, /* a connection without a byte for so long is closed */
    REQUEST_BYTES = 16 << 10,
    FILES_BESIDE = 128 /* descriptors that everything else needs */
};

struct http_server {
    struct MHD_Daemon *daemon;
    http_opts opts;
};

bool http_server_exists(void)
{
    return true;
}

/* ---- who may ask ---- */

/* Takes as long for any guess of the same length. */
static bool same_secret(const char *guess, const char *secret)
{
    size_t guessed = strlen(guess), length = strlen(secret);
    volatile unsigned char differs = guessed != length;
    for (size_t i = 0; i < guessed; i++)
        differs |= (unsigned char)(guess[i] ^ secret[i % (length ? length : 1)]);
    return !differs;
}

static bool has_token(struct MHD_Connection *c, const char *token)
{
    static const char scheme[] = "Bearer ";
    const char *header =
        MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    const char *query = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token");
    if (header && !strncasecmp(header, scheme, sizeof scheme - 1))
        return same_secret(header + sizeof scheme - 1, token);
    return query && same_secret(query, token);
}

/* A page from elsewhere can send a browser here under a name of its own (DNS rebinding); the
 * name it believes in is in the request. */
static bool names_this_machine(struct MHD_Connection *c)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    if (!host)
        return true; /* no browser */
    size_t length = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (length == strlen(names[i]) && !strncasecmp(host, names[i], length))
            return true;
    return !strncmp(host, "127.", 4) && strspn(host, "0123456789.") == length;
}

/* ---- answering ---- */

static const char plain[] = "text/plain; charset=utf-8";

static http_answer refuse(unsigned status, const char *text)
{
    return (http_answer){.status = status, .type = plain, .body = text, .bytes = strlen(text)};
}

static http_answer find_answer(const http_server *server, struct MHD_Connection *c, const char *url,
                               const char *method)
{
    http_answer answer = {.status = MHD_HTTP_NOT_FOUND, .type = plain};
    if (server->opts.token && !has_token(c, server->opts.token))
        return refuse(MHD_HTTP_UNAUTHORIZED,
                      "a token is needed: Authorization: Bearer TOKEN, or ?token=TOKEN\n");
    if (!server->opts.token && !names_this_machine(c))
        return refuse(MHD_HTTP_FORBIDDEN, "this server answers to localhost only\n");
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return refuse(MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n");
    server->opts.answer(server->opts.user, url + (url[0] == '/'), &answer);
    return answer.status == MHD_HTTP_NOT_FOUND
               ? refuse(MHD_HTTP_NOT_FOUND, "there are /, /metrics, /status.json and /healthz\n")
               : answer;
}

static void add_headers(struct MHD_Response *r, const http_answer *answer)
{
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Referrer-Policy", "no-referrer"); /* the address has the token */
    MHD_add_response_header(r, "Content-Security-Policy",
                            "default-src 'none'; script-src 'unsafe-inline'; style-src "
                            "'unsafe-inline'; img-src data:; connect-src 'self'; "
                            "frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
    if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (answer->status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_bytes, void **request)
{
    (void)version;
    (void)upload;
    /* Only what was read to its end can be followed by another request, so an answer waits for
     * the second call; a body is thrown away, but for methods that are refused anyway. */
    bool known = !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
    bool first = !*request;
    *request = connection;
    if (known && (first || *upload_bytes)) {
        *upload_bytes = 0;
        return MHD_YES;
    }
    http_answer answer = find_answer(user, connection, url, method);
    struct MHD_Response *r = MHD_create_response_from_buffer(
        answer.bytes, (void *)(uintptr_t)answer.body, MHD_RESPMEM_MUST_COPY);
    if (!r)
        return MHD_NO;
    add_headers(r, &answer);
    enum MHD_Result result = MHD_queue_response(connection, answer.status, r);
    MHD_destroy_response(r);
    return result;
}

/* ---- starting and ending ---- */

/* As many connections as descriptors allow: more would take those of the drivers. */
static unsigned connections_allowed(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return CONNECTIONS / 4;
    rlim_t wanted = CONNECTIONS + FILES_BESIDE;
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        if (setrlimit(RLIMIT_NOFILE, &limit))
            getrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= wanted)
        return CONNECTIONS;
    return limit.rlim_cur > 2 * FILES_BESIDE ? (unsigned)limit.rlim_cur - FILES_BESIDE
                                             : (unsigned)limit.rlim_cur / 2;
}

bool http_server_start(const http_opts *opts, http_server **out, char *err, size_t err_size)
{
    *out = NULL;
    http_server *server = calloc(1, sizeof *server);
    if (!server) {
        snprintf(err, err_size, "out of memory");
        return false;
    }
    server->opts = *opts;
    unsigned flags = MHD_USE_AUTO_INTERNAL_THREAD;
    if (opts->address->sa_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, server, MHD_OPTION_SOCK_ADDR, opts->address,
        MHD_OPTION_CONNECTION_LIMIT, connections_allowed(), MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)SILENT_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES,
        MHD_OPTION_LISTEN_BACKLOG_SIZE, (unsigned)SOMAXCONN, MHD_OPTION_END);
    if (!server->daemon) {
        snprintf(err, err_size, "cannot listen there: %m");
        free(server);
        return false;
    }
    *out = server;
    return true;
}

unsigned http_server_port(const http_server *server)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

void http_server_stop(http_server **server)
{
    if (!*server)
        return;
    MHD_stop_daemon((*server)->daemon);
    free(*server);
    *server = NULL;
}
