/* SPDX-License-Identifier: Apache-2.0
 *
 * Multi-scalar multiplication on the host, in phases of independent chunks: the caller runs all
 * chunks of a phase, in any order and on any threads, before those of the next. Pure functions of
 * their arguments, like the kernels of field/host.h.
 */
#ifndef GX_CURVE_MSM_H
#define GX_CURVE_MSM_H

#include <stddef.h>
#include <stdint.h>

#include "curve/point.h"
#include "field/host.h"

#define GX_SCALAR_LIMBS 4
#define GX_SCALAR_BITS  256
#define GX_WINDOW_MAX   16
/* Most points at a time: bounds scratch. */
#define GX_MSM_PIECE ((size_t)1 << 20)

/* The kernels of a tier. */
struct gx_msm_host;

/* Multiples of fixed points, in the form of a tier: of point i those by 2^(c rows k) for all k
 * below `parts`. With them, a call has `rows` windows in place of as many as there are digits. */
struct gx_msm_table {
    const struct gx_curve_row *curve;
    size_t count;         /* points */
    uint32_t c;           /* bits of a digit */
    uint32_t rows, parts; /* parts * rows is at least the number of digits */
    void *memory;         /* gx__msm_table_bytes, aligned to 64 */
};

/* Points need not be in the subgroup; scalars can have any value. */
struct gx_msm_call {
    const struct gx_curve_row *curve;
    const uint64_t *points;  /* packed, affine; (0, 0) is infinity */
    const uint64_t *scalars; /* plain, GX_SCALAR_LIMBS limbs each */
    size_t count;
    uint32_t bits;    /* 1 .. 256, of scalars; higher ones are ignored */
    uint32_t workers; /* at least 1 */
    uint32_t window;  /* bits of a digit, 1 .. GX_WINDOW_MAX; 0: the best. For tests */
    void *scratch;    /* gx__msm_scratch bytes, aligned to 64 */
    struct gx_xyzz *result;
    const struct gx_msm_table *table; /* or NULL; with the points from `first` on */
    size_t first;
};

/* The best tier in mask that this CPU supports; portable is always included. */
const struct gx_msm_host *gx__msm_host(unsigned mask);
enum gx_tier gx__msm_tier(const struct gx_msm_host *host);

size_t gx__msm_scratch(const struct gx_msm_host *host, const struct gx_msm_call *call);
size_t gx__msm_phases(const struct gx_msm_host *host, const struct gx_msm_call *call);
size_t gx__msm_chunks(const struct gx_msm_host *host, const struct gx_msm_call *call, size_t phase);

/* worker < call->workers; no two calls with the same number at the same time. */
void gx__msm_chunk(const struct gx_msm_host *host, const struct gx_msm_call *call, size_t phase,
                   size_t chunk, uint32_t worker);

/* Everything but the memory, for the fastest table of at most so many bytes. False: they are not
 * even enough for the points themselves. */
bool gx__msm_table_plan(const struct gx_msm_host *host, const struct gx_curve_row *curve,
                        size_t count, uint64_t bytes, struct gx_msm_table *table);
size_t gx__msm_table_bytes(const struct gx_msm_host *host, const struct gx_msm_table *table);
/* Filled in independent chunks, each with gx__msm_table_scratch bytes, aligned to 64. */
size_t gx__msm_table_scratch(const struct gx_msm_host *host, const struct gx_msm_table *table);
size_t gx__msm_table_chunks(const struct gx_msm_table *table);
void gx__msm_table_chunk(const struct gx_msm_host *host, const struct gx_msm_table *table,
                         const uint64_t *points, size_t chunk, void *scratch);

#endif
