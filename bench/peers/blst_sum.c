/* SPDX-License-Identifier: Apache-2.0
 *
 * A sum of points by blst on several threads, each of which adds up a part, as blst's own bindings
 * do: the library that gpuexec demo compares with (scripts/fetch-blst.sh).
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "blst.h"

enum { THREADS_MAX = 64, SCALAR_BYTES = 32, SCALAR_BITS = 255 };

typedef struct part {
    const blst_p1_affine *points;
    const byte *scalars;
    size_t n;
    blst_p1 sum;
    pthread_t thread;
    bool started, done;
} part;

static void *add_up(void *user)
{
    part *p = user;
    const blst_p1_affine *points[] = {p->points, NULL};
    const byte *scalars[] = {p->scalars, NULL};
    limb_t *scratch = malloc(blst_p1s_mult_pippenger_scratch_sizeof(p->n));
    p->done = scratch != NULL;
    if (scratch)
        blst_p1s_mult_pippenger(&p->sum, points, p->n, scalars, SCALAR_BITS, scratch);
    free(scratch);
    return NULL;
}

/* Plain scalars of 32 bytes, and points and their sum in G1 of BLS12-381, x and y in Montgomery
 * form. False: there is no memory for it. */
bool gpuexec_blst_sum(const void *points, const void *scalars, size_t n, unsigned threads,
                      void *sum);

bool gpuexec_blst_sum(const void *points, const void *scalars, size_t n, unsigned threads,
                      void *sum)
{
    part parts[THREADS_MAX];
    blst_p1 all = {0};
    bool done = true;
    threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    for (unsigned i = 0; i < threads; i++) {
        size_t from = n * i / threads, to = n * (i + 1) / threads;
        parts[i] = (part){.points = (const blst_p1_affine *)points + from,
                          .scalars = (const byte *)scalars + from * SCALAR_BYTES,
                          .n = to - from};
        parts[i].started =
            i + 1 < threads && !pthread_create(&parts[i].thread, NULL, add_up, &parts[i]);
        if (!parts[i].started)
            add_up(&parts[i]);
    }
    for (unsigned i = 0; i < threads; i++) {
        if (parts[i].started)
            pthread_join(parts[i].thread, NULL);
        blst_p1_add_or_double(&all, &all, &parts[i].sum);
        done &= parts[i].done;
    }
    blst_p1_to_affine(sum, &all);
    return done;
}
