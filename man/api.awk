# SPDX-License-Identifier: Apache-2.0
#
# Pages of section 3 from the public header, which says all there is to say: one page for each
# of its parts, a link to it for every function in it, and gpuexec.3 before them. A page has the
# name of its first function.
#
#   awk -v date=DATE -v out=FOLDER -v example=FILE -f api.awk gpuexec.h

BEGIN { RS = ""; FS = "\n" }

function escape(line) {
    gsub(/\\/, "\\e", line)
    gsub(/-/, "\\-", line)
    if (line ~ /^[.']/) line = "\\&" line
    return line
}
# A comment as prose, every sentence on a line of its own.
function prose(text,    n, i, lines, all) {
    gsub(/^\/\* ?|[ \n]*\*\/$/, "", text)
    gsub(/\n \* ?/, "\n", text)
    gsub(/\n/, " ", text)
    gsub(/  +/, " ", text)
    gsub(/\. /, ".\n", text)
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) all = all escape(lines[i]) "\n"
    return all
}
function literal(text,    n, i, lines, all) {
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) all = all escape(lines[i]) "\n"
    return ".Bd -literal\n" all ".Ed\n"
}
# "GX_API type name(arguments);" for the synopsis; its name is left in `name`.
function declaration(text,    open, head, arguments, n, i, list, line) {
    gsub(/[ \n]+/, " ", text)
    sub(/^GX_API /, "", text)
    open = index(text, "(")
    head = substr(text, 1, open - 1)
    match(head, /[a-z0-9_]+$/)
    name = substr(head, RSTART)
    head = substr(head, 1, RSTART - 1)
    sub(/ $/, "", head)
    arguments = substr(text, open + 1)
    sub(/\);.*$/, "", arguments)
    line = ".Ft \"" head "\"\n.Fn " name
    n = split(arguments, list, /, /)
    for (i = 1; i <= n; i++) line = line " \"" list[i] "\""
    return line "\n"
}
function head_of(page_name) {
    return ".\\\" Generated from gpuexec.h.\n.Dd " date "\n.Dt " toupper(page_name) " 3\n.Os\n"
}
function finish(    file, i, text) {
    if (!functions) { synopsis = described = declared = ""; return }
    file = out "/" names[1] ".3"
    text = head_of(names[1]) ".Sh NAME\n"
    for (i = 1; i <= functions; i++) text = text ".Nm " names[i] (i < functions ? " ,\n" : "\n")
    text = text ".Nd gpuexec: " title "\n.Sh LIBRARY\nlibgpuexec (\\-lgpuexec)\n.Sh SYNOPSIS\n.In gpuexec.h\n" synopsis
    text = text ".Sh DESCRIPTION\n" described
    if (declared != "") text = text ".Sh DECLARATIONS\n" declared
    text = text ".Sh SEE ALSO\n.Xr gpuexec 3\n"
    printf "%s", text > file
    close(file)
    for (i = 2; i <= functions; i++) system("ln -s " names[1] ".3 \"" out "/" names[i] ".3\"")
    pages = pages ".It Xr " names[1] " 3\n" title ": "
    for (i = 1; i <= functions; i++) pages = pages names[i] (i < functions ? ", " : "\n")
    functions = 0
    synopsis = described = declared = ""
}

/^\/\* SPDX/ {
    overview = $0
    sub(/^[^\n]*\n \*\n/, "", overview)
    sub(/\n \*\/.*$/, "", overview)
}
match($0, /^\/\* ---- [^-]+ ---/) {
    finish()
    title = $0
    sub(/^\/\* ---- /, "", title)
    sub(/ -*-? \*\/.*$/, "", title)
    sub(/ -+$/, "", title)
    started = 1
    next
}
!started { next }
/(^|\n)GX_API / {
    comment = $0
    at = match(comment, /(^|\n)GX_API /)
    body = substr(comment, at)
    comment = substr(comment, 1, at - 1)
    n = split(body, parts, /;/)
    if (described != "") described = described ".Pp\n"
    first = 1
    for (i = 1; i <= n; i++) {
        if (parts[i] !~ /GX_API/) continue
        sub(/^\n/, "", parts[i])
        synopsis = synopsis declaration(parts[i] ";")
        names[++functions] = name
        described = described (first ? "" : ",\n") ".Fn " name
        first = 0
    }
    gsub(/,\n\.Fn/, " ,\n.Fn", described)
    described = described "\n.Pp\n" prose(comment)
    next
}
/^#ifdef __cplusplus|^#endif/ { next }
{ declared = declared literal($0) }

END {
    finish()
    file = out "/gpuexec.3"
    printf "%s", head_of("gpuexec") ".Sh NAME\n.Nm gpuexec\n.Nd batches of arithmetic from C\n" \
        ".Sh LIBRARY\nlibgpuexec (\\-lgpuexec)\n.Sh SYNOPSIS\n.In gpuexec.h\n.Sh DESCRIPTION\n" > file
    n = split(overview, lines, "\n")
    listed = 0
    for (i = 1; i <= n; i++) {
        line = lines[i]
        sub(/^ \* ?/, "", line)
        if (listed && line !~ /^   ? ?[- ]/) {
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
