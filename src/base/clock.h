/* SPDX-License-Identifier: Apache-2.0
 *
 * The library's one source of time.
 */
#ifndef GX_BASE_CLOCK_H
#define GX_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds that never go back, from an arbitrary start. */
uint64_t gx__now_ns(void);

/* Seconds since 1970 by the wall clock, for the dates of what is saved. It may go back. */
uint32_t gx__date_s(void);

/* In a loop that waits without sleeping. */
static inline void gx__pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
