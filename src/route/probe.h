/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs whose results are known, to see whether a device works.
 */
#ifndef GX_ROUTE_PROBE_H
#define GX_ROUTE_PROBE_H

#include "exec/engine.h"
#include "op/verify.h"

/* Elements of a probe at most. */
#define GX_PROBE_ELEMS 256u

/* Runs n elements of an operation (1 .. GX_PROBE_ELEMS), host memory to host memory, and
 * compares all results. GX_ERR_DEVICE where one differs, else what the engine says; message is
 * set on failure. The caller is a user of the engine. */
gx_status gx__probe(struct gx_engine *engine, struct gx_sampler *sampler, gx_op op, gx_field field,
                    size_t n, char *message, size_t message_size);

/* Probes of sums, products and inverses in a field of each size, and whether an element that
 * is not canonical is found. As gx__probe. */
gx_status gx__self_test(struct gx_engine *engine, char *message, size_t message_size);

#endif
