// SPDX-License-Identifier: Apache-2.0
//
// Elements of a prime field as words of 32 bits: in and out of memory, checked, added and
// subtracted. For the product see mul_*.wgsl.
@group(0) @binding(${OUT}) var<storage, read_write> mem_out: array<vec4<u32>>;
@group(0) @binding(${A}) var<storage, read_write> mem_a: array<vec4<u32>>;
@group(0) @binding(${B}) var<storage, read_write> mem_b: array<vec4<u32>>;
@group(0) @binding(${C}) var<storage, read_write> mem_c: array<vec4<u32>>;
@group(0) @binding(${BAD}) var<storage, read_write> mem_bad: atomic<u32>;

alias Element = array<u32, $WORDS>;

// x - p where x >= p, else x.
fn reduce_once(x: Element) -> Element {
    var r: Element;
    var borrow = 0u;
@for i 0 WORDS
    {
        let d = x[$i] - ${MODULUS[i]}u;
        let e = d - borrow;
        borrow = u32(x[$i] < ${MODULUS[i]}u) | u32(d < borrow);
        r[$i] = e;
    }
@end
    let keep = borrow != 0u;
@for i 0 WORDS
    r[$i] = select(r[$i], x[$i], keep);
@end
    return r;
}

// x, y < p: the sum is below 2p, which fits, as the top bit of p is clear.
fn add(x: Element, y: Element) -> Element {
    var r: Element;
    var carry = 0u;
@for i 0 WORDS
    {
        let s = x[$i] + y[$i];
        let t = s + carry;
        carry = u32(s < x[$i]) | u32(t < s);
        r[$i] = t;
    }
@end
    return reduce_once(r);
}

// x - y, plus p where that borrowed; x, y < p, out < p.
fn sub(x: Element, y: Element) -> Element {
    var r: Element;
    var borrow = 0u;
@for i 0 WORDS
    {
        let d = x[$i] - y[$i];
        r[$i] = d - borrow;
        borrow = u32(x[$i] < y[$i]) | u32(d < borrow);
    }
@end
    let lift = 0u - borrow;
    var carry = 0u;
@for i 0 WORDS
    {
        let s = r[$i] + (${MODULUS[i]}u & lift);
        let t = s + carry;
        carry = u32(s < r[$i]) | u32(t < s);
        r[$i] = t;
    }
@end
    return r;
}

fn is_zero(x: Element) -> bool {
    var any = 0u;
@for i 0 WORDS
    any |= x[$i];
@end
    return any == 0u;
}

// i counts from the start of this dispatch. Nearly always the top words tell.
fn check_element(x: Element, i: u32) {
@if CHECK
    if x[${WORDS-1}] >= ${MODULUS[WORDS-1]}u {
        var borrow = 0u;
@for i 0 WORDS
        borrow = u32(x[$i] < ${MODULUS[i]}u) | u32(x[$i] - ${MODULUS[i]}u < borrow);
@end
        if borrow == 0u {
            atomicMin(&mem_bad, i);
        }
    }
@end
}

fn load_a(i: u32) -> Element {
    var x: Element;
    let at = push.at_a + operand_index(${BROADCAST_A}u, i) * ${QUADS}u;
@for k 0 QUADS
    let q$k = mem_a[at + ${k}u];
    x[${4*k}] = q$k.x; x[${4*k+1}] = q$k.y; x[${4*k+2}] = q$k.z; x[${4*k+3}] = q$k.w;
@end
    return x;
}

fn load_b(i: u32) -> Element {
    var x: Element;
    let at = push.at_b + operand_index(${BROADCAST_B}u, i) * ${QUADS}u;
@for k 0 QUADS
    let q$k = mem_b[at + ${k}u];
    x[${4*k}] = q$k.x; x[${4*k+1}] = q$k.y; x[${4*k+2}] = q$k.z; x[${4*k+3}] = q$k.w;
@end
    return x;
}

fn load_c(i: u32) -> Element {
    var x: Element;
    let at = push.at_c + operand_index(${BROADCAST_C}u, i) * ${QUADS}u;
@for k 0 QUADS
    let q$k = mem_c[at + ${k}u];
    x[${4*k}] = q$k.x; x[${4*k+1}] = q$k.y; x[${4*k+2}] = q$k.z; x[${4*k+3}] = q$k.w;
@end
    return x;
}

fn store_out(i: u32, x: Element) {
    let at = push.at_out + i * ${QUADS}u;
@for k 0 QUADS
    mem_out[at + ${k}u] = vec4<u32>(x[${4*k}], x[${4*k+1}], x[${4*k+2}], x[${4*k+3}]);
@end
}
