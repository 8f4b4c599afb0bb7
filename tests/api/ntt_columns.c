/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms of columns that are too many for one dispatch, one piece or the memory budget: on
 * every device, from and to host memory, registered memory and buffers, in place or not. They are
 * cut between columns, so that there are few dispatches; the bits are the same, nothing around the
 * matrix changes, and of several bad elements the first is reported, whichever piece finds it.
 *
 * usage: api-ntt-columns [device]    that one alone
 */
#include <stdio.h>

#include "api/counters.h"
#include "support/harness.h"
#include "support/oracle_ntt.h"

enum { ELEMENT = 32, MOST = 1 << 14, GUARD = 0x5c, AROUND = 48, DEVICES = GXT_GPUS + 4 };

static struct {
    const char *name, *mask;
} devices[DEVICES];
static size_t device_count;
static const gx_field field = GX_BN254_FR;
static struct oracle_rng rng = {1213};
static unsigned char *in, *got, *want;

static void add_device(const char *name, const char *mask)
{
    devices[device_count].name = name;
    devices[device_count++].mask = mask;
}

static int prepare(void **state)
{
    (void)state;
    const char *gpus[GXT_GPUS];
    gxt_clear_environment();
    gxt_enter_machines();
    if (!gxt_one_gpu()) {
        add_device("cpu", NULL);
        add_device("cpu", "portable");
        add_device("ref", NULL);
        add_device("sim:desktop", NULL);
    }
    size_t count = gxt_gpus(gpus);
    for (size_t i = 0; i < count; i++)
        add_device(gpus[i], NULL);
    in = gxt_alloc(ELEMENT * MOST + 2 * AROUND);
    got = gxt_alloc(ELEMENT * MOST + 2 * AROUND);
    want = gxt_alloc(ELEMENT * MOST);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    free(in);
    free(got);
    free(want);
    return 0;
}

/* ---- settings ---- */

static const struct setting {
    const char *name;
    uint64_t dispatch, chunk, memory;
} settings[] = {
    {"dispatches of 100", 100, 0, 0}, {"dispatches of 1030", 1030, 0, 0},
    {"pieces of 300", 0, 300, 0},     {"pieces of 2100, dispatches of 1100", 1100, 2100, 0},
    {"400 KiB", 0, 0, 400 << 10},
};

struct rig {
    const char *device;
    unsigned one_in; /* of the shapes in all ways, in turn: GPUs here are slow */
    const struct setting *setting;
    gx_ctx *ctx;
    gx_domain *domain;
};

static struct rig open_rig(size_t d, const struct setting *s)
{
    gx_config config = {.cpumask = devices[d].mask,
                        .dispatch_elems = s->dispatch,
                        .stream_chunk_elems = s->chunk,
                        .device_memory = s->memory};
    const gx_domain_params desc = {.struct_size = sizeof desc, .field = field, .log2_size = 12};
    struct rig rig = {.device = devices[d].name, .setting = s};
    const int slowest = !strcmp(rig.device, "ref"); /* jobs are cut for it as for the CPU */
    rig.one_in = slowest || gxt_small() ? 12 : !strncmp(rig.device, "cpu", 3) ? 1 : 3;
    gxt_watch(&config);
    rig.ctx = gxt_open(&config);
    assert_int_equal(gx_domain_create(rig.ctx, &desc, &rig.domain), GX_OK);
    return rig;
}

static void close_rig(struct rig *rig)
{
    struct gx_statistics stats = {0};
    gx__stats(rig->ctx, &stats);
    assert_int_equal(stats.validation_messages, 0);
    gx_domain_destroy(&rig->domain);
    gx_close(&rig->ctx);
    assert_int_equal(gxt_complaints(), 0);
}

static void tell(const struct rig *rig, const struct oracle_ntt *t, const char *what)
{
    fail_msg("%s, %s: 2^%u x %zu columns, padded by 2^%u, flags %u: %s", rig->device,
             rig->setting->name, t->log2_n, t->batch, t->log2_pad, t->flags, what);
}

/* ---- one job ---- */

enum where { HOST, REGISTERED, BUFFER };

struct way {
    enum where a, out;
    int in_place;
};

static gx_operand place(gx_ctx *ctx, const char *device, enum where where, unsigned char *memory,
                        size_t bytes, gx_buf **buf)
{
    if (where == REGISTERED)
        assert_int_equal(gx_host_register(ctx, memory, bytes + 2 * AROUND), GX_OK);
    if (where != BUFFER)
        return gx_host(memory + AROUND);
    assert_int_equal(gx_buf_create(ctx, device, bytes + 2 * AROUND, 0, buf), GX_OK);
    assert_int_equal(gx_buf_write(*buf, 0, memory, bytes + 2 * AROUND), GX_OK);
    return gx_dev(*buf, AROUND);
}

static void take_back(gx_ctx *ctx, enum where where, unsigned char *memory, size_t bytes,
                      gx_buf **buf)
{
    if (where == REGISTERED)
        assert_int_equal(gx_host_unregister(ctx, memory), GX_OK);
    if (where != BUFFER)
        return;
    assert_int_equal(gx_buf_read(*buf, 0, memory, bytes + 2 * AROUND), GX_OK);
    gx_buf_destroy(buf);
}

/* Whether one dispatch may have more than a column, and then how many there may be at most: twice
 * those that are needed, and as many to check elements first. */
static uint64_t dispatches_most(const struct rig *rig, const struct oracle_ntt *t)
{
    const struct setting *s = rig->setting;
    uint64_t most = s->dispatch ? s->dispatch : 1 << 14, n = t->batch << t->log2_n;
    if (s->chunk && s->chunk < most)
        most = s->chunk;
    if (s->memory)
        most = 1 << 9; /* a quarter of it for in and out, twice, and the rest for the table */
    uint64_t columns = most >> t->log2_n;
    return columns < 2 ? UINT64_MAX : 4 * ((t->batch + columns - 1) / columns) + 2 * n / most + 2;
}

/* in has the operand, behind AROUND bytes. */
static gx_status run_way(const struct rig *rig, const struct oracle_ntt *t, struct way way,
                         uint32_t flags, gx_report *r)
{
    gx_buf *a_buf = NULL, *out_buf = NULL;
    size_t a = oracle_ntt_in(t) * ELEMENT, out = oracle_ntt_out(t) * ELEMENT;
    gx_ntt_params params = {.struct_size = sizeof params,
                            .domain = rig->domain,
                            .log2_n = t->log2_n,
                            .log2_pad = t->log2_pad,
                            .flags = t->flags};
    gx_job job = {.op = GX_NTT, .field = field, .n = oracle_ntt_out(t), .flags = flags};
    job.params = &params;
    memset(got, GUARD, out + 2 * AROUND);
    if (way.in_place)
        memcpy(got, in, out + 2 * AROUND);
    job.out = place(rig->ctx, rig->device, way.out, got, out, &out_buf);
    job.a = way.in_place ? job.out : place(rig->ctx, rig->device, way.a, in, a, &a_buf);
    gx_status s = gxt_run(rig->ctx, &job, rig->device, r);
    take_back(rig->ctx, way.out, got, out, &out_buf);
    if (!way.in_place)
        take_back(rig->ctx, way.a, in, a, &a_buf);
    return s;
}

static void fill(const struct oracle_ntt *t)
{
    memset(in, GUARD, AROUND);
    oracle_fill(field, &rng, in + AROUND, oracle_ntt_in(t));
    memset(in + AROUND + oracle_ntt_in(t) * ELEMENT, GUARD, AROUND);
}

static const struct way ways[] = {
    {HOST, HOST, 0},
    {HOST, HOST, 1},
    {BUFFER, BUFFER, 0},
    {BUFFER, BUFFER, 1},
    {BUFFER, HOST, 0},
    {HOST, BUFFER, 0},
    {REGISTERED, REGISTERED, 0},
    {REGISTERED, REGISTERED, 1},
    {REGISTERED, BUFFER, 0},
};

static int possible(const struct rig *rig, struct way way, const struct oracle_ntt *t)
{
    int buffers = (way.a == BUFFER) + (way.out == BUFFER && !way.in_place);
    size_t bytes = oracle_ntt_out(t) * ELEMENT * (size_t)buffers;
    return !(way.in_place && t->log2_pad) &&
           (!rig->setting->memory || bytes <= rig->setting->memory / 4);
}

static void expect_result(const struct rig *rig, const struct oracle_ntt *t, const char *what)
{
    size_t bytes = oracle_ntt_out(t) * ELEMENT;
    for (size_t i = 0; i < AROUND; i++)
        if (got[i] != GUARD || got[AROUND + bytes + i] != GUARD)
            tell(rig, t, what);
    for (size_t i = 0; i < bytes; i++)
        if (got[AROUND + i] != want[i])
            tell(rig, t, what);
}

static void every_way(const struct rig *rig, const struct oracle_ntt *t, unsigned turn)
{
    char what[200];
    fill(t);
    oracle_ntt_by_halves(t, want, in + AROUND);
    for (size_t w = 0; w < GXT_COUNT(ways); w++) {
        gx_report r = gxt_report();
        if (!possible(rig, ways[w], t) || (turn + w) % rig->one_in)
            continue;
        snprintf(what, sizeof what, "way %zu", w);
        gx_status s = run_way(rig, t, ways[w], (turn + w) % 2 ? GX_JOB_UNCHECKED : 0, &r);
        if (s != GX_OK) {
            snprintf(what, sizeof what, "way %zu: %s", w, r.message);
            tell(rig, t, what);
        }
        expect_result(rig, t, what);
        if (r.dispatches > dispatches_most(rig, t)) {
            snprintf(what, sizeof what, "way %zu: %u dispatches", w, r.dispatches);
            tell(rig, t, what);
        }
    }
}

/* ---- the tests ---- */

static const struct {
    uint32_t log2_n;
    size_t batch;
} shapes[] = {{0, 1037}, {1, 1501}, {2, 333}, {3, 517}, {5, 129}, {7, 37}, {10, 11}, {2, 4095}};

static void every_shape(const struct rig *rig, unsigned turn)
{
    for (uint32_t i = 0; i < GXT_COUNT(shapes); i++, turn++) {
        struct oracle_ntt t = {.field = field,
                               .log2_n = shapes[i].log2_n,
                               .batch = shapes[i].batch,
                               .log2_pad = turn % 3 == 2 && shapes[i].log2_n ? 1 : 0,
                               .flags = GX_NTT_COLUMNS | turn * 7 % 16};
        every_way(rig, &t, turn);
    }
}

/* The first element in the order of the operand is in a later piece than another bad one. */
static void first_of_bad_elements(const struct rig *rig, unsigned turn)
{
    for (uint32_t i = 0; i < GXT_COUNT(shapes); i++) {
        struct oracle_ntt t = {.field = field,
                               .log2_n = shapes[i].log2_n,
                               .batch = shapes[i].batch,
                               .flags = GX_NTT_COLUMNS};
        const struct way way = ways[(i + turn) % GXT_COUNT(ways)];
        size_t first = t.log2_n ? t.batch - 2 : t.batch / 2;
        size_t later = t.log2_n ? t.batch + 1 : t.batch - 1;
        gx_report r = gxt_report();
        if (!possible(rig, way, &t) || (i + turn) % rig->one_in)
            continue;
        fill(&t);
        oracle_bad(field, i, in + AROUND + later * ELEMENT);
        oracle_bad(field, i + 1, in + AROUND + first * ELEMENT);
        assert_int_equal(run_way(rig, &t, way, 0, &r), GX_ERR_NOT_CANONICAL);
        if (r.bad_index != first || r.bad_operand != 'a')
            tell(rig, &t, r.message);
        if (way.in_place)
            assert_memory_equal(got, in, oracle_ntt_in(&t) * ELEMENT + 2 * AROUND);
    }
}

static void pieces(void **state)
{
    (void)state;
    for (unsigned d = 0; d < device_count; d++)
        for (unsigned s = 0; s < GXT_COUNT(settings); s++) {
            if (strchr(devices[d].name, ':') && device_count > 1 && (d + s) % 2)
                continue; /* opening a GPU takes long: every other setting */
            struct rig rig = open_rig(d, &settings[s]);
            every_shape(&rig, 3 * s + 5 * d);
            first_of_bad_elements(&rig, s + d);
            close_rig(&rig);
        }
}

int main(int argc, char **argv)
{
    gxt_choose_gpu(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces),
    };
    return cmocka_run_group_tests(tests, prepare, finish);
}
