#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# stage.sh [FOLDER]: builds the release preset and packs what a measuring session needs
# (the programs, the tests, their libraries, session.sh) into FOLDER, default stage/, to
# be taken to another machine of the same kind that has none of the build's packages.
set -euo pipefail
cd "$(dirname "$0")/.."
stage=${1:-stage}

cmake --preset release -DGPUEXEC_TESTS=ON >/dev/null
cmake --build --preset release >/dev/null
rm -rf "$stage"
mkdir -p "$stage/bin" "$stage/lib"
cp build/release/gpuexec build/release/tests/bench-resident build/release/tests/bench-copies \
    "$stage/bin/"
for test in kernels conformance contract api-buffers laws; do
    cp "build/release/tests/test-$test" "$stage/bin/"
done
cp -L build/release/libgpuexec.so.*.* "$stage/lib/"
# Everything the binaries want that is no part of the C library, and what they load themselves.
ldd "$stage"/bin/* | awk '$3 ~ /^\// && $3 !~ /lib(gpuexec|c|m|dl|pthread)\.so/ {print $3}' | sort -u |
    xargs -I{} cp -L {} "$stage/lib/"
cp build/wgpu-"$(uname -m)"/libwgpu_native.so "$stage/lib/"
cp bench/session.sh "$stage/"
git describe --always --dirty >"$stage/revision"
du -sh "$stage"
