/* SPDX-License-Identifier: Apache-2.0
 *
 * Output files of the program (writer.h).
 */
#include "writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "host.h"
#include "output.h"

/* More is not written at once: Windows counts in 32 bits. */
#define WRITE_MAX ((size_t)1 << 30)

/* ---- what is there ------------------------------------------------------------------- */

static bool refuse(file_writer *w, const char *why)
{
    snprintf(w->err, sizeof w->err, "cannot write %s: %s", w->name, why);
    return false;
}

static bool cannot_write(file_writer *w, int error)
{
    const char *then = w->temporary ? "; the existing file is unchanged" : "";
    snprintf(w->err, sizeof w->err, "cannot write %s: %s%s", w->name, strerror(error), then);
    return false;
}

static bool open_direct(file_writer *w, int fd)
{
    w->fd = fd;
    if (fd < 0 || !gx__os_stat_fd(fd, &w->is))
        return cannot_write(w, errno);
    return true;
}

typedef enum target { TARGET_NONE, TARGET_NEW, TARGET_FILE, TARGET_OPENED } target;

static target opened(file_writer *w, int fd)
{
    return open_direct(w, fd) ? TARGET_OPENED : TARGET_NONE;
}

static target target_of(file_writer *w, const char *path, const struct gx_os_stat *st)
{
    struct gx_os_stat out;
    if (gx__os_stat_fd(STDOUT_FILENO, &out) && gx__os_same(&out, st))
        return opened(w, host_dup(STDOUT_FILENO)); /* another name, such as /dev/stdout */
    if (st->kind == GX_OS_FILE)
        return TARGET_FILE;
    if (st->kind == GX_OS_PIPE || st->kind == GX_OS_TERMINAL)
        return opened(w, gx__os_open(path, O_WRONLY | O_NOCTTY, 0));
    refuse(w, st->kind == GX_OS_FOLDER   ? "it is a directory; name a file"
              : st->kind == GX_OS_SOCKET ? "it is a socket; name a file"
                                         : "it is a block device; name a file");
    return TARGET_NONE;
}

/* What kind of file a name refers to, with the file itself in *st; TARGET_NONE if it is
 * rejected. What is not a file is opened here. */
static target inspect(file_writer *w, const char *path, struct gx_os_stat *st)
{
    struct gx_os_stat link;
    *w = (file_writer){.name = path, .fd = -1};
    if (!strcmp(path, "-")) {
        w->name = "standard output";
        return opened(w, host_dup(STDOUT_FILENO));
    }
    if (!*path)
        w->name = "''";
    if (!gx__os_stat(path, false, &link)) {
        if (errno == ENOENT && *path)
            return TARGET_NEW;
        cannot_write(w, errno);
    } else if (host_is_planted(path))
        refuse(w, "another user put it into a world-writable directory; choose another "
                  "file");
    else if (gx__os_stat(path, true, st))
        return target_of(w, path, st);
    else if (errno == ENOENT)
        refuse(w, "it is a symbolic link to a missing file; name that file, or remove "
                  "the link");
    else if (errno == ELOOP)
        refuse(w, "it is a symbolic link that leads back to itself; remove it, or choose another "
                  "file");
    else
        cannot_write(w, errno);
    return TARGET_NONE;
}

/* ---- replaced -------------------------------------------------------------------------- */

static bool open_temporary(file_writer *w)
{
    size_t size = strlen(w->path) + sizeof ".XXXXXX";
    w->temporary = malloc(size);
    if (!w->temporary)
        return cannot_write(w, ENOMEM);
    snprintf(w->temporary, size, "%s.XXXXXX", w->path);
    w->fd = host_temporary(w->temporary);
    if (w->fd >= 0)
        return true;
    snprintf(w->err, sizeof w->err, "cannot create a temporary file next to %s: %s", w->name,
             strerror(errno));
    free(w->temporary);
    w->temporary = NULL;
    return false;
}

static bool open_new(file_writer *w, const char *path)
{
    w->path = strdup(path);
    if (!w->path)
        return cannot_write(w, ENOMEM);
    if (!open_temporary(w))
        return false;
    host_like_new(w->fd);
    return true;
}

static bool open_replacing(file_writer *w, const char *path, const struct gx_os_stat *old)
{
    const char *why;
    if (!host_may_write(path))
        return cannot_write(w, errno);
    if (old->links > 1)
        return refuse(w, "it has several hard links, and the others would keep the old "
                         "contents; remove it, or choose another file");
    w->path = host_real_path(path); /* replaces the file that a link points to, not the link */
    if (!w->path)
        return cannot_write(w, errno);
    if (!open_temporary(w))
        return false;
    return host_like(w->fd, w->path, &why) || (why ? refuse(w, why) : cannot_write(w, errno));
}

bool writer_open(file_writer *w, const char *path)
{
    struct gx_os_stat st;
    target t = inspect(w, path, &st);
    if (t == TARGET_NEW)
        return open_new(w, path);
    return t == TARGET_FILE ? open_replacing(w, path, &st) : t == TARGET_OPENED;
}

/* ---- grown in place --------------------------------------------------------------------- */

static bool open_growing(file_writer *w, const char *path, uint64_t keep)
{
    if (!open_direct(w, gx__os_open(path, O_WRONLY | O_APPEND, 0)))
        return false;
    if (!keep && w->is.size)
        return cannot_write(w, EEXIST);
    return w->is.size <= keep || !ftruncate(w->fd, (off_t)keep) || cannot_write(w, errno);
}

bool writer_extend(file_writer *w, const char *path, uint64_t keep)
{
    struct gx_os_stat st;
    target t = inspect(w, path, &st);
    if (t == TARGET_NEW)
        return open_direct(w, gx__os_open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0666));
    return t == TARGET_FILE ? open_growing(w, path, keep) : t == TARGET_OPENED;
}

/* ---- writing ------------------------------------------------------------------------------ */

bool writer_write(file_writer *w, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        size_t part = bytes - done < WRITE_MAX ? bytes - done : WRITE_MAX;
        ssize_t n = write(w->fd, (const char *)data + done, part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            w->error = host_write_error(w->fd, errno);
            w->closed_pipe = w->error == EPIPE;
            return cannot_write(w, w->error);
        }
        done += (size_t)n;
    }
    return true;
}

FILE *writer_stream(file_writer *w)
{
    int fd = w->stream ? -1 : host_dup(w->fd);
    if (fd >= 0 && !(w->stream = fdopen(fd, "wb")))
        close(fd);
    return w->stream;
}

bool writer_flush(file_writer *w)
{
    if (output_flush_to(w->stream, w->fd, &w->error))
        return true;
    w->closed_pipe = w->error == EPIPE;
    return cannot_write(w, w->error);
}

/* Syncs the data before renaming; otherwise a power failure could leave the name without the
 * data. */
static int finish(file_writer *w)
{
    if (w->stream)
        writer_flush(w);
    if (w->stream && fclose(w->stream) && !w->error)
        w->error = errno;
    w->stream = NULL;
    if (!w->error && w->temporary && !host_sync(w->fd))
        w->error = errno;
    if (close(w->fd) && !w->error)
        w->error = errno;
    w->fd = -1;
    return w->error;
}

bool writer_commit(file_writer *w)
{
    int error = finish(w);
    if (error)
        return cannot_write(w, error);
    if (!w->temporary)
        return true;
    if (!host_temporary_end(w->temporary, w->path))
        return cannot_write(w, errno);
    free(w->temporary);
    w->temporary = NULL;
    return true;
}

void writer_close(file_writer *w)
{
    if (w->stream)
        fclose(w->stream);
    if (w->fd >= 0)
        close(w->fd);
    if (w->temporary)
        host_temporary_end(w->temporary, NULL);
    free(w->temporary);
    free(w->path);
    *w = (file_writer){.fd = -1};
}
