/* SPDX-License-Identifier: Apache-2.0
 *
 * The gpuexec program: its commands.
 */
#include "program.h"

static const command *const commands[] = {
    &cmd_demo,    &cmd_devices,   &cmd_verify, &cmd_run,       &cmd_ntt,   &cmd_msm,
    &cmd_points,  &cmd_random,    &cmd_bench,  &cmd_calibrate, &cmd_model, &cmd_scan,
    &cmd_compare, &cmd_platforms, &cmd_report, &cmd_serve,     &cmd_top};

int main(int argc, char **argv)
{
    static const program gpuexec = {
        .name = "gpuexec",
        .summary = "batch finite-field and vector arithmetic on CPUs and GPUs",
        .first = "To get started, run 'gpuexec demo'. ",
        .commands = commands,
        .count = sizeof commands / sizeof *commands,
    };
    return program_run(&gpuexec, argc, argv);
}
