/* SPDX-License-Identifier: Apache-2.0
 *
 * Merged scans as CSV (doc/csv.md).
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "report/merge.h"

/* The cells, one row for every possible one; or the crossovers. */
void table_put(FILE *out, const merge *m, bool crossovers);

#endif
