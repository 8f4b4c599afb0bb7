// SPDX-License-Identifier: Apache-2.0
//
// ../soft_f32.glsl in WGSL: IEEE 754 binary32 from integers, round to nearest even, denormals
// kept, every NaN 7fc00000.
const F32_NAN = 0x7fc00000u;
const F32_INF = 0x7f800000u;
const F32_SIGN = 0x80000000u;

// x / 2^by, with a 1 in the lowest bit where bits were lost.
fn shift_sticky(x: u32, by: u32) -> u32 {
    if by == 0u {
        return x;
    }
    if by >= 32u {
        return u32(x != 0u);
    }
    return (x >> by) | u32((x << (32u - by)) != 0u);
}

// m / 2^spare * 2^(exponent - 150), rounded to 24 bits. m is normal, bit 23 + spare set, or the
// exponent is 1, the least. Both give (exponent - 1) << 23 plus the 24 bits: the top one of
// them, or a carry out of rounding, counts the exponent up.
fn round_pack(sign: u32, exponent: i32, m: u32, spare: u32) -> u32 {
    if exponent >= 255 {
        return sign | F32_INF;
    }
    let rest = m & ((1u << spare) - 1u);
    let half_way = 1u << (spare - 1u);
    let kept = m >> spare;
    let up = u32(rest > half_way || (rest == half_way && (kept & 1u) != 0u));
    return sign | min((u32(exponent - 1) << 23u) + kept + up, F32_INF);
}

// The exponent that counts, and the significand with the bit it implies.
fn exponent_of(magnitude: u32) -> i32 {
    return max(i32(magnitude >> 23u), 1);
}

fn significand_of(magnitude: u32) -> u32 {
    return (magnitude & 0x7fffffu) | select(0u, 0x800000u, magnitude >= 0x800000u);
}

fn soft_add(p: u32, q: u32) -> u32 {
    let swap = (q & ~F32_SIGN) > (p & ~F32_SIGN);
    let a = select(p, q, swap);
    let b = select(q, p, swap);
    let big = a & ~F32_SIGN;
    let small = b & ~F32_SIGN;
    let sign = a & F32_SIGN;
    let differ = ((a ^ b) & F32_SIGN) != 0u;
    if big > F32_INF || (differ && small == F32_INF) {
        return F32_NAN;
    }
    if big == F32_INF {
        return a;
    }

    // Three more bits: guard, round and sticky.
    var exponent = exponent_of(big);
    var m = significand_of(big) << 3u;
    let n = shift_sticky(significand_of(small) << 3u, u32(exponent - exponent_of(small)));
    m = select(m + n, m - n, differ);
    if m == 0u {
        return select(sign, 0u, differ); // x - x is +0; -0 + -0 is -0
    }
    if m >= 0x8000000u {
        m = shift_sticky(m, 1u);
        exponent++;
    } else {
        let up = min(26 - i32(firstLeadingBit(m)), exponent - 1);
        m <<= u32(up);
        exponent -= up;
    }
    return round_pack(sign, exponent, m, 3u);
}

// The high word of x y, with a 1 in the lowest bit where the low word is not 0.
fn multiply_sticky(x: u32, y: u32) -> u32 {
    let low = (x & 0xffffu) * (y & 0xffffu);
    let middle = (x >> 16u) * (y & 0xffffu) + (low >> 16u);
    let other = (x & 0xffffu) * (y >> 16u) + (middle & 0xffffu);
    let high = (x >> 16u) * (y >> 16u) + (middle >> 16u) + (other >> 16u);
    return high | u32(((low | other) & 0xffffu) != 0u);
}

fn soft_mul(a: u32, b: u32) -> u32 {
    let sign = (a ^ b) & F32_SIGN;
    let x = a & ~F32_SIGN;
    let y = b & ~F32_SIGN;
    if max(x, y) > F32_INF || (max(x, y) == F32_INF && min(x, y) == 0u) {
        return F32_NAN;
    }
    if max(x, y) == F32_INF {
        return sign | F32_INF;
    }
    if min(x, y) == 0u {
        return sign;
    }

    // Both significands with their top bit at 31: the product's is at 31 or 30 of high.
    let m = significand_of(x);
    let n = significand_of(y);
    let up_m = countLeadingZeros(m);
    let up_n = countLeadingZeros(n);
    var exponent = exponent_of(x) + exponent_of(y) - 126 - i32(up_m + up_n) + 16;
    var high = multiply_sticky(m << up_m, n << up_n);
    if high < F32_SIGN {
        high <<= 1u;
        exponent--;
    }
    if exponent < 1 {
        high = shift_sticky(high, u32(1 - exponent));
        exponent = 1;
    }
    return round_pack(sign, exponent, high, 8u);
}
