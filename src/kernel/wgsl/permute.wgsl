// SPDX-License-Identifier: Apache-2.0
//
// bit-reverse, gather, rotate, interleave and deinterleave: element i of OUT in invocation i. The
// indices of gather, in B, begin at any word, so offsets are in words here. stage0: count of
// gx_poly_params, for rotate below n; stage1: n / count, for bit-reverse 32 - log2 n.
@group(0) @binding(${B}) var<storage, read_write> mem_indices: array<u32>;

fn source(i: u32) -> u32 {
@if OP == GX_BIT_REVERSE
    return select(reverseBits(i) >> (push.stage1 & 31u), 0u, push.stage1 == 32u);
@else
@if OP == GX_ROTATE
    let left = push.n - push.stage0;
    return select(i - left, i + push.stage0, i < left);
@else
@if OP == GX_INTERLEAVE
    return i % push.stage0 * push.stage1 + i / push.stage0;
@else
@if OP == GX_DEINTERLEAVE
    return i % push.stage1 * push.stage0 + i / push.stage1;
@else
    // An index out of range is bad like an element that is not below the modulus.
    let index = mem_indices[push.at_b + i];
    if index < push.stage0 {
        return index;
    }
@if CHECK
    atomicMin(&mem_bad, i);
@end
    return 0u;
@end
@end
@end
@end
}

fn load(i: u32) -> Element {
    var x: Element;
    let at = push.at_a / 4u + i * ${QUADS}u;
@for k 0 QUADS
    let q$k = mem_a[at + ${k}u];
    x[${4*k}] = q$k.x; x[${4*k+1}] = q$k.y; x[${4*k+2}] = q$k.z; x[${4*k+3}] = q$k.w;
@end
    return x;
}

// All of A is checked, whatever is gathered.
@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let i = first_index(group, groups) + local;
@if CHECK && OP == GX_GATHER
    if i < push.stage0 {
        check_element(load(i), i);
    }
@end
    if i >= push.n {
        return;
    }
    let place = source(i);
    let x = load(place);
@if OP != GX_GATHER
    check_element(x, place);
@end
    let at = push.at_out / 4u + i * ${QUADS}u;
@for k 0 QUADS
    mem_out[at + ${k}u] = vec4<u32>(x[${4*k}], x[${4*k+1}], x[${4*k+2}], x[${4*k+3}]);
@end
}
