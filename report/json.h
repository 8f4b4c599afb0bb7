/* SPDX-License-Identifier: Apache-2.0
 *
 * A merge as JSON: the output of --json, and the data of the page. doc/csv.md describes it.
 */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <jansson.h>

#include "report/merge.h"

/* To be released with json_decref; NULL if memory ran out or text from a file is not UTF-8.
 * version: of this program. */
json_t *json_of_merge(const merge *m, const char *command, const char *version);

#endif
