/* SPDX-License-Identifier: Apache-2.0
 *
 * add, sub, neg and the check alone (OP = GX_OP_CHECK with CHECK = 1; it writes nothing but BAD).
 * Memory-bound on any GPU. Built with SHUFFLED = 1 (shuffled.glsl) or 0.
 */
#include "prime.glsl"

#define OPERANDS (OP == GX_ADD || OP == GX_SUB ? 2 : 1)

FUNCTION Element compute(Element a, Element b, Element c)
{
    if (OP == GX_ADD)
        return add(a, b);
    if (OP == GX_SUB)
        return sub(a, b);
    return sub(zero(), a);
}

#if SHUFFLED
#include "shuffled.glsl"
#else
#include "elementwise.glsl"
#endif
