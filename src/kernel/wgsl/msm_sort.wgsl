// SPDX-License-Identifier: Apache-2.0
//
// ../msm_sort.glsl in WGSL: digits of scalars, and entries (key, value) of each window sorted by
// key. A module has one of the passes, which device/gpu/passes_msm.c plans.
@group(0) @binding(${OUT}) var<storage, read_write> out_words: array<u32>;
@group(0) @binding(${A}) var<storage, read_write> a_words: array<u32>;
@group(0) @binding(${B}) var<storage, read_write> b_words: array<u32>;
@group(0) @binding(${SCRATCH}) var<storage, read_write> mem_scratch: array<vec4<u32>>;

const TILE = ${MSM_ROUNDS*WORKGROUP}u;
const CHUNKS = ${WORKGROUP/32}u; // of a workgroup's entries, one bit each of a word

fn load_word_a(i: u32) -> u32 { return a_words[4u * push.at_a + i]; }
fn load_word_b(i: u32) -> u32 { return b_words[4u * push.at_b + i]; }
fn load_word_out(i: u32) -> u32 { return out_words[4u * push.at_out + i]; }
fn store_word_out(i: u32, x: u32) { out_words[4u * push.at_out + i] = x; }

fn window_bits() -> u32 { return push.stage0 & 0xffu; }
fn windows() -> u32 { return (push.stage0 >> ${MSM_WINDOWS}u) & 0xffu; }
fn first_window() -> u32 { return (push.stage0 >> ${MSM_FIRST}u) & 0xffu; }

@if OP == GX_OP_MSM_DIGITS
// Bits first .. first + count of scalar i, count < 32, of which those at `end` and above are 0.
fn scalar_bits(i: u32, first: u32, count: u32, end: u32) -> u32 {
    if first >= end {
        return 0u;
    }
    let some = min(count, end - first);
    let at = 8u * i + first / 32u;
    let offset = first % 32u;
    var bits = load_word_a(at) >> offset;
    if offset + some > 32u {
        bits |= load_word_a(at + 1u) << (32u - offset);
    }
    return bits & ((1u << some) - 1u);
}

// From the lowest digit on, because what is above half of its range is carried to the next. Digits
// `rows` apart are in the same window.
@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let i = first_index(group, groups) + local;
    let half_range = 1u << (window_bits() - 1u);
    if i < windows() * half_range { // empty buckets: infinity
        for (var k = 0u; k < push.stage2; k++) {
            mem_scratch[push.stage2 * (4u * i + 2u) + k] = vec4<u32>();
        }
    }
    if i >= push.n {
        return;
    }
    let rows = (push.stage1 >> ${MSM_ROWS}u) & 0xffu;
    let parts = push.stage1 >> ${MSM_PARTS}u;
    let end = (parts - 1u) * rows + first_window() + windows();
    var carry = 0u;
    var w = 0u;
    var part = 0u;
    for (var k = 0u; k < end; k++) {
        let digit = scalar_bits(i, k * window_bits(), window_bits(), push.stage1 & 0xffffu) + carry;
        carry = u32(digit > half_range);
        if w >= first_window() && w < first_window() + windows() {
            let at = 2u * (((w - first_window()) * push.n + i) * parts + part);
            let point = (i * parts + part) * (push.stage0 >> ${MSM_STRIDE}u);
            store_word_out(at, select(digit, 2u * half_range - digit, carry != 0u));
            store_word_out(at + 1u, (point << 1u) | carry);
        }
        w++;
        if w == rows {
            w = 0u;
            part++;
        }
    }
}
@else

fn key_bits() -> u32 { return push.stage1; }
fn bin_of(key: u32) -> u32 { return (key >> push.stage2) & ((1u << key_bits()) - 1u); }
fn tiles() -> u32 { return (push.n + TILE - 1u) / TILE; }

// Entry i of window w.
fn entry(w: u32, i: u32) -> vec2<u32> {
    let at = 2u * (w * push.n + i);
    return vec2<u32>(load_word_a(at), load_word_a(at + 1u));
}

// Where the count of a window's bin and tile is, and of all its tiles.
fn count_at(w: u32, bin: u32, tile: u32) -> u32 {
    return ((w << key_bits()) + bin) * tiles() + tile;
}
fn total_at(w: u32, bin: u32) -> u32 {
    return (windows() << key_bits()) * tiles() + (w << key_bits()) + bin;
}

@if OP == GX_OP_MSM_COUNT
var<workgroup> shared_bins: array<atomic<u32>, ${MSM_BINS}>;

@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let index = first_index(group, groups) / ${WORKGROUP}u;
    let w = index / tiles();
    let tile = index % tiles();
    if w >= windows() {
        return;
    }
    for (var bin = local; bin < 1u << key_bits(); bin += ${WORKGROUP}u) {
        atomicStore(&shared_bins[bin], 0u);
    }
    workgroupBarrier();
    let end = min(push.n, (tile + 1u) * TILE);
    for (var i = tile * TILE + local; i < end; i += ${WORKGROUP}u) {
        atomicAdd(&shared_bins[bin_of(entry(w, i).x)], 1u);
    }
    workgroupBarrier();
    for (var bin = local; bin < 1u << key_bits(); bin += ${WORKGROUP}u) {
        store_word_out(count_at(w, bin, tile), atomicLoad(&shared_bins[bin]));
    }
}
@else

var<workgroup> shared_sums: array<u32, ${WORKGROUP}>;

// The sum of x of the invocations before this one; the last of shared_sums is that of all.
fn sum_before(local: u32, x: u32) -> u32 {
    var sum = x;
    shared_sums[local] = sum;
    workgroupBarrier();
    for (var apart = 1u; apart < ${WORKGROUP}u; apart *= 2u) {
        var other = 0u;
        if local >= apart {
            other = shared_sums[local - apart];
        }
        workgroupBarrier();
        sum += other;
        shared_sums[local] = sum;
        workgroupBarrier();
    }
    return sum - x;
}

@if OP == GX_OP_MSM_SCAN
// The counts of a window and bin become positions in the bin. Every invocation takes a run of
// tiles.
@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let index = first_index(group, groups) / ${WORKGROUP}u;
    let w = index >> key_bits();
    let bin = index & ((1u << key_bits()) - 1u);
    if w >= windows() {
        return;
    }
    let run = (tiles() + ${WORKGROUP-1}u) / ${WORKGROUP}u;
    let first = local * run;
    let end = min(first + run, tiles());
    var sum = 0u;
    for (var tile = first; tile < end; tile++) {
        sum += load_word_out(count_at(w, bin, tile));
    }
    sum = sum_before(local, sum);
    for (var tile = first; tile < end; tile++) {
        let at = count_at(w, bin, tile);
        let own = load_word_out(at);
        store_word_out(at, sum);
        sum += own;
    }
    if local == 0u {
        store_word_out(total_at(w, bin), shared_sums[${WORKGROUP-1}]);
    }
}
@else

var<workgroup> shared_bins: array<u32, ${MSM_BINS}>;
var<workgroup> shared_masks: array<atomic<u32>, ${WORKGROUP/32*MSM_BINS}>;

// Where the entries of each bin that are in this tile go: shared_bins.
fn place_bins(local: u32, w: u32, tile: u32) {
    let bins = 1u << key_bits();
    let run = (bins + ${WORKGROUP-1}u) / ${WORKGROUP}u;
    let first = local * run;
    let end = min(first + run, bins);
    var sum = 0u;
    for (var bin = first; bin < end; bin++) {
        sum += load_word_b(total_at(w, bin));
    }
    sum = sum_before(local, sum);
    for (var bin = first; bin < end; bin++) {
        shared_bins[bin] = sum + load_word_b(count_at(w, bin, tile));
        sum += load_word_b(total_at(w, bin));
    }
}

// The workgroup's entries, one of each invocation at a time: a word for each bin and chunk has a bit
// for each entry of the bin, so that those before an entry can be counted.
@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let index = first_index(group, groups) / ${WORKGROUP}u;
    let w = index / tiles();
    let tile = index % tiles();
    let bins = 1u << key_bits();
    if w >= windows() {
        return;
    }
    let chunk = local / 32u;
    let bit = local % 32u;
    place_bins(local, w, tile);
    for (var r = 0u; r < ${MSM_ROUNDS}u; r++) {
        let i = tile * TILE + r * ${WORKGROUP}u + local;
        var at = 0u;
        var rank = 0u;
        var own = vec2<u32>();
        for (var k = local; k < CHUNKS * bins; k += ${WORKGROUP}u) {
            atomicStore(&shared_masks[k], 0u);
        }
        workgroupBarrier();
        if i < push.n {
            own = entry(w, i);
            at = chunk * bins + bin_of(own.x);
            atomicOr(&shared_masks[at], 1u << bit);
        }
        workgroupBarrier();
        if i < push.n {
            rank = countOneBits(atomicLoad(&shared_masks[at]) & ((1u << bit) - 1u));
        }
        workgroupBarrier();
        for (var bin = local; bin < bins; bin += ${WORKGROUP}u) {
            var next = shared_bins[bin];
            for (var c = 0u; c < CHUNKS; c++) {
                let entries = countOneBits(atomicLoad(&shared_masks[c * bins + bin]));
                atomicStore(&shared_masks[c * bins + bin], next);
                next += entries;
            }
            shared_bins[bin] = next;
        }
        workgroupBarrier();
        if i < push.n {
            let to = 2u * (w * push.n + atomicLoad(&shared_masks[at]) + rank);
            store_word_out(to, own.x);
            store_word_out(to + 1u, own.y);
        }
        workgroupBarrier();
    }
}
@end
@end
@end
