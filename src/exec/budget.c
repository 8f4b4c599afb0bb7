/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations and their queue; what is held is counted beside, since memory stays
 * allocated after the work that reserved it.
 */
#include "exec/budget.h"

void gx__budget_init(struct gx_budget *budget, size_t limit, struct gx_counters *counters)
{
    *budget = (struct gx_budget){.limit = limit ? limit : SIZE_MAX, .counters = counters};
    pthread_mutex_init(&budget->lock, NULL);
    pthread_cond_init(&budget->freed, NULL);
}

void gx__budget_close(struct gx_budget *budget)
{
    pthread_cond_destroy(&budget->freed);
    pthread_mutex_destroy(&budget->lock);
}

size_t gx__budget_room(struct gx_budget *budget)
{
    return budget->limit == SIZE_MAX
               ? SIZE_MAX
               : budget->limit - atomic_load_explicit(&budget->kept, memory_order_relaxed);
}

/* Under the lock. */
static void wake(struct gx_budget *budget)
{
    if (budget->serving != budget->next_ticket)
        pthread_cond_broadcast(&budget->freed);
}

gx_status gx__budget_reserve(struct gx_budget *budget, size_t bytes, bool keep)
{
    if (!bytes || budget->limit == SIZE_MAX)
        return GX_OK;
    pthread_mutex_lock(&budget->lock);
    uint64_t ticket = budget->next_ticket++;
    bool fits = true;
    while (budget->serving != ticket || budget->limit - budget->reserved < bytes) {
        fits = bytes <= budget->limit - budget->kept;
        if (budget->serving == ticket && !fits)
            break;
        pthread_cond_wait(&budget->freed, &budget->lock);
    }
    if (fits) {
        budget->reserved += bytes;
        budget->kept += keep ? bytes : 0;
    }
    budget->serving++;
    wake(budget); /* the next in line may fit too */
    pthread_mutex_unlock(&budget->lock);
    return fits ? GX_OK : GX_ERR_OUT_OF_DEVICE_MEMORY;
}

void gx__budget_release(struct gx_budget *budget, size_t bytes, bool keep)
{
    if (!bytes || budget->limit == SIZE_MAX)
        return;
    pthread_mutex_lock(&budget->lock);
    budget->reserved -= bytes;
    budget->kept -= keep ? bytes : 0;
    wake(budget);
    pthread_mutex_unlock(&budget->lock);
}

bool gx__budget_waited_for(struct gx_budget *budget)
{
    if (budget->limit == SIZE_MAX)
        return false;
    pthread_mutex_lock(&budget->lock);
    bool waited = budget->serving != budget->next_ticket;
    pthread_mutex_unlock(&budget->lock);
    return waited;
}

static void note_peak(_Atomic uint64_t *peak, uint64_t held)
{
    uint64_t known = atomic_load_explicit(peak, memory_order_relaxed);
    while (known < held && !atomic_compare_exchange_weak_explicit(
                               peak, &known, held, memory_order_relaxed, memory_order_relaxed))
        ;
}

bool gx__budget_take(struct gx_budget *budget, size_t bytes)
{
    pthread_mutex_lock(&budget->lock);
    bool fits = bytes <= budget->limit - budget->held;
    budget->held += fits ? bytes : 0;
    size_t held = budget->held;
    pthread_mutex_unlock(&budget->lock);
    if (!fits)
        return false;
    gx__count(&budget->counters->device_bytes, bytes);
    note_peak(&budget->counters->device_bytes_peak, held);
    return true;
}

void gx__budget_give(struct gx_budget *budget, size_t bytes)
{
    pthread_mutex_lock(&budget->lock);
    budget->held -= bytes;
    pthread_mutex_unlock(&budget->lock);
    gx__count(&budget->counters->device_bytes, (uint64_t)0 - bytes);
}
