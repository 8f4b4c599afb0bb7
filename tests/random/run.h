/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a program: what the files that do it share.
 */
#ifndef GX_TESTS_RANDOM_RUN_H
#define GX_TESTS_RANDOM_RUN_H

#include <pthread.h>
#include <stdatomic.h>

#include "random/oracle.h"
#include "random/program.h"

/* What went wrong; while a program is made smaller, this stays. */
enum rnd_failure {
    FAIL_NOTHING,
    FAIL_STATUS, /* a call returned what it must not */
    FAIL_BYTES,  /* a result is wrong, or memory was written that is none */
    FAIL_INDEX,  /* the wrong element was called bad */
    FAIL_LEAK,   /* memory or a ticket was left */
    FAIL_CRASH,
    FAIL_HANG,
    FAIL_END
};
const char *rnd_failure_name(enum rnd_failure failure);

/* Shared with the process that watches. */
struct rnd_board {
    uint64_t seed; /* of the program that runs */
    uint64_t programs;
    _Atomic uint64_t calls, jobs; /* counted by all threads of a program */
    enum rnd_failure failure;
    char message[1024];
};

/* Runs it, or ends the process with RND_EXIT_FAILED and a message on the board. */
enum { RND_EXIT_FAILED = 3 };
void rnd_run(const struct rnd_program *program, struct rnd_board *board);
_Noreturn __attribute__((format(printf, 2, 3))) void rnd_fail(enum rnd_failure failure,
                                                              const char *format, ...);

/* ---- memory of a call (memory.c) ---- */

/* One allocation, or one buffer: bytes before the operand, the operand, bytes behind it. */
struct rnd_area {
    unsigned job, operand; /* whose it is */
    size_t head, bytes, total;
    unsigned char *memory; /* NULL: a buffer */
    unsigned char *expected;
    unsigned char *unknown; /* 1: this byte may have any value */
    gx_buf *buf;
    int registered;
};

/* 0, or why a buffer could not be made. */
gx_status rnd_area_make(struct rnd_area *area, gx_ctx *ctx, const struct rnd_call *call,
                        const char *device);
void rnd_area_free(struct rnd_area *area, gx_ctx *ctx);
/* Whether it is as expected. */
struct rnd_open;
void rnd_area_compare(struct rnd_area *area, const struct rnd_open *open,
                      const struct rnd_call *call);
gx_operand rnd_area_operand(const struct rnd_area *area, size_t offset, uint64_t broadcast);
void rnd_fill(const struct rnd_job *job, unsigned operand, unsigned char *to, size_t bytes);

/* ---- contexts, their domains and points (context.c) ---- */

/* 1: what the library says is printed. */
extern int rnd_verbose;

struct rnd_handle;
struct rnd_open {
    const struct rnd_context *spec;
    gx_ctx *ctx;
    gx_op registered; /* RND_REGISTERED in this context */
    char device[RND_LIST][48];
    size_t ndevices;
    pthread_mutex_t lock;
    struct rnd_handle *handles;
    atomic_long allocated, until_failure;
    struct rnd_board *board;
};
void rnd_open(struct rnd_open *open, const struct rnd_context *spec, struct rnd_board *board);
void rnd_close(struct rnd_open *open);
gx_domain *rnd_domain(struct rnd_open *open, const struct rnd_job *job);
/* NULL if they are rejected, as they must be, or the device failed, as it may. */
gx_points *rnd_points(struct rnd_open *open, const struct rnd_call *call, const struct rnd_job *job,
                      const struct rnd_points **known);

/* ---- what suffices (budget.c) ---- */

/* A device_memory with which no call of the context may lack device memory. */
uint64_t rnd_enough_memory(const struct rnd_context *context);

/* ---- what may go wrong (judge.c) ---- */

/* The statuses that a call may have because of devices that fail, little memory, or cancels. */
int rnd_may_return(const struct rnd_open *open, const struct rnd_call *call, gx_status status);
int rnd_is_faulty(const char *device);

/* One call, from its memory to its verdict. */
struct rnd_live {
    struct rnd_open *open;
    const struct rnd_call *call;
    struct rnd_area area[RND_JOBS * RND_OPERANDS];
    unsigned nareas;
    const struct rnd_points *points[RND_JOBS];
    gx_ticket *ticket;
    gx_report report[RND_JOBS];
    gx_status status;
    int has_reports, has_status;
    pthread_t canceller;
    int has_canceller;
    atomic_int notified;
};
struct rnd_area *rnd_live_area(struct rnd_live *live, unsigned job, unsigned operand,
                               size_t *offset);
void rnd_judge(struct rnd_live *live);

/* ---- calls (call.c) ---- */

void rnd_run_calls(struct rnd_open *open, uint64_t thread);

#endif
