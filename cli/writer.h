/* SPDX-License-Identifier: Apache-2.0
 *
 * Every file that the program writes is opened here, so that one rule applies to all: an existing
 * file keeps its kind, owner, mode and links, and a symbolic link keeps its target. A file is
 * replaced by a new one with the same properties, or rejected.
 */
#ifndef WRITER_H
#define WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/os.h"

enum { WRITER_ERROR_SIZE = 512 };

typedef struct file_writer {
    const char *name; /* for messages; borrowed */
    char *path;       /* final name; NULL when written directly */
    char *temporary;
    int fd;                      /* -1: closed */
    FILE *stream;                /* writes to this writer, which must not be moved then */
    int error;                   /* of the first failed write */
    bool closed_pipe;            /* the reader went away: not worth a message */
    struct gx_os_stat is;        /* the file, when written directly */
    char err[WRITER_ERROR_SIZE]; /* why a function returned false */
} file_writer;

/* Opens an output that appears complete at the end, or not at all: a temporary file next to the
 * final name, or next to the file that a link there points to. Pipes and character devices are
 * written directly, as is standard output, given as "-". */
bool writer_open(file_writer *w, const char *path);

/* Opens an output that grows in place: a new or empty file, or one whose first `keep` bytes stay
 * and are followed by what is written. */
bool writer_extend(file_writer *w, const char *path, uint64_t keep);

bool writer_write(file_writer *w, const void *data, size_t bytes);

/* For writing with stdio instead; owned by the writer. NULL if memory ran out. */
FILE *writer_stream(file_writer *w);
/* What was written there so far; false if that failed. */
bool writer_flush(file_writer *w);

/* Renames the file to its final name. */
bool writer_commit(file_writer *w);

/* Removes an uncommitted file. Also done on SIGINT, SIGTERM and SIGHUP, for one file at a time. A
 * zeroed writer with fd -1 is allowed. */
void writer_close(file_writer *w);

#endif
