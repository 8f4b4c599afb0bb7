/* SPDX-License-Identifier: Apache-2.0
 *
 * bench-suites: measurements of this project's own parts, beside what `gpuexec bench` measures for
 * everybody. To add a suite, add a file and a line here.
 */
#include "program.h"
#include "suite.h"

static const command *const suites[] = {&suite_persistence, &suite_engine, &suite_router,
                                        &suite_ntt,         &suite_msm,    &suite_seeds};

int main(int argc, char **argv)
{
    static const program bench = {
        .name = "bench-suites",
        .summary = "measurements of gpuexec's own parts",
        .first = "",
        .commands = suites,
        .count = sizeof suites / sizeof *suites,
    };
    return program_run(&bench, argc, argv);
}
