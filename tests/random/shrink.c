/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a program smaller as long as it fails in the same way: contexts, calls and jobs go, then
 * every member becomes 0, half, or one less.
 */
#include <stdlib.h>
#include <string.h>

#include "random/watch.h"

struct shrink {
    struct rnd_program *best, *next;
    enum rnd_failure failure;
    struct rnd_board *board;
    unsigned tried, tries;
    int progress;
    char what[sizeof((struct rnd_board *)0)->message];
};

/* The start of a message, without its numbers: what failed. */
static void simplify(char *what, const char *message)
{
    size_t used = 0;
    for (; *message && used < 40; message++)
        if (*message < '0' || *message > '9')
            what[used++] = *message;
    what[used] = 0;
}

static int fails_alike(struct shrink *s)
{
    char what[sizeof s->what];
    if (rnd_try(s->next, s->board, 1) != s->failure)
        return 0;
    simplify(what, s->board->message);
    return s->failure != FAIL_STATUS || strcmp(what, s->what) == 0;
}

/* Tries `next`, some times because threads may hide it; keeps it if it fails. */
static int try_next(struct shrink *s)
{
    enum { AGAIN = 2 };
    rnd_legalise(s->next);
    int fails = 0;
    if (memcmp(s->next, s->best, sizeof *s->best) != 0)
        for (int i = 0; i < AGAIN && !fails && s->tried < s->tries; i++) {
            s->tried++;
            fails = fails_alike(s);
        }
    if (fails) {
        *s->best = *s->next;
        s->progress = 1;
    } else {
        *s->next = *s->best;
    }
    return fails;
}

/* ---- without a part ---- */

static void remove_at(void *array, size_t size, uint64_t *count, uint64_t at)
{
    char *from = (char *)array + at * size;
    memmove(from, from + size, (*count - at - 1) * size);
    (*count)--;
    memset((char *)array + *count * size, 0, size);
}

/* What shared the memory of the job that goes gets its own. */
static void remove_job(struct rnd_call *call, uint64_t at)
{
    static const struct rnd_operand none;
    for (uint64_t j = at + 1; j < call->njobs; j++)
        for (unsigned i = 0; i < RND_OPERANDS; i++) {
            struct rnd_operand *operand = &call->job[j].operand[i];
            if (operand->memory == MEM_SAME && operand->job == at)
                *operand = none;
            else if (operand->memory == MEM_SAME && operand->job > at)
                operand->job--;
        }
    remove_at(call->job, sizeof *call->job, &call->njobs, at);
}

static void drop_parts(struct shrink *s)
{
    struct rnd_program *p = s->next;
    for (uint64_t i = p->ncontexts; i-- > 0;) {
        if (p->ncontexts > 1) {
            remove_at(p->context, sizeof *p->context, &p->ncontexts, i);
            if (try_next(s))
                continue;
        }
        for (uint64_t k = p->context[i].ncalls; k-- > 0;) {
            if (p->context[i].ncalls > 1) {
                remove_at(p->context[i].call, sizeof *p->context[i].call, &p->context[i].ncalls, k);
                if (try_next(s))
                    continue;
            }
            for (uint64_t j = p->context[i].call[k].njobs; j-- > 0;)
                if (p->context[i].call[k].njobs > 1) {
                    remove_job(&p->context[i].call[k], j);
                    try_next(s);
                }
        }
    }
}

/* ---- members ---- */

static void set(struct shrink *s, size_t at, uint64_t value)
{
    memcpy((char *)s->next + at, &value, sizeof value);
}

static uint64_t get(struct shrink *s, size_t at)
{
    uint64_t value;
    memcpy(&value, (char *)s->best + at, sizeof value);
    return value;
}

static void shrink_number(struct shrink *s, size_t at, int to_zero_only)
{
    if (!get(s, at))
        return;
    set(s, at, 0);
    if (try_next(s) || to_zero_only)
        return;
    for (uint64_t part = get(s, at) / 2; part > 0;) {
        set(s, at, get(s, at) - part);
        if (!try_next(s) || part >= get(s, at))
            part /= 2;
    }
}

/* Another text in its place. */
static int try_text(struct shrink *s, size_t at, size_t size, const char *text)
{
    memset((char *)s->next + at, 0, size);
    snprintf((char *)s->next + at, size, "%s", text);
    return try_next(s);
}

/* A list without one of its members. */
static int drop_member(struct shrink *s, size_t at, size_t size)
{
    char names[RND_LIST][48], text[256];
    size_t count = rnd_split((char *)s->next + at, names);
    for (size_t skip = 0; count > 1 && skip < count; skip++) {
        text[0] = 0;
        for (size_t i = 0; i < count; i++)
            if (i != skip) {
                strcat(text, *text ? "," : "");
                strcat(text, names[i]);
            }
        if (try_text(s, at, size, text))
            return 1;
    }
    return 0;
}

/* The simplest device; fewer of them; one that does not fail. */
static void shrink_devices(struct shrink *s, size_t at, size_t size)
{
    const char *text = (const char *)s->best + at, *inner;
    if (try_text(s, at, size, "cpu"))
        return;
    while (drop_member(s, at, size))
        continue;
    if (strncmp(text, "fault:", 6) == 0 && !strchr(text, ',') && (inner = strrchr(text, '@')) &&
        (inner = strchr(inner, ':'))) {
        char kept[48];
        rnd_set_name(kept, "%s", inner + 1);
        try_text(s, at, size, kept);
    }
}

static void shrink_text(struct shrink *s, const struct rnd_key *key, size_t at)
{
    if (!((const char *)s->best)[at])
        return;
    if (key->type == TYPE_LIST)
        shrink_devices(s, at, key->size);
    else if (!try_text(s, at, key->size, "") && strcmp(key->name, "device") == 0)
        shrink_devices(s, at, key->size);
}

static void shrink_record(struct shrink *s, const struct rnd_key *keys, const void *record)
{
    size_t base = (size_t)((const char *)record - (const char *)s->next);
    for (; keys->name && s->tried < s->tries; keys++)
        if (keys->type == TYPE_TEXT || keys->type == TYPE_LIST)
            shrink_text(s, keys, base + keys->offset);
        else if (keys->type != TYPE_KEPT)
            shrink_number(s, base + keys->offset, keys->type == TYPE_SEED || keys->label);
}

static void shrink_job(struct shrink *s, struct rnd_job *job)
{
    shrink_record(s, rnd_job_keys, job);
    for (unsigned i = 0; i < RND_OPERANDS; i++)
        shrink_record(s, rnd_operand_keys, &job->operand[i]);
    if (job->op == GX_MSM)
        shrink_record(s, rnd_points_keys, &job->points);
}

static void shrink_members(struct shrink *s)
{
    struct rnd_program *p = s->next;
    for (uint64_t i = 0; i < p->ncontexts; i++) {
        shrink_record(s, rnd_context_keys, &p->context[i]);
        for (uint64_t k = 0; k < p->context[i].ncalls; k++) {
            shrink_record(s, rnd_call_keys, &p->context[i].call[k]);
            for (uint64_t j = 0; j < p->context[i].call[k].njobs; j++)
                shrink_job(s, &p->context[i].call[k].job[j]);
        }
    }
}

unsigned rnd_shrink(struct rnd_program *program, enum rnd_failure failure, struct rnd_board *board,
                    unsigned tries)
{
    struct shrink s = {.best = program, .failure = failure, .board = board, .tries = tries};
    s.next = malloc(sizeof *s.next);
    if (!s.next)
        abort();
    *s.next = *program;
    simplify(s.what, board->message);
    do {
        s.progress = 0;
        drop_parts(&s);
        shrink_members(&s);
    } while (s.progress && s.tried < s.tries);
    free(s.next);
    return s.tried;
}
