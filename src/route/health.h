/* SPDX-License-Identifier: Apache-2.0
 *
 * The health of devices. A device that failed rests, one that gave a wrong result is quarantined,
 * and both must pass a self-test before they are chosen again. A call that names a device is not
 * affected: it gets the device, or its error.
 */
#ifndef GX_ROUTE_HEALTH_H
#define GX_ROUTE_HEALTH_H

#include "base/error.h"
#include "route/slots.h"
#include "verify/verify.h"

/* After so many good jobs in a row a device is trusted, and its next rest is the shortest again. */
#define GX_TRUST_JOBS 64u

/* The default of gx_config.sample_every. */
#define GX_SAMPLE_EVERY ((uint64_t)1000)

static inline uint64_t gx__sample_every(const struct gx_instance *instance)
{
    return instance->config.sample_every ? instance->config.sample_every : GX_SAMPLE_EVERY;
}

/* Added to the clock; for tests. */
extern _Atomic uint64_t gx__health_skip_ns;

/* Whether it rests because it could not be opened, or failed its self-test. Its GPU may work under
 * another name. */
bool gx__health_unfit(const struct gx_device_slot *slot);

/* Whether fewer of its results need to be verified. */
bool gx__health_trusted(const struct gx_device_slot *slot);

/* The engine of the device, with the caller as a user until gx__engine_release. Opens the device
 * and runs its self-test if needed. On failure message says why, and the failure is recorded.
 * GX_ERR_NO_DEVICE: it rests, or another thread is testing it. insist: "cpu" may not take over, so
 * that lack of memory for one job is no reason to refuse others. Takes no lock if the device is
 * good, or rests. */
gx_status gx__health_enter(struct gx_device_slots *slots, struct gx_device_slot *slot, bool insist,
                           struct gx_engine **engine, struct gx_error *error);

/* A job failed on this engine (NULL: opening failed), and gx__health_is_failure holds. */
void gx__health_failed(struct gx_device_slots *slots, struct gx_device_slot *slot,
                       struct gx_engine *engine, gx_status status);
/* The device gave a wrong result on this engine. */
void gx__health_gave_wrong_result(struct gx_device_slots *slots, struct gx_device_slot *slot,
                                  struct gx_engine *engine);
/* So many jobs were done without a mismatch. */
void gx__health_worked(struct gx_device_slot *slot, uint64_t jobs);

/* Whether the status is a failure of the device, not of the job. */
bool gx__health_is_failure(gx_status status);

/* Time until the device may be tried again; 0: now. */
uint64_t gx__health_retry_ns(const struct gx_device_slot *slot);

/* ---- probe.c: small jobs of which every result is verified, to test whether a device works ----
 */

/* Runs a small task like this one (gx_op_traits.probe) on random elements in host memory and
 * verifies all results. GX_ERR_DEVICE: a result is wrong; else the status of the engine. On failure
 * message says why. The caller must be a user of the engine. */
gx_status gx__probe_like(struct gx_engine *engine, struct gx_sampler *sampler,
                         const struct gx_task *like, struct gx_error *error);

/* Probes what the standard operations say (gx_op_traits.tested), where the device has it, and tests
 * that an element that is not canonical is found. As gx__probe_like. */
gx_status gx__self_test(struct gx_engine *engine, struct gx_error *error);

#endif
