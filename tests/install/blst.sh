#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# blst.sh ROOT: what `make run` does beside the build: with blst if pip has it, and otherwise, whether pip
# fails or hangs, without waiting for it, saying so on one line, and trying again the next time. With a
# python3, a build and a program that are none.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch"/{bin,scripts,bench/peers,build/release,ckzg/blst/{bindings,src,build}}
cp "$1"/scripts/{run,fetch-blst}.sh "$scratch/scripts"
cd "$scratch"
echo 'int gpuexec_blst_sum;' >bench/peers/blst_sum.c
echo 'int blst;' >ckzg/blst/src/server.c
: >ckzg/blst/build/assembly.S
tar czf ckzg.tar.gz ckzg
cat >bin/python3 <<'END'
#!/bin/bash
[[ $1 == -m ]] || exit 0
case $PIP in
    has) while [[ $1 != --dest ]]; do shift; done; cp ckzg.tar.gz "$2/ckzg-0.tar.gz" ;;
    hangs) sleep 1000 ;;
    *) printf 'first\nERROR: no network\n' >&2; exit 1 ;;
esac
END
# shellcheck disable=SC2016 # for the scripts
printf '#!/bin/sh\neval "$BUILD"\n' >scripts/build.sh
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "$1 with $(ls ${LD_LIBRARY_PATH%%%%:*} 2>/dev/null)"\n' >build/release/gpuexec
chmod +x bin/python3 scripts/build.sh build/release/gpuexec
export PATH=$scratch/bin:$PATH

# run PIP BUILD: BUILD may wait for pip, so that nothing depends on which is faster.
run() { PIP=$1 BUILD=$2 scripts/run.sh 2>&1; }

expect() { # WHAT WANTED SEEN
    if [[ $2 != "$3" ]]; then
        printf 'FAIL  %s: expected\n%s\nnot\n%s\n' "$1" "$2" "$3"
        exit 1
    fi
}

without='run: blst could not be had, portable C is shown instead:'
expect 'pip fails' "$without ERROR: no network
demo with " "$(run fails 'until grep -q ERROR build/blst.log; do sleep 0.1; done')"
expect 'pip hangs' "$without it took too long
demo with " "$(run hangs true)"
expect 'nothing is left of it' 'build/blst.log build/release' "$(echo build/*)"
expect 'the build fails' 1 "$(run hangs false || echo $?)"
expect 'pip has it' 'demo with libgpuexec-blst.so' "$(run has 'until [ -e build/blst ]; do sleep 0.1; done')"
expect 'it is there' 'demo with libgpuexec-blst.so' "$(run fails true)"
echo "ok    blst, if it can be had"
