/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory as the kernels of multi-scalar multiplications see it: words, pairs of words and
 * points, at the places that a launch says. SCRATCH is read and written by a workgroup's
 * invocations in turns.
 */
BUFFER(writeonly, OutWords, GX_K_OUT, u32, word, out_words);
BUFFER(writeonly, OutPairs, GX_K_OUT, Pair, pair, out_pairs);
BUFFER(READ_WRITE, InOutWords, GX_K_OUT, u32, word, in_out_words);
BUFFER(readonly, AWords, GX_K_A, u32, word, a_words);
BUFFER(readonly, APairs, GX_K_A, Pair, pair, a_pairs);
BUFFER(readonly, BWords, GX_K_B, u32, word, b_words);
BUFFER(coherent, Scratch, GX_K_SCRATCH, Quad, quad, mem_scratch);

FUNCTION u32 load_word_a(u32 i) { return a_words.word[4u * AT_A + i]; }
FUNCTION u32 load_word_b(u32 i) { return b_words.word[4u * AT_B + i]; }
FUNCTION Pair load_pair_a(u32 i) { return a_pairs.pair[2u * AT_A + i]; }
FUNCTION u32 load_word_out(u32 i) { return in_out_words.word[4u * AT_OUT + i]; }
FUNCTION void store_word_out(u32 i, u32 x) { in_out_words.word[4u * AT_OUT + i] = x; }
FUNCTION void store_pair_out(u32 i, Pair x) { out_pairs.pair[2u * AT_OUT + i] = x; }
FUNCTION Quad load_quad_a(u32 i) { return mem_a.quad[AT_A + i]; }
FUNCTION Quad load_quad_b(u32 i) { return mem_b.quad[AT_B + i]; }
FUNCTION void store_quad_out(u32 i, Quad x) { mem_out.quad[AT_OUT + i] = x; }
FUNCTION Quad load_scratch(u32 i) { return mem_scratch.quad[i]; }
FUNCTION void store_scratch(u32 i, Quad x) { mem_scratch.quad[i] = x; }

/* All invocations of the workgroup see what each of them wrote to SCRATCH. */
#define SCRATCH_BARRIER() MEMORY_BARRIER()
