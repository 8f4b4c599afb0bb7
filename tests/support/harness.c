/* SPDX-License-Identifier: Apache-2.0
 *
 * See harness.h.
 */
#include "support/harness.h"

const gx_field gxt_fields[] = {
#define GX_X(symbol, value, name) symbol,
    GX_FIELD_LIST(GX_X)
#undef GX_X
};

const gx_op gxt_ops[] = {
#define GX_X(symbol, value, name, operands, vector, result) symbol,
    GX_OP_LIST(GX_X)
#undef GX_X
};

int gxt_small(void)
{
    const char *effort = getenv("GX_TEST_EFFORT");
    return effort && strcmp(effort, "small") == 0;
}

uint64_t gxt_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void gxt_bytes(uint64_t *state, void *out, size_t bytes)
{
    unsigned char *to = out;
    while (bytes > 0) {
        uint64_t word = gxt_next(state);
        size_t part = bytes < sizeof word ? bytes : sizeof word;
        memcpy(to, &word, part);
        to += part;
        bytes -= part;
    }
}

size_t gxt_element(gx_field field)
{
    const gx_field_info *info = gx_field_get_info(field);
    assert_non_null(info);
    return info->element_bytes;
}

static void fill_small_floats(uint64_t *state, unsigned char *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float x = (float)(int)(gxt_next(state) % 2001) - 1000.0f;
        memcpy(out + 4 * i, &x, sizeof x);
    }
}

void gxt_fill(uint64_t *state, gx_field field, void *out, size_t n)
{
    const gx_field_info *info = gx_field_get_info(field);
    assert_non_null(info);
    if (field == GX_F32) {
        fill_small_floats(state, out, n);
        return;
    }
    gxt_bytes(state, out, n * info->element_bytes);
    if (!info->limbs)
        return;
    /* Below the highest power of two in the modulus, so below the modulus. */
    uint64_t top = info->modulus[info->limbs - 1];
    uint64_t mask = (UINT64_MAX >> __builtin_clzll(top)) >> 1;
    for (size_t i = 0; i < n; i++) {
        unsigned char *at = (unsigned char *)out + (i + 1) * info->element_bytes - 8;
        uint64_t limb;
        memcpy(&limb, at, sizeof limb);
        limb &= mask;
        memcpy(at, &limb, sizeof limb);
    }
}

void gxt_put_modulus(gx_field field, void *element)
{
    const gx_field_info *info = gx_field_get_info(field);
    assert_non_null(info);
    assert_non_null(info->modulus);
    memcpy(element, info->modulus, info->element_bytes);
}

void *gxt_alloc(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    assert_non_null(memory);
    return memory;
}

gx_ctx *gxt_open(const gx_config *config)
{
    gx_ctx *ctx = NULL;
    assert_int_equal(gx_open(config, &ctx), GX_OK);
    assert_non_null(ctx);
    return ctx;
}

void gxt_clear_environment(void)
{
    size_t count = 0;
    const gx_option *options = gx_options(&count);
    for (size_t i = 0; i < count; i++)
        unsetenv(options[i].env);
}

gx_job gxt_job(gx_op op, gx_field field, size_t n, const void *a, const void *b, const void *c,
               void *out)
{
    const gx_op_info *info = gx_op_get_info(op);
    assert_non_null(info);
    gx_job job = {.op = op, .field = field, .n = n, .a = gx_host(a), .out = gx_host(out)};
    if (info->operands > 1)
        job.b = gx_host(b);
    if (info->operands > 2)
        job.c = gx_host(c);
    return job;
}

gx_status gxt_run(gx_ctx *ctx, const gx_job *job, const char *device, gx_report *report)
{
    gx_run_opts opts = {.device = device};
    return gx_run(ctx, job, 1, &opts, report);
}
