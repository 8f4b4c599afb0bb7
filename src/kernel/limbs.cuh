/* SPDX-License-Identifier: Apache-2.0
 *
 * Limbs of LIMB_BITS bits, as in mul64.glsl, for the one kernel in CUDA that has a use for them
 * (invert_top.comp).
 */
typedef long long int64_t;

struct Signed {
    int limb[LIMBS];
};

FUNCTION Signed signed_of(Element x)
{
    Signed r;
    UNROLL for (int k = 0; k < LIMBS; k++) {
        const int word = LIMB_BITS * k / 32, offset = LIMB_BITS * k % 32;
        u64 pair = x.word[word];
        if (word + 1 < WORDS)
            pair |= (u64)x.word[word + 1] << 32;
        r.limb[k] = (int)((u32)(pair >> offset) & LIMB_MASK);
    }
    return r;
}

/* Of limbs that are 0 .. LIMB_MASK. */
FUNCTION Element limbs_of(Signed x)
{
    Element r = zero();
    UNROLL for (int k = 0; k < LIMBS; k++) {
        const int word = LIMB_BITS * k / 32, offset = LIMB_BITS * k % 32;
        u64 pair = (u64)(u32)x.limb[k] << offset;
        r.word[word] |= (u32)pair;
        if (word + 1 < WORDS)
            r.word[word + 1] |= (u32)(pair >> 32);
    }
    return r;
}
