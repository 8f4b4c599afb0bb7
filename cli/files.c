/* SPDX-License-Identifier: Apache-2.0
 *
 * See files.h.
 */
#include "files.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "data.h"
#include "host.h"
#include "progress.h"

/* Whether the output would overwrite this input while it is being read. */
static bool overwrites(const file_writer *w, const element_reader *r)
{
    bool regular = r->total != ELEMENTS_UNKNOWN;
    return !w->path && regular && gx__os_same(&w->is, &r->is);
}

/* Devices such as /dev/null may be used for both. */
static bool is_stdout(int fd)
{
    struct gx_os_stat a, b;
    return fd == STDOUT_FILENO || (gx__os_stat_fd(fd, &a) && gx__os_stat_fd(STDOUT_FILENO, &b) &&
                                   gx__os_same(&a, &b) && a.kind != GX_OS_TERMINAL);
}

int result_open(const char *path, bool json, const element_reader *const *in, size_t count,
                file_writer *w)
{
    if (!writer_open(w, path))
        return cli_write_failed(w);
    if (host_is_terminal(w->fd))
        return cli_usage("-o %s: elements are binary and this is a terminal; redirect standard "
                         "output or name a file",
                         path);
    if (json && is_stdout(w->fd))
        return cli_usage("-o %s and --json both write to standard output; name a file with -o",
                         path);
    for (size_t i = 0; i < count; i++)
        if (overwrites(w, in[i])) {
            cli_error("the output would overwrite %s while it is being read; pass its name to -o, "
                      "which replaces it at the end",
                      in[i]->name);
            return EXIT_FAILED;
        }
    return EXIT_DONE;
}

int result_write(file_writer *w, const void *data, size_t bytes)
{
    return writer_write(w, data, bytes) ? EXIT_DONE : cli_write_failed(w);
}

int result_commit(file_writer *w)
{
    return writer_commit(w) ? EXIT_DONE : cli_write_failed(w);
}

/* Items made at a time; seeds of two groups differ by this. */
enum { MADE_GROUP = 1 << 16 };
#define MADE_SEED 0xd1342543de82ef95u

int made_write(const made_file *file, const char *label, size_t bytes,
               int (*make)(void *user, unsigned char *out, size_t count, uint64_t seed), void *user)
{
    file_writer w = {.fd = -1};
    if (file->n == UINT64_MAX)
        return cli_usage("no number given: add -n N, such as -n 2^16");
    if (!file->path)
        return cli_usage("no output given: add -o FILE, or -o - for standard output");
    int rc = result_open(file->path, false, NULL, 0, &w);
    unsigned char *made = data_alloc(MADE_GROUP * bytes);
    if (rc == EXIT_DONE && !made)
        rc = cli_no_memory();
    progress_start(label, file->n, "items");
    for (uint64_t at = 0, count; rc == EXIT_DONE && at < file->n; at += count) {
        count = file->n - at < MADE_GROUP ? file->n - at : MADE_GROUP;
        rc = make(user, made, (size_t)count, file->seed + at / MADE_GROUP * MADE_SEED);
        if (rc == EXIT_DONE)
            rc = result_write(&w, made, (size_t)count * bytes);
        progress_add(count);
    }
    progress_end();
    if (rc == EXIT_DONE)
        rc = result_commit(&w);
    data_free(made);
    writer_close(&w);
    return rc;
}

static int input_result(bool ok, const char *err)
{
    if (!ok)
        cli_error("%s", err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

int input_open(element_reader *r, const char *path, const char *unit, const char *options,
               size_t bytes)
{
    char err[ELEMENTS_ERROR_SIZE];
    return input_result(reader_open(r, path, unit, options, bytes, err), err);
}

int input_read(element_reader *r, void *out, size_t max, size_t *got)
{
    char err[ELEMENTS_ERROR_SIZE];
    return input_result(reader_read(r, out, max, got, err), err);
}

int input_fill(element_reader *r, unsigned char *memory, size_t room, size_t *have)
{
    size_t got = 1;
    while (*have < room && got) {
        size_t rest = room - *have, part = rest < PIECE ? rest : PIECE;
        int rc = input_read(r, memory + *have * r->element_bytes, part, &got);
        if (rc != EXIT_DONE)
            return rc;
        *have += got;
        progress_add(got);
    }
    return EXIT_DONE;
}

int input_grow(const element_reader *r, unsigned char **memory, size_t have, size_t room)
{
    size_t bytes = r->element_bytes;
    unsigned char *larger = room > SIZE_MAX / bytes ? NULL : data_alloc(room * bytes);
    if (larger && *memory)
        memcpy(larger, *memory, have * bytes);
    data_free(*memory);
    *memory = larger;
    return larger ? EXIT_DONE : cli_no_memory();
}

int input_all(element_reader *r, unsigned char **memory, size_t *room, size_t *have)
{
    *have = 0;
    int rc = input_grow(r, memory, 0, *room);
    if (rc == EXIT_DONE)
        rc = input_fill(r, *memory, *room, have);
    while (rc == EXIT_DONE && *have == *room && r->done != r->total) {
        rc = input_grow(r, memory, *have, *room *= 2);
        if (rc == EXIT_DONE)
            rc = input_fill(r, *memory, *room, have);
    }
    return rc;
}

int elements_failed(const gx_report *report, gx_field field, const element_reader *in,
                    uint64_t first, const char *advice)
{
    if (report->status != GX_ERR_NOT_CANONICAL || !in)
        return cli_job_failed(report);
    uint64_t index = first + report->bad_index;
    cli_error("%s: %s %" PRIu64 ", at byte offset %" PRIu64 ", is not below the modulus of %s; %s",
              in->name, in->unit, index, index * in->element_bytes, gx_field_get_info(field)->name,
              advice);
    return EXIT_FAILED;
}
