#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# make.sh ROOT OUT DATE PROGRAM...: writes every manual page into OUT/man1 and OUT/man3. PROGRAM
# may be an emulator and the program.
set -eu
root=$1 out=$2 date=$3
shift 3

rm -rf "$out"
mkdir -p "$out/man1" "$out/man3"
"$@" --man >"$out/man1/gpuexec.1"
for command in $("$@" --describe | cut -f1); do
    "$@" --man "$command" >"$out/man1/gpuexec-$command.1"
done
awk -v date="$date" -v out="$out/man3" -v example="$root/examples/mul.c" -f "$root/man/api.awk" \
    "$root/include/gpuexec.h"
