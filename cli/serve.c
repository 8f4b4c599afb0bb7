/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec serve: the state of a context over HTTP: metrics, a live page, and the data for the page
 * and for gpuexec top.
 */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "sockets.h"
#include "http_server.h"
#include "live.h"
#include "report/page.h"
#include "signals.h"
#include "workload.h"

/* Minimum interval between two queries of the context, however many clients there are. */
#define SNAPSHOT_NS 100000000u

#define DEFAULT_LISTEN "127.0.0.1:9464"
#define PAGE           "live.html"
#define TOKEN_VARIABLE "GPUEXEC_SERVE_TOKEN"

static struct {
    const char *listen, *token;
    workload_opts work;
} opts = {.listen = DEFAULT_LISTEN, .work = WORKLOAD_DEFAULT};

static const arg_spec specs[] = {
    {.name = "listen",
     .arg = "A:P",
     .kind = ARG_TEXT,
     .value = &opts.listen,
     .help = "address and port (" DEFAULT_LISTEN "); port 0: any free port"},
    {.name = "token",
     .arg = "T",
     .kind = ARG_TEXT,
     .value = &opts.token,
     .help =
         "token that every request must present; other users can see it on the command line, so "
         "prefer " TOKEN_VARIABLE},
    WORKLOAD_SPECS(&opts.work),
};

/* ---- the address ---- */

typedef struct endpoint {
    struct sockaddr_storage address;
    char host[INET6_ADDRSTRLEN + 2]; /* as in a URL */
    bool loopback;
} endpoint;

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
    return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
}

/* "127.0.0.1:80", "[::1]:80", "localhost:80". */
static bool parse_listen(const char *text, endpoint *e)
{
    char host[256];
    const char *colon = strrchr(text, ':');
    uint64_t port;
    size_t length = colon ? (size_t)(colon - text) : 0;
    if (!length || length >= sizeof host || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
        !parse_number(colon + 1, &port) || port > UINT16_MAX)
        return false;
    bool brackets = text[0] == '[' && colon[-1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(brackets ? length - 2 : length), text + brackets);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    if (getaddrinfo(host, colon + 1, &hints, &found))
        return false;
    memcpy(&e->address, found->ai_addr, found->ai_addrlen);
    e->loopback = is_loopback(found->ai_addr);
    getnameinfo(found->ai_addr, found->ai_addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST);
    snprintf(e->host, sizeof e->host, found->ai_family == AF_INET6 ? "[%.45s]" : "%.45s", host);
    freeaddrinfo(found);
    return true;
}

/* ---- what is answered ---- */

typedef struct service {
    gx_ctx *ctx;
    device_list infos;
    workload *work;
    uint64_t start_ns;
    /* The snapshot; used only by the server thread. */
    uint64_t taken_ns;
    char *status, *metrics;
    size_t metrics_room;
    bool healthy;
    char *past_text;
    uint64_t past_ns; /* when it was taken */
    history *past;
} service;

static void take_metrics(service *s)
{
    size_t size = s->metrics_room;
    while (gx_metrics_prometheus(s->ctx, s->metrics, &size) == GX_OK && size > s->metrics_room) {
        char *more = realloc(s->metrics, size + 1024);
        if (!more)
            return;
        s->metrics = more;
        s->metrics_room = size = size + 1024;
    }
}

/* Healthy while at least one device is usable. */
static bool any_usable(const json_t *status)
{
    const json_t *devices = json_object_get(status, "devices");
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const char *health =
            json_string_value(json_object_get(json_array_get(devices, i), "health"));
        if (health && (!strcmp(health, "good") || !strcmp(health, "unused")))
            return true;
    }
    return false;
}

static void take_snapshot(service *s)
{
    uint64_t now = now_ns();
    if (s->taken_ns && now - s->taken_ns < SNAPSHOT_NS)
        return;
    take_metrics(s);
    json_t *status = live_status(s->ctx, &s->infos, s->work, s->start_ns);
    s->healthy = any_usable(status);
    free(s->status);
    s->status = status ? json_dumps(status, JSON_COMPACT) : NULL;
    json_decref(status);
    s->taken_ns = now;
}

static const char *past_text(service *s)
{
    uint64_t now = now_ns();
    if (!s->past_ns || now - s->past_ns >= HISTORY_PERIOD_NS) {
        free(s->past_text);
        s->past_text = history_json(s->past);
        s->past_ns = now;
    }
    return s->past_text;
}

static void give(http_answer *answer, unsigned status, const char *type, const char *text)
{
    *answer = (http_answer){.status = text ? status : 500, .type = type, .body = text ? text : ""};
    answer->bytes = strlen(answer->body);
}

static void answer(void *user, const char *path, http_answer *a)
{
    service *s = user;
    if (!*path) {
        const page_part *page = page_find(PAGE, strlen(PAGE));
        *a = (http_answer){.status = 200, .type = "text/html; charset=utf-8"};
        a->body = page->text;
        a->bytes = page->size;
        return;
    }
    take_snapshot(s);
    if (!strcmp(path, "metrics"))
        give(a, 200, "text/plain; version=0.0.4; charset=utf-8", s->metrics);
    else if (!strcmp(path, "status.json"))
        give(a, 200, "application/json", s->status);
    else if (!strcmp(path, "history.json"))
        give(a, 200, "application/json", past_text(s));
    else if (!strcmp(path, "healthz"))
        give(a, s->healthy ? 200 : 503, "text/plain; charset=utf-8",
             s->healthy ? "ok\n" : "no device is working\n");
}

/* ---- the command ---- */

static void remember_until_end(service *s)
{
    uint64_t next = now_ns();
    for (;;) {
        uint64_t now = now_ns();
        if (now >= next) {
            live_remember(s->ctx, s->past, s->start_ns);
            next += (now - next + HISTORY_PERIOD_NS) / HISTORY_PERIOD_NS * HISTORY_PERIOD_NS;
        }
        signal_event event = signals_wait(next - now, false);
        if (event == SIGNAL_END)
            return;
        if (event == SIGNAL_STOP)
            signals_stop();
    }
}

static int serve(service *s, const endpoint *e, const char *token)
{
    char err[128];
    http_server *server;
    http_opts http = {.address = (const struct sockaddr *)&e->address,
                      .token = token,
                      .answer = answer,
                      .user = s};
    if (!http_server_start(&http, &server, err, sizeof err)) {
        cli_error("--listen %s: %s", opts.listen, err);
        return EXIT_FAILED;
    }
    printf("http://%s:%u/\n", e->host, http_server_port(server));
    fflush(stdout);
    fputs("also /metrics, /status.json, /history.json, /healthz; stop with Ctrl-C\n", stderr);
    fflush(stderr);
    remember_until_end(s);
    http_server_stop(&server);
    return EXIT_DONE;
}

static int serve_context(const common_opts *common, const endpoint *e, const char *token)
{
    service s = {.start_ns = now_ns()};
    int rc = cli_open(common, &s.ctx);
    if (rc == EXIT_DONE)
        rc = device_list_get(s.ctx, &s.infos);
    if (rc == EXIT_DONE && !(s.past = history_open()))
        rc = cli_no_memory();
    if (rc == EXIT_DONE)
        take_snapshot(&s); /* the first call queries the drivers, which may take long: do it now */
    if (rc == EXIT_DONE && !opts.work.idle)
        rc = workload_start(s.ctx, &opts.work, &cmd_serve, &s.work);
    if (rc == EXIT_DONE)
        rc = serve(&s, e, token);
    workload_stop(&s.work);
    device_list_free(&s.infos);
    free(s.status);
    free(s.metrics);
    free(s.past_text);
    history_close(s.past);
    return cli_close(&s.ctx, rc);
}

static int run_serve(const common_opts *common)
{
    endpoint e = {0};
    const char *token = opts.token ? opts.token : gx__os_env(TOKEN_VARIABLE);
    if (!http_server_exists()) {
        cli_error("built without libmicrohttpd: install it (Debian, Ubuntu: apt-get install "
                  "libmicrohttpd-dev) and rebuild");
        return EXIT_FAILED;
    }
    if (!parse_listen(opts.listen, &e))
        return cli_usage(&cmd_serve,
                         "--listen: '%s' is not an address and port; write " DEFAULT_LISTEN,
                         opts.listen);
    token = token && *token ? token : NULL;
    if (!e.loopback && !token)
        return cli_usage(
            &cmd_serve,
            "--listen %s: other machines can reach that address, so a token is required (--token "
            "or " TOKEN_VARIABLE ")",
            opts.listen);
    signals_hold();
    return serve_context(common, &e, token);
}

const command cmd_serve = {
    .name = "serve",
    .summary = "serve a live page and Prometheus metrics over a running workload",
    .synopsis = "[--listen A:P] [--token T] [--field F] [--op O] [--sizes N] [--rate R] [--idle]",
    .about =
        "Opens a context, submits jobs at a steady rate, and shows what happens: a live page at\n"
        "the address it prints, /metrics for Prometheus (doc/metrics.md), /status.json for\n"
        "'gpuexec top' and other clients, /history.json with the last day, and /healthz, which\n"
        "returns 503 while no device works. The time lost by device selection is an estimate:\n"
        "actual time minus the lowest prediction (regret in doc/metrics.md).\n"
        "\n"
        "By default only this machine can connect. Any other address needs a token, which\n"
        "requests send as 'Authorization: Bearer T' or '?token=T'. It is sent in clear text: on\n"
        "networks you do not trust, use a TLS proxy. Results are discarded. To export metrics of\n"
        "your own program, use gx_metrics_prometheus.",
    .examples = "  gpuexec serve\n"
                "  gpuexec serve --rate 200 --op mul,inv --sizes 1K,1M\n"
                "  gpuexec serve --listen 127.0.0.1:0 --idle\n"
                "  " TOKEN_VARIABLE "=$(cat token) gpuexec serve --listen 0.0.0.0:9464\n",
    .args = {specs, sizeof specs / sizeof *specs},
    .run = run_serve,
};
