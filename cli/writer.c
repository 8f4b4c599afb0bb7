/* SPDX-License-Identifier: Apache-2.0
 *
 * Output files of the program (writer.h).
 */
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* ---- the temporary file and signals ------------------------------------------------ */

/* File to be removed by a signal handler; changed only while the signals are blocked. */
static char unfinished[PATH_MAX];

static const int fatal_signals[] = {SIGINT, SIGTERM, SIGHUP};

enum { FATAL_SIGNALS = sizeof fatal_signals / sizeof *fatal_signals };

/* With SA_RESETHAND, raising the signal again ends the process as if there were no handler. */
static void remove_unfinished(int signal_number)
{
    if (unfinished[0])
        unlink(unfinished);
    raise(signal_number);
}

static void block_signals(sigset_t *old)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < FATAL_SIGNALS; i++)
        sigaddset(&set, fatal_signals[i]);
    pthread_sigmask(SIG_BLOCK, &set, old);
}

static void unblock_signals(const sigset_t *old)
{
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

static void catch_signals(void)
{
    for (size_t i = 0; i < FATAL_SIGNALS; i++) {
        struct sigaction old, action = {.sa_handler = remove_unfinished, .sa_flags = SA_RESETHAND};
        sigemptyset(&action.sa_mask);
        if (!sigaction(fatal_signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(fatal_signals[i], &action, NULL);
    }
}

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

/* Whether another user placed the file in a sticky, world-writable directory: it may be there to
 * receive data meant for someone else. */
static bool is_planted(const char *path, const struct stat *it)
{
    struct stat folder;
    char *copy = it->st_uid == geteuid() ? NULL : strdup(path);
    bool known = copy && !stat(dirname(copy), &folder);
    free(copy);
    return known && folder.st_mode & S_ISVTX && folder.st_mode & S_IWOTH &&
           it->st_uid != folder.st_uid;
}

typedef enum target { TARGET_NONE, TARGET_NEW, TARGET_FILE, TARGET_STREAM, TARGET_STDOUT } target;

static target target_of(file_writer *w, const struct stat *st)
{
    struct stat out;
    if (!fstat(STDOUT_FILENO, &out) && out.st_dev == st->st_dev && out.st_ino == st->st_ino)
        return TARGET_STDOUT; /* under another name, such as /dev/stdout */
    if (S_ISREG(st->st_mode))
        return TARGET_FILE;
    if (S_ISFIFO(st->st_mode) || S_ISCHR(st->st_mode))
        return TARGET_STREAM;
    refuse(w, S_ISDIR(st->st_mode)    ? "it is a directory; name a file"
              : S_ISSOCK(st->st_mode) ? "it is a socket; name a file"
                                      : "it is a block device; name a file");
    return TARGET_NONE;
}

/* What kind of file a name refers to, with the file itself in *st; TARGET_NONE if it is
 * rejected. */
static target inspect(file_writer *w, const char *path, struct stat *st)
{
    struct stat link;
    if (!strcmp(path, "-")) {
        w->name = "standard output";
        return TARGET_STDOUT;
    }
    if (!*path)
        w->name = "''";
    if (lstat(path, &link)) {
        if (errno == ENOENT && *path)
            return TARGET_NEW;
        cannot_write(w, errno);
    } else if (is_planted(path, &link))
        refuse(w, "another user put it into a world-writable directory; choose another "
                  "file");
    else if (!stat(path, st))
        return target_of(w, st);
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

/* ---- written directly ----------------------------------------------------------------- */

static bool open_direct(file_writer *w, int fd)
{
    struct stat st;
    w->fd = fd;
    if (fd < 0 || fstat(fd, &st))
        return cannot_write(w, errno);
    w->device = st.st_dev;
    w->inode = st.st_ino;
    return true;
}

static bool open_stdout(file_writer *w)
{
    return open_direct(w, fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

static bool open_stream(file_writer *w, const char *path)
{
    return open_direct(w, open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY));
}

/* ---- replaced -------------------------------------------------------------------------- */

/* Creates w->temporary and registers it for removal by signals. */
static int create_temporary(file_writer *w)
{
    sigset_t old;
    catch_signals();
    block_signals(&old);
    w->fd = mkostemp(w->temporary, O_CLOEXEC);
    int error = errno;
    if (w->fd >= 0)
        snprintf(unfinished, sizeof unfinished, "%s", w->temporary);
    unblock_signals(&old);
    return w->fd >= 0 ? 0 : error;
}

static bool open_temporary(file_writer *w)
{
    size_t size = strlen(w->path) + sizeof ".XXXXXX";
    w->temporary = malloc(size);
    if (!w->temporary)
        return cannot_write(w, ENOMEM);
    snprintf(w->temporary, size, "%s.XXXXXX", w->path);
    int error = size > PATH_MAX ? ENAMETOOLONG : create_temporary(w);
    if (!error)
        return true;
    snprintf(w->err, sizeof w->err, "cannot create a temporary file next to %s: %s", w->name,
             strerror(error));
    free(w->temporary);
    w->temporary = NULL;
    return false;
}

/* The mode that open would give a new file. Failures are ignored: some filesystems have no
 * modes. */
static void set_new_mode(int fd)
{
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(fd, 0666 & ~mask))
        return;
}

/* Copies the access control list of the replaced file; its mode alone is not enough. */
static bool copy_access_list(file_writer *w)
{
    static const char list[] = "system.posix_acl_access";
    char value[4096];
    ssize_t size = getxattr(w->path, list, value, sizeof value);
    if (size < 0 && errno != ERANGE)
        return true; /* none, or not supported here */
    return size >= 0 && !fsetxattr(w->fd, list, value, (size_t)size, 0);
}

/* Gives the new file the owner and mode of the old one, except for setuid, setgid and sticky: its
 * contents have changed. */
static bool take_after(file_writer *w, const struct stat *old)
{
    struct stat mine;
    if (fstat(w->fd, &mine))
        return cannot_write(w, errno);
    if ((mine.st_uid != old->st_uid || mine.st_gid != old->st_gid) &&
        fchown(w->fd, old->st_uid, old->st_gid))
        return refuse(w, "it belongs to another user or group, and replacing it would change "
                         "that; remove it, or choose another file");
    if (fchmod(w->fd, old->st_mode & 0777) && (mine.st_mode ^ old->st_mode) & 0777)
        return cannot_write(w, errno);
    return copy_access_list(w) ||
           refuse(w, "its access control list cannot be kept; choose another file");
}

static bool open_replacing(file_writer *w, const char *path, const struct stat *old)
{
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS))
        return cannot_write(w, errno);
    if (old->st_nlink > 1)
        return refuse(w, "it has several hard links, and the others would keep the old "
                         "contents; remove it, or choose another file");
    w->path = realpath(path, NULL); /* replaces the file that a link points to, not the link */
    if (!w->path)
        return cannot_write(w, errno);
    return open_temporary(w) && take_after(w, old);
}

bool writer_open(file_writer *w, const char *path)
{
    struct stat st;
    *w = (file_writer){.name = path, .fd = -1};
    switch (inspect(w, path, &st)) {
    case TARGET_NEW:
        w->path = strdup(path);
        if (!w->path)
            return cannot_write(w, ENOMEM);
        if (!open_temporary(w))
            return false;
        set_new_mode(w->fd);
        return true;
    case TARGET_FILE:
        return open_replacing(w, path, &st);
    case TARGET_STREAM:
        return open_stream(w, path);
    case TARGET_STDOUT:
        return open_stdout(w);
    case TARGET_NONE:
        break;
    }
    return false;
}

/* ---- grown in place --------------------------------------------------------------------- */

static bool open_growing(file_writer *w, const char *path, uint64_t keep)
{
    struct stat st;
    if (!open_direct(w, open(path, O_WRONLY | O_APPEND | O_CLOEXEC)) || fstat(w->fd, &st))
        return false;
    if (!keep && st.st_size)
        return cannot_write(w, EEXIST);
    return (uint64_t)st.st_size <= keep || !ftruncate(w->fd, (off_t)keep) || cannot_write(w, errno);
}

bool writer_extend(file_writer *w, const char *path, uint64_t keep)
{
    struct stat st;
    *w = (file_writer){.name = path, .fd = -1};
    switch (inspect(w, path, &st)) {
    case TARGET_NEW:
        return open_direct(w, open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666));
    case TARGET_FILE:
        return open_growing(w, path, keep);
    case TARGET_STREAM:
        return open_stream(w, path);
    case TARGET_STDOUT:
        return open_stdout(w);
    case TARGET_NONE:
        break;
    }
    return false;
}

/* ---- writing ------------------------------------------------------------------------------ */

bool writer_write(file_writer *w, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(w->fd, (const char *)data + done, bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            w->error = errno;
            w->closed_pipe = errno == EPIPE;
            return cannot_write(w, errno);
        }
        done += (size_t)n;
    }
    return true;
}

static ssize_t stream_write(void *w, const char *data, size_t bytes)
{
    return writer_write(w, data, bytes) ? (ssize_t)bytes : 0;
}

FILE *writer_stream(file_writer *w)
{
    if (!w->stream)
        w->stream = fopencookie(w, "w", (cookie_io_functions_t){.write = stream_write});
    return w->stream;
}

/* Syncs the data before renaming; otherwise a power failure could leave the name without the
 * data. */
static int finish(file_writer *w)
{
    if (w->stream && fclose(w->stream) && !w->error)
        w->error = errno;
    w->stream = NULL;
    if (!w->error && w->temporary && fsync(w->fd))
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

    sigset_t old;
    block_signals(&old);
    bool ok = !rename(w->temporary, w->path);
    error = errno;
    if (ok)
        unfinished[0] = 0;
    unblock_signals(&old);
    if (!ok)
        return cannot_write(w, error);
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
    if (w->temporary) {
        sigset_t old;
        block_signals(&old);
        unlink(w->temporary);
        unfinished[0] = 0;
        unblock_signals(&old);
    }
    free(w->temporary);
    free(w->path);
    *w = (file_writer){.fd = -1};
}
