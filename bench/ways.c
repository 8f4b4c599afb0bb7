/* SPDX-License-Identifier: Apache-2.0
 *
 * How many functions a call passes, and how deep: built by ways.sh without optimisation, with a
 * hook at the start and end of every function of the library. Each way runs until it is warm, and
 * one call more is counted. Prints the addresses of the functions, which ways.sh looks up.
 */
#define _GNU_SOURCE /* dladdr, strsep */
#include <dlfcn.h>
#include <gpuexec.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNSEEN __attribute__((no_instrument_function))

enum { FUNCTIONS = 4096, DEPTH = 256, WARM = 4, TRIES = 64 };

static atomic_bool counting;
static _Atomic(void *) functions[FUNCTIONS];
static atomic_size_t calls;
static _Thread_local void *stack[DEPTH];
static _Thread_local size_t depth;
static atomic_size_t deepest;
static void *chain[DEPTH];

void __cyg_profile_func_enter(void *function, void *from) UNSEEN;
void __cyg_profile_func_exit(void *function, void *from) UNSEEN;

static UNSEEN void note(void *function)
{
    for (size_t i = ((size_t)function >> 4) % FUNCTIONS;; i = (i + 1) % FUNCTIONS) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&functions[i], &none, function) || none == function)
            return;
    }
}

void __cyg_profile_func_enter(void *function, void *from)
{
    (void)from;
    if (depth < DEPTH)
        stack[depth] = function;
    depth++;
    if (!atomic_load(&counting))
        return;
    atomic_fetch_add(&calls, 1);
    note(function);
    size_t most = atomic_load(&deepest);
    if (depth > most && depth <= DEPTH && atomic_compare_exchange_strong(&deepest, &most, depth))
        memcpy(chain, stack, depth * sizeof *chain);
}

void __cyg_profile_func_exit(void *function, void *from)
{
    (void)function;
    (void)from;
    depth--;
}

static UNSEEN void print_address(const char *what, void *function)
{
    Dl_info info;
    if (dladdr(function, &info))
        printf("%s %#zx\n", what, (size_t)((char *)function - (char *)info.dli_fbase));
}

static UNSEEN void fail(const char *what)
{
    fprintf(stderr, "ways: %s: %s\n", what, gx_last_message());
    exit(1);
}

/* ---- the calls ---- */

struct call {
    gx_ctx *ctx;
    gx_job job;
    const char *device; /* NULL: any */
    void *in, *out;
    gx_buf *buf;
    gx_domain *domain;
    gx_points *points;
    gx_ntt_params ntt;
    gx_msm_params msm;
};

static UNSEEN void check(gx_status s, const char *what)
{
    if (s != GX_OK)
        fail(what);
}

/* Products of elements in host memory. */
static UNSEEN void make_products(struct call *c, size_t n)
{
    c->in = calloc(n, 48);
    c->out = malloc(n * 48);
    c->job = (gx_job){.op = GX_MUL, .field = GX_BLS12_381_FQ, .n = n};
    c->job.a = c->job.b = gx_host(c->in);
    c->job.out = gx_host(c->out);
}

/* A transform in the memory of the device, which the call names. */
static UNSEEN void make_transform(struct call *c, size_t n, const char *device)
{
    gx_domain_params domain = {.struct_size = sizeof domain, .field = GX_BLS12_381_FR};
    while ((size_t)1 << domain.log2_size < n)
        domain.log2_size++;
    c->device = device;
    c->in = calloc(n, 32);
    check(gx_domain_create(c->ctx, &domain, &c->domain), "gx_domain_create");
    check(gx_buf_create(c->ctx, device, n * 32, 0, &c->buf), "gx_buf_create");
    check(gx_buf_write(c->buf, 0, c->in, n * 32), "gx_buf_write");
    c->ntt = (gx_ntt_params){
        .struct_size = sizeof c->ntt, .domain = c->domain, .log2_n = domain.log2_size};
    c->job = gx_ntt(&c->ntt, 1, gx_dev(c->buf, 0), gx_dev(c->buf, 0));
}

/* Multiples of the generator. */
static UNSEEN void make_points(struct call *c, const void *scalars, size_t n, void *xy)
{
    const gx_points_params one = {.struct_size = sizeof one,
                                  .curve = GX_BLS12_381_G1,
                                  .form = GX_POINT_XY_MONT,
                                  .points = gx_curve_get_info(GX_BLS12_381_G1)->generator,
                                  .count = 1};
    gx_msm_params each = {.struct_size = sizeof each, .count = 1, .result_form = GX_POINT_XY_MONT};
    gx_points *generator;
    check(gx_points_create(c->ctx, &one, &generator, NULL), "gx_points_create");
    each.points = generator;
    const gx_job job = gx_msm(&each, n, gx_host((void *)(uintptr_t)scalars), gx_host(xy));
    check(gx_run(c->ctx, &job, 1, NULL, NULL), "gx_run");
    gx_points_destroy(&generator);
}

/* A sum of points with scalars in host memory. */
static UNSEEN void make_sum(struct call *c, size_t n)
{
    gx_points_params points = {.struct_size = sizeof points,
                               .curve = GX_BLS12_381_G1,
                               .form = GX_POINT_XY_MONT,
                               .count = n};
    void *xy = malloc(n * 96);
    unsigned char *scalars = c->in = malloc(n * 32);
    for (size_t i = 0; i < n * 32; i++)
        scalars[i] = (unsigned char)(i * 2654435761u >> 13);
    for (size_t i = 0; i < n; i++)
        scalars[i * 32 + 31] &= 0x3f; /* below the order */
    make_points(c, scalars, n, xy);
    points.points = xy;
    check(gx_points_create(c->ctx, &points, &c->points, NULL), "gx_points_create");
    free(xy);
    c->out = malloc(96);
    c->msm = (gx_msm_params){.struct_size = sizeof c->msm,
                             .points = c->points,
                             .count = n,
                             .result_form = GX_POINT_XY_MONT};
    c->job = gx_msm(&c->msm, 1, gx_host(c->in), gx_host(c->out));
}

static UNSEEN void destroy(struct call *c)
{
    gx_buf_destroy(&c->buf);
    gx_points_destroy(&c->points);
    gx_domain_destroy(&c->domain);
    gx_close(&c->ctx);
    free(c->in);
    free(c->out);
}

/* ---- counting ---- */

/* One call is counted. Returns how many devices had a part in it. */
static UNSEEN unsigned count(const struct call *c)
{
    gx_candidate candidates[GX_CANDIDATES_MAX] = {{.struct_size = sizeof *candidates}};
    gx_report report = {
        .struct_size = sizeof report, .candidate = candidates, .candidate_room = GX_CANDIDATES_MAX};
    gx_run_params opts = {
        .struct_size = sizeof opts, .device = c->device, .policy = GX_POLICY_THROUGHPUT};
    unsigned devices = 0;
    memset(functions, 0, sizeof functions);
    atomic_store(&calls, 0);
    atomic_store(&deepest, 0);
    atomic_store(&counting, true);
    gx_status s = gx_run(c->ctx, &c->job, 1, &opts, &report);
    atomic_store(&counting, false);
    check(s, "gx_run");
    for (uint32_t i = 0; i < report.candidates; i++)
        devices += candidates[i].elements != 0;
    return devices ? devices : 1; /* none is considered where one is named */
}

static UNSEEN void print_counts(void)
{
    printf("calls %zu\ndeepest %zu\n", atomic_load(&calls), atomic_load(&deepest));
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (functions[i])
            print_address("function", functions[i]);
    for (size_t i = 0; i < deepest; i++)
        print_address("chain", chain[i]);
}

/* ways products|transform|sum DEVICES N HOW-MANY */
int main(int argc, char **argv)
{
    gx_config config = {.struct_size = sizeof config};
    struct call c = {0};
    if (argc < 5)
        return 2;
    config.device = argv[2];
    size_t n = strtoull(argv[3], NULL, 0), wanted = strtoull(argv[4], NULL, 0);
    check(gx_open(&config, &c.ctx), "gx_open");
    if (!strcmp(argv[1], "transform"))
        make_transform(&c, n, argv[2]);
    else if (!strcmp(argv[1], "sum"))
        make_sum(&c, n);
    else
        make_products(&c, n);
    for (int warm = 0, tries = 0; warm < WARM; tries++) {
        warm += count(&c) == wanted;
        if (tries == TRIES) {
            fprintf(stderr, "ways: '%s' did not share the job %d times\n", argv[2], WARM);
            return 1;
        }
    }
    print_counts();
    destroy(&c);
    return 0;
}
