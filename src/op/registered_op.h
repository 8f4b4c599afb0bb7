/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that callers register: one table for the process, with room for GX_REGISTERED_OPS. The
 * value of such an operation is its place in the table and how often the place was used before, so
 * no two of a process have the same value, tables by operation stay small, and a value finds its
 * entry without a lock. Jobs keep their operations: unregistering waits for them.
 */
#ifndef GX_OP_REGISTERED_OP_H
#define GX_OP_REGISTERED_OP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/instance.h"

#define GX_REGISTERED_OPS 64u /* a power of two */

/* Push constants of a kernel of the caller, before its parameters (doc/kernels.md), all uint: n,
 * out a b c in units of 4 bytes, and the steps of a, b and c in the same unit. */
#define GX_REGISTERED_PUSH_WORDS 8

/* The values: this bit, the number of earlier uses, the place. */
#define GX_REGISTERED_BIT ((gx_op)1 << 30)

static inline bool gx__is_registered_op(gx_op op)
{
    return op >> 30 == 1;
}

static inline size_t gx__registered_op_place(gx_op op)
{
    return op & (GX_REGISTERED_OPS - 1);
}

/* ---- the caller's code, before a driver sees it ---- */

/* What a device must offer to run a SPIR-V module. */
struct gx_spirv {
    uint32_t local[3]; /* workgroup */
    bool int64;
    uint32_t subgroup; /* VkSubgroupFeatureFlags */
};

/* False, with a message, if the module is not a kernel with this entry point, storage buffers
 * 0 .. bindings - 1 and push constants of at most push_bytes. Its structure and its interface are
 * checked, but not its code. */
bool gx__spirv_check(const uint32_t *code, size_t bytes, const char *entry, uint32_t bindings,
                     uint32_t push_bytes, struct gx_spirv *spirv, struct gx_error *error);

/* How deeply a WGSL text may be nested: wgpu reads it recursively, and ends the process where the
 * stack does. Each of the limits, which doc/kernels.md lists, needs less than 1 MiB of stack.
 * Measured with wgpu-native on x86-64 and a stack of 8 MiB, the process ended at 4096 brackets,
 * 8192 else, 16384 operators and 32768 declarations. */
enum {
    GX_WGSL_BRACKETS = 128,     /* of all kinds, <> of templates included, around a place */
    GX_WGSL_OPERATORS = 1024,   /* on the way to a place in an expression; a bracket counts as 8 */
    GX_WGSL_ELSES = 512,        /* in a function */
    GX_WGSL_DECLARATIONS = 2048 /* of the module: each may refer to the next */
};

/* False, with a message, if the text is beyond one of them. Whether it is WGSL is not checked. */
bool gx__wgsl_check(const char *text, struct gx_error *error);

/* ---- the operations ---- */

/* An operation as its caller describes it: members as in gx_kernel_params. */
struct gx_kernel_desc {
    const char *name;
    uint32_t operands, flags;
    uint32_t a_bytes, b_bytes, c_bytes, out_bytes;
    uint32_t params_bytes, group_elems;
    gx_kernel_fn fn;
    void *user;
    const uint32_t *spirv;
    size_t spirv_bytes;
    const char *spirv_entry, *wgsl, *wgsl_entry, *ptx, *ptx_entry;
    uint32_t ptx_block[3];
};

struct gx_registered_op {
    _Atomic gx_op op; /* 0: a free place */
    uint32_t uses;    /* of the place, so far */
    _Atomic uint32_t users;
    atomic_bool ending; /* it takes no more users */
    const struct gx_instance *instance;
    char name[48], spirv_entry[64], wgsl_entry[64], ptx_entry[64];
    gx_op_info info;
    struct gx_kernel_desc desc; /* with our copies of everything it points to, except `user` */
    struct gx_spirv spirv;
};

extern struct gx_registered_op gx__registered_ops[GX_REGISTERED_OPS];

/* The entry of a value; NULL: it is not registered. Its contents are constant for users. */
static inline const struct gx_registered_op *gx__registered_op(gx_op op)
{
    if (!gx__is_registered_op(op))
        return NULL;
    const struct gx_registered_op *entry = &gx__registered_ops[gx__registered_op_place(op)];
    return atomic_load_explicit(&entry->op, memory_order_acquire) == op ? entry : NULL;
}

/* For gx_op_register and gx_op_unregister. On failure message says why. */
gx_status gx__registered_op_add(struct gx_instance *instance, const struct gx_kernel_desc *desc,
                                gx_op *op, struct gx_error *error);
/* Refuses new users of the operation and waits for the others. False: the context has no such
 * operation. Afterwards the context drops what it keeps about the operation, and calls
 * gx__registered_op_free. */
bool gx__registered_op_end(const struct gx_instance *instance, gx_op op);
void gx__registered_op_free(gx_op op);
/* Frees all of a context, which has no more jobs. */
void gx__registered_op_close(const struct gx_instance *instance);

/* Adds a user of the operation; false: it is not registered in this context. */
bool gx__registered_op_enter(const struct gx_instance *instance, gx_op op);
void gx__registered_op_leave(gx_op op);
/* Calls fn for elements from .. from + n of these operands, in the order of enum gx_bind. params:
 * the caller's data. */
void gx__registered_op_run(const struct gx_registered_op *entry, void *const operand[4],
                           uint32_t broadcast, const void *params, size_t from, size_t n);

#endif
