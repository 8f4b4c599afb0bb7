/* SPDX-License-Identifier: Apache-2.0
 *
 * The passes of the window sums of a multi-scalar multiplication (Pippenger's buckets). For each
 * group of windows:
 *   1. digits of all scalars (msm_sort.glsl), which are the keys of entries; those of a window are
 *      sorted by key in a few rounds of three passes each;
 *   2. sums of slices of consecutive entries (msm_add.glsl), where a run of one key is a bucket,
 *      and joins of those runs that slices cut (msm_sum.glsl): the work does not depend on how the
 *      digits are distributed;
 *   3. sums of rows and columns of buckets.
 * And then, for all windows at once, the sum of buckets times keys, from these.
 *
 * How many windows are a group follows from the memory that their entries and buckets take.
 */
#include "curve/digits.h"
#include "op/msm.h"
#include "device/gpu/passes.h"

/* What a group should have at most: entries of 16 bytes, and buckets. */
#define ENTRIES_MAX ((uint64_t)1 << 26)
#define BUCKETS_MAX ((uint64_t)1 << 21)
/* More groups would be more passes than there may be: then they are larger. */
#define GROUPS_MAX 7u
/* Entries of a slice. Of up to SLICE_SHORT there are as few slices as keep a large GPU busy; longer
 * ones only where there are several times as many, because the last ones leave it idle. */
#define SLICE_MIN   8u
#define SLICE_SHORT 48u
#define SLICE_MAX   192u
#define SLICES      ((uint64_t)1 << 15)
#define SLICES_LONG ((uint64_t)1 << 18)
/* Invocations of the sums of rows and columns. */
#define SUM_INVOCATIONS ((uint64_t)1 << 15)

#define ENTRY_BYTES 8u

/* Of a pass. */
#define DOUBLINGS_MAX 32u

struct msm {
    const struct gx_curve_row *curve;
    uint64_t points;
    uint64_t n; /* entries of a window: all multiples that are used */
    uint32_t bits, window, windows, workgroup;
    uint32_t parts;  /* multiples of a point that are used */
    uint32_t stride; /* from one of these to the next in B */
    uint32_t coord_quads, point_quads;
    uint32_t group; /* windows */
    uint32_t slice; /* entries */
    uint32_t rounds, key_bits;
    uint64_t entries; /* of a group, at most */
    struct {          /* in SCRATCH, in quads */
        uint32_t lines, planes, ends, records, counts, entries[2];
    } at;
};

static uint64_t divide_up(uint64_t x, uint64_t y)
{
    return (x + y - 1) / y;
}

static uint64_t least(uint64_t x, uint64_t y)
{
    return x < y ? x : y;
}

static uint64_t most(uint64_t x, uint64_t y)
{
    return x > y ? x : y;
}

static uint32_t log2_up(uint64_t x)
{
    uint32_t bits = 0;
    while ((uint64_t)1 << bits < x)
        bits++;
    return bits;
}

static uint32_t row_bits(const struct msm *m)
{
    return m->window / 2;
}

/* Rows and columns. */
static uint64_t lines(const struct msm *m)
{
    return ((uint64_t)1 << row_bits(m)) + ((uint64_t)1 << (m->window - 1 - row_bits(m)));
}

static uint64_t tile(const struct msm *m)
{
    return (uint64_t)GX_K_MSM_ROUNDS * m->workgroup;
}

/* Reserves scratch and returns where it begins. */
static uint32_t reserve(struct gx_passes *passes, uint64_t quads)
{
    uint64_t at = passes->scratch_quads;
    passes->scratch_quads += quads;
    return (uint32_t)at;
}

static uint32_t slice_of(uint64_t entries)
{
    uint64_t busy = most(SLICE_MIN, divide_up(entries, SLICES));
    return (uint32_t)least(least(busy, SLICE_SHORT + entries / SLICES_LONG), SLICE_MAX);
}

/* How many there are; never decreases. */
static uint64_t slices_most(uint64_t entries)
{
    uint64_t busy = least(divide_up(entries, SLICE_MIN), SLICES);
    uint64_t longer = divide_up(entries * SLICES_LONG, (SLICE_SHORT - 1) * SLICES_LONG + entries);
    return most(most(busy, longer), divide_up(entries, SLICE_MAX));
}

/* Whatever n is, more of it must not need less scratch, although there are fewer windows in a group
 * then: so what is reserved follows from bounds that only grow. */
static void lay_out(struct msm *m, struct gx_passes *passes)
{
    const uint32_t few = (uint32_t)divide_up(m->windows, GROUPS_MAX);
    const uint64_t buckets = (uint64_t)1 << (m->window - 1);
    const uint64_t by_buckets = most(least(m->group, BUCKETS_MAX / buckets), few);
    m->entries = least(most(m->group, few) * m->n, most(ENTRIES_MAX, few * m->n));
    uint64_t group = least(by_buckets, m->entries / m->n);
    m->group = (uint32_t)divide_up(m->windows, divide_up(m->windows, group));

    m->slice = slice_of(m->entries);
    uint64_t slices = slices_most(m->entries) + m->windows;
    m->rounds = (uint32_t)divide_up(m->window, GX_K_MSM_RADIX_BITS);
    m->key_bits = (uint32_t)divide_up(m->window, m->rounds);
    uint64_t counts = (m->entries / tile(m) + 2 * (uint64_t)m->windows) << m->key_bits;

    reserve(passes, by_buckets * buckets * m->point_quads); /* the kernels expect them at 0 */
    m->at.lines = reserve(passes, m->windows * lines(m) * m->point_quads);
    m->at.planes = reserve(passes, (uint64_t)m->windows * m->window * m->point_quads);
    m->at.ends = reserve(passes, 2 * slices * m->point_quads);
    m->at.records = reserve(passes, slices);
    m->at.counts = reserve(passes, divide_up(counts, 4));
    for (int i = 0; i < 2; i++)
        m->at.entries[i] = reserve(passes, divide_up(m->entries * ENTRY_BYTES, 16));
}

/* ---- passes ---- */

/* Elements of the field in so many quads, for the timing model. */
static uint64_t in_elements(const struct msm *m, uint64_t quads)
{
    return quads / (m->coord_quads / m->curve->degree);
}

static struct gx_pass_bind in_scratch(const struct msm *m, uint32_t at, uint64_t quads)
{
    return (struct gx_pass_bind){GX_BIND_SCRATCH, at, in_elements(m, quads)};
}

/* What a kernel does not use is bound to A. */
static struct gx_pass *add_pass(struct gx_passes *passes, enum gx_shader_family family, gx_op op,
                                uint64_t n, uint64_t invocations)
{
    struct gx_pass *pass = &passes->pass[passes->count++];
    *pass = (struct gx_pass){.family = family,
                             .op = op,
                             .invocations = invocations,
                             .out = {GX_BIND_SCRATCH, 0, 0},
                             .a = {GX_BIND_A, 0, 0},
                             .b = {GX_BIND_A, 0, 0},
                             .c = {GX_BIND_A, 0, 0},
                             .n = (uint32_t)n};
    return pass;
}

static uint64_t products(const struct msm *m, uint64_t additions, uint32_t each)
{
    return additions * each * gx__coord_products(m->curve);
}

static void plan_sort(const struct msm *m, uint32_t first, uint32_t windows,
                      struct gx_passes *passes)
{
    const uint64_t buckets = (uint64_t)windows << (m->window - 1), tiles = divide_up(m->n, tile(m));
    const uint64_t entry_quads = divide_up(windows * m->n * ENTRY_BYTES, 16);
    const uint64_t count_quads = divide_up((tiles + 1) * windows << m->key_bits, 4);
    const uint32_t about = m->window | windows << GX_K_MSM_WINDOWS | first << GX_K_MSM_FIRST |
                           m->stride << GX_K_MSM_STRIDE;
    struct gx_pass *pass =
        add_pass(passes, GX_SHADER_MSM_SORT, GX_OP_MSM_DIGITS, m->points, most(m->points, buckets));
    pass->a = (struct gx_pass_bind){GX_BIND_A, 0, in_elements(m, 2 * m->points)};
    pass->out = in_scratch(m, m->at.entries[1], entry_quads);
    pass->scratch = in_elements(m, buckets * m->coord_quads);
    pass->stage[0] = about;
    pass->stage[1] = m->bits | m->windows << GX_K_MSM_ROWS | m->parts << GX_K_MSM_PARTS;
    pass->stage[2] = m->coord_quads;

    for (uint32_t round = 0; round < m->rounds; round++) {
        const struct gx_pass_bind from = in_scratch(m, m->at.entries[(round + 1) % 2], entry_quads);
        const struct gx_pass_bind counts = in_scratch(m, m->at.counts, count_quads);
        const uint64_t workgroups[] = {tiles * windows, (uint64_t)windows << m->key_bits,
                                       tiles * windows};
        for (gx_op op = GX_OP_MSM_COUNT; op <= GX_OP_MSM_SCATTER; op++) {
            pass = add_pass(passes, GX_SHADER_MSM_SORT, op, m->n,
                            workgroups[op - GX_OP_MSM_COUNT] * m->workgroup);
            pass->a = from;
            pass->b = counts;
            pass->out = op == GX_OP_MSM_SCATTER
                            ? in_scratch(m, m->at.entries[round % 2], entry_quads)
                            : counts;
            pass->stage[0] = about;
            pass->stage[1] = m->key_bits;
            pass->stage[2] = round * m->key_bits;
        }
    }
}

/* Of the kernel that has the coordinates of the curve. */
static enum gx_shader_family family_of(const struct msm *m, enum gx_shader_family family)
{
    if (m->curve->degree == 1)
        return family;
    return family == GX_SHADER_MSM_ADD ? GX_SHADER_MSM_ADD_2 : GX_SHADER_MSM_SUM_2;
}

static void plan_buckets(const struct msm *m, uint32_t windows, struct gx_passes *passes)
{
    const uint64_t slices = divide_up(m->n, m->slice), joined = 2 * (uint64_t)m->workgroup;
    const uint32_t about = windows << GX_K_MSM_WINDOWS | m->window << GX_K_MSM_BITS;
    struct gx_pass *pass =
        add_pass(passes, family_of(m, GX_SHADER_MSM_ADD), GX_OP_MSM_ADD, m->n, slices * windows);
    pass->a = in_scratch(m, m->at.entries[(m->rounds + 1) % 2],
                         divide_up(windows * m->n * ENTRY_BYTES, 16));
    pass->b =
        (struct gx_pass_bind){GX_BIND_B, 0, in_elements(m, m->n * m->stride * m->point_quads / 2)};
    pass->scratch = in_elements(m, 2 * slices * windows * m->point_quads);
    pass->stage[0] = m->at.ends;
    pass->stage[1] = m->at.records;
    pass->stage[2] = m->slice | about;
    pass->products = products(m, m->n * windows, GX_MSM_ADD_PRODUCTS);

    uint32_t shift = 0;
    uint64_t nodes = slices;
    do {
        uint64_t groups = divide_up(nodes, joined);
        pass = add_pass(passes, family_of(m, GX_SHADER_MSM_SUM), GX_OP_MSM_JOIN, slices,
                        groups * windows * m->workgroup);
        pass->scratch = in_elements(m, nodes * windows * m->point_quads);
        pass->stage[0] = m->at.ends;
        pass->stage[1] = m->at.records;
        pass->stage[2] = shift | about | (groups == 1 ? GX_K_MSM_LAST : 0);
        pass->products = products(m, nodes * windows, 14);
        shift += log2_up(joined);
        nodes = groups;
    } while (nodes > 1);
}

/* Sums of so many invocations each. */
static void plan_sums(const struct msm *m, uint32_t kind, uint32_t windows, uint64_t sums,
                      uint32_t log2_lanes, struct gx_passes *passes, struct gx_pass_bind from,
                      struct gx_pass_bind to)
{
    struct gx_pass *pass = add_pass(passes, family_of(m, GX_SHADER_MSM_SUM), GX_OP_MSM_ADD_UP, m->n,
                                    sums * windows << log2_lanes);
    pass->a = from;
    pass->out = to;
    pass->stage[0] = m->window | windows << GX_K_MSM_WINDOWS | log2_lanes << GX_K_MSM_BITS | kind;
    pass->products = products(m, from.touched / 4, 14);
}

static void plan_lines(const struct msm *m, uint32_t first, uint32_t windows,
                       struct gx_passes *passes)
{
    const uint64_t all = lines(m) * windows;
    uint32_t lanes = log2_up(divide_up(SUM_INVOCATIONS, all));
    lanes = (uint32_t)least(lanes, least(log2_up(m->workgroup), row_bits(m)));
    plan_sums(m, GX_K_MSM_GRID, windows, lines(m), lanes, passes,
              in_scratch(m, 0, ((uint64_t)windows << (m->window - 1)) * m->point_quads),
              in_scratch(m, m->at.lines + (uint32_t)(first * lines(m) * m->point_quads),
                         all * m->point_quads));
}

static void plan_result(const struct msm *m, struct gx_passes *passes)
{
    const uint64_t all = (uint64_t)m->windows * m->window * m->point_quads;
    uint32_t lanes = (uint32_t)least(log2_up(m->workgroup), row_bits(m));
    plan_sums(m, GX_K_MSM_PLANE, m->windows, m->window, lanes, passes,
              in_scratch(m, m->at.lines, m->windows * lines(m) * m->point_quads),
              in_scratch(m, m->at.planes, all));
    plan_sums(m, GX_K_MSM_TOTAL, m->windows, 1, log2_up(m->window), passes,
              in_scratch(m, m->at.planes, all),
              (struct gx_pass_bind){GX_BIND_OUT, 0, in_elements(m, m->windows * m->point_quads)});
}

static struct msm multiplication(const struct gx_kernel_key *key, uint64_t n, uint32_t workgroup,
                                 struct gx_passes *passes)
{
    struct msm m = {.curve = gx__curve(key->param[GX_PARAM_CURVE]),
                    .points = n,
                    .bits = key->param[GX_PARAM_BITS],
                    .window = key->param[GX_PARAM_WINDOW],
                    .parts = 1,
                    .stride = 1,
                    .workgroup = workgroup};
    const uint32_t rows = key->param[GX_PARAM_MSM_ROWS], parts = key->param[GX_PARAM_MSM_PARTS];
    if (parts)
        *(rows ? &m.parts : &m.stride) = parts;
    m.n = n * m.parts;
    m.windows = rows ? rows : gx__digit_count(m.bits, m.window);
    m.group = key->param[GX_PARAM_MSM_GROUP];
    m.group = m.group && m.group < m.windows ? m.group : m.windows;
    m.coord_quads = m.curve->limbs / 2;
    m.point_quads = 4 * m.coord_quads;
    lay_out(&m, passes);
    return m;
}

/* Of each point, in some passes: software Vulkan ends a kernel after 65535 iterations of loops. */
static void plan_multiple(const struct msm *m, uint32_t which, uint32_t parts, uint32_t doublings,
                          struct gx_passes *passes)
{
    const uint64_t coords = m->points * m->point_quads / 4;
    const struct gx_pass_bind to = {GX_BIND_OUT, which * m->point_quads,
                                    in_elements(m, 4 * coords)};
    struct gx_pass_bind from = to;
    if (which)
        from.quads -= m->point_quads;
    else
        from = (struct gx_pass_bind){GX_BIND_A, 0, in_elements(m, 2 * coords)};
    for (uint32_t done = 0, some; done < doublings; done += some, from = to) {
        struct gx_pass *pass = add_pass(passes, family_of(m, GX_SHADER_MSM_SUM), GX_OP_MSM_ADD_UP,
                                        m->points, m->points);
        some = (uint32_t)least(doublings - done, DOUBLINGS_MAX);
        pass->a = from;
        pass->out = to;
        pass->stage[0] = 1 | GX_K_MSM_MULTIPLE | (from.from == GX_BIND_A ? GX_K_MSM_AFFINE : 0);
        pass->stage[1] = some;
        pass->stage[2] = parts;
        pass->products = products(m, m->points * some, 9);
    }
}

/* For those who keep them. */
static void plan_multiples(const struct gx_kernel_key *key, uint64_t n, struct gx_passes *passes)
{
    struct msm m = {.curve = gx__curve(key->param[GX_PARAM_CURVE]), .points = n};
    m.coord_quads = m.curve->limbs / 2;
    m.point_quads = 4 * m.coord_quads;
    for (uint32_t k = 0; k < key->param[GX_PARAM_MSM_PARTS]; k++)
        plan_multiple(&m, k, key->param[GX_PARAM_MSM_PARTS], key->param[GX_PARAM_MSM_DOUBLINGS],
                      passes);
}

void gx__plan_msm(const struct gx_kernel_key *key, uint64_t n, const struct gx_pass_facts *facts,
                  struct gx_passes *passes)
{
    if (key->param[GX_PARAM_MSM_DOUBLINGS]) {
        plan_multiples(key, n, passes);
        return;
    }
    const struct msm m = multiplication(key, n, facts->workgroup, passes);
    for (uint32_t first = 0; first < m.windows; first += m.group) {
        uint32_t windows = (uint32_t)least(m.group, m.windows - first);
        plan_sort(&m, first, windows, passes);
        plan_buckets(&m, windows, passes);
        plan_lines(&m, first, windows, passes);
    }
    plan_result(&m, passes);
}
