/* SPDX-License-Identifier: Apache-2.0
 *
 * See units.h.
 */
#include "report/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const unit units[] = {
    {"ntt", "elements per transform", "elements", "butterfly", "butterflies", "operands"},
    {"msm", "points per sum", "points", "point", "points", "scalars"},
    {"", "elements per job", "elements", "element", "elements", "operands"},
};

enum { NTT, LAST = sizeof units / sizeof *units - 1 };

const unit *unit_of(const char *op)
{
    size_t length = strcspn(op, " "), i = 0;
    while (i < LAST && (strlen(units[i].op) != length || strncmp(units[i].op, op, length) != 0))
        i++;
    return &units[i];
}

double unit_count(const char *op, double size)
{
    const char *batch = strstr(op, " x");
    double jobs = batch ? strtod(batch + 2, NULL) : 1;
    return jobs * size * (unit_of(op) == &units[NTT] ? log2(size) / 2 : 1);
}
