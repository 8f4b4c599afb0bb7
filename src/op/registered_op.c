/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of registered operations (registered_op.h). A lock serialises registering and
 * unregistering; jobs only count themselves as users and then check that the operation is not
 * ending. Ending marks it first and then looks for users, so one of the two sees the other.
 */
#include "op/registered_op.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/float_env.h"
#include "op/op.h"

#define GROUPS_MAX      65535u /* in one dimension: every device has these */
#define LINE_MAX_BYTES  65536u /* of PTX */
#define GROUP_ELEMS_MAX ((uint32_t)1 << 20)
#define WORD            4u
#define PUSH_BYTES      (GX_REGISTERED_PUSH_WORDS * WORD)
/* How often a place can be used: a value has so many bits for it. */
#define USES_MAX (GX_REGISTERED_BIT / GX_REGISTERED_OPS - 1)

struct gx_registered_op gx__registered_ops[GX_REGISTERED_OPS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER; /* an ending operation has no users */

/* ---- descriptions ---- */

static bool is_name(const char *name)
{
    size_t length = name ? strlen(name) : 0;
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-_.";
    return length && length < sizeof gx__registered_ops->name && strspn(name, allowed) == length;
}

static bool is_entry(const char *entry)
{
    return !entry || (*entry && strlen(entry) < sizeof gx__registered_ops->spirv_entry);
}

static bool is_element(uint32_t bytes)
{
    return bytes && bytes % WORD == 0 && bytes <= GX_OP_ELEMENT_BYTES;
}

static bool check_elements(const struct gx_kernel_desc *d, struct gx_error *error)
{
    const uint32_t bytes[] = {d->out_bytes, d->a_bytes, d->b_bytes, d->c_bytes};
    static const char *const names[] = {"out_bytes", "a_bytes", "b_bytes", "c_bytes"};
    if (d->operands < 1 || d->operands > 3)
        return gx__explain(error, "operands is %u: an operation has 1 to 3", d->operands);
    for (uint32_t i = 0; i < GX_OPERANDS; i++) {
        if (i > d->operands && bytes[i])
            return gx__explain(error, "%s is %u, but there is no such operand", names[i], bytes[i]);
        if (i <= d->operands && !is_element(bytes[i]))
            return gx__explain(error, "%s is %u: use a multiple of 4 from 4 to %u", names[i],
                               bytes[i], GX_OP_ELEMENT_BYTES);
    }
    return true;
}

static bool check_grid(const struct gx_kernel_desc *d, struct gx_error *error)
{
    bool whole = d->flags & GX_OP_WHOLE, shaders = d->spirv || d->wgsl || d->ptx;
    if (d->flags & ~(GX_OP_WHOLE | GX_OP_ONE_RESULT))
        return gx__explain(error, "flags 0x%x has unknown bits", d->flags);
    if (d->flags & GX_OP_ONE_RESULT && !whole)
        return gx__explain(error, "GX_OP_ONE_RESULT needs GX_OP_WHOLE");
    if (whole && d->group_elems)
        return gx__explain(error,
                           "group_elems is %u: with GX_OP_WHOLE, jobs say how many "
                           "workgroups there are",
                           d->group_elems);
    if (!whole && shaders && (!d->group_elems || d->group_elems > GROUP_ELEMS_MAX))
        return gx__explain(error, "group_elems is %u: say how many elements a workgroup computes",
                           d->group_elems);
    if (d->params_bytes % WORD || d->params_bytes > GX_OP_PARAMS_BYTES)
        return gx__explain(error, "params_bytes is %u: use a multiple of 4 up to %u",
                           d->params_bytes, GX_OP_PARAMS_BYTES);
    return true;
}

/* NVIDIA's compiler ends the process over a line of 10 MiB. */
static bool lines_fit(const char *text)
{
    size_t line = 0;
    for (; text && *text && line <= LINE_MAX_BYTES; text++)
        line = *text == '\n' ? 0 : line + 1;
    return line <= LINE_MAX_BYTES;
}

static bool check_desc(const struct gx_kernel_desc *d, struct gx_error *error)
{
    if (!is_name(d->name))
        return gx__explain(error, "name must have 1 to 47 letters, digits and -_.");
    if (gx_op_by_name(d->name))
        return gx__explain(error, "name '%s' is that of an operation of gpuexec", d->name);
    if (!d->fn && !d->spirv && !d->wgsl && !d->ptx)
        return gx__explain(error, "there is no kernel: set fn, spirv, wgsl or ptx");
    if (!is_entry(d->spirv_entry) || !is_entry(d->wgsl_entry) || !is_entry(d->ptx_entry))
        return gx__explain(error, "an entry point must have 1 to 63 characters");
    if (!lines_fit(d->ptx))
        return gx__explain(error, "ptx has a line of more than %u bytes: break it", LINE_MAX_BYTES);
    return check_elements(d, error) && check_grid(d, error);
}

/* ---- registering ---- */

static struct gx_registered_op *find_free(void)
{
    struct gx_registered_op *best = NULL; /* used least, so that values last longest */
    for (size_t i = 0; i < GX_REGISTERED_OPS; i++) {
        struct gx_registered_op *entry = &gx__registered_ops[i];
        if (!atomic_load(&entry->op) && entry->uses < USES_MAX &&
            (!best || entry->uses < best->uses))
            best = entry;
    }
    return best;
}

static bool is_taken(const struct gx_instance *instance, const char *name)
{
    for (size_t i = 0; i < GX_REGISTERED_OPS; i++)
        if (atomic_load(&gx__registered_ops[i].op) && gx__registered_ops[i].instance == instance &&
            !strcmp(gx__registered_ops[i].name, name))
            return true;
    return false;
}

static void free_code(struct gx_registered_op *entry, const gx_allocator *allocator)
{
    gx__free(allocator, (void *)(uintptr_t)entry->desc.spirv);
    gx__free(allocator, (void *)(uintptr_t)entry->desc.wgsl);
    gx__free(allocator, (void *)(uintptr_t)entry->desc.ptx);
    entry->desc.spirv = NULL;
    entry->desc.wgsl = NULL;
    entry->desc.ptx = NULL;
}

static void *copy_of(const gx_allocator *allocator, const void *from, size_t bytes)
{
    void *copy = gx__alloc(allocator, bytes);
    if (copy)
        memcpy(copy, from, bytes);
    return copy;
}

static gx_status copy_code(struct gx_registered_op *entry, const gx_allocator *allocator,
                           const struct gx_kernel_desc *desc)
{
    entry->desc.spirv = NULL;
    entry->desc.wgsl = NULL;
    entry->desc.ptx = NULL;
    if (desc->spirv)
        entry->desc.spirv = copy_of(allocator, desc->spirv, desc->spirv_bytes);
    if (desc->wgsl)
        entry->desc.wgsl = copy_of(allocator, desc->wgsl, strlen(desc->wgsl) + 1);
    if (desc->ptx)
        entry->desc.ptx = copy_of(allocator, desc->ptx, strlen(desc->ptx) + 1);
    if (!entry->desc.spirv == !desc->spirv && !entry->desc.wgsl == !desc->wgsl &&
        !entry->desc.ptx == !desc->ptx)
        return GX_OK;
    free_code(entry, allocator);
    return GX_ERR_OUT_OF_MEMORY;
}

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "main");
}

/* Under the lock. */
static gx_status fill(struct gx_registered_op *entry, struct gx_instance *instance,
                      const struct gx_kernel_desc *desc, const struct gx_spirv *spirv)
{
    entry->desc = *desc;
    gx_status s = copy_code(entry, &instance->config.allocator, desc);
    if (s != GX_OK)
        return s;
    copy_text(entry->name, sizeof entry->name, desc->name);
    copy_text(entry->spirv_entry, sizeof entry->spirv_entry, desc->spirv_entry);
    copy_text(entry->wgsl_entry, sizeof entry->wgsl_entry, desc->wgsl_entry);
    copy_text(entry->ptx_entry, sizeof entry->ptx_entry,
              desc->ptx_entry ? desc->ptx_entry : "kernel");
    entry->desc.name = entry->name;
    entry->desc.spirv_entry = entry->spirv_entry;
    entry->desc.wgsl_entry = entry->wgsl_entry;
    entry->desc.ptx_entry = entry->ptx_entry;
    entry->info = (gx_op_info){entry->name,
                               "registered by the caller",
                               desc->operands,
                               (desc->flags & GX_OP_ONE_RESULT) != 0,
                               3,
                               0};
    entry->spirv = *spirv;
    entry->instance = instance;
    atomic_store(&entry->ending, false);
    gx_op op =
        GX_REGISTERED_BIT + entry->uses++ * GX_REGISTERED_OPS + (gx_op)(entry - gx__registered_ops);
    *gx__facts_of(op) =
        (struct gx_op_facts){desc->flags & GX_OP_WHOLE ? GX_SHAPE_WHOLE : GX_SHAPE_ELEMENTWISE,
                             (uint8_t)desc->operands,
                             (desc->flags & GX_OP_ONE_RESULT) != 0,
                             0,
                             0,
                             {desc->out_bytes, desc->a_bytes, desc->b_bytes, desc->c_bytes}};
    atomic_store_explicit(&entry->op, op, memory_order_release);
    return GX_OK;
}

gx_status gx__registered_op_add(struct gx_instance *instance, const struct gx_kernel_desc *desc,
                                gx_op *op, struct gx_error *error)
{
    struct gx_spirv spirv = {0};
    gx_status s = GX_OK;
    if (!check_desc(desc, error) ||
        (desc->spirv &&
         !gx__spirv_check(desc->spirv, desc->spirv_bytes,
                          desc->spirv_entry ? desc->spirv_entry : "main", 1 + desc->operands,
                          PUSH_BYTES + desc->params_bytes, &spirv, error)) ||
        (desc->wgsl && !gx__wgsl_check(desc->wgsl, error)))
        return GX_ERR_INVALID;
    pthread_mutex_lock(&lock);
    struct gx_registered_op *entry = find_free();
    if (is_taken(instance, desc->name)) {
        gx__explain(error, "this context already has an operation '%s'", desc->name);
        s = GX_ERR_INVALID;
    } else if (!entry) {
        gx__explain(error, "the process has %u operations registered: unregister one",
                    GX_REGISTERED_OPS);
        s = GX_ERR_OUT_OF_MEMORY;
    } else {
        s = fill(entry, instance, desc, &spirv);
        if (s == GX_OK)
            *op = atomic_load(&entry->op);
        else
            gx__explain(error, "no memory for the operation");
    }
    pthread_mutex_unlock(&lock);
    return s;
}

/* ---- users ---- */

bool gx__registered_op_enter(const struct gx_instance *instance, gx_op op)
{
    struct gx_registered_op *entry = &gx__registered_ops[gx__registered_op_place(op)];
    atomic_fetch_add(&entry->users, 1);
    if (gx__is_registered_op(op) && atomic_load(&entry->op) == op && !atomic_load(&entry->ending) &&
        entry->instance == instance)
        return true;
    gx__registered_op_leave(op);
    return false;
}

void gx__registered_op_leave(gx_op op)
{
    struct gx_registered_op *entry = &gx__registered_ops[gx__registered_op_place(op)];
    if (atomic_fetch_sub(&entry->users, 1) > 1 || !atomic_load(&entry->ending))
        return;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&idle);
    pthread_mutex_unlock(&lock);
}

/* ---- unregistering ---- */

bool gx__registered_op_end(const struct gx_instance *instance, gx_op op)
{
    struct gx_registered_op *entry = &gx__registered_ops[gx__registered_op_place(op)];
    pthread_mutex_lock(&lock);
    bool found = gx__is_registered_op(op) && atomic_load(&entry->op) == op &&
                 entry->instance == instance && !atomic_load(&entry->ending);
    if (found)
        atomic_store(&entry->ending, true);
    while (found && atomic_load(&entry->users))
        pthread_cond_wait(&idle, &lock);
    pthread_mutex_unlock(&lock);
    return found;
}

void gx__registered_op_free(gx_op op)
{
    struct gx_registered_op *entry = &gx__registered_ops[gx__registered_op_place(op)];
    pthread_mutex_lock(&lock);
    free_code(entry, &entry->instance->config.allocator);
    entry->instance = NULL;
    atomic_store(&entry->op, 0);
    pthread_mutex_unlock(&lock);
}

void gx__registered_op_close(const struct gx_instance *instance)
{
    for (size_t i = 0; i < GX_REGISTERED_OPS; i++) {
        gx_op op = atomic_load(&gx__registered_ops[i].op);
        if (op && gx__registered_op_end(instance, op))
            gx__registered_op_free(op);
    }
}

/* ---- the C function ---- */

void gx__registered_op_run(const struct gx_registered_op *entry, void *const operand[GX_OPERANDS],
                           uint32_t broadcast, const void *params, size_t from, size_t n)
{
    static const uint32_t bits[] = {0, GX_BROADCAST_A, GX_BROADCAST_B, GX_BROADCAST_C};
    _Alignas(16) unsigned char data[GX_OP_PARAMS_BYTES]; /* for any struct that shaders have too */
    size_t step[GX_OPERANDS];
    char *at[GX_OPERANDS];
    struct gx_float_env caller;
    memcpy(data, params, entry->desc.params_bytes);
    for (int i = 0; i < GX_OPERANDS; i++) {
        step[i] = broadcast & bits[i] ? 0 : gx__op_element(entry->op, 0, i);
        at[i] = operand[i] ? (char *)operand[i] + from * step[i] : NULL;
    }
    gx__float_env_default(&caller); /* whatever thread it is */
    entry->desc.fn(entry->desc.user,
                   &(gx_kernel_call){.n = n,
                                     .a = at[GX_A],
                                     .b = at[GX_B],
                                     .c = at[GX_C],
                                     .a_step = step[GX_A],
                                     .b_step = step[GX_B],
                                     .c_step = step[GX_C],
                                     .out = at[GX_OUT],
                                     .params = entry->desc.params_bytes ? data : NULL});
    gx__float_env_restore(&caller);
}
