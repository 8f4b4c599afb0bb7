/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of lazy64.glsl for devices without 64-bit integers: elements below p.
 */
#define Lazy   Element
#define LazyBy Limbs /* the other factor of a product */
#define LAZY_WORDS WORDS

LazyBy lazy_by(Element x) { return cofactor(x); }
Lazy lazy_of(Element x) { return x; }

uint lazy_word(Lazy x, int k) { return x.word[k]; }
void set_lazy_word(inout Lazy x, int k, uint word) { x.word[k] = word; }

Lazy lazy_zero() { return zero(); }
Lazy lazy_add(Lazy x, Lazy y) { return add(x, y); }
Lazy lazy_sub(Lazy x, Lazy y) { return sub(x, y); }
Lazy carried(Lazy x) { return x; }
Lazy settled(Lazy x) { return x; }
Lazy lazy_mul(Lazy x, LazyBy y) { return canonical(multiply(factor(x), y)); }

/* x / 2^halvings modulo p, halvings < 32: a multiple of p makes x divisible. */
Element lazy_element(Lazy x, uint halvings, bool any)
{
    uint multiple = x.word[0] * NEG_INVERSE & (1u << halvings) - 1, carry = 0;
    [[unroll]] for (int k = 0; k < WORDS; k++)
        x.word[k] = multiply_add(multiple, MODULUS[k], x.word[k], carry);
    Element r;
    [[unroll]] for (int k = 0; k < WORDS; k++) {
        uint above = k + 1 < WORDS ? x.word[min(k + 1, WORDS - 1)] : carry;
        r.word[k] = x.word[k] >> halvings | above << 1 << 31 - halvings;
    }
    return reduce_once(r);
}
