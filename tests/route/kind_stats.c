/* SPDX-License-Identifier: Apache-2.0
 *
 * What is remembered beside the model: how much slower a share is beside others (when it
 * counts, what it withstands, and when it is asked again), and up to where calls are for the
 * CPU without a decision. Internal: it links the static library.
 */
#include "base/options.h"
#include "exec/registered.h"
#include "route/workspace.h"
#include "support/harness.h"

/* As many splits may be missed for it, */
enum { MISSED = 16 };
/* and after so many times learned limits are found anew. */
enum { AGAIN = 16 };

/* ---- beside others ---- */

static uint32_t learn(struct gx_contention *b, double thousandths)
{
    assert_true(gx__contention_learn(b, thousandths));
    return b->factor;
}

static uint32_t miss(struct gx_contention *b, unsigned times)
{
    while (times--)
        gx__contention_missed(b);
    return b->factor;
}

static void three_have_to_agree(void **state)
{
    (void)state;
    struct gx_contention b = {0};
    assert_int_equal(learn(&b, 1900), 0); /* the first may be of a busy moment */
    assert_int_equal(learn(&b, 1100), 0);
    assert_int_equal(learn(&b, 1200), 1200);
    assert_int_equal(learn(&b, 1200), 1200);
    assert_int_equal(learn(&b, 1950), 1200); /* of 1100 1200 1200 1900 1950 */
    assert_int_equal(learn(&b, 1950), 1200); /* 1900 is the oldest, and forgotten */
    assert_int_equal(learn(&b, 1950), 1950);
    for (int i = 0; i < 3; i++)
        learn(&b, 1000);
    assert_int_equal(b.factor, 1000);
    gx__contention_forget(&b);
    assert_int_equal(learn(&b, 1500), 0);
}

static void what_others_cannot_do_is_not_theirs(void **state)
{
    (void)state;
    struct gx_contention b = {0};
    for (int i = 0; i < 5; i++)
        learn(&b, 1100);
    static const double absurd[] = {0, 1, 799, 4001, 40000, 1e18};
    for (size_t i = 0; i < GXT_COUNT(absurd); i++)
        assert_false(gx__contention_learn(&b, absurd[i]));
    assert_int_equal(b.factor, 1100);
    assert_int_equal(learn(&b, 800), 1100);
    assert_int_equal(learn(&b, 4000), 1100);
}

/* One split in so many, for ever, where it stays bad; two such good ones end it. */
static void it_is_asked_again(void **state)
{
    (void)state;
    struct gx_contention b = {0};
    for (int i = 0; i < 5; i++)
        learn(&b, 1800);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(miss(&b, MISSED - 1), 1800);
        assert_int_equal(miss(&b, 1), 0);
        assert_int_equal(learn(&b, 1800), 1800);
    }
    assert_int_equal(miss(&b, MISSED), 0);
    assert_int_equal(learn(&b, 1050), 1800);
    assert_int_equal(miss(&b, MISSED), 0);
    assert_int_equal(learn(&b, 1040), 1050);
    assert_int_equal(miss(&b, MISSED - 1), 1050);
    assert_int_equal(learn(&b, 1050), 1050); /* a split begins the count anew */
    assert_int_equal(miss(&b, MISSED - 1), 1050);
}

/* ---- without a decision ---- */

static struct gx_registered hosts;
static struct gx_instance instance = {.registered = &hosts};
static struct gx_device_slot cpu = {.name = "cpu", .host = true}, gpu = {.name = "sim:x"};
static struct gx_router router = {.candidates = 2, .candidate = {&cpu, &gpu}};
static const gx_job job = {.op = GX_MUL, .field = GX_BN254_FR, .n = 1};

/* A line, at all sizes and in all memory. */
static void set_line(struct gx_device_slot *slot, double launch, double each)
{
    struct gx_kind kind = {job.op, job.field, GX_HOST_MEMORY, GX_PATH_AUTO, 0};
    for (; kind.residency <= GX_REGISTERED_MEMORY; kind.residency++)
        for (uint64_t n = 64; n <= 1 << 20; n *= 2) {
            uint64_t ns = (uint64_t)(launch + each * (double)n);
            gx__model_set(slot->model, &kind, n, &ns, 1);
        }
}

/* The same, and what was concluded from another one is forgotten. */
static void set_model(struct gx_device_slot *slot, double launch, double each)
{
    set_line(slot, launch, each);
    memset(cpu.kind_stats, 0, sizeof cpu.kind_stats);
}

static void is_about(uint32_t got, double want)
{
    if (!(got <= want && got >= want * 0.9))
        fail_msg("%u, expected %g or a little less", got, want);
}

static void set_up_models(bool with_gpu)
{
    char message[160] = "";
    gx_config config = {.cache_dir = "none"};
    assert_int_equal(gx__config_complete(&instance.config, &config, message, sizeof message),
                     GX_OK);
    gx__registered_init(&hosts);
    cpu.model = gx__model_open(&instance, "cpu", "a CPU");
    gpu.model = with_gpu ? gx__model_open(&instance, "sim:x", "a GPU") : NULL;
    router.listed = true;
    set_model(&cpu, 0, 10);
}

static void end_models(void)
{
    gx__model_close(cpu.model);
    gx__model_close(gpu.model);
    gx__registered_close(&hosts);
}

static void what_the_cpu_does_at_once(void **state)
{
    (void)state;
    set_up_models(true);
    set_model(&gpu, 1000000, 0); /* far behind: it is the CPU's own time that counts */
    is_about(gx__cpu_only_limit(&router, &cpu, &job), 2000);
    cpu.active = 1;
    is_about(gx__cpu_only_limit(&router, &cpu, &job), 1000);
    cpu.active = 0;
    set_model(&gpu, 24000, 0); /* 1.5 times 16000 */
    is_about(gx__cpu_only_limit(&router, &cpu, &job), 1600);
    set_model(&gpu, 5000, 0);
    is_about(gx__cpu_only_limit(&router, &cpu, &job), 1000);
    router.listed = false; /* nobody knows which GPUs there are */
    set_model(&gpu, 1000000, 0);
    is_about(gx__cpu_only_limit(&router, &cpu, &job), 1000);
    end_models();
}

static void one_that_is_not_known_may_be_faster(void **state)
{
    (void)state;
    set_up_models(false);
    is_about(gx__cpu_only_limit(&router, &cpu, &job), 1000);
    end_models();
}

static void limits_are_found_again(void **state)
{
    (void)state;
    set_up_models(true);
    set_model(&gpu, 1000000, 0);
    is_about(gx__cpu_only_limit(&router, &cpu, &job), 2000);
    gx_job large = job;
    large.n = 1 << 20;
    set_line(&cpu, 0, 20);
    is_about(gx__cpu_only_limit(&router, &cpu, &job), 2000);
    for (int i = 0; i <= AGAIN; i++)
        gx__learn(&instance, &cpu, &large, 1, GX_PATH_AUTO, 20 << 20, false);
    is_about(gx__cpu_only_limit(&router, &cpu, &job), 1000);
    end_models();
}

static double predicted(const struct gx_device_slot *slot, uint64_t n)
{
    const struct gx_kind kind = {job.op, job.field, GX_HOST_MEMORY, GX_PATH_AUTO, 0};
    struct gx_prediction p = {0};
    assert_true(gx__model_predict(slot->model, &kind, (double)n, &p));
    return p.ns;
}

/* The model is about jobs alone: however long shares take beside others, it stays, and the router
 * can still tell that not to split would be faster. */
static void shares_are_not_the_time_alone(void **state)
{
    (void)state;
    set_up_models(true);
    gx_job share = job;
    share.n = 1 << 19;
    for (int i = 0; i < 20; i++)
        gx__learn(&instance, &cpu, &share, 1, GX_PATH_AUTO, 3 * (10 << 19), true);
    assert_int_equal((long)predicted(&cpu, 1 << 19), 10 << 19);
    assert_int_equal((long)predicted(&cpu, 1 << 20), 10 << 20);
    for (int i = 0; i < 20; i++) /* no longer the fault of others */
        gx__learn(&instance, &cpu, &share, 1, GX_PATH_AUTO, 5 * (10 << 19), true);
    assert_int_equal((long)predicted(&cpu, 1 << 19), 5 * (10 << 19));
    end_models();
}

static atomic_bool learned;

static void *learn_on(void *user)
{
    enum { TIMES = 200000 };
    gx_job large = job;
    (void)user;
    large.n = 1 << 20;
    for (int i = 0; i < TIMES; i++)
        gx__learn(&instance, &cpu, &large, 1, GX_PATH_AUTO, 10 << 20, false);
    learned = true;
    return NULL;
}

/* While another thread has them found anew. */
static void there_is_always_a_limit(void **state)
{
    (void)state;
    pthread_t thread;
    set_up_models(true);
    set_model(&gpu, 1000000, 0);
    assert_int_equal(pthread_create(&thread, NULL, learn_on, NULL), 0);
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; !learned; i++) {
        cpu.active = i % 2;
        uint32_t limit = gx__cpu_only_limit(&router, &cpu, &job);
        least = limit < least ? limit : least;
    }
    pthread_join(thread, NULL);
    cpu.active = 0;
    is_about(least, 1000);
    end_models();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_have_to_agree),
        cmocka_unit_test(what_others_cannot_do_is_not_theirs),
        cmocka_unit_test(it_is_asked_again),
        cmocka_unit_test(what_the_cpu_does_at_once),
        cmocka_unit_test(one_that_is_not_known_may_be_faster),
        cmocka_unit_test(limits_are_found_again),
        cmocka_unit_test(shares_are_not_the_time_alone),
        cmocka_unit_test(there_is_always_a_limit),
    };
    return cmocka_run_group_tests_name("kind_stats", tests, NULL, NULL);
}
