/* SPDX-License-Identifier: Apache-2.0
 *
 * main() of the kernels that map element i of each operand to element i of OUT, EACH elements per
 * invocation, a workgroup apart. Requires compute() and OPERANDS, an expression of OP, before the
 * #include. Everything is loaded before anything is checked: a check between two loads would make
 * the second wait for the first.
 */
KERNEL
{
    u32 first = first_index() * EACH + LOCAL_INDEX;
    Element x[EACH], y[EACH], z[EACH];
    UNROLL for (u32 e = 0; e < EACH; e++) {
        u32 i = first + e * GROUP_SIZE;
        if (i < ELEMENTS) {
            x[e] = load_a(i);
            if (OPERANDS >= 2)
                y[e] = load_b(i);
            if (OPERANDS >= 3)
                z[e] = load_c(i);
        }
    }
    UNROLL for (u32 e = 0; e < EACH; e++) {
        u32 i = first + e * GROUP_SIZE;
        if (i < ELEMENTS) {
            check_element(x[e], i);
            if (OPERANDS >= 2)
                check_element(y[e], i);
            if (OPERANDS >= 3)
                check_element(z[e], i);
            if (OP != GX_OP_CHECK) {
                Element r = compute(x[e], y[e], z[e]);
                STORE(mem_out, AT_OUT, i, r);
            }
        }
    }
}
