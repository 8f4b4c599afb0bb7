/* SPDX-License-Identifier: Apache-2.0
 *
 * See poly.h.
 */
#include "field/poly.h"

#include <string.h>

#include "field/scalar.h"
#include "field/sum.h"

/* Powers are multiplied in blocks of up to 2^this, each by one power of the base. */
#define POWER_LOG2 8u
/* Below so many coefficients, rows are narrow: the weights of wide ones would cost more. */
#define WIDE_ELEMS   4096u
#define NARROW_WIDTH 16u

static const char *element(const struct gx_poly *poly, const void *elements, uint64_t i)
{
    return (const char *)elements + (size_t)i * gx__poly_bytes(poly);
}

/* Of a constant size each, which the compiler copies without a call. */
static inline void copy_element(uint32_t limbs, void *to, const void *from)
{
    if (limbs == 4)
        memcpy(to, from, 4 * sizeof(uint64_t));
    else
        memcpy(to, from, GX_LIMBS_MAX * sizeof(uint64_t));
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* out = a * b; b is one element where `broadcast`. */
static void mul(const struct gx_poly *poly, void *out, const void *a, const void *b, size_t n,
                bool broadcast)
{
    poly->fn[GX_HOST_MUL](
        poly->prime,
        &(struct gx_host_args){
            .out = out, .a = a, .b = b, .n = n, .broadcast = broadcast ? GX_BROADCAST_B : 0});
}

static void add(const struct gx_poly *poly, void *out, const void *a, const void *b, size_t n)
{
    poly->fn[GX_HOST_ADD](poly->prime, &(struct gx_host_args){.out = out, .a = a, .b = b, .n = n});
}

/* out = a * b + c; b is one element. Only c is from the caller. */
static size_t mul_add(const struct gx_poly *poly, void *out, const void *a, const void *b,
                      const void *c, size_t n, bool check)
{
    return poly->fn[GX_HOST_MUL_ADD](poly->prime,
                                     &(struct gx_host_args){.out = out,
                                                            .a = a,
                                                            .b = b,
                                                            .c = c,
                                                            .n = n,
                                                            .broadcast = GX_BROADCAST_B,
                                                            .check = check});
}

/* Elements from .. to of an operand; the index counts from its start. */
static size_t check(const struct gx_poly *poly, const void *elements, uint64_t from, uint64_t to)
{
    if (from >= to)
        return GX_NONE_BAD;
    const struct gx_host_args args = {
        .a = element(poly, elements, from), .n = (size_t)(to - from), .check = true};
    size_t bad = poly->fn[GX_HOST_CHECK](poly->prime, &args);
    return bad == GX_NONE_BAD ? bad : (size_t)from + bad;
}

size_t gx__poly_check_one(const struct gx_poly *poly)
{
    bool a = gx__poly_a(poly) == 1, b = poly->b && poly->op != GX_GATHER;
    if (!poly->check)
        return GX_NONE_BAD;
    size_t bad = a ? check(poly, poly->a, 0, 1) : GX_NONE_BAD;
    return b ? least(bad, check(poly, poly->b, 0, 1)) : bad;
}

/* ---- powers ---- */

/* square[k] = base^(2^k) */
static void squares(const struct gx_poly *poly, const void *base,
                    uint64_t square[POWER_LOG2 + 1][GX_LIMBS_MAX])
{
    memcpy(square[0], base, gx__poly_bytes(poly));
    for (unsigned k = 0; k < POWER_LOG2; k++)
        gx__mul_one(poly->prime, square[k + 1], square[k], square[k]);
}

/* out[i] = start * base^i for i < n. Blocks double in size, and then stay. */
static void fill_powers(const struct gx_poly *poly, void *out, const uint64_t *start,
                        uint64_t square[POWER_LOG2 + 1][GX_LIMBS_MAX], size_t n)
{
    size_t bytes = gx__poly_bytes(poly);
    if (!n)
        return;
    memcpy(out, start, bytes);
    for (size_t have = 1, k = 0, some; have < n; have += some) {
        some = least(n - have, (size_t)1 << k);
        char *to = (char *)out + have * bytes;
        mul(poly, to, to - (bytes << k), square[k], some, true);
        k += k < POWER_LOG2;
    }
}

void gx__poly_powers(const struct gx_poly *poly, uint64_t from, uint64_t to)
{
    const struct gx_prime *prime = poly->prime;
    uint64_t square[POWER_LOG2 + 1][GX_LIMBS_MAX], start[GX_LIMBS_MAX], copy[GX_LIMBS_MAX];
    uint64_t b[GX_LIMBS_MAX], each = poly->op == GX_COSETS ? poly->count : to;
    squares(poly, poly->a, square);
    memcpy(copy, prime->one, sizeof copy);
    if (poly->op == GX_COSETS) {
        memcpy(b, poly->b, gx__poly_bytes(poly));
        gx__pow_one(prime, copy, b, from / each);
    }
    for (uint64_t some; from < to; from += some) {
        some = each - from % each < to - from ? each - from % each : to - from;
        gx__pow_one(prime, start, square[0], from % each);
        gx__mul_one(prime, start, start, copy);
        fill_powers(poly, (char *)element(poly, poly->out, from), start, square, (size_t)some);
        if (poly->op == GX_COSETS)
            gx__mul_one(prime, copy, copy, b);
    }
}

/* ---- evaluation ----
 *
 * Coefficient i is in row i / width and column i % width. Rows are added up by Horner's rule, all
 * columns at once; then each column has its weight. In bit-reversed order the column decides the
 * high bits of the exponent, and the rows are taken in the order of the low ones.
 */

void gx__poly_point(const struct gx_poly *poly, uint64_t n, bool reversed, const void *b,
                    struct gx_poly_point *point)
{
    const struct gx_prime *prime = poly->prime;
    size_t bytes = gx__poly_bytes(poly);
    uint64_t width = n < WIDE_ELEMS ? NARROW_WIDTH : GX_POLY_WIDTH, base[GX_LIMBS_MAX],
             square[POWER_LOG2 + 1][GX_LIMBS_MAX], natural[GX_POLY_WIDTH * GX_LIMBS_MAX];
    width = reversed && n < width ? n : width;
    point->reversed = reversed;
    point->n = n;
    point->width = width;
    point->rows = (n + width - 1) / width;
    memcpy(base, b, bytes);
    gx__pow_one(prime, point->step, base, reversed ? 1 : width);
    if (reversed)
        gx__pow_one(prime, base, base, point->rows);
    squares(poly, base, square);
    fill_powers(poly, reversed ? natural : point->weight, prime->one, square, (size_t)width);
    uint32_t bits = (uint32_t)__builtin_ctzll(width);
    for (uint64_t i = 0; i < width && reversed; i++)
        memcpy((char *)point->weight + i * bytes,
               (char *)natural + gx__bit_reverse(i, bits) * bytes, bytes);
}

size_t gx__poly_rows(const struct gx_poly *poly, const struct gx_poly_point *point, const void *a,
                     uint64_t from, uint64_t to, void *scratch, uint64_t *result)
{
    size_t bytes = gx__poly_bytes(poly), width = (size_t)point->width, bad = GX_NONE_BAD;
    uint32_t bits = point->reversed ? (uint32_t)__builtin_ctzll(point->rows) : 0;
    for (uint64_t row = to; row-- > from;) {
        uint64_t first = (point->reversed ? gx__bit_reverse(row, bits) : row) * width;
        size_t some = least(width, (size_t)(point->n - first)), found;
        if (row == to - 1) { /* the only one that may be short */
            memset(scratch, 0, width * bytes);
            memcpy(scratch, element(poly, a, first), some * bytes);
            found = poly->check ? check(poly, scratch, 0, some) : GX_NONE_BAD;
        } else if (bad != GX_NONE_BAD) { /* scratch means nothing */
            found = check(poly, element(poly, a, first), 0, width);
        } else {
            found = mul_add(poly, scratch, scratch, point->step, element(poly, a, first), width,
                            poly->check);
        }
        if (found != GX_NONE_BAD)
            bad = least(bad, (size_t)first + found);
    }
    mul(poly, scratch, scratch, point->weight, width, false);
    poly->fn[GX_HOST_SUM](poly->prime,
                          &(struct gx_host_args){.out = result, .a = scratch, .n = width});
    uint64_t shift[GX_LIMBS_MAX];
    gx__pow_one(poly->prime, shift, point->step, from);
    gx__mul_one(poly->prime, result, result, shift);
    return bad;
}

/* ---- scans ---- */

static bool backwards(const struct gx_poly *poly)
{
    return poly->op == GX_DIVIDE_LINEAR;
}

/* Where the elements from .. to of the scan begin in a. */
static uint64_t scan_start(const struct gx_poly *poly, uint64_t from, uint64_t to)
{
    return backwards(poly) ? poly->n - to : from;
}

void gx__poly_scan_begin(const struct gx_poly *poly, uint64_t part, struct gx_poly_scan *scan)
{
    uint64_t square[POWER_LOG2 + 1][GX_LIMBS_MAX];
    if (poly->op != GX_DIVIDE_LINEAR)
        return;
    squares(poly, poly->b, square);
    fill_powers(poly, scan->power, square[0], square, GX_POLY_RUN);
    if (part)
        gx__poly_point(poly, part, false, poly->b, &scan->point);
}

/* The product of n elements; scratch has GX_POLY_WIDTH. */
static size_t product(const struct gx_poly *poly, uint64_t from, uint64_t to, void *scratch,
                      uint64_t *total)
{
    size_t bytes = gx__poly_bytes(poly), width = GX_POLY_WIDTH;
    size_t bad = poly->check ? check(poly, poly->a, from, to) : GX_NONE_BAD;
    for (size_t i = 0; i < width; i++)
        memcpy((char *)scratch + i * bytes, poly->prime->one, bytes);
    for (size_t some; from < to; from += some) {
        some = least(width, (size_t)(to - from));
        mul(poly, scratch, scratch, element(poly, poly->a, from), some, false);
    }
    while (width > 1) {
        width /= 2;
        mul(poly, scratch, scratch, (char *)scratch + width * bytes, width, false);
    }
    memcpy(total, scratch, bytes);
    return bad;
}

size_t gx__poly_total(const struct gx_poly *poly, const struct gx_poly_scan *scan, uint64_t from,
                      uint64_t to, void *scratch, uint64_t *total)
{
    uint64_t at = scan_start(poly, from, to);
    size_t bad;
    if (poly->op == GX_PREFIX_PRODUCT)
        return product(poly, from, to, scratch, total);
    if (poly->op == GX_PREFIX_SUM) {
        bad = poly->fn[GX_HOST_SUM](poly->prime,
                                    &(struct gx_host_args){.out = total,
                                                           .a = element(poly, poly->a, at),
                                                           .n = (size_t)(to - from),
                                                           .check = poly->check});
    } else {
        struct gx_poly_point part = scan->point;
        part.n = to - from;
        part.rows = (part.n + part.width - 1) / part.width;
        bad = gx__poly_rows(poly, &part, element(poly, poly->a, at), 0, part.rows, scratch, total);
    }
    return bad == GX_NONE_BAD ? bad : (size_t)at + bad;
}

void gx__poly_carry_start(const struct gx_poly *poly, uint64_t *carry)
{
    memset(carry, 0, GX_LIMBS_MAX * sizeof *carry);
    if (poly->op == GX_PREFIX_PRODUCT)
        memcpy(carry, poly->prime->one, gx__poly_bytes(poly));
}

void gx__poly_carry(const struct gx_poly *poly, uint64_t *carry, const uint64_t *total,
                    uint64_t elements)
{
    uint64_t power[GX_LIMBS_MAX];
    if (poly->op == GX_PREFIX_PRODUCT) {
        gx__mul_one(poly->prime, carry, carry, total);
        return;
    }
    if (poly->op == GX_DIVIDE_LINEAR) {
        memcpy(power, poly->b, gx__poly_bytes(poly));
        gx__pow_one(poly->prime, power, power, elements);
        gx__mul_one(poly->prime, carry, carry, power);
    }
    gx__add_one(poly->prime, carry, total);
}

/* A block is `length` columns of up to GX_POLY_RUNS elements: element j of each run. */
struct block {
    const struct gx_poly *poly;
    const struct gx_poly_scan *scan;
    uint64_t from;
    size_t count, length, runs, bytes;
    char *columns;
};

static char *column(const struct block *block, size_t j)
{
    return block->columns + j * GX_POLY_RUNS * block->bytes;
}

/* Runs that have an element j: all but the last one are full. */
static size_t runs_with(const struct block *block, size_t j)
{
    return (block->count - j + block->length - 1) / block->length;
}

static size_t last_length(const struct block *block)
{
    return block->count - (block->runs - 1) * block->length;
}

/* Column j = column j - 1 (op) the elements j of the runs, which are put there first. */
static void scan_column(const struct block *block, size_t j)
{
    const struct gx_poly *poly = block->poly;
    size_t runs = runs_with(block, j), step = block->length * block->bytes;
    char *to = column(block, j), *before = j ? column(block, j - 1) : NULL;
    const char *at =
        element(poly, poly->a, backwards(poly) ? poly->n - 1 - block->from - j : block->from + j);
    for (size_t r = 0; r < runs; r++, at = backwards(poly) ? at - step : at + step)
        copy_element(poly->prime->limbs, to + r * block->bytes, at);
    if (!before)
        return;
    if (poly->op == GX_PREFIX_SUM)
        add(poly, to, before, to, runs);
    else if (poly->op == GX_PREFIX_PRODUCT)
        mul(poly, to, before, to, runs, false);
    else
        mul_add(poly, to, before, poly->b, to, runs, false);
}

/* carries[r] = what run r begins with; *carry: what comes after the last. */
static void carry_runs(const struct block *block, char *carries, uint64_t *carry)
{
    const struct gx_poly *poly = block->poly;
    for (size_t r = 0; r < block->runs; r++) {
        size_t length = r + 1 < block->runs ? block->length : last_length(block);
        uint64_t total[GX_LIMBS_MAX], power[GX_LIMBS_MAX];
        memcpy(carries + r * block->bytes, carry, block->bytes);
        memcpy(total, column(block, length - 1) + r * block->bytes, block->bytes);
        if (poly->op == GX_PREFIX_PRODUCT) {
            gx__mul_one(poly->prime, carry, carry, total);
            continue;
        }
        if (poly->op == GX_DIVIDE_LINEAR) {
            memcpy(power, element(poly, block->scan->power, length - 1), block->bytes);
            gx__mul_one(poly->prime, carry, carry, power);
        }
        gx__add_one(poly->prime, carry, total);
    }
}

/* Applies the carries to column j and puts the elements where they belong in out. */
static void store_column(const struct block *block, size_t j, const char *carries)
{
    const struct gx_poly *poly = block->poly;
    size_t runs = runs_with(block, j), step = block->length * block->bytes;
    uint64_t first = block->from + j;
    char *from = column(block, j), *out = poly->out;
    uint32_t limbs = poly->prime->limbs;
    if (poly->op == GX_PREFIX_SUM)
        add(poly, from, from, carries, runs);
    else if (poly->op == GX_PREFIX_PRODUCT)
        mul(poly, from, from, carries, runs, false);
    else
        mul_add(poly, from, carries, element(poly, block->scan->power, j), from, runs, false);
    for (size_t r = 0; r < runs; r++) {
        uint64_t at = first + r * block->length;
        if (!backwards(poly))
            copy_element(limbs, out + first * block->bytes + r * step, from + r * block->bytes);
        else if (at + 1 < poly->n) /* what the last one leaves is the remainder */
            copy_element(limbs, out + (size_t)(poly->n - 2 - at) * block->bytes,
                         from + r * block->bytes);
    }
}

/* The carries of the runs and the columns. */
size_t gx__poly_scan_scratch(uint64_t n)
{
    size_t count = n < GX_POLY_BLOCK ? (size_t)n : GX_POLY_BLOCK;
    size_t columns = (count + GX_POLY_RUNS - 1) / GX_POLY_RUNS;
    size_t elements = (1 + columns) * GX_POLY_RUNS;
    return elements > GX_POLY_WIDTH ? elements : GX_POLY_WIDTH;
}

size_t gx__poly_scan(const struct gx_poly *poly, const struct gx_poly_scan *scan, uint64_t from,
                     uint64_t to, bool checked, uint64_t *carry, void *scratch)
{
    size_t bad = GX_NONE_BAD, bytes = gx__poly_bytes(poly);
    struct block block = {.poly = poly,
                          .scan = scan,
                          .bytes = bytes,
                          .columns = (char *)scratch + GX_POLY_RUNS * bytes};
    if (backwards(poly) && !from)
        memset((char *)element(poly, poly->out, poly->n - 1), 0, bytes);
    for (; from < to; from += block.count) {
        block.from = from;
        block.count = least(GX_POLY_BLOCK, (size_t)(to - from));
        block.length = (block.count + GX_POLY_RUNS - 1) / GX_POLY_RUNS;
        block.runs = runs_with(&block, 0);
        uint64_t at = scan_start(poly, from, from + block.count);
        if (poly->check && checked)
            bad = least(bad, check(poly, poly->a, at, at + block.count));
        for (size_t j = 0; j < block.length; j++)
            scan_column(&block, j);
        carry_runs(&block, scratch, carry);
        for (size_t j = 0; j < block.length; j++)
            store_column(&block, j, scratch);
    }
    return bad;
}

/* ---- permutations ---- */

uint64_t gx__poly_source(const struct gx_poly *poly, uint64_t i)
{
    uint64_t count = poly->count, n = poly->n, each;
    uint32_t index;
    switch (poly->op) {
    case GX_BIT_REVERSE:
        return gx__bit_reverse(i, (uint32_t)__builtin_ctzll(n));
    case GX_GATHER:
        memcpy(&index, (const char *)poly->b + (size_t)i * sizeof index, sizeof index);
        return index;
    case GX_ROTATE:
        count %= n;
        return i < n - count ? i + count : i - (n - count);
    case GX_INTERLEAVE:
        return i % count * (n / count) + i / count;
    default:
        each = n / count;
        return i % each * count + i / each;
    }
}

static void copy_one(const struct gx_poly *poly, uint64_t to, uint64_t from)
{
    copy_element(poly->prime->limbs, (char *)element(poly, poly->out, to),
                 element(poly, poly->a, from));
}

static size_t gather(const struct gx_poly *poly, uint64_t from, uint64_t to)
{
    size_t bad = GX_NONE_BAD;
    for (uint64_t i = from; i < to; i++) {
        uint64_t at = gx__poly_source(poly, i);
        if (at >= poly->count && poly->check)
            bad = least(bad, (size_t)i);
        copy_one(poly, i, at < poly->count ? at : 0);
    }
    return bad;
}

/* Tiles of 8 x 8 elements that share all bits but the highest and the lowest three: a tile reads
 * and writes 8 pieces of memory. */
static void bit_reverse(const struct gx_poly *poly, uint64_t from, uint64_t to)
{
    static const uint8_t reversed[] = {0, 4, 2, 6, 1, 5, 3, 7};
    uint32_t bits = (uint32_t)__builtin_ctzll(poly->n), middle = bits - 6;
    for (uint64_t tile = from / GX_POLY_TILE; tile < to / GX_POLY_TILE; tile++) {
        uint64_t at = tile << 3, source = gx__bit_reverse(tile, middle) << 3;
        for (uint64_t high = 0; high < 8; high++)
            for (uint64_t low = 0; low < 8; low++)
                copy_one(poly, high << (bits - 3) | at | low,
                         (uint64_t)reversed[low] << (bits - 3) | source | reversed[high]);
    }
}

/* Whole stretches of a: rotate. */
static void rotate(const struct gx_poly *poly, uint64_t from, uint64_t to)
{
    for (uint64_t some; from < to; from += some) {
        uint64_t at = gx__poly_source(poly, from);
        some = poly->n - at < to - from ? poly->n - at : to - from;
        memcpy((char *)element(poly, poly->out, from), element(poly, poly->a, at),
               (size_t)some * gx__poly_bytes(poly));
    }
}

/* The columns of a matrix as rows: interleave, deinterleave. out has rows of `each` elements. */
static void transpose(const struct gx_poly *poly, uint64_t from, uint64_t to)
{
    uint64_t each = poly->op == GX_INTERLEAVE ? poly->count : poly->n / poly->count;
    uint64_t step = poly->n / each, row = from / each, k = from % each, at = k * step + row;
    for (uint64_t i = from; i < to; i++) {
        copy_one(poly, i, at);
        at += step;
        if (++k < each)
            continue;
        k = 0;
        at = ++row;
    }
}

size_t gx__poly_permute(const struct gx_poly *poly, uint64_t from, uint64_t to)
{
    unsigned __int128 all = gx__poly_a(poly);
    size_t bad = GX_NONE_BAD;
    if (poly->check)
        bad =
            check(poly, poly->a, (uint64_t)(all * from / poly->n), (uint64_t)(all * to / poly->n));
    if (poly->op == GX_GATHER)
        return least(bad, gather(poly, from, to));
    if (poly->op == GX_ROTATE)
        rotate(poly, from, to);
    else if (poly->op != GX_BIT_REVERSE)
        transpose(poly, from, to);
    else if (poly->n >= GX_POLY_TILE)
        bit_reverse(poly, from, to);
    else
        for (uint64_t i = from; i < to; i++)
            copy_one(poly, i, gx__poly_source(poly, i));
    return bad;
}
