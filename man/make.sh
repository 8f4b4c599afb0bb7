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
# The headers of the topics, in the order in which gpuexec.h includes them.
headers=$(sed -n 's,^#include "\(gpuexec/.*\)",\1,p' "$root/include/gpuexec.h")
cd "$root/include"
# shellcheck disable=SC2086 # one word each
awk -v date="$date" -v out="$out/man3" -v example="$root/examples/mul.c" -v examples="$root/man/examples" \
    -f "$root/man/headers.awk" -f "$root/man/mdoc.awk" gpuexec.h $headers
