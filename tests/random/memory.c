/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of operands, with a copy of what it must hold: every byte of it is compared, those
 * around the operand included.
 */
#include <stdlib.h>
#include <string.h>

#include "random/run.h"

enum { CANARY = 0xc5, TAIL = 64 };

/* ---- values ---- */

static void put_edge(unsigned char *to, const struct rnd_prime *f, uint64_t *state, int any)
{
    mpz_t x;
    mpz_init(x);
    uint64_t small = rnd_below(state, 3);
    switch (rnd_below(state, 8)) {
    case 0:
    case 1:
        mpz_set_ui(x, small);
        break;
    case 2:
    case 3:
        mpz_sub_ui(x, f->p, 1 + small);
        break;
    case 4:
        mpz_set(x, f->r);
        break;
    case 5:
        mpz_fdiv_q_2exp(x, f->p, 1);
        mpz_add_ui(x, x, small);
        break;
    case 6: /* a run of ones, whose ends are anywhere */
        mpz_ui_pow_ui(x, 2, rnd_below(state, 8 * f->bytes));
        mpz_sub_ui(x, x, small);
        mpz_mod(x, x, f->p);
        break;
    default:
        mpz_sub(x, f->p, f->r);
        mpz_sub_ui(x, x, small);
        mpz_mod(x, x, f->p);
    }
    if (any && rnd_below(state, 3) == 0) { /* 2^256 - 1, or at and above the modulus */
        mpz_ui_pow_ui(x, 2, 256);
        mpz_sub_ui(x, x, 1);
        if (small)
            mpz_add_ui(x, f->p, small - 1);
    }
    rnd_put(to, f->bytes, x);
    mpz_clear(x);
}

static void put_random(unsigned char *to, const struct rnd_prime *f, uint64_t *state, int any)
{
    mpz_t x;
    for (size_t i = 0; i < f->bytes; i += 8) {
        uint64_t word = rnd_next(state);
        memcpy(to + i, &word, 8);
    }
    if (any)
        return;
    mpz_init(x);
    rnd_get(x, to, f->bytes);
    mpz_mod(x, x, f->p);
    rnd_put(to, f->bytes, x);
    mpz_clear(x);
}

/* any: integers that need not be below the modulus. */
static void put_element(unsigned char *to, const struct rnd_prime *f, uint64_t values,
                        uint64_t *state, int any)
{
    uint64_t word = 1;
    memset(to, 0, f->bytes);
    switch (values) {
    case VAL_ZERO:
        break;
    case VAL_SMALL:
        word = rnd_below(state, 1000); /* fall through */
    case VAL_ONE:
        memcpy(to, &word, sizeof word);
        break;
    case VAL_EDGES:
        put_edge(to, f, state, any);
        break;
    case VAL_SPARSE:
        if (rnd_below(state, 16))
            break; /* fall through */
    default:
        put_random(to, f, state, any);
    }
}

static uint32_t word_value(uint64_t field, uint64_t values, uint64_t *state)
{
    static const uint32_t edges[] = {0,          1,          0x7fffffff, 0x80000000, 0xffffffff,
                                     0x7f800000, 0xff800000, 0x7fc00001, 0x7f800001, 0x007fffff,
                                     0x00800000, 0x7f7fffff, 0x3f800000, 0xbf800000, 0x00000001};
    float x;
    uint32_t word = (uint32_t)rnd_next(state);
    switch (values) {
    case VAL_ZERO:
        return 0;
    case VAL_ONE:
    case VAL_SMALL:
        word = values == VAL_ONE ? 1 : word % 1000;
        x = (float)word;
        if (field == GX_F32)
            memcpy(&word, &x, sizeof word);
        return word;
    case VAL_EDGES:
        return edges[word % (sizeof edges / sizeof *edges)];
    default:
        return word;
    }
}

static void fill_words(const struct rnd_job *job, unsigned operand, unsigned char *to, size_t bytes)
{
    const struct rnd_operand *o = &job->operand[operand];
    uint64_t state = o->seed;
    int index = job->op == GX_GATHER && operand == 1;
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t word = index ? (uint32_t)rnd_below(&state, job->count)
                              : word_value(job->field, o->values, &state);
        if (index && (o->values == VAL_ZERO || o->values == VAL_ONE))
            word = o->values == VAL_ZERO ? 0 : (uint32_t)job->count - 1;
        memcpy(to + i, &word, 4);
    }
    if (index && o->bad) {
        uint32_t word = rnd_below(&state, 2) ? UINT32_MAX : (uint32_t)job->count;
        memcpy(to + 4 * (o->bad - 1), &word, 4);
    }
}

/* The modulus, a little more, or all ones. */
static void put_bad(unsigned char *to, const struct rnd_prime *f, uint64_t *state)
{
    mpz_t x;
    mpz_init_set(x, f->p);
    uint64_t choice = rnd_below(state, 3);
    mpz_add_ui(x, x, choice);
    rnd_put(to, f->bytes, x);
    if (choice == 2)
        memset(to, 0xff, f->bytes);
    mpz_clear(x);
}

void rnd_fill(const struct rnd_job *job, unsigned operand, unsigned char *to, size_t bytes)
{
    const struct rnd_operand *o = &job->operand[operand];
    const struct rnd_prime *f = rnd_prime(job->field);
    uint64_t state = o->seed;
    if (!f || (job->op == GX_GATHER && operand == 1)) {
        fill_words(job, operand, to, bytes);
        return;
    }
    int any = job->op == GX_MSM && job->scalar_form == GX_SCALAR_PLAIN;
    for (size_t i = 0; i + f->bytes <= bytes; i += f->bytes)
        put_element(to + i, f, o->values, &state, any);
    if (o->bad)
        put_bad(to + f->bytes * (o->bad - 1), f, &state);
}

/* ---- areas ---- */

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        abort();
    return memory;
}

/* What all operands in this memory need. */
static size_t bytes_needed(const struct rnd_area *area, const struct rnd_call *call)
{
    size_t most = 0;
    for (unsigned j = 0; j < call->njobs; j++)
        for (unsigned i = 0; i < RND_OPERANDS; i++) {
            struct rnd_place place = rnd_place(call, j, i);
            size_t end = place.offset + rnd_bytes(&call->job[j], i);
            if (place.job == area->job && place.operand == area->operand && end > most)
                most = end;
        }
    return most;
}

static gx_status make_buffer(struct rnd_area *area, gx_ctx *ctx, const char *device, int mappable)
{
    void *mapped;
    gx_status status =
        gx_buf_create(ctx, device, area->total, mappable ? GX_BUF_MAPPABLE : 0, &area->buf);
    if (status == GX_ERR_UNSUPPORTED && mappable) { /* WebGPU has no such memory */
        mappable = 0;
        status = gx_buf_create(ctx, device, area->total, 0, &area->buf);
    }
    if (status != GX_OK)
        return status;
    if (gx_buf_size(area->buf) != area->total)
        rnd_fail(FAIL_STATUS, "gx_buf_size is %zu, not %zu", gx_buf_size(area->buf), area->total);
    if (!mappable)
        return gx_buf_write(area->buf, 0, area->expected, area->total);
    status = gx_buf_map(area->buf, &mapped);
    if (status == GX_OK) {
        memcpy(mapped, area->expected, area->total);
        gx_buf_unmap(area->buf);
    }
    return status;
}

static gx_status make_host(struct rnd_area *area, gx_ctx *ctx, uint64_t kind)
{
    gx_status status = GX_OK;
    area->memory = allocate(area->total);
    memcpy(area->memory, area->expected, area->total);
    size_t bytes = kind == MEM_REGISTERED ? area->total : area->head + area->bytes / 2;
    if (kind != MEM_HOST && bytes) {
        status = gx_host_register(ctx, area->memory, bytes);
        area->registered = status == GX_OK;
    }
    return status;
}

gx_status rnd_area_make(struct rnd_area *area, gx_ctx *ctx, const struct rnd_call *call,
                        const char *device)
{
    const struct rnd_operand *o = &call->job[area->job].operand[area->operand];
    int buffer = o->memory == MEM_BUFFER || o->memory == MEM_MAPPABLE;
    area->bytes = bytes_needed(area, call);
    area->head = o->offset;
    area->total = area->head + area->bytes + (o->tight ? 0 : TAIL);
    if (buffer && area->total == 0)
        area->total = 16;
    area->expected = allocate(area->total);
    area->unknown = allocate(area->total);
    memset(area->expected, CANARY, area->total);
    memset(area->unknown, 0, area->total);
    rnd_fill(&call->job[area->job], area->operand, area->expected + area->head, area->bytes);
    return buffer ? make_buffer(area, ctx, device, o->memory == MEM_MAPPABLE)
                  : make_host(area, ctx, o->memory);
}

void rnd_area_free(struct rnd_area *area, gx_ctx *ctx)
{
    if (area->registered && gx_host_unregister(ctx, area->memory) != GX_OK)
        rnd_fail(FAIL_STATUS, "gx_host_unregister: %s", gx_last_message());
    gx_buf_destroy(&area->buf);
    free(area->memory);
    free(area->expected);
    free(area->unknown);
}

gx_operand rnd_area_operand(const struct rnd_area *area, size_t offset, uint64_t broadcast)
{
    if (area->buf)
        return broadcast ? gx_dev_broadcast(area->buf, area->head + offset)
                         : gx_dev(area->buf, area->head + offset);
    return broadcast ? gx_host_broadcast(area->memory + area->head + offset)
                     : gx_host(area->memory + area->head + offset);
}

/* ---- comparing ---- */

static void hex(char *to, size_t room, const unsigned char *from, size_t bytes)
{
    *to = 0;
    for (size_t i = 0; i < bytes && 2 * i + 3 < room; i++)
        snprintf(to + 2 * i, 3, "%02x", from[i]);
}

static _Noreturn void report_difference(const struct rnd_area *area, const struct rnd_call *call,
                                        const unsigned char *got, size_t at)
{
    const struct rnd_job *job = &call->job[area->job];
    size_t element = rnd_element_bytes(job, area->operand);
    char a[200], b[200];
    long place = (long)at - (long)area->head;
    size_t from = place >= 0 && (size_t)place < area->bytes
                      ? area->head + (size_t)place / element * element
                      : at;
    size_t shown = area->total - from < element ? area->total - from : element;
    hex(a, sizeof a, area->expected + from, shown);
    hex(b, sizeof b, got + from, shown);
    rnd_fail(
        FAIL_BYTES,
        "byte %ld of %zu (element %ld) in the memory of operand %u of job %u (%s): expected %s, "
        "got %s",
        place, area->bytes, place / (long)element, area->operand, area->job, rnd_op_name(job->op),
        a, b);
}

void rnd_area_compare(struct rnd_area *area, const struct rnd_open *open,
                      const struct rnd_call *call)
{
    unsigned char *got = area->memory;
    if (area->buf) {
        got = allocate(area->total);
        gx_status status = gx_buf_read(area->buf, 0, got, area->total);
        if (status != GX_OK) {
            if (!rnd_may_return(open, call, status))
                rnd_fail(FAIL_STATUS, "gx_buf_read: %s", gx_last_message());
            free(got);
            return;
        }
    }
    for (size_t i = 0; i < area->total; i++)
        if (got[i] != area->expected[i] && !area->unknown[i])
            report_difference(area, call, got, i);
    if (area->buf)
        free(got);
}
