/* SPDX-License-Identifier: Apache-2.0
 *
 * An allocator for gx_config.allocator that counts, remembers every live pointer, and fails on
 * request. Its memory is aligned to 16 bytes and no better, and is filled with garbage before and
 * after use, as the contract allows.
 */
#ifndef GX_TESTS_SUPPORT_HEAP_H
#define GX_TESTS_SUPPORT_HEAP_H

#include <pthread.h>

#include "gpuexec.h"

struct gxt_block {
    void *memory, *base;
    size_t bytes;
};

struct gxt_heap {
    pthread_mutex_t lock;
    uint64_t calls;     /* of alloc, since the start */
    uint64_t fail_from; /* 0: never; else calls from this one ... */
    uint64_t fail_to;   /* ... to this one fail */
    uint64_t failed;    /* how many did */
    uint64_t bad_frees; /* of what is not live */
    struct gxt_block *live;
    size_t count, room;
};

void gxt_heap_start(struct gxt_heap *heap);
gx_allocator gxt_heap_allocator(struct gxt_heap *heap);
/* Starting with the next call: the `at`th fails (1: the next), and `more` after it. */
void gxt_heap_fail(struct gxt_heap *heap, uint64_t at, uint64_t more);
void gxt_heap_heal(struct gxt_heap *heap);
uint64_t gxt_heap_calls(struct gxt_heap *heap);
/* The test fails unless everything was freed exactly once. */
void gxt_heap_end(struct gxt_heap *heap);

#endif
