/* SPDX-License-Identifier: Apache-2.0
 *
 * Aligned, zeroed allocation on top of the context's allocator. The allocator's pointer is stored
 * just below the memory handed out.
 */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/asan.h"

void *gx__alloc(const gx_allocator *allocator, size_t bytes)
{
    const size_t extra = sizeof(void *) + GX_CACHE_LINE - 1;
    if (bytes > SIZE_MAX - extra)
        return NULL;
    char *raw =
        allocator->alloc ? allocator->alloc(allocator->user, bytes + extra) : malloc(bytes + extra);
    if (!raw)
        return NULL;
    uintptr_t start = (uintptr_t)raw + sizeof(void *);
    size_t skip = (size_t)(-start % GX_CACHE_LINE);
    char *memory = raw + sizeof(void *) + skip;
    memcpy(memory - sizeof(void *), &raw, sizeof raw);
    if (!allocator->alloc) /* a caller's allocator would hand the forbidden bytes out again */
        gx__forbid(memory + bytes, GX_CACHE_LINE - 1 - skip);
    return memset(memory, 0, bytes);
}

void gx__free(const gx_allocator *allocator, void *memory)
{
    if (!memory)
        return;
    void *raw;
    memcpy(&raw, (char *)memory - sizeof(void *), sizeof raw);
    if (allocator->alloc)
        allocator->free(allocator->user, raw);
    else
        free(raw);
}

char *gx__copy_text(const gx_allocator *allocator, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = gx__alloc(allocator, bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}
