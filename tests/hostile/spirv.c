/* SPDX-License-Identifier: Apache-2.0
 *
 * Hostile SPIR-V: the modules of registered_kernels.h and some more, cut, mutated, or valid and
 * ill-meant.
 */
#include "hostile/hostile.h"

#include <stdio.h>

#define SPIRV(name) static const uint32_t name##_spirv[]
SPIRV(spin) = {
#include "spin.inc"
};
SPIRV(outside) = {
#include "outside.inc"
};
SPIRV(calls) = {
#include "calls.inc"
};
SPIRV(shared) = {
#include "shared.inc"
};

enum { HEADER = 5, BOUND = 3, BOUND_MAX = 0x3fffff, WORDS_MAX = 1 << 14 };
enum { OP_EXECUTION_MODE = 16, OP_CONSTANT = 43, OP_FUNCTION = 54, OP_CALL = 57, OP_DECORATE = 71 };
enum { OP_LABEL = 248, OP_BRANCH = 249, OPCODES = 366, WORKGROUP_SIZE = 25 };

struct module {
    uint32_t code[WORDS_MAX];
    size_t words;
};

static struct module module; /* that of the case */

static void load(const uint32_t *code, size_t bytes)
{
    module.words = bytes / sizeof *code;
    if (module.words > WORDS_MAX)
        abort();
    memcpy(module.code, code, bytes);
}

static void show(hostile_fn visit, void *user, const char *name, enum registered_kernel kernel,
                 enum promise promise)
{
    struct hostile h = {.desc = registered_descs[kernel], .job = kernel, .promise = promise};
    snprintf(h.name, sizeof h.name, "%s", name);
    h.desc.spirv = module.code;
    h.desc.spirv_bytes = module.words * sizeof *module.code;
    visit(user, &h);
}

/* Calls `change` with every instruction of this kind. */
static void each(uint32_t opcode, void (*change)(uint32_t *word))
{
    for (size_t at = HEADER; at < module.words && module.code[at] >> 16;
         at += module.code[at] >> 16)
        if ((module.code[at] & 0xffff) == opcode)
            change(module.code + at);
}

/* ---- the structure ---- */

static void cut(hostile_fn visit, void *user, enum registered_kernel kernel)
{
    const gx_kernel_params *d = &registered_descs[kernel];
    for (size_t part = 1; part < 8; part++) {
        char name[48];
        load(d->spirv, d->spirv_bytes);
        module.words = module.words * part / 8;
        snprintf(name, sizeof name, "%s, %zu/8 of it", d->name, part);
        show(visit, user, name, kernel, NO_LIMIT); /* a cut may fall between functions */
    }
}

static void bounds(hostile_fn visit, void *user)
{
    static const uint32_t wrong[] = {0, 1, 8, BOUND_MAX, BOUND_MAX + 1, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < GXT_COUNT(wrong); i++) {
        char name[48];
        load(registered_descs[MULADD].spirv, registered_descs[MULADD].spirv_bytes);
        module.code[BOUND] = wrong[i];
        snprintf(name, sizeof name, "bound of ids 0x%x", wrong[i]);
        show(visit, user, name, MULADD, wrong[i] > BOUND_MAX ? REFUSED : NO_LIMIT);
    }
}

static void entries(hostile_fn visit, void *user)
{
    struct hostile h = {.desc = registered_descs[MULADD], .job = MULADD, .promise = REFUSED};
    static const char *const names[] = {"other", "main2", "mai", " main", "\xff\xfe"};
    for (size_t i = 0; i < GXT_COUNT(names); i++) {
        snprintf(h.name, sizeof h.name, "entry point '%s'", i < 4 ? names[i] : "0xfffe");
        h.desc.spirv_entry = names[i];
        visit(user, &h);
    }
}

/* ---- code ---- */

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static bool begins_instruction(size_t place)
{
    size_t at = HEADER;
    while (at < place && module.code[at] >> 16)
        at += module.code[at] >> 16;
    return at == place;
}

/* An operand is replaced by another word, a small number or anything, or has a bit flipped; of the
 * first word of an instruction only the opcode changes, so that the others remain where they are.
 */
static void mutate(uint64_t *state)
{
    size_t place = HEADER + next(state) % (module.words - HEADER);
    uint32_t *word = &module.code[place];
    if (begins_instruction(place)) {
        *word = (*word & 0xffff0000) | (uint32_t)(next(state) % OPCODES);
        return;
    }
    switch (next(state) % 4) {
    case 0:
        *word = module.code[HEADER + next(state) % (module.words - HEADER)];
        break;
    case 1:
        *word = (uint32_t)(next(state) % (module.code[BOUND] + 8));
        break;
    case 2:
        *word = (uint32_t)next(state);
        break;
    default:
        *word ^= 1u << next(state) % 32;
    }
}

static void mutants(hostile_fn visit, void *user, enum registered_kernel kernel, unsigned count)
{
    for (unsigned seed = 0; seed < count; seed++) {
        uint64_t state = seed * 16 + kernel + 1;
        char name[48];
        load(registered_descs[kernel].spirv, registered_descs[kernel].spirv_bytes);
        for (uint64_t i = 0; i <= seed % 4; i++)
            mutate(&state);
        snprintf(name, sizeof name, "%s, mutant %u", registered_descs[kernel].name, seed);
        show(visit, user, name, kernel, NO_LIMIT);
    }
}

static void enlarge(uint32_t *word)
{
    word[3] = 0xffffffff;
}

static uint32_t function;

static void note_function(uint32_t *word)
{
    function = word[2];
}

/* The function that is noted calls itself wherever it calls another. */
static void recurse(void)
{
    for (size_t at = HEADER; at < module.words; at += module.code[at] >> 16) {
        uint32_t *word = module.code + at;
        if ((*word & 0xffff) == OP_FUNCTION)
            note_function(word);
        else if ((*word & 0xffff) == OP_CALL)
            word[3] = function;
    }
}

/* Every jump goes to the last block of the module: loops without an end or an exit. */
static uint32_t label;

static void note_label(uint32_t *word)
{
    label = word[1];
}

static void jump(uint32_t *word)
{
    word[1] = label;
}

static void widen(uint32_t *word)
{
    if (word[2] == 17) /* LocalSize */
        word[3] = word[4] = word[5] = 0x7fffffff;
}

static void forget_size(uint32_t *word)
{
    if (word[2] == 11 && word[3] == WORKGROUP_SIZE) /* BuiltIn: a constant with the size */
        word[3]--;
}

static void ill_meant(hostile_fn visit, void *user)
{
#define LOAD(name) load(name##_spirv, sizeof name##_spirv)
    load(registered_descs[MULADD].spirv, registered_descs[MULADD].spirv_bytes);
    show(visit, user, "a valid module", MULADD, SURVIVES);
    each(OP_CONSTANT, enlarge);
    show(visit, user, "all constants are 0xffffffff", MULADD, NO_LIMIT);
    load(registered_descs[COUNT].spirv, registered_descs[COUNT].spirv_bytes);
    each(OP_CONSTANT, enlarge);
    show(visit, user, "likewise, with shared memory", COUNT, NO_LIMIT);
    load(registered_descs[MULADD].spirv, registered_descs[MULADD].spirv_bytes);
    each(OP_DECORATE, forget_size);
    each(OP_EXECUTION_MODE, widen);
    show(visit, user, "workgroups of 2^93", MULADD, SURVIVES);
    load(registered_descs[SCALE].spirv, registered_descs[SCALE].spirv_bytes);
    each(OP_LABEL, note_label);
    each(OP_BRANCH, jump);
    show(visit, user, "all jumps to one place", SCALE, NO_LIMIT);
    LOAD(shared);
    show(visit, user, "1 GiB of shared memory", MULADD, NO_LIMIT);
    LOAD(calls);
    show(visit, user, "functions that call functions", MULADD, SURVIVES);
    recurse();
    show(visit, user, "a function that calls itself", MULADD, NO_LIMIT);
    LOAD(outside);
    show(visit, user, "writes far outside", MULADD, NO_LIMIT);
    LOAD(spin);
    show(visit, user, "a loop without an end", MULADD, SURVIVES);
}

void hostile_spirv(hostile_fn visit, void *user, unsigned count)
{
    entries(visit, user);
    bounds(visit, user);
    for (int kernel = 0; kernel < REGISTERED_KERNELS; kernel++) {
        cut(visit, user, (enum registered_kernel)kernel);
        mutants(visit, user, (enum registered_kernel)kernel, count);
    }
    ill_meant(visit, user);
}
