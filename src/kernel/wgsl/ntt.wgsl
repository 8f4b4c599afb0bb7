// SPDX-License-Identifier: Apache-2.0
//
// A pass of a number-theoretic transform: ../ntt.glsl, which explains it, in WGSL.
var<workgroup> exchanged: array<u32, ${NTT_PLANES*EACH*WORKGROUP}>;

@if BACK
const BACK = true;
@else
const BACK = false;
@end

struct Pass {
    log2_n: u32,
    first: u32,
    levels: u32,
    log2_pad: u32,
    flags: u32,
    line_bits: u32,
    column_bits: u32,
    batch: u32,
    tile: u32,
    thread: u32,
}

// Of invocation `thread` of workgroup `tile`.
fn decode(tile: u32, thread: u32) -> Pass {
    let word = push.stage0;
    var p: Pass;
    p.log2_n = word & 31u;
    p.first = (word >> ${NTT_FIRST}u) & 31u;
    p.levels = (word >> ${NTT_LEVELS}u) & 31u;
    p.log2_pad = (word >> ${NTT_PAD}u) & 31u;
    p.flags = word >> ${NTT_FLAGS}u;
    p.line_bits = ${TILE_BITS}u - p.levels;
    p.column_bits = p.log2_n - p.first - p.levels;
    p.batch = push.n >> p.log2_n;
    p.tile = tile;
    p.thread = thread;
    return p;
}

struct Line {
    transform: u32,
    block: u32,
    column: u32,
}

fn number_of(p: Pass, r: u32, at: u32) -> u32 {
    return ((p.thread >> at) << (at + ${RADIX_BITS}u)) | (r << at) | (p.thread & ((1u << at) - 1u));
}

fn line_of(p: Pass, number: u32) -> Line {
    var line = number & ((1u << p.line_bits) - 1u);
    if (p.flags & ${NTT_SPREAD}u) != 0u {
        let bits = p.first - p.line_bits;
        line = ((((p.tile >> bits) << p.line_bits) | line) << bits) | (p.tile & ((1u << bits) - 1u));
    } else {
        line |= p.tile << p.line_bits;
    }
    var l: Line;
    if (p.flags & ${NTT_COLUMNS}u) != 0u {
        let rest = line / p.batch;
        l.transform = line - rest * p.batch;
        l.column = rest & ((1u << p.column_bits) - 1u);
        l.block = (rest >> p.column_bits) & ((1u << p.first) - 1u);
        if (rest >> (p.column_bits + p.first)) != 0u {
            l.transform = p.batch;
        }
    } else {
        l.column = line & ((1u << p.column_bits) - 1u);
        line >>= p.column_bits;
        l.block = line & ((1u << p.first) - 1u);
        l.transform = line >> p.first;
    }
    return l;
}

fn transform_of(p: Pass, l: Line, number: u32) -> u32 {
    if p.levels >= ${RADIX_BITS}u {
        return l.transform;
    }
    return (p.tile << p.line_bits) | (number & ((1u << p.line_bits) - 1u));
}

fn index_of(p: Pass, l: Line, number: u32) -> u32 {
    return (((l.block << p.levels) | (number >> p.line_bits)) << p.column_bits) | l.column;
}

fn place_of(p: Pass, transform: u32, i: u32, bits: u32) -> u32 {
    if (p.flags & ${NTT_COLUMNS}u) != 0u {
        return i * p.batch + transform;
    }
    return (transform << bits) | i;
}

fn reversed(i: u32, bits: u32) -> u32 {
    return (reverseBits(i) >> 1u) >> (31u - bits);
}

fn operand_of(p: Pass, i: u32) -> u32 {
    return select(i, reversed(i, p.log2_n), BACK);
}

fn result_of(p: Pass, i: u32) -> u32 {
    let natural = select(reversed(i, p.log2_n), i, BACK);
    return select(natural, (0u - natural) & ((1u << p.log2_n) - 1u),
        (p.flags & ${NTT_INVERSE}u) != 0u);
}

fn load(p: Pass, transform: u32, index: u32) -> Lazy {
    let operand = (p.flags & ${NTT_OPERAND}u) != 0u;
    var is_there = transform < p.batch;
    var bits = p.log2_n;
    var i = index;
    if operand && p.log2_pad != 0u {
        bits -= p.log2_pad;
        is_there = is_there && (operand_of(p, i) >> bits) == 0u;
        i = select(i, i >> p.log2_pad, BACK);
    }
    var x: Element;
    if is_there {
        let place = place_of(p, transform, i, bits);
        x = load_a(place);
        if operand {
            check_element(x, place);
        }
    }
    return lazy_of(x);
}

fn store(p: Pass, transform: u32, index: u32, x: Lazy) {
    let result = (p.flags & ${NTT_RESULT}u) != 0u;
    let inverse = result && (p.flags & ${NTT_INVERSE}u) != 0u;
    let in_reverse = (p.flags & ${NTT_REVERSED_OUT}u) != 0u;
    if transform >= p.batch {
        return;
    }
    var i = index;
    if result && (inverse || in_reverse == BACK) {
        i = result_of(p, i);
        i = select(i, reversed(i, p.log2_n), in_reverse);
    }
    store_out(place_of(p, transform, i, p.log2_n),
        lazy_element(x, select(0u, p.log2_n, inverse), !result));
}

@if LAST_FACTOR > FIRST_FACTOR
// Times some of its factors: two that make a power of the shift, and 1 / n. There is one product in
// a loop, because many take long to compile.
fn scaled(p: Pass, i: u32, x: Lazy, last: u32) -> Lazy {
    var exponent = operand_of(p, i);
    if (p.flags & ${NTT_INVERSE}u) != 0u {
        exponent = result_of(p, i);
    }
    var r = carried(x);
    for (var f = ${FIRST_FACTOR}u; f < last; f++) {
        var entry = push.stage2;
        if f == 0u {
            entry = push.stage1 + (exponent & ((1u << ${NTT_LOW_BITS}u) - 1u));
        } else if f == 1u {
            entry = push.stage1 + (1u << ${NTT_LOW_BITS}u) + (exponent >> ${NTT_LOW_BITS}u);
        }
        r = lazy_mul(r, lazy_by(load_b(entry)));
    }
    return r;
}
@end

fn bits_of_round(p: Pass, i: u32) -> u32 {
    let left = ${TILE_BITS}u - p.line_bits;
    let done = (i + 1u) * ${RADIX_BITS}u;
    return select(p.line_bits, ${TILE_BITS}u - done, i == 0u || done <= left);
}

fn between_rounds(x: Lazy, step: u32) -> Lazy {
    if BACK && step % 2u == 0u {
        return settled(x);
    }
    return carried(x);
}

fn bank_of(p: Pass, number: u32) -> u32 {
    let x = (number >> 5u) & 7u;
    if p.line_bits < 2u {
        return number ^ ((x << p.line_bits) ^ ((x & 6u) << 2u));
    }
    return number ^ (x << 2u);
}

@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let p = decode(first_index(group, groups) / ${WORKGROUP}u, local);
    let rounds = max((p.levels + ${RADIX_BITS-1}u) / ${RADIX_BITS}u, 1u);
    var at = bits_of_round(p, select(0u, rounds - 1u, BACK));
    let l = line_of(p, number_of(p, 0u, at));
@for r 0 EACH
    let first$r = number_of(p, ${r}u, at);
    var x$r = load(p, transform_of(p, l, first$r), index_of(p, l, first$r));
@end
@if COSET
    if (p.flags & ${NTT_INVERSE}u) == 0u {
        var all: array<Lazy, $EACH>;
@for r 0 EACH
        all[$r] = x$r;
@end
        for (var r = 0u; r < ${EACH}u; r++) {
            all[r] = scaled(p, index_of(p, l, number_of(p, r, at)), all[r], 2u);
        }
@for r 0 EACH
        x$r = all[$r];
@end
    }
@end
    for (var step = 0u; step < rounds; step++) {
        let i = select(step, rounds - 1u - step, BACK);
        let to = bits_of_round(p, i);
        if step > 0u {
@for r 0 EACH
            let put$r = bank_of(p, number_of(p, ${r}u, at));
            let get$r = bank_of(p, number_of(p, ${r}u, to));
            x$r = between_rounds(x$r, step);
@end
@for k 0 (LAZY_WORDS+NTT_PLANES-1)/NTT_PLANES
@for r 0 EACH
@for j k*NTT_PLANES k*NTT_PLANES+NTT_PLANES
@if j < LAZY_WORDS
            exchanged[${j%NTT_PLANES*EACH*WORKGROUP}u + put$r] = bitcast<u32>(x$r[$j]);
@end
@end
@end
            workgroupBarrier();
@for r 0 EACH
@for j k*NTT_PLANES k*NTT_PLANES+NTT_PLANES
@if j < LAZY_WORDS
            x$r[$j] = bitcast<LazyWord>(exchanged[${j%NTT_PLANES*EACH*WORKGROUP}u + get$r]);
@end
@end
@end
            workgroupBarrier();
@end
        }
        at = to;
        let level = ${TILE_BITS-RADIX_BITS}u - at;
        let block = (l.block << level) | (local >> at);
        let begin = i * ${RADIX_BITS}u - level;
        let end = min(p.levels - level, ${RADIX_BITS}u);
        let root = p.first == 0u && i == 0u;
// One level after the other: in each, s blocks of EACH / s elements.
@if BACK
@for t 1 EACH
@for s EACH-t EACH-t+1
@if EACH % s == 0
@if s == 4
        if end > 2u {
@else
        if begin <= ${s/2}u && end > ${s/2}u {
@end
@for b 0 s
@for k 0 EACH/2/s
            {
                let y = x${b*EACH/s+EACH/2/s+k};
                x${b*EACH/s+EACH/2/s+k} = lazy_sub(x${b*EACH/s+k}, y);
                x${b*EACH/s+k} = lazy_add(x${b*EACH/s+k}, y);
            }
@end
@if s > 1
            x${b*EACH/s} = carried(x${b*EACH/s});
@end
@if b == 0
            if !root
@end
            {
                let w = lazy_by(load_b(${s}u * block + ${b}u));
@for k 0 EACH/2/s
                x${b*EACH/s+EACH/2/s+k} = lazy_mul(x${b*EACH/s+EACH/2/s+k}, w);
@end
            }
@end
        }
@end
@end
@end
@else
@for s 1 EACH
@if EACH % s == 0
@if s == 4
        if end > 2u {
@else
        if begin <= ${s/2}u && end > ${s/2}u {
@end
@for b 0 s
@if b == 0
            if !root
@end
            {
                let w = lazy_by(load_b(${s}u * block + ${b}u));
@for k 0 EACH/2/s
                x${b*EACH/s+EACH/2/s+k} = lazy_mul(x${b*EACH/s+EACH/2/s+k}, w);
@end
            }
@if s == 4 && b == 0
            if root {
                x0 = carried(x0);
                x1 = carried(x1);
            }
@end
@for k 0 EACH/2/s
            {
                let y = x${b*EACH/s+EACH/2/s+k};
                x${b*EACH/s+EACH/2/s+k} = lazy_sub(x${b*EACH/s+k}, y);
                x${b*EACH/s+k} = lazy_add(x${b*EACH/s+k}, y);
            }
@end
@end
        }
@end
@end
@end
    }
@if LAST_FACTOR > FIRST_FACTOR
    let scales = ${NTT_RESULT+NTT_INVERSE}u;
    if (p.flags & scales) == scales {
        var all: array<Lazy, $EACH>;
@for r 0 EACH
        all[$r] = x$r;
@end
        for (var r = 0u; r < ${EACH}u; r++) {
            all[r] = scaled(p, index_of(p, l, number_of(p, r, at)), all[r], ${LAST_FACTOR}u);
        }
@for r 0 EACH
        x$r = all[$r];
@end
    }
@end
@for r 0 EACH
    let last$r = number_of(p, ${r}u, at);
    store(p, transform_of(p, l, last$r), index_of(p, l, last$r), x$r);
@end
}
