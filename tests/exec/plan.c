/* SPDX-License-Identifier: Apache-2.0
 *
 * gx__plan on tables: which path, how many elements per dispatch and per submit, where
 * operands lie in staging memory, when inputs are checked in a pass of their own. No
 * device is opened: the facts are made up. Internal: it links the static library.
 */
#include "exec/plan.h"
#include "support/harness.h"

enum {
    STAGED = GX_MEM_BIT(GX_MEM_DEVICE) | GX_MEM_BIT(GX_MEM_UPLOAD) | GX_MEM_BIT(GX_MEM_READBACK)
};
enum { SHARED = GX_MEM_BIT(GX_MEM_SHARED), ALL = STAGED | SHARED };

/* Never read: a plan only compares addresses. */
static char a[64], b[64], c[64], out[64];
static gx_buf *const buffer = (gx_buf *)(void *)a;
static gx_buf *const other = (gx_buf *)(void *)b;

static struct gx_plan plan_of(const gx_job *job, const struct gx_device_facts *facts, gx_path path)
{
    struct gx_plan plan;
    memset(&plan, 0x5c, sizeof plan); /* all of it is set */
    gx__plan(job, facts, path, &plan);
    return plan;
}

static struct gx_device_facts facts_of(uint32_t kinds, uint64_t dispatch_elems)
{
    return (struct gx_device_facts){.mem_kinds = kinds, .dispatch_elems = dispatch_elems};
}

/* ---- path ---- */

static void a_host_device_uses_operands_where_they_are(void **state)
{
    (void)state;
    struct gx_device_facts facts = facts_of(SHARED, UINT32_MAX);
    facts.import = true;
    gx_job job = gxt_job(GX_MUL, GX_U32, 1000, a, b, NULL, out);
    for (int path = GX_PATH_AUTO; path <= GX_PATH_DEVICE_LOCAL; path++) {
        struct gx_plan plan = plan_of(&job, &facts, (gx_path)path);
        assert_int_equal(plan.path, GX_PATH_DIRECT);
        assert_int_equal(plan.all_bytes, 0);
        for (int i = 0; i < GX_OPERANDS; i++) {
            assert_int_equal(plan.used[i], i != GX_C);
            assert_false(plan.staged[i]);
        }
    }
}

static void buffers_alone_are_used_where_they_are(void **state)
{
    (void)state;
    struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
    gx_job job = {.op = GX_ADD, .field = GX_U32, .n = 5};
    job.a = gx_dev(buffer, 0);
    job.b = gx_dev(buffer, 64);
    job.out = gx_dev(buffer, 128);
    for (int path = GX_PATH_AUTO; path <= GX_PATH_DEVICE_LOCAL; path++) {
        struct gx_plan plan = plan_of(&job, &facts, (gx_path)path);
        assert_int_equal(plan.path, GX_PATH_DIRECT);
        assert_int_equal(plan.all_bytes, 0);
    }
}

static void what_is_asked_for_is_done(void **state)
{
    (void)state;
    struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
    const size_t sizes[] = {1, 1000, (size_t)1 << 24};
    for (size_t i = 0; i < GXT_COUNT(sizes); i++) {
        gx_job job = gxt_job(GX_ADD, GX_BN254_FR, sizes[i], a, b, NULL, out);
        assert_int_equal(plan_of(&job, &facts, GX_PATH_HOST_VISIBLE).path, GX_PATH_HOST_VISIBLE);
        assert_int_equal(plan_of(&job, &facts, GX_PATH_DEVICE_LOCAL).path, GX_PATH_DEVICE_LOCAL);
    }
}

struct speed_case {
    size_t n;
    float shared_write, shared_read, shared_kernel; /* GB/s */
    float up, copy, down;
    gx_path want;
};

static void the_faster_path_is_chosen(void **state)
{
    (void)state;
    static const struct speed_case cases[] = {
        /* a software device: all memory is the same, copies are in vain */
        {1000, 10, 10, 10, 10, 10, 10, GX_PATH_HOST_VISIBLE},
        {10000000, 10, 10, 10, 10, 10, 10, GX_PATH_HOST_VISIBLE},
        /* kernels reach mapped memory over a slow bus: copies pay, but not for few */
        {64, 10, 10, 5, 10, 50, 10, GX_PATH_HOST_VISIBLE},
        {1000000, 10, 10, 5, 10, 50, 10, GX_PATH_DEVICE_LOCAL},
        /* mapped memory that the host reads slowly, such as a GPU's own */
        {64, 10, 0.5f, 100, 10, 50, 10, GX_PATH_HOST_VISIBLE},
        {100000, 10, 0.05f, 100, 10, 50, 10, GX_PATH_DEVICE_LOCAL},
        /* not measured: by size */
        {1000, 0, 0, 0, 0, 0, 0, GX_PATH_HOST_VISIBLE},
        {((size_t)1 << 20) - 1, 0, 0, 0, 0, 0, 0, GX_PATH_HOST_VISIBLE},
        {(size_t)1 << 20, 0, 0, 0, 0, 0, 0, GX_PATH_DEVICE_LOCAL},
    };
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        const struct speed_case *k = &cases[i];
        struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
        facts.speed[GX_MEM_SHARED] = (struct gx_mem_speed){.host_write = k->shared_write,
                                                           .host_read = k->shared_read,
                                                           .kernel_read = k->shared_kernel,
                                                           .kernel_write = k->shared_kernel};
        facts.speed[GX_MEM_UPLOAD] = (struct gx_mem_speed){.host_write = k->up, .copy_in = k->copy};
        facts.speed[GX_MEM_READBACK] =
            (struct gx_mem_speed){.host_read = k->down, .copy_out = k->copy};
        gx_job job = gxt_job(GX_ADD, GX_BN254_FR, k->n, a, b, NULL, out);
        if (plan_of(&job, &facts, GX_PATH_AUTO).path != k->want)
            fail_msg("case %zu", i);
    }
}

static void the_only_possible_path_is_chosen(void **state)
{
    (void)state;
    const size_t sizes[] = {1, (size_t)1 << 24};
    for (size_t i = 0; i < GXT_COUNT(sizes); i++) {
        gx_job job = gxt_job(GX_ADD, GX_U32, sizes[i], a, b, NULL, out);
        struct gx_device_facts shared = facts_of(SHARED, UINT32_MAX);
        struct gx_device_facts staged = facts_of(STAGED, UINT32_MAX);
        assert_int_equal(plan_of(&job, &shared, GX_PATH_AUTO).path, GX_PATH_HOST_VISIBLE);
        assert_int_equal(plan_of(&job, &staged, GX_PATH_AUTO).path, GX_PATH_DEVICE_LOCAL);
    }
}

/* ---- rounds ---- */

struct round_case {
    size_t n;
    uint64_t dispatch_elems, step, round;
    bool staged;
};

static void steps_and_rounds(void **state)
{
    (void)state;
    enum { MANY = GX_DISPATCHES_PER_SUBMIT };
    static const struct round_case cases[] = {
        {1, UINT32_MAX, 1, 1, true},
        {1000, UINT32_MAX, 1000, 1000, true},
        {1000, 1000, 1000, 1000, true},
        {1000, 999, 999, 1000, true},
        {1000, 1, 1, MANY, true},
        {1000, 100, 100, 1000, true},
        {100 * MANY, 100, 100, 100 * MANY, true},
        {100 * MANY + 1, 100, 100, 100 * MANY, true},
        /* a staged round is bounded, so that staging memory is */
        {GX_ROUND_ELEMS, UINT32_MAX, GX_ROUND_ELEMS, GX_ROUND_ELEMS, true},
        {GX_ROUND_ELEMS + 1, UINT32_MAX, GX_ROUND_ELEMS, GX_ROUND_ELEMS, true},
        {GX_ROUND_ELEMS * 9, GX_ROUND_ELEMS / 2, GX_ROUND_ELEMS / 2, GX_ROUND_ELEMS / 2, true},
        /* what is used where it is needs no such bound */
        {GX_ROUND_ELEMS * 9, UINT32_MAX, GX_ROUND_ELEMS * 9, GX_ROUND_ELEMS * 9, false},
        {GX_ROUND_ELEMS * 9, GX_ROUND_ELEMS, GX_ROUND_ELEMS, GX_ROUND_ELEMS * 9, false},
        {1000, 1, 1, MANY, false},
    };
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        const struct round_case *k = &cases[i];
        struct gx_device_facts facts = facts_of(ALL, k->dispatch_elems);
        facts.import = !k->staged;
        gx_job job = gxt_job(GX_ADD, GX_U32, k->n, a, b, NULL, out);
        struct gx_plan plan = plan_of(&job, &facts, GX_PATH_AUTO);
        if (plan.step != k->step || plan.round != k->round)
            fail_msg("case %zu: %llu per dispatch, %llu per submit", i,
                     (unsigned long long)plan.step, (unsigned long long)plan.round);
        /* each dispatch of a submit has a slot */
        assert_true((plan.round + plan.step - 1) / plan.step <= MANY);
    }
}

/* ---- layout ---- */

static void inputs_lie_side_by_side_before_the_output(void **state)
{
    (void)state;
    struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
    gx_job job = gxt_job(GX_MUL_ADD, GX_BLS12_381_FQ, 11, a, b, c, out); /* 528 bytes: 768 */
    struct gx_plan plan = plan_of(&job, &facts, GX_PATH_DEVICE_LOCAL);
    for (int i = 0; i < GX_OPERANDS; i++) {
        assert_true(plan.used[i] && plan.staged[i]);
        assert_int_equal(plan.bytes[i], 528);
    }
    assert_int_equal(plan.offset[GX_A], 0);
    assert_int_equal(plan.offset[GX_B], 768);
    assert_int_equal(plan.offset[GX_C], 1536);
    assert_int_equal(plan.in_bytes, 2304);
    assert_int_equal(plan.offset[GX_OUT], 2304);
    assert_int_equal(plan.all_bytes, 3072);

    job.b.broadcast = 1;
    plan = plan_of(&job, &facts, GX_PATH_DEVICE_LOCAL);
    assert_int_equal(plan.bytes[GX_B], 48);
    assert_int_equal(plan.offset[GX_C], 1024);
    assert_int_equal(plan.in_bytes, 1792);
    assert_int_equal(plan.all_bytes, 2560);
}

static void only_host_operands_are_staged(void **state)
{
    (void)state;
    struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
    gx_job job = gxt_job(GX_ADD, GX_U32, 100, a, b, NULL, out);
    job.a = gx_dev(buffer, 16);
    struct gx_plan plan = plan_of(&job, &facts, GX_PATH_DEVICE_LOCAL);
    assert_false(plan.staged[GX_A]);
    assert_true(plan.staged[GX_B] && plan.staged[GX_OUT]);
    assert_int_equal(plan.offset[GX_B], 0);
    assert_int_equal(plan.in_bytes, 512);
    assert_int_equal(plan.all_bytes, 1024);
    assert_int_equal(plan.path, GX_PATH_DEVICE_LOCAL);

    job = gxt_job(GX_ADD, GX_U32, 100, a, b, NULL, out);
    job.out = gx_dev(buffer, 0);
    plan = plan_of(&job, &facts, GX_PATH_HOST_VISIBLE);
    assert_false(plan.staged[GX_OUT]);
    assert_int_equal(plan.in_bytes, 1024);
    assert_int_equal(plan.all_bytes, 1024);
}

static void staging_memory_is_for_one_round(void **state)
{
    (void)state;
    struct gx_device_facts facts = facts_of(ALL, 4);
    gx_job job = gxt_job(GX_ADD, GX_U32, 100000, a, b, NULL, out);
    struct gx_plan plan = plan_of(&job, &facts, GX_PATH_HOST_VISIBLE);
    assert_int_equal(plan.round, 4 * GX_DISPATCHES_PER_SUBMIT);
    assert_int_equal(plan.bytes[GX_A], 4 * plan.round);
    assert_int_equal(plan.all_bytes, 3 * 4 * plan.round);
}

/* ---- checking ---- */

struct check_case {
    gx_field field;
    uint32_t flags;
    gx_operand a, b, out;
    bool import, check, first;
};

/* Only where a kernel would overwrite, in place, what it finds bad: a staged operand is
 * a copy. */
static void when_inputs_are_checked_before(void **state)
{
    (void)state;
    const struct check_case cases[] = {
        {GX_U32, 0, gx_host(a), gx_host(b), gx_host(a), true, false, false},
        {GX_BN254_FR, GX_JOB_TRUSTED, gx_host(a), gx_host(b), gx_host(a), true, false, false},
        {GX_BN254_FR, 0, gx_host(a), gx_host(b), gx_host(out), true, true, false},
        {GX_BN254_FR, 0, gx_host(a), gx_host(b), gx_host(a), true, true, true},
        {GX_BN254_FR, 0, gx_host(a), gx_host(b), gx_host(b), true, true, true},
        {GX_BN254_FR, 0, gx_host(a), gx_host(b), gx_host(a), false, true, false},
        {GX_BN254_FR, 0, gx_dev(buffer, 0), gx_host(b), gx_dev(buffer, 0), false, true, true},
        {GX_BN254_FR, 0, gx_host(a), gx_dev(buffer, 32), gx_dev(buffer, 32), false, true, true},
        {GX_BN254_FR, 0, gx_dev(buffer, 0), gx_host(b), gx_dev(buffer, 64), false, true, false},
        {GX_BN254_FR, 0, gx_dev(buffer, 0), gx_host(b), gx_dev(other, 0), false, true, false},
        {GX_BN254_FR, 0, gx_dev(buffer, 0), gx_host(b), gx_host(b), false, true, false},
    };
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        const struct check_case *k = &cases[i];
        struct gx_device_facts facts = facts_of(ALL, UINT32_MAX);
        facts.import = k->import;
        gx_job job = {.op = GX_ADD, .field = k->field, .n = 2, .flags = k->flags};
        job.a = k->a;
        job.b = k->b;
        job.out = k->out;
        struct gx_plan plan = plan_of(&job, &facts, GX_PATH_AUTO);
        if (plan.check != k->check || plan.check_first != k->first)
            fail_msg("case %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_device_uses_operands_where_they_are),
        cmocka_unit_test(buffers_alone_are_used_where_they_are),
        cmocka_unit_test(what_is_asked_for_is_done),
        cmocka_unit_test(the_faster_path_is_chosen),
        cmocka_unit_test(the_only_possible_path_is_chosen),
        cmocka_unit_test(steps_and_rounds),
        cmocka_unit_test(inputs_lie_side_by_side_before_the_output),
        cmocka_unit_test(only_host_operands_are_staged),
        cmocka_unit_test(staging_memory_is_for_one_round),
        cmocka_unit_test(when_inputs_are_checked_before),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
