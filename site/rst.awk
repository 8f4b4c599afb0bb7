# SPDX-License-Identifier: Apache-2.0
#
# The reference of the site, for Sphinx: api/index.rst, and a page for each part of the headers.
# After man/headers.awk, with -v out=FOLDER.

# Text between two \001 is a name of the API; it becomes a link at the end, when all names are known.
function escape(text) {
    gsub(/[\\*`|_]/, "\\\\&", text)
    return text
}
# One line of a comment: names and documents become links, text between `` is code.
function inline(text,    all, name) {
    while (match(text, /`[^`]+`|[*]?[A-Za-z0-9_]+_[A-Za-z0-9_]*(\*|\.\.\.[a-z_]*|\.[a-z][a-z_0-9]*)?|doc\/[a-z-]+\.md|examples\/[a-z_]+\.[a-z]+/)) {
        name = substr(text, RSTART, RLENGTH)
        all = all escape(substr(text, 1, RSTART - 1))
        text = substr(text, RSTART + RLENGTH)
        if (all ~ /[^ \n"(\[{<\/:-]$/) all = all "\\ "
        if (name ~ /^(gx|GX)_/) sub(/^\(\)/, "", text) # the link has them
        if (name ~ /^`/) all = all "`" name "`"
        else if (name ~ /^doc/) all = all ":doc:`" name " </" substr(name, 1, length(name) - 3) ">`"
        else if (name ~ /^examples/) all = all ":doc:`" name " </" name ">`"
        else if (name ~ /^(gx|GX)_/ && name !~ /\*$|\.\.\./) all = all "\001" name "\001"
        else all = all "``" name "``"
        if (text ~ /^[^ \n'")\]}>\/:.,;!?-]/) all = all "\\ "
    }
    return all escape(text)
}
# A comment as paragraphs, lists of lines that begin with "  - ", and literal blocks, which are further in.
function prose(text, indent,    n, i, lines, all, kind, before) {
    n = split(text, lines, "\n")
    before = ""
    for (i = 1; i <= n; i++) {
        kind = lines[i] == "" ? "" : lines[i] ~ /^ *- / ? "item" : \
            lines[i] ~ /^    / && before ~ /^item/ ? "item+" : lines[i] ~ /^  / ? "literal" : "text"
        if (kind == "literal" && before != "literal") all = all "\n" indent "::\n\n"
        else if (kind == "item" && before !~ /^item/ || kind == "text" && before !~ /^text/) all = all "\n"
        if (kind == "literal") all = all indent "   " substr(lines[i], 3) "\n"
        else if (kind != "") {
            sub(/^ +/, "", lines[i])
            all = all indent (kind == "item+" ? "  " : "") inline(lines[i]) "\n"
        } else all = all "\n"
        before = kind
    }
    return all "\n"
}
function example(name, indent,    n, i, lines, all) {
    n = split(example_of(name), lines, "\n")
    for (i = 1; i < n; i++) all = all (lines[i] == "" ? "" : indent "   " lines[i]) "\n"
    return n < 2 ? "" : indent ".. code-block:: c\n\n" all "\n"
}
function put(text) { page = page text }

# ---- types, constants and macros ----

# Takes the comments out of a paragraph: said[k] for \003k\003. One that begins a line is a remark
# about what follows, in a line of its own; others belong to what is before them.
function without_comments(body,    k, text, mark) {
    k = 0
    gsub(/ *\\\n */, " ", body)
    while (match(body, /\/\*([^*]|\*+[^*\/])*\*+\//)) {
        said[++k] = unmarked(substr(body, RSTART, RLENGTH))
        mark = "\003" k "\003"
        text = substr(body, 1, RSTART - 1)
        if (text ~ /(^|\n) *$/) mark = mark "\n"
        body = text mark substr(body, RSTART + RLENGTH)
    }
    return body
}
# The comment at the end of a line, indented, after `value`.
function about(line, value, indent,    k) {
    k = line
    if (match(k, /\003[0-9]+\003/)) k = said[substr(k, RSTART + 1, RLENGTH - 2)]
    else k = ""
    gsub(/\n +/, "\n", k)
    return prose((value == "" ? "" : value (k == "" ? "" : ": ")) k, indent)
}
function constants(open) {
    if (open == in_constants) return
    put(open ? "\n.. container:: constants\n\n" : "\n")
    in_constants = open
}
function constant(name, value, line) {
    constants(1)
    put("   .. c:macro:: " name "\n      :no-contents-entry:\n" about(line, "`" value "`", "      "))
}
# The comment of the paragraph, which goes to the first thing that it declares.
function take_remark(indent,    text) {
    text = remark
    remark = ""
    return text == "" ? "" : prose(text, indent)
}
# The members that a line of a struct declares.
function member(line,    type, n, i, names) {
    type = line
    sub(/;.*/, "", type)
    if (type ~ /\(/) put("   .. c:member:: " type "\n      :no-contents-entry:\n")
    else {
        n = split(type, names, /, */)
        type = names[1]
        sub(/[a-z0-9_]+(\[[A-Za-z0-9_]+\])?$/, "", type)
        put("   .. c:member:: " names[1] "\n")
        for (i = 2; i <= n; i++) put("                 " type names[i] "\n")
        put("      :no-contents-entry:\n")
    }
    put(about(line, "", "      "))
}
function declarations(body,    n, i, lines, line, name, words, inside) {
    n = split(without_comments(body), lines, "\n")
    for (i = 1; i <= n; i++) {
        line = lines[i]
        sub(/^ +/, "", line)
        while (line ~ /^(typedef|const|size_t)/ && line !~ /;/ && line !~ /\{$/) { # goes on in the next
            lines[i + 1] = line " " one_line(lines[i + 1])
            line = lines[++i]
        }
        if (line == "" || line ~ /^#(endif|else|if|elif)/) continue
        if (line ~ /^\003[0-9]+\003 *$/) {
            name = said[substr(line, 2, index(substr(line, 2), "\003") - 1)]
            if (inside) {
                constants(0)
                put(prose(name, inside == "struct" ? "   " : ""))
            } else remark = name
        } else if (line ~ /^typedef struct [a-z0-9_]+ \{/) {
            constants(0)
            split(line, words, " ")
            put(".. c:struct:: " words[3] "\n" take_remark("   ") "\n" example(words[3], "   "))
            inside = "struct"
        } else if (line ~ /^typedef struct/) {
            constants(0)
            split(line, words, /[ ;]/)
            put(".. c:struct:: " words[3] "\n" take_remark("   ") "\n" example(words[3], "   "))
        } else if (line ~ /^typedef/) {
            constants(0)
            name = line
            sub(/^typedef /, "", name)
            sub(/;.*/, "", name)
            put(".. c:type:: " name "\n" take_remark("   ") "\n")
        } else if (line ~ /^enum \{.*\}/) {
            while (match(line, /GX_[A-Z0-9_]+ = -?[0-9]+/)) {
                split(substr(line, RSTART, RLENGTH), words, " = ")
                line = substr(line, RSTART + RLENGTH)
                constant(words[1], words[2], "")
            }
            constants(0)
        } else if (line ~ /^enum \{/) inside = "enum"
        else if (line ~ /^\}/) {
            constants(0)
            inside = ""
        } else if (line ~ /^#define/) {
            split(line, words, / +/)
            if (words[3] ~ /^\003/) words[3] = ""
            if (remark != "") {
                constants(0)
                put(".. c:macro:: " words[2] "\n" prose("`" words[3] "`: " remark, "   "))
                remark = ""
            } else constant(words[2], words[3], line)
        } else if (inside == "enum") {
            split(line, words, /[ ,=]+/)
            constant(words[1], words[2], line)
        } else member(line)
    }
    constants(0)
    if (remark != "") put(take_remark(""))
}

# ---- pages ----

function name_of_page(title) {
    title = tolower(title)
    gsub(/[^a-z0-9]+/, "-", title)
    return title
}
function heading(title, mark,    line) {
    line = title
    gsub(/./, mark, line)
    return title "\n" line "\n\n"
}
function on_overview(text) { overview = text }
function on_header(file) {
    header = file
    started_header = 0
}
function on_section(title) {
    file = name_of_page(title)
    order[++files] = file
    header_of[file] = header
    pages[file] = ""
    page = ""
    put(heading(toupper(substr(title, 1, 1)) substr(title, 2), "="))
    put("``#include <gpuexec.h>``, or ``<" header ">``\n\n")
    pages[file] = page
}
function on_functions(text, n,    i, k, shown) {
    page = pages[file]
    put(".. c:function:: " prototype[1] "\n")
    for (i = 2; i <= n; i++) put("                " prototype[i] "\n")
    put(prose(text, "   "))
    for (i = 1; i <= n; i++) {
        known[function_name[i]] = "func"
        put(example(function_name[i], "   "))
    }
    pages[file] = page "\n"
}
function on_declared(text, body,    i) {
    page = pages[file]
    remark = text
    for (i = 1; i <= declared; i++) known[declared_name[i]] = declared_name[i] in types ? "type" : "macro"
    declarations(body)
    pages[file] = page "\n"
}
# Names become links; of those that are not there, code.
function linked(text,    all, name, base) {
    while (match(text, /\001[^\001]+\001/)) {
        name = substr(text, RSTART + 1, RLENGTH - 2)
        base = name
        sub(/\..*/, "", base)
        all = all substr(text, 1, RSTART - 1)
        if (!(base in known)) all = all "``" name "``"
        else all = all ":c:" (base == name ? known[base] : "member") ":`" name "`"
        text = substr(text, RSTART + RLENGTH)
    }
    return all text
}
function on_end(    i, f, before) {
    for (i = 1; i <= files; i++) {
        f = out "/" order[i] ".rst"
        printf "%s", linked(pages[order[i]]) > f
        close(f)
    }
    f = out "/index.rst"
    printf "%s%s", heading("C API", "="), linked(prose(overview, "")) > f
    for (i = 1; i <= files; i++) {
        if (header_of[order[i]] != before) {
            before = header_of[order[i]]
            printf "\n.. toctree::\n   :caption: %s\n   :maxdepth: 1\n\n", before > f
        }
        printf "   %s\n", order[i] > f
    }
    close(f)
}
