/* SPDX-License-Identifier: Apache-2.0
 *
 * Option parsing and option help, from tables (args.h).
 */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "args.h"

/* ---- numbers and suggestions ------------------------------------------------ */

bool parse_number(const char *text, uint64_t *value)
{
    uint64_t v = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p - '0', &v))
            return false;
    if (p == text)
        return false;
    if (*p) {
        static const char suffixes[] = "kKmMgG";
        const char *suffix = strchr(suffixes, *p);
        if (!suffix || p[1])
            return false;
        unsigned shift = 10 * (unsigned)((suffix - suffixes) / 2 + 1);
        if (v > UINT64_MAX >> shift)
            return false;
        v <<= shift;
    }
    *value = v;
    return true;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance: letters inserted, deleted, replaced, or swapped with their neighbour. SIZE_MAX for
 * words too long to be one of our names. */
static size_t distance(const char *a, const char *b)
{
    enum { LONGEST = 32 };
    size_t na = strlen(a), nb = strlen(b), rows[3][LONGEST + 1];
    if (na > LONGEST || nb > LONGEST)
        return SIZE_MAX;
    for (size_t i = 0; i <= na; i++) {
        size_t *row = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            row[j] = i ? least(last[j - 1] + (a[i - 1] != b[j - 1]), last[j] + 1) : j;
            row[j] = least(row[j], row[j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return rows[na % 3][nb];
}

void suggestion_try(suggestion *s, const char *candidate)
{
    size_t length = strlen(s->word);
    size_t d = distance(s->word, candidate);
    bool begins = length >= 2 && !strncmp(s->word, candidate, length);
    bool near = begins || (d <= 3 && d * 2 <= strlen(candidate));
    size_t used = near && s->best[0] && d == s->distance ? strlen(s->best) : 0;
    if (used)
        snprintf(s->best + used, sizeof s->best - used, "' or '%s", candidate);
    else if (near && (!s->best[0] || d < s->distance)) {
        snprintf(s->best, sizeof s->best, "%s", candidate);
        s->distance = d;
    }
}

/* ---- words ------------------------------------------------------------------ */

enum { NAME_LENGTH = 64 }; /* at most */

static void append_word(char *text, const char *word, size_t length)
{
    size_t used = strlen(text);
    snprintf(text + used, ARGS_WORDS_SIZE - used, "%s%.*s", used ? " " : "", (int)length, word);
}

/* Advances to the next word and returns its length; 0 after the last one. */
static size_t next_word(const char **words, const char *separators)
{
    *words += strspn(*words, separators);
    return strcspn(*words, separators);
}

/* Values of fields, curves and operations are consecutive from 1. */
void args_words(const arg_spec *spec, char *text)
{
    size_t n;
    text[0] = 0;
    switch (spec->kind) {
    case ARG_FIELD:
    case ARG_FIELDS:
        for (int f = 1; gx_field_get_info((gx_field)f); f++)
            append_word(text, gx_field_get_info((gx_field)f)->name, NAME_LENGTH);
        return;
    case ARG_CURVE:
        for (gx_curve c = 1; gx_curve_get_info(c); c++)
            append_word(text, gx_curve_get_info(c)->name, NAME_LENGTH);
        return;
    case ARG_OP: /* those without parameters come first */
        for (gx_op o = 1; gx_op_get_info(o) && !gx_op_get_info(o)->params; o++)
            append_word(text, gx_op_get_info(o)->name, NAME_LENGTH);
        return;
    case ARG_OPS:
        for (gx_op o = 1; gx_op_get_info(o); o++)
            append_word(text, gx_op_get_info(o)->name, NAME_LENGTH);
        return;
    case ARG_CHOICE:
    case ARG_CHOICES:
        for (const char *p = spec->choices; (n = next_word(&p, " ")) > 0; p += n)
            append_word(text, p, n);
        return;
    default:
        return;
    }
}

/* The library lists the words in the help text: either before a colon, as in "auto, cpu or gpu:
 * device", or after "comma-separated: ". */
void args_setting_words(const gx_option *setting, char *text)
{
    static const char several[] = "comma-separated: ";
    const char *help = setting->help, *list = strstr(help, several);
    const char *end = help + strcspn(help, ":");
    text[0] = 0;
    if (!strcmp(setting->arg, "0|1"))
        append_word(text, "0 1", 3);
    if (list)
        append_word(text, list + sizeof several - 1, strlen(list + sizeof several - 1));
    if (*text || !*end)
        return;
    for (const char *p = help; p < end;) {
        size_t length = strcspn(p, " ,:");
        append_word(text, p, length);
        p += length;
        if (!strncmp(p, ", ", 2))
            p += 2;
        else if (!strncmp(p, " or ", 4))
            p += 4;
        else if (p < end)
            text[0] = 0, p = end; /* prose */
    }
    if (!strchr(text, ' '))
        text[0] = 0;
}

/* 1-based position of the word in the list; 0 if it is not there. */
static int find_word(const char *words, const char *word, size_t length)
{
    size_t n;
    for (int i = 1; (n = next_word(&words, " ")) > 0; i++, words += n)
        if (n == length && !strncmp(words, word, length))
            return i;
    return 0;
}

/* Looks for a similar word and stores it in s. */
static bool suggest(suggestion *s, const char *words)
{
    char candidate[NAME_LENGTH];
    size_t n;
    for (; (n = next_word(&words, " ")) > 0; words += n) {
        snprintf(candidate, sizeof candidate, "%.*s", (int)n, words);
        suggestion_try(s, candidate);
    }
    return s->best[0];
}

/* find_word, with an error message if the word is unknown. */
static int known_word(const char *words, const char *word, size_t length, const char *what,
                      char *err)
{
    int found = find_word(words, word, length);
    if (found)
        return found;
    char typed[65];
    snprintf(typed, sizeof typed, "%.*s", (int)length, word);
    suggestion s = {.word = typed};
    if (suggest(&s, words))
        snprintf(err, ARGS_ERROR_SIZE, "unknown %s '%s'; did you mean '%s'?", what, typed, s.best);
    else
        snprintf(err, ARGS_ERROR_SIZE, "unknown %s '%s'; choose from %s", what, typed, words);
    return 0;
}

/* "add,mul" as a bit set, starting at bit 1; 0 and an error if a word is unknown. */
static uint32_t known_words(const char *words, const char *text, const char *what, char *err)
{
    uint32_t bits = 0;
    for (const char *p = text;; p++) {
        size_t length = strcspn(p, ",");
        int found = known_word(words, p, length, what, err);
        if (!found)
            return 0;
        bits |= 1u << found;
        p += length;
        if (!*p)
            return bits;
    }
}

/* The same, or "all". */
static bool parse_set(const arg_spec *spec, const char *what, const char *text, char *err)
{
    char words[ARGS_WORDS_SIZE], all[ARGS_WORDS_SIZE];
    args_words(spec, words);
    snprintf(all, sizeof all, "%s", words);
    for (char *p = all; *p; p++)
        *p = *p == ' ' ? ',' : *p;
    uint32_t bits = known_words(words, strcmp(text, "all") != 0 ? text : all, what, err);
    if (bits)
        *(uint32_t *)spec->value = bits;
    return bits;
}

static bool parse_choice(const arg_spec *spec, const char *text, char *err)
{
    char words[ARGS_WORDS_SIZE];
    args_words(spec, words);
    bool known = spec->kind == ARG_CHOICES
                     ? known_words(words, text, spec->name, err) != 0
                     : known_word(words, text, strlen(text), spec->name, err) != 0;
    if (known)
        *(const char **)spec->value = text;
    return known;
}

/* ---- numbers ---------------------------------------------------------------- */

uint64_t number_list_max(const number_list *list)
{
    uint64_t most = 0;
    for (size_t i = 0; i < list->count; i++)
        most = list->values[i] > most ? list->values[i] : most;
    return most;
}

/* ---- one option ------------------------------------------------------------ */

/* An option as typed, and what it refers to: a row of a command's table or a library setting. */
typedef struct found_arg {
    const char *typed;
    const arg_spec *spec;
    const gx_option *setting;
} found_arg;

/* Options whose numbers get large, such as elements or bytes, take a suffix. */
#define WORTH_SUFFIX ((uint64_t)1 << 24)

static void not_a_number(const arg_spec *spec, const char *name, const char *text, char *err)
{
    if (spec->max < WORTH_SUFFIX)
        snprintf(err, ARGS_ERROR_SIZE,
                 "%s: '%.64s' is not a whole number from %" PRIu64 " to %" PRIu64, name, text,
                 spec->min, spec->max);
    else
        snprintf(err, ARGS_ERROR_SIZE,
                 "%s: '%.64s' is not a whole number below 2^64; write 4096, 64K or 1M (powers of "
                 "1024)",
                 name, text);
}

static bool number_in_range(const arg_spec *spec, const char *text, uint64_t *value, char *err)
{
    char name[64];
    if (spec->name)
        snprintf(name, sizeof name, "--%s", spec->name);
    else
        snprintf(name, sizeof name, "-%c", spec->letter);
    if (!parse_number(text, value)) {
        not_a_number(spec, name, text, err);
        return false;
    }
    if (*value < spec->min || *value > spec->max) {
        snprintf(err, ARGS_ERROR_SIZE,
                 "%s: %.64s is out of range; it must be from %" PRIu64 " to %" PRIu64, name, text,
                 spec->min, spec->max);
        return false;
    }
    return true;
}

static bool add_number(number_list *list, uint64_t value, const char *text, char *err)
{
    if (list->count == NUMBER_LIST_MAX) {
        snprintf(err, ARGS_ERROR_SIZE, "more than %d numbers in '%.64s'", NUMBER_LIST_MAX, text);
        return false;
    }
    list->values[list->count++] = value;
    return true;
}

/* "FROM:TO", "FROM:TO:xFACTOR" or "FROM:TO:+STEP"; splits `word` in place. */
static bool parse_range(const arg_spec *spec, char *word, const char *text, char *err)
{
    char *to = strchr(word, ':');
    *to++ = 0;
    char *by = strchr(to, ':');
    if (by)
        *by++ = 0;
    else
        by = "x2";
    uint64_t first = 0, last = 0, step = 0;
    if (!number_in_range(spec, word, &first, err) || !number_in_range(spec, to, &last, err))
        return false;
    bool times = *by == 'x';
    if ((!times && *by != '+') || !parse_number(by + 1, &step) || step < (times ? 2 : 1) ||
        first > last) {
        snprintf(err, ARGS_ERROR_SIZE,
                 "'%.64s' is not a range; write 1K:16M:x2 or 1K:8K:+1K, smaller number first",
                 text);
        return false;
    }
    for (uint64_t v = first;;) {
        if (!add_number(spec->value, v, text, err))
            return false;
        if (times ? v > last / step : step > last - v)
            return true;
        v = times ? v * step : v + step;
    }
}

static bool parse_numbers(const arg_spec *spec, const char *text, char *err)
{
    number_list *list = spec->value;
    list->count = 0;
    for (const char *p = text;; p++) {
        char word[72];
        uint64_t value = 0;
        size_t length = strcspn(p, ",");
        if (length >= sizeof word) {
            snprintf(err, ARGS_ERROR_SIZE, "'%.64s' is too long for a number", p);
            return false;
        }
        snprintf(word, sizeof word, "%.*s", (int)length, p);
        if (strchr(word, ':')) {
            if (!parse_range(spec, word, text, err))
                return false;
        } else if (!number_in_range(spec, word, &value, err) || !add_number(list, value, text, err))
            return false;
        p += length;
        if (!*p)
            return true;
    }
}

/* Whether a file or directory name is empty. */
static bool is_nameless(const arg_spec *spec, const char *text, char *err)
{
    if (*text || (strncmp(spec->arg, "FILE", 4) != 0 && strcmp(spec->arg, "FOLDER") != 0))
        return false;
    char letter[] = {'-', spec->letter, 0};
    snprintf(err, ARGS_ERROR_SIZE, "%s: the name is empty", spec->letter ? letter : spec->arg);
    return true;
}

static bool set_value(const arg_spec *spec, const char *text, char *err)
{
    char words[ARGS_WORDS_SIZE];
    int v = 0;
    switch (spec->kind) {
    case ARG_FLAG:
        *(int *)spec->value = spec->set;
        return true;
    case ARG_TEXT:
        *(const char **)spec->value = text;
        return !is_nameless(spec, text, err);
    case ARG_NUMBER:
        return number_in_range(spec, text, spec->value, err);
    case ARG_NUMBERS:
        return parse_numbers(spec, text, err);
    case ARG_CHOICE:
    case ARG_CHOICES:
        return parse_choice(spec, text, err);
    case ARG_FIELD:
        args_words(spec, words);
        v = known_word(words, text, strlen(text), "field", err);
        *(gx_field *)spec->value = (gx_field)v;
        return v != 0;
    case ARG_CURVE:
        args_words(spec, words);
        v = known_word(words, text, strlen(text), "curve", err);
        *(gx_curve *)spec->value = (gx_curve)v;
        return v != 0;
    case ARG_OP:
        args_words(spec, words);
        v = known_word(words, text, strlen(text), "operation", err);
        *(gx_op *)spec->value = (gx_op)v;
        if (!v && gx_op_by_name(text))
            snprintf(err, ARGS_ERROR_SIZE,
                     "'%s' takes parameters and cannot be done in chunks; for transforms, use "
                     "'gpuexec ntt', for sums of points 'gpuexec msm'",
                     text);
        return v != 0;
    case ARG_FIELDS:
        return parse_set(spec, "field", text, err);
    case ARG_OPS:
        return parse_set(spec, "operation", text, err);
    case ARG_WORDS:
        break; /* not reached by an option */
    }
    return false;
}

static bool find_long(const arg_table *tables, size_t ntables, const char *name, size_t length,
                      found_arg *found)
{
    for (size_t t = 0; t < ntables; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            const arg_spec *spec = &tables[t].specs[i];
            if (spec->name && strlen(spec->name) == length && !strncmp(spec->name, name, length)) {
                found->spec = spec;
                return true;
            }
        }
    const gx_option *s;
    for (uint32_t i = 0; (s = gx_option_get(i)) != NULL; i++)
        if (strlen(s->name) == length && !strncmp(s->name, name, length)) {
            found->setting = s;
            return true;
        }
    return false;
}

static bool find_letter(const arg_table *tables, size_t ntables, char letter, found_arg *found)
{
    for (size_t t = 0; t < ntables; t++)
        for (size_t i = 0; i < tables[t].count; i++)
            if (tables[t].specs[i].letter == letter) {
                found->spec = &tables[t].specs[i];
                return true;
            }
    return false;
}

static void unknown_option(const arg_table *tables, size_t ntables, const char *typed,
                           const char *name, char *err)
{
    suggestion s = {.word = name};
    for (size_t t = 0; t < ntables; t++)
        for (size_t i = 0; i < tables[t].count; i++)
            if (tables[t].specs[i].name)
                suggestion_try(&s, tables[t].specs[i].name);
    for (uint32_t i = 0; gx_option_get(i); i++)
        suggestion_try(&s, gx_option_get(i)->name);

    if (s.best[0])
        snprintf(err, ARGS_ERROR_SIZE, "unknown option '%.64s'; did you mean '--%s'?", typed,
                 s.best);
    else
        snprintf(err, ARGS_ERROR_SIZE, "unknown option '%.64s'", typed);
}

/* Whether a value that the library rejected looks like a misspelt word of the setting. */
static bool suggest_value(const gx_option *setting, const char *value, char *err)
{
    char words[ARGS_WORDS_SIZE], typed[65];
    args_setting_words(setting, words);
    for (size_t n; (n = next_word(&value, ",")) > 0; value += n) {
        snprintf(typed, sizeof typed, "%.*s", (int)n, value);
        suggestion s = {.word = typed};
        if (find_word(words, value, n) || !suggest(&s, words))
            continue;
        snprintf(err, ARGS_ERROR_SIZE, "--%s: unknown value '%s'; did you mean '%s'?",
                 setting->name, typed, s.best);
        return true;
    }
    return false;
}

static bool apply(const found_arg *found, const char *value, gx_config *config, char *err)
{
    if (found->spec)
        return set_value(found->spec, value, err);
    char why[200], digits[24];
    uint64_t number; /* suffixes are a feature of the program, not of the library */
    if (!strcmp(found->setting->arg, "N") && parse_number(value, &number)) {
        snprintf(digits, sizeof digits, "%" PRIu64, number);
        value = digits;
    }
    if (gx_config_set(config, found->setting->name, value, why, sizeof why) == GX_OK)
        return true;
    if (suggest_value(found->setting, value, err))
        return false;
    snprintf(err, ARGS_ERROR_SIZE, "--%s", why); /* starts with the name */
    return false;
}

/* ---- the command line ------------------------------------------------------ */

/* Splits "--name=value" or "-xvalue" and looks up the option. *value is NULL if the value, if any,
 * is the next argument. */
static bool recognise(const arg_table *tables, size_t ntables, const char *word, found_arg *found,
                      const char **value, char *err)
{
    *found = (found_arg){.typed = word};
    *value = NULL;
    if (word[1] == '-') {
        const char *name = word + 2;
        size_t length = strcspn(name, "=");
        if (name[length])
            *value = name + length + 1;
        if (find_long(tables, ntables, name, length, found))
            return true;
        unknown_option(tables, ntables, word, name, err);
        return false;
    }
    if (word[2])
        *value = word + 2;
    if (find_letter(tables, ntables, word[1], found))
        return true;
    unknown_option(tables, ntables, word, word + 1, err);
    return false;
}

bool args_has(const arg_table *table, bool settings, const char *word)
{
    found_arg found;
    const char *value;
    char err[ARGS_ERROR_SIZE];
    return word[0] == '-' && word[1] && recognise(table, 1, word, &found, &value, err) &&
           (settings || !found.setting);
}

/* Whether an earlier flag has set the same variable to something else. */
static bool excluded(const arg_table *tables, size_t ntables, const arg_spec *flag, char *err)
{
    int now = *(const int *)flag->value;
    if (!now || now == flag->set)
        return false;
    for (size_t t = 0; t < ntables; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            const arg_spec *other = &tables[t].specs[i];
            if (other->kind == ARG_FLAG && other->value == flag->value && other->set == now) {
                snprintf(err, ARGS_ERROR_SIZE,
                         "--%s and --%s exclude each other: use only one of them", other->name,
                         flag->name);
                return true;
            }
        }
    return false;
}

/* An argument that is not an option: stored if the command takes such arguments. */
static bool take_word(const arg_table *tables, size_t ntables, const char *word, char *err)
{
    for (size_t t = 0; t < ntables; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            if (tables[t].specs[i].kind != ARG_WORDS)
                continue;
            word_list *list = tables[t].specs[i].value;
            if (is_nameless(&tables[t].specs[i], word, err))
                return false;
            if (list->count < WORD_LIST_MAX) {
                list->words[list->count++] = word;
                return true;
            }
            snprintf(err, ARGS_ERROR_SIZE, "more than %d %s arguments", WORD_LIST_MAX,
                     tables[t].specs[i].arg);
            return false;
        }
    snprintf(err, ARGS_ERROR_SIZE, "unexpected argument '%.64s'; values go after their option",
             word);
    return false;
}

args_result args_parse(const arg_table *tables, size_t ntables, gx_config *config, int argc,
                       char *const *argv, char *err)
{
    config->struct_size = sizeof *config; /* 0 would leave out settings since the first release */
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i], *value;
        found_arg found;
        if (!strcmp(word, "-h"))
            return ARGS_HELP;
        if (!strcmp(word, "--help"))
            return ARGS_LONG_HELP;
        if (word[0] != '-') {
            if (!take_word(tables, ntables, word, err))
                return ARGS_WRONG;
            continue;
        }
        if (!word[1] || !strcmp(word, "--")) {
            snprintf(err, ARGS_ERROR_SIZE, "unexpected argument '%.64s'", word);
            return ARGS_WRONG;
        }
        if (!recognise(tables, ntables, word, &found, &value, err))
            return ARGS_WRONG;

        bool flag = found.spec && found.spec->kind == ARG_FLAG;
        if (flag && value) {
            snprintf(err, ARGS_ERROR_SIZE, "'%.64s': this option takes no value", word);
            return ARGS_WRONG;
        }
        if (flag && excluded(tables, ntables, found.spec, err))
            return ARGS_WRONG;
        if (!flag && !value && i + 1 < argc)
            value = argv[++i];
        if (!flag && !value) {
            snprintf(err, ARGS_ERROR_SIZE, "'%.64s' needs a value (%s)", word,
                     found.spec ? found.spec->arg : found.setting->arg);
            return ARGS_WRONG;
        }
        if (!apply(&found, value, config, err))
            return ARGS_WRONG;
    }
    return ARGS_OK;
}

/* ---- help ------------------------------------------------------------------- */

enum { HELP_COLUMN = 24, HELP_WIDTH = 80 };

/* Two columns, the second wrapped at spaces. */
static void print_help_line(FILE *out, const char *left, const char *text)
{
    int column = fprintf(out, "  %s", left);
    const char *p = text;
    if (column > HELP_COLUMN - 2) {
        fputc('\n', out);
        column = 0;
    }
    while (*p) {
        size_t room = HELP_WIDTH - HELP_COLUMN, length = strlen(p);
        if (length > room) {
            length = room;
            while (length && p[length] != ' ')
                length--;
            if (!length)
                length = strcspn(p, " ");
        }
        fprintf(out, "%*s%.*s\n", HELP_COLUMN - column, "", (int)length, p);
        column = 0;
        p += length;
        p += strspn(p, " ");
    }
}

/* Help text, followed by the list of allowed words if there is one. */
static void help_text(const arg_spec *s, char *text, size_t size)
{
    char words[ARGS_WORDS_SIZE];
    args_words(s, words);
    snprintf(text, size, "%s%s%s", s->help, *words ? ": " : "", words);
}

void args_print_help(FILE *out, const arg_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const arg_spec *s = &table->specs[i];
        char left[64], text[512], letter[] = {'-', s->letter, 0};
        snprintf(left, sizeof left, "%s%s%s%s%s%s", s->letter ? letter : "",
                 s->letter && s->name ? ", " : "", s->name ? "--" : "", s->name ? s->name : "",
                 s->arg && (s->letter || s->name) ? " " : "", s->arg ? s->arg : "");
        help_text(s, text, sizeof text);
        print_help_line(out, left, text);
    }
}

void args_print_settings(FILE *out)
{
    const gx_option *s;
    for (uint32_t i = 0; (s = gx_option_get(i)) != NULL; i++) {
        char left[96], text[320];
        snprintf(left, sizeof left, "--%s %s", s->name, s->arg);
        snprintf(text, sizeof text, "%s (%s)", s->help, s->env);
        print_help_line(out, left, text);
    }
}

const old_variable args_old_variables[OLD_VARIABLES] = {
    {"GPU_DEVICE_LOCAL", "0|1", "0: --path host-visible, 1: --path device-local"},
    {"GPU_STREAM_CHUNK_ELEMS", "N", "--stream-chunk-elems N"},
    {"SUPERVM_WGPU_BACKENDS", "BACKENDS",
     "--webgpu-backends BACKENDS: vulkan, gl or gles, dx12, metal, in any case"},
};

void args_print_old_variables(FILE *out)
{
    for (size_t i = 0; i < OLD_VARIABLES; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s=%s", args_old_variables[i].name, args_old_variables[i].arg);
        print_help_line(out, left, args_old_variables[i].help);
    }
}

static void print_name(FILE *out, const char *name, int *column)
{
    int length = (int)strlen(name) + 3; /* " --" */
    if (*column + length > HELP_WIDTH)
        *column = fprintf(out, "\n ") - 1;
    *column += fprintf(out, " --%s", name);
}

void args_print_names(FILE *out, const arg_table *table)
{
    int column = fprintf(out, " ");
    for (uint32_t i = 0; gx_option_get(i); i++)
        print_name(out, gx_option_get(i)->name, &column);
    for (size_t i = 0; i < table->count; i++)
        print_name(out, table->specs[i].name, &column);
    fputc('\n', out);
}
