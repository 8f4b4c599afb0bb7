/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices that failed rest, those that gave a wrong result are quarantined, and both come
 * back only through a self-test. This is about choosing: who names a device gets it, or its
 * error.
 */
#ifndef GX_ROUTE_HEALTH_H
#define GX_ROUTE_HEALTH_H

#include "route/slots.h"

/* After so many jobs in a row a device is trusted, and its failures of before are forgotten. */
#define GX_TRUST_JOBS 64u

/* gx_config.sample_every, where it is left to us. */
#define GX_SAMPLE_EVERY ((uint64_t)1000)

static inline uint64_t gx__sample_every(const struct gx_instance *instance)
{
    return instance->config.sample_every ? instance->config.sample_every : GX_SAMPLE_EVERY;
}

/* Every element of every result is to be compared, wherever it is. */
static inline bool gx__compares_all(const struct gx_instance *instance)
{
    return instance->config.sample_every == 1;
}

/* Time that tests let pass, beyond what has. */
extern _Atomic uint64_t gx__health_skip_ns;

/* Whether it may be considered: it works, was not tried yet, or its time has come. Any
 * thread; no lock. */
bool gx__health_usable(const struct gx_device_slot *slot);

/* Whether results of it need less looking at. */
bool gx__health_trusted(const struct gx_device_slot *slot);

/* Its engine, with the caller as a user until gx__engine_release, opened and tested where
 * that is called for. On failure message says why, and the failure is recorded.
 * GX_ERR_NO_DEVICE also where another thread is testing it. */
gx_status gx__health_enter(struct gx_device_slots *slots, struct gx_device_slot *slot,
                           struct gx_engine **engine, char *message, size_t message_size);

/* A job on this engine of the device failed with a status that is the device's fault. */
void gx__health_failed(struct gx_device_slots *slots, struct gx_device_slot *slot,
                       struct gx_engine *engine, gx_status status);
/* It gave a wrong result. */
void gx__health_gave_wrong_result(struct gx_device_slots *slots, struct gx_device_slot *slot,
                                  struct gx_engine *engine);
/* So many jobs were done, and nothing found wrong. */
void gx__health_worked(struct gx_device_slot *slot, uint64_t jobs);

/* Whether the status says something of the device, and not of the job. */
bool gx__health_is_failure(gx_status status);

/* Until it may be tried again; 0: it may be. */
uint64_t gx__health_retry_ns(const struct gx_device_slot *slot);

#endif
