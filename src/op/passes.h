/* SPDX-License-Identifier: Apache-2.0
 *
 * A GPU operation as a list of passes: which kernel, over how many invocations, with which
 * bindings. The planner is a pure function of the operation's key, the number of elements and a few
 * device properties. Vulkan, CUDA and WebGPU launch the list; sim derives its simulated time from
 * the same list.
 */
#ifndef GX_OP_PASSES_H
#define GX_OP_PASSES_H

#include <stdbool.h>

#include "kernel/shaders.h"
#include "op/op.h"

enum gx_bind {
    GX_BIND_OUT, /* may be identical to an operand */
    GX_BIND_A,
    GX_BIND_B,
    GX_BIND_C,
    GX_BIND_SCRATCH, /* as large as `scratch` says; contents undefined before and after; aligned to
                        GX_SLOT_ALIGN, like the two below */
    GX_BIND_BAD, /* if key.check: one uint32_t, lowered to the index (in this dispatch) of the first
                    element not below the modulus */
    GX_BIND_TABLE, /* constants that stay on the device between calls; read-only */
    GX_BINDINGS
};

/* Identifies a kernel. Words only, so that there is no padding: recorded commands that contain a
 * key are compared bytewise. */
struct gx_kernel_key {
    uint32_t op;         /* gx_op, or one of GX_OP_CHECK and those after it */
    uint32_t field;      /* gx_field */
    uint32_t broadcast;  /* GX_BROADCAST_*: the binding holds one element, not n */
    uint32_t check;      /* 1: look for elements not below the modulus, see GX_BIND_BAD */
    uint32_t accumulate; /* 1, reductions: add the result to what OUT holds */
    uint32_t repeat; /* benchmarks: out = a * b * b ... (sqr: repeated squaring), this many times
                        per load; 0: once; may be unsupported */
    uint32_t param[GX_PARAMS]; /* derived from gx_job.params: gx__op_params */
};
_Static_assert(sizeof(struct gx_kernel_key) == (6 + GX_PARAMS) * sizeof(uint32_t), "no padding");

/* What a pass binds for OUT, A, B and C. */
struct gx_slot {
    enum gx_bind from; /* binding of the dispatch to use here */
    uint32_t quads;    /* offset of element 0 from its start, in units of 16 bytes */
    uint64_t touched;  /* elements that the pass reads or writes there, for the timing model */
};

/* One launch; passes are separated by barriers. Each module uses the slots that its family needs
 * (see the .comp files); the others may hold anything valid. SCRATCH always holds all of
 * GX_BIND_SCRATCH. */
struct gx_pass {
    enum gx_shader_family family;
    gx_op op;   /* GX_K_OP */
    bool check; /* it reads the caller's operands: GX_K_CHECK if requested */
    uint64_t invocations;
    struct gx_slot out, a, b, c;
    uint32_t n; /* these three are passed as push constants */
    uint32_t broadcast;
    uint32_t stage[3];
    uint64_t scratch;  /* elements of SCRATCH it touches besides the slots */
    uint64_t products; /* of the field */
};

#define GX_PASSES_MAX 128

struct gx_passes {
    uint32_t count;
    struct gx_pass pass[GX_PASSES_MAX];
    uint64_t scratch_quads; /* size of GX_BIND_SCRATCH in units of 16 bytes */
};

/* Device properties that the planner needs. */
struct gx_pass_facts {
    uint32_t each;      /* elements per invocation of the elementwise kernel */
    uint32_t small;     /* the same of GX_SHADER_NTT_SMALL, for transforms; 0: there is none */
    uint32_t workgroup; /* invocations; of reductions */
    uint32_t direct;    /* for inversions: how many are inverted individually rather than combined
                           further; GX_INVERSE_DIRECT_* suit GPUs */
    uint32_t inverse;   /* cost of one of these in products; only for the timing model */
};

/* One inversion in invert_top.comp takes about 40 products with 64-bit integers, and about 600
 * without them (a power); but a level costs two dispatches and their latency. */
#define GX_INVERSE_DIRECT_INT64 32768u
#define GX_INVERSE_DIRECT_INT32 1024u

/* The passes of a dispatch of n elements, n <= 2^29, for a key that exists; n is 0 only for
 * reductions. */
void gx__passes(const struct gx_kernel_key *key, uint64_t n, const struct gx_pass_facts *facts,
                struct gx_passes *passes);

/* The same for GX_NTT only: passes_ntt.c. *passes is empty. */
void gx__plan_ntt(const struct gx_kernel_key *key, uint64_t n, const struct gx_pass_facts *facts,
                  struct gx_passes *passes);

/* The same for operations on polynomials: passes_poly.c. */
void gx__plan_poly(const struct gx_kernel_key *key, uint64_t n, struct gx_passes *passes);

/* The same for GX_OP_MSM_SUMS: passes_msm.c. */
void gx__plan_msm(const struct gx_kernel_key *key, uint64_t n, const struct gx_pass_facts *facts,
                  struct gx_passes *passes);

#endif
