/* SPDX-License-Identifier: Apache-2.0
 *
 * A pass of a number-theoretic transform: some levels of the tree that gpu/passes_ntt.c describes,
 * over all transforms. In the words of prelude.glsl, and nothing else.
 *
 * The index of an element in its transform has three parts, from the highest bits: its block at the
 * level where the pass begins; s, in which those of a butterfly of this pass differ; and its
 * column. A workgroup takes a tile of EACH * GROUP_SIZE elements: all s, as the high bits of an
 * element's number in the tile, and some lines (transform, block, column), as its low bits. An
 * invocation has EACH elements of a line, which differ in RADIX_BITS consecutive bits of that
 * number, so it can compute as many levels alone; then the tile is exchanged through shared memory,
 * a few limbs at a time, and the next bits are in one invocation.
 *
 * Stage 0 holds the fields below, stage 1 where the powers of the shift lie in the table, which is
 * bound as B.
 */
#if EACH == 4
#define RADIX_BITS 2u
#elif EACH == 2 /* GX_SHADER_NTT_SMALL, in CUDA */
#define RADIX_BITS 1u
#else
#error "an invocation computes two levels alone, or one"
#endif

struct Pass {
    u32 log2_n, first, levels; /* of a transform; level where this pass begins; and how many */
    u32 log2_pad, flags;
    u32 tile_bits, line_bits; /* of an element's number in the tile, and of its line's */
    u32 column_bits;
    u32 batch; /* transforms */
};

FUNCTION Pass decode()
{
    u32 word = STAGE(0);
    Pass p;
    p.log2_n = word & 31u;
    p.first = word >> GX_K_NTT_FIRST & 31u;
    p.levels = word >> GX_K_NTT_LEVELS & 31u;
    p.log2_pad = word >> GX_K_NTT_PAD & 31u;
    p.flags = word >> GX_K_NTT_FLAGS;
    p.tile_bits = HIGHEST_BIT(GROUP_SIZE) + RADIX_BITS;
    p.line_bits = p.tile_bits - p.levels;
    p.column_bits = p.log2_n - p.first - p.levels;
    p.batch = ELEMENTS >> p.log2_n;
    return p;
}

FUNCTION bool flag(Pass p, u32 bit) { return (p.flags & bit) != 0u; }

/* ---- where elements are ---- */

struct Line {
    u32 transform, block, column; /* beyond the last transform: nothing is there */
};

/* Element r of this invocation while its bits begin at `at`: its number in the tile. */
FUNCTION u32 number_of(u32 r, u32 at)
{
    u32 thread = LOCAL_INDEX;
    return thread >> at << at + RADIX_BITS | r << at | thread & (1u << at) - 1u;
}

FUNCTION Line line_of(Pass p, u32 number)
{
    u32 line = number & (1u << p.line_bits) - 1u, tile = GROUP_INDEX;
    if (flag(p, GX_K_NTT_SPREAD)) { /* far from each other: in reverse order they are not */
        u32 bits = p.first - p.line_bits;
        line = (tile >> bits << p.line_bits | line) << bits | tile & (1u << bits) - 1u;
    } else {
        line |= tile << p.line_bits;
    }
    Line l;
    if (flag(p, GX_K_NTT_COLUMNS)) {
        u32 rest = line / p.batch;
        l.transform = line - rest * p.batch;
        l.column = rest & (1u << p.column_bits) - 1u;
        l.block = rest >> p.column_bits & (1u << p.first) - 1u;
        if (rest >> p.column_bits + p.first != 0u)
            l.transform = p.batch;
    } else {
        l.column = line & (1u << p.column_bits) - 1u;
        line >>= p.column_bits;
        l.block = line & (1u << p.first) - 1u;
        l.transform = line >> p.first;
    }
    return l;
}

/* Of an element of the line. A pass with fewer levels than RADIX_BITS is the only one, and an
 * invocation's elements are of several transforms then. */
FUNCTION u32 transform_of(Pass p, Line l, u32 number)
{
    if (p.levels >= RADIX_BITS)
        return l.transform;
    return GROUP_INDEX << p.line_bits | number & (1u << p.line_bits) - 1u;
}

FUNCTION u32 index_of(Pass p, Line l, u32 number)
{
    return (l.block << p.levels | number >> p.line_bits) << p.column_bits | l.column;
}

/* Index i of a transform, in an array of transforms of 2^bits. */
FUNCTION u32 place_of(Pass p, u32 transform, u32 i, u32 bits)
{
    return flag(p, GX_K_NTT_COLUMNS) ? i * p.batch + transform : transform << bits | i;
}

FUNCTION u32 reversed(u32 i, u32 bits) { return REVERSE_BITS(i) >> 1 >> 31u - bits; }

/* ---- first load and last store ---- */

/* Natural index of the operand for index i of the tree, and of the result that is there. At its
 * leaves, the tree has bit-reversed order. An inverse transform has result i where the forward one
 * has -i. */
FUNCTION u32 operand_of(Pass p, u32 i) { return BACK ? reversed(i, p.log2_n) : i; }

FUNCTION u32 result_of(Pass p, u32 i)
{
    i = BACK ? i : reversed(i, p.log2_n);
    return flag(p, GX_K_NTT_INVERSE) ? 0u - i & (1u << p.log2_n) - 1u : i;
}

FUNCTION Lazy load(Pass p, u32 transform, u32 i)
{
    u32 bits = p.log2_n;
    bool operand = flag(p, GX_K_NTT_OPERAND), is_there = transform < p.batch;
    if (operand && p.log2_pad != 0u) {
        bits -= p.log2_pad;
        is_there = is_there && operand_of(p, i) >> bits == 0u;
        i = BACK ? i >> p.log2_pad : i;
    }
    if (!is_there)
        return lazy_zero();
    u32 place = place_of(p, transform, i, bits);
    Element x = load_element(place);
#ifndef __CUDA__
    if (operand)
        check_element(x, place);
#endif
    return lazy_of(x);
}

#ifdef __CUDA__
/* After all loads, none of which waits then for another. What is not there is 0. */
FUNCTION void check_operand(Pass p, u32 transform, u32 i, Lazy x)
{
    if (BACK)
        i = i >> p.log2_pad;
    check_element(x, place_of(p, transform, i, p.log2_n - p.log2_pad));
}
#endif

FUNCTION void store(Pass p, u32 transform, u32 i, Lazy x)
{
    bool result = flag(p, GX_K_NTT_RESULT), inverse = result && flag(p, GX_K_NTT_INVERSE);
    if (transform >= p.batch)
        return;
    if (result && (inverse || flag(p, GX_K_NTT_REVERSED_OUT) == BACK)) {
        i = result_of(p, i);
        if (flag(p, GX_K_NTT_REVERSED_OUT))
            i = reversed(i, p.log2_n);
    }
    store_element(place_of(p, transform, i, p.log2_n),
                  lazy_element(x, inverse ? p.log2_n : 0u, !result));
}

/* Coefficients are multiplied by powers of the shift: operands of a forward transform, results of
 * an inverse one. The loops keep the code short. */
#ifdef __CUDA__
/* All elements take their turn in place of the last one: none has to be in memory. */
FUNCTION void shift(Pass p, INOUT_ARRAY(Lazy) x[EACH], Line l, u32 at)
{
    const u32 bits = GX_K_NTT_LOW_BITS;
    LOOP for (int r = 0; r < EACH; r++) {
        u32 i = index_of(p, l, number_of(r, at));
        u32 exponent = flag(p, GX_K_NTT_INVERSE) ? result_of(p, i) : operand_of(p, i);
        u32 entry = STAGE(1) + (exponent & (1u << bits) - 1u);
        Lazy own = x[0];
        LOOP for (int part = 0; part < 2; part++) {
            own = lazy_mul(own, lazy_by(load_table(entry)));
            entry = STAGE(1) + (1u << bits) + (exponent >> bits);
        }
        UNROLL for (int k = 0; k + 1 < EACH; k++)
            x[k] = x[k + 1];
        x[EACH - 1] = own;
    }
}
#else
/* The copy is in memory, x is not. */
FUNCTION void shift(Pass p, INOUT_ARRAY(Lazy) x[EACH], Line l, u32 at)
{
    const u32 bits = GX_K_NTT_LOW_BITS;
    Lazy copy[EACH];
    UNROLL for (int r = 0; r < EACH; r++)
        copy[r] = carried(x[r]);
    LOOP for (int r = 0; r < EACH; r++) {
        u32 i = index_of(p, l, number_of(r, at));
        u32 exponent = flag(p, GX_K_NTT_INVERSE) ? result_of(p, i) : operand_of(p, i);
        u32 entry = STAGE(1) + (exponent & (1u << bits) - 1u);
        LOOP for (int part = 0; part < 2; part++) {
            copy[r] = lazy_mul(copy[r], lazy_by(load_table(entry)));
            entry = STAGE(1) + (1u << bits) + (exponent >> bits);
        }
    }
    UNROLL for (int r = 0; r < EACH; r++)
        x[r] = copy[r];
}
#endif

/* ---- levels ---- */

#ifdef __CUDA__
/* What a round needs of the table, loaded before the elements are exchanged, or if there are registers
 * for it a whole round before. */
#define AHEAD (EACH == 2)
struct Round {
    Element w[EACH - 1]; /* level 0, and those of level 1 */
};
#define ROUND_PARAMETER , const Round &round
#define ROUND_ARGUMENT , round
#define ROUND_ENTRY(block, j, b) round.w[(1 << j) - 1 + b]

FUNCTION Round load_round(Pass p, u32 i, u32 at, Line l)
{
    u32 level = p.tile_bits - RADIX_BITS - at, block = l.block << level | LOCAL_INDEX >> at;
    u32 begin = i * RADIX_BITS - level, end = min(p.levels - level, RADIX_BITS);
    bool root = p.first == 0u && i == 0u;
    Round round;
    UNROLL for (int j = 0; j < RADIX_BITS; j++)
        UNROLL for (int b = 0; b < 1 << j; b++)
            if (begin <= j && end > j && (b > 0 || !root))
                round.w[(1 << j) - 1 + b] = load_table(block << j | b);
    return round;
}
#else
#define ROUND_PARAMETER
#define ROUND_ARGUMENT
#define ROUND_ENTRY(block, j, b) load_table(block << j | b)
#endif

/* Level j of those that the bits of the invocation's elements allow. `block` is the block of the
 * tree that all of them are in at level 0 of these. If it is the root, W is 1 in the leftmost
 * block. */
FUNCTION void butterflies(INOUT_ARRAY(Lazy) x[EACH], int j, u32 block, bool root ROUND_PARAMETER)
{
    UNROLL for (int b = 0; b < 1 << j; b++) {
        const int apart = EACH >> j + 1, at = b * 2 * apart;
        if (b > 0 || !root) {
            LazyBy w = lazy_by(ROUND_ENTRY(block, j, b));
            UNROLL for (int k = 0; k < apart; k++)
                x[at + apart + k] = lazy_mul(x[at + apart + k], w);
        }
        UNROLL for (int k = 0; k < apart; k++) {
            Lazy y = x[at + apart + k];
            x[at + apart + k] = lazy_sub(x[at + k], y);
            x[at + k] = lazy_add(x[at + k], y);
        }
    }
}

/* The transposed butterflies, of a transform from the leaves to the root. */
FUNCTION void butterflies_back(INOUT_ARRAY(Lazy) x[EACH], int j, u32 block, bool root ROUND_PARAMETER)
{
    UNROLL for (int b = 0; b < 1 << j; b++) {
        const int apart = EACH >> j + 1, at = b * 2 * apart;
        UNROLL for (int k = 0; k < apart; k++) {
            Lazy y = x[at + apart + k];
            x[at + apart + k] = lazy_sub(x[at + k], y);
            x[at + k] = lazy_add(x[at + k], y);
        }
        if (j > 0) /* it is a sum of sums, and becomes part of another one */
            x[at] = carried(x[at]);
        if (b > 0 || !root) {
            LazyBy w = lazy_by(ROUND_ENTRY(block, j, b));
            UNROLL for (int k = 0; k < apart; k++)
                x[at + apart + k] = lazy_mul(x[at + apart + k], w);
        }
    }
}

/* Round i: up to RADIX_BITS levels of the pass. */
FUNCTION void compute(Pass p, INOUT_ARRAY(Lazy) x[EACH], u32 i, u32 at, Line l ROUND_PARAMETER)
{
    u32 level = p.tile_bits - RADIX_BITS - at, block = l.block << level | LOCAL_INDEX >> at;
    u32 begin = i * RADIX_BITS - level, end = min(p.levels - level, RADIX_BITS);
    bool root = p.first == 0u && i == 0u;
    if (!BACK && begin == 0u && end > 0u)
        butterflies(x, 0, block, root ROUND_ARGUMENT);
#if EACH == 4
    if (!BACK && begin <= 1u && end > 1u)
        butterflies(x, 1, block, root ROUND_ARGUMENT);
    if (BACK && begin <= 1u && end > 1u)
        butterflies_back(x, 1, block, root ROUND_ARGUMENT);
#endif
    if (BACK && begin == 0u && end > 0u)
        butterflies_back(x, 0, block, root ROUND_ARGUMENT);
}

#ifdef __CUDA__
/* Where an element lies in shared memory: so that eight neighbouring invocations, which access 16
 * bytes each at once, are in different banks. The three bits of a number that these differ in are 0, 1,
 * 2, or with elements' bits that begin at 2, 1 or 0 they are 0, 1, 4 or 0, 3, 4 or 2, 3, 4; with one
 * bit of elements, three of 0, 1, 2 and 3. */
#if EACH == 4
FUNCTION u32 bank_of(u32 number) { return number ^ (number >> 2 & 2u) ^ (number >> 4 & 1u) * 5u; }
#else
FUNCTION u32 bank_of(u32 number) { return number ^ (number >> 3 & 1u) * 7u; }
#endif

/* Element r's place, of one whose bits begin at `at`: numbers, and places, are sums modulo 2. */
FUNCTION u32 place_in_tile(u32 first, u32 r, u32 at) { return first ^ bank_of(r << at); }

/* While elements' bits begin at 5 or below, the part of the tile that a warp has is the same: it
 * exchanges that alone. */
FUNCTION void exchange_barrier(u32 from, u32 to)
{
    if (max(from, to) <= HIGHEST_BIT(LANES))
        WARP_BARRIER();
    else
        BARRIER();
}

/* From bits beginning at `from` to bits beginning at `to`. */
FUNCTION void exchange(Pass p, INOUT_ARRAY(Lazy) x[EACH], u32 from, u32 to)
{
    u32 put = bank_of(number_of(0u, from)), get = bank_of(number_of(0u, to));
    exchange_barrier(from, to); /* what was there has been read */
    UNROLL for (int r = 0; r < EACH; r++)
        UNROLL for (int k = 0; k < QUADS; k++)
            exchanged[k * EACH * GROUP_SIZE + place_in_tile(put, r, from)] = quad_of(x[r], k);
    exchange_barrier(from, to);
    UNROLL for (int r = 0; r < EACH; r++)
        UNROLL for (int k = 0; k < QUADS; k++)
            set_quad(x[r], k, exchanged[k * EACH * GROUP_SIZE + place_in_tile(get, r, to)]);
}
#else
/* Where an element lies in shared memory: so that the accesses of neighbouring invocations, before
 * and after an exchange, are in different banks. */
FUNCTION u32 bank_of(Pass p, u32 number)
{
    u32 x = number >> 5 & 7u;
    return number ^ (p.line_bits < 2u ? x << p.line_bits ^ (x & 6u) << 2 : x << 2);
}

/* From bits beginning at `from` to bits beginning at `to`. */
FUNCTION void exchange(Pass p, INOUT_ARRAY(Lazy) x[EACH], u32 from, u32 to)
{
    u32 put[EACH], get[EACH];
    UNROLL for (int r = 0; r < EACH; r++) {
        put[r] = bank_of(p, number_of(r, from));
        get[r] = bank_of(p, number_of(r, to));
    }
    UNROLL for (int k = 0; k < LAZY_WORDS; k += GX_K_NTT_PLANES) {
        UNROLL for (int r = 0; r < EACH; r++)
            UNROLL for (int j = 0; j < GX_K_NTT_PLANES; j++)
                if (k + j < LAZY_WORDS)
                    exchanged[j * EACH * GROUP_SIZE + put[r]] = lazy_word(x[r], k + j);
        BARRIER();
        UNROLL for (int r = 0; r < EACH; r++)
            UNROLL for (int j = 0; j < GX_K_NTT_PLANES; j++)
                if (k + j < LAZY_WORDS)
                    set_lazy_word(x[r], k + j, exchanged[j * EACH * GROUP_SIZE + get[r]]);
        BARRIER();
    }
}
#endif

/* Where the bits of an invocation's elements begin in round i: the last one may have fewer levels
 * left than bits. */
FUNCTION u32 bits_of_round(Pass p, u32 i)
{
    u32 left = p.tile_bits - p.line_bits, done = (i + 1u) * RADIX_BITS;
    return i == 0u || done <= left ? p.tile_bits - done : p.line_bits;
}

/* Numbers grow by a factor of 4 in a round from the leaves to the root: every third time they are
 * reduced. In the other direction they grow more slowly. */
FUNCTION Lazy between_rounds(Lazy x, u32 step)
{
    if (BACK && step % 3u == 0u)
        return settled(x);
    return carried(x);
}

FUNCTION u32 round_of_step(u32 rounds, u32 step) { return BACK ? rounds - 1u - step : step; }

FUNCTION void transform()
{
    Pass p = decode();
    u32 rounds = max((p.levels + RADIX_BITS - 1u) / RADIX_BITS, 1u);
    u32 at = bits_of_round(p, round_of_step(rounds, 0u));
    Line l = line_of(p, number_of(0u, at));
    Lazy x[EACH];
#ifdef __CUDA__
    Round next;
    if (AHEAD) {
        AWAIT_LAUNCHES();
        next = load_round(p, round_of_step(rounds, 0u), at, l);
    }
#endif
    UNROLL for (int r = 0; r < EACH; r++) {
        u32 number = number_of(r, at);
        x[r] = load(p, transform_of(p, l, number), index_of(p, l, number));
    }
#ifdef __CUDA__
    if (CHECK != 0 && flag(p, GX_K_NTT_OPERAND))
        UNROLL for (int r = 0; r < EACH; r++) {
            u32 number = number_of(r, at);
            check_operand(p, transform_of(p, l, number), index_of(p, l, number), x[r]);
        }
#endif
    if (COSET && !flag(p, GX_K_NTT_INVERSE))
        shift(p, x, l, at);

    for (u32 step = 0u; step < rounds; step++) {
        u32 i = round_of_step(rounds, step), to = bits_of_round(p, i);
#ifdef __CUDA__
        Round round;
        if (AHEAD)
            round = next;
        else
            round = load_round(p, i, to, l);
#endif
        if (step > 0u) {
            UNROLL for (int r = 0; r < EACH; r++)
                x[r] = between_rounds(x[r], step);
            exchange(p, x, at, to);
        }
#ifdef __CUDA__
        if (AHEAD && step + 1u < rounds) {
            u32 j = round_of_step(rounds, step + 1u);
            next = load_round(p, j, bits_of_round(p, j), l);
        }
#endif
        at = to;
        compute(p, x, i, at, l ROUND_ARGUMENT);
    }

    if (COSET && flag(p, GX_K_NTT_INVERSE))
        shift(p, x, l, at);
    UNROLL for (int r = 0; r < EACH; r++) {
        u32 number = number_of(r, at);
        store(p, transform_of(p, l, number), index_of(p, l, number), x[r]);
    }
}
