/* SPDX-License-Identifier: Apache-2.0
 *
 * inv, div: element i of OUT is the inverse of element i of A (0 for 0), for div times element i of
 * C, individually. With 64-bit integers, and in CUDA, by Bernstein and Yang's division steps, LIMB_BITS at a
 * time; without, as the power p - 2.
 */
#include "invert.glsl"

#ifdef __CUDA__
#include "limbs.cuh"
#elif INT64
#define Signed       Limbs
#define signed_of(x) factor(x)
#define limbs_of(x)  x
#endif

#if INT64 || defined(__CUDA__)

/* The matrix of LIMB_BITS division steps, times 2^LIMB_BITS: |u| + |v| <= 2^LIMB_BITS, and
 * likewise q, r. */
struct Steps {
    int u, v, q, r;
};

/* From the low bits of f (odd) and g. zeta = -(delta + 1/2), delta starting at 1/2. Branch-free, so
 * that invocations do not diverge. */
FUNCTION Steps division_steps(INOUT(int) zeta, int f, int g)
{
    Steps s = STRUCT_OF_4(Steps, 1, 0, 0, 1);
    LOOP for (int i = 0; i < LIMB_BITS; i++) {
        int swap = zeta >> 31, odd = -(g & 1);
        g += ((f ^ swap) - swap) & odd;
        s.q += ((s.u ^ swap) - swap) & odd;
        s.r += ((s.v ^ swap) - swap) & odd;
        swap &= odd;
        zeta = (zeta ^ swap) - 1;
        f += g & swap;
        s.u += s.q & swap;
        s.v += s.r & swap;
        g >>= 1;
        s.u <<= 1;
        s.v <<= 1;
    }
    return s;
}

/* Signed numbers: limbs 0 .. LIMB_MASK but the top one, which has the sign. (f, g) =
 * steps (f, g) / 2^LIMB_BITS, exact; |f|, |g| < 2^(32 * WORDS) all the while. A sum of two
 * products is below 2^(2 * LIMB_BITS). */
FUNCTION void apply(Steps s, INOUT(Signed) f, INOUT(Signed) g)
{
    int64_t sum_f = 0, sum_g = 0;
    UNROLL for (int k = 0; k < LIMBS; k++) {
        int64_t f_k = f.limb[k], g_k = g.limb[k];
        sum_f += s.u * f_k + s.v * g_k;
        sum_g += s.q * f_k + s.r * g_k;
        if (k > 0) {
            f.limb[k - 1] = int(sum_f) & int(LIMB_MASK);
            g.limb[k - 1] = int(sum_g) & int(LIMB_MASK);
        }
        sum_f >>= LIMB_BITS;
        sum_g >>= LIMB_BITS;
    }
    f.limb[LIMBS - 1] = int(sum_f);
    g.limb[LIMBS - 1] = int(sum_g);
}

/* The same modulo p, made exact by a multiple of p; -2p < d, e < p before and after: the
 * multiple starts at p times the row's entries of negative numbers and is lowered by
 * less than 2^LIMB_BITS. */
FUNCTION void apply_modulo(Steps s, INOUT(Signed) d, INOUT(Signed) e)
{
    int sign_d = d.limb[LIMBS - 1] >> 31, sign_e = e.limb[LIMBS - 1] >> 31;
    int m_d = (s.u & sign_d) + (s.v & sign_e), m_e = (s.q & sign_d) + (s.r & sign_e);
    int low_d = s.u * d.limb[0] + s.v * e.limb[0], low_e = s.q * d.limb[0] + s.r * e.limb[0];
    const int inverse = -int(LIMB_NEG_INVERSE);
    m_d -= (inverse * low_d + m_d) & int(LIMB_MASK);
    m_e -= (inverse * low_e + m_e) & int(LIMB_MASK);
    int64_t sum_d = 0, sum_e = 0;
    UNROLL for (int k = 0; k < LIMBS; k++) {
        int64_t d_k = d.limb[k], e_k = e.limb[k], p_k = int64_t(MODULUS_LIMBS[k]);
        sum_d += s.u * d_k + s.v * e_k + m_d * p_k;
        sum_e += s.q * d_k + s.r * e_k + m_e * p_k;
        if (k > 0) {
            d.limb[k - 1] = int(sum_d) & int(LIMB_MASK);
            e.limb[k - 1] = int(sum_e) & int(LIMB_MASK);
        }
        sum_d >>= LIMB_BITS;
        sum_e >>= LIMB_BITS;
    }
    d.limb[LIMBS - 1] = int(sum_d);
    e.limb[LIMBS - 1] = int(sum_e);
}

/* Adds p if negative; then negates if requested. Limbs come out normalised. */
FUNCTION Signed adjust(Signed x, bool negate)
{
    bool lift = x.limb[LIMBS - 1] < 0;
    int carry = 0;
    UNROLL for (int k = 0; k < LIMBS; k++) {
        int limb = x.limb[k] + (lift ? int(MODULUS_LIMBS[k]) : 0);
        carry += negate ? -limb : limb;
        x.limb[k] = k < LIMBS - 1 ? carry & int(LIMB_MASK) : carry;
        carry >>= LIMB_BITS;
    }
    return x;
}

FUNCTION bool any_limb(Signed x)
{
    int any = 0;
    UNROLL for (int k = 0; k < LIMBS; k++)
        any |= x.limb[k];
    return any != 0;
}

/* 1 / x as plain integers modulo p, below p; 0 for 0. The steps end with g = 0 and
 * f = +-1, and d = f / x modulo p. The loop ends there; its limit, (49 bits + 57) / 17 steps,
 * is Bernstein and Yang's for delta from 1 (2019, theorem 11.2), and from 1/2, as here, fewer
 * are known to do (590 in place of 741 for 256 bits). */
FUNCTION Signed plain_inverse(Element x)
{
    Signed d, e, f, g = signed_of(x);
    UNROLL for (int k = 0; k < LIMBS; k++) {
        d.limb[k] = 0;
        e.limb[k] = k == 0 ? 1 : 0;
        f.limb[k] = int(MODULUS_LIMBS[k]);
    }
    const int rounds = ((49 * 32 * WORDS + 57) / 17 + LIMB_BITS - 1) / LIMB_BITS;
    int zeta = -1;
    LOOP for (int i = 0; i < rounds && any_limb(g); i++) {
        Steps s = division_steps(zeta, f.limb[0], g.limb[0]);
        apply_modulo(s, d, e);
        apply(s, f, g);
    }
    return adjust(adjust(d, f.limb[LIMBS - 1] < 0), false);
}

/* Of a R, that is R / a / R^2: two products with R^2 bring it to R / a. */
FUNCTION Limbs inverse(Element x)
{
    Limbs r = limbs_of(plain_inverse(x)), r2 = cofactor(ELEMENT(R2));
    LOOP for (int i = 0; i < 2; i++)
        r = multiply(r, r2);
    return r;
}

#else

FUNCTION Limbs inverse(Element x)
{
    Limbs r = factor(ELEMENT(ONE)), y = cofactor(x);
    LOOP for (int bit = 32 * WORDS - 1; bit >= 0; bit--) {
        r = square(canonical(r));
        if ((MODULUS_MINUS_2[bit >> 5] >> (bit & 31) & 1) != 0)
            r = multiply(r, y);
    }
    return r;
}

#endif

KERNEL
{
    u32 i = own_index();
    if (i >= ELEMENTS)
        return;
    Limbs r = inverse(checked_a(i));
    if (OP == GX_DIV)
        r = multiply(r, cofactor(checked_c(i)));
    Element result = canonical(r);
    STORE(mem_out, AT_OUT, i, result);
}
