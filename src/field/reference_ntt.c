/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference transform: the definition split into even and odd coefficients, with the reference
 * kernels and no table. Never optimised.
 */
#include "field/reference_ntt.h"

#include <string.h>

#include "field/scalar.h"

struct element {
    uint64_t limb[GX_LIMBS_MAX];
};

struct context {
    const struct gx_prime *prime;
    const gx_host_fn *fn;
};

static struct element apply(const struct context *c, enum gx_host_kernel kernel,
                            const struct element *a, const struct element *b)
{
    struct element r = {{0}};
    c->fn[kernel](c->prime,
                  &(struct gx_host_args){.out = r.limb, .a = a->limb, .b = b->limb, .n = 1});
    return r;
}

static struct element power(const struct context *c, struct element base, uint64_t exponent)
{
    struct element r;
    memcpy(r.limb, c->prime->one, sizeof r.limb);
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            r = apply(c, GX_HOST_MUL, &r, &base);
        base = apply(c, GX_HOST_MUL, &base, &base);
    }
    return r;
}

/* out[k] = the sum of in[i * stride] * root^(i * k), n of them. */
static void transform(const struct context *c, const struct element *in, size_t stride,
                      struct element *out, size_t n, struct element root)
{
    struct element square = apply(c, GX_HOST_MUL, &root, &root), w;
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    transform(c, in, 2 * stride, out, n / 2, square);
    transform(c, in + stride, 2 * stride, out + n / 2, n / 2, square);
    memcpy(w.limb, c->prime->one, sizeof w.limb);
    for (size_t k = 0; k < n / 2; k++) {
        struct element even = out[k], odd = apply(c, GX_HOST_MUL, &out[k + n / 2], &w);
        out[k] = apply(c, GX_HOST_ADD, &even, &odd);
        out[k + n / 2] = apply(c, GX_HOST_SUB, &even, &odd);
        w = apply(c, GX_HOST_MUL, &w, &root);
    }
}

/* Where element i of transform t lies, among those of 2^log2 elements each or in columns. */
static size_t place(const struct gx_reference_ntt *ntt, size_t t, size_t i, uint32_t log2,
                    uint32_t reversed, size_t stride)
{
    size_t at = ntt->flags & reversed ? (size_t)gx__bit_reverse(i, log2) : i;
    return ntt->flags & GX_NTT_COLUMNS ? at * stride + t : (t << log2) + at;
}

static void load(const struct context *c, const struct gx_reference_ntt *ntt, size_t t,
                 struct element *x)
{
    uint32_t log2_in = ntt->log2_n - ntt->log2_pad;
    struct element shift, s;
    size_t bytes = c->prime->limbs * sizeof(uint64_t), n = (size_t)1 << ntt->log2_n;
    memset(x, 0, n * sizeof *x);
    memcpy(shift.limb, ntt->shift, sizeof shift.limb);
    memcpy(s.limb, c->prime->one, sizeof s.limb);
    for (size_t i = 0; i < n >> ntt->log2_pad; i++) {
        const char *from = ntt->in;
        size_t at = place(ntt, t, i, log2_in, GX_NTT_REVERSED_IN, ntt->stride_in);
        memcpy(x[i].limb, from + at * bytes, bytes);
        if (ntt->flags & GX_NTT_COSET && !(ntt->flags & GX_NTT_INVERSE))
            x[i] = apply(c, GX_HOST_MUL, &x[i], &s);
        s = apply(c, GX_HOST_MUL, &s, &shift);
    }
}

static void store(const struct context *c, const struct gx_reference_ntt *ntt, size_t t,
                  const struct element *x)
{
    size_t bytes = c->prime->limbs * sizeof(uint64_t), n = (size_t)1 << ntt->log2_n;
    bool inverse = ntt->flags & GX_NTT_INVERSE, coset = ntt->flags & GX_NTT_COSET;
    struct element scale = {{0}}, shift;
    gx__int_one(c->prime, scale.limb, n);
    scale = apply(c, GX_HOST_INV, &scale, &scale);
    memcpy(shift.limb, ntt->shift, sizeof shift.limb);
    shift = apply(c, GX_HOST_INV, &shift, &shift);
    for (size_t i = 0; i < n; i++) {
        struct element r = inverse ? apply(c, GX_HOST_MUL, &x[i], &scale) : x[i];
        size_t at = place(ntt, t, i, ntt->log2_n, GX_NTT_REVERSED_OUT, ntt->stride_out);
        memcpy((char *)ntt->out + at * bytes, r.limb, bytes);
        if (coset)
            scale = apply(c, GX_HOST_MUL, &scale, &shift);
    }
}

size_t gx__reference_ntt_scratch(uint32_t log2_n, size_t batch)
{
    return (batch + 1) * sizeof(struct element) << log2_n;
}

/* Everything is read before anything is written, because columns share memory in place. */
void gx__reference_ntt(const struct gx_prime *prime, const gx_host_fn *fn,
                       const struct gx_reference_ntt *ntt)
{
    const struct context c = {prime, fn};
    size_t n = (size_t)1 << ntt->log2_n;
    struct element *x = ntt->scratch, *result = x + n, root = {{0}};
    memcpy(root.limb, ntt->root, sizeof root.limb);
    if (ntt->flags & GX_NTT_INVERSE)
        root = power(&c, root, n - 1);
    for (size_t t = 0; t < ntt->batch; t++) {
        load(&c, ntt, t, x);
        transform(&c, x, 1, result + t * n, n, root);
    }
    for (size_t t = 0; t < ntt->batch; t++)
        store(&c, ntt, t, result + t * n);
}
