/* SPDX-License-Identifier: Apache-2.0
 *
 * See rig.h. Arrays live in arenas: mapped once, with an unreadable page on either side, and a
 * margin of known bytes around each array if the arena has room for one.
 */
#include "kernels/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/oracle.h"

/* ---- what is tested ------------------------------------------------------------- */

const struct kernel_info rig_kernels[GX_HOST_KERNELS] = {
    [GX_HOST_ADD] = {"add", GX_ADD, 2}, [GX_HOST_SUB] = {"sub", GX_SUB, 2},
    [GX_HOST_MUL] = {"mul", GX_MUL, 2}, [GX_HOST_SQR] = {"sqr", GX_SQR, 1},
    [GX_HOST_INV] = {"inv", GX_INV, 1}, [GX_HOST_DIV] = {"div", GX_DIV, 2},
    [GX_HOST_CHECK] = {"check", 0, 1},  [GX_HOST_MUL_ADD] = {"mul-add", GX_MUL_ADD, 3},
    [GX_HOST_SUM] = {"sum", GX_SUM, 1},
};

const struct subject *rig_subject(unsigned which)
{
    static struct subject subjects[SUBJECTS];
    struct subject *s = &subjects[which];
    if (s->name)
        return s;
    if (which == GX_TIERS) {
        s->name = "reference";
        s->available = s->slow = true;
        gx__host_reference(&s->table);
    } else {
        s->name = gx_tier_name(which);
        s->tier = (enum gx_tier)which;
        s->available = gx__host_tiers() >> which & 1;
        gx__host_table(&s->table, 1u << which);
    }
    return s;
}

gx_host_fn rig_kernel(const struct subject *subject, gx_field field, enum gx_host_kernel kernel)
{
    if (subject->table.tier[field][kernel] != subject->tier)
        return NULL;
    return subject->table.fn[field][kernel];
}

/* ---- arenas --------------------------------------------------------------------- */

#define MARGIN      64
#define MARGIN_BYTE 0xa5
#define ARENA_BYTES ((RIG_N_MAX + 8) * GX_LIMBS_MAX * sizeof(uint64_t))

struct arena {
    unsigned char *begin, *end; /* usable: whole pages */
};

enum { ARENA_OUT = 3, ARENA_SCRATCH, ARENAS }; /* 0 to 2: a, b, c */

static const struct arena *arena(unsigned which)
{
    static struct arena arenas[ARENAS];
    struct arena *m = &arenas[which];
    if (m->begin)
        return m;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = (ARENA_BYTES + page - 1) / page * page;
    unsigned char *base =
        mmap(NULL, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || mprotect(base + page, bytes, PROT_READ | PROT_WRITE) != 0) {
        perror("kernels: mmap");
        exit(1);
    }
    m->begin = base + page;
    m->end = m->begin + bytes;
    return m;
}

/* The margins of an array, truncated at the end of the arena. */
struct margins {
    unsigned char *before, *from, *to, *after; /* before <= from <= to <= after */
};

static struct margins margins(const struct arena *m, unsigned char *array, size_t bytes)
{
    unsigned char *to = array + bytes;
    size_t low = (size_t)(array - m->begin), high = (size_t)(m->end - to);
    return (struct margins){array - (low < MARGIN ? low : MARGIN), array, to,
                            to + (high < MARGIN ? high : MARGIN)};
}

static void mark(struct margins g)
{
    memset(g.before, MARGIN_BYTE, (size_t)(g.from - g.before));
    memset(g.to, MARGIN_BYTE, (size_t)(g.after - g.to));
}

static bool unmarked(struct margins g)
{
    for (unsigned char *at = g.before; at < g.after; at++)
        if ((at < g.from || at >= g.to) && *at != MARGIN_BYTE)
            return true;
    return false;
}

/* ---- elements to compute with ----------------------------------------------------- */

/* The same elements for every trial of a field, so that the oracle computes the plain case only
 * once. */
struct pool {
    unsigned char *operand[3];
    unsigned char *expected[GX_HOST_KERNELS]; /* NULL until asked for */
};

#define POOL_N (RIG_N_MAX + 64)

static struct pool *pool(gx_field field)
{
    static struct pool pools[GX_FIELD_END];
    struct pool *p = &pools[field];
    struct oracle_rng rng = {(uint64_t)field};
    for (unsigned k = 0; k < 3 && !p->operand[k]; k++) {
        p->operand[k] = malloc(POOL_N * oracle_element_bytes(field));
        assert_non_null(p->operand[k]);
        oracle_fill(field, &rng, p->operand[k], POOL_N);
    }
    return p;
}

static const unsigned char *pool_expected(gx_field field, enum gx_host_kernel kernel)
{
    struct pool *p = pool(field);
    if (!p->expected[kernel]) {
        p->expected[kernel] = malloc(POOL_N * oracle_element_bytes(field));
        assert_non_null(p->expected[kernel]);
        oracle_run(rig_kernels[kernel].op, field, POOL_N, p->expected[kernel], p->operand[0],
                   p->operand[1], p->operand[2], 0);
    }
    return p->expected[kernel];
}

/* ---- one call ---------------------------------------------------------------------- */

static struct {
    struct trial trial;
    size_t bytes;           /* of an element */
    size_t from;            /* in the pool */
    bool changed;           /* an element is no longer the pool's */
    unsigned char *at[4];   /* a, b, c, out */
    unsigned char *copy[4]; /* of the operands, taken just before the call */
    void *scratch;
} rig;

static unsigned operands(void)
{
    return rig_kernels[rig.trial.kernel].operands;
}

static bool is_broadcast(unsigned k)
{
    return k < 3 && rig.trial.broadcast >> k & 1;
}

static bool is_out(unsigned k)
{
    return k < 3 && rig.trial.same >> k & 1;
}

static size_t array_elements(unsigned k)
{
    bool one = k == ARENA_OUT ? rig.trial.kernel == GX_HOST_SUM : is_broadcast(k);
    return one ? 1 : rig.trial.n;
}

static size_t array_bytes(unsigned k)
{
    return array_elements(k) * rig.bytes;
}

static unsigned char *place(unsigned which)
{
    const struct arena *m = arena(which);
    size_t bytes = array_bytes(which);
    unsigned char *at =
        rig.trial.place == PLACE_END ? m->end - bytes : m->begin + rig.trial.skew[which];
    mark(margins(m, at, bytes));
    return at;
}

/* As large as host.h promises and not a byte more. */
static void place_scratch(void)
{
    size_t n = rig.trial.n < GX_INV_BATCH ? rig.trial.n : GX_INV_BATCH;
    size_t bytes = (n + 15) / 16 * 16 * GX_INV_SCRATCH_PER_ELEMENT;
    const struct arena *m = arena(ARENA_SCRATCH);
    bool uses = rig.trial.kernel == GX_HOST_INV || rig.trial.kernel == GX_HOST_DIV;
    rig.scratch = uses ? m->end - bytes : NULL;
    memset(m->end - bytes, 0xee, bytes);
}

void rig_load(const struct trial *trial)
{
    rig.trial = *trial;
    rig.bytes = oracle_element_bytes(trial->field);
    rig.from = trial->n * 7 % 64;
    rig.changed = false;
    const struct pool *p = pool(trial->field);
    rig.at[ARENA_OUT] = place(ARENA_OUT);
    memset(rig.at[ARENA_OUT], 0xee, array_bytes(ARENA_OUT));
    for (unsigned k = operands(); k-- > 0;) {
        rig.at[k] = is_out(k) ? rig.at[ARENA_OUT] : place(k);
        memcpy(rig.at[k], p->operand[k] + rig.from * rig.bytes, array_bytes(k));
    }
    place_scratch();
}

void *rig_element(unsigned k, size_t i)
{
    rig.changed = true;
    return rig.at[k] + i * rig.bytes;
}

static void keep_copies(void)
{
    for (unsigned k = 0; k < operands(); k++) {
        if (!rig.copy[k])
            rig.copy[k] = malloc(ARENA_BYTES);
        assert_non_null(rig.copy[k]);
        memcpy(rig.copy[k], rig.at[k], array_bytes(k));
    }
}

static void fail_trial(const char *what, size_t i)
{
    const struct trial *t = &rig.trial;
    fail_msg("%s: %s %s %s n=%zu i=%zu broadcast=%u same=%u checked=%d stream=%d place=%d "
             "skew=%zu,%zu,%zu,%zu",
             what, t->subject->name, gx_field_get_info(t->field)->name, rig_kernels[t->kernel].name,
             t->n, i, t->broadcast, t->same, !t->unchecked, t->stream, t->place, t->skew[0],
             t->skew[1], t->skew[2], t->skew[3]);
}

static void look_for_damage(void)
{
    for (unsigned k = 0; k < operands(); k++) {
        if (is_out(k))
            continue;
        if (memcmp(rig.copy[k], rig.at[k], array_bytes(k)) != 0)
            fail_trial("wrote to an input", k);
        if (unmarked(margins(arena(k), rig.at[k], array_bytes(k))))
            fail_trial("wrote beside an input", k);
    }
    if (unmarked(margins(arena(ARENA_OUT), rig.at[ARENA_OUT], array_bytes(ARENA_OUT))))
        fail_trial("wrote outside out", 0);
}

size_t rig_call(void)
{
    const struct trial *t = &rig.trial;
    struct gx_host_args args = {
        .out = t->kernel == GX_HOST_CHECK ? NULL : rig.at[ARENA_OUT],
        .a = rig.at[0],
        .b = operands() > 1 ? rig.at[1] : NULL,
        .c = operands() > 2 ? rig.at[2] : NULL,
        .n = t->n,
        .broadcast = t->broadcast,
        .check = !t->unchecked,
        .stream = t->stream,
        .scratch = rig.scratch,
    };
    keep_copies();
    size_t bad = t->subject->table.fn[t->field][t->kernel](gx__prime(t->field), &args);
    look_for_damage();
    return bad;
}

void rig_compare(void)
{
    const struct trial *t = &rig.trial;
    const unsigned char *expected;
    unsigned char *computed = NULL;
    if (t->kernel == GX_HOST_CHECK)
        return;
    /* two operands in one place are no longer the pool's */
    bool plain =
        !rig.changed && !t->broadcast && (t->same & (t->same - 1)) == 0 && t->kernel != GX_HOST_SUM;
    if (plain) {
        expected = pool_expected(t->field, t->kernel) + rig.from * rig.bytes;
    } else {
        computed = malloc(array_bytes(ARENA_OUT) + 1);
        assert_non_null(computed);
        oracle_run(rig_kernels[t->kernel].op, t->field, t->n, computed, rig.copy[0], rig.copy[1],
                   rig.copy[2], t->broadcast);
        expected = computed;
    }
    for (size_t i = 0; i < array_elements(ARENA_OUT); i++)
        if (memcmp(expected + i * rig.bytes, rig.at[ARENA_OUT] + i * rig.bytes, rig.bytes) != 0)
            fail_trial("wrong result", i);
    free(computed);
}

void rig_run(const struct trial *trial)
{
    rig_load(trial);
    size_t bad = rig_call();
    if (bad != GX_NONE_BAD)
        fail_trial("false alarm", bad);
    rig_compare();
}
