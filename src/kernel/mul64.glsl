/* SPDX-License-Identifier: Apache-2.0
 *
 * The Montgomery product with 64-bit integers: limbs of LIMB_BITS (30 or 29) bits, sums
 * of products in 64-bit columns, no carry until the end. What counts on a GPU is the
 * number of 32 x 32 + 64 multiply-adds; additions run beside them. So a
 * product of many limbs is taken by subtractive Karatsuba, one level deep (two saved nothing),
 * and then reduced.
 *
 * R is 2^(32 * WORDS) but the limbs shift out 2^(LIMBS * LIMB_BITS), which is 2^SHIFT
 * more. One factor is split shifted left by SHIFT, and the mismatch is gone.
 *
 * Bounds: x < 2p, y < p, result < 2p (see reduce). radix.c proves for each field
 * that no column passes 2^64.
 */
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

/* Limbs 0 .. LIMB_MASK: as int because their differences are signed. */
struct Limbs {
    int limb[LIMBS];
};

/* Signed on purpose, although most factors are not negative: NVIDIA's compiler generates one
 * instruction for this and two for uint64_t(a) * uint64_t(b), which adds the zeros of the upper
 * halves (bench/NOTEBOOK.md). */
int64_t wide(int a, int b)
{
    return int64_t(a) * int64_t(b);
}

/* ---- between words and limbs ----------------------------------------------------- */

/* x << shift in limbs; the top limb takes what is left: x << shift < 2^(LIMBS * LIMB_BITS). */
Limbs split(Element x, int shift)
{
    Limbs r;
    [[unroll]] for (int k = 0; k < LIMBS; k++) {
        int bit = LIMB_BITS * k - shift;
        int word = bit >> 5, offset = bit & 31;
        uint low = word >= 0 && word < WORDS ? x.word[clamp(word, 0, WORDS - 1)] : 0;
        uint high = word + 1 < WORDS ? x.word[clamp(word + 1, 0, WORDS - 1)] : 0;
        uint both = offset == 0 ? low : low >> offset | high << (32 - offset & 31);
        r.limb[k] = int(both & LIMB_MASK);
    }
    return r;
}

Limbs factor(Element x) { return split(x, 0); }
Limbs cofactor(Element y) { return split(y, SHIFT); }

/* The low WORDS words of limbs that are 0 .. LIMB_MASK. */
Element words_of(uint limb[LIMBS])
{
    Element r;
    [[unroll]] for (int w = 0; w < WORDS; w++) {
        int k = 32 * w / LIMB_BITS, offset = 32 * w % LIMB_BITS;
        uint word = limb[k] >> offset;
        word |= limb[min(k + 1, LIMBS - 1)] << (LIMB_BITS - offset);
        if (2 * LIMB_BITS - offset < 32 && k + 2 < LIMBS)
            word |= limb[min(k + 2, LIMBS - 1)] << (2 * LIMB_BITS - offset & 31);
        r.word[w] = word;
    }
    return r;
}

/* x < 2p, out < p. Both chains, of x - p and of the borrow, run on 32-bit limbs. */
Element canonical(Limbs x)
{
    int less[LIMBS];
    int carry = 0;
    [[unroll]] for (int k = 0; k < LIMBS; k++) {
        carry += x.limb[k] - int(MODULUS_LIMBS[k]);
        less[k] = carry & int(LIMB_MASK);
        carry >>= LIMB_BITS;
    }
    uint limb[LIMBS];
    [[unroll]] for (int k = 0; k < LIMBS; k++)
        limb[k] = uint(carry < 0 ? x.limb[k] : less[k]);
    return words_of(limb);
}

/* ---- products: z += x * y in columns, z[k] += sum of x[i] * y[k - i] ---------------
 *
 * Integer arithmetic wraps modulo 2^64, and every column's true value is that of the
 * schoolbook, so only the final value matters.
 */
#define SCHOOLBOOK(name, N)                                                                      \
    void name(inout int64_t z[2 * N - 1], int x[N], int y[N])                                    \
    {                                                                                            \
        [[unroll]] for (int i = 0; i < N; i++)                                                   \
            [[unroll]] for (int j = 0; j < N; j++)                                               \
                z[i + j] += wide(x[i], y[j]);                                                    \
    }

/* x = lo + B hi with LOW and HIGH <= LOW limbs:
 * lo lo' + B (lo lo' + hi hi' + (lo - hi)(hi' - lo')) + B^2 hi hi'. */
#define KARATSUBA(name, N, LOW, HIGH, product_low, product_high)                                 \
    void name(inout int64_t z[2 * N - 1], int x[N], int y[N])                                    \
    {                                                                                            \
        int x_low[LOW], y_low[LOW], dx[LOW], dy[LOW], x_high[HIGH], y_high[HIGH];                \
        [[unroll]] for (int i = 0; i < LOW; i++) {                                               \
            x_low[i] = x[i];                                                                     \
            y_low[i] = y[i];                                                                     \
            dx[i] = x[i] - (i < HIGH ? x[min(LOW + i, N - 1)] : 0);                              \
            dy[i] = (i < HIGH ? y[min(LOW + i, N - 1)] : 0) - y[i];                              \
        }                                                                                        \
        [[unroll]] for (int i = 0; i < HIGH; i++) {                                              \
            x_high[i] = x[LOW + i];                                                              \
            y_high[i] = y[LOW + i];                                                              \
        }                                                                                        \
        int64_t low[2 * LOW - 1], high[2 * HIGH - 1], middle[2 * LOW - 1];                       \
        [[unroll]] for (int i = 0; i < 2 * LOW - 1; i++)                                         \
            low[i] = 0;                                                                          \
        [[unroll]] for (int i = 0; i < 2 * HIGH - 1; i++)                                        \
            high[i] = 0;                                                                         \
        product_low(low, x_low, y_low);                                                          \
        product_high(high, x_high, y_high);                                                      \
        [[unroll]] for (int i = 0; i < 2 * LOW - 1; i++)                                         \
            middle[i] = low[i] + (i < 2 * HIGH - 1 ? high[min(i, 2 * HIGH - 2)] : 0);            \
        product_low(middle, dx, dy);                                                             \
        [[unroll]] for (int i = 0; i < 2 * LOW - 1; i++) {                                       \
            z[i] += low[i];                                                                      \
            z[LOW + i] += middle[i];                                                             \
        }                                                                                        \
        [[unroll]] for (int i = 0; i < 2 * HIGH - 1; i++)                                        \
            z[2 * LOW + i] += high[i];                                                           \
    }

#if LIMBS == 13
SCHOOLBOOK(product7, 7)
SCHOOLBOOK(product6, 6)
KARATSUBA(product, 13, 7, 6, product7, product6) /* 134 multiply-adds instead of 169 */
#else
SCHOOLBOOK(product, LIMBS) /* 81 with 9 limbs: too few for Karatsuba to pay */
#endif

/* ---- reduction --------------------------------------------------------------------- */

#if SPARSE_LOW_LIMBS
/* z / 2^(LIMBS * LIMB_BITS) modulo p, z < 2^SHIFT * 2p * p, out < 2p.
 *
 * p = 1 - 2^(32 - LIMB_BITS) B + (p_2 + 1) B^2 + p_3 B^3 ... with B = 2^LIMB_BITS. Taking
 * m = z mod B times p away from z clears its low limb; what m adds one limb up is
 * m << (32 - LIMB_BITS), a shift that also drops the bits of z above m. So one step is
 * LIMBS - 2 multiply-adds. The sum taken away is below p * 2^(LIMBS * LIMB_BITS): adding p
 * at the end keeps the result positive, between 0 and z / 2^(LIMBS * LIMB_BITS) + p.
 * Columns are signed: at most 2 * LIMBS * 2^58 above 0 (a square's terms are doubled) and
 * LIMBS * 2^58 below, within 2^63. z / 2^(LIMBS * LIMB_BITS) < 2p * p / R < 0.92 p. */
Limbs reduce(int64_t z[2 * LIMBS - 1])
{
    int64_t t[2 * LIMBS];
    [[unroll]] for (int k = 0; k < 2 * LIMBS - 1; k++)
        t[k] = z[k];
    t[2 * LIMBS - 1] = 0;
    [[unroll]] for (int i = 0; i < LIMBS; i++) {
        int m = int(t[i]) & int(LIMB_MASK);
        t[i + 1] += (t[i] >> LIMB_BITS) + int64_t(uint(t[i]) << (32 - LIMB_BITS));
        [[unroll]] for (int j = 2; j < LIMBS; j++)
            t[i + j] += wide(m, -int(MODULUS_LIMBS[j] + (j == 2 ? 1 : 0)));
    }
    Limbs r;
    int64_t carry = 0;
    [[unroll]] for (int k = 0; k < LIMBS; k++) {
        carry += t[LIMBS + k] + int64_t(MODULUS_LIMBS[k]);
        r.limb[k] = int(carry) & int(LIMB_MASK);
        carry >>= LIMB_BITS;
    }
    return r;
}
#else
/* z / 2^(LIMBS * LIMB_BITS) modulo p, z < 2^SHIFT * 2p * p, out < 2p.
 *
 * All steps but the last two add multiples of N = FOLD * B - 1, B = 2^LIMB_BITS, which is
 * a multiple of p: adding z mod B times N clears the low limb and needs no multiplication
 * to find out how often. N is at most 2^40 p, so two steps with p itself follow, after which
 * N's share is below N / B^2 < 2^-19 p. The result is below
 * z / B^LIMBS + p (1 + 1/B + 2^-19) < 2p, as 2p * p / R < 0.92 p (radix.c). */
Limbs reduce(int64_t z[2 * LIMBS - 1])
{
    uint64_t t[2 * LIMBS];
    [[unroll]] for (int k = 0; k < 2 * LIMBS - 1; k++)
        t[k] = uint64_t(z[k]);
    t[2 * LIMBS - 1] = 0;
    [[unroll]] for (int i = 0; i < LIMBS - 2; i++) {
        int m = int(t[i]) & int(LIMB_MASK);
        t[i + 1] += t[i] >> LIMB_BITS;
        [[unroll]] for (int j = 0; j < LIMBS; j++)
            t[i + 1 + j] += uint64_t(wide(m, int(FOLD[j])));
    }
    [[unroll]] for (int s = 0; s < 2; s++) {
        const int i = LIMBS - 2 + s;
        int m = int(uint(t[i]) * LIMB_NEG_INVERSE & LIMB_MASK);
        [[unroll]] for (int j = 0; j < LIMBS; j++)
            t[i + j] += uint64_t(wide(m, int(MODULUS_LIMBS[j])));
        t[i + 1] += t[i] >> LIMB_BITS;
    }
    Limbs r;
    uint64_t carry = 0;
    [[unroll]] for (int k = 0; k < LIMBS; k++) {
        carry += t[LIMBS + k];
        r.limb[k] = int(uint(carry) & LIMB_MASK);
        carry >>= LIMB_BITS;
    }
    return r;
}
#endif

/* ---- the interface that mul32.glsl has too ------------------------------------------ */

/* x y / R: x < 2p by factor() or from here, y < p by cofactor(); result < 2p. */
Limbs multiply(Limbs x, Limbs y)
{
    int64_t z[2 * LIMBS - 1];
    [[unroll]] for (int k = 0; k < 2 * LIMBS - 1; k++)
        z[k] = 0;
    product(z, x.limb, y.limb);
    return reduce(z);
}

/* x^2 / R, x < p, result < 2p: half the products. The shift is shared by both factors,
 * and where it is odd, every term is doubled once more: off the diagonal by doubling
 * both limbs (30 bits each, since odd shifts come with 29-bit limbs). */
Limbs square(Element x)
{
    const bool odd = SHIFT % 2 != 0;
    Limbs root = split(x, SHIFT / 2);
    int twice[LIMBS];
    [[unroll]] for (int i = 0; i < LIMBS; i++)
        twice[i] = root.limb[i] << 1;
    int64_t z[2 * LIMBS - 1];
    [[unroll]] for (int k = 0; k < 2 * LIMBS - 1; k++)
        z[k] = 0;
    [[unroll]] for (int i = 0; i < LIMBS; i++) {
        int once = root.limb[i];
        z[2 * i] += wide(once, odd ? twice[i] : once);
        [[unroll]] for (int j = 0; j < LIMBS; j++)
            if (j > i)
                z[i + j] += wide(odd ? twice[i] : once, twice[j]);
    }
    return reduce(z);
}

/* (x y + z w) / R with one reduction, result < 2p: x, z <= p, and y, w < p. Columns of the first
 * product are carried once, so that those of both fit. */
Limbs two_products(Element x, Element y, Element z, Element w)
{
    int64_t t[2 * LIMBS - 1];
    [[unroll]] for (int k = 0; k < 2 * LIMBS - 1; k++)
        t[k] = 0;
    product(t, factor(x).limb, cofactor(y).limb);
    [[unroll]] for (int k = 2 * LIMBS - 2; k > 0; k--) {
        int64_t below = int64_t(uint64_t(t[k - 1]) >> LIMB_BITS);
        t[k] = (k < 2 * LIMBS - 2 ? t[k] & int64_t(LIMB_MASK) : t[k]) + below;
    }
    t[0] &= int64_t(LIMB_MASK);
    product(t, factor(z).limb, cofactor(w).limb);
    return reduce(t);
}
