/* SPDX-License-Identifier: Apache-2.0
 *
 * The library's only source of time.
 */
#ifndef GX_BASE_CLOCK_H
#define GX_BASE_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* Monotonic nanoseconds from an arbitrary start. */
static inline uint64_t gx__now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Seconds since 1970 by the wall clock, for dates in files. It may go backwards. */
uint32_t gx__date_s(void);

/* Times what is done once, such as opening a device. What a thread does inside of it has no time of
 * its own: compiling for a device that is being opened counts as opening. `start` is what
 * gx__once_begin returned. */
uint64_t gx__once_begin(void);
void gx__once_end(uint64_t start, _Atomic uint64_t *total);

/* For loops that wait without sleeping. */
static inline void gx__pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
