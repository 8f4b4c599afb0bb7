/* SPDX-License-Identifier: Apache-2.0
 *
 * Parser for machine files. Every line stands alone: KEY VALUE, "at TIME KEY VALUE", or a comment.
 */
#include "device/test/machine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"

#define FILE_MAX 4096 /* larger than any machine needs */
/* Far above anything real, and low enough for sums of products to stay below 2^64. */
#define VALUE_MAX ((uint64_t)1 << 50)

enum unit { COUNT, TIME, RATE };

static const struct {
    const char *name;
    enum unit unit;
    uint64_t standard, least;
} keys[GX_MACHINE_KEYS] = {
#define X(symbol, key, unit, standard, least) {key, unit, standard, least},
    GX_MACHINE_LIST(X)
#undef X
};

struct reader {
    struct gx_machine *machine;
    const char *file;
    unsigned line;
    bool seen[GX_MACHINE_KEYS];
    struct gx_error *error;
};

/* ---- words ---- */

struct text {
    const char *at;
    size_t size;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct text trim(struct text t)
{
    for (; t.size && is_blank(*t.at); t.size--)
        t.at++;
    while (t.size && is_blank(t.at[t.size - 1]))
        t.size--;
    return t;
}

/* The first word of *rest, which is advanced. */
static struct text next_word(struct text *rest)
{
    *rest = trim(*rest);
    struct text word = {rest->at, 0};
    while (word.size < rest->size && !is_blank(word.at[word.size]))
        word.size++;
    rest->at += word.size;
    rest->size -= word.size;
    return word;
}

static bool is(struct text t, const char *word)
{
    return t.size == strlen(word) && !memcmp(t.at, word, t.size);
}

/* For "%.*s": truncates long words. */
static int shown(struct text t)
{
    return t.size < 32 ? (int)t.size : 32;
}

GX_PRINTF(2, 3) static gx_status wrong(struct reader *r, const char *format, ...)
{
    char text[GX_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return gx__refuse(r->error, GX_ERR_INVALID, "%.60s:%u: %s", r->file, r->line, text);
}

/* ---- numbers ---- */

/* Digits, and up to three decimals if `thousandths`, which is then the unit of *value. *t is left
 * at the unit. */
static bool take_number(struct text *t, bool thousandths, uint64_t *value)
{
    size_t i = 0, decimals = 0;
    uint64_t v = 0;
    bool point = false;
    for (; i < t->size && v <= VALUE_MAX; i++) {
        char c = t->at[i];
        if (c == '.' && thousandths && !point && i) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9' || decimals == 3)
            break;
        decimals += point;
        v = 10 * v + (uint64_t)(c - '0');
    }
    if (!i || (point && !decimals))
        return false;
    for (; thousandths && decimals < 3; decimals++)
        v *= 10;
    t->at += i;
    t->size -= i;
    *value = v;
    return v <= VALUE_MAX;
}

static bool parse_count(struct text t, uint64_t *value)
{
    static const char units[] = "KMG";
    if (!take_number(&t, false, value) || t.size > 1)
        return false;
    const char *unit = t.size ? memchr(units, *t.at, sizeof units - 1) : NULL;
    if (t.size && !unit)
        return false;
    unsigned shift = unit ? 10u * (unsigned)(unit - units + 1) : 0;
    if (*value > VALUE_MAX >> shift)
        return false;
    *value <<= shift;
    return true;
}

/* "2.5s", "300ms", "10us", in ns. */
static bool parse_time(struct text t, uint64_t *ns)
{
    if (!take_number(&t, true, ns))
        return false;
    uint64_t factor = is(t, "s") ? 1000000 : is(t, "ms") ? 1000 : is(t, "us") ? 1 : 0;
    if (!factor || *ns > VALUE_MAX / factor)
        return false;
    *ns *= factor;
    return true;
}

static gx_status parse_value(struct reader *r, enum gx_machine_key key, struct text t,
                             uint64_t *value)
{
    bool count = keys[key].unit == COUNT;
    struct text left = t;
    bool ok = count ? parse_count(t, value) : take_number(&left, true, value) && !left.size;
    if (!ok)
        return wrong(r, "%s: '%.*s' is not a %s", keys[key].name, shown(t), t.at,
                     count ? "whole number (suffix K, M or G allowed)"
                           : "number with at most three decimals");
    if (*value < keys[key].least)
        return wrong(r, "%s: must not be 0", keys[key].name);
    if (key == GX_MACHINE_QUEUES && *value != 1 && *value != 3)
        return wrong(r, "queues: '%.*s' is neither 1 nor 3", shown(t), t.at);
    if (key == GX_MACHINE_HOST_THREADS && *value > 1024)
        return wrong(r, "host_threads: at most 1024");
    if (key == GX_MACHINE_DISPATCH_ELEMS && *value > (uint64_t)1 << 31)
        return wrong(r, "dispatch_elems: at most 2G");
    if (key == GX_MACHINE_IMPORT_ALIGN && (*value & (*value - 1)))
        return wrong(r, "%s: '%.*s' is not a power of two", keys[key].name, shown(t), t.at);
    return GX_OK;
}

/* ---- lines ---- */

static gx_status parse_key(struct reader *r, struct text word, enum gx_machine_key *key)
{
    for (*key = 0; *key < GX_MACHINE_KEYS; ++*key)
        if (is(word, keys[*key].name))
            return GX_OK;
    return wrong(r, "unknown key '%.*s'; doc/sim.md lists them", shown(word), word.at);
}

/* KEY VALUE and nothing more. */
static gx_status parse_pair(struct reader *r, struct text word, struct text rest,
                            enum gx_machine_key *key, uint64_t *value)
{
    gx_status s = parse_key(r, word, key);
    if (s != GX_OK)
        return s;
    struct text number = next_word(&rest);
    if (!number.size)
        return wrong(r, "%s has no value", keys[*key].name);
    if (trim(rest).size)
        return wrong(r, "%s takes exactly one value", keys[*key].name);
    return parse_value(r, *key, number, value);
}

static gx_status parse_change(struct reader *r, struct text rest)
{
    struct gx_machine *m = r->machine;
    struct text when = next_word(&rest), word = next_word(&rest);
    uint64_t at = 0, value = 0;
    enum gx_machine_key key = 0;
    if (!parse_time(when, &at) || !word.size)
        return wrong(r, "expected: at TIME KEY VALUE, with a TIME like 2.5s, 300ms or 10us");
    gx_status s = parse_pair(r, word, rest, &key, &value);
    if (s != GX_OK)
        return s;
    if (keys[key].unit == COUNT)
        return wrong(r, "%s cannot change: only times and rates can", keys[key].name);
    if (m->changes == GX_MACHINE_CHANGES)
        return wrong(r, "more than %d changes", GX_MACHINE_CHANGES);
    if (m->changes && at < m->change[m->changes - 1].at)
        return wrong(r, "changes must be in chronological order");
    m->change[m->changes].at = at;
    m->change[m->changes].key = key;
    m->change[m->changes++].value = value;
    return GX_OK;
}

static gx_status parse_line(struct reader *r, struct text line)
{
    const char *comment = memchr(line.at, '#', line.size);
    struct text rest = {line.at, comment ? (size_t)(comment - line.at) : line.size};
    struct text word = next_word(&rest);
    enum gx_machine_key key = 0;
    uint64_t value = 0;
    if (!word.size)
        return GX_OK;
    if (is(word, "at"))
        return parse_change(r, rest);
    if (is(word, "name")) {
        rest = trim(rest);
        snprintf(r->machine->name, sizeof r->machine->name, "%.*s",
                 (int)(rest.size < sizeof r->machine->name ? rest.size : sizeof r->machine->name),
                 rest.at);
        return GX_OK;
    }
    gx_status s = parse_pair(r, word, rest, &key, &value);
    if (s == GX_OK && r->seen[key])
        return wrong(r, "%s is set twice", keys[key].name);
    if (s != GX_OK)
        return s;
    r->seen[key] = true;
    r->machine->start.of[key] = value;
    return GX_OK;
}

/* Derived values that the file does not set. */
static void complete(struct gx_machine *m, const bool *seen)
{
    if (!seen[GX_MACHINE_BOTH])
        m->start.of[GX_MACHINE_BOTH] =
            m->start.of[GX_MACHINE_UPLOAD] + m->start.of[GX_MACHINE_DOWNLOAD];
    if (!seen[GX_MACHINE_MUL4])
        m->start.of[GX_MACHINE_MUL4] = 2 * m->start.of[GX_MACHINE_MUL];
}

gx_status gx__machine_parse(struct gx_machine *machine, const char *text, size_t size,
                            const char *file, struct gx_error *error)
{
    struct reader r = {.machine = machine, .file = file, .error = error};
    *machine = (struct gx_machine){.name = "simulated machine"};
    for (int key = 0; key < GX_MACHINE_KEYS; key++)
        machine->start.of[key] = keys[key].standard;
    while (size) {
        const char *end = memchr(text, '\n', size);
        struct text line = {text, end ? (size_t)(end - text) : size};
        r.line++;
        if (memchr(line.at, 0, line.size))
            return wrong(&r, "not a text file");
        gx_status s = parse_line(&r, line);
        if (s != GX_OK)
            return s;
        size_t used = line.size + (end != NULL);
        text += used;
        size -= used;
    }
    complete(machine, r.seen);
    return GX_OK;
}

gx_status gx__machine_read(struct gx_machine *machine, const char *path, struct gx_error *error)
{
    char text[FILE_MAX];
    FILE *f = gx__os_fopen(path);
    if (!f)
        return gx__refuse(error, GX_ERR_INVALID, "%.60s: %s", path, strerror(errno));
    size_t size = fread(text, 1, sizeof text, f);
    bool failed = ferror(f) != 0;
    fclose(f);
    if (failed || size == sizeof text)
        return gx__refuse(error, GX_ERR_INVALID, "%.60s: %s", path,
                          failed ? "cannot be read" : "is too long for a machine description");
    return gx__machine_parse(machine, text, size, path, error);
}

struct gx_machine_values gx__machine_at(const struct gx_machine *machine, uint64_t ns)
{
    struct gx_machine_values values = machine->start;
    for (size_t i = 0; i < machine->changes && machine->change[i].at <= ns; i++)
        values.of[machine->change[i].key] = machine->change[i].value;
    return values;
}
