/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations on polynomials by their results alone, on every device and every tier of the CPU,
 * in host memory at odd addresses and in buffers, against GMP: sizes around those of workgroups and
 * blocks, every kind of parameter, 0 and 1 among the elements.
 *
 * usage: polynomials [webgpu]    the WebGPU devices alone, else all others
 */
#include "conformance/ntt_targets.h"
#include "support/oracle_poly.h"

enum { MARGIN = 64, GUARD = 0x5c, ELEMENT_MAX = 48, SLACK = 64, CASES = 6 };

struct shape {
    struct oracle_poly p;
    size_t a_count, b_bytes; /* elements of a, bytes of b */
};

static struct oracle_rng rng = {90210};
static size_t largest;
static unsigned char *a, *b, *want, *room_a, *room_b, *place;

static int open_all(void **state)
{
    (void)state;
    gxt_clear_environment();
    gxt_enter_machines();
    largest = (size_t)1 << (gxt_small() ? 13 : 18);
    ntt_open_targets(largest);
    size_t bytes = (4 * largest + SLACK) * ELEMENT_MAX + 4 * (size_t)MARGIN;
    unsigned char **const all[] = {&a, &b, &want, &room_a, &room_b, &place};
    for (size_t i = 0; i < GXT_COUNT(all); i++)
        *all[i] = gxt_alloc(bytes);
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    unsigned char *const all[] = {a, b, want, room_a, room_b, place};
    for (size_t i = 0; i < GXT_COUNT(all); i++)
        free(all[i]);
    return 0;
}

/* ---- one job ---- */

static void tell(const struct target *t, const struct shape *s, const char *what)
{
    tell_target(t, what);
    print_error("%s %s, n %zu, count %llu, flags %u\n", gx_op_get_info(s->p.op)->name,
                gx_field_get_info(s->p.field)->name, s->p.n, (unsigned long long)s->p.count,
                s->p.flags);
}

static size_t out_bytes(const struct shape *s)
{
    return gxt_element(s->p.field) * (s->p.op == GX_EVALUATE ? 1 : s->p.n);
}

static void check_result(const struct target *t, const struct shape *s, const unsigned char *got)
{
    size_t element = gxt_element(s->p.field);
    for (size_t i = 0; i < out_bytes(s); i += element) {
        if (!memcmp(got + i, want + i, element))
            continue;
        tell(t, s, "wrong result");
        print_error("  element %zu\n", i / element);
        print_element("got ", got + i, element);
        print_element("want", want + i, element);
        fail();
    }
}

static void run_job(const struct target *t, const struct shape *s, gx_job *job)
{
    gx_poly_params params = {
        .struct_size = sizeof params, .count = s->p.count, .flags = s->p.flags};
    if (s->p.count || s->p.flags)
        job->params = &params;
    gx_report r = gxt_report();
    gx_status status = gxt_run(t->ctx, job, t->device, &r);
    if (status != GX_OK) {
        tell(t, s, r.message);
        assert_int_equal(status, GX_OK);
    }
    assert_string_equal(r.device, t->device);
}

static void run_on_host(const struct target *t, const struct shape *s)
{
    size_t a_bytes = s->a_count * gxt_element(s->p.field), bytes = out_bytes(s);
    unsigned char *in = room_a + s->p.n % 17, *second = room_b + s->p.n % 13;
    unsigned char *out = place + MARGIN + s->p.n % 19;
    memcpy(in, a, a_bytes);
    memcpy(second, b, s->b_bytes);
    memset(out - MARGIN, GUARD, bytes + 2 * (size_t)MARGIN);
    gx_job job = gxt_job(s->p.op, s->p.field, s->p.n, in, second, NULL, out);
    job.flags = s->p.n % 3 ? 0 : GX_JOB_UNCHECKED;
    run_job(t, s, &job);
    check_result(t, s, out);
    for (size_t i = 1; i <= MARGIN; i++)
        if (out[-(ptrdiff_t)i] != GUARD || out[bytes + i - 1] != GUARD) {
            tell(t, s, "a byte beside the result was written");
            fail();
        }
    assert_memory_equal(in, a, a_bytes);
    assert_memory_equal(second, b, s->b_bytes);
}

/* All operands in one buffer, with gaps between them. */
static void run_in_a_buffer(const struct target *t, const struct shape *s)
{
    size_t a_bytes = s->a_count * gxt_element(s->p.field), bytes = out_bytes(s);
    size_t at[3] = {16, 0, 0};
    at[1] = (at[0] + a_bytes + 15) / 16 * 16 + 32;
    at[2] = (at[1] + s->b_bytes + 15) / 16 * 16 + 16;
    size_t total = at[2] + (bytes + 15) / 16 * 16 + 16;
    unsigned char *all = gxt_alloc(total);
    gx_buf *buf = NULL;
    memset(all, GUARD, total);
    memcpy(all + at[0], a, a_bytes);
    memcpy(all + at[1], b, s->b_bytes);
    assert_int_equal(gx_buf_create(t->ctx, t->device, total, 0, &buf), GX_OK);
    assert_int_equal(gx_buf_write(buf, 0, all, total), GX_OK);
    gx_job job = gxt_job(s->p.op, s->p.field, s->p.n, a, b, NULL, place);
    job.a = gx_dev(buf, at[0]);
    if (s->b_bytes)
        job.b = gx_dev(buf, at[1]);
    job.out = gx_dev(buf, at[2]);
    run_job(t, s, &job);
    memcpy(all + at[2], want, bytes);
    assert_int_equal(gx_buf_read(buf, 0, place, total), GX_OK);
    check_result(t, s, place + at[2]);
    if (memcmp(place, all, total) != 0) {
        tell(t, s, "more than the result was written in the buffer");
        fail();
    }
    gx_buf_destroy(&buf);
    free(all);
}

/* Slow devices take turns. */
static void on_every_target(const struct shape *s)
{
    static unsigned shapes;
    unsigned every = gxt_small() ? 5 : 2, turn = shapes++;
    oracle_poly(&s->p, want, a, b);
    for (size_t i = 0; i < target_count; i++) {
        const struct target *t = &targets[i];
        if (s->p.n > t->most || (t->slow && (s->p.n >> NTT_SLOW_LOG2 > 1 || (turn + i) % every)))
            continue;
        run_on_host(t, s);
        if (s->p.n && (!t->slow || turn / every % 2))
            run_in_a_buffer(t, s);
    }
}

/* ---- what is tried ---- */

static int is_prime_field(gx_field field)
{
    return gx_field_get_info(field)->modulus != NULL;
}

static void fill_operands(struct shape *s, unsigned which)
{
    size_t element = gxt_element(s->p.field);
    int one = s->p.op == GX_POWERS || s->p.op == GX_COSETS;
    s->a_count = s->p.op == GX_GATHER ? (size_t)s->p.count : one ? 1 : s->p.n;
    s->b_bytes = gx_op_get_info(s->p.op)->operands < 2 ? 0
                 : s->p.op == GX_GATHER                ? s->p.n * sizeof(uint32_t)
                                                       : element;
    if (s->p.op == GX_PREFIX_PRODUCT || one)
        oracle_fill_random(s->p.field, &rng, a, s->a_count);
    else
        oracle_fill(s->p.field, &rng, a, s->a_count);
    if (one && which % 3 == 1)
        oracle_edge(s->p.field, which / 3, a); /* 0 among them, and 1 in Montgomery form */
    if (s->p.op == GX_PREFIX_PRODUCT && which % 3 == 2 && s->p.n)
        memset(a + s->p.n / 2 * element, 0, element);
    oracle_fill_random(s->p.field, &rng, b, 1);
    if (which % 3 == 2)
        oracle_edge(s->p.field, which / 3, b);
    for (size_t i = 0; s->p.op == GX_GATHER && i < s->p.n; i++) {
        uint32_t index = (uint32_t)(oracle_random(&rng) % s->p.count);
        memcpy(b + i * sizeof index, &index, sizeof index);
    }
}

/* The least one that is not below `from`, or n. */
static size_t divisor(size_t n, size_t from)
{
    while (from < n && n % from)
        from++;
    return from < n ? from : n;
}

static int power_of_two(size_t n)
{
    return n && !(n & (n - 1));
}

/* The `which`th set of parameters for the operation; 0: there are no more. */
static int parameters(struct shape *s, unsigned which)
{
    size_t n = s->p.n;
    const uint64_t turns[CASES] = {0, 1, n - 1, n, 3 * (uint64_t)n + 2, UINT64_MAX};
    const uint64_t sources[CASES] = {n, 1, 2 * n + 1, n / 2 + 1};
    const uint64_t parts[CASES] = {1, n, divisor(n, 2), divisor(n, n / 3 + 1)};
    s->p.count = 0;
    s->p.flags = 0;
    switch (s->p.op) {
    case GX_EVALUATE:
        s->p.flags = which % 2 && power_of_two(n) ? GX_POLY_REVERSED : 0;
        return which < 4;
    case GX_BIT_REVERSE:
        return which == 0 && power_of_two(n);
    case GX_ROTATE:
        s->p.count = turns[which];
        return 1;
    case GX_GATHER:
        s->p.count = sources[which];
        return which < 4;
    case GX_COSETS:
    case GX_INTERLEAVE:
    case GX_DEINTERLEAVE:
        s->p.count = parts[which];
        return which < 4;
    default:
        return which < 3;
    }
}

static void sizes_of(gx_op op, gx_field field, const size_t *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct shape s = {.p = {.op = op, .field = field, .n = sizes[i]}};
        if (s.p.n > largest)
            continue;
        for (unsigned which = 0; which < CASES; which++) {
            if (!parameters(&s, which) || (s.p.n > 5000 && which % 3 != i % 3))
                continue;
            fill_operands(&s, which + (unsigned)i);
            on_every_target(&s);
        }
    }
}

static void in_every_field(const size_t *sizes, size_t count)
{
    for (gx_op op = GX_PREFIX_SUM; op <= GX_DEINTERLEAVE; op++)
        for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++)
            if (gx_op_exists(op, gxt_fields[f]))
                sizes_of(op, gxt_fields[f], sizes, count);
}

static void small_sizes(void **state)
{
    (void)state;
    static const size_t sizes[] = {1,  2,  3,  4,  5,   7,   8,   16,  31,  32,
                                   33, 63, 64, 65, 127, 128, 255, 256, 257, 512};
    in_every_field(sizes, GXT_COUNT(sizes));
}

static void larger_sizes(void **state)
{
    (void)state;
    static const size_t sizes[] = {1000,  1024,  1025,  4096,   4097,
                                   16384, 40009, 65537, 131071, (size_t)1 << 18};
    in_every_field(sizes, GXT_COUNT(sizes));
}

/* Nothing to do is no error. */
static void no_elements(void **state)
{
    (void)state;
    static const gx_op ops[] = {GX_PREFIX_SUM, GX_PREFIX_PRODUCT, GX_POWERS, GX_DIVIDE_LINEAR};
    for (size_t o = 0; o < GXT_COUNT(ops); o++) {
        struct shape s = {.p = {.op = ops[o], .field = GX_BN254_FR}};
        fill_operands(&s, 0);
        on_every_target(&s);
    }
}

/* They exist for both fields of transforms, and for no numbers that are not a field. */
static void where_they_exist(void **state)
{
    (void)state;
    for (gx_op op = GX_NTT; op <= GX_DEINTERLEAVE; op++)
        for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
            gx_field field = gxt_fields[f];
            if (field == GX_BLS12_381_FR || field == GX_BN254_FR)
                assert_true(gx_op_exists(op, field));
            if (!is_prime_field(field))
                assert_false(gx_op_exists(op, field));
        }
    assert_false(gx_op_exists(GX_NTT, GX_BLS12_381_FQ));
}

int main(int argc, char **argv)
{
    choose_targets(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_they_exist),  cmocka_unit_test(small_sizes),
        cmocka_unit_test(larger_sizes),      cmocka_unit_test(no_elements),
        cmocka_unit_test(ntt_close_targets),
    };
    return cmocka_run_group_tests_name("polynomials", tests, open_all, free_all);
}
