/* SPDX-License-Identifier: Apache-2.0
 *
 * server.h with libmicrohttpd: one thread, with epoll where there is one, so that a thousand
 * connections need memory but no threads. Between rounds the thread enforces the connection limits
 * (guard.h).
 */
#include "http/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/check.h"
#include "http/guard.h"

enum {
    CONNECTIONS = 1200,
    REQUEST_BYTES = 16 << 10,
    ARGUMENTS = 64,     /* of a query; more would take the memory that an answer needs */
    FILES_BESIDE = 128, /* descriptors reserved for everything else */
    ROUND_MS = 1000     /* maximum time between two checks of the connections */
};

struct http_server {
    struct MHD_Daemon *daemon;
    http_opts opts;
    http_guard guard;
    pthread_t thread;
    _Atomic bool stop;
    int listening; /* the socket, when the server takes no more connections */
};

bool http_server_exists(void)
{
    return true;
}

/* ---- who may ask ---- */

static bool has_token(struct MHD_Connection *c, const char *token)
{
    static const char scheme[] = "Bearer ";
    const size_t prefix = sizeof scheme - 1;
    const char *header = NULL, *query = NULL;
    size_t header_size = 0, query_size = 0;
    if (MHD_lookup_connection_value_n(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION,
                                      strlen(MHD_HTTP_HEADER_AUTHORIZATION), &header,
                                      &header_size) == MHD_YES &&
        header && header_size >= prefix && !strncasecmp(header, scheme, prefix))
        return http_is_secret(header + prefix, header_size - prefix, token);
    return MHD_lookup_connection_value_n(c, MHD_GET_ARGUMENT_KIND, "token", strlen("token"), &query,
                                         &query_size) == MHD_YES &&
           query && http_is_secret(query, query_size, token);
}

static enum MHD_Result check_host(void *user, enum MHD_ValueKind kind, const char *key,
                                  size_t key_size, const char *value, size_t value_size)
{
    bool *local = user;
    (void)kind;
    if (key_size == strlen(MHD_HTTP_HEADER_HOST) && !strcasecmp(key, MHD_HTTP_HEADER_HOST))
        *local = *local && value && http_host_is_local(value, value_size);
    return MHD_YES;
}

/* A foreign page can direct a browser here under its own name (DNS rebinding); the Host header
 * reveals that name. No header at all means no browser. */
static bool names_this_machine(struct MHD_Connection *c)
{
    bool local = true;
    MHD_get_connection_values_n(c, MHD_HEADER_KIND, check_host, &local);
    return local;
}

static size_t unescape(void *user, struct MHD_Connection *connection, char *text)
{
    (void)user;
    (void)connection;
    return http_unescape(text);
}

/* ---- how long they may take ---- */

static guest *guest_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void on_connection(void *user, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    http_server *server = user;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*context)
            guard_leave(*context);
        *context = NULL;
        return;
    }
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *from =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (fd && from)
        *context =
            guard_arrive(&server->guard, (int)fd->connect_fd, from->client_addr, http_now_ns());
}

/* A connection's next step: receiving the reply, or sending the next request. */
static void next_step(struct MHD_Connection *c, bool known)
{
    guest *g = guest_of(c);
    if (!g)
        return;
    g->known = g->known || known;
    g->since_ns = http_now_ns();
}

static void on_completed(void *user, struct MHD_Connection *c, void **request,
                         enum MHD_RequestTerminationCode code)
{
    (void)user;
    (void)request;
    (void)code;
    next_step(c, false);
}

/* ---- what they may ask ---- */

static size_t count_arguments(const char *query)
{
    size_t count = 1;
    for (; *query; query++)
        count += *query == '&';
    return count;
}

/* Sees the URL before it is parsed. If there are too many arguments, libmicrohttpd would run out of
 * memory and close the connection without an answer: it gets none of them. */
static void *on_url(void *user, const char *url, struct MHD_Connection *c)
{
    guest *g = guest_of(c);
    char *query = strchr(url, '?');
    bool crowded = query && count_arguments(query + 1) > ARGUMENTS;
    (void)user;
    if (g) {
        g->url_end = url + strlen(url);
        g->crowded = crowded;
    }
    if (crowded)
        query[1] = 0;
    return NULL;
}

/* libmicrohttpd takes a zero byte for the end of the URL. It leaves the request line where it was
 * received, so that the version follows the URL at once unless there was such a byte. */
static bool url_is_cut(const guest *g, const char *version)
{
    uintptr_t end = (uintptr_t)g->url_end, next = (uintptr_t)version;
    return next > end + 1 && next - end < REQUEST_BYTES;
}

/* What is wrong with the URL; NULL: nothing. */
static const char *url_fault(struct MHD_Connection *c, const char *version)
{
    const guest *g = guest_of(c);
    if (g && g->crowded)
        return "too many arguments\n";
    return g && url_is_cut(g, version) ? "a zero byte in the URL\n" : NULL;
}

/* ---- answering ---- */

static const char plain[] = "text/plain; charset=utf-8";

static http_answer refuse(unsigned status, const char *text)
{
    return (http_answer){.status = status, .type = plain, .body = text, .bytes = strlen(text)};
}

static http_answer find_answer(const http_server *server, struct MHD_Connection *c, const char *url,
                               const char *method, const char *fault)
{
    http_answer answer = {.status = MHD_HTTP_NOT_FOUND, .type = plain};
    if (server->opts.token && !has_token(c, server->opts.token))
        return refuse(MHD_HTTP_UNAUTHORIZED,
                      "a token is required: Authorization: Bearer TOKEN, or ?token=TOKEN\n");
    if (!server->opts.token && !names_this_machine(c))
        return refuse(MHD_HTTP_FORBIDDEN, "this server accepts requests for localhost only\n");
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return refuse(MHD_HTTP_METHOD_NOT_ALLOWED, "GET and HEAD only\n");
    if (fault)
        return refuse(MHD_HTTP_BAD_REQUEST, fault);
    server->opts.answer(server->opts.user, url + (url[0] == '/'), &answer);
    return answer.status == MHD_HTTP_NOT_FOUND
               ? refuse(MHD_HTTP_NOT_FOUND,
                        "available: /, /metrics, /status.json, /history.json, /healthz\n")
               : answer;
}

static void add_headers(struct MHD_Response *r, const http_answer *answer)
{
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
    MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Referrer-Policy", "no-referrer"); /* the URL contains the token */
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
    (void)upload;
    /* Another request can only follow one that was read to its end, so the reply waits for the
     * second call. A body is discarded, except for methods that are rejected anyway. */
    bool known = !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
    bool first = !*request;
    *request = connection;
    if (known && (first || *upload_bytes)) {
        *upload_bytes = 0;
        return MHD_YES;
    }
    http_answer answer = find_answer(user, connection, url, method, url_fault(connection, version));
    struct MHD_Response *r = MHD_create_response_from_buffer(
        answer.bytes, (void *)(uintptr_t)answer.body, MHD_RESPMEM_MUST_COPY);
    if (!r)
        return MHD_NO;
    add_headers(r, &answer);
    next_step(connection,
              answer.status != MHD_HTTP_UNAUTHORIZED && answer.status != MHD_HTTP_FORBIDDEN);
    enum MHD_Result result = MHD_queue_response(connection, answer.status, r);
    MHD_destroy_response(r);
    return result;
}

/* ---- starting and ending ---- */

/* As many connections as descriptors allow, without taking those that drivers need. */
static unsigned connections_allowed(void)
{
    unsigned beside = FILES_BESIDE + GUARD_SPARE;
    unsigned files = http_files_allowed(CONNECTIONS + beside);
    if (files >= CONNECTIONS + beside)
        return CONNECTIONS;
    return files > 2 * beside ? files - beside : files / 4;
}

static void *run_rounds(void *user)
{
    http_server *server = user;
    while (!atomic_load(&server->stop)) {
        MHD_run_wait(server->daemon, ROUND_MS);
        guard_expire(&server->guard, http_now_ns());
    }
    return NULL;
}

static struct MHD_Daemon *start_daemon(http_server *server)
{
    unsigned flags = MHD_USE_ITC;
    if (MHD_is_feature_supported(MHD_FEATURE_EPOLL) == MHD_YES)
        flags |= MHD_USE_EPOLL;
    if (server->opts.address->sa_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    return MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, server, MHD_OPTION_SOCK_ADDR, server->opts.address,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)server->guard.most + GUARD_SPARE,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, server, MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
        MHD_OPTION_URI_LOG_CALLBACK, on_url, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES, MHD_OPTION_LISTEN_BACKLOG_SIZE,
        (unsigned)SOMAXCONN, MHD_OPTION_END);
}

static void server_free(http_server *server)
{
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    if (server->listening >= 0)
        http_socket_close(server->listening);
    guard_close(&server->guard);
    free(server);
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
    server->listening = -1;
    bool ready = guard_open(&server->guard, connections_allowed());
    if (ready)
        server->daemon = start_daemon(server);
    if (!ready)
        snprintf(err, err_size, "cannot start a server: %s", strerror(errno));
    else if (!server->daemon)
        snprintf(err, err_size, "cannot listen there: %s", strerror(http_socket_error()));
    else if (pthread_create(&server->thread, NULL, run_rounds, server))
        snprintf(err, err_size, "cannot start a thread");
    else
        *out = server;
    if (!*out)
        server_free(server);
    return *out != NULL;
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
    atomic_store(&(*server)->stop, true);
    (*server)->listening = (int)MHD_quiesce_daemon((*server)->daemon); /* wakes the thread */
    pthread_join((*server)->thread, NULL);
    server_free(*server);
    *server = NULL;
}
