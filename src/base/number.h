/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes and counts as people write them: 1048576, 2^20, 1e6, 64K. The settings of the library and
 * the options of the program read all their numbers here.
 */
#ifndef GX_BASE_NUMBER_H
#define GX_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* For messages. */
#define GX_NUMBER_EXAMPLES "1048576, 2^20, 1e6, 64K or 16M"

enum gx_number { GX_NUMBER, GX_NUMBER_WRONG, GX_NUMBER_TOO_LARGE };

/* Reads digits at *text and moves it behind them. */
static inline enum gx_number gx__read_digits(const char **text, uint64_t *value)
{
    const char *start = *text;
    bool large = false;
    for (*value = 0; **text >= '0' && **text <= '9'; ++*text)
        large |= __builtin_mul_overflow(*value, 10u, value) ||
                 __builtin_add_overflow(*value, (unsigned)(**text - '0'), value);
    return *text == start ? GX_NUMBER_WRONG : large ? GX_NUMBER_TOO_LARGE : GX_NUMBER;
}

/* *value = *value * factor^exponent */
static inline enum gx_number gx__scale(uint64_t *value, uint64_t factor, uint64_t exponent)
{
    bool large = false;
    for (; exponent && factor > 1 && *value && !large; exponent--)
        large = __builtin_mul_overflow(*value, factor, value);
    if (!factor && exponent)
        *value = 0;
    return large ? GX_NUMBER_TOO_LARGE : GX_NUMBER;
}

/* Digits, alone or with one of these behind them: K, M, G or T, for powers of 1024, in either case;
 * e and an exponent of ten; ^ and an exponent. */
static inline enum gx_number gx__read_number(const char *text, uint64_t *value)
{
    static const char units[] = "kKmMgGtT";
    uint64_t base, factor = 1024, exponent = 0;
    enum gx_number first = gx__read_digits(&text, &base), second = GX_NUMBER;
    const char mark = *text, *unit = mark ? strchr(units, mark) : NULL;
    if (mark)
        text++;
    if (unit) {
        exponent = (uint64_t)(unit - units) / 2 + 1;
    } else if (mark == '^' || mark == 'e' || mark == 'E') {
        factor = mark == '^' ? base : 10;
        second = gx__read_digits(&text, &exponent);
    } else if (mark) {
        return GX_NUMBER_WRONG;
    }
    *value = mark == '^' ? 1 : base;
    if (first == GX_NUMBER_WRONG || second == GX_NUMBER_WRONG || *text)
        return GX_NUMBER_WRONG;
    return first == GX_NUMBER && second == GX_NUMBER ? gx__scale(value, factor, exponent)
                                                     : GX_NUMBER_TOO_LARGE;
}

#endif
