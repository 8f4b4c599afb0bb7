/* SPDX-License-Identifier: Apache-2.0
 *
 * dot: the sum of a[i] * b[i]. Built with INT64 = 1 (mul64.glsl) or 0 (mul32.glsl).
 */
#version 450
#include "prime.glsl"
#if INT64
#include "mul64.glsl"
#else
#include "mul32.glsl"
#endif
#include "reduce.glsl"

#define OPERANDS 2

Element term(Element a, Element b)
{
    return canonical(multiply(factor(a), cofactor(b)));
}

#include "strided.glsl"
