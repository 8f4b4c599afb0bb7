/* SPDX-License-Identifier: Apache-2.0
 *
 * A merge as text: Markdown for files, plain columns for a terminal.
 */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include "report/merge.h"

typedef enum text_style {
    TEXT_MARKDOWN, /* everything: machines, a table per operation, crossovers, gaps */
    TEXT_PLAIN     /* tables, crossovers and gaps */
} text_style;

/* title: the first line of Markdown; borrowed. False if memory ran out; write errors stay in the
 * stream. */
bool text_put(FILE *out, const merge *m, text_style style, const char *title);

/* Whether this direction of a pair is the one to describe: that of the device that is faster at the
 * largest size; of two that are equal there, the first. */
bool text_is_told(const merge_group *g, const merge_cross *x);

/* One sentence about such a crossover. */
void text_cross(FILE *out, const merge_group *g, const merge_cross *x);

/* Sizes as in `gpuexec scan`: 65536 is 64K, 1000 is 1000. */
void text_size(char *to, size_t room, double size);

#endif
