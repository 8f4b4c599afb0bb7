/* SPDX-License-Identifier: Apache-2.0
 *
 * The model alone, on machines that are a formula: what it predicts is compared with the
 * formula, whatever noise was put on what it learned from.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/options.h"
#include "op/traits.h"
#include "route/model.h"
#include "route/store.h"
#include "support/harness.h"

static struct gx_instance instance;
static uint64_t seed = 7;

static const struct gx_kind mul = {GX_MUL, GX_BLS12_381_FQ, GX_HOST_MEMORY, GX_PATH_AUTO, 0};

static struct gx_model *open_model(void)
{
    struct gx_error error = {""};
    memset(&instance, 0, sizeof instance);
    gx_config config = {.cache_dir = "none"};
    assert_int_equal(gx__config_complete(&instance.config, &config, &error), GX_OK);
    struct gx_model *model = gx__model_open(&instance, "sim:x", "a machine");
    assert_non_null(model);
    return model;
}

static double predict(const struct gx_model *model, const struct gx_kind *kind, double n)
{
    struct gx_prediction p;
    if (!gx__model_predict(model, kind, n, &p))
        fail_msg("%g elements: not known", n);
    assert_true(p.ns >= 0 && p.ns <= GX_PREDICTION_MAX && p.slow_ns >= p.ns &&
                p.slow_ns <= GX_PREDICTION_MAX);
    return p.ns;
}

static bool known(const struct gx_model *model, const struct gx_kind *kind, double n)
{
    struct gx_prediction p;
    return gx__model_predict(model, kind, n, &p);
}

static void near(double got, double want, double part)
{
    if (!(fabs(got - want) <= part * want))
        fail_msg("%g, expected %g within %g %%", got, want, 100 * part);
}

/* From 0 to 1. */
static double chance(void)
{
    return (double)(gxt_next(&seed) >> 11) / 9007199254740992.0;
}

/* A launch cost and a rate, slower beyond a cache. */
struct machine {
    double launch, per, cache, per_beyond;
};

static double takes(const struct machine *m, double n)
{
    double beyond = n > m->cache ? n - m->cache : 0;
    return m->launch + n * m->per + beyond * (m->per_beyond - m->per);
}

static void learn(struct gx_model *model, const struct gx_kind *kind, uint64_t n, double ns)
{
    gx__model_learn(model, kind, n, (uint64_t)(ns + 0.5));
}

/* As calibration does: sizes of 4 times the one before. */
static void calibrate(struct gx_model *model, const struct gx_kind *kind, const struct machine *m,
                      uint64_t last)
{
    for (uint64_t n = 64; n <= last; n *= 4)
        for (int i = 0; i < 3; i++)
            learn(model, kind, n, takes(m, (double)n));
}

static const struct machine gpu = {20000, 0.05, 1e300, 0}, cpu = {200, 3, 1e300, 0};

/* ---- lines ---- */

static void ideal_machines(void **state)
{
    (void)state;
    const struct machine *const machines[] = {&gpu, &cpu};
    for (size_t m = 0; m < GXT_COUNT(machines); m++)
        for (uint64_t last = 1024; last <= (16u << 20); last *= 4) {
            struct gx_model *model = open_model();
            calibrate(model, &mul, machines[m], last);
            near(predict(model, &mul, 0), machines[m]->launch, 0.02);
            for (uint64_t n = 1; n <= last * 64; n += 1 + n / 15)
                near(predict(model, &mul, (double)n), takes(machines[m], (double)n), 0.02);
            gx__model_close(model);
        }
}

static void what_is_not_known(void **state)
{
    (void)state;
    struct gx_model *model = open_model();
    assert_false(known(model, &mul, 0));
    assert_false(known(model, &mul, 64));
    assert_false(known(model, &mul, NAN));
    learn(model, &mul, 65536, 1e6);
    assert_true(known(model, &mul, 0));
    assert_false(known(model, &mul, 8191));
    assert_true(known(model, &mul, 8192));
    near(predict(model, &mul, 8192), 1e6 / 8, 1e-6); /* nothing tells the launch cost */
    assert_true(known(model, &mul, 8 * 65536.0));
    assert_false(known(model, &mul, 8 * 65536.0 + 1));
    learn(model, &mul, 32768, 5e5);
    assert_false(known(model, &mul, 8 * 65536.0 + 1));
    learn(model, &mul, 16384, 3e5);
    assert_true(known(model, &mul, 64 * 65536.0));
    assert_false(known(model, &mul, 64 * 65536.0 + 1));
    learn(model, &mul, 16 << 20, 2.56e8);
    near(predict(model, &mul, 1e15), 1.53e16, 0.02); /* larger ones are never learned */
    assert_false(known(model, &mul, 600000));        /* too far from either side */
    assert_false(known(model, &mul, -1));
    assert_false(known(model, &mul, INFINITY));
    assert_false(known(model, &mul, NAN));
    struct gx_kind wrong[] = {mul, mul, mul, mul, mul};
    wrong[0].op = (gx_op)GX_OP_END;
    wrong[1].field = (gx_field)0;
    wrong[2].residency = (gx_residency)4;
    wrong[3].path = GX_PATH_DIRECT;
    wrong[4].op = (gx_op)-1;
    for (size_t i = 0; i < GXT_COUNT(wrong); i++) {
        learn(model, &wrong[i], 64, 1000);
        assert_false(known(model, &wrong[i], 64));
    }
    gx__model_close(model);
}

/* Sizes below the first point, where the line through two points would go below 0. */
static void steep_beginnings(void **state)
{
    (void)state;
    struct gx_model *model = open_model();
    learn(model, &mul, 1024, 100);
    learn(model, &mul, 2048, 1000);
    assert_true(predict(model, &mul, 0) == 0);
    near(predict(model, &mul, 512), 50, 1e-6);
    near(predict(model, &mul, 4096), 2800, 1e-3);
    gx__model_forget(model, &mul);
    learn(model, &mul, 1024, 1000);
    learn(model, &mul, 2048, 900);
    near(predict(model, &mul, 0), 1000, 1e-6);
    near(predict(model, &mul, 16384), 900, 1e-6);
    gx__model_forget(model, &mul);
    const uint64_t level[] = {1000, 100000, 100000}; /* noise: it does not stay level */
    for (size_t i = 0; i < GXT_COUNT(level); i++)
        gx__model_set(model, &mul, 64u << 4 * i, &level[i], 1);
    assert_true(predict(model, &mul, 16384 * 64) > 1.5e6);
    gx__model_close(model);
}

/* ---- learning ---- */

/* Random sizes, noise of 10 %, and one call in sixteen that takes up to 50 times as long. */
static void noise_and_outliers(void **state)
{
    (void)state;
    static const struct machine bent = {5000, 0.5, 200000, 1.2};
    struct gx_model *model = open_model();
    for (int i = 0; i < 4000; i++) {
        double n = floor(64 * pow(2, 17.5 * chance()));
        double noise = 0.95 + 0.1 * chance();
        if (gxt_next(&seed) % 16 == 0)
            noise *= 1 + 49 * chance();
        learn(model, &mul, (uint64_t)n, takes(&bent, n) * noise);
    }
    double sum = 0, worst = 0;
    int count = 0;
    for (uint64_t n = 64; n < (8 << 20); n += n / 10, count++) {
        double error = fabs(predict(model, &mul, (double)n) / takes(&bent, (double)n) - 1);
        sum += error;
        worst = error > worst ? error : worst;
    }
    if (worst > 0.25 || sum / count > 0.06)
        fail_msg("wrong by %g %%, at worst %g %%", 100 * sum / count, 100 * worst);
    gx__model_close(model);
}

static void one_outlier_changes_nothing(void **state)
{
    (void)state;
    struct gx_model *model = open_model();
    calibrate(model, &mul, &gpu, 16 << 20);
    double before = predict(model, &mul, 100000);
    learn(model, &mul, 100000, 1e12);
    learn(model, &mul, 65536, 1e12);
    learn(model, &mul, 65536, 1);
    near(predict(model, &mul, 100000), before, 1e-5);
    near(predict(model, &mul, 65536), takes(&gpu, 65536), 1e-5);
    gx__model_close(model);
}

/* Calls until what is predicted is right within 10 %. */
static int calls_to_adapt(struct gx_model *model, double n, double ns)
{
    for (int calls = 1; calls <= 20; calls++) {
        learn(model, &mul, (uint64_t)n, ns);
        if (fabs(predict(model, &mul, n) / ns - 1) < 0.1)
            return calls;
    }
    return 99;
}

static void four_times_as_slow(void **state)
{
    (void)state;
    for (uint64_t size = 64; size <= (64 << 20); size += size * 3 / 10) {
        const double n = (double)size;
        struct gx_model *model = open_model();
        calibrate(model, &mul, &gpu, 16 << 20);
        for (int i = 0; i < 5; i++)
            learn(model, &mul, (uint64_t)n, takes(&gpu, n));
        int calls = calls_to_adapt(model, n, 4 * takes(&gpu, n));
        if (calls > 6)
            fail_msg("%g elements: %d calls", n, calls);
        for (int i = 0; i < 20; i++) /* and it stays there */
            learn(model, &mul, (uint64_t)n, 4 * takes(&gpu, n));
        near(predict(model, &mul, n), 4 * takes(&gpu, n), 0.1);
        int back = calls_to_adapt(model, n, takes(&gpu, n));
        if (back > 6)
            fail_msg("%g elements: %d calls back", n, back);
        gx__model_close(model);
    }
}

/* A machine that others use too, for moments and by factors of any size: what is predicted may be
 * too high for a while, but nothing is promised that never was. */
static void moments_add_up_to_no_promise(void **state)
{
    (void)state;
    struct gx_model *model = open_model();
    calibrate(model, &mul, &cpu, 16 << 20);
    double factor = 1;
    int left = 0;
    for (int i = 0; i < 20000; i++) {
        if (!left && chance() < 0.05) {
            left = 1 + (int)(chance() * 12);
            factor = pow(10, 1.7 * chance());
        }
        uint64_t n = (uint64_t)64 << 2 * (int)(chance() * 10);
        bool slow = left && chance() < 0.7;
        learn(model, &mul, n, takes(&cpu, (double)n) * (1 + 0.1 * chance()) * (slow ? factor : 1));
        left -= left > 0;
        for (double m = 64; m <= 16 << 20; m *= 4)
            if (predict(model, &mul, m) < 0.9 * takes(&cpu, m))
                fail_msg("call %d, %g elements: %g, not %g", i, m, predict(model, &mul, m),
                         takes(&cpu, m));
    }
    for (uint64_t n = 64; n <= 16 << 20; n *= 4)
        for (int i = 0; i < 5; i++)
            learn(model, &mul, n, takes(&cpu, (double)n));
    for (double m = 64; m <= 16 << 20; m *= 4)
        near(predict(model, &mul, m), takes(&cpu, m), 0.01);
    gx__model_close(model);
}

static void slow_calls(void **state)
{
    (void)state;
    struct gx_model *model = open_model();
    struct gx_prediction p;
    const double ns[] = {100, 300, 110, 120, 900};
    for (size_t i = 0; i < GXT_COUNT(ns); i++)
        learn(model, &mul, 64, ns[i]);
    assert_true(gx__model_predict(model, &mul, 64, &p));
    near(p.ns, 120, 1e-6);
    near(p.slow_ns, 300, 1e-6);
    gx__model_close(model);
}

static void borrowing(void **state)
{
    (void)state;
    static const struct {
        gx_op op, of;
    } ops[] = {{GX_SUB, GX_ADD},     {GX_NEG, GX_ADD},     {GX_SQR, GX_MUL},      {GX_DIV, GX_INV},
               {GX_MUL_ADD, GX_MUL}, {GX_TO_MONT, GX_MUL}, {GX_FROM_MONT, GX_MUL}};
    struct gx_model *model = open_model();
    struct gx_kind kind = mul;
    struct gx_prediction p;
    for (kind.op = GX_ADD; kind.op <= GX_INV; kind.op++)
        if (kind.op == GX_ADD || kind.op == GX_MUL || kind.op == GX_INV)
            learn(model, &kind, 64, 1000.0 * kind.op);
    for (size_t i = 0; i < GXT_COUNT(ops); i++) {
        kind.op = ops[i].op;
        assert_true(gx__model_predict(model, &kind, 64, &p));
        near(p.ns, 1000.0 * ops[i].of, 1e-6);
    }
    kind = (struct gx_kind){GX_SQR, mul.field, GX_REGISTERED_MEMORY, GX_PATH_DEVICE_LOCAL, 0};
    near(predict(model, &kind, 64), 3000, 1e-6);
    struct gx_kind nearer = {GX_MUL, mul.field, GX_REGISTERED_MEMORY, GX_PATH_AUTO, 0};
    learn(model, &nearer, 64, 700);
    near(predict(model, &kind, 64), 700, 1e-6);
    nearer.op = GX_SQR;
    learn(model, &nearer, 64, 600);
    near(predict(model, &kind, 64), 600, 1e-6);
    learn(model, &kind, 64, 500);
    near(predict(model, &kind, 64), 500, 1e-6);
    kind.residency = GX_DEVICE_MEMORY; /* is like nothing else */
    assert_false(known(model, &kind, 64));
    kind = mul;
    kind.field = GX_BLS12_381_FR;
    assert_false(known(model, &kind, 64));
    gx__model_close(model);
}

static struct gx_kind transform(uint32_t log2_n, bool permutes)
{
    return (struct gx_kind){GX_NTT, GX_BN254_FR, GX_HOST_MEMORY, GX_PATH_AUTO,
                            gx__ntt_class(log2_n, permutes)};
}

/* Every shape has its own curve, and borrows from others before it borrows from an operation. */
static void shapes(void **state)
{
    (void)state;
    struct gx_model *model = open_model();
    const struct gx_kind of_16 = transform(16, false), back_16 = transform(16, true),
                         of_17 = transform(17, false), of_19 = transform(19, true),
                         of_20 = transform(20, false), none = transform(GX_LOG2_N_END, false);
    struct gx_kind inv = {GX_INV, GX_BN254_FR, GX_HOST_MEMORY, GX_PATH_AUTO, 0};
    learn(model, &inv, 65536, 9e5);
    near(predict(model, &of_16, 65536), 9e5, 1e-6);
    learn(model, &of_16, 65536, 1.6e6);
    near(predict(model, &of_16, 65536), 1.6e6, 1e-6);
    near(predict(model, &back_16, 65536), 1.6e6, 1e-6);
    near(predict(model, &of_17, 65536), 1.7e6, 1e-6);
    near(predict(model, &of_19, 65536), 1.9e6, 1e-6);
    near(predict(model, &of_20, 65536), 9e5, 1e-6); /* too far */
    learn(model, &back_16, 65536, 2e6);
    near(predict(model, &of_16, 65536), 1.6e6, 1e-6);
    near(predict(model, &of_17, 65536), 1.7e6, 1e-6);
    learn(model, &of_20, 65536, 4e6);
    near(predict(model, &of_19, 65536), 3.8e6, 1e-6);             /* the nearer one */
    near(predict(model, &of_16, 1024 * 65536.0), 1638.4e6, 1e-6); /* many take many times as long */
    struct gx_kind there = of_16, registered = of_16, first = transform(0, true);
    there.residency = GX_DEVICE_MEMORY;
    registered.residency = GX_REGISTERED_MEMORY;
    assert_false(known(model, &there, 65536));
    inv.residency = GX_REGISTERED_MEMORY;
    learn(model, &inv, 65536, 8e5);
    near(predict(model, &registered, 65536), 1.6e6, 1e-6); /* before that of the inverse */
    learn(model, &first, 64, 50);
    near(predict(model, &first, 64), 50, 1e-6);
    learn(model, &none, 64, 1000);
    assert_false(known(model, &none, 64));
    inv.size_class = 1;
    assert_false(known(model, &inv, 65536));
    struct gx_model_row row[5] = {{.n = 0}};
    size_t count = 0;
    gx__model_rows(model, row, GXT_COUNT(row), &count);
    assert_int_equal(count, 6);
    assert_int_equal(row[0].op, GX_INV);
    assert_true(row[2].op == GX_NTT && row[2].log2_n == 0 && row[2].permutes == 1);
    assert_true(row[3].op == GX_NTT && row[3].log2_n == 16 && row[3].permutes == 0);
    assert_true(row[4].op == GX_NTT && row[4].log2_n == 16 && row[4].permutes == 1);
    gx__model_forget(model, &of_16);
    near(predict(model, &of_16, 65536), 2e6, 1e-6);
    gx__model_close(model);
}

static void forgetting(void **state)
{
    (void)state;
    struct gx_model *model = open_model();
    struct gx_kind add = mul;
    add.op = GX_ADD;
    learn(model, &mul, 64, 100);
    learn(model, &add, 64, 50);
    gx__model_set_next_ns(model, 9);
    gx__model_forget(model, &mul);
    assert_false(known(model, &mul, 64));
    near(predict(model, &add, 64), 50, 1e-6);
    assert_true(gx__model_next_ns(model) == 9);
    gx__model_forget(model, &add);
    assert_false(known(model, &add, 64));
    learn(model, &mul, 64, 200); /* and nothing of before is in it */
    near(predict(model, &mul, 64), 200, 1e-6);
    gx__model_set_next_ns(model, NAN);
    assert_true(gx__model_next_ns(model) == 0);
    gx__model_set_next_ns(model, INFINITY);
    assert_true(isfinite(gx__model_next_ns(model)));
    gx__model_close(model);
}

static void rows(void **state)
{
    (void)state;
    struct gx_model *model = open_model();
    struct gx_model_row row[4] = {{.n = 0}};
    learn(model, &mul, 64, 100);
    learn(model, &mul, 64, 300);
    learn(model, &mul, 128, 200);
    size_t count = 1; /* another device's is there already */
    memset(row, 0, sizeof row);
    gx__model_rows(model, row, 2, &count);
    assert_int_equal(count, 3);
    assert_string_equal(row[1].device, "sim:x");
    assert_int_equal(row[1].op, GX_MUL);
    assert_int_equal(row[1].field, GX_BLS12_381_FQ);
    assert_int_equal(row[1].residency, GX_HOST_MEMORY);
    assert_int_equal(row[1].n, 64);
    assert_int_equal(row[1].ns, 100);
    assert_int_equal(row[1].slow_ns, 300);
    assert_int_equal(row[1].samples, 2);
    assert_true(row[1].age_s < 60);
    assert_int_equal(row[2].n, 0); /* no room */
    gx__model_close(model);
}

/* ---- whatever comes in ---- */

static uint64_t any_number(void)
{
    return gxt_next(&seed) >> gxt_next(&seed) % 64;
}

static void anything(void **state)
{
    (void)state;
    struct gx_model *model = open_model();
    int count = gxt_small() ? 20000 : 200000;
    for (int i = 0; i < count; i++) {
        gx__model_learn(model, &mul, any_number(), any_number());
        struct gx_prediction p;
        double n = (double)any_number();
        if (!gx__model_predict(model, &mul, n, &p))
            continue;
        if (!(p.ns >= 0 && p.ns <= GX_PREDICTION_MAX && p.slow_ns >= p.ns &&
              p.slow_ns <= GX_PREDICTION_MAX) ||
            (n > 0 && p.ns <= 0))
            fail_msg("%g elements: %g, %g ns", n, p.ns, p.slow_ns);
    }
    gx__model_learn(model, &mul, UINT64_MAX, UINT64_MAX);
    gx__model_learn(model, &mul, 0, 1);
    gx__model_close(model);
}

static int allocations_left;

static void *few(void *user, size_t bytes)
{
    (void)user;
    return allocations_left-- > 0 ? malloc(bytes) : NULL;
}

static void give_back(void *user, void *memory)
{
    (void)user;
    free(memory);
}

static void no_memory(void **state)
{
    (void)state;
    gx__model_close(open_model());
    instance.config.allocator = (gx_allocator){few, give_back, NULL};
    allocations_left = 0;
    assert_null(gx__model_open(&instance, "sim:x", "a machine"));
    allocations_left = 1;
    struct gx_model *model = gx__model_open(&instance, "sim:x", "a machine");
    assert_non_null(model);
    learn(model, &mul, 64, 100);
    assert_false(known(model, &mul, 64));
    assert_false(gx__model_save(model));
    allocations_left = 1;
    learn(model, &mul, 64, 100);
    near(predict(model, &mul, 64), 100, 1e-6);
    assert_false(gx__model_save(model));
    gx__model_close(model);
    gx__model_close(NULL);
}

/* ---- threads ---- */

static atomic_bool stop;

static void *learner(void *arg)
{
    struct gx_model *model = arg;
    uint64_t state = (uint64_t)(uintptr_t)&state;
    while (!atomic_load(&stop)) {
        uint64_t n = 64u << gxt_next(&state) % 14;
        gx__model_learn(model, &mul, n, n);
    }
    return NULL;
}

static void *reader(void *arg)
{
    const struct gx_model *model = arg;
    uint64_t state = (uint64_t)(uintptr_t)&state, wrong = 0;
    while (!atomic_load(&stop)) {
        struct gx_prediction p;
        double n = (double)(gxt_next(&state) % 1000000);
        if (gx__model_predict(model, &mul, n, &p) && n > 0)
            wrong += p.ns < n * 0.99 || p.ns > n * 1.01;
    }
    return (void *)(uintptr_t)wrong;
}

static void many_threads(void **state)
{
    (void)state;
    struct gx_model *model = open_model();
    pthread_t threads[4];
    atomic_store(&stop, false);
    for (size_t i = 0; i < GXT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i < 2 ? learner : reader, model), 0);
    for (int i = 0; i < 100; i++) {
        struct gx_model_row row[4] = {{.n = 0}};
        size_t count = 0;
        gx__model_rows(model, row, GXT_COUNT(row), &count);
        assert_true(gx__model_save(model));
        gx__model_set_next_ns(model, i);
        if (i % 10 == 0)
            gx__model_forget(model, &mul);
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < GXT_COUNT(threads); i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    gx__model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ideal_machines),
        cmocka_unit_test(what_is_not_known),
        cmocka_unit_test(steep_beginnings),
        cmocka_unit_test(noise_and_outliers),
        cmocka_unit_test(one_outlier_changes_nothing),
        cmocka_unit_test(four_times_as_slow),
        cmocka_unit_test(moments_add_up_to_no_promise),
        cmocka_unit_test(slow_calls),
        cmocka_unit_test(borrowing),
        cmocka_unit_test(shapes),
        cmocka_unit_test(forgetting),
        cmocka_unit_test(rows),
        cmocka_unit_test(anything),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(many_threads),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
