/* SPDX-License-Identifier: Apache-2.0
 *
 * What kernels use of GLSL. Each of these words is in prelude.cuh too, so that the same source is
 * compiled as CUDA.
 */
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = GX_K_WORKGROUP) in;
layout(constant_id = GX_K_OP) const uint OP = 0;
layout(constant_id = GX_K_CHECK) const uint CHECK = 0;
layout(constant_id = GX_K_REPEAT) const uint REPEAT = 1;

layout(push_constant) uniform Push {
    uint n;
    uint at_out, at_a, at_b, at_c;
    uint broadcast;
    uint stage[3];
} push;

#define ELEMENTS  push.n
#define AT_OUT    push.at_out
#define AT_A      push.at_a
#define AT_B      push.at_b
#define AT_C      push.at_c
#define BROADCAST push.broadcast
#define STAGE(i)  push.stage[i]

/* ---- types and functions ---- */

#define u32            uint
#define Pair           uvec2
#define Quad           uvec4
#define PAIR(x, y)     uvec2(x, y)
#define QUAD(x, y, z, w) uvec4(x, y, z, w)
#define ELEMENT(words) Element(words) /* from an array of constants */
#define STRUCT_OF_4(T, a, b, c, d) T(a, b, c, d)

#define FUNCTION
#define CALLED_FUNCTION /* called, not copied, where that keeps modules short */
#define KERNEL         void main()
#define SHARED         shared
#define CONSTANT       const
#define UNROLL         [[unroll]]
#define LOOP           [[dont_unroll]]
#define INOUT(T)       inout T
#define INOUT_ARRAY(T) inout T
#define OUT(T)         out T
#define OUT_ARRAY(T)   out T

/* The list of a constant array of u32. */
#define BEGIN_LIST u32[](
#define END_LIST   )
#define LENGTH(list) list.length()

/* ---- memory ---- */

/* What is bound to a slot, as an array `member` of T. A kernel may have several views of one. */
#define BUFFER(access, Block, slot, T, member, name)                                             \
    layout(std430, binding = slot) access buffer Block { T member[]; } name
#define BUFFER_OF_ONE(Block, slot, T, member, name)                                               \
    layout(std430, binding = slot) buffer Block { T member; } name
#define READ_WRITE /* the access that has no word in GLSL */

/* ---- invocations ---- */

#define GROUP_SIZE  gl_WorkGroupSize.x
#define GROUP_X     gl_WorkGroupID.x
#define GROUP_Y     gl_WorkGroupID.y
#define GROUPS_X    gl_NumWorkGroups.x
#define GROUP_INDEX (first_index() / gl_WorkGroupSize.x)
#define LOCAL_INDEX gl_LocalInvocationID.x
#define BARRIER()   barrier()
/* All invocations of the workgroup see what each of them wrote to buffers. */
#define MEMORY_BARRIER()                                                                           \
    memoryBarrierBuffer();                                                                         \
    barrier()

#define ATOMIC_ADD(x, y) atomicAdd(x, y)
#define ATOMIC_OR(x, y)  atomicOr(x, y)
#define ATOMIC_MIN(x, y) atomicMin(x, y)

/* ---- words ---- */

#define HIGHEST_BIT(x)  uint(findMSB(x)) /* of x != 0: its number */
#define HIGHEST_BIT_OF_ANY(x) findMSB(x) /* -1 of 0 */
#define REVERSE_BITS(x) bitfieldReverse(x)
#define COUNT_BITS(x)   uint(bitCount(x))

#define PRECISE     precise /* no operation is contracted with another */
#define AS_FLOAT(x) uintBitsToFloat(x)
#define AS_WORD(x)  floatBitsToUint(x)
