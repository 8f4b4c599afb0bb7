/* SPDX-License-Identifier: Apache-2.0
 *
 * sum, and the joining of partial results of any reduction. Bound by memory on any GPU. Built
 * with COLUMNS = 0, which adds elements, or 1 (columns.glsl), which adds words as they lie.
 */
#version 450
#include "prime.glsl"
#include "reduce.glsl"

#define OPERANDS 1

#if COLUMNS
#include "columns.glsl"
#else
#define Total Element

Total nothing() { return zero(); }
void accumulate(inout Total sum, Element a, Element b) { sum = add(sum, a); }
Element element_of(Total sum) { return sum; }

#include "strided.glsl"
#endif
