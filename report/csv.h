/* SPDX-License-Identifier: Apache-2.0
 *
 * Comma-separated values, one record a line: a field may be in quotes, a quote in it is
 * written twice, and no field holds a line end.
 */
#ifndef REPORT_CSV_H
#define REPORT_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A number or a name of ours, after a comma unless it is the first. Line ends in it become
 * spaces. */
void csv_put(FILE *out, const char *text, bool first);

/* Text from anywhere: what a spreadsheet would take for a formula, as it begins with = + - @ or a
 * tab, gets an apostrophe before it, which csv_text takes away again. */
void csv_put_text(FILE *out, const char *text, bool first);
const char *csv_text(const char *field);

/* Splits a line in place: fields point into it. The number of fields, at most `most`; 0, and
 * *why, where the line is no record or has more. */
size_t csv_split(char *line, char **fields, size_t most, const char **why);

#endif
