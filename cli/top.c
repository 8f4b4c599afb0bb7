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
#include "http/get.h"
#include "live.h"
#include "signals.h"

/* INDENT: column of the text after a heading. */
enum { BAR_WIDTH = 20, NAME_WIDTH = 24, INDENT = 10, LINE_BYTES = 1024, TEXT_BYTES = 32 };

#define ANSWER_NS 3000000000u

static struct {
    word_list urls;
    int once;
    uint64_t interval;
    workload_opts work;
} opts = {.interval = 1, .work = WORKLOAD_DEFAULT};

static const option_row options[] = {
    OPTION_WORDS("URL", &opts.urls, "address of a gpuexec serve (default: runs its own workload)"),
    OPTION_FLAG("once", &opts.once, "print one view and exit"),
    OPTION_NUMBER("interval", "S", &opts.interval, 1, 3600, "seconds between views (1)"),
    OPTIONS_WORKLOAD(&opts.work),
};

/* ---- where it comes from ---- */

typedef struct source {
    http_place place; /* of a URL, or: */
    live own;
    const char *from;     /* what it is called */
    json_t *now, *before; /* the last snapshot, and the one before it or NULL */
    char err[512];        /* why there was no reply */
} source;

static json_t *ask(source *s)
{
    s->err[0] = 0;
    if (s->own.ctx)
        return live_status(&s->own, NULL);
    char *text = http_get(&s->place, "/status.json", ANSWER_NS, s->err, sizeof s->err);
    json_t *json = text ? json_loads(text, 0, NULL) : NULL;
    free(text);
    if (text && !json_is_object(json_object_get(json, "stats"))) {
        snprintf(s->err, sizeof s->err, "the server at %s is not a gpuexec serve", s->from);
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

/* The same device or operation in the previous snapshot; NULL: none. */
static const json_t *earlier(const view *v, const char *list, const json_t *like)
{
    static const char *const keys[] = {"device", "op", "field"};
    const json_t *all = json_object_get(v->before, list);
    for (size_t i = 0, k; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i);
        for (k = 0; k < 3 && !strcmp(text(one, keys[k]), text(like, keys[k])); k++) {
        }
        if (k == 3)
            return one;
    }
    return NULL;
}

static double rate(const view *v, const json_t *now, const json_t *before, const char *key)
{
    return v->seconds > 0 ? fmax(0, number(now, key) - number(before, key)) / v->seconds : 0;
}

/* A static buffer, valid for the next seven calls. */
static char *next_text(void)
{
    static char texts[8][TEXT_BYTES];
    static unsigned next;
    return texts[next++ % 8];
}

/* "12.4 MB", or without a unit "12.4 M", with three digits; a buffer of next_text. Each of the
 * prefixes is for a thousand of the one before. */
static const char *scaled(double value, const char *prefixes, const char *unit)
{
    size_t k = 0;
    char *out = next_text();
    for (; value >= 999.5 && prefixes[k + 1]; k++)
        value /= 1000;
    bool plain = prefixes[k] == ' ';
    int decimals = value >= 99.5 || (plain && value == floor(value)) ? 0 : value >= 9.95 ? 1 : 2;
    snprintf(out, TEXT_BYTES, "%.*f%s%.*s%s", decimals, value, plain && !*unit ? "" : " ", !plain,
             prefixes + k, unit);
    return out;
}

static const char *human(double value)
{
    return scaled(value, " kMGTP", "");
}

static const char *human_bytes(double value)
{
    return scaled(value, " kMGTP", "B");
}

/* "-" where there is none. */
static const char *human_time(const json_t *ns)
{
    return json_is_number(ns) ? scaled(json_number_value(ns) / 1e3, "um ", "s") : "-";
}

/* "98.5 %", or "-" of nothing; a buffer of next_text. */
static const char *percent(int decimals, double part, double whole)
{
    char *out = next_text();
    if (whole <= 0)
        return "-";
    snprintf(out, TEXT_BYTES, "%.*f %%", decimals, 100 * part / whole);
    return out;
}

/* Hit rate; "-" if there were no requests. */
static const char *hit_rate(const json_t *stats, const char *hits, const char *misses)
{
    double all = number(stats, hits) + number(stats, misses);
    return percent(1, number(stats, hits), all);
}

/* Actual time of decisions relative to the lowest prediction, since `before`; NULL: overall. "-" if
 * there were none, or too few overall. The page (report/live.html) shows the same. */
static const char *regret(const json_t *now, const json_t *before)
{
    double best = number(now, "routed_best_ns") - number(before, "routed_best_ns");
    double took = number(now, "routed_ns") - number(before, "routed_ns");
    bool enough = before || number(now, "decisions_predicted") >= LIVE_REGRET_DECISIONS;
    return percent(1, took - best, enough ? best : 0);
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
    unsigned up = (unsigned)number(v->now, "uptime_s");
    line(v, style_bold(), "gpuexec %s, %s, up %u:%02u:%02u", text(v->now, "version"), v->from,
         up / 3600, up / 60 % 60, up % 60);
    if (text(work, "what")[0])
        line(v, "", "load      synthetic: %s", text(work, "what"));
    else
        line(v, "", "load      none");
    line(v, "", "elements  %s/s, %s total", human(rate(v, now, before, "elements")),
         human(number(now, "elements")));
    line(v, number(now, "jobs_failed") > 0 ? style_bad() : "",
         "jobs      %s/s, %s done, %s failed, %s waiting", human(rate(v, now, before, "jobs_done")),
         human(number(now, "jobs_done")), human(number(now, "jobs_failed")),
         human(number(now, "jobs_waiting")));
    line(v, "", "memory    %s in pools, %s on devices, %s peak",
         human_bytes(number(now, "pool_bytes")), human_bytes(number(now, "device_bytes")),
         human_bytes(number(now, "device_bytes_peak")));
    line(v, "", "reused    pool %s, commands %s", hit_rate(now, "pool_hits", "pool_misses"),
         hit_rate(now, "command_hits", "command_misses"));
    line(v, "", "decisions %s: %s by default, %s split, %s explored",
         human(number(now, "decisions")), human(number(now, "decisions_default")),
         human(number(now, "decisions_split")), human(number(now, "decisions_explored")));
    line(v, "", "regret    %s now, %s overall (estimated)", regret(now, before), regret(now, NULL));
    line(v, number(now, "mismatches") + number(now, "fallbacks") > 0 ? style_bad() : "",
         "checked   %s elements, %s jobs wrong, %s fallbacks", human(number(now, "sampled")),
         human(number(now, "mismatches")), human(number(now, "fallbacks")));
    if (text(work, "last_error")[0])
        line(v, style_bad(), "failed    %s", text(work, "last_error"));
}

/* ---- tables ---- */

enum { CELLS = 9, CELL_BAR = 3 /* of devices */ };

typedef struct table {
    int width[CELLS]; /* 0: absent */
    unsigned left;    /* bits of the cells that are left-aligned */
} table;

/* Makes a cell as wide as the texts in it. */
static void widen(table *t, int cell, const json_t *list, const char *key)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        int width = columns_of(text(json_array_get(list, i), key));
        if (width > t->width[cell])
            t->width[cell] = width < NAME_WIDTH ? width : NAME_WIDTH;
    }
}

/* A narrow terminal drops whole cells from the right: half a number would be misleading. Returns
 * the columns that are left. */
static int fit(table *t)
{
    int room = output_width();
    for (int i = 0; i < CELLS; i++) {
        if (t->width[i] >= room)
            t->width[i] = room = 0;
        room -= t->width[i] ? t->width[i] + 1 : 0;
    }
    return room;
}

static void row(view *v, const table *t, const char *style, const char *const *cells)
{
    char all[LINE_BYTES];
    size_t used = 0;
    all[0] = 0;
    for (int i = 0; i < CELLS; i++) {
        if (!t->width[i])
            continue;
        int width = t->width[i], pad = width - columns_of(cells[i]);
        bool left = t->left >> i & 1;
        pad = pad > 0 ? pad : 0;
        int bytes = (int)bytes_of(cells[i], width);
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%*s%.*s%*s", i ? " " : "",
                                 left ? 0 : pad, "", bytes, cells[i], left ? pad : 0, "");
    }
    put_line(v, style, 0, all, strlen(all));
}

static void show_device(view *v, const table *t, const json_t *device, double elements)
{
    char bar[4 * BAR_WIDTH + 1], waiting[32];
    const char *name = text(device, "device"), *health = text(device, "health");
    const json_t *before = earlier(v, "devices", device);
    double busy = rate(v, device, before, "busy_ns") / 1e9;
    double own = rate(v, device, before, "elements");
    bool well = !strcmp(health, "good") || !strcmp(health, "unused");
    snprintf(waiting, sizeof waiting, "%.0f ms", number(device, "waiting_ns") / 1e6);
    const char *const cells[CELLS] = {name,
                                      health,
                                      percent(0, busy, 1),
                                      output_bar(bar, t->width[CELL_BAR], busy),
                                      percent(0, own, elements),
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
    table t = {{6, 11, 6, 0, 6, 8, 8, 9, 4}, 1 << 0 | 1 << 1 | 1 << CELL_BAR};
    double elements = 0;
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *d = json_array_get(devices, i);
        elements += rate(v, d, earlier(v, "devices", d), "elements");
    }
    widen(&t, 0, devices, "device");
    int room = fit(&t); /* what is left is the bar's */
    if (room > 1)
        t.width[CELL_BAR] = room - 1 < BAR_WIDTH ? room - 1 : BAR_WIDTH;
    line(v, "", "%s", "");
    row(v, &t, style_bold(), head);
    for (size_t i = 0; i < json_array_size(devices); i++)
        show_device(v, &t, json_array_get(devices, i), elements);
}

static void show_operations(view *v)
{
    static const char *const head[CELLS] = {"operation", "field", "jobs/s", "per s", "of",
                                            "p50",       "p99",   "jobs",   ""};
    const json_t *list = json_object_get(v->now, "operations");
    table t = {{9, 5, 8, 8, 8, 8, 8, 8, 0}, 1 << 0 | 1 << 1 | 1 << 4};
    widen(&t, 0, list, "op");
    widen(&t, 1, list, "field");
    fit(&t);
    line(v, "", "%s", "");
    row(v, &t, style_bold(), head);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i), *before = earlier(v, "operations", o);
        const json_t *recent = json_object_get(o, "recent");
        const char *const cells[CELLS] = {text(o, "op"),
                                          text(o, "field"),
                                          human(rate(v, o, before, "jobs")),
                                          human(rate(v, o, before, "elements")),
                                          strcmp(text(o, "op"), "msm") ? "elements" : "points",
                                          human_time(json_object_get(recent, "p50_ns")),
                                          human_time(json_object_get(recent, "p99_ns")),
                                          human(number(o, "jobs")),
                                          ""};
        row(v, &t, "", cells);
    }
    line(v, "",
         "p50, p99: within these times half and 99 %% of the jobs of the last %.0f s were done",
         number(v->now, "recent_s"));
}

static int screen_lines(void)
{
    int columns, lines;
    bool known = on_screen() && host_terminal_size(STDOUT_FILENO, &columns, &lines);
    return known ? lines - 1 : 1000;
}

/* The part of the screen below the sums; without a screen, all of them. */
static bool by_operation;

/* Standard input is read key by key. */
static bool keys;

static bool show(const source *s)
{
    bool screen = on_screen();
    view v = {.now = s->now, .before = s->before, .room = screen_lines(), .from = s->from};
    v.seconds = s->before ? number(s->now, "uptime_s") - number(s->before, "uptime_s") : 0;
    if (screen)
        fputs("\033[H", stdout);
    show_sums(&v);
    if (!screen || !by_operation)
        show_devices(&v);
    if (!screen || by_operation)
        show_operations(&v);
    if (keys)
        line(&v, "", "keys: %s, q to quit", by_operation ? "d for devices" : "o for operations");
    if (s->err[0])
        line(&v, style_bad(), "no reply: %s", s->err);
    fputs(screen ? "\033[J" : opts.once ? "" : "\n", stdout);
    return output_flush();
}

/* ---- the terminal ---- */

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

typedef enum wake { WAKE_TIME, WAKE_DRAW, WAKE_QUIT } wake;

static wake on_key(int key)
{
    keys = key >= 0;
    if (key == 'o' || key == 'd')
        by_operation = key == 'o';
    return key == 'q' || key == 'Q' ? WAKE_QUIT : keys ? WAKE_DRAW : WAKE_TIME;
}

/* Waits until `until`, or until there is something to draw anew. */
static wake wait_until(uint64_t until)
{
    for (uint64_t now = now_ns(); now < until; now = now_ns())
        switch (signals_wait(until - now, keys)) {
        case SIGNAL_END:
            return WAKE_QUIT;
        case SIGNAL_STOP:
            leave_screen();
            signals_stop();
            enter_screen();
            return WAKE_DRAW;
        case SIGNAL_CONTINUE: /* if nothing was restored yet */
            enter_screen();
            return WAKE_DRAW;
        case SIGNAL_RESIZE:
            return WAKE_DRAW;
        case SIGNAL_INPUT:
            return on_key(host_key());
        case SIGNAL_NONE:
            break;
        }
    return WAKE_TIME;
}

/* ---- the command ---- */

/* Queries and prints; without a reply, the last snapshot again. */
static bool refresh(source *s)
{
    json_t *next = ask(s);
    if (next) {
        json_decref(s->before);
        s->before = s->now;
        s->now = next;
    }
    /* A different process at the same address starts over. */
    if (number(s->now, "uptime_s") < number(s->before, "uptime_s")) {
        json_decref(s->before);
        s->before = NULL;
    }
    return show(s) && (next || host_is_terminal(STDOUT_FILENO));
}

static bool watch_on(source *s)
{
    uint64_t step = opts.interval * 1000000000u, next = now_ns() + step;
    bool ok = opts.once || show(s), done = false;
    wake w;
    while (ok && !done && (w = wait_until(next)) != WAKE_QUIT) {
        ok = w == WAKE_DRAW ? show(s) : refresh(s);
        next = w == WAKE_DRAW ? next : now_ns() + step;
        done = w == WAKE_TIME && opts.once;
    }
    return ok;
}

static int watch(source *s)
{
    bool ok = (s->now = ask(s)) != NULL;
    if (ok) {
        keys = on_screen() && host_has_keys();
        enter_screen();
        ok = watch_on(s);
        leave_screen();
    }
    json_decref(s->before);
    json_decref(s->now);
    if (!ok && (s->err[0] || !s->now))
        cli_error("%s", s->err[0] ? s->err : "out of memory");
    return ok ? EXIT_DONE : EXIT_FAILED;
}

static int run_top(const common_opts *common)
{
    char from[300];
    source s = {.from = "own workload"};
    if (opts.urls.count > 1)
        return cli_usage("only one URL is allowed");
    if (opts.urls.count && !http_place_parse(opts.urls.words[0], &s.place, s.err, sizeof s.err))
        return cli_usage("%s", s.err);
    signals_hold();
    if (opts.urls.count) {
        snprintf(from, sizeof from, "%s:%s", s.place.host, s.place.port);
        s.from = from;
        return watch(&s);
    }
    int rc = live_open(&s.own, common, &opts.work);
    return live_close(&s.own, rc == EXIT_DONE ? watch(&s) : rc);
}

const command cmd_top = {
    .name = "top",
    .summary = "watch the devices at work in the terminal",
    .synopsis = "[URL]",
    .about =
        "Shows what the 'gpuexec serve' at URL is doing, or a synthetic load of its own: rates,\n"
        "the queue, reuse of memory and commands, the router's decisions, and for each device its\n"
        "load, share of the elements and health. A load above 100 % means overlapping jobs. A job\n"
        "that was split counts once, for the device that did most of it.\n"
        "\n"
        "By operation and field it shows the rates and how long jobs took: p50 and p99 are the\n"
        "times within which half and 99 % of those of the last minute were done, interpolated\n"
        "within the buckets of the histograms as Prometheus does.\n"
        "\n"
        "The regret is an estimate: actual time of decisions between devices relative to the\n"
        "lowest prediction, since the previous view and overall. Small calls are excluded.\n"
        "Negative: faster than predicted; '-': no such decisions, or overall fewer than 100, the\n"
        "first of which pay for threads and memory. See doc/metrics.md.\n"
        "\n"
        "Keys: o shows operations, d devices; q or Ctrl-C quits. If standard output is not a\n"
        "terminal, or one that cannot move its cursor (TERM=dumb), every view is a block of lines\n"
        "with both, separated by empty lines. A token is part of the URL:\n"
        "http://HOST:PORT/?token=T",
    .examples = "  gpuexec top\n"
                "  gpuexec top http://127.0.0.1:9464/\n"
                "  gpuexec top --once 127.0.0.1:9464\n"
                "  gpuexec top --interval 10 127.0.0.1:9464 | tee log.txt\n",
    .options = OPTION_TABLE(options),
    .run = run_top,
};
