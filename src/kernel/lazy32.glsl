/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of lazy64.glsl for devices without 64-bit integers: elements below p.
 */
#define Lazy   Element
#define LazyBy Limbs /* the other factor of a product */
#define LAZY_WORDS WORDS

FUNCTION LazyBy lazy_by(Element x) { return cofactor(x); }
FUNCTION Lazy lazy_of(Element x) { return x; }

FUNCTION u32 lazy_word(Lazy x, int k) { return x.word[k]; }
FUNCTION void set_lazy_word(INOUT(Lazy) x, int k, u32 word) { x.word[k] = word; }

FUNCTION Lazy lazy_zero() { return zero(); }
FUNCTION Lazy lazy_add(Lazy x, Lazy y) { return add(x, y); }
FUNCTION Lazy lazy_sub(Lazy x, Lazy y) { return sub(x, y); }
FUNCTION Lazy carried(Lazy x) { return x; }
FUNCTION Lazy settled(Lazy x) { return x; }
FUNCTION Lazy lazy_mul(Lazy x, LazyBy y) { return canonical(multiply(factor(x), y)); }

/* x / 2^halvings modulo p, halvings < 32: a multiple of p makes x divisible. */
FUNCTION Element lazy_element(Lazy x, u32 halvings, bool any)
{
    u32 multiple = x.word[0] * NEG_INVERSE & (1u << halvings) - 1, carry = 0;
    UNROLL for (int k = 0; k < WORDS; k++)
        x.word[k] = multiply_add(multiple, MODULUS[k], x.word[k], carry);
    Element r;
    UNROLL for (int k = 0; k < WORDS; k++) {
        u32 above = k + 1 < WORDS ? x.word[min(k + 1, WORDS - 1)] : carry;
        r.word[k] = x.word[k] >> halvings | above << 1 << 31 - halvings;
    }
    return reduce_once(r);
}
