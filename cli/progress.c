/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws the progress bar with rate and time left (progress.h).
 */
#include "progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "host.h"
#include "output.h"

static struct {
    bool on, visible;
    char label[96];
    const char *unit;
    uint64_t total, done, started, drawn;
} bar;

void progress_start(const char *label, uint64_t total, const char *unit)
{
    bar.on = host_is_terminal(STDERR_FILENO);
    bar.visible = false;
    snprintf(bar.label, sizeof bar.label, "%s", label);
    bar.unit = unit;
    bar.total = total;
    bar.done = 0;
    bar.started = now_ns();
    bar.drawn = 0;
}

static void format_rate(char *text, size_t size, double rate)
{
    static const char *const prefixes[] = {"", " k", " M", " G"};
    size_t i = 0;
    for (; rate >= 1e3 && i < 3; i++)
        rate /= 1e3;
    snprintf(text, size, "%.*f%s %s/s", rate < 10 ? 1 : 0, rate, prefixes[i], bar.unit);
}

static void format_left(char *text, size_t size, double seconds)
{
    unsigned s = seconds > 359999 ? 359999 : (unsigned)(seconds + 0.5);
    if (s >= 3600)
        snprintf(text, size, "%u:%02u:%02u left", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, size, "%u:%02u left", s / 60, s % 60);
}

static unsigned columns(void)
{
    int columns, lines;
    return host_terminal_size(STDERR_FILENO, &columns, &lines) ? columns : 80;
}

static void draw(uint64_t done, uint64_t now)
{
    char text[160], rate[48] = "", left[48] = "", cells[4 * 24 + 1];
    double seconds = (double)(now - bar.started) / 1e9;
    double speed = seconds > 0 ? (double)done / seconds : 0;
    if (bar.unit)
        format_rate(rate, sizeof rate, speed);
    if (bar.total && done)
        format_left(left, sizeof left, (double)(bar.total - done) / speed);
    if (bar.total)
        snprintf(text, sizeof text, "%3.0f%%  %s%s%s", 100 * (double)done / (double)bar.total, rate,
                 *rate ? "  " : "", left);
    else
        snprintf(text, sizeof text, "%" PRIu64 " %s  %s", done, bar.unit, rate);
    /* the text starts at a fixed column, however long the bar is */
    int room = (int)columns() - (int)(strlen(bar.label) + strlen(text)) - 3;
    int width = !bar.total || room < 4 ? 0 : room < 24 ? room : 24;
    output_bar(cells, width, bar.total ? (double)done / (double)bar.total : 0);
    fprintf(stderr, "\r\033[K%s %s\033[%dG%s", bar.label, cells,
            (int)strlen(bar.label) + 2 + width + (width > 0), text);
    fflush(stderr);
    bar.visible = true;
    bar.drawn = now;
}

void progress_step(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(bar.label, sizeof bar.label, format, args);
    va_end(args);
    if (bar.on)
        draw(bar.done, now_ns());
}

void progress_add(uint64_t more)
{
    progress_at(bar.done + more);
}

void progress_at(uint64_t done)
{
    bar.done = done;
    if (!bar.on)
        return;
    uint64_t now = now_ns();
    if (now - bar.started > 200000000 && now - bar.drawn > 100000000)
        draw(bar.total && done > bar.total ? bar.total : done, now);
}

void progress_hide(void)
{
    if (bar.visible)
        fputs("\r\033[K", stderr);
    fflush(stderr);
    bar.visible = false;
}

void progress_end(void)
{
    progress_hide();
    bar.on = false;
}
