/* SPDX-License-Identifier: Apache-2.0
 *
 * Host kernels: vector arithmetic over arrays in the standard layout, in tiers. The table is filled
 * with the portable tier and then overwritten tier by tier with what the CPU supports and the mask
 * allows. Kernels are pure functions of their arguments: no allocation, no threads, no policy.
 */
#ifndef GX_FIELD_HOST_H
#define GX_FIELD_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "field/field.h"

/* Kernels that implement the public operations; gx__host_lower maps the others to these (neg is 0 -
 * a, to-mont is a * R^2, from-mont is a * 1, each with a broadcast operand). */
enum gx_host_kernel {
    GX_HOST_ADD,
    GX_HOST_SUB,
    GX_HOST_MUL,
    GX_HOST_SQR,
    GX_HOST_INV,
    GX_HOST_DIV, /* a / b */
    GX_HOST_MUL_ADD,
    GX_HOST_CHECK, /* reads a, writes nothing: only looks for elements not below p */
    GX_HOST_SUM,   /* out is one element, disjoint from a: the sum of the elements of a, of which
                      there are at most 2^32 */
    GX_HOST_KERNELS
};

/* Elements per inner batch of GX_HOST_INV and GX_HOST_DIV, with one field inversion each. Large
 * enough to make that cheap, small enough for the scratch to stay in L2. */
#define GX_INV_BATCH               4096u
#define GX_INV_SCRATCH_PER_ELEMENT 64u /* bytes; 8 limbs of 52 bits, stored as 64 */

struct gx_host_args {
    void *out; /* exactly an operand, or disjoint from it; any alignment */
    const void *a, *b, *c;
    size_t n;
    unsigned broadcast; /* GX_BROADCAST_*: that operand is one element */
    bool check;         /* look for elements not below p in the operands */
    bool stream;   /* the data is much larger than the caches: prefetch, and use non-temporal stores
                      if the tier can */
    void *scratch; /* GX_HOST_INV, GX_HOST_DIV: 64-byte aligned, min(n,
                    * GX_INV_BATCH) rounded up to 16, times
                    * GX_INV_SCRATCH_PER_ELEMENT bytes; else NULL */
};

#define GX_NONE_BAD SIZE_MAX

/* Returns the smallest i for which element i of an operand (element 0 if broadcast) is not below p,
 * or GX_NONE_BAD. If one is found, out is unspecified and the kernel may stop early. Without
 * args->check it returns GX_NONE_BAD, and inputs not below p give unspecified results but do no
 * other harm. GX_HOST_CHECK is called with args->check set. */
typedef size_t (*gx_host_fn)(const struct gx_prime *prime, const struct gx_host_args *args);

struct gx_host_table {
    gx_host_fn fn[GX_FIELD_END]
                 [GX_HOST_KERNELS]; /* NULL: the operation does not exist for that field */
    /* tier of each entry, for reports and tests: an index into gx__tier_names */
    uint8_t tier[GX_FIELD_END][GX_HOST_KERNELS];
};

/* Converts the arguments of a public operation to those of its kernel: an operation without a
 * kernel of its own gets a constant operand. */
void gx__host_lower(gx_op op, const struct gx_prime *prime, struct gx_host_args *args);

/* In the order of gx_tier_name. */
enum gx_tier { GX_TIER_PORTABLE, GX_TIER_ADX, GX_TIER_AVX512, GX_TIERS };

/* Bit t: tier t can run on this CPU. Portable always can. */
unsigned gx__host_tiers(void);

/* Fills the table from the tiers in mask that this CPU supports; portable is always included. */
void gx__host_table(struct gx_host_table *table, unsigned mask);

/* The reference, never optimised: plain algorithms, no derived constants, one file. */
void gx__host_reference(struct gx_host_table *table);

/* One file each. They overwrite the entries that they improve on. */
void gx__host_fill_portable(struct gx_host_table *table);
void gx__host_fill_adx(struct gx_host_table *table);
void gx__host_fill_avx512(struct gx_host_table *table);

/* Index of the first element not below p, or GX_NONE_BAD: the exact test that kernels fall back to
 * when their quick one fires. One element if broadcast. */
size_t gx__first_bad(const struct gx_prime *prime, const void *elements, size_t n, bool broadcast);

/* The same over the operands of args, from element `from` up to `to`. */
size_t gx__first_bad_args(const struct gx_prime *prime, const struct gx_host_args *args,
                          unsigned operands, size_t from, size_t to);

/* out = 1/in for one element in Montgomery form, below p and not 0; out may be in. */
void gx__invert_one(const struct gx_prime *prime, uint64_t *out, const uint64_t *in);

/* The operands of n elements starting at element `from`. */
static inline struct gx_host_args gx__host_args_from(const struct gx_host_args *args,
                                                     size_t element_bytes, size_t from, size_t n)
{
    struct gx_host_args part = *args;
    size_t skip = from * element_bytes;
    part.n = n;
    if (!(part.broadcast & GX_BROADCAST_A))
        part.a = (const char *)part.a + skip;
    if (part.b && !(part.broadcast & GX_BROADCAST_B))
        part.b = (const char *)part.b + skip;
    if (part.c && !(part.broadcast & GX_BROADCAST_C))
        part.c = (const char *)part.c + skip;
    return part;
}

#endif
