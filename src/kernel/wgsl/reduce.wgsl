// SPDX-License-Identifier: Apache-2.0
//
// sum and dot (device/gpu/passes.c): invocation t adds up the elements t, t + T, t + 2T, ..., or their
// products; a workgroup's sums become one, which goes to element `group` of OUT. stage0: the
// workgroups; stage1: 1 where the only one adds what OUT, bound as C too, held before.
var<workgroup> lane: array<Element, $WORKGROUP>;

@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let first = first_index(group, groups);
    let threads = push.stage0 * ${WORKGROUP}u;
    if first >= threads {
        return;
    }
    var sum: Element;
    for (var i = first + local; i < push.n; i += threads) {
        let x = load_a(i);
@if OP == GX_DOT
        let y = load_b(i);
        check_element(x, i);
        check_element(y, i);
        sum = add(sum, canonical(multiply(factor(x), cofactor(y))));
@else
        check_element(x, i);
        sum = add(sum, x);
@end
    }
    lane[local] = sum;
    workgroupBarrier();
    for (var size = ${WORKGROUP}u; size > 1u;) {
        let half = (size + 1u) / 2u;
        if local < size - half {
            lane[local] = add(lane[local], lane[local + half]);
        }
        workgroupBarrier();
        size = half;
    }
    if local == 0u {
        var total = lane[0];
        if push.stage1 != 0u {
            total = add(total, load_c(0u));
        }
        store_out(first / ${WORKGROUP}u, total);
    }
}
