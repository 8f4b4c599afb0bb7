/* SPDX-License-Identifier: Apache-2.0
 *
 * The AVX-512 tier of the host kernels: 8 elements of a prime field at a time, instantiated per
 * number of limbs with the field's constants as data, and the vector types. This file has the
 * element-wise kernels and the table; the rest is in the headers avx512_*.h, some of which
 * ntt_avx512.c includes too. Compiled with its own flags: none of this code may run before CPU
 * detection.
 */
#include "field/host.h"

#if defined(__x86_64__)

#include "field/avx512_io.h"
#include "field/avx512_invert.h"
#include "field/avx512_rows.h"
#include "field/avx512_sum.h"

/* ---- the quick test for elements not below p ---------------------------------
 *
 * Only the top limbs are looked at, where they are at hand, and only their maximum is
 * kept (in some lane or other) for a group of blocks. One that is not below the top limb
 * of p calls for the exact test; with inputs below p that is rare, not wrong. */

INLINE vec larger_top_of_rows(const int L, vec top, const vec *rows)
{
    UNROLL for (int k = 0; k < L; k++) top =
        _mm512_mask_max_epu64(top, (__mmask8)(TOPS(L) >> ROW(k)), top, rows[k]);
    return top;
}

/* ---- groups of blocks ----------------------------------------------------------
 *
 * Each reads and writes `blocks` blocks and returns the largest top limbs it has read. */

struct numbers {
    struct rows rows;
    struct mont mont;
};

INLINE vec check_group(const int L, struct io *io, size_t blocks)
{
    struct cursor cur = io->cursor;
    vec top = _mm512_setzero_si512();
    for (size_t i = 0; i < blocks; i++) {
        vec a[GX_LIMBS_MAX];
        cursor_prefetch(L, 1, &cur);
        load_rows(L, a, cur.at[0]);
        top = larger_top_of_rows(L, top, a);
        cursor_next(1, &cur);
    }
    io->cursor = cur;
    return top;
}

INLINE vec add_group(const int L, const int kernel, struct io *io, const struct rows *f,
                     size_t blocks)
{
    struct cursor cur = io->cursor;
    vec top = _mm512_setzero_si512();
    for (size_t i = 0; i < blocks; i++) {
        vec a[GX_LIMBS_MAX], b[GX_LIMBS_MAX], r[GX_LIMBS_MAX];
        cursor_prefetch(L, 2, &cur);
        load_rows(L, a, cur.at[0]);
        load_rows(L, b, cur.at[1]);
        top = larger_top_of_rows(L, larger_top_of_rows(L, top, a), b);
        bool sure = kernel == GX_HOST_ADD ? add_rows(L, r, a, b, f) : sub_rows(L, r, a, b, f);
        if (__builtin_expect(!sure, 0)) {
            vec exact[GX_LIMBS_MAX]; /* r stays in registers */
            exact_rows(L, kernel == GX_HOST_SUB, exact, cur.at[0], cur.at[1], f);
            UNROLL for (int k = 0; k < L; k++) r[k] = exact[k];
        }
        cursor_next(2, &cur);
        cursor_write(L, &cur, r);
    }
    io->cursor = cur;
    return top;
}

/* The split operands of a product. */
struct factors {
    vec a[GX_LIMBS52_MAX], b[GX_LIMBS52_MAX], c[GX_LIMBS52_MAX];
};

INLINE vec load_split(const int L, const enum shift shift, vec *limbs, const uint8_t *from, vec top)
{
    vec planes[GX_LIMBS_MAX];
    load_planes(L, planes, from);
    split(L, shift, limbs, planes);
    return _mm512_max_epu64(top, planes[L - 1]);
}

INLINE vec load_factors(const int L, const int kernel, struct factors *x, struct cursor *cur,
                        vec top)
{
    const int operands = kernel == GX_HOST_SQR ? 1 : kernel == GX_HOST_MUL ? 2 : 3;
    cursor_prefetch(L, operands, cur);
    top = load_split(L, operands == 1 ? SHIFT_HALF : SHIFT_FULL, x->a, cur->at[0], top);
    if (operands > 1)
        top = load_split(L, SHIFT_NONE, x->b, cur->at[1], top);
    if (operands > 2) {
        top = load_split(L, SHIFT_NONE, x->c, cur->at[2], top);
        clean_limbs(L, x->c);
    }
    cursor_next(operands, cur);
    return top;
}

INLINE void begin_product(const int L, const int kernel, vec *w, const struct factors *x,
                          const struct mont *f)
{
    if (kernel == GX_HOST_SQR)
        mont_sqr_begin(L, w, x->a);
    else
        mont_mul_begin(L, w, x->a, x->b, kernel == GX_HOST_MUL_ADD ? x->c : NULL, f);
}

/* sums < 2p, or with c < 3p */
INLINE void end_product(const int L, const int kernel, vec *sums, vec *w, const struct factors *x,
                        const struct mont *f)
{
    if (kernel == GX_HOST_SQR)
        mont_sqr_end(L, sums, w, f);
    else
        mont_mul_end(L, sums, w, x->a, x->b, f);
}

INLINE void write_product(const int L, const int kernel, struct cursor *cur, vec *sums,
                          const struct mont *f)
{
    vec planes[GX_LIMBS_MAX], rows[GX_LIMBS_MAX];
    if (kernel == GX_HOST_MUL_ADD) { /* below 3p, then below 2p like the others */
        subtract_p(L, sums, f);
        clean_limbs(L, sums);
    }
    subtract_p(L, sums, f);
    join(L, planes, sums);
    planes_to_rows(L, rows, planes);
    cursor_write(L, cur, rows);
}

/* The multiplier is the bottleneck, and the CPU looks ahead by about a hundred instructions. So all
 * other work is placed between multiplications: the next block is loaded before the results of this
 * one are checked, and these are written while the next product is in progress. Gains 14 % (6
 * limbs) to 22 % (4 limbs) on Zen 4. */
INLINE vec product_group(const int L, const int kernel, struct io *io, const struct mont *f,
                         size_t blocks)
{
    struct cursor cur = io->cursor;
    struct factors x;
    vec w[2 * GX_LIMBS52_MAX], sums[GX_LIMBS52_MAX];
    vec top = load_factors(L, kernel, &x, &cur, _mm512_setzero_si512());
    for (size_t done = 0;;) {
        begin_product(L, kernel, w, &x, f);
        if (done > 0)
            write_product(L, kernel, &cur, sums, f);
        end_product(L, kernel, sums, w, &x, f);
        if (++done == blocks)
            break;
        top = load_factors(L, kernel, &x, &cur, top);
    }
    write_product(L, kernel, &cur, sums, f);
    io->cursor = cur;
    return top;
}

/* ---- element-wise kernels of prime fields --------------------------------------- */

INLINE size_t elementwise(const int L, const int kernel, const int operands,
                          const struct gx_prime *prime, const struct gx_host_args *args, bool check)
{
    const bool adds = kernel == GX_HOST_ADD || kernel == GX_HOST_SUB;
    const vec p_top = splat(prime->p[L - 1]);
    struct numbers f;
    struct io io;
    if (adds)
        rows_init(&f.rows, prime);
    else if (kernel != GX_HOST_CHECK)
        mont_init(&f.mont, prime);
    io_open(L, operands, &io, args, 8 * L);
    size_t bad = GX_NONE_BAD;
    for (size_t i = 0, end; i < args->n && bad == GX_NONE_BAD; i = end) {
        size_t blocks = io_group(L, operands, &io, (args->n - i) * 8 * L);
        end = args->n - i < blocks * BLOCK ? args->n : i + blocks * BLOCK;
        vec top = kernel == GX_HOST_CHECK ? check_group(L, &io, blocks)
                  : adds                  ? add_group(L, kernel, &io, &f.rows, blocks)
                                          : product_group(L, kernel, &io, &f.mont, blocks);
        if (check && _mm512_cmpge_epu64_mask(top, p_top) != 0)
            bad = gx__first_bad_args(prime, args, (1u << operands) - 1, i, end);
    }
    if (kernel != GX_HOST_CHECK)
        io_close(&io);
    return bad;
}

/* In place, results overwrite what the exact test would read, so it comes first. With no elements
 * there may be no broadcast element to expand either. */
INLINE size_t prime_kernel(const int L, const int kernel, const int operands,
                           const struct gx_prime *prime, const struct gx_host_args *args)
{
    if (args->n == 0)
        return GX_NONE_BAD;
    bool check = args->check || kernel == GX_HOST_CHECK;
    bool in_place = args->out == args->a || (operands > 1 && args->out == args->b) ||
                    (operands > 2 && args->out == args->c);
    if (check && in_place && kernel != GX_HOST_CHECK) {
        size_t bad = gx__first_bad_args(prime, args, (1u << operands) - 1, 0, args->n);
        if (bad != GX_NONE_BAD)
            return bad;
        check = false;
    }
    if (kernel == GX_HOST_INV || kernel == GX_HOST_DIV)
        return invert_all(L, kernel == GX_HOST_DIV, prime, args, check);
    return elementwise(L, kernel, operands, prime, args, check);
}

#define PRIME_KERNEL(name, L, kernel, operands)                                                    \
    static size_t name(const struct gx_prime *prime, const struct gx_host_args *args)              \
    {                                                                                              \
        return prime_kernel(L, kernel, operands, prime, args);                                     \
    }

/* X(name, kernel, operands) */
#define PRIME_KERNELS(X)                                                                           \
    X(add, GX_HOST_ADD, 2)                                                                         \
    X(sub, GX_HOST_SUB, 2)                                                                         \
    X(mul, GX_HOST_MUL, 2)                                                                         \
    X(sqr, GX_HOST_SQR, 1)                                                                         \
    X(inv, GX_HOST_INV, 1)                                                                         \
    X(div, GX_HOST_DIV, 2)                                                                         \
    X(mul_add, GX_HOST_MUL_ADD, 3)                                                                 \
    X(check, GX_HOST_CHECK, 1)

#define X(name, kernel, operands)                                                                  \
    PRIME_KERNEL(name##4, 4, kernel, operands) PRIME_KERNEL(name##6, 6, kernel, operands)
PRIME_KERNELS(X)
#undef X

/* ---- u32 and f32 ------------------------------------------------------------------ */

#define WORD_ROWS 4

INLINE vec u32_row(const int kernel, vec a, vec b)
{
    if (kernel == GX_HOST_ADD)
        return _mm512_add_epi32(a, b);
    if (kernel == GX_HOST_SUB)
        return _mm512_sub_epi32(a, b);
    return _mm512_mullo_epi32(a, b);
}

/* All NaNs become the same one. */
INLINE vec f32_row(const int kernel, vec a, vec b)
{
    __m512 x = _mm512_castsi512_ps(a), y = _mm512_castsi512_ps(b), r;
    if (kernel == GX_HOST_ADD)
        r = _mm512_add_ps(x, y);
    else if (kernel == GX_HOST_SUB)
        r = _mm512_sub_ps(x, y);
    else
        r = _mm512_mul_ps(x, y);
    __mmask16 nan = _mm512_cmp_ps_mask(r, r, _CMP_UNORD_Q);
    return _mm512_mask_mov_epi32(_mm512_castps_si512(r), nan, _mm512_set1_epi32(0x7fc00000));
}

INLINE void word_group(const int field, const int kernel, struct io *io, size_t blocks)
{
    struct cursor cur = io->cursor;
    for (size_t i = 0; i < blocks; i++) {
        vec a[WORD_ROWS], b[WORD_ROWS];
        cursor_prefetch(WORD_ROWS, 2, &cur);
        load_rows(WORD_ROWS, a, cur.at[0]);
        load_rows(WORD_ROWS, b, cur.at[1]);
        cursor_next(2, &cur);
        UNROLL for (int k = 0; k < WORD_ROWS; k++) a[k] =
            field == GX_U32 ? u32_row(kernel, a[k], b[k]) : f32_row(kernel, a[k], b[k]);
        cursor_write(WORD_ROWS, &cur, a);
    }
    io->cursor = cur;
}

INLINE size_t word_kernel(const int field, const int kernel, const struct gx_host_args *args)
{
    struct io io;
    if (args->n == 0)
        return GX_NONE_BAD;
    io_open(WORD_ROWS, 2, &io, args, 4);
    for (size_t i = 0; i < args->n;) {
        size_t blocks = io_group(WORD_ROWS, 2, &io, (args->n - i) * 4);
        word_group(field, kernel, &io, blocks);
        i += blocks * WORD_ROWS * 16;
    }
    io_close(&io);
    return GX_NONE_BAD;
}

#define WORD_KERNEL(name, field, kernel)                                                           \
    static size_t name(const struct gx_prime *prime, const struct gx_host_args *args)              \
    {                                                                                              \
        (void)prime;                                                                               \
        return word_kernel(field, kernel, args);                                                   \
    }
WORD_KERNEL(u32_add, GX_U32, GX_HOST_ADD)
WORD_KERNEL(u32_sub, GX_U32, GX_HOST_SUB)
WORD_KERNEL(u32_mul, GX_U32, GX_HOST_MUL)
WORD_KERNEL(f32_add, GX_F32, GX_HOST_ADD)
WORD_KERNEL(f32_sub, GX_F32, GX_HOST_SUB)
WORD_KERNEL(f32_mul, GX_F32, GX_HOST_MUL)

/* ---- table ------------------------------------------------------------------------ */

#define X(name, kernel, operands) [kernel] = name##4,
static const gx_host_fn kernels4[GX_HOST_KERNELS] = {PRIME_KERNELS(X)[GX_HOST_SUM] = sum4};
#undef X
#define X(name, kernel, operands) [kernel] = name##6,
static const gx_host_fn kernels6[GX_HOST_KERNELS] = {PRIME_KERNELS(X)[GX_HOST_SUM] = sum6};
#undef X
static const gx_host_fn kernels_u32[GX_HOST_KERNELS] = {
    [GX_HOST_ADD] = u32_add, [GX_HOST_SUB] = u32_sub, [GX_HOST_MUL] = u32_mul};
static const gx_host_fn kernels_f32[GX_HOST_KERNELS] = {
    [GX_HOST_ADD] = f32_add, [GX_HOST_SUB] = f32_sub, [GX_HOST_MUL] = f32_mul};

static const gx_host_fn *kernels_of(int field)
{
    const struct gx_prime *prime = gx__prime((gx_field)field);
    if (prime && mont_usable(prime))
        return prime->limbs == 4 ? kernels4 : prime->limbs == 6 ? kernels6 : NULL;
    return field == GX_U32 ? kernels_u32 : field == GX_F32 ? kernels_f32 : NULL;
}

void gx__host_fill_avx512(struct gx_host_table *table)
{
    for (int field = 1; field < GX_FIELD_END; field++) {
        const gx_host_fn *fn = kernels_of(field);
        for (int k = 0; k < GX_HOST_KERNELS && fn; k++) {
            if (!fn[k])
                continue;
            table->fn[field][k] = fn[k];
            table->tier[field][k] = GX_TIER_AVX512;
        }
    }
}

#else

void gx__host_fill_avx512(struct gx_host_table *table)
{
    (void)table;
}

#endif
