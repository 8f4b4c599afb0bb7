/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as the arguments of gx_run: jobs with any operation, field, length, flags and operands, in
 * host memory, in buffers, in both or in none. What cannot be right must be refused and leave all
 * memory as it was; what is taken may change the bytes of its outputs, and no others.
 *
 * Input: two bytes for the call (device, path and mode; number of jobs, policy, size of the
 * options), then for each job op, field, n, flags and, for each of its four operands, where it
 * lies and from which byte on.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpuexec.h"

enum { JOBS = 3, OPERANDS = 4, ARENA = 4096, BUFFER = 2048, SMALL = 20, OPTS_ROOM = 256 };

/* Where an operand lies. */
enum { ABSENT, IN_ARENA, IN_FIRST, IN_SECOND, IN_FOREIGN, TWICE, OFFSET_HOST, NEAR_END, PLACES };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct source {
    const uint8_t *data;
    size_t size;
} source;

static struct {
    gx_ctx *ctx, *other;
    gx_buf *buf[3]; /* two of ctx, one of other */
} here;

/* Memory that operands lie in, and what may change of it. */
typedef struct memory {
    unsigned char arena[ARENA], buf[3][BUFFER];
} memory;

static memory before, after;
static unsigned char may_change[sizeof(memory)];

static void require(int truth)
{
    if (!truth)
        abort();
}

static uint8_t take(source *s)
{
    if (!s->size)
        return 0;
    s->size--;
    return *s->data++;
}

static uint16_t take_two(source *s)
{
    uint16_t low = take(s);
    return (uint16_t)(low | take(s) << 8);
}

/* ---- from bytes to a call ---- */

/* Few, or impossibly many: anything in between would depend on the caller's memory. */
static size_t decode_n(uint8_t byte)
{
    static const size_t huge[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4, SIZE_MAX / 8 + 1};
    return byte < 240 ? byte % SMALL : huge[byte % (sizeof huge / sizeof *huge)];
}

static gx_operand decode_operand(source *s, unsigned char *arena, int *place)
{
    uint8_t kind = take(s);
    size_t at = take_two(s);
    gx_operand o = {.broadcast = kind >> 4 & 1};
    *place = kind % PLACES;
    switch (*place) {
    case ABSENT:
        break;
    case NEAR_END:
        o.host = (void *)(UINTPTR_MAX - at % 4); /* no element fits */
        break;
    case IN_ARENA:
    case OFFSET_HOST:
        o.host = arena + at % (ARENA - SMALL * 48);
        o.offset = *place == OFFSET_HOST ? 1 + at : 0;
        break;
    default:
        o.buf = here.buf[*place == TWICE ? 0 : *place - IN_FIRST];
        o.host = *place == TWICE ? arena : NULL;
        o.offset = kind & 0x20 ? at : at % (BUFFER / 16) * 16;
        o.offset = kind & 0x40 ? SIZE_MAX - at : o.offset;
    }
    return o;
}

/* Whether an operand is invalid by itself, whatever the operation's shape. */
static int is_wrong_place(const gx_operand *o, int place, size_t element_bytes)
{
    if (o->buf && place != TWICE && (o->offset >= BUFFER || BUFFER - o->offset < element_bytes))
        return 1; /* not even one element fits */
    return place != IN_ARENA && place != IN_FIRST && place != IN_SECOND;
}

/* A reduction has one, even of no elements. */
static size_t results_of(const gx_job *job)
{
    return job->op == GX_SUM || job->op == GX_DOT ? 1 : job->n;
}

/* Decodes a job; returns whether it must be rejected. */
static int decode_job(source *s, gx_job *job, unsigned char *arena)
{
    gx_operand *const operands[OPERANDS] = {&job->out, &job->a, &job->b, &job->c};
    int places[OPERANDS], wrong;
    job->op = (gx_op)(take(s) & 15);
    job->field = (gx_field)(take(s) & 7);
    job->n = decode_n(take(s));
    job->flags = take(s) & 7;
    const gx_op_info *op = gx_op_get_info(job->op);
    const gx_field_info *field = gx_field_get_info(job->field);
    for (int i = 0; i < OPERANDS; i++)
        *operands[i] = decode_operand(s, arena, &places[i]);
    wrong = !op || !field || !gx_op_exists(job->op, job->field) || job->flags & ~GX_JOB_UNCHECKED ||
            job->n > SMALL;
    for (uint32_t i = 0; !wrong && i < OPERANDS; i++) {
        if (i > op->operands)
            wrong = operands[i]->host || operands[i]->buf;
        else if (i ? job->n : results_of(job))
            wrong = is_wrong_place(operands[i], places[i], field->element_bytes);
        else
            wrong = operands[i]->buf && operands[i]->offset > BUFFER;
    }
    return wrong;
}

/* An output that may be written. */
static void mark_output(const gx_job *job, unsigned char *arena)
{
    size_t bytes = results_of(job) * gx_field_get_info(job->field)->element_bytes;
    unsigned char *from = may_change;
    if (!bytes)
        return;
    if (job->out.buf)
        from += ARENA + (job->out.buf == here.buf[1] ? BUFFER : 0) + job->out.offset;
    else
        from += (unsigned char *)job->out.host - arena;
    size_t room = (size_t)(may_change + sizeof may_change - from);
    memset(from, 1, bytes < room ? bytes : room);
}

static gx_run_params *decode_opts(source *s, unsigned char room[OPTS_ROOM], uint8_t *count)
{
    static const char *const devices[] = {NULL, "cpu", "ref", "nonsense"};
    gx_run_params *opts = (gx_run_params *)(void *)room;
    uint8_t how = take(s), more = take(s);
    memset(room, 0, OPTS_ROOM);
    opts->device = devices[how & 3];
    opts->path = (gx_path)(how >> 2 & 3);
    opts->mode = (gx_mode)(how >> 4 & 7);
    opts->policy = (gx_policy)(more >> 2 & 7);
    opts->struct_size = more & 0x20 ? sizeof *opts : more & 0x40 ? more : 0;
    *count = more % (JOBS + 1);
    return more & 0x80 ? NULL : opts;
}

/* ---- memory ---- */

static void fill(memory *m)
{
    for (size_t i = 0; i < sizeof m->arena; i++)
        m->arena[i] = (unsigned char)(i % 32 == 31 || i % 48 == 47 ? 0 : i * 7);
    for (int b = 0; b < 3; b++)
        memset(m->buf[b], b + 1, BUFFER);
}

static void write_buffers(void)
{
    for (int b = 0; b < 3; b++)
        require(gx_buf_write(here.buf[b], 0, before.buf[b], BUFFER) == GX_OK);
}

static void read_buffers(void)
{
    for (int b = 0; b < 3; b++)
        require(gx_buf_read(here.buf[b], 0, after.buf[b], BUFFER) == GX_OK);
}

static void open_once(void)
{
    const gx_config config = {.threads = 1, .cache_dir = "none", .device = "cpu"};
    if (here.ctx)
        return;
    require(gx_open(&config, &here.ctx) == GX_OK && gx_open(&config, &here.other) == GX_OK);
    for (int i = 0; i < 3; i++)
        require(gx_buf_create(i < 2 ? here.ctx : here.other, "cpu", BUFFER, 0, &here.buf[i]) ==
                GX_OK);
    fill(&before);
    write_buffers();
    after = before;
}

/* Buffers are compared only if a job uses one, because that takes longer than everything else. */
static int uses_buffers(const gx_job *jobs, uint8_t count)
{
    for (uint8_t i = 0; i < count; i++)
        if (jobs[i].out.buf || jobs[i].a.buf || jobs[i].b.buf || jobs[i].c.buf)
            return 1;
    return 0;
}

static void check_memory(void)
{
    const unsigned char *was = (const unsigned char *)&before, *is = (const unsigned char *)&after;
    for (size_t i = 0; i < sizeof before; i++)
        require(may_change[i] || was[i] == is[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static _Alignas(64) unsigned char room[OPTS_ROOM];
    source s = {data, size};
    uint8_t count;
    int wrong = 0;
    open_once();
    const gx_run_params *opts = decode_opts(&s, room, &count);
    gx_job *jobs = calloc(count ? count : 1, sizeof *jobs); /* no longer than they are */
    gx_report *reports = calloc(count ? count : 1, sizeof *reports);
    require(jobs && reports);
    for (uint8_t i = 0; i < count; i++)
        wrong |= decode_job(&s, &jobs[i], after.arena);
    for (uint8_t i = 0; i < count && !wrong; i++)
        mark_output(&jobs[i], after.arena);
    gx_status status = gx_run(here.ctx, jobs, count, opts, size & 1 ? reports : NULL);
    require(!wrong || status != GX_OK);
    int buffers = uses_buffers(jobs, count);
    if (buffers)
        read_buffers();
    if (memcmp(&before, &after, sizeof before) != 0) {
        check_memory();
        after = before;
        if (buffers)
            write_buffers();
    }
    memset(may_change, 0, sizeof may_change);
    free(jobs);
    free(reports);
    return 0;
}
