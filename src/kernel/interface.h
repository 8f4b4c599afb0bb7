/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface between host code and shaders. Included by C and by GLSL: only #define.
 */
#ifndef GX_KERNEL_INTERFACE_H
#define GX_KERNEL_INTERFACE_H

/* Descriptor set 0, storage buffers; the order of enum gx_bind. A module declares all of its
 * bindings whatever OP and CHECK are: one that the operation does not use must still hold a
 * valid buffer, which is not accessed. */
#define GX_K_OUT     0
#define GX_K_A       1
#define GX_K_B       2
#define GX_K_C       3
#define GX_K_SCRATCH 4
#define GX_K_BAD     5
#define GX_K_TABLE   6

/* Specialization constants. */
#define GX_K_WORKGROUP 0 /* local_size_x */
#define GX_K_OP        1 /* enum gx_op, or GX_OP_CHECK */
#define GX_K_CHECK     2 /* 1: lower BAD to the first element not below p */
#define GX_K_REPEAT    3 /* benchmarks only: repeat the operation this many times per load */

/* Push constants, all uint, in this order:
 *   n           elements of this dispatch
 *   out a b c   where element 0 lies in its binding: in units of 16 bytes for prime
 *               fields, of 4 bytes for u32 and f32
 *   broadcast   GX_BROADCAST_* bits
 *   stage[3]    for operations of several passes (device/gpu/passes.c)
 *
 * A dispatch is x * y workgroups of which the first ceil(n / (WORKGROUP * EACH)), counted
 * along x first, have work: y is for devices that allow few in x. EACH is how many elements
 * an invocation of that module takes (gx_shader.each). n is at most 2^29, so that
 * with bindings below 8 GiB no index (3 * n + offset, in 16 bytes) passes 2^32. */
#define GX_K_PUSH_WORDS 9

/* Kernels that callers register have the same bindings from GX_K_OUT to GX_K_C, but other push
 * constants: op/registered_op.h says how many words there are before the parameters, and
 * doc/kernels.md what they hold. */

/* ntt.glsl: powers of a shift are in two tables, one of this many low bits of the exponent. */
#define GX_K_NTT_LOW_BITS 12
/* Words of an element that a tile has in shared memory at once: 12 KiB with 1024 elements. */
#define GX_K_NTT_PLANES 3
/* Where stage[0] holds what (gpu/passes_ntt.c), log2_n first: 5 bits each, flags in the rest. */
#define GX_K_NTT_FIRST  5
#define GX_K_NTT_LEVELS 10
#define GX_K_NTT_PAD    15
#define GX_K_NTT_FLAGS  20
/* The flags of the job: GX_NTT_*, which have the same values. */
#define GX_K_NTT_INVERSE      1u
#define GX_K_NTT_COSET        2u
#define GX_K_NTT_REVERSED_IN  4u
#define GX_K_NTT_REVERSED_OUT 8u
#define GX_K_NTT_COLUMNS      16u
/* The flags of the pass: */
#define GX_K_NTT_OPERAND 32u  /* it is the first: reads the caller's elements */
#define GX_K_NTT_RESULT  64u  /* it is the last */
#define GX_K_NTT_SPREAD  128u /* a tile has lines that are far from each other */

/* scan.comp: where stage[0] holds what, the elements of a run first (gpu/passes_poly.c). */
#define GX_K_SCAN_SQUARINGS 8        /* of the point; 8 bits, and the rest are flags */
#define GX_K_SCAN_DOWN      0x10000u /* writes all elements, not what a run adds up to */
#define GX_K_SCAN_CARRY     0x20000u /* a run begins with element t of C, not with nothing */
#define GX_K_SCAN_CALLER    0x40000u /* A or OUT are the caller's */
#define GX_K_SCAN_OPERAND   0x80000u /* the first pass that reads them, which checks */

/* msm_*.glsl (gpu/passes_msm.c says which pass does what): at most how many bits of a key one round
 * of the sort is for; and the entries of a tile, in workgroups. */
#define GX_K_MSM_RADIX_BITS 8
#define GX_K_MSM_ROUNDS     32
/* Where stage[0] of the sort holds what, the bits of a window first. stage[1] has the bits of a
 * scalar and what follows, or the bits of the key that this round is for; stage[2] the quads of a
 * coordinate, or how far up in the key those bits are. */
#define GX_K_MSM_WINDOWS 8  /* of the pass; 8 bits, like all of these */
#define GX_K_MSM_FIRST   16 /* window */
#define GX_K_MSM_STRIDE  24 /* of the digits' points in B */
#define GX_K_MSM_ROWS    16 /* in stage[1]: all windows */
#define GX_K_MSM_PARTS   24 /* in stage[1]: digits of a scalar in each window */
/* stage[2] of the sums in slices: entries of one, windows, bits of a window. That of joins: log2 of
 * how far apart the nodes are in place of the first, and the flag. */
#define GX_K_MSM_BITS 16
#define GX_K_MSM_LAST 0x1000000u
/* stage[0] of other sums: bits of a window, windows, log2 of the invocations of one sum, and: */
#define GX_K_MSM_GRID  0x0000000u
#define GX_K_MSM_PLANE 0x1000000u
#define GX_K_MSM_TOTAL 0x2000000u
#define GX_K_MSM_KIND  0x3000000u
/* no sum, but a multiple of one point: 2^stage[1] times; stage[2] is from one to the next */
#define GX_K_MSM_MULTIPLE 0x3000000u
#define GX_K_MSM_AFFINE   0x4000000u /* flag: those in A are affine, and neighbours */

/* roof.comp: independent sums, additions to each per iteration, iterations; and the multiply-adds
 * of one invocation. */
#define GX_K_ROOF_CHAINS 16
#define GX_K_ROOF_STEPS  8 /* at most the sums */
#define GX_K_ROOF_ROUNDS 128
/* Factor of sum k: chosen so that it cannot be derived from a neighbour's product. */
#define GX_K_ROOF_FACTOR(k) (0x9e3779b9u * (2u * (k) + 1u) >> 2)
#define GX_K_ROOF_MASK      0x3fffffff /* of the other factor, which is a limb */
#define GX_K_ROOF_EACH      (GX_K_ROOF_CHAINS * GX_K_ROOF_STEPS * GX_K_ROOF_ROUNDS)

#endif
