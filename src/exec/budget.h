/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that an engine may take from its device: whoever is about to allocate
 * reserves first, and waits for its turn where others under way hold it. So what two
 * calls need together never fails where each alone would fit.
 */
#ifndef GX_EXEC_BUDGET_H
#define GX_EXEC_BUDGET_H

#include <pthread.h>

#include "device/device.h"

struct gx_budget {
    size_t limit; /* SIZE_MAX: none */
    struct gx_counters *counters;
    pthread_mutex_t lock;
    pthread_cond_t freed;
    uint64_t next_ticket, serving; /* first come, first served */
    size_t reserved;               /* by those under way */
    _Atomic size_t kept;           /* of that, by buffers: until they are destroyed */
    size_t held;                   /* allocated, used or idle */
};

void gx__budget_init(struct gx_budget *budget, size_t limit, struct gx_counters *counters);
void gx__budget_close(struct gx_budget *budget);

/* What there is for work: all but what buffers keep. */
size_t gx__budget_room(struct gx_budget *budget);

/* Waits until `bytes` are free; who waits must hold no reservation but a buffer's. Fails
 * with GX_ERR_OUT_OF_DEVICE_MEMORY where waiting would not help. keep: for a buffer. */
gx_status gx__budget_reserve(struct gx_budget *budget, size_t bytes, bool keep);
void gx__budget_release(struct gx_budget *budget, size_t bytes, bool keep);

/* Whether someone waits: who could release should. */
bool gx__budget_waited_for(struct gx_budget *budget);

/* What is really allocated; false where it would be too much. Reserved memory always fits,
 * once idle memory is freed. */
bool gx__budget_take(struct gx_budget *budget, size_t bytes);
void gx__budget_give(struct gx_budget *budget, size_t bytes);

#endif
