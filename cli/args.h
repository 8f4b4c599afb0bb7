/* SPDX-License-Identifier: Apache-2.0
 *
 * Options from tables. A command lists its options once; parsing, checking and help
 * come from that list. The library's own settings come from gx_option_get(). Nothing
 * here prints an error or exits, so that a fuzzer can drive it.
 */
#ifndef ARGS_H
#define ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gpuexec.h"

typedef enum arg_kind {
    ARG_FLAG,    /* int: becomes `set`; flags of one int exclude each other */
    ARG_TEXT,    /* const char * */
    ARG_CHOICE,  /* const char *, one of `choices` */
    ARG_CHOICES, /* the same, or several with commas between them */
    ARG_NUMBER,  /* uint64_t, from min to max */
    ARG_NUMBERS, /* number_list, each from min to max */
    ARG_FIELD,   /* gx_field */
    ARG_OP,      /* gx_op */
    ARG_FIELDS,  /* uint32_t, one bit per gx_field */
    ARG_OPS,     /* uint32_t, one bit per gx_op */
    ARG_WORDS    /* word_list: the words that are no options; has no name */
} arg_kind;

enum { NUMBER_LIST_MAX = 32, WORD_LIST_MAX = 64 };

typedef struct number_list {
    size_t count;
    uint64_t values[NUMBER_LIST_MAX];
} number_list;

/* 0 where it is empty. */
uint64_t number_list_max(const number_list *list);

typedef struct word_list {
    size_t count;
    const char *words[WORD_LIST_MAX];
} word_list;

typedef struct arg_spec {
    const char *name; /* "samples" for --samples, or NULL */
    const char *arg;  /* "K"; NULL for a flag */
    const char *help;
    const char *choices; /* words, with spaces between them */
    void *value;
    uint64_t min, max;
    arg_kind kind;
    int set;
    char letter; /* 'n' for -n, or 0 */
} arg_spec;

/* Rows of a table: name or letter, what stands behind it, address of the value, limits, help. */
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
/* Those that mean the same wherever they are. */
#define ARG_ROW_FIELDS(v, h)                                                                       \
    {.name = "field", .arg = "F[,F...]", .kind = ARG_FIELDS, .value = (v), .help = (h)}
#define ARG_ROW_OPS(v, h)                                                                          \
    {.name = "op", .arg = "O[,O...]", .kind = ARG_OPS, .value = (v), .help = (h)}
#define ARG_ROW_SAMPLES(v, most, h) ARG_ROW_NUMBER("samples", "K", v, 1, most, h)
#define ARG_ROW_SEED(v)                                                                            \
    ARG_ROW_NUMBER("seed", "S", v, 0, UINT64_MAX, "seed of the random elements (1)")
#define ARG_ROWS_FORMATS(v) /* an output_format */                                                 \
    {.name = "csv", .kind = ARG_FLAG, .value = (v), .set = OUT_CSV,                                \
     .help = "comma-separated values with a heading"},                                             \
    {.name = "json", .kind = ARG_FLAG, .value = (v), .set = OUT_JSON, .help = "one JSON object"}
/* clang-format on */

typedef struct arg_table {
    const arg_spec *specs;
    size_t count;
} arg_table;

typedef enum args_result { ARGS_OK, ARGS_WRONG, ARGS_HELP, ARGS_LONG_HELP } args_result;

enum { ARGS_ERROR_SIZE = 320 };

/* Reads argv[0..argc) into the values of the tables and the library's settings into
 * config. On ARGS_WRONG err, which holds ARGS_ERROR_SIZE, says what is
 * wrong. Texts are borrowed from argv. */
args_result args_parse(const arg_table *tables, size_t ntables, gx_config *config, int argc,
                       char *const *argv, char *err);

/* The help lines of a table, and of the library's settings, with their environment variables. */
void args_print_help(FILE *out, const arg_table *table);
void args_print_settings(FILE *out);

/* The names alone, of the library's settings and of a table, in lines. */
void args_print_names(FILE *out, const arg_table *table);

/* Whether a table, or the library's settings where `settings`, have the option that the word
 * names, with or without a value. */
bool args_has(const arg_table *table, bool settings, const char *word);

/* The words that an option or a setting takes, with spaces between them; empty where it takes
 * anything. `text` holds ARGS_WORDS_SIZE. */
enum { ARGS_WORDS_SIZE = 256 };
void args_words(const arg_spec *spec, char *text);
void args_setting_words(const gx_option *setting, char *text);

/* "64", "64K", "1M", "2G": K, M and G are powers of 1024. In a number_list "1K:16M:x2" also
 * stands for 1K, 2K, 4K, ... up to 16M, and "1K:4K:+1K" for 1K, 2K, 3K, 4K. */
bool parse_number(const char *text, uint64_t *value);

/* The nearest of the candidates tried, for "did you mean". */
typedef struct suggestion {
    const char *word; /* what was typed */
    char best[96];    /* empty while nothing is near; "a' or 'b" where two are as near */
    size_t distance;
} suggestion;

void suggestion_try(suggestion *s, const char *candidate);

#endif
