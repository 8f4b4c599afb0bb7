/* SPDX-License-Identifier: Apache-2.0
 *
 * The protocol of bench/peers, for adaptors in C and CUDA: main() and what it needs. An adaptor
 * is a process that reads commands, one a line, and answers each with one line:
 *
 *   load KIND N BYTES_A BYTES_B BYTES_OUT A B
 *       Take N operands of so many bytes each from the files A and B, which are repeated where
 *       they are shorter. Results will be BYTES_OUT in all. KIND is a field.
 *   op OP THREADS OUT
 *       Run OP once, and write the results to the file OUT.
 *   time MS
 *       Repeat it for MS milliseconds or more: "ok REPETITIONS NANOSECONDS".
 *
 * Other answers are "ok", "no WHY" (the peer lacks it) and "failed WHY". Arrays are the same for
 * every peer: anonymous memory, huge pages asked for.
 */
#ifndef PEERS_ADAPTOR_H
#define PEERS_ADAPTOR_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static struct {
    char kind[32];
    size_t n, bytes_a, bytes_b, bytes_out; /* in all */
    unsigned char *a, *b, *out;
} loaded;

/* The peer. Each function returns NULL, or what is wrong. */
static const char *peer_load(void);                               /* `loaded` is new */
static const char *peer_choose(const char *op, unsigned threads); /* what to run */
static const char *peer_repeat(unsigned long times);              /* run it, to the end */
static const char *peer_results(void);                            /* into loaded.out */

static unsigned char *new_array(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_HUGEPAGE);
    return (unsigned char *)memory;
}

/* Fills the array from the file, again and again. */
static const char *read_array(unsigned char *to, size_t bytes, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return "cannot open the operands";
    size_t have = fread(to, 1, bytes, file);
    fclose(file);
    if (!have)
        return "cannot read the operands";
    for (size_t at = have; at < bytes; at += have)
        memcpy(to + at, to, bytes - at < have ? bytes - at : have);
    return NULL;
}

static const char *load(const char *a, const char *b)
{
    static size_t mapped[3];
    const size_t bytes[] = {loaded.bytes_a, loaded.bytes_b, loaded.bytes_out};
    unsigned char **const arrays[] = {&loaded.a, &loaded.b, &loaded.out};
    for (int i = 0; i < 3; i++) {
        if (*arrays[i])
            munmap(*arrays[i], mapped[i]);
        mapped[i] = bytes[i];
        if (!(*arrays[i] = new_array(bytes[i])))
            return "no memory";
    }
    memset(loaded.out, 0, loaded.bytes_out);
    const char *wrong = read_array(loaded.a, loaded.bytes_a, a);
    if (!wrong)
        wrong = read_array(loaded.b, loaded.bytes_b, b);
    return wrong ? wrong : peer_load();
}

static const char *run_once(const char *path)
{
    const char *wrong = peer_repeat(1);
    if (!wrong)
        wrong = peer_results();
    if (wrong)
        return wrong;
    FILE *file = fopen(path, "wb");
    size_t written = file ? fwrite(loaded.out, 1, loaded.bytes_out, file) : 0;
    if ((file && fclose(file)) || written != loaded.bytes_out)
        return "cannot write the results";
    return NULL;
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* As often as takes that long, beginning with as often as it did before. */
static const char *measure(double ms, unsigned long *times, double *ns)
{
    for (;; *times *= 2) {
        double start = now_ns();
        const char *wrong = peer_repeat(*times);
        *ns = now_ns() - start;
        if (wrong || *ns >= ms * 1e6)
            return wrong;
    }
}

static void answer(const char *no, const char *failed)
{
    if (no)
        printf("no %s\n", no);
    else if (failed)
        printf("failed %s\n", failed);
    else
        puts("ok");
}

int main(int argc, char **argv)
{
    static char line[8192], a[2048], b[2048];
    unsigned long times = 1;
    unsigned threads;
    double ms, ns;
    (void)argc;
    (void)argv;
#ifdef PEER_START
    PEER_START(argc, argv);
#endif
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "load %31s %zu %zu %zu %zu %2047s %2047s", loaded.kind, &loaded.n,
                   &loaded.bytes_a, &loaded.bytes_b, &loaded.bytes_out, a, b) == 7) {
            loaded.bytes_a *= loaded.n;
            loaded.bytes_b *= loaded.n;
            answer(NULL, load(a, b));
        } else if (sscanf(line, "op %2047s %u %2047s", a, &threads, b) == 3) {
            const char *no = peer_choose(a, threads);
            times = 1;
            answer(no, no ? NULL : run_once(b));
        } else if (sscanf(line, "time %lf", &ms) == 1) {
            const char *wrong = measure(ms, &times, &ns);
            if (wrong)
                answer(NULL, wrong);
            else
                printf("ok %lu %.0f\n", times, ns);
        } else {
            answer(NULL, "no such command");
        }
    }
    return 0;
}

#endif
