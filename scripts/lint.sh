#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# lint.sh [--quick]: formatting, static analysis of C, static analysis of the scripts. --quick: without
# clang's analyser, which follows paths through functions and takes most of the time.
# lint.sh --fix: puts the C files into the project's format instead.
set -euo pipefail
cd "$(dirname "$0")/.."

checks=()
if [[ ${1:-} == --quick ]]; then checks=(--checks=-clang-analyzer-*); fi

passed=0 failed=0 skipped=0
count() { # NAME STATUS
    if [[ $2 -eq 0 ]]; then
        passed=$((passed + 1))
        echo "-- $1: ok"
    else
        failed=$((failed + 1))
        echo "-- $1: FAILED"
    fi
}

# files EXTENSION...: all files of the project, including new ones, except those that git ignores.
files() {
    local patterns=("${@/#/*.}") file
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard -- "${patterns[@]}"
    else # an unpacked archive
        for file in "${patterns[@]}"; do
            find . -path ./build -prune -o -type f -name "$file" -print
        done
    fi | sort -u | while read -r file; do
        if [[ -f $file ]]; then echo "$file"; fi # not if it was just deleted
    done
}

# Versions of clang-format disagree about details, so one is fixed.
formatter=
for candidate in clang-format-14 clang-format; do
    if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then
        formatter=$candidate
        break
    fi
done

if [[ ${1:-} == --fix ]]; then
    if [[ -z $formatter ]]; then
        echo "lint: clang-format 14 is needed" >&2
        exit 1
    fi
    files c h | xargs -r "$formatter" -i
    exit 0
fi

if [[ -n $formatter ]]; then
    status=0
    files c h | xargs -r "$formatter" --dry-run -Werror || status=$?
    count clang-format $status
else
    echo "-- clang-format: SKIPPED, version 14 is not here"
    skipped=$((skipped + 1))
fi

# Every file that the build compiles, with its flags, except the generated one, which is only
# numbers. A file of several targets appears several times in the compilation database; only the
# first entry is used.
tidy() {
    local list=build/lint
    cmake --preset clang -DGPUEXEC_TESTS=ON --log-level=WARNING >/dev/null || return 1
    # The only generated files that sources outside the build folder include.
    cmake --build --preset clang --target test-registered-kernels >/dev/null || return 1
    mkdir -p $list
    jq --arg built "$PWD/build/" 'map(select(.file | startswith($built) | not)) | unique_by(.file)' \
        build/clang/compile_commands.json >$list/compile_commands.json || return 1
    jq -r '.[].file' $list/compile_commands.json |
        xargs -r -P "$(nproc)" -n 1 clang-tidy -p $list --quiet --warnings-as-errors='*' "${checks[@]}" \
            2>build/lint.tidy.log || {
        grep -v '^[0-9]* warnings\{0,1\} ' build/lint.tidy.log >&2
        return 1
    }
}
status=0
tidy || status=$?
count clang-tidy $status

status=0
{
    files sh bash
    echo .ci/run
} | xargs shellcheck || status=$?
count shellcheck $status

echo "lint: $passed passed, $failed failed, $skipped skipped"
[[ $failed -eq 0 ]]
