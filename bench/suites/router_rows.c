/* SPDX-License-Identifier: Apache-2.0
 *
 * Suite router of bench-suites, the rows apart from the table: a large job on all devices
 * together, a chain of products on resident data, and the cost of a decision.
 */
#include <math.h>
#include <string.h>

#include "progress.h"
#include "router.h"

enum {
    LARGE = 16 << 20,
    CHAIN = 32,
    CHAIN_ELEMS = 4 << 20,
    SMALL = 64,     /* too small for a decision */
    DECIDED = 2048, /* large enough for one, possibly doubled */
    SURE_CALLS = 32,
    LARGE_SAMPLES = 7,
    CALL_SAMPLES = 301
};

#define FIELD   GX_BLS12_381_FQ
#define LARGE_S 2.0
#define CALLS_S 1.0

static const router_series add = {GX_ADD, 0}, mul = {GX_MUL, 0};

static const router_part part_rows = {
    "rows", "All devices together, a chain, and the cost of deciding",
    ROUTER_BIT(ROUTER_WHAT) | ROUTER_BIT(ROUTER_ELEMENTS) | ROUTER_BIT(ROUTER_DEVICE) |
        ROUTER_BIT(ROUTER_MEDIAN) | ROUTER_BIT(ROUTER_CHOSEN) | ROUTER_BIT(ROUTER_TIMES) |
        ROUTER_BIT(ROUTER_VALUE)};

/* Times: speedup over `against`. value: difference in us, where that is what matters. */
static bool show(router *r, const char *what, const router_way *way, const gx_report *report,
                 double against, bool over)
{
    char chosen[200];
    router_row row = {.what = what,
                      .field = FIELD,
                      .op = way->jobs->op,
                      .elements = way->jobs->n,
                      .way = way,
                      ROUTER_NO_RATES};
    row.times = against / way->ns.median;
    if (over)
        row.value = (way->ns.median - against) / 1e3;
    if (report) {
        router_chosen(report, true, chosen, sizeof chosen);
        row.chosen = chosen;
        row.reason = gx_reason_name(report->reason);
    }
    return router_show(r, &row);
}

/* Runs all variants once, then alternately, and prints a row each. The last one is the router's;
 * its speedup is over the best of the others. */
static int run_ways(router *r, const char *what, router_way *ways, size_t count, size_t samples,
                    double budget_s, bool over)
{
    static gx_candidate room[GX_CANDIDATES_MAX] = {{.struct_size = sizeof *room}};
    static gx_report reports[CHAIN] = {
        {.struct_size = sizeof *reports, .candidate = room, .candidate_room = GX_CANDIDATES_MAX}};
    int rc = EXIT_DONE;
    for (size_t i = 0; rc == EXIT_DONE && i < count; i++)
        rc = router_call(r, &ways[i], reports);
    if (rc == EXIT_DONE)
        rc = router_time(r, ways, count, samples, budget_s);
    if (rc == EXIT_DONE)
        rc = router_call(r, &ways[count - 1], reports);
    if (rc != EXIT_DONE)
        return rc;
    double best = ways[0].ns.median;
    for (size_t i = 1; i + 1 < count; i++)
        best = ways[i].ns.median < best ? ways[i].ns.median : best;
    bool fine = true;
    for (size_t i = 0; fine && i < count; i++)
        fine = show(r, what, &ways[i], i + 1 < count ? NULL : reports, best, over);
    progress_add(1);
    return fine ? EXIT_DONE : EXIT_FAILED;
}

static size_t at_most(const router *r, size_t n)
{
    return n < r->room ? n : r->room;
}

/* ---- together ---- */

static int together(router *r)
{
    const gx_job job = router_job(r, &mul, at_most(r, LARGE));
    router_way ways[ROUTER_WAYS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < r->candidates; i++)
        ways[count++] = (router_way){.name = r->names[i],
                                     .opts = {.device = r->names[i]},
                                     .jobs = &job,
                                     .count = 1,
                                     .warm = true};
    ways[count++] = (router_way){.name = "auto", .jobs = &job, .count = 1, .warm = true};
    int rc = router_register(r, true);
    if (rc == EXIT_DONE)
        rc = run_ways(r, "mul on registered memory", ways, count, LARGE_SAMPLES, LARGE_S, false);
    int undone = router_register(r, false);
    return rc == EXIT_DONE ? undone : rc;
}

/* ---- a chain ---- */

/* x = x * b repeatedly, alternating between two buffers. */
static void make_chain(const router *r, gx_buf *buf, size_t n, gx_job *jobs)
{
    size_t bytes = n * r->element_bytes;
    for (size_t i = 0; i < CHAIN; i++) {
        jobs[i] = (gx_job){.op = GX_MUL, .field = FIELD, .n = n};
        jobs[i].a =
            buf ? gx_dev(buf, i % 2 ? 2 * bytes : 0) : gx_host(i % 2 ? r->result : r->operand[0]);
        jobs[i].b = buf ? gx_dev(buf, bytes) : gx_host(r->operand[1]);
        jobs[i].out =
            buf ? gx_dev(buf, i % 2 ? 0 : 2 * bytes) : gx_host(i % 2 ? r->operand[0] : r->result);
    }
}

static int chain_on(router *r, size_t candidate)
{
    static gx_job resident[CHAIN], host[CHAIN];
    const char *home = r->names[candidate];
    const size_t n = at_most(r, CHAIN_ELEMS), bytes = n * r->element_bytes;
    gx_buf *buf = NULL;
    gx_status s = gx_buf_create(r->ctx, home, 3 * bytes, 0, &buf);
    for (unsigned k = 0; k < 2 && s == GX_OK; k++)
        s = gx_buf_write(buf, k * bytes, r->operand[k], bytes);
    make_chain(r, buf, n, resident);
    make_chain(r, NULL, n, host);
    router_way ways[] = {{.name = r->names[r->cpu],
                          .opts = {.device = r->names[r->cpu]},
                          .jobs = host,
                          .count = CHAIN,
                          .warm = true},
                         {.name = "auto", .jobs = resident, .count = CHAIN, .warm = true}};
    int rc = s == GX_OK
                 ? run_ways(r, "32 muls on resident data", ways, 2, LARGE_SAMPLES, LARGE_S, false)
                 : router_failed(s, NULL, 0);
    gx_buf_destroy(&buf);
    return rc;
}

/* ---- the decision ---- */

/* Doubles the size until the router reliably makes a decision. */
static size_t decided(router *r, size_t n)
{
    for (int calls = 0; n < r->room && calls < SURE_CALLS; calls++) {
        const gx_job job = router_job(r, &add, n);
        const router_way way = {.jobs = &job, .count = 1};
        gx_report report = {.struct_size = sizeof report};
        if (router_call(r, &way, &report) != EXIT_DONE)
            break;
        if (report.reason == GX_REASON_SMALL) {
            n *= 2;
            calls = -1;
        }
    }
    return 2 * n;
}

static int decision(router *r, const char *what, size_t n)
{
    const gx_job job = router_job(r, &add, at_most(r, n));
    router_way ways[] = {
        {.name = "cpu", .opts = {.policy = GX_POLICY_CPU}, .jobs = &job, .count = 1},
        {.name = "auto", .jobs = &job, .count = 1}};
    return run_ways(r, what, ways, 2, CALL_SAMPLES, CALLS_S, true);
}

/* ---- all ---- */

uint64_t router_rows_steps(const router *r)
{
    return r->cpu < r->candidates ? 2 + r->candidates : 1;
}

int router_rows(router *r)
{
    int rc = router_fill(r, FIELD);
    if (rc == EXIT_DONE)
        rc = router_begin(r, &part_rows);
    if (rc == EXIT_DONE)
        rc = together(r);
    if (r->cpu == GX_CANDIDATES_MAX) /* the other rows are relative to the CPU */
        return rc;
    for (size_t i = 0; rc == EXIT_DONE && i < r->candidates; i++)
        if (i != r->cpu)
            rc = chain_on(r, i);
    if (rc == EXIT_DONE)
        rc = decision(r, "too small to decide: us over policy cpu", SMALL);
    if (rc == EXIT_DONE)
        rc = decision(r, "decided: us over policy cpu", decided(r, DECIDED));
    return rc;
}
