/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs as text: one record a line, with those members that are not 0. A job follows its call,
 * its operands and points follow the job.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "random/program.h"

#define LABELS(name, ...)                                                                          \
    static const char *name(uint64_t value)                                                        \
    {                                                                                              \
        static const char *const names[] = {__VA_ARGS__};                                          \
        return value < sizeof names / sizeof *names ? names[value] : NULL;                         \
    }

LABELS(memory_label, "host", "registered", "partly", "buffer", "mappable", "same")
LABELS(values_label, "zero", "one", "small", "edges", "random", "sparse")
LABELS(root_label, "default", "power")
LABELS(shift_label, "default", "power", "one", "minus-one")
LABELS(bad_label, "none", "off-curve", "not-canonical", "encoding")
LABELS(how_label, "run", "ticket")
LABELS(wait_label, "forever", "poll", "any", "notify", "free", "short")
LABELS(cancel_label, "never", "at-once", "other-thread", "all", "later")
LABELS(operand_label, "a", "b", "c", "out")
LABELS(policy_label, "auto", "cpu", "gpu", "throughput")
LABELS(path_label, "auto", "host-visible", "device-local")
LABELS(mode_label, "auto", "sequential", "single-submit", "pipelined")
LABELS(check_label, "curve", "subgroup", "none")
LABELS(scalar_label, "plain", "mont")
LABELS(form_label, "-", "xy-mont", "xy-plain", "compressed", "uncompressed", "eip2537",
       "jacobian-mont")

const char *rnd_op_name(uint64_t op)
{
    const gx_op_info *info = op < RND_REGISTERED ? gx_op_get_info((gx_op)op) : NULL;
    return op == 0 ? "-" : op == RND_REGISTERED ? "registered" : info ? info->name : NULL;
}

static const char *field_label(uint64_t value)
{
    const gx_field_info *info = gx_field_get_info((gx_field)value);
    return value == 0 ? "-" : info ? info->name : NULL;
}

static const char *curve_label(uint64_t value)
{
    const gx_curve_info *info = gx_curve_get_info((gx_curve)value);
    return value == 0 ? "-" : info ? info->name : NULL;
}

#define NUMBER(record, member, name)                                                               \
    {                                                                                              \
        name, offsetof(struct record, member), TYPE_NUMBER, NULL, 0                                \
    }
#define SEED(record, member, name)                                                                 \
    {                                                                                              \
        name, offsetof(struct record, member), TYPE_SEED, NULL, 0                                  \
    }
#define NAMED(record, member, name, label)                                                         \
    {                                                                                              \
        name, offsetof(struct record, member), TYPE_NUMBER, label, 0                               \
    }
#define KEPT(record, member, name, label)                                                          \
    {                                                                                              \
        name, offsetof(struct record, member), TYPE_KEPT, label, 0                                 \
    }
#define TEXT(record, member, name)                                                                 \
    {                                                                                              \
        name, offsetof(struct record, member), TYPE_TEXT, NULL, sizeof((struct record *)0)->member \
    }
#define LIST(record, member, name)                                                                 \
    {                                                                                              \
        name, offsetof(struct record, member), TYPE_LIST, NULL, sizeof((struct record *)0)->member \
    }
#define END                                                                                        \
    {                                                                                              \
        NULL, 0, TYPE_NUMBER, NULL, 0                                                              \
    }

const struct rnd_key rnd_context_keys[] = {LIST(rnd_context, device, "device"),
                                           TEXT(rnd_context, cpumask, "cpumask"),
                                           NAMED(rnd_context, policy, "policy", policy_label),
                                           NAMED(rnd_context, path, "path", path_label),
                                           NAMED(rnd_context, mode, "mode", mode_label),
                                           NUMBER(rnd_context, sample_every, "sample-every"),
                                           NUMBER(rnd_context, threads, "threads"),
                                           NUMBER(rnd_context, dispatch_elems, "dispatch-elems"),
                                           NUMBER(rnd_context, chunk_elems, "stream-chunk-elems"),
                                           NUMBER(rnd_context, device_memory, "device-memory"),
                                           NUMBER(rnd_context, queue_jobs, "queue-jobs"),
                                           NUMBER(rnd_context, counted, "counted"),
                                           NUMBER(rnd_context, fail_alloc, "fail-alloc"),
                                           END};

const struct rnd_key rnd_call_keys[] = {NAMED(rnd_call, how, "how", how_label),
                                        TEXT(rnd_call, device, "device"),
                                        NAMED(rnd_call, path, "path", path_label),
                                        NAMED(rnd_call, mode, "mode", mode_label),
                                        NAMED(rnd_call, policy, "policy", policy_label),
                                        NUMBER(rnd_call, thread, "thread"),
                                        NAMED(rnd_call, wait, "wait", wait_label),
                                        NAMED(rnd_call, cancel, "cancel", cancel_label),
                                        NUMBER(rnd_call, estimate, "estimate"),
                                        NUMBER(rnd_call, no_reports, "no-reports"),
                                        END};

const struct rnd_key rnd_job_keys[] = {KEPT(rnd_job, op, "op", rnd_op_name),
                                       KEPT(rnd_job, field, "field", field_label),
                                       NUMBER(rnd_job, n, "n"),
                                       NUMBER(rnd_job, trusted, "trusted"),
                                       NUMBER(rnd_job, log2_n, "log2-n"),
                                       NUMBER(rnd_job, log2_pad, "log2-pad"),
                                       NUMBER(rnd_job, ntt_flags, "ntt-flags"),
                                       NUMBER(rnd_job, domain, "domain"),
                                       NAMED(rnd_job, root, "root", root_label),
                                       NAMED(rnd_job, shift, "shift", shift_label),
                                       SEED(rnd_job, domain_seed, "domain-seed"),
                                       NUMBER(rnd_job, count, "count"),
                                       NUMBER(rnd_job, reversed, "reversed"),
                                       NUMBER(rnd_job, first, "first"),
                                       NAMED(rnd_job, scalar_form, "scalar-form", scalar_label),
                                       NUMBER(rnd_job, scalar_bits, "scalar-bits"),
                                       NAMED(rnd_job, result_form, "result-form", form_label),
                                       END};

const struct rnd_key rnd_operand_keys[] = {NAMED(rnd_operand, memory, "memory", memory_label),
                                           NUMBER(rnd_operand, offset, "offset"),
                                           NUMBER(rnd_operand, tight, "tight"),
                                           NUMBER(rnd_operand, broadcast, "broadcast"),
                                           NAMED(rnd_operand, values, "values", values_label),
                                           SEED(rnd_operand, seed, "seed"),
                                           NUMBER(rnd_operand, bad, "bad"),
                                           NUMBER(rnd_operand, device, "device"),
                                           NUMBER(rnd_operand, job, "job"),
                                           NAMED(rnd_operand, of, "of", operand_label),
                                           END};

const struct rnd_key rnd_points_keys[] = {KEPT(rnd_points_spec, curve, "curve", curve_label),
                                          NUMBER(rnd_points_spec, count, "count"),
                                          NAMED(rnd_points_spec, form, "form", form_label),
                                          NAMED(rnd_points_spec, check, "check", check_label),
                                          NUMBER(rnd_points_spec, gap, "gap"),
                                          NUMBER(rnd_points_spec, flag, "flag"),
                                          NUMBER(rnd_points_spec, table_bytes, "table-bytes"),
                                          NAMED(rnd_points_spec, values, "values", values_label),
                                          SEED(rnd_points_spec, seed, "seed"),
                                          NUMBER(rnd_points_spec, outside, "outside"),
                                          NAMED(rnd_points_spec, bad, "bad", bad_label),
                                          NUMBER(rnd_points_spec, bad_index, "bad-index"),
                                          NUMBER(rnd_points_spec, buffer, "buffer"),
                                          NUMBER(rnd_points_spec, offset, "offset"),
                                          NAMED(rnd_points_spec, read, "read", form_label),
                                          END};

/* ---- printing ---- */

static void print_record(FILE *to, const char *indent, const char *kind, const struct rnd_key *keys,
                         const void *record)
{
    fprintf(to, "%s%s", indent, kind);
    for (; keys->name; keys++) {
        const char *at = (const char *)record + keys->offset;
        uint64_t value;
        if (keys->type == TYPE_TEXT || keys->type == TYPE_LIST) {
            if (*at)
                fprintf(to, " %s=%s", keys->name, at);
            continue;
        }
        memcpy(&value, at, sizeof value);
        if (value && keys->label && keys->label(value))
            fprintf(to, " %s=%s", keys->name, keys->label(value));
        else if (value)
            fprintf(to, " %s=%" PRIu64, keys->name, value);
    }
    fprintf(to, "\n");
}

static void print_job(FILE *to, const struct rnd_job *job)
{
    static const struct rnd_operand none;
    print_record(to, "    ", "job", rnd_job_keys, job);
    for (unsigned i = 0; i < RND_OPERANDS; i++)
        if (memcmp(&job->operand[i], &none, sizeof none) != 0)
            print_record(to, "      ", operand_label(i), rnd_operand_keys, &job->operand[i]);
    if (job->op == GX_MSM)
        print_record(to, "      ", "points", rnd_points_keys, &job->points);
}

void rnd_print(FILE *to, const struct rnd_program *program)
{
    for (uint64_t i = 0; i < program->ncontexts; i++) {
        const struct rnd_context *context = &program->context[i];
        print_record(to, "", "context", rnd_context_keys, context);
        for (uint64_t k = 0; k < context->ncalls; k++) {
            print_record(to, "  ", "call", rnd_call_keys, &context->call[k]);
            for (uint64_t j = 0; j < context->call[k].njobs; j++)
                print_job(to, &context->call[k].job[j]);
        }
    }
}

/* ---- parsing ---- */

static int parse_number(const struct rnd_key *key, const char *text, uint64_t *value)
{
    char *end;
    for (uint64_t v = 0; key->label && key->label(v); v++)
        if (strcmp(key->label(v), text) == 0) {
            *value = v;
            return 1;
        }
    errno = 0;
    *value = strtoull(text, &end, 10);
    return isdigit((unsigned char)*text) && !*end && !errno;
}

static int parse_member(const struct rnd_key *keys, void *record, char *word)
{
    char *text = strchr(word, '=');
    if (!text)
        return 0;
    *text++ = 0;
    while (keys->name && strcmp(keys->name, word) != 0)
        keys++;
    if (!keys->name)
        return 0;
    char *at = (char *)record + keys->offset;
    if (keys->type == TYPE_TEXT || keys->type == TYPE_LIST) {
        if (strlen(text) >= keys->size)
            return 0;
        strcpy(at, text);
        return 1;
    }
    uint64_t value;
    if (!parse_number(keys, text, &value))
        return 0;
    memcpy(at, &value, sizeof value);
    return 1;
}

struct cursor {
    struct rnd_program *program;
    struct rnd_context *context;
    struct rnd_call *call;
    struct rnd_job *job;
};

/* The record that a line begins, and its members. */
static void *begin_record(struct cursor *at, const char *kind, const struct rnd_key **keys)
{
    if (strcmp(kind, "context") == 0 && at->program->ncontexts < RND_CONTEXTS) {
        *keys = rnd_context_keys;
        at->call = NULL;
        at->job = NULL;
        return at->context = &at->program->context[at->program->ncontexts++];
    }
    if (strcmp(kind, "call") == 0 && at->context && at->context->ncalls < RND_CALLS) {
        *keys = rnd_call_keys;
        at->job = NULL;
        return at->call = &at->context->call[at->context->ncalls++];
    }
    if (strcmp(kind, "job") == 0 && at->call && at->call->njobs < RND_JOBS) {
        *keys = rnd_job_keys;
        return at->job = &at->call->job[at->call->njobs++];
    }
    if (strcmp(kind, "points") == 0 && at->job) {
        *keys = rnd_points_keys;
        return &at->job->points;
    }
    *keys = rnd_operand_keys;
    for (uint64_t i = 0; at->job && i < RND_OPERANDS; i++)
        if (strcmp(kind, operand_label(i)) == 0)
            return &at->job->operand[i];
    return NULL;
}

static int parse_line(struct cursor *at, char *line)
{
    const struct rnd_key *keys;
    char *rest = NULL, *word = strtok_r(line, " \t\r\n", &rest);
    if (!word || *word == '#')
        return 1;
    void *record = begin_record(at, word, &keys);
    if (!record)
        return 0;
    while ((word = strtok_r(NULL, " \t\r\n", &rest)))
        if (!parse_member(keys, record, word))
            return 0;
    return 1;
}

unsigned rnd_parse(FILE *from, struct rnd_program *program)
{
    char line[2048];
    struct cursor at = {.program = program};
    memset(program, 0, sizeof *program);
    for (unsigned number = 1; fgets(line, sizeof line, from); number++)
        if (!parse_line(&at, line))
            return number;
    return program->ncontexts ? 0 : 1;
}
