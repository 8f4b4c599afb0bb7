/* SPDX-License-Identifier: Apache-2.0
 *
 * See program.h.
 */
#include "program.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "host.h"
#include "progress.h"

const char *cli_program = "gpuexec";

static const program *running; /* for messages */
static const command *at_work;

static common_opts common;

void program_options(const command *cmd, option_list *list)
{
    static const option_row formats[] = {OPTIONS_FORMATS(&common.format)};
    options_add(list, &cmd->options);
    if (cmd->formats)
        options_add(list, &(option_table)OPTION_TABLE(formats));
}

void program_common_options(option_list *list)
{
    static const option_row verbose[] = {OPTION_ROW(FLAG, "verbose", NULL, &common.verbose,
                                                    "show informational messages of the library",
                                                    .set = 1, .letter = 'v')};
    options_add_settings(list);
    options_add(list, &(option_table)OPTION_TABLE(verbose));
}

/* ---- errors ---- */

void cli_error(const char *format, ...)
{
    va_list ap;
    progress_hide();
    fflush(stdout);
    fprintf(stderr, "%s: ", running->name);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    fflush(stderr);
}

int cli_usage(const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    cli_error("%s", text);
    fprintf(stderr, "try '%s %s --help'\n", running->name, at_work->name);
    return EXIT_USAGE;
}

/* ---- commands ---- */

static const command *find_command(const char *name)
{
    for (size_t i = 0; i < running->count; i++)
        if (!strcmp(running->commands[i]->name, name))
            return running->commands[i];
    return NULL;
}

static int unknown_command(const char *word)
{
    suggestion s = {.word = word};
    for (size_t i = 0; i < running->count; i++)
        suggestion_try(&s, running->commands[i]->name);
    suggestion_try(&s, "--help");
    suggestion_try(&s, "--version");
    const char *kind = word[0] == '-' ? "option" : "command";
    if (s.best[0])
        cli_error("unknown %s '%s'; did you mean '%s'?", kind, word, s.best);
    else
        cli_error("unknown %s '%s'; '%s --help' lists the commands", kind, word, running->name);
    return EXIT_USAGE;
}

/* Whether any command has the option, "--name=value" or "-x". */
static bool is_option(const char *word)
{
    option_list list = {.count = 0};
    program_common_options(&list);
    bool found = options_have(&list, word);
    for (size_t i = 0; !found && i < running->count; i++) {
        list.count = 0;
        program_options(running->commands[i], &list);
        found = options_have(&list, word);
    }
    return found;
}

/* "gpuexec --device cpu run": a known option in the wrong place. */
static int misplaced_option(int argc, char **argv)
{
    const char *name = "COMMAND";
    for (int i = argc - 1; i > 1; i--)
        if (find_command(argv[i]))
            name = argv[i];
    cli_error("options go after the command: %s %s %.64s ...", running->name, name, argv[1]);
    return EXIT_USAGE;
}

static int run_command(const command *cmd, int argc, char **argv)
{
    char err[OPTIONS_ERROR_SIZE] = "";
    option_list list = {.count = 0};
    at_work = cmd;
    program_options(cmd, &list);
    program_common_options(&list);
    switch (options_parse(&list, &common.config, argc, argv, err)) {
    case OPTIONS_HELP:
        help_command(running, cmd, false);
        return EXIT_DONE;
    case OPTIONS_LONG_HELP:
        help_command(running, cmd, true);
        return EXIT_DONE;
    case OPTIONS_WRONG:
        return cli_usage("%s", err);
    case OPTIONS_OK:
        break;
    }
    return cmd->run(&common);
}

/* "--man" or "--describe", alone or with a command. */
static int describe(int argc, char **argv)
{
    const command *cmd = argc > 2 ? find_command(argv[2]) : NULL;
    if (argc > 2 && !cmd)
        return unknown_command(argv[2]);
    (!strcmp(argv[1], "--man") ? help_page : help_rows)(running, cmd);
    return EXIT_DONE;
}

/* "help", alone or with a command: as --help; or "help options". */
static int help(int argc, char **argv)
{
    const char *word = argc > 2 && strcmp(argv[2], "help") ? argv[2] : NULL;
    const command *cmd = word ? find_command(word) : NULL;
    if (cmd)
        help_command(running, cmd, true);
    else if (!word)
        help_program(running);
    else if (!strcmp(word, HELP_OPTIONS))
        help_options();
    else
        return unknown_command(word);
    return EXIT_DONE;
}

static int dispatch(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word || !strcmp(word, "-h")) {
        help_usage(word ? stdout : stderr, running);
        return word ? EXIT_DONE : EXIT_USAGE;
    }
    if (!strcmp(word, "--help") || !strcmp(word, "help"))
        return help(argc, argv);
    if (!strcmp(word, "--version")) {
        printf("%s %s\n", running->name, gx_version());
        return EXIT_DONE;
    }
    if (!strcmp(word, "--man") || !strcmp(word, "--describe"))
        return describe(argc, argv);
    if (word[0] == '-' && is_option(word))
        return misplaced_option(argc, argv);
    const command *cmd = find_command(word);
    return cmd ? run_command(cmd, argc - 1, argv + 1) : unknown_command(word);
}

int program_run(const program *p, int argc, char **argv)
{
    argv = host_begin(&argc, argv); /* a closed pipe: exit code 1, no message */
    running = p;
    cli_program = argc > 0 ? argv[0] : p->name;
    int rc = dispatch(argc, argv);
    if (!output_flush()) {
        if (output_error() != EPIPE)
            cli_error("cannot write standard output: %s", strerror(output_error()));
        rc = rc == EXIT_DONE ? EXIT_FAILED : rc;
    }
    return rc;
}
