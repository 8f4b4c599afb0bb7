// SPDX-License-Identifier: Apache-2.0
//
// What the stages of inv and div share (device/gpu/passes.c). The elements to invert are in slot
// A, for div the numerators are in slot C. stage0: invocations; stage1: where in SCRATCH the
// products before elements stage0 .. n lie.
@group(0) @binding(${SCRATCH}) var<storage, read_write> mem_scratch: array<vec4<u32>>;

fn one() -> Element {
    var r: Element;
@for i 0 WORDS
    r[$i] = ${ONE[i]}u;
@end
    return r;
}

// x, or 1 in place of 0.
fn not_zero(x: Element) -> Element {
    var r = x;
    if is_zero(x) {
        r = one();
    }
    return r;
}

fn load_prefix(i: u32) -> Element {
    var x: Element;
    let at = push.stage1 + i * ${QUADS}u;
@for k 0 QUADS
    let q$k = mem_scratch[at + ${k}u];
    x[${4*k}] = q$k.x; x[${4*k+1}] = q$k.y; x[${4*k+2}] = q$k.z; x[${4*k+3}] = q$k.w;
@end
    return x;
}

fn store_prefix(i: u32, x: Element) {
    let at = push.stage1 + i * ${QUADS}u;
@for k 0 QUADS
    mem_scratch[at + ${k}u] = vec4<u32>(x[${4*k}], x[${4*k+1}], x[${4*k+2}], x[${4*k+3}]);
@end
}
