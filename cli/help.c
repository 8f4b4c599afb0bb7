/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program prints about itself (program.h): help, rows for shell completion and manual pages,
 * all from the tables by which options are parsed.
 */
#include <ctype.h>
#include <string.h>

#include "program.h"

/* ---- help ---- */

void help_usage(FILE *out, const program *p)
{
    fprintf(out, "%s: %s\n\nusage: %s COMMAND [OPTIONS]\n\n", p->name, p->summary, p->name);
    for (size_t i = 0; i < p->count; i++)
        fprintf(out, "  %-11s %s\n", p->commands[i]->name, p->commands[i]->summary);
    fprintf(out, "\n%sFor details: '%s COMMAND --help'.\n", p->first, p->name);
}

static void print_conventions(void)
{
    puts("\nNumbers may be written 65536, 2^16, 64K or 1e6: K, M, G and T are powers of 1024. If\n"
         "an option is repeated, the last value is used.\n"
         "Data goes to standard output, everything else to standard error.\n"
         "Exit codes: 0 success, 1 failure, 2 usage error, 3 no usable device, 4 results differ.");
}

static void print_common_options(void)
{
    option_list list = {.count = 0};
    puts("All commands take these options, after the command name. Each setting can also be given "
         "in\n"
         "the environment variable shown:");
    program_common_options(&list);
    options_print(stdout, &list);
    puts("\nVariables of the SuperVM prototype, for settings given in neither way:");
    for (size_t i = 0; i < OLD_VARIABLES; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s=%s", old_variables[i].name, old_variables[i].arg);
        options_print_line(stdout, left, old_variables[i].help);
    }
}

void help_options(void)
{
    print_common_options();
    print_conventions();
}

void help_program(const program *p)
{
    help_usage(stdout, p);
    putchar('\n');
    print_common_options();
    printf("\nAlso: %s help [COMMAND | " HELP_OPTIONS "]; %s --version; for manual pages and\n"
           "completions, %s --man [COMMAND] and %s --describe [COMMAND]\n",
           p->name, p->name, p->name, p->name);
    print_conventions();
}

/* The names alone, wrapped. */
static void print_names(const option_list *list)
{
    int column = printf(" ");
    for (size_t i = 0; i < list->count; i++) {
        int length = (int)strlen(list->rows[i].name) + 3; /* " --" */
        if (column + length > 80)
            column = printf("\n ") - 1;
        column += printf(" --%s", list->rows[i].name);
    }
    putchar('\n');
}

void help_command(const program *p, const command *cmd, bool whole)
{
    option_list list = {.count = 0};
    printf("usage: %s %s %s%s[OPTIONS]\n\n%s\n\noptions:\n", p->name, cmd->name,
           cmd->synopsis ? cmd->synopsis : "", cmd->synopsis ? " " : "",
           whole ? cmd->about : cmd->summary);
    program_options(cmd, &list);
    options_print(stdout, &list);
    printf("\ncommon options (see '%s help " HELP_OPTIONS "'):\n", p->name);
    list.count = 0;
    program_common_options(&list);
    print_names(&list);
    if (!whole) {
        printf("\nFor details and examples: '%s %s --help'.\n", p->name, cmd->name);
        return;
    }
    printf("\nexamples:\n%s", cmd->examples);
    print_conventions();
}

/* ---- rows ---- */

static void put_rows(const option_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const option_row *row = &list->rows[i];
        char words[OPTION_WORDS_SIZE], letter[] = {'-', row->letter, 0};
        option_words(row, words);
        if (row->kind != OPT_WORDS)
            printf("%s%s\t%s\t%s\t%s\t%s\n", row->name ? "--" : "", row->name ? row->name : "",
                   row->letter ? letter : "", row->arg ? row->arg : "", row->help, words);
    }
}

void help_rows(const program *p, const command *cmd)
{
    option_list list = {.count = 0};
    if (cmd) {
        program_options(cmd, &list);
        program_common_options(&list);
        put_rows(&list);
        puts("--help\t-h\t\tfull help with examples\t");
        return;
    }
    for (size_t i = 0; i < p->count; i++)
        printf("%s\t%s\n", p->commands[i]->name, p->commands[i]->summary);
}

/* ---- text of a page ---- */

/* Writes one character, escaped for the formatter if necessary. */
static void put_char(char c, bool line_start)
{
    if (line_start && (c == '.' || c == '\''))
        fputs("\\&", stdout);
    if (c == '\\')
        fputs("\\e", stdout);
    else if (c == '-')
        fputs("\\-", stdout); /* so that it can be pasted into a shell */
    else
        putchar(c);
}

static void put_line(const char *text, size_t length, bool prose)
{
    bool start = true;
    for (size_t i = 0; i < length; i++) {
        /* mdoc wants every sentence on a new line. */
        if (prose && i && text[i] == ' ' && strchr(".!?", text[i - 1]) && i + 1 < length) {
            putchar('\n');
            start = true;
            continue;
        }
        put_char(text[i], start);
        start = false;
    }
    putchar('\n');
}

/* Paragraphs are separated by empty lines; indented ones are literal. */
static void put_text(const char *text)
{
    bool first = true;
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        bool literal = text[0] == ' ';
        puts(literal ? ".Bd -literal -offset 0" : first ? ".\\\"" : ".Pp");
        for (const char *p = text; p < text + length;) {
            size_t line = strcspn(p, "\n");
            put_line(p, line, !literal);
            p += line + (p[line] == '\n');
        }
        if (literal)
            puts(".Ed");
        text += length + (end ? 2 : 0);
        first = false;
    }
}

static void put_items(const option_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const option_row *row = &list->rows[i];
        char words[OPTION_WORDS_SIZE];
        option_words(row, words);
        fputs(".It", stdout);
        if (row->letter)
            printf(" Fl %c%s", row->letter, row->name ? " ," : "");
        if (row->name)
            printf(" Fl \\-%s", row->name);
        if (row->arg)
            printf(" Ar \"%s\"", row->arg);
        if (row->env)
            printf(" , Ev %s", row->env);
        putchar('\n');
        put_line(row->help, strlen(row->help), true);
        if (*words && !row->env)
            printf(".Pp\nPossible values: %s\n", words);
    }
}

static void put_upper(const char *text)
{
    while (*text)
        putchar(toupper((unsigned char)*text++));
}

/* Down to the synopsis. */
static void put_head(const program *p, const command *cmd)
{
    const char *dash = cmd ? "-" : "", *name = cmd ? cmd->name : "";
    const char *summary = cmd ? cmd->summary : p->summary;
    printf(".\\\" Generated from the tables of the program.\n.Dd %s\n.Dt ", GX_MAN_DATE);
    put_upper(p->name);
    put_upper(dash);
    put_upper(name);
    printf(" 1\n.Os\n.Sh NAME\n.Nm %s%s%s\n.Nd ", p->name, dash, name);
    put_line(summary, strlen(summary), false);
    puts(".Sh SYNOPSIS");
}

static void put_exit_status(void)
{
    puts(".Sh EXIT STATUS\n.Bl -tag -width 1 -compact\n.It 0\nsuccess\n.It 1\nfailure\n.It 2\n"
         "usage error\n.It 3\nno usable device\n.It 4\nresults differ\n.El");
}

static void program_page(const program *p)
{
    option_list list = {.count = 0};
    put_head(p, NULL);
    puts(".Nm\n.Ar command\n.Op Ar options\n.Nm\n.Fl \\-help | \\-version\n.Sh DESCRIPTION\n"
         ".Bl -tag -width calibrate");
    for (size_t i = 0; i < p->count; i++) {
        printf(".It Xr %s-%s 1\n", p->name, p->commands[i]->name);
        put_line(p->commands[i]->summary, strlen(p->commands[i]->summary), true);
    }
    puts(".El\n.Pp\nNumbers may be written 65536, 2^16, 64K or 1e6: K, M, G and T are powers of "
         "1024.\nData goes to standard output, everything else to standard error.\n.Sh "
         "OPTIONS\nAll commands take these options.\n"
         "Each has an environment variable.\n.Bl -tag -width Ds");
    program_common_options(&list);
    put_items(&list);
    puts(".El\n.Sh ENVIRONMENT\nThe variables of the options above, and those of the SuperVM "
         "prototype, for settings given in neither way:\n.Bl -tag -width Ds");
    for (size_t i = 0; i < OLD_VARIABLES; i++) {
        printf(".It Ev %s Ns = Ns Ar \"%s\"\n", old_variables[i].name, old_variables[i].arg);
        put_line(old_variables[i].help, strlen(old_variables[i].help), true);
    }
    puts(".El");
    put_exit_status();
    puts(".Sh SEE ALSO\n.Xr gpuexec 3");
}

static void command_page(const program *p, const command *cmd)
{
    option_list list = {.count = 0};
    put_head(p, cmd);
    printf(".Nm %s %s\n", p->name, cmd->name);
    if (cmd->synopsis)
        put_line(cmd->synopsis, strlen(cmd->synopsis), false);
    puts(".Op Ar options");
    puts(".Sh DESCRIPTION");
    put_text(cmd->about);
    puts(".Sh OPTIONS\n.Bl -tag -width Ds");
    program_options(cmd, &list);
    put_items(&list);
    printf(".El\n.Pp\nOptions common to all commands are described in\n.Xr %s 1 .\n", p->name);
    put_exit_status();
    puts(".Sh EXAMPLES");
    put_text(cmd->examples);
    printf(".Sh SEE ALSO\n.Xr %s 1 ,\n.Xr gpuexec 3\n", p->name);
}

void help_page(const program *p, const command *cmd)
{
    if (cmd)
        command_page(p, cmd);
    else
        program_page(p);
}
