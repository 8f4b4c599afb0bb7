/* SPDX-License-Identifier: Apache-2.0
 *
 * The health of a device (health.h) is a few atomics, because every decision reads it and it
 * changes rarely. Two failures at the same time may double the rest only once, which does no harm.
 */
#include "route/health.h"

#include "base/clock.h"
#include "base/log.h"

#define REST_NS           100000000u
#define REST_MAX_NS       60000000000u
#define QUARANTINE_NS     60000000000u
#define QUARANTINE_MAX_NS 3600000000000u

_Atomic uint64_t gx__health_skip_ns;

static uint64_t now(void)
{
    return gx__now_ns() + atomic_load_explicit(&gx__health_skip_ns, memory_order_relaxed);
}

static gx_health state_of(const struct gx_device_slot *slot)
{
    return atomic_load_explicit(&slot->condition.state, memory_order_acquire);
}

uint64_t gx__health_retry_ns(const struct gx_device_slot *slot)
{
    if (state_of(slot) < GX_HEALTH_RESTING)
        return 0;
    uint64_t at = atomic_load(&slot->condition.retry_at), time = now();
    return at > time ? at - time : 0;
}

bool gx__health_unfit(const struct gx_device_slot *slot)
{
    return state_of(slot) == GX_HEALTH_RESTING && atomic_load(&slot->condition.unfit);
}

bool gx__health_trusted(const struct gx_device_slot *slot)
{
    return atomic_load_explicit(&slot->condition.good, memory_order_relaxed) >= GX_TRUST_JOBS;
}

bool gx__health_is_failure(gx_status status)
{
    return status == GX_ERR_DEVICE_LOST || status == GX_ERR_TIMEOUT || status == GX_ERR_DEVICE ||
           gx__out_of_memory(status);
}

/* ---- failing ---- */

/* Starts a rest or a quarantine: of `least` ns, then twice as long each time, up to `most`. Returns
 * its length. */
static uint64_t rest(struct gx_device_slot *slot, gx_health state, uint64_t least, uint64_t most)
{
    struct gx_condition *c = &slot->condition;
    uint64_t ns = atomic_load(&c->rest_ns);
    ns = ns < least ? least : ns > most ? most : ns;
    atomic_store(&c->rest_ns, ns < most ? 2 * ns : most);
    atomic_store(&c->retry_at, now() + ns);
    atomic_store(&c->good, 0);
    atomic_store_explicit(&c->state, state, memory_order_release);
    return ns;
}

void gx__health_failed(struct gx_device_slots *slots, struct gx_device_slot *slot,
                       struct gx_engine *engine, gx_status status)
{
    bool again = atomic_load(&slot->condition.rest_ns) != 0;
    gx__count(&slot->failures, 1);
    if (state_of(slot) == GX_HEALTH_QUARANTINED)
        return; /* a call that was still running must not shorten it */
    if (engine && again && status == GX_ERR_DEVICE)
        atomic_store(&engine->lost, true); /* reopen a device that keeps failing */
    atomic_store(&slot->condition.lacked_memory, gx__out_of_memory(status));
    uint64_t most = gx__out_of_memory(status) ? REST_NS : REST_MAX_NS;
    uint64_t before = atomic_load(&slot->condition.rest_ns);
    uint64_t ns = rest(slot, GX_HEALTH_RESTING, REST_NS, most);
    if (before > most) /* running out of memory does not shorten later rests */
        atomic_store(&slot->condition.rest_ns, before);
    gx__log(slots->instance, GX_LOG_WARNING, "device '%s' is not used for %llu ms: %s", slot->name,
            (unsigned long long)(ns / 1000000), gx_status_message(status));
}

void gx__health_gave_wrong_result(struct gx_device_slots *slots, struct gx_device_slot *slot,
                                  struct gx_engine *engine)
{
    gx__count(&slot->mismatches, 1);
    gx__count(&slots->instance->counters.mismatches, 1);
    atomic_store(&engine->lost, true);
    atomic_store(&slot->again_jobs, 0);
    uint64_t ns = rest(slot, GX_HEALTH_QUARANTINED, QUARANTINE_NS, QUARANTINE_MAX_NS);
    gx__log(slots->instance, GX_LOG_ERROR,
            "device '%s' gave a wrong result and is not used for %llu s", slot->name,
            (unsigned long long)(ns / 1000000000));
}

void gx__health_worked(struct gx_device_slot *slot, uint64_t jobs)
{
    struct gx_condition *c = &slot->condition;
    uint32_t good = atomic_load_explicit(&c->good, memory_order_relaxed);
    if (good >= GX_TRUST_JOBS || state_of(slot) >= GX_HEALTH_RESTING)
        return; /* if it rests, a call was still running */
    uint64_t now_good = good + jobs;
    atomic_store_explicit(&c->good, now_good < GX_TRUST_JOBS ? (uint32_t)now_good : GX_TRUST_JOBS,
                          memory_order_relaxed);
    if (now_good >= GX_TRUST_JOBS)
        atomic_store(&c->rest_ns, 0);
}

/* ---- coming back ---- */

/* Opens and tests the device; called by one thread at a time. */
static gx_status readmit(struct gx_device_slots *slots, struct gx_device_slot *slot,
                         struct gx_engine **engine, struct gx_error *error)
{
    gx_status s = gx__slot_open(slots, slot->name, engine, error);
    if (s == GX_OK) {
        s = gx__self_test(*engine, error);
        if (s != GX_OK)
            gx__engine_release(*engine);
    }
    if (s != GX_OK) {
        bool wrong = state_of(slot) == GX_HEALTH_QUARANTINED;
        atomic_store(&slot->condition.unfit, true);
        gx__count(&slot->failures, 1);
        rest(slot, state_of(slot), wrong ? QUARANTINE_NS : REST_NS,
             wrong ? QUARANTINE_MAX_NS : REST_MAX_NS);
        gx__log(slots->instance, GX_LOG_WARNING, "device '%s' cannot be used again yet: %s",
                slot->name, error->text);
        return s;
    }
    gx__count(&slot->readmissions, 1);
    atomic_store(&slot->condition.unfit, false);
    atomic_store(&slot->condition.good, 0);
    atomic_store_explicit(&slot->condition.state, GX_HEALTH_GOOD, memory_order_release);
    gx__log(slots->instance, GX_LOG_INFO, "device '%s' has passed its self-test and is used again",
            slot->name);
    return GX_OK;
}

gx_status gx__health_enter(struct gx_device_slots *slots, struct gx_device_slot *slot, bool insist,
                           struct gx_engine **engine, struct gx_error *error)
{
    struct gx_condition *c = &slot->condition;
    gx_health state = state_of(slot);
    if (insist && state == GX_HEALTH_RESTING && atomic_load(&c->lacked_memory)) {
        *engine = gx__slot_enter(slot);
        if (*engine)
            return GX_OK;
    }
    if (state == GX_HEALTH_GOOD) {
        *engine = gx__slot_enter(slot);
        if (*engine)
            return GX_OK; /* else a call that named it has lost it */
        gx_health good = GX_HEALTH_GOOD;
        atomic_compare_exchange_strong(&c->state, &good, GX_HEALTH_RESTING);
    } else if (state == GX_HEALTH_UNUSED) {
        gx_status s = gx__slot_open(slots, slot->name, engine, error);
        if (s == GX_OK)
            atomic_compare_exchange_strong(&c->state, &state, GX_HEALTH_GOOD);
        else {
            atomic_store(&c->unfit, true);
            gx__log(slots->instance, GX_LOG_WARNING, "%s", error->text);
            gx__health_failed(slots, slot, NULL, s);
        }
        return s;
    }
    gx_status s = gx__refuse(error, GX_ERR_NO_DEVICE,
                             "device '%s' failed and is not used for a while", slot->name);
    if (gx__health_retry_ns(slot) || atomic_exchange(&c->testing, true))
        return s;
    if (state_of(slot) == GX_HEALTH_GOOD) { /* another thread was faster */
        *engine = gx__slot_enter(slot);
        s = *engine ? GX_OK : s;
    } else {
        s = readmit(slots, slot, engine, error);
    }
    atomic_store(&c->testing, false);
    return s;
}
