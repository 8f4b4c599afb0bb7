/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the streaming limit (stream.h). The arrays have the size of 4M Fq elements, the largest
 * that `bench` times by default.
 */
#include "stream.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "clock.h"
#include "data.h"
#include "stats.h"

enum { PASSES_MAX = 11, REMEMBERED = 8, AHEAD = 4096, PIECE_BYTES = 1 << 19, THREADS_MAX = 256 };

static const size_t array_bytes = (size_t)192 << 20;

typedef void (*stream_fn)(char *out, const char *a, const char *b, size_t bytes);

static void stream_plain(char *out, const char *a, const char *b, size_t bytes)
{
    uint64_t *o = (uint64_t *)(void *)out;
    const uint64_t *x = (const uint64_t *)(const void *)a, *y = (const uint64_t *)(const void *)b;
    for (size_t i = 0; i < bytes / 8; i++)
        o[i] = x[i] + y[i];
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx512f"))) static void stream_avx512(char *out, const char *a,
                                                             const char *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 64) {
        _mm_prefetch(a + i + AHEAD, _MM_HINT_T0);
        _mm_prefetch(b + i + AHEAD, _MM_HINT_T0);
        __m512i x = _mm512_load_si512((const void *)(a + i));
        __m512i y = _mm512_load_si512((const void *)(b + i));
        _mm512_stream_si512((void *)(out + i), _mm512_add_epi64(x, y));
    }
    _mm_sfence();
}

static void stream_sse2(char *out, const char *a, const char *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 64) {
        _mm_prefetch(a + i + AHEAD, _MM_HINT_T0);
        _mm_prefetch(b + i + AHEAD, _MM_HINT_T0);
        for (size_t j = i; j < i + 64; j += 16) {
            __m128i x = _mm_load_si128((const __m128i *)(const void *)(a + j));
            __m128i y = _mm_load_si128((const __m128i *)(const void *)(b + j));
            _mm_stream_si128((__m128i *)(void *)(out + j), _mm_add_epi64(x, y));
        }
    }
    _mm_sfence();
}

static stream_fn non_temporal(void)
{
    return __builtin_cpu_supports("avx512f") ? stream_avx512 : stream_sse2;
}
#else
static stream_fn non_temporal(void)
{
    return stream_plain;
}
#endif

/* All passes of all threads; the first is a warm-up. */
struct passes {
    stream_fn fn;
    char *const *arrays;
    unsigned count;      /* without the warm-up */
    atomic_uint threads; /* 0 until all threads are ready */
    atomic_uint met;     /* number of arrivals at the start or end of a pass */
    atomic_size_t next[PASSES_MAX + 1];
    double seconds[PASSES_MAX + 1];
};

/* Waits until all threads have arrived here `times` times. Spins, because a pass may be as short as
 * waking a thread. */
static void meet(struct passes *p, unsigned times)
{
    atomic_fetch_add(&p->met, 1);
    while (atomic_load(&p->met) < times * atomic_load(&p->threads))
        sched_yield();
}

/* Handed out in pieces, as in the library: no thread waits for one that was delayed. */
static void run_passes(struct passes *p, bool keeps_time)
{
    for (unsigned i = 0; i < p->count + 1; i++) {
        uint64_t start = now_ns(); /* the others also wait for the timekeeper */
        meet(p, 2 * i + 1);
        for (size_t from; (from = atomic_fetch_add(&p->next[i], PIECE_BYTES)) < array_bytes;)
            p->fn(p->arrays[0] + from, p->arrays[1] + from, p->arrays[2] + from, PIECE_BYTES);
        meet(p, 2 * i + 2);
        if (keeps_time)
            p->seconds[i] = (double)(now_ns() - start) / 1e9;
    }
}

static void *take_part(void *user)
{
    struct passes *p = user;
    while (!atomic_load(&p->threads))
        sched_yield();
    run_passes(p, false);
    return NULL;
}

/* Uses fewer threads if that many cannot be started. */
static void time_passes(struct passes *p, unsigned threads)
{
    pthread_t others[THREADS_MAX];
    unsigned started = 0;
    while (started + 1 < threads && started < THREADS_MAX &&
           !pthread_create(&others[started], NULL, take_part, p))
        started++;
    atomic_store(&p->threads, started + 1);
    run_passes(p, true);
    for (unsigned i = 0; i < started; i++)
        pthread_join(others[i], NULL);
}

/* The median, as for the rows of `bench`. */
static double median_rate(stream_fn fn, unsigned threads, unsigned passes, char *const arrays[3])
{
    struct passes p = {.fn = fn, .arrays = arrays, .count = passes};
    double rates[PASSES_MAX];
    time_passes(&p, threads);
    for (unsigned i = 0; i < passes; i++)
        rates[i] = 3 * (double)array_bytes / p.seconds[i + 1] / 1e9;
    return stats_of(rates, passes).median;
}

static double measure(unsigned threads, unsigned passes)
{
    char *arrays[3] = {data_alloc(array_bytes), data_alloc(array_bytes), data_alloc(array_bytes)};
    double best = 0;
    if (arrays[0] && arrays[1] && arrays[2]) {
        for (int i = 0; i < 3; i++)
            memset(arrays[i], i, array_bytes);
        double plain = median_rate(stream_plain, threads, passes, arrays);
        double streamed = median_rate(non_temporal(), threads, passes, arrays);
        best = plain > streamed ? plain : streamed;
    }
    for (int i = 0; i < 3; i++)
        data_free(arrays[i]);
    return best;
}

double stream_limit(unsigned threads, uint64_t samples)
{
    unsigned passes = samples && samples < PASSES_MAX ? (unsigned)samples : PASSES_MAX;
    static struct {
        unsigned threads;
        double rate;
    } known[REMEMBERED];
    size_t i = 0;
    while (i < REMEMBERED && known[i].threads && known[i].threads != threads)
        i++;
    if (i == REMEMBERED)
        return measure(threads, passes);
    if (!known[i].threads) {
        known[i].rate = measure(threads, passes);
        known[i].threads = threads;
    }
    return known[i].rate;
}
