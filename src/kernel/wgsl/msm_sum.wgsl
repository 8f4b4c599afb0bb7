// SPDX-License-Identifier: Apache-2.0
//
// ../msm_sum.glsl in WGSL: sums of sums. There is what joins and the kinds of sums are.
fn windows(stage: u32) -> u32 { return (stage >> ${MSM_WINDOWS}u) & 0xffu; }

@if OP == GX_OP_MSM_JOIN
// Point i of those that begin at quad `at`, as the sum or what is added to it.
fn load_point(to: u32, at: u32, i: u32) {
    for (var c = 0u; c < 4u; c++) {
        number[to + c] = load_coord(at + i * POINT_QUADS + c * COORD_QUADS);
    }
}

fn keep_bucket(w: u32, key: u32, at: u32) {
    if key == 0u || key == NONE {
        return;
    }
    let bits = (push.stage2 >> ${MSM_BITS}u) & 0xffu;
    let to = ((w << (bits - 1u)) + key - 1u) * POINT_QUADS;
    for (var k = 0u; k < POINT_QUADS; k++) {
        mem_scratch[to + k] = mem_scratch[push.stage0 + at * POINT_QUADS + k];
    }
}

// Records: x, y are key and place of the first run, z, w those of the last one, z is NONE if it is
// the same.
fn join_nodes(w: u32, left: u32, right: u32) {
    var a = mem_scratch[push.stage1 + left];
    let b = mem_scratch[push.stage1 + right];
    let one_a = a.z == NONE;
    let one_b = b.z == NONE;
    let key = select(a.z, a.x, one_a);
    let at = select(a.w, a.y, one_a);
    let same = key == b.x;
    if same {
        load_point(X1, push.stage0, at);
        load_point(X2, push.stage0, b.y);
        add_any(false);
        store_sum(push.stage0, at);
    }
    if !one_a && !(same && one_b) {
        keep_bucket(w, key, at);
    }
    if !same && !one_b {
        keep_bucket(w, b.x, b.y);
    }
    if !same && one_b {
        a.z = b.x;
        a.w = b.y;
    }
    if !one_b {
        a.z = b.z;
        a.w = b.w;
    }
    mem_scratch[push.stage1 + left] = a;
}

@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let index = first_index(group, groups) / ${WORKGROUP}u;
    let shift = push.stage2 & 0xffu;
    let nodes = (push.n + (1u << shift) - 1u) >> shift;
    let node_groups = (nodes + ${2*WORKGROUP-1}u) / ${2*WORKGROUP}u;
    let w = index / node_groups;
    let first = (index - w * node_groups) * ${2*WORKGROUP}u;
    if w >= windows(push.stage2) {
        return;
    }
    for (var apart = 1u; apart < ${2*WORKGROUP}u; apart *= 2u) {
        let left = 2u * apart * local;
        let right = first + left + apart;
        if left < ${2*WORKGROUP}u && right < nodes {
            join_nodes(w, w * push.n + ((first + left) << shift), w * push.n + (right << shift));
        }
        storageBarrier();
    }
    if (push.stage2 & ${MSM_LAST}u) != 0u && local == 0u {
        let all = mem_scratch[push.stage1 + w * push.n];
        keep_bucket(w, all.x, all.y);
        keep_bucket(w, all.z, all.w);
    }
}
@else

var<workgroup> exchanged: array<Coord, ${2*WORKGROUP}>;

fn window_bits() -> u32 { return push.stage0 & 0xffu; }
fn row_bits() -> u32 { return window_bits() / 2u; }
fn column_bits() -> u32 { return window_bits() - 1u - row_bits(); }
fn is_kind(kind: u32) -> bool { return (push.stage0 & ${MSM_KIND}u) == kind; }

// One of three numbers.
fn by_kind(grid: u32, plane: u32, total: u32) -> u32 {
    return select(select(total, plane, is_kind(${MSM_PLANE}u)), grid, is_kind(${MSM_GRID}u));
}

fn lines() -> u32 { return (1u << row_bits()) + (1u << column_bits()); }

// Elements of sum j.
fn elements_of(j: u32) -> u32 {
    let rows = 1u << row_bits();
    let columns = 1u << column_bits();
    return by_kind(select(rows, columns, j < rows),
                   select(select(columns, rows / 2u, j < window_bits() - 1u), columns / 2u,
                          j < column_bits()),
                   window_bits());
}

// i with a bit that is 1 inserted.
fn with_bit(i: u32, bit: u32) -> u32 {
    return ((i >> bit) << (bit + 1u)) | (1u << bit) | (i & ((1u << bit) - 1u));
}

// Element i of sum j, in the window's part of A.
fn element_of(j: u32, i: u32) -> u32 {
    let rows = 1u << row_bits();
    if is_kind(${MSM_GRID}u) {
        return select((i << column_bits()) | (j - rows), (j << column_bits()) | i, j < rows);
    }
    if !is_kind(${MSM_PLANE}u) {
        return i;
    }
    if j < column_bits() {
        return rows + with_bit(i, j);
    }
    if j < window_bits() - 1u {
        return with_bit(i, j - column_bits());
    }
    return rows + i;
}

// What is added: point i of A, or affine point i.
fn load_any(i: u32) {
    let affine = (push.stage0 & ${MSM_AFFINE}u) != 0u;
    let coords = select(4u, 2u, affine);
    for (var c = 0u; c < coords; c++) {
        number[X2 + c] = load_coord((i * coords + c) * COORD_QUADS);
    }
    if affine && !(coord_is_zero(number[X2]) && coord_is_zero(number[Y2])) {
        number[ZZ2] = coord_one();
        number[ZZZ2] = coord_one();
    }
}

// In steps of one addition each, so that the module contains only one: adding elements, doubling
// for TOTAL, and then adding up the invocations of a sum. For MULTIPLE the sum is one point, which
// is doubled stage1 times; points are stage2 apart. Barriers are in all of them: branches around
// them would not be uniform.
@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let shift = (push.stage0 >> ${MSM_BITS}u) & 0xffu;
    let lanes = 1u << shift;
    let lane = local & (lanes - 1u);
    let sums = by_kind(lines(), window_bits(), 1u);
    let sum = (first_index(group, groups) + local) >> shift;
    let w = sum / sums;
    let j = sum - w * sums;
    let multiple = is_kind(${MSM_MULTIPLE}u);
    let all = select(windows(push.stage0), push.n, multiple);
    let elements = select(0u, elements_of(j), w < all);
    let most = by_kind(1u << row_bits(), max(1u << (row_bits() - 1u), 1u << column_bits()),
                       window_bits());
    let loads = (most + lanes - 1u) >> shift;
    let total = is_kind(${MSM_TOTAL}u);
    let of_multiple = select(0u, push.stage1, multiple);
    let doublings = loads + select(of_multiple, window_bits() - 2u, total);
    let own_doublings = select(of_multiple, lane, total && lane < window_bits() - 1u);
    let apart = select(push.stage2, 1u, (push.stage0 & ${MSM_AFFINE}u) != 0u);
    let window_first =
        w * by_kind(1u << (window_bits() - 1u), lines(), select(window_bits(), apart, multiple));
    clear_sum();
    for (var step = 0u; step < doublings + shift; step++) {
        let i = step * lanes + lane;
        let half_lanes = max((lanes >> 1u) >> (max(step, doublings) - doublings), 1u);
        let slot = (local - lane) / 2u + lane % half_lanes;
        number[ZZ2] = Coord();
        if step < loads && i < elements {
            load_any(window_first + element_of(j, i));
        }
        if step >= loads && step - loads < own_doublings && step < doublings {
            for (var c = 0u; c < 4u; c++) {
                number[X2 + c] = number[X1 + c];
            }
        }
        workgroupBarrier();
        if step >= doublings && lane >= half_lanes && lane < 2u * half_lanes {
            for (var c = 0u; c < 4u; c++) {
                exchanged[c * ${WORKGROUP/2}u + slot] = number[X1 + c];
            }
        }
        workgroupBarrier();
        if step >= doublings && lane < half_lanes {
            for (var c = 0u; c < 4u; c++) {
                number[X2 + c] = exchanged[c * ${WORKGROUP/2}u + slot];
            }
        }
        add_any(step >= loads && step < doublings);
    }
    if lane == 0u && w < all {
        store_sum(0u, select(sum, sum * push.stage2, multiple));
    }
}
@end
