# SPDX-License-Identifier: Apache-2.0
#
# Reads the public headers, which say all there is to say of the API. What it finds goes to functions of a
# second file: mdoc.awk makes manual pages of it, rst.awk the reference of the site.
#
#   on_overview(COMMENT)         the comment at the top of the first header
#   on_header(FILE)              another header begins
#   on_section(TITLE)            one of its parts begins: a page
#   on_functions(COMMENT, N)     functions with one comment: prototype[1..N], function_name[1..N]
#   on_declared(COMMENT, BODY)   types, constants or macros, or a comment alone; declared_name[1..declared]:
#                                what it declares, the types[] of them being names of types
#   on_end()
#
#   awk -v examples=FOLDER -f headers.awk -f mdoc.awk gpuexec.h gpuexec/core.h ...

BEGIN { RS = ""; FS = "\n" }

# The text of NAME.c in the folder of examples, if it is there.
function example_of(name,    file, line, all, separator) {
    file = examples "/" name ".c"
    separator = RS
    RS = "\n"
    while ((getline line < file) > 0) all = all line "\n"
    close(file)
    RS = separator
    return all
}

# A comment without its marks and the stars of its lines.
function unmarked(comment) {
    gsub(/^[ \n]*\/\* ?|[ \n]*\*\/[ \n]*$/, "", comment)
    gsub(/\n *\* ?/, "\n", comment)
    return comment
}
function one_line(text) {
    gsub(/[ \n]+/, " ", text)
    return text
}
function declare(name, is_type) {
    declared_name[++declared] = name
    if (is_type) types[name] = 1
}
# Fills declared_name with what a paragraph without functions declares.
function find_names(body,    n, i, lines, text) {
    declared = 0
    text = body
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", text)
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) {
        text = lines[i]
        if (match(text, /^typedef struct [a-z0-9_]+/)) declare(substr(text, 16, RLENGTH - 15), 1)
        else if (match(text, /^typedef [a-z0-9_ ]+ gx_[a-z0-9_]+;/) || match(text, /^typedef .*\(\*gx_[a-z0-9_]+\)/)) {
            text = substr(text, 1, RLENGTH)
            sub(/[;)]$/, "", text)
            match(text, /gx_[a-z0-9_]+$/)
            declare(substr(text, RSTART), 1)
        } else if (match(text, /^#define GX_[A-Z0-9_]+/)) declare(substr(text, 9, RLENGTH - 8), 0)
        else while (match(text, /GX_[A-Z0-9_]+ = /)) {
            declare(substr(text, RSTART, RLENGTH - 3), 0)
            text = substr(text, RSTART + RLENGTH)
        }
    }
}

/^\/\* SPDX/ { # what the first header says of all comes before the parts of the others
    started = 0
    if (!overview_read++) {
        overview = $0
        sub(/^[^\n]*\n \*\n \*/, "/*", overview)
        sub(/\*\/\n.*$/, "*/", overview)
        on_overview(unmarked(overview))
    } else on_header(FILENAME)
    next
}
/^\/\* ---- [^\n]+ ---+ \*\// {
    title = $0
    sub(/^\/\* ---- /, "", title)
    sub(/ -+ \*\/.*$/, "", title)
    on_section(title)
    started = 1
    next
}
!started || /^#ifdef __cplusplus|^#endif/ { next }
{
    comment = ""
    body = $0
    if (match(body, /^\/\*([^*]|\*+[^*\/])*\*+\//)) {
        comment = unmarked(substr(body, 1, RLENGTH))
        body = substr(body, RLENGTH + 1)
        sub(/^\n/, "", body)
    }
}
/(^|\n)GX_API / {
    n = split(body, parts, /;/)
    functions = 0
    for (i = 1; i <= n; i++) {
        if (parts[i] !~ /GX_API/) continue
        text = one_line(parts[i])
        sub(/^ ?GX_API /, "", text)
        prototype[++functions] = text
        match(text, /gx_[a-z0-9_]*\(/)
        function_name[functions] = substr(text, RSTART, RLENGTH - 1)
    }
    on_functions(comment, functions)
    next
}
{
    find_names(body)
    on_declared(comment, body)
}

END { on_end() }
