/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands and options for other programs: rows for shell completion (--describe) and manual pages
 * (--man), from the tables used for parsing and help.
 */
#ifndef DESCRIBE_H
#define DESCRIBE_H

#include "cli.h"

/* Everything a command's page is made from. */
typedef struct described {
    const command *const *commands;
    size_t count;
    const arg_table *formats, *general;
} described;

/* One line per command: name, summary; or one per option of `cmd`: --name, -letter, argument, help,
 * and the accepted words if known. Separated by tabs. */
void describe_rows(const described *all, const command *cmd);

/* An mdoc page about the program, or about `cmd`. */
void describe_page(const described *all, const command *cmd);

#endif
