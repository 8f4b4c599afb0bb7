/* SPDX-License-Identifier: Apache-2.0
 *
 * Points of y^2 = x^3 + b in the coordinates X, Y, ZZ, ZZZ with x = X / ZZ, y = Y / ZZZ and
 * ZZ^3 = ZZZ^2; infinity has ZZ = 0. Coordinates are elements of the base field, or with DEGREE 2
 * of its quadratic extension by i, i^2 = -1, real part first. Needs mul64.glsl or mul32.glsl and
 * the words of prelude.glsl.
 */

/* ---- the base field ---- */

FUNCTION Element element_mul(Element x, Element y)
{
    return canonical(multiply(factor(x), cofactor(y)));
}

#ifndef __CUDA__ /* words_ptx.cuh has it */
FUNCTION Element element_neg(Element x) /* 0 .. p: not below p where x is 0 */
{
    u32 borrow = 0u;
    UNROLL for (int i = 0; i < WORDS; i++)
        x.word[i] = sub_borrow(MODULUS[i], x.word[i], borrow);
    return x;
}
#endif

/* ---- coordinates ---- */

#if CALLED_PRODUCTS /* in CUDA */
#define COORD_MUL own_coord_mul
#define COORD_SQR own_coord_sqr
#else
#define COORD_MUL coord_mul
#define COORD_SQR coord_sqr
#endif

#if DEGREE == 2

struct Coord {
    Element c[2];
};

#define COORD_QUADS (2 * QUADS)

FUNCTION Coord coord_add(Coord x, Coord y)
{
    x.c[0] = add(x.c[0], y.c[0]);
    x.c[1] = add(x.c[1], y.c[1]);
    return x;
}

FUNCTION Coord coord_sub(Coord x, Coord y)
{
    x.c[0] = sub(x.c[0], y.c[0]);
    x.c[1] = sub(x.c[1], y.c[1]);
    return x;
}

FUNCTION Coord COORD_MUL(Coord x, Coord y)
{
    Coord r;
    r.c[0] = canonical(two_products(x.c[0], y.c[0], element_neg(x.c[1]), y.c[1]));
    r.c[1] = canonical(two_products(x.c[0], y.c[1], x.c[1], y.c[0]));
    return r;
}

FUNCTION Coord COORD_SQR(Coord x)
{
    Coord r;
    r.c[0] = element_mul(add(x.c[0], x.c[1]), sub(x.c[0], x.c[1]));
    Element twice = element_mul(x.c[0], x.c[1]);
    r.c[1] = add(twice, twice);
    return r;
}

#if CALLED_PRODUCTS
#include "called.cuh"
#endif

/* x y - z w */
FUNCTION Coord coord_mul_sub(Coord x, Coord y, Coord z, Coord w)
{
    return coord_sub(coord_mul(x, y), coord_mul(z, w));
}

FUNCTION bool coord_is_zero(Coord x) { return is_zero(x.c[0]) && is_zero(x.c[1]); }

FUNCTION Coord coord_zero()
{
    Coord r;
    r.c[0] = zero();
    r.c[1] = zero();
    return r;
}

FUNCTION Coord coord_one()
{
    Coord r;
    r.c[0] = ELEMENT(ONE);
    r.c[1] = zero();
    return r;
}

FUNCTION u32 coord_word(Coord x, int k) { return x.c[k / WORDS].word[k % WORDS]; }
FUNCTION void set_coord_word(INOUT(Coord) x, int k, u32 word)
{
    x.c[k / WORDS].word[k % WORDS] = word;
}

#else

#define Coord       Element
#define COORD_QUADS QUADS

FUNCTION Coord coord_add(Coord x, Coord y) { return add(x, y); }
FUNCTION Coord coord_sub(Coord x, Coord y) { return sub(x, y); }
FUNCTION Coord COORD_MUL(Coord x, Coord y) { return element_mul(x, y); }
FUNCTION Coord COORD_SQR(Coord x) { return canonical(square(x)); }
#if CALLED_PRODUCTS
#include "called.cuh"
FUNCTION Coord coord_mul_sub(Coord x, Coord y, Coord z, Coord w)
{
    return sub(coord_mul(x, y), coord_mul(z, w));
}
#else
FUNCTION Coord coord_mul_sub(Coord x, Coord y, Coord z, Coord w)
{
    return canonical(two_products(x, y, element_neg(z), w));
}
#endif
FUNCTION bool coord_is_zero(Coord x) { return is_zero(x); }
FUNCTION Coord coord_zero() { return zero(); }
FUNCTION Coord coord_one() { return ELEMENT(ONE); }
FUNCTION u32 coord_word(Coord x, int k) { return x.word[k]; }
FUNCTION void set_coord_word(INOUT(Coord) x, int k, u32 word) { x.word[k] = word; }

#endif

#define COORD_WORDS (4 * COORD_QUADS)

/* ---- points ---- */

struct Affine {
    Coord x, y; /* both 0: infinity */
};

struct Point {
    Coord x, y, zz, zzz;
};

FUNCTION bool affine_is_infinity(Affine p) { return coord_is_zero(p.x) && coord_is_zero(p.y); }
FUNCTION bool point_is_infinity(Point p) { return coord_is_zero(p.zz); }

FUNCTION Point infinity()
{
    Point r;
    r.x = coord_zero();
    r.y = coord_zero();
    r.zz = coord_zero();
    r.zzz = coord_zero();
    return r;
}

FUNCTION Point point_of(Affine p)
{
    Point r;
    r.x = p.x;
    r.y = p.y;
    r.zz = coord_one();
    r.zzz = coord_one();
    return r;
}

FUNCTION Affine affine_neg(Affine p)
{
    p.y = coord_sub(coord_zero(), p.y);
    return p;
}

#if STEPS

/* The formulas below as a list of steps, so that the module contains one product and one square: it
 * is compiled in a fraction of the time. A step is to = a + b, a - b, a * b or a^2 of these: */
#define X1       0u
#define Y1       1u
#define ZZ1      2u
#define ZZZ1     3u
#define X2       4u
#define Y2       5u
#define ZZ2      6u
#define ZZZ2     7u
#define U1       8u
#define S1       9u
#define P1       10u
#define R1       11u
#define PP       12u
#define PPP      13u
#define Q1       14u
#define NUMBERS  15
#define MULTIPLY 0x01000000u
#define SUBTRACT 0x02000000u
#define IF_EQUAL 0x04000000u /* the points */
#define IF_OTHER 0x08000000u
#define IF_FULL  0x10000000u /* the second one is not affine */
#define SQUARE   0x20000000u
#define STEP(to, a, b) ((to) << 16 | (a) << 8 | (b))

CONSTANT u32 ADD_STEPS[] = BEGIN_LIST
    IF_FULL | MULTIPLY | STEP(U1, X1, ZZ2), IF_FULL | MULTIPLY | STEP(S1, Y1, ZZZ2),
    MULTIPLY | STEP(P1, X2, ZZ1), SUBTRACT | STEP(P1, P1, U1), MULTIPLY | STEP(R1, Y2, ZZZ1),
    SUBTRACT | STEP(R1, R1, S1), IF_FULL | MULTIPLY | STEP(ZZ1, ZZ1, ZZ2),
    IF_FULL | MULTIPLY | STEP(ZZZ1, ZZZ1, ZZZ2),
    IF_EQUAL | SQUARE | STEP(PP, U1, U1), IF_EQUAL | STEP(P1, S1, S1),
    IF_EQUAL | STEP(R1, PP, PP), IF_EQUAL | STEP(R1, R1, PP),
    SQUARE | STEP(PP, P1, P1), MULTIPLY | STEP(PPP, P1, PP), MULTIPLY | STEP(ZZ1, ZZ1, PP),
    MULTIPLY | STEP(ZZZ1, ZZZ1, PPP), MULTIPLY | STEP(Q1, U1, PP), SQUARE | STEP(X1, R1, R1),
    SUBTRACT | STEP(X1, X1, Q1), SUBTRACT | STEP(X1, X1, Q1),
    IF_OTHER | SUBTRACT | STEP(X1, X1, PPP), SUBTRACT | STEP(Q1, Q1, X1),
    MULTIPLY | STEP(Q1, Q1, R1), MULTIPLY | STEP(PPP, PPP, S1), SUBTRACT | STEP(Y1, Q1, PPP) END_LIST;
#define TANGENT 8 /* the step before which equal points are found */

/* Neither is infinity. `same`: they are known to be equal. */
FUNCTION Point add_in_steps(Point a, Point b, bool full, bool same)
{
    Coord x[NUMBERS];
    bool equal = same;
    x[U1] = a.x;
    x[S1] = a.y;
    x[X1] = a.x;
    x[Y1] = a.y;
    x[ZZ1] = a.zz;
    x[ZZZ1] = a.zzz;
    x[X2] = b.x;
    x[Y2] = b.y;
    x[ZZ2] = b.zz;
    x[ZZZ2] = b.zzz;
    LOOP for (int i = same ? TANGENT : 0; i < LENGTH(ADD_STEPS); i++) {
        u32 step = ADD_STEPS[i], to = step >> 16 & 255u;
        if (i == TANGENT && !same)
            equal = coord_is_zero(x[P1]) && coord_is_zero(x[R1]);
        if ((step & ((equal ? IF_OTHER : IF_EQUAL) | (full ? 0u : IF_FULL))) == 0u) {
            Coord left = x[step >> 8 & 255u], right = x[step & 255u], r;
            if ((step & SQUARE) != 0u)
                r = coord_sqr(left);
            else if ((step & MULTIPLY) != 0u)
                r = coord_mul(left, right);
            else if ((step & SUBTRACT) != 0u)
                r = coord_sub(left, right);
            else
                r = coord_add(left, right);
            x[to] = r;
        }
    }
    a.x = x[X1];
    a.y = x[Y1];
    a.zz = x[ZZ1];
    a.zzz = x[ZZZ1];
    return a;
}

FUNCTION Point add_points(Point a, Point b, bool same) { return add_in_steps(a, b, true, same); }
FUNCTION Point add_affine(Point a, Affine b) { return add_in_steps(a, point_of(b), false, false); }

#else

/* The sum of a = (u, s) and another point, both over the denominators zz and zzz, whose coordinates
 * are larger by p and r. Where both are 0 the points are equal, and the tangent takes the place of
 * the line through them; where only p is 0 they are opposite, and zz becomes 0. */
FUNCTION Point add_over(Coord u, Coord s, Coord p, Coord r, Coord zz, Coord zzz)
{
    bool doubles = coord_is_zero(p) && coord_is_zero(r);
    if (doubles) {
        Coord square = coord_sqr(u);
        p = coord_add(s, s);
        r = coord_add(coord_add(square, square), square);
    }
    Point sum;
    Coord pp = coord_sqr(p), ppp = coord_mul(p, pp);
    sum.zz = coord_mul(zz, pp);
    sum.zzz = coord_mul(zzz, ppp);
    Coord q = coord_mul(u, pp);
    sum.x = coord_sub(coord_sqr(r), coord_add(q, q));
    if (!doubles)
        sum.x = coord_sub(sum.x, ppp);
    sum.y = coord_mul_sub(r, coord_sub(q, sum.x), s, ppp);
    return sum;
}

/* Neither is infinity. */
FUNCTION Point add_affine(Point a, Affine b)
{
    Coord p = coord_sub(coord_mul(b.x, a.zz), a.x), r = coord_sub(coord_mul(b.y, a.zzz), a.y);
    return add_over(a.x, a.y, p, r, a.zz, a.zzz);
}

FUNCTION Point add_points(Point a, Point b, bool same)
{
    Coord u = a.x, s = a.y, p = coord_zero(), r = coord_zero(), zz = a.zz, zzz = a.zzz;
    if (!same) {
        u = coord_mul(a.x, b.zz);
        s = coord_mul(a.y, b.zzz);
        p = coord_sub(coord_mul(b.x, a.zz), u);
        r = coord_sub(coord_mul(b.y, a.zzz), s);
        zz = coord_mul(a.zz, b.zz);
        zzz = coord_mul(a.zzz, b.zzz);
    }
    return add_over(u, s, p, r, zz, zzz);
}

#endif
