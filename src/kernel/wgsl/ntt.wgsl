// SPDX-License-Identifier: Apache-2.0
//
// A pass of a number-theoretic transform: ../ntt.glsl, which explains it, in WGSL.
var<workgroup> exchanged: array<u32, ${NTT_PLANES*EACH*WORKGROUP}>;

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

fn index_of(p: Pass, place: u32) -> u32 {
    if (p.flags & ${NTT_COLUMNS}u) != 0u {
        return place / p.batch;
    }
    return place & ((1u << p.log2_n) - 1u);
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

fn place_at(p: Pass, place: u32, i: u32, bits: u32) -> u32 {
    if (p.flags & ${NTT_COLUMNS}u) != 0u {
        return i * p.batch + place % p.batch;
    }
    return ((place >> p.log2_n) << bits) | i;
}

fn operand_of(p: Pass, place: u32) -> u32 {
    if (p.flags & ${NTT_REVERSED_IN}u) == 0u && p.log2_pad == 0u {
        return place;
    }
    let bits = p.log2_n - p.log2_pad;
    var i = index_of(p, place);
    if (i >> bits) != 0u {
        return push.n;
    }
    if (p.flags & ${NTT_REVERSED_IN}u) != 0u {
        i = reversed(i, bits);
    }
    return place_at(p, place, i, bits);
}

fn load(p: Pass, place: u32) -> Lazy {
    let operand = (p.flags & ${NTT_OPERAND}u) != 0u;
    var from_place = place;
    var x: Element;
    if operand && place < push.n {
        from_place = operand_of(p, place);
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
    let i = index_of(p, place);
    if (p.flags & ${NTT_INVERSE}u) != 0u && i != 0u {
        return i ^ ((1u << firstLeadingBit(i)) - 1u);
    }
    return i;
}

fn store(p: Pass, place: u32, x: Lazy) {
    let result = (p.flags & ${NTT_RESULT}u) != 0u;
    let inverse = result && (p.flags & ${NTT_INVERSE}u) != 0u;
    let natural = (p.flags & ${NTT_REVERSED_OUT}u) == 0u;
    if place >= push.n {
        return;
    }
    var to_place = place;
    if result && (inverse || natural) {
        var i = result_of(p, place);
        if natural {
            i = reversed(i, p.log2_n);
        }
        to_place = place_at(p, place, i, p.log2_n);
    }
    store_out(to_place, lazy_element(x, select(0u, p.log2_n, inverse), !result));
}

@if OP == GX_OP_NTT_COSET
fn times_power(p: Pass, at: u32, x: Lazy) -> Lazy {
    let place = select(0u, at, at < push.n);
    var exponent = index_of(p, place);
    if (p.flags & ${NTT_INVERSE}u) != 0u {
        exponent = reversed(result_of(p, place), p.log2_n);
    }
    let low = load_b(push.stage1 + (exponent & ((1u << ${NTT_LOW_BITS}u) - 1u)));
    let high = load_b(push.stage1 + (1u << ${NTT_LOW_BITS}u) + (exponent >> ${NTT_LOW_BITS}u));
    return lazy_mul(lazy_mul(carried(x), lazy_by(low)), lazy_by(high));
}
@end

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
    let top = ${TILE_BITS-RADIX_BITS}u;
    var at = top;
    var done = 0u;
@for r 0 EACH
    var x$r = load(p, place_of(p, number_of(p, ${r}u, at)));
@end
@if OP == GX_OP_NTT_COSET
    if (p.flags & ${NTT_INVERSE}u) == 0u {
@for r 0 EACH
        x$r = times_power(p, place_of(p, number_of(p, ${r}u, at)), x$r);
@end
    }
@end
    let outer = block_of(p, place_of(p, number_of(p, 0u, at)));
    loop {
        let level = top - at;
        let block = (outer << level) | (local >> at);
        let root = p.first == 0u && level == 0u;
        if level >= done && level < p.levels {
            if !root {
                let w = lazy_by(load_b(block));
@for k 0 EACH/2
                x${k+EACH/2} = lazy_mul(x${k+EACH/2}, w);
@end
            }
@for k 0 EACH/2
            {
                let y = x${k+EACH/2};
                x${k+EACH/2} = lazy_sub(x$k, y);
                x$k = lazy_add(x$k, y);
            }
@end
        }
        if level + 1u >= done && level + 1u < p.levels {
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
        if level + 2u < p.levels {
@for b 0 4
@if b == 0
            if root {
                x0 = carried(x0);
                x1 = carried(x1);
            } else
@end
            {
                x${2*b+1} = lazy_mul(x${2*b+1}, lazy_by(load_b(4u * block + ${b}u)));
            }
            {
                let y = x${2*b+1};
                x${2*b+1} = lazy_sub(x${2*b}, y);
                x${2*b} = lazy_add(x${2*b}, y);
            }
@end
        }
@end
        done = level + ${RADIX_BITS}u;
        if done >= p.levels {
            break;
        }
        let next = select(at - ${RADIX_BITS}u, p.line_bits, at < p.line_bits + ${RADIX_BITS}u);
@for r 0 EACH
        let put$r = bank_of(p, number_of(p, ${r}u, at));
        let get$r = bank_of(p, number_of(p, ${r}u, next));
        x$r = carried(x$r);
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
        at = next;
    }
@if OP == GX_OP_NTT_COSET
    if (p.flags & ${NTT_INVERSE}u) != 0u {
@for r 0 EACH
        x$r = times_power(p, place_of(p, number_of(p, ${r}u, at)), x$r);
@end
    }
@end
@for r 0 EACH
    store(p, place_of(p, number_of(p, ${r}u, at)), x$r);
@end
}
