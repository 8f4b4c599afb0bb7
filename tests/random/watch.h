/* SPDX-License-Identifier: Apache-2.0
 *
 * Children that run programs, so that crashes and hangs are failures like others.
 */
#ifndef GX_TESTS_RANDOM_WATCH_H
#define GX_TESTS_RANDOM_WATCH_H

#include "random/run.h"

/* Memory that children share. */
struct rnd_board *rnd_board_new(void);

/* Runs work(user, board) in a child, and says how it ended. A child that takes more processor time
 * than it allowed itself (rnd_allow), or whose threads all sleep for minutes, hangs. quiet: it
 * prints nothing. */
typedef void (*rnd_work)(void *user, struct rnd_board *board);
enum rnd_failure rnd_watch(rnd_work work, void *user, struct rnd_board *board, int quiet);

/* In the child: so many seconds of processor time from now on. */
void rnd_allow(unsigned seconds);

/* The smallest program that fails in the same way; tries at most so many. Returns how many it took.
 */
unsigned rnd_shrink(struct rnd_program *program, enum rnd_failure failure, struct rnd_board *board,
                    unsigned tries);
/* One program in a child. */
enum rnd_failure rnd_try(const struct rnd_program *program, struct rnd_board *board, int quiet);

#endif
