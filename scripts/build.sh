#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh: builds the release without tests. Shows how far it is on one line of a terminal, and
# everything that the compilers say only if it fails.
set -euo pipefail
cd "$(dirname "$0")/.."
log=build/release.log
mkdir -p build
terminal=false
if [[ -t 2 ]]; then terminal=true; fi

show() { # TEXT
    if $terminal; then printf '\r\033[K%s' "$1" >&2; fi
}

show "build: configuring"
if ! cmake --preset release -DGPUEXEC_TESTS=OFF -DGPUEXEC_WERROR=OFF --log-level=WARNING >"$log" 2>&1; then
    show ''
    cat "$log" >&2
    exit 1
fi
set +e
NINJA_STATUS='[%f/%t] ' cmake --build --preset release 2>&1 | tee "$log" | while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then show "build: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps"; fi
done
status=${PIPESTATUS[0]}
show ''
if [[ $status -ne 0 ]]; then
    grep -vE '^\[[0-9]+/[0-9]+\] [A-Z]' "$log" >&2
    echo "build: failed; $log has everything" >&2
fi
exit "$status"
