/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec top: shows the state of a context in the terminal, either of a gpuexec serve or of a
 * workload in this process. Both come as the same JSON (live.h); rates are differences of two
 * snapshots.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "host.h"
#include "http_get.h"
#include "live.h"
#include "signals.h"
#include "workload.h"

/* INDENT: column of the text after a heading. */
enum { BAR_WIDTH = 20, NAME_WIDTH = 24, INDENT = 10, LINE_BYTES = 1024, SMALLEST_BUCKET_K = 4 };

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
     .help = "address of a gpuexec serve (default: runs its own workload)"},
    ARG_ROW_FLAG("once", &opts.once, "print one view and exit"),
    ARG_ROW_NUMBER("interval", "S", &opts.interval, 1, 3600, "seconds between views (1)"),
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
        snprintf(err, err_size, "the server at %s:%s is not a gpuexec serve", s->place.host,
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

/* The current snapshot, and the previous one, which may be NULL. */
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

/* "12.4 MB", or without a unit "12.4 M"; a static buffer, valid for the next seven calls. */
static const char *human_of(double value, const char *unit)
{
    static char texts[8][32];
    static unsigned next;
    static const char prefixes[] = " kMGTP";
    size_t k = 0;
    char *out = texts[next++ % 8];
    for (; value >= 999.5 && k + 2 < sizeof prefixes; k++)
        value /= 1000;
    int decimals = value >= 99.5 || (!k && value == floor(value)) ? 0 : value >= 9.95 ? 1 : 2;
    snprintf(out, sizeof texts[0], "%.*f%s%.*s%s", decimals, value, k || *unit ? " " : "", k > 0,
             prefixes + k, unit);
    return out;
}

static const char *human(double value)
{
    return human_of(value, "");
}

static const char *human_bytes(double value)
{
    return human_of(value, "B");
}

/* Hit rate; "-" if there were no requests. */
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

/* Actual time of decisions relative to the lowest prediction, since `before`; NULL: overall. "-" if
 * there were none, or too few overall. The page (report/live.html) shows the same. */
static const char *regret(const json_t *now, const json_t *before, char *out, size_t size)
{
    double best = number(now, "routed_best_ns") - number(before, "routed_best_ns");
    double took = number(now, "routed_ns") - number(before, "routed_ns");
    if (best > 0 && (before || number(now, "decisions_predicted") >= LIVE_REGRET_DECISIONS))
        snprintf(out, size, "%.1f %%", 100 * (took / best - 1));
    else
        snprintf(out, size, "-");
    return out;
}

/* ---- lines ---- */

/* Redraw in place: the terminal can move its cursor, and there is more than one view. */
static bool on_screen(void)
{
    return host_is_screen(STDOUT_FILENO) && !opts.once;
}

static int columns_of(const char *text)
{
    int columns = 0;
    for (; *text; text++)
        columns += (*text & 0xc0) != 0x80;
    return columns;
}

/* Number of bytes in that many columns. */
static size_t bytes_of(const char *text, int columns)
{
    const char *p = text;
    for (; *p && ((*p & 0xc0) == 0x80 || columns-- > 0); p++) {
    }
    return (size_t)(p - text);
}

/* Foreign text must not move the cursor: control characters become '?'. */
static void put_text(const char *text, size_t bytes)
{
    for (const unsigned char *p = (const unsigned char *)text, *end = p + bytes; p < end; p++)
        if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
            p++, putchar('?');
        else
            putchar(*p < 0x20 || *p == 0x7f ? '?' : *p);
}

/* One line of the screen. Erases the line first: after a full line, erasing would remove the last
 * character. */
static void put_line(view *v, const char *style, int indent, const char *text, size_t bytes)
{
    if (v->lines++ >= v->room)
        return;
    printf("%s%s%*s", on_screen() ? "\033[K" : "", style, indent, "");
    put_text(text, bytes);
    fputs(*style ? style_off() : "", stdout);
    putchar('\n');
}

/* Where to break text of which this many bytes fit: after a comma, otherwise between words; 0:
 * nowhere. */
static size_t break_at(const char *text, size_t fits)
{
    size_t word = 0;
    for (size_t i = fits; i > 0; i--) {
        if (text[i] == ' ' && text[i - 1] == ',')
            return i;
        if (text[i] == ' ' && !word)
            word = i;
    }
    return word;
}

/* Prints a line of text, broken if the terminal is too narrow. */
GX_PRINTF(3, 4) static void line(view *v, const char *style, const char *format, ...)
{
    char all[LINE_BYTES], *text = all;
    va_list args;
    va_start(args, format);
    vsnprintf(all, sizeof all, format, args);
    va_end(args);
    int width = output_width(), indent = 0;
    while (columns_of(text) > width - indent) {
        size_t fits = bytes_of(text, width - indent), bytes = break_at(text, fits);
        put_line(v, style, indent, text, bytes ? bytes : fits);
        text += bytes ? bytes + 1 : fits;
        indent = width > 2 * INDENT ? INDENT : 0;
    }
    put_line(v, style, indent, text, strlen(text));
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
    line(v, "", "elements  %s/s, %s total", human(rate(v, now, before, "elements")),
         human(number(now, "elements")));
    line(v, number(now, "jobs_failed") > 0 ? style_bad() : "",
         "jobs      %s/s, %s done, %s failed, %s waiting", human(rate(v, now, before, "jobs_done")),
         human(number(now, "jobs_done")), human(number(now, "jobs_failed")),
         human(number(now, "jobs_waiting")));
    line(v, "", "memory    %s in pools, %s on devices, %s peak",
         human_bytes(number(now, "pool_bytes")), human_bytes(number(now, "device_bytes")),
         human_bytes(number(now, "device_bytes_peak")));
    line(v, "", "reused    pool %s, commands %s",
         hit_rate(now, "pool_hits", "pool_misses", pool, sizeof pool),
         hit_rate(now, "command_hits", "command_misses", commands, sizeof commands));
    line(v, "", "decisions %s: %s by default, %s split, %s explored",
         human(number(now, "decisions")), human(number(now, "decisions_default")),
         human(number(now, "decisions_split")), human(number(now, "decisions_explored")));
    line(v, "", "regret    %s now, %s overall (estimated)",
         regret(now, before, lately, sizeof lately), regret(now, NULL, ever, sizeof ever));
    line(v, number(now, "mismatches") + number(now, "fallbacks") > 0 ? style_bad() : "",
         "checked   %s elements, %s jobs wrong, %s fallbacks", human(number(now, "sampled")),
         human(number(now, "mismatches")), human(number(now, "fallbacks")));
    if (text(work, "last_error")[0])
        line(v, style_bad(), "failed    %s", text(work, "last_error"));
}

/* ---- the table of devices ---- */

enum { CELL_DEVICE, CELL_HEALTH, CELL_LOAD, CELL_BAR, CELL_SHARE, CELLS = CELL_SHARE + 5 };

typedef struct table {
    int width[CELLS]; /* 0: absent */
} table;

/* A narrow terminal drops the bar first, then whole cells from the right: half a number would be
 * misleading. */
static void lay_out(table *t, const json_t *devices)
{
    static const table usual = {{6, 11, 6, 0, 6, 8, 8, 9, 4}};
    int room = output_width();
    *t = usual;
    for (size_t i = 0; i < json_array_size(devices); i++) {
        int name = columns_of(text(json_array_get(devices, i), "device"));
        if (name > t->width[CELL_DEVICE])
            t->width[CELL_DEVICE] = name < NAME_WIDTH ? name : NAME_WIDTH;
    }
    for (int i = 0; i < CELLS; i++) {
        if (t->width[i] >= room)
            t->width[i] = room = 0;
        room -= t->width[i] ? t->width[i] + 1 : 0;
    }
    if (room > 1)
        t->width[CELL_BAR] = room - 1 < BAR_WIDTH ? room - 1 : BAR_WIDTH;
}

/* Text is left-aligned, numbers right-aligned. */
static void row(view *v, const table *t, const char *style, const char *const *cells)
{
    char all[LINE_BYTES];
    size_t used = 0;
    all[0] = 0;
    for (int i = 0; i < CELLS; i++) {
        int width = t->width[i], pad = width - columns_of(cells[i]);
        bool left = i == CELL_DEVICE || i == CELL_HEALTH || i == CELL_BAR;
        if (!width)
            continue;
        pad = pad > 0 ? pad : 0;
        int bytes = (int)bytes_of(cells[i], width);
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%*s%.*s%*s", i ? " " : "",
                                 left ? 0 : pad, "", bytes, cells[i], left ? pad : 0, "");
    }
    put_line(v, style, 0, all, strlen(all));
}

static void show_device(view *v, const table *t, const json_t *device, double elements)
{
    char bar[4 * BAR_WIDTH + 1], load[16], share[16] = "-", waiting[32];
    const json_t *before = device_before(v, text(device, "device"));
    double busy = rate(v, device, before, "busy_ns") / 1e9;
    double own = rate(v, device, before, "elements");
    const char *health = text(device, "health");
    bool well = !strcmp(health, "good") || !strcmp(health, "unused");
    snprintf(load, sizeof load, "%.0f %%", 100 * busy);
    snprintf(waiting, sizeof waiting, "%.0f ms", number(device, "waiting_ns") / 1e6);
    if (elements > 0)
        snprintf(share, sizeof share, "%.0f %%", 100 * own / elements);
    const char *const cells[CELLS] = {text(device, "device"),
                                      health,
                                      load,
                                      output_bar(bar, t->width[CELL_BAR], busy),
                                      share,
                                      human(rate(v, device, before, "jobs")),
                                      human(own),
                                      waiting,
                                      human(number(device, "failures"))};
    row(v, t, well ? "" : style_bad(), cells);
}

static void show_devices(view *v)
{
    static const char *const head[CELLS] = {"device", "health", "load",    "",    "share",
                                            "jobs/s", "elem/s", "waiting", "fail"};
    const json_t *devices = json_object_get(v->now, "devices");
    table t;
    double elements = 0;
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *d = json_array_get(devices, i);
        elements += rate(v, d, device_before(v, text(d, "device")), "elements");
    }
    lay_out(&t, devices);
    line(v, "", "%s", "");
    row(v, &t, style_bold(), head);
    for (size_t i = 0; i < json_array_size(devices); i++)
        show_device(v, &t, json_array_get(devices, i), elements);
}

/* Sizes of pooled memory that were requested. */
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
    line(v, style_bold(), "%-12s %s", "pool blocks", "requests");
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
    int columns, lines;
    bool known = on_screen() && host_terminal_size(STDOUT_FILENO, &columns, &lines);
    return known ? lines - 1 : 1000;
}

static bool show(const json_t *now, const json_t *before, const char *from, const char *err)
{
    bool screen = on_screen();
    view v = {.now = now, .before = before, .room = screen_lines(), .from = from};
    v.seconds = number(now, "uptime_s") - number(before, "uptime_s");
    if (screen)
        fputs("\033[H", stdout);
    show_sums(&v);
    show_devices(&v);
    show_buckets(&v);
    if (err)
        line(&v, style_bad(), "no reply: %s", err);
    fputs(screen ? "\033[J" : opts.once ? "" : "\n", stdout);
    return output_flush();
}

/* ---- the terminal ---- */

static bool keys; /* standard input is read key by key */

static void find_terminal(void)
{
    keys = on_screen() && host_has_keys();
}

static void enter_screen(void)
{
    if (!on_screen())
        return;
    fputs("\033[?1049h\033[?25l", stdout);
    if (keys)
        keys = host_keys(true);
}

static void leave_screen(void)
{
    if (!on_screen())
        return;
    if (keys)
        host_keys(false);
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
}

/* Waits until `until`; false to quit. */
static bool wait_until(uint64_t until)
{
    for (uint64_t now = now_ns(); now < until; now = now_ns()) {
        int key;
        switch (signals_wait(until - now, keys)) {
        case SIGNAL_END:
            return false;
        case SIGNAL_STOP:
            leave_screen();
            signals_stop();
            enter_screen();
            return true;
        case SIGNAL_CONTINUE: /* if nothing was restored yet */
            enter_screen();
            return true;
        case SIGNAL_RESIZE:
            return true;
        case SIGNAL_INPUT:
            key = host_key();
            keys = key >= 0;
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

/* One view: queries, prints, and keeps the snapshot for the next one. */
static bool refresh(source *s, const char *from, json_t **before, char *err, size_t err_size)
{
    err[0] = 0;
    json_t *now = ask(s, err, err_size);
    /* A different process at the same address starts over. */
    if (now && number(now, "uptime_s") < number(*before, "uptime_s")) {
        json_decref(*before);
        *before = json_incref(now);
    }
    bool ok = show(now ? now : *before, *before, from, now ? NULL : err);
    if (now) {
        json_decref(*before);
        *before = now;
    }
    return ok && (now || host_is_terminal(STDOUT_FILENO));
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
    find_terminal();
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
        rc = watch(&s, "own workload");
    workload_stop(&s.work);
    device_list_free(&s.infos);
    return cli_close(&s.ctx, rc);
}

static int run_top(const common_opts *common)
{
    char err[512], from[300];
    source s = {0};
    if (opts.urls.count > 1)
        return cli_usage(&cmd_top, "only one URL is allowed");
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
    .summary = "watch the devices at work in the terminal",
    .synopsis = "[URL] [--once] [--interval S] [--field F] [--op O] [--rate R] [--idle]",
    .about =
        "Shows what the 'gpuexec serve' at URL is doing, or a workload of its own: rates, the\n"
        "queue, reuse of memory and commands, the router's decisions, and for each device its\n"
        "load, share of the elements and health. A load above 100 % means overlapping jobs.\n"
        "\n"
        "The regret is an estimate: actual time of decisions between devices relative to the\n"
        "lowest prediction, since the previous view and overall. Small calls are excluded.\n"
        "Negative: faster than predicted; '-': no such decisions, or overall fewer than 100, the\n"
        "first of which pay for threads and memory. See doc/metrics.md.\n"
        "\n"
        "Quit with q or Ctrl-C. If standard output is not a terminal, or one that cannot move its\n"
        "cursor (TERM=dumb), every view is a block of lines, separated by empty lines. A token is\n"
        "part of the URL: http://HOST:PORT/?token=T",
    .examples = "  gpuexec top\n"
                "  gpuexec top http://127.0.0.1:9464/\n"
                "  gpuexec top --once 127.0.0.1:9464\n"
                "  gpuexec top --interval 10 127.0.0.1:9464 | tee log.txt\n",
    .args = {specs, sizeof specs / sizeof *specs},
    .run = run_top,
};
