// SPDX-License-Identifier: Apache-2.0
//
// add, sub and mul of u32 and f32, EACH elements per invocation, a workgroup apart. f32 is
// soft_f32.wgsl's: no adapter promises to keep denormals.
@group(0) @binding(${OUT}) var<storage, read_write> mem_out: array<u32>;
@group(0) @binding(${A}) var<storage, read_write> mem_a: array<u32>;
@group(0) @binding(${B}) var<storage, read_write> mem_b: array<u32>;

fn compute(a: u32, b: u32) -> u32 {
@if FLOATS
@if OP == GX_ADD
    return soft_add(a, b);
@end
@if OP == GX_SUB
    return soft_add(a, b ^ 0x80000000u);
@end
@if OP == GX_MUL
    return soft_mul(a, b);
@end
@else
@if OP == GX_ADD
    return a + b;
@end
@if OP == GX_SUB
    return a - b;
@end
@if OP == GX_MUL
    return a * b;
@end
@end
}

@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let first = first_index(group, groups) * ${EACH}u + local;
    for (var k = 0u; k < ${EACH}u; k++) {
        let i = first + k * ${WORKGROUP}u;
        if i < push.n {
            let a = mem_a[push.at_a + operand_index(${BROADCAST_A}u, i)];
            let b = mem_b[push.at_b + operand_index(${BROADCAST_B}u, i)];
            mem_out[push.at_out + i] = compute(a, b);
        }
    }
}
