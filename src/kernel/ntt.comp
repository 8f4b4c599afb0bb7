/* SPDX-License-Identifier: Apache-2.0
 *
 * A pass of a number-theoretic transform. Built with INT64 = 1 or 0.
 */
#include "product.glsl"

/* Known when the kernel is compiled: */
#define COSET (OP == GX_OP_NTT_COSET || OP == GX_OP_NTT_BACK_COSET)
#define BACK  (OP == GX_OP_NTT_BACK || OP == GX_OP_NTT_BACK_COSET)

FUNCTION Element load_element(u32 i) { return load_a(i); }
FUNCTION Element load_table(u32 i) { return load_b(i); }
FUNCTION void store_element(u32 i, Element x) { STORE(mem_out, AT_OUT, i, x); }

#ifdef __CUDA__
#include "lazy_ptx.cuh"
#elif INT64
#include "lazy64.glsl"
#else
#include "lazy32.glsl"
#endif

#ifdef __CUDA__
SHARED Quad exchanged[QUADS * EACH * GROUP_SIZE];
#else
SHARED u32 exchanged[GX_K_NTT_PLANES * EACH * GROUP_SIZE];
#endif

#include "ntt.glsl"

KERNEL { transform(); }
