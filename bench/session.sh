#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# session.sh RESULTS: the whole measuring session, from a staged folder (stage.sh): first
# the tests, which must pass, then every benchmark, each into a file of the folder RESULTS.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
results=${1:?where to write the results}
mkdir -p "$results"
export PATH="$here/bin:$PATH" LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

# run FILE COMMAND...: the output of the command, with the command above it.
run() {
    local file=$results/$1
    shift
    echo "== $*"
    { echo "# $*"; "$@"; } >"$file"
}

{
    echo "date: $(date -u +%Y-%m-%d)"
    echo "revision: $(cat "$here/revision")"
    echo "kernel: $(uname -sr)"
    lscpu | grep -E '^(Model name|CPU\(s\)|L2|L3|Thread|Core)' | sed 's/  */ /g'
    gpuexec devices --csv
} >"$results/machine.txt"

test-kernels
test-conformance
gpuexec verify

run demo.txt gpuexec demo
run kernels.csv test-kernels --bench --csv
run bench-1-thread.csv gpuexec bench --threads 1 --csv
run bench-2-threads.csv gpuexec bench --threads 2 --op add,mul -n 4M --csv
run bench-all-threads.csv gpuexec bench --csv
