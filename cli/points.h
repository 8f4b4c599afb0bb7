/* SPDX-License-Identifier: Apache-2.0
 *
 * What `points` and `msm` have in common: the names of the forms of points.
 */
#ifndef POINTS_H
#define POINTS_H

#include "cli.h"

/* For the `choices` of an option. */
#define POINT_FORMS "xy-mont xy-plain zcash-48 zcash-96 zcash-192 eip2537 jacobian-mont"

/* The form with that name; 0 if the curve has no such form: of the forms of zcash, which are named
 * by their size, each curve has two. */
gx_point_form point_form(gx_curve curve, const char *name);

/* Usage error for a form that the curve does not have; names those that it has. */
int point_form_missing(const char *option, gx_curve curve, const char *name);

#endif
