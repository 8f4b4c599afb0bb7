/* SPDX-License-Identifier: Apache-2.0
 *
 * See files.h.
 */
#include "files.h"

#include <inttypes.h>
#include <unistd.h>

#include "host.h"

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

int result_open(const command *cmd, const char *path, bool json, const element_reader *const *in,
                size_t count, file_writer *w)
{
    if (!writer_open(w, path))
        return result_failed(w);
    if (host_is_terminal(w->fd))
        return cli_usage(cmd,
                         "-o %s: elements are binary and this is a terminal; redirect standard "
                         "output or name a file",
                         path);
    if (json && is_stdout(w->fd))
        return cli_usage(cmd, "-o %s and --json both write to standard output; name a file with -o",
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

int result_failed(const file_writer *w)
{
    if (!w->closed_pipe)
        cli_error("%s", w->err);
    return EXIT_FAILED;
}

int elements_failed(const gx_report *report, gx_field field, const element_reader *in,
                    uint64_t first)
{
    if (report->status != GX_ERR_NOT_CANONICAL || !in)
        return cli_job_failed(report);
    uint64_t index = first + report->bad_index;
    cli_error("%s: element %" PRIu64 ", at byte offset %" PRIu64
              ", is not below the modulus of %s; reduce it "
              "first, or check --field",
              in->name, index, index * in->element_bytes, gx_field_get_info(field)->name);
    return EXIT_FAILED;
}
