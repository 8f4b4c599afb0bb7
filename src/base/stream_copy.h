/* SPDX-License-Identifier: Apache-2.0
 *
 * A copy past the caches, for staging memory that a device reads next and for results that do not
 * fit the caches. It saves reading the memory that is overwritten.
 */
#ifndef GX_BASE_STREAM_COPY_H
#define GX_BASE_STREAM_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#ifdef __x86_64__
#include <cpuid.h>
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

/* Whether gx__drop_lines works on this CPU. Asking takes microseconds in a virtual machine. */
static inline bool gx__drops_lines(void)
{
#ifdef __x86_64__
    enum { CLFLUSHOPT = 1 << 23 };
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && ebx & CLFLUSHOPT;
#else
    return false;
#endif
}

/* Removes memory from the caches of all cores, if gx__drops_lines. */
static inline void gx__drop_lines(const void *memory, size_t size)
{
#ifdef __x86_64__
    enum { LINE = 64 };
    const char *end = (const char *)memory + size;
    for (const char *p = (const char *)memory - (uintptr_t)memory % LINE; p < end; p += LINE)
        __asm__ volatile("clflushopt %0" : : "m"(*p));
#else
    (void)memory;
    (void)size;
#endif
}

#endif
