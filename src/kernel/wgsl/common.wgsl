// SPDX-License-Identifier: Apache-2.0
//
// What every kernel has. The constants that begin in capitals come from wgsl.c; ../interface.h
// says what the bindings and the members of Push mean. All bindings are read_write: OUT may be
// an operand, and a buffer has one usage in a dispatch.
struct Push {
    n: u32,
    at_out: u32,
    at_a: u32,
    at_b: u32,
    at_c: u32,
    broadcast: u32,
    stage0: u32,
    stage1: u32,
    stage2: u32,
}
var<immediate> push: Push;

// Of this workgroup, over the two dimensions of a dispatch.
fn first_index(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return (group.y * groups.x + group.x) * ${WORKGROUP}u;
}

// i as an index into an operand.
fn operand_index(broadcast_bit: u32, i: u32) -> u32 {
    return select(i, 0u, (push.broadcast & broadcast_bit) != 0u);
}
