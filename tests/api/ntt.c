/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms among the other jobs of a program, on every device: in buffers, in chains of jobs of
 * one call in every mode, in tickets, chosen and shared out by the router, from several threads
 * that share one domain. What single transforms compute is in conformance/ntt.c.
 */
#include <pthread.h>
#include <stdio.h>

#include "api/counters.h"
#include "support/harness.h"
#include "support/oracle_ntt.h"

enum { ELEMENT = 32, DEVICES_MAX = 8, DOMAIN_LOG2 = 13, MOST = 1 << 15, GUARD = 0x5c };

static const gx_field field = GX_BN254_FR;

static const char *devices[DEVICES_MAX];
static gx_ctx *contexts[DEVICES_MAX];
static gx_domain *domains[DEVICES_MAX];
static size_t device_count;
static struct oracle_rng rng = {1234};
static unsigned char *in, *got, *want;

static gx_domain *make_domain(gx_ctx *ctx)
{
    gx_domain_params desc = {.struct_size = sizeof desc, .field = field, .log2_size = DOMAIN_LOG2};
    gx_domain *domain = NULL;
    assert_int_equal(gx_domain_create(ctx, &desc, &domain), GX_OK);
    return domain;
}

static int prepare(void **state)
{
    (void)state;
    gxt_clear_environment();
    gxt_enter_machines();
    if (!gxt_one_gpu()) {
        devices[device_count++] = "cpu";
        devices[device_count++] = "ref";
        devices[device_count++] = "sim:desktop";
    }
    device_count += gxt_gpus(devices + device_count);
    for (size_t d = 0; d < device_count; d++) {
        gx_config config = {0};
        gxt_watch(&config);
        contexts[d] = gxt_open(&config);
        domains[d] = make_domain(contexts[d]);
    }
    in = gxt_alloc(MOST * ELEMENT);
    got = gxt_alloc(MOST * ELEMENT);
    want = gxt_alloc(MOST * ELEMENT);
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

static void expect_bytes(const unsigned char *result, size_t bytes, const char *device,
                         const char *what)
{
    for (size_t i = 0; i < bytes; i++)
        if (result[i] != want[i])
            fail_msg("%s on %s: element %zu is wrong", what, device, i / ELEMENT);
}

static gx_ntt_params params_of(const gx_domain *domain, const struct oracle_ntt *t)
{
    return (gx_ntt_params){.struct_size = sizeof(gx_ntt_params),
                           .domain = domain,
                           .log2_n = t->log2_n,
                           .log2_pad = t->log2_pad,
                           .flags = t->flags};
}

static gx_job job_of(const struct oracle_ntt *t, const gx_ntt_params *params, const void *a,
                     void *out)
{
    gx_job job = gxt_job(GX_NTT, field, oracle_ntt_out(t), a, NULL, NULL, out);
    job.params = params;
    return job;
}

static void run_on(gx_ctx *ctx, const gx_job *jobs, size_t count, const char *device, gx_mode mode)
{
    gx_run_params opts = {.struct_size = sizeof opts, .device = device, .mode = mode};
    if (gx_run(ctx, jobs, count, &opts, NULL) != GX_OK)
        fail_msg("%s: %s", device ? device : "chosen", gx_last_message());
}

/* ---- buffers ---- */

static const struct oracle_ntt shapes[] = {
    {.log2_n = 0, .batch = 1},
    {.log2_n = 8, .batch = 1},
    {.log2_n = 6, .batch = 5, .flags = GX_NTT_INVERSE | GX_NTT_COSET},
    {.log2_n = 9, .batch = 2, .flags = GX_NTT_REVERSED_OUT, .log2_pad = 2},
    {.log2_n = 5, .batch = 7, .flags = GX_NTT_COLUMNS | GX_NTT_REVERSED_IN},
    {.log2_n = 4, .batch = 9, .flags = GX_NTT_COLUMNS | GX_NTT_COSET, .log2_pad = 1},
    {.log2_n = 9, .batch = 1, .flags = GX_NTT_REVERSED_IN | GX_NTT_REVERSED_OUT | GX_NTT_INVERSE},
};

struct place { /* what a buffer holds: operand and result, and 48 bytes around each */
    gx_buf *buf;
    size_t a, out, bytes;
};

static void place_make(struct place *p, gx_ctx *ctx, const char *device, size_t a, size_t out)
{
    p->a = 48;
    p->out = p->a + a + 48;
    p->bytes = p->out + out + 48;
    assert_int_equal(gx_buf_create(ctx, device, p->bytes, 0, &p->buf), GX_OK);
    memset(got, GUARD, p->bytes);
    memcpy(got + p->a, in, a);
    assert_int_equal(gx_buf_write(p->buf, 0, got, p->bytes), GX_OK);
}

/* The operand in the buffer or not, the result in the buffer or not, or in the operand's place. */
static void shape_in_buffers(gx_ctx *ctx, const gx_domain *domain, const char *device,
                             struct oracle_ntt t, int a_in, int out_in, int in_place)
{
    size_t a = oracle_ntt_in(&t) * ELEMENT, out = oracle_ntt_out(&t) * ELEMENT;
    struct place p;
    gx_ntt_params params = params_of(domain, &t);
    place_make(&p, ctx, device, a, out);
    gx_job job = job_of(&t, &params, in, got);
    if (a_in)
        job.a = gx_dev(p.buf, p.a);
    if (out_in)
        job.out = gx_dev(p.buf, in_place ? p.a : p.out);
    run_on(ctx, &job, 1, device, GX_MODE_AUTO);
    if (!out_in) {
        expect_bytes(got, out, device, "from a buffer");
    } else {
        size_t at = in_place ? p.a : p.out;
        assert_int_equal(gx_buf_read(p.buf, 0, got, p.bytes), GX_OK);
        expect_bytes(got + at, out, device, in_place ? "in place" : "to a buffer");
        for (size_t i = 0; i < 48; i++)
            assert_true(got[at - 1 - i] == GUARD && got[at + out + i] == GUARD);
        if (!in_place)
            assert_memory_equal(got + p.a, in, a);
    }
    gx_buf_destroy(&p.buf);
}

static void in_buffers(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = contexts[d];
        const gx_domain *domain = domains[d];
        for (size_t i = 0; i < GXT_COUNT(shapes); i++) {
            struct oracle_ntt t = shapes[i];
            t.field = field;
            oracle_fill(field, &rng, in, oracle_ntt_in(&t));
            oracle_ntt(&t, want, in);
            shape_in_buffers(ctx, domain, devices[d], t, 1, 1, 0);
            shape_in_buffers(ctx, domain, devices[d], t, 1, 0, 0);
            shape_in_buffers(ctx, domain, devices[d], t, 0, 1, 0);
            if (!t.log2_pad)
                shape_in_buffers(ctx, domain, devices[d], t, 1, 1, 1);
        }
    }
}

/* Half of a buffer is transformed into the other half; halves that overlap are refused. */
static void halves_of_a_buffer(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = contexts[d];
        const gx_domain *domain = domains[d];
        struct oracle_ntt t = {.field = field, .log2_n = 7, .batch = 1};
        size_t bytes = ELEMENT << t.log2_n;
        gx_ntt_params params = params_of(domain, &t);
        gx_buf *buf = NULL;
        gx_job job = job_of(&t, &params, in, got);
        oracle_fill(field, &rng, in, (size_t)1 << t.log2_n);
        oracle_ntt(&t, want, in);
        assert_int_equal(gx_buf_create(ctx, devices[d], 2 * bytes, 0, &buf), GX_OK);
        assert_int_equal(gx_buf_write(buf, bytes, in, bytes), GX_OK);
        job.a = gx_dev(buf, bytes);
        job.out = gx_dev(buf, 0);
        run_on(ctx, &job, 1, devices[d], GX_MODE_AUTO);
        assert_int_equal(gx_buf_read(buf, 0, got, bytes), GX_OK);
        expect_bytes(got, bytes, devices[d], "a half");
        job.out = gx_dev(buf, bytes - ELEMENT);
        assert_int_equal(gxt_run(ctx, &job, devices[d], NULL), GX_ERR_OVERLAP);
        job.out = gx_dev(buf, bytes + ELEMENT);
        assert_int_equal(gxt_run(ctx, &job, devices[d], NULL), GX_ERR_INVALID); /* too long */
        assert_int_equal(gx_buf_read(buf, 0, got, bytes), GX_OK);
        expect_bytes(got, bytes, devices[d], "as it was");
        gx_buf_destroy(&buf);
    }
}

/* ---- chains ---- */

enum { PRODUCT_LOG2 = 9, HALF = 1 << (PRODUCT_LOG2 - 1), WHOLE = 1 << PRODUCT_LOG2 };

/* want = the product of the polynomials in[0 .. HALF) and in[HALF .. WHOLE) */
static void expected_product(void)
{
    oracle_fill(field, &rng, in, WHOLE);
    memset(want, 0, WHOLE * ELEMENT);
    for (size_t i = 0; i < HALF; i += 1 + i / 16) { /* few coefficients are not 0 */
        for (size_t k = 0; k < HALF; k++) {
            unsigned char *at = want + (i + k) * ELEMENT;
            oracle_run(GX_MUL_ADD, field, 1, at, in + i * ELEMENT, in + (HALF + k) * ELEMENT, at,
                       0);
        }
        for (size_t zero = i + 1; zero < HALF && zero < i + 1 + i / 16; zero++)
            memset(in + zero * ELEMENT, 0, ELEMENT);
    }
}

/* Two padded transforms, a product, and back: four jobs that depend on each other. */
static void product_in_one_call(gx_ctx *ctx, const gx_domain *domain, const char *device,
                                gx_mode mode, int resident)
{
    struct oracle_ntt there = {.log2_n = PRODUCT_LOG2, .log2_pad = 1, .batch = 1};
    struct oracle_ntt back = {.log2_n = PRODUCT_LOG2, .batch = 1};
    size_t bytes = WHOLE * ELEMENT;
    gx_buf *buf[2] = {NULL, NULL};
    there.flags = GX_NTT_REVERSED_OUT;
    back.flags = GX_NTT_INVERSE | GX_NTT_REVERSED_IN;
    const gx_ntt_params params[] = {params_of(domain, &there), params_of(domain, &back)};
    unsigned char *x = got, *y = got + bytes;
    gx_job jobs[] = {job_of(&there, &params[0], in, x),
                     job_of(&there, &params[0], in + HALF * ELEMENT, y),
                     gxt_job(GX_MUL, field, WHOLE, x, y, NULL, x), job_of(&back, &params[1], x, x)};
    for (int i = 0; resident && i < 2; i++)
        assert_int_equal(gx_buf_create(ctx, device, bytes, 0, &buf[i]), GX_OK);
    if (resident) {
        jobs[0].out = jobs[2].a = jobs[2].out = jobs[3].a = jobs[3].out = gx_dev(buf[0], 0);
        jobs[1].out = jobs[2].b = gx_dev(buf[1], 0);
    }
    run_on(ctx, jobs, GXT_COUNT(jobs), device, mode);
    if (resident)
        assert_int_equal(gx_buf_read(buf[0], 0, x, bytes), GX_OK);
    expect_bytes(x, bytes, device, resident ? "product in buffers" : "product");
    gx_buf_destroy(&buf[0]);
    gx_buf_destroy(&buf[1]);
}

static void products_of_polynomials(void **state)
{
    (void)state;
    expected_product();
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = contexts[d];
        const gx_domain *domain = domains[d];
        for (gx_mode mode = GX_MODE_AUTO; mode <= GX_MODE_PIPELINED; mode++)
            for (int resident = 0; resident < 2; resident++)
                product_in_one_call(ctx, domain, devices[d], mode, resident);
    }
}

/* Transforms of all sizes and other jobs between them, in one call. */
enum { MANY = 30 };

static size_t lay_many(const gx_domain *domain, gx_ntt_params *params, gx_job *jobs,
                       unsigned char *out)
{
    size_t at = 0;
    for (size_t i = 0; i < MANY; i++) {
        struct oracle_ntt t = {.field = field, .log2_n = i % 8, .batch = 1 + i % 3};
        t.flags = (uint32_t)i % 32;
        size_t n = oracle_ntt_out(&t);
        unsigned char *a = in + at * ELEMENT, *result = out + at * ELEMENT;
        if (i % 4 == 3) {
            jobs[i] = gxt_job(GX_ADD, field, n, a, a, NULL, result);
            oracle_run(GX_ADD, field, n, want + at * ELEMENT, a, a, NULL, 0);
        } else {
            params[i] = params_of(domain, &t);
            jobs[i] = job_of(&t, &params[i], a, result);
            oracle_ntt(&t, want + at * ELEMENT, a);
        }
        at += n;
    }
    return at * ELEMENT;
}

static void many_jobs(void **state)
{
    (void)state;
    oracle_fill(field, &rng, in, 4096);
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = contexts[d];
        const gx_domain *domain = domains[d];
        for (gx_mode mode = GX_MODE_AUTO; mode <= GX_MODE_PIPELINED; mode++) {
            gx_ntt_params params[MANY];
            gx_job jobs[MANY];
            size_t bytes = lay_many(domain, params, jobs, got);
            memset(got, GUARD, bytes);
            run_on(ctx, jobs, MANY, devices[d], mode);
            expect_bytes(got, bytes, devices[d], "many jobs");
        }
    }
}

/* ---- tickets ---- */

/* Jobs and parameters are copied: the caller's may change as soon as the ticket is there. */
static void in_tickets(void **state)
{
    (void)state;
    oracle_fill(field, &rng, in, 4096);
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = contexts[d];
        const gx_domain *domain = domains[d];
        gx_run_params opts = {.struct_size = sizeof opts, .device = devices[d]};
        gx_ticket *tickets[4] = {NULL};
        gx_ntt_params params[GXT_COUNT(tickets)][MANY];
        size_t bytes = 0;
        for (size_t i = 0; i < GXT_COUNT(tickets); i++) {
            gx_job jobs[MANY];
            bytes = lay_many(domain, params[i], jobs, got + i * 4096 * ELEMENT);
            assert_true(bytes <= 4096 * ELEMENT);
            assert_int_equal(gx_submit(ctx, jobs, MANY, &opts, &tickets[i]), GX_OK);
            memset(params[i], 0xff, sizeof params[i]);
            memset(jobs, 0xff, sizeof jobs);
        }
        for (size_t i = 0; i < GXT_COUNT(tickets); i++) {
            assert_int_equal(gx_wait(tickets[i], UINT64_MAX, NULL), GX_OK);
            expect_bytes(got + i * 4096 * ELEMENT, bytes, devices[d], "a ticket");
            gx_ticket_destroy(&tickets[i]);
        }
    }
}

/* Cancelled tickets end, whatever was done of them; the context goes on. */
static void cancelled(void **state)
{
    (void)state;
    struct oracle_ntt t = {.field = field, .log2_n = 9, .batch = 4};
    oracle_fill(field, &rng, in, oracle_ntt_in(&t));
    oracle_ntt(&t, want, in);
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = contexts[d];
        const gx_domain *domain = domains[d];
        gx_ntt_params params = params_of(domain, &t);
        gx_run_params opts = {.struct_size = sizeof opts, .device = devices[d]};
        gx_ticket *tickets[8] = {NULL};
        size_t bytes = oracle_ntt_out(&t) * ELEMENT;
        for (size_t i = 0; i < GXT_COUNT(tickets); i++) {
            gx_job job = job_of(&t, &params, in, got + i * bytes);
            assert_int_equal(gx_submit(ctx, &job, 1, &opts, &tickets[i]), GX_OK);
        }
        gx_cancel_all(ctx);
        for (size_t i = 0; i < GXT_COUNT(tickets); i++) {
            gx_status s = gx_wait(tickets[i], UINT64_MAX, NULL);
            assert_true(s == GX_OK || s == GX_ERR_CANCELLED);
            if (s == GX_OK)
                expect_bytes(got + i * bytes, bytes, devices[d], "before the end");
            gx_ticket_destroy(&tickets[i]);
        }
        gx_job job = job_of(&t, &params, in, got);
        run_on(ctx, &job, 1, devices[d], GX_MODE_AUTO);
        expect_bytes(got, bytes, devices[d], "after the end");
    }
}

/* ---- the router ---- */

static void chosen_and_shared(void **state)
{
    (void)state;
    static const gx_policy policies[] = {GX_POLICY_AUTO, GX_POLICY_CPU, GX_POLICY_THROUGHPUT};
    struct oracle_ntt t = {.field = field, .log2_n = 8, .batch = 100};
    oracle_fill(field, &rng, in, oracle_ntt_in(&t));
    for (size_t p = 0; p < GXT_COUNT(policies); p++) {
        gx_config config = {.device = "cpu,fault:fail@999999999:cpu,sim:desktop",
                            .policy = policies[p],
                            .sample_every = 50,
                            .cache_dir = "none"};
        gx_ctx *ctx = gxt_open(&config);
        gx_domain *domain = make_domain(ctx);
        for (uint32_t flags = 0; flags < 32; flags += 3) {
            t.flags = flags;
            t.log2_pad = flags % 2 ? 0 : flags % 3;
            gx_ntt_params params = params_of(domain, &t);
            gx_job job = job_of(&t, &params, in, got);
            gx_report r = gxt_report();
            oracle_ntt(&t, want, in);
            memset(got, GUARD, oracle_ntt_out(&t) * ELEMENT);
            assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_OK);
            assert_true(r.reason != GX_REASON_NONE && r.device[0]);
            assert_string_equal(r.message, "");
            expect_bytes(got, oracle_ntt_out(&t) * ELEMENT, gx_policy_name(policies[p]), "chosen");
        }
        gx_domain_destroy(&domain);
        gx_close(&ctx);
    }
}

static void estimates(void **state)
{
    (void)state;
    struct oracle_ntt t = {.field = field, .log2_n = 10, .batch = 3, .log2_pad = 2};
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = contexts[d];
        const gx_domain *domain = domains[d];
        gx_ntt_params params = params_of(domain, &t);
        gx_job job = job_of(&t, &params, in, got);
        gx_run_params opts = {.struct_size = sizeof opts, .device = devices[d]};
        gx_estimate_info info = {.struct_size = sizeof info};
        assert_int_equal(gx_estimate(ctx, &job, 1, &opts, &info), GX_OK);
        assert_string_equal(info.device, devices[d]);
        assert_true(info.dispatches >= 1);
        assert_int_equal(gx_operand_bytes(&job, 'a'), 3 * 256 * ELEMENT);
        assert_int_equal(gx_operand_bytes(&job, 'o'), 3 * 1024 * ELEMENT);
        assert_int_equal(gx_operand_bytes(&job, 'b'), 0);
    }
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 6 };

struct worker {
    gx_ctx *ctx;
    const gx_domain *domain;
    const char *device;
    unsigned number, wrong;
};

/* The first use of the domain's tables is in all threads at once. */
static void *work(void *arg)
{
    struct worker *w = arg;
    struct oracle_rng own = {w->number};
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct oracle_ntt t = {.field = field, .log2_n = 9 - i % 3, .batch = 1};
        size_t n = oracle_ntt_out(&t);
        unsigned char a[ELEMENT << 9], out[ELEMENT << 9], right[ELEMENT << 9];
        gx_ntt_params params = params_of(w->domain, &t);
        gx_job job = {.op = GX_NTT, .field = field, .n = n, .params = &params};
        oracle_fill(field, &own, a, n);
        oracle_ntt_by_halves(&t, right, a);
        job.a = gx_host(a);
        job.out = gx_host(out);
        w->wrong +=
            gxt_run(w->ctx, &job, w->device, NULL) != GX_OK || memcmp(out, right, n * ELEMENT) != 0;
    }
    return NULL;
}

static void threads_share_a_domain(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = contexts[d];
        const gx_domain *domain = domains[d];
        pthread_t threads[THREADS];
        struct worker w[THREADS];
        for (unsigned i = 0; i < THREADS; i++) {
            w[i] = (struct worker){ctx, domain, devices[d], i, 0};
            assert_int_equal(pthread_create(&threads[i], NULL, work, &w[i]), 0);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(w[i].wrong, 0);
        }
    }
}

/* ---- domains ---- */

/* Domains come and go, several of one size beside each other, and leave nothing behind. */
static void domains_come_and_go(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        gx_ctx *ctx = contexts[d];
        uint64_t held = 0;
        for (unsigned round = 0; round < 12; round++) {
            struct oracle_ntt t = {.field = field, .log2_n = 8, .batch = 1, .log2_root = 8};
            unsigned char root[ELEMENT];
            gx_domain_params desc = {.struct_size = sizeof desc, .field = field, .log2_size = 8};
            gx_domain *domain = NULL, *second = make_domain(ctx);
            struct gx_statistics stats = {0};
            oracle_root(field, 8, root);
            oracle_power(field, root, 2 * round + 1, root);
            t.root = desc.root = root;
            assert_int_equal(gx_domain_create(ctx, &desc, &domain), GX_OK);
            oracle_fill(field, &rng, in, 256);
            oracle_ntt(&t, want, in);
            gx_ntt_params params = params_of(domain, &t);
            gx_job job = job_of(&t, &params, in, got);
            run_on(ctx, &job, 1, devices[d], GX_MODE_AUTO);
            expect_bytes(got, 256 * ELEMENT, devices[d], "another root");
            gx_domain_destroy(&domain);
            gx_domain_destroy(&second);
            gx__stats(ctx, &stats);
            if (round == 1)
                held = stats.device_bytes;
            assert_true(round < 2 || stats.device_bytes <= held);
        }
    }
}

/* The last test, because closing is checked too. */
static void no_driver_complained(void **state)
{
    (void)state;
    for (size_t d = 0; d < device_count; d++) {
        struct gx_statistics stats = {0};
        gx__stats(contexts[d], &stats);
        assert_int_equal(stats.validation_messages, 0);
        gx_domain_destroy(&domains[d]);
        gx_close(&contexts[d]);
    }
    assert_int_equal(gxt_complaints(), 0);
}

int main(int argc, char **argv)
{
    gxt_choose_gpu(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_buffers),
        cmocka_unit_test(halves_of_a_buffer),
        cmocka_unit_test(products_of_polynomials),
        cmocka_unit_test(many_jobs),
        cmocka_unit_test(in_tickets),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(chosen_and_shared),
        cmocka_unit_test(estimates),
        cmocka_unit_test(threads_share_a_domain),
        cmocka_unit_test(domains_come_and_go),
        cmocka_unit_test(no_driver_complained),
    };
    return cmocka_run_group_tests_name("api-ntt", tests, prepare, finish);
}
