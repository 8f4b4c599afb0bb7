/* SPDX-License-Identifier: Apache-2.0
 *
 * Registered operations when something is wrong: descriptions and modules that are refused, each
 * with its message; kernels that a device cannot compile; results that differ from the C function;
 * devices that fail, hang or are lost at each of their calls; allocations that fail.
 */
#include <pthread.h>
#include <stdio.h>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "api/counters.h"
#include "api/registered_kernels.h"
#include "support/heap.h"

enum { WORDS_MAX = 4096 };

static const char *gpus[1 + GXT_WEBGPU];
static size_t gpu_count;

static int prepare(void **state)
{
    (void)state;
    gxt_clear_environment();
    if (gxt_vulkan())
        gpus[gpu_count++] = gxt_vulkan();
    gpu_count += gxt_webgpu(gpus + gpu_count);
    return 0;
}

/* The call is refused with a message that has this text. */
static void refused(gx_ctx *ctx, const gx_kernel_params *desc, const char *text)
{
    gx_op op = 7;
    gx_status s = gx_op_register(ctx, desc, &op);
    if (s != GX_ERR_INVALID || op || !strstr(gx_last_message(), text))
        fail_msg("%d, '%s' does not say '%s'", s, gx_last_message(), text);
}

static void descriptions(void **state)
{
    (void)state;
    gx_ctx *ctx = gxt_open(NULL);
    gx_op op;
#define WITH(kernel, text, ...)                                                                    \
    do {                                                                                           \
        gx_kernel_params d = registered_descs[kernel];                                             \
        __VA_ARGS__;                                                                               \
        refused(ctx, &d, text);                                                                    \
    } while (0)
    WITH(MULADD, "1 to 47 letters", d.name = NULL);
    WITH(MULADD, "1 to 47 letters", d.name = "");
    WITH(MULADD, "1 to 47 letters", d.name = "two words");
    WITH(MULADD, "1 to 47 letters", d.name = "12345678901234567890123456789012345678901234567x");
    WITH(MULADD, "operation of gpuexec", d.name = "mul-add");
    WITH(MULADD, "operands is 0", d.operands = 0);
    WITH(MULADD, "operands is 4", d.operands = 4);
    WITH(MULADD, "no such operand", d.operands = 2);
    WITH(MULADD, "out_bytes is 0", d.out_bytes = 0);
    WITH(MULADD, "b_bytes is 6", d.b_bytes = 6);
    WITH(MULADD, "a_bytes is 4100", d.a_bytes = 4100);
    WITH(MULADD, "flags 0x4", d.flags = 4);
    WITH(MULADD, "needs GX_OP_WHOLE", d.flags = GX_OP_ONE_RESULT);
    WITH(MULADD, "params_bytes is 68", d.params_bytes = 68);
    WITH(MULADD, "params_bytes is 3", d.params_bytes = 3);
    WITH(MULADD, "group_elems is 0", d.group_elems = 0);
    WITH(COUNT, "group_elems is 64", d.group_elems = 64);
    WITH(MULADD, "there is no kernel", d.fn = NULL; d.spirv = NULL; d.wgsl = NULL);
    WITH(MULADD, "entry point must have", d.spirv_entry = "");
    WITH(MULADD, "matches no version", d.struct_size = 12);
    assert_int_equal(gx_op_register(ctx, &registered_descs[MULADD], &op), GX_OK);
    WITH(MULADD, "already has", d.user = NULL);
    assert_int_equal(gx_op_register(NULL, &registered_descs[MULADD], &op), GX_ERR_INVALID);
    assert_int_equal(gx_op_register(ctx, NULL, &op), GX_ERR_INVALID);
    assert_int_equal(gx_op_register(ctx, &registered_descs[MULADD], NULL), GX_ERR_INVALID);
    assert_int_equal(gx_op_unregister(NULL, op), GX_ERR_INVALID);
    assert_int_equal(gx_op_unregister(ctx, GX_ADD), GX_ERR_INVALID);
    assert_int_equal(gx_op_unregister(ctx, 0), GX_ERR_INVALID);
    gx_close(&ctx);
}

/* ---- jobs ---- */

static void invalid_jobs(void **state)
{
    (void)state;
    gx_ctx *ctx = gxt_open(NULL);
    struct registered_case c, w;
    registered_case_make(&c, SCALE, registered_register(ctx, SCALE), 10, 0, 1);
    registered_case_make(&w, TRANSPOSE, registered_register(ctx, TRANSPOSE), 12, 0, 1);
#define JOB(of, text, ...)                                                                         \
    do {                                                                                           \
        gx_job job = registered_case_job(&(of));                                                   \
        gx_op_params p = (of).params;                                                              \
        job.params = &p;                                                                           \
        __VA_ARGS__;                                                                               \
        gx_status s = gx_run(ctx, &job, 1, NULL, NULL);                                            \
        if (s >= 0 || !strstr(gx_last_message(), text))                                            \
            fail_msg("%d, '%s' does not say '%s'", s, gx_last_message(), text);                    \
    } while (0)
    JOB(c, "takes none", job.field = GX_U32);
    JOB(c, "64 bytes of parameters", p.data = NULL);
    JOB(c, "64 bytes of parameters", job.params = NULL);
    JOB(c, "only for GX_OP_WHOLE", p.groups[0] = 1);
    JOB(c, "reserved is 1", p.reserved = 1);
    JOB(c, "matches no version", p.struct_size = 5);
    JOB(c, "takes no operand b", job.b = job.a);
    JOB(c, "more than memory", job.n = SIZE_MAX / 8);
    JOB(c, "out partly overlaps", job.out.host = job.a.host); /* its elements are larger */
    JOB(w, "65536", p.groups[2] = 65536);
    JOB(w, "needs memory of its own", job.out.host = job.a.host);
    JOB(c, "not registered", job.op += 64);
    JOB(c, "flags 0x8", job.flags = 8);
    registered_case_free(&c);
    registered_case_free(&w);
    gx_close(&ctx);
}

/* ---- SPIR-V ---- */

enum { OP_ENTRY_POINT = 15, OP_EXECUTION_MODE = 16, OP_CAPABILITY = 17, OP_DECORATE = 71 };
enum { BINDING = 33, SET = 34, WORKGROUP_SIZE = 25 };

struct words {
    uint32_t code[WORDS_MAX];
    size_t count;
};

static struct words words_of(enum registered_kernel kernel)
{
    struct words w = {.count = registered_descs[kernel].spirv_bytes / 4};
    assert_true(w.count < WORDS_MAX);
    memcpy(w.code, registered_descs[kernel].spirv, w.count * 4);
    return w;
}

/* Sets word `place` of the first instruction of this kind, or of the first whose word `where` is
 * `what`. */
static void change_where(struct words *w, uint32_t opcode, size_t where, uint32_t what,
                         size_t place, uint32_t value)
{
    for (size_t at = 5; at < w->count; at += w->code[at] >> 16)
        if ((w->code[at] & 0xffff) == opcode && (!where || w->code[at + where] == what)) {
            w->code[at + place] = value;
            return;
        }
    fail();
}

static void change(struct words *w, uint32_t opcode, size_t place, uint32_t value)
{
    change_where(w, opcode, 0, 0, place, value);
}

static void decorate(struct words *w, uint32_t decoration, size_t place, uint32_t value)
{
    change_where(w, OP_DECORATE, 2, decoration, place, value);
}

/* The compiler sets the workgroup size twice: the size of the kernel, and a constant. */
static void forget_constant(struct words *w)
{
    change_where(w, OP_DECORATE, 3, WORKGROUP_SIZE, 3, WORKGROUP_SIZE - 1);
}

static void modules(void **state)
{
    (void)state;
    gx_ctx *ctx = gxt_open(NULL);
    gx_kernel_params d;
#define CHANGED(kernel, text, ...)                                                                 \
    do {                                                                                           \
        struct words w = words_of(kernel);                                                         \
        d = registered_descs[kernel];                                                              \
        d.spirv = w.code;                                                                          \
        __VA_ARGS__;                                                                               \
        refused(ctx, &d, text);                                                                    \
    } while (0)
    CHANGED(MULADD, "the first word", w.code[0] = 0x03022307);
    CHANGED(MULADD, "version 1.6", w.code[1] = 0x00010600);
    CHANGED(MULADD, "the bound of ids is 4194304", w.code[3] = 1 << 22);
    CHANGED(MULADD, "are not a module", d.spirv_bytes = 16);
    CHANGED(MULADD, "are not a module", d.spirv_bytes -= 3);
    CHANGED(MULADD, "cut off", d.spirv_bytes -= 4);
    CHANGED(MULADD, "cut off", w.code[5] &= 0xffff);
    CHANGED(MULADD, "no compute entry point 'other'", d.spirv_entry = "other");
    CHANGED(MULADD, "no compute entry point", change(&w, OP_ENTRY_POINT, 1, 4));
    CHANGED(MULADD, "no workgroup size", forget_constant(&w); change(&w, OP_EXECUTION_MODE, 2, 18));
    CHANGED(MULADD, "no workgroup size", forget_constant(&w); change(&w, OP_EXECUTION_MODE, 3, 0));
    CHANGED(MULADD, "capability 10", change(&w, OP_CAPABILITY, 1, 10));
    CHANGED(MULADD, "binding 9 of set 0", decorate(&w, BINDING, 3, 9));
    CHANGED(MULADD, "of set 1", decorate(&w, SET, 3, 1));
    CHANGED(MULADD, "no descriptor set or no binding", decorate(&w, BINDING, 2, 25));
    CHANGED(MULADD, "has bindings 0 to 2", d.operands = 2; d.c_bytes = 0);
    CHANGED(SCALE, "push constants have 96 bytes", d.params_bytes = 60);
    for (size_t bytes = 0; bytes < registered_descs[MULADD].spirv_bytes; bytes += 4) {
        d = registered_descs[MULADD];
        d.spirv_bytes = bytes;
        refused(ctx, &d, "SPIR-V");
    }
    gx_close(&ctx);
}

static void append(struct words *w, uint32_t opcode, const uint32_t *operands, uint32_t count)
{
    assert_true(w->count + count < WORDS_MAX);
    w->code[w->count++] = (count + 1) << 16 | opcode;
    memcpy(w->code + w->count, operands, count * sizeof *operands);
    w->count += count;
}
#define APPEND(w, opcode, ...)                                                                     \
    append(w, opcode, (const uint32_t[]){__VA_ARGS__},                                             \
           sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* Push constants of structs in structs in structs, each with many members, all in the same place:
 * to look at all of them would take the time of several variables times 30^3. */
static void nested_structs(void **state)
{
    enum { MEMBERS = 30, TYPE_INT = 21, TYPE_STRUCT = 30, TYPE_POINTER = 32, FUNCTION = 54 };
    enum { FUNCTION_END = 56, VARIABLE = 59, MEMBER_DECORATE = 72, OFFSET = 35, PUSH = 9 };
    enum { MAIN = 1, WORD = 10, STRUCT = 100 }; /* ids */
    (void)state;
    struct words w = {.code = {0x07230203, 0x00010500, 0, 200, 0}, .count = 5};
    gx_ctx *ctx = gxt_open(NULL);
    gx_kernel_params d = registered_descs[MULADD];
    APPEND(&w, OP_CAPABILITY, 1);
    APPEND(&w, OP_ENTRY_POINT, 5, MAIN, 0x6e69616d, 0); /* "main" */
    APPEND(&w, OP_EXECUTION_MODE, MAIN, 17, 1, 1, 1);
    APPEND(&w, TYPE_INT, WORD, 32, 0);
    for (uint32_t depth = 0; depth < 3; depth++) {
        uint32_t members[1 + MEMBERS] = {STRUCT + depth};
        for (uint32_t k = 0; k < MEMBERS; k++) {
            APPEND(&w, MEMBER_DECORATE, STRUCT + depth, k, OFFSET, 0);
            members[1 + k] = depth ? STRUCT + depth - 1 : WORD;
        }
        append(&w, TYPE_STRUCT, members, 1 + MEMBERS);
    }
    APPEND(&w, TYPE_POINTER, 20, PUSH, STRUCT + 2);
    APPEND(&w, VARIABLE, 20, 21, PUSH);
    APPEND(&w, FUNCTION, 3, MAIN, 0, 4);
    APPEND(&w, FUNCTION_END, 0);
    d.spirv = w.code;
    d.spirv_bytes = w.count * 4;
    d.spirv_entry = NULL;
    refused(ctx, &d, "push constants");
    gx_close(&ctx);
}

/* ---- kernels that a device cannot build ---- */

/* Only that device is at fault, only for this operation, and it stays healthy. */
static void cannot_be_built(const char *device, gx_kernel_params desc, const char *text)
{
    char list[100];
    struct registered_case c;
    gx_op op;
    snprintf(list, sizeof list, "cpu,%s", device);
    gx_ctx *ctx = gxt_open(&(gx_config){.device = list});
    assert_int_equal(gx_op_register(ctx, &desc, &op), GX_OK);
    registered_case_make(&c, MULADD, op, 200000, 0, 1);
    gx_job jobs[2] = {registered_case_job(&c), registered_case_job(&c)};
    gx_report r[2];
    gxt_reports(r, 2);
    for (int again = 0; again < 2; again++) {
        gx_run_params opts = {.device = device};
        assert_int_equal(gx_run(ctx, jobs, 1, &opts, r), GX_ERR_UNSUPPORTED);
        if (!strstr(r->message, text) || !strstr(r->message, device) ||
            !strstr(gx_last_message(), "m31-mul-add"))
            fail_msg("'%s' does not say '%s'", r->message, text);
    }
    jobs[0] = gxt_job(GX_ADD, GX_U32, 100, c.in[0], c.in[1], NULL, c.in[2]); /* runs; then not */
    gx_run_params opts = {.device = device};
    gxt_reports(r, 2);
    assert_int_equal(gx_run(ctx, jobs, 2, &opts, r), GX_ERR_UNSUPPORTED);
    assert_int_equal(r[0].status, GX_OK);
    assert_int_equal(r[1].status, GX_ERR_UNSUPPORTED);
    registered_case_free(&c);
    registered_case_make(&c, MULADD, op, 200000, 0, 1);
    gx_job job = registered_case_job(&c);
    for (int again = 0; again < 3; again++) {
        *r = gxt_report();
        assert_int_equal(gx_run(ctx, &job, 1, NULL, r), GX_OK);
        assert_string_equal(r->device, "cpu");
        registered_case_check(&c);
    }
    opts = (gx_run_params){.policy = GX_POLICY_GPU};
    assert_int_equal(gx_run(ctx, &job, 1, &opts, NULL), GX_ERR_UNSUPPORTED);
    gx_device_statistics stats[8] = {{.struct_size = sizeof *stats}};
    size_t count = GXT_COUNT(stats);
    assert_int_equal(gx_device_stats(ctx, stats, &count), GX_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(stats[i].failures, 0);
    registered_case_free(&c);
    gx_close(&ctx);
}

static void workgroups_too_large(void **state)
{
    (void)state;
    gx_kernel_params d = registered_descs[MULADD];
    struct words w = words_of(MULADD);
    if (!gxt_vulkan())
        skip();
    forget_constant(&w);
    change(&w, OP_EXECUTION_MODE, 3, 1u << 20);
    d.spirv = w.code;
    cannot_be_built(gxt_vulkan(), d, "1048576 x 1 x 1");
}

/* n is one word for a shader. Broadcast operands need no memory for more. */
static void too_many_elements(void **state)
{
    (void)state;
    gx_ctx *ctx = gxt_open(&(gx_config){0});
    struct registered_case c;
    registered_case_make(&c, COUNT, registered_register(ctx, COUNT), 1, 1, 1);
    gx_job job = registered_case_job(&c);
    job.n = ((size_t)1 << 32) + 1;
    for (size_t d = 0; d < gpu_count; d++) {
        gx_run_params opts = {.device = gpus[d]};
        assert_int_equal(gx_run(ctx, &job, 1, &opts, NULL), GX_ERR_UNSUPPORTED);
        assert_non_null(strstr(gx_last_message(), "n is 4294967297"));
    }
    registered_case_free(&c);
    gx_close(&ctx);
}

/* A line of 64 KiB is taken, in the middle of the text too; one more byte is not. */
static void long_lines_of_ptx(void **state)
{
    enum { LINE = 65536 };
    static char text[LINE + 8];
    (void)state;
    gx_ctx *ctx = gxt_open(NULL);
    gx_kernel_params d = registered_descs[MULADD];
    gx_op op;
    memset(text, ' ', sizeof text - 1);
    text[0] = text[1] = '/';
    text[2] = '\n';
    d.ptx = text;
    refused(ctx, &d, "ptx has a line of more than 65536 bytes");
    text[3 + LINE] = '\n';
    assert_int_equal(gx_op_register(ctx, &d, &op), GX_OK);
    gx_close(&ctx);
}

static void wrong_wgsl(void **state)
{
    static const struct {
        const char *wgsl, *entry, *text;
    } wrong[] = {
        {"fn main( {", NULL, "expected"},
        {"@compute @workgroup_size(1) fn main() { let x: u32 = 1.5; }", NULL, "u32"},
        {"@compute @workgroup_size(1) fn main() {}", "other", "other"},
        {"@group(0) @binding(9) var<storage, read_write> a: array<u32>;"
         "@compute @workgroup_size(1) fn main() { a[0] = 1u; }",
         NULL, "9"},
        {"@group(0) @binding(1) var<storage, read> a: array<u32>;"
         "@group(0) @binding(0) var<uniform> b: vec4<u32>;"
         "@compute @workgroup_size(1) fn main() { _ = a[0] + b.x; }",
         NULL, ""},
        {"@compute @workgroup_size(1000000) fn main() {}", NULL, "size is out of range"},
    };
    const char *webgpu[GXT_WEBGPU];
    (void)state;
    size_t count = gxt_webgpu(webgpu);
    for (size_t i = 0; i < count * GXT_COUNT(wrong); i++) {
        gx_kernel_params d = registered_descs[MULADD];
        d.wgsl = wrong[i / count].wgsl;
        d.wgsl_entry = wrong[i / count].entry;
        cannot_be_built(webgpu[i % count], d, wrong[i / count].text);
    }
}

/* ---- WGSL that is deep ---- */

/* What would end the process inside wgpu if there were more of it: 'before' and 'after' so many
 * times around the middle. That goes on to wgpu; once more is refused. */
static const struct deep {
    size_t most;
    const char *begin, *before, *middle, *after, *end, *text;
} deep[] = {
    {127, "o[0] = ", "(", "1u", ")", ";", "brackets"},
    {127, "o[0] = ", "u32(", "1u", ")", ";", "brackets"},
    {127, "o[0] = ", "o[", "0", "]", ";", "brackets"},
    {127, "", "{", "", "}", "", "brackets"},
    {127, "", "if o[0] == 1u {", "", "}", "", "brackets"},
    {127, "var v: ", "array<", "u32", ", 1>", ";", "brackets"},
    {1014, "o[0] = ", "~", "o[0]", "", ";", "operators"},
    {1023, "let x = ", "!", "true", "", ";", "operators"},
    {1023, "let x = ", "- ", "1", "", ";", "operators"},
    {507, "o[0] = 1u", " + o[0]", "", "", ";", "operators"},
    {511, "let x = true", " && true", "", "", ";", "operators"},
    {512, "if o[0] == 1u {}", "else if o[0] == 2u {}", "", "", "", "'else'"},
};
enum { DEEP = GXT_COUNT(deep) };

static char deep_text[1 << 17];

static void add_text(size_t *at, const char *text, size_t times)
{
    for (; times--; *at += strlen(text)) {
        assert_true(*at + strlen(text) < sizeof deep_text);
        strcpy(deep_text + *at, text);
    }
}

static gx_kernel_params deep_kernel(const struct deep *d, size_t times)
{
    gx_kernel_params params = registered_descs[MULADD];
    size_t at = 0;
    add_text(&at,
             "@group(0) @binding(0) var<storage, read_write> o: array<u32>;\n"
             "@compute @workgroup_size(1) fn start() {\n",
             1);
    add_text(&at, d->begin, 1);
    add_text(&at, d->before, times);
    add_text(&at, d->middle, 1);
    add_text(&at, d->after, times);
    add_text(&at, d->end, 1);
    add_text(&at, " }", 1);
    params.wgsl = deep_text;
    return params;
}

/* So many constants, each of which refers to the next, and two other declarations. */
enum { CHAIN = 2046 };

static gx_kernel_params chain_kernel(int constants)
{
    gx_kernel_params params = registered_descs[MULADD];
    size_t at = 0;
    for (int i = 1; i < constants; i++) {
        char line[40];
        snprintf(line, sizeof line, "const c%d = c%d + 1;\n", i, i + 1);
        add_text(&at, line, 1);
    }
    snprintf(deep_text + at, sizeof deep_text - at,
             "const c%d = 1;\n"
             "@group(0) @binding(0) var<storage, read_write> o: array<u32>;\n"
             "@compute @workgroup_size(1) fn start() { o[0] = c1; }",
             constants);
    params.wgsl = deep_text;
    return params;
}

static void deep_wgsl(void **state)
{
    gx_ctx *ctx = gxt_open(NULL);
    (void)state;
    for (size_t i = 0; i < DEEP; i++) {
        gx_op op = 0;
        gx_kernel_params d = deep_kernel(&deep[i], deep[i].most);
        assert_int_equal(gx_op_register(ctx, &d, &op), GX_OK);
        assert_int_equal(gx_op_unregister(ctx, op), GX_OK);
        d = deep_kernel(&deep[i], deep[i].most + 1);
        refused(ctx, &d, "line 3");
        refused(ctx, &d, deep[i].text);
    }
    gx_close(&ctx);
}

static void long_chains_of_wgsl(void **state)
{
    gx_ctx *ctx = gxt_open(NULL);
    gx_kernel_params d = chain_kernel(CHAIN);
    gx_op op = 0;
    (void)state;
    assert_int_equal(gx_op_register(ctx, &d, &op), GX_OK);
    assert_int_equal(gx_op_unregister(ctx, op), GX_OK);
    d = chain_kernel(CHAIN + 1);
    refused(ctx, &d, "line 2049: there are too many declarations");
    gx_close(&ctx);
}

#ifndef _WIN32 /* which has no fork() */

/* Of the thread that runs the first job: doc/kernels.md says that it suffices. */
#define STACK ((size_t)1 << 20)

/* In another process and thread, where no test can fail. */
static void must(bool fact)
{
    if (!fact)
        _exit(1);
}

/* wgpu, or the driver, may still refuse the text. */
static void run_deep(gx_ctx *ctx, const char *device, gx_kernel_params kernel)
{
    uint32_t word = 1, out;
    gx_job job = {.n = 1,
                  .a = gx_host(&word),
                  .b = gx_host(&word),
                  .c = gx_host(&word),
                  .out = gx_host(&out)};
    must(gx_op_register(ctx, &kernel, &job.op) == GX_OK);
    gx_status s = gxt_run(ctx, &job, device, NULL);
    must(s == GX_OK || s == GX_ERR_UNSUPPORTED);
    must(gx_op_unregister(ctx, job.op) == GX_OK);
}

static void *run_all_deep(void *user)
{
    const char *device = user;
    gx_ctx *ctx;
    must(gx_open(&(gx_config){.struct_size = sizeof(gx_config), .device = device}, &ctx) == GX_OK);
    for (size_t i = 0; i < DEEP; i++) {
        print_message("%s: %s%s\n", device, deep[i].begin, deep[i].before);
        fflush(NULL);
        run_deep(ctx, device, deep_kernel(&deep[i], deep[i].most));
    }
    print_message("%s: declarations\n", device);
    fflush(NULL);
    run_deep(ctx, device, chain_kernel(CHAIN));
    gx_close(&ctx);
    return NULL;
}

static void run_on_small_stack(void *(*fn)(void *), const char *device)
{
    pthread_attr_t attr;
    pthread_t thread;
    must(!pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, STACK) &&
         !pthread_create(&thread, &attr, fn, (void *)(uintptr_t)device) &&
         !pthread_join(thread, NULL));
    pthread_attr_destroy(&attr);
}

/* All that goes on to wgpu, in another process: it would end where the stack does, and the last
 * line says in what. */
static void deep_wgsl_runs(void **state)
{
    const char *webgpu[GXT_WEBGPU];
    size_t count = gxt_webgpu(webgpu);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        int status;
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            run_on_small_stack(run_all_deep, webgpu[i]);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

#endif

/* What looks deep, but is not: comments, comparisons, shifts, long lists and texts. */
static void flat_wgsl(void **state)
{
    enum { TIMES = 2000 };
    static const char *const flat[] = {
        "// ((((((((\n",           "/* (((( /* [[[[ */ */",          "const x = 1 < 2;\n",
        "a(1 < 2, -1, ~1u),",      "if a < b && c < d {}\n",         "x = 1u << 2u;\n",
        "v: array<vec2<u32>, 4>,", "f(a[0], array<vec2<u32>>(b));\n"};
    gx_ctx *ctx = gxt_open(NULL);
    (void)state;
    for (size_t i = 0; i < GXT_COUNT(flat); i++) {
        gx_kernel_params d = registered_descs[MULADD];
        gx_op op = 0;
        char *text = gxt_alloc(TIMES * strlen(flat[i]) + 1);
        for (size_t k = 0; k < TIMES; k++)
            strcpy(text + k * strlen(flat[i]), flat[i]);
        d.wgsl = text;
        if (gx_op_register(ctx, &d, &op) != GX_OK)
            fail_msg("%s: %s", flat[i], gx_last_message());
        assert_int_equal(gx_op_unregister(ctx, op), GX_OK);
        free(text);
    }
    gx_close(&ctx);
}

/* ---- results that differ ---- */

/* A bit of a result is wrong: every kernel with a C function notices. */
static void wrong_results(void **state)
{
    (void)state;
    for (int k = 0; k < REGISTERED_KERNELS * (int)gpu_count; k++) {
        char device[64], list[80];
        struct registered_case c;
        enum registered_kernel kernel = (enum registered_kernel)(k % REGISTERED_KERNELS);
        snprintf(device, sizeof device, "fault:corrupt@1:%s", gpus[k / REGISTERED_KERNELS]);
        snprintf(list, sizeof list, "cpu,%s", device);
        gx_ctx *ctx = gxt_open(&(gx_config){.device = list, .sample_every = 1});
        gx_op op = registered_register(ctx, kernel);
        registered_case_make(&c, kernel, op, 6000, 0, 1);
        gx_job job = registered_case_job(&c);
        gx_run_params opts = {.device = device};
        gx_report r = gxt_report();
        assert_int_equal(gx_run(ctx, &job, 1, &opts, &r), GX_ERR_DEVICE);
        assert_non_null(strstr(r.message, "wrong result at element 0"));
        opts = (gx_run_params){.policy = GX_POLICY_THROUGHPUT};
        assert_int_equal(gx_run(ctx, &job, 1, &opts, &r), GX_OK); /* elsewhere */
        registered_case_check(&c);
        struct gx_statistics stats = {0};
        gx__stats(ctx, &stats);
        assert_int_equal(stats.mismatches, 1);
        registered_case_free(&c);
        gx_close(&ctx);
    }
}

/* Without a C function there is nothing to compare with. */
static void nothing_to_compare_with(void **state)
{
    (void)state;
    for (size_t d = 0; d < gpu_count; d++) {
        struct registered_case c;
        gx_kernel_params desc = registered_descs[MULADD];
        gx_op op;
        desc.fn = NULL;
        gx_ctx *ctx = gxt_open(&(gx_config){.sample_every = 1});
        assert_int_equal(gx_op_register(ctx, &desc, &op), GX_OK);
        registered_case_make(&c, MULADD, op, 600, 0, 1);
        gx_job job = registered_case_job(&c);
        gx_run_params opts = {.device = gpus[d]};
        gx_report r = gxt_report();
        assert_int_equal(gx_run(ctx, &job, 1, &opts, &r), GX_OK);
        assert_int_equal(r.sampled, 0);
        registered_case_check(&c);
        registered_case_free(&c);
        gx_close(&ctx);
    }
}

static void always_zero(void *user, const gx_kernel_call *k)
{
    (void)user;
    memset(k->out, 0, k->n * 4);
}

/* The function and the shader disagree: the device is not trusted. */
static void another_function(void **state)
{
    (void)state;
    for (size_t d = 0; d < gpu_count; d++) {
        struct registered_case c;
        gx_kernel_params desc = registered_descs[MULADD];
        gx_op op;
        desc.fn = always_zero;
        gx_ctx *ctx = gxt_open(&(gx_config){.sample_every = 100});
        assert_int_equal(gx_op_register(ctx, &desc, &op), GX_OK);
        registered_case_make(&c, MULADD, op, 5000, 0, 1);
        gx_job job = registered_case_job(&c);
        gx_run_params opts = {.device = gpus[d]};
        assert_int_equal(gx_run(ctx, &job, 1, &opts, NULL), GX_ERR_DEVICE);
        assert_non_null(strstr(gx_last_message(), "wrong result"));
        registered_case_free(&c);
        gx_close(&ctx);
    }
}

/* ---- devices that fail ---- */

static gx_status run_named(gx_ctx *ctx, struct registered_case *c, const char *device, gx_path path)
{
    gx_job job = registered_case_job(c);
    gx_run_params opts = {.device = device, .path = path};
    gx_report r = {.struct_size = sizeof r};
    gx_status s = gx_run(ctx, &job, 1, &opts, &r);
    assert_int_equal(r.status, s);
    assert_int_equal(r.message[0] != 0, s != GX_OK);
    if (s == GX_OK)
        registered_case_check(c);
    return s;
}

/* The Nth call of the device fails, for each N: the right status, and it works again. A kernel that
 * never ends looks to the library like a wait that does not return, which "hang" is: a real one
 * would occupy the threads of lavapipe for ever. */
static void sweep(const char *what, gx_status expected, const char *device, unsigned step)
{
    unsigned failures = 0;
    for (unsigned at = 1; at <= 30; at += step) {
        gx_ctx *ctx = gxt_open(&(gx_config){.dispatch_elems = 40});
        char name[64];
        struct registered_case c[2];
        snprintf(name, sizeof name, "fault:%s@%u:%s", what, at, device);
        registered_case_make(&c[0], SCALE, registered_register(ctx, SCALE), 120, 0, at);
        registered_case_make(&c[1], COUNT, registered_register(ctx, COUNT), 120, 0, at);
        for (unsigned i = 0; i < 4; i++) {
            gx_path path = i < 2 ? GX_PATH_HOST_VISIBLE : GX_PATH_DEVICE_LOCAL;
            gx_status s = run_named(ctx, &c[i % 2], name, path);
            assert_int_equal(s, s == GX_OK ? GX_OK : expected);
            failures += s != GX_OK;
        }
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(run_named(ctx, &c[i], device, GX_PATH_AUTO), GX_OK);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(gx_op_unregister(ctx, c[i].op), GX_OK);
            registered_case_free(&c[i]);
        }
        gx_close(&ctx);
    }
    assert_true(failures > 0);
}

/* All of it on the first; the others share most of the code. */
static void devices_fail(void **state)
{
    (void)state;
    for (size_t d = 0; d < gpu_count; d++) {
        unsigned step = d || gxt_small() ? 7 : 1;
        sweep("fail", GX_ERR_DEVICE, gpus[d], step);
        sweep("oom", GX_ERR_OUT_OF_DEVICE_MEMORY, gpus[d], step);
        sweep("lose", GX_ERR_DEVICE_LOST, gpus[d], step);
        sweep("hang", GX_ERR_TIMEOUT, gpus[d], step);
    }
    sweep("lose", GX_ERR_DEVICE_LOST, "cpu", 1);
}

/* ---- allocations that fail ---- */

static gx_status everything(gx_ctx *ctx)
{
    gx_status s = GX_OK;
    for (int k = 0; k < REGISTERED_KERNELS; k++) {
        struct registered_case c;
        gx_op op;
        gx_status one = gx_op_register(ctx, &registered_descs[k], &op);
        if (one != GX_OK) {
            s = one;
            continue;
        }
        registered_case_make(&c, (enum registered_kernel)k, op, 60, 0, 1);
        for (size_t d = 0; d <= (gpu_count > 0) && one == GX_OK; d++)
            one = run_named(ctx, &c, d ? gpus[d - 1] : "cpu", GX_PATH_AUTO);
        s = one != GX_OK ? one : s;
        registered_case_free(&c);
        assert_int_equal(gx_op_unregister(ctx, op), GX_OK);
    }
    return s;
}

/* Opening a device has tests of its own. */
static void allocations_fail(void **state)
{
    (void)state;
    unsigned refused_calls = 0;
    uint64_t failed = 1;
    for (uint64_t k = 1; failed; k += gxt_small() ? 5 : 1) {
        struct gxt_heap heap;
        gxt_heap_start(&heap);
        gx_config config = {.sample_every = 1, .allocator = gxt_heap_allocator(&heap)};
        gx_ctx *ctx = gxt_open(&config);
        uint32_t x[2] = {1, 2}, out[2];
        gx_job job = gxt_job(GX_ADD, GX_U32, 2, x, x, NULL, out);
        assert_int_equal(gxt_run(ctx, &job, gpu_count ? gpus[0] : "cpu", NULL), GX_OK);
        gxt_heap_fail(&heap, k, 0);
        gx_status s = everything(ctx);
        assert_true(s == GX_OK || s == GX_ERR_OUT_OF_MEMORY);
        failed = heap.failed;
        assert_true(failed || s == GX_OK);
        refused_calls += s != GX_OK;
        gxt_heap_heal(&heap);
        assert_int_equal(everything(ctx), GX_OK);
        gx_close(&ctx);
        gxt_heap_end(&heap);
    }
    assert_true(refused_calls > (gxt_small() ? 1 : 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions),
        cmocka_unit_test(invalid_jobs),
        cmocka_unit_test(modules),
        cmocka_unit_test(nested_structs),
        cmocka_unit_test(long_lines_of_ptx),
        cmocka_unit_test(workgroups_too_large),
        cmocka_unit_test(too_many_elements),
        cmocka_unit_test(wrong_wgsl),
        cmocka_unit_test(deep_wgsl),
#ifndef _WIN32
        cmocka_unit_test(deep_wgsl_runs),
#endif
        cmocka_unit_test(long_chains_of_wgsl),
        cmocka_unit_test(flat_wgsl),
        cmocka_unit_test(wrong_results),
        cmocka_unit_test(nothing_to_compare_with),
        cmocka_unit_test(another_function),
        cmocka_unit_test(devices_fail),
        cmocka_unit_test(allocations_fail),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
