/* SPDX-License-Identifier: Apache-2.0
 *
 * Nanoseconds per element of every kernel in every tier, on one thread, called as the library calls
 * them (with the check): once in cache and once in memory. Tiers are measured one right after the
 * other, so that ratios to portable hold on a machine whose speed drifts.
 */
#include "kernels/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os.h"
#include "kernels/rig.h"
#include "support/oracle.h"

#define SMALL_N    4096u
#define LARGE_N    (4u << 20)
#define SMALL_REPS 15
#define LARGE_REPS 5
#define REP_NS     1e6
#define DISTINCT   SMALL_N /* elements; repeated to fill the arrays */
/* Arrays at the same offset within their pages make a load wait for a store to another array whose
 * address ends in the same 12 bits, which would measure the allocator. */
#define STAGGER     1088
#define ARRAY_BYTES ((size_t)LARGE_N * GX_LIMBS_MAX * sizeof(uint64_t))

struct timing {
    double min, median; /* ns per element */
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_calls(gx_host_fn fn, const struct gx_prime *prime,
                         const struct gx_host_args *args, unsigned calls)
{
    double start = now_ns();
    for (unsigned i = 0; i < calls; i++)
        if (fn(prime, args) != GX_NONE_BAD)
            abort();
    return (now_ns() - start) / calls / (double)args->n;
}

/* `reps` repetitions of about REP_NS each, after one call to warm up. */
static struct timing measure(gx_host_fn fn, const struct gx_prime *prime,
                             const struct gx_host_args *args, unsigned reps)
{
    double ns[SMALL_REPS];
    time_calls(fn, prime, args, 1);
    double one = time_calls(fn, prime, args, 1) * (double)args->n;
    unsigned calls = one < REP_NS ? (unsigned)(REP_NS / one) + 1 : 1;
    for (unsigned r = 0; r < reps; r++)
        ns[r] = time_calls(fn, prime, args, calls);
    qsort(ns, reps, sizeof *ns, compare_doubles);
    return (struct timing){ns[0], ns[reps / 2]};
}

/* ---- arrays ------------------------------------------------------------------------ */

static void *memory[5];
static unsigned char *arrays[5]; /* a, b, c, out, scratch: in memory[], staggered */

static bool allocate(void)
{
    for (unsigned k = 0; k < 5; k++) {
        memory[k] = gx__os_alloc(ARRAY_BYTES + 5 * STAGGER);
        if (!memory[k])
            return false;
        arrays[k] = (unsigned char *)memory[k] + k * STAGGER;
        memset(arrays[k], 0, ARRAY_BYTES);
    }
    return true;
}

static void fill(gx_field field)
{
    struct oracle_rng rng = {1};
    size_t block = DISTINCT * oracle_element_bytes(field);
    for (unsigned k = 0; k < 3; k++) {
        oracle_fill_random(field, &rng, arrays[k], DISTINCT);
        for (size_t at = block; at < LARGE_N / DISTINCT * block; at += block)
            memcpy(arrays[k] + at, arrays[k], block);
    }
}

/* ---- rows --------------------------------------------------------------------------- */

static void print_header(bool csv)
{
    if (csv)
        printf("field,kernel,tier,small_min_ns,small_median_ns,small_ratio,large_min_ns,"
               "large_median_ns,large_ratio\n");
    else
        printf("ns per element, one thread, min / median, and how many times portable's speed\n"
               "%-13s %-8s %-9s %18s %6s   %18s %6s\n",
               "field", "kernel", "tier", "4096 in cache", "ratio", "4M streamed", "ratio");
}

static void bench_kernel(gx_field field, enum gx_host_kernel kernel, bool csv)
{
    const struct gx_prime *prime = gx__prime(field);
    struct timing base[2] = {{0, 0}, {0, 0}};
    for (unsigned which = 0; which < GX_TIERS; which++) {
        const struct subject *s = rig_subject(which);
        gx_host_fn fn = s->available ? rig_kernel(s, field, kernel) : NULL;
        if (!fn)
            continue;
        struct gx_host_args args = {.out = arrays[3],
                                    .a = arrays[0],
                                    .b = arrays[1],
                                    .c = arrays[2],
                                    .n = SMALL_N,
                                    .check = true,
                                    .scratch = arrays[4]};
        struct timing small = measure(fn, prime, &args, SMALL_REPS);
        args.n = LARGE_N;
        args.stream = true;
        struct timing large = measure(fn, prime, &args, LARGE_REPS);
        if (which == GX_TIER_PORTABLE)
            base[0] = small, base[1] = large;
        printf(csv ? "%s,%s,%s,%.3f,%.3f,%.2f,%.3f,%.3f,%.2f\n"
                   : "%-13s %-8s %-9s %8.2f / %7.2f %5.2fx   %8.2f / %7.2f %5.2fx\n",
               gx_field_get_info(field)->name, rig_kernels[kernel].name, s->name, small.min,
               small.median, base[0].min / small.min, large.min, large.median,
               base[1].min / large.min);
        fflush(stdout);
    }
}

int bench(int argc, char **argv)
{
    bool csv = argc > 0 && strcmp(argv[0], "--csv") == 0;
    const char *filter = argc > csv ? argv[csv] : "";
    if (argc > csv + 1 || !allocate()) {
        fprintf(stderr, "kernels --bench [--csv] [FILTER]: needs %zu MiB of memory\n",
                5 * ARRAY_BYTES >> 20);
        return 2;
    }
    print_header(csv);
    for (unsigned field = 1; field < GX_FIELD_END; field++) {
        bool filled = false;
        for (unsigned kernel = 0; kernel < GX_HOST_KERNELS; kernel++) {
            char name[64];
            snprintf(name, sizeof name, "%s/%s", gx_field_get_info((gx_field)field)->name,
                     rig_kernels[kernel].name);
            if (!strstr(name, filter))
                continue;
            if (!filled)
                fill((gx_field)field);
            filled = true;
            bench_kernel((gx_field)field, (enum gx_host_kernel)kernel, csv);
        }
    }
    for (unsigned k = 0; k < 5; k++)
        gx__os_free(memory[k]);
    return 0;
}
