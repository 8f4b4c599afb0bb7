/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of registered operations (own.h). A lock serialises registering and unregistering; jobs
 * only count themselves as users and then check that the operation is not ending. Ending marks it
 * first and then looks for users, so one of the two sees the other.
 */
#include "op/own.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/abi.h"
#include "base/alloc.h"
#include "base/float_env.h"
#include "op/op.h"

#define GROUPS_MAX      65535u /* in one dimension: every device has these */
#define GROUP_ELEMS_MAX ((uint32_t)1 << 20)
#define WORD            4u
#define PUSH_BYTES      (GX_K_OWN_PUSH_WORDS * WORD)
/* So often a place can be used, given the bits of a value. */
#define USES_MAX (GX_OWN_BIT / GX_OWN_OPS - 1)

struct gx_own_op gx__own_ops[GX_OWN_OPS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER; /* an ending operation has no users */

GX_PRINTF(3, 4) static bool refuse(char *message, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(message, size, format, args);
    va_end(args);
    return false;
}

/* ---- descriptions ---- */

static bool is_name(const char *name)
{
    size_t length = name ? strlen(name) : 0;
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-_.";
    return length && length < sizeof gx__own_ops->name && strspn(name, allowed) == length;
}

static bool is_entry(const char *entry)
{
    return !entry || (*entry && strlen(entry) < sizeof gx__own_ops->spirv_entry);
}

static bool is_element(uint32_t bytes)
{
    return bytes && bytes % WORD == 0 && bytes <= GX_OP_ELEMENT_BYTES;
}

static bool check_elements(const gx_op_desc *d, char *message, size_t size)
{
    const uint32_t bytes[] = {d->out_bytes, d->a_bytes, d->b_bytes, d->c_bytes};
    static const char *const names[] = {"out_bytes", "a_bytes", "b_bytes", "c_bytes"};
    if (d->operands < 1 || d->operands > 3)
        return refuse(message, size, "operands is %u: an operation has 1 to 3", d->operands);
    for (uint32_t i = 0; i < GX_OPERANDS; i++) {
        if (i > d->operands && bytes[i])
            return refuse(message, size, "%s is %u, but there is no such operand", names[i],
                          bytes[i]);
        if (i <= d->operands && !is_element(bytes[i]))
            return refuse(message, size, "%s is %u: use a multiple of 4 from 4 to %u", names[i],
                          bytes[i], GX_OP_ELEMENT_BYTES);
    }
    return true;
}

static bool check_grid(const gx_op_desc *d, char *message, size_t size)
{
    bool whole = d->flags & GX_OP_WHOLE, shaders = d->spirv || d->wgsl || d->ptx;
    if (d->flags & ~(GX_OP_WHOLE | GX_OP_ONE_RESULT))
        return refuse(message, size, "flags 0x%x has unknown bits", d->flags);
    if (d->flags & GX_OP_ONE_RESULT && !whole)
        return refuse(message, size, "GX_OP_ONE_RESULT needs GX_OP_WHOLE");
    if (whole && d->group_elems)
        return refuse(message, size,
                      "group_elems is %u: with GX_OP_WHOLE, jobs say how many "
                      "workgroups there are",
                      d->group_elems);
    if (!whole && shaders && (!d->group_elems || d->group_elems > GROUP_ELEMS_MAX))
        return refuse(message, size,
                      "group_elems is %u: say how many elements a workgroup computes",
                      d->group_elems);
    if (d->params_bytes % WORD || d->params_bytes > GX_OP_PARAMS_BYTES)
        return refuse(message, size, "params_bytes is %u: use a multiple of 4 up to %u",
                      d->params_bytes, GX_OP_PARAMS_BYTES);
    return true;
}

static bool check_desc(const gx_op_desc *d, char *message, size_t size)
{
    if (!is_name(d->name))
        return refuse(message, size, "name must have 1 to 47 letters, digits and -_.");
    if (gx_op_by_name(d->name))
        return refuse(message, size, "name '%s' is that of an operation of gpuexec", d->name);
    if (!d->fn && !d->spirv && !d->wgsl && !d->ptx)
        return refuse(message, size, "there is no kernel: set fn, spirv, wgsl or ptx");
    if (d->reserved)
        return refuse(message, size, "reserved is %u: set it to 0", d->reserved);
    if (!is_entry(d->spirv_entry) || !is_entry(d->wgsl_entry) || !is_entry(d->ptx_entry))
        return refuse(message, size, "an entry point must have 1 to 63 characters");
    return check_elements(d, message, size) && check_grid(d, message, size);
}

/* ---- registering ---- */

static struct gx_own_op *find_free(void)
{
    struct gx_own_op *best = NULL; /* used least, so that values last longest */
    for (size_t i = 0; i < GX_OWN_OPS; i++) {
        struct gx_own_op *own = &gx__own_ops[i];
        if (!atomic_load(&own->op) && own->uses < USES_MAX && (!best || own->uses < best->uses))
            best = own;
    }
    return best;
}

static bool is_taken(const struct gx_instance *instance, const char *name)
{
    for (size_t i = 0; i < GX_OWN_OPS; i++)
        if (atomic_load(&gx__own_ops[i].op) && gx__own_ops[i].instance == instance &&
            !strcmp(gx__own_ops[i].name, name))
            return true;
    return false;
}

static void free_code(struct gx_own_op *own, const gx_allocator *allocator)
{
    gx__free(allocator, (void *)(uintptr_t)own->desc.spirv);
    gx__free(allocator, (void *)(uintptr_t)own->desc.wgsl);
    gx__free(allocator, (void *)(uintptr_t)own->desc.ptx);
    own->desc.spirv = NULL;
    own->desc.wgsl = NULL;
    own->desc.ptx = NULL;
}

static void *copy_of(const gx_allocator *allocator, const void *from, size_t bytes)
{
    void *copy = gx__alloc(allocator, bytes);
    if (copy)
        memcpy(copy, from, bytes);
    return copy;
}

static gx_status copy_code(struct gx_own_op *own, const gx_allocator *allocator,
                           const gx_op_desc *desc)
{
    own->desc.spirv = NULL;
    own->desc.wgsl = NULL;
    own->desc.ptx = NULL;
    if (desc->spirv)
        own->desc.spirv = copy_of(allocator, desc->spirv, desc->spirv_bytes);
    if (desc->wgsl)
        own->desc.wgsl = copy_of(allocator, desc->wgsl, strlen(desc->wgsl) + 1);
    if (desc->ptx)
        own->desc.ptx = copy_of(allocator, desc->ptx, strlen(desc->ptx) + 1);
    if (!own->desc.spirv == !desc->spirv && !own->desc.wgsl == !desc->wgsl &&
        !own->desc.ptx == !desc->ptx)
        return GX_OK;
    free_code(own, allocator);
    return GX_ERR_OUT_OF_MEMORY;
}

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "main");
}

/* Under the lock. */
static gx_status fill(struct gx_own_op *own, struct gx_instance *instance, const gx_op_desc *desc,
                      const struct gx_spirv *spirv)
{
    own->desc = *desc;
    gx_status s = copy_code(own, &instance->config.allocator, desc);
    if (s != GX_OK)
        return s;
    copy_text(own->name, sizeof own->name, desc->name);
    copy_text(own->spirv_entry, sizeof own->spirv_entry, desc->spirv_entry);
    copy_text(own->wgsl_entry, sizeof own->wgsl_entry, desc->wgsl_entry);
    copy_text(own->ptx_entry, sizeof own->ptx_entry, desc->ptx_entry ? desc->ptx_entry : "kernel");
    own->desc.name = own->name;
    own->desc.spirv_entry = own->spirv_entry;
    own->desc.wgsl_entry = own->wgsl_entry;
    own->desc.ptx_entry = own->ptx_entry;
    own->info = (gx_op_info){own->name,
                             "registered by the caller",
                             desc->operands,
                             (desc->flags & GX_OP_ONE_RESULT) != 0,
                             3,
                             0};
    own->spirv = *spirv;
    own->instance = instance;
    atomic_store(&own->ending, false);
    gx_op op = GX_OWN_BIT + own->uses++ * GX_OWN_OPS + (gx_op)(own - gx__own_ops);
    *gx__facts_of(op) =
        (struct gx_op_facts){desc->flags & GX_OP_WHOLE ? GX_SHAPE_WHOLE : GX_SHAPE_ELEMENTWISE,
                             (uint8_t)desc->operands,
                             (desc->flags & GX_OP_ONE_RESULT) != 0,
                             0,
                             0,
                             {desc->out_bytes, desc->a_bytes, desc->b_bytes, desc->c_bytes}};
    atomic_store_explicit(&own->op, op, memory_order_release);
    return GX_OK;
}

gx_status gx__own_register(struct gx_instance *instance, const gx_op_desc *caller, gx_op *op,
                           char *message, size_t size)
{
    gx_op_desc desc;
    struct gx_spirv spirv = {0};
    gx_status s = gx__take_in(&gx__op_desc_layout, &desc, caller, message, size);
    if (s != GX_OK)
        return s;
    if (!check_desc(&desc, message, size) ||
        (desc.spirv &&
         !gx__spirv_check(desc.spirv, desc.spirv_bytes,
                          desc.spirv_entry ? desc.spirv_entry : "main", 1 + desc.operands,
                          PUSH_BYTES + desc.params_bytes, &spirv, message, size)))
        return GX_ERR_INVALID;
    pthread_mutex_lock(&lock);
    struct gx_own_op *own = find_free();
    if (is_taken(instance, desc.name)) {
        refuse(message, size, "this context already has an operation '%s'", desc.name);
        s = GX_ERR_INVALID;
    } else if (!own) {
        refuse(message, size, "the process has %u operations registered: unregister one",
               GX_OWN_OPS);
        s = GX_ERR_OUT_OF_MEMORY;
    } else {
        s = fill(own, instance, &desc, &spirv);
        if (s == GX_OK)
            *op = atomic_load(&own->op);
        else
            refuse(message, size, "no memory for the operation");
    }
    pthread_mutex_unlock(&lock);
    return s;
}

/* ---- users ---- */

bool gx__own_enter(const struct gx_instance *instance, gx_op op)
{
    struct gx_own_op *own = &gx__own_ops[gx__own_place(op)];
    atomic_fetch_add(&own->users, 1);
    if (gx__is_own(op) && atomic_load(&own->op) == op && !atomic_load(&own->ending) &&
        own->instance == instance)
        return true;
    gx__own_leave(op);
    return false;
}

void gx__own_leave(gx_op op)
{
    struct gx_own_op *own = &gx__own_ops[gx__own_place(op)];
    if (atomic_fetch_sub(&own->users, 1) > 1 || !atomic_load(&own->ending))
        return;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&idle);
    pthread_mutex_unlock(&lock);
}

void gx__own_leave_all(const gx_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (gx__is_own(jobs[i].op))
            gx__own_leave(jobs[i].op);
}

/* ---- unregistering ---- */

bool gx__own_end(const struct gx_instance *instance, gx_op op)
{
    struct gx_own_op *own = &gx__own_ops[gx__own_place(op)];
    pthread_mutex_lock(&lock);
    bool found = gx__is_own(op) && atomic_load(&own->op) == op && own->instance == instance &&
                 !atomic_load(&own->ending);
    if (found)
        atomic_store(&own->ending, true);
    while (found && atomic_load(&own->users))
        pthread_cond_wait(&idle, &lock);
    pthread_mutex_unlock(&lock);
    return found;
}

void gx__own_free(gx_op op)
{
    struct gx_own_op *own = &gx__own_ops[gx__own_place(op)];
    pthread_mutex_lock(&lock);
    free_code(own, &own->instance->config.allocator);
    own->instance = NULL;
    atomic_store(&own->op, 0);
    pthread_mutex_unlock(&lock);
}

void gx__own_close(const struct gx_instance *instance)
{
    for (size_t i = 0; i < GX_OWN_OPS; i++) {
        gx_op op = atomic_load(&gx__own_ops[i].op);
        if (op && gx__own_end(instance, op))
            gx__own_free(op);
    }
}

/* ---- the C function ---- */

void gx__own_run(const struct gx_own_op *own, void *const operand[GX_OPERANDS], uint32_t broadcast,
                 const void *params, size_t from, size_t n)
{
    static const uint32_t bits[] = {0, GX_BROADCAST_A, GX_BROADCAST_B, GX_BROADCAST_C};
    _Alignas(16) unsigned char data[GX_OP_PARAMS_BYTES]; /* for any struct that shaders have too */
    size_t step[GX_OPERANDS];
    char *at[GX_OPERANDS];
    struct gx_float_env caller;
    memcpy(data, params, own->desc.params_bytes);
    for (int i = 0; i < GX_OPERANDS; i++) {
        step[i] = broadcast & bits[i] ? 0 : gx__op_element(own->op, 0, i);
        at[i] = operand[i] ? (char *)operand[i] + from * step[i] : NULL;
    }
    gx__float_env_default(&caller); /* whatever thread it is */
    own->desc.fn(own->desc.user, &(gx_kernel_call){.n = n,
                                                   .a = at[GX_A],
                                                   .b = at[GX_B],
                                                   .c = at[GX_C],
                                                   .a_step = step[GX_A],
                                                   .b_step = step[GX_B],
                                                   .c_step = step[GX_C],
                                                   .out = at[GX_OUT],
                                                   .params = own->desc.params_bytes ? data : NULL});
    gx__float_env_restore(&caller);
}

/* ---- parameters ---- */

bool gx__own_params(const struct gx_own_op *own, const gx_job *job, gx_op_params *params,
                    char *message, size_t size)
{
    if (gx__take_in(&gx__op_params_layout, params, job->params, message, size) != GX_OK)
        return false;
    if (params->reserved)
        return refuse(message, size, "gx_op_params.reserved is %u: set it to 0", params->reserved);
    if (!params->data != !own->desc.params_bytes)
        return refuse(message, size, "%s has %u bytes of parameters, and gx_op_params.data is %s",
                      own->name, own->desc.params_bytes, params->data ? "set" : "NULL");
    for (int i = 0; i < 3; i++) {
        if (params->groups[i] && !(own->desc.flags & GX_OP_WHOLE))
            return refuse(message, size, "gx_op_params.groups is only for GX_OP_WHOLE");
        if (params->groups[i] > GROUPS_MAX)
            return refuse(message, size, "gx_op_params.groups has %u: up to %u are possible",
                          params->groups[i], GROUPS_MAX);
        params->groups[i] = params->groups[i] ? params->groups[i] : 1;
    }
    return true;
}
