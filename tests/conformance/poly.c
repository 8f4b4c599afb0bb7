/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations on polynomials by their results alone, on every device there is, against GMP:
 * sizes around the runs, blocks and workgroups that implementations work in, several levels of
 * carries, edges, every way to divide n, operands in host memory at odd addresses and in buffers;
 * which bad element or index is told; that a wrong result is caught. Beyond the results: inputs and
 * the bytes around the output stay as they were.
 *
 * usage: poly [webgpu]    the WebGPU devices alone, else all others
 */
#include <stdio.h>

#include "conformance/targets.h"
#include "support/oracle.h"

enum { MARGIN = 64, GUARD = 0x5c, ELEMENT_MAX = 48, SLOW_MOST = 20011, LARGEST = 70001 };

struct shape {
    gx_op op;
    gx_field field;
    size_t n;
    uint64_t count;
    uint32_t flags; /* GX_POLY_* */
};

static struct oracle_rng rng = {4242};
static unsigned char *a, *b, *want;                /* operands and result as they are to be */
static unsigned char *room_a, *room_b, *room_want; /* and where they lie for the job */
static mpz_t p, inverse_r, x, y, z;
static mpz_t *plain; /* the elements of a, as integers */

/* ---- targets ---- */

static void add_slow(const char *device, const char *path, uint64_t elems, size_t most)
{
    add_target(device, NULL, path, elems, most)->slow = 1;
}

static int open_targets(void **state)
{
    (void)state;
    const char *names[GXT_WEBGPU];
    size_t count = webgpu_alone ? gxt_webgpu(names) : 0;
    gxt_clear_environment();
    for (size_t i = 0; i < count; i++)
        add_slow(names[i], NULL, 0, SLOW_MOST);
    int all = !webgpu_alone && !cuda_alone;
    if (cuda_alone)
        assert_non_null(gxt_cuda());
    for (uint32_t i = 0; gx_tier_name(i) && all; i++)
        add_target("cpu", gx_tier_name(i), NULL, 0, LARGEST);
    if (all) {
        add_target("cpu", NULL, NULL, 7, LARGEST); /* which does not split these */
        add_slow("ref", NULL, 0, 300);
    }
    if (all && gxt_vulkan()) {
        add_slow(gxt_vulkan(), "host-visible", 0, LARGEST);
        add_slow(gxt_vulkan(), "device-local", 0, SLOW_MOST);
    }
    if (!webgpu_alone && gxt_cuda()) {
        if (!gxt_cuda_emulated())
            add_slow(gxt_cuda(), "host-visible", 0, LARGEST);
        add_slow(gxt_cuda(), "device-local", 0, gxt_cuda_emulated() ? 4097 : SLOW_MOST);
    }
    unsigned char **const memory[] = {&a, &b, &want, &room_a, &room_b, &room_want};
    for (size_t i = 0; i < GXT_COUNT(memory); i++)
        *memory[i] = gxt_alloc((size_t)2 * LARGEST * ELEMENT_MAX + 3 * MARGIN);
    plain = gxt_alloc((size_t)2 * LARGEST * sizeof *plain);
    for (size_t i = 0; i < (size_t)2 * LARGEST; i++)
        mpz_init(plain[i]);
    mpz_inits(p, inverse_r, x, y, z, NULL);
    return 0;
}

static int free_data(void **state)
{
    (void)state;
    unsigned char *const memory[] = {a, b, want, room_a, room_b, room_want};
    for (size_t i = 0; i < GXT_COUNT(memory); i++)
        free(memory[i]);
    for (size_t i = 0; i < (size_t)2 * LARGEST; i++)
        mpz_clear(plain[i]);
    free(plain);
    mpz_clears(p, inverse_r, x, y, z, NULL);
    return 0;
}

/* ---- expected results ---- */

static size_t limbs_of(gx_field field)
{
    return gxt_element(field) / 8;
}

static void load(mpz_t to, gx_field field, const unsigned char *elements, size_t i)
{
    oracle_import(to, elements + i * gxt_element(field), limbs_of(field));
    mpz_mul(to, to, inverse_r);
    mpz_mod(to, to, p);
}

static void store(gx_field field, size_t i, mpz_t from)
{
    mpz_t t;
    mpz_init(t);
    mpz_mul_2exp(t, from, 64 * (mp_bitcnt_t)limbs_of(field));
    mpz_mod(t, t, p);
    oracle_export(want + i * gxt_element(field), limbs_of(field), t);
    mpz_clear(t);
}

static size_t reversed(size_t i, size_t n)
{
    size_t r = 0;
    for (size_t bit = 1; bit < n; bit *= 2, i /= 2)
        r = r * 2 + i % 2;
    return r;
}

static size_t length_a(const struct shape *s)
{
    return s->op == GX_POWERS || s->op == GX_COSETS ? 1 : s->op == GX_GATHER ? s->count : s->n;
}

static size_t bytes_b(const struct shape *s)
{
    return s->op == GX_GATHER                    ? s->n * 4
           : gx_op_get_info(s->op)->operands > 1 ? gxt_element(s->field)
                                                 : 0;
}

static size_t results(const struct shape *s)
{
    return s->op == GX_EVALUATE ? 1 : s->n;
}

static size_t source(const struct shape *s, size_t i)
{
    size_t count = s->count, each = count ? s->n / count : 0;
    uint32_t index = 0;
    switch (s->op) {
    case GX_BIT_REVERSE:
        return reversed(i, s->n);
    case GX_GATHER:
        memcpy(&index, b + i * 4, 4);
        return index;
    case GX_ROTATE:
        return (i + count % s->n) % s->n;
    case GX_INTERLEAVE:
        return i % count * each + i / count;
    default:
        return i % each * count + i / each;
    }
}

static void expect_scan(const struct shape *s)
{
    mpz_set_ui(x, s->op == GX_PREFIX_PRODUCT);
    for (size_t i = 0; i < s->n; i++) {
        if (s->op == GX_PREFIX_PRODUCT)
            mpz_mul(x, x, plain[i]);
        else
            mpz_add(x, x, plain[i]);
        mpz_mod(x, x, p);
        store(s->field, i, x);
    }
}

static void expect_powers(const struct shape *s)
{
    size_t each = s->op == GX_COSETS ? s->count : s->n;
    mpz_set_ui(y, 1);
    for (size_t i = 0; i < s->n; i++) {
        if (i % each == 0)
            mpz_set(x, y);
        store(s->field, i, x);
        mpz_mul(x, x, plain[0]);
        mpz_mod(x, x, p);
        if (i % each < each - 1 || s->op == GX_POWERS)
            continue;
        mpz_mul(y, y, z);
        mpz_mod(y, y, p);
    }
}

static void expect_horner(const struct shape *s)
{
    mpz_set_ui(x, 0);
    for (size_t i = s->n; i-- > 0;) {
        if (s->op == GX_DIVIDE_LINEAR)
            store(s->field, i, x);
        mpz_mul(x, x, z);
        mpz_add(x, x, plain[s->flags ? reversed(i, s->n) : i]);
        mpz_mod(x, x, p);
    }
    if (s->op == GX_EVALUATE)
        store(s->field, 0, x);
}

static void expect(const struct shape *s)
{
    size_t element = gxt_element(s->field);
    oracle_modulus(p, s->field);
    mpz_set_ui(inverse_r, 1);
    mpz_mul_2exp(inverse_r, inverse_r, 64 * (mp_bitcnt_t)limbs_of(s->field));
    mpz_invert(inverse_r, inverse_r, p);
    for (size_t i = 0; i < length_a(s) && s->op < GX_BIT_REVERSE; i++)
        load(plain[i], s->field, a, i);
    if (bytes_b(s) && s->op != GX_GATHER)
        load(z, s->field, b, 0);
    switch (s->op) {
    case GX_PREFIX_SUM:
    case GX_PREFIX_PRODUCT:
        expect_scan(s);
        break;
    case GX_POWERS:
    case GX_COSETS:
        expect_powers(s);
        break;
    case GX_EVALUATE:
    case GX_DIVIDE_LINEAR:
        expect_horner(s);
        break;
    default:
        for (size_t i = 0; i < s->n; i++)
            memcpy(want + i * element, a + source(s, i) * element, element);
        break;
    }
}

/* ---- one job ---- */

static gx_poly_params params; /* of the job */

static void tell(const struct target *t, const struct shape *s, const char *what)
{
    tell_target(t, what);
    print_error("%s %s, n %zu, count %llu, flags %u\n", gx_op_get_info(s->op)->name,
                gx_field_get_info(s->field)->name, s->n, (unsigned long long)s->count, s->flags);
}

static int has_params(gx_op op)
{
    return op >= GX_GATHER || op == GX_COSETS || op == GX_EVALUATE;
}

/* Operands and result at odd addresses that change from size to size. */
static gx_job lay_job(const struct shape *s)
{
    unsigned char *in_a = room_a + s->n % 17, *in_b = room_b + (s->n * 5 + 3) % 23;
    memcpy(in_a, a, length_a(s) * gxt_element(s->field));
    memcpy(in_b, b, bytes_b(s));
    memset(room_want, GUARD, results(s) * gxt_element(s->field) + (size_t)3 * MARGIN);
    gx_job job = gxt_job(s->op, s->field, s->n, in_a, in_b, NULL, room_want + MARGIN + s->n % 19);
    params = (gx_poly_params){.struct_size = sizeof params, .count = s->count, .flags = s->flags};
    job.params = has_params(s->op) ? &params : NULL;
    return job;
}

/* Inputs and what is around the result. */
static void check_rest(const struct target *t, const struct shape *s, const gx_job *job)
{
    size_t bytes = results(s) * gxt_element(s->field);
    const unsigned char *out = job->out.host, *end = room_want + bytes + (size_t)3 * MARGIN;
    if (memcmp(job->a.host, a, length_a(s) * gxt_element(s->field)) ||
        (bytes_b(s) && memcmp(job->b.host, b, bytes_b(s)))) {
        tell(t, s, "an input was written");
        fail();
    }
    for (const unsigned char *at = room_want; at < end; at++) {
        if ((at >= out && at < out + bytes) || *at == GUARD)
            continue;
        tell(t, s, "a byte beside the result was written");
        fail();
    }
}

static void check_results(const struct target *t, const struct shape *s, const unsigned char *got)
{
    size_t element = gxt_element(s->field);
    for (size_t i = 0; i < results(s); i++) {
        if (!memcmp(got + i * element, want + i * element, element))
            continue;
        tell(t, s, "wrong result");
        print_error("  element %zu\n", i);
        print_element("got ", got + i * element, element);
        print_element("want", want + i * element, element);
        fail();
    }
}

static void run_shape(const struct target *t, const struct shape *s, uint32_t job_flags)
{
    gx_job job = lay_job(s);
    gx_report r = gxt_report();
    job.flags = job_flags;
    gx_status status = gxt_run(t->ctx, &job, t->device, &r);
    if (status != GX_OK) {
        tell(t, s, r.message);
        assert_int_equal(status, GX_OK);
    }
    check_results(t, s, job.out.host);
    check_rest(t, s, &job);
    assert_string_equal(r.device, t->device);
}

/* turn: which of the jobs that differ little it is; slow devices do some of them. */
static void on_every_target(const struct shape *s, size_t turn)
{
    expect(s);
    for (size_t i = 0; i < target_count; i++)
        if (s->n <= targets[i].most && (!targets[i].slow || turn % (gxt_small() ? 6 : 2) == 0))
            run_shape(&targets[i], s, (s->n + i) % 3 ? 0 : GX_JOB_UNCHECKED);
}

/* ---- sizes ---- */

static void fill_indices(const struct shape *s)
{
    for (size_t i = 0; i < s->n; i++) {
        uint32_t index = (uint32_t)(oracle_random(&rng) % s->count);
        memcpy(b + i * 4, &index, 4);
    }
}

static const gx_op ops[] = {GX_PREFIX_SUM, GX_PREFIX_PRODUCT, GX_POWERS,     GX_COSETS,
                            GX_EVALUATE,   GX_DIVIDE_LINEAR,  GX_GATHER,     GX_ROTATE,
                            GX_INTERLEAVE, GX_DEINTERLEAVE,   GX_BIT_REVERSE};

/* The smallest divisor of n from `least` on. */
static size_t divisor(size_t n, size_t least)
{
    while (n % least)
        least++;
    return least;
}

/* All that the operation can be asked for at this size. */
static void every_count(struct shape s, size_t turn)
{
    const uint64_t divisors[] = {1, divisor(s.n, s.n > 1 ? 2 : 1), divisor(s.n, s.n / 3 + 1), s.n};
    const uint64_t turns[] = {0, 1, s.n - 1, 3 * s.n + 5, UINT64_MAX};
    const uint64_t lengths[] = {1, s.n / 3 + 1, s.n + 77};
    const uint64_t none[] = {0};
    const uint64_t *counts = none;
    size_t count = 1;
    if (s.op == GX_COSETS || s.op == GX_INTERLEAVE || s.op == GX_DEINTERLEAVE)
        counts = divisors, count = GXT_COUNT(divisors);
    else if (s.op == GX_ROTATE)
        counts = turns, count = GXT_COUNT(turns);
    else if (s.op == GX_GATHER)
        counts = lengths, count = GXT_COUNT(lengths);
    for (size_t i = 0; i < count; i++) {
        if (count > 1 && s.n > 300 && (i + turn) % 2)
            continue;
        s.count = counts[i];
        if (s.op == GX_GATHER)
            fill_indices(&s);
        on_every_target(&s, turn + i);
    }
}

static void every_size(void **state)
{
    (void)state;
    static const size_t sizes[] = {
        1,    2,    3,    4,    7,    8,    15,    16,    17,        31,    32,     33,   63,
        64,   65,   128,  255,  256,  257,  511,   1000,  1024,      1025,  2048,   2049, 4031,
        4032, 4033, 4096, 4097, 8192, 9973, 16384, 20000, SLOW_MOST, 65536, LARGEST};
    for (size_t i = 0; i < GXT_COUNT(sizes); i++) {
        for (size_t o = 0; o < GXT_COUNT(ops); o++) {
            struct shape s = {.op = ops[o], .field = gxt_fields[(i + o) % 4], .n = sizes[i]};
            int power = !(s.n & (s.n - 1));
            if (gxt_small() && s.n > 5000)
                continue;
            oracle_fill_random(s.field, &rng, a, s.n + 77);
            oracle_fill_random(s.field, &rng, b, 1);
            if (s.op != GX_BIT_REVERSE || power)
                every_count(s, i + o / 4);
            if (s.op == GX_EVALUATE && power) {
                s.flags = GX_POLY_REVERSED;
                every_count(s, i);
            }
        }
    }
}

/* ---- values ---- */

/* The largest elements, which make every possible carry, and points with special powers. */
static void edges(void **state)
{
    (void)state;
    static const size_t sizes[] = {65, 4033};
    for (size_t f = 0; f < 4; f++) {
        size_t element = gxt_element(gxt_fields[f]);
        for (size_t o = 0; o < 6; o++) {
            for (size_t e = 0; e < 2 * oracle_edges(gxt_fields[f]); e += gxt_small() ? 5 : 1) {
                struct shape s = {.op = ops[o], .field = gxt_fields[f], .n = sizes[e % 2]};
                s.count = s.op == GX_COSETS ? divisor(s.n, 5) : 0;
                for (size_t i = 0; i < s.n; i++)
                    oracle_edge(s.field, e / 2 + (o % 2) * i, a + i * element);
                oracle_edge(s.field, e / 2 + e % 5, b);
                on_every_target(&s, e);
            }
        }
    }
}

/* A product is 0 from the first 0 on. */
static void zeros_in_products(void **state)
{
    (void)state;
    struct shape s = {.op = GX_PREFIX_PRODUCT, .field = GX_BN254_FR, .n = 9973};
    oracle_fill_random(s.field, &rng, a, s.n);
    memset(a + (size_t)5000 * 32, 0, 32);
    on_every_target(&s, 0);
}

/* ---- buffers ---- */

/* The b of gather begins at any multiple of 4. */
static void run_in_buffers(const struct target *t, const struct shape *s)
{
    gx_buf *buf = NULL;
    size_t element = gxt_element(s->field), in = length_a(s) * element;
    size_t at_a = 16, at_b = (at_a + in + 255) / 256 * 256 + (s->op == GX_GATHER ? 4 : 48);
    size_t at_out = (at_b + bytes_b(s) + 255) / 256 * 256 + 32, out = results(s) * element;
    expect(s);
    assert_int_equal(gx_buf_create(t->ctx, t->device, at_out + out + 64, 0, &buf), GX_OK);
    memset(room_want, GUARD, out + 64);
    gx_buf_write(buf, at_a, a, in);
    gx_buf_write(buf, at_b, b, bytes_b(s));
    gx_buf_write(buf, at_out, room_want, out + 64);
    gx_job job = lay_job(s);
    gx_report r = gxt_report();
    job.a = gx_dev(buf, at_a);
    if (bytes_b(s))
        job.b = gx_dev(buf, at_b);
    job.out = gx_dev(buf, at_out);
    gx_status status = gxt_run(t->ctx, &job, t->device, &r);
    if (status != GX_OK) {
        tell(t, s, r.message);
        assert_int_equal(status, GX_OK);
    }
    gx_buf_read(buf, at_out, room_want, out + 64);
    check_results(t, s, room_want);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(room_want[out + i], GUARD);
    if (s->op == GX_GATHER) { /* told from buffers too */
        uint32_t beyond = (uint32_t)s->count;
        gx_buf_write(buf, at_b + 4 * (s->n - 1), &beyond, 4);
        assert_int_equal(gxt_run(t->ctx, &job, t->device, &r), GX_ERR_INVALID);
        assert_int_equal(r.bad_index, s->n - 1);
        assert_int_equal(r.bad_operand, 'b');
    }
    gx_buf_destroy(&buf);
}

static void operands_in_buffers(void **state)
{
    (void)state;
    for (size_t i = 0; i < target_count; i++) {
        if (targets[i].elems)
            continue;
        for (size_t o = 0; o < GXT_COUNT(ops); o++) {
            struct shape s = {.op = ops[o], .field = gxt_fields[o % 4], .n = 256, .count = 16};
            s.count = has_params(s.op) && s.op != GX_EVALUATE ? s.count : 0;
            oracle_fill_random(s.field, &rng, a, s.n);
            oracle_fill_random(s.field, &rng, b, 1);
            if (s.op == GX_GATHER)
                fill_indices(&s);
            run_in_buffers(&targets[i], &s);
        }
    }
}

/* ---- what is refused ---- */

static void expect_bad(const struct target *t, const struct shape *s, size_t index, char operand)
{
    gx_job job = lay_job(s);
    gx_report r = gxt_report();
    gx_status status = gxt_run(t->ctx, &job, t->device, &r);
    gx_status right = s->op == GX_GATHER && operand == 'b' ? GX_ERR_INVALID : GX_ERR_NOT_CANONICAL;
    if (status != right || r.bad_index != index || r.bad_operand != (unsigned char)operand) {
        tell(t, s, "another bad element, or none");
        print_error("%s: %llu of '%c', want %zu of '%c'\n", gx_status_name(status),
                    (unsigned long long)r.bad_index, r.bad_operand ? r.bad_operand : '?', index,
                    operand);
        fail();
    }
    assert_true(r.message[0]);
    check_rest(t, s, &job);
    job = lay_job(s);
    job.flags = GX_JOB_UNCHECKED; /* any result is allowed, but no error */
    assert_int_equal(gxt_run(t->ctx, &job, t->device, NULL), GX_OK);
    check_rest(t, s, &job);
}

static void put_bad(const struct shape *s, char operand, size_t index)
{
    uint32_t beyond = (uint32_t)(s->count + index % 2 * 0x80000000u);
    if (operand == 'a')
        oracle_bad(s->field, index, a + index * gxt_element(s->field));
    else if (s->op == GX_GATHER)
        memcpy(b + index * 4, &beyond, 4);
    else
        oracle_bad(s->field, index, b);
}

/* One bad element at each of some places, and a later one. */
static void bad_in(const struct target *t, const struct shape *s, char operand)
{
    size_t length = operand == 'a' ? length_a(s) : s->op == GX_GATHER ? s->n : 1;
    const size_t at[] = {0, length - 1, length / 2};
    for (size_t i = 0; i < (length > 1 ? GXT_COUNT(at) : 1); i++) {
        oracle_fill_random(s->field, &rng, a, length_a(s));
        oracle_fill_random(s->field, &rng, b, 1);
        if (s->op == GX_GATHER)
            fill_indices(s);
        if (length - at[i] > 2)
            put_bad(s, operand, at[i] + 1);
        put_bad(s, operand, at[i]);
        expect_bad(t, s, at[i], operand);
    }
}

static void bad_elements(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 64, 4096, 65536};
    for (size_t i = 0; i < target_count; i++) {
        size_t most = gxt_small() && targets[i].most > 4096 ? 4096 : targets[i].most;
        for (size_t o = 0; o < GXT_COUNT(ops); o++) {
            for (size_t k = 0; k < GXT_COUNT(sizes) && sizes[k] <= most; k++) {
                struct shape s = {.op = ops[o], .field = gxt_fields[(i + o) % 4], .n = sizes[k]};
                if (targets[i].slow && (o + k) % 2)
                    continue;
                s.count = s.op == GX_GATHER            ? s.n / 2 + 9
                          : has_params(s.op) && o != 4 ? divisor(s.n, 1)
                                                       : 0;
                bad_in(&targets[i], &s, 'a');
                if (gx_op_get_info(s.op)->operands > 1)
                    bad_in(&targets[i], &s, 'b');
            }
        }
    }
}

/* A job that cannot be split must fit into what a kernel sees. */
static void too_large_for_a_binding(void **state)
{
    (void)state;
    for (size_t i = 0; i < target_count; i++) {
        struct target *t = &targets[i];
        gx_report r = gxt_report();
        /* more bytes than words that a shader can count; refused before any memory is touched */
        size_t n = ((size_t)1 << 33) / 32 + 1;
        unsigned char *low = a < want ? a : want, *high = a < want ? want : a;
        gx_job job = gxt_job(GX_POWERS, GX_BN254_FR, n, low, NULL, NULL, high);
        if (!t->slow || !strcmp(t->device, "ref"))
            continue;
        gx_status status = gxt_run(t->ctx, &job, t->device, &r);
        if (status != GX_ERR_UNSUPPORTED)
            fail_msg("%s: %s: %s", t->device, gx_status_name(status), r.message);
        assert_non_null(strstr(r.message, "whole"));
    }
}

/* ---- wrong results ---- */

/* With sample_every 1 a device that changes one bit of its results is found out. */
static void lies_are_caught(void **state)
{
    (void)state;
    const char *devices[] = {"fault:corrupt@1:cpu", "fault:corrupt@1:sim:desktop", NULL};
    char name[96];
    if (webgpu_alone || cuda_alone)
        skip();
    gxt_enter_machines();
    if (gxt_vulkan()) {
        snprintf(name, sizeof name, "fault:corrupt@1:%s", gxt_vulkan());
        devices[2] = name;
    }
    for (size_t d = 0; d < GXT_COUNT(devices) && devices[d]; d++) {
        for (size_t o = 0; o < GXT_COUNT(ops); o++) {
            struct shape s = {.op = ops[o], .field = GX_BN254_FR, .n = 64, .count = 8};
            s.count = has_params(s.op) && s.op != GX_EVALUATE ? s.count : 0;
            oracle_fill_random(s.field, &rng, a, s.n);
            oracle_fill_random(s.field, &rng, b, 1);
            if (s.op == GX_GATHER)
                fill_indices(&s);
            gx_config config = {.device = devices[d], .sample_every = 1};
            gx_ctx *ctx = gxt_open(&config);
            gx_job job = lay_job(&s);
            gx_report r = gxt_report();
            gx_status status = gxt_run(ctx, &job, NULL, &r);
            if (status != GX_ERR_DEVICE)
                fail_msg("%s, %s: %s: %s", devices[d], gx_op_get_info(s.op)->name,
                         gx_status_name(status), r.message);
            gx_close(&ctx);
        }
    }
}

int main(int argc, char **argv)
{
    choose_targets(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size),        cmocka_unit_test(edges),
        cmocka_unit_test(zeros_in_products), cmocka_unit_test(operands_in_buffers),
        cmocka_unit_test(bad_elements),      cmocka_unit_test(too_large_for_a_binding),
        cmocka_unit_test(lies_are_caught),   cmocka_unit_test(no_driver_complained),
    };
    return cmocka_run_group_tests_name("poly", tests, open_targets, free_data);
}
