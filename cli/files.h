/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands that compute files of elements have in common (run, ntt): opening the result,
 * and the messages about its elements.
 */
#ifndef FILES_H
#define FILES_H

#include "cli.h"
#include "elements.h"
#include "writer.h"

/* Opens the result of a command, with `count` inputs open. Refuses a terminal, with `json` standard
 * output, and what would overwrite an input while it is read. Returns an exit code. */
int result_open(const command *cmd, const char *path, bool json, const element_reader *const *in,
                size_t count, file_writer *w);

/* Reports why a writer's function returned false; returns EXIT_FAILED. */
int result_failed(const file_writer *w);

/* Reports that a job failed. `in`: the input that report->bad_operand refers to, whose first
 * element in the job was number `first` of the file; NULL: none. Returns an exit code. */
int elements_failed(const gx_report *report, gx_field field, const element_reader *in,
                    uint64_t first);

#endif
