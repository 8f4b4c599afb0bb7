// SPDX-License-Identifier: Apache-2.0
//
// ../lazy64.glsl in WGSL: numbers that are added without carries, with the product of
// mul_columns.wgsl. There is why no limb and no column overflows.
alias Lazy = array<i32, $LIMBS>;
alias LazyBy = Limbs;
alias LazyWord = i32;

fn lazy_by(x: Element) -> LazyBy { return cofactor(x); }

fn lazy_of(x: Element) -> Lazy {
    let limbs = factor(x);
    var r: Lazy;
@for k 0 LIMBS
    r[$k] = i32(limbs[$k]);
@end
    return r;
}

fn lazy_add(x: Lazy, y: Lazy) -> Lazy {
    var r: Lazy;
@for k 0 LIMBS
    r[$k] = x[$k] + y[$k];
@end
    return r;
}

fn lazy_sub(x: Lazy, y: Lazy) -> Lazy {
    var r: Lazy;
@for k 0 LIMBS
    r[$k] = x[$k] - y[$k];
@end
    return r;
}

fn carried(x: Lazy) -> Lazy {
    var r: Lazy;
    r[0] = x[0] & ${LIMB_MASK}i;
@for k 1 LIMBS-1
    r[$k] = (x[$k] & ${LIMB_MASK}i) + (x[${k-1}] >> ${LIMB_BITS}u);
@end
    r[${LIMBS-1}] = x[${LIMBS-1}] + (x[${LIMBS-2}] >> ${LIMB_BITS}u);
    return r;
}

fn low_word(x: i64) -> u32 { return u32(u64(x)); }

fn lazy_mul(x: Lazy, y: LazyBy) -> Lazy {
@for i 0 LIMBS
    let x$i = i64(x[$i]);
    let y$i = i64(i32(y[$i]));
@end
@for k 0 2*LIMBS-1
    var t$k = 0li
@for i 0 LIMBS
@if k >= i && k < i+LIMBS
        + x$i * y${k-i}
@end
@end
        ;
@end
    var t${2*LIMBS-1} = 0li;
@if SPARSE
@for i 0 LIMBS
    {
        let low = low_word(t$i);
        let m = i64(i32(low & ${LIMB_MASK}u));
        t${i+1} += (t$i >> ${LIMB_BITS}u) + i64(u64(low << ${32-LIMB_BITS}u));
        t${i+2} -= m * ${bits(MODULUS,2*LIMB_BITS,LIMB_BITS)+1}li;
@for j 3 LIMBS
        t${i+j} -= m * ${bits(MODULUS,LIMB_BITS*j,LIMB_BITS)}li;
@end
    }
@end
@else
@for i 0 LIMBS-2
    {
        let m = i64(i32(low_word(t$i) & ${LIMB_MASK}u));
        t${i+1} += t$i >> ${LIMB_BITS}u;
@for j 0 LIMBS
        t${i+1+j} += m * ${FOLD[j]}li;
@end
    }
@end
@for i LIMBS-2 LIMBS
    {
        let m = i64(i32((low_word(t$i) * ${NINV & LIMB_MASK}u) & ${LIMB_MASK}u));
@for j 0 LIMBS
        t${i+j} += m * ${bits(MODULUS,LIMB_BITS*j,LIMB_BITS)}li;
@end
        t${i+1} += t$i >> ${LIMB_BITS}u;
    }
@end
@end
    var r: Lazy;
    var carry = 0li;
@for k 0 LIMBS-1
    carry += t${LIMBS+k} + ${(LIMB_MASK+1)/2}li;
    r[$k] = i32(low_word(carry) & ${LIMB_MASK}u) - ${(LIMB_MASK+1)/2}i;
    carry >>= ${LIMB_BITS}u;
@end
    r[${LIMBS-1}] = i32(low_word(carry + t${2*LIMBS-1}));
    return r;
}

fn quotient(x: Lazy) -> i32 {
    let top = x[${LIMBS-1}] + (x[${LIMBS-2}] >> ${LIMB_BITS}u);
    return i32(low_word((i64(top) * ${QUOTIENT}li - 4398046511104li) >> 52u));
}

// x + multiple * p, in limbs 0 .. LIMB_MASK and one more.
fn plus_modulus(x: Lazy, multiple: i32) -> array<u32, ${LIMBS+1}> {
    let m = i64(multiple);
    var r: array<u32, ${LIMBS+1}>;
    var carry = 0li;
@for k 0 LIMBS
    carry += i64(x[$k]) + m * ${bits(MODULUS,LIMB_BITS*k,LIMB_BITS)}li;
    r[$k] = low_word(carry) & ${LIMB_MASK}u;
    carry >>= ${LIMB_BITS}u;
@end
    r[$LIMBS] = low_word(carry);
    return r;
}

fn settled(x: Lazy) -> Lazy {
    let limbs = plus_modulus(x, -quotient(x));
    var r: Lazy;
@for k 0 LIMBS
    r[$k] = i32(limbs[$k]);
@end
    return r;
}

// x / 2^halvings: below p, or if any will do, below 2p.
fn lazy_element(x: Lazy, halvings: u32, any: bool) -> Element {
    let q = quotient(x);
    let low = u32(x[0]) - u32(q) * ${bits(MODULUS,0,LIMB_BITS)}u;
    let made_even = i32((low * ${NINV & LIMB_MASK}u) & ((1u << halvings) - 1u));
    let limbs = plus_modulus(x, made_even - q);
    var r: Limbs;
@for k 0 LIMBS
    r[$k] = ((limbs[$k] >> halvings) | (limbs[${k+1}] << (${LIMB_BITS}u - halvings))) & ${LIMB_MASK}u;
@end
    if any {
        return canonical(r);
    }
    return canonical(reduce_limbs(r));
}
