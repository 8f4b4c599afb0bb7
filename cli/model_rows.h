/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of the router's model, read from its JSON.
 */
#ifndef MODEL_ROWS_H
#define MODEL_ROWS_H

#include <jansson.h>

#include "cli.h"

/* One point of the model: a job of n elements takes ns. */
typedef struct model_row {
    const char *device, *memory, *path; /* of the JSON of model_rows */
    const char *order;                  /* of transforms; NULL for others */
    gx_op op;
    gx_field field;
    gx_curve curve; /* of sums of points */
    uint64_t n, ns, slow_ns;
    uint32_t samples, age_s;
    uint32_t log2_n; /* UINT32_MAX: the job has none */
    uint32_t scalar_bits;
} model_row;

typedef struct model_rows {
    json_t *json; /* owns the text of the rows */
    model_row *row;
    size_t count;
} model_rows;

/* Reads the context's model. Free it in either case. Returns an exit code. */
int model_read(gx_ctx *ctx, model_rows *rows);
void model_free(model_rows *rows);

#endif
