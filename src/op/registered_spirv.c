/* SPDX-License-Identifier: Apache-2.0
 *
 * A reader of just enough SPIR-V (registered_op.h). Instructions are searched for from the start
 * each time: a module has few variables, and it is read once.
 */
#include "op/registered_op.h"

#include <string.h>

#include "base/os.h"

#define MAGIC        0x07230203u
#define HEADER_WORDS 5u
#define VERSION_MAX  0x00010500u /* Vulkan 1.2 */
/* A limit of SPIR-V itself. Drivers make a table of so many. */
#define IDS_MAX 0x3fffffu
/* Types that the push constants of a module consist of: bounds the time for any module. */
#define TYPES_MAX 1024u

enum {
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_VECTOR = 23,
    OP_TYPE_MATRIX = 24,
    OP_TYPE_ARRAY = 28,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_CONSTANT = 43,
    OP_CONSTANT_COMPOSITE = 44,
    OP_SPEC_CONSTANT = 50,
    OP_SPEC_CONSTANT_COMPOSITE = 51,
    OP_FUNCTION = 54,
    OP_FUNCTION_END = 56,
    OP_VARIABLE = 59,
    OP_DECORATE = 71,
    OP_MEMBER_DECORATE = 72,
    OP_EXECUTION_MODE_ID = 331
};
enum { MODEL_COMPUTE = 5, MODE_LOCAL_SIZE = 17, MODE_LOCAL_SIZE_ID = 38 };
enum { CAPABILITY_MATRIX = 0, CAPABILITY_SHADER = 1, CAPABILITY_INT64 = 11 };
enum { CAPABILITY_SUBGROUP_FIRST = 61, CAPABILITY_SUBGROUP_LAST = 68 };
enum { CLASS_UNIFORM_CONSTANT = 0, CLASS_UNIFORM = 2, CLASS_PUSH = 9, CLASS_STORAGE = 12 };
enum {
    DECORATION_BUFFER_BLOCK = 3,
    DECORATION_ARRAY_STRIDE = 6,
    DECORATION_MATRIX_STRIDE = 7,
    DECORATION_BUILTIN = 11,
    DECORATION_BINDING = 33,
    DECORATION_SET = 34,
    DECORATION_OFFSET = 35
};
enum { BUILTIN_WORKGROUP_SIZE = 25 };

struct module {
    const uint32_t *code;
    size_t words;
    uint32_t *types; /* how many may still be looked at */
    struct gx_error *error;
};

/* One instruction: `words` of them, the first with the opcode. */
struct instruction {
    uint32_t opcode, words;
    const uint32_t *word;
};

/* ---- instructions ---- */

/* The instruction at *at, which moves to the next; false at the end. */
static bool next(const struct module *m, size_t *at, struct instruction *i)
{
    if (*at >= m->words)
        return false;
    i->word = m->code + *at;
    i->opcode = i->word[0] & 0xffff;
    i->words = i->word[0] >> 16;
    *at += i->words;
    return true;
}

/* Every instruction, and every function, ends within the module. */
static bool is_well_formed(const struct module *m)
{
    size_t at = HEADER_WORDS;
    bool inside = false;
    while (at < m->words) {
        size_t words = m->code[at] >> 16;
        if (!words || words > m->words - at)
            return gx__explain(m->error, "SPIR-V: the instruction at word %zu is cut off", at);
        uint32_t opcode = m->code[at] & 0xffff;
        inside = opcode == OP_FUNCTION || (inside && opcode != OP_FUNCTION_END);
        at += words;
    }
    return !inside || gx__explain(m->error, "SPIR-V: the last function is cut off");
}

/* The instruction of this kind whose word `place` is `id`, and that has at least `words`. */
static bool find(const struct module *m, uint32_t opcode, uint32_t place, uint32_t id,
                 uint32_t words, struct instruction *i)
{
    for (size_t at = HEADER_WORDS; next(m, &at, i);)
        if (i->opcode == opcode && i->words >= words && i->words > place && i->word[place] == id)
            return true;
    return false;
}

/* The value of a decoration of an id; false: it has none. */
static bool decoration(const struct module *m, uint32_t id, uint32_t which, uint32_t *value)
{
    struct instruction i;
    for (size_t at = HEADER_WORDS; next(m, &at, &i);)
        if (i.opcode == OP_DECORATE && i.words >= 3 && i.word[1] == id && i.word[2] == which) {
            *value = i.words > 3 ? i.word[3] : 0;
            return true;
        }
    return false;
}

static bool member_decoration(const struct module *m, uint32_t id, uint32_t member, uint32_t which,
                              uint32_t *value)
{
    struct instruction i;
    for (size_t at = HEADER_WORDS; next(m, &at, &i);)
        if (i.opcode == OP_MEMBER_DECORATE && i.words >= 5 && i.word[1] == id &&
            i.word[2] == member && i.word[3] == which) {
            *value = i.word[4];
            return true;
        }
    return false;
}

/* The value of a constant, or the default of a specialization constant. */
static bool constant(const struct module *m, uint32_t id, uint32_t *value)
{
    struct instruction i;
    if (!find(m, OP_CONSTANT, 2, id, 4, &i) && !find(m, OP_SPEC_CONSTANT, 2, id, 4, &i))
        return false;
    *value = i.word[3];
    return true;
}

/* ---- push constants ---- */

static uint64_t size_of(const struct module *m, uint32_t type);

/* At most UINT32_MAX, which is too many bytes anyway. */
static uint64_t product(uint64_t a, uint64_t b)
{
    return b && a > UINT32_MAX / b ? UINT32_MAX : a * b;
}

static uint64_t struct_size(const struct module *m, const struct instruction *i)
{
    uint64_t size = 0;
    for (uint32_t k = 2; k < i->words; k++) {
        struct instruction matrix;
        uint32_t offset, stride;
        uint64_t member = size_of(m, i->word[k]);
        if (!member || !member_decoration(m, i->word[1], k - 2, DECORATION_OFFSET, &offset))
            return 0;
        if (find(m, OP_TYPE_MATRIX, 1, i->word[k], 4, &matrix) &&
            member_decoration(m, i->word[1], k - 2, DECORATION_MATRIX_STRIDE, &stride))
            member = product(stride, matrix.word[3]);
        size = offset + member > size ? offset + member : size;
    }
    return size;
}

/* Bytes of a type; 0: not one that push constants can have. */
static uint64_t size_of(const struct module *m, uint32_t type)
{
    struct instruction i;
    uint32_t length, stride;
    if (!*m->types)
        return 0;
    --*m->types;
    if (find(m, OP_TYPE_INT, 1, type, 4, &i) || find(m, OP_TYPE_FLOAT, 1, type, 3, &i))
        return i.word[2] / 8;
    if (find(m, OP_TYPE_VECTOR, 1, type, 4, &i) || find(m, OP_TYPE_MATRIX, 1, type, 4, &i))
        return product(size_of(m, i.word[2]), i.word[3]);
    if (find(m, OP_TYPE_ARRAY, 1, type, 4, &i))
        return constant(m, i.word[3], &length) &&
                       decoration(m, type, DECORATION_ARRAY_STRIDE, &stride)
                   ? product(stride, length)
                   : 0;
    return find(m, OP_TYPE_STRUCT, 1, type, 2, &i) ? struct_size(m, &i) : 0;
}

/* ---- variables ---- */

static bool check_buffer(const struct module *m, const struct instruction *variable, uint32_t type,
                         uint32_t bindings)
{
    struct instruction i;
    uint32_t set, binding, unused, id = variable->word[2];
    if (!find(m, OP_TYPE_STRUCT, 1, type, 2, &i))
        return gx__explain(
            m->error, "SPIR-V: variable %u is an array of buffers; declare one per operand", id);
    if (variable->word[3] == CLASS_UNIFORM &&
        !decoration(m, type, DECORATION_BUFFER_BLOCK, &unused))
        return gx__explain(m->error,
                           "SPIR-V: variable %u is a uniform buffer; operands are storage buffers, "
                           "parameters push constants",
                           id);
    if (!decoration(m, id, DECORATION_SET, &set) ||
        !decoration(m, id, DECORATION_BINDING, &binding))
        return gx__explain(m->error, "SPIR-V: variable %u has no descriptor set or no binding", id);
    if (set || binding >= bindings)
        return gx__explain(
            m->error,
            "SPIR-V: variable %u is binding %u of set %u; this operation has bindings 0 "
            "to %u of set 0",
            id, binding, set, bindings - 1);
    return true;
}

static bool check_variable(const struct module *m, const struct instruction *variable,
                           uint32_t bindings, uint32_t push_bytes)
{
    struct instruction pointer;
    uint32_t class = variable->word[3];
    if (class == CLASS_UNIFORM_CONSTANT)
        return gx__explain(m->error,
                           "SPIR-V: variable %u is an image or a sampler; operands are buffers",
                           variable->word[2]);
    if (class != CLASS_UNIFORM && class != CLASS_STORAGE && class != CLASS_PUSH)
        return true;
    if (!find(m, OP_TYPE_POINTER, 1, variable->word[1], 4, &pointer))
        return gx__explain(m->error, "SPIR-V: variable %u is not a pointer", variable->word[2]);
    if (class != CLASS_PUSH)
        return check_buffer(m, variable, pointer.word[3], bindings);
    uint64_t size = size_of(m, pointer.word[3]);
    if (!size || size > push_bytes)
        return gx__explain(m->error,
                           "SPIR-V: the push constants have %llu bytes; this operation has %u "
                           "(params_bytes and 32)",
                           (unsigned long long)size, push_bytes);
    return true;
}

static bool check_variables(const struct module *m, uint32_t bindings, uint32_t push_bytes)
{
    struct instruction i;
    for (size_t at = HEADER_WORDS; next(m, &at, &i);)
        if (i.opcode == OP_VARIABLE &&
            (i.words < 4 || !check_variable(m, &i, bindings, push_bytes)))
            return i.words < 4 ? gx__explain(m->error, "SPIR-V: a variable is cut off") : false;
    return true;
}

/* ---- entry point ---- */

/* A string ends with a zero byte within the instruction. */
static bool is_named(const struct instruction *i, uint32_t from, const char *name)
{
    size_t room = (size_t)(i->words - from) * 4, length = strlen(name) + 1;
    return length <= room && !memcmp(i->word + from, name, length);
}

static bool find_entry(const struct module *m, const char *entry, uint32_t *id)
{
    struct instruction i;
    for (size_t at = HEADER_WORDS; next(m, &at, &i);)
        if (i.opcode == OP_ENTRY_POINT && i.words > 3 && i.word[1] == MODEL_COMPUTE &&
            is_named(&i, 3, entry)) {
            *id = i.word[2];
            return find(m, OP_FUNCTION, 2, *id, 5, &i) ||
                   gx__explain(m->error, "SPIR-V: the function of entry point '%s' is missing",
                               entry);
        }
    return gx__explain(m->error, "SPIR-V: there is no compute entry point '%s'", entry);
}

/* gl_WorkGroupSize takes precedence over the execution mode. */
static bool find_local(const struct module *m, uint32_t entry, uint32_t local[3])
{
    struct instruction i, size;
    bool found = false;
    for (size_t at = HEADER_WORDS; next(m, &at, &i);) {
        bool mode = i.words >= 6 && i.word[1] == entry;
        if (i.opcode == OP_EXECUTION_MODE && mode && i.word[2] == MODE_LOCAL_SIZE) {
            memcpy(local, i.word + 3, 3 * sizeof *local);
            found = true;
        }
        if (i.opcode == OP_EXECUTION_MODE_ID && mode && i.word[2] == MODE_LOCAL_SIZE_ID)
            found = constant(m, i.word[3], &local[0]) && constant(m, i.word[4], &local[1]) &&
                    constant(m, i.word[5], &local[2]);
    }
    for (size_t at = HEADER_WORDS; next(m, &at, &i);)
        if (i.opcode == OP_DECORATE && i.words > 3 && i.word[2] == DECORATION_BUILTIN &&
            i.word[3] == BUILTIN_WORKGROUP_SIZE &&
            (find(m, OP_CONSTANT_COMPOSITE, 2, i.word[1], 6, &size) ||
             find(m, OP_SPEC_CONSTANT_COMPOSITE, 2, i.word[1], 6, &size)))
            found = constant(m, size.word[3], &local[0]) && constant(m, size.word[4], &local[1]) &&
                    constant(m, size.word[5], &local[2]);
    if (!found || !local[0] || !local[1] || !local[2])
        return gx__explain(m->error, "SPIR-V: the entry point has no workgroup size (LocalSize)");
    return true;
}

static bool check_capabilities(const struct module *m, struct gx_spirv *spirv)
{
    struct instruction i;
    for (size_t at = HEADER_WORDS; next(m, &at, &i);) {
        if (i.opcode != OP_CAPABILITY || i.words < 2)
            continue;
        uint32_t capability = i.word[1];
        if (capability == CAPABILITY_INT64)
            spirv->int64 = true;
        else if (capability >= CAPABILITY_SUBGROUP_FIRST && capability <= CAPABILITY_SUBGROUP_LAST)
            spirv->subgroup |= 1u << (capability - CAPABILITY_SUBGROUP_FIRST);
        else if (capability != CAPABILITY_SHADER && capability != CAPABILITY_MATRIX)
            return gx__explain(
                m->error,
                "SPIR-V: capability %u is not enabled; kernels may use Shader, Int64 and "
                "GroupNonUniform...",
                capability);
    }
    return true;
}

bool gx__spirv_check(const uint32_t *code, size_t bytes, const char *entry, uint32_t bindings,
                     uint32_t push_bytes, struct gx_spirv *spirv, struct gx_error *error)
{
    uint32_t id = 0, types = TYPES_MAX;
    const struct module m = {code, bytes / 4, &types, error};
    memset(spirv, 0, sizeof *spirv);
    if (bytes % 4 || bytes / 4 <= HEADER_WORDS)
        return gx__explain(error, "SPIR-V: %zu bytes are not a module", bytes);
    if (code[0] != MAGIC)
        return gx__explain(error, "SPIR-V: the first word is 0x%08x, not 0x%08x", code[0], MAGIC);
    if (code[1] > VERSION_MAX)
        return gx__explain(error,
                           "SPIR-V: version %u.%u; up to 1.5 is supported: compile for Vulkan 1.2",
                           code[1] >> 16, code[1] >> 8 & 0xff);
    if (code[3] > IDS_MAX)
        return gx__explain(error, "SPIR-V: the bound of ids is %u, more than %u", code[3], IDS_MAX);
    return is_well_formed(&m) && find_entry(&m, entry, &id) && find_local(&m, id, spirv->local) &&
           check_capabilities(&m, spirv) && check_variables(&m, bindings, push_bytes);
}
