/* SPDX-License-Identifier: Apache-2.0
 *
 * Completion rows and manual pages (describe.h).
 */
#include "describe.h"

#include <ctype.h>
#include <string.h>

/* ---- one option, whichever table it comes from ---- */

typedef struct option {
    const char *name, *arg, *help, *env, *words;
    char letter;
    arg_kind kind;
} option;

typedef void (*option_fn)(const option *o);

static void each_of_table(const arg_table *table, option_fn visit)
{
    for (size_t i = 0; i < table->count; i++) {
        const arg_spec *s = &table->specs[i];
        char words[ARGS_WORDS_SIZE];
        args_words(s, words);
        visit(&(option){s->name, s->arg, s->help, NULL, words, s->letter, s->kind});
    }
}

static void each_setting(option_fn visit)
{
    const gx_option *s;
    for (uint32_t i = 0; (s = gx_option_get(i)) != NULL; i++) {
        char words[ARGS_WORDS_SIZE];
        args_setting_words(s, words);
        visit(&(option){s->name, s->arg, s->help, s->env, words, 0, ARG_TEXT});
    }
}

static void each_option(const described *all, const command *cmd, option_fn visit)
{
    each_of_table(&cmd->args, visit);
    if (cmd->formats)
        each_of_table(all->formats, visit);
    each_setting(visit);
    each_of_table(all->general, visit);
}

/* ---- rows ---- */

static void option_row(const option *o)
{
    if (o->kind == ARG_WORDS)
        return;
    printf("%s%s\t", o->name ? "--" : "", o->name ? o->name : "");
    if (o->letter)
        printf("-%c", o->letter);
    printf("\t%s\t%s\t%s\n", o->arg ? o->arg : "", o->help, o->words);
}

void describe_rows(const described *all, const command *cmd)
{
    if (cmd) {
        each_option(all, cmd, option_row);
        puts("--help\t-h\t\tfull help with examples\t");
        return;
    }
    for (size_t i = 0; i < all->count; i++)
        printf("%s\t%s\n", all->commands[i]->name, all->commands[i]->summary);
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

static void option_item(const option *o)
{
    if (o->kind == ARG_WORDS)
        printf(".It Ar \"%s\"\n", o->arg);
    else if (o->letter && o->name)
        printf(".It Fl %c , Fl \\-%s", o->letter, o->name);
    else if (o->letter)
        printf(".It Fl %c", o->letter);
    else
        printf(".It Fl \\-%s", o->name);
    if (o->kind != ARG_WORDS && o->arg)
        printf(" Ar \"%s\"", o->arg);
    if (o->kind != ARG_WORDS)
        putchar('\n');
    put_line(o->help, strlen(o->help), true);
    if (*o->words)
        printf(".Pp\nPossible values: %s\n", o->words);
}

static void setting_item(const option *o)
{
    printf(".It Fl \\-%s Ar \"%s\" , Ev %s\n", o->name, o->arg, o->env);
    put_line(o->help, strlen(o->help), true);
}

static void put_title(const char *command)
{
    char upper[64];
    size_t i;
    for (i = 0; command[i] && i + 1 < sizeof upper; i++)
        upper[i] = (char)toupper((unsigned char)command[i]);
    upper[i] = 0;
    printf(".\\\" Generated from the tables of the program.\n.Dd %s\n.Dt GPUEXEC%s%s 1\n.Os\n",
           GX_MAN_DATE, *upper ? "-" : "", upper);
}

static void put_common_sections(void)
{
    puts(".Sh EXIT STATUS\n.Bl -tag -width 1 -compact\n.It 0\nsuccess\n.It 1\nfailure\n.It 2\n"
         "usage error\n.It 3\nno usable device\n.It 4\nresults differ\n.El");
}

static void program_page(const described *all)
{
    put_title("");
    puts(".Sh NAME\n.Nm gpuexec\n.Nd batch finite\\-field and vector arithmetic on CPUs and "
         "GPUs\n.Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar options\n.Nm\n.Fl \\-help | "
         "\\-version\n.Sh DESCRIPTION\n.Bl -tag -width calibrate");
    for (size_t i = 0; i < all->count; i++) {
        printf(".It Xr gpuexec-%s 1\n", all->commands[i]->name);
        put_line(all->commands[i]->summary, strlen(all->commands[i]->summary), true);
    }
    puts(".El\n.Pp\nNumbers may end in K, M or G, for powers of 1024.\nData goes to standard "
         "output, "
         "everything else to standard error.\n.Sh OPTIONS\nAll commands take these options.\n"
         "Each has an environment variable.\n.Bl -tag -width Ds");
    each_setting(setting_item);
    each_of_table(all->general, option_item);
    puts(".El\n.Sh ENVIRONMENT\nThe variables of the options above, and those of the SuperVM "
         "prototype, for settings given in neither way:\n.Bl -tag -width Ds");
    for (size_t i = 0; i < OLD_VARIABLES; i++) {
        printf(".It Ev %s Ns = Ns Ar \"%s\"\n", args_old_variables[i].name,
               args_old_variables[i].arg);
        put_line(args_old_variables[i].help, strlen(args_old_variables[i].help), true);
    }
    puts(".El");
    put_common_sections();
    puts(".Sh SEE ALSO\n.Xr gpuexec 3");
}

static void command_page(const described *all, const command *cmd)
{
    put_title(cmd->name);
    printf(".Sh NAME\n.Nm gpuexec-%s\n.Nd ", cmd->name);
    put_line(cmd->summary, strlen(cmd->summary), false);
    printf(".Sh SYNOPSIS\n.Nm gpuexec %s\n", cmd->name);
    for (const char *p = cmd->synopsis; *p;) {
        p += strspn(p, " ");
        size_t line = strcspn(p, "\n");
        put_line(p, line, false);
        p += line + (p[line] == '\n');
    }
    puts(".Sh DESCRIPTION");
    put_text(cmd->about);
    puts(".Sh OPTIONS\n.Bl -tag -width Ds");
    each_of_table(&cmd->args, option_item);
    if (cmd->formats)
        each_of_table(all->formats, option_item);
    puts(".El\n.Pp\nOptions common to all commands are described in\n.Xr gpuexec 1 .");
    put_common_sections();
    puts(".Sh EXAMPLES");
    put_text(cmd->examples);
    puts(".Sh SEE ALSO\n.Xr gpuexec 1 ,\n.Xr gpuexec 3");
}

void describe_page(const described *all, const command *cmd)
{
    if (cmd)
        command_page(all, cmd);
    else
        program_page(all);
}
