#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# stage.sh ROOT BUILD: what bench/stage.sh packs is small, and its programs run from any folder,
# with nothing of the folder they were built in but what was packed.
set -euo pipefail
root=$1 build=$2
unset LD_LIBRARY_PATH

# MiB, packed by xz, as it travels; with what a GPU machine without a Vulkan loader needs beside it,
# another 25, it has to stay below 64.
limit=24

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0
fail() {
    echo "FAIL  $*"
    status=1
}

"$root/bench/stage.sh" "$scratch/first" "$build" >/dev/null
mv "$scratch/first" "$scratch/stage"
size=$(($(tar -C "$scratch" -c stage | xz -1 | wc -c) / 1048576))
[[ $size -le $limit ]] || fail "the stage has $size MiB, more than $limit"

export LD_LIBRARY_PATH=$scratch/stage/lib
libraries=$(ldd "$scratch"/stage/bin/{gpuexec,bench-*,test-*})
if grep -F "$root" <<<"$libraries" || grep -F "not found" <<<"$libraries"; then
    fail "the programs need the libraries above"
fi

# The shortest of the tests that want a machine. Without those that were packed it fails, so it
# does not find them elsewhere.
cd /
run() { GX_TEST_NO_VULKAN=1 GX_TEST_NO_WEBGPU=1 GX_TEST_EFFORT=small "$scratch/stage/bin/test-contract" >"$scratch/log" 2>&1; }
run || {
    cat "$scratch/log"
    fail "test-contract"
}
rm -r "$scratch/stage/bin/machines"
! run || fail "test-contract does not use what was packed"
"$scratch/stage/bin/gpuexec" devices >/dev/null || fail "gpuexec devices"
[[ $status -ne 0 ]] || echo "ok    $size MiB"
exit $status
