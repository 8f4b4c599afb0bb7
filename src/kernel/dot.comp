/* SPDX-License-Identifier: Apache-2.0
 *
 * dot: the sum of a[i] * b[i], over the elements t, t + T, t + 2T, ... in invocation t. Built with
 * INT64 = 1 (mul64.glsl) or 0 (mul32.glsl).
 */
#version 450
#include "prime.glsl"
#if INT64
#include "mul64.glsl"
#else
#include "mul32.glsl"
#endif
#include "reduce.glsl"

#if INT64
/* The limbs of products, each summed separately: products are below 2p and need neither carries nor
 * a reduction until the end. For up to 2^29 of them no limb exceeds 2^60. */
struct Total {
    int64_t limb[LIMBS];
};

Total nothing()
{
    Total sum;
    [[unroll]] for (int k = 0; k < LIMBS; k++)
        sum.limb[k] = 0;
    return sum;
}

void accumulate(inout Total sum, Element a, Element b)
{
    Limbs product = multiply(factor(a), cofactor(b));
    [[unroll]] for (int k = 0; k < LIMBS; k++)
        sum.limb[k] += int64_t(product.limb[k]);
}

/* The words below R, and the rest, which counts multiples of R. */
Element element_of(Total sum)
{
    uint limb[LIMBS];
    int64_t carry = 0;
    [[unroll]] for (int k = 0; k < LIMBS; k++) {
        carry += sum.limb[k];
        limb[k] = uint(carry) & LIMB_MASK;
        carry >>= LIMB_BITS;
    }
    uint above = uint(carry) << SHIFT | limb[LIMBS - 1] >> (LIMB_BITS - SHIFT);
    return add(reduce_fully(words_of(limb)), times_one(above));
}
#else
#define Total Element

Total nothing() { return zero(); }
void accumulate(inout Total sum, Element a, Element b)
{
    sum = add(sum, canonical(multiply(factor(a), cofactor(b))));
}
Element element_of(Total sum) { return sum; }
#endif

/* The next elements are loaded before these are processed. */
void main()
{
    uint threads = GROUPS * WORKGROUP, i = own_index();
    Total sum = nothing();
    if (group_index() >= GROUPS)
        return;
    Element x, y;
    if (i < push.n) {
        x = load_a(i);
        y = load_b(i);
    }
    while (i < push.n) {
        Element next_x = x, next_y = y;
        uint next = i + threads;
        if (next < push.n) {
            next_x = load_a(next);
            next_y = load_b(next);
        }
        check_element(x, i);
        check_element(y, i);
        accumulate(sum, x, y);
        x = next_x;
        y = next_y;
        i = next;
    }
    put_partial(group_index(), join(element_of(sum)));
}
