#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs a program as a user would: each cases/NAME/cmd is a script, run in an empty directory with
# $GPUEXEC set and helpers.sh sourced. Its stdout, stderr and exit code must match expected.stdout,
# expected.stderr (default: empty) and expected.code (default: 0). A line "re:X" there matches any
# line that matches the extended regular expression X as a whole. A script that exits with 77 is
# skipped, and with GX_TEST_NO_TEST_DEVICES set so is one that names a test device.
#
# cases/NAME/labels has the labels of a case, as tests/CMakeLists.txt explains them; without it, a case is
# `unit`. With GX_TEST_LABELS only those run that have one of these labels.
#
# usage: [GX_TEST_CASES=FOLDER] run.sh PROGRAM [CASE...]
# without a folder, the cases beside this script: those of gpuexec

if [ $# -lt 1 ]; then
    echo "usage: [GX_TEST_CASES=FOLDER] run.sh PROGRAM [CASE...]" >&2
    exit 2
fi
if ! command -v jq >/dev/null; then
    echo "run.sh: jq is needed (Debian, Ubuntu: apt-get install jq)" >&2
    exit 1
fi

here=$(cd "$(dirname "$0")" && pwd)
cases=$(realpath "${GX_TEST_CASES:-$here/cases}") || exit 1
GPUEXEC=$(realpath "$1") || exit 1
if [ ! -x "$GPUEXEC" ]; then
    echo "run.sh: $1 is not a program" >&2
    exit 1
fi
shift
export GPUEXEC LC_ALL=C TERM=dumb GX_TEST_DATA=$here/../report/data
unset NO_COLOR GPUEXEC_DEVICE GPUEXEC_CPUMASK GPUEXEC_THREADS GPUEXEC_DISPATCH_ELEMS GPUEXEC_PATH \
    GPUEXEC_VALIDATE GPUEXEC_CACHE_DIR GPUEXEC_MODE GPUEXEC_STREAM_CHUNK_ELEMS GPUEXEC_DEVICE_MEMORY \
    GPU_DEVICE_LOCAL GPU_STREAM_CHUNK_ELEMS GPUEXEC_WEBGPU_BACKENDS SUPERVM_WGPU_BACKENDS \
    GPUEXEC_WGPU_LIBRARY GPUEXEC_CUDA_LIBRARY
# The cases must not depend on the installed drivers; a case that needs a driver names its file, and
# one that needs wgpu-native restores the path.
export VK_ICD_FILENAMES=/nonexistent VK_DRIVER_FILES=/nonexistent

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/.hidden"
echo "no library" >"$scratch/.hidden/libwgpu_native.so"
echo "no library" >"$scratch/.hidden/libcuda.so.1"
export GX_TEST_LIBRARY_PATH=$LD_LIBRARY_PATH
export LD_LIBRARY_PATH=$scratch/.hidden${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# matches EXPECTED ACTUAL: compares line by line
matches() {
    local wanted=() got=() i
    [ -e "$1" ] && mapfile -t wanted <"$1"
    mapfile -t got <"$2"
    [ ${#wanted[@]} -eq ${#got[@]} ] || return 1
    for i in "${!wanted[@]}"; do
        if [[ ${wanted[i]} == re:* ]]; then
            [[ ${got[i]} =~ ^(${wanted[i]#re:})$ ]] || return 1
        elif [ "${wanted[i]}" != "${got[i]}" ]; then
            return 1
        fi
    done
}

# run_case NAME: 0 passed, 1 failed (and shown), 77 skipped
run_case() {
    local case=$cases/$1 work=$scratch/$1 want=0 code ok=0 part
    if [ -n "$GX_TEST_NO_TEST_DEVICES" ] && grep -qE '\b(sim|fault):' "$case/cmd"; then return 77; fi
    mkdir "$work" "$work/dir"
    (cd "$work/dir" && exec bash -c '. "$0"; . "$1"' "$here/helpers.sh" "$case/cmd") \
        >"$work/stdout" 2>"$work/stderr" </dev/null
    code=$?
    [ $code -eq 77 ] && return 77
    [ -e "$case/expected.code" ] && want=$(cat "$case/expected.code")
    if [ "$code" -ne "$want" ]; then
        echo "  exit code $code, expected $want"
        ok=1
    fi
    for part in stdout stderr; do
        matches "$case/expected.$part" "$work/$part" && continue
        ok=1
        echo "  $part differs (< expected, > got):"
        diff -N "$case/expected.$part" "$work/$part" | head -60 | sed 's/^/    /'
    done
    return $ok
}

# in_leg CASE: whether it has one of the labels that are asked for
in_leg() {
    local labels=unit label
    [ -e "$cases/$1/labels" ] && labels=$(<"$cases/$1/labels")
    for label in $labels; do
        case " ${GX_TEST_LABELS:-$labels} " in *" $label "*) return 0 ;; esac
    done
    return 1
}

if [ $# -eq 0 ]; then
    for name in "$cases"/*; do
        name=${name##*/}
        in_leg "$name" && set -- "$@" "$name"
    done
fi
passed=0 failed=0 skipped=0
for name; do
    shown=$(run_case "$name")
    case $? in
    0) passed=$((passed + 1)) && echo "ok    $name" ;;
    77) skipped=$((skipped + 1)) && echo "skip  $name" ;;
    *) failed=$((failed + 1)) && printf 'FAIL  %s\n%s\n' "$name" "$shown" ;;
    esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
