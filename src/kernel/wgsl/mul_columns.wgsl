// SPDX-License-Identifier: Apache-2.0
//
// The Montgomery product as ../mul64.glsl makes it, for adapters that have 64-bit integers: limbs
// of 29 or 30 bits, sums of signed products in 64-bit columns, no carry until the end, and many
// limbs multiplied by subtractive Karatsuba, one level deep, LOW and HIGH limbs of them. There is
// why, and radix.c proves that no column overflows. Without loops, so it takes long to compile.
fn multiply(x_in: Limbs, y_in: Limbs) -> Limbs {
@for i 0 LIMBS
    let x$i = i32(x_in[$i]);
    let y$i = i32(y_in[$i]);
@end
@if HIGH == 0
@for k 0 2*LIMBS-1
    var t$k = u64(0li
@for i 0 LIMBS
@if k >= i && k < i+LIMBS
        + i64(x$i) * i64(y${k-i})
@end
@end
        );
@end
@else
@for i 0 LOW
@if i < HIGH
    let dx$i = x$i - x${LOW+i};
    let dy$i = y${LOW+i} - y$i;
@else
    let dx$i = x$i;
    let dy$i = -y$i;
@end
@end
@for k 0 2*LOW-1
    let low$k = 0li
@for i 0 LOW
@if k >= i && k < i+LOW
        + i64(x$i) * i64(y${k-i})
@end
@end
        ;
@end
@for k 0 2*HIGH-1
    let high$k = 0li
@for i 0 HIGH
@if k >= i && k < i+HIGH
        + i64(x${LOW+i}) * i64(y${LOW+k-i})
@end
@end
        ;
@end
@for k 0 2*LOW-1
    let middle$k = low$k
@if k < 2*HIGH-1
        + high$k
@end
@for i 0 LOW
@if k >= i && k < i+LOW
        + i64(dx$i) * i64(dy${k-i})
@end
@end
        ;
@end
@for k 0 2*LIMBS-1
    var t$k = u64(0li
@if k < 2*LOW-1
        + low$k
@end
@if k >= LOW && k < 3*LOW-1
        + middle${k-LOW}
@end
@if k >= 2*LOW && k < 2*LOW+2*HIGH-1
        + high${k-2*LOW}
@end
        );
@end
@end
    var t${2*LIMBS-1} = 0lu;

@for i 0 LIMBS-2
    {
        let m = i64(i32(u32(t$i) & ${LIMB_MASK}u));
        t${i+1} += t$i >> ${LIMB_BITS}u;
@for j 0 LIMBS
        t${i+1+j} += u64(m * ${FOLD[j]}li);
@end
    }
@end
@for i LIMBS-2 LIMBS
    {
        let m = i64(i32((u32(t$i) * ${NINV & LIMB_MASK}u) & ${LIMB_MASK}u));
@for j 0 LIMBS
        t${i+j} += u64(m * ${bits(MODULUS,LIMB_BITS*j,LIMB_BITS)}li);
@end
        t${i+1} += t$i >> ${LIMB_BITS}u;
    }
@end
    var r: Limbs;
    var carry = 0lu;
@for k 0 LIMBS
    carry += t${LIMBS+k};
    r[$k] = u32(carry) & ${LIMB_MASK}u;
    carry >>= ${LIMB_BITS}u;
@end
    return reduce_limbs(r);
}
