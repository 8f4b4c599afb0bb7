/* SPDX-License-Identifier: Apache-2.0
 *
 * Detects the host tiers of this CPU, assembles the kernel table from them, maps public operations
 * to kernels, and has the exact canonicity test that all tiers share. The only host file that
 * queries the CPU; kernels rely on their tier.
 */
#include "field/host.h"

#include <string.h>

#include "base/names.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define ONE_MORE(name) +1
_Static_assert(GX__TIER_LIST(ONE_MORE) == GX_TIERS, "one name each");

/* ---- detection ------------------------------------------------------------ */

#if defined(__x86_64__)

#define LEAF1_ECX_OSXSAVE (1u << 27)
#define LEAF7_EBX_ADX     (1u << 8 | 1u << 19) /* BMI2, ADX */
#define LEAF7_EBX_AVX512                                                                           \
    (1u << 16 | 1u << 17 | 1u << 21 | 1u << 30 | 1u << 31) /* F DQ IFMA BW VL */
#define LEAF7_ECX_AVX512 (1u << 6)                         /* VBMI2 */
#define XCR0_ZMM         0xe6u /* xmm, ymm, opmask, zmm0-15 high, zmm16-31 */

/* Whether the OS saves and restores the zmm registers; otherwise the CPU's own bits mean nothing.
 * xgetbv exists only if OSXSAVE is set. */
static bool os_saves_zmm(void)
{
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & LEAF1_ECX_OSXSAVE))
        return false;
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & XCR0_ZMM) == XCR0_ZMM;
}

unsigned gx__host_tiers(void)
{
    unsigned tiers = 1u << GX_TIER_PORTABLE;
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
        return tiers;
    if ((ebx & LEAF7_EBX_ADX) == LEAF7_EBX_ADX)
        tiers |= 1u << GX_TIER_ADX;
    if ((ebx & LEAF7_EBX_AVX512) == LEAF7_EBX_AVX512 &&
        (ecx & LEAF7_ECX_AVX512) == LEAF7_ECX_AVX512 && os_saves_zmm())
        tiers |= 1u << GX_TIER_AVX512;
    return tiers;
}

#else

unsigned gx__host_tiers(void)
{
    return 1u << GX_TIER_PORTABLE;
}

#endif

/* ---- table ---------------------------------------------------------------- */

void gx__host_table(struct gx_host_table *table, unsigned mask)
{
    unsigned tiers = gx__host_tiers() & mask;
    memset(table, 0, sizeof *table);
    gx__host_fill_portable(table);
#if defined(__x86_64__) /* on other architectures these files are not linked */
    if (tiers & 1u << GX_TIER_ADX)
        gx__host_fill_adx(table);
    if (tiers & 1u << GX_TIER_AVX512)
        gx__host_fill_avx512(table);
#else
    (void)tiers;
#endif
}

/* ---- public operations ---------------------------------------------------- */

void gx__host_lower(gx_op op, const struct gx_prime *prime, struct gx_host_args *args)
{
    static const uint64_t zero[GX_LIMBS_MAX], plain_one[GX_LIMBS_MAX] = {1};
    switch (op) {
    case GX_NEG:
        args->b = args->a;
        args->a = zero;
        args->broadcast = GX_BROADCAST_A | (args->broadcast & GX_BROADCAST_A ? GX_BROADCAST_B : 0);
        break;
    case GX_TO_MONT:
        args->b = prime->r2;
        args->broadcast |= GX_BROADCAST_B;
        break;
    case GX_FROM_MONT:
        args->b = plain_one;
        args->broadcast |= GX_BROADCAST_B;
        break;
    default:
        break;
    }
}

/* ---- canonicity ----------------------------------------------------------- */

/* Compares from the top limb down: the first difference decides. */
static bool below_p(const struct gx_prime *prime, const unsigned char *element)
{
    for (uint32_t i = prime->limbs; i-- > 0;) {
        uint64_t limb;
        memcpy(&limb, element + i * sizeof limb, sizeof limb);
        if (limb != prime->p[i])
            return limb < prime->p[i];
    }
    return false;
}

size_t gx__first_bad(const struct gx_prime *prime, const void *elements, size_t n, bool broadcast)
{
    const unsigned char *e = elements;
    size_t bytes = prime->limbs * sizeof(uint64_t);
    size_t count = broadcast && n ? 1 : n;
    for (size_t i = 0; i < count; i++)
        if (!below_p(prime, e + i * bytes))
            return i;
    return GX_NONE_BAD;
}

size_t gx__first_bad_args(const struct gx_prime *prime, const struct gx_host_args *args,
                          unsigned operands, size_t from, size_t to)
{
    const void *base[3] = {args->a, args->b, args->c};
    size_t bytes = prime->limbs * sizeof(uint64_t);
    size_t end = to;
    /* `end` moves down to the smallest index found so far, so later operands do not look past
     * it. */
    for (unsigned k = 0; k < 3 && from < end; k++) {
        if (!(operands & 1u << k))
            continue;
        bool broadcast = args->broadcast & 1u << k;
        const unsigned char *e = (const unsigned char *)base[k] + (broadcast ? 0 : from * bytes);
        size_t bad = gx__first_bad(prime, e, end - from, broadcast);
        if (bad != GX_NONE_BAD)
            end = from + bad;
    }
    return end < to ? end : GX_NONE_BAD;
}
