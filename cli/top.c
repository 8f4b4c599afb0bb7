/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec top: what a context is doing, in the terminal: of a gpuexec serve, or of a workload
 * inside this process. Both come as the same JSON (live.h); rates are the difference of two.
 */
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "clock.h"
#include "http_get.h"
#include "live.h"
#include "signals.h"
#include "workload.h"

/* DEVICE_COLUMNS: of the line of a device, without its bar. */
enum { BAR_WIDTH = 20, DEVICE_COLUMNS = 72, LINE_BYTES = 1024, SMALLEST_BUCKET_K = 4 };

#define ANSWER_NS 3000000000u

static struct {
    word_list urls;
    int once;
    uint64_t interval;
    workload_opts work;
} opts = {.interval = 1, .work = WORKLOAD_DEFAULT};

static const arg_spec specs[] = {
    {.arg = "URL",
     .kind = ARG_WORDS,
     .value = &opts.urls,
     .help = "of a gpuexec serve (default: a workload of its own)"},
    {.name = "once", .kind = ARG_FLAG, .value = &opts.once, .set = 1, .help = "one view, and end"},
    {.name = "interval",
     .arg = "S",
     .kind = ARG_NUMBER,
     .value = &opts.interval,
     .min = 1,
     .max = 3600,
     .help = "seconds between views (1)"},
    WORKLOAD_SPECS(&opts.work),
};

/* ---- where it comes from ---- */

typedef struct source {
    http_place place; /* of a URL, or: */
    gx_ctx *ctx;
    device_list infos;
    workload *work;
    uint64_t start_ns;
} source;

static json_t *ask(source *s, char *err, size_t err_size)
{
    if (s->ctx)
        return live_status(s->ctx, &s->infos, s->work, s->start_ns);
    char *text = http_get(&s->place, "/status.json", ANSWER_NS, err, err_size);
    if (!text)
        return NULL;
    json_t *json = json_loads(text, 0, NULL);
    free(text);
    if (!json_is_object(json_object_get(json, "stats"))) {
        snprintf(err, err_size, "what answers at %s:%s is no gpuexec serve", s->place.host,
                 s->place.port);
        json_decref(json);
        return NULL;
    }
    return json;
}

/* ---- numbers ---- */

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

/* What there is to show: now, and before, which may be NULL. */
typedef struct view {
    const json_t *now, *before;
    double seconds;  /* between them */
    int lines, room; /* of the screen */
    const char *from;
} view;

static const json_t *device_before(const view *v, const char *name)
{
    const json_t *devices = json_object_get(v->before, "devices");
    for (size_t i = 0; i < json_array_size(devices); i++)
        if (!strcmp(text(json_array_get(devices, i), "device"), name))
            return json_array_get(devices, i);
    return NULL;
}

static double rate(const view *v, const json_t *now, const json_t *before, const char *key)
{
    return v->seconds > 0 ? fmax(0, number(now, key) - number(before, key)) / v->seconds : 0;
}

/* "12.4 M"; a static text, good for the next seven calls. */
static const char *human(double value)
{
    static char texts[8][32];
    static unsigned next;
    static const char units[] = " kMGTP";
    size_t unit = 0;
    char *out = texts[next++ % 8];
    for (; value >= 999.5 && unit + 2 < sizeof units; unit++)
        value /= 1000;
    int decimals = value >= 99.5 || (!unit && value == floor(value)) ? 0 : value >= 9.95 ? 1 : 2;
    snprintf(out, sizeof texts[0], unit ? "%.*f %c" : "%.*f", decimals, value, units[unit]);
    return out;
}

/* Hits of all; "-" where nothing was asked for. */
static const char *hit_rate(const json_t *stats, const char *hits, const char *misses, char *out,
                            size_t size)
{
    double all = number(stats, hits) + number(stats, misses);
    if (all > 0)
        snprintf(out, size, "%.1f %%", 100 * number(stats, hits) / all);
    else
        snprintf(out, size, "-");
    return out;
}

/* What decisions took beyond the least that was predicted for them, since `before`, which may
 * be NULL; "-" where there were none. */
static const char *regret(const json_t *now, const json_t *before, char *out, size_t size)
{
    double best = number(now, "routed_best_ns") - number(before, "routed_best_ns");
    double took = number(now, "routed_ns") - number(before, "routed_ns");
    if (best > 0)
        snprintf(out, size, "%.1f %%", 100 * (took / best - 1));
    else
        snprintf(out, size, "-");
    return out;
}

/* ---- lines ---- */

/* Prints one line, no longer than the terminal is wide. What comes from elsewhere may not move
 * the cursor: control characters become '?'. */
__attribute__((format(printf, 3, 4))) static void line(view *v, const char *style,
                                                       const char *format, ...)
{
    char all[LINE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(all, sizeof all, format, args);
    va_end(args);
    if (v->lines++ >= v->room)
        return;
    fputs(style, stdout);
    int columns = 0, width = output_width();
    for (const unsigned char *p = (const unsigned char *)all; *p; p++) {
        bool first = (*p & 0xc0) != 0x80;
        if (first && columns++ == width)
            break;
        if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
            p++, putchar('?');
        else
            putchar(*p < 0x20 || *p == 0x7f ? '?' : *p);
    }
    fputs(*style ? style_off() : "", stdout);
    fputs(isatty(STDOUT_FILENO) ? "\033[K\r\n" : "\n", stdout);
}

static void show_sums(view *v)
{
    const json_t *now = json_object_get(v->now, "stats");
    const json_t *before = json_object_get(v->before, "stats");
    const json_t *work = json_object_get(v->now, "workload");
    char pool[16], commands[16], lately[32], ever[32];
    unsigned up = (unsigned)number(v->now, "uptime_s");
    line(v, style_bold(), "gpuexec %s, %s, up %u:%02u:%02u", text(v->now, "version"), v->from,
         up / 3600, up / 60 % 60, up % 60);
    line(v, "", "elements  %s/s, %s in all", human(rate(v, now, before, "elements")),
         human(number(now, "elements")));
    line(v, number(now, "jobs_failed") > 0 ? style_bad() : "",
         "jobs      %s/s, %s done, %s failed, %s waiting", human(rate(v, now, before, "jobs_done")),
         human(number(now, "jobs_done")), human(number(now, "jobs_failed")),
         human(number(now, "jobs_waiting")));
    line(v, "", "memory    %sB of pools, %sB of devices, %sB at most",
         human(number(now, "pool_bytes")), human(number(now, "device_bytes")),
         human(number(now, "device_bytes_peak")));
    line(v, "", "ready     pool %s, commands %s",
         hit_rate(now, "pool_hits", "pool_misses", pool, sizeof pool),
         hit_rate(now, "command_hits", "command_misses", commands, sizeof commands));
    line(v, "", "decisions %s: %s by default, %s split, %s explored",
         human(number(now, "decisions")), human(number(now, "decisions_default")),
         human(number(now, "decisions_split")), human(number(now, "decisions_explored")));
    line(v, "", "regret    %s now, %s in all (estimated)",
         regret(now, before, lately, sizeof lately), regret(now, NULL, ever, sizeof ever));
    line(v, number(now, "mismatches") + number(now, "fallbacks") > 0 ? style_bad() : "",
         "checked   %s elements, %s jobs wrong, %s fallbacks", human(number(now, "sampled")),
         human(number(now, "mismatches")), human(number(now, "fallbacks")));
    if (text(work, "last_error")[0])
        line(v, style_bad(), "failed    %s", text(work, "last_error"));
}

/* The bar is what a narrow terminal does without. */
static int load_bar_width(void)
{
    int room = output_width() - DEVICE_COLUMNS;
    return room < 0 ? 0 : room < BAR_WIDTH ? room : BAR_WIDTH;
}

static void show_device(view *v, const json_t *device, double elements)
{
    char bar[4 * BAR_WIDTH + 1], share[16] = "-";
    const json_t *before = device_before(v, text(device, "device"));
    double load = rate(v, device, before, "busy_ns") / 1e9;
    double own = rate(v, device, before, "elements");
    bool well =
        !strcmp(text(device, "health"), "good") || !strcmp(text(device, "health"), "unused");
    int width = load_bar_width();
    output_bar(bar, width, load);
    int columns = 0;
    for (const char *p = bar; *p; p++)
        columns += (*p & 0xc0) != 0x80;
    if (elements > 0)
        snprintf(share, sizeof share, "%.0f %%", 100 * own / elements);
    line(v, well ? "" : style_bad(), "%-12.24s %-11.11s %4.0f %% %s%*s %6s %8s %8s %6.0f ms %4s",
         text(device, "device"), text(device, "health"), 100 * load, bar, width - columns, "",
         share, human(rate(v, device, before, "jobs")), human(own),
         number(device, "waiting_ns") / 1e6, human(number(device, "failures")));
}

static void show_devices(view *v)
{
    const json_t *devices = json_object_get(v->now, "devices");
    double elements = 0;
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *d = json_array_get(devices, i);
        elements += rate(v, d, device_before(v, text(d, "device")), "elements");
    }
    line(v, "", "%s", "");
    line(v, style_bold(), "%-12s %-11s %-*s %6s %8s %8s %9s %s", "device", "health",
         load_bar_width() + 7, "load", "share", "jobs/s", "elem/s", "waiting", "fail");
    for (size_t i = 0; i < json_array_size(devices); i++)
        show_device(v, json_array_get(devices, i), elements);
}

/* Sizes of pooled memory that were asked for. */
static void show_buckets(view *v)
{
    const json_t *buckets = json_object_get(json_object_get(v->now, "stats"), "buckets");
    size_t count = json_array_size(buckets);
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, json_number_value(json_array_get(buckets, i)));
    if (most <= 0)
        return;
    line(v, "", "%s", "");
    line(v, style_bold(), "%-12s %s", "pool pieces", "requests");
    for (size_t i = 0; i < count && i < 64; i++) {
        char bar[4 * BAR_WIDTH + 1], size[24];
        double value = json_number_value(json_array_get(buckets, i));
        unsigned long long k = (unsigned long long)SMALLEST_BUCKET_K << (i < 32 ? i : 32);
        if (value <= 0)
            continue;
        snprintf(size, sizeof size, k < 1024 ? "%llu KiB" : "%llu MiB", k < 1024 ? k : k / 1024);
        line(v, "", "%-12s %8s %s", size, human(value), output_bar(bar, BAR_WIDTH, value / most));
    }
}

static int screen_lines(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row)
        return 1000;
    return size.ws_row - 1;
}

static bool show(const json_t *now, const json_t *before, const char *from, const char *err)
{
    bool screen = isatty(STDOUT_FILENO) && !opts.once;
    view v = {.now = now, .before = before, .room = screen_lines(), .from = from};
    v.seconds = number(now, "uptime_s") - number(before, "uptime_s");
    if (screen)
        fputs("\033[H", stdout);
    show_sums(&v);
    show_devices(&v);
    show_buckets(&v);
    if (err)
        line(&v, style_bad(), "no answer: %s", err);
    fputs(screen ? "\033[J" : opts.once ? "" : "\n", stdout);
    return output_flush();
}

/* ---- the terminal ---- */

static struct termios cooked;
static bool keys; /* standard input is read key by key */

static void enter_screen(void)
{
    if (!isatty(STDOUT_FILENO) || opts.once)
        return;
    fputs("\033[?1049h\033[?25l", stdout);
    keys = isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &cooked);
    if (keys) {
        struct termios raw = cooked;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        keys = !tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
}

static void leave_screen(void)
{
    if (!isatty(STDOUT_FILENO) || opts.once)
        return;
    if (keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &cooked);
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
}

/* Waits until `until`; false where it is to end. */
static bool wait_until(uint64_t until)
{
    for (uint64_t now = now_ns(); now < until; now = now_ns()) {
        char key = 0;
        switch (signals_wait(until - now, keys)) {
        case SIGNAL_END:
            return false;
        case SIGNAL_STOP:
            leave_screen();
            raise(SIGSTOP);
            enter_screen();
            return true;
        case SIGNAL_RESIZE:
            return true;
        case SIGNAL_INPUT:
            if (read(STDIN_FILENO, &key, 1) != 1)
                keys = false;
            if (key == 'q' || key == 'Q')
                return false;
            break;
        case SIGNAL_NONE:
            break;
        }
    }
    return true;
}

/* ---- the command ---- */

/* One view: asks, shows, and keeps what was asked for the next one. */
static bool refresh(source *s, const char *from, json_t **before, char *err, size_t err_size)
{
    err[0] = 0;
    json_t *now = ask(s, err, err_size);
    /* Another process under the same address is a new beginning. */
    if (now && number(now, "uptime_s") < number(*before, "uptime_s")) {
        json_decref(*before);
        *before = json_incref(now);
    }
    bool ok = show(now ? now : *before, *before, from, now ? NULL : err);
    if (now) {
        json_decref(*before);
        *before = now;
    }
    return ok && (now || isatty(STDOUT_FILENO));
}

static int watch(source *s, const char *from)
{
    char err[512] = "";
    json_t *before = ask(s, err, sizeof err);
    if (!before) {
        cli_error("%s", err[0] ? err : "out of memory");
        return EXIT_FAILED;
    }
    uint64_t step = opts.interval * 1000000000u;
    bool ok = true;
    enter_screen();
    if (!opts.once)
        ok = show(before, NULL, from, NULL);
    while (ok && wait_until(now_ns() + step)) {
        ok = refresh(s, from, &before, err, sizeof err);
        if (opts.once)
            break;
    }
    leave_screen();
    json_decref(before);
    if (!ok && err[0])
        cli_error("%s", err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

static int watch_own(const common_opts *common)
{
    source s = {.start_ns = now_ns()};
    int rc = cli_open(common, &s.ctx);
    if (rc == EXIT_DONE)
        rc = device_list_get(s.ctx, &s.infos);
    if (rc == EXIT_DONE && !opts.work.idle)
        rc = workload_start(s.ctx, &opts.work, &cmd_top, &s.work);
    if (rc == EXIT_DONE)
        rc = watch(&s, "a workload of this process");
    workload_stop(&s.work);
    device_list_free(&s.infos);
    return cli_close(&s.ctx, rc);
}

static int run_top(const common_opts *common)
{
    char err[512], from[300];
    source s = {0};
    if (opts.urls.count > 1)
        return cli_usage(&cmd_top, "more than one URL");
    if (opts.urls.count && !http_place_parse(opts.urls.words[0], &s.place, err, sizeof err))
        return cli_usage(&cmd_top, "%s", err);
    signals_hold();
    if (!opts.urls.count)
        return watch_own(common);
    snprintf(from, sizeof from, "%s:%s", s.place.host, s.place.port);
    return watch(&s, from);
}

const command cmd_top = {
    .name = "top",
    .summary = "watch the devices at work, in the terminal",
    .synopsis = "[URL] [--once] [--interval S] [--field F] [--op O] [--rate R] [--idle]",
    .about =
        "Shows what the 'gpuexec serve' at URL is doing, or a workload that it runs itself: "
        "rates,\n"
        "the queue, what was found ready, what the router decided, and for each device how busy "
        "it\n"
        "is, its share of the elements, and its health. A load above 100 % is jobs that overlap.\n"
        "\n"
        "The regret is an estimate: what decisions between devices took beyond the least that was\n"
        "predicted for them, since the view before and in all. Small calls are not in it. Below "
        "0:\n"
        "faster than predicted; '-': no such decisions. See doc/metrics.md.\n"
        "\n"
        "q or Ctrl-C ends it. Where standard output is no terminal, every view is a block of "
        "lines,\n"
        "the blocks an empty line apart. A token is part of the URL: http://HOST:PORT/?token=T",
    .examples = "  gpuexec top\n"
                "  gpuexec top http://127.0.0.1:9464/\n"
                "  gpuexec top --once 127.0.0.1:9464\n"
                "  gpuexec top --interval 10 127.0.0.1:9464 | tee log.txt\n",
    .args = {specs, sizeof specs / sizeof *specs},
    .run = run_top,
};
