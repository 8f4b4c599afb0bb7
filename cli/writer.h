/* SPDX-License-Identifier: Apache-2.0
 *
 * Every file that the program writes is opened here, so that one rule holds for all: what an
 * existing file is does not change, neither its kind, owner, mode and links nor where a symbolic
 * link points. A file is replaced by a new one that has all of that, or it is refused.
 */
#ifndef WRITER_H
#define WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { WRITER_ERROR_SIZE = 512 };

typedef struct file_writer {
    const char *name; /* for messages; borrowed */
    char *path;       /* where the file goes in the end, NULL when written directly */
    char *temporary;
    int fd;           /* -1: closed */
    FILE *stream;     /* writes to this writer, which must not move then */
    int error;        /* of the first write that failed */
    bool closed_pipe; /* the other end went away: no reason for a message */
    dev_t device;     /* which file it is, when written directly */
    ino_t inode;
    char err[WRITER_ERROR_SIZE]; /* why a function returned false */
} file_writer;

/* Opens an output that appears whole in the end, or not at all: a temporary file beside the final
 * name, or beside the file that a link there points to. Pipes and character devices are written
 * directly, as is standard output, for which "-" stands. */
bool writer_open(file_writer *w, const char *path);

/* Opens an output that grows in place: a new or empty file, or one of which `keep` bytes stay and
 * what is written is put after them. */
bool writer_extend(file_writer *w, const char *path, uint64_t keep);

bool writer_write(file_writer *w, const void *data, size_t bytes);

/* For what is written with stdio instead; the writer's own. NULL where memory ran out. */
FILE *writer_stream(file_writer *w);

/* Gives the file its final name. */
bool writer_commit(file_writer *w);

/* Removes what was not committed. Also done on SIGINT, SIGTERM and SIGHUP, for one file at a
 * time. A zeroed writer with fd -1 is fine. */
void writer_close(file_writer *w);

#endif
