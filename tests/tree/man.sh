#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# man.sh PAGES HEADER PROGRAM: the manual pages pass mandoc and man without warnings, and are
# complete: every command, every option shown in its help, every public name.
set -euo pipefail
pages=$1 header=$2 program=$3
status=0
fail() {
    echo "FAIL  $*"
    status=1
}

# Broken on purpose: the check must detect it.
if mandoc -T lint -W warning <<<$'.Dd x\n.Dt X 1\n.Os\n.Sh NAME\n.Bl -tag\n.It' >/dev/null; then
    fail "mandoc finds nothing wrong in a broken page"
fi

count=0
while read -r page; do
    count=$((count + 1))
    mandoc -T lint -W warning "$page" || fail "$page: mandoc"
    warnings=$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
    [[ -z $warnings ]] || fail "$page: $warnings"
done < <(find "$pages" -type f)

# shown PAGE: rendered, with lines unbroken
shown() {
    mandoc -T utf8 -O width=400 "$1" | col -b
}
# options_of: the options explained in help
options_of() {
    grep -oE '^  (-[a-zA-Z]|--[a-z0-9-]+)(, --[a-z0-9-]+)?' | tr -d ' ' | tr ',' '\n'
}
commands=$("$program" -h | awk '/^  [a-z]/ { print $1 }')
[[ -n $commands ]] || fail "the program lists no command"
program_page=$(shown "$pages/man1/gpuexec.1")
for command in $commands; do
    grep -qF "gpuexec-$command(1)" <<<"$program_page" || fail "gpuexec.1 has no $command"
    page=$(shown "$pages/man1/gpuexec-$command.1") || fail "no page of $command"
    options=$("$program" "$command" -h | sed '/^common options/,$d' | options_of)
    [[ -n $options ]] || fail "$command -h lists no option"
    for option in $options; do
        grep -qE -- "(^ *|, )$option( |,|\$)" <<<"$page" || fail "gpuexec-$command.1 has no $option"
    done
done
for option in $("$program" help options | options_of); do
    grep -qE -- "(^ *|, )$option( |,|\$)" <<<"$program_page" || fail "gpuexec.1 has no $option"
done
for variable in $("$program" --help | grep -oE '\(GPUEXEC_[A-Z_]+\)|^  [A-Z_]+=' | tr -d '()= '); do
    grep -qw "$variable" <<<"$program_page" || fail "gpuexec.1 has no $variable"
done

declare -A text
overview=$(shown "$pages/man3/gpuexec.3")
plain=$(gcc -E -P -x c "$header")
functions=$(tr '\n' ' ' <<<"$plain" | tr ';' '\n' | sed -n 's/.*visibility("default")//p' |
    grep -o 'gx_[a-z0-9_]* *(' | tr -d ' (')
types=$(grep -oE '^typedef struct gx_[a-z0-9_]+|^typedef [^(]* gx_[a-z0-9_]+;|\(\*gx_[a-z0-9_]+\)' <<<"$plain" |
    grep -oE 'gx_[a-z0-9_]+' | sort -u)
constants=$({ grep -oE '\bGX_[A-Z0-9_]+ = ' <<<"$plain"; gcc -E -dM -x c "$header" | grep -o '^#define GX_[A-Z0-9_]*'; } |
    grep -oE 'GX_[A-Z0-9_]+' | grep -vxE 'GX_API|GX_VERSION_(MAJOR|MINOR|PATCH)')
[[ -n $functions && -n $types && -n $constants ]] || fail "no functions, types or constants in $header"
for name in $functions $types $constants; do
    if [[ ! -e $pages/man3/$name.3 ]]; then
        fail "no page of $name"
        continue
    fi
    # Many names share a page, which is shown once.
    file=$(readlink -f "$pages/man3/$name.3")
    [[ -n ${text[$file]:-} ]] || text[$file]=$(shown "$file")
    case $name in
    GX_*) grep -qE "\b$name = |#define $name\b" <<<"${text[$file]}" || fail "$name.3 does not define it" ;;
    *) grep -qE "(^ *|typedef .*)\b$name(\(|;| \{|\))" <<<"${text[$file]}" || fail "$name.3 does not declare it" ;;
    esac
    [[ $name == GX_* ]] || grep -qw "$name" <<<"$overview" || fail "gpuexec.3 has no $name"
done

[[ $status -ne 0 ]] || echo "ok    $count pages, $(wc -w <<<"$commands") commands, $(wc -w <<<"$functions $types $constants") names"
exit $status
