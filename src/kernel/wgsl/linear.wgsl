// SPDX-License-Identifier: Apache-2.0
//
// add, sub, neg and the check alone. Bound by memory on any GPU.
fn compute(a: Element, b: Element, c: Element) -> Element {
@if OP == GX_ADD
    return add(a, b);
@end
@if OP == GX_SUB
    return sub(a, b);
@end
@if OP == GX_NEG
    var zero: Element;
    return sub(zero, a);
@end
@if OP == GX_OP_CHECK
    return a;
@end
}
