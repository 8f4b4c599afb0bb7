/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of a device as a file of the cache folder (base/cache.h): one file per machine,
 * device, driver, version of the library and settings that change what jobs take.
 *
 * The data of the file is a struct gx_saved_model and the points that it counts, in the byte
 * order of the machine. All of it is looked at before any of it is believed.
 */
#ifndef GX_ROUTE_STORE_H
#define GX_ROUTE_STORE_H

#include <stdbool.h>

#include "base/cache.h"
#include "field/field.h"
#include "op/op.h"

/* Sizes that are measured: 64 << i elements, 64 to 16M. */
#define GX_POINTS 19
/* Measurements that a point rests on. */
#define GX_SAMPLES 5
/* Of one measurement: ns, from what float keeps apart to eleven days. */
#define GX_SAMPLE_NS_MIN 0.01f
#define GX_SAMPLE_NS_MAX 1e15f

struct gx_saved_point {
    uint8_t op, field, residency, path; /* the kind: gx_op, ... */
    uint8_t index;                      /* of GX_POINTS */
    uint8_t count;                      /* 1 to GX_SAMPLES */
    uint8_t guesses;                    /* of these, the first, less than all */
    uint8_t zero;
    uint32_t date;        /* of the last sample, gx__date_s */
    float ns[GX_SAMPLES]; /* the oldest first; 0 from `count` on */
};

struct gx_saved_model {
    char what[8]; /* "gxmodel" and the version of this format, a digit */
    uint32_t count;
    uint32_t zero;
    double next_ns; /* what a further job in the same call costs; 0: not known */
    struct gx_saved_point point[];
};

/* The kinds there can be: gx_op, gx_field and gx_residency are 1 to this, gx_path from 0 on. */
enum {
    GX_KIND_OPS = GX_OP_END - 1,
    GX_KIND_FIELDS = GX_FIELD_END - 1,
    GX_KIND_RESIDENCIES = GX_DEVICE_MEMORY,
    GX_KIND_PATHS = GX_PATH_DEVICE_LOCAL + 1, /* GX_PATH_DIRECT cannot be asked for */
    GX_KINDS = GX_KIND_OPS * GX_KIND_FIELDS * GX_KIND_RESIDENCIES * GX_KIND_PATHS
};

/* Where a model is saved, and what must be the same for it to be found. */
struct gx_store {
    char name[64];
    uint8_t key[GX_CACHE_KEY_BYTES];
};

/* device: its name; description: of it and its driver. */
void gx__store_init(struct gx_store *store, struct gx_instance *instance, const char *device,
                    const char *description);

/* Bytes of a model with so many points. */
size_t gx__saved_bytes(size_t points);
/* The model in these bytes, aligned to 8; NULL where there is anything wrong with them. */
const struct gx_saved_model *gx__saved_parse(const void *data, size_t size);
/* A model without points. */
void gx__saved_begin(struct gx_saved_model *saved);

/* The saved model, the caller's, to be given to gx__free; NULL: none. */
const struct gx_saved_model *gx__store_read(struct gx_instance *instance,
                                            const struct gx_store *store);
bool gx__store_write(struct gx_instance *instance, const struct gx_store *store,
                     const struct gx_saved_model *saved);

#endif
