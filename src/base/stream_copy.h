/* SPDX-License-Identifier: Apache-2.0
 *
 * A copy past the caches, for staging memory that a device reads next and for results that do not
 * fit the caches. It saves reading the memory that is overwritten.
 */
#ifndef GX_BASE_STREAM_COPY_H
#define GX_BASE_STREAM_COPY_H

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Smaller copies are faster through the caches. */
#define GX_STREAM_COPY_BYTES 16384u

static inline void gx__stream_copy(void *to, const void *from, size_t size)
{
#ifdef __SSE2__
    enum { LINE = 64 };
    char *d = to;
    const char *s = from;
    if (size < GX_STREAM_COPY_BYTES) {
        memcpy(to, from, size);
        return;
    }
    size_t head = -(uintptr_t)d % LINE;
    memcpy(d, s, head);
    for (d += head, s += head, size -= head; size >= LINE; d += LINE, s += LINE, size -= LINE)
        for (size_t i = 0; i < LINE; i += sizeof(__m128i))
            _mm_stream_si128((__m128i *)(void *)(d + i),
                             _mm_loadu_si128((const __m128i *)(const void *)(s + i)));
    memcpy(d, s, size);
    _mm_sfence(); /* before anyone is told */
#else
    memcpy(to, from, size);
#endif
}

#endif
