/* SPDX-License-Identifier: Apache-2.0
 *
 * See counters.h.
 */
#include "counters.h"

#include <inttypes.h>

#include "cli.h"
#include "report/text.h"

counters counters_read(gx_ctx *ctx)
{
    counters c = {0};
#define X(name) gx_counter(ctx, #name, &c.name);
    COUNTERS(X)
#undef X
    for (unsigned i = 0; i < COUNTER_BUCKETS; i++) {
        char name[40];
        snprintf(name, sizeof name, "pool_blocks_%" PRIu64, (uint64_t)4096 << i);
        gx_counter(ctx, name, &c.buckets[i]);
    }
    return c;
}

void counters_buckets(const uint64_t *buckets, char *text, size_t size)
{
    text[0] = 0;
    for (size_t i = 0; i < COUNTER_BUCKETS; i++) {
        char name[24];
        text_size(name, sizeof name, (double)((uint64_t)4096 << i));
        if (buckets[i])
            cli_append(text, size, "%s%s%s:%" PRIu64, *text ? " " : "", name,
                       i == COUNTER_BUCKETS - 1 ? "+" : "", buckets[i]);
    }
}

static void print_rate(FILE *out, const char *what, uint64_t hits, uint64_t misses)
{
    fprintf(out, "  %-18s %" PRIu64 " of %" PRIu64, what, hits, hits + misses);
    if (hits + misses)
        fprintf(out, " (%.1f %%)", 100.0 * (double)hits / (double)(hits + misses));
    fputc('\n', out);
}

void counters_print(gx_ctx *ctx, output_format format)
{
    if (!ctx)
        return;
    const counters all = counters_read(ctx);
    FILE *out = format == OUT_TABLE ? stdout : stderr;
    const struct {
        const char *what;
        uint64_t value;
    } counts[] = {
        {"jobs done", all.jobs_done},
        {"jobs failed", all.jobs_failed},
        {"tickets done", all.tickets_done},
        {"elements", all.elements},
        {"bytes read", all.bytes_read},
        {"bytes written", all.bytes_written},
        {"dispatches", all.dispatches},
        {"pool bytes", all.pool_bytes},
        {"device bytes, peak", all.device_bytes_peak},
        {"validation", all.validation_messages},
    };
    char buckets[COUNTER_BUCKETS * 32];
    counters_buckets(all.buckets, buckets, sizeof buckets);
    fputs(format == OUT_TABLE ? "\nstatistics\n" : "statistics\n", out);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        fprintf(out, "  %-18s %" PRIu64 "\n", counts[i].what, counts[i].value);
    print_rate(out, "pool hits", all.pool_hits, all.pool_misses);
    print_rate(out, "command hits", all.command_hits, all.command_misses);
    fprintf(out, "  %-18s %s\n", "pool buckets", buckets[0] ? buckets : "-");
}
