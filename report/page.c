/* SPDX-License-Identifier: Apache-2.0
 *
 * Assembles the page (page.h): each line of the template that is @NAME@ is replaced by the part of
 * that name, and @data@ by the data.
 */
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

#define CHART_JS "chart.js"

const page_part *page_find(const char *name, size_t length)
{
    for (size_t i = 0; i < page_part_count; i++)
        if (strlen(page_parts[i].name) == length && !memcmp(page_parts[i].name, name, length))
            return &page_parts[i];
    return NULL;
}

/* Text from files is arbitrary: no "<" of it reaches the page, so that it cannot end the element
 * that holds the data. */
static bool put_data(FILE *out, const json_t *data)
{
    char *text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text)
        return false;
    for (const char *p = text; *p; p++) {
        if (*p == '<')
            fputs("\\u003c", out);
        else
            putc(*p, out);
    }
    putc('\n', out);
    free(text);
    return true;
}

bool page_has_charts(void)
{
    return page_find(CHART_JS, strlen(CHART_JS)) != NULL;
}

static bool put_marker(FILE *out, const char *name, size_t length, const json_t *data)
{
    if (length == 4 && !memcmp(name, "data", 4))
        return put_data(out, data);
    if (length == strlen(CHART_JS) && !memcmp(name, CHART_JS, length) && !page_has_charts())
        return true;
    const page_part *part = page_find(name, length);
    return part && fwrite(part->text, 1, part->size, out) == part->size;
}

bool page_put(FILE *out, const json_t *data)
{
    const page_part *page = page_find("page.html", strlen("page.html"));
    const char *p = (const char *)page->text, *end = p + page->size;
    bool ok = true;
    while (ok && p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t length = newline ? (size_t)(newline - p) : (size_t)(end - p);
        if (length > 2 && p[0] == '@' && p[length - 1] == '@')
            ok = put_marker(out, p + 1, length - 2, data);
        else
            fprintf(out, "%.*s\n", (int)length, p);
        p += length + 1;
    }
    return ok;
}
