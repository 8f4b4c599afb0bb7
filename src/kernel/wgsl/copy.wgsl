// SPDX-License-Identifier: Apache-2.0
//
// OUT = A, 16 bytes per invocation; n counts these. The roof for bandwidth in benchmarks.
@group(0) @binding(${OUT}) var<storage, read_write> mem_out: array<vec4<u32>>;
@group(0) @binding(${A}) var<storage, read_write> mem_a: array<vec4<u32>>;

@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let i = first_index(group, groups) + local;
    if i < push.n {
        mem_out[push.at_out + i] = mem_a[push.at_a + i];
    }
}
