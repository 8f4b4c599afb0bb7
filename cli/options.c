/* SPDX-License-Identifier: Apache-2.0
 *
 * Options and their help, from tables (options.h).
 */
#include "options.h"

#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/number.h"

/* ---- suggestions ------------------------------------------------------------ */

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
    snprintf(text + used, OPTION_WORDS_SIZE - used, "%s%.*s", used ? " " : "", (int)length, word);
}

/* Advances to the next word and returns its length; 0 after the last one. */
static size_t next_word(const char **words, const char *separators)
{
    *words += strspn(*words, separators);
    return strcspn(*words, separators);
}

/* Values of fields, curves and operations are consecutive from 1. */
static const char *name_of(option_kind kind, uint32_t value)
{
    const gx_field_info *field = gx_field_get_info(value);
    const gx_curve_info *curve = gx_curve_get_info(value);
    const gx_op_info *op = gx_op_get_info(value);
    switch (kind) {
    case OPT_FIELD:
    case OPT_FIELDS:
        return field ? field->name : NULL;
    case OPT_CURVE:
        return curve ? curve->name : NULL;
    case OPT_OP: /* those without parameters come first */
        return op && !op->params ? op->name : NULL;
    case OPT_OPS:
        return op ? op->name : NULL;
    default:
        return NULL;
    }
}

/* The library lists the words of a setting in the help text: either before a colon, as in "auto,
 * cpu or gpu: device", or after "comma-separated: ". */
static void setting_words(const option_row *setting, char *text)
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

void option_words(const option_row *row, char *text)
{
    size_t n;
    text[0] = 0;
    for (uint32_t i = 1; name_of(row->kind, i); i++)
        append_word(text, name_of(row->kind, i), OPTION_WORDS_SIZE);
    for (const char *p = row->choices; p && (n = next_word(&p, " ")) > 0; p += n)
        append_word(text, p, n);
    if (row->kind == OPT_SETTING)
        setting_words(row, text);
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
        snprintf(err, OPTIONS_ERROR_SIZE, "unknown %s '%s'; did you mean '%s'?", what, typed,
                 s.best);
    else
        snprintf(err, OPTIONS_ERROR_SIZE, "unknown %.32s '%s'; choose from %s", what, typed, words);
    return 0;
}

/* A word, or several between commas, which a row lists. */
static bool set_words(const option_row *row, const char *text, char *err)
{
    char words[OPTION_WORDS_SIZE];
    const option_kind kind = row->kind;
    bool several = kind == OPT_CHOICES || kind == OPT_FIELDS || kind == OPT_OPS;
    const char *what = kind == OPT_OP || kind == OPT_OPS         ? "operation"
                       : kind == OPT_FIELD || kind == OPT_FIELDS ? "field"
                                                                 : row->name;
    uint32_t last = 0, bits = 0;
    option_words(row, words);
    if (name_of(kind, 1) && several && !strcmp(text, "all")) {
        for (uint32_t i = 1; name_of(kind, i); i++)
            bits |= 1u << i;
        *(uint32_t *)row->value = bits;
        return true;
    }
    for (const char *p = text;; p++) {
        size_t length = several ? strcspn(p, ",") : strlen(p);
        last = (uint32_t)known_word(words, p, length, what, err);
        if (!last)
            break;
        bits |= 1u << last;
        p += length;
        if (!*p)
            break;
    }
    if (!last && kind == OPT_OP && gx_op_by_name(text))
        snprintf(err, OPTIONS_ERROR_SIZE,
                 "'%s' takes parameters and cannot be done in chunks; for transforms, use "
                 "'gpuexec ntt', for sums of points 'gpuexec msm'",
                 text);
    if (!last)
        return false;
    if (kind == OPT_CHOICE || kind == OPT_CHOICES)
        *(const char **)row->value = text;
    else
        *(uint32_t *)row->value = several ? bits : last;
    return true;
}

/* ---- numbers ---------------------------------------------------------------- */

uint64_t number_list_max(const number_list *list)
{
    uint64_t most = 0;
    for (size_t i = 0; i < list->count; i++)
        most = list->values[i] > most ? list->values[i] : most;
    return most;
}

/* As typed: "--samples" or "-n"; for an argument that is not an option, "FILE...". */
static const char *shown_name(const option_row *row, char name[64])
{
    if (row->name)
        snprintf(name, 64, "--%s", row->name);
    else if (row->letter)
        snprintf(name, 64, "-%c", row->letter);
    else
        snprintf(name, 64, "%s", row->arg);
    return name;
}

/* A limit of an option: large ones are powers of two. */
static const char *limit_text(uint64_t limit, char text[24])
{
    unsigned log2 = limit ? 63 - (unsigned)__builtin_clzll(limit) : 0;
    if (limit == UINT64_MAX)
        return "2^64 - 1";
    if (log2 < 16 || limit & (limit - 1))
        snprintf(text, 24, "%" PRIu64, limit);
    else
        snprintf(text, 24, "2^%u", log2);
    return text;
}

static bool number_in_range(const option_row *row, const char *text, uint64_t *value, char *err)
{
    char name[64], most[24];
    enum gx_number read = gx__read_number(text, value);
    if (read == GX_NUMBER && *value >= row->min && *value <= row->max)
        return true;
    if (read == GX_NUMBER_WRONG)
        snprintf(err, OPTIONS_ERROR_SIZE, "%s: '%.64s' is not a number such as %s",
                 shown_name(row, name), text, row->max < 1024 ? "8" : GX_NUMBER_EXAMPLES);
    else
        snprintf(err, OPTIONS_ERROR_SIZE, "%s: '%.64s' is not from %" PRIu64 " to %s",
                 shown_name(row, name), text, row->min, limit_text(row->max, most));
    return false;
}

static bool add_number(number_list *list, uint64_t value, const char *text, char *err)
{
    if (list->count == NUMBER_LIST_MAX) {
        snprintf(err, OPTIONS_ERROR_SIZE, "more than %d numbers in '%.64s'", NUMBER_LIST_MAX, text);
        return false;
    }
    list->values[list->count++] = value;
    return true;
}

/* "FROM:TO", "FROM:TO:xFACTOR" or "FROM:TO:+STEP"; splits `word` in place. */
static bool parse_range(const option_row *row, char *word, const char *text, char *err)
{
    char *to = strchr(word, ':');
    *to++ = 0;
    char *by = strchr(to, ':');
    if (by)
        *by++ = 0;
    else
        by = "x2";
    uint64_t first = 0, last = 0, step = 0;
    if (!number_in_range(row, word, &first, err) || !number_in_range(row, to, &last, err))
        return false;
    bool times = *by == 'x';
    if ((!times && *by != '+') || gx__read_number(by + 1, &step) != GX_NUMBER ||
        step < (times ? 2 : 1) || first > last) {
        snprintf(err, OPTIONS_ERROR_SIZE,
                 "'%.64s' is not a range; write 2^10:2^24:x2 or 1K:8K:+1K, smaller number first",
                 text);
        return false;
    }
    for (uint64_t v = first;;) {
        if (!add_number(row->value, v, text, err))
            return false;
        if (times ? v > last / step : step > last - v)
            return true;
        v = times ? v * step : v + step;
    }
}

static bool parse_numbers(const option_row *row, const char *text, char *err)
{
    number_list *list = row->value;
    list->count = 0;
    for (const char *p = text;; p++) {
        char word[72];
        uint64_t value = 0;
        size_t length = strcspn(p, ",");
        if (length >= sizeof word) {
            snprintf(err, OPTIONS_ERROR_SIZE, "'%.64s' is too long for a number", p);
            return false;
        }
        snprintf(word, sizeof word, "%.*s", (int)length, p);
        if (strchr(word, ':')) {
            if (!parse_range(row, word, text, err))
                return false;
        } else if (!number_in_range(row, word, &value, err) || !add_number(list, value, text, err))
            return false;
        p += length;
        if (!*p)
            return true;
    }
}

/* ---- one option ---- */

/* Whether a file or directory name is empty. */
static bool is_nameless(const option_row *row, const char *text, char *err)
{
    char name[64];
    if (*text || (strncmp(row->arg, "FILE", 4) != 0 && strcmp(row->arg, "FOLDER") != 0))
        return false;
    snprintf(err, OPTIONS_ERROR_SIZE, "%s: the name is empty", shown_name(row, name));
    return true;
}

/* Whether a value that the library rejected looks like a misspelt word of the setting. */
static bool suggest_value(const option_row *setting, const char *value, char *err)
{
    char words[OPTION_WORDS_SIZE], typed[65];
    option_words(setting, words);
    for (size_t n; (n = next_word(&value, ",")) > 0; value += n) {
        snprintf(typed, sizeof typed, "%.*s", (int)n, value);
        suggestion s = {.word = typed};
        if (find_word(words, value, n) || !suggest(&s, words))
            continue;
        snprintf(err, OPTIONS_ERROR_SIZE, "--%s: unknown value '%s'; did you mean '%s'?",
                 setting->name, typed, s.best);
        return true;
    }
    return false;
}

static bool set_setting(const option_row *setting, const char *value, gx_config *config, char *err)
{
    char why[200];
    if (gx_config_set(config, setting->name, value, why, sizeof why) == GX_OK)
        return true;
    if (!suggest_value(setting, value, err))
        snprintf(err, OPTIONS_ERROR_SIZE, "--%s", why); /* starts with the name */
    return false;
}

/* Whether an earlier flag has set the same variable to something else. */
static bool is_excluded(const option_list *list, const option_row *flag, char *err)
{
    int now = *(const int *)flag->value;
    if (!now || now == flag->set)
        return false;
    for (size_t i = 0; i < list->count; i++) {
        const option_row *other = &list->rows[i];
        if (other->kind != OPT_FLAG || other->value != flag->value || other->set != now)
            continue;
        snprintf(err, OPTIONS_ERROR_SIZE, "--%s and --%s exclude each other: use only one of them",
                 other->name, flag->name);
        return true;
    }
    return false;
}

/* `text` is NULL for a flag. */
static bool set_value(const option_list *list, const option_row *row, const char *text,
                      gx_config *config, char *err)
{
    switch (row->kind) {
    case OPT_FLAG:
        if (is_excluded(list, row, err))
            return false;
        *(int *)row->value = row->set;
        return true;
    case OPT_TEXT:
        *(const char **)row->value = text;
        return !is_nameless(row, text, err);
    case OPT_NUMBER:
        return number_in_range(row, text, row->value, err);
    case OPT_NUMBERS:
        return parse_numbers(row, text, err);
    case OPT_SETTING:
        return set_setting(row, text, config, err);
    default:
        return set_words(row, text, err);
    }
}

/* ---- the command line ---- */

void options_add(option_list *list, const option_table *table)
{
    for (size_t i = 0; i < table->count && list->count < OPTIONS_MAX; i++)
        list->rows[list->count++] = table->rows[i];
}

void options_add_settings(option_list *list)
{
    const gx_option *s;
    for (uint32_t i = 0; (s = gx_option_get(i)) != NULL && list->count < OPTIONS_MAX; i++)
        list->rows[list->count++] = (option_row){
            .kind = OPT_SETTING, .name = s->name, .arg = s->arg, .help = s->help, .env = s->env};
}

bool options_have(const option_list *list, const char *word)
{
    for (size_t i = 0; i < list->count; i++) {
        const option_row *row = &list->rows[i];
        size_t length = row->name ? strlen(row->name) : 0;
        if (length && !strncmp(word, "--", 2) && !strncmp(word + 2, row->name, length) &&
            (!word[2 + length] || word[2 + length] == '='))
            return true;
        if (row->letter && word[0] == '-' && word[1] == row->letter)
            return true;
    }
    return false;
}

/* `typed`: with its dashes, and with a value. */
static void unknown_option(const option_list *list, const char *typed, char *err)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(typed, "="), typed);
    suggestion s = {.word = name + strspn(name, "-")};
    for (size_t i = 0; i < list->count; i++)
        if (list->rows[i].name)
            suggestion_try(&s, list->rows[i].name);
    if (s.best[0])
        snprintf(err, OPTIONS_ERROR_SIZE, "unknown option '%.64s'; did you mean '--%s'?", typed,
                 s.best);
    else
        snprintf(err, OPTIONS_ERROR_SIZE, "unknown option '%.64s'", typed);
}

/* An argument that is not an option: stored if the command takes such arguments. */
static bool take_word(const option_list *list, const char *word, char *err)
{
    const option_row *row = NULL;
    for (size_t i = 0; i < list->count && !row; i++)
        if (list->rows[i].kind == OPT_WORDS)
            row = &list->rows[i];
    word_list *words = row ? row->value : NULL;
    if (!row)
        snprintf(err, OPTIONS_ERROR_SIZE,
                 "unexpected argument '%.64s'; values go after their option", word);
    else if (words->count == WORD_LIST_MAX)
        snprintf(err, OPTIONS_ERROR_SIZE, "more than %d %s arguments", WORD_LIST_MAX, row->arg);
    else if (!is_nameless(row, word, err)) {
        words->words[words->count++] = word;
        return true;
    }
    return false;
}

/* What getopt_long returns for row 0, and for --help; letters stand for themselves. */
enum { FIRST_ROW = 256, LONG_HELP = FIRST_ROW + OPTIONS_MAX };

/* The rows as getopt_long takes them: '-' for arguments in order, ':' for no messages. */
static void list_for_getopt(const option_list *list, struct option *names, char *letters)
{
    strcpy(letters, "-:h");
    for (size_t i = 0; i < list->count; i++) {
        const option_row *row = &list->rows[i];
        const char letter[] = {row->letter, row->kind != OPT_FLAG ? ':' : 0, 0};
        if (row->name)
            *names++ = (struct option){row->name, row->kind != OPT_FLAG, NULL, FIRST_ROW + (int)i};
        strcat(letters, letter);
    }
    *names++ = (struct option){"help", no_argument, NULL, LONG_HELP};
    *names = (struct option){0};
}

static const option_row *row_of(const option_list *list, int found)
{
    if (found >= FIRST_ROW && found < FIRST_ROW + (int)list->count)
        return &list->rows[found - FIRST_ROW];
    for (size_t i = 0; i < list->count; i++)
        if (found && list->rows[i].letter == found)
            return &list->rows[i];
    return NULL;
}

/* What getopt_long has refused: an unknown option, or a known one with a value or without. */
static void explain(const option_list *list, const char *typed, char *err)
{
    const char letter[] = {'-', (char)optopt, 0};
    const option_row *row = row_of(list, optopt);
    char name[64];
    if (!row)
        unknown_option(list, optopt && optopt < FIRST_ROW ? letter : typed, err);
    else if (row->kind == OPT_FLAG)
        snprintf(err, OPTIONS_ERROR_SIZE, "'%.64s': this option takes no value", typed);
    else
        snprintf(err, OPTIONS_ERROR_SIZE, "'%s' needs a value (%s)", shown_name(row, name),
                 row->arg);
}

options_result options_parse(const option_list *list, gx_config *config, int argc,
                             char *const *argv, char *err)
{
    struct option names[OPTIONS_MAX + 2];
    char letters[2 * OPTIONS_MAX + 4];
    int found;
    config->struct_size = sizeof *config; /* 0 would leave out settings since the first release */
    list_for_getopt(list, names, letters);
    optind = 0; /* start anew */
    opterr = 0;
    while ((found = getopt_long(argc, argv, letters, names, NULL)) != -1) {
        if (found == 'h')
            return OPTIONS_HELP;
        if (found == LONG_HELP)
            return OPTIONS_LONG_HELP;
        if (found == '?' || found == ':') {
            explain(list, argv[optind - 1], err);
            return OPTIONS_WRONG;
        }
        if (found == 1 ? !take_word(list, optarg, err)
                       : !set_value(list, row_of(list, found), optarg, config, err))
            return OPTIONS_WRONG;
    }
    for (; optind < argc; optind++) /* after "--" */
        if (!take_word(list, argv[optind], err))
            return OPTIONS_WRONG;
    return OPTIONS_OK;
}

/* ---- help ------------------------------------------------------------------- */

enum { HELP_COLUMN = 24, HELP_WIDTH = 80 };

void options_print_line(FILE *out, const char *left, const char *text)
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

/* With the words that are allowed, and the variable of a setting. */
void options_print(FILE *out, const option_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const option_row *row = &list->rows[i];
        char left[96], text[512], words[OPTION_WORDS_SIZE], letter[] = {'-', row->letter, 0};
        bool named = row->letter || row->name;
        option_words(row, words);
        snprintf(left, sizeof left, "%s%s%s%s%s%s", row->letter ? letter : "",
                 row->letter && row->name ? ", " : "", row->name ? "--" : "",
                 row->name ? row->name : "", row->arg && named ? " " : "",
                 row->arg ? row->arg : "");
        if (row->env)
            snprintf(text, sizeof text, "%s (%s)", row->help, row->env);
        else
            snprintf(text, sizeof text, "%s%s%s", row->help, *words ? ": " : "", words);
        options_print_line(out, left, text);
    }
}

const old_variable old_variables[OLD_VARIABLES] = {
    {"GPU_DEVICE_LOCAL", "0|1", "0: --path host-visible, 1: --path device-local"},
    {"GPU_STREAM_CHUNK_ELEMS", "N", "--stream-chunk-elems N"},
    {"SUPERVM_WGPU_BACKENDS", "BACKENDS",
     "--webgpu-backends BACKENDS: vulkan, gl or gles, dx12, metal, in any case"},
};
