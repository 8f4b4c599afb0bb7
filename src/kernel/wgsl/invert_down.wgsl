// SPDX-License-Identifier: Apache-2.0
//
// inv, div: the way back of invert_up.wgsl. Element t of B is now the inverse of the product of
// the elements t, t + stage0, ... of A. From the last of them to the first, times the product
// before it is its inverse; times itself is what the next one needs.
@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let t = first_index(group, groups) + local;
    let threads = push.stage0;
    if t >= threads {
        return;
    }
    var rest = factor(load_b(t));
    for (var k = (push.n - t + threads - 1u) / threads; k > 0u; k--) {
        let i = t + (k - 1u) * threads;
        let x = load_a(i); // checked on the way up
        var before = one();
        if k > 1u {
            before = load_prefix(i - threads);
        }
        var own = multiply(rest, cofactor(before));
@if OP == GX_DIV
        let c = load_c(i);
        check_element(c, i);
        own = multiply(own, cofactor(c));
@end
        rest = multiply(rest, cofactor(not_zero(x)));
        var r = canonical(own);
        if is_zero(x) {
            r = x;
        }
        store_out(i, r);
    }
}
