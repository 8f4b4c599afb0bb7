/* SPDX-License-Identifier: Apache-2.0
 *
 * Hostile PTX: texts around the body of a kernel that adds 1 to each element.
 */
#include "hostile/hostile.h"

#include <stdio.h>

#define TARGET ".version 6.4\n.target sm_70\n.address_size 64\n"
#define ENTRY  ".visible .entry kernel(.param .align 8 .b8 p[128])\n"
#define REGISTERS                                                                                  \
    ".reg .pred %q;\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n"                                         \
    "ld.param.u64 %d1, [p];\nld.param.u64 %d2, [p+8];\n"                                           \
    "ld.param.u32 %r1, [p+32];\nld.param.u32 %r2, [p+36];\nld.param.u32 %r3, [p+40];\n"            \
    "mov.u32 %r4, %ctaid.x;\nmov.u32 %r5, %ntid.x;\nmov.u32 %r6, %tid.x;\n"                        \
    "mad.lo.u32 %r4, %r4, %r5, %r6;\nsetp.ge.u32 %q, %r4, %r1;\n@%q bra END;\n"
#define LOAD                                                                                       \
    "add.u32 %r5, %r4, %r3;\nmul.wide.u32 %d3, %r5, 4;\nadd.s64 %d3, %d2, %d3;\n"                  \
    "ld.global.u32 %r6, [%d3];\nadd.u32 %r6, %r6, 1;\n"
#define STORE                                                                                      \
    "add.u32 %r5, %r4, %r2;\nmul.wide.u32 %d4, %r5, 4;\nadd.s64 %d4, %d1, %d4;\n"                  \
    "st.global.u32 [%d4], %r6;\n"
#define END             "END: ret;\n}\n"
#define KERNEL_OF(body) TARGET ENTRY "{\n" REGISTERS body END
#define GOOD            KERNEL_OF(LOAD STORE)
#define STORE_TO(where) KERNEL_OF("mov.u64 %d4, " where ";\nst.global.u32 [%d4], %r4;\n")

static const struct {
    const char *name, *ptx;
    enum promise promise;
} texts[] = {
    {"a valid kernel", GOOD, SURVIVES},
    {"no text", "", SURVIVES},
    {"not PTX", "this is not PTX\n", SURVIVES},
    {"bytes that are no letters", "\xff\xfe\x01\x02\x7f\x80", SURVIVES},
    {"an ELF file",
     "\x7f"
     "ELF\x02\x01\x01\x33",
     SURVIVES},
    {"no version", ".target sm_70\n.address_size 64\n" ENTRY "{ ret; }\n", SURVIVES},
    {"version 99.9", ".version 99.9\n.target sm_70\n.address_size 64\n" ENTRY "{ ret; }\n",
     SURVIVES},
    {"target sm_999", ".version 6.4\n.target sm_999\n.address_size 64\n" ENTRY "{ ret; }\n",
     SURVIVES},
    {"another target", ".version 6.4\n.target sm_20\n.address_size 32\n" ENTRY "{ ret; }\n",
     SURVIVES},
    {"an instruction that is none", KERNEL_OF("frobnicate.u32 %r6, %r6;\n"), SURVIVES},
    {"a register that is none", KERNEL_OF("mov.u32 %r6, %x9;\n"), SURVIVES},
    {"a label that is none", KERNEL_OF("bra NOWHERE;\n"), SURVIVES},
    {"a function that is none",
     TARGET ".extern .func gone(.param .b32 x);\n" ENTRY
            "{\n.param .b32 x;\nst.param.b32 [x], 1;\ncall gone, (x);\nret;\n}\n",
     SURVIVES},
    {"no entry", TARGET, SURVIVES},
    {"another entry", TARGET ".visible .entry other() { ret; }\n", SURVIVES},
    {"a function for an entry", TARGET ".visible .func kernel() { ret; }\n", SURVIVES},
    {"no parameters", TARGET ".visible .entry kernel() { ret; }\n", SURVIVES},
    {"two parameters", TARGET ".visible .entry kernel(.param .u64 a, .param .u32 b) { ret; }\n",
     SURVIVES},
    {"parameters of 4096 bytes",
     TARGET ".visible .entry kernel(.param .align 8 .b8 p[4096])\n{\n"
            ".reg .b64 %d<3>;\n.reg .b32 %r<2>;\n"
            "ld.param.u64 %d1, [p];\nld.param.u32 %r1, [p+4092];\nst.global.u32 [%d1], %r1;\n"
            "ret;\n}\n",
     NO_LIMIT},
    {"1 GiB of shared memory",
     TARGET ".shared .align 4 .b8 s[1073741824];\n" ENTRY
            "{\n.reg .b32 %r<2>;\nld.shared.u32 %r1, [s];\nst.shared.u32 [s+4], %r1;\nret;\n}\n",
     SURVIVES},
    {"512 KiB of local memory",
     TARGET ENTRY
     "{\n.local .align 4 .b8 l[524000];\n.reg .b32 %r<3>;\n.reg .b64 %d<3>;\n"
     "mov.u32 %r1, %tid.x;\ncvt.u64.u32 %d1, %r1;\nmov.u64 %d2, l;\nadd.s64 %d2, %d2, %d1;\n"
     "st.local.u8 [%d2], %r1;\nret;\n}\n",
     SURVIVES},
    {"a function that calls itself",
     TARGET ".func deep(.param .b32 x)\n{\n.reg .b32 %r<2>;\n.param .b32 y;\n"
            "ld.param.b32 %r1, [x];\nadd.u32 %r1, %r1, 1;\nst.param.b32 [y], %r1;\n"
            "call deep, (y);\nret;\n}\n" ENTRY
            "{\n.param .b32 y;\nst.param.b32 [y], 1;\ncall deep, (y);\nret;\n}\n",
     NO_LIMIT},
    {"a trap", KERNEL_OF("trap;\n"), NO_LIMIT},
    {"a breakpoint", KERNEL_OF("brkpt;\n"), NO_LIMIT},
    {"writes to address 16", STORE_TO("16"), NO_LIMIT},
    {"writes to 2^62", STORE_TO("4611686018427387904"), NO_LIMIT},
    {"writes 1 TiB behind",
     KERNEL_OF("add.s64 %d4, %d1, 1099511627776;\n"
               "st.global.u32 [%d4], %r4;\n"),
     NO_LIMIT},
    {"writes 64 MiB behind", KERNEL_OF("add.s64 %d4, %d1, 67108864;\nst.global.u32 [%d4], %r4;\n"),
     NO_LIMIT},
    {"writes at an odd address", KERNEL_OF("add.s64 %d4, %d1, 1;\nst.global.u32 [%d4], %r4;\n"),
     NO_LIMIT},
    {"a barrier that some miss", KERNEL_OF("setp.gt.u32 %q, %r6, 3;\n@%q bra END;\nbar.sync 0;\n"),
     NO_LIMIT},
    {"a loop without an end", KERNEL_OF("AGAIN:\n" LOAD STORE "bra AGAIN;\n"), SURVIVES},
};

static gx_kernel_params desc_of(const char *ptx)
{
    gx_kernel_params d = registered_descs[MULADD];
    d.spirv = NULL;
    d.spirv_bytes = 0;
    d.wgsl = NULL;
    d.ptx = ptx;
    d.ptx_block[0] = 64;
    return d;
}

static void show(hostile_fn visit, void *user, const char *name, const gx_kernel_params *desc,
                 enum promise promise)
{
    struct hostile h = {.desc = *desc, .job = MULADD, .promise = promise};
    snprintf(h.name, sizeof h.name, "%s", name);
    visit(user, &h);
}

/* ---- large texts ---- */

/* The good kernel, with a text so many times at the place of its body or before it. */
static char *repeated(const char *begin, const char *text, size_t times, const char *end)
{
    char *all = gxt_alloc(strlen(begin) + strlen(text) * times + strlen(end) + 1);
    char *at = stpcpy(all, begin);
    for (size_t i = 0; i < times; i++)
        at = stpcpy(at, text);
    stpcpy(at, end);
    return all;
}

static void large(hostile_fn visit, void *user)
{
    static const char body[] = TARGET ENTRY "{\n" REGISTERS;
    const struct {
        const char *name, *begin, *text;
        size_t times;
        const char *end;
        enum promise promise;
    } cases[] = {
        {"10 MiB of comments", "", "// nothing at all, 32 bytes of it\n", 10 << 15, GOOD, SURVIVES},
        {"10 MiB without an end of line", TARGET, "a", 10 << 20, "", SURVIVES},
        {"10 MiB of wrong instructions", body, "frobnicate %r6, %r6, %r6, 1;\n", 10 << 15, END,
         SURVIVES},
        {"100,000 instructions", body, LOAD, 20000, STORE END, SURVIVES},
        {"100,000 brackets", body, "{\n", 100000, "", NO_LIMIT},
        {"100,000 registers", body, ".reg .b32 x;\n", 100000, END, SURVIVES},
        {"100,000 parentheses", TARGET ".const .b32 x = ", "(", 100000, "1;\n", NO_LIMIT},
    };
    for (size_t i = 0; i < GXT_COUNT(cases); i++) {
        char *text = repeated(cases[i].begin, cases[i].text, cases[i].times, cases[i].end);
        gx_kernel_params d = desc_of(text);
        show(visit, user, cases[i].name, &d, cases[i].promise);
        free(text);
    }
}

static void blocks(hostile_fn visit, void *user)
{
    static const uint32_t wrong[][3] = {{0, 0, 0},
                                        {1025, 1, 1},
                                        {1024, 1024, 64},
                                        {1, 1, 65},
                                        {0xffffffff, 0xffffffff, 0xffffffff}};
    for (size_t i = 0; i < GXT_COUNT(wrong); i++) {
        char name[64];
        gx_kernel_params d = desc_of(GOOD);
        memcpy(d.ptx_block, wrong[i], sizeof d.ptx_block);
        snprintf(name, sizeof name, "blocks of %u x %u x %u", wrong[i][0], wrong[i][1],
                 wrong[i][2]);
        show(visit, user, name, &d, SURVIVES);
    }
}

void hostile_ptx(hostile_fn visit, void *user)
{
    for (size_t i = 0; i < GXT_COUNT(texts); i++) {
        gx_kernel_params d = desc_of(texts[i].ptx);
        show(visit, user, texts[i].name, &d, texts[i].promise);
    }
    large(visit, user);
    blocks(visit, user);
}
