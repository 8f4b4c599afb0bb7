# SPDX-License-Identifier: Apache-2.0
#
# Pages of section 3: one for each part of the headers, a link to it for every name that it declares, and
# gpuexec.3 before them. A page has the name of its first function. After headers.awk, with
# -v date=DATE -v out=FOLDER -v example=FILE.

function escape(line) {
    gsub(/\\/, "\\e", line)
    gsub(/-/, "\\-", line)
    if (line ~ /^[.']/) line = "\\&" line
    return line
}
# Text as prose, every sentence on a line of its own.
function prose(text,    n, i, lines, all) {
    text = one_line(text)
    gsub(/\. /, ".\n", text)
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) all = all escape(lines[i]) "\n"
    return all
}
function literal(text,    n, i, lines, all) {
    sub(/\n$/, "", text)
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) all = all escape(lines[i]) "\n"
    return ".Bd -literal\n" all ".Ed\n"
}
# "type name(arguments)" for the synopsis.
function declaration(text, name,    at, arguments, n, i, list, line) {
    at = index(text, name "(")
    arguments = substr(text, at + length(name) + 1)
    sub(/\)$/, "", arguments)
    text = substr(text, 1, at - 1)
    sub(/ $/, "", text)
    line = ".Ft \"" text "\"\n.Fn " name
    n = split(arguments, list, /, /)
    for (i = 1; i <= n; i++) line = line " \"" list[i] "\""
    return line "\n"
}
function head_of(page_name) {
    return ".\\\" Generated from the headers.\n.Dd " date "\n.Dt " toupper(page_name) " 3\n.Os\n"
}
# names[1 .. named] are those of the page, of which the first `calls` are functions.
function finish(    file, i, text, links) {
    if (page == "") return
    file = out "/" calls[1] ".3"
    text = head_of(calls[1]) ".Sh NAME\n"
    for (i = 1; i <= called; i++) text = text ".Nm " calls[i] (i < called || named ? " ,\n" : "\n")
    for (i = 1; i <= named; i++) text = text ".Nm " named_types[i] (i < named ? " ,\n" : "\n")
    text = text ".Nd gpuexec: " page "\n.Sh LIBRARY\nlibgpuexec (\\-lgpuexec)\n.Sh SYNOPSIS\n.In gpuexec.h\n" synopsis
    text = text ".Sh DESCRIPTION\n" described
    if (literals != "") text = text ".Sh DECLARATIONS\n" literals
    if (shown != "") text = text ".Sh EXAMPLES\n" shown
    printf "%s.Sh SEE ALSO\n.Xr gpuexec 3\n", text > file
    close(file)
    for (i = 2; i <= called; i++) links = links " " calls[i]
    for (i = 1; i <= linked; i++) links = links " " link[i]
    if (links != "")
        system("for name in" links "; do ln -s " calls[1] ".3 '" out "'/$name.3; done")
    pages = pages ".It Xr " calls[1] " 3\n" page ": "
    for (i = 1; i <= called; i++) pages = pages calls[i] (i < called || named ? ", " : "\n")
    for (i = 1; i <= named; i++) pages = pages named_types[i] (i < named ? ", " : "\n")
    page = synopsis = described = literals = shown = ""
}

# Adds the example of a function or a type, if there is one, to those of the page.
function show(name,    text) {
    text = example_of(name)
    if (text != "") shown = shown (shown == "" ? "" : ".Pp\n") (name in types ? ".Vt " : ".Fn ") name " :\n" literal(text)
}
function on_overview(text) { overview = text }
function on_header(file) { finish() }
function on_section(text) {
    finish()
    page = text
    called = named = linked = 0
}
function on_functions(comment, n,    i) {
    if (described != "") described = described ".Pp\n"
    for (i = 1; i <= n; i++) {
        synopsis = synopsis declaration(prototype[i], function_name[i])
        calls[++called] = function_name[i]
        described = described ".Fn " function_name[i] (i < n ? " ,\n" : "\n")
        show(function_name[i])
    }
    described = described ".Pp\n" prose(comment)
}
function on_declared(comment, body,    i) {
    for (i = 1; i <= declared; i++) {
        link[++linked] = declared_name[i]
        if (declared_name[i] in types) named_types[++named] = declared_name[i]
        show(declared_name[i])
    }
    literals = literals literal($0)
}
function on_end(    file, n, i, lines, line, listed) {
    finish()
    file = out "/gpuexec.3"
    printf "%s", head_of("gpuexec") ".Sh NAME\n.Nm gpuexec\n.Nd batches of arithmetic from C\n" \
        ".Sh LIBRARY\nlibgpuexec (\\-lgpuexec)\n.Sh SYNOPSIS\n.In gpuexec.h\n.Sh DESCRIPTION\n" > file
    n = split(overview, lines, "\n")
    for (i = 1; i <= n; i++) {
        line = lines[i]
        if (listed && line !~ /^  ? ?[- ]/) {
            printf ".El\n" > file
            listed = 0
        }
        if (line ~ /^  - /) {
            if (!listed) printf ".Bl -bullet -compact\n" > file
            listed = 1
            printf ".It\n" > file
            sub(/^  - /, "", line)
        }
        sub(/^ +/, "", line)
        gsub(/\. /, ".\n", line)
        if (line == "") printf ".Pp\n" > file
        else print escape(line) > file
    }
    if (listed) printf ".El\n" > file
    printf ".Pp\nThe calls, by page:\n.Bl -tag -width Ds\n%s.El\n.Sh EXAMPLES\n.Bd -literal\n", pages > file
    RS = "\n"
    while ((getline line < example) > 0) print escape(line) > file
    printf ".Ed\n.Sh SEE ALSO\n.Xr gpuexec 1\n" > file
}
