/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands that compute files of elements have in common (run, ntt, msm, points, random):
 * reading and writing with messages.
 */
#ifndef FILES_H
#define FILES_H

#include "cli.h"
#include "elements.h"

/* --stats and --json, of what is reported for each `part`. */
#define OPTIONS_REPORT(o, part)                                                                    \
    OPTION_FLAG("stats", &(o)->stats,                                                              \
                "print a summary and timings to standard error after the run"),                    \
        OPTION_FLAG("json", &(o)->json,                                                            \
                    "print the report of every " part ", and the total, as one JSON object")

enum { PIECE = 1 << 16 }; /* elements read or written between two steps of the progress bar */

/* Opens the result of a command, with `count` inputs open. Refuses a terminal, with `json` standard
 * output, and what would overwrite an input while it is read. Returns an exit code. */
int result_open(const char *path, bool json, const element_reader *const *in, size_t count,
                file_writer *w);

/* Writes to the result, and gives it its final name. Return an exit code. */
int result_write(file_writer *w, const void *data, size_t bytes);
int result_commit(file_writer *w);

/* A file of `n` items, made from a seed; UINT64_MAX: no number is given. */
typedef struct made_file {
    uint64_t n, seed;
    const char *path;
} made_file;

#define OPTIONS_MADE(o, items)                                                                     \
    OPTION_LETTER('n', "N", OPT_NUMBER, &(o)->n, 0, (uint64_t)1 << 40, "number of " items),        \
        OPTION_NUMBER("seed", "S", &(o)->seed, 0, UINT64_MAX, "seed of the random numbers (1)"),   \
        OPTION_FILE('o', &(o)->path, "result; - for standard output")

/* Writes the file in groups, in constant memory; each has a seed of its own, from which `make`
 * makes its `count` items of so many bytes. Returns an exit code, as `make` does. */
int made_write(const made_file *file, const char *label, size_t bytes,
               int (*make)(void *user, unsigned char *out, size_t count, uint64_t seed),
               void *user);

/* As the functions of elements.h, with an exit code for the reason. */
int input_open(element_reader *r, const char *path, const char *unit, const char *options,
               size_t bytes);
int input_read(element_reader *r, void *out, size_t max, size_t *got);

/* Reads behind the first *have elements until `room` are there or the input ends; shows progress.
 */
int input_fill(element_reader *r, unsigned char *memory, size_t room, size_t *have);
/* Makes room in memory of data_alloc, with the first `have` elements. */
int input_grow(const element_reader *r, unsigned char **memory, size_t have, size_t room);
/* Reads all of the input, however long it is, into new memory, at first for `room` elements. */
int input_all(element_reader *r, unsigned char **memory, size_t *room, size_t *have);

/* Reports that a job failed. `in`: the input that report->bad_operand refers to, whose first
 * element in the job was number `first` of the file; NULL: none. `advice`: about an element that is
 * not below the modulus. Returns an exit code. */
int elements_failed(const gx_report *report, gx_field field, const element_reader *in,
                    uint64_t first, const char *advice);
#define ADVICE_ELEMENTS "reduce it first, or check --field"

#endif
