/* SPDX-License-Identifier: Apache-2.0
 *
 * The progress bar: one at a time, on stderr, only where stderr is a terminal.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdint.h>

/* `total` 0: not known. `unit` is what `done` counts: "elements"; NULL, where there is a total:
 * nothing whose rate would mean anything. */
void progress_start(const char *label, uint64_t total, const char *unit);
void progress_at(uint64_t done);

/* Takes the bar off the screen until the next progress_at, so that something else
 * can be printed. */
void progress_hide(void);

/* Takes it away for good. */
void progress_end(void);

#endif
