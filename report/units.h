/* SPDX-License-Identifier: Apache-2.0
 *
 * What the figures of an operation count: elements, the butterflies of a transform, the points of a
 * sum.
 */
#ifndef REPORT_UNITS_H
#define REPORT_UNITS_H

typedef struct unit {
    const char *op;       /* "msm" */
    const char *size;     /* of a job: "points per sum" */
    const char *things;   /* that a size counts: "points" */
    const char *each;     /* what a rate counts: "point" */
    const char *plural;   /* "points" */
    const char *operands; /* that are in the place of a scan: "scalars" */
} unit;

/* Of "msm" and of what begins with that word, such as "msm table x4". */
const unit *unit_of(const char *op);

/* How many of `plural` a job of this size has: of a transform of n elements n/2 log2 n. "x4" at the
 * end of `op`: four at once. */
double unit_count(const char *op, double size);

#endif
