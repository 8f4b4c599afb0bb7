// SPDX-License-Identifier: Apache-2.0
//
// main() of the kernels that take element i of each operand to element i of OUT. Needs
// compute(). Everything is loaded before anything is looked at: a check between two loads
// would make the second wait for the first.
@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let i = first_index(group, groups) + local;
    if i >= push.n {
        return;
    }
    let x = load_a(i);
    var y = x;
    var z = x;
@if OPERANDS >= 2
    y = load_b(i);
@end
@if OPERANDS >= 3
    z = load_c(i);
@end
    check_element(x, i);
@if OPERANDS >= 2
    check_element(y, i);
@end
@if OPERANDS >= 3
    check_element(z, i);
@end
@if OP != OP_CHECK
    store_out(i, compute(x, y, z));
@end
}
