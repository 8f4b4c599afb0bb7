/* SPDX-License-Identifier: Apache-2.0
 *
 * Raw element files: elements one after the other and nothing else (doc/encoding.md), read in
 * chunks and constant memory.
 */
#ifndef ELEMENTS_H
#define ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os.h"

enum { ELEMENTS_ERROR_SIZE = 512 };

#define ELEMENTS_UNKNOWN UINT64_MAX

typedef struct element_reader {
    const char *name; /* for messages; borrowed */
    int fd;           /* -1: closed */
    size_t element_bytes;
    const char *unit;     /* what an element is called in messages: "element", "point" */
    const char *options;  /* that say how long it is: "--field" */
    uint64_t done;        /* elements read so far */
    uint64_t total;       /* in the whole file, or ELEMENTS_UNKNOWN for a pipe */
    struct gx_os_stat is; /* which file it is */
} element_reader;

/* Opens a file, or stdin for "-", of elements of so many bytes. Every function that returns false
 * stores the reason in err, which holds ELEMENTS_ERROR_SIZE bytes. A file that is not a whole
 * number of elements is rejected here if its size is known, otherwise at its end. */
bool reader_open(element_reader *r, const char *path, const char *unit, const char *options,
                 size_t bytes, char *err);

/* The same for an open descriptor, which the reader owns from then on, even on failure. */
bool reader_attach(element_reader *r, int fd, const char *name, const char *unit,
                   const char *options, size_t bytes, char *err);

/* Reads up to max elements; returns fewer, down to none, only at the end. */
bool reader_read(element_reader *r, void *out, size_t max, size_t *got, char *err);

void reader_close(element_reader *r);

#endif
