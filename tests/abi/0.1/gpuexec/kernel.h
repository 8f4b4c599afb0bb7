/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that the caller defines, with kernels of its own.
 */
#ifndef GPUEXEC_KERNEL_H
#define GPUEXEC_KERNEL_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- kernels of the caller ------------------------------------------------ */

/* An operation that the caller defines, with a kernel for each kind of device that should run it:
 * doc/kernels.md says what a kernel is given and has to do. Jobs with it work like any others. */

/* What the C function of an operation is to compute. The library fills it in; it may grow at the
 * end. Pointers are aligned as the memory of the job is, or to 16 bytes. */
typedef struct gx_kernel_call {
    size_t n;      /* elements */
    const void *a; /* the first element of each; NULL if the operation has no such operand */
    const void *b;
    const void *c;
    size_t a_step; /* bytes from one element to the next; 0: a single element for all n */
    size_t b_step;
    size_t c_step;
    void *out;          /* identical to an operand if the job is in place */
    const void *params; /* gx_kernel_params.params_bytes bytes; NULL: none */
} gx_kernel_call;

/* May be called by several threads at once. It must write all of out, and must not call into the
 * context. */
typedef void (*gx_kernel_fn)(void *user, const gx_kernel_call *call);

/* The kernel chooses its own grid: it runs once for all n elements. Such a job is never cut
 * or split, and out must not overlap an operand. */
#define GX_OP_WHOLE 1u
/* With GX_OP_WHOLE: out is one element, whatever n is. */
#define GX_OP_ONE_RESULT 2u

/* Largest element of a registered operation, and most parameters, in bytes. */
#define GX_OP_ELEMENT_BYTES 4096u
#define GX_OP_PARAMS_BYTES  64u

/* Input. At least one of fn, spirv and wgsl must be set. */
typedef struct gx_kernel_params {
    size_t struct_size; /* sizeof(gx_kernel_params) */
    const char *name;   /* for reports, traces and metrics: up to 47 letters, digits and -_. */
    uint32_t operands;  /* 1: a; 2: a, b; 3: a, b, c */
    uint32_t flags;     /* GX_OP_* */
    uint32_t a_bytes;   /* of one element: multiples of 4; 0 if there is no such operand */
    uint32_t b_bytes;
    uint32_t c_bytes;
    uint32_t out_bytes;
    uint32_t params_bytes; /* of gx_op_params.data: a multiple of 4 */
    uint32_t group_elems;  /* elements of one workgroup of the shaders; 0 with GX_OP_WHOLE */
    gx_kernel_fn fn;       /* for "cpu", and to compare the results of other devices with */
    void *user;            /* for fn */
    const uint32_t *spirv; /* for Vulkan devices */
    size_t spirv_bytes;
    const char *spirv_entry; /* NULL: "main" */
    const char *wgsl;        /* for WebGPU devices */
    const char *wgsl_entry;  /* NULL: "main" */
    const char *ptx;         /* for CUDA devices */
    const char *ptx_entry;   /* NULL: "kernel" */
    uint32_t ptx_block[3];   /* threads of a block in x, y and z; 0: 1 */
    uint32_t reserved;
} gx_kernel_params;

/* gx_job.params of a registered operation. Input. */
typedef struct gx_op_params {
    size_t struct_size; /* sizeof(gx_op_params) */
    const void *data;   /* gx_kernel_params.params_bytes bytes */
    uint32_t groups[3]; /* GX_OP_WHOLE: workgroups in x, y and z; 0: 1 */
    uint32_t reserved;
} gx_op_params;

/* Registers an operation. On success *op is a value for gx_job.op, in this context only; no other
 * operation of the process ever has it. On failure it is 0. The description is copied. SPIR-V, and
 * how deeply WGSL is nested, are checked here as far as doc/kernels.md says; a device compiles a
 * kernel when it is first needed, and one that cannot returns GX_ERR_UNSUPPORTED, or is not chosen.
 * Returns GX_ERR_OUT_OF_MEMORY too if the process has 64 operations registered. Any thread. */
GX_API gx_status gx_op_register(gx_ctx *ctx, const gx_kernel_params *params, gx_op *op);

/* From now on jobs with the operation are invalid; waits until those in progress are done. gx_close
 * unregisters all. Any thread, but neither from fn nor from gx_done_fn. */
GX_API gx_status gx_op_unregister(gx_ctx *ctx, gx_op op);

/* Makes the job of a registered operation. Operands that it does not have are {0}; params may be
 * NULL. Otherwise as gx_ntt: params is borrowed until the job has run, or was submitted. Any
 * thread. */
GX_API gx_job gx_call(gx_op op, size_t n, const gx_op_params *params, gx_operand a, gx_operand b,
                      gx_operand c, gx_operand out);

#ifdef __cplusplus
}
#endif

#endif
