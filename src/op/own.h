/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that callers register: one table for the process, with room for GX_OWN_OPS. The value
 * of such an operation is its place in the table and how often the place was used before, so no
 * two of a process have the same value, tables by operation stay small, and a value finds its entry
 * without a lock. Jobs keep their operations: unregistering waits for them.
 */
#ifndef GX_OP_OWN_H
#define GX_OP_OWN_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/instance.h"
#include "kernel/spirv.h"

#define GX_OWN_OPS 64u /* a power of two */

/* The values: this bit, the number of earlier uses, the place. */
#define GX_OWN_BIT ((gx_op)1 << 30)

static inline bool gx__is_own(gx_op op)
{
    return op >> 30 == 1;
}

static inline size_t gx__own_place(gx_op op)
{
    return op & (GX_OWN_OPS - 1);
}

struct gx_own_op {
    _Atomic gx_op op; /* 0: a free place */
    uint32_t uses;    /* of the place, so far */
    _Atomic uint32_t users;
    atomic_bool ending; /* it takes no more users */
    const struct gx_instance *instance;
    char name[48], spirv_entry[64], wgsl_entry[64], ptx_entry[64];
    gx_op_info info;
    gx_op_desc desc; /* with our copies of everything it points to, except `user` */
    struct gx_spirv spirv;
};

extern struct gx_own_op gx__own_ops[GX_OWN_OPS];

/* The entry of a value; NULL: it is not registered. Its contents are constant for users. */
static inline const struct gx_own_op *gx__own(gx_op op)
{
    if (!gx__is_own(op))
        return NULL;
    const struct gx_own_op *own = &gx__own_ops[gx__own_place(op)];
    return atomic_load_explicit(&own->op, memory_order_acquire) == op ? own : NULL;
}

/* For gx_op_register and gx_op_unregister. On failure message says why. */
gx_status gx__own_register(struct gx_instance *instance, const gx_op_desc *desc, gx_op *op,
                           char *message, size_t message_size);
/* Ends the operation for new users and waits for the others. False: the context has no such
 * operation. Then what the context keeps about it can be dropped, and gx__own_free makes room for
 * another one. */
bool gx__own_end(const struct gx_instance *instance, gx_op op);
void gx__own_free(gx_op op);
/* Frees all of a context, which has no more jobs. */
void gx__own_close(const struct gx_instance *instance);

/* Adds a user of the operation; false: it is not registered in this context. */
bool gx__own_enter(const struct gx_instance *instance, gx_op op);
void gx__own_leave(gx_op op);
/* Leaves the registered ones among the operations of so many jobs. */
void gx__own_leave_all(const gx_job *jobs, size_t count);

/* Calls fn for elements from .. from + n of these operands, in the order of enum gx_bind. params:
 * the caller's data. */
void gx__own_run(const struct gx_own_op *own, void *const operand[4], uint32_t broadcast,
                 const void *params, size_t from, size_t n);

/* The caller's parameters; false, with a message, if they are invalid. */
bool gx__own_params(const struct gx_own_op *own, const gx_job *job, gx_op_params *params,
                    char *message, size_t message_size);

#endif
