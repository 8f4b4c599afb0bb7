/* SPDX-License-Identifier: Apache-2.0
 *
 * See model_rows.h.
 */
#include "model_rows.h"

#include <stdlib.h>

static uint32_t number(const json_t *object, const char *key, uint32_t missing)
{
    const json_t *value = json_object_get(object, key);
    return value ? (uint32_t)json_integer_value(value) : missing;
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

static model_row row_of(const json_t *object)
{
    const json_t *permutes = json_object_get(object, "permutes");
    return (model_row){
        .device = text(object, "device"),
        .memory = text(object, "memory"),
        .path = text(object, "path"),
        .order = !permutes                      ? NULL
                 : json_integer_value(permutes) ? "nn rr"
                                                : "nr rn",
        .op = gx_op_by_name(text(object, "op")),
        .field = gx_field_by_name(text(object, "field")),
        .curve = gx_curve_by_name(text(object, "curve")),
        .n = (uint64_t)json_integer_value(json_object_get(object, "n")),
        .ns = (uint64_t)json_integer_value(json_object_get(object, "ns")),
        .slow_ns = (uint64_t)json_integer_value(json_object_get(object, "slow_ns")),
        .samples = number(object, "samples", 0),
        .age_s = number(object, "age_s", 0),
        .log2_n = number(object, "log2_n", UINT32_MAX),
        .scalar_bits = number(object, "scalar_bits", 0),
    };
}

int model_read(gx_ctx *ctx, model_rows *rows)
{
    gx_status s;
    char *text = cli_text(ctx, gx_model_json, &s);
    *rows = (model_rows){0};
    if (s != GX_OK)
        return cli_call_failed(s);
    rows->json = json_loads(text, 0, NULL);
    rows->count = json_array_size(rows->json);
    rows->row = calloc(rows->count + 1, sizeof *rows->row);
    free(text);
    if (!rows->json || !rows->row)
        return cli_no_memory();
    for (size_t i = 0; i < rows->count; i++)
        rows->row[i] = row_of(json_array_get(rows->json, i));
    return EXIT_DONE;
}

void model_free(model_rows *rows)
{
    free(rows->row);
    json_decref(rows->json);
}
