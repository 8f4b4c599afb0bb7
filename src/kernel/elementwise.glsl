/* SPDX-License-Identifier: Apache-2.0
 *
 * main() of the kernels that map element i of each operand to element i of OUT, EACH elements per
 * invocation, a workgroup apart. Requires compute() and OPERANDS, an expression of OP, before the
 * #include. Everything is loaded before anything is checked: a check between two loads would make
 * the second wait for the first.
 */
void main()
{
    uint first = first_index() * EACH + gl_LocalInvocationID.x;
    Element x[EACH], y[EACH], z[EACH];
    [[unroll]] for (uint e = 0; e < EACH; e++) {
        uint i = first + e * gl_WorkGroupSize.x;
        if (i < push.n) {
            x[e] = load_a(i);
            if (OPERANDS >= 2)
                y[e] = load_b(i);
            if (OPERANDS >= 3)
                z[e] = load_c(i);
        }
    }
    [[unroll]] for (uint e = 0; e < EACH; e++) {
        uint i = first + e * gl_WorkGroupSize.x;
        if (i < push.n) {
            check_element(x[e], i);
            if (OPERANDS >= 2)
                check_element(y[e], i);
            if (OPERANDS >= 3)
                check_element(z[e], i);
            if (OP != GX_OP_CHECK) {
                Element r = compute(x[e], y[e], z[e]);
                STORE(mem_out, push.at_out, i, r);
            }
        }
    }
}
