/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes: small jobs of which every result is verified, to test whether a device works.
 */
#ifndef GX_ROUTE_PROBE_H
#define GX_ROUTE_PROBE_H

#include "exec/engine.h"
#include "op/verify.h"

/* Maximum elements of a probe. */
#define GX_PROBE_ELEMS 256u

/* Runs an operation on n (1 .. GX_PROBE_ELEMS) random elements in host memory and verifies all
 * results. GX_ERR_DEVICE: a result is wrong; else the status of the engine. On failure message says
 * why. The caller must be a user of the engine. */
gx_status gx__probe(struct gx_engine *engine, struct gx_sampler *sampler, gx_op op, gx_field field,
                    size_t n, char *message, size_t message_size);

/* The same for a transform like that of the job, of up to 2^GX_PROBE_LOG2 elements. */
#define GX_PROBE_LOG2 10u
gx_status gx__probe_transform(struct gx_engine *engine, struct gx_sampler *sampler,
                              const gx_job *like, char *message, size_t message_size);

/* The same for a multi-scalar multiplication with up to GX_PROBE_POINTS of the points of the job;
 * no probe if there are fewer than GX_PROBE_POINTS_MIN. */
#define GX_PROBE_POINTS     256u
#define GX_PROBE_POINTS_MIN 8u
gx_status gx__probe_msm(struct gx_engine *engine, struct gx_sampler *sampler, const gx_job *like,
                        char *message, size_t message_size);

/* Probes add, mul and inv in a field of each size, a transform, and a sum of points of each curve
 * that the context has had points of, if the device has them; and tests that an element that is not
 * canonical is found. As gx__probe. */
gx_status gx__self_test(struct gx_engine *engine, char *message, size_t message_size);

#endif
