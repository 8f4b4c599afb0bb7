/* SPDX-License-Identifier: Apache-2.0
 *
 * The progress bar: one at a time, on stderr, only if stderr is a terminal.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdint.h>

#include "base/os.h"

/* `total` 0: unknown. `unit` is what `done` counts: "elements"; NULL: show no rate (needs a
 * total). */
void progress_start(const char *label, uint64_t total, const char *unit);
void progress_at(uint64_t done);

/* Says what is done next, in place of the label. */
void progress_step(const char *format, ...) GX_PRINTF(1, 2);
void progress_add(uint64_t more);

/* Hides the bar until the next step, so that something else can be printed. */
void progress_hide(void);

/* Removes the bar. */
void progress_end(void);

#endif
