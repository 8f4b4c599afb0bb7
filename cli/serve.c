/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec serve: the state of a context over HTTP: metrics, a live page, and the data for the page
 * and for gpuexec top.
 */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "http/listen.h"
#include "http/server.h"
#include "history.h"
#include "live.h"
#include "report/page.h"
#include "signals.h"

/* Minimum interval between two queries of the context, however many clients there are. */
#define SNAPSHOT_NS 100000000u

#define DEFAULT_LISTEN "127.0.0.1:9464"
#define PAGE           "live.html"
#define TOKEN_VARIABLE "GPUEXEC_SERVE_TOKEN"

static struct {
    const char *listen, *token;
    workload_opts work;
} opts = {.listen = DEFAULT_LISTEN, .work = WORKLOAD_DEFAULT};

static const option_row options[] = {
    OPTION_TEXT("listen", "A:P", &opts.listen,
                "address and port (" DEFAULT_LISTEN "); port 0: any free port"),
    OPTION_TEXT("token", "T", &opts.token,
                "token that every request must present; other users can see it on the command "
                "line, so prefer " TOKEN_VARIABLE),
    OPTIONS_WORKLOAD(&opts.work),
};

/* ---- what is answered ---- */

typedef struct service {
    live live;
    /* The snapshot; used only by the server thread. */
    uint64_t taken_ns;
    char *status, *metrics;
    bool healthy;
    char *past_text;
    uint64_t past_ns; /* when it was taken */
    history *past;
} service;

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
    free(s->metrics);
    free(s->status);
    json_t *status = live_status(&s->live, &s->metrics);
    s->healthy = any_usable(status);
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
            json_t *status = live_status(&s->live, NULL);
            history_add(s->past, status);
            json_decref(status);
            next += (now - next + HISTORY_PERIOD_NS) / HISTORY_PERIOD_NS * HISTORY_PERIOD_NS;
        }
        signal_event event = signals_wait(next - now, false);
        if (event == SIGNAL_END)
            return;
        if (event == SIGNAL_STOP)
            signals_stop();
    }
}

static int serve(service *s, const http_endpoint *e, const char *token)
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

static int serve_context(const common_opts *common, const http_endpoint *e, const char *token)
{
    service s = {.past = history_open()};
    int rc = live_open(&s.live, common, &opts.work);
    if (rc == EXIT_DONE && !s.past)
        rc = cli_no_memory();
    if (rc == EXIT_DONE)
        rc = serve(&s, e, token);
    rc = live_close(&s.live, rc);
    free(s.status);
    free(s.metrics);
    free(s.past_text);
    history_close(s.past);
    return rc;
}

static int run_serve(const common_opts *common)
{
    http_endpoint e = {0};
    const char *token = opts.token ? opts.token : gx__os_env(TOKEN_VARIABLE);
    if (!http_server_exists()) {
        cli_error("built without libmicrohttpd: install it (Debian, Ubuntu: apt-get install "
                  "libmicrohttpd-dev) and rebuild");
        return EXIT_FAILED;
    }
    if (!http_listen_parse(opts.listen, &e))
        return cli_usage("--listen: '%s' is not an address and port; write " DEFAULT_LISTEN,
                         opts.listen);
    token = token && *token ? token : NULL;
    if (!e.loopback && !token)
        return cli_usage(
            "--listen %s: other machines can reach that address, so a token is required (--token "
            "or " TOKEN_VARIABLE ")",
            opts.listen);
    signals_hold();
    return serve_context(common, &e, token);
}

const command cmd_serve = {
    .name = "serve",
    .summary = "serve a live page and Prometheus metrics over a running workload",
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
    .options = OPTION_TABLE(options),
    .run = run_serve,
};
