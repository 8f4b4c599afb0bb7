/* SPDX-License-Identifier: Apache-2.0
 *
 * A merge as JSON: what --json prints, and what the page draws from. doc/csv.md lists it.
 */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <jansson.h>

#include "report/merge.h"

/* The caller's, to be given to json_decref; NULL where memory ran out, or where a text of a
 * file is not UTF-8. version: of this program. */
json_t *json_of_merge(const merge *m, const char *command, const char *version);

#endif
