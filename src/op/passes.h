/* SPDX-License-Identifier: Apache-2.0
 *
 * A GPU operation as a list of passes: which kernel, over how many invocations, bound to what.
 * The planner is a pure function of the operation's key, the number of elements and a few facts
 * of the device. Vulkan and WebGPU launch the list; sim derives its modelled time from the same
 * list.
 */
#ifndef GX_OP_PASSES_H
#define GX_OP_PASSES_H

#include <stdbool.h>

#include "kernel/shaders.h"
#include "op/op.h"

enum gx_bind {
    GX_BIND_OUT, /* may be exactly an operand */
    GX_BIND_A,
    GX_BIND_B,
    GX_BIND_C,
    GX_BIND_SCRATCH, /* as much as `scratch` says; contents of no meaning before, after;
                        at a multiple of GX_SLOT_ALIGN, as are the two below */
    GX_BIND_BAD,     /* where key.check: one uint32_t, lowered to the index (in this
                        dispatch) of the first element not below the modulus */
    GX_BIND_TABLE,   /* constants that live on the device from call to call; read only */
    GX_BINDINGS
};

/* What tells kernels apart. Words only, so that a key has no padding: commands that hold one are
 * compared byte by byte. */
struct gx_kernel_key {
    uint32_t op;         /* gx_op, or one of GX_OP_CHECK and those after it */
    uint32_t field;      /* gx_field */
    uint32_t broadcast;  /* GX_BROADCAST_*: the binding holds one element, not n */
    uint32_t check;      /* 1: look for elements not below the modulus, see GX_BIND_BAD */
    uint32_t accumulate; /* 1, reductions: add the result to what OUT holds */
    uint32_t repeat;     /* benchmarks: out = a * b * b ... (sqr: a squared again and again), this
                            many times per load; 0: once; may be unsupported */
    uint32_t param[GX_PARAMS]; /* what the operation makes of gx_job.params, see gx__op_key */
};
_Static_assert(sizeof(struct gx_kernel_key) == (6 + GX_PARAMS) * sizeof(uint32_t), "no padding");

/* What a pass binds in place of OUT, A, B and C. */
struct gx_slot {
    enum gx_bind from; /* the binding of the dispatch that goes here */
    uint32_t quads;    /* and, from its start, where element 0 lies: units of 16 bytes */
    uint64_t touched;  /* elements the pass reads or writes there, for the model of time */
};

/* One launch; a barrier between kernels goes between passes. Each module uses the slots its family
 * needs (comments in the .comp); the others may hold anything valid. SCRATCH always holds all of
 * GX_BIND_SCRATCH. */
struct gx_pass {
    enum gx_shader_family family;
    gx_op op;   /* GX_K_OP */
    bool check; /* it reads the caller's operands: GX_K_CHECK if asked for */
    uint64_t invocations;
    struct gx_slot out, a, b, c;
    uint32_t n; /* these three are push constants as they are */
    uint32_t broadcast;
    uint32_t stage[3];
    uint64_t scratch;  /* elements of SCRATCH it touches beside the slots */
    uint64_t products; /* of the field */
};

#define GX_PASSES_MAX 15

struct gx_passes {
    uint32_t count;
    struct gx_pass pass[GX_PASSES_MAX];
    uint64_t scratch_quads; /* 16 * this: the bytes of GX_BIND_SCRATCH */
};

/* What the planner has to know of a device. */
struct gx_pass_facts {
    uint32_t each;      /* elements per invocation of the elementwise kernel */
    uint32_t workgroup; /* invocations; of reductions */
    uint32_t direct;    /* of inversions: how many are inverted one by one rather than combined
                           further; GX_INVERSE_DIRECT_* suit GPUs */
    uint32_t inverse;   /* products that one of these costs; only the model of time asks */
};

/* One inversion of invert_top.comp with 64-bit integers takes as long as some 40 products, one
 * without (a power) as long as 600, but a level costs two dispatches and their latency. */
#define GX_INVERSE_DIRECT_INT64 32768u
#define GX_INVERSE_DIRECT_INT32 1024u

/* The passes of a dispatch of n elements, n <= 2^29, of a key that exists; n is 0 only of
 * reductions. */
void gx__passes(const struct gx_kernel_key *key, uint64_t n, const struct gx_pass_facts *facts,
                struct gx_passes *passes);

#endif
