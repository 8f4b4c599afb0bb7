#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fetch-wheels.sh LIST FOLDER: puts the wheels named in LIST, a Python program and all that it imports, into
# FOLDER: to run with PYTHONPATH=FOLDER python3 -m NAME. pip downloads them from the package index configured
# on this machine; one with another checksum is rejected. Does nothing if FOLDER has them already.
set -euo pipefail

if [[ $# -ne 2 ]]; then
    echo "usage: fetch-wheels.sh LIST FOLDER" >&2
    exit 2
fi
list=$1 folder=$2
# Some of the wheels are for one version of Python.
stamp="$(python3 -c 'import sys; print(sys.version)') $(sha256sum <"$list")"
if [[ -f $folder/stamp && $(<"$folder/stamp") == "$stamp" ]]; then exit 0; fi

mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
# Little of it is imported, so Python compiles it then.
python3 -m pip --disable-pip-version-check --quiet install --root-user-action=ignore --no-deps --no-compile \
    --only-binary=:all: --require-hashes --target "$work/new" -r "$list" </dev/null
echo "$stamp" >"$work/new/stamp"
# A concurrent run puts the same files there.
rm -rf "$folder"
mv -T "$work/new" "$folder" 2>/dev/null || [[ -f $folder/stamp ]]
