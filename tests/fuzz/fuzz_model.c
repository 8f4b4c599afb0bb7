/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as a saved model. Anything may be rejected; an accepted one must predict, learn, and be
 * saved unchanged.
 */
#include <stdlib.h>
#include <string.h>

#include "route/model.h"
#include "route/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct gx_instance instance = {.config = {.cache_dir = "none"}};

static void require(int truth)
{
    if (!truth)
        abort();
}

static void use(const struct gx_saved_model *saved)
{
    struct gx_model *model = gx__model_open(&instance, "sim:x", "");
    require(model != NULL);
    /* At the date of one of its points; otherwise almost all of them would be too old. */
    gx__model_take(model, saved, saved->count ? saved->point[saved->count - 1].date : 0);
    for (uint32_t i = 0; i < saved->count; i++) {
        const struct gx_saved_point *p = &saved->point[i];
        const struct gx_kind kind = {(gx_op)p->op, (gx_field)p->field, (gx_residency)p->residency,
                                     (gx_path)p->path, p->size_class};
        for (int step = 0; step < 2; step++) {
            for (uint64_t n = 0; n < 1000000000000; n = n * 5 + 1) {
                struct gx_prediction got;
                if (gx__model_predict(model, &kind, (double)n, &got))
                    require(got.ns >= 0 && got.ns <= GX_PREDICTION_MAX && got.slow_ns >= got.ns &&
                            got.slow_ns <= GX_PREDICTION_MAX);
            }
            for (uint64_t n = 1; n < 1u << 30; n *= 3)
                gx__model_learn(model, &kind, n, n);
        }
    }
    size_t rows = 0;
    gx__model_rows(model, NULL, 0, &rows);
    require(rows <= (size_t)saved->count * GX_TIME_POINTS && gx__model_save(model));
    gx__model_close(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *aligned =
        malloc(size ? size : 1); /* aligned like gx__alloc, and no longer than necessary */
    require(aligned != NULL);
    if (size)
        memcpy(aligned, data, size);
    const struct gx_saved_model *saved = gx__saved_parse(aligned, size);
    if (saved && saved->count < 64) /* more would only be slower */
        use(saved);
    free(aligned);
    return 0;
}
