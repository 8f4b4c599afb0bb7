/* SPDX-License-Identifier: Apache-2.0
 *
 * Comma-separated values, one record per line: a field may be quoted, a quote in it is doubled, and
 * no field contains a line break.
 */
#ifndef REPORT_CSV_H
#define REPORT_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes a number or a fixed name, after a comma unless it is the first. Line breaks in it become
 * spaces. */
void csv_put(FILE *out, const char *text, bool first);

/* Writes arbitrary text: anything that a spreadsheet would take for a formula, because it begins
 * with = + - @ or a tab, gets a leading apostrophe, which csv_text removes again. */
void csv_put_text(FILE *out, const char *text, bool first);
const char *csv_text(const char *field);

/* Splits a line in place: fields point into it. Returns the number of fields, at most `most`; 0,
 * with *why, if the line is malformed or has more. */
size_t csv_split(char *line, char **fields, size_t most, const char **why);

#endif
