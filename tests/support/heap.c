/* SPDX-License-Identifier: Apache-2.0
 *
 * See heap.h.
 */
#include "support/heap.h"

#include "support/harness.h"

enum { ALIGN = 16, SLACK = 64 };

/* Sanitizers stop the program when malloc is asked for more than this. */
#define MOST ((size_t)1 << 36)

void gxt_heap_start(struct gxt_heap *heap)
{
    memset(heap, 0, sizeof *heap);
    pthread_mutex_init(&heap->lock, NULL);
}

/* An address that is a multiple of 16 and not of 32. */
static void *barely_aligned(void *base)
{
    uintptr_t at = ((uintptr_t)base + 31) / 32 * 32 + ALIGN;
    return (unsigned char *)base + (at - (uintptr_t)base);
}

static int remember(struct gxt_heap *heap, struct gxt_block block)
{
    if (heap->count == heap->room) {
        size_t room = heap->room ? 2 * heap->room : 64;
        void *grown = realloc(heap->live, room * sizeof *heap->live);
        if (!grown)
            return 0;
        heap->live = grown;
        heap->room = room;
    }
    heap->live[heap->count++] = block;
    return 1;
}

static void *heap_alloc(void *user, size_t bytes)
{
    struct gxt_heap *heap = user;
    pthread_mutex_lock(&heap->lock);
    uint64_t call = ++heap->calls;
    struct gxt_block block = {.bytes = bytes};
    if (heap->fail_from && call >= heap->fail_from && call <= heap->fail_to) {
        heap->failed++;
    } else if (bytes <= MOST && (block.base = malloc(bytes + SLACK))) {
        block.memory = barely_aligned(block.base);
        memset(block.memory, 0xa5, bytes);
        if (!remember(heap, block)) {
            free(block.base);
            block.memory = NULL;
        }
    }
    pthread_mutex_unlock(&heap->lock);
    return block.memory;
}

static void heap_free(void *user, void *memory)
{
    struct gxt_heap *heap = user;
    struct gxt_block block = {0};
    pthread_mutex_lock(&heap->lock);
    size_t i = 0;
    while (i < heap->count && heap->live[i].memory != memory)
        i++;
    if (i == heap->count) {
        heap->bad_frees++;
    } else {
        block = heap->live[i];
        heap->live[i] = heap->live[--heap->count];
    }
    pthread_mutex_unlock(&heap->lock);
    if (block.base) {
        memset(block.memory, 0x5a, block.bytes);
        free(block.base);
    }
}

gx_allocator gxt_heap_allocator(struct gxt_heap *heap)
{
    return (gx_allocator){.alloc = heap_alloc, .free = heap_free, .user = heap};
}

void gxt_heap_fail(struct gxt_heap *heap, uint64_t at, uint64_t more)
{
    pthread_mutex_lock(&heap->lock);
    heap->fail_from = heap->calls + at;
    heap->fail_to = more > UINT64_MAX - heap->fail_from ? UINT64_MAX : heap->fail_from + more;
    heap->failed = 0;
    pthread_mutex_unlock(&heap->lock);
}

void gxt_heap_heal(struct gxt_heap *heap)
{
    pthread_mutex_lock(&heap->lock);
    heap->fail_from = 0;
    pthread_mutex_unlock(&heap->lock);
}

uint64_t gxt_heap_calls(struct gxt_heap *heap)
{
    pthread_mutex_lock(&heap->lock);
    uint64_t calls = heap->calls;
    pthread_mutex_unlock(&heap->lock);
    return calls;
}

void gxt_heap_end(struct gxt_heap *heap)
{
    assert_int_equal(heap->bad_frees, 0);
    assert_int_equal(heap->count, 0);
    free(heap->live);
    pthread_mutex_destroy(&heap->lock);
    memset(heap, 0, sizeof *heap);
}
