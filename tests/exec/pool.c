/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool of staging and scratch memory over a device that only counts: at most 16 idle pieces of
 * a kind, the least recently used goes first, and a piece is only ever handed out for its own kind,
 * which is what decides the usage flags of a buffer, and for its own size.
 */
#include <stdbool.h>

#include "exec/engine.h"
#include "exec/guard.h"
#include "support/harness.h"

enum { LIVE_MAX = 256, CAP = 16 };

static struct gx_instance instance;
static struct gx_device device;
static struct gx_records records;
static struct gx_pool pool;

/* What the device has allocated: its handle is a number, in the order of allocation. */
static struct {
    enum gx_mem_kind kind;
    size_t size;
    bool live, out;
} piece[LIVE_MAX];
static size_t pieces;

static gx_status alloc(struct gx_device *d, enum gx_mem_kind kind, size_t bytes, struct gx_mem *mem)
{
    (void)d;
    assert_true(pieces < LIVE_MAX);
    piece[pieces].kind = kind;
    piece[pieces].size = bytes - GX_GUARD_BYTES;
    piece[pieces].live = true;
    piece[pieces].out = false;
    *mem = (struct gx_mem){.kind = kind, .size = bytes, .handle = &piece[pieces++]};
    return GX_OK;
}

static size_t number(const struct gx_mem *mem)
{
    size_t i = 0;
    while (&piece[i] != mem->handle)
        i++;
    return i;
}

static void free_mem(struct gx_device *d, struct gx_mem *mem)
{
    (void)d;
    size_t i = number(mem);
    assert_true(piece[i].live && !piece[i].out);
    piece[i].live = false;
}

static struct gx_mem *get(enum gx_mem_kind kind, size_t bytes)
{
    struct gx_mem *mem = NULL;
    assert_int_equal(gx__pool_get(&pool, kind, bytes, &mem), GX_OK);
    size_t i = number(mem);
    assert_true(piece[i].live && !piece[i].out);
    assert_int_equal(piece[i].kind, kind);
    assert_true(piece[i].size >= bytes && (piece[i].size == 4096 || piece[i].size < 2 * bytes));
    piece[i].out = true;
    return mem;
}

static void put(struct gx_mem **mem)
{
    piece[number(*mem)].out = false;
    gx__pool_put(&pool, mem);
    assert_null(*mem);
}

static size_t live(enum gx_mem_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < pieces; i++)
        count += piece[i].live && piece[i].kind == kind;
    return count;
}

static int open_pool(void **state)
{
    (void)state;
    static const struct gx_device_ops ops = {.mem_alloc = alloc, .mem_free = free_mem};
    instance = (struct gx_instance){0};
    device = (struct gx_device){.ops = &ops, .instance = &instance};
    pieces = 0;
    gx__records_init(&records, &device, &instance.counters);
    gx__pool_init(&pool, &device, 0, &records);
    return 0;
}

static int close_pool(void **state)
{
    (void)state;
    gx__pool_close(&pool);
    gx__records_close(&records);
    for (enum gx_mem_kind kind = 0; kind < GX_MEM_KINDS; kind++)
        assert_int_equal(live(kind), 0);
    assert_int_equal(instance.counters.pool_bytes, 0);
    assert_int_equal(instance.counters.device_bytes, 0);
    return 0;
}

/* 20 pieces of every kind in use at once: more than are kept. */
static void sixteen_stay(void **state)
{
    (void)state;
    enum { MANY = 20 };
    for (enum gx_mem_kind kind = 0; kind < GX_MEM_KINDS; kind++) {
        struct gx_mem *mem[MANY];
        size_t first = pieces, misses = instance.counters.pool_misses;
        for (int i = 0; i < MANY; i++)
            mem[i] = get(kind, 5000);
        assert_int_equal(live(kind), MANY);
        for (int i = 0; i < MANY; i++)
            put(&mem[i]);
        assert_int_equal(live(kind), CAP);
        for (size_t i = 0; i < MANY; i++) /* those that came back first are gone */
            assert_int_equal(piece[first + i].live, i >= MANY - CAP);
        for (int i = 0; i < CAP; i++) {
            mem[i] = get(kind, 8192);
            assert_int_equal(number(mem[i]), first + MANY - 1 - (size_t)i); /* the warmest */
        }
        assert_int_equal(instance.counters.pool_misses, misses + MANY);
        mem[CAP] = get(kind, 8192);
        assert_int_equal(instance.counters.pool_misses, misses + MANY + 1);
        for (int i = 0; i <= CAP; i++)
            put(&mem[i]);
    }
    assert_int_equal(instance.counters.pool_bytes, GX_MEM_KINDS * CAP * 8192);
}

/* Whatever else is idle: get() and the device check every piece. */
static void never_mixed(void **state)
{
    (void)state;
    enum { STEPS = 20000, HELD = 8 };
    static const size_t sizes[] = {1, 4096, 4097, 8000, 16384, 16385, 100000};
    struct gx_mem *held[HELD] = {0};
    uint64_t random = 7;
    for (int step = 0; step < STEPS && pieces + 1 < LIVE_MAX; step++) {
        struct gx_mem **mem = &held[gxt_next(&random) % HELD];
        if (*mem)
            put(mem);
        else
            *mem = get((enum gx_mem_kind)(gxt_next(&random) % GX_MEM_KINDS),
                       sizes[gxt_next(&random) % GXT_COUNT(sizes)]);
        for (enum gx_mem_kind kind = 0; kind < GX_MEM_KINDS; kind++)
            assert_true(pool.count[kind] <= CAP);
    }
    for (int i = 0; i < HELD; i++)
        if (held[i])
            put(&held[i]);
    assert_true(instance.counters.pool_hits > instance.counters.pool_misses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sixteen_stay, open_pool, close_pool),
        cmocka_unit_test_setup_teardown(never_mixed, open_pool, close_pool),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
