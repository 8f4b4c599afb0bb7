/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing a context, its trace, buffers and registered memory, and the functions that
 * make operands.
 */
#include "api/context.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/float_env.h"
#include "base/log.h"
#include "base/names.h"
#include "base/options.h"
#include "base/trace.h"
#include "exec/buffer.h"

/* ---- context ---- */

/* Replaces the caller's strings by copies. On failure the rest are NULL. */
static gx_status own_strings(gx_config *config)
{
    const char **strings[] = {&config->device,       &config->cpumask,   &config->webgpu_backends,
                              &config->wgpu_library, &config->cache_dir, &config->cuda_library};
    gx_status s = GX_OK;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        if (!*strings[i])
            continue;
        *strings[i] = s == GX_OK ? gx__copy_text(&config->allocator, *strings[i]) : NULL;
        if (!*strings[i])
            s = GX_ERR_OUT_OF_MEMORY;
    }
    return s;
}

static void ctx_free(gx_ctx *ctx)
{
    gx_config config = ctx->instance.config;
    gx__free(&config.allocator, (void *)(uintptr_t)config.device);
    gx__free(&config.allocator, (void *)(uintptr_t)config.cpumask);
    gx__free(&config.allocator, (void *)(uintptr_t)config.webgpu_backends);
    gx__free(&config.allocator, (void *)(uintptr_t)config.wgpu_library);
    gx__free(&config.allocator, (void *)(uintptr_t)config.cache_dir);
    gx__free(&config.allocator, (void *)(uintptr_t)config.cuda_library);
    gx__free(&config.allocator, ctx);
}

gx_status gx_open(const gx_config *caller, gx_ctx **out)
{
    if (!out)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_open: ctx is NULL");
    *out = NULL;
    gx_config config;
    char message[GX_MESSAGE_BYTES] = "";
    gx_status s = gx__config_complete(&config, caller, message, sizeof message);
    gx_path path = GX_PATH_AUTO;
    if (s == GX_OK && config.path)
        s = gx__parse_path(config.path, &path, "gx_config.path", message, sizeof message);
    gx_mode mode = GX_MODE_AUTO;
    if (s == GX_OK && config.mode)
        s = gx__parse_mode(config.mode, &mode, "gx_config.mode", message, sizeof message);
    gx_policy policy = GX_POLICY_AUTO;
    if (s == GX_OK && config.policy)
        s = gx__parse_policy(config.policy, &policy, "gx_config.policy", message, sizeof message);
    const char *trace = config.trace;
    config.path = config.mode = config.policy = config.trace = NULL; /* parsed; not kept */
    if (s != GX_OK)
        return gx__fail_line(&config, s, message);
    gx_ctx *ctx = gx__alloc(&config.allocator, sizeof *ctx);
    if (!ctx)
        return gx__fail_line(&config, GX_ERR_OUT_OF_MEMORY, "no memory to open a context");
    ctx->instance.config = config;
    ctx->path = path;
    ctx->mode = mode;
    s = own_strings(&ctx->instance.config);
    if (s == GX_OK) {
        ctx->instance.queue =
            gx__queue_open(&ctx->instance, gx__router_run, gx__run_batch, &ctx->router);
        s = ctx->instance.queue ? GX_OK : GX_ERR_OUT_OF_MEMORY;
    }
    if (s != GX_OK) {
        ctx_free(ctx);
        return gx__fail_line(&config, s, "no memory to open a context");
    }
    gx__registered_init(&ctx->registered);
    gx__outcomes_init(&ctx->outcomes);
    ctx->instance.registered = &ctx->registered;
    gx__trace_init(&ctx->instance);
    gx__router_init(&ctx->router, &ctx->instance, policy);
    s = trace && *trace ? gx_trace_start(ctx, trace) : GX_OK;
    if (s == GX_ERR_INVALID) /* another context of the process writes this trace already */
        s = GX_OK;
    if (s == GX_OK)
        *out = ctx;
    else
        gx_close(&ctx);
    return s;
}

void gx_close(gx_ctx **ctx)
{
    if (!ctx || !*ctx)
        return;
    struct gx_float_env caller;
    gx__float_env_default(&caller);
    gx__queue_drain((*ctx)->instance.queue);
    gx__router_close(&(*ctx)->router);
    gx__registered_close(&(*ctx)->registered);
    gx__outcomes_close(&(*ctx)->outcomes, &(*ctx)->instance.config.allocator);
    gx__own_close(&(*ctx)->instance);
    gx__device_stop(&(*ctx)->instance);
    gx__threads_end(&(*ctx)->instance);
    gx__trace_end(&(*ctx)->instance);
    gx__queue_close((*ctx)->instance.queue);
    gx__float_env_restore(&caller);
    ctx_free(*ctx);
    *ctx = NULL;
}

/* ---- trace ---- */

gx_status gx_trace_start(gx_ctx *ctx, const char *path)
{
    char message[GX_MESSAGE_BYTES];
    if (!ctx || !path)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_trace_start: ctx and path must not be NULL");
    gx_status s = gx__trace_start(&ctx->instance, path, message, sizeof message);
    return s == GX_OK ? s : gx__fail(&ctx->instance, s, "%s", message);
}

gx_status gx_trace_stop(gx_ctx *ctx)
{
    char message[GX_MESSAGE_BYTES];
    if (!ctx)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_trace_stop: ctx is NULL");
    gx_status s = gx__trace_stop(&ctx->instance, message, sizeof message);
    return s == GX_OK ? s : gx__fail(&ctx->instance, s, "%s", message);
}

/* ---- buffers ---- */

/* If there is no memory because of what jobs hold, waits for them. */
static gx_status create_in_turn(struct gx_engine *engine, size_t bytes, uint32_t flags,
                                gx_buf **buf)
{
    gx_status s = gx__buf_create(engine, bytes, flags, buf);
    if (s != GX_ERR_OUT_OF_DEVICE_MEMORY)
        return s;
    gx__tables_begin_turn(engine);
    for (bool last = false; s == GX_ERR_OUT_OF_DEVICE_MEMORY && !last;) {
        if (!gx__tables_make_room(engine, &last))
            break;
        s = gx__buf_create(engine, bytes, flags, buf);
    }
    gx__tables_end_turn(engine);
    return s;
}

gx_status gx_buf_create(gx_ctx *ctx, const char *device, size_t bytes, uint32_t flags, gx_buf **buf)
{
    if (!buf)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_buf_create: buf is NULL");
    *buf = NULL;
    if (!ctx)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_buf_create: ctx is NULL");
    if (flags & ~GX_BUF_MAPPABLE)
        return gx__fail(&ctx->instance, GX_ERR_INVALID,
                        "buffer of %zu bytes: flags 0x%x has unknown bits", bytes, flags);
    struct gx_engine *engine;
    char message[GX_MESSAGE_BYTES] = "";
    if (!device && ctx->router.named)
        device = ctx->instance.config.device;
    gx_status s = device
                      ? gx__slot_open(&ctx->router.slots, device, &engine, message, sizeof message)
                      : gx__router_buffer_engine(&ctx->router, &engine, message, sizeof message);
    if (s != GX_OK)
        return gx__fail(&ctx->instance, s, "buffer of %zu bytes: %s", bytes, message);
    s = create_in_turn(engine, bytes, flags, buf);
    if (s != GX_OK)
        gx__fail(&ctx->instance, s, "buffer of %zu bytes on '%s': %s", bytes,
                 engine->device.info.name, gx_status_message(s));
    gx__engine_release(engine); /* the buffer is a user of its own */
    return s;
}

gx_status gx_buf_from_cuda(gx_ctx *ctx, const char *device, uint64_t address, size_t bytes,
                           gx_buf **buf)
{
    if (!buf)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_buf_from_cuda: buf is NULL");
    *buf = NULL;
    if (!ctx)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_buf_from_cuda: ctx is NULL");
    struct gx_engine *engine;
    char message[GX_MESSAGE_BYTES] = "";
    if (!device && ctx->router.named)
        device = ctx->instance.config.device;
    if (!device)
        return gx__fail(&ctx->instance, GX_ERR_INVALID,
                        "buffer of CUDA memory: name the device that has the memory");
    gx_status s = gx__slot_open(&ctx->router.slots, device, &engine, message, sizeof message);
    if (s != GX_OK)
        return gx__fail(&ctx->instance, s, "buffer of CUDA memory: %s", message);
    s = gx__buf_wrap(engine, address, bytes, buf, message, sizeof message);
    if (s != GX_OK)
        gx__fail(&ctx->instance, s, "buffer of %zu bytes of CUDA memory on '%s': %s", bytes,
                 engine->device.info.name, message);
    gx__engine_release(engine); /* the buffer is a user of its own */
    return s;
}

/* ---- registered memory ---- */

gx_status gx_host_register(gx_ctx *ctx, void *memory, size_t bytes)
{
    const char *why = NULL;
    if (!ctx)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_host_register: ctx is NULL");
    gx_status s = gx__host_register(&ctx->registered, memory, bytes, &why);
    return s == GX_OK ? s : gx__fail(&ctx->instance, s, "registering %zu bytes: %s", bytes, why);
}

gx_status gx_host_unregister(gx_ctx *ctx, void *memory)
{
    if (!ctx)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_host_unregister: ctx is NULL");
    gx_status s = gx__host_unregister(&ctx->registered, memory);
    return s == GX_OK ? s
                      : gx__fail(&ctx->instance, s,
                                 "unregistering memory: no registered range begins there");
}

/* ---- registered operations ---- */

gx_status gx_op_register(gx_ctx *ctx, const gx_op_desc *desc, gx_op *op)
{
    char message[GX_MESSAGE_BYTES];
    if (!op)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_op_register: op is NULL");
    *op = 0;
    if (!ctx || !desc)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_op_register: ctx and desc must not be NULL");
    gx_status s = gx__own_register(&ctx->instance, desc, op, message, sizeof message);
    return s == GX_OK ? s : gx__fail(&ctx->instance, s, "gx_op_register: %s", message);
}

gx_status gx_op_unregister(gx_ctx *ctx, gx_op op)
{
    if (!ctx)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_op_unregister: ctx is NULL");
    if (!gx__own_end(&ctx->instance, op))
        return gx__fail(&ctx->instance, GX_ERR_INVALID,
                        "gx_op_unregister: this context has no operation %u", op);
    gx__router_forget(&ctx->router, op);
    gx__own_free(op);
    return GX_OK;
}

/* ---- operands ---- */

gx_operand gx_host(const void *elements)
{
    return (gx_operand){.host = (void *)(uintptr_t)elements}; /* jobs never write an input */
}

gx_operand gx_host_broadcast(const void *element)
{
    return (gx_operand){.host = (void *)(uintptr_t)element, .broadcast = 1};
}

gx_operand gx_dev(gx_buf *buf, size_t offset)
{
    return (gx_operand){.buf = buf, .offset = offset};
}

gx_operand gx_dev_broadcast(gx_buf *buf, size_t offset)
{
    return (gx_operand){.buf = buf, .offset = offset, .broadcast = 1};
}

size_t gx_operand_bytes(const gx_job *job, char operand)
{
    static const char names[GX_OPERANDS] = {
        [GX_OUT] = 'o', [GX_A] = 'a', [GX_B] = 'b', [GX_C] = 'c'};
    if (!job || !gx_op_exists(job->op, job->field) ||
        job->n > SIZE_MAX / 2 / gx__operand_element(job, GX_A) ||
        job->n > SIZE_MAX / 2 / GX_OP_ELEMENT_BYTES)
        return 0;
    for (int i = 0; i < GX_OPERANDS; i++)
        if (names[i] == operand)
            return gx__operand_bytes(job, i);
    return 0;
}
