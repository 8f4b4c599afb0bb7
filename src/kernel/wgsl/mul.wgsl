// SPDX-License-Identifier: Apache-2.0
//
// mul, sqr, mul-add, to-mont and from-mont.
fn compute(a: Element, b: Element, c: Element) -> Element {
@if OP == GX_SQR
    var r = a;
    for (var i = 0u; i < ${REPEAT}u; i++) {
        r = canonical(multiply(factor(r), cofactor(r)));
    }
    return r;
@else
@if OP == GX_TO_MONT
    var second: Element;
@for i 0 WORDS
    second[$i] = ${R2[i]}u;
@end
@else
@if OP == GX_FROM_MONT
    var second: Element;
    second[0] = 1u;
@else
    let second = b;
@end
@end
    let y = cofactor(second);
    var r = factor(a);
@if REPEAT > 1
    for (var i = 0u; i < ${REPEAT}u; i++) {
        r = multiply(r, y);
    }
@else
    r = multiply(r, y);
@end
@if OP == GX_MUL_ADD
    return add(canonical(r), c);
@else
    return canonical(r);
@end
@end
}
