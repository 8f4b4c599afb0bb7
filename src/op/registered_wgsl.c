/* SPDX-License-Identifier: Apache-2.0
 *
 * See registered_op.h. One pass over the text, without its comments. What is not WGSL may be
 * measured wrongly, but only as too deep.
 */
#include "op/registered_op.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum { BRACKET_OPERATORS = 8 };

/* An open bracket; the first is the module. */
struct frame {
    char open;
    uint32_t height; /* of the expression so far: operators above its deepest operand */
    uint32_t most;   /* of those before it, up to a comma */
};

struct scan {
    struct frame frame[GX_WGSL_BRACKETS + 1];
    uint32_t depth; /* of frames, less the module */
    uint32_t elses, declarations;
    const char *why;
};

/* ---- text ---- */

static const char *skip_line(const char *p)
{
    return p + strcspn(p, "\n");
}

/* Such comments may be nested. */
static const char *skip_block(const char *p)
{
    uint32_t open = 0;
    while (*p) {
        bool opens = p[0] == '/' && p[1] == '*', closes = p[0] == '*' && p[1] == '/';
        p += opens || closes ? 2 : 1;
        open += opens;
        if (closes && --open == 0)
            break;
    }
    return p;
}

/* Letters of other alphabets are parts of names. */
static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static const char *skip_name(const char *p)
{
    while (is_name(*p))
        p++;
    return p;
}

/* ---- brackets ---- */

static struct frame *top(struct scan *s)
{
    return &s->frame[s->depth];
}

static void set_height(struct scan *s, uint32_t height)
{
    top(s)->height = height;
    if (height > GX_WGSL_OPERATORS)
        s->why = "an expression has too many operators";
}

/* Its operand is all before it in the expression, and one behind it. */
static void add_operator(struct scan *s)
{
    set_height(s, top(s)->height + 1);
}

/* Also a call or an index, which is an operator. */
static void open_bracket(struct scan *s, char c)
{
    add_operator(s);
    if (s->depth == GX_WGSL_BRACKETS) {
        s->why = "brackets are nested too deeply";
        return;
    }
    s->depth++;
    *top(s) = (struct frame){.open = c};
}

/* A comma, or the end of a statement. */
static void end_expression(struct scan *s)
{
    struct frame *f = top(s);
    f->most = f->height > f->most ? f->height : f->most;
    f->height = 0;
}

/* What it holds is an operand of what is around it. */
static void close_bracket(struct scan *s)
{
    if (!s->depth)
        return;
    end_expression(s);
    uint32_t inner = top(s)->most + BRACKET_OPERATORS;
    s->depth--;
    if (inner > top(s)->height)
        set_height(s, inner);
}

/* Those that were no templates: a < b. */
static void drop_templates(struct scan *s)
{
    while (top(s)->open == '<')
        close_bracket(s);
}

static void count_declaration(struct scan *s)
{
    if (s->depth)
        return;
    s->elses = 0;
    if (++s->declarations > GX_WGSL_DECLARATIONS)
        s->why = "there are too many declarations";
}

static void end_statement(struct scan *s)
{
    end_expression(s);
    top(s)->most = 0;
    count_declaration(s);
}

static void take_bracket(struct scan *s, char c)
{
    drop_templates(s);
    if (c == '(' || c == '[' || c == '{') {
        open_bracket(s, c);
        return;
    }
    if (c == ';') {
        end_statement(s);
        return;
    }
    close_bracket(s);
    if (c == '}')
        end_statement(s);
}

/* ---- tokens ---- */

/* after_name: a template may begin here. */
static const char *take_operator(struct scan *s, const char *p, bool after_name)
{
    bool twice = p[1] == p[0];
    if (*p == '<' && after_name && !twice && p[1] != '=') {
        open_bracket(s, *p);
        return p + 1;
    }
    if (*p == '>' && top(s)->open == '<') {
        close_bracket(s);
        return p + 1;
    }
    if (twice && (*p == '&' || *p == '|'))
        drop_templates(s);
    add_operator(s);
    return *p == '<' && twice ? p + 2 : p + 1;
}

static const char *take_name(struct scan *s, const char *p)
{
    const char *end = skip_name(p);
    if (end - p == 4 && !memcmp(p, "else", 4) && ++s->elses > GX_WGSL_ELSES)
        s->why = "a function has too many 'else'";
    return end;
}

/* Returns the end of the token. */
static const char *take(struct scan *s, const char *p, bool *after_name)
{
    if (p[0] == '/' && p[1] == '/')
        return skip_line(p);
    if (p[0] == '/' && p[1] == '*')
        return skip_block(p);
    if (isspace((unsigned char)*p))
        return p + 1;
    bool template = *after_name;
    *after_name = is_name(*p);
    if (*after_name)
        return take_name(s, p);
    if (strchr("()[]{};", *p))
        take_bracket(s, *p);
    else if (*p == ',')
        end_expression(s);
    else if (strchr("+-*/%&|^~!<>=.", *p))
        return take_operator(s, p, template);
    return p + 1;
}

bool gx__wgsl_check(const char *text, struct gx_error *error)
{
    struct scan s = {0};
    bool after_name = false;
    const char *p = text;
    size_t line = 1;
    while (*p && !s.why) {
        const char *end = take(&s, p, &after_name);
        for (; p < end && !s.why; p++)
            line += *p == '\n';
    }
    if (s.why)
        gx__explain(error, "WGSL, line %zu: %s (the limits are in doc/kernels.md)", line, s.why);
    return !s.why;
}
