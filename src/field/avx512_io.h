/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of the AVX-512 tier (avx512.c): how the element-wise kernels read operands and
 * write results, whatever the alignment and the length, broadcast or not, past the
 * caches or not. A block is a constant number of bytes, at most BLOCK_BYTES_MAX.
 */
#ifndef GX_FIELD_AVX512_IO_H
#define GX_FIELD_AVX512_IO_H

#include <string.h>

#include "field/avx512_layout.h"

#define BLOCK_BYTES_MAX (64 * GX_LIMBS_MAX)
#define PREFETCH_AHEAD  4096 /* bytes; 2 to 8 KiB measure alike */

/* Where the next block of an operand is. A broadcast element is expanded to a block,
 * over which the source does not move. */
struct source {
    const uint8_t *at;
    size_t step; /* bytes of a block, or 0 where broadcast */
    uint8_t block[BLOCK_BYTES_MAX];
};

INLINE void source_open(struct source *s, const void *operand, bool broadcast, size_t block_bytes,
                        size_t element_bytes)
{
    s->at = operand;
    s->step = broadcast ? 0 : block_bytes;
    if (!broadcast)
        return;
    for (size_t i = 0; i < block_bytes; i += element_bytes)
        memcpy(s->block + i, operand, element_bytes);
    s->at = s->block;
}

/* Only `bytes` of the block are there: copies them, so that a whole block can be read.
 * The rest is 0, which is below p. */
static void source_shorten(struct source *s, size_t bytes)
{
    if (s->step == 0)
        return;
    memset(s->block, 0, sizeof s->block);
    memcpy(s->block, s->at, bytes);
    s->at = s->block;
}

/* Addresses past the end are fine: a prefetch never faults. */
INLINE void source_prefetch(const struct source *s, size_t block_bytes)
{
    if (s->step == 0)
        return;
    for (size_t i = 0; i < block_bytes; i += 64)
        _mm_prefetch((const char *)((uintptr_t)s->at + PREFETCH_AHEAD + i), _MM_HINT_T0);
}

/* Where the next block of the result goes. Stores around the caches must be whole
 * aligned lines, and arrays start anywhere (16 bytes into a line, as a rule). So past
 * the first block, which is stored as it comes, what is written lags `lead` words behind
 * what was put: each line is the end of the vector before and the start of this one. */
struct sink {
    uint8_t *at;    /* of the next block */
    uint32_t lead;  /* 32-bit words from the start of a line to `at` */
    bool stream;    /* asked for, and possible */
    bool streaming; /* under way: `last` holds words to be written */
    vec last;       /* the vector before `at` */
    vec rotate;     /* index of the line's words in (last, next vector) */
};

INLINE void sink_open(struct sink *s, void *out, bool stream)
{
    s->at = out;
    s->lead = (uint32_t)((uintptr_t)out % 64 / 4);
    s->stream = stream && (uintptr_t)out % 4 == 0;
    s->streaming = false;
    s->last = _mm512_setzero_si512();
    vec count = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    s->rotate = _mm512_add_epi32(count, _mm512_set1_epi32(16 - (int)s->lead));
}

INLINE void sink_put(const int rows, struct sink *s, const vec *r)
{
    if (s->streaming) {
        uint8_t *line = s->at - 4 * s->lead;
        UNROLL for (int k = 0; k < rows; k++)
        {
            vec before = k == 0 ? s->last : r[k - 1];
            _mm512_stream_si512((vec *)(void *)(line + 64 * k),
                                _mm512_permutex2var_epi32(before, s->rotate, r[k]));
        }
    } else {
        store_rows(rows, s->at, r);
        s->streaming = s->stream;
    }
    s->last = r[rows - 1];
    s->at += 64 * rows;
}

/* The last block, of which only `bytes` exist. */
INLINE void sink_put_short(const int rows, struct sink *s, const vec *r, size_t bytes)
{
    uint8_t block[BLOCK_BYTES_MAX];
    store_rows(rows, block, r);
    memcpy(s->at, block, bytes);
}

INLINE void sink_close(struct sink *s)
{
    if (!s->streaming)
        return;
    vec line = _mm512_permutex2var_epi32(s->last, s->rotate, s->last);
    _mm512_mask_storeu_epi32(s->at - 4 * s->lead, (__mmask16)((1u << s->lead) - 1), line);
    _mm_sfence();
}

/* ---- a kernel's operands and result ------------------------------------------- */

struct io {
    struct source source[3];
    struct sink sink;
    size_t to_read, to_write; /* bytes left of an operand and of the result */
    bool prefetch;
};

INLINE void io_open(const int rows, const int operands, struct io *io,
                    const struct gx_host_args *args, size_t element_bytes)
{
    const void *operand[3] = {args->a, args->b, args->c};
    UNROLL for (int k = 0; k < operands; k++)
        source_open(&io->source[k], operand[k], args->broadcast >> k & 1, 64 * rows, element_bytes);
    sink_open(&io->sink, args->out, args->stream);
    io->to_read = io->to_write = args->n * element_bytes;
    io->prefetch = args->stream;
}

/* Before a block is read: makes all of it readable. */
INLINE void io_read(const int rows, const int operands, struct io *io)
{
    if (__builtin_expect(io->to_read < 64 * (size_t)rows, 0)) {
        for (int k = 0; k < operands; k++)
            source_shorten(&io->source[k], io->to_read);
    }
    if (io->prefetch) {
        UNROLL for (int k = 0; k < operands; k++) source_prefetch(&io->source[k], 64 * rows);
    }
}

/* After it was read. */
INLINE void io_next(const int rows, const int operands, struct io *io)
{
    UNROLL for (int k = 0; k < operands; k++) io->source[k].at += io->source[k].step;
    io->to_read -= 64 * (size_t)rows; /* wraps past the last block, whose size no one asks */
}

INLINE void io_write(const int rows, struct io *io, const vec *r)
{
    if (__builtin_expect(io->to_write < 64 * (size_t)rows, 0))
        sink_put_short(rows, &io->sink, r, io->to_write);
    else
        sink_put(rows, &io->sink, r);
    io->to_write -= 64 * (size_t)rows;
}

#endif
