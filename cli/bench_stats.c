/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec bench --stats: counters of all contexts of a suite, added up. Separate from the suites
 * because each of them opens its own contexts.
 */
#include <inttypes.h>

#include "suite.h"

static gx_statistics all = {.struct_size = sizeof all};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

int bench_close(gx_ctx **ctx, int rc)
{
    gx_statistics s = {.struct_size = sizeof s};
    if (*ctx)
        gx_stats(*ctx, &s);
    all.jobs_done += s.jobs_done;
    all.jobs_failed += s.jobs_failed;
    all.elements += s.elements;
    all.bytes_read += s.bytes_read;
    all.bytes_written += s.bytes_written;
    all.dispatches += s.dispatches;
    all.pool_hits += s.pool_hits;
    all.pool_misses += s.pool_misses;
    for (size_t i = 0; i < GX_BUCKETS; i++)
        all.buckets[i] += s.buckets[i];
    all.pool_bytes = larger(all.pool_bytes, s.pool_bytes);
    all.device_bytes_peak = larger(all.device_bytes_peak, s.device_bytes_peak);
    all.command_hits += s.command_hits;
    all.command_misses += s.command_misses;
    all.validation_messages += s.validation_messages;
    return cli_close(ctx, rc);
}

/* 4096 << bucket, in human-readable form. */
static void bucket_name(size_t bucket, char *text, size_t size)
{
    uint64_t kib = (uint64_t)4 << bucket;
    const char *unit = kib < 1024 ? "K" : kib < 1024 * 1024 ? "M" : "G";
    uint64_t scale = kib < 1024 ? 1 : kib < 1024 * 1024 ? 1024 : 1024 * 1024;
    snprintf(text, size, "%" PRIu64 "%s%s", kib / scale, unit, bucket == GX_BUCKETS - 1 ? "+" : "");
}

void bench_buckets_text(const uint64_t *buckets, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < GX_BUCKETS && used < size; i++) {
        char name[24];
        if (!buckets[i])
            continue;
        bucket_name(i, name, sizeof name);
        used += (size_t)snprintf(text + used, size - used, "%s%s:%" PRIu64, used ? " " : "", name,
                                 buckets[i]);
    }
}

static void print_rate(FILE *out, const char *what, uint64_t hits, uint64_t misses)
{
    fprintf(out, "  %-18s %" PRIu64 " of %" PRIu64, what, hits, hits + misses);
    if (hits + misses)
        fprintf(out, " (%.1f %%)", 100.0 * (double)hits / (double)(hits + misses));
    fputc('\n', out);
}

void bench_stats_print(output_format format)
{
    FILE *out = format == OUT_TABLE ? stdout : stderr;
    const struct {
        const char *what;
        uint64_t value;
    } counts[] = {
        {"jobs done", all.jobs_done},
        {"jobs failed", all.jobs_failed},
        {"elements", all.elements},
        {"bytes read", all.bytes_read},
        {"bytes written", all.bytes_written},
        {"dispatches", all.dispatches},
        {"pool bytes", all.pool_bytes},
        {"device bytes, peak", all.device_bytes_peak},
        {"validation", all.validation_messages},
    };
    char buckets[GX_BUCKETS * 32];
    bench_buckets_text(all.buckets, buckets, sizeof buckets);
    fputs(format == OUT_TABLE ? "\nstatistics\n" : "statistics\n", out);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        fprintf(out, "  %-18s %" PRIu64 "\n", counts[i].what, counts[i].value);
    print_rate(out, "pool hits", all.pool_hits, all.pool_misses);
    print_rate(out, "command hits", all.command_hits, all.command_misses);
    fprintf(out, "  %-18s %s\n", "pool buckets", buckets[0] ? buckets : "-");
}
