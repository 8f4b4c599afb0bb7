/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements as 32-bit words in CUDA: the additions of prime.glsl by chains of carries. A chain is one
 * asm statement, because the carry does not live from one to the next; its text is put together
 * here for any number of words. In texts, %[x3] is word 3 of x, and %[p3] that of the modulus.
 */

/* ---- texts and operands ---- */

#if WORDS == 8
#define COMMAS(m, x) m(x, 0), m(x, 1), m(x, 2), m(x, 3), m(x, 4), m(x, 5), m(x, 6), m(x, 7)
#define EVERY(m, x) m(x, 0) m(x, 1) m(x, 2) m(x, 3) m(x, 4) m(x, 5) m(x, 6) m(x, 7)
#define MIDDLE(m)   m(1) m(2) m(3) m(4) m(5) m(6)
#define FIRST_WORD     0
#define LAST_WORD      7
#elif WORDS == 12
#define COMMAS(m, x)                                                                               \
    m(x, 0), m(x, 1), m(x, 2), m(x, 3), m(x, 4), m(x, 5), m(x, 6), m(x, 7), m(x, 8), m(x, 9),      \
        m(x, 10), m(x, 11)
#define EVERY(m, x)                                                                                \
    m(x, 0) m(x, 1) m(x, 2) m(x, 3) m(x, 4) m(x, 5) m(x, 6) m(x, 7) m(x, 8) m(x, 9) m(x, 10)       \
        m(x, 11)
#define MIDDLE(m) m(1) m(2) m(3) m(4) m(5) m(6) m(7) m(8) m(9) m(10)
#define FIRST_WORD     0
#define LAST_WORD      11
#else
#error "elements have 8 or 12 words"
#endif

constexpr u32 twice_modulus(int i) { return MODULUS[i] << 1 | (i > 0 ? MODULUS[i - 1] >> 31 : 0); }

/* Outputs are written before all inputs are read. */
#define PUT_WORD(x, i)   [x##i] "=&r"(x.word[i])
#define INOUT_WORD(x, i) [x##i] "+&r"(x.word[i])
#define GET_WORD(x, i)   [x##i] "r"(x.word[i])
#define MODULUS_WORD(x, i) [x##i] "n"(MODULUS[i])
#define PUT(x)           COMMAS(PUT_WORD, x)
#define GET(x)           COMMAS(GET_WORD, x)
#define CHANGE(x)        COMMAS(INOUT_WORD, x)
#define GET_MODULUS      COMMAS(MODULUS_WORD, p)
#define TWICE_WORD(x, i) [x##i] "n"(twice_modulus(i))
#define GET_TWICE_MODULUS COMMAS(TWICE_WORD, p)

#define EXPAND(m, i) m(i)

/* ---- chains ---- */

FUNCTION Element zero()
{
    Element r;
    UNROLL for (int i = 0; i < WORDS; i++)
        r.word[i] = 0;
    return r;
}

FUNCTION Element ELEMENT(const u32 (&words)[WORDS])
{
    Element r;
    UNROLL for (int i = 0; i < WORDS; i++)
        r.word[i] = words[i];
    return r;
}

FUNCTION bool is_zero(Element x)
{
    u32 any = 0;
    UNROLL for (int i = 0; i < WORDS; i++)
        any |= x.word[i];
    return any == 0;
}

/* x - p modulo 2^(32 * WORDS); borrow is not 0 if x < p. */
FUNCTION Element minus_modulus(Element x, OUT(u32) borrow)
{
    Element r;
    u32 below;
#define STEP(i) "subc.cc.u32 %[r" #i "],%[x" #i "],%[p" #i "];"
#define BEGIN(i) "sub.cc.u32 %[r" #i "],%[x" #i "],%[p" #i "];"
    asm(EXPAND(BEGIN, FIRST_WORD) MIDDLE(STEP) EXPAND(STEP, LAST_WORD) "subc.u32 %[below],0,0;"
        : PUT(r), [below] "=r"(below)
        : GET(x), GET_MODULUS);
#undef STEP
#undef BEGIN
    borrow = below;
    return r;
}

/* x < 2p, out < p. */
FUNCTION Element reduce_once(Element x)
{
    u32 below;
    Element less = minus_modulus(x, below);
    UNROLL for (int i = 0; i < WORDS; i++)
        less.word[i] = below != 0 ? x.word[i] : less.word[i];
    return less;
}

/* x + y modulo 2^(32 * WORDS). */
FUNCTION Element sum_of(Element x, Element y)
{
    Element r;
#define STEP(i) "addc.cc.u32 %[r" #i "],%[x" #i "],%[y" #i "];"
#define BEGIN(i) "add.cc.u32 %[r" #i "],%[x" #i "],%[y" #i "];"
#define END(i) "addc.u32 %[r" #i "],%[x" #i "],%[y" #i "];"
    asm(EXPAND(BEGIN, FIRST_WORD) MIDDLE(STEP) EXPAND(END, LAST_WORD) : PUT(r) : GET(x), GET(y));
#undef STEP
#undef BEGIN
#undef END
    return r;
}

/* x, y < p: the sum is below 2p, which fits, as the top bit of p is clear. */
FUNCTION Element add(Element x, Element y) { return reduce_once(sum_of(x, y)); }

/* x - y, plus p, or 2p, if that borrowed. */
#define STEP(i) "subc.cc.u32 %[r" #i "],%[x" #i "],%[y" #i "];"
#define BEGIN(i) "sub.cc.u32 %[r" #i "],%[x" #i "],%[y" #i "];"
#define LIFT_STEP(i) "@q addc.cc.u32 %[r" #i "],%[r" #i "],%[p" #i "];"
#define LIFT_BEGIN(i) "@q add.cc.u32 %[r" #i "],%[r" #i "],%[p" #i "];"
#define LIFT_END(i) "@q addc.u32 %[r" #i "],%[r" #i "],%[p" #i "];"
#define DIFFERENCE                                                                                 \
    "{.reg .pred q;.reg .u32 below;" EXPAND(BEGIN, FIRST_WORD) MIDDLE(STEP) EXPAND(STEP, LAST_WORD) \
    "subc.u32 below,0,0;setp.ne.u32 q,below,0;"                                                    \
    EXPAND(LIFT_BEGIN, FIRST_WORD) MIDDLE(LIFT_STEP) EXPAND(LIFT_END, LAST_WORD) "}"

/* x, y < p, out < p. */
FUNCTION Element sub(Element x, Element y)
{
    Element r;
    asm(DIFFERENCE : PUT(r) : GET(x), GET(y), GET_MODULUS);
    return r;
}

/* x, y < 2p, out < 2p. */
FUNCTION Element sub_twice(Element x, Element y)
{
    Element r;
    asm(DIFFERENCE : PUT(r) : GET(x), GET(y), GET_TWICE_MODULUS);
    return r;
}
#undef STEP
#undef BEGIN
#undef LIFT_STEP
#undef LIFT_BEGIN
#undef LIFT_END

/* x + y, less 2p if it is not below; x, y < 2p, out < 2p. */
FUNCTION Element add_twice(Element x, Element y)
{
    Element r, s;
    u32 below;
#define STEP(i) "addc.cc.u32 %[s" #i "],%[x" #i "],%[y" #i "];"
#define BEGIN(i) "add.cc.u32 %[s" #i "],%[x" #i "],%[y" #i "];"
#define LESS_STEP(i) "subc.cc.u32 %[r" #i "],%[s" #i "],%[p" #i "];"
#define LESS_BEGIN(i) "sub.cc.u32 %[r" #i "],%[s" #i "],%[p" #i "];"
    asm(EXPAND(BEGIN, FIRST_WORD) MIDDLE(STEP) EXPAND(STEP, LAST_WORD) "addc.u32 %[below],0,0;"
        EXPAND(LESS_BEGIN, FIRST_WORD) MIDDLE(LESS_STEP) EXPAND(LESS_STEP, LAST_WORD)
        "subc.u32 %[below],%[below],0;"
        : PUT(r), PUT(s), [below] "=&r"(below)
        : GET(x), GET(y), GET_TWICE_MODULUS);
#undef STEP
#undef BEGIN
#undef LESS_STEP
#undef LESS_BEGIN
    UNROLL for (int i = 0; i < WORDS; i++)
        r.word[i] = below != 0 ? s.word[i] : r.word[i];
    return r;
}

FUNCTION Element element_neg(Element x) /* 0 .. p: not below p where x is 0 */
{
    Element r;
#define STEP(i) "subc.cc.u32 %[r" #i "],%[p" #i "],%[x" #i "];"
#define BEGIN(i) "sub.cc.u32 %[r" #i "],%[p" #i "],%[x" #i "];"
#define END(i) "subc.u32 %[r" #i "],%[p" #i "],%[x" #i "];"
    asm(EXPAND(BEGIN, FIRST_WORD) MIDDLE(STEP) EXPAND(END, LAST_WORD) : PUT(r) : GET(x), GET_MODULUS);
#undef STEP
#undef BEGIN
#undef END
    return r;
}

/* Sums of numbers below 2^(32 * WORDS): one more word. */
struct Total {
    Element low;
    u32 above;
};

FUNCTION Total total_with(Total sum, Element x)
{
    Element r, low = sum.low;
    u32 above;
#define STEP(i) "addc.cc.u32 %[r" #i "],%[low" #i "],%[x" #i "];"
#define BEGIN(i) "add.cc.u32 %[r" #i "],%[low" #i "],%[x" #i "];"
    asm(EXPAND(BEGIN, FIRST_WORD) MIDDLE(STEP) EXPAND(STEP, LAST_WORD) "addc.u32 %[above],%[before],0;"
        : PUT(r), [above] "=r"(above)
        : GET(low), GET(x), [before] "r"(sum.above));
#undef STEP
#undef BEGIN
    sum.low = r;
    sum.above = above;
    return sum;
}
