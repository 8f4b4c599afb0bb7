/* SPDX-License-Identifier: Apache-2.0
 *
 * The seeds' figures, each with its document, in the units of the rows: microseconds, times, per
 * cent, elements. They are of an Intel Core i7-9750H under Windows, with a GPU that no document
 * names. Where a document gives a range, the figure is its lower end.
 */
#include <string.h>

#include "seeds.h"

#define GUIDE      "M14.4 performance optimization guide"
#define REPORT     "phase 14 performance report"
#define SUMMARY    "GPU optimization summary report"
#define PROGRESS   "M14.6 progress: device-local paths"
#define PIPELINING "M14.6 batch pipelining summary"

#define K 1024

/* A row of the table of batches: sequential and pipelined ms, and the gain. */
#define BATCH(n, jobs, sequential, pipelined, gain)                                                \
    {"batch", "sequential", jobs, n, 1e3 * (sequential), PIPELINING},                              \
        {"batch", "pipelined", jobs, n, 1e3 * (pipelined), PIPELINING},                            \
    {                                                                                              \
        "batch", "pipelined, gain", jobs, n, gain, PIPELINING                                      \
    }

/* A row of the threshold scan: CPU, GPU median and P90, in us. */
#define SCAN(n, cpu, gpu, p90)                                                                     \
    {"scan", "CPU", 0, n, cpu, SUMMARY}, {"scan", "GPU", 0, n, gpu, SUMMARY},                      \
    {                                                                                              \
        "scan", "GPU, P90", 0, n, p90, SUMMARY                                                     \
    }

/* A goal, the same for operands in host and in device memory, and what they had then. */
#define GOAL(n, estimate, times)                                                                   \
    {"goals", "host memory", 0, n, times, GUIDE}, {"goals", "device memory", 0, n, times, GUIDE},  \
    {                                                                                              \
        "goals", "estimate", 0, n, estimate, GUIDE                                                 \
    }

static const seeds_figure figures[] = {
    {"persistence", "one-shot, no files", 0, 64, 104870, REPORT},
    {"persistence", "one-shot, no files", 0, 64 * K, 130900, REPORT},
    {"persistence", "one-shot, files", 0, 64, 104870, REPORT},
    {"persistence", "one-shot, files", 0, 64 * K, 130900, REPORT},
    {"persistence", "persistent", 0, 64, 3900, REPORT},
    {"persistence", "persistent", 0, 64 * K, 17220, REPORT},
    {"persistence", "gain", 0, 64, 26.9, REPORT},
    {"persistence", "gain", 0, 64 * K, 7.6, REPORT},

    {"paths", "host-visible", 0, 64, 4650, PROGRESS},
    {"paths", "host-visible", 0, 64 * K, 16870, PROGRESS},
    {"paths", "device-local", 0, 64, 8800, PROGRESS},
    {"paths", "device-local", 0, 64 * K, 26760, PROGRESS},
    {"paths", "device-local from", 0, 0, 1024 * K, PROGRESS},

    BATCH(16 * K, 2, 27, 23, 1.13),
    BATCH(16 * K, 3, 41, 25, 1.64),
    BATCH(16 * K, 4, 53, 29, 1.79),
    BATCH(64 * K, 2, 52, 56, 0.93),
    BATCH(64 * K, 3, 82, 59, 1.40),
    BATCH(64 * K, 4, 104, 70, 1.48),
    BATCH(256 * K, 2, 171, 186, 0.92),
    BATCH(256 * K, 3, 229, 215, 1.07),
    BATCH(256 * K, 4, 262, 217, 1.20),

    {"small", "single submit, gain", 64, 64, 1.5, GUIDE},
    {"small", "one pass, saved", 64, 64, 60, SUMMARY},

    {"buckets", "Uniform-32k", 4, 0, 1393, SUMMARY},
    {"buckets", "Uniform-64k", 4, 0, 907, SUMMARY},
    {"buckets", "Mixed-Same-Bucket", 4, 0, 703, SUMMARY},
    {"buckets", "Mixed-Adjacent-Buckets", 4, 0, 544, SUMMARY},
    {"buckets", "Mixed-Diverse", 4, 0, 1188, SUMMARY},
    {"buckets", "Large-Uniform", 8, 0, 2210, SUMMARY},
    {"buckets", "Large-Mixed", 6, 0, 1988, SUMMARY},
    {"buckets", "one bucket, saved", 0, 0, 35, SUMMARY},
    {"buckets", "pool hits", 0, 0, 93, SUMMARY},

    {"repeat", "first call", 0, 20000, 17000, SUMMARY},
    {"repeat", "later calls", 0, 20000, 1043, SUMMARY},
    {"repeat", "saved", 0, 20000, 94, SUMMARY},

    SCAN(20000, 15, 1043, 1127),
    SCAN(50000, 34, 1093, 1153),
    SCAN(100000, 69, 1222, 1290),
    SCAN(200000, 138, 1465, 1542),
    SCAN(500000, 359, 2378, 2486),
    SCAN(1000000, 726, 3742, 3890),
    SCAN(2000000, 1458, 6498, 6722),
    {"scan", "GPU from", 0, 0, 100000, SUMMARY},
    {"scan", "Vulkan over GL from", 0, 0, 100000, SUMMARY},

    GOAL(64, 1, 2),
    GOAL(1 * K, 5, 10),
    GOAL(4 * K, 10, 20),
    GOAL(16 * K, 15, 30),
    GOAL(64 * K, 20, 40),
};

const seeds_figure *seeds_find(const char *part, const char *what, uint64_t jobs, uint64_t elements)
{
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const seeds_figure *f = &figures[i];
        if (!strcmp(f->part, part) && !strcmp(f->what, what) && (!f->jobs || f->jobs == jobs) &&
            (!f->elements || f->elements == elements))
            return f;
    }
    return NULL;
}
