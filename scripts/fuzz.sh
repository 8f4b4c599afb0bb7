#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fuzzes each target for FUZZ_SECONDS, or with FUZZ_RUNS for that many inputs, starting from its
# corpus. New inputs stay in build/fuzz/corpus; add any that found a bug to tests/fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/.."

limit=-max_total_time=${FUZZ_SECONDS:-30}
if [[ -n ${FUZZ_RUNS:-} ]]; then
    limit=-runs=$FUZZ_RUNS
fi
cmake --preset fuzz --log-level=WARNING >/dev/null
cmake --build --preset fuzz

status=0 targets=0
for target in build/fuzz/tests/fuzz_*; do
    [[ -x $target && -f $target ]] || continue
    name=${target##*/}
    targets=$((targets + 1))
    mkdir -p "build/fuzz/corpus/$name" "build/fuzz/found/$name"
    echo "== $name $limit"
    log=build/fuzz/$name.log
    if "$target" "$limit" -print_final_stats=1 \
        -artifact_prefix="build/fuzz/found/$name/" \
        "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1; then
        grep -E 'Done|number_of_executed_units' "$log"
    else
        status=1
        tail -n 60 "$log"
        echo "-- $name: FAILED; the input is in build/fuzz/found/$name"
    fi
done
if [[ $targets -eq 0 ]]; then
    echo "fuzz: no targets" >&2
    exit 1
fi
exit $status
