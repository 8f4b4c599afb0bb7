/* SPDX-License-Identifier: Apache-2.0
 *
 * A pass of a number-theoretic transform. Built with INT64 = 1 or 0.
 */
#version 450
#include "prelude.glsl"
#if INT64
#include "lazy64.glsl"
#else
#include "lazy32.glsl"
#endif

shared u32 exchanged[GX_K_NTT_PLANES * EACH * GROUP_SIZE];

#include "ntt.glsl"

void main() { transform(); }
