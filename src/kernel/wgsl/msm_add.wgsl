// SPDX-License-Identifier: Apache-2.0
//
// ../msm_add.glsl in WGSL: the sums of buckets, of slices of sorted entries. There is what nodes and
// their records are.
@group(0) @binding(${A}) var<storage, read_write> a_pairs: array<vec2<u32>>;

fn load_entry(i: u32) -> vec2<u32> { return a_pairs[2u * push.at_a + i]; }

// Adds the entry's point to the sum.
fn add_point(value: u32) {
    let at = (value >> 1u) * 2u * COORD_QUADS;
    number[X2] = load_coord(at);
    number[Y2] = load_coord(at + COORD_QUADS);
    if coord_is_zero(number[X2]) && coord_is_zero(number[Y2]) {
        return;
    }
    if (value & 1u) != 0u {
        number[Y2] = coord_sub(Coord(), number[Y2]);
    }
    if coord_is_zero(number[ZZ1]) {
        number[X1] = number[X2];
        number[Y1] = number[Y2];
        number[ZZ1] = coord_one();
        number[ZZZ1] = number[ZZ1];
    } else {
        add_second(false);
    }
}

@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let slice = push.stage2 & 0xffu;
    let windows = (push.stage2 >> ${MSM_WINDOWS}u) & 0xffu;
    let window_bits = (push.stage2 >> ${MSM_BITS}u) & 0xffu;
    let t = first_index(group, groups) + local;
    let slices = (push.n + slice - 1u) / slice;
    let w = t / slices;
    let first = (t - w * slices) * slice;
    let end = min(first + slice, push.n);
    if w >= windows {
        return;
    }
    var own = load_entry(w * push.n + first);
    var record = vec4<u32>(own.x, 2u * t, NONE, 2u * t + 1u);
    var head = true;
    clear_sum();
    for (var i = first; i < end; i++) {
        var next = vec2<u32>(NONE, 0u);
        if i + 1u < end {
            next = load_entry(w * push.n + i + 1u);
        }
        if own.x != 0u {
            add_point(own.y);
        }
        if next.x != own.x {
            let tail = next.x == NONE && !head;
            record.z = select(NONE, own.x, tail);
            if head || tail {
                store_sum(push.stage0, 2u * t + u32(tail));
            } else { // not key 0, which comes first
                store_sum(0u, (w << (window_bits - 1u)) + own.x - 1u);
            }
            head = false;
            clear_sum();
        }
        own = next;
    }
    mem_scratch[push.stage1 + t] = record;
}
