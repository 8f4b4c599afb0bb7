// SPDX-License-Identifier: Apache-2.0
//
// inv, div: element i of OUT is the inverse of element i of A (0 for 0), for div times element
// i of C, one by one, as the power p - 2. One product serves squaring and multiplying, so that
// the code stays short.
fn inverse(x: Element) -> Limbs {
    var exponent: Element;
@for i 0 WORDS
    exponent[$i] = ${MODULUS_MINUS_2[i]}u;
@end
    let y = cofactor(x);
    var r = factor(one());
    for (var step = ${2*32*WORDS}u; step > 0u; step--) {
        let bit = (step - 1u) >> 1u;
        let squares = (step & 1u) == 0u;
        if squares || ((exponent[bit >> 5u] >> (bit & 31u)) & 1u) != 0u {
            var other = y;
            if squares {
                other = cofactor(canonical(r));
            }
            r = multiply(r, other);
        }
    }
    return r;
}

@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let i = first_index(group, groups) + local;
    if i >= push.n {
        return;
    }
    let x = load_a(i);
    check_element(x, i);
    var r = inverse(x);
@if OP == GX_DIV
    let c = load_c(i);
    check_element(c, i);
    r = multiply(r, cofactor(c));
@end
    store_out(i, canonical(r));
}
