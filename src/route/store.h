/* SPDX-License-Identifier: Apache-2.0
 *
 * The file format of models. The cache folder (base/cache.h) has one file for each combination of
 * machine, device, driver, library version and settings that affect timing.
 *
 * A file holds a struct gx_saved_model and its points, in the byte order of the machine. All of it
 * is validated before any of it is used.
 */
#ifndef GX_ROUTE_STORE_H
#define GX_ROUTE_STORE_H

#include <stdbool.h>

#include "base/cache.h"
#include "field/field.h"
#include "op/op.h"
#include "route/model.h"

/* Points of a curve, at 64 << i elements: 64 to 16M. */
#define GX_TIME_POINTS 19
/* Samples of a point. */
#define GX_SAMPLES 5
/* Range of a sample, in ns: up to eleven days. */
#define GX_SAMPLE_NS_MIN 0.01f
#define GX_SAMPLE_NS_MAX 1e15f

struct gx_saved_point {
    uint8_t op, field, residency, path; /* the kind, with the size class below */
    uint8_t index;                      /* below GX_TIME_POINTS */
    uint8_t count;                      /* 1 to GX_SAMPLES */
    uint8_t guesses;                    /* how many of the first samples are guesses; < count */
    uint8_t size_class;
    uint32_t date;        /* gx__date_s of the last sample */
    float ns[GX_SAMPLES]; /* oldest first; 0 from `count` on */
};

struct gx_saved_model {
    char what[8]; /* "gxmodel" and the version of the format, one digit */
    uint32_t count;
    uint32_t zero;
    double next_ns; /* gx__model_next_ns; 0: not known */
    struct gx_saved_point point[];
};

/* The name of a model's file, and the key that the file must have. */
struct gx_store {
    char name[64];
    uint8_t key[GX_CACHE_KEY_BYTES];
};

/* device: the name; description: of device and driver. */
void gx__store_init(struct gx_store *store, struct gx_instance *instance, const char *device,
                    const char *description);

/* Size of a saved model with so many points, in bytes. */
size_t gx__saved_bytes(size_t points);
/* Validates a saved model, aligned to 8 bytes; NULL: invalid. */
const struct gx_saved_model *gx__saved_parse(const void *data, size_t size);
/* Initialises a saved model without points. */
void gx__saved_begin(struct gx_saved_model *saved);

/* Reads a model from its file; the caller frees it with gx__free. NULL: none, or invalid. */
const struct gx_saved_model *gx__store_read(struct gx_instance *instance,
                                            const struct gx_store *store);
bool gx__store_write(struct gx_instance *instance, const struct gx_store *store,
                     const struct gx_saved_model *saved);

#endif
