/* SPDX-License-Identifier: Apache-2.0
 *
 * The Montgomery product for devices without 64-bit integers: words of 32 bits, carries
 * word by word (CIOS). The same functions as mul64.glsl; here Limbs are canonical words.
 */
struct Limbs {
    uint limb[WORDS];
};

Limbs factor(Element x) { return Limbs(x.word); }
Limbs cofactor(Element y) { return Limbs(y.word); }
Element canonical(Limbs x) { return Element(x.limb); }

/* x * y + addend + carry, which fits in 64 bits: the low word, the high one in carry. */
uint multiply_add(uint x, uint y, uint addend, inout uint carry)
{
    uint high, low, overflow;
    umulExtended(x, y, high, low);
    low = uaddCarry(low, addend, overflow);
    high += overflow;
    low = uaddCarry(low, carry, overflow);
    carry = high + overflow;
    return low;
}

/* Modules that are to be short (curve.glsl). */
#if defined(STEPS) && STEPS
#define UNROLL_PRODUCT [[dont_unroll]]
#else
#define UNROLL_PRODUCT [[unroll]]
#endif

/* x y / R, all below p. After every round t < x + p < 2p: (t + x * y[i] + m * p) / 2^32
 * < (2^32 (x + p)) / 2^32. So t needs no further word between rounds. */
Limbs multiply(Limbs x, Limbs y)
{
    Element t = zero();
    UNROLL_PRODUCT for (int i = 0; i < WORDS; i++) {
        uint above = 0, carry = 0;
        [[unroll]] for (int j = 0; j < WORDS; j++)
            t.word[j] = multiply_add(x.limb[j], y.limb[i], t.word[j], above);
        uint m = t.word[0] * NEG_INVERSE;
        multiply_add(m, MODULUS[0], t.word[0], carry);
        [[unroll]] for (int j = 1; j < WORDS; j++)
            t.word[j - 1] = multiply_add(m, MODULUS[j], t.word[j], carry);
        t.word[WORDS - 1] = above + carry;
    }
    return Limbs(reduce_once(t).word);
}

Limbs square(Element x) { return multiply(Limbs(x.word), Limbs(x.word)); }

/* x y / R + z w / R; x, z <= p. */
Limbs two_products(Element x, Element y, Element z, Element w)
{
    Element first = canonical(multiply(Limbs(x.word), Limbs(y.word)));
    return Limbs(add(first, canonical(multiply(Limbs(z.word), Limbs(w.word)))).word);
}
