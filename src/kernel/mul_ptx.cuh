/* SPDX-License-Identifier: Apache-2.0
 *
 * The Montgomery product in CUDA: words of 32 bits, carries by the hardware's carry flag. The same
 * functions as mul64.glsl and mul32.glsl; here Limbs are an Element below 2p.
 *
 * The sum T that a product is collected in is two numbers, e and o, T = e + 2^32 o. A word times
 * words 0, 2, 4 ... of a factor is added to one of them and times words 1, 3, 5 ... to the other, so
 * that the halves of these products, two words each, follow one another without gaps: one chain of
 * carries takes them all, and each pair mad.lo, madc.hi is one instruction of the hardware.
 *
 * A step adds x[i] y, and m p where m makes the lowest word 0, and drops that word: then o, which is
 * a word up, has the place of e, and what is left of e that of o; only e[1] is at the place of the
 * new e[0], and is added to it at the beginning of the next step, in a chain that goes on in the new
 * o. So a step is 4 * WORDS + 1 multiplications of 32 bits to 32, half as many instructions.
 *
 * Bounds: between steps T < y + p, as (T + (2^32 - 1) (y + p)) / 2^32 is again; with y <= p, and p
 * below 0.46 R (radix.c), T and what a step adds to it fit in WORDS + 1 words, and so do e and o,
 * which are parts of it: no chain has a carry beyond. In the end T < x y / R + p: below 2p for any
 * x < R, and y <= p.
 */
#define Limbs Element

FUNCTION Limbs factor(Element x) { return x; }
FUNCTION Limbs cofactor(Element y) { return y; }
FUNCTION Element canonical(Limbs x) { return reduce_once(x); }

/* ---- the text of a step ---- */

/* Two words of a chain: lo, hi = y * x + add_lo, add_hi. `mad` begins a chain or goes on with it,
 * `cc` is empty where it ends. */
#define WIDE(mad, cc, lo, hi, y, x, add_lo, add_hi)                                                \
    mad ".lo.cc.u32 " lo "," y "," x "," add_lo ";madc.hi" cc ".u32 " hi "," y "," x "," add_hi ";"
#define INTO(mad, cc, t, j, k, y, x) WIDE(mad, cc, t #j, t #k, y, x, t #j, t #k)
#define FROM(mad, cc, t, j, k, y, x, l, n) WIDE(mad, cc, t #j, t #k, y, x, t #l, t #n)
#define ALONE(t, j, k, y, x)                                                                       \
    "mul.lo.u32 " t #j "," y "," x ";mul.hi.u32 " t #k "," y "," x ";"

/* t = y[even] x, or y[odd] x; t += the same, where the first has a carry for the word above; and t
 * down by two words, with a carry into it. Y(j) is the operand for word j. */
#if WORDS == 8
#define EVEN_ALONE(t, Y, x)                                                                        \
    ALONE(t, 0, 1, Y(0), x) ALONE(t, 2, 3, Y(2), x) ALONE(t, 4, 5, Y(4), x) ALONE(t, 6, 7, Y(6), x)
#define ODD_ALONE(t, Y, x)                                                                         \
    ALONE(t, 0, 1, Y(1), x) ALONE(t, 2, 3, Y(3), x) ALONE(t, 4, 5, Y(5), x) ALONE(t, 6, 7, Y(7), x)
#define EVEN_INTO(t, Y, x)                                                                         \
    INTO("mad", ".cc", t, 0, 1, Y(0), x) INTO("madc", ".cc", t, 2, 3, Y(2), x)                     \
    INTO("madc", ".cc", t, 4, 5, Y(4), x) INTO("madc", ".cc", t, 6, 7, Y(6), x)
#define ODD_INTO(t, Y, x)                                                                          \
    INTO("mad", ".cc", t, 0, 1, Y(1), x) INTO("madc", ".cc", t, 2, 3, Y(3), x)                     \
    INTO("madc", ".cc", t, 4, 5, Y(5), x) INTO("madc", "", t, 6, 7, Y(7), x)
#define ODD_DOWN(t, Y, x)                                                                          \
    FROM("madc", ".cc", t, 0, 1, Y(1), x, 2, 3) FROM("madc", ".cc", t, 2, 3, Y(3), x, 4, 5)        \
    FROM("madc", ".cc", t, 4, 5, Y(5), x, 6, 7)                                                    \
    WIDE("madc", "", t "6", t "7", Y(7), x, "0", "0")
#define TOP "7"
#define REGISTERS ".reg .u32 m,n,e<8>,o<8>,x<8>,y<8>,z<8>,w<8>,v<8>,p<8>;mov.u32 n,%[inverse];"
#else
#define EVEN_ALONE(t, Y, x)                                                                        \
    ALONE(t, 0, 1, Y(0), x) ALONE(t, 2, 3, Y(2), x) ALONE(t, 4, 5, Y(4), x)                        \
    ALONE(t, 6, 7, Y(6), x) ALONE(t, 8, 9, Y(8), x) ALONE(t, 10, 11, Y(10), x)
#define ODD_ALONE(t, Y, x)                                                                         \
    ALONE(t, 0, 1, Y(1), x) ALONE(t, 2, 3, Y(3), x) ALONE(t, 4, 5, Y(5), x)                        \
    ALONE(t, 6, 7, Y(7), x) ALONE(t, 8, 9, Y(9), x) ALONE(t, 10, 11, Y(11), x)
#define EVEN_INTO(t, Y, x)                                                                         \
    INTO("mad", ".cc", t, 0, 1, Y(0), x) INTO("madc", ".cc", t, 2, 3, Y(2), x)                     \
    INTO("madc", ".cc", t, 4, 5, Y(4), x) INTO("madc", ".cc", t, 6, 7, Y(6), x)                    \
    INTO("madc", ".cc", t, 8, 9, Y(8), x) INTO("madc", ".cc", t, 10, 11, Y(10), x)
#define ODD_INTO(t, Y, x)                                                                          \
    INTO("mad", ".cc", t, 0, 1, Y(1), x) INTO("madc", ".cc", t, 2, 3, Y(3), x)                     \
    INTO("madc", ".cc", t, 4, 5, Y(5), x) INTO("madc", ".cc", t, 6, 7, Y(7), x)                    \
    INTO("madc", ".cc", t, 8, 9, Y(9), x) INTO("madc", "", t, 10, 11, Y(11), x)
#define ODD_DOWN(t, Y, x)                                                                          \
    FROM("madc", ".cc", t, 0, 1, Y(1), x, 2, 3) FROM("madc", ".cc", t, 2, 3, Y(3), x, 4, 5)        \
    FROM("madc", ".cc", t, 4, 5, Y(5), x, 6, 7) FROM("madc", ".cc", t, 6, 7, Y(7), x, 8, 9)        \
    FROM("madc", ".cc", t, 8, 9, Y(9), x, 10, 11)                                                  \
    WIDE("madc", "", t "10", t "11", Y(11), x, "0", "0")
#define TOP "11"
#define REGISTERS ".reg .u32 m,n,e<12>,o<12>,x<12>,y<12>,z<12>,w<12>,v<12>,p<12>;mov.u32 n,%[inverse];"
#endif

/* Operands have short names inside: most of a module's text is products. */
#define NAME_WORD(x, i) "mov.u32 " #x #i ",%[" #x #i "];"
#define NAMES(x)        EVERY(NAME_WORD, x)

#define CARRY(t) "addc.u32 " t TOP "," t TOP ",0;"

#define Y_WORD(j) "y" #j
#define W_WORD(j) "w" #j
#define V_WORD(j) "v" #j
#define P_WORD(j) "p" #j

/* e + 2^32 o: += y x; += m p. */
#define FIRST_ROW(e, o, Y, x) EVEN_ALONE(e, Y, x) ODD_ALONE(o, Y, x)
#define NEXT_ROW(e, o, Y, x)                                                                       \
    "add.cc.u32 " e "0," e "0," o "1;" ODD_DOWN(o, Y, x) EVEN_INTO(e, Y, x) CARRY(o)
#define OTHER_ROW(e, o, Y, x) ODD_INTO(o, Y, x) EVEN_INTO(e, Y, x) CARRY(o)
#if SPARSE_LOW_LIMBS
/* p is 1 - 2^32 modulo 2^64, and m = -e0: neither m nor its products with words 0 and 1 of p need a
 * multiplication. e0 + m is 2^32 c, c = 1 but where e0 is 0, when c = m = 0; and m p[1] is
 * 2^32 m - m = 2^32 (m - c) + e0, of which m - c is not negative, and fits: -e0 - 1 + (1 - c), where
 * 1 - c is the carry of -e0. c is a word up from e0, at the place of o0. */
#define REDUCE(e, o)                                                                               \
    "not.b32 v0," e "0;add.cc.u32 m,v0,1;addc.u32 n,v0,0;add.cc.u32 v0," e "0,m;"                  \
    "addc.cc.u32 " o "0," o "0," e "0;addc.cc.u32 " o "1," o "1,n;"                                \
    INTO("madc", ".cc", o, 2, 3, P_WORD(3), "m") INTO("madc", ".cc", o, 4, 5, P_WORD(5), "m")      \
    INTO("madc", "", o, 6, 7, P_WORD(7), "m") INTO("mad", ".cc", e, 2, 3, P_WORD(2), "m")          \
    INTO("madc", ".cc", e, 4, 5, P_WORD(4), "m") INTO("madc", ".cc", e, 6, 7, P_WORD(6), "m")      \
    CARRY(o)
static_assert(WORDS == 8 && MODULUS[0] == 1u && MODULUS[1] == 0xffffffffu, "of one such field");
#else
#define REDUCE(e, o) "mul.lo.u32 m," e "0,n;" OTHER_ROW(e, o, P_WORD, "m")
#endif

/* All steps, of which the first is different, and the result: WORDS is even, so the last step has o in
 * place of e. */
#if WORDS == 8
#define STEPS_OF(one, two)                                                                         \
    one(0, "e", "o") two(1, "o", "e") two(2, "e", "o") two(3, "o", "e") two(4, "e", "o")           \
    two(5, "o", "e") two(6, "e", "o") two(7, "o", "e")
#define RESULT                                                                                     \
    "add.cc.u32 %[r0],e0,o1;addc.cc.u32 %[r1],e1,o2;addc.cc.u32 %[r2],e2,o3;"                      \
    "addc.cc.u32 %[r3],e3,o4;addc.cc.u32 %[r4],e4,o5;addc.cc.u32 %[r5],e5,o6;"                     \
    "addc.cc.u32 %[r6],e6,o7;addc.u32 %[r7],e7,0;"
#else
#define STEPS_OF(one, two)                                                                         \
    one(0, "e", "o") two(1, "o", "e") two(2, "e", "o") two(3, "o", "e") two(4, "e", "o")           \
    two(5, "o", "e") two(6, "e", "o") two(7, "o", "e") two(8, "e", "o") two(9, "o", "e")           \
    two(10, "e", "o") two(11, "o", "e")
#define RESULT                                                                                     \
    "add.cc.u32 %[r0],e0,o1;addc.cc.u32 %[r1],e1,o2;addc.cc.u32 %[r2],e2,o3;"                      \
    "addc.cc.u32 %[r3],e3,o4;addc.cc.u32 %[r4],e4,o5;addc.cc.u32 %[r5],e5,o6;"                     \
    "addc.cc.u32 %[r6],e6,o7;addc.cc.u32 %[r7],e7,o8;addc.cc.u32 %[r8],e8,o9;"                     \
    "addc.cc.u32 %[r9],e9,o10;addc.cc.u32 %[r10],e10,o11;addc.u32 %[r11],e11,0;"
#endif

/* ---- products ---- */

/* x y / R: x < R, y <= p; result < 2p. */
FUNCTION Limbs multiply(Limbs x, Limbs y)
{
    Element r;
#define FIRST_STEP(i, e, o) FIRST_ROW(e, o, Y_WORD, "x" #i) REDUCE(e, o)
#define NEXT_STEP(i, e, o) NEXT_ROW(e, o, Y_WORD, "x" #i) REDUCE(e, o)
    asm("{" REGISTERS NAMES(x) NAMES(y) NAMES(p) STEPS_OF(FIRST_STEP, NEXT_STEP) RESULT "}"
        : PUT(r)
        : GET(x), GET(y), GET_MODULUS, [inverse] "n"(NEG_INVERSE));
#undef FIRST_STEP
#undef NEXT_STEP
    return r;
}

#if BELOW_THIRD
/* x^2 / R, x < p; result < 2p. Row i has x[i] times itself and twice the words above it, which v
 * holds: WORDS (WORDS + 1) / 2 products of words in all, in place of WORDS^2, and T < 2x + p, which
 * fits. Below them, o goes down without products, and e stays as it is. */
#define DOWN(t, j, k, y, x, l, n)                                                                  \
    "addc.cc.u32 " t #j "," t #l ",0;addc.cc.u32 " t #k "," t #n ",0;"
#define DOWN_MAD(t, j, k, y, x, l, n) FROM("madc", ".cc", t, j, k, y, x, l, n)
#define SKIP(t, j, k, y, x)
#define BEGIN(t, j, k, y, x) INTO("mad", ".cc", t, j, k, y, x)
#define ON(t, j, k, y, x)    INTO("madc", ".cc", t, j, k, y, x)
#define OWN(i)               "mov.u32 v" #i ",x" #i ";"
#define TWICE(i)             "shl.b32 v" #i ",x" #i ",1;"
#define ODD_PART(e, o) "add.cc.u32 " e "0," e "0," o "1;"

#if WORDS == 8
#define SQUARE_ROW(i, e, o, f0, f1, f2, g0, g1, g2, g3)                                            \
    ODD_PART(e, o) f0(o, 0, 1, V_WORD(1), "x" #i, 2, 3) f1(o, 2, 3, V_WORD(3), "x" #i, 4, 5)       \
    f2(o, 4, 5, V_WORD(5), "x" #i, 6, 7)                                                           \
    WIDE("madc", "", o "6", o "7", V_WORD(7), "x" #i, "0", "0") g0(e, 0, 1, V_WORD(0), "x" #i)     \
    g1(e, 2, 3, V_WORD(2), "x" #i) g2(e, 4, 5, V_WORD(4), "x" #i) g3(e, 6, 7, V_WORD(6), "x" #i)
#define SQUARE_ROWS                                                                                \
    OWN(0) TWICE(1) FIRST_ROW("e", "o", V_WORD, "x0") REDUCE("e", "o")                             \
    OWN(1) TWICE(2) SQUARE_ROW(1, "o", "e", DOWN_MAD, DOWN_MAD, DOWN_MAD, SKIP, BEGIN, ON, ON)     \
        CARRY("e") REDUCE("o", "e")                                                                \
    OWN(2) TWICE(3) SQUARE_ROW(2, "e", "o", DOWN, DOWN_MAD, DOWN_MAD, SKIP, BEGIN, ON, ON)         \
        CARRY("o") REDUCE("e", "o")                                                                \
    OWN(3) TWICE(4) SQUARE_ROW(3, "o", "e", DOWN, DOWN_MAD, DOWN_MAD, SKIP, SKIP, BEGIN, ON)       \
        CARRY("e") REDUCE("o", "e")                                                                \
    OWN(4) TWICE(5) SQUARE_ROW(4, "e", "o", DOWN, DOWN, DOWN_MAD, SKIP, SKIP, BEGIN, ON)           \
        CARRY("o") REDUCE("e", "o")                                                                \
    OWN(5) TWICE(6) SQUARE_ROW(5, "o", "e", DOWN, DOWN, DOWN_MAD, SKIP, SKIP, SKIP, BEGIN)         \
        CARRY("e") REDUCE("o", "e")                                                                \
    OWN(6) TWICE(7) SQUARE_ROW(6, "e", "o", DOWN, DOWN, DOWN, SKIP, SKIP, SKIP, BEGIN)             \
        CARRY("o") REDUCE("e", "o")                                                                \
    OWN(7) SQUARE_ROW(7, "o", "e", DOWN, DOWN, DOWN, SKIP, SKIP, SKIP, SKIP) REDUCE("o", "e")
#else
#define SQUARE_ROW(i, e, o, f0, f1, f2, f3, f4, g0, g1, g2, g3, g4, g5)                            \
    ODD_PART(e, o) f0(o, 0, 1, V_WORD(1), "x" #i, 2, 3) f1(o, 2, 3, V_WORD(3), "x" #i, 4, 5)       \
    f2(o, 4, 5, V_WORD(5), "x" #i, 6, 7) f3(o, 6, 7, V_WORD(7), "x" #i, 8, 9)                      \
    f4(o, 8, 9, V_WORD(9), "x" #i, 10, 11)                                                         \
    WIDE("madc", "", o "10", o "11", V_WORD(11), "x" #i, "0", "0")                                 \
    g0(e, 0, 1, V_WORD(0), "x" #i) g1(e, 2, 3, V_WORD(2), "x" #i) g2(e, 4, 5, V_WORD(4), "x" #i)   \
    g3(e, 6, 7, V_WORD(6), "x" #i) g4(e, 8, 9, V_WORD(8), "x" #i)                                  \
    g5(e, 10, 11, V_WORD(10), "x" #i)
#define SQUARE_ROWS                                                                                \
    OWN(0) TWICE(1) FIRST_ROW("e", "o", V_WORD, "x0") REDUCE("e", "o")                             \
    OWN(1) TWICE(2) SQUARE_ROW(1, "o", "e", DOWN_MAD, DOWN_MAD, DOWN_MAD, DOWN_MAD, DOWN_MAD,      \
        SKIP, BEGIN, ON, ON, ON, ON) CARRY("e") REDUCE("o", "e")                                   \
    OWN(2) TWICE(3) SQUARE_ROW(2, "e", "o", DOWN, DOWN_MAD, DOWN_MAD, DOWN_MAD, DOWN_MAD, SKIP,    \
        BEGIN, ON, ON, ON, ON) CARRY("o") REDUCE("e", "o")                                         \
    OWN(3) TWICE(4) SQUARE_ROW(3, "o", "e", DOWN, DOWN_MAD, DOWN_MAD, DOWN_MAD, DOWN_MAD, SKIP,    \
        SKIP, BEGIN, ON, ON, ON) CARRY("e") REDUCE("o", "e")                                       \
    OWN(4) TWICE(5) SQUARE_ROW(4, "e", "o", DOWN, DOWN, DOWN_MAD, DOWN_MAD, DOWN_MAD, SKIP,        \
        SKIP, BEGIN, ON, ON, ON) CARRY("o") REDUCE("e", "o")                                       \
    OWN(5) TWICE(6) SQUARE_ROW(5, "o", "e", DOWN, DOWN, DOWN_MAD, DOWN_MAD, DOWN_MAD, SKIP,        \
        SKIP, SKIP, BEGIN, ON, ON) CARRY("e") REDUCE("o", "e")                                     \
    OWN(6) TWICE(7) SQUARE_ROW(6, "e", "o", DOWN, DOWN, DOWN, DOWN_MAD, DOWN_MAD, SKIP, SKIP,      \
        SKIP, BEGIN, ON, ON) CARRY("o") REDUCE("e", "o")                                           \
    OWN(7) TWICE(8) SQUARE_ROW(7, "o", "e", DOWN, DOWN, DOWN, DOWN_MAD, DOWN_MAD, SKIP, SKIP,      \
        SKIP, SKIP, BEGIN, ON) CARRY("e") REDUCE("o", "e")                                         \
    OWN(8) TWICE(9) SQUARE_ROW(8, "e", "o", DOWN, DOWN, DOWN, DOWN, DOWN_MAD, SKIP, SKIP, SKIP,    \
        SKIP, BEGIN, ON) CARRY("o") REDUCE("e", "o")                                               \
    OWN(9) TWICE(10) SQUARE_ROW(9, "o", "e", DOWN, DOWN, DOWN, DOWN, DOWN_MAD, SKIP, SKIP, SKIP,   \
        SKIP, SKIP, BEGIN) CARRY("e") REDUCE("o", "e")                                             \
    OWN(10) TWICE(11) SQUARE_ROW(10, "e", "o", DOWN, DOWN, DOWN, DOWN, DOWN, SKIP, SKIP, SKIP,     \
        SKIP, SKIP, BEGIN) CARRY("o") REDUCE("e", "o")                                             \
    OWN(11) SQUARE_ROW(11, "o", "e", DOWN, DOWN, DOWN, DOWN, DOWN, SKIP, SKIP, SKIP, SKIP, SKIP,   \
        SKIP) REDUCE("o", "e")
#endif

FUNCTION Limbs square(Element x)
{
    Element r, v;
    v.word[0] = 0;
    UNROLL for (int i = 1; i < WORDS; i++)
        v.word[i] = x.word[i] << 1 | x.word[i - 1] >> 31;
    asm("{" REGISTERS NAMES(x) NAMES(v) NAMES(p) SQUARE_ROWS RESULT "}"
        : PUT(r)
        : GET(x), GET(v), GET_MODULUS, [inverse] "n"(NEG_INVERSE));
    return r;
}
#else
FUNCTION Limbs square(Element x) { return multiply(x, x); }
#endif

/* (x y + z w) / R with one reduction: x, z < R, y, w <= p, and their products below 2p p together;
 * result < 2p. T < y + w + p, which fits for moduli below R / 3: those of curves. */
#if BELOW_THIRD
FUNCTION Limbs two_products(Element x, Element y, Element z, Element w)
{
    Element r;
#define FIRST_STEP(i, e, o)                                                                        \
    FIRST_ROW(e, o, Y_WORD, "x" #i) OTHER_ROW(e, o, W_WORD, "z" #i) REDUCE(e, o)
#define NEXT_STEP(i, e, o)                                                                         \
    NEXT_ROW(e, o, Y_WORD, "x" #i) OTHER_ROW(e, o, W_WORD, "z" #i) REDUCE(e, o)
    asm("{" REGISTERS NAMES(x) NAMES(y) NAMES(z) NAMES(w) NAMES(p)
            STEPS_OF(FIRST_STEP, NEXT_STEP) RESULT "}"
        : PUT(r)
        : GET(x), GET(y), GET(z), GET(w), GET_MODULUS, [inverse] "n"(NEG_INVERSE));
#undef FIRST_STEP
#undef NEXT_STEP
    return r;
}
#endif

/* x * y + addend + carry, which fits in 64 bits: the low word, the high one in carry. */
FUNCTION u32 multiply_add(u32 x, u32 y, u32 addend, INOUT(u32) carry)
{
    u64 sum = (u64)x * y + addend + carry;
    carry = (u32)(sum >> 32);
    return (u32)sum;
}
