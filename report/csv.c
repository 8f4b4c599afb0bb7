/* SPDX-License-Identifier: Apache-2.0
 *
 * Fields of a line, reading and writing (csv.h).
 */
#include "report/csv.h"

#include <string.h>

/* Whether a spreadsheet would evaluate the text, or the text looks like one that was marked for
 * that reason. */
static bool is_formula(const char *text)
{
    text += strspn(text, "'");
    return *text && strchr("=+-@\t", *text);
}

static void put(FILE *out, const char *mark, const char *text, bool first)
{
    if (!first)
        putc(',', out);
    /* a record that began with # would be taken for a comment */
    bool quote = strpbrk(text, ",\"") || *text == '#';
    if (quote)
        putc('"', out);
    fputs(mark, out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text == '\n' || *text == '\r' ? ' ' : *text, out);
    }
    if (quote)
        putc('"', out);
}

void csv_put(FILE *out, const char *text, bool first)
{
    put(out, "", text, first);
}

void csv_put_text(FILE *out, const char *text, bool first)
{
    put(out, is_formula(text) ? "'" : "", text, first);
}

const char *csv_text(const char *field)
{
    return field + (*field == '\'' && is_formula(field));
}

/* The end of a quoted field, which is unquoted in place; NULL if the quote is not closed. */
static char *unquote(char *from, char *to)
{
    for (; *from; *to++ = *from++)
        if (*from == '"' && *++from != '"') {
            *to = 0;
            return from;
        }
    return NULL;
}

size_t csv_split(char *line, char **fields, size_t most, const char **why)
{
    size_t count = 0;
    for (char *p = line;;) {
        if (count == most) {
            *why = "too many columns";
            return 0;
        }
        fields[count++] = p;
        if (*p == '"')
            p = unquote(p + 1, p);
        else
            p += strcspn(p, ",\"");
        if (!p || (*p && *p != ',')) {
            *why = p ? "a quote in the middle of a field" : "unclosed quote";
            return 0;
        }
        if (!*p)
            return count;
        *p++ = 0;
    }
}
