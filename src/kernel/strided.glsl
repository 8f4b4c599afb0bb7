/* SPDX-License-Identifier: Apache-2.0
 *
 * main() of the reductions that go element by element: invocation t takes the elements t, t + T,
 * t + 2T, ..., EACH of them at a time, so that as many loads are under way. Before the #include it
 * needs reduce.glsl, OPERANDS, and the type Total of an invocation's sum with nothing(),
 * accumulate() and element_of().
 */
void main()
{
    uint threads = GROUPS * WORKGROUP;
    Total sum = nothing();
    if (group_index() >= GROUPS)
        return;
    for (uint first = own_index(); first < push.n; first += EACH * threads) {
        Element x[EACH], y[EACH];
        [[unroll]] for (uint e = 0; e < EACH; e++) {
            uint i = first + e * threads;
            if (i < push.n) {
                x[e] = load_a(i);
                if (OPERANDS >= 2)
                    y[e] = load_b(i);
            }
        }
        [[unroll]] for (uint e = 0; e < EACH; e++) {
            uint i = first + e * threads;
            if (i < push.n) {
                check_element(x[e], i);
                if (OPERANDS >= 2)
                    check_element(y[e], i);
                accumulate(sum, x[e], y[e]);
            }
        }
    }
    put_partial(group_index(), join(element_of(sum)));
}
