/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading of raw element files (elements.h).
 */
#include "elements.h"

#include <inttypes.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"

/* More is not read at once: Windows counts in 32 bits. */
#define READ_MAX ((size_t)1 << 30)

static bool not_whole(const element_reader *r, uint64_t bytes, char *err)
{
    uint64_t rest = bytes % r->element_bytes;
    snprintf(err, ELEMENTS_ERROR_SIZE,
             "%s: %" PRIu64 " byte%s, which is not a multiple of the %zu-byte %s size: %" PRIu64
             " extra, from "
             "offset %" PRIu64 "; is it truncated, or is %s wrong?",
             r->name, bytes, bytes == 1 ? "" : "s", r->element_bytes, r->unit, rest, bytes - rest,
             r->options);
    return false;
}

/* The length of a regular file, minus what has already been read from an inherited descriptor. */
static bool learn_size(element_reader *r, char *err)
{
    if (!gx__os_stat_fd(r->fd, &r->is)) {
        snprintf(err, ELEMENTS_ERROR_SIZE, "cannot read %s: %s", r->name, strerror(errno));
        return false;
    }
    if (r->is.kind != GX_OS_FILE)
        return true;
    off_t at = lseek(r->fd, 0, SEEK_CUR);
    uint64_t from = at > 0 ? (uint64_t)at : 0, bytes = from < r->is.size ? r->is.size - from : 0;
    if (bytes % r->element_bytes)
        return not_whole(r, bytes, err);
    r->total = bytes / r->element_bytes;
    return true;
}

bool reader_attach(element_reader *r, int fd, const char *name, const char *unit,
                   const char *options, size_t bytes, char *err)
{
    *r = (element_reader){.name = name,
                          .fd = fd,
                          .element_bytes = bytes,
                          .unit = unit,
                          .options = options,
                          .total = ELEMENTS_UNKNOWN};
    if (learn_size(r, err))
        return true;
    reader_close(r);
    return false;
}

bool reader_open(element_reader *r, const char *path, const char *unit, const char *options,
                 size_t bytes, char *err)
{
    bool standard = !strcmp(path, "-");
    int fd = standard ? STDIN_FILENO : gx__os_open(path, O_RDONLY, 0);
    if (fd >= 0)
        return reader_attach(r, fd, standard ? "standard input" : path, unit, options, bytes, err);
    snprintf(err, ELEMENTS_ERROR_SIZE, "cannot open %s: %s", path, strerror(errno));
    *r = (element_reader){.fd = -1};
    return false;
}

bool reader_read(element_reader *r, void *out, size_t max, size_t *got, char *err)
{
    size_t want = max * r->element_bytes, have = 0;
    *got = 0;
    while (have < want) {
        size_t part = want - have < READ_MAX ? want - have : READ_MAX;
        ssize_t n = read(r->fd, (char *)out + have, part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            snprintf(err, ELEMENTS_ERROR_SIZE, "cannot read %s at offset %" PRIu64 ": %s", r->name,
                     (r->done * r->element_bytes + have), strerror(errno));
            return false;
        }
        if (n == 0)
            break;
        have += (size_t)n;
    }
    if (have % r->element_bytes)
        return not_whole(r, r->done * r->element_bytes + have, err);
    *got = have / r->element_bytes;
    r->done += *got;
    return true;
}

void reader_close(element_reader *r)
{
    if (r->fd > STDERR_FILENO)
        close(r->fd);
    r->fd = -1;
}
