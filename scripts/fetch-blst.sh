#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fetch-blst.sh FOLDER: libgpuexec-blst.so in FOLDER, with which gpuexec demo compares if the loader finds
# it: bench/peers/blst_sum.c and the blst of bench/peers, for which cargo is needed. Tries once: does
# nothing if the folder is there.
set -euo pipefail
to=${1:?usage: fetch-blst.sh FOLDER}
peers=$(cd "$(dirname "$0")/../bench/peers" && pwd)
[[ ! -e $to ]] || exit 0
command -v cargo >/dev/null
mkdir -p "$to"
timeout 20 "$peers/fetch.sh" "$to" blst >"$to/fetch.log" 2>&1
blst=$to/src/blst/blst
cc -O2 -fno-builtin -fPIC -pthread -D__BLST_PORTABLE__ -Wno-unused-function -I"$blst/bindings" -shared \
    "$peers/blst_sum.c" "$blst/src/server.c" "$blst/build/assembly.S" -o "$to/libgpuexec-blst.so"
