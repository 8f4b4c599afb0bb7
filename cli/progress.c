/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws the progress bar with rate and time left (progress.h).
 */
#include "progress.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "host.h"
#include "output.h"

static struct {
    bool on, visible;
    const char *label, *unit;
    uint64_t total, started, drawn;
} bar;

void progress_start(const char *label, uint64_t total, const char *unit)
{
    bar.on = host_is_terminal(STDERR_FILENO);
    bar.visible = false;
    bar.label = label;
    bar.unit = unit;
    bar.total = total;
    bar.started = now_ns();
    bar.drawn = 0;
}

static void format_rate(char *text, size_t size, double rate)
{
    const char *prefix = rate >= 1e9 ? "G" : rate >= 1e6 ? "M" : rate >= 1e3 ? "k" : "";
    double scaled = rate >= 1e9   ? rate / 1e9
                    : rate >= 1e6 ? rate / 1e6
                    : rate >= 1e3 ? rate / 1e3
                                  : rate;
    snprintf(text, size, "%.*f%s%s %s/s", scaled < 10 ? 1 : 0, scaled, *prefix ? " " : "", prefix,
             bar.unit);
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
    char text[160], rate[48], left[48], cells[4 * 24 + 1];
    int width = columns() < 80 ? 10 : 24;
    double seconds = (double)(now - bar.started) / 1e9;
    double speed = seconds > 0 ? (double)done / seconds : 0;
    rate[0] = 0;
    if (bar.unit)
        format_rate(rate, sizeof rate, speed);
    if (bar.total) {
        double fraction = (double)done / (double)bar.total;
        output_bar(cells, width, fraction);
        format_left(left, sizeof left, speed > 0 ? (double)(bar.total - done) / speed : 0);
        snprintf(text, sizeof text, "%3.0f%%  %s%s%s", 100 * fraction, rate, *rate ? "  " : "",
                 left);
    } else {
        cells[0] = 0;
        snprintf(text, sizeof text, "%" PRIu64 " %s  %s", done, bar.unit, rate);
    }
    /* the text starts at a fixed column, however long the bar is */
    int at = (int)strlen(bar.label) + 2 + (bar.total ? width + 1 : 0);
    fprintf(stderr, "\r\033[K%s %s\033[%dG%s", bar.label, cells, at, text);
    fflush(stderr);
    bar.visible = true;
    bar.drawn = now;
}

void progress_at(uint64_t done)
{
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
