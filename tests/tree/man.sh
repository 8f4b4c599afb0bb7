#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# man.sh PAGES HEADER PROGRAM: the manual pages pass mandoc and man without warnings, and are
# complete: every command, every option shown in its help, every public function.
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

overview=$(shown "$pages/man3/gpuexec.3")
functions=$(gcc -E -P -x c "$header" | tr '\n' ' ' | tr ';' '\n' | sed -n 's/.*visibility("default")//p' |
    grep -o 'gx_[a-z0-9_]* *(' | tr -d ' (')
[[ -n $functions ]] || fail "no function in $header"
for function in $functions; do
    [[ -e $pages/man3/$function.3 ]] || fail "no page of $function"
    grep -qE "^ *$function\(" <<<"$(shown "$pages/man3/$function.3")" || fail "$function.3 does not declare it"
    grep -qw "$function" <<<"$overview" || fail "gpuexec.3 has no $function"
done

[[ $status -ne 0 ]] || echo "ok    $count pages, $(wc -w <<<"$commands") commands, $(wc -w <<<"$functions") functions"
exit $status
