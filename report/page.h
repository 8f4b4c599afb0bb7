/* SPDX-License-Identifier: Apache-2.0
 *
 * The page: one HTML file that needs nothing else, from page.html, page.css, page.js and
 * Chart.js, which are part of the program, and the data of a merge.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* data: what json_of_merge makes. False where memory ran out; errors of writing stay in the
 * stream. */
bool page_put(FILE *out, const json_t *data);

/* A part of the page, or the page of gpuexec serve (live.html), put into the program while
 * building (embed.c). */
typedef struct page_part {
    const char *name;
    const unsigned char *text;
    size_t size;
} page_part;

extern const page_part page_parts[];
extern const size_t page_part_count;

/* By its name, which need not be terminated; NULL where there is none. */
const page_part *page_find(const char *name, size_t length);

#endif
