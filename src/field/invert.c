/* SPDX-License-Identifier: Apache-2.0
 *
 * The inverse of one element, for the batch inversions of every tier: the divsteps
 * of Bernstein and Yang ("Fast constant-time gcd computation and modular inversion",
 * 2019) in rounds of 62, arranged as in libsecp256k1's modinv64. VARIABLE TIME: it
 * skips runs of zero bits and stops when done, so its time depends on the value.
 */
#include "field/host.h"

#include <string.h>

typedef __int128 i128;

/* Signed numbers in radix 2^62: all limbs but the top one are in [0, 2^62), the top
 * one carries the sign. 7 limbs hold 6 * 64 bits, 5 hold 4 * 64, with bits to spare
 * for the range (-2p, 2p). */
#define LIMBS62_MAX 7
#define MASK62      (UINT64_MAX >> 2)

struct signed62 {
    int64_t v[LIMBS62_MAX];
};

/* 2^62 times the product of 62 divstep matrices. |u| + |v| <= 2^62 and
 * |q| + |r| <= 2^62. */
struct transition {
    int64_t u, v, q, r;
};

static uint32_t limbs62(uint32_t limbs64)
{
    return (64 * limbs64 + 61) / 62;
}

static void to_signed62(struct signed62 *out, const uint64_t *in, uint32_t limbs64)
{
    for (uint32_t k = 0; k < limbs62(limbs64); k++) {
        uint32_t word = 62 * k / 64, shift = 62 * k % 64;
        uint64_t v = in[word] >> shift;
        if (shift && word + 1 < limbs64)
            v |= in[word + 1] << (64 - shift);
        out->v[k] = (int64_t)(v & MASK62);
    }
}

/* in: normalised, in [0, 2^(64 * limbs64)). Word w begins 2w bits into limb w, and
 * 2w <= 10, so it ends in limb w + 1. */
static void from_signed62(uint64_t *out, const struct signed62 *in, uint32_t limbs64)
{
    for (uint32_t w = 0; w < limbs64; w++)
        out[w] = (uint64_t)in->v[w] >> 2 * w | (uint64_t)in->v[w + 1] << (62 - 2 * w);
}

/* 62 divsteps on the low 62 bits of f and g, which is all they depend on; f odd.
 * eta is -delta. Returns the new eta. Arithmetic is modulo 2^64 throughout. */
static int64_t divsteps62(int64_t eta, uint64_t f, uint64_t g, struct transition *t)
{
    uint64_t u = 1, v = 0, q = 0, r = 1;
    for (int left = 62;;) {
        int zeros = __builtin_ctzll(g | UINT64_MAX << left);
        g >>= zeros;
        u <<= zeros;
        v <<= zeros;
        eta -= zeros;
        left -= zeros;
        if (left == 0)
            break;

        bool swap = eta < 0;
        if (swap) {
            uint64_t f0 = f, u0 = u, v0 = v;
            eta = -eta;
            f = g, g = 0 - f0;
            u = q, q = 0 - u0;
            v = r, r = 0 - v0;
        }
        /* The next `limit` steps cannot swap again, so they only add multiples of f
         * to g: w * f clears that many low bits of g at once. w = -g/f to 6 bits
         * (f * (2 - f * f) is 1/f to 6 bits) just after a swap, when limit tends to be
         * larger; else to 4 bits, which is cheaper. */
        int limit = eta + 1 > left ? left : (int)eta + 1;
        uint64_t mask = UINT64_MAX >> (64 - limit);
        uint64_t w;
        if (swap)
            w = (f * g * (f * f - 2)) & mask & 63;
        else
            w = (0 - (f + (((f + 1) & 4) << 1)) * g) & mask & 15;
        g += f * w;
        q += u * w;
        r += v * w;
    }
    *t = (struct transition){(int64_t)u, (int64_t)v, (int64_t)q, (int64_t)r};
    return eta;
}

/* (f, g) = t * (f, g) / 2^62, which is exact; both stay in (-2p, 2p). */
static void update_fg(struct signed62 *f, struct signed62 *g, const struct transition *t,
                      uint32_t len)
{
    i128 cf = (i128)t->u * f->v[0] + (i128)t->v * g->v[0];
    i128 cg = (i128)t->q * f->v[0] + (i128)t->r * g->v[0];
    for (uint32_t i = 1; i < len; i++) {
        cf = (cf >> 62) + (i128)t->u * f->v[i] + (i128)t->v * g->v[i];
        cg = (cg >> 62) + (i128)t->q * f->v[i] + (i128)t->r * g->v[i];
        f->v[i - 1] = (int64_t)((uint64_t)cf & MASK62);
        g->v[i - 1] = (int64_t)((uint64_t)cg & MASK62);
    }
    f->v[len - 1] = (int64_t)(cf >> 62);
    g->v[len - 1] = (int64_t)(cg >> 62);
}

/* (d, e) = t * (d, e) / 2^62 mod p. In and out in (-2p, p): a negative one first counts
 * as itself plus p, so that t's rows give (-2^62 p, 2^62 p), and the multiple of p that
 * makes the low 62 bits zero is taken from (-2^62, 0]. */
static void update_de(struct signed62 *d, struct signed62 *e, const struct transition *t,
                      const struct signed62 *p, uint64_t pinv62, uint32_t len)
{
    int64_t sd = d->v[len - 1] >> 63, se = e->v[len - 1] >> 63;
    int64_t md = (t->u & sd) + (t->v & se);
    int64_t me = (t->q & sd) + (t->r & se);
    i128 cd = (i128)t->u * d->v[0] + (i128)t->v * e->v[0];
    i128 ce = (i128)t->q * d->v[0] + (i128)t->r * e->v[0];
    md -= (int64_t)((pinv62 * (uint64_t)cd + (uint64_t)md) & MASK62);
    me -= (int64_t)((pinv62 * (uint64_t)ce + (uint64_t)me) & MASK62);
    cd += (i128)p->v[0] * md;
    ce += (i128)p->v[0] * me;
    for (uint32_t i = 1; i < len; i++) {
        cd = (cd >> 62) + (i128)t->u * d->v[i] + (i128)t->v * e->v[i] + (i128)p->v[i] * md;
        ce = (ce >> 62) + (i128)t->q * d->v[i] + (i128)t->r * e->v[i] + (i128)p->v[i] * me;
        d->v[i - 1] = (int64_t)((uint64_t)cd & MASK62);
        e->v[i - 1] = (int64_t)((uint64_t)ce & MASK62);
    }
    d->v[len - 1] = (int64_t)(cd >> 62);
    e->v[len - 1] = (int64_t)(ce >> 62);
}

/* x = (negate ? -x : x) + (add_p ? p : 0), carried into normal form. */
static void adjust(struct signed62 *x, bool negate, bool add_p, const struct signed62 *p,
                   uint32_t len)
{
    int64_t carry = 0;
    for (uint32_t i = 0; i < len; i++) {
        int64_t s = carry + (negate ? -x->v[i] : x->v[i]) + (add_p ? p->v[i] : 0);
        carry = s >> 62;
        x->v[i] = i + 1 < len ? (int64_t)((uint64_t)s & MASK62) : s;
    }
}

/* x from (-2p, p) to [0, p), negated if asked. */
static void normalise(struct signed62 *x, bool negate, const struct signed62 *p, uint32_t len)
{
    adjust(x, false, x->v[len - 1] < 0, p, len); /* (-p, p) */
    adjust(x, negate, false, p, len);            /* (-p, p) */
    adjust(x, false, x->v[len - 1] < 0, p, len); /* [0, p) */
}

static bool is_zero(const struct signed62 *x, uint32_t len)
{
    int64_t any = 0;
    for (uint32_t i = 0; i < len; i++)
        any |= x->v[i];
    return any == 0;
}

/* Invariants: f = d * in / R^2 and g = e * in / R^2 modulo p, up to the same power of 2
 * on both sides. It ends with g = 0 and f = +-1, as p is prime. Bound: (49 b + 57) / 17
 * divsteps for b bits, which is 1110 or 18 rounds for 384 and 741 or 12 for 256.
 * Starting e at R^2 in place of 1 makes the result come out in Montgomery form. */
static inline __attribute__((always_inline)) void
invert(const struct gx_prime *prime, uint64_t *out, const uint64_t *in, uint32_t limbs)
{
    const uint32_t len = limbs62(limbs);
    const uint64_t pinv62 = (0 - prime->ninv64) & MASK62;
    struct signed62 p, f, g, d = {{0}}, e;
    struct transition t;
    int64_t eta = -1;

    to_signed62(&p, prime->p, limbs);
    to_signed62(&g, in, limbs);
    to_signed62(&e, prime->r2, limbs);
    f = p;
    do {
        uint64_t f0 = (uint64_t)f.v[0] | (uint64_t)f.v[1] << 62;
        uint64_t g0 = (uint64_t)g.v[0] | (uint64_t)g.v[1] << 62;
        eta = divsteps62(eta, f0, g0, &t);
        update_de(&d, &e, &t, &p, pinv62, len);
        update_fg(&f, &g, &t, len);
    } while (!is_zero(&g, len));
    normalise(&d, f.v[len - 1] < 0, &p, len);
    from_signed62(out, &d, limbs);
}

void gx__invert_one(const struct gx_prime *prime, uint64_t *out, const uint64_t *in)
{
    if (prime->limbs == 6)
        invert(prime, out, in, 6);
    else
        invert(prime, out, in, 4);
}
