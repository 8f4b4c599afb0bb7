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

/* One call is counted. Returns how many devices had a part in it. */
static UNSEEN unsigned count(gx_ctx *ctx, const gx_job *job)
{
    gx_candidate candidates[GX_CANDIDATES_MAX] = {{.struct_size = sizeof *candidates}};
    gx_report report = {
        .struct_size = sizeof report, .candidate = candidates, .candidate_room = GX_CANDIDATES_MAX};
    unsigned devices = 0;
    memset(functions, 0, sizeof functions);
    atomic_store(&calls, 0);
    atomic_store(&deepest, 0);
    atomic_store(&counting, true);
    gx_run_params opts = {.struct_size = sizeof opts, .policy = GX_POLICY_THROUGHPUT};
    gx_status s = gx_run(ctx, job, 1, &opts, &report);
    atomic_store(&counting, false);
    if (s != GX_OK)
        fail("gx_run");
    for (uint32_t i = 0; i < report.candidates; i++)
        devices += candidates[i].elements != 0;
    return devices ? devices : 1; /* none is considered where one is named */
}

int main(int argc, char **argv)
{
    gx_config config = {.struct_size = sizeof config};
    gx_ctx *ctx;
    if (argc < 4)
        return 2;
    config.device = argv[1];
    size_t n = strtoull(argv[2], NULL, 0), wanted = strtoull(argv[3], NULL, 0);
    void *a = calloc(n, 48), *out = malloc(n * 48);
    if (!a || !out || gx_open(&config, &ctx) != GX_OK)
        fail("gx_open");
    gx_job job = {.op = GX_MUL, .field = GX_BLS12_381_FQ, .n = n};
    job.a = job.b = gx_host(a);
    job.out = gx_host(out);
    for (int warm = 0, tries = 0; warm < WARM; tries++) {
        warm += count(ctx, &job) == wanted;
        if (tries == TRIES) {
            fprintf(stderr, "ways: '%s' did not share the job %d times\n", argv[1], WARM);
            return 1;
        }
    }
    printf("calls %zu\ndeepest %zu\n", atomic_load(&calls), atomic_load(&deepest));
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (functions[i])
            print_address("function", functions[i]);
    for (size_t i = 0; i < deepest; i++)
        print_address("chain", chain[i]);
    gx_close(&ctx);
    free(a);
    free(out);
    return 0;
}
