/* SPDX-License-Identifier: Apache-2.0
 *
 * All memory of the library comes from here, so that a caller can supply it and a test can make
 * every allocation fail in turn.
 */
#ifndef GX_BASE_ALLOC_H
#define GX_BASE_ALLOC_H

#include "base/instance.h"

#define GX_CACHE_LINE 64

/* Zeroed and aligned to GX_CACHE_LINE, or NULL. */
void *gx__alloc(const gx_allocator *allocator, size_t bytes);

/* memory may be NULL. */
void gx__free(const gx_allocator *allocator, void *memory);

/* A copy of text, or NULL if memory ran out. */
char *gx__copy_text(const gx_allocator *allocator, const char *text);

#endif
