#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ways.sh [GPU]: counts what a call passes on its way to the device: calls, functions, files and
# depth at -O0, for a job on the CPU, on a GPU and shared by both, for a transform in device memory
# and for a shared sum of points. A software GPU will do. Not counted: the arithmetic, and inline
# functions of headers, which no optimised build calls.
set -euo pipefail
cd "$(dirname "$0")/.."
gpu=${1:-vulkan:0}
build=build/ways
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None -DGPUEXEC_TESTS=OFF -DGPUEXEC_CLI=OFF \
    -DGPUEXEC_SHADER_CACHE="$PWD/build/shaders" \
    -DCMAKE_C_FLAGS="-O0 -g -finstrument-functions -finstrument-functions-exclude-file-list=src/field,src/curve,src/kernel,.h,volk" \
    >/dev/null
cmake --build "$build" >/dev/null
library=$(readlink -f "$build/libgpuexec.so")
cc -O0 -g -Iinclude bench/ways.c -o "$build/ways" -L"$build" -lgpuexec -ldl -rdynamic \
    -Wl,-rpath,"$PWD/$build"

# way NAME CALL DEVICES ELEMENTS HOW-MANY
way() {
    "$build/ways" "$2" "$3" "$4" "$5" >"$build/ways.out"
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
way "64 elements on the CPU" products cpu 64 1
way "4M elements on a GPU" products "$gpu" 4194304 1
way "transform of 2^16 in device memory, device named" transform "$gpu" 65536 1
way "4M elements shared by both" products "cpu,$gpu" 4194304 2
# A slow CPU, so that a software GPU is worth a share.
GPUEXEC_THREADS=1 GPUEXEC_CPUMASK=portable \
    way "sum of 2^14 points shared by both" sum "cpu,$gpu" 16384 2
