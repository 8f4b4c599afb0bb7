/* SPDX-License-Identifier: Apache-2.0
 *
 * add, sub, neg and the check alone (OP = GX_OP_CHECK with CHECK = 1, STAGED = 0; it
 * writes nothing but BAD). Bound by memory on any GPU.
 */
#version 450
#include "prime.glsl"

#define OPERANDS (OP == GX_ADD || OP == GX_SUB ? 2 : 1)

Element compute(Element a, Element b, Element c)
{
    if (OP == GX_ADD)
        return add(a, b);
    if (OP == GX_SUB)
        return sub(a, b);
    return sub(zero(), a);
}

#include "elementwise.glsl"
