/* SPDX-License-Identifier: Apache-2.0
 *
 * Completion rows and manual pages (describe.h).
 */
#include "describe.h"

#include <ctype.h>
#include <string.h>

/* ---- one option, whichever table it comes from ---- */

typedef struct option {
    const char *name, *arg, *help, *env;
    char letter;
    arg_kind kind;
} option;

typedef void (*option_fn)(const option *o);

static void each_of_table(const arg_table *table, option_fn visit)
{
    for (size_t i = 0; i < table->count; i++) {
        const arg_spec *s = &table->specs[i];
        visit(&(option){s->name, s->arg, s->help, NULL, s->letter, s->kind});
    }
}

static void each_setting(option_fn visit)
{
    size_t count;
    const gx_option *settings = gx_options(&count);
    for (size_t i = 0; i < count; i++)
        visit(&(option){settings[i].name, settings[i].arg, settings[i].help, settings[i].env, 0,
                        ARG_TEXT});
}

static void each_option(const described *all, const command *cmd, option_fn visit)
{
    each_of_table(&cmd->args, visit);
    if (cmd->formats)
        each_of_table(all->formats, visit);
    each_setting(visit);
    each_of_table(all->general, visit);
}

/* ---- the words an option takes ---- */

static void print_names(const option *o)
{
    const char *name;
    bool fields = o->kind == ARG_FIELD || o->kind == ARG_FIELDS;
    for (int v = 1;; v++) {
        if (fields)
            name = gx_field_get_info((gx_field)v) ? gx_field_get_info((gx_field)v)->name : NULL;
        else
            name = gx_op_get_info((gx_op)v) ? gx_op_get_info((gx_op)v)->name : NULL;
        if (!name)
            return;
        printf("%s%s", v > 1 ? " " : "", name);
    }
}

/* "auto, cpu or gpu: which of them": the words before the colon, where that is all there is;
 * or "which, comma-separated, of cpu gpu": those at the end. */
static void print_listed(const char *help)
{
    static const char several[] = "comma-separated, of ";
    const char *end_words = strstr(help, several);
    if (end_words) {
        fputs(end_words + sizeof several - 1, stdout);
        return;
    }
    size_t end = strcspn(help, ":");
    char words[128] = "";
    if (!help[end] || end >= sizeof words)
        return;
    for (const char *p = help; p < help + end;) {
        size_t length = strcspn(p, " ,:");
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s%.*s", *words ? " " : "",
                 (int)length, p);
        p += length;
        if (!strncmp(p, ", ", 2))
            p += 2;
        else if (!strncmp(p, " or ", 4))
            p += 4;
        else if (p < help + end)
            return; /* prose */
    }
    if (strchr(words, ' '))
        fputs(words, stdout);
}

static void print_words(const option *o)
{
    switch (o->kind) {
    case ARG_FIELD:
    case ARG_FIELDS:
    case ARG_OP:
    case ARG_OPS:
        print_names(o);
        return;
    case ARG_TEXT:
        break;
    default:
        return;
    }
    if (o->arg && !strcmp(o->arg, "0|1"))
        fputs("0 1", stdout);
    else
        print_listed(o->help);
}

/* ---- rows ---- */

static void option_row(const option *o)
{
    if (o->kind == ARG_WORDS)
        return;
    printf("%s%s\t", o->name ? "--" : "", o->name ? o->name : "");
    if (o->letter)
        printf("-%c", o->letter);
    printf("\t%s\t%s\t", o->arg ? o->arg : "", o->help);
    print_words(o);
    putchar('\n');
}

void describe_rows(const described *all, const command *cmd)
{
    if (cmd) {
        each_option(all, cmd, option_row);
        puts("--help\t-h\t\tall of this, with examples\t");
        return;
    }
    for (size_t i = 0; i < all->count; i++)
        printf("%s\t%s\n", all->commands[i]->name, all->commands[i]->summary);
}

/* ---- text of a page ---- */

/* One character; what is special to the formatter is not. */
static void put_char(char c, bool line_start)
{
    if (line_start && (c == '.' || c == '\''))
        fputs("\\&", stdout);
    if (c == '\\')
        fputs("\\e", stdout);
    else if (c == '-')
        fputs("\\-", stdout); /* to be copied into a shell */
    else
        putchar(c);
}

static void put_line(const char *text, size_t length, bool prose)
{
    bool start = true;
    for (size_t i = 0; i < length; i++) {
        /* A formatter wants every sentence to begin a line. */
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

/* Paragraphs with an empty line between them; lines that are set in stay as they are. */
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
    if (o->kind == ARG_FIELD || o->kind == ARG_FIELDS || o->kind == ARG_OP || o->kind == ARG_OPS) {
        puts(".Pp\nOf these:");
        print_names(o);
        putchar('\n');
    }
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
    puts(".Sh EXIT STATUS\n.Bl -tag -width 1 -compact\n.It 0\ndone\n.It 1\nfailed\n.It 2\n"
         "wrong usage\n.It 3\nno usable device\n.It 4\nresults differ\n.El");
}

static void program_page(const described *all)
{
    put_title("");
    puts(".Sh NAME\n.Nm gpuexec\n.Nd batches of finite\\-field and vector arithmetic on what is "
         "fastest here\n.Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar options\n.Nm\n.Fl \\-help | "
         "\\-version\n.Sh DESCRIPTION\n.Bl -tag -width calibrate");
    for (size_t i = 0; i < all->count; i++) {
        printf(".It Xr gpuexec-%s 1\n", all->commands[i]->name);
        put_line(all->commands[i]->summary, strlen(all->commands[i]->summary), true);
    }
    puts(".El\n.Pp\nNumbers take K, M and G, powers of 1024.\nData goes to standard output, "
         "everything else to standard error.\n.Sh OPTIONS\nEvery command takes these; each has an "
         "environment variable too.\n.Bl -tag -width Ds");
    each_setting(setting_item);
    each_of_table(all->general, option_item);
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
    each_setting(setting_item);
    each_of_table(all->general, option_item);
    puts(".El");
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
