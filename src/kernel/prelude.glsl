/* SPDX-License-Identifier: Apache-2.0
 *
 * What kernels that are written for more than one language (ntt.glsl, msm_*.glsl) use of this one:
 * types, shared memory, bindings and arithmetic. Another language has another prelude.
 */
#include "prime.glsl"
#if INT64
#include "mul64.glsl"
#else
#include "mul32.glsl"
#endif

#define u32      uint
#define FUNCTION
#define UNROLL   [[unroll]]
#define LOOP     [[dont_unroll]]
#define INOUT(T) inout T

#define GROUP_SIZE  gl_WorkGroupSize.x
#define GROUP_INDEX (first_index() / gl_WorkGroupSize.x)
#define LOCAL_INDEX gl_LocalInvocationID.x
#define BARRIER()   barrier()

#define ATOMIC_ADD(x, y) atomicAdd(x, y)
#define ATOMIC_OR(x, y)  atomicOr(x, y)

#define HIGHEST_BIT(x)  uint(findMSB(x)) /* of x != 0: its number */
#define REVERSE_BITS(x) bitfieldReverse(x)
#define COUNT_BITS(x)   uint(bitCount(x))

#define ELEMENTS   push.n
#define STAGE(i)   push.stage[i]
/* Known when the kernel is compiled: */
#define COSET      (OP == GX_OP_NTT_COSET || OP == GX_OP_NTT_BACK_COSET)
#define BACK       (OP == GX_OP_NTT_BACK || OP == GX_OP_NTT_BACK_COSET)

Element load_element(u32 i) { return load_a(i); }
Element load_table(u32 i) { return load_b(i); }
void store_element(u32 i, Element x) { STORE(mem_out, push.at_out, i, x); }
