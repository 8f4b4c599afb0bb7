// SPDX-License-Identifier: Apache-2.0
//
// The Montgomery product in limbs so short that a column of it, 2 LIMBS products and what the
// column below carries into it, stays below 2^32 (wgsl.c chooses LIMB_BITS by that): nothing is
// carried between the columns of t before the end.
//
// With y shifted by SHIFT, out = (x y 2^SHIFT + m p) / 2^(LIMB_BITS LIMBS) < p (p / R + 1) < 2p.
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
        let low = t0 + x0 * b;
        let m = (low * ${NINV & LIMB_MASK}u) & ${LIMB_MASK}u;
        t0 = t1 + x1 * b + m * ${bits(MODULUS,LIMB_BITS,LIMB_BITS)}u
            + ((low + m * ${bits(MODULUS,0,LIMB_BITS)}u) >> ${LIMB_BITS}u);
@for j 2 LIMBS
        t${j-1} = t$j + x$j * b + m * ${bits(MODULUS,LIMB_BITS*j,LIMB_BITS)}u;
@end
        t${LIMBS-1} = 0u;
    }
    var t: Limbs;
    var c = 0u;
@for j 0 LIMBS
    c += t$j;
    t[$j] = c & ${LIMB_MASK}u;
    c >>= ${LIMB_BITS}u;
@end
    return reduce_limbs(t);
}
