/* SPDX-License-Identifier: Apache-2.0
 *
 * The library's one source of time.
 */
#ifndef GX_BASE_CLOCK_H
#define GX_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds that never go back, from an arbitrary start. */
uint64_t gx__now_ns(void);

#endif
