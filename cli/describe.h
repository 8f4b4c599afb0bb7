/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands and their options for other programs: rows for the completions of shells
 * (--describe) and manual pages (--man), from the tables that parsing and help use.
 */
#ifndef DESCRIBE_H
#define DESCRIBE_H

#include "cli.h"

/* All that a page about a command is made of. */
typedef struct described {
    const command *const *commands;
    size_t count;
    const arg_table *formats, *general;
} described;

/* A line for each command: name, summary; or for each option of `cmd`: --name, -letter, what
 * it takes, help, the words it takes where they are known. Tabs between them. */
void describe_rows(const described *all, const command *cmd);

/* A page in mdoc about the program, or about `cmd`. */
void describe_page(const described *all, const command *cmd);

#endif
