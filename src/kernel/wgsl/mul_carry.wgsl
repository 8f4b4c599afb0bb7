// SPDX-License-Identifier: Apache-2.0
//
// The Montgomery product in limbs of 16 bits, a carry with every step (CIOS): x y + t + carry
// is at most (2^16 - 1)^2 + 2 (2^16 - 1) = 2^32 - 1. After every round t < x + p < 2p, which
// LIMBS limbs hold.
fn multiply(x: Limbs, y_in: Limbs) -> Limbs {
@if SHORT
// one more than the loop has rounds, see curve.wgsl
    var y: array<u32, ${LIMBS+1}>;
@for j 0 LIMBS
    y[$j] = y_in[$j];
@end
@else
    var y = y_in; // indexed by a variable
@end
@for j 0 LIMBS
    let x$j = x[$j];
    var t$j = 0u;
@end
    for (var i = 0u; i < ${LIMBS}u; i++) {
        let b = y[i];
        var s = 0u;
        var c = 0u;
@for j 0 LIMBS
        s = x$j * b + t$j + c;
        t$j = s & ${LIMB_MASK}u;
        c = s >> ${LIMB_BITS}u;
@end
        let above = c;
        let m = (t0 * ${NINV & LIMB_MASK}u) & ${LIMB_MASK}u;
        c = (m * ${bits(MODULUS,0,LIMB_BITS)}u + t0) >> ${LIMB_BITS}u;
@for j 1 LIMBS
        s = m * ${bits(MODULUS,LIMB_BITS*j,LIMB_BITS)}u + t$j + c;
        t${j-1} = s & ${LIMB_MASK}u;
        c = s >> ${LIMB_BITS}u;
@end
        t${LIMBS-1} = above + c;
    }
    var t: Limbs;
@for j 0 LIMBS
    t[$j] = t$j;
@end
    return reduce_limbs(t);
}
