/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and writing of raw element files (elements.h).
 */
#include "elements.h"

#include <inttypes.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading -------------------------------------------------------------------- */

static bool not_whole(const element_reader *r, uint64_t bytes, char *err)
{
    uint64_t rest = bytes % r->element_bytes;
    snprintf(err, ELEMENTS_ERROR_SIZE,
             "%s: %" PRIu64 " byte%s, which is no whole number of %zu-byte elements: %" PRIu64
             " too many from "
             "offset %" PRIu64 " on; is it cut short, or is --field wrong?",
             r->name, bytes, bytes == 1 ? "" : "s", r->element_bytes, rest, (bytes - rest));
    return false;
}

/* Regular files tell their length, less what was read of an inherited descriptor. */
static bool learn_size(element_reader *r, char *err)
{
    struct stat st;
    if (fstat(r->fd, &st)) {
        snprintf(err, ELEMENTS_ERROR_SIZE, "cannot read %s: %s", r->name, strerror(errno));
        return false;
    }
    r->device = st.st_dev;
    r->inode = st.st_ino;
    if (!S_ISREG(st.st_mode))
        return true;
    off_t at = lseek(r->fd, 0, SEEK_CUR);
    uint64_t bytes = at < st.st_size ? (uint64_t)(st.st_size - (at > 0 ? at : 0)) : 0;
    if (bytes % r->element_bytes)
        return not_whole(r, bytes, err);
    r->total = bytes / r->element_bytes;
    return true;
}

bool reader_attach(element_reader *r, int fd, const char *name, size_t element_bytes, char *err)
{
    *r = (element_reader){.name = name, .fd = fd, .element_bytes = element_bytes};
    r->total = ELEMENTS_UNKNOWN;
    if (learn_size(r, err))
        return true;
    reader_close(r);
    return false;
}

bool reader_open(element_reader *r, const char *path, size_t element_bytes, char *err)
{
    bool standard = !strcmp(path, "-");
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        snprintf(err, ELEMENTS_ERROR_SIZE, "cannot open %s: %s", path, strerror(errno));
        *r = (element_reader){.fd = -1};
        return false;
    }
    return reader_attach(r, fd, standard ? "standard input" : path, element_bytes, err);
}

bool reader_read(element_reader *r, void *out, size_t max, size_t *got, char *err)
{
    size_t want = max * r->element_bytes, have = 0;
    *got = 0;
    while (have < want) {
        ssize_t n = read(r->fd, (char *)out + have, want - have);
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

/* ---- the temporary file and signals ------------------------------------------------ */

/* What a signal handler has to unlink; changed only while the signals are blocked. */
static char unfinished[PATH_MAX];

static const int fatal_signals[] = {SIGINT, SIGTERM, SIGHUP};

enum { FATAL_SIGNALS = sizeof fatal_signals / sizeof *fatal_signals };

/* SA_RESETHAND: raising it again ends the process as if there were no handler. */
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

/* ---- writing ------------------------------------------------------------------------ */

static bool cannot_write(const element_writer *w, int error, char *err)
{
    const char *then = w->temporary ? "; what was there is unchanged" : "";
    snprintf(err, ELEMENTS_ERROR_SIZE, "cannot write %s: %s%s", w->name, strerror(error), then);
    return false;
}

static bool open_direct(element_writer *w, const char *path, char *err)
{
    struct stat st;
    w->fd = path ? open(path, O_WRONLY | O_CLOEXEC) : STDOUT_FILENO;
    if (w->fd < 0 || fstat(w->fd, &st))
        return cannot_write(w, errno, err);
    w->device = st.st_dev;
    w->inode = st.st_ino;
    return true;
}

/* Creates w->temporary and has signals remove it. */
static int create_temporary(element_writer *w)
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

/* The mode of the file that is replaced, or what open would give a new one. */
static void set_mode(int fd, const struct stat *replaced)
{
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(fd, replaced ? replaced->st_mode & 07777 : 0666 & ~mask))
        return; /* some filesystems have no modes; the data is what matters */
}

static bool open_temporary(element_writer *w, const struct stat *replaced, char *err)
{
    size_t size = strlen(w->path) + sizeof ".XXXXXX";
    w->temporary = malloc(size);
    if (!w->temporary)
        return cannot_write(w, ENOMEM, err);
    snprintf(w->temporary, size, "%s.XXXXXX", w->path);
    int error = size > PATH_MAX ? ENAMETOOLONG : create_temporary(w);
    if (error) {
        snprintf(err, ELEMENTS_ERROR_SIZE, "cannot create a file beside %s to write to: %s",
                 w->name, strerror(error));
        free(w->temporary);
        w->temporary = NULL;
        return false;
    }
    set_mode(w->fd, replaced);
    return true;
}

bool writer_open(element_writer *w, const char *path, char *err)
{
    struct stat st;
    *w = (element_writer){.name = path, .fd = -1};
    if (!strcmp(path, "-")) {
        w->name = "standard output";
        return open_direct(w, NULL, err);
    }
    bool exists = !stat(path, &st);
    if (exists && S_ISDIR(st.st_mode))
        return cannot_write(w, EISDIR, err);
    if (exists && !S_ISREG(st.st_mode))
        return open_direct(w, path, err);
    /* the file a link points to is replaced, not the link */
    w->path = exists ? realpath(path, NULL) : strdup(path);
    if (!w->path)
        return cannot_write(w, errno, err);
    return open_temporary(w, exists ? &st : NULL, err);
}

bool writer_overwrites(const element_writer *w, const element_reader *r)
{
    bool regular = r->total != ELEMENTS_UNKNOWN;
    return !w->path && regular && w->device == r->device && w->inode == r->inode;
}

bool writer_write(element_writer *w, const void *data, size_t bytes, char *err)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(w->fd, (const char *)data + done, bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            w->closed_pipe = errno == EPIPE;
            return cannot_write(w, errno, err);
        }
        done += (size_t)n;
    }
    return true;
}

bool writer_commit(element_writer *w, char *err)
{
    int fd = w->fd;
    w->fd = -1;
    /* On disk before it gets its name: else a power cut could leave the name alone. */
    int error = w->temporary && fsync(fd) ? errno : 0;
    if (close(fd) && !error)
        error = errno;
    if (error)
        return cannot_write(w, error, err);
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
        return cannot_write(w, error, err);
    free(w->temporary);
    w->temporary = NULL;
    return true;
}

void writer_close(element_writer *w)
{
    if (w->fd > STDERR_FILENO)
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
    *w = (element_writer){.fd = -1};
}
