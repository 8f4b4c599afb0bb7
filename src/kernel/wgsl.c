/* SPDX-License-Identifier: Apache-2.0
 *
 * The templates of wgsl/ become WGSL. In them
 *
 *   $NAME ${EXPRESSION}      become decimal numbers
 *   @for NAME FROM TO        repeats the lines up to its @end for FROM .. TO - 1: loops that
 *                            must not be loops on the GPU, whose arrays would be in memory
 *   @if EXPRESSION @else     lines that are there or not, up to @end
 *
 * Expressions are of numbers, names, NAME[i], bits(NAME, from, count) and the operators of C
 * that climb() lists, with their precedence.
 */
#include "kernel/wgsl.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "op/op.h"
#include "kernel/radix.h"

#define LOOPS_MAX       4 /* nested @for */
#define NAME_MAX_       24
#define KARATSUBA_LIMBS 10 /* with fewer it does not pay */

const char *const gx__wgsl_mul_names[GX_WGSL_MULS] = {
#define X(symbol, name) name,
    GX_WGSL_MUL_LIST(X)
#undef X
};

struct param {
    const char *name;
    uint32_t value;
    const uint32_t *words; /* or an array of `value` words, lowest first */
};

struct loop {
    char name[NAME_MAX_];
    uint32_t value;
};

struct writer {
    char *text;
    size_t size, length;
    const struct param *params; /* ended by a name NULL */
    struct loop loops[LOOPS_MAX];
    uint32_t loop_count;
};

/* ---- expressions ---- */

struct parser {
    const char *at, *end;
    const struct writer *writer;
};

static uint32_t climb(struct parser *p, int least);

static void skip_blanks(struct parser *p)
{
    while (p->at < p->end && *p->at == ' ')
        p->at++;
}

static bool accept(struct parser *p, const char *token)
{
    skip_blanks(p);
    size_t length = strlen(token);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, token, length))
        return false;
    p->at += length;
    return true;
}

static size_t name_length(const char *at, const char *end)
{
    size_t n = 0;
    while (at + n < end && (isalnum((unsigned char)at[n]) || at[n] == '_'))
        n++;
    return n;
}

static bool same(const char *name, const char *at, size_t length)
{
    return strlen(name) == length && !memcmp(name, at, length);
}

static const struct param *find(const struct writer *w, const char *at, size_t length)
{
    const struct param *p = w->params;
    while (p->name && !same(p->name, at, length))
        p++;
    return p;
}

/* `count` bits of a number from bit `from` on. */
static uint32_t bits_of(const struct param *number, uint32_t from, uint32_t count)
{
    uint32_t word = from / 32;
    uint64_t pair = word < number->value ? number->words[word] : 0;
    pair |= word + 1 < number->value ? (uint64_t)number->words[word + 1] << 32 : 0;
    return (uint32_t)(pair >> from % 32 & (((uint64_t)1 << count) - 1));
}

static uint32_t parse_bits(struct parser *p)
{
    skip_blanks(p);
    size_t n = name_length(p->at, p->end);
    const struct param *number = find(p->writer, p->at, n);
    p->at += n;
    accept(p, ",");
    uint32_t from = climb(p, 0);
    accept(p, ",");
    uint32_t count = climb(p, 0);
    accept(p, ")");
    return bits_of(number, from, count);
}

static uint32_t parse_name(struct parser *p)
{
    const char *at = p->at;
    size_t n = name_length(at, p->end);
    p->at += n;
    if (same("bits", at, n) && accept(p, "("))
        return parse_bits(p);
    for (uint32_t i = p->writer->loop_count; i-- > 0;)
        if (same(p->writer->loops[i].name, at, n))
            return p->writer->loops[i].value;
    const struct param *param = find(p->writer, at, n);
    if (!accept(p, "["))
        return param->value;
    uint32_t index = climb(p, 0);
    accept(p, "]");
    return param->words && index < param->value ? param->words[index] : 0;
}

static uint32_t parse_primary(struct parser *p)
{
    uint32_t value = 0;
    skip_blanks(p);
    if (accept(p, "(")) {
        value = climb(p, 0);
        accept(p, ")");
    } else if (p->at < p->end && isdigit((unsigned char)*p->at)) {
        for (; p->at < p->end && isdigit((unsigned char)*p->at); p->at++)
            value = 10 * value + (uint32_t)(*p->at - '0');
    } else {
        value = parse_name(p);
    }
    return value;
}

enum operator{
    AND,
    BIT_AND,
    EQUAL,
    UNEQUAL,
    NOT_LESS,
    LESS,
    MORE,
    PLUS,
    MINUS,
    TIMES,
    OVER,
    REST,
    OPERATORS
};

static uint32_t apply(enum operator which, uint32_t x, uint32_t y)
{
    switch (which) {
    case AND:
        return x && y;
    case BIT_AND:
        return x & y;
    case EQUAL:
        return x == y;
    case UNEQUAL:
        return x != y;
    case NOT_LESS:
        return x >= y;
    case LESS:
        return x < y;
    case MORE:
        return x > y;
    case PLUS:
        return x + y;
    case MINUS:
        return x - y;
    case TIMES:
        return x * y;
    case OVER:
        return y ? x / y : 0;
    default:
        return y ? x % y : 0;
    }
}

static uint32_t climb(struct parser *p, int least)
{
    static const struct {
        const char *token;
        int precedence;
    } operators[OPERATORS] = {
        [AND] = {"&&", 0},      [BIT_AND] = {"&", 1}, [EQUAL] = {"==", 2}, [UNEQUAL] = {"!=", 2},
        [NOT_LESS] = {">=", 3}, [LESS] = {"<", 3},    [MORE] = {">", 3},   [PLUS] = {"+", 4},
        [MINUS] = {"-", 4},     [TIMES] = {"*", 5},   [OVER] = {"/", 5},   [REST] = {"%", 5},
    };
    uint32_t value = parse_primary(p);
    for (int i = 0; i < OPERATORS; i++)
        if (operators[i].precedence >= least && accept(p, operators[i].token)) {
            value = apply((enum operator)i, value, climb(p, operators[i].precedence + 1));
            i = -1; /* what follows may be any of them again */
        }
    return value;
}

static uint32_t evaluate(const struct writer *w, const char *at, const char *end)
{
    struct parser p = {at, end, w};
    return climb(&p, 0);
}

/* ---- text ---- */

static void put(struct writer *w, const char *at, size_t length)
{
    for (size_t i = 0; i < length; i++, w->length++)
        if (w->length + 1 < w->size)
            w->text[w->length] = at[i];
}

static void put_number(struct writer *w, uint32_t value)
{
    char digits[16];
    put(w, digits, (size_t)snprintf(digits, sizeof digits, "%u", value));
}

static void put_line(struct writer *w, const char *at, const char *end)
{
    while (at < end) {
        const char *dollar = memchr(at, '$', (size_t)(end - at));
        put(w, at, (size_t)((dollar ? dollar : end) - at));
        if (!dollar)
            return;
        at = dollar + 1;
        if (*at == '{') {
            const char *close = memchr(at, '}', (size_t)(end - at));
            put_number(w, evaluate(w, at + 1, close));
            at = close + 1;
        } else {
            size_t n = name_length(at, end);
            put_number(w, evaluate(w, at, at + n));
            at += n;
        }
    }
}

static const char *line_end(const char *at)
{
    const char *newline = strchr(at, '\n');
    return newline ? newline + 1 : at + strlen(at);
}

static bool begins(const char *line, const char *word)
{
    return !strncmp(line, word, strlen(word));
}

/* The line with the @end, or where `stop_at_else` the @else, of the block that `at` is in. */
static const char *block_end(const char *at, const char *end, bool stop_at_else)
{
    for (uint32_t depth = 0; at < end; at = line_end(at)) {
        if (!depth && (begins(at, "@end") || (stop_at_else && begins(at, "@else"))))
            return at;
        if (begins(at, "@for") || begins(at, "@if"))
            depth++;
        else if (begins(at, "@end"))
            depth--;
    }
    return end;
}

static void put_block(struct writer *w, const char *at, const char *end);

/* `at` is after "@for ": NAME FROM TO, without blanks in each. */
static void put_loop(struct writer *w, const char *at, const char *body, const char *end)
{
    struct loop *loop = &w->loops[w->loop_count];
    size_t n = name_length(at, body);
    n = n < NAME_MAX_ ? n : NAME_MAX_ - 1;
    memcpy(loop->name, at, n);
    loop->name[n] = 0;
    const char *from = at + n + 1, *to = from + strcspn(from, " ") + 1;
    uint32_t first = evaluate(w, from, to - 1), last = evaluate(w, to, body - 1);
    w->loop_count++;
    for (uint32_t i = first; i < last; i++) {
        loop->value = i;
        put_block(w, body, end);
    }
    w->loop_count--;
}

static void put_choice(struct writer *w, const char *at, const char *body, const char *end)
{
    const char *other = block_end(body, end, true);
    if (evaluate(w, at, body - 1))
        put_block(w, body, other);
    else if (other < end)
        put_block(w, line_end(other), end);
}

static void put_block(struct writer *w, const char *at, const char *end)
{
    while (at < end) {
        const char *next = line_end(at);
        bool is_for = begins(at, "@for "), is_if = begins(at, "@if ");
        if (!is_for && !is_if) {
            if (!begins(at, "//"))
                put_line(w, at, next);
            at = next;
            continue;
        }
        const char *close = block_end(next, end, false);
        if (is_for && w->loop_count < LOOPS_MAX)
            put_loop(w, at + strlen("@for "), next, close);
        else if (is_if)
            put_choice(w, at + strlen("@if "), next, close);
        at = line_end(close);
    }
}

static void put_file(struct writer *w, const char *name)
{
    const struct gx_wgsl_file *file = gx__wgsl_files;
    while (file->name && strcmp(file->name, name) != 0)
        file++;
    if (file->name)
        put_block(w, file->text, file->text + strlen(file->text));
}

/* ---- numbers of a field ---- */

struct numbers {
    uint32_t modulus[2 * GX_LIMBS_MAX], minus_2[2 * GX_LIMBS_MAX];
    uint32_t one[2 * GX_LIMBS_MAX], r2[2 * GX_LIMBS_MAX];
    uint32_t words, bits, limbs;
    uint32_t high;                /* number of limbs in the upper half of a product; 0: not split */
    const struct gx_radix *radix; /* NULL: not of these limbs */
};

static void split(const uint64_t *limb, uint32_t limbs, uint32_t *word)
{
    for (uint32_t i = 0; i < 2 * limbs; i++)
        word[i] = (uint32_t)(limb[i / 2] >> 32 * (i % 2));
}

static uint32_t limbs_of(uint32_t words, uint32_t bits)
{
    return (32 * words + bits - 1) / bits;
}

/* The longest limbs for which a column never overflows, see mul_delay.wgsl. */
static uint32_t delay_bits(uint32_t words)
{
    uint32_t bits = 16;
    uint64_t column;
    do {
        uint64_t most = ((uint64_t)1 << --bits) - 1;
        column = 2 * (uint64_t)limbs_of(words, bits) * most * most + ((uint64_t)1 << (32 - bits));
    } while (column >> 32);
    return bits;
}

/* Takes milliseconds for each field, so it is done once. */
static struct gx_radix radices[GX_FIELD_END];

static void compute_radices(void)
{
    for (gx_field f = 1; f < GX_FIELD_END; f++)
        if (gx__prime(f))
            gx__radix(gx__prime(f), &radices[f]); /* true: constants.c ensures that */
}

static void use_radix(const struct gx_prime *prime, struct numbers *n)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, compute_radices);
    n->radix = &radices[prime->field];
    n->bits = n->radix->bits;
    n->limbs = n->radix->limbs;
    n->high = n->limbs >= KARATSUBA_LIMBS ? n->limbs / 2 : 0;
}

static void compute_numbers(const struct gx_prime *prime, enum gx_wgsl_mul mul, struct numbers *n)
{
    n->words = 2 * prime->limbs;
    split(prime->p, prime->limbs, n->modulus);
    uint64_t minus_2[GX_LIMBS_MAX];
    memcpy(minus_2, prime->p, sizeof minus_2);
    minus_2[0] -= 2; /* no borrow: p is odd and its low limb is not 1 */
    split(minus_2, prime->limbs, n->minus_2);
    split(prime->one, prime->limbs, n->one);
    split(prime->r2, prime->limbs, n->r2);
    n->bits = mul == GX_WGSL_DELAY ? delay_bits(n->words) : 16;
    n->limbs = limbs_of(n->words, n->bits);
    if (mul == GX_WGSL_COLUMNS)
        use_radix(prime, n);
}

/* ---- kernels ---- */

static void put_multiply(struct writer *w, enum gx_wgsl_mul mul)
{
    static const char *const files[GX_WGSL_MULS] = {
        [GX_WGSL_DELAY] = "mul_delay",
        [GX_WGSL_CARRY] = "mul_carry",
        [GX_WGSL_WIDE] = "mul_wide",
        [GX_WGSL_COLUMNS] = "mul_columns",
    };
    if (mul != GX_WGSL_WIDE)
        put_file(w, "limbs");
    put_file(w, files[mul]);
}

/* Of transforms: with columns, sums are not reduced. */
static void put_lazy(struct writer *w, enum gx_wgsl_mul mul)
{
    if (mul == GX_WGSL_COLUMNS)
        put_file(w, "limbs");
    else
        put_multiply(w, mul);
    put_file(w, mul == GX_WGSL_COLUMNS ? "lazy_columns" : "lazy_plain");
}

static void put_prime(struct writer *w, const struct gx_wgsl_key *key)
{
    static const char *const mains[GX_SHADER_FAMILIES] = {
        [GX_SHADER_LINEAR] = "linear",
        [GX_SHADER_MUL] = "mul",
        [GX_SHADER_INVERT_UP] = "invert_up",
        [GX_SHADER_INVERT_TOP] = "invert_top",
        [GX_SHADER_INVERT_DOWN] = "invert_down",
        [GX_SHADER_SUM] = "reduce",
        [GX_SHADER_DOT] = "reduce",
        [GX_SHADER_NTT] = "ntt",
        [GX_SHADER_NTT_TABLE] = "ntt_table",
        [GX_SHADER_SCAN] = "scan",
        [GX_SHADER_PERMUTE] = "permute",
    };
    bool elementwise = gx__wgsl_elementwise(key->family);
    put_file(w, "prime");
    if (key->family == GX_SHADER_NTT)
        put_lazy(w, key->mul);
    else if (key->family != GX_SHADER_LINEAR && key->family != GX_SHADER_SUM &&
             key->family != GX_SHADER_PERMUTE)
        put_multiply(w, key->mul);
    if (key->family >= GX_SHADER_INVERT_UP && key->family <= GX_SHADER_INVERT_DOWN)
        put_file(w, "invert");
    put_file(w, mains[key->family]);
    if (elementwise)
        put_file(w, "elementwise");
}

static bool adds_points(enum gx_shader_family family)
{
    return family >= GX_SHADER_MSM_ADD && family <= GX_SHADER_MSM_SUM_2;
}

static void put_points(struct writer *w, const struct gx_wgsl_key *key)
{
    put_file(w, "prime");
    put_multiply(w, key->mul);
    put_file(w, "curve");
    put_file(w, "msm_points");
    put_file(w, key->op == GX_OP_MSM_ADD ? "msm_add" : "msm_sum");
}

static void put_kernel(struct writer *w, const struct gx_wgsl_key *key)
{
    put_file(w, "common");
    if (key->family == GX_SHADER_COPY) {
        put_file(w, "copy");
    } else if (key->family == GX_SHADER_MSM_SORT) {
        put_file(w, "msm_sort");
    } else if (adds_points(key->family)) {
        put_points(w, key);
    } else if (key->family == GX_SHADER_WORDS) {
        if (key->field == GX_F32)
            put_file(w, "soft_f32");
        put_file(w, "words");
    } else {
        put_prime(w, key);
    }
}

static uint32_t log2_of(uint32_t n)
{
    return 31 - (uint32_t)__builtin_clz(n);
}

size_t gx__wgsl_write(const struct gx_wgsl_key *key, char *text, size_t size)
{
    const struct gx_prime *prime = gx__prime(key->field);
    const gx_op_info *op = gx_op_get_info(key->op);
    struct numbers n = {0};
    bool coset = key->op == GX_OP_NTT_COSET || key->op == GX_OP_NTT_BACK_COSET;
    bool prime_family = key->family < GX_SHADER_WORDS;
    if (prime_family != (prime != NULL) || key->family == GX_SHADER_ROOF)
        return 0;
    if (prime)
        compute_numbers(prime, key->mul, &n);
    const struct param params[] = {
        {"OUT", GX_K_OUT, NULL},
        {"A", GX_K_A, NULL},
        {"B", GX_K_B, NULL},
        {"C", GX_K_C, NULL},
        {"SCRATCH", GX_K_SCRATCH, NULL},
        {"BAD", GX_K_BAD, NULL},
        {"WORKGROUP", key->workgroup, NULL},
        {"EACH", key->each, NULL},
        {"OP", (uint32_t)key->op, NULL},
        {"CHECK", key->check, NULL},
        {"REPEAT", key->repeat, NULL},
        {"OPERANDS", op ? op->operands : 1, NULL},
        {"SCAN_SQUARINGS", GX_K_SCAN_SQUARINGS, NULL},
        {"SCAN_DOWN", GX_K_SCAN_DOWN, NULL},
        {"SCAN_CARRY", GX_K_SCAN_CARRY, NULL},
        {"SCAN_CALLER", GX_K_SCAN_CALLER, NULL},
        {"SCAN_OPERAND", GX_K_SCAN_OPERAND, NULL},
        {"POINT", key->op == GX_POWERS || key->op == GX_EVALUATE || key->op == GX_DIVIDE_LINEAR,
         NULL},
        {"FLOATS", key->field == GX_F32, NULL},
#define X(symbol, value, ...) {#symbol, value, NULL},
        GX__OP_LIST(X)
#undef X
            {"GX_OP_CHECK", GX_OP_CHECK, NULL},
        {"BROADCAST_A", GX_BROADCAST_A, NULL},
        {"BROADCAST_B", GX_BROADCAST_B, NULL},
        {"BROADCAST_C", GX_BROADCAST_C, NULL},
        {"COSET", coset, NULL},
        {"BACK", key->op == GX_OP_NTT_BACK || key->op == GX_OP_NTT_BACK_COSET, NULL},
        {"FIRST_FACTOR", coset ? 0 : 2, NULL},
        {"LAST_FACTOR", key->mul == GX_WGSL_COLUMNS ? 2 : 3, NULL},
        {"NTT_LOW_BITS", GX_K_NTT_LOW_BITS, NULL},
        {"NTT_PLANES", GX_K_NTT_PLANES, NULL},
        {"NTT_FIRST", GX_K_NTT_FIRST, NULL},
        {"NTT_LEVELS", GX_K_NTT_LEVELS, NULL},
        {"NTT_PAD", GX_K_NTT_PAD, NULL},
        {"NTT_FLAGS", GX_K_NTT_FLAGS, NULL},
        {"NTT_INVERSE", GX_K_NTT_INVERSE, NULL},
        {"NTT_REVERSED_OUT", GX_K_NTT_REVERSED_OUT, NULL},
        {"NTT_COLUMNS", GX_K_NTT_COLUMNS, NULL},
        {"NTT_OPERAND", GX_K_NTT_OPERAND, NULL},
        {"NTT_RESULT", GX_K_NTT_RESULT, NULL},
        {"NTT_SPREAD", GX_K_NTT_SPREAD, NULL},
        {"GX_OP_MSM_DIGITS", GX_OP_MSM_DIGITS, NULL},
        {"GX_OP_MSM_COUNT", GX_OP_MSM_COUNT, NULL},
        {"GX_OP_MSM_SCAN", GX_OP_MSM_SCAN, NULL},
        {"GX_OP_MSM_ADD", GX_OP_MSM_ADD, NULL},
        {"GX_OP_MSM_JOIN", GX_OP_MSM_JOIN, NULL},
        {"GX_OP_MSM_ADD_UP", GX_OP_MSM_ADD_UP, NULL},
        {"MSM_BINS", 1u << GX_K_MSM_RADIX_BITS, NULL},
        {"MSM_ROUNDS", GX_K_MSM_ROUNDS, NULL},
        {"MSM_WINDOWS", GX_K_MSM_WINDOWS, NULL},
        {"MSM_FIRST", GX_K_MSM_FIRST, NULL},
        {"MSM_STRIDE", GX_K_MSM_STRIDE, NULL},
        {"MSM_ROWS", GX_K_MSM_ROWS, NULL},
        {"MSM_PARTS", GX_K_MSM_PARTS, NULL},
        {"MSM_BITS", GX_K_MSM_BITS, NULL},
        {"MSM_LAST", GX_K_MSM_LAST, NULL},
        {"MSM_GRID", GX_K_MSM_GRID, NULL},
        {"MSM_PLANE", GX_K_MSM_PLANE, NULL},
        {"MSM_TOTAL", GX_K_MSM_TOTAL, NULL},
        {"MSM_MULTIPLE", GX_K_MSM_MULTIPLE, NULL},
        {"MSM_AFFINE", GX_K_MSM_AFFINE, NULL},
        {"MSM_KIND", GX_K_MSM_KIND, NULL},
        {"SHORT", adds_points(key->family), NULL},
        {"DEGREE", key->family == GX_SHADER_MSM_ADD_2 || key->family == GX_SHADER_MSM_SUM_2 ? 2 : 1,
         NULL},
        {"TILE_BITS", log2_of(key->workgroup * key->each), NULL},
        {"RADIX_BITS", log2_of(key->each), NULL},
        {"LAZY_WORDS", key->mul == GX_WGSL_COLUMNS ? n.limbs : n.words, NULL},
        {"SPARSE", n.radix && gx__radix_sparse(n.radix), NULL},
        {"QUOTIENT", prime ? gx__radix_quotient(prime) : 0, NULL},
        {"WORDS", n.words, NULL},
        {"QUADS", n.words / 4, NULL},
        {"MODULUS", n.words, n.modulus},
        {"MODULUS_MINUS_2", n.words, n.minus_2},
        {"ONE", n.words, n.one},
        {"R2", n.words, n.r2},
        {"NINV", prime ? (uint32_t)prime->ninv64 : 0, NULL},
        {"LIMBS", n.limbs, NULL},
        {"LIMB_BITS", n.bits, NULL},
        {"LIMB_MASK", (1u << n.bits) - 1, NULL},
        {"SHIFT", n.bits * n.limbs - 32 * n.words, NULL},
        {"LOW", n.limbs - n.high, NULL},
        {"HIGH", n.high, NULL},
        {"FOLD", n.limbs, n.radix ? n.radix->fold : NULL},
        {NULL, 0, NULL},
    };
    struct writer w = {.text = text, .size = size, .params = params};
    put_kernel(&w, key);
    if (size)
        text[w.length < size ? w.length : size - 1] = 0;
    return w.length;
}
