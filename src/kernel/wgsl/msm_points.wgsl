// SPDX-License-Identifier: Apache-2.0
//
// Points of curve.wgsl in memory: a pass loads them from one binding and stores them to one.
@group(0) @binding(${SCRATCH}) var<storage, read_write> mem_scratch: array<vec4<u32>>;

const COORD_QUADS = ${DEGREE*QUADS}u;
const POINT_QUADS = ${4*DEGREE*QUADS}u;
const NONE = 0xffffffffu; // no key

fn load_quad(i: u32) -> vec4<u32> {
@if OP == GX_OP_MSM_ADD
    return mem_b[push.at_b + i];
@else
@if OP == GX_OP_MSM_JOIN
    return mem_scratch[i];
@else
    return mem_a[push.at_a + i];
@end
@end
}

fn store_quad(i: u32, x: vec4<u32>) {
@if OP == GX_OP_MSM_ADD_UP
    mem_out[push.at_out + i] = x;
@else
    mem_scratch[i] = x;
@end
}

fn load_coord(at: u32) -> Coord {
    var x: Coord;
@for d 0 DEGREE
@for k 0 QUADS
    {
        let q = load_quad(at + ${d*QUADS+k}u);
        x[$d][${4*k}] = q.x; x[$d][${4*k+1}] = q.y; x[$d][${4*k+2}] = q.z; x[$d][${4*k+3}] = q.w;
    }
@end
@end
    return x;
}

fn store_coord(at: u32, x: Coord) {
@for d 0 DEGREE
@for k 0 QUADS
    store_quad(at + ${d*QUADS+k}u,
               vec4<u32>(x[$d][${4*k}], x[$d][${4*k+1}], x[$d][${4*k+2}], x[$d][${4*k+3}]));
@end
@end
}

// The sum, as point i of those that begin at quad `at`.
fn store_sum(at: u32, i: u32) {
    for (var c = 0u; c < 4u; c++) {
        store_coord(at + i * POINT_QUADS + c * COORD_QUADS, number[X1 + c]);
    }
}
