// SPDX-License-Identifier: Apache-2.0
//
// ../curve.glsl in WGSL, with its list of steps: the module contains one product. Coordinates are
// elements of the base field, or with DEGREE 2 of its quadratic extension by i, real part first.
// Mesa unrolls a loop, however long, whose counter is the index of a local array of that many
// elements: here and in the product (SHORT) such arrays have one more. Software devices take
// 2 s to compile a module then, and 20 s if loops are unrolled.
alias Coord = array<Element, $DEGREE>;

fn coord_add(x: Coord, y: Coord) -> Coord {
    var r: Coord;
@for d 0 DEGREE
    r[$d] = add(x[$d], y[$d]);
@end
    return r;
}

fn coord_sub(x: Coord, y: Coord) -> Coord {
    var r: Coord;
@for d 0 DEGREE
    r[$d] = sub(x[$d], y[$d]);
@end
    return r;
}

// In the extension: x0 y0 - x1 y1 and (x0 + x1)(y0 + y1) - x0 y0 - x1 y1, with a loop for the three
// products.
fn coord_mul(x: Coord, y: Coord) -> Coord {
    var r: Coord;
@if DEGREE == 1
    r[0] = canonical(multiply(factor(x[0]), cofactor(y[0])));
@else
    var a = x[0];
    var b = y[0];
    for (var k = 0u; k < 3u; k++) {
        let p = canonical(multiply(factor(a), cofactor(b)));
        if k == 2u {
            r[1] = add(r[1], p);
        } else {
            r[1] = sub(r[1], p);
            if k == 0u {
                r[0] = p;
                a = x[1];
                b = y[1];
            } else {
                r[0] = sub(r[0], p);
                a = add(x[0], x[1]);
                b = add(y[0], y[1]);
            }
        }
    }
@end
    return r;
}

fn coord_is_zero(x: Coord) -> bool {
    var zero = true;
@for d 0 DEGREE
    zero = zero && is_zero(x[$d]);
@end
    return zero;
}

fn coord_one() -> Coord {
    var r: Coord;
@for i 0 WORDS
    r[0][$i] = ${ONE[i]}u;
@end
    return r;
}

// The numbers of an addition: the sum so far, what is added to it, and those between. Where the
// latter is affine, only x and y of it count.
const X1 = 0u;
const Y1 = 1u;
const ZZ1 = 2u;
const ZZZ1 = 3u;
const X2 = 4u;
const Y2 = 5u;
const ZZ2 = 6u;
const ZZZ2 = 7u;
const U1 = 8u;
const S1 = 9u;
const P1 = 10u;
const R1 = 11u;
const PP = 12u;
const PPP = 13u;
const Q1 = 14u;
var<private> number: array<Coord, 15>;

fn clear_sum() {
    for (var c = 0u; c < 4u; c++) {
        number[X1 + c] = Coord();
    }
}

// A step: what is done, and when; where its result and its operands are.
const ADD = 0u;
const SUBTRACT = 1u;
const MULTIPLY = 2u;
const WHAT = 3u;
const IF_EQUAL = 4u; // the points
const IF_OTHER = 8u;

@if OP == GX_OP_MSM_ADD
const STEPS = 21u;
const TANGENT = 4u; // the step before which equal points are found
@else
const STEPS = 25u;
const TANGENT = 8u;
@end
var<private> steps: array<vec4<u32>, STEPS + 1u> = array<vec4<u32>, STEPS + 1u>(
@if OP != GX_OP_MSM_ADD
    vec4<u32>(MULTIPLY, U1, X1, ZZ2),
    vec4<u32>(MULTIPLY, S1, Y1, ZZZ2),
@end
    vec4<u32>(MULTIPLY, P1, X2, ZZ1),
    vec4<u32>(SUBTRACT, P1, P1, U1),
    vec4<u32>(MULTIPLY, R1, Y2, ZZZ1),
    vec4<u32>(SUBTRACT, R1, R1, S1),
@if OP != GX_OP_MSM_ADD
    vec4<u32>(MULTIPLY, ZZ1, ZZ1, ZZ2),
    vec4<u32>(MULTIPLY, ZZZ1, ZZZ1, ZZZ2),
@end
    vec4<u32>(MULTIPLY | IF_EQUAL, PP, U1, U1),
    vec4<u32>(ADD | IF_EQUAL, P1, S1, S1),
    vec4<u32>(ADD | IF_EQUAL, R1, PP, PP),
    vec4<u32>(ADD | IF_EQUAL, R1, R1, PP),
    vec4<u32>(MULTIPLY, PP, P1, P1),
    vec4<u32>(MULTIPLY, PPP, P1, PP),
    vec4<u32>(MULTIPLY, ZZ1, ZZ1, PP),
    vec4<u32>(MULTIPLY, ZZZ1, ZZZ1, PPP),
    vec4<u32>(MULTIPLY, Q1, U1, PP),
    vec4<u32>(MULTIPLY, X1, R1, R1),
    vec4<u32>(SUBTRACT, X1, X1, Q1),
    vec4<u32>(SUBTRACT, X1, X1, Q1),
    vec4<u32>(SUBTRACT | IF_OTHER, X1, X1, PPP),
    vec4<u32>(SUBTRACT, Q1, Q1, X1),
    vec4<u32>(MULTIPLY, Q1, Q1, R1),
    vec4<u32>(MULTIPLY, PPP, PPP, S1),
    vec4<u32>(SUBTRACT, Y1, Q1, PPP),
    vec4<u32>());

// Neither is infinity. `same`: they are known to be equal.
fn add_second(same: bool) {
    var equal = same;
    number[U1] = number[X1];
    number[S1] = number[Y1];
    for (var i = select(0u, TANGENT, same); i < STEPS; i++) {
        let step = steps[i];
        if i == TANGENT && !same {
            equal = coord_is_zero(number[P1]) && coord_is_zero(number[R1]);
        }
        if (step.x & select(IF_EQUAL, IF_OTHER, equal)) == 0u {
            let left = number[step.z];
            let right = number[step.w];
            let what = step.x & WHAT;
            var r: Coord;
            if what == MULTIPLY {
                r = coord_mul(left, right);
            } else if what == SUBTRACT {
                r = coord_sub(left, right);
            } else {
                r = coord_add(left, right);
            }
            number[step.y] = r;
        }
    }
}

@if OP != GX_OP_MSM_ADD
// Any points; `same`: they are known to be equal.
fn add_any(same: bool) {
    if coord_is_zero(number[ZZ2]) {
        return;
    }
    if !coord_is_zero(number[ZZ1]) {
        add_second(same);
        return;
    }
    for (var c = 0u; c < 4u; c++) {
        number[X1 + c] = number[X2 + c];
    }
}
@end
