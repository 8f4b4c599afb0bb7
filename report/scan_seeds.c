/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the threshold scans of the SuperVM prototype: a row has a size and the time of the CPU or
 * of the GPU, or the times of the CPU and of one or more GPU backends; merged files have several
 * backends side by side, or name backend and platform in each row. Rejects columns without a unit,
 * and a winner that contradicts the times.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "report/cross.h"
#include "report/csv.h"
#include "report/scan_read.h"

/* ---- column names ---- */

typedef enum word_kind {
    ROLE,
    PLATFORM,
    BACKEND,
    PROCESSOR,
    STATISTIC,
    UNIT,
    FILLER,
    KINDS
} word_kind;

enum { CPU, GPU };          /* PROCESSOR */
enum { US = 1, MS = 1000 }; /* UNIT */

/* A name is a sequence of these, in any order; of two that match, the longer one. */
static const struct word {
    const char *text;
    word_kind kind;
    int value;
} vocabulary[] = {
    {"size", ROLE, SEEDS_SIZE},
    {"elements", ROLE, SEEDS_SIZE},
    {"device", ROLE, SEEDS_DEVICE},
    {"backend", ROLE, SEEDS_BACKEND},
    {"platform", ROLE, SEEDS_PLATFORM},
    {"os", ROLE, SEEDS_PLATFORM},
    {"winner", ROLE, SEEDS_WINNER},
    {"best", ROLE, SEEDS_WINNER},
    {"faster", ROLE, SEEDS_WINNER},
    {"fastest", ROLE, SEEDS_WINNER},
    {"speedup", ROLE, SEEDS_IGNORED},
    {"ratio", ROLE, SEEDS_IGNORED},
    {"margin", ROLE, SEEDS_IGNORED},
    {"samples", ROLE, SEEDS_IGNORED},
    {"first", ROLE, SEEDS_IGNORED},
    {"windows", PLATFORM, 0},
    {"linux", PLATFORM, 0},
    {"wsl2", PLATFORM, 0},
    {"wsl", PLATFORM, 0},
    {"macos", PLATFORM, 0},
    {"gles", BACKEND, 0},
    {"gl", BACKEND, 0},
    {"vulkan", BACKEND, 0},
    {"dx12", BACKEND, 0},
    {"metal", BACKEND, 0},
    {"wgpu", BACKEND, 0},
    {"webgpu", BACKEND, 0},
    {"cpu", PROCESSOR, CPU},
    {"gpu", PROCESSOR, GPU},
    {"median", STATISTIC, SEEDS_MEDIAN},
    {"time", STATISTIC, SEEDS_MEDIAN},
    {"duration", STATISTIC, SEEDS_MEDIAN},
    {"p90", STATISTIC, SEEDS_P90},
    {"min", STATISTIC, SEEDS_MIN},
    {"max", STATISTIC, SEEDS_MAX},
    {"us", UNIT, US},
    {"ms", UNIT, MS},
    {"vs", ROLE, SEEDS_IGNORED},
    {"x", FILLER, 0},
    {"pct", FILLER, 0},
    {"mask", FILLER, 0}, /* "backend_mask_hint" */
    {"hint", FILLER, 0},
};
enum { VOCABULARY = sizeof vocabulary / sizeof *vocabulary };

/* "GPU Median (μs)" and "GpuMedian_us" become "gpumedianus". False if it is too long. */
static bool plain_name(const char *title, char *name, size_t size)
{
    size_t n = 0;
    for (const char *p = title; *p; p++) {
        if (n + 1 == size)
            return false;
        /* both signs for micro: U+00B5 and U+03BC */
        if (!strncmp(p, "\xc2\xb5", 2) || !strncmp(p, "\xce\xbc", 2)) {
            name[n++] = 'u';
            p++;
        } else if (isalnum((unsigned char)*p))
            name[n++] = (char)tolower((unsigned char)*p);
        else if (*p & 0x80)
            return false;
    }
    name[n] = 0;
    return true;
}

static const struct word *longest_word(const char *text)
{
    const struct word *best = NULL;
    for (size_t i = 0; i < VOCABULARY; i++)
        if (!strncmp(text, vocabulary[i].text, strlen(vocabulary[i].text)) &&
            (!best || strlen(vocabulary[i].text) > strlen(best->text)))
            best = &vocabulary[i];
    return best;
}

/* Splits a name into words, at most one of each kind; of two roles the later in seeds_role decides:
 * "best backend" is a winner, "winner margin" is ignored. */
static bool find_words(const char *name, const struct word *found[KINDS])
{
    bool twice = false;
    for (const char *p = name; *p;) {
        const struct word *w = longest_word(p);
        if (!w)
            return false;
        const struct word **to = &found[w->kind];
        twice |= *to && w->kind != FILLER && w->kind != ROLE;
        if (!*to || w->kind != ROLE || w->value > (*to)->value)
            *to = w;
        p += strlen(w->text);
    }
    return *name && (!twice || (found[ROLE] && found[ROLE]->value == SEEDS_IGNORED));
}

static bool read_title(scan_reader *r, const char *title)
{
    char name[64];
    const struct word *found[KINDS] = {NULL};
    if (!plain_name(title, name, sizeof name) || !find_words(name, found))
        return scan_refuse(
            r,
            "unknown column '%.32s': neither a gpuexec scan nor a threshold scan with "
            "size, CPU us, GPU median us (doc/csv.md)",
            title);
    seeds_column c = {
        .role = found[ROLE] ? (seeds_role)found[ROLE]->value : SEEDS_TIME,
        .platform = found[PLATFORM] ? found[PLATFORM]->text : NULL,
        .backend = found[BACKEND] ? found[BACKEND]->text : NULL,
        .cpu = found[PROCESSOR] && found[PROCESSOR]->value == CPU,
        .statistic = found[STATISTIC] ? (seeds_statistic)found[STATISTIC]->value : SEEDS_MEDIAN,
        .us = found[UNIT] ? found[UNIT]->value : 0,
    };
    if (c.role == SEEDS_TIME && !found[UNIT])
        return scan_refuse(r, "column '%.32s': times must be in us or ms, and the name must say so",
                           title);
    r->columns[r->ncolumns++] = c;
    return true;
}

static bool same_word(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_device(const seeds_column *a, const seeds_column *b)
{
    return a->cpu == b->cpu && same_word(a->platform, b->platform) &&
           same_word(a->backend, b->backend);
}

static bool same_column(const seeds_column *a, const seeds_column *b)
{
    return a->role == b->role && a->role != SEEDS_IGNORED && same_device(a, b) &&
           a->statistic == b->statistic;
}

/* Every statistic needs the median beside it, which stands for its device. */
static bool has_median(const scan_reader *r, const seeds_column *c)
{
    for (size_t i = 0; i < r->ncolumns; i++)
        if (r->columns[i].role == SEEDS_TIME && r->columns[i].statistic == SEEDS_MEDIAN &&
            same_device(&r->columns[i], c))
            return true;
    return false;
}

static bool check_columns(scan_reader *r, char *const *titles)
{
    size_t sizes = 0, times = 0;
    for (size_t i = 0; i < r->ncolumns; i++) {
        const seeds_column *c = &r->columns[i];
        for (size_t k = 0; k < i; k++)
            if (same_column(c, &r->columns[k]))
                return scan_refuse(r, "column '%.32s' appears twice", titles[i]);
        if (c->role == SEEDS_TIME && !has_median(r, c))
            return scan_refuse(r, "column '%.32s': there is no column with the median", titles[i]);
        sizes += c->role == SEEDS_SIZE;
        times += c->role == SEEDS_TIME;
    }
    return (sizes == 1 && times) || scan_refuse(r, "columns for the size and a time are required");
}

/* ---- lines ---- */

/* "| a | b |", as in Markdown */
static size_t split_bars(char *line, char **fields, size_t most, const char **why)
{
    size_t count = 0;
    for (char *p = line + 1; *p; p++) {
        size_t length = strcspn(p, "|");
        *why = p[length] ? "too many columns" : "no bar at the end";
        if (count == most || !p[length])
            return 0;
        char *end = p + length;
        p += strspn(p, " ");
        for (char *q = end; q > p && q[-1] == ' ';)
            *--q = 0;
        *end = 0;
        fields[count++] = p;
        p = end;
    }
    return count;
}

static size_t split(char *line, char **fields, const char **why)
{
    return (*line == '|' ? split_bars : csv_split)(line, fields, SEEDS_COLUMNS_MAX, why);
}

bool scan_seeds_begin(scan_reader *r, char *line)
{
    char *titles[SEEDS_COLUMNS_MAX];
    const char *why = "empty";
    size_t count = split(line, titles, &why);
    if (!count)
        return scan_refuse(r, "%s", why);
    for (size_t i = 0; i < count; i++)
        if (!read_title(r, titles[i]))
            return false;
    r->headed = true;
    return check_columns(r, titles);
}

/* Removes the commas of "1,043": groups of three digits after the first. */
static void ungroup(char *text)
{
    size_t first = strcspn(text, ","), whole = strspn(text, "0123456789,");
    if (first < 1 || first > 3 || text[first] != ',' || (text[whole] && text[whole] != '.'))
        return;
    for (size_t i = first; i < whole; i += 4)
        if (text[i] != ',' || i + 3 >= whole || strspn(text + i + 1, "0123456789") < 3)
            return;
    char *to = text;
    for (const char *p = text; *p; p++)
        if (*p != ',')
            *to++ = *p;
    *to = 0;
}

static bool read_number(scan_reader *r, char *text, double *value)
{
    ungroup(text);
    return scan_number(text, value) || scan_refuse(r, "'%.32s' is not a number", text);
}

static bool read_time(scan_reader *r, char *text, double unit, double *us)
{
    if (!read_number(r, text, us))
        return false;
    *us *= unit;
    return *us <= 9e15 || scan_refuse(r, "'%.32s' is too long a time", text);
}

/* "20k" is 20000 and "1M" is 1000000 in the prototype's scans. */
static bool read_size(scan_reader *r, char *text, double *size)
{
    size_t length = strlen(text);
    char last = length ? text[length - 1] : 0;
    if (last == 'K')
        return scan_refuse(r, "'%.32s': 1000 or 1024 to a K? Write the number", text);
    double unit = last == 'k' ? 1e3 : last == 'M' ? 1e6 : 1;
    if (unit > 1)
        text[length - 1] = 0;
    if (!read_number(r, text, size))
        return false;
    *size *= unit;
    return (*size == floor(*size) && *size <= 9e15) ||
           scan_refuse(r, "the size is not a whole number");
}

typedef struct seeds_row {
    char *fields[SEEDS_COLUMNS_MAX];
    double size, us[SEEDS_COLUMNS_MAX]; /* NAN: not a time, or empty */
    char platform[SEEDS_WORD_MAX], device[SEEDS_WORD_MAX], backend[SEEDS_WORD_MAX];
} seeds_row;

static bool read_word(scan_reader *r, const char *text, char word[SEEDS_WORD_MAX])
{
    text = csv_text(text);
    size_t length = strlen(text);
    if (!length || length >= SEEDS_WORD_MAX)
        return scan_refuse(r, "'%.32s' is not a backend or platform of 1 to %d characters", text,
                           SEEDS_WORD_MAX - 1);
    for (size_t i = 0; i <= length; i++)
        word[i] = (char)tolower((unsigned char)text[i]);
    return true;
}

/* A device is the CPU, the GPU of the backend in the same row, or itself a backend. */
static bool settle_device(scan_reader *r, seeds_row *row)
{
    if (!*row->backend)
        strcpy(row->backend, row->device);
    else if (*row->device && strcmp(row->device, "cpu") != 0 && strcmp(row->device, "gpu") != 0)
        return scan_refuse(r, "device '%s' of backend '%s': neither CPU nor GPU", row->device,
                           row->backend);
    return true;
}

static bool read_fields(scan_reader *r, seeds_row *row)
{
    row->size = NAN;
    for (size_t i = 0; i < r->ncolumns; i++) {
        char *text = row->fields[i];
        bool ok = true;
        row->us[i] = NAN;
        switch (r->columns[i].role) {
        case SEEDS_SIZE:
            ok = read_size(r, text, &row->size);
            break;
        case SEEDS_TIME:
            ok = !*text || read_time(r, text, r->columns[i].us, &row->us[i]);
            break;
        case SEEDS_DEVICE:
            ok = read_word(r, text, row->device);
            break;
        case SEEDS_BACKEND:
            ok = read_word(r, text, row->backend);
            break;
        case SEEDS_PLATFORM:
            ok = read_word(r, text, row->platform);
            break;
        case SEEDS_WINNER:
        case SEEDS_IGNORED:
            break;
        }
        if (!ok)
            return false;
    }
    return settle_device(r, row);
}

static const char *backend_of(const seeds_row *row, const seeds_column *c)
{
    return c->backend ? c->backend : row->backend;
}

/* A column of devices or backends may say CPU, too. */
static bool is_cpu(const seeds_row *row, const seeds_column *c)
{
    return c->cpu || !strcmp(row->device, "cpu") || !strcmp(backend_of(row, c), "cpu");
}

/* ---- winners ---- */

/* "dx12 winner" is not about the columns of gles. */
static bool differ(const char *a, const char *b)
{
    return a && b && strcmp(a, b) != 0;
}

typedef bool (*select_fn)(const seeds_row *row, const seeds_column *c, const char *backend);

/* The least median of the devices selected; INFINITY if there is none. */
static double least(const scan_reader *r, const seeds_row *row, const seeds_column *winner,
                    select_fn wanted, const char *backend)
{
    double us = INFINITY;
    for (size_t i = 0; i < r->ncolumns; i++) {
        const seeds_column *c = &r->columns[i];
        bool ours = !differ(winner->platform, c->platform) && !differ(winner->backend, c->backend);
        if (c->role == SEEDS_TIME && c->statistic == SEEDS_MEDIAN && ours &&
            wanted(row, c, backend) && row->us[i] < us)
            us = row->us[i];
    }
    return us;
}

static bool select_cpu(const seeds_row *row, const seeds_column *c, const char *backend)
{
    (void)backend;
    return is_cpu(row, c);
}

static bool select_gpu(const seeds_row *row, const seeds_column *c, const char *backend)
{
    (void)backend;
    return !is_cpu(row, c);
}

static bool select_backend(const seeds_row *row, const seeds_column *c, const char *backend)
{
    return !is_cpu(row, c) && !strcmp(backend_of(row, c), backend);
}

static bool select_others(const seeds_row *row, const seeds_column *c, const char *backend)
{
    return !is_cpu(row, c) && strcmp(backend_of(row, c), backend) != 0;
}

/* The first word, in lower case: "dx12" of "DX12 (1.3x)". */
static void first_word(const char *text, char word[SEEDS_WORD_MAX])
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) && n + 1 < SEEDS_WORD_MAX) {
        word[n] = (char)tolower((unsigned char)text[n]);
        n++;
    }
    word[n] = 0;
}

static bool is_no_winner(const char *word)
{
    static const char *const words[] = {"", "tie", "draw", "even", "equal", "none", "n", "na"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(word, words[i]))
            return true;
    return false;
}

/* Who leads by less than a tenth may be named or not: some files name a winner by a margin. */
static bool check_winner(scan_reader *r, const seeds_row *row, const seeds_column *winner,
                         const char *text)
{
    char word[SEEDS_WORD_MAX];
    double stated, other;
    first_word(text, word);
    const struct word *known = longest_word(word);
    bool whole = known && !strcmp(known->text, word);
    if (is_no_winner(word))
        return true;
    if (!strcmp(word, "cpu")) {
        stated = least(r, row, winner, select_cpu, NULL);
        other = least(r, row, winner, select_gpu, NULL);
    } else if (!strcmp(word, "gpu")) {
        stated = least(r, row, winner, select_gpu, NULL);
        other = least(r, row, winner, select_cpu, NULL);
    } else if ((whole && known->kind == BACKEND) || !strcmp(word, row->backend)) {
        stated = least(r, row, winner, select_backend, word);
        other = least(r, row, winner, select_others, word);
        if (isinf(other))
            other = least(r, row, winner, select_cpu, NULL);
    } else
        return scan_refuse(r, "the winner column says '%.16s', which is no device", text);
    if (isinf(stated) || other >= CROSS_CLEAR * stated)
        return true;
    return scan_refuse(r,
                       "the winner column says '%.16s', but another takes less than %.0f %% of its "
                       "time",
                       text, 100 * CROSS_CLEAR);
}

/* ---- rows ---- */

/* Makes the section of the machine the current one. */
static bool take_section(scan_reader *r, const char *platform)
{
    for (size_t i = 0; i < r->file->count; i++)
        if (!strcmp(r->file->sections[i].os, platform)) {
            r->section = &r->file->sections[i];
            return true;
        }
    if (r->file->count == SEEDS_MACHINES_MAX)
        return scan_refuse(r, "more than %d platforms", SEEDS_MACHINES_MAX);
    if (!scan_begin(r))
        return false;
    r->section->foreign = true;
    snprintf(r->section->os, sizeof r->section->os, "%s", platform);
    if (*platform)
        snprintf(r->section->label, sizeof r->section->label, "%s", platform);
    return true;
}

static void name_device(const seeds_row *row, const seeds_column *c, char *name, size_t size)
{
    const char *backend = backend_of(row, c);
    if (!is_cpu(row, c))
        snprintf(name, size, "%s", *backend ? backend : "gpu");
    else if (*backend && strcmp(backend, "cpu") != 0)
        snprintf(name, size, "cpu (%s)", backend); /* each backend had its own CPU times */
    else
        snprintf(name, size, "cpu");
}

/* The device that column `of` has the median of. */
static bool put_device(scan_reader *r, const seeds_row *from, size_t of)
{
    const seeds_column *device = &r->columns[of];
    double us[SEEDS_STATISTICS] = {NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < r->ncolumns; i++)
        if (r->columns[i].role == SEEDS_TIME && same_device(&r->columns[i], device))
            us[r->columns[i].statistic] = from->us[i];
    scan_row row = scan_row_empty();
    name_device(from, device, row.device, sizeof row.device);
    strcpy(row.field, SCAN_UNSTATED);
    strcpy(row.op, SCAN_UNSTATED);
    strcpy(row.place, SCAN_HOST);
    row.line = r->line;
    row.elements = from->size;
    if (us[SEEDS_MEDIAN] > 0) {
        strcpy(row.state, SCAN_OK);
        row.median_us = us[SEEDS_MEDIAN];
        row.p90_us = us[SEEDS_P90];
        row.min_us = us[SEEDS_MIN] > 0 ? us[SEEDS_MIN] : NAN;
        row.max_us = us[SEEDS_MAX];
    } else {
        bool empty = isnan(us[SEEDS_MEDIAN]); /* otherwise 0: its times are whole milliseconds */
        strcpy(row.state, empty ? SCAN_SKIPPED : SCAN_SHORT);
        strcpy(row.note, empty ? "the file has no data" : "the file says 0");
    }
    if (!scan_plausible(r, &row) ||
        !take_section(r, device->platform ? device->platform : from->platform))
        return false;
    return scan_append(r->section, &row) || scan_refuse(r, "out of memory");
}

bool scan_seeds_line(scan_reader *r, char *line)
{
    seeds_row row = {0};
    const char *why = "empty";
    if (*line == '|' && !line[strspn(line, "|-: ")])
        return true; /* below the names in Markdown */
    size_t count = split(line, row.fields, &why);
    if (count != r->ncolumns)
        return count ? scan_refuse(r, "%zu column%s instead of %zu", count, count == 1 ? "" : "s",
                                   r->ncolumns)
                     : scan_refuse(r, "%s", why);
    if (!read_fields(r, &row))
        return false;
    for (size_t i = 0; i < count; i++) {
        const seeds_column *c = &r->columns[i];
        if (c->role == SEEDS_WINNER && !check_winner(r, &row, c, row.fields[i]))
            return false;
        if (c->role == SEEDS_TIME && c->statistic == SEEDS_MEDIAN && !put_device(r, &row, i))
            return false;
    }
    return true;
}

/* ---- the label ---- */

/* The one word of this kind in the label; NULL if it has none, or several. */
static const char *word_of_label(const char *label, word_kind kind)
{
    const char *found = NULL;
    for (const char *p = label; *p;) {
        char word[SEEDS_WORD_MAX];
        size_t length = 0;
        while (isalnum((unsigned char)p[length]))
            length++;
        first_word(p, word);
        const struct word *w = longest_word(word);
        if (w && w->kind == kind && !strcmp(w->text, word)) {
            if (found && strcmp(found, w->text) != 0)
                return NULL;
            found = w->text;
        }
        p += length + !length;
    }
    return found;
}

/* Whether its devices are only "cpu" and "gpu", and a GPU is among them. */
static bool lacks_backend(const scan_section *s)
{
    bool gpu = false;
    for (size_t i = 0; i < s->count; i++) {
        bool is_gpu = !strcmp(s->rows[i].device, "gpu");
        if (!is_gpu && strcmp(s->rows[i].device, "cpu") != 0)
            return false;
        gpu |= is_gpu;
    }
    return gpu;
}

void scan_seeds_use_label(scan_section *section)
{
    const char *backend = word_of_label(section->label, BACKEND);
    const char *platform = word_of_label(section->label, PLATFORM);
    if (!section->foreign || section->suite)
        return;
    if (platform && !*section->os)
        snprintf(section->os, sizeof section->os, "%s", platform);
    if (!backend || !lacks_backend(section))
        return;
    for (size_t i = 0; i < section->count; i++) {
        char *device = section->rows[i].device;
        bool cpu = !strcmp(device, "cpu");
        snprintf(device, sizeof section->rows->device, cpu ? "cpu (%s)" : "%s", backend);
    }
}
