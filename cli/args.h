/* SPDX-License-Identifier: Apache-2.0
 *
 * Table-driven options. A command lists its options once; parsing, checking and help are derived
 * from that list. The library's settings come from gx_option_get(). Nothing here prints an error or
 * exits, so that it can be fuzzed.
 */
#ifndef ARGS_H
#define ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gpuexec.h"

typedef enum arg_kind {
    ARG_FLAG,    /* int: set to `set`; flags with the same int exclude each other */
    ARG_TEXT,    /* const char * */
    ARG_CHOICE,  /* const char *, one of `choices` */
    ARG_CHOICES, /* the same, or a comma-separated list */
    ARG_NUMBER,  /* uint64_t, from min to max */
    ARG_NUMBERS, /* number_list, each from min to max */
    ARG_FIELD,   /* gx_field */
    ARG_CURVE,   /* gx_curve */
    ARG_OP,      /* gx_op without parameters */
    ARG_FIELDS,  /* uint32_t, one bit per gx_field */
    ARG_OPS,     /* uint32_t, one bit per gx_op */
    ARG_WORDS    /* word_list: arguments that are not options; has no name */
} arg_kind;

enum { NUMBER_LIST_MAX = 32, WORD_LIST_MAX = 64 };

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

typedef struct arg_spec {
    const char *name; /* "samples" for --samples, or NULL */
    const char *arg;  /* "K"; NULL for a flag */
    const char *help;
    const char *choices; /* words separated by spaces */
    void *value;
    uint64_t min, max;
    arg_kind kind;
    int set;
    char letter; /* 'n' for -n, or 0 */
} arg_spec;

/* Table rows: name or letter, argument, address of the value, limits, help. */
/* clang-format off */
#define ARG_ROW_FLAG(n, v, h) {.name = (n), .kind = ARG_FLAG, .value = (v), .set = 1, .help = (h)}
#define ARG_ROW_NUMBER(n, a, v, least, most, h)                                                    \
    {.name = (n), .arg = (a), .kind = ARG_NUMBER, .value = (v), .min = (least), .max = (most),     \
     .help = (h)}
#define ARG_ROW_NUMBERS(n, a, v, least, most, h)                                                   \
    {.name = (n), .arg = (a), .kind = ARG_NUMBERS, .value = (v), .min = (least), .max = (most),    \
     .help = (h)}
#define ARG_ROW_LETTER(l, a, k, v, least, most, h)                                                 \
    {.letter = (l), .arg = (a), .kind = (k), .value = (v), .min = (least), .max = (most),          \
     .help = (h)}
#define ARG_ROW_FILE(l, v, h)                                                                      \
    {.letter = (l), .arg = "FILE", .kind = ARG_TEXT, .value = (v), .help = (h)}
/* Options with the same meaning in every command. */
#define ARG_ROW_FIELDS(v, h)                                                                       \
    {.name = "field", .arg = "F[,F...]", .kind = ARG_FIELDS, .value = (v), .help = (h)}
#define ARG_ROW_OPS(v, h)                                                                          \
    {.name = "op", .arg = "O[,O...]", .kind = ARG_OPS, .value = (v), .help = (h)}
#define ARG_ROW_SAMPLES(v, most, h) ARG_ROW_NUMBER("samples", "K", v, 1, most, h)
#define ARG_ROW_SEED(v)                                                                            \
    ARG_ROW_NUMBER("seed", "S", v, 0, UINT64_MAX, "seed for the random elements (1)")
#define ARG_ROWS_FORMATS(v) /* an output_format */                                                 \
    {.name = "csv", .kind = ARG_FLAG, .value = (v), .set = OUT_CSV,                                \
     .help = "comma-separated values with a header line"},                                             \
    {.name = "json", .kind = ARG_FLAG, .value = (v), .set = OUT_JSON, .help = "one JSON object"}
/* clang-format on */

typedef struct arg_table {
    const arg_spec *specs;
    size_t count;
} arg_table;

typedef enum args_result { ARGS_OK, ARGS_WRONG, ARGS_HELP, ARGS_LONG_HELP } args_result;

enum { ARGS_ERROR_SIZE = 320 };

/* Parses argv[0..argc) into the variables of the tables, and library settings into config. On
 * ARGS_WRONG, err (ARGS_ERROR_SIZE bytes) holds the reason. Strings are borrowed from argv. */
args_result args_parse(const arg_table *tables, size_t ntables, gx_config *config, int argc,
                       char *const *argv, char *err);

/* Print the help of a table, and of the library's settings with their environment variables. */
void args_print_help(FILE *out, const arg_table *table);
void args_print_settings(FILE *out);

/* Environment variables of the SuperVM prototype: the library reads them where neither the setting
 * nor its own variable is given. */
typedef struct old_variable {
    const char *name, *arg, *help;
} old_variable;

enum { OLD_VARIABLES = 3 };
extern const old_variable args_old_variables[OLD_VARIABLES];
void args_print_old_variables(FILE *out);

/* Prints only the names of the library's settings and of a table, wrapped. */
void args_print_names(FILE *out, const arg_table *table);

/* Whether a table (or, if `settings`, the library's settings) has the option that the word names,
 * with or without a value. */
bool args_has(const arg_table *table, bool settings, const char *word);

/* The words that an option or setting accepts, separated by spaces; empty if it accepts anything.
 * `text` holds ARGS_WORDS_SIZE bytes. */
enum { ARGS_WORDS_SIZE = 256 };
void args_words(const arg_spec *spec, char *text);
void args_setting_words(const gx_option *setting, char *text);

/* "64", "64K", "1M", "2G": K, M and G are powers of 1024. A number_list also accepts "1K:16M:x2"
 * for 1K, 2K, 4K, ... 16M, and "1K:4K:+1K" for 1K, 2K, 3K, 4K. */
bool parse_number(const char *text, uint64_t *value);

/* The candidate most similar to a word, for "did you mean". */
typedef struct suggestion {
    const char *word; /* what was typed */
    char best[96];    /* empty if nothing is similar; "a' or 'b" if two are equally so */
    size_t distance;
} suggestion;

void suggestion_try(suggestion *s, const char *candidate);

#endif
