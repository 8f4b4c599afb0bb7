/* SPDX-License-Identifier: Apache-2.0
 *
 * Options from tables. A command lists its options once; getopt_long parses them, and checks, help,
 * manual pages and completion follow the list. The library's settings come from gx_option_get().
 * Nothing here prints an error or exits, so that it can be fuzzed.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gpuexec.h"

typedef enum option_kind {
    OPT_FLAG,    /* int: set to `set`; flags with the same int exclude each other */
    OPT_TEXT,    /* const char * */
    OPT_CHOICE,  /* const char *, one of `choices` */
    OPT_CHOICES, /* the same, or a comma-separated list */
    OPT_NUMBER,  /* uint64_t, from min to max */
    OPT_NUMBERS, /* number_list, each from min to max */
    OPT_FIELD,   /* gx_field */
    OPT_CURVE,   /* gx_curve */
    OPT_OP,      /* gx_op without parameters */
    OPT_FIELDS,  /* uint32_t, one bit per gx_field */
    OPT_OPS,     /* uint32_t, one bit per gx_op */
    OPT_WORDS,   /* word_list: arguments that are not options; has no name */
    OPT_SETTING  /* of the library: a gx_config */
} option_kind;

enum { NUMBER_LIST_MAX = 32, WORD_LIST_MAX = 64 };

/* Numbers between commas, and ranges: "1K:16M:x2" for 1K, 2K, 4K, ... 16M, "1K:4K:+1K" for 1K, 2K,
 * 3K, 4K. */
typedef struct number_list {
    size_t count;
    uint64_t values[NUMBER_LIST_MAX];
} number_list;

/* 0 if the list is empty. */
uint64_t number_list_max(const number_list *list);

typedef struct word_list {
    size_t count;
    const char *words[WORD_LIST_MAX];
} word_list;

typedef struct option_row {
    const char *name; /* "samples" for --samples, or NULL */
    const char *arg;  /* "K"; NULL for a flag */
    const char *help;
    const char *choices; /* words separated by spaces */
    const char *env;     /* the environment variable of a setting */
    void *value;
    uint64_t min, max;
    option_kind kind;
    int set;
    char letter; /* 'n' for -n, or 0 */
} option_row;

/* Rows: name or letter, argument, address of the value, limits, help. What follows the help is
 * further members. */
/* clang-format off */
#define OPTION_ROW(k, n, a, v, ...)                                                                \
    {.kind = OPT_##k, .name = (n), .arg = (a), .value = (v), .help = __VA_ARGS__}
#define OPTION_FLAG(n, v, h) OPTION_ROW(FLAG, n, NULL, v, h, .set = 1)
#define OPTION_TEXT(n, a, v, h) OPTION_ROW(TEXT, n, a, v, h)
#define OPTION_CHOICE(n, a, words, v, h) OPTION_ROW(CHOICE, n, a, v, h, .choices = words)
#define OPTION_NUMBER(n, a, v, least, most, h)                                                     \
    OPTION_ROW(NUMBER, n, a, v, h, .min = (least), .max = (most))
#define OPTION_NUMBERS(n, a, v, least, most, h)                                                    \
    OPTION_ROW(NUMBERS, n, a, v, h, .min = (least), .max = (most))
#define OPTION_LETTER(l, a, k, v, least, most, h)                                                  \
    {.letter = (l), .arg = (a), .kind = (k), .value = (v), .min = (least), .max = (most),          \
     .help = (h)}
#define OPTION_FILE(l, v, h) OPTION_ROW(TEXT, NULL, "FILE", v, h, .letter = (l))
#define OPTION_WORDS(a, v, h) OPTION_ROW(WORDS, NULL, a, v, h)
/* Options with the same meaning in every command. */
#define OPTION_FIELD(v, h) OPTION_ROW(FIELD, "field", "FIELD", v, h)
#define OPTION_CURVE(v, h) OPTION_ROW(CURVE, "curve", "CURVE", v, h)
#define OPTION_FIELDS(v, h) OPTION_ROW(FIELDS, "field", "F[,F...]", v, h)
#define OPTION_OPS(v, h) OPTION_ROW(OPS, "op", "O[,O...]", v, h)
#define OPTION_SAMPLES(v, most, h) OPTION_NUMBER("samples", "K", v, 1, most, h)
#define OPTION_SEED(v)                                                                             \
    OPTION_NUMBER("seed", "S", v, 0, UINT64_MAX, "seed for the random elements (1)")
#define OPTIONS_FORMATS(v) /* an output_format */                                                  \
    OPTION_ROW(FLAG, "csv", NULL, v, "comma-separated values with a header line", .set = OUT_CSV), \
        OPTION_ROW(FLAG, "json", NULL, v, "one JSON object", .set = OUT_JSON)
#define OPTION_TABLE(rows) {rows, sizeof(rows) / sizeof *(rows)}
/* clang-format on */

typedef struct option_table {
    const option_row *rows;
    size_t count;
} option_table;

enum { OPTIONS_MAX = 64 };

/* All options that a command takes. */
typedef struct option_list {
    option_row rows[OPTIONS_MAX];
    size_t count;
} option_list;

void options_add(option_list *list, const option_table *table);
void options_add_settings(option_list *list);

typedef enum options_result {
    OPTIONS_OK,
    OPTIONS_WRONG,
    OPTIONS_HELP,     /* -h */
    OPTIONS_LONG_HELP /* --help */
} options_result;

enum { OPTIONS_ERROR_SIZE = 400 };

/* Parses argv[1..argc) into the variables of the rows, and library settings into config. On
 * OPTIONS_WRONG, err (OPTIONS_ERROR_SIZE bytes) holds the reason. Strings are borrowed from argv.
 */
options_result options_parse(const option_list *list, gx_config *config, int argc,
                             char *const *argv, char *err);

/* Whether the list has the option that a word names: "--name", "--name=value" or "-n". */
bool options_have(const option_list *list, const char *word);

/* Prints the help of the rows. */
void options_print(FILE *out, const option_list *list);
/* A line of help: two columns, the second wrapped. */
void options_print_line(FILE *out, const char *left, const char *text);

/* The words that an option accepts, separated by spaces; empty if it accepts anything. `text` holds
 * OPTION_WORDS_SIZE bytes. */
enum { OPTION_WORDS_SIZE = 256 };
void option_words(const option_row *row, char *text);

/* Environment variables of the SuperVM prototype: the library reads them where neither the setting
 * nor its own variable is given. */
typedef struct old_variable {
    const char *name, *arg, *help;
} old_variable;

enum { OLD_VARIABLES = 3 };
extern const old_variable old_variables[OLD_VARIABLES];

/* The candidate most similar to a word, for "did you mean". */
typedef struct suggestion {
    const char *word; /* what was typed */
    char best[96];    /* empty if nothing is similar; "a' or 'b" if two are equally so */
    size_t distance;
} suggestion;

void suggestion_try(suggestion *s, const char *candidate);

#endif
