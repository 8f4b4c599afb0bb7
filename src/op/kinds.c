/* SPDX-License-Identifier: Apache-2.0
 *
 * See kinds.h. A bucket is a list that only grows, at its head.
 */
#include "op/kinds.h"

#include "base/alloc.h"

static struct gx_kind kind_of(uint64_t key)
{
    gx_op op = (gx_op)(key >> 32);
    if (gx__is_registered_op(op))
        op = atomic_load(&gx__registered_ops[gx__registered_op_place(op)].op);
    return (struct gx_kind){.op = op,
                            .field = (gx_field)(key >> 8 & 0xff),
                            .residency = (gx_residency)(key >> 4 & 0xf),
                            .path = (gx_path)(key & 0xf),
                            .size_class = (uint32_t)(key >> 16 & 0xffff)};
}

void *gx__kind_get(struct gx_kind_map *map, const struct gx_kind *kind)
{
    void *value = gx__kind_find(map, kind);
    struct gx_kind_entry *e = value ? NULL : gx__alloc(map->allocator, sizeof *e + map->bytes);
    if (!e)
        return value;
    e->key = gx__kind_key(kind);
    struct gx_kind_entry *_Atomic *head = &map->bucket[gx__kind_bucket(e->key)];
    e->next = atomic_load(head);
    do {
        value = gx__kind_find(map, kind); /* another thread may have been faster */
        if (value) {
            gx__free(map->allocator, e);
            return value;
        }
    } while (!atomic_compare_exchange_weak(head, &e->next, e));
    return e->value;
}

void *gx__kind_next(const struct gx_kind_map *map, uint64_t *from, struct gx_kind *kind)
{
    struct gx_kind_entry *least = NULL;
    for (size_t i = 0; i < GX_KIND_BUCKETS; i++)
        for (struct gx_kind_entry *e = atomic_load_explicit(&map->bucket[i], memory_order_acquire);
             e; e = e->next)
            if (e->key >= *from && (!least || e->key < least->key))
                least = e;
    if (!least)
        return NULL;
    *from = least->key + 1;
    *kind = kind_of(least->key);
    return least->value;
}

void gx__kind_map_init(struct gx_kind_map *map, const gx_allocator *allocator, size_t bytes)
{
    *map = (struct gx_kind_map){.allocator = allocator, .bytes = bytes};
}

void gx__kind_map_free(struct gx_kind_map *map)
{
    for (size_t i = 0; i < GX_KIND_BUCKETS; i++)
        for (struct gx_kind_entry *e = atomic_exchange(&map->bucket[i], NULL), *next; e; e = next) {
            next = e->next;
            gx__free(map->allocator, e);
        }
}
