#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fetch-blst.sh FOLDER: libgpuexec-blst.so in FOLDER, with which gpuexec demo compares if the loader finds
# it: bench/peers/blst_sum.c and blst, whose sources the Python package ckzg carries. pip, which setup.sh
# provides, downloads it from the package index configured on this machine; a file with another checksum is
# rejected. Does nothing if FOLDER is there; if it fails, the last line of its output says why.
set -euo pipefail
to=${1:?usage: fetch-blst.sh FOLDER}
sources='ckzg==2.1.8 --hash=sha256:d7bef6b425dca6995457fc59fc5b30211d9b28cbbeee0e7a7bef1372e13f29ca'
sum=$(cd "$(dirname "$0")/../bench/peers" && pwd)/blst_sum.c
[[ ! -e $to ]] || exit 0

mkdir -p "$(dirname "$to")"
work=$(mktemp -d "$to.XXXXXX")
trap 'rm -rf "$work"' EXIT
# pip asks the package for its metadata, for which it downloads setuptools unless it may use what is here.
isolation=()
if python3 -c 'import setuptools, wheel' 2>/dev/null; then isolation=(--no-build-isolation); fi
python3 -m pip --disable-pip-version-check --quiet download --no-deps --no-binary=ckzg --require-hashes \
    --retries 0 "${isolation[@]}" --dest "$work" -r /dev/stdin <<<"$sources"
mkdir "$work/new"
tar xzf "$work"/ckzg-*.tar.gz -C "$work" --strip-components=1
# As blst's own build.sh does.
cc -O2 -fno-builtin -fPIC -pthread -D__BLST_PORTABLE__ -Wno-unused-function -I"$work/blst/bindings" -shared \
    "$sum" "$work/blst/src/server.c" "$work/blst/build/assembly.S" -o "$work/new/libgpuexec-blst.so"
# A concurrent run puts the same file there.
mv -T "$work/new" "$to" 2>/dev/null || [[ -e $to ]]
