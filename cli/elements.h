/* SPDX-License-Identifier: Apache-2.0
 *
 * Raw element files: nothing but elements one after the other (doc/encoding.md).
 * Reading is by chunks and in constant memory. Writing goes to a temporary file
 * beside the final name, which appears there whole at the end or not at all.
 */
#ifndef ELEMENTS_H
#define ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { ELEMENTS_ERROR_SIZE = 512 };

#define ELEMENTS_UNKNOWN UINT64_MAX

typedef struct element_reader {
    const char *name; /* for messages; borrowed */
    int fd;           /* -1: closed */
    size_t element_bytes;
    uint64_t done;  /* elements read so far */
    uint64_t total; /* in the whole file, or ELEMENTS_UNKNOWN for a pipe */
    dev_t device;   /* which file it is */
    ino_t inode;
} element_reader;

/* Opens a file, or stdin for "-". Every function that returns false has said why in
 * err, which holds ELEMENTS_ERROR_SIZE. A file that is not a whole number of elements is refused
 * here where its size is known, else at its end. */
bool reader_open(element_reader *r, const char *path, size_t element_bytes, char *err);

/* The same for an open descriptor, which the reader owns from here on, also on failure. */
bool reader_attach(element_reader *r, int fd, const char *name, size_t element_bytes, char *err);

/* Reads up to max elements; fewer than max, down to none, only at the end. */
bool reader_read(element_reader *r, void *out, size_t max, size_t *got, char *err);

void reader_close(element_reader *r);

typedef struct element_writer {
    const char *name; /* for messages; borrowed */
    char *path;       /* where the file goes in the end, NULL when written directly */
    char *temporary;
    int fd;
    bool closed_pipe; /* the other end went away: no reason for a message */
    dev_t device;     /* which file it is, when written directly */
    ino_t inode;
} element_writer;

/* Opens the output, stdout for "-". Pipes and devices are written directly. */
bool writer_open(element_writer *w, const char *path, char *err);
bool writer_write(element_writer *w, const void *data, size_t bytes, char *err);

/* Whether the output is written over this input while it is read. */
bool writer_overwrites(const element_writer *w, const element_reader *r);

/* Gives the file its final name. */
bool writer_commit(element_writer *w, char *err);

/* Removes what was not committed. Also done on SIGINT, SIGTERM and SIGHUP. */
void writer_close(element_writer *w);

#endif
