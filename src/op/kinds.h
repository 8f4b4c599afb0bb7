/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of jobs, and a map from a kind to what is known of it. There are thousands of kinds, of
 * which a device sees a few dozen, so memory comes with the first job of a kind. Finding takes no
 * lock.
 */
#ifndef GX_OP_KINDS_H
#define GX_OP_KINDS_H

#include <stdatomic.h>

#include "base/instance.h"
#include "base/names.h"
#include "op/registered_op.h"

/* Jobs of the same kind differ only in n. */
struct gx_kind {
    gx_op op;
    gx_field field;
    gx_residency residency;
    gx_path path;        /* as asked for */
    uint32_t size_class; /* gx__size_class; 0 for most operations */
};

/* The kind as one number, by which kinds are sorted. A registered operation counts as its place in
 * the table of these, so that the kinds of those before it there are used again. */
static inline uint64_t gx__kind_key(const struct gx_kind *kind)
{
    uint64_t op = gx__is_registered_op(kind->op)
                      ? GX_REGISTERED_BIT | gx__registered_op_place(kind->op)
                      : kind->op;
    uint64_t field = gx__is_registered_op(kind->op) ? 0 : kind->field;
    return op << 32 | (uint64_t)kind->size_class << 16 | field << 8 |
           (uint64_t)kind->residency << 4 | (uint64_t)kind->path;
}

/* Whether jobs of both take as long wherever they run, as far as their path is the same. */
static inline bool gx__kinds_match(const struct gx_kind *a, const struct gx_kind *b)
{
    return gx__kind_key(a) >> 4 == gx__kind_key(b) >> 4;
}

/* What is known of one kind. Never freed before the map, so that readers need no lock. */
struct gx_kind_entry {
    struct gx_kind_entry *next;
    uint64_t key;
    _Alignas(16) unsigned char value[];
};

#define GX_KIND_BUCKETS 128u /* a power of two */

struct gx_kind_map {
    const gx_allocator *allocator;
    size_t bytes; /* of a value */
    struct gx_kind_entry *_Atomic bucket[GX_KIND_BUCKETS];
};

static inline size_t gx__kind_bucket(uint64_t key)
{
    return (size_t)(key * 0x9e3779b97f4a7c15u >> 32) % GX_KIND_BUCKETS;
}

/* The value of a kind; NULL: none yet. Any thread; takes no lock. */
static inline void *gx__kind_find(const struct gx_kind_map *map, const struct gx_kind *kind)
{
    uint64_t key = gx__kind_key(kind);
    struct gx_kind_entry *e =
        atomic_load_explicit(&map->bucket[gx__kind_bucket(key)], memory_order_acquire);
    while (e && e->key != key)
        e = e->next;
    return e ? e->value : NULL;
}

/* The same, made of zeros if there is none; NULL: out of memory. Any thread; takes no lock. */
void *gx__kind_get(struct gx_kind_map *map, const struct gx_kind *kind);

/* The value with the least key from *from on, which is 0 for the first, and its kind; NULL: there
 * are no more. For lists, in order. Any thread; takes no lock. */
void *gx__kind_next(const struct gx_kind_map *map, uint64_t *from, struct gx_kind *kind);

/* bytes: of a value. */
void gx__kind_map_init(struct gx_kind_map *map, const gx_allocator *allocator, size_t bytes);
void gx__kind_map_free(struct gx_kind_map *map);

#endif
