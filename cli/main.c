/* SPDX-License-Identifier: Apache-2.0
 *
 * The gpuexec program: finds the command, parses its options, prints help, and returns the
 * command's exit code.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "describe.h"
#include "host.h"

enum { COMMANDS = 16 };

static const command *const commands[COMMANDS] = {
    &cmd_demo,      &cmd_devices, &cmd_verify,    &cmd_run,   &cmd_ntt,  &cmd_msm,
    &cmd_points,    &cmd_bench,   &cmd_calibrate, &cmd_model, &cmd_scan, &cmd_compare,
    &cmd_platforms, &cmd_report,  &cmd_serve,     &cmd_top};

static common_opts common;

static const arg_spec format_specs[] = {ARG_ROWS_FORMATS(&common.format)};

static const arg_spec general_specs[] = {
    {.name = "verbose",
     .letter = 'v',
     .kind = ARG_FLAG,
     .value = &common.verbose,
     .set = 1,
     .help = "show informational messages of the library"},
};

static const arg_table formats = {format_specs, sizeof format_specs / sizeof *format_specs};
static const arg_table general = {general_specs, sizeof general_specs / sizeof *general_specs};

/* The argument in "gpuexec help options". */
#define HELP_OPTIONS "options"

/* ---- help ------------------------------------------------------------------------- */

static void print_usage(FILE *out)
{
    fputs("gpuexec: batch finite-field and vector arithmetic on CPUs and GPUs\n\n"
          "usage: gpuexec COMMAND [OPTIONS]\n\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\nTo get started, run 'gpuexec demo'. For details: 'gpuexec COMMAND --help'.\n", out);
}

static void print_conventions(FILE *out)
{
    fputs(
        "\nNumbers may end in K, M or G, for powers of 1024: 64K is 65536. If an option is\n"
        "repeated, the last value is used.\n"
        "Data goes to standard output, everything else to standard error.\n"
        "Exit codes: 0 success, 1 failure, 2 usage error, 3 no usable device, 4 results differ.\n",
        out);
}

static void print_common_options(FILE *out)
{
    fputs("All commands take these options, after the command name. Each setting can also be given "
          "in\n"
          "the environment variable shown:\n",
          out);
    args_print_settings(out);
    args_print_help(out, &general);
    fputs("\nVariables of the SuperVM prototype, for settings given in neither way:\n", out);
    args_print_old_variables(out);
}

static void print_all_usage(FILE *out)
{
    print_usage(out);
    fputc('\n', out);
    print_common_options(out);
    fputs("\nAlso: gpuexec help [COMMAND | " HELP_OPTIONS
          "]; gpuexec --version; for manual pages and\n"
          "completions, gpuexec --man [COMMAND] and gpuexec --describe [COMMAND]\n",
          out);
    print_conventions(out);
}

static void print_command_help(const command *cmd, bool whole)
{
    printf("usage: gpuexec %s %s\n\n", cmd->name, cmd->synopsis);
    if (whole)
        printf("%s\n\n", cmd->about);
    else
        printf("%s\n\n", cmd->summary);
    puts("options:");
    args_print_help(stdout, &cmd->args);
    if (cmd->formats)
        args_print_help(stdout, &formats);
    puts("\ncommon options (see 'gpuexec help " HELP_OPTIONS "'):");
    args_print_names(stdout, &general);
    if (!whole) {
        printf("\nFor details and examples: 'gpuexec %s --help'.\n", cmd->name);
        return;
    }
    printf("\nexamples:\n%s", cmd->examples);
    print_conventions(stdout);
}

/* ---- dispatch ------------------------------------------------------------------------ */

static const command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

static int unknown_command(const char *word)
{
    suggestion s = {.word = word};
    for (size_t i = 0; i < COMMANDS; i++)
        suggestion_try(&s, commands[i]->name);
    suggestion_try(&s, "--help");
    suggestion_try(&s, "--version");
    const char *kind = word[0] == '-' ? "option" : "command";
    if (s.best[0])
        cli_error("unknown %s '%s'; did you mean '%s'?", kind, word, s.best);
    else
        cli_error("unknown %s '%s'; 'gpuexec --help' lists the commands", kind, word);
    return EXIT_USAGE;
}

/* Whether any command has the option, "--name=value" or "-x". */
static bool is_option(const char *word)
{
    if (args_has(&general, true, word) || args_has(&formats, false, word))
        return true;
    for (size_t i = 0; i < COMMANDS; i++)
        if (args_has(&commands[i]->args, false, word))
            return true;
    return false;
}

/* "gpuexec --device cpu run": a known option in the wrong place. */
static int misplaced_option(int argc, char **argv)
{
    const char *name = "COMMAND";
    for (int i = argc - 1; i > 1; i--)
        if (find_command(argv[i]))
            name = argv[i];
    cli_error("options go after the command: gpuexec %s %.64s ...", name, argv[1]);
    return EXIT_USAGE;
}

static int run_command(const command *cmd, int argc, char **argv)
{
    char err[ARGS_ERROR_SIZE] = "";
    arg_table tables[] = {cmd->args, general, formats};
    switch (args_parse(tables, cmd->formats ? 3 : 2, &common.config, argc, argv, err)) {
    case ARGS_HELP:
        print_command_help(cmd, false);
        return EXIT_DONE;
    case ARGS_LONG_HELP:
        print_command_help(cmd, true);
        return EXIT_DONE;
    case ARGS_WRONG:
        return cli_usage(cmd, "%s", err);
    case ARGS_OK:
        break;
    }
    return cmd->run(&common);
}

/* "--man" or "--describe", alone or with a command. */
static int describe(int argc, char **argv)
{
    const described all = {commands, COMMANDS, &formats, &general};
    const command *cmd = argc > 2 ? find_command(argv[2]) : NULL;
    if (argc > 2 && !cmd)
        return unknown_command(argv[2]);
    if (!strcmp(argv[1], "--man"))
        describe_page(&all, cmd);
    else
        describe_rows(&all, cmd);
    return EXIT_DONE;
}

/* "help", alone or with a command: as --help; or "help options". */
static int help(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[2], "help"))
        argc = 2;
    const command *cmd = argc > 2 ? find_command(argv[2]) : NULL;
    if (argc > 2 && !strcmp(argv[2], HELP_OPTIONS)) {
        print_common_options(stdout);
        print_conventions(stdout);
        return EXIT_DONE;
    }
    if (argc > 2 && !cmd)
        return unknown_command(argv[2]);
    if (cmd)
        print_command_help(cmd, true);
    else
        print_all_usage(stdout);
    return EXIT_DONE;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "-h")) {
        print_usage(stdout);
        return EXIT_DONE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help"))
        return help(argc, argv);
    if (!strcmp(argv[1], "--version")) {
        printf("gpuexec %s\n", gx_version());
        return EXIT_DONE;
    }
    if (!strcmp(argv[1], "--man") || !strcmp(argv[1], "--describe"))
        return describe(argc, argv);
    if (argv[1][0] == '-' && is_option(argv[1]))
        return misplaced_option(argc, argv);
    const command *cmd = find_command(argv[1]);
    return cmd ? run_command(cmd, argc - 2, argv + 2) : unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
    argv = host_begin(&argc, argv); /* a closed pipe: exit code 1, no message */
    if (argc > 0)
        cli_program = argv[0];
    int rc = dispatch(argc, argv);
    if (!output_flush()) {
        if (output_error() != EPIPE)
            cli_error("cannot write standard output: %s", strerror(output_error()));
        rc = rc == EXIT_DONE ? EXIT_FAILED : rc;
    }
    return rc;
}
