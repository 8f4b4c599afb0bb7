#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# msvc.sh BUILD EMULATOR: installs BUILD, finds it with find_package from a program for Microsoft's ABI
# (install/msvc), links its import library, and runs that next to gpuexec.dll. clang and lld stand in
# for Microsoft's compiler and linker.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
build=$1 emulator=$2

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
quietly() {
    "$@" >"$scratch/log" 2>&1 || {
        cat "$scratch/log"
        exit 1
    }
}
quietly cmake --install "$build" --prefix "$scratch/first"
mv "$scratch/first" "$scratch/prefix"
quietly cmake -S "$here/msvc" -B "$scratch/build" -G Ninja "-DCMAKE_TOOLCHAIN_FILE=$here/msvc/toolchain.cmake" \
    -DCMAKE_BUILD_TYPE=Release "-DCMAKE_PREFIX_PATH=$scratch/prefix"
quietly cmake --build "$scratch/build"
cp "$scratch/prefix/bin/gpuexec.dll" "$scratch/build"
"$emulator" "$scratch/build/consumer.exe"
