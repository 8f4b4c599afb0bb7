/* SPDX-License-Identifier: Apache-2.0
 *
 * A GPU operation as a list of passes: which kernel, over how many invocations, with which
 * bindings. The planner is a pure function of the operation's key, the number of elements and a few
 * device properties. Vulkan, CUDA and WebGPU launch the list; sim derives its simulated time from
 * the same list.
 */
#ifndef GX_DEVICE_GPU_PASSES_H
#define GX_DEVICE_GPU_PASSES_H

#include "device/device.h"
#include "kernel/interface.h"

/* What a pass binds for OUT, A, B and C. */
struct gx_pass_bind {
    enum gx_bind from; /* binding of the dispatch to use here */
    uint32_t quads;    /* offset of element 0 from its start, in units of 16 bytes */
    uint64_t touched;  /* elements that the pass reads or writes there, for the timing model */
};

/* One launch; passes are separated by barriers. Each module uses the bindings that its family needs
 * (see the .comp files); the others may hold anything valid. SCRATCH always holds all of
 * GX_BIND_SCRATCH. */
struct gx_pass {
    enum gx_shader_family family;
    gx_op op;   /* GX_K_OP */
    bool check; /* it reads the caller's operands: GX_K_CHECK if requested */
    uint64_t invocations;
    struct gx_pass_bind out, a, b, c;
    uint32_t n; /* these three are passed as push constants */
    uint32_t broadcast;
    uint32_t stage[3];
    uint64_t scratch;  /* elements of SCRATCH it touches besides these */
    uint64_t products; /* of the field */
};

static inline struct gx_binding gx__pass_binding(const struct gx_dispatch *dispatch,
                                                 const struct gx_pass_bind *bind)
{
    struct gx_binding b = dispatch->bind[bind->from];
    b.offset += (size_t)bind->quads * 16;
    return b;
}

/* Bindings of one pass of a dispatch. */
static inline void gx__pass_bind(const struct gx_dispatch *dispatch, const struct gx_pass *pass,
                                 struct gx_binding bind[GX_BINDINGS])
{
    bind[GX_BIND_OUT] = gx__pass_binding(dispatch, &pass->out);
    bind[GX_BIND_A] = gx__pass_binding(dispatch, &pass->a);
    bind[GX_BIND_B] = gx__pass_binding(dispatch, &pass->b);
    bind[GX_BIND_C] = gx__pass_binding(dispatch, &pass->c);
    for (int i = GX_BIND_SCRATCH; i < GX_BINDINGS; i++)
        bind[i] = dispatch->bind[i];
}

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
