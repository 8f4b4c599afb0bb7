// SPDX-License-Identifier: Apache-2.0
//
// A number as limbs of LIMB_BITS bits, all below 2^LIMB_BITS. factor, cofactor and canonical
// are how kernels go between Elements and what multiply takes and gives: x and y become
// x y / R, where cofactor has shifted y by what LIMB_BITS * LIMBS is more than R has bits.
alias Limbs = array<u32, $LIMBS>;

fn factor(x: Element) -> Limbs {
    var r: Limbs;
@for k 0 LIMBS
@if LIMB_BITS*k/32 < WORDS
    r[$k] = ((x[${LIMB_BITS*k/32}] >> ${LIMB_BITS*k%32}u)
@if LIMB_BITS*k%32+LIMB_BITS > 32 && LIMB_BITS*k/32+1 < WORDS
        | (x[${LIMB_BITS*k/32+1}] << ${32-LIMB_BITS*k%32}u)
@end
        ) & ${LIMB_MASK}u;
@end
@end
    return r;
}

// SHIFT < LIMB_BITS, and the top limb of what is shifted ends with x.
fn cofactor(x: Element) -> Limbs {
    var r: Limbs;
    r[0] = (x[0] << ${SHIFT}u) & ${LIMB_MASK}u;
@for k 1 LIMBS
    r[$k] = ((x[${(LIMB_BITS*k-SHIFT)/32}] >> ${(LIMB_BITS*k-SHIFT)%32}u)
@if (LIMB_BITS*k-SHIFT)%32+LIMB_BITS > 32
        | (x[${(LIMB_BITS*k-SHIFT)/32+1}] << ${32-(LIMB_BITS*k-SHIFT)%32}u)
@end
        ) & ${LIMB_MASK}u;
@end
    return r;
}

fn canonical(x: Limbs) -> Element {
    var r: Element;
@for i 0 WORDS
    r[$i] = 0u
@for k 32*i/LIMB_BITS LIMBS
@if LIMB_BITS*k < 32*i+32
@if LIMB_BITS*k < 32*i
        | (x[$k] >> ${32*i-LIMB_BITS*k}u)
@else
        | (x[$k] << ${LIMB_BITS*k-32*i}u)
@end
@end
@end
        ;
@end
    return r;
}

// x < 2p, out < p.
fn reduce_limbs(x: Limbs) -> Limbs {
    var r: Limbs;
    var borrow = 0u;
@for k 0 LIMBS
    {
        let d = x[$k] - ${bits(MODULUS,LIMB_BITS*k,LIMB_BITS)}u - borrow;
        borrow = d >> 31u;
        r[$k] = d & ${LIMB_MASK}u;
    }
@end
    let keep = borrow != 0u;
@for k 0 LIMBS
    r[$k] = select(r[$k], x[$k], keep);
@end
    return r;
}
