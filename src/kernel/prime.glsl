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
layout(std430, binding = GX_K_OUT) writeonly buffer Out { uvec4 quad[]; } mem_out;
layout(std430, binding = GX_K_A) readonly buffer A { uvec4 quad[]; } mem_a;
layout(std430, binding = GX_K_B) readonly buffer B { uvec4 quad[]; } mem_b;
layout(std430, binding = GX_K_C) readonly buffer C { uvec4 quad[]; } mem_c;
layout(std430, binding = GX_K_BAD) buffer Bad { uint index; } mem_bad;

struct Element {
    uint word[WORDS];
};

/* ---- words ------------------------------------------------------------------------ */

/* a + b + carry; carry is 0 or 1, in and out. */
uint add_carry(uint a, uint b, inout uint carry)
{
    uint first, second;
    uint sum = uaddCarry(uaddCarry(a, b, first), carry, second);
    carry = first | second;
    return sum;
}

uint sub_borrow(uint a, uint b, inout uint borrow)
{
    uint first, second;
    uint difference = usubBorrow(usubBorrow(a, b, first), borrow, second);
    borrow = first | second;
    return difference;
}

/* x - p modulo 2^(32 * WORDS); borrow is 1 if x < p. */
Element minus_modulus(Element x, out uint borrow)
{
    Element r;
    borrow = 0;
    [[unroll]] for (int i = 0; i < WORDS; i++)
        r.word[i] = sub_borrow(x.word[i], MODULUS[i], borrow);
    return r;
}

/* x < 2p, out < p. */
Element reduce_once(Element x)
{
    uint below;
    Element less = minus_modulus(x, below);
    [[unroll]] for (int i = 0; i < WORDS; i++)
        less.word[i] = below != 0 ? x.word[i] : less.word[i];
    return less;
}

/* x, y < p: the sum is below 2p, which fits, as the top bit of p is clear. */
Element add(Element x, Element y)
{
    uint carry = 0;
    [[unroll]] for (int i = 0; i < WORDS; i++)
        x.word[i] = add_carry(x.word[i], y.word[i], carry);
    return reduce_once(x);
}

/* x - y, plus p if that borrowed; x, y < p, out < p. */
Element sub(Element x, Element y)
{
    uint borrow = 0;
    [[unroll]] for (int i = 0; i < WORDS; i++)
        x.word[i] = sub_borrow(x.word[i], y.word[i], borrow);
    uint lift = 0u - borrow, carry = 0;
    [[unroll]] for (int i = 0; i < WORDS; i++)
        x.word[i] = add_carry(x.word[i], MODULUS[i] & lift, carry);
    return x;
}

Element zero()
{
    Element r;
    [[unroll]] for (int i = 0; i < WORDS; i++)
        r.word[i] = 0;
    return r;
}

bool is_zero(Element x)
{
    uint any = 0;
    [[unroll]] for (int i = 0; i < WORDS; i++)
        any |= x.word[i];
    return any == 0;
}

/* ---- memory ------------------------------------------------------------------------ */

void set_quad(inout Element x, int k, uvec4 q)
{
    x.word[4 * k] = q.x;
    x.word[4 * k + 1] = q.y;
    x.word[4 * k + 2] = q.z;
    x.word[4 * k + 3] = q.w;
}

uvec4 quad_of(Element x, int k)
{
    return uvec4(x.word[4 * k], x.word[4 * k + 1], x.word[4 * k + 2], x.word[4 * k + 3]);
}

/* Element i of a binding whose element 0 lies at quad `at`. */
#define LOAD(result, buffer, at, i)                                                              \
    [[unroll]] for (int k_ = 0; k_ < QUADS; k_++)                                                \
        set_quad(result, k_, buffer.quad[(at) + (i) * QUADS + k_])
#define STORE(buffer, at, i, x)                                                                  \
    [[unroll]] for (int k_ = 0; k_ < QUADS; k_++)                                                \
        buffer.quad[(at) + (i) * QUADS + k_] = quad_of(x, k_)

/* i as an index into an operand. */
uint operand_index(uint broadcast_bit, uint i)
{
    return (push.broadcast & broadcast_bit) != 0 ? 0 : i;
}

/* i counts from the start of this dispatch. The top words nearly always decide. */
void check_element(Element x, uint i)
{
    if (CHECK != 0 && x.word[WORDS - 1] >= MODULUS[WORDS - 1]) {
        uint below;
        minus_modulus(x, below);
        if (below == 0)
            atomicMin(mem_bad.index, i);
    }
}

Element load_a(uint i)
{
    Element x;
    LOAD(x, mem_a, push.at_a, operand_index(GX_BROADCAST_A, i));
    return x;
}

Element load_b(uint i)
{
    Element x;
    LOAD(x, mem_b, push.at_b, operand_index(GX_BROADCAST_B, i));
    return x;
}

Element load_c(uint i)
{
    Element x;
    LOAD(x, mem_c, push.at_c, operand_index(GX_BROADCAST_C, i));
    return x;
}
