// SPDX-License-Identifier: Apache-2.0
//
// The Montgomery product in words of 32 bits, for adapters that have 64-bit integers (an
// extension of WGSL in wgpu): as mul_carry.wgsl, and Limbs are Elements.
alias Limbs = Element;

fn factor(x: Element) -> Limbs { return x; }
fn cofactor(x: Element) -> Limbs { return x; }
fn canonical(x: Limbs) -> Element { return x; }

fn multiply(x: Limbs, y_in: Limbs) -> Limbs {
@if SHORT
// one more than the loop has rounds, see curve.wgsl
    var y: array<u32, ${WORDS+1}>;
@for j 0 WORDS
    y[$j] = y_in[$j];
@end
@else
    var y = y_in; // indexed by a variable
@end
@for j 0 WORDS
    let x$j = u64(x[$j]);
    var t$j = 0u;
@end
    for (var i = 0u; i < ${WORDS}u; i++) {
        let b = u64(y[i]);
        var s = 0lu;
        var c = 0lu;
@for j 0 WORDS
        s = x$j * b + u64(t$j) + c;
        t$j = u32(s);
        c = s >> 32u;
@end
        let above = u32(c);
        let m = u64(t0 * ${NINV}u);
        c = (m * ${MODULUS[0]}lu + u64(t0)) >> 32u;
@for j 1 WORDS
        s = m * ${MODULUS[j]}lu + u64(t$j) + c;
        t${j-1} = u32(s);
        c = s >> 32u;
@end
        t${WORDS-1} = above + u32(c);
    }
    var t: Limbs;
@for j 0 WORDS
    t[$j] = t$j;
@end
    return reduce_once(t);
}
