/* SPDX-License-Identifier: Apache-2.0
 *
 * What the router decides, on machines that do not exist (tests/machines), so that no real
 * clock has a say: how much slower its choice is than the best one, how shares are cut, how
 * soon it notices that a device became slow, and that it says why. Times are those of the
 * devices' own clocks; results are compared with those of the reference device.
 */
#include <math.h>
#include <stdio.h>

#include "api/counters.h"
#include "support/harness.h"

enum { MOST = 256 << 10, ELEMENT_MAX = 48, NAMES_MAX = GX_CANDIDATES_MAX, CUT = 1024 };

/* Slower than the best by more than this is a wrong decision. */
#define REGRET 0.05
/* Shares that finish further apart are wrong shares. */
#define APART 1.05

static unsigned char *in[2], *out, *want;

static int set_up(void **state)
{
    (void)state;
    unsigned char **const all[] = {&in[0], &in[1], &out, &want};
    gxt_clear_environment();
    /* No Vulkan device may be found: what would be decided is another thing then. */
    setenv("VK_DRIVER_FILES", "/nonexistent", 1);
    setenv("VK_ICD_FILENAMES", "/nonexistent", 1);
    gxt_enter_machines();
    for (size_t i = 0; i < GXT_COUNT(all); i++)
        if (!(*all[i] = aligned_alloc(4096, (size_t)MOST * ELEMENT_MAX)))
            return -1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(in[0]);
    free(in[1]);
    free(out);
    free(want);
    return 0;
}

static void fill(gx_field field, size_t n)
{
    uint64_t seed = 7;
    gxt_fill(&seed, field, in[0], n);
    gxt_fill(&seed, field, in[1], n);
}

/* ---- contexts ---- */

static gx_ctx *open_on(const char *devices, gx_policy policy)
{
    gx_config config = {.device = devices, .policy = policy, .threads = 1, .cache_dir = "none"};
    return gxt_open(&config);
}

static void calibrate(gx_ctx *ctx, gx_field field, const gx_op *ops, size_t count, size_t most)
{
    gx_calibrate_params settings = {
        .ops = ops, .op_count = count, .fields = &field, .field_count = 1, .max_elems = most};
    assert_int_equal(gx_calibrate(ctx, &settings), GX_OK);
}

static gx_ctx *open_calibrated(const char *devices, gx_policy policy, gx_field field, gx_op op,
                               size_t most)
{
    gx_ctx *ctx = open_on(devices, policy);
    calibrate(ctx, field, &op, 1, most);
    return ctx;
}

/* "a,b,c" as names; returns how many. */
static size_t split_names(const char *list, char (*names)[48])
{
    size_t count = 0;
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        assert_true(count < NAMES_MAX);
        snprintf(names[count++], 48, "%.*s", (int)strcspn(p, ","), p);
    }
    return count;
}

static struct gx_statistics stats_of(gx_ctx *ctx)
{
    struct gx_statistics s = {0};
    gx__stats(ctx, &s);
    return s;
}

static gx_device_statistics device_stats(gx_ctx *ctx, const char *device)
{
    gx_device_statistics all[NAMES_MAX + 1] = {{.struct_size = sizeof *all}};
    size_t count = GXT_COUNT(all);
    assert_int_equal(gx_device_stats(ctx, all, &count), GX_OK);
    for (size_t i = 0; i < count && i < GXT_COUNT(all); i++)
        if (!strcmp(all[i].device, device))
            return all[i];
    fail_msg("%s is not among the %zu devices of gx_device_stats", device, count);
    return all[0];
}

/* ---- runs ---- */

static gx_job job_of(gx_op op, gx_field field, size_t n)
{
    return gxt_job(op, field, n, in[0], in[1], NULL, out);
}

/* What one device takes, once warm. */
static uint64_t alone(gx_ctx *ctx, const gx_job *job, const char *device)
{
    gx_report r = gxt_report();
    for (int i = 0; i < 2; i++)
        assert_int_equal(gxt_run(ctx, job, device, &r), GX_OK);
    assert_string_equal(r.device, device);
    assert_int_equal(r.reason, GX_REASON_ASKED);
    assert_int_equal(r.candidates, 0);
    assert_true(r.total_ns > 0);
    return r.total_ns;
}

static const gx_candidate *candidate(const gx_report *r, const char *device)
{
    for (size_t i = 0; i < r->candidates; i++)
        if (!strcmp(r->candidate[i].device, device))
            return &r->candidate[i];
    fail_msg("%s is no candidate", device);
    return NULL;
}

static void print_shares(const gx_report *r)
{
    for (size_t i = 0; i < r->candidates; i++)
        print_error("%s: %llu elements in %llu ns, predicted %llu\n", r->candidate[i].device,
                    (unsigned long long)r->candidate[i].elements,
                    (unsigned long long)r->candidate[i].actual_ns,
                    (unsigned long long)r->candidate[i].share_ns);
}

/* What every report of a job that went well says of itself. */
static void check_elements(const gx_report *r, size_t n)
{
    uint64_t elements = 0;
    assert_int_equal(r->status, GX_OK);
    assert_string_equal(r->message, "");
    for (size_t i = 0; i < r->candidates; i++)
        elements += r->candidate[i].elements;
    assert_int_equal(elements, n);
}

/* ... and that of a job alone. */
static void check_report(const gx_report *r, size_t n)
{
    uint64_t most = 0;
    unsigned shares = 0;
    const char *largest = "";
    check_elements(r, n);
    assert_true(r->candidates >= 1 && r->candidates <= GX_CANDIDATES_MAX);
    for (size_t i = 0; i < r->candidates; i++) {
        const gx_candidate *c = &r->candidate[i];
        assert_int_equal(c->status, GX_OK);
        assert_int_equal(c->elements > 0, c->actual_ns > 0);
        shares += c->elements > 0;
        if (c->elements > most) {
            most = c->elements;
            largest = c->device;
        }
    }
    assert_string_equal(r->device, largest);
    if (r->reason == GX_REASON_SPLIT)
        assert_true(shares > 1);
    else if (r->reason != GX_REASON_EXPLORED) /* that may be a part of it */
        assert_int_equal(shares, 1);
}

/* As the policy of the context says. */
static gx_report routed(gx_ctx *ctx, const gx_job *job)
{
    gx_report r = gxt_report();
    size_t bytes = job->n * gxt_element(job->field);
    memset(out, 0x5c, bytes);
    assert_int_equal(gxt_run(ctx, job, NULL, &r), GX_OK);
    check_report(&r, job->n);
    return r;
}

static void expect_result(gx_ctx *ctx, const gx_job *job)
{
    gx_job again = *job;
    size_t bytes = job->n * gxt_element(job->field);
    again.out = gx_host(want);
    assert_int_equal(gxt_run(ctx, &again, "cpu", NULL), GX_OK);
    assert_memory_equal(out, want, bytes);
}

/* ---- regret ---- */

struct scene {
    const char *name, *devices;
    gx_field field;
    size_t most;
    int registered;
};

static const struct scene scenes[] = {
    {"laptop", "sim:cpu-2-cores,sim:laptop-integrated", GX_BN254_FR, MOST, 0},
    {"laptop, Fq", "sim:cpu-2-cores,sim:laptop-integrated", GX_BLS12_381_FQ, MOST / 8, 1},
    {"desktop", "sim:cpu-8-cores,sim:desktop", GX_BLS12_381_FQ, MOST / 4, 0},
    {"desktop, registered", "sim:cpu-8-cores,sim:desktop", GX_BLS12_381_FR, MOST / 2, 1},
    {"server", "sim:cpu-16-cores,sim:server-h200", GX_BLS12_381_FQ, MOST / 2, 0},
    {"server, registered", "sim:cpu-16-cores,sim:server-h200", GX_BLS12_381_FQ, MOST / 2, 1},
    {"four equal", "sim:gpu-of-four#1,sim:gpu-of-four#2,sim:gpu-of-four#3,sim:gpu-of-four#4",
     GX_BN254_FR, MOST / 4, 0},
    {"three unlike", "sim:gpu-of-three-fast,sim:gpu-of-three-middle,sim:gpu-of-three-slow",
     GX_BN254_FQ, MOST / 4, 0},
    {"slow GPU", "sim:cpu-16-cores,sim:gpu-slower-than-cpu", GX_BN254_FR, MOST / 4, 0},
};

static const gx_op ops[] = {GX_ADD, GX_MUL, GX_INV};
static const size_t sizes[] = {64,   100,   300,   1000,  3000,   4096,
                               8000, 16384, 30000, 50000, 100000, 250000};

enum { CELLS_MAX = GXT_COUNT(ops) * GXT_COUNT(sizes) };

struct regrets {
    double regret[CELLS_MAX], off[CELLS_MAX * NAMES_MAX];
    uint64_t took, least; /* as the counters are to have them */
    size_t cells, predictions;
    char worst[96];
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    assert_true(count > 0);
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

/* What a call adds to routed_ns and routed_best_ns, by its own report. */
static void add_estimate(const gx_report *r, uint64_t *took, uint64_t *least)
{
    uint64_t best = 0, split = 0;
    for (size_t i = 0; i < r->candidates; i++) {
        uint64_t ns = r->candidate[i].predicted_ns, share = r->candidate[i].share_ns;
        best = ns && (!best || ns < best) ? ns : best;
        split = share > split ? share : split;
    }
    if (!best || r->candidates < 2)
        return;
    *took += r->total_ns;
    *least += r->reason == GX_REASON_SPLIT && split < best ? split : best;
}

/* The decision comes first: what the named calls teach must not help it. */
static void measure_cell(gx_ctx *ctx, const struct scene *scene, const gx_job *job,
                         struct regrets *all)
{
    char names[NAMES_MAX][48];
    size_t count = split_names(scene->devices, names);
    gx_report r = routed(ctx, job);
    add_estimate(&r, &all->took, &all->least);
    r = routed(ctx, job);
    add_estimate(&r, &all->took, &all->least);
    expect_result(ctx, job);
    assert_true(r.reason == GX_REASON_FASTEST || r.reason == GX_REASON_SPLIT);
    assert_int_equal(r.candidates, count);
    uint64_t best = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        uint64_t ns = alone(ctx, job, names[i]);
        uint64_t predicted = candidate(&r, names[i])->predicted_ns;
        assert_true(predicted > 0);
        best = ns < best ? ns : best;
        double off = (double)predicted / (double)ns - 1;
        all->off[all->predictions++] = off < 0 ? -off : off;
    }
    double regret = (double)r.total_ns / (double)best - 1, worst = 0;
    for (size_t i = 0; i < all->cells; i++)
        worst = all->regret[i] > worst ? all->regret[i] : worst;
    if (regret > REGRET)
        print_shares(&r);
    if (regret > worst)
        snprintf(all->worst, sizeof all->worst, "%s of %zu: %llu ns on %s, best %llu",
                 gx_op_get_info(job->op)->name, job->n, (unsigned long long)r.total_ns, r.device,
                 (unsigned long long)best);
    all->regret[all->cells++] = regret;
}

static void regret_of(const struct scene *scene)
{
    static struct regrets all;
    size_t most = gxt_small() ? scene->most / 8 : scene->most;
    memset(&all, 0, sizeof all);
    gx_ctx *ctx = open_on(scene->devices, GX_POLICY_AUTO);
    fill(scene->field, most);
    size_t bytes = (size_t)MOST * ELEMENT_MAX;
    for (int i = 0; scene->registered && i < 3; i++)
        assert_int_equal(gx_host_register(ctx, i < 2 ? in[i] : out, bytes), GX_OK);
    calibrate(ctx, scene->field, ops, GXT_COUNT(ops), most);
    for (size_t o = 0; o < GXT_COUNT(ops); o++) {
        for (size_t s = 0; s < GXT_COUNT(sizes) && sizes[s] <= most; s++) {
            gx_job job = job_of(ops[o], scene->field, sizes[s]);
            measure_cell(ctx, scene, &job, &all);
        }
    }
    struct gx_statistics stats = stats_of(ctx);
    gx_close(&ctx);
    double middle = median(all.regret, all.cells), worst = all.regret[all.cells - 1];
    double off = median(all.off, all.predictions);
    double estimated = (double)stats.routed_ns / (double)stats.routed_best_ns - 1;
    print_message("%s: regret %.1f %% (median), %.1f %% (worst; %s), %.1f %% estimated; "
                  "predictions off by %.1f %% (median)\n",
                  scene->name, 100 * middle, 100 * worst, all.worst, 100 * estimated, 100 * off);
    assert_true(stats.routed_best_ns > 0);
    assert_int_equal(stats.routed_ns, all.took);
    assert_int_equal(stats.routed_best_ns, all.least);
    assert_true(worst <= REGRET);
    assert_true(off <= REGRET);
    assert_true(stats.decisions >= 2 * all.cells);
    assert_int_equal(stats.decisions_default, 0);
    assert_int_equal(stats.decisions_explored, 0);
}

static void regret_is_small(void **state)
{
    (void)state;
    for (size_t i = 0; i < GXT_COUNT(scenes); i++)
        if (!gxt_small() || !scenes[i].registered)
            regret_of(&scenes[i]);
}

/* ---- what is chosen ---- */

/* Nothing is worth sending to a slow GPU on a narrow slot, and nothing to any GPU that the
 * CPU has done before the GPU has begun. */
static void nothing_for_the_slow_one(void **state)
{
    (void)state;
    const size_t most = gxt_small() ? MOST / 8 : MOST;
    gx_ctx *ctx = open_on("sim:cpu-16-cores,sim:gpu-slower-than-cpu", GX_POLICY_AUTO);
    fill(GX_BN254_FR, most);
    calibrate(ctx, GX_BN254_FR, ops, GXT_COUNT(ops), most / 4);
    for (size_t o = 0; o < GXT_COUNT(ops); o++) {
        for (size_t s = 0; s < GXT_COUNT(sizes) && sizes[s] <= most; s++) {
            gx_job job = job_of(ops[o], GX_BN254_FR, sizes[s]);
            gx_report r = routed(ctx, &job);
            assert_string_equal(r.device, "sim:cpu-16-cores");
            assert_int_equal(r.reason, GX_REASON_FASTEST);
        }
    }
    assert_int_equal(device_stats(ctx, "sim:cpu-16-cores").mismatches, 0);
    gx_close(&ctx);
}

/* The same job from host memory and from buffers: copies count. */
static void transfers_count(void **state)
{
    (void)state;
    enum { N = 64 << 10 };
    const gx_field field = GX_BLS12_381_FR;
    const size_t bytes = (size_t)N * 32;
    gx_buf *buf = NULL;
    fill(field, N);
    gx_ctx *ctx =
        open_calibrated("sim:cpu-16-cores,sim:server-h200", GX_POLICY_AUTO, field, GX_ADD, N);
    gx_job job = job_of(GX_ADD, field, N);
    gx_report host = routed(ctx, &job);
    assert_string_equal(host.device, "sim:cpu-16-cores");
    assert_int_equal(gx_buf_create(ctx, "sim:server-h200", 3 * bytes, 0, &buf), GX_OK);
    assert_int_equal(gx_buf_write(buf, 0, in[0], bytes), GX_OK);
    assert_int_equal(gx_buf_write(buf, bytes, in[1], bytes), GX_OK);
    job.a = gx_dev(buf, 0);
    job.b = gx_dev(buf, bytes);
    job.out = gx_dev(buf, 2 * bytes);
    gx_report r = gxt_report();
    for (int i = 0; i < 2; i++)
        assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_OK);
    assert_int_equal(r.reason, GX_REASON_RESIDENT);
    assert_string_equal(r.device, "sim:server-h200");
    assert_true(candidate(&r, "sim:server-h200")->predicted_ns > 0);
    assert_true(r.total_ns < host.total_ns);
    assert_int_equal(gx_buf_read(buf, 2 * bytes, out, bytes), GX_OK);
    job = job_of(GX_ADD, field, N);
    expect_result(ctx, &job);
    gx_buf_destroy(&buf);
    gx_close(&ctx);
}

/* ---- buffers ---- */

static const char slow_home[] = "sim:gpu-steady";

/* Two operands and a result of n elements each, one behind the other, on a device. */
static gx_buf *filled_buffer(gx_ctx *ctx, const char *device, size_t bytes)
{
    gx_buf *buf = NULL;
    assert_int_equal(gx_buf_create(ctx, device, 3 * bytes, 0, &buf), GX_OK);
    assert_int_equal(gx_buf_write(buf, 0, in[0], bytes), GX_OK);
    assert_int_equal(gx_buf_write(buf, bytes, in[1], bytes), GX_OK);
    memset(out, 0x5c, bytes);
    assert_int_equal(gx_buf_write(buf, 2 * bytes, out, bytes), GX_OK);
    return buf;
}

static void expect_in_buffer(gx_ctx *ctx, gx_op op, gx_field field, size_t n, gx_buf *buf,
                             size_t at)
{
    gx_job job = job_of(op, field, n);
    assert_int_equal(gx_buf_read(buf, at, out, n * gxt_element(field)), GX_OK);
    expect_result(ctx, &job);
}

/* A few elements are read, inverted elsewhere and written back, where that takes less time. */
static void small_inversions_move(void **state)
{
    (void)state;
    enum { N = 1000 };
    const gx_field field = GX_BN254_FR;
    const size_t bytes = (size_t)N * 32;
    gx_report r = gxt_report();
    gx_estimate_info e = {.struct_size = sizeof e};
    fill(field, N);
    gx_ctx *ctx = open_on("sim:gpu-steady,sim:cpu-16-cores", GX_POLICY_AUTO);
    calibrate(ctx, field, ops, GXT_COUNT(ops), 4096);
    gx_buf *buf = filled_buffer(ctx, slow_home, bytes);
    gx_job job = {.op = GX_INV, .field = field, .n = N, .a = gx_dev(buf, 0)};
    job.out = gx_dev(buf, 2 * bytes);
    uint64_t home = alone(ctx, &job, slow_home);
    memset(out, 0x5c, bytes);
    assert_int_equal(gx_buf_write(buf, 2 * bytes, out, bytes), GX_OK);
    assert_int_equal(gx_estimate(ctx, &job, 1, NULL, &e), GX_OK);
    assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_OK);
    check_elements(&r, N);
    assert_int_equal(r.reason, GX_REASON_FASTEST);
    assert_string_equal(r.device, "sim:cpu-16-cores");
    assert_string_equal(e.device, "sim:cpu-16-cores");
    print_message("%d inverses: %llu ns at home, %llu moved\n", N, (unsigned long long)home,
                  (unsigned long long)r.total_ns);
    assert_true(r.total_ns < home);
    expect_in_buffer(ctx, GX_INV, field, N, buf, 2 * bytes);

    job.a = job.out; /* in place: back again */
    assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_OK);
    assert_string_equal(r.device, "sim:cpu-16-cores");
    assert_int_equal(gx_buf_read(buf, 2 * bytes, out, bytes), GX_OK);
    assert_memory_equal(out, in[0], bytes);

    /* Sums are done before anything could be read; and what was asked for is done at home. */
    job = (gx_job){.op = GX_ADD, .field = field, .n = N, .a = gx_dev(buf, 0)};
    job.b = gx_dev(buf, bytes);
    job.out = gx_dev(buf, 2 * bytes);
    assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_OK);
    assert_int_equal(r.reason, GX_REASON_RESIDENT);
    assert_string_equal(r.device, slow_home);
    expect_in_buffer(ctx, GX_ADD, field, N, buf, 2 * bytes);

    /* A refused operand leaves the buffer as it was. */
    memset(want, 0xff, 32);
    assert_int_equal(gx_buf_write(buf, 32 * 77, want, 32), GX_OK);
    job.op = GX_INV;
    job.b = (gx_operand){0};
    assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_ERR_NOT_CANONICAL);
    assert_int_equal(r.bad_index, 77);
    expect_in_buffer(ctx, GX_ADD, field, 1, buf, 2 * bytes);
    gx_buf_destroy(&buf);
    gx_close(&ctx);
}

/* One job may have its buffers anywhere, unless a device is named for it. */
static void buffers_of_several_devices(void **state)
{
    (void)state;
    enum { N = 20000 };
    const gx_field field = GX_BN254_FR;
    const size_t bytes = (size_t)N * 32;
    gx_report r = gxt_report();
    gx_ticket *ticket;
    gx_estimate_info e = {.struct_size = sizeof e};
    fill(field, N);
    gx_ctx *ctx = open_on("cpu,sim:gpu-steady,sim:server-h200", GX_POLICY_AUTO);
    gx_buf *one = filled_buffer(ctx, slow_home, bytes);
    gx_buf *two = filled_buffer(ctx, "sim:server-h200", bytes);
    gx_buf *host = filled_buffer(ctx, "cpu", bytes);
    gx_job job = {.op = GX_MUL_ADD, .field = field, .n = N, .a = gx_dev(one, 0)};
    job.b = gx_dev(two, bytes);
    job.c = gx_dev(host, 0);
    job.out = gx_dev(two, 2 * bytes);
    assert_int_equal(gxt_run(ctx, &job, "sim:server-h200", &r), GX_ERR_INVALID);
    assert_int_equal(gx_estimate(ctx, &job, 1, NULL, &e), GX_OK);
    for (int i = 0; i < 2; i++) {
        memset(out, 0x5c, bytes);
        assert_int_equal(gx_buf_write(two, 2 * bytes, out, bytes), GX_OK);
        if (i) {
            assert_int_equal(gx_submit(ctx, &job, 1, NULL, &ticket), GX_OK);
            assert_int_equal(gx_wait(ticket, UINT64_MAX, &r), GX_OK);
            gx_ticket_destroy(&ticket);
        } else {
            assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_OK);
        }
        check_elements(&r, N);
        assert_int_not_equal(r.reason, GX_REASON_RESIDENT);
        assert_int_equal(gx_buf_read(two, 2 * bytes, out, bytes), GX_OK);
        gx_job again = gxt_job(GX_MUL_ADD, field, N, in[0], in[1], in[0], want);
        assert_int_equal(gxt_run(ctx, &again, "cpu", NULL), GX_OK);
        assert_memory_equal(out, want, bytes);
    }
    gx_buf_destroy(&one);
    gx_buf_destroy(&two);
    gx_buf_destroy(&host);
    gx_close(&ctx);
}

/* Results that stay in buffers are vouched for by probes, which come by elements at first, and
 * then no more often than they can be afforded. */
static void probes_are_affordable(void **state)
{
    (void)state;
    enum { N = 1024, PROBE = 256, MOST_CALLS = 10000 };
    gx_buf *buf = NULL;
    gx_config config = {.device = "sim:server-h200,sim:cpu-2-cores",
                        .threads = 1,
                        .cache_dir = "none",
                        .sample_every = 2};
    fill(GX_BN254_FR, N);
    gx_ctx *ctx = gxt_open(&config);
    assert_int_equal(gx_buf_create(ctx, "sim:server-h200", (size_t)N * 64, 0, &buf), GX_OK);
    assert_int_equal(gx_buf_write(buf, 0, in[0], (size_t)N * 32), GX_OK);
    gx_job job = {.op = GX_ADD, .field = GX_BN254_FR, .n = N, .a = gx_dev(buf, 0)};
    job.b = job.a;
    job.out = gx_dev(buf, (size_t)N * 32);
    unsigned calls[3] = {0};
    for (unsigned probes = 0; probes < 3; probes++)
        while (stats_of(ctx).sampled == probes * PROBE && calls[probes]++ < MOST_CALLS)
            assert_int_equal(gxt_run(ctx, &job, NULL, NULL), GX_OK);
    assert_int_equal(calls[0], 2); /* 1024 * sample_every elements */
    assert_true(calls[1] > 100 && calls[1] < MOST_CALLS);
    assert_in_range(calls[2], 101, MOST_CALLS - 1);
    print_message("a probe after %u, %u and %u calls\n", calls[0], calls[1], calls[2]);
    gx_buf_destroy(&buf);
    gx_close(&ctx);
}

static void same_decision(gx_ctx *ctx, size_t n)
{
    gx_job job = job_of(GX_INV, GX_BN254_FR, n);
    gx_candidate room[GX_CANDIDATES_MAX] = {{.struct_size = sizeof *room}};
    gx_estimate_info e = {
        .struct_size = sizeof e, .candidate = room, .candidate_room = GX_CANDIDATES_MAX};
    routed(ctx, &job);
    assert_int_equal(gx_estimate(ctx, &job, 1, NULL, &e), GX_OK);
    gx_report r = routed(ctx, &job);
    assert_string_equal(e.device, r.device);
    assert_int_equal(e.reason, r.reason);
    assert_int_equal(e.candidates, r.candidates);
    for (uint32_t i = 0; i < r.candidates; i++) {
        assert_string_equal(e.candidate[i].device, r.candidate[i].device);
        assert_int_equal(e.candidate[i].predicted_ns, r.candidate[i].predicted_ns);
        assert_int_equal(e.candidate[i].share_ns, r.candidate[i].share_ns);
    }
    assert_true(e.predicted_ns > 0);
    double off = (double)e.predicted_ns / (double)r.total_ns - 1;
    if (off < -0.1 || off > 0.1)
        fail_msg("%zu: %llu ns estimated, %llu taken", n, (unsigned long long)e.predicted_ns,
                 (unsigned long long)r.total_ns);
}

/* What comparing may cost is shared by all jobs of a batch, whatever comes last in it. */
static void every_job_is_sampled(void **state)
{
    (void)state;
    enum {
        JOBS = 4,
        EACH = MOST / JOBS,
        WARM = 20,
        CALLS = 28
    }; /* enough for it to be a matter of cost */
    const gx_field field = GX_BLS12_381_FQ;
    const size_t bytes = (size_t)EACH * gx_field_get_info(field)->element_bytes;
    gx_ctx *ctx = open_on("cpu,sim:server-h200", GX_POLICY_GPU);
    gx_job jobs[JOBS];
    gx_report reports[JOBS];
    gxt_reports(reports, JOBS);
    uint64_t sampled[JOBS] = {0};
    fill(field, (size_t)JOBS * EACH);
    assert_int_equal(gx_host_register(ctx, in[0], JOBS * bytes), GX_OK);
    assert_int_equal(gx_host_register(ctx, out, JOBS * bytes), GX_OK);
    for (size_t i = 0; i < JOBS; i++)
        jobs[i] = gxt_job(i + 1 < JOBS ? GX_SQR : GX_NEG, field, EACH, in[0] + i * bytes, NULL,
                          NULL, out + i * bytes);
    for (int call = 0; call < CALLS; call++) {
        assert_int_equal(gx_run(ctx, jobs, JOBS, NULL, reports), GX_OK);
        for (size_t i = 0; i < JOBS && call >= WARM; i++)
            sampled[i] += reports[i].sampled;
    }
    for (size_t i = 0; i < JOBS; i++)
        assert_true(sampled[i] > 0);
    gx_close(&ctx);
}

static void estimates_agree(void **state)
{
    (void)state;
    const size_t most = gxt_small() ? MOST / 16 : MOST / 4;
    fill(GX_BN254_FR, most);
    gx_ctx *ctx = open_calibrated("sim:cpu-2-cores,sim:laptop-integrated,sim:gpu-of-four",
                                  GX_POLICY_AUTO, GX_BN254_FR, GX_INV, most);
    for (size_t s = 0; s < GXT_COUNT(sizes) && sizes[s] <= most; s++)
        same_decision(ctx, sizes[s]);
    gx_close(&ctx);
}

/* ---- shares ---- */

/* All that had a share were done at about the same time. Shares are multiples of CUT elements,
 * so that small ones may be done earlier. */
static void check_shares(const gx_report *r, double apart)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < r->candidates; i++) {
        const gx_candidate *c = &r->candidate[i];
        if ((double)c->elements >= CUT / (apart - 1) && c->actual_ns < first)
            first = c->actual_ns;
        last = c->actual_ns > last ? c->actual_ns : last;
    }
    if ((double)last > apart * (double)first)
        print_shares(r);
    assert_true((double)last <= apart * (double)first);
    assert_int_equal(last, r->total_ns);
}

static const char four[] =
    "sim:gpu-of-four#1,sim:gpu-of-four#2,sim:gpu-of-four#3,sim:gpu-of-four#4";

static void four_are_as_good_as_that(void **state)
{
    (void)state;
    const size_t n = gxt_small() ? MOST / 4 : MOST / 2;
    fill(GX_BN254_FR, n);
    gx_ctx *ctx = open_calibrated(four, GX_POLICY_AUTO, GX_BN254_FR, GX_INV, n);
    gx_job job = job_of(GX_INV, GX_BN254_FR, n);
    routed(ctx, &job);
    gx_report r = routed(ctx, &job);
    expect_result(ctx, &job);
    assert_int_equal(r.reason, GX_REASON_SPLIT);
    assert_int_equal(r.candidates, 4);
    for (size_t i = 0; i < 4; i++) {
        uint64_t elements = r.candidate[i].elements;
        assert_true(elements % CUT == 0 && elements >= n / 4 * 9 / 10);
        assert_true(r.candidate[i].share_ns > 0);
        gx_device_statistics d = device_stats(ctx, r.candidate[i].device);
        assert_int_equal(d.health, GX_HEALTH_GOOD);
        assert_true(d.elements >= 2 * elements && d.jobs >= 2 && d.busy_ns > 0);
        assert_int_equal(d.waiting_ns, 0);
    }
    check_shares(&r, APART);
    uint64_t one = alone(ctx, &job, "sim:gpu-of-four#3");
    print_message("four equal GPUs: %.2f times one\n", (double)one / (double)r.total_ns);
    assert_true((double)one >= 3.5 * (double)r.total_ns);
    assert_true(stats_of(ctx).decisions_split >= 2);
    gx_close(&ctx);
}

/* Two names of one GPU: either of them, but never both. */
static void one_gpu_of_two_names(void **state)
{
    (void)state;
    static const gx_policy policies[] = {GX_POLICY_AUTO, GX_POLICY_THROUGHPUT};
    for (size_t i = 0; i < GXT_COUNT(policies); i++) {
        gx_ctx *ctx = open_calibrated("cpu,sim:gpu-of-two-names#1,sim:gpu-of-two-names#2",
                                      policies[i], GX_BN254_FR, GX_MUL, MOST);
        fill(GX_BN254_FR, MOST);
        gx_job job = job_of(GX_MUL, GX_BN254_FR, MOST);
        for (int run = 0; run < 8; run++) {
            gx_report r = gxt_report();
            assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_OK);
            bool first = candidate(&r, "sim:gpu-of-two-names#1")->elements,
                 second = candidate(&r, "sim:gpu-of-two-names#2")->elements;
            assert_false(first && second);
        }
        gx_close(&ctx);
    }
}

/* Eight jobs in one call, none of which uses what another writes. */
static void independent_jobs_are_spread(void **state)
{
    (void)state;
    enum { JOBS = 8 };
    const size_t n = MOST / 32, bytes = n * 32;
    gx_job jobs[JOBS];
    gx_report r[JOBS];
    gxt_reports(r, JOBS);
    uint64_t busy[4], most = 0, sum = 0;
    char names[NAMES_MAX][48];
    split_names(four, names);
    fill(GX_BN254_FR, JOBS * n);
    gx_ctx *ctx = open_calibrated(four, GX_POLICY_AUTO, GX_BN254_FR, GX_INV, MOST / 4);
    for (size_t i = 0; i < JOBS; i++)
        jobs[i] = gxt_job(GX_INV, GX_BN254_FR, n, in[0] + i * bytes, NULL, NULL, out + i * bytes);
    assert_int_equal(gx_run(ctx, jobs, JOBS, NULL, r), GX_OK); /* builds what is to be built */
    for (size_t i = 0; i < 4; i++)
        busy[i] = device_stats(ctx, names[i]).busy_ns;
    memset(out, 0x5c, JOBS * bytes);
    assert_int_equal(gx_run(ctx, jobs, JOBS, NULL, r), GX_OK);
    for (size_t i = 0; i < 4; i++) {
        busy[i] = device_stats(ctx, names[i]).busy_ns - busy[i];
        most = busy[i] > most ? busy[i] : most;
        sum += busy[i];
    }
    for (size_t i = 0; i < JOBS; i++) {
        check_elements(&r[i], n);
        jobs[i].out = gx_host(want + i * bytes);
        assert_int_equal(gxt_run(ctx, &jobs[i], "cpu", NULL), GX_OK);
    }
    assert_memory_equal(out, want, JOBS * bytes);
    assert_true((double)most * 4 <= (double)sum * APART);
    gx_close(&ctx);
}

static void unlike_ones_get_unlike_shares(void **state)
{
    (void)state;
    static const char list[] =
        "sim:gpu-of-three-slow,sim:gpu-of-three-fast,sim:gpu-of-three-middle";
    const size_t n = MOST / 4;
    char names[NAMES_MAX][48];
    size_t count = split_names(list, names);
    fill(GX_BN254_FR, n);
    gx_ctx *ctx = open_calibrated(list, GX_POLICY_AUTO, GX_BN254_FR, GX_INV, n);
    gx_job job = job_of(GX_INV, GX_BN254_FR, n);
    routed(ctx, &job);
    gx_report r = routed(ctx, &job);
    expect_result(ctx, &job);
    assert_int_equal(r.reason, GX_REASON_SPLIT);
    assert_string_equal(r.device, "sim:gpu-of-three-fast");
    check_shares(&r, APART);
    double rate = 0, each[NAMES_MAX]; /* of all together, if beginning cost nothing */
    for (size_t i = 0; i < count; i++)
        rate += each[i] = 1 / (double)alone(ctx, &job, names[i]);
    for (size_t i = 0; i < count; i++) {
        double share = (double)candidate(&r, names[i])->elements / (double)n;
        print_message("%s: %.1f %%, by its rate %.1f %%\n", names[i], 100 * share,
                      100 * each[i] / rate);
        assert_true(share > 0 && fabs(share - each[i] / rate) < 0.03);
    }
    assert_true((double)r.total_ns * rate <= 1 + REGRET);
    gx_close(&ctx);
}

/* A job in place that is checked, or not, is right; so is one with an element that is not
 * below the modulus, of which the first is reported, whoever had it. */
static void shares_in_place_and_bad_elements(void **state)
{
    (void)state;
    const gx_field field = GX_BN254_FR;
    const size_t n = MOST / 8, bytes = n * 32;
    fill(field, n);
    gx_ctx *ctx = open_calibrated(four, GX_POLICY_AUTO, field, GX_INV, n);
    for (unsigned trusted = 0; trusted < 2; trusted++) {
        gx_job job = job_of(GX_INV, field, n);
        routed(ctx, &job);
        expect_result(ctx, &job);
        memcpy(out, in[0], bytes);
        job.a = job.out;
        job.flags = trusted ? GX_JOB_UNCHECKED : 0;
        gx_report r = gxt_report();
        assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_OK);
        check_report(&r, n);
        assert_memory_equal(out, want, bytes);
    }
    for (size_t at = 0; at < n; at += n / 7) { /* two of them; the later one is in a later share */
        memcpy(want, in[0], bytes);
        gxt_put_modulus(field, want + at * 32);
        gxt_put_modulus(field, want + (n - 1) * 32);
        memcpy(in[1], want, bytes);
        for (int in_place = 0; in_place < 2; in_place++) {
            gx_job job = gxt_job(GX_INV, field, n, in[1], NULL, NULL, in_place ? in[1] : out);
            gx_report r = gxt_report();
            assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_ERR_NOT_CANONICAL);
            assert_int_equal(r.bad_index, at);
            assert_int_equal(r.bad_operand, 'a');
            assert_memory_equal(in[1], want, bytes);
        }
    }
    for (size_t i = 1; i <= 4; i++) {
        char name[48];
        snprintf(name, sizeof name, "sim:gpu-of-four#%zu", i);
        gx_device_statistics d = device_stats(ctx, name);
        assert_int_equal(d.failures, 0); /* the caller's mistake, not the device's */
        assert_int_equal(d.health, GX_HEALTH_GOOD);
    }
    gx_close(&ctx);
}

/* One call with every operation on every field, in plain and in registered memory: as many parts
 * as a question can have without buffers. */
static void a_wave_of_every_kind(void **state)
{
    (void)state;
    enum { EACH = 64, KINDS_MAX = 2 * (GX_OP_END - 1) * (GX_FIELD_END - 1) };
    gx_job jobs[KINDS_MAX];
    gx_report reports[KINDS_MAX];
    gxt_reports(reports, KINDS_MAX);
    size_t count = 0, half = (size_t)MOST * ELEMENT_MAX / 2, step = EACH * ELEMENT_MAX;
    unsigned char *const arrays[] = {in[0], in[1], out};
    gx_ctx *ctx = open_on("cpu,sim:desktop", GX_POLICY_THROUGHPUT);
    for (size_t i = 0; i < GXT_COUNT(arrays); i++)
        assert_int_equal(gx_host_register(ctx, arrays[i] + half, half), GX_OK);
    for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++)
        for (size_t o = 0; o < GXT_COUNT(gxt_ops); o++)
            for (size_t where = 0; where <= half; where += half) {
                size_t at = where + count * step;
                uint64_t seed = 7 + count;
                if (!gx_op_exists(gxt_ops[o], gxt_fields[f]))
                    continue;
                gxt_fill(&seed, gxt_fields[f], in[0] + at, EACH);
                gxt_fill(&seed, gxt_fields[f], in[1] + at, EACH);
                assert_true(count < KINDS_MAX);
                jobs[count++] = gxt_job(gxt_ops[o], gxt_fields[f], EACH, in[0] + at, in[1] + at,
                                        in[1] + at, out + at);
            }
    assert_int_equal(gx_run(ctx, jobs, count, NULL, reports), GX_OK);
    for (size_t i = 0; i < count; i++) {
        gx_job again = jobs[i];
        again.out = gx_host(want);
        assert_int_equal(gxt_run(ctx, &again, "ref", NULL), GX_OK);
        assert_memory_equal(jobs[i].out.host, want,
                            gxt_results(again.op, EACH) * gxt_element(again.field));
    }
    gx_close(&ctx);
}

/* Each job reads what the one before wrote: nothing to spread, and in order. */
static void chains_keep_their_order(void **state)
{
    (void)state;
    const gx_field field = GX_BN254_FR;
    const size_t n = MOST / 16, bytes = n * 32;
    fill(field, n);
    gx_ctx *ctx = open_calibrated(four, GX_POLICY_AUTO, field, GX_INV, n);
    gx_job jobs[5];
    for (size_t i = 0; i < GXT_COUNT(jobs); i++)
        jobs[i] = gxt_job(i % 2 ? GX_INV : GX_MUL, field, n, i ? out : in[0], in[1], NULL, out);
    assert_int_equal(gx_run(ctx, jobs, GXT_COUNT(jobs), NULL, NULL), GX_OK);
    for (size_t i = 0; i < GXT_COUNT(jobs); i++)
        jobs[i].out = gx_host(want);
    for (size_t i = 1; i < GXT_COUNT(jobs); i++)
        jobs[i].a = gx_host(want);
    gx_run_params opts = {.device = "cpu"};
    assert_int_equal(gx_run(ctx, jobs, GXT_COUNT(jobs), &opts, NULL), GX_OK);
    assert_memory_equal(out, want, bytes);
    gx_close(&ctx);
}

/* ---- a device that becomes slow ---- */

static const char slowing[] = "sim:gpu-slows-down,sim:gpu-steady";

/* Whatever it is called there, the file of the cache folder must be the same one: the
 * calibration has its own context, so that the clock of the other begins at 0. */
static gx_ctx *open_anew(const char *devices, char *folder, gx_field field, gx_op op, size_t most)
{
    gx_config config = {.device = devices, .threads = 1, .cache_dir = folder};
    gx_ctx *ctx = gxt_open(&config);
    for (int i = 0; i < 2; i++)
        assert_int_equal(gx_host_register(ctx, in[i], (size_t)MOST * ELEMENT_MAX), GX_OK);
    assert_int_equal(gx_host_register(ctx, out, (size_t)MOST * ELEMENT_MAX), GX_OK);
    calibrate(ctx, field, &op, 1, most);
    gx_close(&ctx);
    return gxt_open(&config);
}

static gx_ctx *open_slowing(char *folder)
{
    return open_anew(slowing, folder, GX_BN254_FR, GX_INV, MOST / 16);
}

static void remove_folder(const char *folder)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void adapts_to_a_slow_down(void **state)
{
    (void)state;
    char folder[] = "/tmp/gx-slow-XXXXXX";
    assert_non_null(mkdtemp(folder));
    gx_ctx *ctx = open_slowing(folder);
    const size_t n = MOST / 16;
    fill(GX_BN254_FR, n);
    gx_job job = job_of(GX_INV, GX_BN254_FR, n);
    gx_report r = routed(ctx, &job), before;
    r = routed(ctx, &job);
    assert_int_equal(r.reason, GX_REASON_SPLIT);
    assert_string_equal(r.device, "sim:gpu-slows-down");
    check_shares(&r, APART);
    unsigned batches = 2;
    for (; batches < 1000; batches++) {
        before = r;
        r = routed(ctx, &job);
        if (r.total_ns > before.total_ns * 2)
            break;
    }
    assert_true(batches < 1000); /* it did slow down */
    for (int i = 0; i < 19; i++)
        r = routed(ctx, &job);
    print_message("slowed down after %u batches; 20 later: %llu ns, %llu before\n", batches,
                  (unsigned long long)r.total_ns, (unsigned long long)before.total_ns);
    assert_string_equal(r.device, "sim:gpu-steady");
    check_shares(&r, APART);
    uint64_t slow = alone(ctx, &job, "sim:gpu-slows-down");
    uint64_t other = alone(ctx, &job, "sim:gpu-steady");
    double ideal = 1 / (1 / (double)slow + 1 / (double)other);
    assert_true((double)r.total_ns <= (1 + REGRET) * ideal);
    expect_result(ctx, &job);
    gx_close(&ctx);
    remove_folder(folder);
}

/* A server's CPU, and its GPU reading registered memory: the CPU alone is more than twice as
 * fast, and both together faster still. One call that goes wrong does not end that. */
static void one_slow_split_is_no_end(void **state)
{
    (void)state;
    char folder[] = "/tmp/gx-slow-XXXXXX";
    const size_t n = MOST;
    assert_non_null(mkdtemp(folder));
    gx_ctx *ctx = open_anew("sim:cpu-8-cores,sim:gpu-stumbles", folder, GX_BLS12_381_FQ, GX_MUL, n);
    for (int i = 0; i < 3; i++)
        assert_int_equal(gx_host_register(ctx, i < 2 ? in[i] : out, (size_t)MOST * ELEMENT_MAX),
                         GX_OK);
    fill(GX_BLS12_381_FQ, n);
    gx_job job = job_of(GX_MUL, GX_BLS12_381_FQ, n);
    uint64_t before = 0, slow = 0;
    unsigned calls = 0;
    for (; calls < 40 && (!before || slow < 5 * before); calls++) {
        gx_report r = routed(ctx, &job);
        assert_int_equal(r.reason, GX_REASON_SPLIT);
        before = slow;
        slow = r.total_ns;
    }
    assert_in_range(calls, 4, 39); /* it stumbled, and not at once */
    for (int i = 0; i < 4; i++) {
        gx_report r = routed(ctx, &job);
        assert_int_equal(r.reason, GX_REASON_SPLIT);
        assert_in_range(r.total_ns, before * 95 / 100, before * 105 / 100);
        check_shares(&r, APART);
    }
    expect_result(ctx, &job);
    uint64_t cpu = alone(ctx, &job, "sim:cpu-8-cores"), gpu = alone(ctx, &job, "sim:gpu-stumbles");
    print_message("CPU %llu ns, GPU %llu, together %llu; call %u took %llu\n",
                  (unsigned long long)cpu, (unsigned long long)gpu, (unsigned long long)before,
                  calls, (unsigned long long)slow);
    assert_true(gpu > 2 * cpu);
    assert_true((double)before * 1.15 <= (double)cpu);
    gx_close(&ctx);
    remove_folder(folder);
}

/* ---- policies ---- */

static gx_report with_policy(gx_ctx *ctx, gx_policy policy, const gx_job *job)
{
    gx_run_params opts = {.policy = policy};
    gx_report r = gxt_report();
    assert_int_equal(gx_run(ctx, job, 1, &opts, &r), GX_OK);
    check_report(&r, job->n);
    return r;
}

static void policies(void **state)
{
    (void)state;
    static const char list[] = "sim:gpu-of-three-slow,sim:gpu-of-three-fast";
    const size_t n = MOST / 8;
    fill(GX_BN254_FR, n);
    gx_ctx *ctx = open_calibrated(list, GX_POLICY_AUTO, GX_BN254_FR, GX_INV, n);
    gx_job job = job_of(GX_INV, GX_BN254_FR, n);
    /* The slow one would gain 4 %: less than a split has to promise, but something. */
    gx_report r = with_policy(ctx, GX_POLICY_AUTO, &job);
    assert_int_equal(r.reason, GX_REASON_FASTEST);
    assert_string_equal(r.device, "sim:gpu-of-three-fast");
    r = with_policy(ctx, GX_POLICY_THROUGHPUT, &job);
    assert_int_equal(r.reason, GX_REASON_SPLIT);
    r = with_policy(ctx, GX_POLICY_CPU, &job); /* there, though it is not in the list */
    assert_int_equal(r.reason, GX_REASON_ONLY);
    assert_string_equal(r.device, "cpu");
    r = with_policy(ctx, GX_POLICY_GPU, &job);
    assert_string_equal(r.device, "sim:gpu-of-three-fast");
    expect_result(ctx, &job);
    gx_close(&ctx);
}

static void policy_gpu_needs_one(void **state)
{
    (void)state;
    uint32_t x[3] = {1, 2, 3}, y[3] = {0};
    gx_job job = gxt_job(GX_MUL, GX_U32, 3, x, x, NULL, y);
    gx_ctx *ctx = open_on(NULL, GX_POLICY_GPU); /* there is no GPU, see set_up */
    gx_report r = gxt_report();
    assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_ERR_NO_DEVICE);
    assert_int_equal(r.reason, GX_REASON_NONE);
    assert_true(r.message[0]);
    assert_int_equal(y[2], 0);
    gx_run_params opts = {.policy = GX_POLICY_CPU};
    assert_int_equal(gx_run(ctx, &job, 1, &opts, &r), GX_OK);
    assert_string_equal(r.device, "cpu");
    assert_int_equal(r.reason, GX_REASON_ONLY);
    opts.policy = GX_POLICY_THROUGHPUT + 1;
    assert_int_equal(gx_run(ctx, &job, 1, &opts, &r), GX_ERR_INVALID);
    gx_close(&ctx);

    gx_config config = {.policy = GX_POLICY_THROUGHPUT + 1};
    assert_int_equal(gx_open(&config, &ctx), GX_ERR_INVALID);
    ctx = open_on(NULL, GX_POLICY_AUTO);
    assert_int_equal(gxt_run(ctx, &job, NULL, &r), GX_OK);
    assert_string_equal(r.device, "cpu");
    assert_true(r.reason == GX_REASON_ONLY || r.reason == GX_REASON_SMALL);
    gx_close(&ctx);
}

/* ---- before anything is known ---- */

static void defaults_say_so(void **state)
{
    (void)state;
    const size_t large = GX_DEFAULT_GPU_ELEMS;
    fill(GX_U32, MOST);
    gx_ctx *ctx = open_on("cpu,sim:server-h200", GX_POLICY_AUTO);
    gx_job job = job_of(GX_ADD, GX_U32, 100);
    assert_int_equal(routed(ctx, &job).reason, GX_REASON_SMALL);
    job.n = large;
    gx_report r = routed(ctx, &job);
    assert_int_equal(r.reason, GX_REASON_DEFAULT);
    assert_string_equal(r.device, "sim:server-h200");
    assert_int_equal(candidate(&r, "sim:server-h200")->predicted_ns, 0);
    expect_result(ctx, &job);
    job.op = GX_MUL;
    job.n = large - 1;
    r = routed(ctx, &job);
    assert_int_equal(r.reason, GX_REASON_DEFAULT);
    assert_string_equal(r.device, "cpu");
    assert_int_equal(stats_of(ctx).decisions_default, 2);
    assert_int_equal(stats_of(ctx).routed_ns, 0); /* small, and not predicted */
    assert_int_equal(stats_of(ctx).routed_best_ns, 0);
    size_t count = 0;
    assert_int_equal(gx__model(ctx, NULL, &count), GX_OK);
    gx_close(&ctx);
}

/* The device that a job gets before anything is known: by its products, not its elements. */
static void default_goes_to(gx_op op, gx_curve curve, size_t n, const void *params,
                            const char *device)
{
    const gx_field field = GX_BN254_FR;
    gx_ctx *ctx = open_on("cpu,sim:server-h200", GX_POLICY_AUTO);
    gx_job job = job_of(op, field, n);
    union {
        gx_ntt_params ntt;
        gx_msm_params msm;
    } with;
    gx_domain *domain = NULL;
    gx_points *points = NULL;
    if (op == GX_NTT) {
        const gx_domain_params desc = {.struct_size = sizeof desc, .field = field, .log2_size = 15};
        with.ntt = *(const gx_ntt_params *)params;
        assert_int_equal(gx_domain_create(ctx, &desc, &domain), GX_OK);
        with.ntt.domain = domain;
    } else if (op == GX_MSM) {
        const gx_points_params desc = {.struct_size = sizeof desc,
                                       .curve = curve,
                                       .form = GX_POINT_XY_MONT,
                                       .points = params,
                                       .count = n};
        assert_int_equal(gx_points_create(ctx, &desc, &points, NULL), GX_OK);
        with.msm = (gx_msm_params){.struct_size = sizeof with.msm,
                                   .points = points,
                                   .count = n,
                                   .result_form = GX_POINT_XY_MONT};
    }
    job.params = params ? &with : NULL;
    gx_report r = routed(ctx, &job);
    assert_int_equal(r.reason, GX_REASON_DEFAULT);
    if (strcmp(r.device, device))
        fail_msg("%zu elements of %s go to %s", n, gx_op_get_info(op)->name, r.device);
    gx_domain_destroy(&domain);
    gx_points_destroy(&points);
    gx_close(&ctx);
}

static void defaults_count_work(void **state)
{
    (void)state;
    static const char gpu[] = "sim:server-h200";
    enum { POINTS = 4096 };
    gx_ntt_params ntt = {.struct_size = sizeof ntt, .log2_n = 13};
    fill(GX_BN254_FR, GX_DEFAULT_GPU_ELEMS);
    default_goes_to(GX_MUL, 0, GX_DEFAULT_GPU_ELEMS - 1, NULL, "cpu");
    default_goes_to(GX_MUL, 0, GX_DEFAULT_GPU_ELEMS, NULL, gpu);
    default_goes_to(GX_INV, 0, GX_DEFAULT_GPU_ELEMS / 4 - 1, NULL, "cpu");
    default_goes_to(GX_INV, 0, GX_DEFAULT_GPU_ELEMS / 4, NULL, gpu);
    default_goes_to(GX_NTT, 0, (size_t)1 << 13, &ntt, "cpu");
    ntt.log2_n = 15;
    default_goes_to(GX_NTT, 0, (size_t)1 << 15, &ntt, gpu);
    uint64_t *points = calloc(POINTS, 128); /* infinity does as well */
    assert_non_null(points);
    for (gx_curve c = GX_BN254_G1; c <= GX_BN254_G2; c++) {
        default_goes_to(GX_MSM, c, POINTS / 4, points, "cpu");
        default_goes_to(GX_MSM, c, POINTS, points, gpu);
    }
    free(points);
}

/* Without calibration it finds out by itself, and what that costs is bounded. */
static void exploring_is_bounded(void **state)
{
    (void)state;
    enum { CALLS = 100 };
    const size_t n = MOST / 16;
    fill(GX_BN254_FR, n);
    gx_ctx *ctx = open_on("sim:gpu-slower-than-cpu,sim:cpu-16-cores", GX_POLICY_AUTO);
    gx_job job = job_of(GX_INV, GX_BN254_FR, n);
    uint64_t sum = 0, defaults = 0, explored = 0, took = 0, least = 0;
    gx_report r = gxt_report();
    for (int i = 0; i < CALLS; i++) {
        r = routed(ctx, &job);
        add_estimate(&r, &took, &least);
        sum += r.total_ns;
        defaults += r.reason == GX_REASON_DEFAULT;
        explored += r.reason == GX_REASON_EXPLORED;
    }
    assert_string_equal(r.device, "sim:cpu-16-cores");
    assert_int_equal(r.reason, GX_REASON_FASTEST);
    struct gx_statistics s = stats_of(ctx);
    assert_int_equal(s.decisions_default, defaults);
    assert_int_equal(s.decisions_explored, explored);
    assert_true(explored > 0);
    assert_int_equal(s.routed_ns, took);
    assert_int_equal(s.routed_best_ns, least);
    assert_true(took > 0 && took < sum); /* the defaults are not in it */
    /* What was lost: to the default, which is taken until its own time is known, and to
     * exploring, whose last step may go over. */
    uint64_t best = alone(ctx, &job, "sim:cpu-16-cores");
    uint64_t other = alone(ctx, &job, "sim:gpu-slower-than-cpu");
    print_message("%d calls: %llu by default, %llu to explore; %.1f ms, %.1f at best\n", CALLS,
                  (unsigned long long)defaults, (unsigned long long)explored, (double)sum / 1e6,
                  (double)best * CALLS / 1e6);
    assert_true(sum <= best * CALLS + sum / 20 + 20000000 + (defaults + 1) * other);
    assert_true(defaults <= 8);
    gx_close(&ctx);
}

/* ---- load ---- */

/* Tickets that are under way count: two equal devices share them. */
static void load_counts(void **state)
{
    (void)state;
    enum { TICKETS = 32 };
    static const char pair[] = "sim:gpu-of-four#1,sim:gpu-of-four#2";
    const size_t n = MOST / 8, bytes = n * 32;
    gx_ticket *tickets[TICKETS];
    fill(GX_BN254_FR, n);
    gx_ctx *ctx = open_calibrated(pair, GX_POLICY_AUTO, GX_BN254_FR, GX_INV, n);
    unsigned char *outs = gxt_alloc(TICKETS * bytes);
    uint64_t before[2] = {device_stats(ctx, "sim:gpu-of-four#1").jobs,
                          device_stats(ctx, "sim:gpu-of-four#2").jobs};
    for (size_t i = 0; i < TICKETS; i++) { /* in place: never in parts */
        unsigned char *x = memcpy(outs + i * bytes, in[0], bytes);
        gx_job job = gxt_job(GX_INV, GX_BN254_FR, n, x, NULL, NULL, x);
        assert_int_equal(gx_submit(ctx, &job, 1, NULL, &tickets[i]), GX_OK);
    }
    gx_job job = job_of(GX_INV, GX_BN254_FR, n);
    assert_int_equal(gxt_run(ctx, &job, "cpu", NULL), GX_OK);
    for (size_t i = 0; i < TICKETS; i++) {
        gx_report r = gxt_report();
        assert_int_equal(gx_wait(tickets[i], UINT64_MAX, &r), GX_OK);
        check_report(&r, n);
        assert_memory_equal(outs + i * bytes, out, bytes);
        gx_ticket_destroy(&tickets[i]);
    }
    assert_true(device_stats(ctx, "sim:gpu-of-four#1").jobs > before[0]);
    assert_true(device_stats(ctx, "sim:gpu-of-four#2").jobs > before[1]);
    free(outs);
    gx_close(&ctx);
}

/* ---- the model ---- */

static int cancel(void *user, double done, const char *device, const char *what)
{
    assert_true(done >= 0 && done <= 1);
    assert_true(!device || strchr(device, ':'));
    (void)what;
    return ++*(int *)user >= 5;
}

static void calibration_can_be_ended(void **state)
{
    (void)state;
    int steps = 0;
    gx_ctx *ctx = open_on(slowing, GX_POLICY_AUTO);
    gx_calibrate_params settings = {.max_elems = 4096, .progress = cancel, .user = &steps};
    assert_int_equal(gx_calibrate(ctx, &settings), GX_ERR_CANCELLED);
    assert_int_equal(steps, 5);
    gx_close(&ctx);
}

static void the_model_can_be_read(void **state)
{
    (void)state;
    const gx_field field = GX_BN254_FR;
    gx_ctx *ctx = open_calibrated(slowing, GX_POLICY_AUTO, field, GX_INV, 16384);
    size_t count = 0, given;
    assert_int_equal(gx__model(ctx, NULL, &count), GX_OK);
    assert_true(count >= 2 * 5); /* of each at least 64, 256, 1K, 4K, 16K */
    struct gx_model_row *rows = gxt_alloc(count * sizeof *rows);
    given = count - 1; /* what has no room is counted and not written */
    rows[count - 1].n = 0x5c5c;
    assert_int_equal(gx__model(ctx, rows, &given), GX_OK);
    assert_int_equal(given, count);
    assert_int_equal(rows[count - 1].n, 0x5c5c);
    assert_int_equal(gx__model(ctx, rows, &given), GX_OK);
    fill(field, 16384);
    unsigned seen = 0;
    for (size_t i = 0; i < count; i++) {
        const struct gx_model_row *row = &rows[i];
        assert_true(row->op == GX_INV && row->field == field);
        assert_true(row->n >= 64 && row->n <= 16384);
        assert_true(row->ns > 0 && row->slow_ns >= row->ns && row->samples > 0 && row->age_s < 60);
        if (row->residency != GX_HOST_MEMORY || row->n != 16384)
            continue;
        gx_job job = job_of(GX_INV, field, 16384);
        double off = (double)row->ns / (double)alone(ctx, &job, row->device) - 1;
        assert_true(off < REGRET && off > -REGRET);
        seen++;
    }
    assert_int_equal(seen, 2);
    free(rows);
    gx_close(&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regret_is_small),
        cmocka_unit_test(nothing_for_the_slow_one),
        cmocka_unit_test(transfers_count),
        cmocka_unit_test(small_inversions_move),
        cmocka_unit_test(buffers_of_several_devices),
        cmocka_unit_test(probes_are_affordable),
        cmocka_unit_test(every_job_is_sampled),
        cmocka_unit_test(estimates_agree),
        cmocka_unit_test(four_are_as_good_as_that),
        cmocka_unit_test(one_gpu_of_two_names),
        cmocka_unit_test(independent_jobs_are_spread),
        cmocka_unit_test(unlike_ones_get_unlike_shares),
        cmocka_unit_test(shares_in_place_and_bad_elements),
        cmocka_unit_test(a_wave_of_every_kind),
        cmocka_unit_test(chains_keep_their_order),
        cmocka_unit_test(adapts_to_a_slow_down),
        cmocka_unit_test(one_slow_split_is_no_end),
        cmocka_unit_test(policies),
        cmocka_unit_test(policy_gpu_needs_one),
        cmocka_unit_test(defaults_say_so),
        cmocka_unit_test(defaults_count_work),
        cmocka_unit_test(exploring_is_bounded),
        cmocka_unit_test(load_counts),
        cmocka_unit_test(calibration_can_be_ended),
        cmocka_unit_test(the_model_can_be_read),
    };
    return cmocka_run_group_tests_name("route-sim", tests, set_up, tear_down);
}
