/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as a command line, one argument per line, through the option tables of the program and
 * gx_config_set; and every argument as a number. Accepted values must be in range, and rejections
 * must give a reason.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"

enum { TEXT_MAX = 4096, WORDS_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    int flag;
    const char *text, *choice, *choices;
    uint64_t number;
    number_list numbers;
    gx_field field;
    gx_curve curve;
    gx_op op;
    uint32_t fields, ops;
    word_list words;
} values;

/* One option of each kind. */
static const arg_spec specs[] = {
    {.name = "json", .kind = ARG_FLAG, .value = &values.flag, .set = 1},
    {.letter = 'a', .arg = "FILE", .kind = ARG_TEXT, .value = &values.text},
    {.name = "samples",
     .arg = "K",
     .kind = ARG_NUMBER,
     .value = &values.number,
     .min = 1,
     .max = 10000},
    {.letter = 'n', .arg = "N", .kind = ARG_NUMBERS, .value = &values.numbers, .max = 1 << 20},
    {.name = "in", .arg = "FIELD", .kind = ARG_FIELD, .value = &values.field},
    {.name = "on", .arg = "CURVE", .kind = ARG_CURVE, .value = &values.curve},
    {.name = "do", .arg = "OP", .kind = ARG_OP, .value = &values.op},
    {.name = "field", .arg = "FIELDS", .kind = ARG_FIELDS, .value = &values.fields},
    {.name = "op", .arg = "OPS", .kind = ARG_OPS, .value = &values.ops},
    {.name = "one", .arg = "W", .kind = ARG_CHOICE, .choices = "in out", .value = &values.choice},
    {.name = "some",
     .arg = "W,...",
     .kind = ARG_CHOICES,
     .choices = "in out",
     .value = &values.choices},
    {.arg = "FILE...", .kind = ARG_WORDS, .value = &values.words},
};

static void require(int truth)
{
    if (!truth)
        abort();
}

static void check_accepted(void)
{
    require(values.number <= 10000 && values.numbers.count <= NUMBER_LIST_MAX);
    for (size_t i = 0; i < values.numbers.count; i++)
        require(values.numbers.values[i] <= 1 << 20);
    require(values.words.count <= WORD_LIST_MAX);
    for (size_t i = 0; i < values.words.count; i++)
        require(values.words.words[i][0] != '-');
    require(!values.field || gx_field_get_info(values.field));
    require(!values.op || gx_op_get_info(values.op));
    require(!values.choice || !strcmp(values.choice, "in") || !strcmp(values.choice, "out"));
    require(!values.choices || !strncmp(values.choices, "in", 2) ||
            !strncmp(values.choices, "out", 3));
    require(!(values.fields & 1) && !(values.ops & 1));
}

static void check_number(const char *word)
{
    uint64_t value = 0;
    if (!parse_number(word, &value))
        return;
    size_t digits = strspn(word, "0123456789");
    require(digits > 0 && strlen(word) <= digits + 1);
    require(word[digits] || strtoull(word, NULL, 10) == value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[TEXT_MAX + 1], err[ARGS_ERROR_SIZE] = "", *words[WORDS_MAX], *next = text;
    int count = 0;
    size = size < TEXT_MAX ? size : TEXT_MAX;
    memcpy(text, data, size);
    text[size] = 0;
    while (next && count < WORDS_MAX)
        words[count++] = strsep(&next, "\n");

    memset(&values, 0, sizeof values);
    gx_config config = {0};
    arg_table table = {specs, sizeof specs / sizeof *specs};
    args_result result = args_parse(&table, 1, &config, count, words, err);
    require(result != ARGS_WRONG || err[0]);
    require(memchr(err, 0, sizeof err) != NULL);
    if (result == ARGS_OK)
        check_accepted();
    for (int i = 0; i < count; i++)
        check_number(words[i]);
    return 0;
}
