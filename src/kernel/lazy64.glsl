/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers modulo p that are added without carries and may be negative: limbs of mul64.glsl, each a
 * signed 32-bit integer. The same functions as lazy32.glsl. In units of 2^28, by absolute value:
 *   loaded, or after carried():   2 (and 4 more, not units but ones)
 *   a product:                    1
 * and sums of these add up, to at most 8. The top limb has what is left of the number, which
 * is at most 280 p.
 *
 * A factor of 4 units keeps the columns of a product within 2^63: 9 limbs * 4 * 2^28 * 2^29 and 4
 * more in the top limb are 40 * 2^57, the reduction takes or adds at most 9 * 2^29 * 2^29 = 18 *
 * 2^57.
 */
#if LIMBS != 9 || LIMB_BITS != 29
#error "the bounds of lazy64.glsl are those of 9 limbs of 29 bits"
#endif

#define Lazy   Limbs
#define LazyBy Limbs /* the other factor of a product */
#define LAZY_WORDS LIMBS

LazyBy lazy_by(Element x) { return cofactor(x); }
Lazy lazy_of(Element x) { return factor(x); }

uint lazy_word(Lazy x, int k) { return uint(x.limb[k]); }
void set_lazy_word(inout Lazy x, int k, uint word) { x.limb[k] = int(word); }

Lazy lazy_zero()
{
    Lazy r;
    [[unroll]] for (int k = 0; k < LIMBS; k++)
        r.limb[k] = 0;
    return r;
}

Lazy lazy_add(Lazy x, Lazy y)
{
    [[unroll]] for (int k = 0; k < LIMBS; k++)
        x.limb[k] += y.limb[k];
    return x;
}

Lazy lazy_sub(Lazy x, Lazy y)
{
    [[unroll]] for (int k = 0; k < LIMBS; k++)
        x.limb[k] -= y.limb[k];
    return x;
}

/* One carry from each limb to the next, all at once. */
Lazy carried(Lazy x)
{
    Lazy r;
    r.limb[0] = x.limb[0] & int(LIMB_MASK);
    [[unroll]] for (int k = 1; k < LIMBS; k++)
        r.limb[k] = (k < LIMBS - 1 ? x.limb[k] & int(LIMB_MASK) : x.limb[k]) +
                    (x.limb[k - 1] >> LIMB_BITS);
    return r;
}

/* t[LIMBS ..] = t / 2^(LIMBS * LIMB_BITS) modulo p: as reduce() in mul64.glsl, but signed. It adds
 * less than 1.0001 p, or takes less than p away where the low limbs are sparse. */
void reduce_signed(inout int64_t t[2 * LIMBS])
{
#if SPARSE_LOW_LIMBS
    [[unroll]] for (int i = 0; i < LIMBS; i++) {
        int m = int(t[i]) & int(LIMB_MASK);
        t[i + 1] += (t[i] >> LIMB_BITS) + int64_t(uint(t[i]) << (32 - LIMB_BITS));
        [[unroll]] for (int j = 2; j < LIMBS; j++)
            t[i + j] += wide(m, -int(MODULUS_LIMBS[j] + (j == 2 ? 1 : 0)));
    }
#else
    [[unroll]] for (int i = 0; i < LIMBS - 2; i++) {
        int m = int(t[i]) & int(LIMB_MASK);
        t[i + 1] += t[i] >> LIMB_BITS;
        [[unroll]] for (int j = 0; j < LIMBS; j++)
            t[i + 1 + j] += wide(m, int(FOLD[j]));
    }
    [[unroll]] for (int i = LIMBS - 2; i < LIMBS; i++) {
        int m = int(uint(t[i]) * LIMB_NEG_INVERSE & LIMB_MASK);
        [[unroll]] for (int j = 0; j < LIMBS; j++)
            t[i + j] += wide(m, int(MODULUS_LIMBS[j]));
        t[i + 1] += t[i] >> LIMB_BITS;
    }
#endif
}

/* x y / R: by absolute value below x * p / R + 1.0001 p. Every limb but the top one is between
 * -2^28 and 2^28. */
Lazy lazy_mul(Lazy x, LazyBy y)
{
    const int half_limb = 1 << LIMB_BITS - 1;
    int64_t z[2 * LIMBS - 1], t[2 * LIMBS];
    [[unroll]] for (int k = 0; k < 2 * LIMBS - 1; k++)
        z[k] = 0;
    product(z, x.limb, y.limb);
    [[unroll]] for (int k = 0; k < 2 * LIMBS - 1; k++)
        t[k] = z[k];
    t[2 * LIMBS - 1] = 0;
    reduce_signed(t);
    Lazy r;
    int64_t carry = 0;
    [[unroll]] for (int k = 0; k < LIMBS - 1; k++) {
        carry += t[LIMBS + k] + int64_t(half_limb);
        r.limb[k] = (int(carry) & int(LIMB_MASK)) - half_limb;
        carry >>= LIMB_BITS;
    }
    r.limb[LIMBS - 1] = int(carry + t[2 * LIMBS - 1]);
    return r;
}

/* How often p goes into x, or once less: x / p is known to 2^-20 from the top limb with what is
 * carried into it, and 2^-10 are taken away before rounding down. */
int quotient(Lazy x)
{
    int top = x.limb[LIMBS - 1] + (x.limb[LIMBS - 2] >> LIMB_BITS);
    return int((wide(top, int(QUOTIENT)) - (int64_t(1) << 42)) >> 52);
}

/* x + multiple * p, which is not negative, in limbs 0 .. LIMB_MASK. */
void plus_modulus(Lazy x, int multiple, out uint limb[LIMBS + 1])
{
    int64_t carry = 0;
    [[unroll]] for (int k = 0; k < LIMBS; k++) {
        carry += int64_t(x.limb[k]) + wide(multiple, int(MODULUS_LIMBS[k]));
        limb[k] = uint(carry) & LIMB_MASK;
        carry >>= LIMB_BITS;
    }
    limb[LIMBS] = uint(carry);
}

/* The same number modulo p, below 2p and carried. */
Lazy settled(Lazy x)
{
    uint limb[LIMBS + 1];
    plus_modulus(x, -quotient(x), limb);
    [[unroll]] for (int k = 0; k < LIMBS; k++)
        x.limb[k] = int(limb[k]);
    return x;
}

/* x / 2^halvings modulo p, halvings <= LIMB_BITS: below p, or if any will do, below 2p. A multiple
 * of p makes it divisible, so that what is halved is below (2 + 2^halvings) p. */
Element lazy_element(Lazy x, uint halvings, bool any)
{
    int q = quotient(x);
    uint low = uint(x.limb[0]) - uint(q) * MODULUS_LIMBS[0];
    uint limb[LIMBS + 1], halved[LIMBS];
    Limbs r;
    plus_modulus(x, int(low * LIMB_NEG_INVERSE & (1u << halvings) - 1) - q, limb);
    [[unroll]] for (int k = 0; k < LIMBS; k++) {
        halved[k] = (limb[k] >> halvings | limb[k + 1] << LIMB_BITS - halvings) & LIMB_MASK;
        r.limb[k] = int(halved[k]);
    }
    if (any)
        return words_of(halved);
    return canonical(r);
}
