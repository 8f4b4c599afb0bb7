/* SPDX-License-Identifier: Apache-2.0
 *
 * What the router has to know of an operation besides its row: which of its jobs take different
 * times for the same n, and how jobs of it are made up to measure or to test a device. There is one
 * table for each enum gx_op_shape, in the file of that shape. The router asks the table and names
 * no operation.
 */
#ifndef GX_OP_TRAITS_H
#define GX_OP_TRAITS_H

#include "base/error.h"
#include "op/domain.h"
#include "op/points.h"
#include "op/task.h"

/* What the parameters of a made-up job refer to. Begins as zeros with an instance. */
struct gx_fixture {
    struct gx_instance *instance;
    bool test;   /* to test a device; else to measure it */
    uint64_t id; /* of tables that devices make for it (gx__table_id); 0: none */
    struct gx_domain domain;
    struct gx_points points;
};

/* Operations that a calibration measures if nothing else is asked for; the others are predicted
 * from the nearest of these. */
extern const gx_op gx__standard_ops[];
extern const size_t gx__standard_op_count;

/* An operation of two operands that every device has. It tests devices in place of operations for
 * which random elements mean nothing. */
extern const gx_op gx__plain_op;

/* What a size class stands for; 0 where it makes no difference. */
struct gx_size_facts {
    uint32_t log2_n, permutes;
    gx_curve curve;
    uint32_t scalar_bits;
};

struct gx_op_traits {
    /* ---- size classes ----
     * Jobs of different classes take different times for the same n. A class is log2 * variants +
     * variant: n is a multiple of about 2^log2 elements, and there are several ways to compute
     * these. */
    uint32_t classes; /* 1: only n counts */
    uint32_t variants;
    bool variants_alike; /* one variant takes about as long as another */
    bool single;         /* log2 0: not any number of one element, but one job of any size */
    bool falls;          /* per element time is proportional to 1 / log2, not to log2 */
    bool unlike;         /* no other operation takes about as long */
    uint32_t (*size_class)(const struct gx_task *job);
    /* NULL: all do. */
    bool (*class_exists)(gx_field field, uint32_t size_class);
    /* Says which class it is; for people, in a few characters. */
    void (*describe)(gx_field field, uint32_t size_class, struct gx_size_facts *facts);
    void (*name)(uint32_t size_class, char *name, size_t size);

    /* ---- made-up jobs ---- */
    /* The job without operands that tests a device which ran `like`; n 0: none can. */
    void (*probe)(const struct gx_task *like, struct gx_task *probe);
    /* The size class with this number that a self-test needs, and its n; 0: there are no more. */
    uint64_t (*tested)(const struct gx_instance *instance, gx_field field, uint32_t number,
                       uint32_t *size_class);
    /* Makes what a task of this class, which has op, field and n, needs, if that is not there yet,
     * and sets its parameters. NULL: there are none. */
    gx_status (*prepare)(struct gx_fixture *fixture, uint32_t size_class, struct gx_task *job,
                         struct gx_error *error);
    /* Size classes to calibrate: of the standard operations if nothing is asked for, and all. */
    const uint32_t *standard, *measured;
    size_t standard_count, measured_count;
    /* The n with this number to measure of a class, ascending; 0: there are no more. */
    uint64_t (*measured_n)(uint32_t size_class, uint32_t number);
    bool sparse; /* these are few and may take long, also the first: none in between is measured */
};

/* By enum gx_op_shape. */
extern const struct gx_op_traits *const gx__traits[GX_SHAPE_END];
extern const struct gx_op_traits gx__transform_traits, gx__msm_traits;

static inline const struct gx_op_traits *gx__op_traits(gx_op op)
{
    return gx__traits[gx__op_shape(op)];
}

/* The size class of a task. */
static inline uint32_t gx__size_class(const struct gx_task *job)
{
    const struct gx_op_traits *traits = gx__op_traits(job->op);
    return traits->size_class ? traits->size_class(job) : 0;
}

bool gx__size_class_exists(gx_op op, gx_field field, uint32_t size_class);

/* The standard operation that costs about as much per element; the operation itself: none does. */
gx_op gx__op_similar(gx_op op);

/* Whether a calibration can measure the operation. */
bool gx__op_measurable(gx_op op);

/* ---- made-up jobs ---- */

/* Elements of a probe of most operations. */
#define GX_PROBE_ELEMS 256u

/* Calibrations measure from so many elements to so many. */
#define GX_MEASURED_FIRST ((uint64_t)64)
#define GX_MEASURED_LAST  ((uint64_t)16 << 20)
/* Most sizes are 4 times the one before. */
uint64_t gx__measured_n(uint64_t last, uint32_t number);

/* Makes what jobs of this operation, class and n need, and sets *job to one without operands. If
 * fixture->id has changed, the caller drops the tables of the one before. On failure message says
 * why. */
gx_status gx__fixture_set(struct gx_fixture *fixture, gx_op op, gx_field field, uint32_t size_class,
                          uint64_t n, struct gx_task *job, struct gx_error *error);
void gx__fixture_free(struct gx_fixture *fixture);

/* Random numbers that are the same each time; state is not 0. */
uint64_t gx__made_random(uint64_t *state);

/* ---- size classes by operation ---- */

#define GX_LOG2_N_END 33u

/* Transforms differ in their size, and in whether they permute: from natural to bit-reversed order
 * and back they do not. */
static inline uint32_t gx__ntt_class(uint32_t log2_n, bool permutes)
{
    return 2 * log2_n + permutes;
}

/* Multi-scalar multiplications differ in the degree of the field of coordinates, the bits of
 * scalars (up to 64, 128 or 256) and, if they have several results, in the points of each: up to
 * 2^log2; log2 is 0 for one result. */
static inline uint32_t gx__msm_class(uint32_t log2, uint32_t degree, uint32_t bits)
{
    return (log2 * 3 + (bits > 64) + (bits > 128)) * 2 + degree - 1;
}

#endif
