#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# conan.sh ROOT BUILD: makes the source release of ROOT, which is built in BUILD, and a Conan package of
# it, static and shared, with no remote; its test builds and runs an example. Not optimised: that would
# take minutes and is tested elsewhere.
set -euo pipefail
root=$1 build=$2
unset LD_LIBRARY_PATH

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export CONAN_HOME=$scratch/home GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=$root
if ! git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    echo "skipped: only a checkout makes a release"
    exit 77
fi
"$root/scripts/dist.sh" "$build" .
tar -xzf gpuexec-*.tar.gz
offline=()
if unshare -rn true 2>/dev/null; then offline=(unshare -rn); fi

conan profile detect >log 2>&1
for shared in False True; do
    if ! "${offline[@]}" conan create gpuexec-*/packaging/conan --no-remote -o "gpuexec/*:shared=$shared" \
        -s build_type=Debug -c tools.cmake.cmaketoolchain:generator=Ninja >log 2>&1 ||
        ! grep -qx 'all as expected: 100000 \* 100999 = 10099900000' log; then
        cat log
        echo "FAIL  conan create, shared=$shared"
        exit 1
    fi
    echo "ok    conan create, shared=$shared"
done
