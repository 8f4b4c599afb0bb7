#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ways.sh [GPU]: counts what a call passes on its way to the device: calls, functions, files and
# depth of a job on the CPU, on a GPU and shared by both, at -O0. A software GPU will do. Not counted:
# the arithmetic, and inline functions of headers, which no optimised build calls.
set -euo pipefail
cd "$(dirname "$0")/.."
gpu=${1:-vulkan:0}
build=build/ways
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DGPUEXEC_TESTS=OFF -DGPUEXEC_CLI=OFF \
    -DGPUEXEC_SHADER_CACHE="$PWD/build/shaders" \
    -DCMAKE_C_FLAGS="-O0 -g -finstrument-functions -finstrument-functions-exclude-file-list=src/field,src/kernel,.h,volk" \
    >/dev/null
cmake --build "$build" >/dev/null
library=$(readlink -f "$build/libgpuexec.so")
cc -O0 -g -Iinclude bench/ways.c -o "$build/ways" -L"$build" -lgpuexec -ldl -rdynamic \
    -Wl,-rpath,"$PWD/$build"

# way NAME DEVICES ELEMENTS HOW-MANY
way() {
    "$build/ways" "$2" "$3" "$4" >"$build/ways.out"
    awk '$1 == "function" {print $2}' "$build/ways.out" | addr2line -f -e "$library" >"$build/ways.names"
    printf '| %s | %d | %d | %d | %d |\n' "$1" "$(awk '$1 == "calls" {print $2}' "$build/ways.out")" \
        "$(grep -c '^function' "$build/ways.out")" \
        "$(awk 'NR % 2 == 0 {sub(/:.*/, ""); print}' "$build/ways.names" | sort -u | wc -l)" \
        "$(awk '$1 == "deepest" {print $2}' "$build/ways.out")"
    awk '$1 == "chain" {print $2}' "$build/ways.out" | addr2line -f -e "$library" |
        awk 'NR % 2' | paste -sd' ' | sed 's/^/   /' >&2
}

echo '| way | calls | functions | files | depth |'
echo '|---|---|---|---|---|'
way "64 elements on the CPU" cpu 64 1
way "4M elements on a GPU" "$gpu" 4194304 1
way "4M elements shared by both" "cpu,$gpu" 4194304 2
