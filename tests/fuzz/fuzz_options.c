/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as a command line, one argument per line, through the option tables of the program and
 * gx_config_set; and every argument as a number. Accepted values must be in range, and rejections
 * must give a reason.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "options.h"

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
static const option_row options[] = {
    {.name = "json", .kind = OPT_FLAG, .value = &values.flag, .set = 1},
    {.letter = 'a', .arg = "FILE", .kind = OPT_TEXT, .value = &values.text},
    {.name = "samples",
     .arg = "K",
     .kind = OPT_NUMBER,
     .value = &values.number,
     .min = 1,
     .max = 10000},
    {.letter = 'n', .arg = "N", .kind = OPT_NUMBERS, .value = &values.numbers, .max = 1 << 20},
    {.name = "in", .arg = "FIELD", .kind = OPT_FIELD, .value = &values.field},
    {.name = "on", .arg = "CURVE", .kind = OPT_CURVE, .value = &values.curve},
    {.name = "do", .arg = "OP", .kind = OPT_OP, .value = &values.op},
    {.name = "field", .arg = "FIELDS", .kind = OPT_FIELDS, .value = &values.fields},
    {.name = "op", .arg = "OPS", .kind = OPT_OPS, .value = &values.ops},
    {.name = "one", .arg = "W", .kind = OPT_CHOICE, .choices = "in out", .value = &values.choice},
    {.name = "some",
     .arg = "W,...",
     .kind = OPT_CHOICES,
     .choices = "in out",
     .value = &values.choices},
    {.arg = "FILE...", .kind = OPT_WORDS, .value = &values.words},
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
        require(values.words.words[i] != NULL);
    require(!values.field || gx_field_get_info(values.field));
    require(!values.op || gx_op_get_info(values.op));
    require(!values.choice || !strcmp(values.choice, "in") || !strcmp(values.choice, "out"));
    require(!values.choices || !strncmp(values.choices, "in", 2) ||
            !strncmp(values.choices, "out", 3));
    require(!(values.fields & 1) && !(values.ops & 1));
}

/* Beside strtod and pow, which round. */
static void check_number(const char *word)
{
    static const char units[] = "KkMmGgTt";
    uint64_t value = 0;
    size_t digits = strspn(word, "0123456789");
    const char *mark = word + digits, *unit = *mark ? strchr(units, *mark) : NULL;
    if (gx__read_number(word, &value) != GX_NUMBER) {
        require(*mark || !digits || digits > 19);
        return;
    }
    double expected = strtod(word, NULL);
    for (const char *u = units; unit && u <= unit; u += 2)
        expected *= 1024;
    if (*mark == '^')
        expected = pow(expected, strtod(mark + 1, NULL));
    require(digits > 0 && fabs((double)value - expected) <= expected * 1e-9);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[TEXT_MAX + 1], err[OPTIONS_ERROR_SIZE] = "", *words[WORDS_MAX + 1], *next = text;
    int count = 1; /* after the name of the program */
    size = size < TEXT_MAX ? size : TEXT_MAX;
    memcpy(text, data, size);
    text[size] = 0;
    words[0] = "fuzz";
    while (next && count < WORDS_MAX)
        words[count++] = strsep(&next, "\n");
    words[count] = NULL;

    memset(&values, 0, sizeof values);
    gx_config config = {0};
    option_list list = {0};
    options_add(&list, &(option_table)OPTION_TABLE(options));
    options_add_settings(&list);
    options_result result = options_parse(&list, &config, count, words, err);
    require(result != OPTIONS_WRONG || err[0]);
    require(memchr(err, 0, sizeof err) != NULL);
    if (result == OPTIONS_OK)
        check_accepted();
    for (int i = 1; i < count; i++)
        check_number(words[i]);
    return 0;
}
