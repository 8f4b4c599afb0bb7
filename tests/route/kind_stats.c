/* SPDX-License-Identifier: Apache-2.0
 *
 * What is remembered beside the model: how much slower a share is beside others (when it
 * counts, what it withstands, and when it is asked again), and up to where calls are for the
 * CPU without a decision. Internal: it links the static library.
 */
#include "base/options.h"
#include "exec/registered_memory.h"
#include "op/traits.h"
#include "route/workspace.h"
#include "support/harness.h"
#include "support/heap.h"
#include "support/task.h"

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

static struct gx_registered_memory hosts;
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
    gx__kind_map_free(&cpu.kind_stats);
}

static void is_about(uint32_t got, double want)
{
    if (!(got <= want && got >= want * 0.9))
        fail_msg("%u, expected %g or a little less", got, want);
}

static void set_up_models(bool with_gpu)
{
    struct gx_error error = {""};
    gx_config config = {.cache_dir = "none"};
    assert_int_equal(gx__config_complete(&instance.config, &config, &error), GX_OK);
    gx__registered_memory_init(&hosts);
    gx__kind_map_init(&cpu.kind_stats, &instance.config.allocator, sizeof(struct gx_kind_stats));
    cpu.model = gx__model_open(&instance, "cpu", "a CPU");
    gpu.model = with_gpu ? gx__model_open(&instance, "sim:x", "a GPU") : NULL;
    router.listed = true;
    set_model(&cpu, 0, 10);
}

static void end_models(void)
{
    gx__model_close(cpu.model);
    gx__model_close(gpu.model);
    gx__kind_map_free(&cpu.kind_stats);
    gx__registered_memory_close(&hosts);
}

static void what_the_cpu_does_at_once(void **state)
{
    (void)state;
    set_up_models(true);
    set_model(&gpu, 5000, 0);
    is_about(gx__cpu_only_limit(&router, &cpu, gxt_task(&job)), 1000);
    router.listed = false; /* nobody knows which GPUs there are */
    set_model(&gpu, 1000000, 0);
    is_about(gx__cpu_only_limit(&router, &cpu, gxt_task(&job)), 1000);
    end_models();
}

static void limits_are_found_again(void **state)
{
    (void)state;
    set_up_models(true);
    set_model(&gpu, 1000000, 0);
    is_about(gx__cpu_only_limit(&router, &cpu, gxt_task(&job)), 1000);
    gx_job large = job;
    large.n = 1 << 20;
    set_line(&cpu, 0, 20);
    is_about(gx__cpu_only_limit(&router, &cpu, gxt_task(&job)), 1000);
    for (int i = 0; i <= AGAIN; i++)
        gx__learn(&instance, &cpu, gxt_task(&large), 1, GX_PATH_AUTO, 20 << 20, false);
    is_about(gx__cpu_only_limit(&router, &cpu, gxt_task(&job)), 500);
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
        gx__learn(&instance, &cpu, gxt_task(&share), 1, GX_PATH_AUTO, 3 * (10 << 19), true);
    assert_int_equal((long)predicted(&cpu, 1 << 19), 10 << 19);
    assert_int_equal((long)predicted(&cpu, 1 << 20), 10 << 20);
    for (int i = 0; i < 20; i++) /* no longer the fault of others */
        gx__learn(&instance, &cpu, gxt_task(&share), 1, GX_PATH_AUTO, 5 * (10 << 19), true);
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
    const struct gx_task task = *gxt_task(&large);
    for (int i = 0; i < TIMES; i++)
        gx__learn(&instance, &cpu, &task, 1, GX_PATH_AUTO, 10 << 20, false);
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
    const struct gx_task task = *gxt_task(&job);
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; !learned; i++) {
        cpu.active = i % 2;
        uint32_t limit = gx__cpu_only_limit(&router, &cpu, &task);
        least = limit < least ? limit : least;
    }
    pthread_join(thread, NULL);
    cpu.active = 0;
    is_about(least, 1000);
    end_models();
}

/* ---- memory ---- */

/* Calls fn for each kind that a calibration measures if nothing else is asked for. */
static size_t each_calibrated(void (*fn)(struct gx_device_slot *, const struct gx_kind *),
                              struct gx_device_slot *slot)
{
    static const gx_op plain[] = {GX_ADD, GX_MUL, GX_INV};
    static const uint32_t log2_n[] = {12, 16, 20};
    size_t count = 0;
    for (gx_field field = 1; field < GX_FIELD_END; field++)
        for (gx_residency r = GX_HOST_MEMORY; r <= GX_DEVICE_MEMORY && gx__prime(field); r++) {
            for (size_t i = 0; i < GXT_COUNT(plain); i++, count++)
                fn(slot, &(struct gx_kind){plain[i], field, r, GX_PATH_AUTO, 0});
            for (size_t i = 0; i < GXT_COUNT(log2_n) && gx_op_exists(GX_NTT, field); i++, count++)
                fn(slot, &(struct gx_kind){GX_NTT, field, r, GX_PATH_AUTO,
                                           gx__ntt_class(log2_n[i], true)});
            if (gx_op_exists(GX_MSM, field)) {
                fn(slot,
                   &(struct gx_kind){GX_MSM, field, r, GX_PATH_AUTO, gx__msm_class(0, 1, 256)});
                count++;
            }
        }
    return count;
}

static void use_kind(struct gx_device_slot *slot, const struct gx_kind *kind)
{
    uint64_t ns = 1000;
    gx__model_set(slot->model, kind, 4096, &ns, 1);
    struct gx_kind_stats *stats = gx__kind_stats_get(slot, kind);
    if (stats)
        stats->runs++;
    gx__tally_job(gx__tally_of(&slot->work.tallies, kind->op, kind->field), 7, 1000, 0);
}

static void is_used(struct gx_device_slot *slot, const struct gx_kind *kind)
{
    struct gx_prediction p;
    assert_true(gx__model_predict(slot->model, kind, 4096, &p) && p.ns == 1000);
    assert_int_equal(gx__kind_stats(slot, kind)->runs, 1);
}

static void open_slot(struct gx_device_slot *slot)
{
    memset(slot, 0, sizeof *slot);
    gx__kind_map_init(&slot->work.tallies.of, &instance.config.allocator, sizeof(struct gx_tally));
    gx__kind_map_init(&slot->kind_stats, &instance.config.allocator, sizeof(struct gx_kind_stats));
    slot->model = gx__model_open(&instance, "sim:x", "a GPU");
    assert_non_null(slot->model);
}

static void close_slot(struct gx_device_slot *slot)
{
    gx__model_close(slot->model);
    gx__kind_map_free(&slot->work.tallies.of);
    gx__kind_map_free(&slot->kind_stats);
}

/* What a device keeps of all that a calibration measures, and of jobs of all these kinds. */
static void a_device_takes_little(void **state)
{
    enum { MOST = 120 << 10 };
    struct gxt_heap heap;
    struct gx_device_slot slot;
    struct gx_error error = {""};
    gx_config config = {.cache_dir = "none"};
    (void)state;
    assert_int_equal(gx__config_complete(&instance.config, &config, &error), GX_OK);
    gxt_heap_start(&heap);
    instance.config.allocator = gxt_heap_allocator(&heap);
    open_slot(&slot);
    size_t kinds = each_calibrated(use_kind, &slot), bytes = sizeof slot;
    each_calibrated(is_used, &slot);
    for (size_t i = 0; i < heap.count; i++)
        bytes += heap.live[i].bytes;
    print_message("%zu kinds: %zu bytes, %zu of them the slot\n", kinds, bytes, sizeof slot);
    assert_true(kinds >= 60 && bytes < MOST);
    close_slot(&slot);
    gxt_heap_end(&heap);
    instance.config.allocator = (gx_allocator){0};
}

/* Nothing is kept then but how many jobs there were. */
static void without_memory_nothing_is_kept(void **state)
{
    struct gxt_heap heap;
    struct gx_device_slot slot;
    struct gx_prediction p;
    const struct gx_kind mul = {GX_MUL, GX_BN254_FR, GX_HOST_MEMORY, GX_PATH_AUTO, 0};
    uint64_t jobs, elements;
    (void)state;
    gxt_heap_start(&heap);
    instance.config.allocator = gxt_heap_allocator(&heap);
    open_slot(&slot);
    gxt_heap_fail(&heap, 1, 1 << 20);
    size_t kinds = each_calibrated(use_kind, &slot);
    router.listed = true;
    assert_true(gx__cpu_only_limit(&router, &slot, gxt_task(&job)) > 0);
    gx__learn(&instance, &slot, gxt_task(&job), 1, GX_PATH_AUTO, 1000, false);
    gx__learn(&instance, &slot, gxt_task(&job), 1, GX_PATH_AUTO, 1000, true);
    assert_false(gx__model_predict(slot.model, &mul, 4096, &p));
    assert_null(gx__kind_stats(&slot, &mul));
    gx__tallies_sum(&slot.work.tallies, &jobs, &elements);
    assert_true(jobs == kinds && elements == 7 * kinds);
    gxt_heap_heal(&heap);
    each_calibrated(use_kind, &slot);
    each_calibrated(is_used, &slot);
    gx__tallies_sum(&slot.work.tallies, &jobs, &elements);
    assert_int_equal(jobs, 2 * kinds);
    close_slot(&slot);
    gxt_heap_end(&heap);
    instance.config.allocator = (gx_allocator){0};
}

enum { THREADS = 4 };
static struct gx_kind_map map;

static void *count_kinds(void *user)
{
    (void)user;
    for (uint32_t i = 0; i < 20000; i++) {
        const struct gx_kind kind = {GX_NTT, 1 + i % 2, GX_HOST_MEMORY, GX_PATH_AUTO, i % 300};
        _Atomic uint32_t *count = gx__kind_get(&map, &kind);
        assert_non_null(count);
        atomic_fetch_add(count, 1);
    }
    return NULL;
}

/* Every kind has one value, whichever threads make it at the same time; lists are in order. */
static void threads_make_kinds(void **state)
{
    pthread_t thread[THREADS];
    struct gx_kind kind, before = {0};
    const _Atomic uint32_t *count;
    uint32_t all = 0, kinds = 0;
    (void)state;
    gx__kind_map_init(&map, &instance.config.allocator, sizeof(uint32_t));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, count_kinds, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (uint64_t at = 0; (count = gx__kind_next(&map, &at, &kind)) != NULL; before = kind) {
        assert_ptr_equal(count, gx__kind_find(&map, &kind));
        assert_true(gx__kind_key(&kind) > gx__kind_key(&before));
        kinds++;
        all += *count;
    }
    assert_true(kinds == 300 && all == THREADS * 20000);
    gx__kind_map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_have_to_agree),
        cmocka_unit_test(what_others_cannot_do_is_not_theirs),
        cmocka_unit_test(it_is_asked_again),
        cmocka_unit_test(what_the_cpu_does_at_once),
        cmocka_unit_test(limits_are_found_again),
        cmocka_unit_test(shares_are_not_the_time_alone),
        cmocka_unit_test(there_is_always_a_limit),
        cmocka_unit_test(a_device_takes_little),
        cmocka_unit_test(without_memory_nothing_is_kept),
        cmocka_unit_test(threads_make_kinds),
    };
    return cmocka_run_group_tests_name("kind_stats", tests, NULL, NULL);
}
