#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# bench.sh PREFIX [ROUNDS]: the library installed in PREFIX, through the crate gpuexec, beside
# arkworks, on one thread and on all cores. Prints tables and what they were measured with.
set -euo pipefail
if [[ $# -lt 1 || ! -d $1 ]]; then
    echo "usage: bench.sh PREFIX [ROUNDS]" >&2
    exit 2
fi
GPUEXEC_PREFIX=$(cd "$1" && pwd)
rounds=${2:-7}
cd "$(dirname "$0")"
CARGO_TARGET_DIR=$(cd ../.. && pwd)/build/rust
lib=$(find "$GPUEXEC_PREFIX" -name libgpuexec.so -printf '%h\n' -quit)
export GPUEXEC_PREFIX CARGO_TARGET_DIR LD_LIBRARY_PATH=$lib
cargo build -q --locked --profile bench -p gpuexec-bench

echo "command: bindings/rust/bench.sh PREFIX $rounds"
echo "cpu: $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $(nproc) cores"
echo "rustc: $(rustc --version)"
echo "gpuexec: $(git describe --always --dirty 2>/dev/null || echo 'no git')"
ark=$(sed -n '/^name = "ark-poly"/,/^version/s/^version = "\(.*\)"/\1/p' Cargo.lock)
echo "arkworks: $ark, with parallel and asm"
echo "date: $(date -u +%Y-%m-%d)"
for threads in 1 $(($(nproc) > 1 ? $(nproc) : 0)); do
    ((threads == 0)) || "$CARGO_TARGET_DIR/release/gpuexec-bench" "$threads" "$rounds"
done
