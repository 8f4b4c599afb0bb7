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

/* A field, after a comma unless it is the first. Line ends in it become spaces. */
void csv_put(FILE *out, const char *text, bool first);

/* Splits a line in place: fields point into it. The number of fields, at most `most`; 0, and
 * *why, where the line is no record or has more. */
size_t csv_split(char *line, char **fields, size_t most, const char **why);

#endif
