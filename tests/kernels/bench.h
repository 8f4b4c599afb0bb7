/* SPDX-License-Identifier: Apache-2.0
 *
 * Benchmark of the kernels, in the same program as their tests.
 */
#ifndef GX_TESTS_KERNELS_BENCH_H
#define GX_TESTS_KERNELS_BENCH_H

/* Arguments after --bench: [--csv] [FILTER], FILTER being part of "field/kernel".
 * Returns an exit code. */
int bench(int argc, char **argv);

#endif
