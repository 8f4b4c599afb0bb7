/* SPDX-License-Identifier: Apache-2.0
 *
 * The passes of a number-theoretic transform of 2^m elements, natural order in and bit-reversed
 * order out. Level l = 0 .. m - 1 of the tree has 2^l blocks, each a polynomial of 2^(m - l)
 * coefficients, which it divides by X^half - w^2 ... = (X^half - w)(X^half + w), w = W[block]: the
 * butterfly of coefficients x (lower half) and y (upper half) is (x + w y, x - w y). W[0] = 1, and
 * W[b] is the product, over the set bits j of b, of the root of unity of order 2^(j + 2): it
 * depends on neither m nor l. Other orders are other addresses in the first load and the last
 * store; the inverse transform is the forward one with results i and -i exchanged, divided by 2^m.
 *
 * A pass takes as many levels as a workgroup's tile allows, kernel/ntt.glsl says how. The first one
 * reads A, the last one writes OUT, and between them is SCRATCH, so that only a tile that holds
 * whole transforms may be written where it was read.
 */
#include "device/gpu/ntt_table.h"
#include "device/gpu/passes.h"

/* Transforms of at most so many levels, fewer than so many elements in all, are small. Through CUDA
 * on an H200, 2^16 elements leave most of the GPU idle with 4 elements per invocation: with 2 they
 * take 0.87 times as long. */
#define SMALL_LEVELS   16u
#define SMALL_ELEMENTS ((uint64_t)1 << 18)
/* Elements per invocation of a device that has no kernels to say so. */
#define SIMULATED_EACH 4u

struct split {
    uint32_t passes;
    uint32_t levels[GX_PASSES_MAX];
};

static uint32_t log2_of(uint64_t n)
{
    return 63 - (uint32_t)__builtin_clzll(n);
}

/* Splits m levels. Where a tile is not whole transforms, it has at least two neighbouring elements
 * of each kind, and later passes have multiples of `radix` levels, so that none of their exchanges
 * is for fewer. The first pass has the rest, not fewer, but less than the most there may be if
 * possible. */
static struct split split_levels(uint32_t m, uint32_t tile, uint32_t radix)
{
    if (m <= tile && m <= GX_NTT_LEVELS_MAX)
        return (struct split){1, {m}};
    uint32_t steps = (tile - 1) / radix, fit = GX_NTT_LEVELS_MAX / radix;
    steps = steps > fit ? fit : steps ? steps : 1; /* in one pass */
    uint32_t most = steps * radix, later = (m + most - 1) / most - 1;
    uint32_t left = (m - (most - 1) + radix - 1) / radix; /* steps in all later passes */
    left = left < steps * later ? left : steps * later;
    if (m - left * radix < radix) /* an invocation's elements would be of several blocks */
        left--;
    later = later < left ? later : left;
    struct split split = {.passes = later + 1, .levels = {m - left * radix}};
    for (uint32_t i = 1; i <= later; i++) { /* the last ones have more */
        uint32_t part = left / (later + 1 - i);
        split.levels[i] = part * radix;
        left -= part;
    }
    return split;
}

/* The same for small transforms: as few passes as possible, of about as many levels. A tile may
 * have single elements of each kind: they are as large as what caches load. */
static struct split split_evenly(uint32_t m, uint32_t tile)
{
    struct split split = {.passes = m > tile ? (m + tile - 1) / tile : 1};
    for (uint32_t i = 0; i < split.passes; i++)
        split.levels[i] = (m + split.passes - 1 - i) / split.passes;
    return split;
}

struct transform {
    const struct gx_kernel_key *key;
    enum gx_shader_family family;
    uint64_t n;
    uint32_t log2_n, log2_pad, flags;
    bool back;                /* from the leaves of the tree to its root */
    uint32_t workgroup, tile; /* invocations; log2 of its elements */
};

/* A pass of so many levels, the first of them `first`. */
static struct gx_pass pass_of(const struct transform *t, uint32_t first, uint32_t levels)
{
    const uint32_t lines = t->tile - levels, log2_table = t->key->param[GX_PARAM_LOG2_TABLE];
    const bool root = first == 0, leaves = first + levels == t->log2_n;
    const bool operand = t->back ? leaves : root, result = t->back ? root : leaves;
    const bool inverse = t->flags & GX_NTT_INVERSE;
    const bool coset = t->flags & GX_NTT_COSET && (inverse ? result : operand);
    const bool spread = result && !t->back && first >= lines &&
                        !(t->flags & (GX_NTT_REVERSED_OUT | GX_NTT_COLUMNS));
    uint32_t flags = t->flags | (operand ? GX_K_NTT_OPERAND : 0) | (result ? GX_K_NTT_RESULT : 0) |
                     (spread ? GX_K_NTT_SPREAD : 0);
    uint64_t tiles = ((t->n >> levels) + ((uint64_t)1 << lines) - 1) >> lines;
    const struct gx_pass_bind scratch = {GX_BIND_SCRATCH, 0, t->n};
    return (struct gx_pass){
        .family = t->family,
        .op = coset ? (t->back ? GX_OP_NTT_BACK_COSET : GX_OP_NTT_COSET)
                    : (t->back ? GX_OP_NTT_BACK : GX_NTT),
        .check = true, /* of operands, so that all passes share a pipeline */
        .invocations = tiles * t->workgroup,
        .out = result ? (struct gx_pass_bind){GX_BIND_OUT, 0, t->n} : scratch,
        .a = operand ? (struct gx_pass_bind){GX_BIND_A, 0, t->n >> t->log2_pad} : scratch,
        .b = {GX_BIND_TABLE, 0, gx__ntt_twiddles(first + levels)},
        .c = {GX_BIND_TABLE, 0, 0},
        .n = (uint32_t)t->n,
        .stage = {t->log2_n | first << GX_K_NTT_FIRST | levels << GX_K_NTT_LEVELS |
                      t->log2_pad << GX_K_NTT_PAD | flags << GX_K_NTT_FLAGS,
                  (uint32_t)(inverse ? gx__ntt_inverse_shift_at(log2_table)
                                     : gx__ntt_shift_at(log2_table)),
                  (uint32_t)gx__ntt_halves_at(log2_table) + t->log2_n},
        .products = t->n / 2 * levels + (coset ? 2 * t->n : 0)};
}

static uint32_t tile_of(const struct gx_pass_facts *facts, uint32_t each)
{
    return log2_of(facts->workgroup) + log2_of(each);
}

/* If only the other kernel can do it in one pass it does, because larger batches have no SCRATCH
 * then: more elements never need less. */
static bool is_small(const struct gx_pass_facts *facts, uint32_t log2_n, uint64_t n)
{
    return facts->small && log2_n <= SMALL_LEVELS && n < SMALL_ELEMENTS &&
           (log2_n <= tile_of(facts, facts->small) || log2_n > tile_of(facts, facts->each));
}

void gx__plan_ntt(const struct gx_kernel_key *key, uint64_t n, const struct gx_pass_facts *facts,
                  struct gx_passes *passes)
{
    const bool small = is_small(facts, key->param[GX_PARAM_LOG2_N], n);
    const uint32_t each = small ? facts->small : facts->each > 1 ? facts->each : SIMULATED_EACH;
    const struct transform t = {.key = key,
                                .family = small ? GX_SHADER_NTT_SMALL : GX_SHADER_NTT,
                                .n = n,
                                .log2_n = key->param[GX_PARAM_LOG2_N],
                                .log2_pad = key->param[GX_PARAM_LOG2_PAD],
                                .flags = key->param[GX_PARAM_NTT_FLAGS],
                                .back = key->param[GX_PARAM_NTT_FLAGS] & GX_NTT_REVERSED_IN,
                                .workgroup = facts->workgroup,
                                .tile = tile_of(facts, each)};
    const struct split split =
        small ? split_evenly(t.log2_n, t.tile) : split_levels(t.log2_n, t.tile, log2_of(each));
    uint32_t first = 0;
    for (uint32_t i = 0; i < split.passes; i++) {
        passes->pass[t.back ? split.passes - 1 - i : i] = pass_of(&t, first, split.levels[i]);
        first += split.levels[i];
    }
    passes->count = split.passes;
    passes->scratch_quads = split.passes > 1 ? n * gx__element_bytes(key->field) / 16 : 0;
}
