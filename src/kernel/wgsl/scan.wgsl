// SPDX-License-Identifier: Apache-2.0
//
// prefix-sum, prefix-product, divide-linear, evaluate, powers and cosets, all of which go through
// runs of elements, one in each invocation: device/gpu/passes_poly.c says which pass does what. B is
// the point, or the base of powers; C has what runs begin with. stage0: see ../interface.h; stage1:
// of evaluate in bit-reversed order the number of runs, whose elements are so far apart (0: they
// are neighbours), of cosets the elements of a copy.
fn has(flag: u32) -> bool {
    return (push.stage0 & flag) != 0u;
}

fn run_size() -> u32 {
    return push.stage0 & 0xffu;
}

// Where step j of run t, which has `length`, finds its element.
fn source(t: u32, j: u32, length: u32) -> u32 {
    let i = t * run_size() + j;
    let last = length - 1u - j;
@if OP == GX_COSETS
    return i % push.stage1;
@else
@if OP == GX_EVALUATE
    if push.stage1 == 0u {
        return t * run_size() + last;
    }
    return t + push.stage1 * ((reverseBits(last) >> (31u - firstLeadingBit(run_size()))) >> 1u);
@else
@if OP == GX_DIVIDE_LINEAR
    return select(i, push.n - 1u - i, has(${SCAN_CALLER}u));
@else
    return i;
@end
@end
@end
}

// The point, squared as often as this pass needs.
fn point(t: u32) -> Element {
    var z = load_b(0u);
    if has(${SCAN_OPERAND}u) && t == 0u {
        check_element(z, 0u);
    }
    let squarings = (push.stage0 >> ${SCAN_SQUARINGS}u) & 0xffu;
    for (var i = 0u; i < squarings; i++) {
        z = canonical(multiply(factor(z), cofactor(z)));
    }
    return z;
}

fn nothing() -> Element {
    var r: Element;
@if OP == GX_PREFIX_PRODUCT
@for i 0 WORDS
    r[$i] = ${ONE[i]}u;
@end
@end
@if OP == GX_POWERS
@for i 0 WORDS
    r[$i] = ${ONE[i]}u;
@end
@end
    return r;
}

// Before and after element i.
fn store(i: u32, before: Element, after: Element) {
@if OP == GX_POWERS
    store_out(i, before);
@else
    if !has(${SCAN_CALLER}u) {
        store_out(i, before);
        return;
    }
@if OP == GX_DIVIDE_LINEAR
    if i + 1u < push.n { // the last one is the remainder
        store_out(push.n - 2u - i, after);
    }
@else
    store_out(i, after);
@end
@end
}

@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let t = first_index(group, groups) + local;
    let first = t * run_size();
    if first >= push.n {
        return;
    }
    let length = min(run_size(), push.n - first);
    var sum = nothing();
    if has(${SCAN_CARRY}u) {
        sum = load_c(t);
    }
@if POINT
    let y = cofactor(point(t));
@end
    for (var j = 0u; j < length; j++) {
@if OP != GX_POWERS
        let i = source(t, j, length);
        let x = load_a(i);
        if has(${SCAN_OPERAND}u) {
            check_element(x, i);
        }
@end
@if OP == GX_COSETS
        sum = load_c((first + j) / push.stage1);
@end
        let before = sum;
@if OP == GX_PREFIX_SUM
        sum = add(sum, x);
@else
@if POINT
        sum = canonical(multiply(factor(sum), y));
@if OP != GX_POWERS
        sum = add(sum, x);
@end
@else
        sum = canonical(multiply(factor(sum), cofactor(x)));
@end
@end
        if has(${SCAN_DOWN}u) {
            store(first + j, before, sum);
        }
    }
    if !has(${SCAN_DOWN}u) {
        store_out(t, sum);
    }
@if OP == GX_DIVIDE_LINEAR
    if has(${SCAN_DOWN}u) && has(${SCAN_CALLER}u) && t == 0u {
        var none: Element;
        store_out(push.n - 1u, none);
    }
@end
}
