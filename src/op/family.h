/* SPDX-License-Identifier: Apache-2.0
 *
 * The families of GPU kernels, which the rows of operations and the passes of a GPU name. In a file
 * of its own, below the kernels, because an operation knows its family but nothing else of a GPU.
 */
#ifndef GX_OP_FAMILY_H
#define GX_OP_FAMILY_H

/* What a module of kernels does; specialization constant GX_K_OP selects its operation. Families of
 * several passes are planned in device/gpu/passes.c and the files beside it. */
enum gx_shader_family {
    GX_SHADER_LINEAR,    /* prime: add, sub, neg, check */
    GX_SHADER_MUL,       /* prime: mul, sqr, mul-add, to-mont, from-mont */
    GX_SHADER_INVERT_UP, /* prime: passes of inv and div */
    GX_SHADER_INVERT_TOP,
    GX_SHADER_INVERT_DOWN,
    GX_SHADER_SUM, /* prime: sum, and the joining of partial results */
    GX_SHADER_DOT,
    GX_SHADER_NTT,       /* prime: a pass of a transform */
    GX_SHADER_NTT_SMALL, /* the same, of small transforms; only in CUDA */
    GX_SHADER_NTT_TABLE,
    GX_SHADER_SCAN, /* prime: prefix-sum, prefix-product, divide-linear, evaluate, powers, cosets */
    GX_SHADER_PERMUTE,  /* prime: bit-reverse, gather, rotate, interleave, deinterleave */
    GX_SHADER_MSM_SORT, /* prime: passes of multi-scalar multiplications */
    GX_SHADER_MSM_ADD,
    GX_SHADER_MSM_SUM,
    GX_SHADER_MSM_ADD_2, /* the same with coordinates in the quadratic extension */
    GX_SHADER_MSM_SUM_2,
    GX_SHADER_WORDS, /* u32 or f32: add, sub, mul */
    GX_SHADER_COPY,  /* field 0: 16 bytes per element */
    GX_SHADER_ROOF,  /* field 0: 32 x 32 + 64 multiply-adds */
    GX_SHADER_FAMILIES,
    GX_SHADER_NONE = GX_SHADER_FAMILIES /* no module of ours: registered operations, and GX_MSM, for
                                           which GPUs run GX_OP_MSM_SUMS */
};

/* Levels of a transform in one pass on a GPU, at most: with more, numbers would outgrow the limbs
 * of kernel/lazy64.glsl. Here because the work of a job is estimated by it. */
#define GX_NTT_LEVELS_MAX 11u

#endif
