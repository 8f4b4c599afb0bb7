/* SPDX-License-Identifier: Apache-2.0
 *
 * dot: the sum of a[i] * b[i], over the elements t, t + T, t + 2T, ... in invocation t. Built with
 * INT64 = 1 (mul64.glsl) or 0 (mul32.glsl).
 */
#include "product.glsl"
#include "reduce.glsl"

#if INT64
/* The limbs of products, each summed separately: products are below 2p and need neither carries nor
 * a reduction until the end. For up to 2^29 of them no limb exceeds 2^60. */
struct Total {
    int64_t limb[LIMBS];
};

FUNCTION Total nothing()
{
    Total sum;
    UNROLL for (int k = 0; k < LIMBS; k++)
        sum.limb[k] = 0;
    return sum;
}

FUNCTION void accumulate(INOUT(Total) sum, Element a, Element b)
{
    Limbs product = multiply(factor(a), cofactor(b));
    UNROLL for (int k = 0; k < LIMBS; k++)
        sum.limb[k] += int64_t(product.limb[k]);
}

/* The words below R, and the rest, which counts multiples of R. */
FUNCTION Element element_of(Total sum)
{
    u32 limb[LIMBS];
    int64_t carry = 0;
    UNROLL for (int k = 0; k < LIMBS; k++) {
        carry += sum.limb[k];
        limb[k] = u32(carry) & LIMB_MASK;
        carry >>= LIMB_BITS;
    }
    u32 above = u32(carry) << SHIFT | limb[LIMBS - 1] >> (LIMB_BITS - SHIFT);
    return add(reduce_fully(words_of(limb)), times_one(above));
}
#elif defined(__CUDA__)
/* Products are below 2p: a word more counts what is above R. */
FUNCTION Total nothing()
{
    Total sum;
    sum.low = zero();
    sum.above = 0;
    return sum;
}

FUNCTION void accumulate(INOUT(Total) sum, Element a, Element b)
{
    sum = total_with(sum, multiply(factor(a), cofactor(b)));
}

FUNCTION Element element_of(Total sum)
{
    return add(reduce_fully(sum.low), times_one(sum.above));
}
#else
#define Total Element

FUNCTION Total nothing() { return zero(); }
FUNCTION void accumulate(INOUT(Total) sum, Element a, Element b)
{
    sum = add(sum, canonical(multiply(factor(a), cofactor(b))));
}
FUNCTION Element element_of(Total sum) { return sum; }
#endif

/* The next elements are loaded before these are processed. */
KERNEL
{
    u32 threads = GROUPS * WORKGROUP, i = own_index();
    Total sum = nothing();
    if (group_index() >= GROUPS)
        return;
    Element x, y;
    if (i < ELEMENTS) {
        x = load_a(i);
        y = load_b(i);
    }
    while (i < ELEMENTS) {
        Element next_x = x, next_y = y;
        u32 next = i + threads;
        if (next < ELEMENTS) {
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
