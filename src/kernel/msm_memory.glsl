/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory as the kernels of multi-scalar multiplications see it, in GLSL: words, pairs of words and
 * points, at the places that a launch says. SCRATCH is read and written by a workgroup's
 * invocations in turns.
 */
layout(std430, binding = GX_K_OUT) writeonly buffer OutWords { uint word[]; } out_words;
layout(std430, binding = GX_K_OUT) writeonly buffer OutPairs { uvec2 pair[]; } out_pairs;
layout(std430, binding = GX_K_OUT) buffer InOutWords { uint word[]; } in_out_words;
layout(std430, binding = GX_K_A) readonly buffer AWords { uint word[]; } a_words;
layout(std430, binding = GX_K_A) readonly buffer APairs { uvec2 pair[]; } a_pairs;
layout(std430, binding = GX_K_B) readonly buffer BWords { uint word[]; } b_words;
layout(std430, binding = GX_K_SCRATCH) coherent buffer Scratch { uvec4 quad[]; } mem_scratch;

#define Pair uvec2
#define Quad uvec4

u32 load_word_a(u32 i) { return a_words.word[4u * push.at_a + i]; }
u32 load_word_b(u32 i) { return b_words.word[4u * push.at_b + i]; }
Pair load_pair_a(u32 i) { return a_pairs.pair[2u * push.at_a + i]; }
u32 load_word_out(u32 i) { return in_out_words.word[4u * push.at_out + i]; }
void store_word_out(u32 i, u32 x) { in_out_words.word[4u * push.at_out + i] = x; }
void store_pair_out(u32 i, Pair x) { out_pairs.pair[2u * push.at_out + i] = x; }
Quad load_quad_a(u32 i) { return mem_a.quad[push.at_a + i]; }
Quad load_quad_b(u32 i) { return mem_b.quad[push.at_b + i]; }
void store_quad_out(u32 i, Quad x) { mem_out.quad[push.at_out + i] = x; }
Quad load_scratch(u32 i) { return mem_scratch.quad[i]; }
void store_scratch(u32 i, Quad x) { mem_scratch.quad[i] = x; }

/* All invocations of the workgroup see what each of them wrote to SCRATCH. */
#define SCRATCH_BARRIER()                                                                          \
    memoryBarrierBuffer();                                                                         \
    barrier()
