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
    batch: u32,
    pitch: u32,
    pitch_bits: u32,
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
    p.batch = push.n >> p.log2_n;
    p.pitch = 1u << (p.log2_n - p.first - p.levels);
    if (p.flags & ${NTT_COLUMNS}u) != 0u {
        p.pitch *= p.batch;
    }
    p.pitch_bits = select(32u, firstLeadingBit(p.pitch), (p.pitch & (p.pitch - 1u)) == 0u);
    p.tile = tile;
    p.thread = thread;
    return p;
}

fn number_of(p: Pass, r: u32, at: u32) -> u32 {
    return ((p.thread >> at) << (at + ${RADIX_BITS}u)) | (r << at) | (p.thread & ((1u << at) - 1u));
}

fn place_of(p: Pass, number: u32) -> u32 {
    let s = number >> p.line_bits;
    var line = number & ((1u << p.line_bits) - 1u);
    var outer = 0u;
    var column = 0u;
    if (p.flags & ${NTT_SPREAD}u) != 0u {
        let bits = p.first - p.line_bits;
        outer = ((((p.tile >> bits) << p.line_bits) | line) << bits) | (p.tile & ((1u << bits) - 1u));
    } else {
        line |= p.tile << p.line_bits;
        if p.pitch_bits < 32u {
            outer = line >> p.pitch_bits;
        } else {
            outer = line / p.pitch;
        }
        column = line - outer * p.pitch;
    }
    return ((outer << p.levels) | s) * p.pitch + column;
}

fn block_of(p: Pass, place: u32) -> u32 {
    var i = place;
    if (p.flags & ${NTT_COLUMNS}u) != 0u {
        i = place / p.batch;
    }
    return (i >> (p.log2_n - p.first)) & ((1u << p.first) - 1u);
}

fn reversed(i: u32, bits: u32) -> u32 {
    return (reverseBits(i) >> 1u) >> (31u - bits);
}

fn index_of(p: Pass, place: u32, leaves: bool) -> u32 {
    var i = place & ((1u << p.log2_n) - 1u);
    if (p.flags & ${NTT_COLUMNS}u) != 0u {
        i = place / p.batch;
    }
    return select(i, reversed(i, p.log2_n), leaves);
}

fn place_at(p: Pass, place: u32, i: u32, bits: u32, in_reverse: bool) -> u32 {
    let at = select(i, reversed(i, bits), in_reverse);
    if (p.flags & ${NTT_COLUMNS}u) != 0u {
        return at * p.batch + place % p.batch;
    }
    return ((place >> p.log2_n) << bits) | at;
}

fn load(p: Pass, place: u32) -> Lazy {
    let operand = (p.flags & ${NTT_OPERAND}u) != 0u;
    var from_place = place;
    var x: Element;
    if operand && p.log2_pad != 0u && place < push.n {
        let bits = p.log2_n - p.log2_pad;
        let i = index_of(p, place, BACK);
        from_place = select(push.n, place_at(p, place, i, bits, BACK), (i >> bits) == 0u);
    }
    if from_place < push.n {
        x = load_a(from_place);
        if operand {
            check_element(x, from_place);
        }
    }
    return lazy_of(x);
}

fn result_of(p: Pass, place: u32) -> u32 {
    let i = index_of(p, place, !BACK);
    return select(i, (0u - i) & ((1u << p.log2_n) - 1u), (p.flags & ${NTT_INVERSE}u) != 0u);
}

fn store(p: Pass, place: u32, x: Lazy) {
    let result = (p.flags & ${NTT_RESULT}u) != 0u;
    let inverse = result && (p.flags & ${NTT_INVERSE}u) != 0u;
    let in_reverse = (p.flags & ${NTT_REVERSED_OUT}u) != 0u;
    if place >= push.n {
        return;
    }
    var to_place = place;
    if result && (inverse || in_reverse == BACK) {
        to_place = place_at(p, place, result_of(p, place), p.log2_n, in_reverse);
    }
    store_out(to_place, lazy_element(x, select(0u, p.log2_n, inverse), !result));
}

@if LAST_FACTOR > FIRST_FACTOR
// Times some of its factors: two that make a power of the shift, and 1 / n. There is one product in
// a loop, because many take long to compile.
fn scaled(p: Pass, at: u32, x: Lazy, last: u32) -> Lazy {
    let place = select(0u, at, at < push.n);
    var exponent = index_of(p, place, BACK);
    if (p.flags & ${NTT_INVERSE}u) != 0u {
        exponent = result_of(p, place);
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
@for r 0 EACH
    var x$r = load(p, place_of(p, number_of(p, ${r}u, at)));
@end
@if COSET
    if (p.flags & ${NTT_INVERSE}u) == 0u {
        var all: array<Lazy, $EACH>;
@for r 0 EACH
        all[$r] = x$r;
@end
        for (var r = 0u; r < ${EACH}u; r++) {
            all[r] = scaled(p, place_of(p, number_of(p, r, at)), all[r], 2u);
        }
@for r 0 EACH
        x$r = all[$r];
@end
    }
@end
    let outer = block_of(p, place_of(p, number_of(p, 0u, at)));
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
        let block = (outer << level) | (local >> at);
        let begin = i * ${RADIX_BITS}u - level;
        let end = min(p.levels - level, ${RADIX_BITS}u);
        let root = p.first == 0u && i == 0u;
@if BACK
@if EACH == 8
        if end > 2u {
@for b 0 4
@for k 0 EACH/8
            {
                let y = x${b*EACH/4+EACH/8+k};
                x${b*EACH/4+EACH/8+k} = lazy_sub(x${b*EACH/4+k}, y);
                x${b*EACH/4+k} = lazy_add(x${b*EACH/4+k}, y);
            }
@end
            x${b*EACH/4} = carried(x${b*EACH/4});
@if b == 0
            if !root
@end
            {
                let w = lazy_by(load_b(4u * block + ${b}u));
@for k 0 EACH/8
                x${b*EACH/4+EACH/8+k} = lazy_mul(x${b*EACH/4+EACH/8+k}, w);
@end
            }
@end
        }
@end
        if begin <= 1u && end > 1u {
@for b 0 2
@for k 0 EACH/4
            {
                let y = x${b*EACH/2+EACH/4+k};
                x${b*EACH/2+EACH/4+k} = lazy_sub(x${b*EACH/2+k}, y);
                x${b*EACH/2+k} = lazy_add(x${b*EACH/2+k}, y);
            }
@end
            x${b*EACH/2} = carried(x${b*EACH/2});
@if b == 0
            if !root
@end
            {
                let w = lazy_by(load_b(2u * block + ${b}u));
@for k 0 EACH/4
                x${b*EACH/2+EACH/4+k} = lazy_mul(x${b*EACH/2+EACH/4+k}, w);
@end
            }
@end
        }
        if begin == 0u && end > 0u {
@for b 0 1
@for k 0 EACH/2
            {
                let y = x${b*EACH/1+EACH/2+k};
                x${b*EACH/1+EACH/2+k} = lazy_sub(x${b*EACH/1+k}, y);
                x${b*EACH/1+k} = lazy_add(x${b*EACH/1+k}, y);
            }
@end
@if b == 0
            if !root
@end
            {
                let w = lazy_by(load_b(block));
@for k 0 EACH/2
                x${b*EACH/1+EACH/2+k} = lazy_mul(x${b*EACH/1+EACH/2+k}, w);
@end
            }
@end
        }
@else
        if begin == 0u && end > 0u {
@for b 0 1
@if b == 0
            if !root
@end
            {
                let w = lazy_by(load_b(block));
@for k 0 EACH/2
                x${b*EACH/1+EACH/2+k} = lazy_mul(x${b*EACH/1+EACH/2+k}, w);
@end
            }
@for k 0 EACH/2
            {
                let y = x${b*EACH/1+EACH/2+k};
                x${b*EACH/1+EACH/2+k} = lazy_sub(x${b*EACH/1+k}, y);
                x${b*EACH/1+k} = lazy_add(x${b*EACH/1+k}, y);
            }
@end
@end
        }
        if begin <= 1u && end > 1u {
@for b 0 2
@if b == 0
            if !root
@end
            {
                let w = lazy_by(load_b(2u * block + ${b}u));
@for k 0 EACH/4
                x${b*EACH/2+EACH/4+k} = lazy_mul(x${b*EACH/2+EACH/4+k}, w);
@end
            }
@for k 0 EACH/4
            {
                let y = x${b*EACH/2+EACH/4+k};
                x${b*EACH/2+EACH/4+k} = lazy_sub(x${b*EACH/2+k}, y);
                x${b*EACH/2+k} = lazy_add(x${b*EACH/2+k}, y);
            }
@end
@end
        }
@if EACH == 8
        if end > 2u {
@for b 0 4
@if b == 0
            if !root
@end
            {
                let w = lazy_by(load_b(4u * block + ${b}u));
@for k 0 EACH/8
                x${b*EACH/4+EACH/8+k} = lazy_mul(x${b*EACH/4+EACH/8+k}, w);
@end
            }
@if b == 0
            if root {
                x0 = carried(x0);
                x1 = carried(x1);
            }
@end
@for k 0 EACH/8
            {
                let y = x${b*EACH/4+EACH/8+k};
                x${b*EACH/4+EACH/8+k} = lazy_sub(x${b*EACH/4+k}, y);
                x${b*EACH/4+k} = lazy_add(x${b*EACH/4+k}, y);
            }
@end
@end
        }
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
            all[r] = scaled(p, place_of(p, number_of(p, r, at)), all[r], ${LAST_FACTOR}u);
        }
@for r 0 EACH
        x$r = all[$r];
@end
    }
@end
@for r 0 EACH
    store(p, place_of(p, number_of(p, ${r}u, at)), x$r);
@end
}
