#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh: builds, and shows what this machine can do, beside blst if that was had by the time it is built.
set -euo pipefail
cd "$(dirname "$0")/.."
GRACE_S=5
log=build/blst.log
mkdir -p build

# In a group of its own, which timeout ends as a whole.
timeout 300 scripts/fetch-blst.sh build/blst >"$log" 2>&1 </dev/null &
fetch=$!
trap 'kill "$fetch" 2>/dev/null || true' EXIT
scripts/build.sh
for ((i = 0; i < 10 * GRACE_S; i++)); do
    kill -0 "$fetch" 2>/dev/null || break
    sleep 0.1
done
late=
if kill "$fetch" 2>/dev/null; then late='it took too long'; fi
if ! wait "$fetch"; then
    echo "run: blst could not be had, portable C is shown instead: ${late:-$(tail -n 1 "$log")}" >&2
fi
export LD_LIBRARY_PATH=build/blst${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
build/release/gpuexec demo -o build/demo
