/* SPDX-License-Identifier: Apache-2.0
 *
 * The page: one self-contained HTML file made from page.html, page.css, page.js and, if the build
 * had it, Chart.js, which are embedded in the program, and the data of a merge.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Whether Chart.js is embedded. Without it the page has tables in place of charts. */
bool page_has_charts(void);

/* data: from json_of_merge. False if memory ran out; write errors stay in the stream. */
bool page_put(FILE *out, const json_t *data);

/* A part of the page, or the page of gpuexec serve (live.html), embedded by the build (embed.c). */
typedef struct page_part {
    const char *name;
    const unsigned char *text;
    size_t size;
} page_part;

extern const page_part page_parts[];
extern const size_t page_part_count;

/* Looks up a part by name, which need not be terminated; NULL if there is none. */
const page_part *page_find(const char *name, size_t length);

#endif
