/* SPDX-License-Identifier: Apache-2.0
 *
 * What kernels use of CUDA, for clang without NVIDIA's headers: the words of prelude.glsl. A module
 * has one entry, gx_kernel, whose parameter is struct gx_ptx_args (ptx.h). GROUP_SIZE is defined by
 * the build.
 */
typedef unsigned int u32;
typedef unsigned long long u64;
typedef u32 Pair __attribute__((ext_vector_type(2)));
typedef u32 Quad __attribute__((ext_vector_type(4)));

#define GLOBAL         __attribute__((address_space(1)))
#define FUNCTION       static __attribute__((device, always_inline)) inline
#define SHARED         static __attribute__((shared))
#define CONSTANT       static __attribute__((constant)) const
#define CONSTANTS      static __attribute__((constant)) constexpr /* in constants.glsl */
#define UNROLL         _Pragma("unroll")
#define LOOP           _Pragma("nounroll")
#define INOUT(T)       T &
#define INOUT_ARRAY(T) T
#define OUT(T)         T &
#define OUT_ARRAY(T)   T

/* Has no use for the parameter. */
#define CALLED_FUNCTION static __attribute__((device, noinline))

#define PAIR(x, y)       (Pair){x, y}
#define QUAD(x, y, z, w) (Quad){x, y, z, w}

#define STRUCT_OF_4(T, a, b, c, d) (T){a, b, c, d}

#define BEGIN_LIST   {
#define END_LIST     }
#define LENGTH(list) (int)(sizeof list / sizeof *list)

/* ---- the parameter ---- */

#define ARG_BINDS (GX_K_TABLE + 1)

struct Args {
    u64 bind[ARG_BINDS];
    u32 push[GX_K_PUSH_WORDS];
};

#ifndef MIN_GROUPS
#define MIN_GROUPS 1 /* of a multiprocessor, for the registers */
#endif
#define KERNEL                                                                                     \
    extern "C" __attribute__((global, launch_bounds(GROUP_SIZE, MIN_GROUPS))) void gx_kernel(      \
        const Args args)

/* Functions find the parameter by the name that clang gives it: they are all part of the entry. Like
 * every asm statement here, these have no other effect, so that they are moved and shared. */
template <int AT> FUNCTION u32 push_word()
{
    u32 x;
    asm("ld.param.u32 %0, [gx_kernel_param_0+%1];" : "=r"(x) : "n"(8 * ARG_BINDS + 4 * AT));
    return x;
}

template <int SLOT> FUNCTION u64 bound_address()
{
    u64 x;
    asm("ld.param.u64 %0, [gx_kernel_param_0+%1];" : "=l"(x) : "n"(8 * SLOT));
    return x;
}

#define ELEMENTS  push_word<0>()
#define AT_OUT    push_word<1>()
#define AT_A      push_word<2>()
#define AT_B      push_word<3>()
#define AT_C      push_word<4>()
#define BROADCAST push_word<5>()
#define STAGE(i)  push_word<6 + (i)>()

/* Words of the text that become numbers before the driver compiles it (ptx.h). */
#define TEXT_WORD(function, word)                                                                  \
    FUNCTION u32 function()                                                                        \
    {                                                                                              \
        u32 x;                                                                                     \
        asm("mov.u32 %0, " #word ";" : "=r"(x));                                                   \
        return x;                                                                                  \
    }
TEXT_WORD(text_op, GX_PTX_OP)
TEXT_WORD(text_check, GX_PTX_CHECK)
TEXT_WORD(text_repeat, GX_PTX_REPEAT)
#define OP     text_op()
#define CHECK  text_check()
#define REPEAT text_repeat()

/* The word becomes instructions, where a launch may begin before those before it have ended: no memory
 * is touched before it. Otherwise it becomes nothing. */
#define AWAIT_LAUNCHES() asm volatile("GX_PTX_AWAIT" ::: "memory")

/* ---- memory ---- */

template <int SLOT, class T> struct Bound {
    __attribute__((device, always_inline)) GLOBAL T &operator[](u32 i) const
    {
        return ((GLOBAL T *)bound_address<SLOT>())[i];
    }
};

#define BUFFER(access, Block, slot, T, member, name)                                               \
    struct Block {                                                                                 \
        Bound<slot, T> member;                                                                     \
    };                                                                                             \
    static __attribute__((device)) const Block name = {}
#define BUFFER_OF_ONE(Block, slot, T, member, name) BUFFER(, Block, slot, T, member, name)

/* ---- invocations ---- */

#define GROUP_X     (u32) __nvvm_read_ptx_sreg_ctaid_x()
#define GROUP_Y     (u32) __nvvm_read_ptx_sreg_ctaid_y()
#define GROUPS_X    (u32) __nvvm_read_ptx_sreg_nctaid_x()
#define GROUP_INDEX (GROUP_Y * GROUPS_X + GROUP_X)
#define LOCAL_INDEX (u32) __nvvm_read_ptx_sreg_tid_x()
#define BARRIER()   __syncthreads()
#define MEMORY_BARRIER()                                                                           \
    __nvvm_membar_gl();                                                                            \
    __syncthreads()

/* Of the 32 invocations of a warp, which all get here: those whose x is true, one bit each; and a
 * barrier for shared memory. */
FUNCTION u32 ballot(bool x)
{
    u32 those;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                 : "=r"(those)
                 : "r"((u32)x)
                 : "memory");
    return those;
}
#define BALLOT(x)      ballot(x)
#define WARP_BARRIER() asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")

/* As subgroups in GLSL: warps are full. */
#define LANE             (LOCAL_INDEX % LANES)
#define LANES            32u
#define SUBGROUP         (LOCAL_INDEX / LANES)
#define FULL_SUBGROUPS   (GROUP_SIZE % LANES == 0)
#define SHUFFLE(x, lane) (u32) __nvvm_shfl_sync_idx_i32(0xffffffffu, (int)(x), (int)(lane), 31)

/* Of words in shared memory, or of a buffer. */
template <int SLOT> FUNCTION void atomic_min(Bound<SLOT, u32>, u32 y)
{
    asm volatile("red.global.min.u32 [%0], %1;" ::"l"(bound_address<SLOT>()), "r"(y) : "memory");
}
#define ATOMIC_ADD(x, y) __atomic_fetch_add(&(x), y, __ATOMIC_RELAXED)
#define ATOMIC_OR(x, y)  __atomic_fetch_or(&(x), y, __ATOMIC_RELAXED)
#define ATOMIC_MIN(x, y) atomic_min(x, y)

/* ---- words ---- */

#define HIGHEST_BIT(x)  (31u - (u32)__builtin_clz(x))
#define HIGHEST_BIT_OF_ANY(x) ((x) != 0 ? (int)HIGHEST_BIT(x) : -1)
#define REVERSE_BITS(x) __builtin_bitreverse32(x)
#define COUNT_BITS(x)   (u32) __builtin_popcount(x)

FUNCTION u32 min(u32 x, u32 y) { return x < y ? x : y; }
FUNCTION u32 max(u32 x, u32 y) { return x > y ? x : y; }

#define PRECISE     /* the build says so */
#define AS_FLOAT(x) __builtin_bit_cast(float, x)
#define AS_WORD(x)  __builtin_bit_cast(u32, x)
