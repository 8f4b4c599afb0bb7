/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes: small jobs of which every result is verified, to test whether a device works.
 */
#ifndef GX_ROUTE_PROBE_H
#define GX_ROUTE_PROBE_H

#include "base/error.h"
#include "exec/engine.h"
#include "op/traits.h"
#include "verify/verify.h"

/* Runs a small task like this one (gx_op_traits.probe) on random elements in host memory and
 * verifies all results. GX_ERR_DEVICE: a result is wrong; else the status of the engine. On failure
 * message says why. The caller must be a user of the engine. */
gx_status gx__probe_like(struct gx_engine *engine, struct gx_sampler *sampler,
                         const struct gx_task *like, struct gx_error *error);

/* Probes what the standard operations say (gx_op_traits.tested), where the device has it, and tests
 * that an element that is not canonical is found. As gx__probe_like. */
gx_status gx__self_test(struct gx_engine *engine, struct gx_error *error);

#endif
