/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening and closing a context, its trace, buffers, registered memory and operations.
 */
#include "api/context.h"

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

/* A device that is named and missing is found out now, not by the first job. A single one goes by
 * its own name from here on, which is found without a lock. */
static gx_status find_devices(gx_ctx *ctx)
{
    gx_config *config = &ctx->instance.config;
    struct gx_error error = {"no memory to open a context"};
    gx_status s = gx__router_candidates(&ctx->router, &error);
    char *own = s == GX_OK && ctx->router.named
                    ? gx__copy_text(&config->allocator, ctx->router.candidate[0]->name)
                    : NULL;
    if (s == GX_OK && ctx->router.named && !own)
        s = GX_ERR_OUT_OF_MEMORY;
    if (own) {
        gx__free(&config->allocator, (void *)(uintptr_t)config->device);
        config->device = own;
    }
    return s == GX_OK ? s : gx__fail(&ctx->instance, s, "%s", error.text);
}

static void close_ctx(gx_ctx *ctx)
{
    struct gx_float_env caller;
    gx__float_env_default(&caller);
    gx__queue_drain(ctx->instance.queue);
    gx__router_close(&ctx->router);
    gx__registered_memory_close(&ctx->registered);
    gx__arrays_close(&ctx->arrays, &ctx->instance.config.allocator);
    gx__registered_op_close(&ctx->instance);
    gx__device_stop(&ctx->instance);
    gx__threads_end(&ctx->instance);
    gx__trace_end(&ctx->instance);
    gx__queue_close(ctx->instance.queue);
    gx__float_env_restore(&caller);
    ctx_free(ctx);
}

gx_status gx_open(const gx_config *caller, gx_ctx **out)
{
    if (!out)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_open: ctx is NULL");
    *out = NULL;
    gx_config config;
    struct gx_error error = {""};
    gx_status s = gx__config_complete(&config, caller, &error);
    const char *trace = config.trace;
    config.trace = NULL; /* not kept */
    if (s != GX_OK)
        return gx__fail_line(&config, s, error.text);
    gx_ctx *ctx = gx__alloc(&config.allocator, sizeof *ctx);
    if (!ctx)
        return gx__fail_line(&config, GX_ERR_OUT_OF_MEMORY, "no memory to open a context");
    ctx->instance.config = config;
    ctx->path = config.path;
    ctx->mode = config.mode;
    s = own_strings(&ctx->instance.config);
    if (s == GX_OK) {
        ctx->instance.queue = gx__queue_open(&ctx->instance, gx__router_run, gx__run_verified,
                                             &ctx->router, gx__compose_feed);
        s = ctx->instance.queue ? GX_OK : GX_ERR_OUT_OF_MEMORY;
    }
    if (s != GX_OK) {
        ctx_free(ctx);
        return gx__fail_line(&config, s, "no memory to open a context");
    }
    gx__registered_memory_init(&ctx->registered);
    gx__arrays_init(&ctx->arrays);
    ctx->instance.registered = &ctx->registered;
    gx__trace_init(&ctx->instance);
    gx__router_init(&ctx->router, &ctx->instance, config.policy);
    s = trace && *trace ? gx__trace_start(&ctx->instance, trace, &error) : GX_OK;
    if (s == GX_ERR_INVALID) /* another context of the process writes this trace already */
        s = GX_OK;
    if (s != GX_OK)
        gx__fail(&ctx->instance, s, "%s", error.text);
    if (s == GX_OK && config.device)
        s = find_devices(ctx);
    if (s == GX_OK)
        *out = ctx;
    else
        close_ctx(ctx);
    return s;
}

void gx_close(gx_ctx **ctx)
{
    if (!ctx || !*ctx)
        return;
    close_ctx(*ctx);
    *ctx = NULL;
}

/* ---- trace ---- */

gx_status gx_trace_start(gx_ctx *ctx, const char *path)
{
    struct gx_error error;
    if (!ctx || !path)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_trace_start: ctx and path must not be NULL");
    gx_status s = gx__trace_start(&ctx->instance, path, &error);
    return s == GX_OK ? s : gx__fail(&ctx->instance, s, "%s", error.text);
}

gx_status gx_trace_stop(gx_ctx *ctx)
{
    struct gx_error error;
    if (!ctx)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_trace_stop: ctx is NULL");
    gx_status s = gx__trace_stop(&ctx->instance, &error);
    return s == GX_OK ? s : gx__fail(&ctx->instance, s, "%s", error.text);
}

/* ---- buffers ---- */

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
    struct gx_error error = {""};
    if (!device && ctx->router.named)
        device = ctx->instance.config.device;
    gx_status s = device ? gx__slot_open(&ctx->router.slots, device, &engine, &error)
                         : gx__router_buffer_engine(&ctx->router, &engine, &error);
    if (s != GX_OK)
        return gx__fail(&ctx->instance, s, "buffer of %zu bytes: %s", bytes, error.text);
    struct gx_turn turn = {.engine = engine, .tried = true};
    do
        s = gx__buf_create(engine, bytes, flags, buf);
    while (s == GX_ERR_OUT_OF_DEVICE_MEMORY && gx__turn_next(&turn)); /* jobs hold some */
    if (turn.has)
        gx__turn_end(&turn);
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
    struct gx_error error = {""};
    if (!device && ctx->router.named)
        device = ctx->instance.config.device;
    if (!device)
        return gx__fail(&ctx->instance, GX_ERR_INVALID,
                        "buffer of CUDA memory: name the device that has the memory");
    gx_status s = gx__slot_open(&ctx->router.slots, device, &engine, &error);
    if (s != GX_OK)
        return gx__fail(&ctx->instance, s, "buffer of CUDA memory: %s", error.text);
    s = gx__buf_wrap(engine, address, bytes, buf, &error);
    if (s != GX_OK)
        gx__fail(&ctx->instance, s, "buffer of %zu bytes of CUDA memory on '%s': %s", bytes,
                 engine->device.info.name, error.text);
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

static gx_status take_kernel(const gx_kernel_params *caller, struct gx_kernel_desc *desc,
                             struct gx_error *error)
{
    gx_kernel_params k;
    gx_status s = gx__take_in(&gx__kernel_params_layout, &k, caller, error);
    if (s != GX_OK)
        return s;
    if (k.reserved)
        return gx__refuse(error, GX_ERR_INVALID, "reserved is %u: set it to 0", k.reserved);
    *desc = (struct gx_kernel_desc){.name = k.name,
                                    .operands = k.operands,
                                    .flags = k.flags,
                                    .a_bytes = k.a_bytes,
                                    .b_bytes = k.b_bytes,
                                    .c_bytes = k.c_bytes,
                                    .out_bytes = k.out_bytes,
                                    .params_bytes = k.params_bytes,
                                    .group_elems = k.group_elems,
                                    .fn = k.fn,
                                    .user = k.user,
                                    .spirv = k.spirv,
                                    .spirv_bytes = k.spirv_bytes,
                                    .spirv_entry = k.spirv_entry,
                                    .wgsl = k.wgsl,
                                    .wgsl_entry = k.wgsl_entry,
                                    .ptx = k.ptx,
                                    .ptx_entry = k.ptx_entry,
                                    .ptx_block = {k.ptx_block[0], k.ptx_block[1], k.ptx_block[2]}};
    return GX_OK;
}

gx_status gx_op_register(gx_ctx *ctx, const gx_kernel_params *params, gx_op *op)
{
    struct gx_kernel_desc desc;
    struct gx_error error;
    if (!op)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_op_register: op is NULL");
    *op = 0;
    if (!ctx || !params)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_op_register: ctx and params must not be NULL");
    gx_status s = take_kernel(params, &desc, &error);
    if (s == GX_OK)
        s = gx__registered_op_add(&ctx->instance, &desc, op, &error);
    return s == GX_OK ? s : gx__fail(&ctx->instance, s, "gx_op_register: %s", error.text);
}

gx_status gx_op_unregister(gx_ctx *ctx, gx_op op)
{
    if (!ctx)
        return gx__fail(NULL, GX_ERR_INVALID, "gx_op_unregister: ctx is NULL");
    if (!gx__registered_op_end(&ctx->instance, op))
        return gx__fail(&ctx->instance, GX_ERR_INVALID,
                        "gx_op_unregister: this context has no operation %u", op);
    gx__router_forget(&ctx->router, op);
    gx__registered_op_free(op);
    return GX_OK;
}
