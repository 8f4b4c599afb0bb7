// SPDX-License-Identifier: Apache-2.0
//
// inv, div: invocation t multiplies the elements t, t + stage0, ... of A into element t of OUT.
// The product before element i >= stage0 goes to element i - stage0 of the prefixes.
@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let t = first_index(group, groups) + local;
    let threads = push.stage0;
    if t >= threads {
        return;
    }
    let first = load_a(t); // threads <= n
    check_element(first, t);
    var all = factor(not_zero(first));
    for (var i = t + threads; i < push.n; i += threads) {
        store_prefix(i - threads, canonical(all));
        let x = load_a(i);
        check_element(x, i);
        all = multiply(all, cofactor(not_zero(x)));
    }
    store_out(t, canonical(all));
}
