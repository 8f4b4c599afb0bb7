/* SPDX-License-Identifier: Apache-2.0
 *
 * A program made of commands: finds the command, parses its options, prints help, and returns the
 * command's exit code. gpuexec is one, bench-suites another.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "cli.h"

typedef struct program {
    const char *name;    /* "gpuexec" */
    const char *summary; /* what it does, on one line */
    const char *first;   /* what to start with, a sentence; may be empty */
    const command *const *commands;
    size_t count;
} program;

int program_run(const program *p, int argc, char **argv);

/* ---- what it prints about itself (help.c) ---- */

/* Adds the options of a command itself, or those that all commands take. */
void program_options(const command *cmd, option_list *list);
void program_common_options(option_list *list);

/* The argument in "gpuexec help options". */
#define HELP_OPTIONS "options"

void help_usage(FILE *out, const program *p);
void help_program(const program *p);
void help_options(void);
void help_command(const program *p, const command *cmd, bool whole);

/* For shell completion: one line per command: name, summary; or one per option of `cmd`: --name,
 * -letter, argument, help, and the accepted words if known. Separated by tabs. */
void help_rows(const program *p, const command *cmd);

/* An mdoc page about the program, or about `cmd`. */
void help_page(const program *p, const command *cmd);

#endif
