/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of lazy64.glsl in CUDA: elements below 2p, which fit, as p is below 0.46 R. Products
 * are (mul_ptx.cuh) where one factor is at most p, as those of the table are.
 */
#define Lazy   Element
#define LazyBy Limbs /* the other factor of a product */
#define LAZY_WORDS WORDS

FUNCTION LazyBy lazy_by(Element x) { return cofactor(x); }
FUNCTION Lazy lazy_of(Element x) { return x; }

FUNCTION Lazy lazy_zero() { return zero(); }
FUNCTION Lazy lazy_add(Lazy x, Lazy y) { return add_twice(x, y); }
FUNCTION Lazy lazy_sub(Lazy x, Lazy y) { return sub_twice(x, y); }
FUNCTION Lazy carried(Lazy x) { return x; }
FUNCTION Lazy settled(Lazy x) { return x; }
FUNCTION Lazy lazy_mul(Lazy x, LazyBy y) { return multiply(x, y); }

/* x / 2^halvings modulo p, halvings < 32; below p, or `any`: below 2p. A multiple of p makes x
 * divisible; then it is at most p + p / 2^halvings. All invocations have the same halvings. */
FUNCTION Element lazy_element(Lazy x, u32 halvings, bool any)
{
    if (halvings != 0u) {
        u32 multiple = x.word[0] * NEG_INVERSE & (1u << halvings) - 1, carry = 0;
        UNROLL for (int k = 0; k < WORDS; k++)
            x.word[k] = multiply_add(multiple, MODULUS[k], x.word[k], carry);
        UNROLL for (int k = 0; k < WORDS; k++) {
            u32 above = k + 1 < WORDS ? x.word[min(k + 1, WORDS - 1)] : carry;
            x.word[k] = x.word[k] >> halvings | above << 1 << 31 - halvings;
        }
    }
    return any ? x : reduce_once(x);
}
