/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements of a prime field as 32-bit words: load and store, check, add and subtract. Requires the
 * field's constants; for the product see mul64.glsl and mul32.glsl.
 */
#include "common.glsl"
#include "constants.glsl"

#define QUADS (WORDS / 4) /* of 16 bytes, the unit of memory access */

/* Not restrict: OUT may be an operand. Every element is read by the invocation that writes it,
 * before it writes. */
BUFFER(writeonly, Out, GX_K_OUT, Quad, quad, mem_out);
BUFFER(readonly, A, GX_K_A, Quad, quad, mem_a);
BUFFER(readonly, B, GX_K_B, Quad, quad, mem_b);
BUFFER(readonly, C, GX_K_C, Quad, quad, mem_c);
BUFFER_OF_ONE(Bad, GX_K_BAD, u32, index, mem_bad);

struct Element {
    u32 word[WORDS];
};

/* ---- words ------------------------------------------------------------------------ */

#ifdef __CUDA__
#include "words_ptx.cuh"
#else

/* a + b + carry; carry is 0 or 1, in and out. */
FUNCTION u32 add_carry(u32 a, u32 b, INOUT(u32) carry)
{
    u32 first, second;
    u32 sum = uaddCarry(uaddCarry(a, b, first), carry, second);
    carry = first | second;
    return sum;
}

FUNCTION u32 sub_borrow(u32 a, u32 b, INOUT(u32) borrow)
{
    u32 first, second;
    u32 difference = usubBorrow(usubBorrow(a, b, first), borrow, second);
    borrow = first | second;
    return difference;
}

/* x - p modulo 2^(32 * WORDS); borrow is 1 if x < p. */
FUNCTION Element minus_modulus(Element x, OUT(u32) borrow)
{
    Element r;
    borrow = 0;
    UNROLL for (int i = 0; i < WORDS; i++)
        r.word[i] = sub_borrow(x.word[i], MODULUS[i], borrow);
    return r;
}

/* x < 2p, out < p. */
FUNCTION Element reduce_once(Element x)
{
    u32 below;
    Element less = minus_modulus(x, below);
    UNROLL for (int i = 0; i < WORDS; i++)
        less.word[i] = below != 0 ? x.word[i] : less.word[i];
    return less;
}

/* x, y < p: the sum is below 2p, which fits, as the top bit of p is clear. */
FUNCTION Element add(Element x, Element y)
{
    u32 carry = 0;
    UNROLL for (int i = 0; i < WORDS; i++)
        x.word[i] = add_carry(x.word[i], y.word[i], carry);
    return reduce_once(x);
}

/* x - y, plus p if that borrowed; x, y < p, out < p. */
FUNCTION Element sub(Element x, Element y)
{
    u32 borrow = 0;
    UNROLL for (int i = 0; i < WORDS; i++)
        x.word[i] = sub_borrow(x.word[i], y.word[i], borrow);
    u32 lift = 0u - borrow, carry = 0;
    UNROLL for (int i = 0; i < WORDS; i++)
        x.word[i] = add_carry(x.word[i], MODULUS[i] & lift, carry);
    return x;
}

FUNCTION Element zero()
{
    Element r;
    UNROLL for (int i = 0; i < WORDS; i++)
        r.word[i] = 0;
    return r;
}

FUNCTION bool is_zero(Element x)
{
    u32 any = 0;
    UNROLL for (int i = 0; i < WORDS; i++)
        any |= x.word[i];
    return any == 0;
}

#endif

/* ---- memory ------------------------------------------------------------------------ */

FUNCTION void set_quad(INOUT(Element) x, int k, Quad q)
{
    x.word[4 * k] = q.x;
    x.word[4 * k + 1] = q.y;
    x.word[4 * k + 2] = q.z;
    x.word[4 * k + 3] = q.w;
}

FUNCTION Quad quad_of(Element x, int k)
{
    return QUAD(x.word[4 * k], x.word[4 * k + 1], x.word[4 * k + 2], x.word[4 * k + 3]);
}

/* Element i of a binding whose element 0 lies at quad `at`. */
#ifdef __CUDA__ /* one address for all quads */
#define QUAD_OF(buffer, at, i, k) (&buffer.quad[(at) + (i) * QUADS])[k]
#else
#define QUAD_OF(buffer, at, i, k) buffer.quad[(at) + (i) * QUADS + k]
#endif
#define LOAD(result, buffer, at, i)                                                              \
    UNROLL for (int k_ = 0; k_ < QUADS; k_++)                                                    \
        set_quad(result, k_, QUAD_OF(buffer, at, i, k_))
#define STORE(buffer, at, i, x)                                                                  \
    UNROLL for (int k_ = 0; k_ < QUADS; k_++)                                                    \
        QUAD_OF(buffer, at, i, k_) = quad_of(x, k_)

/* i as an index into an operand. */
FUNCTION u32 operand_index(u32 broadcast_bit, u32 i)
{
    return (BROADCAST & broadcast_bit) != 0 ? 0 : i;
}

/* i counts from the start of this dispatch. The top words nearly always decide. */
FUNCTION void check_element(Element x, u32 i)
{
    if (CHECK != 0 && x.word[WORDS - 1] >= MODULUS[WORDS - 1]) {
        u32 below;
        minus_modulus(x, below);
        if (below == 0)
            ATOMIC_MIN(mem_bad.index, i);
    }
}

FUNCTION Element load_a(u32 i)
{
    Element x;
    LOAD(x, mem_a, AT_A, operand_index(GX_BROADCAST_A, i));
    return x;
}

FUNCTION Element load_b(u32 i)
{
    Element x;
    LOAD(x, mem_b, AT_B, operand_index(GX_BROADCAST_B, i));
    return x;
}

FUNCTION Element load_c(u32 i)
{
    Element x;
    LOAD(x, mem_c, AT_C, operand_index(GX_BROADCAST_C, i));
    return x;
}
