#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# bench.sh PREFIX [ROUNDS [THREADS]]: the library installed in PREFIX, through the crate gpuexec,
# beside arkworks, on THREADS, or on one thread and then on all cores. Prints tables and what they
# were measured with.
set -euo pipefail
if [[ $# -lt 1 || ! -d $1 ]]; then
    echo "usage: bench.sh PREFIX [ROUNDS [THREADS]]" >&2
    exit 2
fi
GPUEXEC_PREFIX=$(cd "$1" && pwd)
rounds=${2:-7}
threads=(1)
[[ $(nproc) -eq 1 ]] || threads+=("$(nproc)")
[[ $# -lt 3 ]] || threads=("$3")
cd "$(dirname "$0")"
CARGO_TARGET_DIR=$(cd ../.. && pwd)/build/rust
lib=$(find "$GPUEXEC_PREFIX" -name libgpuexec.so -printf '%h\n' -quit)
export GPUEXEC_PREFIX CARGO_TARGET_DIR LD_LIBRARY_PATH=$lib
cargo build -q --locked --profile bench -p gpuexec-bench

echo "command: bindings/rust/bench.sh PREFIX $rounds${3:+ $3}"
echo "cpu: $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $(nproc) cores"
echo "rustc: $(rustc --version)"
echo "gpuexec: $(git describe --always --dirty 2>/dev/null || echo 'no git')"
ark=$(sed -n '/^name = "ark-poly"/,/^version/s/^version = "\(.*\)"/\1/p' Cargo.lock)
echo "arkworks: $ark, with parallel and asm"
echo "date: $(date -u +%Y-%m-%d)"
for count in "${threads[@]}"; do
    "$CARGO_TARGET_DIR/release/gpuexec-bench" "$count" "$rounds"
done
