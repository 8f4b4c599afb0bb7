// SPDX-License-Identifier: Apache-2.0
//
// main() of the kernels that take element i of each operand to element i of OUT, EACH elements
// per invocation, a workgroup apart. Needs compute(). Everything is loaded before anything is
// looked at: a check between two loads would make the second wait for the first.
@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let first = first_index(group, groups) * ${EACH}u + local;
@for e 0 EACH
    let i$e = first + ${e*WORKGROUP}u;
    var x$e: Element;
    var y$e: Element;
    var z$e: Element;
    if i$e < push.n {
        x$e = load_a(i$e);
@if OPERANDS >= 2
        y$e = load_b(i$e);
@end
@if OPERANDS >= 3
        z$e = load_c(i$e);
@end
    }
@end
@for e 0 EACH
    if i$e < push.n {
        check_element(x$e, i$e);
@if OPERANDS >= 2
        check_element(y$e, i$e);
@end
@if OPERANDS >= 3
        check_element(z$e, i$e);
@end
@if OP != GX_OP_CHECK
        store_out(i$e, compute(x$e, y$e, z$e));
@end
    }
@end
}
