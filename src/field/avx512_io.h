/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of the AVX-512 tier (avx512.c): reading operands and writing results in the element-wise
 * kernels, for any alignment and length, broadcast or not, with or without non-temporal stores. A
 * block is `rows` vectors of 64 bytes, a constant of the kernel.
 */
#ifndef GX_FIELD_AVX512_IO_H
#define GX_FIELD_AVX512_IO_H

#include <string.h>

#include "field/avx512_layout.h"

#define OPERANDS_MAX    3
#define BLOCK_BYTES_MAX (64 * GX_LIMBS_MAX)
#define GROUP           64   /* maximum blocks that a kernel processes at once */
#define PREFETCH_AHEAD  2048 /* bytes; better on Zen 4 than 1024, 4096 and 8192 */

/* Positions of the next blocks. Kernels work on a copy, which stays in registers. Non-temporal
 * stores must be whole aligned lines, but arrays start anywhere (typically 16 bytes into a line).
 * So after the first block, which is stored normally, writes lag `lead` words behind the result:
 * each line consists of the end of the previous vector and the start of this one. */
struct cursor {
    const uint8_t *at[OPERANDS_MAX];
    size_t step[OPERANDS_MAX]; /* bytes per block, or 0 if broadcast */
    bool prefetch;
    uint8_t *out;
    bool stream;    /* requested, and possible: a multiple of 4 bytes */
    bool streaming; /* active: `lead` words of `last` are still to be written */
    uint32_t lead;  /* 32-bit words from the start of a line to `out` */
    vec last;       /* the vector before `out` */
    vec rotate;     /* index of a line's words in (last, next vector) */
};

struct io {
    struct cursor cursor;
    /* source of operands that are a single element or less than a block */
    uint8_t block[OPERANDS_MAX][BLOCK_BYTES_MAX];
    uint8_t out_block[BLOCK_BYTES_MAX]; /* in the latter case, the result: */
    uint8_t *short_out;                 /* its destination */
    size_t short_bytes;                 /* 0 if there is none */
};

INLINE void io_open_operand(struct io *io, int k, const void *operand, bool broadcast,
                            size_t block_bytes, size_t element_bytes)
{
    io->cursor.at[k] = broadcast ? io->block[k] : operand;
    io->cursor.step[k] = broadcast ? 0 : block_bytes;
    for (size_t i = 0; i < block_bytes && broadcast; i += element_bytes)
        memcpy(io->block[k] + i, operand, element_bytes);
}

INLINE void io_open(const int rows, const int operands, struct io *io,
                    const struct gx_host_args *args, size_t element_bytes)
{
    const void *operand[OPERANDS_MAX] = {args->a, args->b, args->c};
    struct cursor *c = &io->cursor;
    io->short_bytes = 0;
    for (int k = 0; k < operands; k++)
        io_open_operand(io, k, operand[k], args->broadcast >> k & 1, 64 * rows, element_bytes);
    c->prefetch = args->stream;
    c->out = args->out;
    c->stream = args->stream && (uintptr_t)args->out % 4 == 0;
    c->streaming = false;
    c->lead = (uint32_t)((uintptr_t)args->out % 64 / 4);
    c->last = _mm512_setzero_si512();
    vec count = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    c->rotate = _mm512_add_epi32(count, _mm512_set1_epi32(16 - (int)c->lead));
}

/* Called before a block is read. Addresses past the end are harmless: prefetches never fault. */
INLINE void cursor_prefetch(const int rows, const int operands, const struct cursor *c)
{
    if (!c->prefetch)
        return;
    for (int k = 0; k < operands; k++)
        for (int i = 0; i < rows && c->step[k]; i++)
            _mm_prefetch((const char *)((uintptr_t)c->at[k] + PREFETCH_AHEAD + 64 * (unsigned)i),
                         _MM_HINT_T0);
}

/* Called after it was read. */
INLINE void cursor_next(const int operands, struct cursor *c)
{
    for (int k = 0; k < operands; k++)
        c->at[k] += c->step[k];
}

INLINE void cursor_write(const int rows, struct cursor *c, const vec *r)
{
    if (c->streaming) {
        uint8_t *line = c->out - 4 * c->lead;
        UNROLL for (int k = 0; k < rows; k++)
        {
            vec before = k == 0 ? c->last : r[k - 1];
            _mm512_stream_si512((vec *)(void *)(line + 64 * k),
                                _mm512_permutex2var_epi32(before, c->rotate, r[k]));
        }
    } else {
        store_rows(rows, c->out, r);
        c->streaming = c->stream;
    }
    c->last = r[rows - 1];
    c->out += 64 * rows;
}

/* Writes what lags behind and ends streaming. */
static void cursor_flush(struct cursor *c)
{
    if (c->streaming) {
        vec line = _mm512_permutex2var_epi32(c->last, c->rotate, c->last);
        _mm512_mask_storeu_epi32(c->out - 4 * c->lead, (__mmask16)((1u << c->lead) - 1), line);
        _mm_sfence();
    }
    c->stream = c->streaming = false;
}

/* Only `bytes` are left: redirects reads and writes to blocks of the io's own, as one more full
 * block. Padding is 0, which is below p. */
static void io_shorten(struct io *io, int operands, size_t bytes)
{
    cursor_flush(&io->cursor);
    for (int k = 0; k < operands; k++) {
        if (io->cursor.step[k] == 0)
            continue;
        memset(io->block[k], 0, sizeof io->block[k]);
        memcpy(io->block[k], io->cursor.at[k], bytes);
        io->cursor.at[k] = io->block[k];
    }
    io->short_out = io->cursor.out;
    io->short_bytes = bytes;
    io->cursor.out = io->out_block;
}

/* Number of blocks to process next, with `bytes` of each operand left. */
INLINE size_t io_group(const int rows, const int operands, struct io *io, size_t bytes)
{
    size_t blocks = bytes / (64 * (size_t)rows);
    if (blocks > 0)
        return blocks < GROUP ? blocks : GROUP;
    io_shorten(io, operands, bytes);
    return 1;
}

static void io_close(struct io *io)
{
    cursor_flush(&io->cursor);
    if (io->short_bytes)
        memcpy(io->short_out, io->out_block, io->short_bytes);
}

#endif
