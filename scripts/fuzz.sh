#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh [--pack FOLDER]: fuzzes each target in turn for FUZZ_SECONDS, or with FUZZ_RUNS for that
# many inputs, in FUZZ_JOBS processes, starting from its corpus, and prints its executions. New
# inputs stay in build/fuzz/corpus; add any that found a bug to tests/fuzz/corpus. With --pack it
# fuzzes nothing, but packs targets, libraries, corpora and itself into FOLDER, from where FOLDER/fuzz.sh
# does the same on another machine without this tree.
set -euo pipefail
folder=
if [[ ${1:-} == --pack ]]; then
    folder=$(realpath -m "$2")
fi
cd "$(dirname "$0")"

# What a copy without debug information still says where a sanitizer stops: functions.
pack()
{
    mkdir -p "$1/targets" "$1/lib" "$1/corpus"
    cp build/fuzz/tests/fuzz_* "$1/targets/"
    ldd "$1"/targets/* | awk '$3 ~ /^\// && $3 !~ /lib(c|m|dl|pthread)\.so/ {print $3}' | sort -u |
        xargs -I{} cp -L {} "$1/lib/"
    strip --strip-debug "$1"/targets/* "$1"/lib/*
    cp -R tests/fuzz/corpus/. "$1/corpus/"
    cp scripts/fuzz.sh "$1/"
    du -sh "$1"
}

# Where the targets are, where their inputs come from, and where what they find goes.
if [[ -d targets ]]; then
    targets=targets corpus=corpus work=work
    export LD_LIBRARY_PATH=$PWD/lib
else
    cd ..
    targets=build/fuzz/tests corpus=tests/fuzz/corpus work=build/fuzz
    cmake --preset fuzz --log-level=WARNING >/dev/null
    cmake --build --preset fuzz --target fuzz-targets
    if [[ -n $folder ]]; then
        pack "$folder"
        exit
    fi
fi

jobs=${FUZZ_JOBS:-1}
limit=-max_total_time=${FUZZ_SECONDS:-30}
if [[ -n ${FUZZ_RUNS:-} ]]; then
    limit=-runs=$(((FUZZ_RUNS + jobs - 1) / jobs))
fi

# One process of a target; processes share what they find.
fuzz()
{
    "$targets/$1" "$limit" -print_final_stats=1 -reload=10 -artifact_prefix="$work/found/$1/" \
        "$work/corpus/$1" "$corpus/$1" >"$work/$1.$2.log" 2>&1
}

executions()
{
    cat "$@" | awk '/number_of_executed_units/ {n += $2} END {print n + 0}'
}

status=0 count=0
for target in "$targets"/fuzz_*; do
    [[ -x $target && -f $target ]] || continue
    name=${target##*/}
    count=$((count + 1))
    rm -f "$work/$name".*.log
    mkdir -p "$work/corpus/$name" "$work/found/$name"
    running=()
    for ((i = 0; i < jobs; i++)); do
        fuzz "$name" "$i" &
        running+=($!)
    done
    failed=()
    for ((i = 0; i < jobs; i++)); do
        wait "${running[i]}" || failed+=("$work/$name.$i.log")
    done
    echo "$name: $(executions "$work/$name".*.log) executions"
    if [[ ${#failed[@]} -gt 0 ]]; then
        status=1
        tail -n 60 "${failed[0]}"
        echo "-- $name: FAILED in ${#failed[@]} of $jobs; inputs are in $work/found/$name"
    fi
done
if [[ $count -eq 0 ]]; then
    echo "fuzz: no targets" >&2
    exit 1
fi
echo "all: $(executions "$work"/fuzz_*.log) executions"
exit $status
