/* SPDX-License-Identifier: Apache-2.0
 *
 * A random program: contexts with settings, calls, and jobs over operands in all kinds of memory.
 * It is plain data in which 0 is always the simplest choice, so that it can be written as text,
 * read back, and made smaller member by member. What it means is in run.c.
 */
#ifndef GX_TESTS_RANDOM_PROGRAM_H
#define GX_TESTS_RANDOM_PROGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gpuexec.h"

enum { RND_CONTEXTS = 3, RND_CALLS = 8, RND_JOBS = 6, RND_LIST = 8, RND_OPERANDS = 4 };

/* Where an operand is. SAME: in the memory of an earlier operand of the same call. */
enum { MEM_HOST, MEM_REGISTERED, MEM_PARTLY, MEM_BUFFER, MEM_MAPPABLE, MEM_SAME, MEM_END };

/* What an operand holds to begin with. */
enum { VAL_ZERO, VAL_ONE, VAL_SMALL, VAL_EDGES, VAL_RANDOM, VAL_SPARSE, VAL_END };

/* The roots and shifts of domains. */
enum { DOM_DEFAULT, DOM_POWER, DOM_ONE, DOM_MINUS_ONE, DOM_END };

/* What is wrong with a point. */
enum { BAD_NONE, BAD_OFF_CURVE, BAD_NOT_CANONICAL, BAD_ENCODING, BAD_END };

/* The op of a job with an operation that the program registers: 5 * a + (b xor a / 128) of words, a
 * C function for the devices of the host. */
enum { RND_REGISTERED = GX_MSM + 1 };

enum { HOW_RUN, HOW_TICKET, HOW_END };

/* How a ticket is waited for, and who cancels it. */
enum { WAIT_FOREVER, WAIT_POLL, WAIT_ANY, WAIT_NOTIFY, WAIT_FREE, WAIT_SHORT, WAIT_END };
enum { CANCEL_NEVER, CANCEL_AT_ONCE, CANCEL_OTHER_THREAD, CANCEL_ALL, CANCEL_LATER, CANCEL_END };

struct rnd_operand {
    uint64_t memory;
    uint64_t offset; /* bytes: misalignment in host memory, place in a buffer; SAME: distance */
    uint64_t tight;  /* nothing behind it in its allocation */
    uint64_t broadcast;
    uint64_t values, seed;
    uint64_t bad;     /* element bad - 1 is not below the modulus, or an index out of range */
    uint64_t device;  /* of a buffer: in the list of the context, from 1; 0: NULL */
    uint64_t job, of; /* SAME: as operand `of` (0 is a) of that job */
};

struct rnd_points_spec {
    uint64_t curve, count, form, check;
    uint64_t gap;  /* bytes between two of them */
    uint64_t flag; /* 1: a byte says that it is infinity */
    uint64_t table_bytes;
    uint64_t values, seed;
    uint64_t outside; /* 1: some are not in the subgroup */
    uint64_t bad, bad_index;
    uint64_t buffer; /* 1: they are in a buffer */
    uint64_t offset;
    uint64_t read; /* a form: they are read back */
};

struct rnd_job {
    uint64_t op, field, n, trusted;
    uint64_t log2_n, log2_pad, ntt_flags;
    uint64_t domain; /* the domain is this much larger than the transform */
    uint64_t root, shift, domain_seed;
    uint64_t count, reversed;
    uint64_t first, scalar_form, scalar_bits, result_form;
    struct rnd_operand operand[RND_OPERANDS]; /* a, b, c, out */
    struct rnd_points_spec points;
};

struct rnd_call {
    uint64_t how;
    char device[48]; /* "": none is named */
    uint64_t path, mode, policy;
    uint64_t thread, wait, cancel, estimate, no_reports;
    uint64_t njobs;
    struct rnd_job job[RND_JOBS];
};

struct rnd_context {
    char device[256]; /* "": NULL */
    char cpumask[64];
    uint64_t policy, path, mode;
    uint64_t sample_every, threads, dispatch_elems, chunk_elems, device_memory, queue_jobs;
    uint64_t counted;    /* 1: the allocator counts */
    uint64_t fail_alloc; /* so many allocations after gx_open, one fails; 0: none */
    uint64_t ncalls;
    struct rnd_call call[RND_CALLS];
};

struct rnd_program {
    uint64_t ncontexts;
    struct rnd_context context[RND_CONTEXTS];
};

/* ---- text (text.c) ---- */

const char *rnd_op_name(uint64_t op);
void rnd_print(FILE *to, const struct rnd_program *program);
/* 0, or the number of the line that is wrong. */
unsigned rnd_parse(FILE *from, struct rnd_program *program);

/* The members of each kind of record, for everything that treats them alike. */
enum rnd_type {
    TYPE_NUMBER,
    TYPE_SEED,
    TYPE_TEXT,
    TYPE_LIST, /* of devices: never empty */
    TYPE_KEPT  /* it says what the job is: not made smaller */
};
struct rnd_key {
    const char *name;
    size_t offset;
    enum rnd_type type;
    const char *(*label)(uint64_t value); /* of a number; NULL past the last */
    size_t size;                          /* of a text */
};
extern const struct rnd_key rnd_context_keys[], rnd_call_keys[], rnd_job_keys[], rnd_operand_keys[],
    rnd_points_keys[]; /* up to one without a name */

/* ---- rules (legal.c) ---- */

/* What a job needs of each operand, by the definition of its operation. */
size_t rnd_elements(const struct rnd_job *job, unsigned operand);
size_t rnd_element_bytes(const struct rnd_job *job, unsigned operand);
size_t rnd_bytes(const struct rnd_job *job, unsigned operand);
unsigned rnd_operand_count(const struct rnd_job *job); /* without out */
/* It is a, b, c or out of an operation on polynomials that has one element. */
int rnd_is_one(const struct rnd_job *job, unsigned operand);
size_t rnd_batch(const struct rnd_job *job);
size_t rnd_point_bytes(uint64_t curve, uint64_t form);

/* The operand whose memory it is, and the distance in bytes. */
struct rnd_place {
    unsigned job, operand;
    size_t offset;
};
struct rnd_place rnd_place(const struct rnd_call *call, unsigned job, unsigned operand);

/* Changes what the header forbids to the nearest that it allows, and what would take too long to
 * something smaller. */
void rnd_legalise(struct rnd_program *program);

/* Sets the name of a device; ends the process where it is too long: cut, it would be another. */
__attribute__((format(printf, 2, 3))) void rnd_set_name(char name[48], const char *format, ...);
/* A list of devices, separated by commas. */
int rnd_names_gpu(const char *devices);
/* One that gives wrong results. */
int rnd_names_liar(const char *devices);
size_t rnd_split(const char *list, char names[RND_LIST][48]);

/* ---- generator (generate.c) ---- */

struct rnd_options {
    char devices[RND_LIST][48]; /* to choose from: names, "sim", "fault", "auto" */
    size_t ndevices;
    int named, routed; /* 1: only such calls */
};
void rnd_generate(uint64_t seed, const struct rnd_options *options, struct rnd_program *program);

/* A small random generator. */
uint64_t rnd_next(uint64_t *state);
uint64_t rnd_below(uint64_t *state, uint64_t limit);

#endif
