#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# stage.sh [FOLDER [BUILD]]: builds the release preset and packs what a benchmark session needs
# (programs, tests, their libraries, session.sh) into FOLDER, default stage/, for another machine of
# the same kind without the build's packages. With BUILD it packs from that build folder, as it is.
set -euo pipefail
stage=$(realpath -m "${1:-"$(dirname "$0")/../stage"}")
build=${2:+$(realpath "$2")}
cd "$(dirname "$0")/.."

if [[ -z $build ]]; then
    build=build/release
    cmake --preset release -DGPUEXEC_TESTS=ON >/dev/null
    cmake --build --preset release >/dev/null
fi
rm -rf "$stage"
mkdir -p "$stage/bin" "$stage/lib"
cp "$build/gpuexec" "$build/tests/bench-resident" "$build/tests/bench-copies" "$build/tests/bench-columns" \
    "$build/tests/bench-suites" "$build/tests/hostile" "$stage/bin/"
for test in kernels conformance contract api-buffers laws ntt api-msm msm-vectors msm-traps api-recover random; do
    cp "$build/tests/test-$test" "$stage/bin/"
done
for example in cuda kernel; do
    cc -std=c11 -O2 -Iinclude "examples/$example.c" -L"$build" -lgpuexec -ldl -o "$stage/bin/example-$example"
done
glslc --target-env=vulkan1.2 -O examples/kernel.comp -o "$stage/bin/kernel.spv"
clang -O2 -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 -nocudainc -nocudalib -S examples/kernel.cu \
    -o "$stage/bin/kernel.ptx"
cp -RL "$build/tests/machines" "$stage/bin/"
cp -RL tests/vectors/curve "$stage/bin/vectors"
# Every library that the programs need and that is not part of the C library, and the one they load.
ldd "$stage"/bin/{gpuexec,hostile,bench-*,test-*} |
    awk '$3 ~ /^\// && $3 !~ /lib(c|m|dl|pthread)\.so/ {print $3}' | sort -u | xargs -I{} cp -L {} "$stage/lib/"
wgpu=$(sed -n 's/^wgpu_LIBRARY:[A-Z]*=//p' "$build/CMakeCache.txt")
[[ ! -e $wgpu ]] || cp -L "$wgpu" "$stage/lib/"
strip --strip-unneeded "$stage"/bin/{gpuexec,hostile,bench-*,test-*} "$stage"/lib/*
cp bench/session.sh "$stage/"
git describe --always --dirty >"$stage/revision"
du -sh "$stage"
